#!/usr/bin/env python3
"""Checks a finished wheel: its size, what it must hold, that the extension shows one symbol and needs nothing unusual.

check_wheel.py WHEEL [--limit-mb 20]
"""

from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

# What every Linux with glibc and a C++ program on it has.
SYSTEM_LIBRARIES = re.compile(r"(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|libz|ld-linux[\w-]*)\.so\.\d+")
NEEDED = re.compile(r"\(NEEDED\).*\[(.+)\]")


def output(*command: str) -> str:
    """What a program prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(path: pathlib.Path) -> list[str]:
    """The shared libraries that a library asks for."""
    return NEEDED.findall(output("readelf", "-dW", str(path)))


def exported(path: pathlib.Path) -> set[str]:
    """The symbols that a library offers to others."""
    return {line.split()[-1] for line in output("nm", "-D", "--defined-only", str(path)).splitlines()}


def contents_findings(names: list[str]) -> list[str]:
    """What is missing among the files, or should not be there."""
    findings = []
    for wanted in (
        r"warp/__init__\.py",
        r"warp/__init__\.pyi",
        r"warp/py\.typed",
        r"warp/_weft\..*\.so",
        r"weft-.*/licenses/LICENSE",
        r"weft-.*/licenses/THIRD_PARTY_NOTICES\.md",
        *(rf"weft-.*/{name}\.txt" for name in ("llvm", "onetbb", "nanobind", "robin-map", "zlib", "zstd")),
    ):
        if not any(re.fullmatch(wanted, name) for name in names):
            findings.append(f"no file {wanted}")
    findings += [
        f"{name} does not belong here" for name in names if not re.match(r"(warp|weft-[^/]*|weft\.libs)/", name)
    ]
    return findings


def library_findings(root: pathlib.Path) -> list[str]:
    """What is wrong with the extension and the libraries beside it."""
    findings = []
    extensions = list(root.glob("warp/_weft*.so"))
    bundled = list(root.glob("weft.libs/*"))
    if len(extensions) != 1:
        return [f"{len(extensions)} extensions"]
    symbols = exported(extensions[0])
    if symbols != {"PyInit__weft"}:
        findings.append(f"the extension exports {len(symbols)} symbols: {sorted(symbols)[:5]}")
    inside = {path.name for path in bundled}
    for path in (*extensions, *bundled):
        for library in needed(path):
            if library not in inside and not SYSTEM_LIBRARIES.fullmatch(library):
                findings.append(f"{path.name} needs {library}")
    for name in inside:
        if not re.fullmatch(r"lib\w+-[0-9a-f]{8}\.so[.\d]*", name):
            findings.append(f"{name} has no private name")
    if not any(name.startswith("libtbb-") for name in inside):
        findings.append("oneTBB is not inside")
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--limit-mb", type=float, default=20.0)
    arguments = parser.parse_args()

    size = arguments.wheel.stat().st_size / 1e6
    findings = [] if size <= arguments.limit_mb else [f"{size:.1f} MB, the limit is {arguments.limit_mb:.0f} MB"]
    with zipfile.ZipFile(arguments.wheel) as archive, tempfile.TemporaryDirectory() as folder:
        findings += contents_findings([name for name in archive.namelist() if not name.endswith("/")])
        archive.extractall(folder)
        findings += library_findings(pathlib.Path(folder))
        unpacked = sum(entry.file_size for entry in archive.infolist()) / 1e6
    for finding in findings:
        print(f"{arguments.wheel.name}: {finding}", file=sys.stderr)
    print(f"{arguments.wheel}: {size:.1f} MB, {unpacked:.1f} MB unpacked")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
