#!/usr/bin/env python3
"""Scattered additions by the number of threads: places in order and in random order, arrays smaller and larger than a cache,
forwards and backwards.

    scatter.py [--points N] [--threads 1,2,4] [--only TEXT] [--rounds N] [--json FILE]
    scatter.py measure --points N       one number of threads (WEFT_NUM_THREADS): prints a JSON object of items a second

Each number of threads has processes of its own, which take turns; of all repetitions the fastest counts, since other work on
the machine only ever adds. Ratios come first: how many times one thread's speed the most threads reach; then millions of items a
second by threads. Each item is one addition, or two of a spring.
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


def places(points: int, count: int, ordered: bool) -> np.ndarray:
    """Where threads add: near their own place as in a mesh that is in order, or anywhere."""
    random = np.random.default_rng(3)
    if not ordered:
        return random.integers(0, points, count).astype(np.int32)
    near = np.arange(count, dtype=np.int64) * points // count + random.integers(-8, 9, count)
    return np.clip(near, 0, points - 1).astype(np.int32)


def cases(points: int) -> dict[str, tuple[int, Callable[[], None]]]:
    """Name → items and a call that does them all."""
    out: dict[str, tuple[int, Callable[[], None]]] = {}
    for label, size in (("small", min(points, 1 << 14)), ("large", points)):
        for ordered in (True, False):
            order = "in order" if ordered else "random"
            count = 3 * points
            at = wp.array(places(size, count, ordered), dtype=int)
            value, vectors = wp.ones(count, dtype=float), wp.ones(count, dtype=wp.vec3)
            sums, vector_sums = wp.zeros(size, dtype=float), wp.zeros(size, dtype=wp.vec3)
            ends_at = np.stack([places(size, count, ordered), np.roll(places(size, count, ordered), -1)], axis=1)
            ends = wp.array(ends_at, dtype=wp.vec2i)
            x = wp.array(np.random.default_rng(5).random((size, 3), dtype=np.float32), dtype=wp.vec3, requires_grad=True)
            rest = wp.ones(count, dtype=float)
            force = wp.zeros(size, dtype=wp.vec3, requires_grad=True)
            reads = wp.zeros(size, dtype=float, requires_grad=True)
            results = wp.zeros(count, dtype=float, requires_grad=True)
            reads.fill_(1.0)
            results.grad.fill_(1.0)
            force.grad.fill_(1.0)
            springs = [x, ends, rest, 1.0, force]

            def run(kernel, inputs, count=count, adjoint=False):
                if not adjoint:
                    return lambda: wp.launch(kernel, dim=count, inputs=inputs)
                return lambda: wp.launch(
                    kernel,
                    dim=count,
                    inputs=inputs,
                    adjoint=True,
                    adj_inputs=[None] * len(inputs),
                    adj_outputs=[],
                )

            out[f"numbers, {label}, {order}"] = (count, run(add_numbers, [at, value, sums]))
            out[f"vec3, {label}, {order}"] = (count, run(add_vectors, [at, vectors, vector_sums]))
            out[f"springs, {label}, {order}"] = (count, run(spring_forces, springs))
            out[f"springs backwards, {label}, {order}"] = (count, run(spring_forces, springs, adjoint=True))
            out[f"gather backwards, {label}, {order}"] = (count, run(gather, [at, reads, results], adjoint=True))
    return out


def measure(points: int, only: str) -> dict[str, float]:
    """Items a second of each case, with the threads that this process has."""
    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    wp.init()
    wp.set_device("cpu")  # also where there is a GPU
    out = {}
    for name, (count, call) in cases(points).items():
        if only not in name:
            continue
        for _ in range(12):  # compiles, and finds out what suits
            call()
        best, begun = 1e9, time.perf_counter()
        while time.perf_counter() - begun < 0.4:
            start = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - start)
        out[name] = count / best
    return out


def run(points: int, only: str, threads: int) -> dict[str, float]:
    command = [sys.executable, os.path.abspath(__file__), "measure", "--points", str(points), "--only", only]
    environment = {**os.environ, "WEFT_NUM_THREADS": str(threads)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["measure"])
    parser.add_argument("--points", type=int, default=1 << 22)
    parser.add_argument("--threads")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.what:
        print(json.dumps(measure(options.points, options.only)))
        return
    cores = len(os.sched_getaffinity(0))
    threads = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= cores]
    if options.threads:
        threads = [int(n) for n in options.threads.split(",")]
    best: dict[str, dict[int, float]] = {}
    for _ in range(options.rounds):
        for n in threads:
            for name, speed in run(options.points, options.only, n).items():
                speeds = best.setdefault(name, {})
                speeds[n] = max(speeds.get(n, 0.0), speed)
    print(f"{'ratio':>6}  " + "".join(f"{n:>9}" for n in threads) + "  threads, M items/s")
    for name, speeds in best.items():
        ratio = speeds[threads[-1]] / speeds[threads[0]]
        print(f"{ratio:6.2f}  " + "".join(f"{speeds[n] / 1e6:9.1f}" for n in threads) + f"  {name}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(best, file, indent=1)


if __name__ == "__main__":
    main()
