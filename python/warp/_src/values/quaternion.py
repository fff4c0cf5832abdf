"""Quaternions and rigid transforms in Python scope: `wp.quat`, `wp.transform` in f, d, h and their factories.

A quaternion is (x, y, z, w) with the real part last; a transform is a translation p and a rotation q.
"""

from __future__ import annotations

from typing import Any

from warp import _weft
from warp._src.values.composite import (
    SUFFIXES,
    checked_scalar,
    class_of_handle,
    component_names,
    component_numbers,
    make_class,
    register_maker,
    set_attribute,
    subscripts,
)
from warp._src.values.scalars import is_number
from warp._src.values.vector import Row, part


class Quaternion(Row):
    """A quaternion (x, y, z, w); zero unless given components."""

    __slots__ = ()
    _wp_generic_type_str_ = "quat_t"
    _wp_constructor_ = "quaternion"
    __setattr__ = set_attribute  # type: ignore[assignment]

    def __class_getitem__(cls, given: Any) -> Any:
        """`Quaternion[float]` is `quatf`."""
        known = subscripts(Quaternion, cls, given, ("dtype",))
        return quaternion(known[0]) if isinstance(known, tuple) else known

    def __init__(self, *args: Any) -> None:
        if not args:
            return
        numbers: Any = args
        if len(args) == 1:
            numbers = component_numbers(args[0])
            if numbers is None:
                numbers = args * 4
        elif len(args) == 2:  # (imaginary part, real part)
            imaginary = component_numbers(args[0])
            if imaginary is not None:
                numbers = [*imaginary, args[1]]
        if len(numbers) != 4:
            raise ValueError(
                f"Invalid number of arguments in quaternion constructor, expected 4 elements, got {len(numbers)}"
            )
        self._set_all(numbers)


class Transformation(Row):
    """A rigid transform: translation `p`, rotation `q`. The identity unless given parts."""

    __slots__ = ()
    _wp_generic_type_str_ = "transform_t"
    _wp_constructor_ = "transformation"

    def __class_getitem__(cls, given: Any) -> Any:
        """`Transformation[float]` is `transformf`."""
        known = subscripts(Transformation, cls, given, ("dtype",))
        return transformation(known[0]) if isinstance(known, tuple) else known

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in ("p", "q"):
                raise TypeError(f"a transform is made of p and q, not '{name}'")
        if len(args) == 7 and not kwargs:
            self._set_all(args)
            return
        if len(args) == 1 and not kwargs:
            numbers = [args[0]] * 7 if is_number(args[0]) else component_numbers(args[0])
            if numbers is not None and len(numbers) == 7:
                self._set_all(numbers)
                return
        if len(args) > 2:
            raise ValueError(
                f"Invalid number of arguments in transform constructor, expected p and q or 7 numbers, got {len(args)}"
            )
        parts: dict[str, Any] = dict(zip("pq", args))
        for name, value in kwargs.items():
            if name in parts:
                raise TypeError(f"'{name}' is given twice")
            parts[name] = value
        self._set_all(_exactly(3, "p", parts.get("p", (0, 0, 0))) + _exactly(4, "q", parts.get("q", (0, 0, 0, 1))))

    @property
    def p(self) -> Any:
        """The translation: a copy."""
        return part(self, range(3))

    @p.setter
    def p(self, value: Any) -> None:
        self._set_positions(range(3), value)

    @property
    def q(self) -> Any:
        """The rotation: a copy."""
        return class_of_handle(_weft.type_quat(self._wp_scalar_type_._wp_type_))(*self._numbers()[3:])

    @q.setter
    def q(self, value: Any) -> None:
        self._set_positions(range(3, 7), value)

    def __neg__(self) -> Transformation:
        return type(self)(*(-x for x in self._numbers()))


def _exactly(count: int, name: str, value: Any) -> list:
    numbers = component_numbers(value)
    if numbers is None:
        raise TypeError(f"'{name}' of a transform must be a sequence of {count} numbers, not {type(value).__name__}")
    if len(numbers) != count:
        raise ValueError(f"'{name}' of a transform has {count} numbers, got {len(numbers)}")
    return numbers


def quaternion(dtype: Any = float) -> type[Quaternion]:
    """The class of quaternions of this component type."""
    return class_of_handle(_weft.type_quat(_float(dtype, "quaternion")))


def transformation(dtype: Any = float) -> type[Transformation]:
    """The class of transforms of this component type."""
    return class_of_handle(_weft.type_transform(_float(dtype, "transform")))


def _float(dtype: Any, what: str) -> _weft.Type:
    if dtype is Any:
        dtype = float
    handle = checked_scalar(dtype, what)
    if "float" not in handle.scalar:
        raise TypeError(f"the dtype of a {what} must be a floating-point type, got {handle.scalar}")
    return handle


def _make_quaternion(handle: _weft.Type) -> type:
    doc = f"A quaternion (x, y, z, w) of {handle.scalar}."
    members = {"__doc__": doc, **component_names(4)}
    return make_class(Quaternion, handle, "quat" + SUFFIXES[handle.scalar], (4,), members)


def _make_transform(handle: _weft.Type) -> type:
    doc = f"A rigid transform (p, q) of {handle.scalar}."
    return make_class(Transformation, handle, "transform" + SUFFIXES[handle.scalar], (7,), {"__doc__": doc})


register_maker("quat", _make_quaternion)
register_maker("transform", _make_transform)

NAMES: dict[str, type] = {}
"""Public names: quat, quatf…, transform…"""

for _suffix, _scalar in (("h", "float16"), ("f", "float32"), ("d", "float64")):
    NAMES["quat" + _suffix] = quaternion(_weft.type_scalar(_scalar))
    NAMES["transform" + _suffix] = transformation(_weft.type_scalar(_scalar))
NAMES["quat"], NAMES["transform"] = NAMES["quatf"], NAMES["transformf"]


def transform_expand(t: Any) -> Any:
    """The transform of seven numbers."""
    return NAMES["transform"](*component_numbers(t) or ())

