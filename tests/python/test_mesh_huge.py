"""Coordinates up to the largest floats: trees are built, distances whose squares overflow are infinite."""

from __future__ import annotations

import geometry_reference as reference
import numpy as np
import pytest
import warp as wp
from mesh_cases import EXECUTORS, F, launch, made


@wp.kernel
def find(
    mesh: wp.uint64,
    point: wp.array(dtype=wp.vec3),
    max_dist: float,
    face: wp.array(dtype=int),
    weights: wp.array(dtype=wp.vec3),
    furthest: wp.array(dtype=int),
):
    i = wp.tid()
    q = wp.mesh_query_point(mesh, point[i], max_dist)
    face[i] = wp.where(q.result, q.face, -1)
    weights[i] = wp.vec3(q.u, q.v, q.sign)
    far = wp.mesh_query_furthest_point_no_sign(mesh, point[i], 0.0)
    furthest[i] = wp.where(far.result, far.face, -1)


def ask(mesh: wp.Mesh, points: np.ndarray, max_dist: float, executor: str | int = 0):
    n = len(points)
    face, weights, far = wp.zeros(n, dtype=int), wp.zeros(n, dtype=wp.vec3), wp.zeros(n, dtype=int)
    launch(find, n, [mesh.id, wp.array(points, dtype=wp.vec3), max_dist], [face, weights, far], executor)
    return face.numpy(), weights.numpy(), far.numpy()


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("power", [44, 60, 62])
def test_a_power_of_two_changes_nothing(power: int, executor: str | int) -> None:
    """As long as squares of distances fit, a mesh of another size gives the same faces and weights."""
    points, faces = reference.sphere(6)
    p = np.random.default_rng(3).uniform(-0.4, 0.4, (150, 3)).astype(F) + points[:150 % len(points)].mean(0)
    want = ask(made(points, faces), p, float("inf"), executor)
    scale = F(2.0**power)
    for constructor in (None, "sah", "median", "lbvh"):
        got = ask(made(points * scale, faces, bvh_constructor=constructor), p * scale, float("inf"), executor)
        np.testing.assert_array_equal(got[0], want[0])
        np.testing.assert_array_equal(got[1][:, :2], want[1][:, :2])


@pytest.mark.parametrize("size", [1e20, 1e30, 2e38])
def test_squares_that_overflow(size: float) -> None:
    """Infinitely far: found if nothing is too far, the lowest face first; a miss otherwise."""
    points, faces = reference.cube()
    for constructor in (None, "sah", "median", "lbvh"):
        mesh = made(points * F(size / 2), faces, bvh_constructor=constructor)
        p = np.zeros((3, 3), F)
        face, weights, far = ask(mesh, p, float("inf"))
        assert face.tolist() == [0, 0, 0] and np.isfinite(weights).all()
        assert ((weights[:, :2] >= 0) & (weights[:, :2] <= 1)).all()
        assert far.tolist() == [0, 0, 0]
        assert (ask(mesh, p, 3e38)[0] == -1).all()


@pytest.mark.parametrize("size", [1e20, 1e30, 2e38])
def test_near_a_huge_face(size: float) -> None:
    """Distances that can be squared are, whatever the face measures."""
    half, side = F(size / 2), F(size / 1e9)
    points = np.array([[-half, -half, 0], [half, -half, 0], [0, half, 0], [0, 0, 1e18], [side, 0, 1e18], [0, side, 1e18]], F)
    mesh = made(points, np.array([[3, 4, 5], [0, 1, 2]], np.int32))
    p = np.array([[0, 0, 1e15], [0, 0, 0.99e18], [1e19, 0, -1e16]], F)
    face, weights, _ = ask(mesh, p, float("inf"))
    assert face.tolist() == [1, 0, 1]
    assert ask(mesh, p, 1e17)[0].tolist() == [1, 0, 1]
    assert ask(mesh, p, 1e14)[0].tolist() == [-1, -1, -1]
    np.testing.assert_allclose(weights[0, :2], [0.25, 0.25], atol=1e-5)


def test_far_from_a_small_mesh() -> None:
    points, faces = reference.cube()
    mesh = made(points, faces)
    p = np.array([[1e20, 0, 0], [3e38, -3e38, 3e38], [-3e38, 3e38, 1]], F)
    face, weights, far = ask(mesh, p, float("inf"))
    assert (face == 0).all() and (far == 0).all() and np.isfinite(weights).all()
    assert (ask(mesh, p, 1e19)[0] == -1).all()


@wp.kernel
def met(tree: wp.uint64, low: wp.vec3, high: wp.vec3, out: wp.array(dtype=int)):
    for k in wp.bvh_query_aabb(tree, low, high):
        out[k] = out[k] + 1


def test_boxes_everywhere() -> None:
    rng = np.random.default_rng(8)
    a, b = (rng.uniform(-1, 1, (2, 500, 3)) * 3e38).astype(F)
    low, high = np.minimum(a, b), np.maximum(a, b)
    for constructor in (None, "sah", "median", "lbvh"):
        tree = wp.Bvh(wp.array(low, dtype=wp.vec3), wp.array(high, dtype=wp.vec3), constructor=constructor)
        for corner in (F(1e37), F(-2e38)):
            box = np.full(3, corner), np.full(3, corner + F(1e38))
            out = wp.zeros(500, dtype=int)
            wp.launch(met, 1, [tree.id, wp.vec3(*box[0]), wp.vec3(*box[1])], [out])
            want = ((low <= box[1]) & (box[0] <= high)).all(1)
            np.testing.assert_array_equal(out.numpy(), want.astype(int))


@wp.kernel
def find_side(mesh: wp.uint64, point: wp.array(dtype=wp.vec3), face: wp.array(dtype=int), side: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_point_sign_normal(mesh, point[i], wp.inf, 0.3)
    face[i] = wp.where(q.result, q.face, -1)
    side[i] = q.sign


@pytest.mark.parametrize("way", ["refit", "points", "rebuild"])
@pytest.mark.parametrize("power", [-40, -12, 12, 40])
def test_another_size_behind_a_refit(power: int, way: str) -> None:
    """Tolerances go with the size that a mesh has now: a GPU, which nobody waits for, measures the edges again as well."""
    corners, faces = reference.sphere(4)
    scale = F(2.0**power)
    p = np.random.default_rng(5).uniform(-1.2, 1.2, (100, 3)).astype(F) * scale
    mesh = made(corners, faces, support_winding_number=True)
    if way == "points":
        mesh.points = wp.array(corners * scale, dtype=wp.vec3)
    else:
        mesh.points.assign(corners * scale)
        mesh.refit() if way == "refit" else mesh.rebuild()
    new = made(corners * scale, faces, support_winding_number=True)
    for got, want in zip(ask(mesh, p, float("inf")), ask(new, p, float("inf")), strict=True):
        np.testing.assert_array_equal(got, want)
    answers = []
    for m in (mesh, new):
        face, side = wp.zeros(len(p), dtype=int), wp.zeros(len(p), dtype=float)
        launch(find_side, len(p), [m.id, wp.array(p, dtype=wp.vec3)], [face, side], 0)
        answers.append((face.numpy().tolist(), side.numpy().tolist()))
    assert answers[0] == answers[1] and len(set(answers[0][1])) == 2
