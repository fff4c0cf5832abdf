#!/usr/bin/env python3
"""Kernels by lanes: what each number of lanes gives on one core, and whether the chosen one is near the best.

    lanes.py [--part 0.5] [--rounds 6] [NAME …]

One core, since a launch with one thread of wp.config.cpu_threads is serial and takes one lane. Rounds go over all lane counts
in turn, so that other work on the machine meets all of them; the fastest of each counts. The last column is the chosen one's
share of the best.
"""

from __future__ import annotations

import argparse
import os
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--part", type=float, default=0.5, help="size of the arrays")
    parser.add_argument("--rounds", type=int, default=6)
    options = parser.parse_args()
    # Before warp counts the cores.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    import warp as wp

    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    wp.init()
    wp.set_device("cpu")  # also where there is a GPU
    from lane_kernels import cases

    near = 0
    table = [case for case in cases(options.part) if not options.names or case[0] in options.names]
    print(f"{'':14}" + "".join(f"{lanes or 'chosen':>10}" for lanes in LANES) + "   of best")
    for case in table:
        best = dict.fromkeys(LANES, float("inf"))
        for _ in range(options.rounds):
            for lanes in LANES:
                wp.config.cpu_lanes = lanes
                launch(wp, case)
                best[lanes] = min([best[lanes], *(launch(wp, case) for _ in range(3))])
        share = min(seconds for lanes, seconds in best.items() if lanes) / best[0]
        near += share >= 0.9
        rates = "".join(f"{case[4] / best[lanes]:10.1f}" for lanes in LANES)
        print(f"{case[0]:14}{rates}   {share:.2f}  {case[5]}", flush=True)
    print(f"within a tenth of the best: {near} of {len(table)}")


if __name__ == "__main__":
    main()
