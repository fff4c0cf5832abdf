"""Sorts, prefix sums, sums and runs of so many elements that blocks of a GPU wait for each other: as NumPy does it, and with
the same bytes in every run. All of it is skipped without a CUDA device."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

pytestmark = pytest.mark.skipif(not wp.is_cuda_available(), reason="there is no CUDA device")

RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def on_cuda():
    with wp.ScopedDevice("cuda:0"):
        yield
    wp.synchronize()


def unsigned(keys: np.ndarray) -> np.ndarray:
    """Unsigned numbers of the keys' order."""
    bits = keys.view(f"u{keys.itemsize}")
    sign = bits.dtype.type(1 << (8 * keys.itemsize - 1))
    if keys.dtype.kind == "f":
        return np.where(bits & sign, ~bits, bits | sign)
    return bits ^ sign if keys.dtype.kind == "i" else bits


@pytest.mark.parametrize("key", ["int32", "uint32", "float32", "int64", "uint64", "float64"])
@pytest.mark.parametrize("value", ["int32", "int64"])
def test_sorts_of_many_pairs(key, value):
    n = 1_500_007
    keys = RNG.integers(0, 256, n * np.dtype(key).itemsize, dtype=np.uint8).view(key).copy()
    held = wp.zeros(2 * n, dtype=getattr(wp, key))
    held[:n].assign(keys)
    values = wp.array(np.arange(2 * n), dtype=getattr(wp, value))
    wp.utils.radix_sort_pairs(held, values, n)
    order = np.argsort(unsigned(keys), kind="stable")
    np.testing.assert_array_equal(values.numpy()[:n], order)
    np.testing.assert_array_equal(held.numpy()[:n].view(np.uint8), keys[order].view(np.uint8))


@pytest.mark.parametrize("digits", [1, 2, 300, 1 << 20])
def test_sorts_of_few_different_keys(digits):
    n = 3_000_000
    keys = RNG.integers(0, digits, n).astype(np.int32)
    held = wp.zeros(2 * n, dtype=wp.int32)
    held[:n].assign(keys)
    values = wp.array(np.arange(2 * n, dtype=np.int32))
    wp.utils.radix_sort_pairs(held, values, n)
    order = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(values.numpy()[:n], order)
    np.testing.assert_array_equal(held.numpy()[:n], keys[order])


@pytest.mark.parametrize("n", [1_000_003, 5_000_000, 30_000_001])
def test_floats_have_the_same_bytes_in_every_run(n):
    numbers = RNG.standard_normal(n).astype(np.float32)
    source, sums, total = wp.array(numbers), wp.zeros(n), wp.zeros(1)
    seen, totals = set(), set()
    for _ in range(5):
        sums.zero_()
        wp.utils.array_scan(source, sums)
        wp.utils.array_sum(source, out=total)
        seen.add(hash(sums.numpy().tobytes()))
        totals.add(total.numpy().tobytes())
    assert len(seen) == 1 and len(totals) == 1
    exact = np.cumsum(numbers, dtype=np.float64)
    np.testing.assert_allclose(sums.numpy(), exact, atol=1e-3 * np.sqrt(n) / 100)


@pytest.mark.parametrize("dtype", [wp.int32, wp.int64, wp.float64, wp.float16])
@pytest.mark.parametrize("inclusive", [True, False])
def test_prefix_sums_of_many(dtype, inclusive):
    n = 4_300_009 if dtype is not wp.float16 else 2_000
    numbers = RNG.integers(0, 2 if dtype is wp.float16 else 9, n).astype(wp.types.dtype_to_numpy(dtype))
    out = wp.zeros(n, dtype=dtype)
    wp.utils.array_scan(wp.array(numbers, dtype=dtype), out, inclusive)
    expected = np.cumsum(numbers, dtype=numbers.dtype)
    np.testing.assert_array_equal(out.numpy(), expected if inclusive else expected - numbers)
    # Of every third one, from memory that is not aligned.
    part, found = wp.array(numbers, dtype=dtype)[1::3], wp.zeros(len(numbers[1::3]), dtype=dtype)
    wp.utils.array_scan(part, found, inclusive)
    expected = np.cumsum(numbers[1::3], dtype=numbers.dtype)
    np.testing.assert_array_equal(found.numpy(), expected if inclusive else expected - numbers[1::3])


def test_segments_and_runs_in_a_graph():
    n, length = 2_000_000, 100
    source = wp.zeros(n, dtype=wp.float32)
    keys, values = wp.zeros(2 * n, dtype=wp.float32), wp.zeros(2 * n, dtype=wp.int32)
    edges = wp.array(np.arange(0, n + 1, length, dtype=np.int32))
    rounded, runs, lengths = (wp.zeros(n, dtype=wp.int32) for _ in range(3))
    count = wp.zeros(1, dtype=wp.int32)
    numbers = wp.array(np.arange(n, dtype=np.int32))
    with wp.ScopedCapture() as capture:
        wp.copy(keys, source, count=n)
        wp.copy(values, numbers, count=n)
        wp.utils.segmented_sort_pairs(keys, values, n, edges)
        wp.utils.array_cast(keys, rounded, n)
        wp.utils.runlength_encode(rounded, runs, lengths, count)
    for _ in range(2):
        given = RNG.integers(-40, 40, n).astype(np.float32)
        source.assign(given)
        wp.capture_launch(capture.graph)
        order = np.argsort(given.reshape(-1, length), axis=1, kind="stable")
        order = (order + length * np.arange(n // length)[:, None]).ravel()
        np.testing.assert_array_equal(values.numpy()[:n], order)
        ordered = given[order].astype(np.int32)
        np.testing.assert_array_equal(rounded.numpy(), ordered)
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        assert count.numpy()[0] == len(starts)
        np.testing.assert_array_equal(runs.numpy()[: len(starts)], ordered[starts])
        np.testing.assert_array_equal(lengths.numpy()[: len(starts)], np.diff(np.append(starts, n)))


def test_runs_leave_what_is_behind_them():
    values = wp.array(np.repeat([3, 1, 4], 5).astype(np.int32))
    runs, lengths = wp.full(30, -1, dtype=wp.int32)[::2], wp.full(15, -1, dtype=wp.int32)
    assert wp.utils.runlength_encode(values, runs, lengths) == 3
    assert runs.numpy().tolist() == [3, 1, 4] + [-1] * 12
    assert lengths.numpy().tolist() == [5, 5, 5] + [-1] * 12


def test_sorts_on_two_streams():
    n = 400_000
    streams = [wp.Stream("cuda:0") for _ in range(2)]
    given = [RNG.integers(0, 1 << 31, n).astype(np.int32) for _ in streams]
    keys = [wp.array(np.tile(one, 2)) for one in given]
    values = [wp.zeros(2 * n, dtype=wp.int32) for _ in streams]
    wp.synchronize()
    for _ in range(5):
        for stream, k, v in zip(streams, keys, values):
            with wp.ScopedStream(stream, sync_enter=False):
                wp.utils.radix_sort_pairs(k, v, n)
    wp.synchronize()
    for one, k in zip(given, keys):
        np.testing.assert_array_equal(k.numpy()[:n], np.sort(one))
