"""Sorting, prefix sums, sums and matrix products of arrays on a GPU: time on the device, best of several runs.

    python bench/python/gpu_arrays.py [LOG2_OF_LENGTH …]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import warp as wp


def best(work: Callable[[], object], runs: int = 12) -> float:
    """Milliseconds of the fastest run."""
    start, end = (wp.Event(enable_timing=True) for _ in range(2))
    times = []
    for _ in range(runs):
        wp.record_event(start)
        work()
        wp.record_event(end)
        wp.synchronize_event(end)
        times.append(wp.get_event_elapsed_time(start, end, synchronize=False))
    return min(times)


def algorithms(log: int) -> None:
    n = 1 << log
    rng = np.random.default_rng(1)
    source = wp.array(rng.integers(0, 1 << 32, n, dtype=np.uint32))
    keys, values = wp.zeros(2 * n, dtype=wp.uint32), wp.zeros(2 * n, dtype=wp.int32)

    def copy() -> None:
        wp.copy(keys, source, count=n)

    def copy_and_sort() -> None:
        copy()
        wp.utils.radix_sort_pairs(keys, values, n)

    copy_and_sort()
    assert np.all(np.diff(keys.numpy()[:n].astype(np.int64)) >= 0)
    x, y, total = wp.ones(n), wp.zeros(n), wp.zeros(1)
    sort = best(copy_and_sort) - best(copy)
    scan, reduce = best(lambda: wp.utils.array_scan(x, y)), best(lambda: wp.utils.array_sum(x, out=total))
    print(f"2^{log}: sort of pairs {sort:.3f} ms, prefix sums {scan:.3f} ms, sum {reduce:.3f} ms", flush=True)


def product(dtype: type, n: int = 4096) -> None:
    a, b, d = (wp.full((n, n), 0.5, dtype=dtype) for _ in range(3))
    wp.matmul(a, b, None, d)
    time = best(lambda: wp.matmul(a, b, None, d))
    print(f"{dtype.__name__} product of {n}: {time:.3f} ms, {2 * n**3 / time / 1e9:.1f} TFLOP/s", flush=True)


if __name__ == "__main__":
    with wp.ScopedDevice("cuda"):
        for length in map(int, sys.argv[1:] or (16, 20, 24, 27)):
            algorithms(length)
        for kind in (wp.float16, wp.bfloat16, wp.float32, wp.float64):
            product(kind)
