"""Rays through meshes: equal, bit for bit, to a loop over all faces, on every executor, for every tree; corners; gradients."""

from __future__ import annotations

import geometry_reference as reference
import numpy as np
import pytest
import warp as wp
from mesh_cases import EXECUTORS, F, launch, made, same_bits

MESHES = reference.meshes()


@wp.kernel
def shoot(
    mesh: wp.uint64,
    start: wp.array(dtype=wp.vec3),
    dir: wp.array(dtype=wp.vec3),
    max_t: wp.array(dtype=float),
    whole: wp.array2d(dtype=float),
    face: wp.array(dtype=int),
    normal: wp.array(dtype=wp.vec3),
    extra: wp.array2d(dtype=int),
):
    i = wp.tid()
    q = wp.mesh_query_ray(mesh, start[i], dir[i], max_t[i])
    face[i] = wp.where(q.result, q.face, -1)
    whole[i, 0] = q.t
    whole[i, 1] = q.u
    whole[i, 2] = q.v
    whole[i, 3] = q.sign
    normal[i] = q.normal
    extra[i, 0] = wp.where(wp.mesh_query_ray_anyhit(mesh, start[i], dir[i], max_t[i]), 1, 0)
    extra[i, 1] = wp.mesh_query_ray_count_intersections(mesh, start[i], dir[i])


def ask(mesh: wp.Mesh, start: np.ndarray, dir: np.ndarray, max_t: np.ndarray, executor: str | int = 0) -> dict:
    n = len(start)
    whole, face, normal = wp.zeros((n, 4), dtype=float), wp.zeros(n, dtype=int), wp.zeros(n, dtype=wp.vec3)
    extra = wp.zeros((n, 2), dtype=int)
    inputs = [mesh.id, wp.array(start, dtype=wp.vec3), wp.array(dir, dtype=wp.vec3), wp.array(max_t, dtype=float)]
    launch(shoot, n, inputs, [whole, face, normal, extra], executor)
    t, u, v, sign = whole.numpy().T
    any_hit, count = extra.numpy().T
    return {"face": face.numpy(), "t": t, "u": u, "v": v, "sign": sign, "any": any_hit, "count": count, "n": normal.numpy()}


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", MESHES)
def test_equal_to_the_loop(name: str, executor: str | int) -> None:
    points, faces = MESHES[name]
    rays = reference.ray_cases(points, faces)
    want = reference.rays(points, faces, *rays)
    for constructor in ("sah", "median", "lbvh"):
        got = ask(made(points, faces, bvh_constructor=constructor), *rays, executor)
        np.testing.assert_array_equal(got["face"], want["face"])
        for key in ("t", "u", "v", "sign"):
            same_bits(got[key], want[key])
        np.testing.assert_array_equal(got["any"], want["face"] >= 0)
        np.testing.assert_array_equal(got["count"], want["count"])


@pytest.mark.parametrize("away", [1.0, 1e3, 1e5, 1e7])
@pytest.mark.parametrize("name", ["sphere", "soup", "plane", "far", "scales"])
def test_rays_from_afar_and_of_any_length(name: str, away: float) -> None:
    """Boxes that are rounded to a grid must hold what exact ones do, however far the ray comes from."""
    points, faces = MESHES[name]
    generator = np.random.default_rng(int(away))
    start, dir, max_t = reference.ray_cases(points, faces, 300)
    middle, size = reference.size_of(points)
    aim = reference.targets(points, faces, 300, generator)
    start[10:200] = (middle + generator.normal(size=(190, 3)) * size * away).astype(F)
    dir[10:200] = aim[10:200] - start[10:200]
    dir[100:200] *= (10.0 ** generator.integers(-22, 15, (100, 1))).astype(F)
    dir[10:60, 1] *= (10.0 ** generator.integers(-38, -5, 50)).astype(F)
    dir[200:230, 0] = 0
    dir[230:250, :2] = 0
    want = reference.rays(points, faces, start, dir, max_t)
    got = ask(made(points, faces), start, dir, max_t)
    np.testing.assert_array_equal(got["face"], want["face"])
    same_bits(got["t"], want["t"])
    np.testing.assert_array_equal(got["any"], want["face"] >= 0)
    np.testing.assert_array_equal(got["count"], want["count"])
    if name not in ("flat", "empty", "broken"):
        assert (want["face"] >= 0).sum() > 50


def test_equal_after_changes() -> None:
    points, faces = reference.sphere(8)
    mesh = made(points, faces)
    rng = np.random.default_rng(3)
    for step in range(3):
        moved = (points + rng.normal(size=points.shape) * 0.1).astype(F)
        mesh.points.assign(moved)
        mesh.rebuild() if step == 1 else mesh.refit()
        rays = reference.ray_cases(moved, faces, seed=step)
        got, want = ask(mesh, *rays), reference.rays(moved, faces, *rays)
        np.testing.assert_array_equal(got["face"], want["face"])
        same_bits(got["t"], want["t"])


@wp.kernel
def from_root(mesh: wp.uint64, roots: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    query = wp.mesh_query_ray(mesh, wp.vec3(0.1, 0.2, 9.0), wp.vec3(0.0, 0.0, -1.0), 100.0, roots[i])
    out[i] = wp.where(query.result, query.face, -1)


def test_roots_that_are_none() -> None:
    """Where a tree has room for nodes, but none are."""
    points, faces = reference.sphere(8)
    roots = np.array([-1, 0, len(faces) - 2, len(faces), 10**9, -5], np.int32)
    mesh, out = made(points, faces), wp.zeros(len(roots), dtype=int)
    wp.launch(from_root, len(roots), inputs=[mesh.id, wp.array(roots, dtype=int)], outputs=[out])
    found = out.numpy()
    assert found[0] >= 0 and found[1] == found[0] and (found[2:] == -1).all()


def test_no_ray_passes() -> None:
    """From inside of closed meshes, at edges and corners, everything meets a face; crossings are odd inside and even outside."""
    for name in ("sphere", "cube", "far"):
        points, faces = MESHES[name]
        rng = np.random.default_rng(5)
        middle, size = reference.size_of(points)
        n = 20000
        aim = reference.targets(points, faces, n, rng)
        start = (middle + rng.uniform(-0.3, 0.3, (n, 3)) * size).astype(F)
        start[: n // 4] = (rng.integers(-3, 4, (n // 4, 3)) / 16 * size + middle).astype(F)
        inf = np.full(n, np.inf, F)
        got = ask(made(points, faces), start, (aim - start).astype(F), inf)
        assert (got["face"] >= 0).all()
        assert (got["sign"] == -1).all()
        assert (got["count"] % 2 == 1).all()
        out = (middle + rng.normal(size=(n, 3)) * 5 * size).astype(F)
        outside = np.linalg.norm(out - middle, axis=1) > 2 * size
        got = ask(made(points, faces), out, (aim - out).astype(F), inf)
        assert (got["count"][outside] % 2 == 0).all()


def test_against_float64() -> None:
    points, faces = reference.sphere(8)
    start, dir, max_t = reference.ray_cases(points, faces, 1000)
    got = ask(made(points, faces), start, dir, max_t)
    hit = got["face"] >= 0
    x0, x1, x2 = (points[faces[got["face"][hit]]][:, k].astype(np.float64) for k in range(3))
    u, v, t = (got[k][hit, None].astype(np.float64) for k in "uvt")
    on_face = u * x0 + v * x1 + (1 - u - v) * x2
    on_ray = start[hit] + t * dir[hit].astype(np.float64)
    np.testing.assert_allclose(on_face, on_ray, atol=2e-6 * 4)
    n = np.cross(x1 - x0, x2 - x0)
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    np.testing.assert_allclose(got["n"][hit], n, atol=1e-6)
    np.testing.assert_array_equal(got["sign"][hit], np.where((n * dir[hit]).sum(1) < 0, 1, -1))


@wp.kernel
def by_reference(mesh: wp.uint64, z: float, floats: wp.array(dtype=float), ints: wp.array(dtype=int)):
    t = float(-7.0)
    u = float(-7.0)
    v = float(-7.0)
    sign = float(-7.0)
    n = wp.vec3(-7.0, -7.0, -7.0)
    f = int(-7)
    hit = wp.mesh_query_ray(mesh, wp.vec3(0.2, 0.3, z), wp.vec3(0.0, 0.0, 1.0), 10.0, t, u, v, sign, n, f)
    floats[0] = t
    floats[1] = u
    floats[2] = v
    floats[3] = sign
    floats[4] = n[2]
    ints[0] = f
    ints[1] = wp.where(hit, 1, 0)
    q = wp.mesh_query_ray(id=mesh, start=wp.vec3(0.2, 0.3, z), dir=wp.vec3(0.0, 0.0, 1.0), max_t=10.0, root=-1)
    ints[2] = wp.where(q.result, 1, 0)


def test_results_by_reference() -> None:
    mesh = made(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], F), np.array([[0, 1, 2]], np.int32))
    floats, ints = wp.zeros(5, dtype=float), wp.zeros(3, dtype=int)
    wp.launch(by_reference, 1, [mesh.id, -1.0], [floats, ints])
    np.testing.assert_allclose(floats.numpy(), [1, 0.5, 0.2, -1, 1], rtol=1e-6)
    assert ints.numpy().tolist() == [0, 1, 1]
    wp.launch(by_reference, 1, [mesh.id, 1.0], [floats, ints])  # a miss: they stay
    assert floats.numpy().tolist() == [-7.0] * 5 and ints.numpy().tolist() == [-7, 0, 0]
    wp.launch(by_reference, 1, [0, -1.0], [floats, ints])  # no mesh
    assert ints.numpy().tolist() == [-7, 0, 0]


@wp.kernel
def in_groups(mesh: wp.uint64, groups: wp.array(dtype=int), out: wp.array2d(dtype=int)):
    i = wp.tid()
    root = wp.mesh_get_group_root(mesh, groups[i])
    out[i, 0] = root
    o = wp.vec3(0.1, 0.2, -5.0)
    d = wp.vec3(0.0, 0.0, 1.0)
    if root >= 0:
        out[i, 1] = wp.mesh_query_ray(mesh, o, d, 100.0, root).face
        out[i, 2] = wp.where(wp.mesh_query_ray_anyhit(mesh, o, d, 100.0, root), 1, 0)
        out[i, 3] = wp.mesh_query_ray_count_intersections(mesh, o, d, root)


def test_groups() -> None:
    layers = np.arange(40)
    corners = np.array([[-1, -1, 0], [2, -1, 0], [-1, 2, 0]], F)
    points = np.concatenate([corners + [0, 0, z] for z in layers]).astype(F)
    group = layers % 4 * 10 - 7
    mesh = made(
        points, np.arange(120, dtype=np.int32).reshape(-1, 3), groups=wp.array(group.astype(np.int32), dtype=int)
    )
    asked = np.array([-7, 3, 13, 23, 4, -8, 24], np.int32)
    out = wp.full((7, 4), -1, dtype=int)
    wp.launch(in_groups, 7, [mesh.id, wp.array(asked, dtype=int)], [out])
    got = out.numpy()
    assert (got[4:, 0] == -1).all()
    assert got[:4, 1:].tolist() == [[k, 1, 10] for k in range(4)]


@wp.kernel
def weigh(
    mesh: wp.uint64,
    start: wp.array(dtype=wp.vec3),
    dir: wp.array(dtype=wp.vec3),
    weights: wp.array2d(dtype=float),
    loss: wp.array(dtype=float),
):
    i = wp.tid()
    q = wp.mesh_query_ray(mesh, start[i], dir[i], 100.0)
    if q.result:
        n = q.normal
        s = q.t * weights[i, 0] + q.u * weights[i, 1] + q.v * weights[i, 2]
        wp.atomic_add(loss, 0, s + n[0] * weights[i, 3] + n[1] * weights[i, 4])


def ray_values(points, faces, face, start, dir):
    """t, u, v, normal in float64."""
    x0, x1, x2 = (points[faces[face]][k] for k in range(3))
    m = np.stack([x0 - x2, x1 - x2, -dir], 1)
    u, v, t = np.linalg.solve(m, start - x2)
    n = np.cross(x1 - x0, x2 - x0)
    return np.array([t, u, v, *(n / np.linalg.norm(n))[:2]])


def test_gradients(device: wp.Device) -> None:
    points, faces = reference.sphere(5)
    rng = np.random.default_rng(8)
    n = 40
    start = rng.uniform(-0.4, 0.4, (n, 3)).astype(F)
    dir = rng.normal(size=(n, 3)).astype(F)
    weights = rng.normal(size=(n, 5)).astype(F)
    held = wp.array(points, dtype=wp.vec3, requires_grad=True)
    mesh = wp.Mesh(held, wp.array(faces.ravel(), dtype=int))
    s, d = (wp.array(a, dtype=wp.vec3, requires_grad=True) for a in (start, dir))
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(weigh, n, [mesh.id, s, d, wp.array(weights, dtype=float)], [loss])
    tape.backward(loss)
    found = reference.rays(points, faces, start, dir, np.full(n, 100, F))["face"]
    assert (found >= 0).all()
    want_p, want_s, want_d = np.zeros_like(points, np.float64), np.zeros((n, 3)), np.zeros((n, 3))
    p64, s64, d64 = points.astype(np.float64), start.astype(np.float64), dir.astype(np.float64)
    h = 1e-6

    def value(i):
        return weights[i].astype(np.float64) @ ray_values(p64, faces, found[i], s64[i], d64[i])

    def slope(array, index, i):
        before = array[index]
        array[index] = before + h
        up = value(i)
        array[index] = before - h
        down = value(i)
        array[index] = before
        return (up - down) / (2 * h)

    for i in range(n):
        for k in range(3):
            want_s[i, k] = slope(s64, (i, k), i)
            want_d[i, k] = slope(d64, (i, k), i)
            for corner in faces[found[i]]:
                want_p[corner, k] += slope(p64, (corner, k), i)
    for got, want in ((s.grad, want_s), (d.grad, want_d), (held.grad, want_p)):
        np.testing.assert_allclose(got.numpy(), want, rtol=2e-3, atol=2e-3)


@wp.kernel
def depths(mesh: wp.uint64, starts: wp.array(dtype=wp.vec3), dir: wp.vec3, out: wp.array(dtype=float)):
    i = wp.tid()
    query = wp.mesh_query_ray(mesh, starts[i], dir, 1.0e6)
    out[i] = -1.0
    if query.result:
        out[i] = query.t


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_rays_along_an_axis_meet_the_rim(device, axis, sign):
    """A grid seen along an axis at its own vertices: those of the last row and column lie in the last planes of all boxes."""
    n = 6
    flat = np.stack(np.meshgrid(np.linspace(-1, 1, n), np.linspace(0, 3, n)), axis=-1).reshape(-1, 2).astype(np.float32)
    points = np.insert(flat, axis, 0.25 * flat[:, 0] + 7.0, axis=1).astype(np.float32)
    at = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    faces = np.stack([at, at + 1, at + n + 1, at, at + n + 1, at + n], axis=1).ravel()
    mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, device=device), wp.array(faces, dtype=int, device=device))
    starts = points.copy()
    starts[:, axis] = 7.0 - 5.0 * sign
    dir = np.zeros(3, dtype=np.float32)
    dir[axis] = sign
    out = wp.zeros(len(points), device=device)
    wp.launch(depths, len(points), [mesh.id, wp.array(starts, dtype=wp.vec3, device=device), wp.vec3(*dir), out], device=device)
    np.testing.assert_allclose(out.numpy(), (points[:, axis] - starts[:, axis]) * sign, rtol=1e-6)
