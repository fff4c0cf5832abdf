"""Scaling, and sums of matrices: `bsr_scale`, `bsr_axpy`."""

from __future__ import annotations

from typing import Any

from warp._src.arrays.array import array
from warp._src.arrays.array_factories import copy
from warp._src.arrays.listeners import aside, paused
from warp._src.sparse.block_kernels import BlockKernel, block_words
from warp._src.sparse.copies import bsr_assign, bsr_copy
from warp._src.sparse.expressions import take
from warp._src.sparse.making import SAME_PLACE, SEARCHED, bsr_zeros
from warp._src.sparse.matrix import BsrMatrix, ensure_room, is_captured, row_ends, snapshot
from warp._src.sparse.topology import Pairs, WorkArrays, set_topology, topology_of
from warp._src.values import types

_SCALE = BlockKernel(
    "bsr_scale_values",
    "values: wp.array3d(dtype={S}), factor: {W}",
    "b, i, j",
    "values[b, i, j] = {S}(factor * {W}(values[b, i, j]))",
)
# Blocks of x come before those of y among the candidates; each block adds up those that fall on it.
_ADD_RUNS = BlockKernel(
    "bsr_add_runs",
    "rows: {ints}, columns: {ints}, pair_offsets: {ints}, pair_columns: {ints}, runs: {ints}, order: {ints}, of_x: int,"
    " x: wp.array3d(dtype={S}), alpha: {W}, y: wp.array3d(dtype={S}), beta: {W}, values: wp.array3d(dtype={S})",
    "b, i, j",
    """
total = {W}(0)
row = rows[b]
if row >= 0:
    u = {pair}
    if u >= 0:
        for k in range(runs[u], runs[u + 1]):
            c = order[k]
            if c < of_x:
                total += alpha * {W}(x[c, i, j])
            else:
                total += beta * {W}(y[c - of_x, i, j])
values[b, i, j] = {S}(total)
""",
)
_ADD_FOUND = BlockKernel(
    "bsr_add_found",
    "rows: {ints}, columns: {ints}, x_starts: {ints}, x_ends: {ints}, x_columns: {ints}, x: wp.array3d(dtype={S}), alpha: {W},"
    " beta: {W}, values: wp.array3d(dtype={S})",
    "b, i, j",
    """
row = rows[b]
if row >= 0:
    total = {W}(0)
    if beta != {W}(0):
        total = beta * {W}(values[b, i, j])
    found = block_between(columns[b], x_starts[row], x_ends[row], x_columns)
    if found >= 0:
        total += alpha * {W}(x[found, i, j])
    values[b, i, j] = {S}(total)
""",
)


def bsr_scale(x: Any, alpha: Any) -> BsrMatrix:
    """Multiplies a matrix by a number, in place, and gives it.

    Args:
        x: the matrix; of `2.0 * A`, A is what changes.
        alpha: the number.
    """
    matrix, scale = take(x, "x")
    factor = alpha * scale
    if factor == 0:
        matrix.values.zero_()
    elif factor != 1:
        words = block_words(matrix.values._element.scalar, matrix.block_shape)
        _SCALE.follow((matrix.nnz, *matrix.block_shape), matrix.scalar_values, factor, S=words["S"], W=words["W"])
    return matrix


class bsr_axpy_work_arrays(WorkArrays):
    """Arrays that `bsr_axpy` needs on the way, kept from one call to the next."""


def bsr_axpy(
    x: Any,
    y: BsrMatrix | None = None,
    alpha: Any = 1.0,
    beta: Any = 1.0,
    work_arrays: Any = None,
    topology: Any = None,
    masked: bool | None = None,
) -> BsrMatrix:
    """`y = alpha * x + beta * y`, and gives y.

    Args:
        x: a matrix. Blocks of other shapes or numbers than those of y are converted.
        y: takes the result; a new matrix without it.
        alpha, beta: numbers.
        work_arrays: a bsr_axpy_work_arrays, which keeps arrays for further calls.
        topology: "compact"; "masked" keeps the blocks that y has; "padded" keeps the room of y's rows.
        masked: the same as topology="masked".
    """
    if isinstance(work_arrays, bool):  # the order of earlier versions: masked, work_arrays
        masked, work_arrays, topology = work_arrays, topology, None
    policy = topology_of(topology, masked)
    x, scale = take(x, "x")
    alpha = alpha * scale
    if y is None:
        if policy != "compact":
            raise ValueError(f"bsr_axpy: topology={policy!r} needs a matrix y")
        y = bsr_zeros(x.nrow, x.ncol, x.dtype, x.device)
        beta = 0.0
    elif not isinstance(y, BsrMatrix):
        raise TypeError(f"bsr_axpy: y must be a BsrMatrix, got {type(y).__name__}")
    if x.shape != y.shape:
        raise ValueError(f"Matrices must have the same number of rows and columns, got {x.shape} and {y.shape}")
    if x.device != y.device:
        raise ValueError(f"bsr_axpy: x lies on {x.device}, y on {y.device}")
    if x is y:
        return bsr_scale(y, alpha + beta) if policy != "compact" or y.row_counts is None else _compacted(y, alpha + beta)
    if x.block_shape != y.block_shape or x.values._element.scalar != y.values._element.scalar:
        x = bsr_copy(x, y.scalar_type, y.block_shape)
    if policy == "masked":
        _add_masked(x, y, alpha, beta)
        return y
    if beta == 0:
        bsr_assign(y, alpha * x, topology=policy)  # type: ignore[operator]
        return y
    if alpha == 0 and y.row_counts is None:
        return bsr_scale(y, beta)
    for one in (x, y):
        if not one.device.is_cuda and not is_captured(one):
            one.nnz_sync()  # or bounds would grow with every sum
    old = snapshot(y)
    needs = bool(x.requires_grad or y.requires_grad)
    candidates = _both(x, old, work_arrays or WorkArrays())
    pairs = set_topology(y, candidates, (y.nrow, y.ncol), policy == "padded", needs, work_arrays)
    _add(x, old, y, alpha, beta, pairs, policy == "padded")
    return y


def _compacted(y: Any, factor: Any) -> Any:
    bsr_assign(y, snapshot(y))
    return bsr_scale(y, factor)


def _add_masked(x: Any, y: Any, alpha: Any, beta: Any) -> None:
    ensure_room(y, 0, bool(x.requires_grad))
    words = block_words(y.values._element.scalar, y.block_shape)
    _ADD_FOUND.follow(
        (y.nnz, *y.block_shape), y.uncompress_rows(), y.columns, x.offsets, row_ends(x), x.columns, x.scalar_values, alpha,
        beta, y.scalar_values, S=words["S"], W=words["W"],
    )  # fmt: skip


def _both(x: Any, y: Any, work: WorkArrays) -> tuple[array, array, int]:
    """Rows and columns of the blocks of x, and behind them those of y."""
    count = x.nnz + y.nnz
    rows = work.take("rows", count, types.int32, x.device)
    columns = work.take("row_columns", count, types.int32, x.device)
    with paused(), aside():
        for one, start in ((x, 0), (y, x.nnz)):
            if one.nnz:
                one.uncompress_rows(rows[start : start + one.nnz])
                copy(columns, one.columns, dest_offset=start, count=one.nnz)
    return rows, columns, count


def _add(x: Any, old: Any, y: Any, alpha: Any, beta: Any, pairs: Pairs, searched: bool) -> None:
    words = block_words(y.values._element.scalar, y.block_shape)
    _ADD_RUNS.follow(
        (y.nnz, *y.block_shape), y.uncompress_rows(), y.columns, pairs.offsets, pairs.columns, pairs.runs, pairs.order,
        x.nnz, x.scalar_values, alpha, old.scalar_values, beta, y.scalar_values,
        S=words["S"], W=words["W"], pair=SEARCHED if searched else SAME_PLACE,
    )  # fmt: skip
