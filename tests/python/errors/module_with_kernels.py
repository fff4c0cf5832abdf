"""A module with a kernel and a function, for tests that import, pickle or reload one."""

import warp as wp

FACTOR = 3.0


@wp.func
def half(x: float):
    return 0.5 * x


@wp.kernel
def scale(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = half(x[i]) * FACTOR
