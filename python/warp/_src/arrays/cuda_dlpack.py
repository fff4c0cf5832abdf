"""DLPack capsules over the memory of arrays on CUDA devices. NumPy, which makes those of the host's arrays, knows no
devices; so the structures of the protocol are laid out here."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

from warp import _weft
from warp._src.arrays import array_interface as _interface
from warp._src.devices.streams import Stream, put_in_order

_CUDA = 2  # kDLCUDA
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_kept: dict[int, tuple] = {}  # what consumers still hold, by the number in their context
_numbers = itertools.count(1)

_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))


@_Deleter
def _release(managed: Any) -> None:
    _kept.pop(managed.contents.context, None)


def capsule_of(array: Any, stream: Any = None) -> Any:
    """A capsule over the memory of an array on a CUDA device. Work that the consumer queues on `stream` (a handle; 1 or
    None is the legacy default stream, -1 is none) comes after what is queued on the device's current stream."""
    known = _interface.layout(array._element)
    if known.kind == "struct":
        raise BufferError("DLPack has no structs")
    name = known.scalar.rstrip("0123456789")
    shape = array.shape + known.inner
    size = known.base.itemsize
    strides = [s // size for s in array.strides + known.strides]
    extents = (ctypes.c_int64 * len(shape))(*shape)
    steps = (ctypes.c_int64 * len(shape))(*strides)
    number = next(_numbers)
    gpu = array.device._native.number
    tensor = _Tensor(array.ptr, _CUDA, gpu, len(shape), _CODES[name], size * 8, 1, extents, steps, 0)
    managed = _Managed(tensor, number, ctypes.cast(_release, ctypes.c_void_p))
    if stream != -1:
        device = array.device
        put_in_order(device.stream, Stream(device, cuda_stream=1 if stream is None else int(stream)))
    _kept[number] = (array, extents, steps, managed)
    return _weft.dlpack_capsule(ctypes.addressof(managed))
