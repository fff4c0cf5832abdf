"""wp.grad(f)(…) inside kernels: derivatives of functions as values, differentiable themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp
from warp import grad


@pytest.fixture(params=[0, 1, 4, 16])
def lanes(request: pytest.FixtureRequest):
    wp.config.cpu_lanes = request.param
    yield request.param
    wp.config.cpu_lanes = 0


def run(kernel: wp.Kernel, x: np.ndarray, dtype: Any = wp.float64, backward: bool = False) -> tuple:
    """What the kernel writes for x, and the derivative of the sum of that."""
    a = wp.array(x, dtype=dtype, requires_grad=True)
    out = wp.zeros(len(x), dtype=wp.float64, requires_grad=True)
    wp.launch(kernel, len(x), [a], [out])
    result = out.numpy()
    if backward:
        out.grad.fill_(1.0)
        wp.launch(kernel, len(x), [a], [out], adj_inputs=[None], adj_outputs=[None], adjoint=True)
    return result, a.grad.numpy()


@wp.func
def wave(x: wp.float64, y: wp.float64):
    return x * x * y + wp.sin(y)


@wp.kernel
def slopes(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    dx, dy = wp.grad(wave)(x[i], wp.float64(3.0))
    out[i] = dx + wp.float64(100.0) * dy


def test_one_derivative_per_argument(lanes: int) -> None:
    x = np.linspace(-2, 2, 21)
    got, second = run(slopes, x, backward=True)
    np.testing.assert_allclose(got, 6 * x + 100 * (x * x + np.cos(3.0)), rtol=1e-12)
    np.testing.assert_allclose(second, 6 + 200 * x, rtol=1e-12)


@wp.func
def square_norm(v: wp.vec3d):
    return wp.dot(v, v)


df = wp.grad(square_norm)


@wp.kernel
def of_vectors(v: wp.array(dtype=wp.vec3d), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    g = wp.grad(square_norm)(v[i])
    h = df(v[i])
    out[i] = g[0] + g[1] * g[2] + h[0]


def test_one_argument_gives_one_value(lanes: int) -> None:
    v = np.arange(15.0).reshape(5, 3)
    got, second = run(of_vectors, v, wp.vec3d, backward=True)
    np.testing.assert_allclose(got, 4 * v[:, 0] + 4 * v[:, 1] * v[:, 2])
    np.testing.assert_allclose(second, np.stack([np.full(5, 4.0), 4 * v[:, 2], 4 * v[:, 1]], 1))


@wp.func
def pair(x: wp.float64, n: int):
    return x * x * wp.float64(n), wp.float64(3.0) * x, n


@wp.kernel
def of_pairs(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    dx, dn = grad(pair)(x[i], n=2)
    out[i] = dx + wp.float64(dn)


def test_results_are_summed_and_integers_get_zero() -> None:
    x = np.arange(4.0)
    np.testing.assert_allclose(run(of_pairs, x)[0], 4 * x + 3)


@wp.kernel
def of_builtins(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    d = wp.grad(wp.sin)
    da, db = wp.grad(wp.pow)(x[i], y=wp.float64(2.5))
    out[i] = d(x[i]) + da


def test_builtins(lanes: int) -> None:
    x = np.linspace(0.5, 2, 7)
    got, second = run(of_builtins, x, backward=True)
    np.testing.assert_allclose(got, np.cos(x) + 2.5 * x**1.5, rtol=1e-9)
    np.testing.assert_allclose(second, -np.sin(x) + 3.75 * x**0.5, rtol=1e-9)


@wp.func
def generic_cube(x: Any):
    return x * x * x


@wp.func
def slope_of_cube(x: Any):
    return wp.grad(generic_cube)(x)


@wp.func
def curvature_of_cube(x: Any):
    return wp.grad(slope_of_cube)(x)


@wp.kernel
def nested(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = wp.grad(curvature_of_cube)(x[i]) + curvature_of_cube(x[i])


def test_derivatives_of_derivatives(lanes: int) -> None:
    x = np.linspace(-1, 1, 9)
    got, fourth = run(nested, x, backward=True)
    np.testing.assert_allclose(got, 6 + 6 * x, rtol=1e-12)
    np.testing.assert_allclose(fourth, np.full(9, 6.0))


@wp.func
def weighted(w: wp.array(dtype=wp.float64), x: wp.float64, i: int):
    return w[i] * w[i] * x * x


@wp.kernel
def of_arrays(w: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    unused, dx, di = wp.grad(weighted)(w, wp.float64(3.0), i)
    out[i] = dx


def test_arrays_are_constants_and_still_differentiable() -> None:
    w = np.arange(6.0)
    a = wp.array(w, dtype=wp.float64, requires_grad=True)
    out = wp.zeros(6, dtype=wp.float64, requires_grad=True)
    wp.launch(of_arrays, 6, [a], [out])
    np.testing.assert_allclose(out.numpy(), 6 * w * w)
    assert (a.grad.numpy() == 0).all()  # the forward pass adds to nobody's gradient
    np.testing.assert_allclose(run(of_arrays, w, backward=True)[1], 12 * w)


@wp.func
def stepped(x: wp.float64):
    s = x
    for k in range(4):
        if s > wp.float64(0.0):
            s = s * x + wp.float64(k)
        else:
            s = s - x
    return s


@wp.kernel
def of_loops(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = wp.grad(stepped)(x[i])


@wp.func
def long_run(x: wp.float64, n: int):
    s = x
    for k in range(n):
        s = s + wp.float64(0.1) * wp.sin(s)
    return s


@wp.kernel
def of_long_loops(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    d, dn = wp.grad(long_run)(x[i], 10 * (i + 1))
    out[i] = d


def python_steps(x: float) -> float:
    s = x
    for k in range(4):
        s = s * x + k if s > 0 else s - x
    return s


def test_control_flow(lanes: int) -> None:
    x = np.linspace(-1.05, 1.1, 13)
    slope = [(python_steps(v + 1e-6) - python_steps(v - 1e-6)) / 2e-6 for v in x]
    np.testing.assert_allclose(run(of_loops, x)[0], slope, rtol=1e-6, atol=1e-8)
    wanted = []
    for i, v in enumerate(x):
        s, d = v, 1.0
        for _ in range(10 * (i + 1)):
            s, d = s + 0.1 * np.sin(s), d * (1 + 0.1 * np.cos(s))
        wanted.append(d)
    np.testing.assert_allclose(run(of_long_loops, x)[0], wanted, rtol=1e-9)


def test_second_derivatives_through_long_loops(lanes: int) -> None:
    x = np.linspace(0.1, 1.0, 7)
    a = wp.array(x, dtype=wp.float64, requires_grad=True)
    out = wp.zeros(7, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(of_long_loops, 7, [a], [out])
    out.grad.fill_(1.0)
    tape.backward()
    slope = (run(of_long_loops, x + 1e-6)[0] - run(of_long_loops, x - 1e-6)[0]) / 2e-6
    np.testing.assert_allclose(a.grad.numpy(), slope, rtol=1e-6, atol=1e-8)


@wp.func
def custom(x: wp.float64):
    return x * x


@wp.func_grad(custom)
def adj_custom(x: wp.float64, adj_ret: wp.float64):
    wp.adjoint[x] += wp.float64(5.0) * x * adj_ret


@wp.func
def through(x: wp.float64):
    return custom(x) + x


@wp.kernel
def of_custom(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = wp.grad(custom)(x[i]) + wp.grad(through)(x[i])


def test_custom_gradients_count(lanes: int) -> None:
    x = np.linspace(-1, 1, 5)
    got, second = run(of_custom, x, backward=True)
    np.testing.assert_allclose(got, 10 * x + 1)
    np.testing.assert_allclose(second, np.full(5, 10.0))


@wp.struct
class State:
    p: wp.vec3d
    m: wp.float64
    n: int


@wp.func
def energy(s: State):
    return s.m * wp.dot(s.p, s.p) * wp.float64(s.n)


@wp.kernel
def of_structs(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    s = State()
    s.p = wp.vec3d(x[i], wp.float64(1.0), wp.float64(2.0))
    s.m = wp.float64(0.5)
    s.n = 4
    g = wp.grad(energy)(s)
    out[i] = g.p[0] + g.m


def test_structs(lanes: int) -> None:
    x = np.linspace(-1, 1, 5)
    got, second = run(of_structs, x, backward=True)
    np.testing.assert_allclose(got, 4 * x + 4 * (x * x + 5))
    np.testing.assert_allclose(second, 4 + 8 * x)


@wp.func
def counting(n: int):
    return n + 1


@wp.kernel
def of_integers(out: wp.array(dtype=int)):
    out[0] = wp.grad(counting)(3)


@wp.kernel
def of_nothing(out: wp.array(dtype=float)):
    out[0] = wp.grad(3)(3)


@wp.func
def itself(x: float):
    return x * x


@wp.func_grad(itself)
def adj_itself(x: float, adj_ret: float):
    wp.adjoint[x] += wp.grad(itself)(x) * adj_ret


@wp.kernel
def of_itself(out: wp.array(dtype=float)):
    out[0] = wp.grad(itself)(out[0])


@wp.func
def adding(a: wp.array(dtype=float), x: float):
    return a[0] * x


@wp.func_grad(adding)
def adj_adding(a: wp.array(dtype=float), x: float, adj_ret: float):
    wp.adjoint[a][0] += x * adj_ret


@wp.kernel
def of_adding(out: wp.array(dtype=float)):
    a, x = wp.grad(adding)(out, 2.0)
    out[0] = x


def test_mistakes() -> None:
    out = wp.zeros(1, dtype=float)
    with pytest.raises(RuntimeError, match="'counting' returns nothing that has a derivative"):
        wp.launch(of_integers, 1, [wp.zeros(1, dtype=int)])
    with pytest.raises(RuntimeError, match=r"grad\(\) takes one function"):
        wp.launch(of_nothing, 1, [out])
    with pytest.raises(RuntimeError, match="this derivative is needed to compute itself"):
        wp.launch(of_itself, 1, [out])
    with pytest.raises(RuntimeError, match="wp.grad can't pass through 'adding', which works on arrays"):
        wp.launch(of_adding, 1, [out])
    with pytest.raises(RuntimeError, match="only be called in kernels"):
        wp.grad(wave)(1.0, 2.0)
    with pytest.raises(TypeError, match="wp.grad takes a function"):
        wp.grad(3)
