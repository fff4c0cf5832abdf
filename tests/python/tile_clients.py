"""What simulators do with tiles, in kernels of our own: for test_tile_clients.py, which runs them in blocks of one thread and of several, on the
CPU and on a GPU or the fake driver's, beside NumPy. Algebra of theirs is in tile_client_algebra.py.

A case is a function of an executor (tile_executors.py).
"""

from collections.abc import Callable

import numpy as np
import tile_client_algebra
from tile_executors import Executor, launch

import warp as wp

# ---- a search along a line: threads go over rows, a block sums three numbers, and what it finds steers all of them


@wp.func
def row_cost(a: wp.float64, at: wp.float64, slope: wp.float64, weight: wp.float64):
    x = at + a * slope
    if x >= wp.float64(0.0):
        return wp.vec3d(wp.float64(0.0), wp.float64(0.0), wp.float64(0.0))
    return wp.vec3d(wp.float64(0.5) * weight * x * x, weight * x * slope, weight * slope * slope)


@wp.func
def whole_cost(
    a: wp.float64,
    rows: int,
    lane: int,
    at: wp.array(dtype=wp.float64),
    slope: wp.array(dtype=wp.float64),
    weight: wp.array(dtype=wp.float64),
):
    own = wp.vec3d()
    for j in range(lane, rows, wp.block_dim()):
        own += row_cost(a, at[j], slope[j], weight[j])
    total = wp.tile_reduce(wp.add, wp.tile(own, preserve_type=True))
    # Quadratic part of all unknowns: 0.5 (a - 1)^2.
    c = a - wp.float64(1.0)
    return total[0] + wp.vec3d(wp.float64(0.5) * c * c, c, wp.float64(1.0))


@wp.kernel(enable_backward=False)
def search(
    rows: wp.array(dtype=int),
    at: wp.array2d(dtype=wp.float64),
    slope: wp.array2d(dtype=wp.float64),
    weight: wp.array2d(dtype=wp.float64),
    steps: int,
    best: wp.array(dtype=wp.float64),
    turns: wp.array(dtype=int),
    force: wp.array2d(dtype=wp.float64),
):
    world, lane = wp.tid()
    n = rows[world]
    a = wp.float64(0.0)
    count = int(0)
    for _step in range(steps):
        here = whole_cost(a, n, lane, at[world], slope[world], weight[world])
        if wp.abs(here[1]) < wp.float64(1e-9):
            break
        # Three candidates at once, of which the best is taken.
        new = a - here[1] / here[2]
        low = whole_cost(wp.float64(0.5) * (a + new), n, lane, at[world], slope[world], weight[world])
        high = whole_cost(new, n, lane, at[world], slope[world], weight[world])
        if high[0] <= low[0]:
            a = new
        else:
            a = wp.float64(0.5) * (a + new)
        count += 1
    for j in range(lane, n, wp.block_dim()):
        force[world, j] = -row_cost(a, at[world, j], slope[world, j], weight[world, j])[1]
    if lane == 0:
        best[world] = a
        turns[world] = count


def line_search(executor: Executor) -> None:
    rng = np.random.default_rng(1)
    worlds, room = 5, 150
    rows = np.array([0, 1, 32, 97, 150], np.int32)
    at, slope, weight = rng.normal(size=(worlds, room)), rng.normal(size=(worlds, room)), rng.uniform(0.5, 2.0, (worlds, room))

    def cost(a, i):
        x = at[i, : rows[i]] + a * slope[i, : rows[i]]
        x, s, w = np.minimum(x, 0.0), slope[i, : rows[i]], weight[i, : rows[i]]
        first, second = (w * x * s).sum() + a - 1, (w * s * s * (x < 0)).sum() + 1
        return 0.5 * (w * x * x).sum() + 0.5 * (a - 1) ** 2, first, second

    want, want_turns, want_force = np.zeros(worlds), np.zeros(worlds, np.int32), np.zeros((worlds, room))
    for i in range(worlds):
        a = 0.0
        for _ in range(20):
            here = cost(a, i)
            if abs(here[1]) < 1e-9:
                break
            new = a - here[1] / here[2]
            a = new if cost(new, i)[0] <= cost(0.5 * (a + new), i)[0] else 0.5 * (a + new)
            want_turns[i] += 1
        want[i] = a
        x = at[i] + a * slope[i]
        want_force[i] = np.where((x < 0) & (np.arange(room) < rows[i]), -weight[i] * x * slope[i], 0.0)
    out = np.zeros(worlds), np.zeros(worlds, np.int32), np.zeros((worlds, room))
    *_, best, turns, force = launch(executor, search, worlds, rows, at, slope, weight, 20, *out)
    np.testing.assert_allclose(best, want, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(turns, want_turns)
    np.testing.assert_allclose(force, want_force, rtol=1e-8, atol=1e-8)


# ---- sweeps of projected Gauss-Seidel: forces in a shared tile, read and written by threads


@wp.kernel(enable_backward=False)
def sweep(
    rows: wp.array(dtype=int),
    a: wp.array3d(dtype=wp.float64),
    b: wp.array2d(dtype=wp.float64),
    sweeps: int,
    force: wp.array2d(dtype=wp.float64),
):
    world, lane = wp.tid()
    n = rows[world]
    f = wp.tile_load(force[world], shape=40, storage="shared")
    for _turn in range(sweeps):
        for j in range(n):
            own = wp.float64(0.0)
            for k in range(lane, n, wp.block_dim()):
                own += a[world, j, k] * f[k]
            total = wp.tile_sum(wp.tile(own))
            new = wp.max(wp.float64(0.0), f[j] - (total[0] + b[world, j]) / a[world, j, j])
            if lane == 0:
                f[j] = new
    wp.tile_store(force[world], f)


@wp.kernel(enable_backward=False)
def sweep_by_colour(
    rows: wp.array(dtype=int),
    colours: wp.array2d(dtype=int),
    a: wp.array3d(dtype=wp.float64),
    b: wp.array2d(dtype=wp.float64),
    sweeps: int,
    force: wp.array2d(dtype=wp.float64),
):
    """Rows of one colour don't meet, so threads take them side by side; only some have one."""
    world, lane = wp.tid()
    n = rows[world]
    f = wp.tile_load(force[world], shape=40, storage="shared")
    changes = wp.tile_zeros(shape=40, dtype=wp.float64, storage="shared")
    for _turn in range(sweeps):
        for colour in range(4):
            for j in range(lane, n, wp.block_dim()):
                active = colours[world, j] == colour
                if active:
                    total = b[world, j]
                    for k in range(n):
                        if a[world, j, k] != wp.float64(0.0):
                            total += a[world, j, k] * f[k]
                    changes[j] = wp.max(wp.float64(0.0), f[j] - total / a[world, j, j])
            for j in range(lane, 40, wp.block_dim()):
                wp.tile_scatter_masked(f, j, changes[j], j < n and colours[world, j] == colour)
    wp.tile_store(force[world], f)


def systems(rng, worlds: int, room: int, coupled: np.ndarray):
    a = rng.normal(size=(worlds, room, room))
    a = (a @ a.transpose(0, 2, 1) / room) * coupled
    a[:, range(room), range(room)] += 2.0
    return a, rng.normal(size=(worlds, room))


def gauss_seidel(executor: Executor) -> None:
    rng = np.random.default_rng(2)
    worlds, room = 4, 40
    rows = np.array([1, 7, 33, 40], np.int32)
    a, b = systems(rng, worlds, room, np.ones((worlds, room, room)))
    f = np.maximum(rng.normal(size=(worlds, room)), 0.0)
    want = f.copy()
    for i, n in enumerate(rows):
        for _ in range(3):
            for j in range(n):
                want[i, j] = max(0.0, want[i, j] - (a[i, j, :n] @ want[i, :n] + b[i, j]) / a[i, j, j])
    *_, got = launch(executor, sweep, worlds, rows, a, b, 3, f)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def gauss_seidel_by_colour(executor: Executor) -> None:
    rng = np.random.default_rng(3)
    worlds, room = 3, 40
    rows = np.array([5, 34, 40], np.int32)
    colours = rng.integers(0, 4, size=(worlds, room)).astype(np.int32)
    apart = colours[:, :, None] != colours[:, None, :]
    a, b = systems(rng, worlds, room, apart & (rng.uniform(size=(worlds, room, room)) < 0.5))
    a = 0.5 * (a + a.transpose(0, 2, 1))
    f = np.maximum(rng.normal(size=(worlds, room)), 0.0)
    want = f.copy()
    for i, n in enumerate(rows):
        for _ in range(2):
            for colour in range(4):
                for j in range(n):
                    if colours[i, j] == colour:
                        want[i, j] = max(0.0, want[i, j] - (a[i, j, :n] @ want[i, :n] + b[i, j]) / a[i, j, j])
    *_, got = launch(executor, sweep_by_colour, worlds, rows, colours, a, b, 2, f)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


# ---- compaction: what threads keep goes to the place that a scan or a stack tells


@wp.kernel(enable_backward=False)
def compact(x: wp.array2d(dtype=float), least: float, kept: wp.array2d(dtype=int), counts: wp.array(dtype=int)):
    world, lane = wp.tid()
    begin = int(0)
    n = x.shape[1]
    for base in range(0, n, wp.block_dim()):
        j = base + lane
        flag = int(0)
        if j < n:
            if x[world, j] > least:
                flag = 1
        flags = wp.tile(flag)
        place = wp.untile(wp.tile_scan_exclusive(flags))
        if flag == 1:
            kept[world, begin + place] = j
        begin += wp.tile_sum(flags)[0]
    if lane == 0:
        counts[world] = begin


@wp.struct
class Found:
    first: int
    second: int
    distance: float


@wp.func
def emptied(stack: wp.tile_stack(capacity=256, dtype=Found), out: wp.array(dtype=Found), done: int):
    """All that a stack has goes to an array, behind what is there."""
    count = wp.tile_stack_count(stack)
    while wp.tile_stack_count(stack) > 0:
        pair, slot = wp.tile_stack_pop(stack)
        if slot >= 0:
            out[done + slot] = pair
    return done + count


@wp.kernel(enable_backward=False)
def pairs(x: wp.array2d(dtype=float), far: float, out: wp.array2d(dtype=Found), counts: wp.array(dtype=int)):
    """Pairs that lie near, in the order in which they are found; a stack is emptied before it could be full."""
    world, lane = wp.tid()
    n = x.shape[1]
    stack = wp.tile_stack(capacity=256, dtype=Found)
    done = int(0)
    for first in range(n):
        for base in range(first + 1, n, wp.block_dim()):
            second = base + lane
            one = Found()
            near = bool(False)
            if second < n:
                one.first = first
                one.second = second
                one.distance = wp.abs(x[world, first] - x[world, second])
                near = one.distance < far
            if wp.tile_stack_count(stack) + wp.block_dim() > 128:
                done = emptied(stack, out[world], done)
            wp.tile_stack_push(stack, one, near)
    done = emptied(stack, out[world], done)
    if lane == 0:
        counts[world] = done


def compaction(executor: Executor) -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(3, 100)).astype(np.float32)
    _, kept, counts = launch(executor, compact, 3, x, 0.3, np.full((3, 100), -1, np.int32), np.zeros(3, np.int32))
    for i in range(3):
        want = np.flatnonzero(x[i] > np.float32(0.3))
        assert counts[i] == len(want)
        np.testing.assert_array_equal(kept[i], [*want, *(-1 for _ in range(100 - len(want)))])


def stacks_of_pairs(executor: Executor) -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(2, 60)).astype(np.float32)
    out = np.zeros((2, 1024), dtype=Found.numpy_dtype())
    _, found, counts = launch(executor, pairs, 2, x, 0.3, (out, Found), np.zeros(2, np.int32))
    for i in range(2):
        want = [(a, b) for a in range(60) for b in range(a + 1, 60) if abs(x[i, a] - x[i, b]) < np.float32(0.3)]
        assert counts[i] == len(want)
        assert [(int(p["first"]), int(p["second"])) for p in found[i, : len(want)]] == want
        distances = [abs(x[i, a] - x[i, b]) for a, b in want]
        np.testing.assert_array_equal(found[i, : len(want)]["distance"], distances)


# ---- Jacobians of contacts: maps over 32 spatial vectors, with numbers and vectors that are the same for all


@wp.func
def velocity_at(motion: wp.spatial_vector, offset: wp.vec3):
    turning, moving = wp.spatial_top(motion), wp.spatial_bottom(motion)
    return moving + wp.cross(turning, offset)


@wp.func
def along(v: wp.vec3, direction: wp.vec3, sign: float):
    return sign * wp.dot(v, direction)


@wp.func
def acts(column: float, ancestor: bool, weight: float):
    return wp.where(ancestor, weight * column, 0.0)


@wp.func
def is_ancestor(body: int, of: int):
    return (of >> body) & 1 == 1


@wp.kernel(enable_backward=False)
def contact_rows(
    motions: wp.array2d(dtype=wp.spatial_vector),
    bodies: wp.array(dtype=int),
    chains: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec3),
    frames: wp.array(dtype=wp.mat33),
    rows: wp.array3d(dtype=float),
    diagonal: wp.array2d(dtype=float),
):
    contact = wp.tid()
    world = contact % motions.shape[0]
    motion = wp.tile_load(motions[world], shape=32)
    mine = wp.tile_map(is_ancestor, wp.tile_load(bodies, shape=32), chains[contact])
    v = wp.tile_map(velocity_at, motion, points[contact])
    frame = frames[contact]
    for axis in range(3):
        row = wp.tile_map(acts, wp.tile_map(along, v, frame[axis], wp.where(axis == 0, 1.0, -1.0)), mine, 0.5)
        wp.tile_store(rows[contact, axis], row)
        diagonal[contact, axis] = wp.tile_dot(row, row)[0]


def contact_jacobians(executor: Executor) -> None:
    rng = np.random.default_rng(10)
    motions, points = rng.normal(size=(2, 32, 6)).astype(np.float32), rng.normal(size=(5, 3)).astype(np.float32)
    bodies, chains = rng.integers(0, 8, 32).astype(np.int32), rng.integers(0, 256, 5).astype(np.int32)
    frames = np.linalg.qr(rng.normal(size=(5, 3, 3)))[0].astype(np.float32)
    rows, diagonal = np.zeros((5, 3, 32), np.float32), np.zeros((5, 3), np.float32)
    given = (motions, wp.spatial_vector), bodies, chains, (points, wp.vec3), (frames, wp.mat33)
    *_, rows, diagonal = launch(executor, contact_rows, 5, *given, rows, diagonal)
    for c in range(5):
        m = motions[c % 2]
        v = m[:, 3:] + np.cross(m[:, :3], points[c])
        want = 0.5 * (v @ frames[c].T).T * np.array([1, -1, -1])[:, None] * ((chains[c] >> bodies) & 1)
        np.testing.assert_allclose(rows[c], want, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(diagonal[c], (want**2).sum(1), rtol=1e-4, atol=1e-5)


# ---- snippets: barriers between what threads write to arrays and others read, sums by shuffles


@wp.func_native("WP_TILE_SYNC();")
def wait(): ...


@wp.func_native("return __shfl_xor_sync(0xffffffffu, x, 16);")
def other_half(x: float) -> float: ...


@wp.func_native("return __shfl_xor_sync(0xffffffffu, x, 1);")
def neighbour(x: float) -> float: ...


@wp.kernel(enable_backward=False)
def levels(parents: wp.array(dtype=int), depth: wp.array(dtype=int), most: int, x: wp.array2d(dtype=wp.float64)):
    """A tree's nodes take what their parents have, level by level."""
    world, lane = wp.tid()
    for level in range(1, most + 1):
        wait()
        for j in range(lane, parents.shape[0], wp.block_dim()):
            if depth[j] == level:
                x[world, j] += wp.float64(0.5) * x[world, parents[j]]


@wp.kernel(enable_backward=False)
def halves(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    world, lane = wp.tid()
    own = x[world, lane]
    y[world, lane] = own - 2.0 * other_half(own) + 4.0 * neighbour(own) + wp.tile_sum(wp.tile(own))[0]


def barriers_in_snippets(executor: Executor) -> None:
    rng = np.random.default_rng(11)
    n = 70
    parents = np.array([0] + [int(rng.integers(j)) for j in range(1, n)], np.int32)
    depth = np.zeros(n, np.int32)
    for j in range(1, n):
        depth[j] = depth[parents[j]] + 1
    x = rng.normal(size=(3, n))
    want = x.copy()
    for j in np.argsort(depth, kind="stable")[1:]:
        want[:, j] += 0.5 * want[:, parents[j]]
    *_, got = launch(executor, levels, 3, parents, depth, int(depth.max()), x)
    np.testing.assert_allclose(got, want, rtol=1e-12)


def shuffles_in_snippets(executor: Executor) -> None:
    block = executor[1]
    if block % 32 and executor != ("cpu", 1):
        return  # some threads have no partner
    x = np.random.default_rng(12).integers(-9, 9, size=(3, block)).astype(np.float32)
    _, got = launch(executor, halves, 3, x, np.zeros_like(x))
    at = np.arange(block)
    half, beside = (x[:, at ^ 16], x[:, at ^ 1]) if block > 1 else (x, x)
    np.testing.assert_array_equal(got, x - 2 * half + 4 * beside + x.sum(1, keepdims=True))


CASES: dict[str, Callable[[Executor], None]] = {
    case.__name__: case
    for case in (
        line_search, gauss_seidel, gauss_seidel_by_colour, compaction, stacks_of_pairs, contact_jacobians, barriers_in_snippets,
        shuffles_in_snippets, *tile_client_algebra.CASES,
    )
}  # fmt: skip


def check(name: str, executors: list[Executor]) -> None:
    for executor in executors:
        try:
            CASES[name](executor)
        except Exception as error:
            raise AssertionError(f"{name} on {executor}: {error}") from error
