"""`warp.utils`: helpers that programs lean on, gathered from the modules that hold them."""

from __future__ import annotations

from typing import Any

from warp._src.algorithms import array_algorithms as _array_algorithms
from warp._src.algorithms import coloring as _coloring
from warp._src.algorithms.array_algorithms import *  # noqa: F403
from warp._src.algorithms.coloring import *  # noqa: F403
from warp._src.devices.allocators import AllocatorRmm
from warp._src.devices.timer import ScopedTimer
from warp._src.kernels.lambda_source import plain_function as _plain_function
from warp._src.session.logger import warn
from warp._src.values.quaternion import transform_expand


def create_warp_function(func: Any) -> tuple[Any, Any]:
    """A `wp.func` of a Python function or lambda, whose parameters need no annotations, and the module it lies in."""
    made = _plain_function(func)
    return made, getattr(made, "module", None)


__all__ = [*_array_algorithms.__all__, *_coloring.__all__]
__all__ += ["AllocatorRmm", "ScopedTimer", "create_warp_function", "transform_expand", "warn"]
