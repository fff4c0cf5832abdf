"""The triangles of a cube whose corners lie inside or outside of a surface: all 256 cases, derived when first asked for.

Nothing here is a table that somebody wrote down. The surface crosses the edges with one end inside. On each face of the cube
these crossings are joined in pairs; where a face has two ways (inside corners diagonally opposite), lines always go around
the outside corners, so that inside corners stay joined. That looks at the face alone, hence both cubes at a face draw the
same lines. Every crossing lies on two faces, so the lines form closed loops around the cube, and a loop is filled with
triangles. A filling must not draw a further line between two crossings of one face: the neighbour might draw the same one,
and four triangles would meet there. Whatever the field, the surface is then a closed manifold, but for the grid's border.

Triangles are counter-clockwise seen from outside.
"""

from __future__ import annotations

import functools

CORNERS = tuple((*xy, z) for z in (0, 1) for xy in ((0, 0), (1, 0), (1, 1), (0, 1)))
"""Where the corners lie; corner c counts 2^c in the number of a case if it is inside."""


def _upwards(one: int, other: int) -> tuple[int, int]:
    return (one, other) if CORNERS[one] < CORNERS[other] else (other, one)


EDGES = (
    *(_upwards(ring + k, ring + (k + 1) % 4) for ring in (0, 4) for k in range(4)),
    *((k, k + 4) for k in range(4)),
)
"""The two corners of each edge, in the direction of their axis."""

_EDGE_OF = {frozenset(ends): edge for edge, ends in enumerate(EDGES)}


def _faces() -> list[tuple[int, ...]]:
    """The corners of each face, counter-clockwise seen from outside of the cube."""
    found = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3  # u, v, axis turn to the right, as x, y, z do
        for side in (0, 1):
            ring = ((0, 0), (1, 0), (1, 1), (0, 1)) if side else ((0, 0), (0, 1), (1, 1), (1, 0))
            places = ({axis: side, u: a, v: b} for a, b in ring)
            found.append(tuple(CORNERS.index((p[0], p[1], p[2])) for p in places))
    return found


_FACES = _faces()


def _next_crossing(case: int) -> dict[int, int]:
    """The lines on the six faces: which crossing follows which one. On its face, seen from outside of the cube, a line has
    the outside corners that it goes around to its right."""
    following = {}
    for face in _FACES:
        inside = [bool(case >> corner & 1) for corner in face]
        edges = [_EDGE_OF[frozenset((face[k], face[(k + 1) % 4]))] for k in range(4)]
        for k in range(4):
            if inside[k] and not inside[(k + 1) % 4]:
                end = next(j % 4 for j in range(k + 1, k + 4) if inside[(j + 1) % 4])
                following[edges[end]] = edges[k]
    return following


def _loops(case: int) -> list[list[int]]:
    """The loops of crossed edges around a cube."""
    following = _next_crossing(case)
    loops = []
    while following:
        start = min(following)
        loop, edge = [], start
        while edge in following:
            loop.append(edge)
            edge = following.pop(edge)
        loops.append(loop)
    return loops


def _middle(edge: int) -> tuple[int, ...]:
    """Twice the middle of an edge."""
    return tuple(a + b for a, b in zip(*(CORNERS[c] for c in EDGES[edge])))


@functools.lru_cache(maxsize=None)
def _line_cost(one: int, other: int) -> int | None:
    """The squared length of a line through the cube between two edges; None if it would lie on a face."""
    a, b = _middle(one), _middle(other)
    if any(p == q and p in (0, 2) for p, q in zip(a, b)):
        return None
    return sum((p - q) ** 2 for p, q in zip(a, b))


@functools.lru_cache(maxsize=None)
def _filled(loop: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
    """Triangles of a loop, with lines between them that are short and on no face; of equal ones, the first that is found."""

    @functools.lru_cache(maxsize=None)
    def best(first: int, last: int) -> tuple[int, tuple[tuple[int, int, int], ...]] | None:
        """What lies between the line from loop[first] to loop[last] and the crossings between them: cost and triangles."""
        if last - first < 2:
            return 0, ()
        found = None
        for tip in range(first + 1, last):
            parts = best(first, tip), best(tip, last)
            lines = [
                0 if b - a == 1 else _line_cost(loop[a], loop[b]) for a, b in ((first, tip), (tip, last))
            ]
            if None in parts or None in lines:
                continue
            cost = sum(p[0] for p in parts) + sum(lines)  # type: ignore[index, arg-type]
            if found is None or cost < found[0]:
                found = cost, (*parts[0][1], (loop[first], loop[tip], loop[last]), *parts[1][1])  # type: ignore[index]
        return found

    found = best(0, len(loop) - 1)
    if found is None:  # impossible: the tests fill all of them
        raise AssertionError(f"no triangles fill {loop}")
    return found[1]


def triangles(case: int) -> list[tuple[int, int, int]]:
    """The triangles of a case: for each corner the edge it lies on."""
    return [corners for loop in _loops(case) for corners in _filled(tuple(loop))]


def _tables() -> tuple[tuple[int, ...], tuple[int, ...]]:
    ranges, edges = [0], []
    for case in range(256):
        edges += [edge for corners in triangles(case) for edge in corners]
        ranges.append(len(edges))
    return tuple(ranges), tuple(edges)


CASE_RANGES, TRIANGLE_EDGES = _tables()
"""TRIANGLE_EDGES holds three edges for each triangle of all cases; case c has those from CASE_RANGES[c] to [c + 1]."""
