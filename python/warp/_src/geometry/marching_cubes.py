"""`wp.MarchingCubes`: the surface where a field on a grid has a value, as a mesh of triangles."""

from __future__ import annotations

import abc
import itertools
import operator
from typing import Any

import numpy as np

from warp._src.algorithms.array_algorithms import array_scan
from warp._src.arrays.array import array
from warp._src.arrays.array_factories import empty
from warp._src.arrays.listeners import paused
from warp._src.devices.device import DeviceLike, get_device
from warp._src.geometry import cube_cases, surface_kernels
from warp._src.kernels.launching import launch
from warp._src.values import types

__all__ = ["IsoSurfaceBase", "IsoSurfaceMarchingCubes", "MarchingCubes"]

_MOST_IN_INT32 = 2**31 - 1
_PARTS_OF_A_NODE = 3 + 15  # crossings that begin there, and indices of five triangles

_tables: dict[str, tuple[array, array]] = {}  # by device
_numbers = itertools.count(1)


def _tables_on(device: Any) -> tuple[array, array]:
    """The cases, for kernels."""
    found = _tables.get(device.alias)
    if found is None:
        with paused():
            found = tuple(
                array(np.array(table, dtype=np.int32), dtype=types.int32, device=device)
                for table in (cube_cases.CASE_RANGES, cube_cases.TRIANGLE_EDGES)
            )
        _tables[device.alias] = found
    return found


def _count_type(nodes: int) -> str:
    """The type that numbers of crossings and indices fit into, whatever the field."""
    return "int32" if _PARTS_OF_A_NODE * nodes <= _MOST_IN_INT32 else "int64"


def _check_field(field: Any) -> None:
    if not isinstance(field, array):
        raise TypeError(f"Expected 'field' to be a wp.array of float32 with three dimensions, but got {type(field).__name__}")
    if field.ndim != 3:
        raise ValueError(f"Expected a 3D array for 'field', but got an array with shape {field.shape}.")
    if not types.types_equal(field.dtype, types.float32):
        raise TypeError(f"Expected a dtype of wp.float32 for 'field', but got {types.type_repr(field.dtype)}.")
    if min(field.shape) < 2:
        raise ValueError(
            f"Expected 'field' to have at least 2 nodes on each axis, but got an array with shape {field.shape}."
        )


def _corner(given: Any, name: str, otherwise: tuple[float, ...]) -> tuple[float, ...]:
    """A corner of the domain as three numbers."""
    if given is None:
        return otherwise
    try:
        values = tuple(float(x) for x in given)
    except TypeError:
        raise TypeError(f"{name} is three numbers, not {given!r}") from None
    if len(values) != 3:
        raise ValueError(f"{name} is three numbers, not {len(values)}")
    return values


def _surface(field: array, threshold: float, lower: Any, upper: Any) -> tuple[array, array]:
    """The surface of a field that was checked: vertices, and three indices for each triangle."""
    threshold = float(threshold)
    shape = field.shape
    low = _corner(lower, "the lower corner", (0.0, 0.0, 0.0))
    high = _corner(upper, "the upper corner", tuple(float(n - 1) for n in shape))
    device = field.device
    columns = (-(-shape[0] // surface_kernels.COLUMN), shape[1], shape[2])
    number = _count_type(field.size)
    ranges, edges = _tables_on(device)
    with paused():
        inside = empty(columns, dtype=types.uint32, device=device)
        launch(surface_kernels.mark_inside(), dim=columns, inputs=[field, threshold, inside], device=device)
        part = inside.size
        counts = empty(4 * part + 1, dtype=getattr(types, number), device=device)
        counting = [inside, shape[0], ranges, _by_column(counts, columns)]
        launch(surface_kernels.count_parts(number), dim=columns, inputs=counting, device=device)
        array_scan(counts, counts, inclusive=False)
        ends = counts[::part].numpy().tolist()  # the one time that the host waits
        vertex_count, index_count = ends[3], ends[4] - ends[3]
        if vertex_count > _MOST_IN_INT32:
            raise RuntimeError(f"the surface has {vertex_count} vertices, more than int32 indices can name")
        nodes = empty(vertex_count, dtype=types.vec3i, device=device)
        indices = empty(index_count, dtype=types.int32, device=device)
        filling = [inside, shape[0], ranges, edges, counts, ends[3], nodes, indices]
        if vertex_count:
            launch(surface_kernels.fill_parts(number), dim=columns, inputs=filling, device=device)
    vertices = empty(vertex_count, dtype=types.vec3, device=device, requires_grad=field.requires_grad)
    if vertex_count:
        spacing = types.vec3(*((b - a) / (n - 1) for a, b, n in zip(low, high, shape)))
        placing = [field, threshold, nodes, ends[1], ends[2], types.vec3(*low), spacing]
        # On tapes: positions are functions of the field, which edges they lie on is not.
        launch(surface_kernels.place_vertices(), dim=vertex_count, inputs=placing, outputs=[vertices], device=device)
    return vertices, indices


def _by_column(counts: array, columns: tuple[int, ...]) -> array:
    return counts[: counts.size - 1].reshape((4, *columns))


class IsoSurfaceBase(abc.ABC):
    """What extracts surfaces of fields on a grid has in common.

    Args:
        nx, ny, nz: nodes along each axis.
        lower, upper: where the first and the last node lie; without them, at (0, 0, 0) and (nx - 1, ny - 1, nz - 1).
    """

    def __init__(self, nx: int, ny: int, nz: int, *, lower: Any = None, upper: Any = None) -> None:
        self.nx: int
        self.ny: int
        self.nz: int
        self.lower = lower
        self.upper = upper
        self.verts: array = None  # type: ignore[assignment] - as the next one, until there is a surface
        self.indices: array = None  # type: ignore[assignment]
        self._set_size(nx, ny, nz)

    def _set_size(self, nx: int, ny: int, nz: int) -> None:
        size = tuple(operator.index(n) for n in (nx, ny, nz))
        if min(size) < 0:
            raise ValueError(f"a grid of {nx} x {ny} x {nz} nodes can't be")
        self.nx, self.ny, self.nz = size

    def resize(self, nx: int, ny: int, nz: int) -> None:
        """Sets the number of nodes for the fields to come; the surface that was extracted last stays."""
        self._set_size(nx, ny, nz)

    @abc.abstractmethod
    def surface(self, field: array, threshold: float) -> None:
        """Extracts the surface of a field of shape (nx, ny, nz) into `verts` and `indices`."""

    @staticmethod
    @abc.abstractmethod
    def extract(field: array, threshold: float = 0.0, *, lower: Any = None, upper: Any = None) -> tuple[array, array]:
        """The vertices and indices of the surface of a field."""


def _one_of(corner: Any, older: Any, name: str) -> Any:
    """A corner that has two names."""
    if corner is not None and older is not None:
        raise TypeError(f"Cannot specify both `{name}` and `domain_bounds_{name}_corner`.")
    return older if corner is None else corner


class IsoSurfaceMarchingCubes(IsoSurfaceBase):
    """Extracts the surface where a field on a grid of nodes crosses a threshold.

    Args:
        nx, ny, nz: nodes along each axis.
        lower, upper: where the first and the last node lie; without them, at (0, 0, 0) and (nx - 1, ny - 1, nz - 1).
        domain_bounds_lower_corner, domain_bounds_upper_corner: other names of these.

    What is below the threshold is inside; triangles are counter-clockwise seen from outside. Every crossed edge of the grid
    has one vertex, which the triangles around it share, and whatever the field, the surface is a manifold that ends at the
    border of the grid only. Numbers of vertices and triangles are the same in every run and on every device. A node that is
    NaN is outside.

    Vertices are differentiable: a tape that records `surface` carries their gradients back to the field.
    """

    CUBE_CORNER_OFFSETS = cube_cases.CORNERS
    """Where the eight corners of a cell lie."""
    EDGE_TO_CORNERS = cube_cases.EDGES
    """The two corners of each of its twelve edges."""
    CASE_TO_TRI_RANGE = cube_cases.CASE_RANGES
    """Where the triangles of each case begin in TRI_LOCAL_INDICES, and where the last one's end. Bit c of a case is set if
    corner c is inside."""
    TRI_LOCAL_INDICES = cube_cases.TRIANGLE_EDGES
    """The triangles of all cases: three edges each."""

    def __init__(
        self,
        nx: int,
        ny: int,
        nz: int,
        lower: Any = None,
        upper: Any = None,
        *,
        domain_bounds_lower_corner: Any = None,
        domain_bounds_upper_corner: Any = None,
    ) -> None:
        super().__init__(
            nx,
            ny,
            nz,
            lower=_one_of(lower, domain_bounds_lower_corner, "lower"),
            upper=_one_of(upper, domain_bounds_upper_corner, "upper"),
        )

    @property
    def domain_bounds_lower_corner(self) -> Any:
        """Where the first node lies; None for (0, 0, 0)."""
        return self.lower

    @domain_bounds_lower_corner.setter
    def domain_bounds_lower_corner(self, value: Any) -> None:
        self.lower = value

    @property
    def domain_bounds_upper_corner(self) -> Any:
        """Where the last node lies; None for (nx - 1, ny - 1, nz - 1)."""
        return self.upper

    @domain_bounds_upper_corner.setter
    def domain_bounds_upper_corner(self, value: Any) -> None:
        self.upper = value

    def surface(self, field: array, threshold: float) -> None:
        """Extracts the surface of a float32 array of shape (nx, ny, nz): `verts` are its vertices, an array of vec3 on the
        field's device, `indices` its triangles, three int32 each."""
        size = (self.nx, self.ny, self.nz)
        if getattr(field, "shape", size) != size:
            raise ValueError(f"Field shape {field.shape} does not match context grid dimensions {size}.")
        _check_field(field)
        self.verts, self.indices = _surface(field, threshold, self.lower, self.upper)

    @staticmethod
    def extract(field: array, threshold: float = 0.0, *, lower: Any = None, upper: Any = None) -> tuple[array, array]:
        """The vertices and indices of the surface of a field, as `surface` gives them."""
        _check_field(field)
        return _surface(field, threshold, lower, upper)

    @staticmethod
    def extract_surface_marching_cubes(
        field: array,
        threshold: float = 0.0,
        domain_bounds_lower_corner: Any = None,
        domain_bounds_upper_corner: Any = None,
    ) -> tuple[array, array]:
        """The vertices and indices of the surface of a field, as `surface` gives them."""
        _check_field(field)
        return _surface(field, threshold, domain_bounds_lower_corner, domain_bounds_upper_corner)


class MarchingCubes(IsoSurfaceMarchingCubes):
    """Extracts the surface where a field on a grid of nodes crosses a threshold.

    Args:
        nx, ny, nz: nodes along each axis.
        max_verts, max_tris: kept, without effect: there is always room for the whole surface.
        device: where fields lie; without it, anywhere.
        domain_bounds_lower_corner, domain_bounds_upper_corner: where the first and the last node lie; without them, at
            (0, 0, 0) and (nx - 1, ny - 1, nz - 1).
        lower, upper: other names of these.

    What is below the threshold is inside; triangles are counter-clockwise seen from outside. Every crossed edge of the grid
    has one vertex, which the triangles around it share, and whatever the field, the surface is a manifold that ends at the
    border of the grid only. Numbers of vertices and triangles are the same in every run and on every device. A node that is
    NaN is outside.

    Vertices are differentiable: a tape that records `surface` carries their gradients back to the field.
    """

    def __init__(
        self,
        nx: int,
        ny: int,
        nz: int,
        max_verts: int = 0,
        max_tris: int = 0,
        device: DeviceLike = None,
        domain_bounds_lower_corner: Any = None,
        domain_bounds_upper_corner: Any = None,
        *,
        lower: Any = None,
        upper: Any = None,
    ) -> None:
        bounds = {
            "domain_bounds_lower_corner": domain_bounds_lower_corner,
            "domain_bounds_upper_corner": domain_bounds_upper_corner,
        }
        super().__init__(nx, ny, nz, lower, upper, **bounds)
        self.max_verts = max_verts
        self.max_tris = max_tris
        self.device = get_device(device)
        self.id: int = next(_numbers)  # no two have one; nothing in kernels takes it
        self._anywhere = device is None

    def resize(self, nx: int, ny: int, nz: int, max_verts: int = 0, max_tris: int = 0) -> None:
        """Sets the number of nodes for the fields to come; the surface that was extracted last stays."""
        super().resize(nx, ny, nz)
        self.max_verts, self.max_tris = max_verts, max_tris

    def surface(self, field: array, threshold: float) -> None:
        """Extracts the surface of a float32 array of shape (nx, ny, nz): `verts` are its vertices, an array of vec3 on the
        field's device, `indices` its triangles, three int32 each."""
        device = getattr(field, "device", self.device)
        if not self._anywhere and device != self.device:
            raise RuntimeError(f"the field lies on {device}, this MarchingCubes works on {self.device}")
        super().surface(field, threshold)
        self.device = device
