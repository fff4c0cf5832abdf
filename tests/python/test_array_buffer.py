"""Arrays as buffers: memoryview, NumPy and MPI see the array's own memory, whatever its strides and element type."""

from __future__ import annotations

import gc
import hashlib

import numpy as np
import pytest
import warp as wp

KINDS = {
    wp.bool: "?",
    wp.int8: "b",
    wp.uint8: "B",
    wp.int16: "h",
    wp.uint16: "H",
    wp.int32: "i",
    wp.uint32: "I",
    wp.int64: "q",
    wp.uint64: "Q",
    wp.float16: "e",
    wp.float32: "f",
    wp.float64: "d",
}


@pytest.mark.parametrize("dtype", KINDS, ids=lambda one: one.__name__)
def test_formats(dtype):
    array = wp.ones(5, dtype=dtype, device="cpu")
    view = memoryview(array)
    assert (view.format, view.shape, view.readonly, view.nbytes) == (KINDS[dtype], (5,), False, 5 * view.itemsize)
    assert np.asarray(view).dtype == wp.dtype_to_numpy(dtype)
    assert np.asarray(view).tolist() == [1] * 5


@pytest.mark.parametrize(
    "dtype, inner",
    [
        (wp.vec3, (3,)),
        (wp.mat22, (2, 2)),
        (wp.quat, (4,)),
        (wp.transform, (7,)),
        (wp.types.matrix((2, 3), float), (2, 3)),
    ],
)
def test_components_are_dimensions(dtype, inner):
    array = wp.zeros((2, 4), dtype=dtype, device="cpu")
    view = memoryview(array)
    assert view.shape == (2, 4, *inner) and view.c_contiguous
    np.asarray(view)[...] = np.arange(8 * np.prod(inner)).reshape(view.shape)
    np.testing.assert_array_equal(array.numpy(), np.asarray(view))


def test_views_keep_their_strides():
    array = wp.array(np.arange(24, dtype=np.float32).reshape(4, 6), device="cpu")
    np.testing.assert_array_equal(np.asarray(memoryview(array[1:, ::2])), array.numpy()[1:, ::2])
    assert memoryview(array[2]).c_contiguous
    assert bytes(array[2]) == array.numpy()[2].tobytes()
    with pytest.raises(BufferError, match="side by side"):
        hashlib.sha1(array[:, 1])  # wants bytes in one piece
    turned = wp.array(np.arange(6, dtype=np.float32).reshape(2, 3), device="cpu").transpose()
    assert memoryview(turned).f_contiguous


def test_memory_lives_as_long_as_the_view():
    view = memoryview(wp.full(1000, 7.0, device="cpu"))
    gc.collect()
    others = [wp.full(1000, 1.0, device="cpu") for _ in range(20)]
    assert set(view.tolist()) == {7.0} and len(others) == 20


def test_no_growth():
    import tracemalloc

    array = wp.zeros(16, device="cpu")
    tracemalloc.start()
    for _ in range(1000):
        memoryview(array).release()
    first = tracemalloc.get_traced_memory()[0]
    for _ in range(20000):
        memoryview(array).release()
    assert tracemalloc.get_traced_memory()[0] - first < 20000
    tracemalloc.stop()


@wp.struct
class Pair:
    a: float
    b: int


def test_what_has_no_format_is_refused_and_numpy_finds_another_way():
    for dtype in (wp.bfloat16, Pair):
        array = wp.zeros(3, dtype=dtype, device="cpu")
        with pytest.raises(BufferError, match="no format"):
            memoryview(array)
    assert np.asarray(wp.zeros(3, dtype=Pair, device="cpu")).dtype.names == ("a", "b")
    with pytest.raises(BufferError):
        memoryview(wp.array(dtype=float))


def test_capture_refuses_what_the_graph_has_yet_to_write():
    @wp.kernel
    def fill(x: wp.array(dtype=float)):
        x[wp.tid()] = 1.0

    x = wp.zeros(4, device="cpu")
    with wp.ScopedCapture(device="cpu") as capture:
        wp.launch(fill, dim=4, inputs=[x], device="cpu")
        with pytest.raises(RuntimeError, match="graph"):
            memoryview(x)
    wp.capture_launch(capture.graph)
    assert memoryview(x).tolist() == [1.0] * 4
