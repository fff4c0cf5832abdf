"""Queries of trees and meshes that the threads of a block make together; on the CPU a block is one thread."""

import numpy as np
import pytest

import warp as wp



rng = np.random.default_rng(7)
LOW = rng.uniform(-1, 0.8, (200, 3)).astype(np.float32)
HIGH = LOW + rng.uniform(0.01, 0.2, (200, 3)).astype(np.float32)


def run(kernel, inputs):
    wp.launch_tiled(kernel, dim=1, inputs=inputs, block_dim=32)


@wp.kernel
def boxes_while_valid(id: wp.uint64, low: wp.vec3, high: wp.vec3, hits: wp.array(dtype=int)):
    query = wp.tile_bvh_query_aabb(id, low, high)
    while wp.tile_query_valid(query):
        found = wp.tile_bvh_query_next(query)
        mine = wp.untile(found)
        if mine >= 0:
            hits[mine] += 1


@wp.kernel
def boxes_until_none(id: wp.uint64, low: wp.vec3, high: wp.vec3, hits: wp.array(dtype=int)):
    query = wp.bvh_query_aabb_tiled(id, low, high)
    found = wp.bvh_query_next_tiled(query)
    while wp.tile_max(found)[0] >= 0:
        mine = wp.untile(found)
        if mine >= 0:
            hits[mine] += 1
        found = wp.bvh_query_next_tiled(query)


@wp.kernel
def boxes_valid_behind(id: wp.uint64, low: wp.vec3, high: wp.vec3, hits: wp.array(dtype=int)):
    query = wp.tile_bvh_query_aabb(id, low, high)
    found = wp.tile_bvh_query_next(query)
    while wp.tile_query_valid(query):
        mine = wp.untile(found)
        if mine >= 0:
            hits[mine] += 1
        found = wp.tile_bvh_query_next(query)


@wp.kernel
def rays(id: wp.uint64, start: wp.vec3, dir: wp.vec3, hits: wp.array(dtype=int), other: wp.array(dtype=int)):
    query = wp.tile_bvh_query_ray(id, start, dir)
    while wp.tile_query_valid(query):
        found = wp.tile_bvh_query_next(query)
        mine = wp.untile(found)
        if mine >= 0:
            hits[mine] += 1
    again = wp.bvh_query_ray_tiled(id, start, dir)
    while wp.tile_query_valid(again):
        found = wp.bvh_query_next_tiled(again)
        mine = wp.untile(found)
        if mine >= 0:
            other[mine] += 1


@wp.kernel
def one_by_one(id: wp.uint64, start: wp.vec3, dir: wp.vec3, hits: wp.array(dtype=int)):
    for i in wp.bvh_query_ray(id, start, dir):
        hits[i] += 1


@wp.kernel
def faces(id: wp.uint64, low: wp.vec3, high: wp.vec3, hits: wp.array(dtype=int), other: wp.array(dtype=int)):
    query = wp.tile_mesh_query_aabb(id, low, high)
    while wp.tile_query_valid(query):
        found = wp.tile_mesh_query_aabb_next(query)
        mine = wp.untile(found)
        if mine >= 0:
            hits[mine] += 1
    again = wp.mesh_query_aabb_tiled(id, low, high)
    while wp.tile_query_valid(again):
        found = wp.mesh_query_aabb_next_tiled(again)
        mine = wp.untile(found)
        if mine >= 0:
            other[mine] += 1


def tree():
    return wp.Bvh(wp.array(LOW, dtype=wp.vec3), wp.array(HIGH, dtype=wp.vec3))


@pytest.mark.parametrize("kernel", [boxes_while_valid, boxes_until_none, boxes_valid_behind])
@pytest.mark.parametrize("cpu_blocks", [False, True])
def test_boxes(kernel, cpu_blocks, monkeypatch):
    monkeypatch.setattr(wp.config, "enable_cpu_blocks", cpu_blocks)
    low, high = np.float32([-0.3, -0.4, -0.2]), np.float32([0.4, 0.1, 0.5])
    hits = wp.zeros(len(LOW), dtype=int)
    bvh = tree()
    run(kernel, [bvh.id, wp.vec3(*low), wp.vec3(*high), hits])
    want = np.all((LOW <= high) & (HIGH >= low), axis=1)
    assert want.any()
    np.testing.assert_array_equal(hits.numpy(), want)


def test_nothing_found():
    hits = wp.zeros(len(LOW), dtype=int)
    bvh = tree()
    for kernel in (boxes_while_valid, boxes_until_none):
        run(kernel, [bvh.id, wp.vec3(5.0), wp.vec3(6.0), hits])
    assert not hits.numpy().any()


def test_rays_find_what_single_threads_find():
    hits, other, want = (wp.zeros(len(LOW), dtype=int) for _ in range(3))
    bvh = tree()
    middle = 0.5 * (LOW[0] + HIGH[0])
    ray = [bvh.id, wp.vec3(-2.0, 0.1, 0.05), wp.vec3(*(middle - np.float32([-2.0, 0.1, 0.05])))]
    run(rays, [*ray, hits, other])
    wp.launch(one_by_one, dim=1, inputs=[*ray, want])
    assert want.numpy().any()
    np.testing.assert_array_equal(hits.numpy(), want.numpy())
    np.testing.assert_array_equal(other.numpy(), want.numpy())


def test_faces():
    corners = (LOW[:, None] + rng.uniform(0, 0.1, (200, 3, 3))).astype(np.float32)
    points = wp.array(corners.reshape(-1, 3), dtype=wp.vec3)
    mesh = wp.Mesh(points, wp.array(np.arange(600), dtype=int))
    low, high = np.float32([-0.3, -0.4, -0.2]), np.float32([0.4, 0.1, 0.5])
    hits, other = (wp.zeros(200, dtype=int) for _ in range(2))
    run(faces, [mesh.id, wp.vec3(*low), wp.vec3(*high), hits, other])
    want = np.all((corners.min(axis=1) <= high) & (corners.max(axis=1) >= low), axis=1)
    np.testing.assert_array_equal(hits.numpy(), want)
    np.testing.assert_array_equal(other.numpy(), want)


def test_the_names_of_the_types():
    @wp.func
    def first(query: wp.BvhQueryTiled) -> int:
        found = wp.tile_bvh_query_next(query)
        return found[0]

    @wp.kernel
    def ask(id: wp.uint64, hits: wp.array(dtype=int)):
        query = wp.tile_bvh_query_aabb(id, wp.vec3(-9.0), wp.vec3(9.0))
        hits[first(query)] = 1

    hits = wp.zeros(len(LOW), dtype=int)
    bvh = tree()
    run(ask, [bvh.id, hits])
    assert hits.numpy().sum() == 1


def test_a_step_of_something_else_is_refused():
    @wp.kernel
    def ask(id: wp.uint64):
        query = wp.bvh_query_aabb(id, wp.vec3(-9.0), wp.vec3(9.0))
        wp.tile_bvh_query_next(query)

    bvh = tree()
    with pytest.raises(Exception, match="BvhQueryTiled"):
        run(ask, [bvh.id])


@wp.kernel(enable_backward=False)
def boxes_of_each(id: wp.uint64, low: wp.array(dtype=wp.vec3), size: float, hits: wp.array2d(dtype=int)):
    i, lane = wp.tid()
    query = wp.tile_bvh_query_aabb(id, low[i], low[i] + wp.vec3(size, size, size))
    while wp.tile_query_valid(query):
        found = wp.tile_bvh_query_next(query)
        mine = wp.untile(found)
        if mine >= 0:
            wp.atomic_add(hits, i, mine, 1)
            if lane > 0 and found[lane - 1] < 0:  # nobody in front goes without
                wp.atomic_add(hits, i, mine, 100)


@pytest.mark.parametrize("block", [1, 32, 33, 96, 256])
@pytest.mark.parametrize("count, size", [(1, 2.0), (5, 0.5), (700, 0.05), (700, 0.6), (700, 3.0)])
def test_threads_share_a_tree_whatever_its_size(block, count, size):
    numbers = np.random.default_rng(count)
    low = numbers.uniform(-1, 0.8, (count, 3)).astype(np.float32)
    high = low + numbers.uniform(0.01, 0.2, (count, 3)).astype(np.float32)
    bvh = wp.Bvh(wp.array(low, dtype=wp.vec3), wp.array(high, dtype=wp.vec3))
    start = np.float32([[-1, -1, -1], [0, 0, 0], [5, 5, 5]])
    hits = wp.zeros((3, count), dtype=int)
    inputs = [bvh.id, wp.array(start, dtype=wp.vec3), size, hits]
    wp.launch_tiled(boxes_of_each, dim=3, inputs=inputs, block_dim=block)
    end = start + np.float32(size)
    met = (low[None] <= end[:, None]).all(-1) & (high[None] >= start[:, None]).all(-1)
    np.testing.assert_array_equal(hits.numpy(), met.astype(int))


def test_threads_that_are_missing_find_nothing():
    hits = wp.zeros(len(LOW), dtype=int)
    bvh = tree()
    wp.launch(boxes_until_none, dim=20, inputs=[bvh.id, wp.vec3(-9.0), wp.vec3(9.0), hits], block_dim=32)
    threads = 20 if wp.get_device().is_cpu else 1
    np.testing.assert_array_equal(hits.numpy(), np.full(len(LOW), threads))
