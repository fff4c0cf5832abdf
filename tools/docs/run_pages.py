#!/usr/bin/env python3
"""Runs the Python examples of the documentation and compares what they print with what the page shows.

The ```python blocks of a page run in order, in one namespace and one fresh process per page. A ```text block that
follows one, with nothing but blank lines in between, is what it prints, warnings included. A block that raises must be
followed by such a block, whose last part is the exception as `Type: message`. Each block is a file named example.py, so
that lines in messages count from the block's first line.

  run_pages.py docs/start.md…            rewrite the ```text blocks
  run_pages.py --check docs/start.md…    fail if one differs

A block marked ```python no-run is shown only; use it for what can't run everywhere. A page with a line `<!-- needs: jax -->`
is left out, visibly, where a module that it names is not installed.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import difflib
import importlib.util
import linecache
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:(?P<gap>\n*)^```text\n(?P<shown>.*?)^```\n)?", re.S | re.M)
NEEDS = re.compile(r"^<!-- needs: (.*?) -->$", re.M)
FILE = "example.py"


@contextlib.contextmanager
def captured_output(lines: list[str]) -> Iterator[None]:
    """Appends what Python and compiled code write to the process's two outputs meanwhile."""
    flush = ctypes.CDLL(None).fflush
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        saved = [os.dup(1), os.dup(2)]
        try:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            flush(None)
            for number, copy in zip((1, 2), saved):
                os.dup2(copy, number)
                os.close(copy)
        file.seek(0)
        lines += [line.rstrip() for line in file.read().splitlines()]


def run_block(code: str, namespace: dict) -> tuple[str, bool]:
    """What a block prints, the exception included, and whether it raised."""
    linecache.cache[FILE] = (len(code), None, code.splitlines(True), FILE)
    raised = False
    lines: list[str] = []
    with captured_output(lines):
        try:
            exec(compile(code, FILE, "exec"), namespace)
        except Exception as error:
            raised = True
            sys.stdout.write("".join(traceback.format_exception_only(type(error), error)))
    return "\n".join(lines).strip("\n"), raised


def fill_page(text: str) -> tuple[str, int, list[str]]:
    """The page with true outputs, the number of blocks run, and what can't be mended by rewriting."""
    namespace: dict = {"__name__": "__main__", "__file__": FILE}
    blocks, problems = 0, []

    def fill(match: re.Match) -> str:
        nonlocal blocks
        blocks += 1
        printed, raised = run_block(match["code"], namespace)
        line = text.count("\n", 0, match.start()) + 1
        block = f"```python\n{match['code']}```\n"
        if match["shown"] is None:
            if raised:
                problems.append(f"line {line}: raises and the page does not show it:\n{printed}")
            elif printed:
                problems.append(f"line {line}: prints and the page does not show it:\n{printed}")
            return block
        return f"{block}{match['gap']}```text\n{printed}\n```\n"

    return BLOCK.sub(fill, text), blocks, problems


def run_here(page: pathlib.Path, check: bool) -> int:
    """Runs one page in this process."""
    for stream in (sys.stdout, sys.stderr):  # each line at once, so that both and compiled code keep their order
        stream.reconfigure(line_buffering=True)
    with captured_output([]):  # what the package says of the machine when it starts belongs to no example
        import warp

        warp.init()
    text = page.read_text(encoding="utf-8")
    filled, blocks, problems = fill_page(text)
    for problem in problems:
        print(f"{page}: {problem}")
    stale = filled != text
    if stale and check:
        sys.stdout.writelines(
            difflib.unified_diff(text.splitlines(True), filled.splitlines(True), str(page), f"{page} as it should be")
        )
    elif stale:
        page.write_text(filled, encoding="utf-8")
    print(f"{page}: {blocks} examples{', out of date' if stale and check else ''}")
    return 1 if problems or (stale and check) else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--here", action="store_true", help="in this process: used for each page by the script itself")
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    if args.here:
        page = args.pages[0].resolve()
        return run_here(page, args.check)
    failed = 0
    for page in args.pages:
        needs = NEEDS.findall(page.read_text(encoding="utf-8"))
        missing = [name for line in needs for name in line.split() if importlib.util.find_spec(name) is None]
        if missing:
            print(f"{page}: left out, {' and '.join(missing)} is not installed")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            command = [sys.executable, __file__, "--here", str(page.resolve()), *(["--check"] if args.check else [])]
            environment = {**os.environ, "WARP_CACHE_PATH": scratch}
            failed |= subprocess.run(command, cwd=scratch, env=environment, timeout=300, check=False).returncode
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
