"""`warp.utils`: helpers that programs lean on, gathered from the modules that hold them."""

from __future__ import annotations

from typing import Any

from warp._src import array_utils as _array_utils
from warp._src import coloring as _coloring
from warp._src.allocators import AllocatorRmm
from warp._src.array_utils import *  # noqa: F403
from warp._src.coloring import *  # noqa: F403
from warp._src.logger import warn
from warp._src.quaternion import transform_expand
from warp._src.timer import ScopedTimer


def create_warp_function(func: Any) -> tuple[Any, Any]:
    """A `wp.func` of a Python function or lambda, whose parameters need no annotations, and the module it lies in."""
    from warp._src.lambda_source import plain_function

    made = plain_function(func)
    return made, getattr(made, "module", None)


__all__ = [*_array_utils.__all__, *_coloring.__all__]
__all__ += ["AllocatorRmm", "ScopedTimer", "create_warp_function", "transform_expand", "warn"]
