"""warp.sparse: products, sums, copies, transposes and diagonals against dense matrices."""

import numpy as np
import pytest
import warp as wp
import warp.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sparse_support import KINDS, SQUARE, dense, name_of, random_matrix, scalar_of, shape_of, tolerance


def padded(matrix, room):
    made = sp.bsr_zeros(matrix.nrow, matrix.ncol, matrix.dtype, topology="padded", row_capacity=room)
    sp.bsr_assign(made, matrix, topology="padded")
    assert made.status_sync() == sp.BSR_STATUS_SUCCESS
    return made


def vectors(count, length, kind, seed):
    numbers = np.random.default_rng(seed).integers(-3, 4, count * length) / 2.0
    scalar = scalar_of(kind)
    flat = wp.array(numbers, dtype=scalar)
    if length == 1:
        return flat, flat, numbers
    return flat, wp.array(numbers.reshape(count, length), dtype=wp.types.vector(length, scalar)), numbers


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
@pytest.mark.parametrize("transpose", [False, True])
def test_products_with_vectors(kind, transpose):
    made, want = random_matrix(6, 8, 30, kind, 2)
    want = want.T if transpose else want
    (r, c) = shape_of(kind) if not transpose else shape_of(kind)[::-1]
    sizes = (6, 8) if not transpose else (8, 6)
    flat_x, x, x_numbers = vectors(sizes[1], c, kind, 3)
    flat_y, y, y_numbers = vectors(sizes[0], r, kind, 4)
    for matrix in (made, padded(made, 8)):
        for one in (x, flat_x):
            got = sp.bsr_mv(matrix, one, transpose=transpose)
            np.testing.assert_allclose(got.numpy().reshape(-1), want @ x_numbers, atol=10 * tolerance(kind))
        for one in (wp.clone(y), wp.clone(flat_y)):
            assert sp.bsr_mv(2.0 * matrix, x, one, alpha=0.5, beta=-1.5, transpose=transpose) is one
            np.testing.assert_allclose(one.numpy().reshape(-1), want @ x_numbers - 1.5 * y_numbers, atol=20 * tolerance(kind))
    junk = wp.full(sizes[0] * r, float("nan"), dtype=scalar_of(kind))
    np.testing.assert_allclose(sp.bsr_mv(made, x, junk, transpose=transpose).numpy(), want @ x_numbers, atol=10 * tolerance(kind))


def test_products_into_the_vector_itself():
    made, want = random_matrix(5, 5, 12, float, 3)
    x = wp.array(np.arange(5.0), dtype=float)
    for buffer in (None, wp.zeros(5, dtype=float)):
        y = wp.clone(x)
        sp.bsr_mv(made, y, y, beta=2.0, work_buffer=buffer)
        np.testing.assert_allclose(y.numpy(), want @ np.arange(5.0) + 2 * np.arange(5.0), atol=1e-5)


def test_vectors_with_strides():
    made, want = random_matrix(5, 5, 12, float, 3)
    x = wp.array(np.arange(10.0), dtype=float)[::2]
    y = wp.zeros(10, dtype=float)[1::2]
    sp.bsr_mv(made, x, y)
    np.testing.assert_allclose(y.numpy(), want @ np.arange(0, 10.0, 2), atol=1e-5)


@pytest.mark.parametrize("kind", [wp.float32, wp.mat22d, wp.types.matrix((2, 3), wp.float32)], ids=name_of)
def test_products_of_matrices(kind):
    r, c = shape_of(kind)
    other = kind if (r, c) == (1, 1) else wp.types.matrix((c, 2), scalar_of(kind))
    x, dense_x = random_matrix(5, 6, 14, kind, 4)
    y, dense_y = random_matrix(6, 4, 12, other, 5)
    want, atol = dense_x @ dense_y, 50 * tolerance(kind)
    got = sp.bsr_mm(x, y)
    np.testing.assert_allclose(dense(got), want, atol=atol)
    np.testing.assert_allclose(dense(x @ y), want, atol=atol)
    np.testing.assert_allclose(dense((2.0 * x) @ (-y)), -2 * want, atol=atol)
    np.testing.assert_allclose(dense(sp.bsr_mm(padded(x, 6), padded(y, 4))), want, atol=atol)
    z, dense_z = random_matrix(5, 4, 9, got.dtype, 6)
    work = sp.bsr_mm_work_arrays()
    kept = sp.bsr_copy(z)
    sp.bsr_mm(x, y, kept, 0.5, 2.0, work)
    np.testing.assert_allclose(dense(kept), 0.5 * want + 2 * dense_z, atol=atol)
    sp.bsr_mm(x, y, kept, 1.0, 0.0, work, reuse_topology=True)
    np.testing.assert_allclose(dense(kept), want, atol=atol)
    bounded = sp.bsr_copy(z)
    sp.bsr_mm(x, y, bounded, 0.5, 2.0, max_new_nnz=20)
    np.testing.assert_allclose(dense(bounded), 0.5 * want + 2 * dense_z, atol=atol)
    mask = sp.bsr_copy(z)
    mask_values = np.abs(np.kron(np.ones((1, 1)), dense_mask(z)))
    sp.bsr_mm(x, y, mask, 1.0, 1.0, topology="masked")
    np.testing.assert_allclose(dense(mask), (want + dense_z) * mask_values, atol=atol)
    room = padded(z, 4)
    sp.bsr_mm(x, y, room, 1.0, 1.0, topology="padded")
    np.testing.assert_allclose(dense(room), want + dense_z, atol=atol)


def dense_mask(matrix):
    held = sp.bsr_copy(matrix)
    held.values.assign(np.ones_like(held.values.numpy()))
    return dense(held)


def test_products_of_matrices_with_strides():
    x, dense_x = random_matrix(5, 6, 14, wp.types.matrix((2, 3), wp.float64), 4)
    y, dense_y = random_matrix(6, 4, 12, wp.types.matrix((3, 4), wp.float64), 5)
    want = sp.bsr_mm(x, y)
    room = wp.zeros(2 * x.values.shape[0], dtype=x.dtype)[::2]
    room.assign(x.values)
    x.values = room
    got = sp.bsr_mm(x, y)
    np.testing.assert_array_equal(dense(got), dense(want))
    np.testing.assert_allclose(dense(got), dense_x @ dense_y, atol=1e-12)


def test_products_with_themselves():
    made, want = random_matrix(5, 5, 12, wp.mat22, 4)
    sp.bsr_mm(made, made, made, 1.0, 1.0)
    np.testing.assert_allclose(dense(made), want @ want + want, atol=1e-4)
    made @= sp.bsr_identity(5, wp.mat22)
    np.testing.assert_allclose(dense(made), want @ want + want, atol=1e-4)


def test_new_blocks_beyond_the_bound_are_dropped(capfd):
    full = sp.bsr_from_triplets(2, 2, *(wp.array(n, dtype=int) for n in ([0, 0, 1, 1], [0, 1, 0, 1])), wp.ones(4, dtype=float))
    assert sp.bsr_mm(full, full, max_new_nnz=4).nnz_sync() == 4
    got = sp.bsr_mm(full, full, max_new_nnz=3)
    wp.synchronize()
    assert got.nnz_sync() == 3
    np.testing.assert_array_equal(dense(got), [[2, 2], [2, 0]])


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_sums(kind):
    x, dense_x = random_matrix(6, 5, 12, kind, 6)
    y, dense_y = random_matrix(6, 5, 14, kind, 7)
    atol = 10 * tolerance(kind)
    np.testing.assert_allclose(dense(x + y), dense_x + dense_y, atol=atol)
    np.testing.assert_allclose(dense(x - 2.0 * y), dense_x - 2 * dense_y, atol=atol)
    np.testing.assert_allclose(dense(-x / 2.0 + y), dense_y - dense_x / 2, atol=atol)
    np.testing.assert_allclose(dense(sp.bsr_axpy(x, alpha=3.0)), 3 * dense_x, atol=atol)
    kept = sp.bsr_copy(y)
    work = sp.bsr_axpy_work_arrays()
    assert sp.bsr_axpy(x, kept, 2.0, 0.5, work) is kept
    np.testing.assert_allclose(dense(kept), 2 * dense_x + 0.5 * dense_y, atol=atol)
    sp.bsr_axpy(x, kept, 1.0, 0.0, work)
    np.testing.assert_allclose(dense(kept), dense_x, atol=atol)
    kept += y
    kept -= x
    kept *= 4.0
    kept /= 2.0
    np.testing.assert_allclose(dense(kept), 2 * dense_y, atol=2 * atol)
    sp.bsr_axpy(kept, kept, 1.0, 0.5)
    np.testing.assert_allclose(dense(kept), 3 * dense_y, atol=2 * atol)
    room = padded(y, 5)
    sp.bsr_axpy(x, room, topology="padded")
    np.testing.assert_allclose(dense(room), dense_x + dense_y, atol=atol)
    mask = sp.bsr_copy(y)
    sp.bsr_axpy(x, mask, topology="masked")
    np.testing.assert_allclose(dense(mask), (dense_x + dense_y) * dense_mask(y), atol=atol)
    assert dense(sp.bsr_scale(mask, 0.0)).any() == False  # noqa: E712
    converted = sp.bsr_copy(x, scalar_type=wp.float64)
    sp.bsr_axpy(y, converted)
    np.testing.assert_allclose(dense(converted), dense_x + dense_y, atol=atol)


def test_many_sums_need_no_more_memory():
    made, want = random_matrix(4, 4, 8, float, 1)
    total = sp.bsr_copy(made)
    for _ in range(20):
        total += made
    np.testing.assert_allclose(dense(total), 21 * want, rtol=1e-5)
    if total.device.is_cpu:
        assert total.values.shape[0] < 40


def test_numbers_of_numpy_scale_matrices():
    made, want = random_matrix(3, 3, 6, float, 2)
    for two in (np.float32(2), np.int64(2), wp.float32(2.0)):
        np.testing.assert_allclose(dense((two * made).eval()), 2 * want)
        np.testing.assert_allclose(dense((made * two).transpose().eval()), 2 * want.T)


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_transposes(kind):
    made, want = random_matrix(6, 4, 14, kind, 8)
    turned = sp.bsr_transposed(made)
    assert turned.block_shape == made.block_shape[::-1]
    np.testing.assert_array_equal(dense(turned), want.T)
    np.testing.assert_array_equal(dense(made.transpose().transpose()), want)
    np.testing.assert_allclose(dense(sp.bsr_transposed(2.0 * padded(made, 4))), 2 * want.T)
    room = sp.bsr_zeros(4, 6, turned.dtype, row_capacity=6)
    sp.bsr_set_transpose(room, made, topology="padded")
    np.testing.assert_array_equal(dense(room), want.T)
    mask, _ = random_matrix(4, 6, 7, turned.dtype, 9)
    sp.bsr_set_transpose(mask, made, topology="masked")
    np.testing.assert_array_equal(dense(mask), want.T * dense_mask(mask))


@pytest.mark.parametrize("to", [(1, 1), (2, 2), (2, 4), (4, 2), (4, 4), (8, 8), (1, 4)])
def test_copies_with_other_blocks(to):
    made, want = random_matrix(8, 8, 12, wp.types.matrix((2, 2), wp.float32), 10)
    for one in (made, padded(made, 8)):
        got = sp.bsr_copy(one, scalar_type=wp.float64, block_shape=to)
        assert got.block_shape == to and got.scalar_type is wp.float64
        np.testing.assert_array_equal(dense(got), want)
        np.testing.assert_array_equal(dense(sp.bsr_copy(got, wp.float32, (2, 2))), want)
    empty = sp.bsr_copy(made, block_shape=to, structure_only=True)
    assert empty.nnz_sync() == got.nnz_sync() and empty.offsets.numpy().tolist() == got.offsets.numpy().tolist()
    np.testing.assert_array_equal(dense(sp.bsr_copy(3.0 * made, block_shape=to)), 3 * want)


def test_assignments():
    made, want = random_matrix(4, 4, 9, float, 11)
    dest = sp.bsr_zeros(1, 1, wp.float64)
    sp.bsr_assign(dest, made)
    np.testing.assert_array_equal(dense(dest), want)
    mask, _ = random_matrix(4, 4, 6, float, 12)
    sp.bsr_assign(mask, made, topology="masked")
    np.testing.assert_array_equal(dense(mask), want * dense_mask(mask))
    room = padded(made, 4)
    assert sp.bsr_copy(room, topology="padded").row_counts is not None
    np.testing.assert_array_equal(dense(sp.bsr_copy(room, topology="padded")), want)
    np.testing.assert_array_equal(dense(sp.bsr_copy(room)), want)
    sp.bsr_assign(made, 2.0 * made)
    np.testing.assert_array_equal(dense(made), 2 * want)
    small = sp.bsr_zeros(4, 4, float, row_capacity=1)
    sp.bsr_assign(small, made, topology="padded")
    assert small.status_sync() == sp.BSR_STATUS_ROW_CAPACITY_EXCEEDED


@pytest.mark.parametrize("topology", ["compact", "padded"])
@pytest.mark.parametrize("inplace", [False, True])
def test_compression(topology, inplace):
    made = sp.bsr_zeros(2, 4, float)
    made.offsets, made.nnz = wp.array([0, 4, 6], dtype=int), 6
    made.row_counts = wp.array([4, 1], dtype=int)
    made.columns = wp.array([3, 0, 3, 1, 2, 9], dtype=int)
    made.values = wp.array([1, 2, 3, 0, 5, 6], dtype=float)
    before = made.values
    assert sp.bsr_compress(made, inplace=inplace, topology=topology) is made
    np.testing.assert_array_equal(dense(made), [[2, 0, 0, 4], [0, 0, 5, 0]])
    assert (made.row_counts is None) == (topology == "compact")
    assert (made.values.ptr == before.ptr) == inplace
    assert sp.bsr_compress(sp.bsr_scale(made, 0.0), prune_numerical_zeros=False).nnz_sync() >= 3
    assert not dense(sp.bsr_compress(made, topology="compact")).any() and made.nnz_sync() == 0


@pytest.mark.parametrize("kind", SQUARE, ids=name_of)
def test_diagonals(kind):
    made, want = random_matrix(5, 7, 20, kind, 13)
    r, c = shape_of(kind)
    blocks = want.reshape(5, r, 7, c).transpose(0, 2, 1, 3)
    diagonal = np.array([blocks[i, i] for i in range(5)])
    for one in (made, padded(made, 7)):
        got = sp.bsr_get_diag(one)
        np.testing.assert_array_equal(got.numpy().reshape(diagonal.shape), diagonal)
    out = wp.zeros(6, dtype=kind)
    assert sp.bsr_get_diag(2.0 * made, out=out) is out
    np.testing.assert_array_equal(out.numpy()[:5].reshape(diagonal.shape), 2 * diagonal)
    again = sp.bsr_diag(got)
    assert (again.nrow, again.ncol) == (5, 5) and again.nnz_sync() == 5
    np.testing.assert_array_equal(sp.bsr_get_diag(again).numpy(), got.numpy())
    np.testing.assert_array_equal(dense(sp.bsr_identity(4, kind)), np.eye(4 * r))
    sp.bsr_set_identity(again, 3)
    np.testing.assert_array_equal(dense(again), np.eye(3 * r))
    sp.bsr_set_diag(made, got)
    assert (made.nrow, made.ncol) == (5, 5)


def test_diagonals_of_one_block():
    np.testing.assert_array_equal(dense(sp.bsr_diag(2.0, 2, 4)), 2 * np.eye(2, 4))
    np.testing.assert_array_equal(dense(sp.bsr_diag(wp.mat22(1.0, 2.0, 3.0, 4.0), 2)), np.kron(np.eye(2), [[1, 2], [3, 4]]))
    np.testing.assert_array_equal(dense(sp.bsr_diag(np.eye(2), cols_of_blocks=3, block_type=wp.mat22d)), np.eye(6))
    assert sp.bsr_diag(rows_of_blocks=3, block_type=wp.mat33).nnz == 3
    tall = sp.bsr_diag(wp.array([1.0, 2.0], dtype=float), rows_of_blocks=3, cols_of_blocks=2)
    np.testing.assert_array_equal(dense(tall), [[1, 0], [0, 2], [0, 0]])


def test_graphs_capture_products_and_sums():
    a, _ = random_matrix(4, 4, 9, float, 14)
    product, room = sp.bsr_zeros(4, 4, float, nnz_capacity=16), sp.bsr_zeros(4, 4, float, row_capacity=4)

    def work():
        sp.bsr_mm(a, a, product, max_new_nnz=16)
        sp.bsr_assign(room, a, topology="padded")
        sp.bsr_axpy(product, room, topology="padded")
        return sp.bsr_transposed(a)

    work()
    with wp.ScopedCapture() as capture:
        turned = work()
    a.values.assign(2.0 * a.values.numpy() + 1.0)
    want = dense(a)
    wp.capture_launch(capture.graph)
    np.testing.assert_allclose(dense(product), want @ want, rtol=1e-5)
    np.testing.assert_allclose(dense(room), want @ want + want, rtol=1e-5)
    np.testing.assert_allclose(dense(turned), want.T, rtol=1e-5)
    with pytest.raises(RuntimeError, match="max_new_nnz"), wp.ScopedCapture():
        sp.bsr_mm(a, a)


def matrices():
    return random_matrix(3, 4, 5, wp.types.matrix((2, 3), float), 1)[0]


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: sp.bsr_mv(matrices(), wp.zeros(4, dtype=wp.vec2)), ValueError, "'x'"),
        (lambda: sp.bsr_mv(matrices(), wp.zeros(4, dtype=wp.vec3), wp.zeros(4, dtype=wp.vec2)), ValueError, "'y'"),
        (lambda: sp.bsr_mv(1.0, wp.zeros(4, dtype=wp.vec3)), ValueError, "A is float"),
        (lambda: sp.bsr_mm(matrices(), matrices()), ValueError, "block sizes"),
        (lambda: sp.bsr_mm(sp.bsr_identity(2, float), sp.bsr_identity(3, float)), ValueError, "rows/columns"),
        (lambda: sp.bsr_mm(sp.bsr_identity(2, float), sp.bsr_identity(2, wp.float64)), ValueError, "scalar type"),
        (lambda: sp.bsr_mm(sp.bsr_identity(2, float), sp.bsr_identity(2, float), reuse_topology=True), ValueError, "work_arrays"),
        (lambda: sp.bsr_axpy(sp.bsr_identity(2, float), sp.bsr_identity(3, float)), ValueError, "rows and columns"),
        (lambda: sp.bsr_copy(matrices(), block_shape=(3, 2)), ValueError, "block rows"),
        (lambda: sp.bsr_copy(matrices(), block_shape=(4, 3)), ValueError, "evenly divide"),
        (lambda: sp.bsr_assign(sp.bsr_zeros(1, 1, float), matrices(), topology="masked"), ValueError, "destination matrix size"),
        (lambda: sp.bsr_set_transpose(sp.bsr_zeros(4, 3, wp.mat22), matrices()), ValueError, "block shape"),
        (lambda: sp.bsr_get_diag(sp.bsr_identity(3, float), out=wp.zeros(2, dtype=float)), ValueError, "length at least 3"),
        (lambda: sp.bsr_set_identity(matrices()), ValueError, "square"),
        (lambda: sp.bsr_diag(), ValueError, "rows_of_blocks"),
        (lambda: matrices() * "a", TypeError, "number"),
        (lambda: matrices() + 1.0, ValueError, "BsrMatrix"),
        (lambda: sp.bsr_compress(1), TypeError, "src"),
    ],
)
def test_errors_name_the_argument(call, error, words):
    with pytest.raises(error, match=words):
        call()


@settings(max_examples=20, deadline=None)
@given(sizes=st.tuples(*[st.integers(1, 7)] * 3), counts=st.tuples(*[st.integers(0, 25)] * 3), seed=st.integers(0, 2**30))
def test_any_matrices(sizes, counts, seed):
    n, m, k = sizes
    x, dense_x = random_matrix(n, m, counts[0], wp.mat22d, seed)
    y, dense_y = random_matrix(m, k, counts[1], wp.mat22d, seed + 1)
    z, dense_z = random_matrix(n, k, counts[2], wp.mat22d, seed + 2)
    np.testing.assert_allclose(dense(x @ y + z), dense_x @ dense_y + dense_z, atol=1e-12)
    np.testing.assert_allclose(dense((x @ y).transpose()), (dense_x @ dense_y).T, atol=1e-12)
    np.testing.assert_allclose(dense(y.transpose() @ x.transpose()), (dense_x @ dense_y).T, atol=1e-12)
    np.testing.assert_allclose(dense(sp.bsr_copy(z, block_shape=(1, 2))), dense_z)
