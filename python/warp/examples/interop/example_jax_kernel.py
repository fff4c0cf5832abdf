"""Kernels as functions of JAX: `wp.jax_kernel`, eager, jitted, differentiated and mapped.

    python -m warp.examples.interop.example_jax_kernel
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import warp as wp


@wp.kernel
def sincos_kernel(angle: wp.array(dtype=float), sin_out: wp.array(dtype=float), cos_out: wp.array(dtype=float)):
    i = wp.tid()
    sin_out[i] = wp.sin(angle[i])
    cos_out[i] = wp.cos(angle[i])


@wp.kernel
def diagonal_kernel(output: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    output[i] = wp.mat33(1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0)


@wp.kernel
def scale_kernel(a: wp.array(dtype=float), s: float, output: wp.array(dtype=float)):
    i = wp.tid()
    output[i] = a[i] * s


@wp.kernel
def matmul_kernel(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = float(0.0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    c[i, j] = total


@wp.kernel
def accumulate_kernel(v: wp.array(dtype=wp.vec2), total: wp.array(dtype=float)):
    i = wp.tid()
    total[i] += wp.dot(v[i], v[i])


jax_sincos = wp.jax_kernel(sincos_kernel, num_outputs=2)
jax_diagonal = wp.jax_kernel(diagonal_kernel)
jax_scale = wp.jax_kernel(scale_kernel)
jax_matmul = wp.jax_kernel(matmul_kernel)
jax_accumulate = wp.jax_kernel(accumulate_kernel, in_out_argnames=["total"])


def several_outputs() -> None:
    s, c = jax.jit(jax_sincos)(jnp.linspace(0.0, 6.0, 16))
    np.testing.assert_allclose(s * s + c * c, np.ones(16), rtol=1e-5)
    print("sin² + cos²:", np.asarray(s * s + c * c).round(3)[:4])


def no_inputs() -> None:
    (diagonals,) = jax.jit(lambda: jax_diagonal(launch_dims=2))()
    print("diagonals:", diagonals.shape)


def static_numbers() -> None:
    print("scaled:", jax_scale(jnp.arange(4.0), 2.0)[0])


def grids_and_gradients() -> None:
    rng = np.random.default_rng(1)
    a, b = jnp.asarray(rng.normal(size=(3, 2)), jnp.float32), jnp.asarray(rng.normal(size=(2, 4)), jnp.float32)

    def loss(a: jax.Array, b: jax.Array) -> jax.Array:
        (c,) = jax_matmul(a, b, launch_dims=(a.shape[0], b.shape[1]))
        return jnp.sum(c**2)

    gradient = jax.jit(jax.grad(loss))(a, b)
    np.testing.assert_allclose(gradient, 2 * (a @ b) @ b.T, rtol=1e-4)
    print("gradient of a product:", gradient.shape)


def batches() -> None:
    a, b = jnp.ones((5, 3, 2)), jnp.ones((2, 4))
    (c,) = jax.vmap(lambda x: jax_matmul(x, b, launch_dims=(3, 4)))(a)
    np.testing.assert_allclose(c, np.full((5, 3, 4), 2.0))
    print("five products:", c.shape)


def in_place() -> None:
    v, total = jnp.ones((3, 2)), jnp.full(3, 10.0)
    print("added to:", jax_accumulate(v, total, launch_dims=3)[0])


def main() -> None:
    several_outputs()
    no_inputs()
    static_numbers()
    grids_and_gradients()
    batches()
    in_place()


if __name__ == "__main__":
    main()
