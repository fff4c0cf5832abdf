import builtins as _b
from collections.abc import Sequence
from typing import Any as Any, Callable as Callable, Iterator, SupportsIndex, TypeAlias, overload as _overload

import numpy.typing as npt
from typing_extensions import Literal, TypeVar

from warp.types import Composite, Matrix, Quaternion, Transformation, Vector

_T = TypeVar("_T")
_T2 = TypeVar("_T2")
_E = TypeVar("_E")
_N = TypeVar("_N", bound=_b.int)
_R = TypeVar("_R", bound=_b.int)
_C = TypeVar("_C", bound=_b.int)
_K = TypeVar("_K", bound=_b.int)
_D = TypeVar("_D", bound=_b.int)
@TYPEVARS@

_One: TypeAlias = Literal[1]
_Two: TypeAlias = Literal[2]
_Three: TypeAlias = Literal[3]
_Four: TypeAlias = Literal[4]
_Condition: TypeAlias = _AnyNumber | _b.bool

__version__: str

class _ThreadIndex(_b.int):
    """One index, or as many as there are names to unpack it into."""

    def __iter__(self) -> Iterator[_b.int]: ...

@FACTORIES@

def zeros_like(
    src: array[_E, _D],
    device: Any = None,
    requires_grad: _b.bool | None = None,
    pinned: _b.bool | None = None,
    retain_grad: _b.bool = False,
) -> array[_E, _D]: ...
def empty_like(
    src: array[_E, _D],
    device: Any = None,
    requires_grad: _b.bool | None = None,
    pinned: _b.bool | None = None,
    retain_grad: _b.bool = False,
) -> array[_E, _D]: ...
def ones_like(
    src: array[_E, _D],
    device: Any = None,
    requires_grad: _b.bool | None = None,
    pinned: _b.bool | None = None,
    retain_grad: _b.bool = False,
) -> array[_E, _D]: ...
def full_like(
    src: array[_E, _D],
    value: Any,
    device: Any = None,
    requires_grad: _b.bool | None = None,
    pinned: _b.bool | None = None,
    retain_grad: _b.bool = False,
) -> array[_E, _D]: ...
def clone(
    src: array[_E, _D],
    device: Any = None,
    requires_grad: _b.bool | None = None,
    pinned: _b.bool | None = None,
    retain_grad: _b.bool = False,
) -> array[_E, _D]: ...
@_overload
def copy(a: _T, /) -> _T: ...
@_overload
def copy(
    dest: array[_E, Any] | indexedarray,
    src: array[_E, Any] | indexedarray,
    dest_offset: _b.int = 0,
    src_offset: _b.int = 0,
    count: _b.int = 0,
    stream: Any = None,
) -> None: ...
@_overload
def from_numpy(
    arr: npt.NDArray[Any],
    dtype: type[_E],
    shape: Sequence[_b.int] | None = None,
    device: Any = None,
    requires_grad: _b.bool = False,
    retain_grad: _b.bool = False,
) -> array[_E, Any]: ...
@_overload
def from_numpy(
    arr: npt.NDArray[Any],
    dtype: None = None,
    shape: Sequence[_b.int] | None = None,
    device: Any = None,
    requires_grad: _b.bool = False,
    retain_grad: _b.bool = False,
) -> array[Any, Any]: ...
def from_ptr(
    ptr: _b.int, length: _b.int, dtype: type[_E] = ..., shape: Sequence[_b.int] | None = None, device: Any = None
) -> array[_E, Any]: ...
def constant(x: _T) -> _T: ...
@_overload
def struct(c: type[_T], /) -> type[_T]: ...
@_overload
def struct(c: None = None, *, module: Any = None) -> Callable[[type[_T]], type[_T]]: ...
def tid() -> _ThreadIndex: ...
def printf(fmt: str, *args: Any) -> None: ...
def vector(*args: Any, length: _b.int | None = None, dtype: type[_S] = ...) -> Vector[_S, Any]: ...
def matrix(
    *args: Any, shape: tuple[_b.int, _b.int] | None = None, dtype: type[_S] = ...
) -> Matrix[_S, Any, Any]: ...
def quaternion(*args: Any, dtype: type[_F] = ...) -> Quaternion[_F]: ...
def transformation(*args: Any, dtype: type[_F] = ..., **parts: Any) -> Transformation[_F]: ...
@_overload
def quat_identity() -> Quaternion[_b.float]: ...
@_overload
def quat_identity(dtype: type[_F]) -> Quaternion[_F]: ...
@_overload
def transform_identity() -> Transformation[_b.float]: ...
@_overload
def transform_identity(dtype: type[_F]) -> Transformation[_F]: ...
def matrix_from_cols(*columns: Vector[_S, _R]) -> Matrix[_S, _R, Any]: ...
def matrix_from_rows(*rows: Vector[_S, _C]) -> Matrix[_S, Any, _C]: ...
def len(a: array[Any, Any] | Composite[Any]) -> _b.int: ...
@ATOMICS@
