"""Runs the tests of one module in a process of its own (recorder.py) and says what became of each.

A process that dies costs one test: the record names it, and a new process runs those that are left. A process that
takes too long is ended; the tests that it did not come to are counted as errors.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from recorder import IMPORT  # noqa: E402

RECORDER = pathlib.Path(__file__).resolve().with_name("recorder.py")
MOST_STARTS = 12


@dataclasses.dataclass
class Outcome:
    """What became of one test; `cause` is the line under which what did not pass is counted."""

    test: str
    outcome: str  # passed, failed, error, skipped
    cause: str = ""
    trace: str = ""


@dataclasses.dataclass
class Child:
    """How the processes are started: the interpreter, what recorder.py takes, and the time for one module."""

    python: str
    environment: dict[str, str]
    options: list[str] = dataclasses.field(default_factory=list)
    limit: float = 300.0

    def __post_init__(self):
        """The processes run in folders of their own: a path that begins here has to be whole. Links of environments stay."""
        self.python = os.path.abspath(shutil.which(self.python) or self.python)

    def run(self, module: str, *options: str, until: float) -> tuple[list[dict], int | None, str]:
        """One process: its record, its exit status (None: the time was over) and the end of what it printed."""
        with tempfile.TemporaryDirectory() as folder:
            record, printed = pathlib.Path(folder, "record"), pathlib.Path(folder, "printed")
            command = [self.python, "-X", "faulthandler", str(RECORDER), module, str(record), *self.options, *options]
            with printed.open("wb") as out:
                process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=out,
                                           stderr=subprocess.STDOUT, cwd=folder, start_new_session=True)  # fmt: skip
                try:
                    status = process.wait(max(until - time.monotonic(), 0.1))
                except subprocess.TimeoutExpired:
                    status = None
                finally:
                    _end(process)
            lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
            return _entries(lines), status, printed.read_bytes()[-4000:].decode(errors="replace")

    def names(self, module: str) -> list[str]:
        """The names of a module's tests; none if it can't be imported."""
        entries, _, _ = self.run(module, "--list", until=time.monotonic() + self.limit)
        return next((entry["tests"] for entry in entries if "tests" in entry), [])

    def outcomes(self, module: str) -> list[Outcome]:
        """What became of every test of a module."""
        until = time.monotonic() + self.limit
        found: dict[str, Outcome] = {}
        names: list[str] = []
        for _ in range(MOST_STARTS):
            with tempfile.NamedTemporaryFile("w", suffix=".json") as done:
                json.dump(list(found), done)
                done.flush()
                entries, status, printed = self.run(module, "--done", done.name, until=until)
            running = IMPORT
            for entry in entries:
                if "begin" in entry:
                    running = entry["begin"]
                elif "tests" in entry:
                    names, running = entry["tests"], ""
                else:
                    found[entry["test"]] = Outcome(**entry)
                    running = "" if entry["test"] == running else running
            if status == 0:
                return list(found.values())
            if running:
                found[running] = Outcome(running, "error", _died(status, self.limit), printed)
            if status is None or running in ("", IMPORT):
                break
        for name in names:
            found.setdefault(name, Outcome(name, "error", "not run: the process ended before"))
        return list(found.values())


def _died(status: int | None, limit: float) -> str:
    if status is None:
        return f"the time limit of the file, {limit:.0f} s"
    return f"the process died: {signal.Signals(-status).name if status < 0 else f'exit status {status}'}"


def _entries(lines: list[str]) -> list[dict]:
    """The entries of a record; the last line may be cut."""
    entries = []
    for line in lines:
        try:
            entries.append(json.loads(line))
        except ValueError:
            break
    return entries


def _end(process: subprocess.Popen):
    """Ends the process and those that it started: they share a session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
