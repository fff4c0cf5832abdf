"""A small kernel for each entry of src/builtins/tile.def: a body in the frame of tile_programs.py.

`STORE` at the end of a body stands for storing tile `t` (numbers) and `STORE_WHOLE` for tile `n` (int32), whatever their shapes.
"""

from __future__ import annotations

import pathlib
import re
import textwrap

import numpy as np
import tile_programs

DEFINITIONS = pathlib.Path(__file__).resolve().parents[2] / "src" / "builtins" / "tile.def"

LOAD = "t = wp.tile_load(x[block], shape=(5, 7), offset=(-1, 2))"
WHOLE = "n = wp.tile_astype(wp.tile_map(wp.floor, wp.tile_load(x[block, 0], shape=37) * S(9.0)), int)"
SPD = """
a = wp.tile_load(x[block], shape=(6, 6))
t = wp.tile_diag_add(wp.tile_matmul(a, wp.tile_transpose(a)), wp.tile_full(6, S(7.0), dtype=S))
v = wp.tile_load(x[block, 3], shape=6)
"""
STORE = "wp.tile_store(y[block], wp.tile_reshape(t, (-1,)))"
STORE_WHOLE = "wp.tile_store(whole[block], wp.tile_reshape(n, (-1,)))"

ROWS = {
    "tile_zeros": "t = wp.tile_zeros(shape=(3, 35), dtype=S)\nSTORE",
    "tile_ones": "t = wp.tile_ones(shape=(3, 35), dtype=S, storage='shared')\nSTORE",
    "tile_empty": "t = wp.tile_empty(shape=(3, 35), dtype=S)\nSTORE",
    "tile_full": "t = wp.tile_full(shape=70, value=x[block, 0, 0], dtype=S)\nSTORE",
    "tile_from_thread": "n = wp.tile_from_thread(shape=70, value=7 + block - lane, thread_idx=0)\nSTORE_WHOLE",
    "tile_arange": "t = wp.tile_arange(3, 250, 2, dtype=S)\nSTORE",
    "tile": "n = wp.tile_sum(wp.tile(wp.where(lane == 0, 5 + block, 0)))\nSTORE_WHOLE",
    "untile": "n = wp.tile_from_thread(2, wp.untile(wp.tile(3 + block)), 0)\nSTORE_WHOLE",
    "tile_load": f"{LOAD}\nSTORE",
    "tile_store": f"{LOAD}\nwp.tile_store(y, wp.tile_reshape(t, (1, 35)), offset=(block, -3))",
    "tile_atomic_add": f"{WHOLE}\nwp.tile_atomic_add(sums, n, offset=-2)\nn = wp.tile_atomic_add(whole[block], n)\nSTORE_WHOLE",
    "tile_load_indexed": "at = wp.tile_arange(9, -3, -2, dtype=int)\nt = wp.tile_load_indexed(x[block], at, shape=(6, 7), offset=(1, 2))\nSTORE",
    "tile_store_indexed": "at = wp.tile_arange(36, -1, -1, dtype=int)\nt = wp.tile_load(x[block, 1], shape=37)\nwp.tile_store_indexed(y[block], at, t, offset=3)",
    "tile_atomic_add_indexed": f"{WHOLE}\nat = wp.tile_map(wp.mod, wp.tile_arange(37, dtype=int), wp.tile_full(37, 5, dtype=int))\nwp.tile_atomic_add_indexed(sums, at, n)",
    "tile_view": f"{LOAD}\nt = wp.tile_view(t, offset=(k, 1), shape=(3, 6)) * S(2.0)\nSTORE",
    "tile_assign": f"{LOAD}\nwp.tile_assign(t, wp.tile_view(t, offset=(0, 0), shape=(2, 3)), offset=(k, 2))\nSTORE",
    "tile_extract": f"{LOAD}\nt = wp.tile_full(3, wp.tile_extract(t, k, 4), dtype=S)\nSTORE",
    "tile_transpose": f"{LOAD}\nt = wp.tile_transpose(t) + wp.tile_zeros(shape=(7, 5), dtype=S)\nSTORE",
    "tile_broadcast": "t = wp.tile_broadcast(wp.tile_load(x[block, 2], shape=9), shape=(4, 9)) * S(3.0)\nSTORE",
    "tile_reshape": f"{LOAD}\nt = wp.tile_reshape(t, (7, 5))\nt[1] = t[0]\nSTORE",
    "tile_squeeze": f"{LOAD}\nt = wp.tile_squeeze(wp.tile_view(t, offset=(k, 0), shape=(1, 7))) + wp.tile_ones(7, dtype=S)\nSTORE",
    "tile_astype": f"{LOAD}\nn = wp.tile_astype(t * S(100.0), int)\nSTORE_WHOLE",
    "tile_map": f"{LOAD}\nt = wp.tile_map(mixed, t, t * S(0.5))\nSTORE",
    "tile_reduce": "t = wp.tile_reduce(mixed, wp.tile_load(x[block], shape=(11, 13)), axis=0)\nSTORE",
    "tile_sum": "t = wp.tile_sum(wp.tile_load(x[block], shape=(31, 33)))\nSTORE",
    "tile_min": "t = wp.tile_min(wp.tile_load(x[block], shape=(31, 33)))\nSTORE",
    "tile_max": "t = wp.tile_max(wp.tile_load(x[block], shape=(31, 33)))\nSTORE",
    "tile_argmin": "n = wp.tile_argmin(wp.tile_load(x[block], shape=(31, 33)))\nSTORE_WHOLE",
    "tile_argmax": "n = wp.tile_argmax(wp.tile_load(x[block], shape=(31, 33)))\nSTORE_WHOLE",
    "tile_dot": f"{LOAD}\nt = wp.tile_dot(t, t)\nSTORE",
    "tile_axpy": f"{LOAD}\nu = t * S(2.0)\nwp.tile_axpy(S(0.5), t, u)\nt = u\nSTORE",
    "tile_scatter_masked": f"{WHOLE}\nfor i in range(lane, 37, wp.block_dim()):\n    wp.tile_scatter_masked(n, i, -i, i % 3 == 0)\nSTORE_WHOLE",
    "tile_scatter_add": f"{WHOLE}\nfor i in range(lane, 99, wp.block_dim()):\n    wp.tile_scatter_add(n, i % 37, i, i % 3 == 0)\nSTORE_WHOLE",
    "tile_add_inplace": f"{WHOLE}\nwp.tile_add_inplace(n, 3, wp.where(lane == 0, 5, 0))\nSTORE_WHOLE",
    "tile_sub_inplace": f"{WHOLE}\nwp.tile_sub_inplace(n, 3, wp.where(lane == 0, 5, 0))\nSTORE_WHOLE",
    "tile_bit_and_inplace": f"{WHOLE}\nwp.tile_bit_and_inplace(n, 3, wp.where(lane == 0, 6, -1))\nSTORE_WHOLE",
    "tile_bit_or_inplace": f"{WHOLE}\nwp.tile_bit_or_inplace(n, 3, wp.where(lane == 0, 6, 0))\nSTORE_WHOLE",
    "tile_bit_xor_inplace": f"{WHOLE}\nwp.tile_bit_xor_inplace(n, 3, wp.where(lane == 0, 6, 0))\nSTORE_WHOLE",
    "tile_matmul": "t = wp.tile_matmul(wp.tile_load(x[block], shape=(9, 33)), wp.tile_load(x[block], shape=(33, 17)), alpha=0.5)\nSTORE",
    "tile_cholesky": f"{SPD}\nt = wp.tile_cholesky(t)\nSTORE",
    "tile_cholesky_inplace": f"{SPD}\nwp.tile_cholesky_inplace(t, fill_mode='upper')\nSTORE",
    "tile_cholesky_solve": f"{SPD}\nt = wp.tile_cholesky_solve(wp.tile_cholesky(t), v)\nSTORE",
    "tile_cholesky_solve_inplace": f"{SPD}\nwp.tile_cholesky_inplace(t)\nwp.tile_cholesky_solve_inplace(t, v)\nt = v\nSTORE",
    "tile_lower_solve": f"{SPD}\nt = wp.tile_lower_solve(t, v)\nSTORE",
    "tile_lower_solve_inplace": f"{SPD}\nwp.tile_lower_solve_inplace(t, a)\nt = a\nSTORE",
    "tile_upper_solve": f"{SPD}\nt = wp.tile_upper_solve(t, a)\nSTORE",
    "tile_upper_solve_inplace": f"{SPD}\nwp.tile_upper_solve_inplace(t, v)\nt = v\nSTORE",
    "tile_diag_add": f"{SPD}\nSTORE",
    "tile_fft": "z = wp.tile_map(pair, wp.tile_load(x[block], shape=(2, 30)))\nwp.tile_fft(z)\nt = wp.tile_map(first, z)\nSTORE",
    "tile_ifft": "z = wp.tile_map(pair, wp.tile_load(x[block], shape=(2, 32)))\nwp.tile_ifft(z)\nt = wp.tile_map(first, z)\nSTORE",
    "tile_scan_inclusive": "t = wp.tile_scan_inclusive(wp.tile_load(x[block], shape=(9, 33)))\nSTORE",
    "tile_scan_exclusive": "t = wp.tile_scan_exclusive(wp.tile_load(x[block], shape=(9, 33)))\nSTORE",
    "tile_scan_max_inclusive": "t = wp.tile_scan_max_inclusive(wp.tile_load(x[block], shape=(9, 33)))\nSTORE",
    "tile_scan_min_inclusive": "t = wp.tile_scan_min_inclusive(wp.tile_load(x[block], shape=(9, 33)))\nSTORE",
    "tile_sort": f"{WHOLE}\nt = wp.tile_load(x[block, 1], shape=37)\nwp.tile_sort(n, t)\nSTORE\nSTORE_WHOLE",
    "tile_randi": "n = wp.tile_randi(shape=(5, 9), rng=wp.rand_init(7, block), min=-5, max=50)\nSTORE_WHOLE",
    "tile_randf": "t = wp.tile_astype(wp.tile_randf(shape=(5, 9), rng=wp.rand_init(7, block)), S)\nSTORE",
    "tile_slice_indexed": f"{LOAD}\nt = wp.tile_slice_indexed(t, wp.tile_arange(4, -1, -2, dtype=int))\nSTORE",
    "tile_stack": "s = wp.tile_stack(capacity=4, dtype=int)\nif lane == 0:\n    whole[block, 0] = wp.tile_stack_count(s)",
    "tile_stack_push": "s = wp.tile_stack(capacity=4, dtype=int)\nslot = wp.tile_stack_push(s, 7, lane == 0)\nif lane == 0:\n    whole[block, 0] = slot + 1",
    "tile_stack_pop": "s = wp.tile_stack(capacity=4, dtype=int)\nwp.tile_stack_push(s, 7 + block, lane == 0)\nvalue, slot = wp.tile_stack_pop(s)\nif lane == 0:\n    whole[block, slot] = value",
    "tile_stack_clear": "s = wp.tile_stack(capacity=4, dtype=int)\nwp.tile_stack_push(s, 7, lane == 0)\nwp.tile_stack_clear(s)\nif lane == 0:\n    whole[block, 0] = wp.tile_stack_count(s)",
    "tile_stack_count": "s = wp.tile_stack(capacity=4, dtype=int)\nwp.tile_stack_push(s, 7, lane == 0)\nif lane == 0:\n    whole[block, 0] = wp.tile_stack_count(s)",
}  # fmt: skip

ROUNDED = {"tile_fft", "tile_ifft"}  # roots of one come from cosines of the device

FUNCTIONS = """@wp.func
def pair(a: S):
    return wp.vector(a, S(2.0) * a)


@wp.func
def first(z: Any):
    return z[0] + S(2.0) * z[1]


"""


def names() -> set[str]:
    """All entries but queries of trees and meshes, whose tests are in test_tile_queries.py."""
    found = set(re.findall(r"^([a-z_]+)\(", DEFINITIONS.read_text(), re.M))
    return {name for name in found if "query" not in name}


def check_row(name: str, executors: list, folder: pathlib.Path, scalar: str = "float32") -> None:
    """All executors give the bits of the first."""
    body = re.sub(r"\bSTORE\b", STORE, re.sub(r"\bSTORE_WHOLE\b", STORE_WHOLE, ROWS[name]))
    head = tile_programs.head(scalar, functions=FUNCTIONS)
    text = "from typing import Any\n" + head + textwrap.indent(body, "    ") + "\n"
    program = tile_programs.load(f"row_{name}_{scalar}", text, scalar, folder)
    first = None
    for executor in executors:
        where = f"{name} on {executor}\n{text}"
        try:
            got = tile_programs.Launch(program, executor, tile_programs.source(1)).results()
        except Exception as error:
            raise AssertionError(f"{error}\n{where}") from error
        if first is None:
            first = got
            continue
        for a, b in zip(got, first):
            if name in ROUNDED:
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5, err_msg=where)
            else:
                np.testing.assert_array_equal(a, b, err_msg=where)
