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
