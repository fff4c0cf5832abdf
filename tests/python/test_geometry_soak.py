"""Many queries on many meshes: what a tree finds is what a loop over all faces finds, bit for bit, and no ray slips through.

`make test` takes a sample; `make soak` (WEFT_SOAK) takes all of it: 40 meshes, a million queries each, 10^8 rays.
"""

from __future__ import annotations

import os

import geometry_reference as reference
import numpy as np
import pytest
import warp as wp

SOAK = bool(os.environ.get("WEFT_SOAK"))
MESHES = 40 if SOAK else 6
QUERIES = 1_000_000 if SOAK else 20_000
WATERTIGHT = 100_000_000 if SOAK else 300_000
F = np.float32


def soak_mesh(kind: int) -> tuple[np.ndarray, np.ndarray]:
    """One of forty: soups, sheets, needles, duplicates, closed ones, some of them large, tiny, far off or with NaN."""
    rng = np.random.default_rng(kind)
    shape = kind % 8
    if shape == 0:
        points, faces = reference.sphere(5 + kind // 8, 0.3)
    elif shape == 1:
        points, faces = reference.cube()
    else:
        count = int(rng.integers(20, 120))
        points = rng.normal(size=(count, 3)).astype(F)
        faces = rng.integers(0, count, (60, 3)).astype(np.int32)
        if shape == 2:
            points[:, 2] = 0
        elif shape == 3:
            points[:, 1:] *= F(1e-4)
        elif shape == 4:
            faces[30:] = faces[:30]
        elif shape == 5:
            points = np.round(points * 2).astype(F)
        elif shape == 6:
            points[rng.integers(0, count, 5)] = np.nan
    scale = F([1.0, 1e-6, 1e6, 1.0, 30.0][kind // 8 % 5])
    return (points * scale + scale * F(kind // 8 == 3) * F(100)).astype(F), faces


@wp.kernel
def ask(
    mesh: wp.uint64,
    start: wp.array(dtype=wp.vec3),
    dir: wp.array(dtype=wp.vec3),
    faces: int,
    found: wp.array2d(dtype=int),
    keys: wp.array2d(dtype=float),
):
    """By the tree, and of rays by a loop: each face is a group, and its own tree holds it alone."""
    i = wp.tid()
    whole = wp.mesh_query_ray(mesh, start[i], dir[i], 1.0e30)
    found[i, 0] = wp.where(whole.result, whole.face, -1)
    keys[i, 0] = whole.t
    best = float(wp.inf)
    face = int(-1)
    for f in range(faces):
        root = wp.mesh_get_group_root(mesh, f)
        if root >= 0:
            one = wp.mesh_query_ray(mesh, start[i], dir[i], 1.0e30, root)
            if one.result and one.t < best:
                best = one.t
                face = one.face
    found[i, 1] = face
    keys[i, 1] = wp.where(face >= 0, best, 0.0)
    near = wp.mesh_query_point_no_sign(mesh, start[i], 1.0e30)
    found[i, 2] = wp.where(near.result, near.face, -1)


@wp.kernel
def ask_again(
    mesh: wp.uint64,
    start: wp.array(dtype=wp.vec3),
    dir: wp.array(dtype=wp.vec3),
    found: wp.array2d(dtype=int),
    keys: wp.array2d(dtype=float),
    wrong: wp.array(dtype=int),
):
    i = wp.tid()
    ray = wp.mesh_query_ray(mesh, start[i], dir[i], 1.0e30)
    near = wp.mesh_query_point_no_sign(mesh, start[i], 1.0e30)
    same = wp.where(ray.result, ray.face, -1) == found[i, 0] and ray.t == keys[i, 0]
    if not same or wp.where(near.result, near.face, -1) != found[i, 2]:
        wp.atomic_add(wrong, 0, 1)


def nearest_by_a_loop(points: np.ndarray, faces: np.ndarray, places: np.ndarray) -> np.ndarray:
    corners = points[faces].astype(np.float64)
    corners = corners[np.isfinite(corners).all((1, 2))]
    scale = reference.edge_scale(float(np.linalg.norm(corners - np.roll(corners, 1, 1), axis=-1).mean()))
    parts = [places[k : k + 2000] for k in range(0, len(places), 2000)]
    return np.concatenate([reference.nearest(points, faces, part, np.full(len(part), F(1e30)), scale) for part in parts])


@pytest.mark.parametrize("kind", range(MESHES))
def test_trees_and_loops(kind: int) -> None:
    points, faces = soak_mesh(kind)
    p, f = wp.array(points, dtype=wp.vec3), wp.array(faces.ravel(), dtype=int)
    each = wp.Mesh(p, f, groups=wp.array(np.arange(len(faces)), dtype=int))
    others = [wp.Mesh(p, f, bvh_constructor=c) for c in (None, "sah", "median", "lbvh")]
    moved = wp.Mesh(wp.array(points[::-1].copy(), dtype=wp.vec3), f)
    moved.points = p  # refitted
    others.append(moved)
    done = 0
    while done < QUERIES:
        count = min(QUERIES - done, 100_000)
        start, dir, _ = reference.ray_cases(points, faces, count, seed=kind * 1000 + done // 100_000)
        n = len(start)
        arrays = [wp.array(start, dtype=wp.vec3), wp.array(dir, dtype=wp.vec3)]
        found, keys = wp.zeros((n, 3), dtype=int), wp.zeros((n, 2), dtype=float)
        wp.launch(ask, dim=n, inputs=[each.id, *arrays, len(faces), found, keys])
        numbers, values = found.numpy(), keys.numpy()
        np.testing.assert_array_equal(numbers[:, 0], numbers[:, 1])
        np.testing.assert_array_equal(values[:, 0], values[:, 1])
        np.testing.assert_array_equal(numbers[: n // 10, 2], nearest_by_a_loop(points, faces, start[: n // 10]))
        for mesh in others:
            wrong = wp.zeros(1, dtype=int)
            wp.launch(ask_again, dim=n, inputs=[mesh.id, *arrays, found, keys, wrong])
            assert wrong.numpy()[0] == 0
        done += count


@wp.kernel
def shoot_at_edges(
    mesh: wp.uint64, points: wp.array(dtype=wp.vec3), faces: wp.array(dtype=int), seed: int, missed: wp.array(dtype=int)
):
    """From inside, at a corner or at a place on an edge: whatever rounding does, some face is met."""
    i = wp.tid()
    state = wp.rand_init(seed, i)
    f = wp.randi(state, 0, faces.shape[0] / 3)
    k = wp.randi(state, 0, 3)
    a = points[faces[3 * f + k]]
    b = points[faces[3 * f + (k + 1) % 3]]
    w = wp.randf(state)
    if i % 4 == 0:
        w = 0.0
    if i % 4 == 1:
        w = 0.5
    start = wp.vec3(wp.randf(state, -0.3, 0.3), wp.randf(state, -0.3, 0.3), wp.randf(state, -0.3, 0.3))
    target = a * (1.0 - w) + b * w
    hit = wp.mesh_query_ray(mesh, start, target - start, 1.0e30)
    if not hit.result or wp.mesh_query_ray_count_intersections(mesh, start, target - start) % 2 == 0:
        wp.atomic_add(missed, 0, 1)


@pytest.mark.parametrize("name", ["sphere", "fine", "cube"])
def test_no_ray_slips_through(name: str) -> None:
    points, faces = reference.cube() if name == "cube" else reference.sphere(40 if name == "fine" else 6, 0.1)
    p, f = wp.array(points, dtype=wp.vec3), wp.array(faces.ravel(), dtype=int)
    mesh = wp.Mesh(p, f)
    missed = wp.zeros(1, dtype=int)
    done, step = 0, 1_000_000
    while done < WATERTIGHT // 3:
        wp.launch(shoot_at_edges, dim=min(step, WATERTIGHT // 3 - done), inputs=[mesh.id, p, f, done // step, missed])
        done += step
    assert missed.numpy()[0] == 0
