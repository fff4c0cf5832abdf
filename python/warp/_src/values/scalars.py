"""Scalar types in Python scope: `wp.int8` … `wp.float64` and `wp.bool`.

Calling a class converts a number by the rules of the kernel language: integers wrap, floats become integers by
truncation and saturate, floats round to nearest even.

The objects are numbers of Python: a `wp.float64` is a float, a `wp.int16` an int, equal to them, hashed and formatted as
they are. Their class says which type they have where overloads are chosen and kernels launched. Arithmetic between two of
one type is that of the builtins, so that a sum has the value it would have in a kernel; a Python float counts as float32
there, and an int as int32. All other arithmetic is Python's, with a plain number as its result.
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
    """The Python number of a number-like object: Python and NumPy numbers, scalars of ours, tensors without dimensions,
    objects with __index__ or __float__. TypeError for anything else, sequences and text among it."""
    if isinstance(x, (int, float)):
        return x.value if isinstance(x, ScalarBase) else x
    if isinstance(x, (np.generic, np.ndarray)) and x.ndim == 0 and x.dtype.kind in "biuf":
        return x.item()
    if not isinstance(x, (str, bytes)) and not hasattr(x, "__len__"):
        if hasattr(x, "__index__"):
            return x.__index__()
        if hasattr(x, "__float__"):
            return x.__float__()
    elif getattr(x, "ndim", None) == 0 and hasattr(x, "item"):
        number = x.item()
        if isinstance(number, (int, float)):
            return number
    raise TypeError(f"must be a number, not {type(x).__name__}")


def is_number(x: Any) -> bool:
    """Whether `plain_number` takes x."""
    if isinstance(x, (int, float)):
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


def _is_alike(x: ScalarBase, other: Any) -> bool:
    """Whether the other side of an operator has the type of x: a scalar, a NumPy number, a Python number where its type is
    that of x and its value fits."""
    kind = type(other)
    if kind in x._wp_alike_:
        return kind is not int or -0x80000000 <= other < 0x80000000
    return isinstance(other, np.generic) and scalar_class(kind) is type(x)


def _binary(builtin: str, own: Callable, own_reflected: Callable) -> tuple[Callable, Callable]:
    """An operator and its reflected form: the builtin for operands of one type, Python's for others."""

    def forward(self: ScalarBase, other: Any) -> Any:
        if _is_alike(self, other):
            return _call(builtin, self, other)
        return NotImplemented if isinstance(other, np.generic) else own(self, other)

    def reflected(self: ScalarBase, other: Any) -> Any:
        if _is_alike(self, other):
            return _call(builtin, other, self)
        return NotImplemented if isinstance(other, np.generic) else own_reflected(self, other)

    return forward, reflected


def _unary(builtin: str) -> Callable:
    return lambda self: _call(builtin, self)


class ScalarBase:
    """What all scalar types have: a type of the kernel language, and the plain Python number in `value`."""

    __slots__ = ()
    _wp_scalar_ = True
    _length_ = 1
    _wp_type_: _weft.Type
    _wp_alike_: tuple[type, ...]  # classes of operands for which operators are builtins
    _type_: Any
    value: Any

    @staticmethod
    def _convert(x: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def _of(cls, number: Any) -> Any:
        """The object of a Python number that the type has: nothing is converted."""
        raise NotImplementedError

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a {type(self).__name__} can't be changed; make a new one")

    __neg__ = _unary("neg")
    __pos__ = _unary("pos")
    __abs__ = _unary("abs")

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value})"

    def __reduce__(self) -> tuple:
        return type(self), (self.value,)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if dtype is None:
            dtype = NUMPY_NAMES.get(type(self).__name__, np.float32)
        return np.array(self.value, dtype=dtype)


class int_base(ScalarBase, int):
    """Base of the integer types."""

    __slots__ = ()
    _of = classmethod(int.__new__)
    value = int.real  # always a plain int

    def __new__(cls, x: Any = 0) -> Any:
        return int.__new__(cls, cls._convert(x))

    __add__, __radd__ = _binary("add", int.__add__, int.__radd__)
    __sub__, __rsub__ = _binary("sub", int.__sub__, int.__rsub__)
    __mul__, __rmul__ = _binary("mul", int.__mul__, int.__rmul__)
    __truediv__, __rtruediv__ = _binary("div", int.__truediv__, int.__rtruediv__)
    __floordiv__, __rfloordiv__ = _binary("floordiv", int.__floordiv__, int.__rfloordiv__)
    __mod__, __rmod__ = _binary("mod", int.__mod__, int.__rmod__)
    __and__, __rand__ = _binary("bit_and", int.__and__, int.__rand__)
    __or__, __ror__ = _binary("bit_or", int.__or__, int.__ror__)
    __xor__, __rxor__ = _binary("bit_xor", int.__xor__, int.__rxor__)
    __lshift__, __rlshift__ = _binary("lshift", int.__lshift__, int.__rlshift__)
    __rshift__, __rrshift__ = _binary("rshift", int.__rshift__, int.__rrshift__)
    __invert__ = _unary("invert")


class float_base(ScalarBase, float):
    """Base of the floating-point types."""

    __slots__ = ()
    _of = classmethod(float.__new__)
    value = float.real  # always a plain float

    def __new__(cls, x: Any = 0) -> Any:
        return float.__new__(cls, cls._convert(x))

    __add__, __radd__ = _binary("add", float.__add__, float.__radd__)
    __sub__, __rsub__ = _binary("sub", float.__sub__, float.__rsub__)
    __mul__, __rmul__ = _binary("mul", float.__mul__, float.__rmul__)
    __truediv__, __rtruediv__ = _binary("div", float.__truediv__, float.__rtruediv__)
    __floordiv__, __rfloordiv__ = _binary("floordiv", float.__floordiv__, float.__rfloordiv__)
    __mod__, __rmod__ = _binary("mod", float.__mod__, float.__rmod__)
    __pow__, __rpow__ = _binary("pow", float.__pow__, float.__rpow__)


class bool_(ScalarBase, int):
    """The type of truth values. Python allows no class below its own `bool`: this one is an int, as that is, and its
    arithmetic is an int's."""

    __slots__ = ()
    _wp_type_ = _weft.type_scalar("bool")
    _type_ = ctypes.c_bool
    __numpy_dtype__ = np.dtype(np.bool_)

    def __new__(cls, x: Any = False) -> Any:
        return int.__new__(cls, bool(plain_number(x)))

    _of = classmethod(int.__new__)
    value = property(bool)
    __neg__, __pos__, __abs__ = int.__neg__, int.__pos__, int.__abs__


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

_bfloat16_dtype: np.dtype | None = None


def bfloat16_dtype() -> np.dtype:
    """The NumPy dtype that bfloat16 memory shows: that of ml_dtypes if it is installed, else the bits as uint16."""
    global _bfloat16_dtype
    if _bfloat16_dtype is None:
        try:
            import ml_dtypes

            _bfloat16_dtype = np.dtype(ml_dtypes.bfloat16)
        except ImportError:
            _bfloat16_dtype = np.dtype(np.uint16)
    return _bfloat16_dtype


def memory_dtype(name: str) -> np.dtype:
    """The NumPy dtype that memory of a scalar type shows."""
    return bfloat16_dtype() if name == "bfloat16" else np.dtype(NUMPY_NAMES[name])


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
    if name in NUMPY_NAMES:
        members["__numpy_dtype__"] = np.dtype(NUMPY_NAMES[name])  # np.dtype(wp.float16), from NumPy 2.4
    cls = type(name, (base,), members)
    cls._wp_alike_ = (cls, *(plain for plain in (int, float) if name == f"{plain.__name__}32"))
    return cls


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
