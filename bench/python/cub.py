"""Sorts, prefix sums, sums and runs on a GPU against CUB's, compiled by nvcc here and now: time against time.

    python bench/python/cub.py [--json FILE] [--limit RATIO] [--sizes N …] [name …]

Both run on the same arrays, in the same stream, in turns, each captured into a graph of several calls, so that what is
measured is the device's work and not how the host hands it over; a figure is the median of several rounds. A ratio above 1
says that ours takes longer. Results are compared, too (of floats, sums up to rounding). With --limit the exit status says
whether a ratio is above it. CUB comes with CUDA's toolkit; nothing of ours needs it.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp
import warp._weft  # noqa: F401 - sorts of keys alone have no name in wp.utils

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = (1_000_000, 4_000_000, 10_000_000, 30_000_000, 100_000_000)


class Cub:
    """The functions of bench/cuda/cub_yardstick.cu."""

    def __init__(self, folder: str) -> None:
        nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
        if not nvcc:
            sys.exit("there is no nvcc")
        library = os.path.join(folder, "cub_yardstick.so")
        source = os.path.join(HERE, "..", "cuda", "cub_yardstick.cu")
        options = ["-O3", "-std=c++17", f"-arch=sm_{wp.get_device().arch}", "-shared", "-Xcompiler", "-fPIC"]
        subprocess.run([nvcc, *options, "-o", library, source], check=True)
        self.library = ctypes.CDLL(library)
        self.scratch: list[wp.array] = []

    def caller(self, name: str, arrays: list[wp.array | None], count: int) -> Callable[[], None]:
        function = getattr(self.library, f"cub_{name}")
        stream = ctypes.c_void_p(wp.get_stream().cuda_stream)
        pointers = [ctypes.c_void_p(a.ptr if a is not None else None) for a in arrays]
        size = ctypes.c_size_t(0)
        if function(None, ctypes.byref(size), *pointers, ctypes.c_int(count), stream):
            raise RuntimeError(f"cub_{name} does not say how much memory it needs")
        scratch = wp.empty(max(size.value, 1), dtype=wp.uint8)
        self.scratch.append(scratch)

        def call() -> None:
            if function(ctypes.c_void_p(scratch.ptr), ctypes.byref(size), *pointers, ctypes.c_int(count), stream):
                raise RuntimeError(f"cub_{name} failed")

        return call


def graph_of(call: Callable[[], None], times: int) -> Any:
    with wp.ScopedCapture() as capture:
        for _ in range(times):
            call()
    return capture.graph


def seconds(graph: Any, times: int) -> float:
    start, end = wp.Event(enable_timing=True), wp.Event(enable_timing=True)
    wp.record_event(start)
    wp.capture_launch(graph)
    wp.record_event(end)
    return wp.get_event_elapsed_time(start, end) * 1e-3 / times


def compare(
    ours: Callable[[], None], theirs: Callable[[], None], check: Callable[[], None], rounds: int = 7
) -> tuple[float, float]:
    """Seconds of each; `check` looks at what both left."""
    ours()
    theirs()
    check()
    start = wp.Event(enable_timing=True)
    end = wp.Event(enable_timing=True)
    wp.record_event(start)
    ours()
    wp.record_event(end)
    times = 2 if wp.get_event_elapsed_time(start, end) > 1 else 10
    graphs = graph_of(ours, times), graph_of(theirs, times)
    found: tuple[list[float], list[float]] = ([], [])
    for graph in graphs:
        seconds(graph, times)
    for _ in range(rounds):
        for graph, list_of in zip(graphs, found):
            list_of.append(seconds(graph, times))
    return statistics.median(found[0]), statistics.median(found[1])


def equal(a: wp.array, b: wp.array, count: int) -> None:
    if not np.array_equal(a[:count].numpy(), b[:count].numpy()):
        raise RuntimeError("the results differ")


def sort_case(cub: Cub, function: str, kind: Any, value: Any, count: int) -> tuple[float, float]:
    """Ours sorts in place. The copies that unsort the keys before each call are measured alone, and taken off."""
    random = np.random.default_rng(7)
    if kind is wp.float32:
        host = random.standard_normal(count).astype(np.float32)
    else:
        host = random.integers(0, 2**32 if kind is wp.uint32 else 2**64, count, np.uint64)
        host = host.astype(np.uint32) if kind is wp.uint32 else host
    source = wp.array(host, dtype=kind)
    keys, sorted_keys = wp.zeros(2 * count, dtype=kind), wp.zeros(count, dtype=kind)
    values = numbers = sorted_values = None
    if value is not None:
        numbers = wp.array(np.arange(count), dtype=value)
        values, sorted_values = wp.zeros(2 * count, dtype=value), wp.zeros(count, dtype=value)
    theirs = cub.caller(function, [source, numbers, sorted_keys, sorted_values], count)
    bits = 64 if kind is wp.uint64 else 32

    def unsort() -> None:
        wp.copy(keys, source, count=count)
        if values is not None:
            wp.copy(values, numbers, count=count)

    def ours() -> None:
        unsort()
        wp._weft.sort_array(keys, values, count, 0, bits, None, None, None)

    def check() -> None:
        equal(keys, sorted_keys, count)
        if values is not None:
            equal(values, sorted_values, count)

    both, other = compare(ours, theirs, check)
    alone, _ = compare(unsort, unsort, lambda: None)
    return both - alone, other


def scan_case(cub: Cub, function: str, kind: Any, count: int) -> tuple[float, float]:
    random = np.random.default_rng(7)
    numbers = random.integers(-5, 6, count).astype(np.int32)
    source = wp.array(numbers, dtype=kind)
    out, other_out = wp.zeros(count, dtype=kind), wp.zeros(count, dtype=kind)
    theirs = cub.caller(function, [source, other_out], count)
    return compare(lambda: wp.utils.array_scan(source, out), theirs, lambda: equal(out, other_out, count))


def sum_case(cub: Cub, function: str, count: int) -> tuple[float, float]:
    source = wp.array(np.random.default_rng(7).random(count, np.float32))
    out, other_out = wp.zeros(1), wp.zeros(1)
    theirs = cub.caller(function, [source, other_out], count)

    def check() -> None:
        if abs(out.numpy()[0] / other_out.numpy()[0] - 1) > 1e-5:
            raise RuntimeError(f"the results differ: {out.numpy()[0]} and {other_out.numpy()[0]}")

    return compare(lambda: wp.utils.array_sum(source, out=out), theirs, check)


def runs_case(cub: Cub, function: str, count: int) -> tuple[float, float]:
    source = wp.array(np.sort(np.random.default_rng(7).integers(0, max(count // 10, 1), count)).astype(np.int32))
    values, lengths, number = (wp.zeros(n, dtype=wp.int32) for n in (count, count, 1))
    others = [wp.zeros(n, dtype=wp.int32) for n in (count, count, 1)]
    theirs = cub.caller(function, [source, *others], count)

    def check() -> None:
        equal(number, others[2], 1)
        for mine, other in ((values, others[0]), (lengths, others[1])):
            equal(mine, other, int(number.numpy()[0]))

    return compare(lambda: wp.utils.runlength_encode(source, values, lengths, number), theirs, check)


CASES: dict[str, Callable[[Cub, int], tuple[float, float]]] = {
    "pairs uint32 uint32": lambda cub, n: sort_case(cub, "sort_uint32", wp.uint32, wp.uint32, n),
    "pairs float32 uint32": lambda cub, n: sort_case(cub, "sort_float32", wp.float32, wp.uint32, n),
    "pairs uint32 uint64": lambda cub, n: sort_case(cub, "sort_uint32_wide", wp.uint32, wp.uint64, n),
    "pairs uint64 uint32": lambda cub, n: sort_case(cub, "sort_uint64", wp.uint64, wp.uint32, n),
    "pairs uint64 uint64": lambda cub, n: sort_case(cub, "sort_uint64_wide", wp.uint64, wp.uint64, n),
    "keys uint32": lambda cub, n: sort_case(cub, "sort_uint32", wp.uint32, None, n),
    "keys uint64": lambda cub, n: sort_case(cub, "sort_uint64", wp.uint64, None, n),
    "scan int32": lambda cub, n: scan_case(cub, "scan_int32", wp.int32, n),
    "scan float32": lambda cub, n: scan_case(cub, "scan_float32", wp.float32, n),
    "sum float32": lambda cub, n: sum_case(cub, "sum_float32", n),
    "runs int32": lambda cub, n: runs_case(cub, "runs_int32", n),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--limit", type=float)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if not wp.is_cuda_available():
        sys.exit("there is no CUDA device")
    wp.set_device("cuda:0")
    found: dict[str, dict[int, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        cub = Cub(folder)
        print(f"{'':22}" + "".join(f"{n:>27,}" for n in options.sizes))
        print(f"{'':22}" + "".join(f"{'ours':>10}{'CUB':>10}{'ratio':>7}" for _ in options.sizes))
        for name, case in CASES.items():
            if options.names and name not in options.names:
                continue
            line = f"{name:22}"
            for count in options.sizes:
                own, other = case(cub, count)
                cub.scratch.clear()
                found.setdefault(name, {})[count] = own / other
                line += f"{own * 1e6:7.1f} us{other * 1e6:7.1f} us{own / other:7.2f}"
            print(line, flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"device": wp.get_device().name, **found}, file, indent=1)
    worst = max((ratio for case in found.values() for ratio in case.values()), default=0.0)
    return int(options.limit is not None and worst > options.limit)


if __name__ == "__main__":
    sys.exit(main())
