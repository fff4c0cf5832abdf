"""Graphs of functions that JAX calls: how a function's launches are recorded once and run again.

JAX moves its buffers about, so a graph is known by the addresses that it works on; with staging it works on memory of its
own instead, into and out of which each call copies.
"""

from __future__ import annotations

import collections
import enum
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


def get_jax_callable_default_graph_cache_max() -> int | None:
    """How many graphs a function keeps unless it says otherwise; None: all."""
    return _default_max


def set_jax_callable_default_graph_cache_max(cache_max: int | None) -> None:
    """Sets how many graphs functions keep that are made from now on; None: all."""
    global _default_max
    if cache_max is not None and int(cache_max) < 1:
        raise ValueError(f"a function keeps at least one graph, not {cache_max}; None keeps all")
    _default_max = None if cache_max is None else int(cache_max)


class GraphCache:
    """The graphs of one function; those not used for longest go first."""

    def __init__(self, most: int | None):
        self.most = most
        self.graphs: collections.OrderedDict[Any, tuple[Any, Any]] = collections.OrderedDict()
        self.staging: dict[Any, list[Any]] = {}
        _caches.add(self)

    def clear(self) -> None:
        self.graphs.clear()
        self.staging.clear()

    def find(self, key: Any) -> Any:
        found = self.graphs.get(key)
        if found is not None:
            self.graphs.move_to_end(key)
        return found

    def add(self, key: Any, graph: Any, keep: Any) -> None:
        self.graphs[key] = (graph, keep)
        while self.most is not None and len(self.graphs) > self.most:
            self.graphs.popitem(last=False)

    def run(
        self, mode: JaxCallableGraphMode, config: Any, device: Device, func: Callable, arrays: Sequence[Any],
        values: dict[int, Any], staged_in: frozenset, staged_out: frozenset,
    ) -> None:  # fmt: skip
        """Calls func(*arguments) as a graph: `arrays` by parameter, None where `values` has the argument; `staged_…`:
        parameters that get memory of the graph's own."""
        staged = (staged_in | staged_out) if mode >= JaxCallableGraphMode.WARP_STAGED else frozenset()
        own = self._staging((config, str(device)), arrays, staged) if staged else arrays
        work = [values.get(k, a) for k, a in enumerate(own)]

        def copy_in() -> None:
            for k in sorted(staged):
                copy(own[k], arrays[k])  # results too: some begin as arguments

        def copy_out() -> None:
            for k in sorted(staged_out & staged):
                copy(arrays[k], own[k])

        inside = mode == JaxCallableGraphMode.WARP_STAGED
        moving = [a for k, a in enumerate(arrays) if a is not None and (inside or k not in staged)]
        key = (config, str(device), tuple((a.ptr, a.shape) for a in moving))
        found = self.find(key)
        if found is None:
            with ScopedCapture(device=device) as capture:
                if inside:
                    copy_in()
                func(*work)
                if inside:
                    copy_out()
            self.add(key, capture.graph, own)
            found = (capture.graph, own)
        if staged and not inside:
            copy_in()
        capture_launch(found[0])
        if staged and not inside:
            copy_out()

    def _staging(self, key: Any, arrays: Sequence[Any], staged: frozenset) -> list[Any]:
        shapes = tuple(None if a is None else a.shape for a in arrays)
        made = self.staging.get((key, shapes))
        if made is None:
            made = [empty_like(a) if k in staged else a for k, a in enumerate(arrays)]
            self.staging[key, shapes] = made
        return [m if k in staged else a for k, (m, a) in enumerate(zip(made, arrays))]


def clear_jax_callable_graph_cache(callable: Any = None) -> None:
    """Drops the graphs, and staging memory, of one function that `jax_callable` made, or of all."""
    for cache in list(_caches) if callable is None else [callable._graphs]:
        cache.clear()
