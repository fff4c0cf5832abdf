"""What solvers of linear systems multiply with: `LinearOperator`, and how matrices become one."""

from __future__ import annotations

from typing import Any, Callable

from warp._src.arrays.array import array
from warp._src.arrays.array_factories import copy, empty
from warp._src.arrays.listeners import paused
from warp._src.devices.device import get_device
from warp._src.optim.block_jacobi import KINDS as BLOCK_KINDS
from warp._src.optim.block_jacobi import inverse_blocks
from warp._src.sparse.block_kernels import BlockKernel, as_rows, scalar_words
from warp._src.sparse.diagonals import bsr_get_diag
from warp._src.sparse.matrix import BsrMatrix
from warp._src.sparse.products import bsr_mv
from warp._src.values import types

_DENSE = BlockKernel(
    "dense_times_vector",
    "a: wp.array2d(dtype={S}), x: wp.array2d(dtype={S}), y: wp.array2d(dtype={S}), z: wp.array2d(dtype={S}), alpha: {W}, beta: {W}",
    "row",
    """
total = {W}(0)
for j in range(a.shape[1]):
    total += {W}(a[row, j]) * {W}(x[j, 0])
z[row, 0] = {S}({result})
""",
    False,
)
_DIAGONAL = BlockKernel(
    "diagonal_times_vector",
    "d: wp.array2d(dtype={S}), x: wp.array2d(dtype={S}), y: wp.array2d(dtype={S}), z: wp.array2d(dtype={S}), alpha: {W}, beta: {W}",
    "row",
    """
total = {W}(d[row, 0]) * {W}(x[row, 0])
z[row, 0] = {S}({result})
""",
    False,
)
_BLOCK_DIAGONAL = BlockKernel(
    "block_diagonal_times_vector",
    "d: wp.array3d(dtype={S}), x: wp.array2d(dtype={S}), y: wp.array2d(dtype={S}), z: wp.array2d(dtype={S}), alpha: {W}, beta: {W}",
    "b, i",
    """
row = b * {N} + i
total = {W}(0)
for j in range({N}):
    total += {W}(d[b, i, j]) * {W}(x[b * {N} + j, 0])
z[row, 0] = {S}({result})
""",
    False,
)
# One over the numbers on the diagonal; 1 where there are zeros, whose rows are left as they are.
_INVERT = BlockKernel(
    "invert_diagonal",
    "source: wp.array3d(dtype={S}), inverse: wp.array2d(dtype={S})",
    "b, i",
    """
d = {W}({entry})
if {absolute}:
    d = wp.abs(d)
one = {W}(1)
if d != {W}(0):
    one = one / d
inverse[b, i] = {S}(one)
""",
    False,
)


class LinearOperator:
    """A linear map between vectors, by the function that applies it.

    Args:
        shape: its size, counted in numbers: (rows, columns), or (rows,) of a diagonal.
        dtype: the type of its entries: a scalar, vector or matrix type, whose scalar type is that of its vectors.
        device: where it works.
        matvec: `matvec(x, y, z, alpha, beta)` computes `z = alpha * A x + beta * y`; y and z may be one array.
        batch_offsets: an int32 array: where each of several independent systems begins, counted in numbers, and the end of the
            last. Solvers then stop for each of them by itself.
        max_batch_length: how long the longest of them is at most; without it the host reads `batch_offsets`.
    """

    def __init__(
        self,
        shape: tuple,
        dtype: Any,
        device: Any,
        matvec: Callable,
        batch_offsets: array | None = None,
        max_batch_length: int | None = None,
    ) -> None:
        if batch_offsets is None and max_batch_length is not None:
            raise ValueError("max_batch_length requires batch_offsets")
        if batch_offsets is not None:
            integers = isinstance(batch_offsets, array) and batch_offsets._element.name == "int32" and batch_offsets.ndim == 1
            if not integers or batch_offsets.shape[0] < 2:
                raise ValueError("batch_offsets must be an int32 array with where each batch begins and the last one ends")
        self._shape, self._dtype, self._device, self._matvec = tuple(shape), dtype, get_device(device), matvec
        self._batch_offsets, self._max_batch_length = batch_offsets, max_batch_length

    @property
    def shape(self) -> tuple:
        """Its size, counted in numbers."""
        return self._shape

    @property
    def dtype(self) -> Any:
        """The type of its entries."""
        return self._dtype

    @property
    def device(self) -> Any:
        """Where it works."""
        return self._device

    @property
    def matvec(self) -> Callable:
        """The function that applies it: `matvec(x, y, z, alpha, beta)` computes `z = alpha * A x + beta * y`."""
        return self._matvec

    @property
    def scalar_type(self) -> Any:
        """The type of the numbers in its entries."""
        return types.type_scalar_type(self._dtype)

    @property
    def batch_offsets(self) -> array | None:
        """Where each of several systems begins, and the last one ends; None for one system."""
        return self._batch_offsets

    @property
    def batch_count(self) -> int:
        """How many systems it holds."""
        return 1 if self._batch_offsets is None else self._batch_offsets.shape[0] - 1

    @property
    def max_batch_length(self) -> int | None:
        """How long the longest of several systems is, if that was said."""
        return self._max_batch_length


def numbers_of(vector: array) -> array:
    """An array of scalars or vectors as numbers in two dimensions, one a row; it must be packed if it has vectors."""
    if vector._element.kind == "scalar":
        return as_rows(vector, 1)
    handle = types.type_handle(getattr(types, vector._element.scalar))
    if not vector.is_contiguous:
        raise ValueError("arrays of vectors must be packed for dense and diagonal matrices")
    count = vector.size * (vector._element.size // handle.size)
    return vector._reinterpret(handle, (count, 1), (handle.size, handle.size))


def _apply(kernel: BlockKernel, matrix: array, dim: Any, **more: Any) -> Callable:
    """The matvec of a kernel; its result is alpha and beta times the sums that the kernel takes."""
    words = scalar_words(matrix._element.scalar)

    def matvec(x: array, y: array, z: array, alpha: Any, beta: Any) -> None:
        result = "alpha * total" if beta == 0 else f"alpha * total + beta * {words['W']}(y[row, 0])"
        kernel.run(dim, matrix, numbers_of(x), numbers_of(y), numbers_of(z), alpha, beta, result=result, **words, **more)

    return matvec


def _sparse_matvec(matrix: BsrMatrix) -> Callable:
    def matvec(x: array, y: array, z: array, alpha: Any, beta: Any) -> None:
        with paused():
            if beta != 0 and y.ptr != z.ptr:
                copy(z, y)
            bsr_mv(matrix, x, z, alpha, beta)

    return matvec


def aslinearoperator(A: Any, batch_offsets: array | None = None, max_batch_length: int | None = None) -> LinearOperator:
    """A matrix as a LinearOperator.

    Args:
        A: an array of two dimensions; one of one dimension, which is a diagonal (of numbers, vectors or square blocks);
            a BsrMatrix; or a LinearOperator.
        batch_offsets, max_batch_length: say that it holds several independent systems (see LinearOperator).
    """
    batches = (batch_offsets, max_batch_length)
    if isinstance(A, LinearOperator):
        if batch_offsets is None:
            return A
        return LinearOperator(A.shape, A.dtype, A.device, A.matvec, *batches)
    if isinstance(A, BsrMatrix):
        return LinearOperator(A.shape, A.dtype, A.device, _sparse_matvec(A), *batches)
    if not isinstance(A, array) or A.ndim not in (1, 2) or "float" not in (A._element.scalar or ""):
        raise ValueError(f"Unable to create LinearOperator from {type(A).__name__}: {A}"[:300])
    if A.ndim == 2:
        if A._element.kind != "scalar":
            raise ValueError(f"Unable to create LinearOperator from a dense array of {types.type_repr(A.dtype)}: it holds numbers")
        return LinearOperator(A.shape, A.dtype, A.device, _apply(_DENSE, A, A.shape[0]), *batches)
    if A._element.kind == "mat":
        rows, cols = A.dtype._shape_
        if rows != cols:
            raise ValueError(f"Unable to create LinearOperator from a diagonal of {rows}×{cols} blocks: they must be square")
        handle = types.type_handle(getattr(types, A._element.scalar))
        blocks = A._reinterpret(handle, (A.shape[0], rows, rows), (A.strides[0], rows * handle.size, handle.size))
        apply = _apply(_BLOCK_DIAGONAL, blocks, (A.shape[0], rows), N=rows)
        return LinearOperator((A.shape[0] * rows,), A.dtype, A.device, apply, *batches)
    packed = A if A._element.kind == "scalar" or A.is_contiguous else A.contiguous()
    numbers = numbers_of(packed)
    return LinearOperator((numbers.shape[0],), A.dtype, A.device, _apply(_DIAGONAL, numbers, numbers.shape[0]), *batches)


def _identity(shape: tuple, dtype: Any, device: Any) -> LinearOperator:
    ones = empty(shape[0], dtype=types.type_scalar_type(dtype), device=device)
    ones.fill_(1)
    operator = aslinearoperator(ones)
    operator._is_identity = True  # type: ignore[attr-defined]
    return operator


def preconditioner(A: Any, ptype: str = "diag") -> LinearOperator:
    """An operator that is near to the inverse of a matrix.

    Args:
        A: the matrix: an array of two dimensions, a diagonal of numbers or vectors, or a BsrMatrix of square blocks.
        ptype: "diag": one over the diagonal; "diag_abs": over its absolute values; "id": the identity. Of a BsrMatrix the
            inverses of whole blocks: "block_jacobi_direct" of any; "block_jacobi_sequential" and "block_jacobi_tile" of
            those that are symmetric and positive definite. Blocks that have none count as the identity.
    """
    if ptype in BLOCK_KINDS:
        blocks = inverse_blocks(A, ptype)
        apply = _apply(_BLOCK_DIAGONAL, blocks, blocks.shape[:2], N=blocks.shape[1])
        return LinearOperator(A.shape, A.dtype, A.device, apply)
    if ptype == "id":
        operator = aslinearoperator(A)
        return _identity(operator.shape, operator.dtype, operator.device)
    if ptype not in ("diag", "diag_abs"):
        raise ValueError(f"Unsupported preconditioner type '{ptype}'")
    entry = "source[b, i, i]"
    if isinstance(A, BsrMatrix):
        with paused():
            diagonal = bsr_get_diag(A)
        if A.block_shape[0] != A.block_shape[1]:
            raise ValueError(f"preconditioner: blocks must be square, got {A.block_shape}")
        length, scalar = A.block_shape[0], A.scalar_type
        handle = types.type_handle(scalar)
        source = diagonal._reinterpret(handle, (diagonal.shape[0], length, length), (diagonal.strides[0], length * handle.size, handle.size))
    elif isinstance(A, array) and A.ndim == 2 and A._element.kind == "scalar":
        length, scalar = 1, A.dtype
        size = A._element.size
        step = A.strides[0] + A.strides[1]
        source = A._reinterpret(A._element, (min(A.shape), 1, 1), (step, size, size))
    elif isinstance(A, array) and A.ndim == 1 and A._element.kind in ("scalar", "vec"):
        numbers = numbers_of(A if A._element.kind == "scalar" or A.is_contiguous else A.contiguous())
        length, scalar = 1, getattr(types, A._element.scalar)
        size = numbers._element.size
        source = numbers._reinterpret(numbers._element, (numbers.shape[0], 1, 1), (numbers.strides[0], size, size))
    else:
        raise ValueError(f"Unsupported source matrix type for building diagonal preconditioner: {type(A).__name__}")
    inverse = empty(source.shape[0] * length, dtype=scalar, device=source.device)
    words = scalar_words(source._element.name)
    absolute = ptype == "diag_abs"
    _INVERT.run((source.shape[0], length), source, as_rows(inverse, length), entry=entry, absolute=absolute, **words)
    if length > 1:
        handle = types.type_handle(types.vector(length, scalar))
        inverse = inverse._reinterpret(handle, (source.shape[0],), (handle.size,))
    return aslinearoperator(inverse)
