"""Going back over a tape step by step, where something must be seen to between the steps: arrays that keep their
gradients readable, and writes that no gradient goes back over."""

from __future__ import annotations

from typing import Any

import numpy as np

from warp import _weft
from warp._src.arrays import array_interface as _interface
from warp._src.arrays.array import array


def backward_with_care(tape: Any, retained: list[array], strays: list[Stray]) -> None:
    """`Tape.backward`, all seeds set."""
    kept = [_Retained(one) for one in retained]
    for index in range(tape._count() - 1, -1, -1):
        for one in kept:
            one.before(tape, index)
        tape._reverse(index)
        for one in kept:
            one.after()
        for stray in strays:
            if stray.moment == index:
                stray.check()
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


class Stray:
    """A write that no gradient goes back over, to be made before gradients are seeded."""

    def __init__(self, moment: int, why: str, lo: int, hi: int, layout: list[int], arrays: list[tuple]) -> None:
        self.moment, self.why = moment, why
        self.watched: list[tuple[array, np.ndarray, np.ndarray]] = []
        self._written = np.array([lo]) if not layout else _addresses(layout[0], layout[2:])
        self._bytes = hi - lo if not layout else layout[1]
        results = {id(one) for one, written in arrays if written}
        for one in {id(a): a for a, _ in arrays if a.size}.values():
            met = self._met(one)
            if met.any():
                gradient = _interface.host_view(one.grad)[met]
                # That of results is nothing unless it is to go back; to that of what is only read backward passes add.
                before = np.zeros_like(gradient) if id(one) in results else gradient.copy()
                self.watched.append((one, met, before))

    def _met(self, one: array) -> np.ndarray:
        """Which elements of an array it wrote to."""
        first = _addresses(one.ptr, [*one.shape, *one.strides])
        written = np.sort(self._written.ravel())
        ends = np.searchsorted(written, first + one._element.size, "left")
        return ends > np.searchsorted(written, first - self._bytes, "right")

    def check(self) -> None:
        """Raises if gradients would go past."""
        for one, met, before in self.watched:
            if np.any(_interface.host_view(one.grad)[met] != before):
                raise RuntimeError(
                    f"the gradient of an array of shape {one.shape} is not known before a place on the tape: {self.why}"
                )


def _addresses(first: int, extents_and_strides: list[int]) -> np.ndarray:
    """Where the elements of an array begin."""
    ndim = len(extents_and_strides) // 2
    places = np.asarray(first, np.int64)
    for extent, stride in zip(extents_and_strides[:ndim], extents_and_strides[ndim:]):
        places = np.add.outer(places, np.arange(extent, dtype=np.int64) * stride)
    return places
