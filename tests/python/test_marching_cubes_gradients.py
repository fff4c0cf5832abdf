"""Gradients of marching cubes: vertices move along their edges with the field; which edges they lie on does not change."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import surface_reference as reference


def smooth_field(*size: int, seed: int = 0) -> np.ndarray:
    """A field with two or three blobs, far from the threshold 0.1 at all nodes."""
    rng = np.random.default_rng(seed)
    at = np.stack(np.meshgrid(*(np.arange(n, dtype=np.float64) for n in size), indexing="ij"), axis=-1)
    field = np.full(size, 0.8)
    for _ in range(3):
        center = rng.uniform(2, np.array(size) - 3)
        field -= 1.6 * np.exp(-np.square(at - center).sum(axis=-1) / 5.0)
    near = np.abs(field - 0.1) < 0.02
    return np.where(near, 0.13, field).astype(np.float32)


def taped(field: np.ndarray, threshold: float, weights: np.ndarray | None = None, **bounds):
    """Vertices, and the gradient of their weighted sum by the field."""
    given = wp.array(field, dtype=float, requires_grad=True)
    cubes = wp.MarchingCubes(*field.shape, **bounds)
    with wp.Tape() as tape:
        cubes.surface(given, threshold)
    assert cubes.verts.requires_grad
    if weights is None:
        weights = np.random.default_rng(1).standard_normal((len(cubes.verts), 3)).astype(np.float32)
    tape.backward(grads={cubes.verts: wp.array(weights, dtype=wp.vec3)})
    return cubes.verts.numpy(), given.grad.numpy(), weights


def reference_gradient(field: np.ndarray, threshold: float, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """By differences in float64 of the crossings, which stay on their edges."""
    edges = reference.edges_of(points)
    step = 1e-6
    gradient = np.zeros(field.shape)
    for (i, j, k, axis), weight in zip(edges, weights.astype(np.float64)):
        other = [i, j, k]
        other[axis] += 1
        here, there = float(field[i, j, k]), float(field[tuple(other)])

        def at(a: float, b: float) -> float:
            return (threshold - a) / (b - a)

        gradient[i, j, k] += weight[axis] * (at(here + step, there) - at(here - step, there)) / (2 * step)
        gradient[tuple(other)] += weight[axis] * (at(here, there + step) - at(here, there - step)) / (2 * step)
    return gradient


@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_differences(seed):
    field = smooth_field(12, 11, 10, seed=seed)
    points, gradient, weights = taped(field, 0.1)
    assert len(points) > 30
    np.testing.assert_allclose(gradient, reference_gradient(field, 0.1, points, weights), rtol=2e-4, atol=1e-4)


def test_gradients_are_differences_of_surfaces():
    field = smooth_field(9, 8, 10, seed=5)
    points, gradient, weights = taped(field, 0.1)
    places = np.argwhere(gradient != 0)
    for place in places[:: max(len(places) // 12, 1)]:
        step = 2e-3
        ends = []
        for sign in (-1, 1):
            moved = field.copy()
            moved[tuple(place)] += sign * step
            cubes = wp.MarchingCubes(*field.shape)
            cubes.surface(wp.array(moved, dtype=float), 0.1)
            assert len(cubes.verts) == len(points)
            ends.append(float((cubes.verts.numpy().astype(np.float64) * weights).sum()))
        assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(gradient[tuple(place)], rel=0.02, abs=0.02)


def test_bounds_scale_gradients():
    field = smooth_field(10, 10, 10, seed=2)
    _, plain, weights = taped(field, 0.1)
    bounds = {"domain_bounds_lower_corner": (5, 5, 5), "domain_bounds_upper_corner": (5 + 27, 5 + 27, 5 + 27)}
    _, scaled, _ = taped(field, 0.1, weights, **bounds)
    np.testing.assert_allclose(scaled, 3.0 * plain, rtol=1e-4, atol=1e-4)


def test_gradients_go_through_what_makes_the_field():
    """A ball's radius, by the volume that its surface contains."""

    @wp.kernel
    def ball(radius: wp.array(dtype=float), field: wp.array3d(dtype=float)):
        i, j, k = wp.tid()
        field[i, j, k] = wp.length(wp.vec3(float(i), float(j), float(k)) - wp.vec3(11.3, 11.7, 12.1)) - radius[0]

    @wp.kernel
    def contents(verts: wp.array(dtype=wp.vec3), indices: wp.array(dtype=int), total: wp.array(dtype=float)):
        t = wp.tid()
        a, b, c = verts[indices[3 * t]], verts[indices[3 * t + 1]], verts[indices[3 * t + 2]]
        wp.atomic_add(total, 0, wp.dot(a, wp.cross(b, c)) / 6.0)

    radius = wp.array([8.2], dtype=float, requires_grad=True)
    field = wp.zeros((24, 24, 24), dtype=float, requires_grad=True)
    total = wp.zeros(1, dtype=float, requires_grad=True)
    cubes = wp.MarchingCubes(24, 24, 24)
    with wp.Tape() as tape:
        wp.launch(ball, field.shape, [radius], [field])
        cubes.surface(field, 0.0)
        wp.launch(contents, len(cubes.indices) // 3, [cubes.verts, cubes.indices], [total])
    tape.backward(total)
    assert total.numpy()[0] == pytest.approx(4 / 3 * np.pi * 8.2**3, rel=0.01)
    assert radius.grad.numpy()[0] == pytest.approx(4 * np.pi * 8.2**2, rel=0.01)


def test_forward_mode():
    field = smooth_field(9, 9, 9, seed=3)
    direction = np.random.default_rng(2).standard_normal(field.shape).astype(np.float32)
    given, cubes = wp.array(field, dtype=float), wp.MarchingCubes(9, 9, 9)
    with wp.ForwardMode({given: wp.array(direction, dtype=float)}) as forward:
        cubes.surface(given, 0.1)
        tangent = forward.tangent(cubes.verts).numpy()
    _, gradient, weights = taped(field, 0.1)
    assert (tangent * weights).sum() == pytest.approx((gradient * direction).sum(), rel=1e-3)


def test_only_fields_with_gradients_give_them():
    cubes = wp.MarchingCubes(4, 4, 4)
    plain = wp.zeros((4, 4, 4), dtype=float)
    with wp.Tape():
        cubes.surface(plain, 0.0)
        assert not cubes.verts.requires_grad and len(cubes.verts) == 0
        cubes.surface(wp.zeros((4, 4, 4), dtype=float, requires_grad=True), 0.0)
        assert cubes.verts.requires_grad and len(cubes.verts) == 0


def test_backward_of_an_empty_surface():
    field = wp.ones((4, 4, 4), dtype=float, requires_grad=True)
    cubes = wp.MarchingCubes(4, 4, 4)
    with wp.Tape() as tape:
        cubes.surface(field, 0.0)
    tape.backward(grads={cubes.verts: wp.zeros(0, dtype=wp.vec3)})
    assert not field.grad.numpy().any()


def test_gradients_are_finite_where_the_field_is_not():
    field = smooth_field(9, 9, 9, seed=4)
    field[4, 4, 4], field[2, 3, 4], field[6, 6, 6], field[5, 6, 6] = np.nan, -np.inf, np.inf, -np.inf
    points, gradient, _ = taped(field, 0.1)
    assert np.isfinite(points).all() and np.isfinite(gradient).all() and gradient.any()
    assert not gradient[~np.isfinite(field)].any()
