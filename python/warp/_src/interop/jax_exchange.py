"""Arrays, devices and element types of JAX. Nothing here imports JAX before a program asks for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from warp import _weft
from warp._src.arrays.array import array
from warp._src.devices.device import CPU, Device, get_device
from warp._src.interop.dlpack import from_dlpack
from warp._src.interop.jax_parameters import inner_dims, numpy_type
from warp._src.interop.jax_support import import_jax
from warp._src.values.types import class_of, type_handle

__all__ = ["device_from_jax", "device_to_jax", "dtype_from_jax", "dtype_to_jax", "from_jax", "get_jax_device", "to_jax"]

_NAMES = (
    "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64".split()
)  # as both sides spell them
_CUDA_PLATFORMS = ("gpu", "cuda")


_SAME_IN_JAX = frozenset("int8 uint8 int16 uint16 int32 uint32 float16 float32".split())


class _Host:
    """What conversions on the CPU have found out of the installed JAX."""

    array_class: type | None = None  # of arrays
    _short: Any = False  # False: nobody has looked

    def short_way(self) -> Any:
        """The inner part of jax.dlpack.from_dlpack for the CPU, which costs a fifth of it, as a function of a capsule; None
        where this JAX has another one."""
        if self._short is False:
            self._short = self._find()
        return self._short

    @staticmethod
    def _find() -> Any:
        jax = import_jax()
        sample = np.zeros(64, np.float32)
        sample = sample[(-sample.ctypes.data % 64) // 4 :][:16]
        try:
            from jaxlib import _jax

            inner, device = _jax.dlpack_managed_tensor_to_buffer, jax.local_devices(backend="cpu")[0]
            for rest in ((None, None, 1), (None, None), (None,)):
                try:
                    made = inner(sample.__dlpack__(), device, *rest)
                except TypeError:
                    continue
                if isinstance(made, jax.Array) and made.unsafe_buffer_pointer() == sample.ctypes.data:
                    return lambda capsule: inner(capsule, device, *rest)
        except Exception:  # noqa: BLE001 - it is not public, and may do anything; the public way serves
            return None
        return None


_host = _Host()


def get_jax_device() -> Any:
    """The device that JAX computes on unless told otherwise: `jax_default_device`, or the first one of this process."""
    jax = import_jax()
    chosen = jax.config.jax_default_device
    if isinstance(chosen, str):
        return jax.local_devices(backend=chosen)[0]
    return chosen if chosen is not None else jax.local_devices()[0]


def device_from_jax(jax_device: Any) -> Device:
    """The device that a jax.Device means: "cpu" for each of its host devices, a CUDA device by its number here."""
    jax = import_jax()
    platform = getattr(jax_device, "platform", None)
    owner = getattr(jax_device, "process_index", None)
    if owner is not None and owner != jax.process_index():
        raise RuntimeError(f"JAX's {jax_device!r} belongs to process {owner}; only devices of this one are known here")
    if platform == "cpu":
        return CPU
    if platform in _CUDA_PLATFORMS:
        number = getattr(jax_device, "local_hardware_id", None)
        return get_device(f"cuda:{jax_device.id if number is None else number}")
    raise RuntimeError(f"there is no device for JAX's {jax_device!r}; kernels run on its CPU and CUDA devices")


def device_to_jax(warp_device: Any) -> Any:
    """The jax.Device of this process for a device."""
    jax = import_jax()
    chosen = get_device(warp_device)
    if chosen.is_cpu:
        return jax.local_devices(backend="cpu")[0]
    try:
        known = jax.local_devices(backend="cuda")
    except RuntimeError:  # there is no such platform
        known = []
    for one in known:
        number = getattr(one, "local_hardware_id", None)
        if (one.id if number is None else number) == chosen.ordinal:
            return one
    raise RuntimeError(f"JAX has no device for {chosen}; install its CUDA plugin (`pip install jax[cuda12]`)")


def dtype_from_jax(jax_dtype: Any) -> Any:
    """The scalar type of this package for a dtype of JAX (or NumPy)."""
    try:
        name = np.dtype(jax_dtype).name
    except TypeError:
        name = str(jax_dtype)
    if name not in _NAMES:
        raise TypeError(f"arrays can't hold elements of JAX's type {jax_dtype}")
    return class_of(_weft.type_scalar(name))


def dtype_to_jax(warp_dtype: Any) -> Any:
    """JAX's scalar type for a scalar type of this package; of vectors and matrices, that of their components."""
    import_jax()
    import jax.numpy as jnp

    try:
        handle = type_handle(warp_dtype)
    except TypeError:
        handle = None
    if handle is None or handle.kind in ("struct", "array", "indexedarray", "tuple", "function", "string"):
        raise TypeError(f"JAX has no type for elements of type {warp_dtype}")
    return getattr(jnp, "bool_" if handle.scalar == "bool" else handle.scalar)


def _from_jax_carefully(jax_array: Any, dtype: Any = None) -> array:
    """What `from_jax` (src/bind/jax_exchange.cpp) does not do itself: element types, devices, refusals."""
    element = None if dtype is None else type_handle(dtype)
    if type(jax_array) is _host.array_class:  # the usual case; arrays of devices, or of several, show no buffer
        made = _weft.xla_array_over(jax_array.block_until_ready(), element)
        if made is not None:
            return made
    jax = import_jax()
    if isinstance(jax_array, jax.core.Tracer):
        raise TypeError("from_jax takes arrays with values, not what JAX traces; inside jit use wp.jax_kernel")
    if not isinstance(jax_array, jax.Array):
        raise TypeError(f"from_jax takes a jax.Array, not {type(jax_array).__name__}")
    devices = jax_array.devices()
    if len(devices) > 1:
        raise RuntimeError(
            f"the array lies on {len(devices)} devices; take the pieces one by one: "
            "[wp.from_jax(s.data) for s in x.addressable_shards]"
        )
    (device,) = devices
    if device.platform == "cpu":
        _host.array_class = type(jax_array)
        _weft.set_jax_array_class(_host.array_class)
        made = _weft.xla_array_over(jax_array.block_until_ready(), element)
        return made if made is not None else _over_address(jax_array, dtype, element)
    return from_dlpack(jax_array, dtype)


from_jax = _weft.from_jax  # C++'s
_weft.set_from_jax(_from_jax_carefully)


def _over_address(jax_array: Any, dtype: Any, element: _weft.Type | None) -> array:
    """The same for what the buffer protocol has no words for: bfloat16, and arrays without dimensions."""
    if element is None:
        element = type_handle(dtype_from_jax(jax_array.dtype))
    inner = inner_dims(element)
    outer = jax_array.shape[: jax_array.ndim - len(inner)]
    fits = jax_array.shape[len(outer) :] == inner and len(outer) <= 4
    if not fits or numpy_type(element) != jax_array.dtype:
        raise RuntimeError(_misfit(jax_array, dtype))
    made = array.__new__(array)
    made._wrap(element, list(outer or (1,)), None, jax_array.unsafe_buffer_pointer(), jax_array, None)
    return made


def _misfit(jax_array: Any, dtype: Any) -> str:
    wanted = "any element type" if dtype is None else getattr(dtype, "__name__", repr(dtype))
    return f"a JAX array of shape {jax_array.shape} and type {jax_array.dtype} can't be seen as an array of {wanted}"


def to_jax(warp_array: array) -> Any:
    """A JAX array over the memory of an array; components of vectors and matrices are the last dimensions.

    JAX copies what does not lie to 64 bytes (a view into an array may not), and makes 32-bit numbers of 64-bit ones
    unless `jax_enable_x64` is set.
    """
    jax = import_jax()
    if not isinstance(warp_array, array):
        raise TypeError(f"to_jax takes an array of this package, not {type(warp_array).__name__}")
    if warp_array._read_only:
        warp_array = _unguarded(warp_array)
    if warp_array._place < 0 and warp_array._element.scalar in _SAME_IN_JAX:
        short = _host.short_way()
        if short is not None:
            return short(warp_array.__dlpack__())
    return jax.dlpack.from_dlpack(warp_array)


def _unguarded(warp_array: array) -> array:
    """The same memory, which its owner calls read-only, without that mark: JAX never writes to it, and can't be told."""
    made = array.__new__(array)
    layout = (warp_array._element, list(warp_array.shape), list(warp_array.strides))
    made._wrap(*layout, warp_array.ptr or 0, warp_array, None, 0, warp_array._place)
    return made

