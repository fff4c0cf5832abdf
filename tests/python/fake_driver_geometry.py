"""Geometry on the fake driver, for fake_driver_program.py: trees and grids whose builds may fail at every call."""

from __future__ import annotations

import ctypes

import numpy as np
import warp as wp

driver = ctypes.CDLL("libcuda.so.1")


@wp.kernel
def query(mesh: wp.uint64, tree: wp.uint64, grid: wp.uint64, out: wp.array(dtype=int)):
    hit = wp.mesh_query_ray(mesh, wp.vec3(0.0), wp.vec3(1.0), 1.0)
    for k in wp.bvh_query_aabb(tree, wp.vec3(0.0), wp.vec3(1.0)):
        out[0] += k
    for j in wp.hash_grid_query(grid, wp.vec3(0.0), 1.0):
        out[0] += j + hit.face


def trees() -> None:
    """Trees that the GPU builds, and those that the host builds and sends; a refit in a graph."""
    numbers = (np.arange(72, dtype=np.float32) * 7 % 11).reshape(-1, 3)
    points, others = wp.array(numbers, dtype=wp.vec3, device="cuda:0"), wp.array(-numbers, dtype=wp.vec3, device="cuda:0")
    indices = wp.array(np.arange(24), dtype=int, device="cuda:0")
    groups = wp.array(np.arange(8) % 2, dtype=int, device="cuda:0")
    mesh = wp.Mesh(points, indices)
    mesh.refit()
    mesh.points = others
    mesh.velocities = points
    whole = wp.Mesh(points, indices, support_winding_number=True, groups=groups)
    whole.refit()
    sent = wp.Mesh(points, indices, bvh_constructor="sah", support_winding_number=True, groups=groups)
    sent.refit()
    sent.rebuild("median")
    tree = wp.Bvh(points, points)
    tree.refit()
    out = wp.zeros(1, dtype=int, device="cuda:0")
    wp.launch(query, dim=1, inputs=[mesh.id, tree.id, 0, out], device="cuda:0")
    with wp.ScopedCapture("cuda:0") as capture:
        mesh.refit()
        tree.refit()
        whole.refit()
        whole.rebuild()
        wp.launch(query, dim=1, inputs=[mesh.id, tree.id, 0, out], device="cuda:0")
    wp.capture_launch(capture.graph)
    wp.synchronize()


def grids() -> None:
    numbers = (np.arange(72, dtype=np.float32) * 7 % 11).reshape(-1, 3)
    points = wp.array(numbers, dtype=wp.vec3, device="cuda:0")
    grid = wp.HashGrid(4, 4, 4, device="cuda:0")
    grid.reserve(30)
    grid.build(points, 0.5)
    out = wp.zeros(1, dtype=int, device="cuda:0")
    with wp.ScopedCapture("cuda:0") as capture:
        grid.build(points, 0.5)
        wp.launch(query, dim=1, inputs=[0, 0, grid.id, out], device="cuda:0")
    wp.capture_launch(capture.graph)
    wp.synchronize()


def volumes() -> None:
    """Volumes that the GPU builds; a rebuild in a graph. For a driver that runs kernels: sizes come from them."""
    voxels = (np.arange(12, dtype=np.int32) * 7 % 11).reshape(-1, 3)
    points = wp.array(voxels, dtype=wp.vec3i, device="cuda:0")
    places = wp.array(voxels.astype(np.float32), dtype=wp.vec3, device="cuda:0")
    status = wp.zeros(1, dtype=wp.uint32, device="cuda:0")
    sparse = wp.Volume.allocate_by_voxels(points, 1.0)
    volume = wp.Volume.allocate_by_tiles(places, 1.0, rebuildable=True, max_tiles=4, max_lower_nodes=2, max_upper_nodes=1)
    volume.rebuild(points, status)
    with wp.ScopedCapture("cuda:0") as capture:
        volume.rebuild(points, status)
    wp.capture_launch(capture.graph)
    assert sparse.get_tile_count() > 0 and volume.get_active_stats().leaf_node_count > 0


def keep() -> None:
    """A build that finds no memory leaves the tree of before: the descriptor that kernels read is what it was."""
    numbers = (np.arange(72, dtype=np.float32) * 7 % 11).reshape(-1, 3)
    points = wp.array(numbers, dtype=wp.vec3, device="cuda:0")
    mesh, tree = wp.Mesh(points, wp.array(np.arange(24), dtype=int, device="cuda:0")), wp.Bvh(points, points)
    grid = wp.HashGrid(4, 4, 4, device="cuda:0")
    grid.build(points, 0.5)
    more = wp.array(np.tile(numbers, (9, 1)), dtype=wp.vec3, device="cuda:0")
    changes = [(mesh, mesh.rebuild), (mesh, lambda: mesh.rebuild("sah")), (tree, tree.rebuild)]
    changes += [(tree, lambda: tree.rebuild("median")), (grid, lambda: grid.build(more, 0.5))]
    for one, change in changes:
        before = ctypes.string_at(one.id, 512)
        driver.weft_fake_break(b"memory_allocate_async", 2)
        try:
            change()
        except MemoryError as error:
            assert "bytes" in str(error), error
        else:
            raise AssertionError("there was memory for it")
        finally:
            driver.weft_fake_break(b"memory_allocate_async", 0)
        assert ctypes.string_at(one.id, 512) == before
        change()
        assert ctypes.string_at(one.id, 512) != before


def keep_volume() -> None:
    """A rebuild that finds no memory leaves the grid and the descriptor of before. For a driver that runs kernels."""
    voxels = (np.arange(12, dtype=np.int32) * 7 % 11).reshape(-1, 3)
    points = wp.array(voxels, dtype=wp.vec3i, device="cuda:0")
    other = wp.array(voxels[:2] + np.int32(64), dtype=wp.vec3i, device="cuda:0")
    volume = wp.Volume.allocate_by_voxels(points, 1.0, rebuildable=True, max_lower_nodes=1, max_upper_nodes=1)
    volume.rebuild(points)
    before = ctypes.string_at(volume.id, 512), volume.array().numpy().copy()
    driver.weft_fake_break(b"memory_allocate_async", 2)
    try:
        volume.rebuild(other)
    except MemoryError as error:
        assert "bytes" in str(error), error
    else:
        raise AssertionError("there was memory for it")
    finally:
        driver.weft_fake_break(b"memory_allocate_async", 0)
    assert ctypes.string_at(volume.id, 512) == before[0] and (volume.array().numpy() == before[1]).all()
    volume.rebuild(other)
    assert volume.get_active_stats().voxel_count == 2
