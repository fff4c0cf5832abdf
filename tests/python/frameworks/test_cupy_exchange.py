"""CuPy: arrays straight to launches, and arrays of ours as CuPy's, in both directions without copies."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

cp = pytest.importorskip("cupy", reason="CuPy is not installed")
pytestmark = pytest.mark.skipif(not wp.is_cuda_available(), reason="there is no CUDA device")


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


def test_straight_to_launch():
    with cp.cuda.Device(0):
        x, y = cp.arange(64, dtype=cp.float32), cp.ones(64, dtype=cp.float32)
    wp.launch(saxpy, dim=64, inputs=[x, y, 1.0], device="cuda:0")
    wp.synchronize()
    assert cp.asnumpy(y).tolist() == [i + 1.0 for i in range(64)]
    wp.launch(saxpy, dim=32, inputs=[x[::2], y[1::2], 1.0], device="cuda:0")


def test_both_ways_share_memory():
    a = wp.array(np.arange(12, dtype=np.float32), device="cuda:0")
    for made in (cp.asarray(a), cp.from_dlpack(a)):
        assert made.data.ptr == a.ptr
    c = cp.zeros((4, 3), cp.float32)
    assert wp.array(c, dtype=wp.vec3, copy=False).ptr == c.data.ptr
    assert wp.from_dlpack(c, dtype=wp.vec3).shape == (4,)


def test_streams_are_put_in_order():
    stream = cp.cuda.Stream(non_blocking=True)
    for _ in range(50):
        with stream:
            x = cp.zeros(1 << 20, cp.float32)
            x += 1.0
            y = wp.array(x, copy=False)
        out = wp.zeros(1 << 20, dtype=float, device="cuda:0")
        wp.launch(saxpy, dim=1 << 20, inputs=[y, out, 1.0], device="cuda:0")
        assert (out.numpy() == 1.0).all()
