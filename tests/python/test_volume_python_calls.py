"""Volumes asked from Python: the builtins that kernels call, with `wp.uint64(volume.id)`."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import warp as wp

NUMBERS = np.arange(6 * 5 * 4, dtype=np.float32).reshape(6, 5, 4)


def _volume() -> wp.Volume:
    return wp.Volume.load_from_numpy(NUMBERS, min_world=(1.0, 2.0, 3.0), voxel_size=0.5, bg_value=-1.0, device="cpu")


@pytest.mark.cpu_only
def test_samples_and_lookups() -> None:
    volume = _volume()
    number = wp.uint64(volume.id)
    assert wp.volume_lookup_f(number, 2, 3, 1) == NUMBERS[2, 3, 1]
    assert wp.volume_lookup_f(number, -2, 3, 1) == -1.0
    assert wp.volume_sample_f(number, wp.vec3(2.5, 3.0, 1.0), wp.Volume.LINEAR) == 0.5 * (NUMBERS[2, 3, 1] + NUMBERS[3, 3, 1])
    assert wp.volume_sample_f(number, wp.vec3(2.4, 3.0, 1.0), wp.Volume.CLOSEST) == NUMBERS[2, 3, 1]
    assert wp.volume_sample_grad_f(number, wp.vec3(2.0, 3.0, 1.0), wp.Volume.LINEAR, wp.vec3()) == NUMBERS[2, 3, 1]
    assert wp.volume_voxel_count(number) == 512
    index = wp.volume_lookup_index(number, 2, 3, 1)
    assert volume.get_voxels().numpy()[index].tolist() == [2, 3, 1]


@pytest.mark.cpu_only
def test_vectors_and_whole_numbers() -> None:
    arrows = wp.Volume.load_from_numpy(np.ones((2, 2, 2, 3), np.float32), bg_value=(1.0, 2.0, 3.0), device="cpu")
    assert wp.volume_lookup_v(wp.uint64(arrows.id), 1, 1, 1) == wp.vec3(1.0, 1.0, 1.0)
    assert wp.volume_sample_v(wp.uint64(arrows.id), wp.vec3(-9.0, 0.0, 0.0), wp.Volume.LINEAR) == wp.vec3(1.0, 2.0, 3.0)
    counts = wp.Volume.load_from_numpy(np.full((2, 2, 2), 7, np.int32), bg_value=3, device="cpu")
    assert wp.volume_lookup_i(wp.uint64(counts.id), 1, 1, 1) == 7
    assert wp.volume_sample_i(wp.uint64(counts.id), wp.vec3(-9.0, 0.0, 0.0)) == 3


@pytest.mark.cpu_only
def test_transforms() -> None:
    volume = _volume()
    number = wp.uint64(volume.id)
    assert wp.volume_index_to_world(number, wp.vec3(2.0, 4.0, 6.0)) == wp.vec3(2.0, 4.0, 6.0)
    assert wp.volume_world_to_index(number, wp.vec3(1.0, 2.0, 3.5)) == wp.vec3(0.0, 0.0, 1.0)
    assert wp.volume_index_to_world_dir(number, wp.vec3d(2.0, 4.0, 6.0)) == wp.vec3d(1.0, 2.0, 3.0)
    assert wp.volume_world_to_index_dir(number, wp.vec3(1.0, 2.0, 3.0)) == wp.vec3(2.0, 4.0, 6.0)


@pytest.mark.cpu_only
def test_stores_change_the_volume() -> None:
    volume = _volume()
    wp.volume_store_f(wp.uint64(volume.id), 2, 3, 1, 99.0)
    assert wp.volume_lookup_f(wp.uint64(volume.id), 2, 3, 1) == 99.0


@pytest.mark.cpu_only
def test_numbers_that_are_no_ids() -> None:
    volume = _volume()
    number = volume.id
    assert wp.volume_lookup_f(wp.uint64(0), 1, 1, 1) == 0.0
    with pytest.raises(RuntimeError, match="'volume_lookup_f', argument 1: 12345 is the id of no Volume"):
        wp.volume_lookup_f(wp.uint64(12345), 1, 1, 1)
    grid = wp.HashGrid(2, 2, 2, device="cpu")
    with pytest.raises(RuntimeError, match="this is the id of a HashGrid, not of a Volume"):
        wp.volume_lookup_f(wp.uint64(grid.id), 1, 1, 1)
    with pytest.raises(RuntimeError, match="which only kernels can do"):
        wp.hash_grid_point_id(wp.uint64(grid.id), 0)
    del volume
    gc.collect()
    with pytest.raises(RuntimeError, match="the object that had it was deleted"):
        wp.volume_lookup_f(wp.uint64(number), 1, 1, 1)


def test_an_object_on_a_gpu_is_for_kernels(device: wp.Device) -> None:
    if device.is_cpu:
        pytest.skip("about CUDA devices")
    volume = wp.Volume.load_from_numpy(NUMBERS, device=device)
    with pytest.raises(RuntimeError, match="lies on cuda:0, a call from Python runs on the CPU"):
        wp.volume_lookup_f(wp.uint64(volume.id), 1, 1, 1)
