"""The kernels by which GPUs build and refit trees, run on whatever device there is: structure, boxes, order, refits, groups,
moments."""

from __future__ import annotations

import geometry_reference as reference
import numpy as np
import pytest
import warp as wp
from tree_builder import LEAF_BIT, Tree, check, check_tables, items_below, kernels


def boxes(kind: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(n)
    low = generator.random((n, 3)).astype(np.float32)
    if kind == "equal":
        low[:] = 0.25
    elif kind == "line":
        low[:, 1:] = 0
        low[:, 0] = np.sort(low[:, 0]) ** 20
    elif kind == "huge":
        low = (low * 2 - 1) * np.float32(3e38)
    elif kind == "tiny":
        low *= np.float32(1e-30)
    elif kind == "far":
        low += np.float32(1e7)
    high = low + generator.random((n, 3)).astype(np.float32) * np.float32(1e-32 if kind == "tiny" else 0.01)
    if kind == "broken":
        low[::3] = np.nan
        high[1::5, 1] = -1
        high[2::7] = np.inf
    return low, high


@pytest.mark.parametrize("kind", ["plain", "equal", "line", "huge", "broken"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 33, 1000])
def test_build_and_refit(kind: str, n: int) -> None:
    low, high = boxes(kind, n)
    tree = Tree(low, high)
    assert check(tree, low, high) <= 60
    before = tree.words.numpy().copy()
    assert (Tree(low, high).words.numpy() == before).all(), "the same bytes each time"
    tree.refit(low, high)
    assert (tree.words.numpy() == before).all(), "nothing has moved"
    other_low, other_high = boxes("broken" if kind != "broken" else "plain", n)
    tree.refit(other_low, other_high)
    check(tree, other_low, other_high)


@pytest.mark.parametrize("kind", ["plain", "equal", "line", "huge", "broken", "tiny", "far"])
@pytest.mark.parametrize("n", [1, 2, 5, 9, 33, 300])
def test_tables(kind: str, n: int) -> None:
    low, high = boxes(kind, n)
    tree = Tree(low, high)
    check_tables(tree)
    for a, b in zip(tree.tables(), tree.tables()):
        assert a[: len(tree.words)].tobytes() == b[: len(tree.words)].tobytes()
    tree.refit(*boxes("plain", n))
    check_tables(tree)
    if n > 1:
        check_tables(Tree(low, high, some_groups("rising", n)))


def some_groups(kind: str, n: int) -> np.ndarray:
    generator = np.random.default_rng(n + 1)
    if kind == "one":
        return np.full(n, -5, np.int32)
    if kind == "each":
        return generator.permutation(n).astype(np.int32) * 70000 - 2**30
    if kind == "edges":
        return generator.choice(np.array([-(2**31), -1, 0, 2**31 - 1], np.int32), n)
    sizes = np.repeat(np.arange(n), np.arange(1, n + 1))[:n]  # groups of one, two, three …
    return generator.permutation(sizes.astype(np.int32) * 3 - 4)


@pytest.mark.parametrize("kind", ["plain", "equal", "line", "broken"])
@pytest.mark.parametrize("groups", ["one", "each", "edges", "rising"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 33, 700])
def test_groups(kind: str, groups: str, n: int) -> None:
    low, high = boxes(kind, n)
    group = some_groups(groups, n)
    tree = Tree(low, high, group)
    assert check(tree, low, high) <= 60
    before = tree.words.numpy().copy(), tree.roots.numpy().copy()
    again = Tree(low, high, group)
    assert (again.words.numpy() == before[0]).all() and (again.roots.numpy() == before[1]).all()
    tree.refit(low, high)
    assert (tree.words.numpy() == before[0]).all(), "nothing has moved"
    other_low, other_high = boxes("broken" if kind != "broken" else "plain", n)
    tree.refit(other_low, other_high)
    check(tree, other_low, other_high)


def test_codes_of_groups_have_as_many_bits_as_a_tree_has_levels() -> None:
    """With all ranks, keys and places that 2^17 items have, half of them in one group."""
    n = 1 << 17
    group = np.where(np.arange(n) % 2 == 0, -1, np.arange(n)).astype(np.int32)
    low, high = boxes("plain", n)
    tree = Tree(low, high, group)
    codes = tree.keys.numpy()
    assert (np.diff(codes.astype(np.int64)) > 0).all() and 2**59 <= codes[-1] < 2**60
    assert (np.diff(tree.ranks.numpy()) >= 0).all()
    table = tree.roots.numpy()
    assert table[0, 0] == n // 2 + 1
    assert sorted(items_below(tree, table[1, 1])) == list(range(0, n, 2))


def narrow_moments(tree: Tree, corners: np.ndarray, node: int, side: int) -> np.ndarray | None:
    """A child's rows by sums over its faces, around the centre that the tree has; none of a child without faces."""
    word = int(tree.words.numpy()[node, 12 + side])
    order = tree.order.numpy()
    if word & LEAF_BIT:
        first = word & 0x0FFFFFFF
        faces = order[first : first + ((word >> 28) & 7) + 1]
    else:
        faces = np.array(items_below(tree, word) if word else [], int)
    c = corners[faces].astype(np.float64)
    c = c[np.isfinite(c).all((1, 2))]
    if not len(c):
        return None
    normal = np.cross(c[:, 1] - c[:, 0], c[:, 2] - c[:, 0]) / 2
    area = np.linalg.norm(normal, axis=1)
    middle = (c.min((0, 1)) + c.max((0, 1))) / 2
    centre = (area[:, None] * c.mean(1)).sum(0) / area.sum() if area.sum() > 0 else middle
    d = c - centre.astype(np.float32)
    mean = d.mean(1)
    products = (np.einsum("fci,fcj->fij", d, d) + 9 * mean[:, :, None] * mean[:, None, :]) / 12
    second = np.einsum("fi,fjk->ijk", normal, products)
    pairs = second[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    radius = np.linalg.norm(np.maximum(c.max((0, 1)) - centre, centre - c.min((0, 1))))
    return np.concatenate(
        [centre, [radius], normal.sum(0), np.einsum("fi,fj->ij", normal, mean).ravel(), pairs.ravel()]
    )


@pytest.mark.parametrize("grouped", [False, True])
def test_moments(grouped: bool) -> None:
    points, faces = reference.sphere(10, 0.3)
    points = np.concatenate([points, np.full((1, 3), np.nan, np.float32)])
    faces = np.concatenate([faces, [[0, 1, len(points) - 1], [3, 3, 3]]]).astype(np.int32)
    group = (np.arange(len(faces)) // 7 % 60).astype(np.int32) if grouped else None
    given = wp.array(points, dtype=wp.vec3), wp.array(faces.ravel(), dtype=int)
    corners = points[faces]
    low, high = corners.min(1), corners.max(1)
    tree = Tree(low, high, group)
    check(tree, low, high)
    for move in (0.0, 0.5):
        moved = points + np.float32(move) * points[:, [1, 2, 0]] ** 2
        corners = moved[faces]
        given[0].assign(moved)
        tree.refit(corners.min(1), corners.max(1))
        boxes_by_boxes = tree.words.numpy().copy()
        tree.refit(-corners.max(1), -corners.min(1))
        tree.refit_faces(*given)
        assert (tree.words.numpy() == boxes_by_boxes).all(), "boxes of faces come from their corners"
        got = tree.moments(*given)
        for node in range(tree.words.numpy()[0, 15]):
            for side in range(2):
                want = narrow_moments(tree, corners, node, side)
                if want is None:
                    assert (got[node, :, side] == 0).all()
                else:
                    column, size = got[node, :, side], want[3]
                    scale = np.array([1] * 4 + [size**2] * 3 + [size**3] * 9 + [size**4] * 18)
                    assert (abs(column - want) <= 2e-6 * scale).all()
                    assert column[3] >= want[3] * (1 - 1e-6)


def test_faces() -> None:
    generator = np.random.default_rng(1)
    points = generator.random((50, 3)).astype(np.float32)
    faces = generator.integers(0, 50, (40, 3)).astype(np.int32)
    points[7] = np.nan
    faces[9] = [1, 2, 50]
    faces[4] = [-1, 2, 3]
    lowers, uppers = wp.empty(40, dtype=wp.vec3), wp.empty(40, dtype=wp.vec3)
    bad = wp.array([2**31 - 1], dtype=int)
    given = [wp.array(points, dtype=wp.vec3), wp.array(faces.ravel(), dtype=int)]
    wp.launch(kernels.face_boxes, dim=40, inputs=[*given, lowers, uppers, bad])
    assert bad.numpy()[0] == 4
    fine = [(0 <= f).all() and (f < 50).all() and 7 not in f for f in faces]
    for k in range(40):
        if fine[k]:
            np.testing.assert_array_equal(lowers.numpy()[k], points[faces[k]].min(0))
            np.testing.assert_array_equal(uppers.numpy()[k], points[faces[k]].max(0))
        else:
            assert (lowers.numpy()[k] == np.inf).all() and (uppers.numpy()[k] == -np.inf).all()
    order = wp.array(np.arange(40)[::-1].copy(), dtype=int)
    words = wp.zeros((40, 12), dtype=int)
    floats = wp.array(ptr=words.ptr, dtype=float, shape=(40, 12), device=words.device)
    rows = wp.array(ptr=words.ptr, dtype=wp.vec4, shape=(120,), device=words.device)
    wp.launch(kernels.fill_faces, dim=40, inputs=[*given, order, rows])
    for k in range(40):
        f = 39 - k
        assert words.numpy()[k, 3] == f
        corners = floats.numpy()[k].reshape(3, 4)[:, :3]
        np.testing.assert_array_equal(corners, points[faces[f]] if fine[f] else np.full((3, 3), np.nan))
    lengths = wp.zeros((2, 40), dtype=wp.float64)
    wp.launch(kernels.edge_lengths, dim=40, inputs=[*given, lengths])
    total = sum(
        np.linalg.norm(points[faces[k]].astype(float) - np.roll(points[faces[k]].astype(float), -1, 0), axis=1).sum()
        for k in range(40)
        if fine[k]
    )
    np.testing.assert_allclose(lengths.numpy()[0].sum(), total, rtol=1e-12)
    assert lengths.numpy()[1].sum() == 3 * sum(fine)
    again = wp.zeros(120, dtype=wp.vec4)
    edges, mean = wp.zeros(2, dtype=wp.float64), wp.zeros(1, dtype=float)
    wp.launch(kernels.fill_and_measure_faces, dim=40, inputs=[*given, order, again, edges])
    assert again.numpy().tobytes() == rows.numpy().tobytes()
    np.testing.assert_allclose(edges.numpy(), [total, 3 * sum(fine)], rtol=1e-12)
    wp.launch(kernels.set_mean_edge, dim=1, inputs=[edges, mean])
    np.testing.assert_allclose(mean.numpy()[0], total / (3 * sum(fine)), rtol=2.0**-12)
    assert mean.numpy().view(np.uint32)[0] % 4096 == 0
    for sums, want in ((np.zeros(2), 0.0), (np.array([1e300, 1.0]), np.inf)):
        wp.launch(kernels.set_mean_edge, dim=1, inputs=[wp.array(sums, dtype=wp.float64), mean])
        assert mean.numpy()[0] == want


def test_fences_under_a_tape():
    """What a recording asks of a kernel, it asks of one with fences too, which have no operands."""
    lowers = np.random.default_rng(5).uniform(size=(40, 3)).astype(np.float32)
    with wp.Tape():
        tree = Tree(lowers, lowers + 0.1)
    x = wp.zeros(4, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.copy(x, wp.ones(4, dtype=float))
        again = Tree(lowers, lowers + 0.1)
    assert np.array_equal(tree.words.numpy(), again.words.numpy()) and tape is not None
