"""warp.fem.linalg: factors, inverses and eigenvalues of small matrices in kernels, against NumPy; what else is asked of warp.fem."""

import numpy as np
import pytest

import warp as wp
import warp.fem.linalg as linalg

TOLERANCE = {wp.float32: 2e-6, wp.float64: 4e-15}
SIZES = [1, 2, 3, 5, 6]


def types_of(size, scalar):
    return wp.types.vector(size, scalar), wp.types.matrix((size, size), scalar)


def matrices(size, seed=0, count=9):
    """Some matrices: random ones, zero, the identity, a diagonal one, one of ones, one with a zero column."""
    found = np.random.default_rng(seed).normal(size=(count, size, size))
    found[0], found[1], found[2], found[3] = 0.0, np.eye(size), np.diag(np.arange(size) + 1.0), 1.0
    found[4, :, -1] = 0.0
    return found


def run(kernel, *arrays):
    wp.launch(kernel, dim=arrays[0].shape[0], inputs=list(arrays))


@pytest.mark.parametrize("scalar", [wp.float32, wp.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("size", SIZES)
def test_factors_give_the_matrix_again(size, scalar):
    _, mat = types_of(size, scalar)

    @wp.kernel
    def qr(a: wp.array(dtype=mat), q: wp.array(dtype=mat), r: wp.array(dtype=mat)):
        i = wp.tid()
        q[i], r[i] = linalg.householder_qr_decomposition(a[i])

    @wp.kernel
    def hessenberg(a: wp.array(dtype=mat), q: wp.array(dtype=mat), h: wp.array(dtype=mat)):
        i = wp.tid()
        q[i], h[i] = linalg.householder_make_hessenberg(a[i])

    a = wp.array(matrices(size), dtype=mat)
    given, (q, second) = a.numpy(), (wp.zeros_like(a), wp.zeros_like(a))
    near = 4 * size * TOLERANCE[scalar]
    run(qr, a, q, second)
    np.testing.assert_allclose(q.numpy() @ second.numpy(), given, atol=near)
    np.testing.assert_allclose(q.numpy() @ np.swapaxes(q.numpy(), 1, 2), np.broadcast_to(np.eye(size), given.shape), atol=near)
    assert not np.tril(second.numpy(), -1).any()
    run(hessenberg, a, q, second)
    np.testing.assert_allclose(q.numpy() @ second.numpy() @ np.swapaxes(q.numpy(), 1, 2), given, atol=near)
    assert not np.tril(second.numpy(), -2).any()
    np.testing.assert_array_equal(a.numpy(), given)  # what was given is as it was


@pytest.mark.parametrize("scalar", [wp.float32, wp.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("size", SIZES)
def test_eigenvalues(size, scalar):
    vec, mat = types_of(size, scalar)

    @wp.kernel
    def eigen(a: wp.array(dtype=mat), tol: scalar, d: wp.array(dtype=vec), p: wp.array(dtype=mat)):
        i = wp.tid()
        values, vectors = linalg.symmetric_eigenvalues_qr(a[i], tol)
        d[i] = values
        p[i] = vectors

    whole = matrices(size, seed=1, count=40)
    whole = whole + np.swapaxes(whole, 1, 2)
    for scale in (1.0, 2.0**-60, 2.0**90):  # squares of the outer ones are no numbers of float32
        a = wp.array(whole * scale, dtype=mat)
        for tol in (0.0, 1e-6):
            d, p = wp.zeros(len(whole), dtype=vec), wp.zeros_like(a)
            run(eigen, a, tol, d, p)
            got, rows = d.numpy().astype(np.float64) / scale, p.numpy().astype(np.float64)
            near = 8 * size * max(TOLERANCE[scalar], tol)
            np.testing.assert_allclose(np.sort(got, axis=-1), np.linalg.eigvalsh(whole), atol=near)
            np.testing.assert_allclose(np.swapaxes(rows, 1, 2) @ (got[:, :, None] * rows), whole, atol=near)
            np.testing.assert_allclose(rows @ np.swapaxes(rows, 1, 2), np.broadcast_to(np.eye(size), rows.shape), atol=near)


def test_eigenvectors_begin_with_what_is_given():
    @wp.kernel
    def eigen(d: wp.vec3d, low: wp.vec3d, q: wp.mat33d, values: wp.array(dtype=wp.vec3d), rows: wp.array(dtype=wp.mat33d)):
        v, r = linalg.tridiagonal_symmetric_eigenvalues_qr(d, low, q, wp.float64(0.0))
        values[0] = v
        rows[0] = r

    turn = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    band = np.diag([1.0, 2.0, 3.0]) + np.diag([0.5, 0.25], 1) + np.diag([0.5, 0.25], -1)
    d, p = wp.zeros(1, dtype=wp.vec3d), wp.zeros(1, dtype=wp.mat33d)
    wp.launch(eigen, dim=1, inputs=[wp.vec3d(1, 2, 3), wp.vec3d(0.5, 0.25, 9.0), wp.mat33d(turn), d, p])
    rows = p.numpy()[0]
    np.testing.assert_allclose(rows.T @ np.diag(d.numpy()[0]) @ rows, turn.T @ band @ turn, atol=1e-14)


def test_inverse_and_triangular_systems():
    @wp.kernel
    def solve(a: wp.array(dtype=wp.mat44d), b: wp.vec4d, inverse: wp.array(dtype=wp.mat44d), x: wp.array(dtype=wp.vec4d)):
        i = wp.tid()
        inverse[i] = linalg.inverse_qr(a[i])
        x[i] = linalg.solve_triangular(a[i], b)

    given = matrices(4)[5:]
    given[1, 2, 2] = 0.0
    a, inverse, x = wp.array(given, dtype=wp.mat44d), wp.zeros(4, dtype=wp.mat44d), wp.zeros(4, dtype=wp.vec4d)
    b = np.array([1.0, 2.0, 3.0, 4.0])
    run(solve, a, wp.vec4d(b), inverse, x)
    np.testing.assert_allclose(inverse.numpy(), np.linalg.inv(given), rtol=1e-11)
    np.testing.assert_allclose(x.numpy()[0], np.linalg.solve(np.triu(given[0]), b), rtol=1e-11)
    assert x.numpy()[1, 2] == 0.0  # its diagonal entry is zero


def test_products_and_parts():
    mat23 = wp.types.matrix((2, 3), float)

    @wp.kernel
    def all_of_them(number: wp.array(dtype=float), vector: wp.array(dtype=wp.vec3), matrix: wp.array(dtype=wp.mat33)):
        v = wp.vec3(1.0, 2.0, 3.0)
        m = wp.mat33(0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
        number[0] = linalg.generalized_inner(v, v)
        number[1] = linalg.generalized_inner(m, m)
        number[2] = linalg.generalized_inner(2.0, 3.0)
        number[3] = linalg.skew_part(wp.mat22(1.0, 2.0, 3.0, 4.0))
        vector[0] = linalg.generalized_inner(m, v)
        vector[1] = linalg.generalized_inner(v, m)
        vector[2] = linalg.generalized_inner(mat23(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), wp.vec2(4.0, 5.0))
        vector[3] = linalg.skew_part(m)
        vector[4] = linalg.generalized_outer(2.0, v)
        vector[5] = linalg.generalized_outer(v, 2.0)
        vector[6] = linalg.generalized_outer(wp.quat(1.0, 2.0, 3.0, 4.0), v)[3]
        matrix[0] = linalg.generalized_outer(v, v)
        matrix[1] = linalg.symmetric_part(m)
        matrix[2] = linalg.spherical_part(m)

    number, vector, matrix = wp.zeros(4), wp.zeros(7, dtype=wp.vec3), wp.zeros(3, dtype=wp.mat33)
    wp.launch(all_of_them, dim=1, inputs=[number, vector, matrix])
    v, m = np.array([1.0, 2.0, 3.0]), np.arange(9.0).reshape(3, 3)
    assert number.list() == [14.0, 204.0, 6.0, 0.5]
    wanted = [v @ m, v @ m, [24, 33, 42], [1, -2, 1], 2 * v, 2 * v, 4 * v]
    np.testing.assert_array_equal(vector.numpy(), wanted)
    np.testing.assert_array_equal(matrix.numpy(), [np.outer(v, v), (m + m.T) / 2, 4 * np.eye(3)])


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.vec3], ids=lambda t: t.__name__)
def test_array_axpy(dtype):
    x, y = wp.full(5, 2.0, dtype=dtype), wp.ones(5, dtype=dtype)
    linalg.array_axpy(x, y, alpha=3.0, beta=0.5)
    assert (y.numpy() == 6.5).all()
    linalg.array_axpy(x, y)
    assert (y.numpy() == 8.5).all()
    with pytest.raises(ValueError, match="same shape and device"):
        linalg.array_axpy(wp.zeros(4, dtype=dtype), y)


def test_what_is_missing_says_so():
    assert wp.fem.linalg is linalg and not hasattr(wp.fem, "Grid2D")
    with pytest.raises(AttributeError, match="only warp.fem.linalg is here"):
        _ = wp.fem.Grid2D
    with pytest.raises(ImportError):
        from warp.fem import Grid3D  # noqa: F401
