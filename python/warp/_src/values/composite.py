"""What vectors, matrices, quaternions and transforms share in Python scope.

A composite class is a ctypes array, so its objects are plain bytes with the buffer protocol, plus the operators of the
kernel language, which call the builtins. Equal types are one class: classes are made once per (kind, scalar, shape).
"""

from __future__ import annotations

import copyreg
import ctypes
import math
from types import GenericAlias
from typing import Any, Callable, Iterable, Iterator, Literal, Sequence, TypeVar, get_args, get_origin

import numpy as np

from warp import _weft
from warp._src.values.scalars import (
    PLAIN,
    Float,
    Int,
    Scalar,
    ScalarBase,
    bfloat16,
    bfloat_bits,
    bfloat_from_bits,
    bool_,
    float16,
    float_base,
    half_bits,
    half_from_bits,
    is_number,
    plain_number,
    scalar_class,
)

_call = _weft.call_builtin
_array_get = ctypes.Array.__getitem__
_array_set = ctypes.Array.__setitem__
_ALL = slice(None)
_ARRAYS = (_weft.Array, np.ndarray)  # their own operators know what to do

CLASSES: dict[_weft.Type, type[Composite]] = {}
"""The class of every composite type made so far."""

SUFFIXES = {
    "float16": "h",
    "bfloat16": "bf",
    "float32": "f",
    "float64": "d",
    "int8": "b",
    "uint8": "ub",
    "int16": "s",
    "uint16": "us",
    "int32": "i",
    "uint32": "ui",
    "int64": "l",
    "uint64": "ul",
}

FORMATS = {"bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I"}
FORMATS |= {"int64": "q", "uint64": "Q", "float16": "e", "bfloat16": "H", "float32": "f", "float64": "d"}
"""Letters of the struct module and the buffer protocol; bfloat16 has none and goes by its bits."""

_CODECS = {float16: (half_bits, half_from_bits), bfloat16: (bfloat_bits, bfloat_from_bits)}


class CompositeMeta(type(ctypes.Array)):  # type: ignore[misc]
    """Metaclass of the composite classes: they pickle by what they are, also where they have no public name."""


def _class_of_parts(kind: str, scalar: str, rows: int, cols: int) -> type:
    element = _weft.type_scalar(scalar)
    if kind == "vec":
        return class_of_handle(_weft.type_vec(element, rows))
    if kind == "mat":
        return class_of_handle(_weft.type_mat(element, rows, cols))
    return class_of_handle(_weft.type_quat(element) if kind == "quat" else _weft.type_transform(element))


def _reduce_class(cls: type) -> Any:
    handle = cls.__dict__.get("_wp_type_")
    if handle is None:  # a class that a program derived from one of ours
        return cls.__qualname__
    return _class_of_parts, (handle.kind, handle.scalar, handle.rows, handle.cols)


copyreg.pickle(CompositeMeta, _reduce_class)  # type: ignore[arg-type]

_makers: dict[str, Callable[[_weft.Type], type]] = {}


def register_maker(kind: str, maker: Callable[[_weft.Type], type]) -> None:
    """Says how the class of a handle of this kind is made."""
    _makers[kind] = maker


def class_of_handle(handle: _weft.Type) -> type:
    """The class of a composite type, made if there is none yet."""
    cls = CLASSES.get(handle)
    return cls if cls is not None else CLASSES.setdefault(handle, _makers[handle.kind](handle))


def make_class(base: type, handle: _weft.Type, name: str, shape: tuple[int, ...], members: dict[str, Any]) -> type:
    """A class for a handle: a ctypes array of its scalars with the methods of `base`."""
    scalar = scalar_class(_weft.type_scalar(handle.scalar))
    assert scalar is not None
    encode, decode = _CODECS.get(scalar, (None, None))
    namespace = {  # without __slots__: programs put attributes of their own on values
        "__module__": "warp.types",
        "__qualname__": name,
        "_length_": handle.components,
        "_type_": scalar._type_,
        "_shape_": shape,
        "_wp_scalar_type_": scalar,
        "_wp_type_": handle,
        "_wp_type_params_": (*shape, scalar),
        "_wp_encode_": staticmethod(encode) if encode else None,
        "_wp_decode_": staticmethod(decode) if decode else None,
        "_wp_plain_": scalar in PLAIN,
        "_wp_number_": None if scalar is bool_ else float if issubclass(scalar, float_base) else int,
        "_wp_direct_": encode is None and scalar is not bool_,
        **members,
    }
    cls = CompositeMeta(name, (base, ctypes.Array), namespace)
    # Flat, also for matrices: programs reshape np.array(m), or store it into rows of as many numbers.
    _weft.set_buffer_layout(cls, FORMATS[handle.scalar], [handle.components], ctypes.sizeof(scalar._type_))
    return cls


def component_numbers(value: Any) -> list | None:
    """The numbers of a flat sequence, vector or NumPy array; None if it is a number or no sequence."""
    if isinstance(value, Composite):
        return value._numbers()
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.ndim else None
    if isinstance(value, (str, bytes)) or is_number(value):
        return None
    if hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
        return np.asarray(value).ravel().tolist()
    in_turn = isinstance(value, Iterable) or (hasattr(value, "__len__") and hasattr(value, "__getitem__"))
    return list(value) if in_turn else None  # classes of other languages often have length and items alone


def position_of(key: Any, count: int, what: str, wanted: str = "int or slice") -> int:
    """An index as a position counted from the front; IndexError if there is no such one."""
    if not hasattr(key, "__index__"):
        raise KeyError(f"Invalid key {key}, expected {wanted}")
    index = key.__index__()
    if not -count <= index < count:
        raise IndexError(f"Invalid {what} index")
    return index + count if index < 0 else index


def _binary(builtin: str, matrices: bool = False) -> tuple[Callable, Callable]:
    """An operator and its reflection; `matrices`: one operand at least must be a matrix."""

    def forward(self: Composite, other: Any) -> Any:
        if isinstance(other, _ARRAYS) or (matrices and len(self._shape_) == len(getattr(other, "_shape_", "..")) == 1):
            return NotImplemented
        try:
            return _call(builtin, self, other if isinstance(other, Composite) else self._operand(builtin, other))
        except TypeError:
            return NotImplemented

    def reflected(self: Composite, other: Any) -> Any:
        if isinstance(other, _ARRAYS):
            return NotImplemented
        try:
            return _call(builtin, self._operand(builtin, other), self)
        except TypeError:
            return NotImplemented

    return forward, reflected


def _unary(builtin: str) -> Callable:
    return lambda self: _call(builtin, self)


class Composite:
    """Methods of every vector, matrix, quaternion and transform."""

    __slots__ = ()

    _length_: int
    _type_: Any
    _shape_: tuple[int, ...]
    _wp_scalar_type_: type[ScalarBase]
    _wp_type_: _weft.Type
    _wp_generic_type_str_: str
    _wp_encode_: Any
    _wp_decode_: Any
    _wp_plain_: bool
    _wp_direct_: bool
    _wp_number_: type | None  # the class of Python's numbers that take the component type beside such a value
    _wp_spreading_: frozenset[str] = frozenset()  # operators whose other side, if a number, counts for every component

    def _numbers(self) -> list:
        """All components as Python numbers, row by row."""
        raw = _array_get(self, _ALL)
        return raw if self._wp_decode_ is None else [self._wp_decode_(bits) for bits in raw]

    def _items(self) -> list:
        """All components as Python scope shows them: float32, int32 and bool plain, other types as their scalars."""
        numbers = self._numbers()
        return numbers if self._wp_plain_ else list(map(self._wp_scalar_type_._of, numbers))

    def _item(self, position: Any) -> Any:
        try:
            raw = _array_get(self, position)
        except TypeError:
            raise KeyError(f"Invalid key {position}, expected int or slice") from None
        if self._wp_plain_:
            return raw
        return self._wp_scalar_type_._of(raw if self._wp_decode_ is None else self._wp_decode_(raw))

    def _raw(self, value: Any) -> Any:
        """A number as the ctypes array takes it; TypeError if it does not fit the component type."""
        number = plain_number(value)
        if self._wp_encode_ is not None:
            return self._wp_encode_(float(number))
        scalar = self._wp_scalar_type_
        if isinstance(number, float) and scalar is not bool_ and not issubclass(scalar, float_base):
            raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
        return number

    def _operand(self, builtin: str, other: Any) -> Any:
        """The other side of an operator: Python's numbers get the component type, if they are of its sort."""
        scalar = self._wp_scalar_type_
        if type(other) is self._wp_number_ and not self._wp_plain_:
            number, other = other, scalar(other)
            if type(number) is int and number != other:
                raise OverflowError(f"{number} does not fit {scalar.__name__}")
        if builtin in self._wp_spreading_ and scalar_class(type(other)) is scalar:
            return class_of_handle(self._wp_type_)(other)
        return other

    def _set_item(self, position: int, value: Any) -> None:
        try:
            raw = self._raw(value)
        except TypeError:
            given, wanted = type(value).__name__, self._wp_scalar_type_.__name__
            raise TypeError(f"Expected to assign a `{wanted}` value but got `{given}` instead") from None
        _array_set(self, position, raw)

    def _set_all(self, numbers: Sequence[Any]) -> None:
        if self._wp_direct_:  # ctypes itself refuses what is no number of the kind
            _array_set(self, _ALL, numbers)
        else:
            _array_set(self, _ALL, [self._raw(x) for x in numbers])

    def _set_positions(self, positions: Sequence[int], value: Any) -> None:
        """Slice assignment: one number for all, or as many as there are places."""
        numbers = component_numbers(value)
        if numbers is None:
            raw = self._raw(value)
            for position in positions:
                _array_set(self, position, raw)
            return
        raw_numbers = []  # all of them before the first write: all or nothing
        for x in numbers:
            try:
                raw_numbers.append(self._raw(x))
            except TypeError:
                wanted, given = self._wp_scalar_type_.__name__, type(x).__name__
                text = f"Expected to assign a slice from a sequence of `{wanted}` values but got `{given}` instead"
                raise TypeError(text) from None
        if len(numbers) != len(positions):
            raise ValueError(f"Can only assign sequence of same size: {len(positions)} places, {len(numbers)} numbers")
        for position, raw in zip(positions, raw_numbers):
            _array_set(self, position, raw)

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("sub")
    __mul__, __rmul__ = _binary("mul")
    __matmul__, __rmatmul__ = _binary("mul", matrices=True)
    __truediv__, __rtruediv__ = _binary("div")
    __floordiv__, __rfloordiv__ = _binary("floordiv")
    __mod__, __rmod__ = _binary("mod")
    __pow__, __rpow__ = _binary("pow")
    __neg__ = _unary("neg")
    __pos__ = _unary("pos")

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, Composite):
            return self._shape_ == other._shape_ and self._numbers() == other._numbers()
        if isinstance(other, (list, tuple)):
            return self._nested() == _as_numbers(other)
        if isinstance(other, np.ndarray):
            return self._shape_ == other.shape and self._nested() == other.tolist()
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def _converted(self, source: Composite) -> list:
        """The numbers of another value, cast to this component type as a kernel does."""
        numbers, scalar = source._numbers(), self._wp_scalar_type_
        return numbers if source._wp_scalar_type_ is scalar else [scalar(x).value for x in numbers]

    def _nested(self) -> list:
        """The numbers in lists as the shape has them."""
        return self._numbers()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items())

    def __str__(self) -> str:
        return "[" + ", ".join(map(str, self._numbers())) + "]"

    def __repr__(self) -> str:
        return f"{class_repr(type(self))}([{', '.join(map(repr, self._items()))}])"

    def __copy__(self) -> Composite:
        return type(self).from_buffer_copy(self)  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: dict) -> Composite:
        return self.__copy__()

    def __reduce__(self) -> tuple:
        return _restore, (type(self), bytes(self))  # type: ignore[call-overload]

    @classmethod
    def from_ptr(cls, ptr: int) -> Composite:
        """A copy of the value at an address."""
        if not ptr:
            raise RuntimeError("NULL pointer exception")
        return cls.from_buffer_copy(ctypes.string_at(ptr, ctypes.sizeof(cls)))  # type: ignore[attr-defined,arg-type]


def _as_numbers(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_as_numbers(x) for x in value]
    return value._nested() if isinstance(value, Composite) else value


def _restore(cls: Any, data: bytes) -> Composite:
    return cls.from_buffer_copy(data)


def component(position: int, doc: str) -> property:
    """A named component: v.x."""

    def read(self: Composite) -> Any:
        return self._item(position)

    def write(self: Composite, value: Any) -> None:
        self._set_item(position, value)

    return property(read, write, doc=doc)


def component_names(count: int) -> dict[str, property]:
    """x, y, z, w as far as there are components."""
    return {name: component(k, f"Component {k}.") for k, name in enumerate("xyzw"[:count])}


_LETTERS = frozenset("xyzw")


def set_attribute(self: Composite, name: str, value: Any) -> None:
    """Instances take attributes of the program's own, but none that looks like components: v.xy = … would change nothing."""
    if len(name) <= 4 and _LETTERS.issuperset(name) and not hasattr(type(self), name):
        raise AttributeError(f"'{class_repr(type(self))}' object has no attribute '{name}'")
    object.__setattr__(self, name, value)


def class_repr(cls: type) -> str:
    """How a type is written: vec3f, mat23d, vector(length=5, dtype=float32)."""
    handle = cls.__dict__.get("_wp_type_")
    if handle is None:
        return _generic_repr(cls) if "_wp_pattern_" in cls.__dict__ else cls.__name__
    shape = cls._shape_  # type: ignore[attr-defined]
    suffix = SUFFIXES.get(handle.scalar)
    if handle.kind in ("quat", "transform"):
        return handle.kind + suffix
    if suffix and max(shape) <= 4:
        return ("vec" if len(shape) == 1 else "mat") + "".join(map(str, shape)) + suffix
    if len(shape) == 1:
        return f"vector(length={shape[0]}, dtype={handle.scalar})"
    return f"matrix(shape={shape}, dtype={handle.scalar})"


def subscripts(base: type, cls: type, given: Any, names: tuple[str, ...]) -> tuple | GenericAlias:
    """What stands in `Vector[float, 3]`, `Matrix[float, Literal[2], Literal[3]]`: the component type and the extents as
    numbers. With type variables in it, what the typing module understands."""
    given = given if isinstance(given, tuple) else (given,)
    if cls is not base:
        raise TypeError(f"{class_repr(cls)} is a type with everything given; it takes no parameters in brackets")
    if len(given) != len(names):
        plural = "" if len(names) == 1 else "s"
        wanted = f"{len(names)} parameter{plural} ({', '.join(names)})"
        raise TypeError(f"{base.__name__} requires {wanted}, got {len(given)}")
    if any(isinstance(one, TypeVar) for one in given):
        return GenericAlias(base, given)
    return (given[0], *(_literal_extent(base, name, one) for name, one in zip(names[1:], given[1:])))


def _literal_extent(base: type, name: str, given: Any) -> Any:
    if given is Any:
        return given
    if get_origin(given) is Literal:
        values = get_args(given)
        if len(values) != 1:
            raise TypeError(f"Expected a single Literal value for {name} of {base.__name__}, got {given}")
        given = values[0]
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise TypeError(f"{name} of {base.__name__} must be a positive integer, got {given!r}")
    return given


_GENERIC_SCALARS: dict[Any, str] = {Any: "Any", Scalar: "Scalar", Float: "Float", Int: "Int"}
_generic_classes: dict[tuple, type] = {}


def is_generic(dtype: Any, *extents: Any) -> bool:
    """Whether a component type or an extent is left open, as annotations may have it."""
    return any(n is Any for n in extents) or (isinstance(dtype, type) or dtype is Any) and dtype in _GENERIC_SCALARS


def generic_class(base: type, shape: tuple[Any, ...], dtype: Any) -> type:
    """What stands for all vectors or matrices of some extents and component types in an annotation."""
    what = base._wp_constructor_  # type: ignore[attr-defined]
    name = _GENERIC_SCALARS.get(dtype) if isinstance(dtype, type) or dtype is Any else None
    component = dtype if name else scalar_class(dtype)
    element = ("generic", name) if name else ("type", checked_scalar(dtype, what))
    extents = tuple(0 if n is Any else n for n in shape)
    known = _generic_classes.get((base, extents, component))
    if known is not None:
        return known
    namespace = {
        "__slots__": (),
        "__module__": "warp.types",
        "__doc__": f"A {what} type with something left open: for annotations.",
        "__new__": _refuse_generic,
        "_length_": math.prod(extents),
        "_shape_": extents,
        "_wp_scalar_type_": component,
        "_wp_type_params_": (*shape, component),
        "_wp_pattern_": (f"generic_{what}", element, *extents),
    }
    made = type(base._wp_generic_type_str_, (base,), namespace)  # type: ignore[attr-defined]
    return _generic_classes.setdefault((base, extents, component), made)


def _refuse_generic(cls: type, *args: Any, **kwargs: Any) -> Any:
    raise TypeError(f"{class_repr(cls)} has no values: it stands for types in annotations; use a type with all extents")


def _generic_repr(cls: Any) -> str:
    *shape, dtype = cls._wp_type_params_
    words = ["Any" if n is Any else str(n) for n in shape]
    name = "Any" if dtype is Any else dtype.__name__
    if len(words) == 1:
        return f"vector(length={words[0]}, dtype={name})"
    return f"matrix(shape=({', '.join(words)}), dtype={name})"


def checked_scalar(dtype: Any, what: str) -> _weft.Type:
    """The handle of a component type; TypeError for anything else."""
    scalar = scalar_class(dtype)
    if scalar is None:
        raise TypeError(f"the dtype of a {what} must be a scalar type such as wp.float32, got {dtype!r}")
    return scalar._wp_type_
