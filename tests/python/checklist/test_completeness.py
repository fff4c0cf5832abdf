"""Every statement of the documents has a test that names it, or a row in later.py."""

from __future__ import annotations

import pathlib
import re

from later import LATER

STATEMENTS = 200
HERE = pathlib.Path(__file__).parent


def test_every_statement_is_tested_or_listed():
    tested: dict[int, str] = {}
    for file in sorted(HERE.glob("test_seed_*.py")):
        for name in re.findall(r"^def (test_seed_(?:\d{3}_)+\w+)", file.read_text(), flags=re.MULTILINE):
            for number in re.findall(r"(?<=_)\d{3}(?=_)", name):
                assert int(number) not in tested, f"{number} is tested twice: {tested[int(number)]}, {name}"
                tested[int(number)] = name
    later = {number for number, _, _ in LATER}
    assert len(later) == len(LATER)
    assert not later & set(tested), "listed as later although tested"
    assert later | set(tested) == set(range(1, STATEMENTS + 1))
