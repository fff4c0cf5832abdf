"""The kernels by which GPUs build and refit trees (src/driver/kernels), launched as driver/gpu_trees.cpp does, on whatever
device there is, and what a tree must be."""

from __future__ import annotations

import importlib.util
import pathlib
import tempfile

import numpy as np
import warp as wp

SOURCES = pathlib.Path(__file__).parents[2] / "src" / "driver" / "kernels"
LEAF_BIT = 0x80000000


FOLDER = tempfile.TemporaryDirectory()


def load_kernels() -> object:
    """All files as one program, like the driver's."""
    names = ("tree_items.py", "tree.py", "tree_groups.py", "tree_moments.py", "tree_tables.py")
    text = "".join((SOURCES / name).read_text() for name in names)
    path = pathlib.Path(FOLDER.name) / "weft_tree_kernels.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("weft_tree_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


kernels = load_kernels()


class Tree:
    """What driver/gpu_trees.cpp does, launch by launch."""

    def __init__(self, lowers: np.ndarray, uppers: np.ndarray, groups: np.ndarray | None = None) -> None:
        n = self.n = len(lowers)
        self.lowers, self.uppers = wp.array(lowers, dtype=wp.vec3), wp.array(uppers, dtype=wp.vec3)
        self.groups = None if groups is None else wp.array(groups, dtype=int)
        self.roots = None if groups is None else wp.full(n + 1, wp.vec2i(-9, -9), dtype=wp.vec2i)
        self.sort()
        boxes = [self.lowers, self.uppers]
        if n == 1:
            rows = self.take_nodes(1)
            wp.launch(kernels.lone_item, dim=1, inputs=[*boxes, rows])
            if groups is not None:
                wp.launch(kernels.lone_group, dim=1, inputs=[self.groups, self.roots])
            return
        slots = [wp.empty(4 * (n - 1), dtype=wp.vec4), wp.empty(2 * (n - 1), dtype=wp.vec2i)]
        parents = wp.empty(n - 1, dtype=int)
        placed = wp.empty(n, dtype=int)
        total = wp.full(1, -7, dtype=int)
        climbs = [self.order, *boxes, wp.full(n - 1, -1, dtype=int), *slots, parents, total]
        if groups is None:
            wp.launch(kernels.climb, dim=n, inputs=[self.keys, *climbs])
        else:
            wp.launch(kernels.climb_in_groups, dim=n, inputs=[self.keys, self.ranks, *climbs])
        lays_out = [*slots, parents, self.order, placed, self.take_nodes(int(total.numpy()[0]))]
        if groups is None:
            wp.launch(kernels.lay_out, dim=n - 1, inputs=lays_out)
        else:
            wp.launch(kernels.lay_out_groups, dim=n - 1, inputs=[*lays_out, self.ranks, self.groups, self.roots])
        self.order = placed

    def take_nodes(self, nodes: int) -> wp.array:
        """Memory for so many and no more; gives it as rows."""
        self.words = wp.full((nodes, 16), wp.uint32(0xABABABAB), dtype=wp.uint32)
        self.planes = wp.array(ptr=self.words.ptr, dtype=float, shape=(nodes, 16), device=self.words.device)
        return wp.array(ptr=self.words.ptr, dtype=wp.vec4, shape=(4 * nodes,), device=self.words.device)

    def sort(self) -> None:
        n = self.n
        bounds = wp.array([2**31 - 1] * 3 + [-(2**31)] * 3, dtype=int)
        threads = min(n, 7)
        wp.launch(kernels.extent, dim=threads, inputs=[self.lowers, self.uppers, threads, bounds])
        keys = wp.empty(2 * n, dtype=wp.uint32 if self.groups is None else wp.uint64)
        order = wp.empty(2 * n, dtype=int)
        given = [self.lowers, self.uppers, bounds]
        if self.groups is None:
            wp.launch(kernels.morton_keys, dim=n, inputs=[*given, keys[:n], order[:n]])
        else:
            wp.launch(kernels.group_keys, dim=n, inputs=[*given, self.groups, keys[:n], order[:n]])
        wp.utils.radix_sort_pairs(keys, order, n)
        self.keys, self.order = keys[:n].contiguous(), order[:n].contiguous()
        if self.groups is None:
            return
        self.ranks = wp.empty(n, dtype=int)
        wp.launch(kernels.group_borders, dim=n, inputs=[self.keys, self.ranks])
        wp.utils.array_scan(self.ranks, self.ranks)
        wp.launch(kernels.group_codes, dim=n, inputs=[self.keys, self.ranks])

    def moments(self, points: wp.array, indices: wp.array) -> np.ndarray:
        """Fills leaves with faces; gives moments: nodes, rows, sides."""
        nodes = len(self.words)
        leaves = wp.zeros(3 * self.n, dtype=wp.vec4)
        wp.launch(kernels.fill_faces, dim=self.n, inputs=[points, indices, self.order, leaves])
        totals = wp.full((nodes, 37), wp.float64(np.nan), dtype=wp.float64)
        out = wp.full((nodes, 68), np.nan, dtype=float)
        given = [self.words, self.planes, leaves, wp.zeros(nodes, dtype=int), totals, out]
        wp.launch(kernels.gather_moments, dim=nodes, inputs=given)
        return out.numpy().reshape(nodes, 34, 2)

    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What rays and closest points read: planes of nodes of four, the words of all that, and those of pairs on a grid."""
        nodes, device = len(self.words), self.words.device
        fours = wp.full(8 * nodes, wp.vec4(np.nan), dtype=wp.vec4)
        pairs = wp.full(2 + 2 * nodes, wp.vec4ui(7), dtype=wp.vec4ui)
        rows = wp.array(ptr=self.words.ptr, dtype=wp.vec4, shape=(4 * nodes,), device=device)
        wp.launch(kernels.make_tables, dim=nodes, inputs=[rows, fours, pairs])
        fours = fours.numpy().reshape(nodes, 32)
        return fours[:, :24].reshape(nodes, 6, 4), fours.view(np.uint32), pairs.numpy().reshape(-1, 8)

    def refit(self, lowers: np.ndarray, uppers: np.ndarray) -> None:
        self.lowers, self.uppers = wp.array(lowers, dtype=wp.vec3), wp.array(uppers, dtype=wp.vec3)
        leaves = wp.zeros(2 * self.n, dtype=wp.vec4)
        wp.launch(kernels.fill_boxes, dim=self.n, inputs=[self.lowers, self.uppers, self.order, leaves])
        before = leaves.numpy().tobytes()
        wp.launch(kernels.refill_boxes, dim=self.n, inputs=[self.lowers, self.uppers, leaves])
        assert leaves.numpy().tobytes() == before
        self.refit_by(leaves, 2)

    def refit_faces(self, points: wp.array, indices: wp.array) -> None:
        """From leaves that hold faces."""
        leaves = wp.zeros(3 * self.n, dtype=wp.vec4)
        wp.launch(kernels.fill_faces, dim=self.n, inputs=[points, indices, self.order, leaves])
        before = leaves.numpy().tobytes()
        edges = wp.zeros(2, dtype=wp.float64)
        wp.launch(kernels.refill_faces, dim=self.n, inputs=[points, indices, leaves, edges])
        assert leaves.numpy().tobytes() == before
        self.refit_by(leaves, 3)

    def refit_by(self, leaves: wp.array, each: int) -> None:
        nodes = len(self.words)
        given = [leaves, each, self.words, wp.zeros(nodes, dtype=int), self.planes]
        wp.launch(kernels.refit_nodes, dim=nodes, inputs=given)


def check(tree: Tree, lowers: np.ndarray, uppers: np.ndarray) -> int:
    """Walks the tree: order, links and boxes; every item once. Gives the depth."""
    words, planes, order = tree.words.numpy(), tree.planes.numpy(), tree.order.numpy()
    with np.errstate(invalid="ignore"):
        fine = np.isfinite(lowers).all(1) & np.isfinite(uppers).all(1) & (lowers <= uppers).all(1)
    low = np.where(fine[:, None], lowers, np.float32(np.inf))
    high = np.where(fine[:, None], uppers, np.float32(-np.inf))
    seen: list[int] = []
    lone: set[int] = set()
    if tree.groups is not None:
        lone = check_groups(tree)
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
            box = planes[node, side:6:2], planes[node, 6 + side : 12 : 2]
            if word == 0:
                assert side == 1 and (tree.n == 1 or node in lone)
                assert (box[0] == np.inf).all() and (box[1] == -np.inf).all()
                continue
            if word & LEAF_BIT:
                first, size = word & 0x0FFFFFFF, ((word >> 28) & 7) + 1
                items = order[first : first + size]
                assert 1 <= size <= 4
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
    assert words[0, 15] == count == len(words), "as many nodes as there is room for"
    assert sorted(seen) == list(range(tree.n))
    return deepest


def items_below(tree: Tree, node: int) -> list[int]:
    """In the leaves of a node's subtree."""
    words, order = tree.words.numpy(), tree.order.numpy()
    out: list[int] = []
    for word in words[node : words[node, 15], 12:14].ravel().tolist():
        if word & LEAF_BIT:
            first = word & 0x0FFFFFFF
            out += order[first : first + ((word >> 28) & 7) + 1].tolist()
    return out


def check_groups(tree: Tree) -> set[int]:
    """The table: each group once, rising, with a root that has all of it and nothing else. Gives the roots of single items."""
    groups, table = tree.groups.numpy(), tree.roots.numpy()
    names = np.unique(groups)
    assert table[0].tolist() == [len(names), 0]
    lone = set()
    for name, (group, root) in zip(names, table[1 : 1 + len(names)]):
        assert group == name
        assert sorted(items_below(tree, root)) == np.flatnonzero(groups == name).tolist()
        if (groups == name).sum() == 1:
            lone.add(int(root))
    return lone


def check_tables(tree: Tree) -> None:
    """Nodes of four have the boxes and words of nodes below, each item once, and nothing that is gone into less than two levels
    down; planes on the grid lie outside of boxes by a step or so, and fit."""
    planes, fours, pairs = tree.tables()
    words, exact = tree.words.numpy(), tree.planes.numpy()
    count = int(words[0, 15])
    level = np.zeros(count, int)
    box_of = {}
    for node in range(count):
        for side in range(2):
            word = int(words[node, 12 + side])
            box_of[word] = np.concatenate([exact[node, side:6:2], exact[node, 6 + side : 12 : 2]])
            if word and not word & LEAF_BIT:
                level[word] = level[node] + 1
    for node in range(count):
        below = []
        for place in range(4):
            word = int(fours[node, 24 + place])
            if word == 0xFFFFFFFF:
                np.testing.assert_array_equal(planes[node, :, place], [np.inf] * 3 + [-np.inf] * 3)
                continue
            np.testing.assert_array_equal(planes[node, :, place], box_of[word])
            if word & LEAF_BIT:
                first = word & 0x0FFFFFFF
                below += tree.order.numpy()[first : first + ((word >> 28) & 7) + 1].tolist()
            else:
                assert level[word] >= level[node] + 2
                below += items_below(tree, word)
        assert sorted(below) == sorted(items_below(tree, node))
    check_grid(words[:count], exact[:count].astype(np.float64), pairs)


def check_grid(words: np.ndarray, exact: np.ndarray, pairs: np.ndarray) -> None:
    head, pairs = pairs[0].view(np.float32).astype(np.float64), pairs[1 : 1 + len(words)]
    offset, inverse = head[:3], head[3]
    step = 1 / inverse
    assert np.frexp(inverse)[0] == 0.5 and head[4] == min(step, 2.0**63)
    lone = words[:, 13] == 0
    np.testing.assert_array_equal(pairs[~lone, 6:], words[~lone, 12:14])
    np.testing.assert_array_equal(pairs[lone, 6:], words[lone][:, [12, 12]])
    exact = exact.copy()
    exact[lone, 1:12:2] = exact[lone, 0:12:2]
    for side in range(2):
        low, high = exact[:, side:6:2], exact[:, 6 + side : 12 : 2]
        spans = pairs[:, 3 * side : 3 * side + 3]
        first, last = (spans & 0xFFFF).astype(np.float64), (spans >> 16).astype(np.float64)
        met = low <= high
        assert (first[~met] == 65535).all() and (last[~met] == 0).all()
        low, high = low * inverse + offset, high * inverse + offset
        assert (low - first)[met].min(initial=1) >= 1 - 2.0**-8 and (low - first)[met].max(initial=1) <= 2 + 2.0**-8
        assert (last - high)[met].min(initial=1) >= 1 - 2.0**-8 and (last - high)[met].max(initial=1) <= 2 + 2.0**-8
