"""`warp.utils`: helpers that programs lean on, gathered from the modules that hold them."""

from __future__ import annotations

from typing import Any

import numpy as _np

from warp._src.algorithms import array_algorithms as _array_algorithms
from warp._src.algorithms import coloring as _coloring
from warp._src.algorithms.array_algorithms import *  # noqa: F403
from warp._src.algorithms.coloring import *  # noqa: F403
from warp._src.algorithms.mesh_adjacency import MeshAdjacency
from warp._src.arrays.array import array as _array
from warp._src.devices.allocators import AllocatorRmm
from warp._src.devices.device import get_cuda_devices as _get_cuda_devices
from warp._src.devices.timer import ScopedTimer
from warp._src.kernels.lambda_source import plain_function as _plain_function
from warp._src.session.logger import warn
from warp._src.values.quaternion import transform_expand


def check_p2p() -> bool:
    """Whether copies between CUDA devices that reach each other's memory arrive as they were sent; True where there is no
    such pair. (Some machines are set up so that they don't: an IOMMU stands between the devices.)"""
    devices = _get_cuda_devices()
    sent = _np.arange(1 << 16, dtype=_np.int32)
    for one in devices:
        for other in devices:
            if one is other or not one.can_access(other):
                continue
            try:
                there = _array(sent, dtype=_np.int32, device=other)
                if not _np.array_equal(there.to(one).numpy(), sent):
                    return False
            except RuntimeError:
                return False
    return True


def create_warp_function(func: Any) -> tuple[Any, Any]:
    """A `wp.func` of a Python function or lambda, whose parameters need no annotations, and the module it lies in."""
    made = _plain_function(func)
    return made, getattr(made, "module", None)


__all__ = [*_array_algorithms.__all__, *_coloring.__all__]
__all__ += ["AllocatorRmm", "MeshAdjacency", "ScopedTimer", "check_p2p", "create_warp_function"]
__all__ += ["transform_expand", "warn"]
