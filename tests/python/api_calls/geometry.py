"""Calls of geometry."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest

import warp as wp

from . import calls


@calls("MarchingCubes", "MarchingCubes.resize", "MarchingCubes.surface")
def a_plane() -> None:
    cubes = wp.MarchingCubes(9, 9, 9)
    cubes.resize(4, 3, 3)
    cubes.surface(wp.array(np.arange(4, dtype=np.float32)[:, None, None] * np.ones((4, 3, 3)), dtype=float), 1.25)
    assert cubes.verts.shape == (9,) and cubes.indices.shape == (24,)
    assert (cubes.verts.numpy()[:, 0] == 1.25).all()


@wp.kernel
def count_neighbours(grid: wp.uint64, points: wp.array(dtype=wp.vec3), counts: wp.array(dtype=int)):
    i = wp.tid()
    for _j in wp.hash_grid_query(grid, points[i], 0.5):
        counts[i] += 1


@calls("HashGrid", "HashGrid.build", "HashGrid.reserve", "HashGridQuery", "HashGrid.id")
def neighbours() -> None:
    grid = wp.HashGrid(8, 8, 8, device="cpu")
    points = wp.array([[0.1, 0.1, 0.1], [0.2, 0.2, 0.2], [3.5, 3.5, 3.5]], dtype=wp.vec3, device="cpu")
    grid.reserve(3)
    grid.build(points, 1.0)
    counts = wp.zeros(3, dtype=int, device="cpu")
    wp.launch(count_neighbours, dim=3, inputs=[grid.id, points], outputs=[counts], device="cpu")
    assert counts.list() == [2, 2, 1]
    assert wp.HashGridQuery.__name__ == "HashGridQuery"


@wp.kernel
def write_and_read(volume: wp.uint64, out: wp.array(dtype=float)):
    wp.volume_store_f(volume, 1, 2, 3, 5.0)
    out[0] = wp.volume_sample_f(volume, wp.vec3(1.0, 2.0, 3.0), wp.Volume.LINEAR)


@calls("Volume", "Volume.id", "Volume.CLOSEST", "Volume.LINEAR", "Volume.allocate", "Volume.load_from_numpy")
@calls("Volume.array", "Volume.dtype", "Volume.is_index", "Volume.get_grid_info", "Volume.get_voxel_size")
@calls("Volume.get_tiles", "Volume.get_voxels", "Volume.get_voxel_count", "Volume.load_next_grid")
def a_volume() -> None:
    volume = wp.Volume.allocate((0, 0, 0), (7, 7, 7), 0.5, bg_value=1.0, device="cpu")
    out = wp.zeros(1, dtype=float, device="cpu")
    wp.launch(write_and_read, dim=1, inputs=[volume.id], outputs=[out], device="cpu")
    assert out.list() == [5.0] and (wp.Volume.CLOSEST, wp.Volume.LINEAR) == (0, 1)
    assert volume.dtype is wp.float32 and not volume.is_index and volume.get_voxel_size() == (0.5, 0.5, 0.5)
    assert volume.get_tiles().shape == (1, 3) and volume.get_voxels().shape == (512, 3) == (volume.get_voxel_count(), 3)
    assert volume.get_grid_info().type_str == "float" and volume.load_next_grid() is None
    assert wp.Volume(volume.array()).get_voxel_count() == 512
    dense = wp.Volume.load_from_numpy(np.ones((4, 5, 6), dtype=np.float32), voxel_size=0.25, device="cpu")
    assert dense.get_voxel_count() == 512


@calls("Volume.load_from_nvdb", "Volume.save_to_nvdb", "Volume.get_feature_array_count", "Volume.get_feature_array_info")
@calls("Volume.feature_array")
def a_volume_in_a_file() -> None:
    volume = wp.Volume.allocate((0, 0, 0), (7, 7, 7), 0.5, bg_value=1.0, device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        volume.save_to_nvdb(f"{folder}/volume.nvdb", "zip")
        back = wp.Volume.load_from_nvdb(f"{folder}/volume.nvdb", device="cpu")
    assert np.array_equal(back.array().numpy(), volume.array().numpy()) and back.get_feature_array_count() == 0
    for ask in (back.get_feature_array_info, back.feature_array):
        with pytest.raises(RuntimeError):
            ask(0)


@calls("Volume.allocate_by_tiles", "Volume.allocate_by_voxels", "Volume.rebuild", "Volume.is_rebuildable")
@calls("Volume.get_rebuild_info", "Volume.RebuildInfo", "Volume.get_active_stats", "Volume.ActiveStats")
@calls("Volume.REBUILD_SUCCESS", "Volume.REBUILD_LEAF_CAPACITY_EXCEEDED", "Volume.REBUILD_VOXEL_CAPACITY_EXCEEDED")
def volumes_of_points() -> None:
    points = wp.array([[0, 0, 0], [9, 0, 0]], dtype=wp.vec3i, device="cpu")
    volume = wp.Volume.allocate_by_tiles(points, 1.0, rebuildable=True, max_tiles=2)
    status = wp.zeros(1, dtype=wp.uint32, device="cpu")
    volume.rebuild(wp.array([[80, 0, 0]], dtype=wp.vec3i, device="cpu"), status)
    assert status.list() == [wp.Volume.REBUILD_SUCCESS] and volume.is_rebuildable
    assert volume.get_active_stats() == wp.Volume.ActiveStats(512, 1, 1, 1)
    assert volume.get_rebuild_info() == wp.Volume.RebuildInfo("tiles", 1024, 2, 2, 2)
    volume.rebuild(wp.array([[0, 0, 0], [8, 0, 0], [16, 0, 0]], dtype=wp.vec3i, device="cpu"), status)
    full = wp.Volume.REBUILD_LEAF_CAPACITY_EXCEEDED | wp.Volume.REBUILD_VOXEL_CAPACITY_EXCEEDED
    assert status.list() == [full] and volume.get_active_stats().leaf_node_count == 1
    assert wp.Volume.allocate_by_voxels(points, 1.0).get_voxel_count() == 2
