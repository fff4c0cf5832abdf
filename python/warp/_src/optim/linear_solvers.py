"""Conjugate gradients, conjugate residuals and stabilised biconjugate gradients.

Each class says which kernels an iteration launches. Kernels are given their batch's scalars and find the coefficients of the
step from them; where a batch stands still (`active` is 0), steps are of length zero and directions stay.
"""

from __future__ import annotations

from typing import Any, Callable

from warp._src.arrays.array import array
from warp._src.arrays.array_factories import copy
from warp._src.optim.linear_state import GOES, REFRESH, LinearSolverState, checked_restart, flat
from warp._src.sparse.block_kernels import BlockKernel

_END = " batches: {ints}, active: {ints}"
_V, _W = "wp.array(dtype={S})", "wp.array(dtype={W})"


def _kernel(name: str, params: str, body: str) -> BlockKernel:
    """A kernel over numbers; `v` in the list of parameters is a vector, `w` scalars of batches."""
    typed = []
    for one in params.split(","):
        label, kind = one.split(":")
        typed.append(f"{label.strip()}: {_V if kind.strip() == 'v' else _W}")
    return BlockKernel(name, ", ".join(typed) + "," + _END, "i", GOES + body.strip("\n"), False)


# Written out: along = p, image = A p.
_STEP = _kernel(
    "solver_step",
    "x: v, r: v, along: v, image: v, top: w, bottom: w",
    """
if goes and bottom[b] != {W}(0):
    alpha = top[b] / bottom[b]
    x[i] = {S}({W}(x[i]) + alpha * {W}(along[i]))
    r[i] = {S}({W}(r[i]) - alpha * {W}(image[i]))
""",
)
_TURN = _kernel(
    "solver_turn",
    "p: v, z: v, top: w, bottom: w",
    """
if goes and bottom[b] != {W}(0):
    beta = top[b] / bottom[b]
    p[i] = {S}({W}(z[i]) + beta * {W}(p[i]))
""",
)
_KEEP = BlockKernel("solver_keep", "to: wp.array(dtype={W}), value: wp.array(dtype={W})", "b", "to[b] = value[b]", False)


class _Restartable(LinearSolverState):
    """Solvers that can begin anew after some iterations, from the residual as it is."""

    def __init__(
        self,
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
        *,
        restart: int | None = None,
    ) -> None:
        self._restart = None if restart is None else checked_restart(restart)
        super().__init__(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph)
        if self._restart is not None:
            self._restart = self._cycle_length = min(self._restart, self._maxiter)

    def _cycle(self) -> None:
        if self._restart is None:
            self._iterate()
            self._advance()
            return
        for _ in range(self._restart):
            self._iterate()
            self._advance(0, REFRESH)
        self._begin_directions()  # by the true residual, which decides
        self._advance(self._restart)

    def _iterate(self) -> None:
        raise NotImplementedError

    def _begin_directions(self) -> None:
        raise NotImplementedError


class CG(_Restartable):
    """Conjugate gradients (Hestenes and Stiefel 1952), for symmetric positive definite matrices: a solver that keeps its memory.

    Arguments as for `cg`. Call it to solve, with other arrays of the same sizes if need be.
    """

    def _allocate(self) -> None:
        self._r, self._p, self._image, self._z = (self._vector() for _ in range(4))
        self._rz, self._rz_next, self._bottom = self._scalars(), self._scalars(), self._scalars()

    def _start(self) -> None:
        self._begin_directions()

    def _begin_directions(self) -> None:
        self._residual(self._r)
        z = self._apply(self._M, self._r, self._z)
        copy(self._p, z)
        self._squares(z, self._rz)

    def _squares(self, z: array, rz: array) -> None:
        """r·r and r·z."""
        r = flat(self._r)
        self._dot(r, r, self._residuals)
        if self._M is None:
            _KEEP.run(self._batch_count, rz, self._residuals, W=self._words["W"])
        else:
            self._dot(r, flat(z), rz)

    def _iterate(self) -> None:
        x, r, p, image = map(flat, (self._working_x, self._r, self._p, self._image))
        self._apply(self._A, self._p, self._image)
        self._dot(p, image, self._bottom)
        self._launch(_STEP, x, r, p, image, self._rz, self._bottom)
        z = self._apply(self._M, self._r, self._z)
        self._squares(z, self._rz_next)
        self._launch(_TURN, p, flat(z), self._rz_next, self._rz)
        _KEEP.run(self._batch_count, self._rz, self._rz_next, W=self._words["W"])


_STEP_WITH = _kernel(
    "solver_step_with",
    "x: v, r: v, z: v, along: v, image: v, moved: v, top: w, bottom: w",
    """
if goes and bottom[b] != {W}(0):
    alpha = top[b] / bottom[b]
    x[i] = {S}({W}(x[i]) + alpha * {W}(along[i]))
    r[i] = {S}({W}(r[i]) - alpha * {W}(image[i]))
    z[i] = {S}({W}(z[i]) - alpha * {W}(moved[i]))
""",
)
_TURN_BOTH = _kernel(
    "solver_turn_both",
    "p: v, z: v, image: v, z_image: v, top: w, bottom: w",
    """
if goes and bottom[b] != {W}(0):
    beta = top[b] / bottom[b]
    p[i] = {S}({W}(z[i]) + beta * {W}(p[i]))
    image[i] = {S}({W}(z_image[i]) + beta * {W}(image[i]))
""",
)


class CR(_Restartable):
    """Conjugate residuals (Stiefel 1955), for symmetric matrices that need not be positive: a solver that keeps its memory.

    Arguments as for `cr`. Call it to solve, with other arrays of the same sizes if need be.
    """

    def _allocate(self) -> None:
        self._r, self._p, self._image, self._z_image = (self._vector() for _ in range(4))
        self._z, self._moved = (self._r, self._image) if self._M is None else (self._vector(), self._vector())
        self._top, self._top_next, self._bottom = self._scalars(), self._scalars(), self._scalars()

    def _start(self) -> None:
        self._begin_directions()

    def _begin_directions(self) -> None:
        self._residual(self._r)
        r = flat(self._r)
        self._dot(r, r, self._residuals)
        self._apply(self._M, self._r, self._z)
        self._apply(self._A, self._z, self._z_image)
        copy(self._p, self._z)
        copy(self._image, self._z_image)
        self._dot(flat(self._z), flat(self._z_image), self._top)

    def _iterate(self) -> None:
        x, r, p, image, z, z_image = map(
            flat, (self._working_x, self._r, self._p, self._image, self._z, self._z_image)
        )
        self._apply(self._M, self._image, self._moved)
        self._dot(image, flat(self._moved), self._bottom)
        if self._M is None:
            self._launch(_STEP, x, r, p, image, self._top, self._bottom)
        else:
            self._launch(_STEP_WITH, x, r, z, p, image, flat(self._moved), self._top, self._bottom)
        self._dot(r, r, self._residuals)
        self._apply(self._A, self._z, self._z_image)
        self._dot(z, z_image, self._top_next)
        self._launch(_TURN_BOTH, p, z, image, z_image, self._top_next, self._top)
        _KEEP.run(self._batch_count, self._top, self._top_next, W=self._words["W"])


_HALF_STEP = _kernel(
    "solver_half_step",
    "x: v, r: v, y: v, v: v, rho: w, bottom: w",
    """
if goes and bottom[b] != {W}(0):
    alpha = rho[b] / bottom[b]
    x[i] = {S}({W}(x[i]) + alpha * {W}(y[i]))
    r[i] = {S}({W}(r[i]) - alpha * {W}(v[i]))
""",
)
_OTHER_HALF = _kernel(
    "solver_other_half",
    "x: v, r: v, z: v, t: v, top: w, bottom: w",
    """
if goes and bottom[b] != {W}(0):
    omega = top[b] / bottom[b]
    x[i] = {S}({W}(x[i]) + omega * {W}(z[i]))
    r[i] = {S}({W}(r[i]) - omega * {W}(t[i]))
""",
)
_NEW_DIRECTION = _kernel(
    "solver_new_direction",
    "p: v, r: v, v: v, rho: w, rho_next: w, r0v: w, ts: w, tt: w",
    """
if goes and rho[b] != {W}(0) and r0v[b] != {W}(0) and tt[b] != {W}(0) and ts[b] != {W}(0):
    omega = ts[b] / tt[b]
    beta = (rho_next[b] / r0v[b]) / omega
    p[i] = {S}({W}(r[i]) + beta * ({W}(p[i]) - omega * {W}(v[i])))
""",
)


class BiCGSTAB(LinearSolverState):
    """Stabilised biconjugate gradients (van der Vorst 1992), for any matrix: a solver that keeps its memory.

    Arguments as for `bicgstab`. Call it to solve, with other arrays of the same sizes if need be.
    """

    def __init__(
        self,
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
    ) -> None:
        self._left = is_left_preconditioner
        super().__init__(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph)

    _fixed_preconditioning = True

    def _allocate(self) -> None:
        self._r, self._r0, self._p, self._v, self._t = (self._vector() for _ in range(5))
        self._y, self._z, self._mt = (self._vector() for _ in range(3)) if self._M is not None else (None,) * 3
        names = ("_rho", "_rho_next", "_r0v", "_ts", "_tt")
        for name in names:
            setattr(self, name, self._scalars())

    def _start(self) -> None:
        self._residual(self._r)
        copy(self._r0, self._r)
        copy(self._p, self._r)
        r = flat(self._r)
        self._dot(r, r, self._residuals)
        _KEEP.run(self._batch_count, self._rho, self._residuals, W=self._words["W"])

    def _cycle(self) -> None:
        x, r, r0, p, v, t = map(flat, (self._working_x, self._r, self._r0, self._p, self._v, self._t))
        y = self._apply(self._M, self._p, self._y)
        self._apply(self._A, y, self._v)
        self._dot(r0, v, self._r0v)
        self._launch(_HALF_STEP, x, r, flat(y), v, self._rho, self._r0v)
        z = self._apply(self._M, self._r, self._z)
        self._apply(self._A, z, self._t)
        if self._left and self._M is not None:
            mt = flat(self._apply(self._M, self._t, self._mt))
            self._dot(mt, flat(z), self._ts)
            self._dot(mt, mt, self._tt)
        else:
            self._dot(t, r, self._ts)
            self._dot(t, t, self._tt)
        self._launch(_OTHER_HALF, x, r, flat(z), t, self._ts, self._tt)
        self._dot(r, r, self._residuals)
        self._dot(r0, r, self._rho_next)
        self._launch(_NEW_DIRECTION, p, r, v, self._rho, self._rho_next, self._r0v, self._ts, self._tt)
        _KEEP.run(self._batch_count, self._rho, self._rho_next, W=self._words["W"])
        self._advance()
