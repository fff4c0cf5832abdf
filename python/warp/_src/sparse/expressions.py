"""A matrix times a number, not evaluated: what `2.0 * A`, `-A` and `A / 2.0` are, and what functions take besides matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

from warp._src.sparse.matrix import BsrMatrix
from warp._src.values.scalars import is_number


class BsrExpression:
    """What stands for a matrix and is evaluated when it is used."""


class BsrScaled(BsrExpression):
    """`scale * matrix`."""

    def __init__(self, matrix: BsrMatrix, scale: Any) -> None:
        self.matrix, self.scale = matrix, scale

    __array_ufunc__ = None  # NumPy's numbers leave the product to us

    nrow = property(lambda self: self.matrix.nrow, doc="Rows of blocks.")
    ncol = property(lambda self: self.matrix.ncol, doc="Columns of blocks.")
    nnz = property(lambda self: self.matrix.nnz, doc="A bound on the number of blocks.")
    dtype = property(lambda self: self.matrix.dtype, doc="The type of blocks.")
    scalar_type = property(lambda self: self.matrix.scalar_type, doc="The type of the numbers in blocks.")
    block_shape = property(lambda self: self.matrix.block_shape, doc="Rows and columns of a block.")
    block_size = property(lambda self: self.matrix.block_size, doc="How many numbers a block has.")
    shape = property(lambda self: self.matrix.shape, doc="Rows and columns, counted in numbers.")
    device = property(lambda self: self.matrix.device, doc="Where the matrix lies.")
    requires_grad = property(lambda self: self.matrix.requires_grad, doc="Whether tapes follow the values.")


class Taken(NamedTuple):
    """An argument taken apart: a matrix and what it is multiplied by."""

    matrix: Any
    scale: Any


def take(argument: Any, name: str = "argument") -> Taken:
    """The matrix of an argument and its factor."""
    if isinstance(argument, BsrMatrix):
        return Taken(argument, 1)
    if isinstance(argument, BsrScaled):
        return Taken(argument.matrix, argument.scale)
    raise ValueError(f"Argument cannot be interpreted as a BsrMatrix: {name} is {type(argument).__name__}")


def scaled(argument: Any, factor: Any) -> BsrScaled:
    """An argument times a number."""
    if not is_number(factor):
        raise TypeError(f"a sparse matrix can be multiplied by a number with * and by others with @, got {type(factor).__name__}")
    matrix, scale = take(argument)
    return BsrScaled(matrix, scale * factor)
