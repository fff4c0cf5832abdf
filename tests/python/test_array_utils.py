"""Algorithms on whole arrays against NumPy, on every device; and the steps of those for CUDA devices on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from warp._src.algorithms import device_algorithms

RNG = np.random.default_rng(3)
LENGTHS = [1, 2, 31, 1000, 4096, 4097, 70_000]
SCANNED = [wp.int32, wp.uint32, wp.int64, wp.uint64, wp.float32, wp.float64]


@pytest.fixture(params=["as it is", "steps of a device"], autouse=True)
def _steps(request, monkeypatch, _on_device):
    """Runs each test twice on the CPU: the second time through device_algorithms."""
    if request.param == "as it is":
        return
    if wp.get_device().is_cuda:
        pytest.skip("about the CPU")
    monkeypatch.setattr(wp._src.algorithms.array_algorithms, "_on_device", lambda *arrays: device_algorithms)


def _bits(keys: np.ndarray, begin: int, end: int) -> np.ndarray:
    width = 8 * keys.itemsize
    bits = np.ascontiguousarray(keys).view(f"u{keys.itemsize}")
    sign = bits.dtype.type(1 << (width - 1))
    if keys.dtype.kind == "i":
        bits = bits ^ sign
    elif keys.dtype.kind == "f":
        bits = np.where(bits & sign, ~bits, bits | sign)
    return (bits >> bits.dtype.type(begin)) & bits.dtype.type((1 << (end - begin)) - 1)


def _numbers(n: int, dtype: type) -> np.ndarray:
    return RNG.integers(-50, 50, n).astype(wp.types.dtype_to_numpy(dtype))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("inclusive", [True, False])
def test_scans_of_all_lengths(n, inclusive):
    values = _numbers(n, wp.int32)
    out = wp.zeros(n, dtype=wp.int32)
    wp.utils.array_scan(wp.array(values), out, inclusive)
    expected = np.cumsum(values, dtype=np.int32)
    np.testing.assert_array_equal(out.numpy(), expected if inclusive else expected - values)


@pytest.mark.parametrize("dtype", SCANNED)
def test_scans_of_all_types(dtype):
    values = _numbers(9000, dtype)
    a = wp.array(values, dtype=dtype)
    wp.utils.array_scan(a, a)  # in place
    np.testing.assert_array_equal(a.numpy(), np.cumsum(values, dtype=values.dtype))


def test_scans_of_vectors_halves_and_views():
    values = RNG.integers(-9, 9, (5000, 3)).astype(np.float32)
    out = wp.zeros(5000, dtype=wp.vec3)
    wp.utils.array_scan(wp.array(values, dtype=wp.vec3), out)
    np.testing.assert_array_equal(out.numpy(), np.cumsum(values, axis=0))
    halves = wp.full(500, 0.5, dtype=wp.float16)
    wp.utils.array_scan(halves, halves)
    np.testing.assert_array_equal(halves.numpy(), np.arange(1, 501) * np.float16(0.5))
    a = wp.array(values[:, 0].copy())
    wp.utils.array_scan(a[::2], a[1::2], False)
    np.testing.assert_array_equal(a.numpy()[1::2], np.concatenate(([0], np.cumsum(values[::2, 0])[:-1])))
    shifted = wp.array(np.ones(5000, np.int32))
    wp.utils.array_scan(shifted[:-1], shifted[1:])
    assert shifted.list() == [1, *range(1, 5000)]


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
@pytest.mark.parametrize("shape", [(1,), (70_000,), (300, 5), (5, 300), (2, 0, 3), (40, 20, 33), (2, 3, 4, 5)])
def test_sums(shape, dtype):
    values = _numbers(int(np.prod(shape)), dtype).reshape(shape)
    a = wp.array(values, dtype=dtype)
    assert wp.utils.array_sum(a) == values.sum()
    np.testing.assert_allclose(wp.utils.array_inner(a, a), (values * values).sum(dtype=np.float64), rtol=1e-6)
    out = wp.zeros(1, dtype=dtype)
    assert wp.utils.array_sum(a, out=out) is out and out.list() == [values.sum()]
    for axis in range(-1, len(shape)):
        np.testing.assert_array_equal(wp.utils.array_sum(a, axis=axis).numpy(), values.sum(axis=axis, keepdims=True))
        expected = (values * values).sum(axis=axis, keepdims=True)
        np.testing.assert_allclose(wp.utils.array_inner(a, a, axis=axis).numpy(), expected, rtol=1e-6)
    if shape[0] > 1:
        count = max(a.size - 1, 0)
        assert wp.utils.array_sum(a, value_count=count) == values.ravel()[:count].sum()
        np.testing.assert_array_equal(wp.utils.array_sum(a[::-2]), values[::-2].sum())


def test_sums_of_vectors_and_small_floats():
    values = RNG.integers(-9, 9, (700, 4, 3)).astype(np.float32)
    a = wp.array(values, dtype=wp.vec3)
    np.testing.assert_array_equal(wp.utils.array_sum(a), values.sum(axis=(0, 1)))
    np.testing.assert_array_equal(wp.utils.array_sum(a, axis=0).numpy(), values.sum(axis=0, keepdims=True))
    assert wp.utils.array_inner(a, a) == (values * values).sum()
    expected = (values * values).sum(axis=(1, 2)).reshape(-1, 1)
    np.testing.assert_array_equal(wp.utils.array_inner(a, a, axis=1).numpy(), expected)
    m = wp.array(RNG.integers(-3, 3, (50, 2, 2)).astype(np.float64), dtype=wp.mat22d)
    np.testing.assert_array_equal(wp.utils.array_sum(m), m.numpy().sum(axis=0))
    assert wp.utils.array_sum(wp.full(3000, 0.25, dtype=wp.float16)) == np.float16(750.0)
    turned = wp.zeros((2, 3), dtype=float).transpose()[:, :1]
    wp.utils.array_sum(wp.ones((3, 4)), out=turned, axis=1)
    assert turned.numpy().tolist() == [[4.0]] * 3


KEYS = [wp.int32, wp.uint32, wp.int64, wp.uint64, wp.float32, wp.float64]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", [wp.int32, wp.float64, wp.vec3, wp.uint8])
def test_sorts(key, value):
    n = 6000
    keys = RNG.integers(0, 256, n * wp.types.type_size_in_bytes(key)).astype(np.uint8)
    keys = keys.view(wp.types.dtype_to_numpy(key)).copy()
    keys[::7] = keys[0]
    values = wp.zeros(2 * n, dtype=value)
    numbers = np.arange(values.numpy().size).reshape(values.numpy().shape).astype(values.numpy().dtype)
    values.assign(numbers)
    held = wp.array(np.concatenate((keys, keys)), dtype=key)
    wp.utils.radix_sort_pairs(held, values, n)
    order = np.argsort(_bits(keys, 0, 8 * keys.itemsize), kind="stable")
    np.testing.assert_array_equal(held.numpy()[:n].view(np.uint8), keys[order].view(np.uint8))
    np.testing.assert_array_equal(values.numpy()[:n], numbers[order])


@pytest.mark.parametrize("n", [0, 1, 5, 4096, 4097, 100_000])
def test_sorts_of_all_lengths(n):
    keys = RNG.integers(-9, 9, n).astype(np.int32)
    held = wp.array(np.concatenate((keys, keys)).astype(np.int32))
    values = wp.array(np.tile(np.arange(n, dtype=np.int32), 2), dtype=wp.int32)
    wp.utils.radix_sort_pairs(held, values, n)
    order = np.argsort(keys, kind="stable")
    assert held.numpy()[:n].tolist() == keys[order].tolist() and values.numpy()[:n].tolist() == order.tolist()


@pytest.mark.parametrize("bits", [(0, 4), (4, 13), (3, 32), (8, 8)])
def test_sorts_by_some_bits(bits):
    keys = RNG.integers(0, 1 << 32, 5000, dtype=np.uint32)
    held = wp.array(np.concatenate((keys, keys)))
    values = wp.array(np.arange(10_000, dtype=np.int32))
    wp.utils.radix_sort_pairs(held, values, 5000, *bits)
    order = np.argsort(_bits(keys, *bits), kind="stable") if bits[0] < bits[1] else np.arange(5000)
    assert values.numpy()[:5000].tolist() == order.tolist()


def test_sorts_of_views():
    keys = RNG.integers(-99, 99, 300).astype(np.float32)
    held, values = wp.zeros(1200, dtype=wp.float32), wp.zeros(1200, dtype=wp.int32)
    held[:600:2].assign(keys)
    values[:600:2].assign(np.arange(300, dtype=np.int32))
    wp.utils.radix_sort_pairs(held[::2], values[::2], 300)
    order = np.argsort(keys, kind="stable")
    assert held.numpy()[:600:2].tolist() == keys[order].tolist() and values.numpy()[:600:2].tolist() == order.tolist()


@pytest.mark.parametrize("dtype", [wp.int32, wp.float32])
@pytest.mark.parametrize("with_ends", [False, True])
def test_sorts_of_segments(dtype, with_ends):
    n = 5000
    keys = RNG.integers(-50, 50, n).astype(wp.types.dtype_to_numpy(dtype))
    edges = np.unique(np.concatenate(([0, n], RNG.integers(0, n, 40)))).astype(np.int32)
    starts, ends = edges[:-1], edges[1:]
    if with_ends:  # gaps, empty ones, any order
        turn = RNG.permutation(len(starts))[::2]
        starts, ends = starts[turn], ends[turn]
        ends[3] = starts[3]
    expected, order = keys.copy(), np.arange(n)
    for a, b in zip(starts, ends):
        part = a + np.argsort(keys[a:b], kind="stable")
        expected[a:b], order[a:b] = keys[part], part
    held = wp.array(np.concatenate((keys, keys)), dtype=dtype)
    values = wp.array(np.tile(np.arange(n, dtype=np.int32), 2), dtype=wp.int32)
    given = (wp.array(starts), wp.array(ends)) if with_ends else (wp.array(edges),)
    wp.utils.segmented_sort_pairs(held, values, n, *given)
    assert held.numpy()[:n].tolist() == expected.tolist() and values.numpy()[:n].tolist() == order.tolist()


@pytest.mark.parametrize("n", [0, 1, 2, 50, 9000])
@pytest.mark.parametrize("kinds", [1, 3, 1000])
def test_run_lengths(n, kinds):
    values = np.sort(RNG.integers(0, kinds, n)).astype(np.int32)
    if n > 20:
        values[10:12] = 7
    run_values, run_lengths = wp.zeros(n, dtype=int), wp.zeros(n, dtype=int)
    count = wp.zeros(1, dtype=int)
    a = wp.array(values, dtype=wp.int32)
    first = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1]))) if n else np.zeros(0, int)
    assert wp.utils.runlength_encode(a, run_values, run_lengths) == len(first)
    assert wp.utils.runlength_encode(a, run_values, run_lengths, count) is count and count.list() == [len(first)]
    assert run_values.numpy()[: len(first)].tolist() == values[first].tolist()
    assert run_lengths.numpy()[: len(first)].tolist() == np.diff(np.append(first, n)).tolist()
    assert wp.utils.runlength_encode(a, run_values, run_lengths, value_count=min(n, 1)) == min(n, 1)


def test_casts():
    values = np.array([1.5, -2.5, 1e20, -1e20, np.nan, 3.99, 0.0, 7.0], np.float64)
    out = wp.zeros(8, dtype=wp.int32)
    wp.utils.array_cast(wp.array(values), out)
    assert out.list() == [1, -2, 2**31 - 1, -(2**31), 0, 3, 0, 7]
    vectors = wp.zeros((2, 2), dtype=wp.vec2)
    wp.utils.array_cast(wp.array(np.arange(8, dtype=np.int32)), vectors)
    assert vectors.numpy().ravel().tolist() == list(range(8))
    part = wp.zeros(8, dtype=wp.float64)
    wp.utils.array_cast(out, part[::2], 2)
    assert part.list() == [1.0, 0.0, -2.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    wp.utils.array_cast(part[:0], out[:0])


def test_gradients():
    def weights(a: wp.array) -> wp.array:
        return wp.array(np.arange(1, a.size + 1, dtype=np.float32).reshape(a.shape), dtype=float)

    x = wp.array(np.arange(6, dtype=np.float32), requires_grad=True)
    for inclusive in (True, False):
        y = wp.zeros_like(x)
        with wp.Tape() as tape:
            wp.utils.array_scan(x, y, inclusive)
        tape.backward(grads={y: weights(y)})
        w = np.arange(1.0, 7.0)
        later = np.cumsum(w[::-1])[::-1]
        assert x.grad.list() == (later if inclusive else later - w).tolist()
        tape.zero()
    m = wp.array(np.arange(6, dtype=np.float32).reshape(2, 3), requires_grad=True)
    for axis, shape in ((None, (1,)), (0, (1, 3)), (1, (2, 1))):
        out = wp.zeros(shape, requires_grad=True)
        with wp.Tape() as tape:
            wp.utils.array_sum(m, out=out, axis=axis)
        tape.backward(grads={out: weights(out)})
        shares = weights(out).numpy() if axis is not None else weights(out).numpy()[0]
        np.testing.assert_array_equal(m.grad.numpy(), np.broadcast_to(shares, (2, 3)))
        tape.zero()
        with wp.Tape() as tape:
            wp.utils.array_inner(m, m, out=out, axis=axis)
        tape.backward(grads={out: weights(out)})
        np.testing.assert_array_equal(m.grad.numpy(), 2 * m.numpy() * shares)
        tape.zero()
    v = wp.array(np.arange(6, dtype=np.float32).reshape(2, 3), dtype=wp.vec3, requires_grad=True)
    total = wp.zeros(1, requires_grad=True)
    with wp.Tape() as tape:
        wp.utils.array_inner(v, v, out=total)
        v.zero_()
    tape.backward(total)
    np.testing.assert_array_equal(v.grad.numpy(), 2.0 * np.arange(6).reshape(2, 3))
    keys = wp.array(np.array([3, 1, 2, 0, 0, 0], np.float32), requires_grad=True)
    values = wp.array(np.array([30, 10, 20, 0, 0, 0], np.float32), requires_grad=True)
    with wp.Tape() as tape:
        wp.utils.radix_sort_pairs(keys, values, 3)
    assert values.list()[:3] == [10.0, 20.0, 30.0]
    tape.backward(grads={values: wp.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], dtype=float)})
    assert values.grad.list() == [3.0, 1.0, 2.0, 4.0, 5.0, 6.0]


def test_arrays_of_several_dimensions_count_as_their_memory():
    rows, columns = 30, 40
    n = rows * columns
    keys = RNG.integers(-99, 99, (rows, columns)).astype(np.float32)
    held = wp.array(np.concatenate((keys, keys)), dtype=float)
    values = wp.array(np.arange(2 * n, dtype=np.int32).reshape(2 * rows, columns))
    starts = wp.array(np.arange(0, n + 1, columns, dtype=np.int32))
    wp.utils.segmented_sort_pairs(held, values, n, starts)
    order = np.argsort(keys, axis=1, kind="stable")
    np.testing.assert_array_equal(held.numpy()[:rows], np.take_along_axis(keys, order, axis=1))
    np.testing.assert_array_equal(values.numpy()[:rows], order + columns * np.arange(rows)[:, None])
    wp.utils.radix_sort_pairs(held, values, n)
    np.testing.assert_array_equal(held.numpy()[:rows].ravel(), np.sort(keys, axis=None))
    out = wp.zeros((rows, columns), dtype=int)
    wp.utils.array_scan(wp.ones((rows, columns), dtype=int), out)
    np.testing.assert_array_equal(out.numpy().ravel(), np.arange(1, n + 1))
    with pytest.raises(RuntimeError, match="must have 1 dimension"):
        wp.utils.array_scan(wp.ones((columns, rows), dtype=int).transpose(), out)


def test_sums_do_not_depend_on_threads():
    if wp.get_device().is_cuda:
        pytest.skip("about the CPU")
    numbers = (1.0 / np.arange(1, 200_001)).astype(np.float32)
    a, sums = wp.array(numbers), wp.zeros(200_000, dtype=float)
    seen = set()
    threads = wp.config.cpu_threads
    try:
        for wp.config.cpu_threads in (1, 2, 0):
            wp.utils.array_scan(a, sums)
            seen.add((float(wp.utils.array_sum(a)), float(wp.utils.array_inner(a, a)), sums.numpy().tobytes()))
    finally:
        wp.config.cpu_threads = threads
    assert len(seen) == 1
    assert np.all(np.diff(sums.numpy()) >= 0.0)


def test_sorts_of_arrays_that_share_memory():
    both = wp.array(RNG.integers(0, 1000, 80_000).astype(np.int32))
    keys = both.numpy()[:20_000].copy()
    wp.utils.radix_sort_pairs(both, both[20_000:], 20_000)
    np.testing.assert_array_equal(both.numpy()[:20_000], np.sort(keys))


def test_results_may_overwrite_values():
    values = np.repeat(np.arange(5000, dtype=np.int32), 8)
    a, lengths = wp.array(values), wp.zeros(values.size, dtype=int)
    assert wp.utils.runlength_encode(a, a, lengths) == 5000
    np.testing.assert_array_equal(a.numpy()[:5000], np.arange(5000))
    assert set(lengths.numpy()[:5000].tolist()) == {8}
    x = wp.array(np.arange(12, dtype=np.float32).reshape(3, 4))
    wp.utils.array_sum(x, out=x[:1], axis=0)
    assert x.numpy()[0].tolist() == [12.0, 15.0, 18.0, 21.0]


def test_bad_arguments():
    a = wp.zeros(4)
    with pytest.raises(RuntimeError, match="sizes"):
        wp.utils.array_scan(a, wp.zeros(3))
    with pytest.raises(RuntimeError, match="types"):
        wp.utils.array_scan(a, wp.zeros(4, dtype=int))
    with pytest.raises(RuntimeError, match="out array"):
        wp.utils.array_sum(a, out=wp.zeros(2))
    with pytest.raises(RuntimeError, match="2\\*count"):
        wp.utils.radix_sort_pairs(a, a, 3)
    with pytest.raises(RuntimeError, match="Cast count"):
        wp.utils.array_cast(a, wp.zeros(3))
    if not wp.get_device().is_cuda and wp._src.algorithms.array_algorithms._on_device(a) is None:
        with pytest.raises(RuntimeError, match="index 1: 1 to 9 does not lie within 0 to 2"):
            wp.utils.segmented_sort_pairs(a, a, 2, wp.array([0, 1, 9], dtype=int))
    with pytest.raises(RuntimeError, match="floats"):
        wp.utils.array_sum(wp.zeros(3, dtype=int))


def test_all_of_it_can_be_captured():
    if not wp.get_device().is_cuda:
        pytest.skip("GPUs only")
    n = 5000
    source = wp.zeros(n, dtype=float)
    keys, values = wp.zeros(2 * n, dtype=float), wp.zeros(2 * n, dtype=int)
    sums, total, largest = wp.zeros(n, dtype=float), wp.zeros(1, dtype=float), wp.zeros(n, dtype=int)
    runs, lengths, count = wp.zeros(n, dtype=int), wp.zeros(n, dtype=int), wp.zeros(1, dtype=int)
    with wp.ScopedCapture() as capture:
        wp.copy(keys, source, count=n)
        wp.utils.radix_sort_pairs(keys, values, n)
        wp.utils.array_cast(keys, largest, n)
        wp.utils.array_scan(keys[:n], sums)
        wp.utils.array_sum(sums, out=total)
        wp.utils.runlength_encode(largest, runs, lengths, count)
    for k in range(3):
        numbers = RNG.integers(0, 20, n).astype(np.float32)
        source.assign(numbers)
        wp.capture_launch(capture.graph)
        ordered = np.sort(numbers)
        np.testing.assert_array_equal(keys.numpy()[:n], ordered)
        np.testing.assert_array_equal(sums.numpy(), np.cumsum(ordered))
        np.testing.assert_allclose(total.numpy()[0], np.cumsum(ordered, dtype=np.float64).sum(), rtol=1e-6)
        assert count.list() == [len(np.unique(numbers))]
        assert lengths.numpy()[: count.list()[0]].sum() == n


def test_bfloat16(device):
    """NumPy has no such numbers: their bits must not be taken for them."""
    a = wp.array([[1.0, 2.0], [3.5, -4.0]], dtype=wp.bfloat16, device=device, requires_grad=True)
    assert wp.utils.array_sum(a) == 2.5
    assert wp.utils.array_inner(a, a) == 33.25
    assert wp.utils.array_sum(a, axis=0).list() == [4.5, -2.0]
    assert wp.utils.array_inner(a, a, axis=1).list() == [5.0, 28.25]
    wide, narrow = wp.zeros((2, 2), dtype=wp.float32, device=device), wp.zeros(3, dtype=wp.bfloat16, device=device)
    wp.utils.array_cast(a, wide)
    np.testing.assert_array_equal(wide.numpy(), [[1.0, 2.0], [3.5, -4.0]])
    wp.utils.array_cast(wp.array([1, 2, 70], dtype=wp.uint16, device=device), narrow)
    assert narrow.list() == [1.0, 2.0, 70.0]
    out = wp.zeros(1, dtype=wp.bfloat16, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.utils.array_inner(a, a, out=out)
    tape.backward(out)
    assert out.list() == [33.25]
    assert a.grad.list() == [2.0, 4.0, 7.0, -8.0]
