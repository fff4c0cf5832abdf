"""What the benchmarks of frameworks share: launches with five tensors, which are converted before each, made descriptors of, or
handed over as they are."""

from __future__ import annotations

import argparse
import time
from typing import Any, Callable

import warp as wp

ARGUMENTS = 5


@wp.kernel
def of_floats(
    a: wp.array(dtype=float),
    b: wp.array(dtype=float),
    c: wp.array(dtype=float),
    d: wp.array(dtype=float),
    e: wp.array(dtype=float),
):
    pass


@wp.kernel
def of_vectors(
    a: wp.array(dtype=wp.vec3),
    b: wp.array(dtype=wp.vec3),
    c: wp.array(dtype=wp.vec3),
    d: wp.array(dtype=wp.vec3),
    e: wp.array(dtype=wp.vec3),
):
    pass


@wp.kernel
def of_matrices(
    a: wp.array(dtype=wp.mat22),
    b: wp.array(dtype=wp.mat22),
    c: wp.array(dtype=wp.mat22),
    d: wp.array(dtype=wp.mat22),
    e: wp.array(dtype=wp.mat22),
):
    pass


CASES = (
    ("None", None, (), of_floats),
    ("float32", wp.float32, (), of_floats),
    ("vec3", wp.vec3, (3,), of_vectors),
    ("mat22", wp.mat22, (2, 2), of_matrices),
)


def run(framework: str, make: Callable[[tuple[int, ...], Any], Any], convert: Callable[..., Any]) -> None:
    """Prints the milliseconds of so many launches. `make` gives a tensor of ones of a shape on a device, `convert` is the
    framework's from_… function."""
    parser = argparse.ArgumentParser(description=f"What it costs to launch kernels on tensors of {framework}.")
    parser.add_argument("--device", help="where to launch; the current device unless it is given")
    parser.add_argument("--launches", type=int, default=100_000)
    args = parser.parse_args()
    wp.config.quiet = True
    device = wp.get_device(args.device)
    for name, dtype, inner, kernel in CASES:
        tensors = [make((16, *inner), device) for _ in range(ARGUMENTS)]
        print(f"dtype={name}, {args.launches} launches with {ARGUMENTS} tensors on {device}")

        def converted(tensors: list = tensors, dtype: Any = dtype, kernel: Any = kernel) -> None:
            wp.launch(kernel, dim=16, inputs=[convert(t, dtype=dtype) for t in tensors], device=device)

        def described(tensors: list = tensors, dtype: Any = dtype, kernel: Any = kernel) -> None:
            inputs = [convert(t, dtype=dtype, return_ctype=True) for t in tensors]
            wp.launch(kernel, dim=16, inputs=inputs, device=device)

        def direct(tensors: list = tensors, kernel: Any = kernel) -> None:
            wp.launch(kernel, dim=16, inputs=tensors, device=device)

        ways = ((f"from_{framework}(...)", converted), (f"from_{framework}(..., return_ctype=True)", described))
        for text, once in (*ways, (f"direct from {framework}", direct)):
            once()
            wp.synchronize_device(device)
            began = time.perf_counter()
            for _ in range(args.launches):
                once()
            wp.synchronize_device(device)
            print(f"{1000.0 * (time.perf_counter() - began):8.0f} ms  {text}")
