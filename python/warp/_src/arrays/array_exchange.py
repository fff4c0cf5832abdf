"""Memory without a copy: what an array shows of its own to NumPy and to other libraries, and arrays over memory of others."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from warp import _weft
from warp._src.arrays import array_interface as _interface
from warp._src.arrays import listeners
from warp._src.arrays.address_uses import take_told
from warp._src.arrays.array_arguments import check_capacity, checked_address, plain_handles, strided_room
from warp._src.arrays.array_attributes import ArrayAttributes
from warp._src.devices.device import MemoryKind
from warp._src.values.struct_ctypes import structure_of
from warp._src.values.types import class_of


class ArrayExchange(ArrayAttributes):
    """Addresses, and the protocols of NumPy and ctypes, for `array`; DLPack is C++'s (src/bind/dlpack.cpp)."""

    __slots__ = ()

    def _init_over(self, ptr: int, dtype: Any, shape: tuple) -> bool:
        """Over plain memory of the host that is its owner's to free; False if it has to be looked at more closely."""
        handle = None if dtype is Any or dtype is None else plain_handles[dtype]
        if handle is None or ptr >> 64:
            return False
        told = take_told(ptr)
        if told is not None:  # a device's address
            told._expose()
        try:
            self._wrap(handle, shape, None, ptr, None, None)
        except TypeError:  # no extents
            return False
        self._foreign, self.deleter = True, None
        self._dtype = dtype if handle.kind == "struct" else class_of(handle)
        return True

    def _init_ptr(
        self,
        handle: _weft.Type,
        extents: Any,
        strides: Any,
        ptr: Any,
        capacity: int | None,
        owner: Any,
        deleter: Any,
        place: int,
    ) -> None:
        if owner and deleter is None:
            raise RuntimeError("owner=True needs a deleter that frees the memory: pass deleter=lambda ptr, size: …")
        steps = None if strides is None else [int(s) for s in strides]
        if capacity is not None:
            check_capacity(handle.size, extents, steps, capacity)
            self._capacity = capacity
        told = take_told(ptr)
        if told is not None:
            over = told._lay_over(handle, extents, steps) if deleter is None and told._place == place else None
            if over is not None:  # memory of our own: what waits may go on waiting
                self._share(over)
                self._foreign, self.deleter = True, None
                return
            told._expose()
        address = checked_address(ptr, place)
        if address == 0 and 1 <= len(extents) <= 4 and all(n > 0 for n in extents):
            steps, _ = strided_room(handle.size, extents, strides, None)
            self._init_at_no_address(handle, extents, tuple(steps), place, 0)
        else:
            self._wrap(handle, extents, steps, address, None, deleter, 0, place)
        self._foreign, self.deleter = True, deleter

    numpy = _weft.Array.numpy

    # An array has a buffer, which these would read as text.
    def __float__(self) -> float:
        raise TypeError("float() argument must be a string or a real number, not 'array'")

    def __int__(self) -> int:
        raise TypeError("int() argument must be a string, a bytes-like object or a real number, not 'array'")

    def _numpy_carefully(self, *, _suppress_bfloat16_warning: bool = False) -> np.ndarray:
        """What `numpy` does (src/bind/array_makers.cpp) of structs, bfloat16, arrays elsewhere and those without memory."""
        if not self._valid and not self.size:
            return _interface.no_elements(self)
        return _interface.host_view(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = self.numpy()
        if dtype is not None and np.dtype(dtype) != values.dtype:
            if copy is False:
                raise ValueError(f"an array of {self.dtype.__name__} can't be seen as {np.dtype(dtype)} without a copy")
            return values.astype(dtype)
        return values.copy() if copy else values

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self._place >= 0:
            raise AttributeError(f"__array_interface__ needs memory of the host, this array is on {self.device}")
        values = self.numpy()
        if values.dtype.kind == "V" and values.dtype.names is None:
            raise AttributeError("__array_interface__ has no bfloat16; NumPy takes it through __array__")
        return values.__array_interface__

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The memory for PyTorch, CuPy, Numba and others; on CUDA devices only."""
        if not self._valid or self._place < 0:
            raise AttributeError("__cuda_array_interface__ needs memory of a CUDA device")
        from warp._src.arrays.cuda_interface import interface_of

        return interface_of(self)

    def _restrided(self, gradient: Any) -> Any:
        """A gradient copied to memory of this array's strides: other libraries hand out expanded ones, whose elements share
        memory."""
        if all(n < 2 or s == t for n, s, t in zip(self.shape, self.strides, gradient.strides)):
            return gradient
        if 0 in self.strides:
            raise RuntimeError("elements of the array share memory, and can't have a gradient each")
        array = _interface.array_class
        made = array.__new__(array)
        made._share(self)
        made._set_requires_grad(False)
        made._set_requires_grad(True)  # of the same strides
        copied = made._grad_view()
        with listeners.paused():
            copied._copy_from(gradient)
        return copied

    @property
    def _tensor(self) -> Any:
        """The tensor of PyTorch over whose memory this lies, or None."""
        return _weft.array_tensor(self)

    def cptr(self) -> Any:
        """A ctypes pointer to the first element of a contiguous array of the CPU."""
        if self._place >= 0 or not self.is_contiguous:
            raise RuntimeError("cptr() is for contiguous arrays of the CPU: ctypes reads memory of the host, without gaps")
        kind = self._element.kind
        if kind == "struct":
            return ctypes.cast(self.ptr or 0, ctypes.POINTER(structure_of(self._element)))
        ctype = (
            self.dtype._type_
            if kind == "scalar"
            else self.dtype
            if issubclass(self.dtype, ctypes.Array)
            else ctypes.c_uint8
        )
        return ctypes.cast(self.ptr or 0, ctypes.POINTER(ctype))

    def ipc_handle(self) -> bytes:
        """64 bytes by which another process opens the array's memory (`wp.from_ipc_handle`). CUDA arrays only, made outside
        of the memory pool: `with wp.ScopedMempool(device, False):`. The array must live while others use it."""
        if self._place < 0:
            raise RuntimeError("IPC handles exist for CUDA arrays only; this one is on the CPU")
        return _weft.cuda_share_memory(self)

    @property
    def memory_kind(self) -> MemoryKind:
        """Where the memory lies."""
        if not self._valid:
            return MemoryKind.UNKNOWN
        if self._place >= 0:
            return MemoryKind.CUDA_MEMPOOL if self.device.is_mempool_enabled else MemoryKind.CUDA_DEVICE
        return MemoryKind.HOST if self._place == -1 else MemoryKind.PINNED
