"""Python threads that use the same arrays, structs, recorded launches and graphs at once. What they compute is their affair;
the process has to live. Without Python's lock (free-threaded interpreters) any two of these run side by side.

Three seconds by default; a minute with WEFT_STRESS=1 (`make stress`), or WEFT_STRESS_SECONDS of them.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time

import numpy as np
import pytest
import warp as wp
from measuring import FULL

SECONDS = float(os.environ.get("WEFT_STRESS_SECONDS", 60 if FULL else 3))
THREADS, SIZE = 6, 64


@wp.struct
class Pair:
    values: wp.array(dtype=float)
    factor: float


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def scale(pair: Pair):
    i = wp.tid()
    pair.values[i] = pair.values[i] * pair.factor


def fresh(requires_grad: bool = True) -> wp.array:
    return wp.array(np.ones(SIZE, np.float32), device="cpu", requires_grad=requires_grad)


class Shared:
    """What all threads have in their hands."""

    def __init__(self) -> None:
        self.arrays = [fresh() for _ in range(4)]
        self.inputs = [self.arrays[0], self.arrays[1]]
        self.pair = Pair()
        self.pair.values, self.pair.factor = fresh(), 1.0
        self.recorded = self.record()
        with wp.ScopedCapture(device="cpu") as capture:
            self.launch()
        self.graph = capture.graph

    def pick(self) -> wp.array:
        return random.choice(self.arrays)

    def record(self) -> wp.Launch:
        return wp.launch(square, SIZE, [self.pick()], [self.pick()], device="cpu", record_cmd=True)

    # What threads do, in any order.

    def launch(self) -> None:
        wp.launch(square, SIZE, [self.pick()], [self.pick()], device="cpu")

    def launch_struct(self) -> None:
        wp.launch(scale, SIZE, [self.pair], device="cpu")

    def launch_list(self) -> None:
        self.inputs[random.randrange(2)] = self.pick()
        wp.launch(square, SIZE, self.inputs, device="cpu")

    def run_recorded(self) -> None:
        self.recorded.set_param_at_index(random.randrange(2), self.pick())
        self.recorded.launch()

    def record_anew(self) -> None:
        self.recorded = self.record()

    def run_graph(self) -> None:
        wp.capture_launch(self.graph)

    def capture_anew(self) -> None:
        with wp.ScopedCapture(device="cpu") as capture:
            self.launch()
        self.graph = capture.graph

    def change_struct(self) -> None:
        self.pair.values = self.pick() if random.random() < 0.5 else fresh(False)
        self.pair.factor = random.random()

    def replace_array(self) -> None:
        self.arrays[random.randrange(4)] = fresh()

    def replace_gradient(self) -> None:
        self.pick().grad = fresh(False)

    def look(self) -> None:
        one = self.pick()
        assert one.shape == (SIZE,) and one[3:9].numpy().shape == (6,) and one.reshape((8, 8)).grad is not one
        np.from_dlpack(one.numpy())

    def change(self) -> None:
        one = self.pick()
        one.fill_(1.0)
        wp.copy(one, self.pick())

    def configure(self) -> None:
        wp.config.cpu_threads = random.choice((0, 1))


# With the lock threads seldom meet in three seconds: a minute, or none.
@pytest.mark.skipif(getattr(sys, "_is_gil_enabled", lambda: True)() and not FULL, reason="with the global lock only in full")
def test_threads_share_all_they_have():
    shared = Shared()
    deeds = [
        shared.launch, shared.launch_struct, shared.launch_list, shared.run_recorded, shared.record_anew, shared.run_graph,
        shared.capture_anew, shared.change_struct, shared.replace_array, shared.replace_gradient,
        shared.look, shared.change, shared.configure,
    ]  # fmt: skip
    done, failures = [0] * THREADS, []
    end = time.monotonic() + SECONDS

    def work(number: int) -> None:  # some threads have all to do, others a few things
        mine = deeds if number < 2 else random.sample(deeds, 4)
        while time.monotonic() < end and not failures:
            deed = random.choice(mine)
            try:
                deed()
            except Exception as error:
                failures.append((deed.__name__, error))
            done[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    try:
        for one in threads:
            one.start()
        for one in threads:
            one.join(SECONDS + 120)
            assert not one.is_alive()
    finally:
        wp.config.cpu_threads = 0
    assert not failures, failures
    assert min(done) > 0
