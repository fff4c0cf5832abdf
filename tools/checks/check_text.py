#!/usr/bin/env python3
"""Fails on text that must not be in the tree: paths of somebody's machine, marks of unfinished work, tabs.

Makefiles need tabs; goldens and fuzzing seeds hold whatever the tested program prints or eats.
"""

import re
import sys

import source_files

# Spelled so that this file does not find itself.
RULES = [
    (re.compile(r"(?<![\w./-])/(?:work|home|root|Users|mnt)(?:/[\w.-]|(?=[\s\"'`,;:)]|$))"), "a path of one machine"),
    (re.compile(r"(?<![\w/])\.\./shared\b"), "a path outside the project"),
    (re.compile(r"\b(?:TO" r"DO|FIX" r"ME)\b"), "a mark of unfinished work"),
]
TAB_NAMES = {"Makefile"}
TAB_SUFFIXES = {".mk", ".golden", ".patch"}
DATA_FOLDERS = {"corpus"}


def line_findings(path, text):
    """Findings of one file, line by line."""
    tabs_allowed = path.name in TAB_NAMES or path.suffix in TAB_SUFFIXES
    for number, line in enumerate(text.split("\n"), start=1):
        for pattern, what in RULES:
            match = pattern.search(line)
            if match:
                yield f"{path}:{number}: {what}: {match.group(0)}"
        if "\t" in line and not tabs_allowed:
            yield f"{path}:{number}: a tab"


def check(root):
    """All findings, and the number of files looked at."""
    findings, checked = [], 0
    for path in source_files.project_files(root):
        if DATA_FOLDERS & set(path.parts):
            continue
        text = source_files.read_text(root / path)
        if text is None:
            continue
        checked += 1
        findings += line_findings(path, text)
    return findings, checked


def main():
    arguments = source_files.argument_parser(__doc__).parse_args()
    findings, checked = check(arguments.root)
    return source_files.report("check_text", findings, checked)


if __name__ == "__main__":
    sys.exit(main())
