"""Derivatives of builtins on tiles (tile_slope_cases.py): gradients beside differences, in forward mode, and second ones; in blocks of one thread and
of several on the CPU, gradients as PTX as well."""

from __future__ import annotations

import os

import pytest
import tile_slope_cases as cases
from test_fake_driver import FAKE, run_with
from tile_executors import blocks_of

SOAK = bool(os.environ.get("WEFT_SOAK"))
IN_BLOCKS = [name for name in cases.CASES if name not in cases.IN_ORDER]


@pytest.mark.parametrize("name", cases.CASES)
def test_blocks_of_one_thread(name):
    cases.check(name, ("cpu", 1), every=1 if SOAK else 5)


@pytest.mark.parametrize("block", [32, 33])
@pytest.mark.parametrize("name", IN_BLOCKS)
def test_blocks_of_the_cpu(name, block):
    cases.check(name, ("cpu", block), every=1 if SOAK else 11)


@pytest.mark.parametrize("name", sorted(cases.IN_ORDER))
def test_what_has_to_run_in_order_is_refused_in_blocks(name):
    with blocks_of(("cpu", 32)), pytest.raises(RuntimeError, match="would have to run one after another"):
        slopes = cases.Slopes(name, ("cpu", 32))
        slopes.gradient(slopes.x)


@pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)
@pytest.mark.parametrize("part", range(2))
def test_gradients_as_ptx(tmp_path, part):
    checks = [(name, ("cuda", block)) for name in IN_BLOCKS[part::2] for block in (1, 32, 33)]
    statements = f"for name, executor in {checks}:\n    tile_slope_cases.check(name, executor, forward=True, every={3 if SOAK else 17})"
    run_with("tile_slope_cases", statements, tmp_path)
