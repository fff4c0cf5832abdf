#!/usr/bin/env python3
"""Fails when a folder of src/ includes, or one of python/warp imports, what lies above it.

One table says what each folder may include; `#include "folder/…"` lines and the DEPS of weft_folder() are held against
it. Rooms that targets share include none of a target's. Some third-party headers have one home each. Public headers (include/weft) include nothing from src/, and examples
only public headers. Imports of the Python package are checked in the same way: see python_rooms.py.
"""

import re
import sys

import python_rooms
import source_files

# Each folder and what it may include besides itself. `weft` stands for the public headers.
LAYERS = {
    "support": set(),
    "types": {"support"},
    "syntax": {"support", "types"},
    "ir": {"support", "types"},
    "builtins": {"support", "types", "syntax", "ir"},
    "sema": {"support", "types", "syntax", "ir", "builtins"},
    "analysis": {"support", "types", "syntax", "ir", "builtins", "sema"},
    "passes": {"support", "types", "syntax", "ir", "builtins", "sema", "analysis"},
    "math": {"support", "types", "syntax", "ir", "builtins", "sema", "analysis", "passes"},
    "autodiff": {"support", "types", "syntax", "ir", "builtins", "sema", "analysis"},
    "runtime": {"support", "types"},
    "cuda": {"support", "types", "runtime"},
    "algorithms": {"support", "types", "runtime", "cuda"},
    "geometry": {"support", "types", "runtime", "cuda", "algorithms"},
    "volume": {"support", "types", "runtime", "cuda", "algorithms", "geometry"},
    "texture": {"support", "types", "runtime", "cuda", "geometry"},
    # The executors read the runtime's headers for the layouts that compiled code shares with it.
    "interp": {"support", "types", "syntax", "ir", "builtins", "sema", "analysis", "passes", "math", "autodiff",
               "runtime"},
    "codegen": {"support", "types", "syntax", "ir", "builtins", "sema", "analysis", "passes", "math", "autodiff",
                "runtime"},
    "driver": {"support", "types", "syntax", "ir", "builtins", "sema", "analysis", "passes", "math", "autodiff", "interp",
               "codegen", "runtime", "cuda", "algorithms", "geometry", "volume", "texture", "weft"},
    "interop": {"support", "types", "runtime", "cuda", "algorithms", "geometry", "driver"},
    "bind": {"support", "types", "syntax", "ir", "builtins", "sema", "analysis", "passes", "math", "autodiff", "interp",
             "codegen", "runtime", "cuda", "algorithms", "geometry", "volume", "texture", "driver", "interop", "weft"},
    # Not C++ layers: the standard library is kernel source.
    "stdlib": set(),
}

# Rooms of a folder that are shared, and the folder's rooms that they may not know: targets answer through an interface.
SHARED_ROOMS = {("codegen", "emit"): ("cpu", "nvptx")}

# Third-party headers and the only folders (of src/ or tests/unit/) where they may appear.
HOMES = [
    (re.compile(r"^(llvm|llvm-c|clang)/"), "LLVM headers", "codegen"),
    (re.compile(r"^(cuda\.h|cuda_runtime.*|nvrtc\.h)$"), "CUDA headers", "cuda"),
    (re.compile(r"^(Python\.h|nanobind/.*|pybind11/.*)$"), "Python headers", "bind"),
]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)")', re.MULTILINE)
WEFT_FOLDER = re.compile(r"weft_folder\(\s*(\w+)(?:\s+DEPS\s+([^)]*))?\)")


def home_finding(path, header):
    """Why this header may not stand in this file, or None."""
    for pattern, what, home in HOMES:
        if pattern.match(header):
            allowed = (f"src/{home}/", f"tests/unit/{home}/")
            if not path.as_posix().startswith(allowed):
                return f"{what} belong in src/{home} alone ({header})"
    return None


def layer_finding(path, header, quoted):
    """Why this include crosses a layer, or None. Only src/, include/ and examples/ have layers."""
    top, target = path.parts[0], header.split("/")[0]
    if top == "include":
        if quoted or target in LAYERS:
            if target != "weft":
                return f"a public header may include only standard and <weft/…> headers, not {header}"
        return None
    if top == "examples":
        if quoted and target != "weft" or not quoted and target in LAYERS:
            return f"an example may include only standard and <weft/…> headers, not {header}"
        return None
    if top != "src" or len(path.parts) < 3:
        return None
    folder = path.parts[1]
    if target not in LAYERS and target != "weft":
        if quoted and not any(pattern.match(header) for pattern, _, _ in HOMES):
            return f'write includes relative to src/, as "{folder}/…", not "{header}"'
        return None
    if "/" not in header and not quoted:
        return None
    if target != folder and target not in LAYERS[folder]:
        return f"{folder} may not include {target} ({header}); it may include: {names(LAYERS[folder])}"
    if target == folder and (header + "/").split("/")[1] in SHARED_ROOMS.get(path.parts[1:3], ()):
        return f"{folder}/{path.parts[2]} is for all targets and may not include {header}"
    return None


def names(folders):
    return ", ".join(sorted(folders)) or "nothing but itself"


def check_dependencies(path, text):
    """Findings on weft_folder(NAME DEPS …): the same table, for what is linked."""
    for match in WEFT_FOLDER.finditer(text):
        folder = match.group(1)
        line = text.count("\n", 0, match.start()) + 1
        if folder not in LAYERS:
            yield f"{path}:{line}: {folder} is not in the table of layers"
            continue
        for dependency in (match.group(2) or "").split():
            if dependency not in LAYERS[folder]:
                yield f"{path}:{line}: {folder} may not link {dependency}"


def check(root):
    """All findings, and the number of files looked at."""
    findings, checked, unknown, package = [], 0, set(), {}
    for path in source_files.project_files(root):
        if path.parts[:2] == ("python", "warp") and path.suffix == ".py":
            checked += 1
            package[path] = source_files.read_text(root / path) or ""
        in_src = path.parts[0] == "src" and len(path.parts) >= 3
        if in_src and path.parts[1] not in LAYERS:
            if path.parts[1] not in unknown:
                unknown.add(path.parts[1])
                findings.append(f"{path}:1: src/{path.parts[1]} is not in the table of layers (tools/checks)")
            continue
        if in_src and path.name == "CMakeLists.txt":
            checked += 1
            findings += check_dependencies(path, source_files.read_text(root / path) or "")
        if path.suffix not in source_files.CPP_SUFFIXES | {".def", ".inc"}:
            continue
        checked += 1
        text = source_files.read_text(root / path) or ""
        for match in INCLUDE.finditer(text):
            header, quoted = match.group(1) or match.group(2), match.group(2) is not None
            finding = home_finding(path, header) or layer_finding(path, header, quoted)
            if finding:
                findings.append(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {finding}")
    return findings + python_rooms.check(package), checked


def main():
    arguments = source_files.argument_parser(__doc__).parse_args()
    findings, checked = check(arguments.root)
    return source_files.report("check_layers", findings, checked)


if __name__ == "__main__":
    sys.exit(main())
