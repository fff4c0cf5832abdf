import builtins as _b
from typing import Any, Callable, Generic, ParamSpec, overload as _overload

from typing_extensions import TypeVar

_P = ParamSpec("_P")
_Result = TypeVar("_Result", default=Any)
_T = TypeVar("_T")

class Function(Generic[_P, _Result]):
    key: str
    module: Module
    func: Callable[_P, _Result]
    @property
    def overloads(self) -> _b.list[Function[..., Any]]: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _Result: ...

@_overload
def func(f: Callable[_P, _Result], /) -> Function[_P, _Result]: ...
@_overload
def func(
    f: None = None, *, name: str | None = None, module: Any = None, **options: Any
) -> Callable[[Callable[_P, _Result]], Function[_P, _Result]]: ...
@_overload
def kernel(f: Callable[..., Any], /) -> Kernel: ...
@_overload
def kernel(
    f: None = None, *, enable_backward: _b.bool | None = None, module: Any = None, **options: Any
) -> Callable[[Callable[..., Any]], Kernel]: ...
def static(expr: _T) -> _T: ...
