"""A path tracer for triangles, by mesh_query_ray and mesh_query_ray_anyhit: sun, sky, matte and glazed surfaces."""

from __future__ import annotations

import numpy as np
import warp as wp

from mesh_shapes import Surface
from picture import Progress
from rays import View, around, ray_of

SUN = wp.constant(wp.normalize(wp.vec3(-0.55, 0.75, 0.50)))
SUN_LIGHT = wp.constant(wp.vec3(3.4, 3.0, 2.4))
SUN_WIDTH = wp.constant(0.06)  # of its cone, in parts of a distance: how soft shadows are
BOUNCES = wp.constant(4)
FAR = wp.constant(1.0e6)


@wp.func
def sky(dir: wp.vec3):
    """Pale at the horizon, blue above."""
    high = wp.sqrt(wp.max(dir[1], 0.0))
    return wp.lerp(wp.vec3(0.92, 0.90, 0.88), wp.vec3(0.30, 0.46, 0.78), high) * 0.75


@wp.func
def at_corners(values: wp.array(dtype=wp.vec3), mesh: wp.uint64, hit: wp.MeshQueryRay):
    """A value of the vertices between the corners of the face that was met."""
    a = values[wp.mesh_get_index(mesh, 3 * hit.face)]
    b = values[wp.mesh_get_index(mesh, 3 * hit.face + 1)]
    c = values[wp.mesh_get_index(mesh, 3 * hit.face + 2)]
    return hit.u * a + hit.v * b + (1.0 - hit.u - hit.v) * c


@wp.func
def follow(mesh: wp.uint64, surface: Surface, glazed: int, start: wp.vec3, ray: wp.vec3, state: wp.uint32):
    """The light that comes back along a ray. Faces below number `glazed` mirror a little."""
    light = wp.vec3()
    through = wp.vec3(1.0)
    going = True
    mirrored = False
    p = start
    d = ray
    for bounce in range(BOUNCES):
        if going:
            hit = wp.mesh_query_ray(mesh, p, d, FAR)
            if not hit.result:
                light += wp.cw_mul(through, sky(d))
                if mirrored and bounce == 1:  # glints; the sun in mirrors of mirrors would be noise
                    light += through * (24.0 * wp.smoothstep(0.985, 0.996, wp.dot(d, SUN)))
                going = False
            else:
                flat = hit.normal * hit.sign
                n = wp.normalize(at_corners(surface.normals, mesh, hit)) * hit.sign
                if wp.dot(d, n) > -0.05:  # at the rim the normal between those of the corners may look away
                    n = flat
                p = p + d * hit.t + flat * 2.0e-4
                facing = wp.clamp(-wp.dot(d, n), 0.0, 1.0)
                gloss = 0.04 + 0.96 * wp.pow(1.0 - facing, 5.0)
                mirrored = hit.face < glazed and wp.randf(state) < gloss
                if mirrored:
                    d = d - n * (2.0 * wp.dot(d, n))
                    going = wp.dot(d, flat) > 0.0
                else:
                    through = wp.cw_mul(through, at_corners(surface.tints, mesh, hit))
                    to_sun = around(SUN, wp.randf(state), wp.randf(state), SUN_WIDTH)
                    if wp.dot(to_sun, flat) > 0.0 and not wp.mesh_query_ray_anyhit(mesh, p, to_sun, FAR):
                        light += wp.cw_mul(through, SUN_LIGHT) * (wp.max(wp.dot(to_sun, n), 0.0) / 3.14159265)
                    d = around(n, wp.randf(state), wp.randf(state), 0.999)
                    going = wp.dot(d, flat) > 0.0
    return light


@wp.kernel
def expose(
    mesh: wp.uint64,
    surface: Surface,
    glazed: int,
    view: View,
    left: int,
    width: int,
    sample: int,
    film: wp.array2d(dtype=wp.vec3),
):
    """One more path for each pixel of a panel of the film that begins at column `left`."""
    y, x = wp.tid()
    state = wp.rand_init(sample, y * film.shape[1] + left + x)
    ray = ray_of(view, float(x) + wp.randf(state), float(y) + wp.randf(state), float(width), float(film.shape[0]))
    film[y, left + x] += follow(mesh, surface, glazed, view.eye, ray, state)


@wp.kernel
def develop(film: wp.array2d(dtype=wp.vec3), samples: float, pixels: wp.array3d(dtype=wp.uint8)):
    """The mean of all paths, bright parts held back (Reinhard), as bytes of sRGB."""
    y, x, k = wp.tid()
    c = film[y, x][k] / samples
    c = c * (1.0 + c / 9.0) / (1.0 + c)
    pixels[y, x, k] = wp.uint8(255.0 * wp.pow(wp.clamp(1.45 * c, 0.0, 1.0), 1.0 / 2.2) + 0.5)


def expose_panel(
    mesh: wp.Mesh,
    surface: Surface,
    glazed: int,
    view: View,
    film: wp.array,
    columns: tuple[int, int],
    samples: int,
    progress: Progress | None = None,
) -> None:
    """Adds `samples` paths to each pixel of some columns of the film."""
    left, width = columns
    for sample in range(samples):
        wp.launch(expose, (film.shape[0], width), [mesh.id, surface, glazed, view, left, width, sample, film])
        if progress is not None:
            progress.advance()


def developed(film: wp.array, samples: int) -> np.ndarray:
    """The film as bytes of shape (height, width, 3)."""
    pixels = wp.zeros((*film.shape, 3), dtype=wp.uint8)
    wp.launch(develop, dim=pixels.shape, inputs=[film, float(samples), pixels])
    return pixels.numpy()
