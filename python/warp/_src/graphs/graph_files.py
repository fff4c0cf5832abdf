"""Graphs in files: `wp.capture_save` writes down what a capture was asked for, `wp.capture_load` does it again.

A file holds the kernels as IR, which is compiled for whatever device the graph is loaded on, the memory that they work on
with its contents, and the launches, copies, fills and conditions in their order. Nothing in a file is believed: numbers
are checked here, code and places of arrays in src/bind/saved_graph.cpp.

    8 bytes    "WEFTGRPH"
    16 bytes   BLAKE2b of all that follows
    8 bytes    length of the header
    header     JSON, see `_header`
    data       texts of kernels and contents of regions, back to back
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Callable

import numpy as np

from warp import _weft
from warp._src.arrays.array import array
from warp._src.arrays.array_factories import empty
from warp._src.devices.device import Device, get_device
from warp._src.graphs import capture
from warp._src.values import types

_MAGIC = b"WEFTGRPH"
_VERSION = 2
_START = len(_MAGIC) + 16 + 8
_ALIGN = 256  # regions lie in memory as they lay, modulo this
_DEPTH = 32  # of conditions in conditions
_HOST = (-1, -2)  # places of host memory: plain, page-locked
_OPTIONS = {
    "debug": bool,
    "verify_fp": bool,
    "fuse_fp": bool,
    "fast_math": bool,
    "opt_level": int,
    "max_unroll": int,
    "deterministic": bool,
    "line_info": bool,
}


class _Regions:
    """Memory that a graph works on: ranges of bytes that share none."""

    def __init__(self, place: int):
        self.place = place
        self.ranges: list[tuple[bool, int, int]] = []  # on the host (and the graph is not), begin, end

    def side(self, place: int) -> bool:
        """Whether memory at this place is on the host's side of a graph on a device."""
        if place == self.place or (self.place < 0 and place in _HOST):
            return False
        if place in _HOST:
            return True
        raise RuntimeError("the graph can't be saved: it works on arrays of several devices")

    def add(self, place: int, low: int, high: int) -> None:
        if low < high:
            self.ranges.append((self.side(place), low, high))

    def join(self) -> None:
        """Makes one of those that meet."""
        joined: list[tuple[bool, int, int]] = []
        for host, low, high in sorted(self.ranges):
            if joined and joined[-1][0] == host and low < joined[-1][2]:
                joined[-1] = (host, joined[-1][1], max(high, joined[-1][2]))
            else:
                joined.append((host, low, high))
        self.ranges = joined

    def find(self, place: int, address: int) -> tuple[int, int]:
        """The region of an address, and its offset there."""
        side = self.side(place)
        for index, (host, low, high) in enumerate(self.ranges):
            if host == side and low <= address < high:
                return index, address - low
        raise AssertionError("every address was added")


def _span(address: int, shape: Any, strides: Any, size: int) -> tuple[int, int]:
    """The bytes over which an array spreads."""
    if 0 in shape:
        return 0, 0
    spans = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
    return address + sum(min(s, 0) for s in spans), address + sum(max(s, 0) for s in spans) + size


def _memories(step: tuple) -> list[tuple[tuple, int]]:
    """The arrays of a step with the sizes of their elements."""
    kind = step[0]
    if kind == "copy":
        return [(step[1], step[3]), (step[2], step[3])]
    if kind == "fill":
        return [(step[1], len(step[2]))]
    if kind == "launch":
        return [(memory, size) for _, memory, size in step[4]]
    inner = [one for steps in step[2:] for s in steps for one in _memories(s)]
    return [(step[1], 4), *inner]


def _spot(regions: _Regions, memory: tuple, size: int) -> list[Any]:
    """An array as a file has it: region, offset, shape, strides."""
    place, address, shape, strides = memory
    low, high = _span(address, shape, strides, size)
    region, offset = (-1, 0) if low == high else regions.find(place, address)
    return [region, offset, list(shape), list(strides)]


def _written(regions: _Regions, step: tuple) -> list[Any]:
    """A step as a file has it."""
    kind = step[0]
    if kind == "copy":
        return ["copy", _spot(regions, step[1], step[3]), _spot(regions, step[2], step[3]), step[3]]
    if kind == "fill":
        return ["fill", _spot(regions, step[1], len(step[2])), step[2].hex()]
    if kind == "launch":
        arrays = [[offset, _spot(regions, memory, size)] for offset, memory, size in step[4]]
        return ["launch", step[1], list(step[2]), step[3].hex(), arrays, step[5], step[6]]
    return [kind, _spot(regions, step[1], 4), *([_written(regions, s) for s in steps] for steps in step[2:])]


def _named(given: Any, what: str) -> dict[str, Any]:
    """Inputs or outputs, checked."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} of wp.capture_save is a dictionary of names and arrays, got {type(given).__name__}")
    for name, one in given.items():
        if not isinstance(name, str):
            raise TypeError(f"names of {what} are strings, got {name!r}")
        if not isinstance(one, array):
            raise TypeError(f"{what}[{name!r}] must be a wp.array, got {type(one).__name__}")
        if not one.is_contiguous:
            raise ValueError(f"{what}[{name!r}] has gaps; name a contiguous array")
    return dict(given)


def _path(path: Any) -> str:
    path = os.fspath(path)
    if not isinstance(path, str):
        raise TypeError(f"a path is text, got {path!r}")
    return path if path.endswith(".wrp") else f"{path}.wrp"


def capture_save(
    graph: capture.Graph,
    path: Any,
    inputs: dict | None = None,
    outputs: dict | None = None,
    source_fallback: bool = False,
) -> None:
    """Writes a graph to a file, for `wp.capture_load` in this or another program, on this or another device.

    The graph must have been captured with `apic=True`. Its kernels are saved as code for no device in particular, so
    `source_fallback` changes nothing. Memory is saved with what it holds now.

    Args:
        graph: what `wp.capture_end` gave.
        path: of the file; ".wrp" is added.
        inputs: arrays by name that a program which loads the graph may set (`graph.set_param`).
        outputs: arrays by name that it may read (`graph.get_param`).
    """
    if not isinstance(graph, capture.Graph):
        raise TypeError(f"wp.capture_save takes a wp.Graph, got {graph!r}")
    target = _path(path)
    journal = graph._journal
    if journal is None:
        raise RuntimeError("the graph was not captured with apic=True; give that to wp.capture_begin or wp.ScopedCapture")
    if journal.refused:
        raise RuntimeError(f"the graph can't be saved: it holds {journal.refused}")
    params = {**_named(inputs, "inputs")}
    for name, one in _named(outputs, "outputs").items():
        if params.setdefault(name, one).ptr != one.ptr:
            raise ValueError(f"{name!r} names one array among the inputs and another one among the outputs")
    steps, regions = journal.steps(), _Regions(graph.device.ordinal if graph.device.is_cuda else -1)
    for step in steps:
        for (place, address, shape, strides), size in _memories(step):
            regions.add(place, *_span(address, shape, strides, size))
    for one in params.values():
        regions.add(one._place, one.ptr or 0, (one.ptr or 0) + one.size * types.type_size_in_bytes(one.dtype))
    regions.join()
    data = _assemble(graph.device, journal, steps, regions, params)
    scratch = f"{target}.{os.getpid()}.tmp"
    try:
        with open(scratch, "wb") as file:
            file.write(data)
        os.replace(scratch, target)
    except BaseException:
        if os.path.exists(scratch):
            os.unlink(scratch)
        raise


def _assemble(device: Device, journal: Any, steps: list, regions: _Regions, params: dict[str, Any]) -> bytes:
    import json
    import struct

    pieces: list[bytes] = []
    end = 0

    def keep(piece: bytes) -> list[int]:
        nonlocal end
        pieces.append(piece)
        end += len(piece)
        return [end - len(piece), len(piece)]

    header = {
        "version": _VERSION,
        "device": "cuda" if device.is_cuda else "cpu",
        "kernels": [
            {"name": name, "options": dict(options), "text": keep(text.encode())}
            for name, text, options in journal.kernels()
        ],
        "regions": [
            {
                "host": host,
                "align": low % _ALIGN,
                "data": keep(_weft.read_memory(-1 if host else regions.place, low, high - low)),
            }
            for host, low, high in regions.ranges
        ],
        "steps": [_written(regions, step) for step in steps],
        "params": {
            name: [
                *(regions.find(one._place, one.ptr) if one.size else (-1, 0)),
                one.size * types.type_size_in_bytes(one.dtype),
                types.type_repr(one.dtype),
                list(one.shape),
            ]
            for name, one in params.items()
        },
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    rest = struct.pack("<Q", len(text)) + text + b"".join(pieces)
    return _MAGIC + _checksum(rest) + rest


def _checksum(data: Any) -> bytes:
    import hashlib  # few programs need it

    return hashlib.blake2b(data, digest_size=16).digest()


class _Damaged(Exception):
    """A file says something that can't be."""


def _need(condition: bool, what: str) -> None:
    if not condition:
        raise _Damaged(what)


def _number(value: Any, low: int = -(2**63), high: int = 2**63 - 1) -> int:
    _need(type(value) is int and low <= value <= high, "a number is missing or out of range")
    return value


def _list(value: Any, count: int | None = None) -> list:
    _need(type(value) is list and (count is None or len(value) == count), "a list is missing or has another length")
    return value


def _text(value: Any) -> str:
    _need(type(value) is str, "a text is missing")
    return value


def _fields(value: Any, names: set[str]) -> dict:
    _need(type(value) is dict and set(value) == names, f"the entries {', '.join(sorted(names))} are needed")
    return value


def _hex(value: Any) -> bytes:
    try:
        return bytes.fromhex(_text(value))
    except ValueError:
        raise _Damaged("bytes are no hexadecimal digits") from None


class _Loader:
    """A graph made of a file's header and data."""

    def __init__(self, header: dict, data: memoryview, device: Device):
        self.device = device
        self.place = device.ordinal if device.is_cuda else -1
        self.data = data
        _fields(header, {"version", "device", "kernels", "regions", "steps", "params"})
        _need(header["device"] in ("cpu", "cuda"), "it was captured on no known device")
        self.kernels = [self.kernel(one) for one in _list(header["kernels"])]
        self.regions = [self.region(one) for one in _list(header["regions"])]
        self.params = self.named(header["params"])
        self.steps = _list(header["steps"])

    def piece(self, where: Any) -> memoryview:
        offset, length = (_number(one, 0) for one in _list(where, 2))
        _need(offset + length <= len(self.data), "it ends too early")
        return self.data[offset : offset + length]

    def kernel(self, given: Any) -> Any:
        _fields(given, {"name", "options", "text"})
        options = _fields(given["options"], set(_OPTIONS))
        for name, kind in _OPTIONS.items():
            _need(type(options[name]) is kind, f"option {name} of a kernel")
            _need(kind is bool or -(2**31) <= options[name] < 2**31, f"option {name} of a kernel")
        try:
            text = bytes(self.piece(given["text"])).decode()
        except UnicodeDecodeError:
            raise _Damaged("the code of a kernel is no text") from None
        return _weft.SavedKernel(_text(given["name"]), text, options)

    def region(self, given: Any) -> array:
        _fields(given, {"host", "align", "data"})
        _need(type(given["host"]) is bool, "where a region lies")
        align, contents = _number(given["align"], 0, _ALIGN - 1), self.piece(given["data"])
        _need(len(contents) > 0, "a region is empty")
        on_host = given["host"] and self.device.is_cuda
        whole = empty(
            len(contents) + _ALIGN + align, dtype=types.uint8, device="cpu" if on_host else self.device, pinned=on_host
        )
        start = -whole.ptr % _ALIGN + align
        made = whole[start : start + len(contents)]
        made.assign(np.frombuffer(contents, dtype=np.uint8))
        return made

    def named(self, given: Any) -> dict[str, tuple[array | None, dict[str, Any]]]:
        _need(type(given) is dict, "names of arrays")
        found = {}
        for name, one in given.items():
            region, offset, size, dtype, shape = _list(one, 5)
            _number(region, -1, len(self.regions) - 1), _number(offset, 0), _number(size, 0), _text(dtype)
            memory = None
            if size:
                _need(region >= 0 and offset + size <= self.regions[region].size, f"the array {name!r}")
                memory = self.regions[region][offset : offset + size]
            facts = {"size": size, "dtype": dtype, "shape": tuple(_number(n, 0) for n in _list(shape))}
            found[name] = (memory, facts)
        return found

    def spot(self, given: Any) -> tuple:
        region, offset, shape, strides = _list(given, 4)
        _number(region, -1, len(self.regions) - 1)
        numbers = [[_number(n) for n in _list(one)] for one in (shape, strides)]
        return (self.regions[region] if region >= 0 else None, _number(offset, 0), *numbers)

    def condition(self, given: Any) -> array:
        region, offset, shape, _ = self.spot(given)
        whole = all(extent == 1 for extent in shape) and region is not None and offset + 4 <= region.size
        _need(whole and (region.ptr + offset) % 4 == 0, "the value of a condition")
        kept = region  # as long as the array
        return array(
            ptr=region.ptr + offset,
            dtype=types.int32,
            shape=1,
            device=region.device,
            copy=False,
            deleter=lambda ptr, size: kept and None,
        )

    def do(self, steps: Any, depth: int = 0) -> None:
        """Does the steps: while a graph is captured they become part of it."""
        _need(depth < _DEPTH, "conditions lie too deep in each other")
        for step in _list(steps):
            kind = _list(step)[0] if step else None
            if kind == "copy":
                _, to, source, size = _list(step, 4)
                _weft.saved_copy(self.spot(to), self.spot(source), _number(size, 1, 1 << 16))
            elif kind == "fill":
                _, to, value = _list(step, 3)
                _weft.saved_fill(self.spot(to), _hex(value))
            elif kind == "launch":
                self.launch(*_list(step, 7)[1:])
            elif kind == "if":
                _, value, then, otherwise = _list(step, 4)
                capture.capture_if(self.condition(value), self.branch(then, depth), self.branch(otherwise, depth))
            elif kind == "while":
                _, value, body = _list(step, 3)
                capture.capture_while(self.condition(value), self.branch(body, depth))
            else:
                raise _Damaged("a step is of no known kind")

    def branch(self, steps: Any, depth: int) -> Callable[[], None]:
        return lambda: self.do(steps, depth + 1)

    def launch(self, kernel: Any, dims: Any, block: Any, arrays: Any, max_blocks: Any, block_dim: Any) -> None:
        chosen = self.kernels[_number(kernel, 0, len(self.kernels) - 1)]
        spots = []
        for one in _list(arrays):
            offset, where = _list(one, 2)
            spots.append((_number(offset, 0, 2**32 - 1), self.spot(where)))
        extents = [_number(n, 0) for n in _list(dims)]
        limit, threads = _number(max_blocks, 0), _number(block_dim, 0, 2**31 - 1)
        chosen.launch(self.place, extents, _hex(block), spots, limit, threads)


def _load(data: memoryview, device: Any, what: str) -> capture.Graph:
    import json
    import struct

    where = get_device(device)
    if data[: len(_MAGIC)] != _MAGIC:
        by_others = bytes(data[:3]) == b"WRP"
        raise RuntimeError(
            f"{what} is no graph of wp.capture_save"
            + (": it was saved by another implementation of Warp" if by_others else "")
        )
    rest = data[len(_MAGIC) + 16 :]
    if len(data) < _START or _checksum(rest) != data[len(_MAGIC) : len(_MAGIC) + 16]:
        raise RuntimeError(f"{what} is damaged: its contents are not what was saved")
    try:
        (length,) = struct.unpack("<Q", rest[:8])
        _need(length <= len(rest) - 8, "it ends too early")
        header = json.loads(bytes(rest[8 : 8 + length]))
        _need(type(header) is dict, "its header")
        if header.get("version") != _VERSION:
            raise RuntimeError(f"{what} has version {header.get('version')!r}, this is for version {_VERSION}")
        loader = _Loader(header, rest[8 + length :], where)
        return _captured(loader)
    except (_Damaged, ValueError, RecursionError) as error:
        raise RuntimeError(f"{what} is damaged: {error}") from None


def _captured(loader: _Loader) -> capture.Graph:
    device = loader.device
    capture.capture_begin(device)
    try:
        loader.do(loader.steps)
    except BaseException:
        try:
            capture.capture_end(device)
        except RuntimeError:  # what broke the capture says more than that it is broken
            pass
        raise
    graph = capture.capture_end(device)
    assert graph is not None
    graph._params = loader.params
    return graph


def capture_load(path: Any, device: Any = None) -> capture.Graph:
    """Reads a graph that `wp.capture_save` wrote, for `wp.capture_launch` on a device: the current one, unless told. It need
    not be the device, nor of the kind of device, that the graph was captured on. The graph has memory of its own, filled as
    it was when the graph was saved; `graph.set_param` and `graph.get_param` reach the arrays that were named.

    A file holds code: load what you trust."""
    target = _path(path)
    try:
        with open(target, "rb") as file:
            data = file.read()
    except OSError as error:
        raise RuntimeError(f"can't read the graph {target}: {error.strerror}") from None
    return _load(memoryview(data), device, f"the file {target}")


def _bytes(value: Any, what: str) -> memoryview:
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(f"{what} must be a bytes-like object, got {type(value).__name__}") from None
    if not view.c_contiguous:
        raise ValueError(f"{what} must be a C-contiguous buffer")
    return view.cast("B") if view.nbytes else memoryview(b"")


def capture_load_from_bytes(data: Any, modules: Mapping[str, Any] | None = None, device: Any = None) -> capture.Graph:
    """`wp.capture_load` for the contents of a file. Kernels are in the file, so `modules` is only checked."""
    view = _bytes(data, "data")
    if modules is not None:
        if not isinstance(modules, Mapping):
            raise TypeError(f"modules must be a mapping from filename to bytes, got {type(modules).__name__}")
        for name, contents in modules.items():
            if not isinstance(name, str):
                raise TypeError(f"module names must be strings, got {type(name).__name__}")
            _bytes(contents, f"module {name!r}")
    return _load(view, device, "the data")


__all__ = ["capture_load", "capture_load_from_bytes", "capture_save"]
