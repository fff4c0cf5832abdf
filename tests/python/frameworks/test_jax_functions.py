"""jax_callable, register_ffi_callback, the older jax_kernel, and arrays, devices and types of JAX."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from jax_support import jax, jnp

import warp as wp
from warp.jax_experimental.ffi import JaxCallableGraphMode, jax_callable, register_ffi_callback


@wp.kernel
def scale_kernel(a: wp.array(dtype=float), s: float, output: wp.array(dtype=float)):
    tid = wp.tid()
    output[tid] = a[tid] * s


@wp.kernel
def scale_vec_kernel(a: wp.array(dtype=wp.vec2), s: float, output: wp.array(dtype=wp.vec2)):
    tid = wp.tid()
    output[tid] = a[tid] * s


@wp.kernel
def square(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i] * a[i]


@wp.kernel
def grow(b: wp.array(dtype=float), a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] + b[i] * a[i]


def example_func(
    a: wp.array(dtype=float),
    b: wp.array(dtype=wp.vec2),
    s: float,
    c: wp.array(dtype=float),
    d: wp.array(dtype=wp.vec2),
):
    wp.launch(scale_kernel, dim=a.shape, inputs=[a, s], outputs=[c])
    wp.launch(scale_vec_kernel, dim=b.shape, inputs=[b, s], outputs=[d])


def squares(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    middle = wp.empty_like(a, requires_grad=a.requires_grad)
    wp.launch(square, dim=a.shape, inputs=[a], outputs=[middle])
    wp.launch(square, dim=a.shape, inputs=[middle], outputs=[b])


def in_place(b: wp.array(dtype=float), a: wp.array(dtype=float)):
    wp.launch(grow, dim=a.shape, inputs=[b], outputs=[a])


def floats(n):
    return jnp.arange(n, dtype=jnp.float32)


def test_a_function_of_several_launches():
    f = jax_callable(example_func, num_outputs=2)
    a, b = floats(10), floats(10).reshape(5, 2)
    dims = {"c": a.shape, "d": b.shape}
    for run in (f, jax.jit(f, static_argnums=2, static_argnames=["output_dims"])):
        c, d = f(a, b, 2.0, output_dims=dims) if run is f else jax.jit(lambda a, b: f(a, b, 2.0, output_dims=dims))(a, b)
        np.testing.assert_array_equal(c, 2 * np.arange(10))
        np.testing.assert_array_equal(d, 2 * np.arange(10).reshape(5, 2))


@pytest.mark.parametrize("mode", list(JaxCallableGraphMode))
def test_every_graph_mode_follows_its_inputs(mode):
    f = jax_callable(squares, graph_mode=mode)
    g = jax.jit(lambda x: f(x)[0])
    for k in range(30):
        np.testing.assert_allclose(g(floats(8) + k), (np.arange(8, dtype=np.float32) + k) ** 4, rtol=1e-6)
    wp.clear_jax_callable_graph_cache(f)
    np.testing.assert_allclose(g(floats(8)), np.arange(8, dtype=np.float32) ** 4, rtol=1e-6)
    wp.clear_jax_callable_graph_cache()


def test_graphs_that_are_kept_are_bounded():
    f = jax_callable(squares, graph_mode=JaxCallableGraphMode.WARP, graph_cache_max=2)
    held = []
    for n in range(1, 9):
        held.append(f(floats(n))[0])
        assert len(f._graphs.graphs) <= 2
    assert wp.get_jax_callable_default_graph_cache_max() == 32
    wp.set_jax_callable_default_graph_cache_max(5)
    assert jax_callable(squares, graph_mode=JaxCallableGraphMode.WARP).graph_cache_max == 5
    wp.set_jax_callable_default_graph_cache_max(32)


@pytest.mark.parametrize("mode", [JaxCallableGraphMode.JAX, JaxCallableGraphMode.WARP_STAGED, JaxCallableGraphMode.WARP_STAGED_EX])
def test_functions_in_place(mode):
    f = jax_callable(in_place, in_out_argnames=["a"], graph_mode=mode)
    a, b = floats(5), jnp.full(5, 2.0, jnp.float32)
    for _ in range(3):
        np.testing.assert_array_equal(jax.jit(f)(b, a)[0], 3 * np.arange(5))
        np.testing.assert_array_equal(a, np.arange(5))


def test_functions_differentiate_and_batch():
    f = jax_callable(squares)
    x = floats(5) * 0.3
    np.testing.assert_allclose(jax.grad(lambda x: f(x)[0].sum())(x), 4 * x**3, rtol=1e-5)
    np.testing.assert_allclose(jax.jvp(lambda x: f(x)[0], (x,), (jnp.ones(5),))[1], 4 * x**3, rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(lambda x: f(x)[0])(jnp.stack([x, x + 1])), jnp.stack([x, x + 1]) ** 4, rtol=1e-5)
    np.testing.assert_allclose(
        jax.vmap(jax.grad(lambda x: f(x)[0].sum()))(jnp.stack([x, x + 1])), 4 * jnp.stack([x, x + 1]) ** 3, rtol=1e-5
    )
    g = jax_callable(in_place, in_out_argnames=["a"])
    slopes = jax.grad(lambda b, a: g(b, a)[0].sum(), argnums=(0, 1))(x, x + 1)
    np.testing.assert_allclose(slopes[0], x + 1, rtol=1e-6)
    np.testing.assert_allclose(slopes[1], 1 + x, rtol=1e-6)
    with pytest.raises(RuntimeError, match="enable_backward=False"):
        h = jax_callable(squares, enable_backward=False)
        jax.grad(lambda x: h(x)[0].sum())(x)


def test_an_exception_comes_through_with_its_place():
    def fails(a: wp.array(dtype=float), b: wp.array(dtype=float)):
        raise KeyError("not here")

    with pytest.raises(Exception, match="KeyError: 'not here'") as caught:
        jax.block_until_ready(jax_callable(fails)(floats(3)))
    assert "test_jax_functions.py" in str(caught.value)


def test_an_array_that_is_kept_has_no_memory():
    kept = []

    def keeps(a: wp.array(dtype=float), b: wp.array(dtype=float)):
        kept.append(a)
        wp.copy(b, a)

    jax.block_until_ready(jax_callable(keeps)(floats(3)))
    assert not kept[0]._valid
    with pytest.raises(Exception):
        wp.launch(square, dim=3, inputs=[kept[0]], outputs=[wp.zeros(3)])


def test_annotations_are_checked():
    def unannotated(a, b: wp.array(dtype=float)):
        pass

    def returns(a: wp.array(dtype=float), b: wp.array(dtype=float)) -> int:
        return 1

    with pytest.raises(TypeError, match="'a' has no annotation"):
        jax_callable(unannotated)
    with pytest.raises(TypeError, match="returns nothing"):
        jax_callable(returns)
    with pytest.raises(TypeError, match="takes an annotated function"):
        jax_callable(3)
    with pytest.raises(TypeError, match="'a' is an array"):
        jax_callable(squares)("text")


def test_functions_of_one_name_are_told_apart():
    text = "def put(a: wp.array(dtype=float), b: wp.array(dtype=float)):\n    b.fill_(value)\n"
    made = []
    for value in (1.0, 2.0):
        names = {"wp": wp, "value": value, "__name__": "one_module"}
        exec(text, names)
        made.append(jax_callable(names["put"]))

    def put(a: wp.array(dtype=float), b: wp.array(dtype=float)):
        b.fill_(3.0)

    def other(a: wp.array(dtype=float), b: wp.array(dtype=float)):
        b.zero_()

    put.__qualname__ = other.__qualname__ = "put"
    put.__module__ = other.__module__ = "one_module"
    made += [jax_callable(put), jax_callable(other)]
    x = jnp.zeros(2)
    for _ in range(2):
        assert [f(x)[0][0] for f in made] == [1.0, 2.0, 3.0, 0.0]
        assert [jax.jit(f)(x)[0][0] for f in made] == [1.0, 2.0, 3.0, 0.0]


def test_functions_pickle():
    f = pickle.loads(pickle.dumps(jax_callable(squares)))
    np.testing.assert_allclose(f(floats(3))[0], np.arange(3.0) ** 4)


def test_callbacks_by_name(request):
    name = f"weft_{request.node.name}"  # one for each device that the test runs on
    seen = {}

    def warp_func(inputs, outputs, attrs, ctx):
        a, b = inputs
        c, d = outputs
        seen.update(shape=a.shape, dtype=a.dtype, stage=ctx.stage, stream=ctx.stream, attrs=attrs)
        wp.launch(scale_kernel, dim=a.shape, inputs=[a, attrs["scale"]], outputs=[c])
        wp.launch(scale_vec_kernel, dim=b.shape[0], inputs=[b, attrs["scale"]], outputs=[d])

    register_ffi_callback(name, warp_func)
    register_ffi_callback(name, warp_func)
    with pytest.raises(ValueError, match="another function"):
        register_ffi_callback(name, print)
    a, b = floats(10), floats(10).reshape(5, 2)
    types = [jax.ShapeDtypeStruct(a.shape, jnp.float32), jax.ShapeDtypeStruct(b.shape, jnp.float32)]
    c, d = jax.ffi.ffi_call(name, types)(a, b, scale=2.0, name="x", table=np.arange(3, dtype=np.int32))
    np.testing.assert_array_equal(c, 2 * np.arange(10))
    np.testing.assert_array_equal(d, 2 * np.arange(10).reshape(5, 2))
    assert seen["shape"] == (10,) and seen["dtype"] == np.float32 and seen["stage"] == 3
    assert seen["attrs"]["name"] == "x" and seen["attrs"]["table"].tolist() == [0, 1, 2]


def test_the_older_form():
    from warp.jax_experimental import jax_kernel
    from warp.jax_experimental.custom_call import jax_kernel as oldest

    x = floats(6)
    for make in (jax_kernel, oldest):
        f = make(square)
        np.testing.assert_array_equal(jax.jit(lambda f=f: f(x))()[0], np.arange(6.0) ** 2)
        np.testing.assert_array_equal(f(x.reshape(2, 3))[0], np.arange(6.0).reshape(2, 3) ** 2)
        assert make(square, launch_dims=3)(x)[0].shape == (3,)
    new = jax_kernel(square, num_outputs=1, output_dims=8)
    assert new(x)[0].shape == (8,)
    with pytest.raises(TypeError, match="unexpected keyword"):
        jax_kernel(square, outputs=1)
    with pytest.raises(TypeError, match="too many"):
        jax_kernel(square)(x, x)


# ---- Arrays, devices, types ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", "bool int8 uint8 int16 uint16 int32 uint32 float16 bfloat16 float32".split())
def test_arrays_of_every_type_share_memory(name):
    x = jnp.asarray(np.arange(6) % 2).astype(name).reshape(2, 3)
    a = wp.from_jax(x)
    assert a.shape == (2, 3) and a.dtype is wp.dtype_from_jax(x.dtype)
    if x.devices().pop().platform == "cpu":
        assert a.ptr == x.unsafe_buffer_pointer()
    back = wp.to_jax(a)
    assert back.dtype == x.dtype and (back == x).all()
    assert np.dtype(wp.dtype_to_jax(a.dtype)) == x.dtype


def test_vectors_and_matrices_of_jax():
    assert wp.from_jax(jnp.ones((4, 3)), dtype=wp.vec3).shape == (4,)
    assert wp.from_jax(jnp.ones((4, 2, 2)), dtype=wp.mat22).shape == (4,)
    assert wp.to_jax(wp.zeros(5, dtype=wp.vec3)).shape == (5, 3)
    with pytest.raises(RuntimeError, match="can't be seen as an array of vec3f"):
        wp.from_jax(jnp.ones((4, 2)), dtype=wp.vec3)


def test_the_memory_lives_as_long_as_the_array():
    a = wp.from_jax(jnp.arange(1000.0))
    assert a.numpy()[999] == 999
    x = wp.to_jax(wp.array(np.arange(1000.0), dtype=float))
    assert x[999] == 999


def test_what_is_no_array_of_jax():
    with pytest.raises(TypeError, match="takes a jax.Array, not list"):
        wp.from_jax([1.0])
    with pytest.raises(TypeError, match="not what JAX traces"):
        jax.jit(lambda x: wp.from_jax(x))(floats(3))
    with pytest.raises(TypeError, match="takes an array of this package"):
        wp.to_jax(floats(3))
    with pytest.raises(TypeError):
        wp.dtype_from_jax("complex64")
    with pytest.raises(TypeError):
        wp.dtype_to_jax(str)


def test_devices():
    device = wp.jax.get_jax_device()
    assert wp.device_to_jax(wp.device_from_jax(device)).platform == device.platform
    assert wp.device_from_jax(jax.devices("cpu")[0]) == wp.get_device("cpu")
    assert wp.device_to_jax("cpu").platform == "cpu"
    with pytest.raises(RuntimeError, match="there is no device"):
        wp.device_from_jax("tpu")
