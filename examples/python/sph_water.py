"""The picture of sph.py: a surface around particles, and rays that water mirrors, bends and tints."""

from __future__ import annotations

import numpy as np
import warp as wp

from mesh_tracer import SUN, developed, sky
from picture import Progress
from rays import View, view_from

FAR = wp.constant(1.0e6)
SPLITS = wp.constant(10)  # surfaces that a ray goes through
TINT = wp.constant(wp.vec3(2.6, 0.75, 0.38))  # light that is lost on a metre through the water


@wp.func
def distance(grid: wp.uint64, places: wp.array(dtype=wp.vec3), width: float, p: wp.vec3):
    """About the distance to the water, below zero inside: by the weighted middle of particles around (Zhu, Bridson)."""
    reach = 2.6 * width
    middle = wp.vec3()
    total = float(0.0)
    for j in wp.hash_grid_query(grid, p, reach):
        away = wp.length_sq(p - places[j]) / (reach * reach)
        if away < 1.0:
            w = (1.0 - away) * (1.0 - away) * (1.0 - away)
            middle += places[j] * w
            total += w
    out = reach
    if total > 0.0:
        out = wp.length(p - middle / total) - 0.85 * width
    return out


@wp.kernel
def measure(
    grid: wp.uint64,
    places: wp.array(dtype=wp.vec3),
    width: float,
    cell: float,
    first: wp.vec3,
    field: wp.array3d(dtype=float),
):
    """The distance at each node of a field."""
    i, j, k = wp.tid()
    p = first + wp.vec3(float(i), float(j), float(k)) * cell
    field[i, j, k] = distance(grid, places, width, p)


@wp.kernel
def smooth(source: wp.array3d(dtype=float), target: wp.array3d(dtype=float)):
    """A bit of each neighbour: takes the grain of single particles off."""
    i, j, k = wp.tid()
    nx, ny, nz = source.shape[0] - 1, source.shape[1] - 1, source.shape[2] - 1
    around = source[wp.max(i - 1, 0), j, k] + source[wp.min(i + 1, nx), j, k]
    around += source[i, wp.max(j - 1, 0), k] + source[i, wp.min(j + 1, ny), k]
    around += source[i, j, wp.max(k - 1, 0)] + source[i, j, wp.min(k + 1, nz)]
    target[i, j, k] = 0.4 * source[i, j, k] + 0.1 * around


@wp.kernel
def add_normals(points: wp.array(dtype=wp.vec3), indices: wp.array(dtype=int), normals: wp.array(dtype=wp.vec3)):
    """Each triangle's normal, by its area, to its corners."""
    t = wp.tid()
    a = points[indices[3 * t]]
    normal = wp.cross(points[indices[3 * t + 1]] - a, points[indices[3 * t + 2]] - a)
    for k in range(3):
        wp.atomic_add(normals, indices[3 * t + k], normal)


def surface_of(
    places: wp.array, grid: wp.HashGrid, width: float, tank: tuple[float, float, float]
) -> tuple[wp.Mesh, wp.array]:
    """The surface around particles as a mesh, and the normals of its points."""
    cell = 0.5 * width
    size = [int(np.ceil(extent / cell)) + 9 for extent in tank]
    first = wp.vec3(-4.0 * cell)
    field, other = wp.zeros(size, dtype=float), wp.zeros(size, dtype=float)
    grid.build(places, 2.6 * width)
    wp.launch(measure, dim=size, inputs=[grid.id, places, width, cell, first], outputs=[field])
    for _ in range(4):
        wp.launch(smooth, dim=size, inputs=[field], outputs=[other])
        field, other = other, field
    last = [first[k] + (size[k] - 1) * cell for k in range(3)]
    cubes = wp.MarchingCubes(*size, domain_bounds_lower_corner=first, domain_bounds_upper_corner=last)
    cubes.surface(field, 0.0)
    normals = wp.zeros_like(cubes.verts)
    wp.launch(add_normals, dim=len(cubes.indices) // 3, inputs=[cubes.verts, cubes.indices], outputs=[normals])
    return wp.Mesh(cubes.verts, cubes.indices), normals


@wp.func
def meet_ball(ball: wp.vec4, p: wp.vec3, d: wp.vec3):
    """How far it is to the ball along a ray; FAR: not met."""
    to = p - wp.vec3(ball[0], ball[1], ball[2])
    b = wp.dot(to, d)
    inside = b * b - wp.length_sq(to) + ball[3] * ball[3]
    out = FAR
    if inside > 0.0:
        t = -b - wp.sqrt(inside)
        if t > 1.0e-4:
            out = t
    return out


@wp.func
def sunlight(water: wp.uint64, ball: wp.vec4, p: wp.vec3, n: wp.vec3):
    """What reaches a matte surface: none behind the ball, some of it, bluer, through water."""
    sun = wp.vec3(2.6, 2.4, 2.05) * wp.max(wp.dot(n, SUN), 0.0)
    if meet_ball(ball, p, SUN) < FAR:
        sun = wp.vec3()
    elif wp.mesh_query_ray_anyhit(water, p, SUN, FAR):
        sun = wp.cw_mul(sun, wp.vec3(0.30, 0.50, 0.62))
    return sun


@wp.func
def ground(water: wp.uint64, ball: wp.vec4, tank: wp.vec3, p: wp.vec3):
    """Tiles, darker ones below the tank."""
    tile = (int(wp.floor(p[0] * 5.0)) + int(wp.floor(p[2] * 5.0))) & 1
    color = wp.vec3(0.52, 0.50, 0.47)
    if tile == 0:
        color = wp.vec3(0.40, 0.385, 0.37)
    if p[0] > 0.0 and p[0] < tank[0] and p[2] > 0.0 and p[2] < tank[2]:
        color = color * 0.8
    return wp.cw_mul(color, wp.vec3(0.42, 0.46, 0.54) + sunlight(water, ball, p, wp.vec3(0.0, 1.0, 0.0)) * 0.4)


@wp.func
def matte(water: wp.uint64, ball: wp.vec4, p: wp.vec3, d: wp.vec3):
    """The ball: lit, and a little glossy."""
    n = wp.normalize(p - wp.vec3(ball[0], ball[1], ball[2]))
    light = wp.vec3(0.30, 0.33, 0.38) * (0.9 + 0.5 * n[1]) + sunlight(water, ball, p + n * 1.0e-3, n) * 0.5
    gloss = 0.04 + 0.5 * wp.pow(1.0 + wp.dot(d, n), 5.0)
    return wp.cw_mul(wp.vec3(0.86, 0.24, 0.08), light) + sky(d - n * (2.0 * wp.dot(d, n))) * gloss


@wp.func
def see(water: wp.uint64, normals: wp.array(dtype=wp.vec3), ball: wp.vec4, tank: wp.vec3, start: wp.vec3, ray: wp.vec3):
    """The light along a ray, which goes on bent at the water; what is mirrored there sees sky and ground alone."""
    light = wp.vec3()
    through = wp.vec3(1.0)
    going = True
    inside = False
    p = start
    d = ray
    for _ in range(SPLITS):
        if going:
            hit = wp.mesh_query_ray(water, p, d, FAR)
            to_ball = meet_ball(ball, p, d)
            to_ground = FAR
            if d[1] < -1.0e-5:
                to_ground = -(p[1] + 0.012) / d[1]
            t = wp.min(to_ball, to_ground)
            wet = hit.result and hit.t < t
            if wet:
                t = hit.t
            if inside:
                through = wp.cw_mul(through, wp.vec3(wp.exp(-TINT[0] * t), wp.exp(-TINT[1] * t), wp.exp(-TINT[2] * t)))
            p = p + d * t
            if wet:
                flat = hit.normal * hit.sign
                a = normals[wp.mesh_get_index(water, 3 * hit.face)]
                b = normals[wp.mesh_get_index(water, 3 * hit.face + 1)]
                c = normals[wp.mesh_get_index(water, 3 * hit.face + 2)]
                n = wp.normalize(hit.u * a + hit.v * b + (1.0 - hit.u - hit.v) * c) * hit.sign
                if wp.dot(d, n) > -0.02:
                    n = flat
                inside = hit.sign < 0.0
                facing = wp.clamp(-wp.dot(d, n), 0.0, 1.0)
                ratio = 0.75
                if inside:
                    ratio = 1.0 / 0.75
                bent = 1.0 - ratio * ratio * (1.0 - facing * facing)
                mirrored = d + n * (2.0 * facing)
                if bent <= 0.0:  # all of it comes back
                    d = mirrored
                    p = p + flat * 2.0e-4
                else:
                    if not inside:
                        share = 0.02 + 0.98 * wp.pow(1.0 - facing, 5.0)
                        glint = wp.smoothstep(0.985, 0.999, wp.dot(mirrored, SUN))
                        seen = sky(mirrored) + wp.vec3(9.0, 8.4, 7.0) * glint
                        if mirrored[1] < 0.0:
                            seen = wp.vec3(0.36, 0.36, 0.36)
                        light += wp.cw_mul(through, seen) * share
                        through = through * (1.0 - share)
                    d = wp.normalize(d * ratio + n * (ratio * facing - wp.sqrt(bent)))
                    p = p - flat * 2.0e-4
                    inside = not inside
            else:
                going = False
                if t >= FAR:
                    light += wp.cw_mul(through, sky(d))
                elif to_ball < to_ground:
                    light += wp.cw_mul(through, matte(water, ball, p, d))
                else:
                    haze = wp.smoothstep(3.0, 14.0, wp.length(p - start))
                    light += wp.cw_mul(through, wp.lerp(ground(water, ball, tank, p), wp.vec3(0.69, 0.675, 0.66), haze))
    if going:  # caught in an edge: about what it would see in the end
        light += through * 0.4
    return light


@wp.kernel
def expose(
    water: wp.uint64,
    normals: wp.array(dtype=wp.vec3),
    ball: wp.vec4,
    tank: wp.vec3,
    view: View,
    dx: float,
    dy: float,
    film: wp.array2d(dtype=wp.vec3),
):
    """One more ray for each pixel, at (dx, dy) in it."""
    y, x = wp.tid()
    width, height = float(film.shape[1]), float(film.shape[0])
    a = (2.0 * (float(x) + dx) - width) / width
    b = (height - 2.0 * (float(y) + dy)) / width
    ray = wp.normalize(view.forward + view.right * a + view.up * b)
    film[y, x] += see(water, normals, ball, tank, view.eye, ray)


def picture_of(
    mesh: wp.Mesh,
    normals: wp.array,
    ball: wp.vec4,
    tank: tuple[float, float, float],
    size: tuple[int, int],
    side: int,
    progress: Progress,
) -> np.ndarray:
    """The water, as bytes of shape (height, width, 3), by `side` times `side` rays to a pixel."""
    film = wp.zeros((size[1], size[0]), dtype=wp.vec3)
    view = view_from((2.2, 1.5, 4.3), (1.36, 0.52, 0.42), 0.86)
    for k in range(side * side):
        dx, dy = (k % side + 0.5) / side, (k // side + 0.5) / side
        wp.launch(expose, film.shape, [mesh.id, normals, ball, wp.vec3(*tank), view, dx, dy, film])
        progress.advance()
    return developed(film, side * side)
