"""`wp.indexedarray`: an array seen through index arrays, one per dimension.

Reads and writes go through to the data; `contiguous()` and `numpy()` gather into a copy. Indices are int32 arrays of
one dimension, or None for a dimension that is taken as it is.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from warp import _weft
from warp._src.arrays import array_interface as _interface
from warp._src.arrays import listeners
from warp._src.arrays.array import array
from warp._src.arrays.array_arguments import check_device, rank_in_brackets
from warp._src.arrays.array_operators import with_operators
from warp._src.devices.device import MemoryKind
from warp._src.values import struct
from warp._src.values.annotation_unions import InUnions
from warp._src.values.struct_ctypes import ArrayDescriptor

_INT32 = _weft.type_scalar("int32")


class IndexedDescriptor(ctypes.Structure):
    """An indexed array as kernels get it; as many index arrays count as the data has dimensions."""

    _fields_ = [("data", ArrayDescriptor), ("indices", ArrayDescriptor * 4)]


def _index_array(value: Any) -> array:
    """An index array: int32 with one dimension. Python lists and NumPy's integers are taken as well."""
    if isinstance(value, array):
        if value._valid and value._element == _INT32 and value.ndim == 1:
            return value
        raise ValueError(f"index arrays are 1-D arrays of int32, got {value.ndim}-D of {value.dtype.__name__}")
    values = _interface.as_ndarray(value)
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise ValueError("index arrays are 1-D arrays of int32")
    if values.size and not -(1 << 31) <= int(values.min()) <= int(values.max()) < 1 << 31:
        raise ValueError("an index does not fit in int32")
    return array(values, dtype=np.int32, copy=False)


@with_operators
class indexedarray(InUnions):
    """Elements of `data` picked by `indices`; with a dtype only, an annotation."""

    _wp_indexed_ = True

    def __init__(
        self,
        data: array | None = None,
        indices: array | Sequence[array | None] | None = None,
        dtype: Any = None,
        ndim: int | None = None,
    ) -> None:
        self.data = data
        self.indices: list[array | None] = []
        if data is None:
            annotation = array(dtype=Any if dtype is None else dtype, ndim=ndim)
            self.dtype, self.ndim = annotation.dtype, annotation.ndim
            self.shape: tuple[int, ...] = ()
            return
        if not isinstance(data, array) or not data._valid:
            raise ValueError("an indexedarray needs an array as its data")
        if dtype is not None and array(dtype=dtype).dtype is not data.dtype:
            raise ValueError(f"the data has elements of {data.dtype.__name__}, not {dtype}")
        if ndim is not None and ndim != data.ndim:
            raise ValueError(f"the data has {data.ndim} dimensions, not {ndim}")
        given = [indices] if indices is None or isinstance(indices, _weft.Array) else list(indices)
        if len(given) > data.ndim:
            raise ValueError(f"{len(given)} index arrays for data of {data.ndim} dimensions")
        given += [None] * (data.ndim - len(given))
        self.indices = [None if i is None else _index_array(i) for i in given]
        self.dtype, self.ndim = data.dtype, data.ndim
        self.shape = tuple(n if i is None else i.size for n, i in zip(data.shape, self.indices))

    @property
    def _valid(self) -> bool:
        return self.data is not None

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64)) if self.data is not None else 0

    @property
    def device(self) -> Any:
        """Where the data is; None for annotations."""
        return None if self.data is None else self.data.device

    @property
    def memory_kind(self) -> MemoryKind:
        """Where the memory of the data lies."""
        return self.data.memory_kind

    @property
    def is_contiguous(self) -> bool:
        """False: elements lie where the indices say."""
        return False

    @property
    def requires_grad(self) -> bool:
        """Whether the data has a gradient."""
        return self.data is not None and self.data.requires_grad

    @property
    def grad(self) -> indexedarray | None:
        """The data's gradient through the same indices."""
        return indexedarray(self.data.grad, self.indices) if self.requires_grad else None

    @property
    def vars(self) -> dict[str, Any]:
        """The parts of the kernel argument."""
        return {"data": array, "indices": list, "shape": tuple}

    @property
    def _wp_type_(self) -> _weft.Type | None:
        """The type that a kernel sees; None for annotations, which may be generic."""
        return None if self.data is None else _weft.type_indexed_array(self.data._element, self.ndim)

    def _values(self) -> np.ndarray:
        if self.data is None:
            raise RuntimeError("an indexedarray annotation has no elements")
        return _interface.host_view(self.data)

    def _store(self, values: Any, source: Any = None) -> None:
        """Writes values to the elements, those of `source` if it is given; data on a CUDA device goes to the host and
        back."""
        if self.data is None:
            raise RuntimeError("an indexedarray annotation has no elements")
        _weft.host_refuse("write to an indexed array outside of a kernel")
        selection = self._selection()
        tape = listeners.recording(self)
        _weft.announce_write(self.data, "an assignment")
        host = _interface.on_host(self.data)
        _interface.numpy_view(host)[selection] = values
        if host is not self.data:
            self.data._take_back(host)
        if tape is not None:
            listeners.record_scatter(
                self.data,
                selection,
                source,
                lambda: self._store(values if source is None else _interface.host_view(source), source),
            )
        if forward := listeners.follows():
            with listeners.aside():
                forward._scattered(self, source)

    def _selection(self) -> tuple:
        picks = [np.arange(n) if i is None else i.numpy().copy() for n, i in zip(self.data.shape, self.indices)]
        for pick, extent in zip(picks, self.data.shape):
            if pick.size and not -extent <= int(pick.min()) <= int(pick.max()) < extent:
                raise _weft.ArrayIndexError(f"an index array points outside of a dimension with size {extent}")
        return np.ix_(*picks)

    def numpy(self) -> np.ndarray:
        """The elements as a NumPy array, a copy."""
        values = self._values()
        return values[self._selection()]

    def contiguous(self) -> array:
        """The elements as an array of their own."""
        _weft.host_refuse("copy an indexed array outside of a kernel")
        values = self._values()
        selection = self._selection()
        made = array(shape=self.shape, dtype=self.dtype, requires_grad=self.requires_grad, device="cpu")
        np.copyto(_interface.numpy_view(made), values[selection])
        if listeners.recording(self) is not None:
            listeners.record_gather(made, self.data, selection)
        made = made if self.device.is_cpu else made.to(self.device)
        if forward := listeners.follows():
            with listeners.aside():
                forward._gathered(made, self)
        return made

    def to(self, device: Any) -> indexedarray:
        """This array: all memory is on one device."""
        check_device(device)
        return self

    def list(self) -> list[Any]:
        """All elements in one flat list."""
        return self.contiguous().list()

    def assign(self, src: Any) -> None:
        """Writes elements from an array or data of the same size."""
        if isinstance(src, indexedarray):
            src = src.contiguous()
        if not isinstance(src, array) or src.dtype is not self.dtype:
            src = array(src, dtype=self.dtype, copy=False, requires_grad=getattr(src, "requires_grad", False))
        if src.size != self.size:
            raise RuntimeError(f"{src.size} elements can't be assigned to an indexedarray of shape {self.shape}")
        src = src.contiguous().reshape(self.shape)
        self._store(_interface.host_view(src), src)

    def zero_(self) -> indexedarray:
        """Sets the elements to zero."""
        self._store(np.zeros((), _interface.layout(self.data._element).base))
        return self

    def fill_(self, value: Any) -> indexedarray:
        """Sets every element to a value."""
        one = array(shape=1, dtype=self.dtype, device=self.device).fill_(value)
        self._store(_interface.host_view(one)[0])
        return self

    def __len__(self) -> int:
        if self.data is None:
            raise RuntimeError("an indexedarray annotation has no elements")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        """An element for integers in every dimension, else an indexedarray or array of what is selected."""
        keys = list(key) if isinstance(key, tuple) else [key]
        if len(keys) > self.ndim:
            raise _weft.ArrayIndexError(
                f"too many indices: the array has {self.ndim} dimensions, {len(keys)} were given"
            )
        keys += [slice(None)] * (self.ndim - len(keys))
        data_key: list[Any] = []
        rest: list[array | None] = []
        for one, index in zip(keys, self.indices):
            if index is None:
                data_key.append(one)
                if isinstance(one, slice):
                    rest.append(None)
            elif isinstance(one, slice):
                data_key.append(slice(None))
                rest.append(index[one])
            else:
                data_key.append(index[one])
        picked = self.data[tuple(data_key)]
        return indexedarray(picked, rest) if any(i is not None for i in rest) else picked

    def __setitem__(self, key: Any, value: Any) -> None:
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) == self.ndim and not any(isinstance(k, slice) for k in keys):
            at = tuple(k if i is None else i[k] for k, i in zip(keys, self.indices))
            self.data[at] = value
            return
        picked = self[key]
        if isinstance(picked, array):
            picked[:] = value
        else:
            picked.put(value)

    def put(self, value: Any) -> None:
        """What `a[rows] = value` does: one value for all elements, or values that NumPy broadcasts."""
        if isinstance(value, indexedarray):
            value = value.contiguous()
        if not isinstance(value, (array, np.ndarray)) and (
            getattr(value, "_wp_type_", None) is not None or np.isscalar(value)
        ):
            self.fill_(value)
            return
        source = _interface.host_view(value) if isinstance(value, array) else _interface.as_ndarray(value)
        values = _interface.comparable(source, _interface.layout(self.data._element))
        with np.errstate(all="ignore"):
            self._store(values, value)

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = self.numpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __class_getitem__(cls, item: Any) -> indexedarray:
        """`wp.indexedarray[float]` and `wp.indexedarray[float, Literal[2]]`: annotations."""
        dtype, ndim = item if isinstance(item, tuple) else (item, None)
        return cls(dtype=dtype, ndim=rank_in_brackets(ndim))

    def __ctype__(self) -> IndexedDescriptor:
        """The kernel argument: the data, then an index array for each dimension, null where there is none."""
        if self.data is None:
            raise RuntimeError("an indexedarray annotation is no kernel argument")
        made = IndexedDescriptor(self.data.__ctype__())
        for k, index in enumerate(self.indices):
            if index is not None:
                made.indices[k] = index.__ctype__()
        return made

    def __str__(self) -> str:
        return repr(self) if self.data is None else str(self.numpy())

    def __repr__(self) -> str:
        name = getattr(self.dtype, "__name__", None) or str(self.dtype)
        if self.data is None:
            return f"indexedarray(ndim={self.ndim}, dtype={name})"
        return f"indexed{self.contiguous()!r}"


def index_by_arrays(data: array, key: Any) -> indexedarray:
    """`a[idx]`, `a[idx, 1:3]`, `a[i, idx]`: keys of which some are int32 arrays."""
    keys = key if isinstance(key, tuple) else (key,)
    for one in keys:
        if isinstance(one, array) or (isinstance(one, np.ndarray) and one.ndim == 1):
            continue
        if not isinstance(one, slice) and one is not Ellipsis and not hasattr(one, "__index__"):
            raise RuntimeError(
                f"arrays are indexed by integers, slices and int32 arrays, not {type(one).__name__}; for a list write "
                "wp.array(indices, dtype=int)"
            )
    if Ellipsis in [k for k in keys if not isinstance(k, (array, np.ndarray))]:
        raise RuntimeError("'...' can't be mixed with index arrays")
    if len(keys) > data.ndim:
        raise _weft.ArrayIndexError(f"too many indices: the array has {data.ndim} dimensions, {len(keys)} were given")
    basic = tuple(slice(None) if isinstance(k, (array, np.ndarray)) else k for k in keys)
    indices = [
        k if isinstance(k, (array, np.ndarray)) else None for k in keys if isinstance(k, (array, np.ndarray, slice))
    ]
    return indexedarray(data[basic], indices)


def _ranked(ndim: int) -> Any:
    def make(*args: Any, **kwargs: Any) -> indexedarray:
        return indexedarray(*args, **{"ndim": ndim, **kwargs})

    make.__name__ = make.__qualname__ = f"indexedarray{ndim}d"
    make.__doc__ = f"wp.indexedarray with ndim={ndim}."
    return make


indexedarray1d, indexedarray2d, indexedarray3d, indexedarray4d = (_ranked(ndim) for ndim in (1, 2, 3, 4))
struct.indexed_class = indexedarray
