"""What the tests of meshes and trees share: how to make a mesh, to launch on every executor, and to compare bits."""

from __future__ import annotations

import numpy as np
import warp as wp
from warp import _weft
from warp._src.session import settings

F = np.float32
EXECUTORS = ["interpreter", 1, 4, 0]  # or lanes of the CPU; 0 for as many as it likes


def made(points: np.ndarray, faces: np.ndarray, **options: object) -> wp.Mesh:
    return wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(faces.ravel().astype(np.int32), dtype=int), **options)


def same_bits(got: np.ndarray, want: np.ndarray) -> None:
    """Equal; zeros of either sign are, and NaN is NaN."""
    np.testing.assert_array_equal(np.asarray(got, F), np.asarray(want, F))


def launch(kernel: wp.Kernel, dim: int, inputs: list, outputs: list, executor: str | int = 0) -> None:
    before = wp.config.cpu_lanes
    try:
        if executor == "interpreter":
            kernel.native()
            options = settings.compile_options({**kernel.module.options, **kernel.options})
            kernel._use(_weft.Kernel(kernel._function, options, True), settings.epoch)
        else:
            wp.config.cpu_lanes = executor
        wp.launch(kernel, dim, inputs, outputs)
    finally:
        wp.config.cpu_lanes = before
        settings.bump()
