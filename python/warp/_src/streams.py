"""Streams, events, memory pools and peer access. They belong to CUDA devices: on the CPU, whose launches are done when they
return, what would wait returns at once and what needs a stream raises.
"""

from __future__ import annotations

from typing import Any, NoReturn

from warp._src.device import Device, get_device, not_cuda

TIMING_KERNEL = 1
TIMING_KERNEL_BUILTIN = 2
TIMING_MEMCPY = 4
TIMING_MEMSET = 8
TIMING_GRAPH = 16
TIMING_ALL = 0xFFFFFFFF


class Stream:
    """A queue of work on a CUDA device. RuntimeError on the CPU."""

    device: Device

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any):
        raise not_cuda(get_device(device))

    def _refuse(self) -> NoReturn:
        raise not_cuda(self.device)

    def record_event(self, event: Event | None = None, external: bool = False) -> Event:
        """Records an event behind the work queued so far and returns it."""
        self._refuse()

    def wait_event(self, event: Event, external: bool = False) -> None:
        """Lets further work wait for an event."""
        self._refuse()

    def wait_stream(self, other_stream: Stream, event: Event | None = None, external: bool = False) -> None:
        """Lets further work wait for what another stream has queued."""
        self._refuse()

    @property
    def is_complete(self) -> bool:
        """Whether all queued work is done."""
        self._refuse()

    @property
    def is_capturing(self) -> bool:
        """Whether a graph is being recorded on the stream."""
        self._refuse()

    @property
    def is_blocking(self) -> bool:
        """Whether the stream waits for the default stream."""
        self._refuse()

    @property
    def priority(self) -> int:
        """How early its work is scheduled; lower numbers come first."""
        self._refuse()


class Event:
    """A mark in a stream that others can wait for. RuntimeError on the CPU."""

    device: Device

    def __init__(
        self, device: Any = None, cuda_event: Any = None, enable_timing: bool = False, interprocess: bool = False
    ):
        raise not_cuda(get_device(device))

    def ipc_handle(self) -> bytes:
        """64 bytes by which another process opens the event."""
        raise not_cuda(self.device)

    @property
    def is_complete(self) -> bool:
        """Whether the work before the event is done."""
        raise not_cuda(self.device)


def _stream(stream: Any) -> Stream:
    if not isinstance(stream, Stream):
        raise TypeError(f"this takes a wp.Stream, which only CUDA devices have, got {stream!r}")
    return stream


def get_stream(device: Any = None) -> Stream:
    """The current stream of a CUDA device; RuntimeError on the CPU."""
    return get_device(device).stream


def set_stream(stream: Stream, device: Any = None, sync: bool = False) -> None:
    """Makes a stream the current one of its device; RuntimeError on the CPU."""
    get_device(device).set_stream(stream, sync)


def record_event(event: Event | None = None, external: bool = False) -> Event:
    """Records an event on the current stream; RuntimeError on the CPU."""
    return get_stream().record_event(event)


def wait_event(event: Event, external: bool = False) -> None:
    """Lets the current stream wait for an event; RuntimeError on the CPU."""
    get_stream().wait_event(event)


def wait_stream(other_stream: Stream, event: Event | None = None, external: bool = False) -> None:
    """Lets the current stream wait for another one; RuntimeError on the CPU."""
    get_stream().wait_stream(other_stream, event)


def get_event_elapsed_time(start_event: Event, end_event: Event, synchronize: bool = True) -> float:
    """Milliseconds between two events that were made with enable_timing=True."""
    for event in (start_event, end_event):
        synchronize_event(event)
    raise not_cuda(start_event.device)


def synchronize_event(event: Event) -> None:
    """Waits for an event."""
    if not isinstance(event, Event):
        raise TypeError(f"this takes a wp.Event, which only CUDA devices have, got {event!r}")


def synchronize_stream(stream_or_device: Any = None) -> None:
    """Waits for a stream, or for the current one of a device; nothing to wait for on the CPU."""
    if not isinstance(stream_or_device, Stream):
        get_device(stream_or_device)


class ScopedStream:
    """`with wp.ScopedStream(stream):` makes a stream current and restores the previous one; None changes nothing."""

    def __init__(self, stream: Stream | None, sync_enter: bool = True, sync_exit: bool = False):
        self.stream = None if stream is None else _stream(stream)
        self.sync_enter = sync_enter
        self.sync_exit = sync_exit

    def __enter__(self) -> Stream | None:
        return self.stream

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        return None


def _no_pools() -> ValueError:
    return ValueError("Memory pools are only supported on CUDA devices")


def is_mempool_supported(device: Any) -> bool:
    """Whether a device has stream-ordered memory pools; False on the CPU."""
    return get_device(device).is_mempool_supported


def is_mempool_enabled(device: Any) -> bool:
    """Whether a device allocates from such a pool; False on the CPU."""
    return get_device(device).is_mempool_enabled


def set_mempool_enabled(device: Any, enable: bool) -> None:
    """Switches a device's memory pool; ValueError where there is none to switch on."""
    if enable and not is_mempool_supported(device):
        raise _no_pools()


def get_mempool_release_threshold(device: Any = None) -> int:
    """Bytes that a pool keeps; ValueError without one."""
    get_device(device)
    raise _no_pools()


def set_mempool_release_threshold(device: Any, threshold: int | float) -> None:
    """Sets how many bytes (or which share of the memory, 0 to 1) a pool keeps; ValueError without one."""
    get_device(device)
    raise _no_pools()


def get_mempool_used_mem_current(device: Any = None) -> int:
    """Bytes in use in a pool; ValueError without one."""
    get_device(device)
    raise _no_pools()


def get_mempool_used_mem_high(device: Any = None) -> int:
    """The most bytes that were in use in a pool; ValueError without one."""
    get_device(device)
    raise _no_pools()


def is_mempool_access_supported(target_device: Any, peer_device: Any) -> bool:
    """Whether one device can reach the pool of another; False unless both are CUDA devices."""
    return get_device(target_device).is_cuda and get_device(peer_device).is_cuda


def is_mempool_access_enabled(target_device: Any, peer_device: Any) -> bool:
    """Whether that is switched on."""
    return is_mempool_access_supported(target_device, peer_device)


def set_mempool_access_enabled(target_device: Any, peer_device: Any, enable: bool) -> None:
    """Switches it; ValueError where it can't be switched on."""
    if not is_mempool_access_supported(target_device, peer_device) and enable:
        raise ValueError("Memory pool access is only supported between CUDA devices")


def is_peer_access_supported(target_device: Any, peer_device: Any) -> bool:
    """Whether one device can reach the memory of another; False unless both are CUDA devices."""
    return get_device(target_device).is_cuda and get_device(peer_device).is_cuda


def is_peer_access_enabled(target_device: Any, peer_device: Any) -> bool:
    """Whether that is switched on."""
    return is_peer_access_supported(target_device, peer_device)


def set_peer_access_enabled(target_device: Any, peer_device: Any, enable: bool) -> None:
    """Switches it; ValueError where it can't be switched on."""
    if not is_peer_access_supported(target_device, peer_device) and enable:
        raise ValueError("Peer access is only supported between CUDA devices")


class ScopedMempool:
    """`with wp.ScopedMempool(device, False):` switches a device's memory pool and restores it."""

    def __init__(self, device: Any, enable: bool):
        self.device = get_device(device)
        self.enable = enable

    def __enter__(self) -> None:
        self.saved = is_mempool_enabled(self.device)
        set_mempool_enabled(self.device, self.enable)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        set_mempool_enabled(self.device, self.saved)


class ScopedMempoolAccess:
    """Switches access to another device's memory pool and restores it."""

    def __init__(self, target_device: Any, peer_device: Any, enable: bool):
        self.devices = get_device(target_device), get_device(peer_device)
        self.enable = enable

    def __enter__(self) -> None:
        self.saved = is_mempool_access_enabled(*self.devices)
        set_mempool_access_enabled(*self.devices, self.enable)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        set_mempool_access_enabled(*self.devices, self.saved)


class ScopedPeerAccess:
    """Switches access to another device's memory and restores it."""

    def __init__(self, target_device: Any, peer_device: Any, enable: bool):
        self.devices = get_device(target_device), get_device(peer_device)
        self.enable = enable

    def __enter__(self) -> None:
        self.saved = is_peer_access_enabled(*self.devices)
        set_peer_access_enabled(*self.devices, self.enable)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        set_peer_access_enabled(*self.devices, self.saved)


__all__ = [n for n in list(globals()) if not n.startswith("_") and n not in ("Any", "NoReturn", "Device")]
__all__ = [n for n in __all__ if n not in ("annotations", "get_device", "not_cuda")]
