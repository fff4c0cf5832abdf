"""Volumes that the device of their points builds: the bytes are those of the host's builder, whatever the points are."""

from __future__ import annotations


import numpy as np
import pytest
import warp as wp

BACKGROUNDS = {
    "float32": wp.float32(2.5),
    "zero": wp.float32(0.0),
    "float64": wp.float64(-1.5),
    "int32": wp.int32(7),
    "int64": wp.int64(-9),
    "uint32": wp.uint32(3),
    "vec3f": wp.vec3(1.0, 2.0, 3.0),
    "vec3d": wp.vec3d(1.0, 2.0, 3.0),
    "vec4f": wp.vec4(1.0, 2.0, 3.0, 4.0),
    "vec4d": wp.vec4d(1.0, 2.0, 3.0, 4.0),
    "index": None,
}


def some_points(kind: str, n: int = 60) -> np.ndarray:
    generator = np.random.default_rng(n)
    if kind == "near":
        return generator.integers(-20, 20, (n, 3)).astype(np.int32)
    if kind == "spread":
        return generator.integers(-3000, 3000, (5, 3)).astype(np.int32)
    if kind == "ends":
        return np.array([[-(2**31), 0, 2**31 - 1], [2**31 - 1] * 3, [-(2**31)] * 3, [5, -1, 0], [2**30, 1, 1]], np.int32)
    if kind == "equal":
        return np.full((n, 3), -3, np.int32)
    if kind == "one":
        return np.array([[9, 8, 7]], np.int32)
    return np.zeros((0, 3), np.int32)


KINDS = ["near", "spread", "ends", "equal", "one", "none"]


def both(points, make, *, mask=None, **options):
    """The volume on the device of the test and on the CPU, which is built by the host."""
    volumes = []
    for device in (wp.get_device(), "cpu"):
        there = {"point_mask": wp.array(mask, device=device)} if mask is not None else {}
        dtype = wp.vec3i if points.dtype == np.int32 else wp.vec3
        volumes.append(make(wp.array(points, dtype=dtype, device=device), **options, **there))
    return volumes


def same(a: wp.Volume, b: wp.Volume) -> None:
    assert np.array_equal(a.array().numpy(), b.array().numpy())
    assert a.get_grid_info() == b.get_grid_info() and a.get_active_stats() == b.get_active_stats()
    assert np.array_equal(a.get_tiles().numpy(), b.get_tiles().numpy())
    assert np.array_equal(a.get_voxels().numpy(), b.get_voxels().numpy())
    wp.Volume(a.array())  # it passes the check


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_tiles_of_every_type(background: str) -> None:
    there, here = both(some_points("near", 8), wp.Volume.allocate_by_tiles, voxel_size=0.25, bg_value=BACKGROUNDS[background])
    same(there, here)


@pytest.mark.parametrize("kind", KINDS)
def test_tiles(kind: str) -> None:
    there, here = both(some_points(kind), wp.Volume.allocate_by_tiles, voxel_size=0.25, translation=(1.0, -2.0, 0.3))
    same(there, here)


@pytest.mark.parametrize("kind", KINDS)
def test_voxels(kind: str) -> None:
    there, here = both(some_points(kind, 400), wp.Volume.allocate_by_voxels, voxel_size=(0.1, 0.2, 0.7))
    same(there, here)


@pytest.mark.parametrize("make", [wp.Volume.allocate_by_tiles, wp.Volume.allocate_by_voxels])
def test_places_of_the_world(make) -> None:
    turned = np.array([[0.3, -0.1, 0.0], [0.1, 0.3, 0.05], [0.0, 0.02, 0.4]])
    places = np.random.default_rng(4).uniform(-9, 9, (300, 3)).astype(np.float32)
    same(*both(places, make, transform=turned, translation=(0.1, 0.2, 0.3)))
    halves = np.random.default_rng(4).integers(-30, 30, (300, 3)).astype(np.float32) / 2
    same(*both(halves, make, voxel_size=1.0))
    for bad in (np.nan, np.inf, 1e30):
        places[7, 1] = bad
        with pytest.raises(RuntimeError, match="must be finite"):
            make(wp.array(places, dtype=wp.vec3), 0.5)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint64, bool])
def test_masks(dtype) -> None:
    points = some_points("near", 50)
    for step in (1, 3, 50, 1000):
        mask = (np.arange(50) % step == step // 2).astype(dtype)
        if dtype is np.uint64:
            mask <<= np.uint64(40)
        same(*both(points, wp.Volume.allocate_by_voxels, voxel_size=1.0, mask=mask))
        places = points.astype(np.float32)
        places[mask == 0] = np.nan  # what is left out may be anything
        same(*both(places, wp.Volume.allocate_by_tiles, voxel_size=1.0, mask=mask))


def test_boxes() -> None:
    for low, high in (((0, 0, 0), (7, 7, 7)), ((-9, 3, 4090), (20, 30, 4100)), ((-1, -1, -1), (0, 0, 0))):
        boxes = [wp.Volume.allocate(low, high, 0.5, bg_value=wp.vec3(1.0, 0.0, -1.0), device=d) for d in (None, "cpu")]
        same(*boxes)


def test_points_in_other_forms() -> None:
    points = some_points("near", 40)
    want = wp.Volume.allocate_by_voxels(wp.array(points, dtype=wp.vec3i, device="cpu"), 1.0)
    rows = wp.array(np.repeat(points, 2, axis=0), dtype=wp.vec3i)[::2]
    for given in (wp.array(points, dtype=wp.int32), rows, wp.array(points[::-1].copy(), dtype=wp.vec3i)):
        same(wp.Volume.allocate_by_voxels(given, 1.0), want)
    sent = wp.Volume.allocate_by_voxels(wp.array(points, dtype=wp.vec3i, device="cpu"), 1.0, device=wp.get_device())
    same(sent, want)


def rebuilt(volume: wp.Volume, points, **options) -> int:
    dtype = wp.vec3i if points.dtype == np.int32 else wp.vec3
    status = wp.full(1, 99, dtype=wp.uint32, device=volume.device)
    volume.rebuild(wp.array(points, dtype=dtype, device=volume.device), status, **options)
    return int(status.numpy()[0])


@pytest.mark.parametrize("voxels", [False, True])
def test_rebuilds(voxels: bool) -> None:
    room = {"max_lower_nodes": 12, "max_upper_nodes": 9, "rebuildable": True}
    if voxels:
        pair = both(some_points("near"), wp.Volume.allocate_by_voxels, voxel_size=0.5, max_active_voxels=90, max_leaf_nodes=80, **room)
    else:
        pair = both(some_points("near"), wp.Volume.allocate_by_tiles, voxel_size=0.5, bg_value=3.0, max_tiles=70, **room)
    same(*pair)
    many = np.arange(300, dtype=np.int32).reshape(-1, 3)
    for points in (
        some_points("spread"),
        some_points("near", 10),
        many,
        many * 200,
        many * 4000,
        some_points("ends"),
        some_points("none"),
        some_points("near").astype(np.float32),
        some_points("one"),
    ):
        assert rebuilt(pair[0], points) == rebuilt(pair[1], points)
        same(*pair)


@wp.kernel
def ask(volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i), out: wp.array(dtype=float)):
    i = wp.tid()
    v = voxels[i]
    out[i] = wp.volume_lookup_f(volume, v[0], v[1], v[2])


def test_a_rebuild_can_be_captured() -> None:
    device = wp.get_device()
    points = wp.array(some_points("one"), dtype=wp.vec3i)
    places, out = wp.array([[9, 8, 7], [15, 15, 7]], dtype=wp.vec3i), wp.zeros(2, dtype=float)
    volume = wp.Volume.allocate_by_tiles(points, 1.0, bg_value=4.0, rebuildable=True, max_tiles=4)
    status = wp.full(1, 99, dtype=wp.int32)
    volume.rebuild(points, status)
    with wp.ScopedCapture() as capture:
        volume.rebuild(points, status)
        wp.launch(ask, 2, [volume.id, places], [out])
        if device.is_cuda:
            with pytest.raises(RuntimeError, match="can't be part of a graph"):
                volume.rebuild(wp.zeros(1, dtype=wp.vec3i, device="cpu"))
    wp.capture_launch(capture.graph)
    assert status.numpy().tolist() == [0] and (out.numpy() == 4.0).all()
    points.assign(wp.array([[160, 0, 0]], dtype=wp.vec3i))
    wp.capture_launch(capture.graph)
    assert volume.get_tiles().numpy()[:1].tolist() == [[160, 0, 0]]
