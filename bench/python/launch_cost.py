"""What a launch on a GPU costs beside the driver's own work, on a machine without a GPU: the fake driver returns at once.

    LD_LIBRARY_PATH=build/dev/fake_cuda python bench/python/launch_cost.py

Times are nanoseconds per call, the least of several rounds; `call` is a method of C that does nothing, for comparison. The
second number is with a driver that drives all else out of the caches, as real ones do, less that driver's own time.
"""

from __future__ import annotations

import ctypes
import tempfile
import time
from typing import Callable

import warp as wp
from gpu import empty, saxpy


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
    driver.weft_fake_seconds.restype = ctypes.c_double
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
            for what, run in (
                ("launch", lambda k=kernel, i=inputs: wp.launch(k, dim=1, inputs=i)),
                ("recorded", recorded.launch),
            ):
                driver.weft_fake_quiet(1)
                warm = cost(run)
                driver.weft_fake_quiet(2)
                # In turns: the machine's own pace changes.
                turns = [(cost(run, 500, 1), driver.weft_fake_seconds(500) * 1e9) for _ in range(60)]
                cold = min(one for one, _ in turns) - min(bare for _, bare in turns)
                print(f"{name + ', ' + what:24} {warm:6.0f} ns, {cold:6.0f} ns out of cold caches")
                driver.weft_fake_quiet(0)


if __name__ == "__main__":
    main()
