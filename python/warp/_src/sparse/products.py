"""Products with vectors and of matrices.

A product with a vector gives each row of numbers a thread, which adds up its blocks in order. With the transpose each block adds
to the rows of its column. A product of matrices first finds which blocks it has: every block of x meets the blocks of a row of
y. Each block then adds up, over the blocks of its row in x, what a search in y finds: in the same order with a new topology,
a mask, or one that is used again.
"""

from __future__ import annotations

from typing import Any

from warp._src.algorithms.array_algorithms import array_scan
from warp._src.algorithms.device_kernels import as_scalars
from warp._src.arrays.array import array
from warp._src.arrays.array_factories import clone, copy, empty, zeros
from warp._src.arrays.listeners import aside, paused
from warp._src.sparse.block_kernels import BlockKernel, as_rows, block_words
from warp._src.sparse.expressions import take
from warp._src.sparse.making import bsr_zeros
from warp._src.sparse.matrix import BsrMatrix, is_captured, row_ends, snapshot
from warp._src.sparse.topology import WorkArrays, set_topology, topology_of
from warp._src.values import types

_MATRIX_VECTOR = BlockKernel(
    "bsr_times_vector",
    "starts: {ints}, ends: {ints}, columns: {ints}, values: wp.array3d(dtype={S}), x: wp.array2d(dtype={S}),"
    " y: wp.array2d(dtype={S}), alpha: {W}, beta: {W}",
    "row, i",
    """
total = {W}(0)
for b in range(starts[row], ends[row]):
    col = columns[b]
    for j in range({C}):
        total += {W}(values[b, i, j]) * {W}(x[col, j])
y[row, i] = {S}({result})
""",
)
# The same for packed arrays, by one index: addresses are found with fewer steps, which is most of the work.
_PACKED_VECTOR = BlockKernel(
    "bsr_times_packed_vector",
    "starts: {ints}, ends: {ints}, columns: {ints}, values: wp.array(dtype={S}), x: wp.array(dtype={S}), y: wp.array(dtype={S}),"
    " alpha: {W}, beta: {W}",
    "n",
    """
row = n // {R}
i = n % {R}
total = {W}(0)
for b in range(starts[row], ends[row]):
    first = columns[b] * {C}
    place = (b * {R} + i) * {C}
    for j in range({C}):
        total += {W}(values[place + j]) * {W}(x[first + j])
y[n] = {S}({result})
""",
)
_SCALE_VECTOR = BlockKernel(
    "bsr_scale_vector", "y: wp.array2d(dtype={S}), beta: {W}", "row, i", "y[row, i] = {S}(beta * {W}(y[row, i]))"
)
_TRANSPOSED_VECTOR = BlockKernel(
    "bsr_transposed_times_vector",
    "rows: {ints}, columns: {ints}, values: wp.array3d(dtype={S}), x: wp.array2d(dtype={S}), y: wp.array2d(dtype={S}),"
    " alpha: {W}",
    "b, j",
    """
row = rows[b]
if row >= 0:
    total = {W}(0)
    for i in range({R}):
        total += {W}(values[b, i, j]) * {W}(x[row, i])
    wp.atomic_add(y, columns[b], j, {S}(alpha * total))
""",
)


def _fits(vector: Any, blocks: int, length: int, scalar: str) -> bool:
    """Whether an array holds so many vectors of a length, or as many scalars."""
    if not isinstance(vector, array) or vector.ndim != 1 or vector._element.scalar != scalar:
        return False
    if vector._element.kind == "scalar":
        return vector.shape[0] == blocks * length
    return vector.shape[0] == blocks and getattr(vector.dtype, "_shape_", None) == (length,)


def bsr_mv(
    A: Any,
    x: array,
    y: array | None = None,
    alpha: Any = 1.0,
    beta: Any = 0.0,
    transpose: bool = False,
    work_buffer: array | None = None,
    tile_size: int = 0,
) -> array:
    """`y = alpha * A @ x + beta * y`, and gives y.

    Args:
        A: the matrix.
        x: vectors as long as blocks have columns, or as many scalars.
        y: takes the result: vectors as long as blocks have rows, or scalars; a new array without it.
        alpha, beta: numbers. Where beta is zero, what y held does not matter.
        transpose: multiplies with the transpose.
        work_buffer: takes a copy of x where x and y share memory; a new array without it.
        tile_size: how many threads share a row, a hint that is not needed.
    """
    matrix, scale = take(A, "A")
    (rows, cols), scalar = matrix.block_shape, matrix.values._element.scalar
    of_x, of_y = (matrix.ncol, cols), (matrix.nrow, rows)
    if transpose:
        of_x, of_y = of_y, of_x
    if not _fits(x, *of_x, scalar):
        raise ValueError(f"Incompatible 'x' vector for bsr_mv: {_wanted(of_x, scalar)}, got {_shown(x)}")
    if y is None:
        dtype = matrix.scalar_type if of_y[1] == 1 else types.vector(of_y[1], matrix.scalar_type)
        y = zeros(of_y[0], dtype=dtype, device=matrix.device, requires_grad=bool(x.requires_grad or matrix.requires_grad))
        beta = 0.0
    elif not _fits(y, *of_y, scalar):
        raise ValueError(f"Incompatible 'y' vector for bsr_mv: {_wanted(of_y, scalar)}, got {_shown(y)}")
    for name, one in (("x", x), ("y", y)):
        if one.device != matrix.device:
            raise ValueError(f"bsr_mv: '{name}' lies on {one.device}, the matrix on {matrix.device}")
    if x._overlaps(y):
        x = _copied(x, work_buffer)
    words = block_words(scalar, (rows, cols))
    alpha, seen_x, seen_y = alpha * scale, as_rows(x, of_x[1]), as_rows(y, of_y[1])
    if not transpose:
        arrays = (matrix.values, x, y)
        packed = all(one.is_contiguous and one.size * rows * cols < 2**31 for one in arrays)
        result = "alpha * total" if beta == 0 else f"alpha * total + beta * {words['W']}({'y[n]' if packed else 'y[row, i]'})"
        if packed:
            numbers = (as_scalars(one) for one in arrays)
            places = (matrix.offsets, row_ends(matrix), matrix.columns)
            _PACKED_VECTOR.follow(matrix.nrow * rows, *places, *numbers, alpha, beta, result=result, **words)
            return y
        _MATRIX_VECTOR.follow(
            seen_y.shape, matrix.offsets, row_ends(matrix), matrix.columns, matrix.scalar_values, seen_x, seen_y, alpha, beta,
            S=words["S"], W=words["W"], C=words["C"], result=result,
        )  # fmt: skip
        return y
    if beta == 0:
        y.zero_()
    elif beta != 1:
        _SCALE_VECTOR.follow(seen_y.shape, seen_y, beta, S=words["S"], W=words["W"])
    _TRANSPOSED_VECTOR.follow(
        (matrix.nnz, cols), matrix.uncompress_rows(), matrix.columns, matrix.scalar_values, seen_x, seen_y, alpha,
        S=words["S"], W=words["W"], R=words["R"],
    )  # fmt: skip
    return y


def _wanted(of: tuple[int, int], scalar: str) -> str:
    vectors = f"{of[0]} vectors of {of[1]} {scalar}"
    return f"it must have {of[0]} numbers of {scalar}" if of[1] == 1 else f"it must have {vectors}, or {of[0] * of[1]} numbers"


def _shown(vector: Any) -> str:
    if not isinstance(vector, array):
        return type(vector).__name__
    return f"{'×'.join(map(str, vector.shape))} of {types.type_repr(vector.dtype)}"


def _copied(x: array, buffer: array | None) -> array:
    if buffer is None or buffer._element != x._element or buffer.shape[0] < x.shape[0] or buffer.device != x.device:
        return clone(x)
    buffer = buffer[: x.shape[0]]
    buffer.assign(x)
    return buffer


# ---- products of matrices --------------------------------------------------------------------------------------------

# A thread takes a part of a block, {N} columns of {P} rows, with a sum for each number, so that a search serves all of them. What is
# done for each of them stands in lines of its own, which are put in place of their names.
_PRODUCT_LINES = {
    "begin": "t{p}_{q} = {W}(0)",
    "add": "t{p}_{q} += {W}(x[k, i + {p}, m]) * {W}(y[met, m, j + {q}])",
    "finish": "t{p}_{q} = alpha * t{p}_{q}",
    "keep": "t{p}_{q} += beta * {W}(old[before, i + {p}, j + {q}])",
    "store": "z[b, i + {p}, j + {q}] = {S}(t{p}_{q})",
}
_PRODUCT = BlockKernel(
    "bsr_product",
    "rows: {ints}, columns: {ints}, x_starts: {ints}, x_ends: {ints}, x_columns: {ints}, x: wp.array3d(dtype={S}),"
    " y_starts: {ints}, y_ends: {ints}, y_columns: {ints}, y: wp.array3d(dtype={S}), alpha: {W}, old: wp.array3d(dtype={S}),"
    " old_starts: {ints}, old_ends: {ints}, old_columns: {ints}, beta: {W}, z: wp.array3d(dtype={S})",
    "b, h, g",
    """
i = h * {P}
j = g * {N}
row = rows[b]
{begin}
if row >= 0:
    col = columns[b]
    for k in range(x_starts[row], x_ends[row]):
        met = block_between(col, y_starts[x_columns[k]], y_ends[x_columns[k]], y_columns)
        if met >= 0:
            for m in range({M}):
                {add}
    {finish}
    if {keeps}:
        before = block_between(col, old_starts[row], old_ends[row], old_columns)
        if before >= 0:
            {keep}
{store}
""",
)


def _product_words(scalar: str, shape: tuple[int, int]) -> tuple[int, int, dict[str, str]]:
    """Into how many parts, below each other and side by side, a block is cut for threads, and the lines of each."""
    tall, wide = (next(n for n in (3, 4, 2, 1) if size % n == 0) for size in shape)
    words = block_words(scalar, shape)
    kinds = {"S": words["S"], "W": words["W"]}
    places = [(p, q) for p in range(tall) for q in range(wide)]
    lines = {name: "; ".join(line.format(p=p, q=q, **kinds) for p, q in places) for name, line in _PRODUCT_LINES.items()}
    return shape[0] // tall, shape[1] // wide, {**lines, **kinds, "P": str(tall), "N": str(wide)}


# A thread takes the meetings of a block of x with blocks of y, and counts them or writes them down. Where only `new` ones count
# (for max_new_nnz), those are left out that fall on a block that z keeps, or where an earlier block of the row has been.
_MEETINGS = BlockKernel(
    "bsr_meetings",
    "x_rows: {ints}, x_starts: {ints}, x_columns: {ints}, y_starts: {ints}, y_ends: {ints}, y_columns: {ints}, kept: int,"
    " z_starts: {ints}, z_ends: {ints}, z_columns: {ints}, room: int, before: {ints}, rows: {ints}, columns: {ints}",
    "b",
    """
row = x_rows[b]
place = int(0)
if {writing} and b > 0:
    place = before[b - 1]
if row >= 0:
    for k in range(y_starts[x_columns[b]], y_ends[x_columns[b]]):
        col = y_columns[k]
        known = int(-1)
        if {new} and kept > 0:
            known = block_between(col, z_starts[row], z_ends[row], z_columns)
        if {new}:
            earlier = x_starts[row]
            while known < 0 and earlier < b:
                known = block_between(col, y_starts[x_columns[earlier]], y_ends[x_columns[earlier]], y_columns)
                earlier += 1
        if known < 0:
            if {writing} and place < room:
                rows[kept + place] = row
                columns[kept + place] = col
            place += 1
if {writing}:
    if b + 1 == before.shape[0] and place > room:
        wp.printf("bsr_mm: the number of new blocks (%d) exceeded max_new_nnz (%d)\\n", place, room)
else:
    before[b] = place
""",
    False,
)


class bsr_mm_work_arrays(WorkArrays):
    """Arrays that `bsr_mm` needs on the way, kept from one call to the next."""


def bsr_mm(
    x: Any,
    y: Any,
    z: BsrMatrix | None = None,
    alpha: Any = 1.0,
    beta: Any = 0.0,
    work_arrays: Any = None,
    reuse_topology: Any = False,
    tile_size: Any = 0,
    max_new_nnz: int | None = None,
    topology: str | None = None,
    masked: bool | None = None,
) -> BsrMatrix:
    """`z = alpha * x @ y + beta * z`, and gives z.

    Args:
        x, y: the matrices; blocks of x have as many columns as those of y have rows.
        z: takes the result; a new matrix without it.
        alpha, beta: numbers.
        work_arrays: a bsr_mm_work_arrays, which keeps arrays for further calls.
        reuse_topology: z, x and y have the blocks of the last call, so only values are computed. Needs work_arrays.
        tile_size: how many threads share a block, a hint that is not needed.
        max_new_nnz: a bound on the number of meetings of blocks, without which the host asks the device; further ones are
            dropped, with a message.
        topology: "compact"; "masked" computes only the blocks that z has; "padded" keeps the room of z's rows.
        masked: the same as topology="masked".
    """
    if isinstance(work_arrays, bool):  # the order of earlier versions: masked, work_arrays, reuse_topology
        masked, work_arrays, reuse_topology = work_arrays, reuse_topology or None, bool(tile_size)
    policy = topology_of(topology, masked)
    (x, x_scale), (y, y_scale) = take(x, "x"), take(y, "y")
    if z is None:
        if policy != "compact":
            raise ValueError(f"bsr_mm: topology={policy!r} needs a matrix z")
        z = _new_product(x, y)
        beta = 0.0
    if reuse_topology and work_arrays is None:
        raise ValueError("`work_arrays` must not be ``None`` in order to reuse matrix-matrix product topology")
    _check_product(x, y, z)
    alpha = alpha * x_scale * y_scale
    needs = bool(x.requires_grad or y.requires_grad)
    keeps = beta != 0
    if x is z:
        x = snapshot(x)
    if y is z:
        y = snapshot(y)
    old = z
    if policy == "masked" or reuse_topology:
        z_rows = z.uncompress_rows()
        if needs and not z.values.requires_grad:
            z.values.requires_grad = True
        if keeps:
            old = snapshot(z)
    else:
        old = snapshot(z) if keeps else z
        candidates = _product_candidates(x, y, old, keeps, work_arrays or WorkArrays(), max_new_nnz)
        set_topology(z, candidates, (x.nrow, y.ncol), policy == "padded", needs, work_arrays)
        z_rows = z.uncompress_rows()
    below, beside, words = _product_words(z.values._element.scalar, z.block_shape)
    _PRODUCT.follow(
        (z.nnz, below, beside), z_rows, z.columns, x.offsets, row_ends(x), x.columns, x.scalar_values,
        y.offsets, row_ends(y), y.columns, y.scalar_values, alpha,
        (old if keeps else x).scalar_values, *(_rows_of(old) if keeps else _rows_of(x)), beta, z.scalar_values,
        M=x.block_shape[1], keeps=keeps, **words,
    )  # fmt: skip
    return z


def _rows_of(matrix: Any) -> tuple[array, array, array]:
    return matrix.offsets, row_ends(matrix), matrix.columns


def _new_product(x: Any, y: Any) -> BsrMatrix:
    shape = (x.block_shape[0], y.block_shape[1])
    scalars = x.values._element.kind == y.values._element.kind == "scalar"
    block_type = x.scalar_type if scalars else types.matrix(shape, x.scalar_type)
    return bsr_zeros(x.nrow, y.ncol, block_type, x.device)


def _check_product(x: Any, y: Any, z: Any) -> None:
    if not isinstance(z, BsrMatrix):
        raise TypeError(f"bsr_mm: z must be a BsrMatrix, got {type(z).__name__}")
    if len({one.values._element.scalar for one in (x, y, z)}) > 1:
        kinds = ", ".join(one.values._element.scalar for one in (x, y, z))
        raise ValueError(f"Matrices must have the same scalar type, got {kinds}")
    if x.block_shape[1] != y.block_shape[0] or z.block_shape != (x.block_shape[0], y.block_shape[1]):
        got = f"({x.block_shape}, {y.block_shape}) and ({z.block_shape})"
        raise ValueError(f"Incompatible block sizes for matrix multiplication, got {got}")
    if x.ncol != y.nrow or (z.nrow, z.ncol) != (x.nrow, y.ncol):
        got = f"({x.nrow}, {x.ncol}), ({y.nrow}, {y.ncol}) and ({z.nrow}, {z.ncol})"
        raise ValueError(f"Incompatible number of rows/columns for matrix multiplication, got {got}")
    if len({one.device for one in (x, y, z)}) > 1:
        raise ValueError("bsr_mm: all matrices must lie on one device")


def _product_candidates(
    x: Any, y: Any, old: Any, keeps: bool, work: WorkArrays, bound: int | None
) -> tuple[array, array, int]:
    """Rows and columns of the blocks that z keeps, and behind them those of meetings of blocks of x and y: of all, or with a bound
    of new ones, for which the host is not asked."""
    if bound is not None and bound < 0:
        raise ValueError(f"bsr_mm: max_new_nnz must not be negative, got {bound}")
    if bound is None and is_captured(x):
        raise RuntimeError("bsr_mm: a graph that captures a product needs max_new_nnz, reuse_topology or a mask")
    device, kept, new = x.device, old.nnz if keeps else 0, bound is not None
    before = empty(x.nnz, dtype=types.int32, device=device)
    given = (x.uncompress_rows(), x.offsets, x.columns, y.offsets, row_ends(y), y.columns, kept, *_rows_of(old))
    with paused(), aside():
        _MEETINGS.run(x.nnz, *given, 0, before, before, before, writing=False, new=new)
        if x.nnz:
            array_scan(before, before, inclusive=True)
        if bound is None:
            bound = int(before[x.nnz - 1 : x.nnz].numpy()[0]) if x.nnz else 0
        rows = work.take("rows", kept + bound, types.int32, device)
        columns = work.take("row_columns", kept + bound, types.int32, device)
        if new:
            rows.fill_(-1)
            columns.fill_(-1)
        if kept:
            old.uncompress_rows(rows[:kept])
            copy(columns, old.columns, count=kept)
        _MEETINGS.run(x.nnz, *given, bound, before, rows, columns, writing=True, new=new)
    return rows, columns, kept + bound
