"""Gradients of algebra on tiles that is large enough to be one step with a rule of its own: products, factorisations, solves."""

import numpy as np
import pytest
from test_tile_gradients import check_gradient, run

import warp as wp

rng = np.random.default_rng(23)
f64 = wp.float64


def test_products_of_windows_and_transposes():
    @wp.kernel
    def k(a: wp.array2d(dtype=f64), b: wp.array2d(dtype=f64), y: wp.array2d(dtype=f64)):
        s = wp.tile_load(a, shape=(9, 12))
        t = wp.tile_load(b, shape=(10, 9))
        total = wp.tile_zeros((10, 11), dtype=f64)
        # 9 by 9 times 9 by 10, into a window of a larger tile and through its transpose.
        wp.tile_matmul(wp.tile_view(s, (0, 1), (9, 9)), wp.tile_transpose(t), wp.tile_view(total, (1, 0), (9, 10)))
        wp.tile_matmul(t, wp.tile_view(s, (0, 0), (9, 11)), total, alpha=-1.0)
        wp.tile_matmul(wp.tile_transpose(s)[1:12], wp.tile_transpose(t), wp.tile_transpose(total))
        wp.tile_store(y, total)

    check_gradient(k, [rng.normal(size=(9, 12)), rng.normal(size=(10, 9))], (10, 11))


def test_products_in_loops_whose_operands_change():
    @wp.kernel
    def k(a: wp.array2d(dtype=f64), b: wp.array2d(dtype=f64), y: wp.array2d(dtype=f64)):
        total = wp.tile_zeros((9, 9), dtype=f64)
        s = wp.tile_load(a, shape=(9, 9))
        for i in range(a.shape[0] - 7):
            t = wp.tile_load(b, shape=(9, 9), offset=(0, i))
            wp.tile_matmul(s, t, total)
            s = wp.tile_map(wp.tanh, total) * f64(0.5)
            t[i, 0] += total[0, i]
            s[0] = t[1]
            if i % 2 == 0:
                wp.tile_matmul(t, s, total, alpha=-1.0)
        wp.tile_store(y, total)

    check_gradient(k, [0.3 * rng.normal(size=(9, 9)), 0.3 * rng.normal(size=(9, 10))], (9, 9), tolerance=1e-5)


def test_products_in_place():
    @wp.kernel
    def k(a: wp.array2d(dtype=f64), y: wp.array2d(dtype=f64)):
        s = wp.tile_load(a, shape=(9, 9))
        wp.tile_matmul(s, wp.tile_transpose(s), s)
        wp.tile_matmul(s, s, s, alpha=-0.5, beta=2.0)
        wp.tile_store(y, wp.tile_matmul(s, s, alpha=0.25))

    check_gradient(k, [0.2 * rng.normal(size=(9, 9))], (9, 9), tolerance=1e-5)


def test_factors_that_are_numbers_of_the_program():
    @wp.kernel
    def k(a: wp.array2d(dtype=f64), c: wp.array(dtype=f64), y: wp.array2d(dtype=f64)):
        s = wp.tile_load(a, shape=(9, 9))
        t = wp.tile_map(wp.sin, s)
        wp.tile_matmul(s, t, t, alpha=c[0], beta=c[1])
        wp.tile_store(y, t)

    check_gradient(k, [rng.normal(size=(9, 9)), rng.normal(size=2)], (9, 9))


def test_products_in_functions_and_branches():
    @wp.func
    def twice(s: wp.tile(dtype=f64, shape=(9, 9)), t: wp.tile(dtype=f64, shape=(9, 9)), positive: bool):
        if positive:
            return wp.tile_matmul(s, t)
        u = wp.tile_map(wp.cos, t)
        wp.tile_matmul(t, s, u)
        return u

    @wp.kernel
    def k(a: wp.array2d(dtype=f64), b: wp.array2d(dtype=f64), y: wp.array2d(dtype=f64)):
        s = wp.tile_load(a, shape=(9, 9))
        t = wp.tile_load(b, shape=(9, 9))
        u = twice(s, t, s[0, 0] > f64(0.0))
        v = s
        if s[1, 1] > f64(0.0):
            v = t
        wp.tile_store(y, twice(u, v, s[0, 0] < f64(0.0)))

    for sign in (1.0, -1.0):
        check_gradient(k, [sign * rng.normal(size=(9, 9)), rng.normal(size=(9, 9))], (9, 9))


def test_products_need_no_tape():
    @wp.kernel
    def k(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
        total = wp.tile_zeros((16, 16), dtype=float)
        for i in range(a.shape[1] // 16):
            s = wp.tile_load(a, shape=(16, 16), offset=(0, 16 * i))
            t = wp.tile_map(wp.sin, wp.tile_load(b, shape=(16, 16), offset=(16 * i, 0)))
            wp.tile_matmul(s, t, total)
        wp.tile_store(y, total)

    n = 48
    x, z, g = rng.normal(size=(16, n)), rng.normal(size=(n, 16)), rng.normal(size=(16, 16))
    a, b = (wp.array(v, dtype=float, requires_grad=True) for v in (x, z))
    y = wp.zeros((16, 16), dtype=float, requires_grad=True)
    y.grad = wp.array(g, dtype=float)
    # Nothing has been written down: the adjoint finds all that it needs in the tiles that it loads again.
    arrays = [a.grad, b.grad, y.grad]
    wp.launch(k, dim=1, inputs=[a, b, y], adj_inputs=arrays, adjoint=True)
    np.testing.assert_allclose(a.grad.numpy(), g @ np.sin(z).T, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(b.grad.numpy(), (x.T @ g) * np.cos(z), rtol=1e-4, atol=1e-4)


def test_products_of_halves():
    @wp.kernel
    def k(a: wp.array2d(dtype=wp.float16), b: wp.array2d(dtype=wp.float16), y: wp.array2d(dtype=wp.float16)):
        s = wp.tile_load(a, shape=(16, 16))
        wp.tile_store(y, wp.tile_matmul(s, wp.tile_load(b, shape=(16, 16))))

    x, z, g = (rng.normal(size=(16, 16)).astype(np.float16) for _ in range(3))
    a, b = (wp.array(v, dtype=wp.float16, requires_grad=True) for v in (x, z))
    y = wp.zeros((16, 16), dtype=wp.float16, requires_grad=True)
    with wp.Tape() as tape:
        run(k, a, b, y)
    tape.backward(grads={y: wp.array(g, dtype=wp.float16)})
    x, z, g = (v.astype(np.float64) for v in (x, z, g))
    np.testing.assert_allclose(a.grad.numpy(), g @ z.T, rtol=2e-3, atol=1e-2)
    np.testing.assert_allclose(b.grad.numpy(), x.T @ g, rtol=2e-3, atol=1e-2)


@pytest.mark.parametrize("mode", ["lower", "upper"])
@pytest.mark.parametrize("n", [12, 9])
def test_factorisations_and_solves(n, mode):
    @wp.kernel
    def k(r: wp.array2d(dtype=f64), b: wp.array2d(dtype=f64), y: wp.array2d(dtype=f64)):
        t = wp.tile_load(r, shape=(n, n))
        a = wp.tile_matmul(t, wp.tile_transpose(t))
        a = wp.tile_diag_add(a, wp.tile_full(n, f64(3.0)))
        factor = wp.tile_cholesky(a, fill_mode=mode)
        x = wp.tile_cholesky_solve(factor, wp.tile_load(b, shape=(n, 10)), fill_mode=mode)
        factor[1] *= f64(2.0)  # what was factored changes behind it
        wp.tile_cholesky_inplace(a, fill_mode=mode)
        wp.tile_cholesky_solve_inplace(a, x, fill_mode=mode)
        x += wp.tile_matmul(factor, wp.tile_matmul(a, x))
        wp.tile_store(y, x)

    check_gradient(k, [rng.normal(size=(n, n)), rng.normal(size=(n, 10))], (n, 10), tolerance=1e-5)


def test_solves_of_vectors_and_windows():
    n = 24

    @wp.kernel
    def k(r: wp.array2d(dtype=f64), b: wp.array(dtype=f64), y: wp.array(dtype=f64)):
        t = wp.tile_load(r, shape=(n, n))
        a = wp.tile_diag_add(t, wp.tile_full(n, f64(9.0)))
        x = wp.tile_lower_solve(a, wp.tile_load(b, shape=n))
        wp.tile_upper_solve_inplace(a, x)
        wp.tile_lower_solve_inplace(wp.tile_transpose(a), x)
        # Rows of a larger tile, solved where they are, and again.
        both = wp.tile_zeros((2, n), dtype=f64)
        for i in range(2):
            wp.tile_assign(both[i], x)
            wp.tile_upper_solve_inplace(wp.tile_transpose(a), both[i])
            wp.tile_lower_solve_inplace(a, both[1 - i])
        wp.tile_store(y, wp.tile_sum(both, axis=0))

    check_gradient(k, [0.3 * rng.normal(size=(n, n)), rng.normal(size=n)], n, tolerance=1e-5)


def test_a_factorisation_by_blocks():
    m, n = 9, 18

    @wp.kernel
    def k(r: wp.array2d(dtype=f64), y: wp.array2d(dtype=f64)):
        t = wp.tile_load(r, shape=(n, n))
        a = wp.tile_diag_add(wp.tile_matmul(t, wp.tile_transpose(t)), wp.tile_full(n, f64(2.0)))
        for i in range(0, n, m):
            block = wp.tile_view(a, (i, i), (m, m))
            for j in range(0, i, m):
                left = wp.tile_view(a, (i, j), (m, m))
                wp.tile_matmul(left, wp.tile_transpose(left), block, alpha=-1.0)
            wp.tile_cholesky_inplace(block)
            for j in range(i + m, n, m):
                below = wp.tile_view(a, (j, i), (m, m))
                for q in range(0, i, m):
                    x = wp.tile_view(a, (j, q), (m, m))
                    z = wp.tile_view(a, (i, q), (m, m))
                    wp.tile_matmul(x, wp.tile_transpose(z), below, alpha=-1.0)
                wp.tile_lower_solve_inplace(block, wp.tile_transpose(below))
        wp.tile_store(y, a)

    check_gradient(k, [0.5 * rng.normal(size=(n, n))], (n, n), tolerance=1e-5)


@pytest.mark.cpu_only("on GPUs each thread has a share of it, which is refused")
def test_grad_of_a_function_with_a_product():
    @wp.func
    def f(x: f64):
        s = wp.tile_full((9, 9), x, dtype=f64)
        s[0, 1] = x * x
        return wp.tile_sum(wp.tile_matmul(s, s))[0]

    @wp.kernel
    def k(x: wp.array(dtype=f64), y: wp.array(dtype=f64)):
        y[0] = wp.grad(f)(x[0])

    def value(x):
        s = np.full((9, 9), x)
        s[0, 1] = x * x
        return (s @ s).sum()

    y = wp.zeros(1, dtype=f64)
    run(k, wp.array([0.7], dtype=f64), y)
    assert np.isclose(y.numpy()[0], (value(0.7 + 1e-6) - value(0.7 - 1e-6)) / 2e-6, rtol=1e-6)


def test_forward_mode():
    @wp.kernel
    def k(a: wp.array2d(dtype=f64), y: wp.array2d(dtype=f64)):
        s = wp.tile_load(a, shape=(12, 12))
        t = wp.tile_diag_add(wp.tile_matmul(s, wp.tile_transpose(s)), wp.tile_full(12, f64(2.0)))
        wp.tile_store(y, wp.tile_cholesky(t))

    x, direction = rng.normal(size=(12, 12)), rng.normal(size=(12, 12))
    a = wp.array(x, dtype=f64)
    y = wp.zeros((12, 12), dtype=f64)
    with wp.ForwardMode({a: wp.array(direction, dtype=f64)}) as forward:
        run(k, a, y)
    got = forward.tangent(y).numpy()

    def factor(v):
        return np.linalg.cholesky(v @ v.T + 2 * np.eye(12))

    np.testing.assert_allclose(got, (factor(x + 1e-6 * direction) - factor(x - 1e-6 * direction)) / 2e-6, atol=1e-6)
