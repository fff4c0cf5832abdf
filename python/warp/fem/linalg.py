"""Products, parts, factors, inverses and eigenvalues of small dense matrices, as functions for kernels; sums of arrays."""

from warp._src.algorithms.dense_factors import array_axpy as array_axpy
from warp._src.algorithms.dense_factors import generalized_inner as generalized_inner
from warp._src.algorithms.dense_factors import generalized_outer as generalized_outer
from warp._src.algorithms.dense_factors import householder_make_hessenberg as householder_make_hessenberg
from warp._src.algorithms.dense_factors import householder_qr_decomposition as householder_qr_decomposition
from warp._src.algorithms.dense_factors import inverse_qr as inverse_qr
from warp._src.algorithms.dense_factors import skew_part as skew_part
from warp._src.algorithms.dense_factors import solve_triangular as solve_triangular
from warp._src.algorithms.dense_factors import spherical_part as spherical_part
from warp._src.algorithms.dense_factors import symmetric_eigenvalues_qr as symmetric_eigenvalues_qr
from warp._src.algorithms.dense_factors import symmetric_part as symmetric_part
from warp._src.algorithms.dense_factors import tridiagonal_symmetric_eigenvalues_qr as tridiagonal_symmetric_eigenvalues_qr
