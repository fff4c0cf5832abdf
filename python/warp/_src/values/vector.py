"""Vectors in Python scope: `wp.vec2` … `wp.vec4` of every scalar type, `wp.spatial_vector`, `wp.types.vector`."""

from __future__ import annotations

from typing import Any

from warp import _weft
from warp._src.values.composite import (
    CLASSES,
    SUFFIXES,
    Composite,
    checked_scalar,
    class_of_handle,
    component_names,
    component_numbers,
    generic_class,
    is_generic,
    make_class,
    position_of,
    register_maker,
    set_attribute,
    subscripts,
)


class Row(Composite):
    """A value that is a row of numbers; also the base of quaternions and transforms."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return part(self, range(*key.indices(self._length_)))
        return self._item(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, slice):
            self._set_positions(range(*key.indices(self._length_)), value)
        else:
            self._set_item(position_of(key, self._length_, "component"), value)


class Vector(Row):
    """A vector of fixed length; equal types are one class."""

    __slots__ = ()
    _wp_generic_type_str_ = "vec_t"
    _wp_constructor_ = "vector"
    _wp_spreading_ = frozenset(("add", "sub", "mod"))  # in Python only: kernels want vectors on both sides
    __setattr__ = set_attribute  # type: ignore[assignment]

    def __class_getitem__(cls, given: Any) -> Any:
        """`Vector[float, Literal[3]]` is `vec3f`."""
        known = subscripts(Vector, cls, given, ("dtype", "length"))
        return vector(known[1], known[0]) if isinstance(known, tuple) else known

    def __init__(self, *args: Any) -> None:
        if not args:
            return
        numbers: Any = args
        if len(args) == 1:
            numbers = self._converted(args[0]) if isinstance(args[0], Composite) else component_numbers(args[0])
            if numbers is None:
                numbers = args * self._length_
        elif len(args) == 2 and self._length_ == 6:  # spatial_vector(w, v)
            halves = [component_numbers(half) for half in args]
            if all(half is not None and len(half) == 3 for half in halves):
                numbers = halves[0] + halves[1]  # type: ignore[operator]
        if len(numbers) != self._length_:
            raise ValueError(
                "Invalid number of arguments in vector constructor, "
                f"expected {self._length_} elements, got {len(numbers)}"
            )
        self._set_all(numbers)


def part(source: Composite, positions: range) -> Any:
    """A vector of some components of a value; an empty tuple for none, since a vector has at least one."""
    if not positions:
        return ()
    cls = class_of_handle(_weft.type_vec(source._wp_scalar_type_._wp_type_, len(positions)))
    numbers = source._numbers()
    return cls(*[numbers[k] for k in positions])


def vector(length: Any, dtype: Any) -> type[Vector]:
    """The class of vectors of this length and component type; Any, Int, Float, Scalar make one for annotations."""
    if is_generic(dtype, length):
        return generic_class(Vector, (length if length is Any else _checked_length(length),), dtype)
    handle = _weft.type_vec(checked_scalar(dtype, "vector"), _checked_length(length))
    if length.__index__() == 0:  # to the compiler a type of its own, with nothing in it
        return CLASSES.get(handle) or CLASSES.setdefault(handle, _make(handle))
    return class_of_handle(handle)


def _checked_length(length: Any) -> int:
    if isinstance(length, bool) or not hasattr(length, "__index__"):
        raise TypeError(f"the length of a vector must be an integer, got {length!r}")
    if not 0 <= length.__index__() <= 65536:
        raise ValueError(f"a vector has 0 to 65536 components, got {length}")
    return length.__index__()


def _make(handle: _weft.Type) -> type:
    length, suffix = handle.rows, SUFFIXES.get(handle.scalar)
    name = "vec_t"
    if suffix and 2 <= length <= 4:
        name = f"vec{length}{suffix}"
    elif length == 6 and handle.scalar in ("float16", "float32", "float64"):
        name = f"spatial_vector{suffix}"
    members = component_names(length)
    doc = f"A vector of {length} {handle.scalar}."
    return make_class(Vector, handle, name, (length,), {"__doc__": doc, **members})


register_maker("vec", _make)

NAMES: dict[str, type] = {}
"""Public names: vec2 … vec4ul, spatial_vector…"""

for _n in (2, 3, 4):
    for _scalar, _suffix in SUFFIXES.items():
        NAMES[f"vec{_n}{_suffix}"] = vector(_n, _weft.type_scalar(_scalar))
    NAMES[f"vec{_n}"] = NAMES[f"vec{_n}f"]
for _suffix, _scalar in (("h", "float16"), ("f", "float32"), ("d", "float64")):
    NAMES[f"spatial_vector{_suffix}"] = vector(6, _weft.type_scalar(_scalar))
NAMES["spatial_vector"] = NAMES["spatial_vectorf"]
