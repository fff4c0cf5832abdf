"""Kernels over particles, bodies and meshes, for nvcc_pairs.py; the same in bench/cuda/particles.cu."""

from __future__ import annotations

import gpu
import numpy as np
import warp as wp
from pair import Pair, Pairs, floats, random


@wp.kernel
def turn(
    q: wp.array(dtype=wp.quat),
    w: wp.array(dtype=wp.vec3),
    dt: float,
    out: wp.array(dtype=wp.quat),
    axis: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    s = wp.normalize(q[i] + wp.quat(w[i], 0.0) * q[i] * (0.5 * dt))
    out[i] = s
    axis[i] = wp.quat_rotate(s, wp.vec3(1.0, 0.0, 0.0))


@wp.func
def spline(f: wp.vec3):
    a = wp.vec3(1.5) - f
    b = f - wp.vec3(1.0)
    c = f - wp.vec3(0.5)
    return wp.matrix_from_rows(
        wp.cw_mul(a, a) * 0.5, wp.vec3(0.75) - wp.cw_mul(b, b), wp.cw_mul(c, c) * 0.5
    )


@wp.kernel
def to_grid(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    c: wp.array(dtype=wp.mat33),
    spacing: float,
    mass: float,
    momentum: wp.array3d(dtype=wp.vec3),
    weight: wp.array3d(dtype=float),
):
    p = wp.tid()
    at = x[p] / spacing
    bx, by, bz = int(at[0] - 0.5), int(at[1] - 0.5), int(at[2] - 0.5)
    f = at - wp.vec3(float(bx), float(by), float(bz))
    w = spline(f)
    affine = c[p] * mass
    start = v[p] * mass
    for i in range(3):
        for j in range(3):
            for k in range(3):
                part = w[i, 0] * w[j, 1] * w[k, 2]
                d = (wp.vec3(float(i), float(j), float(k)) - f) * spacing
                wp.atomic_add(momentum, bx + i, by + j, bz + k, (start + affine * d) * part)
                wp.atomic_add(weight, bx + i, by + j, bz + k, part * mass)


@wp.kernel
def from_grid(
    x: wp.array(dtype=wp.vec3),
    spacing: float,
    velocity: wp.array3d(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    c: wp.array(dtype=wp.mat33),
):
    p = wp.tid()
    at = x[p] / spacing
    bx, by, bz = int(at[0] - 0.5), int(at[1] - 0.5), int(at[2] - 0.5)
    f = at - wp.vec3(float(bx), float(by), float(bz))
    w = spline(f)
    total = wp.vec3(0.0)
    affine = wp.mat33(0.0)
    for i in range(3):
        for j in range(3):
            for k in range(3):
                part = w[i, 0] * w[j, 1] * w[k, 2]
                g = velocity[bx + i, by + j, bz + k] * part
                total += g
                affine += wp.outer(g, wp.vec3(float(i), float(j), float(k)) - f)
    v[p] = total
    c[p] = affine * (4.0 / spacing)


@wp.kernel
def densities(
    x: wp.array(dtype=wp.vec3),
    starts: wp.array(dtype=int),
    cells: int,
    radius: float,
    out: wp.array(dtype=float),
):
    i = wp.tid()
    p = x[i]
    cx, cy, cz = int(p[0] / radius), int(p[1] / radius), int(p[2] / radius)
    sum = float(0.0)
    for a in range(wp.max(cx - 1, 0), wp.min(cx + 2, cells)):
        for b in range(wp.max(cy - 1, 0), wp.min(cy + 2, cells)):
            row = (a * cells + b) * cells
            first = starts[row + wp.max(cz - 1, 0)]
            last = starts[row + wp.min(cz + 2, cells)]
            for j in range(first, last):
                d = x[j] - p
                s = radius * radius - wp.dot(d, d)
                if s > 0.0:
                    sum += s * s * s
    out[i] = sum


@wp.struct
class Particle:
    x: wp.vec3
    v: wp.vec3
    q: wp.quat
    mass: float
    group: int


@wp.kernel
def step_structs(particles: wp.array(dtype=Particle), dt: float, out: wp.array(dtype=Particle)):
    i = wp.tid()
    p = particles[i]
    if p.group != 0:
        p.v = p.v + wp.vec3(0.0, -9.81, 0.0) * dt - p.v * (0.1 * dt / p.mass)
    p.x = p.x + p.v * dt
    p.q = wp.normalize(p.q + wp.quat(p.v, 0.0) * p.q * (0.5 * dt))
    out[i] = p


@wp.struct
class Fluid:
    x: wp.array(dtype=wp.vec3)
    v: wp.array(dtype=wp.vec3)
    mass: wp.array(dtype=float)
    gravity: wp.vec3
    dt: float


@wp.kernel
def step_fields(fluid: Fluid, energy: wp.array(dtype=float)):
    i = wp.tid()
    v = fluid.v[i] + fluid.gravity * fluid.dt
    x = fluid.x[i] + v * fluid.dt
    if x[1] < 0.0:
        x[1] = -x[1]
        v[1] = -0.5 * v[1]
    fluid.v[i] = v
    fluid.x[i] = x
    energy[i] = 0.5 * fluid.mass[i] * wp.dot(v, v)


@wp.kernel
def edge_contacts(
    x: wp.array(dtype=wp.vec3),
    edges: wp.array(dtype=wp.vec2i),
    candidates: wp.array(dtype=wp.vec2i),
    thickness: float,
    stiffness: float,
    f: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    pair = candidates[i]
    e, g = edges[pair[0]], edges[pair[1]]
    p, q = x[e[0]], x[g[0]]
    u, v = x[e[1]] - p, x[g[1]] - q
    r = p - q
    a, b, c, d, h = wp.dot(u, u), wp.dot(u, v), wp.dot(v, v), wp.dot(u, r), wp.dot(v, r)
    s = wp.clamp((b * h - c * d) / wp.max(a * c - b * b, 1.0e-8), 0.0, 1.0)
    t = wp.clamp((b * s + h) / wp.max(c, 1.0e-8), 0.0, 1.0)
    between = r + u * s - v * t
    distance = wp.length(between)
    if distance >= thickness or distance == 0.0:
        return
    push = between * (stiffness * (thickness - distance) / distance)
    wp.atomic_add(f, e[0], push * (1.0 - s))
    wp.atomic_add(f, e[1], push * s)
    wp.atomic_sub(f, g[0], push * (1.0 - t))
    wp.atomic_sub(f, g[1], push * t)


@wp.kernel
def step_bodies(
    pose: wp.array(dtype=wp.transform),
    speed: wp.array(dtype=wp.spatial_vector),
    force: wp.array(dtype=wp.spatial_vector),
    mass: wp.array(dtype=float),
    inertia: wp.array(dtype=wp.mat33),
    gravity: wp.vec3,
    dt: float,
    new_pose: wp.array(dtype=wp.transform),
    new_speed: wp.array(dtype=wp.spatial_vector),
):
    i = wp.tid()
    place = wp.transform_get_translation(pose[i])
    turned = wp.transform_get_rotation(pose[i])
    w, v = wp.spatial_top(speed[i]), wp.spatial_bottom(speed[i])
    torque, push = wp.spatial_top(force[i]), wp.spatial_bottom(force[i])
    v = v + (push / mass[i] + gravity) * dt
    own = wp.quat_rotate_inv(turned, w)
    moment = wp.quat_rotate_inv(turned, torque) - wp.cross(own, inertia[i] * own)
    w = wp.quat_rotate(turned, own + wp.inverse(inertia[i]) * moment * dt)
    turned = wp.normalize(turned + wp.quat(w, 0.0) * turned * (0.5 * dt))
    new_pose[i] = wp.transform(place + v * dt, turned)
    new_speed[i] = wp.spatial_vector(w * (1.0 - 0.05 * dt), v)


def pairs() -> Pairs:
    """By name; arrays are made when a pair's turn comes."""

    def bodies(kernel: wp.Kernel = gpu.gravity, fast: bool = False) -> Pair:
        n = 1 << 16
        x, a = floats(n, 0, 1, 4, wp.vec4), wp.zeros(n, dtype=wp.vec3)
        return Pair(kernel, n, [x], [a, n], "particles", "gravity", [x, a, n], fast, tolerance=1e-2)

    def springs(adjoint: bool = False) -> Pair:
        points, n = 1 << 20, 1 << 22
        number = np.arange(n)
        ends = np.stack([number % points, (number + 1 + number // points) % points], 1).astype(np.int32)
        x = floats(points, -1, 1, 3, wp.vec3, grad=adjoint)
        f = wp.zeros(points, dtype=wp.vec3, requires_grad=adjoint)
        e, rest = wp.array(ends, dtype=wp.vec2i), wp.full(n, 1.0)
        given = [x, e, rest, 10.0]
        if adjoint:
            f.grad.assign(random.uniform(-1, 1, (points, 3)).astype(np.float32))
            call = [*given, f.grad, x.grad]
            return Pair(
                gpu.spring_forces, n, given, [f], "adjoints", "spring_forces", call, tolerance=1e-2, adjoint=True
            )
        return Pair(gpu.spring_forces, n, given, [f], "particles", "spring_forces", [*given, f], tolerance=1e-2)

    def quaternions(adjoint: bool = False) -> Pair:
        n = 1 << 23
        q, w = floats(n, -1, 1, 4, wp.quat, grad=adjoint), floats(n, -1, 1, 3, wp.vec3, grad=adjoint)
        out, axis = (wp.zeros(n, dtype=t, requires_grad=adjoint) for t in (wp.quat, wp.vec3))
        return Pair(turn, n, [q, w, 0.01], [out, axis], "particles", "turn", [q, w, 0.01, out, axis])

    def clouds_of(n: int, cells: int) -> tuple[wp.array, float]:
        """Points of a cube, in the order of its cells, as simulations keep them."""
        points = random.uniform(1.5, cells - 2.5, (n, 3)).astype(np.float32)
        cell = points.astype(np.int64)
        order = np.argsort((cell[:, 0] * cells + cell[:, 1]) * cells + cell[:, 2], kind="stable")
        spacing = 1.0 / cells
        return wp.array(points[order] * np.float32(spacing), dtype=wp.vec3), spacing

    def scatter() -> Pair:
        n, cells = 1 << 20, 64
        x, spacing = clouds_of(n, cells)
        v, c = floats(n, -1, 1, 3, wp.vec3), floats(n, -1, 1, 9, wp.mat33)
        momentum, weight = wp.zeros((cells, cells, cells), dtype=wp.vec3), wp.zeros((cells, cells, cells))
        call = [x, v, c, spacing, 0.5, momentum, weight, cells]
        return Pair(
            to_grid, n, [x, v, c, spacing, 0.5], [momentum, weight], "particles", "to_grid", call, tolerance=1e-3
        )

    def gather() -> Pair:
        n, cells = 1 << 22, 128
        x, spacing = clouds_of(n, cells)
        velocity = wp.array(random.uniform(-1, 1, (cells, cells, cells, 3)).astype(np.float32), dtype=wp.vec3)
        v, c = wp.zeros(n, dtype=wp.vec3), wp.zeros(n, dtype=wp.mat33)
        call = [x, spacing, velocity, v, c, cells]
        return Pair(from_grid, n, [x, spacing, velocity], [v, c], "particles", "from_grid", call, tolerance=1e-3)

    def neighbours() -> Pair:
        n, cells = 1 << 20, 50
        points = random.uniform(0, cells, (n, 3)).astype(np.float32) * np.float32(0.999 / cells)
        radius = 1.0 / cells
        cell = np.minimum((points / np.float32(radius)).astype(np.int64), cells - 1)
        key = (cell[:, 0] * cells + cell[:, 1]) * cells + cell[:, 2]
        order = np.argsort(key, kind="stable")
        starts = np.searchsorted(key[order], np.arange(cells**3 + 1)).astype(np.int32)
        x, s, out = wp.array(points[order], dtype=wp.vec3), wp.array(starts), wp.zeros(n)
        call = [x, s, cells, radius, out]
        return Pair(densities, n, [x, s, cells, radius], [out], "particles", "densities", call, tolerance=1e-3)

    def structs() -> Pair:
        n = 1 << 22
        made = np.zeros(n, dtype=Particle.numpy_dtype())
        for name, width in (("x", 3), ("v", 3), ("q", 4)):
            made[name] = random.uniform(-1, 1, (n, width))
        made["mass"], made["group"] = random.uniform(1, 2, n), random.integers(0, 4, n) // 3
        given, out = wp.array(made, dtype=Particle), wp.zeros(n, dtype=Particle)
        return Pair(step_structs, n, [given, 0.01], [out], "particles", "step_structs", [given, 0.01, out])

    def fields() -> Pair:
        n = 1 << 23
        fluid = Fluid()
        fluid.x, fluid.v, fluid.mass = floats(n, -1, 1, 3, wp.vec3), floats(n, -1, 1, 3, wp.vec3), floats(n, 1, 2)
        fluid.gravity, fluid.dt = wp.vec3(0.0, -9.81, 0.0), 0.0
        energy = wp.zeros(n)
        call = [fluid.x, fluid.v, fluid.mass, 0.0, -9.81, 0.0, 0.0, energy]
        return Pair(step_fields, n, [fluid], [energy], "particles", "step_fields", call)

    def edges() -> Pair:
        points, count, n = 1 << 18, 1 << 19, 1 << 22
        x, f = floats(points, 0, 1, 3, wp.vec3), wp.zeros(points, dtype=wp.vec3)
        number = np.arange(count)
        ends = np.stack([number % points, (number + 1 + number // points * 500) % points], 1).astype(np.int32)
        first = np.sort(random.integers(0, count, n))
        two = np.stack([first, (first + random.integers(2, 4000, n)) % count], 1).astype(np.int32)
        e, c = wp.array(ends, dtype=wp.vec2i), wp.array(two, dtype=wp.vec2i)
        given = [x, e, c, 0.05, 100.0]
        call = [*given, f]
        return Pair(
            edge_contacts, n, given, [f], "particles", "edge_contacts", call, tolerance=1e-2, strays=1e-4
        )

    def rigid() -> Pair:
        n = 1 << 21
        poses = random.uniform(-1, 1, (n, 7)).astype(np.float32)
        poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
        inertia = (random.uniform(-0.1, 0.1, (n, 3, 3)) + np.eye(3)).astype(np.float32)
        given = [
            wp.array(poses, dtype=wp.transform),
            floats(n, -1, 1, 6, wp.spatial_vector),
            floats(n, -1, 1, 6, wp.spatial_vector),
            floats(n, 1, 2),
            wp.array(inertia, dtype=wp.mat33),
        ]
        out = [wp.zeros(n, dtype=wp.transform), wp.zeros(n, dtype=wp.spatial_vector)]
        call = [*given, 0.0, -9.81, 0.0, 0.01, *out]
        down = wp.vec3(0.0, -9.81, 0.0)
        return Pair(step_bodies, n, [*given, down, 0.01], out, "particles", "step_bodies", call, tolerance=1e-3)

    return {
        "n-body": bodies,
        "n-body, fast math": lambda: bodies(gpu.gravity_fast, True),
        "mass-spring": springs,
        "quaternions": quaternions,
        "particles to grid": scatter,
        "grid to particles": gather,
        "neighbours in cells": neighbours,
        "array of structs": structs,
        "struct of arrays": fields,
        "contacts of edges": edges,
        "rigid bodies": rigid,
        "mass-spring, adjoint": lambda: springs(True),
    }
