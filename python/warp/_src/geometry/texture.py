"""`wp.Texture1D`, `wp.Texture2D`, `wp.Texture3D`: texels that kernels sample by `wp.texture_sample`, filtered.

A texture is passed to kernels as itself, and stands in structs and arrays: there it is a struct of the library (src/stdlib)
with an id and its extents. What lies behind the id is C++ (src/texture): plain memory on the CPU, arrays of the driver on
CUDA devices.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from warp import _weft
from warp._src.arrays.array import array
from warp._src.devices.device import Device, get_device
from warp._src.geometry.texels import EXTENTS, WHOLE, Texels, TextureAddressMode, TextureError, TextureFilterMode
from warp._src.geometry.texels import dtype_of, mode_of
from warp._src.values import struct as _struct
from warp._src.values import types
from warp._src.values.struct import Field, Struct, StructInstance


_living: weakref.WeakValueDictionary[int, Texture] = weakref.WeakValueDictionary()


class Texture(StructInstance):
    """What textures of one, two and three dimensions have in common. Make a `Texture1D`, `Texture2D` or `Texture3D`."""

    _ndim = 0

    def __init__(self) -> None:
        raise TypeError("make a wp.Texture1D, wp.Texture2D or wp.Texture3D")

    def _make(
        self,
        data: Any,
        extents: tuple[int, ...],
        num_channels: int,
        dtype: Any,
        filter_mode: Any,
        address_mode: Any,
        address_modes: tuple[Any, ...],
        normalized_coords: bool,
        num_mip_levels: int,
        mip_filter_mode: Any,
        device: Any,
        surface_access: bool,
        cuda_array: int,
    ) -> None:
        ndim = self._ndim
        texels = Texels(data, ndim, "data") if data is not None else None
        if texels is not None:
            if cuda_array:
                raise TextureError("cuda_array: a texture is made from data or over a CUDA array, not both")
            for name, given, found in zip(EXTENTS, extents, texels.extents):
                if given not in (0, found):
                    raise TextureError(f"{name}: Specified texture {name} does not match data {name} ({given}, {found})")
            if num_channels not in (0, texels.channels):
                raise TextureError(
                    "num_channels: Specified texture channels do not match data channels "
                    f"(expected {num_channels}, got {texels.channels})"
                )
            if dtype is not None and dtype_of(dtype) is not texels.dtype:
                raise TextureError("dtype: Specified texture dtype does not match data dtype")
            if not texels.contiguous and isinstance(texels.data, array):
                raise TextureError("data: Source array must be contiguous")
            extents, num_channels, dtype = texels.extents, texels.channels, texels.dtype
            if device is None and isinstance(texels.data, array):
                device = texels.data.device
        for name, one in zip(EXTENTS, extents):
            if not isinstance(one, (int, np.integer)) or one < 1:
                raise TextureError(f"Texture {name} must be a positive integer, not {one!r}")
        if num_channels not in (1, 2, 4):
            raise TextureError(f"Texture num_channels must be 1, 2, or 4, not {num_channels!r}")
        dtype = dtype_of(dtype)
        default = TextureFilterMode.CLOSEST if dtype in WHOLE else TextureFilterMode.LINEAR
        filtering = default if filter_mode is None else mode_of(TextureFilterMode, filter_mode, "filter mode")
        between = default if mip_filter_mode is None else mode_of(TextureFilterMode, mip_filter_mode, "mip filter mode")
        modes = self._address_modes(address_mode, address_modes)
        most = max(extents).bit_length()
        if not isinstance(num_mip_levels, (int, np.integer)) or num_mip_levels < 0:
            raise TextureError(f"num_mip_levels must be >= 0, not {num_mip_levels!r}")
        if num_mip_levels > most:
            raise TextureError(f"num_mip_levels ({num_mip_levels}) exceeds the maximum for base dimensions {extents} ({most})")
        levels = int(num_mip_levels) or most
        for name, mode in (("filter_mode", filtering), ("mip_filter_mode", between)):
            if dtype in WHOLE and mode == TextureFilterMode.LINEAR and (levels > 1 or name == "filter_mode"):
                raise TextureError(f"{name}: texels of {dtype.__name__} are not mixed: use wp.TextureFilterMode.CLOSEST")
        on = get_device(device)
        if not isinstance(cuda_array, (int, np.integer)) or cuda_array < 0:
            raise TextureError(f"cuda_array: must be the handle of a CUDA array, an int, not {cuda_array!r}")
        if cuda_array and not on.is_cuda:
            raise TextureError(f"cuda_array: the texture is on {on}, which has no CUDA arrays")
        if surface_access and levels > 1:
            raise TextureError("surface_access: textures with mip levels have no surface")
        full = [int(one) for one in extents] + [1] * (3 - ndim)
        try:
            made = _weft.Texture(
                ndim,
                full,
                int(num_channels),
                types.type_handle(dtype),
                levels,
                bool(normalized_coords),
                filtering == TextureFilterMode.LINEAR,
                between == TextureFilterMode.LINEAR,
                [int(mode) for mode in modes],
                on.ordinal,
                bool(surface_access),
                int(cuda_array),
            )
        except RuntimeError as error:
            raise TextureError(str(error)) from None
        values = self.__dict__
        values.update(
            _texture=made,
            _dtype=dtype,
            _channels=int(num_channels),
            _filter=filtering,
            _mip_filter=between,
            _modes=modes,
            _levels=levels,
            _normalized=bool(normalized_coords),
            _surface_access=bool(surface_access),
            device=on,
            id=made.id,
        )
        values.update(zip(EXTENTS, full[:ndim]))
        _living[made.id] = self
        if texels is not None:
            self._upload(texels)

    @classmethod
    def _address_modes(cls, both: Any, single: tuple[Any, ...]) -> tuple[TextureAddressMode, ...]:
        """For u, v and w; those of axes that are not there are CLAMP."""
        found = []
        for axis in range(3):
            mode = single[axis] if axis < len(single) else None
            if mode is None and isinstance(both, (tuple, list)):
                mode = both[axis] if axis < len(both) else TextureAddressMode.CLAMP
            elif mode is None:
                mode = both
            if axis >= cls._ndim:
                mode = TextureAddressMode.CLAMP
            found.append(mode_of(TextureAddressMode, mode, f"address mode for axis {axis}"))
        return tuple(found)

    @classmethod
    def _wp_empty_(cls) -> Any:
        """What stands for no texture in a struct: samples are zero."""
        made = cls.__new__(cls)
        made.__dict__.update({"id": 0, **{name: 0 for name in EXTENTS[: cls._ndim]}})
        return made

    def _upload(self, texels: Texels) -> None:
        source = texels.as_array()
        if source.device.is_cuda and source.device != self.device:
            source = source.to("cpu")
        self._texture.set_texels(source)
        # Gradients of texels go to the array that they came from.
        own = texels.data
        follows = isinstance(own, array) and own.device == self.device and self._dtype in (types.float32, types.float16)
        self._texture.set_source(own if follows else None)

    def copy_from(self, src: Any) -> None:
        """Copies texels from an array of ours, a NumPy array or another texture of the same shape, dtype and channels.

        Textures with mip levels stay as they were made.
        """
        self._check_copy("copy_from")
        if isinstance(src, Texture):
            self._check_texture(src, "source")
            room = array(shape=self._numbers(), dtype=self._dtype, device=src.device)
            src._texture.get_texels(0, room)
            if room.device.is_cuda and room.device != self.device:
                room = room.to("cpu")
            self._texture.set_texels(room)
            self._texture.set_source(None)
            return
        texels = self._check_array(src, "source")
        self._upload(texels)

    def copy_to(self, dst: Any) -> None:
        """Copies texels to an array of ours, a NumPy array or another texture of the same shape, dtype and channels."""
        self._check_copy("copy_to")
        if isinstance(dst, Texture):
            return dst.copy_from(self)
        texels = self._check_array(dst, "destination")
        if isinstance(texels.data, array) and texels.data.device in (self.device, get_device("cpu")):
            self._texture.get_texels(0, texels.data)
            return None
        room = array(shape=self._numbers(), dtype=self._dtype, device="cpu")
        self._texture.get_texels(0, room)
        if isinstance(texels.data, array):
            texels.data.assign(room.numpy().reshape(texels.data.numpy().shape))
        else:
            texels.data[...] = room.numpy().reshape(texels.data.shape)
        return None

    def _numbers(self) -> int:
        return self.width * self.height * self.depth * self._channels

    def _shape(self) -> tuple[int, ...]:
        return tuple(self.__dict__[name] for name in reversed(EXTENTS[: self._ndim]))

    def _check_copy(self, name: str) -> None:
        if not self.__dict__["id"] or "_texture" not in self.__dict__:
            raise TextureError(f"{name}: there is no texture here")
        if self._levels > 1:
            raise TextureError(
                f"{name} is not supported for mipmapped textures; mipmap contents are immutable after construction"
            )

    def _check_texture(self, other: Texture, role: str) -> None:
        if other.is_mipmapped:
            raise TextureError(f"a {role} with mip levels can't be copied")
        if other._shape() != self._shape():
            raise TextureError(
                f"Incompatible texture shapes for copy: destination shape={self._shape()}, source shape={other._shape()}"
            )
        if other._dtype is not self._dtype or other._channels != self._channels:
            raise TextureError(
                f"Incompatible texture data types for copy: destination dtype={self._dtype.__name__}, "
                f"source dtype={other._dtype.__name__}, destination channels={self._channels}, "
                f"source channels={other._channels}"
            )

    def _check_array(self, data: Any, role: str) -> Texels:
        texels = Texels(data, self._ndim, role)
        if not texels.contiguous:
            raise TextureError(f"{role.capitalize()} array must be contiguous")
        if tuple(reversed(texels.extents)) != self._shape():
            raise TextureError(
                f"Incompatible array shape for copy: texture shape={self._shape()}, "
                f"{role} shape={tuple(reversed(texels.extents))}"
            )
        if texels.dtype is not self._dtype or texels.channels != self._channels:
            raise TextureError(
                f"Incompatible array data type for copy: texture dtype={self._dtype.__name__}, "
                f"{role} dtype={texels.dtype.__name__}, texture channels={self._channels}, {role} channels={texels.channels}"
            )
        return texels

    def to(self, device: Any) -> Any:
        """The texture on a device: itself if it lies there, else another one with the same texels."""
        on = get_device(device)
        if not self.__dict__["id"] or on == self.device:
            return self
        room = array(shape=self._numbers(), dtype=self._dtype, device=self.device)
        self._texture.get_texels(0, room)
        shape = (*self._shape(), self._channels)
        made = type(self).__new__(type(self))
        made._make(
            room.numpy().reshape(shape),
            (0,) * self._ndim,
            0,
            None,
            self._filter,
            self._modes,
            (),
            self._normalized,
            self._levels,
            self._mip_filter,
            on,
            self._surface_access,
            0,
        )
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"property '{name}' of '{type(self).__name__}' object has no setter")

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict) -> Any:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} can't be pickled: it lives on a device")

    def __repr__(self) -> str:
        if "_texture" not in self.__dict__:
            return f"{type(self).__name__}()"
        return (
            f"{type(self).__name__}(shape={self._shape()}, num_channels={self._channels}, dtype={self._dtype.__name__}, "
            f"device={str(self.device)!r})"
        )

    __str__ = __repr__

    @property
    def id(self) -> int:
        """The number by which kernels know the texture."""
        return self.__dict__["id"]

    @property
    def ndim(self) -> int:
        """1, 2 or 3."""
        return self._ndim

    @property
    def width(self) -> int:
        """Texels along u."""
        return self.__dict__["width"]

    @property
    def height(self) -> int:
        """Texels along v; 1 for textures of one dimension."""
        return self.__dict__.get("height", 1)

    @property
    def depth(self) -> int:
        """Texels along w; 1 for textures of one or two dimensions."""
        return self.__dict__.get("depth", 1)

    @property
    def num_channels(self) -> int:
        """Numbers in a texel: 1, 2 or 4."""
        return self._channels

    @property
    def dtype(self) -> Any:
        """The type of these numbers."""
        return self._dtype

    @property
    def filter_mode(self) -> TextureFilterMode:
        """How it is read between texels."""
        return self._filter

    @property
    def mip_filter_mode(self) -> TextureFilterMode:
        """How it is read between mip levels."""
        return self._mip_filter

    @property
    def num_mip_levels(self) -> int:
        """How many levels there are; 1 without further ones."""
        return self._levels

    @property
    def is_mipmapped(self) -> bool:
        """Whether it has more than one level."""
        return self._levels > 1

    @property
    def address_mode_u(self) -> TextureAddressMode:
        """What lies beyond the edges along u."""
        return self._modes[0]

    @property
    def address_mode_v(self) -> TextureAddressMode:
        """What lies beyond the edges along v."""
        return self._modes[1]

    @property
    def address_mode_w(self) -> TextureAddressMode:
        """What lies beyond the edges along w."""
        return self._modes[2]

    @property
    def normalized_coords(self) -> bool:
        """Whether coordinates are 0…1, else they count texels."""
        return self._normalized

    @property
    def cuda_array(self) -> int:
        """The CUDA array that holds the texels: a texture on a CUDA device, without mip levels."""
        self._need_cuda("cuda_array")
        if self._levels > 1:
            raise TextureError("cuda_array: a texture with mip levels has one for each of them")
        return self._texture.array

    @property
    def cuda_texture(self) -> int:
        """The CUDA texture object."""
        self._need_cuda("cuda_texture")
        return self._texture.object

    @property
    def cuda_surface(self) -> int:
        """The CUDA surface object of a texture that was made with `surface_access`; it is made when first asked for."""
        self._need_cuda("cuda_surface")
        if not self._surface_access:
            raise TextureError("cuda_surface: make the texture with surface_access=True")
        return self._texture.surface

    def _need_cuda(self, name: str) -> None:
        if not self.device.is_cuda:
            raise TextureError(f"{name} is only supported for CUDA textures; this one is on {self.device}")


def _fields(name: str) -> tuple[_weft.Type, dict[str, Field]]:
    """The library's struct of this name."""
    handle = _weft.library_struct(name)[0]
    fields = {label: Field(label, field, field) for label, field, _ in handle.fields}
    for field, (_, _, offset) in zip(fields.values(), handle.fields):
        field.offset = offset
    return handle, fields


class _TextureMeta(Struct):
    """Values that come out of memory are the textures that the program made, where these live."""

    def from_bytes(cls, data: bytes, offset: int = 0) -> Any:
        read = super().from_bytes(data, offset)
        return _living.get(read.__dict__["id"], read)


class Texture1D(Texture, metaclass=_TextureMeta):
    """A row of texels that kernels sample: `wp.texture_sample(tex, u, dtype=float)`.

    Args:
        data: texels, an array of ours or NumPy's of the shape `(width,)` or `(width, channels)`; None: zeros.
        width: texels, where there is no data.
        num_channels: numbers in a texel: 1, 2 or 4.
        dtype: uint8, uint16, int8, int16 (samples are 0…1 or -1…1), float16, float32, uint32 or int32 (never mixed).
        filter_mode: between texels; LINEAR unless they are whole numbers of 32 bits.
        address_mode: what lies beyond the edges.
        address_mode_u: the same, for one axis.
        normalized_coords: whether coordinates are 0…1; else they count texels.
        num_mip_levels: how many levels, each half as wide as the one before; 0: all of them.
        mip_filter_mode: between levels.
        device: where it lives; by default that of the data.
        surface_access: whether CUDA code of others may write to it through a surface object.
        cuda_array: a CUDA array of others to be used as it is, of this shape.
    """

    _ndim = 1
    _wp_type_, _wp_fields_ = _fields("Texture1D")
    _wp_class_ = Texture

    def __init__(
        self,
        data: Any = None,
        width: int = 0,
        num_channels: int = 0,
        dtype: Any = None,
        filter_mode: TextureFilterMode | None = None,
        address_mode: Any = TextureAddressMode.CLAMP,
        address_mode_u: TextureAddressMode | None = None,
        normalized_coords: bool = True,
        num_mip_levels: int = 1,
        mip_filter_mode: TextureFilterMode | None = None,
        device: Any = None,
        surface_access: bool = False,
        cuda_array: int = 0,
    ) -> None:
        self._make(
            data,
            (width,),
            num_channels,
            dtype,
            filter_mode,
            address_mode,
            (address_mode_u,),
            normalized_coords,
            num_mip_levels,
            mip_filter_mode,
            device,
            surface_access,
            cuda_array,
        )


class Texture2D(Texture, metaclass=_TextureMeta):
    """An image that kernels sample: `wp.texture_sample(tex, wp.vec2(u, v), dtype=wp.vec4)`.

    Args:
        data: texels, an array of ours or NumPy's of the shape `(height, width)` or `(height, width, channels)`; None: zeros.
        width: texels along u, where there is no data.
        height: texels along v.
        num_channels: numbers in a texel: 1, 2 or 4.
        dtype: uint8, uint16, int8, int16 (samples are 0…1 or -1…1), float16, float32, uint32 or int32 (never mixed).
        filter_mode: between texels; LINEAR unless they are whole numbers of 32 bits.
        address_mode: what lies beyond the edges; one for each axis, or one for all.
        address_mode_u: the same, for one axis.
        address_mode_v: the same, for one axis.
        normalized_coords: whether coordinates are 0…1; else they count texels.
        num_mip_levels: how many levels, each half as large as the one before; 0: all of them.
        mip_filter_mode: between levels.
        device: where it lives; by default that of the data.
        surface_access: whether CUDA code of others may write to it through a surface object.
        cuda_array: a CUDA array of others to be used as it is, of this shape.
    """

    _ndim = 2
    _wp_type_, _wp_fields_ = _fields("Texture2D")
    _wp_class_ = Texture

    def __init__(
        self,
        data: Any = None,
        width: int = 0,
        height: int = 0,
        num_channels: int = 0,
        dtype: Any = None,
        filter_mode: TextureFilterMode | None = None,
        address_mode: Any = TextureAddressMode.CLAMP,
        address_mode_u: TextureAddressMode | None = None,
        address_mode_v: TextureAddressMode | None = None,
        normalized_coords: bool = True,
        num_mip_levels: int = 1,
        mip_filter_mode: TextureFilterMode | None = None,
        device: Any = None,
        surface_access: bool = False,
        cuda_array: int = 0,
    ) -> None:
        self._make(
            data,
            (width, height),
            num_channels,
            dtype,
            filter_mode,
            address_mode,
            (address_mode_u, address_mode_v),
            normalized_coords,
            num_mip_levels,
            mip_filter_mode,
            device,
            surface_access,
            cuda_array,
        )


class Texture3D(Texture, metaclass=_TextureMeta):
    """A block of texels that kernels sample: `wp.texture_sample(tex, wp.vec3(u, v, w), dtype=float)`.

    Args:
        data: texels, an array of ours or NumPy's of the shape `(depth, height, width)`, channels last; None: zeros.
        width: texels along u, where there is no data.
        height: texels along v.
        depth: texels along w.
        num_channels: numbers in a texel: 1, 2 or 4.
        dtype: uint8, uint16, int8, int16 (samples are 0…1 or -1…1), float16, float32, uint32 or int32 (never mixed).
        filter_mode: between texels; LINEAR unless they are whole numbers of 32 bits.
        address_mode: what lies beyond the edges; one for each axis, or one for all.
        address_mode_u: the same, for one axis.
        address_mode_v: the same, for one axis.
        address_mode_w: the same, for one axis.
        normalized_coords: whether coordinates are 0…1; else they count texels.
        num_mip_levels: how many levels, each half as large as the one before; 0: all of them.
        mip_filter_mode: between levels.
        device: where it lives; by default that of the data.
        surface_access: whether CUDA code of others may write to it through a surface object.
        cuda_array: a CUDA array of others to be used as it is, of this shape.
    """

    _ndim = 3
    _wp_type_, _wp_fields_ = _fields("Texture3D")
    _wp_class_ = Texture

    def __init__(
        self,
        data: Any = None,
        width: int = 0,
        height: int = 0,
        depth: int = 0,
        num_channels: int = 0,
        dtype: Any = None,
        filter_mode: TextureFilterMode | None = None,
        address_mode: Any = TextureAddressMode.CLAMP,
        address_mode_u: TextureAddressMode | None = None,
        address_mode_v: TextureAddressMode | None = None,
        address_mode_w: TextureAddressMode | None = None,
        normalized_coords: bool = True,
        num_mip_levels: int = 1,
        mip_filter_mode: TextureFilterMode | None = None,
        device: Any = None,
        surface_access: bool = False,
        cuda_array: int = 0,
    ) -> None:
        self._make(
            data,
            (width, height, depth),
            num_channels,
            dtype,
            filter_mode,
            address_mode,
            (address_mode_u, address_mode_v, address_mode_w),
            normalized_coords,
            num_mip_levels,
            mip_filter_mode,
            device,
            surface_access,
            cuda_array,
        )


for _cls in (Texture1D, Texture2D, Texture3D):
    _struct._classes[_cls._wp_type_] = _cls
    _struct._library[_cls.__name__] = _cls
