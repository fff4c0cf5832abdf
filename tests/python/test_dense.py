"""The dense linear algebra of old programs: products, factors, solutions, a layer of a network; with gradients."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp


@pytest.fixture(params=[0, 1], ids=["lanes", "one lane"], autouse=True)
def lanes(request):
    wp.config.cpu_lanes = request.param
    yield
    wp.config.cpu_lanes = 0


@wp.kernel
def gemm(
    m: int,
    n: int,
    p: int,
    t1: int,
    t2: int,
    a: wp.array(dtype=float),
    b: wp.array(dtype=float),
    c: wp.array(dtype=float),
):
    wp.dense_gemm(m, n, p, t1, t2, a, b, c)


@wp.kernel
def chol(n: int, a: wp.array(dtype=float), regularization: wp.array(dtype=float), l: wp.array(dtype=float)):
    wp.dense_chol(n, a, regularization[0], l)


@wp.kernel
def subs(n: int, l: wp.array(dtype=float), b: wp.array(dtype=float), x: wp.array(dtype=float)):
    wp.dense_subs(n, l, b, x)


@wp.kernel
def solve(
    n: int,
    a: wp.array(dtype=float),
    l: wp.array(dtype=float),
    b: wp.array(dtype=float),
    x: wp.array(dtype=float),
):
    wp.dense_solve(n, a, l, b, x)


def flat(values, grad=True):
    return wp.array(np.asarray(values, dtype=np.float32).ravel(), dtype=float, requires_grad=grad)


def backward(kernel, inputs, out, seed):
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=inputs)
    tape.backward(grads={out: flat(seed, False)})


def positive(n, seed=0):
    a = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, n))
    return a @ a.T + np.eye(n)


@pytest.mark.parametrize("t1", [0, 1])
@pytest.mark.parametrize("t2", [0, 1])
def test_products(device, t1, t2):
    rng = np.random.default_rng(1)
    a, b, seed = rng.random((2, 3)), rng.random((3, 4)), rng.random((2, 4))
    first, second, out = flat(a.T if t1 else a), flat(b.T if t2 else b), flat(np.full(8, 10.0))
    backward(gemm, [2, 4, 3, t1, t2, first, second, out], out, seed)
    assert np.allclose(out.numpy().reshape(2, 4), a @ b, rtol=1e-5)
    da, db = seed @ b.T, a.T @ seed
    assert np.allclose(first.grad.numpy(), (da.T if t1 else da).ravel(), rtol=1e-5)
    assert np.allclose(second.grad.numpy(), (db.T if t2 else db).ravel(), rtol=1e-5)


def slopes(function, x, step=1e-6):
    """Derivatives of a function by differences, in float64."""
    out = np.zeros_like(x)
    for k in range(x.size):
        up, down = x.copy(), x.copy()
        up.flat[k] += step
        down.flat[k] -= step
        out.flat[k] = (function(up) - function(down)) / (2.0 * step)
    return out


def lower_factor(lower):
    """The factor of the symmetric matrix whose lower triangle this is."""
    return np.linalg.cholesky(np.tril(lower) + np.tril(lower, -1).T)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_factors(device, n):
    a, seed = positive(n), np.random.default_rng(2).random((n, n))
    given, regularization, out = flat(a), flat([0.5]), flat(np.full(n * n, 7.0))
    backward(chol, [n, given, regularization, out], out, np.tril(seed))
    got = out.numpy().reshape(n, n)
    assert np.allclose(np.tril(got), np.linalg.cholesky(a + 0.5 * np.eye(n)), atol=1e-5)
    assert np.all(got[np.triu_indices(n, 1)] == 7.0)
    want = slopes(lambda m: np.sum(np.tril(seed) * lower_factor(m + 0.5 * np.eye(n))), np.tril(a))
    assert np.allclose(given.grad.numpy().reshape(n, n), np.tril(want), atol=1e-4)
    assert np.allclose(regularization.grad.numpy()[0], np.trace(want), rtol=1e-4)


@pytest.mark.parametrize("n", [1, 3, 6])
def test_substitution(device, n):
    rng = np.random.default_rng(3)
    l, b, seed = np.linalg.cholesky(positive(n)), rng.random(n), rng.random(n)
    factor, right, x = flat(l), flat(b), flat(np.zeros(n))
    backward(subs, [n, factor, right, x], x, seed)
    assert np.allclose(x.numpy(), np.linalg.solve(l @ l.T, b), rtol=1e-4)
    want = slopes(lambda m: seed @ np.linalg.solve(m @ m.T, b), l)
    assert np.allclose(factor.grad.numpy().reshape(n, n), np.tril(want), rtol=1e-3, atol=1e-4)
    assert np.allclose(right.grad.numpy(), np.linalg.solve(l @ l.T, seed), rtol=1e-4)


def test_solution_in_place(device):
    l, b = np.linalg.cholesky(positive(3)), np.array([1.0, 2.0, 3.0])
    factor, x = flat(l, False), flat(b, False)
    wp.launch(subs, dim=1, inputs=[3, factor, x, x])
    assert np.allclose(x.numpy(), np.linalg.solve(l @ l.T, b), rtol=1e-4)


def test_gradients_of_solutions_go_to_the_matrix(device):
    a, b, seed = positive(4), np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 0.5, -0.5, 2.0])
    matrix, factor, right, x = flat(a), flat(np.linalg.cholesky(a)), flat(b), flat(np.zeros(4))
    backward(solve, [4, matrix, factor, right, x], x, seed)
    inverse = np.linalg.inv(a)
    assert np.allclose(x.numpy(), inverse @ b, rtol=1e-4)
    assert np.allclose(right.grad.numpy(), inverse @ seed, rtol=1e-4)
    assert np.allclose(matrix.grad.numpy().reshape(4, 4), -np.outer(inverse @ seed, inverse @ b), rtol=1e-3, atol=1e-5)
    assert not factor.grad.numpy().any()


@wp.kernel
def factor_and_solve(
    n: int,
    a: wp.array(dtype=float),
    l: wp.array(dtype=float),
    b: wp.array(dtype=float),
    x: wp.array(dtype=float),
):
    wp.dense_chol(n, a, 0.0, l)
    wp.dense_subs(n, l, b, x)


def test_gradients_through_the_factor(device):
    a, b, seed = positive(4), np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 0.5, -0.5, 2.0])
    matrix, factor, right, x = flat(a), flat(np.zeros(16)), flat(b), flat(np.zeros(4))
    backward(factor_and_solve, [4, matrix, factor, right, x], x, seed)

    def loss(lower):
        l = lower_factor(lower)
        return seed @ np.linalg.solve(l @ l.T, b)

    want = slopes(loss, np.tril(a))
    assert np.allclose(matrix.grad.numpy().reshape(4, 4), np.tril(want), rtol=1e-3, atol=1e-4)


# ---- one matrix for a thread -----------------------------------------------------------------------------------------


def ints(*values):
    return wp.array(values, dtype=int)


@wp.kernel
def gemm_batched(
    m: wp.array(dtype=int), n: wp.array(dtype=int), p: wp.array(dtype=int), starts: wp.array(dtype=int),
    a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float),
):  # fmt: skip
    wp.dense_gemm_batched(m, n, p, 0, 0, starts, starts, starts, a, b, c)


@wp.kernel
def solve_batched(
    v: wp.array(dtype=int), starts: wp.array(dtype=int), dims: wp.array(dtype=int), a: wp.array(dtype=float),
    l: wp.array(dtype=float), b: wp.array(dtype=float), x: wp.array(dtype=float),
):  # fmt: skip
    wp.dense_chol_batched(starts, dims, a, 0.0, l)
    wp.dense_solve_batched(v, starts, dims, a, l, b, x)


def test_batches_of_products(device):
    a, b, c = flat([1, 2, 3, 4, 5]), flat([1, 1, 0, 2, 3]), flat(np.zeros(5))
    with wp.Tape() as tape:  # more threads than matrices do nothing
        wp.launch(gemm_batched, dim=4, inputs=[ints(2, 1), ints(2, 1), ints(2, 1), ints(0, 4), a, b, c])
    assert c.numpy().tolist() == [1.0, 5.0, 3.0, 11.0, 15.0]
    tape.backward(grads={c: flat(np.ones(5), False)})
    assert a.grad.numpy().tolist() == [2.0, 2.0, 2.0, 2.0, 3.0]


def test_batches_of_systems(device):
    first, second = positive(3, 5), positive(2, 6)
    a, l = flat(np.concatenate([first.ravel(), second.ravel()])), flat(np.zeros(13))
    b, x = flat([1, 2, 3, 4, 5]), flat(np.zeros(5))
    with wp.Tape() as tape:
        wp.launch(solve_batched, dim=2, inputs=[ints(0, 3), ints(0, 9), ints(3, 2), a, l, b, x])
    want = np.concatenate([np.linalg.solve(first, [1, 2, 3]), np.linalg.solve(second, [4, 5])])
    assert np.allclose(x.numpy(), want, rtol=1e-4)
    tape.backward(grads={x: flat(np.ones(5), False)})
    back = np.concatenate([np.linalg.solve(first, np.ones(3)), np.linalg.solve(second, np.ones(2))])
    assert np.allclose(b.grad.numpy(), back, rtol=1e-3)
    matrices = np.concatenate([-np.outer(back[:3], want[:3]).ravel(), -np.outer(back[3:], want[3:]).ravel()])
    assert np.allclose(a.grad.numpy(), matrices, rtol=1e-3, atol=1e-4)


@wp.func
def in_a_function(d: wp.array(dtype=int), a: wp.array(dtype=float)):
    wp.dense_chol_batched(d, d, a, 0.0, a)


@wp.kernel
def calls_it(d: wp.array(dtype=int), a: wp.array(dtype=float)):
    in_a_function(d, a)


def test_batches_are_for_kernels(device):
    with pytest.raises(Exception, match="can only be called in a kernel"):
        wp.launch(calls_it, dim=1, inputs=[ints(1), wp.ones(1)])


# ---- networks --------------------------------------------------------------------------------------------------------


@wp.func
def soft_step(x: float):
    return wp.tanh(x)


@wp.kernel
def layer(
    weights: wp.array2d(dtype=float),
    bias: wp.array(dtype=float),
    x: wp.array2d(dtype=float),
    out: wp.array2d(dtype=float),
):
    wp.mlp(weights, bias, soft_step, wp.tid(), x, out)


def test_a_layer_of_a_network(device):
    rng = np.random.default_rng(7)
    w, b, x, seed = rng.normal(size=(3, 4)), rng.normal(size=3), rng.normal(size=(4, 5)), rng.normal(size=(3, 5))
    arrays = [wp.array(v.astype(np.float32), dtype=float, requires_grad=True) for v in (w, b, x)]
    out = wp.zeros((3, 5), requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(layer, dim=5, inputs=[*arrays, out])
    value = np.tanh(w @ x + b[:, None])
    assert np.allclose(out.numpy(), value, atol=1e-5)
    tape.backward(grads={out: wp.array(seed.astype(np.float32), dtype=float)})
    inner = seed * (1.0 - value**2)
    for got, want in zip(arrays, (inner @ x.T, inner.sum(1), w.T @ inner)):
        assert np.allclose(got.grad.numpy(), want, atol=1e-4)
