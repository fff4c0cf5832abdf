"""What an array shows to NumPy and to other libraries: its memory, without a copy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from warp import _weft
from warp._src import array_interface as _interface
from warp._src.device import MemoryKind


class ArrayExchange(_weft.Array):
    """The protocols of NumPy, DLPack and ctypes, for `array`."""

    __slots__ = ()

    def numpy(self, *, _suppress_bfloat16_warning: bool = False) -> np.ndarray:
        """A NumPy array over the same memory, without a copy. Vectors and matrices add dimensions, structs become
        records; bfloat16 shows as ml_dtypes' type, or as bits in uint16 where that is not installed."""
        return _interface.numpy_view(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = self.numpy()
        if dtype is not None and np.dtype(dtype) != values.dtype:
            if copy is False:
                raise ValueError(f"an array of {self.dtype.__name__} can't be seen as {np.dtype(dtype)} without a copy")
            return values.astype(dtype)
        return values.copy() if copy else values

    @property
    def __array_interface__(self) -> dict[str, Any]:
        values = self.numpy()
        if values.dtype.kind == "V" and values.dtype.names is None:
            raise AttributeError("__array_interface__ has no bfloat16; NumPy takes it through __array__")
        return values.__array_interface__

    def __dlpack__(self, **kwargs: Any) -> Any:
        """A DLPack capsule over the same memory."""
        return self.numpy().__dlpack__(**{k: v for k, v in kwargs.items() if v is not None})

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def cptr(self) -> Any:
        """A ctypes pointer to the first element."""
        kind = self._element.kind
        ctype = (
            self.dtype._type_
            if kind == "scalar"
            else self.dtype
            if issubclass(self.dtype, ctypes.Array)
            else ctypes.c_uint8
        )
        return ctypes.cast(self.ptr or 0, ctypes.POINTER(ctype))

    def ipc_handle(self) -> bytes:
        """CUDA arrays only."""
        raise RuntimeError("IPC handles exist for CUDA arrays only; this one is on the CPU")

    @property
    def memory_kind(self) -> MemoryKind:
        """Where the memory lies."""
        return MemoryKind.HOST
