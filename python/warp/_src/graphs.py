"""CUDA graphs: work captured from a stream and run again as one piece."""

from __future__ import annotations

from typing import Any

from warp import _weft
from warp._src.device import Device, device_at, get_device, not_cuda
from warp._src.streams import Stream


class Graph:
    """What `wp.capture_end` gives. It keeps the memory and the kernels that it works with."""

    def __init__(self, device: Device, native: Any):
        self.device = device
        self._native = native

    def __repr__(self) -> str:
        return f"<warp graph on {self.device}>"


def _stream_for(device: Any, stream: Stream | None) -> Stream:
    if stream is not None:
        if not isinstance(stream, Stream):
            raise TypeError(f"this takes a wp.Stream, got {stream!r}")
        return stream
    chosen = get_device(device)
    if not chosen.is_cuda:
        raise not_cuda(chosen)
    return chosen.stream


_capturing: dict[int, tuple[Stream, Stream]] = {}  # by device: the stream that is captured, the one that was current


def capture_begin(
    device: Any = None,
    stream: Stream | None = None,
    force_module_load: bool | None = None,
    external: bool = False,
    **kwargs: Any,
) -> None:
    """Starts capturing: work queued on the stream becomes part of a graph instead of running. Kernels that are not
    compiled yet are compiled on the way. `external` joins a capture that another library began on the stream."""
    kwargs.pop("apic", None)
    kwargs.pop("capture_mode", None)
    if kwargs:
        raise TypeError(f"unexpected keyword argument {next(iter(kwargs))!r}")
    chosen = _stream_for(device, stream)
    _weft.cuda_capture_begin(chosen._queue, bool(external))
    where = chosen.device
    _capturing[where.ordinal] = (chosen, where.stream)
    if where.stream is not chosen:
        where.set_stream(chosen, sync=False)


def capture_end(device: Any = None, stream: Stream | None = None) -> Graph | None:
    """Ends a capture and gives the graph. RuntimeError if there was none, or if something was done that a graph can't
    hold."""
    where = stream.device if stream is not None else get_device(device)
    if not where.is_cuda:
        raise not_cuda(where)
    captured = _capturing.pop(where.ordinal, None)
    try:
        native = _weft.cuda_capture_end(where.ordinal)
    finally:
        if captured is not None and captured[0] is not captured[1]:
            where.set_stream(captured[1], sync=False)
    return None if native is None else Graph(where, native)


def capture_launch(graph: Graph, stream: Stream | None = None) -> None:
    """Queues a run of the graph on a stream, or on the current one of its device."""
    if not isinstance(graph, Graph):
        raise TypeError(f"wp.capture_launch takes a wp.Graph, got {graph!r}")
    chosen = stream if stream is not None else device_at(graph._native.ordinal).stream
    graph._native.launch(chosen._queue)


def _run(branch: Any, kwargs: dict[str, Any]) -> None:
    if isinstance(branch, Graph):
        if kwargs:
            raise TypeError("a graph takes no arguments")
        capture_launch(branch)
    elif callable(branch):
        branch(**kwargs)
    elif branch is not None:
        raise TypeError(f"a branch is a function or a wp.Graph, got {branch!r}")


def _condition(condition: Any, stream: Stream | None) -> bool:
    """Reads a condition: an array of one int32."""
    if not isinstance(condition, _weft.Array) or condition.size != 1 or condition._element.scalar != "int32":
        raise TypeError("a condition is an array of one int32")
    where = device_at(condition._place)
    if where.is_capturing:
        raise RuntimeError(
            f"a graph that is captured on {where} can't hold conditions yet; take them outside of the capture"
        )
    if stream is not None and where.is_cuda:
        where.stream.wait_stream(stream)
    return condition.numpy().reshape(-1)[0] != 0


def capture_if(
    condition: Any, on_true: Any = None, on_false: Any = None, stream: Stream | None = None, **kwargs: Any
) -> None:
    """Runs one of two branches, functions (with the further arguments) or graphs, by the value of an array of one int32;
    waits for that value. RuntimeError while a graph is captured on the array's device."""
    _run(on_true if _condition(condition, stream) else on_false, kwargs)


def capture_while(condition: Any, while_body: Any, stream: Stream | None = None, **kwargs: Any) -> None:
    """Runs a function or a graph while an array of one int32 is not zero; waits for its value before each run."""
    while _condition(condition, stream):
        _run(while_body, kwargs)


class ScopedCapture:
    """`with wp.ScopedCapture() as capture:` captures a block; the graph is `capture.graph`."""

    def __init__(
        self,
        device: Any = None,
        stream: Stream | None = None,
        force_module_load: bool | None = None,
        external: bool = False,
        **kwargs: Any,
    ):
        self.device = stream.device if stream is not None else get_device(device)
        self.stream = stream
        self.force_module_load = force_module_load
        self.external = external
        self.options = kwargs
        self.active = False
        self.graph: Graph | None = None

    def __enter__(self) -> ScopedCapture:
        capture_begin(self.device, self.stream, self.force_module_load, self.external, **self.options)
        self.active = True
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if not self.active:
            return
        self.active = False
        try:
            self.graph = capture_end(self.device, self.stream)
        except RuntimeError:
            if exc_type is None:  # what broke the capture says more than that it is broken
                raise


__all__ = ["Graph", "ScopedCapture", "capture_begin", "capture_end", "capture_if", "capture_launch", "capture_while"]
