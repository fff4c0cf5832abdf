#!/usr/bin/env python3
"""Runs MuJoCo Warp on this package: imports it, compiles its kernels, runs its tests; counts what needs a later version.

It is installed, without warp-lang, in an environment of its own (pip install mujoco numpy absl-py "etils[epath]"; pip
install --no-deps mujoco-warp):

  mujoco_warp_tests.py ENVIRONMENT/bin/python                     everything
  mujoco_warp_tests.py ENVIRONMENT/bin/python smooth_test math_test
  mujoco_warp_tests.py ENVIRONMENT/bin/python --kernels           only the import and its kernels

mujoco_shim.py supplies the names that the package does not have yet (tiles, meshes, trees, textures). A kernel or test
that uses one is counted under `later`.
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


def kernels(child: Child, module: str, folder: str) -> list[Outcome]:
    """What becomes of the kernels that exist once the module is imported."""
    record = pathlib.Path(folder, "kernels.json")
    child.environment["MUJOCO_KERNELS"] = str(record)
    try:
        entries, status, printed = child.run(module, "--list", until=time.monotonic() + child.limit)
    finally:
        del child.environment["MUJOCO_KERNELS"]
    failed = [entry for entry in entries if entry.get("outcome")]
    if failed or status != 0:
        cause = failed[0]["cause"] if failed else f"exit status {status}"
        return [Outcome("import", "error", cause, failed[0].get("trace", printed) if failed else printed)]
    found = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return [Outcome(one["kernel"], "error" if one["problem"] else "passed", one["problem"]) for one in found]


def run(arguments: argparse.Namespace, folder: str) -> Table:
    """Prints a line for the kernels and one for each test file."""
    options = [option for file in (SHIM, *arguments.before) for option in ("--before", str(file.resolve()))]
    options += ["--only", arguments.only] if arguments.only else []
    child = Child(arguments.python, environment(arguments.package, folder), options, arguments.limit)
    child.environment["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    table = Table(later=LATER)
    print(Table.head(), flush=True)

    def add(file: str, outcomes: list[Outcome], begun: float):
        table.add(file, outcomes)
        print(f"{table.line(file)}   {time.monotonic() - begun:6.1f} s", flush=True)

    begun = time.monotonic()
    if not arguments.files:
        add("kernels after the import", kernels(child, PACKAGE, folder), begun)
    for file in [] if arguments.kernels else arguments.files or test_files(arguments.python):
        begun = time.monotonic()
        add(file, child.outcomes(f"{PACKAGE}._src.{file}"), begun)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help="the interpreter of the environment that has mujoco_warp")
    parser.add_argument("files", nargs="*", help="test files, e.g. smooth_test (default: the kernels and all files)")
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "python", help="folder that holds the package")
    parser.add_argument("--kernels", action="store_true", help="no tests, only the kernels")
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
