"""Generalised minimal residuals, begun anew after some iterations (Saad and Schultz 1986).

A cycle builds an orthonormal basis of what the matrix makes of the residual, each vector made orthogonal to those before by two
rounds of classical Gram-Schmidt, whose inner products are taken together. Givens rotations keep the small system triangular,
one thread for each batch; its last number is the residual, by which a batch stops taking further vectors into account.
"""

from __future__ import annotations

from typing import Any, Callable

from warp._src.arrays.array_factories import zeros
from warp._src.optim.linear_state import BEGIN, LinearSolverState, checked_restart, flat
from warp._src.sparse.block_kernels import BlockKernel
from warp._src.values import types

_SUBTRACT = BlockKernel(
    "gmres_subtract",
    "basis: wp.array2d(dtype={S}), count: int, parts: wp.array2d(dtype={W}), batches: {ints}, active: {ints}",
    "i",
    """
b = {batch}
if b >= 0:
    total = {W}(basis[count, i])
    for k in range(count):
        total -= parts[k, b] * {W}(basis[k, i])
    basis[count, i] = {S}(total)
""",
    False,
)
_NORMALIZE = BlockKernel(
    "gmres_normalize",
    "basis: wp.array2d(dtype={S}), at: int, squares: wp.array(dtype={W}), batches: {ints}, active: {ints}",
    "i",
    """
b = {batch}
number = {W}(0)
if b >= 0:
    if squares[b] > {W}(0):
        number = {W}(basis[at, i]) / wp.sqrt(squares[b])
basis[at, i] = {S}(number)
""",
    False,
)
_BEGIN_CYCLE = BlockKernel(
    "gmres_begin_cycle",
    "squares: wp.array(dtype={W}), residuals: wp.array(dtype={W}), ratio: wp.array(dtype={W}), g: wp.array2d(dtype={W}), used: {ints}",
    "b",
    """
ratio[b] = {W}(1)
if squares[b] > {W}(0):
    ratio[b] = residuals[b] / squares[b]
g[b, 0] = wp.sqrt(squares[b])
used[b] = 0
""",
    False,
)
# A column of the small system, turned by the rotations of those before and by one of its own.
_ROTATE = BlockKernel(
    "gmres_rotate",
    "first: wp.array2d(dtype={W}), second: wp.array2d(dtype={W}), squares: wp.array(dtype={W}), at: int, active: {ints},"
    " h: wp.array3d(dtype={W}), cosine: wp.array2d(dtype={W}), sine: wp.array2d(dtype={W}), g: wp.array2d(dtype={W}),"
    " used: {ints}, ratio: wp.array(dtype={W}), residuals: wp.array(dtype={W})",
    "b",
    """
if active[b] > 0:
    for k in range(at + 1):
        h[b, k, at] = first[k, b] + second[k, b]
    below = wp.sqrt(squares[b])
    for k in range(at):
        upper = h[b, k, at]
        lower = h[b, k + 1, at]
        h[b, k, at] = cosine[b, k] * upper + sine[b, k] * lower
        h[b, k + 1, at] = cosine[b, k] * lower - sine[b, k] * upper
    upper = h[b, at, at]
    length = wp.sqrt(upper * upper + below * below)
    c = {W}(1)
    s = {W}(0)
    if length > {W}(0):
        c = upper / length
        s = below / length
    cosine[b, at] = c
    sine[b, at] = s
    h[b, at, at] = length
    before = g[b, at]
    g[b, at] = c * before
    g[b, at + 1] = {W}(0) - s * before
    used[b] = at + 1
    residuals[b] = ratio[b] * g[b, at + 1] * g[b, at + 1]
""",
    False,
)
_SOLVE_SMALL = BlockKernel(
    "gmres_solve_small",
    "h: wp.array3d(dtype={W}), g: wp.array2d(dtype={W}), used: {ints}, y: wp.array2d(dtype={W})",
    "b",
    """
count = used[b]
for n in range(count):
    k = count - 1 - n
    total = g[b, k]
    for m in range(k + 1, count):
        total -= h[b, k, m] * y[b, m]
    number = {W}(0)
    if h[b, k, k] != {W}(0):
        number = total / h[b, k, k]
    y[b, k] = number
""",
    False,
)
_COMBINE = BlockKernel(
    "gmres_combine",
    "basis: wp.array2d(dtype={S}), y: wp.array2d(dtype={W}), used: {ints}, sum: wp.array(dtype={S}), batches: {ints}, active: {ints}",
    "i",
    """
b = {batch}
total = {W}(0)
if b >= 0:
    for k in range(used[b]):
        total += y[b, k] * {W}(basis[k, i])
sum[i] = {S}(total)
""",
    False,
)
_ADD = BlockKernel(
    "gmres_add",
    "x: wp.array(dtype={S}), change: wp.array(dtype={S}), used: {ints}, batches: {ints}, active: {ints}",
    "i",
    """
b = {batch}
if b >= 0:
    if used[b] > 0:
        x[i] = {S}({W}(x[i]) + {W}(change[i]))
""",
    False,
)


class GMRES(LinearSolverState):
    """Generalised minimal residuals, for any matrix: a solver that keeps its memory.

    Arguments as for `gmres`. Call it to solve, with other arrays of the same sizes if need be.
    """

    def __init__(
        self,
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
    ) -> None:
        self._left, self._given_restart = is_left_preconditioner, checked_restart(restart)
        super().__init__(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph)

    def _allocate(self) -> None:
        m = self._cycle_length = min(self._given_restart, self._maxiter)
        device, wide, count = self._device, self._wide, self._batch_count
        self._basis = zeros((m + 1, self._b.shape[0]), dtype=self._b.dtype, device=device)
        scalar = types.type_handle(getattr(types, self._b._element.scalar))
        self._numbers = self._basis._reinterpret(scalar, (m + 1, self._n), (self._n * scalar.size, scalar.size))
        self._r, self._image, self._change = self._vector(), self._vector(), self._vector()
        self._first, self._second = self._scalars(m + 1), self._scalars(m + 1)
        self._squares, self._ratio = self._scalars(), self._scalars()
        self._h = zeros((count, m + 1, m), dtype=wide, device=device)
        self._g = zeros((count, m + 1), dtype=wide, device=device)
        self._cosine, self._sine, self._y = (zeros((count, m), dtype=wide, device=device) for _ in range(3))
        self._used = zeros(count, dtype=types.int32, device=device)

    def _start(self) -> None:
        self._true_residual()

    def _true_residual(self) -> None:
        self._residual(self._r)
        r = flat(self._r)
        self._dot(r, r, self._residuals)

    def _cycle(self) -> None:
        left = self._left and self._M is not None
        first = self._apply(self._M, self._r, self._image) if left else self._r
        self._basis[0].assign(first)
        start = self._numbers[0]
        self._dot(start, start, self._squares)
        _BEGIN_CYCLE.run(
            self._batch_count, self._squares, self._residuals, self._ratio, self._g, self._used, W=self._words["W"]
        )
        self._launch(_NORMALIZE, self._numbers, 0, self._squares)
        for at in range(self._cycle_length):
            self._extend(at, left)
        _SOLVE_SMALL.run(self._batch_count, self._h, self._g, self._used, self._y, W=self._words["W"])
        self._launch(_COMBINE, self._numbers, self._y, self._used, flat(self._change))
        change = self._change if left else self._apply(self._M, self._change, self._image)
        kernel_words = {**self._words, "batch": self._batch}
        _ADD.run(
            self._n, flat(self._working_x), flat(change), self._used, self._batches, self._active, **kernel_words
        )
        self._true_residual()
        self._advance(0, BEGIN)

    def _extend(self, at: int, left: bool) -> None:
        """A further vector of the basis, and what it does to the residual."""
        here, there = self._basis[at], self._basis[at + 1]
        if left:
            self._A.matvec(here, self._image, self._image, 1.0, 0.0)
            self._M.matvec(self._image, there, there, 1.0, 0.0)  # type: ignore[union-attr]
        else:
            self._apply(self._A, self._apply(self._M, here, self._image), there)
        known, new = self._numbers[: at + 1], self._numbers[at + 1]
        for parts in (self._first[: at + 1], self._second[: at + 1]):
            self._dots(known, new, parts)
            self._launch(_SUBTRACT, self._numbers, at + 1, parts)
        self._dot(new, new, self._squares)
        _ROTATE.run(
            self._batch_count, self._first, self._second, self._squares, at, self._active, self._h, self._cosine, self._sine,
            self._g, self._used, self._ratio, self._residuals, W=self._words["W"],
        )  # fmt: skip
        self._launch(_NORMALIZE, self._numbers, at + 1, self._squares)
        self._advance()
