"""Adjoints of tiles as PTX: what they do to a thread's own elements, and where barriers stand."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import numpy as np
import pytest

import warp as wp

WEFTC = os.environ.get("WEFTC") or shutil.which("weftc")
needs_weftc = pytest.mark.skipif(WEFTC is None, reason="needs weftc")

HEAD = """
import warp as wp


@wp.func
def bent(x: float):
    return wp.max(x, 0.01 * x)


@wp.kernel
def k(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float), e: wp.array(dtype=float)):
    i = wp.tid()
"""

ELEMENTS = """
    x = wp.tile_load(a, shape=(32, 32), offset=(i * 32, 0))
    y = wp.tile_map(bent, x) + wp.tile_map(wp.sin, x)
    y += x
    wp.tile_store(b, y, offset=(i * 32, 0))
"""

SUM = """
    x = wp.tile_load(a, shape=(32, 32), offset=(i * 32, 0))
    wp.tile_atomic_add(e, wp.tile_sum(wp.tile_map(bent, x)))
"""

ROWS = """
    x = wp.tile_load(a, shape=(32, 32), offset=(i * 32, 0))
    bias = wp.tile_broadcast(wp.tile_load(b, shape=(32, 1)), shape=(32, 32))
    wp.tile_store(c, wp.tile_map(wp.mul, x, bias), offset=(i * 32, 0))
"""

PRODUCT = """
    x = wp.tile_load(a, shape=(64, 64), offset=(i * 64, 0))
    y = wp.tile_map(bent, wp.tile_matmul(x, wp.tile_load(b, shape=(64, 64))))
    wp.tile_atomic_add(e, wp.tile_sum(wp.tile_map(wp.mul, y, y)))
"""


def adjoint(folder, body: str, block: int, stage: str = "--emit=ptx") -> str:
    source = folder / "kernel.py"
    source.write_text(HEAD + body)
    command = [WEFTC, source, stage, "--target=sm_90", "--adjoint", "--rank=2", f"--block-dim={block}"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


@needs_weftc
@pytest.mark.parametrize("block", [64, 96, 128])
def test_elements_are_taken_plainly(tmp_path, block):
    assert "atom.shared" not in adjoint(tmp_path, ELEMENTS, block)


@needs_weftc
@pytest.mark.parametrize("block", [64, 128])
def test_halves_of_a_sum_are_apart(tmp_path, block):
    # All threads hold the sum, and each has a share of its adjoint: that is added up, once, and taken once.
    ptx = adjoint(tmp_path, SUM, block)
    assert ptx.count("atom.shared.add") <= 2 and ptx.count("atom.shared.exch") <= 1


@needs_weftc
def test_rows_are_summed_by_warps_first(tmp_path):
    ptx = adjoint(tmp_path, ROWS, 64)
    assert "shfl.sync.bfly" in ptx


@needs_weftc
@pytest.mark.parametrize("body", [ELEMENTS, SUM, ROWS, PRODUCT])
def test_barriers_stand_outside_of_loops_over_elements(tmp_path, body):
    lines = adjoint(tmp_path, body, 128, "--after=block-barriers").splitlines()
    lines = lines[next(k for k, line in enumerate(lines) if line.startswith("kernel")) :]
    loop = None  # how far the outermost loop around is indented
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if loop is None and re.match(r"\s+(%\w+ = )?(for|while)\b", line):
            loop = depth
        elif loop == depth and line.strip() == "}":
            loop = None
        assert loop is None or line.strip() != "barrier"
    assert any(line.strip() == "barrier" for line in lines) or body == ELEMENTS


@needs_weftc
def test_products_of_the_way_back_stay_in_registers(tmp_path):
    # The forward product's elements are needed again, where its thread has them.
    text = adjoint(tmp_path, PRODUCT, 128, "--after=place-fragments")
    assert re.search(r"local\(raw, tile\) : array<f32,1> \[32\]", text)


@wp.kernel
def scatter(first: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, lane = wp.tid()
    x = first[i, lane]
    t = wp.tile_zeros(shape=(5, 16), dtype=float)
    wp.tile_scatter_add(t, 0, lane / 32, x, True)  # a warp's own
    wp.tile_scatter_add(t, 1, (lane + lane) / 32, x, True)  # two of a warp's
    wp.tile_scatter_add(t, 2, (lane + 32 * (lane % 3)) / 32, x, True)  # of three
    wp.tile_scatter_add(t, 3, 7, x, True)  # the block's
    wp.tile_scatter_add(t, 4, lane / 96, x, lane != 5)  # of warps that have parted
    wp.tile_store(y, t, offset=(i * 5, 0))


@pytest.mark.parametrize("block", [32, 33, 64, 128])
def test_sums_of_warps_go_where_they_belong(block):
    lanes = np.arange(block if wp.get_device().is_cuda else 1)
    numbers = np.random.default_rng(3).integers(1, 9, size=(2, len(lanes))).astype(np.float32)  # sums are exact in any order
    want = np.zeros((2, 5, 16), dtype=np.float32)
    for i in range(2):
        for row, places in enumerate((lanes // 32, 2 * lanes // 32, (lanes + 32 * (lanes % 3)) // 32, 0 * lanes + 7)):
            np.add.at(want[i, row], places, numbers[i])
        np.add.at(want[i, 4], lanes[lanes != 5] // 96, numbers[i][lanes != 5])
    y = wp.zeros((10, 16), dtype=float)
    wp.launch_tiled(scatter, dim=2, inputs=[wp.array(numbers, dtype=float)], outputs=[y], block_dim=block)
    np.testing.assert_array_equal(y.numpy().reshape(want.shape), want)


@wp.kernel
def across(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float), d: wp.array2d(dtype=float)):
    x = wp.tile_load(a, shape=(64, 64))
    y = wp.tile_load(b, shape=(64, 64)) * 2.0
    wp.tile_store(c, wp.tile_matmul(x, wp.tile_transpose(y)))
    wp.tile_store(c, wp.tile_matmul(x, y) + y, offset=(64, 0))
    d[0, 0] = y[3, 5] + y[40, 63]


@pytest.mark.parametrize("block", [64, 128])
def test_operands_that_are_read_across(block):
    a, b = (np.random.default_rng(k).integers(-4, 5, size=(64, 64)).astype(np.float32) for k in range(2))
    c, d = wp.zeros((128, 64), dtype=float), wp.zeros((1, 1), dtype=float)
    inputs = [wp.array(x, dtype=float) for x in (a, b)]
    wp.launch_tiled(across, dim=1, inputs=inputs, outputs=[c, d], block_dim=block)
    np.testing.assert_array_equal(c.numpy(), np.vstack([a @ (2 * b).T, a @ (2 * b) + 2 * b]))
    assert d.numpy()[0, 0] == 2 * (b[3, 5] + b[40, 63])
