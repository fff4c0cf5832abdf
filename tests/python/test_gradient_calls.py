"""Gradients through functions of every kind, against differences."""

from typing import Any

import numpy as np
import pytest
import warp as wp
from gradient_cases import collector, d

CASES, case = collector()
N5 = [0, 1, 4, 7, 2]
vec3 = wp.vec3d


@wp.func
def square(a: d):
    return a * a


@wp.func
def several(a: d, b: d):
    return wp.sin(a) * b, a * b, b


@wp.func
def early(a: d, n: int) -> d:
    if n == 0:
        return a
    s = a
    for j in range(n):
        s = s * a + d(0.1)
        if s > d(2.0):
            return s * s
    return s * d(0.5)


@wp.func
def nested(a: d, n: int) -> d:
    return early(square(a), n) + square(early(a, n + 1))


@wp.func
def writes(x: wp.array(dtype=d), i: int, v: d):
    x[i] = x[i] * v
    return x[i] + v


@wp.func
def sums(x: wp.array(dtype=d), n: int) -> d:
    s = d(0.0)
    for j in range(n):
        s += x[j] * x[j]
    return s


@wp.func
def generic(a: Any, b: Any):
    return a * b + a


@wp.func
def generic_array(x: wp.array(dtype=Any), i: int):
    return x[i] * x[i]


@wp.func
def poly(a: d):
    return a * a * a - a


@wp.func
def trig(a: d):
    return wp.sin(a) * wp.cos(a)


@wp.func
def apply(f: wp.Function, a: d, n: int):
    s = a
    for j in range(n):
        s = f(s) * d(0.5) + a
    return s


@wp.func
def no_result(x: wp.array(dtype=d), i: int, v: d):
    if v > d(0.0):
        x[i] = v * v
    else:
        x[i] = v


@wp.struct
class State:
    p: wp.vec3d
    v: wp.vec3d


@wp.func
def step_state(s: State, dt: d):
    t = State()
    t.v = s.v - s.p * dt
    t.p = s.p + t.v * dt
    return t


@wp.func
def mutates_argument(v: wp.vec3d):
    v[0] = v[1] * v[2]
    return v * v[0]


@case()
@wp.kernel
def call(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = square(x[i]) * square(square(x[0]))


@case(n=N5)
@wp.kernel
def several_results(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a, b, c = several(x[i], x[0])
    for j in range(n[i]):
        a, b, c = several(b, wp.cos(c) + a)
    out[i] = a * b + c


@case(n=N5)
@wp.kernel
def early_returns(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = early(x[i], n[i]) * nested(x[i], n[i])


@case(n=N5)
@wp.kernel
def array_arguments(x: wp.array(dtype=d), y: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i]):
        s = wp.sin(s) + writes(y, i, s)
    out[i] = s


@case(n=N5)
@wp.kernel
def same_array_twice_in_a_call(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = writes(x, i, d(0.7))
    b = writes(x, i, a)
    out[i] = a * b * x[i]


@case()
@wp.kernel
def sums_over_an_array(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = sums(x, i + 1) * x[i]


@case()
@wp.kernel
def generics(x: wp.array(dtype=d), v: wp.array(dtype=vec3), out: wp.array(dtype=vec3)):
    i = wp.tid()
    a = generic(x[i], x[0])
    out[i] = generic(v[i], a) + wp.vec3d(generic_array(x, i))


@case(n=N5)
@wp.kernel
def function_references(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    f = poly
    a = apply(f, x[i], n[i])
    b = apply(trig, x[i], n[i])
    out[i] = a * b


@case(n=N5)
@wp.kernel
def procedures(x: wp.array(dtype=d), y: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    no_result(out, i, x[i])
    no_result(y, i, out[i] * y[i])


@case(n=N5)
@wp.kernel
def structs_through_calls(x: wp.array(dtype=vec3), n: wp.array(dtype=int), out: wp.array(dtype=vec3)):
    i = wp.tid()
    s = State(x[i], x[0])
    for j in range(n[i] + 2):
        s = step_state(s, d(0.1) + s.p[0] * d(0.01))
    out[i] = s.p + s.v * s.p[1]


@case()
@wp.kernel
def arguments_are_values(x: wp.array(dtype=vec3), out: wp.array(dtype=vec3)):
    i = wp.tid()
    v = x[i]
    u = mutates_argument(v)
    out[i] = u + v * u[1]


CONST = wp.constant(d(0.37))
POWERS = 4


@case()
@wp.kernel
def statics(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(wp.static(POWERS + 1)):
        s = s * wp.static(d(0.5) + d(0.25)) + CONST * x[i]
    f = wp.static([poly, trig][1])
    out[i] = f(s) + wp.static(poly)(s)


def make(scale: float, exponent: int):
    @wp.func
    def inner(a: d):
        s = d(1.0)
        for j in range(exponent):
            s = s * a
        return s * d(scale)

    @wp.kernel
    def closure(x: wp.array(dtype=d), out: wp.array(dtype=d)):
        i = wp.tid()
        out[i] = inner(x[i]) + inner(x[0]) * d(scale)

    return closure


case()(make(0.5, 3))
case()(make(-1.25, 5))


@wp.func
def custom(a: d, b: d):
    return a * a * b


@wp.func_grad(custom)
def adj_custom(a: d, b: d, adj: d):
    wp.adjoint[a] += d(2.0) * a * b * adj
    wp.adjoint[b] += a * a * adj


@case(n=N5)
@wp.kernel
def custom_gradients(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i]):
        s = custom(s, x[j % 5]) + d(0.4)
        if s > d(1.0):
            s = wp.sin(s)
            break
    out[i] = s * custom(x[i], s)


@wp.func
def reads(x: wp.array(dtype=d), i: int):
    return x[i] * x[i] * x[i]


@wp.func_grad(reads)
def adj_reads(x: wp.array(dtype=d), i: int, adj: d):
    wp.adjoint[x][i] += d(3.0) * x[i] * x[i] * adj


@case(forward=False)
@wp.kernel
def custom_array_gradients(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = reads(x, i) * reads(x, 0)


@case()
@wp.kernel
def derivative_inside(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = wp.grad(poly)(x[i]) * x[i]


@case()
@wp.kernel
def newton_by_derivative(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    s = d(1.3) + x[i] * d(0.1)
    for j in range(3):
        s = s - (poly(s) - x[i]) / wp.grad(poly)(s)
    out[i] = s


@case(n=N5)
@wp.kernel
def many_calls(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i]):
        s = trig(s) + poly(s * d(0.5)) * early(s, j)
    out[i] = s


@wp.func
def default_args(a: d, b: d = d(2.0)):
    return a * b * a


@case()
@wp.kernel
def defaults(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = default_args(x[i]) + default_args(x[i], x[0]) + default_args(b=x[i], a=x[1])


@wp.func
def fact_array(x: wp.array(dtype=d), i: int, out: wp.array(dtype=d)):
    for j in range(3):
        wp.atomic_add(out, (i + j) % 5, x[i] * d(j) * x[i])
    return x[i]


@case()
@wp.kernel
def atomics_in_functions(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    s = fact_array(x, i, out)
    wp.atomic_add(out, 0, s * s)


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.name)
def test_agrees_with_differences(case) -> None:
    case.check()


@wp.func
def cube_at(x: wp.array(dtype=d), i: int):
    return x[i] * x[i] * x[i]


@wp.func_grad(cube_at)
def adj_cube_at(x: wp.array(dtype=d), i: int, adj: d):
    wp.adjoint[x][i] += d(3.0) * x[i] * x[i] * adj


@wp.kernel
def overwrites_behind(x: wp.array(dtype=d), y: wp.array(dtype=d)):
    i = wp.tid()
    y[i] = cube_at(x, i)
    x[i] = y[i]


@wp.kernel
def overwrites_before(x: wp.array(dtype=d), y: wp.array(dtype=d)):
    i = wp.tid()
    x[i] = x[i] * x[i]
    y[i] = cube_at(x, i)


def test_gradients_that_would_read_what_was_overwritten_are_refused() -> None:
    x = wp.array([1.0, 2.0], dtype=d, requires_grad=True)
    y = wp.zeros(2, dtype=d, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(overwrites_behind, 2, [x, y])
    with pytest.raises(RuntimeError, match="the gradient of 'cube_at' reads an array that the kernel may overwrite"):
        tape.backward(grads={y: wp.ones(2, dtype=d)})


def test_gradients_may_read_what_was_written_before() -> None:
    x = wp.array([1.0, 2.0], dtype=d, requires_grad=True)
    y = wp.zeros(2, dtype=d, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(overwrites_before, 2, [x, y])
    tape.backward(grads={y: wp.ones(2, dtype=d)})
    np.testing.assert_allclose(x.grad.numpy(), [6.0, 6.0 * 2.0**5])
