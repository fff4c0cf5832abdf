"""`wp.HashGrid`: points sorted into the cells of a table, so that kernels find neighbours; kernels reach it by `.id`.

What kernels ask of it is in src/stdlib; tables are built in C++ (src/geometry), on the CPU and on CUDA devices. While a graph
is captured on the CPU, builds become part of it; on a CUDA device they are captured like launches.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from warp import _weft
from warp._src.arrays.array import array
from warp._src.devices.device import Device, get_device
from warp._src.values import types

_KINDS = {types.float16: "float16", types.float32: "float32", types.float64: "float64", float: "float32"}
_INT32 = _weft.type_scalar("int32")


class HashGrid:
    """Finds points near a place: `wp.hash_grid_query` in kernels.

    Space is divided into cubes, the cells, as wide as the radius that `build` is given. The grid's dimensions are those of a
    table that space is wrapped around, not of a box: points may lie anywhere. More cells than points are worth little;
    points of different places that share a cell cost time, not correctness, since kernels test distances.

    `dtype` is that of the points' coordinates: `wp.float32` (the default), `wp.float16` or `wp.float64`.
    """

    def __init__(self, dim_x: int, dim_y: int, dim_z: int, device: Any = None, dtype: Any = None) -> None:
        try:
            dims = [operator.index(n) for n in (dim_x, dim_y, dim_z)]
        except TypeError:
            given = ", ".join(repr(n) for n in (dim_x, dim_y, dim_z))
            raise TypeError(f"HashGrid dimensions must be integers, not {given}") from None
        shape = f"{dims[0]} x {dims[1]} x {dims[2]}"
        if min(dims) < 1:
            raise RuntimeError(f"HashGrid dimensions must be 1 or more, not {shape}")
        if math.prod(dims) >= 2**31:
            raise RuntimeError(f"HashGrid cell count exceeds supported limit: {shape} are 2**31 cells or more")
        kind = _KINDS.get(types.float32 if dtype is None else dtype)
        if kind is None:
            raise TypeError(f"the dtype of a HashGrid is wp.float16, wp.float32 or wp.float64, not {dtype!r}")
        self.device: Device = get_device(device)
        """Where the grid lives; points must lie there, too."""
        self.dtype = getattr(types, kind)
        """The type of the points' coordinates."""
        self._point = _weft.type_vec(_weft.type_scalar(kind), 3)
        self._grid = _weft.HashGrid(*dims, _weft.type_scalar(kind), self.device.ordinal)

    @property
    def id(self) -> int:
        """The number by which kernels know the grid: pass it as uint64. The grid itself may be passed as well."""
        return self._grid.id

    def __index__(self) -> int:
        return self._grid.id

    def build(self, points: array, radius: float, groups: array | None = None) -> None:
        """Sorts points into cells; call it again when they have moved. Nothing of the arrays is kept.

        Args:
            points: vectors of three numbers of the grid's `dtype`, in an array of any shape.
            radius: the width of a cell, above 0. Queries are fast for distances up to about this.
            groups: int32, one a point: queries may then ask for the points of one group alone.
        """
        self._check(points, groups)
        width = float(radius)
        if not width > 0.0:
            raise ValueError(f"the radius of a HashGrid must be above 0, not {radius}")
        if self.device.is_cpu and _weft.host_capturing():
            _weft.host_record_call(lambda: self._grid.build(points, width, groups), [])
        else:
            self._grid.build(points, width, groups)

    def reserve(self, num_points: int, with_groups: bool = False) -> None:
        """Takes memory for builds of so many points, so that these need not. Memory grows with builds and is kept."""
        if num_points < 0 or num_points >= 2**31:
            raise ValueError(f"a HashGrid holds 0 to {2**31 - 1} points, not {num_points}")
        self._grid.reserve(int(num_points), bool(with_groups))

    def _check(self, points: Any, groups: Any) -> None:
        wanted = f"an array of vectors of three {self.dtype.__name__}"
        if not isinstance(points, array) or not points._valid:
            raise TypeError(f"the points of this HashGrid are {wanted}, not {type(points).__name__}")
        if points._element != self._point:
            raise TypeError(f"the points of this HashGrid are {wanted}, not of {points.dtype.__name__}")
        self._check_device(points, "points")
        if groups is None:
            return
        if not isinstance(groups, array) or not groups._valid or groups._element != _INT32:
            given = groups.dtype.__name__ if isinstance(groups, array) else type(groups).__name__
            raise TypeError(f"the groups of a HashGrid are an array of int32, not {given}")
        self._check_device(groups, "groups")
        if groups.size != points.size:
            raise RuntimeError(f"HashGrid groups has {groups.size} elements for {points.size} points")

    def _check_device(self, one: array, what: str) -> None:
        if one.device != self.device:
            raise RuntimeError(f"the {what} of a HashGrid must live on its device, {self.device}, not on {one.device}")
