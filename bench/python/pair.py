"""What one kernel of bench/python/nvcc_pairs.py is, and arrays of random numbers for them."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np
import warp as wp

BLOCK = 256


class Pair(NamedTuple):
    """One kernel twice: arguments of ours, then what nvcc's takes; arrays are passed as pointers to the latter."""

    kernel: Any
    dim: Any
    inputs: list
    outputs: list
    source: str  # of nvcc's: a file of bench/cuda
    name: str  # of nvcc's
    arguments: list  # of nvcc's, but for the count
    fast: bool = False
    blocks: int = 0  # of nvcc's; 0: as many as there is work for
    tolerance: float = 1e-4
    adjoint: bool = False  # ours is the adjoint; gradients of inputs are what is compared
    unordered: bool = False  # results may come in any order
    strays: float = 0.0  # share of the results that may be further apart: where rounding decides between two ways


Pairs = dict[str, Callable[[], Pair]]

random = np.random.default_rng(1)


def floats(
    n: int, low: float = 0.0, high: float = 1.0, width: int = 0, dtype: Any = float, grad: bool = False
) -> wp.array:
    shape = (n, width) if width else n
    made = random.random(shape, np.float32) * np.float32(high - low) + np.float32(low)
    return wp.array(made, dtype=dtype, requires_grad=grad)
