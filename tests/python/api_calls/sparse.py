"""Calls of sparse matrices."""

from __future__ import annotations

import numpy as np

import warp as wp
import warp.sparse as sp

from . import calls, members

_PROPERTIES = ("block_shape", "block_size", "device", "dtype", "requires_grad", "scalar_type", "shape")
_METHODS = ("clear_status", "copy_nnz_async", "nnz_sync", "notify_nnz_changed", "status_sync", "transpose", "uncompress_rows")


def _matrix() -> sp.BsrMatrix:
    """[[5, 4], [0, 0], [2, 0]]"""
    rows, columns = wp.array([0, 2, 0, 0], dtype=int), wp.array([1, 0, 1, 0], dtype=int)
    return sp.bsr_from_triplets(3, 2, rows, columns, wp.array([1, 2, 3, 5], dtype=float))


def _numbers(matrix: sp.BsrMatrix) -> list[float]:
    return matrix.values.numpy()[: matrix.nnz_sync()].tolist()


@calls("sparse.BsrMatrix", "sparse.bsr_from_triplets", "sparse.bsr_mv", "sparse.scalar_types")
@members("sparse.BsrMatrix", *_PROPERTIES, *_METHODS)
def uses() -> None:
    a = _matrix()
    assert isinstance(a, sp.BsrMatrix) and a.nnz_sync() == 3 and _numbers(a) == [5, 4, 2]
    assert a.shape == (3, 2) and a.block_shape == (1, 1) and a.block_size == 1 and not a.requires_grad
    assert a.dtype is a.scalar_type is wp.float32 and a.scalar_type in sp.scalar_types and a.device == wp.get_device()
    assert a.uncompress_rows().numpy().tolist() == [0, 0, 2]
    assert sp.bsr_mv(a, wp.ones(2, dtype=float)).numpy().tolist() == [9, 0, 2]
    assert _numbers(a.transpose()) == [5, 2, 4]
    a.copy_nnz_async()
    a.notify_nnz_changed(3)
    a.clear_status()
    assert a.nnz == 3 and a.status_sync() == sp.BSR_STATUS_SUCCESS


@calls("sparse.BSR_STATUS_ROW_CAPACITY_EXCEEDED", "sparse.BSR_STATUS_SUCCESS", "sparse.bsr_zeros", "sparse.bsr_set_zero")
def rooms() -> None:
    a = sp.bsr_zeros(3, 2, float, topology="padded", row_capacity=1)
    sp.bsr_assign(a, _matrix(), topology="padded")
    assert a.status_sync() == sp.BSR_STATUS_ROW_CAPACITY_EXCEEDED == 1 and sp.BSR_STATUS_SUCCESS == 0
    sp.bsr_set_zero(a)
    assert a.nnz == 0


@calls("sparse.BsrTripletMap", "sparse.bsr_set_from_mapped_values", "sparse.bsr_set_from_triplets")
@members("sparse.BsrTripletMap", "capacity", "device")
def maps() -> None:
    a, mapping = sp.bsr_zeros(2, 2, float), sp.BsrTripletMap(4)
    places = wp.array([0, 1, 0], dtype=int)
    sp.bsr_set_from_triplets(a, places, places, wp.ones(3, dtype=float), prune_numerical_zeros=False, build_mapping=mapping)
    sp.bsr_set_from_mapped_values(a, mapping, wp.array([1, 2, 3], dtype=float))
    assert _numbers(a) == [4, 2] and mapping.capacity == 4 and mapping.device == a.device


@calls("sparse.bsr_assign", "sparse.bsr_copy", "sparse.bsr_compress", "sparse.bsr_set_transpose", "sparse.bsr_transposed")
def copies() -> None:
    a, b = _matrix(), sp.bsr_zeros(3, 2, wp.float64)
    sp.bsr_assign(b, a)
    assert _numbers(b) == _numbers(sp.bsr_copy(a)) == _numbers(sp.bsr_compress(a)) == [5, 4, 2]
    turned = sp.bsr_zeros(2, 3, float)
    sp.bsr_set_transpose(turned, a)
    assert _numbers(turned) == _numbers(sp.bsr_transposed(a)) == [5, 2, 4]


@calls("sparse.bsr_axpy", "sparse.bsr_axpy_work_arrays", "sparse.bsr_scale", "sparse.bsr_mm", "sparse.bsr_mm_work_arrays")
def arithmetic() -> None:
    a = _matrix()
    assert _numbers(sp.bsr_axpy(a, sp.bsr_copy(a), 2.0, 1.0, sp.bsr_axpy_work_arrays())) == [15, 12, 6]
    assert _numbers(sp.bsr_scale(sp.bsr_copy(a), 2.0)) == [10, 8, 4]
    assert _numbers(sp.bsr_mm(a.transpose(), a, work_arrays=sp.bsr_mm_work_arrays())) == [29, 20, 20, 16]


@calls("sparse.bsr_diag", "sparse.bsr_get_diag", "sparse.bsr_identity")
def diagonals() -> None:
    assert sp.bsr_get_diag(_matrix()).numpy().tolist() == [5, 0]
    assert _numbers(sp.bsr_diag(2.0, 3)) == [2, 2, 2] and np.allclose(sp.bsr_identity(1, wp.mat22).values.numpy(), np.eye(2))


@wp.kernel
def _find(a: sp.bsr_matrix_t(float), out: wp.array(dtype=int)):
    out[0] = sp.bsr_row_index(a.offsets, a.nrow, 2)
    out[1] = sp.bsr_block_index(0, 1, a.offsets, a.columns)


@calls("sparse.bsr_row_index")
def searches() -> None:
    out = wp.zeros(2, dtype=int)
    wp.launch(_find, 1, [_matrix(), out])
    assert out.numpy().tolist() == [2, 1]
