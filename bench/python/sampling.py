"""What the benchmarks of volumes and textures share: rates of launches, turns with the peer, and how rates grow with cores.

Each of them is a program that measures one installation of `warp` with --measure, and compares two of them without. With
--cores Weft alone runs, every launch with one thread and with all cores in turns: the ratio is that of their best times, and the
goal 0.85 of as many times as there are cores. Launches must be long enough to be cut for all cores: fewer than some hundred
thousand --samples run on one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

GOAL = 3.0  # times the peer's, on a core; on a GPU 1
CORES_GOAL = 0.85


def options_of(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer")
    parser.add_argument("--samples", type=int, default=1 << 20)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--cores", action="store_true", help="one thread and all cores in turns, without the peer")
    parser.add_argument("--measure", action="store_true")
    return parser.parse_args()


def rates(calls: dict[str, Callable[[], None]], order: str, options: argparse.Namespace) -> dict[str, float]:
    """Millions of samples a second for each call, by the best of its times; with --cores a figure for each number of threads."""
    import warp as wp

    clock = time.process_time if options.processor_time else time.perf_counter
    threads = (1, os.cpu_count() or 1) if options.cores else (0,)
    figures = {}
    for name, call in calls.items():
        best = dict.fromkeys(threads, float("inf"))
        for _ in range(40 if options.cores else 6):
            for number in threads:
                if options.cores:
                    wp.config.cpu_threads = number
                start = clock()
                call()
                wp.synchronize_device(options.device)
                best[number] = min(best[number], clock() - start)
        for number, seconds in best.items():
            figures[f"{name} {order}" + (f" x{number}" if options.cores else "")] = options.samples / seconds / 1e6
    return figures


def _run(program: str, python: str, arguments: list[str]) -> dict[str, float]:
    environment = dict(os.environ)
    if python != sys.executable:
        environment.pop("PYTHONPATH", None)
    command = [python, os.path.abspath(program), "--measure", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def compare(program: str, options: argparse.Namespace) -> None:
    """Runs a program in turns with the peer's, or by one and all cores, and prints the best figures."""
    passed = ["--samples", str(options.samples), "--device", options.device]
    passed += ["--processor-time"] if options.processor_time else []
    passed += ["--cores"] if options.cores else []
    best: dict[str, dict[str, float]] = {}
    for _ in range(options.rounds):
        for who, python in (("weft", sys.executable), ("peer", None if options.cores else options.peer)):
            for name, figure in _run(program, python, passed).items() if python else ():
                mine = best.setdefault(name, {})
                mine[who] = max(mine.get(who, 0.0), figure)
    if options.cores:
        _print_cores({name: figures["weft"] for name, figures in best.items()})
        return
    for name, figures in best.items():
        ratio = f"{figures['weft'] / figures['peer']:6.2f} times (goal {GOAL})" if "peer" in figures else ""
        print(f"{name:18}" + "".join(f"{who} {figure:8.2f} M/s  " for who, figure in figures.items()) + ratio)


def _print_cores(figures: dict[str, float]) -> None:
    cores = os.cpu_count() or 1
    for name, one in figures.items():
        if not name.endswith(" x1"):
            continue
        name = name.removesuffix(" x1")
        all_cores = figures[f"{name} x{cores}"]
        share = all_cores / one / cores
        print(f"{name:18}1 thread {one:8.2f} M/s  {cores} {all_cores:8.2f} M/s  {share:5.2f} of linear (goal {CORES_GOAL})")
