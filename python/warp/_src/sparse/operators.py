"""What Python's operators do with sparse matrices, and with a number times one. Importing this module adds them to the classes."""

from __future__ import annotations

from typing import Any

from warp._src.arrays.array import array
from warp._src.sparse.copies import bsr_copy, bsr_transposed
from warp._src.sparse.expressions import BsrScaled, scaled
from warp._src.sparse.matrix import BsrMatrix
from warp._src.sparse.products import bsr_mm, bsr_mv
from warp._src.sparse.sums import bsr_axpy, bsr_scale


def _add(x: Any, y: Any) -> Any:
    return bsr_axpy(y, bsr_copy(x))


def _subtract(x: Any, y: Any) -> Any:
    return bsr_axpy(y, bsr_copy(x), alpha=-1.0)


def _matmul(x: Any, y: Any) -> Any:
    return bsr_mv(x, y) if isinstance(y, array) else bsr_mm(x, y)


def _matmul_from_left(x: Any, y: Any) -> Any:
    """`y @ x`"""
    return bsr_mv(x, y, transpose=True) if isinstance(y, array) else bsr_mm(y, x)


def _transpose_scaled(x: BsrScaled) -> BsrScaled:
    """The transpose, times the same number."""
    return BsrScaled(bsr_transposed(x.matrix), x.scale)


def _evaluated(x: BsrScaled) -> BsrMatrix:
    """The product as a new matrix."""
    return bsr_copy(x)


def _transpose(x: BsrMatrix) -> BsrMatrix:
    """The transpose, as a new matrix."""
    return bsr_transposed(x)


for _class in (BsrMatrix, BsrScaled):
    _class.__add__ = _add  # type: ignore[union-attr]
    _class.__radd__ = lambda x, y: _add(y, x)  # type: ignore[union-attr]
    _class.__sub__ = _subtract  # type: ignore[union-attr]
    _class.__rsub__ = lambda x, y: _subtract(y, x)  # type: ignore[union-attr]
    _class.__mul__ = _class.__rmul__ = scaled  # type: ignore[union-attr]
    _class.__truediv__ = lambda x, y: scaled(x, 1.0 / y)  # type: ignore[union-attr]
    _class.__neg__ = lambda x: scaled(x, -1.0)  # type: ignore[union-attr]
    _class.__matmul__ = _matmul  # type: ignore[union-attr]
    _class.__rmatmul__ = _matmul_from_left  # type: ignore[union-attr]
BsrMatrix.transpose = _transpose  # type: ignore[attr-defined]
BsrScaled.eval = _evaluated  # type: ignore[attr-defined]
BsrScaled.transpose = _transpose_scaled  # type: ignore[attr-defined]

BsrMatrix.__iadd__ = lambda x, y: bsr_axpy(y, x)  # type: ignore[attr-defined]
BsrMatrix.__isub__ = lambda x, y: bsr_axpy(y, x, alpha=-1.0)  # type: ignore[attr-defined]
BsrMatrix.__imul__ = bsr_scale  # type: ignore[attr-defined]
BsrMatrix.__itruediv__ = lambda x, y: bsr_scale(x, 1.0 / y)  # type: ignore[attr-defined]
BsrMatrix.__imatmul__ = lambda x, y: bsr_mm(x, y, x)  # type: ignore[attr-defined]
