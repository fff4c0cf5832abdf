"""Pieces of graphs that run side by side (wp.config.parallel_graphs), on the fake driver."""

from __future__ import annotations

import re

import pytest
import test_late_launches
from test_late_launches import pytestmark as pytestmark


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed, tmp_path, monkeypatch):
    """Any order that a graph's edges allow gives what launches one after the other give, and prints in their order."""
    monkeypatch.setenv("WEFT_FAKE_CUDA_ARCH", "90")
    told = []
    for shuffle in (1, 2, 3):
        monkeypatch.setenv("WEFT_FAKE_CUDA_SHUFFLE", str(shuffle))
        done = test_late_launches.run("graph_order_program", seed, 1, cache=tmp_path / "cache")
        assert done.stdout.endswith("done\n")
        told.append(done.stdout)
    monkeypatch.delenv("WEFT_FAKE_CUDA_SHUFFLE")
    told.append(test_late_launches.run("graph_order_program", seed, 0, cache=tmp_path / "cache").stdout)
    assert len(set(told)) == 1
    assert len(re.findall("piece", told[0])) % 3 == 0


def test_chains(tmp_path):
    assert test_late_launches.run("graph_chains_program", cache=tmp_path / "cache").stdout.endswith("done\n")
