"""Triangles and edges: against brute force in float64 and cases decided by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from rotation_reference import call, random_quats, rotate, rounded

import warp as wp

scalars = pytest.mark.parametrize("scalar", (wp.float32, wp.float64), ids=lambda s: s.__name__)
TOLERANCE = {wp.float32: 1e-5, wp.float64: 1e-12}


def edges(points: np.ndarray, epsilon: float, scalar: type) -> np.ndarray:
    kind = wp.types.vector(3, scalar)
    inputs = [(points[:, i], kind) for i in range(4)]
    return call("closest_point_edge_edge", [*inputs, (np.full(len(points), epsilon), scalar)], kind)


def edge_cases() -> np.ndarray:
    """Random edges, edges on a lattice (crossing, touching, parallel, on one line), points, parallel edges."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(800, 4, 3))
    points[:300] = np.round(points[:300])
    points[300:340, 1] = points[300:340, 0]
    points[340:380, 3] = points[340:380, 2]
    points[380:400, 1], points[380:400, 3] = points[380:400, 0], points[380:400, 2]
    points[400:470] = np.round(points[400:470] * 4)
    points[400:470, 3] = points[400:470, 2] + (points[400:470, 1] - points[400:470, 0]) * rng.integers(-3, 4, (70, 1))
    return points


@scalars
def test_closest_points_of_edges(scalar: type) -> None:
    points = rounded(edge_cases(), scalar)
    p1, q1, p2, q2 = (points[:, i] for i in range(4))
    s, t, distance = edges(points, 1e-12, scalar).T
    assert ((s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)).all()
    apart = p1 + (q1 - p1) * s[:, None] - p2 - (q2 - p2) * t[:, None]
    np.testing.assert_allclose(distance, np.linalg.norm(apart, axis=1), atol=TOLERANCE[scalar])
    # Nothing on a grid of pairs of points is closer: distance is convex in (s, t).
    grid = np.linspace(0, 1, 65)
    a = p1[:, None] + (q1 - p1)[:, None] * grid[:, None]
    b = p2[:, None] + (q2 - p2)[:, None] * grid[:, None]
    least = np.linalg.norm(a[:, :, None] - b[:, None, :], axis=-1).min(axis=(1, 2))
    assert (distance <= least + TOLERANCE[scalar]).all()
    reach = (np.linalg.norm(q1 - p1, axis=1) + np.linalg.norm(q2 - p2, axis=1)) / 128
    assert (distance >= least - reach - TOLERANCE[scalar]).all()


@scalars
def test_parallel_edges_give_the_pair_of_the_first_point(scalar: type) -> None:
    """Directions that agree up to rounding are parallel, whatever is left of a difference of products: the pair is that of
    p1, or of an end if p1 has none across."""
    rng = np.random.default_rng(6)
    direction, offset = rng.normal(size=(2, 200, 3))
    offset -= direction * np.sum(direction * offset, axis=1, keepdims=True) / np.sum(direction**2, axis=1, keepdims=True)
    start = rng.uniform(-0.7, 0.7, (200, 1))
    points = np.stack([0 * direction, direction, offset + (start - 0.25) * direction, offset + (start + 0.75) * direction], axis=1)
    s, t, distance = edges(rounded(points, scalar), 1e-12, scalar).T
    start = start[:, 0]
    across = (start - 0.25 < -0.01) & (start + 0.75 > 0.01)  # p1 has a point across
    assert across.sum() > 50 and (~across).sum() > 50
    assert (s[across] == 0).all()
    np.testing.assert_allclose(t[across], 0.25 - start[across], atol=TOLERANCE[scalar])
    np.testing.assert_allclose(distance, np.linalg.norm(offset, axis=1), atol=TOLERANCE[scalar])
    beyond = start - 0.25 > 0.01
    assert (t[beyond] == 0).all()
    np.testing.assert_allclose(s[beyond], start[beyond] - 0.25, atol=TOLERANCE[scalar])


@scalars
def test_nearly_parallel_edges_are_as_near_as_they_are(scalar: type) -> None:
    angle = 2e-3 if scalar is wp.float32 else 1e-6
    points = np.array([[[-1, 0, 0], [1, 0, 0], [-1, -angle, 0.5], [1, angle, 0.5]]])
    s, t, distance = edges(points, 1e-12, scalar)[0]
    assert abs(s - 0.5) < 1e-3 and abs(t - 0.5) < 1e-3 and abs(distance - 0.5) < TOLERANCE[scalar]


@scalars
def test_short_edges_are_points(scalar: type) -> None:
    points = np.array([[[0, 0, 0], [0.5, 0, 0], [2, 0, 1], [2, 0, -1]], [[2, 0, 1], [2, 0, -1], [0, 0, 0], [0.5, 0, 0]]])
    np.testing.assert_allclose(edges(points, 0.1, scalar), [[1, 0.5, 1.5], [0.5, 1, 1.5]], atol=TOLERANCE[scalar])
    np.testing.assert_allclose(edges(points, 0.25, scalar), [[0, 0.5, 2], [0.5, 0, 2]], atol=TOLERANCE[scalar])
    np.testing.assert_allclose(edges(points, 9.0, scalar)[:, :2], 0, atol=TOLERANCE[scalar])


def meet(triangles: np.ndarray, scalar: type) -> np.ndarray:
    kind = wp.types.vector(3, scalar)
    return call("intersect_tri_tri", [(triangles[:, i], kind) for i in range(6)], wp.int32)


def cuts(p: np.ndarray, q: np.ndarray, triangle: np.ndarray) -> bool:
    """Whether a segment meets a triangle that it is not coplanar with."""
    normal = np.cross(triangle[1] - triangle[0], triangle[2] - triangle[0])
    dp, dq = normal @ (p - triangle[0]), normal @ (q - triangle[0])
    if dp * dq > 0 or dp == dq:
        return False
    x = p + (q - p) * dp / (dp - dq)
    sides = [normal @ np.cross(triangle[(k + 1) % 3] - triangle[k], x - triangle[k]) for k in range(3)]
    return min(sides) >= 0


@scalars
def test_random_triangles(scalar: type) -> None:
    triangles = rounded(np.random.default_rng(2).normal(size=(1500, 6, 3)), scalar)
    want = []
    for corners in triangles:
        pairs = ((corners[:3], corners[3:]), (corners[3:], corners[:3]))
        want.append(any(cuts(a[k], a[(k + 1) % 3], b) for a, b in pairs for k in range(3)))
    assert 0.1 < np.mean(want) < 0.9
    np.testing.assert_array_equal(meet(triangles, scalar), np.array(want).astype(int))
    order = [3, 4, 5, 0, 1, 2]
    np.testing.assert_array_equal(meet(triangles[:, order], scalar), want)


FLAT = [(0, 0, 0), (4, 0, 0), (0, 4, 0)]
CASES = {
    "the same": (FLAT, 1),
    "through the middle": ([(1, 1, -1), (1, 1, 1), (5, 5, 1)], 1),
    "a corner on the inside": ([(1, 1, 0), (1, 1, 3), (2, 1, 3)], 1),
    "a corner on a corner": ([(0, 0, 0), (-1, 0, 3), (-2, -1, 3)], 1),
    "a corner on an edge": ([(2, 0, 0), (2, -3, 1), (3, -3, 2)], 1),
    "a common edge": ([(0, 0, 0), (4, 0, 0), (0, 0, 4)], 1),
    "above": ([(1, 1, 1), (2, 1, 1), (1, 2, 2)], 0),
    "beside": ([(5, 5, -1), (5, 5, 1), (9, 9, 1)], 0),
    "parallel": ([(0, 0, 1), (4, 0, 1), (0, 4, 1)], 0),
    "flat, inside": ([(1, 1, 0), (2, 1, 0), (1, 2, 0)], 1),
    "flat, around": ([(-9, -9, 0), (20, -9, 0), (-9, 20, 0)], 1),
    "flat, crossing": ([(-1, 1, 0), (5, 1, 0), (5, 2, 0)], 1),
    "flat, beside": ([(5, 5, 0), (9, 5, 0), (5, 9, 0)], 0),
    "flat, a common edge": ([(0, 4, 0), (4, 0, 0), (4, 4, 0)], 1),
}


@scalars
@pytest.mark.parametrize("case", CASES)
def test_triangles_that_touch(case: str, scalar: type) -> None:
    other, want = CASES[case]
    first, second = np.array(FLAT, dtype=float), np.array(other, dtype=float)
    shown = []
    for a, b in itertools.product(itertools.permutations(range(3)), repeat=2):
        shown += [np.concatenate([first[list(a)], second[list(b)]]), np.concatenate([second[list(b)], first[list(a)]])]
    triangles = np.array(shown)
    axes = [triangles[:, :, list(order)] for order in itertools.permutations(range(3))]
    assert (meet(np.concatenate(axes), scalar) == want).all()


def test_turned_triangles_meet_as_before() -> None:
    rng = np.random.default_rng(3)
    triangles = np.concatenate([rng.normal(size=(200, 3, 3)), rng.normal(size=(200, 3, 3)) + 0.5], axis=1)
    q = random_quats(rng, 200)
    turned = np.stack([rotate(q, triangles[:, i]) for i in range(6)], axis=1)
    np.testing.assert_array_equal(meet(triangles, wp.float64), meet(turned, wp.float64))
