"""Gradients through control flow: each construct by itself, against differences."""

import pytest
import warp as wp
from gradient_cases import collector, d

CASES, case = collector()
N5 = [0, 1, 4, 7, 2]


@case(n=N5)
@wp.kernel
def for_mutates(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = d(1.0)
    for j in range(n[i]):
        s = s * x[i] + wp.sin(s)
    out[i] = s


@case(n=N5)
@wp.kernel
def for_start_stop_step(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i], 20, 3):
        s = s * wp.cos(s) + x[j % 5] * d(j)
    for j in range(n[i], -3, -2):
        s = wp.sin(s) * x[i] + d(j)
    out[i] = s


@case(n=N5)
@wp.kernel
def for_variable_step(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    step = 1 + n[i] % 3
    for j in range(0, 11, step):
        s = s + d(0.1) * s * s * d(j)
    for j in range(11, 0, -step):
        s = wp.sin(s + d(j))
    out[i] = s


@case(n=N5)
@wp.kernel
def while_counts(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    c = n[i]
    while c > 0:
        s = s * x[i] + wp.sin(s)
        c -= 1
    out[i] = s


@case()
@wp.kernel
def while_on_value(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    s = wp.abs(x[i]) + d(0.1)
    while s < d(10.0):
        s = s * d(1.7) + x[i] * s + d(0.5)
    out[i] = s


@case(n=N5)
@wp.kernel
def while_true_break(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    c = int(0)
    while True:
        if c >= n[i]:
            break
        s = s * s + x[(i + c) % 5]
        if s > d(3.0):
            s = s * d(0.1)
            break
        c += 1
    out[i] = s


@case(n=N5)
@wp.kernel
def break_in_the_middle(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    t = d(0.0)
    for j in range(20):
        t = t + s
        if j == n[i]:
            break
        s = s * wp.cos(t)
    out[i] = s * t


@case(n=N5)
@wp.kernel
def continue_skips(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i] * 2):
        s = s + d(0.5)
        if j % 3 == 1:
            continue
        s = wp.sin(s) * x[j % 5]
    out[i] = s


@case(n=N5)
@wp.kernel
def continue_in_while(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    c = int(0)
    while c < n[i] * 2:
        c += 1
        if c % 2 == 0:
            s = s * x[i]
            continue
        s = s + wp.cos(s)
    out[i] = s


@case(n=N5)
@wp.kernel
def early_return(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    if n[i] == 0:
        return
    if n[i] == 1:
        out[i] = s * s
        return
    out[i] = s * s * s


@case(n=N5)
@wp.kernel
def return_from_loop(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(9):
        s = s * x[i] + d(0.3)
        out[i] = s * s
        if j == n[i]:
            return
    out[i] = s


@case(n=N5)
@wp.kernel
def return_from_nested_loops(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(5):
        for k in range(5):
            s = wp.sin(s) * x[i] + d(j) * s
            if j * 5 + k == n[i] * 3:
                out[i] = s * s
                return
        s = s * d(0.5)
    out[i] = s


@case(n=N5)
@wp.kernel
def nested_break_continue(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for a in range(n[i]):
        t = s
        for b in range(10):
            if b > a + 2:
                break
            if (a + b) % 3 == 0:
                continue
            t = t * x[i] + wp.sin(s)
        if a == 5:
            continue
        s = s + d(0.1) * t
    out[i] = s


@case(n=N5)
@wp.kernel
def loop_in_branch_in_loop(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for a in range(n[i]):
        if a % 2 == 0:
            for b in range(a + 1):
                s = s * wp.cos(s) + x[i]
        else:
            c = int(0)
            while c < a:
                s = s + d(0.1) * s * s
                c += 2
    out[i] = s


@case(n=N5)
@wp.kernel
def triangle_of_loops(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for a in range(n[i]):
        for b in range(a):
            for c in range(b):
                s = wp.sin(s) + x[(a + b + c) % 5] * s * d(0.3)
    out[i] = s


@case(n=[3, 0, 2, 0, 1])
@wp.kernel
def zero_trips(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i] - 3):
        s = s * s
    for j in range(5, n[i]):
        s = s * s
    while n[i] > 100:
        s = s * s
    out[i] = s * x[i]


@case(n=N5)
@wp.kernel
def bounds_from_arrays(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = d(0.0)
    t = d(1.0)
    for j in range(n[i], n[(i + 1) % 5] + 3):
        t = t * x[j % 5]
        s += t
    out[i] = s


@case(n=N5)
@wp.kernel
def ternaries(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = x[i]
    b = a * a if n[i] > 1 else wp.exp(a)
    c = b if b > d(1.0) else (a if n[i] == 0 else a * b)
    out[i] = c * b


@case(n=N5)
@wp.kernel
def short_circuits(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = x[i]
    if n[i] > 0 and x[i] / d(n[i]) < d(0.4):
        a = a * a
    if n[i] == 0 or x[i] * d(10.0) / d(n[i]) > d(1.0):
        a = a * x[0]
    if not (n[i] == 2) and (a > d(0.0) or a < d(-10.0)):
        a = wp.sin(a)
    out[i] = a


@case(n=N5)
@wp.kernel
def assigned_in_branches(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    if n[i] == 0:
        a = x[i] * x[i]
        b = d(2.0)
    elif n[i] == 1:
        a = wp.sin(x[i])
        b = x[i]
    else:
        a = d(1.0)
        b = x[0]
    out[i] = a * b


@case(n=N5)
@wp.kernel
def assigned_on_one_path(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    if n[i] > 1:
        a = x[i] * x[i]
    out[i] = a + x[i]


@case(n=N5)
@wp.kernel
def assigned_in_loop_only(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    for j in range(n[i]):
        a = x[i] * d(j)
        b = a * a
    out[i] = b + x[i]


@case(n=N5)
@wp.kernel
def last_value_of_induction(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    j = int(0)
    s = x[i]
    for j in range(n[i]):
        s = s * x[i]
    out[i] = s * d(j + 1)


@case(n=N5)
@wp.kernel
def induction_changed_inside(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i]):
        q = j
        q += 2
        s = s * x[q % 5] + d(q)
    out[i] = s


@case(n=N5)
@wp.kernel
def swap_of_carried(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = x[i]
    b = x[(i + 1) % 5]
    for j in range(n[i]):
        a, b = b, a * b
    out[i] = a + d(2.0) * b


@case(n=N5)
@wp.kernel
def fibonacci_like(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = x[i]
    b = x[i] * x[i]
    c = d(0.1)
    for j in range(n[i] * 2):
        t = a + b * c
        a = b
        b = c
        c = wp.sin(t)
    out[i] = a * b + c


@case(n=N5)
@wp.kernel
def integer_state(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    r = int(7)
    for j in range(n[i] + 3):
        r = (r * 5 + 3) % 11
        if r > 5:
            s = s * x[r % 5] + d(r)
        else:
            s = wp.sin(s)
    out[i] = s


@case(n=N5)
@wp.kernel
def bool_state(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    up = bool(True)
    for j in range(n[i] * 2):
        if up:
            s = s * d(1.5) + x[i]
        else:
            s = s * s * d(0.3)
        if s > d(1.0):
            up = False
        elif s < d(0.2):
            up = True
    out[i] = s


@case(n=N5)
@wp.kernel
def pass_and_empty(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i]):
        pass
    if n[i] > 2:
        pass
    else:
        s = s * s
    out[i] = s


@case(n=N5)
@wp.kernel
def prints_and_asserts(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i]):
        s = s * x[i] + d(0.1)
        assert s < d(1.0e9)
        if s > d(1.0e8):
            print(s)
            wp.printf("%f", s)
    out[i] = s * s


@case(n=N5, size=25)
@wp.kernel
def static_ranges(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(3):
        for k in range(j, 3):
            s = s * x[i * 5 + j + k % 2] + d(j * k)
            if k == 1:
                continue
            s = wp.sin(s)
    out[i] = s


@case()
@wp.kernel
def unrolled_break(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(6):
        if s > d(0.9):
            break
        s = s * d(1.4) + d(0.05) * d(j)
    out[i] = s * s


@case(n=[100, 0, 37, 512, 999], tolerance=1e-5)
@wp.kernel
def hundreds_of_turns(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    t = d(0.0)
    for j in range(n[i]):
        s = s + d(0.003) * wp.sin(s) * x[i]
        t = t + s * s * d(0.01)
    out[i] = s * t


@case(n=N5)
@wp.kernel
def invariant_needed_inside(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    c = wp.sin(x[i]) * x[0]
    s = d(0.0)
    for j in range(n[i]):
        s += c * d(j) * c
    out[i] = s * c


@case(n=N5)
@wp.kernel
def results_of_inner_loops(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for a in range(n[i]):
        t = d(1.0)
        for b in range(a + 1):
            t = t * s * d(0.7)
        u = d(0.0)
        for b in range(3 + a):
            u = u + t * x[b % 5]
        s = wp.sin(t + u)
    out[i] = s


@case(dim=(3, 4), size=12)
@wp.kernel
def two_dimensions(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i, j = wp.tid()
    s = x[i * 4 + j]
    for k in range(i + j):
        s = s * x[k] + wp.cos(s)
    out[i * 4 + j] = s


@case(n=N5)
@wp.kernel
def store_inside_loop_and_branch(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i]):
        s = s * x[i]
        if j % 2 == 1:
            out[i] = s * s
    if n[i] == 4:
        out[i] = s


@case(n=N5)
@wp.kernel
def adds_inside_loop(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i]):
        s = s * x[i]
        out[i] += s * d(j)
        wp.atomic_add(out, (i + j) % 5, s * s)
        wp.atomic_sub(out, 0, wp.sin(s))


@case(n=N5)
@wp.kernel
def condition_depends_on_floats(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i] * 3):
        if s > d(0.5):
            s = s * d(0.4)
        else:
            s = s + x[i] * s + d(0.3)
    out[i] = s


@case(n=N5)
@wp.kernel
def loops_in_a_row(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i]):
        s = wp.sin(s) + x[i]
    for j in range(n[i] + 1):
        s = s * s * d(0.3)
    c = int(0)
    while c < 3:
        s = s + wp.cos(s)
        c += 1
    out[i] = s


@case(n=N5)
@wp.kernel
def while_with_break_and_return(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    c = int(0)
    while c < 12:
        c += 1
        s = s * x[i] + wp.cos(s)
        if c == n[i]:
            out[i] = s
            return
        if c > 5:
            break
    out[i] = s * s


@case()
@wp.kernel
def double_while(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    a = int(0)
    while a < 4:
        t = s
        while t < d(2.0):
            t = t + wp.abs(x[i]) + d(0.3)
            s = s * d(0.9) + t * d(0.1)
        a += 1
    out[i] = s


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.name)
def test_agrees_with_differences(case) -> None:
    case.check()
