#!/usr/bin/env python3
"""What making and reading small arrays costs, by every spelling that programs use, beside PyPI's warp-lang.

    arrays.py [--peer PYTHON] [--rounds N] [--json FILE]
    arrays.py measure            one installation: prints a JSON object of microseconds

This interpreter must import Weft's `warp`, PEER's warp-lang (PEER_PYTHON in the environment does as well). The two are measured
in turns; of all repetitions the fastest counts, since other work on the machine only ever adds. Ratios come first: how many
times as long the peer takes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import timeit

import others

# Spelling → goal in microseconds (None: no goal). `a` is an array of 16 floats, `g` one with a gradient, `v` one of vec3, `x`
# and `x3` the arrays of NumPy that they were made from.
SPELLINGS: dict[str, float | None] = {
    "wp.zeros(16)": 0.8,
    "wp.zeros(16, dtype=float)": 0.8,
    "wp.zeros(16, dtype=float, device='cpu')": 0.8,
    "wp.zeros(shape=(4, 4), dtype=wp.float32, device='cpu')": 0.8,
    "wp.zeros(16, dtype=wp.vec3, device=cpu, requires_grad=False)": 0.8,
    "wp.zeros(16, dtype=float, device='cpu', requires_grad=True)": None,
    "wp.empty(16)": 0.8,
    "wp.empty(16, dtype=wp.vec3, device='cpu')": 0.8,
    "wp.zeros_like(a)": 0.8,
    "wp.zeros_like(a, device='cpu')": 0.8,
    "wp.zeros_like(v, requires_grad=False)": 0.8,
    "wp.empty_like(a)": 0.8,
    "wp.clone(a)": 0.8,
    "wp.clone(a, device='cpu')": 0.8,
    "wp.clone(a, requires_grad=False)": 0.8,
    "wp.clone(g)": None,
    "wp.array(x)": 1.6,
    "wp.array(x, dtype=float)": 1.6,
    "wp.array(x, dtype=float, device='cpu')": 1.6,
    "wp.array(x3, dtype=wp.vec3, device='cpu')": 1.6,
    "wp.array(x, dtype=float, device='cpu', requires_grad=False)": 1.6,
    "wp.array(x, dtype=float, device='cpu', copy=False)": 1.6,
    "wp.array(data=x, dtype=wp.float32, device=cpu)": 1.6,
    "wp.from_numpy(x)": 1.6,
    "wp.from_numpy(x, dtype=float)": 1.6,
    "wp.from_numpy(x, dtype=float, device='cpu')": 1.6,
    "wp.from_numpy(x3)": 1.6,
    "wp.from_numpy(x3, dtype=wp.vec3, device='cpu')": 1.6,
    "a.numpy()": 0.7,
    "v.numpy()": 0.7,
    "wp.ones(16, dtype=float, device='cpu')": None,
    "wp.full(16, 2.0, dtype=float, device='cpu')": None,
}


def measure() -> dict[str, float]:
    """Microseconds of each call by the `warp` that this interpreter has."""
    import numpy as np
    import warp as wp

    wp.config.quiet = True
    wp.init()
    wp.set_device("cpu")  # also where there is a GPU
    x, x3 = np.zeros(16, dtype=np.float32), np.zeros((16, 3), dtype=np.float32)
    names = {
        "wp": wp,
        "cpu": wp.get_device("cpu"),
        "x": x,
        "x3": x3,
        "a": wp.zeros(16, dtype=float, device="cpu"),
        "g": wp.zeros(16, dtype=float, device="cpu", requires_grad=True),
        "v": wp.zeros(16, dtype=wp.vec3, device="cpu"),
    }
    out = {}
    with wp.ScopedDevice("cpu"):
        for spelling in SPELLINGS:
            timer = timeit.Timer(spelling, globals=names)
            timer.timeit(100)
            out[spelling] = min(timer.repeat(100, 200)) / 200 * 1e6
    return out


def least(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: min(one[name] for one in runs) for name in SPELLINGS}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["measure"])
    parser.add_argument("--peer", default=os.environ.get("PEER_PYTHON"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.what:
        print(json.dumps(measure()))
        return 0
    ours: list[dict[str, float]] = []
    theirs: list[dict[str, float]] = []
    guard, command = others.Peers(), (os.path.abspath(__file__), "measure")
    for _ in range(options.rounds):
        ours.append(others.run(sys.executable, *command))
        if options.peer:
            found = guard.take("warp-lang", lambda: others.run(options.peer, *command, is_peer=True))
            theirs += [found] if found else []
    mine, peer = least(ours), least(theirs) if theirs else {}
    missed = 0
    print(f"{'ratio':>6} {'here, µs':>9} {'warp-lang':>9} {'goal':>5}")
    for name, goal in SPELLINGS.items():
        ratio = f"{peer[name] / mine[name]:6.1f}" if peer else "     –"
        other = f"{peer[name]:9.2f}" if peer else "        –"
        over = goal is not None and mine[name] > goal
        missed += over
        print(f"{ratio} {mine[name]:9.2f} {other} {'' if goal is None else goal:>5}{' !' if over else '  '} {name}")
    print(f"{missed} above their goals" if missed else "all within their goals")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"here": mine, "warp-lang": peer, "failed": guard.failed}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
