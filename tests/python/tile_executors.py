"""Where tests of tiles run: an executor is ("cpu" or "cuda", threads of a block). Blocks of one thread are what the CPU has by itself."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import warp as wp

Executor = tuple[str, int]


@contextmanager
def blocks_of(executor: Executor) -> Iterator[str]:
    """The device; while it lasts, blocks of the CPU have as many threads as launches say."""
    where, block = executor
    wp.config.enable_cpu_blocks = where == "cpu" and block > 1
    try:
        yield where
    finally:
        wp.config.enable_cpu_blocks = False


def launch(executor: Executor, kernel, dim, *arguments) -> list[np.ndarray]:
    """What is in the arrays behind a launch; arrays of NumPy go to the device, a pair of one and a type as elements of that type."""
    given = []
    with blocks_of(executor) as device:
        for argument in arguments:
            data, dtype = argument if isinstance(argument, tuple) else (argument, None)
            given.append(wp.array(data, dtype=dtype, device=device) if isinstance(data, np.ndarray) else data)
        wp.launch_tiled(kernel, dim=dim, inputs=given, block_dim=executor[1], device=device)
        return [one.numpy() for one in given if isinstance(one, wp.array)]
