"""jax_kernel: calls, shapes, roles, numbers, and everything a program can get wrong."""

from __future__ import annotations

import gc
import pickle
import resource
import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest
from jax_support import jax, jnp

import warp as wp
from warp.jax_experimental.ffi import jax_kernel


@wp.kernel
def triple(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 3.0 * x[i]


@wp.kernel
def add_ints(a: wp.array(dtype=int), b: wp.array(dtype=int), output: wp.array(dtype=int)):
    i = wp.tid()
    output[i] = a[i] + b[i]


@wp.kernel
def sincos(angle: wp.array(dtype=float), s: wp.array(dtype=float), c: wp.array(dtype=float)):
    i = wp.tid()
    s[i] = wp.sin(angle[i])
    c[i] = wp.cos(angle[i])


@wp.kernel
def diagonal(output: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    output[i] = wp.mat33(1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0)


@wp.kernel
def scale(a: wp.array(dtype=float), s: float, output: wp.array(dtype=float)):
    i = wp.tid()
    output[i] = a[i] * s


@wp.kernel
def matmul(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    s = wp.float32(0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s


@wp.kernel
def funky(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    i = wp.tid()
    if i < b.shape[0]:
        b[i] = a[i] + 1.0
    if i < c.shape[0]:
        c[i] = a[i] + 2.0


@wp.kernel
def vecmat(
    a: wp.array(dtype=float),
    b: wp.array(dtype=wp.vec3),
    c: wp.array(dtype=wp.mat22),
    d: wp.array(dtype=float),
    e: wp.array(dtype=wp.vec3),
    f: wp.array(dtype=wp.mat22),
):
    i = wp.tid()
    d[i] = 2.0 * a[i]
    e[i] = b[i] * 2.0
    f[i] = c[i] * 2.0


@wp.kernel
def accumulate(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    wp.atomic_add(total, 0, x[wp.tid()])


@wp.kernel
def in_place(b: wp.array(dtype=float), a: wp.array(dtype=float), c: wp.array(dtype=float)):
    i = wp.tid()
    a[i] += b[i]
    c[i] = a[i] * b[i]


def floats(n):
    return jnp.arange(n, dtype=jnp.float32)


def test_eager_and_jitted_give_the_same():
    f = jax_kernel(triple)
    x = floats(10)
    for result in (f(x), jax.jit(f)(x), jax.jit(lambda v: f(v + 0))(x)):
        assert isinstance(result, list) and len(result) == 1
        np.testing.assert_array_equal(result[0], 3 * np.arange(10, dtype=np.float32))


def test_without_jit():
    f, g = jax_kernel(triple), jax_kernel(sincos, num_outputs=2)
    x = floats(4)
    with jax.disable_jit():
        np.testing.assert_array_equal(f(x)[0], 3 * np.arange(4))
        np.testing.assert_array_equal(jax.jit(lambda v: f(v)[0] + 1.0)(x), 3 * np.arange(4) + 1)
        np.testing.assert_array_equal(jax.vmap(f)(jnp.stack([x, x]))[0][1], 3 * np.arange(4))
        np.testing.assert_array_equal(jax.lax.fori_loop(0, 2, lambda _, v: f(v)[0], x), 9 * np.arange(4))
        np.testing.assert_allclose(jax.grad(lambda v: g(v)[0].sum())(x), np.cos(x), rtol=1e-6)
        np.testing.assert_allclose(jax.jvp(lambda v: g(v)[1], (x,), (jnp.ones(4),))[1], -np.sin(x), rtol=1e-6)


def test_integers_and_several_outputs():
    n = 10
    out = jax.jit(lambda: jax_kernel(add_ints)(jnp.arange(n, dtype=jnp.int32), jnp.ones(n, dtype=jnp.int32)))()
    np.testing.assert_array_equal(out[0], np.arange(n) + 1)
    a = jnp.linspace(0, 6.0, 32)
    s, c = jax.jit(jax_kernel(sincos, num_outputs=2))(a)
    np.testing.assert_allclose(s, np.sin(a), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(c, np.cos(a), rtol=1e-5, atol=1e-6)


def test_no_inputs_need_launch_dims():
    f = jax_kernel(diagonal)
    (out,) = jax.jit(lambda: f(launch_dims=4))()
    np.testing.assert_array_equal(out, np.broadcast_to(np.diag([1.0, 2.0, 3.0]), (4, 3, 3)))
    with pytest.raises(RuntimeError, match="give launch_dims"):
        f()


def test_static_numbers():
    f = jax_kernel(scale)
    x = floats(10)
    np.testing.assert_array_equal(jax.jit(lambda: f(x, 2.0))()[0], 2 * np.arange(10))
    np.testing.assert_array_equal(f(x, 2)[0], 2 * np.arange(10))
    np.testing.assert_array_equal(f(x, np.float32(0.5))[0], 0.5 * np.arange(10))
    np.testing.assert_array_equal(f(x, jnp.float32(0.5))[0], 0.5 * np.arange(10))
    g = partial(jax.jit, static_argnames=["s"])(lambda a, s: f(a, s))
    np.testing.assert_array_equal(g(x, 4.0)[0], 4 * np.arange(10))
    assert np.signbit(f(x[1:], -0.0)[0]).all() and not np.signbit(f(x[1:], 0.0)[0]).any()
    with pytest.raises(ValueError, match="argument 's' is a number that JAX traces"):
        jax.jit(lambda a, s: f(a, s))(x, 2.0)


@wp.kernel
def mix(a: wp.array(dtype=float), s: float, v: wp.vec2, count: int, output: wp.array(dtype=float)):
    """Numbers of several kinds."""
    i = wp.tid()
    for _ in range(count):
        output[i] += a[i] * s * s + v[1]


def test_numbers_that_jax_traces():
    f = jax_kernel(mix, traced_scalars=True)
    a, v = floats(5), jnp.array([7.0, 1.0])
    for call in (f, jax.jit(f)):
        np.testing.assert_allclose(call(a, 3.0, v, 2)[0], 2 * (np.arange(5) * 9 + 1), rtol=1e-6)
    ds, dv = jax.jit(jax.grad(lambda s, v: f(a, s, v, 2)[0].sum(), argnums=(0, 1)))(3.0, v)
    assert ds == 120.0 and dv.tolist() == [0.0, 10.0]
    out = jax.vmap(lambda s: f(a, s, v, 1)[0])(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(out, [np.arange(5) + 1, np.arange(5) * 4 + 1])
    with pytest.raises(TypeError, match="'s' is one float32; shape .3,. was given"):
        f(a, jnp.ones(3), v, 1)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(f))(a, 3.0, v, 2)[0], f(a, 3.0, v, 2)[0])


def test_dims_per_call_and_at_creation():
    f = jax_kernel(matmul)
    for n, m, k in ((3, 4, 2), (4, 3, 2)):
        a, b = jnp.full((n, k), 2, jnp.float32), jnp.full((k, m), 3, jnp.float32)
        (out,) = jax.jit(lambda a, b, n=n, m=m: f(a, b, launch_dims=(n, m)))(a, b)
        np.testing.assert_array_equal(out, np.full((n, m), 12.0))
        np.testing.assert_array_equal(jax_kernel(matmul, launch_dims=[n, m])(a, b)[0], out)


def test_output_dims():
    f = jax_kernel(funky, num_outputs=2)
    a = floats(8)
    b, c = f(a, output_dims=5)
    assert b.shape == c.shape == (5,)
    b, c = f(a, output_dims={"b": 3, "c": (6,)})
    assert b.shape == (3,) and c.shape == (6,)
    b, c = f(a, launch_dims=4, output_dims={"b": 3, "c": 6})
    np.testing.assert_array_equal(c, [2, 3, 4, 5, 0, 0])  # what is not written is zero
    with pytest.raises(ValueError, match="leaves out 'c'"):
        f(a, output_dims={"b": 3})
    with pytest.raises(ValueError, match="has 'd'"):
        f(a, output_dims={"b": 3, "c": 3, "d": 3})


def test_vectors_and_matrices_in_either_convention():
    f = jax_kernel(vecmat, num_outputs=3)
    n = 10
    a, b, c = floats(n), jnp.ones((n, 3), jnp.float32), jnp.ones((n, 2, 2), jnp.float32)
    wanted = f(a, b, c)
    assert [o.shape for o in wanted] == [(n,), (n, 3), (n, 2, 2)]
    for dims in (n, {"d": n, "e": n, "f": n}, {"d": n, "e": (n, 3), "f": (n, 2, 2)},
                 {"d": a.shape, "e": b.shape, "f": c.shape}):  # fmt: skip
        for one, two in zip(wanted, f(a, b, c, output_dims=dims)):
            np.testing.assert_array_equal(one, two)
    with pytest.raises(ValueError, match="elements of .3,. components"):
        f(a, b, c, output_dims={"d": n, "e": (n, 4), "f": n})
    with pytest.raises(TypeError, match="'b' is an array.*last dimensions are .3,."):
        f(a, jnp.ones((n, 4), jnp.float32), c)


def test_what_is_added_to_begins_with_zero():
    f = jax_kernel(accumulate, output_dims=1)
    for _ in range(20):
        assert jax.jit(f)(floats(100))[0] == 4950.0


@wp.kernel
def every_other(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if i % 2 == 0:
        y[i] = x[i]


@wp.kernel
def halves(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if i % 2 == 0:
        y[i] = x[i]
    else:
        y[i] = 0.5 * x[i]


@pytest.mark.parametrize("kernel, odd", [(every_other, 0.0), (halves, 0.5)])
def test_what_is_not_written_is_zero(kernel, odd):
    """Results that a launch does not write in full begin with zeros, also where they are larger than the launch, and for samples
    of a batch; XLA's memory is not clean."""
    x = jnp.ones(1000)
    run = jax.jit(lambda x: wp.jax_kernel(kernel)(x + 1.0)[0] + wp.jax_kernel(kernel)(x)[0])
    large = jax.jit(lambda x: wp.jax_kernel(kernel)(x, output_dims=1200)[0])
    for _ in range(3):
        assert run(x).tolist() == [3.0, 3.0 * odd] * 500
        assert large(x).tolist() == [1.0, odd] * 500 + [0.0] * 200
    assert jax.vmap(lambda x: wp.jax_kernel(kernel)(x)[0])(jnp.ones((3, 8))).tolist() == [[1.0, odd] * 4] * 3
    gradient = jax.grad(lambda x: (wp.jax_kernel(kernel)(x)[0] ** 2).sum())
    assert gradient(jnp.ones(4)).tolist() == [2.0, 2.0 * odd * odd] * 2


def test_in_out_arguments():
    f = jax_kernel(in_place, num_outputs=2, in_out_argnames=["a"])
    a, b = floats(5), jnp.full(5, 10.0, jnp.float32)
    for run in (f, jax.jit(f)):
        x, c = run(b, a)
        np.testing.assert_array_equal(x, np.arange(5) + 10)
        np.testing.assert_array_equal(c, (np.arange(5) + 10) * 10)
        np.testing.assert_array_equal(a, np.arange(5))  # JAX's array stays


def test_roles_are_checked():
    with pytest.raises(ValueError, match="'nobody', which is none of its arguments"):
        jax_kernel(in_place, num_outputs=2, in_out_argnames=["nobody"])
    with pytest.raises(ValueError, match="must not contain duplicate names"):
        jax_kernel(in_place, num_outputs=2, in_out_argnames=["a", "a"])
    with pytest.raises(ValueError, match="in_out arguments should be placed before output-only arguments; .* must stand before the outputs"):
        jax_kernel(in_place, num_outputs=2, in_out_argnames=["c"])
    with pytest.raises(ValueError, match="at least one output"):
        jax_kernel(triple, num_outputs=0)
    with pytest.raises(TypeError, match="the output 's' must be an array"):
        jax_kernel(scale, num_outputs=2)
    with pytest.raises(ValueError, match="writes to its input 'a'"):
        jax_kernel(in_place, num_outputs=1)(floats(3), floats(3))
    with pytest.raises(TypeError, match="takes a kernel"):
        jax_kernel(lambda x: x)
    with pytest.raises(ValueError, match="vmap_method"):
        jax_kernel(triple, vmap_method="all_at_once")


def test_arguments_are_checked():
    f = jax_kernel(triple)
    with pytest.raises(TypeError, match="'x' is an array.*numbers are float32; an array of int32"):
        f(jnp.arange(4))
    with pytest.raises(TypeError, match="'x'.*takes 1 dimensions; shape .2, 2."):
        f(jnp.ones((2, 2)))
    with pytest.raises(TypeError, match="takes 1 inputs .x., 2 were given"):
        f(floats(3), floats(3))
    with pytest.raises(TypeError, match="is an array"):
        jax_kernel(scale)("text", 2.0)


@wp.kernel
def doubles(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = x[i] + x[i]


def test_float64_says_what_it_needs():
    with pytest.raises(TypeError, match="jax_enable_x64"):
        jax_kernel(doubles)(floats(3))


@wp.kernel
def generic(x: wp.array(dtype=Any), s: Any, y: wp.array(dtype=Any)):
    i = wp.tid()
    y[i] = x[i] * s


def test_generic_kernels_take_the_types_of_their_inputs():
    f = jax_kernel(generic)
    np.testing.assert_array_equal(f(floats(4), 2.0)[0], 2 * np.arange(4))
    out = f(jnp.arange(4, dtype=jnp.int32), 3)[0]
    assert out.dtype == jnp.int32 and out.tolist() == [0, 3, 6, 9]
    np.testing.assert_array_equal(f(jnp.ones((4, 3), jnp.float32), 2.0)[0], np.full((4, 3), 2.0))


def test_equal_calls_compile_once():
    f = jax_kernel(triple)
    x = floats(16)
    f(x)
    from warp import _weft

    def turn(count):
        for _ in range(count):
            jax.block_until_ready(f(x))

    turn(2000)
    before, compiled = _weft.xla_calls(), [one._cache_size() for one in f._now[2:]]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    turn(10000)
    assert _weft.xla_calls() == before and [one._cache_size() for one in f._now[2:]] == compiled
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 4096


def test_usual_calls_do_not_run_python(monkeypatch):
    """What goes from Python's call straight to JAX gives what the class's own call does, and no other call takes that way."""
    one, two = jax_kernel(triple), jax_kernel(sincos, num_outputs=2)
    x = floats(8)
    one(x), two(x)
    seen = []
    through_class = type(one).__call__

    def refresh(self, *args):
        seen.append(self)
        return refreshed(self, *args)

    refreshed = type(one)._refresh
    monkeypatch.setattr(type(one), "_refresh", refresh)
    assert [r.tolist() for r in one(x)] == [r.tolist() for r in through_class(one, x)]
    assert [r.tolist() for r in two(x)] == [r.tolist() for r in through_class(two, x)]
    assert type(one(x)) is type(two(x)) is list and len(one(x)) == 1 and not seen
    assert one(x, launch_dims=3)[0].shape == (3,) and one(x, output_dims=8)[0].tolist() == one(x)[0].tolist()
    before = wp.config.max_unroll
    try:  # a kernel under other settings is another one
        wp.config.max_unroll = before + 1
        assert one(x)[0].tolist() == (3 * np.arange(8.0)).tolist() and seen == [one]
    finally:
        wp.config.max_unroll = before
    with pytest.raises(TypeError, match="'x' is an array"):
        one("text")
    with pytest.raises(TypeError, match="takes 1 inputs .x., 0 were given"):
        one()
    tripled = (3 * np.arange(8.0)).tolist()
    assert jax.jit(one)(x)[0].tolist() == tripled and jax.vmap(one)(x[None])[0].tolist() == [tripled]
    assert jax.grad(lambda v: one(v)[0].sum())(x).tolist() == [3.0] * 8


def test_wrappers_go_with_their_last_user():
    f = jax_kernel(triple, launch_dims=5)
    assert f(floats(5))[0].shape == (5,)
    kept = weakref.ref(f)
    del f
    jax.clear_caches()
    gc.collect()
    assert kept() is None


def test_thread_indices_have_32_bits():
    f = jax_kernel(triple, launch_dims=2**31 + 1, output_dims=1)
    with pytest.raises(ValueError, match="extent 2147483649 in dimension 0"):
        jax.jit(f).lower(floats(1))


def test_blocks_have_a_size():
    with pytest.raises(ValueError, match="block_dim must be positive"):
        jax_kernel(triple, block_dim=0)
    with pytest.raises(TypeError, match="block_dim must be an integer or None"):
        jax_kernel(triple, block_dim=1.5)
    assert jax_kernel(triple, block_dim=64).block_dim == 64


def test_equal_wrappers_are_one():
    assert jax_kernel(triple) is jax_kernel(triple, in_out_argnames=[])
    assert jax_kernel(triple) is not jax_kernel(triple, launch_dims=3)


def test_no_threads():
    assert jax_kernel(triple)(jnp.zeros(0, jnp.float32))[0].shape == (0,)


def test_pickles_as_kernel_and_options():
    f = jax_kernel(scale, launch_dims=3)
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(again(floats(3), 2.0)[0], f(floats(3), 2.0)[0])


def test_the_text_of_a_program_has_no_counter():
    f = jax_kernel(triple)

    def text():
        return jax.jit(lambda x: f(x)[0]).lower(floats(4)).as_text()

    assert text() == text()


def test_one_kernel_many_times_in_a_program():
    f = jax_kernel(triple)

    @jax.jit
    def power(x):
        for _ in range(6):
            x = f(x)[0] / 3.0 + 1.0
        return x

    np.testing.assert_array_equal(power(floats(5)), np.arange(5) + 6)
