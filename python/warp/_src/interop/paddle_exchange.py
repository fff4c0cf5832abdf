"""`warp.paddle`: tensors of Paddle as arrays and arrays as tensors, without copies. Memory is read by the one reader of foreign
memory (src/bind/exchange.cpp); here are names, types, devices, streams and gradients. Nothing imports Paddle before a program
asks for one of these."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from warp import _weft
from warp._src.arrays.array_arguments import element_handle, plain_handles
from warp._src.devices.device import CPU, Device, get_device, not_cuda
from warp._src.devices.streams import Stream, put_in_order
from warp._src.values import types as wt

__all__ = [
    "device_from_paddle",
    "device_to_paddle",
    "dtype_from_paddle",
    "dtype_is_compatible",
    "dtype_to_paddle",
    "from_paddle",
    "stream_from_paddle",
    "to_paddle",
]


def paddle_module() -> Any:
    """Paddle; ModuleNotFoundError with what to do if it is not installed."""
    try:
        return importlib.import_module("paddle")
    except ModuleNotFoundError as error:
        if error.name != "paddle":
            raise
        raise ModuleNotFoundError("Paddle is not installed; pip install paddlepaddle", name="paddle") from None


def _start() -> None:
    """Tells C++ of Paddle, once."""
    paddle = paddle_module()
    told = {
        "handles": plain_handles,
        "element_handle": element_handle,
        "gradient_of": _gradient_of,
        "grad_enabled": paddle.is_grad_enabled,
        "note_private": None,
        "tensor_class": paddle.Tensor,
    }
    _weft.set_paddle(told)


from_paddle = _weft.from_paddle  # C++'s
_weft.set_paddle_start(_start)


def _gradient_of(tensor: Any) -> Any:
    """The gradient that an array over a tensor shares: that of a leaf, made by Paddle if there is none yet. None for tensors
    that don't keep theirs, and while grad mode is off."""
    paddle = paddle_module()
    if not tensor.is_leaf or not paddle.is_grad_enabled():
        return None
    if tensor.grad is None:
        tensor.grad_ = paddle.zeros_like(tensor)  # shares memory, where `grad` copies
    return tensor.grad


def to_paddle(a: Any, requires_grad: bool | None = None) -> Any:
    """A Paddle tensor over an array's memory, which it keeps alive. Components of vectors and matrices are further dimensions.
    `requires_grad=None` takes the array's; then the tensor's gradient lies over the array's."""
    if not isinstance(a, _weft.Array):
        raise TypeError(f"to_paddle takes a wp.array, not {type(a).__name__}")
    if not a._valid:
        raise RuntimeError("the array has no memory: it is an annotation")
    if a._element.kind == "struct":
        raise RuntimeError(f"Paddle has no structs; an array of {a.dtype.__name__} can't become a tensor")
    tensor = _tensor_over(a)
    wanted = a.requires_grad if requires_grad is None else requires_grad
    tensor.stop_gradient = not wanted
    if wanted and a.grad is not None:
        tensor.grad_ = _tensor_over(a.grad)
    return tensor


_SIGNED = {"uint16": "int16", "uint32": "int32", "uint64": "int64"}
"""Scalars that Paddle has not, seen as their signed twins."""


class _Host:
    """What conversions on the CPU have found out of the installed Paddle."""

    _short: Any = False  # False: nobody has looked

    def short_way(self) -> Any:
        """What paddle.utils.dlpack.from_dlpack does in the end, at half of its cost, as a function of a capsule; None where this
        Paddle has another one."""
        if self._short is False:
            self._short = self._find()
        return self._short

    @staticmethod
    def _find() -> Any:
        paddle = paddle_module()
        sample = np.zeros(16, np.float32)
        try:
            inner, make, place = paddle.base.core.from_dlpack, paddle.Tensor, paddle.CPUPlace()
            made = make(inner(sample.__dlpack__()), place)
            if made.data_ptr() == sample.ctypes.data and made.shape == [16] and made.place.is_cpu_place():
                return lambda capsule: make(inner(capsule), place)
        except Exception:  # noqa: BLE001 - it is not public, and may do anything; the public way serves
            return None
        return None


_host = _Host()


def _tensor_over(a: Any) -> Any:
    twin = _SIGNED.get(a._element.scalar)
    if twin is not None:
        a = _signed(a, getattr(wt, twin))
    if a._place == -1:
        short = _host.short_way()
        if short is not None:
            return short(_weft.to_dlpack(a))
    paddle_module()
    dlpack = importlib.import_module("paddle.utils.dlpack")
    if a.device.is_cuda:  # Paddle orders nothing by itself: a capsule comes without a stream
        put_in_order(a.device.stream, stream_from_paddle(a.device))
    return dlpack.from_dlpack(_weft.to_dlpack(a))


def _signed(a: Any, scalar: Any) -> Any:
    """The same memory as elements of a scalar's signed twin."""
    element = a._element
    if element.kind == "mat":
        return a.view(wt.matrix((element.rows, element.cols), scalar))
    return a.view(scalar if element.kind == "scalar" else wt.vector(element.components, scalar))


# Types.

_SCALARS = ("bool", "int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
_ALIASES = {"bool": {"bool", "int8", "uint8"}, "int8": {"int8", "uint8"}, "uint8": {"int8", "uint8"}}
_ALIASES.update({f"int{n}": {f"int{n}", f"uint{n}"} for n in (16, 32, 64)})


def dtype_from_paddle(paddle_dtype: Any) -> Any:
    """The scalar type for a paddle.dtype; TypeError if there is none."""
    paddle = paddle_module()
    if isinstance(paddle_dtype, paddle.dtype):
        name = str(paddle_dtype).removeprefix("paddle.")
        if name in _SCALARS:
            return getattr(wt, name)
    raise TypeError(f"there is no scalar type for {paddle_dtype!r}")


def _scalar_name(dtype: Any) -> str:
    handle = wt.type_handle_or_none(dtype)
    if handle is None or handle.kind not in ("scalar", "vec", "mat", "quat", "transform"):
        raise TypeError(f"Paddle has no type for {getattr(dtype, '__name__', dtype)!r}")
    return handle.scalar


def dtype_to_paddle(warp_dtype: Any) -> Any:
    """The paddle.dtype of a scalar type, or of the components of a vector or matrix; that of the signed twin for unsigned 16,
    32 and 64 bits. TypeError if there is none."""
    name = _scalar_name(warp_dtype)
    return getattr(paddle_module(), _SIGNED.get(name, name))


def dtype_is_compatible(paddle_dtype: Any, warp_dtype: Any) -> bool:
    """Whether from_paddle sees elements of a paddle.dtype as a type."""
    name = dtype_from_paddle(paddle_dtype).__name__
    return _scalar_name(warp_dtype) in _ALIASES.get(name, {name})


# Devices and streams.


def device_from_paddle(paddle_device: Any) -> Device:
    """The device that Paddle means by a place (Place, CPUPlace, CUDAPlace, CUDAPinnedPlace) or by a name ("cpu", "gpu",
    "gpu:1"). RuntimeError for others."""
    if isinstance(paddle_device, str):
        name, _, number = paddle_device.partition(":")
        if name == "cpu":
            return CPU
        if name == "gpu" and (not number or number.isdecimal()):
            return get_device(f"cuda:{number or 0}")
    else:
        if _says(paddle_device, "is_cpu_place") or _says(paddle_device, "is_cuda_pinned_place"):
            return CPU
        if _says(paddle_device, "is_gpu_place"):
            return get_device(f"cuda:{paddle_device.gpu_device_id()}")
        kind = type(paddle_device).__name__  # older ones answer no questions
        if kind in ("CPUPlace", "CUDAPinnedPlace"):
            return CPU
        if kind == "CUDAPlace":
            return get_device(f"cuda:{paddle_device.get_device_id()}")
        if not hasattr(paddle_device, "is_cpu_place"):
            raise TypeError(f"a device of Paddle is a place or a name, not {paddle_device!r}")
    raise RuntimeError(f"there is no device for Paddle's {paddle_device}; kernels run on 'cpu' and 'gpu'")


def _says(place: Any, question: str) -> bool:
    asked = getattr(place, question, None)
    return bool(asked()) if callable(asked) else False


def device_to_paddle(warp_device: Any) -> str:
    """The name by which Paddle knows a device: "cpu", "gpu:0"."""
    chosen = get_device(warp_device)
    if chosen.is_cpu:
        return "cpu"
    if not chosen.is_primary:
        raise RuntimeError(f"Paddle works in the primary context of a GPU; {chosen} is another one")
    return f"gpu:{chosen.ordinal}"


def stream_from_paddle(stream_or_device: Any = None) -> Stream:
    """A stream of Paddle as a wp.Stream over the same queue: the given one, or the current one of a device. `wp.launch(…,
    stream=…)` and `wp.ScopedStream` then queue work in line with Paddle's."""
    paddle = paddle_module()
    given = stream_or_device
    if hasattr(given, "cuda_stream") or hasattr(given, "stream_base"):
        stream = given
        device = device_from_paddle(given.place) if hasattr(given, "place") else _device_of_stream(given)
    else:
        if given is None:
            device = get_device("cuda")
        elif isinstance(given, int):
            device = get_device(f"cuda:{given}")
        else:
            device = device_from_paddle(given) if _is_paddles(given) else get_device(given)
        if not device.is_cuda:
            raise not_cuda(device)
        stream = paddle.device.current_stream(device_to_paddle(device))
    base = getattr(stream, "stream_base", stream)
    made = Stream(device, cuda_stream=base.cuda_stream)
    made._paddle_stream = stream  # type: ignore[attr-defined]  # its handle lives as long
    return made


def _is_paddles(given: Any) -> bool:
    return hasattr(given, "is_cpu_place") or (isinstance(given, str) and given.partition(":")[0] == "gpu")


def _device_of_stream(stream: Any) -> Device:
    named = getattr(stream, "device", None)
    return get_device("cuda") if named is None else device_from_paddle(named)
