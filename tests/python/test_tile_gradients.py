"""Gradients through tiles against differences in float64: windows, in-place chains, loops, factorisations, sorts."""

import os

import numpy as np

import warp as wp

rng = np.random.default_rng(11)


BLOCK = int(os.environ.get("WEFT_TILE_BLOCK", "32"))  # threads of a block on GPUs


def run(kernel, *arguments, dim=1, block_dim=BLOCK):
    wp.launch_tiled(kernel, dim=dim, inputs=list(arguments), block_dim=block_dim)


def check_gradient(kernel, inputs, out_shape, out_dtype=wp.float64, tolerance=1e-6):
    """Against central differences in float64: the output's sum, weighted."""
    weights = rng.normal(size=np.zeros(out_shape).shape)

    def value(values):
        out = wp.zeros(out_shape, dtype=out_dtype)
        run(kernel, *[wp.array(v, dtype=wp.float64) for v in values], out)
        return float((out.numpy() * weights).sum())

    arrays = [wp.array(v, dtype=wp.float64, requires_grad=True) for v in inputs]
    out = wp.zeros(out_shape, dtype=out_dtype, requires_grad=True)
    with wp.Tape() as tape:
        run(kernel, *arrays, out)
    tape.backward(grads={out: wp.array(weights, dtype=out_dtype)})
    for k, v in enumerate(inputs):
        want = np.zeros(v.size)
        for e in range(v.size):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [x.copy() for x in inputs]
                moved[k].reshape(-1)[e] += step
                ends.append(value(moved))
            want[e] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(arrays[k].grad.numpy().reshape(-1), want, rtol=tolerance, atol=tolerance)


def test_gradients_of_maps_sums_and_windows():
    @wp.kernel
    def k(x: wp.array2d(dtype=wp.float64), w: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
        t = wp.tile_load(x, shape=(3, 4), offset=(0, -1))
        u = wp.tile_map(wp.sin, t) * t
        v = wp.tile_broadcast(wp.tile_load(w, shape=(4,)), shape=(3, 4))
        u *= v
        u[1] += u[0]
        wp.tile_transpose(u)[2] = wp.tile_sum(u, axis=1)
        wp.tile_store(y, wp.tile_sum(u, axis=0))
        wp.tile_atomic_add(y, wp.tile_max(t), offset=(3,))

    check_gradient(k, [rng.normal(size=(3, 4)), rng.normal(size=4)], 4)


def test_gradients_of_products_in_loops():
    @wp.kernel
    def k(a: wp.array2d(dtype=wp.float64), b: wp.array2d(dtype=wp.float64), y: wp.array2d(dtype=wp.float64)):
        total = wp.tile_zeros((2, 3), dtype=wp.float64)
        for i in range(3):
            s = wp.tile_load(a, shape=(2, 2), offset=(0, 2 * i))
            t = wp.tile_load(b, shape=(2, 3), offset=(2 * i, 0))
            wp.tile_matmul(s, t, total)
            total = wp.tile_map(wp.tanh, total)
        wp.tile_store(y, total)

    check_gradient(k, [rng.normal(size=(2, 6)), rng.normal(size=(6, 3))], (2, 3))


def test_gradients_of_cholesky_and_solves():
    n = 4

    @wp.kernel
    def k(r: wp.array2d(dtype=wp.float64), b: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
        t = wp.tile_load(r, shape=(n, n))
        a = wp.tile_matmul(t, wp.tile_transpose(t))
        a = wp.tile_diag_add(a, wp.tile_full(n, wp.float64(2.0)))
        l = wp.tile_cholesky(a)
        x = wp.tile_cholesky_solve(l, wp.tile_load(b, shape=n))
        wp.tile_cholesky_inplace(a, fill_mode="upper")
        wp.tile_upper_solve_inplace(a, x)
        wp.tile_store(y, x)

    check_gradient(k, [rng.normal(size=(n, n)), rng.normal(size=n)], n, tolerance=1e-5)


def test_gradients_of_scans_and_sorts():
    @wp.kernel
    def k(x: wp.array(dtype=wp.float64), v: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
        keys = wp.tile_load(x, shape=6)
        values = wp.tile_load(v, shape=6)
        wp.tile_sort(keys, values)
        wp.tile_store(y, wp.tile_scan_inclusive(keys * values))

    check_gradient(k, [rng.normal(size=6), rng.normal(size=6)], 6)


def test_gradients_of_a_network_fit_the_memory_of_a_block():
    """Eight tiles of 64 by 64 numbers and their gradients: 273 KB if all lived at once, more than any GPU gives a block."""
    wide = 64

    @wp.func
    def leaky(x: float):
        return wp.max(x, 0.01 * x)

    @wp.kernel
    def loss_of(
        first: wp.array2d(dtype=float),
        second: wp.array2d(dtype=float),
        last: wp.array2d(dtype=float),
        bias: wp.array2d(dtype=float),
        inputs: wp.array2d(dtype=float),
        loss: wp.array(dtype=float),
    ):
        x = wp.tile_load(inputs, shape=(wide, wide))
        y = wp.tile_matmul(wp.tile_load(first, shape=(wide, wide)), x)
        y = wp.tile_map(leaky, y + wp.tile_broadcast(wp.tile_load(bias, shape=(wide, 1)), shape=(wide, wide)))
        z = wp.tile_map(leaky, wp.tile_matmul(wp.tile_load(second, shape=(wide, wide)), y))
        seen = wp.tile_matmul(wp.tile_load(last, shape=(16, wide)), z)
        wp.tile_atomic_add(loss, wp.tile_sum(wp.tile_map(wp.mul, seen, seen)))

    values = [0.1 * rng.normal(size=size) for size in ((wide, wide), (wide, wide), (16, wide), (wide, 1), (wide, wide))]
    arrays = [wp.array(v, dtype=float, requires_grad=True) for v in values]
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        run(loss_of, *arrays, loss, block_dim=128)
    tape.backward(loss)

    first, second, last, bias, x = values
    before = first @ x + bias
    y = np.maximum(before, 0.01 * before)
    after = second @ y
    z = np.maximum(after, 0.01 * after)
    seen = last @ z
    np.testing.assert_allclose(loss.numpy()[0], (seen**2).sum(), rtol=1e-4)
    slope = 2 * last.T @ seen * np.where(after > 0, 1, 0.01)
    inner = second.T @ slope * np.where(before > 0, 1, 0.01)
    wants = [inner @ x.T, slope @ y.T, 2 * seen @ z.T, inner.sum(1, keepdims=True), first.T @ inner]
    for array, want in zip(arrays, wants):
        np.testing.assert_allclose(array.grad.numpy(), want, rtol=2e-3, atol=1e-4)
