#!/usr/bin/env python3
"""Sparse matrices and conjugate gradients against PyPI's warp-lang, measured in the same run.

    sparse.py [--peer PYTHON] [--device DEVICE] [--side N] [--rounds N] [--processor-time]
    sparse.py measure DEVICE SIDE CLOCK      one installation: prints a JSON object of seconds

This interpreter must import Weft's `warp`, PEER's warp-lang. The matrix is that of five neighbours on a square grid, with numbers
and with 3×3 blocks (on half the side). The two are measured in turns; of all repetitions the fastest counts. Printed are
milliseconds and how often the peer's time is Weft's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any, Callable

import numpy as np


def best(call: Callable[[], Any], clock: Callable[[], float], wait: Callable[[], Any]) -> float:
    """Seconds of the fastest call, of three at least."""
    call()
    wait()
    times: list[float] = []
    begun = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - begun < 0.5 and len(times) < 200):
        start = clock()
        call()
        wait()
        times.append(clock() - start)
    return min(times)


def neighbours(side: int, block: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Triplets of the matrix."""
    at = np.arange(side * side).reshape(side, side)
    pairs = [(at, at), (at[1:], at[:-1]), (at[:-1], at[1:]), (at[:, 1:], at[:, :-1]), (at[:, :-1], at[:, 1:])]
    rows, columns = (np.concatenate([pair[k].ravel() for pair in pairs]) for k in (0, 1))
    values = np.where(rows == columns, 4.1, -1.0)
    if block > 1:
        values = values[:, None, None] * np.eye(block) + 0.01 * (rows == columns)[:, None, None]
    return rows, columns, values


def measure(device: str, side: int, clock: Callable[[], float]) -> dict[str, float]:
    """Seconds of each call by the `warp` that this interpreter has."""
    import warp as wp
    import warp.optim.linear as linear
    import warp.sparse as sp

    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    wp.init()
    out: dict[str, float] = {}
    with wp.ScopedDevice(device):
        for block, dtype in ((1, wp.float32), (3, wp.mat33)):
            n = side if block == 1 else side // 2
            rows, columns, values = neighbours(n, block)
            r, c, v = wp.array(rows, dtype=int), wp.array(columns, dtype=int), wp.array(values, dtype=dtype)
            size = n * n
            a = sp.bsr_from_triplets(size, size, r, c, v)
            a.nnz_sync()
            made, z = sp.bsr_zeros(size, size, dtype), sp.bsr_zeros(size, size, dtype)
            x, y = wp.ones(size * block, dtype=float), wp.zeros(size * block, dtype=float)
            ones = wp.ones(size * block, dtype=float)
            work = sp.bsr_mm_work_arrays()

            def solve(check: int) -> Any:
                x.zero_()
                return linear.cg(a, ones, x, tol=1e-30, atol=0.0, maxiter=50, check_every=check)

            calls: dict[str, Callable[[], Any]] = {
                "from triplets": lambda: sp.bsr_set_from_triplets(made, r, c, v),
                "times vector": lambda: sp.bsr_mv(a, x, y),
                "transposed times vector": lambda: sp.bsr_mv(a, x, y, transpose=True),
                "transpose": lambda: sp.bsr_transposed(a),
                "sum": lambda: a + a,
                "product": lambda: sp.bsr_mm(a, a, z, work_arrays=work),
                "product, topology known": lambda: sp.bsr_mm(a, a, z, work_arrays=work, reuse_topology=True),
                "50 steps of cg": lambda: solve(50),
            }
            for name, call in calls.items():
                out[f"{name}, {block}×{block}"] = best(call, clock, wp.synchronize)
    return out


def run(python: str, arguments: list[str]) -> dict[str, float]:
    """The same by an interpreter of its own."""
    here = dict(os.environ)
    if python != sys.executable:
        here.pop("PYTHONPATH", None)
    done = subprocess.run([python, __file__, "measure", *arguments], capture_output=True, text=True, env=here, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    if sys.argv[1:2] == ["measure"]:
        clock = time.process_time if sys.argv[4] == "processor" else time.perf_counter
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]), clock)))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="an interpreter with warp-lang")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--side", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--processor-time", action="store_true", help="of all threads, where other work runs beside")
    options = parser.parse_args()
    arguments = [options.device, str(options.side), "processor" if options.processor_time else "wall"]
    best_of: dict[str, dict[str, float]] = {}
    for _ in range(options.rounds):
        for python in filter(None, (sys.executable, options.peer)):
            for name, seconds in run(python, arguments).items():
                kept = best_of.setdefault(name, {})
                kept[python] = min(seconds, kept.get(python, seconds))
    for name, times in best_of.items():
        own, peer = times[sys.executable], times.get(options.peer or "")
        print(f"{name:34} {own * 1e3:10.3f} ms" + (f" {peer * 1e3:10.3f} ms  {peer / own:6.2f}" if peer else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
