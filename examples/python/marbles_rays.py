"""The path tracer of marbles.py: a grid that rays walk through, surfaces, light, and the development of the film."""

from __future__ import annotations

import numpy as np
import warp as wp

from marbles_scene import (
    BIG,
    CELL,
    CELLS,
    FAR,
    FLOOR,
    GLASS,
    LIGHT,
    LIGHT_COLOR,
    LIGHT_COS,
    LIGHT_GLOW,
    LOW,
    METAL,
    RADIUS_MAX,
    Camera,
    Spheres,
    cell_of,
    center,
)
from picture import Progress

# Steps of the R8 sequence (Roberts 2018), which spreads the samples of a pixel evenly over pixel, lens, light and sky.
vec8 = wp.types.vector(8, wp.float32)
SPREAD = wp.constant(vec8(*[1.0850702 ** -(k + 1) for k in range(8)]))


@wp.struct
class Grid:
    """Cells for rays: marbles that touch cell c are items[start[c] : start[c + 1]]; all lie between low and high."""

    start: wp.array(dtype=int)
    items: wp.array(dtype=int)
    low: wp.vec3
    high: wp.vec3
    nx: int
    ny: int
    nz: int


@wp.struct
class Hit:
    """The nearest surface along a ray."""

    t: float
    normal: wp.vec3
    color: wp.vec3
    material: int


@wp.func
def touched(s: wp.vec4, nx: int, ny: int, nz: int):
    """The first and the last cell that the box around a marble touches, per axis."""
    r = wp.vec3(s[3], s[3], s[3])
    x0, y0, z0 = cell_of(center(s) - r, nx, ny, nz)
    x1, y1, z1 = cell_of(center(s) + r, nx, ny, nz)
    return x0, y0, z0, x1, y1, z1


@wp.kernel
def count_touched(shape: wp.array(dtype=wp.vec4), count: wp.array3d(dtype=int)):
    """How many marbles touch each cell."""
    i = wp.tid()
    x0, y0, z0, x1, y1, z1 = touched(shape[i], count.shape[0], count.shape[1], count.shape[2])
    for x in range(x0, x1 + 1):
        for y in range(y0, y1 + 1):
            for z in range(z0, z1 + 1):
                wp.atomic_add(count, x, y, z, 1)


@wp.kernel
def enter_touched(shape: wp.array(dtype=wp.vec4), next_free: wp.array3d(dtype=int), items: wp.array(dtype=int)):
    """Enters each marble into the lists of the cells it touches."""
    i = wp.tid()
    x0, y0, z0, x1, y1, z1 = touched(shape[i], next_free.shape[0], next_free.shape[1], next_free.shape[2])
    for x in range(x0, x1 + 1):
        for y in range(y0, y1 + 1):
            for z in range(z0, z1 + 1):
                items[wp.atomic_add(next_free, x, y, z, 1)] = i


def build_grid(marbles: Spheres) -> Grid:
    """Counts, adds up, enters: a compact list of marbles per cell."""
    count = wp.zeros(CELLS, dtype=int)
    wp.launch(count_touched, dim=marbles.shape.size, inputs=[marbles.shape, count])
    start = np.zeros(count.size + 1, dtype=np.int32)
    np.cumsum(count.numpy(), out=start[1:])
    grid = Grid()
    grid.start = wp.array(start, dtype=int)
    grid.items = wp.zeros(int(start[-1]), dtype=int)
    grid.nx, grid.ny, grid.nz = CELLS
    center_and_radius = marbles.shape.numpy()
    grid.low = center_and_radius[:, :3].min(axis=0) - RADIUS_MAX
    grid.high = center_and_radius[:, :3].max(axis=0) + RADIUS_MAX
    next_free = wp.array(start[:-1].reshape(CELLS), dtype=int)
    wp.launch(enter_touched, dim=marbles.shape.size, inputs=[marbles.shape, next_free, grid.items])
    return grid


@wp.func
def sphere_distance(s: wp.vec4, origin: wp.vec3, ray: wp.vec3):
    """Distance to the nearest intersection in front of the origin, FAR without one."""
    to = center(s) - origin
    b = wp.dot(to, ray)
    # The squared distance of centre and ray, from a vector and not as a difference of squares, which would cancel.
    off = to - ray * b
    h = s[3] * s[3] - wp.dot(off, off)
    t = FAR
    if h > 0.0:
        root = wp.sqrt(h)
        t = b - root
        if t < 1.0e-4:
            t = b + root
            if t < 1.0e-4:
                t = FAR
    return t


@wp.func
def enter_axis(origin: float, ray: float, cell: int, low: float):
    """Along one axis: the direction of the walk, the distance to the first border, the distance between borders."""
    step = wp.where(ray < 0.0, -1, 1)
    inverse = 1.0 / wp.where(wp.abs(ray) < 1.0e-9, 1.0e-9, wp.abs(ray))
    border = low + CELL * float(cell + wp.where(ray < 0.0, 0, 1))
    return step, wp.abs(border - origin) * inverse, CELL * inverse


@wp.func
def slab(origin: float, ray: float, low: float, high: float):
    """The part of a ray between two planes."""
    inverse = 1.0 / wp.where(wp.abs(ray) < 1.0e-9, 1.0e-9, ray)
    a = (low - origin) * inverse
    b = (high - origin) * inverse
    return wp.min(a, b), wp.max(a, b)


@wp.func
def nearest_marble(marbles: Spheres, grid: Grid, origin: wp.vec3, ray: wp.vec3, limit: float):
    """Walks the grid cell by cell (Amanatides and Woo 1987); returns distance and marble, or -1."""
    best = limit
    found = -1
    ax, bx = slab(origin[0], ray[0], grid.low[0], grid.high[0])
    ay, by = slab(origin[1], ray[1], grid.low[1], grid.high[1])
    az, bz = slab(origin[2], ray[2], grid.low[2], grid.high[2])
    near = wp.max(wp.max(ax, ay), wp.max(az, 0.0))
    far = wp.min(wp.min(bx, by), wp.min(bz, limit))
    if near < far:
        entry = origin + ray * (near + 1.0e-4)
        x, y, z = cell_of(entry, grid.nx, grid.ny, grid.nz)
        step_x, next_x, across_x = enter_axis(origin[0], ray[0], x, LOW[0])
        step_y, next_y, across_y = enter_axis(origin[1], ray[1], y, LOW[1])
        step_z, next_z, across_z = enter_axis(origin[2], ray[2], z, LOW[2])
        inside = True
        while inside:
            cell = (x * grid.ny + y) * grid.nz + z
            for k in range(grid.start[cell], grid.start[cell + 1]):
                j = grid.items[k]
                t = sphere_distance(marbles.shape[j], origin, ray)
                if t < best:
                    best = t
                    found = j
            leave = wp.min(next_x, wp.min(next_y, next_z))
            if next_x <= leave:
                x += step_x
                next_x += across_x
            elif next_y <= leave:
                y += step_y
                next_y += across_y
            else:
                z += step_z
                next_z += across_z
            within = x >= 0 and x < grid.nx and y >= 0 and y < grid.ny and z >= 0 and z < grid.nz
            inside = within and leave < wp.min(best, far)
    return best, found


@wp.func
def floor_color(p: wp.vec3):
    """A pale floor with a fine grid of lines that fades with distance."""
    x = wp.abs(p[0] - wp.floor(p[0]) - 0.5)
    z = wp.abs(p[2] - wp.floor(p[2]) - 0.5)
    line = wp.smoothstep(0.488, 0.497, wp.max(x, z)) * wp.exp(-0.1 * wp.length(p))
    return wp.lerp(wp.vec3(0.085, 0.09, 0.10), wp.vec3(0.03, 0.032, 0.036), line)


@wp.func
def trace(marbles: Spheres, big: Spheres, grid: Grid, origin: wp.vec3, ray: wp.vec3):
    """The nearest of floor, large spheres and marbles."""
    hit = Hit()
    hit.t = FAR
    if ray[1] < -1.0e-6:
        t = -origin[1] / ray[1]
        if t > 1.0e-4:
            hit.t = t
            hit.normal = wp.vec3(0.0, 1.0, 0.0)
            hit.color = floor_color(origin + ray * t)
            hit.material = FLOOR
    for k in range(BIG):
        t = sphere_distance(big.shape[k], origin, ray)
        if t < hit.t:
            hit.t = t
            hit.normal = wp.normalize(origin + ray * t - center(big.shape[k]))
            hit.color = big.color[k]
            hit.material = big.material[k]
    t, j = nearest_marble(marbles, grid, origin, ray, hit.t)
    if j >= 0:
        hit.t = t
        hit.normal = wp.normalize(origin + ray * t - center(marbles.shape[j]))
        hit.color = marbles.color[j]
        hit.material = marbles.material[j]
    return hit


@wp.func
def light_through(marbles: Spheres, big: Spheres, grid: Grid, origin: wp.vec3, ray: wp.vec3):
    """How much of the key light arrives: none behind marbles and opaque spheres, most of it behind glass."""
    arrives = 1.0
    for k in range(BIG):
        if sphere_distance(big.shape[k], origin, ray) < FAR:
            arrives *= wp.where(big.material[k] == GLASS, 0.7, 0.0)
    if arrives > 0.0:
        t, j = nearest_marble(marbles, grid, origin, ray, FAR)
        if j >= 0:
            arrives = 0.0
    return arrives


@wp.func
def sky(ray: wp.vec3):
    """A studio: a dark dome, a broad cool softbox on the right and a warm strip at the back."""
    dome = wp.lerp(wp.vec3(0.075, 0.092, 0.115), wp.vec3(0.012, 0.017, 0.03), wp.smoothstep(-0.02, 0.4, ray[1]))
    box = wp.smoothstep(0.80, 0.90, wp.dot(ray, wp.normalize(wp.vec3(0.75, 0.5, 0.2))))
    strip = wp.smoothstep(0.9, 0.95, wp.dot(ray, wp.normalize(wp.vec3(-0.2, 0.55, -0.8))))
    return dome + wp.vec3(0.9, 1.1, 1.4) * box + wp.vec3(2.0, 1.6, 1.2) * strip


@wp.func
def around(axis: wp.vec3, cos_angle: float, turn: float):
    """The direction at an angle from an axis, turned about it (frame: Duff et al. 2017)."""
    sign = wp.where(axis[2] < 0.0, -1.0, 1.0)
    a = -1.0 / (sign + axis[2])
    b = axis[0] * axis[1] * a
    u = wp.vec3(1.0 + sign * axis[0] * axis[0] * a, sign * b, -sign * axis[0])
    v = wp.vec3(b, sign + axis[1] * axis[1] * a, -axis[1])
    s = wp.sqrt(wp.max(0.0, 1.0 - cos_angle * cos_angle))
    return wp.normalize(u * (s * wp.cos(turn)) + v * (s * wp.sin(turn)) + axis * cos_angle)


@wp.func
def schlick(cos_angle: float, at_normal: float):
    """How much a surface reflects."""
    m = 1.0 - cos_angle
    return at_normal + (1.0 - at_normal) * m * m * m * m * m


@wp.func
def spread_numbers(sample: int, pixel: int):
    """Eight numbers in [0, 1), evenly spread over the samples of one pixel, independent from pixel to pixel."""
    state = wp.rand_init(1234, pixel)
    u = vec8()
    for k in range(8):
        u[k] = wp.frac(wp.randf(state) + float(sample) * SPREAD[k])
    return u


@wp.func
def tent(u: float):
    """A number in (-1, 1), likelier towards the middle: the filter of a pixel."""
    return wp.where(u < 0.5, wp.sqrt(2.0 * u) - 1.0, 1.0 - wp.sqrt(wp.max(2.0 - 2.0 * u, 0.0)))


@wp.kernel
def render(
    marbles: Spheres,
    big: Spheres,
    grid: Grid,
    camera: Camera,
    sample: int,
    bounces: int,
    film: wp.array2d(dtype=wp.vec3),
):
    """Adds one path per pixel to the film."""
    row, column = wp.tid()
    state = wp.rand_init(sample, row * camera.width + column)
    spread = spread_numbers(sample, row * camera.width + column)
    px = float(column) + 0.5 + tent(spread[0])
    py = float(row) + 0.5 + tent(spread[1])
    x = (px / float(camera.width) - 0.5) * camera.scale
    y = (0.5 * float(camera.height) - py) / float(camera.width) * camera.scale
    aim = camera.eye + (camera.forward + camera.right * x + camera.up * y) * camera.focus
    radius = camera.aperture * wp.sqrt(spread[2])
    turn = spread[3] * wp.tau
    origin = camera.eye + (camera.right * wp.cos(turn) + camera.up * wp.sin(turn)) * radius
    ray = wp.normalize(aim - origin)

    light = wp.vec3()
    through = wp.vec3(1.0, 1.0, 1.0)
    sees_light = True  # the key light is sampled at matte surfaces, and so counts only after mirrors
    first = True  # at the first matte surface the numbers are evenly spread, later ones are random
    for _bounce in range(bounces):
        hit = trace(marbles, big, grid, origin, ray)
        p = origin + ray * hit.t
        if hit.t >= FAR:
            glow = sky(ray)
            if sees_light and wp.dot(ray, LIGHT) > LIGHT_COS:
                glow += LIGHT_COLOR * LIGHT_GLOW
            light += wp.cw_mul(through, glow)
            break
        n = hit.normal
        facing = -wp.dot(ray, n)
        if hit.material == FLOOR:  # the floor fades into the dome: there is no horizon
            fade = wp.smoothstep(3.0, 9.0, wp.length(p))
            light += wp.cw_mul(through, sky(wp.vec3(ray[0], 0.0, ray[2]))) * fade
            through = through * (1.0 - fade)
        if hit.material == GLASS:
            ratio = 1.0 / 1.45
            if facing < 0.0:  # leaving
                n = -n
                facing = -facing
                ratio = 1.45
            k = 1.0 - ratio * ratio * (1.0 - facing * facing)
            if k <= 0.0 or wp.randf(state) < schlick(wp.where(ratio < 1.0, facing, wp.sqrt(wp.max(k, 0.0))), 0.034):
                ray = ray + n * (2.0 * facing)
                origin = p + n * 2.0e-4
            else:
                ray = wp.normalize(ray * ratio + n * (ratio * facing - wp.sqrt(k)))
                origin = p - n * 2.0e-4
                through = wp.cw_mul(through, hit.color)
            sees_light = True
        else:
            origin = p + n * 2.0e-4
            mirror = wp.normalize(ray + n * (2.0 * facing))
            shine = schlick(facing, 0.045)
            chance = wp.max(shine, 0.2)
            if hit.material == METAL:
                ray = around(mirror, 1.0 - 0.003 * wp.randf(state), wp.randf(state) * wp.tau)
                through = wp.cw_mul(through, hit.color)
                sees_light = True
            elif wp.randf(state) < chance:
                if hit.material == FLOOR:
                    ray = around(mirror, 1.0 - 0.01 * wp.randf(state), wp.randf(state) * wp.tau)
                else:
                    ray = around(mirror, 1.0 - 0.001 * wp.randf(state), wp.randf(state) * wp.tau)
                through = through * (shine / chance)
                sees_light = True
            else:
                through = wp.cw_mul(through, hit.color) * ((1.0 - shine) / (1.0 - chance))
                u = wp.vec4(wp.randf(state), wp.randf(state), wp.randf(state), wp.randf(state))
                if first:
                    u = wp.vec4(spread[4], spread[5], spread[6], spread[7])
                towards = around(LIGHT, 1.0 - u[0] * (1.0 - LIGHT_COS), u[1] * wp.tau)
                lit = wp.dot(towards, n)
                if lit > 0.0:
                    lit *= light_through(marbles, big, grid, origin, towards)
                    light += wp.cw_mul(through, LIGHT_COLOR) * lit
                ray = around(n, wp.sqrt(u[2]), u[3] * wp.tau)
                sees_light = False
                first = False
    film[row, column] = film[row, column] + wp.vec3(wp.min(light[0], 4.0), wp.min(light[1], 4.0), wp.min(light[2], 4.0))


@wp.func
def curve(x: float):
    """Filmic tone curve (Narkowicz 2015), then the encoding of sRGB."""
    y = wp.clamp((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0)
    return wp.where(y <= 0.0031308, 12.92 * y, 1.055 * wp.pow(wp.max(y, 1.0e-6), 1.0 / 2.4) - 0.055)


@wp.kernel
def develop(film: wp.array2d(dtype=wp.vec3), exposure: float, pixels: wp.array3d(dtype=wp.uint8)):
    """From light to bytes."""
    row, column = wp.tid()
    x = 2.0 * float(column) / float(film.shape[1]) - 1.0
    y = 2.0 * float(row) / float(film.shape[0]) - 1.0
    c = film[row, column] * (exposure * (1.0 - 0.12 * (x * x + y * y)))
    state = wp.rand_init(7, row * film.shape[1] + column)
    for k in range(3):
        pixels[row, column, k] = wp.uint8(wp.clamp(curve(c[k]) * 255.0 + wp.randf(state), 0.0, 255.0))


def take_picture(
    marbles: Spheres, big: Spheres, camera: Camera, samples: int, progress: Progress | None = None
) -> np.ndarray:
    """Renders the marbles as they lie; the bytes of an RGB image."""
    grid = build_grid(marbles)
    size = (camera.height, camera.width)
    film = wp.zeros(size, dtype=wp.vec3)
    for sample in range(samples):
        wp.launch(render, dim=size, inputs=[marbles, big, grid, camera, sample, 8, film])
        if progress:
            progress.advance()
    pixels = wp.zeros((*size, 3), dtype=wp.uint8)
    wp.launch(develop, dim=size, inputs=[film, 1.0 / samples, pixels])
    return pixels.numpy()
