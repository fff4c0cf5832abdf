#!/usr/bin/env python3
"""Measures the README's comparison: the same tasks in NumPy, Numba, warp-lang, C++ and Weft.

  compare.py WHO                   measures here and prints a line of JSON; WHO is numpy, numba, c++, weft or warp: the
                                   last two are the package `warp` that this interpreter imports
  compare.py --table WHO=PYTHON…   runs each in its interpreter, several rounds in turn, and prints a table of the best

Everything runs on one core, and what counts is processor time, so that other work on the machine disturbs little. The
tasks: saxpy over 2^24 floats (GB/s), n-body with 1024 bodies (billion pairs per second), a Mandelbrot set of 512 x 384
points at 500 iterations (ms), a call on 16 elements (µs), and the time from the package's import to the first result of
a small kernel with cold caches (ms; NumPy itself is imported before).
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable

N = 1 << 24
BODIES = 1024
WIDTH, HEIGHT, LIMIT = 512, 384, 500


def best(run: Callable[[], object], batch: int = 1, seconds: float = 1.0) -> float:
    """The shortest of many runs, in seconds of processor time."""
    run()
    shortest, end = float("inf"), time.process_time() + seconds
    while time.process_time() < end:
        begin = time.process_time()
        for _ in range(batch):
            run()
        shortest = min(shortest, (time.process_time() - begin) / batch)
    return shortest


def report(saxpy: float, pairs: float, mandelbrot: float, call: float | None, first: float) -> dict[str, float | None]:
    """Seconds to the units of the table."""
    return {
        "saxpy": 12.0 * N / saxpy * 1e-9,
        "nbody": BODIES * BODIES / pairs * 1e-9,
        "mandelbrot": mandelbrot * 1e3,
        "call": None if call is None else call * 1e6,
        "first": first * 1e3,
    }


def bodies() -> tuple:
    import numpy as np

    rng = np.random.default_rng(1)
    return rng.random((BODIES, 3), dtype=np.float32), np.zeros((BODIES, 3), dtype=np.float32)


def measure_warp() -> dict:
    import numpy as np

    begin = time.process_time()
    import warp as wp

    wp.config.quiet = True
    wp.init()

    @wp.kernel(enable_backward=False, module="unique")
    def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = a * x[i] + y[i]

    small = wp.zeros(16, dtype=float)
    wp.launch(saxpy, dim=16, inputs=[2.0, small, small])
    first = time.process_time() - begin

    @wp.kernel(enable_backward=False, module="unique")
    def pull(p: wp.array(dtype=wp.vec3), a: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        total = wp.vec3(0.0, 0.0, 0.0)
        for j in range(p.shape[0]):
            d = p[j] - p[i]
            r2 = wp.dot(d, d) + 0.01
            total += d * (1.0 / (r2 * wp.sqrt(r2)))
        a[i] = total

    @wp.kernel(enable_backward=False, module="unique")
    def mandelbrot(out: wp.array2d(dtype=int)):
        row, column = wp.tid()
        cx = -2.0 + 3.0 * float(column) / float(WIDTH)
        cy = -1.125 + 2.25 * float(row) / float(HEIGHT)
        x = float(0.0)
        y = float(0.0)
        k = int(0)
        while k < LIMIT and x * x + y * y < 4.0:
            t = x * x - y * y + cx
            y = 2.0 * x * y + cy
            x = t
            k += 1
        out[row, column] = k

    x, y = wp.array(np.ones(N, np.float32), dtype=float), wp.zeros(N, dtype=float)
    p, a = bodies()
    p, a = wp.array(p, dtype=wp.vec3), wp.array(a, dtype=wp.vec3)
    out = wp.zeros((HEIGHT, WIDTH), dtype=int)
    return report(
        best(lambda: wp.launch(saxpy, dim=N, inputs=[2.0, x, y])),
        best(lambda: wp.launch(pull, dim=BODIES, inputs=[p, a])),
        best(lambda: wp.launch(mandelbrot, dim=(HEIGHT, WIDTH), inputs=[out])),
        best(lambda: wp.launch(saxpy, dim=16, inputs=[2.0, small, small]), batch=1000),
        first,
    )


def measure_numpy() -> dict:
    import numpy as np

    begin = time.process_time()
    small = np.zeros(16, np.float32)
    small += np.float32(2.0) * small
    first = time.process_time() - begin
    x, y = np.ones(N, np.float32), np.zeros(N, np.float32)
    p, _ = bodies()

    def saxpy(a: object, x: np.ndarray, y: np.ndarray) -> None:
        y += a * x

    def pull() -> np.ndarray:
        total = np.empty_like(p)
        for i in range(0, BODIES, 64):  # blocks that fit into a cache
            d = p[None, :, :] - p[i : i + 64, None, :]
            r2 = np.einsum("ijk,ijk->ij", d, d) + np.float32(0.01)
            total[i : i + 64] = np.einsum("ijk,ij->ik", d, 1.0 / (r2 * np.sqrt(r2)))
        return total

    def mandelbrot() -> np.ndarray:
        cx = (-2.0 + 3.0 * np.arange(WIDTH, dtype=np.float32) / WIDTH)[None, :]
        cy = (-1.125 + 2.25 * np.arange(HEIGHT, dtype=np.float32) / HEIGHT)[:, None]
        c = (cx + 1j * cy).astype(np.complex64).ravel()
        count = np.zeros(c.size, np.int32)
        z, live = c.copy(), np.arange(c.size)
        for _ in range(LIMIT):  # only the points that have not left yet
            stays = z.real**2 + z.imag**2 < 4.0
            live, z, c = live[stays], z[stays], c[stays]
            count[live] += 1
            z = z * z + c
        return count

    two = np.float32(2.0)
    times = [
        best(lambda: saxpy(two, x, y)),
        best(pull),
        best(mandelbrot),
        best(lambda: saxpy(two, small, small), batch=1000),
    ]
    return report(*times, first)


def measure_numba() -> dict:
    import numpy as np

    begin = time.process_time()
    import numba

    @numba.njit(parallel=True, fastmath={"contract"})
    def saxpy(a, x, y):
        for i in numba.prange(x.size):
            y[i] = a * x[i] + y[i]

    two, small = np.float32(2.0), np.zeros(16, np.float32)
    saxpy(two, small, small)
    first = time.process_time() - begin

    @numba.njit(parallel=True, fastmath={"contract"})
    def pull(p, a):
        for i in numba.prange(p.shape[0]):
            ax = ay = az = np.float32(0.0)
            for j in range(p.shape[0]):
                dx, dy, dz = p[j, 0] - p[i, 0], p[j, 1] - p[i, 1], p[j, 2] - p[i, 2]
                r2 = dx * dx + dy * dy + dz * dz + np.float32(0.01)
                w = np.float32(1.0) / (r2 * np.sqrt(r2))
                ax += dx * w
                ay += dy * w
                az += dz * w
            a[i, 0], a[i, 1], a[i, 2] = ax, ay, az

    @numba.njit(parallel=True, fastmath={"contract"})
    def mandelbrot(out):
        for row in numba.prange(HEIGHT):
            for column in range(WIDTH):
                cx = np.float32(-2.0 + 3.0 * column / WIDTH)
                cy = np.float32(-1.125 + 2.25 * row / HEIGHT)
                x = y = np.float32(0.0)
                k = 0
                while k < LIMIT and x * x + y * y < np.float32(4.0):
                    x, y = x * x - y * y + cx, np.float32(2.0) * x * y + cy
                    k += 1
                out[row, column] = k

    x, y = np.ones(N, np.float32), np.zeros(N, np.float32)
    p, a = bodies()
    out = np.zeros((HEIGHT, WIDTH), np.int32)
    times = [best(lambda: saxpy(two, x, y)), best(lambda: pull(p, a)), best(lambda: mandelbrot(out))]
    return report(*times, best(lambda: saxpy(two, small, small), batch=1000), first)


CPP = r"""
#include <time.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>
double now() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}
template <class F> double best(F run) {
  run();
  double shortest = 1e9;
  for (double end = now() + 1.0; now() < end;) {
    double begin = now();
    run();
    shortest = std::min(shortest, now() - begin);
  }
  return shortest;
}
int main() {
  std::vector<float> x(N, 1.0f), y(N, 0.0f), p(3 * BODIES), a(3 * BODIES);
  std::vector<int> out(WIDTH * HEIGHT);
  unsigned s = 1;
  for (float& v : p) v = float((s = s * 1664525u + 1013904223u) >> 8) / 16777216.0f;
  double saxpy = best([&] {
#pragma omp parallel for
    for (long i = 0; i < N; ++i) y[i] = 2.0f * x[i] + y[i];
  });
  double pull = best([&] {
#pragma omp parallel for
    for (int i = 0; i < BODIES; ++i) {
      float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
      for (int j = 0; j < BODIES; ++j) {
        float dx = p[3 * j] - p[3 * i], dy = p[3 * j + 1] - p[3 * i + 1], dz = p[3 * j + 2] - p[3 * i + 2];
        float r2 = dx * dx + dy * dy + dz * dz + 0.01f, w = 1.0f / (r2 * std::sqrt(r2));
        ax += dx * w, ay += dy * w, az += dz * w;
      }
      a[3 * i] = ax, a[3 * i + 1] = ay, a[3 * i + 2] = az;
    }
  });
  double mandelbrot = best([&] {
#pragma omp parallel for schedule(dynamic, 8)
    for (int row = 0; row < HEIGHT; ++row)
      for (int column = 0; column < WIDTH; ++column) {
        float cx = -2.0f + 3.0f * float(column) / WIDTH, cy = -1.125f + 2.25f * float(row) / HEIGHT, x = 0, y = 0;
        int k = 0;
        for (; k < LIMIT && x * x + y * y < 4.0f; ++k) {
          float t = x * x - y * y + cx;
          y = 2.0f * x * y + cy, x = t;
        }
        out[row * WIDTH + column] = k;
      }
  });
  std::printf("%.9g %.9g %.9g %d\n", saxpy, pull, mandelbrot, out[WIDTH] + int(y[5]) + int(a[7]));
}
"""


def measure_cpp() -> dict:
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "compare.cpp")
        source.write_text(CPP)
        sizes = [
            f"-D{k}={v}"
            for k, v in {"N": N, "BODIES": BODIES, "WIDTH": WIDTH, "HEIGHT": HEIGHT, "LIMIT": LIMIT}.items()
        ]
        compiler = os.environ.get("CXX", "clang++-19")
        flags = ["-std=c++20", "-O3", "-march=native", "-fopenmp", "-fno-math-errno"]
        subprocess.run([compiler, *flags, *sizes, str(source), "-o", f"{folder}/compare"], check=True)
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        first = spent.ru_utime + spent.ru_stime
        words = subprocess.run([f"{folder}/compare"], check=True, capture_output=True, text=True).stdout.split()
    saxpy, pull, mandelbrot = map(float, words[:3])
    return report(saxpy, pull, mandelbrot, None, first)


MEASURES = {
    "numpy": measure_numpy,
    "numba": measure_numba,
    "warp": measure_warp,
    "weft": measure_warp,
    "c++": measure_cpp,
}
ROWS = {
    "saxpy": ("saxpy, 2^24 floats, GB/s", max, "{:.1f}"),
    "nbody": ("n-body, billion pairs/s", max, "{:.2f}"),
    "mandelbrot": ("Mandelbrot set, ms", min, "{:.0f}"),
    "call": ("a call on 16 elements, µs", min, "{:.2f}"),
    "first": ("import and first result, cold, ms", min, "{:.0f}"),
}


def table(given: list[str], rounds: int) -> None:
    """Rounds in turn, so that a busy minute hits all alike; of each figure the best."""
    people = dict(word.split("=", 1) for word in given)
    results: dict[str, list[dict]] = {who: [] for who in people}
    for _ in range(rounds):
        for who, python in people.items():
            with tempfile.TemporaryDirectory() as cache:
                environment = {**os.environ, "WARP_CACHE_PATH": cache, "NUMBA_CACHE_DIR": cache}
                environment.pop("PYTHONDONTWRITEBYTECODE", None)  # compiled modules are not what is cold
                done = subprocess.run(
                    [python, __file__, who], env=environment, capture_output=True, text=True, check=True
                )
                results[who].append(json.loads(done.stdout.splitlines()[-1]))
    print("| |" + "|".join(f" {who} " for who in people) + "|")
    print("|---|" + "---|" * len(people))
    for key, (title, choose, form) in ROWS.items():
        cells = []
        for who in people:
            values = [result[key] for result in results[who] if result[key] is not None]
            cells.append(f" {form.format(choose(values))} " if values else " – ")
        print(f"| {title} |" + "|".join(cells) + "|")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("who", nargs="+")
    args = parser.parse_args()
    if args.table:
        table(args.who, args.rounds)
    else:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[name] = "1"
        print(json.dumps(MEASURES[args.who[0]]()))


if __name__ == "__main__":
    main()
