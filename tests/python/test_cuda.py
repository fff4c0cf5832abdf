"""What only CUDA devices have: facts, streams, events, pools, graphs, page-locked memory, other libraries' arrays, device
output and failed checks. All of it is skipped without a CUDA device."""

from __future__ import annotations

import gc
import multiprocessing
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import warp as wp

pytestmark = pytest.mark.skipif(not wp.is_cuda_available(), reason="there is no CUDA device")


# The fake driver (tests/fake_cuda) does at once what it is asked for, and every instruction takes it long: no launch is under way
# when the next call comes, however much there is to do.
FAKE = wp.is_cuda_available() and "Fake" in wp.get_device("cuda:0").name
MANY, SOME = (1 << 10, 1 << 8) if FAKE else (1 << 20, 1 << 16)  # threads
LONG, SHORT, VERY_LONG = (20, 10, 30) if FAKE else (1000, 200, 200_000)  # turns of `spin`


def gpu_torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA device")
    return torch


@pytest.fixture(autouse=True)
def on_cuda():
    with wp.ScopedDevice("cuda:0"):
        yield
    wp.synchronize()


@wp.kernel
def add(x: wp.array(dtype=float), s: float):
    i = wp.tid()
    x[i] = x[i] + s


@wp.kernel
def spin(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = x[i]
    for k in range(n):
        v = v * 1.0000001 + 0.5
    x[i] = v


@wp.kernel
def beyond(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i + n] = 1.0


@wp.kernel
def say(x: wp.array(dtype=float)):
    i = wp.tid()
    if i == 3:
        wp.printf("thread %d has %g\n", i, x[i])


@wp.kernel
def insist(x: wp.array(dtype=float)):
    assert x[wp.tid()] < 5.0, "too large"


def test_facts() -> None:
    device = wp.get_device("cuda")
    assert device.is_cuda and not device.is_cpu and device.ordinal == 0 and device == "cuda:0"
    assert device.arch >= 70 and device.sm_count > 0 and device.total_memory >= 1 << 30
    assert 0 < device.free_memory <= device.total_memory
    assert device.uuid.startswith("GPU-") and ":" in device.pci_bus_id and device.name
    assert wp.get_cuda_device_count() >= 1 and wp.get_cuda_devices()[0] is device
    assert wp.get_devices()[1] is device and wp.get_preferred_device() is device
    assert wp.get_cuda_driver_version() >= (11, 4)
    with pytest.raises(ValueError, match="Invalid device identifier: cuda:99"):
        wp.get_device("cuda:99")


def test_scopes_restore() -> None:
    with pytest.raises(KeyError), wp.ScopedDevice("cpu"):
        assert wp.zeros(1).device == "cpu"
        raise KeyError
    assert wp.zeros(1).device == "cuda:0"


def test_streams_and_events() -> None:
    device = wp.get_device()
    first, second = wp.Stream(device), wp.Stream(device, priority=-1)
    x = wp.zeros(MANY)
    start, end = wp.Event(enable_timing=True), wp.Event(enable_timing=True)
    with wp.ScopedStream(first):
        assert wp.get_stream() is first and device.stream is first
        wp.record_event(start)
        wp.launch(spin, dim=x.size, inputs=[x, LONG])
        first.record_event(end)
    assert device.stream is not first
    second.wait_event(end)
    wp.launch(add, dim=x.size, inputs=[x, 1.0], stream=second)
    wp.wait_stream(second)
    assert x.numpy()[0] > 1.0
    assert wp.get_event_elapsed_time(start, end) > 0.0 and end.is_complete and second.is_complete
    assert second.priority <= 0 and isinstance(first.cuda_stream, int)
    wp.synchronize_stream(first)
    wp.synchronize_event(end)
    wp.synchronize_device()


def test_streams_of_other_libraries() -> None:
    handle = wp.get_stream().cuda_stream
    again = wp.Stream(wp.get_device(), cuda_stream=handle)
    x = wp.zeros(10)
    wp.launch(add, dim=10, inputs=[x, 2.0], stream=again)
    assert x.list() == [2.0] * 10


def test_memory_dropped_while_kernels_run_on_other_streams() -> None:
    out = wp.zeros(SOME)
    stream = wp.Stream(wp.get_device())
    for k in range(30):
        x = wp.full(SOME, float(k))
        with wp.ScopedStream(stream):
            wp.launch(spin, dim=x.size, inputs=[x, SHORT])
            wp.copy(out, x)
        del x
        wp.full(SOME, -1.0)
    expected = np.full(1, 29.0, np.float32)
    for _ in range(SHORT):
        expected = (expected.astype(np.float64) * np.float32(1.0000001) + 0.5).astype(np.float32)
    wp.synchronize()
    assert (out.numpy() == out.numpy()[0]).all() and abs(out.numpy()[0] - expected[0]) < 1e-3


@pytest.mark.parametrize("foreign", [False, True])
def test_memory_dropped_while_kernels_run_on_streams_that_are_gone(foreign: bool) -> None:
    owner = wp.Stream(wp.get_device())
    for _ in range(5):
        stream = wp.Stream(wp.get_device(), **({"cuda_stream": owner.cuda_stream} if foreign else {}))
        x = wp.ones(SOME)
        with wp.ScopedStream(stream):
            wp.launch(spin, dim=x.size, inputs=[x, VERY_LONG])
        del stream, x  # in this order, while the kernel runs
        y = wp.zeros(SOME)
        wp.synchronize()
        assert not y.numpy().any()  # the kernel has written to memory that was still its own


def test_pools() -> None:
    device = wp.get_device()
    if not device.is_mempool_supported:
        pytest.skip("the device has no pools")
    assert wp.is_mempool_supported(device) and wp.is_mempool_enabled(device)
    before = wp.get_mempool_used_mem_current(device)
    x = wp.zeros(1 << 20)
    assert wp.get_mempool_used_mem_current(device) >= before + (4 << 20)
    assert wp.get_mempool_used_mem_high(device) >= before + (4 << 20)
    del x
    saved = wp.get_mempool_release_threshold(device)
    wp.set_mempool_release_threshold(device, 1 << 20)
    assert wp.get_mempool_release_threshold(device) == 1 << 20
    wp.set_mempool_release_threshold(device, saved)
    with wp.ScopedMempool(device, False):
        assert not wp.is_mempool_enabled(device)
        y = wp.full(100, 2.0)
    assert wp.is_mempool_enabled(device) and y.list() == [2.0] * 100


def test_out_of_memory_is_an_exception_and_the_process_goes_on() -> None:
    with pytest.raises(MemoryError, match=r"no memory for \d+ bytes on cuda:0"):
        wp.empty(1 << 41, dtype=float)
    assert wp.zeros(3).list() == [0.0] * 3


def test_page_locked_memory() -> None:
    host = wp.zeros(1000, device="cpu", pinned=True)
    assert host.pinned and host.device == "cpu" and host.memory_kind == wp.MemoryKind.PINNED
    host.numpy()[:] = np.arange(1000)
    there = wp.empty(1000)
    wp.copy(there, host)
    wp.launch(add, dim=1000, inputs=[there, 1.0])
    wp.copy(host, there)
    wp.synchronize()
    np.testing.assert_array_equal(host.numpy(), np.arange(1000) + 1)
    wp.launch(add, dim=1000, inputs=[host, 1.0])  # kernels reach it by themselves
    wp.synchronize()
    np.testing.assert_array_equal(host.numpy(), np.arange(1000) + 2)
    with pytest.raises(RuntimeError, match="page-locked memory is the CPU's"):
        wp.zeros(3, device="cuda", pinned=True)


def test_graphs() -> None:
    x = wp.zeros(100)
    with wp.ScopedCapture() as capture:
        temporary = wp.zeros(100)
        wp.launch(add, dim=100, inputs=[x, 1.0])
        wp.launch(add, dim=100, inputs=[temporary, 5.0])
        wp.copy(x[50:], temporary[50:])
        x[:10].fill_(7.0)
    del temporary
    gc.collect()
    assert x.list() == [0.0] * 100  # captured, not run
    x.fill_(2.0)
    for _ in range(3):
        wp.capture_launch(capture.graph)
    assert x.list() == [7.0] * 10 + [5.0] * 40 + [5.0] * 50
    x.zero_()
    wp.capture_launch(capture.graph, stream=wp.Stream(wp.get_device()))
    wp.synchronize()
    assert x.list() == [7.0] * 10 + [1.0] * 40 + [5.0] * 50


def test_kernels_compiled_while_capturing() -> None:
    @wp.kernel(module="unique")
    def fresh(x: wp.array(dtype=float)):
        x[wp.tid()] = 3.25

    x = wp.zeros(5)
    wp.capture_begin()
    assert wp.get_device().is_capturing
    wp.launch(fresh, dim=5, inputs=[x])
    graph = wp.capture_end()
    del fresh
    wp.capture_launch(graph)
    assert x.list() == [3.25] * 5 and not wp.get_device().is_capturing


def test_captures_refuse_what_they_can_not_hold() -> None:
    x = wp.zeros(5)
    wp.capture_begin()
    with pytest.raises(RuntimeError, match="Graph capture already in progress"):
        wp.capture_begin()
    with pytest.raises(RuntimeError, match="while a graph is captured"):
        x.numpy()
    with pytest.raises(RuntimeError, match="while a graph is captured"):
        wp.synchronize()
    wp.capture_end()
    with pytest.raises(RuntimeError, match="capture is not active"):
        wp.capture_end()
    assert x.list() == [0.0] * 5


@wp.kernel
def say_all(x: wp.array(dtype=float)):
    i = wp.tid()
    wp.printf("%d: %g\n", i, x[i])


def test_device_output(capsys: pytest.CaptureFixture) -> None:
    x = wp.full(8, 2.5)
    wp.launch(say, dim=8, inputs=[x])
    wp.launch(say_all, dim=1000, inputs=[wp.array(np.arange(1000, dtype=np.float32))])
    wp.launch(say, dim=8, inputs=[x])
    wp.synchronize()
    lines = capsys.readouterr().out.splitlines()  # by launch and thread, whatever the GPU did first
    assert lines == ["thread 3 has 2.5", *(f"{k}: {k}" for k in range(1000)), "thread 3 has 2.5"]
    wp.launch(say, dim=8, inputs=[x])
    x.numpy()  # waits
    assert capsys.readouterr().out == "thread 3 has 2.5\n"
    event, side = wp.Event(), wp.Stream()
    wp.launch(say, dim=8, inputs=[x], stream=side)
    side.record_event(event)
    wp.synchronize_event(event)
    assert capsys.readouterr().out == "thread 3 has 2.5\n"


def test_more_output_than_there_is_room_for(capsys: pytest.CaptureFixture) -> None:
    n = 100_000
    wp.launch(say_all, dim=n, inputs=[wp.zeros(n)])
    wp.synchronize()
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == f"[{n - len(lines)} more prints on cuda:0 were lost: there is room for 1 MB between two waits]"
    assert 1000 < len(lines) < n and all(line.endswith(": 0") for line in lines)
    wp.launch(say_all, dim=2, inputs=[wp.zeros(n)])
    wp.synchronize()
    assert capsys.readouterr().out == "0: 0\n1: 0\n"


@pytest.fixture
def debug():
    wp.config.mode = "debug"
    yield
    wp.config.mode = "release"


def test_failed_bounds_name_the_place_and_the_context_survives(debug: None) -> None:
    x = wp.zeros(10)
    wp.launch(beyond, dim=10, inputs=[x, 4])
    told = r"kernel 'beyond'.*thread \(\d,\): index 1\d is out of bounds for 'x' with extent 10"
    with pytest.raises(RuntimeError, match=told):
        wp.synchronize()
    wp.synchronize()  # told once
    wp.launch(beyond, dim=5, inputs=[x, 5])
    assert x.list()[5:] == [1.0] * 5
    wp.launch(beyond, dim=10, inputs=[x, 1])
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.numpy()


def test_failed_assertions(debug: None) -> None:
    wp.launch(insist, dim=10, inputs=[wp.full(10, 4.0)])
    wp.synchronize()
    wp.launch(insist, dim=10, inputs=[wp.full(10, 6.0)])
    with pytest.raises(RuntimeError, match="assertion failed: too large"):
        wp.synchronize_device()


def test_failed_checks_in_graphs(debug: None) -> None:
    x, n = wp.zeros(10), 3
    with wp.ScopedCapture() as capture:
        wp.launch(beyond, dim=10, inputs=[x, n])
    for _ in range(2):
        wp.capture_launch(capture.graph)
        with pytest.raises(RuntimeError, match="out of bounds"):
            wp.synchronize()


def test_verify_cuda_raises_at_the_launch(debug: None) -> None:
    wp.config.verify_cuda = True
    try:
        with pytest.raises(RuntimeError, match="out of bounds"):
            wp.launch(beyond, dim=10, inputs=[wp.zeros(10), 4])
    finally:
        wp.config.verify_cuda = False


def test_modules_are_compiled_ahead() -> None:
    from warp import _weft

    wp.load_module(device="cuda:0")
    before = _weft.build_counts()
    x = wp.zeros(4)
    wp.launch(add, dim=4, inputs=[x, 1.0])
    assert _weft.build_counts() == before and x.list() == [1.0] * 4


def test_conditions() -> None:
    x, flag = wp.zeros(3), wp.array([3], dtype=int)

    @wp.kernel(module="unique")
    def step(x: wp.array(dtype=float), flag: wp.array(dtype=int)):
        x[wp.tid()] = x[wp.tid()] + 1.0
        if wp.tid() == 0:
            flag[0] = flag[0] - 1

    wp.capture_while(flag, lambda: wp.launch(step, dim=3, inputs=[x, flag]))
    assert x.list() == [3.0] * 3
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=3, inputs=[x, 10.0])
    wp.capture_if(flag, on_false=capture.graph)
    assert x.list() == [13.0] * 3


def test_tapes() -> None:
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    y, total = wp.zeros(3, requires_grad=True), wp.zeros(1, requires_grad=True)

    @wp.kernel(module="unique")
    def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    @wp.kernel(module="unique")
    def gather(y: wp.array(dtype=float), total: wp.array(dtype=float)):
        wp.atomic_add(total, 0, y[wp.tid()])

    with wp.Tape() as tape:
        wp.launch(square, dim=3, inputs=[x], outputs=[y])
        wp.launch(add, dim=3, inputs=[y, 1.0])  # in place
        wp.launch(gather, dim=3, inputs=[y], outputs=[total])
    tape.backward(total)
    assert total.list() == [17.0] and x.grad.list() == [2.0, 4.0, 6.0] and x.grad.device == "cuda:0"
    tape.zero()
    with wp.ScopedCapture() as capture:
        tape.backward(grads={total: wp.ones(1)})
    wp.capture_launch(capture.graph)
    assert x.grad.list() == [2.0, 4.0, 6.0]


def test_fast_math() -> None:
    @wp.kernel(module="unique", fast_math=True)
    def inverse_root(x: wp.array(dtype=float)):
        i = wp.tid()
        for k in range(3):
            x[i] = 1.0 / wp.sqrt(x[i] + float(k))

    values = np.linspace(0.5, 9.0, 100)
    x = wp.array(values, dtype=float)
    wp.launch(inverse_root, dim=100, inputs=[x])
    for k in range(3):
        values = 1.0 / np.sqrt(values + k)
    np.testing.assert_allclose(x.numpy(), values, rtol=1e-5)


def test_bad_launches() -> None:
    x = wp.zeros(10)
    with pytest.raises(ValueError, match="a block has 1 to 1024 threads here, block_dim is 2048"):
        wp.launch(add, dim=10, inputs=[x, 1.0], block_dim=2048)
    with pytest.raises(ValueError, match="max_blocks"):
        wp.launch(add, dim=10, inputs=[x, 1.0], max_blocks=-1)
    with pytest.raises(RuntimeError, match="on cuda:0, got ndarray on the host"):
        wp.launch(add, dim=10, inputs=[np.zeros(10, np.float32), 1.0])
    assert x.list() == [0.0] * 10


def test_cuda_array_interface_with_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    x = wp.array(np.arange(12, dtype=np.float32).reshape(3, 4))
    seen = cupy.asarray(x)
    seen *= 2
    np.testing.assert_array_equal(x.numpy(), np.arange(12, dtype=np.float32).reshape(3, 4) * 2)
    theirs = cupy.arange(10, dtype=cupy.float32)
    wp.launch(add, dim=10, inputs=[theirs, 1.0])
    wp.synchronize()
    np.testing.assert_array_equal(theirs.get(), np.arange(10) + 1)
    ours = wp.array(cupy.ones((4, 3), dtype=cupy.float32), dtype=wp.vec3, copy=False)
    assert ours.shape == (4,) and ours.device == "cuda:0" and ours.list()[3] == wp.vec3(1.0, 1.0, 1.0)
    strided = wp.array(cupy.arange(20, dtype=cupy.float32)[::2], copy=False)
    assert strided.strides == (8,) and strided.list() == list(range(0, 20, 2))
    assert not hasattr(wp.zeros(3, device="cpu"), "__cuda_array_interface__")


def test_cuda_array_interface_with_torch() -> None:
    torch = gpu_torch()
    t = torch.arange(10, dtype=torch.float32, device="cuda")
    wp.launch(add, dim=10, inputs=[t, 0.5])
    wp.synchronize()
    np.testing.assert_array_equal(t.cpu().numpy(), np.arange(10) + 0.5)
    x = wp.full((2, 5), 3.0)
    seen = torch.as_tensor(x, device="cuda")
    seen += 1
    torch.cuda.synchronize()
    assert x.list() == [4.0] * 10
    with pytest.raises(RuntimeError, match="can't be seen as"):
        wp.array(torch.zeros(3, dtype=torch.float64, device="cuda"), dtype=float, copy=False)


def test_dlpack() -> None:
    torch = gpu_torch()
    x = wp.array(np.arange(12, dtype=np.float32).reshape(3, 4))
    assert x.__dlpack_device__() == (2, 0)
    wp.launch(spin, dim=12, inputs=[x.flatten(), 1000])
    seen = torch.from_dlpack(x)  # comes after the kernel without waiting
    assert seen.device.type == "cuda" and seen.shape == (3, 4) and seen.data_ptr() == x.ptr
    np.testing.assert_array_equal(seen.cpu().numpy(), x.numpy())
    vectors = torch.from_dlpack(wp.full((2, 6), wp.vec3(1.0, 2.0, 3.0), dtype=wp.vec3)[:, ::2])
    gc.collect()
    assert vectors.shape == (2, 3, 3) and vectors.sum().item() == 36.0
    x.__dlpack__()  # a capsule that nobody takes
    del x, seen
    gc.collect()


def test_threads_launch_at_once() -> None:
    arrays = [wp.zeros(1000) for _ in range(8)]

    def work(x: wp.array) -> None:
        for _ in range(100):
            wp.launch(add, dim=1000, inputs=[x, 1.0], device="cuda:0")

    threads = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all((x.numpy() == 100.0).all() for x in arrays)


def _in_child() -> None:
    import warp

    try:
        warp.zeros(3, device="cuda:0")
    except RuntimeError as error:
        sys.exit(7 if "fork" in str(error) else 1)
    sys.exit(0)


def test_forked_children_are_told() -> None:
    child = multiprocessing.get_context("fork").Process(target=_in_child)
    child.start()
    child.join(60)
    assert child.exitcode == 7


@pytest.mark.skipif(FAKE, reason="the fake driver is done with a launch before it returns")
def test_a_wait_can_be_interrupted(gpu_environment) -> None:
    program = """
        import os, signal, threading, time
        import warp as wp

        @wp.kernel
        def forever(flag: wp.array(dtype=int)):
            while flag[0] == 0:
                wp.atomic_add(flag, 1, 1)

        flag = wp.zeros(2, dtype=int, device="cuda")
        wp.launch(forever, dim=1, inputs=[flag], device="cuda")
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.time()
        try:
            wp.synchronize()
        except KeyboardInterrupt:
            print("interrupted", time.time() - start < 20, flush=True)
        os._exit(0)
    """
    done = subprocess.run(
        [sys.executable, "-c", _as_file(program)], capture_output=True, text=True, timeout=120, env=gpu_environment
    )
    assert "interrupted True" in done.stdout, done.stdout + done.stderr


def _as_file(program: str) -> str:
    """A program that runs from a file, whose kernels' text can be found."""
    text = textwrap.dedent(program)
    return (
        "import runpy, tempfile, os\n"
        f"f = tempfile.NamedTemporaryFile('w', suffix='.py', delete=False); f.write({text!r}); f.close()\n"
        "runpy.run_path(f.name)\n"
    )
