#!/usr/bin/env python3
"""Fails on switches over IR operations with a `default` that does not say why it is right for operations to come.

A `default` hides a new operation from the compiler. One that gives the careful answer may stay, with `// safe: …` on its
line; elsewhere the cases are listed, whole classes of them by WEFT_CASES (src/ir/op_cases.h).
"""

import re
import sys

import source_files

SWITCH = re.compile(r"\bswitch \(")
OPERATIONS = re.compile(r"\bcase (?:ir::)?(?:OpCode|OpClass|Effect|Access|Derivative|Lanes)::")
DEFAULT = re.compile(r"\bdefault:[^\n]*")


def block_end(text, start):
    """Where the block that opens at or after start ends, or the end of the text."""
    depth = 0
    for at in range(text.index("{", start), len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text)


def own_text(text, start, end):
    """The text of a switch, with the switches inside of it blanked."""
    inner = SWITCH.search(text, start + 1, end)
    while inner:
        inner_end = block_end(text, inner.end())
        text = text[: inner.start()] + " " * (inner_end - inner.start()) + text[inner_end:]
        inner = SWITCH.search(text, inner_end, end)
    return text[start:end]


def check_text(path, text):
    """Findings of one file."""
    for match in SWITCH.finditer(text):
        if "{" not in text[match.end():]:
            return
        body = own_text(text, match.start(), block_end(text, match.end()))
        if not OPERATIONS.search(body):
            continue
        for default in DEFAULT.finditer(body):
            if "// safe: " not in default.group():
                line = text.count("\n", 0, match.start() + default.start()) + 1
                yield (f"{path}:{line}: a default hides operations to come: list the cases (ir/op_cases.h), or say"
                       " with '// safe: …' why this is right for them")


def check(root):
    """All findings, and the number of files looked at."""
    findings, checked = [], 0
    for path in source_files.cpp_files(root):
        if path.parts[0] != "src":
            continue
        checked += 1
        findings += check_text(path, source_files.read_text(root / path) or "")
    return findings, checked


def main():
    arguments = source_files.argument_parser(__doc__).parse_args()
    findings, checked = check(arguments.root)
    return source_files.report("check_switches", findings, checked)


if __name__ == "__main__":
    sys.exit(main())
