"""Kernels over grids and images, for nvcc_pairs.py; the same in bench/cuda/grids.cu."""

from __future__ import annotations

import numpy as np
import warp as wp
from pair import Pair, Pairs, floats, random


@wp.kernel
def diffuse(u: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    r, c = wp.tid()
    if r == 0 or c == 0 or r == u.shape[0] - 1 or c == u.shape[1] - 1:
        return
    out[r, c] = u[r, c] + 0.1 * (u[r - 1, c] + u[r + 1, c] + u[r, c - 1] + u[r, c + 1] - 4.0 * u[r, c])


@wp.kernel
def heat(u: wp.array3d(dtype=float), k: float, out: wp.array3d(dtype=float)):
    x, y, z = wp.tid()
    if x == 0 or y == 0 or z == 0 or x == u.shape[0] - 1 or y == u.shape[1] - 1 or z == u.shape[2] - 1:
        return
    around = u[x - 1, y, z] + u[x + 1, y, z] + u[x, y - 1, z] + u[x, y + 1, z] + u[x, y, z - 1] + u[x, y, z + 1]
    out[x, y, z] = u[x, y, z] + k * (around - 6.0 * u[x, y, z])


@wp.func
def sample(u: wp.array3d(dtype=wp.vec3), p: wp.vec3):
    x = wp.clamp(p[0], 0.0, float(u.shape[0]) - 1.001)
    y = wp.clamp(p[1], 0.0, float(u.shape[1]) - 1.001)
    z = wp.clamp(p[2], 0.0, float(u.shape[2]) - 1.001)
    i, j, k = int(x), int(y), int(z)
    fx, fy, fz = x - float(i), y - float(j), z - float(k)
    a = wp.lerp(u[i, j, k], u[i, j, k + 1], fz)
    b = wp.lerp(u[i, j + 1, k], u[i, j + 1, k + 1], fz)
    c = wp.lerp(u[i + 1, j, k], u[i + 1, j, k + 1], fz)
    d = wp.lerp(u[i + 1, j + 1, k], u[i + 1, j + 1, k + 1], fz)
    return wp.lerp(wp.lerp(a, b, fy), wp.lerp(c, d, fy), fx)


@wp.kernel
def advect(v: wp.array3d(dtype=wp.vec3), dt: float, out: wp.array3d(dtype=wp.vec3)):
    x, y, z = wp.tid()
    p = wp.vec3(float(x), float(y), float(z)) - v[x, y, z] * dt
    out[x, y, z] = sample(v, p)


@wp.kernel
def blur_bytes(image: wp.array2d(dtype=wp.vec3ub), out: wp.array2d(dtype=wp.vec3ub)):
    y, x = wp.tid()
    if y == 0 or x == 0 or y == image.shape[0] - 1 or x == image.shape[1] - 1:
        return
    r, g, b = int(0), int(0), int(0)
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            p = image[y + dy, x + dx]
            weight = (2 - wp.abs(dy)) * (2 - wp.abs(dx))
            r += weight * int(p[0])
            g += weight * int(p[1])
            b += weight * int(p[2])
    out[y, x] = wp.vec3ub(wp.uint8(r / 16), wp.uint8(g / 16), wp.uint8(b / 16))


@wp.kernel
def sharpen_half(image: wp.array2d(dtype=wp.float16), amount: float, out: wp.array2d(dtype=wp.float16)):
    y, x = wp.tid()
    if y == 0 or x == 0 or y == image.shape[0] - 1 or x == image.shape[1] - 1:
        return
    c = float(image[y, x])
    around = float(image[y - 1, x]) + float(image[y + 1, x]) + float(image[y, x - 1]) + float(image[y, x + 1])
    out[y, x] = wp.float16(wp.clamp(c + amount * (4.0 * c - around), 0.0, 1.0))


@wp.kernel
def scale_strided(a: wp.array2d(dtype=float), s: float, out: wp.array2d(dtype=float)):
    r, c = wp.tid()
    out[r, c] = s * a[r, c] + 1.0


@wp.kernel
def columns_times(a: wp.array2d(dtype=float), x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for k in range(n):
        s += a[k, i] * x[k]
    y[i] = s


@wp.func
def scene(p: wp.vec3):
    ball = wp.length(p - wp.vec3(0.0, 0.3, 0.0)) - 0.8
    ring = wp.length(wp.vec2(wp.length(wp.vec2(p[0], p[2])) - 1.2, p[1])) - 0.25
    return wp.min(wp.min(ball, ring), p[1] + 0.5)


@wp.kernel
def march(eye: wp.vec3, width: int, height: int, out: wp.array2d(dtype=float)):
    y, x = wp.tid()
    side = (float(x) + 0.5) / float(width) * 2.0 - 1.0
    up = 1.0 - (float(y) + 0.5) / float(height) * 2.0
    ray = wp.normalize(wp.vec3(side, up, -1.5))
    t = float(0.0)
    steps = int(0)
    while t < 20.0:
        d = scene(eye + ray * t)
        if d < 0.001:
            break
        t += d
        steps += 1
        if steps == 128:
            break
    out[y, x] = t


@wp.kernel
def clouds(seed: int, spacing: float, out: wp.array2d(dtype=float)):
    y, x = wp.tid()
    state = wp.rand_init(seed)
    p = wp.vec3(float(x) * spacing, float(y) * spacing, 0.5)
    total = float(0.0)
    weight = float(0.5)
    for _octave in range(4):
        total += weight * wp.noise(state, p)
        p = p * 2.0
        weight *= 0.5
    out[y, x] = total


def pairs() -> Pairs:
    """By name; arrays are made when a pair's turn comes."""

    def stencil() -> Pair:
        n = 8192
        u, out = wp.array(random.random((n, n), np.float32)), wp.zeros((n, n))
        return Pair(diffuse, (n, n), [u], [out], "grids", "diffuse", [u, out, n, n])

    def cube(adjoint: bool = False) -> Pair:
        n = 384
        u = wp.array(random.random((n, n, n), np.float32), requires_grad=adjoint)
        out = wp.zeros((n, n, n), requires_grad=adjoint)
        if adjoint:
            out.grad.fill_(1.0)
            return Pair(heat, (n, n, n), [u, 0.1], [out], "adjoints", "heat", [out.grad, 0.1, u.grad, n], adjoint=True)
        return Pair(heat, (n, n, n), [u, 0.1], [out], "grids", "heat", [u, 0.1, out, n])

    def flow(adjoint: bool = False) -> Pair:
        n = 256
        v = wp.array(random.uniform(-1, 1, (n, n, n, 3)).astype(np.float32), dtype=wp.vec3, requires_grad=adjoint)
        out = wp.zeros((n, n, n), dtype=wp.vec3, requires_grad=adjoint)
        if adjoint:
            out.grad.fill_(1.0)
            call = [v, 1.5, out.grad, v.grad, n]
            near = {"tolerance": 1e-3, "strays": 1e-5}
            return Pair(advect, (n, n, n), [v, 1.5], [out], "adjoints", "advect", call, adjoint=True, **near)
        return Pair(advect, (n, n, n), [v, 1.5], [out], "grids", "advect", [v, 1.5, out, n], tolerance=1e-3)

    def bytes_() -> Pair:
        h, w = 4096, 8192
        image = wp.array(random.integers(0, 256, (h, w, 3)).astype(np.uint8), dtype=wp.vec3ub)
        out = wp.zeros((h, w), dtype=wp.vec3ub)
        return Pair(blur_bytes, (h, w), [image], [out], "grids", "blur_bytes", [image, out, w, h])

    def halves() -> Pair:
        h, w = 8192, 8192
        image = wp.array(random.random((h, w)).astype(np.float16), dtype=wp.float16)
        out = wp.zeros((h, w), dtype=wp.float16)
        call = [image, 0.5, out, w, h]
        return Pair(sharpen_half, (h, w), [image, 0.5], [out], "grids", "sharpen_half", call, tolerance=2e-3)

    def strided(turned: bool) -> Pair:
        n = 4096
        whole = wp.array(random.random((n, 2 * n), np.float32))
        a = whole[:, ::2].transpose() if turned else whole[:, ::2]
        out = wp.zeros((n, n))
        call = [a, a.strides[0] // 4, a.strides[1] // 4, 2.0, out, n]
        return Pair(scale_strided, (n, n), [a, 2.0], [out], "grids", "scale_strided", call)

    def product() -> Pair:
        rows, n = 1 << 19, 256
        a, x = wp.array(random.random((n, rows), np.float32)), floats(n)
        y = wp.zeros(rows)
        return Pair(columns_times, rows, [a, x, n], [y], "grids", "columns_times", [a, x, n, y])

    def rays() -> Pair:
        h, w = 2160, 3840
        out = wp.zeros((h, w))
        eye = wp.vec3(0.0, 0.5, 4.0)
        call = [0.0, 0.5, 4.0, w, h, out]
        return Pair(march, (h, w), [eye, w, h], [out], "grids", "march", call, tolerance=1e-3, strays=1e-3)

    def noise() -> Pair:
        h, w = 2048, 2048
        out = wp.zeros((h, w))
        return Pair(clouds, (h, w), [7, 0.01], [out], "grids", "clouds", [7, 0.01, w, out], tolerance=1e-3)

    return {
        "5-point stencil": stencil,
        "7-point stencil": cube,
        "advection, trilinear": flow,
        "blur of bytes": bytes_,
        "sharpening, float16": halves,
        "strided array": lambda: strided(False),
        "transposed array": lambda: strided(True),
        "matrix by columns": product,
        "ray marching": rays,
        "noise, 4 octaves": noise,
        "7-point stencil, adjoint": lambda: cube(True),
        "advection, adjoint": lambda: flow(True),
    }
