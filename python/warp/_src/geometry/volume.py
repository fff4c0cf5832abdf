"""`wp.Volume`: sparse grids of voxels in NanoVDB's form, from files, arrays and points; kernels reach one by `.id`.

What kernels ask of it is in src/stdlib; files and checks are C++ (src/volume). New topologies are made by
volume_building.py.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from warp import _weft
from warp._src.arrays.array import array
from warp._src.arrays.array_factories import zeros
from warp._src.devices.device import Device, get_device
from warp._src.geometry import volume_building as _building
from warp._src.values import types
from warp._src.values.types import class_of

_CODECS = {"none": 0, "zip": 1, "blosc": 2}


def _blosc() -> Any:
    """The module `blosc`, or None."""
    try:
        import blosc
    except ImportError:
        return None
    return blosc


class Volume:
    """A sparse grid of voxels, in the form of NanoVDB, that kernels sample: `wp.volume_sample_f` and the like.

    `data` is an array of bytes (uint8, or uint32) that holds a grid; a copy of it is taken unless `copy` is False. Grids are checked
    before they are used, so that none can lead a kernel astray. Most volumes come from `load_from_nvdb`, `load_from_numpy`
    or one of the `allocate` methods.
    """

    CLOSEST = 0
    """Sampling mode: the nearest voxel."""
    LINEAR = 1
    """Sampling mode: the eight voxels around, by distance."""

    REBUILD_SUCCESS = 0
    """Status of `rebuild`: it was done."""
    REBUILD_LEAF_CAPACITY_EXCEEDED = 1
    """Status of `rebuild`: more tiles than there is room for."""
    REBUILD_LOWER_CAPACITY_EXCEEDED = 2
    """Status of `rebuild`: more lower nodes than there is room for."""
    REBUILD_UPPER_CAPACITY_EXCEEDED = 4
    """Status of `rebuild`: more upper nodes than there is room for."""
    REBUILD_VOXEL_CAPACITY_EXCEEDED = 8
    """Status of `rebuild`: more active voxels than there is room for."""
    REBUILD_INVALID_INPUT = 16
    """Status of `rebuild`: some point lies in no voxel; it is NaN, infinite or too far away."""

    _plan: _building.Plan | None = None  # of one that can be rebuilt

    class GridInfo(NamedTuple):
        """What a grid says of itself."""

        name: str
        """The grid's name."""
        size_in_bytes: int
        """Bytes of memory it takes."""
        grid_index: int
        """Its number among the grids it came with."""
        grid_count: int
        """How many grids it came with."""
        type_str: str
        """The type of its voxels, as NanoVDB names it."""
        translation: Any
        """Where index (0, 0, 0) lies in the world."""
        transform_matrix: Any
        """From differences in index space to the world's."""

    class FeatureArrayInfo(NamedTuple):
        """Data that a grid brings along."""

        name: str
        """Its name."""
        ptr: int
        """Where it lies."""
        value_size: int
        """Bytes of a value."""
        value_count: int
        """How many values."""
        type_str: str
        """Their type, as NanoVDB names it."""

    class RebuildInfo(NamedTuple):
        """For how much there is room in a volume that can be rebuilt."""

        kind: str | None
        """`"tiles"` or `"voxels"`, by which it was allocated; None for a volume that can't be rebuilt."""
        max_voxel_count: int
        """Room for active voxels."""
        max_leaf_node_count: int
        """Room for tiles."""
        max_lower_node_count: int
        """Room for lower nodes."""
        max_upper_node_count: int
        """Room for upper nodes."""

    class ActiveStats(NamedTuple):
        """How much there is in a volume now."""

        voxel_count: int
        """Active voxels."""
        leaf_node_count: int
        """Tiles."""
        lower_node_count: int
        """Lower nodes."""
        upper_node_count: int
        """Upper nodes."""

    def __init__(self, data: array, copy: bool = True) -> None:
        if not isinstance(data, array) or not data._valid or data.dtype not in (types.uint8, types.uint32):
            given = f"an array of {data.dtype.__name__}" if isinstance(data, array) and data._valid else repr(data)
            raise RuntimeError(f"a Volume is made from an array of uint8 or uint32 that holds a NanoVDB grid, not {given}")
        if data.ndim != 1 or not data.is_contiguous:
            raise RuntimeError("the array of a Volume must be contiguous and have one dimension")
        memory = _building.reinterpreted(data, types.uint8, data.size * types.type_size_in_bytes(data.dtype))
        sizes = _building.sizes_in(memory)
        memory = memory[: sum(sizes)]
        if copy:
            memory = _building.aligned_copy(memory)
        elif memory.ptr % 32:
            raise RuntimeError("a grid must begin at an address that is a multiple of 32: use copy=True")
        self._start(memory, sizes, "the array")

    def _start(self, memory: array, sizes: list[int], source: str) -> None:
        """Of the first of the grids that lie in the memory, one behind the other."""
        if memory.ptr % 32:
            memory = _building.aligned_copy(memory)
        self._grid = memory[: sizes[0]]
        self._volume = _weft.Volume(self._grid, source)
        self._memory = memory
        self._sizes = sizes
        self._source = source
        self.device: Device = memory.device
        """Where the volume lives."""

    @classmethod
    def _of(cls, memory: array, source: str, sizes: list[int] | None = None) -> Volume:
        """A volume over memory that is nobody else's."""
        made = cls.__new__(cls)
        made._start(memory, sizes or [memory.size], source)
        return made

    @classmethod
    def _adopted(cls, volume: Any, memory: array) -> Volume:
        """A volume that its device built."""
        made = cls.__new__(cls)
        made._grid = made._memory = memory
        made._volume = volume
        made._sizes = [memory.size]
        made._source = "the grid"
        made.device = memory.device
        return made

    @property
    def id(self) -> int:
        """The number by which kernels know the volume: pass it as uint64. The volume itself may be passed as well."""
        return self._volume.id

    def __index__(self) -> int:
        return self._volume.id

    # ---- what it is ------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> Any:
        """The type of the voxels' values; None for index grids and for types that kernels don't read."""
        value = _weft.volume_value(self._volume.type)
        return None if value is None else class_of(value)

    @property
    def is_index(self) -> bool:
        """Whether voxels have indices instead of values: rows of arrays, for `wp.volume_sample_index`."""
        return self._volume.is_index

    def array(self) -> array:
        """The grid's bytes, shared with the volume; behind them those of the grids that follow it in its file."""
        return self._memory

    def get_voxel_size(self) -> tuple[float, float, float]:
        """How large a voxel is in the world."""
        return self._volume.voxel_size

    def get_grid_info(self) -> Volume.GridInfo:
        """What the grid says of itself."""
        volume = self._volume
        return Volume.GridInfo(
            volume.name,
            volume.bytes,
            volume.number,
            volume.count,
            volume.type_name,
            types.vec3(*volume.translation),
            types.mat33(*volume.matrix),
        )

    def get_tile_count(self) -> int:
        """How many tiles, leaves of 8 x 8 x 8 voxels, there are; for how many there is room, if it can be rebuilt."""
        return self._volume.tiles if self._plan is None else self._plan.room[1]

    def get_voxel_count(self) -> int:
        """How many voxels have an index: active ones of an index grid, all voxels of all tiles elsewhere; for how many there
        is room, if it can be rebuilt."""
        return self._volume.voxels if self._plan is None else self._plan.room[0]

    def get_tiles(self, out: array | None = None) -> array:
        """The lower corners of all tiles, in index space: int32, a row of three for each, in the order of the tiles.

        Args:
            out: an array to write them to: of int32 with such rows, or of vec3i. If the volume can be rebuilt, rows for which there
                is room and no tile stay as they are.
        """
        return self._listed(self.get_tile_count(), self._volume.tiles, self._volume.write_tiles, out)

    def get_voxels(self, out: array | None = None) -> array:
        """The places of all voxels that have an index, by index: int32, a row of three for each.

        Args:
            out: an array to write them to: of int32 with such rows, or of vec3i. If the volume can be rebuilt, rows for which there
                is room and no voxel stay as they are.
        """
        return self._listed(self.get_voxel_count(), self._volume.voxels, self._volume.write_voxels, out)

    def _listed(self, count: int, there: int, write: Any, out: array | None) -> array:
        """Rows for `count`, of which `there` are written; those behind stay as they are in `out`."""
        _building.refuse_capture(self.device, "a list of a Volume's voxels or tiles")
        rows = zeros((count, 3), dtype=types.int32, device="cpu")
        write(rows)
        if out is None:
            return rows if self.device.is_cpu else rows.to(self.device)
        flat = isinstance(out, array) and out.dtype is types.vec3i and out.shape == (count,)
        if not flat and not (isinstance(out, array) and out.dtype is types.int32 and out.shape == (count, 3)):
            raise RuntimeError(f"'out' must be an array of int32 of shape ({count}, 3), or of vec3i of shape ({count},)")
        if out.device != self.device:
            raise RuntimeError(f"'out' must live on the Volume's device, {self.device}, not on {out.device}")
        if there:
            out[:there].assign((rows.view(types.vec3i) if flat else rows)[:there])
        return out

    # ---- features --------------------------------------------------------------------------------------------------

    def get_feature_array_count(self) -> int:
        """How many arrays the grid brings along ("blind data")."""
        return len(self._volume.features)

    def _feature(self, index: int) -> tuple[Any, ...]:
        features = self._volume.features
        if not 0 <= index < len(features):
            raise RuntimeError(f"the grid has {len(features)} feature arrays, none of number {index}")
        return features[index]

    def get_feature_array_info(self, feature_index: int) -> Volume.FeatureArrayInfo:
        """Name, place and type of one of the arrays that the grid brings along."""
        name, at, count, size, _, type_name = self._feature(feature_index)
        return Volume.FeatureArrayInfo(name, self._grid.ptr + at, size, count, type_name)

    def feature_array(self, feature_index: int, dtype: Any = None) -> array:
        """One of the arrays that the grid brings along, shared with the volume.

        Args:
            feature_index: which.
            dtype: the type of its elements; by default the type that the grid states, or bytes where kernels have none.
        """
        name, at, count, size, type_number, _ = self._feature(feature_index)
        value = _weft.volume_value(type_number)
        element = types.uint8 if value is None else class_of(value)
        if dtype is not None:
            element = dtype
        total = count * size
        memory = self._grid[at : at + total]
        if types.type_size_in_bytes(element) and total % types.type_size_in_bytes(element):
            raise RuntimeError(f"the feature '{name}' has {total} bytes, which are no whole number of {element.__name__}")
        return _building.reinterpreted(memory, element, total // types.type_size_in_bytes(element))

    # ---- files and other memory ------------------------------------------------------------------------------------

    @classmethod
    def load_from_nvdb(cls, file_or_buffer: Any, device: Any = None) -> Volume:
        """Reads the first grid of a `.nvdb` file; `load_next_grid` gives the others.

        Args:
            file_or_buffer: a path, a file that is open for reading bytes, or the bytes of a file.
            device: where the volume shall live.
        """
        name = "the file"
        if isinstance(file_or_buffer, (str, os.PathLike)):
            name = os.fspath(file_or_buffer)
            with open(file_or_buffer, "rb") as file:
                data: Any = _building.file_bytes(file)
        elif hasattr(file_or_buffer, "read"):
            data = file_or_buffer.read()
            name = str(getattr(file_or_buffer, "name", name))
        else:
            data, name = file_or_buffer, "the buffer"
        if isinstance(data, str):
            raise RuntimeError(f"{name}: a .nvdb file must be opened for reading bytes: open(path, 'rb')")
        blosc = _blosc()
        unpack = None if blosc is None else _building.blosc_unpacker(blosc)
        own = isinstance(data, array)
        memory, sizes, at = _weft.volume_read(data.numpy() if own else data, name, unpack, own)
        grids = data[at : at + sum(sizes)] if memory is None else _building.shared(memory)
        return cls._of(grids.to(get_device(device)), f"{name}, unpacked grid", sizes)

    def save_to_nvdb(self, path: Any, codec: str = "none") -> None:
        """Writes the grid to a `.nvdb` file, with those that follow it where it was loaded.

        Args:
            path: of the file.
            codec: `"none"`, `"zip"`, or `"blosc"` where the module of that name is installed.
        """
        if codec not in _CODECS:
            raise RuntimeError(f"the codecs of .nvdb files are 'none', 'zip' and 'blosc', not {codec!r}")
        pack = None
        if codec == "blosc":
            blosc = _blosc()
            if blosc is None:
                raise RuntimeError("codec 'blosc' takes the Python module 'blosc', which is not installed")
            pack = _building.blosc_packer(blosc)
        with open(path, "wb") as file:
            file.write(_weft.volume_write(self._memory, self._sizes, _CODECS[codec], pack))

    def load_next_grid(self) -> Volume | None:
        """The grid that comes after this one in what it was loaded from; None if it is the last."""
        if len(self._sizes) < 2:
            return None
        made = Volume.__new__(Volume)
        made._start(self._memory[self._sizes[0] :], self._sizes[1:], self._source)
        return made

    @classmethod
    def load_from_address(cls, grid_ptr: int, buffer_size: int = 0, device: Any = None) -> Volume:
        """A volume over a grid in memory that somebody else keeps, which is neither copied nor freed.

        Args:
            grid_ptr: where the grid begins, a multiple of 32.
            buffer_size: how many bytes there are; 0: as many as the grid says.
            device: where that memory lies.
        """
        place = get_device(device)
        address = int(grid_ptr)
        if address == 0:
            raise RuntimeError("there is no grid at address 0")
        if address % 32:
            raise RuntimeError("a grid must begin at an address that is a multiple of 32")
        size = int(buffer_size)
        if size == 0:
            header = array(ptr=address, shape=_building.HEADER_BYTES, dtype=types.uint8, device=place)
            size = _weft.volume_stated_bytes(header)
        memory = array(ptr=address, shape=size, dtype=types.uint8, device=place)
        sizes = _building.sizes_in(memory)
        return cls._of(memory[: sum(sizes)], "the memory", sizes)

    # ---- new ones --------------------------------------------------------------------------------------------------

    @classmethod
    def load_from_numpy(
        cls,
        ndarray: np.ndarray,
        min_world: Any = (0.0, 0.0, 0.0),
        voxel_size: Any = 1.0,
        bg_value: Any = 0.0,
        device: Any = None,
    ) -> Volume:
        """A volume with a voxel for each element of a dense array.

        Args:
            ndarray: of three dimensions; or of four, the last of them three numbers: the voxels are then vec3f.
            min_world: where element (0, 0, 0) lies in the world.
            voxel_size: how large a voxel is in the world; a number, or three.
            bg_value: the value outside; its type is that of the voxels.
            device: where the volume shall live.
        """
        return _building.from_numpy(cls, ndarray, min_world, voxel_size, bg_value, device)

    @classmethod
    def allocate(
        cls,
        min: Any,
        max: Any,
        voxel_size: Any,
        bg_value: Any = 0.0,
        translation: Any = (0.0, 0.0, 0.0),
        points_in_world_space: bool = False,
        device: Any = None,
    ) -> Volume:
        """A volume with tiles for all voxels of a box, whose values are the background.

        Args:
            min: the box's lowest voxel.
            max: its highest one, which belongs to it.
            voxel_size: how large a voxel is in the world; a number, or three.
            bg_value: the value of all voxels; its type is that of the voxels. None makes an index grid.
            translation: where voxel (0, 0, 0) lies in the world.
            points_in_world_space: `min` and `max` are places of the world, not of index space.
            device: where the volume shall live.
        """
        return _building.allocate(cls, min, max, voxel_size, bg_value, translation, points_in_world_space, device)

    @classmethod
    def allocate_by_tiles(
        cls,
        tile_points: array,
        voxel_size: Any = None,
        bg_value: Any = 0.0,
        translation: Any = (0.0, 0.0, 0.0),
        device: Any = None,
        transform: Any = None,
        rebuildable: bool = False,
        max_tiles: int | None = None,
        max_lower_nodes: int | None = None,
        max_upper_nodes: int | None = None,
        status: array | None = None,
        point_mask: array | None = None,
    ) -> Volume:
        """A volume with the tiles of 8 x 8 x 8 voxels that these points lie in.

        Args:
            tile_points: voxels (int32 in rows of three, or vec3i), or places of the world (vec3f, float32 in rows).
            voxel_size: how large a voxel is in the world; a number, or three.
            bg_value: the value of all voxels; its type is that of the voxels. None makes an index grid.
            translation: where voxel (0, 0, 0) lies in the world.
            device: where the volume shall live; by default where the points are.
            transform: 3 x 3 numbers, from index space to the world, in place of `voxel_size`.
            rebuildable: reserves memory, so that `rebuild` can give it other tiles; so do the three that follow.
            max_tiles: for how many tiles there shall be room; by default one for each point.
            max_lower_nodes: the same for lower nodes, of 16 x 16 x 16 tiles.
            max_upper_nodes: the same for upper nodes, of 32 x 32 x 32 lower ones.
            status: an array of one uint32, which gets `REBUILD_SUCCESS` or bits for what there is not room for.
            point_mask: integers, one for each point: points with 0 are left out.
        """
        rebuilding = _building.Rebuilding.of(
            rebuildable, max_tiles=max_tiles, max_lower_nodes=max_lower_nodes, max_upper_nodes=max_upper_nodes
        )
        return _building.by_points(
            cls, tile_points, voxel_size, bg_value, translation, device, transform, True, rebuilding, status, point_mask
        )

    @classmethod
    def allocate_by_voxels(
        cls,
        voxel_points: array,
        voxel_size: Any = None,
        translation: Any = (0.0, 0.0, 0.0),
        device: Any = None,
        transform: Any = None,
        rebuildable: bool = False,
        max_active_voxels: int | None = None,
        max_leaf_nodes: int | None = None,
        max_lower_nodes: int | None = None,
        max_upper_nodes: int | None = None,
        status: array | None = None,
        point_mask: array | None = None,
    ) -> Volume:
        """An index grid whose active voxels are those that these points lie in.

        Args:
            voxel_points: voxels (int32 in rows of three, or vec3i), or places of the world (vec3f, float32 in rows).
            voxel_size: how large a voxel is in the world; a number, or three.
            translation: where voxel (0, 0, 0) lies in the world.
            device: where the volume shall live; by default where the points are.
            transform: 3 x 3 numbers, from index space to the world, in place of `voxel_size`.
            rebuildable: reserves memory, so that `rebuild` can give it other voxels; so do the four that follow.
            max_active_voxels: for how many voxels there shall be room; by default one for each point.
            max_leaf_nodes: the same for tiles of 8 x 8 x 8 voxels.
            max_lower_nodes: the same for lower nodes, of 16 x 16 x 16 tiles.
            max_upper_nodes: the same for upper nodes, of 32 x 32 x 32 lower ones.
            status: an array of one uint32, which gets `REBUILD_SUCCESS` or bits for what there is not room for.
            point_mask: integers, one for each point: points with 0 are left out.
        """
        rebuilding = _building.Rebuilding.of(
            rebuildable,
            max_active_voxels=max_active_voxels,
            max_leaf_nodes=max_leaf_nodes,
            max_lower_nodes=max_lower_nodes,
            max_upper_nodes=max_upper_nodes,
        )
        return _building.by_points(
            cls, voxel_points, voxel_size, None, translation, device, transform, False, rebuilding, status, point_mask
        )

    # ---- rebuilding ------------------------------------------------------------------------------------------------

    @property
    def is_rebuildable(self) -> bool:
        """Whether `rebuild` can give it other tiles or voxels."""
        return self._plan is not None

    def get_rebuild_info(self) -> Volume.RebuildInfo:
        """For how much there is room in a volume that can be rebuilt."""
        plan = self._plan
        if plan is None:
            return Volume.RebuildInfo(None, 0, 0, 0, 0)
        return Volume.RebuildInfo("tiles" if plan.whole else "voxels", *plan.room)

    def get_active_stats(self) -> Volume.ActiveStats:
        """How many active voxels and nodes there are now."""
        volume = self._volume
        return Volume.ActiveStats(volume.active_voxels, volume.tiles, volume.lowers, volume.uppers)

    def rebuild(self, points: array, status: array | None = None, point_mask: array | None = None) -> array | None:
        """Gives a volume that was allocated with `rebuildable` the tiles, or voxels, of other points, under the same id. Values are
        the background again. If there is not room for them, or a point lies in no voxel, the volume stays as it is.

        Args:
            points: as when it was allocated.
            status: an array of uint32, whose first element gets `REBUILD_SUCCESS` or bits for what went wrong; without it, points
                that lie in no voxel are an error on the CPU.
            point_mask: integers, one for each point: points with 0 are left out.

        Returns:
            `status`.
        """
        if self._plan is None:
            raise RuntimeError("Volume is not rebuildable: allocate it with rebuildable=True")
        if self.device.is_cpu and _weft.host_capturing():
            _weft.host_record_call(lambda: _building.rebuild(self, points, status, point_mask), [])
        else:
            _building.rebuild(self, points, status, point_mask)
        return status
