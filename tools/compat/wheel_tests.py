#!/usr/bin/env python3
"""Runs the test files that warp-lang's wheel carries against this package, and counts what passes.

The wheel is installed in an environment of its own; its tests are read where they are and nothing is copied:

  wheel_tests.py ENVIRONMENT/lib/python3.11/site-packages            all files, by their names
  wheel_tests.py SITE_PACKAGES test_vec test_struct                  only these
  wheel_tests.py SITE_PACKAGES test_vec --only casting               only tests with that in their name
  wheel_tests.py SITE_PACKAGES --json results.json --causes 100

One process a file, one after the other. In them `warp` is the package of --package (default: this source tree, with the
extension of WEFT_EXTENSION_DIR) and `warp.tests` the wheel's folder; wheel_shim.py has run before. Printed are passed,
failed, errors and skipped, by file and by cause; `later` are tests that fail for want of something that is not part of
the package yet, `internals` are about parts of the other implementation that programs don't use. What fails is counted by
the reason that wheel_reasons.py gives, and tests without one are named. With --original
PYTHON, an interpreter of the wheel's environment, the tests of files that can't be imported are counted, too.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import wheel_reasons  # noqa: E402
from outcomes import Table  # noqa: E402
from recorder import IMPORT  # noqa: E402
from test_process import Child, Outcome  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = "warp.tests"
SITE = pathlib.Path(__file__).resolve().with_name("site")
SHIM = pathlib.Path(__file__).resolve().with_name("wheel_shim.py")

# Files and folders that are about something else than this package; name -> why.
LEFT_OUT = {
    "geometry/test_delaunay.py": "warp.geometry of 1.19",
    "geometry/test_sparse_marching_cubes.py": "warp.geometry of 1.19",
    "geometry/test_surface_nets.py": "warp.geometry of 1.19",
    "geometry/test_swept_volume.py": "warp.geometry of 1.19",
    "fem/": "warp.fem",
    "cuda/": "needs a GPU (--gpu runs it)",
    "cuda/test_clang_cuda.py": "the wheel's own compiler",
    "test_fsai.py": "a preconditioner of 1.19 that the table of names does not have",
    "test_render_opengl.py": "warp.render",
    "test_coloring.py": "warp.sim",
    "test_examples.py": "the wheel's example programs",
    "test_apic.py": "a file format of the wheel's own",
    "test_apic_load_from_bytes.py": "a file format of the wheel's own",
    "test_apic_mesh.py": "a file format of the wheel's own",
    "test_apic_utility_algorithms.py": "a file format of the wheel's own",
    "test_core_library_binary.py": "the wheel's own shared library",
    "test_external_build.py": "the wheel's own build",
    "test_cpu_precompiled_headers.py": "the wheel's own compiler",
    "test_sanitize.py": "the wheel's own compiler",
}

# Files of a folder that is left out which have tests for all devices.
ON_ALL_DEVICES = ("cuda/test_texture.py",)

# Failures for want of what is not here yet: such names are missing.
_LATER_NAMES = (
    r"(?:\w+\.)?(?:(?:from|to)_dlpack|dlpack|from_torch|to_torch|from_jax|to_jax"
    r"|sim|fem|render)"
)
LATER = (
    rf"NeedsLater|(?:attribute|there is no) '{_LATER_NAMES}'|`{_LATER_NAMES}` is not an attribute"
    r"|(?:cannot import name '\w+' from|module) 'warp\.(?:sim|fem|render)\b"
    r"|No module named 'warp\.(?:sim|fem|render|jax\w*|torch|paddle)\b"
)

# Tests of parts that only the other implementation has: names with an underscore, and classes of its code generator.
INTERNALS = (
    r"UsesInternals|attribute '_[a-zA-Z]\w*'|cannot import name '_\w+'"
    r"|'(?:Core|Parameters|Parameter|Runtime|LaunchBounds|BuiltinFunction|KernelHooks|bool)' object has no attribute"
    r"|startup\.(?:Core|Runtime) object at \S+> does not have the attribute|property 'hash' of 'Kernel' object"
    r"|'Function' object has no attribute '(?:defaults|inline_hint|user_overloads)'|attribute '(?:module_exec|log_warning)'"
    r"|Function\.__init__\(\) got an unexpected keyword|attribute 'ctype_ret_str'|kernel_cache' has no attribute 'warp'"
    r"|No module named 'warp\._src\.deterministic'|No such file or directory: '…/\w+\.(?:h|cu)'"
    r"|attribute '(?:ModuleBuilder|ModuleHasher|Adjoint|codegen_func_forward|get_arg_type|inspect|execs|references"
    r"|dependents|hashers|resolved_options|is_cuda_driver_initialized)'"
    r"|unexpected keyword argument '(?:code_transformers|strip_hash)'"
)


def test_files(tests: pathlib.Path, gpu: bool) -> list[str]:
    """The files to run, as paths below the tests' folder."""

    def wanted(name: str) -> bool:
        folder = name.split("/")[0] + "/" if "/" in name else None
        return name not in LEFT_OUT and (folder not in LEFT_OUT or name in ON_ALL_DEVICES or (gpu and folder == "cuda/"))

    names = (path.relative_to(tests).as_posix() for path in tests.rglob("test_*.py"))
    return sorted(name for name in names if wanted(name))


def chosen_files(tests: pathlib.Path, names: list[str]) -> list[str]:
    """Files by their names: with or without folder and ending; those that are left out otherwise, too."""
    found = []
    for name in names:
        stem = name.removesuffix(".py")
        paths = [path.relative_to(tests).as_posix() for path in tests.rglob(pathlib.PurePath(stem).name + ".py")]
        matching = [path for path in paths if path == stem + ".py" or path.endswith("/" + stem + ".py")]
        if not matching:
            sys.exit(f"no test file {name} in {tests}")
        found += matching
    return found


def environment(package: pathlib.Path | None, cache: str) -> dict[str, str]:
    """The children's environment: the package first, caches of their own."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if package:
        variables["PYTHONPATH"] = os.pathsep.join([str(package.resolve()), str(SITE)])
    return {**variables, "WARP_CACHE_PATH": f"{cache}/kernels", "PYTHONPYCACHEPREFIX": f"{cache}/python"}


def run(arguments: argparse.Namespace, cache: str) -> Table:
    """Runs the files and prints a line for each."""
    tests = arguments.site_packages / "warp" / "tests"
    if not tests.is_dir():
        sys.exit(f"{tests} is not there: wanted is the site-packages of an environment with warp-lang")
    files = chosen_files(tests, arguments.files) if arguments.files else test_files(tests, arguments.gpu)
    options = ["--before", str(SHIM)]
    options += ["--only", arguments.only] if arguments.only else []
    variables = environment(arguments.package, cache) | {"WARP_TESTS_FOLDER": str(tests.resolve())}
    child = Child(arguments.python, variables, options, arguments.limit)
    original = Child(arguments.original, environment(None, cache), [], arguments.limit) if arguments.original else None
    table = Table(later=LATER, internals=INTERNALS)
    print(Table.head(), flush=True)
    for file in files:
        module = f"{PACKAGE}.{file.removesuffix('.py').replace('/', '.')}"
        begun = time.monotonic()
        outcomes = child.outcomes(module)
        broken = outcomes[0] if len(outcomes) == 1 and outcomes[0].test == IMPORT else None
        if original and broken and broken.outcome == "error":
            names = original.names(module)
            outcomes = [Outcome(name, "error", broken.cause, broken.trace) for name in names] or outcomes
        table.add(file, outcomes)
        print(f"{table.line(file)}   {time.monotonic() - begun:6.1f} s", flush=True)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site_packages", type=pathlib.Path, help="site-packages with warp-lang")
    parser.add_argument("files", nargs="*", help="test files (default: all but those that LEFT_OUT names)")
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "python", help="folder that holds the package")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that runs the tests")
    parser.add_argument("--original", help="the wheel's interpreter, to count tests of files that can't be imported")
    parser.add_argument("--only", default="", help="only tests that have this text in their name")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one file (300)")
    parser.add_argument("--causes", type=int, default=40, help="how many causes to print (40)")
    parser.add_argument("--traces", action="store_true", help="print the trace of everything that did not pass")
    parser.add_argument("--gpu", action="store_true", help="run the files that need a GPU, too")
    parser.add_argument("--nice", type=int, default=5, help="how far to step back behind other work (5)")
    parser.add_argument("--json", type=pathlib.Path, help="where to write everything as JSON")
    arguments = parser.parse_intermixed_args()
    os.nice(arguments.nice)
    with tempfile.TemporaryDirectory() as cache:
        table = run(arguments, cache)
    table.report(arguments.causes, arguments.traces, arguments.json)
    wheel_reasons.report(
        [
            (file, outcome.test, outcome.cause)
            for file, outcomes in table.files.items()
            for outcome in outcomes
            if table.kind(outcome) in ("failed", "error")
        ]
    )


if __name__ == "__main__":
    main()
