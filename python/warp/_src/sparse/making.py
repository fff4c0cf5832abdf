"""Matrices without blocks, with room for some, and from triplets."""

from __future__ import annotations

from typing import Any

from warp._src.algorithms.array_algorithms import array_scan
from warp._src.algorithms.device_kernels import as_scalars
from warp._src.arrays.array import array
from warp._src.arrays.array_factories import empty, zeros
from warp._src.arrays.listeners import paused
from warp._src.devices.device import get_device
from warp._src.sparse.block_kernels import BlockKernel, as_blocks, block_words
from warp._src.sparse.matrix import (
    BsrMatrix,
    block_shape_of,
    bsr_matrix_t,
    checked_block_type,
    ensure_room,
    ensure_rows,
    is_captured,
    topology_changed,
)
from warp._src.sparse.topology import Pairs, WorkArrays, ordered_pairs, set_topology, topology_of
from warp._src.values import types

_EVEN_OFFSETS = BlockKernel("bsr_even_offsets", "room: int, offsets: {ints}", "row", "offsets[row] = row * room", False)
_COPY_ROOM = BlockKernel("bsr_copy_room", "room: {ints}, counts: {ints}", "row", "counts[row] = room[row]", False)
_LIVE_ROWS = BlockKernel(
    "bsr_live_rows",
    "rows: {ints}, limit: {ints}, values: wp.array3d(dtype={S}), live: {ints}",
    "n",
    """
row = rows[n]
if {limited}:
    if n >= limit[0]:
        row = -1
if {prune}:
    some = bool(False)
    for i in range({R}):
        for j in range({C}):
            if values[n, i, j] != {S}(0):
                some = True
    if not some:
        row = -1
live[n] = row
""",
    False,
)
# The values of blocks: each adds up its run of triplets, in their order. `rows` has the row of each block, -1 for room that
# is not in use; `u` is the block's number among the pairs.
_GATHER = BlockKernel(
    "bsr_gather",
    "rows: {ints}, columns: {ints}, pair_offsets: {ints}, pair_columns: {ints}, runs: {ints}, order: {ints},"
    " source: {array}, values: {array}",
    "{threads}",
    """
{block}
total = {W}(0)
row = rows[b]
if row >= 0:
    u = {pair}
    if u >= 0:
        first = runs[u]
        c = order[first]
        total = {W}(source[{at}])
        for k in range(first + 1, runs[u + 1]):
            c = order[k]
            total += {W}(source[{at}])
values[{threads}] = {S}(total)
""",
)
SAME_PLACE = "b"
SEARCHED = "block_between(columns[b], pair_offsets[row], pair_offsets[row + 1], pair_columns)"


def gather(dest: Any, pairs: Pairs, source: array, searched: bool, transposed: bool = False) -> None:
    """Adds up what falls on each block, and lets tapes know."""
    shape, values = dest.block_shape, dest.values
    words = block_words(values._element.scalar, shape)
    packed = all(one.is_contiguous and one.size * dest.block_size < 2**31 for one in (source, values))
    if packed:  # by one index, which takes fewer steps
        size, dim = dest.block_size, (dest.nnz * dest.block_size,)
        arrays = as_scalars(source), as_scalars(values)
        element = f"n % {size}" if not transposed else f"n % {shape[1]} * {shape[0]} + n % {size} // {shape[1]}"
        text = {"array": f"wp.array(dtype={words['S']})", "threads": "n", "block": f"b = n // {size}", "at": f"c * {size} + {element}"}
    else:
        dim, arrays = (dest.nnz, *shape), (source, dest.scalar_values)  # type: ignore[assignment]
        text = {"array": f"wp.array3d(dtype={words['S']})", "threads": "b, i, j", "block": "", "at": "c, j, i" if transposed else "c, i, j"}
    _GATHER.follow(
        dim, dest.uncompress_rows(), dest.columns, pairs.offsets, pairs.columns, pairs.runs, pairs.order, *arrays,
        S=words["S"], W=words["W"], pair=SEARCHED if searched else SAME_PLACE, **text,
    )  # fmt: skip


def bsr_zeros(
    rows_of_blocks: int,
    cols_of_blocks: int,
    block_type: Any,
    device: Any = None,
    *,
    topology: str | None = None,
    row_capacity: Any = None,
    nnz_capacity: int | None = None,
) -> BsrMatrix:
    """A matrix without blocks.

    Args:
        rows_of_blocks, cols_of_blocks: its size in blocks.
        block_type: the type of blocks: a scalar type or a matrix type.
        device: where it lies.
        topology: "compact", or "padded": each row has room for blocks of its own.
        row_capacity: that room: a number for all rows, or an int32 array with one for each.
        nnz_capacity: room for so many blocks in all.
    """
    where = get_device(device)
    for name, count in (("rows_of_blocks", rows_of_blocks), ("cols_of_blocks", cols_of_blocks)):
        if int(count) < 0:
            raise ValueError(f"bsr_zeros: {name} must not be negative, got {count}")
    made = bsr_matrix_t(block_type)()
    made.offsets = empty(int(rows_of_blocks) + 1, dtype=types.int32, device=where)
    made.columns = empty(0, dtype=types.int32, device=where)
    made.values = empty(0, dtype=checked_block_type(block_type), device=where)
    policy = topology_of(topology, allowed=("compact", "padded"))
    bsr_set_zero(made, rows_of_blocks, cols_of_blocks, topology=policy, row_capacity=row_capacity, nnz_capacity=nnz_capacity)
    return made


def bsr_set_zero(
    bsr: BsrMatrix,
    rows_of_blocks: int | None = None,
    cols_of_blocks: int | None = None,
    *,
    topology: str | None = "compact",
    row_capacity: Any = None,
    nnz_capacity: int | None = None,
) -> None:
    """Takes all blocks out of a matrix.

    Args:
        rows_of_blocks, cols_of_blocks: its new size in blocks.
        topology: "compact"; "padded", which keeps the room of rows or sets it by `row_capacity`; "masked" keeps the blocks and
            sets them to zero.
        row_capacity: room in each row: a number, or an int32 array with one for each.
        nnz_capacity: room for so many blocks in all, at least.
    """
    _check_matrix(bsr, "bsr_set_zero", "bsr")
    rows = bsr.nrow if rows_of_blocks is None else int(rows_of_blocks)
    cols = bsr.ncol if cols_of_blocks is None else int(cols_of_blocks)
    policy = topology_of(topology)
    if policy == "masked":
        if (rows, cols) != (bsr.nrow, bsr.ncol):
            raise ValueError("Cannot resize a matrix with topology='masked'")
        bsr.values.zero_()
        return
    shrunk = rows <= bsr.nrow
    if policy == "padded" and row_capacity is None and bsr.offsets.shape[0] > rows and shrunk and bsr.nrow:
        ensure_rows(bsr, rows, cols)  # rows keep their room
        bsr.row_counts = zeros(rows, dtype=types.int32, device=bsr.device)
        _make_room(bsr, bsr.nnz_sync() if nnz_capacity is not None else 0, nnz_capacity)
        return
    ensure_rows(bsr, rows, cols)
    if policy == "compact" and row_capacity is None:
        bsr.row_counts = None
        bsr.offsets.zero_()
        bsr.nnz = 0
        _make_room(bsr, 0, nnz_capacity)
        topology_changed(bsr, 0)
        return
    bsr.row_counts = zeros(rows, dtype=types.int32, device=bsr.device)
    room = _set_row_room(bsr, row_capacity, nnz_capacity)
    _make_room(bsr, room, nnz_capacity)
    topology_changed(bsr, room)


def _set_row_room(bsr: Any, row_capacity: Any, nnz_capacity: int | None) -> int:
    """Sets where rows begin by the room that each has; all the room there is, or a bound on it."""
    rows = bsr.nrow
    if row_capacity is None:
        row_capacity = 0
    if isinstance(row_capacity, array):
        if row_capacity.ndim != 1 or row_capacity._element.name != "int32" or row_capacity.shape[0] < rows:
            raise ValueError(f"row_capacity must be a number or an int32 array with one for each of {rows} rows")
        counts = zeros(rows + 1, dtype=types.int32, device=bsr.device)
        with paused():
            _COPY_ROOM.run(rows, row_capacity.to(bsr.device), counts)
            array_scan(counts, bsr.offsets[: rows + 1], inclusive=False)
        if is_captured(bsr):
            if nnz_capacity is None:
                raise RuntimeError("bsr_set_zero: a graph that captures it needs nnz_capacity beside an array as row_capacity")
            return nnz_capacity
        _make_room(bsr, int(bsr.offsets[rows : rows + 1].numpy()[0]), nnz_capacity)
        return int(bsr.offsets[rows : rows + 1].numpy()[0]) if nnz_capacity is None else nnz_capacity
    if int(row_capacity) < 0:
        raise ValueError(f"row_capacity must not be negative, got {row_capacity}")
    _EVEN_OFFSETS.run(rows + 1, int(row_capacity), bsr.offsets)
    return rows * int(row_capacity)


def _make_room(bsr: Any, used: int, capacity: int | None) -> None:
    if capacity is not None and capacity < used:
        raise ValueError(f"capacity must be at least nnz, got {capacity} and {used}")
    ensure_room(bsr, max(used, capacity or 0))


def _check_matrix(bsr: Any, function: str, name: str) -> None:
    if not isinstance(bsr, BsrMatrix):
        raise TypeError(f"{function}: {name} must be a BsrMatrix, got {type(bsr).__name__}")


def bsr_from_triplets(
    rows_of_blocks: int,
    cols_of_blocks: int,
    rows: array,
    columns: array,
    values: array,
    prune_numerical_zeros: bool = True,
) -> BsrMatrix:
    """A matrix from triplets (row, column, value); those of one place are added up, in their order.

    Args:
        rows_of_blocks, cols_of_blocks: its size in blocks.
        rows, columns: int32 arrays. Triplets outside of the matrix are left out.
        values: blocks or scalars, or an array of three dimensions with the numbers of blocks.
        prune_numerical_zeros: leaves out triplets whose value is zero.
    """
    if not isinstance(values, array):
        raise TypeError(f"bsr_from_triplets: values must be an array, got {type(values).__name__}")
    block_type = values.dtype
    if values.ndim == 3:
        block_type = block_type if values.shape[1:] == (1, 1) else types.matrix(values.shape[1:], block_type)
    made = bsr_zeros(rows_of_blocks, cols_of_blocks, block_type, values.device)
    bsr_set_from_triplets(made, rows, columns, values, prune_numerical_zeros=prune_numerical_zeros)
    return made


def bsr_set_from_triplets(
    dest: BsrMatrix,
    rows: array,
    columns: array,
    values: array | None = None,
    count: Any = None,
    prune_numerical_zeros: bool | None = None,
    topology: str | None = None,
    build_mapping: Any = None,
    masked: bool | None = None,
) -> BsrTripletMap | None:
    """Sets a matrix from triplets (row, column, value); those of one place are added up, in their order.

    Args:
        dest: the matrix; it keeps its size.
        rows, columns: int32 arrays. Triplets outside of the matrix are left out.
        values: blocks, or an array of three dimensions with their numbers; None sets the blocks and leaves values open.
        count: an int32 array of one element: only so many triplets count.
        prune_numerical_zeros: leaves out triplets whose value is zero; true unless said otherwise.
        topology: "compact"; "masked" keeps the blocks that there are and drops what falls elsewhere; "padded" keeps the room of
            rows, and empties rows that need more, which `status_sync` tells.
        build_mapping: True, or a BsrTripletMap to be filled: which triplets belong to which block, for further values.
        masked: the same as topology="masked".

    Returns the map, if one is built.
    """
    if isinstance(count, bool):  # the order of earlier versions: values, prune_numerical_zeros, masked
        masked = prune_numerical_zeros if masked is None else masked
        count, prune_numerical_zeros = None, count
    _check_matrix(dest, "bsr_set_from_triplets", "dest")
    _check_triplets(dest, rows, columns, values, count)
    policy = topology_of(topology, masked)
    asked = prune_numerical_zeros is None or prune_numerical_zeros
    mapping = _map_to_fill(build_mapping, dest, policy, prune_numerical_zeros, asked)
    prune = asked and values is not None and mapping is None
    shape = dest.block_shape
    source = None if values is None else as_blocks(values, shape)
    number = rows.shape[0]
    size = (dest.nrow, dest.ncol)
    if prune or count is not None:
        live = empty(number, dtype=types.int32, device=dest.device)
        limit = rows if count is None else count
        seen = source if source is not None else empty((0, *shape), dtype=dest.scalar_type, device=dest.device)
        words = block_words(dest.values._element.scalar, shape)
        _LIVE_ROWS.run(
            number, rows, limit, seen, live, limited=count is not None, prune=prune, **{k: words[k] for k in "SRC"}
        )
        rows = live
    work = None if mapping is None else mapping._work
    needs = values is not None and bool(values.requires_grad)
    if policy == "masked":
        pairs = ordered_pairs(rows, columns, number, size, work)
        ensure_room(dest, 0, needs)
    else:
        pairs = set_topology(dest, (rows, columns, number), size, policy == "padded", needs, work)
    if source is not None:
        gather(dest, pairs, source, policy != "compact")
    if mapping is not None:
        mapping._fill(dest, pairs)
    return mapping


def _check_triplets(dest: Any, rows: Any, columns: Any, values: Any, count: Any) -> None:
    for one in (rows, columns):
        if not isinstance(one, array) or one._element.name != "int32" or one.ndim != 1:
            raise TypeError("Rows and columns arrays must be of type int32")
    if rows.shape[0] != columns.shape[0]:
        raise ValueError(f"Rows and columns arrays must have the same length, got {rows.shape[0]} and {columns.shape[0]}")
    arrays = {"rows": rows, "columns": columns, "count": count}
    if values is not None:
        if not isinstance(values, array):
            raise TypeError(f"values must be an array, got {type(values).__name__}")
        _check_values(dest, values)
        if values.shape[0] != rows.shape[0]:
            got = f"{values.shape[0]} and {rows.shape[0]}"
            raise ValueError(f"Values and rows arrays must have the same length, got {got}")
        arrays["values"] = values
    if count is not None and (not isinstance(count, array) or count._element.name != "int32" or count.size < 1):
        raise TypeError("count must be an int32 array of one element")
    for name, one in arrays.items():
        if one is not None and one.device != dest.device:
            raise ValueError(f"{name} lies on {one.device}, the matrix on {dest.device}")


def _check_values(dest: Any, values: array) -> None:
    """Whether an array holds blocks of a matrix."""
    if values.ndim == 3:
        fits = values._element.name == dest.values._element.scalar and values.shape[1:] == dest.block_shape
    else:
        same = values._element.scalar == dest.values._element.scalar and values._element.kind in ("scalar", "mat")
        fits = values.ndim == 1 and same and block_shape_of(values.dtype) == dest.block_shape
    if not fits:
        of = f"{types.type_repr(values.dtype)} and {types.type_repr(dest.dtype)}"
        raise ValueError(f"Values array type must correspond to that of the dest matrix, got {of}")


# ---- maps ------------------------------------------------------------------------------------------------------------

_BLOCK_OF_TRIPLET = BlockKernel(
    "bsr_block_of_triplet",
    "runs: {ints}, order: {ints}, offsets: {ints}, nrow: int, blocks: {ints}",
    "b",
    """
if b < offsets[nrow]:
    for k in range(runs[b], runs[b + 1]):
        blocks[order[k]] = b
""",
    False,
)
_ADD_TRIPLETS = BlockKernel(
    "bsr_add_triplets",
    "blocks: {ints}, source: wp.array3d(dtype={S}), values: wp.array3d(dtype={S})",
    "n, i, j",
    """
b = blocks[n]
if b >= 0:
    wp.atomic_add(values, b, i, j, source[n, i, j])
""",
)


class BsrTripletMap:
    """Which triplets belong to which block of a matrix: `bsr_set_from_triplets(…, build_mapping=…)` fills it, and
    `bsr_set_from_mapped_values` then sets the same blocks from other values, without sorting.

    Args:
        capacity: room for so many triplets; it grows as needed.
        device: where it lies.
    """

    def __init__(self, capacity: int = 0, device: Any = None) -> None:
        if capacity < 0:
            raise ValueError(f"BsrTripletMap: capacity must not be negative, got {capacity}")
        self.triplet_count = 0
        self._device = get_device(device)
        self._work = WorkArrays()
        self._blocks = empty(capacity, dtype=types.int32, device=self._device)
        for name, size in (("order", 2 * capacity), ("runs", capacity + 1), ("numbers", capacity)):
            self._work.take(name, size, types.int32, self._device)
        self._pairs: Pairs | None = None
        self._built_for: tuple | None = None

    @property
    def device(self) -> Any:
        """Where the map lies."""
        return self._device

    @property
    def capacity(self) -> int:
        """For how many triplets there is room."""
        return self._blocks.shape[0]

    def validate(self, dest: BsrMatrix) -> None:
        """ValueError if the map was not built for a matrix as it is now."""
        _check_matrix(dest, "BsrTripletMap.validate", "dest")
        if self._built_for is None:
            raise ValueError("The triplet map has not been built; pass it to bsr_set_from_triplets as build_mapping")
        if self._built_for[:2] != (dest.nrow, dest.ncol):
            raise ValueError(f"The triplet map was built for a matrix of {self._built_for[:2]} blocks, got {(dest.nrow, dest.ncol)}")
        if self._built_for != _storage_of(dest):
            raise ValueError("Destination BSR topology storage differs from that used to build the triplet map")

    def _fill(self, dest: Any, pairs: Pairs) -> None:
        if self._blocks.shape[0] < pairs.count:
            self._blocks = empty(pairs.count, dtype=types.int32, device=self._device)
        self._pairs, self.triplet_count, self._built_for = pairs, pairs.count, _storage_of(dest)
        with paused():
            self._blocks.fill_(-1)
            _BLOCK_OF_TRIPLET.run(pairs.count, pairs.runs, pairs.order, dest.offsets, dest.nrow, self._blocks)


def _storage_of(dest: Any) -> tuple:
    counts = 0 if dest.row_counts is None else dest.row_counts.ptr
    return dest.nrow, dest.ncol, dest.offsets.ptr, dest.columns.ptr, counts


def _map_to_fill(build_mapping: Any, dest: Any, policy: str, given: Any, prune: bool) -> BsrTripletMap | None:
    if build_mapping is None or build_mapping is False:
        return None
    if policy != "compact":
        raise ValueError('build_mapping requires topology="compact"')
    if prune:
        raise ValueError("build_mapping requires prune_numerical_zeros=False")
    if build_mapping is True:
        return BsrTripletMap(device=dest.device)
    if not isinstance(build_mapping, BsrTripletMap):
        raise TypeError(f"build_mapping must be a BsrTripletMap or True, got {type(build_mapping).__name__}")
    if build_mapping.device != dest.device:
        raise ValueError(f"build_mapping lies on {build_mapping.device}, the matrix on {dest.device}")
    return build_mapping


def bsr_set_from_mapped_values(
    dest: BsrMatrix, mapping: BsrTripletMap, values: array, reduction: str = "gather"
) -> None:
    """Sets the values of a matrix from those of triplets, by a map of them that was built for it.

    Args:
        dest: the matrix; its blocks stay.
        mapping: what `bsr_set_from_triplets` filled.
        values: one for each triplet.
        reduction: "gather" adds up the triplets of a block in their order; "atomic" lets each triplet add to its block, which
            on GPUs happens in any order.
    """
    _check_matrix(dest, "bsr_set_from_mapped_values", "dest")
    if reduction not in ("gather", "atomic"):
        raise ValueError(f"Unsupported mapped reduction {reduction!r}, expected 'gather' or 'atomic'")
    if not isinstance(mapping, BsrTripletMap):
        raise TypeError(f"mapping must be a BsrTripletMap, got {type(mapping).__name__}")
    mapping.validate(dest)
    _check_values(dest, values)
    if values.shape[0] != mapping.triplet_count:
        raise ValueError(f"Values must contain {mapping.triplet_count} triplets, got first dimension {values.shape[0]}")
    ensure_room(dest, 0, bool(values.requires_grad))
    source = as_blocks(values, dest.block_shape)
    if reduction == "gather":
        gather(dest, mapping._pairs, source, False)  # type: ignore[arg-type]
        return
    dest.values[: dest.nnz].zero_()
    scalar = block_words(dest.values._element.scalar, dest.block_shape)["S"]
    _ADD_TRIPLETS.follow((values.shape[0], *dest.block_shape), mapping._blocks, source, dest.scalar_values, S=scalar)
