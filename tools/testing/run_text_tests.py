#!/usr/bin/env python3
"""Runs text tests (RUN/CHECK and GOLDEN files, see text_test.py) in the folders and files given.

Exit status: 0 all passed, 1 something failed or nothing was found, 77 something was skipped and --skip-status was given
(ctest then shows the skip). The last line is always `N passed, N failed, N skipped`.
"""

import argparse
import concurrent.futures
import os
import pathlib
import platform
import re
import sys

import text_test

SUFFIXES = (".wir", ".py")
SKIP_STATUS = 77


def find_tests(paths, suffixes):
    """Test files in name order. Folders called `inputs` hold material for tests, not tests."""
    files = []
    for path in paths:
        if path.is_file():
            files.append(path)
            continue
        for folder, subfolders, names in os.walk(path):
            subfolders[:] = sorted(name for name in subfolders if name not in ("inputs", "__pycache__"))
            files += [pathlib.Path(folder, name) for name in sorted(names) if name.endswith(suffixes)]
    return [file.resolve() for file in files]


def run_file(path, settings, select):
    """(verdict, text) for one file; verdict is passed, failed, skipped or None when it is not selected."""
    try:
        test = text_test.parse(path)
        if select == "unconditional" and test.requires or select == "conditional" and not test.requires:
            return None, ""
        missing = text_test.missing_features(test, settings)
        if missing:
            return "skipped", "needs " + ", ".join(missing)
        text_test.run(test, settings)
        return "passed", ""
    except (text_test.TestError, OSError, UnicodeDecodeError) as error:
        return "failed", str(error)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=pathlib.Path, help="folders or files")
    parser.add_argument("--weftc", help="the compiler, %%weftc in commands")
    parser.add_argument("--program", action="append", default=[], metavar="NAME=PATH", help="%%NAME in commands")
    parser.add_argument("--feature", action="append", default=[], help="a name that REQUIRES may ask for")
    parser.add_argument("--machine", default=platform.machine(), help="the processor that REQUIRES may ask for")
    parser.add_argument("--filter", default="", help="only files whose path matches this regular expression")
    parser.add_argument("--select", choices=("all", "unconditional", "conditional"), default="all",
                        help="files without, or only with, a REQUIRES line")
    parser.add_argument("--suffix", action="append", help="file name endings (default: .wir .py)")
    parser.add_argument("--update", action="store_true", help="rewrite golden files")
    parser.add_argument("--skip-status", action="store_true", help=f"exit with {SKIP_STATUS} when a test was skipped")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds per command")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("-v", "--verbose", action="store_true", help="name the tests that passed too")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    programs = dict(item.split("=", 1) for item in arguments.program)
    if arguments.weftc:
        programs["weftc"] = arguments.weftc
    programs = {name: os.path.abspath(path) for name, path in programs.items()}
    settings = text_test.Settings(programs, set(arguments.feature), arguments.timeout, arguments.update,
                                  arguments.machine)
    files = find_tests(arguments.paths, tuple(arguments.suffix or SUFFIXES))
    files = [file for file in files if re.search(arguments.filter, str(file))]

    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        results = pool.map(lambda file: run_file(file, settings, arguments.select), files)
        for file, (verdict, text) in zip(files, results):
            if verdict is None:
                continue
            counts[verdict] += 1
            if verdict != "passed" or arguments.verbose:
                name = os.path.relpath(file)
                print(f"{verdict.upper()}: {name}" + (f" ({text})" if verdict == "skipped" else ""))
                if verdict == "failed":
                    print(text + "\n", flush=True)
    if not any(counts.values()):
        print("no test was found in: " + " ".join(map(str, arguments.paths)))
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    if counts["failed"] or not any(counts.values()):
        return 1
    return SKIP_STATUS if counts["skipped"] and arguments.skip_status else 0


if __name__ == "__main__":
    sys.exit(main())
