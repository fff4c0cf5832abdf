"""Preconditioners of warp.optim.linear by the blocks on the diagonal: against NumPy, blocks that have no inverse, solvers, errors."""

import numpy as np
import pytest
import warp as wp
import warp.optim.linear as linear
import warp.sparse as sp

ANY = "block_jacobi_direct"
DEFINITE = ("block_jacobi_sequential", "block_jacobi_tile")
KINDS = (ANY, *DEFINITE)


def of_diagonal(blocks, dtype):
    """A matrix of blocks on its diagonal."""
    count, size = len(blocks), len(blocks[0])
    at = wp.array(np.arange(count), dtype=int)
    block = dtype if size == 1 else wp.types.matrix((size, size), dtype)
    values = wp.array(np.reshape(blocks, -1) if size == 1 else np.array(blocks), dtype=block)
    return sp.bsr_from_triplets(count, count, at, at, values)


def dense_of(operator, count, dtype):
    """What an operator makes of the columns of the identity."""
    columns = []
    for i in range(count):
        x = wp.array(np.eye(count)[i], dtype=dtype)
        z = wp.zeros_like(x)
        operator.matvec(x, z, z, 1.0, 0.0)
        columns.append(z.numpy().astype(float))
    return np.array(columns).T


@pytest.mark.parametrize("ptype", KINDS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 12])
def test_blocks_of_the_diagonal_are_inverted(ptype, size):
    rng = np.random.default_rng(size)
    blocks = [c @ c.T + np.eye(size) for c in rng.standard_normal((4, size, size))]
    limits = {wp.float16: 3e-2, wp.float32: 1e-4, wp.float64: 1e-11}
    for dtype, limit in limits.items():
        if ptype == "block_jacobi_tile" and dtype is wp.float16:
            continue
        operator = linear.preconditioner(of_diagonal(blocks, dtype), ptype)
        assert operator.shape == (4 * size, 4 * size)
        found = dense_of(operator, 4 * size, dtype)
        wanted = np.zeros_like(found)
        for i, block in enumerate(blocks):
            wanted[i * size : (i + 1) * size, i * size : (i + 1) * size] = np.linalg.inv(block)
        np.testing.assert_allclose(found, wanted, atol=limit * np.abs(wanted).max())


def test_blocks_whose_rows_change_places():
    blocks = [[[0.0, 2.0], [3.0, 0.0]], [[4.0, 1.0], [0.1, 3.0]], [[-1.0, 0.0], [0.0, 1e-9]]]
    matrix = of_diagonal(blocks, wp.float64)
    found = dense_of(linear.preconditioner(matrix, ANY), 6, wp.float64)
    for i, block in enumerate(blocks):
        np.testing.assert_allclose(found[2 * i : 2 * i + 2, 2 * i : 2 * i + 2], np.linalg.inv(block), rtol=1e-12)
    for ptype in DEFINITE:  # none of them is symmetric and positive definite
        assert np.array_equal(dense_of(linear.preconditioner(matrix, ptype), 6, wp.float64), np.eye(6))


def test_rounding_makes_no_block_asymmetric():
    block = np.array([[4.0, 1.0], [1.0 + 1e-7, 3.0]])
    for ptype in DEFINITE:
        found = dense_of(linear.preconditioner(of_diagonal([block], wp.float32), ptype), 2, wp.float32)
        np.testing.assert_allclose(found, np.linalg.inv(block), rtol=1e-5)


@pytest.mark.parametrize("ptype", KINDS)
@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64], ids=lambda t: t.__name__)
def test_blocks_without_an_inverse_count_as_the_identity(ptype, dtype):
    if ptype == "block_jacobi_tile" and dtype is wp.float16:
        with pytest.raises(ValueError, match="float32 and float64"):
            linear.preconditioner(of_diagonal([np.eye(2)], dtype), ptype)
        return
    column, other = np.array([1.0, 3.0, 2.0]), np.array([3.0, 7.0, 1.0])
    singular = [np.zeros((3, 3)), np.outer(column, column), np.outer(other, other)]
    unending = [np.full((3, 3), np.nan), np.diag([1.0, np.inf, 1.0])]
    blocks = [*singular, *unending, np.diag([4.0, 2.0, 0.01])]
    found = dense_of(linear.preconditioner(of_diagonal(blocks, dtype), ptype), 18, dtype)
    np.testing.assert_allclose(np.diag(found), [1.0] * 15 + [0.25, 0.5, 100.0], rtol=1e-3)
    assert np.array_equal(found, np.diag(np.diag(found)))
    nothing = linear.preconditioner(sp.bsr_zeros(2, 2, wp.types.matrix((2, 2), dtype)), ptype)
    assert np.array_equal(dense_of(nothing, 4, dtype), np.eye(4))


@pytest.mark.parametrize("ptype", KINDS)
def test_vectors_and_solvers(ptype):
    rng = np.random.default_rng(5)
    a = rng.standard_normal((24, 24))
    a, b = a @ a.T + 24 * np.eye(24), rng.standard_normal(24)
    rows, cols = np.divmod(np.arange(36), 6)
    blocks = a.reshape(6, 4, 6, 4).transpose(0, 2, 1, 3).reshape(-1, 4, 4)
    values = wp.array(blocks, dtype=wp.types.matrix((4, 4), wp.float64))
    matrix = sp.bsr_from_triplets(6, 6, wp.array(rows, dtype=int), wp.array(cols, dtype=int), values)
    right = wp.array(b.reshape(6, 4), dtype=wp.types.vector(4, wp.float64))
    inverse = linear.preconditioner(matrix, ptype)
    z = wp.array(np.ones((6, 4)), dtype=right.dtype)
    inverse.matvec(right, z, z, 2.0, 3.0)
    wanted = [2.0 * np.linalg.solve(a[i : i + 4, i : i + 4], b[i : i + 4]) + 3.0 for i in range(0, 24, 4)]
    np.testing.assert_allclose(z.numpy(), wanted, rtol=1e-10)
    for solver in (linear.cg, linear.cr, linear.bicgstab, linear.gmres):
        x = wp.zeros_like(right)
        solver(matrix, right, x, M=inverse, check_every=1)
        assert np.abs(a @ x.numpy().reshape(-1) - b).max() < 1e-9


@pytest.mark.parametrize("ptype", KINDS)
def test_square_matrices_of_square_blocks(ptype):
    for matrix, words in (
        (wp.array(np.eye(4), dtype=float), "BsrMatrix"),
        (sp.bsr_zeros(2, 3, wp.mat33), "2×3 blocks"),
        (sp.bsr_zeros(2, 3, wp.types.matrix((3, 2), float)), "square matrix blocks, got 3×2"),
    ):
        with pytest.raises(ValueError, match=words):
            linear.preconditioner(matrix, ptype)
