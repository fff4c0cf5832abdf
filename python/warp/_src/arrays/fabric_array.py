"""`wp.fabricarray`: elements in buckets of memory that another program keeps (Omniverse's Fabric), as one array.

An interface says where the buckets of an attribute lie: a dictionary, or an object that has one as
`__fabric_arrays_interface__`. The memory stays its owner's. Kernels read and write it in place; `numpy()` and `contiguous()`
gather copies. Attributes that are arrays themselves make arrays of arrays, which kernels take row by row.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from warp import _weft
from warp._src.arrays.array import array
from warp._src.arrays.array_arguments import rank_in_brackets
from warp._src.arrays.array_operators import with_operators
from warp._src.devices.device import get_device
from warp._src.values import struct
from warp._src.values import types as wt
from warp._src.values.annotation_unions import InUnions
from warp._src.values.struct_ctypes import structure_of

_SCALARS = {
    "b": wt.bool,
    "i1": wt.int8,
    "i2": wt.int16,
    "i4": wt.int32,
    "i8": wt.int64,
    "u1": wt.uint8,
    "u2": wt.uint16,
    "u4": wt.uint32,
    "u8": wt.uint64,
    "f2": wt.float16,
    "f4": wt.float32,
    "f8": wt.float64,
}
_MATRIX_ROLES = ("matrix", "frame", "transform")
_INT32 = _weft.type_scalar("int32")


def _element_type(attrib: str, described: Any) -> tuple[type, int]:
    """The element type of an attribute and its dimensions, from (usable, scalar, count, depth of arrays, role)."""
    if len(described) != 5:
        raise ValueError(
            f"the type of Fabric attribute '{attrib}' must contain five elements, got {len(described)}: {described}"
        )
    usable, scalar, count, depth, role = described
    if not usable:
        raise RuntimeError(f"Fabric attribute '{attrib}' can't be used in kernels")
    if role in ("text", "path"):
        raise RuntimeError(f"Fabric attribute '{attrib}' has the role '{role}', which kernels don't know")
    dtype: Any = _SCALARS.get(scalar)
    if dtype is None:
        raise RuntimeError(f"Fabric attribute '{attrib}' has elements of '{scalar}', which kernels don't know")
    if depth not in (0, 1):
        raise ValueError(f"Fabric attribute '{attrib}' has arrays nested to the depth {depth}; it may be 0 or 1")
    if count > 1:
        if role in _MATRIX_ROLES:
            side = math.isqrt(count)
            if side * side != count:
                raise ValueError(f"Fabric attribute '{attrib}': a matrix must have a square element count, got {count}")
            dtype = wt.matrix((side, side), dtype)
        elif role == "quat":
            if count != 4:
                raise ValueError(f"Fabric attribute '{attrib}': a quaternion has four elements, not {count}")
            dtype = wt.quaternion(dtype)
        else:
            dtype = wt.vector(count, dtype)
    return dtype, 1 + depth


class _Gathered(InUnions):
    """What both classes have in common: they are seen by kernels, and copied for everything else."""

    _wp_fabric_: str
    _valid = False
    _element: _weft.Type
    _starts_at = 0
    dtype: Any
    ndim: Any
    device: Any = None
    size: int = 0
    is_contiguous = False
    requires_grad = False
    grad = None

    def _annotate(self, dtype: Any, ndim: Any) -> None:
        annotation = array(dtype=Any if dtype is None else dtype)
        self.dtype, self.ndim = annotation.dtype, 1 if ndim is None else ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """One extent, for arrays of arrays as well: their rows have lengths of their own."""
        return (self.size,)

    @property
    def _wp_type_(self) -> _weft.Type | None:
        """The type that a kernel sees; None for annotations, which may be generic."""
        if not self._valid:
            return None
        return _weft.type_fabric_array(self._element, self.ndim, self._wp_fabric_ == "indexedfabric")

    @property
    def vars(self) -> dict[str, Any]:
        """What kernels may ask for by name."""
        return {"size": wt.int32}

    def _stays_on(self, device: Any) -> bool:
        return self.device is None or get_device(device) == self.device

    def _check_copied(self) -> None:
        if not self._valid:
            raise RuntimeError(f"a {type(self).__name__} annotation has no elements")
        if self.ndim > 1:
            raise RuntimeError("Fabric arrays of arrays are not copied or filled: kernels take them row by row")

    def contiguous(self) -> array:
        """The elements as an array of their own."""
        raise NotImplementedError

    def _write(self, values: Any) -> None:
        raise NotImplementedError

    def to(self, device: Any) -> Any:
        """This array, or a copy on another device."""
        return self if self._stays_on(device) else self.contiguous().to(device)

    def numpy(self) -> np.ndarray:
        """The elements as a NumPy array, a copy."""
        return self.contiguous().numpy()

    def list(self) -> list[Any]:
        """All elements in one flat list."""
        return self.contiguous().list()

    def assign(self, src: Any) -> None:
        """Writes elements from an array or data of the same size."""
        self._check_copied()
        if hasattr(src, "_wp_fabric_") or getattr(src, "_wp_indexed_", False):
            src = src.contiguous()
        if not isinstance(src, array) or src.dtype is not self.dtype:
            src = array(src, dtype=self.dtype, device=self.device, copy=False)
        if src.size != self.size:
            raise RuntimeError(f"{src.size} elements can't be assigned to a {type(self).__name__} of {self.size}")
        self._write(src.contiguous().reshape(self.shape))

    def __len__(self) -> int:
        if not self._valid:
            raise RuntimeError(f"a {type(self).__name__} annotation has no elements")
        return self.size

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = self.numpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __class_getitem__(cls, item: Any) -> Any:
        """`wp.fabricarray[float]` and `wp.fabricarray[float, Literal[2]]`: annotations."""
        dtype, ndim = item if isinstance(item, tuple) else (item, None)
        return cls(dtype=dtype, ndim=rank_in_brackets(ndim))

    def __ctype__(self) -> Any:
        """The kernel argument: the tables of buckets."""
        if not self._valid:
            raise RuntimeError(f"a {type(self).__name__} annotation is no kernel argument")
        return structure_of(self._wp_type_).from_buffer_copy(_weft.pack(self._wp_type_, self))

    def __str__(self) -> str:
        return repr(self) if not self._valid or self.ndim > 1 else str(self.numpy())

    def __repr__(self) -> str:
        name = getattr(self.dtype, "__name__", None) or str(self.dtype)
        return f"{type(self).__name__}(shape={self.shape}, dtype={name}, ndim={self.ndim})"


@with_operators
class fabricarray(_Gathered):
    """The elements of an attribute; with a dtype only, an annotation."""

    _wp_fabric_ = "fabric"

    def __init__(self, data: Any = None, attrib: str | None = None, dtype: Any = Any, ndim: int | None = None) -> None:
        self.access = 0
        if data is None:
            self._annotate(dtype, ndim)
            return
        interface = data if isinstance(data, dict) else getattr(data, "__fabric_arrays_interface__", None)
        if not isinstance(interface, dict):
            raise ValueError("a fabricarray is made of a dictionary or an object with __fabric_arrays_interface__")
        if interface.get("version") != 1:
            raise ValueError(f"version {interface.get('version')} of Fabric's interface is not known; 1 is")
        if not isinstance(attrib, str):
            raise ValueError(f"the name of a Fabric attribute must be a string, not {attrib!r}")
        described = interface["attribs"].get(attrib)
        if described is None:
            raise ValueError(f"there is no Fabric attribute '{attrib}'")
        self.dtype, self.ndim = _element_type(attrib, described["type"])
        self._element = wt.type_handle(self.dtype)
        self.device = get_device(interface["device"])
        self.access = described["access"]
        counts, pointers = [int(n) for n in described["counts"]], [int(p) for p in described["pointers"]]
        lengths = [int(p) for p in described["array_lengths"]] if self.ndim > 1 else []
        if len(pointers) != len(counts) or (self.ndim > 1 and len(lengths) != len(counts)) or min(counts, default=0) < 0:
            raise ValueError(f"Fabric attribute '{attrib}': each bucket needs an address and a count")
        starts = np.cumsum([0, *counts], dtype=np.int64)
        if starts[-1] >= 1 << 31:
            raise ValueError(f"Fabric attribute '{attrib}' has {starts[-1]} elements; an array has less than 2**31")
        self.size = int(starts[-1])
        self.starts = array(starts, dtype=wt.int32, device=self.device)
        self.pointers = array(np.array(pointers, np.uint64), dtype=wt.uint64, device=self.device)
        self.lengths = array(np.array(lengths, np.uint64), dtype=wt.uint64, device=self.device)
        self._starts_at = self.starts.ptr
        self._buckets = list(zip(starts[:-1].tolist(), counts, pointers))
        self._ref = data  # with what its owner keeps there for as long as it is used
        self._valid = True

    def _parts(self) -> Any:
        """Where each bucket begins and ends, and its memory as an array."""
        for start, count, pointer in self._buckets:
            if count:
                yield start, start + count, array(ptr=pointer, dtype=self.dtype, shape=count, device=self.device)

    def contiguous(self) -> array:
        """The elements as an array of their own."""
        self._check_copied()
        made = array(shape=self.shape, dtype=self.dtype, device=self.device)
        for start, stop, part in self._parts():
            made[start:stop].assign(part)
        return made

    def _write(self, values: array) -> None:
        for start, stop, part in self._parts():
            part.assign(values[start:stop])

    def zero_(self) -> fabricarray:
        """Sets the elements to zero."""
        self._check_copied()
        for _, _, part in self._parts():
            part.zero_()
        return self

    def fill_(self, value: Any) -> fabricarray:
        """Sets every element to a value."""
        self._check_copied()
        for _, _, part in self._parts():
            part.fill_(value)
        return self

    def __getitem__(self, key: Any) -> indexedfabricarray:
        """The elements that an index array picks."""
        if not isinstance(key, array):
            raise ValueError(f"a fabricarray is indexed by index arrays outside of kernels, not by {type(key).__name__}")
        return indexedfabricarray(self, key)

    __iter__ = None


@with_operators
class indexedfabricarray(_Gathered):
    """Elements of a fabricarray picked by an index array; with a dtype only, an annotation."""

    _wp_fabric_ = "indexedfabric"

    def __init__(self, fa: fabricarray | None = None, indices: array | None = None, dtype: Any = None, ndim: int | None = None):
        self.fa, self.indices = fa, indices
        if fa is None:
            self._annotate(dtype, ndim)
            return
        if not isinstance(fa, fabricarray) or not fa._valid:
            raise ValueError("an indexedfabricarray needs a fabricarray with elements")
        if not isinstance(indices, array) or not indices._valid:
            raise ValueError(f"the indices must be an array, not {type(indices).__name__}")
        if indices._element != _INT32 or indices.ndim != 1:
            raise ValueError(f"index arrays are 1-D arrays of int32, got {indices.ndim}-D of {indices.dtype.__name__}")
        if indices.device != fa.device:
            raise ValueError(f"the index array is on {indices.device}, the elements are on {fa.device}")
        self.dtype, self.ndim, self.device, self._element = fa.dtype, fa.ndim, fa.device, fa._element
        self.size = indices.size
        self._starts_at = fa._starts_at
        self._valid = True

    def contiguous(self) -> array:
        """The elements as an array of their own."""
        self._check_copied()
        return self.fa.contiguous()[self.indices].contiguous()

    def _change(self, change: Any) -> None:
        """Gathers all elements, changes those that are picked, and writes all back: buckets are written as they lie."""
        self._check_copied()
        if self.size:
            whole = self.fa.contiguous()
            change(whole[self.indices])
            self.fa._write(whole)

    def _write(self, values: array) -> None:
        self._change(lambda picked: picked.assign(values))

    def zero_(self) -> indexedfabricarray:
        """Sets the elements to zero."""
        self._change(lambda picked: picked.zero_())
        return self

    def fill_(self, value: Any) -> indexedfabricarray:
        """Sets every element to a value."""
        self._change(lambda picked: picked.fill_(value))
        return self


def fabricarrayarray(**kwargs: Any) -> fabricarray:
    """wp.fabricarray with ndim=2: an array of arrays."""
    return fabricarray(**{"ndim": 2, **kwargs})


def indexedfabricarrayarray(**kwargs: Any) -> indexedfabricarray:
    """wp.indexedfabricarray with ndim=2: an array of arrays."""
    return indexedfabricarray(**{"ndim": 2, **kwargs})


def _at(handle: _weft.Type, address: int) -> Any:
    """What bytes of a struct say of such an array: its type, and where its table lies."""
    cls: Any = indexedfabricarray if handle.kind == "indexedfabricarray" else fabricarray
    made = cls(dtype=wt.class_of(handle.element), ndim=handle.rank)
    made._starts_at = address
    return made


struct.fabric_at = _at
