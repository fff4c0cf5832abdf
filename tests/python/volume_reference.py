"""NanoVDB grids read in plain Python, by what the format's documents say: for comparison with wp.Volume."""

from __future__ import annotations

import struct
import zlib

import numpy as np

TYPES = {
    1: (np.float32, 1),
    2: (np.float64, 1),
    4: (np.int32, 1),
    5: (np.int64, 1),
    6: (np.float32, 3),
    7: (np.float64, 3),
    10: (np.uint32, 1),
    17: (np.float32, 4),
    18: (np.float64, 4),
}
"""Scalars and their number in a voxel, by the number of the grid's type."""
ON_INDEX = 20


def _round_up(n: int, unit: int) -> int:
    return -(-n // unit) * unit


class Grid:
    """A grid: `value(i, j, k)`, `index(i, j, k)`, and what its header says."""

    def __init__(self, data: bytes):
        self.data = data
        u32, u64 = self._u32, self._u64
        self.type, self.bytes, self.voxel_count = u32(636), u64(32), u64(672 + 56)
        self.matrix = np.frombuffer(data, np.float64, 9, 296 + 88).reshape(3, 3)
        self.translation = np.frombuffer(data, np.float64, 3, 296 + 232)
        self.scalar, self.width = TYPES.get(self.type, (np.uint64, 1))
        size = np.dtype(self.scalar).itemsize
        value, align = size * self.width, size
        statistic = 8 if align == 8 else 4
        self.value_bytes = value
        # Root: box, count of tiles, background, minimum, maximum, average, deviation.
        self.background_at = _round_up(28, align)
        after = _round_up(self.background_at + 3 * value, statistic) + 2 * statistic
        self.root_bytes = _round_up(after, 32)
        self.tile_value = _round_up(20, align)
        self.tile_bytes = _round_up(self.tile_value + value, 32)
        self.stride = max(8, _round_up(value, 8))
        statistics = lambda start: _round_up(_round_up(start + 2 * value, statistic) + 2 * statistic, 32)  # noqa: E731
        self.upper_table, self.lower_table = statistics(8224), statistics(1056)
        self.leaf_table = _round_up(_round_up(80 + 2 * value, statistic) + 2 * statistic, 32)
        self.leaf_count = u32(672 + 32)
        self.first_leaf = 672 + u64(672)
        self.root = 672 + u64(672 + 24)

    def _u32(self, at: int) -> int:
        return struct.unpack_from("<I", self.data, at)[0]

    def _u64(self, at: int) -> int:
        return struct.unpack_from("<Q", self.data, at)[0]

    def _value_at(self, at: int):
        numbers = np.frombuffer(self.data, self.scalar, self.width, at)
        return numbers[0] if self.width == 1 else numbers

    def _place(self, i: int, j: int, k: int) -> tuple[int, bool]:
        m = 0xFFFFFFFF
        key = ((k & m) >> 12) | ((j & m) >> 12) << 21 | ((i & m) >> 12) << 42
        for t in range(self._u32(self.root + 24)):
            tile = self.root + self.root_bytes + t * self.tile_bytes
            if self._u64(tile) != key:
                continue
            if not self._u64(tile + 8):
                return tile + self.tile_value, False
            upper = self.root + self._u64(tile + 8)
            n = ((i & 4095) >> 7) << 10 | ((j & 4095) >> 7) << 5 | (k & 4095) >> 7
            entry = upper + self.upper_table + n * self.stride
            if not self.data[upper + 32 + 4096 + n // 8] >> n % 8 & 1:
                return entry, False
            lower = upper + self._u64(entry)
            n = ((i & 127) >> 3) << 8 | ((j & 127) >> 3) << 4 | (k & 127) >> 3
            entry = lower + self.lower_table + n * self.stride
            if not self.data[lower + 32 + 512 + n // 8] >> n % 8 & 1:
                return entry, False
            return lower + self._u64(entry), True
        return self.root + self.background_at, False

    def value(self, i: int, j: int, k: int):
        at, leaf = self._place(i, j, k)
        n = (i & 7) << 6 | (j & 7) << 3 | k & 7
        return self._value_at(at + self.leaf_table + n * self.value_bytes if leaf else at)

    def index(self, i: int, j: int, k: int) -> int:
        at, leaf = self._place(i, j, k)
        n = (i & 7) << 6 | (j & 7) << 3 | k & 7
        if self.type != ON_INDEX:
            leaf_bytes = self.leaf_table + 512 * self.value_bytes
            return (at - self.first_leaf) // leaf_bytes * 512 + n if leaf else -1
        if not leaf:
            return self._u64(at) - 1
        bits = int.from_bytes(self.data[at + 16 : at + 80], "little")
        if not bits >> n & 1:
            return -1
        return self._u64(at + 80) + bin(bits & ((1 << n) - 1)).count("1") - 1

    def closest(self, uvw) -> object:
        return self.value(*(int(np.sign(x) * np.floor(abs(x) + 0.5)) for x in uvw))

    def linear(self, uvw):
        """By float64, without regard to the order of additions."""
        base = np.floor(np.asarray(uvw, dtype=np.float64))
        w = np.asarray(uvw, dtype=np.float64) - base
        i, j, k = (int(x) for x in base)
        total = 0.0
        for c in range(8):
            a, b, d = c >> 2, c >> 1 & 1, c & 1
            weight = (w[0] if a else 1 - w[0]) * (w[1] if b else 1 - w[1]) * (w[2] if d else 1 - w[2])
            total = total + weight * np.asarray(self.value(i + a, j + b, k + d), dtype=np.float64)
        return total


def grids_of(file: bytes) -> list[Grid]:
    """The grids of a file that is not compressed, or by zip."""
    out, at = [], 0
    while at < len(file):
        count, codec = struct.unpack_from("<HH", file, at + 12)
        at += 16
        sizes = []
        for _ in range(count):
            sizes.append(struct.unpack_from("<QQ", file, at))
            at += 176 + struct.unpack_from("<I", file, at + 136)[0]
        for size, stored in sizes:
            data = file[at : at + stored] if codec == 0 else zlib.decompress(file[at + 8 : at + stored])
            assert len(data) == size
            out.append(Grid(data))
            at += stored
    return out
