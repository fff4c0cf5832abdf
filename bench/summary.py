#!/usr/bin/env python3
"""The closing table of `make bench`: reads Google Benchmark's JSON files and prints goals, ratios and growth.

    summary.py FILE.json…

Of several repetitions the fastest counts: on a machine that does other work too, noise only ever adds.
"""
import json
import sys


class Results:
    """All runs by name, without the suffixes that Google Benchmark adds for the way of measuring."""

    def __init__(self, paths):
        self.runs, self.context = {}, {}
        for path in paths:
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
            self.context.update(data["context"])
            for run in data["benchmarks"]:
                if run.get("run_type") == "iteration" and not run.get("error_occurred"):
                    parts = [p for p in run["run_name"].split("/") if not p.startswith(("iterations:", "repeats:", "min_time:"))]
                    name = "/".join(p for p in parts if p not in ("real_time", "manual_time", "process_time"))
                    self.runs.setdefault(name, []).append(run)

    def best(self, name):
        runs = self.runs.get(name)
        return min(runs, key=lambda run: run["real_time"]) if runs else None

    def seconds(self, name):
        run = self.best(name)
        return run["real_time"] * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[run["time_unit"]] if run else None


def show_time(seconds):
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if seconds * factor < 999.5:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def table(title, header, rows):
    rows = [row for row in rows if row]
    if not rows:
        return
    print(f"\n{title}")
    cells = [header] + rows
    widths = [max(len(str(row[i])) for row in cells) for i in range(len(header))]
    for number, row in enumerate(cells):
        print("  " + "  ".join(str(c).ljust(w) if i == 0 else str(c).rjust(w) for i, (c, w) in enumerate(zip(row, widths))))
        if number == 0:
            print("  " + "  ".join("-" * w for w in widths))


def goal_row(label, value, goal, shown, limit):
    return None if value is None else (label, shown(value), limit, "met" if goal(value) else "MISSED")


def second_core_free(results):
    """Arithmetic on registers scales with free cores and with nothing else."""
    one, two = results.best("limit/fma/threads:1"), results.best("limit/fma/threads:2")
    return bool(one and two) and two["flops"] > 1.6 * one["flops"]


def goals(results):
    def below(label, name, limit):
        return goal_row(label, results.seconds(name), lambda s: s < limit, show_time, "< " + show_time(limit))

    rows = [
        below("ten lines: text to optimised IR", "compile/stage/front", 1e-3),
        below("ten lines: text to running code", "compile/text_to_result/no_cache", 15e-3),
        below("  the same, first in a fresh process", "compile/fresh/no_cache", 15e-3),
        below("ten lines: from the warm cache", "compile/text_to_result/disk_cache", 2e-3),
        below("  the same, first in a fresh process", "compile/fresh/disk_cache", 2e-3),
        below("empty launch, runtime", "launch/runtime_empty", 100e-9),
        below("empty launch, public interface", "launch/api_empty", 100e-9),
    ]
    hand, weft = results.seconds("saxpy/hand/threads:2"), results.seconds("saxpy/weft/threads:2")
    if hand and weft:
        row = goal_row("saxpy, two threads, of the hand-written loop", hand / weft, lambda r: r >= 0.9,
                       lambda r: f"{r:.2f}", ">= 0.90")
        rows.append(row if second_core_free(results) else (*row[:3], "unclear: a core was taken"))
    for group, sizes in (("lines", (100, 1000, 10000)), ("kernels", (10, 100, 1000))):
        first, last = (results.best(f"scale/{group}/{size}") for size in (sizes[1], sizes[2]))
        if first and last:
            growth = last["own_us_per_line"] / first["own_us_per_line"]
            rows.append(goal_row(f"our cost per line, {sizes[2]} over {sizes[1]} {group}", growth, lambda r: r < 1.5,
                                 lambda r: f"{r:.2f}", "< 1.5"))
    table("Goals", ("what", "found", "goal", ""), rows)


CASES = (("saxpy", "bytes", ("copy", "update")), ("dot3", "bytes", ("copy", "update")), ("polynomial", "flops", ("fma",)))


def throughput(results):
    rows = []
    threads = sorted({int(name.split("threads:")[1]) for name in results.runs if "threads:" in name})
    for case, unit, limits in CASES:
        for count in threads:
            runs = [results.best(f"{case}/{form}/threads:{count}") for form in ("hand", "weft", "weft_one_lane")]
            peaks = [results.best(f"limit/{limit}/threads:{count}") for limit in limits]
            if not all(runs) or not all(peaks):
                continue
            hand, weft, one = (run[unit] / 1e9 for run in runs)
            top = max(peak[unit] for peak in peaks) / 1e9
            rows.append((case, count, "GB/s" if unit == "bytes" else "GFLOP/s", f"{hand:.1f}", f"{weft:.1f}", f"{one:.1f}",
                         f"{weft / hand:.2f}", f"{weft / one:.2f}", f"{top:.1f}", f"{weft / top:.2f}"))
    table("Throughput (limit: the better of a copy and an update in place for memory, multiply-adds on registers for arithmetic)",
          ("case", "threads", "unit", "by hand", "weft", "one lane", "weft/hand", "lanes gain", "limit", "of limit"), rows)


def functions(results):
    """Elementary functions at all lanes on one thread, per value, against the C library's in a plain loop."""
    for scalar, goal in (("float32", 3), ("float64", None)):
        rows = []
        for name in results.runs:
            parts = name.split("/")
            if parts[0] != "math" or parts[2:] != [scalar, "weft"]:
                continue
            runs = [results.best(f"math/{parts[1]}/{scalar}/{form}") for form in ("libm", "weft", "weft_one_lane")]
            times = [run and 1e9 / run["values"] for run in runs]
            ratio = times[0] and times[0] / times[1]
            rows.append((parts[1], *(f"{t:.2f}" if t else "-" for t in times), f"{ratio:.1f}" if ratio else "-",
                         "" if not ratio or not goal else "met" if ratio >= goal else "MISSED"))
        table(f"Elementary functions, {scalar}, ns per value on one thread" +
              (f" (goal: {goal} times the C library's speed)" if goal else ""),
              ("function", "libm", "weft", "one lane", "ratio", ""), sorted(rows))
    rows = []
    for name in results.runs:
        if name.startswith("black_scholes/"):
            run = results.best(name)
            rows.append((name.removeprefix("black_scholes/"), f"{run['values'] / 1e6:.0f}"))
    table("Black-Scholes, 4 M options", ("form", "M options/s"), rows)


def linear(results):
    """Small matrices and quaternions at all lanes on one thread, per element, against Eigen in a plain loop."""
    rows = []
    for name in sorted(results.runs):
        parts = name.split("/")
        if parts[0] != "linear" or parts[3] != "weft":
            continue
        runs = [results.best(f"linear/{parts[1]}/{parts[2]}/{form}") for form in ("eigen", "weft")]
        times = [run and 1e9 / run["values"] for run in runs]
        ratio = times[0] and times[0] / times[1]
        rows.append((parts[1], parts[2], *(f"{t:.2f}" if t else "-" for t in times), f"{ratio:.1f}" if ratio else "-",
                     "no peer" if not ratio else "met" if ratio >= 1 else "MISSED"))
    table("Small matrices and quaternions, ns per element on one thread (goal: not slower than Eigen)",
          ("case", "scalar", "Eigen", "weft", "ratio", ""), rows)


def trees(results):
    """Builds and refits of trees over a million faces; the processors' time says more than the clock on a busy machine."""
    rows = []
    for name in sorted(results.runs):
        parts = name.split("/")
        if parts[0] not in ("build", "refit"):
            continue
        run = results.best(name)
        cpu = min(r["cpu_time"] for r in results.runs[name])
        peer = results.best(f"build/embree/{parts[2]}") if parts[0] == "build" and parts[1] != "embree" else None
        rows.append((f"{parts[0]} {parts[1]}", parts[2].removeprefix("threads:"), f"{run['faces'] / 1e6:.1f}", f"{cpu:.0f} ms",
                     f"{run['bytes_per_face']:.1f}" if "bytes_per_face" in run else "-",
                     f"{run['cost']:.2f}" if "cost" in run else "-",
                     f"{run['faces'] / peer['faces']:.2f}" if peer else "-"))
    table("Trees over a mesh of 1 M faces (cost: nodes and blocks that a random line meets)",
          ("case", "threads", "M faces/s", "processors", "bytes/face", "cost", "of Embree"), rows)


def launches(results):
    rows = []
    for size in ("16", "256", "4096", "65536", "1048576"):
        names = ("runtime_saxpy", "api_saxpy", "serial_loop", "openmp_loop", "tbb_loop")
        times = [results.seconds(f"launch/{name}/{size}") for name in names]
        if times[0] is None:
            continue
        others = [t for t in times[2:] if t is not None]
        rows.append((size, *(show_time(t) if t else "-" for t in times), f"{min(others) / times[1]:.2f}"))
    call = results.seconds("launch/call_pointer")
    if call:
        rows.append(("call", show_time(call), "", "", "", "", ""))
    table("A launch of n threads (saxpy, data in cache; best other over public interface)",
          ("n", "runtime", "public", "serial loop", "OpenMP", "oneTBB", "ratio"), rows)


def stages(results):
    names = ("parse", "lower", "passes", "front", "emit", "llvm_opt", "llvm_codegen", "llvm", "load", "total")
    rows = [(name, show_time(results.seconds(f"compile/stage/{name}"))) for name in names
            if results.seconds(f"compile/stage/{name}")]
    table("Ten-line kernel, stage by stage (repeated in one process)", ("stage", "time"), rows)


def growth(results):
    rows = []
    for name in results.runs:
        if not name.startswith("scale/"):
            continue
        run = results.best(name)
        own = run["parse_ms"] + run["lower_ms"] + run["passes_ms"]
        llvm = run["emit_ms"] + run["opt_ms"] + run["codegen_ms"]
        rows.append((name[len("scale/"):], f"{run['lines']:.0f}", f"{run['ops_lowered']:.0f}", f"{run['ops']:.0f}",
                     f"{run['parse_ms']:.2f}", f"{run['lower_ms']:.2f}", f"{run['passes_ms']:.2f}", f"{run['own_us_per_line']:.2f}",
                     f"{run['own_MB']:.1f}", f"{llvm:.1f}", f"{run['llvm_us_per_line']:.0f}", f"{run['llvm_MB']:.1f}",
                     f"{llvm / own:.0f}"))
    table("Growth (first use in a fresh process; milliseconds, microseconds a line, megabytes of peak memory)",
          ("case", "lines", "ops in", "ops out", "parse", "lower", "passes", "own/line", "own MB", "llvm", "llvm/line", "llvm MB",
           "llvm/own"), rows)


def main(paths):
    if not paths:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    results = Results(paths)
    context = results.context
    print(f"\n{context.get('processor', 'unknown processor')}, {context.get('threads', '?')} threads, "
          f"{context.get('natural_lanes', '?')} lanes; load {context.get('load_avg', ['?'])[0]}")
    print(f"loops by hand: {context.get('hand_written_by', 'not measured')}")
    stages(results)
    launches(results)
    throughput(results)
    functions(results)
    linear(results)
    trees(results)
    growth(results)
    goals(results)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
