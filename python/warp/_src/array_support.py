"""Small parts of `wp.array` that need no array class: shapes, element types, what keeps arrays inside structs alive.

An array of structs that hold arrays stores addresses. Its `_refs`, shared by all its views, maps where a struct was
written to the arrays in it, so that their memory lasts as long as the addresses are there.
"""

from __future__ import annotations

import ctypes
import operator
from typing import Any, Iterator

import numpy as np

from warp import _weft
from warp._src.array_interface import holds_arrays
from warp._src.device import CPU, get_device, selection
from warp._src.types import class_of, type_handle, type_handle_or_none


class ArrayTypeError(TypeError, RuntimeError):
    """An element type that an array can't have or take."""


class ArrayDescriptor(ctypes.Structure):
    """An array as generated code sees it."""

    _fields_ = [
        ("data", ctypes.c_uint64),
        ("grad", ctypes.c_uint64),
        ("shape", ctypes.c_int64 * 4),
        ("strides", ctypes.c_int64 * 4),
        ("ndim", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class _PlainHandles(dict):
    """Handles of element types whose arrays need no care; for others, and for what is no type, None."""

    def __missing__(self, dtype: Any) -> _weft.Type | None:
        handle = type_handle_or_none(dtype)
        if handle is None or handle.kind == "array" or holds_arrays(handle) or handle.holds_private:
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
    return handle


def check_device(device: Any) -> None:
    """Raises if there is no such device."""
    if device is not None and device is not CPU:
        get_device(device)


def is_host(device: Any) -> bool:
    """Whether a device argument is known to mean the CPU."""
    return device is CPU or (device is None and selection.on_cpu)


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
        from warp._src.cuda_arrays import check_pointer

        check_pointer(int(ptr), place)
    return int(ptr)


def check_capacity(size: int, extents: tuple[int, ...], strides: list[int] | None, capacity: int) -> int:
    """The bytes that elements spread over; RuntimeError if they are more than the capacity."""
    steps = packed_strides(extents, size) if strides is None else strides
    needed = size + sum(abs(s) * (e - 1) for s, e in zip(steps, extents)) if all(extents) else 0
    if needed > capacity:
        raise RuntimeError(f"an array of shape {extents} needs {needed} bytes, the capacity is {capacity}")
    return needed


def strided_room(size: int, extents: tuple[int, ...], strides: Any, capacity: int | None) -> tuple[list[int], int]:
    """Strides and bytes of new memory with strides or room of its own."""
    if any(e < 0 for e in extents):
        raise RuntimeError(f"the shape {extents} has a negative extent")
    steps = packed_strides(extents, size) if strides is None else [int(s) for s in strides]
    if len(steps) != len(extents):
        raise RuntimeError(f"an array of {len(extents)} dimensions needs as many strides, {len(steps)} were given")
    if any(s < 0 for s in steps):
        raise RuntimeError("new memory needs strides of 0 or more")
    needed = check_capacity(size, extents, steps, (1 << 63) - 1 if capacity is None else capacity)
    return steps, max(needed, capacity or 0)


def derived(view: Any, base: Any) -> Any:
    """Gives a view what it shares with its base beside memory."""
    if base._refs is not None:
        view._refs = base._refs
        view._dtype = base.dtype
    return view


def take_refs(target: Any, source: Any, copied: bool) -> None:
    """After elements went from one array to another: the target keeps what the elements point to."""
    refs = source._refs
    if refs is None:
        return
    if not copied:
        target._refs = refs
        return
    if target._refs is None:
        target._refs = {}
    if target._refs is not refs:
        target._refs["copy", target.ptr, target.strides, source.ptr] = tuple(refs.values())


def field_arrays(value: Any) -> list[Any]:
    """The arrays in a struct instance, those of nested structs included."""
    handle = getattr(value, "_wp_type_", None)
    if handle is None or handle.kind != "struct":
        return []
    found: list[Any] = []
    for name, field, _ in handle.fields:
        item = getattr(value, name, None)
        if field.kind == "array":
            found.append(item)
        elif field.kind == "struct":
            found.extend(field_arrays(item))
    return found


def struct_value(target: Any, value: Any) -> Any:
    """A tuple of field values as an instance of the array's struct; any other value, or array, leaves it as it is."""
    handle = target._element
    if handle.kind != "struct" or isinstance(value, target.dtype):
        return value
    fields = handle.fields
    if len(value) != len(fields):
        raise ValueError(f"the struct {handle.name} has {len(fields)} fields, got {len(value)} values")
    made = class_of(handle)()
    for (name, _, _), item in zip(fields, value):
        setattr(made, name, item)
    return made


def flatten_objects(data: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested lists of objects, and the objects in order. Tuples in lists are field values."""
    if not isinstance(data, (list, tuple)) and not (isinstance(data, np.ndarray) and data.dtype.kind == "O"):
        try:
            data = list(data)
        except TypeError:
            raise RuntimeError("the data of an array of structs must be a sequence of them") from None
    shape: list[int] = [len(data)]
    items = list(data)
    while items and all(isinstance(x, list) for x in items):
        lengths = {len(x) for x in items}
        if len(lengths) > 1:
            raise RuntimeError("the data is ragged: its lists have different lengths")
        shape.append(lengths.pop())
        items = [y for x in items for y in x]
        if len(shape) > 4:
            raise RuntimeError("an array has 1 to 4 dimensions, the data has more")
    return tuple(shape), items


def arrays_in(refs: Any) -> Iterator[Any]:
    """The arrays in nested lists."""
    if isinstance(refs, _weft.Array):
        yield refs
    elif isinstance(refs, (list, tuple)):
        for item in refs:
            yield from arrays_in(item)


def restore_arrays(value: Any, refs: dict[Any, Any]) -> None:
    """Puts the arrays that were written into a struct array in place of the bare addresses that were read back."""
    known = {(a.ptr, a.shape, a.strides): a for a in arrays_in(list(refs.values())) if a._valid}
    for name, field, _ in value._wp_type_.fields:
        item = getattr(value, name, None)
        if field.kind == "struct":
            restore_arrays(item, refs)
        elif field.kind == "array" and item is not None:
            value.__dict__[name] = known.get((item.ptr, item.shape, item.strides), item)
