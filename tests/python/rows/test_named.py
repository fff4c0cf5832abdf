"""Rows without values to compare are tested by hand: the test that a row names exists and calls it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from signatures import Row, all_rows

NAMED = [row for row in all_rows() if row.sample.startswith("none")]


@pytest.mark.parametrize("row", NAMED, ids=lambda row: row.key)
def test_the_named_test_calls_it(row: Row) -> None:
    path = Path(__file__).parents[1] / f"{row.sample.split()[1]}.py"
    assert path.exists(), f"{row.key} says that {path.name} tests it"
    text = path.read_text()
    # By itself, or through a list of names.
    assert re.search(rf"\b(wp\.)?{row.name}\(|[\"']{row.name}[\"']", text), f"{path.name} does not call {row.name}"
