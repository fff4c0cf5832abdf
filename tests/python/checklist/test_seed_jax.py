"""The JAX section of the interoperability document: its programs as they stand, and what they print."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402

import warp as wp  # noqa: E402


def test_seed_165_from_jax_and_to_jax():
    """Arrays share their memory with JAX."""
    jax_array = jnp.arange(8, dtype=jnp.float32)
    warp_array = wp.from_jax(jax_array)
    assert warp_array.shape == (8,) and warp_array.dtype is wp.float32
    jax_array = wp.to_jax(warp_array)
    assert jax_array.tolist() == list(range(8))


def test_seed_166_devices_and_types():
    """device_from_jax, device_to_jax, dtype_from_jax, dtype_to_jax."""
    for device in jax.local_devices():
        assert wp.device_to_jax(wp.device_from_jax(device)).platform == device.platform
    for name in ("int32", "float32", "uint8", "float16", "bfloat16"):
        assert wp.dtype_to_jax(wp.dtype_from_jax(getattr(jnp, name))) is getattr(jnp, name)


@wp.kernel
def triple_kernel(input: wp.array(dtype=float), output: wp.array(dtype=float)):
    tid = wp.tid()
    output[tid] = 3.0 * input[tid]


@wp.kernel
def multiarg_kernel(
    # inputs
    a: wp.array(dtype=float),
    b: wp.array(dtype=float),
    c: wp.array(dtype=float),
    # outputs
    ab: wp.array(dtype=float),
    bc: wp.array(dtype=float),
):
    tid = wp.tid()
    ab[tid] = a[tid] + b[tid]
    bc[tid] = b[tid] + c[tid]


@wp.kernel
def matmul_kernel(
    a: wp.array2d(dtype=float),  # NxK input
    b: wp.array2d(dtype=float),  # KxM input
    c: wp.array2d(dtype=float),  # NxM output
):
    # launch dims should be (N, M)
    i, j = wp.tid()
    N = a.shape[0]
    K = a.shape[1]
    M = b.shape[1]
    if i < N and j < M:
        s = wp.float32(0)
        for k in range(K):
            s += a[i, k] * b[k, j]
        c[i, j] = s


def test_seed_167_a_kernel_in_a_jitted_function():
    """warp.jax_experimental.jax_kernel."""
    from warp.jax_experimental import jax_kernel

    # create a Jax primitive from a Warp kernel
    jax_triple = jax_kernel(triple_kernel)

    # use the Warp kernel in a Jax jitted function
    @jax.jit
    def f():
        x = jnp.arange(0, 64, dtype=jnp.float32)
        return jax_triple(x)

    np.testing.assert_array_equal(f()[0], 3 * np.arange(64))


def test_seed_168_three_inputs_and_two_outputs():
    """Outputs are what the call leaves over."""
    from warp.jax_experimental import jax_kernel

    jax_multiarg = jax_kernel(multiarg_kernel)

    @jax.jit
    def f():
        a = jnp.full(64, 1, dtype=jnp.float32)
        b = jnp.full(64, 2, dtype=jnp.float32)
        c = jnp.full(64, 3, dtype=jnp.float32)
        return jax_multiarg(a, b, c)

    x, y = f()
    assert (x == 3).all() and (y == 5).all()


def test_seed_169_launch_dims():
    """Launch dimensions of the older form, which shape the output."""
    from warp.jax_experimental import jax_kernel

    N, M, K = 3, 4, 2

    # specify custom launch dimensions
    jax_matmul = jax_kernel(matmul_kernel, launch_dims=(N, M))

    @jax.jit
    def f():
        a = jnp.full((N, K), 2, dtype=jnp.float32)
        b = jnp.full((K, M), 3, dtype=jnp.float32)

        # use default launch dims
        return jax_matmul(a, b)

    np.testing.assert_array_equal(f()[0], np.full((3, 4), 12.0))


@wp.kernel
def add_kernel(a: wp.array(dtype=int), b: wp.array(dtype=int), output: wp.array(dtype=int)):
    tid = wp.tid()
    output[tid] = a[tid] + b[tid]


@wp.kernel
def sincos_kernel(angle: wp.array(dtype=float), sin_out: wp.array(dtype=float), cos_out: wp.array(dtype=float)):
    tid = wp.tid()
    sin_out[tid] = wp.sin(angle[tid])
    cos_out[tid] = wp.cos(angle[tid])


@wp.kernel
def diagonal_kernel(output: wp.array(dtype=wp.mat33)):
    tid = wp.tid()
    output[tid] = wp.mat33(1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0)


@wp.kernel
def scale_kernel(a: wp.array(dtype=float), s: float, output: wp.array(dtype=float)):
    tid = wp.tid()
    output[tid] = a[tid] * s


@wp.kernel
def scale_vec_kernel(a: wp.array(dtype=wp.vec2), s: float, output: wp.array(dtype=wp.vec2)):
    tid = wp.tid()
    output[tid] = a[tid] * s


def test_seed_171_two_inputs_one_output():
    """warp.jax_experimental.ffi.jax_kernel."""
    from warp.jax_experimental.ffi import jax_kernel

    jax_add = jax_kernel(add_kernel)

    @jax.jit
    def f():
        n = 10
        a = jnp.arange(n, dtype=jnp.int32)
        b = jnp.ones(n, dtype=jnp.int32)
        return jax_add(a, b)

    np.testing.assert_array_equal(f()[0], np.arange(10) + 1)


def test_seed_172_173_num_outputs():
    """One input and two outputs."""
    from warp.jax_experimental.ffi import jax_kernel

    jax_sincos = jax_kernel(sincos_kernel, num_outputs=2)  # specify multiple outputs

    @jax.jit
    def f():
        a = jnp.linspace(0, 2 * np.pi, 32)
        return jax_sincos(a)

    s, c = f()
    np.testing.assert_allclose(s, np.sin(np.linspace(0, 2 * np.pi, 32)), atol=1e-5)
    np.testing.assert_allclose(c, np.cos(np.linspace(0, 2 * np.pi, 32)), atol=1e-5)


def test_seed_174_no_inputs():
    """Launch dimensions determine the output shape."""
    from warp.jax_experimental.ffi import jax_kernel

    jax_diagonal = jax_kernel(diagonal_kernel)

    @jax.jit
    def f():
        # launch dimensions determine the output shape
        return jax_diagonal(launch_dims=4)

    np.testing.assert_array_equal(f()[0], np.stack([np.diag([1.0, 2.0, 3.0])] * 4))
    with pytest.raises(RuntimeError):
        jax_diagonal()


def test_seed_175_scalars_are_static():
    """Constants and static arguments serve; what JAX traces raises."""
    from warp.jax_experimental.ffi import jax_kernel

    jax_scale = jax_kernel(scale_kernel)

    @jax.jit
    def f():
        a = jnp.arange(10, dtype=jnp.float32)
        return jax_scale(a, 2.0)  # ok: constant scalar argument

    np.testing.assert_array_equal(f()[0], 2 * np.arange(10))

    @jax.jit
    def g(a, s):
        return jax_scale(a, s)  # ERROR: traced scalar argument

    a = jnp.arange(10, dtype=jnp.float32)
    with pytest.raises(ValueError, match="'s'"):
        g(a, 2.0)

    # make scalar arguments static
    @partial(jax.jit, static_argnames=["s"])
    def h(a, s):
        return jax_scale(a, s)  # ok: static scalar argument

    np.testing.assert_array_equal(h(a, 2.0)[0], 2 * np.arange(10))


def test_seed_176_launch_dims_per_call():
    """Each call may have launch dimensions of its own."""
    from warp.jax_experimental.ffi import jax_kernel

    # no need to specify launch dims here
    jax_matmul = jax_kernel(matmul_kernel)

    @jax.jit
    def f():
        N1, M1, K1 = 3, 4, 2
        a1 = jnp.full((N1, K1), 2, dtype=jnp.float32)
        b1 = jnp.full((K1, M1), 3, dtype=jnp.float32)

        # use custom launch dims
        result1 = jax_matmul(a1, b1, launch_dims=(N1, M1))

        N2, M2, K2 = 4, 3, 2
        a2 = jnp.full((N2, K2), 2, dtype=jnp.float32)
        b2 = jnp.full((K2, M2), 3, dtype=jnp.float32)

        # use custom launch dims
        result2 = jax_matmul(a2, b2, launch_dims=(N2, M2))

        return result1, result2

    r1, r2 = f()
    np.testing.assert_array_equal(r1[0], np.full((3, 4), 12.0))
    np.testing.assert_array_equal(r2[0], np.full((4, 3), 12.0))


@wp.kernel
def funky_kernel(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    tid = wp.tid()
    if tid < b.shape[0]:
        b[tid] = a[tid]
    if tid < c.shape[0]:
        c[tid] = -a[tid]


def test_seed_177_output_dims():
    """One shape for all outputs, shapes by name, with launch dimensions or without."""
    from warp.jax_experimental.ffi import jax_kernel

    jax_funky = jax_kernel(funky_kernel, num_outputs=2)
    a, n, m, k = jnp.arange(8.0), 3, 5, 4
    b, c = jax_funky(a, output_dims=n)
    assert b.shape == c.shape == (n,)
    b, c = jax_funky(a, output_dims={"b": n, "c": m})
    assert b.shape == (n,) and c.shape == (m,)
    b, c = jax_funky(a, launch_dims=k, output_dims={"b": n, "c": m})
    assert c.tolist() == [0, -1, -2, -3, 0]


@wp.kernel
def vecmat_kernel(
    a: wp.array(dtype=float),
    b: wp.array(dtype=wp.vec3),
    c: wp.array(dtype=wp.mat22),
    # outputs
    d: wp.array(dtype=float),
    e: wp.array(dtype=wp.vec3),
    f: wp.array(dtype=wp.mat22),
):
    tid = wp.tid()
    d[tid] = a[tid]
    e[tid] = b[tid]
    f[tid] = c[tid]


def test_seed_178_vectors_and_matrices():
    """Components are inner dimensions; output dimensions come with them or without."""
    from warp.jax_experimental.ffi import jax_kernel

    jax_vecmat = jax_kernel(vecmat_kernel, num_outputs=3)

    @jax.jit
    def f():
        n = 10
        a = jnp.zeros(n, dtype=jnp.float32)  # scalar array
        b = jnp.zeros((n, 3), dtype=jnp.float32)  # vec3 array
        c = jnp.zeros((n, 2, 2), dtype=jnp.float32)  # mat22 array

        return (
            jax_vecmat(a, b, c),
            jax_vecmat(a, b, c, output_dims=n),
            jax_vecmat(a, b, c, output_dims={"d": n, "e": n, "f": n}),
            jax_vecmat(a, b, c, output_dims={"d": n, "e": (n, 3), "f": (n, 2, 2)}),
            jax_vecmat(a, b, c, output_dims={"d": a.shape, "e": b.shape, "f": c.shape}),
        )

    for d, e, g in f():
        assert d.shape == (10,) and e.shape == (10, 3) and g.shape == (10, 2, 2)


def test_seed_179_vmap_method():
    """Per wrapper and per call."""
    from warp.jax_experimental.ffi import jax_kernel

    jax_callback = jax_kernel(triple_kernel, vmap_method="sequential")
    a = jnp.arange(12.0).reshape(3, 4)
    for call in (jax_callback, lambda x: jax_callback(x, vmap_method="expand_dims")):
        np.testing.assert_array_equal(jax.jit(jax.vmap(call))(a)[0], 3 * a)


# The Python function to call.
# Note the argument type annotations, just like Warp kernels.
def example_func(
    # inputs
    a: wp.array(dtype=float),
    b: wp.array(dtype=wp.vec2),
    s: float,
    # outputs
    c: wp.array(dtype=float),
    d: wp.array(dtype=wp.vec2),
):
    # launch multiple kernels
    wp.launch(scale_kernel, dim=a.shape, inputs=[a, s], outputs=[c])
    wp.launch(scale_vec_kernel, dim=b.shape, inputs=[b, s], outputs=[d])


def test_seed_180_jax_callable():
    """An annotated function that launches several kernels."""
    from warp.jax_experimental.ffi import jax_callable

    for jax_func in (
        jax_callable(example_func, num_outputs=2),
        jax_callable(example_func, num_outputs=2, graph_compatible=False),
    ):

        def f(jax_func=jax_func):
            # inputs
            a = jnp.arange(10, dtype=jnp.float32)
            b = jnp.arange(10, dtype=jnp.float32).reshape((5, 2))  # wp.vec2
            s = 2.0

            # output shapes
            output_dims = {"c": a.shape, "d": b.shape}

            c, d = jax_func(a, b, s, output_dims=output_dims)

            return c, d

        r1, r2 = jax.jit(f)()
        np.testing.assert_array_equal(r1, 2 * np.arange(10))
        np.testing.assert_array_equal(r2, 2 * np.arange(10).reshape(5, 2))


def test_seed_182_register_ffi_callback():
    """A function of buffers, attributes and the context."""
    from warp.jax_experimental.ffi import get_jax_device, register_ffi_callback

    # the Python function to call
    def warp_func(inputs, outputs, attrs, ctx):
        # input arrays
        a = inputs[0]
        b = inputs[1]

        # scalar attributes
        s = attrs["scale"]

        # output arrays
        c = outputs[0]
        d = outputs[1]

        device = wp.device_from_jax(get_jax_device())

        def launch():
            # launch with arrays of scalars
            wp.launch(scale_kernel, dim=a.shape, inputs=[a, s], outputs=[c])

            # launch with arrays of vec2
            # NOTE: the input shapes are from JAX arrays, so we need to strip the inner dimension for vec2 arrays
            wp.launch(scale_vec_kernel, dim=b.shape[0], inputs=[b, s], outputs=[d])

        if device.is_cpu:  # it has no streams
            return launch()
        stream = wp.Stream(device, cuda_stream=ctx.stream)
        with wp.ScopedStream(stream):
            launch()

    # register callback
    name = f"warp_func_{wp.get_device().alias}"  # this test runs for each device
    register_ffi_callback(name, warp_func)

    n = 10

    # inputs
    a = jnp.arange(n, dtype=jnp.float32)
    b = jnp.arange(n, dtype=jnp.float32).reshape((n // 2, 2))  # array of wp.vec2
    s = 2.0

    # set up the call
    out_types = [
        jax.ShapeDtypeStruct(a.shape, jnp.float32),
        jax.ShapeDtypeStruct(b.shape, jnp.float32),  # array of wp.vec2
    ]
    call = jax.ffi.ffi_call(name, out_types)

    # call it
    c, d = call(a, b, scale=s)
    np.testing.assert_array_equal(c, 2 * np.arange(10))
    np.testing.assert_array_equal(d, 2 * np.arange(10).reshape(5, 2))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_seed_184_shard_map():
    """A kernel on each device's shard."""
    from jax.experimental.shard_map import shard_map
    from jax.sharding import PartitionSpec as P
    from warp.jax_experimental import jax_kernel

    jax_warp_multiply = jax_kernel(triple_kernel)

    def warp_distributed_operator(a_in):
        def _sharded_operator(a_in):
            return jax_warp_multiply(a_in)[0]

        # shard_map distributes the computation across devices
        return shard_map(
            _sharded_operator,
            mesh=jax.sharding.Mesh(np.array(jax.devices()), "x"),
            in_specs=(P("x"),),  # Input is sharded along the 'x' axis
            out_specs=P("x"),  # Output is also sharded along the 'x' axis
            check_rep=False,
        )(a_in)

    mesh = jax.sharding.Mesh(np.array(jax.devices()), "x")
    sharding_spec = jax.sharding.NamedSharding(mesh, P("x"))
    size = len(jax.devices()) * 5
    values = jnp.arange(size, dtype=jnp.float32)
    arrays = [
        jax.device_put(values[index], d)
        for d, index in sharding_spec.addressable_devices_indices_map((size,)).items()
    ]
    sharded = jax.make_array_from_single_device_arrays((size,), sharding_spec, arrays)
    np.testing.assert_array_equal(warp_distributed_operator(sharded), 3 * np.arange(size))
