"""Graphs of functions that JAX calls: how a function's launches are recorded once and run again.

JAX moves its buffers about, so a graph is known by the addresses that it works on; with staging it works on memory of its
own instead, into and out of which each call copies. Such memory serves one call at a time: XLA calls from a thread for each
device, and several of its devices may be one of ours.
"""

from __future__ import annotations

import collections
import enum
import threading
import weakref
from typing import Any, Callable, Sequence

from warp._src.arrays.array_factories import copy, empty_like
from warp._src.devices.device import Device
from warp._src.graphs.capture import ScopedCapture, capture_launch

__all__ = [
    "JaxCallableGraphMode",
    "clear_jax_callable_graph_cache",
    "get_jax_callable_default_graph_cache_max",
    "set_jax_callable_default_graph_cache_max",
]


class JaxCallableGraphMode(enum.IntEnum):
    """Whether what a function queues becomes a graph, and whose."""

    NONE = 0
    """It is called each time, and never captured."""
    JAX = 1
    """JAX may capture it into its own CUDA graphs."""
    WARP = 2
    """It is captured here, once for each set of buffers."""
    WARP_STAGED = 3
    """It is captured here on memory of its own, copies to and from JAX's buffers being part of the graph."""
    WARP_STAGED_EX = 4
    """The same with the copies outside: one graph serves all buffers."""


_default_max: int | None = 32
_caches: weakref.WeakSet[GraphCache] = weakref.WeakSet()
_listing = threading.Lock()  # such a set must not grow while another thread goes through it


def get_jax_callable_default_graph_cache_max() -> int | None:
    """How many graphs a function keeps unless it says otherwise; None: all."""
    return _default_max


def set_jax_callable_default_graph_cache_max(cache_max: int | None) -> None:
    """Sets how many graphs functions keep that are made from now on; None: all."""
    global _default_max
    if cache_max is not None and int(cache_max) < 1:
        raise ValueError(f"a function keeps at least one graph, not {cache_max}; None keeps all")
    _default_max = None if cache_max is None else int(cache_max)


class Stage:
    """Memory that a staged graph works on. Whoever holds `lock` uses it."""

    def __init__(self, arrays: Sequence[Any], staged: frozenset):
        self.lock = threading.Lock()
        self.arrays = {k: empty_like(arrays[k]) for k in sorted(staged)}


class GraphCache:
    """The graphs of one function; those not used for longest go first."""

    def __init__(self, most: int | None):
        self.most = most
        self.graphs: collections.OrderedDict[Any, tuple[Any, Any]] = collections.OrderedDict()
        self.stages: dict[Any, list[Stage]] = {}
        self._lock = threading.Lock()
        with _listing:
            _caches.add(self)

    def clear(self) -> None:
        with self._lock:
            self.graphs.clear()
            self.stages.clear()

    def find(self, key: Any) -> Any:
        with self._lock:
            found = self.graphs.get(key)
            if found is not None:
                self.graphs.move_to_end(key)
            return found

    def add(self, key: Any, graph: Any, keep: Any) -> tuple[Any, Any]:
        with self._lock:
            made = self.graphs[key] = (graph, keep)
            while self.most is not None and len(self.graphs) > self.most:
                self.graphs.popitem(last=False)
            return made

    def run(
        self, mode: JaxCallableGraphMode, config: Any, device: Device, stream: int, func: Callable, arrays: Sequence[Any],
        values: dict[int, Any], staged_in: frozenset, staged_out: frozenset,
    ) -> None:  # fmt: skip
        """Calls func(*arguments) as a graph: `arrays` by parameter, None where `values` has the argument; `staged_…`:
        parameters that get memory of the graph's own."""
        staged = (staged_in | staged_out) if mode >= JaxCallableGraphMode.WARP_STAGED else frozenset()
        where = (config, str(device))
        if not staged:
            self._run_on(None, mode, where, device, func, arrays, values, staged_in, staged_out)
            return
        stage = self._take_stage(where, device, stream, arrays, staged)
        try:
            self._run_on(stage, mode, where, device, func, arrays, values, staged_in, staged_out)
        finally:
            stage.lock.release()

    def _run_on(
        self, stage: Stage | None, mode: JaxCallableGraphMode, where: Any, device: Device, func: Callable,
        arrays: Sequence[Any], values: dict[int, Any], staged_in: frozenset, staged_out: frozenset,
    ) -> None:  # fmt: skip
        own = stage.arrays if stage else {}
        work = [values[k] if k in values else own.get(k, a) for k, a in enumerate(arrays)]

        def copy_in() -> None:
            for k, mine in own.items():
                copy(mine, arrays[k])  # results too: some begin as arguments

        def copy_out() -> None:
            for k, mine in own.items():
                if k in staged_out:
                    copy(arrays[k], mine)

        inside = mode == JaxCallableGraphMode.WARP_STAGED
        moving = [a for k, a in enumerate(arrays) if a is not None and (inside or k not in own)]
        key = (where, id(stage), tuple((a.ptr, a.shape) for a in moving))
        found = self.find(key)
        if found is None:
            with ScopedCapture(device=device) as capture:
                if inside:
                    copy_in()
                func(*work)
                if inside:
                    copy_out()
            found = self.add(key, capture.graph, stage)
        if stage and not inside:
            copy_in()
        capture_launch(found[0])
        if stage and not inside:
            copy_out()

    def _take_stage(self, where: Any, device: Device, stream: int, arrays: Sequence[Any], staged: frozenset) -> Stage:
        """A stage that nobody else uses, locked. On the CPU a call has ended when it returns, so any free one does; on a GPU
        it goes on in its stream, whose calls share one in order."""
        shapes = tuple(None if a is None else a.shape for a in arrays)
        queue = stream if device.is_cuda else None
        with self._lock:
            stages = self.stages.setdefault((where, queue, shapes), [])
            for stage in stages:
                if stage.lock.acquire(blocking=False):
                    return stage
            if not stages or not device.is_cuda:
                stages.append(Stage(arrays, staged))
                stages[-1].lock.acquire()
                return stages[-1]
        stages[0].lock.acquire()
        return stages[0]


def clear_jax_callable_graph_cache(callable: Any = None) -> None:
    """Drops the graphs, and staging memory, of one function that `jax_callable` made, or of all."""
    with _listing:
        caches = list(_caches) if callable is None else [callable._graphs]
    for cache in caches:
        cache.clear()
