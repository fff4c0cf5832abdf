"""How the kernels of sparse matrices are made: text with blanks, compiled when first needed, on any device.

Values of blocks are seen as numbers in three dimensions (block, row, column), vectors as numbers in two, so that one text
serves scalars and blocks of every shape. Blanks: `{S}` is the scalar type, `{W}` the type that sums are taken in (float32 for
16-bit floats), `{R}` and `{C}` are the rows and columns of a block, `{ints}` an int32 array. Every matrix is told by where its
rows begin and where they end (`starts`, `ends`), which is the same for compact and for padded ones.
"""

from __future__ import annotations

import sys
from typing import Any

from warp import _weft
from warp._src.arrays.array import array
from warp._src.arrays.listeners import paused
from warp._src.kernels.definitions import kernel_from_text
from warp._src.kernels.launching import launch
from warp._src.values import types

_WIDE = {"float16": "float32", "bfloat16": "float32"}

_SEARCHES = '''
@wp.func
def bsr_row_index(offsets: wp.array(dtype=wp.int32), row_count: int, block_index: int) -> int:
    """The row that a block lies in: the last one that begins at or before it; -1 if it lies behind all rows."""
    if block_index < 0 or block_index >= offsets[row_count]:
        return -1
    low = int(0)
    high = row_count
    while low < high:
        mid = low + (high - low) // 2
        if offsets[mid + 1] > block_index:
            high = mid
        else:
            low = mid + 1
    return low


@wp.func
def block_between(col: int, first: int, end: int, columns: wp.array(dtype=wp.int32)) -> int:
    """The block of a column among those from `first` to `end`, whose columns are in order; -1 if there is none."""
    low = first
    high = end
    while low < high:
        mid = low + (high - low) // 2
        if columns[mid] < col:
            low = mid + 1
        else:
            high = mid
    if low < end:
        if columns[low] == col:
            return low
    return -1


@wp.func
def bsr_block_index(row: int, col: int, bsr_offsets: wp.array(dtype=wp.int32), bsr_columns: wp.array(dtype=wp.int32)) -> int:
    """The index of the block at a row and a column of a compact matrix; -1 if it has none there."""
    return block_between(col, bsr_offsets[row], bsr_offsets[row + 1], bsr_columns)
'''

_names: dict[str, Any] = {}


def names() -> dict[str, Any]:
    """What kernels of this room can name: `wp`, and the searches in rows."""
    if not _names:
        space: dict[str, Any] = {"wp": sys.modules["warp"], "__name__": "warp.sparse"}
        stem = "\n@wp.kernel(enable_backward=False)\ndef only_for_its_functions(offsets: wp.array(dtype=wp.int32)):\n    pass\n"
        made = kernel_from_text(_SEARCHES + stem, "only_for_its_functions", space)
        _names.update(space)
        _names["_kept"] = made  # its text, which the functions are read from
        for name in ("bsr_row_index", "block_between", "bsr_block_index"):
            _names[name] = made.func.__globals__[name]
    return _names


class BlockKernel:
    """A kernel's text with blanks, and the kernels made of it. `threads` names the thread's index: `b, i, j`."""

    def __init__(self, name: str, params: str, threads: str, body: str, backward: bool = True) -> None:
        self._name = name
        params = params.replace("\n", " ")
        head = f"@wp.kernel(enable_backward={backward})\ndef {name}({params}):\n    {threads} = wp.tid()\n"
        self._text = head + "\n".join("    " + line for line in body.strip("\n").split("\n")) + "\n"
        self._made: dict[tuple, Any] = {}

    def of(self, words: dict[str, str]) -> Any:
        """The kernel with its blanks filled; the same one for the same words."""
        key = tuple(sorted(words.items()))
        made = self._made.get(key)
        if made is None:
            text = self._text.format(ints="wp.array(dtype=wp.int32)", **words)
            made = self._made[key] = kernel_from_text(text, self._name, names())
        return made

    def run(self, dim: Any, *arguments: Any, **words: Any) -> None:
        """Runs where the arrays lie. No tape sees it."""
        with paused():
            self.follow(dim, *arguments, **words)

    def follow(self, dim: Any, *arguments: Any, **words: Any) -> None:
        """As `run`, and a tape that records knows the way back."""
        dim = dim if isinstance(dim, tuple) else (dim,)
        if 0 in dim:
            return
        device = next(a for a in arguments if isinstance(a, _weft.Array)).device  # type: ignore[attr-defined]
        kernel = self.of({name: str(word) for name, word in words.items()})
        launch(kernel, dim=dim, inputs=list(arguments), device=device)


def scalar_words(scalar: str) -> dict[str, str]:
    """The blanks for a scalar type."""
    return {"S": f"wp.{scalar}", "W": f"wp.{_WIDE.get(scalar, scalar)}"}


def block_words(scalar: str, shape: tuple[int, int]) -> dict[str, str]:
    """The blanks for blocks of a shape."""
    return {**scalar_words(scalar), "R": str(shape[0]), "C": str(shape[1])}


def as_blocks(values: array, shape: tuple[int, int]) -> array:
    """An array of blocks, or of scalars, as numbers in three dimensions; an array of such numbers as it is."""
    if values.ndim == 3:
        return values
    handle = types.type_handle(getattr(types, values._element.scalar))
    strides = (values.strides[0], shape[1] * handle.size, handle.size)
    return values._reinterpret(handle, (values.shape[0], *shape), strides)


def as_rows(vector: array, length: int) -> array:
    """An array of vectors of a length, or of as many scalars for each, as numbers in two dimensions."""
    handle = types.type_handle(getattr(types, vector._element.scalar))
    if vector._element.kind == "scalar":
        step = vector.strides[0]
        return vector._reinterpret(handle, (vector.shape[0] // length, length), (step * length, step))
    return vector._reinterpret(handle, (vector.shape[0], length), (vector.strides[0], handle.size))
