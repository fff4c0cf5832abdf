"""`BsrMatrix`: a sparse matrix of blocks, row by row, as a struct that kernels can take.

`offsets[row]` says where a row's blocks begin, `columns` and `values` hold them. In a compact matrix a row ends where the next
one begins. A padded one has `row_counts`: a row has room up to the next one, and so many blocks of it are in use. Arrays may
be longer than what is in use; `nnz` is a bound that the host knows without asking the device.
"""

from __future__ import annotations

import weakref
from typing import Any

from warp import _weft
from warp._src.arrays.array import array
from warp._src.arrays.array_factories import clone, copy, empty, zeros
from warp._src.arrays.listeners import aside, paused
from warp._src.devices.streams import Event, record_event, synchronize_event
from warp._src.sparse.block_kernels import BlockKernel, as_blocks
from warp._src.values import types
from warp._src.values.struct import struct

BSR_STATUS_SUCCESS = 0
"""All blocks found room."""
BSR_STATUS_ROW_CAPACITY_EXCEEDED = 1
"""A row of a padded matrix had more blocks than room, and was emptied."""

_MESSAGES = {BSR_STATUS_SUCCESS: "success", BSR_STATUS_ROW_CAPACITY_EXCEEDED: "row capacity exceeded"}

SCALARS = tuple(
    getattr(types, name)
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")
)
"""Types of numbers that blocks are made of."""

_ROW_ENDS = BlockKernel("bsr_row_ends", "offsets: {ints}, counts: {ints}, ends: {ints}", "row", "ends[row] = offsets[row] + counts[row]", False)  # fmt: skip
_BLOCK_ROWS = BlockKernel(
    "bsr_block_rows",
    "offsets: {ints}, ends: {ints}, rows: {ints}",
    "row",
    """
for b in range(offsets[row], wp.min(ends[row], rows.shape[0])):
    rows[b] = row
""",
    False,
)


operations: Any = None
"""The module operators.py, which is built on this one and enters itself here."""


class _State:
    """What a matrix has besides the fields that kernels see."""

    def __init__(self) -> None:
        self.status: array | None = None
        self.nnz_on_host: array | None = None
        self.nnz_event: Any = None


_states: weakref.WeakKeyDictionary[Any, _State] = weakref.WeakKeyDictionary()


def state_of(matrix: Any) -> _State:
    """What a matrix has besides its fields; made when first asked for."""
    found = _states.get(matrix)
    if found is None:
        found = _states[matrix] = _State()
    return found


class BsrMatrix:
    """A sparse matrix of blocks, in rows. `bsr_zeros`, `bsr_from_triplets`, `bsr_identity` and others make them; annotate
    parameters of kernels by `bsr_matrix_t(block_type)`.

    `nrow` and `ncol` count rows and columns of blocks, `nnz` is an upper bound on the number of blocks, `offsets`, `columns`
    and `values` hold them, `row_counts` says how many of a row are in use (None: all).
    """

    nrow: int
    ncol: int
    nnz: int
    offsets: Any
    row_counts: Any
    columns: Any
    values: Any

    __array_ufunc__ = None  # NumPy's numbers leave products to us

    def __class_getitem__(cls, block_type: Any) -> Any:
        return cls  # in annotations of Python functions

    @property
    def scalar_type(self) -> Any:
        """The type of the numbers in blocks."""
        return getattr(types, self.values._element.scalar)

    @property
    def block_shape(self) -> tuple[int, int]:
        """Rows and columns of a block; (1, 1) for scalars."""
        return block_shape_of(self.values.dtype)

    @property
    def block_size(self) -> int:
        """How many numbers a block has."""
        rows, cols = self.block_shape
        return rows * cols

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix, counted in numbers."""
        rows, cols = self.block_shape
        return self.nrow * rows, self.ncol * cols

    @property
    def dtype(self) -> Any:
        """The type of blocks: a matrix type or a scalar type."""
        return self.values.dtype

    @property
    def device(self) -> Any:
        """Where the matrix lies."""
        return self.values.device

    @property
    def requires_grad(self) -> bool:
        """Whether tapes follow the values."""
        return bool(self.values.requires_grad)

    @property
    def scalar_values(self) -> array:
        """The values as numbers in three dimensions: block, row, column."""
        return as_blocks(self.values, self.block_shape)

    def uncompress_rows(self, out: array | None = None) -> array:
        """The row of each block that there is room for; -1 for room that is not in use.

        Args:
            out: an int32 array that takes them, with room for `nnz` at least.
        """
        if out is None:
            out = empty(self.nnz, dtype=types.int32, device=self.device)
        elif not isinstance(out, array) or out.ndim != 1 or out._element.name != "int32":
            raise TypeError("uncompress_rows: out must be an int32 array of one dimension")
        elif out.shape[0] < self.nnz:
            raise ValueError(f"uncompress_rows: out must have room for {self.nnz} rows, got {out.shape[0]}")
        with paused():
            out.fill_(-1)
        _BLOCK_ROWS.run(self.nrow, self.offsets, row_ends(self), out)
        return out

    def nnz_sync(self) -> int:
        """Waits for the device, and gives the number of blocks; of padded matrices, how many there is room for in rows."""
        state = state_of(self)
        if state.nnz_event is not None:
            synchronize_event(state.nnz_event)
            count = int(state.nnz_on_host.numpy()[0])  # type: ignore[union-attr]
        else:
            count = int(self.offsets[self.nrow : self.nrow + 1].numpy()[0])
        state.nnz_event = None
        self.nnz = count
        return count

    def copy_nnz_async(self, known_nnz: int | None = None) -> None:
        """Begins to copy the number of blocks to the host; `nnz_sync` then waits for that copy alone. To be called when a
        kernel, or a graph, has changed `offsets`.

        Args:
            known_nnz: the number, if the host knows it: `nnz` is set to it.
        """
        if known_nnz is not None:
            self.nnz = int(known_nnz)
        if not self.device.is_cuda:
            return
        state = state_of(self)
        if state.nnz_on_host is None:
            state.nnz_on_host = zeros(1, dtype=types.int32, device="cpu", pinned=True)
        copy(state.nnz_on_host, self.offsets, src_offset=self.nrow, count=1)
        if self.device.is_capturing:
            return  # the graph copies whenever it runs; nnz_sync asks the device
        state.nnz_event = Event(self.device)
        record_event(state.nnz_event)

    def notify_nnz_changed(self, nnz: int | None = None, nnz_capacity: int | None = None) -> None:
        """Tells the matrix that its `offsets` were changed by hand.

        Args:
            nnz: how many blocks there are now, or a bound; unknown, the device is asked, or `nnz_capacity` taken.
            nnz_capacity: makes room for so many blocks at least.
        """
        state_of(self).nnz_event = None
        room = max(nnz or 0, nnz_capacity or 0)
        if room > self.columns.shape[0] or room > self.values.shape[0]:
            grow(self, room)
        if nnz is not None:
            self.nnz = int(nnz)
        elif nnz_capacity is not None:
            self.nnz = int(nnz_capacity)
        else:
            self.nnz_sync()

    def status_sync(self) -> int:
        """What became of the last operations on a padded matrix: BSR_STATUS_SUCCESS, or what went wrong since the status was
        last cleared. Waits for the device."""
        status = state_of(self).status
        return BSR_STATUS_SUCCESS if status is None else int(status.numpy()[0])

    def status_message(self) -> str:
        """The status in words."""
        return _MESSAGES[self.status_sync()]

    def clear_status(self) -> None:
        """Sets the status back to success."""
        status = state_of(self).status
        if status is not None:
            status.zero_()

    # What operators do is built on the functions of this room: operators.py.

    def __add__(self, other: Any) -> BsrMatrix:
        return operations.add(self, other)

    def __radd__(self, other: Any) -> BsrMatrix:
        return operations.add(other, self)

    def __iadd__(self, other: Any) -> BsrMatrix:
        return operations.add_to(self, other)

    def __sub__(self, other: Any) -> BsrMatrix:
        return operations.subtract(self, other)

    def __rsub__(self, other: Any) -> BsrMatrix:
        return operations.subtract(other, self)

    def __isub__(self, other: Any) -> BsrMatrix:
        return operations.subtract_from(self, other)

    def __mul__(self, other: Any) -> Any:
        return operations.scaled(self, other)

    def __rmul__(self, other: Any) -> Any:
        return operations.scaled(self, other)

    def __imul__(self, other: Any) -> BsrMatrix:
        return operations.bsr_scale(self, other)

    def __truediv__(self, other: Any) -> Any:
        return operations.scaled(self, 1.0 / other)

    def __itruediv__(self, other: Any) -> BsrMatrix:
        return operations.bsr_scale(self, 1.0 / other)

    def __neg__(self) -> Any:
        return operations.scaled(self, -1.0)

    def __matmul__(self, other: Any) -> Any:
        return operations.multiply(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return operations.multiply_from_left(self, other)

    def __imatmul__(self, other: Any) -> BsrMatrix:
        return operations.bsr_mm(self, other, self)

    def transpose(self) -> BsrMatrix:
        """The transpose, as a new matrix."""
        return operations.bsr_transposed(self)


def block_shape_of(dtype: Any) -> tuple[int, int]:
    """Rows and columns of a block type."""
    shape = getattr(dtype, "_shape_", None) or (1, 1)
    return shape[0], shape[1]


def checked_block_type(block_type: Any) -> Any:
    """The class of a block type: a scalar or a matrix type."""
    handle = types.type_handle_or_none(block_type)
    kind = None if handle is None or isinstance(block_type, str) else handle.kind
    if kind not in ("scalar", "mat") or getattr(types, handle.scalar) not in SCALARS:  # type: ignore[union-attr]
        named = types.type_repr(block_type) if isinstance(block_type, type) else repr(block_type)
        raise ValueError(f"BsrMatrix block type must be either warp matrix or scalar; got {named}")
    return types.class_of(handle)  # type: ignore[arg-type]


_classes: dict[Any, Any] = {}


def bsr_matrix_t(dtype: Any) -> Any:
    """The struct type of sparse matrices with blocks of this type, to annotate parameters of kernels.

    Args:
        dtype: a scalar type or a matrix type.
    """
    block_type = checked_block_type(dtype)
    handle = types.type_handle(block_type)
    made = _classes.get(handle)
    if made is None:
        rows, cols = block_shape_of(block_type)
        ints = array(dtype=types.int32)
        fields = {"nrow": int, "ncol": int, "nnz": int, "offsets": ints, "row_counts": ints, "columns": ints}
        fields["values"] = array(dtype=block_type)
        form = "" if handle.kind == "scalar" else f"_{rows}_{cols}"
        name = f"BsrMatrix_{handle.scalar}{form}"
        members = {"__annotations__": fields, "__module__": __name__, "__qualname__": name, "__doc__": BsrMatrix.__doc__}
        made = _classes[handle] = struct(type(name, (BsrMatrix,), members))
        globals()[name] = made  # found again by pickle
    return made


# ---- storage ---------------------------------------------------------------------------------------------------------


def row_ends(matrix: Any) -> array:
    """Where the blocks of each row end."""
    if matrix.row_counts is None:
        return matrix.offsets[1:]
    ends = empty(matrix.nrow, dtype=types.int32, device=matrix.device)
    _ROW_ENDS.run(matrix.nrow, matrix.offsets, matrix.row_counts, ends)
    return ends


def grow(matrix: Any, room: int) -> None:
    """Makes columns and values at least so long; what they hold stays."""
    for name in ("columns", "values"):
        old = getattr(matrix, name)
        if old.shape[0] < room:
            new = empty(room, dtype=old.dtype, device=matrix.device, requires_grad=old.requires_grad)
            if old.shape[0]:
                copy(new, old, count=old.shape[0])
            setattr(matrix, name, new)


def ensure_room(matrix: Any, room: int, requires_grad: bool = False) -> None:
    """Makes columns and values at least so long; what they hold is lost where they were not. Values get a gradient if one is
    asked for."""
    if matrix.columns.shape[0] < room:
        matrix.columns = empty(room, dtype=types.int32, device=matrix.device)
    wanted = requires_grad or matrix.values.requires_grad
    if matrix.values.shape[0] < room:
        matrix.values = empty(room, dtype=matrix.dtype, device=matrix.device, requires_grad=wanted)
    elif wanted and not matrix.values.requires_grad:
        matrix.values.requires_grad = True


def ensure_rows(matrix: Any, rows: int, cols: int) -> None:
    """Sets the size of a matrix; what `offsets` hold is lost where they were too short."""
    if matrix.offsets.shape[0] < rows + 1:
        matrix.offsets = empty(rows + 1, dtype=types.int32, device=matrix.device)
    matrix.nrow, matrix.ncol = rows, cols


def is_captured(matrix: Any) -> bool:
    """Whether work on a matrix goes to a graph now, so that the host can't ask for results."""
    device = matrix.device
    return bool(device.is_capturing if device.is_cuda else _weft.host_capturing())


def topology_changed(matrix: Any, bound: int) -> None:
    """To be called when `offsets` were written. The host knows a bound; `nnz_sync` asks for the number."""
    matrix.nnz = bound
    state_of(matrix).nnz_event = None


def status_array(matrix: Any) -> array:
    """The status of a matrix on its device."""
    state = state_of(matrix)
    if state.status is None:
        state.status = zeros(1, dtype=types.int32, device=matrix.device)
    return state.status


def snapshot(matrix: Any) -> Any:
    """A matrix with memory of its own, as another is now. Tapes follow its values."""
    held = type(matrix)()
    held.nrow, held.ncol, held.nnz = matrix.nrow, matrix.ncol, matrix.nnz
    with paused(), aside():
        held.offsets, held.columns = clone(matrix.offsets), clone(matrix.columns)
        held.row_counts = None if matrix.row_counts is None else clone(matrix.row_counts)
    held.values = clone(matrix.values)
    return held

