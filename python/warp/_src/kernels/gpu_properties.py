"""What the CUDA driver says of compiled kernels: registers, memory, the blocks that fill a device."""

from __future__ import annotations

from typing import Any

from warp._src.devices.device import get_device
from warp._src.kernels.definitions import Kernel


def _native(caller: str, kernel: Any, block_dim: int | None = None) -> Any:
    """The compiled kernel that the driver is asked about."""
    if block_dim is not None and (not isinstance(block_dim, int) or isinstance(block_dim, bool) or block_dim < 1):
        raise ValueError(f"block_dim must be a positive integer, got {block_dim!r}")
    if kernel.is_generic:
        raise RuntimeError(f"{caller}() takes a kernel whose types are known: give what wp.overload returns")
    return kernel.native()


def _checked(caller: str, kernel: Any) -> None:
    if not isinstance(kernel, Kernel):
        raise TypeError(f"{caller}() expected a wp.Kernel, got {type(kernel)}")


def get_cuda_kernel_properties(kernel: Any, device: Any = None, block_dim: int | None = None) -> dict[str, int]:
    """What a kernel needs on a CUDA device, which it is compiled for: "register_count" and, in bytes, "local_memory_size" of
    a thread."""
    _checked("get_cuda_kernel_properties", kernel)
    where = get_device(device)
    if not where.is_cuda:
        raise RuntimeError(f"get_cuda_kernel_properties() requires a CUDA device, got '{where}'")
    native = _native("get_cuda_kernel_properties", kernel, block_dim)
    return dict(zip(("register_count", "local_memory_size"), native.cuda_properties(where.ordinal)))


def get_cuda_max_cluster_dim(
    kernel: Any, device: Any = None, *, block_dim: int | None = None, dynamic_smem_bytes: int = 0
) -> int:
    """The most blocks of a kernel that the device can run as one cluster: up to 16 from sm_90 on, else 1."""
    _checked("get_cuda_max_cluster_dim", kernel)
    where = get_device(device)
    if not where.is_cuda or where.arch < 90:
        return 1
    native = _native("get_cuda_max_cluster_dim", kernel, block_dim)
    return native.cuda_largest_cluster(where.ordinal, block_dim or 0, dynamic_smem_bytes)


def get_suggested_block_size(kernel: Any, device: Any = None) -> tuple[int, int]:
    """The `block_dim` with which a kernel fills a CUDA device best, and how many such blocks that takes; (1, 1) on the
    CPU."""
    _checked("get_suggested_block_size", kernel)
    where = get_device(device)
    if not where.is_cuda:
        return 1, 1
    best = _native("get_suggested_block_size", kernel).cuda_best_block(where.ordinal)
    kernel.module.note_loaded(where)
    return best


__all__ = ["get_cuda_kernel_properties", "get_cuda_max_cluster_dim", "get_suggested_block_size"]
