"""The scene of marbles.py: sizes, materials, lights, colours, camera."""

from __future__ import annotations

import numpy as np
import warp as wp

# The scene. Units are metres and seconds; y points up; the floor is y = 0.
RADIUS_MIN = wp.constant(0.034)
RADIUS_MAX = wp.constant(0.05)
CELL = wp.constant(0.1)  # twice the largest radius: a contact is never further than one cell away
LOW = wp.constant(wp.vec3(-4.0, 0.0, -3.0))  # the corner of the grid; marbles outside it fall into its outermost cells
CELLS = (80, 40, 60)

BIG = wp.constant(3)  # the large spheres: glass, gold, black lacquer

LIGHT = wp.constant(wp.normalize(wp.vec3(-0.75, 0.8, 0.3)))
LIGHT_COLOR = wp.constant(wp.vec3(3.4, 2.85, 2.2))  # what falls onto a surface that faces the key light
LIGHT_COS = wp.constant(0.985)  # cosine of its angular radius: the larger the light, the softer the shadow
LIGHT_GLOW = wp.constant(8.0)  # its brightness as mirrors see it

GLOSSY = wp.constant(0)
METAL = wp.constant(1)
GLASS = wp.constant(2)
FLOOR = wp.constant(3)
FAR = wp.constant(1.0e6)


@wp.struct
class Spheres:
    """Spheres of one kind: centre and radius, colour, material."""

    shape: wp.array(dtype=wp.vec4)
    color: wp.array(dtype=wp.vec3)
    material: wp.array(dtype=int)


@wp.struct
class Camera:
    """A thin lens."""

    eye: wp.vec3
    right: wp.vec3
    up: wp.vec3
    forward: wp.vec3
    width: int
    height: int
    scale: float
    focus: float
    aperture: float


@wp.func
def center(s: wp.vec4):
    """A sphere's centre; its radius is the fourth component."""
    return wp.vec3(s[0], s[1], s[2])


@wp.func
def cell_of(p: wp.vec3, nx: int, ny: int, nz: int):
    """The cell that holds p, clamped to the grid."""
    q = (p - LOW) * (1.0 / CELL)
    return (
        wp.clamp(int(wp.floor(q[0])), 0, nx - 1),
        wp.clamp(int(wp.floor(q[1])), 0, ny - 1),
        wp.clamp(int(wp.floor(q[2])), 0, nz - 1),
    )


ACROSS, DEEP = 18, 38  # marbles in the column, along x and z
# Place and colour, from the far side of the column to the near one, so that the picture shows what went where.
PALETTE = np.array(
    [
        (0.00, 0.62, 0.04, 0.035),
        (0.25, 0.82, 0.28, 0.04),
        (0.47, 0.74, 0.62, 0.42),
        (0.62, 0.02, 0.32, 0.34),
        (0.82, 0.01, 0.12, 0.24),
        (1.00, 0.04, 0.035, 0.14),
    ]
)


def make_marbles(number: int) -> Spheres:
    """Marbles without a place yet: coloured by where they will start, one in twenty of steel."""
    rng = np.random.default_rng(3)
    along = (np.arange(number) // ACROSS % DEEP) / DEEP + rng.normal(scale=0.03, size=number)
    color = np.stack([np.interp(along, PALETTE[:, 0], PALETTE[:, k]) for k in (1, 2, 3)], axis=1)
    steel = rng.random(number) < 0.05
    color[steel] = (0.85, 0.86, 0.88)
    marbles = Spheres()
    marbles.shape = wp.zeros(number, dtype=wp.vec4)
    marbles.color = wp.array(color, dtype=wp.vec3)
    marbles.material = wp.array(np.where(steel, METAL, GLOSSY), dtype=int)
    return marbles


def make_big() -> Spheres:
    """The three large spheres."""
    big = Spheres()
    big.shape = wp.array([(0.15, 0.62, 0.75, 0.62), (-0.35, 0.8, -0.85, 0.8), (1.75, 0.42, -0.25, 0.42)], dtype=wp.vec4)
    big.color = wp.array([(0.97, 0.99, 0.985), (0.95, 0.66, 0.30), (0.02, 0.02, 0.025)], dtype=wp.vec3)
    big.material = wp.array([GLASS, METAL, GLOSSY], dtype=int)
    return big


def make_camera(width: int, height: int) -> Camera:
    """Looks at the breaking wave from low down and focuses on the glass."""
    eye, target = wp.vec3(4.3, 1.5, 4.3), wp.vec3(0.1, 0.66, -0.1)
    forward = wp.normalize(target - eye)
    right = wp.normalize(wp.cross(forward, wp.vec3(0.0, 1.0, 0.0)))
    camera = Camera()
    camera.eye, camera.forward, camera.right, camera.up = eye, forward, right, wp.cross(right, forward)
    camera.width, camera.height = width, height
    camera.scale, camera.focus, camera.aperture = 0.76, 5.25, 0.04
    return camera
