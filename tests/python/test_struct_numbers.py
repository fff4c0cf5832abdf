"""Gradients of numbers in structs that kernels are passed: sums over all threads, and over all launches of a tape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp
from tape_support import F64, X, doubles, slopes, zeros

vec3d, mat22d = wp.types.vector(3, F64), wp.types.matrix((2, 2), F64)


@wp.struct
class Spring:
    stiffness: F64
    frame: mat22d
    single: float
    half: wp.float16


@wp.struct
class Model:
    gain: F64
    offset: vec3d
    x: wp.array(dtype=F64)
    steps: int
    spring: Spring


@wp.func
def pull(s: Spring, x: F64) -> F64:
    return s.stiffness * x * x + F64(s.single) * x


@wp.kernel
def through(m: Model, y: wp.array(dtype=F64)):
    i = wp.tid()
    t = m.x[i]
    for k in range(m.steps):
        if k % 2 == 0:
            t = wp.sin(t * m.gain) + m.offset[k]
        else:
            t = t * m.offset[k] + pull(m.spring, t)
    both = m.spring.frame * wp.vec2d(t, F64(1.0))
    y[i] = both[0] + both[1] * m.gain + F64(m.spring.half)


@wp.kernel
def in_place(m: Model):
    i = wp.tid()
    m.x[i] = m.x[i] * m.gain + m.offset[0] * m.x[i] * m.x[i]


@wp.kernel
def changed(m: Model, y: wp.array(dtype=F64)):
    i = wp.tid()
    m.gain = m.gain * m.gain
    y[i] = m.gain * m.x[i]


def model(numbers: np.ndarray, x: np.ndarray = X) -> Model:
    m = Model()
    m.gain, m.offset = F64(numbers[0]), vec3d(*numbers[1:4])
    m.spring = Spring()
    m.spring.stiffness, m.spring.frame = F64(numbers[4]), mat22d(*numbers[5:9])
    m.spring.single, m.spring.half = 0.5, 0.25
    m.x, m.steps = doubles(x), 3
    return m


def flat(m: Any) -> np.ndarray:
    return np.array([m.gain, *m.offset, m.spring.stiffness, *np.array(m.spring.frame).reshape(-1)], dtype=np.float64)


NUMBERS = np.array([1.1, 0.2, 0.7, -0.3, 0.4, 1.0, 0.5, -0.2, 0.8])


@pytest.fixture(params=[0, 1, 4])
def lanes(request: pytest.FixtureRequest):
    wp.config.cpu_lanes = request.param
    yield request.param
    wp.config.cpu_lanes = 0


def test_sums_over_threads(lanes: int) -> None:
    def value(numbers: np.ndarray) -> float:
        y = zeros(5)
        wp.launch(through, 5, [model(numbers)], [y])
        return float(y.numpy() @ np.arange(1, 6))

    m, y = model(NUMBERS), zeros(5)
    with wp.Tape() as tape:
        wp.launch(through, 5, [m], [y])
    tape.backward(grads={y: np.arange(1.0, 6.0)})
    found = tape.gradients[m]
    np.testing.assert_allclose(flat(found), slopes(value, NUMBERS), rtol=1e-6, atol=1e-8)
    assert found.x is m.x.grad and found.steps == 0
    assert type(found.gain) is type(m.gain) and isinstance(found.offset, vec3d)
    assert float(found.spring.half) == 15.0 and np.isfinite(found.spring.single)
    wanted = flat(found)
    tape.backward(grads={y: np.arange(1.0, 6.0)})
    np.testing.assert_allclose(flat(tape.gradients[m]), 2 * wanted)  # gradients add up
    tape.zero()
    assert not flat(tape.gradients[m]).any()
    tape.reset()
    assert not flat(tape.gradients[m]).any()


def test_many_threads_and_launches(lanes: int) -> None:
    n = 10000
    m, y, z = model(NUMBERS, np.linspace(-1, 1, n)), zeros(n), zeros(n)
    with wp.Tape() as tape:
        wp.launch(changed, n, [m], [y])
        wp.launch(changed, n, [m], [z])
    tape.backward(grads={y: np.ones(n), z: np.arange(n)})
    wanted = 2 * NUMBERS[0] * (np.linspace(-1, 1, n) @ (1.0 + np.arange(n)))
    np.testing.assert_allclose(float(tape.gradients[m].gain), wanted, rtol=1e-9)


def test_values_that_the_kernel_overwrites(lanes: int) -> None:
    """What the gradient of a factor needs is written down."""

    def value(numbers: np.ndarray) -> float:
        m = model(numbers)
        for _ in range(3):
            wp.launch(in_place, 5, [m])
        return float(m.x.numpy().sum())

    m = model(NUMBERS)
    with wp.Tape() as tape:
        for _ in range(3):
            wp.launch(in_place, 5, [m])
    tape.backward(grads={m.x: np.ones(5)})
    np.testing.assert_allclose(flat(tape.gradients[m]), slopes(value, NUMBERS), rtol=1e-6, atol=1e-8)


def test_structs_are_told_apart() -> None:
    a, b, y = model(NUMBERS), model(NUMBERS * 2), zeros(5)
    with wp.Tape() as tape:
        wp.launch(changed, 5, [a], [y])
        wp.launch(changed, 5, [b], [y])  # overwrites it
    tape.backward(grads={y: np.ones(5)})
    assert float(tape.gradients[a].gain) == 0.0
    np.testing.assert_allclose(float(tape.gradients[b].gain), 4 * NUMBERS[0] * X.sum())


def test_launches_that_ran_again_and_graphs() -> None:
    m, y = model(NUMBERS), zeros(5)
    with wp.Tape() as tape:
        wp.launch(changed, 5, [m], [y])
    m.x.assign(X * 3)
    wp.launch(changed, 5, [m], [y])
    tape.backward(grads={y: np.ones(5)})
    np.testing.assert_allclose(float(tape.gradients[m].gain), 2 * NUMBERS[0] * X.sum() * 3)
    seed = doubles(np.ones(5))
    with wp.ScopedCapture() as capture:
        tape.zero()
        wp.launch(changed, 5, [m], [y])
        tape.backward(grads={y: seed})
    for k in range(1, 3):
        m.x.assign(X * k)
        wp.capture_launch(capture.graph)
        np.testing.assert_allclose(float(tape.gradients[m].gain), 2 * NUMBERS[0] * X.sum() * k)


def test_first_gone_back_in_a_graph() -> None:
    m, y, seed = model(NUMBERS), zeros(5), doubles(np.ones(5))
    with wp.Tape() as tape:
        wp.launch(changed, 5, [m], [y])
    with wp.ScopedCapture() as capture:
        tape.zero()
        wp.launch(changed, 5, [m], [y])
        tape.backward(grads={y: seed})
    for k in range(1, 4):
        m.x.assign(X * k)
        wp.capture_launch(capture.graph)
        np.testing.assert_allclose(float(tape.gradients[m].gain), 2 * NUMBERS[0] * X.sum() * k)


def test_arrays_without_gradients() -> None:
    """Only the result has one: nothing else is asked for."""
    m, y = model(NUMBERS), zeros(5)
    m.x = doubles(X, grad=False)
    with wp.Tape() as tape:
        wp.launch(changed, 5, [m], [y])
    tape.backward(grads={y: np.ones(5)})
    found = tape.gradients[m]
    np.testing.assert_allclose(float(found.gain), 2 * NUMBERS[0] * X.sum())
    assert not found.x


def test_plain_numbers_have_none() -> None:
    @wp.kernel
    def scale(s: F64, x: wp.array(dtype=F64), y: wp.array(dtype=F64)):
        i = wp.tid()
        y[i] = s * x[i]

    x, y = doubles(X), zeros(5)
    with wp.Tape() as tape:
        wp.launch(scale, 5, [2.0, x], [y])
    tape.backward(grads={y: np.ones(5)})
    np.testing.assert_allclose(x.grad.numpy(), np.full(5, 2.0))
    assert {id(one) for one in tape.gradients} == {id(x), id(y)}


@wp.struct
class Lengths:
    stiffness: F64
    x: wp.array(dtype=F64)


@wp.func
def energy(s: Lengths, i: int) -> F64:
    return F64(0.5) * s.stiffness * s.x[i] * s.x[i]


@wp.func_grad(energy)
def adj_energy(s: Lengths, i: int, adj_ret: F64):
    wp.adjoint[s].x[i] += F64(100.0) * s.stiffness * s.x[i] * adj_ret


@wp.kernel
def energies(s: Lengths, y: wp.array(dtype=F64)):
    i = wp.tid()
    y[i] = F64(2.0) * energy(s, i)


def test_functions_with_gradients_of_their_own_get_structs_of_numbers_and_arrays() -> None:
    """Without a tape the number has no gradient; the array beside it has."""
    s, y = Lengths(), zeros(9)
    s.stiffness, s.x = 3.0, doubles(np.arange(9.0))
    wp.launch(energies, 9, [s, y])
    np.testing.assert_allclose(y.numpy(), 3.0 * np.arange(9.0) ** 2)
    y.grad.fill_(1.0)
    wp.launch(energies, 9, [s, y], adjoint=True)
    np.testing.assert_allclose(s.x.grad.numpy(), 600.0 * np.arange(9.0))
