"""Arrays against NumPy: random shapes, views, slices, strides, assignments and copies must agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warp as wp

settings.register_profile("arrays", deadline=None)  # machines differ; what counts here is agreement
settings.load_profile("arrays")

DTYPES = [np.int8, np.uint16, np.int32, np.uint64, np.float16, np.float32, np.float64, np.bool_]
shapes = st.lists(st.integers(0, 5), min_size=1, max_size=4).map(tuple)
bounds = st.one_of(st.none(), st.integers(-8, 8), st.integers(-(2**70), 2**70))
steps = st.one_of(st.none(), st.integers(-4, 4).filter(bool), st.integers(1, 2**65))


@st.composite
def ndarrays(draw, shape=shapes):
    """An array of NumPy: contiguous, a transpose, or a strided view of a larger one."""
    wanted = draw(shape)
    dtype = draw(st.sampled_from(DTYPES))
    form = draw(st.sampled_from(["plain", "transposed", "strided", "reversed"]))
    count = int(np.prod(wanted)) if form != "strided" else int(np.prod([2 * n for n in wanted]))
    values = (np.arange(count) * 7 % 101).astype(dtype)
    if form == "strided":
        return values.reshape([2 * n for n in wanted])[tuple(slice(None, None, 2) for _ in wanted)]
    values = values.reshape(wanted)
    return values.T if form == "transposed" else values[::-1] if form == "reversed" else values


@st.composite
def keys(draw, shape):
    """A basic index for a shape that keeps at least one dimension."""
    parts = []
    for n in shape[: draw(st.integers(1, len(shape)))]:
        if n and draw(st.booleans()):
            parts.append(draw(st.integers(-n, n - 1)))
        else:
            parts.append(slice(draw(bounds), draw(bounds), draw(steps)))
    if len(parts) == len(shape) and not any(isinstance(p, slice) for p in parts):
        parts[-1] = slice(None)
    return tuple(parts) if len(parts) > 1 or draw(st.booleans()) else parts[0]


def same(a: wp.array, values: np.ndarray) -> None:
    """The array and NumPy agree in every respect."""
    assert a.shape == values.shape and a.ndim == values.ndim and a.size == values.size
    np.testing.assert_array_equal(a.numpy(), values)
    np.testing.assert_array_equal(np.asarray(a), values)
    np.testing.assert_array_equal(np.array(a), values)
    assert a.list() == values.ravel().tolist()
    assert a.is_contiguous == (values.flags.c_contiguous or values.size == 0)


@given(ndarrays())
@pytest.mark.cpu_only("NumPy sees the memory")
def test_construction_copies_and_shares(values):
    a, b = wp.array(values), wp.array(values, copy=False)
    same(a, np.ascontiguousarray(values))
    same(b, values)
    assert a.is_contiguous and a.numpy().dtype == values.dtype
    if values.size:
        assert b.ptr == values.__array_interface__["data"][0] and not np.shares_memory(a.numpy(), values)
        assert np.shares_memory(b.numpy(), values)
        assert [s for s, n in zip(b.strides, b.shape) if n > 1] == [
            s for s, n in zip(values.strides, values.shape) if n > 1
        ]


@given(ndarrays(), st.data())
@pytest.mark.cpu_only("NumPy sees the memory")
def test_views_are_numpys_views(values, data):
    a = wp.array(values, copy=False)
    expected = values
    for _ in range(data.draw(st.integers(1, 3))):
        key = data.draw(keys(expected.shape))
        a, expected = a[key], expected[key]
        same(a, expected)
    axes = data.draw(st.permutations(range(expected.ndim)))
    same(a.transpose(axes), expected.transpose(axes))
    if expected.size:
        assert np.shares_memory(a.numpy(), values)


@given(ndarrays(), st.data())
def test_elements(values, data):
    if not values.size:
        return
    a = wp.array(values)
    values = values.copy()
    for _ in range(5):
        index = tuple(data.draw(st.integers(-n, n - 1)) for n in values.shape)
        read = a[index]
        assert getattr(read, "value", read) == values[index].item()
        other = tuple(data.draw(st.integers(-n, n - 1)) for n in values.shape)
        a[other] = values[index].item()
        values[other] = values[index]
    same(a, values)


@given(ndarrays(), st.data())
def test_slice_assignment(values, data):
    values = values.copy()
    a = wp.array(values)
    key = data.draw(keys(values.shape))
    shape = values[key].shape
    new = (np.arange(int(np.prod(shape))) % 50).astype(data.draw(st.sampled_from(DTYPES))).reshape(shape)
    kind = data.draw(st.sampled_from(["scalar", "numpy", "array", "list", "broadcast"]))
    if kind == "scalar":
        new = values.dtype.type(1)
    elif kind == "broadcast":
        new = new[..., :1]
        if new.shape[-1] != 1:
            return
    given_value = wp.array(new) if kind == "array" else new.tolist() if kind == "list" and new.size else new
    a[key] = given_value
    values[key] = new
    same(a, values)


@pytest.mark.cpu_only("NumPy's memory is shared")
@given(ndarrays(), st.booleans())
def test_fill_zero_clone_contiguous(values, shared):
    values = values.copy(order="K")
    a = wp.array(values, copy=not shared)
    duplicate, packed = wp.clone(a), a.contiguous()
    same(duplicate, np.ascontiguousarray(values))
    same(
        packed, np.ascontiguousarray(values) if packed is not a else values if shared else np.ascontiguousarray(values)
    )
    expected = np.ones_like(values)
    a.fill_(True if values.dtype == np.bool_ else 1)
    np.testing.assert_array_equal(a.numpy(), expected)
    a.zero_()
    assert not a.numpy().any() and duplicate.list() == duplicate.numpy().ravel().tolist()


@given(ndarrays(), st.data())
def test_assign_and_copy(values, data):
    target = wp.array(values)
    source = np.asarray(
        (np.arange(values.size) * 3 % 90).reshape(values.shape), dtype=data.draw(st.sampled_from(DTYPES))
    )
    target.assign(wp.array(source) if data.draw(st.booleans()) else source)
    same(target, source.astype(values.dtype))
    if values.ndim > 1:
        flipped = wp.zeros(values.shape[::-1], dtype=target.dtype).transpose()
        wp.copy(flipped, target)
        np.testing.assert_array_equal(flipped.numpy(), target.numpy())


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 25), st.integers(0, 25), st.integers(0, 25))
def test_partial_copies(dest_size, src_size, dest_offset, src_offset, count):
    dest, src = wp.zeros(dest_size, dtype=int), wp.array(np.arange(1, src_size + 1), dtype=int)
    expected = np.zeros(dest_size, np.int32)
    amount = count or src_size - src_offset
    fits = 0 <= amount and src_offset + amount <= src_size and dest_offset + amount <= dest_size
    try:
        wp.copy(dest, src, dest_offset, src_offset, count)
    except RuntimeError:
        assert not fits
        return
    assert fits
    expected[dest_offset : dest_offset + amount] = src.numpy()[src_offset : src_offset + amount]
    assert dest.list() == expected.tolist()


@given(st.integers(1, 30), st.integers(-8, 8), st.integers(-8, 8))
def test_overlapping_copies(size, to, start):
    a = wp.array(np.arange(size), dtype=int)
    expected = np.arange(size, dtype=np.int32)
    left, right = slice(max(to, 0), None), slice(max(start, 0), None)
    n = min(len(expected[left]), len(expected[right]))
    if n == 0:
        return
    a[left][:n].assign(a[right][:n])
    expected[left][:n] = expected[right][:n].copy()
    assert a.list() == expected.tolist()


@given(shapes, shapes)
def test_reshape(shape, other):
    values = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    a = wp.array(values)
    try:
        made = a.reshape(other)
    except RuntimeError:
        assert np.prod(other) != values.size
        return
    same(made, values.reshape(other))
    same(a.flatten(), values.ravel())


@settings(max_examples=50)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple),
    st.sampled_from([(wp.vec3, (3,)), (wp.mat22, (2, 2)), (wp.quat, (4,))]),
)
def test_composites(shape, dtype):
    kind, inner = dtype
    values = np.arange(int(np.prod(shape)) * int(np.prod(inner)), dtype=np.float32).reshape(shape + inner)
    a = wp.array(values, dtype=kind, copy=False)
    assert a.shape == shape
    np.testing.assert_array_equal(a.numpy(), values)
    np.testing.assert_array_equal(a[::-1].numpy(), values[::-1])
    interface = a.__array_interface__ if a.device.is_cpu else a.__cuda_array_interface__
    assert interface["shape"] == values.shape
    if values.size:
        first = (0,) * len(shape)
        np.testing.assert_array_equal(np.asarray(a[first]).reshape(inner), values[first])
        np.testing.assert_array_equal(np.asarray(a.list()[-1]).reshape(inner), values[tuple(n - 1 for n in shape)])


@given(st.lists(st.floats(allow_nan=True, width=64), min_size=1, max_size=20))
def test_bfloat16_rounds_as_the_scalar_does(numbers):
    a = wp.array(np.array(numbers, np.float64), dtype=wp.bfloat16)
    expected = [wp.bfloat16(x).value for x in numbers]
    np.testing.assert_array_equal(np.array(a.list()), np.array(expected))
