#!/usr/bin/env python3
"""Runs programs from PyPI that are written for Warp, and the tests that their wheels carry, on this package.

  program_tests.py FOLDER                     installs what is missing in FOLDER and runs the tests of Newton and its actuators
  program_tests.py FOLDER --only body_force   only test files whose names hold this
  program_tests.py FOLDER --kernels           no tests: every module is imported, and its kernels are compiled for the CPU
  program_tests.py FOLDER --limit 300         seconds for a file (default 200); --jobs 4: files at a time (default 2)

Everything is installed without its dependencies, so that warp-lang never comes along, and with those of them that tests need.
Nothing is changed in the programs. Logs of the tests lie in FOLDER/logs; the last line counts tests.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from wheel_tests import ROOT  # noqa: E402

PROGRAMS = {
    "newton": "newton==1.8.0",
    "newton_actuators": "newton-actuators==0.1.1",
    "nvalchemiops": "nvalchemi-toolkit-ops==0.5.0",
    "warp_nn": "warp-nn==0.4.1",
}
TESTED = ("newton", "newton_actuators")  # whose wheels carry tests
# What Newton declares (MuJoCo at the versions that it names) and its tests import; no package that opens windows or wants a GPU.
BESIDE = (
    "mujoco==3.17.0", "mujoco-warp==3.17.0", "absl-py", "etils", "scipy", "trimesh", "usd-core", "newton-usd-schemas", "pillow",
    "pycollada", "python-dateutil", "six", "pyyaml", "cbor2", "GitPython", "gitdb", "smmap", "networkx", "meshio", "rich",
)  # fmt: skip

KERNELS = """
import importlib, pkgutil, sys, warnings
warnings.simplefilter("ignore")
import warp as wp
wp.config.quiet = True
name, failed, names = sys.argv[1], [], [sys.argv[1]]
package = importlib.import_module(name)
for found in pkgutil.walk_packages(package.__path__, name + ".", onerror=lambda _: None):
    if ".tests" in found.name or found.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(found.name)
        names.append(found.name)
    except Exception as error:
        failed.append(f"{found.name}: {type(error).__name__}: {error}")
loaded = 0
for module in [one for one in wp.context.user_modules if one.split(".")[0] == name]:
    try:
        wp.load_module(module, device="cpu")
        loaded += 1
    except Exception as error:
        failed.append(f"{module}: {type(error).__name__}: {error}")
print(f"{name}: {len(names)} modules imported, kernels of {loaded} compiled, {len(failed)} failed")
for text in failed:
    print("  " + text.replace("\\n", "\\n    "))
"""


def _is_there(folder: pathlib.Path, name: str) -> bool:
    """Whether a distribution lies in the folder; capitals and the kind of dash in names don't count."""
    plain = name.replace("-", "_").lower()
    return any(found.name.split("-")[0].lower() == plain for found in folder.glob("*.dist-info"))


def install(folder: pathlib.Path) -> None:
    """Puts what is missing into the folder."""
    wanted = [one for one in (*PROGRAMS.values(), *BESIDE) if not _is_there(folder, one.split("==")[0])]
    if wanted:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, *wanted], check=True)


def with_programs(folder: pathlib.Path) -> dict[str, str]:
    """The environment in which `warp` is this package and the programs are found behind it."""
    path = os.pathsep.join([str(ROOT / "python"), str(folder)])
    return {"MUJOCO_GL": "disable", **os.environ, "PYTHONPATH": path, "WARP_CACHE_PATH": str(folder / "kernels")}


def run_file(module: str, folder: pathlib.Path, limit: int) -> tuple[str, int, int, int]:
    """One file of tests: a line about it, and how many tests ran, failed and were skipped."""
    name = module.rsplit(".", 1)[-1]
    start, command = time.monotonic(), [sys.executable, "-m", "unittest", "-v", module]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=with_programs(folder), cwd=folder)
        text, end = done.stdout + done.stderr, f"exit {done.returncode}"
    except subprocess.TimeoutExpired as error:
        text = "".join(part.decode(errors="replace") for part in (error.stdout, error.stderr) if part)
        end = f"ended after {limit} s"
    (folder / "logs" / f"{name}.log").write_text(text, encoding="utf-8")
    ran = re.search(r"^Ran (\d+) tests?", text, re.M)
    counts = {word: int(n) for word, n in re.findall(r"(failures|errors|skipped)=(\d+)", text.rsplit("\n\n", 1)[-1])}
    bad = counts.get("failures", 0) + counts.get("errors", 0)
    line = f"{name:<52} {time.monotonic() - start:5.0f} s  {end:<12} {ran[0] if ran else ''} {counts or ''}"
    return line, int(ran[1]) if ran else 0, bad, counts.get("skipped", 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    folder = options.folder.resolve()
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    install(folder)
    if options.kernels:
        for program in PROGRAMS:
            subprocess.run([sys.executable, "-c", KERNELS, program], env=with_programs(folder), cwd=folder, check=False)
        return 0
    files = [
        ".".join(path.relative_to(folder).with_suffix("").parts)
        for program in TESTED
        for path in sorted((folder / program / "tests").rglob("test_*.py"))
        if options.only in path.name
    ]
    totals, whole = [0, 0, 0], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for line, *counts in pool.map(lambda name: run_file(name, folder, options.limit), files):
            print(line, flush=True)
            totals = [a + b for a, b in zip(totals, counts)]
            whole += "exit 0" in line
    print(f"{whole} of {len(files)} files pass; {totals[0]} tests ran, {totals[1]} failures and errors, {totals[2]} skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
