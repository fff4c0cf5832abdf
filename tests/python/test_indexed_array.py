"""wp.indexedarray in kernels and in Python, against NumPy's fancy indexing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp
from hypothesis import given, settings
from hypothesis import strategies as st


def index(values):
    return None if values is None else wp.array(values, dtype=int)


def fancy(values, indices):
    """The elements that NumPy picks, dimension by dimension."""
    for axis, picked in enumerate(indices):
        if picked is not None:
            values = np.take(values, picked, axis=axis)
    return values


@wp.kernel
def read1(a: wp.indexedarray(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = a[i]


@wp.kernel
def read2(a: wp.indexedarray(dtype=float, ndim=2), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = a[i, j]


@wp.kernel
def read3(a: wp.indexedarray3d(dtype=float), out: wp.array3d(dtype=float)):
    i, j, k = wp.tid()
    plane = a[i]
    out[i, j, k] = plane[j, k]


@wp.kernel
def read4(a: wp.indexedarray4d(dtype=float), out: wp.array4d(dtype=float)):
    i, j, k, l = wp.tid()
    out[i, j, k, l] = a[i, j][k, l]


READERS = [read1, read2, read3, read4]


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_kernels_read_what_numpy_picks(data):
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple))
    indices = []
    for n in shape:
        picked = st.lists(st.integers(-n, n - 1), min_size=1, max_size=6)
        indices.append(data.draw(st.one_of(st.none(), picked)))
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    a = wp.indexedarray(wp.array(values), [index(i) for i in indices])
    expected = fancy(values, indices)
    assert a.shape == expected.shape and a.size == expected.size and a.ndim == expected.ndim
    out = wp.zeros(a.shape)
    wp.launch(READERS[len(shape) - 1], dim=a.shape, inputs=[a], outputs=[out])
    np.testing.assert_array_equal(out.numpy(), expected)
    np.testing.assert_array_equal(a.numpy(), expected)
    np.testing.assert_array_equal(a.contiguous().numpy(), expected)
    assert a.list() == expected.ravel().tolist()


@wp.kernel
def write2(a: wp.indexedarray2d(dtype=float), count: wp.indexedarray(dtype=int)):
    i, j = wp.tid()
    a[i, j] = float(i * 10 + j)
    count[i] += 1
    wp.atomic_max(count, -1, 5)


def test_kernels_write_and_count():
    data = wp.zeros((4, 5))
    counter = wp.zeros(6, dtype=int)
    a = wp.indexedarray(data, [index([3, 1]), index([0, 4, 2])])
    wp.launch(write2, dim=a.shape, inputs=[a, wp.indexedarray(counter, index([2, 4]))])
    expected = np.zeros((4, 5), np.float32)
    expected[np.ix_([3, 1], [0, 4, 2])] = np.add.outer(np.arange(2) * 10, np.arange(3))
    np.testing.assert_array_equal(data.numpy(), expected)
    assert counter.numpy()[2] == 3 and counter.numpy()[4] in (5, 6, 7, 8)


@wp.kernel
def shapes(a: wp.indexedarray3d(dtype=wp.vec3), out: wp.array(dtype=int), sums: wp.array(dtype=float)):
    out[0] = a.shape[0]
    out[1] = a.shape[1]
    out[2] = a.shape[2]
    out[3] = a.ndim
    out[4] = a.size
    out[5] = len(a)
    row = a[1, 0]
    out[6] = row.shape[0]
    some = a[:, 1:, -1]
    out[7] = some.shape[0]
    out[8] = some.shape[1]
    sums[0] = row[0][1] + some[1, 0].z
    a[0, 0, 0].x += 100.0


def test_shapes_views_and_components():
    values = np.arange(3 * 4 * 5 * 3, dtype=np.float32).reshape(3, 4, 5, 3)
    data = wp.array(values, dtype=wp.vec3)
    a = wp.indexedarray(data, [index([2, 0]), None, index([1, 1, 3])])
    out, sums = wp.zeros(9, dtype=int), wp.zeros(1)
    wp.launch(shapes, dim=1, inputs=[a, out, sums])
    assert out.list() == [2, 4, 3, 3, 24, 2, 3, 2, 3]
    picked = values[np.ix_([2, 0], range(4), [1, 1, 3])]
    assert sums.list() == [picked[1, 0, 0, 1] + picked[1, 1, -1, 2]]
    assert data.numpy()[2, 0, 1, 0] == values[2, 0, 1, 0] + 100.0


@wp.kernel
def in_kernel(a: wp.array2d(dtype=float), rows: wp.array(dtype=int), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = a[rows][i, j] + a[rows, 1:][i, j]


def test_index_arrays_in_kernels():
    values = np.arange(20, dtype=np.float32).reshape(4, 5)
    out = wp.zeros((3, 4))
    wp.launch(in_kernel, dim=(3, 4), inputs=[wp.array(values), index([3, 0, -2])], outputs=[out])
    np.testing.assert_array_equal(out.numpy(), values[[3, 0, -2]][:, :4] + values[[3, 0, -2]][:, 1:])


@wp.func
def twice(x: wp.indexedarray(dtype=float), i: int):
    return x[i] * 2.0


@wp.kernel
def through_function(a: wp.array(dtype=float), b: wp.indexedarray(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = twice(a, i) + twice(b, i)


def test_functions_take_both_kinds():
    a = wp.array([1.0, 2.0, 3.0], dtype=float)
    out = wp.zeros(3)
    wp.launch(through_function, dim=3, inputs=[a, wp.indexedarray(a, index([2, 1, 0]))], outputs=[out])
    assert out.list() == [8.0, 8.0, 8.0]
    wp.launch(through_function, dim=3, inputs=[a, a], outputs=[out])  # a plain array for an indexed parameter
    assert out.list() == [4.0, 8.0, 12.0]
    wp.launch(through_function, dim=3, inputs=[a, wp.ones(3)], outputs=[out])
    assert out.list() == [4.0, 6.0, 8.0]


@wp.kernel
def generic(a: wp.indexedarray(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    out[i] = a[i] + a[i]


@wp.kernel
def anything(a: Any, out: wp.array(dtype=Any)):
    i = wp.tid()
    out[i] = a[i]


@pytest.mark.parametrize("dtype", [wp.int32, wp.float64, wp.vec2])
def test_generic_kernels(dtype):
    a = wp.ones(4, dtype=dtype)
    out = wp.zeros(2, dtype=dtype)
    wp.launch(generic, dim=2, inputs=[wp.indexedarray(a, index([3, 1])), out])
    assert out.numpy().min() == 2
    wp.launch(generic, dim=2, inputs=[a, out])
    wp.launch(anything, dim=2, inputs=[wp.indexedarray(a, index([3, 1])), out])
    assert out.numpy().max() == 1


@wp.kernel
def maybe(a: wp.indexedarray(dtype=float), out: wp.array(dtype=int)):
    if a:
        out[0] = 1
    if a is None:
        out[0] = 2


def test_no_array():
    out = wp.zeros(1, dtype=int)
    wp.launch(maybe, dim=1, inputs=[None, out])
    assert out.list() == [2]
    wp.launch(maybe, dim=1, inputs=[wp.zeros(1), out])
    assert out.list() == [1]


@wp.kernel
def plain(a: wp.array(dtype=float)):
    a[0] = 1.0


def test_wrong_arguments():
    a = wp.indexedarray(wp.zeros(3), index([0]))
    with pytest.raises(RuntimeError, match="indexedarray.*declare the parameter as wp.indexedarray"):
        wp.launch(plain, dim=1, inputs=[a])
    with pytest.raises(
        RuntimeError, match=r"expected indexedarray2d\(dtype=float32\), got indexedarray\(dtype=float32\)"
    ):
        wp.launch(read2, dim=(1, 1), inputs=[a, wp.zeros((1, 1))])
    with pytest.raises(RuntimeError, match="int32"):
        wp.launch(read1, dim=1, inputs=[wp.indexedarray(wp.zeros(3, dtype=int), index([0])), wp.zeros(1)])
    with pytest.raises(RuntimeError, match="annotation"):
        wp.launch(read1, dim=1, inputs=[wp.indexedarray(dtype=float), wp.zeros(1)])
    with pytest.raises(RuntimeError):
        wp.launch(read1, dim=1, inputs=["text", wp.zeros(1)])


def test_recorded_launches_keep_the_arrays():
    out = wp.zeros(2)
    command = wp.launch(
        read1,
        dim=2,
        inputs=[wp.indexedarray(wp.array([1.0, 2.0, 3.0], dtype=float), index([2, 0]))],
        outputs=[out],
        record_cmd=True,
    )
    command.launch()
    assert out.list() == [3.0, 1.0]
    command.set_param_at_index(0, wp.indexedarray(wp.array([5.0], dtype=float), index([0, 0])))
    command.launch()
    assert out.list() == [5.0, 5.0]


@wp.kernel
def extents(
    a: wp.indexedarray2d(dtype=float), b: wp.array2d(dtype=float), rows: wp.array(dtype=int), out: wp.array(dtype=int)
):
    out[0] = a.shape[0]
    out[1] = a.shape[1]
    out[2] = b[rows].shape[0]
    out[3] = b[:, rows].shape[1]


def test_index_arrays_without_elements():
    data, none = wp.zeros((3, 4)), wp.zeros(0, dtype=int)
    a = wp.indexedarray(data, [none, None])
    assert a.shape == (0, 4) and a.numpy().shape == (0, 4) and a.list() == []
    out = wp.full(4, 7, dtype=int)
    wp.launch(extents, dim=1, inputs=[a, data, none, out])
    assert out.list() == [0, 4, 0, 0]
    wp.launch(read2, dim=a.shape, inputs=[a, wp.zeros((1, 1))])


def test_python_side():
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    data = wp.array(values)
    a = wp.indexedarray(data, [index([2, -3]), None])
    assert a.shape == (2, 4) and len(a) == 2 and a[1, 1] == 1.0 and a.data is data and a.requires_grad is False
    a.fill_(7.0)
    assert data.numpy()[1].tolist() == values[1].tolist() and (data.numpy()[[0, 2]] == 7.0).all()
    a.zero_()
    assert data.numpy()[[0, 2]].sum() == 0.0
    a.assign(np.float32([[1, 2, 3, 4], [5, 6, 7, 8]]))
    assert data.numpy()[2].tolist() == [1.0, 2.0, 3.0, 4.0] and data.numpy()[0].tolist() == [5.0, 6.0, 7.0, 8.0]
    a[0, 1] = 20.0
    assert data[2, 1] == 20.0
    copied = wp.clone(a)
    assert isinstance(copied, wp.array) and copied.shape == (2, 4) and copied[0, 1] == 20.0
    target = wp.zeros((2, 4))
    wp.copy(target, a)
    np.testing.assert_array_equal(target.numpy(), a.numpy())
    wp.copy(a, wp.ones((2, 4)))
    assert (data.numpy()[[0, 2]] == 1.0).all() and data.numpy()[1].tolist() == values[1].tolist()
    assert (np.asarray(a) == 1.0).all()
    with pytest.raises(IndexError):
        wp.indexedarray(data, [index([3]), None]).numpy()
    with pytest.raises(ValueError, match="int32"):
        wp.indexedarray(data, [wp.zeros(2), None])


def test_operators():
    a = wp.indexedarray(wp.array([1.0, 2.0, 3.0], dtype=float), index([2, 0]))
    assert (a + 1.0).list() == [4.0, 2.0] and (a * a).list() == [9.0, 1.0]
    a += 10.0
    assert isinstance(a, wp.indexedarray) and a.data.list() == [11.0, 2.0, 13.0]


def test_debug_mode_names_the_index(tmp_path):
    wp.config.mode = "debug"
    try:
        with pytest.raises(Exception, match="index0.*7|7.*index0|out of bounds"):
            wp.launch(read1, dim=8, inputs=[wp.indexedarray(wp.zeros(3), index([0, 1])), wp.zeros(8)])
            wp.synchronize()
        with pytest.raises(Exception, match="5"):
            wp.launch(read1, dim=1, inputs=[wp.indexedarray(wp.zeros(3), index([5])), wp.zeros(8)])
            wp.synchronize()
    finally:
        wp.config.mode = "release"
