"""What the surface of a field must be, by plain Python and NumPy, for the tests of marching cubes; and what is asked of meshes.

The reference looks at one square of the grid after the other: which of its edges are crossed and how lines join them. It knows
nothing of cases, of orientations or of triangles. An edge of the grid is (i, j, k, axis), the node it begins at first.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

Edge = tuple  # (i, j, k, axis)


def crossings(field: np.ndarray, threshold: float) -> dict[Edge, np.ndarray]:
    """Where the surface meets the grid's edges, in float64, in units of the grid."""
    found = {}
    for axis in range(3):
        low = np.moveaxis(field, axis, 0)[:-1].astype(np.float64)
        high = np.moveaxis(field, axis, 0)[1:].astype(np.float64)
        crossed = (low < threshold) != (high < threshold)
        at = np.moveaxis((threshold - low) / np.where(crossed, high - low, 1.0), 0, axis)
        for place in np.argwhere(np.moveaxis(crossed, 0, axis)):
            point = place.astype(np.float64)
            point[axis] += at[tuple(place)]
            found[(*place.tolist(), axis)] = point
    return found


def _square_lines(corners: list[tuple], inside: list[bool]) -> list[frozenset]:
    """The lines on a square of the grid, given its corners one after the other."""
    edges = []
    for a, b in ((0, 1), (1, 2), (2, 3), (3, 0)):
        low, high = sorted((corners[a], corners[b]))
        edges.append((*low, next(x for x in range(3) if low[x] != high[x])))
    if sum(inside) in (0, 4):
        return []
    if sum(inside) == 2 and inside[0] == inside[2]:  # a line around each of the two outside
        outside = [c for c in range(4) if not inside[c]]
        return [frozenset((edges[c - 1], edges[c])) for c in outside]
    return [frozenset(edges[c] for c in range(4) if inside[c] != inside[(c + 1) % 4])]


def cell_lines(field: np.ndarray, threshold: float) -> dict[tuple, set[frozenset]]:
    """For each cell with a piece of the surface, the lines on its six sides."""
    found = {}
    below = field < threshold
    for cell in np.argwhere(_mixed(below)).tolist():
        lines = set()
        for axis in range(3):
            u, v = (x for x in range(3) if x != axis)
            for side in (0, 1):
                corners = []
                for a, b in ((0, 0), (1, 0), (1, 1), (0, 1)):
                    node = list(cell)
                    node[axis] += side
                    node[u] += a
                    node[v] += b
                    corners.append(tuple(node))
                lines.update(_square_lines(corners, [bool(below[c]) for c in corners]))
        found[tuple(cell)] = lines
    return found


def _mixed(below: np.ndarray) -> np.ndarray:
    """Which cells have corners of both kinds."""
    count = below.astype(int)
    for axis in range(3):
        count = np.take(count, range(count.shape[axis] - 1), axis) + np.take(count, range(1, count.shape[axis]), axis)
    return (count > 0) & (count < 8)


def edges_of(points: np.ndarray) -> list[Edge]:
    """The grid's edges that vertices lie on, none of them on a node."""
    low = np.floor(points).astype(int)
    axis = np.argmax(points != low, axis=1)
    assert ((points != low).sum(axis=1) == 1).all()
    return [(*place, a) for place, a in zip(low.tolist(), axis.tolist())]


def lines_of_cells(triangles: np.ndarray, edges: list[Edge]) -> dict[tuple, set[frozenset]]:
    """A mesh's triangles by the cell they lie in: the sides that only one triangle of the cell has."""
    sides: dict[tuple, Counter] = {}
    for corners in triangles.tolist():
        common = None
        for corner in corners:
            *node, axis = edges[corner]
            around = [(x,) if a == axis else (x - 1, x) for a, x in enumerate(node)]
            cells = {(i, j, k) for i in around[0] for j in around[1] for k in around[2]}
            common = cells if common is None else common & cells
        assert common is not None and len(common) == 1, "a triangle lies in one cell"
        count = sides.setdefault(common.pop(), Counter())
        for a, b in ((0, 1), (1, 2), (2, 0)):
            count[frozenset((edges[corners[a]], edges[corners[b]]))] += 1
    return {cell: {side for side, n in count.items() if n == 1} for cell, count in sides.items()}


# ---- what is asked of any mesh -------------------------------------------------------------------------------------------


def is_closed(triangles: np.ndarray) -> bool:
    """Whether each side of a triangle is the side of exactly one other, which goes along it the other way."""
    directed = Counter((t[a], t[b]) for t in triangles.tolist() for a, b in ((0, 1), (1, 2), (2, 0)))
    return all(n == 1 and directed[(b, a)] == 1 for (a, b), n in list(directed.items()))


def is_manifold(triangles: np.ndarray) -> bool:
    """Whether the triangles around each vertex of a closed mesh form one ring."""
    following: dict[int, dict[int, int]] = {}
    for t in triangles.tolist():
        for k in range(3):
            following.setdefault(t[k], {})[t[(k + 1) % 3]] = t[(k + 2) % 3]
    for ring in following.values():
        start = at = next(iter(ring))
        while at in ring:
            at = ring.pop(at)
        if ring or at != start:
            return False
    return True


def euler(triangles: np.ndarray) -> int:
    """Vertices - sides + triangles: 2 for each sphere, 0 for each torus."""
    sides = {frozenset((t[a], t[b])) for t in triangles.tolist() for a, b in ((0, 1), (1, 2), (2, 0))}
    return len(np.unique(triangles)) - len(sides) + len(triangles)


def volume(points: np.ndarray, triangles: np.ndarray) -> float:
    """What a closed mesh contains; negative if it is inside out."""
    a, b, c = (points[triangles[:, k]].astype(np.float64) for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def parts(pairs: list, members: set) -> int:
    """Of how many parts a graph is."""
    parent = {m: m for m in members}

    def root(x):
        while parent[x] != x:
            x = parent[x]
        return x

    for a, b in pairs:
        parent[root(a)] = root(b)
    return sum(root(m) == m for m in members)
