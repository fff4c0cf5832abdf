"""`wp.fixedarray`: what a function returns that makes an array of fixed size, `wp.zeros(shape=(2, 3), dtype=int)` in a
kernel. An annotation only: to kernels it is an array of that rank."""

from __future__ import annotations

from typing import Any

from warp._src.arrays.array import array
from warp._src.arrays.array_arguments import extents_of


class fixedarray(array):
    """An annotation for arrays of fixed size, which kernels and functions make by `wp.zeros(shape=…, dtype=…)`.

    Args:
        shape: the extents.
        dtype: the element type.
    """

    _wp_named_ = "fixedarray"

    def __init__(self, shape: Any, dtype: Any) -> None:
        extents = extents_of(shape)
        super().__init__(dtype=dtype, ndim=len(extents))
        self._declare("shape", extents)
