"""warp.sparse: matrices from triplets, their topologies, and what kernels and programs see of them."""

import pickle

import numpy as np
import pytest
import warp as wp
import warp.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sparse_support import KINDS, dense, dense_of, name_of, random_matrix, shape_of, tolerance, triplets


def ints(*numbers):
    return wp.array(numbers, dtype=int)


def floats(*numbers):
    return wp.array(numbers, dtype=float)


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
@pytest.mark.parametrize("prune", [True, False])
def test_triplets_of_one_place_are_added_up(kind, prune):
    rows, cols, values, parts = triplets(7, 5, 60, kind, 1)
    made = sp.bsr_from_triplets(7, 5, rows, cols, values, prune_numerical_zeros=prune)
    np.testing.assert_allclose(dense(made), dense_of(7, 5, parts), atol=tolerance(kind))
    keep = np.abs(parts[2]).reshape(60, -1).max(1) > 0 if prune else np.ones(60, bool)
    assert made.nnz == len({(r, c) for r, c in zip(parts[0][keep], parts[1][keep])})
    assert made.shape == (7 * shape_of(kind)[0], 5 * shape_of(kind)[1])
    assert made.block_shape == shape_of(kind) and made.block_size == np.prod(shape_of(kind))
    assert made.dtype == values.dtype and made.device == values.device


def test_what_is_known_of_a_matrix():
    made = sp.bsr_from_triplets(3, 3, ints(0, 2, 0), ints(1, 0, 1), floats(1, 2, 3))
    assert isinstance(made, sp.BsrMatrix) and made.scalar_type is wp.float32 and not made.requires_grad
    assert made.nnz == 3, "a bound, until the number is asked for"
    assert made.nnz_sync() == made.nnz == 2
    assert made.uncompress_rows().numpy().tolist() == [0, 2]
    assert made.scalar_values.shape == (3, 1, 1)
    assert made.offsets.numpy().tolist() == [0, 1, 1, 2] and made.columns.numpy()[:2].tolist() == [1, 0]
    assert made.status_sync() == sp.BSR_STATUS_SUCCESS and made.status_message() == "success"


def test_triplets_outside_of_the_matrix_are_left_out():
    made = sp.bsr_from_triplets(2, 3, ints(0, 2, -1, 1, 1, 0), ints(2, 0, 0, 3, -1, 0), floats(1, 2, 3, 4, 5, 6))
    np.testing.assert_array_equal(dense(made), [[6, 0, 1], [0, 0, 0]])


def test_count_says_how_many_triplets_there_are():
    made = sp.bsr_zeros(3, 3, float)
    sp.bsr_set_from_triplets(made, ints(0, 1, 2), ints(0, 1, 2), floats(1, 2, 3), count=ints(2))
    np.testing.assert_array_equal(dense(made), np.diag([1, 2, 0]))


def test_no_values_set_the_blocks_alone():
    made = sp.bsr_zeros(3, 3, wp.mat22)
    sp.bsr_set_from_triplets(made, ints(2, 0, 2), ints(1, 0, 1))
    assert made.nnz_sync() == 2 and made.columns.numpy()[:2].tolist() == [0, 1]


def test_values_in_three_dimensions_are_blocks():
    numbers = np.arange(12.0).reshape(2, 2, 3)
    made = sp.bsr_from_triplets(2, 2, ints(0, 1), ints(1, 0), wp.array(numbers, dtype=float))
    assert made.block_shape == (2, 3)
    np.testing.assert_array_equal(dense(made), dense_of(2, 2, (np.array([0, 1]), np.array([1, 0]), numbers)))
    into = sp.bsr_zeros(2, 2, wp.types.matrix((2, 3), float))
    sp.bsr_set_from_triplets(into, ints(0, 1), ints(1, 0), wp.array(numbers, dtype=float))
    np.testing.assert_array_equal(dense(into), dense(made))


@pytest.mark.parametrize("kind", [float, wp.types.matrix((2, 3), float)], ids=["float", "2x3"])
def test_arrays_with_strides(kind):
    rows, cols, values, (r, c, blocks) = triplets(4, 5, 20, kind, 21)
    made = sp.bsr_from_triplets(4, 5, rows[::2], cols[1::2], values[::2])
    want = dense_of(4, 5, (r[::2], c[1::2], blocks[::2]))
    np.testing.assert_allclose(dense(made), want, atol=1e-6)
    room = wp.zeros(2 * made.values.shape[0], dtype=made.dtype)[::2]
    room.assign(made.values)
    made.values = room
    np.testing.assert_allclose(dense(made), want, atol=1e-6)
    np.testing.assert_allclose(dense(made.transpose()), want.T, atol=1e-6)
    sp.bsr_set_from_triplets(made, rows[::2], cols[1::2], values[::2])
    np.testing.assert_allclose(dense(made), want, atol=1e-6)
    x = wp.array(np.arange(want.shape[1]), dtype=float)
    np.testing.assert_allclose(sp.bsr_mv(made, x).numpy().reshape(-1), want @ x.numpy(), atol=1e-5)


def test_a_mask_keeps_the_blocks():
    made, _ = random_matrix(3, 3, 0, float, 0)
    sp.bsr_set_from_triplets(made, ints(0, 0, 2), ints(0, 1, 2), floats(1, 1, 1))
    for options in ({"topology": "masked"}, {"masked": True}):
        sp.bsr_set_from_triplets(made, ints(0, 1, 0, 0), ints(1, 1, 1, 2), floats(5, 6, 7, 8), **options)
        np.testing.assert_array_equal(dense(made), [[0, 12, 0], [0, 0, 0], [0, 0, 0]])
        assert made.nnz == 3


def test_arguments_in_the_order_of_earlier_versions():
    made = sp.bsr_zeros(2, 2, float)
    sp.bsr_set_from_triplets(made, ints(0, 1), ints(0, 1), floats(0, 1), False)
    assert made.nnz_sync() == 2
    sp.bsr_set_from_triplets(made, ints(0, 0), ints(0, 1), floats(3, 1), True, True)
    np.testing.assert_array_equal(dense(made), [[3, 0], [0, 0]])
    other = sp.bsr_identity(2, float)
    sp.bsr_assign(made, other, False, True)
    np.testing.assert_array_equal(dense(made), np.eye(2))
    sp.bsr_axpy(other, made, 1.0, 2.0, True)
    np.testing.assert_array_equal(dense(made), 3 * np.eye(2))
    sp.bsr_mm(other, other, made, 1.0, 0.0, True)
    np.testing.assert_array_equal(dense(made), np.eye(2))


def test_padded_rows_keep_their_room():
    made = sp.bsr_zeros(3, 4, float, topology="padded", row_capacity=2)
    assert made.row_counts.numpy().tolist() == [0, 0, 0] and made.offsets.numpy().tolist() == [0, 2, 4, 6]
    sp.bsr_set_from_triplets(made, ints(2, 0, 2), ints(3, 1, 0), floats(1, 2, 3), topology="padded")
    np.testing.assert_array_equal(dense(made), [[0, 2, 0, 0], [0, 0, 0, 0], [3, 0, 0, 1]])
    assert made.row_counts.numpy().tolist() == [1, 0, 2] and made.nnz == 6
    assert made.uncompress_rows().numpy().tolist() == [0, -1, -1, -1, 2, 2]
    np.testing.assert_allclose(sp.bsr_mv(made, floats(1, 2, 3, 4)).numpy(), [4, 0, 7])
    np.testing.assert_allclose(sp.bsr_mv(made, floats(1, 2, 3), transpose=True).numpy(), [9, 2, 0, 3])
    assert made.status_sync() == sp.BSR_STATUS_SUCCESS


def test_rows_without_room_are_emptied_and_the_status_says_so():
    made = sp.bsr_zeros(2, 3, float, row_capacity=wp.array([1, 2], dtype=int))
    sp.bsr_set_from_triplets(made, ints(0, 0, 1, 1), ints(0, 1, 1, 2), floats(1, 2, 3, 4), topology="padded")
    assert made.status_sync() == sp.BSR_STATUS_ROW_CAPACITY_EXCEEDED and "exceeded" in made.status_message()
    np.testing.assert_array_equal(dense(made), [[0, 0, 0], [0, 3, 4]])
    made.clear_status()
    assert made.status_sync() == sp.BSR_STATUS_SUCCESS


def test_set_zero():
    made, _ = random_matrix(4, 4, 12, float, 3)
    sp.bsr_set_zero(made, topology="masked")
    assert made.nnz_sync() > 0 and not dense(made).any()
    sp.bsr_set_zero(made, 2, 5)
    assert (made.nrow, made.ncol, made.nnz_sync()) == (2, 5, 0)
    sp.bsr_set_zero(made, topology="padded", row_capacity=3, nnz_capacity=10)
    assert made.nnz == 6 and made.values.shape[0] >= 10
    with pytest.raises(ValueError, match="resize"):
        sp.bsr_set_zero(made, 3, 3, topology="masked")


def test_maps_set_further_values_without_sorting():
    rows, cols, values, parts = triplets(5, 6, 40, wp.mat22, 5)
    made = sp.bsr_zeros(5, 6, wp.mat22)
    mapping = sp.bsr_set_from_triplets(made, rows, cols, values, prune_numerical_zeros=False, build_mapping=True)
    assert isinstance(mapping, sp.BsrTripletMap) and mapping.triplet_count == mapping.capacity == 40
    assert mapping.device == made.device
    for seed, reduction in ((6, "gather"), (7, "atomic")):
        _, _, others, (_, _, blocks) = triplets(5, 6, 40, wp.mat22, seed)
        sp.bsr_set_from_mapped_values(made, mapping, others, reduction)
        np.testing.assert_allclose(dense(made), dense_of(5, 6, (parts[0], parts[1], blocks)), atol=1e-6)
    kept = sp.BsrTripletMap(capacity=50)
    assert sp.bsr_set_from_triplets(made, rows, cols, values, prune_numerical_zeros=False, build_mapping=kept) is kept
    assert kept.capacity == 50 and kept.triplet_count == 40
    with pytest.raises(ValueError, match="differs"):
        mapping.validate(sp.bsr_zeros(5, 6, wp.mat22))
    with pytest.raises(ValueError, match="has not been built"):
        sp.BsrTripletMap().validate(made)
    with pytest.raises(ValueError, match="40 triplets"):
        sp.bsr_set_from_mapped_values(made, kept, wp.zeros(3, dtype=wp.mat22))


def test_kernels_take_matrices():
    @wp.kernel
    def walk(a: sp.bsr_matrix_t(wp.mat22), rows: wp.array(dtype=int), found: wp.array(dtype=int), sums: wp.array(dtype=wp.mat22)):
        row = wp.tid()
        for b in range(a.offsets[row], a.offsets[row + 1]):
            rows[b] = sp.bsr_row_index(a.offsets, a.nrow, b)
            sums[row] += a.values[b]
        found[row] = sp.bsr_block_index(row, 2, a.offsets, a.columns)

    made, want = random_matrix(6, 5, 14, wp.mat22, 8)
    count = made.nnz_sync()
    rows, found = wp.zeros(count, dtype=int), wp.zeros(6, dtype=int)
    sums = wp.zeros(6, dtype=wp.mat22)
    wp.launch(walk, 6, [made, rows, found, sums])
    np.testing.assert_array_equal(rows.numpy(), made.uncompress_rows().numpy())
    np.testing.assert_allclose(sums.numpy(), want.reshape(6, 2, 5, 2).sum(2), atol=1e-6)
    columns, offsets = made.columns.numpy(), made.offsets.numpy()
    for row, at in enumerate(found.numpy()):
        inside = columns[offsets[row] : offsets[row + 1]].tolist()
        assert at == (offsets[row] + inside.index(2) if 2 in inside else -1)


def test_struct_types_are_the_same_for_the_same_blocks():
    assert sp.bsr_matrix_t(wp.mat33) is sp.bsr_matrix_t(wp.types.matrix((3, 3), float))
    assert sp.bsr_matrix_t(float) is sp.bsr_matrix_t(wp.float32)
    made, want = random_matrix(3, 3, 5, float, 1)
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(dense(again), want)
    assert sp.BsrMatrix[wp.mat33] is sp.BsrMatrix
    assert wp.float32 in sp.scalar_types


def test_offsets_written_by_hand():
    made = sp.bsr_zeros(3, 3, float)
    made.notify_nnz_changed(nnz_capacity=4)
    assert made.columns.shape[0] >= 4 and made.nnz == 4
    made.offsets.assign([0, 1, 2, 3])
    made.columns.assign(np.array([2, 1, 0, 7], np.int32)[: made.columns.shape[0]])
    made.values.fill_(2.0)
    made.copy_nnz_async()
    assert made.nnz_sync() == 3
    np.testing.assert_array_equal(dense(made), 2 * np.eye(3)[::-1])
    made.notify_nnz_changed()
    assert made.nnz == 3


def test_large_matrices_sort_by_wide_keys():
    made = sp.bsr_from_triplets(100_000, 100_000, ints(99_999, 5, 99_999), ints(99_998, 7, 3), floats(1, 2, 3))
    assert made.nnz_sync() == 3
    assert made.columns.numpy().tolist() == [7, 3, 99_998] and made.values.numpy().tolist() == [2, 3, 1]


def test_empty_matrices():
    for rows, cols in ((0, 0), (3, 0), (0, 3), (2, 2)):
        made = sp.bsr_from_triplets(rows, cols, ints(), ints(), floats())
        assert made.nnz_sync() == 0 and made.shape == (rows, cols)
        assert sp.bsr_mv(made, wp.ones(cols, dtype=float)).numpy().tolist() == [0.0] * rows
        assert dense(sp.bsr_transposed(made)).shape == (cols, rows)
        assert dense(made + made).shape == (rows, cols)
        assert dense(made @ made.transpose()).shape == (rows, rows)


def test_graphs_capture_assembly():
    rows, cols, values, parts = triplets(5, 5, 30, float, 9)
    made = sp.bsr_zeros(5, 5, float, nnz_capacity=30)
    x, y = wp.ones(5, dtype=float), wp.zeros(5, dtype=float)
    sp.bsr_set_from_triplets(made, rows, cols, values)
    sp.bsr_mv(made, x, y)
    with wp.ScopedCapture() as capture:
        sp.bsr_set_from_triplets(made, rows, cols, values)
        sp.bsr_mv(made, x, y)
    values.assign(2.0 * values.numpy())
    cols.assign((cols.numpy() + 1) % 5)
    wp.capture_launch(capture.graph)
    want = 2 * dense_of(5, 5, (parts[0], (parts[1] + 1) % 5, parts[2]))
    np.testing.assert_allclose(dense(made), want, atol=1e-6)
    np.testing.assert_allclose(y.numpy(), want.sum(1), atol=1e-6)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: sp.bsr_zeros(2, 2, wp.vec3), ValueError, "block type"),
        (lambda: sp.bsr_zeros(2, 2, bool), ValueError, "block type"),
        (lambda: sp.bsr_zeros(-1, 2, float), ValueError, "rows_of_blocks"),
        (lambda: sp.bsr_zeros(2, 2, float, topology="masked"), ValueError, "topology"),
        (lambda: sp.bsr_zeros(2, 2, float, row_capacity=3, nnz_capacity=1), ValueError, "capacity"),
        (lambda: sp.bsr_from_triplets(2, 2, floats(1), ints(0), floats(1)), TypeError, "int32"),
        (lambda: sp.bsr_from_triplets(2, 2, ints(1), ints(0, 1), floats(1)), ValueError, "Rows and columns"),
        (lambda: sp.bsr_from_triplets(2, 2, ints(1), ints(0), floats(1, 2)), ValueError, "Values and rows"),
        (lambda: sp.bsr_set_from_triplets(sp.bsr_zeros(2, 2, wp.mat22), ints(1), ints(0), floats(1)), ValueError, "Values array type"),
        (lambda: sp.bsr_set_from_triplets(None, ints(1), ints(0), floats(1)), TypeError, "dest"),
        (lambda: sp.bsr_set_from_triplets(sp.bsr_zeros(2, 2, float), ints(1), ints(0), build_mapping=True), ValueError, "prune"),
        (lambda: sp.bsr_zeros(2, 2, float).uncompress_rows(floats(1)), TypeError, "out"),
    ],
)
def test_errors_name_the_argument(call, error, words):
    with pytest.raises(error, match=words):
        call()


@settings(max_examples=25, deadline=None)
@given(
    nrow=st.integers(1, 9),
    ncol=st.integers(1, 9),
    count=st.integers(0, 60),
    kind=st.sampled_from([wp.float32, wp.float64, wp.mat22]),
    seed=st.integers(0, 2**31),
)
def test_any_triplets(nrow, ncol, count, kind, seed):
    rows, cols, values, parts = triplets(nrow, ncol, count, kind, seed)
    want = dense_of(nrow, ncol, parts)
    made = sp.bsr_from_triplets(nrow, ncol, rows, cols, values)
    np.testing.assert_allclose(dense(made), want, atol=1e-6)
    room = sp.bsr_zeros(nrow, ncol, kind, topology="padded", row_capacity=ncol)
    sp.bsr_set_from_triplets(room, rows, cols, values, topology="padded")
    np.testing.assert_array_equal(dense(room), dense(made))
    assert room.status_sync() == sp.BSR_STATUS_SUCCESS
    again = sp.bsr_from_triplets(nrow, ncol, rows, cols, values)
    assert again.values.numpy()[: made.nnz].tobytes() == made.values.numpy()[: made.nnz].tobytes()
