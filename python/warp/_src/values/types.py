"""The types of the kernel language in Python: every public type, the maps to and from NumPy, and questions about types.

`type_handle` and `class_of` go between Python classes and the compiler's types; everything else builds on them.
"""

from __future__ import annotations

import builtins as _python
from typing import Any, Callable, Iterable, Sequence, TypeVar, get_args, get_origin

import numpy as np

from warp import _weft
from warp._src.session import config
from warp._src.values import matrix as _matrix
from warp._src.values import quaternion as _quaternion
from warp._src.values import vector as _vector
from warp._src.values.composite import Composite, class_of_handle, class_repr
from warp._src.values.matrix import Matrix, matrix  # noqa: F401
from warp._src.values.quaternion import Quaternion, Transformation, quaternion, transform_expand, transformation  # noqa: F401
from warp._src.values.scalars import (  # noqa: F401
    NUMPY_NAMES,
    SCALARS,
    Float,
    Int,
    Scalar,
    ScalarBase,
    bfloat16,
    float16,
    float32,
    float64,
    float_base,
    float_types,
    int8,
    int16,
    int32,
    int64,
    int_base,
    int_types,
    scalar_class,
    scalar_types,
    uint8,
    uint16,
    uint32,
    uint64,
)
from warp._src.values.scalars import ScalarBase as scalar_base  # noqa: F401
from warp._src.values.scalars import bool_ as bool  # noqa: A004
from warp._src.values.vector import Vector, vector  # noqa: F401

_NAMED: dict[str, type] = {**_vector.NAMES, **_matrix.NAMES, **_quaternion.NAMES}
globals().update(_NAMED)

Length = TypeVar("Length", bound=int)
Rows = TypeVar("Rows", bound=int)
Cols = TypeVar("Cols", bound=int)
DType = TypeVar("DType")

vector_types: tuple[type, ...] = tuple(dict.fromkeys(_NAMED.values()))
"""Every named vector, matrix, quaternion and transform class."""

warp_type_to_np_dtype: dict[type, Any] = {cls: NUMPY_NAMES.get(name, np.uint16) for name, cls in SCALARS.items()}
"""NumPy's scalar class of each scalar type; bfloat16, which NumPy lacks, as the bits in uint16."""


def dtype_from_numpy(numpy_dtype: Any) -> type:
    """Our scalar type of a NumPy dtype; TypeError if there is none."""
    try:
        scalar = scalar_class(np.dtype(numpy_dtype))
    except TypeError:
        scalar = None
    if scalar is None:
        raise TypeError(f"Cannot convert {numpy_dtype} to a Warp type")
    return scalar


np_dtype_to_warp_type: dict[Any, type] = {}
"""Our scalar type of NumPy's scalar classes and dtypes."""
for _np_type in (*NUMPY_NAMES.values(), np.intc, np.uintc, np.longlong, np.ulonglong):
    np_dtype_to_warp_type[_np_type] = np_dtype_to_warp_type[np.dtype(_np_type)] = dtype_from_numpy(_np_type)


def type_handle_or_none(x: Any) -> _weft.Type | None:
    """The compiler's type of a class or annotation; None if it has none."""
    if isinstance(x, _weft.Type):
        return x
    if isinstance(x, type):
        handle = getattr(x, "_wp_type_", None)
        if isinstance(handle, _weft.Type):
            return handle
    scalar = scalar_class(x.dtype if isinstance(x, np.generic) else x)
    if scalar is not None:
        return scalar._wp_type_
    if isinstance(x, _weft.Array) and not x._valid:  # wp.array(dtype=…, ndim=…) as an annotation
        element = type_handle_or_none(x.dtype)
        return _weft.type_array(element, x.ndim) if element is not None else None
    if getattr(x, "_wp_indexed_", False) and not isinstance(x, type) and x.data is None:
        element = type_handle_or_none(x.dtype)
        return _weft.type_indexed_array(element, x.ndim) if element is not None else None
    if hasattr(x, "_wp_fabric_") and not isinstance(x, type) and not x._valid:
        element = type_handle_or_none(x.dtype)
        indexed = x._wp_fabric_ == "indexedfabric"
        return _weft.type_fabric_array(element, x.ndim, indexed) if element is not None and x.ndim is not Any else None
    return None


def type_handle(x: Any) -> _weft.Type:
    """The compiler's type of `float`, `wp.vec3`, `np.float32`, a struct, an array annotation…; TypeError if none."""
    handle = type_handle_or_none(x)
    if handle is None:
        cure = "use wp.float32, wp.vec3, a wp.struct…"
        if hasattr(type(x), "_wp_tile_"):
            cure = "tiles live in kernels only: make an array of their elements, and wp.tile_load(…) a part of it in a kernel"
        raise TypeError(f"{x!r} is not a type of the kernel language; {cure}")
    return handle


_class_of_struct: Callable[[_weft.Type], type]  # structs are built on types: struct.py says how


def class_of(handle: _weft.Type) -> type:
    """The Python class of a scalar, composite or struct type."""
    kind = handle.kind
    if kind == "scalar":
        return SCALARS[handle.scalar]
    if kind == "struct":
        return _class_of_struct(handle)
    if kind in ("vec", "mat", "quat", "transform"):
        return class_of_handle(handle)
    raise TypeError(f"values of type {handle.name} have no class of their own")


def make_value(handle: _weft.Type, data: bytes, number: Any) -> Any:
    """The Python value of bytes in C layout: the binding calls it for all but float32, int32 and bool."""
    if number is not None:
        return number if config.legacy_scalar_return_types else SCALARS[handle.scalar]._of(number)
    if handle.kind == "struct":
        return class_of(handle).from_bytes(data)  # type: ignore[attr-defined]
    return class_of(handle).from_buffer_copy(data)  # type: ignore[attr-defined]


def value_bytes(value: Any) -> bytes:
    """The bytes of a value of a kernel type in C layout. Arrays in structs stay the caller's to keep alive."""
    if isinstance(value, Composite):
        return bytes(value)  # type: ignore[call-overload]
    handle = type_of(value) if is_numpy_scalar(value) else getattr(value, "_wp_type_", None)
    if handle is None:
        handle = type_handle(type(value))
    return _weft.pack(handle, value)


def is_numpy_scalar(value: Any) -> _python.bool:
    """Whether a value is a NumPy number or truth value."""
    return isinstance(value, np.generic) and scalar_class(value.dtype) is not None


def type_of(value: Any) -> _weft.Type | None:
    """The type that a NumPy scalar has in the kernel language; None for other objects."""
    scalar = scalar_class(value.dtype) if isinstance(value, np.generic) else None
    return scalar._wp_type_ if scalar is not None else None


def dtype_to_numpy(warp_dtype: Any) -> Any:
    """NumPy's scalar class of one of our scalar types; TypeError for others."""
    scalar = scalar_class(warp_dtype)
    if scalar is None:
        raise TypeError(f"Cannot convert {warp_dtype} to a NumPy type")
    return warp_type_to_np_dtype[scalar]


def types_equal(a: Any, b: Any, match_generic: _python.bool = False) -> _python.bool:
    """Whether two annotations mean the same type; with match_generic, generic ones equal what they stand for."""
    first, second = type_handle_or_none(a), type_handle_or_none(b)
    if first is not None and second is not None:
        return first == second
    if match_generic:
        return any(_stands_for(x, y) for x, y in ((a, second), (b, first)))
    return a is b or (type(a) is type(b) and not isinstance(a, type) and _python.bool(a == b))


def _stands_for(generic: Any, handle: _weft.Type | None) -> _python.bool:
    if generic is Any:
        return True
    pattern = generic.__dict__.get("_wp_pattern_") if isinstance(generic, type) else None
    if handle is not None and pattern is not None:
        return _weft.annotation_takes(pattern, handle)
    if handle is None or handle.kind != "scalar" or handle.scalar == "bool":
        return False
    is_float = "float" in handle.scalar
    return generic is Scalar or (generic is Float and is_float) or (generic is Int and not is_float)


def type_size(dtype: Any) -> int:
    """How many scalars a value of the type holds."""
    handle = type_handle(dtype)
    if handle.kind == "scalar":
        return 1
    if handle.kind not in ("vec", "mat", "quat", "transform"):
        raise TypeError(f"{type_repr(dtype)} is neither a scalar nor made of scalars of one type")
    return handle.components


type_length = type_size
vec = vector  # the names of old programs
mat = matrix
scalar_and_bool_types = (*scalar_types, bool)
ARRAY_MAX_DIMS = 4
LAUNCH_MAX_DIMS = 4
non_atomic_types: tuple[type, ...] = (int8, uint8, int16, uint16, int64)
"""Types that the original could not update atomically; here every scalar type can be."""


def type_size_in_bytes(dtype: Any) -> int:
    """How many bytes a value of the type takes."""
    return type_handle(dtype).size


def type_scalar_type(dtype: Any) -> Any:
    """The scalar type that a vector, matrix, quaternion or transform type is made of; any other type itself."""
    return getattr(dtype, "_wp_scalar_type_", dtype)


def type_to_warp(dtype: Any) -> Any:
    """The scalar type that Python's `float`, `int` or `bool` means; any other type itself."""
    return scalar_class(dtype) if dtype in (float, int, _python.bool) else dtype


def type_ctype(dtype: Any) -> Any:
    """The ctypes class of a scalar type, for 16-bit floats that of their bits; composite types are such classes themselves."""
    if isinstance(dtype, type) and issubclass(dtype, Composite):
        return dtype
    scalar = scalar_class(dtype)
    if scalar is None:
        raise TypeError(f"{type_repr(dtype)} has no ctypes class")
    return scalar._type_


def type_typestr(dtype: Any) -> str:
    """The scalars of a type as the array interface names them: '<f4'. bfloat16, which it lacks, goes by its bits."""
    scalar = scalar_class(type_scalar_type(dtype))
    if scalar is None:
        raise TypeError(f"{type_repr(dtype)} is not made of scalars of one type")
    return np.dtype(warp_type_to_np_dtype[scalar]).str


_ARRAY_CODES = {"array": "a", "indexedarray": "ia", "fabricarray": "fa", "indexedfabricarray": "ifa"}
ARRAY_KINDS = tuple(_ARRAY_CODES)


def get_type_code(arg_type: Any) -> str:
    """A short text for an annotation, another one for each type: 'f4', 'v3f4', 'm33f8', 'qf4', 'a2i4'; '?' for `Any`."""
    if arg_type is Any or arg_type is Ellipsis:
        return "?"
    if arg_type is Scalar or arg_type is Float or arg_type is Int:
        return f"{arg_type.__name__[0].lower()}?"
    if get_origin(arg_type) is tuple:
        parts = get_args(arg_type)
        return f"tpl{len(parts)}{''.join(map(get_type_code, parts))}"
    if getattr(arg_type, "_wp_tile_", "") == "tile" and not isinstance(arg_type, type):
        extents = "x".join("?" if n is Any else str(n) for n in arg_type.shape) or "?"
        return f"tl{extents}{get_type_code(arg_type.dtype)}"
    sort = "indexed" if getattr(arg_type, "_wp_indexed_", False) else getattr(arg_type, "_wp_fabric_", "")
    prefix = _ARRAY_CODES[f"{sort}array"] if sort else "a" if isinstance(arg_type, _weft.Array) else ""
    if prefix and not isinstance(arg_type, type):
        return f"{prefix}{arg_type.ndim}{get_type_code(arg_type.dtype)}"
    handle = type_handle_or_none(arg_type)
    if handle is None:
        raise TypeError(f"Unrecognized type '{arg_type}'")
    return _code(handle)


def _code(handle: _weft.Type) -> str:
    kind = handle.kind
    if kind in ARRAY_KINDS:
        return f"{_ARRAY_CODES[kind]}{handle.rank}{_code(handle.element)}"  # type: ignore[arg-type]
    if kind == "struct":
        from zlib import crc32  # start-up does without

        fields = ",".join(f"{name}:{_code(field)}" for name, field, _ in handle.fields)
        return f"{handle.name}_{crc32(fields.encode()):08x}"  # structs of one name may differ
    if handle.scalar == "bool":
        scalar = "b"
    else:
        sort = {"f": "f", "b": "bf", "i": "i", "u": "u"}[handle.scalar[0]]
        scalar = sort + str(_weft.type_scalar(handle.scalar).size)
    shape = {"vec": f"{handle.rows}", "mat": f"{handle.rows}{handle.cols}"}.get(kind, "")
    return scalar if kind == "scalar" else f"{kind[0]}{shape}{scalar}"


def get_signature(arg_types: Iterable[Any]) -> str:
    """The codes of several types in one text."""
    return "_".join(map(get_type_code, arg_types))


def strides_from_shape(shape: Sequence[int] | int, dtype: Any) -> tuple[int, ...]:
    """The strides in bytes of a contiguous array."""
    extents: Iterable[int] = (shape,) if isinstance(shape, int) else shape
    step = type_size_in_bytes(dtype)
    strides: list[int] = []
    for extent in reversed(tuple(extents)):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def type_repr(t: Any) -> str:
    """A type as a person writes it."""
    if isinstance(t, type):
        if issubclass(t, Composite):
            return class_repr(t)
        return f"{t.__module__}.{t.__qualname__}" if type_is_struct(t) else t.__name__
    if isinstance(t, _weft.Array):
        dtype = t.dtype
        return f"array(ndim={t.ndim}, dtype={type_repr(type_is_scalar(dtype) and scalar_class(dtype) or dtype)})"
    return t.name if isinstance(t, _weft.Type) else repr(t)


def _kind(t: Any) -> str:
    handle = type_handle_or_none(t)
    if handle is None and isinstance(t, type) and "_wp_pattern_" in t.__dict__:
        return "vec" if issubclass(t, Vector) else "mat"
    return handle.kind if handle is not None else ""


def type_is_int(t: Any) -> _python.bool:
    """Whether a type is an integer type; bool is none."""
    return scalar_class(t) in int_types


def type_is_float(t: Any) -> _python.bool:
    """Whether a type is a floating-point type."""
    return scalar_class(t) in float_types


def type_is_scalar(t: Any) -> _python.bool:
    """Whether a type is a numeric scalar type; bool is none."""
    return scalar_class(t) in scalar_types


def type_is_vector(t: Any) -> _python.bool:
    """Whether a type is a vector type."""
    return _kind(t) == "vec"


def type_is_matrix(t: Any) -> _python.bool:
    """Whether a type is a matrix type."""
    return _kind(t) == "mat"


def type_is_quaternion(t: Any) -> _python.bool:
    """Whether a type is a quaternion type."""
    return _kind(t) == "quat"


def type_is_transformation(t: Any) -> _python.bool:
    """Whether a type is a transform type."""
    return _kind(t) == "transform"


def type_is_composite(t: Any) -> _python.bool:
    """Whether a type is a vector, matrix, quaternion or transform type."""
    return _kind(t) in ("vec", "mat", "quat", "transform")


def type_is_struct(t: Any) -> _python.bool:
    """Whether a type is a struct."""
    return _kind(t) == "struct"


def type_is_array(t: Any) -> _python.bool:
    """Whether a class is one of arrays, of whatever sort; what is made of it, an annotation too, is a value."""
    return isinstance(t, type) and (issubclass(t, _weft.Array) or hasattr(t, "_wp_indexed_") or hasattr(t, "_wp_fabric_"))


def type_is_tile(t: Any) -> _python.bool:
    """Whether a type is that of tiles."""
    return isinstance(t, type) and getattr(t, "_wp_tile_", None) == "tile"


def type_is_value(t: Any) -> _python.bool:
    """Whether values of a type are copied into kernels: scalars and composites."""
    return _kind(t) in ("scalar", "vec", "mat", "quat", "transform")


def is_tile(x: Any) -> _python.bool:
    """Whether an object describes a tile: an element type and a shape."""
    return not isinstance(x, type) and getattr(x, "_wp_tile_", None) == "tile"


def is_int(x: Any) -> _python.bool:
    """Whether a value is an integer."""
    return not isinstance(x, type) and type_is_int(type(x))


def is_float(x: Any) -> _python.bool:
    """Whether a value is a floating-point number."""
    return not isinstance(x, type) and type_is_float(type(x))


def is_scalar(x: Any) -> _python.bool:
    """Whether a value is a number."""
    return not isinstance(x, type) and type_is_scalar(type(x))


def is_vector(x: Any) -> _python.bool:
    """Whether a value is a vector."""
    return isinstance(x, Vector)


def is_matrix(x: Any) -> _python.bool:
    """Whether a value is a matrix."""
    return isinstance(x, Matrix)


def is_quaternion(x: Any) -> _python.bool:
    """Whether a value is a quaternion."""
    return isinstance(x, Quaternion)


def is_transformation(x: Any) -> _python.bool:
    """Whether a value is a transform."""
    return isinstance(x, Transformation)


def is_composite(x: Any) -> _python.bool:
    """Whether a value is a vector, matrix, quaternion or transform."""
    return isinstance(x, Composite)


def is_struct(x: Any) -> _python.bool:
    """Whether a value is an instance of a struct."""
    return not isinstance(x, type) and type_is_struct(type(x))


def is_array(x: Any) -> _python.bool:
    """Whether a value is an array, of whatever sort."""
    return isinstance(x, _weft.Array) or type_is_array(type(x))


def is_value(x: Any) -> _python.bool:
    """Whether a value is copied into kernels: a number, vector, matrix, quaternion or transform."""
    return not isinstance(x, type) and type_is_value(type(x))


# The oldest documents' name for transforms.
for _suffix in ("", "f", "d", "h"):
    globals()[f"spatial_transform{_suffix}"] = globals()[f"transform{_suffix}"]

__all__ = [
    *SCALARS,
    *_NAMED,
    *(f"spatial_transform{suffix}" for suffix in ("", "f", "d", "h")),
    "Float",
    "Int",
    "Scalar",
    "dtype_from_numpy",
    "dtype_to_numpy",
    "mat",
    "transform_expand",
    "vec",
]
