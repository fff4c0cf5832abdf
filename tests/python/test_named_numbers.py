"""Names that stand for a number written in the kernel: conversions and constructors take what was written, operations its type."""

import numpy as np
import pytest
import warp as wp

WRITTEN, ROUNDED = 0.1, float(np.float32(0.1))


def run(kernel, count=4, start=0.0):
    out = wp.full(count, start, dtype=wp.float64)
    wp.launch(kernel, 1, [out])
    return out.numpy().tolist()


@wp.kernel
def conversions(out: wp.array(dtype=wp.float64)):
    x = 0.1
    out[0] = wp.float64(x)
    out[1] = wp.float64(-x)
    y, z = 0.1, 3
    out[2] = wp.float64(y)
    out[3] = wp.float64(wp.float16(x)) + wp.float64(z)


def test_conversions_take_what_was_written():
    assert run(conversions) == [WRITTEN, -WRITTEN, WRITTEN, 3.0 + float(np.float16(0.1))]


@wp.kernel
def constructors(out: wp.array(dtype=wp.float64)):
    x = 0.1
    n = 3
    v = wp.vec3d(x, -x, 0.0)
    out[0] = v[0]
    out[1] = v[1]
    m = wp.mat22d(x, 0.0, 0.0, x)
    out[2] = m[1, 1]
    w = wp.vec3(n, -n, n)
    out[3] = wp.float64(w[0] + w[1])
    out[4] = wp.quatd(x, x, x, x)[3]
    out[5] = wp.vector(x, length=2, dtype=wp.float64)[1]
    out[6] = wp.matrix(x, shape=(2, 3), dtype=wp.float64)[1, 2]
    out[7] = wp.transformd(x, x, x, x, x, x, x)[6]
    out[8] = wp.vec3d(x)[2]
    out[9] = wp.float64(wp.vec2h(x, x)[0])
    out[10] = wp.float64(w[2])


def test_constructors_take_names_as_numbers():
    assert run(constructors, 11) == [WRITTEN, -WRITTEN, WRITTEN, 0.0, *[WRITTEN] * 5, float(np.float16(0.1)), 3.0]


@wp.kernel
def in_loops(out: wp.array(dtype=wp.float64), count: int):
    x = 0.1
    for i in range(count):
        out[i] = wp.float64(x)
        k = int(0)
        while k < count:
            out[i + 2] += wp.vec2d(x, 0.0)[0]
            k += 1


def test_loops_keep_what_they_do_not_change():
    out = wp.zeros(4, dtype=wp.float64)
    wp.launch(in_loops, 1, [out, 2])
    assert out.numpy().tolist() == [WRITTEN, WRITTEN, 2.0 * WRITTEN, 2.0 * WRITTEN]


@wp.func
def doubled(x: wp.ref[float]):
    x = x * 2.0


@wp.kernel
def handed_out(out: wp.array(dtype=wp.float64), count: int):
    x = 0.1
    for i in range(count):
        doubled(x)
        out[i] = wp.float64(x)


def test_what_a_function_changes_is_a_variable():
    out = wp.zeros(2, dtype=wp.float64)
    wp.launch(handed_out, 1, [out, 2])
    assert out.numpy().tolist() == [2.0 * ROUNDED, 4.0 * ROUNDED]


@wp.kernel
def later(out: wp.array(dtype=wp.float64), c: int):
    x = 0.1
    x = 0.25
    out[0] = wp.float64(x)
    y = 0.1
    if c > 0:
        y = 0.3
        out[1] = wp.float64(y)
    out[2] = wp.float64(y)
    z = 0.1
    for _ in range(c):
        out[3] += wp.float64(z)
        z = 0.5
    a = 0.1
    b = a
    out[4] = wp.float64(b)
    out[5] = wp.float64(a * 1.0)
    if c > 1:
        d = 0.1
    else:
        d = 0.10000000149011612
    out[6] = wp.float64(d)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_what_paths_decide_is_a_variable(count):
    out = wp.zeros(7, dtype=wp.float64)
    wp.launch(later, 1, [out, count])
    third = float(np.float32(0.3))
    first = [0.25, 0.3 if count else 0.0, third if count else ROUNDED]
    summed = 0.0
    for trip in range(count):
        summed += ROUNDED if trip == 0 else 0.5
    assert out.numpy().tolist() == [*first, summed, ROUNDED, ROUNDED, ROUNDED]


@wp.kernel
def counters(out: wp.array(dtype=wp.float64)):
    for i in range(4):
        v = wp.vec2d(i, 0.5)
        out[i] = v[0] + v[1]


@wp.kernel
def nested_counters(out: wp.array(dtype=wp.float64)):
    for i in range(2):
        for j in range(2):
            v = wp.vec2d(i, j)
            out[2 * i + j] = v[0] * wp.float64(10.0) + v[1]


@wp.kernel
def constant_counters(out: wp.array(dtype=wp.float64)):
    for i in range(2):
        for j in range(2):
            m = wp.mat22d(i, j, wp.static(j + 7), -j)
            out[2 * i + j] = m[0, 0] * wp.float64(10.0) + m[0, 1] + m[1, 1] + m[1, 0]


def test_counters_of_short_loops():
    assert run(counters) == [0.5, 1.5, 2.5, 3.5]
    assert run(nested_counters) == [0.0, 1.0, 10.0, 11.0]
    assert run(constant_counters) == [7.0, 8.0, 17.0, 18.0]


def test_values_are_not_converted():
    @wp.kernel
    def changed(out: wp.array(dtype=wp.float64)):
        x = 0.1
        x = x + 1.0
        out[0] = wp.vec3d(x, 0.0, 0.0)[0]

    @wp.kernel
    def long_loop(out: wp.array(dtype=wp.float64)):
        for i in range(100):
            out[0] = wp.vec3d(i, 0.0, 0.0)[0]

    @wp.kernel
    def operation(out: wp.array(dtype=wp.float64)):
        x = 0.1
        out[0] = x * wp.float64(2.0)

    for kernel in (changed, long_loop, operation):
        with pytest.raises(wp.codegen.WarpCodegenError, match="float64"):
            run(kernel)
