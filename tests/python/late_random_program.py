"""Random programs on the fake driver, whose code takes a random time to be made: prints what they found.

    late_random_program.py SEED THREADS

With THREADS > 0 launches wait in a queue, and so many threads make their code; with 0 they wait for it themselves. Whoever compares
must find the same output.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import random
import sys

import numpy as np
import warp as wp
from warp import _weft

SIZE, ARRAYS, STEPS = 48, 5, 150
seed, threads = int(sys.argv[1]), int(sys.argv[2])
chance = random.Random(seed)
wp.config.quiet = True
driver = ctypes.CDLL("libcuda.so.1")
driver.weft_fake_slow(25 if threads else 0)
_weft.set_late_launches(threads > 0, 1, threads)


def make(number: int) -> wp.Kernel:
    """A kernel that no cache knows; every third one sums by a tile, every fourth one adds by atomic operations."""
    weight = float(number % 17) * 0.25

    if number % 3 == 2:

        @wp.kernel(module="unique")
        def tiled(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            i = wp.tid()
            t = wp.tile_load(x, shape=4, offset=(i % 3) * 4)
            wp.tile_store(y, t * weight + wp.tile_ones(shape=4, dtype=float), offset=(i % 3) * 4)

        return tiled
    if number % 4 == 3:

        @wp.kernel(module="unique")
        def gathered(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            wp.atomic_add(y, 0, wp.floor(x[wp.tid()]) + weight)

        return gathered

    @wp.kernel(module="unique")
    def mixed(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = wp.floor(y[i] * 0.5 + x[i] * weight) % 1000.0

    return mixed


@wp.kernel
def neighbours(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[x.shape[0] - 1 - i] + 1.0


@wp.kernel
def through_address(x: wp.uint64, y: wp.array(dtype=float)):
    i = wp.tid()
    inside = wp.array(ptr=x, shape=(4,), dtype=float)
    y[i % 4] = inside[i % 4] + 1.0


@wp.kernel
def squared(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] * 0.125


class Program:
    def __init__(self) -> None:
        self.arrays = [wp.array(np.arange(SIZE, dtype=np.float32) + k) for k in range(ARRAYS)]
        self.kernels = [make(chance.randrange(1000)) for _ in range(16)]
        self.recorded = [
            wp.launch(k, SIZE, [self.arrays[0], self.arrays[1]], record_cmd=True) for k in (neighbours, squared)
        ]
        self.events: list[wp.Event] = []
        self.out = hashlib.sha256()
        self.log: list[str] = []

    def pick(self) -> wp.array:
        return self.arrays[chance.randrange(ARRAYS)]

    def pair(self) -> tuple[wp.array, wp.array]:
        return tuple(chance.sample(self.arrays, 2))

    def launch(self) -> None:
        kernel = self.kernels[chance.randrange(len(self.kernels))]
        x, y = self.pair()
        if kernel.key.startswith("tiled"):
            wp.launch_tiled(kernel, dim=3, inputs=[x], outputs=[y], block_dim=32)
        elif chance.random() < 0.3:
            wp.launch(kernel, dim=SIZE // 2, inputs=[x[SIZE // 2 :]], outputs=[y[: SIZE // 2]])
        else:
            wp.launch(kernel, dim=SIZE, inputs=[x], outputs=[y])

    def fill(self) -> None:
        self.pick().fill_(float(chance.randrange(9)))

    def copy(self) -> None:
        x, y = self.pair()
        wp.copy(x, y)

    def shift(self) -> None:
        x = self.pick()
        wp.copy(x[: SIZE - 8], x[8:])

    def new(self) -> None:
        k = chance.randrange(ARRAYS)
        self.arrays[k] = wp.clone(self.arrays[k]) if chance.random() < 0.5 else wp.full(SIZE, 3.0, dtype=float)

    def from_host(self) -> None:
        values = np.full(SIZE, float(chance.randrange(50)), dtype=np.float32)
        self.pick().assign(values)
        values[:] = -1.0

    def read(self) -> None:
        self.out.update(self.pick().numpy().tobytes())

    def event(self) -> None:
        self.events.append(wp.record_event(wp.Event(enable_timing=True)))
        if chance.random() < 0.5:
            wp.synchronize_event(self.events[-1])

    def stream(self) -> None:
        with wp.ScopedStream(wp.Stream(), sync_enter=True, sync_exit=True):
            self.launch()
            self.fill()

    def other_stream(self) -> None:
        stream, (x, y) = wp.Stream(), self.pair()
        wp.get_stream().record_event()
        stream.wait_stream(wp.get_stream())
        wp.launch(neighbours, SIZE, [x], [y], stream=stream)
        wp.get_stream().wait_stream(stream)

    def graph(self) -> None:
        with wp.ScopedCapture(force_module_load=False) as capture:
            self.launch()
        wp.capture_launch(capture.graph)

    def again(self) -> None:
        command, (x, y) = chance.choice(self.recorded), self.pair()
        command.set_params([x, y])
        command.launch()

    def address(self) -> None:
        x, y = self.pair()
        wp.launch(through_address, 4, [wp.uint64(x.ptr), y])

    def tape(self) -> None:
        x = wp.array(np.arange(SIZE, dtype=np.float32), requires_grad=True)
        y = wp.zeros(SIZE, dtype=float, requires_grad=True)
        tape = wp.Tape()
        with tape:
            wp.launch(squared, SIZE, [x], [y])
        y.grad.fill_(1.0)
        tape.backward()
        wp.copy(self.pick(), x.grad)

    def timing(self) -> None:
        wp.timing_begin(cuda_filter=wp.TIMING_ALL)
        self.launch()
        self.log.append(str(sorted(r.name for r in wp.timing_end())))

    def load(self) -> None:
        wp.load_module(device=wp.get_device())

    def ask(self) -> None:
        wp.synchronize_device() if chance.random() < 0.3 else wp.get_stream().is_complete
        gc.collect()

    def sort(self) -> None:
        x = wp.zeros(16, dtype=int)
        keys = wp.array(np.arange(16, dtype=np.int32)[::-1].copy())
        wp.utils.array_scan(keys[:8], x[:8], inclusive=True)
        self.out.update(x.numpy().tobytes())

    def run(self) -> None:
        usual = [self.launch] * 24 + [self.fill, self.copy, self.new] * 3
        rare = [self.shift, self.from_host, self.read, self.event, self.stream, self.other_stream, self.again]
        rare += [self.address, self.tape, self.timing, self.load, self.ask, self.sort]
        if "graphs" in sys.argv:
            rare.append(self.graph)
        for _ in range(STEPS):
            chance.choice(usual + rare)()
        for array in self.arrays:
            self.out.update(array.numpy().tobytes())


with wp.ScopedDevice("cuda:0"):
    program = Program()
    program.run()
print(program.out.hexdigest(), *program.log)
print("late" if _weft.count_late_launches() else "now", file=sys.stderr)
