# Quaternions (x, y, z, w) and transforms (position, quaternion).


def _quat_mul(a, b):
    return type(a)(
        a[3] * b[0] + b[3] * a[0] + a[1] * b[2] - b[1] * a[2],
        a[3] * b[1] + b[3] * a[1] + a[2] * b[0] - b[2] * a[0],
        a[3] * b[2] + b[3] * a[2] + a[0] * b[1] - b[0] * a[1],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )


def quat_inverse(q):
    return type(q)(-q[0], -q[1], -q[2], q[3])


def quat_rotate(q, v):
    u = type(v)(q[0], q[1], q[2])
    return v * (2.0 * q[3] * q[3] - 1.0) + cross(u, v) * q[3] * 2.0 + u * dot(u, v) * 2.0


def quat_rotate_inv(q, v):
    u = type(v)(q[0], q[1], q[2])
    return v * (2.0 * q[3] * q[3] - 1.0) - cross(u, v) * q[3] * 2.0 + u * dot(u, v) * 2.0


def quat_from_axis_angle(axis, angle):
    half = angle * 0.5
    s = sin(half)
    return quaternion(axis[0] * s, axis[1] * s, axis[2] * s, cos(half))


def _quat_from_axis_angle4(x, y, z, angle):
    half = angle * 0.5
    s = sin(half)
    return quaternion(x * s, y * s, z * s, cos(half))


def quat_to_matrix(q):
    v = vector(q[0], q[1], q[2])
    z = type(q[0])(0)
    one = type(q[0])(1)
    c0 = quat_rotate(q, type(v)(one, z, z))
    c1 = quat_rotate(q, type(v)(z, one, z))
    c2 = quat_rotate(q, type(v)(z, z, one))
    return matrix_from_cols(c0, c1, c2)


def transform_get_translation(t):
    return t.p


def transform_get_rotation(t):
    return t.q


def transform_point(t, p):
    return t.p + quat_rotate(t.q, p)


def transform_vector(t, v):
    return quat_rotate(t.q, v)


def transform_multiply(a, b):
    return type(a)(transform_point(a, b.p), a.q * b.q)


def transform_inverse(t):
    q = quat_inverse(t.q)
    return type(t)(-quat_rotate(q, t.p), q)
