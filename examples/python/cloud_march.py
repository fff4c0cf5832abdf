"""How light goes through a cloud: paths that scatter at chance (Woodcock's method), and a plain march that has gradients.

The first reads a grid of densities as a file has it and makes pictures; the second reads an index grid with an array of
densities, so that the slope of each pixel goes back to each voxel.
"""

from __future__ import annotations

import warp as wp

from rays import View, ray_of, span_in_box

SUN = wp.constant(wp.normalize(wp.vec3(-0.62, 0.62, 0.48)))
SUN_LIGHT = wp.constant(wp.vec3(7.4, 6.5, 5.3))
FORWARD = wp.constant(0.55)  # how far droplets scatter ahead: the g of Henyey and Greenstein
SCATTERINGS = wp.constant(48)
ALBEDO = wp.constant(0.995)


@wp.struct
class Box:
    """Where the cloud is, and how thick: the parts of light that a density of one takes away along a unit of length."""

    low: wp.vec3
    high: wp.vec3
    thick: float
    densest: float


@wp.func
def sky(dir: wp.vec3):
    """Pale at the horizon, blue above, and haze below."""
    high = wp.sqrt(wp.clamp(dir[1] + 0.08, 0.0, 1.0))
    return wp.lerp(wp.vec3(0.42, 0.56, 0.78), wp.vec3(0.03, 0.13, 0.42), high)


@wp.func
def scattered(cosine: float, g: float):
    """How much of the light turns by an angle, by Henyey and Greenstein."""
    base = 1.0 + g * g - 2.0 * g * cosine
    return (1.0 - g * g) / (12.5663706 * base * wp.sqrt(base))


@wp.func
def turned(d: wp.vec3, a: float, b: float):
    """A direction after a droplet, in the same proportions."""
    s = (1.0 - FORWARD * FORWARD) / (1.0 - FORWARD + 2.0 * FORWARD * a)
    cosine = wp.clamp((1.0 + FORWARD * FORWARD - s * s) / (2.0 * FORWARD), -1.0, 1.0)
    sine = wp.sqrt(1.0 - cosine * cosine)
    side = wp.normalize(wp.cross(d, wp.where(wp.abs(d[1]) < 0.9, wp.vec3(0.0, 1.0, 0.0), wp.vec3(1.0, 0.0, 0.0))))
    other = wp.cross(side, d)
    phi = 6.2831853 * b
    return wp.normalize(d * cosine + side * (sine * wp.cos(phi)) + other * (sine * wp.sin(phi)))


@wp.func
def density_at(cloud: wp.uint64, p: wp.vec3):
    return wp.volume_sample_f(cloud, wp.volume_world_to_index(cloud, p), wp.Volume.LINEAR)


@wp.func
def follow(cloud: wp.uint64, light: wp.uint64, box: Box, start: wp.vec3, ray: wp.vec3, state: wp.uint32):
    """The light that comes back along a ray: free ways of random length, as if all of the box were as dense as its densest
    part; at the end of each there is a droplet with the chance that the true density has there."""
    seen = wp.vec3()
    through = float(1.0)
    most = box.thick * box.densest
    p = start
    d = ray
    going = True
    for _ in range(SCATTERINGS):
        if going:
            way = span_in_box(box.low, box.high, p, d)
            t = way[0]
            met = False
            while t < way[1] and not met:
                t -= wp.log(1.0 - wp.randf(state)) / most
                if t < way[1]:
                    met = wp.randf(state) * box.densest < density_at(cloud, p + d * t)
            if met:
                p = p + d * t
                through *= ALBEDO
                seen += SUN_LIGHT * (through * density_at(light, p) * scattered(wp.dot(d, SUN), FORWARD))
                d = turned(d, wp.randf(state), wp.randf(state))
            else:
                seen += sky(d) * through
                going = False
    return seen


@wp.kernel
def expose(
    cloud: wp.uint64,
    light: wp.uint64,
    box: Box,
    view: View,
    corner: wp.vec2i,
    size: wp.vec2i,
    sample: int,
    film: wp.array2d(dtype=wp.vec3),
):
    """One more path for each pixel of a panel of the film."""
    y, x = wp.tid()
    state = wp.rand_init(sample, (corner[1] + y) * film.shape[1] + corner[0] + x)
    ray = ray_of(view, float(x) + wp.randf(state), float(y) + wp.randf(state), float(size[0]), float(size[1]))
    film[corner[1] + y, corner[0] + x] += follow(cloud, light, box, view.eye, ray, state)


@wp.kernel
def develop(film: wp.array2d(dtype=wp.vec3), samples: wp.array2d(dtype=float), pixels: wp.array3d(dtype=wp.uint8)):
    """The mean of all paths, bright parts held back (Reinhard), as bytes of sRGB; black where there are none."""
    y, x, k = wp.tid()
    c = film[y, x][k] / wp.max(samples[y, x], 1.0)
    c = c * (1.0 + c / 30.0) / (1.0 + c)
    pixels[y, x, k] = wp.uint8(255.0 * wp.pow(wp.clamp(1.3 * c, 0.0, 1.0), 1.0 / 2.2) + 0.5)


@wp.kernel
def shine_on_grid(cloud: wp.uint64, light: wp.uint64, box: Box, voxels: wp.array(dtype=wp.vec3i), step: float):
    """Of the sun's light, the part that comes to each voxel, into a grid of the same tiles."""
    v = voxels[wp.tid()]
    p = wp.volume_index_to_world(cloud, wp.vec3(float(v[0]), float(v[1]), float(v[2])))
    far = span_in_box(box.low, box.high, p, SUN)[1]
    depth = float(0.0)
    for k in range(int(wp.ceil(far / step))):
        depth += density_at(cloud, p + SUN * ((float(k) + 0.5) * step)) * step
    wp.volume_store_f(light, v[0], v[1], v[2], wp.exp(-box.thick * depth))


# ---- the march that is differentiated --------------------------------------------------------------------------------


@wp.func
def value_at(grid: wp.uint64, values: wp.array(dtype=float), p: wp.vec3):
    return wp.volume_sample_index(grid, wp.volume_world_to_index(grid, p), wp.Volume.LINEAR, values, 0.0)


@wp.kernel
def shine(
    grid: wp.uint64,
    density: wp.array(dtype=float),
    box: Box,
    voxels: wp.array(dtype=wp.vec3i),
    step: float,
    light: wp.array(dtype=float),
):
    """The same for an index grid: an array of light, a row for each voxel."""
    n = wp.tid()
    v = voxels[n]
    p = wp.volume_index_to_world(grid, wp.vec3(float(v[0]), float(v[1]), float(v[2])))
    far = span_in_box(box.low, box.high, p, SUN)[1]
    depth = float(0.0)
    for k in range(int(wp.ceil(far / step))):
        depth += value_at(grid, density, p + SUN * ((float(k) + 0.5) * step)) * step
    light[n] = wp.exp(-box.thick * depth)


@wp.kernel
def photograph(
    grid: wp.uint64,
    density: wp.array(dtype=float),
    light: wp.array(dtype=float),
    box: Box,
    eyes: wp.array(dtype=wp.mat33),
    width: float,
    step: float,
    steps: int,
    photos: wp.array3d(dtype=wp.vec2),
):
    """A pixel of a photograph: light that was scattered once, and what part of the sky is left behind the cloud. Rays of a
    photograph run side by side; an eye is two axes and a direction."""
    view, y, x = wp.tid()
    eye = eyes[view]
    across = float(photos.shape[2])
    a = width * ((float(x) + 0.5) / across - 0.5)
    b = width * ((float(y) + 0.5) / across - 0.5)
    p = 0.5 * (box.low + box.high) + eye[0] * a + eye[1] * b - eye[2] * (0.5 * step * float(steps))
    left = float(1.0)
    bright = float(0.0)
    for k in range(steps):
        q = p + eye[2] * ((float(k) + 0.5) * step)
        stays = wp.exp(-box.thick * step * value_at(grid, density, q))
        bright += left * (1.0 - stays) * value_at(grid, light, q)
        left *= stays
    photos[view, y, x] = wp.vec2(bright, left)


@wp.kernel
def compare(photos: wp.array3d(dtype=wp.vec2), wanted: wp.array3d(dtype=wp.vec2), loss: wp.array(dtype=float)):
    """The mean square of what two sets of photographs differ by."""
    view, y, x = wp.tid()
    pixels = float(photos.shape[0] * photos.shape[1] * photos.shape[2])
    wp.atomic_add(loss, 0, wp.length_sq(photos[view, y, x] - wanted[view, y, x]) / pixels)
