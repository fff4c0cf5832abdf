"""Tiles on the CPU: what the builtins give, whose memory tiles are, and what goes wrong with words."""

import os

import numpy as np
import pytest

import warp as wp

N, M = 5, 7
rng = np.random.default_rng(11)


BLOCK = int(os.environ.get("WEFT_TILE_BLOCK", "32"))  # threads of a block on GPUs


def run(kernel, *arguments, dim=1, block_dim=BLOCK):
    wp.launch_tiled(kernel, dim=dim, inputs=list(arguments), block_dim=block_dim)


def arr(values, dtype=float):
    return wp.array(np.asarray(values), dtype=dtype)


@wp.kernel
def load_map_store(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=(N, M), offset=(i * N, 0))
    wp.tile_store(y, wp.tile_map(wp.sin, t) + t * 2.0, offset=(i * N, 0))


def test_load_map_store():
    x = rng.normal(size=(3 * N, M)).astype(np.float32)
    y = wp.zeros((3 * N, M), dtype=float)
    run(load_map_store, arr(x), y, dim=3)
    np.testing.assert_allclose(y.numpy(), np.sin(x) + 2 * x, rtol=1e-6, atol=1e-6)


def test_outside_is_zero_and_dropped():
    @wp.kernel
    def shift(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float), a: int, b: int):
        t = wp.tile_load(x, shape=(4, 4), offset=(a, b))
        wp.tile_store(y, t, offset=(b, a))

    x = rng.normal(size=(6, 5)).astype(np.float32)
    for a, b in ((0, 0), (-2, 1), (4, 3), (100, 0), (-100, -100)):
        y = wp.zeros((6, 5), dtype=float)
        run(shift, arr(x), y, a, b)
        want = np.zeros((6, 5), np.float32)
        for i in range(4):
            for j in range(4):
                inside = 0 <= a + i < 6 and 0 <= b + j < 5
                if 0 <= b + i < 6 and 0 <= a + j < 5:
                    want[b + i, a + j] = x[a + i, b + j] if inside else 0
        np.testing.assert_array_equal(y.numpy(), want)


def tree_sum(values):
    values = list(values)
    while len(values) > 1:
        half = 1
        while half * 2 < len(values):
            half *= 2
        low, high = values[:half], values[half:]
        values = [np.float32(a + b) for a, b in zip(low, high)] + low[len(high) :]
    return values[0]


@pytest.mark.parametrize("n", [1, 2, 3, 8, 13, 64, 100])
def test_sums_have_one_order(n):
    @wp.kernel
    def total(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        t = wp.tile_load(x, shape=n)
        y[0] = wp.tile_sum(t)[0]
        y[1] = wp.tile_extract(wp.tile_reduce(wp.max, t), 0)
        y[2] = wp.tile_min(t)[0]

    x = rng.normal(size=n).astype(np.float32)
    y = wp.zeros(3, dtype=float)
    run(total, arr(x), y)
    np.testing.assert_array_equal(y.numpy(), [tree_sum(x), x.max(), x.min()])


def test_sums_along_axes():
    @wp.kernel
    def sums(x: wp.array3d(dtype=float), a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
        t = wp.tile_load(x, shape=(3, 4, 5))
        wp.tile_store(a, wp.tile_sum(t, axis=0))
        wp.tile_store(b, wp.tile_sum(t, axis=1))
        wp.tile_store(c, wp.tile_reduce(wp.add, t, axis=-1))

    x = rng.normal(size=(3, 4, 5)).astype(np.float32)
    out = [wp.zeros(s, dtype=float) for s in ((4, 5), (3, 5), (3, 4))]
    run(sums, arr(x), *out)
    for axis in range(3):
        np.testing.assert_allclose(out[axis].numpy(), x.sum(axis), rtol=1e-5, atol=1e-6)


@wp.func
def scaled(x: float, v: wp.vec3, k: int):
    return v * x * float(k)


def test_maps_with_functions_and_other_arguments():
    @wp.kernel
    def k(x: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
        t = wp.tile_load(x, shape=(8,))
        wp.tile_store(y, wp.tile_map(scaled, t, wp.vec3(1.0, 2.0, 3.0), 2))

    x = np.arange(8.0, dtype=np.float32)
    y = wp.zeros(8, dtype=wp.vec3)
    run(k, arr(x), y)
    np.testing.assert_array_equal(y.numpy(), np.outer(2 * x, [1, 2, 3]))


def test_makers():
    @wp.kernel
    def k(a: wp.array2d(dtype=int), b: wp.array(dtype=float), c: wp.array(dtype=wp.vec2), d: wp.array(dtype=int)):
        wp.tile_store(a, wp.tile_ones((2, 3), dtype=int))
        wp.tile_store(b, wp.tile_arange(1.0, 3.0, 0.5))
        wp.tile_store(c, wp.tile_full(3, wp.vec2(1.0, 2.0)))
        wp.tile_store(d, wp.tile_arange(4, dtype=int))
        d[5] = len(wp.tile_zeros(shape=(6, 2), dtype=float))

    a = wp.zeros((2, 3), dtype=int)
    b, c, d = wp.zeros(4, dtype=float), wp.zeros(3, dtype=wp.vec2), wp.zeros(6, dtype=int)
    run(k, a, b, c, d)
    np.testing.assert_array_equal(a.numpy(), np.ones((2, 3)))
    np.testing.assert_array_equal(b.numpy(), [1, 1.5, 2, 2.5])
    np.testing.assert_array_equal(c.numpy(), [[1, 2]] * 3)
    np.testing.assert_array_equal(d.numpy(), [0, 1, 2, 3, 0, 6])


def test_assignment_copies_and_windows_do_not():
    @wp.kernel
    def k(y: wp.array2d(dtype=float)):
        a = wp.tile_ones(4, dtype=float)
        b = a
        b += a
        b[0] = 7.0
        v = wp.tile_view(a, offset=(1,), shape=(2,))
        v *= 5.0
        a[3] = 9.0
        wp.tile_store(y[0], a)
        wp.tile_store(y[1], b)

    y = wp.zeros((2, 4), dtype=float)
    run(k, y)
    np.testing.assert_array_equal(y.numpy(), [[1, 5, 5, 9], [7, 2, 2, 2]])


def test_slices_transposes_and_broadcasts():
    @wp.kernel
    def k(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float), z: wp.array2d(dtype=float)):
        t = wp.tile_load(x, shape=(4, 6))
        t[1:3] = t[2:4]
        t[0, ::-2] = wp.tile_arange(3, dtype=float)
        wp.tile_transpose(t)[5] = wp.tile_zeros(4, dtype=float)
        wp.tile_store(y, t)
        wp.tile_store(z, wp.tile_broadcast(t[0], shape=(3, 6)))

    x = rng.normal(size=(4, 6)).astype(np.float32)
    y, z = wp.zeros((4, 6), dtype=float), wp.zeros((3, 6), dtype=float)
    run(k, arr(x), y, z)
    want = x.copy()
    want[1:3] = x[2:4]
    want[0, ::-2] = [0, 1, 2]
    want[:, 5] = 0
    np.testing.assert_array_equal(y.numpy(), want)
    np.testing.assert_array_equal(z.numpy(), np.tile(want[0], (3, 1)))


def test_loops_keep_tiles():
    @wp.kernel
    def k(x: wp.array2d(dtype=float), w: wp.array2d(dtype=float), y: wp.array2d(dtype=float), turns: int):
        t = wp.tile_load(x, shape=(3, 3))
        u = wp.tile_load(w, shape=(3, 3))
        for i in range(turns):
            t = wp.tile_matmul(t, u)
            if i % 2 == 1:
                t = t * 0.5
        wp.tile_store(y, t)

    x, w = rng.normal(size=(2, 3, 3)).astype(np.float32)
    y = wp.zeros((3, 3), dtype=float)
    run(k, arr(x), arr(w), y, 5)
    want = x
    for i in range(5):
        want = want @ w * (0.5 if i % 2 else 1.0)
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-4, atol=1e-4)


def test_tiles_that_some_paths_assign():
    @wp.kernel
    def k(y: wp.array2d(dtype=float)):
        i = wp.tid()
        if i > 0:
            t = wp.tile_full(3, float(i))
        else:
            t = wp.tile_arange(3, dtype=float)
        if i == 2:
            u = wp.tile_ones(3, dtype=float)
        s = t
        if i == 2:
            s += u
        wp.tile_store(y[i], s)

    y = wp.zeros((3, 3), dtype=float)
    run(k, y, dim=3)
    np.testing.assert_array_equal(y.numpy(), [[0, 1, 2], [1, 1, 1], [3, 3, 3]])


@wp.func
def add_to(t: wp.tile[float, 4], amount: float):
    t += wp.tile_full(4, amount)
    t = wp.tile_zeros(4, dtype=float)
    return t


@wp.func
def anything(t: wp.tile(dtype=float, shape=(4,)), f: float):
    u = t * f
    return u


def test_functions_take_references():
    @wp.kernel
    def k(y: wp.array2d(dtype=float)):
        t = wp.tile_ones(4, dtype=float)
        z = add_to(t, 2.0)
        wp.tile_store(y[0], t)
        wp.tile_store(y[1], z)
        wp.tile_store(y[2], anything(t, 3.0))

    y = wp.zeros((3, 4), dtype=float)
    run(k, y)
    np.testing.assert_array_equal(y.numpy(), [[3] * 4, [0] * 4, [9] * 4])


@pytest.mark.cpu_only("as one thread does it; test_tile_blocks.py has the others")
def test_values_of_threads():
    @wp.kernel
    def k(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float), z: wp.array(dtype=wp.vec3)):
        i, lane = wp.tid()
        t = wp.tile(x[i])
        s = wp.tile_sum(t)
        y[i] = s[0] + float(lane)
        z[i] = wp.untile(t) + wp.tile_sum(wp.tile(x[i], preserve_type=True))[0]

    x = rng.normal(size=(4, 3)).astype(np.float32)
    y, z = wp.zeros(4, dtype=float), wp.zeros(4, dtype=wp.vec3)
    run(k, arr(x, wp.vec3), y, z, dim=4)
    np.testing.assert_allclose(y.numpy(), x.sum(1), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(z.numpy(), 2 * x)


@pytest.mark.parametrize("alpha,beta", [(1.0, 1.0), (-1.0, 1.0), (0.5, 0.0), (2.0, -1.0)])
def test_products(alpha, beta):
    @wp.kernel
    def k(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float), d: wp.array2d(dtype=float)):
        x = wp.tile_load(a, shape=(3, 5))
        y = wp.tile_load(b, shape=(4, 5))
        z = wp.tile_load(c, shape=(3, 4))
        wp.tile_store(d, wp.tile_matmul(x, wp.tile_transpose(y)))
        wp.tile_matmul(x, wp.tile_transpose(y), z, alpha=alpha, beta=beta)
        wp.tile_store(c, z)

    a, b, c = (rng.normal(size=s).astype(np.float32) for s in ((3, 5), (4, 5), (3, 4)))
    cc, d = arr(c), wp.zeros((3, 4), dtype=float)
    run(k, arr(a), arr(b), cc, d)
    np.testing.assert_allclose(d.numpy(), a @ b.T, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(cc.numpy(), alpha * a @ b.T + beta * c, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["lower", "upper"])
@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
@pytest.mark.parametrize("n", [1, 6, 8, 12, 17])
def test_cholesky_and_solves(n, mode, dtype):

    @wp.kernel
    def k(a: wp.array2d(dtype=dtype), b: wp.array2d(dtype=dtype), f: wp.array2d(dtype=dtype), x: wp.array3d(dtype=dtype)):
        m = wp.tile_load(a, shape=(n, n))
        y = wp.tile_load(b, shape=(n, 2))
        l = wp.tile_cholesky(m, fill_mode=mode)
        wp.tile_store(f, l)
        wp.tile_store(x[0], wp.tile_cholesky_solve(l, y, fill_mode=mode))
        wp.tile_cholesky_inplace(m, fill_mode=mode)
        if wp.static(mode == "lower"):
            wp.tile_lower_solve_inplace(m, y)
            y = wp.tile_upper_solve(wp.tile_transpose(m), y)
        else:
            y = wp.tile_lower_solve(wp.tile_transpose(m), y)
            wp.tile_upper_solve_inplace(m, y)
        wp.tile_store(x[1], y)

    real = np.float32 if dtype == wp.float32 else np.float64
    r = rng.normal(size=(n, n))
    a = (r @ r.T + n * np.eye(n)).astype(real)
    b = rng.normal(size=(n, 2)).astype(real)
    triangle = np.tril(a) if mode == "lower" else np.triu(a)  # the other one is not read
    f, x = wp.zeros((n, n), dtype=dtype), wp.zeros((2, n, 2), dtype=dtype)
    run(k, arr(triangle, dtype), arr(b, dtype), f, x)
    tol = 1e-4 if dtype == wp.float32 else 1e-12
    want = np.linalg.cholesky(a)
    np.testing.assert_allclose(f.numpy(), want if mode == "lower" else want.T, rtol=tol, atol=tol)
    for one in x.numpy():
        np.testing.assert_allclose(one, np.linalg.solve(a, b), rtol=tol, atol=tol)


@pytest.mark.parametrize("n", [1, 2, 4, 6, 8, 15, 16, 60, 64, 96])
@pytest.mark.parametrize("dtype", [wp.vec2f, wp.vec2d])
def test_fourier_transforms(n, dtype):
    @wp.kernel
    def k(x: wp.array2d(dtype=dtype), y: wp.array2d(dtype=dtype), z: wp.array2d(dtype=dtype)):
        t = wp.tile_load(x, shape=(2, n))
        wp.tile_fft(t)
        wp.tile_store(y, t)
        wp.tile_ifft(t)
        wp.tile_store(z, t)

    x = rng.normal(size=(2, n, 2))
    y, z = wp.zeros((2, n), dtype=dtype), wp.zeros((2, n), dtype=dtype)
    run(k, arr(x, dtype), y, z)
    tol = 2e-5 if dtype == wp.vec2f else 1e-12
    want = np.fft.fft(x[..., 0] + 1j * x[..., 1])
    np.testing.assert_allclose(y.numpy()[..., 0] + 1j * y.numpy()[..., 1], want, rtol=tol, atol=tol * 10)
    np.testing.assert_allclose(z.numpy() / n, x, rtol=tol, atol=tol * 10)


@pytest.mark.parametrize("n", [1, 3, 32, 33, 100, 1100])
def test_scans_and_sorts(n):
    @wp.kernel
    def k(
        x: wp.array(dtype=int),
        a: wp.array(dtype=int),
        b: wp.array(dtype=int),
        c: wp.array(dtype=int),
        f: wp.array(dtype=float),
        o: wp.array(dtype=int),
        p: wp.array(dtype=int),
    ):
        t = wp.tile_load(x, shape=n)
        wp.tile_store(a, wp.tile_scan_inclusive(t))
        wp.tile_store(b, wp.tile_scan_exclusive(t))
        wp.tile_store(c, wp.tile_scan_max_inclusive(t))
        keys = wp.tile_load(f, shape=n)
        order = wp.tile_arange(n, dtype=int)
        p[0] = wp.tile_argmin(keys)[0]
        p[1] = wp.tile_argmax(keys)[0]
        wp.tile_sort(keys, order)
        wp.tile_store(f, keys)
        wp.tile_store(o, order)

    x = rng.integers(-50, 50, size=n).astype(np.int32)
    f = np.round(rng.normal(size=n), 1).astype(np.float32)
    a, b, c, o, p = (wp.zeros(n, dtype=int) for _ in range(4)), None, None, None, None
    a, b, c, o = a
    p = wp.zeros(2, dtype=int)
    sorted_keys = arr(f)
    run(k, arr(x, int), a, b, c, sorted_keys, o, p)
    np.testing.assert_array_equal(a.numpy(), np.cumsum(x))
    np.testing.assert_array_equal(b.numpy(), np.cumsum(x) - x)
    np.testing.assert_array_equal(c.numpy(), np.maximum.accumulate(x))
    bits = f.view(np.int32)
    key = np.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    order = np.argsort(key, kind="stable")
    np.testing.assert_array_equal(o.numpy(), order)
    np.testing.assert_array_equal(sorted_keys.numpy(), f[order])
    assert list(p.numpy()) == [f.argmin(), f.argmax()]


def test_rows_by_index():
    @wp.kernel
    def k(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float), z: wp.array2d(dtype=float)):
        at = wp.tile_arange(4, 0, -1, dtype=int)
        t = wp.tile_load_indexed(x, at, shape=(4, 3))
        wp.tile_store_indexed(y, at, t)
        wp.tile_atomic_add_indexed(z, at, t, axis=0)
        wp.tile_atomic_add(z, t, offset=(0, 0))

    x = rng.normal(size=(4, 3)).astype(np.float32)  # index 4 lies outside
    y, z = wp.zeros((4, 3), dtype=float), wp.zeros((4, 3), dtype=float)
    run(k, arr(x), y, z)
    t = np.array([[0, 0, 0], x[3], x[2], x[1]])
    want = np.zeros((4, 3), np.float32)
    want[[3, 2, 1]] = t[1:]
    np.testing.assert_array_equal(y.numpy(), want)
    np.testing.assert_allclose(z.numpy(), want + t, rtol=1e-6)


@pytest.mark.cpu_only("as one thread does it; test_tile_blocks.py has the others")
def test_elements_at_run_time():
    @wp.kernel
    def k(y: wp.array(dtype=float), n: int):
        t = wp.tile_arange(4, dtype=float)
        for i in range(-n, n):
            y[i + n] = t[i]
        t[n] = 100.0
        t[1] += 5.0
        wp.tile_scatter_add(t, 2, 1.0, True)
        wp.tile_scatter_masked(t, 0, -3.0, n > 0)
        wp.tile_scatter_masked(t, 3, -3.0, n < 0)
        for i in range(4):
            y[2 * n + i] = wp.tile_extract(t, i)

    n = 6
    y = wp.zeros(2 * n + 4, dtype=float)
    run(k, y, n)
    want = [0, 0, 0, 1, 2, 3, 0, 1, 2, 3, 0, 0]
    np.testing.assert_array_equal(y.numpy(), want + [-3, 6, 3, 3])


def test_small_forms():
    @wp.kernel
    def k(a: wp.array2d(dtype=float), y: wp.array2d(dtype=float), z: wp.array(dtype=float), w: wp.array(dtype=wp.float64)):
        t = wp.tile_load(a, shape=(3, 3))
        d = wp.tile_arange(3, dtype=float)
        u = wp.tile_diag_add(t, d)
        wp.tile_axpy(2.0, t, u)
        wp.tile_store(y, -u)
        z[0] = wp.tile_dot(t, t)[0]
        z[1] = wp.tile_sum(wp.tile_squeeze(wp.tile_reshape(t, (1, -1))))[0]
        wp.tile_store(w, wp.tile_astype(t[1], wp.float64))

    a = rng.normal(size=(3, 3)).astype(np.float32)
    y, z, w = wp.zeros((3, 3), dtype=float), wp.zeros(2, dtype=float), wp.zeros(3, dtype=wp.float64)
    run(k, arr(a), y, z, w)
    np.testing.assert_allclose(y.numpy(), -(3 * a + np.diag([0, 1, 2])), rtol=1e-5)
    np.testing.assert_allclose(z.numpy(), [(a * a).sum(), a.sum()], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(w.numpy(), a[1].astype(np.float64))


def test_blocked_cholesky_through_windows():
    block, n = 4, 12

    @wp.kernel
    def k(a: wp.array2d(dtype=float), b: wp.array(dtype=float), x: wp.array(dtype=float), u: wp.array2d(dtype=float)):
        right = wp.tile_load(b, shape=(n,), storage="shared")
        for j in range(0, n, block):
            diagonal = wp.tile_load(a, shape=(block, block), offset=(j, j))
            for m in range(0, j, block):
                left = wp.tile_load(u, shape=(block, block), offset=(m, j))
                wp.tile_matmul(wp.tile_transpose(left), left, diagonal, alpha=-1.0)
            wp.tile_cholesky_inplace(diagonal, fill_mode="upper")
            wp.tile_store(u, diagonal, offset=(j, j))
            part = wp.tile_reshape(wp.tile_view(right, offset=(j,), shape=(block,)), (block, 1))
            for m in range(0, j, block):
                left = wp.tile_load(u, shape=(block, block), offset=(m, j))
                done = wp.tile_reshape(wp.tile_view(right, offset=(m,), shape=(block,)), (block, 1))
                wp.tile_matmul(wp.tile_transpose(left), done, part, alpha=-1.0)
            wp.tile_lower_solve_inplace(wp.tile_transpose(diagonal), part)
            for i in range(j + block, n, block):
                off = wp.tile_load(a, shape=(block, block), offset=(j, i))
                for m in range(0, j, block):
                    top = wp.tile_load(u, shape=(block, block), offset=(m, j))
                    side = wp.tile_load(u, shape=(block, block), offset=(m, i))
                    wp.tile_matmul(wp.tile_transpose(top), side, off, alpha=-1.0)
                wp.tile_lower_solve_inplace(wp.tile_transpose(diagonal), off)
                wp.tile_store(u, off, offset=(j, i))
        for turn in range(n / block):
            j = n - block - turn * block
            piece = wp.tile_view(right, offset=(j,), shape=(block,))
            for i in range(j + block, n, block):
                across = wp.tile_load(u, shape=(block, block), offset=(j, i))
                known = wp.tile_view(right, offset=(i,), shape=(block,))
                product = wp.tile_matmul(across, wp.tile_reshape(known, (block, 1)))
                piece -= wp.tile_reshape(product, (block,))
            corner = wp.tile_load(u, shape=(block, block), offset=(j, j))
            wp.tile_upper_solve_inplace(corner, piece)
        wp.tile_store(x, right)

    r = rng.normal(size=(n, n))
    a = (r @ r.T + n * np.eye(n)).astype(np.float32)
    b = rng.normal(size=n).astype(np.float32)
    x, u = wp.zeros(n, dtype=float), wp.zeros((n, n), dtype=float)
    run(k, arr(a), arr(b), x, u)
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(a, b), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(np.triu(u.numpy()), np.linalg.cholesky(a).T, rtol=1e-3, atol=1e-4)


@pytest.mark.cpu_only("as one thread does it; test_tile_blocks.py has the others")
def test_more_small_forms():
    @wp.kernel
    def k(y: wp.array2d(dtype=float), z: wp.array(dtype=int), v: wp.array2d(dtype=float)):
        t = wp.tile_empty((4, 4), dtype=float)
        u = wp.tile_ones((2, 2), dtype=int)
        wp.tile_assign(t, u, offset=(1, 2))
        wp.tile_store(y, t)
        wp.tile_store(z, wp.tile_scan_min_inclusive(wp.tile_from_thread(3, 5, 0)))
        s = wp.tile_stack(2, dtype=int)
        a = wp.tile_stack_push(s, 7, True)
        b = wp.tile_stack_push(s, 8, False)
        c = wp.tile_stack_push(s, 9, True)
        d = wp.tile_stack_push(s, 10, True)
        n = wp.tile_stack_count(s)
        top, slot = wp.tile_stack_pop(s)
        wp.tile_stack_clear(s)
        nothing, no_slot = wp.tile_stack_pop(s)
        z[3] = a * 1000 + b * 100 + c * 10 + d
        z[4] = n * 1000 + top * 100 + slot * 10 + no_slot
        rng = wp.rand_init(42)
        wp.tile_store(v, wp.tile_randf((2, 3), rng, 2.0, 3.0))
        z[5] = wp.tile_max(wp.tile_randi(64, rng, 0, 4))[0]

    y, z, v = wp.zeros((4, 4), dtype=float), wp.zeros(6, dtype=int), wp.zeros((2, 3), dtype=float)
    run(k, y, z, v)
    want = np.zeros((4, 4))
    want[1:3, 2:4] = 1
    np.testing.assert_array_equal(y.numpy(), want)
    np.testing.assert_array_equal(z.numpy(), [5, 5, 5, 0 * 1000 - 100 + 10 - 1, 2 * 1000 + 900 + 10 - 1, 3])
    assert ((v.numpy() >= 2) & (v.numpy() < 3)).all() and len(np.unique(v.numpy())) == 6


def test_solves_in_place_of_their_right_side():
    @wp.kernel
    def k(a: wp.array2d(dtype=float), y: wp.array(dtype=float)):
        l = wp.tile_cholesky(wp.tile_load(a, shape=(4, 4)))
        t = wp.tile_load(y, shape=4)
        wp.tile_cholesky_solve_inplace(l, t)
        wp.tile_store(y, t)

    r = rng.normal(size=(4, 4))
    a, b = (r @ r.T + 4 * np.eye(4)).astype(np.float32), rng.normal(size=4).astype(np.float32)
    y = arr(b)
    run(k, arr(a), y)
    np.testing.assert_allclose(y.numpy(), np.linalg.solve(a, b), rtol=1e-4, atol=1e-5)
