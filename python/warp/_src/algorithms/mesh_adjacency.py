"""`wp.utils.MeshAdjacency`: the edges of a triangle mesh, and the faces on both sides of each."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

import numpy as np

from warp import _weft

__all__ = ["MeshAdjacency"]


class MeshEdge:
    """An edge from vertex `v0` to `v1`, as the first face has it: the vertices opposite of it, `o0` and `o1`, in the faces
    `f0` and `f1`; -1 where there is no second face."""

    __slots__ = ("v0", "v1", "o0", "o1", "f0", "f1")

    def __init__(self, v0: int, v1: int, o0: int, o1: int, f0: int, f1: int):
        self.v0 = v0
        self.v1 = v1
        self.o0 = o0
        self.o1 = o1
        self.f0 = f0
        self.f1 = f1

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)}" for name in self.__slots__)
        return f"MeshEdge({values})"


class MeshAdjacency:
    """The edges of a mesh.

    Args:
        indices: triangles: three vertices for each, in rows or flat; a list, a NumPy array or a wp.array.
        num_tris: how many of them count.

    `edges` maps the two vertices of an edge, the lower one first, to the edge, in the order in which triangles name them.
    Each has two faces at most: for a further one a line is printed, and it is left out there.
    """

    def __init__(self, indices: Any, num_tris: int):
        if isinstance(indices, _weft.Array):
            indices = indices.numpy()  # type: ignore[attr-defined]
        corners = np.asarray(indices, dtype=np.int64).reshape(-1, 3)
        if not 0 <= num_tris <= len(corners):
            raise ValueError(f"there are {len(corners)} triangles, not {num_tris}")
        self.edges: dict[tuple[int, int], MeshEdge] = _edges_of(corners[:num_tris])

    def add_edge(self, i0: int, i1: int, o: int, f: int) -> None:
        """Adds what one face says of one of its edges.

        Args:
            i0: the vertex where the edge begins, as the face goes round.
            i1: the vertex where it ends.
            o: the vertex opposite of it.
            f: the face.
        """
        key = (min(i0, i1), max(i0, i1))
        edge = self.edges.get(key)
        if edge is None:
            self.edges[key] = MeshEdge(i0, i1, o, -1, f, -1)
        elif edge.f1 == -1:
            edge.o1, edge.f1 = o, f
        else:
            print("Detected non-manifold edge")


def _edges_of(corners: np.ndarray) -> dict[tuple[int, int], MeshEdge]:
    if not len(corners):
        return {}
    first = corners.reshape(-1)
    second, opposite = corners[:, [1, 2, 0]].reshape(-1), corners[:, [2, 0, 1]].reshape(-1)
    low, high = np.minimum(first, second), np.maximum(first, second)
    # All that name one edge side by side, in the order of the triangles.
    order = np.lexsort((high, low))
    changes = np.flatnonzero((np.diff(low[order]) != 0) | (np.diff(high[order]) != 0)) + 1
    starts = np.concatenate(([0], changes))
    lengths = np.diff(np.concatenate((starts, [len(order)])))
    for _ in range(int(np.maximum(lengths - 2, 0).sum())):
        print("Detected non-manifold edge")
    named = order[starts]
    again = np.where(lengths > 1, order[np.minimum(starts + 1, len(order) - 1)], -1)
    in_turn = np.argsort(named)
    named, again = named[in_turn], again[in_turn]
    columns = (
        first[named],
        second[named],
        opposite[named],
        np.where(again < 0, -1, opposite[again]),
        named // 3,
        np.where(again < 0, -1, again // 3),
    )
    keys = zip(low[named].tolist(), high[named].tolist())
    with _no_collection():
        return dict(zip(keys, map(MeshEdge, *(column.tolist() for column in columns))))


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """While it lasts, nobody looks for garbage among millions of new objects, of which none is: that takes half the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
