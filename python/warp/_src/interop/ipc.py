"""Arrays in memory of another process on the same CUDA device."""

from __future__ import annotations

from typing import Any

from warp import _weft
from warp._src.arrays.array import array
from warp._src.devices.device import get_device, not_cuda
from warp._src.devices.streams import handle_bytes

__all__ = ["from_ipc_handle"]


def from_ipc_handle(
    handle: bytes,
    dtype: Any,
    shape: int | tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    device: Any = None,
) -> array:
    """An array over memory that another process shares: `handle` is what its `array.ipc_handle()` gave, the rest says what
    lies there. That process must keep its array; the memory is closed here when the last array over it is gone."""
    chosen = get_device(device)
    if not chosen.is_cuda:
        raise not_cuda(chosen)
    memory = _weft.cuda_open_memory(chosen.ordinal, handle_bytes(handle))
    # The deleter is what holds the memory.
    return array(
        ptr=memory.ptr, dtype=dtype, shape=shape, strides=strides, device=chosen, deleter=lambda _ptr, _size: memory
    )
