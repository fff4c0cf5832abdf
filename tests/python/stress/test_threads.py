"""Eight Python threads that create, launch and drop arrays and kernels at once, each checking its own results.

Five seconds by default; a minute with WEFT_STRESS=1 (`make stress`), or WEFT_STRESS_SECONDS of them.
"""

from __future__ import annotations

import gc
import os
import queue
import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import warp as wp
from measuring import FULL, resident_kib

SECONDS = float(os.environ.get("WEFT_STRESS_SECONDS", 60 if FULL else 5))
THREADS = 8


@wp.func
def square(x: float):
    return x * x


@wp.struct
class Job:
    scale: float
    values: wp.array(dtype=float)


@wp.kernel
def shared(x: wp.array(dtype=float), a: float):
    i = wp.tid()
    x[i] = square(x[i]) + a


@wp.kernel
def generic(x: wp.array(dtype=Any), v: Any):
    i = wp.tid()
    x[i] = x[i] + v


@wp.kernel
def with_struct(job: Job):
    i = wp.tid()
    job.values[i] = job.values[i] * job.scale


@wp.kernel
def sums(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    wp.atomic_add(total, 0, x[wp.tid()])


@wp.kernel
def grid(x: wp.array2d(dtype=wp.vec3)):
    i, j = wp.tid()
    x[i, j] = wp.vec3(float(i), float(j), 1.0)


def make(c: float):
    @wp.kernel
    def made(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] + c

    return made


def launch_shared(rng: random.Random) -> None:
    n = rng.choice((1, 7, 64, 5000, 200_000))
    x = wp.full(n, 3.0, dtype=float)
    wp.launch(shared, dim=n, inputs=[x, 0.5])
    assert (x.numpy() == 9.5).all()


def launch_numpy(rng: random.Random) -> None:
    x = np.full(rng.randrange(1, 3000), 2.0, dtype=np.float32)
    wp.launch(shared, dim=len(x), inputs=[x, 1.0], device="cpu")
    assert (x == 5.0).all()


def new_kernel(rng: random.Random) -> None:
    c = float(rng.randrange(40))
    x = wp.zeros(100, dtype=float)
    wp.launch(make(c), dim=100, inputs=[x])
    assert (x.numpy() == c).all()


def new_source(rng: random.Random) -> None:
    c = rng.randrange(20)
    text = f"@wp.kernel\ndef k(x: wp.array(dtype=int)):\n    x[wp.tid()] = {c} + f(wp.tid())\n"
    kernel = wp.context.kernel_from_text(text, "k", {"wp": wp, "f": FUNCTIONS[c % len(FUNCTIONS)]})
    x = wp.zeros(10, dtype=int)
    wp.launch(kernel, dim=10, inputs=[x])
    assert x.list() == [c + k + c % len(FUNCTIONS) for k in range(10)]


def make_function(c: int):
    @wp.func
    def f(i: int):
        return i + c

    return f


FUNCTIONS = [make_function(c) for c in range(5)]


def generic_types(rng: random.Random) -> None:
    values = (wp.float32(1.5), wp.float64(2.5), wp.int32(3), wp.uint8(4), wp.vec3(1.0))
    value = rng.choice(values)
    dtype = type(value)
    x = wp.zeros(33, dtype=dtype)
    wp.launch(generic, dim=33, inputs=[x, value])
    assert (x.numpy().reshape(-1) == float(getattr(value, "value", 1.0))).all()


def structs(rng: random.Random) -> None:
    job = Job()
    job.scale = float(rng.randrange(1, 5))
    job.values = wp.ones(rng.randrange(1, 100), dtype=float)
    wp.launch(with_struct, dim=len(job.values), inputs=[job])
    assert (job.values.numpy() == job.scale).all()


def atomics(rng: random.Random) -> None:
    n = rng.choice((10, 10_000))
    total = wp.zeros(1, dtype=float)
    wp.launch(sums, dim=n, inputs=[wp.ones(n, dtype=float), total])
    assert total[0] == n


def recorded(rng: random.Random) -> None:
    x, y = wp.zeros(16, dtype=float), wp.zeros(16, dtype=float)
    command = wp.launch(shared, dim=16, inputs=[x, 1.0], record_cmd=True)
    command.launch()
    command.set_param_at_index(0, y)
    command.set_param_by_name("a", 2.0)
    command.launch()
    assert (x.numpy() == 1.0).all() and (y.numpy() == 2.0).all()


def views(rng: random.Random) -> None:
    a = wp.zeros((rng.randrange(2, 20), 30), dtype=wp.vec3)
    wp.launch(grid, dim=a.shape, inputs=[a])
    view = a[1:, 3:9]
    seen = view.numpy()
    del a
    assert seen[0, 2].tolist() == [1.0, 5.0, 1.0]
    assert wp.clone(view).numpy().tolist() == seen.tolist()


def wrong(rng: random.Random) -> None:
    with pytest.raises(RuntimeError):
        wp.launch(shared, dim=1, inputs=[wp.zeros(1, dtype=int), 1.0])

    @wp.kernel
    def broken(x: wp.array(dtype=float)):
        x[0] = not_defined_anywhere

    with pytest.raises(KeyError):
        wp.launch(broken, dim=1, inputs=[wp.zeros(1, dtype=float)])


def builtins(rng: random.Random) -> None:
    v = wp.normalize(wp.vec3(3.0, 0.0, 4.0))
    assert abs(wp.length(v) - 1.0) < 1e-6 and wp.max(rng.randrange(5), 9) == 9


def collect(rng: random.Random) -> None:
    if rng.randrange(20) == 0:
        gc.collect()


class Team:
    """Threads whose exceptions are the test's."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.failures: list[str] = []

    def add(self, work: Callable[..., object], *args: object) -> None:
        def run() -> None:
            try:
                work(*args)
            except BaseException as error:  # noqa: BLE001 - told to the main thread
                self.failures.append(f"{work.__name__}: {type(error).__name__}: {error}")

        self.threads.append(threading.Thread(target=run, daemon=True))

    def start(self) -> None:
        for t in self.threads:
            t.start()

    def finish(self, seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        for t in self.threads:
            t.join(max(0.0, end - time.monotonic()))
        assert not any(t.is_alive() for t in self.threads), "threads hang"
        assert not self.failures, self.failures[0]


JOBS = [launch_shared, launch_numpy, new_kernel, new_source, generic_types, structs, atomics, recorded, views, wrong,
        builtins, collect]  # fmt: skip


@pytest.fixture(autouse=True)
def frequent_switches():
    """Threads change places a hundred times as often as usual, so that races have more chances."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(before)


def test_eight_threads():
    team = Team()
    counts = [0] * THREADS
    end = time.monotonic() + SECONDS
    start = threading.Barrier(THREADS)

    def work(number: int) -> None:
        rng = random.Random(number)
        start.wait()
        while time.monotonic() < end and not team.failures:
            rng.choice(JOBS)(rng)
            counts[number] += 1

    for k in range(THREADS):
        team.add(work, k)
    team.start()
    time.sleep(SECONDS / 2)
    half = resident_kib()
    team.finish(SECONDS + 120)
    assert min(counts) > 0 and sum(counts) > 100
    if FULL:
        assert resident_kib() - half < 20 * 1024


def test_one_kernel_compiled_by_all_at_once():
    """The first launch of a kernel from many threads: one compile or several, always the right result."""
    for round_number in range(20 if FULL else 5):
        kernel = make(round_number + 0.25)
        arrays = [wp.zeros(10, dtype=float) for _ in range(THREADS)]
        start = threading.Barrier(THREADS)

        def first(x, kernel=kernel, start=start):
            start.wait()
            wp.launch(kernel, dim=10, inputs=[x])

        team = Team()
        for x in arrays:
            team.add(first, x)
        team.start()
        team.finish()
        assert all((x.numpy() == round_number + 0.25).all() for x in arrays)


def test_settings_change_while_others_launch():
    """config.mode, cpu_threads and loaded modules change under running launches; results stay right."""
    end = time.monotonic() + min(SECONDS, 10) / 4

    def launches() -> None:
        while time.monotonic() < end:
            x = wp.ones(1000, dtype=float)
            wp.launch(shared, dim=1000, inputs=[x, 1.0])
            assert (x.numpy() == 2.0).all()

    team = Team()
    for _ in range(THREADS):
        team.add(launches)
    team.start()
    try:
        rng = random.Random(0)
        while time.monotonic() < end:
            wp.config.mode = rng.choice(("debug", "release"))
            wp.config.cpu_threads = rng.choice((0, 1, 2))
            wp.config.verify_fp = rng.random() < 0.5
            if rng.random() < 0.1:
                shared.module.unload()
            time.sleep(0.001)
    finally:
        wp.config.mode, wp.config.cpu_threads, wp.config.verify_fp = "release", 0, False
        team.finish()


def test_arrays_change_hands():
    """Arrays made in one thread are used and dropped in others."""
    box: queue.Queue = queue.Queue(maxsize=50)
    end = time.monotonic() + min(SECONDS, 20) / 4

    def produce() -> None:
        while time.monotonic() < end:
            box.put(wp.full(1000, 2.0, dtype=float), timeout=60)
        box.put(None, timeout=60)

    def consume() -> None:
        while (a := box.get(timeout=60)) is not None:
            wp.launch(shared, dim=1000, inputs=[a, 1.0])
            values = a.numpy()
            del a
            assert (values == 5.0).all()

    team = Team()
    for _ in range(THREADS // 2):
        team.add(produce)
        team.add(consume)
    team.start()
    team.finish()
