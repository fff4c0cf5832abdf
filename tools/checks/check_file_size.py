#!/usr/bin/env python3
"""Fails on source files of more than 600 lines: a file that long holds more than one idea.

Data tables (.def) are exempt: they are lists, and a list is as long as it is.
"""

import sys

import source_files

LIMIT = 600
SUFFIXES = source_files.CPP_SUFFIXES | {".py"}


def check(root):
    """All findings, longest file first, and the number of files looked at."""
    sizes = []
    for path in source_files.project_files(root):
        if path.suffix in SUFFIXES:
            sizes.append(((root / path).read_bytes().count(b"\n"), path))
    long_ones = sorted(((lines, path) for lines, path in sizes if lines > LIMIT), reverse=True)
    return [f"{path}:{lines}: {lines} lines, over {LIMIT}: split it by idea" for lines, path in long_ones], len(sizes)


def main():
    arguments = source_files.argument_parser(__doc__).parse_args()
    findings, checked = check(arguments.root)
    return source_files.report("check_file_size", findings, checked)


if __name__ == "__main__":
    sys.exit(main())
