"""JAX: its arrays, devices and types. JAX itself is imported when a function needs it."""

from warp._src.interop.jax_exchange import (
    device_from_jax,
    device_to_jax,
    dtype_from_jax,
    dtype_to_jax,
    from_jax,
    get_jax_device,
    to_jax,
)
from warp._src.interop.jax_support import export_checks, register_handlers

__all__ = [
    "device_from_jax",
    "device_to_jax",
    "dtype_from_jax",
    "dtype_to_jax",
    "export_checks",
    "from_jax",
    "get_jax_device",
    "register_handlers",
    "to_jax",
]
