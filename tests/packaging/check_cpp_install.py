#!/usr/bin/env python3
"""Installs the C++ library into a folder of its own, then builds and runs a program against it from outside of the tree:
once by find_package(weft), once by pkg-config."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CONSUMER = pathlib.Path(__file__).resolve().parent / "cpp_consumer"
SKIPPED = 77


def run(*command, **environment):
    """Runs a command; its output is shown if it fails, and given back."""
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


def by_cmake(cmake, compiler, prefix, folder):
    """The consumer's own CMake project."""
    run(cmake, "-S", folder / "consumer", "-B", folder / "built", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={compiler}")
    run(cmake, "--build", folder / "built")
    return run(folder / "built" / "consumer")


def by_pkg_config(compiler, prefix, folder):
    """The compiler alone, told by pkg-config."""
    files = list(prefix.rglob("weft.pc"))
    assert len(files) == 1, files
    flags = run("pkg-config", "--cflags", "--libs", "weft", PKG_CONFIG_PATH=str(files[0].parent)).split()
    program = folder / "by_pkg_config"
    run(compiler, "-std=c++20", folder / "consumer" / "main.cpp", "-o", program, *flags)
    (library,) = {path.parent for path in prefix.rglob("libweft.so")}
    return run(program, LD_LIBRARY_PATH=":".join(filter(None, [str(library), os.environ.get("LD_LIBRARY_PATH")])))


def main():
    """Installs, then tries both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="the build folder to install from")
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--compiler", default="c++")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(arguments.cmake, "--install", arguments.build, "--component", "cpp", "--prefix", folder / "first")
        prefix = folder / "moved"  # nothing in it may name where it was
        (folder / "first").rename(prefix)
        shutil.copytree(CONSUMER, folder / "consumer")
        print(by_cmake(arguments.cmake, arguments.compiler, prefix, folder), end="")
        if not shutil.which("pkg-config"):
            print("pkg-config is not installed: that part is skipped")
            return SKIPPED
        print(by_pkg_config(arguments.compiler, prefix, folder), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
