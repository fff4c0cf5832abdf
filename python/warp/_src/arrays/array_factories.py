"""Functions that make and copy arrays: `zeros`, `empty`, `ones`, `full`, their `_like` forms, `clone`, `copy`,
`from_numpy`, `from_ptr`.

Those that programs call often are C functions (`src/bind/array_makers.cpp`), which hand what is not usual to the functions of
the same name and signature here."""

from __future__ import annotations

import warnings
from typing import Any, Sequence

import numpy as np

from warp import _weft
from warp._src.arrays import array_interface as _interface
from warp._src.arrays.array import array
from warp._src.arrays.array_arguments import ArrayTypeError, element_handle, extents_of, plain_handles
from warp._src.arrays.listeners import paused
from warp._src.arrays.ranked_array import array1d, array2d, array3d, array4d
from warp._src.arrays.struct_elements import take_refs
from warp._src.devices.device import place_of
from warp._src.devices.streams import ScopedStream
from warp._src.values.scalars import bool_, float32, int32
from warp._src.values.types import class_of

__all__ = [
    "array1d",
    "array2d",
    "array3d",
    "array4d",
    "clone",
    "copy",
    "empty",
    "empty_like",
    "from_numpy",
    "from_ptr",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]

_new = _weft.array_new


def _make(
    shape: Any, dtype: Any, zero: bool, place: int, requires_grad: Any, retain_grad: Any, kwargs: dict[str, Any]
) -> array:
    """The careful form: old keywords, other devices, structs with arrays in them."""
    for name in ("n", "length"):
        if name in kwargs:
            if shape is not None:
                raise RuntimeError(f"give shape= or {name}=, not both")
            shape = kwargs.pop(name)
    kwargs.pop("owner", None)
    kwargs.pop("ndim", None)  # the shape says it
    strides = kwargs.pop("strides", None)
    if kwargs:
        raise TypeError(f"unexpected keyword argument {next(iter(kwargs))!r}")
    if shape is None:
        shape = 0
    handle = element_handle(dtype)
    holds = _interface.holds_arrays(handle)
    if strides is None:
        made = _new(array, handle, shape, zero or holds, bool(requires_grad), place)
    else:
        made = array.__new__(array)
        made._init_strided(handle, extents_of(shape), strides, None, place)
        if zero or holds:
            made._zero()
        if requires_grad:
            made._set_requires_grad(True)
    if handle.kind == "struct":
        made._dtype = class_of(handle) if isinstance(dtype, _weft.Type) else dtype
    if holds:
        made._refs = {}
    if retain_grad:
        made._retain = True
    return made


def zeros(
    shape: int | Sequence[int] | None = None,
    dtype: Any = float,
    device: Any = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    **kwargs: Any,
) -> array:
    """A new array of zeros."""
    return _make(shape, dtype, True, place_of(device, pinned), requires_grad, retain_grad, kwargs)


def empty(
    shape: int | Sequence[int] | None = None,
    dtype: Any = float,
    device: Any = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    **kwargs: Any,
) -> array:
    """A new array whose elements are not initialised."""
    return _make(shape, dtype, False, place_of(device, pinned), requires_grad, retain_grad, kwargs)


def ones(
    shape: int | Sequence[int] | None = None,
    dtype: Any = float,
    device: Any = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    **kwargs: Any,
) -> array:
    """A new array of ones, in every component of vectors and matrices."""
    return full(shape, 1, dtype, device, requires_grad, pinned, retain_grad, **kwargs)


def _dtype_of_value(value: Any) -> Any:
    """The element type for `full`: Python numbers are 32 bits wide, sequences are vectors or matrices."""
    if isinstance(value, bool):
        return bool_
    if type(value) is int:
        return int32
    if type(value) is float:
        return float32
    handle = getattr(value, "_wp_type_", None)
    if isinstance(handle, _weft.Type):
        return class_of(handle)
    try:
        values = _interface.as_ndarray(value)
        scalar = _interface.element_handle(values)
    except RuntimeError as error:
        raise ValueError(f"Failed to convert the value to an array data type: {error}") from None
    if scalar.kind != "scalar":
        return class_of(scalar)
    if not isinstance(value, (np.ndarray, np.generic)):
        scalar = {"float64": float32, "int64": int32}.get(scalar.scalar, class_of(scalar))._wp_type_
    if values.ndim == 0:
        return class_of(scalar)
    if values.ndim == 1 and values.size:
        return class_of(_weft.type_vec(scalar, values.shape[0]))
    if values.ndim == 2 and values.size:
        return class_of(_weft.type_mat(scalar, *values.shape))
    raise ValueError(f"a value of shape {values.shape} is no vector or matrix; give dtype=")


def full(
    shape: int | Sequence[int] | None = None,
    value: Any = 0,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    **kwargs: Any,
) -> array:
    """A new array with every element set to a value, whose type it takes if `dtype` is not given."""
    if dtype is None or dtype is Any:
        dtype = _dtype_of_value(value)
    return _filled(empty(shape, dtype, device, requires_grad, pinned, retain_grad, **kwargs), value)


def _filled(made: array, value: Any) -> array:
    """Fills a new array; to tapes it is one that was there before, whose gradient can be read at the end."""
    if made._has_grad and _weft.recording_tape() is not None:
        with paused():
            return made.fill_(value)
    return made.fill_(value)


def _is_compound(one: Any) -> bool:
    """Whether it is an indexed array, or one over buckets, whose classes are loaded by programs that name them."""
    return hasattr(type(one), "_wp_indexed_") or hasattr(type(one), "_wp_fabric_")


def _like(src: Any, zero: bool, device: Any, requires_grad: bool | None, pinned: Any, retain_grad: bool) -> array:
    if not isinstance(src, array) and not _is_compound(src):
        raise TypeError(f"expected a wp.array, got {type(src).__name__}")
    place = place_of(device if device is not None or pinned else src.device, pinned)
    if requires_grad is None:
        requires_grad = src.requires_grad
    return _make(src.shape, src.dtype, zero, place, requires_grad, retain_grad, {})


def zeros_like(
    src: Any,
    device: Any = None,
    requires_grad: bool | None = None,
    pinned: bool | None = None,
    retain_grad: bool = False,
) -> array:
    """Zeros in the shape and type of another array; `requires_grad` is its own unless given."""
    return _like(src, True, device, requires_grad, pinned, retain_grad)


def empty_like(
    src: Any,
    device: Any = None,
    requires_grad: bool | None = None,
    pinned: bool | None = None,
    retain_grad: bool = False,
) -> array:
    """An array that is not initialised in the shape and type of another."""
    return _like(src, False, device, requires_grad, pinned, retain_grad)


def ones_like(
    src: Any,
    device: Any = None,
    requires_grad: bool | None = None,
    pinned: bool | None = None,
    retain_grad: bool = False,
) -> array:
    """Ones in the shape and type of another array."""
    return _filled(_like(src, False, device, requires_grad, pinned, retain_grad), 1)


def full_like(
    src: Any,
    value: Any,
    device: Any = None,
    requires_grad: bool | None = None,
    pinned: bool | None = None,
    retain_grad: bool = False,
) -> array:
    """An array in the shape and type of another with every element set to a value."""
    return _filled(_like(src, False, device, requires_grad, pinned, retain_grad), value)


def clone(
    src: Any,
    device: Any = None,
    requires_grad: bool | None = None,
    pinned: bool | None = None,
    retain_grad: bool = False,
) -> array:
    """A contiguous copy with memory of its own; with that of its gradient, if both have one."""
    made = _like(src, False, device, requires_grad, pinned, retain_grad)
    if src.size:
        copy(made, src)
    return made


def copy(dest: Any, src: Any, dest_offset: int = 0, src_offset: int = 0, count: int = 0, stream: Any = None) -> None:
    """Copies `count` elements (0: all from `src_offset` on) from one array to another of the same type, on any devices.
    Offsets count elements of contiguous arrays, or of those with one dimension. Where both arrays have a gradient it is copied as well. Copies that a
    CUDA device does are queued on `stream` or its current stream; those to plain host memory are done on return."""
    if stream is not None:
        with ScopedStream(stream, sync_enter=False):
            copy(dest, src, dest_offset, src_offset, count)
        return
    copy_values(dest, src, dest_offset, src_offset, count)
    if dest.requires_grad and src.requires_grad and isinstance(dest, array) and isinstance(src, array):
        copy_values(dest.grad, src.grad, dest_offset, src_offset, count)


def copy_values(dest: Any, src: Any, dest_offset: int = 0, src_offset: int = 0, count: int = 0) -> None:
    """What `copy` does, gradients left as they are."""
    for one in (dest, src):
        if not isinstance(one, array) and not _is_compound(one):
            raise ArrayTypeError(f"Copy source and destination must be arrays, not {type(one).__name__}")
    if dest.dtype is not src.dtype and element_handle(dest.dtype) != element_handle(src.dtype):
        raise RuntimeError(
            f"can't copy between arrays of different element types: destination dtype={dest.dtype.__name__}, source "
            f"dtype={src.dtype.__name__}"
        )
    whole = dest_offset == 0 and src_offset == 0 and count in (0, src.size)
    if _is_compound(dest):
        if not whole or dest.size != src.size:
            raise RuntimeError(f"only a whole array can be copied to an {type(dest).__name__}")
        dest.assign(src)
        return
    if _is_compound(src):
        src = src.contiguous()
    for name, number in (("Source offset", src_offset), ("Destination offset", dest_offset), ("Copy count", count)):
        if not hasattr(number, "__index__"):
            raise ArrayTypeError(f"offsets and count of a copy must be integers, not {type(number).__name__}")
        if number < 0:
            raise RuntimeError(f"{name} must be non-negative, got {number}")
    if whole and dest.shape == src.shape:
        take_refs(dest, src, True)
        dest._copy_from(src)
        return
    amount = count or src.size - src_offset
    for name, one, offset in (("source", src, src_offset), ("destination", dest, dest_offset)):
        if offset + amount > one.size or amount < 0:
            raise RuntimeError(
                f"{amount} elements from {offset} on don't fit in the {name} array, which has {one.size}"
            )
    if amount == 0:
        return
    if dest_offset == src_offset == 0 and amount == dest.size == src.size:
        if not dest.is_contiguous:
            take_refs(dest, src, True)
            dest._copy_from(_packed(src).reshape(dest.shape))
            return
    elif any(not one.is_contiguous and one.ndim > 1 for one in (dest, src)):
        raise RuntimeError(
            "dest_offset, src_offset and count are only supported for 1-D arrays and for contiguous ones; copy between "
            "slices instead"
        )
    source = src if src.ndim == 1 else _packed(src).flatten()
    take_refs(dest, src, True)
    dest.flatten()[dest_offset : dest_offset + amount]._copy_from(source[src_offset : src_offset + amount])


def _packed(src: array) -> array:
    """An array whose elements lie in order: itself, or a copy."""
    if src.is_contiguous:
        return src
    made = _like(src, False, None, None, None, False)
    made._copy_from(src)
    take_refs(made, src, True)
    return made


def from_numpy(
    arr: np.ndarray,
    dtype: Any = None,
    shape: Sequence[int] | None = None,
    device: Any = None,
    requires_grad: bool = False,
    retain_grad: bool = False,
) -> array:
    """A copy of a NumPy array. Without a dtype, the trailing dimension of 2-D data becomes a vector, the two of 3-D
    data a matrix."""
    if dtype is None or dtype is Any:
        values = _interface.as_ndarray(arr)
        scalar = _interface.element_handle(values)
        dtype = class_of(scalar)
        if shape is None and scalar.kind == "scalar" and values.ndim in (2, 3):
            inner = values.shape[1:]
            if 0 < int(np.prod(inner)) <= 65536:
                dtype = class_of(_weft.type_vec(scalar, *inner) if len(inner) == 1 else _weft.type_mat(scalar, *inner))
        arr = values
    return array(arr, dtype=dtype, shape=shape, device=device, requires_grad=requires_grad, retain_grad=retain_grad)


def from_ptr(ptr: int, length: int, dtype: Any = None, shape: Sequence[int] | None = None, device: Any = None) -> array:
    """An array over foreign memory. Deprecated: write wp.array(ptr=…, shape=…, dtype=…)."""
    warnings.warn("from_ptr() is deprecated; use wp.array(ptr=…, shape=…, dtype=…)", DeprecationWarning, stacklevel=2)
    return array(
        ptr=ptr, dtype=float if dtype is None else dtype, shape=length if shape is None else shape, device=device
    )


zeros, empty, zeros_like, empty_like, clone, from_numpy = _weft.array_makers(
    plain_handles,
    {
        "zeros": zeros,
        "empty": empty,
        "zeros_like": zeros_like,
        "empty_like": empty_like,
        "clone": clone,
        "from_numpy": from_numpy,
    },
    np.ndarray,
    "warp",
)
