#!/usr/bin/env python3
"""Measures one installation of `warp`: prints a JSON object of figures in seconds, except where a name says otherwise.

    measure.py all           launches, arrays, saxpy, in one process
    measure.py first FOLDER  the first launch of a trivial kernel with this kernel cache
    measure.py import        `import warp; wp.init()` after NumPy was imported

It uses nothing but the documented interface, so that Weft and PyPI's warp-lang run the same lines. Of many repetitions
the fastest counts: other work on the machine only ever adds.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import timeit

import numpy as np

SAXPY = 2**24


def best(call, number: int, rounds: int = 200) -> float:
    """Seconds of one call: rounds are short, so that some fall between the work of others."""
    call()
    return min(timeit.repeat(call, number=number, repeat=rounds)) / number


def measure_import() -> dict[str, float]:
    start = time.perf_counter()
    import warp as wp

    with contextlib.redirect_stdout(io.StringIO()):
        wp.init()
    return {"import": time.perf_counter() - start}


def start(folder: str | None = None):
    import warp as wp

    wp.config.quiet = True
    if folder:
        wp.config.kernel_cache_dir = folder
    wp.init()
    return wp


def measure_first(folder: str) -> dict[str, float]:
    wp = start(folder)

    @wp.kernel
    def first(x: wp.array(dtype=float), a: float):
        i = wp.tid()
        x[i] = a * x[i] + 1.0

    x = wp.zeros(16, dtype=float, device="cpu")
    begin = time.perf_counter()
    wp.launch(first, dim=16, inputs=[x, 2.0], device="cpu")
    wp.synchronize_device("cpu")
    took = time.perf_counter() - begin
    assert x.numpy()[0] == 1.0
    return {"first": took}


def measure_all() -> dict[str, float]:
    wp = start()

    @wp.kernel
    def empty(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
        i = wp.tid()

    @wp.kernel
    def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = a * x[i] + y[i]

    out = {}
    with wp.ScopedDevice("cpu"):
        x, y = wp.zeros(16, dtype=float), wp.zeros(16, dtype=float)
        nx, ny = np.zeros(16, dtype=np.float32), np.zeros(16, dtype=np.float32)
        out["launch"] = best(lambda: wp.launch(empty, dim=16, inputs=[x, y, 1.0]), 1000)
        command = wp.launch(empty, dim=16, inputs=[x, y, 1.0], record_cmd=True)
        out["recorded"] = best(command.launch, 1000)
        out["zeros"] = best(lambda: wp.zeros(16, dtype=float), 1000)
        out["array"] = best(lambda: wp.array(nx, dtype=float), 500)
        out["numpy_launch"] = best(lambda: wp.launch(empty, dim=16, inputs=[nx, ny, 1.0]), 500)
        big_x = wp.array(np.random.default_rng(0).random(SAXPY, dtype=np.float32), dtype=float)
        big_y = wp.zeros(SAXPY, dtype=float)
        out["saxpy"] = best(lambda: wp.launch(saxpy, dim=SAXPY, inputs=[2.0, big_x, big_y]), 1, 15)
    out["version"] = wp.config.version
    return out


def main(args: list[str]) -> int:
    if args == ["all"]:
        result = measure_all()
    elif len(args) == 2 and args[0] == "first":
        result = measure_first(args[1])
    elif args == ["import"]:
        result = measure_import()
    else:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
