"""What a launch on a GPU costs beside the driver's own work, on a machine without a GPU: the fake driver returns at once.

    LD_LIBRARY_PATH=build/dev/fake_cuda python bench/python/launch_cost.py

Times are nanoseconds per call, the least of several rounds; `call` is a method of C that does nothing, for comparison.
"""

from __future__ import annotations

import ctypes
import tempfile
import time
from typing import Callable

import warp as wp


@wp.kernel
def empty():
    pass


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def spread(
    a: float,
    x: wp.array(dtype=float),
    y: wp.array(dtype=wp.vec3),
    n: int,
    z: wp.array(dtype=wp.vec3),
    w: wp.array2d(dtype=float),
):
    i = wp.tid()
    y[i] = a * x[i] * y[i] + z[i] * float(n) * w[i, 0]


def cost(run: Callable[[], object], count: int = 20000, rounds: int = 15) -> float:
    """Nanoseconds per call."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(count):
            run()
        times.append((time.perf_counter() - start) / count * 1e9)
    return min(times)


def main() -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    if not hasattr(driver, "weft_fake_quiet"):
        raise SystemExit("this is for the fake driver: set LD_LIBRARY_PATH to its folder (build/dev/fake_cuda)")
    print(f"{'call':24} {cost(().__len__):6.0f} ns")
    # Machine code of the fake driver is none: it stays out of the real cache.
    with tempfile.TemporaryDirectory() as folder, wp.ScopedDevice("cuda:0"):
        wp.config.kernel_cache_dir = folder
        x, w = wp.zeros(1), wp.zeros((1, 1))
        y, z = wp.zeros(1, dtype=wp.vec3), wp.zeros(1, dtype=wp.vec3)
        cases = {
            "no arguments": (empty, []),
            "two arrays": (saxpy, [1.0, x, wp.zeros(1)]),
            "four arrays": (spread, [1.0, x, y, 2, z, w]),
        }
        for name, (kernel, inputs) in cases.items():
            wp.launch(kernel, dim=1, inputs=inputs)
            recorded = wp.launch(kernel, dim=1, inputs=inputs, record_cmd=True)
            recorded.launch()
            driver.weft_fake_quiet(1)
            plain = cost(lambda: wp.launch(kernel, dim=1, inputs=inputs))
            print(f"{name + ', launch':24} {plain:6.0f} ns\n{name + ', recorded':24} {cost(recorded.launch):6.0f} ns")
            driver.weft_fake_quiet(0)


if __name__ == "__main__":
    main()
