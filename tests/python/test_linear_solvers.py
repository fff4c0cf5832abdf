"""warp.optim.linear: solvers against NumPy, kinds of matrices and vectors, batches, preconditioners, graphs, errors."""

import numpy as np
import pytest
import warp as wp
import warp.optim.linear as linear
import warp.sparse as sp

SOLVERS = {name: getattr(linear, name) for name in ("cg", "cr", "bicgstab", "gmres")}
LIMITS = {wp.float16: 5e-2, wp.float32: 1e-4, wp.float64: 1e-9}


def system(name, n, seed):
    """A matrix that a solver is for, and a right-hand side."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, n))
    a = a @ a.T + n * np.eye(n) if name in ("cg", "cr") else a + n * np.eye(n)
    return a, rng.standard_normal(n)


def as_kind(a, kind, dtype):
    if kind == "dense":
        return wp.array(a, dtype=dtype)
    size = 1 if kind == "csr" else 4
    n = len(a) // size
    rows, cols = np.divmod(np.arange(n * n), n)
    blocks = a.reshape(n, size, n, size).transpose(0, 2, 1, 3).reshape(-1, size, size)
    block_type = dtype if size == 1 else wp.types.matrix((size, size), dtype)
    values = wp.array(blocks.reshape(-1) if size == 1 else blocks, dtype=block_type)
    return sp.bsr_from_triplets(n, n, wp.array(rows, dtype=int), wp.array(cols, dtype=int), values)


def close(a, x, b, limit):
    assert np.abs(a @ x.numpy().reshape(-1).astype(float) - b).max() < limit


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.float16], ids=lambda t: t.__name__)
@pytest.mark.parametrize("kind", ["dense", "csr", "bsr"])
@pytest.mark.parametrize("pre", [None, "id", "diag", "diag_abs"])
def test_solutions(name, dtype, kind, pre):
    a, b = system(name, 24, 1)
    matrix, right = as_kind(a, kind, dtype), wp.array(b, dtype=dtype)
    x = wp.zeros_like(right)
    if kind == "bsr" and pre in (None, "diag"):
        vector = wp.types.vector(4, dtype)
        right, x = wp.array(b.reshape(6, 4), dtype=vector), wp.zeros(6, dtype=vector)
    inverse = None if pre is None else linear.preconditioner(matrix, pre)
    iterations, residual, tolerance = SOLVERS[name](matrix, right, x, M=inverse, check_every=1)
    close(a, x, b, LIMITS[dtype])
    assert 0 < iterations <= 24 and residual <= tolerance
    again, residual, _ = SOLVERS[name](matrix, right, x, M=inverse)
    assert again <= iterations and residual <= tolerance, "a warm start is no worse"


@pytest.mark.parametrize("name", SOLVERS)
def test_the_device_decides(name):
    a, b = system(name, 20, 2)
    matrix, right, x = wp.array(a, dtype=wp.float64), wp.array(b, dtype=wp.float64), wp.zeros(20, dtype=wp.float64)
    iterations, residual, tolerance = SOLVERS[name](matrix, right, x, check_every=0)
    close(a, x, b, 1e-9)
    assert iterations.numpy()[0] > 0 and residual.numpy()[0] <= tolerance.numpy()[0]
    np.testing.assert_allclose(tolerance.numpy()[0], (1e-12 * np.linalg.norm(b)) ** 2 if np.linalg.norm(b) > 1 else 1e-24)


@pytest.mark.parametrize("name", SOLVERS)
def test_graphs_capture_solvers(name):
    if wp.get_device().is_cuda and not wp.is_conditional_graph_supported():
        pytest.skip("this driver knows no conditions in graphs")
    a, b = system(name, 12, 3)
    matrix, right, x = wp.array(a, dtype=wp.float32), wp.array(b, dtype=wp.float32), wp.zeros(12, dtype=wp.float32)
    solver = SOLVERS[name](matrix, right, x, check_every=0, run=False)
    solver()
    x.zero_()
    with wp.ScopedCapture() as capture:
        iterations, residual, tolerance = solver()
    for scale in (1.0, -2.0):
        right.assign(scale * b)
        x.zero_()
        wp.capture_launch(capture.graph)
        close(a, x, scale * b, 1e-4)
        assert residual.numpy()[0] <= tolerance.numpy()[0] and 0 < iterations.numpy()[0] <= 12


@pytest.mark.parametrize("name", SOLVERS)
def test_tolerances_and_callbacks(name):
    a, b = system(name, 30, 4)
    matrix, right = wp.array(a, dtype=wp.float64), wp.array(b, dtype=wp.float64)
    norm, seen = np.linalg.norm(b), []
    options = {"check_every": 1} if name != "gmres" else {"restart": 2, "check_every": 1}
    result = SOLVERS[name](matrix, right, wp.zeros_like(right), tol=1e-3, callback=lambda *state: seen.append(state), **options)
    np.testing.assert_allclose(result[2], max(1e-3 * norm, 1e-3))
    assert seen[0][0] == 0 and abs(seen[0][1] - norm) < 1e-9 and seen[-1] == result
    assert [state[0] for state in seen] == sorted(state[0] for state in seen)
    absolute = SOLVERS[name](matrix, right, wp.zeros_like(right), tol=0.0, atol=0.1, **options)
    np.testing.assert_allclose(absolute[2], 0.1)
    few = SOLVERS[name](matrix, right, wp.zeros_like(right), maxiter=2, check_every=1)
    assert few[0] == 2 and few[1] > few[2]
    zero = SOLVERS[name](matrix, wp.zeros_like(right), wp.ones_like(right), check_every=1)
    assert zero[1] <= zero[2]


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("check_every", [0, 1, 10])
def test_batches_stop_by_themselves(name, check_every):
    sizes = [5, 11, 8]
    a, b = np.zeros((26, 26)), np.zeros(26)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    for k, size in enumerate(sizes):
        at = slice(offsets[k], offsets[k + 1])
        a[at, at], b[at] = system(name, size, k)
    a[24:, 24:], b[24:] = np.eye(2), 1.0
    a[3, 24] = a[24, 3] = 0.5  # what lies behind all batches is a constant for them
    x = wp.full(26, 7.0, dtype=wp.float64)
    x[:24].zero_()
    matrix = linear.aslinearoperator(wp.array(a, dtype=wp.float64), wp.array(offsets, dtype=int))
    assert matrix.batch_count == 3 and matrix.max_batch_length is None
    result = SOLVERS[name](matrix, wp.array(b, dtype=wp.float64), x, check_every=check_every)
    numbers = x.numpy()
    assert result[0] > 1 if check_every else result[0].numpy()[0] > 1
    np.testing.assert_allclose((a @ numbers)[:24], b[:24], atol=1e-9)
    assert (numbers[24:] == 7.0).all(), "what lies behind all batches stays"
    if check_every == 0:
        assert result[1].shape == (3,) and (result[1].numpy() <= result[2].numpy()).all()


@pytest.mark.parametrize("name", SOLVERS)
def test_one_batch_with_numbers_behind_it(name):
    diagonal = wp.array([2.0, 3.0, 4.0, 5.0], dtype=wp.float64)
    matrix = linear.aslinearoperator(diagonal, wp.array([0, 3], dtype=int), 3)
    x = wp.array([0.0, 0.0, 0.0, 7.0], dtype=wp.float64)
    result = SOLVERS[name](matrix, wp.array([2.0, 6.0, 12.0, 100.0], dtype=wp.float64), x, tol=1e-8, maxiter=20, check_every=1)
    assert result[1] <= result[2] < 1e-6
    np.testing.assert_allclose(x.numpy(), [1, 2, 3, 7])


@pytest.mark.parametrize("name", ["bicgstab", "gmres"])
def test_preconditioners_from_the_left(name):
    a, b = system(name, 20, 6)
    a = a * np.linspace(1, 50, 20)[:, None]
    matrix, right, x = wp.array(a, dtype=wp.float64), wp.array(b, dtype=wp.float64), wp.zeros(20, dtype=wp.float64)
    inverse = linear.preconditioner(matrix)
    result = SOLVERS[name](matrix, right, x, M=inverse, is_left_preconditioner=True, maxiter=60)
    assert result[1] <= result[2]
    close(a, x, b, 1e-8)


@pytest.mark.parametrize("name", ["cg", "cr"])
def test_beginning_anew(name):
    a, b = system(name, 24, 7)
    matrix, right, x = wp.array(a, dtype=wp.float64), wp.array(b, dtype=wp.float64), wp.zeros(24, dtype=wp.float64)
    iterations, residual, tolerance = SOLVERS[name](matrix, right, x, restart=3, maxiter=300, check_every=1)
    assert iterations % 3 == 0 and residual <= tolerance
    assert np.linalg.norm(a @ x.numpy() - b) <= tolerance * (1 + 1e-9), "by the true residual"


def test_gmres_begins_anew():
    a, b = system("gmres", 30, 8)
    matrix, right, x = wp.array(a, dtype=wp.float64), wp.array(b, dtype=wp.float64), wp.zeros(30, dtype=wp.float64)
    iterations, residual, tolerance = SOLVERS["gmres"](matrix, right, x, restart=4, maxiter=200)
    assert residual <= tolerance and iterations > 4
    close(a, x, b, 1e-9)


@pytest.mark.parametrize("name, kind", [("cg", linear.CG), ("cr", linear.CR), ("bicgstab", linear.BiCGSTAB), ("gmres", linear.GMRES)])
def test_solvers_keep_their_memory(name, kind):
    a, b = system(name, 16, 9)
    other, c = system(name, 16, 10)
    x = wp.zeros(16, dtype=wp.float64)
    solver = SOLVERS[name](wp.array(a, dtype=wp.float64), wp.array(b, dtype=wp.float64), x, run=False)
    assert isinstance(solver, kind) and isinstance(solver, linear.LinearSolverState) and not x.numpy().any()
    solver()
    close(a, x, b, 1e-9)
    y = wp.zeros(16, dtype=wp.float64)
    solver(A=wp.array(other, dtype=wp.float64), b=wp.array(c, dtype=wp.float64), x=y)
    close(other, y, c, 1e-9)
    with pytest.raises(ValueError, match="rows|made for"):
        solver(b=wp.zeros(5, dtype=wp.float64), x=wp.zeros(5, dtype=wp.float64))
    if name in ("cg", "cr"):
        y.zero_()
        assert solver(M=linear.preconditioner(wp.array(other, dtype=wp.float64)))[1] <= 1e-9
        close(other, y, c, 1e-9)


def test_vectors_with_strides():
    a, b = system("cg", 10, 11)
    matrix = wp.array(a, dtype=wp.float64)
    right, x = wp.array(np.repeat(b, 2), dtype=wp.float64)[::2], wp.zeros(20, dtype=wp.float64)[::2]
    SOLVERS["cg"](matrix, right, x)
    close(a, x, b, 1e-9)


def test_operators():
    a, b = system("gmres", 6, 12)
    matrix = wp.array(a, dtype=wp.float32)
    x, y, z = (wp.array(n, dtype=wp.float32) for n in (b, np.arange(6.0), np.zeros(6)))
    operator = linear.aslinearoperator(matrix)
    assert operator.shape == (6, 6) and operator.dtype is wp.float32 is operator.scalar_type
    assert operator.batch_count == 1 and operator.batch_offsets is None and linear.aslinearoperator(operator) is operator
    assert operator.device == matrix.device
    operator.matvec(x, y, z, 2.0, -1.0)
    np.testing.assert_allclose(z.numpy(), 2 * a @ b - np.arange(6), rtol=1e-5)
    for diagonal in (y, wp.array(np.arange(6.0).reshape(2, 3), dtype=wp.vec3)):
        linear.aslinearoperator(diagonal).matvec(x, y, z, 1.0, 0.0)
        np.testing.assert_allclose(z.numpy(), np.arange(6) * b, rtol=1e-5)
    blocks = np.random.default_rng(1).random((2, 3, 3))
    linear.aslinearoperator(wp.array(blocks, dtype=wp.mat33)).matvec(x, y, z, 1.0, 1.0)
    np.testing.assert_allclose(z.numpy(), np.einsum("bij,bj->bi", blocks, b.reshape(2, 3)).reshape(-1) + np.arange(6), rtol=1e-5)
    sparse = linear.aslinearoperator(as_kind(a, "csr", wp.float32))
    sparse.matvec(x, y, z, 1.0, 3.0)
    np.testing.assert_allclose(z.numpy(), a @ b + 3 * np.arange(6), rtol=1e-5)

    def twice(x, y, z, alpha, beta):
        z.assign(2.0 * alpha * x.numpy() + (beta * y.numpy() if beta else 0.0))

    if not wp.get_device().is_cuda:
        own = linear.LinearOperator((6, 6), wp.float32, matrix.device, twice)
        assert linear.cg(own, x, z)[0] == 1
        np.testing.assert_allclose(z.numpy(), b / 2, rtol=1e-5)


def test_preconditioners():
    a, b = system("cg", 6, 13)
    a[2, 2] = 0.0
    a[3, 3] = -4.0
    z, right = wp.zeros(6, dtype=wp.float64), wp.array(b, dtype=wp.float64)
    d = np.diag(a).copy()
    d[2] = 1.0
    for source in (wp.array(a, dtype=wp.float64), as_kind(a, "csr", wp.float64), wp.array(np.diag(a), dtype=wp.float64)):
        for ptype, want in (("id", b), ("diag", b / d), ("diag_abs", b / np.abs(d))):
            linear.preconditioner(source, ptype).matvec(right, z, z, 1.0, 0.0)
            np.testing.assert_allclose(z.numpy(), want)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda a, b, x: linear.cg("a", b, x), ValueError, "LinearOperator"),
        (lambda a, b, x: linear.cg(a, wp.zeros(3), x), ValueError, "x and b"),
        (lambda a, b, x: linear.cg(a, wp.zeros(3), wp.zeros(3)), ValueError, "A has 4 rows"),
        (lambda a, b, x: linear.cg(a, wp.zeros(4, dtype=wp.float64), wp.zeros(4, dtype=wp.float64)), ValueError, "scalar type"),
        (lambda a, b, x: linear.cg(wp.zeros((4, 3)), b, x), ValueError, "square"),
        (lambda a, b, x: linear.cg(a, b, x, M=wp.zeros(3)), ValueError, "M has 3 rows"),
        (lambda a, b, x: linear.cg(a, b, x, check_every=-1), ValueError, "check_every"),
        (lambda a, b, x: linear.cg(a, b, x, restart=0), ValueError, "restart"),
        (lambda a, b, x: linear.cg(a, b, x, restart=1.5), TypeError, "integer"),
        (lambda a, b, x: linear.gmres(a, b, x, restart=0), ValueError, "restart"),
        (lambda a, b, x: linear.preconditioner(a, "lu"), ValueError, "'lu'"),
        (lambda a, b, x: linear.preconditioner(linear.aslinearoperator(a)), ValueError, "diagonal preconditioner"),
        (lambda a, b, x: linear.aslinearoperator(a, max_batch_length=3), ValueError, "batch_offsets"),
        (lambda a, b, x: linear.cg(linear.aslinearoperator(a, wp.array([0, 9], dtype=int)), b, x), ValueError, "batch_offsets"),
    ],
)
def test_errors_name_the_argument(call, error, words):
    a, b, x = wp.array(np.eye(4), dtype=float), wp.ones(4, dtype=float), wp.zeros(4, dtype=float)
    with pytest.raises(error, match=words):
        call(a, b, x)
