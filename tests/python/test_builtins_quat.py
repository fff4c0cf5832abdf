"""Quaternion builtins against NumPy: conventions, round trips at all singular orientations, older call forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from rotation_reference import (
    SCALARS,
    TOLERANCE,
    about,
    about_axis,
    all_quats,
    call,
    multiply,
    random_quats,
    rotate,
    rounded,
    same_rotation,
    singular_quats,
    to_matrix,
)

import warp as wp

scalars = pytest.mark.parametrize("scalar", SCALARS, ids=lambda s: s.__name__)
AXES = [t for t in itertools.product(range(3), repeat=3) if t[0] != t[1] != t[2]]


def vec(n: int, scalar: type) -> type:
    return wp.types.vector(n, scalar)


def quat(scalar: type) -> type:
    return wp.types.quaternion(scalar)


@scalars
def test_axis_and_angle(scalar: type) -> None:
    q = rounded(all_quats(), scalar)
    axis, angle = call("quat_to_axis_angle", [(q, quat(scalar))], vec(3, scalar), scalar)
    tolerance = TOLERANCE[scalar]
    assert (angle >= 0).all() and (angle <= math.pi + tolerance).all()
    length = np.linalg.norm(axis, axis=1)
    if scalar is wp.float16:  # the components of smaller rotations are denormal
        length[angle < 1e-3] = 1
    assert ((np.abs(length - 1) < tolerance) | ((length == 0) & (angle == 0))).all()
    if scalar is not wp.float16:  # there squares of small components are lost
        want = 2 * np.arctan2(np.linalg.norm(q[:, :3], axis=1), np.abs(q[:, 3]))
        np.testing.assert_allclose(angle, want, rtol=tolerance, atol=1e-22 if scalar is wp.float32 else 1e-100)
    back = call("quat_from_axis_angle", [(axis, vec(3, scalar)), (angle, scalar)], quat(scalar))
    assert same_rotation(back, q).max() < tolerance


@scalars
def test_matrices(scalar: type) -> None:
    q = rounded(all_quats(), scalar)
    m = call("quat_to_matrix", [(q, quat(scalar))], wp.types.matrix((3, 3), scalar))
    np.testing.assert_allclose(m, to_matrix(q), atol=TOLERANCE[scalar])
    back = call("quat_from_matrix", [(to_matrix(q), wp.types.matrix((3, 3), scalar))], quat(scalar))
    assert same_rotation(back, q).max() < TOLERANCE[scalar]
    large = np.zeros((len(q), 4, 4))
    large[:, :3, :3], large[:, 3, :], large[:, :3, 3] = to_matrix(q), 7, 5
    np.testing.assert_array_equal(call("quat_from_matrix", [(large, wp.types.matrix((4, 4), scalar))], quat(scalar)), back)


@scalars
def test_quaternions_of_any_matrix_are_unit(scalar: type) -> None:
    m = np.random.default_rng(1).normal(size=(300, 3, 3))
    m[0], m[1], m[2] = 0, -np.eye(3), -5 * np.eye(3)
    q = call("quat_from_matrix", [(m, wp.types.matrix((3, 3), scalar))], quat(scalar))
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1, atol=TOLERANCE[scalar])
    np.testing.assert_array_equal(q[0], [0, 0, 0, 1])


@scalars
def test_roll_pitch_yaw(scalar: type) -> None:
    angles = rounded(np.random.default_rng(2).uniform(-math.pi, math.pi, size=(500, 3)), scalar)
    angles[:64] = rounded(np.array(list(itertools.product((-math.pi / 2, 0, math.pi / 2, math.pi), repeat=3))), scalar)
    want = multiply(about_axis(2, angles[:, 2]), multiply(about_axis(1, angles[:, 1]), about_axis(0, angles[:, 0])))
    got = call("quat_rpy", [(angles[:, i], scalar) for i in range(3)], quat(scalar))
    np.testing.assert_allclose(got, want, atol=TOLERANCE[scalar])


@scalars
def test_back_from_roll_pitch_yaw(scalar: type) -> None:
    q = rounded(all_quats(), scalar)
    rpy = call("quat_to_rpy", [(q, quat(scalar))], vec(3, scalar))
    slack = TOLERANCE[scalar]
    assert (np.abs(rpy[:, 0::2]) <= math.pi + slack).all() and (np.abs(rpy[:, 1]) <= math.pi / 2 + slack).all()
    back = multiply(about_axis(2, rpy[:, 2]), multiply(about_axis(1, rpy[:, 1]), about_axis(0, rpy[:, 0])))
    assert same_rotation(back, q / np.linalg.norm(q, axis=1, keepdims=True)).max() < slack


def test_roll_is_zero_where_the_pitch_is_a_quarter_turn() -> None:
    for pitch, turn in itertools.product((-math.pi / 2, math.pi / 2), (-2.0, 0.0, 1.0, 3.0)):
        q = multiply(about_axis(1, np.array(pitch)), about_axis(0, np.array(turn)))
        roll, found, yaw = wp.quat_to_rpy(wp.quatd(*q))
        assert abs(float(found) - pitch) < 1e-7
        back = multiply(about_axis(2, np.array(float(yaw))), about_axis(1, np.array(pitch)))
        if float(roll) == 0.0:
            assert same_rotation(back, q) < 1e-7
    assert tuple(wp.quat_to_rpy(wp.quat(0.5, -0.5, 0.5, 0.5)))[0] == 0.0
    assert tuple(wp.quat_to_rpy(wp.quat())) == (0.0, 0.0, 0.0)


@scalars
@pytest.mark.parametrize("axes", AXES, ids=str)
def test_euler_angles(axes: tuple[int, int, int], scalar: type) -> None:
    i, j, k = axes
    q = rounded(all_quats(), scalar)
    numbers = [(np.full(len(q), a), wp.int32) for a in axes]
    e = call("quat_to_euler", [(q, quat(scalar)), *numbers], vec(3, scalar))
    last = k if k != i else 3 - i - j
    back = multiply(about_axis(k, e[:, last]), multiply(about_axis(j, e[:, j]), about_axis(i, e[:, i])))
    assert same_rotation(back, q / np.linalg.norm(q, axis=1, keepdims=True)).max() < TOLERANCE[scalar]
    angles = rounded(np.random.default_rng(3).uniform(-3, 3, size=(len(q), 3)), scalar)
    want = multiply(about_axis(k, angles[:, k]), multiply(about_axis(j, angles[:, j]), about_axis(i, angles[:, i])))
    got = call("quat_from_euler", [(angles, vec(3, scalar)), *numbers], quat(scalar))
    np.testing.assert_allclose(got, want, atol=TOLERANCE[scalar])
    if k != i:
        round_trip = call("quat_from_euler", [(e, vec(3, scalar)), *numbers], quat(scalar))
        np.testing.assert_allclose(round_trip, q, atol=2 * TOLERANCE[scalar])  # with its sign


@pytest.mark.parametrize("axes", [(0, 0, 0), (1, 1, 2), (2, 2, 0), (-1, 5, 7), (2**31 - 1, -(2**31), 1)], ids=str)
def test_axes_without_meaning_are_harmless(axes: tuple[int, int, int]) -> None:
    assert len(wp.quat_to_euler(wp.quat(0.5, 0.5, 0.5, 0.5), *axes)) == 3
    assert len(wp.quat_from_euler(wp.vec3(1.0, 2.0, 3.0), *axes)) == 4


@scalars
def test_slerp(scalar: type) -> None:
    rng = np.random.default_rng(4)
    a = rounded(np.concatenate([singular_quats(), random_quats(rng, 300)]), scalar)
    b = rounded(random_quats(rng, len(a)), scalar)
    b[20:40], b[40:60] = a[20:40], -a[40:60]
    b[300:340] = rounded(a[300:340] + rng.normal(size=(40, 4)) * 1e-6, scalar)
    t = rounded(rng.uniform(-0.5, 1.5, size=len(a)), scalar)
    t[:3] = 0, 1, 0.5
    relative = multiply(a * [-1, -1, -1, 1], b)
    relative *= np.where(relative[:, 3:] < 0, -1, 1)
    size = np.linalg.norm(relative[:, :3], axis=1)
    axis = relative[:, :3] / np.where(size > 0, size, 1)[:, None]
    want = multiply(a, about(axis, 2 * t * np.arctan2(size, relative[:, 3])))
    got = call("quat_slerp", [(a, quat(scalar)), (b, quat(scalar)), (t, scalar)], quat(scalar))
    np.testing.assert_allclose(got, want, atol=TOLERANCE[scalar])


def test_slerp_ends_at_its_ends() -> None:
    a, b = random_quats(np.random.default_rng(5), 2)
    np.testing.assert_allclose(wp.quat_slerp(wp.quatd(*a), wp.quatd(*b), wp.float64(0.0)), a, atol=1e-15)
    assert same_rotation(np.array(wp.quat_slerp(wp.quatd(*a), wp.quatd(*b), wp.float64(1.0))), b) < 1e-15
    assert wp.quat_slerp(wp.quat(), wp.quat(), 0.5) == wp.quat()


@scalars
def test_between_vectors(scalar: type) -> None:
    rng = np.random.default_rng(9)
    a = rng.normal(size=(400, 3))
    b = rng.normal(size=(400, 3)) * rng.uniform(0.1, 10, size=(400, 1))
    b[100:150] = a[100:150] * 2
    b[150:200] = -a[150:200]  # opposite ones
    b[200:250] = -a[200:250] + rng.normal(size=(50, 3)) * np.logspace(-9, 0, 50)[:, None]  # and nearly so
    a, b = rounded(a, scalar), rounded(b, scalar)
    got = call("quat_between_vectors", [(a, vec(3, scalar)), (b, vec(3, scalar))], quat(scalar))
    unit_a, unit_b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    np.testing.assert_allclose(np.linalg.norm(got, axis=1), 1, atol=TOLERANCE[scalar])
    np.testing.assert_allclose(rotate(got, unit_a), unit_b, atol=8 * TOLERANCE[scalar])
    # The shortest way: it turns about an axis across, by at most half a turn.
    assert (got[:, 3] >= -TOLERANCE[scalar]).all()
    assert np.abs(np.sum(got[:, :3] * unit_a, axis=1)).max() < 8 * TOLERANCE[scalar]


def test_between_vectors_at_the_corners() -> None:
    x, y = wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0)
    np.testing.assert_allclose(wp.quat_between_vectors(x, y * 3.0), [0, 0, 0.5**0.5, 0.5**0.5], atol=1e-6)
    assert wp.quat_between_vectors(x, x) == wp.quat(0.0, 0.0, 0.0, 1.0) == wp.quat_between_vectors(a=x, b=x * 0.5)
    for zero in ((wp.vec3(), y), (y, wp.vec3()), (wp.vec3(), wp.vec3())):
        assert wp.quat_between_vectors(*zero) == wp.quat(0.0, 0.0, 0.0, 1.0)
    for axis in (x, y, wp.vec3(0.0, 0.0, 1.0), wp.vec3(0.6, 0.8, 0.0)):
        for forth, back in ((axis, -axis), (-axis, axis)):
            turn = wp.quat_between_vectors(forth, back)
            assert turn[3] == 0.0  # half a turn
            np.testing.assert_allclose(wp.quat_rotate(turn, forth), back, atol=1e-6)


@scalars
def test_twist(scalar: type) -> None:
    rng = np.random.default_rng(6)
    axis = rng.normal(size=(400, 3))
    axis = rounded(axis / np.linalg.norm(axis, axis=1, keepdims=True), scalar)
    q = rounded(random_quats(rng, 400), scalar)
    angle = rounded(rng.uniform(-3, 3, size=400), scalar)
    swing_axis = np.cross(axis, rng.normal(size=(400, 3)))
    swing_axis /= np.linalg.norm(swing_axis, axis=1, keepdims=True)
    # A swing about an axis across, after a turn about the axis: the twist is that turn.
    q[:200] = rounded(multiply(about(swing_axis, rng.uniform(-2, 2, size=400)), about(axis, angle))[:200], scalar)
    inputs = [(axis, vec(3, scalar)), (q, quat(scalar))]
    twist = call("quat_twist", inputs, quat(scalar))
    along = np.sum(axis * q[:, :3], axis=1)
    want = np.concatenate([axis * along[:, None], q[:, 3:]], axis=1)
    want /= np.linalg.norm(want, axis=1, keepdims=True)
    np.testing.assert_allclose(twist, want, atol=TOLERANCE[scalar])
    assert same_rotation(twist[:200], about(axis, angle)[:200]).max() < 4 * TOLERANCE[scalar]
    signed = call("quat_twist_angle_signed", inputs, scalar)
    np.testing.assert_allclose(signed, 2 * np.arctan2(along, q[:, 3]), atol=TOLERANCE[scalar])
    np.testing.assert_array_equal(call("quat_twist_angle", inputs, scalar), np.abs(signed))


def test_twist_without_turn() -> None:
    z = wp.vec3(0.0, 0.0, 1.0)
    assert tuple(wp.quat_twist(z, wp.quat(1.0, 0.0, 0.0, 0.0))) == (0.0, 0.0, 0.0, 1.0)
    assert wp.quat_twist_angle(z, wp.quat()) == 0.0 and wp.quat_twist_angle_signed(z, wp.quat(1.0, 0.0, 0.0, 0.0)) == 0.0


@scalars
def test_rotation_keeps_length(scalar: type) -> None:
    q = rounded(all_quats(), scalar)
    v = rounded(np.random.default_rng(7).normal(size=(len(q), 3)), scalar)
    inputs = [(q, quat(scalar)), (v, vec(3, scalar))]
    slack = 8 * TOLERANCE[scalar]
    np.testing.assert_allclose(call("quat_rotate", inputs, vec(3, scalar)), rotate(q, v), atol=slack)
    np.testing.assert_allclose(call("quat_rotate_inv", inputs, vec(3, scalar)), rotate(q * [-1, -1, -1, 1], v), atol=slack)


@wp.kernel
def old_form(q: wp.array(dtype=wp.quat), axes: wp.array(dtype=wp.vec3), angles: wp.array(dtype=float)):
    i = wp.tid()
    axis = wp.vec3()
    angle = float(0.0)
    wp.quat_to_axis_angle(q[i], axis, angle)
    axes[i] = axis
    angles[i] = angle


def test_axis_and_angle_into_variables() -> None:
    q = all_quats()
    given = wp.array(q.astype(np.float32), dtype=wp.quat)
    axes, angles = wp.zeros(len(q), dtype=wp.vec3), wp.zeros(len(q), dtype=float)
    wp.launch(old_form, len(q), [given, axes, angles])
    axis, angle = call("quat_to_axis_angle", [(q, wp.quat)], wp.vec3, float)
    np.testing.assert_array_equal(axes.numpy(), axis.astype(np.float32))
    np.testing.assert_array_equal(angles.numpy(), angle.astype(np.float32))


def test_python_has_no_variables_to_update() -> None:
    with pytest.raises(RuntimeError, match="only kernels"):
        wp.quat_to_axis_angle(wp.quat(0.0, 0.0, 0.0, 1.0), wp.vec3(), 0.0)


@wp.kernel
def keywords(out: wp.array(dtype=wp.vec3)):
    q = wp.quat_from_axis_angle(axis=wp.vec3(0.0, 0.0, 1.0), angle=0.5)
    v = wp.vec3(1.0, 2.0, 3.0)
    out[0] = wp.quat_rotate(quat=q, vec=v)
    out[1] = wp.quat_rotate(q=q, p=v)
    out[2] = wp.quat_rotate(q, v=v)


def test_keywords_of_all_versions() -> None:
    out = wp.zeros(3, dtype=wp.vec3)
    wp.launch(keywords, 1, [out])
    q, v = wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), 0.5), wp.vec3(1.0, 2.0, 3.0)
    assert (out.numpy() == out.numpy()[0]).all() and wp.vec3(*map(float, out.numpy()[0])) == wp.quat_rotate(q, v)
    assert wp.quat_rotate(q=q, p=v) == wp.quat_rotate(quat=q, vec=v) == wp.quat_rotate(q, v=v)
    assert wp.quat_to_axis_angle(q=q) == wp.quat_to_axis_angle(quat=q) == wp.quat_to_axis_angle(q)
    assert wp.quat_slerp(q0=q, q1=q, t=0.5) == wp.quat_slerp(a=q, b=q, t=0.5)
    with pytest.raises(RuntimeError, match="by the names"):
        wp.quat_rotate(q=q, quat=q)


def test_operators_by_the_names_of_all_versions() -> None:
    assert wp.add(x=1, y=2) == wp.add(a=1, b=2) == 3 and wp.neg(x=2.0) == -2.0 and wp.min(x=1.0, y=2.0) == 1.0
    assert wp.clamp(x=5.0, a=0.0, b=1.0) == wp.clamp(x=5.0, low=0.0, high=1.0) == 1.0
    assert wp.max(v=wp.vec3(1.0, 3.0, 2.0)) == 3.0 and wp.smoothstep(edge0=0.0, edge1=1.0, x=0.5) == 0.5


def test_identities_of_the_usual_type():
    assert wp.quat_identity(dtype=None) == wp.quat_identity() == wp.quat(0.0, 0.0, 0.0, 1.0)
    assert wp.transform_identity(None) == wp.transform_identity(float)
