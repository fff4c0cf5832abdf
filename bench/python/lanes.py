#!/usr/bin/env python3
"""Kernels by lanes: what each number of lanes gives on one core, and whether the chosen one is near the best.

    lanes.py [--part 0.5] [--rounds 6] [--seconds S] [--quick] [--json FILE] [NAME …]

One core, since a launch with one thread of wp.config.cpu_threads is serial and takes one lane. Before that, processes on all cores fill
the kernel cache. Rounds go over all lane counts in turn, so that other work on the machine meets all of them; the fastest of each
counts. `[…]` marks the number that was chosen, as wp.kernel_report tells it; the first column is the rate of that choice, the last ones
its share of the best, and which that was. `--seconds`: of measuring a kernel, at most, but for its first round. `--quick`: a fifth of
the size, a second a kernel.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

LANES = (0, 1, 4, 8, 16, 32)


def launch(wp, case) -> float:
    _, kernel, dim, arguments, _, _, backward = case
    begin = time.perf_counter()
    if backward:
        grads = [a.grad if isinstance(a, wp.array) else None for a in arguments]
        wp.launch(kernel, dim=dim, inputs=arguments, adj_inputs=grads, adjoint=True, device="cpu")
    else:
        wp.launch(kernel, dim=dim, inputs=arguments, device="cpu")
    return time.perf_counter() - begin


def start():
    import warp as wp

    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    wp.init()
    wp.set_device("cpu")  # also where there is a GPU
    return wp


def compile_all(names: list[str], lanes: int) -> None:
    """Fills the cache for one number of lanes, over small arrays."""
    wp = start()
    from lane_kernels import cases

    wp.config.cpu_lanes = lanes
    for case in cases(0.001):
        if not names or case[0] in names:
            launch(wp, case)


def choice(wp, case) -> int:
    """How many lanes the compiler chooses for a case."""
    wp.config.cpu_lanes = 0
    wp.config.record_kernels = True
    launch(wp, case)
    wp.config.record_kernels = False
    built = [row for row in wp.kernel_report() if row["name"] == case[1].key and row["adjoint"] == bool(case[6])]
    return built[-1]["lanes"]


def measure(wp, case, rounds: int, seconds: float) -> dict[int, float]:
    best = dict.fromkeys(LANES, float("inf"))
    end = time.perf_counter() + seconds
    for number in range(rounds):
        for lanes in LANES:
            wp.config.cpu_lanes = lanes
            launch(wp, case)
            best[lanes] = min([best[lanes], *(launch(wp, case) for _ in range(3))])
        if number and time.perf_counter() > end:
            break
    return best


def _cell(rate: float, is_chosen: bool) -> str:
    return f"{f'[{rate:.1f}]':>11}" if is_chosen else f"{rate:10.1f} "


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--part", type=float, default=0.5, help="size of the arrays")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--compile", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compile is not None:
        compile_all(options.names, options.compile)
        return
    if options.quick:
        options.part, options.rounds, options.seconds = 0.2, 12, 1.0
    command = [sys.executable, os.path.abspath(__file__), *options.names, "--compile"]
    for child in [subprocess.Popen([*command, str(lanes)]) for lanes in LANES]:
        child.wait()
    # Before warp counts the cores.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    wp = start()
    from lane_kernels import cases

    near, found = 0, {}
    table = [case for case in cases(options.part) if not options.names or case[0] in options.names]
    print(f"{'':14}" + "".join(f"{lanes or 'chosen':>10} " for lanes in LANES) + "  of best")
    for case in table:
        chosen = choice(wp, case)  # before any other launch: its code is not there yet
        best = measure(wp, case, options.rounds, options.seconds)
        winner = min((lanes for lanes in LANES if lanes), key=lambda lanes: best[lanes])
        share = best[winner] / best[0]
        near += share >= 0.9
        found[case[0]] = {"of best": share, "lanes": chosen, **{str(lanes or "chosen"): case[4] / best[lanes] for lanes in LANES}}
        rates = "".join(_cell(case[4] / best[lanes], lanes == chosen) for lanes in LANES)
        print(f"{case[0]:14}{rates}  {share:.2f} of {winner:2}; {chosen:2} chosen  {case[5]}", flush=True)
    print(f"within a tenth of the best: {near} of {len(table)}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
