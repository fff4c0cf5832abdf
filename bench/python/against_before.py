#!/usr/bin/env python3
"""Which figures of a run of the benchmarks are slower than in the run before on the same machine.

    against_before.py FOLDER BEFORE [--part 0.1]     compares; each holds what run_benchmarks.sh leaves: bench_*.json, bench_results
    against_before.py --note FOLDER [--build NAME]   writes down which machine, and which sort of run, the figures are of

A figure is a speed or a time of Weft's own, those of others are not looked at; what only one run has is left out. Figures of another
machine or of another sort of run (quick, another build) are not compared. The exit code is 0 whatever is found: on a machine with other work to do a
tenth says little, and who reads it knows.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import platform
import sys
from typing import Any, Callable, Iterator

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import summary

MACHINE = "bench_machine.json"
Figures = Iterator[tuple[str, float, bool]]  # what, the figure, and whether more is better
OTHERS = ("hand", "limit", "libm", "eigen", "embree", "serial_loop", "openmp_loop", "tbb_loop")  # in names of the programs in C++


def speeds(found: dict[str, float]) -> Figures:
    yield from ((name, value, True) for name, value in found.items())


def times(found: dict[str, float]) -> Figures:
    yield from ((name, value, False) for name, value in found.items())


def package(found: dict) -> Figures:
    own = {name: value for name, value in found["weft"].items() if name != "version"}
    yield from ((name, value, name == "options") for name, value in own.items())


def scatter(found: dict) -> Figures:
    for name, by_threads in found.items():
        yield from speeds({f"{name}, {n} threads": speed for n, speed in by_threads.items()})


def beside(found: dict) -> Figures:
    for kind in ("in turn", "region"):
        yield from times({f"{kind}, {name}": value for name, value in (found.get(kind) or {}).items()})
    for name, rates in found.items():
        if name not in ("in turn", "region") and isinstance(rates, dict):
            yield from speeds({f"launches ({name}), {n} threads": rate for n, rate in rates.items()})


def humanoid(found: dict) -> Figures:
    for row, by_package in found["figures"].items():
        if "weft" in by_package:
            yield row, by_package["weft"], "worlds" in row or "engine" in row


def gradients(found: dict) -> Figures:
    for name, (forward, backward) in found["weft"].items():
        yield from speeds({name: forward, f"{name}, backwards": backward})


def meshes(found: dict) -> Figures:
    yield from speeds(found["rates"].get("weft", {}).get("wall", {}))
    yield from times({name: value for name, value in found["first"]["weft"].items() if name.endswith("launch")})


READERS: dict[str, Callable[[dict], Figures]] = {  # by the name of the file
    "peers": lambda found: speeds({row: by["Weft"] for row, by in found["speeds"].items() if "Weft" in by}),
    "lanes": lambda found: speeds({f"{name}, chosen lanes": row["chosen"] for name, row in found.items()}),
    "scatter": scatter,
    "arrays": lambda found: times(found["here"]),
    "python": package,
    "beside": beside,
    "mujoco": humanoid,
    "gradients": gradients,
    "algorithms": lambda found: times(found["weft"]),
    "marching_cubes": lambda found: times({name: t for name, t in found["weft"].items() if not name.endswith("triangles")}),
    "meshes": meshes,
}


def programs_in_cpp(folder: str) -> Figures:
    paths = [path for path in sorted(glob.glob(os.path.join(folder, "bench_results", "*.json"))) if os.path.getsize(path)]
    results = summary.Results(paths)
    for name in results.runs:
        if not any(part in OTHERS for part in name.split("/")):
            yield name, results.seconds(name), False


def figures(folder: str) -> dict[str, tuple[float, bool]]:
    """All of a run, by the program and what it measures."""
    out: dict[str, tuple[float, bool]] = {}
    for name, read in READERS.items():
        path = os.path.join(folder, f"bench_{name}.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                out |= {f"{name}: {what}": (value, more) for what, value, more in read(json.load(file))}
    out |= {f"C++: {what}": (value, more) for what, value, more in programs_in_cpp(folder)}
    return {what: one for what, one in out.items() if isinstance(one[0], (int, float)) and one[0] > 0}


def machine(build: str) -> dict[str, Any]:
    """What two runs have to have in common."""
    model = ""
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            known = dict(line.split(":", 1) for line in file if ":" in line)
        by_name = {name.strip(): value.strip() for name, value in known.items()}
        model = by_name.get("model name") or by_name.get("CPU part", "")
    quick = bool(os.environ.get("BENCH_QUICK"))
    return {"host": platform.node(), "cpu": model, "cores": len(os.sched_getaffinity(0)), "build": build, "quick": quick}


def read_machine(folder: str) -> dict[str, Any] | None:
    try:
        with open(os.path.join(folder, MACHINE), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def slower(now: dict[str, tuple[float, bool]], before: dict[str, tuple[float, bool]], part: float) -> list[tuple[float, str]]:
    """How many times as long as before, and what: those above 1 + part, the worst first."""
    out = []
    for what, (value, more) in now.items():
        if what in before:
            factor = before[what][0] / value if more else value / before[what][0]
            if factor > 1 + part:
                out.append((factor, what))
    return sorted(out, reverse=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("before", nargs="?")
    parser.add_argument("--note", action="store_true")
    parser.add_argument("--build", default="")
    parser.add_argument("--part", type=float, default=0.1)
    options = parser.parse_args()
    if options.note:
        with open(os.path.join(options.folder, MACHINE), "w", encoding="utf-8") as file:
            json.dump(machine(options.build), file, indent=1)
        return 0
    if not options.before:
        parser.error("name the folder of the run before")
    here, there = read_machine(options.folder), read_machine(options.before)
    if there is None:
        print("There is no run before to compare with.")
        return 0
    if here != there:
        apart = ", ".join(f"{name} {there.get(name)!r}, now {(here or {}).get(name)!r}" for name in there if there[name] != (here or {}).get(name))
        print(f"Not compared with the run before, which was another one: {apart}")
        return 0
    now, before = figures(options.folder), figures(options.before)
    both, found = sum(what in before for what in now), slower(now, before, options.part)
    print(f"Against the run before: {len(found)} of {both} figures are more than {options.part:.0%} slower")
    for factor, what in found:
        print(f"  {factor:5.2f} × as long: {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
