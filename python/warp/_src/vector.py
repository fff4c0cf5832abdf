"""Vectors in Python scope: `wp.vec2` … `wp.vec4` of every scalar type, `wp.spatial_vector`, `wp.types.vector(n, dtype)`."""

from __future__ import annotations

from typing import Any

from warp import _weft
from warp._src.composite import (
    SUFFIXES,
    Composite,
    checked_scalar,
    class_of_handle,
    component_names,
    component_numbers,
    fitting_key,
    make_class,
    register_maker,
)
from warp._src.scalars import is_number


class Vector(Composite):
    """A vector of fixed length; equal types are one class."""

    __slots__ = ()
    _wp_generic_type_str_ = "vec_t"
    _wp_constructor_ = "vector"

    def __init__(self, *args: Any) -> None:
        count, length = len(args), self._length_
        if count == length and (count != 1 or is_number(args[0])):
            if any(not is_number(x) for x in args):
                args = self._joined(args)
            self._set_all(args)
        elif count == 1:
            numbers = component_numbers(args[0])
            if numbers is None:
                self._set_all([args[0]] * length)
                return
            if len(numbers) != length:
                self._wrong_count(len(numbers))
            self._set_all(numbers)
        elif count:
            self._set_all(self._joined(args))

    def _joined(self, args: tuple) -> list:
        """The numbers of arguments that are vectors and numbers: spatial_vector(w, v)."""
        if self._length_ != 6 or len(args) != 2:
            if all(is_number(x) for x in args) or len(args) != self._length_:
                self._wrong_count(len(args))
            return list(args)
        halves = [component_numbers(x) for x in args]
        if any(half is None or len(half) != 3 for half in halves):
            self._wrong_count(sum(len(half) if half is not None else 1 for half in halves))
        return halves[0] + halves[1]  # type: ignore[operator]

    def _wrong_count(self, count: int) -> None:
        raise ValueError(
            f"Invalid number of arguments in vector constructor, expected {self._length_} elements, got {count}"
        )

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int):
            return self._item(fitting_key(key, self._length_, "vector"))
        if isinstance(key, slice):
            positions = range(*key.indices(self._length_))
            return _vector_of(self, list(positions))
        return self._item(fitting_key(key, self._length_, "vector"))

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, slice):
            self._set_positions(list(range(*key.indices(self._length_))), value, "the slice")
        else:
            self._set_item(fitting_key(key, self._length_, "vector"), value)


def _vector_of(source: Composite, positions: list[int]) -> Any:
    """A vector of some components of a value; an empty tuple for none, since vectors have at least one."""
    if not positions:
        return ()
    numbers = source._numbers()
    return class_of_handle(_weft.type_vec(source._wp_scalar_type_._wp_type_, len(positions)))(*[numbers[k] for k in positions])


def vector(length: int, dtype: Any) -> type[Vector]:
    """The class of vectors of this length and component type."""
    if isinstance(length, bool) or not hasattr(length, "__index__"):
        raise TypeError(f"the length of a vector must be an integer, got {length!r}")
    if not 1 <= length.__index__() <= 65536:
        raise ValueError(f"a vector has 1 to 65536 components, got {length}")
    return class_of_handle(_weft.type_vec(checked_scalar(dtype, "vector"), length.__index__()))


def _make(handle: _weft.Type) -> type:
    length, suffix = handle.rows, SUFFIXES.get(handle.scalar)
    if suffix and 2 <= length <= 4:
        name = f"vec{length}{suffix}"
    else:
        name = f"spatial_vector{suffix}" if length == 6 and handle.scalar in ("float16", "float32", "float64") else "vec_t"
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
