"""What the checks share: which files belong to the project, and how findings are reported.

Files are those git tracks or would track; a folder without git (the checks' own tests) is walked instead.
"""

import argparse
import os
import pathlib
import subprocess

SKIPPED_FOLDERS = {".git", ".hypothesis", "build", ".venv", "__pycache__", "third_party"}
CPP_SUFFIXES = {".cpp", ".h", ".cu", ".cuh"}


def project_files(root):
    """Paths relative to root, sorted, of every project file that exists."""
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
        paths = {pathlib.PurePosixPath(name) for name in names if name}
    else:
        paths = set()
        for folder, subfolders, names in os.walk(root):
            subfolders[:] = [name for name in subfolders if name not in SKIPPED_FOLDERS]
            for name in names:
                paths.add(pathlib.PurePosixPath(pathlib.Path(folder, name).relative_to(root).as_posix()))
    return sorted(p for p in paths if not SKIPPED_FOLDERS & set(p.parts) and (root / p).is_file())


def cpp_files(root):
    """The C++ sources and headers among the project's files."""
    return [path for path in project_files(root) if path.suffix in CPP_SUFFIXES]


def read_text(path):
    """The file's text, or None when it is not UTF-8 text."""
    data = path.read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def argument_parser(description):
    """A parser with the options that every check takes."""
    parser = argparse.ArgumentParser(description=description)
    default_root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--root", type=pathlib.Path, default=default_root, help="the project's folder")
    return parser


def report(name, findings, checked):
    """Prints findings ('path:line: text') and a closing line; the exit status is the result."""
    for finding in findings:
        print(finding)
    verdict = f"{len(findings)} finding(s)" if findings else "ok"
    print(f"{name}: {checked} file(s), {verdict}")
    return 1 if findings else 0
