"""What it costs to launch kernels on tensors of PyTorch: as arrays, as plain descriptors, as they are.

    python -m warp.examples.benchmarks.benchmark_interop_torch [--device cpu] [--launches 100000]

Five arguments, converted anew for each launch; for plain scalars, and seen as float32, vec3 and mat22.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch

import warp as wp

LAUNCHES = 100_000
COUNT = 16  # elements; calls are what is measured


@wp.kernel
def scalars(
    a: wp.array(dtype=float),
    b: wp.array(dtype=float),
    c: wp.array(dtype=float),
    d: wp.array(dtype=float),
    e: wp.array(dtype=float),
):
    i = wp.tid()
    e[i] = a[i] + b[i] + c[i] + d[i]


@wp.kernel
def vectors(
    a: wp.array(dtype=wp.vec3),
    b: wp.array(dtype=wp.vec3),
    c: wp.array(dtype=wp.vec3),
    d: wp.array(dtype=wp.vec3),
    e: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    e[i] = a[i] + b[i] + c[i] + d[i]


@wp.kernel
def matrices(
    a: wp.array(dtype=wp.mat22),
    b: wp.array(dtype=wp.mat22),
    c: wp.array(dtype=wp.mat22),
    d: wp.array(dtype=wp.mat22),
    e: wp.array(dtype=wp.mat22),
):
    i = wp.tid()
    e[i] = a[i] + b[i] + c[i] + d[i]


CASES: list[tuple[str, Any, Any, tuple[int, ...]]] = [
    ("None", None, scalars, (COUNT,)),
    ("float32", wp.float32, scalars, (COUNT,)),
    ("vec3", wp.vec3, vectors, (COUNT, 3)),
    ("mat22", wp.mat22, matrices, (COUNT, 2, 2)),
]


def timed(launches: int, device: Any, launch: Callable[[], None]) -> int:
    """Milliseconds."""
    launch()
    wp.synchronize_device(device)
    start = time.perf_counter()
    for _ in range(launches):
        launch()
    wp.synchronize_device(device)
    return round(1000 * (time.perf_counter() - start))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=None, help="None: the current device")
    parser.add_argument("--launches", type=int, default=LAUNCHES)
    options = parser.parse_args()
    device = wp.get_device(options.device)
    for name, dtype, kernel, shape in CASES:
        tensors = [torch.ones(shape, device=wp.device_to_torch(device)) for _ in range(5)]
        print(f"dtype={name}, {options.launches} launches on {device}")

        def arrays(kernel: Any = kernel, dtype: Any = dtype, tensors: list = tensors) -> None:
            wp.launch(kernel, dim=COUNT, inputs=[wp.from_torch(t, dtype=dtype) for t in tensors], device=device)

        def descriptors(kernel: Any = kernel, dtype: Any = dtype, tensors: list = tensors) -> None:
            given = [wp.from_torch(t, dtype=dtype, return_ctype=True) for t in tensors]
            wp.launch(kernel, dim=COUNT, inputs=given, device=device)

        def direct(kernel: Any = kernel, tensors: list = tensors) -> None:
            wp.launch(kernel, dim=COUNT, inputs=tensors, device=device)

        print(f"{timed(options.launches, device, arrays):5d} ms  from_torch(...)")
        print(f"{timed(options.launches, device, descriptors):5d} ms  from_torch(..., return_ctype=True)")
        print(f"{timed(options.launches, device, direct):5d} ms  direct from torch")


if __name__ == "__main__":
    main()
