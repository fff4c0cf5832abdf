"""Functions with bodies or gradients of their own: @wp.func_native, @wp.func_grad, @wp.func_replay."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import warp as wp
from warp._src.kernels import custom_functions

needs_clang = pytest.mark.skipif(custom_functions.find_clang() is None, reason="no clang on this machine")


@wp.struct
class Body:
    mass: float
    active: bool
    v: wp.vec3
    samples: wp.array(dtype=wp.float16)


@wp.func_native("out[tid] = a * x[tid] + y.data[tid];")
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float), tid: int): ...


@wp.func_native("return x * x;")
def square(x: float) -> float: ...


@wp.func_native("return wp::vec3(v[1], v.c[0], m.data[0][1] + m(1, 0)) + v * 2.0f;")
def mixed(v: wp.vec3, m: wp.mat22) -> wp.vec3: ...


@wp.func_native("b.samples(i) = b.samples(i) + 0.5f; b.mass += 1.0f; return b.active ? b.mass + dot(b.v, b.v) : -1.0f;")
def of_struct(b: Body, i: int) -> float: ...


@wp.func_native("Body r; r.mass = 2.0f * b.mass; r.active = !b.active; r.v = b.v; r.samples = b.samples; return r;")
def doubled(b: Body) -> Body: ...


@wp.func_native("a(i, j) = T::kind(a.shape[0] * 100 + a.shape[1] * 10 + a.ndim); (void)0;")
def broken(a: wp.array2d(dtype=float), i: int, j: int): ...


@wp.func_native("a(i, j) = float(a.shape[0] * 100 + a.shape[1] * 10 + a.ndim);")
def rank2(a: wp.array2d(dtype=float), i: int, j: int): ...


@needs_clang
def test_arrays_and_numbers():
    @wp.kernel
    def k(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        saxpy(a, x, y, out, i)
        if i % 2 == 0:
            out[i] = out[i] + square(float(i))

    n = 1000
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    out = wp.zeros(n)
    wp.launch(k, n, [2.0, x, y, out])
    i = np.arange(n)
    np.testing.assert_allclose(out.numpy(), 2 * i + 1 + np.where(i % 2 == 0, i.astype(np.float32) ** 2, 0), rtol=1e-6)


@needs_clang
def test_vectors_matrices_structs():
    @wp.kernel
    def k(m: wp.mat22, b: Body, out: wp.array(dtype=wp.vec3), masses: wp.array(dtype=float)):
        out[0] = mixed(wp.vec3(1.0, 2.0, 3.0), m)
        masses[0] = of_struct(b, 1)
        masses[1] = b.mass  # the function got a copy
        c = doubled(b)
        masses[2] = c.mass
        masses[3] = of_struct(c, 0)

    b = Body()
    b.mass, b.active, b.v = 2.0, True, wp.vec3(1.0, 2.0, 2.0)
    b.samples = wp.array([1.0, 2.0], dtype=wp.float16)
    out, masses = wp.zeros(1, dtype=wp.vec3), wp.zeros(4)
    wp.launch(k, 1, [wp.mat22(1.0, 2.0, 3.0, 4.0), b, out, masses])
    assert out.list() == [wp.vec3(4.0, 5.0, 11.0)]
    assert masses.list() == [12.0, 2.0, 4.0, -1.0]
    assert b.samples.list() == [1.5, 2.5]


@needs_clang
def test_strides():
    @wp.kernel
    def k(a: wp.array2d(dtype=float)):
        i, j = wp.tid()
        rank2(a, i, j)

    a = wp.zeros((2, 3))
    wp.launch(k, (3, 2), [a.transpose()])
    assert a.list() == [322.0] * 6


@wp.func_native("static int calls = 0; calls += 1; return calls < n;")
def fewer(n: int) -> bool: ...


@needs_clang
def test_calls_with_effects_are_made_as_often_as_written():
    @wp.kernel
    def k(a: wp.array(dtype=int)):
        rounds = int(0)
        while fewer(5):
            rounds += 1
        fewer(0)  # its result is not used, its effect is
        a[0] = rounds
        a[1] = int(fewer(7)) + 2 * int(fewer(7))

    a = wp.zeros(2, dtype=int)
    wp.launch(k, 1, [a])
    assert a.list() == [4, 0]


@wp.func_native("h[i] = wp::half(float(h[i]) * 1.0009765f); b[i] = wp::bfloat16(float(b[i]) * 1.0078f);")
def scale_small_floats(h: wp.array(dtype=wp.float16), b: wp.array(dtype=wp.bfloat16), i: int): ...


@needs_clang
def test_small_floats_round_as_everywhere():
    @wp.kernel
    def native_way(h: wp.array(dtype=wp.float16), b: wp.array(dtype=wp.bfloat16)):
        scale_small_floats(h, b, wp.tid())

    @wp.kernel
    def usual_way(h: wp.array(dtype=wp.float16), b: wp.array(dtype=wp.bfloat16)):
        i = wp.tid()
        h[i] = wp.float16(wp.float32(h[i]) * 1.0009765)
        b[i] = wp.bfloat16(wp.float32(b[i]) * 1.0078)

    bits = np.arange(65536, dtype=np.uint16)
    results = []
    for kernel in (native_way, usual_way):
        h = wp.array(bits.view(np.float16), dtype=wp.float16)
        b = wp.array(bits, dtype=wp.uint16).view(wp.bfloat16)
        wp.launch(kernel, len(bits), [h, b])
        results.append((h.numpy().view(np.uint16), b.view(wp.uint16).numpy()))
    for exponent, k in ((0x7C00, 0), (0x7F80, 1)):
        number = (bits & exponent != exponent) | (bits & ~np.uint16(exponent | 0x8000) == 0)  # no NaN
        np.testing.assert_array_equal(results[0][k][number], results[1][k][number])


@needs_clang
def test_bad_cpp_names_the_function_when_the_kernel_is_built():
    @wp.kernel
    def k(a: wp.array2d(dtype=float)):
        broken(a, 0, 0)

    with pytest.raises(RuntimeError, match="native function 'broken'"):
        wp.launch(k, 1, [wp.zeros((1, 1))])


@needs_clang
def test_lanes_and_overlap():
    """Asked-for lanes and arrays that overlap: the same results."""

    @wp.kernel
    def k(a: wp.array(dtype=float), b: wp.array(dtype=float)):
        i = wp.tid()
        b[i] = square(a[i])

    for lanes in (0, 1, 8):
        wp.config.cpu_lanes = lanes
        try:
            a = wp.array(np.arange(64, dtype=np.float32))
            wp.launch(k, 64, [a, a])
            np.testing.assert_array_equal(a.numpy(), np.arange(64, dtype=np.float32) ** 2)
        finally:
            wp.config.cpu_lanes = 0


@needs_clang
def test_cached_by_content(tmp_path):
    """A second process needs no compiler for what the first one made."""
    program = """
import warp as wp
wp.config.quiet = True
wp.config.kernel_cache_dir = CACHE
@wp.func_native("return x + 40.0f;")
def plus(x: float) -> float: ...
@wp.kernel
def k(a: wp.array(dtype=float)):
    a[0] = plus(2.0)
a = wp.zeros(1)
wp.launch(k, 1, [a])
print(a.list())
"""
    file = tmp_path / "program.py"
    file.write_text(program.replace("CACHE", repr(str(tmp_path / "cache"))))
    for path in (os.environ["PATH"], str(tmp_path)):
        environment = {**os.environ, "PATH": path, "WEFT_CLANG": ""}
        done = subprocess.run([sys.executable, file], env=environment, capture_output=True, text=True, check=False)
        assert done.stdout == "[42.0]\n", done.stderr


def test_without_clang_building_says_so():
    @wp.func_native("return x;")
    def same(x: float) -> float: ...

    @wp.kernel
    def k(a: wp.array(dtype=float)):
        a[0] = same(31.25)

    wp.config.native_compiler = "no-such-clang"
    wp.config.cache_kernels = False
    try:
        assert custom_functions.find_clang() is None
        with pytest.raises(RuntimeError, match="needs clang.*native_compiler"):
            wp.launch(k, 1, [wp.zeros(1)])
    finally:
        wp.config.native_compiler = None
        wp.config.cache_kernels = True


def test_native_functions_are_for_kernels():
    with pytest.raises(RuntimeError, match="only be called in kernels"):
        square(2.0)


def test_bad_native_definitions():
    with pytest.raises(TypeError, match="C\\+\\+ text"):
        wp.func_native(5)
    with pytest.raises(TypeError, match="C\\+\\+ text"):
        wp.func_native("", adj_snippet=3)
    with pytest.raises(wp.WarpCodegenError, match="annotations"):

        @wp.func_native("return x;")
        def f(x) -> float: ...

    @wp.func_native("return 1;")
    def several() -> tuple[int, int]: ...

    @wp.kernel
    def k(a: wp.array(dtype=int)):
        x, y = several()
        a[0] = x + y

    with pytest.raises(wp.WarpCodegenError, match="one value"):
        wp.launch(k, 1, [wp.zeros(1, dtype=int)])


@wp.func
def product(x: float, y: float):
    return x * y


@wp.func
def both(x: float, y: float):
    return x * y, x + y


@wp.func
def store(a: wp.array(dtype=float), i: int):
    a[i] = 1.0


def test_gradient_functions_must_fit():
    @wp.func_grad(product)
    def adj_product(x: float, y: float, adj_ret: float):
        wp.adjoint[x] += y * adj_ret

    assert product.custom_grad_func.func is adj_product

    @wp.func_grad(both)
    def adj_both(x: float, y: float, adj_p: float, adj_s: float): ...

    assert both.custom_grad_func.func is adj_both

    @wp.func_grad(store)
    def adj_store(a: wp.array(dtype=float), i: int): ...

    assert store.custom_grad_func.func is adj_store

    def too_few(x: float, y: float, adj_p: float): ...

    def too_many(x: float, y: float, adj_p: float, adj_s: float, more: float): ...

    def other_type(x: float, y: float, adj_p: float, adj_s: int): ...

    def other_input(x: int, y: float, adj_p: float, adj_s: float): ...

    for bad in (too_few, too_many, other_type, other_input):
        with pytest.raises(RuntimeError, match="No function overload found for gradient function"):
            wp.func_grad(both)(bad)
    with pytest.raises(wp.WarpCodegenError, match="Incomplete argument annotations"):

        @wp.func_grad(both)
        def unannotated(x, y, p, s): ...

    for bad in (5, wp.sin, None):
        with pytest.raises(TypeError, match="wp.func"):
            wp.func_grad(bad)


def test_replay_functions_must_fit():
    @wp.func_replay(product)
    def replay(x: float, y: float):
        return 0.0

    assert product.custom_replay_func.func is replay
    with pytest.raises(RuntimeError, match="Could not find forward definition"):

        @wp.func_replay(product)
        def bad(x: float):
            return x

    with pytest.raises(TypeError, match="wp.func"):
        wp.func_replay(3)


def test_forward_passes_do_not_use_them():
    @wp.kernel
    def k(a: wp.array(dtype=float)):
        a[0] = product(2.0, 3.0)

    a = wp.zeros(1)
    wp.launch(k, 1, [a])
    assert a.list() == [6.0]
