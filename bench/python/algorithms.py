#!/usr/bin/env python3
"""wp.utils on the CPU against NumPy and PyPI's warp-lang, measured in the same run.

    algorithms.py [--peer PYTHON] [--count N] [--rounds N] [--json FILE]
    algorithms.py measure COUNT      one installation: prints a JSON object of seconds

This interpreter must import Weft's `warp`, PEER's warp-lang. The two are measured in turns; of all repetitions the fastest
counts, since other work on the machine only ever adds. The last column is how much memory a call must at least read and
write in that time, against what a copy of a large array moves: a sort of pairs reads and writes them at least once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any, Callable

import numpy as np
import others

GOALS = {"scan int32": 2, "scan float32": 2, "sort int32": 2, "sort float32": 2, "sort int64": 2}


def best(call: Callable[[], Any], prepare: Callable[[], Any] | None = None, seconds: float = 1.0) -> float:
    """Seconds of the fastest call, of at least three unless they take very long."""
    times: list[float] = []
    begun = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - begun < seconds and len(times) < 1000):
        if times and time.perf_counter() - begun > 10 * seconds:
            break
        if prepare is not None:
            prepare()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def inputs(count: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    return {
        "int32": random.integers(-(2**31), 2**31, count).astype(np.int32),
        "int64": random.integers(-(2**63), 2**63 - 1, count),
        "float32": random.standard_normal(count).astype(np.float32),
        "cells": random.integers(0, 1 << 12, count).astype(np.int32),
        "runs": np.sort(random.integers(0, max(count // 10, 1), count)).astype(np.int32),
    }


def measure(count: int) -> dict[str, float]:
    """Seconds of each call by the `warp` that this interpreter has."""
    import warp as wp

    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    wp.init()
    given, out = inputs(count), {}
    for kind in ("int32", "float32"):
        source = wp.array(given[kind], dtype=getattr(wp, kind), device="cpu")
        target = wp.zeros_like(source)
        out[f"scan {kind}"] = best(lambda: wp.utils.array_scan(source, target))
    floats = wp.array(given["float32"], dtype=wp.float32, device="cpu")
    out["sum float32"] = best(lambda: wp.utils.array_sum(floats))
    out["inner float32"] = best(lambda: wp.utils.array_inner(floats, floats))
    for name, kind in (("int32", "int32"), ("float32", "float32"), ("int64", "int64"), ("cells", "int32")):
        source = wp.array(np.tile(given[name], 2), dtype=getattr(wp, kind), device="cpu")
        keys, values = wp.zeros_like(source), wp.zeros(2 * count, dtype=wp.int32, device="cpu")
        out[f"sort {name}"] = best(
            lambda: wp.utils.radix_sort_pairs(keys, values, count), lambda: wp.copy(keys, source, count=count)
        )
    edges = wp.array(np.arange(0, count + 1, 100, dtype=np.int32), device="cpu")
    segments = edges.size - 1
    source = wp.array(np.tile(given["int32"], 2), dtype=wp.int32, device="cpu")
    keys, values = wp.zeros_like(source), wp.zeros(2 * count, dtype=wp.int32, device="cpu")
    out["sort segments of 100"] = best(
        lambda: wp.utils.segmented_sort_pairs(keys, values, 100 * segments, edges),
        lambda: wp.copy(keys, source, count=count),
    )
    values = wp.array(given["runs"], device="cpu")
    run_values, run_lengths = wp.zeros_like(values), wp.zeros_like(values)
    out["run lengths"] = best(lambda: wp.utils.runlength_encode(values, run_values, run_lengths))
    return out


def numpy_times(count: int) -> dict[str, float]:
    given, out = inputs(count), {}
    for kind in ("int32", "float32"):
        out[f"scan {kind}"] = best(lambda: np.cumsum(given[kind], dtype=given[kind].dtype))
    out["sum float32"] = best(lambda: given["float32"].sum())
    out["inner float32"] = best(lambda: np.dot(given["float32"], given["float32"]))
    numbers = np.arange(count, dtype=np.int32)

    def sort(keys: np.ndarray) -> None:
        order = np.argsort(keys, kind="stable")
        keys[order], numbers[order]

    for name in ("int32", "float32", "int64", "cells"):
        out[f"sort {name}"] = best(lambda: sort(given[name]))
    copied = np.empty_like(given["int64"])
    out["copy"] = best(lambda: np.copyto(copied, given["int64"])) / 2  # of as many bytes as `count` int32
    return out


def moved_bytes(name: str, count: int) -> int:
    """What a call must at least read and write."""
    if name.startswith("scan"):
        return 8 * count
    if name.startswith("sort"):
        return 2 * count * (4 + (8 if "int64" in name else 4))
    return 4 * count


def fastest(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: min(r[name] for r in rounds) for name in rounds[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="an interpreter that has PyPI's warp-lang")
    parser.add_argument("--count", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", help="a file that takes all figures")
    options = parser.parse_args()
    ours, peers, plain = [], [], []
    guard, command = others.Peers(), (os.path.abspath(__file__), "measure", str(options.count))
    for _ in range(options.rounds):
        ours.append(others.run(sys.executable, *command))
        plain.append(numpy_times(options.count))
        if options.peer:
            found = guard.take("warp-lang", lambda: others.run(options.peer, *command, is_peer=True))
            peers += [found] if found else []
    mine, numpy = fastest(ours), fastest(plain)
    peer = fastest(peers) if peers else {}
    copy = 8 * options.count / numpy["copy"]
    print(f"{options.count} elements, {len(os.sched_getaffinity(0))} processors; a copy moves {copy / 1e9:.1f} GB/s")
    print(f"{'':22}{'Weft':>10}{'NumPy':>10}{'ratio':>7}{'warp-lang':>11}{'ratio':>7}{'goal':>6}{'GB/s':>7}")
    for name, seconds in mine.items():
        line = f"{name:22}{seconds * 1e3:8.2f} ms"
        for other, width in ((numpy.get(name), 7), (peer.get(name), 8)):
            line += f"{other * 1e3:{width}.1f} ms{other / seconds:7.2f}" if other else f"{'':{width + 10}}"
        goal = GOALS.get(name)
        line += f"{goal if goal else '':>6}{moved_bytes(name, options.count) / seconds / 1e9:7.1f}"
        print(line)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            figures = {"weft": mine, "numpy": numpy, "warp-lang": peer, "failed": guard.failed}
            json.dump({**figures, "goals": GOALS, "count": options.count}, file, indent=1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measure(int(sys.argv[2]))))
    else:
        main()
