"""Structs as structures of ctypes: `value.__ctype__()`, and pointers to the elements of arrays of structs."""

from __future__ import annotations

import ctypes
from typing import Any

from warp import _weft
from warp._src.values import types as wt


class ArrayDescriptor(ctypes.Structure):
    """An array as generated code sees it."""

    __slots__ = ()
    _fields_ = [
        ("data", ctypes.c_uint64),
        ("grad", ctypes.c_uint64),
        ("shape", ctypes.c_int64 * 4),
        ("strides", ctypes.c_int64 * 4),
        ("ndim", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class array_t(ArrayDescriptor):
    """The descriptor of an array, as `from_torch(…, return_ctype=True)` makes it: it goes to launches in an array's place, keeps
    what it was made of alive, and is nothing else."""

    __slots__ = ("_keep",)  # a dictionary for it would cost more than all the rest
    _fields_ = [("_element", ctypes.c_uint64), ("_place", ctypes.c_int64), ("_mark", ctypes.c_uint64)]


_weft.set_descriptor_class(array_t)

_made: dict[Any, Any] = {}


def structure_of(handle: Any) -> Any:
    """The class of ctypes structures in the layout of a type, always the same."""
    made = _made.get(handle)
    if made is not None:
        return made
    if handle.kind == "array":
        return ArrayDescriptor
    if handle.kind == "indexedarray":
        members = [("data", ArrayDescriptor), ("indices", ArrayDescriptor * handle.rank)]
        made = _made[handle] = type(f"IndexedDescriptor{handle.rank}d", (ctypes.Structure,), {"_fields_": members})
        return made
    if handle.kind not in ("struct", "fabricarray", "indexedfabricarray"):
        cls: Any = wt.class_of(handle)
        return cls._type_ if handle.kind == "scalar" else cls
    fields: list[tuple[str, Any]] = []
    end = 0
    for name, field, offset in handle.fields:
        if offset > end:
            fields.append((f"_gap{end}", ctypes.c_uint8 * (offset - end)))
        fields.append((name, structure_of(field)))
        end = offset + field.size
    if handle.size > end:
        fields.append((f"_gap{end}", ctypes.c_uint8 * (handle.size - end)))
    made = _made[handle] = type(handle.name, (ctypes.Structure,), {"_pack_": 1, "_fields_": fields})
    return made
