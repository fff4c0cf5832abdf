"""Graph colouring: no two nodes that share an edge get one colour, so that a colour's nodes can be updated in parallel."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from warp._src.algorithms.cpu_fallback import through_host
from warp._src.arrays.array import array
from warp._src.values import types


class GraphColoringAlgorithm(enum.Enum):
    """In which order nodes are coloured: by maximum cardinality search (fewer colours) or by decreasing degree."""

    MCS = 0
    GREEDY = 1


def _edges(edges: array, node_count: int) -> np.ndarray:
    pairs = edges.numpy()
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype != np.int32:
        raise ValueError(f"edges must be an int32 array of shape (n, 2), got {edges.shape}")
    if pairs.size and (pairs.min() < 0 or pairs.max() >= node_count):
        raise ValueError(f"edges name nodes outside 0 to {node_count - 1}")
    return pairs[pairs[:, 0] != pairs[:, 1]]


def _colors(node_colors: array) -> np.ndarray:
    if node_colors.ndim != 1 or not types.types_equal(node_colors.dtype, types.int32):
        raise ValueError("node_colors must be an int32 array of one dimension")
    return node_colors.numpy()


def _neighbors(pairs: np.ndarray, node_count: int) -> list[list[int]]:
    both = np.concatenate((pairs, pairs[:, ::-1])) if len(pairs) else np.empty((0, 2), np.int32)
    both = np.unique(both, axis=0)
    ends = np.searchsorted(both[:, 0], np.arange(1, node_count))
    return [part.tolist() for part in np.split(both[:, 1], ends)] if node_count else []


def _search_order(neighbors: list[list[int]]) -> list[int]:
    """Always the node with the most neighbours visited already; buckets by that number keep it linear."""
    weight = [0] * len(neighbors)
    buckets: list[list[int]] = [list(range(len(neighbors) - 1, -1, -1))]
    visited = [False] * len(neighbors)
    order: list[int] = []
    top = 0
    while len(order) < len(neighbors):
        while not buckets[top]:
            top -= 1
        node = buckets[top].pop()
        if visited[node] or weight[node] != top:
            continue
        visited[node] = True
        order.append(node)
        for other in neighbors[node]:
            if not visited[other]:
                weight[other] += 1
                if weight[other] == len(buckets):
                    buckets.append([])
                buckets[weight[other]].append(other)
                top = max(top, weight[other])
    return order


@through_host("node_colors", by="graph_coloring_assign")
def graph_coloring_assign(
    edges: array, node_colors: array, algorithm: GraphColoringAlgorithm = GraphColoringAlgorithm.MCS
) -> int:
    """Colours a graph and returns how many colours it took.

    Args:
        edges: int32 of shape (n, 2).
        node_colors: int32, one per node, written.
        algorithm: the order of nodes.
    """
    colors = _colors(node_colors)
    neighbors = _neighbors(_edges(edges, len(colors)), len(colors))
    if algorithm is GraphColoringAlgorithm.MCS:
        order = _search_order(neighbors)
    else:
        order = sorted(range(len(neighbors)), key=lambda node: -len(neighbors[node]))
    chosen = [-1] * len(neighbors)
    for node in order:
        taken = {chosen[other] for other in neighbors[node]}
        color = 0
        while color in taken:
            color += 1
        chosen[node] = color
    colors[:] = chosen
    return max(chosen, default=-1) + 1


@through_host("node_colors", by="graph_coloring_balance")
def graph_coloring_balance(
    edges: array,
    node_colors: array,
    color_count: int,
    target_max_min_ratio: float,
    *,
    max_iterations: int | None = None,
) -> float:
    """Moves nodes from the largest colours to smaller ones and returns the ratio of the largest to the smallest.

    Args:
        edges, node_colors: of a coloured graph.
        color_count: how many colours there are.
        target_max_min_ratio: stops when the ratio is at most this.
        max_iterations: stops after so many moves.
    """
    colors = _colors(node_colors)
    if color_count < 1 or len(colors) == 0:
        return 1.0
    neighbors = _neighbors(_edges(edges, len(colors)), len(colors))
    chosen = colors.tolist()
    if min(chosen) < 0 or max(chosen) >= color_count:
        raise ValueError(f"node_colors lie outside 0 to {color_count - 1}")
    groups: list[set[int]] = [set() for _ in range(color_count)]
    for node, color in enumerate(chosen):
        groups[color].add(node)
    moves = len(colors) * color_count if max_iterations is None else max_iterations
    for _ in range(moves):
        sizes = [len(group) for group in groups]
        if max(sizes) <= target_max_min_ratio * min(sizes) or not _move(groups, sizes, chosen, neighbors):
            break
    colors[:] = chosen
    smallest = min(len(group) for group in groups)
    return max(len(group) for group in groups) / smallest if smallest else float("inf")


def _move(groups: list[set[int]], sizes: list[int], chosen: list[int], neighbors: list[list[int]]) -> bool:
    """One node from a large colour to one that is smaller by two at least and has no neighbour of it."""
    by_size = sorted(range(len(groups)), key=lambda color: sizes[color])
    for source in reversed(by_size):
        for target in by_size:
            if sizes[target] + 1 >= sizes[source]:
                break
            for node in sorted(groups[source]):
                if all(chosen[other] != target for other in neighbors[node]):
                    groups[source].remove(node)
                    groups[target].add(node)
                    chosen[node] = target
                    return True
    return False


def graph_coloring_get_groups(
    node_colors: array, color_count: int, return_wp_array: bool = True, device: Any = "cpu"
) -> list:
    """The nodes of each colour, as int32 arrays or, without return_wp_array, as NumPy arrays."""
    colors = _colors(node_colors)
    groups = [np.flatnonzero(colors == color).astype(np.int32) for color in range(color_count)]
    if not return_wp_array:
        return groups
    return [array(group, dtype=types.int32, device=device) for group in groups]


__all__ = [
    "GraphColoringAlgorithm",
    "graph_coloring_assign",
    "graph_coloring_balance",
    "graph_coloring_get_groups",
]
