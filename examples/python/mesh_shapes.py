"""Shapes for the examples with meshes: a knot, a ball, a floor, all made by kernels; and normals at vertices."""

from __future__ import annotations

import numpy as np
import warp as wp

TURN = wp.constant(2.0 * 3.14159265)


@wp.struct
class Surface:
    """Triangles with what pictures want to know of their vertices. The arrays are those of a wp.Mesh."""

    points: wp.array(dtype=wp.vec3)
    indices: wp.array(dtype=int)
    normals: wp.array(dtype=wp.vec3)
    tints: wp.array(dtype=wp.vec3)


@wp.func
def rainbow(t: float):
    """Warm and cold colours in turn, once around for t from 0 to 1."""
    phase = wp.vec3(TURN * t, TURN * t + 1.1, TURN * t + 2.3)
    return wp.vec3(0.48, 0.40, 0.40) + 0.34 * wp.vec3(wp.cos(phase[0]), wp.cos(phase[1]), wp.cos(phase[2]))


@wp.kernel
def make_knot(around: int, points: wp.array(dtype=wp.vec3), tints: wp.array(dtype=wp.vec3)):
    """A trefoil with ribs that wind around it: vertex (i, j) is the j-th around the tube at the i-th place along it."""
    i, j = wp.tid()
    s = TURN * float(i) / float(points.shape[0] // around)
    ring = 2.0 + wp.cos(3.0 * s)
    middle = wp.vec3(ring * wp.cos(2.0 * s), ring * wp.sin(2.0 * s), wp.sin(3.0 * s))
    # The knot lies on a torus, whose normal is one axis of the tube's rings.
    up = wp.vec3(wp.cos(3.0 * s) * wp.cos(2.0 * s), wp.cos(3.0 * s) * wp.sin(2.0 * s), wp.sin(3.0 * s))
    slope = wp.vec3(-wp.sin(3.0 * s) * wp.cos(2.0 * s), -wp.sin(3.0 * s) * wp.sin(2.0 * s), wp.cos(3.0 * s)) * 3.0
    slope += wp.vec3(-wp.sin(2.0 * s), wp.cos(2.0 * s), 0.0) * (2.0 * ring)
    side = wp.cross(wp.normalize(slope), up)
    angle = TURN * float(j) / float(around)
    rib = 1.0 + 0.075 * wp.cos(6.0 * angle + 24.0 * s)
    out = up * wp.cos(angle) + side * wp.sin(angle)
    points[i * around + j] = middle + out * (0.40 * rib)
    tints[i * around + j] = rainbow(s / TURN)


@wp.kernel
def join_rings(around: int, indices: wp.array(dtype=int)):
    """Two triangles between neighbours of neighbouring rings; both directions are closed."""
    i, j = wp.tid()
    rings = indices.shape[0] // (6 * around)
    here = i * around
    there = ((i + 1) % rings) * around
    next = (j + 1) % around
    first = 6 * (i * around + j)
    indices[first] = here + j
    indices[first + 1] = here + next
    indices[first + 2] = there + next
    indices[first + 3] = here + j
    indices[first + 4] = there + next
    indices[first + 5] = there + j


@wp.kernel
def add_normals(points: wp.array(dtype=wp.vec3), indices: wp.array(dtype=int), normals: wp.array(dtype=wp.vec3)):
    """Adds each face's normal, as long as its area is large, to its corners."""
    t = wp.tid()
    a = points[indices[3 * t]]
    normal = wp.cross(points[indices[3 * t + 1]] - a, points[indices[3 * t + 2]] - a)
    for k in range(3):
        wp.atomic_add(normals, indices[3 * t + k], normal)


@wp.kernel
def make_unit(normals: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    normals[i] = wp.normalize(normals[i])


@wp.kernel
def place(points: wp.array(dtype=wp.vec3), turn: wp.mat33, shift: wp.vec3):
    i = wp.tid()
    points[i] = turn * points[i] + shift


def with_normals(surface: Surface) -> Surface:
    """Sets the normals of a surface whose points are there."""
    surface.normals = wp.zeros(surface.points.shape[0], dtype=wp.vec3)
    wp.launch(add_normals, surface.indices.shape[0] // 3, [surface.points, surface.indices, surface.normals])
    wp.launch(make_unit, surface.points.shape[0], [surface.normals])
    return surface


def knot(along: int, around: int) -> Surface:
    """A knot of 2 * along * around faces, about 6 wide, in the middle of everything."""
    surface = Surface()
    surface.points = wp.zeros(along * around, dtype=wp.vec3)
    surface.tints = wp.zeros(along * around, dtype=wp.vec3)
    surface.indices = wp.zeros(6 * along * around, dtype=int)
    wp.launch(make_knot, (along, around), [around, surface.points, surface.tints])
    wp.launch(join_rings, (along, around), [around, surface.indices])
    return with_normals(surface)


def moved(surface: Surface, turn: np.ndarray, shift: tuple[float, float, float]) -> Surface:
    """Turns and shifts a surface, in place."""
    wp.launch(place, surface.points.shape[0], [surface.points, wp.mat33(turn), wp.vec3(*shift)])
    return with_normals(surface)


def together(*surfaces: Surface) -> Surface:
    """One surface of several."""
    result, first, indices = Surface(), 0, []
    for surface in surfaces:
        indices.append(surface.indices.numpy() + first)
        first += surface.points.shape[0]
    result.indices = wp.array(np.concatenate(indices), dtype=int)
    result.points = wp.array(np.concatenate([s.points.numpy() for s in surfaces]), dtype=wp.vec3)
    result.normals = wp.array(np.concatenate([s.normals.numpy() for s in surfaces]), dtype=wp.vec3)
    result.tints = wp.array(np.concatenate([s.tints.numpy() for s in surfaces]), dtype=wp.vec3)
    return result


def floor(half: float, height: float, tint: tuple[float, float, float]) -> Surface:
    """A square that looks up along y."""
    corners = [[-half, height, -half], [-half, height, half], [half, height, half], [half, height, -half]]
    surface = Surface()
    surface.points = wp.array(corners, dtype=wp.vec3)
    surface.indices = wp.array([0, 1, 2, 0, 2, 3], dtype=int)
    surface.tints = wp.full(4, wp.vec3(*tint), dtype=wp.vec3)
    return with_normals(surface)


def ball(rings: int, tint: tuple[float, float, float]) -> Surface:
    """A ball of radius 1: each side of a cube is a square of rings × rings, blown up; vertices are shared."""
    grid = np.tan(np.linspace(-1.0, 1.0, rings + 1) * np.pi / 4.0)
    a, b = np.meshgrid(grid, grid, indexing="ij")
    points, faces = [], []
    number = np.arange((rings + 1) ** 2).reshape(rings + 1, rings + 1)
    p, q, r, s = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
    for axis in range(3):
        for sign in (-1.0, 1.0):
            side = np.zeros((*a.shape, 3))
            side[..., axis], side[..., (axis + 1) % 3], side[..., (axis + 2) % 3] = sign, a * sign, b
            faces.append(np.stack([p, q, r, p, r, s], axis=-1).reshape(-1, 3) + len(points) * number.size)
            points.append(side.reshape(-1, 3))
    cube, back = np.unique(np.round(np.concatenate(points), 6), axis=0, return_inverse=True)
    surface = Surface()
    surface.points = wp.array(cube / np.linalg.norm(cube, axis=1, keepdims=True), dtype=wp.vec3)
    surface.indices = wp.array(back.ravel()[np.concatenate(faces).ravel()], dtype=int)
    surface.tints = wp.full(len(cube), wp.vec3(*tint), dtype=wp.vec3)
    return with_normals(surface)
