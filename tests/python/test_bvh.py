"""Trees of boxes: what meets boxes, rays, spheres and capsules, compared with loops over all; groups; limits that shrink."""

from __future__ import annotations

import geometry_reference as reference
import numpy as np
import pytest
import warp as wp
from mesh_cases import EXECUTORS, F, launch


def some_boxes(n: int, seed: int = 1):
    rng = np.random.default_rng(seed)
    low = rng.uniform(-1, 1, (n, 3)).astype(F)
    high = (low + rng.uniform(0, 0.3, (n, 3))).astype(F)
    if n > 20:
        high[:5] = low[:5]  # points
        high[5, 1] = low[5, 1] - 1  # inverted
        low[6, 2] = np.nan
        low[7:12], high[7:12] = low[12], high[12]
    return low, high


def tree_of(low: np.ndarray, high: np.ndarray, **options: object) -> wp.Bvh:
    return wp.Bvh(wp.array(low, dtype=wp.vec3), wp.array(high, dtype=wp.vec3), **options)


@wp.kernel
def meet(
    tree: wp.uint64,
    a: wp.array(dtype=wp.vec3),
    b: wp.array(dtype=wp.vec3),
    limit: wp.array(dtype=float),
    out: wp.array3d(dtype=int),
):
    i = wp.tid()
    for k in wp.bvh_query_aabb(tree, a[i], b[i]):
        out[0, i, k] += 1
    for k in wp.bvh_query_ray(tree, a[i], b[i]):
        out[1, i, k] += 1
    q = wp.bvh_query_ray(tree, start=a[i], dir=b[i])
    k = int(0)
    while wp.bvh_query_next(q, k, limit[i]):
        out[2, i, k] += 1
    for k in wp.bvh_query_sphere(tree, a[i], limit[i]):
        out[3, i, k] += 1
    q = wp.bvh_query_capsule(tree, a[i], b[i], 0.1)
    while wp.bvh_query_next(q, k, limit[i]):
        out[4, i, k] += 1


def want_of(low, high, a, b, limit):
    good = np.isfinite(low).all(1) & np.isfinite(high).all(1) & (low <= high).all(1)
    with np.errstate(all="ignore"):
        box = ((low <= b[:, None]) & (high >= a[:, None])).all(-1) & (a <= b).all(1)[:, None]
        is_ray = (np.isfinite(a).all(1) & np.isfinite(b).all(1) & (np.abs(b).max(1) >= F(1e-37)))[:, None]
        entry, exit = reference.box_range(low[None], high[None], a[:, None], reference.rates(b)[:, None])
        ray = (entry <= exit * reference.CLEARANCE) & (entry < np.inf) & is_ray
        near = ray & (entry < limit[:, None])
        out = np.maximum(np.maximum(low - a[:, None], a[:, None] - high), F(0))
        d = reference.dot3(*np.moveaxis(out, -1, 0), *np.moveaxis(out, -1, 0))
        sphere = (d <= (limit * limit)[:, None]) & (limit >= 0)[:, None] & np.isfinite(a).all(1)[:, None]
        r = F(0.1)
        entry, exit = reference.box_range(low[None] - r, high[None] + r, a[:, None], reference.rates(b)[:, None])
        capsule = (entry <= exit * reference.CLEARANCE) & (entry < limit[:, None]) & is_ray
    return np.stack([box, ray, near, sphere, capsule]) & good


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("count", [0, 1, 2, 9, 400])
def test_equal_to_the_loop(count: int, executor: str | int) -> None:
    low, high = some_boxes(count)
    rng = np.random.default_rng(2)
    n = 100
    a = rng.uniform(-1.5, 1.5, (n, 3)).astype(F)
    b = rng.uniform(-1.5, 1.5, (n, 3)).astype(F)
    b[20:40] = np.maximum(a, b)[20:40]
    if count:
        a[40:50] = np.nan_to_num(low[rng.integers(0, count, 10)])
    b[50:60, 0] = 0
    b[60:70, 1:] = 0
    limit = rng.uniform(0, 1, n).astype(F)
    a[0, 0], b[1, 0], b[2], limit[3], limit[4], limit[5] = np.nan, np.nan, 0, np.nan, -1, np.inf
    want = want_of(low, high, a, b, limit)
    for constructor in ("sah", "median", "lbvh"):
        for leaf_size in (1, 5):
            out = wp.zeros((5, n, max(count, 1)), dtype=int)
            tree = tree_of(low, high, constructor=constructor, leaf_size=leaf_size)
            inputs = [tree.id, *(wp.array(v, dtype=wp.vec3) for v in (a, b)), wp.array(limit, dtype=float)]
            launch(meet, n, inputs, [out], executor)
            np.testing.assert_array_equal(out.numpy()[:, :, :count], want)


@pytest.mark.parametrize("constructor", ["sah", "median", "lbvh"])
def test_planes_of_infinite_extent_are_left_out(constructor: str, device: wp.Device) -> None:
    """docs/geometry.md: a box with an infinite corner is never met; one of ±1e30 is, wherever anybody asks."""
    low, high = some_boxes(60, 8)
    planes = np.arange(20, 60, 8)
    axes = np.arange(len(planes)) % 3
    rng = np.random.default_rng(9)
    a, b = rng.uniform(-1.5, 1.5, (2, 40, 3)).astype(F)
    b[:20] = np.maximum(a, b)[:20]
    b[30:, 0] = 0
    limit = rng.uniform(0, 1, 40).astype(F)
    for extent in (np.inf, 1e30):
        low[planes], high[planes] = -extent, extent
        low[planes, axes] = high[planes, axes] = rng.uniform(-1, 1, len(planes))
        lowers, uppers, start, to = (wp.array(v, dtype=wp.vec3, device=device) for v in (low, high, a, b))
        tree = wp.Bvh(lowers, uppers, constructor=constructor)
        for again in (tree.refit, tree.rebuild):
            out = wp.zeros((5, 40, 60), dtype=int, device=device)
            wp.launch(meet, 40, [tree.id, start, to, wp.array(limit, dtype=float, device=device)], [out], device=device)
            np.testing.assert_array_equal(out.numpy(), want_of(low, high, a, b, limit))
            assert out.numpy()[:, :, planes].any(axis=(1, 2)).tolist() == [extent < np.inf] * 5
            again()


def test_after_refit_and_rebuild() -> None:
    low, high = some_boxes(200)
    tree = tree_of(low, high)
    rng = np.random.default_rng(3)
    a, b = rng.uniform(-1, 1, (2, 50, 3)).astype(F)
    limit = np.full(50, 0.3, F)
    for step in range(3):
        move = rng.normal(size=low.shape).astype(F) * F(0.2)
        tree.lowers.assign(low + move)
        tree.uppers.assign(high + move)
        tree.rebuild() if step == 1 else tree.refit()
        out = wp.zeros((5, 50, 200), dtype=int)
        wp.launch(meet, 50, [tree.id, wp.array(a, dtype=wp.vec3), wp.array(b, dtype=wp.vec3), wp.array(limit, dtype=float)], [out])
        np.testing.assert_array_equal(out.numpy(), want_of(low + move, high + move, a, b, limit))


@wp.kernel
def nearest_by_rays(tree: wp.uint64, lows: wp.array(dtype=wp.vec3), start: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.bvh_query_ray(tree, start[i], wp.vec3(0.0, 0.0, 1.0))
    best = float(1.0e30)
    k = int(0)
    while wp.bvh_query_next(q, k, best):
        best = wp.min(best, wp.max(lows[k][2] - start[i][2], 0.0))
    out[i] = best


def test_a_limit_that_shrinks() -> None:
    low, high = some_boxes(300, 5)
    low, high = low[20:], high[20:]
    start = np.random.default_rng(4).uniform(-1, 1, (200, 3)).astype(F)
    start[:, 2] -= 2
    tree = tree_of(low, high)
    out = wp.zeros(200, dtype=float)
    wp.launch(nearest_by_rays, 200, [tree.id, tree.lowers, wp.array(start, dtype=wp.vec3)], [out])
    meets = ((low[:, :2] <= start[:, None, :2]) & (high[:, :2] >= start[:, None, :2])).all(-1)
    entry = np.maximum(low[:, 2] - start[:, None, 2], 0)
    np.testing.assert_array_equal(out.numpy(), np.where(meets, entry, F(1e30)).min(1))


@wp.kernel
def in_group(tree: wp.uint64, groups: wp.array(dtype=int), out: wp.array2d(dtype=int)):
    i = wp.tid()
    root = wp.bvh_get_group_root(tree, groups[i])
    if root >= 0:
        for k in wp.bvh_query_aabb(tree, wp.vec3(-9.0, -9.0, -9.0), wp.vec3(9.0, 9.0, 9.0), root):
            out[i, k] += 1
        for k in wp.bvh_query_sphere(tree, wp.vec3(0.0, 0.0, 0.0), 99.0, root):
            out[i, k] += 10


def test_groups() -> None:
    low, high = some_boxes(150, 6)
    low, high = low[20:], high[20:]
    group = np.random.default_rng(5).integers(-3, 4, len(low)).astype(np.int32)
    tree = tree_of(low, high, groups=wp.array(group, dtype=int))
    asked = np.arange(-5, 6, dtype=np.int32)
    out = wp.zeros((len(asked), len(low)), dtype=int)
    wp.launch(in_group, len(asked), [tree.id, wp.array(asked, dtype=int)], [out])
    np.testing.assert_array_equal(out.numpy(), 11 * (group == asked[:, None]))
    wp.launch(in_group, len(asked), [0, wp.array(asked, dtype=int)], [out])


@pytest.mark.parametrize("constructor", ["sah", "median", "lbvh"])
@pytest.mark.parametrize("groups", [1, 16])
def test_boxes_of_all_sizes(constructor: str, groups: int) -> None:
    # Each a quarter wider than the one before: whoever looks at areas takes them off one by one, and trees grow deep.
    x = np.exp(np.linspace(-70, 0, 300)).astype(F)
    low, high = np.zeros((300 + groups, 3), F), np.ones((300 + groups, 3), F)
    low[:300, 0], high[:300, 0] = x, x * F(1.001)
    low[300:, 0], high[300:, 0] = -1, F(-0.5)
    group = np.concatenate([np.zeros(300, np.int32), np.arange(1, groups + 1, dtype=np.int32)])
    tree = tree_of(low, high, groups=wp.array(group, dtype=int), constructor=constructor, leaf_size=1)
    asked = np.arange(groups + 2, dtype=np.int32)
    out = wp.zeros((len(asked), len(low)), dtype=int)
    wp.launch(in_group, len(asked), [tree.id, wp.array(asked, dtype=int)], [out])
    np.testing.assert_array_equal(out.numpy(), 11 * (group == asked[:, None]))


def test_ids_read_as_another_librarys_trees_have_no_nodes() -> None:
    # A test of warp-lang 1.19 casts an id to a header with the number of nodes here, and their parents where our nodes are.
    for tree in (tree_of(*some_boxes(100)), tree_of(*some_boxes(0))):
        words = wp.array(ptr=tree.id, dtype=wp.uint32, shape=16, device=tree.device).numpy()
        assert words[12] == 0


@wp.func
def count_rest(query: wp.BvhQuery) -> int:
    n = int(0)
    for k in query:
        n += 1
    return n


@wp.kernel
def passes_on(tree: wp.uint64, out: wp.array(dtype=int)):
    query = wp.bvh_query_aabb(tree, wp.vec3(-9.0, -9.0, -9.0), wp.vec3(9.0, 9.0, 9.0))
    for k in query:
        out[k] = count_rest(query)


def test_queries_in_functions() -> None:
    low, high = some_boxes(60, 7)
    low, high = low[20:], high[20:]
    out = wp.full(40, -1, dtype=int)
    tree = tree_of(low, high)
    wp.launch(passes_on, 1, [tree.id], [out])
    assert sorted(out.numpy().tolist()) == list(range(40))
