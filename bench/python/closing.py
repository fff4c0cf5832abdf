#!/usr/bin/env python3
"""The closing table of `make bench`: what all benchmarks of one run found on the CPU, ratios first, beside their goals.

    closing.py FOLDER [--build NAME] [--peer NAME=PYTHON]… [--failed PROGRAM]…

reads FOLDER/bench_*.json, as the programs beside this file write them, and FOLDER/bench_results/*.json of the C++ programs. A ratio is
Weft's speed over the other's: warp-lang's, Numba's, Dr.Jit's, that of C++ by hand, of NumPy, of a library (the C library's functions,
Eigen, Embree), of the machine's copying of as many bytes; or that of many threads over one. What was not measured is said at the end: programs without figures, peers that are
not there or failed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable

import closing_native
from arrays import SPELLINGS as ARRAY_GOALS
from compare import ROWS as PACKAGE_ROWS
from compare import OPTIONS_GOALS
from geometry import EMBREE_GOALS
from geometry import GOALS as MESH_GOALS
from geometry import ROWS as MESH_ROWS
from mujoco_warp import steps_goal
from peers import COPY_SHARE
from peers import GOALS as KERNEL_GOALS
from peers import ROWS

COLUMNS = ("over one", "warp-lang", "Numba", "Dr.Jit", "clang C++", "C++", "copy", "NumPy", "library")
SPELLINGS = (
    "wp.zeros(16, dtype=float, device='cpu')", "wp.clone(a)", "wp.array(x, dtype=float, device='cpu')",
    "wp.from_numpy(x, dtype=float, device='cpu')", "a.numpy()",
)  # fmt: skip
FIRST_STEP, FULL_SPEED = 2.0, 3.0  # seconds that MuJoCo Warp's humanoid may take on two cores
MANY_THREADS = 8.0  # times one thread's additions are wanted of 16 cores
BESIDE = {"50 µs": 0.75, "200 µs": 0.75, "small": 0.9}  # of the threads, and of one thread's rate
BACKWARD = 5.0  # times warp-lang's backward speed
VARIABLES = {"warp-lang": "PEER_PYTHON", "Numba": "NUMBA_PYTHON", "Dr.Jit": "DRJIT_PYTHON", "MuJoCo Warp": "MUJOCO_PYTHON", "PyTorch": "TORCH_PYTHON"}
PACKAGES = {"warp-lang": "warp-lang", "Numba": "numba", "Dr.Jit": "drjit", "MuJoCo Warp": "mujoco-warp", "PyTorch": "torch"}


class Table:
    """Rows of ratios by column, with figures, a goal and whether it is met; and titles between them."""

    def __init__(self) -> None:
        self.rows: list[tuple[dict[str, str], str, str, str] | str] = []
        self.met = self.goals = 0

    def title(self, text: str) -> None:
        self.rows.append(f"\n{text}")

    def note(self, text: str) -> None:
        self.rows.append(f"  {text}")

    def add(self, ratios: dict[str, float], what: str, figures: str, met: bool | None = None, goal: str = "") -> None:
        shown = {name: f"{ratio:.2f}" for name, ratio in ratios.items()}
        verdict = "" if met is None else f"goal {goal}: {'met' if met else 'MISSED'}"
        self.goals += met is not None
        self.met += bool(met)
        self.rows.append((shown, what, figures, verdict))

    def show(self) -> None:
        rows = [row for row in self.rows if not isinstance(row, str)]
        columns = [c for c in COLUMNS if any(c in row[0] for row in rows)]
        widths = [max(len(c), 8) for c in columns]
        whats = max((len(row[1]) for row in rows), default=0)
        print("  ".join(c.rjust(w) for c, w in zip(columns, widths)))
        for row in self.rows:
            if isinstance(row, str):
                print(row)
                continue
            ratios, what, figures, verdict = row
            cells = "  ".join(ratios.get(c, "–").rjust(w) for c, w in zip(columns, widths))
            print(f"{cells}  {what.ljust(whats)}  {figures}{'  ' if figures and verdict else ''}{verdict}".rstrip())
        print(f"\n{self.met} of {self.goals} goals met")


def seconds(value: float) -> str:
    for unit, factor in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        if value * factor < 999.5:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s"


def over(ours: float, others: dict[str, float | None]) -> dict[str, float]:
    """How many times as fast, where there is another figure; both are speeds."""
    return {name: ours / other for name, other in others.items() if other}


def kernel_goal(row: str, speed: float, ratios: dict[str, float]) -> tuple[bool | None, str]:
    """Whether it is met, and what it is. Figures wanted of one machine say nothing of others: there is no verdict then."""
    if "copy" in ratios:
        return ratios["copy"] >= COPY_SHARE, f"≥ {COPY_SHARE:g} × the copy"
    goal = KERNEL_GOALS.get(row)
    is_that_machine = platform.machine() == "aarch64" and len(os.sched_getaffinity(0)) == 2
    return (speed >= goal, f"≥ {goal:g}") if goal and is_that_machine else (None, "")


def kernels(table: Table, found: dict) -> None:
    for row, speeds in found["speeds"].items():
        if "Weft" in speeds:
            ratios = over(speeds["Weft"], {name: speed for name, speed in speeds.items() if name != "Weft"})
            table.add(ratios, row, f"{speeds['Weft']:.4g} {ROWS[row][1]}", *kernel_goal(row, speeds["Weft"], ratios))


def package(table: Table, found: dict) -> None:
    weft, peer = found["weft"], found["peer"]
    for key, what, goal in PACKAGE_ROWS:
        met = None if goal is None else weft[key] <= goal
        table.add(over(1 / weft[key], {"warp-lang": peer and 1 / peer[key]}), what, seconds(weft[key]), met, f"≤ {seconds(goal or 0)}")
    named = {"NumPy": "NumPy", "warp-lang": "warp-lang", "Numba": "Numba", "by hand (clang": "clang C++", "by hand": "C++"}

    def by_column(figures: dict[str, float]) -> dict[str, float]:
        return {column: figure for who, figure in figures.items() for start, column in named.items() if who.startswith(start)
                and (column != "C++" or "clang" not in who)}  # fmt: skip

    took = found["saxpy"]["weft"]
    speeds = {who: 1 / time for who, time in by_column(found["saxpy"]).items()}
    table.add(over(1 / took, speeds), "saxpy over 2^24 floats", f"{0.2013 / took:.3g} GB/s")
    ratios = over(found["options"]["weft"], by_column(found["options"]))
    wanted = {who: goal for who, goal in OPTIONS_GOALS if who in ratios}
    met = all(ratios[who] >= goal for who, goal in wanted.items()) if wanted else None
    goal = " and ".join(f"≥ {goal} × {who}" for who, goal in wanted.items())
    table.add(ratios, "Black-Scholes over 4 M options", f"{found['options']['weft'] / 1e6:.3g} M/s", met, goal)


def arrays(table: Table, found: dict) -> None:
    ours, peer = found["here"], found["warp-lang"]
    for name in SPELLINGS:
        goal = ARRAY_GOALS[name]
        met = None if goal is None else ours[name] <= goal
        table.add(over(1 / ours[name], {"warp-lang": peer and 1 / peer[name]}), name, f"{ours[name]:.2f} µs", met, f"≤ {goal} µs")
    limits = [(ours[name], goal) for name, goal in ARRAY_GOALS.items() if goal is not None]
    within = sum(took <= goal for took, goal in limits)
    table.add({}, "spellings within their goals (0.8, 1.6 and 0.7 µs)", f"{within} of {len(limits)}", within == len(limits), "all")


def lanes(table: Table, found: dict) -> None:
    shares = [row["of best"] for row in found.values()]
    near = sum(share >= 0.9 for share in shares)
    table.add({}, "kernels whose chosen lanes are within a tenth of the best", f"{near} of {len(shares)}",
              near >= 0.9 * len(shares), "18 of 20")  # fmt: skip


def scatter(table: Table, found: dict) -> None:
    for name, by_threads in found.items():
        speeds = {int(n): speed for n, speed in by_threads.items()}
        fewest, cores = min(speeds), max(speeds)
        ordered = [speeds[n] for n in sorted(speeds)]
        slower = any(b < 0.9 * a for a, b in zip(ordered, ordered[1:]))
        ratio = speeds[cores] / speeds[fewest]
        wanted = MANY_THREADS / 16 * cores
        met = not slower and (ratio >= wanted or "large" not in name)
        goal = f"≥ {wanted:g}" if "large" in name else "no slower with more"
        what = f"{name if name.startswith('appends') else 'additions: ' + name}, {cores} threads"
        table.add({"over one": ratio}, what, f"{speeds[cores] / 1e6:.0f} M/s", met, goal)


def beside(table: Table, found: dict) -> None:
    for name, part in BESIDE.items():
        rates = {int(n): rate for n, rate in found[name].items()}
        one, many = min(rates), max(rates)
        wanted = part * many if name != "small" else part
        ratio = rates[many] / rates[one]
        table.add({"over one": ratio}, f"launches ({name}) from {many} Python threads", f"{rates[many]:.0f}/s",
                  ratio >= wanted, f"≥ {wanted:g}")  # fmt: skip
    own = found.get("calls of Python's own")
    if own:
        rates = {int(n): rate for n, rate in own.items()}
        one, many = min(rates), max(rates)
        table.add({"over one": rates[many] / rates[one]}, f"calls of a Python function from {many} threads", f"{rates[many]:.0f}/s", None, "")
    turns = found.get("in turn")
    if turns:
        part = turns["both"] / (turns["matmul"] + turns["launch"])
        table.add({}, "torch.mm and a launch in turn, over the sum of both alone", f"{part:.2f}", part <= 1.1, "≤ 1.1")


def large(table: Table, found: dict) -> None:
    figures = found["figures"]
    for row, goal in (("first step, cold", FIRST_STEP), ("first step, warm", None), ("full speed after the first step", FULL_SPEED)):
        ours, peer = figures[row]["weft"], figures[row].get("peer")
        table.add({"warp-lang": peer / ours} if peer and "full" not in row else {}, row, seconds(ours),
                  None if goal is None else ours <= goal, f"≤ {seconds(goal or 0)}")  # fmt: skip
    for row, by_package in figures.items():
        if not row.endswith("worlds"):
            continue
        ours, peer = by_package["weft"], by_package.get("peer")
        goal = steps_goal(found["device"], int(row.split()[0]), found["graph"])
        table.add(over(ours, {"warp-lang": peer}), row, f"{ours:.0f} steps/s",
                  ours / peer >= goal if peer and goal else None, f"≥ {goal}")  # fmt: skip


def gradients(table: Table, found: dict) -> None:
    for name, (forward, backward) in found["weft"].items():
        peer = found["warp-lang"].get(name, (None, None))
        table.add(over(forward, {"warp-lang": peer[0]}), name, f"{forward:.1f} M/s")
        ratios = over(backward, {"warp-lang": peer[1]})
        table.add(ratios, f"{name}, backwards", f"{backward:.1f} M/s",
                  ratios["warp-lang"] >= BACKWARD if ratios else None, f"≥ {BACKWARD:g}")  # fmt: skip


def algorithms(table: Table, found: dict) -> None:
    for name, took in found["weft"].items():
        times = {"warp-lang": found["warp-lang"].get(name), "NumPy": found["numpy"].get(name)}
        ratios = {who: time / took for who, time in times.items() if time}
        goal = found["goals"].get(name)
        met = ratios["warp-lang"] >= goal if goal and "warp-lang" in ratios else None
        table.add(ratios, name, f"{found['count'] / took / 1e6:.4g} M/s", met, f"≥ {goal}")


def cubes(table: Table, found: dict) -> None:
    for name, took in found["weft"].items():
        if not name.endswith("triangles"):
            peer = found["warp-lang"].get(name)
            table.add({"warp-lang": peer / took} if peer else {}, name, seconds(took))


def meshes(table: Table, found: dict) -> None:
    rates = found["rates"]
    for row in MESH_ROWS:
        ours = rates.get("weft", {}).get("wall", {}).get(row)
        if ours is None:
            continue
        peer, embree = (rates.get(who, {}).get("wall", {}).get(row) for who in ("peer", "embree"))
        ratios = over(ours, {"warp-lang": peer, "library": embree})
        wanted = {"warp-lang": MESH_GOALS.get(row), "library": EMBREE_GOALS.get(row)}
        wanted = {who: goal for who, goal in wanted.items() if goal and who in ratios}
        met = all(ratios[who] >= goal for who, goal in wanted.items()) if wanted else None
        table.add(ratios, row, f"{ours:.3g} M/s", met, " and ".join(f"≥ {goal:g}" for goal in wanted.values()))
    first, peer = found["first"]["weft"], found["first"].get("peer", {})
    for key in sorted(key for key in first if key.endswith("launch")):
        other = peer.get(key)
        table.add({"warp-lang": other / first[key]} if other else {}, f"first result, {key.removesuffix(' launch')}", seconds(first[key]))


# The file's name, the title, what is done with it, and the program that writes it.
PARTS: tuple[tuple[str, str, Callable[[Table, dict], None], str], ...] = (
    ("peers", "Kernels on all cores", kernels, "peers.py"),
    ("lanes", "Lanes", lanes, "lanes.py"),
    ("scatter", "Additions to shared arrays and appends, by threads", scatter, "scatter.py"),
    ("arrays", "Making and reading arrays of 16 elements", arrays, "arrays.py"),
    ("python", "Launches, first launches, the import", package, "compare.py"),
    ("beside", "Beside others", beside, "beside.py"),
    ("mujoco", "MuJoCo Warp's humanoid", large, "mujoco_warp.py"),
    ("gradients", "Gradients", gradients, "gradients.py"),
    ("algorithms", "Algorithms on whole arrays", algorithms, "algorithms.py"),
    ("marching_cubes", "Marching cubes", cubes, "marching_cubes.py"),
    ("meshes", "Meshes of a million faces (library: Embree)", meshes, "geometry.py"),
)


def version(python: str, package_name: str) -> str:
    code = f"import importlib.metadata as m; print(m.version({package_name!r}))"
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "WEFT_EXTENSION_DIR")}
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False, env=environment)
    except OSError:
        return ""
    return done.stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--build", default="", help="how Weft was built")
    parser.add_argument("--peer", action="append", default=[], help="NAME=PYTHON; no PYTHON: not given")
    parser.add_argument("--failed", action="append", default=[], help="a program that failed")
    args = parser.parse_args()
    table, missing = Table(), [f"{program} failed" for program in args.failed]
    for name, title, add, program in PARTS:
        path = os.path.join(args.folder, f"bench_{name}.json")
        table.title(title)
        if not os.path.exists(path):
            table.note("not measured")
            if program not in args.failed:
                missing.append(f"{program} was not run")
            continue
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        add(table, found)
        left_out = found.get("failed")
        missing += [f"{who} in {program}: {why}" for who, why in left_out.items()] if isinstance(left_out, dict) else []
    results = os.path.join(args.folder, "bench_results")
    missing += closing_native.add_rows(table, results if os.path.isdir(results) else None)
    beside_what = []
    for given in args.peer:
        name, _, python = given.partition("=")
        found = version(python, PACKAGES[name]) if python else ""
        if found:
            beside_what.append(f"{name} {found}")
        else:
            reason = f"{python} has none" if python else f"{VARIABLES[name]} names no interpreter"
            missing.append(f"{name}: {reason}")
    load = os.getloadavg()
    print(f"Weft{f' ({args.build})' if args.build else ''} beside {', '.join(beside_what) or 'nothing'}; {os.cpu_count()} cores, load {load[2]:.1f}")
    print("How many times as fast, then what, and Weft's own figure:\n")
    table.show()
    if missing:
        print("\nNot measured:")
        for line in missing:
            print(f"  {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
