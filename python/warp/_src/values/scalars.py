"""Scalar types in Python scope: `wp.int8` … `wp.float64` and `wp.bool`.

Calling a class converts a number by the rules of the kernel language: integers wrap, floats become integers by
truncation and saturate, floats round to nearest even. Objects are immutable; arithmetic is that of the builtins, so
that a sum has the value it would have in a kernel. A Python number beside a scalar takes the scalar's type.
"""

from __future__ import annotations

import ctypes
import math
import struct
from typing import Any, Callable

import numpy as np

from warp import _weft

_call = _weft.call_builtin


def half_bits(x: float) -> int:
    """The bits of the float16 nearest to x."""
    try:
        return int.from_bytes(struct.pack("<e", x), "little")
    except OverflowError:
        return 0x7C00 if x > 0 else 0xFC00


def half_from_bits(bits: int) -> float:
    """The value of float16 bits."""
    return struct.unpack("<e", bits.to_bytes(2, "little"))[0]


def bfloat_bits(x: float) -> int:
    """The bits of the bfloat16 nearest to x: through a float32 rounded to odd, so that nothing is rounded twice."""
    if x != x:
        return 0x7FC0
    near = ctypes.c_float(x).value
    bits = int.from_bytes(ctypes.c_float(near), "little")
    if near != x:
        bits = (bits - 1 if abs(near) > abs(x) else bits) | 1
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def bfloat_from_bits(bits: int) -> float:
    """The value of bfloat16 bits."""
    return struct.unpack("<f", (bits << 16).to_bytes(4, "little"))[0]


_ROUND: dict[str, Callable[[float], float]] = {
    "float16": lambda x: half_from_bits(half_bits(x)),
    "bfloat16": lambda x: bfloat_from_bits(bfloat_bits(x)),
    "float32": lambda x: ctypes.c_float(x).value,
    "float64": float,
}


def plain_number(x: Any) -> int | float:
    """The Python number of a number-like object: Python and NumPy numbers, scalars of ours, objects with __index__ or
    __float__. TypeError for anything else, sequences and text among it."""
    if isinstance(x, (int, float)):
        return x
    if isinstance(x, ScalarBase):
        return x.value
    if isinstance(x, (np.generic, np.ndarray)) and x.ndim == 0 and x.dtype.kind in "biuf":
        return x.item()
    if not isinstance(x, (str, bytes)) and not hasattr(x, "__len__"):
        if hasattr(x, "__index__"):
            return x.__index__()
        if hasattr(x, "__float__"):
            return x.__float__()
    raise TypeError(f"must be a number, not {type(x).__name__}")


def is_number(x: Any) -> bool:
    """Whether `plain_number` takes x."""
    if isinstance(x, (int, float, ScalarBase)):
        return True
    try:
        plain_number(x)
    except TypeError:
        return False
    return True


def _to_int(x: Any, bits: int, signed: bool) -> int:
    number = plain_number(x)
    if isinstance(number, float):
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        if number != number:
            return 0
        return high if number >= high else low if number <= low else int(number)
    number = int(number) & ((1 << bits) - 1)
    return number - (1 << bits) if signed and number >> (bits - 1) else number


def _to_float(x: Any, name: str) -> float:
    number = plain_number(x)
    if isinstance(number, int):
        excess = number.bit_length() - 52
        if excess > 0 and name != "float64":  # an odd last bit stands for what is cut off: no double rounding
            size = abs(number)
            size = ((size >> excess) | bool(size & ((1 << excess) - 1))) << excess
            number = -size if number < 0 else size
        try:
            number = float(number)
        except OverflowError:
            number = math.inf if number > 0 else -math.inf
    return _ROUND[name](number)


def _binary(builtin: str) -> tuple[Callable, Callable]:
    """An operator and its reflected form."""

    def forward(self: ScalarBase, other: Any) -> Any:
        try:
            return _call(builtin, self, self._operand(other))
        except TypeError:
            return NotImplemented

    def reflected(self: ScalarBase, other: Any) -> Any:
        try:
            return _call(builtin, self._operand(other), self)
        except TypeError:
            return NotImplemented

    return forward, reflected


def _unary(builtin: str) -> Callable:
    return lambda self: _call(builtin, self)


def _compare(test: Callable[[Any, Any], bool]) -> Callable:
    def method(self: ScalarBase, other: Any) -> bool:
        if not isinstance(other, (ScalarBase, int, float, np.generic)):
            return NotImplemented
        return bool(test(self.value, other.value if isinstance(other, ScalarBase) else other))

    return method


class ScalarBase:
    """What all scalar types have: one number in `value`."""

    __slots__ = ("value",)
    _wp_scalar_ = True
    _length_ = 1
    _wp_type_: _weft.Type
    _type_: Any
    value: Any

    def __init__(self, x: Any = 0) -> None:
        _set_value(self, self._convert(x))

    @staticmethod
    def _convert(x: Any) -> Any:
        raise NotImplementedError

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a {type(self).__name__} can't be changed; make a new one")

    def _operand(self, other: Any) -> Any:
        """The other side of an operator: Python numbers take this scalar's type where no fraction is lost."""
        if isinstance(other, _weft.Array):
            raise TypeError  # the array's own operator takes over
        return other

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("sub")
    __mul__, __rmul__ = _binary("mul")
    __truediv__, __rtruediv__ = _binary("div")
    __floordiv__, __rfloordiv__ = _binary("floordiv")
    __mod__, __rmod__ = _binary("mod")
    __pow__, __rpow__ = _binary("pow")
    __neg__ = _unary("neg")
    __pos__ = _unary("pos")
    __abs__ = _unary("abs")

    __eq__ = _compare(lambda a, b: a == b)
    __ne__ = _compare(lambda a, b: a != b)
    __lt__ = _compare(lambda a, b: a < b)
    __le__ = _compare(lambda a, b: a <= b)
    __gt__ = _compare(lambda a, b: a > b)
    __ge__ = _compare(lambda a, b: a >= b)

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(self.value, ndigits)

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value})"

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __reduce__(self) -> tuple:
        return type(self), (self.value,)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if dtype is None:
            dtype = NUMPY_NAMES.get(type(self).__name__, np.float32)
        return np.array(self.value, dtype=dtype)


_set_value = ScalarBase.value.__set__  # type: ignore[attr-defined]


class int_base(ScalarBase):
    """Base of the integer types."""

    __slots__ = ()

    def _operand(self, other: Any) -> Any:
        if type(other) is not int:
            return super()._operand(other)
        same = type(self)(other)
        if same.value != other:
            raise OverflowError(f"{other} does not fit {type(self).__name__}")
        return same

    def __index__(self) -> int:
        return self.value

    __and__, __rand__ = _binary("bit_and")
    __or__, __ror__ = _binary("bit_or")
    __xor__, __rxor__ = _binary("bit_xor")
    __lshift__, __rlshift__ = _binary("lshift")
    __rshift__, __rrshift__ = _binary("rshift")
    __invert__ = _unary("invert")


class float_base(ScalarBase):
    """Base of the floating-point types."""

    __slots__ = ()

    def _operand(self, other: Any) -> Any:
        return type(self)(other) if type(other) in (int, float) else super()._operand(other)


class bool_(ScalarBase):
    """The type of truth values; it has no arithmetic."""

    __slots__ = ()
    _wp_type_ = _weft.type_scalar("bool")
    _type_ = ctypes.c_bool

    def __init__(self, x: Any = False) -> None:
        _set_value(self, bool(plain_number(x)))

    def __index__(self) -> int:
        return int(self.value)


bool_.__name__ = bool_.__qualname__ = "bool"
bool_.__module__ = "warp.types"

_CTYPES = {
    "int8": ctypes.c_int8,
    "uint8": ctypes.c_uint8,
    "int16": ctypes.c_int16,
    "uint16": ctypes.c_uint16,
    "int32": ctypes.c_int32,
    "uint32": ctypes.c_uint32,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float16": ctypes.c_uint16,
    "bfloat16": ctypes.c_uint16,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}

NUMPY_NAMES: dict[str, Any] = {name: getattr(np, name) for name in _CTYPES if name != "bfloat16"} | {"bool": np.bool_}
"""NumPy's scalar class by our name; bfloat16 has none."""


def _make(name: str) -> type[ScalarBase]:
    bits = ctypes.sizeof(_CTYPES[name]) * 8
    if "float" in name:
        base, text = float_base, f"A floating-point number of {bits} bits; conversion rounds to nearest."
        convert = lambda x, name=name: _to_float(x, name)  # noqa: E731
    else:
        signed = name[0] == "i"
        base, text = int_base, f"{'A signed' if signed else 'An unsigned'} integer of {bits} bits; conversion wraps."
        convert = lambda x, bits=bits, signed=signed: _to_int(x, bits, signed)  # noqa: E731
    members = {
        "__slots__": (),
        "__doc__": text,
        "__module__": "warp.types",
        "_wp_type_": _weft.type_scalar(name),
        "_type_": _CTYPES[name],
        "_convert": staticmethod(convert),
    }
    return type(name, (base,), members)


int8, uint8, int16, uint16 = _make("int8"), _make("uint8"), _make("int16"), _make("uint16")
int32, uint32, int64, uint64 = _make("int32"), _make("uint32"), _make("int64"), _make("uint64")
float16, bfloat16, float32, float64 = _make("float16"), _make("bfloat16"), _make("float32"), _make("float64")

int_types = (int8, uint8, int16, uint16, int32, uint32, int64, uint64)
float_types = (float16, bfloat16, float32, float64)
scalar_types = int_types + float_types

SCALARS: dict[str, type[ScalarBase]] = {cls.__name__: cls for cls in (*scalar_types, bool_)}
"""Every scalar class by name."""

PLAIN = (float32, int32, bool_)
"""Types whose values Python code sees as plain Python numbers."""

_PYTHON_TYPES: dict[Any, type[ScalarBase]] = {float: float32, int: int32, bool: bool_}


class Scalar:
    """Generic annotation: any numeric scalar type."""


class Float:
    """Generic annotation: any floating-point type."""


class Int:
    """Generic annotation: any integer type."""


def scalar_class(dtype: Any) -> type[ScalarBase] | None:
    """The scalar class meant by `float`, `wp.int8`, `np.float32`, a NumPy dtype or a handle; None if it is none."""
    if isinstance(dtype, type):
        if issubclass(dtype, ScalarBase):
            return dtype if dtype.__name__ in SCALARS else None
        known = _PYTHON_TYPES.get(dtype)
        if known is not None:
            return known
        if not issubclass(dtype, np.generic):
            return None
        dtype = np.dtype(dtype)
    if isinstance(dtype, _weft.Type):
        return SCALARS[dtype.scalar] if dtype.kind == "scalar" else None
    if isinstance(dtype, np.dtype):
        # By kind and size: NumPy has several classes for one C type (longlong).
        name = {"b": "bool", "i": f"int{dtype.itemsize * 8}", "u": f"uint{dtype.itemsize * 8}"}.get(
            dtype.kind, f"float{dtype.itemsize * 8}" if dtype.kind == "f" else dtype.name
        )
        return SCALARS.get(name) if dtype.isnative else None
    return None
