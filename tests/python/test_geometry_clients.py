"""Geometry as engines of rigid bodies and renderers use it: groups as worlds, limits that shrink, results into variables."""

from __future__ import annotations

import numpy as np
import warp as wp


@wp.kernel
def nearest_box(
    tree: wp.uint64,
    world: wp.array(dtype=int),
    origin: wp.array(dtype=wp.vec3),
    dir: wp.array(dtype=wp.vec3),
    lower: wp.array(dtype=wp.vec3),
    found: wp.array(dtype=int),
    best: wp.array(dtype=wp.vec2),
):
    """The nearest box of one world along x; what is found limits what is still asked for."""
    i = wp.tid()
    root = wp.bvh_get_group_root(tree, world[i])
    found[i] = -2
    if root == -1:
        return
    found[i] = -1
    index = int(0)
    limit = wp.vec2(100.0, 0.0)
    query = wp.bvh_query_ray(tree, origin[i], dir[i], root)
    while wp.bvh_query_next(query, index, limit[0]):
        t = lower[index][0] - origin[i][0]
        if t < limit[0]:
            limit[0] = t
            limit[1] += 1.0
            found[i] = index
    best[i] = limit


def test_worlds_of_boxes() -> None:
    rng = np.random.default_rng(4)
    n, worlds = 200, 5
    lower = rng.uniform(0, 20, (n, 3)).astype(np.float32)
    lower[:, 1:] = -0.5
    upper = lower + np.float32([0.5, 1, 1])
    groups = rng.integers(0, worlds, n).astype(np.int32)
    low, high = wp.array(lower, dtype=wp.vec3), wp.array(upper, dtype=wp.vec3)
    tree = wp.Bvh(low, high, groups=wp.array(groups, dtype=int), constructor="sah")
    asked = np.arange(worlds + 1, dtype=np.int32)
    origin, dir = np.tile(np.float32([-1, 0, 0]), (worlds + 1, 1)), np.tile(np.float32([1, 0, 0]), (worlds + 1, 1))
    found, best = wp.zeros(worlds + 1, dtype=int), wp.zeros(worlds + 1, dtype=wp.vec2)
    for step in range(3):
        if step:  # what moved is found where it is now
            lower[:, 0] = rng.uniform(0, 20, n)
            low.assign(lower)
            high.assign(lower + np.float32([0.5, 1, 1]))
            tree.refit()
        inputs = [tree.id, *(wp.array(a, dtype=t) for a, t in ((asked, int), (origin, wp.vec3), (dir, wp.vec3))), low]
        wp.launch(nearest_box, worlds + 1, inputs, [found, best])
        for world in range(worlds):
            mine = np.where(groups == world)[0]
            assert found.numpy()[world] == mine[lower[mine, 0].argmin()]
        assert found.numpy()[worlds] == -2


@wp.kernel
def cast(
    mesh: wp.uint64, group: int, origin: wp.vec3, dir: wp.vec3, max_t: float, numbers: wp.array(dtype=float), face: wp.array(dtype=int)
):
    t = float(0.0)
    u = float(0.0)
    v = float(0.0)
    sign = float(0.0)
    normal = wp.vec3()
    f = int(-1)
    root = -1
    if group >= 0:
        root = wp.mesh_get_group_root(mesh, group)
    hit = wp.mesh_query_ray(mesh, origin, dir, max_t, t, u, v, sign, normal, f, root)
    face[0] = f
    face[1] = wp.where(hit, 1, 0)
    face[2] = wp.where(wp.mesh_query_ray_anyhit(mesh, origin, dir, max_t, root), 1, 0)
    face[3] = wp.where(wp.mesh_query_ray_anyhit(mesh, origin, dir, max_t), 1, 0)
    numbers[0] = t
    numbers[1] = u
    numbers[2] = v
    numbers[3] = sign
    for k in range(3):
        numbers[4 + k] = normal[k]


def test_rays_into_variables() -> None:
    points = np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    far = points + np.float32([0, 0, 3])
    mesh = wp.Mesh(
        points=wp.array(np.vstack([points, far]), dtype=wp.vec3),
        indices=wp.array([0, 1, 2, 3, 4, 5], dtype=int),
        groups=wp.array([0, 1], dtype=int),
        bvh_constructor="sah",
        bvh_leaf_size=1,
    )
    numbers, face = wp.zeros(7, dtype=float), wp.zeros(4, dtype=int)
    ray = [wp.vec3(0.2, 0.3, -1.0), wp.vec3(0.0, 0.0, 1.0)]
    wp.launch(cast, 1, [mesh.id, -1, *ray, 10.0], [numbers, face])
    np.testing.assert_allclose(numbers.numpy(), [1, 0.5, 0.2, -1, 0, 0, 1], rtol=1e-6, atol=1e-7)
    assert face.numpy().tolist() == [0, 1, 1, 1]
    wp.launch(cast, 1, [mesh.id, 1, *ray, 10.0], [numbers, face])
    assert face.numpy().tolist() == [1, 1, 1, 1] and abs(numbers.numpy()[0] - 4) < 1e-6
    wp.launch(cast, 1, [mesh.id, 1, *ray, 2.0], [numbers, face])
    assert face.numpy().tolist() == [-1, 0, 0, 1]
    mesh.points.assign(np.vstack([points + np.float32([5, 0, 0]), far]))
    mesh.refit()
    wp.launch(cast, 1, [mesh.id, -1, *ray, 10.0], [numbers, face])
    assert face.numpy()[0] == 1


# Types of queries as older programs name them.
@wp.func
def weights(q: wp.types.mesh_query_point_t):
    return wp.vec2(q.u, q.v)


@wp.func
def depth(q: wp.types.mesh_query_ray_t):
    return q.t


@wp.func
def faces_in(q: wp.types.mesh_query_aabb_t):
    count = int(0)
    for _ in q:
        count += 1
    return count


@wp.func
def boxes_in(q: wp.types.bvh_query_t):
    count = int(0)
    for _ in q:
        count += 1
    return count


@wp.func
def points_in(q: wp.types.hash_grid_query_t):
    count = int(0)
    for _ in q:
        count += 1
    return count


@wp.kernel
def by_older_names(
    mesh: wp.uint64, tree: wp.uint64, grid: wp.uint64, numbers: wp.array(dtype=float), counts: wp.array(dtype=int)
):
    here = wp.vec3(0.25, 0.5, 1.0)
    found = weights(wp.mesh_query_point(mesh, here, 10.0))
    numbers[0] = found[0]
    numbers[1] = found[1]
    numbers[2] = depth(wp.mesh_query_ray(mesh, here, wp.vec3(0.0, 0.0, -1.0), 10.0))
    counts[0] = faces_in(wp.mesh_query_aabb(mesh, wp.vec3(-1.0), wp.vec3(1.0)))
    counts[1] = boxes_in(wp.bvh_query_aabb(tree, wp.vec3(-1.0), wp.vec3(1.0)))
    counts[2] = points_in(wp.hash_grid_query(grid, here, 0.1))


def test_older_names_of_types() -> None:
    points = wp.array(np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0]]), dtype=wp.vec3)
    mesh = wp.Mesh(points, wp.array([0, 1, 2], dtype=int))
    tree, grid = wp.Bvh(points, points), wp.HashGrid(4, 4, 4)
    grid.build(points, 10.0)
    numbers, counts = wp.zeros(3, dtype=float), wp.zeros(3, dtype=int)
    wp.launch(by_older_names, 1, [mesh.id, tree.id, grid.id], [numbers, counts])
    np.testing.assert_allclose(numbers.numpy(), [0.25, 0.25, 1.0], rtol=1e-6)
    assert counts.numpy().tolist() == [1, 3, 3]
