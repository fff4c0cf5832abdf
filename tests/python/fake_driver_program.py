"""A program that runs on the fake driver (tests/fake_cuda) and lets each of its calls fail in turn.

    fake_driver_program.py every CODE PART…    each call of the parts of a program gives CODE once
    fake_driver_program.py start               each call of the driver's start-up fails once, in a process of its own
    fake_driver_program.py compile             the same for what a kernel needs before its first launch
    fake_driver_program.py hang                a wait that never ends is interrupted
    fake_driver_program.py memory              memory runs out
    fake_driver_program.py contexts            launches find the context of another library
    fake_driver_program.py refused             arguments that lie elsewhere
    fake_driver_program.py repeated            the same launch again, and others
    fake_driver_program.py messages            wrong arguments
    fake_driver_program.py checks              gradients of the CPU's arrays while a GPU is the default
    fake_driver_program.py keep                builds without memory leave the tree of before
    fake_driver_program.py keep_volume         the same for volumes
    fake_driver_program.py old                 what an older driver lacks

Whatever fails, there is an exception that names the call or none at all, and everything works afterwards.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from typing import Callable

import numpy as np
import warp as wp
from fake_driver_geometry import grids, keep, keep_volume, trees, volumes

driver = ctypes.CDLL("libcuda.so.1")
driver.weft_fake_calls.restype = ctypes.c_long
driver.weft_fake_failed.restype = ctypes.c_char_p
driver.weft_fake_allocated.restype = ctypes.c_ulong
driver.weft_fake_fail.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_char_p]


@wp.kernel
def scale(a: float, x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = a * x[i]


def arrays() -> None:
    numbers = np.arange(24, dtype=np.float32)
    a, b = wp.zeros(24, device="cuda:0"), wp.array(numbers, device="cuda:0")
    wp.copy(a, b)
    assert (a.numpy() == numbers).all()
    a.fill_(3.0)
    vectors = wp.array(numbers, dtype=wp.vec3, shape=(-1, 2), device="cuda:0")
    assert vectors.shape == (4, 2) and (wp.array(vectors, shape=-1).numpy().ravel() == numbers).all()
    assert wp.array(np.array(2.5), dtype=float, device="cuda:0").numpy().tolist() == [2.5]
    square = wp.zeros((4, 6), device="cuda:0")
    wp.copy(square[::2, ::3], wp.ones((2, 2), device="cuda:0"))
    square[1:3].fill_(2.0)
    assert square.numpy()[2, 0] == 2.0 and square.numpy()[0, 3] == 1.0
    assert (b.to("cuda:1").numpy() == numbers).all()
    across = wp.zeros((2, 2), device="cuda:1")
    wp.copy(across, square[::2, ::3])
    pinned = wp.zeros(24, device="cpu", pinned=True)
    wp.copy(pinned, b)
    wp.synchronize_stream("cuda:0")
    assert (pinned.numpy() == numbers).all()
    big = wp.full(3, wp.mat44(1.0), dtype=wp.mat44, device="cuda:0")
    assert big.numpy().shape == (3, 4, 4)
    assert b.list()[3] == 3.0 and wp.clone(b).numpy()[4] == 4.0
    with wp.ScopedMempool("cuda:0", False):
        wp.zeros(5, device="cuda:0").ipc_handle()


def streams() -> None:
    x = wp.zeros(24, device="cuda:0")
    stream, start, end = wp.Stream("cuda:0"), *(wp.Event("cuda:0", enable_timing=True) for _ in range(2))
    with wp.ScopedStream(stream):
        wp.record_event(start)
        wp.launch(scale, dim=24, inputs=[2.0, x])
        wp.record_event(end)
    wp.wait_event(end)
    wp.wait_stream(stream)
    assert wp.get_event_elapsed_time(start, end) == 1.5
    assert stream.is_complete and end.is_complete and not stream.is_capturing and stream.priority == 0
    assert wp.Event("cuda:0", interprocess=True).ipc_handle()
    x2 = wp.zeros(4, device="cuda:0")
    del x, x2
    wp.synchronize()


def launches() -> None:
    x = wp.zeros((4, 6), device="cuda:0")
    wp.launch(scale, dim=24, inputs=[2.0, x.flatten()], device="cuda:0")
    recorded = wp.launch(scale, dim=24, inputs=[2.0, x.flatten()], device="cuda:0", record_cmd=True)
    recorded.launch()
    recorded.launch()
    recorded.set_param_at_index(0, 3.0)
    recorded.launch()
    recorded.launch(stream=wp.get_stream("cuda:0"))
    y = wp.ones(24, device="cuda:0", requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(scale, dim=24, inputs=[2.0, y], device="cuda:0")
    tape.backward(grads={y: wp.ones(24, device="cuda:0")})
    wp.timing_begin()
    recorded.launch()
    assert [one.name for one in wp.timing_end()] == ["forward kernel scale"] or driver.weft_fake_failed()
    assert wp.get_suggested_block_size(scale, "cuda:0") == (384, 8)
    with wp.ScopedCudaProfiler("cuda:0"):
        wp.synchronize_device("cuda:0")


def graphs() -> None:
    x, flag = wp.zeros(24, device="cuda:0"), wp.ones(1, dtype=int, device="cuda:0")
    with wp.ScopedDevice("cuda:0"):
        with wp.ScopedCapture() as capture:
            wp.launch(scale, dim=24, inputs=[2.0, x])
            y = wp.zeros(24)
            wp.copy(y, x)
            wp.capture_if(flag, on_true=lambda: x.fill_(1.0), on_false=lambda: x.fill_(2.0))
            wp.capture_while(flag, while_body=lambda: flag.zero_())
        wp.capture_launch(capture.graph)
        wp.capture_debug_dot_print(capture.graph, os.devnull)
        wp.synchronize()


def one_by_one() -> None:
    """Graphs whose pieces run one behind the other."""
    wp.config.parallel_graphs = False
    try:
        graphs()
    finally:
        wp.config.parallel_graphs = True


def settings() -> None:
    device = wp.get_device("cuda:0")
    wp.set_mempool_release_threshold(device, 1 << 20)
    assert wp.get_mempool_release_threshold(device) >= 0
    assert wp.get_mempool_used_mem_current(device) >= 0 and wp.get_mempool_used_mem_high(device) >= 0
    assert device.free_memory > 0 and device.context
    for on in (True, False):
        wp.set_peer_access_enabled("cuda:0", "cuda:1", on)
        wp.set_mempool_access_enabled("cuda:0", "cuda:1", on)
    device.make_current()
    wp.map_cuda_device("mine")
    wp.unmap_cuda_device("mine")


def algorithms() -> None:
    keys = wp.array(np.arange(16, dtype=np.int32)[::-1].copy(), device="cuda:0")
    numbers = wp.zeros(16, dtype=wp.int32, device="cuda:0")
    wp.utils.array_scan(keys, numbers)
    assert wp.utils.array_sum(wp.ones(16, device="cuda:0")) == 16.0
    assert wp.utils.array_inner(wp.ones(16, device="cuda:0"), wp.ones(16, device="cuda:0")) == 16.0


def files() -> None:
    x = wp.array(np.arange(24, dtype=np.float32), device="cuda:0")
    with wp.ScopedDevice("cuda:0"), tempfile.TemporaryDirectory() as folder:
        with wp.ScopedCapture(apic=True) as capture:
            y = wp.zeros(24)
            wp.copy(y, x)
            wp.launch(scale, dim=24, inputs=[2.0, y])
        wp.capture_save(capture.graph, f"{folder}/graph", inputs={"x": x})
        loaded = wp.capture_load(f"{folder}/graph")
        loaded.set_param("x", x)
        wp.capture_launch(loaded)
        loaded.get_param("x", y)
        assert (y.numpy() == x.numpy()).all()


PARTS: list[Callable[[], None]] = [arrays, streams, launches, graphs, one_by_one, settings, algorithms, files, trees, grids, volumes]


def quietly(part: Callable[[], object]) -> Exception | None:
    """Runs a part; a failed call of the driver may raise what programs can catch, and nothing else."""
    try:
        part()
    except (RuntimeError, MemoryError, ValueError) as error:
        call = driver.weft_fake_failed().decode()
        if not call:
            raise
        text = str(error)
        assert "CUDA" in text or "cu" in text or "memory" in text, (call, text)
        return error
    return None


def clean() -> None:
    """Nothing fails from here on, and nothing is left over."""
    driver.weft_fake_fail(0, 0, None)
    gc.collect()
    for device in ("cuda:0", "cuda:1"):
        assert not wp.get_device(device).is_capturing
    while wp.timing_end():
        pass
    wp.synchronize()


def every(code: int, names: list[str]) -> None:
    for part in [one for one in PARTS if one.__name__ in names]:
        part()
        part()
        clean()  # as before each of the runs below
        driver.weft_fake_fail(0, 0, None)
        part()
        gc.collect()
        count = driver.weft_fake_calls()
        before = driver.weft_fake_allocated()
        raised, heard, lost = 0, 0, []
        # Sorts take the fake driver a quarter of a second: of those calls a sample, in `make soak` all.
        step = 1 if os.environ.get("WEFT_SOAK") else {trees: 29, grids: 5, volumes: 23}.get(part, 1)
        count = len(range(1, count + 1, step))
        for nth in range(1, count * step + 1, step):
            driver.weft_fake_fail(nth, code, None)
            raised += quietly(part) is not None
            heard += bool(driver.weft_fake_failed())
            failed = driver.weft_fake_failed().decode()
            clean()
            part()
            clean()
            if driver.weft_fake_allocated() != before:
                lost.append(failed)
                before = driver.weft_fake_allocated()
        print(f"{part.__name__}: {count} calls, {heard} failed, {raised} raised; memory lost by {lost}")
        # Graphs that hold objects die late: some runs make a few calls less than the one that was counted.
        spare = 8 if part is grids else 0
        # Memory that runs out is given back and asked for once more, so not every failure reaches the program.
        enough = count // 2 if step == 1 else count // 3
        assert heard >= count - spare and raised > enough and not lost


def start() -> None:
    for nth in range(1, 52):
        child = os.fork()
        if child == 0:
            driver.weft_fake_fail(nth, 999, None)
            status = 1
            try:
                error = quietly(lambda: wp.zeros(3, device="cuda:1").numpy())
                failed = driver.weft_fake_failed().decode()
                assert not failed or error is not None or nth > 48, failed  # at last the array is given back
                if 18 < nth < 33:  # the second device is none; the first one is as always
                    assert failed.startswith("device_") and "cuda:1 can't be asked" in str(error), error
                    assert len(wp.zeros(3, device="cuda:0").numpy()) == 3
                assert (wp.ones(3, device="cpu").numpy() == 1.0).all()
                print(nth, failed, "-", error, flush=True)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0, nth


def compile_calls() -> None:
    wp.config.late_launches = False  # what the driver is asked at once is what is looked at
    x = wp.zeros(4, device="cuda:0")
    seen = set()
    for nth in range(1, 40):
        number = float(nth)

        @wp.kernel(module="unique")
        def fresh(x: wp.array(dtype=float)):
            x[wp.tid()] = number

        driver.weft_fake_fail(nth, 999, None)
        error = quietly(lambda: wp.launch(fresh, dim=4, inputs=[x], device="cuda:0"))
        failed = driver.weft_fake_failed().decode()
        seen.add(failed)
        assert (error is not None) == bool(failed) or failed in ("context_set", "launch", "link_destroy"), (failed, error)
        clean()
        wp.launch(fresh, dim=4, inputs=[x], device="cuda:0")
        if not failed:
            break
    print(sorted(seen))
    assert {"module_load", "module_function", "function_attribute"} <= seen
    by_driver = not wp._weft.cuda_ptx_compiler()[1]  # else nvPTXCompiler, which is linked in, makes machine code
    assert {"link_create", "link_add", "link_complete"} <= seen or not by_driver


def hang() -> None:
    """Ctrl-C ends a wait for a kernel that never ends."""
    wp.config.late_launches = False  # what the driver is asked at once is what is looked at
    x = wp.zeros(4, device="cuda:0")
    for wait in (wp.synchronize, x.numpy, lambda: wp.synchronize_stream("cuda:0")):
        driver.weft_fake_busy(1 << 30)
        alarm = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        alarm.start()
        start = time.monotonic()
        try:
            wait()
        except KeyboardInterrupt:
            print(f"interrupted after {time.monotonic() - start:.1f} s")
        else:
            raise AssertionError("the wait ended")
        driver.weft_fake_busy(0)
    assert (x.numpy() == 0.0).all()


def memory() -> None:
    """Memory that runs out is told with sizes, arrays of before are alive, and given back memory serves again."""
    x = wp.full(10, 3.0, device="cuda:0")
    driver.weft_fake_memory(driver.weft_fake_allocated() + 1000)
    try:
        wp.zeros(1000, device="cuda:0")
    except MemoryError as error:
        assert "4000 bytes on cuda:0" in str(error) and "are free" in str(error), error
    else:
        raise AssertionError("there was memory")
    assert (x.numpy() == 3.0).all()
    y = wp.zeros(200, device="cuda:0")
    del y
    assert len(wp.zeros(200, device="cuda:0").numpy()) == 200


def contexts() -> None:
    """A thread whose context is none, or another library's, launches all the same, and keeps its context."""
    x = wp.zeros(24, device="cuda:0")
    recorded = wp.launch(scale, dim=24, inputs=[2.0, x], device="cuda:0", record_cmd=True)
    recorded.launch()
    now, other = ctypes.c_void_p(), wp.get_device("cuda:1").context
    for context in (None, other):
        assert driver.cuCtxSetCurrent(ctypes.c_void_p(context)) == 0
        for run in (recorded.launch, lambda: wp.launch(scale, dim=24, inputs=[2.0, x], device="cuda:0")):
            # As a driver does that refuses the stream of another context.
            driver.weft_fake_fail(1, 400, b"launch")
            before = driver.weft_fake_count(b"launch")
            run()
            assert driver.weft_fake_failed() == b"launch" and driver.weft_fake_count(b"launch") == before + 1
            driver.weft_fake_fail(0, 0, None)
            assert driver.cuCtxGetCurrent(ctypes.byref(now)) == 0
            assert context is None or now.value == context, now
            # A launch that is refused again is an error.
            driver.weft_fake_break(b"launch", 400)
            try:
                run()
            except RuntimeError as error:
                assert "cuLaunchKernel failed" in str(error)
            else:
                raise AssertionError("the driver refused it")
            driver.weft_fake_break(b"launch", 0)
    driver.cuCtxSetCurrent(None)
    recorded.set_param_at_index(0, 3.0)
    recorded.set_dim(12)
    recorded.launch()
    recorded.launch()


def refused() -> None:
    """Arrays of another device are named with both places, whatever is launched."""
    for there, device in (("cpu", "cuda:0"), ("cuda:1", "cuda:0"), ("cuda:0", "cpu")):
        x = wp.zeros(24, device=there)
        recorded = wp.launch(
            scale, dim=24, inputs=[2.0, wp.zeros(24, device=device)], device=device, record_cmd=True
        )
        for run in (
            lambda: wp.launch(scale, dim=24, inputs=[2.0, x], device=device),
            lambda: wp.launch(scale, dim=24, inputs=[2.0, x], device=device, record_cmd=True),
            lambda: recorded.set_param_at_index(1, x),
        ):
            try:
                run()
            except RuntimeError as error:
                text = str(error)
                assert "'scale'" in text and "'x'" in text and there in text and device in text, text
            else:
                raise AssertionError(f"an array on {there} went to {device}")
        recorded.launch()
    try:
        wp.launch(scale, dim=24, inputs=[2.0, wp.zeros(24, device="cuda:0")], device="cuda:0", stream=wp.Stream("cuda:1"))
    except RuntimeError as error:
        assert "cuda:1" in str(error), error
    else:
        raise AssertionError("a stream of another device was taken")


def repeated() -> None:
    """A launch that is the last one again is settled once; whatever differs is seen."""
    wp.config.late_launches = False  # what the driver is asked at once is what is looked at
    driver.weft_fake_argument.restype = ctypes.c_double
    x, y = wp.zeros(24, device="cuda:0"), wp.zeros(24, device="cuda:0")

    def queued(**changes: object) -> tuple[int, int, int, float]:
        """Grid, block, address and factor of a launch."""
        how = {"dim": 24, "inputs": [2.0, x], "device": "cuda:0", **changes}
        before = driver.weft_fake_count(b"launch")
        wp.launch(scale, **how)
        assert driver.weft_fake_count(b"launch") == before + 1
        return tuple(driver.weft_fake_last(which) for which in range(3)) + (driver.weft_fake_argument(),)

    driver.weft_fake_last.restype = ctypes.c_ulong
    for _ in range(3):
        assert queued() == (1, 256, x.ptr, 2.0)
        assert queued() == (1, 256, x.ptr, 2.0)
        assert queued(inputs=[3.0, x]) == (1, 256, x.ptr, 3.0)
        assert queued(inputs=[3.0, y]) == (1, 256, y.ptr, 3.0)
        assert queued(block_dim=8)[1:] == (8, x.ptr, 2.0)
        assert queued(dim=10000, block_dim=8, max_blocks=2) == (2, 8, x.ptr, 2.0)
        assert queued(dim=10000, block_dim=8)[0] > 2
        assert queued(dim=(100, 100), block_dim=8)[1:] == (8, x.ptr, 2.0)
        z = wp.zeros(24, device="cuda:1")
        assert queued(inputs=[2.0, z], device="cuda:1") == (1, 256, z.ptr, 2.0)
        before = driver.weft_fake_count(b"launch")
        wp.launch(scale, dim=0, inputs=[2.0, x], device="cuda:0")
        wp.launch(scale, dim=0, inputs=[2.0, x], device="cuda:0")
        assert driver.weft_fake_count(b"launch") == before


@wp.kernel
def running(x: wp.array(dtype=float), total: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * wp.atomic_add(total, 0, x[i])


def order() -> None:
    """Where a gradient depends on the order of threads, one thread does the work of all, there and back; and says so."""
    wp.config.late_launches = False  # what the driver is asked at once is what is looked at
    said: list[str] = []
    wp.set_logger(type("Listener", (wp.Logger,), {"warning": lambda self, text, *how: said.append(text)})())
    x, total, out = (wp.ones(n, dtype=float, device="cuda", requires_grad=True) for n in (5000, 1, 5000))
    wp.launch(running, 5000, [x, total, out], device="cuda")
    assert driver.weft_fake_last(1) > 1
    with wp.Tape() as tape:
        wp.launch(running, 5000, [x, total, out], device="cuda")
    assert (driver.weft_fake_last(0), driver.weft_fake_last(1)) == (1, 1)
    before = driver.weft_fake_count(b"launch")
    tape.backward(grads={out: wp.ones(5000, dtype=float, device="cuda")})
    assert driver.weft_fake_count(b"launch") > before
    assert (driver.weft_fake_last(0), driver.weft_fake_last(1)) == (1, 1)
    assert len(said) == 1 and "'running'" in said[0] and "wp.atomic_add(total, 0, x[i])" in said[0], said


@wp.kernel
def cube(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] * x[i]


def checks() -> None:
    """Jacobians and checks run where their arrays lie, and what functions make lies there, too."""
    from warp import autograd

    def cubes(x: wp.array) -> wp.array:
        y = wp.zeros(3, requires_grad=True)
        wp.launch(cube, dim=3, inputs=[x, y])
        return y

    x = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu", requires_grad=True)
    y = wp.zeros(3, dtype=float, device="cpu", requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(cube, dim=3, inputs=[x], outputs=[y], device="cpu")
    for default in ("cuda:1", "cpu"):
        with wp.ScopedDevice(default):
            calls = driver.weft_fake_calls()
            slopes = autograd.jacobian(cube, dim=3, inputs=[x], outputs=[y])[0, 0]
            assert slopes.device.is_cpu and np.allclose(np.diag(slopes.numpy()), [3.0, 12.0, 27.0])
            differences = autograd.jacobian_fd(cube, dim=3, inputs=[x], outputs=[y])[0, 0]
            assert np.allclose(differences.numpy(), slopes.numpy(), 1e-2)
            assert autograd.gradcheck(cube, dim=3, inputs=[x], outputs=[y], show_summary=False)
            assert autograd.gradcheck(cubes, inputs=[x], show_summary=False)
            assert autograd.gradcheck_tape(tape, show_summary=False)
            assert driver.weft_fake_calls() == calls and str(wp.get_device()) == default


def messages() -> None:
    """Wrong arguments are told by name before the driver hears of them."""
    x, stream = wp.zeros(4, device="cuda:0"), wp.Stream("cuda:1")
    event, timed = wp.Event("cuda:0"), wp.Event("cuda:0", enable_timing=True)
    with wp.ScopedCapture("cuda:0") as capture:
        x.fill_(1.0)
    cases = [
        (lambda: wp.get_device("gpu"), ValueError, "names are 'cpu', 'cuda'"),
        (lambda: wp.get_device("cuda:5"), ValueError, "the last CUDA device here is cuda:1"),
        (lambda: wp.get_cuda_device("0"), TypeError, "has a number"),
        (lambda: wp.get_cuda_device(2), RuntimeError, "this machine has 2"),
        (lambda: wp.Stream("cuda:0", cuda_stream="a"), TypeError, "cuda_stream is a handle"),
        (lambda: wp.Stream("cuda:0", cuda_stream=-1), ValueError, "no handle"),
        (lambda: wp.Event("cuda:0", cuda_event=1.5), TypeError, "cuda_event is a handle"),
        (lambda: stream.wait_event(None), TypeError, "wp.Event"),
        (lambda: stream.record_event(3), TypeError, "wp.Event"),
        (lambda: stream.record_event(event), RuntimeError, "belongs to cuda:0, the stream to cuda:1"),
        (lambda: wp.record_event(3), TypeError, "wp.Event"),
        (lambda: wp.get_event_elapsed_time(event, timed), RuntimeError, "enable_timing=True"),
        (lambda: event.ipc_handle(), RuntimeError, "interprocess=True"),
        (lambda: wp.set_mempool_release_threshold("cuda:0", 1.5), ValueError, "neither a share"),
        (lambda: wp.set_mempool_release_threshold("cuda:0", float("nan")), ValueError, "0 bytes or more"),
        (lambda: wp.set_mempool_release_threshold("cuda:0", "a"), TypeError, "number of bytes"),
        (lambda: wp.set_mempool_release_threshold("cuda:0", -1), ValueError, "0 bytes or more"),
        (lambda: wp.capture_launch(capture.graph, stream=stream), RuntimeError, "belongs to cuda:1"),
    ]
    for run, kind, text in cases:
        try:
            run()
        except kind as error:
            assert text in str(error), (text, error)
        else:
            raise AssertionError(text)
    assert wp.Stream("cuda:0", cuda_stream=ctypes.c_void_p(None)).cuda_stream == 0
    with wp.ScopedCapture("cuda:0") as capture:
        try:
            wp.get_stream("cuda:0").is_complete
        except RuntimeError as error:
            assert "while a graph is captured" in str(error)
        else:
            raise AssertionError("the driver would break the capture")
        x.fill_(1.0)
    wp.capture_launch(capture.graph)


def old() -> None:
    """A driver of CUDA 12.0 has no conditions in graphs; the rest works."""
    assert not wp.is_conditional_graph_supported()
    flag = wp.ones(1, dtype=int, device="cuda:0")
    with wp.ScopedDevice("cuda:0"):
        try:
            with wp.ScopedCapture():
                wp.capture_if(flag, on_true=lambda: flag.zero_())
        except RuntimeError as error:
            assert "12.4" in str(error), error
        else:
            raise AssertionError("the driver is too old for this")
        with wp.ScopedCapture() as capture:
            flag.zero_()
        wp.capture_launch(capture.graph)
        wp.capture_if(flag, on_true=lambda: flag.zero_())
    launches()


RUNS: dict[str, Callable[[], None]] = {
    "every": lambda: every(int(sys.argv[2]), sys.argv[3:]),
    "start": start,
    "compile": compile_calls,
    "hang": hang,
    "memory": memory,
    "contexts": contexts,
    "refused": refused,
    "repeated": repeated,
    "order": order,
    "messages": messages,
    "checks": checks,
    "keep": keep,
    "keep_volume": keep_volume,
    "old": old,
}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        wp.config.kernel_cache_dir = folder  # machine code of the fake driver is none
        RUNS[sys.argv[1]]()
    print("done")
