"""Gradients of private arrays that leave branches, are chosen between, returned, and held by structs: early returns
make such programs of the plainest ones."""

import numpy as np
import pytest
import warp as wp
from gradient_cases import collector, d

CASES, case = collector()
N5 = [0, 1, 4, 7, 2]
A = wp.array(dtype=d)
A2 = wp.array2d(dtype=d)
I = wp.array(dtype=int)


@wp.struct
class Holder:
    a: wp.array(dtype=d)
    s: d


@case(n=N5)
@wp.kernel
def made_between_returns(x: A, n: I, out: A):
    i = wp.tid()
    if i > 3:
        return
    a = wp.zeros(shape=(6,), dtype=d)
    a[n[i] % 6] = x[i]
    if n[i] == 4:
        return
    out[i] = a[n[i] % 6] * a[n[i] % 6] * x[0]


@case(n=N5)
@wp.kernel
def made_in_both_branches(x: A, n: I, out: A):
    i = wp.tid()
    if n[i] > 1:
        a = wp.zeros(shape=(6,), dtype=d)
        a[n[i] % 6] = x[i] * x[i]
        b = a[n[i] % 6]
    else:
        a = wp.zeros(shape=(6,), dtype=d)
        a[2] = x[i]
        b = a[2]
    out[i] = a[n[i] % 6] * a[2] + b * a[2]


@case(n=N5)
@wp.kernel
def made_in_both_branches_large(x: A, n: I, out: A):
    i = wp.tid()
    if n[i] > 1:
        a = wp.zeros(shape=(100,), dtype=d)
        a[n[i] % 6] = x[i] * x[i]
        b = a[n[i] % 6]
    else:
        a = wp.zeros(shape=(100,), dtype=d)
        a[2] = x[i]
        b = a[2]
    out[i] = a[n[i] % 6] * a[2] + b * a[2]


@wp.func
def first_products(x: d, n: int):
    a = wp.zeros(shape=(4,), dtype=d)
    if n == 1:
        a[1] = x
        return a
    for k in range(4):
        a[k] = x * d(k)
        if k == n:
            return a
    return a


@case(n=N5)
@wp.kernel
def returned_early(x: A, n: I, out: A):
    i = wp.tid()
    a = first_products(x[i], n[i])
    b = first_products(x[0] * x[i], 1)
    a[1] = a[2] * b[1] + a[1]
    out[i] = a[1] * a[n[i] % 4] + b[n[i] % 4]


@case(n=N5)
@wp.kernel
def ping_pong(x: A, n: I, out: A):
    i = wp.tid()
    a = wp.zeros(shape=(4,), dtype=d)
    b = wp.zeros(shape=(4,), dtype=d)
    for k in range(4):
        a[k] = x[(i + k) % 5]
    for k in range(n[i]):
        for j in range(4):
            b[j] = a[j] * a[(j + 1) % 4] + d(0.3)
        a, b = b, a
    out[i] = a[0] * b[1]


@case(n=N5)
@wp.kernel
def ping_pong_large(x: A, n: I, out: A):
    i = wp.tid()
    a = wp.zeros(shape=(70,), dtype=d)
    b = wp.zeros(shape=(70,), dtype=d)
    for k in range(4):
        a[k] = x[(i + k) % 5]
    for k in range(n[i]):
        for j in range(4):
            b[j] = a[j] * a[(j + 1) % 4] + d(0.3)
        t = a
        a = b
        b = t
    out[i] = a[0] * b[1]


@case(n=N5)
@wp.kernel
def chosen_between(x: A, n: I, out: A):
    i = wp.tid()
    a = wp.zeros(shape=(4,), dtype=d)
    b = wp.zeros(shape=(4,), dtype=d)
    a[0] = x[i]
    b[0] = x[0]
    a[1] = x[1]
    b[1] = x[2]
    c = a
    if n[i] > 1:
        c = b
    c[1] = c[0] * c[1]
    c = b if n[i] == 4 else a
    c[2] += c[1]
    out[i] = a[1] * b[1] * c[0] + a[2] * b[2] + c[2]


@case(n=N5)
@wp.kernel
def private_or_parameter(x: A, n: I, out: A, w: A2):
    i = wp.tid()
    a = wp.zeros(shape=(5,), dtype=d)
    a[0] = x[i]
    a[1] = x[0]
    c = w[i]
    if n[i] > 1:
        c = a
    c[1] = c[0] * c[1] + x[i]
    out[i] = c[1] * a[1] + a[0]


@case(n=N5)
@wp.kernel
def returns_in_a_loop(x: A, n: I, out: A):
    i = wp.tid()
    for k in range(n[i]):
        a = wp.zeros(shape=(5,), dtype=d)
        a[k % 5] = x[i] * d(k + 1)
        if k == 3:
            return
        a[(k + 1) % 5] = a[k % 5] * x[0]
        if x[i] < d(-5.0):
            continue
        out[i] = out[i] * d(0.5) + a[(k + 1) % 5] * a[k % 5]


@case(n=N5)
@wp.kernel
def vectors_between_returns(x: A, n: I, out: A):
    i = wp.tid()
    if i > 3:
        return
    a = wp.zeros(shape=(3,), dtype=wp.vec3d)
    a[n[i] % 3] = wp.vec3d(x[i], x[0], d(1.0))
    if n[i] == 4:
        return
    row = a[n[i] % 3]
    a[1][2] = row[0] * row[1]
    out[i] = wp.dot(a[1], a[n[i] % 3])


@case(n=N5)
@wp.kernel
def rows_between_returns(x: A, n: I, out: A):
    i = wp.tid()
    if i > 3:
        return
    a = wp.zeros(shape=(3,2), dtype=d)
    a[n[i] % 3, 1] = x[i]
    if n[i] == 4:
        return
    row = a[n[i] % 3]
    row[0] = row[1] * x[0]
    if n[i] == 1:
        return
    out[i] = row[0] * a[n[i] % 3, 1]


@case(n=N5)
@wp.kernel
def return_from_while(x: A, n: I, out: A):
    i = wp.tid()
    k = int(0)
    w = wp.zeros(shape=(3,), dtype=d)
    while True:
        k += 1
        if k > n[i]:
            return
        w[k % 3] = x[i] * d(k) + w[(k + 1) % 3]
        if k == 5:
            break
        out[i] = w[k % 3] * w[(k + 2) % 3]
    out[i] = w[0] * out[i]


@case(n=N5)
@wp.kernel
def held_by_a_struct(x: A, n: I, out: A):
    i = wp.tid()
    h = Holder()
    a = wp.zeros(shape=(4,), dtype=d)
    h.a = a
    h.a[n[i] % 4] = x[i]
    a[(n[i] + 1) % 4] = h.a[n[i] % 4] * x[0]
    out[i] = h.a[(n[i] + 1) % 4] * a[n[i] % 4]


@case(n=N5)
@wp.kernel
def struct_between_returns(x: A, n: I, out: A):
    i = wp.tid()
    if i > 3:
        return
    h = Holder()
    h.a = wp.zeros(shape=(4,), dtype=d)
    h.a[n[i] % 4] = x[i]
    h.s = x[i] * x[0]
    if n[i] == 4:
        return
    h.a[(n[i] + 1) % 4] = h.a[n[i] % 4] * h.s
    out[i] = h.a[(n[i] + 1) % 4]


@case(n=N5)
@wp.kernel
def best_so_far(x: A, n: I, out: A):
    i = wp.tid()
    a = wp.zeros(shape=(4,), dtype=d)
    b = wp.zeros(shape=(4,), dtype=d)
    for k in range(4):
        a[k] = x[(i + k) % 5]
        b[k] = x[(i * 2 + k) % 5] * x[i]
    best = a
    for k in range(n[i]):
        if b[k % 4] > best[k % 4]:
            best = b
        best[k % 4] = best[k % 4] * x[i] + d(0.1)
        if k == 3:
            best = a
    out[i] = best[0] * best[1] + a[2] * b[2]


@case(n=N5)
@wp.kernel
def ternary_of_arrays(x: A, n: I, out: A):
    i = wp.tid()
    a = wp.zeros(shape=(80,), dtype=d)
    b = wp.zeros(shape=(80,), dtype=d)
    for k in range(n[i] + 1):
        c = a if k % 2 == 0 else b
        e = b if k % 3 == 0 else a
        c[k % 4] = e[(k + 1) % 4] * x[i] + x[k % 5]
        e[k % 3] += c[k % 4] * c[k % 4]
    out[i] = a[0] * b[1] + a[1] * b[0]


@case(n=N5)
@wp.kernel
def made_in_branches_of_a_loop(x: A, n: I, out: A):
    i = wp.tid()
    s = x[i]
    for k in range(n[i]):
        if k % 2 == 0:
            w = wp.zeros(shape=(3,), dtype=d)
            w[k % 3] = s
        else:
            w = wp.zeros(shape=(3,), dtype=d)
            w[0] = s * s
            w[2] = x[0]
        if k == 5:
            break
        w[1] = w[0] * w[2] + w[k % 3]
        s = wp.sin(w[1]) + w[k % 3]
    out[i] = s


@case(n=N5)
@wp.kernel
def view_of_choice(x: A, n: I, out: A):
    i = wp.tid()
    a = wp.zeros(shape=(3,2), dtype=d)
    b = wp.zeros(shape=(3,2), dtype=d)
    c = a
    if n[i] > 1:
        c = b
    r = c[n[i] % 3]
    r[1] = x[i]
    r[0] = r[1] * x[0]
    q = a[n[i] % 3]
    q[1] += x[i] * q[0]
    out[i] = a[n[i] % 3, 1] * x[i] + b[n[i] % 3, 0] + c[n[i] % 3, 1] * c[n[i] % 3, 0]


@case(n=N5)
@wp.kernel
def private_or_view(x: A, n: I, out: A, w: A2):
    i = wp.tid()
    a = wp.zeros(shape=(5,), dtype=d)
    for k in range(n[i]):
        c = w[i] if k % 2 == 0 else a
        c[k % 5] = c[(k + 1) % 5] * x[i] + x[k % 5]
        a[(k + 2) % 5] = a[k % 5] + c[k % 5] * c[k % 5]
    out[i] = a[1] * a[0] + a[3]


@wp.func
def solve(x: A, i: int, n: int, w: wp.array(dtype=d)):
    if n == 0:
        return d(0.0)
    t = wp.zeros(shape=(3,), dtype=d)
    for k in range(3):
        t[k] = x[(i + k) % 5]
    if n == 1:
        return t[0] * t[1]
    for k in range(n):
        t[k % 3] = t[k % 3] * t[(k + 1) % 3] + w[k % 4]
        w[k % 4] = t[k % 3]
        if k == 4:
            return t[2]
    return t[0] + t[1] * t[2]


@case(n=N5)
@wp.kernel
def function_with_returns(x: A, n: I, out: A):
    i = wp.tid()
    w = wp.zeros(shape=(4,), dtype=d)
    if i == 3:
        return
    w[1] = x[i]
    a = solve(x, i, n[i], w)
    if a > d(5.0):
        return
    out[i] = a * solve(x, 0, 3, w) + w[0] * w[1]


@case(n=N5)
@wp.kernel
def counters_between_returns(x: A, n: I, out: A):
    i = wp.tid()
    if i > 3:
        return
    c = wp.zeros(shape=(4,), dtype=int)
    c[n[i] % 4] = 2
    if n[i] == 4:
        return
    s = x[i]
    for k in range(4):
        if c[k] > 0:
            s = s * x[k]
        c[(k + 1) % 4] += c[k] - 1
    out[i] = s


@case(n=N5)
@wp.kernel
def made_in_nested_branches(x: A, n: I, out: A):
    i = wp.tid()
    if n[i] > 0:
        a = wp.zeros(shape=(4,), dtype=d)
        a[0] = x[i]
        if n[i] > 1:
            b = wp.zeros(shape=(4,), dtype=d)
            b[0] = a[0] * x[0]
            if n[i] == 7:
                return
            a = b
        if n[i] == 4:
            return
        a[1] = a[0] * a[0]
    else:
        a = wp.zeros(shape=(4,), dtype=d)
        a[1] = x[i]
        if x[i] < d(-9.0):
            return
    out[i] = a[1] * x[i]


@case(n=[3, 1, 4, 7, 2])
@wp.kernel
def last_of_loop(x: A, n: I, out: A):
    i = wp.tid()
    for k in range(n[i]):
        a = wp.zeros(shape=(4,), dtype=d)
        a[k % 4] = x[i] * d(k)
        a[(k + 1) % 4] = a[k % 4] * x[0]
    out[i] = a[n[i] % 4] * a[(n[i] + 3) % 4] + a[0]


@case(n=[3, 1, 4, 7, 2])
@wp.kernel
def last_of_loop_large(x: A, n: I, out: A):
    i = wp.tid()
    for k in range(n[i]):
        a = wp.zeros(shape=(100,), dtype=d)
        a[k % 4] = x[i] * d(k)
        a[(k + 1) % 4] = a[k % 4] * x[0]
        a[50] = a[(k + 1) % 4]
    out[i] = a[n[i] % 4] * a[(n[i] + 3) % 4] + a[50] * x[i]


@case(n=[3, 1, 4, 7, 2])
@wp.kernel
def last_of_while_break(x: A, n: I, out: A):
    i = wp.tid()
    k = int(0)
    while True:
        a = wp.zeros(shape=(2, 2), dtype=d)
        a[k % 2, 1] = x[i] * d(k + 1)
        a[1, 0] = a[k % 2, 1] * x[0]
        k += 1
        if k > n[i]:
            break
        if k == 5:
            return
    out[i] = a[1, 0] * a[0, 1] + a[1, 1] * a[1, 0]


@case(n=[3, 1, 4, 7, 2])
@wp.kernel
def nested_last(x: A, n: I, out: A):
    i = wp.tid()
    s = x[i]
    for k in range(n[i]):
        for j in range(k + 1):
            a = wp.zeros(shape=(3,), dtype=wp.vec2d)
            a[j % 3] = wp.vec2d(s, x[j % 5])
            a[(j + 1) % 3][1] = s * s
        s = wp.sin(a[k % 3][0] + a[(k + 1) % 3][1] * x[i])
    out[i] = s


@case(n=[3, 1, 4, 7, 2])
@wp.kernel
def cleared_each_time(x: A, n: I, out: A):
    i = wp.tid()
    s = d(0.0)
    for k in range(n[i]):
        a = wp.zeros(shape=(4,), dtype=d)
        s += a[(k + 1) % 4] + a[k % 4] * s
        a[k % 4] = x[i] * d(k + 1)
        a[(k + 2) % 4] += a[k % 4] * a[k % 4]
        s += a[(k + 2) % 4]
    out[i] = s * a[0]


@case(n=[3, 1, 4, 7, 2])
@wp.kernel
def kept_small_unrolled(x: A, n: I, out: A):
    i = wp.tid()
    a = wp.zeros(shape=(3,), dtype=d)
    a[0] = x[i]
    for k in range(3):
        b = wp.zeros(shape=(3,), dtype=d)
        b[1] = a[0] * x[0]
        b[0] = a[0] + a[1] * a[2]
        b[2] = a[1]
        a = b
    out[i] = a[0] * a[1] + a[2]


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.name)
def test_agrees_with_differences(case) -> None:
    case.check()


@wp.kernel
def kept_for_the_next(x: A, n: int, out: A):
    i = wp.tid()
    a = wp.zeros(shape=(2,), dtype=d)
    a[0] = x[i]
    for k in range(n):
        b = wp.zeros(shape=(2,), dtype=d)
        b[0] = a[0] * d(2.0)
        b[1] = a[0] + a[1]
        a = b
    out[i] = a[0] + a[1]


@wp.kernel
def read_before_the_next(x: A, n: int, out: A):
    i = wp.tid()
    a = wp.zeros(shape=(2,), dtype=d)
    a[0] = x[i]
    for k in range(n):
        p = a[0] * d(2.0)
        q = a[0] + a[1]
        b = wp.zeros(shape=(2,), dtype=d)
        b[0] = p
        b[1] = q
        a = b
    out[i] = a[0] + a[1]


def test_arrays_of_iterations_share_memory() -> None:
    """What one iteration made can't be read when the next has made its own: an error, not a wrong number."""
    x, out = wp.array([1.0, 2.0], dtype=d, requires_grad=True), wp.zeros(2, dtype=d, requires_grad=True)
    with pytest.raises(Exception, match=r"(?s)test_gradient_private.py:\d+:13.*make it before the loop"):
        wp.launch(kept_for_the_next, 2, [x, 3, out])
    with wp.Tape() as tape:
        wp.launch(read_before_the_next, 2, [x, 3, out])
    assert out.list() == [15.0, 30.0]
    out.grad.fill_(1.0)
    tape.backward()
    assert x.grad.list() == [15.0, 15.0]


@wp.func
def many_steps(x: d, n: int):
    a = wp.zeros(shape=(4,), dtype=d)
    s = x
    for k in range(n):
        for j in range(3):
            s = wp.sin(s) + wp.cos(s) * x + wp.exp(-s * s) + wp.tanh(s) * wp.sqrt(s * s + d(1.0))
            s = wp.atan2(s, x) + wp.pow(s * s + d(0.1), d(0.3)) + wp.sinh(s * d(0.1)) + wp.cosh(s * d(0.1)) + wp.atan(s)
            s = s * d(0.1) + wp.sin(s) + wp.cos(s) * x + wp.exp(-s * s) + wp.tanh(s) + wp.log(s * s + d(1.0))
        a[k % 4] = s
    return a


@wp.kernel
def three_of_a_large_function(x: A, out: A):
    i = wp.tid()
    a = many_steps(x[i], 3)
    b = many_steps(x[i] * d(2.0), 4)
    c = many_steps(a[0], 2)
    out[i] = a[0] + d(10.0) * b[1] + d(100.0) * c[1]


@wp.kernel
def one_of_a_large_function(x: A, n: int, at: int, out: A):
    i = wp.tid()
    a = many_steps(x[i], n)
    out[i] = a[at]


def test_arrays_outlive_the_functions_that_made_them() -> None:
    x = np.array([0.4, 0.9])

    def one(values: np.ndarray, n: int, at: int) -> np.ndarray:
        out = wp.zeros(2, dtype=d)
        wp.launch(one_of_a_large_function, 2, [wp.array(values, dtype=d), n, at, out])
        return out.numpy()

    out = wp.zeros(2, dtype=d)
    wp.launch(three_of_a_large_function, 2, [wp.array(x, dtype=d), out])
    want = one(x, 3, 0) + 10.0 * one(2.0 * x, 4, 1) + 100.0 * one(one(x, 3, 0), 2, 1)
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-12)
