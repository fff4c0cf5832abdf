"""What `wp.array` is made with, checked: element types, devices, shapes, strides, addresses, room in memory."""

from __future__ import annotations

import ctypes
import operator
from typing import Any, Literal, get_args, get_origin

import numpy as np

from warp import _weft
from warp._src.arrays.array_interface import holds_arrays
from warp._src.devices.device import CPU, device_at, get_device, selection
from warp._src.values.types import type_handle, type_handle_or_none


class ArrayTypeError(TypeError, RuntimeError):
    """An element type that an array can't have or take."""


def no_view(mine: _weft.Type, wanted: _weft.Type) -> ArrayTypeError:
    """What is said of a view whose elements are of another size and of other numbers."""
    scalar = None if mine.kind in ("struct", "scalar") else _weft.type_scalar(mine.scalar)
    source = f"scalar dtype {scalar.name} has size {scalar.size}" if scalar else f"dtype has size {mine.size}"
    return ArrayTypeError(
        f"cannot create an array view with dtype {wanted.name} from source dtype {mine.name}: source {source} bytes, but "
        f"target dtype has size {wanted.size} bytes"
    )


def _is_empty(handle: _weft.Type) -> bool:
    """Whether it is that of vectors of length 0, which to the compiler are structs."""
    return handle.kind == "struct" and handle.name.startswith("vec0_")


class _PlainHandles(dict):
    """Handles of element types whose arrays need no care; for others, and for what is no type, None."""

    def __missing__(self, dtype: Any) -> _weft.Type | None:
        handle = type_handle_or_none(dtype)
        if handle is None or handle.kind == "array" or holds_arrays(handle) or handle.holds_private or _is_empty(handle):
            return None
        if isinstance(dtype, type):
            self[dtype] = handle
        return handle


plain_handles = _PlainHandles()


def element_handle(dtype: Any) -> _weft.Type:
    """The handle of an element type; TypeError if arrays can't hold it."""
    handle = type_handle(dtype)
    if handle.kind == "array":
        raise ArrayTypeError("arrays can't hold arrays; use more dimensions, or a struct with an array field")
    return checked_element(handle)


def checked_element(handle: Any) -> Any:
    """The handle of an element type; ArrayTypeError if it is of state that only the library understands."""
    if handle is not None and handle.holds_private:
        raise ArrayTypeError(f"a {handle.name} can't lie in an array; keep it in a variable of a kernel")
    if handle is not None and _is_empty(handle):
        raise ArrayTypeError("vectors of length 0 can't lie in an array")
    return handle


def check_device(device: Any) -> None:
    """Raises if there is no such device."""
    if device is not None and device is not CPU:
        get_device(device)


def is_host(device: Any) -> bool:
    """Whether a device argument is known to mean the CPU."""
    if device is None:
        return selection.on_cpu or get_device() is CPU
    return device is CPU or (device.__class__ is str and device == "cpu")


def extents_of(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple."""
    if isinstance(shape, (str, bytes)):
        raise TypeError(f"an array's shape must be an integer or a tuple of integers, not {type(shape).__name__}")
    try:
        if not hasattr(shape, "__len__"):
            return (operator.index(shape),)
        return tuple(operator.index(n) for n in shape)
    except TypeError:
        raise TypeError(f"an array's shape must be an integer or a tuple of integers, not {shape!r}") from None


def resolved_extents(extents: tuple[int, ...], scalars: int, components: int, data: str) -> tuple[int, ...]:
    """A shape with one -1, which stands for as many as the data has."""
    known = 1
    for extent in extents:
        known *= extent if extent != -1 else 1
    count, rest = divmod(scalars, components)
    if extents.count(-1) > 1 or known <= 0 or rest or count % known:
        raise RuntimeError(f"{data} can't become an array of shape {extents}: one extent may be -1, if the others fit")
    return tuple(count // known if extent == -1 else extent for extent in extents)


def packed_strides(extents: tuple[int, ...], size: int) -> list[int]:
    """The strides of a contiguous array."""
    strides = []
    for extent in reversed(extents):
        strides.append(size)
        size *= max(extent, 1)
    return strides[::-1]


def checked_address(ptr: Any, place: int) -> int:
    """An address as a number. RuntimeError if an array on that CUDA device can't lie there."""
    if isinstance(ptr, ctypes.c_void_p):
        ptr = ptr.value or 0
    if not isinstance(ptr, (int, np.integer)):
        raise TypeError(f"ptr must be an address, not {type(ptr).__name__}")
    if not 0 <= ptr < 1 << 64:
        raise RuntimeError(f"{ptr} is no address")
    if place >= 0 and ptr:
        _check_pointer(int(ptr), place)
    return int(ptr)


def _check_pointer(address: int, place: int) -> None:
    """RuntimeError for an address that kernels on a device can't reach, as far as the driver knows."""
    device = device_at(place)
    found = _weft.cuda_pointer_place(address)
    if found is None:
        raise RuntimeError(f"{address:#x} is no memory of {device}, nor any that the CUDA driver knows")
    if found >= 0 and found != device._native.number and not device.can_access(device_at(found)):  # type: ignore[attr-defined]
        raise RuntimeError(f"{address:#x} is memory of {device_at(found)}; an array on {device} can't lie there")


def check_capacity(size: int, extents: tuple[int, ...], strides: list[int] | None, capacity: int) -> int:
    """The bytes that elements spread over; RuntimeError if they are more than the capacity."""
    steps = packed_strides(extents, size) if strides is None else strides
    needed = size + sum(abs(s) * (e - 1) for s, e in zip(steps, extents)) if all(extents) else 0
    if needed > capacity:
        raise RuntimeError(f"an array of shape {extents} needs {needed} bytes, the capacity is {capacity}")
    return needed


def strided_room(size: int, extents: tuple[int, ...], strides: Any, capacity: int | None) -> tuple[list[int], int]:
    """Strides and bytes of new memory with strides or room of its own."""
    for d, extent in enumerate(extents):
        if extent < 0:
            raise ValueError(f"Array shapes must be non-negative, got {extent} in dimension {d}")
    steps = packed_strides(extents, size) if strides is None else [int(s) for s in strides]
    if len(steps) != len(extents):
        raise ValueError(f"Invalid number of strides, expected {len(extents)} strides, got {len(steps)}")
    if any(s < 0 for s in steps):
        raise NotImplementedError("Negative strides are not for new memory; take a slice with a negative step")
    needed = check_capacity(size, extents, steps, (1 << 63) - 1 if capacity is None else capacity)
    return steps, max(needed, capacity or 0)


def rank_in_brackets(ndim: Any) -> Any:
    """The rank that `wp.array[float, Literal[2]]` names: a number, `Any` for every rank, None where none is given."""
    if ndim is None or ndim is Any:
        return ndim
    if get_origin(ndim) is Literal:
        values = get_args(ndim)
        if len(values) != 1:
            raise TypeError(f"Expected a single Literal value for ndim, got {ndim}")
        ndim = values[0]
    if isinstance(ndim, bool) or not isinstance(ndim, int):
        raise TypeError(f"ndim must be an integer, Literal[…] or Any, got {ndim!r}")
    if not 1 <= ndim <= 4:
        raise ValueError(f"ndim must be between 1 and 4, got {ndim}")
    return ndim
