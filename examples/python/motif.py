"""A picture for the examples that work on pictures: three glossy balls on a woven cloth, ray cast by one kernel."""

from __future__ import annotations

import warp as wp

from rays import View, ray_of, view_from

LIGHT = wp.constant(wp.normalize(wp.vec3(-0.6, 0.9, 0.45)))


@wp.func
def ball(number: int):
    """Middle and radius."""
    out = wp.vec4(-1.15, 0.75, 0.1, 0.75)
    if number == 1:
        out = wp.vec4(0.55, 0.95, -0.55, 0.95)
    elif number == 2:
        out = wp.vec4(0.75, 0.42, 1.0, 0.42)
    return out


@wp.func
def ball_tint(number: int):
    """What it looks like in white light."""
    out = wp.vec3(0.86, 0.22, 0.10)
    if number == 1:
        out = wp.vec3(0.07, 0.36, 0.62)
    elif number == 2:
        out = wp.vec3(0.95, 0.68, 0.12)
    return out


@wp.func
def meet_ball(b: wp.vec4, p: wp.vec3, d: wp.vec3):
    """How far along a ray a ball is; -1 if it isn't there."""
    to = p - wp.vec3(b[0], b[1], b[2])
    half = wp.dot(to, d)
    under = half * half - wp.dot(to, to) + b[3] * b[3]
    t = float(-1.0)
    if under > 0.0:
        t = -half - wp.sqrt(under)
    return t


@wp.func
def cloth(x: float, z: float):
    """Threads that go over and under each other, in two colours."""
    u = 4.0 * x
    v = 4.0 * z
    over = wp.sin(3.14159265 * u) * wp.sin(3.14159265 * v) > 0.0
    warp_thread = wp.abs(wp.sin(3.14159265 * u))
    weft_thread = wp.abs(wp.sin(3.14159265 * v))
    tint = wp.vec3(0.78, 0.74, 0.66) * (0.35 + 0.65 * warp_thread)
    if over:
        tint = wp.vec3(0.34, 0.44, 0.40) * (0.35 + 0.65 * weft_thread)
    return tint


@wp.func
def shade(p: wp.vec3, d: wp.vec3):
    """The light that comes back along a ray, after two mirrors at most."""
    light = wp.vec3()
    through = float(1.0)
    start = p
    way = d
    for _bounce in range(3):
        nearest = float(1.0e6)
        found = int(-1)
        for k in range(3):
            t = meet_ball(ball(k), start, way)
            if t > 1.0e-3 and t < nearest:
                nearest = t
                found = k
        floor = -start[1] / wp.min(way[1], -1.0e-6)
        if way[1] < 0.0 and floor > 1.0e-3 and floor < nearest:
            nearest = floor
            found = 3
        if found < 0:
            high = wp.sqrt(wp.max(way[1], 0.0))
            light += through * wp.lerp(wp.vec3(0.95, 0.90, 0.84), wp.vec3(0.30, 0.50, 0.85), high)
            through = 0.0
        else:
            at = start + nearest * way
            n = wp.vec3(0.0, 1.0, 0.0)
            tint = wp.vec3()
            if found == 3:
                tint = wp.lerp(cloth(at[0], at[2]), wp.vec3(0.56, 0.59, 0.53), wp.smoothstep(5.0, 11.0, nearest))
            else:
                b = ball(found)
                n = (at - wp.vec3(b[0], b[1], b[2])) / b[3]
                tint = ball_tint(found)
            lit = float(1.0)
            for k in range(3):
                if meet_ball(ball(k), at + 1.0e-3 * n, LIGHT) > 1.0e-3:
                    lit = 0.0
            facing = wp.clamp(-wp.dot(way, n), 0.0, 1.0)
            gloss = wp.where(found == 3, 0.0, 0.06 + 0.94 * wp.pow(1.0 - facing, 5.0))
            light += (through * (1.0 - gloss)) * tint * (0.38 + 0.75 * lit * wp.max(wp.dot(n, LIGHT), 0.0))
            through *= gloss
            start = at + 1.0e-3 * n
            way = way - n * (2.0 * wp.dot(way, n))
    return light


@wp.kernel
def paint(view: View, samples: int, picture: wp.array2d(dtype=wp.vec3)):
    """The mean of samples * samples rays a pixel, as it would be shown: numbers from 0 to 1, with sRGB's curve."""
    y, x = wp.tid()
    light = wp.vec3()
    for k in range(samples * samples):
        dx = (float(k % samples) + 0.5) / float(samples)
        dy = (float(k / samples) + 0.5) / float(samples)
        ray = ray_of(view, float(x) + dx, float(y) + dy, float(picture.shape[1]), float(picture.shape[0]))
        light += shade(view.eye, ray)
    light /= float(samples * samples)
    for c in range(3):
        picture[y, x][c] = wp.pow(wp.clamp(light[c], 0.0, 1.0), 1.0 / 2.2)


def painted(width: int, height: int, samples: int, device: str) -> wp.array:
    """The picture as an array of vec3."""
    picture = wp.zeros((height, width), dtype=wp.vec3, device=device)
    view = view_from((0.4, 2.3, 5.2), (-0.1, 0.62, 0.0), 0.86)
    wp.launch(paint, dim=picture.shape, inputs=[view, samples, picture], device=device)
    return picture
