"""Counts outcomes of tests by file and by cause, prints the tables and writes them as JSON."""

from __future__ import annotations

import json
import pathlib
import re
from collections import Counter, defaultdict

from test_process import Outcome

KINDS = ("passed", "failed", "error", "skipped", "later", "internals")


def grouped(cause: str) -> str:
    """A cause without what differs from test to test: addresses, figures, temporary names, ends of long lines."""
    text = re.sub(r"0x[0-9a-fA-F]+", "0x…", cause)
    text = re.sub(r"/(?:[\w.+-]+/)+", "…/", text)
    text = re.sub(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])", "N", text)
    return text if len(text) <= 160 else text[:159] + "…"


class Table:
    """The outcomes of some files.

    Failures are told apart by patterns: `later` need what a later version brings, `internals` are about parts of the
    other implementation that no program uses.
    """

    def __init__(self, **patterns: str):
        self.patterns = {kind: re.compile(pattern) for kind, pattern in patterns.items()}
        self.files: dict[str, list[Outcome]] = {}

    def kind(self, outcome: Outcome) -> str:
        if outcome.outcome in ("failed", "error"):
            for kind, pattern in self.patterns.items():
                if pattern.search(outcome.cause):
                    return kind
        return outcome.outcome

    def add(self, file: str, outcomes: list[Outcome]):
        self.files[file] = outcomes

    def counts(self, file: str) -> Counter:
        return Counter(self.kind(outcome) for outcome in self.files[file])

    def totals(self) -> Counter:
        return sum((self.counts(file) for file in self.files), Counter())

    def causes(self, *kinds: str) -> list[tuple[str, list[tuple[str, str]]]]:
        """What did not pass, by cause, with file and test; the commonest first."""
        found = defaultdict(list)
        for file, outcomes in self.files.items():
            for outcome in outcomes:
                if self.kind(outcome) in kinds:
                    found[grouped(outcome.cause)].append((file, outcome.test))
        return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))

    def line(self, file: str) -> str:
        counts = self.counts(file)
        return f"{file:44}" + "".join(f"{counts[kind]:10}" for kind in KINDS)

    @staticmethod
    def head() -> str:
        return f"{'file':44}" + "".join(f"{kind:>10}" for kind in KINDS)

    def summary(self) -> str:
        totals = self.totals()
        ran = totals["passed"] + totals["failed"] + totals["error"]
        share = 100.0 * totals["passed"] / ran if ran else 0.0
        parts = ", ".join(f"{totals[kind]} {kind}" for kind in KINDS)
        return f"{len(self.files)} files, {parts}: {share:.1f} % of {ran} pass"

    def print_causes(self, most: int, *kinds: str):
        causes = self.causes(*kinds)
        if causes:
            print(f"\n{' and '.join(kinds)}, by cause:")
        for cause, tests in causes[:most]:
            files = Counter(file for file, _ in tests)
            places = ", ".join(f"{file} {count}" for file, count in files.most_common(4))
            print(f"{len(tests):5}  {cause}\n       {places}{', …' if len(files) > 4 else ''}")

    def report(self, causes: int, traces: bool, json_path: pathlib.Path | None):
        """Prints causes and totals, with `traces` also every failure in full; writes everything to a file if asked."""
        for file, outcomes in self.files.items() if traces else ():
            for outcome in outcomes:
                if self.kind(outcome) in ("failed", "error"):
                    print(f"\n== {file} {outcome.test}\n{outcome.trace or outcome.cause}")
        self.print_causes(causes, "failed", "error")
        for kind in self.patterns:
            self.print_causes(causes, kind)
        print(f"\n{self.summary()}")
        if json_path:
            self.write(json_path)

    def write(self, path: pathlib.Path):
        """Everything, as JSON."""
        files = {
            file: {
                "counts": dict(self.counts(file)),
                "tests": [{**vars(outcome), "kind": self.kind(outcome)} for outcome in outcomes],
            }
            for file, outcomes in self.files.items()
        }
        causes = {cause: [f"{file} {test}" for file, test in tests] for cause, tests in self.causes(*KINDS[1:])}
        path.write_text(json.dumps({"totals": dict(self.totals()), "causes": causes, "files": files}, indent=1))
