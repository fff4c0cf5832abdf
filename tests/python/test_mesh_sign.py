"""Inside and outside of meshes, by every query that tells."""

from __future__ import annotations

import geometry_reference as reference
import numpy as np
import pytest
import warp as wp
from mesh_cases import EXECUTORS, F, launch, made


@wp.kernel
def signs(mesh: wp.uint64, point: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=float), face: wp.array2d(dtype=int)):
    i = wp.tid()
    p = point[i]
    q = wp.mesh_query_point(mesh, p, 1.0e6)
    out[i, 0] = q.sign
    face[i, 0] = q.face
    q = wp.mesh_query_point_sign_normal(mesh, p, 1.0e6)
    out[i, 1] = q.sign
    face[i, 1] = q.face
    q = wp.mesh_query_point_sign_winding_number(mesh, p, 1.0e6)
    out[i, 2] = q.sign
    face[i, 2] = q.face
    q = wp.mesh_query_point_sign_parity(mesh, p, 1.0e6)
    out[i, 3] = q.sign
    face[i, 3] = q.face
    q = wp.mesh_query_point_sign_parity(mesh, p, 1.0e6, 5, 0.2)
    out[i, 4] = q.sign


def ask(mesh: wp.Mesh, p: np.ndarray, executor: str | int = 0) -> np.ndarray:
    out, face = wp.zeros((len(p), 5), dtype=float), wp.zeros((len(p), 4), dtype=int)
    launch(signs, len(p), [mesh.id, wp.array(p, dtype=wp.vec3)], [out, face], executor)
    assert (face.numpy() == face.numpy()[:, :1]).all()
    return out.numpy()


def winding_float64(points: np.ndarray, faces: np.ndarray, p: np.ndarray) -> np.ndarray:
    c = points[faces].astype(np.float64)[None] - p[:, None, None].astype(np.float64)
    a, b, d = c[:, :, 0], c[:, :, 1], c[:, :, 2]
    la, lb, ld = (np.linalg.norm(x, axis=-1) for x in (a, b, d))
    top = (a * np.cross(b, d)).sum(-1)
    low = la * lb * ld + (a * b).sum(-1) * ld + (b * d).sum(-1) * la + (d * a).sum(-1) * lb
    return (2 * np.arctan2(top, low)).sum(1) / (4 * np.pi)


CLOSED = {"sphere": reference.sphere(10), "cube": reference.cube(), "coarse": reference.sphere(4, 0.6)}


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", CLOSED)
def test_closed_meshes(name: str, executor: str | int) -> None:
    points, faces = CLOSED[name]
    rng = np.random.default_rng(6)
    p = rng.uniform(-1.3, 1.3, (500, 3)).astype(F)
    wound = winding_float64(points, faces, p)
    assert np.minimum(abs(wound), abs(wound - 1)).max() < 1e-6
    want = np.where(wound > 0.5, -1, 1)
    assert (want < 0).sum() > 50
    for constructor in ("sah", "lbvh"):
        got = ask(made(points, faces, support_winding_number=True, bvh_constructor=constructor), p, executor)
        np.testing.assert_array_equal(got, np.repeat(want[:, None], 5, 1))


def test_nested() -> None:
    """A shell: outside in its hole."""
    points, faces = reference.meshes()["nested"]
    p = np.array([[0.05, 0.03, 0.02], [0.7, 0.05, 0.03], [0.05, -0.7, 0.02], [2, 0.1, 0.2]], F)
    got = ask(made(points, faces, support_winding_number=True), p)
    np.testing.assert_array_equal(got, np.repeat([[1], [-1], [-1], [1]], 5, 1))


@pytest.mark.parametrize("when", ["build", "refit"])
def test_winding_numbers_beside_a_corner_that_is_no_number(when: str) -> None:
    """Its faces count for nothing, whichever faces share their leaves."""
    points, faces = reference.sphere(8)
    points = np.concatenate([points, np.full((1, 3), 0.3, F)])
    faces = np.concatenate([faces, [[0, 1, len(points) - 1], [0, len(points) - 1, 2]]]).astype(np.int32)
    p = np.random.default_rng(2).uniform(-1.2, 1.2, (400, 3)).astype(F)
    want = np.where(winding_float64(points, faces[:-2], p) > 0.5, -1, 1)
    broken = points.copy()
    broken[-1] = np.nan
    mesh = made(broken if when == "build" else points, faces, support_winding_number=True)
    if when == "refit":
        mesh.points.assign(broken)
        mesh.refit()
    np.testing.assert_array_equal(ask(mesh, p)[:, 2], want)


def test_without_moments_rays_tell() -> None:
    points, faces = reference.sphere(6)
    p = np.random.default_rng(1).uniform(-1.3, 1.3, (200, 3)).astype(F)
    got = ask(made(points, faces), p)
    np.testing.assert_array_equal(got[:, 2], got[:, 0])


@wp.kernel
def wind(mesh: wp.uint64, point: wp.array(dtype=wp.vec3), accuracy: float, threshold: float, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.mesh_query_point_sign_winding_number(mesh, point[i], 1.0e6, accuracy, threshold).sign


def test_winding_numbers_of_open_meshes() -> None:
    """Thresholds on both sides of the number that float64 gives."""
    points, faces = reference.sphere(12)
    faces = faces[points[faces].mean(1)[:, 2] < 0.4]
    p = np.random.default_rng(2).uniform(-1.5, 1.5, (300, 3)).astype(F)
    want = winding_float64(points, faces, p)
    mesh = made(points, faces, support_winding_number=True)
    out = wp.zeros(len(p), dtype=float)
    for threshold in (0.2, 0.4, 0.6, 0.8):
        wp.launch(wind, len(p), [mesh.id, wp.array(p, dtype=wp.vec3), 2.0, threshold], [out])
        clear = abs(want - threshold) > 0.01
        np.testing.assert_array_equal(out.numpy()[clear], np.where(want > threshold, -1, 1)[clear])
        wp.launch(wind, len(p), [mesh.id, wp.array(p, dtype=wp.vec3), 1.0e6, threshold], [out])  # every face by itself
        clear = abs(want - threshold) > 1e-5
        np.testing.assert_array_equal(out.numpy()[clear], np.where(want > threshold, -1, 1)[clear])


@wp.kernel
def signed_by_reference(mesh: wp.uint64, p: wp.vec3, max_dist: float, floats: wp.array(dtype=float), ints: wp.array(dtype=int)):
    s = float(-7.0)
    u = float(-7.0)
    v = float(-7.0)
    f = int(-7)
    ints[0] = wp.where(wp.mesh_query_point_sign_normal(mesh, p, max_dist, s, f, u, v), 1, 0)
    floats[0] = s
    s = float(-7.0)
    ints[1] = wp.where(wp.mesh_query_point_sign_normal(mesh, p, max_dist, s, f, u, v, epsilon=0.01), 1, 0)
    floats[1] = s
    s = float(-7.0)
    ints[2] = wp.where(wp.mesh_query_point_sign_winding_number(mesh, p, max_dist, s, f, u, v), 1, 0)
    floats[2] = s
    s = float(-7.0)
    ints[3] = wp.where(wp.mesh_query_point_sign_parity(mesh, p, max_dist, s, f, u, v, n_sample=3), 1, 0)
    floats[3] = s


def test_results_by_reference() -> None:
    mesh = made(*reference.cube(), support_winding_number=True)
    floats, ints = wp.zeros(4, dtype=float), wp.zeros(4, dtype=int)
    wp.launch(signed_by_reference, 1, [mesh.id, wp.vec3(0.1, 0.2, 0.3), 5.0], [floats, ints])
    assert floats.numpy().tolist() == [-1.0] * 4 and ints.numpy().tolist() == [1] * 4
    wp.launch(signed_by_reference, 1, [mesh.id, wp.vec3(9.0, 0.2, 0.3), 5.0], [floats, ints])
    assert floats.numpy().tolist() == [-7.0] * 4 and ints.numpy().tolist() == [0] * 4


def test_normals_at_corners_and_edges() -> None:
    """Points whose nearest place is a corner or an edge, where single faces would tell wrongly."""
    points, faces = reference.sphere(4, 0.9)
    rng = np.random.default_rng(3)
    p = (points[rng.integers(0, len(points), 400)] * rng.choice([0.97, 1.03], (400, 1))).astype(F)
    want = np.where(winding_float64(points, faces, p) > 0.5, -1, 1)
    got = ask(made(points, faces, support_winding_number=True), p)
    np.testing.assert_array_equal(got[:, 1], want)
