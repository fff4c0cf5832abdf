"""What simulators and networks do with tiles (tile_clients.py), beside NumPy: searches along lines, sweeps over shared tiles, small products,
layers and their gradients, compaction, factors by blocks, Jacobians, snippets. In blocks of one thread and of several on the CPU, and as PTX."""

from __future__ import annotations

import os

import pytest
import tile_clients
from test_fake_driver import FAKE, run_with

BLOCKS = (1, 32, 33, 64, 96)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("name", tile_clients.CASES)
def test_blocks_of_the_cpu(name, block):
    tile_clients.check(name, [("cpu", block)])


@pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)
@pytest.mark.parametrize("part", range(2))
def test_as_ptx(tmp_path, part):
    executors = [("cuda", block) for block in BLOCKS]
    run_with("tile_clients", f"for name in list(tile_clients.CASES)[{part}::2]:\n    tile_clients.check(name, {executors})", tmp_path)
