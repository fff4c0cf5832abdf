"""Python functions that launch kernels, as functions of JAX: `wp.jax_callable`, with graphs and gradients.

    python -m warp.examples.interop.example_jax_callable
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import warp as wp


@wp.kernel
def scale_kernel(a: wp.array(dtype=float), s: float, output: wp.array(dtype=float)):
    i = wp.tid()
    output[i] = a[i] * s


@wp.kernel
def scale_vec_kernel(a: wp.array(dtype=wp.vec2), s: float, output: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    output[i] = a[i] * s


@wp.kernel
def square_kernel(a: wp.array(dtype=float), output: wp.array(dtype=float)):
    i = wp.tid()
    output[i] = a[i] * a[i]


def example_func(
    a: wp.array(dtype=float),
    b: wp.array(dtype=wp.vec2),
    s: float,
    c: wp.array(dtype=float),
    d: wp.array(dtype=wp.vec2),
):
    wp.launch(scale_kernel, dim=a.shape, inputs=[a, s], outputs=[c])
    wp.launch(scale_vec_kernel, dim=b.shape, inputs=[b, s], outputs=[d])


def fourth_power(a: wp.array(dtype=float), output: wp.array(dtype=float)):
    squares = wp.empty_like(a, requires_grad=a.requires_grad)
    wp.launch(square_kernel, dim=a.shape, inputs=[a], outputs=[squares])
    wp.launch(square_kernel, dim=a.shape, inputs=[squares], outputs=[output])


def main() -> None:
    a, b = jnp.arange(10.0), jnp.arange(10.0).reshape(5, 2)
    jax_func = wp.jax_callable(example_func, num_outputs=2)
    c, d = jax.jit(lambda a, b: jax_func(a, b, 2.0, output_dims={"c": a.shape, "d": b.shape}))(a, b)
    print(c)
    print(d)
    for mode in wp.JaxCallableGraphMode:
        f = wp.jax_callable(fourth_power, graph_mode=mode)
        np.testing.assert_allclose(jax.jit(f)(a)[0], a**4, rtol=1e-5)
        print(f"graph mode {mode.name}: ok")
    f = wp.jax_callable(fourth_power)
    slopes = jax.jit(jax.grad(lambda a: f(a)[0].sum()))(a)
    np.testing.assert_allclose(slopes, 4 * a**3, rtol=1e-5)
    print("slopes:", slopes)


if __name__ == "__main__":
    main()
