"""Gradients through vectors, matrices, rotations, structs, tuples and private arrays, against differences."""

import pytest
import warp as wp
from gradient_cases import collector, d

CASES, case = collector()
N5 = [0, 1, 4, 7, 2]
vec3 = wp.vec3d
mat33 = wp.mat33d
quat = wp.quatd
transform = wp.transformd


@wp.struct
class Pair:
    a: d
    v: wp.vec3d
    n: int


@wp.struct
class Nest:
    p: Pair
    m: wp.mat22d
    s: d


@case(n=N5)
@wp.kernel
def struct_fields(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    p = Pair()
    p.a = x[i]
    p.v = wp.vec3d(x[i], d(1.0), x[0])
    p.n = n[i]
    for j in range(n[i]):
        p.a = p.a * p.v[j % 3] + d(p.n)
        p.v[j % 3] = wp.sin(p.a)
        p.n += 1
    out[i] = p.a * wp.dot(p.v, p.v)


@case(n=N5)
@wp.kernel
def nested_structs(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    q = Nest()
    q.p.a = x[i]
    q.m = wp.mat22d(x[i], d(1.0), d(2.0), x[0])
    q.s = d(1.0)
    for j in range(n[i]):
        q.m[j % 2, 0] = q.p.a * q.s
        q.p.v[j % 3] = q.m[0, 0] + q.m[1, 0]
        q.s = wp.cos(q.s * q.p.v[0]) + q.m[1, 1]
        q.p.a = wp.sin(q.s)
    out[i] = q.p.a + q.s + wp.dot(q.p.v, q.p.v)


@case(n=N5)
@wp.kernel
def struct_copies_are_values(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    p = Pair()
    p.a = x[i]
    q = p
    q.a = q.a * p.a
    p.a = q.a * d(3.0)
    r = p
    if n[i] > 1:
        r = q
    out[i] = p.a * q.a + r.a


@case(n=N5)
@wp.kernel
def vector_components(x: wp.array(dtype=vec3), n: wp.array(dtype=int), out: wp.array(dtype=vec3)):
    i = wp.tid()
    v = x[i]
    for j in range(n[i]):
        v[j % 3] = v[(j + 1) % 3] * v[j % 3] + d(0.1)
        v[-1] += v[0] * d(0.5)
        v.x *= d(0.9)
        v.y -= v.x
    out[i] = v


@case(n=N5)
@wp.kernel
def vector_slices(x: wp.array(dtype=wp.vec4d), n: wp.array(dtype=int), out: wp.array(dtype=wp.vec4d)):
    i = wp.tid()
    v = x[i]
    for j in range(n[i]):
        a = v[0:2]
        v[2:4] = a * v[3]
        v[0:2] = v[1:3] * d(0.5)
    out[i] = v


@case(n=N5)
@wp.kernel
def matrix_components(x: wp.array(dtype=mat33), n: wp.array(dtype=int), out: wp.array(dtype=mat33)):
    i = wp.tid()
    m = x[i]
    for j in range(n[i]):
        m[j % 3, (j + 1) % 3] = m[j % 3, j % 3] * m[(j + 2) % 3, 0]
        m[1, 1] += m[0, 2] * d(0.3)
        m[j % 3] = m[(j + 1) % 3] * d(0.8)
    out[i] = m


@case(n=N5)
@wp.kernel
def matrix_rows_and_products(
    x: wp.array(dtype=mat33), v: wp.array(dtype=vec3), n: wp.array(dtype=int), out: wp.array(dtype=vec3)
):
    i = wp.tid()
    m = x[i]
    u = v[i]
    for j in range(n[i]):
        u = m * u * d(0.5) + m[j % 3]
        m[j % 3] = wp.cross(u, m[(j + 1) % 3]) * d(0.2)
    out[i] = u + wp.transpose(m) * u


@case(n=N5)
@wp.kernel
def quaternions(q: wp.array(dtype=quat), v: wp.array(dtype=vec3), n: wp.array(dtype=int), out: wp.array(dtype=vec3)):
    i = wp.tid()
    r = q[i]
    u = v[i]
    for j in range(n[i]):
        r = wp.normalize(r * wp.quat_from_axis_angle(wp.vec3d(d(0.0), d(1.0), d(0.0)), u[0]))
        u = wp.quat_rotate(r, u) + wp.quat_rotate_inv(r, v[i]) * d(0.2)
        r[j % 4] = r[j % 4] * d(0.9) + u[1] * d(0.1)
    out[i] = u


@case(n=N5)
@wp.kernel
def quaternion_components(q: wp.array(dtype=quat), n: wp.array(dtype=int), out: wp.array(dtype=quat)):
    i = wp.tid()
    r = q[i]
    r.w = r.x * r.y
    r[1] = r[2] * r[3]
    r.z += r.w
    for j in range(n[i]):
        r[j % 4] = r[(j + 1) % 4] * r[j % 4]
    out[i] = r


@case(n=N5)
@wp.kernel
def transforms(
    t: wp.array(dtype=transform), v: wp.array(dtype=vec3), n: wp.array(dtype=int), out: wp.array(dtype=vec3)
):
    i = wp.tid()
    f = t[i]
    u = v[i]
    for j in range(n[i]):
        u = wp.transform_point(f, u) * d(0.5)
        p = wp.transform_get_translation(f)
        r = wp.transform_get_rotation(f)
        f = wp.transformd(p * d(0.9) + u * d(0.1), wp.normalize(r))
        u = u + wp.transform_vector(f, v[i])
    out[i] = u


@case(n=N5)
@wp.kernel
def transform_components(t: wp.array(dtype=transform), n: wp.array(dtype=int), out: wp.array(dtype=transform)):
    i = wp.tid()
    f = t[i]
    for j in range(n[i]):
        f[j % 7] = f[(j + 1) % 7] * f[j % 7] + d(0.2)
    f.p = f.p * d(2.0)
    f.q = wp.quatd(f.q[1], f.q[0], f.q[3], f.q[2])
    out[i] = f


@case()
@wp.kernel
def transform_products(t: wp.array(dtype=transform), s: wp.array(dtype=transform), out: wp.array(dtype=transform)):
    i = wp.tid()
    out[i] = wp.transform_multiply(t[i], wp.transform_inverse(s[i])) * t[(i + 1) % 5]


@case(n=N5)
@wp.kernel
def tuples(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a, b = x[i], x[(i + 1) % 5]
    a, b = b * a, a
    t = (a, b, a * b)
    u = t[0] * t[2] + t[1]
    (p, q) = (u, u * u)
    out[i] = p * q


@case(n=N5)
@wp.kernel
def local_array(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = wp.zeros(shape=(4,), dtype=d)
    for j in range(n[i] + 2):
        a[j % 4] += x[i]
        a[(j + 1) % 4] = a[j % 4] * a[(j + 3) % 4] + wp.sin(a[j % 4])
    out[i] = a[0] * a[1] + a[-1]


@case(n=N5)
@wp.kernel
def local_array_large(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = wp.zeros(shape=(200,), dtype=d)
    for j in range(n[i] * 10 + 2):
        a[(j * 7) % 200] = x[i] + a[(j * 3) % 200]
        a[(j * 3) % 200] = wp.sin(a[(j * 7) % 200]) * a[(j * 5) % 200] + x[i]
    out[i] = a[0] * a[7] + a[3]


@case(n=N5)
@wp.kernel
def local_array_two_dimensions(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = wp.zeros(shape=(3, 3), dtype=d)
    for j in range(9):
        a[j // 3, j % 3] = x[(i + j) % 5] * d(j)
    for j in range(n[i]):
        a[j % 3, (j + 1) % 3] *= a[(j + 1) % 3, j % 3]
    out[i] = a[0, 1] + a[2, 0] * a[1, 1]


@case(n=N5)
@wp.kernel
def local_array_of_structs(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = wp.zeros(shape=(3,), dtype=Pair)
    for j in range(n[i]):
        a[j % 3].a = x[i] * d(j)
        a[j % 3].v = wp.vec3d(a[(j + 1) % 3].a, x[i], d(1.0))
        a[(j + 2) % 3].v[1] = a[j % 3].v[0] * a[j % 3].a
    out[i] = a[0].a * a[1].v[1] + a[2].v[0]


@case(n=N5)
@wp.kernel
def local_array_passed(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = wp.zeros(shape=(4,), dtype=d)
    for j in range(4):
        a[j] = wp.sin(x[i] * d(j + 1))
    for p in range(4):
        for q in range(3 - p):
            if a[q] > a[q + 1]:
                t = a[q]
                a[q] = a[q + 1]
                a[q + 1] = t
    out[i] = a[0] + d(2.0) * a[1] * a[3]


@case()
@wp.kernel
def vectors_of_any_length(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    v = wp.vector(x[i], x[(i + 1) % 5], x[(i + 2) % 5], x[(i + 3) % 5], x[(i + 4) % 5])
    w = v * x[i]
    for k in range(5):
        w[k] = w[k] * v[4 - k]
    out[i] = wp.dot(v, w)


@case()
@wp.kernel
def constructors(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    a = wp.vec3d(x[i])
    m = wp.matrix_from_cols(a, a * x[0], wp.vec3d(x[i], d(1.0), d(0.0)))
    n = wp.matrix_from_rows(a, m[1], m[2] * x[i])
    k = wp.diag(wp.vec3d(x[i], x[0], d(2.0)))
    o = wp.outer(a, m[0])
    out[i] = wp.determinant(m) + wp.trace(n * k) + wp.ddot(o, n) + wp.dot(m[1], wp.get_diag(n))


@case()
@wp.kernel
def skew_and_inverse(x: wp.array(dtype=vec3), out: wp.array(dtype=mat33)):
    i = wp.tid()
    m = wp.skew(x[i]) + wp.identity(n=3, dtype=d) * d(2.0)
    out[i] = wp.inverse(m) * wp.skew(x[(i + 1) % 5])


@case()
@wp.kernel
def elementwise(x: wp.array(dtype=vec3), y: wp.array(dtype=vec3), out: wp.array(dtype=vec3)):
    i = wp.tid()
    a = wp.cw_mul(x[i], y[i])
    b = wp.cw_div(x[i], y[i] + wp.vec3d(d(2.0)))
    c = wp.min(a, b) + wp.max(x[i], y[i]) * d(0.5)
    e = wp.abs(x[i] - y[i])
    out[i] = a + b - c + e + wp.vec3d(wp.min(a), wp.max(b), d(0.0))


@case(n=N5)
@wp.kernel
def select_of_vectors(x: wp.array(dtype=vec3), n: wp.array(dtype=int), out: wp.array(dtype=vec3)):
    i = wp.tid()
    a = x[i]
    b = wp.where(n[i] > 1, a * a[0], wp.vec3d(a[1], a[2], a[0]))
    c = wp.select(n[i] > 1, a, b)
    out[i] = b + c


@case()
@wp.kernel
def spatial_vectors(x: wp.array(dtype=wp.spatial_vectord), out: wp.array(dtype=d)):
    i = wp.tid()
    a = x[i]
    t = wp.spatial_top(a)
    b = wp.spatial_bottom(a)
    s = wp.spatial_vectord(wp.cross(t, b), t * wp.dot(t, b))
    out[i] = wp.spatial_dot(a, s)


@case()
@wp.kernel
def mixed_precision(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    a = x[i]
    out[i] = d(int(a * d(97.3))) * a + d(wp.float64(wp.int64(3))) * a * a


@case(n=N5)
@wp.kernel
def array_of_structs(p: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    q = Pair(p[i], wp.vec3d(p[i], p[0], d(1.0)), n[i])
    q.v += wp.vec3d(q.a) * q.a
    q.v[1] *= q.v[0]
    out[i] = wp.length(q.v) * q.a


@case(n=N5)
@wp.kernel
def augmented_everything(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = x[i]
    a += a * a
    a -= x[0]
    a *= a + d(2.0)
    a /= d(3.0) + a * a
    v = wp.vec3d(a, a, x[i])
    v *= a
    v /= d(2.0) + a * a
    v += v
    v -= wp.vec3d(a)
    m = wp.mat22d(v[0], v[1], v[2], a)
    m *= a
    m += m
    m[0, 0] -= a
    m[1] *= d(2.0)
    out[i] = wp.determinant(m) + v[0]


@case(n=N5)
@wp.kernel
def negative_indices_and_slices(x: wp.array(dtype=wp.vec4d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    v = x[i]
    a = v[-1] * v[-2]
    b = v[1:]
    c = v[:-1]
    e = v[::2]
    out[i] = a * wp.dot(b, c) + e[0] * e[1]


@case(n=N5)
@wp.kernel
def matrix_slices(x: wp.array(dtype=wp.mat44d), n: wp.array(dtype=int), out: wp.array(dtype=wp.mat44d)):
    i = wp.tid()
    m = x[i]
    a = m[0:2, 0:2]
    m[2:4, 2:4] = a * m[0, 3]
    m[1, 0:2] = m[2, 2:4] * d(0.5)
    m[:, 3] = m[0] * m[1, 1]
    out[i] = m


@case(n=N5)
@wp.kernel
def vectors_in_branches(x: wp.array(dtype=vec3), n: wp.array(dtype=int), out: wp.array(dtype=vec3)):
    i = wp.tid()
    v = x[i]
    for j in range(n[i]):
        if j % 3 == 0:
            v[0] = v[1] * v[2]
        elif j % 3 == 1:
            v = wp.vec3d(v[2], v[0], v[1] * v[0])
        else:
            v *= v[0]
        if wp.length(v) > d(2.0):
            break
    out[i] = v


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.name)
def test_agrees_with_differences(case) -> None:
    case.check()
