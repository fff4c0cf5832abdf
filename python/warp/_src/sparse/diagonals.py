"""Diagonals of sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from warp._src.arrays.array import array
from warp._src.arrays.array_factories import empty
from warp._src.devices.device import get_device
from warp._src.sparse.block_kernels import BlockKernel, as_blocks, block_words
from warp._src.sparse.expressions import take
from warp._src.sparse.making import bsr_zeros
from warp._src.sparse.matrix import BsrMatrix, block_shape_of, checked_block_type, ensure_room, ensure_rows, row_ends, topology_changed
from warp._src.values import types
from warp._src.values.scalars import is_number

_GET_DIAGONAL = BlockKernel(
    "bsr_read_diagonal",
    "starts: {ints}, ends: {ints}, columns: {ints}, values: wp.array3d(dtype={S}), scale: {W}, out: wp.array3d(dtype={S})",
    "row, i, j",
    """
b = block_between(row, starts[row], ends[row], columns)
number = {W}(0)
if b >= 0:
    number = scale * {W}(values[b, i, j])
out[row, i, j] = {S}(number)
""",
)
_DIAGONAL_TOPOLOGY = BlockKernel(
    "bsr_diagonal_topology",
    "length: int, offsets: {ints}, columns: {ints}",
    "row",
    """
offsets[row] = wp.min(row, length)
if row < length:
    columns[row] = row
""",
    False,
)
_COPY_DIAGONAL = BlockKernel(
    "bsr_copy_diagonal",
    "source: wp.array3d(dtype={S}), values: wp.array3d(dtype={S})",
    "b, i, j",
    "values[b, i, j] = source[b, i, j]",
)


def bsr_get_diag(A: Any, out: array | None = None) -> array:
    """The blocks on the diagonal of a matrix; zeros where there is none.

    Args:
        A: the matrix.
        out: an array of blocks that takes them; a new one without it.
    """
    matrix, scale = take(A, "A")
    length = min(matrix.nrow, matrix.ncol)
    if out is None:
        out = empty(length, dtype=matrix.dtype, device=matrix.device, requires_grad=matrix.requires_grad)
    elif not isinstance(out, array) or out.ndim != 1 or out._element != matrix.values._element:
        raise ValueError(f"Output array type must be {types.type_repr(matrix.dtype)}, as the blocks of the matrix are")
    elif out.shape[0] < length:
        raise ValueError(f"Output array must be of length at least {length}, got {out.shape[0]}")
    elif out.device != matrix.device:
        raise ValueError(f"bsr_get_diag: out lies on {out.device}, the matrix on {matrix.device}")
    words = block_words(matrix.values._element.scalar, matrix.block_shape)
    _GET_DIAGONAL.follow(
        (length, *matrix.block_shape), matrix.offsets, row_ends(matrix), matrix.columns, matrix.scalar_values, scale,
        as_blocks(out, matrix.block_shape), S=words["S"], W=words["W"],
    )  # fmt: skip
    return out


def bsr_set_diag(A: BsrMatrix, diag: Any, rows_of_blocks: int | None = None, cols_of_blocks: int | None = None) -> None:
    """Makes a matrix diagonal.

    Args:
        A: the matrix; its blocks become those of its diagonal.
        diag: an array of blocks; or one block, for all places; None leaves values open.
        rows_of_blocks, cols_of_blocks: the size in blocks; without them that of the array or, for one block, that of A.
    """
    if not isinstance(A, BsrMatrix):
        raise TypeError(f"bsr_set_diag: A must be a BsrMatrix, got {type(A).__name__}")
    rows, cols = _size(rows_of_blocks, cols_of_blocks, diag.shape[0] if isinstance(diag, array) else (A.nrow, A.ncol))
    length = min(rows, cols)
    if isinstance(diag, array):
        if diag.ndim != 1 or diag._element.scalar != A.values._element.scalar or block_shape_of(diag.dtype) != A.block_shape:
            raise ValueError(f"bsr_set_diag: diag must be an array of {types.type_repr(A.dtype)}, got {types.type_repr(diag.dtype)}")
        if diag.device != A.device:
            raise ValueError(f"bsr_set_diag: diag lies on {diag.device}, the matrix on {A.device}")
        length = min(length, diag.shape[0])
    ensure_rows(A, rows, cols)
    ensure_room(A, length, isinstance(diag, array) and bool(diag.requires_grad))
    A.row_counts = None
    _DIAGONAL_TOPOLOGY.run(rows + 1, length, A.offsets, A.columns)
    topology_changed(A, length)
    A.nnz = length
    if isinstance(diag, array):
        words = block_words(A.values._element.scalar, A.block_shape)
        shape = (length, *A.block_shape)
        _COPY_DIAGONAL.follow(shape, as_blocks(diag, A.block_shape), A.scalar_values, S=words["S"])
    elif diag is not None and length:
        A.values[:length].fill_(_block(A.dtype, diag))


def _block(block_type: Any, value: Any) -> Any:
    """A block from a number, a matrix or what NumPy can make of it."""
    if is_number(value) and block_shape_of(block_type) == (1, 1) and not hasattr(block_type, "_shape_"):
        return value
    return block_type(np.asarray(value).reshape(-1).tolist()) if not is_number(value) else block_type(value)


def _size(rows: Any, cols: Any, default: Any) -> tuple[int, int]:
    if rows is None and cols is None:
        rows, cols = default if isinstance(default, tuple) else (default, default)
    rows, cols = cols if rows is None else rows, rows if cols is None else cols
    return int(rows), int(cols)


def bsr_diag(
    diag: Any = None,
    rows_of_blocks: int | None = None,
    cols_of_blocks: int | None = None,
    block_type: Any = None,
    device: Any = None,
) -> BsrMatrix:
    """A diagonal matrix.

    Args:
        diag: an array of blocks; or one block, for all places; None leaves values open.
        rows_of_blocks, cols_of_blocks: the size in blocks; that of the array without them.
        block_type: the type of blocks; that of `diag` without it.
        device: where the matrix lies; where the array does.
    """
    if isinstance(diag, array):
        block_type, device = diag.dtype, diag.device if device is None else get_device(device)
        if device != diag.device:
            raise ValueError(f"bsr_diag: diag lies on {diag.device}, but device is {device}")
        rows, cols = _size(rows_of_blocks, cols_of_blocks, diag.shape[0])
    else:
        if rows_of_blocks is None and cols_of_blocks is None:
            raise ValueError(
                "rows_of_blocks and/or cols_of_blocks must be provided for constructing a diagonal matrix with uniform diagonal"
            )
        rows, cols = _size(rows_of_blocks, cols_of_blocks, None)
        if block_type is None:
            if diag is None:
                raise ValueError("bsr_diag: block_type must be provided where diag is not")
            if is_number(diag):
                block_type = getattr(type(diag), "_wp_type_", None) and type(diag) or types.float32
            else:
                block_type = type(diag) if hasattr(type(diag), "_wp_type_") else _type_of_numbers(diag)
    made = bsr_zeros(rows, cols, checked_block_type(block_type), device)
    bsr_set_diag(made, diag, rows, cols)
    return made


def _type_of_numbers(diag: Any) -> Any:
    shape = np.asarray(diag).shape
    if len(shape) != 2:
        raise ValueError(f"bsr_diag: diag must be a block, or an array of them, got a shape of {shape}; give block_type")
    return types.matrix(shape, types.dtype_from_numpy(np.asarray(diag).dtype))


def bsr_set_identity(A: BsrMatrix, rows_of_blocks: int | None = None) -> None:
    """Makes a matrix of square blocks the identity.

    Args:
        A: the matrix.
        rows_of_blocks: its new size in blocks.
    """
    if not isinstance(A, BsrMatrix):
        raise TypeError(f"bsr_set_identity: A must be a BsrMatrix, got {type(A).__name__}")
    rows, cols = A.block_shape
    if rows != cols:
        raise ValueError(f"bsr_set_identity: blocks must be square, got {rows}×{cols}")
    one: Any = 1 if rows == 1 else np.eye(rows)
    size = A.nrow if rows_of_blocks is None else rows_of_blocks
    bsr_set_diag(A, one, size, size)


def bsr_identity(rows_of_blocks: int, block_type: Any, device: Any = None) -> BsrMatrix:
    """The identity.

    Args:
        rows_of_blocks: its size in blocks.
        block_type: the type of blocks: a scalar type or one of square matrices.
        device: where it lies.
    """
    made = bsr_zeros(rows_of_blocks, rows_of_blocks, block_type, device)
    bsr_set_identity(made)
    return made
