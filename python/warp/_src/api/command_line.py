"""`python -m warp`: what a bug report needs; or a program, and behind it what its kernels took to compile."""

from __future__ import annotations

import argparse
import atexit
import json
import os
import sys
import time
from typing import Any

from warp import _weft
from warp._src.api import run_program
from warp._src.api.startup import report
from warp._src.kernels.module_loading import finish_kernels
from warp._src.session import config, kernel_cache, kernel_report

USAGE = "python -m warp [options] [program.py | -m module] [arguments of the program]"
ABOUT = """Without a program: what a bug report needs. With one: runs it as Python does, and prints to standard error when it
ends which kernels were compiled or loaded and what that took, stage by stage."""
NOTES = """version: large kernels on the CPU begin with a first version that compiles quickly; the full one follows in the background
when a kernel is launched again (wp.config.first_versions). cached: from the kernel cache; shared: another kernel has the same
code. Times are milliseconds by the clock, of all threads together: where cores have other work to do, it counts as well. Child processes
have no part in the table."""


def main(arguments: list[str] | None = None) -> None:
    """Does what the command line says; a program's own end is the end of this."""
    given = sys.argv[1:] if arguments is None else arguments
    parser = _parser()
    own, is_module, rest = _split(given)
    options = parser.parse_args(own)
    if is_module and not rest:
        parser.error("-m needs the name of a module")
    _steer(options)
    if options.clear_cache:
        kernel_cache.clear_kernel_cache()
    if not rest:
        if options.json or options.top is not None or options.wait:
            parser.error("--json, --top and --wait are about the kernels of a program: name one")
        print(report())
        return
    config.record_kernels = True
    atexit.register(_tell, options, os.getpid(), time.perf_counter())  # behind the program's threads and its own handlers
    run_program.run_module(rest) if is_module else run_program.run_file(rest)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m warp", usage=USAGE, description=ABOUT, epilog=NOTES, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    show = parser.add_argument_group("what is shown of a program's kernels")
    show.add_argument("--top", type=_number, metavar="N", help="how many builds, longest first (20; 0: all)")
    show.add_argument("--json", metavar="FILE", help="write all of them to a file as well, for tools")
    show.add_argument("--wait", action="store_true", help="when the program ends, make all full versions that are missing")
    steer = parser.add_argument_group("how kernels are compiled and run (the program may say otherwise)")
    steer.add_argument("--first-versions", choices=("on", "off"), help="wp.config.first_versions")
    steer.add_argument("--lanes", type=_number, metavar="N", help="wp.config.cpu_lanes (0: chosen for each kernel)")
    steer.add_argument("--threads", type=_number, metavar="N", help="wp.config.cpu_threads (0: all cores)")
    cache = parser.add_argument_group("the kernel cache")
    cache.add_argument("--cache-dir", metavar="FOLDER", help="wp.config.kernel_cache_dir")
    cache.add_argument("--no-cache", action="store_true", help="neither read nor write it (wp.config.cache_kernels)")
    cache.add_argument("--clear-cache", action="store_true", help="empty it first")
    return parser


_WITH_VALUE = ("--top", "--json", "--first-versions", "--lanes", "--threads", "--cache-dir")


def _split(given: list[str]) -> tuple[list[str], bool, list[str]]:
    """Our options, whether `-m` follows, and the program with its arguments, which are none of our business."""
    at = 0
    while at < len(given) and given[at].startswith("-"):
        if given[at] == "-m":
            return given[:at], True, given[at + 1 :]
        at += 2 if given[at] in _WITH_VALUE else 1
    return given[:at], False, given[at:]


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a number, 0 or more, not {text!r}")
    return int(text)


def _steer(options: argparse.Namespace) -> None:
    """Sets the flags that were asked for."""
    if options.cache_dir is not None:
        config.kernel_cache_dir = options.cache_dir
    if options.no_cache:
        config.cache_kernels = False
    if options.first_versions is not None:
        config.first_versions = options.first_versions == "on"
    if options.lanes is not None:
        config.cpu_lanes = options.lanes
    if options.threads is not None:
        config.cpu_threads = options.threads


def _tell(options: argparse.Namespace, process: int, begin: float) -> None:
    """The table, when the process ends: not in a child that was forked from it."""
    if os.getpid() != process:
        return
    took = time.perf_counter() - begin
    _weft.set_late_launches(False)  # what waits for its code gets it; what failed, the end of the process tells
    if options.wait:
        finish_kernels()
    rows = kernel_report.kernel_report() if _weft.recorded_kernels() else []
    left = kernel_report.left(rows)
    if options.json:
        _write(options.json, rows, left, took)
    print(_text(rows, left, took, 20 if options.top is None else options.top), file=sys.stderr)


def _text(rows: list[dict[str, Any]], left: int, took: float, top: int) -> str:
    if not rows:
        return f"\nno kernels were compiled or loaded; the program took {took:.3f} s"
    sums = kernel_report.sums(rows)
    lines = [
        "",
        kernel_report.table(rows, top),
        f"compiled: {sums['first_versions']} first versions, {sums['full_versions']} full ones; "
        f"loaded from the cache ({_cache_text()}): {sums['from_cache']}; the program took {took:.3f} s",
    ]
    if left:
        lines.append(f"left with their first version: {left} (--wait makes the full ones before the table is printed)")
    return "\n".join(lines)


def _cache_text() -> str:
    if not config.cache_kernels:
        return "off"
    return _weft.cache_folder() or "none"


def _write(path: str, rows: list[dict[str, Any]], left: int, took: float) -> None:
    triple, cpu, lanes = _weft.host_target()
    found = {
        "weft": _weft.version(),
        "machine": {"cpu": cpu, "target": triple, "lanes": lanes, "threads": _weft.thread_count()},
        "seconds": took,
        "first_versions_left": left,
        "sums": kernel_report.sums(rows),
        "kernels": kernel_report.by_time(rows),
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
