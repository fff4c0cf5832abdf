"""Products of tiles by the threads of a block, as PTX in the fake driver's machine: fragments in registers, units of a warp, rows
that are copied ahead. Fused multiply-adds have the CPU's bits."""

from __future__ import annotations

import os
import re
import runpy
import subprocess

import pytest
from test_fake_driver import FAKE, HERE, run

pytestmark = pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)

CASES = runpy.run_path(f"{HERE}/tile_product_cases.py")["CASES"]


@pytest.mark.parametrize("group", sorted(CASES))
def test_products_as_ptx(tmp_path, group):
    code = f"import runpy, sys; sys.argv = ['', {group!r}]; runpy.run_path({HERE + '/tile_product_cases.py'!r}, run_name='__main__')"
    out = run(code=code, WEFT_FAKE_CUDA_RUNS="1", WARP_CACHE_PATH=str(tmp_path))
    assert out.count("right:") == len(CASES[group]) and out.endswith("done\n"), out


def test_products_on_older_gpus(tmp_path):
    """What four warps multiply together on one architecture, single warps do on others."""
    code = f"import runpy, sys; sys.argv = ['', 'groups']; runpy.run_path({HERE + '/tile_product_cases.py'!r}, run_name='__main__')"
    out = run(code=code, WEFT_FAKE_CUDA_RUNS="1", WEFT_FAKE_CUDA_ARCH="86", WARP_CACHE_PATH=str(tmp_path))
    assert out.count("right:") == len(CASES["groups"]) and out.endswith("done\n"), out


LOOP = """
import warp as wp


@wp.kernel
def gemm(a: wp.array2d(dtype={dtype}), b: wp.array2d(dtype={dtype}), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = wp.tile_zeros(shape=(64, 64), dtype=float)
    for k in range(0, a.shape[1] // 32):
        x = wp.tile_load(a, shape=(64, 32), offset=(i * 64, k * 32))
        y = wp.tile_load(b, shape=(32, 64), offset=(k * 32, j * 64))
        wp.tile_matmul(x, y, total)
    wp.tile_store(c, wp.tile_map(wp.abs, total), offset=(i * 64, j * 64))
"""


@pytest.mark.skipif("WEFTC" not in os.environ, reason="the compiler's path is not given (WEFTC)")
@pytest.mark.parametrize("dtype", ["float", "wp.float16"])
@pytest.mark.parametrize("sm", [75, 90])
def test_sums_stay_in_registers(tmp_path, dtype, sm):
    """Between the loads of tiles and the stores to the array nothing goes through memory, and a turn has one barrier. Tiles at the
    edge of the array are stored by a loop, for which the sums are put into memory."""
    program = tmp_path / "gemm.py"
    program.write_text(LOOP.format(dtype=dtype))
    weftc = [os.environ["WEFTC"], str(program), "--emit", "ptx", "--target", f"sm_{sm}", "--block-dim", "128", "--rank", "3"]
    ptx = subprocess.run(weftc, capture_output=True, text=True, check=True).stdout
    assert ptx.count("bar.sync") == 4, ptx  # in front of the loop, in it, behind it, and for the next block
    assert ptx.count("st.local") <= 32 and ptx.count("ld.local") <= 2
    assert ("cp.async" in ptx) == (sm >= 80) and ("mma.sync" in ptx) == (sm >= 80 and dtype != "float")
    assert "16384" in ptx if dtype != "float" else "32768" in ptx  # bytes: each tile twice, and no others


@pytest.mark.skipif("WEFTC" not in os.environ, reason="the compiler's path is not given (WEFTC)")
@pytest.mark.parametrize(("dtype", "threads"), [("wp.float16", 128), ("wp.bfloat16", 128), ("wp.float16", 256), ("wp.float16", 64)])
def test_four_warps_multiply_together(tmp_path, dtype, threads):
    program = tmp_path / "gemm.py"
    program.write_text(LOOP.format(dtype=dtype))
    weftc = [os.environ["WEFTC"], str(program), "--emit", "ptx", "--target", "sm_90a", "--block-dim", str(threads), "--rank", "3"]
    ptx = subprocess.run(weftc, capture_output=True, text=True, check=True).stdout
    assert (".target sm_90a" in ptx) and ("wgmma.mma_async" in ptx) == (threads % 128 == 0)
    if threads % 128 == 0:
        assert "ldmatrix" not in ptx and ptx.count("wgmma.mma_async") == 2
        assert ptx.count("bar.sync") == 4 and ptx.count("fence.proxy.async") >= 3
        assert re.search(r"cp.async.wait_group\s+[12];", ptx)  # three or four places for each tile


@pytest.mark.skipif("WEFTC" not in os.environ, reason="the compiler's path is not given (WEFTC)")
@pytest.mark.parametrize("dtype", ["float", "wp.float16"])
def test_loops_of_products_stay_loops(tmp_path, dtype):
    """Eight turns that are known are as much code as turns that are not: a product is hundreds of instructions."""
    lengths = []
    for turns in ("0, a.shape[1] // 32", "8"):
        program = tmp_path / "gemm.py"
        program.write_text(LOOP.format(dtype=dtype).replace("0, a.shape[1] // 32", turns))
        weftc = [os.environ["WEFTC"], str(program), "--emit", "ptx", "--target", "sm_90", "--block-dim", "128", "--rank", "3"]
        lengths.append(len(subprocess.run(weftc, capture_output=True, text=True, check=True).stdout.splitlines()))
    assert lengths[1] < 1.2 * lengths[0]


@pytest.mark.skipif("WEFTC" not in os.environ, reason="the compiler's path is not given (WEFTC)")
def test_what_most_launches_never_run_is_short(tmp_path):
    """First launches wait for the assembler: no division of 64 bits, one loop for edges and one for arrays that are not aligned,
    and stores beside each other share an address."""
    program = tmp_path / "gemm.py"
    program.write_text(LOOP.format(dtype="float"))
    weftc = [os.environ["WEFTC"], str(program), "--emit", "ptx", "--target", "sm_90", "--block-dim", "128", "--rank", "3"]
    ptx = subprocess.run(weftc, capture_output=True, text=True, check=True).stdout
    assert "div." not in ptx and "rem." not in ptx
    assert len(re.findall(r"cp\.async\.ca.* 4, %r", ptx)) == 2 and "ld.global" not in ptx
    assert len(re.findall(r"cp\.async\.cg.* 16, %r", ptx)) == 2
    assert all(len(re.findall(rf"st\.global\.f32\s+\[%rd\d+\+{n}\]", ptx)) == 8 for n in (4, 8, 12))
