"""Sparse matrices of blocks: `warp.sparse`. docs/sparse.md shows their use."""

from warp._src.sparse.block_kernels import names as _names
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
