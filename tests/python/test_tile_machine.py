"""The tests of tiles as PTX on machines without a GPU: the fake driver (tests/fake_cuda) runs what the compiler made for one, and
names threads that race for shared memory."""

from __future__ import annotations

import os

import pytest
from test_fake_driver import FAKE, HERE, run

pytestmark = pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)

# What takes the machine or the compiler long, and is the same code with other numbers.
LONG = "float64 or vec2d or 1100 or (cholesky and (6 or 12)) or much_memory or (bits_of and upper)"


def run_tests(folder, block: int, chosen: str, *files: str, **environment: str) -> str:
    """What pytest prints for tests of this folder on the fake driver's device."""
    names = [f"{HERE}/{file}" for file in files]
    program = f"import pytest; raise SystemExit(pytest.main(['-q', '-p', 'no:cacheprovider', '-k', {chosen!r}, *{names}]))"
    environment = {"WEFT_FAKE_CUDA_RUNS": "1", "WEFT_TILE_BLOCK": str(block), **environment}
    return run(code=program, WARP_CACHE_PATH=str(folder), **environment)


@pytest.mark.parametrize("block", [32, 33])
def test_tiles_as_ptx(tmp_path, block):
    files = "test_tiles.py", "test_tile_indexing.py", "test_tile_blocks.py"
    out = run_tests(tmp_path, block, f"cuda and not ({LONG})", *files)
    assert " passed" in out and "failed" not in out


@pytest.mark.parametrize("block", [32, 64])
def test_gradients_of_tiles_as_ptx(tmp_path, block):
    chosen = "cuda and (windows or scans or branches or transforms)"
    out = run_tests(tmp_path, block, chosen, "test_tile_gradients.py", "test_tile_steps.py")
    assert " passed" in out and "failed" not in out


RACE = """
import warp as wp

wp.config.quiet = True


@wp.kernel
def k(y: wp.array(dtype=int)):
    i, lane = wp.tid()
    t = wp.tile_zeros(shape=4, dtype=int)
    t[0] = lane
    wp.tile_store(y, t)


y = wp.zeros(4, dtype=int, device="cuda")
try:
    wp.launch_tiled(k, dim=1, inputs=[y], block_dim=32, device="cuda")
    print("nothing")
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize("watched", [True, False])
def test_races_are_named(tmp_path, watched):
    """Threads that write different numbers to one element: what is there then is nobody's promise."""
    program = tmp_path / "race.py"
    program.write_text(RACE)
    code = f"import runpy; runpy.run_path({str(program)!r})"
    out = run(code=code, WEFT_FAKE_CUDA_RUNS="1", WEFT_FAKE_CUDA_RACES=str(int(watched)), WARP_CACHE_PATH=str(tmp_path))
    if not watched:
        assert out == "nothing\n"
        return
    assert "a race for byte" in out and "thread 0 by 'st.shared.u32" in out and "thread 1 by 'st.shared.u32" in out
