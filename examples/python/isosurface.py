"""A jack pulls itself together into a ball, as a drop does: gradients through the surface of a field.

The shape is where a field on a grid is below zero. Each step extracts its surface by marching cubes, measures the area and
the volume of the triangles, and goes back on a tape: the slope of the area by the field, with the volume held, says how the
field has to change. The surface is extracted anew each time, so it may tear and merge.

    python examples/python/isosurface.py [--quick] [--output isosurface.png]
"""

import argparse
import pathlib

import numpy as np
import warp as wp

from picture import Progress, write_png

FAR = wp.constant(wp.uint64(0xFFFFFFFFFFFFFFFF))


@wp.kernel
def jack(field: wp.array3d(dtype=float)):
    """Three rods with round ends that cross in the middle: the distance to the nearest."""
    i, j, k = wp.tid()
    n = float(field.shape[0])
    p = wp.vec3(float(i), float(j), float(k)) / (n - 1.0) - wp.vec3(0.5)
    nearest = float(1.0)
    for axis in range(3):
        along = wp.vec3(0.0)
        along[axis] = wp.clamp(p[axis], -0.34, 0.34)
        nearest = wp.min(nearest, wp.length(p - along) - 0.085)
    field[i, j, k] = nearest * (n - 1.0)


@wp.kernel
def measure(
    verts: wp.array(dtype=wp.vec3),
    indices: wp.array(dtype=int),
    area: wp.array(dtype=float),
    volume: wp.array(dtype=float),
):
    """Of each triangle, the area, and the volume between it and the origin."""
    t = wp.tid()
    a = verts[indices[3 * t]]
    b = verts[indices[3 * t + 1]]
    c = verts[indices[3 * t + 2]]
    wp.atomic_add(area, 0, 0.5 * wp.sqrt(wp.length_sq(wp.cross(b - a, c - a)) + 1.0e-8))
    wp.atomic_add(volume, 0, wp.dot(a, wp.cross(b, c)) / 6.0)


@wp.kernel
def spread(source: wp.array3d(dtype=float), target: wp.array3d(dtype=float)):
    """Shares each node's value with its neighbours: a smooth change moves the surface as a whole, not node by node."""
    i, j, k = wp.tid()
    n = source.shape[0] - 1
    around = source[wp.max(i - 1, 0), j, k] + source[wp.min(i + 1, n), j, k]
    around += source[i, wp.max(j - 1, 0), k] + source[i, wp.min(j + 1, n), k]
    around += source[i, j, wp.max(k - 1, 0)] + source[i, j, wp.min(k + 1, n)]
    target[i, j, k] = 0.25 * source[i, j, k] + 0.125 * around


@wp.kernel
def look(
    verts: wp.array(dtype=wp.vec3),
    view: wp.mat33,
    middle: wp.vec3,
    scale: float,
    half: float,
    seen: wp.array(dtype=wp.vec3),
):
    """Turns the vertices and puts them on the screen; z points to the viewer."""
    v = wp.tid()
    p = view * (verts[v] - middle)
    seen[v] = wp.vec3(half + scale * p[0], half - scale * p[1], scale * p[2])


@wp.kernel
def face(seen: wp.array(dtype=wp.vec3), indices: wp.array(dtype=int), normals: wp.array(dtype=wp.vec3)):
    """Adds each triangle's normal to its corners."""
    t = wp.tid()
    a = seen[indices[3 * t]]
    normal = wp.cross(seen[indices[3 * t + 1]] - a, seen[indices[3 * t + 2]] - a)
    for k in range(3):
        wp.atomic_add(normals, indices[3 * t + k], normal)


@wp.func
def side(a: wp.vec3, b: wp.vec3, x: float, y: float):
    return (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])


@wp.kernel
def draw(seen: wp.array(dtype=wp.vec3), indices: wp.array(dtype=int), nearest: wp.array2d(dtype=wp.uint64)):
    """One thread per triangle: of all that cover a pixel, the least (depth, number) stays."""
    t = wp.tid()
    a = seen[indices[3 * t]]
    b = seen[indices[3 * t + 1]]
    c = seen[indices[3 * t + 2]]
    area = side(a, b, c[0], c[1])
    if area < -1.0e-6:  # turned to the viewer: y points down here
        low = wp.min(wp.min(a, b), c)
        high = wp.max(wp.max(a, b), c)
        for y in range(wp.max(int(low[1]), 0), wp.min(int(high[1]) + 2, nearest.shape[0])):
            for x in range(wp.max(int(low[0]), 0), wp.min(int(high[0]) + 2, nearest.shape[1])):
                u = side(b, c, float(x), float(y)) / area
                v = side(c, a, float(x), float(y)) / area
                if u >= 0.0 and v >= 0.0 and u + v <= 1.0:
                    depth = 10000.0 - (u * a[2] + v * b[2] + (1.0 - u - v) * c[2])
                    code = (wp.uint64(depth * 10000.0) << wp.uint64(32)) | wp.uint64(t)
                    wp.atomic_min(nearest, y, x, code)


@wp.kernel
def shade(
    nearest: wp.array2d(dtype=wp.uint64),
    seen: wp.array(dtype=wp.vec3),
    normals: wp.array(dtype=wp.vec3),
    indices: wp.array(dtype=int),
    tint: wp.vec3,
    left: int,
    light: wp.array3d(dtype=float),
):
    """Colours a panel's pixels by the normal between the corners' ones; two lights and a glint."""
    y, x = wp.tid()
    color = wp.vec3(0.010, 0.016, 0.030) * (1.4 - float(y) / float(nearest.shape[0]))
    code = nearest[y, x]
    if code != FAR:
        t = int(code & wp.uint64(0x7FFFFFFF))
        a = seen[indices[3 * t]]
        b = seen[indices[3 * t + 1]]
        c = seen[indices[3 * t + 2]]
        area = side(a, b, c[0], c[1])
        u = side(b, c, float(x), float(y)) / area
        v = side(c, a, float(x), float(y)) / area
        n = u * normals[indices[3 * t]] + v * normals[indices[3 * t + 1]]
        n = wp.normalize(n + (1.0 - u - v) * normals[indices[3 * t + 2]])
        n = wp.vec3(-n[0], n[1], -n[2])  # the screen's y points down, which turns normals around
        sun = wp.normalize(wp.vec3(-0.5, 0.8, 0.6))
        diffuse = wp.max(wp.dot(n, sun), 0.0)
        glint = wp.pow(wp.max(wp.dot(n, wp.normalize(sun + wp.vec3(0.0, 0.0, 1.0))), 0.0), 40.0)
        rim = wp.pow(1.0 - wp.max(n[2], 0.0), 3.0)
        color = wp.cw_mul(tint, wp.vec3(0.16, 0.18, 0.24) + wp.vec3(1.0, 0.95, 0.85) * diffuse)
        color += wp.vec3(0.5) * glint + wp.vec3(0.10, 0.16, 0.28) * rim
    for k in range(3):
        light[y, left + x, k] = color[k]


@wp.kernel
def develop(light: wp.array3d(dtype=float), pixels: wp.array3d(dtype=wp.uint8)):
    """Four samples to a pixel."""
    y, x, k = wp.tid()
    total = light[2 * y, 2 * x, k] + light[2 * y, 2 * x + 1, k]
    total += light[2 * y + 1, 2 * x, k] + light[2 * y + 1, 2 * x + 1, k]
    pixels[y, x, k] = wp.uint8(255.0 * wp.pow(wp.clamp(0.25 * total, 0.0, 1.0), 1.0 / 2.2))


class Shape:
    """A field whose surface has as little area as its volume allows, in the end."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.field = wp.zeros((size, size, size), dtype=float, requires_grad=True)
        self.cubes = wp.MarchingCubes(size, size, size)
        wp.launch(jack, dim=self.field.shape, inputs=[self.field])
        self.start, _ = self.measured(None)

    def measured(self, of: str | None) -> tuple[dict[str, float], np.ndarray | None]:
        """Area and volume of the surface, and the slope of one of them by the field."""
        totals = {name: wp.zeros(1, dtype=float, requires_grad=True) for name in ("area", "volume")}
        with wp.Tape() as tape:
            self.cubes.surface(self.field, 0.0)
            count = len(self.cubes.indices) // 3
            wp.launch(measure, count, [self.cubes.verts, self.cubes.indices], [totals["area"], totals["volume"]])
        slope = None
        if of is not None:
            tape.backward(totals[of])
            slope = self.smooth(self.field.grad)
            tape.zero()
        return {name: float(total.numpy()[0]) for name, total in totals.items()}, slope

    def smooth(self, slope: wp.array) -> np.ndarray:
        one, other = wp.clone(slope), wp.empty_like(slope)
        for _ in range(6):
            wp.launch(spread, dim=one.shape, inputs=[one, other])
            one, other = other, one
        return one.numpy().copy()

    def step(self, far: float) -> dict[str, float]:
        """Moves the surface by `far` nodes where it moves most: less area, the volume of the start."""
        now, by_area = self.measured("area")
        _, by_volume = self.measured("volume")
        unit = by_volume / np.square(by_volume).sum()
        change = by_area - unit * (by_area * by_volume).sum()  # no more and no less volume, to first order
        change *= far / max(np.abs(change).max(), 1e-6)
        back = (now["volume"] - self.start["volume"]) * unit
        self.field.assign(self.field.numpy() - change - back)
        return now


def panel(shape: Shape, light: wp.array, width: int, number: int, tint: tuple[float, float, float]) -> None:
    """Draws the surface of now into one of the picture's squares."""
    verts, indices = shape.cubes.verts, shape.cubes.indices
    turn, tilt = 0.6, 0.5
    around = np.array([[np.cos(turn), 0, np.sin(turn)], [0, 1, 0], [-np.sin(turn), 0, np.cos(turn)]])
    down = np.array([[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]])
    seen, normals = wp.empty_like(verts, requires_grad=False), wp.zeros_like(verts, requires_grad=False)
    nearest = wp.full((width, width), FAR, dtype=wp.uint64)
    middle, scale = wp.vec3(0.5 * (shape.size - 1)), 1.02 * width / shape.size
    wp.launch(look, len(verts), [verts, wp.mat33(down @ around), middle, scale, 0.5 * width, seen])
    wp.launch(face, len(indices) // 3, [seen, indices, normals])
    wp.launch(draw, len(indices) // 3, [seen, indices, nearest])
    wp.launch(shade, nearest.shape, [nearest, seen, normals, indices, wp.vec3(*tint), number * width, light])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a coarse grid and few steps")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("isosurface.png"))
    args = parser.parse_args()
    size, steps, width = (24, 24, 96) if args.quick else (64, 180, 400)

    shape = Shape(size)
    tints = [(0.95, 0.45, 0.25), (0.9, 0.6, 0.3), (0.5, 0.7, 0.5), (0.25, 0.6, 0.85)]
    light = wp.zeros((2 * width, 2 * width * len(tints), 3), dtype=float)
    moments = [round(steps * part) for part in (0.0, 0.12, 0.35, 1.0)]
    with Progress("steps", steps) as progress:
        for k in range(steps + 1):
            now = shape.step(0.25)
            if k in moments:
                number = moments.index(k)
                panel(shape, light, 2 * width, number, tints[number])
            progress.advance()

    pixels = wp.zeros((width, width * len(tints), 3), dtype=wp.uint8)
    wp.launch(develop, dim=pixels.shape, inputs=[light, pixels])
    write_png(args.output, pixels.numpy())
    ball = (36.0 * np.pi * now["volume"] ** 2) ** (1.0 / 3.0)  # the area of a ball of this volume
    assert now["area"] < 0.8 * shape.start["area"], "the area did not shrink"
    assert abs(now["volume"] / shape.start["volume"] - 1.0) < 0.02, "the volume was not held"
    print(
        f"{steps} steps on {size}³ nodes: the area went from {shape.start['area'] / ball:.2f} to {now['area'] / ball:.2f} times "
        f"that of a ball, with {len(shape.cubes.indices) // 3} triangles; wrote {args.output.resolve()}"
    )


if __name__ == "__main__":
    main()
