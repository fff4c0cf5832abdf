"""Going back over a tape step by step, where something must be seen to between the steps: arrays that keep their
gradients readable, and writes that the tape did not record."""

from __future__ import annotations

from typing import Any

import numpy as np

from warp import _weft
from warp._src import array_interface as _interface
from warp._src.array import array


def backward_with_care(tape: Any, retained: list[array], strays: list[tuple]) -> None:
    """`Tape.backward`, all seeds set."""
    kept = [_Retained(one) for one in retained]
    for index in range(tape._count() - 1, -1, -1):
        for one in kept:
            one.before(tape, index)
        tape._reverse(index)
        for one in kept:
            one.after()
        for moment, by, lo, hi, arrays in strays:
            if moment == index:
                _check_stray(by, lo, hi, arrays)
    for one in kept:
        one.finish()


class _Retained:
    """The gradient of an array's last values. A store's adjoint takes the gradient of what was written, element by
    element; what the last store to an element took is put back at the end.

    Which elements a launch stored is found by going back over it with a gradient of −0 alone: a store leaves +0."""

    def __init__(self, one: array) -> None:
        self.array = one
        self.taken = np.zeros_like(_interface.host_view(one.grad))
        self.known = np.zeros(self.taken.shape, bool)
        self.now: np.ndarray | None = None
        self.stored: np.ndarray | None = None

    def before(self, tape: Any, index: int) -> None:
        self.now = self.stored = None
        if tape._writes(index, self.array):
            self.now = _interface.host_view(self.array.grad).copy()
            self.stored = self._stores(tape, index)

    def _stores(self, tape: Any, index: int) -> np.ndarray | None:
        gradient = self.array.grad
        scratch = gradient._reinterpret(gradient._element, gradient.shape, gradient.strides)
        _weft.take_private_copy(scratch)
        scratch.assign(array(-np.zeros_like(self.taken), dtype=self.array.dtype, copy=False, device="cpu"))
        if not tape._probe(index, self.array, scratch):
            return None
        return ~np.signbit(_interface.host_view(scratch))

    def after(self) -> None:
        if self.now is not None:
            # A function says nothing of its own: what it changed counts.
            found = _interface.host_view(self.array.grad) != self.now if self.stored is None else self.stored
            found = found & ~self.known
            self.taken[found] = self.now[found]
            self.known |= found

    def finish(self) -> None:
        values = _interface.host_view(self.array.grad).copy()
        values[self.known] = self.taken[self.known]
        self.array.grad.assign(array(values, dtype=self.array.dtype, copy=False, device="cpu"))


def _check_stray(by: str, lo: int, hi: int, arrays: list[array]) -> None:
    """Raises if gradients would go past a write that the tape knows nothing of."""
    for one in {id(a): a for a in arrays if a.requires_grad and a.size}.values():
        first = np.asarray(one.ptr, np.int64)
        for extent, stride in zip(one.shape, one.strides):
            first = np.add.outer(first, np.arange(extent, dtype=np.int64) * stride)
        met = (first < hi) & (first + one._element.size > lo)
        gradient = _interface.host_view(one.grad)[met]
        if np.any(gradient != np.zeros((), gradient.dtype)):
            raise RuntimeError(
                f"{by} has written to an array of shape {one.shape} between operations that the tape recorded, outside "
                "of it, so the gradient of what came before is not known; record that write too, or begin anew with "
                "tape.reset()"
            )
