"""Copies and fills of every element type between all layouts, in all directions: host, page-locked host and GPU."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import warp as wp


@wp.struct
class Inner:
    v: wp.vec3
    h: wp.float16


@wp.struct
class Mixed:
    a: wp.int8
    b: wp.float64
    inner: Inner
    m: wp.mat22


SCALARS = [wp.bool, wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64]
SCALARS += [wp.float16, wp.bfloat16, wp.float32, wp.float64]
VECTORS = [wp.vec2h, wp.vec3, wp.vec3d, wp.vec4, wp.vec3ub, wp.types.vector(5, wp.float64), wp.spatial_vector]
MATRICES = [wp.mat22, wp.mat33d, wp.mat44, wp.types.matrix((3, 2), wp.float16), wp.spatial_matrix]
TYPES = [*SCALARS, *VECTORS, *MATRICES, wp.quat, wp.quatd, wp.transform, Mixed]

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "packed": lambda a: a,
    "columns": lambda a: a[:, ::2],
    "rows": lambda a: a[1::2],
    "both": lambda a: a[::3, 1::2],
    "one": lambda a: a[2:3, 3:4],
    "none": lambda a: a[3:3],
    "turned": lambda a: a.transpose() if isinstance(a, wp.array) else a.swapaxes(0, 1),
}


def made(dtype: type, seed: int, shape: tuple[int, ...] = (6, 8), device: str = "cpu", pinned: bool = False) -> tuple:
    """An array of small numbers, and the same as NumPy has it."""
    zeros = wp.zeros(shape, dtype=dtype, device="cpu").numpy()
    random = np.random.default_rng(seed)
    values = np.zeros(zeros.shape, zeros.dtype)
    if values.dtype.names:
        values["a"], values["b"] = random.integers(-9, 9, shape), random.integers(-9, 9, shape)
        values["inner"]["v"], values["m"] = random.integers(-9, 9, (*shape, 3)), random.integers(-9, 9, (*shape, 2, 2))
    else:
        values[...] = random.integers(0, 2 if values.dtype == bool else 100, zeros.shape)
    array = wp.zeros(shape, dtype=dtype, device=device, pinned=pinned)
    array.assign(wp.array(values, dtype=dtype, device="cpu"))
    return array, values


def places() -> list[tuple[str, bool]]:
    return [("cpu", False)] if wp.get_device().is_cpu else [("cpu", False), ("cpu", True), ("cuda:0", False)]


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.__name__)
def test_copies(dtype):
    for (source, locked), (target, there) in itertools.product(places(), places()):
        for way_from, way_to in itertools.product(LAYOUTS, LAYOUTS):
            a, known_a = made(dtype, 1, device=source, pinned=locked)
            b, known_b = made(dtype, 2, device=target, pinned=there)
            seen_a, seen_b = LAYOUTS[way_from](a), LAYOUTS[way_to](b)
            if seen_a.shape != seen_b.shape:
                continue
            wp.copy(seen_b, seen_a)
            LAYOUTS[way_to](known_b)[...] = LAYOUTS[way_from](known_a)
            wp.synchronize()
            assert np.array_equal(b.numpy(), known_b), (source, locked, way_from, target, there, way_to)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.__name__)
def test_ranges(dtype):
    for (source, locked), (target, there) in itertools.product(places(), places()):
        a, known_a = made(dtype, 3, (20,), source, locked)
        b, known_b = made(dtype, 4, (17,), target, there)
        wp.copy(b, a, dest_offset=5, src_offset=9, count=7)
        known_b[5:12] = known_a[9:16]
        for wrong in ({"dest_offset": 11, "count": 7}, {"src_offset": 14, "count": 7}):
            with pytest.raises(RuntimeError):
                wp.copy(b, a, **wrong)
        wp.synchronize()
        assert np.array_equal(b.numpy(), known_b)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.__name__)
def test_fills(dtype, device):
    value, known_value = made(dtype, 5, (1,))
    given = value.list()[0] if dtype is not wp.bfloat16 else 3.0
    filled = wp.array([given], dtype=dtype, device="cpu").numpy()[0]
    for way in LAYOUTS:
        for fill in (True, False):
            a, known = made(dtype, 6, device=device.alias)
            seen = LAYOUTS[way](a)
            if fill:
                seen.fill_(given)
            else:
                seen.zero_()
            LAYOUTS[way](known)[...] = filled if fill else np.zeros((), known.dtype)
            assert np.array_equal(a.numpy(), known), (way, fill)


def test_copies_that_overlap():
    a = wp.array(np.arange(100), dtype=float)
    wp.copy(a[10:60], a[0:50])
    known = np.arange(100)
    known[10:60] = np.arange(50)
    assert np.array_equal(a.numpy(), known)


def test_four_dimensions():
    known = np.arange(3 * 4 * 5 * 6, dtype=np.int16).reshape(3, 4, 5, 6)
    a = wp.array(known, dtype=wp.int16)
    part = a[::2, 1:4:2, :, ::3]
    assert np.array_equal(part.numpy(), known[::2, 1:4:2, :, ::3])
    turned = a.transpose((3, 1, 0, 2))
    turned[1:, :, :, ::2].fill_(-1)
    known.transpose(3, 1, 0, 2)[1:, :, :, ::2] = -1
    assert np.array_equal(a.numpy(), known) and np.array_equal(turned.numpy(), known.transpose(3, 1, 0, 2))
