"""Files beside OpenVDB's own programs, where they are installed (Debian: libnanovdb-tools, python3-openvdb): what is written here opens
there with the same values, and what is written there is read here."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import warp as wp

PYTHON = "/usr/bin/python3"  # the distribution's, whose module it is

# Reads values of a .vdb file at voxels, or writes a ball and such values.
READER = """
import json, sys
import pyopenvdb as vdb
path, voxels = sys.argv[1], json.load(open(sys.argv[2]))
grid = vdb.readAll(path)[0][0]
values = grid.getAccessor()
print(json.dumps([grid.activeVoxelCount(), [values.getValue(tuple(v)) for v in voxels]]))
"""
WRITER = """
import sys
import pyopenvdb as vdb
vdb.write(sys.argv[1], grids=[vdb.createLevelSetSphere(radius=9.0, center=(1.0, 2.0, 3.0), voxelSize=0.5, halfWidth=3.0)])
"""


def has_openvdb() -> bool:
    if not shutil.which("nanovdb_convert") or not pathlib.Path(PYTHON).exists():
        return False
    return subprocess.run([PYTHON, "-c", "import pyopenvdb"], capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not has_openvdb(), reason="needs nanovdb_convert and the Python module of OpenVDB")


@wp.kernel
def look(volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i), out: wp.array(dtype=float)):
    n = wp.tid()
    v = voxels[n]
    out[n] = wp.volume_lookup_f(volume, v[0], v[1], v[2])


def values_of(volume: wp.Volume, voxels: np.ndarray) -> np.ndarray:
    out = wp.zeros(len(voxels), dtype=float)
    wp.launch(look, len(voxels), [volume.id, wp.array(voxels, dtype=wp.vec3i)], [out])
    return out.numpy()


def converted(source: pathlib.Path, target: pathlib.Path, *options: str) -> None:
    subprocess.run(["nanovdb_convert", *options, str(source), str(target)], check=True, capture_output=True)


def read_there(path: pathlib.Path, voxels: np.ndarray) -> tuple[int, np.ndarray]:
    listed = path.with_suffix(".json")
    listed.write_text(json.dumps(voxels.tolist()))
    done = subprocess.run([PYTHON, "-c", READER, str(path), str(listed)], check=True, capture_output=True, text=True)
    active, values = json.loads(done.stdout)
    return active, np.array(values, dtype=np.float32)


@pytest.mark.parametrize("codec", ["none", "zip"])
def test_openvdb_reads_what_is_written(tmp_path: pathlib.Path, codec: str) -> None:
    rng = np.random.default_rng(4)
    dense = rng.normal(size=(19, 24, 33)).astype(np.float32)
    volume = wp.Volume.load_from_numpy(dense, min_world=(1.0, 2.0, 3.0), voxel_size=0.25, bg_value=-7.0)
    volume.save_to_nvdb(tmp_path / "ours.nvdb", codec=codec)
    said = subprocess.run(["nanovdb_validate", str(tmp_path / "ours.nvdb")], capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr
    converted(tmp_path / "ours.nvdb", tmp_path / "ours.vdb")
    voxels = rng.integers(-4, 40, size=(500, 3)).astype(np.int32)
    active, values = read_there(tmp_path / "ours.vdb", voxels)
    assert active == volume.get_voxel_count()
    assert np.array_equal(values, values_of(volume, voxels))


@pytest.mark.parametrize("options", [(), ("-z",)], ids=["plain", "zip"])
def test_what_openvdb_writes_is_read(tmp_path: pathlib.Path, options: tuple[str, ...]) -> None:
    subprocess.run([PYTHON, "-c", WRITER, str(tmp_path / "ball.vdb")], check=True, capture_output=True)
    converted(tmp_path / "ball.vdb", tmp_path / "ball.nvdb", *options)
    volume = wp.Volume.load_from_nvdb(tmp_path / "ball.nvdb")
    voxels = np.random.default_rng(5).integers(-24, 30, size=(2000, 3)).astype(np.int32)
    active, values = read_there(tmp_path / "ball.vdb", voxels)
    assert active == volume.get_active_stats().voxel_count
    assert np.array_equal(values, values_of(volume, voxels))
    assert volume.get_voxel_size() == (0.5, 0.5, 0.5)
