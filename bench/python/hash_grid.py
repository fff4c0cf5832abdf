#!/usr/bin/env python3
"""Hash grids: builds, and densities of particles over their neighbours, beside PyPI's warp-lang.

    hash_grid.py [--peer PYTHON] [--points N] [--device cuda] [--rounds N] [--processor-time] [--json FILE]

This interpreter imports Weft's `warp`, PEER's has warp-lang. Both run the same program (this file with --measure) in turns;
of each figure the best counts. Points are random in a box, four a cell, so that a query sees about a hundred candidates.
`build` sorts them anew; `coherent` takes particles in the order of wp.hash_grid_point_id, `random` as they lie in memory;
`backward` is the adjoint of the coherent one. Figures are millions of points a second; with --processor-time of a core, which
counts in favour of programs that use one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

GOALS = {"build": 2.0, "coherent": 5.0, "random": 2.5}  # times the peer's, on two cores; on a GPU 1.5
GPU_GOAL = 1.5


def measure(count: int, device: str, processor_time: bool) -> dict[str, float]:
    import warp as wp

    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    wp.init()

    @wp.kernel
    def coherent(grid: wp.uint64, x: wp.array(dtype=wp.vec3), h: float, rho: wp.array(dtype=float)):
        i = wp.hash_grid_point_id(grid, wp.tid())
        p = x[i]
        total = float(0.0)
        for j in wp.hash_grid_query(grid, p, h):
            away = wp.length_sq(p - x[j])
            if away < h * h:
                w = h * h - away
                total += w * w * w
        rho[i] = total

    @wp.kernel
    def random(grid: wp.uint64, x: wp.array(dtype=wp.vec3), h: float, rho: wp.array(dtype=float)):
        i = wp.tid()
        p = x[i]
        total = float(0.0)
        for j in wp.hash_grid_query(grid, p, h):
            away = wp.length_sq(p - x[j])
            if away < h * h:
                w = h * h - away
                total += w * w * w
        rho[i] = total

    h = (4.0 / count) ** (1.0 / 3.0)
    points = np.random.default_rng(1).uniform(-0.5, 0.5, (count, 3)).astype(np.float32)
    x = wp.array(points, dtype=wp.vec3, device=device, requires_grad=True)
    rho = wp.zeros(count, dtype=float, device=device, requires_grad=True)
    rho.grad.fill_(1.0)
    grid = wp.HashGrid(128, 128, 128, device=device)
    grid.build(x, h)

    clock = time.process_time if processor_time else time.perf_counter

    def best(work, least: int = 3, seconds: float = 1.0) -> float:
        work()
        wp.synchronize()
        times: list[float] = []
        while len(times) < least or sum(times) < seconds:
            begin = clock()
            work()
            wp.synchronize()
            times.append(clock() - begin)
        return count / min(times) / 1e6

    def launch(kernel, **options) -> None:
        wp.launch(kernel, dim=count, inputs=[grid.id, x, h], outputs=[rho], device=device, **options)

    figures = {
        "build": best(lambda: grid.build(x, h)),
        "coherent": best(lambda: launch(coherent)),
        "random": best(lambda: launch(random)),
        "backward": best(
            lambda: launch(coherent, adjoint=True, adj_inputs=[None, x.grad, 0.0], adj_outputs=[rho.grad]), least=1
        ),
    }
    launch(random)
    figures["check"] = float(rho.numpy().astype(np.float64).sum() / h**6 / count)
    return figures


def run(python: str, args: argparse.Namespace) -> dict[str, float]:
    env = dict(os.environ)
    if python != sys.executable:  # the peer must not find our package
        for name in ("PYTHONPATH", "WEFT_EXTENSION_DIR"):
            env.pop(name, None)
    command = [python, os.path.abspath(__file__), "--measure", "--points", str(args.points), "--device", args.device]
    command += ["--processor-time"] if args.processor_time else []
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{python} failed:\n{done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="an interpreter that has warp-lang")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processor-time", action="store_true", help="of all cores together, for busy machines")
    parser.add_argument("--json")
    parser.add_argument("--measure", action="store_true")
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.points, args.device, args.processor_time)))
        return 0
    ours: dict[str, float] = {}
    theirs: dict[str, float] = {}
    for _ in range(args.rounds):
        for python, best in ((sys.executable, ours), (args.peer, theirs)):
            for key, value in run(python, args).items() if python else ():
                best[key] = max(best.get(key, 0.0), value)
    print(f"{'M points/s':>12} {'Weft':>10} {'warp-lang':>10} {'times':>7} {'goal':>6}")
    for key in ("build", "coherent", "random", "backward"):
        goal = GOALS.get(key, 0.0) if args.device == "cpu" else GPU_GOAL
        peer = theirs.get(key)
        beside = f"{peer:10.2f} {ours[key] / peer:7.2f}" if peer else f"{'-':>10} {'-':>7}"
        print(f"{key:>12} {ours[key]:10.2f} {beside} {goal or '-':>6}")
    if theirs:
        print(f"sums agree to {abs(ours['check'] / theirs['check'] - 1):.1e}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"ours": ours, "theirs": theirs}, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
