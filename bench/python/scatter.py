#!/usr/bin/env python3
"""Scattered additions by the number of threads: places in order and in random order, arrays smaller and larger than a cache,
forwards and backwards; and threads that append to a list, all of them or a tenth.

    scatter.py [--quick] [--points N] [--threads 1,2,4] [--only TEXT] [--seconds S] [--json FILE]
    scatter.py measure           one number of threads (WEFT_NUM_THREADS): reads cases, one a line, answers with items a second

Each number of threads has a process of its own; they take turns case by case, and sleep while others measure. Of all repetitions the
fastest counts, since other work on the machine only ever adds. A row is printed as soon as it is known. Ratios come first: how
many times one thread's speed the most threads reach; then millions of items a second by threads, with a mark where fewer threads were
faster by more than a tenth. Each item is one addition, or two of a spring. `--quick`: arrays a quarter as large, one turn.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Callable

import numpy as np
import warp as wp
from springs import spring_forces


@wp.kernel
def add_numbers(at: wp.array(dtype=int), value: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, at[i], value[i])


@wp.kernel
def add_vectors(at: wp.array(dtype=int), value: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    wp.atomic_add(out, at[i], value[i])


@wp.kernel
def gather(at: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    v = x[at[i]]
    out[i] = v * v


@wp.kernel
def append(x: wp.array(dtype=float), most: float, count: wp.array(dtype=int), out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    v = x[i]
    if v < most:
        n = wp.atomic_add(count, 0, 1)
        if n < out.shape[0]:
            out[n] = wp.vec2(v, float(i))


KINDS = ("numbers", "vec3", "springs", "springs backwards", "gather backwards")
SIZES, ORDERS = ("small", "large"), ("in order", "random")
APPENDS = (("appends", "a tenth", "random"), ("appends", "all", "in order"))
WARM_CALLS = 16  # a launch compiles, and the next ones find out which way of adding suits
WARM_SECONDS = {True: 1.0, False: 15.0}  # one thread has no choice


def places(points: int, count: int, ordered: bool) -> np.ndarray:
    """Where threads add: near their own place as in a mesh that is in order, or anywhere."""
    random = np.random.default_rng(3)
    if not ordered:
        return random.integers(0, points, count, dtype=np.int32)
    near = np.arange(count, dtype=np.int64) * points // count + random.integers(-8, 9, count)
    return np.clip(near, 0, points - 1).astype(np.int32)


def call_of(kind: str, points: int, count: int, ordered: bool) -> Callable[[], None]:
    """A launch of `count` items over `points` places."""
    if kind == "appends":
        values = np.random.default_rng(7).random(count, dtype=np.float32)
        number, most = wp.zeros(1, dtype=int), 1.0 if ordered else 0.1
        inputs = [wp.array(values, dtype=float), most, number, wp.zeros(count, dtype=wp.vec2)]

        def call() -> None:
            number.zero_()
            wp.launch(append, dim=count, inputs=inputs)

        return call
    at = places(points, count, ordered)
    if kind == "numbers":
        inputs = [wp.array(at, dtype=int), wp.ones(count, dtype=float), wp.zeros(points, dtype=float)]
        return lambda: wp.launch(add_numbers, dim=count, inputs=inputs)
    if kind == "vec3":
        inputs = [wp.array(at, dtype=int), wp.ones(count, dtype=wp.vec3), wp.zeros(points, dtype=wp.vec3)]
        return lambda: wp.launch(add_vectors, dim=count, inputs=inputs)
    if kind == "gather backwards":
        reads = wp.zeros(points, dtype=float, requires_grad=True)
        results = wp.zeros(count, dtype=float, requires_grad=True)
        reads.fill_(1.0)
        results.grad.fill_(1.0)
        kernel, inputs = gather, [wp.array(at, dtype=int), reads, results]
    else:
        ends = wp.array(np.stack([at, np.roll(at, -1)], axis=1), dtype=wp.vec2i)
        x = np.random.default_rng(5).random((points, 3), dtype=np.float32)
        force = wp.zeros(points, dtype=wp.vec3, requires_grad=True)
        force.grad.fill_(1.0)
        kernel = spring_forces
        inputs = [wp.array(x, dtype=wp.vec3, requires_grad=True), ends, wp.ones(count, dtype=float), 1.0, force]
        if kind == "springs":
            return lambda: wp.launch(kernel, dim=count, inputs=inputs)
    nothing = [None] * len(inputs)
    return lambda: wp.launch(kernel, dim=count, inputs=inputs, adjoint=True, adj_inputs=nothing, adj_outputs=[])


def measure() -> None:
    """Answers cases with items a second, with the threads that this process has."""
    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    wp.init()
    wp.set_device("cpu")  # also where there is a GPU
    for line in sys.stdin:
        kind, size, order, points, seconds = json.loads(line)
        count = 3 * points
        call = call_of(kind, min(points, 1 << 14) if size == "small" else points, count, order == "in order")
        begun = time.perf_counter()
        for _ in range(WARM_CALLS):
            call()
            if time.perf_counter() - begun > WARM_SECONDS[os.environ.get("WEFT_NUM_THREADS") == "1"]:
                break
        best, begun = 1e9, time.perf_counter()
        while best == 1e9 or time.perf_counter() - begun < seconds:
            start = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - start)
        print(json.dumps(count / best), flush=True)


class Process:
    """One number of threads."""

    def __init__(self, threads: int) -> None:
        self.child = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "measure"],
            env={**os.environ, "WEFT_NUM_THREADS": str(threads)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def speed(self, case: tuple, points: int, seconds: float) -> float:
        self.child.stdin.write(json.dumps([*case, points, seconds]) + "\n")
        self.child.stdin.flush()
        answer = self.child.stdout.readline()
        if not answer:
            raise RuntimeError(f"a process that measures ended with {self.child.wait()}")
        return json.loads(answer)

    def end(self) -> None:
        self.child.stdin.close()
        self.child.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["measure"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--points", type=int)
    parser.add_argument("--threads")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, help="of measuring, for each case and number of threads")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.what:
        measure()
        return
    points = options.points or (1 << 20 if options.quick else 1 << 22)
    seconds = options.seconds or (0.1 if options.quick else 0.4)
    cores = len(os.sched_getaffinity(0))
    threads = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= cores]
    if options.quick:
        threads = sorted({1, max(cores // 4, 2), cores})
    if options.threads:
        threads = [int(n) for n in options.threads.split(",")]
    processes = {n: Process(n) for n in threads}
    found: dict[str, dict[int, float]] = {}
    print(f"{'ratio':>6}  " + "".join(f"{n:>10}" for n in threads) + "  threads, M items/s", flush=True)
    additions = [(kind, size, order) for size in SIZES for order in ORDERS for kind in KINDS]
    for case in (*additions, *APPENDS):
        name = ", ".join(case)
        if options.only not in name:
            continue
        speeds: dict[int, float] = {}
        for _ in range(1 if options.quick else 2):
            for n in threads:
                speeds[n] = max(speeds.get(n, 0.0), processes[n].speed(case, points, seconds))
        found[name] = speeds
        row, most = "", 0.0
        for speed in speeds.values():
            row += f"{speed / 1e6:9.1f}" + ("<" if speed < 0.9 * most else " ")
            most = max(most, speed)
        print(f"{speeds[threads[-1]] / speeds[threads[0]]:6.2f}  {row} {name}", flush=True)
    for process in processes.values():
        process.end()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
