# Neighbours by hash grids. A grid's descriptor (src/geometry/descriptors.h) has a table of starts, a cell each, and the
# points' numbers sorted by cell: the cells of a row along x are one stretch of numbers, a run, and two where the row goes
# over the table's edge. Cells are found as the builders find them (src/geometry/grid_cells.h).

_GRID_FLAGS = 8
_GRID_STARTS = 16
_GRID_POINTS = 24
_GRID_GROUPS = 32
_GRID_DIMS = 40
_GRID_COUNT = 52
_GRID_INVERSE_WIDTH = 64
_GRID_IN_DOUBLES = 1


class HashGridQuery:
    """The points near a place that a hash grid finds, as far as they have not been visited."""

    __next__ = hash_grid_query_next
    __runs__ = _hash_grid_runs
    __run__ = _hash_grid_run
    __item__ = _hash_grid_item
    __rest__ = _hash_grid_rest
    _starts: uint64
    _points: uint64
    _groups: uint64
    _dims: vec3ui
    _corner: vec3ui
    _cells: vec3ui
    _group: int
    _by_group: bool
    _run: int
    _at: int
    _end: int


def hash_grid_query(id: uint64, point: vec3, max_dist: float):
    reach = vec3(max_dist, max_dist, max_dist)
    return _hash_grid_box(id, point - reach, point + reach, max_dist >= 0.0, False, 0)


def _hash_grid_query_group(id: uint64, point: vec3, max_dist: float, group: int):
    reach = vec3(max_dist, max_dist, max_dist)
    return _hash_grid_box(id, point - reach, point + reach, max_dist >= 0.0, True, group)


def _hash_grid_query_wide(id: uint64, point, max_dist):
    center = vec3d(float64(point[0]), float64(point[1]), float64(point[2]))
    far = float64(max_dist)
    reach = vec3d(far, far, far)
    return _hash_grid_box(id, center - reach, center + reach, far >= 0.0, False, 0)


def _hash_grid_query_wide_group(id: uint64, point, max_dist, group: int):
    center = vec3d(float64(point[0]), float64(point[1]), float64(point[2]))
    far = float64(max_dist)
    reach = vec3d(far, far, far)
    return _hash_grid_box(id, center - reach, center + reach, far >= 0.0, True, group)


# What the box meets. The box's corners were rounded as those of points at its edge would be, and all steps from there
# are monotone, so no point within reach is missed.
def _hash_grid_box(id: uint64, lower, upper, wanted: bool, by_group: bool, group: int):
    grid = _handle("hash_grid", id)
    starts = uint64(0)
    points = uint64(0)
    groups = uint64(0)
    dims = vec3ui()
    corner = vec3ui()
    cells = vec3ui()
    if wanted and grid != uint64(0):
        if _fixed(grid + uint64(_GRID_COUNT), uint32)[0] > uint32(0):
            starts = _fixed(grid + uint64(_GRID_STARTS), uint64)[0]
            points = _fixed(grid + uint64(_GRID_POINTS), uint64)[0]
            if by_group:
                groups = _fixed(grid + uint64(_GRID_GROUPS), uint64)[0]
            width = _fixed(grid + uint64(_GRID_DIMS), uint32)[0]
            height = _fixed(grid + uint64(_GRID_DIMS), uint32)[1]
            depth = _fixed(grid + uint64(_GRID_DIMS), uint32)[2]
            inverse = _fixed(grid + uint64(_GRID_INVERSE_WIDTH), float64)[0]
            first = vec3i()
            last = vec3i()
            if (_fixed(grid + uint64(_GRID_FLAGS), uint32)[0] & uint32(_GRID_IN_DOUBLES)) != uint32(0):
                first = vec3i(
                    int(floor(float64(lower[0]) * inverse)),
                    int(floor(float64(lower[1]) * inverse)),
                    int(floor(float64(lower[2]) * inverse)),
                )
                last = vec3i(
                    int(floor(float64(upper[0]) * inverse)),
                    int(floor(float64(upper[1]) * inverse)),
                    int(floor(float64(upper[2]) * inverse)),
                )
            else:
                scale = float32(inverse)
                first = vec3i(
                    int(floor(float32(lower[0]) * scale)),
                    int(floor(float32(lower[1]) * scale)),
                    int(floor(float32(lower[2]) * scale)),
                )
                last = vec3i(
                    int(floor(float32(upper[0]) * scale)),
                    int(floor(float32(upper[1]) * scale)),
                    int(floor(float32(upper[2]) * scale)),
                )
            dims = vec3ui(width, height, depth)
            corner = vec3ui(
                _hash_grid_wrapped(first[0], width),
                _hash_grid_wrapped(first[1], height),
                _hash_grid_wrapped(first[2], depth),
            )
            cells = vec3ui(
                _hash_grid_extent(first[0], last[0], width),
                _hash_grid_extent(first[1], last[1], height),
                _hash_grid_extent(first[2], last[2], depth),
            )
    # In a grid without groups it is as if nobody had asked for one.
    chosen = by_group and groups != uint64(0)
    return HashGridQuery(starts, points, groups, dims, corner, cells, group, chosen, 0, 0, 0)


# The remainder that is not negative; below zero that of -1 - cell, counted from the other end.
def _hash_grid_wrapped(cell: int, extent: uint32):
    if cell < 0:
        return extent - uint32(1) - uint32(-1 - cell) % extent
    return uint32(cell) % extent


# How many cells there are from first to last, none of them twice.
def _hash_grid_extent(first: int, last: int, extent: uint32):
    return min(uint32(last) - uint32(first), extent - uint32(1)) + uint32(1)


# Whether rows go over the table's edge along x.
def _hash_grid_split(query: HashGridQuery):
    return query._cells[0] > query._dims[0] - query._corner[0]


# The runs that are left, as a range. The first may be what is left of one that was begun.
def _hash_grid_runs(query: HashGridQuery):
    first = query._run
    if query._at < query._end:
        first = query._run - 1
    return first, _hash_grid_run_count(query)


def _hash_grid_run_count(query: HashGridQuery):
    rows = query._cells[1] * query._cells[2]
    if query._by_group:
        return int(rows * query._cells[0])
    if _hash_grid_split(query):
        return int(rows * uint32(2))
    return int(rows)


# The places of run k among the sorted numbers.
def _hash_grid_run(query: HashGridQuery, k: int):
    if k < query._run:
        return query._at, query._end
    width = query._dims[0]
    starts = _fixed(query._starts, uint32)
    left = query._corner[0]
    right = left + query._cells[0]
    row = uint32(k)
    if query._by_group:
        row = uint32(k) / query._cells[0]
        left = _hash_grid_within(left + uint32(k) % query._cells[0], width)
        right = left + uint32(1)
    elif _hash_grid_split(query):
        row = uint32(k) >> uint32(1)
        if (k & 1) == 0:
            right = width
        else:
            left = uint32(0)
            right = right - width
    y = _hash_grid_within(query._corner[1] + row % query._cells[1], query._dims[1])
    z = _hash_grid_within(query._corner[2] + row / query._cells[1], query._dims[2])
    base = (z * query._dims[1] + y) * width
    first = int(starts[base + left])
    last = int(starts[base + right])
    if query._by_group:
        groups = _fixed(query._groups, int)
        first = _hash_grid_bound(groups, first, last, query._group, False)
        last = _hash_grid_bound(groups, first, last, query._group, True)
    return first, last


def _hash_grid_within(cell: uint32, extent: uint32):
    if cell >= extent:
        return cell - extent
    return cell


# The first place whose group is not less than this one, or not even equal.
def _hash_grid_bound(groups, first: int, last: int, group: int, behind: bool):
    low = first
    high = last
    while low < high:
        middle = low + ((high - low) >> 1)
        found = groups[middle]
        if found < group or (behind and found == group):
            low = middle + 1
        else:
            high = middle
    return low


# Numbers are not negative; said so here, indices by them need no test.
def _hash_grid_item(query: HashGridQuery, place: int):
    return _fixed(query._points, int)[uint32(place)] & 0x7FFFFFFF


def _hash_grid_rest(query: HashGridQuery, run: int, place: int, end: int):
    rest = query
    rest._run = max(run + 1, query._run)
    rest._at = place + 1
    rest._end = end
    return rest


def hash_grid_query_next(query: ref, index: ref):
    if query._at >= query._end:
        runs = _hash_grid_run_count(query)
        while query._run < runs and query._at >= query._end:
            first, last = _hash_grid_run(query, query._run)
            query._run += 1
            query._at = first
            query._end = last
        if query._at >= query._end:
            return False
    index = _hash_grid_item(query, query._at)
    query._at += 1
    return True


def hash_grid_point_id(id: uint64, index: int):
    grid = _handle("hash_grid", id)
    if grid == uint64(0) or index < 0:
        return -1
    if uint32(index) >= _fixed(grid + uint64(_GRID_COUNT), uint32)[0]:
        return -1
    return _fixed(_fixed(grid + uint64(_GRID_POINTS), uint64)[0], int)[index]
