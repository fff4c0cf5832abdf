"""Random programs of what tiles in registers are made of (tile_own_random.py), beside NumPy: in blocks of one thread and of several on the CPU, and
as PTX. A few run always; with WEFT_SOAK=1 (`make soak`) many more.
"""

from __future__ import annotations

import os

import pytest
import tile_own_random
from test_fake_driver import FAKE, run_with

SOAK = bool(os.environ.get("WEFT_SOAK"))
ON_CPU = [("cpu", block) for block in (1, 33, 64)]
ON_GPU = [("cuda", block) for block in (32, 64, 96, 128, 256)]
PARTS = range(20 if SOAK else 1)
COUNT = 20 if SOAK else 3


@pytest.mark.parametrize("wide", [False, True])
def test_blocks_of_the_cpu(tmp_path, wide):
    for number in range(400 if SOAK else 20):
        tile_own_random.check(number, wide, ON_CPU, tmp_path)


@pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("part", PARTS)
def test_as_ptx(tmp_path, part, wide):
    numbers = range(part * COUNT, (part + 1) * COUNT)
    statements = f"for number in {numbers}:\n    tile_own_random.check(number, {wide}, {[('cpu', 1), *ON_GPU]}, folder)"
    run_with("tile_own_random", statements, tmp_path)
