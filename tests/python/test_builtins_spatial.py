"""Builtins on transforms, their matrices and spatial vectors against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from rotation_reference import (
    SCALARS,
    TOLERANCE,
    all_quats,
    call,
    multiply,
    random_quats,
    rotate,
    rounded,
    same_rotation,
    to_matrix,
)

import warp as wp

scalars = pytest.mark.parametrize("scalar", SCALARS, ids=lambda s: s.__name__)
COUNT = 200


def vec(n: int, scalar: type) -> type:
    return wp.types.vector(n, scalar)


def random_transforms(seed: int, scalar: type) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rounded(np.concatenate([rng.normal(size=(COUNT, 3)), random_quats(rng, COUNT)], axis=1), scalar)


def random_vectors(seed: int, n: int, scalar: type) -> np.ndarray:
    return rounded(np.random.default_rng(seed).normal(size=(COUNT, n)), scalar)


def matrices(t: np.ndarray, scale: np.ndarray | float = 1.0) -> np.ndarray:
    m = np.zeros((len(t), 4, 4))
    m[:, :3, :3] = to_matrix(t[:, 3:]) * np.broadcast_to(scale, (len(t), 3))[:, None, :]
    m[:, :3, 3], m[:, 3, 3] = t[:, :3], 1
    return m


@scalars
def test_points_and_vectors(scalar: type) -> None:
    t, v = random_transforms(1, scalar), random_vectors(2, 3, scalar)
    slack = 10 * TOLERANCE[scalar]
    inputs = [(t, wp.types.transformation(scalar)), (v, vec(3, scalar))]
    turned = rotate(t[:, 3:], v)
    np.testing.assert_allclose(call("transform_point", inputs, vec(3, scalar)), turned + t[:, :3], atol=slack)
    np.testing.assert_allclose(call("transform_vector", inputs, vec(3, scalar)), turned, atol=slack)
    m = rounded(np.random.default_rng(3).normal(size=(COUNT, 4, 4)), scalar)
    inputs = [(m, wp.types.matrix((4, 4), scalar)), (v, vec(3, scalar))]
    turned = np.einsum("nij,nj->ni", m[:, :3, :3], v)
    np.testing.assert_allclose(call("transform_point", inputs, vec(3, scalar)), turned + m[:, :3, 3], atol=slack)
    np.testing.assert_allclose(call("transform_vector", inputs, vec(3, scalar)), turned, atol=slack)


@scalars
def test_products_and_inverses(scalar: type) -> None:
    a, b = random_transforms(4, scalar), random_transforms(5, scalar)
    kind = wp.types.transformation(scalar)
    want = np.concatenate([a[:, :3] + rotate(a[:, 3:], b[:, :3]), multiply(a[:, 3:], b[:, 3:])], axis=1)
    np.testing.assert_allclose(call("transform_multiply", [(a, kind), (b, kind)], kind), want, atol=10 * TOLERANCE[scalar])
    inverse = call("transform_inverse", [(a, kind)], kind)
    one = call("transform_multiply", [(inverse, kind), (a, kind)], kind)
    np.testing.assert_allclose(one, np.tile([0, 0, 0, 0, 0, 0, 1], (COUNT, 1)), atol=10 * TOLERANCE[scalar])


@scalars
def test_matrices_of_transforms(scalar: type) -> None:
    q = rounded(all_quats(), scalar)
    t = np.concatenate([np.tile([1.0, -2.0, 3.0], (len(q), 1)), q], axis=1)
    kind, square = wp.types.transformation(scalar), wp.types.matrix((4, 4), scalar)
    m = call("transform_to_matrix", [(t, kind)], square)
    np.testing.assert_allclose(m, matrices(t), atol=TOLERANCE[scalar])
    back = call("transform_from_matrix", [(m, square)], kind)
    np.testing.assert_array_equal(back[:, :3], t[:, :3])
    assert same_rotation(back[:, 3:], q).max() < TOLERANCE[scalar]


@scalars
def test_compose_and_decompose(scalar: type) -> None:
    t = random_transforms(6, scalar)
    scale = rounded(np.random.default_rng(7).uniform(0.1, 4, size=(COUNT, 3)), scalar)
    square, quat = wp.types.matrix((4, 4), scalar), wp.types.quaternion(scalar)
    inputs = [(t[:, :3], vec(3, scalar)), (t[:, 3:], quat), (scale, vec(3, scalar))]
    m = call("transform_compose", inputs, square)
    slack = 4 * TOLERANCE[scalar]
    np.testing.assert_allclose(m, matrices(t, scale), atol=slack)
    position, rotation, size = call("transform_decompose", [(m, square)], vec(3, scalar), quat, vec(3, scalar))
    np.testing.assert_array_equal(position, t[:, :3])
    np.testing.assert_allclose(size, scale, atol=slack)
    assert same_rotation(rotation, t[:, 3:]).max() < slack


def test_decompose_without_extent() -> None:
    position, rotation, scale = wp.transform_decompose(wp.mat44())
    assert tuple(position) == tuple(scale) == (0.0, 0.0, 0.0) and tuple(rotation) == (0.0, 0.0, 0.0, 1.0)


@wp.kernel
def set_parts(out: wp.array(dtype=wp.transform)):
    t = wp.transform_identity()
    wp.transform_set_translation(t, wp.vec3(1.0, 2.0, 3.0))
    out[0] = t
    wp.transform_set_rotation(xform=t, q=wp.quat(1.0, 0.0, 0.0, 0.0))
    out[1] = t
    out[2] = wp.transform_set_translation_copy(t, wp.vec3(4.0, 5.0, 6.0))
    out[3] = wp.transform_set_rotation_copy(t, wp.quat(0.0, 1.0, 0.0, 0.0))
    out[4] = t


def test_set_parts() -> None:
    out = wp.zeros(5, dtype=wp.transform)
    wp.launch(set_parts, 1, [out])
    turned = [1, 2, 3, 1, 0, 0, 0]
    want = [[1, 2, 3, 0, 0, 0, 1], turned, [4, 5, 6, 1, 0, 0, 0], [1, 2, 3, 0, 1, 0, 0], turned]
    np.testing.assert_array_equal(out.numpy(), want)
    t = wp.transform((1, 2, 3), (0, 0, 0, 1))
    wp.transform_set_translation(t, wp.vec3(4.0, 5.0, 6.0))
    wp.transform_set_rotation(t, wp.quat(1.0, 0.0, 0.0, 0.0))
    assert tuple(t) == (4, 5, 6, 1, 0, 0, 0)


@scalars
def test_spatial_products(scalar: type) -> None:
    a, b = random_vectors(8, 6, scalar), random_vectors(9, 6, scalar)
    kind = vec(6, scalar)
    inputs = [(a, kind), (b, kind)]
    wa, va, wb, vb = a[:, :3], a[:, 3:], b[:, :3], b[:, 3:]
    slack = 10 * TOLERANCE[scalar]
    np.testing.assert_array_equal(call("spatial_top", [(a, kind)], vec(3, scalar)), wa)
    np.testing.assert_array_equal(call("spatial_bottom", [(a, kind)], vec(3, scalar)), va)
    np.testing.assert_allclose(call("spatial_dot", inputs, scalar), np.sum(a * b, axis=1), atol=slack)
    want = np.concatenate([np.cross(wa, wb), np.cross(va, wb) + np.cross(wa, vb)], axis=1)
    np.testing.assert_allclose(call("spatial_cross", inputs, kind), want, atol=slack)
    want = np.concatenate([np.cross(wa, wb) + np.cross(va, vb), np.cross(wa, vb)], axis=1)
    np.testing.assert_allclose(call("spatial_cross_dual", inputs, kind), want, atol=slack)
    r = random_vectors(10, 3, scalar)
    velocity = call("velocity_at_point", [(a, kind), (r, vec(3, scalar))], vec(3, scalar))
    np.testing.assert_allclose(velocity, va + np.cross(wa, r), atol=slack)


def skew(p: np.ndarray) -> np.ndarray:
    return np.stack([np.cross(p, np.broadcast_to(e, p.shape)) for e in np.eye(3)], axis=-1)


@scalars
def test_motions_and_forces_in_other_frames(scalar: type) -> None:
    t, x, f = random_transforms(11, scalar), random_vectors(12, 6, scalar), random_vectors(13, 6, scalar)
    kind, frame = vec(6, scalar), wp.types.transformation(scalar)
    twist = call("transform_twist", [(t, frame), (x, kind)], kind)
    wrench = call("transform_wrench", [(t, frame), (f, kind)], kind)
    slack = 40 * TOLERANCE[scalar]
    # A motion's power against a force does not depend on the frame.
    np.testing.assert_allclose(np.sum(twist * wrench, axis=1), np.sum(x * f, axis=1), atol=4 * slack)
    r = to_matrix(t[:, 3:])
    s = skew(t[:, :3]) @ r
    three = wp.types.matrix((3, 3), scalar)
    adjoint = call("spatial_adjoint", [(r, three), (s, three)], wp.types.matrix((6, 6), scalar))
    np.testing.assert_allclose(adjoint[:, :3, :3], r, atol=TOLERANCE[scalar])
    assert not adjoint[:, :3, 3:].any()
    np.testing.assert_allclose(np.einsum("nij,nj->ni", adjoint, x), twist, atol=slack)


@wp.kernel
def jacobian(
    motions: wp.array(dtype=wp.spatial_vector),
    parents: wp.array(dtype=int),
    starts: wp.array(dtype=int),
    out: wp.array(dtype=float),
):
    wp.spatial_jacobian(motions, parents, starts, 1, 3, 2, out)


@wp.kernel
def masses(inertias: wp.array(dtype=wp.spatial_matrix), out: wp.array(dtype=float)):
    wp.spatial_mass(inertias, 1, 2, 3, out)


def test_articulations() -> None:
    rng = np.random.default_rng(14)
    # Joint 0 is another articulation's; joint 1 is a root, joints 2 (two degrees of freedom) and 3 hang from it.
    motions = rng.normal(size=(6, 6)).astype(np.float32)
    parents, starts = [-1, -1, 1, 1], [0, 2, 3, 5, 6]
    out = wp.zeros(2 + 18 * 4, dtype=float)
    given = [wp.array(motions, dtype=wp.spatial_vector), wp.array(parents, dtype=int), wp.array(starts, dtype=int)]
    wp.launch(jacobian, 1, [*given, out])
    want = np.zeros((3, 6, 4), dtype=np.float32)
    want[:, :, 0] = motions[2]
    want[1, :, 1], want[1, :, 2], want[2, :, 3] = motions[3], motions[4], motions[5]
    np.testing.assert_array_equal(out.numpy(), [0, 0, *want.ravel()])
    inertias = rng.normal(size=(3, 6, 6)).astype(np.float32)
    out = wp.zeros(3 + 144, dtype=float)
    wp.launch(masses, 1, [wp.array(inertias, dtype=wp.spatial_matrix), out])
    block = np.zeros((12, 12), dtype=np.float32)
    block[:6, :6], block[6:, 6:] = inertias[1], inertias[2]
    np.testing.assert_array_equal(out.numpy(), [0, 0, 0, *block.ravel()])


@wp.kernel
def constructors(out: wp.array(dtype=wp.spatial_vector), wide: wp.array(dtype=wp.spatial_vectord)):
    w = wp.vec3(1.0, 2.0, 3.0)
    v = wp.vec3(4.0, 5.0, 6.0)
    out[0] = wp.spatial_vector(w, v)
    out[1] = wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    out[2] = wp.spatial_vector()
    wide[0] = wp.spatial_vectord(wp.vec3d(1.0, 2.0, 3.0), wp.vec3d(4.0, 5.0, 6.0))


def test_spatial_vectors_are_made_of_halves() -> None:
    out, wide = wp.zeros(3, dtype=wp.spatial_vector), wp.zeros(1, dtype=wp.spatial_vectord)
    wp.launch(constructors, 1, [out, wide])
    one = [1, 2, 3, 4, 5, 6]
    np.testing.assert_array_equal(out.numpy(), [one, one, [0] * 6])
    np.testing.assert_array_equal(wide.numpy(), [one])


@wp.kernel
def named_parts(
    six: wp.array(dtype=wp.spatial_vector),
    q: wp.array(dtype=wp.quat),
    m: wp.array(dtype=wp.mat44),
    wide: wp.array(dtype=wp.spatial_vectord),
):
    p = wp.vec3(1.0, 2.0, 3.0)
    s = wp.vec3(4.0, 5.0, 6.0)
    six[0] = wp.spatial_vector(v=s, w=p)
    six[1] = wp.spatial_vector(wx=1.0, wy=2.0, wz=3.0, vx=4.0, vy=5.0, vz=6.0)
    q[0] = wp.quaternion(w=4.0, x=1.0, y=2.0, z=3.0)
    q[1] = wp.quaternion(ijk=p, real=4.0)
    turn = wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), 0.5)
    m[0] = wp.transform_compose(p, turn, s)
    m[1] = wp.matrix(pos=p, rot=turn, scale=s)
    m[2] = wp.mat44(p, turn, s)
    wide[0] = wp.spatial_vector(dtype=wp.float64)


def test_parts_by_name() -> None:
    six, q, m = wp.zeros(2, dtype=wp.spatial_vector), wp.zeros(2, dtype=wp.quat), wp.zeros(3, dtype=wp.mat44)
    wp.launch(named_parts, 1, [six, q, m, wp.zeros(1, dtype=wp.spatial_vectord)])
    np.testing.assert_array_equal(six.numpy(), [[1, 2, 3, 4, 5, 6]] * 2)
    np.testing.assert_array_equal(q.numpy(), [[1, 2, 3, 4]] * 2)
    assert m.numpy()[0, 0, 3] == 1 and (m.numpy() == m.numpy()[0]).all()
