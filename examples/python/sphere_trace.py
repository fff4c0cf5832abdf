"""A carved ball from a .nvdb file of signed distances, seen by sphere tracing.

Kernels write the distances of a ball that a gyroid was carved out of into the tiles near its surface, and a wp.Volume saves
them; with --file another level set is taken instead. A ray then goes ahead by the distance it reads, as long as there is any:
outside of the tiles that is the width of the band, so no step can miss the surface. Normals are the slopes of the samples, and
shadows are soft because the sun has a width.

    python examples/python/sphere_trace.py [--quick] [--file level_set.nvdb] [--samples 32] [--output sphere_trace.png]
"""

import argparse
import pathlib
import tempfile
import time

import numpy as np
import warp as wp

from picture import Progress, write_png
from rays import View, around, ray_of, span_in_box, view_from

SUN = wp.constant(wp.normalize(wp.vec3(-0.55, 0.80, 0.45)))
SUN_LIGHT = wp.constant(wp.vec3(2.9, 2.6, 2.1))
SUN_WIDTH = wp.constant(0.05)  # of its cone, in parts of a distance: how soft shadows are
FAR = wp.constant(40.0)
BOUNCES = wp.constant(4)
WALLS = wp.constant(11.0)  # waves of the gyroid across a unit: the larger, the finer


@wp.struct
class Scene:
    """The level set, moved and scaled to a unit ball over a floor, and where its tiles are."""

    low: wp.vec3
    high: wp.vec3
    middle: wp.vec3
    scale: float
    floor: float


@wp.func
def carved(p: wp.vec3):
    """About how far the surface is: a shell of a gyroid inside of a ball, around a smaller ball."""
    q = p * WALLS
    gyroid = wp.sin(q[0]) * wp.cos(q[1]) + wp.sin(q[1]) * wp.cos(q[2]) + wp.sin(q[2]) * wp.cos(q[0])
    wall = (wp.abs(gyroid) - 0.42) / (2.0 * WALLS)  # no steeper than a distance
    outside = wp.length(p) - 1.0
    core = wp.length(p) - 0.62
    shell = wp.abs(outside + 0.08) - 0.08
    both = wp.max(0.06 - wp.abs(wall - shell), 0.0)  # the edge between them is rounded off
    return wp.min(wp.max(wall, shell) + both * both / 0.24, core)


@wp.kernel
def find_tiles(first: wp.vec3i, size: float, band: float, found: wp.array3d(dtype=int)):
    """Which tiles of 8 x 8 x 8 voxels come near the surface."""
    i, j, k = wp.tid()
    middle = wp.vec3(float(8 * i), float(8 * j), float(8 * k)) + wp.vec3(float(first[0]), float(first[1]), float(first[2]))
    away = wp.abs(carved((middle + wp.vec3(3.5)) * size))
    if away < 7.0 * size + band:  # half of the diagonal, and the band
        found[i, j, k] = 1


@wp.kernel
def fill(volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i), band: float):
    """The distance at each voxel, cut off at the band."""
    v = voxels[wp.tid()]
    p = wp.volume_index_to_world(volume, wp.vec3(float(v[0]), float(v[1]), float(v[2])))
    wp.volume_store_f(volume, v[0], v[1], v[2], wp.clamp(carved(p), -band, band))


@wp.func
def place_of(scene: Scene, p: wp.vec3):
    """From the picture's world to that of the file."""
    return p * (1.0 / scene.scale) + scene.middle


@wp.func
def trace(volume: wp.uint64, scene: Scene, p: wp.vec3, d: wp.vec3):
    """How far the surface is along a ray; FAR if it meets none."""
    way = span_in_box(scene.low, scene.high, p, d)
    t = way[0] + 1.0e-3
    near = 4.0e-4
    found = float(FAR)
    for _ in range(160):
        if t < way[1] and found == FAR:
            q = wp.volume_world_to_index(volume, place_of(scene, p + d * t))
            away = wp.volume_sample_f(volume, q, wp.Volume.LINEAR) * scene.scale
            if away < near:
                found = t
            t += wp.max(away, 0.25 * near)
    return found


@wp.func
def normal_at(volume: wp.uint64, scene: Scene, p: wp.vec3):
    """The slope of the distances."""
    slope = wp.vec3()
    q = wp.volume_world_to_index(volume, place_of(scene, p))
    wp.volume_sample_grad_f(volume, q, wp.Volume.LINEAR, slope)
    return wp.normalize(wp.volume_index_to_world_dir(volume, slope))


@wp.func
def sky(dir: wp.vec3):
    """Pale at the horizon, blue above."""
    high = wp.sqrt(wp.max(dir[1], 0.0))
    return wp.lerp(wp.vec3(0.86, 0.85, 0.84), wp.vec3(0.25, 0.40, 0.70), high) * 0.8


@wp.func
def paint(scene: Scene, p: wp.vec3):
    """Copper outside, turquoise inside."""
    inside = wp.smoothstep(0.93, 0.70, wp.length(p))
    return wp.lerp(wp.vec3(0.86, 0.42, 0.22), wp.vec3(0.10, 0.55, 0.55), inside)


@wp.func
def follow(volume: wp.uint64, scene: Scene, start: wp.vec3, ray: wp.vec3, state: wp.uint32):
    """The light that comes back along a ray."""
    light = wp.vec3()
    through = wp.vec3(1.0)
    p = start
    d = ray
    going = True
    for _ in range(BOUNCES):
        if going:
            t = trace(volume, scene, p, d)
            ground = wp.where(d[1] < -1.0e-4, (scene.floor - p[1]) / wp.where(d[1] < -1.0e-4, d[1], -1.0), FAR)
            if t >= FAR and ground >= FAR:
                light += wp.cw_mul(through, sky(d))
                going = False
            else:
                floor = ground < t
                p = p + d * wp.min(t, ground)
                n = wp.vec3(0.0, 1.0, 0.0)
                tint = wp.vec3(0.46, 0.45, 0.44)
                gloss = float(0.0)
                if not floor:
                    n = normal_at(volume, scene, p)
                    tint = paint(scene, p)
                    gloss = 0.06 + 0.94 * wp.pow(1.0 - wp.clamp(-wp.dot(d, n), 0.0, 1.0), 5.0)
                p = p + n * 2.0e-3
                if wp.randf(state) < gloss:
                    d = d - n * (2.0 * wp.dot(d, n))
                else:
                    through = wp.cw_mul(through, tint)
                    to_sun = around(SUN, wp.randf(state), wp.randf(state), SUN_WIDTH)
                    facing = wp.dot(n, to_sun)
                    if facing > 0.0 and trace(volume, scene, p + n * 4.0e-3, to_sun) >= FAR:
                        light += wp.cw_mul(through, SUN_LIGHT) * (facing / 3.14159265)
                    d = around(n, wp.randf(state), wp.randf(state), 0.999)
    return light


@wp.kernel
def expose(volume: wp.uint64, scene: Scene, view: View, sample: int, film: wp.array2d(dtype=wp.vec3)):
    """One more path for each pixel."""
    y, x = wp.tid()
    state = wp.rand_init(sample, y * film.shape[1] + x)
    place = wp.vec2(float(x) + wp.randf(state), float(y) + wp.randf(state))
    ray = ray_of(view, place[0], place[1], float(film.shape[1]), float(film.shape[0]))
    film[y, x] += follow(volume, scene, view.eye, ray, state)


@wp.kernel
def develop(film: wp.array2d(dtype=wp.vec3), samples: float, pixels: wp.array3d(dtype=wp.uint8)):
    """The mean of all paths, bright parts held back (Reinhard), as bytes of sRGB."""
    y, x, k = wp.tid()
    c = film[y, x][k] / samples
    c = c * (1.0 + c / 9.0) / (1.0 + c)
    pixels[y, x, k] = wp.uint8(255.0 * wp.pow(wp.clamp(1.5 * c, 0.0, 1.0), 1.0 / 2.2) + 0.5)


def make_file(path: pathlib.Path, size: float, band: float) -> None:
    """Writes the carved ball as a .nvdb file, with voxels near its surface alone."""
    first = int(np.floor(-1.1 / size / 8)) * 8
    tiles = int(np.ceil((1.1 / size - first) / 8))
    found = wp.zeros((tiles, tiles, tiles), dtype=int)
    wp.launch(find_tiles, dim=found.shape, inputs=[wp.vec3i(first, first, first), size, band, found])
    corners = wp.array((np.argwhere(found.numpy()) * 8 + first).astype(np.int32), dtype=wp.vec3i)
    volume = wp.Volume.allocate_by_tiles(corners, voxel_size=size, bg_value=band)
    voxels = volume.get_voxels(out=wp.empty(volume.get_voxel_count(), dtype=wp.vec3i))
    wp.launch(fill, dim=voxels.shape, inputs=[volume.id, voxels, band])
    volume.save_to_nvdb(path, codec="zip")


def scene_of(volume: wp.Volume) -> Scene:
    """Scales the level set to a unit ball around the origin, with the floor below it."""
    info = volume.get_grid_info()
    tiles = volume.get_tiles().numpy().reshape(-1, 3)
    matrix, shift = np.array(info.transform_matrix).reshape(3, 3), np.array(info.translation)
    corners = np.concatenate([tiles, tiles + 8]) @ matrix.T + shift
    low, high = corners.min(axis=0), corners.max(axis=0)
    scene = Scene()
    middle = 0.5 * (low + high)
    scale = 2.0 / float((high - low).max())
    scene.middle, scene.scale = wp.vec3(*middle), scale
    scene.low, scene.high = wp.vec3(*((low - middle) * scale)), wp.vec3(*((high - middle) * scale))
    scene.floor = float(scene.low[1]) + 0.02
    return scene


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="coarse voxels, few pixels")
    parser.add_argument("--file", type=pathlib.Path, help="a .nvdb file with a level set of floats, in place of our own")
    parser.add_argument("--size", type=int, nargs=2, default=(900, 620), metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--samples", type=int, default=32, help="paths per pixel")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("sphere_trace.png"))
    args = parser.parse_args()
    voxel = 0.01
    if args.quick:
        voxel, args.size, args.samples = 0.03, (90, 62), 2

    with tempfile.TemporaryDirectory() as folder:
        path = args.file or pathlib.Path(folder) / "carved.nvdb"
        if args.file is None:
            make_file(path, voxel, 4.0 * voxel)
        kilobytes = path.stat().st_size / 1024
        begin = time.perf_counter()
        volume = wp.Volume.load_from_nvdb(path)
        loaded = time.perf_counter() - begin
    if volume.dtype is not wp.float32:
        raise SystemExit(f"{path}: this example wants a level set of floats, not of {volume.get_grid_info().type_str}")

    scene = scene_of(volume)
    width, height = args.size
    film = wp.zeros((height, width), dtype=wp.vec3)
    view = view_from((1.2, 1.1, 3.6), (0.0, -0.10, 0.0), 0.92)
    begin = time.perf_counter()
    with Progress("paths", args.samples) as progress:
        for sample in range(args.samples):
            wp.launch(expose, film.shape, [volume.id, scene, view, sample, film])
            progress.advance()
    wp.synchronize()
    seconds = time.perf_counter() - begin
    pixels = wp.zeros((height, width, 3), dtype=wp.uint8)
    wp.launch(develop, dim=pixels.shape, inputs=[film, float(args.samples), pixels])
    write_png(args.output, pixels.numpy())
    print(
        f"{volume.get_voxel_count()} voxels, {kilobytes:.0f} KB, loaded in {1e3 * loaded:.0f} ms; {width}x{height} pixels, "
        f"{1e-6 * width * height * args.samples / seconds:.2f} million paths per second; wrote {args.output.resolve()}"
    )


if __name__ == "__main__":
    main()
