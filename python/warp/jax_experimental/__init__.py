"""Kernels and functions in programs of JAX, under the names that older programs import."""

from warp._src.interop.jax_callable import jax_callable
from warp._src.interop.jax_callbacks import register_ffi_callback
from warp._src.interop.jax_graphs import (
    JaxCallableGraphMode,
    clear_jax_callable_graph_cache,
    get_jax_callable_default_graph_cache_max,
    set_jax_callable_default_graph_cache_max,
)
from warp._src.interop.jax_kernel import JaxModulePreloadMode
from warp._src.interop.jax_old_form import jax_kernel_experimental as jax_kernel

GraphMode = JaxCallableGraphMode
ModulePreloadMode = JaxModulePreloadMode

__all__ = [
    "GraphMode",
    "JaxCallableGraphMode",
    "JaxModulePreloadMode",
    "ModulePreloadMode",
    "clear_jax_callable_graph_cache",
    "get_jax_callable_default_graph_cache_max",
    "jax_callable",
    "jax_kernel",
    "register_ffi_callback",
    "set_jax_callable_default_graph_cache_max",
]
