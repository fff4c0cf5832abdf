#!/usr/bin/env python3
"""The Python package against its goals and against PyPI's warp-lang, measured in the same run.

    compare.py [--peer PYTHON] [--numba PYTHON] [--hand LIBRARY] [--quick] [--json FILE]

Runs measure.py with this interpreter, which must import Weft's `warp`, and with PEER's, which has warp-lang; prints one
table with ratios. The two are measured in turns. Black-Scholes is compared with NUMBA's Numba, too. The memory's limit comes from the hand-written loops (LIBRARY, built by bench/CMakeLists.txt), NumPy
and, where it is installed, Numba.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
import tempfile
import time

import numpy as np
import others

SAXPY = 2**24
FRESH = 7  # processes per figure that needs a fresh one
FRESH_FIFTY = 3  # the same where warp-lang takes a quarter of a minute each
OPTIONS_GOALS = (("warp-lang", 5), ("Numba", 3))  # times their speed
MEASURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "measure.py")

ROWS = (  # key, what, goal in seconds
    ("launch", "wp.launch of an empty kernel, two arrays and a float", 0.7e-6),
    ("recorded", "recorded launch", 0.2e-6),
    ("zeros", "wp.zeros(16)", 0.8e-6),
    ("array", "wp.array(numpy16)", 2e-6),
    ("numpy_launch", "wp.launch with two NumPy arrays", 2e-6),
    ("first_cold", "first launch, trivial kernel, cold cache", 25e-3),
    ("first_warm", "first launch, trivial kernel, warm cache, fresh process", None),
    ("fifty_cold", "first launches of 50 kernels, cold cache", 0.5),
    ("fifty_warm", "first launches of 50 kernels, warm cache, fresh process", 8e-3),
    ("import", "import warp; wp.init() after NumPy", 30e-3),
    ("begin", "import warp and a first launch after NumPy, warm cache", 30e-3),
)


class Package:
    """The least figures of one installation."""

    def __init__(self, python: str, is_peer: bool) -> None:
        self.python, self.is_peer = python, is_peer
        self.found: dict[str, float] = {}

    def run(self, *args: str) -> dict[str, float]:
        return others.run(self.python, MEASURE, *args, is_peer=self.is_peer)

    def note(self, key: str, seconds: float) -> None:
        self.found[key] = min(seconds, self.found.get(key, seconds))

    def everything(self) -> None:
        self.found.update(self.run("all"))
        self.found["options"] = self.run("options")["options"]

    def imported(self) -> None:
        self.note("import", self.run("import")["import"])

    def first(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.note("first_cold", self.run("first", folder)["first"])
            self.note("first_warm", self.run("first", folder)["first"])
            self.note("begin", self.run("begin", folder)["begin"])

    def fifty(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.note("fifty_cold", self.run("fifty", folder)["fifty"])
            for _ in range(FRESH_FIFTY):
                self.note("fifty_warm", self.run("fifty", folder)["fifty"])

    def take(self, fresh: int, fresh_fifty: int) -> list:
        """What there is to do, one after the other."""
        return [self.everything, *[self.imported] * fresh, *[self.first] * fresh, *[self.fifty] * fresh_fifty]


def measure(peer: str | None, quick: bool, guard: others.Peers) -> tuple[dict[str, float], dict[str, float]]:
    """Ours and the peer's, in turns; nothing of a peer that fails."""
    counts = (2, 1) if quick else (FRESH, FRESH_FIFTY)
    ours, theirs = Package(sys.executable, False), Package(peer or "", True)
    for own, other in zip(ours.take(*counts), theirs.take(*counts)):
        own()
        if peer:
            guard.take("warp-lang", other)
    return ours.found, {} if "warp-lang" in guard.failed else theirs.found


def fastest(call, rounds: int = 15) -> float:
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def other_saxpys(hand: str | None) -> dict[str, float]:
    """Seconds of the same saxpy by other means."""
    x = np.random.default_rng(0).random(SAXPY, dtype=np.float32)
    y, scratch = np.zeros(SAXPY, dtype=np.float32), np.empty(SAXPY, dtype=np.float32)
    out = {}

    def numpy_saxpy():
        np.multiply(x, np.float32(2.0), out=scratch)
        np.add(y, scratch, out=y)

    out["NumPy (two passes)"] = fastest(numpy_saxpy)
    try:
        import numba
    except ImportError:
        pass
    else:

        @numba.njit(parallel=True, fastmath=False)
        def numba_saxpy(a, x, y):
            for i in numba.prange(x.shape[0]):
                y[i] = a * x[i] + y[i]

        numba_saxpy(np.float32(2.0), x, y)
        out["Numba (parallel)"] = fastest(lambda: numba_saxpy(np.float32(2.0), x, y))
    if hand and os.path.exists(hand):
        library = ctypes.CDLL(hand)
        library.hand_compiler.restype = ctypes.c_char_p
        library.hand_saxpy.argtypes = (ctypes.c_int64, ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
        threads = len(os.sched_getaffinity(0))
        name = f"by hand ({library.hand_compiler().decode().split()[0]}, OpenMP)"
        out[name] = fastest(lambda: library.hand_saxpy(SAXPY, 2.0, x.ctypes.data, y.ctypes.data, threads))
    return out


def show(seconds: float) -> str:
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if seconds * factor < 999.5:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def table(title: str, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    print(f"\n{title}")
    cells = [header, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for number, row in enumerate(cells):
        print("  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))))
        if number == 0:
            print("  " + "  ".join("-" * w for w in widths))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", help="an interpreter with PyPI's warp-lang")
    parser.add_argument("--numba", help="an interpreter with Numba")
    parser.add_argument("--hand", help="libweft_bench_hand.so")
    parser.add_argument("--quick", action="store_true", help="fewer fresh processes")
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()

    load = os.getloadavg()[0]
    guard = others.Peers()
    weft, peer = measure(options.peer, options.quick, guard)
    saxpys = other_saxpys(options.hand)

    name = f"warp-lang {peer['version']}" if peer else "peer"
    rows = []
    for key, what, goal in ROWS:
        ratio = f"{peer[key] / weft[key]:.1f}x" if peer else "-"
        met = "" if goal is None else "met" if weft[key] <= goal else "MISSED"
        limit = f"<= {show(goal)}" if goal else "-"
        rows.append((what, show(peer[key]) if peer else "-", show(weft[key]), ratio, limit, met))
    versions = f"Python {sys.version.split()[0]}, NumPy {np.__version__}"
    print(f"\n{versions}, {os.cpu_count()} cores, load {load:.1f} at the start")
    table("The Python package (fastest of many repetitions)", ("what", name, "weft", "ratio", "goal", ""), rows)

    bytes_moved = 3 * 4 * SAXPY
    found = {"weft": weft["saxpy"], **({name: peer["saxpy"]} if peer else {}), **saxpys}
    fastest_other = min(saxpys.values())
    table(
        "saxpy over 2^24 floats (GB/s counts one read of x, one of y and one write)",
        ("by", "time", "GB/s", "of the best other"),
        [(who, show(s), f"{bytes_moved / s / 1e9:.1f}", f"{fastest_other / s:.2f}") for who, s in found.items()],
    )
    speeds = {"weft": weft["options"]}
    if peer:
        speeds[name] = peer["options"]
    if options.numba:
        numba = guard.take("Numba", lambda: others.run(options.numba, MEASURE, "numba", is_peer=True))
        if numba:
            speeds[f"Numba {numba['version']} (parallel)"] = numba["options"]
    rows = []
    for who, speed in speeds.items():
        goal = next((g for prefix, g in OPTIONS_GOALS if who.startswith(prefix)), None)
        ratio = speeds["weft"] / speed
        met = "" if goal is None else "met" if ratio >= goal else "MISSED"
        rows.append((who, f"{speed / 1e6:.0f}", f"{ratio:.1f}x", f">= {goal}x" if goal else "-", met))
    table("Black-Scholes over 4 M options, all cores", ("by", "M options/s", "weft is", "goal", ""), rows)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            figures = {"weft": weft, "peer": peer, "saxpy": found, "options": speeds, "load": load, "failed": guard.failed}
            json.dump(figures, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
