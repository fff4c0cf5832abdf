"""Slices through the signed distance of a knot, with contour lines: nearest points and winding numbers.

For each pixel of a slice wp.mesh_query_point_sign_winding_number finds the nearest point of the mesh and tells inside from
outside. Thin lines are a tenth apart, thick ones half; the surface itself is the dark line. Before
that the distance is put to the test: of points a little off the surface, out or in, it is that little.

    python examples/python/mesh_distance.py [--quick] [--size 300] [--output mesh_distance.png]
"""

import argparse
import pathlib
import time

import numpy as np
import warp as wp

from mesh_shapes import knot
from picture import write_png


@wp.func
def signed_distance(mesh: wp.uint64, p: wp.vec3):
    """How far the surface is; negative inside."""
    near = wp.mesh_query_point_sign_winding_number(mesh, p, wp.inf)
    return near.sign * wp.length(p - wp.mesh_eval_position(mesh, near.face, near.u, near.v))


@wp.kernel
def slice(mesh: wp.uint64, middle: wp.vec3, right: wp.vec3, down: wp.vec3, distance: wp.array2d(dtype=float)):
    """The distances of a square of points around `middle`."""
    y, x = wp.tid()
    half = 0.5 * float(distance.shape[0])
    distance[y, x] = signed_distance(mesh, middle + right * (float(x) / half - 1.0) + down * (float(y) / half - 1.0))


@wp.func
def line(d: float, apart: float, slope: float, width: float):
    """1 on lines of d = k * apart that are `width` pixels wide, 0 off them."""
    off = wp.abs(d / apart - wp.round(d / apart)) * apart / slope
    return 1.0 - wp.smoothstep(0.5 * width - 0.7, 0.5 * width + 0.7, off)


@wp.kernel
def draw(distance: wp.array2d(dtype=float), left: int, light: wp.array2d(dtype=wp.vec3)):
    """A panel of the picture, from column `left` on: warm inside, cold outside."""
    y, x = wp.tid()
    d = distance[y, x]
    n = distance.shape[0] - 1
    # How much d changes in the slice from pixel to pixel: lines are as wide as they are meant to be however it is tilted.
    dx = distance[y, wp.min(x + 1, n)] - distance[y, wp.max(x - 1, 0)]
    dy = distance[wp.min(y + 1, n), x] - distance[wp.max(y - 1, 0), x]
    slope = wp.max(0.5 * wp.sqrt(dx * dx + dy * dy), 1.0e-3)
    band = 0.1 * (wp.floor(d / 0.1) + 0.5)
    inside = wp.lerp(wp.vec3(0.98, 0.74, 0.34), wp.vec3(0.78, 0.16, 0.10), wp.clamp(-band / 0.38, 0.0, 1.0))
    outside = wp.lerp(wp.vec3(0.88, 0.93, 0.97), wp.vec3(0.05, 0.13, 0.33), wp.sqrt(wp.clamp(band / 2.6, 0.0, 1.0)))
    color = wp.where(d < 0.0, inside, outside)
    color = color * (1.0 - 0.25 * line(d, 0.1, slope, 1.6)) * (1.0 - 0.40 * line(d, 0.5, slope, 3.0))
    surface = 1.0 - wp.smoothstep(1.8, 3.2, wp.abs(d) / slope)
    light[y, left + x] = wp.lerp(color, wp.vec3(0.03, 0.02, 0.03), surface)


@wp.kernel
def develop(light: wp.array2d(dtype=wp.vec3), pixels: wp.array3d(dtype=wp.uint8)):
    """Four samples to a pixel."""
    y, x, k = wp.tid()
    total = light[2 * y, 2 * x][k] + light[2 * y, 2 * x + 1][k] + light[2 * y + 1, 2 * x][k] + light[2 * y + 1, 2 * x + 1][k]
    pixels[y, x, k] = wp.uint8(255.0 * wp.clamp(0.25 * total, 0.0, 1.0) + 0.5)


@wp.kernel
def step_off(
    mesh: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    normals: wp.array(dtype=wp.vec3),
    step: float,
    wrong: wp.array(dtype=float),
):
    """How far the distance of a point off the surface is from the length of the step that led there."""
    i = wp.tid()
    wp.atomic_max(wrong, 0, wp.abs(signed_distance(mesh, points[i] + step * normals[i]) - step))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few triangles, few pixels")
    parser.add_argument("--size", type=int, default=300, help="pixels along a side of each slice")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("mesh_distance.png"))
    args = parser.parse_args()
    along, around, size = (120, 16, 48) if args.quick else (640, 40, args.size)

    surface = knot(along, around)
    mesh = wp.Mesh(surface.points, surface.indices, support_winding_number=True)

    for step in (0.02, -0.02):
        wrong = wp.zeros(1, dtype=float)
        wp.launch(step_off, surface.points.shape[0], [mesh.id, surface.points, surface.normals, step, wrong])
        assert wrong.numpy()[0] < 0.25 * abs(step), f"distances are wrong by {wrong.numpy()[0]}"

    reach = 3.9
    x, y, z = np.eye(3) * reach
    slices = [((0, 0, 0), x, -y), ((0, 0, 0.55), x, -y), ((0, 0.9, 0), x, -z)]
    light = wp.zeros((2 * size, 2 * size * len(slices)), dtype=wp.vec3)
    distances = [wp.zeros((2 * size, 2 * size), dtype=float) for _ in slices]
    begin = time.perf_counter()
    for axes, distance in zip(slices, distances):
        wp.launch(slice, distance.shape, [mesh.id, *(wp.vec3(*axis) for axis in axes), distance])
    wp.synchronize()
    seconds = time.perf_counter() - begin
    for number, distance in enumerate(distances):
        wp.launch(draw, distance.shape, [distance, 2 * size * number, light])
    pixels = wp.zeros((size, size * len(slices), 3), dtype=wp.uint8)
    wp.launch(develop, dim=pixels.shape, inputs=[light, pixels])
    write_png(args.output, pixels.numpy())
    print(
        f"{len(mesh.indices) // 3} faces, {light.size} signed distances, {1e-6 * light.size / seconds:.2f} million per second; "
        f"wrote {args.output.resolve()}"
    )


if __name__ == "__main__":
    main()
