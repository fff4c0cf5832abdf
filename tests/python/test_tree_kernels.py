"""The kernels by which GPUs build and refit trees, run on whatever device there is: structure, boxes, order, refits."""

from __future__ import annotations

import importlib.util
import pathlib
import tempfile

import numpy as np
import pytest
import warp as wp

SOURCES = pathlib.Path(__file__).parents[2] / "src" / "driver" / "kernels"
LEAF_BIT = 0x80000000


FOLDER = tempfile.TemporaryDirectory()


def load_kernels() -> object:
    """Both files as one program, like the driver's."""
    text = "".join((SOURCES / name).read_text() for name in ("tree_items.py", "tree.py"))
    path = pathlib.Path(FOLDER.name) / "weft_tree_kernels.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("weft_tree_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


kernels = load_kernels()


class Tree:
    """What driver/gpu_trees.cpp does, launch by launch."""

    def __init__(self, lowers: np.ndarray, uppers: np.ndarray) -> None:
        n = self.n = len(lowers)
        nodes = max(n - 1, 1)
        self.lowers, self.uppers = wp.array(lowers, dtype=wp.vec3), wp.array(uppers, dtype=wp.vec3)
        bounds = wp.array([2**31 - 1] * 3 + [-(2**31)] * 3, dtype=int)
        threads = min(n, 7)
        wp.launch(kernels.extent, dim=threads, inputs=[self.lowers, self.uppers, threads, bounds])
        keys, order = wp.empty(2 * n, dtype=wp.uint32), wp.empty(2 * n, dtype=int)
        wp.launch(kernels.morton_keys, dim=n, inputs=[self.lowers, self.uppers, bounds, keys[:n], order[:n]])
        wp.utils.radix_sort_pairs(keys, order, n)
        self.keys, self.order = keys[:n].contiguous(), order[:n].contiguous()
        self.words = wp.zeros((nodes, 16), dtype=wp.uint32)
        self.planes = wp.array(ptr=self.words.ptr, dtype=float, shape=(nodes, 16), device=self.words.device)
        self.arrived = wp.full(nodes, -1, dtype=int)
        if n == 1:
            wp.launch(
                kernels.lone_item, dim=1, inputs=[self.order, self.lowers, self.uppers, self.planes, self.words]
            )
            return
        slots = [wp.empty(4 * (n - 1), dtype=wp.vec4), wp.empty(2 * (n - 1), dtype=wp.vec2i)]
        parents = wp.empty(n - 1, dtype=int)
        rows = wp.array(ptr=self.words.ptr, dtype=wp.vec4, shape=(4 * nodes,), device=self.words.device)
        boxes = [self.lowers, self.uppers]
        wp.launch(kernels.climb, dim=n, inputs=[self.keys, self.order, *boxes, self.arrived, *slots, parents])
        placed = wp.empty(n, dtype=int)
        wp.launch(kernels.lay_out, dim=n - 1, inputs=[*slots, parents, self.order, placed, rows])
        self.order = placed

    def refit(self, lowers: np.ndarray, uppers: np.ndarray) -> None:
        self.lowers, self.uppers = wp.array(lowers, dtype=wp.vec3), wp.array(uppers, dtype=wp.vec3)
        self.arrived.zero_()
        boxes = [self.lowers, self.uppers]
        wp.launch(
            kernels.refit_nodes,
            dim=len(self.arrived),
            inputs=[self.order, *boxes, self.words, self.arrived, self.planes],
        )


def check(tree: Tree, lowers: np.ndarray, uppers: np.ndarray) -> int:
    """Walks the tree: order, links and boxes; every item once. Gives the depth."""
    words, planes, order = tree.words.numpy(), tree.planes.numpy(), tree.order.numpy()
    with np.errstate(invalid="ignore"):
        fine = np.isfinite(lowers).all(1) & np.isfinite(uppers).all(1) & (lowers <= uppers).all(1)
    low = np.where(fine[:, None], lowers, np.float32(np.inf))
    high = np.where(fine[:, None], uppers, np.float32(-np.inf))
    seen: list[int] = []
    deepest = 0
    work = [(0, 0xFFFFFFFF, 1)]
    count = 0
    while work:
        node, parent, depth = work.pop()
        assert node == count, "depth-first order"
        count += 1
        deepest = max(deepest, depth)
        assert words[node, 14] == parent
        children = []
        for side in range(2):
            word = int(words[node, 12 + side])
            if word == 0:
                assert tree.n == 1
                continue
            box = planes[node, side:6:2], planes[node, 6 + side : 12 : 2]
            if word & LEAF_BIT:
                first, size = word & 0x0FFFFFFF, ((word >> 28) & 7) + 1
                items = order[first : first + size]
                assert 1 <= size <= 2
                np.testing.assert_array_equal(box[0], low[items].min(0))
                np.testing.assert_array_equal(box[1], high[items].max(0))
                seen += items.tolist()
            else:
                children.append((word, 2 * node + side, depth + 1))
                np.testing.assert_array_equal(box[0], np.minimum(planes[word, 0:6:2], planes[word, 1:6:2]))
                np.testing.assert_array_equal(box[1], np.maximum(planes[word, 6:12:2], planes[word, 7:12:2]))
        work += reversed(children)
        if not children:
            assert words[node, 15] == count
    assert words[0, 15] == count
    assert sorted(seen) == list(range(tree.n))
    return deepest


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
    high = low + generator.random((n, 3)).astype(np.float32) * np.float32(0.01)
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
