#!/usr/bin/env python3
"""Runs MuJoCo Warp on this package: imports it, compiles its kernels, runs its tests, and counts what passes.

It is installed, without warp-lang, in an environment of its own (pip install mujoco numpy absl-py "etils[epath]"; pip
install --no-deps mujoco-warp):

  mujoco_warp_tests.py ENVIRONMENT/bin/python                     everything
  mujoco_warp_tests.py ENVIRONMENT/bin/python smooth_test math_test
  mujoco_warp_tests.py ENVIRONMENT/bin/python --kernels           only the import and the kernels that exist then
  mujoco_warp_tests.py ENVIRONMENT/bin/python --kernels smooth_test     also the kernels that these tests make

Nothing is supplied that the package does not have; mujoco_shim.py only notes kernels and compiles them. What fails for want of
a name that is not there yet is counted under `later`.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from outcomes import Table  # noqa: E402
from test_process import Child, Outcome  # noqa: E402
from wheel_tests import LATER, ROOT, environment  # noqa: E402

PACKAGE = "mujoco_warp"
SHIM = pathlib.Path(__file__).resolve().with_name("mujoco_shim.py")

# Files that are about other frameworks.
LEFT_OUT = ("jax_test", "io_jax_test")


def test_files(python: str) -> list[str]:
    """The names of the test files, from the folder that the interpreter knows (nothing is imported)."""
    code = f"import importlib.util; print(importlib.util.find_spec('{PACKAGE}').submodule_search_locations[0])"
    folder = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    names = sorted(path.stem for path in pathlib.Path(folder, "_src").glob("*_test.py"))
    return [name for name in names if name not in LEFT_OUT]


def import_outcome(child: Child) -> list[Outcome]:
    """Whether the package can be imported; its kernels are compiled on the way out."""
    entries, status, printed = child.run(PACKAGE, "--list", until=time.monotonic() + child.limit)
    failed = next((entry for entry in entries if entry.get("outcome")), None)
    if failed:
        return [Outcome("import", "error", failed["cause"], failed.get("trace", ""))]
    if status != 0:
        return [Outcome("import", "error", f"exit status {status}", printed)]
    return [Outcome("import", "passed")]


def kernel_outcomes(record: pathlib.Path) -> list[Outcome]:
    """What became of the kernels that some process has seen; each counts once."""
    found: dict[str, Outcome] = {}
    for line in record.read_text(encoding="utf-8").splitlines() if record.exists() else ():
        one = json.loads(line)
        kind = "skipped" if one["problem"] is None else "error" if one["problem"] else "passed"
        found[one["kernel"]] = Outcome(one["kernel"], kind, one["problem"] or "")
    return list(found.values())


def run(arguments: argparse.Namespace, folder: str) -> Table:
    """Prints a line for the import, for the kernels, and for each test file."""
    options = [option for file in (SHIM, *arguments.before) for option in ("--before", str(file.resolve()))]
    options += ["--only", arguments.only] if arguments.only else []
    child = Child(arguments.python, environment(arguments.package, folder), options, arguments.limit)
    child.environment["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    record = pathlib.Path(folder, "kernels.json")
    table = Table(later=LATER)
    print(Table.head(), flush=True)

    def add(file: str, outcomes: list[Outcome], begun: float):
        table.add(file, outcomes)
        print(f"{table.line(file)}   {time.monotonic() - begun:6.1f} s", flush=True)

    if not arguments.files or arguments.kernels:
        begun = time.monotonic()
        child.environment["MUJOCO_KERNELS"] = str(record)
        add("import", import_outcome(child), begun)
        add("kernels after the import", kernel_outcomes(record), begun)
    for file in arguments.files or ([] if arguments.kernels else test_files(arguments.python)):
        begun = time.monotonic()
        add(file, child.outcomes(f"{PACKAGE}._src.{file}"), begun)
    if record.exists() and table.files.keys() > {"import", "kernels after the import"}:
        add("kernels of factories, too", kernel_outcomes(record), time.monotonic())
        del table.files["kernels after the import"]  # they are among them
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help="the interpreter of the environment that has mujoco_warp")
    parser.add_argument("files", nargs="*", help="test files, e.g. smooth_test (default: the kernels and all files)")
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "python", help="folder that holds the package")
    with_files = "compile the kernels, too, where files are named; else only them"
    parser.add_argument("--kernels", action="store_true", help=with_files)
    parser.add_argument("--before", type=pathlib.Path, action="append", default=[], help="a Python file to run before")
    parser.add_argument("--only", default="", help="only tests that have this text in their name")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for one file (900)")
    parser.add_argument("--causes", type=int, default=40, help="how many causes to print (40)")
    parser.add_argument("--traces", action="store_true", help="print the trace of everything that did not pass")
    parser.add_argument("--nice", type=int, default=5, help="how far to step back behind other work (5)")
    parser.add_argument("--json", type=pathlib.Path, help="where to write everything as JSON")
    arguments = parser.parse_intermixed_args()
    os.nice(arguments.nice)
    with tempfile.TemporaryDirectory() as folder:
        table = run(arguments, folder)
    table.report(arguments.causes, arguments.traces, arguments.json)


if __name__ == "__main__":
    main()
