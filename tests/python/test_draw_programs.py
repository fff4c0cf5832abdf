"""Random kernels that draw numbers from counters (draw_programs.py), beside plain Python (draw_replay.py): the interpreter, lanes and
threads of the CPU, on which such draws may wait (docs/design/launches.md), and PTX.

A few run always; with WEFT_SOAK=1 (`make soak`) many more.
"""

from __future__ import annotations

import os

import pytest
from test_fake_driver import FAKE, run_with

SOAK = bool(os.environ.get("WEFT_SOAK"))
PARTS = range(10 if SOAK else 1)
COUNT = 40 if SOAK else 8  # programs of a part
CPU = ["interpreter", (1, 1), (4, 1), (4, 0), (0, 0), (1, 5)]  # (lanes, threads): 0 is as many as it likes
FORMS = {  # as draw_replay.Program takes it, and where
    "any_order": ({}, [*CPU, "cuda"]),
    "in_order": ({"in_order": True}, ["interpreter", (1, 1)]),
    "deterministic": ({"deterministic": True}, ["interpreter", (1, 1), (4, 0), (0, 0), "cuda"]),
    "slopes": ({"slopes": True}, ["interpreter", (1, 1), (4, 0), (0, 0), "cuda"]),
}

pytestmark = pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("form", FORMS)
def test_numbers_and_what_is_written_by_them(tmp_path, form, part):
    options, executors = FORMS[form]
    first = 1000 * list(FORMS).index(form) + part * COUNT
    run_with(
        "draw_replay",
        f"for number in range({first}, {first + COUNT}):\n    draw_replay.check(number, {executors}, folder, **{options})",
        tmp_path,
    )
