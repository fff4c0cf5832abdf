"""`wp.Mesh` and `wp.Bvh`: triangles and boxes with a tree over them, which kernels reach by `.id`.

Arrays are shared with the program, not copied. What kernels ask of them is in src/stdlib; trees are built in C++
(src/geometry). While a graph is captured on the CPU, refits and rebuilds become part of it.
"""

from __future__ import annotations

import enum
from typing import Any

from warp import _weft
from warp._src.arrays.array import array
from warp._src.devices.device import Device

_VEC3 = _weft.type_vec(_weft.type_scalar("float32"), 3)
_INT32 = _weft.type_scalar("int32")


class BvhConstructor(enum.Enum):
    """How a tree's topology is chosen. None of them changes what queries find."""

    SAH = "sah"
    MEDIAN = "median"
    LBVH = "lbvh"
    CUBQL = "cubql"


def is_cubql_available() -> bool:
    """Whether there is a builder of that name; "cubql" is taken as None, so that programs that ask for it work as well."""
    return False


def _constructor_word(constructor: BvhConstructor | str | None) -> str:
    """The word that C++ knows; "" for what the device likes best."""
    if constructor is None:
        return ""
    if isinstance(constructor, BvhConstructor):
        return constructor.value
    if isinstance(constructor, str) and constructor.lower() in {c.value for c in BvhConstructor}:
        return constructor.lower()
    known = ", ".join(f'"{c.value}"' for c in BvhConstructor)
    raise ValueError(f"unrecognized BVH constructor {constructor!r}: known are {known} and None")


def _leaf_size(leaf_size: int | None) -> int:
    if leaf_size is None:
        return 0
    if leaf_size < 1:
        raise ValueError(f"leaf_size must be greater than or equal to 1, not {leaf_size}")
    return int(leaf_size)


def _checked(value: Any, element: Any, what: str, type_name: str) -> array:
    """An array that the object can share, or a RuntimeError that says what it should be and what it is."""
    wanted = f"{what} should be a contiguous array of type {type_name}"
    if not isinstance(value, array) or not value._valid:
        raise RuntimeError(f"{wanted}, not {type(value).__name__}")
    if value._element != element:
        raise RuntimeError(f"{wanted}, not of {getattr(value.dtype, '__name__', value.dtype)}")
    if value.ndim != 1:
        raise RuntimeError(f"{what} should be a flattened 1d array of type {type_name}, not of shape {value.shape}")
    if not value.is_contiguous:
        raise RuntimeError(f"{wanted}: this one is not contiguous, take its .contiguous()")
    return value


def _same_device(first: array, *others: array | None, what: str) -> None:
    if any(other is not None and other.device != first.device for other in others):
        raise RuntimeError(f"{what} must live on the same device")


def _now_or_in_graph(device: Device, work: Any, result: list[Any]) -> None:
    """Does the work, or makes it part of the graph that is captured on the CPU."""
    if device.is_cpu and _weft.host_capturing():
        _weft.host_record_call(work, result)
    else:
        work()


class Mesh:
    """Triangles that kernels ask for rays, closest points, neighbours and values.

    `points` (vec3), `velocities` (vec3 or None) and `indices` (int32, three a face, counter-clockwise seen from outside)
    are contiguous one-dimensional arrays on one device. They are shared: after points were changed in place, call
    `refit()`; until then queries find faces where they were.

    `support_winding_number` lets kernels tell inside from outside by winding numbers, at the price of memory.
    `bvh_constructor` is None (what the device likes best), "sah", "median", "lbvh" or a `BvhConstructor`, and
    `bvh_leaf_size` a hint; neither changes an answer. `groups` (int32, one a face) lets queries start at the faces of one
    group alone (`wp.mesh_get_group_root`).
    """

    def __init__(
        self,
        points: array,
        indices: array,
        velocities: array | None = None,
        support_winding_number: bool = False,
        bvh_constructor: BvhConstructor | str | None = None,
        bvh_leaf_size: int | None = None,
        groups: array | None = None,
    ) -> None:
        _checked(points, _VEC3, "Mesh points", "wp.vec3")
        _checked(indices, _INT32, "Mesh indices", "wp.int32")
        if velocities is not None:
            _checked(velocities, _VEC3, "Mesh velocities", "wp.vec3")
        if groups is not None:
            _checked(groups, _INT32, "Mesh groups", "wp.int32")
        _same_device(points, indices, velocities, groups, what="Mesh points, indices, velocities and groups")
        word, leaf = _constructor_word(bvh_constructor), _leaf_size(bvh_leaf_size)
        self._mesh = _weft.Mesh(points, indices, velocities, groups, bool(support_winding_number), word, leaf)
        self._points, self._velocities = points, velocities
        self._mesh.watch_gradients(points, velocities)
        self._indices, self._groups = indices, groups
        self.support_winding_number = bool(support_winding_number)
        self.bvh_constructor = bvh_constructor
        self.bvh_leaf_size = bvh_leaf_size
        self.device = points.device

    @property
    def id(self) -> int:
        """The number by which kernels know the mesh: pass it as uint64. The mesh itself may be passed as well."""
        return self._mesh.id

    def __index__(self) -> int:
        return self._mesh.id

    @property
    def indices(self) -> array:
        """Three numbers of points for each face. Other faces are another mesh."""
        return self._indices

    @property
    def groups(self) -> array | None:
        """The group of each face, or None."""
        return self._groups

    @property
    def points(self) -> array:
        """The vertices. Assigning another array of the same shape takes it, with its gradient, and refits."""
        return self._points

    @points.setter
    def points(self, points: array) -> None:
        _checked(points, _VEC3, "Mesh points", "wp.vec3")
        if points.device != self.device:
            raise RuntimeError("The new points and the original points must live on the same device")
        if points.shape != self._points.shape:
            raise RuntimeError(
                "The new points and the original points must have the same shape: "
                f"the new ones have {points.shape}, the original ones {self._points.shape}"
            )
        _now_or_in_graph(self.device, lambda: self._mesh.set_points(points), [])
        self._points = points
        self._mesh.watch_gradients(self._points, self._velocities)

    @property
    def velocities(self) -> array | None:
        """Velocities of the vertices, or None. They may be assigned, also where there were none."""
        return self._velocities

    @velocities.setter
    def velocities(self, velocities: array | None) -> None:
        if velocities is not None:
            _checked(velocities, _VEC3, "Mesh velocities", "wp.vec3")
            if velocities.device != self.device:
                raise RuntimeError("The new velocities and the points must live on the same device")
            if velocities.shape != self._points.shape:
                raise RuntimeError(
                    "The new velocities and the points must have the same shape: "
                    f"these have {velocities.shape}, the points {self._points.shape}"
                )
        _now_or_in_graph(self.device, lambda: self._mesh.set_velocities(velocities), [])
        self._velocities = velocities
        self._mesh.watch_gradients(self._points, self._velocities)

    def refit(self) -> None:
        """Brings the tree to where the points are now; which faces are together stays. Quick."""
        _now_or_in_graph(self.device, self._mesh.refit, [])

    def rebuild(self, constructor: BvhConstructor | str | None = None) -> None:
        """Makes a new tree for where the points are now, under the same id: better than `refit` after large moves."""
        word = None if constructor is None else _constructor_word(constructor)
        _now_or_in_graph(self.device, lambda: self._mesh.rebuild(word), [])


class Bvh:
    """Boxes that kernels ask for overlaps: a tree over `lowers` and `uppers`, two arrays of vec3 on one device.

    The arrays are shared: after they were changed in place, call `refit()` or `rebuild()`. Boxes with a lower corner above
    the upper one, or with NaN, are never found. `groups` (int32, one a box) lets queries start at the boxes of one group
    alone (`wp.bvh_get_group_root`). `constructor` and `leaf_size` never change an answer.
    """

    def __init__(
        self,
        lowers: array,
        uppers: array,
        constructor: BvhConstructor | str | None = None,
        groups: array | None = None,
        leaf_size: int = 1,
    ) -> None:
        _checked(lowers, _VEC3, "Bvh lowers", "wp.vec3")
        _checked(uppers, _VEC3, "Bvh uppers", "wp.vec3")
        if len(lowers) != len(uppers):
            raise RuntimeError("The same number of lower and upper bounds must be provided")
        if groups is not None:
            _checked(groups, _INT32, "Bvh groups", "wp.int32")
        _same_device(lowers, uppers, groups, what="Bvh lowers, uppers and groups")
        # 1 is what programs pass that have no wish.
        wish = 0 if leaf_size == 1 else _leaf_size(leaf_size)
        self._bvh = _weft.Bvh(lowers, uppers, groups, _constructor_word(constructor), wish)
        self._lowers, self._uppers, self._groups = lowers, uppers, groups
        self.constructor = constructor
        self.leaf_size = leaf_size
        self.device = lowers.device

    @property
    def id(self) -> int:
        """The number by which kernels know the tree: pass it as uint64. The tree itself may be passed as well."""
        return self._bvh.id

    def __index__(self) -> int:
        return self._bvh.id

    @property
    def lowers(self) -> array:
        """The lower corners. Another array of as many may be assigned; `refit()` or `rebuild()` then takes it over."""
        return self._lowers

    @lowers.setter
    def lowers(self, lowers: array) -> None:
        _checked(lowers, _VEC3, "Bvh lowers", "wp.vec3")
        self._bvh.set_boxes(lowers, self._uppers)
        self._lowers = lowers

    @property
    def uppers(self) -> array:
        """The upper corners, in the same way."""
        return self._uppers

    @uppers.setter
    def uppers(self, uppers: array) -> None:
        _checked(uppers, _VEC3, "Bvh uppers", "wp.vec3")
        self._bvh.set_boxes(self._lowers, uppers)
        self._uppers = uppers

    @property
    def groups(self) -> array | None:
        """The group of each box, or None."""
        return self._groups

    def refit(self) -> None:
        """Brings the tree to where the boxes are now; which boxes are together stays. Quick."""
        _now_or_in_graph(self.device, self._bvh.refit, [])

    def rebuild(self, constructor: BvhConstructor | str | None = None) -> None:
        """Makes a new tree for where the boxes are now, under the same id."""
        word = None if constructor is None else _constructor_word(constructor)
        _now_or_in_graph(self.device, lambda: self._bvh.rebuild(word), [])
