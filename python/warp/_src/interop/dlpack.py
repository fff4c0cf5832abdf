"""`warp.dlpack`: arrays by DLPack, the protocol of all array libraries. The work is C++'s (src/bind/dlpack.cpp)."""

from __future__ import annotations

import ctypes
from typing import Any

from warp import _weft
from warp._src.arrays.array import array
from warp._src.arrays.array_arguments import element_handle
from warp._src.devices.device import CPU, Device, get_device
from warp._src.values import types as wt

__all__ = [
    "device_from_dlpack",
    "device_to_dlpack",
    "dtype_from_dlpack",
    "dtype_is_compatible",
    "dtype_to_dlpack",
    "from_dlpack",
    "shape_to_dlpack",
    "strides_to_dlpack",
    "to_dlpack",
]


def from_dlpack(source: Any, dtype: Any = None) -> array:
    """An array over the memory of an object with `__dlpack__` (PyTorch, JAX, CuPy, Paddle, NumPy, …), or of a capsule.

    An object is asked to order its work before that of the current stream of its device; a capsule is taken as it is, once.
    `dtype` may be a vector or matrix that trailing dimensions fold into."""
    return _weft.from_dlpack(array, source, None if dtype is None else element_handle(dtype))


def to_dlpack(wp_array: array) -> Any:
    """A DLPack capsule over an array's memory, for `from_dlpack` of other libraries. Nothing is synchronised."""
    if not isinstance(wp_array, _weft.Array):
        raise TypeError(f"to_dlpack takes a wp.array, not {type(wp_array).__name__}")
    return _weft.to_dlpack(wp_array)


class DLDevice(ctypes.Structure):
    """A device of DLPack."""

    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    """A type of DLPack."""

    _fields_ = [("type_code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}


def _components(dtype: Any) -> tuple[str, int]:
    handle = wt.type_handle_or_none(dtype)
    if handle is None or handle.kind not in ("scalar", "vec", "mat", "quat", "transform"):
        raise TypeError(f"DLPack has no type for {getattr(dtype, '__name__', dtype)!r}")
    return handle.scalar, handle.components


def dtype_to_dlpack(wp_dtype: Any) -> DLDataType:
    """The DLPack type of scalars, or of the components of a vector or matrix type."""
    scalar, components = _components(wp_dtype)
    name = scalar.rstrip("0123456789")
    size = element_handle(wp_dtype).size // components
    return DLDataType(_CODES[name], 8 * size, 1)


def dtype_from_dlpack(dl_dtype: Any) -> Any:
    """The scalar type for a DLPack type; RuntimeError if there is none."""
    code, bits = dl_dtype.type_code, dl_dtype.bits
    names = {v: k for k, v in _CODES.items()}
    name = names.get(code, "")
    scalar = getattr(wt, "bool" if (name, bits) == ("bool", 8) else f"{name}{bits}", None) if name else None
    if scalar is None or dl_dtype.lanes != 1:
        raise RuntimeError(f"there is no scalar type for DLPack's code {code}, {bits} bits, {dl_dtype.lanes} lanes")
    return scalar


def dtype_is_compatible(dl_dtype: Any, wp_dtype: Any) -> bool:
    """Whether from_dlpack sees elements of a DLPack type as a type: they may differ in sign."""
    try:
        name = dtype_from_dlpack(dl_dtype).__name__
    except RuntimeError:
        return False
    wanted = _components(wp_dtype)[0]
    bytes_like = {"bool", "int8", "uint8"}
    return name == wanted or name.lstrip("u") == wanted.lstrip("u") != "float" or {name, wanted} <= bytes_like


def device_to_dlpack(wp_device: Any) -> DLDevice:
    """The device of DLPack for one of ours."""
    chosen = get_device(wp_device)
    return DLDevice(1, 0) if chosen.is_cpu else DLDevice(2, chosen._native.number)


def device_from_dlpack(dl_device: Any) -> Device:
    """Our device for one of DLPack; RuntimeError if there is none."""
    if dl_device.device_type in (1, 3):
        return CPU
    if dl_device.device_type in (2, 13):
        return get_device(f"cuda:{dl_device.device_id}")
    raise RuntimeError(f"there is no device for DLPack's type {dl_device.device_type}; kernels run on CPUs and CUDA devices")


def shape_to_dlpack(shape: Any) -> Any:
    """A shape as a ctypes array of 64-bit integers."""
    return (ctypes.c_int64 * len(shape))(*shape)


def strides_to_dlpack(strides: Any, dtype: Any) -> Any:
    """Strides in bytes as DLPack's, in elements: a ctypes array of 64-bit integers."""
    size = element_handle(dtype).size
    return (ctypes.c_int64 * len(strides))(*(s // size for s in strides))
