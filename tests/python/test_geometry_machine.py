"""Meshes, trees and grids as PTX on machines without a GPU: the fake driver (tests/fake_cuda) runs what builds, refits and asks
them, in graphs too, and refuses what reaches beyond memory that is somebody's."""

from __future__ import annotations

import os

import pytest
from test_fake_driver import FAKE
from test_tile_machine import run_tests

pytestmark = pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)


@pytest.mark.parametrize(
    "file, chosen",
    [
        ("test_mesh_objects.py", "cuda"),
        ("test_geometry_limits.py", "cuda and (mesh_keeps or large_rebuilds)"),
        ("test_mesh_ray.py", "cuda and (equal_after_changes or groups or (equal_to_the_loop and (sphere or nan)))"),
        ("test_mesh_point.py", "cuda and (afar or (equal_to_the_loop and (sphere or nan)))"),
        ("test_mesh_huge.py", "cuda and another_size"),
        ("test_tape_ids_in_memory.py", "cuda"),
        ("test_bvh.py", "cuda"),
        ("test_hash_grid.py", "cuda and graph"),
        ("test_graphs.py", "cuda and not (branches or conditions)"),
    ],
)
def test_geometry_as_ptx(tmp_path, file: str, chosen: str) -> None:
    out = run_tests(tmp_path, 32, chosen, file)
    assert " passed" in out and "failed" not in out
