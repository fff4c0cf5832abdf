"""Launches of kernels with tiles whose arrays all have rows at multiples of 16 bytes have code of their own, without loops that
copy element by element: the assembler took a third of its time for these."""

from __future__ import annotations

import os

import pytest
from test_fake_driver import FAKE, HERE, run

pytestmark = pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)


def test_rows_that_are_aligned_and_others(tmp_path):
    code = f"import runpy; runpy.run_path({HERE + '/tile_aligned_program.py'!r}, run_name='__main__')"
    out = run(code=code, WEFT_FAKE_CUDA_RUNS="1", WEFT_FAKE_CUDA_ARCH="90", WARP_CACHE_PATH=str(tmp_path))
    assert out.count("right:") == 4 and out.endswith("done\n"), out
