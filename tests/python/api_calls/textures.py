"""Calls of textures."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp

from . import calls, members

_MEMBERS = (
    *("copy_from", "copy_to", "ndim", "width", "height", "depth", "num_channels", "dtype", "filter_mode"),
    *("mip_filter_mode", "num_mip_levels", "is_mipmapped", "address_mode_u", "address_mode_v", "address_mode_w"),
    *("normalized_coords", "id", "cuda_array", "cuda_texture", "cuda_surface", "__ctype__"),
)


@wp.kernel
def sample_row(tex: wp.Texture1D, out: wp.array(dtype=float)):
    out[0] = wp.texture_sample(tex, 0.5, dtype=float)


def _all_of_it(tex: wp.Texture, extents: tuple[int, int, int], texels: np.ndarray) -> None:
    assert (tex.width, tex.height, tex.depth) == extents and tex.ndim == texels.ndim
    assert tex.num_channels == 1 and tex.dtype is wp.float32 and tex.id != 0 and tex.normalized_coords
    assert tex.filter_mode == tex.mip_filter_mode == wp.TextureFilterMode.LINEAR
    assert tex.num_mip_levels == 1 and not tex.is_mipmapped
    assert tex.address_mode_u == wp.TextureAddressMode.WRAP
    assert tex.address_mode_v == tex.address_mode_w == wp.TextureAddressMode.CLAMP
    back = np.zeros_like(texels)
    tex.copy_from(texels + 1.0)
    tex.copy_to(back)
    assert (back == texels + 1.0).all()
    for name in ("cuda_array", "cuda_texture", "cuda_surface"):
        with pytest.raises(RuntimeError, match=name):
            getattr(tex, name)
    assert tex.__ctype__().width == tex.width


@calls("Texture1D", "TextureFilterMode", "TextureFilterMode.LINEAR", "TextureFilterMode.CLOSEST")
@members("Texture1D", *_MEMBERS)
def a_row() -> None:
    texels = np.arange(4, dtype=np.float32)
    tex = wp.Texture1D(texels, address_mode=wp.TextureAddressMode.WRAP, device="cpu")
    out = wp.zeros(1, dtype=float, device="cpu")
    wp.launch(sample_row, 1, [tex], [out], device="cpu")
    assert out.list() == [1.5]
    _all_of_it(tex, (4, 1, 1), texels)


@calls("Texture2D", "TextureAddressMode.WRAP", "TextureAddressMode.CLAMP", "TextureAddressMode.MIRROR", "TextureAddressMode.BORDER")
@members("Texture2D", *_MEMBERS)
def an_image() -> None:
    texels = np.arange(12, dtype=np.float32).reshape(3, 4)
    tex = wp.Texture2D(texels, address_mode_u=wp.TextureAddressMode.WRAP, device="cpu")
    _all_of_it(tex, (4, 3, 1), texels)


@calls("Texture3D")
@members("Texture3D", *_MEMBERS)
def a_block() -> None:
    texels = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    tex = wp.Texture3D(texels, address_mode_u=wp.TextureAddressMode.WRAP, device="cpu")
    _all_of_it(tex, (4, 3, 2), texels)
