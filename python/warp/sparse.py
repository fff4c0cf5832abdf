"""Sparse matrices of blocks: `warp.sparse`. docs/sparse.md shows their use."""

from warp._src.sparse import operators as _operators  # noqa: F401 - adds operators to matrices
from warp._src.sparse.block_kernels import names as _names
from warp._src.sparse.copies import bsr_assign as bsr_assign
from warp._src.sparse.copies import bsr_compress as bsr_compress
from warp._src.sparse.copies import bsr_copy as bsr_copy
from warp._src.sparse.copies import bsr_set_transpose as bsr_set_transpose
from warp._src.sparse.copies import bsr_transposed as bsr_transposed
from warp._src.sparse.diagonals import bsr_diag as bsr_diag
from warp._src.sparse.diagonals import bsr_get_diag as bsr_get_diag
from warp._src.sparse.diagonals import bsr_identity as bsr_identity
from warp._src.sparse.diagonals import bsr_set_diag as bsr_set_diag
from warp._src.sparse.diagonals import bsr_set_identity as bsr_set_identity
from warp._src.sparse.sums import bsr_axpy as bsr_axpy
from warp._src.sparse.sums import bsr_axpy_work_arrays as bsr_axpy_work_arrays
from warp._src.sparse.sums import bsr_scale as bsr_scale
from warp._src.sparse.making import BsrTripletMap as BsrTripletMap
from warp._src.sparse.making import bsr_from_triplets as bsr_from_triplets
from warp._src.sparse.making import bsr_set_from_mapped_values as bsr_set_from_mapped_values
from warp._src.sparse.making import bsr_set_from_triplets as bsr_set_from_triplets
from warp._src.sparse.making import bsr_set_zero as bsr_set_zero
from warp._src.sparse.making import bsr_zeros as bsr_zeros
from warp._src.sparse.matrix import BSR_STATUS_ROW_CAPACITY_EXCEEDED as BSR_STATUS_ROW_CAPACITY_EXCEEDED
from warp._src.sparse.matrix import BSR_STATUS_SUCCESS as BSR_STATUS_SUCCESS
from warp._src.sparse.matrix import SCALARS as scalar_types  # noqa: N811
from warp._src.sparse.matrix import BsrMatrix as BsrMatrix
from warp._src.sparse.matrix import bsr_matrix_t as bsr_matrix_t
from warp._src.sparse.products import bsr_mm as bsr_mm
from warp._src.sparse.products import bsr_mm_work_arrays as bsr_mm_work_arrays
from warp._src.sparse.products import bsr_mv as bsr_mv

bsr_block_index = _names()["bsr_block_index"]
bsr_row_index = _names()["bsr_row_index"]
