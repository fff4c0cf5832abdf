"""Elements that two different expressions name: what one stores, the other must read.

LLVM takes indices whose bits differ for places that differ, and where an element has 16 bytes it may itself have changed the bits of one
of them that a product with 16 loses. Found by a random program on a Xeon: `a[(2 i & 3) - 4]` was stored and `a[(i & 3) - 4]` then
read as it had been before.
"""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

COUNT = 6


@wp.kernel
def from_the_end(a: wp.array2d(dtype=wp.vec2l), read: wp.array(dtype=wp.int64)):
    i = wp.tid()
    a[i, ((i + i) & 3) - 4] = wp.vec2l(wp.int64(3), wp.int64(3)) + a[i, (i & 3) - 4] + a[i, 0]
    read[i] = a[i, (i & 3) - 4][1]


@wp.kernel
def of_quads(a: wp.array2d(dtype=wp.vec4), read: wp.array(dtype=float)):
    i = wp.tid()
    a[i, (3 * i & 7) - 8] = a[i, (i & 7) - 8] + wp.vec4(1.0, 2.0, 3.0, 4.0)
    read[i] = a[i, (i & 7) - 8][2]


@wp.kernel
def of_matrices(a: wp.array2d(dtype=wp.mat22d), read: wp.array(dtype=wp.float64)):
    i = wp.tid()
    a[i, (i * i & 3) - 4] = a[i, (i & 3) - 4] + wp.mat22d(wp.float64(1.0), wp.float64(2.0), wp.float64(3.0), wp.float64(4.0))
    read[i] = a[i, (i & 3) - 4][1, 0]


def plainly(values: np.ndarray, stored, added: np.ndarray, with_first: bool) -> tuple[np.ndarray, np.ndarray]:
    """What threads do, one after the other; each has a row of its own."""
    values = values.copy()
    width, read = values.shape[1], []
    for i in range(COUNT):
        own = (i & (width - 1)) - width
        values[i, (stored(i) & (width - 1)) - width] = values[i, own] + added + (values[i, 0] if with_first else 0)
        read.append(values[i, own].ravel())
    return values, np.array(read)


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize(
    "kernel, dtype, shape, scalar, stored, added, component",
    [
        (from_the_end, wp.vec2l, (4, 2), np.int64, lambda i: i + i, np.array([3, 3]), 1),
        (of_quads, wp.vec4, (8, 4), np.float32, lambda i: 3 * i, np.array([1, 2, 3, 4]), 2),
        (of_matrices, wp.mat22d, (4, 2, 2), np.float64, lambda i: i * i, np.array([[1, 2], [3, 4]]), 2),
    ],
)
def test_what_is_stored_is_read(kernel, dtype, shape, scalar, stored, added, component, lanes, monkeypatch):
    monkeypatch.setattr(wp.config, "cpu_lanes", lanes)
    values = (np.arange(COUNT * np.prod(shape)) + 1).reshape(COUNT, *shape).astype(scalar)
    a, read = wp.array(values, dtype=dtype), wp.zeros(COUNT, dtype=wp.dtype_from_numpy(scalar))
    wp.launch(kernel, dim=COUNT, inputs=[a, read])
    expected, elements = plainly(values, stored, added, kernel is from_the_end)
    np.testing.assert_array_equal(a.numpy(), expected)
    np.testing.assert_array_equal(read.numpy(), elements[:, component])
