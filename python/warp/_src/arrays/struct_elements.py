"""Structs as elements, and the arrays in their fields.

An array of structs that hold arrays stores addresses. Its `_refs`, shared by all its views, maps where a struct was
written to the arrays in it, so that their memory lasts as long as the addresses are there.
"""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np

from warp import _weft
from warp._src.values.struct import StructInstance
from warp._src.values.types import class_of


def derived(view: Any, base: Any) -> Any:
    """Gives a view what it shares with its base beside memory."""
    if base._refs is not None:
        view._refs = base._refs
        view._dtype = base.dtype
    if base._ref is not None:  # what a program wants to be kept with memory that it named by its address
        view._ref = base
    return view


def check_textures(refs: Any, target: Any) -> None:
    """Raises for textures of another device that would be in an array: their ids are addresses of that device."""
    for texture in _textures_in(refs):
        if texture.id and texture.device != target.device:
            raise RuntimeError(
                f"a {type(texture).__name__} on {texture.device} can't be in an array of {target.dtype.__name__} on "
                f'{target.device}: make it there, or take its .to("{target.device}")'
            )


def _textures_in(refs: Any) -> Iterator[Any]:
    if hasattr(refs, "_wp_empty_"):
        yield refs
    elif isinstance(refs, dict):
        for item in refs.values():
            yield from _textures_in(item)
    elif isinstance(refs, (list, tuple)):
        for item in refs:
            yield from _textures_in(item)


def take_refs(target: Any, source: Any, copied: bool) -> None:
    """Where elements go from one array to another: the target keeps what the elements point to. Before they are written to
    memory that others see: RuntimeError for textures that can't be there."""
    refs = source._refs
    if refs is None:
        return
    if target._place != source._place:
        check_textures(refs, target)
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
    if hasattr(value, "_wp_empty_"):
        return [value]  # a texture: the id is in the array, the object is to live as long
    found: list[Any] = []
    for name, field, _ in handle.fields:
        item = getattr(value, name, None)
        if field.kind == "array":
            found.append(item)
        elif field.kind == "indexedarray":
            found.extend([] if item is None else [item.data, *item.indices])
        elif field.kind in ("fabricarray", "indexedfabricarray"):
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
        raise ValueError(
            f"Failed to convert the value to the array data type: the struct {handle.name} has {len(fields)} fields, "
            f"got {len(value)} values"
        )
    made = class_of(handle)()
    for (name, _, _), item in zip(fields, value):
        setattr(made, name, item)
    return made


def element_value(target: Any, value: Any) -> Any:
    """What is written to an element: a tuple as a struct; RuntimeError for textures that can't be there."""
    if value.__class__ is tuple:
        value = struct_value(target, value)
    check_textures(field_arrays(value), target)
    return value


def write_objects(target: Any, leaves: list[Any], keeps: bool) -> dict[Any, Any] | None:
    """Writes all elements of a new array of one dimension; gives its `_refs`, if it `keeps` any. Textures may be of any
    device: the array may be on its way to theirs."""
    refs: dict[Any, Any] = {}
    for i, leaf in enumerate(leaves):
        value = struct_value(target, leaf) if leaf.__class__ is tuple else leaf
        target[i] = value
        if keeps:
            refs[target.ptr + i * target.strides[0]] = field_arrays(value)
    return refs if keeps else None


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


def _all_in(refs: Any) -> Iterator[Any]:
    """What nested lists hold."""
    if isinstance(refs, (list, tuple)):
        for item in refs:
            yield from _all_in(item)
    else:
        yield refs


def arrays_in(refs: Any) -> Iterator[Any]:
    """The arrays in nested lists."""
    return (item for item in _all_in(refs) if isinstance(item, _weft.Array))


def arrays_of(one: Any) -> Iterator[Any]:
    """The arrays in an argument: itself, those of an indexed array, those in the fields of a struct."""
    if isinstance(one, _weft.Array):
        if one._valid:
            yield one
    elif getattr(one, "_wp_indexed_", False):
        yield one.data
    elif isinstance(one, StructInstance):
        for name in type(one)._wp_fields_:
            yield from arrays_of(getattr(one, name))


def restore_arrays(value: Any, refs: dict[Any, Any]) -> None:
    """Puts the arrays that were written into a struct array in place of the bare addresses that were read back."""
    known = {(a.ptr, a.shape, a.strides): a for a in arrays_in(list(refs.values())) if a._valid}
    fabrics = [one for one in _all_in(list(refs.values())) if hasattr(one, "_wp_fabric_")]
    for name, field, _ in value._wp_type_.fields:
        item = getattr(value, name, None)
        if field.kind == "struct":
            restore_arrays(item, refs)
        elif field.kind == "array" and item is not None:
            value.__dict__[name] = known.get((item.ptr, item.shape, item.strides), item)
        elif field.kind == "indexedarray" and item is not None:
            parts = [p and known.get((p.ptr, p.shape, p.strides), p) for p in (item.data, *item.indices)]
            value.__dict__[name] = type(item)(parts[0], parts[1:])
        elif field.kind in ("fabricarray", "indexedfabricarray") and item is not None:
            value.__dict__[name] = next((one for one in fabrics if one._starts_at == item._starts_at and type(one) is type(item)), item)
