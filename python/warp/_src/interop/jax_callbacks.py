"""`register_ffi_callback`: Python functions that XLA calls by name, with buffers as they are."""

from __future__ import annotations

import threading
from typing import Any, Callable

import numpy as np

from warp import _weft
from warp._src.interop.jax_support import ffi_module, import_jax, scope_of_call

__all__ = ["register_ffi_callback"]

_TYPES = {
    1: "bool", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "uint8", 7: "uint16", 8: "uint32", 9: "uint64",
    10: "float16", 11: "float32", 12: "float64", 16: "bfloat16",
}  # fmt: skip
"""Element types by XLA's numbers."""


def _dtype(number: int) -> np.dtype:
    name = _TYPES.get(number)
    if name is None:
        raise TypeError(f"a buffer of the call has elements of XLA's type {number}, which arrays can't hold")
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


class Buffer:
    """Memory of a call, for its time: `shape`, `dtype` (NumPy's), `data` (the address), and the array interface of its
    platform, by which kernels and other libraries take it."""

    def __init__(self, data: int, number: int, shape: tuple[int, ...]):
        self.data, self.dtype, self.shape = data, _dtype(number), shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def _interface(self) -> dict[str, Any]:
        size = self.dtype.itemsize
        plain = f"<V{size}" if self.dtype.kind == "V" else self.dtype.str
        return {"shape": self.shape, "typestr": plain, "data": (self.data, False), "strides": None, "version": 3}

    def __repr__(self) -> str:
        return f"<buffer of {self.dtype}{list(self.shape)}>"


class HostBuffer(Buffer):
    """A buffer on the CPU."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._interface()


class CudaBuffer(Buffer):
    """A buffer on a CUDA device."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self._interface()


class ExecutionContext:
    """What a call runs in: `stream` (of CUDA, as a number; 0 on the CPU), `stage` (3: it is executed) and the number of the
    device in XLA's count."""

    def __init__(self, stream: int, stage: int, device_ordinal: int):
        self.stream, self.stage, self.device_ordinal = stream, stage, device_ordinal


def _value(number: int, data: bytes, is_array: bool) -> Any:
    """An attribute: numbers as Python's, arrays as NumPy's."""
    values = np.frombuffer(data, _dtype(number))
    return values if is_array else values[0].item()


_registered: dict[str, tuple[Callable, bool]] = {}
_registering = threading.Lock()


def register_ffi_callback(name: str, func: Callable, graph_compatible: bool = True) -> None:
    """Lets `jax.ffi.ffi_call(name, …)` call a Python function, on the CPU and on CUDA devices.

    Args:
        name: the target's name.
        func: func(inputs, outputs, attrs, ctx): lists of buffers, a dictionary of the call's attributes, and the context
            with the CUDA stream, which is current meanwhile, as its device is. Buffers go to `wp.launch` as they are. No
            function of JAX may be called inside.
        graph_compatible: JAX may capture what it does into a CUDA graph: it queues the same work each time and never
            waits for it.
    """
    import_jax()
    if not isinstance(name, str) or not name:
        raise TypeError(f"the name of a callback is a text, not {name!r}")
    if not callable(func):
        raise TypeError(f"a callback is a function of (inputs, outputs, attrs, ctx), not {type(func).__name__}")
    with _registering:
        known = _registered.get(name)
        if known is None:
            _register(name, func, bool(graph_compatible))
        elif known != (func, bool(graph_compatible)):
            raise ValueError(f"there is a callback '{name}' already, which is another function; take another name")


def _register(name: str, func: Callable, graph_compatible: bool) -> None:
    def run(inputs: list, outputs: list, attrs: dict, stream: int, stage: int, ordinal: int, place: int) -> None:
        kind = HostBuffer if place < 0 else CudaBuffer
        context = ExecutionContext(stream, stage, ordinal)
        with scope_of_call(place, stream):
            func([kind(*b) for b in inputs], [kind(*b) for b in outputs], attrs, context)

    host, cuda = _weft.xla_new_callback(_value, run, graph_compatible)
    ffi = ffi_module()
    ffi.register_ffi_target(name, host, platform="cpu", api_version=1)
    ffi.register_ffi_target(name, cuda, platform="CUDA", api_version=1)
    _registered[name] = (func, graph_compatible)
