"""Memory for arrays on CUDA devices from a program's own allocator, in place of the device's pool.

An allocator is any object with `allocate(size_in_bytes)`, which gives an address, and `deallocate(ptr, size_in_bytes)`.
It need not know of streams: blocks go back to it when the work that was queued by the time they were dropped is done.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from warp import _weft
from warp._src.devices.device import MemoryKind, get_cuda_devices, get_device

__all__ = [
    "Allocator",
    "CudaManagedAllocator",
    "ScopedAllocator",
    "get_device_allocator",
    "set_cuda_allocator",
    "set_device_allocator",
]


@runtime_checkable
class Allocator(Protocol):
    """What an allocator has."""

    def allocate(self, size_in_bytes: int) -> int:
        """The address of so much memory that the device can use; 0, or an exception, if there is none."""

    def deallocate(self, ptr: int, size_in_bytes: int) -> None:
        """Takes memory back that nothing uses any more."""


class _DefaultAllocator:
    """The device's own: the stream-ordered pool, or plain device memory without one."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._kept: dict[int, Any] = {}

    @property
    def memory_kind(self) -> MemoryKind:
        """What kind of memory it gives."""
        return MemoryKind.CUDA_MEMPOOL if self._device.is_mempool_enabled else MemoryKind.CUDA_DEVICE

    def allocate(self, size_in_bytes: int) -> int:
        """Memory of the device."""
        memory = self._device._native.take_memory(size_in_bytes)
        self._kept[memory.address] = memory
        return memory.address

    def deallocate(self, ptr: int, size_in_bytes: int) -> None:
        """Gives memory back behind the work that is queued."""
        del self._kept[ptr]


class CudaManagedAllocator:
    """Memory that both the CPU and the current CUDA device reach, which the driver moves between them (CUDA's managed
    memory). More than the device has can be asked for."""

    memory_kind = MemoryKind.CUDA_MANAGED

    def allocate(self, size_in_bytes: int) -> int:
        """Managed memory."""
        return _weft.cuda_managed_allocate(size_in_bytes)

    def deallocate(self, ptr: int, size_in_bytes: int) -> None:
        """Gives it back."""
        _weft.cuda_managed_free(ptr)


def _cuda_device(device: Any) -> Any:
    found = get_device(device)
    if not found.is_cuda:
        raise ValueError(f"allocators are for CUDA devices, not for {found}")
    return found


def get_device_allocator(device: Any) -> Allocator:
    """The allocator of arrays on a CUDA device: the one that was set, or the device's own."""
    found = _cuda_device(device)
    return found._native.allocator() or _DefaultAllocator(found)


def set_device_allocator(device: Any, allocator: Allocator | None) -> None:
    """Lets new arrays on a CUDA device come from an allocator; None brings the device's own back. Arrays that exist give
    their memory back where it came from."""
    found = _cuda_device(device)
    if allocator is not None and not isinstance(allocator, Allocator):
        raise TypeError(
            f"an allocator has the methods allocate(size_in_bytes) and deallocate(ptr, size_in_bytes), got {allocator!r}"
        )
    found._native.set_allocator(None if isinstance(allocator, _DefaultAllocator) else allocator)


def set_cuda_allocator(allocator: Allocator | None) -> None:
    """As set_device_allocator, for every CUDA device."""
    if allocator is not None and not isinstance(allocator, Allocator):
        raise TypeError(f"an allocator has the methods allocate and deallocate, got {allocator!r}")
    for device in get_cuda_devices():
        set_device_allocator(device, allocator)


class ScopedAllocator:
    """`with wp.ScopedAllocator(device, allocator):` sets a device's allocator and restores the one before."""

    def __init__(self, device: Any, allocator: Allocator | None) -> None:
        self.device = get_device(device)
        self.allocator = allocator
        self._saved: list[Any] = []

    def __enter__(self) -> ScopedAllocator:
        self._saved.append(_cuda_device(self.device)._native.allocator())  # type: ignore[attr-defined]
        set_device_allocator(self.device, self.allocator)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        set_device_allocator(self.device, self._saved.pop())


class AllocatorRmm:
    """Memory of RAPIDS' memory manager: its current resource, so that pools and limits set there hold for arrays."""

    def __init__(self) -> None:
        try:
            import rmm
        except ImportError:
            raise RuntimeError("AllocatorRmm needs the package rmm: pip install rmm-cu13 (or -cu12)") from None
        self._rmm = rmm
        self._kept: dict[int, Any] = {}

    def allocate(self, size_in_bytes: int) -> int:
        """Memory of the current resource."""
        buffer = self._rmm.DeviceBuffer(size=size_in_bytes)
        self._kept[buffer.ptr] = buffer
        return buffer.ptr

    def deallocate(self, ptr: int, size_in_bytes: int) -> None:
        """Gives it back."""
        del self._kept[ptr]
