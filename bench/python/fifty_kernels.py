"""Fifty kernels of vector and quaternion mathematics as simulations have them, in one module: what a program compiles at
its first launches. Weft and PyPI's warp-lang take the same text. `KERNELS` lists each with its parameters' types."""

import warp as wp

KERNELS = []

Scalars = wp.array(dtype=float)
Indices = wp.array(dtype=int)
Vectors = wp.array(dtype=wp.vec3)
Planes = wp.array(dtype=wp.vec4)
Quats = wp.array(dtype=wp.quat)
Frames = wp.array(dtype=wp.transform)
Matrices = wp.array(dtype=wp.mat33)


def listed(function):
    """A kernel that KERNELS holds with the types of its parameters."""
    kernel = wp.kernel(function)
    KERNELS.append((kernel, tuple(function.__annotations__.values())))
    return kernel


@wp.func
def damped(v: wp.vec3, damping: float, dt: float):
    return v / (1.0 + damping * dt)


@wp.func
def spun(q: wp.quat, w: wp.vec3, dt: float):
    return wp.normalize(q + wp.quat(w * 0.5, 0.0) * q * dt)


@listed
def integrate(x: Vectors, v: Vectors, f: Vectors, inv_mass: Scalars, dt: float):
    i = wp.tid()
    v1 = v[i] + (f[i] * inv_mass[i] + wp.vec3(0.0, -9.81, 0.0)) * dt
    x[i] = x[i] + v1 * dt
    v[i] = v1


@listed
def integrate_damped(x: Vectors, v: Vectors, damping: float, dt: float):
    i = wp.tid()
    v1 = damped(v[i], damping, dt)
    x[i] = x[i] + v1 * dt
    v[i] = v1


@listed
def verlet(x: Vectors, previous: Vectors, f: Vectors, dt: float):
    i = wp.tid()
    now = x[i]
    x[i] = 2.0 * now - previous[i] + f[i] * (dt * dt)
    previous[i] = now


@listed
def limit_speed(v: Vectors, most: float):
    i = wp.tid()
    speed = wp.length(v[i])
    if speed > most:
        v[i] = v[i] * (most / speed)


@listed
def spring(x: Vectors, v: Vectors, rest: Vectors, f: Vectors, stiffness: float, damping: float):
    i = wp.tid()
    d = x[i] - rest[i]
    l = wp.length(d) + 1.0e-6
    n = d / l
    f[i] = -n * (stiffness * l + damping * wp.dot(v[i], n))


@listed
def ground_contact(x: Vectors, v: Vectors, f: Vectors, stiffness: float, friction: float):
    i = wp.tid()
    depth = x[i][1]
    if depth < 0.0:
        vt = wp.vec3(v[i][0], 0.0, v[i][2])
        f[i] = wp.vec3(0.0, -stiffness * depth, 0.0) - vt * friction


@listed
def plane_contact(x: Vectors, planes: Planes, f: Vectors, radius: float, stiffness: float):
    i = wp.tid()
    p = planes[i]
    n = wp.vec3(p[0], p[1], p[2])
    depth = wp.min(wp.dot(n, x[i]) + p[3] - radius, 0.0)
    f[i] = f[i] - n * (depth * stiffness)


@listed
def bounce(x: Vectors, v: Vectors, restitution: float):
    i = wp.tid()
    n = wp.normalize(x[i])
    vn = wp.dot(v[i], n)
    v[i] = wp.where(vn < 0.0, v[i] - n * ((1.0 + restitution) * vn), v[i])


@listed
def gravity_well(x: Vectors, f: Vectors, centre: wp.vec3, strength: float):
    i = wp.tid()
    d = centre - x[i]
    r2 = wp.length_sq(d) + 0.01
    f[i] = d * (strength / (r2 * wp.sqrt(r2)))


@listed
def magnetic(v: Vectors, field: Vectors, f: Vectors, charge: float):
    i = wp.tid()
    f[i] = f[i] + charge * wp.cross(v[i], field[i])


@listed
def drag(v: Vectors, wind: Vectors, f: Vectors, area: float):
    i = wp.tid()
    r = v[i] - wind[i]
    f[i] = f[i] - r * (0.5 * 1.2 * area * wp.length(r))


@listed
def spin(q: Quats, w: Vectors, dt: float):
    i = wp.tid()
    q[i] = spun(q[i], w[i], dt)


@listed
def rotate(q: Quats, x: Vectors, out: Vectors):
    i = wp.tid()
    out[i] = wp.quat_rotate(q[i], x[i])


@listed
def rotate_back(q: Quats, x: Vectors, out: Vectors):
    i = wp.tid()
    out[i] = wp.quat_rotate_inv(q[i], x[i])


@listed
def compose(p: Quats, q: Quats, out: Quats):
    i = wp.tid()
    out[i] = wp.normalize(p[i] * q[i])


@listed
def relative(p: Quats, q: Quats, out: Quats):
    i = wp.tid()
    out[i] = wp.quat_inverse(p[i]) * q[i]


@listed
def gyroscopic(q: Quats, w: Vectors, inertia: Matrices, torque: Vectors, dt: float):
    i = wp.tid()
    local = wp.quat_rotate_inv(q[i], w[i])
    t = wp.quat_rotate_inv(q[i], torque[i]) - wp.cross(local, inertia[i] * local)
    w[i] = wp.quat_rotate(q[i], local + t * dt)


@listed
def rigid_step(x: Vectors, q: Quats, v: Vectors, w: Vectors, dt: float):
    i = wp.tid()
    x[i] = x[i] + v[i] * dt
    q[i] = spun(q[i], w[i], dt)
    w[i] = damped(w[i], 0.05, dt)


@listed
def axes(q: Quats, right: Vectors, up: Vectors):
    i = wp.tid()
    right[i] = wp.quat_rotate(q[i], wp.vec3(1.0, 0.0, 0.0))
    up[i] = wp.quat_rotate(q[i], wp.vec3(0.0, 1.0, 0.0))


@listed
def to_matrix(q: Quats, m: Matrices):
    i = wp.tid()
    m[i] = wp.quat_to_matrix(q[i])


@listed
def from_axis_angle(axis: Vectors, angle: Scalars, q: Quats):
    i = wp.tid()
    q[i] = wp.quat_from_axis_angle(wp.normalize(axis[i]), angle[i])


@listed
def from_angles(angles: Vectors, q: Quats):
    i = wp.tid()
    a = angles[i]
    q[i] = wp.quat_rpy(a[0], a[1], a[2])


@listed
def blend(p: Quats, q: Quats, t: float, out: Quats):
    i = wp.tid()
    out[i] = wp.quat_slerp(p[i], q[i], t)


@listed
def blend_linear(p: Quats, q: Quats, t: float, out: Quats):
    i = wp.tid()
    s = wp.where(wp.dot(p[i], q[i]) < 0.0, -1.0, 1.0)
    out[i] = wp.normalize(p[i] * (1.0 - t) + q[i] * (s * t))


@listed
def angle_between(p: Quats, q: Quats, out: Scalars):
    i = wp.tid()
    out[i] = 2.0 * wp.acos(wp.min(wp.abs(wp.dot(p[i], q[i])), 1.0))


@listed
def apply_frame(f: Frames, x: Vectors, out: Vectors):
    i = wp.tid()
    out[i] = wp.transform_point(f[i], x[i])


@listed
def apply_direction(f: Frames, x: Vectors, out: Vectors):
    i = wp.tid()
    out[i] = wp.transform_vector(f[i], x[i])


@listed
def chain_frames(parent: Frames, child: Frames, out: Frames):
    i = wp.tid()
    out[i] = wp.transform_multiply(parent[i], child[i])


@listed
def invert_frames(f: Frames, out: Frames):
    i = wp.tid()
    out[i] = wp.transform_inverse(f[i])


@listed
def make_frames(x: Vectors, q: Quats, out: Frames):
    i = wp.tid()
    out[i] = wp.transform(x[i], wp.normalize(q[i]))


@listed
def hinge_error(a: Frames, b: Frames, axis: wp.vec3, out: Vectors):
    i = wp.tid()
    qa = wp.transform_get_rotation(a[i])
    qb = wp.transform_get_rotation(b[i])
    out[i] = wp.cross(wp.quat_rotate(qa, axis), wp.quat_rotate(qb, axis))


@listed
def ball_joint(a: Frames, b: Frames, offset: wp.vec3, f: Vectors, stiffness: float):
    i = wp.tid()
    f[i] = (wp.transform_point(b[i], -offset) - wp.transform_point(a[i], offset)) * stiffness


@listed
def distance_constraint(x: Vectors, y: Vectors, rest: float, relaxation: float):
    i = wp.tid()
    d = y[i] - x[i]
    l = wp.length(d)
    if l > 0.0:
        c = d * (0.5 * relaxation * (l - rest) / l)
        x[i] = x[i] + c
        y[i] = y[i] - c


@listed
def bend_constraint(a: Vectors, b: Vectors, c: Vectors, out: Scalars):
    i = wp.tid()
    u = wp.normalize(b[i] - a[i])
    v = wp.normalize(c[i] - b[i])
    out[i] = wp.atan2(wp.length(wp.cross(u, v)), wp.dot(u, v))


@listed
def triangle_normal(a: Vectors, b: Vectors, c: Vectors, out: Vectors):
    i = wp.tid()
    out[i] = wp.normalize(wp.cross(b[i] - a[i], c[i] - a[i]))


@listed
def triangle_area(a: Vectors, b: Vectors, c: Vectors, out: Scalars):
    i = wp.tid()
    out[i] = 0.5 * wp.length(wp.cross(b[i] - a[i], c[i] - a[i]))


@listed
def tetrahedron_volume(a: Vectors, b: Vectors, c: Vectors, d: Vectors, out: Scalars):
    i = wp.tid()
    out[i] = wp.dot(wp.cross(b[i] - a[i], c[i] - a[i]), d[i] - a[i]) / 6.0


@listed
def reflect(x: Vectors, n: Vectors, out: Vectors):
    i = wp.tid()
    out[i] = x[i] - n[i] * (2.0 * wp.dot(x[i], n[i]))


@listed
def refract(x: Vectors, n: Vectors, eta: float, out: Vectors):
    i = wp.tid()
    c = wp.dot(n[i], x[i])
    k = 1.0 - eta * eta * (1.0 - c * c)
    out[i] = wp.where(k < 0.0, wp.vec3(0.0, 0.0, 0.0), x[i] * eta - n[i] * (eta * c + wp.sqrt(wp.abs(k))))


@listed
def sphere_hit(origin: Vectors, direction: Vectors, centre: wp.vec3, radius: float, out: Scalars):
    i = wp.tid()
    o = origin[i] - centre
    b = wp.dot(o, direction[i])
    h = b * b - wp.dot(o, o) + radius * radius
    out[i] = wp.where(h < 0.0, -1.0, -b - wp.sqrt(wp.max(h, 0.0)))


@listed
def box_distance(x: Vectors, half: wp.vec3, out: Scalars):
    i = wp.tid()
    q = wp.vec3(wp.abs(x[i][0]), wp.abs(x[i][1]), wp.abs(x[i][2])) - half
    outside = wp.length(wp.max(q, wp.vec3(0.0, 0.0, 0.0)))
    out[i] = outside + wp.min(wp.max(q[0], wp.max(q[1], q[2])), 0.0)


@listed
def segment_distance(x: Vectors, a: Vectors, b: Vectors, out: Scalars):
    i = wp.tid()
    d = b[i] - a[i]
    t = wp.clamp(wp.dot(x[i] - a[i], d) / (wp.dot(d, d) + 1.0e-9), 0.0, 1.0)
    out[i] = wp.length(x[i] - a[i] - d * t)


@listed
def shade(n: Vectors, light: wp.vec3, eye: wp.vec3, out: Scalars):
    i = wp.tid()
    h = wp.normalize(light + eye)
    out[i] = wp.max(wp.dot(n[i], light), 0.0) + wp.pow(wp.max(wp.dot(n[i], h), 0.0), 16.0)


@listed
def orthonormal(x: Vectors, y: Vectors):
    i = wp.tid()
    u = wp.normalize(x[i])
    x[i] = u
    y[i] = wp.normalize(y[i] - u * wp.dot(u, y[i]))


@listed
def strain(m: Matrices, out: Matrices):
    i = wp.tid()
    f = m[i]
    out[i] = (wp.transpose(f) * f - wp.identity(n=3, dtype=float)) * 0.5


@listed
def rotate_inertia(q: Quats, inertia: Matrices, out: Matrices):
    i = wp.tid()
    r = wp.quat_to_matrix(q[i])
    out[i] = r * inertia[i] * wp.transpose(r)


@listed
def solve_inertia(inertia: Matrices, torque: Vectors, out: Vectors):
    i = wp.tid()
    out[i] = wp.inverse(inertia[i]) * torque[i]


@listed
def outer_stress(a: Vectors, b: Vectors, out: Matrices):
    i = wp.tid()
    out[i] = out[i] + wp.outer(a[i], b[i])


@listed
def swirl(x: Vectors, out: Vectors, time: float):
    i = wp.tid()
    a = 0.5 * wp.length(x[i]) + time
    out[i] = wp.vec3(wp.cos(a) * x[i][0] - wp.sin(a) * x[i][2], x[i][1], wp.sin(a) * x[i][0] + wp.cos(a) * x[i][2])


@listed
def gather_mean(x: Vectors, left: Indices, right: Indices, out: Vectors):
    i = wp.tid()
    out[i] = (x[left[i]] + x[right[i]] + x[i]) / 3.0
