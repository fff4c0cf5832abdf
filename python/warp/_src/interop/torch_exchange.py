"""`warp.torch`: tensors of PyTorch as arrays and arrays as tensors, without copies. What is done for every call is C++'s
(src/bind/torch_exchange.cpp); here are names, types, and gradients that have to be made. Nothing imports PyTorch before a
program asks for one of these."""

from __future__ import annotations

import importlib
import threading
from typing import Any

from warp import _weft
from warp._src.arrays.array_arguments import element_handle, plain_handles
from warp._src.session import logger
from warp._src.values import types as wt

__all__ = ["dtype_from_torch", "dtype_is_compatible", "dtype_to_torch", "from_torch", "to_torch"]

_ready = False
_starting = threading.Lock()


def torch_module() -> Any:
    """PyTorch; ModuleNotFoundError with what to do if it is not installed."""
    try:
        return importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError("PyTorch is not installed; pip install torch", name="torch") from None


def _start() -> Any:
    """Tells C++ of PyTorch, once."""
    global _ready
    torch = torch_module()
    importlib.import_module("torch.utils.dlpack")
    with _starting:
        if not _ready:
            told = {
                "handles": plain_handles,
                "element_handle": element_handle,
                "gradient_of": _gradient_of,
                "grad_enabled": torch.is_grad_enabled,
                "note_private": _note_private,
                "tensor_class": torch.Tensor,
            }
            _weft.set_torch(told, torch.utils.dlpack.from_dlpack)
            _ready = True
    return torch


def _note_private() -> None:
    logger.note_once(
        "from_torch: while torch's grad mode is off, as inside of autograd functions, the gradient of an array is its own and not "
        "the tensor's; pass grad=tensor.grad to share one, or requires_grad=False for none"
    )


def _gradient_of(tensor: Any) -> Any:
    """The gradient that an array over a tensor shares while torch's grad mode is on: that of a leaf, made by torch if there is
    none yet, so that its allocator owns it. None for tensors that don't keep theirs."""
    if not tensor.is_leaf and not tensor.retains_grad:
        return None
    grad = tensor.grad
    if grad is None:
        torch = torch_module()
        with torch.no_grad():
            grad = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
            if 0 in tensor.stride() and tensor.numel():
                grad = torch.zeros_like(tensor)  # elements that share memory can't have a gradient each there
            grad.zero_()
        tensor.grad = grad
    return grad


from_torch = _weft.from_torch  # C++'s
_weft.set_torch_start(_start)


def to_torch(a: Any, requires_grad: bool | None = None) -> Any:
    """A PyTorch tensor over an array's memory, which it keeps alive. Components of vectors and matrices are further dimensions.
    `requires_grad=None` takes the array's; then the tensor's `.grad` lies over the array's gradient."""
    if not _ready:
        _start()
    return _weft.to_torch(a, requires_grad)


_NAMES = {
    "bool": "bool", "int8": "int8", "uint8": "uint8", "int16": "int16", "uint16": "int16", "int32": "int32",
    "uint32": "int32", "int64": "int64", "uint64": "int64", "float16": "float16", "bfloat16": "bfloat16",
    "float32": "float32", "float64": "float64",
}  # fmt: skip
"""Scalars and what PyTorch calls them; unsigned ones are seen as signed, which every version has."""

_FROM = {name: name for name in _NAMES}
_FROM.update({"half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32"})
_FROM.update({"long": "int64"})
_ALIASES = {"int8": {"bool", "int8", "uint8"}, "uint8": {"bool", "int8", "uint8"}}
_ALIASES.update({f"{s}int{n}": {f"int{n}", f"uint{n}"} for n in (16, 32, 64) for s in ("", "u")})


def _scalar_name(dtype: Any) -> str:
    handle = wt.type_handle_or_none(dtype)
    if handle is None or handle.kind not in ("scalar", "vec", "mat", "quat", "transform"):
        raise TypeError(f"PyTorch has no type for {getattr(dtype, '__name__', dtype)!r}")
    return handle.scalar


def dtype_from_torch(torch_dtype: Any) -> Any:
    """The scalar type for a torch.dtype; TypeError if there is none."""
    torch = torch_module()
    if isinstance(torch_dtype, torch.dtype):
        name = _FROM.get(str(torch_dtype).removeprefix("torch."))
        if name is not None:
            return getattr(wt, name)
    raise TypeError(f"there is no scalar type for {torch_dtype!r}")


def dtype_to_torch(warp_dtype: Any) -> Any:
    """The torch.dtype of a scalar type, or of the components of a vector or matrix; that of the signed twin for unsigned 16, 32
    and 64 bits. TypeError if there is none."""
    return getattr(torch_module(), _NAMES[_scalar_name(warp_dtype)])


def dtype_is_compatible(torch_dtype: Any, warp_dtype: Any) -> bool:
    """Whether from_torch sees elements of a torch.dtype as a type."""
    name = dtype_from_torch(torch_dtype).__name__
    wanted = _scalar_name(warp_dtype)
    if name == "bool":
        return wanted in ("bool", "int8", "uint8")
    return wanted == name or (wanted in _ALIASES.get(name, ()) and (wanted != "bool" or name == "bool"))
