#!/usr/bin/env python3
"""Checks the C++ files' format with clang-format 19, or rewrites them with --write.

Another version formats differently, so no other is taken; without it the check is skipped, and says so.
"""

import shutil
import subprocess
import sys

import source_files

PROGRAM = "clang-format-19"


def main():
    parser = source_files.argument_parser(__doc__)
    parser.add_argument("--write", action="store_true", help="rewrite the files")
    arguments = parser.parse_args()
    if not shutil.which(PROGRAM):
        print(f"format: SKIPPED, {PROGRAM} is not installed")
        return 1 if arguments.write else 0
    files = [str(path) for path in source_files.cpp_files(arguments.root)]
    mode = ["-i"] if arguments.write else ["--dry-run", "-Werror"]
    status = 0
    for start in range(0, len(files), 200):
        command = [PROGRAM, *mode, "--style=file", *files[start : start + 200]]
        status |= subprocess.run(command, cwd=arguments.root).returncode
    verdict = "rewritten" if arguments.write else "ok" if status == 0 else "not formatted (make format mends it)"
    print(f"format: {len(files)} file(s), {verdict}")
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
