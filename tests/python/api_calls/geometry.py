"""Calls of geometry."""

from __future__ import annotations

import numpy as np

import warp as wp

from . import calls


@calls("MarchingCubes", "MarchingCubes.resize", "MarchingCubes.surface")
def a_plane() -> None:
    cubes = wp.MarchingCubes(9, 9, 9)
    cubes.resize(4, 3, 3)
    cubes.surface(wp.array(np.arange(4, dtype=np.float32)[:, None, None] * np.ones((4, 3, 3)), dtype=float), 1.25)
    assert cubes.verts.shape == (9,) and cubes.indices.shape == (24,)
    assert (cubes.verts.numpy()[:, 0] == 1.25).all()
