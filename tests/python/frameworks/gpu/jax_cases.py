"""JAX on one GPU: kernels and functions in its programs, streams of XLA, command buffers, both platforms in one process."""

from __future__ import annotations

import gc
import time

import jax
import jax.numpy as jnp
import numpy as np
import warp as wp
from gpu_support import Skip, run_cases

wp.config.quiet = True
wp.init()
GPU = next((d for d in jax.devices() if d.platform == "gpu"), None)


@wp.kernel
def square(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] * w[0]


@wp.kernel
def relax(x: wp.array(dtype=float), steps: int, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]
    for _ in range(steps):
        y[i] = wp.sin(y[i]) * x[i] + y[i] * y[i] * 0.1


@wp.kernel
def step(v: wp.array(dtype=float), x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 0.5 * v[i]


@wp.kernel
def total(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    wp.atomic_add(y, 0, x[wp.tid()])


@wp.kernel
def every_other(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if i % 2 == 0:
        y[i] = x[i]


f = wp.jax_kernel(square)
g = wp.jax_kernel(relax)
W = np.full(1, 2.0, np.float32)


def needs_gpu():
    if GPU is None:
        raise Skip("JAX sees no GPU")


def close(found, wanted, rtol=1e-5):
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=rtol, atol=1e-6)


def case_values_and_derivatives():
    needs_gpu()
    x = jnp.arange(1.0, 65.0)
    assert x.devices() == {GPU}
    for call in (lambda x: f(x, W)[0], jax.jit(lambda x: f(x, W)[0])):
        close(call(x), 2 * np.arange(1.0, 65.0) ** 2)
        assert call(x).devices() == {GPU}
    loss = lambda x, w: jnp.sum(f(x, w)[0] * jnp.cos(x))  # noqa: E731
    true = lambda x, w: jnp.sum(x * x * w[0] * jnp.cos(x))  # noqa: E731
    w = jnp.asarray(W)
    for one, two in zip(jax.jit(jax.grad(loss, (0, 1)))(x, w), jax.grad(true, (0, 1))(x, w)):
        close(one, two, 1e-3)
    close(jax.jvp(loss, (x, w), (x, w))[1], jax.jvp(true, (x, w), (x, w))[1], 1e-3)
    y = x[:6]
    close(jax.jit(jax.hessian(loss))(y, w), jax.hessian(true)(y, w), 1e-3)
    slope = lambda h: jax.grad(lambda y: jax.jvp(lambda y: h(y, w), (y,), (y + 1,))[1])  # noqa: E731
    close(slope(loss)(y), slope(true)(y), 1e-3)
    many = jnp.stack([y, y + 1, y * 2])
    close(jax.jit(jax.vmap(lambda y: f(y, w)[0]))(many), 2 * np.asarray(many) ** 2)


def case_adjoint_with_a_log():
    needs_gpu()
    x = jnp.linspace(0.1, 0.9, 32)
    cpu = jax.devices("cpu")[0]
    wanted = jax.jit(jax.grad(lambda x: jnp.sum(g(x, 4)[0])))(jax.device_put(np.asarray(x), cpu))
    close(jax.jit(jax.grad(lambda x: jnp.sum(g(x, 4)[0])))(x), wanted, 1e-4)


def case_in_place_and_sums():
    needs_gpu()
    s = wp.jax_kernel(step, in_out_argnames=["x"])
    v, x = jnp.arange(8.0), jnp.ones(8)
    moved = jax.jit(s)(v, x)[0]
    close(moved, 1 + 0.5 * np.arange(8.0))
    close(x, np.ones(8))
    t = wp.jax_kernel(total, output_dims=1)
    for _ in range(20):
        close(jax.jit(t)(jnp.ones(1000))[0], [1000.0])  # begins with zeros each time


def case_what_is_not_written_is_zero():
    """Outputs that a launch fills are not cleared, the others are; XLA's memory is not clean."""
    needs_gpu()
    half = wp.jax_kernel(every_other)
    run = jax.jit(lambda x: half(x + 2.0)[0] + half(x)[0])
    for _ in range(20):
        close(run(jnp.ones(1000)), [4.0, 0.0] * 500)
        close(f(jnp.full(1000, 3.0), W)[0], np.full(1000, 18.0))


def case_stream_of_xla():
    """What XLA computes before and behind a launch is in order with it: nothing waits in between."""
    needs_gpu()

    @jax.jit
    def program(x, k):
        y = x * 0.0 + k
        for _ in range(10):
            y = f(jnp.sin(y) * 0.0 + k, jnp.ones(1))[0] * 0.5
        return jnp.max(y), jnp.min(y)

    x = jnp.ones(1 << 20)
    for turn in range(100):
        high, low = program(x, float(turn % 50))
        assert float(high) == float(low) == 0.5 * float(turn % 50) ** 2, turn


def case_command_buffers():
    """A program long enough to be captured, run a hundred times with other inputs. The flags that capture custom calls at
    once are set by the test that starts this."""
    needs_gpu()

    @jax.jit
    def program(x, w):
        for _ in range(8):
            x = f(x, w)[0] * 0.1 + 1.0
        return x

    plain = lambda x, w: [x := x * x * w[0] * 0.1 + 1.0 for _ in range(8)][-1]  # noqa: E731
    w = jnp.asarray(W) * 0.5
    for turn in range(100):
        x = jnp.linspace(0.0, 1.0, 256) * (turn % 7) / 7.0
        close(program(x, w), plain(np.asarray(x), np.asarray(w)), 1e-4)


def case_functions_in_every_graph_mode():
    needs_gpu()

    def func(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array(dtype=float)):
        wp.launch(square, dim=x.shape, inputs=[x, w], outputs=[y])
        wp.launch(step, dim=x.shape, inputs=[x], outputs=[y])

    for mode in wp.JaxCallableGraphMode:
        h = wp.jax_callable(func, graph_mode=mode)
        program = jax.jit(lambda x, w, h=h: h(x * 1.0, w)[0] + 1.0)
        for turn in range(40):
            x = jnp.arange(32.0) + turn
            a = np.asarray(x)
            close(program(x, W), 2 * a * a + 0.5 * a + 1.0)


def case_callbacks_by_name():
    """As the documents do it: the stream is that of the call, buffers go to launches as they are."""
    needs_gpu()
    seen = []

    def warp_func(inputs, outputs, attrs, ctx):
        a, b = inputs
        seen.append((a.__cuda_array_interface__["shape"], ctx.stream))
        device = wp.device_from_jax(wp.jax.get_jax_device())
        stream = wp.Stream(device, cuda_stream=ctx.stream)
        with wp.ScopedStream(stream):
            wp.launch(square, dim=a.shape, inputs=[a, b], outputs=[outputs[0]])
            wp.launch(step, dim=a.shape, inputs=[a], outputs=[outputs[0]])

    wp.jax_experimental.register_ffi_callback("weft_gpu_case", warp_func)
    call = jax.ffi.ffi_call("weft_gpu_case", [jax.ShapeDtypeStruct((1 << 16,), jnp.float32)])
    program = jax.jit(lambda x, w: call(jnp.sin(x) * 0.0 + x, w)[0] + 1.0)
    for turn in range(30):
        a = np.arange(1 << 16, dtype=np.float32) % 100 + turn
        close(program(a, W), 2 * a * a + 0.5 * a + 1.0)
    assert seen and all(shape == (1 << 16,) and stream for shape, stream in seen)


def case_kernel_defined_anew():
    """A compiled program keeps the kernel that it was made with."""
    needs_gpu()

    def make(factor):
        @wp.kernel
        def again(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            i = wp.tid()
            y[i] = x[i] * factor

        return jax.jit(wp.jax_kernel(again))

    first, x = make(2.0), jnp.arange(8.0)
    close(first(x)[0], 2 * np.arange(8.0))
    second = make(5.0)
    close(second(x)[0], 5 * np.arange(8.0))
    del second
    gc.collect()
    close(first(x)[0], 2 * np.arange(8.0))


def case_both_platforms():
    needs_gpu()
    cpu = jax.devices("cpu")[0]
    x = np.arange(16.0, dtype=np.float32)
    for turn in range(20):
        for device in (cpu, GPU):
            y = jax.jit(lambda x: f(x, W)[0])(jax.device_put(x + turn, device))
            assert y.devices() == {device}
            close(y, 2 * (x + turn) ** 2)


def case_arrays_both_ways():
    needs_gpu()
    x = jnp.arange(64.0)
    a = wp.from_jax(x)
    assert a.device.is_cuda and a.ptr == x.unsafe_buffer_pointer()
    close(a.numpy(), np.arange(64.0))
    b = wp.array(np.arange(64, dtype=np.float32), device="cuda:0")
    y = wp.to_jax(b)
    assert y.devices() == {GPU} and y.unsafe_buffer_pointer() == b.ptr
    close(y + 1.0, np.arange(64.0) + 1.0)
    out = wp.zeros(64, dtype=float, device="cuda:0")
    for turn in range(100):  # what XLA has queued is there when a launch reads it
        z = jnp.sin(jnp.full(1 << 18, 0.5)) * 0.0 + float(turn)
        wp.launch(square, dim=64, inputs=[z[:64], jnp.ones(1)], outputs=[out], device="cuda:0")
        close(out.numpy(), np.full(64, float(turn) ** 2))
    try:
        wp.launch(square, dim=64, inputs=[x, jnp.ones(1)], outputs=[y], device="cuda:0")
    except RuntimeError as error:
        assert "jax_kernel" in str(error), error
    else:
        raise AssertionError("a launch wrote to an array of JAX")
    assert wp.device_from_jax(GPU).is_cuda and wp.device_to_jax("cuda:0") == GPU


def case_portable_program_on_the_gpu():
    """Exported for both platforms, run on each; the wrapper is gone."""
    needs_gpu()
    try:
        import flatbuffers  # noqa: F401
        import jax.export
    except ImportError:
        raise Skip("jax.export writes programs with flatbuffers, which is missing") from None
    portable = wp.jax_kernel(square, portable=True)
    x = np.arange(8.0, dtype=np.float32)
    made = jax.export.export(
        jax.jit(lambda x, w: portable(x, w)[0]), platforms=["cuda", "cpu"], disabled_checks=wp.jax.export_checks()
    )(x, W)
    again = jax.export.deserialize(made.serialize())
    for device in (GPU, jax.devices("cpu")[0]):
        close(jax.jit(again.call)(jax.device_put(x, device), jax.device_put(W, device)), 2 * x * x)


def case_cost():
    """Microseconds per call of a program with one launch, and with 20 more of them."""
    needs_gpu()
    x, w = jnp.arange(64.0), jnp.asarray(W)

    def chain(count):
        def run(x, w):
            for _ in range(count):
                x = f(x, w)[0]
            return x

        return jax.jit(run)

    def best(program):
        jax.block_until_ready(program(x, w))
        times = []
        for _ in range(20):
            begin = time.perf_counter()
            for _ in range(50):
                out = program(x, w)
            jax.block_until_ready(out)
            times.append((time.perf_counter() - begin) / 50)
        return 1e6 * min(times)

    one, many = best(chain(1)), best(chain(21))
    return {"one launch": one, "each further one": (many - one) / 20, "empty program": best(jax.jit(lambda x, w: x + w))}


if __name__ == "__main__":
    run_cases({name: case for name, case in list(globals().items()) if name.startswith("case_")})
