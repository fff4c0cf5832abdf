"""Graphs: work captured once and run again as one piece. On a CUDA device the driver captures a stream; on the CPU the
calling thread's launches, copies and fills are recorded as a list of commands (src/runtime/command_list.h)."""

from __future__ import annotations

import enum
import os
import threading
from typing import Any

from warp import _weft
from warp._src.arrays.array import array
from warp._src.arrays.array_factories import copy
from warp._src.devices.device import Device, device_at, get_cuda_driver_version, get_device
from warp._src.devices.streams import Stream
from warp._src.values.types import type_size_in_bytes, uint8


class CaptureMode(enum.IntEnum):
    """How far a capture reaches. Captures here never forbid anything to other threads and streams; the names are for
    programs of other versions."""

    GLOBAL = 0
    THREAD_LOCAL = 1
    RELAXED = 2


class Graph:
    """What `wp.capture_end` gives. It keeps the memory and the kernels that it works with."""

    def __init__(self, device: Device, native: Any, journal: Any = None, writes: Any = None):
        self.device = device
        self._native = native
        self._writes = writes  # what tapes must hear of before it runs
        self._journal = journal  # what wp.capture_save writes down; None: it was not asked for
        self._params: dict[str, tuple[Any, dict[str, Any]]] | None = None  # a loaded graph's arrays by name

    def __repr__(self) -> str:
        return f"<warp graph on {self.device}>"

    @property
    def is_loaded(self) -> bool:
        """Whether it comes from `wp.capture_load` or `wp.capture_load_from_bytes`."""
        return self._params is not None

    @property
    def params(self) -> dict[str, dict[str, Any]]:
        """A loaded graph's arrays by name: "size" in bytes, "dtype" and "shape" as they were saved."""
        return {name: dict(facts) for name, (_, facts) in (self._params or {}).items()}

    def _param(self, call: str, name: str, arr: Any = None) -> tuple[Any, Any]:
        """Bytes of a named array in the graph, and of the array that is given."""
        if self._params is None:
            raise RuntimeError(f"{call}() is for graphs that wp.capture_load made; this one works on the arrays themselves")
        if name not in self._params:
            names = ", ".join(map(repr, self._params)) or "none"
            raise RuntimeError(f"the graph has no parameter {name!r}; there are: {names}")
        memory, facts = self._params[name]
        if call == "get_param_ptr":
            return memory, None
        if not isinstance(arr, array):
            raise TypeError(f"expected a wp.array for parameter {name!r}, got {type(arr).__name__}")
        size = arr.size * type_size_in_bytes(arr.dtype)
        if size != facts["size"]:
            raise RuntimeError(f"parameter {name!r} has {facts['size']} bytes, the array has {size}")
        if not size:
            return None, None
        if not arr.is_contiguous:
            if call == "get_param":
                raise RuntimeError(f"the array that takes parameter {name!r} has gaps; give a contiguous one")
            arr = arr.contiguous()
        bytes_of = array(ptr=arr.ptr, dtype=uint8, shape=size, device=arr.device, copy=False)
        return memory, (bytes_of, arr)

    def set_param(self, name: str, arr: Any) -> None:
        """Copies an array into the one that a loaded graph has under this name; it must have as many bytes."""
        memory, given = self._param("set_param", name, arr)
        if memory is not None:
            copy(memory, given[0])

    def get_param(self, name: str, arr: Any) -> None:
        """Copies the array that a loaded graph has under this name into another one with as many bytes."""
        memory, given = self._param("get_param", name, arr)
        if memory is not None:
            copy(given[0], memory)

    def get_param_ptr(self, name: str) -> int:
        """Where the array lies that a loaded graph has under this name: an address on its device, valid as long as the
        graph."""
        memory, _ = self._param("get_param_ptr", name)
        return 0 if memory is None else memory.ptr


def _checked(stream: Any) -> Stream:
    if not isinstance(stream, Stream):
        raise TypeError(f"this takes a wp.Stream, got {stream!r}")
    return stream


# What captures that may be saved (apic=True) are asked for, by device and, on the CPU, by thread.
_journals: dict[tuple[int, int], Any] = {}


def _journal_key(where: Device) -> tuple[int, int]:
    return (where.ordinal, 0) if where.is_cuda else (-1, threading.get_ident())


def _listen(where: Device) -> None:
    journal = _journals[_journal_key(where)] = _weft.GraphJournal()
    journal.start()


def _end_listening(where: Device) -> Any:
    journal = _journals.pop(_journal_key(where), None)
    if journal is not None:
        journal.stop()
    return journal


_capturing: dict[int, tuple[Stream, Stream]] = {}  # by device: the stream that is captured, the one that was current


def capture_begin(
    device: Any = None,
    stream: Stream | None = None,
    force_module_load: bool | None = None,
    external: bool = False,
    **kwargs: Any,
) -> None:
    """Starts capturing: work queued on the stream, or done on the CPU by this thread, becomes part of a graph instead of
    running. Kernels that are not compiled yet are compiled on the way. `external` joins a capture that another library
    began on the stream. `apic=True` writes down what becomes part of the graph, for `wp.capture_save`."""
    apic = bool(kwargs.pop("apic", False))
    kwargs.pop("capture_mode", None)
    if kwargs:
        raise TypeError(f"unexpected keyword argument {next(iter(kwargs))!r}")
    where = get_device(device) if stream is None else _checked(stream).device
    if where.is_cpu:
        if external:
            raise ValueError("external=True joins another library's capture of a CUDA stream; the CPU has none")
        _weft.host_capture_begin()
        _weft.graph_writes_begin(-1)
        if apic:
            _listen(where)
        return
    chosen = where.stream if stream is None else stream
    _weft.cuda_capture_begin(chosen._queue, bool(external))
    _weft.graph_writes_begin(where.ordinal)
    _capturing[where.ordinal] = (chosen, where.stream)
    if where.stream is not chosen:
        where.set_stream(chosen, sync=False)
    if apic:
        _listen(where)


def capture_end(device: Any = None, stream: Stream | None = None) -> Graph | None:
    """Ends a capture and gives the graph. RuntimeError if there was none, or if something was done that a graph can't
    hold."""
    where = get_device(device) if stream is None else _checked(stream).device
    journal = _end_listening(where)
    writes = _weft.graph_writes_end(where.ordinal if where.is_cuda else -1)
    if where.is_cpu:
        return Graph(where, _weft.host_capture_end(), journal, writes)
    captured = _capturing.pop(where.ordinal, None)
    try:
        native = _weft.cuda_capture_end(where.ordinal)
    finally:
        if captured is not None and captured[0] is not captured[1]:
            where.set_stream(captured[1], sync=False)
    return None if native is None else Graph(where, native, journal, writes)


def capture_launch(graph: Graph, stream: Stream | None = None) -> None:
    """Queues a run of the graph on a stream, or on the current one of its device; on the CPU it is done when this
    returns. Inside of a capture the graph becomes part of the one that is captured."""
    if not isinstance(graph, Graph):
        raise TypeError(f"wp.capture_launch takes a wp.Graph, got {graph!r}")
    if _weft.recording_tape() is not None or _weft.forward_mode():
        raise RuntimeError(
            "the work of a graph is not recorded by a tape, nor followed by forward mode, so gradients would stop there: "
            "launch the kernels themselves, capture the tape's block together with its backward pass, or run the graph "
            "outside of the block"
        )
    if graph.device.is_cpu:
        if _weft.host_capturing():
            _include(graph)
            _weft.host_record_graph(graph._native)
        else:
            _announce(graph)
            graph._native.launch()
        return
    chosen = _checked(stream) if stream is not None else graph.device.stream
    if chosen.device is not graph.device:
        raise RuntimeError(f"the graph was captured on {graph.device}, the stream belongs to {chosen.device}")
    if graph.device.is_capturing and chosen is _capturing.get(graph.device.ordinal, (None,))[0]:
        _include(graph)
        _weft.cuda_capture_graph(graph.device.ordinal, graph._native)
    else:
        _announce(graph)
        graph._native.launch(chosen._queue)


def _announce(graph: Graph) -> None:
    """Tells tapes what the graph is about to write."""
    if graph._writes is not None:
        graph._writes.announce()


def _include(graph: Graph) -> None:
    """The graph becomes part of the one that is captured."""
    _weft.note_other("another graph")
    around = _weft.graph_writes_now(graph.device.ordinal if graph.device.is_cuda else -1)
    if around is not None and graph._writes is not None:
        around.include(graph._writes)


def capture_debug_dot_print(graph: Graph, path: str, verbose: bool = True) -> None:
    """Writes a graph as a file in GraphViz' language; `verbose` shows the parameters of a CUDA graph's nodes."""
    if not isinstance(graph, Graph):
        raise TypeError(f"wp.capture_debug_dot_print takes a wp.Graph, got {graph!r}")
    if not graph.device.is_cpu:
        graph._native.write_dot(os.fspath(path), bool(verbose))
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(graph._native.dot())


def _run(branch: Any, kwargs: dict[str, Any]) -> None:
    if isinstance(branch, Graph):
        if kwargs:
            raise TypeError("a graph takes no arguments")
        capture_launch(branch)
    elif branch is not None:
        branch(**kwargs)


def _condition_device(condition: Any) -> Device:
    """The device of a condition, an array of one int32."""
    if not isinstance(condition, _weft.Array) or condition.size != 1 or condition._element.scalar != "int32":
        raise TypeError("a condition is an array of one int32")
    return device_at(condition._place)


def _holds(condition: Any, where: Device, stream: Stream | None) -> bool:
    """Reads a condition, which waits for it."""
    if stream is not None and where.is_cuda:
        where.stream.wait_stream(stream)
    return _weft.condition_holds(condition)


def _host_branch(branch: Any, kwargs: dict[str, Any]) -> Any:
    """A branch as a graph of its own, while one is captured on the CPU; None for none."""
    if branch is None:
        return None
    if isinstance(branch, Graph):
        if kwargs:
            raise TypeError("a graph takes no arguments")
        if not branch.device.is_cpu:
            raise RuntimeError(f"a graph on {branch.device} can't be a branch of one on the CPU")
        _include(branch)
        return branch._native
    _weft.host_branch_begin()
    try:
        _run(branch, kwargs)
    finally:
        made = _weft.host_branch_end()
    return made


def is_conditional_graph_supported() -> bool:
    """Whether graphs of CUDA devices can hold conditions: from drivers of CUDA 12.4 on."""
    version = get_cuda_driver_version()
    return version is not None and version >= (12, 4)


def _cuda_branch(condition: Any, handle: int, branch: Any, kwargs: dict[str, Any], loop: bool = False) -> None:
    """A branch becomes part of the graph that is captured on the condition's device."""
    _weft.cuda_branch_begin(condition, handle, loop)
    try:
        _run(branch, kwargs)
    finally:
        _weft.cuda_branch_end(condition._place)


def _check_branch(branch: Any) -> None:
    if branch is not None and not isinstance(branch, Graph) and not callable(branch):
        raise TypeError(f"a branch is a function or a wp.Graph, got {branch!r}")


def capture_if(
    condition: Any, on_true: Any = None, on_false: Any = None, stream: Stream | None = None, **kwargs: Any
) -> None:
    """Runs one of two branches, functions (with the further arguments) or graphs, by the value of an array of one int32.
    Inside of a capture both become part of the graph, which decides when it runs; outside this waits for the value."""
    where = _condition_device(condition)
    for branch in (on_true, on_false):
        _check_branch(branch)
    journal = _journals.get(_journal_key(where))
    if where.is_cpu and _weft.host_capturing():
        branches = []
        for branch in (on_true, on_false):
            if journal is not None:
                journal.begin_list()
            branches.append(_host_branch(branch, kwargs))
        if journal is not None:
            journal.end_lists(condition, 2, False)
        _weft.host_record_if(condition, *branches)
        return
    if where.is_cuda and where.is_capturing:
        both = ((on_true, False), (on_false, True))
        # Both are decided first: one branch may change the condition.
        handles = [None if branch is None else _weft.cuda_condition(condition, negated) for branch, negated in both]
        for handle, (branch, _) in zip(handles, both):
            if journal is not None:
                journal.begin_list()
            if handle is not None:
                _cuda_branch(condition, handle, branch, kwargs)
        if journal is not None:
            journal.end_lists(condition, 2, False)
        return
    _run(on_true if _holds(condition, where, stream) else on_false, kwargs)


def capture_while(condition: Any, while_body: Any, stream: Stream | None = None, **kwargs: Any) -> None:
    """Runs a function or a graph while an array of one int32 is not zero. Inside of a capture the loop becomes part of the
    graph; outside this waits for the value before each run."""
    where = _condition_device(condition)
    if while_body is None:
        raise TypeError("the body of a loop is a function or a wp.Graph, got None")
    _check_branch(while_body)
    journal = _journals.get(_journal_key(where))
    captured = _weft.host_capturing() if where.is_cpu else where.is_capturing
    if captured:
        if journal is not None:
            journal.begin_list()
        if where.is_cpu:
            _weft.host_record_while(condition, _host_branch(while_body, kwargs))
        else:
            _cuda_branch(condition, _weft.cuda_condition(condition, False), while_body, kwargs, loop=True)
        if journal is not None:
            journal.end_lists(condition, 1, True)
        return
    while _holds(condition, where, stream):
        _run(while_body, kwargs)


class ScopedCapture:
    """`with wp.ScopedCapture() as capture:` captures a block; the graph is `capture.graph`."""

    graph: Graph | None = None
    """What was captured, once the block is left."""

    def __init__(
        self,
        device: Any = None,
        stream: Stream | None = None,
        force_module_load: bool | None = None,
        external: bool = False,
        **kwargs: Any,
    ):
        self.device = _checked(stream).device if stream is not None else get_device(device)
        self.stream = stream
        self.force_module_load = force_module_load
        self.external = external
        self.options = kwargs
        self.active = False

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


__all__ = [
    "CaptureMode",
    "Graph",
    "ScopedCapture",
    "capture_begin",
    "capture_debug_dot_print",
    "capture_end",
    "capture_if",
    "capture_launch",
    "capture_while",
    "is_conditional_graph_supported",
]
