"""Arrays on CUDA devices for other libraries: `__cuda_array_interface__`, which names the stream that work was queued on;
and arrays made of data that lies elsewhere than in plain memory of the host. What comes in is read by C++
(src/bind/exchange.cpp)."""

from __future__ import annotations

from typing import Any

from warp import _weft
from warp._src.arrays import array_interface as _interface
from warp._src.arrays.array_arguments import element_handle, extents_of
from warp._src.arrays.struct_elements import take_refs
from warp._src.devices.device import CPU


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


def init_elsewhere(
    target: Any, data: Any, dtype: Any, shape: Any, copy: bool, place: int, anywhere: bool = False
) -> None:
    """Makes an array of data from or for memory that is not the host's plain memory. What needs converting is converted
    on the host. With `anywhere` what lies on a device is shared there, whatever `place` is."""
    array = _interface.array_class
    if isinstance(data, _weft.Array):
        seen = data
    elif _interface.on_device(data):
        wanted = None if dtype is Any or dtype is None else element_handle(dtype)
        try:
            seen = _weft.foreign_array(array, data, wanted, flat=True)
        except RuntimeError:
            if not copy:
                raise
            seen = _weft.foreign_array(array, data)
    else:
        # A graph that is captured reads the values when it runs: they must be its own.
        captured = place >= 0 and _weft.cuda_capturing(place)
        seen = array.__new__(array)  # whose textures are for another device to refuse
        if captured or not seen._init_shared(data, dtype, shape):
            seen._init_data(data, dtype, shape, captured)
        shape = None
    handle = seen._element if dtype is Any or dtype is None else element_handle(dtype)
    extents = seen.shape if shape is None else extents_of(shape)
    if handle != seen._element or extents != seen.shape:
        wanted = seen.dtype if dtype is Any or dtype is None else dtype
        seen = array(_interface.host_view(seen), dtype=wanted, shape=shape, device=CPU, copy=False)
    if not copy and (seen._place == place or (anywhere and seen._place >= 0)):
        target._share(seen)
    else:
        target._allocate(seen._element, seen.shape, False, False, place)
        target._copy_from(seen)
    target._dtype = seen.dtype
    take_refs(target, seen, copy)
