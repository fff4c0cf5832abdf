#!/usr/bin/env python3
"""Kernels on tiles on the CPU, beside PyPI's warp-lang and NumPy.

    tiles.py [--peer PYTHON] [--eigen FOLDER] [--rounds N] [--elapsed] [--only TEXT] [--json FILE]

This interpreter imports Weft's `warp`, PEER's has warp-lang. Both run the same program (this file with --measure) in turns;
of each figure the best counts, and lines begin with the ratios. Figures are by processor time, that of one core, which
favours programs that use one thread; with --elapsed by the clock, all cores. NumPy's are measured beside Weft's, its
BLAS on one thread unless --elapsed is given. `first launch` is that of a kernel with an empty cache, in a fresh process: as programs
meet it, and `full` where all of LLVM's work is done before it.

Products are of 512 by 512 numbers in tiles of 16 and 64; `backward n` is the adjoint of products of two tiles of n by n, of which
there are two, NumPy's are just these; `solve n` loads a matrix and a right side, factors, solves and
stores, NumPy's is its Cholesky alone, and with --eigen (the folder that has Eigen/Dense) the same is measured by Eigen's fixed sizes,
built by c++ for this machine, on one core; row sums are of rows of 1024; tanh is a map over tiles of 256; transforms are of
rows of complex numbers in float32.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

# What is wanted of the speed of warp-lang and of NumPy.
GOALS = {
    "product, tiles of 16": (4.0, 0.4),
    "product, tiles of 64": (3.0, 0.75),
    "backward 16": (2.0, None),
    "backward 64": (2.0, None),
    "solve 16": (4.0, None),
    "solve 32": (3.0, None),
    "solve 64": (2.0, None),
    "row sums": (10.0, 0.9),
    "map of tanh": (10.0, None),
    **{f"transform {n}": (None, 1.0) for n in (256, 512, 1024, 2048, 4096)},
}
FIRST_GOAL = 0.040  # seconds; 0.150 with an adjoint
FIRST_ADJOINT_GOAL = 0.150
EIGEN_GOALS = {"solve 16": 2.0, "solve 32": 2.0}  # times Eigen's fixed sizes
UNITS = {"product": "GFLOP/s", "backward": "GFLOP/s", "solve": "k/s", "row": "GB/s", "map": "M/s", "transform": "M/s"}


class Case:
    """A launch, how much it does in the unit of its row, the same by NumPy and maybe by a loop of C++, and whether the launch's result
    is right."""

    def __init__(self, launch, amount: float, numpy, right, by_loop=None) -> None:
        self.launch, self.amount, self.numpy, self.right, self.by_loop = launch, amount, numpy, right, by_loop


def product_case(wp, tile: int) -> Case:
    size = 512

    @wp.kernel(module="unique", enable_backward=False)
    def product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
        i, j = wp.tid()
        total = wp.tile_zeros(shape=(tile, tile), dtype=float)
        for k in range(size // tile):
            x = wp.tile_load(a, shape=(tile, tile), offset=(i * tile, k * tile))
            y = wp.tile_load(b, shape=(tile, tile), offset=(k * tile, j * tile))
            wp.tile_matmul(x, y, total)
        wp.tile_store(c, total, offset=(i * tile, j * tile))

    numbers = np.random.default_rng(1).normal(size=(size, size)).astype(np.float32)
    a = wp.array(numbers, dtype=float, device="cpu")
    c = wp.zeros_like(a)
    across = size // tile

    def launch():
        wp.launch_tiled(product, dim=(across, across), inputs=[a, a, c], block_dim=64, device="cpu")

    def right():
        return np.allclose(c.numpy(), numbers @ numbers, atol=1e-3)

    return Case(launch, 2e-9 * size**3, lambda: numbers @ numbers, right)


def backward_case(wp, n: int) -> Case:
    count = 4 * 64**3 // n**3

    @wp.kernel(module="unique")
    def product(a: wp.array3d(dtype=float), b: wp.array3d(dtype=float), c: wp.array3d(dtype=float)):
        i = wp.tid()
        x = wp.tile_load(a[i], shape=(n, n))
        y = wp.tile_load(b[i], shape=(n, n))
        wp.tile_store(c[i], wp.tile_matmul(x, y))

    numbers = np.random.default_rng(1).normal(size=(3, count, n, n)).astype(np.float32)
    a, b, c = (wp.array(part, dtype=float, device="cpu", requires_grad=True) for part in numbers)
    slope = wp.array(numbers[2], dtype=float, device="cpu")
    tape = wp.Tape()
    with tape:
        wp.launch_tiled(product, dim=count, inputs=[a, b], outputs=[c], block_dim=64, device="cpu")

    def launch():
        tape.zero()
        tape.backward(grads={c: slope})

    def by_numpy():
        return numbers[2] @ numbers[1].transpose(0, 2, 1), numbers[0].transpose(0, 2, 1) @ numbers[2]

    def right():
        return all(np.allclose(x.grad.numpy(), want, atol=1e-3) for x, want in zip((a, b), by_numpy()))

    return Case(launch, 4e-9 * count * n**3, by_numpy, right)


def solve_case(wp, n: int) -> Case:
    count = {16: 4096, 32: 2048, 64: 512}[n]

    @wp.kernel(module="unique", enable_backward=False)
    def solve(a: wp.array3d(dtype=float), b: wp.array2d(dtype=float), x: wp.array2d(dtype=float)):
        i = wp.tid()
        m = wp.tile_load(a[i], shape=(n, n), storage="shared")
        y = wp.tile_load(b[i], shape=(n,), storage="shared")
        factor = wp.tile_cholesky(m)
        wp.tile_store(x[i], wp.tile_cholesky_solve(factor, y))

    root = np.random.default_rng(1).normal(size=(count, n, n)).astype(np.float32)
    matrices = root @ root.transpose(0, 2, 1) + n * np.eye(n, dtype=np.float32)
    right_sides = np.ascontiguousarray(root[:, 0])
    a = wp.array(matrices, dtype=float, device="cpu")
    b = wp.array(right_sides, dtype=float, device="cpu")
    x = wp.zeros_like(b)

    def launch():
        wp.launch_tiled(solve, dim=count, inputs=[a, b, x], block_dim=64, device="cpu")

    def right():
        return np.allclose(np.einsum("sij,sj->si", matrices, x.numpy()), root[:, 0], atol=1e-3)

    def by_loop(library):
        found = np.empty_like(right_sides)
        pointers = [v.ctypes.data_as(ctypes.c_void_p) for v in (matrices, right_sides, found)]
        getattr(library, f"hand_solve_{n}")(ctypes.c_int64(count), *pointers)
        return found

    return Case(launch, 1e-3 * count, lambda: np.linalg.cholesky(matrices), right, by_loop)


def sums_case(wp) -> Case:
    rows, length = 8192, 1024

    @wp.kernel(module="unique", enable_backward=False)
    def sums(a: wp.array2d(dtype=float), s: wp.array(dtype=float)):
        i = wp.tid()
        s[i] = wp.tile_sum(wp.tile_load(a[i], shape=length))[0]

    numbers = np.random.default_rng(1).normal(size=(rows, length)).astype(np.float32)
    a = wp.array(numbers, dtype=float, device="cpu")
    s = wp.zeros(rows, dtype=float, device="cpu")

    def launch():
        wp.launch_tiled(sums, dim=rows, inputs=[a, s], block_dim=64, device="cpu")

    def right():
        return np.allclose(s.numpy(), numbers.sum(axis=1), atol=1e-3)

    return Case(launch, 4e-9 * rows * length, lambda: numbers.sum(axis=1), right)


def tanh_case(wp) -> Case:
    rows, length = 8192, 256

    @wp.kernel(module="unique", enable_backward=False)
    def tanh(a: wp.array2d(dtype=float), s: wp.array2d(dtype=float)):
        i = wp.tid()
        wp.tile_store(s[i], wp.tile_map(wp.tanh, wp.tile_load(a[i], shape=length)))

    numbers = np.random.default_rng(1).normal(size=(rows, length)).astype(np.float32)
    a = wp.array(numbers, dtype=float, device="cpu")
    s = wp.zeros_like(a)

    def launch():
        wp.launch_tiled(tanh, dim=rows, inputs=[a, s], block_dim=64, device="cpu")

    def right():
        return np.allclose(s.numpy(), np.tanh(numbers), atol=1e-5)

    return Case(launch, 1e-6 * rows * length, lambda: np.tanh(numbers), right)


def transform_case(wp, n: int) -> Case:
    rows = (1 << 19) // n

    @wp.kernel(module="unique", enable_backward=False)
    def transform(a: wp.array2d(dtype=wp.vec2), b: wp.array2d(dtype=wp.vec2)):
        i = wp.tid()
        t = wp.tile_load(a, shape=(1, n), offset=(i, 0))
        wp.tile_fft(t)
        wp.tile_store(b, t, offset=(i, 0))

    numbers = np.random.default_rng(1).normal(size=(rows, n, 2)).astype(np.float32)
    whole = np.ascontiguousarray(numbers[..., 0] + 1j * numbers[..., 1]).astype(np.complex64)
    a = wp.array(numbers, dtype=wp.vec2, device="cpu")
    b = wp.zeros_like(a)

    def launch():
        wp.launch_tiled(transform, dim=rows, inputs=[a, b], block_dim=64, device="cpu")

    def right():
        return np.allclose(b.numpy()[..., 0] + 1j * b.numpy()[..., 1], np.fft.fft(whole), atol=1e-4 * n)

    return Case(launch, 1e-6 * rows * n, lambda: np.fft.fft(whole), right)


def cases(wp) -> dict:
    """What makes each case, by the names of GOALS."""
    made = {f"product, tiles of {tile}": lambda tile=tile: product_case(wp, tile) for tile in (16, 64)}
    made |= {f"backward {n}": lambda n=n: backward_case(wp, n) for n in (16, 64)}
    made |= {f"solve {n}": lambda n=n: solve_case(wp, n) for n in (16, 32, 64)}
    made |= {"row sums": lambda: sums_case(wp), "map of tanh": lambda: tanh_case(wp)}
    return made | {f"transform {n}": lambda n=n: transform_case(wp, n) for n in (256, 512, 1024, 2048, 4096)}


def best_time(call, clock) -> float:
    """The fastest of at least five calls and half a second."""
    best, begin, done = float("inf"), time.perf_counter(), 0
    while done < 5 or time.perf_counter() - begin < 0.5:
        start = clock()
        call()
        best, done = min(best, clock() - start), done + 1
    return best


def measure(elapsed: bool, only: str, library: str) -> dict[str, dict[str, float]]:
    """Figures of this interpreter's `warp`, of NumPy and of the loops of a library; what `warp` can't do has none, but a reason."""
    import warp as wp

    loops = ctypes.CDLL(library) if library else None

    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    clock = time.perf_counter if elapsed else time.process_time
    figures: dict[str, dict[str, float]] = {}
    for name, make in cases(wp).items():
        if only not in name:
            continue
        try:
            case = make()
            case.launch()
            assert case.right(), "the result is wrong"
        except Exception as error:  # noqa: BLE001 - another row may still be measured
            print(f"{name}: {str(error).splitlines()[0] if str(error) else type(error).__name__}", file=sys.stderr)
            continue
        figures[name] = {"warp": case.amount / best_time(case.launch, clock)}
        figures[name]["numpy"] = case.amount / best_time(case.numpy, clock)
        if loops and case.by_loop:
            figures[name]["eigen"] = case.amount / best_time(lambda case=case: case.by_loop(loops), clock)
    return figures


def measure_first(name: str, full: bool) -> dict[str, float]:
    """Seconds of the first launch of a kernel, by the clock and of the processor, as programs meet it or with all of LLVM's work."""
    import warp as wp

    wp.config.quiet = True
    if full:
        wp.config.first_versions = False
    wp.init()

    @wp.kernel(module="unique", enable_backward=False)
    def warm_up(x: wp.array(dtype=float)):
        x[wp.tid()] = 1.0

    n = 16

    @wp.kernel(module="unique")
    def with_adjoint(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), e: wp.array(dtype=float)):
        x = wp.tile_load(a, shape=(n, n))
        y = wp.tile_matmul(x, wp.tile_load(b, shape=(n, n)))
        wp.tile_atomic_add(e, wp.tile_sum(wp.tile_map(wp.tanh, y)))

    wp.launch(warm_up, dim=1, inputs=[wp.zeros(1, dtype=float, device="cpu")], device="cpu")
    if name == "adjoint":
        a, b = (wp.ones((n, n), dtype=float, device="cpu", requires_grad=True) for _ in range(2))
        e = wp.zeros(1, dtype=float, device="cpu", requires_grad=True)
        start, used = time.perf_counter(), time.process_time()
        with wp.Tape() as tape:
            wp.launch_tiled(with_adjoint, dim=1, inputs=[a, b], outputs=[e], block_dim=64, device="cpu")
        tape.backward(e)
    else:
        case = cases(wp)[name]()
        start, used = time.perf_counter(), time.process_time()
        case.launch()
    return {"wall": time.perf_counter() - start, "processor": time.process_time() - used}


FIRST = ("product, tiles of 16", "product, tiles of 64", "solve 16", "solve 64", "transform 256", "adjoint")


def run(python: str, arguments: list[str], elapsed: bool, cache: str | None = None) -> dict:
    environment = dict(os.environ)
    if python != sys.executable:
        for name in ("PYTHONPATH", "WEFT_EXTENSION_DIR"):
            environment.pop(name, None)
    if not elapsed:
        environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if cache:
        environment["WARP_CACHE_PATH"] = cache
    command = [python, os.path.abspath(__file__), *arguments] + (["--elapsed"] if elapsed else [])
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    reasons = [line for line in done.stderr.splitlines() if line.partition(": ")[0] in GOALS]
    print("\n".join(f"{python}: {line}" for line in reasons), end="\n" if reasons else "", file=sys.stderr)
    return json.loads(done.stdout.strip().splitlines()[-1])


def verdict(times: float, goal: float | None) -> str:
    return f"{times:7.2f}" + (f" (goal {goal:g}{'' if times >= goal else ', MISSED'})" if goal else "")


def build_loops(eigen: str, folder: str) -> str:
    """The library of the loops that Eigen does."""
    made = os.path.join(folder, "systems.so")
    source = pathlib.Path(__file__).resolve().parents[1] / "hand" / "systems.cpp"
    options = ["-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-fPIC", "-shared", "-isystem", eigen]
    subprocess.run(["c++", *options, str(source), "-o", made], check=True)
    return made


def show_speeds(best: dict[str, dict[str, float]]) -> None:
    print(f"{'times warp-lang':28}{'times NumPy':28}{'':24}{'Weft':>9}{'warp-lang':>11}{'NumPy':>9}")
    for name, found in best.items():
        over = [found["weft"] / found[who] if who in found else None for who in ("peer", "numpy")]
        text = "".join(f"{verdict(t, goal) if t else '':28}" for t, goal in zip(over, GOALS[name]))
        columns = "".join(f"{found[who]:{width}.2f}" if who in found else " " * width
                          for who, width in (("weft", 9), ("peer", 11), ("numpy", 9)))  # fmt: skip
        eigen = ""
        if "eigen" in found:
            eigen = f", {found['eigen']:.2f} by Eigen: {verdict(found['weft'] / found['eigen'], EIGEN_GOALS.get(name)).strip()}"
        print(f"{text}{name:24}{columns} {UNITS[name.replace(',', ' ').split()[0]]}{eigen}")


def show_first(first: dict[str, dict[str, dict[str, float]]]) -> None:
    if first:
        print("\nfirst launch of a process, empty cache: by the clock (of the processor)")
    for name, found in first.items():
        goal = FIRST_ADJOINT_GOAL if name == "adjoint" else FIRST_GOAL
        ours = found["weft"]
        met = "" if ours["wall"] <= goal else ", MISSED"  # other cores work on the full code meanwhile
        ratio = f"{found['peer']['wall'] / ours['wall']:6.1f} times sooner " if "peer" in found else ""
        shown = "   ".join(f"{who} {1e3 * f['wall']:8.1f} ({1e3 * f['processor']:.1f}) ms" for who, f in found.items())
        print(f"{ratio:22}(goal {1e3 * goal:.0f} ms{met})  {name:24}{shown}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="an interpreter with warp-lang")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--elapsed", action="store_true", help="by the clock, on all cores")
    parser.add_argument("--only", default="", help="rows that have this text in their name")
    parser.add_argument("--json", help="where to write the figures")
    parser.add_argument("--eigen", help="where Eigen/Dense lies")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--library", default="", help=argparse.SUPPRESS)
    parser.add_argument("--first", help=argparse.SUPPRESS)
    parser.add_argument("--full", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.first:
        print(json.dumps(measure_first(options.first, options.full)))
        return
    if options.measure:
        print(json.dumps(measure(options.elapsed, options.only, options.library)))
        return
    who = {"weft": sys.executable} | ({"peer": options.peer} if options.peer else {})
    best: dict[str, dict[str, float]] = {}
    first: dict[str, dict[str, dict[str, float]]] = {}
    load = os.getloadavg()[0]
    folder = tempfile.TemporaryDirectory()
    library = build_loops(options.eigen, folder.name) if options.eigen else ""
    for _ in range(options.rounds):
        for name, python in who.items():
            loops = ["--library", library] if library and name == "weft" else []
            for row, found in run(python, ["--measure", "--only", options.only, *loops], options.elapsed).items():
                mine = best.setdefault(row, {})
                mine[name] = max(mine.get(name, 0.0), found["warp"])
                for other in found.keys() & {"numpy", "eigen"}:
                    mine[other] = max(mine.get(other, 0.0), found[other])
        for kernel in (row for row in FIRST if options.only in row):
            for name, python in {"weft": sys.executable, "full": sys.executable, **who}.items():
                how_made = ["--full"] if name == "full" else []
                with tempfile.TemporaryDirectory() as folder:
                    found = run(python, ["--first", kernel, *how_made], options.elapsed, folder)
                mine = first.setdefault(kernel, {}).setdefault(name, found)
                first[kernel][name] = {key: min(mine[key], found[key]) for key in found}
    how = "all cores by the clock" if options.elapsed else "a core by processor time"
    print(f"{how}, {os.cpu_count()} cores, load {load:.1f} before and {os.getloadavg()[0]:.1f} after\n")
    show_speeds({name: best[name] for name in GOALS if name in best and "weft" in best[name]})
    show_first(first)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"load": load, "elapsed": options.elapsed, "speeds": best, "first": first}, file, indent=1)


if __name__ == "__main__":
    main()
