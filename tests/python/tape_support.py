"""Kernels and checks that the tests of tapes share."""


from __future__ import annotations

from typing import Any, Callable

import numpy as np
import warp as wp

F64 = wp.float64


@wp.kernel
def square(x: wp.array(dtype=F64), y: wp.array(dtype=F64)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def double(x: wp.array(dtype=F64), y: wp.array(dtype=F64)):
    i = wp.tid()
    y[i] = F64(2.0) * x[i]


@wp.kernel
def sine_in_place(x: wp.array(dtype=F64)):
    i = wp.tid()
    x[i] = wp.sin(x[i]) + x[i]


@wp.kernel
def weigh(x: wp.array(dtype=F64), loss: wp.array(dtype=F64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, F64(i + 1) * wp.sin(x[i]))


@wp.kernel
def weigh_linear(x: wp.array(dtype=F64), loss: wp.array(dtype=F64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, F64(i + 1) * x[i])


@wp.kernel
def gather(x: wp.array(dtype=F64), index: wp.array(dtype=int), y: wp.array(dtype=F64)):
    i = wp.tid()
    y[i] = x[index[i]] * x[index[i]]


@wp.struct
class Inner:
    y: wp.array(dtype=F64)
    scale: F64


@wp.struct
class Outer:
    x: wp.array(dtype=F64)
    inner: Inner
    n: int


@wp.kernel
def through_struct(s: Outer, loss: wp.array(dtype=F64)):
    i = wp.tid()
    s.inner.y[i] = s.x[i] * s.x[i] * s.inner.scale
    wp.atomic_add(loss, 0, s.x[i])


def doubles(values: Any, grad: bool = True) -> wp.array:
    return wp.array(np.asarray(values, np.float64), dtype=F64, requires_grad=grad)


def zeros(n: int, grad: bool = True) -> wp.array:
    return wp.zeros(n, dtype=F64, requires_grad=grad)


def slopes(f: Callable[[np.ndarray], float], x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    out = np.zeros(x.shape)
    for k in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[k] += step
        down[k] -= step
        out[k] = (f(up) - f(down)) / (2 * step)
    return out


def check(forward: Callable[[wp.array], wp.array], x: np.ndarray, tolerance: float = 1e-6, **options: Any) -> wp.Tape:
    """The gradient of a loss, an array of one element, by a tape, against central differences."""

    def run(values: np.ndarray) -> float:
        return float(forward(wp.array(values, dtype=F64)).numpy().ravel()[0])

    given = wp.array(x, dtype=F64, requires_grad=True)
    tape = wp.Tape(**options)
    with tape:
        loss = forward(given)
    tape.backward(loss)
    expected = slopes(run, x)
    np.testing.assert_allclose(given.grad.numpy(), expected, rtol=tolerance, atol=tolerance * max(1.0, abs(expected).max()))
    first = given.grad.numpy().copy()
    tape.zero()
    tape.backward(loss)
    np.testing.assert_array_equal(given.grad.numpy(), first)
    return tape


def total(x: wp.array) -> wp.array:
    loss = zeros(1)
    wp.launch(weigh, x.size, [x], [loss])
    return loss


X = np.array([0.3, -0.7, 1.1, 0.5, 2.0])
