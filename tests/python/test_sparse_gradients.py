"""warp.sparse on tapes: gradients of values and vectors against differences of dense products."""

import numpy as np
import pytest
import warp as wp
import warp.sparse as sp
from sparse_support import dense, dense_of, name_of, random_matrix, shape_of, triplets

KINDS = [wp.float64, wp.mat22d, wp.types.matrix((2, 3), wp.float64)]


def weights(shape, seed):
    return np.random.default_rng(seed).normal(size=shape)


def scatter(matrix, numbers):
    """A dense matrix at the blocks of a sparse one, as its values have them."""
    (r, c), count = matrix.block_shape, matrix.nnz_sync()
    rows, columns = matrix.uncompress_rows().numpy()[:count], matrix.columns.numpy()[:count]
    blocks = numbers.reshape(matrix.nrow, r, matrix.ncol, c).transpose(0, 2, 1, 3)
    out = np.zeros(matrix.values.numpy().shape)
    out[:count] = blocks[rows, columns].reshape(out[:count].shape)
    return out


def seed(matrix, numbers):
    matrix.values.grad.assign(scatter(matrix, numbers))


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
@pytest.mark.parametrize("transpose", [False, True])
def test_products_with_vectors(kind, transpose):
    rows, cols, values, parts = triplets(5, 4, 18, kind, 1, requires_grad=True)
    r, c = shape_of(kind)
    size = (5 * r, 4 * c) if not transpose else (4 * c, 5 * r)
    x = wp.array(weights(size[1], 2), dtype=wp.float64, requires_grad=True)
    y = wp.array(weights(size[0], 3), dtype=wp.float64, requires_grad=True)
    start, g = y.numpy().copy(), weights(size[0], 4)
    with wp.Tape() as tape:
        a = sp.bsr_from_triplets(5, 4, rows, cols, values, prune_numerical_zeros=False)
        sp.bsr_mv(a, x, y, alpha=1.5, beta=0.5, transpose=transpose)
    whole = dense_of(5, 4, parts)
    np.testing.assert_allclose(y.numpy(), 1.5 * (whole.T if transpose else whole) @ x.numpy() + 0.5 * start)
    tape.backward(grads={y: wp.array(g, dtype=wp.float64)})
    np.testing.assert_allclose(x.grad.numpy(), 1.5 * (whole if transpose else whole.T) @ g, atol=1e-12)
    outer = 1.5 * (np.outer(x.numpy(), g) if transpose else np.outer(g, x.numpy()))
    want = outer.reshape(5, r, 4, c).transpose(0, 2, 1, 3)[parts[0], parts[1]]
    np.testing.assert_allclose(values.grad.numpy().reshape(want.shape), want, atol=1e-12)


def test_pruned_triplets_have_no_gradient():
    values = wp.array([1.0, 0.0, 2.0], dtype=wp.float64, requires_grad=True)
    rows = wp.array([0, 0, 1], dtype=int)
    with wp.Tape() as tape:
        a = sp.bsr_from_triplets(2, 2, rows, rows, values)
        y = sp.bsr_mv(a, wp.ones(2, dtype=wp.float64))
    tape.backward(grads={y: wp.ones(2, dtype=wp.float64)})
    assert a.requires_grad and values.grad.numpy().tolist() == [1, 0, 1]


@pytest.mark.parametrize("topology", ["compact", "masked"])
def test_products_of_matrices(topology):
    x, dense_x = random_matrix(4, 5, 12, wp.mat22d, 5, True)
    y, dense_y = random_matrix(5, 4, 12, wp.mat22d, 6, True)
    z, _ = random_matrix(4, 4, 10, wp.mat22d, 7, True)
    old = wp.clone(z.values, requires_grad=True)
    with wp.Tape() as tape:
        wp.copy(z.values, old)
        sp.bsr_mm(x, y, z, alpha=2.0, beta=0.5, topology=topology)
    g = weights((8, 8), 8)
    ones = sp.bsr_copy(z)
    ones.values.fill_(1.0)
    seed(z, g)
    mask = dense(ones)
    tape.backward()
    np.testing.assert_allclose(x.values.grad.numpy(), scatter(x, 2 * (g * mask) @ dense_y.T), atol=1e-12)
    np.testing.assert_allclose(y.values.grad.numpy(), scatter(y, 2 * dense_x.T @ (g * mask)), atol=1e-12)
    assert np.abs(old.grad.numpy()).max() > 0


def test_sums_scales_and_transposes():
    x, _ = random_matrix(4, 5, 9, wp.mat22d, 9, True)
    y, _ = random_matrix(5, 4, 9, wp.mat22d, 10, True)
    with wp.Tape() as tape:
        total = sp.bsr_axpy(x, sp.bsr_transposed(y), alpha=2.0, beta=3.0)
        sp.bsr_scale(total, 0.5)
    g = weights((8, 10), 11)
    seed(total, g)
    tape.backward()
    np.testing.assert_allclose(x.values.grad.numpy(), scatter(x, g), atol=1e-12)
    np.testing.assert_allclose(y.values.grad.numpy(), scatter(y, 1.5 * g.T), atol=1e-12)


def test_copies_and_diagonals():
    x, _ = random_matrix(4, 4, 10, wp.mat22d, 12, True)
    with wp.Tape() as tape:
        small = sp.bsr_copy(3.0 * x, block_shape=(1, 2))
        diagonal = sp.bsr_get_diag(x)
        again = sp.bsr_diag(diagonal)
    g, h = weights((8, 8), 13), weights((4, 2, 2), 14)
    seed(small, g)
    again.values.grad.assign(h)
    tape.backward()
    blocks = np.zeros((4, 4, 2, 2))
    blocks[np.arange(4), np.arange(4)] = h
    want = 3 * g + blocks.transpose(0, 2, 1, 3).reshape(8, 8)
    np.testing.assert_allclose(x.values.grad.numpy(), scatter(x, want), atol=1e-12)


def test_compressed_and_mapped_values():
    rows, cols, values, parts = triplets(3, 4, 15, wp.mat22d, 15, requires_grad=True)
    a = sp.bsr_zeros(3, 4, wp.mat22d)
    mapping = sp.bsr_set_from_triplets(a, rows, cols, values, prune_numerical_zeros=False, build_mapping=True)
    for reduction in ("gather", "atomic"):
        values.grad.zero_()
        a.values.grad.zero_()
        with wp.Tape() as tape:
            sp.bsr_set_from_mapped_values(a, mapping, values, reduction)
        g = weights((6, 8), 16)
        seed(a, g)
        tape.backward()
        want = g.reshape(3, 2, 4, 2).transpose(0, 2, 1, 3)[parts[0], parts[1]]
        np.testing.assert_allclose(values.grad.numpy(), want, atol=1e-12)
    given = wp.array([1.0, 2.0, 3.0, 0.0], dtype=wp.float64, requires_grad=True)
    b = sp.bsr_zeros(1, 3, wp.float64)
    b.nnz, b.offsets, b.columns, b.values = 4, wp.array([0, 4], dtype=int), wp.array([1, 0, 1, 2], dtype=int), given
    with wp.Tape() as tape:
        sp.bsr_compress(b)
    seed(b, np.array([[5.0, 7.0, 0.0]]))
    tape.backward()
    assert given.grad.numpy().tolist() == [7, 5, 7, 0]


def test_against_differences():
    """A loss that goes through everything: triplets, product, sum, transpose, vector."""
    rows, cols, _, _ = triplets(4, 4, 14, wp.float64, 17)
    x = wp.array(weights(4, 18), dtype=wp.float64)

    def loss(numbers, tape=None):
        values = wp.array(numbers, dtype=wp.float64, requires_grad=True)
        with tape or wp.Tape():
            a = sp.bsr_from_triplets(4, 4, rows, cols, values, prune_numerical_zeros=False)
            b = a @ a.transpose() + 2.0 * a
            y = sp.bsr_mv(b, x)
            z = sp.bsr_mv(b, y, transpose=True)
        return values, z

    numbers, g = weights(14, 19), weights(4, 20)
    tape = wp.Tape()
    values, z = loss(numbers, tape)
    tape.backward(grads={z: wp.array(g, dtype=wp.float64)})
    got = values.grad.numpy()
    for k in range(14):
        step = np.zeros(14)
        step[k] = 1e-6
        slope = (loss(numbers + step)[1].numpy() - loss(numbers - step)[1].numpy()) @ g / 2e-6
        assert abs(slope - got[k]) < 1e-5 * max(1.0, abs(slope))
