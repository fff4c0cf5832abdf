"""wp.Volume: grids that are made, saved and loaded, and what kernels read of them, compared with a reader in plain Python."""

import io

import numpy as np
import pytest
from mesh_cases import EXECUTORS, launch
from volume_reference import grids_of

import warp as wp

DTYPES = [wp.int32, wp.int64, wp.uint32, wp.float32, wp.float64, wp.vec3f, wp.vec3d, wp.vec4f, wp.vec4d]
FLOATS = DTYPES[3:]


def width_of(dtype) -> int:
    return getattr(dtype, "_length_", 1)


def scalar_of(dtype):
    return getattr(dtype, "_wp_scalar_type_", dtype)


def numbers(rng, dtype, n: int) -> np.ndarray:
    """Values of voxels, as rows where they are vectors."""
    shape = (n, width_of(dtype)) if width_of(dtype) > 1 else (n,)
    values = rng.uniform(-50.0, 50.0, shape) if dtype in FLOATS else rng.integers(0, 1000, shape)
    return values.astype(wp.dtype_to_numpy(scalar_of(dtype)))


def background_of(dtype):
    if width_of(dtype) > 1:
        return dtype(*(1.5 + k for k in range(width_of(dtype))))
    return dtype(7)


def store_kernel(dtype):
    @wp.kernel
    def store(volume: wp.uint64, places: wp.array(dtype=wp.vec3i), values: wp.array(dtype=dtype)):
        n = wp.tid()
        at = places[n]
        wp.volume_store(volume, at[0], at[1], at[2], values[n])

    return store


def lookup_kernel(dtype):
    @wp.kernel
    def lookup(volume: wp.uint64, places: wp.array(dtype=wp.vec3i), out: wp.array(dtype=dtype)):
        n = wp.tid()
        at = places[n]
        out[n] = wp.volume_lookup(volume, at[0], at[1], at[2], dtype=dtype)

    return lookup


def sample_kernel(dtype):
    @wp.kernel
    def sample(volume: wp.uint64, mode: int, places: wp.array(dtype=wp.vec3), out: wp.array(dtype=dtype)):
        n = wp.tid()
        out[n] = wp.volume_sample(volume, places[n], mode, dtype=dtype)

    return sample


CORNERS = np.array([[0, 0, 0], [8, 0, 0], [-1, -1, -1], [-9, 3, 130], [4095, 5, 5], [4096, 5, 5], [-5000, 9000, 70000], [2**31 - 1, 0, 0]])
"""Voxels in several leaves, lower and upper nodes, and tiles of the root."""


def made(dtype, seed: int = 0) -> tuple[wp.Volume, bytes]:
    """A volume with some tiles and values in them, and the bytes of its file."""
    rng = np.random.default_rng(seed)
    tiles = wp.array(CORNERS.astype(np.int32), dtype=wp.vec3i)
    volume = wp.Volume.allocate_by_tiles(tiles, 0.5, background_of(dtype), (1.0, 2.0, 3.0))
    places = (volume.get_tiles().numpy()[:, None, :] + rng.integers(0, 8, (1, 300, 3))).reshape(-1, 3)
    values = numbers(rng, dtype, len(places))
    wp.launch(store_kernel(dtype), len(places), [volume.id, wp.array(places, dtype=wp.vec3i), wp.array(values, dtype=dtype)])
    return volume, saved(volume)


def saved(volume: wp.Volume, codec: str = "none") -> bytes:
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "volume.nvdb")
        volume.save_to_nvdb(path, codec)
        with open(path, "rb") as file:
            return file.read()


def places_around(rng, n: int) -> np.ndarray:
    near = (CORNERS[rng.integers(0, len(CORNERS) - 1, n)] & ~7) + rng.integers(-3, 11, (n, 3))
    return near.astype(np.int32)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lookups(dtype) -> None:
    volume, file = made(dtype)
    (grid,) = grids_of(file)
    assert volume.dtype is dtype and not volume.is_index
    places = places_around(np.random.default_rng(1), 500)
    want = np.array([grid.value(*(int(x) for x in p)) for p in places])
    assert len(np.unique(want, axis=0)) > 30
    for executor in EXECUTORS if wp.get_device().is_cpu else [0]:
        out = wp.zeros(len(places), dtype=dtype)
        launch(lookup_kernel(dtype), len(places), [volume.id, wp.array(places, dtype=wp.vec3i)], [out], executor)
        assert np.array_equal(out.numpy(), want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_samples(dtype) -> None:
    volume, file = made(dtype)
    (grid,) = grids_of(file)
    rng = np.random.default_rng(2)
    places = (places_around(rng, 300)[:, :] + rng.uniform(0, 1, (300, 3))).astype(np.float32)
    places[:50] = np.round(places[:50])
    places[50:60] = np.floor(places[50:60]) + 0.5
    closest = np.array([grid.closest(p) for p in places])
    linear = closest if dtype not in FLOATS else np.array([grid.linear(p) for p in places])
    bits = {}
    for executor in EXECUTORS if wp.get_device().is_cpu else [0]:
        for mode, want in ((wp.Volume.CLOSEST, closest), (wp.Volume.LINEAR, linear)):
            out = wp.zeros(len(places), dtype=dtype)
            launch(sample_kernel(dtype), len(places), [volume.id, mode, wp.array(places, dtype=wp.vec3)], [out], executor)
            got = out.numpy()
            if mode == wp.Volume.CLOSEST:
                assert np.array_equal(got, want)
            else:
                np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-4)
            assert np.array_equal(bits.setdefault(mode, got), got)


@wp.kernel
def named(volume: wp.uint64, p: wp.vec3, out: wp.array(dtype=float), vectors: wp.array(dtype=wp.vec3), whole: wp.array(dtype=int)):
    out[0] = wp.volume_sample_f(volume, p, wp.Volume.LINEAR)
    out[1] = wp.volume_sample_f(volume, p, wp.Volume.CLOSEST)
    out[2] = wp.volume_lookup_f(volume, 1, 2, 3)
    vectors[0] = wp.volume_sample_v(volume, p, wp.Volume.LINEAR)
    vectors[1] = wp.volume_lookup_v(volume, 1, 2, 3)
    whole[0] = wp.volume_sample_i(volume, p)
    whole[1] = wp.volume_lookup_i(volume, 1, 2, 3)


def ask_named(volume) -> tuple:
    out, vectors, whole = wp.zeros(3, dtype=float), wp.zeros(2, dtype=wp.vec3), wp.zeros(2, dtype=int)
    wp.launch(named, 1, [volume, wp.vec3(1.25, 2.0, 3.0)], [out, vectors, whole])
    return out.numpy(), vectors.numpy(), whole.numpy()


@wp.kernel
def fill_named(f: wp.uint64, v: wp.uint64, i: wp.uint64):
    wp.volume_store_f(f, 1, 2, 3, 5.0)
    wp.volume_store_v(v, 1, 2, 3, wp.vec3(5.0, 6.0, 7.0))
    wp.volume_store_i(i, 1, 2, 3, 5)
    wp.volume_store_f(f, 1, 2, 300, 9.0)  # no leaf is there
    wp.volume_store_i(f, 1, 2, 3, 9)  # voxels of another type


def test_forms_of_one_type() -> None:
    f = wp.Volume.allocate((0, 0, 0), (7, 7, 7), 1.0, bg_value=1.0)
    v = wp.Volume.allocate((0, 0, 0), (7, 7, 7), 1.0, bg_value=(1.0, 2.0, 3.0))
    i = wp.Volume.allocate((0, 0, 0), (7, 7, 7), 1.0, bg_value=1)
    wp.launch(fill_named, 1, [f, v, i])
    out, vectors, whole = ask_named(f)
    assert np.array_equal(out, [4.0, 5.0, 5.0]) and not vectors.any() and not whole.any()
    out, vectors, whole = ask_named(v)
    assert np.array_equal(vectors, [[4.0, 5.0, 6.0], [5.0, 6.0, 7.0]]) and not out.any() and not whole.any()
    out, vectors, whole = ask_named(i)
    assert np.array_equal(whole, [5, 5]) and not out.any() and not vectors.any()


def test_nobody() -> None:
    out, vectors, whole = ask_named(wp.uint64(0))
    assert not out.any() and not vectors.any() and not whole.any()


@wp.kernel
def store_then_read(volume: wp.uint64, out: wp.array(dtype=float)):
    wp.volume_store_f(volume, 1, 1, 1, 3.0)
    out[0] = wp.volume_lookup_f(volume, 1, 1, 1)
    wp.volume_store_f(volume, 1, 1, 1, 4.0)
    out[1] = wp.volume_lookup_f(volume, 1, 1, 1)


def test_a_kernel_sees_what_it_stores() -> None:
    volume = wp.Volume.allocate((0, 0, 0), (7, 7, 7), 1.0)
    out = wp.zeros(2, dtype=float)
    wp.launch(store_then_read, 1, [volume.id], [out])
    assert np.array_equal(out.numpy(), [3.0, 4.0])


@wp.kernel
def sample_any(volume: wp.uint64, places: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    n = wp.tid()
    out[n] = wp.volume_sample_f(volume, places[n], wp.Volume.LINEAR)
    out[n + 5] = wp.volume_sample_f(volume, places[n], wp.Volume.CLOSEST)


def test_far_and_strange_places() -> None:
    volume = wp.Volume.allocate((0, 0, 0), (7, 7, 7), 1.0, bg_value=2.5)
    places = [(np.inf, 0, 0), (0, -np.inf, 0), (3e38, -3e38, 1e20), (2.0**31, 2.0**31, 2.0**31), (np.nan, 0, 0)]
    out = wp.zeros(10, dtype=float)
    wp.launch(sample_any, 5, [volume.id, wp.array(np.array(places, dtype=np.float32), dtype=wp.vec3)], [out])
    assert np.array_equal(out.numpy()[:4], [2.5] * 4) and np.isnan(out.numpy()[4])
    assert np.array_equal(out.numpy()[5:], [2.5] * 5)


# ---- transforms ------------------------------------------------------------------------------------------------------


@wp.kernel
def transforms(volume: wp.uint64, p: wp.vec3, q: wp.vec3d, out: wp.array(dtype=wp.vec3), wide: wp.array(dtype=wp.vec3d)):
    out[0] = wp.volume_index_to_world(volume, p)
    out[1] = wp.volume_world_to_index(volume, p)
    out[2] = wp.volume_index_to_world_dir(volume, p)
    out[3] = wp.volume_world_to_index_dir(volume, p)
    wide[0] = wp.volume_index_to_world(volume, q)
    wide[1] = wp.volume_world_to_index(volume, q)
    wide[2] = wp.volume_index_to_world_dir(volume, q)
    wide[3] = wp.volume_world_to_index_dir(volume, q)


MATRIX = np.array([[0.5, 0.2, 0.0], [-0.1, 0.8, 0.3], [0.0, 0.4, 1.5]])
SHIFT = np.array([1.0, -2.0, 3.0])


def sheared() -> wp.Volume:
    tiles = wp.array([[0, 0, 0]], dtype=wp.vec3i)
    return wp.Volume.allocate_by_tiles(tiles, bg_value=0.0, translation=SHIFT, transform=MATRIX)


def test_transforms() -> None:
    volume = sheared()
    p = np.array([2.0, 3.0, -5.0])
    want = [MATRIX @ p + SHIFT, np.linalg.solve(MATRIX, p - SHIFT), MATRIX @ p, np.linalg.solve(MATRIX, p)]
    out, wide = wp.zeros(4, dtype=wp.vec3), wp.zeros(4, dtype=wp.vec3d)
    wp.launch(transforms, 1, [volume.id, wp.vec3(*p), wp.vec3d(*p)], [out, wide])
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(wide.numpy(), want, rtol=1e-13)
    info = volume.get_grid_info()
    np.testing.assert_allclose(np.array(info.transform_matrix).reshape(3, 3), MATRIX, rtol=1e-6)
    np.testing.assert_allclose(np.array(info.translation), SHIFT, rtol=1e-6)
    np.testing.assert_allclose(volume.get_voxel_size(), np.linalg.norm(MATRIX, axis=0), rtol=1e-12)


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", ["none", "zip"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_file_and_back(dtype, codec: str, tmp_path) -> None:
    volume, plain = made(dtype)
    path = tmp_path / "volume.nvdb"
    volume.save_to_nvdb(path, codec)
    bytes_of_file = path.read_bytes()
    assert (len(bytes_of_file) < len(plain)) == (codec == "zip")
    with open(path, "rb") as file:
        for source in (path, str(path), file, bytes_of_file, io.BytesIO(bytes_of_file), bytearray(bytes_of_file)):
            back = wp.Volume.load_from_nvdb(source)
            assert back.dtype is dtype and back.device == wp.get_device()
            assert np.array_equal(back.array().numpy(), volume.array().numpy())
            assert back.load_next_grid() is None
    assert np.array_equal(back.get_tiles().numpy(), volume.get_tiles().numpy())


def test_a_volume_from_an_array() -> None:
    volume, _ = made(wp.float32)
    data = volume.array()
    assert data.dtype is wp.uint8 and data.ndim == 1
    for copy in (True, False):
        other = wp.Volume(data, copy=copy)
        assert (other.array().ptr == data.ptr) != copy and other.id != volume.id
        assert np.array_equal(other.array().numpy(), data.numpy())
    by_words = wp.array(data.numpy().view(np.uint32), dtype=wp.uint32)
    assert np.array_equal(wp.Volume(by_words).array().numpy(), data.numpy())
    same = wp.Volume.load_from_address(data.ptr, device=data.device)
    assert same.array().ptr == data.ptr and same.get_tile_count() == volume.get_tile_count()
    assert wp.Volume.load_from_address(data.ptr, data.size, data.device).get_tile_count() == volume.get_tile_count()


def test_grids_one_behind_the_other() -> None:
    first, second = made(wp.float32)[0].array().numpy(), made(wp.vec3f)[0].array().numpy()
    both = np.concatenate([first, second])
    both[28:32] = np.array([2], dtype=np.uint32).view(np.uint8)
    volume = wp.Volume(wp.array(both, dtype=wp.uint8))
    assert volume.dtype is wp.float32
    other = volume.load_next_grid()
    assert other is not None and other.dtype is wp.vec3f and other.load_next_grid() is None


def test_two_grids_in_a_file() -> None:
    one, other = made(wp.float32)[1], made(wp.int64)[1]
    volume = wp.Volume.load_from_nvdb(one + other)
    following = volume.load_next_grid()
    assert volume.dtype is wp.float32 and following.dtype is wp.int64 and following.load_next_grid() is None
    assert volume.array().size == volume.get_grid_info().size_in_bytes + following.array().size
    back = wp.Volume.load_from_nvdb(saved(volume, "zip"))  # both of them, numbered anew
    assert (back.get_grid_info().grid_index, back.get_grid_info().grid_count) == (0, 2)
    last = back.load_next_grid()
    assert last.dtype is wp.int64 and (last.get_grid_info().grid_index, last.get_grid_info().grid_count) == (1, 2)
    assert np.array_equal(last.get_tiles().numpy(), following.get_tiles().numpy())
    broken = bytearray(one + other)
    broken[len(one) + 16 + 176 + 1 + 636] = 0  # the type of the second grid
    with pytest.raises(RuntimeError, match="0 is no type of grids"):
        wp.Volume.load_from_nvdb(bytes(broken))


def test_dense_arrays() -> None:
    rng = np.random.default_rng(3)
    dense = rng.uniform(-1, 1, (10, 17, 9)).astype(np.float32)
    volume = wp.Volume.load_from_numpy(dense, (1.0, 2.0, 3.0), 0.25, bg_value=4.0)
    assert volume.dtype is wp.float32 and volume.get_tile_count() == 2 * 3 * 2
    assert volume.get_voxel_size() == (0.25, 0.25, 0.25)
    (grid,) = grids_of(saved(volume))
    assert all(grid.value(*p) == dense[p] for p in np.ndindex(dense.shape))
    assert grid.value(10, 0, 0) == 4.0 and grid.value(-1, 0, 0) == 4.0
    vectors = rng.uniform(-1, 1, (4, 5, 6, 3)).astype(np.float32)
    volume = wp.Volume.load_from_numpy(vectors, bg_value=(1.0, 2.0, 3.0))
    (grid,) = grids_of(saved(volume))
    assert volume.dtype is wp.vec3f and all(np.array_equal(grid.value(*p), vectors[p]) for p in np.ndindex((4, 5, 6)))
    assert np.array_equal(grid.value(40, 0, 0), [1.0, 2.0, 3.0])
    whole = wp.Volume.load_from_numpy(rng.integers(0, 9, (3, 3, 3)), bg_value=-1)
    assert whole.dtype is wp.int32
    for bad in (np.zeros((2, 2)), np.zeros((2, 2, 2, 2)), np.zeros((0, 2, 2))):
        with pytest.raises(RuntimeError):
            wp.Volume.load_from_numpy(bad)


def test_boxes() -> None:
    volume = wp.Volume.allocate((-1, 0, 0), (8, 7, 16), 0.5, translation=(1.0, 0.0, 0.0))
    corners = {tuple(c) for c in volume.get_tiles().numpy().tolist()}
    assert corners == {(i, 0, k) for i in (-8, 0, 8) for k in (0, 8, 16)}
    world = wp.Volume.allocate((0.5, 0.0, 0.0), (5.0, 3.5, 8.0), 0.5, translation=(1.0, 0.0, 0.0), points_in_world_space=True)
    assert np.array_equal(world.get_tiles().numpy(), volume.get_tiles().numpy())
    for low, high in (((1, 0, 0), (-8, 0, 0)), ((0, 0, 0), (2**30, 2**30, 2**30))):
        with pytest.raises(RuntimeError):
            wp.Volume.allocate(low, high, 1.0)


def test_tiles_by_points() -> None:
    rng = np.random.default_rng(4)
    points = rng.integers(-6000, 6000, (200, 3)).astype(np.int32)
    volume = wp.Volume.allocate_by_tiles(wp.array(points, dtype=wp.vec3i), 0.5)
    want = {tuple(p) for p in (points & ~7).tolist()}
    assert {tuple(p) for p in volume.get_tiles().numpy().tolist()} == want
    assert volume.get_tile_count() == len(want) and volume.get_voxel_count() == 512 * len(want)
    again = wp.Volume.allocate_by_tiles(wp.array(points[::-1].copy(), dtype=wp.int32), 0.5)
    assert np.array_equal(again.array().numpy(), volume.array().numpy())
    world = wp.array((points * 0.5).astype(np.float32), dtype=wp.vec3)
    assert np.array_equal(wp.Volume.allocate_by_tiles(world, 0.5).array().numpy(), volume.array().numpy())
    nothing = wp.Volume.allocate_by_tiles(wp.zeros(0, dtype=wp.vec3i), 1.0, bg_value=3.0)
    assert nothing.get_tile_count() == 0 and np.array_equal(ask_named(nothing)[0], [3.0, 3.0, 3.0])


def test_lists_into_arrays() -> None:
    volume, _ = made(wp.float32)
    rows = wp.zeros((volume.get_tile_count(), 3), dtype=wp.int32)
    assert volume.get_tiles(rows) is rows and np.array_equal(rows.numpy(), volume.get_tiles().numpy())
    vectors = wp.zeros(volume.get_voxel_count(), dtype=wp.vec3i)
    assert volume.get_voxels(out=vectors) is vectors and np.array_equal(vectors.numpy(), volume.get_voxels().numpy())
    with pytest.raises(RuntimeError, match="shape"):
        volume.get_tiles(wp.zeros((1, 3), dtype=wp.int32))


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_bad_arguments() -> None:
    tiles = wp.zeros(1, dtype=wp.vec3i)
    with pytest.raises(ValueError, match="not both"):
        wp.Volume.allocate_by_tiles(tiles, voxel_size=1.0, transform=np.eye(3))
    with pytest.raises(ValueError, match="must be provided"):
        wp.Volume.allocate_by_tiles(tiles)
    for size in (None, "wide", "0.5", [[1.0], 2.0]):
        with pytest.raises(TypeError, match="scalar or a 3-element sequence"):
            wp.Volume.allocate((0, 0, 0), (7, 7, 7), size)
    with pytest.raises(RuntimeError, match="inverted"):
        wp.Volume.allocate_by_tiles(tiles, transform=np.zeros((3, 3)))
    for size, text in ((-1.0, "finite and positive"), (0.0, "finite"), (np.nan, "finite"), ((1.0, 2.0), "length 2")):
        with pytest.raises(ValueError, match=text):
            wp.Volume.allocate_by_tiles(tiles, voxel_size=size)
    with pytest.raises(RuntimeError, match="points"):
        wp.Volume.allocate_by_tiles(wp.zeros(3, dtype=float), voxel_size=1.0)
    with pytest.raises(RuntimeError, match="bg_value"):
        wp.Volume.allocate_by_tiles(tiles, 1.0, bg_value=wp.vec2(1.0, 2.0))
    with pytest.raises(RuntimeError, match="finite"):
        wp.Volume.allocate_by_tiles(wp.array([[np.nan, 0, 0]], dtype=wp.vec3), 1.0)
    with pytest.raises(RuntimeError, match="uint8 or uint32 .*, not an array of float32$"):
        wp.Volume(wp.zeros(1000, dtype=float))
    with pytest.raises(RuntimeError, match="codecs"):
        made(wp.float32)[0].save_to_nvdb("never.nvdb", "lzma")
    with pytest.raises(RuntimeError, match="address"):
        wp.Volume.load_from_address(0)


def test_wrong_ids() -> None:
    out = wp.zeros(10, dtype=float)
    places = wp.zeros(5, dtype=wp.vec3)
    volume = wp.Volume.allocate((0, 0, 0), (7, 7, 7), 1.0)
    stale = volume.id
    grid = wp.HashGrid(2, 2, 2)
    with pytest.raises(RuntimeError, match="argument 'volume'.*HashGrid, not of a Volume"):
        wp.launch(sample_any, 5, [grid.id, places], [out])
    del volume
    with pytest.raises(RuntimeError, match="argument 'volume'.*deleted"):
        wp.launch(sample_any, 5, [stale, places], [out])


def test_types_in_debug_mode() -> None:
    @wp.kernel(module="unique")
    def wrong(volume: wp.uint64, out: wp.array(dtype=wp.vec3)):
        out[0] = wp.volume_lookup(volume, 0, 0, 0, dtype=wp.vec3)

    volume = wp.Volume.allocate((0, 0, 0), (7, 7, 7), 1.0)
    before, wp.config.mode = wp.config.mode, "debug"
    try:
        with pytest.raises(RuntimeError, match="another type"):
            wp.launch(wrong, 1, [volume.id], [wp.zeros(1, dtype=wp.vec3)])
            wp.synchronize()
    finally:
        wp.config.mode = before


def test_dtypes_that_no_volume_has() -> None:
    @wp.kernel(module="unique")
    def wrong(volume: wp.uint64, out: wp.array(dtype=wp.vec2)):
        out[0] = wp.volume_lookup(volume, 0, 0, 0, dtype=wp.vec2)

    with pytest.raises(Exception, match="no volume has voxels of vec2"):
        wp.launch(wrong, 1, [wp.uint64(0)], [wp.zeros(1, dtype=wp.vec2)])


@pytest.mark.parametrize("name", ["_voxels", "_grid_layout", "_volume_slope"])
def test_words_of_the_library_are_its_own(name: str) -> None:
    assert not hasattr(wp, name)
