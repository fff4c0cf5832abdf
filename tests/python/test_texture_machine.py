"""Textures as PTX on machines without a GPU: the fake driver (tests/fake_cuda) runs the kernels, and reads texels as a texture
unit does, with weights of 8 bits."""

from __future__ import annotations

import os

import pytest
from test_fake_driver import FAKE
from test_tile_machine import run_tests

pytestmark = pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)


FILES = ["test_texture.py", "test_texture_bytes.py", "test_texture_errors.py", "test_texture_gradients.py", "test_texture_slopes.py"]


@pytest.mark.parametrize("file", FILES)
def test_textures_as_ptx(tmp_path, file: str) -> None:
    out = run_tests(tmp_path, 32, "cuda", file)
    assert " passed" in out and "failed" not in out
