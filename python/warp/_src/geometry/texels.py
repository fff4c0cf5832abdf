"""What textures are made of: their modes, the types of texels, arrays as texels."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from warp._src.arrays.array import array
from warp._src.values import types


class TextureFilterMode(enum.IntEnum):
    """How a texture is read between texels, or between mip levels."""

    CLOSEST = 0
    """The nearest one."""
    LINEAR = 1
    """Those around, by distance."""


class TextureAddressMode(enum.IntEnum):
    """What lies beyond a texture's edges."""

    WRAP = 0
    """The texture again."""
    CLAMP = 1
    """Its outermost texels."""
    MIRROR = 2
    """Its mirror image, and so on."""
    BORDER = 3
    """Zero."""


class TextureError(RuntimeError, ValueError):
    """What no texture can be made of; a RuntimeError, and a ValueError for programs that expect one."""


DTYPES = (
    types.uint8,
    types.uint16,
    types.uint32,
    types.int8,
    types.int16,
    types.int32,
    types.float16,
    types.float32,
)
WHOLE = (types.uint32, types.int32)
EXTENTS = ("width", "height", "depth")


def dtype_of(dtype: Any) -> Any:
    """The scalar type that a dtype, NumPy's included, stands for."""
    if dtype is float:
        return types.float32
    if dtype is int:
        return types.int32
    if not any(dtype is one for one in DTYPES):  # NumPy's dtypes are equal to ours
        try:
            dtype = getattr(types, np.dtype(dtype).name, dtype)
        except TypeError:
            pass
    if not any(dtype is one for one in DTYPES):
        shown = getattr(dtype, "__name__", dtype)
        raise TextureError(
            f"Unsupported texture dtype: {shown}. Supported: " + ", ".join(one.__name__ for one in DTYPES)
        )
    return dtype


def mode_of(modes: Any, value: Any, what: str) -> Any:
    try:
        return modes(value)
    except (TypeError, ValueError):
        raise TextureError(f"Invalid texture {what}: {value!r}; use wp.{modes.__name__}") from None


class Texels:
    """An array as texels: its extents (width first), channels and type, and the array that holds them, contiguous."""

    def __init__(self, data: Any, ndim: int, purpose: str) -> None:
        if not isinstance(data, array) and hasattr(data, "__cuda_array_interface__"):
            try:
                data = array(data, copy=False)
            except (RuntimeError, TypeError, ValueError) as error:
                raise TextureError(f"{purpose}: {error}") from None
        shape: tuple[int, ...] = ()
        if isinstance(data, array):
            if not data._valid:
                raise TextureError(f"{purpose}: the array is an annotation, it has no memory")
            scalar = data._element.element if data._element.kind == "vec" else data._element
            self.dtype = dtype_of(types.class_of(scalar) if scalar is not None else data.dtype)
            shape = tuple(data.shape) + ((data._element.size // scalar.size,) if data._element.kind == "vec" else ())
            contiguous = data.is_contiguous
        elif isinstance(data, np.ndarray):
            self.dtype = dtype_of(data.dtype)
            shape = data.shape
            contiguous = data.flags.c_contiguous
        else:
            raise TextureError(f"{purpose}: must be a Warp array or NumPy array, got {type(data).__name__}")
        if len(shape) not in (ndim, ndim + 1):
            raise TextureError(
                f"{purpose}: {ndim}D texture data must be {ndim}D or {ndim + 1}D array, got the shape {shape}"
            )
        self.data = data
        self.contiguous = contiguous
        self.extents = tuple(int(n) for n in reversed(shape[:ndim]))
        self.channels = int(shape[ndim]) if len(shape) > ndim else 1

    def as_array(self) -> array:
        """The texels for reading, in an array of ours."""
        if isinstance(self.data, array):
            return self.data
        flat = np.ascontiguousarray(self.data).reshape(-1)
        return array(flat, dtype=self.dtype, device="cpu")
