"""Calls of meshes and trees."""

from __future__ import annotations

import numpy as np

import warp as wp

from . import calls, members

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
FACES = np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], dtype=np.int32)


@wp.func
def hit_of(mesh: wp.uint64) -> wp.MeshQueryRay:
    return wp.mesh_query_ray(mesh, wp.vec3(0.2, 0.2, -1.0), wp.vec3(0.0, 0.0, 1.0), 10.0)


@wp.func
def nearest_of(mesh: wp.uint64) -> wp.MeshQueryPoint:
    return wp.mesh_query_point(mesh, wp.vec3(0.25, 0.25, -0.5), 10.0)


@wp.func
def count_of(query: wp.MeshQueryAABB) -> int:
    face = int(0)
    count = int(0)
    while wp.mesh_query_aabb_next(query, face):
        count += 1
    return count


@wp.kernel
def ask_mesh(mesh: wp.uint64, out: wp.array(dtype=float)):
    out[0] = hit_of(mesh).t
    out[1] = wp.length(wp.mesh_eval_position(mesh, nearest_of(mesh).face, nearest_of(mesh).u, nearest_of(mesh).v))
    out[2] = float(count_of(wp.mesh_query_aabb(mesh, wp.vec3(-1.0), wp.vec3(2.0))))


@calls("MeshQuery", "MeshQueryAABB", "MeshQueryPoint", "MeshQueryRay")
@members("Mesh", "id", "device", "indices", "points", "velocities", "refit", "support_winding_number")
@calls("Mesh", "types.Mesh", "types.MeshQueryAABB", "types.MeshQueryPoint", "types.MeshQueryRay")
def a_tetrahedron() -> None:
    mesh = wp.Mesh(
        wp.array(CORNERS, dtype=wp.vec3), wp.array(FACES, dtype=int), velocities=wp.zeros(4, dtype=wp.vec3), support_winding_number=True
    )
    out = wp.zeros(3, dtype=float)
    wp.launch(ask_mesh, dim=1, inputs=[mesh.id], outputs=[out])
    np.testing.assert_allclose(out.numpy(), [1.0, np.sqrt(0.125), 4.0], rtol=1e-6)
    assert mesh.device == wp.get_device() and mesh.support_winding_number
    assert mesh.indices.size == 12 and mesh.velocities.size == 4
    mesh.points.assign(CORNERS + np.float32([0, 0, 1]))
    mesh.refit()
    wp.launch(ask_mesh, dim=1, inputs=[mesh.id], outputs=[out])
    assert out.list()[0] == 2.0
    assert wp.types.Mesh is wp.Mesh and wp.MeshQuery is not None


@wp.func
def met(query: wp.BvhQuery) -> int:
    item = int(0)
    bits = int(0)
    while wp.bvh_query_next(query, item):
        bits = bits | (1 << item)
    return bits


@wp.kernel
def ask_boxes(tree: wp.uint64, out: wp.array(dtype=int)):
    out[0] = met(wp.bvh_query_aabb(tree, wp.vec3(0.5), wp.vec3(2.5)))


@members("Bvh", "id", "lowers", "uppers", "refit", "rebuild")
@calls("Bvh", "BvhQuery", "types.Bvh", "types.BvhQuery")
def boxes() -> None:
    lows = np.arange(4, dtype=np.float32)[:, None] * np.ones(3, dtype=np.float32)
    tree = wp.Bvh(wp.array(lows, dtype=wp.vec3), wp.array(lows + 0.25, dtype=wp.vec3))
    out = wp.zeros(1, dtype=int)
    for change in (None, tree.refit, tree.rebuild):
        if change is not None:
            tree.lowers.assign(lows[::-1].copy())
            tree.uppers.assign(lows[::-1] + 0.25)
            change()
        wp.launch(ask_boxes, dim=1, inputs=[tree.id], outputs=[out])
        assert out.list() == [0b0110]
    assert wp.types.Bvh is wp.Bvh


@calls("is_cubql_available")
def another_builder() -> None:
    assert wp.is_cubql_available() is False  # trees are our own


@calls("utils.MeshAdjacency", "utils.MeshAdjacency.add_edge")
def edges() -> None:
    whole = wp.utils.MeshAdjacency(FACES, 4)
    steps = wp.utils.MeshAdjacency(FACES, 0)
    for face, (a, b, c) in enumerate(FACES.reshape(-1, 3).tolist()):
        for edge in ((a, b, c), (b, c, a), (c, a, b)):
            steps.add_edge(*edge, face)
    assert {key: repr(edge) for key, edge in steps.edges.items()} == {key: repr(edge) for key, edge in whole.edges.items()}
    assert len(whole.edges) == 6
