"""Index grids: indices of voxels, and samples of arrays that have a row for each."""

import numpy as np
import pytest
from mesh_cases import EXECUTORS, launch
from test_volume import made, saved
from volume_reference import grids_of

import warp as wp


@wp.kernel
def indices(volume: wp.uint64, places: wp.array(dtype=wp.vec3i), out: wp.array(dtype=int), count: wp.array(dtype=int)):
    n = wp.tid()
    at = places[n]
    out[n] = wp.volume_lookup_index(volume, at[0], at[1], at[2])
    if n == 0:
        count[0] = wp.volume_voxel_count(volume)


def ask(volume, places: np.ndarray, executor: str | int = 0) -> tuple[np.ndarray, int]:
    out, count = wp.zeros(len(places), dtype=int), wp.zeros(1, dtype=int)
    launch(indices, len(places), [volume, wp.array(places, dtype=wp.vec3i)], [out, count], executor)
    return out.numpy(), int(count.numpy()[0])


def some_voxels(seed: int = 0, n: int = 700, reach: int = 20) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.integers(-reach, reach, (n, 3)), rng.integers(-9000, 9000, (20, 3))]).astype(np.int32)


def sparse(points: np.ndarray) -> wp.Volume:
    return wp.Volume.allocate_by_voxels(wp.array(points, dtype=wp.vec3i), 0.5, translation=(1.0, 2.0, 3.0))


def test_voxels_by_points() -> None:
    points = some_voxels()
    volume = sparse(points)
    want = {tuple(p) for p in points.tolist()}
    voxels = volume.get_voxels().numpy()
    assert volume.is_index and volume.dtype is None
    assert volume.get_voxel_count() == len(want) == len(voxels) and {tuple(p) for p in voxels.tolist()} == want
    for executor in EXECUTORS if wp.get_device().is_cpu else [0]:
        numbers, count = ask(volume.id, voxels, executor)
        assert np.array_equal(numbers, np.arange(len(voxels))) and count == len(voxels)
    beside = np.array([p for p in (points + (1, 0, 0)).tolist() if tuple(p) not in want], dtype=np.int32)
    assert len(beside) > 100 and (ask(volume.id, beside)[0] == -1).all()
    (grid,) = grids_of(saved(volume))
    assert [grid.index(*p) for p in voxels.tolist()] == list(range(len(voxels)))
    world = wp.array(points * 0.5 + np.array([1.0, 2.0, 3.0]), dtype=wp.vec3)
    again = wp.Volume.allocate_by_voxels(world, 0.5, translation=(1.0, 2.0, 3.0))
    assert np.array_equal(again.array().numpy(), volume.array().numpy())
    back = wp.Volume.load_from_nvdb(saved(volume, "zip"))
    assert np.array_equal(back.get_voxels().numpy(), voxels)
    assert np.array_equal(back.get_tiles().numpy(), volume.get_tiles().numpy())


def test_tiles_without_values() -> None:
    volume = wp.Volume.allocate_by_tiles(wp.array([[0, 0, 0], [64, 0, 0]], dtype=wp.vec3i), 1.0, bg_value=None)
    assert volume.is_index and volume.get_voxel_count() == 1024
    assert np.array_equal(ask(volume.id, volume.get_voxels().numpy())[0], np.arange(1024))


@pytest.mark.parametrize("dtype", [wp.float32, wp.vec4d])
def test_grids_of_values_have_indices_too(dtype) -> None:
    volume, file = made(dtype)
    (grid,) = grids_of(file)
    voxels = volume.get_voxels().numpy()
    numbers, count = ask(volume.id, voxels)
    assert count == 512 * volume.get_tile_count() and np.array_equal(numbers, np.arange(count))
    assert [grid.index(*p) for p in voxels[::97].tolist()] == list(range(0, count, 97))
    assert ask(volume.id, np.array([[0, 100, 0]], dtype=np.int32))[0][0] == -1


def test_nobody() -> None:
    numbers, count = ask(wp.uint64(0), np.zeros((3, 3), dtype=np.int32))
    assert (numbers == -1).all() and count == 0


def rows_kernel(dtype):
    @wp.kernel
    def rows(
        volume: wp.uint64,
        mode: int,
        places: wp.array(dtype=wp.vec3),
        data: wp.array(dtype=dtype),
        background: dtype,
        out: wp.array(dtype=dtype),
    ):
        n = wp.tid()
        out[n] = wp.volume_sample_index(volume, places[n], mode, data, background)

    return rows


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.vec3f, wp.vec2d, wp.int32])
def test_samples_of_rows(dtype) -> None:
    rng = np.random.default_rng(5)
    volume = sparse(some_voxels(n=3000, reach=8))
    voxels = volume.get_voxels().numpy()
    width = getattr(dtype, "_length_", 1)
    values = rng.integers(1, 100, (len(voxels), width) if width > 1 else len(voxels))
    zero = np.full(width, -3) if width > 1 else -3
    found = {tuple(p): v for p, v in zip(voxels.tolist(), values)}
    at = lambda p: found.get(tuple(int(x) for x in p), zero)  # noqa: E731
    places = rng.uniform(-9, 9, (300, 3)).astype(np.float32)
    closest = np.array([at(np.sign(p) * np.floor(np.abs(p) + 0.5)) for p in places])
    linear = []
    for p in places.astype(np.float64):
        base, total = np.floor(p), 0.0
        for c in np.ndindex(2, 2, 2):
            total = total + np.prod(np.where(c, p - base, 1 - p + base)) * at(base + c)
        linear.append(total)
    background = dtype(*zero.tolist()) if width > 1 else dtype(zero)
    data = wp.array(values, dtype=dtype)
    for executor in EXECUTORS if wp.get_device().is_cpu else [0]:
        for mode, want in ((0, closest), (1, closest if dtype is wp.int32 else linear)):
            out = wp.zeros(len(places), dtype=dtype)
            inputs = [volume.id, mode, wp.array(places, dtype=wp.vec3), data, background]
            launch(rows_kernel(dtype), len(places), inputs, [out], executor)
            np.testing.assert_allclose(out.numpy(), want, rtol=1e-5, atol=2e-4)
