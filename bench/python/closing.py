#!/usr/bin/env python3
"""The closing table of `make bench`: what the Python benchmarks of one run found on the CPU, ratios first, beside their goals.

    closing.py FOLDER        reads FOLDER/bench_*.json, as the programs beside this file write them

A ratio is Weft's speed over the other's: warp-lang's, Numba's, Dr.Jit's, that of C++ by hand; or that of many threads over one; or the
chosen number of lanes over the best. What was not measured (a peer that is not installed) is left out.
"""

from __future__ import annotations

import json
import os
import sys

from mujoco_warp import steps_goal
from peers import ROWS

PEERS = ("warp-lang", "Numba", "Dr.Jit", "clang C++", "C++")
TIMES = (  # of compare.py: key, what, goal in seconds
    ("fifty_cold", "first launches of 50 kernels, cold cache", 0.5),
    ("fifty_warm", "the same, warm cache, fresh process", 8e-3),
    ("import", "import warp; wp.init() after NumPy", 30e-3),
    ("launch", "wp.launch of an empty kernel", 0.7e-6),
)
FIRST_STEP, FULL_SPEED = 2.0, 3.0  # seconds that MuJoCo Warp's humanoid may take on two cores
MANY_THREADS = 8.0  # times one thread's additions are wanted of 16 cores
BESIDE = {"50 µs": 0.75, "200 µs": 0.75, "small": 0.9}  # of the threads, and of one thread's rate


class Table:
    """Rows of ratios by column, with figures, a goal and whether it is met."""

    def __init__(self) -> None:
        self.rows: list[tuple[dict[str, str], str, str, str]] = []

    def add(self, ratios: dict[str, float], what: str, figures: str, met: bool | None = None, goal: str = "") -> None:
        shown = {name: f"{ratio:.2f}" for name, ratio in ratios.items()}
        verdict = "" if met is None else f"goal {goal}: {'met' if met else 'MISSED'}"
        self.rows.append((shown, what, figures, verdict))

    def show(self) -> None:
        columns = [c for c in ("over one", *PEERS) if any(c in row[0] for row in self.rows)]
        widths = [max(len(c), 8) for c in columns]
        whats = max((len(row[1]) for row in self.rows), default=0)
        print("  ".join(c.rjust(w) for c, w in zip(columns, widths)))
        for ratios, what, figures, verdict in self.rows:
            cells = "  ".join(ratios.get(c, "–").rjust(w) for c, w in zip(columns, widths))
            print(f"{cells}  {what.ljust(whats)}  {figures}{'  ' if figures and verdict else ''}{verdict}".rstrip())


def seconds(value: float) -> str:
    for unit, factor in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        if value * factor < 999.5:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s"


def kernels(table: Table, found: dict) -> None:
    for row, speeds in found.items():
        ours = speeds["Weft"]
        ratios = {name: ours / speed for name, speed in speeds.items() if name != "Weft"}
        table.add(ratios, row, f"{ours:.4g} {ROWS[row][1]}")


def package(table: Table, found: dict) -> None:
    weft, peer = found["weft"], found["peer"]
    for key, what, goal in TIMES:
        ratios = {"warp-lang": peer[key] / weft[key]} if peer else {}
        table.add(ratios, what, seconds(weft[key]), weft[key] <= goal, f"≤ {seconds(goal)}")


def arrays(table: Table, found: dict) -> None:
    ours, peer = found["here"], found["warp-lang"]
    for name in ("wp.zeros(16, dtype=float, device='cpu')", "wp.clone(a)", "wp.array(x, dtype=float, device='cpu')",
                 "wp.from_numpy(x, dtype=float, device='cpu')", "a.numpy()"):
        table.add({"warp-lang": peer[name] / ours[name]} if peer else {}, name, f"{ours[name]:.2f} µs")


def lanes(table: Table, found: dict) -> None:
    shares = [row["of best"] for row in found.values()]
    near = sum(share >= 0.9 for share in shares)
    table.add({}, "kernels whose chosen lanes are within a tenth of the best", f"{near} of {len(shares)}",
              near >= 0.9 * len(shares), "18 of 20")


def scatter(table: Table, found: dict) -> None:
    cores = 1
    for name, by_threads in found.items():
        speeds = {int(n): speed for n, speed in by_threads.items()}
        fewest, cores = min(speeds), max(speeds)
        ordered = [speeds[n] for n in sorted(speeds)]
        slower = any(b < 0.9 * a for a, b in zip(ordered, ordered[1:]))
        ratio = speeds[cores] / speeds[fewest]
        wanted = MANY_THREADS / 16 * cores
        met = not slower and (ratio >= wanted or "large" not in name)
        goal = f"≥ {wanted:g}" if "large" in name else "no slower with more"
        table.add({"over one": ratio}, f"{name if name.startswith('appends') else 'additions: ' + name}, {cores} threads", f"{speeds[cores] / 1e6:.0f} M/s", met, goal)


def beside(table: Table, found: dict) -> None:
    for name, part in BESIDE.items():
        rates = {int(n): rate for n, rate in found[name].items()}
        one, many = min(rates), max(rates)
        wanted = part * many if name != "small" else part
        ratio = rates[many] / rates[one]
        table.add({"over one": ratio}, f"launches ({name}) from {many} Python threads", f"{rates[many]:.0f}/s",
                  ratio >= wanted, f"≥ {wanted:g}")
    turns = found.get("in turn")
    if turns:
        over = turns["both"] / (turns["matmul"] + turns["launch"])
        table.add({}, "torch.mm and a launch in turn, over the sum of both alone", f"{over:.2f}", over <= 1.1, "≤ 1.1")


def large(table: Table, found: dict) -> None:
    figures = found["figures"]
    for row, goal in (("first step, cold", FIRST_STEP), ("full speed after the first step", FULL_SPEED)):
        ours, peer = figures[row]["weft"], figures[row].get("peer")
        table.add({"warp-lang": peer / ours} if peer and "full" not in row else {}, f"MuJoCo Warp's humanoid: {row}", seconds(ours),
                  ours <= goal, f"≤ {seconds(goal)}")
    for row, by_package in figures.items():
        if not row.endswith("worlds"):
            continue
        ours, peer = by_package["weft"], by_package.get("peer")
        goal = steps_goal(found["device"], int(row.split()[0]), found["graph"])
        table.add({"warp-lang": ours / peer} if peer else {}, f"MuJoCo Warp's humanoid: {row}", f"{ours:.0f} steps/s",
                  ours / peer >= goal if peer and goal else None, f"≥ {goal}")


def main(args: list[str]) -> int:
    if len(args) != 1:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    table = Table()
    for name, add in (("peers", kernels), ("lanes", lanes), ("scatter", scatter), ("arrays", arrays), ("python", package),
                      ("beside", beside), ("mujoco", large)):
        path = os.path.join(args[0], f"bench_{name}.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                add(table, json.load(file))
    print("How many times as fast, then what, and Weft's own figure:\n")
    table.show()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
