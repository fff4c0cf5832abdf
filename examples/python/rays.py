"""What the examples with rays share: a camera, directions around an axis, the part of a ray in a box."""

from __future__ import annotations

import numpy as np
import warp as wp


@wp.struct
class View:
    """Where the camera stands, and its axes; a pixel is a point of the plane forward + x * right + y * up."""

    eye: wp.vec3
    forward: wp.vec3
    right: wp.vec3
    up: wp.vec3


def view_from(eye: tuple[float, float, float], at: tuple[float, float, float], width: float) -> View:
    """A camera at `eye` that sees `width` across, in parts of the distance."""
    forward = np.subtract(at, eye)
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, (0.0, 1.0, 0.0))
    right = right / np.linalg.norm(right)
    view = View()
    view.eye, view.forward = wp.vec3(*eye), wp.vec3(*forward)
    view.right, view.up = wp.vec3(*(0.5 * width * right)), wp.vec3(*(0.5 * width * np.cross(right, forward)))
    return view


@wp.func
def ray_of(view: View, x: float, y: float, width: float, height: float):
    """The direction of a place of a picture, in pixels from its upper left corner."""
    a = (2.0 * x - width) / width
    b = (height - 2.0 * y) / width
    return wp.normalize(view.forward + view.right * a + view.up * b)


@wp.func
def around(axis: wp.vec3, a: float, b: float, spread: float):
    """A direction near an axis: the axis plus a point of a unit sphere (spread 1: by the cosine) or of a small one."""
    z = 1.0 - 2.0 * a
    r = wp.sqrt(wp.max(1.0 - z * z, 0.0))
    phi = 6.2831853 * b
    return wp.normalize(axis + spread * wp.vec3(r * wp.cos(phi), r * wp.sin(phi), z))


@wp.func
def span_in_box(low: wp.vec3, high: wp.vec3, p: wp.vec3, d: wp.vec3):
    """From where to where a ray is in a box; empty if the first exceeds the second."""
    enter = float(0.0)
    leave = float(1.0e6)
    for k in range(3):
        slope = 1.0 / wp.where(wp.abs(d[k]) > 1.0e-6, d[k], 1.0e-6)
        a = (low[k] - p[k]) * slope
        b = (high[k] - p[k]) * slope
        enter = wp.max(enter, wp.min(a, b))
        leave = wp.min(leave, wp.max(a, b))
    return wp.vec2(enter, leave)
