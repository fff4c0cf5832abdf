"""Closest and furthest points of meshes: equal to a loop over all faces; against float64; gradients."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import geometry_reference as reference
import numpy as np
import pytest
import warp as wp
from mesh_cases import EXECUTORS, F, launch, made

MESHES = reference.meshes()


@wp.kernel
def find(
    mesh: wp.uint64,
    point: wp.array(dtype=wp.vec3),
    max_dist: wp.array(dtype=float),
    face: wp.array2d(dtype=int),
    weights: wp.array2d(dtype=float),
):
    i = wp.tid()
    q = wp.mesh_query_point_no_sign(mesh, point[i], max_dist[i])
    face[i, 0] = wp.where(q.result, q.face, -1)
    weights[i, 0] = q.u
    weights[i, 1] = q.v
    weights[i, 2] = q.sign
    q = wp.mesh_query_furthest_point_no_sign(mesh, point[i], max_dist[i])
    face[i, 1] = wp.where(q.result, q.face, -1)
    weights[i, 3] = q.u
    weights[i, 4] = q.v


def ask(mesh: wp.Mesh, points: np.ndarray, max_dist: np.ndarray, executor: str | int = 0):
    face, weights = wp.zeros((len(points), 2), dtype=int), wp.zeros((len(points), 5), dtype=float)
    inputs = [mesh.id, wp.array(points, dtype=wp.vec3), wp.array(max_dist, dtype=float)]
    launch(find, len(points), inputs, [face, weights], executor)
    return face.numpy(), weights.numpy()


def mean_edge(points: np.ndarray, faces: np.ndarray) -> float:
    if not len(faces):
        return 0.0
    c = points[faces].astype(np.float64)
    return float(np.linalg.norm(c - np.roll(c, 1, 1), axis=-1).mean())


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", MESHES)
def test_equal_to_the_loop(name: str, executor: str | int) -> None:
    points, faces = MESHES[name]
    p, limit = reference.point_cases(points, faces)
    scale = reference.edge_scale(mean_edge(points, faces))
    near = reference.nearest(points, faces, p, limit, scale) if len(faces) else np.full(len(p), -1)
    some = np.where(np.isinf(limit), F(0), limit).astype(F)
    far = reference.furthest(points, faces, p, some, scale) if len(faces) else near
    for constructor in ("sah", "median", "lbvh"):
        mesh = made(points, faces, bvh_constructor=constructor)
        got, weights = ask(mesh, p, limit, executor)
        np.testing.assert_array_equal(got[:, 0], near)
        assert (weights[:, 2] == 0).all()
        assert ((weights[:, :2] >= 0) & (weights[:, :2] <= 1)).all()
        got, weights = ask(mesh, p, some, executor)
        np.testing.assert_array_equal(got[:, 1], far)
        assert np.isin(weights[:, 3:], [0, 1]).all()


@pytest.mark.parametrize("executor", EXECUTORS)
def test_from_inside_a_ball(executor: str | int) -> None:
    # Hundreds of nodes are as near as each other: more than a walk keeps open at a time.
    points, faces = reference.sphere(24, 0.0)
    p = np.concatenate([np.zeros((1, 3)), np.random.default_rng(3).normal(0, 0.01, (40, 3))]).astype(F)
    limit = np.full(len(p), 1e6, F)
    near = reference.nearest(points, faces, p, limit, reference.edge_scale(mean_edge(points, faces)))
    np.testing.assert_array_equal(ask(made(points, faces), p, limit, executor)[0][:, 0], near)


@pytest.mark.parametrize("away", [1.0, 60.0, 1e3, 1e6, 1e12, 1e20])
@pytest.mark.parametrize("size", [1e-19, 1e-9, 1.0, 1e14])
def test_points_from_afar(size: float, away: float) -> None:
    """Boxes that are rounded to a grid must hold what exact ones do, from near and from far, along an axis and beside it."""
    points, faces = reference.sphere(6)
    points = (points * F(size) + F(size * 0.3)).astype(F)
    generator = np.random.default_rng(int(np.log2(away)))
    p = (generator.normal(size=(120, 3)) * min(size * away, 1e37)).astype(F)
    p[:40] *= (10.0 ** generator.integers(-12, 1, (40, 3))).astype(F)
    p[40:60, 1:] = reference.targets(points, faces, 20, generator)[:, 1:]
    limit = np.full(len(p), np.inf, F)
    limit[::4] = min(size * away, 1e37)
    near = reference.nearest(points, faces, p, limit, reference.edge_scale(mean_edge(points, faces)))
    for constructor in ("sah", "lbvh"):
        np.testing.assert_array_equal(ask(made(points, faces, bvh_constructor=constructor), p, limit)[0][:, 0], near)


def closest_float64(corners: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The closest point of each triangle."""
    a, b, c = (corners[:, k] for k in range(3))
    found = None

    def keep(q):
        nonlocal found
        d = np.linalg.norm(q - p, axis=1, keepdims=True)
        best = np.linalg.norm(found - p, axis=1, keepdims=True) if found is not None else np.inf
        found = q if found is None else np.where(d < best, q, found)

    for x, y in ((a, b), (b, c), (c, a)):
        e = y - x
        s = np.clip(((p - x) * e).sum(1) / np.maximum((e * e).sum(1), 1e-300), 0, 1)
        keep(x + e * s[:, None])
    n = np.cross(b - a, c - a)
    q = p - n * (((p - a) * n).sum(1) / np.maximum((n * n).sum(1), 1e-300))[:, None]
    inside = np.ones(len(a), bool)
    for x, y in ((a, b), (b, c), (c, a)):
        inside &= (np.cross(y - x, q - x) * n).sum(1) >= 0
    keep(np.where(inside[:, None], q, a))
    return found


def test_against_float64() -> None:
    points, faces = reference.sphere(8)
    p, _ = reference.point_cases(points, faces)
    p = p[5:][np.abs(p[5:]).max(1) < 10]
    got, weights = ask(made(points, faces), p, np.full(len(p), np.inf, F))
    corners = points[faces].astype(np.float64)
    for i in range(len(p)):
        q = closest_float64(corners, p[i].astype(np.float64))
        want = np.linalg.norm(q - p[i], axis=1).min()
        u, v = weights[i, :2].astype(np.float64)
        x0, x1, x2 = corners[got[i, 0]]
        here = u * x0 + v * x1 + (1 - u - v) * x2
        assert abs(np.linalg.norm(here - p[i]) - want) < 2e-6
        np.testing.assert_allclose(here, closest_float64(corners[got[i, :1]], p[i].astype(np.float64))[0], atol=1e-4)


@wp.kernel
def by_reference(mesh: wp.uint64, max_dist: float, floats: wp.array(dtype=float), ints: wp.array(dtype=int)):
    p = wp.vec3(0.25, 0.25, -1.0)
    inside = float(-7.0)
    u = float(-7.0)
    v = float(-7.0)
    f = int(-7)
    hit = wp.mesh_query_point_no_sign(mesh, p, max_dist, f, u, v)
    ints[0] = wp.where(hit, 1, 0)
    ints[1] = f
    floats[0] = u
    floats[1] = v
    hit = wp.mesh_query_furthest_point_no_sign(mesh, p, 2.0 - max_dist, f, u, v)
    ints[2] = wp.where(hit, 1, 0)
    floats[2] = u
    floats[3] = v
    hit = wp.mesh_query_point(mesh, p, max_dist, inside, f, u, v)
    ints[3] = wp.where(hit, 1, 0)
    floats[4] = inside


def test_results_by_reference() -> None:
    mesh = made(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], F), np.array([[0, 1, 2]], np.int32))
    floats, ints = wp.zeros(5, dtype=float), wp.zeros(4, dtype=int)
    wp.launch(by_reference, 1, [mesh.id, 1.5], [floats, ints])
    np.testing.assert_allclose(floats.numpy(), [0.5, 0.25, 0, 1, 1], rtol=1e-6)
    assert ints.numpy().tolist() == [1, 0, 1, 1]
    wp.launch(by_reference, 1, [mesh.id, 0.5], [floats, ints])
    assert floats.numpy().tolist() == [-7.0] * 5 and ints.numpy().tolist() == [0, -7, 0, 0]
    wp.launch(by_reference, 1, [0, 1.5], [floats, ints])
    assert ints.numpy().tolist() == [0, -7, 0, 0]


@wp.kernel
def weigh(mesh: wp.uint64, point: wp.array(dtype=wp.vec3), weights: wp.array2d(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_point_no_sign(mesh, point[i], 1.0e6)
    if q.result:
        x = wp.mesh_eval_position(mesh, q.face, q.u, q.v)
        w = wp.vec3(weights[i, 0], weights[i, 1], weights[i, 2])
        s = wp.length(x - point[i]) * weights[i, 3] + wp.dot(x, w)
        wp.atomic_add(loss, 0, s + q.u * weights[i, 4] + q.v * weights[i, 5])


def point_value(corners: np.ndarray, p: np.ndarray, w: np.ndarray) -> float:
    q = closest_float64(corners[None], p)[0]
    m = np.stack([corners[0] - corners[2], corners[1] - corners[2]], 1)
    u, v = np.linalg.lstsq(m, q - corners[2], rcond=None)[0]
    return float(np.linalg.norm(q - p) * w[3] + q @ w[:3] + u * w[4] + v * w[5])


def test_gradients(device: wp.Device) -> None:
    points, faces = reference.sphere(4)
    rng = np.random.default_rng(4)
    n = 60
    p = rng.uniform(-1.6, 1.6, (n, 3)).astype(F)
    p[:20] *= 0.4
    weights = rng.normal(size=(n, 6)).astype(F)
    held = wp.array(points, dtype=wp.vec3, requires_grad=True)
    mesh = wp.Mesh(held, wp.array(faces.ravel(), dtype=int))
    at = wp.array(p, dtype=wp.vec3, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(weigh, n, [mesh.id, at, wp.array(weights, dtype=float)], [loss])
    tape.backward(loss)
    found = reference.nearest(points, faces, p, np.full(n, 1e6, F), F(1))
    want_p, want_x = np.zeros((n, 3)), np.zeros(points.shape)
    h = 1e-6
    for i in range(n):
        corners, q, w = points[faces[found[i]]].astype(np.float64), p[i].astype(np.float64), weights[i].astype(np.float64)
        for k in range(3):
            step = np.zeros(3)
            step[k] = h
            want_p[i, k] = (point_value(corners, q + step, w) - point_value(corners, q - step, w)) / (2 * h)
            for c in range(3):
                up, down = corners.copy(), corners.copy()
                up[c, k] += h
                down[c, k] -= h
                want_x[faces[found[i], c], k] += (point_value(up, q, w) - point_value(down, q, w)) / (2 * h)
    np.testing.assert_allclose(at.grad.numpy(), want_p, rtol=5e-3, atol=5e-3)
    np.testing.assert_allclose(held.grad.numpy(), want_x, rtol=5e-3, atol=5e-3)


def test_on_the_surface_the_distance_has_no_nan(device: wp.Device) -> None:
    points, faces = reference.cube()
    at = wp.array(points[:4], dtype=wp.vec3, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    mesh = made(points, faces)
    with wp.Tape() as tape:
        wp.launch(weigh, 4, [mesh.id, at, wp.array(np.eye(4, 6, 0, F)[[3, 3, 3, 3]], dtype=float)], [loss])
    tape.backward(loss)
    assert np.isfinite(at.grad.numpy()).all()


@wp.kernel
def find_in_several(
    meshes: wp.array(dtype=wp.uint64), which: wp.array(dtype=int), point: wp.array(dtype=wp.vec3), face: wp.array(dtype=int)
):
    i = wp.tid()
    limit = 1.0e3
    if i % 5 == 3:
        limit = 0.05
    face[i] = -2
    if i % 7 != 4:
        q = wp.mesh_query_point_no_sign(meshes[which[i]], point[i], limit)
        face[i] = wp.where(q.result, q.face, -1)


def test_threads_side_by_side_that_ask_different_meshes(device: wp.Device) -> None:
    """Threads of a warp help each other with their walks, which must stay within one mesh."""
    random = np.random.default_rng(5)
    with wp.ScopedDevice(device):
        names = [n for n in MESHES if len(MESHES[n][1]) > 40][:3]
        meshes = [made(*MESHES[n]) for n in names]
        count = 2000
        points = random.uniform(-1.5, 1.5, (count, 3)).astype(F)
        ids = wp.array([m.id for m in meshes], dtype=wp.uint64)

        def found(which: np.ndarray) -> np.ndarray:
            face = wp.zeros(count, dtype=int)
            chosen = wp.array(which.astype(np.int32), dtype=int)
            wp.launch(find_in_several, count, [ids, chosen, wp.array(points, dtype=wp.vec3)], [face])
            return face.numpy()

        alone = np.stack([found(np.full(count, k)) for k in range(len(meshes))])
        assert len(names) == 3 and len(np.unique(alone)) > 20
        for which in (np.arange(count) % 3, random.integers(0, 3, count), (np.arange(count) // 9) % 2):
            np.testing.assert_array_equal(found(which), alone[which, np.arange(count)])


WEFTC = os.environ.get("WEFTC") or shutil.which("weftc")


@pytest.mark.skipif(WEFTC is None, reason="needs weftc")
def test_all_of_a_warp_come_to_its_shuffles(tmp_path: Path) -> None:
    """Threads that ask which tree the others walk wait for each other: no branch may leave some of them out."""
    source = tmp_path / "nearest.py"
    source.write_text(
        "import warp as wp\n\n\n@wp.kernel\n"
        "def nearest(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), face: wp.array(dtype=int)):\n"
        "    i = wp.tid()\n"
        "    face[i] = wp.mesh_query_point_no_sign(mesh, p[i], 1.0).face\n"
    )
    done = subprocess.run([WEFTC, source, "--emit=ptx", "--target=sm_80"], capture_output=True, text=True, check=True, timeout=120)
    asked = re.search(r"activemask\.b32.*?vote\.sync", done.stdout, re.DOTALL)
    assert asked
    # One block of code: its label, both halves of the other's tree, the vote.
    block = re.split(r"^\$L\w+:", asked[0], flags=re.MULTILINE)[-1]
    assert block.count("shfl.sync") == 2 and "bra" not in block
    # Many warps at a time hide what each waits for.
    assert ".maxnreg 64" in done.stdout


ASKS = """
import warp as wp

@wp.kernel
def asks(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    ray = wp.mesh_query_ray(mesh, x[i], wp.vec3(0.0, 0.0, 1.0), 10.0)
    near = wp.mesh_query_point(mesh, x[i], 10.0)
    out[i] = %s
"""


@pytest.mark.skipif(WEFTC is None, reason="needs weftc")
@pytest.mark.parametrize(
    "value, calls",
    [
        ("ray.t + near.sign", set()),
        ("ray.normal[0]", {"_found_normal"}),
        ("ray.sign * near.v", {"_found_side", "_found_weights"}),
    ],
)
def test_what_nobody_asks_for_is_not_computed(tmp_path: Path, value: str, calls: set[str]) -> None:
    """Of what was found, plain kernels call functions for the fields that they read; those that are differentiated none."""
    source = tmp_path / "asks.py"
    source.write_text(ASKS % value)
    for form in ([], ["--taped", "--adjoint"]):
        command = [WEFTC, source, "--emit=ir-opt", *form]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        assert set(re.findall(r"call @(_found_\w+)", done.stdout)) == (set() if form else calls)
