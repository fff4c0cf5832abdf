"""`cg`, `cr`, `bicgstab` and `gmres`: solvers of linear systems as functions."""

from __future__ import annotations

from typing import Any, Callable

from warp._src.optim.linear_gmres import GMRES
from warp._src.optim.linear_solvers import CG, CR, BiCGSTAB


def cg(
    A: Any,
    b: Any,
    x: Any,
    tol: float | None = None,
    atol: float | None = None,
    maxiter: float | None = 0,
    M: Any = None,
    callback: Callable | None = None,
    check_every: int = 10,
    use_cuda_graph: bool = True,
    run: bool = True,
    *,
    restart: int | None = None,
) -> Any:
    """Solves A x = b by conjugate gradients, for symmetric positive definite matrices.

    Args:
        A: the matrix: an array of two dimensions, a diagonal, a BsrMatrix or a LinearOperator.
        b: the right-hand side: numbers, or vectors of them.
        x: where the search begins, and what takes the solution.
        tol: the residual's norm is to be at most so much of the norm of b; 1e-6 for float32, 1e-12 for float64.
        atol: or at most this; without one of the two, the other one counts for it.
        maxiter: how many iterations at most; 0 or None: as many as there are unknowns.
        M: a preconditioner, near to the inverse of A.
        callback: is called with iterations, residual and tolerance whenever these are looked at.
        check_every: after how many iterations to look; 0: the device looks, so that a graph can capture it.
        use_cuda_graph: on GPUs, iterations run as a graph.
        run: False gives the solver instead of the solution: an object of class CG to be called.
        restart: begins anew after so many iterations.

    Returns iterations, residual and tolerance: numbers, or with check_every=0 arrays on the device: the number of iterations, the
    squares of the residuals and the squares of the tolerances, one for each batch.
    """
    solver = CG(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph, restart=restart)
    return solver() if run else solver


def cr(
    A: Any,
    b: Any,
    x: Any,
    tol: float | None = None,
    atol: float | None = None,
    maxiter: float | None = 0,
    M: Any = None,
    callback: Callable | None = None,
    check_every: int = 10,
    use_cuda_graph: bool = True,
    run: bool = True,
    *,
    restart: int | None = None,
) -> Any:
    """Solves A x = b by conjugate residuals, for symmetric matrices, with positive definite preconditioners. Arguments and
    results as for `cg`."""
    solver = CR(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph, restart=restart)
    return solver() if run else solver


def bicgstab(
    A: Any,
    b: Any,
    x: Any,
    tol: float | None = None,
    atol: float | None = None,
    maxiter: float | None = 0,
    M: Any = None,
    callback: Callable | None = None,
    check_every: int = 10,
    use_cuda_graph: bool = True,
    is_left_preconditioner: bool = False,
    run: bool = True,
) -> Any:
    """Solves A x = b by stabilised biconjugate gradients, for any matrix. Arguments and results as for `cg`;
    `is_left_preconditioner`: M is applied to residuals as well, not to directions alone."""
    left = is_left_preconditioner
    solver = BiCGSTAB(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph, left)
    return solver() if run else solver


def gmres(
    A: Any,
    b: Any,
    x: Any,
    tol: float | None = None,
    atol: float | None = None,
    restart: int = 31,
    maxiter: float | None = 0,
    M: Any = None,
    callback: Callable | None = None,
    check_every: int = 31,
    use_cuda_graph: bool = True,
    is_left_preconditioner: bool = False,
    run: bool = True,
) -> Any:
    """Solves A x = b by generalised minimal residuals, for any matrix. Arguments and results as for `cg`; `restart`: how many
    vectors the basis has at most, after which it begins anew; `is_left_preconditioner`: the system solved is M A x = M b."""
    left = is_left_preconditioner
    solver = GMRES(A, b, x, tol, atol, restart, maxiter, M, callback, check_every, use_cuda_graph, left)
    return solver() if run else solver
