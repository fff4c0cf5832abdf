"""CuPy on a GPU: its arrays straight to launches and by `copy=False`, ours as CuPy's, and streams."""

from __future__ import annotations

import cupy as cp
import numpy as np
import warp as wp
from gpu_support import Skip, run_cases

wp.config.quiet = True
wp.init()
N = 1 << 16


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def turned(v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v[i] = wp.vec3(v[i][2], v[i][0], v[i][1])


@wp.kernel
def numbered(m: wp.array2d(dtype=float)):
    i, j = wp.tid()
    m[i, j] = float(10 * i + j)


def case_straight_to_launch():
    x, y = cp.arange(64, dtype=cp.float32), cp.ones(64, dtype=cp.float32)
    wp.launch(saxpy, dim=64, inputs=[x, y, 1.0], device="cuda:0")
    wp.synchronize()
    assert cp.asnumpy(y).tolist() == [i + 1.0 for i in range(64)]
    side, own = cp.cuda.Stream(non_blocking=True), wp.Stream("cuda:0")  # a stream that a launch names waits, too
    with side:
        x, y = cp.zeros(1 << 22, cp.float32), cp.zeros(1 << 22, cp.float32)
        for _ in range(50):
            x += 1.0
        wp.launch(saxpy, dim=1 << 22, inputs=[x, y, 1.0], device="cuda:0", stream=own)
    wp.synchronize_stream(own)
    assert (cp.asnumpy(y) == 50.0).all()
    x, y = cp.arange(64, dtype=cp.float32), cp.arange(1, 65, dtype=cp.float32)
    cp.cuda.get_current_stream().synchronize()
    wp.launch(saxpy, dim=32, inputs=[x[::2], y[1::2], 1.0], device="cuda:0")
    wp.synchronize()
    wanted = np.arange(64.0) + 1.0
    wanted[1::2] += np.arange(0, 64, 2)
    assert (cp.asnumpy(y) == wanted).all()


def case_without_a_copy():
    """What is written to the array is written to CuPy's memory, whatever its strides and element type."""
    c = cp.zeros((4, 5), cp.float32)
    a = wp.array(c, copy=False)
    assert a.ptr == c.data.ptr and a.shape == (4, 5) and a.device.is_cuda
    wp.launch(numbered, dim=(4, 5), inputs=[a], device="cuda:0")
    wp.synchronize()
    assert (cp.asnumpy(c) == 10 * np.arange(4)[:, None] + np.arange(5)).all()
    other = cp.zeros((5, 4), cp.float32).T  # Fortran's order
    b = wp.array(other, copy=False)
    assert b.ptr == other.data.ptr and b.strides == other.strides
    wp.launch(numbered, dim=(4, 5), inputs=[b], device="cuda:0")
    wp.synchronize()
    assert (cp.asnumpy(other) == cp.asnumpy(c)).all()
    v = cp.arange(12, dtype=cp.float32).reshape(4, 3)
    w = wp.array(v, dtype=wp.vec3, copy=False)
    assert w.shape == (4,) and w.ptr == v.data.ptr
    wp.launch(turned, dim=4, inputs=[w], device="cuda:0")
    wp.synchronize()
    assert cp.asnumpy(v)[1].tolist() == [5.0, 3.0, 4.0]
    kept = wp.array(cp.full(8, 3.0, cp.float32), copy=False)  # keeps CuPy's memory alive
    cp.get_default_memory_pool().free_all_blocks()
    trash = [cp.zeros(8, cp.float32) for _ in range(50)]
    assert kept.numpy().tolist() == [3.0] * 8 and len(trash) == 50


def case_with_a_copy():
    c = cp.arange(8, dtype=cp.float32)
    a = wp.array(c, device="cuda:0")
    assert a.ptr != c.data.ptr
    a.zero_()
    wp.synchronize()
    assert cp.asnumpy(c).tolist() == list(range(8))


def case_empty_and_types():
    assert wp.array(cp.zeros((0, 3), cp.float32), dtype=wp.vec3, copy=False).shape == (0,)
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"):
        c = cp.arange(5).astype(name)
        a = wp.array(c, copy=False)
        assert a.ptr == c.data.ptr and a.dtype is getattr(wp, name) and a.numpy().tolist() == [0, 1, 2, 3, 4], name
    try:
        wp.array(cp.zeros(4, cp.complex64), copy=False)
    except (RuntimeError, TypeError) as error:
        assert "complex" in str(error), error
    else:
        raise AssertionError("complex numbers were taken")


def case_ours_as_theirs():
    a = wp.array(np.arange(12, dtype=np.float32), device="cuda:0")
    for made in (cp.asarray(a), cp.from_dlpack(a)):
        assert made.data.ptr == a.ptr
        made += 1.0
    cp.cuda.get_current_stream().synchronize()
    assert a.numpy().tolist() == [i + 2.0 for i in range(12)]
    c = cp.zeros((4, 3), cp.float32)
    assert wp.from_dlpack(c, dtype=wp.vec3).shape == (4,)
    vectors = cp.asarray(wp.zeros(4, dtype=wp.vec3, device="cuda:0"))
    assert vectors.shape == (4, 3)


def case_streams_are_put_in_order():
    stream = cp.cuda.Stream(non_blocking=True)
    for turn in range(50):
        with stream:
            x = cp.zeros(1 << 20, cp.float32)
            for _ in range(20):
                x += 1.0
            y = wp.array(x, copy=False)
        out = wp.zeros(1 << 20, dtype=float, device="cuda:0")
        wp.launch(saxpy, dim=1 << 20, inputs=[y, out, 1.0], device="cuda:0")
        found = out.numpy()
        assert (found == 20.0).all(), (turn, found.min(), found.max())


def case_straight_to_launch_behind_a_side_stream():
    """The interface tells its stream, and the launch waits for it."""
    stream = cp.cuda.Stream(non_blocking=True)
    for turn in range(50):
        with stream:
            x, y = cp.zeros(1 << 20, cp.float32), cp.zeros(1 << 20, cp.float32)
            for _ in range(20):
                x += 1.0
            wp.launch(saxpy, dim=1 << 20, inputs=[x, y, 1.0], device="cuda:0")
        wp.synchronize()
        stream.synchronize()
        found = cp.asnumpy(y)
        assert (found == 20.0).all(), (turn, found.min(), found.max())


def case_raw_kernels_between():
    """A program that mixes kernels of both, on one stream of CuPy's."""
    if not hasattr(cp, "ElementwiseKernel"):
        raise Skip("this CuPy compiles no kernels")
    twice = cp.ElementwiseKernel("float32 x", "float32 y", "y = 2.0f * x", "twice")
    x = cp.arange(64, dtype=cp.float32)
    y = wp.zeros(64, dtype=float, device="cuda:0")
    for _ in range(5):
        wp.launch(saxpy, dim=64, inputs=[twice(x), y, 1.0], device="cuda:0")
    assert (y.numpy() == 10.0 * np.arange(64)).all()


if __name__ == "__main__":
    run_cases({name: case for name, case in list(globals().items()) if name.startswith("case_")})
