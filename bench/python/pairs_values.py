"""Kernels over values, with atomics, random numbers and private arrays, for nvcc_pairs.py; the same in values.cu."""

from __future__ import annotations

import gpu
import numpy as np
import warp as wp
from pair import Pair, Pairs, floats, random


@wp.kernel
def orbit(x: wp.array(dtype=wp.vec2d), v: wp.array(dtype=wp.vec2d), dt: wp.float64, steps: int):
    i = wp.tid()
    p, u = x[i], v[i]
    for _step in range(steps):
        r = wp.length(p)
        u = u - p * (dt / (r * r * r))
        p = p + u * dt
    x[i] = p
    v[i] = u


@wp.kernel
def histogram(x: wp.array(dtype=float), bins: int, counts: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(counts, wp.min(int(x[i] * float(bins)), bins - 1), 1)


@wp.kernel
def extremes(x: wp.array(dtype=int), least: wp.array(dtype=int), most: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_min(least, 0, x[i])
    wp.atomic_max(most, 0, x[i])


@wp.kernel
def highest(cell: wp.array(dtype=int), height: wp.array(dtype=float), top: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_max(top, cell[i], height[i])


@wp.kernel
def append(x: wp.array(dtype=float), limit: float, count: wp.array(dtype=int), found: wp.array(dtype=int)):
    i = wp.tid()
    if x[i] < limit:
        found[wp.atomic_add(count, 0, 1)] = i


@wp.kernel
def in_circle(seed: int, draws: int, out: wp.array(dtype=int)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    inside = int(0)
    for _draw in range(draws):
        x = wp.randf(state)
        y = wp.randf(state)
        if x * x + y * y < 1.0:
            inside += 1
    out[i] = inside


@wp.kernel
def least_eight(x: wp.array2d(dtype=float), n: int, out: wp.array2d(dtype=float)):
    i = wp.tid()
    best = wp.zeros(shape=8, dtype=float)
    for k in range(8):
        best[k] = 1.0e30
    for j in range(n):
        d = x[j, i]
        if d < best[7]:
            k = int(7)
            while k > 0 and best[k - 1] > d:
                best[k] = best[k - 1]
                k -= 1
            best[k] = d
    for k in range(8):
        out[k, i] = best[k]


@wp.kernel
def in_boxes(lower: wp.array(dtype=wp.vec3), upper: wp.array(dtype=wp.vec3), leaves: int, p: wp.array(dtype=wp.vec3),
             out: wp.array(dtype=int)):
    i = wp.tid()
    at = p[i]
    stack = wp.zeros(shape=32, dtype=int)
    depth = int(1)
    stack[0] = 1
    found = int(0)
    while depth > 0:
        depth -= 1
        node = stack[depth]
        a, b = lower[node], upper[node]
        if at[0] < a[0] or at[1] < a[1] or at[2] < a[2] or at[0] > b[0] or at[1] > b[1] or at[2] > b[2]:
            continue
        if node >= leaves:
            found += 1
            continue
        stack[depth] = 2 * node
        stack[depth + 1] = 2 * node + 1
        depth += 2
    out[i] = found


@wp.kernel
def through_indices(x: wp.indexedarray(dtype=float), s: float, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * s + 1.0


@wp.kernel
def first_above(x: wp.array2d(dtype=float), limit: float, out: wp.array(dtype=int)):
    i = wp.tid()
    for k in range(x.shape[0]):
        if x[k, i] > limit:
            out[i] = k
            return
    out[i] = -1


@wp.kernel
def places(sorted: wp.array(dtype=float), n: int, x: wp.array(dtype=float), out: wp.array(dtype=int)):
    i = wp.tid()
    v = x[i]
    low, high = int(0), int(n)
    while low < high:
        middle = (low + high) / 2
        if sorted[middle] < v:
            low = middle + 1
        else:
            high = middle
    out[i] = low


def pairs() -> Pairs:
    """By name; arrays are made when a pair's turn comes."""

    def saxpy() -> Pair:
        n = 1 << 26
        x, y = floats(n), wp.zeros(n)
        return Pair(gpu.saxpy, n, [1.0, x], [y], "values", "saxpy", [1.0, x, y])

    def matrices() -> Pair:
        n = 1 << 22
        a, b = floats(n, -1, 1, 16, wp.mat44), floats(n, -1, 1, 16, wp.mat44)
        c = wp.zeros(n, dtype=wp.mat44)
        return Pair(gpu.matrix_product, n, [a, b], [c], "values", "matrix_product", [a, b, c])

    fast_options = wp.Kernel(gpu.black_scholes.func, key="black_scholes_fast", options={"fast_math": True})

    def options(kernel: wp.Kernel = gpu.black_scholes, fast: bool = False) -> Pair:
        n = 1 << 25
        given = [floats(n, 5, 30), floats(n, 1, 100), floats(n, 0.25, 10)]
        out = [wp.zeros(n), wp.zeros(n)]
        near = 1e-2 if fast else 1e-4
        return Pair(kernel, n, given, out, "values", "black_scholes", [*given, *out], fast, tolerance=near)

    def total() -> Pair:
        n = 1 << 26
        x, out = floats(n), wp.zeros(1)
        blocks = wp.get_device().sm_count * 8
        return Pair(gpu.total, n, [x], [out], "values", "total", [x, out], blocks=blocks, tolerance=1e-3)

    def doubles() -> Pair:
        n = 1 << 20
        x = wp.array(random.uniform(0.5, 1.5, (n, 2)), dtype=wp.vec2d)
        v = wp.zeros(n, dtype=wp.vec2d)
        rest = [v, wp.float64(0.0), 64]  # with steps of no time, so that all launches do the same
        return Pair(orbit, n, [x], rest, "values", "orbit", [x, *rest])

    def counts() -> Pair:
        n, bins = 1 << 24, 4096
        x, out = floats(n), wp.zeros(bins, dtype=int)
        return Pair(histogram, n, [x, bins], [out], "values", "histogram", [x, bins, out])

    def bounds() -> Pair:
        n = 1 << 24
        x = wp.array(random.integers(-(10**9), 10**9, n).astype(np.int32))
        out = [wp.zeros(1, dtype=int), wp.zeros(1, dtype=int)]
        return Pair(extremes, n, [x], out, "values", "extremes", [x, *out])

    def heights() -> Pair:
        n, cells = 1 << 24, 1 << 16
        cell, height = wp.array(random.integers(0, cells, n).astype(np.int32)), floats(n)
        top = wp.zeros(cells)
        return Pair(highest, n, [cell, height], [top], "values", "highest", [cell, height, top])

    def chosen() -> Pair:
        n = 1 << 20
        x, count, found = floats(n), wp.zeros(1, dtype=int), wp.zeros(20 * n, dtype=int)  # room for all rounds
        out = [count, found]
        return Pair(append, n, [x, 0.1], out, "values", "append", [x, 0.1, *out], unordered=True)

    def circle() -> Pair:
        n = 1 << 20
        out = wp.zeros(n, dtype=int)
        return Pair(in_circle, n, [42, 256], [out], "values", "in_circle", [42, 256, out])

    def eight() -> Pair:
        n, rows = 1 << 18, 128
        x, out = wp.array(random.random((rows, n), np.float32)), wp.zeros((8, n))
        return Pair(least_eight, n, [x, rows], [out], "values", "least_eight", [x, rows, out])

    def tree() -> Pair:
        leaves, n = 1 << 14, 1 << 20
        side = 1.2 / leaves ** (1 / 3)
        lower = np.zeros((2 * leaves, 3), np.float32)
        lower[leaves:] = random.random((leaves, 3))
        # Sorted along three axes in turn, as a builder of trees does.
        def sort(first: int, count: int, axis: int) -> None:
            part = lower[leaves + first : leaves + first + count]
            part[:] = part[np.argsort(part[:, axis])]
            if count > 1:
                sort(first, count // 2, (axis + 1) % 3)
                sort(first + count // 2, count // 2, (axis + 1) % 3)

        sort(0, leaves, 0)
        upper = lower + np.float32(side)
        for node in range(leaves - 1, 0, -1):
            lower[node] = np.minimum(lower[2 * node], lower[2 * node + 1])
            upper[node] = np.maximum(upper[2 * node], upper[2 * node + 1])
        at = random.random((n, 3), np.float32)
        cell = (at * 32).astype(np.int64)
        at = at[np.argsort((cell[:, 0] * 32 + cell[:, 1]) * 32 + cell[:, 2], kind="stable")]
        a, b, p = (wp.array(t, dtype=wp.vec3) for t in (lower, upper, at))
        out = wp.zeros(n, dtype=int)
        return Pair(in_boxes, n, [a, b, leaves, p], [out], "values", "in_boxes", [a, b, leaves, p, out])

    def indexed() -> Pair:
        n = 1 << 24
        x, indices = floats(2 * n), wp.array((2 * np.arange(n)).astype(np.int32))
        out = wp.zeros(n)
        seen = wp.indexedarray1d(x, [indices])
        return Pair(through_indices, n, [seen, 2.0], [out], "values", "through_indices", [x, indices, 2.0, out])

    def search() -> Pair:
        n, rows = 1 << 20, 64
        x, out = wp.array(random.random((rows, n), np.float32)), wp.zeros(n, dtype=int)
        return Pair(first_above, n, [x, 0.9], [out], "values", "first_above", [x, rows, 0.9, out])

    def halving() -> Pair:
        n, size = 1 << 24, 1 << 16
        table, x = wp.array(np.sort(random.random(size)).astype(np.float32)), floats(n)
        out = wp.zeros(n, dtype=int)
        return Pair(places, n, [table, size, x], [out], "values", "places", [table, size, x, out])

    return {
        "saxpy": saxpy,
        "mat44 * mat44": matrices,
        "Black-Scholes": options,
        "Black-Scholes, fast math": lambda: options(fast_options, True),
        "sum": total,
        "orbits, float64": doubles,
        "histogram": counts,
        "minimum and maximum": bounds,
        "maximum of cells, float": heights,
        "append to a list": chosen,
        "random numbers": circle,
        "least eight, own array": eight,
        "tree with a stack": tree,
        "indexed array": indexed,
        "first above, early return": search,
        "binary search": halving,
    }
