"""Gradients where constructs meet: atomics and other accesses, overwritten conditions, large private arrays."""

import numpy as np
import pytest
import warp as wp
from gradient_cases import collector, d

CASES, case = collector()
N5 = [0, 1, 4, 7, 2]
vec3 = wp.vec3d
f32 = wp.float32


@case(dim=1)
@wp.kernel
def max_then_scaled(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    wp.atomic_max(out, 0, x[0])
    out[0] = out[0] * d(2.0)


@case(dim=1, size=5)
@wp.kernel
def max_read_between(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    wp.atomic_max(out, 0, x[0])
    out[1] = out[0] * d(2.0)
    wp.atomic_max(out, 0, x[1] + d(1.0))


@case(dim=1, size=5, twice=False)
@wp.kernel
def max_then_add(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    wp.atomic_max(out, 0, x[0])
    wp.atomic_add(out, 0, x[1])


@case(dim=1, size=5, twice=False)
@wp.kernel
def add_then_max(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    wp.atomic_add(out, 0, x[1])
    wp.atomic_max(out, 0, x[0])


@case(dim=1, size=5, twice=False)
@wp.kernel
def max_and_min(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    wp.atomic_max(out, 0, x[0])
    wp.atomic_min(out, 0, d(0.3) * x[0])


@case(dim=1, size=5, twice=False)
@wp.kernel
def max_in_loop(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    for j in range(5):
        wp.atomic_max(out, 0, x[j] * x[j])


@case(size=5, dim=5)
@wp.kernel
def max_own_elements(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    for j in range(3):
        wp.atomic_max(out, i, x[(i + j) % 5] * d(j))
    out[i] = out[i] * x[i]


@case(dim=1, size=5, twice=False)
@wp.kernel
def exchange(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    wp.atomic_exch(out, 0, x[0] * x[0])
    wp.atomic_exch(out, 0, x[1] * x[0])


@case(dim=1, size=5)
@wp.kernel
def result_of_add(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    old = wp.atomic_add(out, 0, x[0])
    old2 = wp.atomic_add(out, 0, x[1])
    out[2] = old2 * old2 + old * x[2]


@case(dim=1, size=5)
@wp.kernel
def result_of_exchange(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    old = wp.atomic_exch(out, 0, x[0])
    old2 = wp.atomic_exch(out, 0, x[1])
    out[2] = old2 * old2 + old * x[2]


@case(dim=1, size=5)
@wp.kernel
def result_of_max(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    old = wp.atomic_max(out, 0, x[0])
    old2 = wp.atomic_max(out, 0, x[1])
    out[2] = old2 * old2 + old * x[2]


@case(size=5)
@wp.kernel
def negative_and_wide_indices(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    a = x[-1] * x[-2]
    j = wp.int64(i)
    b = x[j]
    k = wp.uint32(i)
    out[k] = a * b + x[wp.int8(i)]
    out[i] += x[0]


@case(dim=(2, 2), x=np.linspace(0.1, 1, 16).reshape(2, 2, 2, 2))
@wp.kernel
def four_dimensions(x: wp.array4d(dtype=d)):
    i, j = wp.tid()
    x[i, j, 0, 0] = x[i, j, 1, 1] * x[i, j, 0, 1]
    x[i, j, 1, 0] *= x[i, j, 0, 0]


@case(tolerance=2e-3, step=1e-2)
@wp.kernel
def single_precision(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    a = float(x[i])
    b = wp.sin(a) * a
    out[i] = d(b) * x[i]


@case()
@wp.kernel
def int_round_trip(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    n[i] = int(x[i] * d(1.7))
    out[i] = x[i] * d(n[i] + 3)


@case(n=N5)
@wp.kernel
def overwritten_index_in_loop(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(6):
        s = s * x[n[i] % 5] + wp.sin(s)
        n[i] = (n[i] * 3 + 1) % 7
        if n[i] == 2:
            break
    out[i] = s


@case(n=N5)
@wp.kernel
def condition_overwritten(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    if n[i] % 2 == 0:
        n[i] = n[i] + 1
        s = s * s
        if n[i] > 3:
            n[i] = 0
            s = wp.sin(s)
    if n[i] == 0:
        s = s * x[0]
    n[i] = 17
    out[i] = s


@case(n=N5)
@wp.kernel
def log_in_nested_branches(x: wp.array(dtype=d), y: wp.array(dtype=d), n: wp.array(dtype=int)):
    i = wp.tid()
    for j in range(n[i]):
        if j % 2 == 0:
            x[i] = x[i] * y[i]
            for k in range(j):
                if k % 2 == 1:
                    y[i] = wp.sin(y[i]) * x[i]
                else:
                    x[i] = wp.cos(x[i])
        else:
            y[i] = y[i] * y[i] * d(0.9)


@case(n=N5)
@wp.kernel
def log_of_vectors_and_matrices(x: wp.array(dtype=vec3), m: wp.array(dtype=wp.mat33d), n: wp.array(dtype=int)):
    i = wp.tid()
    for j in range(n[i]):
        x[i] = m[i] * x[i] * d(0.4)
        m[i] = m[i] * d(0.5) + wp.outer(x[i], x[i])


@case(n=[20, 40, 0, 77, 3])
@wp.kernel
def long_log(x: wp.array(dtype=d), n: wp.array(dtype=int)):
    i = wp.tid()
    for j in range(n[i]):
        x[i] = x[i] + d(0.05) * wp.sin(x[i])
        x[i] = wp.sin(x[i] * (d(1.0) - d(0.01) * x[i]))


@case(n=N5)
@wp.kernel
def return_after_write(x: wp.array(dtype=d), n: wp.array(dtype=int)):
    i = wp.tid()
    x[i] = x[i] * x[i]
    if n[i] == 1:
        return
    for j in range(n[i]):
        x[i] = wp.sin(x[i])
        if j == 3:
            return
    x[i] = x[i] * x[i]


@case(n=N5, size=25)
@wp.kernel
def scatter_to_own_part(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i]):
        s = s * x[j] + d(0.3)
        out[i * 5 + j % 5] = s * out[i * 5 + (j + 1) % 5] + s


@wp.func
def pick(x: wp.array(dtype=d), y: wp.array(dtype=d), n: int):
    if n > 2:
        return x
    return y


@case(n=N5)
@wp.kernel
def arrays_from_functions(x: wp.array(dtype=d), y: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = pick(x, y, n[i])
    out[i] = a[i] * x[i]
    a[i] = out[i] * a[i]


@case(n=N5)
@wp.kernel
def local_array_in_loop(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i]):
        a = wp.zeros(shape=(80,), dtype=d)
        for k in range(6):
            a[(k * 17) % 80] = s * d(k) + x[k % 5]
        for k in range(1, 6):
            a[(k * 17) % 80] = a[(k * 17) % 80] * a[((k - 1) * 17) % 80]
        s = wp.sin(a[(5 * 17) % 80] + s)
    out[i] = s


@case(n=N5)
@wp.kernel
def large_local_conditions(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = wp.zeros(shape=(100,), dtype=d)
    c = wp.zeros(shape=(100,), dtype=int)
    s = x[i]
    for j in range(n[i] + 3):
        if c[(j * 3) % 100] == 0:
            a[j] = s * s
            c[(j + 5) % 100] = 1
        else:
            a[j] = wp.sin(s)
        s = s + a[j] * x[j % 5]
        c[(j * 3) % 100] = c[(j * 3) % 100] + 1
    out[i] = s * a[2]


@case()
@wp.kernel
def partial_views_written(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    y = x[i : i + 1]
    y[0] = y[0] * y[0]
    out[i] = x[i] * d(2.0)


@case(n=N5)
@wp.kernel
def result_of_int_atomic_in_loop(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(4):
        old = wp.atomic_add(n, i, 2)
        s = s * x[old % 5] + d(old)
    out[i] = s


@case(n=N5)
@wp.kernel
def min_max_of_many(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    m = d(-1e9)
    for j in range(5):
        m = wp.max(m, x[j] * d((j + n[i]) % 5))
    out[i] = m + wp.clamp(x[i], d(0.2), d(0.5)) * x[i]


@case(n=N5)
@wp.kernel
def large_local_adds(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = wp.zeros(shape=(100,), dtype=d)
    for j in range(n[i] + 2):
        a[(j * 3) % 7] += x[i]
        a[(j * 5) % 7] -= x[j % 5] * d(0.2)
        a[j % 7] *= x[i] + d(1.0)
    out[i] = a[0] * a[1] + a[2] * a[2]


@case(n=N5)
@wp.kernel
def large_local_adds_straight(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = wp.zeros(shape=(100,), dtype=d)
    a[n[i]] = x[i]
    a[n[i]] += x[i] * x[i]
    wp.atomic_add(a, n[0], x[0])
    a[n[i]] = a[n[i]] * a[n[0]]
    out[i] = a[n[i]] * a[n[i]]


@case(n=N5)
@wp.kernel
def small_local_atomics(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = wp.zeros(shape=(5,), dtype=d)
    for j in range(n[i]):
        wp.atomic_add(a, j % 5, x[i])
        wp.atomic_max(a, (j + 1) % 5, x[j % 5] * x[i])
        a[j % 5] *= x[i] + d(1.0)
    out[i] = a[0] * a[1] + a[2] * a[2]


@case(n=N5)
@wp.kernel
def local_counters(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    c = wp.zeros(shape=(100,), dtype=int)
    s = x[i]
    for j in range(n[i] + 1):
        c[j % 3] += 1
        k = wp.atomic_add(c, 2, 2)
        s = s * x[c[j % 3] % 5] + d(k)
    out[i] = s


@wp.func
def inner(a: wp.array(dtype=d), i: int, n: int):
    s = d(0.0)
    for j in range(n):
        if a[(i + j) % 5] > d(0.5):
            continue
        a[i] = a[i] + d(0.1) * a[i] * a[i]
        s += a[i]
        if j > 4:
            return s * s
    return s


@case(n=N5)
@wp.kernel
def function_in_place_with_exits(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    w = wp.zeros(shape=(5,), dtype=d)
    for j in range(5):
        w[j] = x[(i + j) % 5]
    out[i] = inner(w, i, n[i]) + inner(w, 0, 2)


@case(n=N5)
@wp.kernel
def store_through_view_in_loop(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array2d(dtype=d)):
    i = wp.tid()
    row = out[i]
    for j in range(n[i]):
        row[j % 5] = row[(j + 1) % 5] * x[i] + x[j % 5]
        row[(j + 2) % 5] += row[j % 5] * row[j % 5]


@case(n=N5)
@wp.kernel
def mixed_int_float_state(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    k = n[i]
    while k != 1 and k < 60:
        if k % 2 == 0:
            k = k // 2
            s = s * x[k % 5]
        else:
            k = 3 * k + 1
            s = wp.sin(s) + x[k % 5]
        if k == 0:
            break
    out[i] = s


@case()
@wp.kernel
def where_of_arrays_elements(x: wp.array(dtype=d), y: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = wp.where(x[i] > y[i], x[i] * y[0], y[i] * x[0])


@case()
@wp.kernel
def powers(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    a = wp.abs(x[i]) + d(0.1)
    out[i] = a ** d(2.5) + a**a + wp.pow(d(2.0), x[i])


@case()
@wp.kernel
def divisions(x: wp.array(dtype=d), y: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    b = y[i] + d(1.7)
    out[i] = x[i] / b + (x[i] * d(7.0)) % b + d(3.0) / b


@case()
@wp.kernel
def vec_mod_and_mix(x: wp.array(dtype=vec3), out: wp.array(dtype=vec3)):
    i = wp.tid()
    a = x[i]
    out[i] = wp.lerp(a, wp.cross(a, x[0]), d(0.3)) + wp.vec3d(wp.length_sq(a), wp.norm_l2(a), wp.norm_l1(a))


@case(n=N5)
@wp.kernel
def early_continue_with_store(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    for j in range(n[i] + 2):
        out[i] = out[i] * d(0.5) + x[j % 5]
        if out[i] > d(0.6):
            continue
        out[i] = wp.sin(out[i]) * x[i]


@case(n=N5)
@wp.kernel
def break_depends_on_memory(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = x[i]
    j = int(0)
    while out[i] < d(2.0):
        out[i] = out[i] * d(1.4) + wp.abs(x[j % 5]) * d(0.3) + d(0.05)
        j += 1
        if j > n[i] + 3:
            break


@case(n=N5)
@wp.kernel
def local_matrix_array(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    m = wp.zeros(shape=(4,), dtype=wp.mat22d)
    for j in range(n[i]):
        m[j % 4][j % 2, 0] = x[i] * d(j)
        m[(j + 1) % 4] = m[j % 4] * m[(j + 2) % 4] * d(0.3) + wp.mat22d(x[i], d(0.1), d(0.2), x[0])
    out[i] = wp.determinant(m[0]) + m[1][0, 1] * m[2][1, 0]


@case(n=N5)
@wp.kernel
def swap_arrays(x: wp.array(dtype=d), y: wp.array(dtype=d), n: wp.array(dtype=int)):
    i = wp.tid()
    a = x
    b = y
    for j in range(n[i] % 3):
        a[i] = a[i] * b[i]
        b[i] = wp.sin(a[i])
        if j == 1:
            a[i] = b[i] + a[i]


@case(n=N5)
@wp.kernel
def alternating_arrays(x: wp.array(dtype=d), y: wp.array(dtype=d), n: wp.array(dtype=int)):
    i = wp.tid()
    for j in range(n[i]):
        a = x
        if j % 2 == 1:
            a = y
        a[i] = a[i] * wp.cos(x[i]) + y[i] * d(0.2)


@case(dim=(2, 2, 2), size=8)
@wp.kernel
def three_dimensional_launch(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i, j, k = wp.tid()
    at = (i * 2 + j) * 2 + k
    out[at] = x[at] * x[k] + wp.sin(x[j])
    out[at] = out[at] * out[at]


@case(n=N5, size=5)
@wp.kernel
def sorting_network(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = x[i]
    b = x[(i + 1) % 5]
    c = x[(i + 2) % 5]
    if a > b:
        t = a
        a = b
        b = t
    if b > c:
        t = b
        b = c
        c = t
    if a > b:
        t = a
        a = b
        b = t
    out[i] = a + d(2.0) * b * b + d(3.0) * c


@case(n=N5)
@wp.kernel
def quat_chain(q: wp.array(dtype=wp.quatd), n: wp.array(dtype=int), out: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    r = q[i]
    v = wp.vec3d(d(1.0), d(0.2), d(-0.3))
    for j in range(n[i] + 1):
        r = wp.quat_inverse(wp.normalize(r)) * q[j % 5]
        v = wp.quat_rotate(wp.normalize(r), v) + wp.quat_to_matrix(wp.normalize(q[i])) * v * d(0.1)
    out[i] = v


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.name)
def test_agrees_with_differences(case) -> None:
    case.check()
