"""The kernels by which GPUs build volumes as PTX on machines without a GPU: the fake driver (tests/fake_cuda) runs them."""

from __future__ import annotations

import os

import pytest
from test_fake_driver import FAKE
from test_tile_machine import run_tests

pytestmark = pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)


@pytest.mark.parametrize("part", ["tiles", "voxels or masks", "world or boxes or forms", "rebuild"])
def test_grids_as_ptx(tmp_path, part: str) -> None:
    out = run_tests(tmp_path, 32, f"cuda and ({part})", "test_volume_there.py")
    assert " passed" in out and "failed" not in out


@pytest.mark.parametrize("file", ["test_volume_rebuild.py", "test_volume_python_calls.py"])
def test_volumes_as_ptx(tmp_path, file: str) -> None:
    out = run_tests(tmp_path, 32, "cuda", file)
    assert " passed" in out and "failed" not in out
