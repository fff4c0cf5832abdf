# Quaternions (x, y, z, w; w is the real part). Branches keep the derivatives finite where an angle or a length is zero.


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
    return v * (2.0 * q[3] * q[3] - 1.0) + cross(u, v) * (2.0 * q[3]) + u * (2.0 * dot(u, v))


def quat_rotate_inv(q, v):
    u = type(v)(q[0], q[1], q[2])
    return v * (2.0 * q[3] * q[3] - 1.0) - cross(u, v) * (2.0 * q[3]) + u * (2.0 * dot(u, v))


def quat_from_axis_angle(axis, angle):
    half = angle * 0.5
    s = sin(half)
    return quaternion(axis[0] * s, axis[1] * s, axis[2] * s, cos(half))


def _quat_from_axis_angle4(x, y, z, angle):
    half = angle * 0.5
    s = sin(half)
    return quaternion(x * s, y * s, z * s, cos(half))


def quat_to_axis_angle(q):
    # The factor, a power of two, keeps squares of small components above float16's underflow.
    v = vector(q[0] * 64.0, q[1] * 64.0, q[2] * 64.0)
    d = dot(v, v)
    axis = type(v)()
    angle = type(d)(0)
    if d > 0:
        l = sqrt(d)
        axis = v / where(q[3] < 0, -l, l)
        angle = 2.0 * atan2(l, abs(q[3] * 64.0))
    return axis, angle


def _quat_to_axis_angle_into(q, axis: ref, angle: ref):
    a, b = quat_to_axis_angle(q)
    axis = a
    angle = b


def quat_to_matrix(q):
    v = vector(q[0], q[1], q[2])
    z = type(q[0])(0)
    one = type(q[0])(1)
    c0 = quat_rotate(q, type(v)(one, z, z))
    c1 = quat_rotate(q, type(v)(z, one, z))
    c2 = quat_rotate(q, type(v)(z, z, one))
    return matrix_from_cols(c0, c1, c2)


def quat_from_matrix(m):
    # Each column of 4 q qᵀ is a multiple of q; the one of the largest component keeps all digits (Shepperd 1978).
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    x = m[2, 1] - m[1, 2]
    y = m[0, 2] - m[2, 0]
    z = m[1, 0] - m[0, 1]
    xy = m[0, 1] + m[1, 0]
    xz = m[2, 0] + m[0, 2]
    yz = m[1, 2] + m[2, 1]
    q = quaternion(m[0, 0] - (m[1, 1] + m[2, 2]) + 1.0, xy, xz, x)
    q = where(m[1, 1] > m[0, 0], quaternion(xy, m[1, 1] - (m[2, 2] + m[0, 0]) + 1.0, yz, y), q)
    of_z = quaternion(xz, yz, m[2, 2] - (m[0, 0] + m[1, 1]) + 1.0, z)
    q = where(m[2, 2] > max(m[0, 0], m[1, 1]), of_z, q)
    return normalize(where(trace >= 0, quaternion(x, y, z, trace + 1.0), q))


def quat_rpy(roll, pitch, yaw):
    sr = sin(roll * 0.5)
    cr = cos(roll * 0.5)
    sp = sin(pitch * 0.5)
    cp = cos(pitch * 0.5)
    sy = sin(yaw * 0.5)
    cy = cos(yaw * 0.5)
    return quaternion(
        cy * sr * cp - sy * cr * sp,
        cy * cr * sp + sy * sr * cp,
        sy * cr * cp - cy * sr * sp,
        cy * cr * cp + sy * sr * sp,
    )


def _half_turns(a, b, c, d):
    # The angles about a first, second and (again or mirrored) third axis: Bernardes and Viollet, "Quaternion to Euler
    # angles conversion", 2022. Where the second one aligns the other two, all of their rotation goes to the third.
    # A zero quaternion, which has no angles, gets zeros from quat_to_rpy.
    u = a * a + b * b
    v = c * c + d * d
    first = type(a)(0)
    second = type(a)(0)
    third = type(a)(0)
    if u > 0 and v > 0 and sqrt(u) + sqrt(v) > max(sqrt(u), sqrt(v)):
        plus = atan2(b, a)
        minus = atan2(d, c)
        first = plus - minus
        second = 2.0 * atan2(sqrt(v), sqrt(u))
        third = plus + minus
    elif u > v:
        third = 2.0 * atan2(b, a)
    elif v == 0:
        second = type(a)(1.5707963267948966)
    else:
        second = type(a)(3.141592653589793)
        third = 2.0 * atan2(d, c)
    return first, second, third


def _wrap_angle(x):
    turn = type(x)(6.283185307179586)
    return where(x > 3.141592653589793, x - turn, where(x <= -3.141592653589793, x + turn, x))


def quat_to_rpy(q):
    roll, pitch, yaw = _half_turns(q[3] - q[1], q[0] + q[2], q[1] + q[3], q[2] - q[0])
    return vector(_wrap_angle(roll), pitch - 1.5707963267948966, _wrap_angle(yaw))


def _component(v, i):
    return where(i == 0, v[0], where(i == 1, v[1], v[2]))


def _about_axis(i, angle):
    s = sin(angle * 0.5)
    zero = type(s)(0)
    return quaternion(where(i == 0, s, zero), where(i == 1, s, zero), where(i == 2, s, zero), cos(angle * 0.5))


def quat_from_euler(e, i, j, k):
    qi = _about_axis(i, _component(e, i))
    qj = _about_axis(j, _component(e, j))
    qk = _about_axis(k, _component(e, k))
    return qk * qj * qi


def quat_to_euler(q, i, j, k):
    again = i == k
    l = where(again, 3 - i - j, k)
    # +1 for an even order of the axes, -1 for an odd one.
    sign = type(q[0])((i - j) * (j - l) * (l - i) // 2)
    a = q[3]
    b = _component(q, i)
    c = _component(q, j)
    d = _component(q, l) * sign
    first = type(a)(0)
    second = type(a)(0)
    third = type(a)(0)
    if again:
        first, second, third = _half_turns(a, b, c, d)
    else:
        first, second, third = _half_turns(a - c, b + d, c + a, d - b)
        second -= 1.5707963267948966
        third *= sign
    return vector(
        where(i == 0, first, where(j == 0, second, third)),
        where(i == 1, first, where(j == 1, second, third)),
        where(i == 2, first, where(j == 2, second, third)),
    )


def quat_slerp(a, b, t):
    r = quat_inverse(a) * b
    v = vector(r[0], r[1], r[2]) * where(r[3] < 0, type(t)(-1), type(t)(1))
    w = abs(r[3])
    d = dot(v, v)
    s = type(t)(0)
    c = type(t)(1)
    if w * w + d > w * w:
        l = sqrt(d)
        half = t * atan2(l, w)
        s = sin(half) / l
        c = cos(half)
    elif w > 0:
        s = t / w
    v = v * s
    return a * type(a)(v[0], v[1], v[2], c)


def quat_between_vectors(a, b):
    # (u × v, 1 + u·v), normalised; as (u × h, |h|² / 2) with h = u + v, which keeps its digits where u and v are nearly
    # opposite. The factor, a power of two, keeps squares above float16's underflow. Where only rounding errors are left
    # of h, any axis at right angles to u serves.
    u = normalize(a)
    v = normalize(b)
    h = u + v
    one = type(u[0])(1)
    zero = type(u[0])(0)
    axis = where(abs(u[0]) < 0.6, type(u)(zero, -u[2], u[1]), type(u)(-u[1], u[0], zero))
    w = where(dot(u, u) > 0, zero, one)
    if one + (abs(h[0]) + abs(h[1]) + abs(h[2])) * 0.125 > one:
        axis = cross(u, h) * 64.0
        w = dot(h, h) * 32.0
    return normalize(quaternion(axis[0], axis[1], axis[2], w))


def quat_twist(axis, q):
    v = axis * (axis[0] * q[0] + axis[1] * q[1] + axis[2] * q[2])
    return normalize(type(q)(v[0], v[1], v[2], q[3]))


def quat_twist_angle(axis, q):
    return abs(quat_twist_angle_signed(axis, q))


def quat_twist_angle_signed(axis, q):
    return 2.0 * atan2(axis[0] * q[0] + axis[1] * q[1] + axis[2] * q[2], q[3])
