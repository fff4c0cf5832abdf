"""Every builtin on tiles beside NumPy (tile_reference.py): ranks 1 to 4, odd extents, all types of elements, both storages, blocks of 1 to 256
threads on the CPU and as PTX. A sample, always the same, runs always; with WEFT_SOAK=1 (`make soak`) everything.
"""

from __future__ import annotations

import os

import pytest
import tile_reference
import tile_rows
from test_fake_driver import FAKE, run_with

BLOCKS = (1, 32, 33, 64, 96, 256)
SOAK = bool(os.environ.get("WEFT_SOAK"))
ON_CPU, ON_GPU = (10**6, 10**6) if SOAK else (12, 6)  # kernels of a builtin, at most
PARTS = 24 if SOAK else 2
NAMES = sorted(tile_reference.all_trials())


def test_every_builtin_is_there():
    assert tile_rows.names() <= set(NAMES), tile_rows.names() - set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_on_the_cpu(tmp_path, name):
    tile_reference.check([name], "cpu", ON_CPU, BLOCKS, tmp_path)


@pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)
@pytest.mark.parametrize("part", range(PARTS))
def test_as_ptx(tmp_path, part):
    statements = f"tile_reference.check({NAMES[part::PARTS]}, 'cuda', {ON_GPU}, {BLOCKS}, folder)"
    run_with("tile_reference", statements, tmp_path)
