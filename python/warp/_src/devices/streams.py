"""Streams, events, memory pools and peer access of CUDA devices. On the CPU, whose launches are done when they return,
what would wait returns at once and what needs a stream raises."""

from __future__ import annotations

import operator
from _thread import _local as thread_local
from typing import Any

from warp import _weft
from warp._src.devices.device import Device, get_device, not_cuda, selection

TIMING_KERNEL = 1
TIMING_KERNEL_BUILTIN = 2
TIMING_MEMCPY = 4
TIMING_MEMSET = 8
TIMING_GRAPH = 16
TIMING_ALL = 0xFFFFFFFF


class Stream:
    """A queue of work on a CUDA device. `cuda_stream=` takes in another library's handle, which stays that library's.
    RuntimeError on the CPU."""

    device: Device

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any):
        handle = kwargs.pop("cuda_stream", None)
        if kwargs:
            raise TypeError(f"unexpected keyword argument {next(iter(kwargs))!r}")
        self.device = _cuda(device)
        if handle is not None:
            self._queue = _weft.cuda_stream_over(self.device.ordinal, _handle(handle, "cuda_stream"))
            return
        if not isinstance(priority, int):
            raise TypeError(f"a stream's priority is an integer, not {type(priority).__name__}")
        highest, lowest = _weft.cuda_stream_priorities(self.device.ordinal)
        self._queue = _weft.cuda_stream_new(self.device.ordinal, max(highest, min(priority, lowest)), True)

    @classmethod
    def _over(cls, device: Device, queue: Any) -> Stream:
        made = cls.__new__(cls)
        made.device, made._queue = device, queue
        return made

    def __getattr__(self, name: str) -> Any:
        if name == "_queue":  # never given: not a stream of a CUDA device
            raise not_cuda(self.device)
        raise AttributeError(f"'Stream' object has no attribute '{name}'")

    @property
    def cuda_stream(self) -> int:
        """The handle, for other libraries."""
        return self._queue.handle

    def record_event(self, event: Event | None = None, external: bool = False) -> Event:
        """Records an event behind the work queued so far and returns it."""
        if event is None:
            event = Event(self.device)
        elif _event(event).device is not self.device:
            raise RuntimeError(f"the event belongs to {event.device}, the stream to {self.device}")
        self._queue.record(event._event, external)
        return event

    def wait_event(self, event: Event, external: bool = False) -> None:
        """Lets further work wait for an event."""
        self._queue.wait_event(_event(event)._event, external)

    def wait_stream(self, other_stream: Stream, event: Event | None = None, external: bool = False) -> None:
        """Lets further work wait for what another stream has queued."""
        if event is None:
            self._queue.wait_stream(_stream(other_stream)._queue)
        else:
            _stream(other_stream).record_event(event, external)
            self.wait_event(event, external)

    @property
    def is_complete(self) -> bool:
        """Whether all queued work is done."""
        return self._queue.done

    @property
    def is_capturing(self) -> bool:
        """Whether a graph is being recorded on the stream."""
        return self._queue.capturing

    @property
    def is_blocking(self) -> bool:
        """Whether the stream waits for the default stream."""
        return self._queue.blocking

    @property
    def priority(self) -> int:
        """How early its work is scheduled; lower numbers come first."""
        return self._queue.priority


class Event:
    """A mark in a stream that others can wait for. `cuda_event=` takes in another library's handle. RuntimeError on the
    CPU."""

    device: Device
    _timing = _interprocess = True  # as far as it is known

    def __init__(
        self, device: Any = None, cuda_event: Any = None, enable_timing: bool = False, interprocess: bool = False
    ):
        self.device = _cuda(device)
        if cuda_event is not None:
            self._event = _weft.cuda_event_over(self.device.ordinal, _handle(cuda_event, "cuda_event"))
        elif enable_timing and interprocess:
            raise ValueError("an event for several processes can't measure time")
        else:
            self._event = _weft.cuda_event_new(self.device.ordinal, bool(enable_timing), bool(interprocess))
            self._timing, self._interprocess = bool(enable_timing), bool(interprocess)

    def __getattr__(self, name: str) -> Any:
        if name == "_event":  # never given: not an event of a CUDA device
            raise not_cuda(self.device)
        raise AttributeError(f"'Event' object has no attribute '{name}'")

    @property
    def cuda_event(self) -> int:
        """The handle, for other libraries."""
        return self._event.handle

    def ipc_handle(self) -> bytes:
        """64 bytes by which another process opens the event (`wp.event_from_ipc_handle`). The event must have been made
        with interprocess=True and live while others use it."""
        if not self._interprocess:
            raise RuntimeError("the event is for this process alone; make it with wp.Event(interprocess=True)")
        return _weft.cuda_share_event(self._event)

    @property
    def is_complete(self) -> bool:
        """Whether the work before the event is done."""
        return self._event.done


def handle_bytes(handle: Any) -> bytes:
    """What `ipc_handle()` of another process gave. TypeError for what is not bytes."""
    try:
        return bytes(memoryview(handle))
    except TypeError:
        raise TypeError(f"a handle is the 64 bytes that ipc_handle() gave, not {handle!r}") from None


def event_from_ipc_handle(handle: bytes, device: Any = None) -> Event:
    """Opens an event of another process by the bytes of its `ipc_handle()`."""
    made = Event.__new__(Event)
    made.device = _cuda(device)
    made._event = _weft.cuda_open_event(made.device.ordinal, handle_bytes(handle))
    return made


def _cuda(device: Any) -> Device:
    """A CUDA device; RuntimeError for the CPU."""
    chosen = get_device(device)
    if not chosen.is_cuda:
        raise not_cuda(chosen)
    return chosen


def _handle(value: Any, what: str) -> int:
    """A handle of the driver: a number, or a pointer of ctypes."""
    value = getattr(value, "value", value) or 0
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is a handle: a number or a pointer of ctypes, not {value!r}") from None
    if not 0 <= number < 1 << 64:
        raise ValueError(f"{what}: {number} is no handle")
    return number


def _event(event: Any) -> Event:
    if not isinstance(event, Event):
        raise TypeError(f"this takes a wp.Event, which only CUDA devices have, got {event!r}")
    return event


def _stream(stream: Any) -> Stream:
    if not isinstance(stream, Stream):
        raise TypeError(f"this takes a wp.Stream, which only CUDA devices have, got {stream!r}")
    return stream


def get_stream(device: Any = None) -> Stream:
    """The current stream of a CUDA device; RuntimeError on the CPU."""
    return get_device(device).stream


def set_stream(stream: Stream, device: Any = None, sync: bool = False) -> None:
    """Makes a stream the current one of its device; RuntimeError on the CPU."""
    chosen = stream.device if device is None and isinstance(stream, Stream) else get_device(device)
    chosen.set_stream(stream, sync)


def record_event(event: Event | None = None, external: bool = False) -> Event:
    """Records an event on the current stream (of the event's device); RuntimeError on the CPU."""
    return get_stream(None if event is None else _event(event).device).record_event(event, external)


def wait_event(event: Event, external: bool = False) -> None:
    """Lets the current stream wait for an event; RuntimeError on the CPU."""
    get_stream().wait_event(event, external)


def wait_stream(other_stream: Stream, event: Event | None = None, external: bool = False) -> None:
    """Lets the current stream wait for another one; RuntimeError on the CPU."""
    get_stream().wait_stream(other_stream, event, external)


def get_event_elapsed_time(start_event: Event, end_event: Event, synchronize: bool = True) -> float:
    """Milliseconds between two events that were made with enable_timing=True."""
    for event in (start_event, end_event):
        if not _event(event)._timing:
            raise RuntimeError("the event measures no time; make it with wp.Event(enable_timing=True)")
    if synchronize:
        synchronize_event(end_event)
    return end_event._event.elapsed_since(start_event._event)


def synchronize_event(event: Event) -> None:
    """Waits for an event."""
    _event(event)._event.synchronize()


def synchronize_stream(stream_or_device: Any = None) -> None:
    """Waits for a stream, or for the current one of a device; nothing to wait for on the CPU."""
    if isinstance(stream_or_device, Stream):
        stream_or_device._queue.synchronize()
        return
    device = get_device(stream_or_device)
    if device.is_cuda:
        device.stream._queue.synchronize()


def put_in_order(earlier: Stream, later: Stream) -> None:
    """Lets a stream wait for what another one has queued, unless it does so by itself: CUDA's legacy default stream and
    streams that block wait for each other. A graph that is captured waits for nothing outside of it, nor that for a graph."""
    if earlier.cuda_stream == later.cuda_stream:
        return
    legacy = [one.cuda_stream in (0, 1) for one in (earlier, later)]
    captured = [not default and one.is_capturing for default, one in zip(legacy, (earlier, later))]
    if captured[0] != captured[1]:
        return
    if any(legacy) and (all(legacy) or (later if legacy[0] else earlier).is_blocking):
        return
    later.wait_stream(earlier)


class _ThreadScopes(thread_local):
    def __init__(self) -> None:
        self.before: list[tuple[Device, Stream | None, Stream]] = []  # device, the thread's stream, the one in use


_scopes = _ThreadScopes()


class ScopedStream:
    """`with wp.ScopedStream(stream):` makes a stream (and its device) current for the calling thread and restores the
    previous one; None changes nothing. Other threads keep theirs. With `sync_enter` the stream waits for the previous one,
    with `sync_exit` the previous one for it."""

    def __init__(self, stream: Stream | None, sync_enter: bool = True, sync_exit: bool = False):
        self.stream = None if stream is None else _stream(stream)
        self.sync_enter = sync_enter
        self.sync_exit = sync_exit

    def __enter__(self) -> Stream | None:
        if self.stream is not None:
            device: Any = self.stream.device
            device._check(self.stream, self.sync_enter)
            used = device.stream
            _scopes.before.append((device, device._use_in_thread(self.stream), used))
            selection.enter(device)
        return self.stream

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if self.stream is None or not _scopes.before:
            return
        self.stream._queue.leave()  # its owner may take it away, while what was queued still runs
        device, own, used = _scopes.before.pop()
        selection.leave()
        device._use_in_thread(own)  # type: ignore[attr-defined]
        if self.sync_exit:
            used.wait_stream(self.stream)


def _no_pools() -> ValueError:
    return ValueError("Memory pools are only supported on CUDA devices")


def _pool(device: Any) -> Any:
    chosen = get_device(device)
    if not chosen.is_mempool_supported:
        raise _no_pools()
    return chosen._native


def _pair(target_device: Any, peer_device: Any) -> tuple[Any, Any] | None:
    """Two CUDA devices as C++ knows them; None if one of them is none."""
    target, peer = get_device(target_device), get_device(peer_device)
    return (target._native, peer._native) if target.is_cuda and peer.is_cuda else None


def is_mempool_supported(device: Any) -> bool:
    """Whether a device has stream-ordered memory pools; False on the CPU."""
    return get_device(device).is_mempool_supported


def is_mempool_enabled(device: Any) -> bool:
    """Whether a device allocates from such a pool; False on the CPU."""
    return get_device(device).is_mempool_enabled


def set_mempool_enabled(device: Any, enable: bool) -> None:
    """Switches a device's memory pool; ValueError where there is none to switch on."""
    chosen = get_device(device)
    if enable and not chosen.is_mempool_supported:
        raise _no_pools()
    if chosen.is_cuda:
        chosen._native.enable_pool(bool(enable))


def get_mempool_release_threshold(device: Any = None) -> int:
    """Bytes that a pool keeps; ValueError without one."""
    return _pool(device).pool_threshold()


def set_mempool_release_threshold(device: Any, threshold: int | float) -> None:
    """Sets how many bytes (or which share of the memory, 0 to 1) a pool keeps; ValueError without one."""
    pool = _pool(device)
    if not isinstance(threshold, (int, float)):
        raise TypeError(f"a threshold is a number of bytes or a share of the memory, not {threshold!r}")
    if not 0 <= threshold < 1 << 64:
        raise ValueError(f"a pool keeps 0 bytes or more, not {threshold!r}")
    share = 0 < threshold <= 1 and isinstance(threshold, float)
    if not share and threshold != int(threshold):
        raise ValueError(f"{threshold!r} is neither a share of the memory (0 to 1) nor a number of bytes")
    pool.set_pool_threshold(int(threshold * get_device(device).total_memory if share else threshold))


def get_mempool_used_mem_current(device: Any = None) -> int:
    """Bytes in use in a pool; ValueError without one."""
    return _pool(device).pool_used()


def get_mempool_used_mem_high(device: Any = None) -> int:
    """The most bytes that were in use in a pool; ValueError without one."""
    return _pool(device).pool_used_most()


def is_mempool_access_supported(target_device: Any, peer_device: Any) -> bool:
    """Whether the second device can reach the pool of the first; False unless both are CUDA devices."""
    pair = _pair(target_device, peer_device)
    return pair is not None and is_mempool_supported(target_device) and pair[1].can_access(pair[0])


def is_mempool_access_enabled(target_device: Any, peer_device: Any) -> bool:
    """Whether that is switched on."""
    pair = _pair(target_device, peer_device)
    return pair is not None and pair[1].pool_access_enabled(pair[0])


def set_mempool_access_enabled(target_device: Any, peer_device: Any, enable: bool) -> None:
    """Switches it; ValueError where it can't be switched on."""
    pair = _pair(target_device, peer_device)
    if enable and not is_mempool_access_supported(target_device, peer_device):
        raise ValueError("Memory pool access is only supported between CUDA devices that can reach each other")
    if pair is not None:
        pair[1].enable_pool_access(pair[0], bool(enable))


def is_peer_access_supported(target_device: Any, peer_device: Any) -> bool:
    """Whether the second device can reach the memory of the first; False unless both are CUDA devices."""
    pair = _pair(target_device, peer_device)
    return pair is not None and pair[1].can_access(pair[0])


def is_peer_access_enabled(target_device: Any, peer_device: Any) -> bool:
    """Whether that is switched on."""
    pair = _pair(target_device, peer_device)
    return pair is not None and pair[1].peer_enabled(pair[0])


def set_peer_access_enabled(target_device: Any, peer_device: Any, enable: bool) -> None:
    """Switches it; ValueError where it can't be switched on."""
    pair = _pair(target_device, peer_device)
    if enable and not is_peer_access_supported(target_device, peer_device):
        raise ValueError("Peer access is only supported between CUDA devices that can reach each other")
    if pair is not None:
        pair[1].enable_peer(pair[0], bool(enable))


class ScopedMempool:
    """`with wp.ScopedMempool(device, False):` switches a device's memory pool and restores it."""

    def __init__(self, device: Any, enable: bool):
        self.device = get_device(device)
        self.enable = enable
        self._saved: list[bool] = []

    def __enter__(self) -> None:
        self._saved.append(is_mempool_enabled(self.device))
        set_mempool_enabled(self.device, self.enable)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        set_mempool_enabled(self.device, self._saved.pop())


class ScopedMempoolAccess:
    """Switches access to another device's memory pool and restores it."""

    def __init__(self, target_device: Any, peer_device: Any, enable: bool):
        self.devices = get_device(target_device), get_device(peer_device)
        self.enable = enable
        self._saved: list[bool] = []

    def __enter__(self) -> None:
        self._saved.append(is_mempool_access_enabled(*self.devices))
        set_mempool_access_enabled(*self.devices, self.enable)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        set_mempool_access_enabled(*self.devices, self._saved.pop())


class ScopedPeerAccess:
    """Switches access to another device's memory and restores it."""

    def __init__(self, target_device: Any, peer_device: Any, enable: bool):
        self.devices = get_device(target_device), get_device(peer_device)
        self.enable = enable
        self._saved: list[bool] = []

    def __enter__(self) -> None:
        self._saved.append(is_peer_access_enabled(*self.devices))
        set_peer_access_enabled(*self.devices, self.enable)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        set_peer_access_enabled(*self.devices, self._saved.pop())


__all__ = [n for n in list(globals()) if not n.startswith("_") and n not in ("Any", "Device")]
_TAKEN_IN = ("annotations", "operator", "get_device", "not_cuda", "selection", "thread_local")
__all__ = [n for n in __all__ if n not in (*_TAKEN_IN, "handle_bytes", "put_in_order")]
