#!/usr/bin/env python3
"""Runs clang-tidy 19 on the C++ files that changed, or with --all on every file of the build.

Changed is: not committed, or different from the point where the branch left its upstream (the last commit, where there
is no upstream). A changed header stands for the source beside it. Without clang-tidy the check is skipped, and says so.
"""

import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys

import source_files

PROGRAM = "clang-tidy-19"


def git(root, *arguments):
    """Standard output of a git command, or None when it fails."""
    result = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True)
    return result.stdout if result.returncode == 0 else None


def changed_files(root):
    """Paths relative to root that differ from the branch's starting point or are new; None without a git history."""
    head = git(root, "rev-parse", "HEAD")
    if head is None:
        return None
    base = git(root, "merge-base", "HEAD", "@{upstream}") or head
    if base.strip() == head.strip():
        base = git(root, "rev-parse", "--verify", "--quiet", "HEAD~1") or head
    names = (git(root, "diff", "--name-only", "--diff-filter=d", base.strip()) or "").splitlines()
    names += (git(root, "ls-files", "--others", "--exclude-standard") or "").splitlines()
    return set(names)


def compiled_files(root, build):
    """Sources in the build's compilation database, as paths relative to root."""
    database = build / "compile_commands.json"
    files = set()
    for entry in json.loads(database.read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(root) and not path.is_relative_to(build):
            files.add(path.relative_to(root).as_posix())
    return files


def selected(compiled, changed):
    """The compiled files to look at: the changed ones, and for a changed header the source of the same name."""
    sources_of_headers = {name[:-2] + ".cpp" for name in changed if name.endswith(".h")}
    return sorted(compiled & (changed | sources_of_headers))


def main():
    parser = source_files.argument_parser(__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a configured build folder")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="every compiled file, changed or not")
    arguments = parser.parse_args()
    root, build = arguments.root.resolve(), arguments.build.resolve()
    if not shutil.which(PROGRAM):
        print(f"clang-tidy: SKIPPED, {PROGRAM} is not installed")
        return 0
    compiled = compiled_files(root, build)
    changed = None if arguments.all else changed_files(root)
    files = sorted(compiled) if changed is None else selected(compiled, changed)

    def tidy(name):
        command = [PROGRAM, "--quiet", "-p", str(build), name]
        return name, subprocess.run(command, cwd=root, capture_output=True, text=True)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        for count, (name, result) in enumerate(pool.map(tidy, files), start=1):
            print(f"[{count}/{len(files)}] {name}", flush=True)
            if result.returncode != 0:
                failed += 1
                print(result.stdout + result.stderr, flush=True)
    print(f"clang-tidy: {len(files)} file(s), {f'{failed} with findings' if failed else 'ok'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
