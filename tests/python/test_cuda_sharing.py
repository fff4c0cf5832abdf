"""CUDA devices and others: memory and events of other processes, contexts of other libraries, one GPU under several names,
streams of PyTorch and CuPy. Where CUDA is not, that it is said."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import warp as wp

cuda_only = pytest.mark.skipif(not wp.is_cuda_available(), reason="there is no CUDA device")


@wp.kernel
def add(x: wp.array(dtype=float), s: float):
    i = wp.tid()
    x[i] = x[i] + s


@wp.kernel
def spin(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = x[i]
    for _k in range(n):
        v = v * 1.0000001 + 0.5
    x[i] = v


# ---- without CUDA ----------------------------------------------------------------------------------------------------


def test_what_needs_a_cuda_device_says_so() -> None:
    with pytest.raises(RuntimeError, match="IPC handles exist for CUDA arrays only"):
        wp.zeros(3, device="cpu").ipc_handle()
    with pytest.raises(RuntimeError, match="not a CUDA device"):
        wp.from_ipc_handle(bytes(64), float, (3,), device="cpu")
    with pytest.raises(RuntimeError, match="not a CUDA device"):
        wp.event_from_ipc_handle(bytes(64), device="cpu")
    for bad in ("cpu", "cuda", "cuda:0"):
        with pytest.raises(ValueError, match="a device's own name"):
            wp.map_cuda_device(bad)
    with pytest.raises(TypeError, match="the alias of a device is a name"):
        wp.map_cuda_device(3)
    with pytest.raises(RuntimeError, match="no device was mapped to the alias 'nobody'"):
        wp.unmap_cuda_device("nobody")
    if not wp.is_cuda_available():
        with pytest.raises(RuntimeError, match="CUDA is not available"):
            wp.map_cuda_device("twin")


# ---- processes -------------------------------------------------------------------------------------------------------

CHILD = """
    import sys
    import warp as wp

    wp.config.quiet = True

    @wp.kernel
    def double(x: wp.array(dtype=wp.vec2), y: wp.array(dtype=wp.vec2)):
        i = wp.tid()
        y[i] = 2.0 * x[i]

    wp.set_device("cuda:0")
    memory, event, back = (bytes.fromhex(line) for line in sys.stdin.readline().split())
    x = wp.from_ipc_handle(memory, wp.vec2, (8,))
    again = wp.from_ipc_handle(memory, wp.vec2, (4,), strides=(16,))
    assert again.ptr == x.ptr
    wp.wait_event(wp.event_from_ipc_handle(event))
    wp.launch(double, dim=8, inputs=[x], outputs=[x])
    assert again.numpy()[1].tolist() == [8.0, 10.0]
    done = wp.event_from_ipc_handle(back)
    wp.record_event(done)
    del again
    wp.synchronize()
    print("done", flush=True)
    sys.stdin.readline()
"""


@cuda_only
def test_two_processes_share_an_array(gpu_environment: dict[str, str], tmp_path: Path) -> None:
    device = wp.get_device("cuda:0")
    if not device.is_ipc_supported:
        pytest.skip("the device shares nothing")
    with wp.ScopedDevice(device):
        with wp.ScopedMempool(device, False):
            x = wp.zeros(8, dtype=wp.vec2)
        ready, back = wp.Event(device, interprocess=True), wp.Event(device, interprocess=True)
        program = tmp_path / "child.py"  # kernels need a file
        program.write_text(textwrap.dedent(CHILD))
        child = subprocess.Popen(
            [sys.executable, str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=gpu_environment,
        )
        x.assign(np.arange(16, dtype=np.float32).reshape(8, 2))
        wp.record_event(ready)
        child.stdin.write(f"{x.ipc_handle().hex()} {ready.ipc_handle().hex()} {back.ipc_handle().hex()}\n")
        child.stdin.flush()
        assert child.stdout.readline().strip() == "done"
        wp.wait_event(back)
        assert x.numpy().ravel().tolist() == [2.0 * k for k in range(16)]
        child.communicate("\n", timeout=60)
        assert child.returncode == 0


@cuda_only
def test_what_can_not_be_shared() -> None:
    device = wp.get_device("cuda:0")
    with wp.ScopedDevice(device):
        with pytest.raises(RuntimeError, match=r"cuIpcGetMemHandle .*wp.ScopedMempool"):
            wp.zeros(8).ipc_handle()
        with wp.ScopedMempool(device, False):
            x = wp.zeros(8)
        with pytest.raises(RuntimeError, match="starts inside of one"):
            x[2:].ipc_handle()
        with pytest.raises(RuntimeError, match=r"wp.Event\(interprocess=True\)"):
            wp.Event(device).ipc_handle()
        with pytest.raises(RuntimeError, match="cuIpcOpenMemHandle"):
            wp.from_ipc_handle(bytes(64), float, (8,))
        for call in (lambda: wp.from_ipc_handle(b"short", float, (8,)), lambda: wp.event_from_ipc_handle(b"short")):
            with pytest.raises(ValueError, match="has 64 bytes"):
                call()
        assert x.list() == [0.0] * 8


# ---- contexts --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def context():
    """A context on the first GPU that is not its primary one, made by the driver API as another library would."""
    driver = ctypes.CDLL("libcuda.so.1")
    wp.get_device("cuda:0").context  # noqa: B018  # the driver is initialised by now
    made, before = ctypes.c_void_p(), ctypes.c_void_p()
    driver.cuCtxGetCurrent(ctypes.byref(before))
    assert driver.cuCtxCreate_v2(ctypes.byref(made), 0, 0) == 0
    driver.cuCtxSetCurrent(before)
    return made


@cuda_only
def test_a_context_of_another_library(context: ctypes.c_void_p) -> None:
    twin = wp.map_cuda_device("twin", context)
    try:
        first = wp.get_device("cuda:0")
        assert wp.map_cuda_device("twin", context.value) is twin and wp.get_device("twin") is twin
        assert twin.is_cuda and not twin.is_primary and first.is_primary and twin is not first
        assert twin.context == context.value and twin == "twin" and str(twin) == "twin" and twin.name == first.name
        assert twin in wp.get_devices() and twin in wp.get_cuda_devices() and wp.is_device_available("twin")
        with wp.ScopedDevice("twin"):
            assert wp.get_device() is twin and wp.get_device("cuda") is twin
            x = wp.full(1000, 2.0)
            wp.launch(add, dim=1000, inputs=[x, 1.0])
            assert x.device is twin and (x.numpy() == 3.0).all()
            with wp.ScopedCapture() as capture:
                wp.launch(add, dim=1000, inputs=[x, 1.0])
            wp.capture_launch(capture.graph)
            assert x.numpy()[0] == 4.0
        y = wp.ones(1000, device=first)
        wp.launch(add, dim=1000, inputs=[y, 1.0], device=first)
        with pytest.raises(RuntimeError, match=r"runs on cuda:0, but the array is on cuda:0 \(another context\)"):
            wp.launch(add, dim=1000, inputs=[x, 1.0], device=first)
        moved = x.to(first)  # between devices, though both are one GPU
        assert moved.device is first and (moved.numpy() == 4.0).all()
        wp.copy(x[::2], y[500:])
        assert x.numpy()[:3].tolist() == [2.0, 4.0, 2.0]
        assert not wp.is_peer_access_supported(first, twin) and not wp.can_access(first, x)
        stream = wp.Stream(twin)
        wp.launch(add, dim=1000, inputs=[x, 1.0], stream=stream)
        wp.synchronize_stream(stream)
        with pytest.raises(RuntimeError, match="belongs to"):
            first.set_stream(stream)
        assert x.__dlpack_device__() == (2, 0)
    finally:
        wp.unmap_cuda_device("twin")
    with pytest.raises(ValueError, match="Invalid device identifier"):
        wp.get_device("twin")
    assert x.numpy()[0] == 3.0 and x.device is twin
    assert wp.map_cuda_device("other name", context) is twin
    wp.unmap_cuda_device("other name")
    wp.synchronize()


@cuda_only
def test_the_current_context_and_a_gpu_under_another_name() -> None:
    device = wp.get_device("cuda:0")
    device.make_current()
    try:
        assert wp.map_cuda_device("mine") is device and device.alias == "mine" and wp.get_device("mine") is device
        assert wp.get_device("cuda:0") is device and wp.zeros(3, device="mine").device == "mine"
        wp.launch(add, dim=3, inputs=[wp.zeros(3, device="mine"), 1.0], device="mine")
    finally:
        wp.unmap_cuda_device("mine")
    assert device.alias == "cuda:0" and wp.get_device("cuda:0") is device
    with pytest.raises(RuntimeError, match="no CUDA context"):
        wp.map_cuda_device("nonsense", 12345)
    assert wp.zeros(3, device=device).list() == [0.0] * 3


# ---- streams of other libraries --------------------------------------------------------------------------------------


@cuda_only
def test_streams_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no CUDA")
    device = wp.get_device("cuda:0")
    assert wp.device_from_torch(torch.device("cuda", 0)) is device and wp.device_from_torch("cpu") == "cpu"
    assert wp.device_from_torch("cuda") is device
    assert wp.device_to_torch(device) == "cuda:0" and wp.device_to_torch("cpu") == "cpu"
    with pytest.raises(RuntimeError, match="there is no device for PyTorch's meta"):
        wp.device_from_torch("meta")
    side = torch.cuda.Stream()
    ours = wp.stream_from_torch(side)
    assert ours.cuda_stream == side.cuda_stream and ours.device is device
    t = torch.zeros(1 << 20, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side), wp.ScopedStream(wp.stream_from_torch("cuda:0"), sync_enter=False):
        for _ in range(20):  # each reads what the one before wrote
            t += 1.0
            wp.launch(add, dim=t.shape[0], inputs=[t, 1.0])
        t *= 2.0
    side.synchronize()
    assert t[0].item() == 80.0 and t[-1].item() == 80.0
    theirs = wp.stream_to_torch(wp.Stream(device))  # keeps our stream
    with torch.cuda.stream(theirs), wp.ScopedStream(wp.stream_from_torch(theirs), sync_enter=False):
        t.fill_(1.0)
        wp.launch(add, dim=t.shape[0], inputs=[t, 1.0])
        t.mul_(3.0)
    theirs.synchronize()
    assert t[5].item() == 6.0
    assert wp.stream_to_torch(device).cuda_stream == device.stream.cuda_stream
    with pytest.raises(RuntimeError, match="not a CUDA device"):
        wp.stream_from_torch("cpu")


@cuda_only
def test_the_default_stream_of_other_libraries_and_ours_wait_for_each_other() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no CUDA")
    device = wp.get_device("cuda:0")
    t = torch.zeros(1 << 16, device="cuda")
    assert wp.stream_from_torch(device).cuda_stream == 0 and device.stream.is_blocking
    with wp.ScopedDevice(device):
        for _ in range(50):  # no synchronisation: PyTorch's default stream is CUDA's, which our stream waits for
            t += 1.0
            wp.launch(add, dim=t.shape[0], inputs=[t, 1.0])
    assert (t == 100.0).all().item()
    null = device.null_stream
    assert null.cuda_stream == 0
    x = wp.zeros(10, device=device)
    wp.launch(add, dim=10, inputs=[x, 2.0], stream=null)
    assert x.list() == [2.0] * 10


@cuda_only
def test_streams_of_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    device = wp.get_device("cuda:0")
    theirs = cupy.cuda.Stream(non_blocking=True)
    a = cupy.zeros(1 << 16, dtype=cupy.float32)
    cupy.cuda.Device().synchronize()
    ours = wp.Stream(device, cuda_stream=theirs.ptr)
    with theirs:
        for _ in range(20):
            a += 1.0
            wp.launch(add, dim=a.size, inputs=[a, 1.0], stream=ours)
    theirs.synchronize()
    assert float(a[0]) == 40.0 and not ours.is_blocking
    own = wp.Stream(device)
    with cupy.cuda.ExternalStream(own.cuda_stream):
        b = cupy.ones(100, dtype=cupy.float32)
    wp.launch(add, dim=100, inputs=[b, 1.0], stream=own)
    wp.synchronize_stream(own)
    assert float(b[3]) == 2.0


@cuda_only
def test_arrays_of_jax() -> None:
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU")
    x = jax.numpy.arange(100, dtype=jax.numpy.float32) * 2.0  # may still be computed
    y = wp.zeros(100, device="cuda:0")
    wp.copy(y, wp.array(x, dtype=float, device="cuda:0"))
    assert y.numpy().tolist() == [2.0 * k for k in range(100)]
