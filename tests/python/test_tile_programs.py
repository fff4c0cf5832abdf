"""Random programs on tiles (tile_programs.py): interpreter, lanes of the CPU, blocks of the CPU and PTX at block sizes, bit for
bit; their gradients.

A few run always; with WEFT_SOAK=1 (`make soak`) many more.
"""

from __future__ import annotations

import os

import pytest
from test_fake_driver import FAKE, HERE, run

BLOCKS = (1, 32, 33, 64, 96, 256)
ON_BLOCKS = [(where, block) for block in BLOCKS for where in ("cpu", "cuda")] + [("interpreter", 33), ("interpreter", 64)]
SOAK = bool(os.environ.get("WEFT_SOAK"))
PARTS = range(20 if SOAK else 2)
VALUES, GRADIENTS = (20, 20) if SOAK else (4, 2)  # programs of a part

pytestmark = pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)

PROGRAM = """
import pathlib, sys
sys.path.insert(0, {here!r})
import warp as wp
wp.config.quiet = True
import tile_programs
for number in range({first}, {last}):
    tile_programs.{check}(number, {executors}, pathlib.Path({folder!r}))
print("done")
"""


def run_programs(check: str, numbers: range, executors: list, folder) -> None:
    code = PROGRAM.format(
        here=HERE, first=numbers.start, last=numbers.stop, check=check, executors=executors, folder=str(folder)
    )
    assert run(code=code, WEFT_FAKE_CUDA_RUNS="1", WARP_CACHE_PATH=str(folder)).endswith("done\n")


ROWS = """
import pathlib, sys
sys.path.insert(0, {here!r})
import warp as wp
wp.config.quiet = True
import tile_rows
assert tile_rows.names() == set(tile_rows.ROWS), tile_rows.names() ^ set(tile_rows.ROWS)
for name in sorted(tile_rows.ROWS)[{first}::{step}]:
    tile_rows.check_row(name, {executors}, pathlib.Path({folder!r}), {scalar!r})
print("done")
"""


@pytest.mark.parametrize("first", range(2))
@pytest.mark.parametrize("scalar", ["float32", "float64"] if SOAK else ["float32"])
def test_every_builtin_at_every_block_size(tmp_path, first, scalar):
    executors = ["interpreter", 1, 4, 0, *ON_BLOCKS]
    code = ROWS.format(here=HERE, first=first, step=2, executors=executors, folder=str(tmp_path), scalar=scalar)
    assert run(code=code, WEFT_FAKE_CUDA_RUNS="1", WARP_CACHE_PATH=str(tmp_path)).endswith("done\n")


EVERYWHERE = ["interpreter", 1, 4, 0, *ON_BLOCKS]
DIFFERENTIATED = [0, 1, *((where, block) for block in BLOCKS[1::2] for where in ("cpu", "cuda"))]

KEPT = """
import pathlib, sys
sys.path.insert(0, {here!r})
import warp as wp
wp.config.quiet = True
import tile_programs
tile_programs.check_kept({executors}, {differentiated}, pathlib.Path({folder!r}))
print("done")
"""


def test_programs_that_once_went_wrong(tmp_path):
    code = KEPT.format(here=HERE, executors=EVERYWHERE, differentiated=DIFFERENTIATED, folder=str(tmp_path))
    assert run(code=code, WEFT_FAKE_CUDA_RUNS="1", WARP_CACHE_PATH=str(tmp_path)).endswith("done\n")


@pytest.mark.parametrize("part", PARTS)
def test_values_are_the_same_everywhere(tmp_path, part):
    run_programs("check_values", range(part * VALUES, (part + 1) * VALUES), EVERYWHERE, tmp_path)


@pytest.mark.parametrize("part", PARTS)
def test_gradients_are_those_of_forward_mode_and_differences(tmp_path, part):
    run_programs("check_gradients", range(part * GRADIENTS, (part + 1) * GRADIENTS), DIFFERENTIATED, tmp_path)
