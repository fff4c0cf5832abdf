"""Lanes that have left a loop compute on where nobody looks at their numbers: results are those of one lane, whatever these become."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp


@wp.kernel(enable_backward=False)
def escape(limit: wp.array(dtype=float), count: wp.array(dtype=int)):
    """x overflows within a few turns of the others."""
    i = wp.tid()
    x = float(i % 7) * 0.3
    n = int(0)
    while n < 200 and x < limit[i]:
        x = x * x * x + 1.5
        n += 1
    count[i] = n


@wp.kernel(enable_backward=False)
def table_walk(steps: wp.array(dtype=float), table: wp.array(dtype=int), total: wp.array(dtype=int)):
    """A number that grows without bounds names elements of an array and shifts while its lane is in the loop."""
    i = wp.tid()
    x = float(0.0)
    s = int(0)
    while x < 40.0:
        s += table[int(x)] / (1 + int(x) % 3)
        x = x + steps[i] * (1.0 + x)
    total[i] = s


@wp.kernel(enable_backward=False)
def quotients(first: wp.array(dtype=float), count: wp.array(dtype=int), last: wp.array(dtype=float)):
    """Divisions by zero, roots of negative numbers, and one number that is looked at behind the loop."""
    i = wp.tid()
    x = first[i]
    y = float(1.0)
    n = int(0)
    for _k in range(i % 23):
        y = wp.sqrt(y - 1.0 / x)
        x = x - 1.0
        if x > -3.0:
            n += 1
    kept = first[i]
    while kept > 1.0:
        kept = kept * 0.5
    count[i] = n
    last[i] = kept


@wp.kernel(enable_backward=False)
def nested(a: wp.array(dtype=wp.float64), out: wp.array(dtype=int)):
    i = wp.tid()
    x = a[i]
    n = int(0)
    while x < wp.float64(1000.0):
        y = x
        while y > wp.float64(0.001):
            y = y * wp.float64(0.25) - wp.float64(0.0001)
            n += 1
        x = x * wp.float64(3.0) + wp.float64(0.1)
    out[i] = n


def run(lanes: int) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    n = 1003
    before = wp.config.cpu_lanes
    wp.config.cpu_lanes = lanes
    try:
        counts = [wp.zeros(n, dtype=int, device="cpu") for _ in range(4)]
        last = wp.zeros(n, dtype=float, device="cpu")
        limit = wp.array(10.0 ** rng.uniform(0.0, 38.0, n), dtype=float, device="cpu")
        wp.launch(escape, dim=n, inputs=[limit, counts[0]], device="cpu")
        steps = wp.array(rng.uniform(0.01, 9.0, n), dtype=float, device="cpu")
        table = wp.array(rng.integers(-99, 99, 40), dtype=int, device="cpu")
        wp.launch(table_walk, dim=n, inputs=[steps, table, counts[1]], device="cpu")
        first = wp.array(rng.integers(-3, 9, n).astype(np.float32), dtype=float, device="cpu")
        wp.launch(quotients, dim=n, inputs=[first, counts[2], last], device="cpu")
        a = wp.array(rng.uniform(0.5, 90.0, n), dtype=wp.float64, device="cpu")
        wp.launch(nested, dim=n, inputs=[a, counts[3]], device="cpu")
        return [*(c.numpy() for c in counts), last.numpy().view(np.uint32)]
    finally:
        wp.config.cpu_lanes = before


@pytest.mark.parametrize("lanes", [0, 2, 4, 8, 16])
def test_lanes_agree(lanes):
    wanted = run(1)
    assert len(np.unique(wanted[0])) > 3 and len(np.unique(wanted[3])) > 3
    for got, one in zip(run(lanes), wanted):
        np.testing.assert_array_equal(got, one)
