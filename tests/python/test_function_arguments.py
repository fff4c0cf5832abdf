"""Functions as arguments of functions in kernels: default values, and derivatives of what takes them."""

from __future__ import annotations

import warp as wp


@wp.func
def square(x: float):
    return x * x


@wp.func
def apply(f: wp.Function, x: float):
    return f(x)


@wp.func
def twice(x: float, f: wp.Function = square):
    return 2.0 * f(x)


@wp.func
def rooted(x: float, f: wp.Function = wp.sqrt, by: float = 3.0):
    return by * f(x)


@wp.kernel
def with_defaults(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[0] = twice(x[0])
    y[1] = twice(x[0], wp.sqrt)
    y[2] = rooted(x[0])
    y[3] = rooted(x[0], f=square, by=1.0)


def test_default_values():
    x, y = wp.array([4.0], dtype=float, requires_grad=True), wp.zeros(4, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(with_defaults, dim=1, inputs=[x], outputs=[y])
    assert y.numpy().tolist() == [32.0, 4.0, 6.0, 16.0]
    tape.backward(grads={y: wp.array([1.0, 0.0, 0.0, 10.0], dtype=float)})
    assert x.grad.numpy().tolist() == [96.0]


@wp.kernel
def derivatives(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[0] = wp.grad(apply)(square, x[0])
    y[1] = wp.grad(twice)(x[0])
    y[2] = wp.grad(apply)(wp.sqrt, x[0])
    d_x, d_by = wp.grad(rooted)(x[0], square, 3.0)
    y[3] = d_x + 100.0 * d_by


def test_functions_have_no_place_among_derivatives():
    y = wp.zeros(4)
    wp.launch(derivatives, dim=1, inputs=[wp.array([4.0], dtype=float)], outputs=[y])
    assert y.numpy().tolist() == [8.0, 16.0, 0.25, 24.0 + 1600.0]


def test_ranges_of_bools():
    flag = True

    @wp.kernel
    def count(n: wp.array(dtype=int)):
        for _ in range(wp.static(flag)):
            n[0] += 1
        for _ in range(n[0] > 5):
            n[0] += 1

    n = wp.zeros(1, dtype=int)
    wp.launch(count, dim=1, inputs=[n])
    assert n.numpy()[0] == 1
