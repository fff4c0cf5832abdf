"""Algorithms on whole arrays: which arguments they take, and the words and classes of what they refuse."""

from __future__ import annotations

import re

import numpy as np
import pytest

import warp as wp
from warp import utils


def refused(error, *words, end=""):
    """That a call raises an error which contains the words, and ends as programs expect."""
    return pytest.raises(error, match=".*".join(re.escape(w) for w in (*words, end)) + ("$" if end else ""))


# ---- flat memory ---------------------------------------------------------------------------------------------------


def test_sorts_of_arrays_of_any_rank():
    rng = np.random.default_rng(1)
    numbers = rng.integers(-50, 50, 12).astype(np.int32)
    for shape in ((4, 6), (2, 3, 4), (24,)):
        keys, values = wp.zeros(shape, dtype=int), wp.zeros(shape, dtype=int)
        keys.flatten()[:12].assign(numbers)
        values.flatten()[:12].assign(np.arange(12))
        utils.radix_sort_pairs(keys, values, 12)
        order = np.argsort(numbers, kind="stable")
        np.testing.assert_array_equal(keys.numpy().ravel()[:12], numbers[order])
        np.testing.assert_array_equal(values.numpy().ravel()[:12], order)


def test_segmented_sorts_of_arrays_of_any_rank():
    rng = np.random.default_rng(2)
    worlds, each = 5, 4
    numbers = rng.random((worlds, each)).astype(np.float32)
    keys, values = wp.zeros((worlds, 2 * each), dtype=float), wp.zeros((worlds, 2 * each), dtype=int)
    keys.flatten()[: numbers.size].assign(numbers)
    values.flatten()[: numbers.size].assign(np.arange(numbers.size))
    starts = wp.array(np.arange(worlds + 1) * each, dtype=int)
    utils.segmented_sort_pairs(keys.reshape((-1, each)), values.reshape((-1, each)), numbers.size, starts)
    np.testing.assert_array_equal(keys.numpy().ravel()[: numbers.size], np.sort(numbers, axis=1).ravel())
    np.testing.assert_array_equal(numbers.ravel()[values.numpy().ravel()[: numbers.size]], np.sort(numbers).ravel())


def test_scans_and_runs_of_arrays_of_any_rank():
    a, sums = wp.array(np.arange(6).reshape(2, 3), dtype=int), wp.zeros((3, 2), dtype=int)
    utils.array_scan(a, sums)
    np.testing.assert_array_equal(sums.numpy().ravel(), np.cumsum(np.arange(6)))
    runs = wp.array([[1, 1], [1, 2]], dtype=int)
    found, lengths = wp.zeros((2, 2), dtype=int), wp.zeros((2, 2), dtype=int)
    assert utils.runlength_encode(runs, found, lengths) == 2
    assert found.numpy().ravel()[:2].tolist() == [1, 2] and lengths.numpy().ravel()[:2].tolist() == [3, 1]


def test_only_packed_memory_is_flat():
    with pytest.raises(RuntimeError, match="dimension"):
        utils.array_scan(wp.zeros((4, 4))[:, :2], wp.zeros((4, 2)))


# ---- conversion ----------------------------------------------------------------------------------------------------


def cast(source, target, **options):
    utils.array_cast(source, target, **options)
    return target.numpy().tolist()


def test_cast_counts_elements_of_the_input():
    pairs = wp.array([[1.0, 2.0], [3.0, 4.0]], dtype=wp.vec2)
    assert cast(pairs, wp.zeros(4, dtype=int), count=1) == [1, 2, 0, 0]
    assert cast(wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), wp.zeros(2, dtype=wp.vec2d), count=2) == [[1, 2], [0, 0]]
    assert cast(wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), wp.zeros(2, dtype=wp.vec2d), count=3) == [[1, 2], [3, 0]]
    assert cast(pairs, wp.zeros(2, dtype=wp.vec2d), count=0) == [[0, 0], [0, 0]]
    assert cast(pairs, wp.zeros((2, 2), dtype=int)) == [[1, 2], [3, 4]]
    assert cast(wp.array([1.5, 2.5], dtype=float), wp.zeros(3, dtype=int)) == [1, 2, 0]
    assert cast(wp.array([1.0, 2.0, 3.0, 4.0], dtype=float)[::2], wp.zeros(4, dtype=int)[1::2]) == [1, 3]


def test_cast_converts_as_kernels_do():
    floats = wp.array([1.7, -1.7, 1e20, -1e20, np.nan], dtype=float)
    assert cast(floats, wp.zeros(5, dtype=int)) == [1, -1, 2147483647, -2147483648, 0]
    assert cast(wp.array([1, -1, 300], dtype=int), wp.zeros(3, dtype=wp.uint8)) == [1, 255, 44]
    assert cast(wp.array([1, -1, 0], dtype=int), wp.zeros(3, dtype=wp.bool)) == [True, True, False]
    assert cast(wp.array([True, False], dtype=wp.bool), wp.zeros(2, dtype=float)) == [1.0, 0.0]
    assert cast(wp.array([1.5, 70000.0], dtype=float), wp.zeros(2, dtype=wp.float16)) == [1.5, np.inf]


@pytest.mark.parametrize("source", ["int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "bool"])
@pytest.mark.parametrize("target", ["int16", "uint8", "int64", "uint32", "float16", "float32", "float64", "bool"])
def test_cast_of_many_numbers(source, target):
    a = wp.array(np.arange(5000) % 100, dtype=getattr(wp, source))
    b = wp.zeros(5000, dtype=getattr(wp, target))
    utils.array_cast(a, b)
    np.testing.assert_array_equal(b.numpy(), a.numpy().astype(b.numpy().dtype))


def test_cast_within_one_array():
    a = wp.array(np.arange(6), dtype=float)
    utils.array_cast(a[:4], a[2:])
    assert a.numpy().tolist() == [0, 1, 0, 1, 2, 3]


def test_cast_in_a_graph_and_on_a_tape():
    a, b = wp.array([1.0, 2.0], dtype=wp.float64, requires_grad=True), wp.zeros(2, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        utils.array_cast(a, b)
    tape.backward(grads={b: wp.array([3.0, 4.0], dtype=float)})
    assert b.numpy().tolist() == [1.0, 2.0] and a.grad.numpy().tolist() == [3.0, 4.0]
    c = wp.zeros(2, dtype=int)
    with wp.ScopedCapture() as capture:
        utils.array_cast(a, c)
    assert c.numpy().tolist() == [0, 0]
    a.fill_(5.0)
    wp.capture_launch(capture.graph)
    assert c.numpy().tolist() == [5, 5]


def test_cast_refuses():
    with refused(RuntimeError, "Partial cast is not supported for arrays with more than one dimension"):
        utils.array_cast(wp.zeros((3, 2)), wp.zeros((3, 2), dtype=int), count=1)
    with refused(RuntimeError, end="Cast count (4) exceeds the input size (3) or output size (3)"):
        utils.array_cast(wp.zeros(3), wp.zeros(3, dtype=int), count=4)
    with refused(RuntimeError, end="Cast count (10) exceeds the input size (10) or output size (3)"):
        utils.array_cast(wp.zeros(10), wp.zeros(3, dtype=int))
    with refused(RuntimeError, end="Array shapes do not match ((3, 2) vs (2, 3))"):
        utils.array_cast(wp.zeros((3, 2)), wp.zeros((2, 3), dtype=int))
    with pytest.raises(RuntimeError):
        utils.array_cast(wp.zeros(3), wp.zeros(3, dtype=int), count=-1)
    with pytest.raises(TypeError):
        utils.array_cast([1, 2], wp.zeros(2))


# ---- counts --------------------------------------------------------------------------------------------------------


def test_sums_of_the_first_elements():
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    a = wp.array(values, dtype=float, requires_grad=True)
    for count in (0, 1, 5, 24):
        assert utils.array_sum(a, value_count=count) == values.ravel()[:count].sum()
        assert utils.array_inner(a, a, count=count) == (values.ravel()[:count] ** 2).sum()
        assert utils.array_sum(a.transpose(), value_count=count) == values.T.ravel()[:count].sum()
    for axis in (0, 1, 2, -1, -3):
        for count in range(values.shape[axis] + 1):
            part = np.take(values, range(count), axis)
            np.testing.assert_array_equal(
                utils.array_sum(a, axis=axis, value_count=count).numpy(), part.sum(axis, keepdims=True)
            )
            np.testing.assert_array_equal(
                utils.array_inner(a, a, axis=axis, count=count).numpy(), (part**2).sum(axis, keepdims=True)
            )
    with pytest.raises(RuntimeError):
        utils.array_sum(a, value_count=25)
    with pytest.raises(RuntimeError):
        utils.array_sum(a, axis=1, value_count=4)
    for axis in (3, -4):
        with refused(IndexError, f"array_sum() axis {axis} is out of bounds"):
            utils.array_sum(a, axis=axis)


def test_gradients_of_sums_of_the_first_elements():
    a, out = wp.ones((2, 3), requires_grad=True), wp.zeros(1, requires_grad=True)
    tape = wp.Tape()
    with tape:
        utils.array_sum(a, out=out, value_count=4)
    tape.backward(grads={out: wp.ones(1)})
    assert a.grad.numpy().tolist() == [[1, 1, 1], [1, 0, 0]]
    sums = wp.zeros((2, 1), requires_grad=True)
    a.grad.zero_()
    tape = wp.Tape()
    with tape:
        utils.array_sum(a, out=sums, axis=1, value_count=2)
    tape.backward(grads={sums: wp.array([[1.0], [2.0]], dtype=float)})
    assert a.grad.numpy().tolist() == [[1, 1, 0], [2, 2, 0]]


# ---- words ---------------------------------------------------------------------------------------------------------


def test_words_about_scans():
    with refused(RuntimeError, "sizes do not match (3 vs 4)", end="Array storage sizes do not match"):
        utils.array_scan(wp.zeros(3), wp.zeros(4))
    with refused(RuntimeError, "types do not match (float32 vs int32)", end="Array data types do not match"):
        utils.array_scan(wp.zeros(3), wp.zeros(3, dtype=int))
    with refused(RuntimeError, "Unsupported data type: uint8", end="Unsupported data type"):
        utils.array_scan(wp.zeros(3, dtype=wp.uint8), wp.zeros(3, dtype=wp.uint8))


def test_words_about_sums():
    a = wp.zeros((3, 2))
    for function in (lambda x, **o: utils.array_sum(x, **o), lambda x, **o: utils.array_inner(x, x, **o)):
        with refused(RuntimeError, end="out array should have type float32"):
            function(a, out=wp.zeros(1, dtype=wp.float64))
        with refused(RuntimeError, end="out array should have shape (1,)"):
            function(a, out=wp.zeros(2))
        with refused(RuntimeError, end="out array should have shape (1, 2)"):
            function(a, out=wp.zeros((3, 2)), axis=0)
        with refused(RuntimeError, "Unsupported data type: int32", end="Unsupported data type"):
            function(wp.zeros(3, dtype=int))
    with refused(RuntimeError, "do not match (float32 vs float64)", end="Array data types do not match"):
        utils.array_inner(wp.zeros(3), wp.zeros(3, dtype=wp.float64))
    for error in (RuntimeError, ValueError):
        with refused(error, "must have the same shape, got (3,) and (4,)", end="Array storage sizes do not match"):
            utils.array_inner(wp.zeros(3), wp.zeros(4))


def test_words_about_sorts():
    four, three = wp.zeros(4, dtype=int), wp.zeros(3, dtype=int)
    room = "Array storage must be large enough to contain 2*count elements"
    starts = wp.array([0, 2], dtype=int)
    for keys, values in ((three, four), (four, three)):
        with refused(RuntimeError, "Keys and values array storage must be large enough", end=room):
            utils.radix_sort_pairs(keys, values, 2)
        with refused(RuntimeError, end=room):
            utils.segmented_sort_pairs(keys, values, 2, starts)
    with refused(RuntimeError, "Unsupported data type: int16", end="Unsupported data type"):
        utils.radix_sort_pairs(wp.zeros(4, dtype=wp.int16), four, 2)
    with refused(RuntimeError, "Unsupported data type: int64", end="Unsupported data type"):
        utils.segmented_sort_pairs(wp.zeros(4, dtype=wp.int64), four, 2, starts)
    for begin, end in ((4, 2), (0, 33)):
        with refused(RuntimeError, end=f"Invalid radix sort bit range [{begin}, {end}) for 32-bit keys"):
            utils.radix_sort_pairs(four, four, 2, begin_bit=begin, end_bit=end)
    for error in (RuntimeError, ValueError):
        with refused(error, end="count must be non-negative, got -1"):
            utils.segmented_sort_pairs(four, four, -1, starts)
        with refused(error, end="count must not exceed 2147483647, got 2147483648"):
            utils.segmented_sort_pairs(four, four, 1 << 31, starts)
    for count in (True, 1.5, "2"):
        with refused(TypeError, "count must be an integer"):
            utils.segmented_sort_pairs(four, four, count, starts)
    with refused(RuntimeError, end="segment_start_indices array must be of type int32"):
        utils.segmented_sort_pairs(four, four, 2, wp.zeros(2, dtype=float))
    with refused(RuntimeError, end="segment_end_indices must have the same size (2 vs 1)"):
        utils.segmented_sort_pairs(four, four, 2, starts, wp.zeros(1, dtype=int))


@pytest.mark.cpu_only("a GPU cuts segments that reach too far")
def test_words_about_segments():
    four = wp.zeros(4, dtype=int)
    for error in (RuntimeError, ValueError):
        with refused(error, "Invalid segment range at index 1"):
            utils.segmented_sort_pairs(four, four, 2, wp.array([0, 1, 3], dtype=int))


def test_words_about_runs():
    def ints(n):
        return wp.zeros(n, dtype=int)

    with refused(RuntimeError, "(int32 vs float32)", end="values and run_values data types do not match"):
        utils.runlength_encode(ints(3), wp.zeros(3), ints(3))
    with refused(RuntimeError, "Unsupported data type: float32", end="Unsupported data type"):
        utils.runlength_encode(wp.zeros(3), wp.zeros(3), ints(3))
    with refused(RuntimeError, end="run_lengths array must be of type int32"):
        utils.runlength_encode(ints(3), ints(3), wp.zeros(3))
    with refused(RuntimeError, end="run_count array must be of type int32"):
        utils.runlength_encode(ints(3), ints(3), ints(3), run_count=wp.zeros(1))
    for found, lengths in ((ints(2), ints(3)), (ints(3), ints(2))):
        room = "Output array storage sizes must be at least equal to value_count"
        with refused(RuntimeError, f"{room} (3)", end=room):
            utils.runlength_encode(ints(3), found, lengths)


# ---- meshes and machines -------------------------------------------------------------------------------------------


def edges_of(triangles, count=None):
    mesh = utils.MeshAdjacency(triangles, len(triangles) if count is None else count)
    return {key: (e.v0, e.v1, e.o0, e.o1, e.f0, e.f1) for key, e in mesh.edges.items()}


def test_edges_of_a_mesh(capsys):
    triangles = [(0, 3, 1), (0, 2, 3)]
    expected = {
        (0, 3): (0, 3, 1, 2, 0, 1),
        (1, 3): (3, 1, 0, -1, 0, -1),
        (0, 1): (1, 0, 3, -1, 0, -1),
        (0, 2): (0, 2, 3, -1, 1, -1),
        (2, 3): (2, 3, 0, -1, 1, -1),
    }
    assert edges_of(triangles) == expected and list(edges_of(triangles)) == list(expected)
    assert edges_of(np.array(triangles)) == edges_of(wp.array(triangles, dtype=int), 2) == expected
    assert edges_of(np.array(triangles).ravel(), 2) == expected
    assert len(edges_of(triangles, 1)) == 3 and edges_of([], 0) == {}
    assert all(type(n) is int for key, edge in edges_of(np.array(triangles)).items() for n in (*key, *edge))
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError):
        utils.MeshAdjacency(triangles, 3)


def test_edges_of_three_faces(capsys):
    edges = edges_of([(0, 3, 1), (0, 2, 3), (3, 0, 1)])
    assert capsys.readouterr().out == "Detected non-manifold edge\n"
    assert edges[0, 3] == (0, 3, 1, 2, 0, 1) and edges[0, 1] == (1, 0, 3, 3, 0, 2)


def test_edges_of_random_triangles():
    triangles = np.random.default_rng(0).permutation(3000).reshape(-1, 3) % 1700
    expected = {}
    for face, (a, b, c) in enumerate(triangles.tolist()):
        for v0, v1, opposite in ((a, b, c), (b, c, a), (c, a, b)):
            edge = expected.setdefault((min(v0, v1), max(v0, v1)), [v0, v1, opposite, -1, face, -1, 0])
            edge[6] += 1
            if edge[6] == 2:
                edge[3], edge[5] = opposite, face
    assert edges_of(triangles) == {key: tuple(edge[:6]) for key, edge in expected.items()}


def test_peer_copies():
    assert utils.check_p2p() is True or len(wp.get_cuda_devices()) > 1
