"""CUDA devices: what they are, their context, memory and current stream."""

from __future__ import annotations

import threading
from typing import Any

from warp import _weft
from warp._src.devices.device import CPU, Device, get_device
from warp._src.devices.streams import Stream


class CudaDevice(Device):
    """A CUDA device, or a context of another library on one. Compares equal to its alias: `device == "cuda:0"`."""

    is_cpu = False
    is_cuda = True
    is_cubin_supported = True
    has_stream = True

    def __init__(self, ordinal: int):
        self.ordinal = ordinal
        self.alias = self._own_name = f"cuda:{ordinal}"
        self._native = _weft.CudaDevice(ordinal)
        self.is_primary = self._native.primary
        self._facts = facts = self._native.facts()
        self.arch = facts["arch"]
        self.sm_count = facts["sm_count"]
        self.max_shared_memory_per_block = facts["max_shared_memory_per_block"]
        self.uuid = facts["uuid"]
        self.pci_bus_id = facts["pci_bus_id"]
        self.is_uva = facts["is_uva"]
        self.is_mempool_supported = facts["is_mempool_supported"]
        self.is_ipc_supported = facts["is_ipc_supported"]
        self.is_managed_memory_supported = facts["is_managed_memory_supported"]
        self._stream: Any = None  # of the process
        self._own = threading.local()  # `stream`: of the calling thread, where it has one

    @property
    def name(self) -> str:
        """What the hardware is called."""
        return self._facts["name"]

    @property
    def cores(self) -> int:
        """Multiprocessors."""
        return self.sm_count

    @property
    def total_memory(self) -> int:
        """Bytes of memory that the device has."""
        return self._facts["total_memory"]

    @property
    def free_memory(self) -> int:
        """Bytes of memory that can be had now."""
        return self._native.free_memory()

    @property
    def is_mempool_enabled(self) -> bool:
        """Whether arrays come from the stream-ordered memory pool."""
        return self._native.pool_enabled()

    @property
    def context(self) -> int:
        """The CUDA context, as a number."""
        return self._native.context()

    @property
    def has_context(self) -> bool:
        """Whether the context was made already."""
        return self._native.has_context()

    @property
    def is_capturing(self) -> bool:
        """Whether a graph is being captured on the device."""
        return _weft.cuda_capturing(self.ordinal)

    @property
    def stream(self) -> Any:
        """The current stream of the calling thread: work of the device is queued there unless told otherwise."""
        own = getattr(self._own, "stream", None)
        if own is not None:
            return own
        if self._stream is None:
            self._stream = Stream._over(self, _weft.cuda_stream_current(self.ordinal))
        return self._stream

    @stream.setter
    def stream(self, stream: Any) -> None:
        self.set_stream(stream)

    @property
    def null_stream(self) -> Any:
        """CUDA's legacy default stream."""
        return Stream._over(self, _weft.cuda_stream_over(self.ordinal, 0))

    def set_stream(self, stream: Any, sync: bool = True) -> None:
        """Makes a stream current, inside of a `wp.ScopedStream` for its thread, else for the process; with `sync` it waits
        for what the one before has queued."""
        self._check(stream, sync)
        if getattr(self._own, "stream", None) is not None:
            self._use_in_thread(stream)
        else:
            _weft.cuda_stream_use(self.ordinal, stream._queue)
            self._stream = stream

    def _check(self, stream: Any, sync: bool) -> None:
        if not isinstance(stream, Stream):
            raise TypeError(f"this takes a wp.Stream, got {stream!r}")
        if stream.device is not self:
            raise RuntimeError(f"the stream belongs to {stream.device}, not to {self}")
        if sync and stream is not self.stream:
            stream.wait_stream(self.stream)

    def _use_in_thread(self, stream: Any) -> Any:
        """Gives the calling thread a stream of its own, or None for the process's; the one before."""
        before = getattr(self._own, "stream", None)
        _weft.cuda_stream_of_thread(self.ordinal, None if stream is None else stream._queue)
        self._own.stream = stream
        return before

    def make_current(self) -> None:
        """Makes the CUDA context current for the calling thread."""
        self._native.make_current()

    def can_access(self, other: Any) -> bool:
        """Whether kernels on this device can reach memory of the other one."""
        other = get_device(other)
        return other is not CPU and self._native.can_access(other._native)  # type: ignore[attr-defined]

    def get_cuda_compile_arch(self) -> int | None:
        """The architecture that code is made for."""
        return min(self.arch, 90)
