#!/usr/bin/env python3
"""Fails on files that don't open with a comment on their role, and on headers without `#pragma once`.

The comment stands first (after a #! line), has at least a few words, and is not a test's RUN or CHECK line. Empty files,
fuzzing corpora and __init__.py files that only re-export need none.
"""

import re
import sys

import source_files

SLASHES, HASH, SEMICOLON = "//", "#", ";"
MARKS = {".cpp": SLASHES, ".h": SLASHES, ".cu": SLASHES, ".cuh": SLASHES, ".def": None, ".inc": SLASHES,
         ".py": HASH, ".sh": HASH, ".cmake": HASH, ".wir": None}
NAMED = {"CMakeLists.txt": HASH, "Makefile": HASH}
MIN_WORDS = 3
DIRECTIVE = re.compile(r"^(RUN|GOLDEN|REQUIRES|UNSUPPORTED|[A-Z][A-Z0-9_-]*):")
DOCSTRING = re.compile(r'^[rR]?("""|\'\'\')\s*(.*?)\1', re.DOTALL)


def opening_comment(text, mark):
    """The words of the comment that the file opens with; empty when there is none."""
    lines = text.split("\n")
    if lines and lines[0].startswith("#!"):
        lines = lines[1:]
    marks = (mark,) if mark else (SLASHES, SEMICOLON, HASH)
    words = []
    for line in lines:
        line = line.strip()
        used = next((m for m in marks if line.startswith(m)), None)
        if used is None:
            break
        content = line[len(used):].lstrip(used[0]).strip()
        if not DIRECTIVE.match(content):
            words += content.split()
    if not words and mark == HASH:
        docstring = DOCSTRING.match("\n".join(lines).lstrip())
        words = docstring.group(2).split() if docstring else []
    return words


def finding_for(path, text):
    """What is wrong with this file's opening, or None."""
    mark = NAMED.get(path.name) if path.name in NAMED else MARKS[path.suffix]
    if len(opening_comment(text, mark)) < MIN_WORDS:
        return "the file does not open with a comment on its role"
    if path.suffix in {".h", ".cuh"} and "#pragma once" not in text:
        return "the header lacks #pragma once"
    return None


def check(root):
    """All findings, and the number of files looked at."""
    findings, checked = [], 0
    for path in source_files.project_files(root):
        if path.suffix not in MARKS and path.name not in NAMED:
            continue
        text = source_files.read_text(root / path)
        if text is None or not text.strip() or path.name == "__init__.py":
            continue
        if path.parts[:3] == ("tests", "fuzz", "corpus"):  # data
            continue
        # One line that names a folder's library says all there is to say.
        if path.name == "CMakeLists.txt" and text.count("\n") <= 10 and "weft_folder(" in text:
            continue
        checked += 1
        finding = finding_for(path, text)
        if finding:
            findings.append(f"{path}:1: {finding}")
    return findings, checked


def main():
    arguments = source_files.argument_parser(__doc__).parse_args()
    findings, checked = check(arguments.root)
    return source_files.report("check_headers", findings, checked)


if __name__ == "__main__":
    sys.exit(main())
