"""wp.HashGrid and the queries of kernels, compared with a loop over all points: every number, in order."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import warp as wp

NUMPY = {wp.float16: np.float16, wp.float32: np.float32, wp.float64: np.float64}
ROOM = 4096
INT = np.iinfo(np.int32)


def cells_of(x: np.ndarray, width: float, dtype: type) -> np.ndarray:
    """Cells along each axis, before they are wrapped."""
    real = np.float64 if dtype is wp.float64 else np.float32
    with np.errstate(all="ignore"):
        scaled = np.floor(x.astype(real) * real(1.0 / width)).astype(np.float64)
    return np.clip(np.where(np.isnan(scaled), 0.0, scaled), INT.min, INT.max).astype(np.int64)


def expected(points, dims, width, center, reach, dtype=wp.float32, groups=None, group=None) -> list[int]:
    """What a query finds, by looking at all points."""
    if not reach >= 0:
        return []
    dims = np.array(dims)
    real = np.float32 if dtype is wp.float32 else np.float64
    with np.errstate(all="ignore"):
        low = cells_of(center.astype(real) - real(reach), width, dtype)
        high = cells_of(center.astype(real) + real(reach), width, dtype)
    spans = [(low[k] + np.arange(min(high[k] - low[k] + 1, dims[k]))) % dims[k] for k in range(3)]
    wrapped = cells_of(points, width, dtype) % dims
    order = np.arange(len(points)) if groups is None else np.argsort(groups, kind="stable")
    found = []
    for z in spans[2]:
        for y in spans[1]:
            for x in spans[0]:
                inside = (wrapped[order] == (x, y, z)).all(axis=1)
                found += [int(i) for i in order[inside] if group is None or groups[i] == group]
    return found


@wp.kernel
def by_for(grid: wp.uint64, centers: wp.array(dtype=wp.vec3), reach: float, out: wp.array2d(dtype=int)):
    i = wp.tid()
    n = int(0)
    for j in wp.hash_grid_query(grid, centers[i], reach):
        out[i, n + 1] = j
        n += 1
    out[i, 0] = n


@wp.kernel
def by_variable(grid: wp.uint64, centers: wp.array(dtype=wp.vec3), reach: float, out: wp.array2d(dtype=int)):
    i = wp.tid()
    n = int(0)
    query = wp.hash_grid_query(grid, centers[i], reach)
    for j in query:
        out[i, n + 1] = j
        n += 1
    for j in query:  # at its end
        n += 1000
    out[i, 0] = n


@wp.kernel
def by_while(grid: wp.uint64, centers: wp.array(dtype=wp.vec3), reach: float, out: wp.array2d(dtype=int)):
    i = wp.tid()
    n = int(0)
    query = wp.hash_grid_query(grid, centers[i], reach)
    j = int(-1)
    while wp.hash_grid_query_next(query, j):
        out[i, n + 1] = j
        n += 1
    out[i, 0] = n
    if n > 0 and j != out[i, n]:  # the last one found
        out[i, 0] = -1


@wp.kernel
def by_next(grid: wp.uint64, centers: wp.array(dtype=wp.vec3), reach: float, out: wp.array2d(dtype=int)):
    i = wp.tid()
    n = int(0)
    query = wp.hash_grid_query(grid, centers[i], reach)
    j = int(0)
    more = bool(True)
    while more:
        more = wp.hash_grid_query_next(query, j)
        if more:
            out[i, n + 1] = j
            n += 1
    out[i, 0] = n


@wp.kernel
def in_parts(grid: wp.uint64, centers: wp.array(dtype=wp.vec3), reach: float, out: wp.array2d(dtype=int)):
    i = wp.tid()
    n = int(0)
    query = wp.hash_grid_query(grid, centers[i], reach)
    for j in query:
        out[i, n + 1] = j
        n += 1
        if n == i % 5:
            break
    j = int(0)
    if wp.hash_grid_query_next(query, j):
        out[i, n + 1] = j
        n += 1
    while wp.hash_grid_query_next(query, j):
        out[i, n + 1] = j
        n += 1
        if n == 2 * (i % 5) + 3:
            break
    for j in query:
        out[i, n + 1] = j
        n += 1
    out[i, 0] = n


@wp.func
def fill(query: wp.HashGridQuery, out: wp.array(dtype=int)):
    n = int(0)
    for j in query:
        n += 1
        out[n] = j
    return n


@wp.kernel
def by_function(grid: wp.uint64, centers: wp.array(dtype=wp.vec3), reach: float, out: wp.array2d(dtype=int)):
    i = wp.tid()
    query = wp.hash_grid_query(grid, centers[i], reach)
    out[i, 0] = fill(query, out[i])


def found_by(kernel, grid, centers, reach, dtype=wp.float32, more=()) -> list[list[int]]:
    out = wp.zeros((len(centers), ROOM), dtype=int)
    vec = wp.types.vector(length=3, dtype=dtype)
    there = wp.array(centers.astype(NUMPY[dtype]), dtype=vec)
    wp.launch(kernel, dim=len(centers), inputs=[grid.id, there, reach, *more], outputs=[out])
    rows = out.numpy()
    assert (rows[:, 0] < ROOM).all() and (rows[:, 0] >= 0).all()
    return [list(row[1 : 1 + row[0]]) for row in rows]


def points_in(count: int, low: float, high: float, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, (count, 3)).astype(np.float32)


def built(points: np.ndarray, dims, width: float, **options) -> wp.HashGrid:
    grid = wp.HashGrid(*dims, **options)
    grid.build(wp.array(points, dtype=wp.vec3), width)
    return grid


@pytest.mark.parametrize("kernel", [by_for, by_variable, by_while, by_next, in_parts, by_function], ids=lambda k: k.key)
@pytest.mark.parametrize("dims, width, reach", [((8, 8, 8), 0.25, 0.25), ((3, 5, 7), 0.3, 0.55), ((16, 1, 2), 0.1, 0.3)])
def test_every_form_of_loop(kernel, dims, width: float, reach: float) -> None:
    points, centers = points_in(400, -1.0, 1.0), points_in(40, -1.2, 1.2, 6)
    found = found_by(kernel, built(points, dims, width), centers, reach)
    assert found == [expected(points, dims, width, c, reach) for c in centers]


@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize("kernel", [by_for, by_while, by_next, in_parts], ids=lambda k: k.key)
def test_lanes(kernel, lanes: int) -> None:
    points, centers = points_in(300, -1.0, 1.0), points_in(37, -1.2, 1.2, 6)
    grid = built(points, (8, 4, 8), 0.25)
    before, wp.config.cpu_lanes = wp.config.cpu_lanes, lanes
    try:
        found = found_by(kernel, grid, centers, 0.3)
    finally:
        wp.config.cpu_lanes = before
    assert found == [expected(points, (8, 4, 8), 0.25, c, 0.3) for c in centers]


@pytest.mark.parametrize("dims", [(1, 1, 1), (2, 2, 2), (5, 3, 1), (1, 64, 1), (33, 20, 17), (128, 128, 128)])
@pytest.mark.parametrize("width, reach", [(0.5, 0.0), (0.5, 0.5), (0.37, 0.9), (0.05, 1.0), (4.0, 0.1)])
def test_tables_and_reaches(dims, width: float, reach: float) -> None:
    points, centers = points_in(200, -3.0, 2.0), points_in(12, -3.0, 2.0, 6)
    found = found_by(by_for, built(points, dims, width), centers, reach)
    for row, center in zip(found, centers):
        assert row == expected(points, dims, width, center, reach)
        near = np.linalg.norm(points.astype(np.float64) - center, axis=1) <= reach
        assert set(np.flatnonzero(near)) <= set(row) and len(set(row)) == len(row)


def test_far_from_the_origin_and_beyond_what_cells_can_count() -> None:
    points = np.array(
        [[3e8, -3e8, 1e6], [3e38, -3e38, 0], [np.inf, -np.inf, 0], [np.nan, 1, 2], [1e10, 1e10, 1e10], [-0.01, 0, 0]],
        dtype=np.float32,
    )
    centers = np.concatenate([points, np.zeros((1, 3), np.float32)])
    for reach in (0.0, 1.0, 1e9, 3e38, np.inf):
        found = found_by(by_for, built(points, (7, 8, 9), 0.5), centers, reach)
        assert found == [expected(points, (7, 8, 9), 0.5, c, reach) for c in centers]
    assert sorted(found_by(by_for, built(points, (7, 8, 9), 0.5), centers[-1:], np.inf)[0]) == list(range(6))


def test_no_reach() -> None:
    points = points_in(50, -1.0, 1.0)
    grid = built(points, (4, 4, 4), 0.5)
    for reach in (-0.1, np.nan, -np.inf):
        assert found_by(by_for, grid, points, reach) == [[]] * 50


def test_negative_coordinates_have_neighbours() -> None:
    """Cells are found by floor: a place just below zero is next to one just above."""
    points = np.array([[-0.05, -0.05, -0.05], [0.05, 0.05, 0.05], [-1.05, 0.05, 0.05]], np.float32)
    found = found_by(by_for, built(points, (16, 16, 16), 1.0), points, 0.2)
    assert [sorted(row) for row in found] == [[0, 1], [0, 1], [0, 2]]


@wp.kernel
def in_doubles(grid: wp.uint64, centers: wp.array(dtype=wp.vec3d), reach: wp.float64, out: wp.array2d(dtype=int)):
    i = wp.tid()
    n = int(0)
    for j in wp.hash_grid_query(grid, centers[i], reach):
        out[i, n + 1] = j
        n += 1
    out[i, 0] = n


@wp.kernel
def in_halves(grid: wp.uint64, centers: wp.array(dtype=wp.vec3h), reach: wp.float16, out: wp.array2d(dtype=int)):
    i = wp.tid()
    n = int(0)
    for j in wp.hash_grid_query(grid, centers[i], reach):
        out[i, n + 1] = j
        n += 1
    out[i, 0] = n


@pytest.mark.parametrize("dtype, kernel", [(wp.float64, in_doubles), (wp.float16, in_halves)])
def test_other_kinds_of_numbers(dtype, kernel) -> None:
    points = np.random.default_rng(1).uniform(-1, 1, (300, 3)).astype(NUMPY[dtype])
    grid = wp.HashGrid(8, 8, 8, dtype=dtype)
    assert grid.dtype is dtype
    grid.build(wp.array(points, dtype=wp.types.vector(length=3, dtype=dtype)), 0.25)
    found = found_by(kernel, grid, points[:40], 0.25, dtype)
    assert found == [expected(points, (8, 8, 8), 0.25, c, 0.25, dtype) for c in points[:40]]


def test_queries_of_another_kind_than_the_points() -> None:
    points = points_in(200, -1.0, 1.0)
    wide = wp.HashGrid(8, 8, 8, dtype=wp.float64)
    wide.build(wp.array(points.astype(np.float64), dtype=wp.vec3d), 0.3)
    near = [set(np.flatnonzero(np.linalg.norm(points.astype(float) - c, axis=1) <= 0.3)) for c in points[:30]]
    for found in (
        found_by(by_for, wide, points[:30], 0.3),
        found_by(in_doubles, built(points, (8, 8, 8), 0.3), points[:30], 0.3, wp.float64),
    ):
        assert all(a <= set(b) for a, b in zip(near, found))


@wp.kernel
def of_group(
    grid: wp.uint64, centers: wp.array(dtype=wp.vec3), reach: float, group: int, out: wp.array2d(dtype=int)
):
    i = wp.tid()
    n = int(0)
    for j in wp.hash_grid_query(grid, centers[i], reach, group):
        out[i, n + 1] = j
        n += 1
    out[i, 0] = n


@wp.kernel
def of_group_by_next(
    grid: wp.uint64, centers: wp.array(dtype=wp.vec3), reach: float, group: int, out: wp.array2d(dtype=int)
):
    i = wp.tid()
    n = int(0)
    query = wp.hash_grid_query(grid, centers[i], reach, group)
    j = int(0)
    while n < 1000 and wp.hash_grid_query_next(query, j):
        out[i, n + 1] = j
        n += 1
    out[i, 0] = n


@pytest.mark.parametrize("kernel", [of_group, of_group_by_next], ids=lambda k: k.key)
def test_groups(kernel) -> None:
    points, dims = points_in(500, -1.0, 1.0), (3, 4, 5)
    groups = np.random.default_rng(2).choice([-7, 0, 1, INT.max, INT.min], 500).astype(np.int32)
    grid = wp.HashGrid(*dims)
    grid.build(wp.array(points, dtype=wp.vec3), 0.4, wp.array(groups, dtype=int))
    centers = points[:25]
    for group in (-7, 0, 1, 2, INT.max, INT.min):
        found = found_by(kernel, grid, centers, 0.6, more=[int(group)])
        assert found == [expected(points, dims, 0.4, c, 0.6, groups=groups, group=group) for c in centers]
    found = found_by(by_for, grid, centers, 0.6)
    assert found == [expected(points, dims, 0.4, c, 0.6, groups=groups) for c in centers]
    grid.build(wp.array(points, dtype=wp.vec3), 0.4)
    everything = [expected(points, dims, 0.4, c, 0.6) for c in centers]
    assert found_by(by_for, grid, centers, 0.6) == everything
    assert found_by(kernel, grid, centers, 0.6, more=[3]) == everything  # there are no groups


@wp.kernel
def number_of(grid: wp.uint64, out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = wp.hash_grid_point_id(grid, i - 1)


def test_points_in_the_order_of_cells() -> None:
    points = points_in(100, -2.0, 2.0)
    grid = wp.HashGrid(4, 5, 6)
    out = wp.zeros(102, dtype=int)
    wp.launch(number_of, dim=102, inputs=[grid.id], outputs=[out])
    assert (out.numpy() == -1).all()  # not built yet
    grid.build(wp.array(points, dtype=wp.vec3), 0.5)
    wp.launch(number_of, dim=102, inputs=[grid.id], outputs=[out])
    cells = cells_of(points, 0.5, wp.float32) % (4, 5, 6)
    order = np.argsort((cells[:, 2] * 5 + cells[:, 1]) * 4 + cells[:, 0], kind="stable")
    assert list(out.numpy()) == [-1, *order, -1]
    wp.launch(number_of, dim=102, inputs=[0], outputs=[out])
    assert (out.numpy() == -1).all()


def test_nothing_to_find() -> None:
    centers = points_in(5, -1.0, 1.0)
    grid = wp.HashGrid(4, 4, 4)
    assert found_by(by_for, grid, centers, 1.0) == [[]] * 5
    grid.build(wp.zeros(0, dtype=wp.vec3), 1.0)
    assert found_by(by_while, grid, centers, 1.0) == [[]] * 5
    out = wp.zeros((5, ROOM), dtype=int)
    for kernel in (by_for, by_next):
        wp.launch(kernel, dim=5, inputs=[0, wp.array(centers, dtype=wp.vec3), 1.0], outputs=[out])
        assert (out.numpy() == 0).all()
    grid.build(wp.array(centers, dtype=wp.vec3), 1.0)
    assert len(found_by(by_for, grid, centers, 9.0)[0]) == 5
    grid.build(wp.zeros(0, dtype=wp.vec3), 1.0)
    assert found_by(by_for, grid, centers, 9.0) == [[]] * 5


def test_arrays_of_any_shape() -> None:
    points = points_in(120, -1.0, 1.0)
    grid = wp.HashGrid(8, 8, 8)
    table = wp.array(points.reshape(4, 5, 6, 3), dtype=wp.vec3)
    grid.build(table, 0.3)
    assert found_by(by_for, grid, points[:9], 0.3) == [expected(points, (8, 8, 8), 0.3, c, 0.3) for c in points[:9]]
    every_other = wp.array(points, dtype=wp.vec3)[::2]
    grid.build(every_other, 0.3)
    rest = points[::2]
    assert found_by(by_for, grid, points[:9], 0.3) == [expected(rest, (8, 8, 8), 0.3, c, 0.3) for c in points[:9]]


def test_memory_is_kept_and_only_grows() -> None:
    grid = wp.HashGrid(16, 16, 16)
    grid.reserve(1000, with_groups=True)
    reserved = grid._grid.bytes
    points = wp.array(points_in(1000, -1.0, 1.0), dtype=wp.vec3)
    for count in (1000, 10, 500, 1000):
        grid.build(points[:count], 0.2, wp.zeros(count, dtype=int))
        assert grid._grid.bytes == reserved
    number = grid.id
    grid.reserve(5000)
    assert len(found_by(by_for, grid, np.zeros((1, 3), np.float32), 9.0)[0]) == 1000  # what kernels read is still there
    larger = grid._grid.bytes
    grid.build(wp.array(points_in(5000, -1.0, 1.0), dtype=wp.vec3), 0.2)
    assert grid._grid.bytes == larger > reserved and grid.id == number


@pytest.mark.parametrize("count", [40_000, 300_000])
def test_many_points(count: int) -> None:
    """Several threads sort; cells of more than one digit."""
    points = points_in(count, -5.0, 5.0)
    for dims in ((64, 64, 64), (100, 90, 80)):
        grid = built(points, dims, 0.1)
        out = wp.zeros(count, dtype=int)
        wp.launch(number_of, dim=count, inputs=[grid.id], outputs=[out])
        cells = cells_of(points, 0.1, wp.float32) % dims
        order = np.argsort((cells[:, 2] * dims[1] + cells[:, 1]) * dims[0] + cells[:, 0], kind="stable")
        assert (out.numpy()[1:] == order[:-1]).all()


def test_what_is_refused() -> None:
    for dims in ((0, 1, 1), (1, -1, 1)):
        with pytest.raises(RuntimeError, match="HashGrid dimensions"):
            wp.HashGrid(*dims)
    with pytest.raises(RuntimeError, match="cell count exceeds supported limit: 2048 x 2048 x 512"):
        wp.HashGrid(2048, 2048, 512)
    with pytest.raises(TypeError, match="dtype"):
        wp.HashGrid(1, 1, 1, dtype=wp.int32)
    grid = wp.HashGrid(4, 4, 4)
    points = wp.zeros(3, dtype=wp.vec3)
    for radius in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="above 0"):
            grid.build(points, radius)
    for wrong in (wp.zeros(3, dtype=wp.vec3d), wp.zeros(9, dtype=float), wp.zeros(3, dtype=wp.vec4), np.zeros((3, 3)), None):
        with pytest.raises(TypeError, match="points of this HashGrid"):
            grid.build(wrong, 1.0)
    with pytest.raises(TypeError, match="groups"):
        grid.build(points, 1.0, wp.zeros(3, dtype=float))
    with pytest.raises(RuntimeError, match="4 elements for 3 points"):
        grid.build(points, 1.0, wp.zeros(4, dtype=int))
    with pytest.raises(ValueError, match="points"):
        grid.reserve(-1)


def test_only_kernels_ask() -> None:
    grid = built(points_in(5, -1.0, 1.0), (2, 2, 2), 1.0)
    with pytest.raises(RuntimeError, match="only kernels"):
        wp.hash_grid_point_id(wp.uint64(grid.id), 0)
    with pytest.raises(RuntimeError, match="only kernels"):
        wp.hash_grid_query(wp.uint64(12345), wp.vec3(), 1.0)


def test_ids_are_looked_up() -> None:
    out = wp.zeros(3, dtype=int)
    grid = wp.HashGrid(1, 1, 1)
    wp.launch(number_of, dim=3, inputs=[grid], outputs=[out])  # the grid itself
    number = grid.id
    del grid
    gc.collect()
    with pytest.raises(RuntimeError, match="argument 'grid'.*HashGrid.*deleted"):
        wp.launch(number_of, dim=3, inputs=[number], outputs=[out])


def test_builds_in_graphs() -> None:
    points = wp.array(points_in(100, -1.0, 1.0), dtype=wp.vec3)
    centers = wp.array(points_in(10, -1.0, 1.0, 8), dtype=wp.vec3)
    grid = wp.HashGrid(8, 8, 8)
    out = wp.zeros((10, ROOM), dtype=int)
    wp.load_module()
    with wp.ScopedCapture() as capture:
        grid.build(points, 0.3)
        wp.launch(by_for, dim=10, inputs=[grid.id, centers, 0.3], outputs=[out])
    for seed in (1, 2):
        moved = points_in(100, -1.0, 1.0, seed)
        points.assign(moved)
        wp.capture_launch(capture.graph)
        for row, center in zip(out.numpy(), centers.numpy()):
            assert list(row[1 : 1 + row[0]]) == expected(moved, (8, 8, 8), 0.3, center, 0.3)


def test_builds_and_launches_of_several_threads() -> None:
    points = wp.array(points_in(20_000, -1.0, 1.0), dtype=wp.vec3)
    grid = wp.HashGrid(16, 16, 16)
    grid.build(points, 0.1)
    wrong: list[int] = []

    def rebuild() -> None:
        for k in range(20):
            grid.build(points[: 10_000 + 500 * k], 0.1)

    def ask() -> None:
        out = wp.zeros(20_000, dtype=int)
        for _ in range(20):
            wp.launch(number_of, dim=20_000, inputs=[grid.id], outputs=[out])
            ids = out.numpy()[1:]
            ids = ids[ids >= 0]
            if len(np.unique(ids)) != len(ids):
                wrong.append(len(ids))

    threads = [threading.Thread(target=work) for work in (rebuild, ask, ask)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@wp.struct
class Held:
    query: wp.HashGridQuery
    first: int


@wp.kernel
def of_all_sorts(grid: wp.uint64, centers: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=int)):
    i = wp.tid()
    held = Held()
    held.query = wp.hash_grid_query(grid, centers[i], 0.3)
    held.first = -1
    for j in held.query:  # a field
        if held.first < 0:
            held.first = j
        out[i, 0] += 1
    out[i, 1] = held.first
    pairs = int(0)
    for j in wp.hash_grid_query(grid, centers[i], 0.3):  # one inside of the other
        for k in wp.hash_grid_query(grid, centers[i], 0.3):
            if k == j:
                continue
            if k > j:
                pairs += 1
        if j == held.first:
            pairs += 0
    else:
        out[i, 2] += 1
    out[i, 2] += pairs
    query = wp.hash_grid_query(grid, centers[i], 0.3)
    j = int(0)
    while wp.hash_grid_query_next(query, j):  # the body goes on by itself
        out[i, 3] += 1
        wp.hash_grid_query_next(query, j)
    last = int(-1)
    for j in wp.hash_grid_query(grid, centers[i], 0.3):
        late = j * 2
        last = j
    if last >= 0:
        out[i, 4] = late - 2 * last
    out[i, 5] = last


@wp.func
def first_above(grid: wp.uint64, at: wp.vec3, least: int):
    for j in wp.hash_grid_query(grid, at, 0.3):
        if j > least:
            return j
    return -1


@wp.kernel
def leave_early(grid: wp.uint64, centers: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=int)):
    i = wp.tid()
    out[i, 0] = first_above(grid, centers[i], 50)
    for j in wp.hash_grid_query(grid, centers[i], 0.3):
        if j % 7 == 3:
            break
        out[i, 1] += 1
    else:
        out[i, 1] = -1
    for j in wp.hash_grid_query(grid, centers[i], 0.3):
        if j % 2 == 0:
            continue
        out[i, 2] += j
        if out[i, 2] > 200:
            return
    out[i, 3] = 1


def test_loops_of_all_sorts() -> None:
    points = points_in(200, -1.0, 1.0)
    grid = built(points, (4, 8, 8), 0.3)
    centers = wp.array(points[:30], dtype=wp.vec3)
    out = wp.zeros((30, 6), dtype=int)
    wp.launch(of_all_sorts, dim=30, inputs=[grid.id, centers], outputs=[out])
    early = wp.zeros((30, 4), dtype=int)
    wp.launch(leave_early, dim=30, inputs=[grid.id, centers], outputs=[early])
    for row, left, center in zip(out.numpy(), early.numpy(), points):
        found = expected(points, (4, 8, 8), 0.3, center, 0.3)
        n = len(found)
        assert list(row) == [n, found[0], n * (n - 1) // 2 + 1, (n + 1) // 2, 0, found[-1]]
        above = next((j for j in found if j > 50), -1)
        until = next((k for k, j in enumerate(found) if j % 7 == 3), -1)
        total, done = 0, 1
        for j in found:
            total += j if j % 2 else 0
            if total > 200:
                done = 0
                break
        assert list(left) == [above, until, total, done]


def test_neighbours_beside_scipy() -> None:
    spatial = pytest.importorskip("scipy.spatial")
    points = points_in(5000, -2.0, 2.0)
    tree = spatial.cKDTree(points)
    found = found_by(by_for, built(points, (32, 32, 32), 0.2), points[:200], 0.2)
    for k, row in enumerate(found):
        near = [j for j in row if np.linalg.norm(points[j].astype(float) - points[k]) <= 0.2]
        assert sorted(near) == sorted(tree.query_ball_point(points[k], 0.2))


@wp.func
def count_of(query: wp.HashGridQuery[wp.float64]) -> int:
    found = int(0)
    for _ in query:
        found += 1
    return found


def test_queries_annotated_with_their_numbers() -> None:
    @wp.kernel
    def count(grid: wp.uint64, out: wp.array(dtype=int)):
        out[0] = count_of(wp.hash_grid_query(grid, wp.vec3d(), wp.float64(2.0)))

    grid = wp.HashGrid(8, 8, 8, dtype=wp.float64)
    grid.build(wp.zeros(5, dtype=wp.vec3d), 1.0)
    out = wp.zeros(1, dtype=int)
    wp.launch(count, dim=1, inputs=[grid.id], outputs=[out])
    assert out.numpy()[0] == 5
