"""Gradients of kernels that overwrite what they read, alias, view and add atomically, against differences."""

import numpy as np
import pytest
import warp as wp
from gradient_cases import collector, d

CASES, case = collector()
N5 = [0, 1, 4, 7, 2]
vec3 = wp.vec3d


@case()
@wp.kernel
def square_in_place(x: wp.array(dtype=d)):
    i = wp.tid()
    x[i] = x[i] * x[i]


@case()
@wp.kernel
def times_equals(x: wp.array(dtype=d), y: wp.array(dtype=d)):
    i = wp.tid()
    x[i] *= y[i]
    y[i] /= d(2.0) + x[i] * x[i]
    x[i] -= y[i] * y[i]


@case(n=N5)
@wp.kernel
def in_place_loop(x: wp.array(dtype=d), y: wp.array(dtype=d), n: wp.array(dtype=int)):
    i = wp.tid()
    for j in range(n[i]):
        x[i] = wp.sin(x[i]) * y[i] + x[i]


@case(dim=1, size=6)
@wp.kernel
def gauss_seidel(x: wp.array(dtype=d), b: wp.array(dtype=d)):
    for sweep in range(4):
        for j in range(1, 5):
            x[j] = d(0.4) * (x[j - 1] + x[j + 1]) * wp.cos(x[j]) + b[j]


@case(dim=1, size=6)
@wp.kernel
def prefix_sum(x: wp.array(dtype=d)):
    for j in range(1, 6):
        x[j] = x[j] + x[j - 1]


@case(dim=1, size=6)
@wp.kernel
def prefix_product(x: wp.array(dtype=d)):
    for j in range(1, 6):
        x[j] = x[j] * x[j - 1]


@case(dim=3, size=6)
@wp.kernel
def swap(x: wp.array(dtype=d)):
    i = wp.tid()
    t = x[2 * i]
    x[2 * i] = x[2 * i + 1]
    x[2 * i + 1] = t


@case(dim=3, size=6)
@wp.kernel
def swap_tuple(x: wp.array(dtype=d)):
    i = wp.tid()
    x[2 * i], x[2 * i + 1] = x[2 * i + 1], x[2 * i] * x[2 * i + 1]


@case(dim=3, size=6)
@wp.kernel
def swap_if_greater(x: wp.array(dtype=d)):
    i = wp.tid()
    a = x[2 * i]
    b = x[2 * i + 1]
    if a > b:
        x[2 * i] = b * b
        x[2 * i + 1] = a * wp.sin(b)


@case(dim=1, size=6)
@wp.kernel
def bubble_sort(x: wp.array(dtype=d)):
    for a in range(5):
        for b in range(5 - a):
            if x[b] > x[b + 1]:
                t = x[b]
                x[b] = x[b + 1] * d(1.1)
                x[b + 1] = t


@case(dim=1, size=7)
@wp.kernel
def insertion_sort(x: wp.array(dtype=d)):
    for a in range(1, 7):
        v = x[a]
        b = a - 1
        while b >= 0 and x[b] > v:
            x[b + 1] = x[b] * d(1.01)
            b -= 1
        x[b + 1] = v


@case(n=[2, 0, 1, 4, 3])
@wp.kernel
def indices_overwritten(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    j = n[i]
    n[i] = 0
    out[i] = x[j] * x[j] + out[i] * x[i]


@case(n=N5)
@wp.kernel
def bounds_overwritten(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i]):
        s = s * x[i] + wp.sin(s)
        n[i] = 3
    n[i] = 1
    out[i] = s


@case(n=N5)
@wp.kernel
def counters_in_arrays(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    while n[i] > 0:
        n[i] = n[i] - 1
        s = s * x[(i + n[i]) % 5] + d(n[i])
    out[i] = s


@case(n=N5)
@wp.kernel
def loop_test_reads_floats(x: wp.array(dtype=d), y: wp.array(dtype=d)):
    i = wp.tid()
    c = int(0)
    while x[i] < d(3.0) and c < 20:
        x[i] = x[i] * d(1.3) + y[i] * x[i] + d(0.2)
        c += 1


@case(n=N5, size=5)
@wp.kernel
def state_in_array(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = x[i]
    for j in range(n[i]):
        if out[i] > d(0.5):
            out[i] = out[i] * out[i] * d(0.5)
            continue
        out[i] = out[i] + x[i] * out[i] + d(0.1)
        if j == 5:
            break


@case()
@wp.kernel
def written_then_read(x: wp.array(dtype=d), out: wp.array(dtype=d), tmp: wp.array(dtype=d)):
    i = wp.tid()
    tmp[i] = x[i] * x[i]
    a = tmp[i]
    tmp[i] = wp.sin(a)
    b = tmp[i]
    out[i] = a * b


@case()
@wp.kernel
def read_written_by_constant(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = x[i] * x[i]
    x[i] = d(3.0)
    out[i] += x[i] * out[i]


@case(n=N5)
@wp.kernel
def vec_components_in_array(x: wp.array(dtype=vec3), n: wp.array(dtype=int)):
    i = wp.tid()
    for j in range(n[i]):
        x[i][j % 3] = x[i][(j + 1) % 3] * x[i][j % 3] + d(0.2)
        x[i][0] += x[i][1]
    x[i] = x[i] * x[i][2]


@case(n=N5)
@wp.kernel
def mat_parts_in_array(x: wp.array(dtype=wp.mat33d), n: wp.array(dtype=int)):
    i = wp.tid()
    for j in range(n[i]):
        x[i][j % 3, 1] = x[i][1, j % 3] * d(0.7)
        x[i][j % 3] = x[i][(j + 1) % 3] * x[i][0, 0]
        x[i][2, 2] *= d(0.5)


@case(n=N5)
@wp.kernel
def quat_parts_in_array(x: wp.array(dtype=wp.quatd), n: wp.array(dtype=int)):
    i = wp.tid()
    for j in range(n[i]):
        x[i][j % 4] = x[i][(j + 1) % 4] * x[i][0]
        x[i] = wp.normalize(x[i])


@case(n=N5)
@wp.kernel
def transform_parts_in_array(x: wp.array(dtype=wp.transformd), n: wp.array(dtype=int)):
    i = wp.tid()
    for j in range(n[i]):
        x[i][j % 7] = x[i][(j + 1) % 7] * x[i][0] + d(0.1)


@case(dim=(2, 3), x=np.linspace(0.2, 1.4, 6).reshape(2, 3), y=np.linspace(-0.5, 1.0, 6).reshape(2, 3))
@wp.kernel
def matrices_of_numbers(x: wp.array2d(dtype=d), y: wp.array2d(dtype=d)):
    i, j = wp.tid()
    x[i, j] = x[i, j] * y[i, j]
    y[i, j] = wp.sin(x[i, j]) * y[i, j]


@case(dim=2, x=np.linspace(0.2, 1.4, 6).reshape(2, 3), out=np.zeros((2, 3)))
@wp.kernel
def rows_as_views(x: wp.array2d(dtype=d), out: wp.array2d(dtype=d)):
    i = wp.tid()
    row = x[i]
    to = out[i]
    s = d(1.0)
    for j in range(3):
        s = s * row[j]
        to[j] = s + row[j] * row[j]
    row[0] = s * row[1]


@case(dim=2, x=np.linspace(0.2, 1.4, 12).reshape(2, 3, 2))
@wp.kernel
def views_of_views(x: wp.array3d(dtype=d)):
    i = wp.tid()
    plane = x[i]
    for j in range(2):
        row = plane[j]
        row[0] = row[1] * plane[j + 1][0]
        row[1] = wp.sin(row[0])


@case(dim=3, size=8)
@wp.kernel
def slices_as_views(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    part = x[2:8:2]
    out[i] = part[i] * part[(i + 1) % 3]


@case(dim=1, size=8)
@wp.kernel
def overlapping_slices(x: wp.array(dtype=d)):
    a = x[0:6]
    b = x[2:8]
    for j in range(6):
        b[j] = b[j] * a[j] + wp.sin(a[j])


@case(n=N5)
@wp.kernel
def atomic_adds(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    wp.atomic_add(out, n[i] % 3, x[i] * x[i])
    wp.atomic_sub(out, n[i] % 2, wp.sin(x[i]))
    out[4] += x[i] * x[0]
    out[3] -= x[i]


@case(twice=False)
@wp.kernel
def atomic_max_one_winner(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    wp.atomic_max(out, 0, x[i] * x[i])


@case(twice=False, out=[9.0, 9.0, 9.0, 9.0, 9.0])
@wp.kernel
def atomic_min_one_winner(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    wp.atomic_min(out, i % 2, wp.sin(x[i]))


@case(twice=False, out=[-9.0, 9.0, 0.3, 0.3, 0.3])
@wp.kernel
def atomic_min_keeps_the_first(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    wp.atomic_min(out, i % 2, wp.sin(x[i]))


@case(n=N5)
@wp.kernel
def atomic_add_vectors(x: wp.array(dtype=vec3), n: wp.array(dtype=int), out: wp.array(dtype=vec3)):
    i = wp.tid()
    wp.atomic_add(out, n[i] % 3, wp.cross(x[i], x[(i + 1) % 5]))
    out[4][1] += x[i][0] * x[i][2]
    out[3] += x[i] * x[i][0]


@case(x=[-1.0, 2.0, 0.5, -0.3, 3.0], n=[0, 0, 0, 0, 0], modes=("serial",), twice=False)
@wp.kernel
def compaction(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    if x[i] > d(0.0):
        j = wp.atomic_add(n, 0, 1)
        out[j] = x[i] * x[i]


@case()
@wp.kernel
def same_array_read_at_many(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    s = d(1.0)
    for j in range(5):
        s = s * x[(i * j) % 5] + x[j]
    out[i] = s


@case(twice=False)
@wp.kernel
def add_then_overwrite(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] += x[i] * x[i]
    out[i] = out[i] * x[i]
    out[i] += x[i]


@case(twice=True)
@wp.kernel
def add_then_read_element(x: wp.array(dtype=d), out: wp.array(dtype=d), z: wp.array(dtype=d)):
    i = wp.tid()
    out[i] += x[i] * x[i]
    z[i] = out[i] * out[i]
    out[i] += z[i] * x[i]


@case()
@wp.kernel
def add_to_itself(x: wp.array(dtype=d)):
    i = wp.tid()
    x[i] += x[i]
    x[i] += x[i] * x[i]
    x[i] -= wp.sin(x[i])


@case(pack=lambda a: [a["x"], a["x"]], types={"x": wp.array(dtype=d)})
@wp.kernel
def one_array_twice(a: wp.array(dtype=d), b: wp.array(dtype=d)):
    i = wp.tid()
    b[i] = a[i] * a[i]
    a[i] = a[i] * b[i]


@case(dim=4, size=8, pack=lambda a: [a["x"][0:4], a["x"][4:8]], types={"x": wp.array(dtype=d)})
@wp.kernel
def halves_of_one_array(a: wp.array(dtype=d), b: wp.array(dtype=d)):
    i = wp.tid()
    b[i] = a[i] * b[i] + wp.sin(a[i])


@case(dim=1, size=8, pack=lambda a: [a["x"][0:6], a["x"][2:8]], types={"x": wp.array(dtype=d)})
@wp.kernel
def overlapping_views_of_one_array(a: wp.array(dtype=d), b: wp.array(dtype=d)):
    for j in range(6):
        b[j] = a[j] * b[j] + wp.sin(a[j])


@case(dim=4, size=8, pack=lambda a: [a["x"][::2], a["x"][1::2]], types={"x": wp.array(dtype=d)})
@wp.kernel
def strided_views(a: wp.array(dtype=d), b: wp.array(dtype=d)):
    i = wp.tid()
    a[i] = a[i] * b[i]
    b[i] = a[i] * a[i]


@case(
    dim=3,
    x=np.linspace(0.1, 0.9, 12).reshape(3, 4),
    pack=lambda a: [a["x"].transpose(), a["out"]],
    types={"x": wp.array2d(dtype=d), "out": wp.array(dtype=d)},
    size=4,
)
@wp.kernel
def transposed(a: wp.array2d(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    s = d(1.0)
    for j in range(4):
        s = s * a[j, i]
    out[i] = s


@case(
    dim=3,
    size=6,
    n=[4, 0, 3],
    pack=lambda a: [wp.indexedarray(a["x"], [a["n"]]), a["out"]],
    types={"x": wp.array(dtype=d), "n": wp.array(dtype=int), "out": wp.array(dtype=d)},
)
@wp.kernel
def indexed(a: wp.indexedarray(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    a[i] = a[i] * a[i]
    out[i] = wp.sin(a[i])


@case(dim=4, n=[1, 1, 0, 1])
@wp.kernel
def many_to_one_reads(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = x[n[i]] * x[n[i]] * x[i]


@case(size=10)
@wp.kernel
def stencil(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i + 1] = x[i] * x[i + 1] + x[i + 2] * x[i + 2]


@case(n=N5)
@wp.kernel
def stack_machine(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    stack = wp.zeros(shape=(16,), dtype=d)
    top = int(0)
    for j in range(n[i] + 4):
        if j % 3 == 2 and top >= 2:
            stack[top - 2] = stack[top - 2] * stack[top - 1]
            top -= 1
        else:
            stack[top] = x[(i + j) % 5] + d(j)
            top += 1
    s = d(0.0)
    for j in range(top):
        s += wp.sin(stack[j])
    out[i] = s


@case(size=20, dim=4)
@wp.kernel
def scratch_part_of_array(x: wp.array(dtype=d), w: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    for j in range(5):
        w[i * 5 + j] = x[i * 5 + j] * d(j + 1)
    for r in range(3):
        for j in range(1, 5):
            w[i * 5 + j] = w[i * 5 + j] * w[i * 5 + j - 1] + wp.sin(w[i * 5 + j])
    out[i] = w[i * 5 + 4]


@wp.struct
class Holder:
    a: wp.array(dtype=d)
    b: wp.array(dtype=d)
    s: d


def hold(arrays):
    h = Holder()
    h.a, h.b, h.s = arrays["x"], arrays["y"], 1.5
    return [h]


@case(pack=hold, types={"x": wp.array(dtype=d), "y": wp.array(dtype=d)})
@wp.kernel
def arrays_in_a_struct(h: Holder):
    i = wp.tid()
    h.b[i] = h.a[i] * h.b[i] * h.s
    h.a[i] = wp.sin(h.b[i]) + h.a[i]


def hold_same(arrays):
    h = Holder()
    h.a, h.b, h.s = arrays["x"], arrays["x"], 1.5
    return [h]


@case(pack=hold_same, types={"x": wp.array(dtype=d)})
@wp.kernel
def one_array_twice_in_a_struct(h: Holder):
    i = wp.tid()
    h.b[i] = h.a[i] * h.b[i] * h.s
    h.a[i] = wp.sin(h.b[i]) + h.a[i]


@case(n=N5)
@wp.kernel
def choice_of_arrays(x: wp.array(dtype=d), y: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = x
    if n[i] > 1:
        a = y
    out[i] = a[i] * a[(i + 1) % 5]


@case(n=N5)
@wp.kernel
def writes_to_a_choice(x: wp.array(dtype=d), y: wp.array(dtype=d), n: wp.array(dtype=int)):
    i = wp.tid()
    a = x
    if n[i] > 1:
        a = y
    a[i] = a[i] * x[i] + y[i]


@case(n=N5)
@wp.kernel
def overwritten_in_the_other_branch(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = x[i]
    if n[i] > 1:
        x[i] = a * d(0.5)
    else:
        x[i] = a * a
    out[i] = a * x[i] + wp.sin(x[i])


@case(n=N5)
@wp.kernel
def overwritten_behind_the_loop(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = d(0.5)
    for j in range(n[i]):
        s = s * x[i] + wp.sin(x[i] * s)
    x[i] = s
    out[i] = s * s


@case(n=N5)
@wp.kernel
def slots_and_log_together(x: wp.array(dtype=d), y: wp.array(dtype=d), n: wp.array(dtype=int)):
    i = wp.tid()
    s = d(1.0)
    for j in range(n[i] * 30):
        s = wp.sin(s) * x[i] + d(0.3)
        if j % 7 == 3:
            x[i] = x[i] * d(0.99) + s * d(0.01)
        for k in range(j % 3):
            y[i] = y[i] * wp.cos(s) + d(0.1)
    x[i] = x[i] * s


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.name)
def test_agrees_with_differences(case) -> None:
    case.check()
