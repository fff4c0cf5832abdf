"""Places of a volume that kernels find by a table (src/volume/place_table.h): leaves, and values that stand for many voxels at
every level of the tree, compared with a reader in plain Python that knows no table."""

import struct

import numpy as np
import pytest
from mesh_cases import EXECUTORS, launch
from test_volume import lookup_kernel, sample_kernel
from volume_reference import Grid

import warp as wp

TILES = np.array([[-8, 0, 120], [0, 0, 120], [0, 0, 128], [8, -8, 136], [300, 0, 128], [4088, -8, 120], [8200, 0, 128]], dtype=np.int32)
"""In three tiles of the root, one of which is left out: [4096, 8192) along x has none."""
BACKGROUND = 3.5


def executors() -> list:
    return list(EXECUTORS) if wp.get_device().is_cpu else [0]


def some_places(n: int, seed: int = 0) -> np.ndarray:
    """Voxels around the tiles, and along the line that they lie on."""
    rng = np.random.default_rng(seed)
    near = TILES[rng.integers(0, len(TILES), n)] + rng.integers(-4, 12, (n, 3))
    along = np.stack([rng.integers(-20, 8220, n), rng.integers(-20, 20, n), rng.integers(100, 150, n)], axis=1)
    return np.concatenate([near, along]).astype(np.int32)


def with_values_everywhere() -> bytes:
    """A grid whose leaves, lower nodes, upper nodes and root have values of their own, as those of level sets do."""
    volume = wp.Volume.allocate_by_tiles(
        wp.array(TILES, dtype=wp.vec3i), 1.0, BACKGROUND, rebuildable=True, max_tiles=8, max_lower_nodes=8, max_upper_nodes=12
    )
    data = bytearray(volume.array().numpy().tobytes())
    grid = Grid(bytes(data))
    rng = np.random.default_rng(5)

    def fill(table: int, slots: int, mask: int) -> None:
        for slot in range(slots):
            if not data[mask + slot // 8] >> slot % 8 & 1 and rng.uniform() < 0.5:
                struct.pack_into("<f", data, table + slot * grid.stride, rng.uniform(-9, 9))

    u64 = lambda at: struct.unpack_from("<Q", data, at)[0]  # noqa: E731
    count = struct.unpack_from("<I", data, grid.root + 24)[0]
    tile = lambda n: grid.root + grid.root_bytes + n * grid.tile_bytes  # noqa: E731
    for t in range(count):
        upper = grid.root + u64(tile(t) + 8)
        for slot in np.flatnonzero(np.unpackbits(np.frombuffer(data, np.uint8, 4096, upper + 4128), bitorder="little")):
            lower = upper + u64(upper + grid.upper_table + int(slot) * grid.stride)
            fill(lower + grid.lower_table, 4096, lower + 544)
        fill(upper + grid.upper_table, 32768, upper + 4128)
    for leaf in range(grid.leaf_count):
        at = grid.first_leaf + leaf * (grid.leaf_table + 2048) + grid.leaf_table
        data[at : at + 2048] = rng.uniform(-9, 9, 512).astype(np.float32).tobytes()
    struct.pack_into("<QQ", data, tile(count), 1 << 42, 0)  # from 4096 on along x: one value
    struct.pack_into("<f", data, tile(count) + grid.tile_value, -4.25)
    struct.pack_into("<I", data, grid.root + 24, count + 1)
    return bytes(data)


def test_values_of_every_level() -> None:
    data = with_values_everywhere()
    grid = Grid(data)
    volume = wp.Volume(wp.array(np.frombuffer(data, np.uint8), dtype=wp.uint8))
    places = some_places(1500)
    want = np.array([grid.value(*p) for p in places.tolist()], dtype=np.float32)
    assert (want == -4.25).any() and (want == BACKGROUND).any() and len(np.unique(want)) > 150
    points = (places + np.random.default_rng(1).uniform(0, 1, places.shape)).astype(np.float32)
    closest = np.array([grid.closest(p) for p in points])
    linear = np.array([grid.linear(p) for p in points])
    bits: dict = {}
    for executor in executors():
        out = wp.zeros(len(places), dtype=float)
        launch(lookup_kernel(wp.float32), len(places), [volume.id, wp.array(places, dtype=wp.vec3i)], [out], executor)
        assert np.array_equal(out.numpy(), want)
        for mode, expected in ((wp.Volume.CLOSEST, closest), (wp.Volume.LINEAR, linear)):
            out = wp.zeros(len(points), dtype=float)
            launch(sample_kernel(wp.float32), len(points), [volume.id, mode, wp.array(points, dtype=wp.vec3)], [out], executor)
            np.testing.assert_allclose(out.numpy(), expected, rtol=2e-5, atol=2e-4)
            assert np.array_equal(bits.setdefault(mode, out.numpy()), out.numpy())


def test_values_of_one_tile_and_its_neighbours() -> None:
    # Around a lone leaf all is background, also where places are counted beyond the table.
    volume = wp.Volume.allocate_by_tiles(wp.array([[-8, 8, 0]], dtype=wp.vec3i), 1.0, BACKGROUND)
    grid = Grid(volume.array().numpy().tobytes())
    places = np.stack(np.meshgrid(*[np.arange(-20, 28)] * 3, indexing="ij"), axis=-1).reshape(-1, 3).astype(np.int32)
    want = np.array([grid.value(*p) for p in places.tolist()], dtype=np.float32)
    out = wp.zeros(len(places), dtype=float)
    wp.launch(lookup_kernel(wp.float32), len(places), [volume.id, wp.array(places, dtype=wp.vec3i)], [out])
    assert np.array_equal(out.numpy(), want)


@wp.kernel
def rows_at(
    volume: wp.uint64, points: wp.array(dtype=wp.vec3), data: wp.array(dtype=float), out: wp.array(dtype=float), found: wp.array(dtype=int)
):
    n = wp.tid()
    p = points[n]
    out[n] = wp.volume_sample_index(volume, p, wp.Volume.LINEAR, data, -2.0)
    found[n] = wp.volume_lookup_index(volume, int(wp.floor(p[0])), int(wp.floor(p[1])), int(wp.floor(p[2])))


@pytest.mark.parametrize("kind", ["voxels", "tiles", "values"])
def test_indices(kind: str) -> None:
    rng = np.random.default_rng(3)
    voxels = (TILES[rng.integers(0, len(TILES), 2500)] + rng.integers(0, 8, (2500, 3))).astype(np.int32)
    if kind == "voxels":
        volume = wp.Volume.allocate_by_voxels(wp.array(voxels, dtype=wp.vec3i), 1.0)
    else:
        volume = wp.Volume.allocate_by_tiles(wp.array(TILES, dtype=wp.vec3i), 1.0, None if kind == "tiles" else 0.0)
    numbers = {tuple(p): n for n, p in enumerate(volume.get_voxels().numpy().tolist())}
    places = some_places(1500, 4)
    points = (places + rng.uniform(0, 1, places.shape)).astype(np.float32)
    places = np.floor(points).astype(np.int64)
    data = rng.uniform(-9, 9, volume.get_voxel_count()).astype(np.float32)

    def row(p) -> float:
        return data[numbers[tuple(p)]] if tuple(p) in numbers else -2.0

    want = np.zeros(len(points))
    weight = points.astype(np.float64) - places
    for corner in range(8):
        step = np.array([corner >> 2, corner >> 1 & 1, corner & 1])
        want += np.prod(np.where(step, weight, 1 - weight), axis=1) * [row(p) for p in (places + step).tolist()]
    index = [numbers.get(tuple(p), -1) for p in places.tolist()]
    assert len(set(index)) > 40
    for executor in executors():
        out, found = wp.zeros(len(points), dtype=float), wp.zeros(len(points), dtype=int)
        inputs = [volume.id, wp.array(points, dtype=wp.vec3), wp.array(data, dtype=float)]
        launch(rows_at, len(points), inputs, [out, found], executor)
        assert found.numpy().tolist() == index
        np.testing.assert_allclose(out.numpy(), want, rtol=2e-5, atol=2e-4)


def test_no_rows_at_all() -> None:
    # A volume without voxels samples an array without elements.
    volume = wp.Volume.allocate_by_voxels(wp.zeros(0, dtype=wp.vec3i), 1.0)
    for id_ in (volume.id, 0):
        out, found = wp.zeros(1, dtype=float), wp.zeros(1, dtype=int)
        inputs = [wp.uint64(id_), wp.array([[0.5, 0.5, 0.5]], dtype=wp.vec3), wp.zeros(0, dtype=float)]
        wp.launch(rows_at, 1, inputs, [out, found])
        assert out.numpy()[0] == -2.0 and found.numpy()[0] == -1
