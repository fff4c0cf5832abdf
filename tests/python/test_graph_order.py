"""Pieces of graphs that run side by side (wp.config.parallel_graphs), on the fake driver."""

from __future__ import annotations

import re

import pytest
from test_late_launches import HERE, run, run_file
from test_late_launches import pytestmark as pytestmark


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed, tmp_path, monkeypatch):
    """Any order that a graph's edges allow gives what launches one after the other give, and prints in their order."""
    monkeypatch.setenv("WEFT_FAKE_CUDA_ARCH", "90")
    told = []
    for shuffle in (1, 2, 3):
        monkeypatch.setenv("WEFT_FAKE_CUDA_SHUFFLE", str(shuffle))
        done = run("graph_order_program", seed, 1, cache=tmp_path / "cache")
        assert done.stdout.endswith("done\n")
        told.append(done.stdout)
    monkeypatch.delenv("WEFT_FAKE_CUDA_SHUFFLE")
    told.append(run("graph_order_program", seed, 0, cache=tmp_path / "cache").stdout)
    assert len(set(told)) == 1
    assert re.findall(r"piece (\d+):", told[0]) == 3 * ["0", "8", "16", "24", "32"], "of three runs"


def test_chains(tmp_path):
    assert run("graph_chains_program", cache=tmp_path / "cache").stdout.endswith("done\n")


GRAPH_TESTS = """
import sys
import pytest
import warp as wp

wp.config.parallel_graphs = True
sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-k", "cuda", *sys.argv[1:]]))
"""


@pytest.mark.parametrize("shuffle", [1, 2])
def test_other_tests_of_graphs(shuffle, tmp_path, monkeypatch):
    """Those of graphs on GPUs, in orders of their own."""
    monkeypatch.setenv("WEFT_FAKE_CUDA_ARCH", "90")
    monkeypatch.setenv("WEFT_FAKE_CUDA_SHUFFLE", str(shuffle))
    program = tmp_path / "graph_tests.py"
    program.write_text(GRAPH_TESTS, encoding="utf-8")
    files = [f"{HERE}/test_{name}.py" for name in ("graphs", "graph_nesting", "tape_graph", "graph_files")]
    done = run_file(program, *files, cache=tmp_path / "cache")
    assert "passed" in done.stdout and "skipped" not in done.stdout, done.stdout[-3000:]
