"""Which blocks a matrix has: pairs of (row, column) put into order, equal ones joined, and written to a matrix.

Everything that changes the blocks of a matrix comes here: triplets, sums, products, transposes. Candidates are sorted by one
stable radix sort of the number `row * ncol + column`, so the result is the same on every device and in every run; what falls
on one block is a run of candidates, in the order in which they were given, for the kernels that add up values. The host is
not asked for anything, so graphs can capture it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from warp._src.algorithms.array_algorithms import array_scan, radix_sort_pairs
from warp._src.arrays.array import array
from warp._src.arrays.array_factories import copy, empty
from warp._src.arrays.listeners import aside, paused
from warp._src.sparse.block_kernels import BlockKernel
from warp._src.sparse.matrix import ensure_room, ensure_rows, row_ends, status_array, topology_changed
from warp._src.values import types

_KEYS = BlockKernel(
    "bsr_pair_keys",
    "rows: {ints}, columns: {ints}, nrow: int, ncol: int, keys: wp.array(dtype={K}), order: {ints}",
    "i",
    """
row = rows[i]
col = columns[i]
key = {K}(nrow) * {K}(ncol)
if row >= 0 and row < nrow and col >= 0 and col < ncol:
    key = {K}(row) * {K}(ncol) + {K}(col)
keys[i] = key
order[i] = i
""",
    False,
)
_MARK_FIRST = BlockKernel(
    "bsr_mark_first",
    "keys: wp.array(dtype={K}), nrow: int, ncol: int, marks: {ints}",
    "i",
    """
first = int(0)
if keys[i] < {K}(nrow) * {K}(ncol):
    first = 1
    if i > 0:
        if keys[i] == keys[i - 1]:
            first = 0
marks[i] = first
""",
    False,
)
# `numbers` counts the firsts up to and with each candidate.
_WRITE_PAIRS = BlockKernel(
    "bsr_write_pairs",
    "keys: wp.array(dtype={K}), numbers: {ints}, nrow: int, ncol: int, count: int, columns: {ints}, runs: {ints}",
    "i",
    """
key = keys[i]
limit = {K}(nrow) * {K}(ncol)
if key < limit:
    number = numbers[i]
    before = int(0)
    if i > 0:
        before = numbers[i - 1]
    if number > before:
        columns[before] = int(key % {K}(ncol))
        runs[before] = i
    last = i + 1 == count
    if not last:
        last = keys[i + 1] >= limit
    if last:
        runs[number] = i + 1
""",
    False,
)
_WRITE_OFFSETS = BlockKernel(
    "bsr_write_offsets",
    "keys: wp.array(dtype={K}), numbers: {ints}, ncol: int, count: int, offsets: {ints}",
    "row",
    """
wanted = {K}(row) * {K}(ncol)
low = int(0)
high = count
while low < high:
    mid = low + (high - low) // 2
    if keys[mid] < wanted:
        low = mid + 1
    else:
        high = mid
total = int(0)
if low > 0:
    total = numbers[low - 1]
offsets[row] = total
""",
    False,
)
_PLACE_ROWS = BlockKernel(
    "bsr_place_rows",
    "pair_offsets: {ints}, pair_columns: {ints}, offsets: {ints}, columns: {ints}, counts: {ints}, status: {ints}",
    "row",
    """
first = pair_offsets[row]
count = pair_offsets[row + 1] - first
start = offsets[row]
if count > offsets[row + 1] - start:
    status[0] = 1
    count = 0
counts[row] = count
for k in range(count):
    columns[start + k] = pair_columns[first + k]
""",
    False,
)
_COUNT_ROWS = BlockKernel(
    "bsr_count_rows", "starts: {ints}, ends: {ints}, counts: {ints}", "row", "counts[row] = ends[row] - starts[row]", False
)
_COPY_COLUMNS = BlockKernel(
    "bsr_copy_columns",
    "rows: {ints}, starts: {ints}, columns: {ints}, to_offsets: {ints}, to_columns: {ints}",
    "b",
    """
row = rows[b]
if row >= 0:
    to_columns[to_offsets[row] + b - starts[row]] = columns[b]
""",
    False,
)


class WorkArrays:
    """Arrays that calls need on the way, kept from one call to the next."""

    def __init__(self) -> None:
        self._arrays: dict[str, array] = {}

    def take(self, name: str, size: int, dtype: Any, device: Any) -> array:
        """An array of a size at least; the one of before, if it serves."""
        kept = self._arrays.get(name)
        if kept is None or kept.shape[0] < size or kept.dtype is not dtype or kept.device != device:
            kept = self._arrays[name] = empty(size, dtype=dtype, device=device)
        return kept


class Pairs(NamedTuple):
    """Candidates in the order of (row, column), equal ones joined."""

    offsets: array  # where the pairs of each row begin, and their number
    columns: array  # of each pair
    order: array  # the candidates, pair by pair
    runs: array  # where each pair's candidates begin in `order`, and where the last one's end
    count: int  # of candidates: a bound on the number of pairs


def ordered_pairs(
    rows: array,
    columns: array,
    count: int,
    size: tuple[int, int],
    work: WorkArrays | None = None,
    into: tuple[array, array] | None = None,
) -> Pairs:
    """Puts candidates in order. Those outside of the matrix, with row -1 say, are left out.

    Args:
        rows, columns: of `count` candidates at least.
        size: rows and columns of the matrix, in blocks.
        work: keeps arrays for further calls.
        into: `offsets` and `columns` of a matrix, to write there.
    """
    work = WorkArrays() if work is None else work
    device, (nrow, ncol) = rows.device, size
    wide = nrow * ncol >= 2**31
    key_type = types.int64 if wide else types.int32
    keys = work.take("keys", 2 * count, key_type, device)
    order = work.take("order", 2 * count, types.int32, device)
    numbers = work.take("numbers", count, types.int32, device)
    runs = work.take("runs", count + 1, types.int32, device)
    if into is None:
        into = work.take("offsets", nrow + 1, types.int32, device), work.take("columns", count, types.int32, device)
    word = "wp.int64" if wide else "wp.int32"
    with paused(), aside():
        _KEYS.run(count, rows, columns, nrow, ncol, keys, order, K=word)
        if count:
            radix_sort_pairs(keys, order, count, 0, max(1, (nrow * ncol).bit_length()))
            _MARK_FIRST.run(count, keys, nrow, ncol, runs, K=word)
            array_scan(runs[:count], numbers[:count], inclusive=True)
        _WRITE_PAIRS.run(count, keys, numbers, nrow, ncol, count, into[1], runs, K=word)
        _WRITE_OFFSETS.run(nrow + 1, keys, numbers, ncol, count, into[0], K=word)
    return Pairs(into[0], into[1], order, runs, count)


def set_topology(
    dest: Any,
    candidates: tuple[array, array, int],
    size: tuple[int, int],
    padded: bool,
    requires_grad: bool,
    work: WorkArrays | None = None,
) -> Pairs:
    """Gives a matrix the blocks that candidates (rows, columns, their number) name. A padded one keeps its rows' room; rows
    for which that is too little are emptied, and its status says so."""
    rows, columns, count = candidates
    if padded:
        pairs = ordered_pairs(rows, columns, count, size, work)
        make_padded(dest, size)
        _PLACE_ROWS.run(
            dest.nrow, pairs.offsets, pairs.columns, dest.offsets, dest.columns, dest.row_counts, status_array(dest)
        )
        if requires_grad:
            ensure_room(dest, 0, True)
        return pairs
    ensure_rows(dest, *size)
    ensure_room(dest, count, requires_grad)
    dest.row_counts = None
    pairs = ordered_pairs(rows, columns, count, size, work, (dest.offsets, dest.columns))
    topology_changed(dest, count)
    return pairs


def make_padded(dest: Any, size: tuple[int, int]) -> None:
    """A compact matrix becomes one with room for as many blocks as its rows have."""
    if (dest.nrow, dest.ncol) != size:
        raise ValueError(f"a padded matrix keeps its size: expected {size}, got {(dest.nrow, dest.ncol)}")
    if dest.row_counts is None or dest.row_counts.shape[0] < dest.nrow:
        dest.row_counts = empty(dest.nrow, dtype=types.int32, device=dest.device)


def copy_topology(dest: Any, src: Any, keep_padding: bool, requires_grad: bool) -> None:
    """Gives a matrix the blocks of another, which is not the same one: close together, or with the same room in rows."""
    ensure_rows(dest, src.nrow, src.ncol)
    ensure_room(dest, src.nnz, requires_grad)
    with paused(), aside():
        if src.row_counts is None or keep_padding:
            copy(dest.offsets, src.offsets, count=src.nrow + 1)
            if src.nnz:
                copy(dest.columns, src.columns, count=src.nnz)
        else:
            ends = row_ends(src)
            counts = empty(src.nrow + 1, dtype=types.int32, device=src.device)
            counts.zero_()
            _COUNT_ROWS.run(src.nrow, src.offsets, ends, counts)
            array_scan(counts, dest.offsets[: src.nrow + 1], inclusive=False)
            rows = src.uncompress_rows()
            _COPY_COLUMNS.run(src.nnz, rows, src.offsets, src.columns, dest.offsets, dest.columns)
        dest.row_counts = None
        if keep_padding:
            dest.row_counts = empty(src.nrow, dtype=types.int32, device=src.device)
            _COUNT_ROWS.run(src.nrow, src.offsets, row_ends(src), dest.row_counts)
    topology_changed(dest, src.nnz)


def topology_of(topology: Any, masked: Any = None, allowed: tuple[str, ...] = ("compact", "masked", "padded")) -> str:
    """The policy that arguments name: by `topology`, or by `masked`, as programs for earlier versions say it."""
    if isinstance(topology, bool):
        topology, masked = None, topology
    if topology is None:
        return "masked" if masked else "compact"
    if topology not in allowed:
        raise ValueError(f"Unsupported topology policy: {topology}; use one of {', '.join(allowed)}")
    return topology
