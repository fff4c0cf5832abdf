"""Programs of cases on a GPU: a file of functions `case_…`, run as a program of its own, which sees the GPU as any program does
(the tests' own process hides it from what it starts). It prints a line of JSON for each case: passed, skipped or failed, and
figures. The test of a file starts it once and looks at the lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any, Callable

import pytest

FOLDER = Path(__file__).resolve().parent / "gpu"
_MARK = "case: "


class Skip(Exception):
    """A case that can't run here, with the reason."""


def names_in(program: str) -> list[str]:
    """The cases of a program, read from its text: its framework may not be there."""
    text = (FOLDER / f"{program}.py").read_text(encoding="utf-8")
    return [line[len("def ") : line.index("(")] for line in text.splitlines() if line.startswith("def case_")]


def run_cases(cases: dict[str, Callable[[], Any]]) -> None:
    """The main function of such a program: runs all cases, or those named by its arguments."""
    chosen = [name for name in cases if name in sys.argv[1:]] if len(sys.argv) > 1 else list(cases)
    failed = False
    for name in chosen:
        told: dict[str, Any] = {"name": name, "state": "passed"}
        try:
            figures = cases[name]()
            if figures:
                told["figures"] = figures
        except Skip as reason:
            told.update(state="skipped", text=str(reason))
        except Exception:
            told.update(state="failed", text=traceback.format_exc())
            failed = True
        print(_MARK + json.dumps(told), flush=True)
    sys.exit(1 if failed else 0)


def results_of(program: str, environment: dict[str, str], **more: str) -> dict[str, dict[str, Any]]:
    """Runs a program of cases; what it said of each."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{program}.py")],
        env={**environment, "PYTHONPATH": os.pathsep.join([str(FOLDER.parent), environment.get("PYTHONPATH", "")]), **more},
        capture_output=True,
        text=True,
        timeout=600,
    )
    told = [json.loads(line[len(_MARK) :]) for line in done.stdout.splitlines() if line.startswith(_MARK)]
    made = {one["name"]: one for one in told}
    for name in names_in(program):
        made.setdefault(name, {"state": "failed", "text": f"the program ended before it:\n{(done.stdout + done.stderr)[-3000:]}"})
    return made


def look_at(told: dict[str, Any]) -> None:
    """The outcome of a case as that of a test."""
    if told["state"] == "skipped":
        pytest.skip(told["text"])
    assert told["state"] == "passed", told["text"]
