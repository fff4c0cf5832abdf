"""Scattered additions give the same sums whichever way they take: on one worker, to copies, by atomic operations, or written down and
added by destination. The values are small integers, whose sums are exact in any order."""

import numpy as np
import pytest
import warp as wp
from warp import _weft  # the way is forced: times would choose another one on another machine

THREADS, PLACES = 120_000, 9_973
WAYS = {"alone": 0, "copies": 1, "atomics": 2, "buckets": 3}


@pytest.fixture(params=list(WAYS))
def way(request):
    _weft.force_sum_way(WAYS[request.param])
    before = wp.config.cpu_threads
    wp.config.cpu_threads = 2
    launches = _weft.bucket_launches()
    yield request.param
    wrote_down = _weft.bucket_launches() > launches
    assert wrote_down == (request.param == "buckets" and "deterministic" not in request.node.name and wp.get_device().is_cpu)
    wp.config.cpu_threads = before
    _weft.force_sum_way(-1)


@pytest.fixture(params=[0, 1, 4, 8, 16])
def lanes(request):
    before = wp.config.cpu_lanes
    wp.config.cpu_lanes = request.param
    yield request.param
    wp.config.cpu_lanes = before


@wp.kernel
def scatter(at: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float), count: wp.array(dtype=wp.int64)):
    i = wp.tid()
    wp.atomic_add(out, at[i], x[i])
    wp.atomic_add(count, at[i], wp.int64(i))


@wp.kernel
def scatter_vectors(at: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=wp.vec3), all: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, at[i], wp.vec3(x[i], 2.0 * x[i], 1.0))
    if x[i] > 2.0:
        out[at[i]][1] += 1.0
    for k in range(at[i] % 3):
        wp.atomic_sub(out, (at[i] + k) % out.shape[0], wp.vec3(1.0, 0.0, 0.0))
    wp.atomic_add(all, 0, 1.0)


@wp.kernel
def scatter_grid(at: wp.array2d(dtype=int), out: wp.array2d(dtype=wp.vec2d), turns: wp.array(dtype=wp.mat33)):
    i, j = wp.tid()
    wp.atomic_add(out, at[i, j] % out.shape[0], at[i, j] // out.shape[0], wp.vec2d(1.0, wp.float64(j)))
    wp.atomic_add(turns, at[i, j] % turns.shape[0], wp.identity(n=3, dtype=float))


@wp.kernel
def scatter_often(at: wp.array(dtype=int), out: wp.array(dtype=wp.vec3), sums: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    for k in range(wp.static(10)):  # more than what is written out lane by lane
        wp.atomic_add(out, (at[i] + k * 7) % out.shape[0], wp.vec3(1.0, float(k), 2.0))
    wp.atomic_add(sums, at[i] % sums.shape[0], wp.vec4(1.0, 2.0, 3.0, 4.0))


@wp.kernel
def read(at: wp.array(dtype=int), x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    v = x[at[i]]
    out[i] = v[0] + 2.0 * v[1] + x[at[i]][2]


def data():
    random = np.random.default_rng(7)
    return random.integers(0, PLACES, THREADS).astype(np.int32), random.integers(0, 4, THREADS).astype(np.float32)


def test_numbers(way, lanes):
    at, x = data()
    out, count = wp.zeros(PLACES, dtype=float), wp.zeros(PLACES, dtype=wp.int64)
    for _ in range(2):
        wp.launch(scatter, dim=THREADS, inputs=[wp.array(at), wp.array(x), out, count])
    np.testing.assert_array_equal(out.numpy(), 2 * np.bincount(at, x, PLACES).astype(np.float32))
    want = np.zeros(PLACES, np.int64)
    np.add.at(want, at, np.arange(THREADS))
    np.testing.assert_array_equal(count.numpy(), 2 * want)


def test_vectors_components_loops_and_one_place(way, lanes):
    at, x = data()
    out, all = wp.zeros(PLACES, dtype=wp.vec3), wp.zeros(1, dtype=float)
    wp.launch(scatter_vectors, dim=THREADS, inputs=[wp.array(at), wp.array(x), out, all])
    want = np.zeros((PLACES, 3))
    np.add.at(want, at, np.stack([x, 2 * x, np.ones_like(x)], axis=1))
    np.add.at(want[:, 1], at[x > 2], 1.0)
    for k in range(2):
        np.add.at(want[:, 0], (at[at % 3 > k] + k) % PLACES, -1.0)
    np.testing.assert_array_equal(out.numpy(), want.astype(np.float32))
    assert all.numpy()[0] == THREADS


def test_doubles_and_matrices_over_two_dimensions(way, lanes):
    random = np.random.default_rng(3)
    at = random.integers(0, 100 * 100, (301, 399)).astype(np.int32)
    out, turns = wp.zeros((100, 100), dtype=wp.vec2d), wp.zeros(97, dtype=wp.mat33)
    wp.launch(scatter_grid, dim=at.shape, inputs=[wp.array(at), out, turns])
    want = np.zeros((100, 100, 2))
    np.add.at(want, (at % 100, at // 100), np.stack(np.broadcast_arrays(1.0, np.arange(399.0)[None, :]), -1) * np.ones((301, 1, 1)))
    np.testing.assert_array_equal(out.numpy(), want)
    np.testing.assert_array_equal(turns.numpy(), np.bincount(at.ravel() % 97, minlength=97)[:, None, None] * np.eye(3, dtype=np.float32))


def test_many_additions(way, lanes):
    at, _ = data()
    out, sums = wp.zeros(PLACES, dtype=wp.vec3), wp.zeros(5003, dtype=wp.vec4)
    wp.launch(scatter_often, dim=THREADS, inputs=[wp.array(at), out, sums])
    want = np.zeros((PLACES, 3))
    for k in range(10):
        np.add.at(want, (at + 7 * k) % PLACES, [1.0, k, 2.0])
    np.testing.assert_array_equal(out.numpy(), want.astype(np.float32))
    np.testing.assert_array_equal(sums.numpy(), np.bincount(at % 5003, minlength=5003)[:, None] * np.float32([1, 2, 3, 4]))


def test_gradients_of_reads(way, lanes):
    at, x = data()
    reads = wp.zeros(PLACES, dtype=wp.vec3, requires_grad=True)
    out = wp.zeros(THREADS, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(read, dim=THREADS, inputs=[wp.array(at), reads, out])
    tape.backward(grads={out: wp.array(x)})
    sums = np.bincount(at, x, PLACES)
    np.testing.assert_array_equal(reads.grad.numpy(), (sums[:, None] * [1, 2, 1]).astype(np.float32))


def test_places_in_order_and_then_in_another(way, lanes):
    """Launches learn where each worker adds, and that it has changed."""
    at, x = data()
    near = np.clip(np.arange(THREADS) * PLACES // THREADS + at % 17 - 8, 0, PLACES - 1).astype(np.int32)
    owned = _weft.launches_that_own()
    out, count = wp.zeros(PLACES, dtype=float), wp.zeros(PLACES, dtype=wp.int64)
    vectors, all = wp.zeros(PLACES, dtype=wp.vec3), wp.zeros(1, dtype=float)
    sums, numbers, want = np.zeros(PLACES), np.zeros(PLACES, np.int64), np.zeros((PLACES, 3))
    for places in (near, near, near, PLACES - 1 - near, PLACES - 1 - near, at, at, near):
        wp.launch(scatter, dim=THREADS, inputs=[wp.array(places), wp.array(x), out, count])
        wp.launch(scatter_vectors, dim=THREADS, inputs=[wp.array(places), wp.array(x), vectors, all])
        np.add.at(sums, places, x)
        np.add.at(numbers, places, np.arange(THREADS))
        np.add.at(want, places, np.stack([x, 2 * x, np.ones_like(x)], axis=1))
        np.add.at(want[:, 1], places[x > 2], 1.0)
        for k in range(2):
            np.add.at(want[:, 0], (places[places % 3 > k] + k) % PLACES, -1.0)
    np.testing.assert_array_equal(out.numpy(), sums.astype(np.float32))
    np.testing.assert_array_equal(count.numpy(), numbers)
    np.testing.assert_array_equal(vectors.numpy(), want.astype(np.float32))
    assert (_weft.launches_that_own() > owned) == (way == "buckets" and wp.get_device().is_cpu)


def test_deterministic_kernels_keep_their_order(way):
    at, _ = data()
    x = np.random.default_rng(1).random(THREADS, dtype=np.float32)
    before = wp.config.deterministic
    wp.config.deterministic = True
    try:

        @wp.kernel(module="unique")
        def ordered(at: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float)):
            i = wp.tid()
            wp.atomic_add(out, at[i], x[i])

        results = []
        for _ in range(3):
            out = wp.zeros(PLACES, dtype=float)
            wp.launch(ordered, dim=THREADS, inputs=[wp.array(at), wp.array(x), out])
            results.append(out.numpy().tobytes())
    finally:
        wp.config.deterministic = before
    assert len(set(results)) == 1
