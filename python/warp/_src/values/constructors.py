"""Builtins that take types or lengths, in Python scope: wp.vector, wp.matrix, wp.quaternion, wp.identity, wp.cast…

The interpreter evaluates builtins on values only; these few choose a class first.
"""

from __future__ import annotations

import sys
from typing import Any, Callable

import numpy as np

from warp import _weft
from warp._src.values import types
from warp._src.values.composite import Composite
from warp._src.values.scalars import ScalarBase, scalar_class


def _component_type(args: tuple, dtype: Any, what: str) -> Any:
    """The component type that a constructor means: dtype=, or that of its arguments, which must agree."""
    if dtype is not None:
        scalar = scalar_class(dtype)
        if scalar is None:
            raise RuntimeError(f"the dtype of a {what} must be a scalar type, got {dtype!r}")
        return scalar
    found = []
    for arg in args:
        if isinstance(arg, Composite):
            found.append(arg._wp_scalar_type_)
        else:
            scalar = scalar_class(type(arg))
            if scalar is None:
                raise RuntimeError(f"all arguments of a {what} must be numbers or vectors, got {type(arg).__name__}")
            found.append(scalar)
    if not found:
        raise RuntimeError(f"a {what} without arguments needs dtype=")
    if any(scalar is not found[0] for scalar in found):
        names = ", ".join(scalar.__name__ for scalar in found)
        raise RuntimeError(f"all arguments of a {what} must have the same type, got {names}")
    return found[0]


def vector(*args: Any, length: int | None = None, dtype: Any = None) -> Any:
    """vector(x, y, …), vector(x, length=n), vector(length=n, dtype=T), vector(v, dtype=T)."""
    scalar = _component_type(args, dtype, "vector")
    numbers = list(args)
    if len(args) == 1 and isinstance(args[0], Composite):
        numbers = _converted(args[0]._numbers(), scalar)
    count = len(numbers) if length is None else length
    if not args and length is None:
        raise RuntimeError("a vector without arguments needs length=")
    cls = types.vector(count, scalar)
    return cls() if not args else cls(*numbers) if len(numbers) == count or len(numbers) != 1 else cls(numbers[0])


def matrix(*args: Any, shape: tuple[int, int] | None = None, dtype: Any = None) -> Any:
    """matrix(numbers…, shape=(r, c)), matrix(x, shape=…), matrix(shape=…, dtype=T), matrix(m, dtype=T)."""
    scalar = _component_type(args, dtype, "matrix")
    if len(args) == 1 and isinstance(args[0], types.Matrix):
        return types.matrix(shape or args[0]._shape_, scalar)(*_converted(args[0]._numbers(), scalar))
    if args and all(isinstance(arg, types.Vector) for arg in args):
        rows = _weft.call_builtin("matrix_from_cols", *args)
        return rows if dtype is None else matrix(rows, dtype=dtype)
    if shape is None:
        raise RuntimeError("a matrix of numbers needs shape=")
    cls = types.matrix(shape, scalar)
    return cls(*args)


def quaternion(*args: Any, dtype: Any = None) -> Any:
    """quaternion(x, y, z, w), quaternion(imaginary, real), quaternion(q, dtype=T), quaternion(dtype=T)."""
    return types.quaternion(_component_type(args, dtype or (None if args else float), "quaternion"))(*args)


def transformation(*args: Any, dtype: Any = None, **parts: Any) -> Any:
    """transformation(p, q), of seven numbers, or zero; p and q may be keywords."""
    given = (*args, *parts.values())
    if dtype is None:
        typed = tuple(arg for arg in given if isinstance(arg, (Composite, ScalarBase, np.generic)))
        dtype = _component_type(typed, None, "transform") if typed else float
    cls = types.transformation(dtype)
    return cls(*args, **parts) if given else cls(*[0.0] * 7)


def identity(n: int, dtype: Any = float) -> Any:
    """The identity matrix of n rows."""
    cls = types.matrix((n, n), dtype)
    return cls(*[1 if r == c else 0 for r in range(n) for c in range(n)])


def quat_identity(dtype: Any = None) -> Any:
    """The quaternion (0, 0, 0, 1)."""
    return types.quaternion(dtype or float)(0, 0, 0, 1)


def transform_identity(dtype: Any = None) -> Any:
    """The transform without translation and rotation."""
    return types.transformation(dtype or float)()


def transform_set_translation(xform: Any, p: Any) -> None:
    """Sets the translation of a transform."""
    xform.p = p


def transform_set_rotation(xform: Any, q: Any) -> None:
    """Sets the rotation of a transform."""
    xform.q = q


def cast(a: Any, dtype: Any) -> Any:
    """The bits of a value as another type of the same size."""
    handle, data = types.type_handle(dtype), types.value_bytes(a)
    if len(data) != handle.size:
        raise RuntimeError(f"a value of {len(data)} bytes can't be read as {handle.name}, which has {handle.size}")
    if handle.kind != "scalar":
        return types.make_value(handle, data, None)
    item = types.class_of(_weft.type_vec(handle, 1)).from_buffer_copy(data)  # type: ignore[attr-defined]
    return item[0]


def printf(fmt: str, *args: Any) -> None:
    """Prints numbers by a C format string."""
    sys.stdout.write(fmt % tuple(arg.value if isinstance(arg, ScalarBase) else arg for arg in args))


def print_value(value: Any) -> None:
    """Prints one value."""
    print(value)


def _converted(numbers: list, scalar: Any) -> list:
    return [scalar(x).value for x in numbers]


def _only_in_kernels(name: str) -> Callable:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"'{name}' can only be called in kernels")

    return function


FUNCTIONS: dict[str, Callable] = {
    "vector": vector,
    "matrix": matrix,
    "quaternion": quaternion,
    "transformation": transformation,
    "identity": identity,
    "quat_identity": quat_identity,
    "transform_identity": transform_identity,
    "transform_set_translation": transform_set_translation,
    "transform_set_rotation": transform_set_rotation,
    "cast": cast,
    "reinterpret": cast,
    "print": print_value,
    "printf": printf,
    "tid": _only_in_kernels("tid"),
}
"""Builtins whose Python form is written here."""
