"""What the documents state about meshes, on every device."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

# Two squares, at z = 0 and, above it, at z = 1.
SQUARE = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], dtype=np.float32)
POINTS = np.concatenate([SQUARE, SQUARE + np.array([0, 0, 1], dtype=np.float32)])
LOW, HIGH = [0, 1, 2, 0, 2, 3], [4, 5, 6, 4, 6, 7]


@wp.kernel
def raycast(mesh: wp.uint64,
            ray_origin: wp.array(dtype=wp.vec3),
            ray_dir: wp.array(dtype=wp.vec3),
            ray_hit: wp.array(dtype=wp.vec3),
            depth: wp.array(dtype=float),
            face: wp.array(dtype=int)):
    tid = wp.tid()

    t = float(0.0)      # hit distance along ray
    u = float(0.0)      # hit face barycentric u
    v = float(0.0)      # hit face barycentric v
    sign = float(0.0)   # hit face sign
    n = wp.vec3()       # hit face normal
    f = int(0)          # hit face index

    color = wp.vec3()

    # ray cast against the mesh
    if wp.mesh_query_ray(mesh, ray_origin[tid], ray_dir[tid], 1.e+6, t, u, v, sign, n, f):

        # if we got a hit then set color to the face normal
        color = n*0.5 + wp.vec3(0.5, 0.5, 0.5)

    ray_hit[tid] = color
    depth[tid] = t
    face[tid] = f


@wp.kernel
def look_up(mesh: wp.uint64, ids: wp.array(dtype=wp.uint64), out: wp.array(dtype=wp.vec3)):
    ids[0] = mesh
    near = wp.mesh_query_point(mesh, wp.vec3(0.25, 0.5, -3.0), 1.e+6)
    out[0] = wp.mesh_eval_position(mesh, near.face, near.u, near.v)
    out[1] = wp.mesh_eval_velocity(mesh, near.face, near.u, near.v)


def cast(mesh: wp.Mesh, origins: list, directions: list) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Colours, depths and faces of some rays."""
    count = len(origins)
    hit, depth, face = wp.zeros(count, dtype=wp.vec3), wp.zeros(count, dtype=float), wp.zeros(count, dtype=int)
    rays = [wp.array(origins, dtype=wp.vec3), wp.array(directions, dtype=wp.vec3)]
    wp.launch(raycast, dim=count, inputs=[mesh.id, *rays], outputs=[hit, depth, face])
    return hit.numpy(), depth.numpy(), face.numpy()


def test_seed_093_meshes_keep_their_buffers(device: wp.Device):
    """wp.Mesh(points, indices, velocities): references to the arrays, all on one device."""
    points, velocities = wp.array(POINTS, dtype=wp.vec3), wp.array(2 * POINTS, dtype=wp.vec3)
    indices = wp.array(LOW + HIGH, dtype=int)
    mesh = wp.Mesh(points, indices, velocities)
    assert mesh.points is points and mesh.indices is indices and mesh.velocities is velocities
    assert mesh.device == device
    assert wp.Mesh(points, indices).velocities is None
    if wp.is_cuda_available():
        other = "cpu" if device.is_cuda else "cuda"
        with pytest.raises(RuntimeError, match="same device"):
            wp.Mesh(points, wp.array(LOW, dtype=int, device=other))


def test_seed_094_ids_go_to_kernels():
    """mesh.id, a unique number, goes to kernels as uint64, which then ask for rays and closest points."""
    points = wp.array(POINTS, dtype=wp.vec3)
    mesh = wp.Mesh(points, wp.array(LOW + HIGH, dtype=int), wp.array(2 * POINTS, dtype=wp.vec3))
    other = wp.Mesh(points, wp.array(LOW, dtype=int))
    assert isinstance(mesh.id, int) and mesh.id != other.id
    ids, out = wp.zeros(1, dtype=wp.uint64), wp.zeros(2, dtype=wp.vec3)
    wp.launch(look_up, dim=1, inputs=[mesh.id], outputs=[ids, out])
    assert int(ids.numpy()[0]) == mesh.id
    np.testing.assert_allclose(out.numpy(), [[0.25, 0.5, 0.0], [0.5, 1.0, 0.0]], atol=1e-6)


def test_seed_095_rays_with_results_by_reference():
    """mesh_query_ray(mesh, origin, dir, max_t, t, u, v, sign, n, f) is true at a hit and then sets its last six."""
    mesh = wp.Mesh(wp.array(POINTS, dtype=wp.vec3), wp.array(LOW + HIGH, dtype=int))
    origins = [[0.5, -0.25, 3.0], [0.5, -0.25, 0.75], [-0.5, 0.25, -2.0], [5.0, 0.0, 3.0]]
    color, depth, face = cast(mesh, origins, [[0, 0, -1], [0, 0, -0.5], [0, 0, 1], [0, 0, -1]])
    np.testing.assert_array_equal(color, [[0.5, 0.5, 1.0]] * 3 + [[0, 0, 0]])
    np.testing.assert_array_equal(depth, [2.0, 1.5, 2.0, 0.0])
    np.testing.assert_array_equal(face, [2, 0, 1, 0])


@wp.kernel
def lift(points: wp.array(dtype=wp.vec3)):
    tid = wp.tid()
    points[tid] = points[tid] + wp.vec3(0.0, 0.0, 10.0)


def test_seed_097_refit_after_points_moved():
    """Points are changed by writing to the array; after Mesh.refit() queries work on the new ones."""
    mesh = wp.Mesh(wp.array(POINTS, dtype=wp.vec3), wp.array(LOW + HIGH, dtype=int))
    number = mesh.id
    wp.launch(lift, dim=len(POINTS), inputs=[mesh.points])
    mesh.refit()
    assert mesh.id == number
    _, depth, face = cast(mesh, [[0.5, -0.25, 20.0], [0.5, -0.25, 5.0]], [[0, 0, -1], [0, 0, -1]])
    np.testing.assert_array_equal(depth, [9.0, 0.0])
    np.testing.assert_array_equal(face, [2, 0])


def test_seed_098_other_faces_are_another_mesh():
    """The topology of a mesh is fixed: other indices, even of the same points, make a new Mesh, and both live on."""
    points = wp.array(POINTS, dtype=wp.vec3)
    low, high = wp.Mesh(points, wp.array(LOW, dtype=int)), wp.Mesh(points, wp.array(HIGH, dtype=int))
    assert low.id != high.id
    for mesh, wanted in ((low, 3.0), (high, 2.0), (low, 3.0)):
        _, depth, _ = cast(mesh, [[0.5, -0.25, 3.0]], [[0, 0, -1]])
        assert depth.tolist() == [wanted]
