"""Calls of what belongs to JAX; they skip where it is not installed."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp

from . import calls


@wp.kernel
def triple(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 3.0 * x[i]


def annotated(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    wp.launch(triple, dim=x.shape, inputs=[x], outputs=[y])


def three_times(f: object) -> None:
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    np.testing.assert_array_equal(f(jnp.arange(4.0))[0], [0, 3, 6, 9])  # type: ignore[operator]


@calls("jax_kernel", "jax_experimental.ffi.jax_kernel", "jax_experimental.jax_kernel")
def kernels_of_jax() -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    import warp.jax_experimental.ffi

    for make in (wp.jax_kernel, warp.jax_experimental.ffi.jax_kernel, warp.jax_experimental.jax_kernel):
        three_times(make(triple))


@calls("jax_callable", "jax_experimental.ffi.jax_callable", "clear_jax_callable_graph_cache")
def functions_of_jax() -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    f = wp.jax_callable(annotated, graph_mode=wp.JaxCallableGraphMode.WARP)
    three_times(f)
    wp.clear_jax_callable_graph_cache(f)
    three_times(f)


@calls("jax_experimental.ffi.register_ffi_callback")
def callbacks_of_jax() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    from warp.jax_experimental.ffi import register_ffi_callback

    def run(inputs: list, outputs: list, attrs: dict, ctx: object) -> None:
        wp.launch(triple, dim=inputs[0].shape, inputs=inputs, outputs=outputs)

    name = f"weft_api_row_{id(run)}"
    register_ffi_callback(name, run)
    three_times(lambda x: [jax.ffi.ffi_call(name, jax.ShapeDtypeStruct(x.shape, x.dtype))(x)])


@calls("from_jax", "to_jax", "device_from_jax", "device_to_jax", "dtype_from_jax", "dtype_to_jax")
def conversions_of_jax() -> None:
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    x = jnp.arange(4.0)
    assert wp.to_jax(wp.from_jax(x)).tolist() == x.tolist()
    assert wp.device_from_jax(wp.device_to_jax("cpu")).is_cpu
    assert wp.dtype_to_jax(wp.dtype_from_jax(jnp.float32)) is jnp.float32
