"""Files and buffers that are broken: each is an error that says where and what, and none is believed."""

from __future__ import annotations

import os
import re
import struct
import sys
import tempfile
import types as pytypes
import zlib

import numpy as np
import pytest
from test_volume import made, saved
from test_volume_index import some_voxels, sparse

import warp as wp

HEADER, META = 16, 176
NAME = 1  # of a grid without one
GRID = HEADER + META + NAME
ROOT = 672 + 64


def changed(data: bytes, at: int, form: str, *values) -> bytes:
    out = bytearray(data)
    struct.pack_into("<" + form, out, at, *values)
    return bytes(out)


def load(data: bytes) -> wp.Volume:
    """From bytes and from a path, alike; errors name the source, the byte and what was expected there."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "broken.nvdb")
        with open(path, "wb") as out:
            out.write(data)
        try:
            volume = wp.Volume.load_from_nvdb(data, device="cpu")
        except RuntimeError as error:
            said = str(error)
            if "module 'blosc'" not in said:
                assert re.fullmatch(r"(Invalid NanoVDB grid structure: )?the buffer(, .*)?, byte \d+: .*expected.*", said), said
            with pytest.raises(RuntimeError) as by_path:
                wp.Volume.load_from_nvdb(path, device="cpu")
            assert str(by_path.value) == said.replace("the buffer", path)
            raise
        again = wp.Volume.load_from_nvdb(path, device="cpu")
    assert again.array().numpy().tobytes() == volume.array().numpy().tobytes()
    assert again.array().ptr % 32 == 0
    return volume


@pytest.fixture(scope="module")
def file() -> bytes:
    with wp.ScopedDevice("cpu"):
        return made(wp.float32)[1]


@pytest.mark.parametrize(
    "at, form, value, text",
    [
        (0, "Q", 1, "byte 0: expected the magic number"),
        (8, "I", 31 << 21, "byte 8: this file is of NanoVDB 31.0.0, expected version 32"),
        (12, "H", 0, "byte 12: expected a segment of at least one grid"),
        (12, "H", 65535, "byte"),
        (14, "H", 3, "byte 14: codec 3, expected 0 \\(none\\), 1 \\(zip\\) or 2 \\(blosc\\)"),
        (14, "H", 1, "byte 184: the grid has codec 0, expected that of its segment, 1"),
        (16, "Q", 100, "byte 16: a grid of 100 bytes is too small"),
        (16, "Q", 2**62, "in the file and 4611686018427387904 in memory"),
        (24, "Q", 2**62, "byte 24: a grid that is not compressed has"),
        (16 + 136, "I", 2**32 - 1, "expected the name of a grid"),
    ],
)
def test_headers_of_files(file: bytes, at: int, form: str, value: int, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        load(changed(file, at, form, value))


@pytest.mark.parametrize(
    "at, form, value, text",
    [
        (0, "Q", 5, "byte 0: expected the magic number of a NanoVDB grid"),
        (16, "I", 33 << 21, "byte 16: a grid of NanoVDB 33.0, expected version 32"),
        (32, "Q", 64, "byte 32: the grid says that it has 64 bytes"),
        (40, "256s", b"x" * 256, "byte 40: the name of this grid has no end"),
        (636, "I", 0, "Invalid NanoVDB grid structure: .*byte 636: 0 is no type of grids"),
        (636, "I", 99, "byte 636: 99 is no type of grids"),
        (636, "I", 6, "leaves of 6272 bytes don't fit|begins inside of|does not lead"),
        (648, "I", 1, "byte 640: the descriptions of 1 features"),
        (672, "Q", 2**63, "byte 672: leaves can't begin"),
        (672, "Q", 65, "byte 672: leaves can't begin 65 bytes"),
        (672, "Q", 64, "begins inside of"),
        (672 + 8, "Q", 2**40, "byte 680: lower nodes can't begin"),
        (672 + 24, "Q", 2**40, "byte 696: the root can't begin"),
        (672 + 32, "I", 2**32 - 1, "leaves are more than indices"),
        (672 + 32, "I", 1000, "1000 leaves of 2144 bytes don't fit"),
        (672 + 32, "I", 1, "does not lead to one of the leaves|are reached by no link"),
        (672 + 36, "I", 2**32 - 1, "lower nodes of 33856 bytes don't fit"),
        (672 + 40, "I", 1, "does not lead to one of the upper nodes"),
        (ROOT + 24, "I", 2**32 - 1, "the root's table of 4294967295 tiles"),
        (ROOT + 24, "I", 1, "of the upper nodes are reached by no link"),
        (ROOT + 64 + 8, "Q", 8, "does not lead to one of the upper nodes"),
        (ROOT + 64 + 8, "Q", 2**63, "does not lead to one of the upper nodes"),
        (ROOT + 64 + 8, "Q", 0, "reached by no link"),
        (ROOT + 64, "Q", 12345, "the leaf's box is not where"),
    ],
)
def test_grids(file: bytes, at: int, form: str, value: object, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        load(changed(file, GRID + at, form, value))


def uppers(file: bytes) -> tuple[int, int, int]:
    """Where the nodes of the three levels begin, in the file."""
    leaf, lower, upper = struct.unpack_from("<QQQ", file, GRID + 672)
    return GRID + 672 + upper, GRID + 672 + lower, GRID + 672 + leaf


def test_links_in_nodes(file: bytes) -> None:
    upper, lower, _ = uppers(file)
    mask = int.from_bytes(file[upper + 4128 : upper + 4128 + 4096], "little")
    slot = mask.bit_length() - 1
    entry = upper + 8256 + 8 * slot
    (link,) = struct.unpack_from("<Q", file, entry)
    for wrong in (0, link + 1, link + 32, 2**62, 2**64 - 270400, 270400 * 3):
        with pytest.raises(RuntimeError, match=f"byte {entry - GRID}: this link"):
            load(changed(file, entry, "Q", wrong))
    # Another child: its entry holds a value, no link.
    other = (slot + 1) % 32768
    word = upper + 4128 + other // 64 * 8
    (bits,) = struct.unpack_from("<Q", file, word)
    with pytest.raises(RuntimeError, match="this link"):
        load(changed(file, word, "Q", bits | 1 << other % 64))
    # A link to a leaf that another one leads to.
    tables = [n for n in range(4096) if file[lower + 544 + n // 8] >> n % 8 & 1]
    if len(tables) > 1:
        first = lower + 1088 + 8 * tables[0]
        with pytest.raises(RuntimeError, match="another one leads to"):
            load(changed(file, lower + 1088 + 8 * tables[1], "Q", struct.unpack_from("<Q", file, first)[0]))


def test_two_tiles_of_one_key(file: bytes) -> None:
    (key,) = struct.unpack_from("<Q", file, GRID + ROOT + 64)
    with pytest.raises(RuntimeError, match="two tiles of the root have one key"):
        load(changed(file, GRID + ROOT + 64 + 32, "Q", key))


def test_leaves_of_index_grids() -> None:
    with wp.ScopedDevice("cpu"):
        data = saved(sparse(some_voxels()))
    _, _, leaf = uppers(data)
    load(data)
    for at, value, text in (
        (80, 0, "first index is 0"),
        (80, 2**40, "larger than 32 bits"),
        (80, 10**6, "the grid counts"),
        (88, 2**63 - 1, "counts of active voxels"),
        (16, 2**64 - 1, "counts of active voxels|the grid counts"),
    ):
        with pytest.raises(RuntimeError, match=text):
            load(changed(data, leaf + at, "Q", value))


def test_every_shorter_file(file: bytes) -> None:
    for size in [*range(0, 900, 37), len(file) // 2, len(file) - 2144, len(file) - 1]:
        with pytest.raises(RuntimeError):
            load(file[:size])
    with pytest.raises(RuntimeError, match="expected the header of a segment|magic"):
        load(file + b"more and more bytes")


def test_buffers() -> None:
    data = made(wp.float32)[0].array().numpy()
    for size in (0, 8, 700, 735, len(data) - 32):
        with pytest.raises(RuntimeError):
            wp.Volume(wp.array(data[:size], dtype=wp.uint8))
    for size in (0, 735, len(data) + 32):
        with pytest.raises(RuntimeError):
            wp.Volume(wp.array(np.frombuffer(changed(data.tobytes(), 32, "Q", size), np.uint8), dtype=wp.uint8))
    for at in (0, 20, 700, 736 + 24):
        broken = data.copy()
        broken[at] ^= 0xFF
        for copy in (True, False):
            if at != 20:  # flags say nothing that is needed
                with pytest.raises(RuntimeError):
                    wp.Volume(wp.array(broken, dtype=wp.uint8), copy=copy)
    longer = wp.array(np.concatenate([data, np.zeros(32, dtype=np.uint8)]), dtype=wp.uint8)
    assert wp.Volume(longer).array().size == len(data)
    shifted = wp.array(np.concatenate([np.zeros(8, dtype=np.uint8), data]), dtype=wp.uint8)[8:]
    assert wp.Volume(shifted).get_tile_count() > 0
    with pytest.raises(RuntimeError, match="multiple of 32"):
        wp.Volume(shifted, copy=False)


# ---- compression -----------------------------------------------------------------------------------------------------


def packed(grid: bytes, stated: int | None = None, codec: int = 1, blocks: list[bytes] | None = None) -> bytes:
    """A file whose grid is compressed."""
    blocks = [zlib.compress(grid)] if blocks is None else blocks
    payload = b"".join(struct.pack("<Q", len(b)) + b for b in blocks)
    meta = bytearray(META)
    struct.pack_into("<QQ", meta, 0, len(grid) if stated is None else stated, len(payload))
    struct.pack_into("<I", meta, 136, 1)
    struct.pack_into("<H", meta, 168, codec)
    return struct.pack("<QIHH", 0x304244566F6E614E, 32 << 21 | 6 << 10, 1, codec) + bytes(meta) + b"\0" + payload


def test_zip(file: bytes) -> None:
    grid = file[GRID:]
    good = packed(grid)
    assert np.array_equal(load(good).array().numpy(), np.frombuffer(grid, np.uint8))
    with pytest.raises(RuntimeError, match="hold more than the stated"):
        load(packed(grid, len(grid) - 32))
    with pytest.raises(RuntimeError, match=f"end after {len(grid)} bytes, expected {len(grid) + 32}"):
        load(packed(grid, len(grid) + 32))
    with pytest.raises(RuntimeError, match="can't hold the 4611686018427387904 that are stated"):
        load(packed(grid, 2**62))
    with pytest.raises(RuntimeError, match="broken compressed data"):
        load(changed(good, GRID + 8 + 20, "Q", 2**63 + 12345))
    with pytest.raises(RuntimeError, match="expected compressed data"):
        load(changed(good, GRID, "Q", 2**60))
    with pytest.raises(RuntimeError, match="left over"):
        load(packed(grid, blocks=[zlib.compress(grid), b"more"]))


def test_a_size_that_is_no_multiple(file: bytes) -> None:
    grid = file[GRID:] + b"\0"
    with pytest.raises(RuntimeError, match=f"byte 32: Invalid NanoVDB grid structure: {len(grid)} bytes, expected a multiple of 32"):
        load(packed(changed(grid, 32, "Q", len(grid))))


def test_a_bomb_is_not_unpacked() -> None:
    """A file of 1 MB that holds 1 GB: what is stated is what is allocated."""
    bomb = zlib.compress(bytes(1 << 30), 1)
    with pytest.raises(RuntimeError, match="hold more than the stated 4096 bytes"):
        load(packed(b"", 4096, blocks=[bomb]))


def fake_blosc() -> pytypes.ModuleType:
    """Stands for the module, with blocks of the same form: size at byte 4."""
    module = pytypes.ModuleType("blosc")
    pad = b"\2\1\0\4"
    module.compress = lambda data, typesize, clevel, cname: pad + struct.pack("<II", len(data), 0) + bytes(4) + zlib.compress(data)
    module.decompress = lambda data: zlib.decompress(data[16:])
    return module


def test_blosc_is_optional(file: bytes, monkeypatch, tmp_path) -> None:
    grid = file[GRID:]
    monkeypatch.setitem(sys.modules, "blosc", None)
    with pytest.raises(RuntimeError, match="Python module 'blosc'"):
        load(packed(grid, codec=2))
    with pytest.raises(RuntimeError, match="Python module 'blosc'"):
        load(file).save_to_nvdb(tmp_path / "no.nvdb", "blosc")
    blosc = fake_blosc()
    monkeypatch.setitem(sys.modules, "blosc", blosc)
    halves = [blosc.compress(grid[:1000], 4, 9, "lz4"), blosc.compress(grid[1000:], 4, 9, "lz4")]
    assert np.array_equal(load(packed(grid, codec=2, blocks=halves)).array().numpy(), np.frombuffer(grid, np.uint8))
    load(file).save_to_nvdb(tmp_path / "yes.nvdb", "blosc")
    assert np.array_equal(load((tmp_path / "yes.nvdb").read_bytes()).array().numpy(), np.frombuffer(grid, np.uint8))
    for blocks in ([halves[0], b"x" * 40], [blosc.compress(bytes(10**6), 4, 9, "lz4")] * 3, [b""]):
        with pytest.raises(RuntimeError, match="Blosc can't unpack|left over|can't hold"):
            load(packed(grid, codec=2, blocks=blocks))


def test_blosc_itself(file: bytes, tmp_path) -> None:
    pytest.importorskip("blosc")
    load(file).save_to_nvdb(tmp_path / "volume.nvdb", "blosc")
    assert np.array_equal(load((tmp_path / "volume.nvdb").read_bytes()).array().numpy(), load(file).array().numpy())


# ---- grids that kernels don't read -----------------------------------------------------------------------------------


@wp.kernel
def ask(volume: wp.uint64, out: wp.array(dtype=float), at: wp.array(dtype=wp.vec3)):
    out[0] = wp.volume_sample_f(volume, wp.vec3(1.0, 2.0, 3.0), wp.Volume.LINEAR)
    out[1] = float(wp.volume_lookup_index(volume, 1, 2, 3))
    at[0] = wp.volume_index_to_world(volume, wp.vec3(1.0, 2.0, 3.0))


@pytest.mark.parametrize("number, name", [(3, "int16"), (9, "Half"), (16, "FloatN"), (23, "PointIndex")])
def test_types_without_support(file: bytes, number: int, name: str) -> None:
    volume = wp.Volume.load_from_nvdb(changed(file, GRID + 636, "I", number))
    assert volume.dtype is None and not volume.is_index and volume.get_grid_info().type_str == name
    out, at = wp.zeros(2, dtype=float), wp.zeros(1, dtype=wp.vec3)
    wp.launch(ask, 1, [volume.id], [out, at])
    assert np.array_equal(out.numpy(), [0.0, -1.0]) and np.array_equal(at.numpy()[0], [1.5, 3.0, 4.5])
    assert volume.get_tile_count() == 0 and volume.get_voxel_count() == 0
    with pytest.raises(RuntimeError, match="no voxels that can be read"):
        volume.get_tiles()


# ---- features --------------------------------------------------------------------------------------------------------


def with_features(grid: bytes, features: list[tuple[str, int, int, bytes]]) -> bytes:
    """A grid with data that it brings along: name, type, bytes of a value, data."""
    at = len(grid)
    table, data = b"", b""
    start = at + 288 * len(features)
    for number, (name, kind, size, values) in enumerate(features):
        meta = bytearray(288)
        offset = start + len(data) - (at + 288 * number)
        struct.pack_into("<QQIIII", meta, 0, offset, len(values) // size, size, 0, 0, kind)
        meta[32 : 32 + len(name)] = name.encode()
        table += bytes(meta)
        data += values + bytes(-len(values) % 32)
    out = changed(grid + table + data, 32, "Q", len(grid) + len(table) + len(data))
    return changed(changed(out, 640, "Q", at), 648, "I", len(features))


def test_features(file: bytes) -> None:
    floats, vectors = np.arange(10, dtype=np.float32), np.arange(12, dtype=np.float64).reshape(4, 3)
    grid = with_features(file[GRID:], [("density", 1, 4, floats.tobytes()), ("v", 7, 24, vectors.tobytes()), ("raw", 0, 1, b"hello")])
    volume = wp.Volume(wp.array(np.frombuffer(grid, np.uint8), dtype=wp.uint8))
    assert volume.get_feature_array_count() == 3
    info = volume.get_feature_array_info(0)
    assert (info.name, info.value_size, info.value_count, info.type_str) == ("density", 4, 10, "float")
    assert np.array_equal(volume.feature_array(0).numpy(), floats) and volume.feature_array(0).ptr == info.ptr
    assert volume.feature_array(1).dtype is wp.vec3d and np.array_equal(volume.feature_array(1).numpy(), vectors)
    assert np.array_equal(volume.feature_array(1, dtype=wp.float64).numpy(), vectors.reshape(-1))
    assert volume.feature_array(2).numpy().tobytes() == b"hello"
    with pytest.raises(RuntimeError, match="no whole number"):
        volume.feature_array(2, dtype=wp.float32)
    for wrong in (-1, 3):
        with pytest.raises(RuntimeError, match="3 feature arrays"):
            volume.feature_array(wrong)
    meta = len(file) - GRID
    for at, value, text in ((0, 2**63, "does not lie in the grid"), (8, 2**62, "does not lie in the grid"), (0, -600, "begins inside of|lies")):
        with pytest.raises(RuntimeError, match=text):
            wp.Volume(wp.array(np.frombuffer(changed(grid, meta + at, "Q", value % 2**64), np.uint8), dtype=wp.uint8))
