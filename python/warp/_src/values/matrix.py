"""Matrices in Python scope: `wp.mat22`, `mat33`, `mat44` in f, d, h, `wp.spatial_matrix`, `wp.types.matrix`.

Storage is row by row. A row read from a matrix is a copy.
"""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np

from warp import _weft
from warp._src.values.composite import (
    SUFFIXES,
    Composite,
    checked_scalar,
    class_of_handle,
    class_repr,
    component_numbers,
    generic_class,
    is_generic,
    make_class,
    position_of,
    register_maker,
    subscripts,
)
from warp._src.values.scalars import ScalarBase
from warp._src.values.vector import Vector


def _axis(key: Any, count: int, what: str) -> int | range:
    """One index of a matrix: a position, or the positions of a slice."""
    return range(*key.indices(count)) if isinstance(key, slice) else position_of(key, count, what, "int or pair of ints")


class Matrix(Composite):
    """A matrix of fixed shape; equal types are one class."""

    __slots__ = ()
    _wp_generic_type_str_ = "mat_t"
    _wp_constructor_ = "matrix"
    _wp_row_type_: type[Vector]

    def __class_getitem__(cls, given: Any) -> Any:
        """`Matrix[float, Literal[2], Literal[3]]` has two rows and three columns."""
        known = subscripts(Matrix, cls, given, ("dtype", "rows", "columns"))
        return matrix(known[1:], known[0]) if isinstance(known, tuple) else known

    def __init__(self, *args: Any) -> None:
        if not args:
            return
        numbers: Any = args
        if len(args) == 1:
            numbers = self._from_one(args[0])
        elif len(args) == self._shape_[0] != self._length_:
            numbers = self._from_rows(args)
        if len(numbers) != self._length_:
            raise ValueError(
                "Invalid number of arguments in matrix constructor, "
                f"expected {self._length_} elements, got {len(numbers)}"
            )
        self._set_all(numbers)

    def _from_one(self, value: Any) -> Any:
        """One argument: a number for all places, a matrix or array of this shape, rows, or all numbers in a row."""
        shape = value._shape_ if isinstance(value, Matrix) else value.shape if isinstance(value, np.ndarray) else ()
        if len(shape) == 2 and shape[0] != 1 and shape != self._shape_:
            raise ValueError(f"Invalid argument in matrix constructor, expected shape {self._shape_}, got {shape}")
        if isinstance(value, Composite):
            return self._converted(value)
        numbers = component_numbers(value)
        if numbers is None:
            return (value,) * self._length_
        if len(numbers) == self._shape_[0] and component_numbers(numbers[0]) is not None:
            return self._from_rows(numbers)
        return numbers

    def _from_rows(self, rows: Any) -> list:
        numbers: list = []
        for row in rows:
            part = component_numbers(row)
            if part is None or len(part) != self._shape_[1]:
                raise TypeError(
                    f"Invalid argument in matrix constructor, expected row of length {self._shape_[1]}, got {row}"
                )
            numbers += part
        return numbers

    def _places(self, key: Any) -> tuple[int | range, int | range]:
        if isinstance(key, tuple):
            if len(key) > 2:
                raise KeyError(f"Invalid key, expected one or two indices, got {len(key)}")
        else:
            key = (key,)
        rows, cols = self._shape_
        return _axis(key[0], rows, "row"), _axis(key[1], cols, "column") if len(key) == 2 else range(cols)

    def __getitem__(self, key: Any) -> Any:
        row, col = self._places(key)
        cols = self._shape_[1]
        if isinstance(row, int) and isinstance(col, int):
            return self._item(row * cols + col)
        numbers = self._numbers()
        taken = [numbers[r * cols + c] for r in _each(row) for c in _each(col)]
        if not taken:
            return ()
        element = self._wp_scalar_type_._wp_type_
        if isinstance(row, int) or isinstance(col, int):
            return class_of_handle(_weft.type_vec(element, len(taken)))(*taken)
        return class_of_handle(_weft.type_mat(element, len(row), len(col)))(*taken)

    def __setitem__(self, key: Any, value: Any) -> None:
        row, col = self._places(key)
        cols = self._shape_[1]
        if isinstance(row, int) and isinstance(col, int):
            self._set_item(row * cols + col, value)
            return
        if isinstance(row, range) and isinstance(col, range):
            value = _block(value, len(row), len(col))
        self._set_positions([r * cols + c for r in _each(row) for c in _each(col)], value)

    def __len__(self) -> int:
        return self._shape_[0]

    def __iter__(self) -> Iterator[Vector]:
        return (self[r] for r in range(self._shape_[0]))

    def _nested(self) -> list:
        numbers, (rows, cols) = self._numbers(), self._shape_
        return [numbers[r * cols : (r + 1) * cols] for r in range(rows)]

    def get_row(self, r: int) -> Vector:
        """A copy of row r."""
        return self[position_of(r, self._shape_[0], "row")]

    def get_col(self, c: int) -> Vector:
        """A copy of column c."""
        return self[:, position_of(c, self._shape_[1], "column")]

    def set_row(self, r: int, v: Any) -> None:
        """Writes row r."""
        self[position_of(r, self._shape_[0], "row")] = v

    def set_col(self, c: int, v: Any) -> None:
        """Writes column c."""
        self[:, position_of(c, self._shape_[1], "column")] = v

    def __str__(self) -> str:
        return "[" + ",\n ".join("[" + ", ".join(map(str, row)) + "]" for row in self._nested()) + "]"

    def __repr__(self) -> str:
        items, (rows, cols) = self._items(), self._shape_
        lines = (", ".join(map(repr, items[r * cols : (r + 1) * cols])) for r in range(rows))
        return f"{class_repr(type(self))}([{', '.join(f'[{line}]' for line in lines)}])"


def _each(positions: int | range) -> range:
    return range(positions, positions + 1) if isinstance(positions, int) else positions


def _block(value: Any, rows: int, cols: int) -> Any:
    """What is assigned to a block: rows of numbers become one list; numbers and flat lists stay."""
    if isinstance(value, (Composite, ScalarBase, np.ndarray)):
        return value
    numbers = component_numbers(value)
    if numbers is None or not numbers or component_numbers(numbers[0]) is None:
        return value
    parts = [component_numbers(row) for row in numbers]
    if len(parts) != rows or any(part is None or len(part) != cols for part in parts):
        raise ValueError(f"Can only assign sequence of same size: the block has {rows} rows of {cols} numbers")
    return [x for part in parts for x in part]  # type: ignore[union-attr]


def matrix(shape: tuple[Any, Any], dtype: Any) -> type[Matrix]:
    """The class of matrices of this shape (rows, columns) and component type; Any, Int… make one for annotations."""
    try:
        sizes = tuple(1 if n is Any else n.__index__() for n in shape)
    except (AttributeError, TypeError):
        raise TypeError(f"the shape of a matrix is a pair of integers, got {shape!r}") from None
    if len(sizes) != 2:
        raise ValueError(f"Matrix shape must have exactly two dimensions, got {len(sizes)} in shape {shape}")
    if min(sizes) < 1 or sizes[0] * sizes[1] > 65536:
        raise ValueError(f"a matrix has 1 to 65536 components, got shape {shape}")
    if is_generic(dtype, *shape):
        return generic_class(Matrix, tuple(shape), dtype)
    return class_of_handle(_weft.type_mat(checked_scalar(dtype, "matrix"), *sizes))


def _make(handle: _weft.Type) -> type:
    rows, cols, suffix = handle.rows, handle.cols, SUFFIXES.get(handle.scalar)
    name = "mat_t"
    if rows == cols and 2 <= rows <= 4 and handle.scalar in ("float16", "float32", "float64"):
        name = f"mat{rows}{cols}{suffix}"
    elif rows == cols == 6 and handle.scalar in ("float16", "float32", "float64"):
        name = f"spatial_matrix{suffix}"
    row_type = class_of_handle(_weft.type_vec(_weft.type_scalar(handle.scalar), cols))
    doc = f"A matrix of {rows} x {cols} {handle.scalar}."
    return make_class(Matrix, handle, name, (rows, cols), {"__doc__": doc, "_wp_row_type_": row_type})


register_maker("mat", _make)

NAMES: dict[str, type] = {}
"""Public names: mat22 … mat44d, spatial_matrix…"""

for _n, _stem in ((2, "mat22"), (3, "mat33"), (4, "mat44"), (6, "spatial_matrix")):
    for _suffix, _scalar in (("h", "float16"), ("f", "float32"), ("d", "float64")):
        NAMES[_stem + _suffix] = matrix((_n, _n), _weft.type_scalar(_scalar))
    NAMES[_stem] = NAMES[_stem + "f"]
