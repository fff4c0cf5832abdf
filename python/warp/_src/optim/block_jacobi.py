"""Preconditioners by the blocks on a matrix's diagonal: each is inverted once, and `matvec` multiplies with the inverses.

All three kinds go by Gauss and Jordan, one thread a block, in float32 for 16-bit floats. Of "block_jacobi_direct" rows are scaled by
their largest number and the largest pivot is taken, so that any block that has an inverse gets it. The other two take blocks that are
symmetric and positive definite, for which no rows need to change places; the pivots are those of LDLᵀ, judged beside the
diagonal that they came from. What has no inverse, or is not of that kind, stays as it is: its part of the operator is the identity, as a zero
is for "diag".
"""

from __future__ import annotations

from typing import Any

from warp._src.arrays.array import array
from warp._src.arrays.array_factories import empty
from warp._src.arrays.listeners import paused
from warp._src.sparse.block_kernels import BlockKernel, as_blocks, scalar_words
from warp._src.sparse.diagonals import bsr_get_diag
from warp._src.sparse.matrix import BsrMatrix
from warp._src.values import types

KINDS = ("block_jacobi_direct", "block_jacobi_sequential", "block_jacobi_tile")

# The gap above 1 of each type, by its name.
_GAPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}

# `work` holds a block and, beside it, what becomes its inverse.
_INVERT = BlockKernel(
    "invert_blocks",
    """source: wp.array3d(dtype={S}), work: wp.array3d(dtype={W}), inverse: wp.array3d(dtype={S}), n: int,
    least_pivot: {W}, unlike: {W}""",
    "b",
    """
good = bool(True)
zero = {W}(0)
one = {W}(1)
for i in range(n):
    scale = zero
    for j in range(n):
        value = {W}(source[b, i, j])
        if wp.static({symmetric}):
            across = {W}(source[b, j, i])
            size = wp.sqrt(wp.abs({W}(source[b, i, i]))) * wp.sqrt(wp.abs({W}(source[b, j, j])))
            if not (wp.abs(value - across) <= unlike * size):
                good = False
            value = value + (across - value) / {W}(2)
        work[b, i, j] = value
        work[b, i, n + j] = zero
        scale = wp.max(scale, wp.abs(value))
    if wp.static({symmetric}):
        scale = one
    if not (scale > zero):
        good = False
        scale = one
    for j in range(n):
        work[b, i, j] = work[b, i, j] / scale
    work[b, i, n + i] = one / scale

chosen = int(0)
pivot = one
for k in range(n):
    if good:
        chosen = k
        enough = one
        if wp.static({symmetric}):
            enough = {W}(source[b, k, k])
        else:
            for i in range(k + 1, n):
                if wp.abs(work[b, i, k]) > wp.abs(work[b, chosen, k]):
                    chosen = i
        pivot = work[b, chosen, k]
        height = pivot
        if not wp.static({symmetric}):
            height = wp.abs(pivot)
        if not (height > least_pivot * enough and height > zero and enough > zero):
            good = False
    if good:
        for j in range(2 * n):
            value = work[b, chosen, j]
            work[b, chosen, j] = work[b, k, j]
            work[b, k, j] = value / pivot
        for i in range(n):
            if i != k:
                factor = work[b, i, k]
                if factor != zero:
                    for j in range(2 * n):
                        work[b, i, j] = work[b, i, j] - factor * work[b, k, j]

for i in range(n):
    for j in range(n):
        if not wp.isfinite({S}(work[b, i, n + j])):
            good = False
for i in range(n):
    for j in range(n):
        value = work[b, i, n + j]
        if not good:
            value = zero
            if i == j:
                value = one
        inverse[b, i, j] = {S}(value)
""",
    False,
)


def inverse_blocks(A: Any, ptype: str) -> array:
    """The inverses of the blocks on the diagonal, as numbers in three dimensions (block, row, column)."""
    if not isinstance(A, BsrMatrix):
        raise ValueError(f"{ptype}: the matrix must be a BsrMatrix, got {type(A).__name__}")
    rows, cols = A.block_shape
    if rows != cols:
        raise ValueError(f"{ptype}: needs square matrix blocks, got {rows}×{cols}")
    if A.nrow != A.ncol:
        raise ValueError(f"{ptype}: the matrix must be square, got {A.nrow}×{A.ncol} blocks")
    scalar = A.scalar_type.__name__
    if scalar not in _GAPS or (ptype == "block_jacobi_tile" and scalar not in ("float32", "float64")):
        kinds = "float32 and float64" if ptype == "block_jacobi_tile" else "floating-point numbers"
        raise ValueError(f"{ptype}: takes matrices of {kinds}, got {scalar}")
    with paused():
        source = as_blocks(bsr_get_diag(A), (rows, rows))
    words = scalar_words(scalar)
    inverse = empty(source.shape, dtype=A.scalar_type, device=A.device)
    work = empty((source.shape[0], rows, 2 * rows), dtype=getattr(types, words["W"].removeprefix("wp.")), device=A.device)
    gap = _GAPS[scalar]
    least = 4.0 * (gap + rows * _GAPS[work.dtype.__name__])  # a pivot that is not told from rounding
    symmetric = ptype != "block_jacobi_direct"
    _INVERT.run(source.shape[0], source, work, inverse, rows, least, 16.0 * rows * gap, symmetric=symmetric, **words)
    return inverse
