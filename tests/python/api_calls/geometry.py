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


@wp.kernel
def count_neighbours(grid: wp.uint64, points: wp.array(dtype=wp.vec3), counts: wp.array(dtype=int)):
    i = wp.tid()
    for _j in wp.hash_grid_query(grid, points[i], 0.5):
        counts[i] += 1


@calls("HashGrid", "HashGrid.build", "HashGrid.reserve", "HashGridQuery", "HashGrid.id")
def neighbours() -> None:
    grid = wp.HashGrid(8, 8, 8, device="cpu")
    points = wp.array([[0.1, 0.1, 0.1], [0.2, 0.2, 0.2], [3.5, 3.5, 3.5]], dtype=wp.vec3, device="cpu")
    grid.reserve(3)
    grid.build(points, 1.0)
    counts = wp.zeros(3, dtype=int, device="cpu")
    wp.launch(count_neighbours, dim=3, inputs=[grid.id, points], outputs=[counts], device="cpu")
    assert counts.list() == [2, 2, 1]
    assert wp.HashGridQuery.__name__ == "HashGridQuery"
