#!/usr/bin/env python3
"""Keeps the printed stages in the documentation true: runs the commands that a page names and compares or rewrites.

A page holds lines like
    <!-- run: weftc examples/weftc/settle.py --kernel settle --emit=ir -->
followed by a fenced code block with what the command prints; `<!-- file: PATH -->` stands for a file's contents.
  fill_blocks.py --weftc build/bin/weftc docs/page.md…            rewrite the blocks
  fill_blocks.py --check --weftc build/bin/weftc docs/page.md…    fail if one differs
"""

import argparse
import difflib
import pathlib
import re
import shlex
import subprocess
import sys

BLOCK = re.compile(
    r"(?P<mark><!-- (?P<kind>run|file): (?P<what>.*?) -->\n+```[a-z]*\n)(?P<body>.*?)(?P<end>```\n)", re.S
)


def output_of(kind: str, what: str, weftc: str, root: pathlib.Path) -> str:
    """What the block should hold now."""
    if kind == "file":
        return (root / what).read_text(encoding="utf-8")
    words = shlex.split(what)
    if words[0] != "weftc":
        raise SystemExit(f"only weftc can be run from documentation, not '{words[0]}'")
    done = subprocess.run([weftc, *words[1:]], cwd=root, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--weftc", required=True, type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    failed = blocks = 0
    for page in args.pages:
        text = page.read_text(encoding="utf-8")

        def fill(match: re.Match) -> str:
            nonlocal blocks
            blocks += 1
            body = output_of(match["kind"], match["what"], str(args.weftc.resolve()), args.root)
            if body and not body.endswith("\n"):
                body += "\n"
            return match["mark"] + body + match["end"]

        filled = BLOCK.sub(fill, text)
        if filled == text:
            continue
        if args.check:
            failed += 1
            sys.stdout.writelines(
                difflib.unified_diff(
                    text.splitlines(True), filled.splitlines(True), str(page), f"{page} as it should be"
                )
            )
        else:
            page.write_text(filled, encoding="utf-8")
    print(f"{blocks} blocks on {len(args.pages)} pages, {failed} pages out of date")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
