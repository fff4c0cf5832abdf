"""Random programs on tiles (tile_programs.py): interpreter, lanes of the CPU, blocks of the CPU and PTX at block sizes, bit for
bit; their gradients.

A few run always; with WEFT_SOAK=1 (`make soak`) many more.
"""

from __future__ import annotations

import os

import pytest
from test_fake_driver import FAKE, run_with

BLOCKS = (1, 32, 33, 64, 96, 256)
ON_BLOCKS = [(where, block) for block in BLOCKS for where in ("cpu", "cuda")] + [("interpreter", 33), ("interpreter", 64)]
SOAK = bool(os.environ.get("WEFT_SOAK"))
PARTS = range(20 if SOAK else 2)
VALUES, GRADIENTS = (20, 20) if SOAK else (4, 2)  # programs of a part

pytestmark = pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)

EVERYWHERE = ["interpreter", 1, 4, 0, *ON_BLOCKS]
DIFFERENTIATED = [0, 1, *((where, block) for block in BLOCKS[1::2] for where in ("cpu", "cuda"))]

ROWS = """
assert tile_rows.names() == set(tile_rows.ROWS), tile_rows.names() ^ set(tile_rows.ROWS)
for name in sorted(tile_rows.ROWS)[{first}::2]:
    tile_rows.check_row(name, {executors}, folder, {scalar!r})
"""


@pytest.mark.parametrize("first", range(2))
@pytest.mark.parametrize("scalar", ["float32", "float64"] if SOAK else ["float32"])
def test_every_builtin_at_every_block_size(tmp_path, first, scalar):
    run_with("tile_rows", ROWS.format(first=first, executors=EVERYWHERE, scalar=scalar), tmp_path)


def test_programs_that_once_went_wrong(tmp_path):
    run_with("tile_programs", f"tile_programs.check_kept({EVERYWHERE}, {DIFFERENTIATED}, folder)", tmp_path)


def run_programs(check: str, part: int, count: int, executors: list, folder) -> None:
    numbers = range(part * count, (part + 1) * count)
    run_with("tile_programs", f"for number in {numbers}:\n    tile_programs.{check}(number, {executors}, folder)", folder)


@pytest.mark.parametrize("part", PARTS)
def test_values_are_the_same_everywhere(tmp_path, part):
    run_programs("check_values", part, VALUES, EVERYWHERE, tmp_path)


@pytest.mark.parametrize("part", PARTS)
def test_gradients_are_those_of_forward_mode_and_differences(tmp_path, part):
    run_programs("check_gradients", part, GRADIENTS, DIFFERENTIATED, tmp_path)
