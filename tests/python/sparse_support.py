"""Random sparse matrices for tests, and the dense arrays that they stand for."""

from __future__ import annotations

import numpy as np
import warp as wp
import warp.sparse as sp

KINDS = [wp.float32, wp.float64, wp.float16, wp.mat22, wp.types.matrix((2, 3), wp.float64), wp.types.matrix((1, 3), wp.float32)]
SQUARE = [wp.float32, wp.float64, wp.mat22d, wp.types.matrix((3, 3), wp.float32)]


def name_of(kind) -> str:
    return kind.__name__ if not hasattr(kind, "_shape_") else f"{kind._wp_scalar_type_.__name__}_{kind._shape_[0]}x{kind._shape_[1]}"


def shape_of(kind) -> tuple[int, int]:
    return tuple(getattr(kind, "_shape_", (1, 1)))


def scalar_of(kind):
    return wp.types.type_scalar_type(kind)


def tolerance(kind) -> float:
    return {"float16": 2e-2, "float32": 1e-5, "float64": 1e-12}[scalar_of(kind).__name__]


def triplets(nrow, ncol, count, kind, seed, requires_grad=False):
    """Random triplets, some of one place and some zero, as arrays of the current device and as NumPy arrays."""
    rng = np.random.default_rng(seed)
    rows, cols = rng.integers(0, max(nrow, 1), count), rng.integers(0, max(ncol, 1), count)
    blocks = rng.integers(-4, 5, (count, *shape_of(kind))) / 2.0
    values = wp.array(blocks if hasattr(kind, "_shape_") else blocks.reshape(-1), dtype=kind, requires_grad=requires_grad)
    return wp.array(rows, dtype=int), wp.array(cols, dtype=int), values, (rows, cols, blocks)


def dense_of(nrow, ncol, parts) -> np.ndarray:
    """The dense matrix of triplets."""
    rows, cols, blocks = parts
    r, c = blocks.shape[1:]
    out = np.zeros((nrow, ncol, r, c))
    np.add.at(out, (rows, cols), blocks)
    return out.transpose(0, 2, 1, 3).reshape(nrow * r, ncol * c)


def dense(matrix) -> np.ndarray:
    """The dense matrix that a sparse one stands for, read from its fields; columns must be in order, and within the matrix."""
    matrix.nnz_sync()
    (r, c), offsets, columns = matrix.block_shape, matrix.offsets.numpy(), matrix.columns.numpy()
    blocks = matrix.scalar_values.numpy().astype(np.float64)
    out = np.zeros((matrix.nrow, matrix.ncol, r, c))
    counts = None if matrix.row_counts is None else matrix.row_counts.numpy()
    for row in range(matrix.nrow):
        first = offsets[row]
        end = offsets[row + 1] if counts is None else first + counts[row]
        assert end <= offsets[row + 1]
        inside = columns[first:end]
        assert (np.diff(inside) > 0).all() and (inside >= 0).all() and (inside < matrix.ncol).all()
        for b in range(first, end):
            out[row, columns[b]] = blocks[b]
    return out.transpose(0, 2, 1, 3).reshape(matrix.nrow * r, matrix.ncol * c)


def random_matrix(nrow, ncol, count, kind, seed, requires_grad=False):
    """A sparse matrix and the dense one that it stands for."""
    rows, cols, values, parts = triplets(nrow, ncol, count, kind, seed, requires_grad)
    return sp.bsr_from_triplets(nrow, ncol, rows, cols, values), dense_of(nrow, ncol, parts)
