"""What the documents state about hash grids."""

from __future__ import annotations

import numpy as np

import warp as wp


@wp.kernel
def sum(grid: wp.uint64, points: wp.array(dtype=wp.vec3), output: wp.array(dtype=wp.vec3), radius: float):
    tid = wp.tid()
    p = points[tid]
    query = wp.hash_grid_query(grid, p, radius)
    index = int(0)
    sum = wp.vec3()
    while(wp.hash_grid_query_next(query, index)):
        neighbor = points[index]
        dist = wp.length(p - neighbor)
        if (dist <= radius):
            sum += neighbor
    output[tid] = sum


@wp.kernel
def count(grid: wp.uint64, at: wp.vec3, radius: float, found: wp.array(dtype=int)):
    for index in wp.hash_grid_query(grid, at, radius):
        found[0] += 1


def test_seed_105_106_107_neighbours():
    """A grid is made of table dimensions, built of points and a radius, and queried by a loop over its neighbours."""
    p = np.random.default_rng(1).uniform(-1.0, 1.0, (300, 3)).astype(np.float32)
    grid = wp.HashGrid(dim_x=128, dim_y=128, dim_z=128)
    points, output = wp.array(p, dtype=wp.vec3), wp.zeros(300, dtype=wp.vec3)
    grid.build(points=points, radius=0.3)
    wp.launch(sum, dim=300, inputs=[grid.id, points, output, 0.3])
    near = np.linalg.norm(p[:, None] - p[None], axis=2) <= 0.3
    np.testing.assert_allclose(output.numpy(), near @ p.astype(np.float64), atol=1e-4)


def test_seed_109_all_points_of_the_cells():
    """A query gives all points of the cells, those of places that share a cell of the table too: the caller checks the
    distance."""
    grid, found = wp.HashGrid(4, 4, 4), wp.zeros(1, dtype=int)
    grid.build(wp.array([[0.1, 0.1, 0.1], [0.9, 0.9, 0.9], [40.5, 0.5, 0.5], [2.5, 0.5, 0.5]], dtype=wp.vec3), 1.0)
    wp.launch(count, dim=1, inputs=[grid.id, wp.vec3(0.1, 0.1, 0.1), 0.05], outputs=[found])
    assert found.list() == [3]  # 40.5 wraps around ten times
