"""Tiles and the threads of a block: values of threads, elements that threads change, stacks, partial blocks, and threads that
part. On the CPU a block is one thread, or as many as on GPUs with wp.config.enable_cpu_blocks."""

import os
from typing import Any

import numpy as np
import pytest

import warp as wp

BLOCK = int(os.environ.get("WEFT_TILE_BLOCK", "32"))
rng = np.random.default_rng(5)


@pytest.fixture(autouse=True, params=["one thread", "blocks"])
def cpu_blocks(request):
    """Once with blocks of one thread on the CPU, once of several."""
    several = request.param == "blocks"
    if several and not wp.get_device().is_cpu:
        pytest.skip("a GPU has blocks of several threads anyhow")
    wp.config.enable_cpu_blocks = several
    yield
    wp.config.enable_cpu_blocks = False


def threads() -> int:
    return BLOCK if wp.config.enable_cpu_blocks or not wp.get_device().is_cpu else 1


def run(kernel, *arguments, dim=1):
    wp.launch_tiled(kernel, dim=dim, inputs=list(arguments), block_dim=BLOCK)


def test_values_of_threads():
    @wp.kernel
    def k(x: wp.array2d(dtype=wp.vec3), y: wp.array(dtype=float), z: wp.array2d(dtype=wp.vec3)):
        i, lane = wp.tid()
        t = wp.tile(x[i, lane])
        s = wp.tile_sum(t)
        if lane == 0:
            y[i] = s[0]
        whole = wp.tile_sum(wp.tile(x[i, lane], preserve_type=True))
        z[i, lane] = wp.untile(t) * 2.0 + 0.0 * whole[0]

    n = threads()
    x = rng.normal(size=(3, n, 3)).astype(np.float32)
    y, z = wp.zeros(3, dtype=float), wp.zeros((3, n), dtype=wp.vec3)
    run(k, wp.array(x, dtype=wp.vec3), y, z, dim=3)
    np.testing.assert_allclose(y.numpy(), x.sum(axis=(1, 2)), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(z.numpy(), 2 * x)


def test_scans_and_extremes_over_threads():
    @wp.kernel
    def k(x: wp.array(dtype=int), up: wp.array(dtype=int), out: wp.array(dtype=int), best: wp.array(dtype=int)):
        i, lane = wp.tid()
        t = wp.tile(x[lane])
        up[lane] = wp.untile(wp.tile_scan_inclusive(t))
        out[lane] = wp.untile(wp.tile_scan_exclusive(t))
        least = wp.tile_argmin(t)
        most = wp.tile_max(t)
        if lane == 0:
            best[0] = least[0]
            best[1] = most[0]

    n = threads()
    x = rng.integers(-9, 9, size=n).astype(np.int32)
    up, out, best = (wp.zeros(max(n, 2), dtype=int) for _ in range(3))
    run(k, wp.array(x), up, out, best)
    np.testing.assert_array_equal(up.numpy()[:n], np.cumsum(x))
    np.testing.assert_array_equal(out.numpy()[:n], np.cumsum(x) - x)
    assert best.numpy()[:2].tolist() == [int(np.argmin(x)), int(x.max())]


def test_elements_by_thread():
    @wp.kernel
    def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i, lane = wp.tid()
        n = wp.block_dim()
        t = wp.tile_zeros(shape=BLOCK, dtype=float)
        t[lane] = x[lane]
        y[lane] = t[n - 1 - lane]
        t[0] += 1.0  # by every thread
        u = wp.tile_zeros(shape=2, dtype=int)
        wp.tile_scatter_add(u, lane % 2, lane, True)
        wp.tile_scatter_masked(t, 1, 7.0, lane == n - 1)
        if lane == 0:
            y[n] = t[0]
            y[n + 1] = float(u[0] + u[1])
            y[n + 2] = t[1]

    n = threads()
    x = rng.normal(size=n).astype(np.float32)
    y = wp.zeros(n + 3, dtype=float)
    run(k, wp.array(x), y)
    np.testing.assert_array_equal(y.numpy()[:n], x[::-1])
    np.testing.assert_allclose(y.numpy()[n:], [x[0] + n, n * (n - 1) / 2, 7.0], rtol=1e-6)


def test_stacks():
    @wp.kernel
    def k(y: wp.array(dtype=int), counts: wp.array(dtype=int)):
        i, lane = wp.tid()
        s = wp.tile_stack(capacity=48, dtype=int)
        slot = wp.tile_stack_push(s, 10 * lane, lane % 2 == 0)
        full = wp.tile_stack_count(s)
        wp.tile_stack_push(s, 1000 + lane, True)
        all = wp.tile_stack_count(s)
        value, place = wp.tile_stack_pop(s)
        y[3 * lane] = slot
        y[3 * lane + 1] = value
        y[3 * lane + 2] = place
        if lane == 0:
            counts[0] = full
            counts[1] = all
            counts[2] = wp.tile_stack_count(s)

    n = threads()
    y, counts = wp.zeros(3 * n, dtype=int), wp.zeros(3, dtype=int)
    run(k, y, counts)
    stack = [10 * t for t in range(n) if t % 2 == 0]
    first = min(len(stack), 48)
    stack += [1000 + t for t in range(n)]
    stack = stack[:48]
    got = y.numpy().reshape(n, 3)
    assert got[:, 0].tolist() == [t // 2 if t % 2 == 0 and t // 2 < 48 else -1 for t in range(n)]
    want = [(stack[len(stack) - 1 - t], len(stack) - 1 - t) if t < len(stack) else (0, -1) for t in range(n)]
    assert [tuple(row) for row in got[:, 1:].tolist()] == want
    assert counts.numpy().tolist() == [first, len(stack), max(len(stack) - n, 0)]


def test_what_one_thread_has():
    @wp.kernel
    def k(y: wp.array(dtype=float)):
        i, lane = wp.tid()
        t = wp.tile_from_thread(shape=4, value=float(lane) + 0.5, thread_idx=wp.block_dim() - 1)
        wp.tile_store(y, t)

    y = wp.zeros(4, dtype=float)
    run(k, y)
    assert y.numpy().tolist() == 4 * [threads() - 0.5]


@pytest.mark.parametrize("count", [1, 5, 40, 96, 100])
def test_plain_launches_with_blocks_that_are_not_full(count):
    @wp.kernel
    def k(x: wp.array(dtype=float), y: wp.array(dtype=float), total: wp.array(dtype=float)):
        i = wp.tid()
        s = wp.tile_sum(wp.tile(x[i]))
        t = wp.tile_arange(50, dtype=float)
        u = wp.tile_sum(t * 2.0)
        y[i] = s[0] + u[0]
        wp.atomic_add(total, 0, x[i])

    x = rng.integers(0, 9, size=count).astype(np.float32)
    y, total = wp.zeros(count, dtype=float), wp.zeros(1, dtype=float)
    wp.launch(k, dim=count, inputs=[wp.array(x), y, total], block_dim=BLOCK)
    n = threads()
    want = [x[start : start + n].sum() + 2450 for start in range(0, count, n) for _ in x[start : start + n]]
    assert y.numpy().tolist() == want and total.numpy()[0] == x.sum()


def test_loops_and_branches_that_all_threads_take():
    @wp.kernel
    def k(n: wp.array(dtype=int), y: wp.array2d(dtype=float)):
        i, lane = wp.tid()
        t = wp.tile_zeros(shape=20, dtype=float)
        while wp.tile_sum(t)[0] < float(n[i]):
            t += wp.tile_ones(shape=20, dtype=float)
            if n[i] > 100:
                u = wp.tile_map(wp.mul, t, t)
                t = u
        wp.tile_store(y[i], t)

    y = wp.zeros((3, 20), dtype=float)
    run(k, wp.array([30, 61, 500], dtype=int), y, dim=3)
    want = []
    for n in (30, 61, 500):
        t = np.zeros(20)
        while t.sum() < n:
            t += 1
            if n > 100:
                t = t * t
        want.append(t.tolist())
    assert y.numpy().tolist() == want


def test_many_blocks_by_few():
    @wp.kernel
    def k(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
        i, lane = wp.tid()
        s = wp.tile_sum(wp.tile_load(x[i], shape=70))
        if lane == 0:
            y[i] = s[0]

    x = rng.integers(0, 9, size=(50, 70)).astype(np.float32)
    y = wp.zeros(50, dtype=float)
    wp.launch_tiled(k, dim=50, inputs=[wp.array(x), y], block_dim=BLOCK, max_blocks=3)
    np.testing.assert_array_equal(y.numpy(), x.sum(axis=1))


def test_much_memory():
    @wp.kernel
    def k(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
        i, lane = wp.tid()
        a = wp.tile_load(x, shape=(100, 160), storage="shared")
        b = wp.tile_transpose(a)
        wp.tile_store(y, wp.tile_map(wp.add, b, b))

    x = rng.normal(size=(100, 160)).astype(np.float32)
    y = wp.zeros((160, 100), dtype=float)
    run(k, wp.array(x), y)
    np.testing.assert_array_equal(y.numpy(), 2 * x.T)


def test_gradients_of_tiles_that_branches_assign():
    @wp.kernel
    def k(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
        t = wp.tile_load(x, shape=2)
        if n > 0:
            t = t * 2.0
        wp.tile_store(y, t)

    for n, factor in ((1, 2.0), (0, 1.0)):
        x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
        y = wp.zeros(2, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            run(k, x, n, y)
        tape.backward(grads={y: wp.array([1.0, 10.0], dtype=float)})
        assert x.grad.numpy().tolist() == [factor, 10.0 * factor]


def test_gradients_of_values_of_threads():
    @wp.kernel
    def k(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array(dtype=float)):
        i, lane = wp.tid()
        a = x[lane]
        s = wp.tile_sum(wp.tile(a * a))
        scale = s[0] * w[0]
        y[lane] = wp.untile(wp.tile(a) * scale)

    n = threads()
    values = rng.normal(size=n).astype(np.float32)
    x, w = wp.array(values, requires_grad=True), wp.array([0.5], dtype=float, requires_grad=True)
    y = wp.zeros(n, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        run(k, x, w, y)
    seed = rng.normal(size=n).astype(np.float32)
    tape.backward(grads={y: wp.array(seed)})
    s = (values.astype(np.float64) ** 2).sum()
    dot = (seed * values).sum(dtype=np.float64)
    np.testing.assert_allclose(y.numpy(), values * s * 0.5, rtol=1e-5)
    np.testing.assert_allclose(w.grad.numpy(), [s * dot], rtol=1e-4)
    np.testing.assert_allclose(x.grad.numpy(), seed * s * 0.5 + dot * values, rtol=1e-4, atol=1e-4)


def test_threads_that_part():
    @wp.kernel
    def k(y: wp.array(dtype=float)):
        i, lane = wp.tid()
        t = wp.tile_ones(shape=40, dtype=float)
        if lane < 3:
            wp.tile_store(y, t * 2.0)

    y = wp.zeros(40, dtype=float)
    if threads() == 1:
        run(k, y)
        assert y.numpy().tolist() == 40 * [2.0]
        return
    with pytest.raises(Exception, match="threads of a block work on tiles together"):
        run(k, y)


def test_gradients_of_functions_of_tiles_are_a_blocks():
    @wp.func
    def total(x: float):
        return wp.tile_sum(wp.tile_full(shape=8, value=x))[0]

    @wp.kernel
    def k(y: wp.array(dtype=float)):
        i, lane = wp.tid()
        y[0] = wp.grad(total)(2.0)

    y = wp.zeros(1, dtype=float)
    if threads() == 1:
        run(k, y)
        assert y.numpy()[0] == 8.0
        return
    with pytest.raises(Exception, match="that of a whole block"):
        run(k, y)


def small_systems(n: int, real) -> np.ndarray:
    """Matrices for which a warp's short way of dividing serves, and such for which it doesn't."""
    r = rng.normal(size=(n, n))
    plain = r @ r.T / n + np.eye(n)
    tiny, huge = (1e-33, 1e33) if real is np.float32 else (1e-290, 1e290)
    mixed = np.eye(n)
    mixed[1:, 0] = 1e-36 if real is np.float32 else 1e-300
    indefinite = plain.copy()
    indefinite[n - 1, n - 1] = -1.0
    flat = np.ones((n, n))  # its second pivot is zero
    return np.array([plain, plain * tiny, plain * huge, np.diag(-np.zeros(n) + 4.0), mixed, indefinite, flat], dtype=real)


@pytest.mark.parametrize("mode", ["lower", "upper"])
@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
@pytest.mark.parametrize("n", [2, 5, 16, 19, 32, 36, 48])
def test_systems_have_the_bits_of_the_cpu(n, dtype, mode):
    """One warp has the rows, of larger ones those of a panel; every number takes its updates in the same order."""

    @wp.kernel(enable_backward=False)
    def k(a: wp.array3d(dtype=dtype), b: wp.array2d(dtype=dtype), f: wp.array3d(dtype=dtype), x: wp.array3d(dtype=dtype)):
        i = wp.tid()
        m = wp.tile_load(a[i], shape=(n, n))
        y = wp.tile_load(b[i], shape=n)
        l = wp.tile_cholesky(m, fill_mode=mode)
        wp.tile_store(f[i], l)
        wp.tile_store(x[i, 0], wp.tile_cholesky_solve(l, y, fill_mode=mode))
        wp.tile_cholesky_inplace(m, fill_mode=mode)
        if wp.static(mode == "lower"):
            wp.tile_lower_solve_inplace(m, y)
            wp.tile_upper_solve_inplace(wp.tile_transpose(m), y)
        else:
            wp.tile_lower_solve_inplace(wp.tile_transpose(m), y)
            wp.tile_upper_solve_inplace(m, y)
        wp.tile_store(x[i, 1], y)

    real = np.float32 if dtype is wp.float32 else np.float64
    a = small_systems(n, real)
    b = rng.normal(size=(len(a), n)).astype(real)
    b[3, 0] = -0.0
    found = []
    for device in ("cpu", wp.get_device()):
        f, x = wp.zeros(a.shape, dtype=dtype, device=device), wp.zeros((len(a), 2, n), dtype=dtype, device=device)
        inputs = [wp.array(a, dtype=dtype, device=device), wp.array(b, dtype=dtype, device=device), f, x]
        wp.launch_tiled(k, dim=len(a), inputs=inputs, block_dim=BLOCK, device=device)
        found.append((f.numpy(), x.numpy()))
    for on_cpu, here in zip(*found):
        same = (on_cpu == here) & (np.signbit(on_cpu) == np.signbit(here)) | np.isnan(on_cpu) & np.isnan(here)
        assert same.all(), np.argwhere(~same)
    f, x = found[1]
    assert np.isnan(f[5, n - 1, n - 1]) and np.isnan(x[5]).any() and f[6, 1, 1] == 0
    np.testing.assert_allclose(x[0, 0], np.linalg.solve(a[0].astype(float), b[0]), rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(x[:, 0], x[:, 1])


@wp.func
def add_twice(a: Any, b: Any):
    a += b
    a += b


@wp.func
def change_both(a: Any, b: Any):
    a += b
    b[0] = 100.0
    a[1] = a[1] + b[0]


@wp.func
def multiply_into(a: Any, b: Any, c: Any):
    wp.tile_matmul(a, b, c)


def test_parameters_that_are_one_tile():
    @wp.kernel
    def k(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float), z: wp.array2d(dtype=float)):
        t = wp.tile_load(x[0], shape=4)
        add_twice(t, t)
        wp.tile_store(y[0], t)
        u = wp.tile_load(x[0], shape=4)
        add_twice(u[1:], u[:-1])
        wp.tile_store(y[1], u)
        v = wp.tile_load(x[0], shape=4)
        change_both(v, wp.tile_view(v, offset=(0,), shape=(4,)))
        wp.tile_store(y[2], v)
        m = wp.tile_load(x, shape=(4, 4))
        multiply_into(m, wp.tile_transpose(m), m)
        wp.tile_store(z, m)

    numbers = np.arange(16, dtype=np.float32).reshape(4, 4)
    x = wp.array(numbers, dtype=float, requires_grad=True)
    y, z = (wp.zeros((n, 4), dtype=float, requires_grad=True) for n in (3, 4))
    with wp.Tape() as tape:
        run(k, x, y, z)
    assert y.numpy().tolist() == [[0, 4, 8, 12], [0, 1, 4, 8], [100, 102, 4, 6]]
    np.testing.assert_array_equal(z.numpy(), numbers + numbers @ numbers.T)
    tape.backward(grads={y: wp.ones_like(y)})
    assert x.grad.numpy().tolist() == [[8, 10, 9, 7], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
