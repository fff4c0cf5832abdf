"""References of quaternions, transforms, spatial vectors, edges and triangles in NumPy."""

from __future__ import annotations

import numpy as np
from expected import Expected, exact
from reference_vector import cross, dot, normalized, scaled
from rotation_reference import about, about_axis, multiply, rotate, to_matrix
from test_builtins_geometry import cuts

CONJUGATE = np.array([-1.0, -1.0, -1.0, 1.0])


def axis_and_angle(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    size = np.linalg.norm(q[:, :3], axis=1)
    axis = q[:, :3] / np.where(q[:, 3] < 0, -size, size)[:, None]
    return axis, 2 * np.arctan2(size, np.abs(q[:, 3]))


def from_matrix(m: np.ndarray) -> np.ndarray:
    """The unit quaternion, up to its sign, as the eigenvector of the largest eigenvalue (Bar-Itzhack)."""
    out = []
    for r in m[:, :3, :3]:
        k = np.empty((4, 4))
        k[:3, :3] = r + r.T - np.trace(r) * np.eye(3)
        k[3, :3] = k[:3, 3] = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
        k[3, 3] = np.trace(r)
        out.append(np.linalg.eigh(k)[1][:, 3])
    return np.array(out)


def rpy(roll: np.ndarray, pitch: np.ndarray, yaw: np.ndarray) -> np.ndarray:
    return multiply(about_axis(2, yaw), multiply(about_axis(1, pitch), about_axis(0, roll)))


def to_rpy(q: np.ndarray) -> np.ndarray:
    m = to_matrix(q / np.linalg.norm(q, axis=1, keepdims=True))
    flat = np.hypot(m[:, 0, 0], m[:, 1, 0])
    roll, yaw = np.arctan2(m[:, 2, 1], m[:, 2, 2]), np.arctan2(m[:, 1, 0], m[:, 0, 0])
    return np.stack([roll, np.arctan2(-m[:, 2, 0], flat), yaw], axis=1)


def from_euler(e: np.ndarray, i: np.ndarray, j: np.ndarray, k: np.ndarray) -> np.ndarray:
    def turn(axes: np.ndarray) -> np.ndarray:
        return about(np.eye(3)[axes], e[np.arange(len(e)), axes])

    return multiply(turn(k), multiply(turn(j), turn(i)))


def euler_error(q: np.ndarray, i: np.ndarray, j: np.ndarray, k: np.ndarray, e: np.ndarray) -> np.ndarray:
    made, unit = from_euler(e, i, j, k), normalized(q)
    return np.minimum(np.abs(made - unit).max(axis=1), np.abs(made + unit).max(axis=1))


def between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The shortest rotation from a to b: about their normal, by their angle."""
    normal = cross(a, b)
    size = np.linalg.norm(normal, axis=1)
    return about(normal / np.where(size > 0, size, 1)[:, None], np.arctan2(size, dot(a, b)))


def slerp(a: np.ndarray, b: np.ndarray, t: np.ndarray) -> np.ndarray:
    relative = multiply(a * CONJUGATE, b)
    relative *= np.where(relative[:, 3:] < 0, -1, 1)
    axis, angle = axis_and_angle(relative)
    return multiply(a, about(axis, t * angle))


def along(axis: np.ndarray, q: np.ndarray) -> np.ndarray:
    return (axis * q[:, :3]).sum(axis=1)


def twist(axis: np.ndarray, q: np.ndarray) -> np.ndarray:
    return normalized(np.concatenate([scaled(axis, along(axis, q)), q[:, 3:]], axis=1))


def twist_angle(axis: np.ndarray, q: np.ndarray) -> np.ndarray:
    return 2 * np.arctan2(along(axis, q), q[:, 3])


def join(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return np.concatenate([p, q], axis=1)


def composed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return join(a[:, :3] + rotate(a[:, 3:], b[:, :3]), multiply(a[:, 3:], b[:, 3:]))


def inverse(t: np.ndarray) -> np.ndarray:
    q = t[:, 3:] * CONJUGATE
    return join(-rotate(q, t[:, :3]), q)


def matrix(p: np.ndarray, q: np.ndarray, scale: np.ndarray | None = None) -> np.ndarray:
    m = np.zeros((len(p), 4, 4))
    m[:, :3, :3], m[:, :3, 3], m[:, 3, 3] = to_matrix(q), p, 1
    if scale is not None:
        m[:, :3, :3] *= scale[:, None, :]
    return m


def decompose_error(m: np.ndarray, p: np.ndarray, q: np.ndarray, scale: np.ndarray) -> np.ndarray:
    turned = np.abs(np.linalg.norm(q, axis=1) - 1)
    return np.maximum(np.abs(matrix(p, q, scale) - m).max(axis=(1, 2)) / np.abs(m[:, :3, :3]).max(axis=(1, 2)), turned)


def moved(m: np.ndarray, p: np.ndarray, fourth: float) -> np.ndarray:
    full = np.concatenate([p, np.full((len(p), 1), fourth)], axis=1)
    return np.einsum("nij,nj->ni", m, full)[:, :3]


def transform_error(m: np.ndarray, t: np.ndarray) -> np.ndarray:
    return np.abs(matrix(t[:, :3], t[:, 3:]) - m).max(axis=(1, 2))


def halves(*parts: np.ndarray) -> np.ndarray:
    return np.concatenate(parts, axis=1)


def spatial_cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return halves(cross(a[:, :3], b[:, :3]), cross(a[:, 3:], b[:, :3]) + cross(a[:, :3], b[:, 3:]))


def spatial_cross_dual(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return halves(cross(a[:, :3], b[:, :3]) + cross(a[:, 3:], b[:, 3:]), cross(a[:, :3], b[:, 3:]))


def spatial_adjoint(r: np.ndarray, s: np.ndarray) -> np.ndarray:
    return np.concatenate([np.concatenate([r, np.zeros_like(r)], axis=2), np.concatenate([s, r], axis=2)], axis=1)


def motion(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    w = rotate(t[:, 3:], x[:, :3])
    return halves(w, rotate(t[:, 3:], x[:, 3:]) + cross(t[:, :3], w))


def force(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    f = rotate(t[:, 3:], x[:, 3:])
    return halves(rotate(t[:, 3:], x[:, :3]) + cross(t[:, :3], f), f)


def edge_error(
    p1: np.ndarray, q1: np.ndarray, p2: np.ndarray, q2: np.ndarray, epsilon: np.ndarray, made: np.ndarray
) -> np.ndarray:
    """The distance is that of the two points, and no pair of points of the edges is closer."""
    s, t, distance = made.T
    a, b = p1 + (q1 - p1) * s[:, None], p2 + (q2 - p2) * t[:, None]
    size = np.abs(np.stack([p1, q1, p2, q2])).max(axis=(0, 2))
    apart = np.abs(distance - np.linalg.norm(a - b, axis=1)) / size
    outside = np.maximum(np.maximum(-s, s - 1), np.maximum(-t, t - 1))
    # At a minimum, moving either point along its edge does not shorten the distance: the slopes have the right signs.
    late = []
    for parameter, edge, gap in ((s, q1 - p1, a - b), (t, q2 - p2, b - a)):
        slope = (edge * gap).sum(axis=1) / size**2
        late.append(np.where(parameter <= 0, -slope, np.where(parameter >= 1, slope, np.abs(slope))))
    return np.max([apart, outside, *late], axis=0)


def triangles(*corners: np.ndarray) -> np.ndarray:
    out = []
    for points in np.stack(corners, axis=1):
        pairs = ((points[:3], points[3:]), (points[3:], points[:3]))
        out.append(any(cuts(a[k], a[(k + 1) % 3], b) for a, b in pairs for k in range(3)))
    return np.array(out).astype(np.int32)


TABLE: dict[str, Expected] = {
    "mul(quat[F], quat[F])": Expected(multiply),
    "mul(transform[F], transform[F])": Expected(composed),
    "quat_rotate": Expected(lambda q, v: to_plain(q, v, 1)),
    "quat_rotate_inv": Expected(lambda q, v: to_plain(q, v, -1)),
    "quat_inverse": exact(lambda q: q * CONJUGATE),
    "quat_from_axis_angle": Expected(about),
    "quat_from_axis_angle(F, F, F, F)": Expected(
        lambda x, y, z, a: about(np.stack([x, y, z], axis=1), a), special=False
    ),
    "quat_to_axis_angle": Expected(lambda q, *_: axis_and_angle(q)),
    "quat_to_matrix": Expected(lambda q: np.stack([to_plain(q, e, 1) for e in axes(q)], axis=2)),
    "quat_from_matrix": Expected(from_matrix, either_sign=True, loose=16),
    "quat_rpy": Expected(rpy, special=False),
    "quat_to_rpy": Expected(to_rpy),
    "quat_from_euler": Expected(from_euler),
    "quat_to_euler": Expected(check=euler_error, loose=16),
    "quat_slerp": Expected(slerp, loose=16),
    "quat_between_vectors": Expected(between),
    "quat_twist": Expected(twist),
    "quat_twist_angle": Expected(lambda a, q: np.abs(twist_angle(a, q))),
    "quat_twist_angle_signed": Expected(twist_angle),
    "transform_get_translation": exact(lambda t: t[:, :3]),
    "transform_get_rotation": exact(lambda t: t[:, 3:]),
    "transform_set_translation": exact(lambda t, p: join(p, t[:, 3:])),
    "transform_set_rotation": exact(lambda t, q: join(t[:, :3], q)),
    "transform_set_translation_copy": exact(lambda t, p: join(p, t[:, 3:])),
    "transform_set_rotation_copy": exact(lambda t, q: join(t[:, :3], q)),
    "transform_multiply": Expected(composed),
    "transform_point": Expected(lambda t, p: t[:, :3] + rotate(t[:, 3:], p)),
    "transform_point(mat[4,4,F], vec[3,F])": Expected(lambda m, p: moved(m, p, 1.0)),
    "transform_vector": Expected(lambda t, v: rotate(t[:, 3:], v)),
    "transform_vector(mat[4,4,F], vec[3,F])": Expected(lambda m, v: moved(m, v, 0.0)),
    "transform_inverse": Expected(inverse),
    "transform_compose": Expected(matrix),
    "transform_decompose": Expected(check=decompose_error, loose=24),
    "transform_to_matrix": Expected(lambda t: matrix(t[:, :3], t[:, 3:])),
    "transform_from_matrix": Expected(check=transform_error, loose=16),
    "spatial_dot": Expected(dot),
    "spatial_cross": Expected(spatial_cross),
    "spatial_cross_dual": Expected(spatial_cross_dual),
    "spatial_top": exact(lambda a: a[:, :3]),
    "spatial_bottom": exact(lambda a: a[:, 3:]),
    "spatial_adjoint": exact(spatial_adjoint),
    "transform_twist": Expected(motion),
    "transform_wrench": Expected(force),
    "velocity_at_point": Expected(lambda a, r: a[:, 3:] + cross(a[:, :3], r)),
    "closest_point_edge_edge": Expected(check=edge_error, loose=60),
    "intersect_tri_tri": Expected(triangles, loose=64),
}


def axes(q: np.ndarray) -> list[np.ndarray]:
    return [np.broadcast_to(e, (len(q), 3)) for e in np.eye(3)]


def to_plain(q: np.ndarray, v: np.ndarray, sign: int) -> np.ndarray:
    """v(2w² - 1) + 2u(u·v) ± 2w u×v, which is a rotation where the quaternion's length is one."""
    u, w = q[:, :3], q[:, 3:]
    return v * (2 * w * w - 1) + 2 * u * (u * v).sum(axis=1, keepdims=True) + sign * 2 * w * cross(u, v)
