"""The scalar types in NumPy: how arrays store them, their values in float64, rounding, special values."""

from __future__ import annotations

import numpy as np

import warp as wp

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
LARGEST = {
    "float16": 65504.0,
    "bfloat16": 255 * 2.0**120,
    "float32": 2.0**128 - 2.0**104,
    "float64": 1.7976931348623157e308,
}
SMALLEST_NORMAL = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}


def type_of(kind: str) -> type:
    return getattr(wp, kind)


def storage(kind: str) -> np.dtype:
    """How NumPy holds it; bfloat16 as its bits."""
    return np.dtype({"bool": np.bool_, "bfloat16": np.uint16}.get(kind) or getattr(np, kind))


def bits_of_bfloats(held: np.ndarray) -> np.ndarray:
    """As `storage` says, also where ml_dtypes is installed and gives NumPy a bfloat16."""
    return held.view(np.uint16) if held.dtype.name == "bfloat16" else held


def is_float(kind: str) -> bool:
    return kind in FLOATS


def stored(values: np.ndarray, kind: str) -> np.ndarray:
    """Values as an array of the kind holds them; 16-bit floats are rounded from float32, as the language does."""
    with np.errstate(over="ignore", invalid="ignore"):
        if kind == "float16":
            return np.asarray(values).astype(np.float32).astype(np.float16)
        if kind == "bfloat16":
            bits = np.ascontiguousarray(np.asarray(values).astype(np.float32)).view(np.uint32)
            up = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
            return np.where((bits & np.uint32(0x7FFFFFFF)) > 0x7F800000, 0x7FC0, up).astype(np.uint16)
        return np.asarray(values).astype(storage(kind))


def widened(held: np.ndarray, kind: str) -> np.ndarray:
    """Floats in float64, all others as they are."""
    if kind == "bfloat16":
        return (held.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return held.astype(np.float64) if is_float(kind) else held


def spacing(values: np.ndarray, kind: str) -> np.ndarray:
    """The distance of neighbouring numbers of the kind around values."""
    size = np.maximum(np.abs(values), SMALLEST_NORMAL[kind])
    return np.exp2(np.floor(np.log2(size))) * EPS[kind]


def special_values(kind: str) -> np.ndarray:
    """Zeros, infinities, NaN, denormals, the largest numbers; the ends of integer types."""
    if is_float(kind):
        tiny = SMALLEST_NORMAL[kind]
        sizes = [
            0.0,
            1.0,
            0.5,
            2.5,
            np.inf,
            LARGEST[kind],
            tiny,
            tiny - tiny * EPS[kind],
            tiny * EPS[kind],
            1 + EPS[kind],
        ]
        return stored(np.array([*sizes, *(-s for s in sizes), np.nan]), kind)
    if kind == "bool":
        return np.array([False, True])
    info = np.iinfo(storage(kind))
    values = {info.min, info.min + 1, -1, 0, 1, 2, info.bits - 1, info.bits, info.max - 1, info.max}
    return np.array(sorted(v for v in values if info.min <= v <= info.max), dtype=storage(kind))
