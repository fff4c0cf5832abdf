"""Functions that XLA calls by name with bare buffers: `register_ffi_callback`.

    python -m warp.examples.interop.example_jax_ffi_callback
"""

from __future__ import annotations

import contextlib

import jax
import jax.numpy as jnp

import warp as wp
from warp.jax import get_jax_device
from warp.jax_experimental.ffi import register_ffi_callback


@wp.kernel
def scale_kernel(a: wp.array(dtype=float), s: float, output: wp.array(dtype=float)):
    i = wp.tid()
    output[i] = a[i] * s


@wp.kernel
def scale_vec_kernel(a: wp.array(dtype=wp.vec2), s: float, output: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    output[i] = a[i] * s


def warp_func(inputs, outputs, attrs, ctx) -> None:
    a, b = inputs
    c, d = outputs
    s = attrs["scale"]
    device = wp.device_from_jax(get_jax_device())
    queue = wp.ScopedStream(wp.Stream(device, cuda_stream=ctx.stream)) if device.is_cuda else contextlib.nullcontext()
    with queue, wp.ScopedDevice(device):
        wp.launch(scale_kernel, dim=a.shape, inputs=[a, s], outputs=[c])
        # Shapes are JAX's: the last dimension of b holds the components.
        wp.launch(scale_vec_kernel, dim=b.shape[0], inputs=[b, s], outputs=[d])


def main() -> None:
    register_ffi_callback("warp_func", warp_func)
    n = 10
    a = jnp.arange(n, dtype=jnp.float32)
    b = jnp.arange(n, dtype=jnp.float32).reshape((n // 2, 2))
    types = [jax.ShapeDtypeStruct(a.shape, jnp.float32), jax.ShapeDtypeStruct(b.shape, jnp.float32)]
    c, d = jax.jit(lambda a, b: jax.ffi.ffi_call("warp_func", types)(a, b, scale=2.0))(a, b)
    print(c)
    print(d)


if __name__ == "__main__":
    main()
