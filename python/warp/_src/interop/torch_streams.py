"""Devices and streams of PyTorch. Nothing here imports PyTorch before a program asks for it."""

from __future__ import annotations

import contextlib
from typing import Any

from warp._src.devices.device import CPU, Device, get_device, not_cuda
from warp._src.devices.streams import ScopedStream, Stream

__all__ = ["device_from_torch", "device_to_torch", "stream_from_torch", "stream_to_torch"]


def device_from_torch(torch_device: Any) -> Device:
    """The device that PyTorch means by a torch.device or its name."""
    import torch

    chosen = torch.device(torch_device)
    if chosen.type == "cpu":
        return CPU
    if chosen.type != "cuda":
        raise RuntimeError(f"there is no device for PyTorch's {chosen}; kernels run on 'cpu' and 'cuda'")
    return get_device(f"cuda:{torch.cuda.current_device() if chosen.index is None else chosen.index}")


def device_to_torch(warp_device: Any) -> str:
    """The name by which PyTorch knows a device."""
    chosen = get_device(warp_device)
    if chosen.is_cpu:
        return "cpu"
    if not chosen.is_primary:
        raise RuntimeError(f"PyTorch works in the primary context of a GPU; {chosen} is another one")
    return f"cuda:{chosen.ordinal}"


def stream_from_torch(stream_or_device: Any = None) -> Stream:
    """A stream of PyTorch as a wp.Stream over the same queue: the given torch.cuda.Stream, or the current one of a
    device. `wp.launch(…, stream=…)` and `wp.ScopedStream` then queue work in line with PyTorch's."""
    import torch

    if isinstance(stream_or_device, torch.cuda.Stream):
        stream = stream_or_device
    else:
        device = get_device("cuda") if stream_or_device is None else stream_or_device
        if isinstance(device, (torch.device, int)):
            device = device_from_torch(device if isinstance(device, torch.device) else f"cuda:{device}")
        chosen = get_device(device)
        if not chosen.is_cuda:
            raise not_cuda(chosen)
        stream = torch.cuda.current_stream(device_to_torch(chosen))
    made = Stream(device_from_torch(stream.device), cuda_stream=stream.cuda_stream)
    made._torch_stream = stream  # type: ignore[attr-defined]  # its handle lives as long
    return made


_NO_SCOPE = contextlib.nullcontext()


def scope_of_torch(device: Device, ordered: bool = False) -> Any:
    """A scope in which torch's stream is current, where that is another one than CUDA's default, with which ours are in order.
    With `ordered`, work of the stream that was current comes before, and later work of it behind."""
    if not device.is_cuda:
        return _NO_SCOPE
    import torch

    handle = torch.cuda.current_stream(device.ordinal).cuda_stream
    if not handle:
        return _NO_SCOPE
    stream = Stream(device, cuda_stream=handle)
    ordered = ordered and not stream.is_capturing  # a graph waits for nothing outside of it
    return ScopedStream(stream, ordered, ordered)


def stream_to_torch(stream_or_device: Any = None) -> Any:
    """A wp.Stream, or the current one of a device, as a torch.cuda.Stream over the same queue."""
    import torch

    stream = stream_or_device if isinstance(stream_or_device, Stream) else get_device(stream_or_device).stream
    made = torch.cuda.ExternalStream(stream.cuda_stream, device=device_to_torch(stream.device))
    made.warp_stream = stream  # its handle lives as long
    return made
