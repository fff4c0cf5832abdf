"""Small kernels of the package itself, on arrays of any element type and rank: made when they are first needed, compiled by
the compiler that users' kernels go through, on whatever device their arrays lie.

A rank can't be generic, so such a kernel is text with blanks: `{array}` stands for an array parameter of any element type,
`{at}` for the thread's index, and whatever else its author names. Those that sums, copies, tangents and sorts are made of
stand beside the functions that use them.
"""

from __future__ import annotations

from typing import Any

from warp import _weft
from warp._src.arrays.listeners import paused
from warp._src.kernels.definitions import kernel_from_text
from warp._src.kernels.launching import launch

_INDICES = "ijkl"


def index(rank: int) -> str:
    """How a kernel of this rank names its thread: i, j, k, l."""
    return ", ".join(_INDICES[:rank])


def index_with_zero(rank: int, axis: int | None) -> str:
    """The same with 0 along one axis; `0` alone for None: where a sum over the axis, or over all, is to be found."""
    return "0" if axis is None else ", ".join("0" if d == axis else _INDICES[d] for d in range(rank))


class OwnKernel:
    """One such kernel: what it is called, its parameters and its statements."""

    def __init__(self, name: str, params: str, body: str) -> None:
        self._name = name
        self._text = f"def {name}({params}):\n    {{at}} = wp.tid()\n    {body}\n"
        self._made: dict[tuple, Any] = {}

    def of(self, rank: int, **words: str) -> Any:
        """The kernel for arrays of a rank, its other blanks filled with `words`; the same one for the same words."""
        key = (rank, *words.values())
        made = self._made.get(key)
        if made is None:
            array = f"wp.array(dtype=Any, ndim={rank})"
            made = kernel_from_text(self._text.format(array=array, at=index(rank), **words), self._name)
            self._made[key] = made
        return made

    def run(self, shape: tuple[int, ...], *arguments: Any, **words: str) -> None:
        """Runs one thread for each element of a shape, where the arrays lie. No tape sees it."""
        with paused():
            self.follow(shape, *arguments, **words)

    def follow(self, shape: tuple[int, ...], *arguments: Any, **words: str) -> None:
        """As `run`, and a tape that records knows the way back."""
        if 0 in shape:
            return
        device = next(a for a in arguments if isinstance(a, _weft.Array)).device  # type: ignore[attr-defined]
        launch(self.of(len(shape), **words), dim=shape, inputs=list(arguments), device=device)
