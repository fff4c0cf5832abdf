"""What Python's operators do with sparse matrices, and with a number times one. Importing this module gives them to the classes."""

from __future__ import annotations

import sys
from typing import Any

from warp._src.arrays.array import array
from warp._src.sparse import matrix
from warp._src.sparse.copies import bsr_copy, bsr_transposed
from warp._src.sparse.expressions import BsrScaled, scaled
from warp._src.sparse.matrix import BsrMatrix
from warp._src.sparse.products import bsr_mm, bsr_mv
from warp._src.sparse.sums import bsr_axpy, bsr_scale  # noqa: F401 - of matrix.operations


def add(x: Any, y: Any) -> BsrMatrix:
    """x + y"""
    return bsr_axpy(y, bsr_copy(x))


def add_to(x: BsrMatrix, y: Any) -> BsrMatrix:
    """x += y"""
    return bsr_axpy(y, x)


def subtract(x: Any, y: Any) -> BsrMatrix:
    """x - y"""
    return bsr_axpy(y, bsr_copy(x), alpha=-1.0)


def subtract_from(x: BsrMatrix, y: Any) -> BsrMatrix:
    """x -= y"""
    return bsr_axpy(y, x, alpha=-1.0)


def multiply(x: Any, y: Any) -> Any:
    """x @ y"""
    return bsr_mv(x, y) if isinstance(y, array) else bsr_mm(x, y)


def multiply_from_left(x: Any, y: Any) -> Any:
    """y @ x"""
    return bsr_mv(x, y, transpose=True) if isinstance(y, array) else bsr_mm(y, x)


def _transpose_scaled(x: BsrScaled) -> BsrScaled:
    """The transpose, times the same number."""
    return BsrScaled(bsr_transposed(x.matrix), x.scale)


def _evaluated(x: BsrScaled) -> BsrMatrix:
    """The product as a new matrix."""
    return bsr_copy(x)


matrix.operations = sys.modules[__name__]
for _name in ("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__neg__", "__matmul__", "__rmatmul__"):
    setattr(BsrScaled, _name, getattr(BsrMatrix, _name))
BsrScaled.eval = _evaluated  # type: ignore[attr-defined]
BsrScaled.transpose = _transpose_scaled  # type: ignore[attr-defined]
