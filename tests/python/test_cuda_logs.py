"""What taped launches write down on a GPU: how much room there is for it, and graphs."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import warp as wp

pytestmark = pytest.mark.skipif(not wp.is_cuda_available(), reason="there is no CUDA device")


@wp.kernel
def sine_of_itself(x: wp.array(dtype=wp.float64)):
    i = wp.tid()
    x[i] = wp.sin(x[i]) + x[i]


@wp.kernel
def sines_of_itself(x: wp.array(dtype=wp.float64), n: int):
    i = wp.tid()
    for _ in range(n):
        x[i] = x[i] + wp.float64(0.1) * wp.sin(x[i])


def test_a_recording_and_its_backward_pass_in_one_graph() -> None:
    """A log of fixed size needs no look at the device; how much loops wrote down can't be read while capturing."""
    start = np.linspace(0.1, 1.0, 5)
    x = wp.array(start, dtype=wp.float64, requires_grad=True, device="cuda")
    tape = wp.Tape()
    with wp.ScopedDevice("cuda"):
        for kernel, more in ((sine_of_itself, []), (sines_of_itself, [3])):
            with tape:
                wp.launch(kernel, 5, [x, *more])
            tape.reset()
        with wp.ScopedCapture() as capture:
            with tape:
                wp.launch(sine_of_itself, 5, [x])
            tape.backward()
        for _ in range(2):
            x.assign(start)
            x.grad.fill_(1.0)
            wp.capture_launch(capture.graph)
            np.testing.assert_allclose(x.grad.numpy(), np.cos(start) + 1.0)
        tape.reset()
        with pytest.raises(RuntimeError, match="'sines_of_itself' must know how much.*before wp.capture_begin"):
            with wp.ScopedCapture():
                with tape:
                    wp.launch(sines_of_itself, 5, [x, 3])
                tape.backward()
        tape.reset()
        x.assign(start)
        with tape:
            wp.launch(sines_of_itself, 5, [x, 3])
        with wp.ScopedCapture() as capture:
            tape.backward()
        tape.reset()
        for _ in range(2):
            x.grad.fill_(1.0)
            wp.capture_launch(capture.graph)
            np.testing.assert_allclose(x.grad.numpy(), _sines(start, 3)[1], rtol=1e-14)


def _sines(start: np.ndarray, n: int, step: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """What sines_of_itself makes of numbers, and the slopes of that."""
    x, slope = start, np.ones(len(start))
    for _ in range(n):
        x, slope = x + step * np.sin(x), slope * (1.0 + step * np.cos(x))
    return x, slope


def test_logs_of_loops_grow_by_themselves() -> None:
    """A launch whose loops write down more than there is room for is run again: nobody sees it."""
    start = np.linspace(0.1, 1.0, 128)
    trips = 40000  # 40 MB, where a guess has 16
    values, slopes = _sines(start, trips, 1e-5)

    @wp.kernel
    def sines(x: wp.array(dtype=wp.float64), n: wp.array(dtype=int), runs: wp.array(dtype=int)):
        i = wp.tid()
        for _ in range(n[0]):
            x[i] = x[i] + wp.float64(1e-5) * wp.sin(x[i])
        wp.atomic_add(runs, 0, 1)

    for stream in (None, wp.Stream("cuda")):
        x = wp.array(start, dtype=wp.float64, requires_grad=True, device="cuda")
        n, runs = wp.array([trips], dtype=int, device="cuda"), wp.zeros(1, dtype=int, device="cuda")
        wp.synchronize()
        with wp.Tape() as tape:
            wp.launch(sines, 128, [x, n, runs], device="cuda", stream=stream)
        np.testing.assert_allclose(x.numpy(), values, rtol=1e-10)
        assert runs.numpy()[0] == 128  # as if it had run once
        assert 128 * trips * 8 <= tape.log_bytes <= 1.1 * 128 * trips * 8
        x.grad.fill_(1.0)
        tape.backward()
        np.testing.assert_allclose(x.grad.numpy(), slopes, rtol=1e-9)
        sines.forget()  # what it wanted is forgotten, too


def test_backward_passes_run_on_the_current_stream() -> None:
    """The stream of a launch may be gone when a tape goes back over it."""
    start = np.linspace(0.1, 1.0, 1000)
    with wp.ScopedDevice("cuda"):
        for kernel, more in ((sine_of_itself, []), (sines_of_itself, [3])):
            x = wp.array(start, dtype=wp.float64, requires_grad=True)
            stream = wp.Stream()
            stream.wait_stream(wp.get_stream())
            with wp.Tape() as tape:
                wp.launch(kernel, 1000, [x, *more], stream=stream)
            wp.get_stream().wait_stream(stream)
            del stream
            gc.collect()
            x.grad.fill_(1.0)
            tape.backward()
            wanted = _sines(start, 3)[1] if more else 1.0 + np.cos(start)
            np.testing.assert_allclose(x.grad.numpy(), wanted, rtol=1e-12)


def test_logs_are_no_larger_than_what_was_written() -> None:
    x = wp.array(np.linspace(0.1, 1.0, 1000), dtype=wp.float64, requires_grad=True, device="cuda")
    with wp.Tape() as tape, wp.ScopedDevice("cuda"):
        for _ in range(20):
            wp.launch(sines_of_itself, 1000, [x, 3])
    assert tape.log_bytes < 20 * 1000 * 600
    x.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(x.grad.numpy(), _sines(np.linspace(0.1, 1.0, 1000), 60)[1], rtol=1e-12)


def test_a_captured_log_that_was_too_small_is_an_error() -> None:
    """A launch in a graph can't be run again by itself; backward says so after every run that needs it."""

    @wp.kernel
    def sines(x: wp.array(dtype=wp.float64)):
        i = wp.tid()
        for _ in range(int(x[i])):
            x[i] = x[i] + wp.float64(1e-5) * wp.sin(x[i])

    part = np.linspace(0.1, 0.9, 128)
    x = wp.array(10 + part, dtype=wp.float64, requires_grad=True, device="cuda")
    with wp.ScopedDevice("cuda"):
        with wp.Tape():
            wp.launch(sines, 128, [x])
        tape = wp.Tape()
        with wp.ScopedCapture() as capture:
            with tape:
                wp.launch(sines, 128, [x])
        for trips, fits in ((10, True), (40000, False), (9, True)):
            x.assign(trips + part)
            wp.capture_launch(capture.graph)
            x.grad.fill_(1.0)
            if fits:
                tape.backward()
                np.testing.assert_allclose(x.grad.numpy(), _sines(trips + part, trips, 1e-5)[1], rtol=1e-10)
            else:
                with pytest.raises(RuntimeError, match="'sines'.*record it again"):
                    tape.backward()
