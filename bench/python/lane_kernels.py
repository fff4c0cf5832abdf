"""Twenty kernels that differ in what decides how many lanes are best: what lanes.py measures.

Each entry makes its arguments once and says what one launch is worth: name, kernel, size, arguments, work of a launch (in
millions of the unit), unit, whether the backward pass is what is measured.
"""

from __future__ import annotations

import numpy as np
import warp as wp


@wp.kernel
def mandelbrot(width: int, image: wp.array(dtype=float)):
    i = wp.tid()
    cx = -2.0 + 3.0 * float(i % width) / float(width)
    cy = -1.5 + 3.0 * float(i // width) / float(width)
    x = float(0.0)
    y = float(0.0)
    n = int(0)
    while n < 256 and x * x + y * y < 4.0:
        t = x * x - y * y + cx
        y = 2.0 * x * y + cy
        x = t
        n += 1
    image[i] = float(n)


@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()])


@wp.func
def normal_cdf(x: float) -> float:
    k = 1.0 / (1.0 + 0.2316419 * wp.abs(x))
    p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    w = 1.0 - 0.39894228 * wp.exp(-0.5 * x * x) * p
    return wp.where(x < 0.0, 1.0 - w, w)


@wp.kernel
def black_scholes(s: wp.array(dtype=float), k: wp.array(dtype=float), t: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    root = wp.sqrt(t[i])
    d1 = (wp.log(s[i] / k[i]) + (0.02 + 0.5 * 0.3 * 0.3) * t[i]) / (0.3 * root)
    d2 = d1 - 0.3 * root
    out[i] = s[i] * normal_cdf(d1) - k[i] * wp.exp(-0.02 * t[i]) * normal_cdf(d2)


@wp.kernel
def bodies(x: wp.array(dtype=wp.vec3), a: wp.array(dtype=wp.vec3), n: int):
    i = wp.tid()
    here = x[i]
    sum = wp.vec3(0.0)
    for j in range(n):
        d = x[j] - here
        r = wp.dot(d, d) + 1.0e-3
        sum += d * (1.0 / (r * wp.sqrt(r)))
    a[i] = sum


@wp.kernel
def springs(x: wp.array(dtype=wp.vec3), ends: wp.array(dtype=wp.vec2i), rest: wp.array(dtype=float), f: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    e = ends[i]
    d = x[e[0]] - x[e[1]]
    l = wp.length(d)
    force = d * (-100.0 * (l - rest[i]) / l)
    wp.atomic_add(f, e[0], force)
    wp.atomic_sub(f, e[1], force)


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def matrices(a: wp.array(dtype=wp.mat44), b: wp.array(dtype=wp.mat44), c: wp.array(dtype=wp.mat44)):
    i = wp.tid()
    c[i] = a[i] * b[i]


@wp.kernel
def perlin(out: wp.array(dtype=float), scale: float):
    i = wp.tid()
    state = wp.rand_init(42)
    p = wp.vec3(float(i % 256), float((i // 256) % 256), float(i // 65536)) * scale
    out[i] = wp.noise(state, p)


@wp.func
def scene_distance(p: wp.vec3) -> float:
    q = wp.vec3(wp.length(wp.vec2(p[0], p[2])) - 1.0, p[1], 0.0)
    ring = wp.length(q) - 0.3
    ball = wp.length(p - wp.vec3(0.0, 0.4, 0.0)) - 0.5
    return wp.min(ring, ball)


@wp.kernel
def ray_march(width: int, out: wp.array(dtype=float)):
    i = wp.tid()
    x = 3.0 * float(i % width) / float(width) - 1.5
    y = 3.0 * float(i // width) / float(width) - 1.5
    o = wp.vec3(x, y, 3.0)
    d = wp.normalize(wp.vec3(0.1 * x, 0.1 * y, -1.0))
    t = float(0.0)
    for _ in range(64):
        step = scene_distance(o + d * t)
        t += step
        if step < 1.0e-4 or t > 8.0:
            break
    out[i] = t


@wp.kernel
def laplacian(u: wp.array2d(dtype=float), v: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i > 0 and j > 0 and i < u.shape[0] - 1 and j < u.shape[1] - 1:
        v[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]


@wp.kernel
def gather(x: wp.array(dtype=float), at: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[at[i]] * 2.0 + 1.0


@wp.kernel
def histogram(x: wp.array(dtype=float), bins: wp.array(dtype=int)):
    wp.atomic_add(bins, int(x[wp.tid()] * 255.0), 1)


@wp.kernel
def integrate(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    vi = v[i] + wp.vec3(0.0, -9.81, 0.0) * dt
    v[i] = vi
    x[i] = x[i] + vi * dt


@wp.kernel
def decompose(a: wp.array(dtype=wp.mat33), s: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    u, sigma, v = wp.svd3(a[i])
    s[i] = sigma


@wp.kernel
def monte_carlo(out: wp.array(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(7, i)
    inside = float(0.0)
    for _ in range(64):
        x = wp.randf(state)
        y = wp.randf(state)
        if x * x + y * y < 1.0:
            inside += 1.0
    out[i] = inside / 16.0


@wp.kernel
def wide(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    v = x[i]
    y[i] = wp.sin(v) * wp.exp(-v * v) + wp.sqrt(v)


@wp.kernel
def collatz(out: wp.array(dtype=int)):
    i = wp.tid()
    n = wp.uint32(i + 1)
    steps = int(0)
    while n != wp.uint32(1) and steps < 500:
        n = wp.where((n & wp.uint32(1)) == wp.uint32(1), n * wp.uint32(3) + wp.uint32(1), n >> wp.uint32(1))
        steps += 1
    out[i] = steps


@wp.kernel
def convolve(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for k in range(w.shape[0]):
        s += x[i + k] * w[k]
    y[i] = s


@wp.kernel
def rotations(q: wp.array(dtype=wp.quat), x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = wp.quat_rotate(wp.normalize(q[i]), x[i])


@wp.kernel
def product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    s = float(0.0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s


def cases(part: float = 1.0) -> list:
    """All of them, with arrays a `part` of the usual size."""
    rng = np.random.default_rng(1)

    def number(n: int) -> int:
        return max(int(n * part), 64)

    def floats(*shape, low=0.0, high=1.0):
        return wp.array(rng.uniform(low, high, shape).astype(np.float32), dtype=float, device="cpu")

    def vectors(n, dtype, grad=False):
        size = wp.types.type_size(dtype)
        data = rng.uniform(-1.0, 1.0, (n, size)).astype(np.float32)
        return wp.array(data.reshape((n, *dtype._shape_)), dtype=dtype, device="cpu", requires_grad=grad)

    def out(n, dtype=float):
        return wp.zeros(n, dtype=dtype, device="cpu")

    def spring_arguments(grad):
        side = int(np.sqrt(number(1 << 19)))
        nodes = np.arange(side * side).reshape(side, side)
        ends = np.concatenate([np.stack([nodes[:, :-1], nodes[:, 1:]], -1).reshape(-1, 2),
                               np.stack([nodes[:-1], nodes[1:]], -1).reshape(-1, 2)]).astype(np.int32)
        rest = wp.array(rng.uniform(0.5, 1.0, len(ends)).astype(np.float32), dtype=float, device="cpu", requires_grad=grad)
        return len(ends), [vectors(side * side, wp.vec3, grad), wp.array(ends, dtype=wp.vec2i, device="cpu"), rest,
                           wp.zeros(side * side, dtype=wp.vec3, device="cpu", requires_grad=grad)]

    pixels = number(1 << 18)
    width = int(np.sqrt(pixels))
    pixels = width * width
    big = number(1 << 22)
    side = int(np.sqrt(big))
    table = []

    def add(name, kernel, dim, arguments, work, unit, backward=False):
        table.append((name, kernel, dim, arguments, work / 1.0e6, unit, backward))

    add("mandelbrot", mandelbrot, pixels, [width, out(pixels)], pixels, "M pixels/s")
    add("sum", total, big, [floats(big), out(1)], big, "M/s")
    n = number(1 << 20)
    add("black_scholes", black_scholes, n, [floats(n, low=10, high=50), floats(n, low=10, high=50), floats(n, low=0.2, high=2), out(n)], n, "M/s")
    n = number(1 << 12)
    add("bodies", bodies, n, [vectors(n, wp.vec3), out(n, wp.vec3), n], n * n, "M pairs/s")
    n, arguments = spring_arguments(False)
    add("springs", springs, n, arguments, n, "M/s")
    n, arguments = spring_arguments(True)
    add("springs back", springs, n, arguments, n, "M/s", True)
    add("saxpy", saxpy, big, [2.0, floats(big), floats(big)], 12 * big, "MB/s")
    n = number(1 << 16)
    add("matrices", matrices, n, [vectors(n, wp.mat44), vectors(n, wp.mat44), out(n, wp.mat44)], 192 * n, "MB/s")
    n = number(1 << 20)
    add("noise", perlin, n, [out(n), 0.13], n, "M/s")
    add("ray_march", ray_march, pixels, [width, out(pixels)], pixels, "M rays/s")
    add("laplacian", laplacian, (side, side), [floats(side, side), out((side, side))], side * side, "M/s")
    at = wp.array(rng.permutation(big).astype(np.int32), dtype=int, device="cpu")
    add("gather", gather, big, [floats(big), at, out(big)], big, "M/s")
    add("histogram", histogram, big, [floats(big), out(256, int)], big, "M/s")
    n = number(1 << 20)
    add("integrate", integrate, n, [vectors(n, wp.vec3), vectors(n, wp.vec3), 0.001], n, "M/s")
    n = number(1 << 16)
    add("svd3", decompose, n, [vectors(n, wp.mat33), out(n, wp.vec3)], n, "M/s")
    add("monte_carlo", monte_carlo, pixels, [out(pixels)], pixels * 64, "M points/s")
    n = number(1 << 20)
    doubles = wp.array(rng.uniform(0.0, 2.0, n), dtype=wp.float64, device="cpu")
    add("float64", wide, n, [doubles, out(n, wp.float64)], n, "M/s")
    add("collatz", collatz, pixels, [out(pixels, int)], pixels, "M/s")
    n = number(1 << 18)
    add("convolve", convolve, n, [floats(n + 31), floats(31), out(n)], n * 31, "M/s")
    n = number(1 << 20)
    add("rotations", rotations, n, [vectors(n, wp.quat), vectors(n, wp.vec3), out(n, wp.vec3)], n, "M/s")
    n = int(number(1 << 16) ** 0.5)
    add("product", product, (n, n), [floats(n, n), floats(n, n), out((n, n))], n**3, "M/s")
    return table
