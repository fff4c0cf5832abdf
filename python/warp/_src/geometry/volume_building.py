"""What `wp.Volume` is made of: grids inside of buffers, new topologies from points, dense arrays, and Blosc."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from warp import _weft
from warp._src.arrays.array import array, element_handle
from warp._src.arrays.array_factories import clone, empty
from warp._src.devices.device import Device, get_device
from warp._src.values import types
from warp._src.values.vector import vector as vector_type

HEADER_BYTES = 736
"""What a grid says of itself comes first, in so many bytes."""
_GRID_COUNT = 28
_FILE_HEAD = 16 + 176
"""Bytes of a file before its first name: the segment's, and the metadata of a grid."""
_FILE_NAME = 16 + 136
_FILE_MAGICS = (b"NanoVDB0", b"NanoVDB2")
_LONGEST_BOX = 2**31


def shared(memory: _weft.Array) -> array:
    """Memory from C++ as an array."""
    made = array.__new__(array)
    made._share(memory)
    return made


def file_bytes(file: Any) -> Any:
    """All bytes of a file: in an array where grids that are not compressed begin at multiples of 32, so that the volume can keep
    that memory as it is; else as bytes."""
    head = file.read(_FILE_HEAD)
    size = os.fstat(file.fileno()).st_size
    if len(head) < _FILE_HEAD or head[:8] not in _FILE_MAGICS or head[14:16] != b"\0\0" or size < _FILE_HEAD:
        return head + file.read()
    # With several grids the names of the others come before the first one's bytes: that file is copied.
    start = _FILE_HEAD + int.from_bytes(head[_FILE_NAME : _FILE_NAME + 4], "little")
    room = empty(size + 32, dtype=types.uint8, device="cpu")
    memory = room[-(room.ptr + start) % 32 :][:size]
    view = memoryview(memory.numpy())
    view[:_FILE_HEAD] = head
    filled = _FILE_HEAD
    while filled < size and (more := file.readinto(view[filled:])):
        filled += more
    return memory[:filled]


def reinterpreted(memory: array, dtype: Any, count: int) -> array:
    """Bytes as elements of another type."""
    handle = element_handle(dtype)
    return memory._reinterpret(handle, [count], [handle.size])


def aligned_copy(memory: array) -> array:
    """A copy; new memory begins where grids may."""
    return clone(memory, requires_grad=False)


def refuse_capture(device: Device, what: str) -> None:
    """Raises if a graph is captured on a device, for work that needs the host."""
    if device.is_capturing or (device.is_cpu and _weft.host_capturing()):
        raise RuntimeError(f"{what} can't be part of a graph: it needs the host")


def sizes_in(memory: array) -> list[int]:
    """How large the grids are that lie one behind the other in an array of bytes."""
    sizes: list[int] = []
    at, count = 0, 1
    while len(sizes) < count:
        size = _weft.volume_stated_bytes(memory[at : at + HEADER_BYTES])
        if size < HEADER_BYTES:
            raise RuntimeError(f"Invalid NanoVDB grid structure: the grid says that it has {size} bytes, less than its header")
        if size > memory.size - at:
            raise RuntimeError(
                f"the array holds {memory.size - at} bytes from the grid's beginning on; the grid says it has {size}"
            )
        if not sizes:
            count = int(memory[_GRID_COUNT : _GRID_COUNT + 4].numpy().view(np.uint32)[0])
        sizes.append(size)
        at += size
        if at + HEADER_BYTES > memory.size:
            break
    return sizes


def blosc_unpacker(blosc: Any) -> Callable[[bytes, int], bytes]:
    """Unpacks a block, unless it says that it is larger than the room for it."""

    def unpack(packed: bytes, room: int) -> bytes:
        if len(packed) < 16 or int.from_bytes(packed[4:8], "little") > room:
            return b""
        try:
            return blosc.decompress(packed)
        except Exception:
            return b""

    return unpack


def blosc_packer(blosc: Any) -> Callable[[bytes], bytes]:
    """Packs a block as NanoVDB's own tools do."""
    return lambda block: blosc.compress(block, typesize=4, clevel=9, cname="lz4")


# ---- plans -----------------------------------------------------------------------------------------------------------


def _three(value: Any, what: str) -> list[float]:
    numbers = np.asarray(value, dtype=np.float64).reshape(-1).tolist()
    if len(numbers) != 3:
        raise RuntimeError(f"{what} must be three numbers, not {value!r}")
    return numbers


def _matrix(voxel_size: Any, transform: Any) -> list[float]:
    """From index space to the world, by rows."""
    if transform is not None:
        if voxel_size is not None:
            raise ValueError("Only one of 'voxel_size' or 'transform' may be provided, not both")
        matrix = np.asarray(transform, dtype=np.float64)
        if matrix.size != 9:
            raise ValueError(f"the transform of a Volume is 3 x 3 numbers, not {transform!r}")
        return matrix.reshape(-1).tolist()
    if voxel_size is None:
        raise ValueError("Either 'voxel_size' or 'transform' must be provided")
    return _scales(voxel_size)


def _scales(voxel_size: Any) -> list[float]:
    """The matrix of a transform that scales alone."""
    try:
        if voxel_size is None or isinstance(voxel_size, (str, bytes)):
            raise TypeError
        sizes = np.asarray(voxel_size, dtype=np.float64).reshape(-1).tolist()
    except (TypeError, ValueError):
        raise TypeError(f"voxel_size must be a scalar or a 3-element sequence, got {voxel_size!r}") from None
    if np.ndim(voxel_size) == 0:
        sizes *= 3
    if len(sizes) != 3:
        raise ValueError(f"voxel_size must be a scalar or a 3-element sequence, got length {len(sizes)}")
    if not all(0.0 < size < np.inf for size in sizes):
        raise ValueError(f"All voxel_size components must be finite and positive, got {tuple(sizes)}")
    return [sizes[0], 0.0, 0.0, 0.0, sizes[1], 0.0, 0.0, 0.0, sizes[2]]


def _plain_type(value: Any) -> Any:
    """The type of voxels for a number or numbers of Python or NumPy."""
    if type(value) is int:
        return types.int32
    values = np.asarray(value)
    known = isinstance(value, (np.ndarray, np.generic))
    scalar: Any = types.float64 if known and values.dtype == np.float64 else types.float32
    if values.ndim == 0 and values.dtype.kind in "iu":
        scalar = {"int64": types.int64, "uint32": types.uint32}.get(values.dtype.name, types.int32)
    return scalar if values.ndim == 0 else vector_type(values.size, scalar)


def _voxel_type(bg_value: Any, whole: bool) -> tuple[int, bytes]:
    """The number of the grid's type, and its background in bytes."""
    if bg_value is None:
        return _weft.VOLUME_INDEX if whole else _weft.VOLUME_ON_INDEX, b""
    if isinstance(bg_value, (bool, np.bool_)):
        raise RuntimeError("no Volume has voxels of bool")
    handle = getattr(bg_value, "_wp_type_", None)
    if not isinstance(handle, _weft.Type):
        handle = types.type_handle(_plain_type(bg_value))
        bg_value = np.asarray(bg_value).tolist()
    number = _weft.volume_type(handle)
    if number == 0:
        raise RuntimeError(
            "the voxels of a Volume are int32, int64, uint32, float32, float64, vec3f, vec3d, vec4f or vec4d: "
            f"there is no bg_value {bg_value!r}"
        )
    return number, _weft.pack(handle, bg_value)


class Plan(NamedTuple):
    """How a volume was made, so that it can be rebuilt."""

    type: int
    background: bytes
    matrix: list[float]
    translation: list[float]
    whole: bool
    room: list[int]
    """Active voxels, leaves, lower and upper nodes; empty: as many as there are."""

    def plan(self) -> Any:
        """The same for C++."""
        return _weft.VolumePlan(self.type, self.background, self.matrix, self.translation, self.whole, self.room)

    def build(self, rows: np.ndarray, tell: bool = False) -> tuple[array | None, int]:
        """A grid on the host, of voxels or places of the world, and the status: 0, or bits for what there is not room for.

        Places that lie in no voxel are an error, or with `tell` a bit as well.
        """
        points = array(np.ascontiguousarray(rows).reshape(-1), device="cpu", copy=False)
        memory, status = _weft.volume_build(points, self.plan(), tell)
        return (None if status else shared(memory)), status

    def room_text(self) -> str:
        """The room there is, in words."""
        voxels, leaves, lowers, uppers = self.room
        return f"there is: {voxels} voxels, {leaves} tiles, {lowers} lower and {uppers} upper nodes"


def _built(cls: Any, points: np.ndarray, bg_value: Any, matrix: list[float], translation: Any, device: Device, whole: bool) -> Any:
    plan = Plan(*_voxel_type(bg_value, whole), matrix, _three(translation, "translation"), whole, [])
    memory, _ = plan.build(points.astype(np.int32))
    return cls._of(memory.to(device), "the grid")


def _nearest(places: np.ndarray, matrix: list[float], translation: Any) -> np.ndarray:
    """The voxels that places of the world lie in."""
    shift = np.asarray(_three(translation, "translation"))
    index = (places.astype(np.float64) - shift) @ np.linalg.inv(np.asarray(matrix).reshape(3, 3)).T
    if not np.isfinite(index).all() or np.abs(index).max(initial=0.0) > 2**31 - 2:
        raise RuntimeError("the points of a Volume must be finite, with voxels that int32 can number")
    return np.floor(index + 0.5).astype(np.int32)


class Points(NamedTuple):
    """Points of a volume, voxels (int32) or places of the world (float32), those of a mask alone."""

    rows: array
    """Numbers, three for each point."""
    mask: array | None

    @classmethod
    def of(cls, points: Any, point_mask: Any) -> Points:
        """What users gave; RuntimeError for what are no points."""
        if not (isinstance(points, array) and points._valid and _is_rows(points)):
            raise RuntimeError("the points of a Volume are an array of vec3i or vec3f, or of int32 or float32 in rows of three")
        if point_mask is not None:
            count = points.shape[0]
            kind = isinstance(point_mask, array) and point_mask._valid and point_mask.dtype in _MASKS
            if not kind or point_mask.shape != (count,):
                raise RuntimeError(f"point_mask must be an array of {count} integers, one for each point")
        return cls(points, point_mask)

    def here(self) -> np.ndarray:
        """Rows of three on the host."""
        rows = self.rows.numpy().reshape(-1, 3)
        return rows if self.mask is None else rows[self.mask.numpy() != 0]

    def there(self, device: Device) -> tuple[array, array | None, int]:
        """On a GPU: numbers one behind the other, the mask's bytes, and how many of them an integer has."""
        for one in (self.rows, self.mask):
            if one is not None and one.device != device:
                refuse_capture(device, "points of another device")
        rows = _packed(self.rows, device)
        scalar = _scalar(self.rows.dtype)
        numbers = reinterpreted(rows, scalar, 3 * self.rows.shape[0])
        if self.mask is None:
            return numbers, None, 0
        width = types.type_size_in_bytes(self.mask.dtype)
        return numbers, reinterpreted(_packed(self.mask, device), types.uint8, width * self.mask.size), width


_MASKS = (
    types.int8,
    types.uint8,
    types.int16,
    types.uint16,
    types.int32,
    types.uint32,
    types.int64,
    types.uint64,
    types.bool,
)


def _is_rows(points: array) -> bool:
    if points.dtype in (types.vec3i, types.vec3):
        return points.ndim == 1
    return points.dtype in (types.int32, types.float32) and points.ndim == 2 and points.shape[1] == 3


def _packed(values: array, device: Device) -> array:
    """The same elements on a device, one behind the other."""
    if values.device != device:
        return values.to(device).contiguous()
    return values.contiguous()


class Rebuilding(NamedTuple):
    """What `allocate_by_tiles` and `allocate_by_voxels` are told about rebuilding; None where nothing is said."""

    voxels: int | None
    leaves: int | None
    lowers: int | None
    uppers: int | None

    @classmethod
    def of(cls, rebuildable: bool, **most: int | None) -> Rebuilding | None:
        """What a caller says by these names, in the order of the fields. Who names a room wants to rebuild."""
        for name, value in most.items():
            if value is not None and int(value) < 1:
                raise ValueError(f"{name} must be positive, got {value}")
        values = list(most.values())
        if not rebuildable and all(value is None for value in values):
            return None
        return cls(*[None] * (4 - len(values)), *values)

    def room(self, points: int, whole: bool) -> list[int]:
        """For how many voxels and nodes there shall be room: by default for points that lie apart."""
        voxels = points if self.voxels is None else int(self.voxels)
        leaves = (points if whole else voxels) if self.leaves is None else int(self.leaves)
        if whole:
            voxels = leaves * 512
        lowers = leaves if self.lowers is None else int(self.lowers)
        uppers = lowers if self.uppers is None else int(self.uppers)
        return [voxels, leaves, lowers, uppers]


def _check_status(status: Any) -> None:
    known = isinstance(status, array) and status._valid and status.dtype in (types.uint32, types.int32)
    if status is not None and not (known and status.size > 0 and status.is_contiguous):
        raise RuntimeError("status must be an array of uint32 or int32, contiguous and with at least one element")


def _report(status: Any, value: int) -> None:
    """Writes the status where the caller wants it."""
    _check_status(status)
    if status is not None:
        status.flatten()[:1].fill_(value)


def by_points(
    cls: Any,
    points: Any,
    voxel_size: Any,
    bg_value: Any,
    translation: Any,
    device: Any,
    transform: Any,
    whole: bool,
    rebuilding: Rebuilding | None,
    status: Any,
    point_mask: Any,
) -> Any:
    """A volume of the tiles, or voxels, that points lie in."""
    matrix = _matrix(voxel_size, transform)
    place = get_device(device) if device is not None else points.device if isinstance(points, array) else get_device()
    refuse_capture(place, "the allocation of a Volume")
    source = Points.of(points, point_mask)
    plan = Plan(*_voxel_type(bg_value, whole), matrix, _three(translation, "translation"), whole, [])
    if rebuilding is not None:
        plan = plan._replace(room=rebuilding.room(len(points), whole))
    made, found = _built_there(cls, place, plan, *source.there(place)) if place.is_cuda else (None, 0)
    memory = None
    if made is None:
        memory, found = plan.build(source.here())
    _report(status, found)
    if found and status is None:
        raise RuntimeError(f"these points need more room than {plan.room_text()}")
    if made is None:
        if memory is None:
            memory, _ = plan.build(np.zeros((0, 3), dtype=np.int32))
        made = cls._of(memory.to(place), "the grid")
    if rebuilding is not None:
        made._plan = plan
    return made


def _built_there(
    cls: Any, device: Device, plan: Plan, points: array, mask: array | None, width: int
) -> tuple[Any, int]:
    """A volume that a GPU builds, and the status; None for one that is too large for that."""
    built = _weft.volume_build_there(device.ordinal, points, mask, width, plan.plan())
    if built is None:
        return None, 0
    volume, memory, status = built
    return cls._adopted(volume, shared(memory)), status


def rebuild(volume: Any, points: Any, status: Any, point_mask: Any) -> None:
    """Another topology in a volume's memory, unless there is not room for it."""
    plan, source = volume._plan, Points.of(points, point_mask)
    if volume._volume.is_built_there:
        _check_status(status)
        volume._volume.rebuild(*source.there(volume.device))
        if status is not None:
            if status.device != volume.device:
                refuse_capture(volume.device, "a status on another device")
            found = shared(volume._volume.status_there)
            status.flatten()[:1].assign(found if status.dtype is types.int32 else found.view(types.uint32))
        return
    refuse_capture(volume.device, "the rebuild of this Volume")
    memory, found = plan.build(source.here(), tell=status is not None)
    if memory is not None:
        volume._volume.replace(memory)
    _report(status, found)


def allocate(
    cls: Any, low: Any, high: Any, voxel_size: Any, bg_value: Any, translation: Any, in_world: bool, device: Any
) -> Any:
    """A volume of the tiles of a box."""
    matrix = _scales(voxel_size)
    ends = np.asarray([_three(low, "min"), _three(high, "max")])
    if in_world:
        first, last = _nearest(ends, matrix, translation)
    else:
        first, last = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
    axes = [np.arange(int(a) >> 3, (int(b) >> 3) + 1, dtype=np.int64) for a, b in zip(first, last)]
    tiles = [len(axis) for axis in axes]
    if any(len(axis) == 0 for axis in axes):
        raise RuntimeError(f"the box of a Volume from {list(low)} to {list(high)} is empty")
    if int(np.prod(tiles, dtype=np.float64)) * 512 >= _LONGEST_BOX:
        raise RuntimeError(f"a Volume of {tiles[0]} x {tiles[1]} x {tiles[2]} tiles has more voxels than int32 can number")
    place = get_device(device)
    if place.is_cuda:
        refuse_capture(place, "the allocation of a Volume")
        plan = Plan(*_voxel_type(bg_value, True), matrix, _three(translation, "translation"), True, [])
        points = shared(_weft.volume_box_there(place.ordinal, tuple(int(axis[0]) for axis in axes), tuple(tiles)))
        made, _ = _built_there(cls, place, plan, points, None, 0)
        if made is not None:
            return made
    corners = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3) * 8
    return _built(cls, corners, bg_value, matrix, translation, place, True)


def from_numpy(cls: Any, dense: Any, min_world: Any, voxel_size: Any, bg_value: Any, device: Any) -> Any:
    """A volume of a dense array's elements."""
    values = np.asarray(dense)
    if values.ndim not in (3, 4) or (values.ndim == 4 and values.shape[3] != 3):
        raise RuntimeError(f"a Volume is made of an array of three dimensions, or four with three numbers last, not {values.shape}")
    if 0 in values.shape:
        raise RuntimeError(f"a Volume can't be made of an array without elements, of shape {values.shape}")
    if values.ndim == 4 and not isinstance(bg_value, Sequence) and not hasattr(bg_value, "__len__"):
        bg_value = types.vec3(float(bg_value), float(bg_value), float(bg_value))
    extent = values.shape[:3]
    axes = [np.arange((n + 7) >> 3, dtype=np.int64) for n in extent]
    tiles = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    place = get_device(device)
    matrix = _scales(voxel_size)
    made = _built(cls, tiles * 8, bg_value, matrix, min_world, get_device("cpu"), True)
    value = types.class_of(_weft.volume_value(made._volume.type))
    padded = np.empty([len(axis) * 8 for axis in axes] + list(values.shape[3:]), dtype=types.dtype_to_numpy(_scalar(value)))
    padded[...] = np.asarray(bg_value)
    padded[: extent[0], : extent[1], : extent[2]] = values
    _fill_tiles(made, padded)
    return made if place.is_cpu else cls._of(made._memory.to(place), "the grid")


def _fill_tiles(volume: Any, dense: np.ndarray) -> None:
    """Copies a dense array, whose extents are whole tiles, into the tiles of a volume on the host."""
    first, step, size = volume._volume.leaf_values
    leaves = volume._volume.tiles
    inner = dense.shape[3:]
    item = dense.dtype.itemsize
    numbers = volume._memory.numpy()[first:]
    values = np.ndarray(
        (leaves, 8, 8, 8, *inner),
        dense.dtype,
        numbers.data,
        strides=(step, 64 * size, 8 * size, size, *(item,) * len(inner)),
    )
    blocks = dense.reshape(dense.shape[0] >> 3, 8, dense.shape[1] >> 3, 8, dense.shape[2] >> 3, 8, *inner)
    corners = volume.get_tiles().numpy() >> 3
    for leaf, (i, j, k) in enumerate(corners):
        values[leaf] = blocks[i, :, j, :, k, :]


def _scalar(dtype: Any) -> Any:
    return getattr(dtype, "_wp_scalar_type_", dtype)
