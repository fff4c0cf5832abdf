"""Buffers of OpenGL as arrays. With a CUDA device that knows the program's OpenGL context the array is the buffer's own
memory; else it is memory of its own, copied when the buffer is mapped and unmapped."""

from __future__ import annotations

import ctypes
import warnings
from typing import Any

from warp._src.arrays.array import array
from warp._src.arrays.array_factories import empty
from warp._src.devices.device import get_device

__all__ = ["RegisteredGLBuffer"]

_ARRAY_BUFFER = 0x8892


class _Driver:
    """The functions of the CUDA driver that share buffers with OpenGL. RuntimeError where there are none."""

    def __init__(self, context: int) -> None:
        try:
            self.library: Any = ctypes.CDLL("libcuda.so.1")
            self.library.cuGraphicsGLRegisterBuffer  # noqa: B018
        except (OSError, AttributeError):
            raise RuntimeError("this CUDA driver does not share buffers with OpenGL") from None
        self.context = ctypes.c_void_p(context)

    def call(self, name: str, *args: Any) -> None:
        """Calls a function of the driver in the device's context; RuntimeError if it fails."""
        before = ctypes.c_void_p()
        self.library.cuCtxPushCurrent_v2(self.context)
        status = getattr(self.library, name)(*args)
        self.library.cuCtxPopCurrent_v2(ctypes.byref(before))
        if status != 0:
            raise RuntimeError(f"{name} failed with CUDA error {status}; is an OpenGL context of this GPU current?")


def _opengl() -> Any:
    for name in ("libGL.so.1", "libOpenGL.so.0"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise RuntimeError("there is no OpenGL library on this machine: a buffer of OpenGL can't be copied")


class RegisteredGLBuffer:
    """A buffer of OpenGL that kernels read and write between `map` and `unmap`. The OpenGL context must be current in every
    call. Where the device can't share the buffer the contents are copied, or, with `fallback_to_copy=False`, RuntimeError is
    raised."""

    NONE = 0
    READ_ONLY = 1
    WRITE_DISCARD = 2

    def __init__(self, gl_buffer_id: int, device: Any = None, flags: int = NONE, fallback_to_copy: bool = True) -> None:
        if flags not in (self.NONE, self.READ_ONLY, self.WRITE_DISCARD):
            raise ValueError(f"flags are NONE, READ_ONLY or WRITE_DISCARD of RegisteredGLBuffer, not {flags!r}")
        self.gl_buffer_id, self.device, self.flags = int(gl_buffer_id), get_device(device), flags
        self.fallback_to_copy = bool(fallback_to_copy)
        self._array: array | None = None
        self._resource: ctypes.c_void_p | None = None
        try:
            if not self.device.is_cuda:
                raise RuntimeError(f"buffers of OpenGL lie on a GPU, not on device '{self.device.alias}'")
            self._driver = _Driver(self.device.context)
            resource = ctypes.c_void_p()
            self._driver.call("cuGraphicsGLRegisterBuffer", ctypes.byref(resource), ctypes.c_uint(self.gl_buffer_id), ctypes.c_uint(flags))
            self._resource = resource
        except RuntimeError as error:
            if not self.fallback_to_copy:
                raise RuntimeError(f"the buffer {self.gl_buffer_id} of OpenGL can't be shared: {error}") from None
            warnings.warn(f"the buffer {self.gl_buffer_id} of OpenGL is copied to an array and back: {error}", stacklevel=2)

    def __del__(self) -> None:
        resource, self._resource = getattr(self, "_resource", None), None
        if resource is not None:
            try:
                self._driver.call("cuGraphicsUnregisterResource", resource)
            except RuntimeError:
                pass  # the context of OpenGL went first, and the buffer with it

    def map(self, dtype: Any, shape: int | tuple[int, ...]) -> array:
        """An array over the buffer, or over a copy of it; OpenGL must not use the buffer until `unmap`."""
        if self._resource is None:
            if self._array is None or self._array.shape != _as_shape(shape) or self._array.dtype is not dtype:
                self._array = empty(shape, dtype=dtype, device=self.device)
            if self.flags != self.WRITE_DISCARD:
                self._read(self._array)
            return self._array
        stream = ctypes.c_void_p(self.device.stream.cuda_stream)
        self._driver.call("cuGraphicsMapResources", ctypes.c_uint(1), ctypes.byref(self._resource), stream)
        ptr, size = ctypes.c_uint64(), ctypes.c_size_t()
        self._driver.call("cuGraphicsResourceGetMappedPointer_v2", ctypes.byref(ptr), ctypes.byref(size), self._resource)
        self._array = array(ptr=ptr.value, dtype=dtype, shape=shape, device=self.device, copy=False)
        if self._array.size * self._array.strides[-1] > size.value:
            self.unmap()
            raise ValueError(f"the buffer {self.gl_buffer_id} of OpenGL has {size.value} bytes, fewer than the array wants")
        return self._array

    def unmap(self) -> None:
        """Gives the buffer back to OpenGL; arrays over it must not be used any more."""
        if self._resource is None:
            if self._array is None:
                raise RuntimeError(f"the buffer {self.gl_buffer_id} of OpenGL is not mapped")
            if self.flags != self.READ_ONLY:
                self._write(self._array)
            return
        stream = ctypes.c_void_p(self.device.stream.cuda_stream)
        self._array = None
        self._driver.call("cuGraphicsUnmapResources", ctypes.c_uint(1), ctypes.byref(self._resource), stream)

    def _read(self, to: array) -> None:
        gl, numbers = _opengl(), to.numpy()
        gl.glBindBuffer(_ARRAY_BUFFER, self.gl_buffer_id)
        gl.glGetBufferSubData(_ARRAY_BUFFER, ctypes.c_ssize_t(0), ctypes.c_ssize_t(numbers.nbytes), ctypes.c_void_p(numbers.ctypes.data))
        gl.glBindBuffer(_ARRAY_BUFFER, 0)
        to.assign(numbers)

    def _write(self, source: array) -> None:
        gl, numbers = _opengl(), source.numpy()
        gl.glBindBuffer(_ARRAY_BUFFER, self.gl_buffer_id)
        gl.glBufferSubData(_ARRAY_BUFFER, ctypes.c_ssize_t(0), ctypes.c_ssize_t(numbers.nbytes), ctypes.c_void_p(numbers.ctypes.data))
        gl.glBindBuffer(_ARRAY_BUFFER, 0)


def _as_shape(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    return tuple(shape) if hasattr(shape, "__len__") else (int(shape),)  # type: ignore[arg-type]
