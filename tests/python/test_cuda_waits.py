"""No hidden waits: what queues work on a GPU, hands arrays over, or drops what the work uses returns while the device is busy.

A case is a generator: what comes before its `yield` is done in peace, what comes after it behind a kernel that takes long,
and so is the dropping of its variables. What a case needs of the driver once (loading code) is done by running it first.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import warp as wp

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="there is no CUDA device"),
    pytest.mark.skipif(
        wp.is_cuda_available() and "Fake" in wp.get_device("cuda:0").name,
        reason="the fake driver is done with a launch before it returns",
    ),
]

N = 10000


@wp.kernel
def spin(x: wp.array(dtype=float), n: int):
    v = x[0]
    for _ in range(n):
        v = v * 1.0000001 + 0.5
    x[0] = v


@wp.kernel
def add(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * 2.0 + y[i]


@wp.kernel
def count_down(n: wp.array(dtype=int)):
    n[0] = n[0] - 1


@pytest.fixture(autouse=True)
def on_cuda() -> Iterator[None]:
    with wp.ScopedDevice("cuda:0"):
        yield
    wp.synchronize()


@pytest.fixture(scope="module")
def turns_of_a_millisecond() -> float:
    with wp.ScopedDevice("cuda:0"):
        x = wp.zeros(1)
        start, end = wp.Event(enable_timing=True), wp.Event(enable_timing=True)
        for turns in (1, 200000):
            wp.record_event(start)
            wp.launch(spin, 1, [x, turns])
            wp.record_event(end)
        return 200000 / wp.get_event_elapsed_time(start, end)


def launches() -> Iterator[None]:
    x, y = wp.ones(N), wp.zeros(N)
    yield
    wp.launch(add, N, [x, y])
    wp.launch(add, N, [x, y], record_cmd=True).launch()


def arrays() -> Iterator[None]:
    x = wp.ones(N)
    yield
    y = wp.clone(x)
    y.fill_(2.0)
    y[::3].fill_(3.0)
    wp.copy(y[1::2], x[::2])
    wp.zeros(N, dtype=wp.vec3).fill_(wp.vec3(1.0, 2.0, 3.0))
    wp.full(100, 5, dtype=wp.int64)
    wp.array(np.arange(10.0), dtype=float)
    wp.empty((7, 9))[2:, ::2].zero_()


def page_locked_memory() -> Iterator[None]:
    x, locked = wp.ones(N), wp.zeros(N, device="cpu", pinned=True)
    yield
    wp.copy(locked, x)
    wp.copy(x, locked)


def gradients() -> Iterator[None]:
    x, y, one = wp.ones(N, requires_grad=True), wp.zeros(N, requires_grad=True), wp.ones(N)
    yield
    with wp.Tape() as tape:
        wp.launch(add, N, [x, y])
    tape.backward(grads={y: one})


def algorithms() -> Iterator[None]:
    x, sums, keys, values = wp.ones(N), wp.zeros(N), wp.zeros(2 * N, dtype=int), wp.zeros(2 * N, dtype=int)
    total = wp.zeros(1)
    yield
    wp.utils.array_scan(x, sums)
    wp.utils.array_sum(x, out=total)
    wp.utils.radix_sort_pairs(keys, values, N)


def streams_and_events() -> Iterator[None]:
    x, y = wp.ones(N), wp.zeros(N)
    yield
    other = wp.Stream()
    other.wait_event(wp.record_event())
    with wp.ScopedStream(other):
        wp.launch(add, N, [x, y])
        wp.clone(x)
    wp.launch(add, N, [x, y], stream=other)
    wp.wait_stream(other)
    wp.get_stream().is_complete  # noqa: B018 - asks, and does not wait


def memory_of_captures_behind_other_streams() -> Iterator[None]:
    x, other = wp.ones(N), wp.Stream()
    yield
    with wp.ScopedStream(other):
        y = wp.clone(x)
    del y  # is given back behind the work of both streams
    with wp.ScopedCapture() as capture:
        z = wp.zeros(N)
        wp.launch(add, N, [x, z])
    wp.capture_launch(capture.graph)


def graphs() -> Iterator[None]:
    x, n = wp.ones(N), wp.array([3], dtype=int)
    yield
    with wp.ScopedCapture() as capture:
        y = wp.zeros(N)
        wp.launch(add, N, [x, y])
        wp.capture_while(n, lambda: wp.launch(count_down, 1, [n]))
    wp.capture_launch(capture.graph)
    del capture, y, x  # the graph runs on


def kernels_that_are_dropped() -> Iterator[None]:
    @wp.kernel
    def short_lived(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] + 1.0

    x = wp.zeros(N)
    wp.launch(short_lived, N, [x])
    wp.synchronize()
    yield
    wp.launch(short_lived, N, [x])
    wp.get_module(__name__).kernels.pop(short_lived.key, None)
    del short_lived
    gc.collect()
    wp.zeros(N)


def views_by_interface() -> Iterator[None]:
    class Seen:
        def __init__(self, one: wp.array) -> None:
            self.one = one
            self.__cuda_array_interface__ = one.__cuda_array_interface__

    x, y = wp.ones(N), wp.zeros(N)
    yield
    wp.launch(add, N, [Seen(x), Seen(y)])
    wp.array(Seen(x), copy=False)
    wp.array(Seen(x))
    x.__dlpack__(stream=1)


def tensors_of_torch() -> Iterator[None]:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU")
    x, t, side = wp.ones(N), torch.ones(N, device="cuda"), torch.cuda.Stream()
    yield
    wp.launch(add, N, [t, x])
    seen = wp.array(t, copy=False)
    torch.as_tensor(x, device="cuda").add_(1.0)
    torch.from_dlpack(x).add_(1.0)
    with torch.cuda.stream(side), wp.ScopedStream(wp.stream_from_torch(side)):
        wp.launch(add, N, [seen, x])
    with wp.ScopedCapture() as capture:
        wp.launch(add, N, [t, x])
    wp.capture_launch(capture.graph)


def arrays_of_cupy() -> Iterator[None]:
    cupy = pytest.importorskip("cupy")
    x, c = wp.ones(N), cupy.ones(N, cupy.float32)
    yield
    wp.launch(add, N, [c, x])
    wp.array(c, copy=False)
    cupy.from_dlpack(x)[:] += 1.0  # cupy.asarray waits: CuPy does so with every stream that an interface names


CASES = [launches, arrays, page_locked_memory, gradients, algorithms, streams_and_events, graphs]
CASES += [memory_of_captures_behind_other_streams, kernels_that_are_dropped, views_by_interface]
CASES += [tensors_of_torch, arrays_of_cupy]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_host_goes_on(case: Callable[[], Iterator[None]], turns_of_a_millisecond: float) -> None:
    for _ in range(2):
        list(case())
        wp.synchronize()
    gc.collect()
    x = wp.zeros(1)
    for milliseconds in (50, 200, 1000):  # a busy host may be slow; one that waits takes as long as any kernel
        steps = case()
        next(steps)
        wp.synchronize()
        wp.launch(spin, 1, [x, int(milliseconds * turns_of_a_millisecond)])
        behind = wp.record_event()
        list(steps)
        del steps
        if not behind.is_complete:
            return
    pytest.fail(f"{case.__name__} waits for the device")
