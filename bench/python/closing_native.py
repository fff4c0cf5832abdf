"""Rows of the closing table that come from the programs in C++ (bench/bench_*.cpp): launches and compilation beside their goals, loops
beside those by hand, elementary functions beside the C library's, small matrices beside Eigen's, trees beside Embree's."""

from __future__ import annotations

import glob
import os
import statistics
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import summary

TIMES = (  # benchmark, what, seconds wanted
    ("compile/stage/front", "ten lines: text to optimised IR", 1e-3),
    ("compile/text_to_result/no_cache", "ten lines: text to running code", 15e-3),
    ("compile/fresh/no_cache", "the same, first in a fresh process", 15e-3),
    ("compile/fresh/disk_cache", "from the warm cache, first in a fresh process", 2e-3),
    ("launch/runtime_empty", "empty launch, runtime", 100e-9),
    ("launch/api_empty", "empty launch, public interface", 100e-9),
)
FUNCTIONS_GOAL = 3.0  # times the C library's speed, float32


def add_rows(table, folder: str | None) -> list[str]:
    """Adds them; what was not measured."""
    table.title("Programs in C++ (library: the C library's functions, Eigen, Embree)")
    paths = sorted(glob.glob(os.path.join(folder, "*.json"))) if folder else []
    paths = [path for path in paths if os.path.getsize(path)]
    if not paths:
        table.note("not measured")
        return ["the programs in C++ were not run"]
    results = summary.Results(paths)
    for name, what, goal in TIMES:
        seconds = results.seconds(name)
        if seconds:
            table.add({}, what, summary.show_time(seconds), seconds <= goal, f"≤ {summary.show_time(goal)}")
    by = "clang C++" if "clang" in results.context.get("hand_written_by", "") else "C++"
    add_loops(table, results, by)
    add_launches(table, results)
    add_functions(table, results)
    missing = [] if add_matrices(table, results) else ["Eigen: not installed where the programs in C++ were built"]
    return missing + ([] if add_trees(table, results) else ["Embree: not installed where the programs in C++ were built"])


def add_loops(table, results, by: str) -> None:
    threads = sorted({int(name.split("threads:")[1]) for name in results.runs if "threads:" in name})
    for case, unit, _ in summary.CASES:
        for count in threads:
            hand, weft = (results.best(f"{case}/{form}/threads:{count}") for form in ("hand", "weft"))
            if not hand or not weft:
                continue
            ratio = weft[unit] / hand[unit]
            wanted = case == "saxpy" and count == 2 and summary.second_core_free(results)
            figure = f"{weft[unit] / 1e9:.1f} {'GB/s' if unit == 'bytes' else 'GFLOP/s'}"
            table.add({by: ratio}, f"{case}, threads: {count}", figure, ratio >= 0.9 if wanted else None, "≥ 0.9")


def add_launches(table, results) -> None:
    for size in (16, 4096, 65536, 1 << 20):
        ours = results.seconds(f"launch/api_saxpy/{size}")
        loops = [results.seconds(f"launch/{name}/{size}") for name in ("serial_loop", "openmp_loop", "tbb_loop")]
        loops = [time for time in loops if time]
        if ours and loops:
            what = f"a launch of {size} threads (C++: the best of serial, OpenMP, oneTBB)"
            table.add({"C++": min(loops) / ours}, what, summary.show_time(ours))


def add_functions(table, results) -> None:
    for scalar in ("float32", "float64"):
        ratios = []
        for name in results.runs:
            parts = name.split("/")
            if parts[0] != "math" or parts[2:] != [scalar, "weft"]:
                continue
            libm, weft = results.best(f"math/{parts[1]}/{scalar}/libm"), results.best(name)
            if libm:
                ratios.append(weft["values"] / libm["values"])
        if ratios:
            fast = sum(ratio >= FUNCTIONS_GOAL for ratio in ratios)
            what = f"elementary functions, {scalar}: the median of {len(ratios)}"
            figure = f"{fast} are {FUNCTIONS_GOAL:g} × the C library's, the slowest {min(ratios):.2f} ×"
            goal = (fast == len(ratios), f"all ≥ {FUNCTIONS_GOAL:g}") if scalar == "float32" else (None, "")
            table.add({"library": statistics.median(ratios)}, what, figure, *goal)


def add_matrices(table, results) -> bool:
    found = False
    for name in sorted(results.runs):
        parts = name.split("/")
        if parts[0] != "linear" or parts[3] != "weft":
            continue
        eigen, weft = results.best(f"linear/{parts[1]}/{parts[2]}/eigen"), results.best(name)
        ratios = {"library": weft["values"] / eigen["values"]} if eigen else {}
        found |= bool(ratios)
        table.add(ratios, f"{parts[1]}, {parts[2]}", f"{weft['values'] / 1e6:.4g} M/s", ratios["library"] >= 1 if ratios else None, "≥ 1")
    return found


def add_trees(table, results) -> bool:
    found = False
    for name in sorted(results.runs):
        parts = name.split("/")
        if parts[0] not in ("build", "refit") or parts[1] == "embree":
            continue
        run = results.best(name)
        peer = results.best(f"build/embree/{parts[2]}") if parts[0] == "build" else None
        found |= bool(peer)
        ratios = {"library": run["faces"] / peer["faces"]} if peer else {}
        table.add(ratios, f"{parts[0]} {parts[1]}, threads: {parts[2].removeprefix('threads:')}", f"{run['faces'] / 1e6:.1f} M faces/s")
    return found
