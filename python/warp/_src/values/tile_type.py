"""`wp.tile` and `wp.tile_stack` in Python: the types of tiles and stacks in annotations of functions. In kernels they make them."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args, get_origin

from warp._src.values.annotation_unions import InUnions
from warp._src.values.scalars import scalar_class
from warp._src.values.types import type_handle, type_handle_or_none

__all__ = ["tile", "tile_stack"]


class tile(InUnions):
    """The type of a tile: values of one type in a constant shape that the threads of a block hold together.

    `wp.tile[float, 16, 16]` and `wp.tile(dtype=float, shape=(16, 16))` annotate parameters of functions. What is left out may
    be anything. In kernels `wp.tile(x)` is a tile of the value x that each thread has.
    """

    _wp_constructor_ = "tile"
    _wp_tile_ = "tile"

    def __init__(self, dtype: Any = Any, shape: Any = None, storage: str = "register"):
        """Args:
        dtype: type of the elements.
        shape: extents, or None for any.
        storage: "register" or "shared": a wish about where it lies, which changes no result.
        """
        if not isinstance(dtype, type) and type_handle_or_none(type(dtype)) is not None:
            raise TypeError(f"wp.tile({dtype!r}) makes a tile of values only in kernels; in Python wp.tile(dtype=…, shape=…) is a type")
        if storage not in ("register", "shared"):
            raise ValueError(f"storage is 'register' or 'shared', not {storage!r}")
        extents = () if shape is None else tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        for n in extents:
            if n is not Any and (not hasattr(n, "__index__") or not 1 <= n <= 65536):
                raise ValueError(f"the shape of a tile type is made of numbers from 1 to 65536 and Any, not {n!r}")
        if len(extents) > 4:
            raise ValueError(f"a tile has 1 to 4 dimensions, not {len(extents)}")
        known = scalar_class(dtype) if isinstance(dtype, type) else None  # float is float32
        self.dtype, self.shape, self.storage = known or dtype, extents, storage

    def __class_getitem__(cls, parameters: Any) -> tile:
        given = parameters if isinstance(parameters, tuple) else (parameters,)
        if not given:
            raise TypeError("wp.tile[…] requires at least a dtype")
        shape = given[1] if len(given) == 2 and isinstance(given[1], tuple) else given[1:]
        shape = tuple(get_args(n)[0] if get_origin(n) is Literal and len(get_args(n)) == 1 else n for n in shape)
        return cls(given[0], shape or None)

    def size_in_bytes(self) -> int:
        """What its elements take together."""
        return math.prod(self._known_shape()) * type_handle(self.dtype).size

    def ctype(self) -> str:
        """Its type in words: how elements lie, what they are, how many along each dimension."""
        extents = ", ".join(map(str, self._known_shape()))
        return f"tile_{self.storage}<{type_handle(self.dtype)}, {extents}>"

    def _known_shape(self) -> tuple[int, ...]:
        if not self.shape or Any in self.shape or self.dtype is Any:
            raise RuntimeError(f"{self} is open: its element type or an extent may be anything")
        return self.shape

    @property
    def ndim(self) -> int:
        """How many dimensions it has; 0 if that is open."""
        return len(self.shape)

    def __repr__(self) -> str:
        dtype = getattr(self.dtype, "__name__", self.dtype)
        return f"tile(dtype={dtype}, shape={self.shape})"


class tile_stack(InUnions):
    """The type of a stack that the threads of a block share: `wp.tile_stack(capacity=8, dtype=int)` annotates parameters of
    functions. In kernels it makes one.
    """

    _wp_constructor_ = "tile_stack"
    _wp_tile_ = "stack"

    def __init__(self, capacity: int, dtype: Any):
        """Args:
        capacity: how many values it has room for.
        dtype: their type.
        """
        if isinstance(capacity, bool) or not hasattr(capacity, "__index__") or capacity < 1:
            raise ValueError(f"capacity is a positive integer, not {capacity!r}")
        self.capacity, self.dtype = int(capacity), dtype

    def size_in_bytes(self) -> int:
        """What its elements and their count take together."""
        size = type_handle(self.dtype).size
        return -(-(4 + self.capacity * size) // 16) * 16

    def ctype(self) -> str:
        """Its type in words: what its elements are, and how many it has room for."""
        return f"tile_stack<{type_handle(self.dtype)}, {self.capacity}>"

    def __repr__(self) -> str:
        return f"tile_stack(capacity={self.capacity}, dtype={getattr(self.dtype, '__name__', self.dtype)})"
