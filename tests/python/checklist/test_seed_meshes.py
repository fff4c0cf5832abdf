"""What the documents state about meshes."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
FACES = np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], dtype=np.int32)


@wp.kernel
def raycast(mesh: wp.uint64, ray_origin: wp.array(dtype=wp.vec3), ray_dir: wp.array(dtype=wp.vec3), ray_hit: wp.array(dtype=wp.vec3)):
    tid = wp.tid()
    t = float(0.0)
    u = float(0.0)
    v = float(0.0)
    sign = float(0.0)
    n = wp.vec3()
    f = int(0)
    color = wp.vec3()
    if wp.mesh_query_ray(mesh, ray_origin[tid], ray_dir[tid], 1.0e6, t, u, v, sign, n, f):
        color = n * 0.5 + wp.vec3(0.5, 0.5, 0.5)
    ray_hit[tid] = color


def cast(mesh: wp.Mesh) -> np.ndarray:
    origins = wp.array([[0.2, 0.2, -1], [0.9, 0.9, -1]], dtype=wp.vec3)
    ray_hit = wp.zeros(2, dtype=wp.vec3)
    wp.launch(raycast, dim=2, inputs=[mesh.id, origins, wp.array([[0, 0, 1]] * 2, dtype=wp.vec3)], outputs=[ray_hit])
    return ray_hit.numpy()


def test_seed_093_094_095_rays():
    """A mesh is made of points, indices and velocities, which may be missing; kernels get its id, and rays their results
    in variables."""
    points, indices = wp.array(POINTS, dtype=wp.vec3), wp.array(FACES, dtype=int)
    mesh = wp.Mesh(points=points, indices=indices, velocities=wp.zeros(4, dtype=wp.vec3))
    assert mesh.points is points and mesh.indices is indices
    np.testing.assert_allclose(cast(mesh), [[0.5, 0.5, 0.0], [0, 0, 0]], atol=1e-6)
    assert wp.Mesh(points, indices).velocities is None


def test_seed_097_098_refit():
    """Points may change, with a refit; the topology is fixed."""
    mesh = wp.Mesh(wp.array(POINTS, dtype=wp.vec3), wp.array(FACES, dtype=int))
    mesh.points.assign(POINTS * 2)
    mesh.refit()
    np.testing.assert_allclose(cast(mesh), [[0.5, 0.5, 0.0]] * 2, atol=1e-6)
    with pytest.raises(RuntimeError):
        mesh.points = wp.zeros(5, dtype=wp.vec3)
