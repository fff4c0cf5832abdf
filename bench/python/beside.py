#!/usr/bin/env python3
"""Launches beside others: from several Python threads at once, and in turn with PyTorch's matrix products on the same cores.

    beside.py [--threads 1,2,4] [--seconds S] [--json FILE]

Ratios come first. `threads`: how many times one thread's launches a second several threads reach together, for launches that are
worth letting other Python threads run (50 and 200 µs of one core each), and for small ones, which are not, beside calls of a plain
Python function, which lose what Python's lock costs. `in turn`: the time of a
matrix product and a launch, one after the other, over the sum of what each takes alone; PyTorch's threads wait actively for a
while, and so take cores from whoever comes next. Left out, with a word, where PyTorch is not installed. `region`: the time of a region
of OpenMP whose threads all launch, as many as cores, over the same launches one after another outside of it; and of one in which one thread
launches while the others compute, over the longer of the two alone. Left out where there is no GNU OpenMP.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import threading
import time
import zlib
from typing import Callable

import warp as wp


@wp.kernel
def work(x: wp.array(dtype=float), turns: int):
    i = wp.tid()
    v = x[i]
    for _ in range(turns):
        v = v * 0.999 + 0.001
    x[i] = v


def launches(count: int, turns: int) -> Callable[[], None]:
    x = wp.ones(count, dtype=float, device="cpu")
    return lambda: wp.launch(work, dim=count, inputs=[x, turns], device="cpu")


def rate(calls: list[Callable[[], None]], seconds: float) -> float:
    """Launches a second of all threads together."""
    done = [0] * len(calls)
    begin, stop = threading.Barrier(len(calls) + 1), threading.Event()

    def repeat(k: int, call: Callable[[], None]) -> None:
        call()
        begin.wait()
        count = 0
        while not stop.is_set():
            for _ in range(10):
                call()
            count += 10
        done[k] = count

    workers = [threading.Thread(target=repeat, args=item) for item in enumerate(calls)]
    for worker in workers:
        worker.start()
    begin.wait()
    start = time.perf_counter()
    time.sleep(seconds)
    stop.set()
    for worker in workers:
        worker.join()
    return sum(done) / (time.perf_counter() - start)


def own_call() -> int:
    """As long as a small launch, without any of ours: what threads lose by Python's lock alone."""
    total = 0
    for number in range(12):
        total += number
    return total


def turns_of(microseconds: float) -> int:
    """Turns that 64 threads do in so long, on one core."""
    call, best = launches(64, 10000), 1e9
    for _ in range(20):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return int(10000 * microseconds * 1e-6 / best)


def python_threads(counts: list[int], seconds: float) -> dict[str, dict[int, float]]:
    kinds: dict[str, Callable[[], Callable[[], None]]] = {
        "50 µs": lambda turns=turns_of(50): launches(64, turns),
        "200 µs": lambda turns=turns_of(200): launches(64, turns),
        "small": lambda: launches(16, 1),
        "calls of Python's own": lambda: own_call,
    }
    out: dict[str, dict[int, float]] = {}
    for name, make in kinds.items():
        speeds = dict.fromkeys(counts, 0.0)
        for _ in range(3):
            for n in counts:
                speeds[n] = max(speeds[n], rate([make() for _ in range(n)], seconds))
        out[name] = speeds
    return out


def with_torch(seconds: float) -> dict[str, float] | None:
    try:
        import torch
    except ImportError:
        return None
    a, b = torch.rand(768, 768), torch.rand(768, 768)
    c = torch.empty(768, 768)
    calls = {"matmul": lambda: torch.mm(a, b, out=c), "launch": launches(1 << 20, 60)}
    out: dict[str, list[float]] = {"matmul": [], "launch": [], "both": [], "matmul in turn": [], "launch in turn": []}
    for call in calls.values():
        for _ in range(5):
            call()

    def spend(name: str, call: Callable[[], object]) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            call()
            out[name].append(time.perf_counter() - start)

    def in_turn() -> None:
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            out[f"{name} in turn"].append(time.perf_counter() - start)

    for _ in range(3):
        for name, call in calls.items():
            time.sleep(0.3)  # until nobody waits actively
            spend(name, call)
        time.sleep(0.3)
        spend("both", in_turn)
    # The lower quarter: other work on the machine adds to what a median would be.
    return {name: statistics.quantiles(times, n=4)[0] for name, times in out.items()}


def in_regions(cores: int) -> dict[str, float] | None:
    try:
        library = ctypes.CDLL("libgomp.so.1")
    except OSError:
        return None
    body_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    calls = [launches(1 << 16, 100) for _ in range(cores)]
    data = bytes(1 << 20)

    def compute() -> None:  # without Python's lock
        for _ in range(10):
            zlib.crc32(data)

    def best(work: Callable[[], object]) -> float:
        times = []
        for _ in range(15):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return min(times)

    def region(body: Callable[[int], None]) -> Callable[[], object]:
        entry = body_type(lambda _: body(library.omp_get_thread_num()))
        return lambda: library.GOMP_parallel(entry, None, cores, 0)

    def often(call: Callable[[], None]) -> None:
        for _ in range(5):
            call()

    for call in calls:
        often(call)
    return {
        "all in turn": best(lambda: [often(call) for call in calls]),
        "all in a region": best(region(lambda k: often(calls[k]))),
        "launches alone": best(lambda: often(calls[0])),
        "computing alone": best(region(lambda k: compute() if k else None)),
        "one launches": best(region(lambda k: compute() if k else often(calls[0]))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--json")
    options = parser.parse_args()
    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    wp.init()
    wp.set_device("cpu")  # also where there is a GPU
    cores = len(os.sched_getaffinity(0))
    counts = [n for n in (1, 2, 4, 8, 16, 32) if n <= max(cores, 2)]
    if options.threads:
        counts = [int(n) for n in options.threads.split(",")]
    found: dict[str, object] = {}
    print(f"{'ratio':>6}  " + "".join(f"{n:>11}" for n in counts) + "  Python threads, launches/s")
    for name, speeds in python_threads(counts, options.seconds).items():
        found[name] = speeds
        ratio = speeds[counts[-1]] / speeds[counts[0]]
        print(f"{ratio:6.2f}  " + "".join(f"{speeds[n]:11.0f}" for n in counts) + f"  {name}")
    turns = with_torch(options.seconds)
    if turns is None:
        print("PyTorch is not installed: nothing in turn with it")
    else:
        found["in turn"] = turns
        alone = turns["matmul"] + turns["launch"]
        print(
            f"{turns['both'] / alone:6.2f}  in turn {turns['both'] * 1e3:.2f} ms, of it {turns['matmul in turn'] * 1e3:.2f} (torch.mm) and"
            f" {turns['launch in turn'] * 1e3:.2f} (launch), alone {turns['matmul'] * 1e3:.2f} and {turns['launch'] * 1e3:.2f}"
        )
    regions = in_regions(cores)
    if regions is None:
        print("there is no libgomp.so.1: no regions of OpenMP")
    else:
        found["region"] = regions
        print(
            f"{regions['all in a region'] / regions['all in turn']:6.2f}  region of OpenMP, {cores} threads launch:"
            f" {regions['all in a region'] * 1e3:.2f} ms, one after another {regions['all in turn'] * 1e3:.2f}"
        )
        longer = max(regions["launches alone"], regions["computing alone"])
        print(
            f"{regions['one launches'] / longer:6.2f}  region of OpenMP, one of {cores} threads launches: {regions['one launches'] * 1e3:.2f} ms,"
            f" launches alone {regions['launches alone'] * 1e3:.2f}, the others' work alone {regions['computing alone'] * 1e3:.2f}"
        )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
