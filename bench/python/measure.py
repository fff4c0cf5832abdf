#!/usr/bin/env python3
"""Measures one installation of `warp`: prints a JSON object of figures in seconds, except where a name says otherwise.

    measure.py all           launches, arrays, saxpy, in one process
    measure.py first FOLDER  the first launch of a trivial kernel with this kernel cache
    measure.py fifty FOLDER  the first launches of the fifty kernels of fifty_kernels.py with this kernel cache
    measure.py options       Black-Scholes over 4 M options, in options per second
    measure.py numba         the same by Numba, parallel
    measure.py import        `import warp; wp.init()` after NumPy was imported
    measure.py begin FOLDER  `import warp` and the first launch of a trivial kernel with this kernel cache, after NumPy was imported

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
OPTIONS = 2**22


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


def first_launch(wp) -> float:
    """Seconds of it."""

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
    return took


def measure_first(folder: str) -> dict[str, float]:
    return {"first": first_launch(start(folder))}


def measure_begin(folder: str) -> dict[str, float]:
    begin = time.perf_counter()
    first_launch(start(folder))
    return {"begin": time.perf_counter() - begin}


def measure_fifty(folder: str) -> dict[str, float]:
    wp = start(folder)
    from fifty_kernels import KERNELS

    count = 64
    calls = []
    for kernel, types in KERNELS:
        inputs = []
        for kind in types:
            if isinstance(kind, wp.array):
                inputs.append(wp.zeros(count, dtype=kind.dtype, device="cpu"))
            else:
                inputs.append(0.5 if kind is float else kind(0.1, 0.2, 0.3))
        calls.append((kernel, inputs))
    begin = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        for kernel, inputs in calls:
            wp.launch(kernel, dim=count, inputs=inputs, device="cpu")
        wp.synchronize_device("cpu")
    return {"fifty": time.perf_counter() - begin}


def measure_options() -> dict[str, float]:
    wp = start()
    wp.config.first_versions = False  # full ones are what is measured

    @wp.func
    def cdf(x: float):
        return 0.5 * wp.erfc(-0.70710678 * x)

    @wp.kernel
    def black_scholes(
        spot: wp.array(dtype=float),
        strike: wp.array(dtype=float),
        years: wp.array(dtype=float),
        rate: float,
        volatility: float,
        call: wp.array(dtype=float),
        put: wp.array(dtype=float),
    ):
        i = wp.tid()
        s = spot[i]
        t = years[i]
        root = wp.sqrt(t)
        d1 = (wp.log(s / strike[i]) + (rate + 0.5 * volatility * volatility) * t) / (volatility * root)
        d2 = d1 - volatility * root
        n1 = cdf(d1)
        n2 = cdf(d2)
        discounted = strike[i] * wp.exp(-rate * t)
        call[i] = s * n1 - discounted * n2
        put[i] = discounted * (1.0 - n2) - s * (1.0 - n1)

    arrays = [wp.array(values, dtype=float, device="cpu") for values in options_data()]
    call, put = (wp.zeros(OPTIONS, dtype=float, device="cpu") for _ in range(2))
    inputs = [*arrays, 0.02, 0.3, call, put]
    took = best(lambda: wp.launch(black_scholes, dim=OPTIONS, inputs=inputs, device="cpu"), 1, 9)
    return {"options": OPTIONS / took}


def measure_numba() -> dict[str, float]:
    import math

    import numba

    f32 = np.float32

    @numba.njit(parallel=True)
    def black_scholes(spot, strike, years, rate, volatility, call, put):
        for i in numba.prange(spot.shape[0]):
            s = spot[i]
            t = years[i]
            root = f32(math.sqrt(t))
            d1 = (f32(math.log(s / strike[i])) + (rate + f32(0.5) * volatility * volatility) * t) / (volatility * root)
            d2 = d1 - volatility * root
            n1 = f32(0.5) * f32(math.erfc(f32(-0.70710678) * d1))
            n2 = f32(0.5) * f32(math.erfc(f32(-0.70710678) * d2))
            discounted = strike[i] * f32(math.exp(-rate * t))
            call[i] = s * n1 - discounted * n2
            put[i] = discounted * (f32(1.0) - n2) - s * (f32(1.0) - n1)

    arrays = options_data()
    call, put = (np.zeros(OPTIONS, dtype=np.float32) for _ in range(2))
    took = best(lambda: black_scholes(*arrays, f32(0.02), f32(0.3), call, put), 1, 9)
    return {"options": OPTIONS / took, "version": numba.__version__}


def options_data() -> list[np.ndarray]:
    """Spot price, strike price and years of OPTIONS options."""
    random = np.random.default_rng(0)
    return [random.uniform(low, high, OPTIONS).astype(np.float32) for low, high in ((5, 30), (1, 100), (0.25, 10))]


def measure_all() -> dict[str, float]:
    wp = start()
    wp.config.first_versions = False  # full ones are what is measured

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
    elif len(args) == 2 and args[0] == "begin":
        result = measure_begin(args[1])
    elif len(args) == 2 and args[0] == "fifty":
        result = measure_fifty(args[1])
    elif args == ["options"]:
        result = measure_options()
    elif args == ["numba"]:
        result = measure_numba()
    elif args == ["import"]:
        result = measure_import()
    else:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
