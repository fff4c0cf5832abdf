"""A cloud in a .nvdb file, path-traced; and one that is learned from photographs of it, by gradients of its density.

Kernels make a cloud and store it in the tiles of a wp.Volume, which is saved as a .nvdb file and loaded again; with --file
another file's is taken instead. Paths through it scatter up to 48 times. Then the file is put aside: an index grid of coarse
voxels starts as thin haze, a few dozen photographs of the cloud are compared with such of the haze, and the slope of the
difference goes back on a tape through both marches, to the eye and to the sun, to the density of every voxel.

    python examples/python/cloud.py [--quick] [--file smoke.nvdb] [--samples 64] [--output cloud.png]
"""

import argparse
import pathlib
import tempfile
import time

import numpy as np
import warp as wp

from cloud_march import Box, compare, develop, expose, photograph, shine, shine_on_grid
from picture import Progress, write_png
from rays import View, view_from


@wp.func
def billows(p: wp.vec3, seed: wp.uint32):
    """Round heaps on heaps: noise without its sign, at ever smaller scales."""
    total = float(0.0)
    size = float(1.0)
    q = p
    for _ in range(5):
        total += size * (wp.abs(wp.noise(seed, q)) - 0.16)
        q = q * 2.13 + wp.vec3(1.7, 9.2, 3.1)
        size *= 0.52
    return total


@wp.func
def cloud_density(p: wp.vec3):
    """A heap of balls with a flat bottom, whose outside is all billows; 1 inside, 0 outside."""
    seed = wp.rand_init(11)
    depth = float(-1.0)
    for k in range(14):
        part = float(k) / 13.0
        middle = wp.vec3(1.15 * (2.0 * part - 1.0), 0.18 + 0.22 * wp.sin(5.1 * float(k)), 0.38 * wp.sin(2.3 * float(k)))
        heap = 1.0 - wp.abs(2.0 * part - 0.86)
        middle += wp.vec3(0.0, 0.48 * wp.max(heap, 0.0) * (0.5 + 0.5 * wp.cos(1.7 * float(k))), 0.0)
        depth = wp.max(depth, 0.24 + 0.20 * wp.max(heap, 0.0) - wp.length(p - middle))
    depth += 0.42 * billows(p * 2.3, seed)
    depth = wp.min(depth, 3.0 * (p[1] + 0.06 + 0.05 * wp.noise(seed, p * 3.0)))
    return wp.clamp(depth * 14.0, 0.0, 1.0)


@wp.kernel
def find_tiles(first: wp.vec3i, size: float, found: wp.array3d(dtype=int)):
    """Which tiles of 8 x 8 x 8 voxels have anything of the cloud in them."""
    i, j, k = wp.tid()
    for n in range(512):
        v = wp.vec3i(8 * i + (n >> 6), 8 * j + ((n >> 3) & 7), 8 * k + (n & 7)) + first
        if found[i, j, k] == 0 and cloud_density(wp.vec3(float(v[0]), float(v[1]), float(v[2])) * size) > 0.0:
            found[i, j, k] = 1


@wp.kernel
def fill(cloud: wp.uint64, voxels: wp.array(dtype=wp.vec3i)):
    """The density of each voxel."""
    v = voxels[wp.tid()]
    p = wp.volume_index_to_world(cloud, wp.vec3(float(v[0]), float(v[1]), float(v[2])))
    wp.volume_store_f(cloud, v[0], v[1], v[2], cloud_density(p))


@wp.kernel
def read_voxels(source: wp.uint64, grid: wp.uint64, voxels: wp.array(dtype=wp.vec3i), density: wp.array(dtype=float)):
    """The density of one grid at the voxels of another."""
    n = wp.tid()
    v = voxels[n]
    p = wp.volume_index_to_world(grid, wp.vec3(float(v[0]), float(v[1]), float(v[2])))
    density[n] = wp.max(wp.volume_sample_f(source, wp.volume_world_to_index(source, p), wp.Volume.LINEAR), 0.0)


@wp.kernel
def write_voxels(grid: wp.uint64, density: wp.array(dtype=float), target: wp.uint64, voxels: wp.array(dtype=wp.vec3i)):
    """The densities of an index grid, into a grid of values with the same voxels."""
    v = voxels[wp.tid()]
    n = wp.volume_lookup_index(grid, v[0], v[1], v[2])
    if n >= 0:
        wp.volume_store_f(target, v[0], v[1], v[2], density[n])


@wp.kernel
def learn(
    slope: wp.array(dtype=float),
    speed: wp.array(dtype=float),
    roughness: wp.array(dtype=float),
    number: int,
    rate: float,
    density: wp.array(dtype=float),
):
    """Adam's step, and no density below none."""
    n = wp.tid()
    speed[n] = 0.9 * speed[n] + 0.1 * slope[n]
    roughness[n] = 0.99 * roughness[n] + 0.01 * slope[n] * slope[n]
    mean = speed[n] / (1.0 - wp.pow(0.9, float(number)))
    spread = wp.sqrt(roughness[n] / (1.0 - wp.pow(0.99, float(number))))
    density[n] = wp.max(density[n] - rate * mean / (spread + 1.0e-9), 0.0)


def voxels_of(volume: wp.Volume) -> wp.array:
    return volume.get_voxels(out=wp.empty(volume.get_voxel_count(), dtype=wp.vec3i))


def make_cloud(path: pathlib.Path, size: float) -> None:
    """Writes the cloud as a .nvdb file with voxels of some size."""
    low, high = np.array([-1.9, -0.2, -1.1]), np.array([1.9, 1.5, 1.1])
    first = np.floor(low / size / 8).astype(int) * 8
    tiles = np.ceil((high / size - first) / 8).astype(int)
    found = wp.zeros(tuple(tiles.tolist()), dtype=int)
    wp.launch(find_tiles, dim=found.shape, inputs=[wp.vec3i(*first.tolist()), size, found])
    corners = np.argwhere(found.numpy()) * 8 + first
    cloud = wp.Volume.allocate_by_tiles(wp.array(corners.astype(np.int32), dtype=wp.vec3i), voxel_size=size, bg_value=0.0)
    voxels = voxels_of(cloud)
    wp.launch(fill, dim=voxels.shape, inputs=[cloud.id, voxels])
    cloud.save_to_nvdb(path, codec="zip")


def box_around(volume: wp.Volume, depth: float) -> tuple[Box, float]:
    """The box of a volume's tiles, and how wide its longest side is; light is dimmed to 1/e^depth across that side."""
    info = volume.get_grid_info()
    tiles = volume.get_tiles().numpy().reshape(-1, 3)
    matrix, shift = np.array(info.transform_matrix).reshape(3, 3), np.array(info.translation)
    corners = np.concatenate([tiles, tiles + 8]) @ matrix.T + shift
    box = Box()
    box.low, box.high = wp.vec3(*corners.min(axis=0)), wp.vec3(*corners.max(axis=0))
    width = float(np.ptp(corners, axis=0).max())
    densities = wp.empty(volume.get_voxel_count(), dtype=float)
    wp.launch(read_voxels, dim=densities.shape, inputs=[volume.id, volume.id, voxels_of(volume), densities])
    box.densest = max(float(densities.numpy().max(initial=0.0)), 1e-6)
    box.thick = depth / width / box.densest
    return box, width


class Screen:
    """A film with panels, each a picture of a cloud."""

    def __init__(self, width: int, height: int) -> None:
        self.film = wp.zeros((height, width), dtype=wp.vec3)
        self.samples = np.zeros((height, width), dtype=np.float32)

    def panel(self, cloud: wp.Volume, box: Box, view: View, place: tuple[int, int, int, int], samples: int, title: str) -> None:
        """Path-traces a cloud into a rectangle: left, top, width, height."""
        light = wp.Volume.allocate_by_tiles(
            cloud.get_tiles(), transform=np.array(cloud.get_grid_info().transform_matrix), bg_value=1.0,
            translation=cloud.get_grid_info().translation,
        )  # fmt: skip
        voxels = voxels_of(cloud)
        wp.launch(shine_on_grid, dim=voxels.shape, inputs=[cloud.id, light.id, box, voxels, min(cloud.get_voxel_size())])
        left, top, width, height = place
        with Progress(title, samples) as progress:
            for sample in range(samples):
                corner, size = wp.vec2i(left, top), wp.vec2i(width, height)
                wp.launch(expose, (height, width), [cloud.id, light.id, box, view, corner, size, sample, self.film])
                progress.advance()
        self.samples[top : top + height, left : left + width] = samples

    def developed(self) -> np.ndarray:
        """The film as bytes of shape (height, width, 3)."""
        pixels = wp.zeros((*self.film.shape, 3), dtype=wp.uint8)
        wp.launch(develop, dim=pixels.shape, inputs=[self.film, wp.array(self.samples, dtype=float), pixels])
        return pixels.numpy()


class Densities:
    """An index grid with densities, which photographs can be taken of."""

    def __init__(self, box: Box, width: float, corners: wp.array, size: float) -> None:
        self.box, self.width, self.size = box, width, size
        self.tiles = wp.Volume.allocate_by_tiles(corners, voxel_size=size, bg_value=0.0)
        self.voxels = voxels_of(self.tiles)
        self.grid = wp.Volume.allocate_by_tiles(corners, voxel_size=size, bg_value=None)
        self.rows = voxels_of(self.grid)
        self.density = wp.zeros(self.grid.get_voxel_count(), dtype=float, requires_grad=True)

    def photos(self, eyes: wp.array, across: int) -> wp.array:
        """A photograph by each of the eyes, of `across` pixels a side."""
        light = wp.zeros_like(self.density)
        wp.launch(shine, self.rows.shape, [self.grid.id, self.density, self.box, self.rows, 1.5 * self.size], [light])
        photos = wp.zeros((len(eyes), across, across), dtype=wp.vec2, requires_grad=True)
        step = 0.8 * self.size
        steps = int(np.ceil(1.25 * self.width / step))
        inputs = [self.grid.id, self.density, light, self.box, eyes, 1.15 * self.width, step, steps]
        wp.launch(photograph, photos.shape, inputs, [photos])
        return photos

    def as_volume(self) -> wp.Volume:
        """The densities of now, as a grid of values."""
        wp.launch(write_voxels, self.voxels.shape, [self.grid.id, self.density, self.tiles.id, self.voxels])
        return self.tiles


def directions(count: int) -> wp.array:
    """Evenly spread over a sphere, each with two axes across it, by the golden angle."""
    rows = []
    for k in range(count):
        height = 1.0 - 2.0 * (k + 0.5) / count
        angle = k * np.pi * (3.0 - np.sqrt(5.0))
        flat = np.sqrt(1.0 - height * height)
        dir = np.array([flat * np.cos(angle), height, flat * np.sin(angle)])
        right = np.cross(dir, (0.0, 1.0, 0.0))
        right /= np.linalg.norm(right)
        rows.append([right, np.cross(right, dir), dir])
    return wp.array(np.array(rows), dtype=wp.mat33)


def tiles_of_box(box: Box, size: float) -> wp.array:
    """The tiles of a box, for voxels of some size."""
    axes = [np.arange(int(np.floor(a / size / 8)), int(np.ceil(b / size / 8))) for a, b in zip(box.low, box.high)]
    corners = 8 * np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return wp.array(corners.astype(np.int32), dtype=wp.vec3i)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="coarse voxels, few pixels, few steps")
    parser.add_argument("--file", type=pathlib.Path, help="a .nvdb file with a grid of float densities, in place of our own")
    parser.add_argument("--samples", type=int, default=64, help="paths per pixel")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("cloud.png"))
    args = parser.parse_args()
    voxel, width, parts, views, across, steps = 0.016, 1000, 56, 16, 44, 45
    if args.quick:
        voxel, width, parts, views, across, steps, args.samples = 0.1, 120, 24, 6, 16, 12, 2

    with tempfile.TemporaryDirectory() as folder:
        path = args.file or pathlib.Path(folder) / "cloud.nvdb"
        if args.file is None:
            make_cloud(path, voxel)
        kilobytes = path.stat().st_size / 1024
        begin = time.perf_counter()
        cloud = wp.Volume.load_from_nvdb(path)
        loaded = time.perf_counter() - begin
    if cloud.dtype is not wp.float32:
        raise SystemExit(f"{path}: this example wants a grid of floats, not of {cloud.get_grid_info().type_str}")

    box, longest = box_around(cloud, 80.0)
    middle = 0.5 * (np.array(box.low) + np.array(box.high))
    eye = middle + longest * np.array([0.30, -0.12, 1.55])
    top, small = round(0.46 * width), width // 4
    screen = Screen(width, top + 4 + small * 3 // 4)
    screen.panel(cloud, box, view_from(eye, middle + [0, 0.02, 0], 0.72), (0, 0, width, top), args.samples, "paths")

    # Photographs of the cloud, at the resolution of its voxels that memory allows for; and haze that is to become one.
    size = longest / parts
    eyes = directions(views)
    truth = Densities(box, longest, tiles_of_box(box, 0.5 * size), 0.5 * size)
    wp.launch(read_voxels, truth.rows.shape, [cloud.id, truth.grid.id, truth.rows, truth.density])
    wanted = truth.photos(eyes, across)
    haze = Densities(box, longest, tiles_of_box(box, size), size)
    haze.density.fill_(0.05 * box.densest)
    speed, roughness = wp.zeros_like(haze.density), wp.zeros_like(haze.density)

    losses = []
    moments = [0, steps // 15, steps // 4, steps]
    with Progress("learning", steps) as progress:
        for number in range(steps + 1):
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                wp.launch(compare, wanted.shape, [haze.photos(eyes, across), wanted], [loss])
            losses.append(float(loss.numpy()[0]))
            tape.backward(loss)
            if number in moments:
                panel = (moments.index(number) * small, top + 4, small - 2, small * 3 // 4)
                view = view_from(eye, middle + [0, 0.02, 0], 0.80)
                screen.panel(haze.as_volume(), box, view, panel, args.samples, "paths")
            if number < steps:
                rate = 0.12 * box.densest * (1.0 - 0.8 * number / steps)
                wp.launch(learn, speed.shape, [haze.density.grad, speed, roughness, number + 1, rate, haze.density])
                tape.zero()
                progress.advance()

    write_png(args.output, screen.developed())
    assert losses[-1] < 0.2 * losses[0], f"the haze did not become a cloud: {losses[0]} to {losses[-1]}"
    print(
        f"{cloud.get_voxel_count()} voxels, {kilobytes:.0f} KB, loaded in {1e3 * loaded:.0f} ms; {steps} steps on "
        f"{haze.density.size} densities took the difference of {views} photographs from {losses[0]:.4f} to {losses[-1]:.5f}; "
        f"wrote {args.output.resolve()}"
    )


if __name__ == "__main__":
    main()
