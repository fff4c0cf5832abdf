"""Devices, streams and memory pools of the CPU, and what there is where CUDA is not."""

from __future__ import annotations

import copy
import pickle

import pytest

import warp as wp

from . import calls, members


@calls("init", "context.init")
def init() -> None:
    wp.init()
    wp.context.init()
    assert wp.is_initialized()


@calls("Device", "get_device", "Device.__eq__", "Device.alias", "Device.name", "Device.ordinal")
def device() -> None:
    cpu = wp.get_device("cpu")
    assert isinstance(cpu, wp.Device) and cpu == "cpu" and "cpu" == cpu and cpu != "cuda" and cpu != 1
    assert wp.get_device() is cpu and wp.get_device(cpu) is cpu
    assert cpu.alias == "cpu" and cpu.ordinal == -1 and isinstance(cpu.name, str) and str(cpu) == "cpu"
    assert {cpu: 1}["cpu"] == 1
    assert copy.deepcopy(cpu) is cpu and copy.copy(cpu) is cpu and pickle.loads(pickle.dumps(cpu)) is cpu
    for name in ("foo", "", "cpu:0", 5, 3.5, b"cpu", "cuda:99", "cuda:x"):
        with pytest.raises(ValueError, match="Invalid device identifier"):
            wp.get_device(name)
    if not wp.is_cuda_available():
        with pytest.raises(RuntimeError, match="CUDA"):
            wp.get_device("cuda")


@members(
    "Device",
    *("is_cpu", "is_cuda", "is_uva", "is_capturing", "context", "has_stream", "arch", "sm_count", "uuid", "pci_bus_id"),
    *("is_mempool_supported", "is_mempool_enabled", "get_cuda_compile_arch", "make_current"),
)
def device_facts() -> None:
    cpu = wp.get_device("cpu")
    assert cpu.is_cpu and not cpu.is_cuda and not cpu.is_uva and not cpu.is_capturing and not cpu.has_stream
    assert cpu.context is None and cpu.uuid is None and cpu.pci_bus_id is None
    assert cpu.arch == 0 and cpu.sm_count == 0 and cpu.cores >= 1
    assert not cpu.is_mempool_supported and not cpu.is_mempool_enabled
    assert cpu.get_cuda_compile_arch() is None and cpu.make_current() is None


@calls("Device.total_memory", "Device.free_memory")
def memory() -> None:
    cpu = wp.get_device("cpu")
    assert 0 < cpu.free_memory <= cpu.total_memory


@calls("Device.can_access", "can_access")
def access() -> None:
    cpu = wp.get_device("cpu")
    assert cpu.can_access(cpu) and cpu.can_access("cpu")
    assert wp.can_access("cpu", wp.zeros(1)) and wp.can_access(cpu, "cpu")


@calls("Device.stream", "Device.set_stream", "Stream", "Event", "get_stream", "set_stream")
def no_streams() -> None:
    cpu = wp.get_device("cpu")
    for make in (
        lambda: cpu.stream,
        lambda: cpu.set_stream(None),
        lambda: setattr(cpu, "stream", None),
        lambda: wp.Stream("cpu"),
        lambda: wp.Stream(device="cpu", priority=-1),
        lambda: wp.Event("cpu", enable_timing=True),
        lambda: wp.get_stream(),
        lambda: wp.set_stream(None),
    ):
        with pytest.raises(RuntimeError, match="cpu is not a CUDA device"):
            make()


def _blank(cls: type) -> object:
    """An object whose constructor refuses the CPU: its methods refuse, too."""
    made = object.__new__(cls)
    made.device = wp.get_device("cpu")
    return made


@members(
    "Stream", "record_event", "wait_event", "wait_stream", "is_complete", "is_capturing", "is_blocking", "priority"
)
def stream_members() -> None:
    stream = _blank(wp.Stream)
    for use in (
        lambda: stream.record_event(),
        lambda: stream.wait_event(None),
        lambda: stream.wait_stream(None),
        lambda: stream.is_complete,
        lambda: stream.is_capturing,
        lambda: stream.is_blocking,
        lambda: stream.priority,
    ):
        with pytest.raises(RuntimeError, match="not a CUDA device"):
            use()


@members("Event", "ipc_handle", "is_complete")
def event_members() -> None:
    event = _blank(wp.Event)
    with pytest.raises(RuntimeError, match="not a CUDA device"):
        event.ipc_handle()
    with pytest.raises(RuntimeError, match="not a CUDA device"):
        event.is_complete


@calls("record_event", "wait_event", "wait_stream", "get_event_elapsed_time", "synchronize_event")
def events() -> None:
    for use in (wp.record_event, lambda: wp.wait_event(None), lambda: wp.wait_stream(None)):
        with pytest.raises(RuntimeError, match="not a CUDA device"):
            use()
    for use in (lambda: wp.get_event_elapsed_time(None, None), lambda: wp.synchronize_event(None)):
        with pytest.raises(TypeError, match="wp.Event"):
            use()


@calls("ScopedStream", "ScopedStream.__enter__", "ScopedStream.__exit__")
def scoped_stream() -> None:
    with wp.ScopedStream(None, sync_enter=False, sync_exit=True) as stream:
        assert stream is None
    with pytest.raises(TypeError, match="wp.Stream"):
        wp.ScopedStream("cpu")


@calls("ScopedDevice", "ScopedDevice.__enter__", "ScopedDevice.__exit__", "set_device")
def scoped_device() -> None:
    wp.set_device("cpu")
    with wp.ScopedDevice("cpu") as device:
        assert device == "cpu" and wp.get_device() is device
    with pytest.raises(ValueError, match="Invalid device identifier"):
        wp.ScopedDevice("nope")
    with pytest.raises(ValueError, match="Invalid device identifier"):
        wp.set_device("nope")


@calls("synchronize", "synchronize_device", "synchronize_stream")
def synchronize() -> None:
    wp.synchronize()
    wp.synchronize_device()
    wp.synchronize_device("cpu")
    wp.synchronize_stream()
    wp.synchronize_stream("cpu")
    with pytest.raises(ValueError, match="Invalid device identifier"):
        wp.synchronize_device("nope")


@calls(
    *("get_devices", "get_cuda_devices", "get_cuda_device", "get_cuda_device_count", "get_cuda_driver_version"),
    *("get_cuda_supported_archs", "get_preferred_device"),
)
def listing() -> None:
    count = wp.get_cuda_device_count()
    assert wp.get_devices() == ["cpu", *wp.get_cuda_devices()] and len(wp.get_cuda_devices()) == count
    assert wp.get_preferred_device() == ("cuda:0" if count else "cpu")
    if count:
        assert wp.get_cuda_driver_version() and wp.get_cuda_supported_archs() and wp.get_cuda_device(0) == "cuda:0"
        return
    assert wp.get_cuda_supported_archs() == []  # there may be a driver that shows no device
    for ordinal in (None, 0):
        with pytest.raises(RuntimeError, match="CUDA"):
            wp.get_cuda_device(ordinal)


@calls("is_cpu_available", "is_cuda_available", "is_device_available")
def availability() -> None:
    assert wp.is_cpu_available() and wp.is_cuda_available() == bool(wp.get_cuda_devices())
    assert wp.is_device_available("cpu") and wp.is_device_available(wp.get_device())
    assert not wp.is_device_available("cuda:99") and not wp.is_device_available("nope")


@calls(
    *("is_mempool_supported", "is_mempool_enabled", "set_mempool_enabled", "get_mempool_release_threshold"),
    *("set_mempool_release_threshold", "get_mempool_used_mem_current", "get_mempool_used_mem_high"),
    *("ScopedMempool", "ScopedMempool.__enter__", "ScopedMempool.__exit__"),
)
def pools() -> None:
    assert not wp.is_mempool_supported("cpu") and not wp.is_mempool_enabled("cpu")
    wp.set_mempool_enabled("cpu", False)
    with wp.ScopedMempool("cpu", False):
        pass
    for use in (
        lambda: wp.set_mempool_enabled("cpu", True),
        lambda: wp.get_mempool_release_threshold("cpu"),
        lambda: wp.set_mempool_release_threshold("cpu", 0.5),
        lambda: wp.get_mempool_used_mem_current("cpu"),
        lambda: wp.get_mempool_used_mem_high(),
        lambda: wp.ScopedMempool("cpu", True).__enter__(),
    ):
        with pytest.raises(ValueError, match="only supported on CUDA devices"):
            use()


@calls(
    *("is_mempool_access_supported", "is_mempool_access_enabled", "set_mempool_access_enabled"),
    *("is_peer_access_supported", "is_peer_access_enabled", "set_peer_access_enabled", "ScopedPeerAccess"),
    *("ScopedMempoolAccess", "ScopedMempoolAccess.__enter__", "ScopedMempoolAccess.__exit__"),
)
def peers() -> None:
    for name in ("mempool_access", "peer_access"):
        assert not getattr(wp, f"is_{name}_supported")("cpu", "cpu")
        assert not getattr(wp, f"is_{name}_enabled")("cpu", "cpu")
        switch = getattr(wp, f"set_{name}_enabled")
        switch("cpu", "cpu", False)
        with pytest.raises(ValueError, match="between CUDA devices"):
            switch("cpu", "cpu", True)
    for scope in (wp.ScopedMempoolAccess, wp.ScopedPeerAccess):
        with scope("cpu", "cpu", False):
            pass
        with pytest.raises(ValueError, match="between CUDA devices"):
            scope("cpu", "cpu", True).__enter__()
