"""Exact sums as PTX on machines without a GPU: the fake driver (tests/fake_cuda) runs what the compiler made for one."""

from __future__ import annotations

import os

import pytest
from test_fake_driver import FAKE
from test_tile_machine import run_tests

pytestmark = pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)


def test_exact_sums_as_ptx(tmp_path):
    out = run_tests(tmp_path, 32, "cuda", "test_exact_sums.py")
    assert " passed" in out and "failed" not in out
