"""What the benchmarks of volumes and textures share: rates of launches, turns with the peer, and how rates grow with cores.

Each of them is a program that measures one installation of `warp` with --measure, and compares two of them without. With
--cores Weft alone runs, the program with one thread (WEFT_NUM_THREADS; wp.config.cpu_threads = 1 would mean other code, in strict
order) and with all cores in turns: the ratio is that of their best times, and the goal 0.85 of as many times as there are cores.
The row `arithmetic` is a kernel that reads nothing: what cores can gain where all of them run at a lower clock than one alone.
Launches must be long enough to be cut for all cores: fewer than some hundred thousand --samples run on one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

GOAL = 3.0  # times the peer's, on a core
GPU_GOAL = 1.0
CORES_GOAL = 0.85


def cores_here() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


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


def arithmetic(options: argparse.Namespace) -> Callable[[], None]:
    """A launch that only computes."""
    import warp as wp

    @wp.kernel
    def compute(y: wp.array(dtype=float)):
        i = wp.tid()
        x = float(i) * 1.0e-8
        for _turn in range(256):
            x = x * 0.999 + 0.001
        y[i] = x

    y = wp.zeros(options.samples, dtype=float, device=options.device)
    return lambda: wp.launch(compute, dim=options.samples, inputs=[y], device=options.device)


def rates(
    calls: dict[str, Callable[[], None]],
    order: str,
    options: argparse.Namespace,
    before: dict[str, Callable[[], None]] | None = None,
) -> dict[str, float]:
    """Millions of samples a second for each call, by the best of its times; what is to be done before each is not counted."""
    import warp as wp

    wp.config.first_versions = False  # full ones are what is measured
    clock = time.process_time if options.processor_time else time.perf_counter
    figures = {}
    if options.cores:
        calls = {"arithmetic": arithmetic(options), **calls}
    for name, call in calls.items():
        best = float("inf")
        for _ in range(10 if options.cores else 6):
            if before and name in before:
                before[name]()
                wp.synchronize_device(options.device)
            start = clock()
            call()
            wp.synchronize_device(options.device)
            best = min(best, clock() - start)
        figures[f"{name} {order}"] = options.samples / best / 1e6
    return figures


def _run(program: str, python: str, arguments: list[str], threads: int = 0) -> dict[str, float]:
    environment = dict(os.environ)
    if threads:
        environment["WEFT_NUM_THREADS"] = str(threads)
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
    if options.cores:
        turns = [(f"x{number}", sys.executable, number) for number in (1, cores_here())]
    else:
        turns = [("weft", sys.executable, 0)] + ([("peer", options.peer, 0)] if options.peer else [])
    best: dict[str, dict[str, float]] = {}
    for _ in range(options.rounds):
        for who, python, threads in turns:
            for name, figure in _run(program, python, passed, threads).items():
                mine = best.setdefault(name, {})
                mine[who] = max(mine.get(who, 0.0), figure)
    if options.cores:
        _print_cores(best)
        return
    goal = GOAL if options.device == "cpu" else GPU_GOAL
    for name, figures in best.items():
        ratio = f"{figures['weft'] / figures['peer']:6.2f} times (goal {goal})" if "peer" in figures else ""
        print(f"{name:18}" + "".join(f"{who} {figure:8.2f} M/s  " for who, figure in figures.items()) + ratio)


def _print_cores(figures: dict[str, dict[str, float]]) -> None:
    cores = cores_here()
    for name, rate in figures.items():
        one, all_cores = rate["x1"], rate[f"x{cores}"]
        share = all_cores / one / cores
        print(f"{name:18}1 thread {one:8.2f} M/s  {cores} {all_cores:8.2f} M/s  {share:5.2f} of linear (goal {CORES_GOAL})")
