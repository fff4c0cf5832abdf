"""What all solvers of linear systems have in common: checked arguments, vectors, inner products, tolerances and the loop.

Vectors are seen as numbers. Several independent systems (batches) lie one after the other in them; each has its own scalars, on
the device, and stands still once it is solved or the iterations are used up: `active` says which ones go on. So no
iteration asks the host for anything; the host looks every few of them whether one is left, or the device does, in a graph.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Callable

import numpy as np

from warp import _weft
from warp._src.algorithms.array_algorithms import array_inner
from warp._src.arrays.array import array
from warp._src.arrays.array_factories import copy, empty, zeros
from warp._src.arrays.listeners import aside, paused
from warp._src.graphs.capture import ScopedCapture, capture_launch, capture_while, is_conditional_graph_supported
from warp._src.optim.linear_operators import LinearOperator, aslinearoperator
from warp._src.sparse.block_kernels import BlockKernel, scalar_words
from warp._src.values import types

# Sums of products of each row of `xs` with `y`, for each batch: parts, each taken by a thread, and their sum. `first`, `last`
# and `step` say which numbers are a thread's: neighbouring ones on CPUs, every so many on GPUs.
_PARTS = BlockKernel(
    "solver_inner_parts",
    "xs: wp.array2d(dtype={S}), y: wp.array(dtype={S}), offsets: {ints}, count: int, parts: wp.array3d(dtype={W})",
    "k, b, t",
    """
begin = offsets[b]
end = offsets[b + 1]
share = (end - begin + count - 1) // count
total = {W}(0)
for n in range({numbers}):
    i = {place}
    if i < end:
        total += {W}(xs[k, i]) * {W}(y[i])
parts[k, b, t] = total
""",
    False,
)
_SUM_PARTS = BlockKernel(
    "solver_sum_parts",
    "parts: wp.array3d(dtype={W}), out: wp.array2d(dtype={W})",
    "k, b",
    """
total = {W}(0)
for t in range(parts.shape[2]):
    total += parts[k, b, t]
out[k, b] = total
""",
    False,
)
_PLACES = {True: ("begin + n * count + t", "share"), False: ("begin + t * share + n", "share")}

_BEGIN = BlockKernel(
    "solver_begin",
    "squares: wp.array(dtype={W}), tol: {W}, atol: {W}, limits: wp.array(dtype={W})",
    "b",
    """
limit = wp.max(tol * wp.sqrt(squares[b]), atol)
limits[b] = limit * limit
""",
    False,
)
# counts: iterations done, iterations allowed. mode: 0 only finds out which batches go on, 1 counts iterations as well and says
# whether another is needed, 2 begins.
_ADVANCE = BlockKernel(
    "solver_advance",
    "residuals: wp.array(dtype={W}), limits: wp.array(dtype={W}), active: {ints}, counts: {ints}, goes_on: {ints}, mode: int, step: int",
    "one",
    """
if mode == 2 or goes_on[0] > 0:
    if mode == 1:
        counts[0] = counts[0] + step
    left = int(0)
    for b in range(active.shape[0]):
        go = int(0)
        if residuals[b] > limits[b] and counts[0] < counts[1]:
            go = 1
        active[b] = go
        left = wp.max(left, go)
    if mode > 0:
        goes_on[0] = left
""",
    False,
)
REFRESH, COUNT, BEGIN = 0, 1, 2

_BATCHES = BlockKernel(
    "solver_batch_of", "offsets: {ints}, count: int, batches: {ints}", "i", "batches[i] = bsr_row_index(offsets, count, i)", False
)

_CLEAR_TAIL = BlockKernel("solver_clear_tail", "r: wp.array(dtype={S}), batches: {ints}", "i", "if batches[i] < 0:\n    r[i] = {S}(0)", False)  # fmt: skip

_TOLERANCES = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-6, "float64": 1e-12}


# How kernels over numbers begin: the number's batch, -1 behind all of them, and whether that goes on.
GOES = """b = {batch}
goes = bool(False)
if b >= 0:
    goes = active[b] > 0
"""


def checked_restart(restart: Any) -> int:
    """After how many iterations to begin anew."""
    if isinstance(restart, bool):
        raise TypeError("restart must be an integer, got bool")
    count = operator.index(restart)
    if count < 1:
        raise ValueError(f"restart must be at least 1, got {restart}")
    return count


def flat(vector: array) -> array:
    """The numbers of a packed array, in one dimension."""
    handle = types.type_handle(getattr(types, vector._element.scalar))
    count = vector.size * (vector._element.size // handle.size)
    return vector._reinterpret(handle, (count,), (handle.size,))


class LinearSolverState:
    """A solver with the memory that it needs, for systems of one size: call it to solve.

    Args:
        A: the matrix: an array of two dimensions, a diagonal, a BsrMatrix or a LinearOperator.
        b: the right-hand side: numbers, or vectors of them.
        x: where the search begins, and what takes the solution.
        tol: the residual's norm is to be at most so much of the norm of b.
        atol: or at most this; without one of the two, the other one counts for it.
        maxiter: how many iterations at most; 0 or None: as many as there are unknowns.
        M: a preconditioner, near to the inverse of A.
        callback: is called with iterations, residual and tolerance whenever these are looked at.
        check_every: after how many iterations to look at the residual; 0: on the device, so that a graph can capture it.
        use_cuda_graph: on GPUs, iterations run as a graph.
    """

    def __init__(
        self,
        A: Any,
        b: array,
        x: array,
        tol: float | None = None,
        atol: float | None = None,
        maxiter: float | None = 0,
        M: Any = None,
        callback: Callable | None = None,
        check_every: int = 10,
        use_cuda_graph: bool = True,
    ) -> None:
        if int(check_every) < 0:
            raise ValueError(f"check_every must not be negative, got {check_every}")
        self._A, self._M = aslinearoperator(A), None if M is None else aslinearoperator(M)
        self._b, self._x = b, x
        self._check()
        scalar = b._element.scalar
        self._words = scalar_words(scalar)
        self._wide = getattr(types, self._words["W"][3:])
        default = _TOLERANCES[scalar]
        self._tol = default if tol is None and atol is None else atol if tol is None else tol
        self._atol = self._tol if atol is None else atol
        self._n = flat(b if b.is_contiguous else b.contiguous()).shape[0]
        self._maxiter = math.ceil(maxiter) if maxiter else self._n
        self._callback, self._check_every, self._use_graph = callback, int(check_every), use_cuda_graph
        self._device = b.device
        self._graph: Any = None
        self._graph_of: Any = None
        self._set_batches()
        self._counts = zeros(2, dtype=types.int32, device=self._device)
        self._goes_on = zeros(1, dtype=types.int32, device=self._device)
        self._active = zeros(self._batch_count, dtype=types.int32, device=self._device)
        self._residuals, self._limits = self._scalars(), self._scalars()
        self._allocate()

    # -- arguments

    def _check(self) -> None:
        A, b, x = self._A, self._b, self._x
        for name, one in (("b", b), ("x", x)):
            if not isinstance(one, array) or one.ndim != 1 or one._element.scalar not in _TOLERANCES:
                raise ValueError(f"{name} must be an array of one dimension, of floating point numbers or vectors of them")
            if one.device != A.device:
                raise ValueError(f"{name} lies on {one.device}, the matrix on {A.device}")
        if x._element != b._element or x.shape != b.shape:
            got = f"{x.shape} of {types.type_repr(x.dtype)} and {b.shape} of {types.type_repr(b.dtype)}"
            raise ValueError(f"x and b must have one shape and type, got {got}")
        numbers = b.size * (b._element.size // types.type_handle(getattr(types, b._element.scalar)).size)
        for name, one in (("A", A), ("M", self._M)):
            if one is None:
                continue
            rows, cols = one.shape if len(one.shape) == 2 else (one.shape[0], one.shape[0])
            if rows != cols:
                raise ValueError(f"{name} must be square, got {rows}×{cols}")
            if rows != numbers:
                raise ValueError(f"{name} has {rows} rows, but b has {numbers} numbers")
            if types.type_handle(one.scalar_type).name != b._element.scalar:
                of = f"{types.type_repr(one.scalar_type)} and {b._element.scalar}"
                raise ValueError(f"{name} and b must have one scalar type, got {of}")
            if one.device != A.device:
                raise ValueError(f"{name} lies on {one.device}, the matrix on {A.device}")
        if self._M is not None and getattr(self._M, "_is_identity", False):
            self._M = None

    def _set_batches(self) -> None:
        offsets = self._A.batch_offsets
        self._batch_count = self._A.batch_count
        if offsets is None:
            self._offsets = array([0, self._n], dtype=types.int32, device=self._device)
            self._batches, longest = self._offsets, self._n
            self._batch = "0"
        else:
            self._offsets, longest = offsets, self._A.max_batch_length
            if not self._captured():
                given = offsets.numpy()
                if given[0] != 0 or given[-1] > self._n or (np.diff(given) < 0).any():
                    raise ValueError(f"batch_offsets must go up from 0 to at most the {self._n} numbers of b, got {given}")
                longest = int(np.diff(given).max()) if longest is None else longest
            self._batches = empty(self._n, dtype=types.int32, device=self._device)
            _BATCHES.run(self._n, offsets, self._batch_count, self._batches)
            self._batch = "batches[i]"
        longest = self._n if longest is None else longest
        # How many threads share an inner product: by sizes alone, so that results are the same in every run.
        each, most = (64, 1024) if self._device.is_cuda else (2048, 256)
        self._threads = max(1, min(most, -(-longest // each)))

    def _captured(self) -> bool:
        return bool(self._device.is_capturing if self._device.is_cuda else _weft.host_capturing())

    # -- memory

    def _allocate(self) -> None:
        raise NotImplementedError

    def _scalars(self, rows: int | None = None) -> array:
        shape = (self._batch_count,) if rows is None else (rows, self._batch_count)
        return zeros(shape, dtype=self._wide, device=self._device)

    def _vector(self) -> array:
        """A vector of the right-hand side's type."""
        return zeros(self._b.shape, dtype=self._b.dtype, device=self._device)

    # -- steps

    def _dots(self, xs: array, y: array, out: array) -> None:
        """Inner products of the rows of `xs` with y, batch by batch."""
        rows = xs.shape[0]
        if self._A.batch_offsets is None and rows == 1 and self._words["S"] == self._words["W"]:
            array_inner(xs[0], y, out=out[0])
            return
        parts = empty((rows, self._batch_count, self._threads), dtype=self._wide, device=self._device)
        place, numbers = _PLACES[self._device.is_cuda]
        _PARTS.run(parts.shape, xs, y, self._offsets, self._threads, parts, place=place, numbers=numbers, **self._words)
        _SUM_PARTS.run(out.shape, parts, out, W=self._words["W"])

    def _dot(self, x: array, y: array, out: array) -> None:
        """The inner product of two vectors (as numbers), batch by batch."""
        self._dots(x.reshape((1, x.shape[0])), y, out.reshape((1, out.shape[0])))

    def _apply(self, operator: LinearOperator | None, x: array, z: array) -> array:
        """z = operator x; without an operator x itself."""
        if operator is None:
            return x
        operator.matvec(x, z, z, 1.0, 0.0)
        return z

    def _residual(self, r: array) -> None:
        """r = b - A x; 0 behind all batches, so that nothing there is looked for."""
        self._A.matvec(self._working_x, self._b, r, -1.0, 1.0)
        if self._A.batch_offsets is not None:
            _CLEAR_TAIL.run(self._n, flat(r), self._batches, S=self._words["S"])

    def _launch(self, kernel: BlockKernel, *arguments: Any) -> None:
        """One thread for each number; scalars of its batch are at `{batch}`."""
        kernel.run(self._n, *arguments, self._batches, self._active, batch=self._batch, **self._words)

    def _advance(self, step: int = 1, mode: int = COUNT) -> None:
        """Counts iterations, and finds out which batches go on."""
        arguments = (self._residuals, self._limits, self._active, self._counts, self._goes_on, mode, step)
        _ADVANCE.run(1, *arguments, W=self._words["W"])

    # -- the loop

    def __call__(self, A: Any = None, b: array | None = None, x: array | None = None, M: Any = None) -> Any:
        """Solves. Others than the first arguments must have the same sizes and types.

        Returns iterations, residual and tolerance: numbers, or with check_every=0 arrays on the device: the number of iterations,
        the squares of the residuals and the squares of the tolerances, one for each batch.
        """
        if any(one is not None for one in (A, b, x, M)):
            self._take(A, b, x, M)
        with paused(), aside():
            return self._solve()

    def _take(self, A: Any, b: array | None, x: array | None, M: Any) -> None:
        """Takes other arguments, if they fit the memory that there is."""
        before = self._A, self._M, self._b, self._x
        old, preconditioned = self._A, self._M is not None
        if A is not None and not isinstance(A, LinearOperator):
            A = aslinearoperator(A, old.batch_offsets, old.max_batch_length)
        self._A, self._M = A or old, self._M if M is None else aslinearoperator(M)
        self._b, self._x = self._b if b is None else b, self._x if x is None else x
        try:
            self._check()
            size = self._b.shape, self._b._element
            if size != (before[2].shape, before[2]._element):
                raise ValueError(f"the solver was made for {before[2].shape} of {before[2]._element.name}; make another one")
            if (self._A.batch_offsets is None, self._A.batch_count) != (old.batch_offsets is None, old.batch_count):
                raise ValueError("the solver was made for other batch_offsets; make another one")
            if self._A.max_batch_length != old.max_batch_length:
                raise ValueError("the solver was made for another max_batch_length; make another one")
            if preconditioned != (self._M is not None) and self._fixed_preconditioning:
                raise ValueError("the solver was made " + ("with" if preconditioned else "without") + " a preconditioner M")
        except ValueError:
            self._A, self._M, self._b, self._x = before
            raise
        self._set_batches()
        self._graph = None
        if preconditioned != (self._M is not None):
            self._allocate()

    _fixed_preconditioning = False  # whether a solver that was made without a preconditioner stays so

    def _solve(self) -> Any:
        given_b, given_x = self._b, self._x
        self._b = given_b if given_b.is_contiguous else given_b.contiguous()
        self._working_x = given_x if given_x.is_contiguous else given_x.contiguous()
        try:
            b = flat(self._b)
            self._counts.assign([0, self._maxiter]) if not self._captured() else self._set_counts()
            self._active.fill_(1)
            self._dot(b, b, self._residuals)
            _BEGIN.run(self._batch_count, self._residuals, self._tol, self._atol, self._limits, W=self._words["W"])
            self._start()
            self._advance(0, BEGIN)
            if self._check_every == 0 or self._captured():
                self._loop_on_device()
                result: Any = (self._counts[:1], self._residuals, self._limits)
            else:
                result = self._loop_on_host()
            if self._working_x is not given_x:
                copy(given_x, self._working_x)
            return result
        finally:
            self._b = given_b

    def _set_counts(self) -> None:
        self._counts[:1].fill_(0)
        self._counts[1:].fill_(self._maxiter)

    def _start(self) -> None:
        """What comes before the first iteration: it sets `_residuals`, the squares of the norms of residuals."""
        raise NotImplementedError

    def _cycle(self) -> None:
        """An iteration, or several that belong together; it calls `_advance`."""
        raise NotImplementedError

    _cycle_length = 1  # iterations of a cycle

    def _loop_on_device(self) -> None:
        captured = self._captured()
        if self._device.is_cuda and not is_conditional_graph_supported():
            for _ in range(-(-self._maxiter // self._cycle_length)):
                self._cycle()
        elif self._device.is_cuda and not captured and self._use_graph:
            self._prepare()
            if self._graph is None or self._graph_of != "loop":
                with ScopedCapture(self._device) as capture:
                    capture_while(self._goes_on, self._cycle)
                self._graph, self._graph_of = capture.graph, "loop"
            capture_launch(self._graph)
        else:
            capture_while(self._goes_on, self._cycle)

    def _prepare(self) -> None:
        """Compiles what a capture will launch: a cycle in which every batch stands still."""
        if self._graph is None:
            keep = self._goes_on.numpy()[0], self._active.numpy()
            self._active.zero_()
            counts = self._counts.numpy()
            self._counts.zero_()
            self._cycle()
            self._counts.assign(counts)
            self._active.assign(keep[1])
            self._goes_on.fill_(int(keep[0]))

    def _loop_on_host(self) -> tuple[int, float, float]:
        cycles = max(1, self._check_every // self._cycle_length)
        state = self._look()
        for _ in range(-(-self._maxiter // (cycles * self._cycle_length)) + 1):
            if not self._goes_on.numpy()[0]:
                break
            if self._device.is_cuda and self._use_graph:
                self._run_graph(cycles)
            else:
                for _ in range(cycles):
                    self._cycle()
            state = self._look()
        return state

    def _run_graph(self, cycles: int) -> None:
        self._prepare()
        if self._graph is None or self._graph_of != cycles:
            with ScopedCapture(self._device) as capture:
                for _ in range(cycles):
                    self._cycle()
            self._graph, self._graph_of = capture.graph, cycles
        capture_launch(self._graph)

    def _look(self) -> tuple[int, float, float]:
        """Iterations, residual and tolerance; of several batches, those of the one with the largest residual."""
        residuals, limits = self._residuals.numpy(), self._limits.numpy()
        worst = int(np.argmax(residuals)) if not np.isnan(residuals).any() else int(np.argmax(np.isnan(residuals)))
        state = int(self._counts.numpy()[0]), math.sqrt(max(residuals[worst], 0.0)), math.sqrt(limits[worst])
        if math.isnan(residuals[worst]):
            state = state[0], math.nan, state[2]
        if self._callback is not None:
            self._callback(*state)
        return state


