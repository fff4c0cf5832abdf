"""`jax_kernel` in its older form."""

from warp._src.interop.jax_old_form import jax_kernel_old as jax_kernel

__all__ = ["jax_kernel"]
