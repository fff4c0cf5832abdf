"""Tiles that only their own threads touch are registers: no shared memory, no barrier, and four numbers at a time where they lie so."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest
from test_fake_driver import FAKE, HERE, run

WEFTC = os.environ.get("WEFTC") or shutil.which("weftc")
needs_weftc = pytest.mark.skipif(WEFTC is None, reason="needs weftc")

HEAD = """
import warp as wp


@wp.func
def bent(x: float):
    return wp.max(x, 0.01 * x)


@wp.kernel
def k(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array(dtype=float), d: wp.array(dtype=float)):
    i = wp.tid()
"""

ROWS = """
    x = wp.tile_load(c, shape=1024, offset=i * 1024)
    wp.tile_store(d, wp.tile_map(bent, x) * 2.0 + x, offset=i * 1024)
"""

PLANES = """
    x = wp.tile_load(a, shape=(16, 32), offset=(i * 16, 32))
    wp.tile_store(b, wp.tile_map(bent, x) * 2.0 + x, offset=(i * 16, 32))
"""

ANYWHERE = """
    x = wp.tile_load(c, shape=1024, offset=i * 1023)
    wp.tile_store(d, wp.tile_map(bent, x), offset=i * 1024)
"""

WRITTEN_BEFORE = """
    x = wp.tile_load(c, shape=1024, offset=i * 1024)
    wp.tile_store(d, wp.tile_map(bent, x), offset=i * 1024)
    y = wp.tile_load(d, shape=512, offset=i * 512)
    wp.tile_store(d, y + y, offset=i * 512)
"""

SHIFTED = """
    x = wp.tile_load(c, shape=1024, offset=i * 1024)
    wp.tile_store(d, wp.tile_map(bent, x), offset=i * 1024)
    y = wp.tile_load(d, shape=512, offset=i * 512 + 4)
    wp.tile_store(d, y + y, offset=i * 512)
"""

OF_EACH_THREAD = """
    t = wp.tile(c[i])
    wp.tile_store(d, t * 2.0, offset=i * 128)
"""

READ_BY_OTHERS = """
    x = wp.tile_load(c, shape=1024, offset=i * 1024)
    y = wp.tile_map(bent, x)
    d[i] = y[i] + wp.tile_sum(y)[0]
"""

LARGE = """
    x = wp.tile_load(a, shape=(64, 64), offset=(i * 64, 0))
    wp.tile_store(b, wp.tile_map(bent, x), offset=(i * 64, 0))
"""


def ptx(folder, body: str, *options: str, block: int = 128) -> str:
    source = folder / "kernel.py"
    source.write_text(HEAD + body)
    command = [WEFTC, source, "--emit=ptx", "--target=sm_90", "--rank=2", f"--block-dim={block}", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def count(text: str, pattern: str) -> int:
    return len(re.findall(pattern, text))


@needs_weftc
@pytest.mark.parametrize("body", [ROWS, PLANES, OF_EACH_THREAD, WRITTEN_BEFORE])
def test_registers_need_no_memory_of_the_block(tmp_path, body):
    for options in ((), ("--aligned",)):
        text = ptx(tmp_path, body, *options)
        assert not count(text, r"\.shared") and not count(text, r"bar\.|barrier"), text
        assert not count(text, r"\.local"), text


@needs_weftc
def test_what_others_have_stored_is_waited_for(tmp_path):
    for options in ((), ("--aligned",)):
        text = ptx(tmp_path, SHIFTED, *options)
        assert count(text, r"bar\.|barrier") and not count(text, r"\.shared"), text


@needs_weftc
@pytest.mark.parametrize("body, wide", [(ROWS, True), (PLANES, True), (ANYWHERE, False), (WRITTEN_BEFORE, False)])
def test_four_at_a_time_where_they_lie_so(tmp_path, body, wide):
    aligned, other = ptx(tmp_path, body, "--aligned"), ptx(tmp_path, body)
    assert bool(count(aligned, r"ld\.global\S*\.v4")) == wide, aligned
    assert bool(count(aligned, r"st\.global\S*\.v4")) == wide, aligned
    assert not count(other, r"global\S*\.v4")


@needs_weftc
@pytest.mark.parametrize("body", [READ_BY_OTHERS, LARGE])
def test_others_stay_in_shared_memory(tmp_path, body):
    assert count(ptx(tmp_path, body), r"\.shared")


@pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)
def test_results_are_those_of_the_cpu(tmp_path):
    code = f"import runpy; runpy.run_path({HERE + '/tile_own_program.py'!r}, run_name='__main__')"
    out = run(code=code, WEFT_FAKE_CUDA_RUNS="1", WEFT_FAKE_CUDA_ARCH="90", WARP_CACHE_PATH=str(tmp_path))
    assert out.endswith("done\n"), out
