"""Arrays on CUDA devices and other libraries: `__cuda_array_interface__` out and in, without a copy and without waiting.

Work of both sides is put in order on the device: what we hand out names the stream it was queued on, and what comes in
with a stream is waited for by ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from warp import _weft
from warp._src.arrays import array_interface as _interface
from warp._src.arrays.array_arguments import element_handle, extents_of
from warp._src.arrays.struct_elements import take_refs
from warp._src.devices.device import CPU, device_at, selection
from warp._src.devices.streams import Stream, put_in_order


def interface_of(array: Any) -> dict[str, Any]:
    """The `__cuda_array_interface__` of an array on a device."""
    known = _interface.layout(array._element)
    if known.kind == "struct":
        raise AttributeError("__cuda_array_interface__ has no structs")
    stream = array.device.stream
    packed = array.is_contiguous
    return {
        "shape": array.shape + known.inner,
        "strides": None if packed else array.strides + known.strides,
        "typestr": "<V2" if known.scalar == "bfloat16" else known.base.str,
        "data": (array.ptr or 0, False),
        "version": 3,
        "stream": None if stream.is_capturing else stream.cuda_stream or 1,  # nobody can wait for a graph to be
    }


def _wrong(text: str) -> RuntimeError:
    return RuntimeError(f"the object's __cuda_array_interface__ is wrong: {text}")


def _folded(shape: tuple[int, ...], strides: tuple[int, ...], known: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A last dimension of several times the components of a vector or matrix, cut into them, as `wp.array` does with
    numbers of the host; other shapes as they are."""
    count, rest = divmod(shape[-1], int(np.prod(known.inner))) if shape and known.inner else (0, 1)
    if rest or not count or strides[-1] != known.base.itemsize or shape[len(shape) - len(known.inner) :] == known.inner:
        return shape, strides
    if count == 1 and len(shape) > 1:
        return shape[:-1] + known.inner, strides[:-1] + known.strides
    whole = known.base.itemsize * int(np.prod(known.inner))
    return (*shape[:-1], count, *known.inner), (*strides[:-1], whole, *known.strides)


def over_cuda_memory(obj: Any, dtype: Any, fold: bool = False) -> Any:
    """An array over the memory of an object with `__cuda_array_interface__`. Trailing dimensions become the components
    of a vector or matrix dtype, with `fold` also a last dimension of all of them. RuntimeError for an interface that can't be
    true or elements of another type."""
    interface = obj.__cuda_array_interface__
    if not isinstance(interface, dict):
        raise _wrong(f"it is a {type(interface).__name__}, not a dict")
    for key in ("shape", "typestr", "data"):
        if key not in interface:
            raise _wrong(f"it has no '{key}'")
    if interface.get("mask") is not None:
        raise RuntimeError("arrays with a mask are not supported; fill the masked values first")
    shape = _interface._integers(interface["shape"], "shape")
    base = np.dtype(interface["typestr"])
    strides = interface.get("strides")
    if strides is None:
        strides = tuple(base.itemsize * int(np.prod(shape[d + 1 :], dtype=np.int64)) for d in range(len(shape)))
    else:
        strides = _interface._integers(strides, "strides")
    if len(strides) != len(shape) or any(n < 0 for n in shape):
        raise _wrong(f"shape {shape} with strides {strides}")
    handle = _handle(dtype, base)
    known = _interface.layout(handle)
    bits = known.scalar == "bfloat16" and base.itemsize == 2 and base.kind in "Vu"
    if base != known.base and not bits:
        raise RuntimeError(f"CUDA memory of dtype {base} can't be seen as {handle.name}; convert it first")
    if fold:
        shape, strides = _folded(shape, strides, known)
    rank = len(shape) - len(known.inner)
    packed = shape[rank:] == known.inner and all(
        n == 1 or s == t for n, s, t in zip(known.inner, strides[rank:], known.strides)
    )
    if not 1 <= rank <= 4 or not packed:
        raise RuntimeError(f"CUDA memory of shape {shape} can't be seen as an array of {handle.name}")
    address = int(interface["data"][0])
    size = int(np.prod(shape, dtype=np.int64))
    place = _weft.cuda_pointer_place(address) if size else selection.find()[0].ordinal
    if place is None:
        raise _wrong(f"{address:#x} is no memory of a CUDA device")
    made = _interface.array_class.__new__(_interface.array_class)
    made._wrap(handle, list(shape[:rank]), list(strides[:rank]), address, obj, None, 0, place)
    stream = interface.get("stream")
    if stream is not None and place >= 0:
        if stream == 0:
            raise _wrong("its stream is 0; 1 is the legacy default stream")
        device = device_at(place)
        put_in_order(Stream(device, cuda_stream=stream), device.stream)
    return made


def _handle(dtype: Any, base: np.dtype) -> _weft.Type:
    """The element type that is asked for, or that of the scalars."""
    if isinstance(dtype, _weft.Type):
        return dtype
    if dtype is None or dtype is Any:
        return _interface.element_handle(np.empty(0, base))
    return element_handle(dtype)


def init_elsewhere(target: Any, data: Any, dtype: Any, shape: Any, copy: bool, place: int) -> None:
    """Makes an array of data from or for memory that is not the host's plain memory. What needs converting is converted
    on the host."""
    array = _interface.array_class
    if isinstance(data, _weft.Array):
        seen = data
    elif _interface.on_device(data):
        try:
            seen = over_cuda_memory(data, dtype, fold=True)
        except RuntimeError:
            if not copy:
                raise
            seen = over_cuda_memory(data, None)
    else:
        # A graph that is captured reads the values when it runs: they must be its own.
        captured = place >= 0 and _weft.cuda_capturing(place)
        seen = array(data, dtype=dtype, shape=shape, device=CPU, copy=captured)
        shape = None
    handle = seen._element if dtype is Any or dtype is None else element_handle(dtype)
    extents = seen.shape if shape is None else extents_of(shape)
    if handle != seen._element or extents != seen.shape:
        wanted = seen.dtype if dtype is Any or dtype is None else dtype
        seen = array(_interface.host_view(seen), dtype=wanted, shape=shape, device=CPU, copy=False)
    if not copy and seen._place == place:
        target._share(seen)
    else:
        target._allocate(seen._element, seen.shape, False, False, place)
        target._copy_from(seen)
    target._dtype = seen.dtype
    take_refs(target, seen, copy)
