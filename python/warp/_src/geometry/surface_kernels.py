"""The kernels of marching cubes, for a field on a grid of nodes, on whatever device it lies.

Nodes are taken by columns of 32 along the first axis. One number has a bit for each of them, set if it is inside, and all but
the first and the last kernel work on these bits alone: which edges are crossed is an exclusive or of neighbouring columns,
and which of a column's crossings one is, a count of the bits below it. So the numbers of vertices need no memory of the
grid's size, only where each column's begin. Threads that follow each other take columns that lie side by side, so that lanes
of a CPU and threads of a GPU read what is consecutive in memory.

`starts[what * columns + column]` counts what a column has: crossings of edges along the axes 0, 1, 2, then indices of
triangles; after a scan, where they begin.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from warp._src.kernels.definitions import kernel_from_text

COLUMN = 32
"""Nodes of a column."""

_MARK = """
@wp.kernel(enable_backward=False)
def mark_inside(field: wp.array3d(dtype=float), threshold: float, inside: wp.array3d(dtype=wp.uint32)):
    c, j, k = wp.tid()
    bits = wp.uint32(0)
    for b in range(wp.min(field.shape[0] - 32 * c, 32)):
        # A field that is not a number is not below anything, hence outside.
        bits = bits | (wp.where(field[32 * c + b, j, k] < threshold, wp.uint32(1), wp.uint32(0)) << wp.uint32(b))
    inside[c, j, k] = bits
"""

# What the kernels that count and fill share: of the four columns around a column of cells, each node's bit and, one place
# lower, that of the node behind it.
_CELLS = """
@wp.func
def behind(inside: wp.array3d(dtype=wp.uint32), c: int, j: int, k: int):
    bits = inside[c, j, k] >> wp.uint32(1)
    if c + 1 < inside.shape[0]:
        bits = bits | (inside[c + 1, j, k] << wp.uint32(31))
    return bits


@wp.func
def low_bits(count: int):
    # As many bits as are set, 32 at most.
    return wp.where(count > 31, wp.uint32(0xffffffff), (wp.uint32(1) << wp.uint32(count)) - wp.uint32(1))


@wp.func
def lowest(bits: wp.uint32):
    # The place of the lowest bit that is set.
    return wp.bit_count((bits & (wp.uint32(0) - bits)) - wp.uint32(1))


@wp.func
def bit(bits: wp.uint32, at: int, to: int):
    return int((bits >> wp.uint32(at)) & wp.uint32(1)) << to


@wp.struct
class Cells:
    active: wp.uint32
    n00: wp.uint32
    n10: wp.uint32
    n01: wp.uint32
    n11: wp.uint32
    b00: wp.uint32
    b10: wp.uint32
    b01: wp.uint32
    b11: wp.uint32


@wp.func
def cells_of(inside: wp.array3d(dtype=wp.uint32), c: int, j: int, k: int, along: wp.uint32):
    cells = Cells()
    if j + 1 < inside.shape[1] and k + 1 < inside.shape[2]:
        cells.n00 = inside[c, j, k]
        cells.n10 = inside[c, j + 1, k]
        cells.n01 = inside[c, j, k + 1]
        cells.n11 = inside[c, j + 1, k + 1]
        cells.b00 = behind(inside, c, j, k)
        cells.b10 = behind(inside, c, j + 1, k)
        cells.b01 = behind(inside, c, j, k + 1)
        cells.b11 = behind(inside, c, j + 1, k + 1)
        some = cells.n00 | cells.n10 | cells.n01 | cells.n11 | cells.b00 | cells.b10 | cells.b01 | cells.b11
        all = cells.n00 & cells.n10 & cells.n01 & cells.n11 & cells.b00 & cells.b10 & cells.b01 & cells.b11
        cells.active = some & (~all) & along
    return cells


@wp.func
def case_of(cells: Cells, at: int):
    near = bit(cells.n00, at, 0) | bit(cells.n10, at, 3) | bit(cells.n01, at, 4) | bit(cells.n11, at, 7)
    far = bit(cells.b00, at, 1) | bit(cells.b10, at, 2) | bit(cells.b01, at, 5) | bit(cells.b11, at, 6)
    return near | far
"""

_COUNT = """
@wp.kernel(enable_backward=False)
def count_parts(
    inside: wp.array3d(dtype=wp.uint32),
    nodes: int,
    ranges: wp.array(dtype=int),
    starts: wp.array4d(dtype={number}),
):
    c, j, k = wp.tid()
    along = low_bits(nodes - 1 - 32 * c)
    here = inside[c, j, k]
    starts[0, c, j, k] = {number}(wp.bit_count((here ^ behind(inside, c, j, k)) & along))
    crossed = wp.uint32(0)
    if j + 1 < inside.shape[1]:
        crossed = here ^ inside[c, j + 1, k]
    starts[1, c, j, k] = {number}(wp.bit_count(crossed))
    crossed = wp.uint32(0)
    if k + 1 < inside.shape[2]:
        crossed = here ^ inside[c, j, k + 1]
    starts[2, c, j, k] = {number}(wp.bit_count(crossed))
    cells = cells_of(inside, c, j, k, along)
    active = cells.active
    found = int(0)
    while active != wp.uint32(0):
        case = case_of(cells, lowest(active))
        found += ranges[case + 1] - ranges[case]
        active = active & (active - wp.uint32(1))
    starts[3, c, j, k] = {number}(found)
"""

_FILL = """
@wp.func
def put_nodes(crossed: wp.uint32, first: {number}, i: int, j: int, k: int, nodes: wp.array(dtype=wp.vec3i)):
    rest = crossed
    at = first
    while rest != wp.uint32(0):
        nodes[at] = wp.vec3i(i + lowest(rest), j, k)
        at += {number}(1)
        rest = rest & (rest - wp.uint32(1))


# What differs from column to column goes lane by lane: of lanes, one would wait for the other's cells.
@wp.func(lanewise=True)
def fill_column(
    starts: wp.array(dtype={number}),
    columns: int,
    plane: int,
    row: int,
    column: int,
    cells: Cells,
    ranges: wp.array(dtype=int),
    edges: wp.array(dtype=int),
    first: {number},
    indices: wp.array(dtype=int),
):
    along_1 = columns + column
    along_2 = 2 * columns + column
    first00 = int(starts[column])
    first10 = int(starts[column + row])
    first01 = int(starts[column + 1])
    first11 = int(starts[column + row + 1])
    number = wp.zeros(shape=(12,), dtype=int)
    active = cells.active
    out = first
    while active != wp.uint32(0):
        low = lowest(active)
        # The cell's vertices in the order of its edges: where the column's begin, and how many lie below.
        below = (wp.uint32(1) << wp.uint32(low)) - wp.uint32(1)
        number[0] = first00 + wp.bit_count((cells.n00 ^ cells.b00) & below)
        number[2] = first10 + wp.bit_count((cells.n10 ^ cells.b10) & below)
        number[4] = first01 + wp.bit_count((cells.n01 ^ cells.b01) & below)
        number[6] = first11 + wp.bit_count((cells.n11 ^ cells.b11) & below)
        number[3] = int(starts[along_1]) + wp.bit_count((cells.n00 ^ cells.n10) & below)
        number[7] = int(starts[along_1 + 1]) + wp.bit_count((cells.n01 ^ cells.n11) & below)
        number[8] = int(starts[along_2]) + wp.bit_count((cells.n00 ^ cells.n01) & below)
        number[11] = int(starts[along_2 + row]) + wp.bit_count((cells.n10 ^ cells.n11) & below)
        if low < 31:
            number[1] = number[3] + bit(cells.n00 ^ cells.n10, low, 0)
            number[5] = number[7] + bit(cells.n01 ^ cells.n11, low, 0)
            number[9] = number[8] + bit(cells.n00 ^ cells.n01, low, 0)
            number[10] = number[11] + bit(cells.n10 ^ cells.n11, low, 0)
        else:
            number[1] = int(starts[along_1 + plane])
            number[5] = int(starts[along_1 + plane + 1])
            number[9] = int(starts[along_2 + plane])
            number[10] = int(starts[along_2 + plane + row])
        case = case_of(cells, low)
        for corner in range(ranges[case], ranges[case + 1]):
            indices[out] = number[edges[corner]]
            out += {number}(1)
        active = active & (active - wp.uint32(1))


@wp.kernel(enable_backward=False)
def fill_parts(
    inside: wp.array3d(dtype=wp.uint32),
    count: int,
    ranges: wp.array(dtype=int),
    edges: wp.array(dtype=int),
    starts: wp.array(dtype={number}),
    before: {number},
    nodes: wp.array(dtype=wp.vec3i),
    indices: wp.array(dtype=int),
):
    c, j, k = wp.tid()
    row = inside.shape[2]
    plane = inside.shape[1] * row
    columns = inside.shape[0] * plane
    column = c * plane + j * row + k
    along = low_bits(count - 1 - 32 * c)
    here = inside[c, j, k]
    put_nodes((here ^ behind(inside, c, j, k)) & along, starts[column], 32 * c, j, k, nodes)
    if j + 1 < inside.shape[1]:
        put_nodes(here ^ inside[c, j + 1, k], starts[columns + column], 32 * c, j, k, nodes)
    if k + 1 < inside.shape[2]:
        put_nodes(here ^ inside[c, j, k + 1], starts[2 * columns + column], 32 * c, j, k, nodes)
    cells = cells_of(inside, c, j, k, along)
    if cells.active != wp.uint32(0):
        first = starts[3 * columns + column] - before
        fill_column(starts, columns, plane, row, column, cells, ranges, edges, first, indices)
"""

_PLACE = """
@wp.func
def fraction(here: float, there: float, threshold: float):
    # Where between two nodes a field meets the threshold. Next to an infinite node that is the other one; nothing can be
    # said of a node that is not a number. Only the first case depends on the field.
    at = float(0.5)
    if wp.isfinite(here) and wp.isfinite(there):
        if wp.isfinite(there - here):
            at = (threshold - here) / (there - here)
        else:
            at = (0.5 * threshold - 0.5 * here) / (0.5 * there - 0.5 * here)
    elif wp.isfinite(here) and wp.isinf(there):
        at = float(0.0)
    elif wp.isinf(here) and wp.isfinite(there):
        at = float(1.0)
    return at


@wp.kernel
def place_vertices(
    field: wp.array3d(dtype=float),
    threshold: float,
    nodes: wp.array(dtype=wp.vec3i),
    along_1: int,
    along_2: int,
    lower: wp.vec3,
    spacing: wp.vec3,
    vertices: wp.array(dtype=wp.vec3),
):
    v = wp.tid()
    node = nodes[v]
    step = wp.vec3i(1, 0, 0)
    if v >= along_1:
        step = wp.vec3i(0, 1, 0)
    if v >= along_2:
        step = wp.vec3i(0, 0, 1)
    here = field[node[0], node[1], node[2]]
    there = field[node[0] + step[0], node[1] + step[1], node[2] + step[2]]
    at = fraction(here, there, threshold)
    place = wp.vec3(float(node[0]), float(node[1]), float(node[2]))
    place += at * wp.vec3(float(step[0]), float(step[1]), float(step[2]))
    vertices[v] = lower + wp.cw_mul(place, spacing)
"""


def _made(text: str, name: str) -> Any:
    return kernel_from_text(text, name, {"wp": sys.modules["warp"], "__name__": __name__})


@functools.lru_cache(maxsize=None)
def mark_inside() -> Any:
    """Marks the nodes below the threshold; a thread for each column."""
    return _made(_MARK, "mark_inside")


@functools.lru_cache(maxsize=None)
def count_parts(number: str) -> Any:
    """Counts each column's crossings and indices; `number` is the type of `starts`."""
    return _made((_CELLS + _COUNT).format(number=f"wp.{number}"), "count_parts")


@functools.lru_cache(maxsize=None)
def fill_parts(number: str) -> Any:
    """Writes the node at which each crossed edge begins, and the triangles; a thread for each column."""
    return _made((_CELLS + _FILL).format(number=f"wp.{number}"), "fill_parts")


@functools.lru_cache(maxsize=None)
def place_vertices() -> Any:
    """Writes where the crossings lie, a thread for each: the one step that depends smoothly on the field."""
    return _made(_PLACE, "place_vertices")
