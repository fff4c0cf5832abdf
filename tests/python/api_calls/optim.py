"""Calls of optimisers."""

from __future__ import annotations

import warp as wp
import warp.optim
import warp.optim.linear

from . import calls, members

_METHODS = ("set_params", "reset_internal_state", "step")


@members("optim.Adam", *_METHODS)
@members("optim.SGD", *_METHODS)
@calls("optim.Adam", "optim.SGD")
def steps() -> None:
    for kind in (warp.optim.Adam, warp.optim.SGD):
        x = wp.ones(2, dtype=float)
        optimizer = kind(lr=0.5)
        optimizer.set_params([x])
        optimizer.step([wp.ones(2, dtype=float)])
        assert abs(x.numpy() - 0.5).max() < 1e-6 and optimizer.t == 1
        optimizer.reset_internal_state()
        assert optimizer.t == 0


_SOLVERS = {"cg": "CG", "cr": "CR", "bicgstab": "BiCGSTAB", "gmres": "GMRES"}


@calls(*(f"optim.linear.{name}" for pair in _SOLVERS.items() for name in pair))
@calls("optim.linear.aslinearoperator", "optim.linear.preconditioner")
def solves() -> None:
    linear = warp.optim.linear
    matrix = wp.array([[4.0, 1.0], [1.0, 3.0]], dtype=float)
    b = wp.array([6.0, 7.0], dtype=float)
    for function, solver in _SOLVERS.items():
        x = wp.zeros(2, dtype=float)
        iterations, residual, tolerance = getattr(linear, function)(linear.aslinearoperator(matrix), b, x)
        assert 0 < iterations <= 2 and residual <= tolerance and abs(x.numpy() - [1, 2]).max() < 1e-5
        x.zero_()
        getattr(linear, solver)(matrix, b, x, M=linear.preconditioner(matrix, "diag"))()
        assert abs(x.numpy() - [1, 2]).max() < 1e-5
