"""Textures in plain NumPy, in double: what the tests of textures compare with."""

from __future__ import annotations

import itertools

import numpy as np
import warp as wp

WRAP, CLAMP, MIRROR, BORDER = wp.TextureAddressMode


def normalized(texels: np.ndarray) -> np.ndarray:
    """Texels as samples see them."""
    if texels.dtype.kind in "iu" and texels.dtype.itemsize < 4:
        return np.maximum(texels / np.iinfo(texels.dtype).max, -1.0)
    return texels.astype(float)


def chain(texels: np.ndarray, ndim: int, levels: int) -> list[np.ndarray]:
    """Mip levels: means of two along each axis that has two."""
    out = [texels]
    for _ in range(levels - 1):
        wide = out[-1].astype(float)
        for axis in range(ndim):
            n = wide.shape[axis]
            if n > 1:
                pairs = np.take(wide, range(n // 2 * 2), axis)
                wide = (np.take(pairs, range(0, n // 2 * 2, 2), axis) + np.take(pairs, range(1, n // 2 * 2, 2), axis)) / 2
        out.append((np.rint(wide) if texels.dtype.kind in "iu" else wide).astype(texels.dtype))
    return out


def _place(u: float, extent: int, period: float, mode: int) -> float:
    if mode in (WRAP, MIRROR):
        turns = np.floor(u / period)
        u = u - turns * period
        if mode == MIRROR and turns % 2:
            u = period - u
    return u / period * extent


def _texel(level: np.ndarray, index: tuple[int, ...], modes: tuple[int, ...], ndim: int) -> np.ndarray:
    """By axes of coordinates: the last one of the array comes first."""
    at = []
    for axis, (i, mode) in enumerate(zip(index, modes)):
        n = level.shape[ndim - 1 - axis]
        if mode == BORDER and not 0 <= i < n:
            return np.zeros(level.shape[-1])
        at.append(i % n if mode == WRAP else min(max(i, 0), n - 1))
    return level[tuple(reversed(at))]


def _level(level: np.ndarray, place: np.ndarray, base: tuple[int, ...], tex: wp.Texture) -> np.ndarray:
    ndim = tex.ndim
    modes = (tex.address_mode_u, tex.address_mode_v, tex.address_mode_w)[:ndim]
    xs = []
    for axis in range(ndim):
        period = 1.0 if tex.normalized_coords else float(base[ndim - 1 - axis])
        xs.append(_place(float(place[axis]), level.shape[ndim - 1 - axis], period, modes[axis]))
    if tex.filter_mode == wp.TextureFilterMode.CLOSEST:
        return _texel(level, tuple(int(np.floor(x)) for x in xs), modes, ndim)
    total = np.zeros(level.shape[-1])
    low = [int(np.floor(x - 0.5)) for x in xs]
    part = [x - 0.5 - i for x, i in zip(xs, low)]
    for corner in itertools.product((0, 1), repeat=ndim):
        weight = np.prod([p if c else 1 - p for p, c in zip(part, corner)])
        total += weight * _texel(level, tuple(i + c for i, c in zip(low, corner)), modes, ndim)
    return total


def sample(tex: wp.Texture, texels: np.ndarray, places: np.ndarray, lod: float = -1.0) -> np.ndarray:
    """Samples of all channels at places, one a row."""
    if texels.ndim == tex.ndim:
        texels = texels[..., None]
    levels = [normalized(one) for one in chain(texels, tex.ndim, tex.num_mip_levels)]
    detail = min(max(lod, 0.0), len(levels) - 1)
    out = []
    for place in np.atleast_2d(places.T).T:
        if tex.mip_filter_mode == wp.TextureFilterMode.LINEAR:
            n = int(detail)
            value = _level(levels[n], place, texels.shape, tex)
            if detail > n:
                value = value + (detail - n) * (_level(levels[n + 1], place, texels.shape, tex) - value)
        else:
            value = _level(levels[int(np.floor(detail + 0.5))], place, texels.shape, tex)
        out.append(value)
    return np.array(out)
