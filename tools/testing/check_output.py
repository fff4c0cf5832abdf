"""Holds a program's output against the CHECK lines of a test file, in the manner of LLVM's FileCheck.

  CHECK:        the pattern occurs after the last match            CHECK-DAG:   a group of these, in any order
  CHECK-NEXT:   … on the very next line                            CHECK-NOT:   does not occur before the next match
  CHECK-SAME:   … further on the same line                         CHECK-LABEL: divides input and checks into blocks,
  CHECK-EMPTY:  the very next line is empty                                     so that a failure stays in its own

`check_output` returns None, or the text of the first failure.
"""

import bisect
import dataclasses
import re

from check_patterns import Pattern, PatternError

KINDS = ("", "NEXT", "SAME", "NOT", "DAG", "LABEL", "EMPTY")
SHOWN_LINES = 8


@dataclasses.dataclass
class Directive:
    """One CHECK line."""

    kind: str  # one of KINDS
    pattern: Pattern
    line: int  # in the test file
    source: str  # the line as written


@dataclasses.dataclass(frozen=True, order=True)
class Position:
    """A place in the output: line index and column, both from zero."""

    line: int
    column: int


class CheckFailure(Exception):
    """A directive that the output does not satisfy."""


def parse_directives(text, prefix, strict_whitespace=False):
    """The directives of a test file with this prefix, in order. Raises CheckFailure for an unknown kind."""
    finder = re.compile(rf"(?://|;|#)[ \t]*{re.escape(prefix)}(?:-([A-Z][A-Z0-9-]*))?:(.*)$")
    directives = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = finder.search(line)
        if not match:
            continue
        kind = match.group(1) or ""
        if kind not in KINDS:
            # Another prefix that begins like this one (CHECK-ARM: with the prefix CHECK) is not ours to judge, but a
            # misspelt kind must not turn a check off silently; prefixes therefore contain no hyphen.
            raise CheckFailure(f"line {number}: unknown directive {prefix}-{kind}: (kinds: {', '.join(KINDS[1:])})")
        directive = Directive(kind, Pattern(match.group(2), number, strict_whitespace), number, line.strip())
        if kind == "EMPTY" and match.group(2).strip():
            raise CheckFailure(f"line {number}: {prefix}-EMPTY takes no pattern")
        if kind != "EMPTY" and not directive.pattern.text.strip():
            raise CheckFailure(f"line {number}: the directive has no pattern")
        if kind == "LABEL" and directive.pattern.defines_or_uses_variables():
            raise CheckFailure(f"line {number}: {prefix}-LABEL may not use or define variables")
        directives.append(directive)
    if directives and directives[0].kind in ("NEXT", "SAME", "EMPTY"):
        raise CheckFailure(f"line {directives[0].line}: {prefix}-{directives[0].kind} needs a match before it")
    return directives


class Matcher:
    """Runs directives over the lines of an output. `last` below is the end of the last match, None before the first."""

    def __init__(self, output):
        self.lines = output.split("\n")
        if self.lines and self.lines[-1] == "":
            self.lines.pop()
        self.variables = {}
        self.end = Position(len(self.lines), 0)

    def run(self, directives):
        """Splits at labels, then checks block by block."""
        for start, limit, block in self._blocks(directives):
            self._run_block(start, limit, block)

    def _blocks(self, directives):
        """(last match or None, limit, directives) per block: labels are found first, each after the one before it."""
        blocks, start, pending = [], None, []
        for directive in directives:
            if directive.kind != "LABEL":
                pending.append(directive)
                continue
            found = self._find(directive, start or Position(0, 0), self.end)
            if not found:
                raise self._not_found(directive, start or Position(0, 0), self.end)
            blocks.append((start, found[0], pending))
            start, pending = found[1], []
        blocks.append((start, self.end, pending))
        return blocks

    def _run_block(self, last, limit, directives):
        forbidden, index = [], 0
        while index < len(directives):
            directive = directives[index]
            if directive.kind == "NOT":
                forbidden.append(directive)
                index += 1
                continue
            begin = last or Position(0, 0)
            if directive.kind == "DAG":
                group = []
                while index < len(directives) and directives[index].kind == "DAG":
                    group.append(directives[index])
                    index += 1
                first, last = self._match_group(group, begin, limit)
            else:
                first, last = self._match_one(directive, last, limit)
                index += 1
            self._forbid(forbidden, begin, first)
            forbidden = []
        self._forbid(forbidden, last or Position(0, 0), limit)

    def _match_one(self, directive, last, limit):
        if directive.kind == "":
            begin = last or Position(0, 0)
            found = self._find(directive, begin, limit)
            if not found:
                raise self._not_found(directive, begin, limit)
            return self._accept(found)
        if last is None:
            raise CheckFailure(f"line {directive.line}: nothing was matched before this\n  {directive.source}")
        if directive.kind == "SAME":
            begin, stop = last, min(Position(last.line + 1, 0), limit)
        else:
            begin = Position(last.line + 1, 0)
            stop = min(Position(last.line + 2, 0), limit)
        if directive.kind == "EMPTY":
            if begin < stop and self.lines[begin.line] == "":
                return begin, begin
            raise self._not_found(directive, begin, stop)
        found = self._find(directive, begin, stop) if begin < stop else None
        if not found:
            elsewhere = self._find(directive, last, limit)
            raise self._not_found(directive, begin, stop, elsewhere)
        return self._accept(found)

    def _match_group(self, group, begin, limit):
        """CHECK-DAG: each searches the whole stretch, and no two matches overlap."""
        taken = []  # sorted, disjoint (start, end)
        for directive in group:
            search_from = begin
            while True:
                found = self._find(directive, search_from, limit)
                if not found:
                    raise self._not_found(directive, begin, limit)
                overlap = next((t for t in taken if found[0] < t[1] and t[0] < found[1]), None)
                if overlap is None:
                    break
                search_from = overlap[1]
            self._accept(found)
            bisect.insort(taken, (found[0], found[1]))
        return taken[0][0], max(end for _, end in taken)

    def _accept(self, found):
        start, end, captures = found
        self.variables.update(captures)
        return start, end

    def _forbid(self, directives, begin, limit):
        for directive in directives:
            found = self._find(directive, begin, limit)
            if found:
                where = f"output line {found[0].line + 1}, column {found[0].column + 1}"
                raise CheckFailure(
                    f"line {directive.line}: this must not occur, but does at {where}\n"
                    f"  {directive.source}\n{self._excerpt(found[0], found[0].line)}"
                )

    def _find(self, directive, begin, limit):
        """The first match in [begin, limit): (start, end, captures), or None."""
        try:
            regex = directive.pattern.compile(self.variables)
        except PatternError as error:
            raise CheckFailure(f"line {directive.line}: {error}\n  {directive.source}") from None
        stop = limit.line + 1 if limit.column > 0 else limit.line
        for number in range(begin.line, min(stop, len(self.lines))):
            line = self.lines[number]
            start = begin.column if number == begin.line else 0
            # Lines before the limit are searched whole; on the limit's own line a match must end before it.
            match = regex.search(line, start) if number < limit.line else regex.search(line[: limit.column], start)
            if match:
                captures = {name: value for name, value in match.groupdict().items() if value is not None}
                return Position(number, match.start()), Position(number, match.end()), captures
        return None

    def _not_found(self, directive, begin, limit, elsewhere=None):
        """The failure with the line expected, where the search began and what stands there."""
        text = [f"line {directive.line}: not found in the output", f"  {directive.source}"]
        used = self._variables_used(directive)
        if used:
            text.append("  with " + ", ".join(used))
        if elsewhere:
            text.append(f"  it does occur, but at output line {elsewhere[0].line + 1}, column {elsewhere[0].column + 1}")
        if begin.line >= len(self.lines):
            text.append("  the search began at the end of the output, which was:" if self.lines else "  no output at all")
            text.append(self._excerpt(None, max(0, len(self.lines) - SHOWN_LINES)))
        else:
            place = f"  the search began at output line {begin.line + 1}, column {begin.column + 1}"
            if limit != self.end:
                place += f" and ended at line {limit.line + 1}, column {limit.column + 1}"
            text.append(place + ":")
            text.append(self._excerpt(begin, begin.line, limit.line))
        return CheckFailure("\n".join(part for part in text if part))

    def _variables_used(self, directive):
        names = re.findall(r"\[\[([A-Za-z_]\w*)\]\]", directive.pattern.text)
        return [f'{name} = "{self.variables[name]}"' for name in dict.fromkeys(names) if name in self.variables]

    def _excerpt(self, mark, first, last=None):
        """Some numbered lines of the output from `first` on, with a caret under `mark`."""
        last = len(self.lines) if last is None else max(last, first + 1)
        shown = []
        for number in range(first, min(first + SHOWN_LINES, len(self.lines), last + 1)):
            shown.append(f"  {number + 1:5} | {self.lines[number]}")
            if mark is not None and number == mark.line:
                shown.append("        | " + " " * mark.column + "^")
        if first + SHOWN_LINES < min(len(self.lines), last + 1):
            shown.append("        | …")
        return "\n".join(shown)


def check_output(test_text, output, prefix="CHECK", strict_whitespace=False):
    """None when the output satisfies every directive with this prefix, else the text of the first failure."""
    try:
        directives = parse_directives(test_text, prefix, strict_whitespace)
        if not directives:
            return f"the file has no {prefix}: line"
        Matcher(output).run(directives)
    except CheckFailure as failure:
        return str(failure)
    return None
