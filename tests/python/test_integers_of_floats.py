"""Integers that became floats and become integers again: out of range they are the nearest that there is, on every device."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp

NUMBERS = np.array([0, 1, -1, 6, 127, 128, 255, 256, 300, -128, -129, -300, 65535, 65536, 2**31 - 1, -(2**31), 2**40, -(2**40), 2**62], np.int64)
KINDS = [wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.uint64]


@pytest.mark.parametrize("between", [wp.float32, wp.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back(kind, between):
    @wp.kernel(enable_backward=False, module="unique")
    def convert(x: wp.array(dtype=wp.int64), small: wp.array(dtype=wp.int32), out: wp.array2d(dtype=kind)):
        i = wp.tid()
        out[i, 0] = kind(between(x[i]))
        out[i, 1] = kind(between(small[i]))

    small = np.clip(NUMBERS, -(2**31), 2**31 - 1).astype(np.int32)
    out = wp.zeros((NUMBERS.size, 2), dtype=kind)
    wp.launch(convert, NUMBERS.size, inputs=[wp.array(NUMBERS, dtype=wp.int64), wp.array(small, dtype=wp.int32)], outputs=[out])
    limits = np.iinfo(out.numpy().dtype)
    rounded = np.stack([NUMBERS, small], axis=1).astype(wp.dtype_to_numpy(between))
    expected = [[min(max(int(x), limits.min), limits.max) for x in row] for row in rounded]
    assert out.numpy().tolist() == expected
