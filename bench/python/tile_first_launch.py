#!/usr/bin/env python3
"""First launches of kernels on tiles on a GPU, from an empty cache, stage by stage.

    tile_first_launch.py [--rounds N] [--only TEXT]

Each row is a process of its own whose cache is empty; in front of the row's launch stands that of a plain kernel, so that the device,
the driver and the compiler are awake. A line has the best of all rounds: what the launch took by the clock until its result was
there, against what is wanted, then what the stages took, in milliseconds. The assembler is nvPTXCompiler where it is linked in,
else the driver. On a machine without a GPU the fake driver (docs/design/cuda.md) gives all stages but that one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import tiles_gpu

WANTED = 0.1  # seconds
ROWS = [
    *(("f32", shape, threads) for shape, threads in (((64, 64, 16), 128), ((64, 64, 32), 128), ((64, 64, 64), 256))),
    *(("f16", shape, threads) for shape, threads in (((64, 64, 16), 128), ((64, 64, 32), 128), ((64, 64, 64), 256), ((128, 128, 32), 256))),
    *(("systems", (n,), threads) for n, threads in ((16, 32), (16, 64), (16, 128), (32, 32), (32, 64), (64, 64))),
]  # fmt: skip


def label(row) -> str:
    kind, shape, threads = row
    return f"{kind} {'x'.join(map(str, shape))}, {threads} threads"


def product_launch(wp, kind: str, shape, threads: int):
    kernel, dtype = tiles_gpu.gemm(wp, kind, shape)
    n = 256
    a = wp.zeros((n, n), dtype=dtype, device="cuda")
    c = wp.zeros((n, n), dtype=float, device="cuda")
    return lambda: wp.launch_tiled(
        kernel, dim=(n // shape[0], n // shape[1]), inputs=[a, a, c], block_dim=threads, device="cuda"
    )


def systems_launch(wp, n: int, threads: int):
    @wp.kernel(module="unique", enable_backward=False)
    def solve(a: wp.array3d(dtype=float), b: wp.array2d(dtype=float), x: wp.array2d(dtype=float)):
        i = wp.tid()
        factor = wp.tile_cholesky(wp.tile_load(a[i], shape=(n, n)))
        wp.tile_store(x[i], wp.tile_cholesky_solve(factor, wp.tile_load(b[i], shape=n)))

    a = wp.array(np.eye(n, dtype=np.float32)[None], dtype=float, device="cuda")
    b = wp.zeros((1, n), dtype=float, device="cuda")
    return lambda: wp.launch_tiled(solve, dim=1, inputs=[a, b, b], block_dim=threads, device="cuda")


def measure(number: int) -> dict[str, float]:
    import warp as wp
    from warp import _weft

    wp.config.quiet = True
    wp.init()

    @wp.kernel(module="unique", enable_backward=False)
    def warm_up(x: wp.array(dtype=float)):
        x[wp.tid()] = 1.0

    wp.launch(warm_up, dim=1, inputs=[wp.zeros(1, dtype=float, device="cuda")], device="cuda")
    kind, shape, threads = ROWS[number]
    launch = systems_launch(wp, *shape, threads) if kind == "systems" else product_launch(wp, kind, shape, threads)
    wp.synchronize()
    before, start = _weft.build_seconds(), time.perf_counter()
    launch()
    wp.synchronize()
    took = time.perf_counter() - start
    return {"clock": took} | {stage: seconds - before[stage] for stage, seconds in _weft.build_seconds().items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="rows that have this text in their name")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure is not None:
        print(json.dumps(measure(arguments.measure)))
        return
    for number, row in enumerate(ROWS):
        if arguments.only not in label(row):
            continue
        best: dict[str, float] = {}
        for _ in range(arguments.rounds):
            with tempfile.TemporaryDirectory() as cache:
                command = [sys.executable, __file__, "--measure", str(number)]
                environment = dict(os.environ) | {"WARP_CACHE_PATH": cache}
                done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            if not best or found["clock"] < best["clock"]:
                best = found
        stages = ", ".join(f"{stage} {1e3 * seconds:.1f}" for stage, seconds in best.items() if stage != "clock")
        missed = "" if best["clock"] <= WANTED else ", MISSED"
        print(f"{1e3 * best['clock']:6.0f} ms (wanted {1e3 * WANTED:.0f}{missed})  {label(row)}: {stages}", flush=True)


if __name__ == "__main__":
    main()
