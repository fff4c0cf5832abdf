"""What an array says of itself: its element type, shape and strides, and where its memory is.

C++ answers where there is memory. An array without memory is an annotation, whose attributes programs may set as they
like (names of extents, say), or it lies at no address, and has a shape all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from warp import _weft
from warp._src.arrays.array_arguments import extents_of
from warp._src.devices.device import ON_PINNED, Device, device_at
from warp._src.values.types import class_of


def _settable(name: str, doc: str) -> property:
    """An attribute that annotations take whatever it is; arrays with memory ask their class."""

    def set_attribute(self: Any, value: Any) -> None:
        if self._valid:
            getattr(self, f"_set_{name}")(value)
        else:
            self._declare(name, value)

    return property(getattr(_weft.Array, name).fget, set_attribute, doc=doc)


class ArrayAttributes(_weft.Array):
    """Attributes of `array`."""

    __slots__ = ("_annotated_ndim", "_dtype")  # and a __dict__, which C++'s class has

    # What few arrays have of their own.
    _declared: dict[str, Any] | None = None  # of an array without memory, by name
    _capacity: int | None = None
    _foreign = False
    deleter: Callable[[int, int], None] | None = None

    shape = _settable(
        "shape",
        """Extents of the dimensions. A contiguous array can be given another shape of the same size, an annotation any
        value.""",
    )
    strides = _settable("strides", "Bytes from one element to the next, per dimension.")
    ndim = _settable("ndim", "Number of dimensions.")
    ptr = _settable(
        "ptr",
        """Address of the first element; None when there are no elements. Setting None lets the memory go: kernels then
        get the array as one without memory.""",
    )

    @property
    def dtype(self) -> Any:
        """The element type: a class such as wp.float32, wp.vec3 or a struct."""
        try:
            return self._dtype
        except AttributeError:
            self._dtype = class_of(self._element)
            return self._dtype

    @dtype.setter
    def dtype(self, value: Any) -> None:
        if not self._valid:
            self._dtype = value
            self.__dict__.pop("_answer", None)
        elif value is not self.dtype:
            raise AttributeError("the elements of an array keep their type; a.view(dtype) sees the memory as others")

    # ---- arrays without memory -------------------------------------------------------------------------------------

    def _without_memory(self, name: str) -> Any:
        """The attribute of an array without memory: as it was set, else that of no elements."""
        declared = self._declared or {}
        if name in declared:
            return declared[name]
        if name == "ndim":
            return self._annotated_ndim
        if name in ("shape", "strides"):
            return () if self._annotated_ndim is Any else (0,) * self._annotated_ndim
        if name in ("size", "length"):
            shape = declared["shape"] if "type" in declared else (0,)
            return int(np.prod(shape, dtype=np.int64)) if name == "size" else shape[0]
        return None

    def _declare(self, name: str, value: Any) -> None:
        if name == "ndim":
            self._annotated_ndim = value
            self.__dict__.pop("_answer", None)
        else:
            self._declared = {**(self._declared or {}), name: value}

    def _init_at_no_address(
        self, handle: _weft.Type, shape: tuple, strides: tuple, place: int, ptr: int | None
    ) -> None:
        """Makes this an array that has a shape, but no memory."""
        self._init_null()
        self._annotated_ndim = len(shape)
        kind = _weft.type_array(handle, len(shape))
        self._declared = {"shape": shape, "strides": strides, "ptr": ptr, "type": kind, "place": place}

    # ---- arrays with memory ----------------------------------------------------------------------------------------

    def _set_shape(self, value: Any) -> None:
        if extents_of(value) != self.shape:
            self._share(self._reshape(value))
            self._grad = None  # a view of the gradient in the new shape is made when it is asked for

    def _set_strides(self, value: Any) -> None:
        if tuple(value) != self.strides:
            raise AttributeError("the strides of an array with memory stay; slices and transpose() make views")

    def _set_ndim(self, value: Any) -> None:
        if value != self.ndim:
            raise AttributeError("the number of dimensions goes with the shape; set that, or use reshape()")

    def _set_ptr(self, value: Any) -> None:
        if not value:
            dtype = self.dtype
            self._init_at_no_address(self._element, self.shape, self.strides, self._place, value)
            self._dtype, self._grad = dtype, None
        elif value != self.ptr:
            raise AttributeError("an array stays where it is; wp.array(ptr=…, dtype=…, shape=…) lies over other memory")

    @property
    def device(self) -> Device | None:
        """Where the memory is; None for annotations."""
        if self._valid:
            return device_at(self._place)
        place = self._without_memory("place")
        return None if place is None else device_at(place)

    @property
    def capacity(self) -> int:
        """Bytes of memory; over a tensor of PyTorch those up to the end of what the tensor lies in."""
        tensor = _weft.array_tensor(self)
        storage = getattr(tensor, "untyped_storage", None)
        if storage is not None:
            return storage().nbytes() - tensor.storage_offset() * tensor.element_size()
        return self._capacity or self._bytes

    @property
    def pinned(self) -> bool:
        """Whether the memory is page-locked for transfers to a GPU."""
        return self._place == ON_PINNED

    @property
    def owner(self) -> bool:
        """Whether the array frees its memory at the end."""
        return self._valid and not (self._foreign and self.deleter is None)

    @property
    def is_transposed(self) -> bool:
        """Whether a 2-D array is packed column by column."""
        return self.ndim == 2 and self._valid and self._transpose([]).is_contiguous
