"""Faces of meshes: iterators over boxes and spheres, values at points of faces, corners; out of range; gradients."""

from __future__ import annotations

import geometry_reference as reference
import numpy as np
import pytest
import warp as wp
from mesh_cases import EXECUTORS, F, launch, made

MESHES = reference.meshes()


@wp.kernel
def gather(
    mesh: wp.uint64,
    low: wp.array(dtype=wp.vec3),
    high: wp.array(dtype=wp.vec3),
    boxed: wp.array2d(dtype=int),
    again: wp.array2d(dtype=int),
    round: wp.array2d(dtype=int),
):
    i = wp.tid()
    for f in wp.mesh_query_aabb(mesh, low[i], high[i]):
        boxed[i, f] += 1
    query = wp.mesh_query_aabb(mesh, lower=low[i], upper=high[i])
    f = int(0)
    while wp.mesh_query_aabb_next(query, f):
        again[i, f] += 1
    sphere = wp.mesh_query_sphere(mesh, low[i], high[i][0] - low[i][0])
    while wp.mesh_query_next(sphere, f):
        round[i, f] += 1


def nearest_of_faces(corners: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The way from a point to the nearest point of each face, in float64."""
    a, b, c = (corners[:, k] - p for k in range(3))
    ways = []
    for x, y in ((a, b), (b, c), (c, a)):
        e = y - x
        s = np.clip(-(x * e).sum(1) / np.maximum((e * e).sum(1), 1e-300), 0, 1)
        ways.append(x + e * s[:, None])
    n = np.cross(b - a, c - a)
    square = (n * n).sum(1)
    foot = n * ((a * n).sum(1) / np.maximum(square, 1e-300))[:, None]
    inside = square > 0
    for x, y in ((a, b), (b, c), (c, a)):
        inside &= (np.cross(y - x, foot - x) * n).sum(1) >= 0
    ways.append(np.where(inside[:, None], foot, np.inf))
    with np.errstate(all="ignore"):
        best = np.argmin([np.linalg.norm(w, axis=1) for w in ways], axis=0)
    return np.array(ways)[best, np.arange(len(corners))]


def boxes_of(points: np.ndarray, faces: np.ndarray):
    corners = points[faces.reshape(-1, 3)]
    return corners.min(1), corners.max(1), np.isfinite(corners).all((1, 2))


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", [name for name in MESHES if name != "empty"])
def test_boxes_and_spheres(name: str, executor: str | int) -> None:
    points, faces = MESHES[name]
    rng = np.random.default_rng(1)
    middle, size = reference.size_of(points)
    n = 60
    low = (middle + rng.uniform(-1, 1, (n, 3)) * size).astype(F)
    high = (low + rng.uniform(0, 1, (n, 3)) * size).astype(F)
    corners = points[faces[rng.integers(0, len(faces), n)], 0]
    touch = rng.random(n) < 0.3
    low[touch] = np.where(np.isfinite(corners), corners, 0)[touch]
    high[: n // 4] = np.where(touch[: n // 4, None], low[: n // 4], high[: n // 4])
    low[0, 1], high[1, 2], high[2] = np.nan, np.nan, low[2] - F(size)
    boxed, again, round = (wp.zeros((n, len(faces)), dtype=int) for _ in range(3))
    mesh = made(points, faces)
    launch(gather, n, [mesh.id, wp.array(low, dtype=wp.vec3), wp.array(high, dtype=wp.vec3)], [boxed, again, round], executor)
    a, b, good = boxes_of(points, faces)
    valid = (low <= high).all(1)
    want = ((a <= high[:, None]) & (b >= low[:, None])).all(-1) & good & valid[:, None]
    np.testing.assert_array_equal(boxed.numpy(), want)
    np.testing.assert_array_equal(again.numpy(), want)
    found = round.numpy()
    assert (found <= 1).all() and not found[:, ~good].any()
    for i in range(n):
        radius = float(high[i, 0] - low[i, 0])
        if not (radius >= 0 and np.isfinite(low[i]).all()):
            assert not found[i].any()
            continue
        apart = np.linalg.norm(nearest_of_faces(points[faces[good]].astype(np.float64), low[i].astype(np.float64)), axis=1)
        slack = 1e-5 * (size + np.abs(low[i]).max() + np.abs(points[np.isfinite(points)]).max())
        clear = np.abs(apart - radius) > slack
        np.testing.assert_array_equal(found[i, good][clear], apart[clear] <= radius)


@wp.kernel
def nested(mesh: wp.uint64, pairs: wp.array(dtype=int)):
    a = wp.mesh_query_aabb(mesh, wp.vec3(-9.0, -9.0, -9.0), wp.vec3(9.0, 9.0, 9.0))
    for i in a:
        b = a
        count = int(0)
        for j in b:
            count += 1
        pairs[i] = count


def test_queries_in_queries() -> None:
    points, faces = reference.sphere(6)
    pairs = wp.full(len(faces), -1, dtype=int)
    mesh = made(points, faces)
    wp.launch(nested, 1, [mesh.id], [pairs])
    assert sorted(pairs.numpy().tolist()) == list(range(len(faces)))


def test_nothing_in_an_empty_mesh() -> None:
    out = [wp.zeros((1, 1), dtype=int) for _ in range(3)]
    box = [wp.array([[-9.0] * 3], dtype=wp.vec3), wp.array([[9.0] * 3], dtype=wp.vec3)]
    mesh = made(*MESHES["empty"])
    wp.launch(gather, 1, [mesh.id, *box], out)
    wp.launch(gather, 1, [0, *box], out)
    assert all(not o.numpy().any() for o in out)


@wp.kernel
def values(mesh: wp.uint64, face: wp.array(dtype=int), uv: wp.array(dtype=wp.vec2), out: wp.array2d(dtype=wp.vec3)):
    i = wp.tid()
    f = face[i]
    out[i, 0] = wp.mesh_eval_position(mesh, f, uv[i][0], uv[i][1])
    out[i, 1] = wp.mesh_eval_velocity(mesh, f, uv[i][0], uv[i][1])
    out[i, 2] = wp.mesh_eval_face_normal(mesh, f)
    out[i, 3] = wp.mesh_get_point(mesh, 3 * f + 1)
    out[i, 4] = wp.mesh_get_velocity(mesh, 3 * f + 2)
    m = wp.mesh_get(mesh)
    index = wp.mesh_get_index(mesh, 3 * f)
    out[i, 5] = wp.vec3(float(index), float(m.indices.shape[0]), float(m.points.shape[0]))
    if index >= 0:
        out[i, 6] = m.points[m.indices[3 * f]]


@pytest.mark.parametrize("with_velocities", [True, False])
def test_values(with_velocities: bool) -> None:
    points, faces = reference.sphere(5)
    rng = np.random.default_rng(2)
    speeds = rng.normal(size=points.shape).astype(F)
    mesh = made(points, faces, velocities=wp.array(speeds, dtype=wp.vec3) if with_velocities else None)
    n = len(faces)
    uv = rng.dirichlet([1, 1, 1], n)[:, :2].astype(F)
    out = wp.zeros((n, 7), dtype=wp.vec3)
    wp.launch(values, n, [mesh.id, wp.array(np.arange(n), dtype=int), wp.array(uv, dtype=wp.vec2)], [out])
    got, c, s = out.numpy(), points[faces], speeds[faces] * with_velocities
    w = np.concatenate([uv, 1 - uv.sum(1, keepdims=True)], 1)[..., None]
    np.testing.assert_allclose(got[:, 0], (c * w).sum(1), atol=1e-6)
    np.testing.assert_allclose(got[:, 1], (s * w).sum(1), atol=1e-6)
    normal = np.cross(c[:, 1] - c[:, 0], c[:, 2] - c[:, 0])
    np.testing.assert_allclose(got[:, 2], normal / np.linalg.norm(normal, axis=1, keepdims=True), atol=1e-6)
    np.testing.assert_array_equal(got[:, 3], c[:, 1])
    np.testing.assert_array_equal(got[:, 4], s[:, 2])
    np.testing.assert_array_equal(got[:, 5, 0], faces[:, 0])
    assert (got[:, 5, 1:] == [faces.size, len(points)]).all()
    np.testing.assert_array_equal(got[:, 6], c[:, 0])


def test_out_of_range() -> None:
    points, faces = reference.cube()
    out = wp.zeros((4, 7), dtype=wp.vec3)
    asked = wp.array([-1, 12, 2**30, -(2**31)], dtype=int)
    uv = wp.array(np.full((4, 2), 0.3), dtype=wp.vec2)
    mesh = made(points, faces)
    for id in (mesh.id, 0):
        wp.launch(values, 4, [id, asked, uv], [out])
        assert not out.numpy()[:, [0, 1, 2, 3, 4, 6]].any()
        assert (out.numpy()[:, 5, 0] == -1).all()


@pytest.mark.parametrize("face", [-1, 12])
def test_debug_mode_reports_what_is_out_of_range(face: int) -> None:
    mesh = made(*reference.cube())
    before = wp.config.mode
    wp.config.mode = "debug"
    try:
        with pytest.raises(RuntimeError, match="out of range"):
            uv = wp.zeros(1, dtype=wp.vec2)
            wp.launch(values, 1, [mesh.id, wp.array([face], dtype=int), uv], [wp.zeros((1, 7), dtype=wp.vec3)])
            wp.synchronize()
    finally:
        wp.config.mode = before


@wp.kernel
def eval_loss(mesh: wp.uint64, uv: wp.array(dtype=wp.vec2), weights: wp.array2d(dtype=wp.vec3), loss: wp.array(dtype=float)):
    i = wp.tid()
    x = wp.mesh_eval_position(mesh, i, uv[i][0], uv[i][1])
    v = wp.mesh_eval_velocity(mesh, i, uv[i][0], uv[i][1])
    n = wp.mesh_eval_face_normal(mesh, i)
    p = wp.mesh_get_point(mesh, 3 * i)
    wp.atomic_add(loss, 0, wp.dot(x, weights[i, 0]) + wp.dot(v, weights[i, 1]) + wp.dot(n, weights[i, 2]) + wp.dot(p, p))


def test_gradients(device: wp.Device) -> None:
    points, faces = reference.cube()
    rng = np.random.default_rng(7)
    n = len(faces)
    speeds, uv = rng.normal(size=points.shape), rng.dirichlet([1, 1, 1], n)[:, :2]
    weights = rng.normal(size=(n, 3, 3))
    x, s = (wp.array(a.astype(F), dtype=wp.vec3, requires_grad=True) for a in (points, speeds))
    mesh = wp.Mesh(x, wp.array(faces.ravel(), dtype=int), s)
    at = wp.array(uv.astype(F), dtype=wp.vec2, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(eval_loss, n, [mesh.id, at, wp.array(weights.astype(F), dtype=wp.vec3)], [loss])
    tape.backward(loss)

    def value(points, speeds, uv):
        c, sp = points[faces], speeds[faces]
        w = np.concatenate([uv, 1 - uv.sum(1, keepdims=True)], 1)[..., None]
        normal = np.cross(c[:, 1] - c[:, 0], c[:, 2] - c[:, 0])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        parts = np.stack([(c * w).sum(1), (sp * w).sum(1), normal], 1)
        return (parts * weights).sum() + (c[:, 0] ** 2).sum()

    given = [points.astype(np.float64), speeds.copy(), uv.copy()]
    for which, got in enumerate((x.grad, s.grad, at.grad)):
        want = np.zeros_like(given[which])
        for index in np.ndindex(want.shape):
            up, down = ([a.copy() for a in given] for _ in range(2))
            up[which][index] += 1e-6
            down[which][index] -= 1e-6
            want[index] = (value(*up) - value(*down)) / 2e-6
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-3, atol=1e-3)


@wp.kernel
def in_tree(mesh: wp.uint64, roots: wp.array(dtype=int), hits: wp.array(dtype=int)):
    tree = wp.mesh_get_bvh(mesh)
    for f in wp.bvh_query_aabb(tree, wp.vec3(-9.0, -9.0, -9.0), wp.vec3(9.0, 9.0, 0.0)):
        hits[f] += 1
    for f in wp.bvh_query_ray(tree, wp.vec3(0.1, 0.2, -5.0), wp.vec3(0.0, 0.0, 1.0)):
        hits[f] += 100
    roots[0] = wp.mesh_get_group_root(mesh, 3)


def test_the_tree_of_a_mesh() -> None:
    points, faces = reference.sphere(6)
    roots, hits = wp.zeros(1, dtype=int), wp.zeros(len(faces), dtype=int)
    mesh = made(points, faces)
    wp.launch(in_tree, 1, [mesh.id], [roots, hits])
    low, high, _ = boxes_of(points, faces)
    ray = (low[:, 0] <= 0.1) & (high[:, 0] >= 0.1) & (low[:, 1] <= 0.2) & (high[:, 1] >= 0.2)
    np.testing.assert_array_equal(hits.numpy(), (low[:, 2] <= 0) + 100 * ray)
    assert roots.numpy()[0] == -1  # no groups


@wp.func
def count_faces(query: wp.MeshQuery) -> int:
    count = int(0)
    face = int(0)
    while wp.mesh_query_next(query, face):
        count += 1
    return count


def test_one_type_for_boxes_and_spheres() -> None:
    @wp.kernel
    def both(mesh: wp.uint64, out: wp.array(dtype=int)):
        out[0] = count_faces(wp.mesh_query_aabb(mesh, wp.vec3(-9.0), wp.vec3(9.0)))
        out[1] = count_faces(wp.mesh_query_sphere(mesh, wp.vec3(), 9.0))

    assert wp.MeshQuery is wp.MeshQueryAABB
    points = wp.array(np.eye(3, dtype=np.float32), dtype=wp.vec3)
    mesh = wp.Mesh(points, wp.array([0, 1, 2], dtype=int))
    out = wp.zeros(2, dtype=int)
    wp.launch(both, dim=1, inputs=[mesh.id], outputs=[out])
    assert out.numpy().tolist() == [1, 1]
