"""Single voxels by many lanes: in the table of places, at its edges, outside of it and where there is none, compared with a reader in
plain Python. What the table does not know is a call for the lanes that need it."""

import numpy as np
import pytest
from mesh_cases import launch
from volume_reference import Grid

import warp as wp

BACKGROUND = -3.25
EXECUTORS = ["interpreter", 1, 4, 8, 16, 0]


def executors() -> list:
    return EXECUTORS if wp.get_device().is_cpu else [0]


@wp.kernel
def closest(volume: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    n = wp.tid()
    out[n] = wp.volume_sample_f(volume, points[n], wp.Volume.CLOSEST)


@wp.kernel
def looked_up(volume: wp.uint64, places: wp.array(dtype=wp.vec3i), out: wp.array(dtype=float)):
    n = wp.tid()
    out[n] = wp.volume_lookup_f(volume, places[n][0], places[n][1], places[n][2])


@wp.kernel
def closest_of_some(volumes: wp.array(dtype=wp.uint64), points: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    n = wp.tid()
    out[n] = wp.volume_sample_f(volumes[n % volumes.shape[0]], points[n], wp.Volume.CLOSEST)


@wp.kernel
def fill(volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i)):
    v = voxels[wp.tid()]
    wp.volume_store_f(volume, v[0], v[1], v[2], float(v[0]) + 0.25 * float(v[1]) - 3.0 * float(v[2]))


def made(tiles: np.ndarray) -> wp.Volume:
    volume = wp.Volume.allocate_by_tiles(wp.array(tiles, dtype=wp.vec3i), 1.0, BACKGROUND)
    inner = np.stack(np.meshgrid(*[np.arange(8)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    voxels = (tiles[:, None] + inner[None]).reshape(-1, 3).astype(np.int32)
    wp.launch(fill, len(voxels), [volume.id, wp.array(voxels, dtype=wp.vec3i)])
    return volume


def tiles_of(kind: str) -> np.ndarray:
    rng = np.random.default_rng(2)
    if kind == "table":  # a box of few places
        return np.unique(rng.integers(-3, 4, (60, 3)), axis=0).astype(np.int32) * 8
    if kind == "edge":  # leaves in all corners of the box
        return np.stack(np.meshgrid(*[[-16, 24]] * 3, indexing="ij"), axis=-1).reshape(-1, 3).astype(np.int32)
    # Too far from each other for a table.
    return np.unique(rng.integers(-9000, 9000, (12, 3)), axis=0).astype(np.int32) * 8


def points_of(tiles: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(3)
    near = tiles[rng.integers(0, len(tiles), 700)] + rng.uniform(-2, 10, (700, 3))
    box = np.concatenate([tiles.min(0) - 8 + rng.uniform(-1, 1, (150, 3)), tiles.max(0) + 16 + rng.uniform(-1, 1, (150, 3))])
    far = rng.uniform(-1e5, 1e5, (60, 3))
    ends = np.array([[3e9, 0, 0], [-3e9, 1, 2], [2147483647.0, 5, 5], [0, -2147483648.0, 0]])
    # Those that walk are few and lie anywhere among the others.
    return rng.permutation(np.concatenate([near, box, far, ends])).astype(np.float32)


@pytest.mark.parametrize("kind", ["table", "edge", "walk"])
def test_single_voxels(kind: str) -> None:
    tiles = tiles_of(kind)
    volume = made(tiles)
    grid = Grid(volume.array().numpy().tobytes())
    points = points_of(tiles)
    whole = np.trunc(points.astype(np.float64) + np.copysign(0.5, points))
    places = np.clip(whole, -(2**31), 2**31 - 1).astype(np.int64)
    want = np.array([grid.value(*p) for p in places.tolist()], dtype=np.float32)
    assert (want == BACKGROUND).any() and (want != BACKGROUND).sum() > 100
    for executor in executors():
        out = wp.zeros(len(points), dtype=float)
        launch(closest, len(points), [volume.id, wp.array(points, dtype=wp.vec3)], [out], executor)
        assert np.array_equal(out.numpy(), want)
        out = wp.zeros(len(points), dtype=float)
        launch(looked_up, len(points), [volume.id, wp.array(places, dtype=wp.vec3i)], [out], executor)
        assert np.array_equal(out.numpy(), want)


def test_lanes_of_several_volumes() -> None:
    # Also one without leaves, and none: their lanes read nothing.
    tiles = tiles_of("table")
    volumes = [made(tiles), made(tiles_of("walk")), wp.Volume.allocate_by_tiles(wp.zeros(0, dtype=wp.vec3i), 1.0, BACKGROUND)]
    grids = [Grid(volume.array().numpy().tobytes()) for volume in volumes]
    points = points_of(tiles)
    whole = np.trunc(points.astype(np.float64) + np.copysign(0.5, points))
    places = np.clip(whole, -(2**31), 2**31 - 1).astype(np.int64).tolist()
    want = np.array([grids[n % 4].value(*p) if n % 4 < 3 else 0.0 for n, p in enumerate(places)], dtype=np.float32)
    ids = wp.array(np.array([volume.id for volume in volumes] + [0], dtype=np.uint64), dtype=wp.uint64)
    for executor in executors():
        out = wp.zeros(len(points), dtype=float)
        launch(closest_of_some, len(points), [ids, wp.array(points, dtype=wp.vec3)], [out], executor)
        assert np.array_equal(out.numpy(), want)


def test_numbers_that_are_none() -> None:
    volume = made(tiles_of("table"))
    nan, inf = float("nan"), float("inf")
    points = np.array([[nan, 0, 0], [inf, 0, 0], [-inf, 1, 1], [0, 0, 0]] * 8, dtype=np.float32)
    first = None
    for executor in executors():
        out = wp.zeros(len(points), dtype=float)
        launch(closest, len(points), [volume.id, wp.array(points, dtype=wp.vec3)], [out], executor)
        first = out.numpy() if first is None else first
        assert np.array_equal(out.numpy(), first)
        assert (first[1::4] == BACKGROUND).all() and (first[2::4] == BACKGROUND).all()
