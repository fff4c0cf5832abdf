"""Copies of matrices: as they are, with other blocks or numbers, without zeros, transposed."""

from __future__ import annotations

from typing import Any

from warp._src.arrays.array_factories import empty, empty_like
from warp._src.sparse.block_kernels import BlockKernel, block_words
from warp._src.sparse.expressions import BsrScaled, take
from warp._src.sparse.making import bsr_set_from_triplets, bsr_zeros, gather
from warp._src.sparse.matrix import BsrMatrix, ensure_room, row_ends, snapshot
from warp._src.sparse.topology import copy_topology, ordered_pairs, set_topology, topology_of
from warp._src.values import types

# Rows and columns of the blocks of another shape that a block covers, `{Y}` of them below each other, `{X}` side by side.
_COVERED = BlockKernel(
    "bsr_covered",
    "block_rows: {ints}, block_columns: {ints}, rows: {ints}, columns: {ints}",
    "b, k",
    """
row = block_rows[b]
if row >= 0:
    row = row * {R} // {TR} + k // {X}
    rows[b * {X} * {Y} + k] = row
    columns[b * {X} * {Y} + k] = block_columns[b] * {C} // {TC} + k % {X}
else:
    rows[b * {X} * {Y} + k] = -1
    columns[b * {X} * {Y} + k] = -1
""",
    False,
)
# Each number of a block is looked for in the other matrix, whose blocks have {R} rows and {C} columns.
_COPY_NUMBERS = BlockKernel(
    "bsr_copy_numbers",
    "rows: {ints}, columns: {ints}, starts: {ints}, ends: {ints}, source_columns: {ints}, source: wp.array3d(dtype={F}),"
    " to_starts: {ints}, factor: {W}, values: wp.array3d(dtype={S})",
    "b, i, j",
    """
number = {W}(0)
row = rows[b]
if row >= 0:
    y = row * {TR} + i
    x = columns[b] * {TC} + j
    found = {found}
    if found >= 0:
        number = factor * {W}(source[found, y % {R}, x % {C}])
values[b, i, j] = {S}(number)
""",
)
_SEARCH = "block_between(x // {C}, starts[y // {R}], ends[y // {R}], source_columns)"
_IN_ORDER = "starts[row] + b - to_starts[row]"


def bsr_assign(
    dest: BsrMatrix, src: Any, structure_only: bool = False, topology: Any = None, masked: bool | None = None
) -> None:
    """Gives a matrix the blocks and values of another, whose blocks may have another shape and other numbers.

    Args:
        dest: what is changed, its size included.
        src: what is copied.
        structure_only: leaves values open.
        topology: "compact"; "masked" keeps the blocks of `dest` and takes only their values; "padded" keeps the room of its rows.
        masked: the same as topology="masked".
    """
    if not isinstance(dest, BsrMatrix):
        raise TypeError(f"bsr_assign: dest must be a BsrMatrix, got {type(dest).__name__}")
    src, scale = take(src, "src")
    policy = topology_of(topology, masked)
    if src.device != dest.device:
        raise ValueError(f"bsr_assign: src lies on {src.device}, dest on {dest.device}")
    size = _size_with(src, dest.block_shape)
    if src is dest:
        if policy != "compact" or (src.row_counts is None and scale == 1):
            if scale == 1:
                return
        src = snapshot(src)
    if policy != "compact" and (dest.nrow, dest.ncol) != size:
        raise ValueError(f"Incompatible destination matrix size, expected {size}, got {(dest.nrow, dest.ncol)}")
    same = src.block_shape == dest.block_shape
    in_order = False
    needs = src.requires_grad and not structure_only
    if policy == "masked":
        ensure_room(dest, 0, needs)
    elif same and policy == "compact":
        copy_topology(dest, src, False, needs)
        in_order = True
    else:
        set_topology(dest, _covered(src, dest.block_shape), size, policy == "padded", needs)
    if not structure_only:
        _copy_numbers(dest, src, scale, in_order)


def _size_with(src: Any, shape: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of a matrix in blocks of another shape."""
    for what, given, wanted in zip(("rows", "columns"), src.block_shape, shape):
        if given % wanted and wanted % given:
            got = f"(Got {wanted}, {given})"
            raise ValueError(f"Incompatible dest and src block shapes; block {what} must evenly divide one another {got}")
    if src.shape[0] % shape[0] or src.shape[1] % shape[1]:
        of = f"the source matrix of total size {src.shape}"
        raise ValueError(f"The requested block shape {shape} does not evenly divide {of}")
    return src.shape[0] // shape[0], src.shape[1] // shape[1]


def _covered(src: Any, shape: tuple[int, int]) -> tuple:
    rows = src.uncompress_rows()
    if src.block_shape == shape:
        return rows, src.columns, src.nnz
    (height, width) = (max(1, a // b) for a, b in zip(src.block_shape, shape))
    count = src.nnz * height * width
    covered = [empty(count, dtype=types.int32, device=src.device) for _ in range(2)]
    words = {"R": src.block_shape[0], "C": src.block_shape[1], "TR": shape[0], "TC": shape[1], "X": width, "Y": height}
    _COVERED.run((src.nnz, height * width), rows, src.columns, *covered, **words)
    return covered[0], covered[1], count


def _copy_numbers(dest: Any, src: Any, scale: Any, in_order: bool) -> None:
    words = block_words(dest.values._element.scalar, src.block_shape)
    found = _IN_ORDER if in_order else _SEARCH.format(**words)
    rows, cols = dest.block_shape
    _COPY_NUMBERS.follow(
        (dest.nnz, rows, cols), dest.uncompress_rows(), dest.columns, src.offsets, row_ends(src), src.columns,
        src.scalar_values, dest.offsets, scale, dest.scalar_values,
        F=f"wp.{src.values._element.scalar}", TR=rows, TC=cols, found=found, **words,
    )  # fmt: skip


def bsr_copy(
    A: Any,
    scalar_type: Any = None,
    block_shape: tuple[int, int] | None = None,
    structure_only: bool = False,
    topology: str = "compact",
) -> BsrMatrix:
    """A copy of a matrix.

    Args:
        A: the matrix.
        scalar_type: the type of its numbers; those of A without it.
        block_shape: rows and columns of its blocks; those of A without it.
        structure_only: leaves values open.
        topology: "compact", or "padded", which keeps the room of A's rows.
    """
    policy = topology_of(topology, allowed=("compact", "padded"))
    matrix, scale = take(A, "A")
    shape = matrix.block_shape if block_shape is None else (int(block_shape[0]), int(block_shape[1]))
    scalar = matrix.scalar_type if scalar_type is None else types.class_of(types.type_handle(scalar_type))
    if shape == matrix.block_shape and scalar_type is None:
        block_type = matrix.dtype
    elif shape == (1, 1) and (block_shape is not None or matrix.values._element.kind == "scalar"):
        block_type = scalar
    else:
        block_type = types.matrix(shape, scalar)
    made = bsr_zeros(*_size_with(matrix, shape), block_type, matrix.device)
    if policy == "compact":
        bsr_assign(made, A, structure_only)
        return made
    if shape != matrix.block_shape:
        raise ValueError("bsr_copy: a copy with blocks of another shape can't keep the room of rows; use topology='compact'")
    copy_topology(made, matrix, True, matrix.requires_grad and not structure_only)
    if not structure_only:
        _copy_numbers(made, matrix, scale, True)
    return made


def bsr_compress(
    src: BsrMatrix,
    prune_numerical_zeros: bool = True,
    inplace: bool = False,
    topology: str | None = None,
    structure_only: bool = False,
) -> BsrMatrix:
    """Puts the blocks of a matrix in order: no room between rows, columns going up, blocks of one place added up. Gives
    the matrix.

    Args:
        src: the matrix, which is changed.
        prune_numerical_zeros: leaves out blocks that are zero.
        inplace: writes to the arrays that the matrix has; otherwise it gets new ones, so that the old values are kept, and
            gradients with respect to them can be taken.
        topology: "compact", or "padded", which keeps the room of rows.
        structure_only: sets only offsets and columns; values stay as they are, and none is left out for being zero.
    """
    if not isinstance(src, BsrMatrix):
        raise TypeError(f"bsr_compress: src must be a BsrMatrix, got {type(src).__name__}")
    policy = topology_of(topology, allowed=("compact", "padded"))
    held = snapshot(src)
    if not inplace and not structure_only:
        held.values = src.values  # which the matrix gives up
        src.values = empty_like(src.values)
    rows, columns = held.uncompress_rows(), held.columns[: held.nnz]
    values = None if structure_only else held.values[: held.nnz]
    bsr_set_from_triplets(src, rows, columns, values, prune_numerical_zeros=prune_numerical_zeros, topology=policy)
    return src


def bsr_set_transpose(dest: BsrMatrix, src: Any, topology: Any = None, masked: bool | None = None) -> None:
    """Makes a matrix the transpose of another.

    Args:
        dest: what is changed, its size included; its blocks have the shape of the other's, transposed.
        src: the other one.
        topology: "compact"; "masked" keeps the blocks of `dest`; "padded" keeps the room of its rows.
        masked: the same as topology="masked".
    """
    if not isinstance(dest, BsrMatrix):
        raise TypeError(f"bsr_set_transpose: dest must be a BsrMatrix, got {type(dest).__name__}")
    src, scale = take(src, "src")
    policy = topology_of(topology, masked)
    turned = (src.block_shape[1], src.block_shape[0])
    if dest.block_shape != turned:
        raise ValueError(f"Destination block shape must be {turned}, got {dest.block_shape}")
    if dest.values._element.scalar != src.values._element.scalar:
        of = f"{dest.values._element.scalar} and {src.values._element.scalar}"
        raise ValueError(f"Destination and source must have the same scalar type, got {of}")
    if src.device != dest.device:
        raise ValueError(f"bsr_set_transpose: src lies on {src.device}, dest on {dest.device}")
    size = (src.ncol, src.nrow)
    if policy != "compact" and (dest.nrow, dest.ncol) != size:
        raise ValueError(f"Incompatible destination matrix size, expected {size}, got {(dest.nrow, dest.ncol)}")
    if src is dest:
        src = snapshot(src)
    rows, columns = src.columns, src.uncompress_rows()
    if policy == "masked":
        pairs = ordered_pairs(rows, columns, src.nnz, size)
        ensure_room(dest, 0, src.requires_grad)
    else:
        pairs = set_topology(dest, (rows, columns, src.nnz), size, policy == "padded", src.requires_grad)
    gather(dest, pairs, src.scalar_values, policy != "compact", transposed=True)
    if scale != 1:
        bsr_assign(dest, BsrScaled(dest, scale), topology="masked")


def bsr_transposed(A: Any) -> BsrMatrix:
    """The transpose of a matrix, as a new one."""
    matrix, _ = take(A, "A")
    rows, cols = matrix.block_shape
    block_type = matrix.dtype if rows == cols else types.matrix((cols, rows), matrix.scalar_type)
    made = bsr_zeros(matrix.ncol, matrix.nrow, block_type, matrix.device)
    bsr_set_transpose(made, A)
    return made
