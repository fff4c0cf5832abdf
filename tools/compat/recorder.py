"""Runs the unittest tests of one module and writes what becomes of each, as it happens. Runs in a process of its own.

The record is a file with one JSON object a line, so that it says how far the tests came even if the process dies:
{"begin": test}, then {"test": test, "outcome": "passed" | "failed" | "error" | "skipped", "cause": …, "trace": …}. A
module that can't be imported is the test "import". Started by test_process.py; written for any package, so it imports
nothing of this project.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import runpy
import sys
import traceback
import unittest

IMPORT = "import"  # the name under which a module's import is recorded


def cause_of(kind: type, error: BaseException) -> str:
    """The line under which an exception is counted: its class and what its message says first.

    A compiler's message opens with a function and a place; its first "error:" says more.
    """
    lines = [line.strip() for line in str(error).splitlines()]
    reported = (line.partition(" error: ")[2] for line in lines if " error: " in line)
    said = next(reported, None) or next((line for line in lines if line), "")
    return f"{kind.__name__}: {said}".rstrip(": ")


class Recorder(unittest.TestResult):
    """A result that writes every outcome to the record at once."""

    def __init__(self, record, prefix: str):
        super().__init__()
        self.record, self.prefix = record, prefix
        self.broken_subtests = {}

    def name(self, test) -> str:
        text = test.id() if hasattr(test, "id") else str(test)
        return text.removeprefix(self.prefix + ".")

    def write(self, entry: dict):
        self.record.write(json.dumps(entry) + "\n")
        self.record.flush()

    def outcome(self, test, outcome: str, error=None, reason: str = ""):
        entry = {"test": self.name(test), "outcome": outcome}
        if error is not None:
            kind, value, trace = error
            entry["cause"] = cause_of(kind, value)
            entry["trace"] = "".join(traceback.format_exception(kind, value, trace))[-6000:]
        elif reason:
            entry["cause"] = reason
        self.write(entry)

    def startTest(self, test):
        super().startTest(test)
        self.write({"begin": self.name(test)})

    def stopTest(self, test):
        super().stopTest(test)
        error = self.broken_subtests.pop(self.name(test), None)
        if error is not None:
            self.outcome(test, "failed" if issubclass(error[0], test.failureException) else "error", error)

    def addSuccess(self, test):
        self.outcome(test, "passed")

    def addFailure(self, test, err):
        self.outcome(test, "failed", err)

    def addError(self, test, err):
        self.outcome(test, "error", err)

    def addSkip(self, test, reason):
        self.outcome(test, "skipped", reason=reason)

    def addExpectedFailure(self, test, err):
        self.outcome(test, "passed")

    def addUnexpectedSuccess(self, test):
        self.outcome(test, "failed", reason="unexpected success")

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.broken_subtests.setdefault(self.name(test), err)


def tests_of(suite) -> list[unittest.TestCase]:
    """The tests of a suite of suites, in their order."""
    if isinstance(suite, unittest.TestCase):
        return [suite]
    return [test for part in suite for test in tests_of(part)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module")
    parser.add_argument("record", type=pathlib.Path, help="file to append to")
    first = "a Python file to run first, in which tested_module is the module's name"
    parser.add_argument("--before", type=pathlib.Path, action="append", default=[], help=first)
    parser.add_argument("--done", type=pathlib.Path, help="a JSON list of tests that need not run")
    parser.add_argument("--only", default="", help="run only tests that have this text in their name")
    parser.add_argument("--list", action="store_true", help="record the names of the tests instead of running them")
    arguments = parser.parse_args()

    sys.argv = [sys.argv[0]]  # tests read the command line
    done = set(json.loads(arguments.done.read_text())) if arguments.done else set()
    with arguments.record.open("a", encoding="utf-8") as record:
        result = Recorder(record, arguments.module)
        result.write({"begin": IMPORT})
        try:
            for file in arguments.before:
                runpy.run_path(str(file), {"tested_module": arguments.module}, "before_tests")
            module = importlib.import_module(arguments.module)
        except unittest.SkipTest as skip:
            result.outcome(IMPORT, "skipped", reason=str(skip))
            return
        except BaseException:  # SystemExit too: a file that leaves is a file that can't be imported
            result.outcome(IMPORT, "error", sys.exc_info())
            return
        suite = unittest.defaultTestLoader.loadTestsFromModule(module)
        chosen = [test for test in tests_of(suite) if arguments.only in result.name(test)]
        result.write({"tests": [result.name(test) for test in chosen]})
        if not arguments.list:
            unittest.TestSuite([test for test in chosen if result.name(test) not in done]).run(result)


if __name__ == "__main__":
    main()
