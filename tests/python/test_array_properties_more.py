"""More of arrays against NumPy: element types seen as others, gradients of views, index arrays, factories, objects, and
slices inside kernels."""

from __future__ import annotations

import copy as pycopy
import pickle

import numpy as np
import pytest
import warp as wp
from hypothesis import given, settings
from hypothesis import strategies as st

settings.register_profile("arrays", deadline=None)
settings.load_profile("arrays")

SCALARS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
SCALARS += [np.float16, np.float32, np.float64]
extents = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


def counted(shape, dtype=np.float32):
    return (np.arange(int(np.prod(shape))) % 101).astype(dtype).reshape(shape)


@given(extents, st.sampled_from(SCALARS), st.sampled_from(SCALARS))
def test_view_of_another_type(shape, before, after):
    values = counted(shape, before)
    a = wp.array(values)
    if np.dtype(before).itemsize == np.dtype(after).itemsize:
        seen = a.view(after)
        np.testing.assert_array_equal(seen.numpy(), values.view(after))
        assert seen.ptr == a.ptr and seen.shape == a.shape
    else:
        with pytest.raises((TypeError, RuntimeError)):
            a.view(after)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple), st.sampled_from([2, 3, 4]))
def test_view_as_vectors_and_back(shape, n):
    values = counted((*shape, n))
    a = wp.array(values)
    if len(shape) + 1 <= 4:
        vectors = a.view(wp.types.vector(n, wp.float32))
        assert vectors.shape == shape and vectors.ptr == a.ptr
        np.testing.assert_array_equal(vectors.numpy(), values)
        np.testing.assert_array_equal(vectors.view(wp.float32).numpy(), values)


@given(extents, st.data())
def test_gradients_follow_views(shape, data):
    a = wp.zeros(shape, requires_grad=True)
    assert a.requires_grad and a.grad.shape == shape and not a.grad.requires_grad
    key = tuple(slice(data.draw(st.integers(0, n - 1)), None, data.draw(st.integers(1, 3))) for n in shape)
    expected = np.zeros(shape, np.float32)
    a[key].grad.fill_(3.0)
    expected[key] = 3.0
    np.testing.assert_array_equal(a.grad.numpy(), expected)
    np.testing.assert_array_equal(a.transpose().grad.numpy(), expected.T)
    np.testing.assert_array_equal(a.reshape(-1).grad.numpy(), expected.ravel())
    duplicate = wp.clone(a)
    assert duplicate.requires_grad
    np.testing.assert_array_equal(duplicate.grad.numpy(), expected)
    a.requires_grad = False
    assert a.grad is None and not a.requires_grad
    a.requires_grad = True
    assert not a.grad.numpy().any()


@given(extents, st.data())
def test_index_arrays_read_and_write(shape, data):
    values = counted(shape)
    a = wp.array(values)
    picks = [data.draw(st.lists(st.integers(-n, n - 1), min_size=1, max_size=4)) for n in shape]
    chosen = [data.draw(st.booleans()) for _ in shape]
    chosen[0] = True
    key = tuple(wp.array(p, dtype=int) if c else slice(None) for p, c in zip(picks, chosen))
    mesh = np.ix_(*(p if c else range(n) for p, c, n in zip(picks, chosen, shape)))
    picked = a[key]
    assert isinstance(picked, wp.indexedarray)
    np.testing.assert_array_equal(picked.numpy(), values[mesh])
    np.testing.assert_array_equal(np.asarray(picked), values[mesh])
    first = tuple(0 for _ in shape)
    assert picked[first] == values[mesh][first]
    kind = data.draw(st.sampled_from(["fill", "zero", "assign", "key", "element"]))
    if kind == "fill":
        picked.fill_(7.0)
        values[mesh] = 7.0
    elif kind == "zero":
        picked.zero_()
        values[mesh] = 0.0
    elif kind == "assign":
        picked.assign(np.full(picked.shape, 5.0, np.float32))
        values[mesh] = 5.0
    elif kind == "key":
        row = np.arange(values[mesh].shape[-1], dtype=np.float32)
        a[key] = 9.0
        values[mesh] = 9.0
        a[key] = row  # broadcast
        values[mesh] = row
    else:
        picked[first] = 4.0
        values[tuple(p[0] if c else 0 for p, c in zip(picks, chosen))] = 4.0
    np.testing.assert_array_equal(a.numpy(), values)


@given(extents, st.sampled_from(SCALARS), st.integers(0, 100))
def test_factories(shape, dtype, value):
    scalar = wp.dtype_from_numpy(dtype)
    for made, expected in [
        (wp.zeros(shape, dtype=dtype), np.zeros(shape, dtype)),
        (wp.ones(shape, dtype=scalar), np.ones(shape, dtype)),
        (wp.full(shape, value, dtype=scalar), np.full(shape, value, dtype)),
    ]:
        assert made.shape == shape and made.dtype is scalar and made.is_contiguous
        assert made.strides == expected.strides and made.capacity == expected.nbytes
        np.testing.assert_array_equal(made.numpy(), expected)
    source = wp.array(counted(shape, dtype)).transpose()
    for like, fill in [(wp.zeros_like, 0), (wp.ones_like, 1), (lambda s: wp.full_like(s, value), value)]:
        made = like(source)
        assert made.shape == source.shape and made.dtype is scalar and made.is_contiguous
        np.testing.assert_array_equal(made.numpy(), np.full(source.shape, fill, dtype))
    assert wp.empty_like(source).shape == source.shape and wp.empty(shape, dtype=scalar).shape == shape


@given(extents, st.sampled_from(SCALARS))
def test_objects(shape, dtype):
    values = counted(shape, dtype)
    a = wp.array(values, copy=False)
    for duplicate in (
        pickle.loads(pickle.dumps(a)),
        pycopy.copy(a),
        pycopy.deepcopy(a),
        wp.from_numpy(values, a.dtype),
    ):
        assert duplicate.ptr != a.ptr and duplicate.dtype is a.dtype
        np.testing.assert_array_equal(duplicate.numpy(), values)
    assert len(a) == shape[0] and bool(a) and hash(a) == hash(a) and a == a and a != wp.array(values)
    rows = list(a)
    assert len(rows) == shape[0]
    if len(shape) > 1:
        np.testing.assert_array_equal(rows[-1].numpy(), values[-1])
    over = wp.array(ptr=a.ptr, shape=shape, dtype=a.dtype, strides=values.strides)
    np.testing.assert_array_equal(over.numpy(), values)
    assert over.ptr == a.ptr and a.to(a.device) is a


@wp.kernel
def sliced(
    a: wp.array3d(dtype=float),
    b: wp.array(dtype=int),
    out: wp.array2d(dtype=float),
    shape: wp.array(dtype=int),
    which: int,
):
    i, j = wp.tid()
    v = a[b[0] : b[1] : b[2], b[3], b[4] : b[5]]
    if which == 1:
        v = a[b[3], b[0] : b[1] : b[2], b[4] : b[5]]
    elif which == 2:
        v = a[b[0] : b[1] : b[2], b[4] : b[5], b[3]]
    shape[0] = v.shape[0]
    shape[1] = v.shape[1]
    if i < v.shape[0] and j < v.shape[1]:
        out[i, j] = v[i, j] + v[i - v.shape[0], j]


@settings(max_examples=60)
@given(st.integers(0, 2), st.integers(-6, 6), st.integers(-6, 6), st.integers(1, 3), st.integers(-3, 2), st.data())
@pytest.mark.cpu_only("NumPy's arrays are arguments")
def test_slices_and_integers_in_kernels(which, start, stop, step, at, data):
    values = counted((3, 3, 3)) + 1.0
    lo, hi = data.draw(st.integers(-5, 5)), data.draw(st.integers(-5, 5))
    first, second = slice(start, stop, step), slice(lo, hi)
    expected = [values[first, at, second], values[at, first, second], values[first, second, at]][which]
    out, shape = wp.zeros((3, 3)), wp.zeros(2, dtype=int)
    bounds = wp.array([start, stop, step, at, lo, hi], dtype=int)
    wp.launch(sliced, dim=(3, 3), inputs=[values, bounds, out, shape, which])
    assert tuple(shape.list()) == expected.shape
    np.testing.assert_array_equal(out.numpy()[: expected.shape[0], : expected.shape[1]], expected * 2)


def test_more_than_two_to_the_31_elements():
    size = 2**31 + 5
    with open("/proc/meminfo") as info:
        available = next(int(line.split()[1]) * 1024 for line in info if line.startswith("MemAvailable"))
    if available < 3 * size:
        pytest.skip("not enough memory")
    a = wp.zeros(size, dtype=wp.int8)
    a[size - 1] = 7
    a[-5:-2] = 3
    assert a.size == size and len(a) == size and a[-1] == 7 and a[2**31] == 3 and a[2**31 + 3] == 0

    wp.launch(mark_end, dim=4, inputs=[a])
    assert a[-5:].list() == [1, 2, 3, 4, 7]
    assert a.reshape((1, size))[0, size - 1] == 7


@wp.kernel
def mark_end(a: wp.array(dtype=wp.int8)):
    i = wp.tid()
    a[wp.int64(2147483648) + wp.int64(i)] = wp.int8(i + 1)
