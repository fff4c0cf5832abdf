"""A glazed knot on a floor: 50,000 triangles, path-traced by ray queries.

The knot is made by a kernel. For each path wp.mesh_query_ray finds what it meets, up to four times; wp.mesh_query_ray_anyhit
asks whether the sun is hidden, from somewhere else on the sun each time, which makes soft shadows; and paths that go on in all
directions find less of the sky in corners than in the open.

    python examples/python/raycast_mesh.py [--quick] [--size 900 560] [--samples 96] [--output raycast_mesh.png]
"""

import argparse
import pathlib
import time

import numpy as np
import warp as wp

from mesh_shapes import Surface, floor, knot, moved, together
from mesh_tracer import developed, expose_panel
from picture import Progress, write_png
from rays import view_from


def make_scene(along: int, around: int) -> tuple[Surface, int]:
    """The knot, leaning, on the floor; and how many of the faces are the knot's."""
    lean = np.radians(-62.0)
    turn = np.array([[1, 0, 0], [0, np.cos(lean), -np.sin(lean)], [0, np.sin(lean), np.cos(lean)]])
    shape = moved(knot(along, around), turn, (0.0, 0.0, 0.0))
    lowest = float(shape.points.numpy()[:, 1].min())
    return together(shape, floor(60.0, lowest - 0.002, (0.42, 0.41, 0.40))), shape.indices.shape[0] // 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few triangles, few pixels")
    parser.add_argument("--size", type=int, nargs=2, default=(900, 560), metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--samples", type=int, default=96, help="paths per pixel")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("raycast_mesh.png"))
    args = parser.parse_args()
    along, around = 640, 40
    if args.quick:
        along, around, args.size, args.samples = 120, 16, (90, 56), 4

    surface, glazed = make_scene(along, around)
    begin = time.perf_counter()
    mesh = wp.Mesh(surface.points, surface.indices)
    built = time.perf_counter() - begin
    width, height = args.size
    film = wp.zeros((height, width), dtype=wp.vec3)
    view = view_from((1.5, 4.4, 10.5), (0.0, -0.3, 0.0), 0.78)
    with Progress("paths", args.samples) as progress:
        expose_panel(mesh, surface, glazed, view, film, (0, width), args.samples, progress)
    wp.synchronize()
    seconds = time.perf_counter() - begin - built
    write_png(args.output, developed(film, args.samples))
    print(
        f"{len(mesh.indices) // 3} faces, tree in {1e3 * built:.0f} ms, {width}x{height} pixels, "
        f"{1e-6 * width * height * args.samples / seconds:.2f} million paths per second; wrote {args.output.resolve()}"
    )


if __name__ == "__main__":
    main()
