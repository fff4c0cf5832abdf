#!/usr/bin/env python3
"""Eight kernels on Weft beside PyPI's warp-lang, Numba, Dr.Jit and C++ by hand, in one run.

    peers.py [--peer PYTHON] [--numba PYTHON] [--drjit PYTHON] [--cxx COMPILER] [--rounds N] [--json FILE]

This interpreter must import Weft's `warp`; PEER's has warp-lang, NUMBA's Numba, DRJIT's Dr.Jit (PyPI's `drjit`, which needs
LLVM's shared library). Each measures the same work on the same data, in processes of its own that take turns (this file with
--measure), on all cores that it wants. The loops by hand (bench/hand/eight.cpp) are compiled by clang++ with OpenMP, or by what --cxx
names. Lines begin with the ratios: how many times the other's speed. All compute in float32;
nobody with fast math. Results are compared with Weft's. The forces of springs are added up where threads meet: by atomic additions,
which Numba has not on CPUs, so that its loop runs on one core. Their gradient is a matter of Weft and warp-lang. What moves memory is
compared with the machine's copy rate as well: as many bytes copied by the C library, a part by each core.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np
import others

WIDTH, TURNS = 1024, 256  # of the Mandelbrot set
SUM, OPTIONS, BODIES, SAXPY = 2**24, 2**22, 4096, 2**24
POINTS, SPRINGS, STIFF, MATRICES = 2**16, 3 * 2**16, 50.0, 2**18
RATE, VOLATILITY, SOFT = 0.02, 0.3, 1.0e-3
ROWS = {  # row: work of one call, what it is counted in
    "Mandelbrot, 256 turns": (WIDTH * WIDTH / 1e6, "M pixels/s"),
    "sum": (SUM / 1e6, "M/s"),
    "Black-Scholes": (OPTIONS / 1e6, "M options/s"),
    "n-body": (BODIES * BODIES / 1e6, "M pairs/s"),
    "saxpy": (12 * SAXPY / 1e9, "GB/s"),
    "springs": (SPRINGS / 1e6, "M/s"),
    "springs backwards": (SPRINGS / 1e6, "M/s"),
    "products of 4x4": (192 * MATRICES / 1e9, "GB/s"),
}
GOALS = {  # what is wanted of two cores of a Neoverse V1 (NEON); other machines have no such figures
    "Mandelbrot, 256 turns": 41.0,
    "sum": 15000.0,
    "Black-Scholes": 260.0,
    "n-body": 1250.0,
    "springs": 300.0,
    "springs backwards": 250.0,
}
COPY_SHARE = 0.9  # of the machine's copy rate that is wanted of what moves memory: less than that apart, two figures are one
WINDOW = 0.3  # seconds that a figure is looked for, at least


def data() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    draw = lambda low, high, *shape: rng.uniform(low, high, shape).astype(np.float32)  # noqa: E731
    points = np.repeat(np.arange(POINTS), 3)  # where springs begin: three at each point, to its neighbours
    return {
        "x": draw(0.0, 1.0, SUM),
        "s": draw(10.0, 100.0, OPTIONS),
        "k": draw(10.0, 100.0, OPTIONS),
        "t": draw(0.1, 2.0, OPTIONS),
        "p": draw(-1.0, 1.0, BODIES, 3),
        "q": draw(-1.0, 1.0, POINTS, 3),
        "ends": np.stack([points, (points + np.tile([1, 256, 257], POINTS)) % POINTS], axis=1).astype(np.int32),
        "rest": draw(0.5, 1.0, SPRINGS),
        "m": draw(-1.0, 1.0, MATRICES, 4, 4),
        "n": draw(-1.0, 1.0, MATRICES, 4, 4),
    }


def warp_rows(given: dict[str, np.ndarray]) -> dict:
    """The rows of Weft and warp-lang: row → (what to call, what it made)."""
    import warp as wp

    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    width, turns, soft, rate, volatility, stiff = WIDTH, TURNS, SOFT, RATE, VOLATILITY, STIFF

    @wp.kernel(enable_backward=False)
    def mandelbrot(image: wp.array(dtype=float)):
        i = wp.tid()
        cx = -2.0 + 3.0 * float(i % width) / float(width)
        cy = -1.5 + 3.0 * float(i // width) / float(width)
        x = float(0.0)
        y = float(0.0)
        n = int(0)
        while n < turns and x * x + y * y < 4.0:
            t = x * x - y * y + cx
            y = 2.0 * x * y + cy
            x = t
            n += 1
        image[i] = float(n)

    @wp.kernel(enable_backward=False)
    def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        wp.atomic_add(out, 0, x[wp.tid()])

    @wp.func
    def normal_cdf(x: float):
        k = 1.0 / (1.0 + 0.2316419 * wp.abs(x))
        p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        w = 1.0 - 0.39894228 * wp.exp(-0.5 * x * x) * p
        return wp.where(x < 0.0, 1.0 - w, w)

    @wp.kernel(enable_backward=False)
    def options(s: wp.array(dtype=float), k: wp.array(dtype=float), t: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        root = wp.sqrt(t[i])
        d1 = (wp.log(s[i] / k[i]) + (rate + 0.5 * volatility * volatility) * t[i]) / (volatility * root)
        d2 = d1 - volatility * root
        out[i] = s[i] * normal_cdf(d1) - k[i] * wp.exp(-rate * t[i]) * normal_cdf(d2)

    @wp.kernel(enable_backward=False)
    def bodies(x: wp.array(dtype=wp.vec3), a: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        here = x[i]
        sum = wp.vec3(0.0)
        for j in range(x.shape[0]):
            d = x[j] - here
            r = wp.dot(d, d) + soft
            sum += d * (1.0 / (r * wp.sqrt(r)))
        a[i] = sum

    @wp.kernel(enable_backward=False)
    def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = a * x[i] + y[i]

    @wp.kernel
    def springs(
        q: wp.array(dtype=wp.vec3), ends: wp.array(dtype=wp.vec2i), rest: wp.array(dtype=float), f: wp.array(dtype=wp.vec3)
    ):
        i = wp.tid()
        e = ends[i]
        d = q[e[1]] - q[e[0]]
        length = wp.length(d)
        pull = (d / length) * (stiff * (length - rest[i]))
        wp.atomic_add(f, e[0], pull)
        wp.atomic_sub(f, e[1], pull)

    @wp.kernel(enable_backward=False)
    def products(m: wp.array(dtype=wp.mat44), n: wp.array(dtype=wp.mat44), out: wp.array(dtype=wp.mat44)):
        i = wp.tid()
        out[i] = m[i] * n[i]

    place = "cpu"
    x, s, k, t = (wp.array(given[name], dtype=float, device=place) for name in "xskt")
    p = wp.array(given["p"], dtype=wp.vec3, device=place)
    image, one, prices = (wp.zeros(n, dtype=float, device=place) for n in (WIDTH * WIDTH, 1, OPTIONS))
    a, y = wp.zeros(BODIES, dtype=wp.vec3, device=place), wp.zeros(SAXPY, dtype=float, device=place)

    def sum_up():
        one.zero_()
        wp.launch(total, dim=SUM, inputs=[x, one], device=place)

    def start(kernel, dim, *arguments):
        return lambda: wp.launch(kernel, dim=dim, inputs=list(arguments), device=place)

    q, f, grads = (wp.array(given["q"] * scale, dtype=wp.vec3, device=place) for scale in (1, 0, 0))
    ends, rest = wp.array(given["ends"], dtype=wp.vec2i, device=place), wp.array(given["rest"], dtype=float, device=place)
    weights = wp.array(given["q"], dtype=wp.vec3, device=place)
    m, n = (wp.array(given[name], dtype=wp.mat44, device=place) for name in "mn")
    out = wp.zeros(MATRICES, dtype=wp.mat44, device=place)

    def pull():
        f.zero_()
        wp.launch(springs, dim=SPRINGS, inputs=[q, ends, rest, f], device=place)

    def pull_back():
        grads.zero_()
        wp.launch(springs, dim=SPRINGS, inputs=[q, ends, rest, f], adj_inputs=[grads, None, None, weights], adjoint=True, device=place)

    return {
        "Mandelbrot, 256 turns": (start(mandelbrot, WIDTH * WIDTH, image), image.numpy),
        "sum": (sum_up, one.numpy),
        "Black-Scholes": (start(options, OPTIONS, s, k, t, prices), prices.numpy),
        "n-body": (start(bodies, BODIES, p, a), a.numpy),
        "saxpy": (start(saxpy, SAXPY, 2.0, x, y), None),
        "springs": (pull, f.numpy),
        "springs backwards": (pull_back, grads.numpy),
        "products of 4x4": (start(products, MATRICES, m, n, out), out.numpy),
    }


def numba_rows(given: dict[str, np.ndarray]) -> dict:
    """The same by Numba: parallel loops over NumPy arrays."""
    import math

    import numba

    f = np.float32
    jit = numba.njit(parallel=True, fastmath=False)
    soft, rate, volatility, stiff, width, turns = f(SOFT), f(RATE), f(VOLATILITY), f(STIFF), WIDTH, TURNS
    drift = f(RATE + 0.5 * VOLATILITY * VOLATILITY)

    @jit
    def mandelbrot(image):
        for i in numba.prange(image.shape[0]):
            cx = f(-2.0) + f(3.0) * f(i % width) / f(width)
            cy = f(-1.5) + f(3.0) * f(i // width) / f(width)
            x, y, n = f(0.0), f(0.0), 0
            while n < turns and x * x + y * y < f(4.0):
                x, y = x * x - y * y + cx, f(2.0) * x * y + cy
                n += 1
            image[i] = f(n)

    @jit
    def total(x, out):
        s = f(0.0)
        for i in numba.prange(x.shape[0]):
            s += x[i]
        out[0] = s

    @numba.njit
    def normal_cdf(x):
        k = f(1.0) / (f(1.0) + f(0.2316419) * abs(x))
        p = f(1.781477937) + k * (f(-1.821255978) + k * f(1.330274429))
        p = k * (f(0.31938153) + k * (f(-0.356563782) + k * p))
        w = f(1.0) - f(0.39894228) * math.exp(f(-0.5) * x * x) * p
        return f(1.0) - w if x < f(0.0) else w

    @jit
    def options(s, k, t, out):
        for i in numba.prange(s.shape[0]):
            root = math.sqrt(t[i])
            d1 = (math.log(s[i] / k[i]) + drift * t[i]) / (volatility * root)
            d2 = d1 - volatility * root
            out[i] = s[i] * normal_cdf(d1) - k[i] * math.exp(-rate * t[i]) * normal_cdf(d2)

    @jit
    def bodies(p, a):
        for i in numba.prange(p.shape[0]):
            ax, ay, az = f(0.0), f(0.0), f(0.0)
            for j in range(p.shape[0]):
                dx, dy, dz = p[j, 0] - p[i, 0], p[j, 1] - p[i, 1], p[j, 2] - p[i, 2]
                r = dx * dx + dy * dy + dz * dz + soft
                w = f(1.0) / (r * math.sqrt(r))
                ax, ay, az = ax + dx * w, ay + dy * w, az + dz * w
            a[i, 0], a[i, 1], a[i, 2] = ax, ay, az

    @jit
    def saxpy(a, x, y):
        for i in numba.prange(x.shape[0]):
            y[i] = a * x[i] + y[i]

    @numba.njit
    def springs(q, ends, rest, out):
        out[:] = f(0.0)
        for i in range(ends.shape[0]):
            a, b = ends[i, 0], ends[i, 1]
            dx, dy, dz = q[b, 0] - q[a, 0], q[b, 1] - q[a, 1], q[b, 2] - q[a, 2]
            length = math.sqrt(dx * dx + dy * dy + dz * dz)
            pull = stiff * (length - rest[i])
            px, py, pz = dx / length * pull, dy / length * pull, dz / length * pull
            out[a, 0] += px
            out[a, 1] += py
            out[a, 2] += pz
            out[b, 0] -= px
            out[b, 1] -= py
            out[b, 2] -= pz

    @jit
    def products(m, n, out):
        for i in numba.prange(m.shape[0]):
            for r in range(4):
                for c in range(4):
                    v = f(0.0)
                    for j in range(4):
                        v += m[i, r, j] * n[i, j, c]
                    out[i, r, c] = v

    image, one, prices = (np.zeros(n, dtype=f) for n in (WIDTH * WIDTH, 1, OPTIONS))
    a, y = np.zeros((BODIES, 3), dtype=f), np.zeros(SAXPY, dtype=f)
    forces, out = np.zeros((POINTS, 3), dtype=f), np.zeros((MATRICES, 4, 4), dtype=f)
    return {
        "Mandelbrot, 256 turns": (lambda: mandelbrot(image), lambda: image),
        "sum": (lambda: total(given["x"], one), lambda: one),
        "Black-Scholes": (lambda: options(given["s"], given["k"], given["t"], prices), lambda: prices),
        "n-body": (lambda: bodies(given["p"], a), lambda: a),
        "saxpy": (lambda: saxpy(f(2.0), given["x"], y), None),
        "springs": (lambda: springs(given["q"], given["ends"], given["rest"], forces), lambda: forces),
        "products of 4x4": (lambda: products(given["m"], given["n"], out), lambda: out),
    }


def drjit_rows(given: dict[str, np.ndarray]) -> dict:
    """The same by Dr.Jit's LLVM back end: traced arrays, and symbolic loops."""
    import drjit as dr
    from drjit.llvm import Array3f, Float, Matrix4f, UInt32

    made: dict[str, object] = {}
    x, s, k, t = (Float(given[name]) for name in "xskt")
    flat = Float(np.ascontiguousarray(given["p"]).ravel())
    state = {"y": dr.zeros(Float, SAXPY)}
    points, rest, m, n = (Float(np.ascontiguousarray(given[name]).ravel()) for name in ("q", "rest", "m", "n"))
    begin, last = (UInt32(np.ascontiguousarray(given["ends"][:, k]).astype(np.uint32)) for k in (0, 1))
    dr.eval(x, s, k, t, flat, state["y"], points, rest, m, n, begin, last)
    dr.sync_thread()

    def keep(row, *values):
        dr.eval(*values)
        dr.sync_thread()
        made[row] = values

    def mandelbrot():
        i = dr.arange(UInt32, WIDTH * WIDTH)
        cx = Float(-2.0) + 3.0 * Float(i % WIDTH) / WIDTH
        cy = Float(-1.5) + 3.0 * Float(i // WIDTH) / WIDTH

        def turn(x, y, n):
            return x * x - y * y + cx, 2.0 * x * y + cy, n + 1

        start = (dr.zeros(Float, WIDTH * WIDTH), dr.zeros(Float, WIDTH * WIDTH), dr.zeros(UInt32, WIDTH * WIDTH))
        _, _, n = dr.while_loop(start, lambda x, y, n: (n < TURNS) & (x * x + y * y < 4.0), turn)
        keep("Mandelbrot, 256 turns", Float(n))

    def normal_cdf(x):
        k = 1.0 / (1.0 + 0.2316419 * dr.abs(x))
        p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        w = 1.0 - 0.39894228 * dr.exp(-0.5 * x * x) * p
        return dr.select(x < 0.0, 1.0 - w, w)

    def options():
        root = dr.sqrt(t)
        d1 = (dr.log(s / k) + (RATE + 0.5 * VOLATILITY * VOLATILITY) * t) / (VOLATILITY * root)
        d2 = d1 - VOLATILITY * root
        keep("Black-Scholes", s * normal_cdf(d1) - k * dr.exp(-RATE * t) * normal_cdf(d2))

    def bodies():
        here = dr.gather(Array3f, flat, dr.arange(UInt32, BODIES))

        def turn(j, a):
            d = dr.gather(Array3f, flat, j) - here
            r = dr.dot(d, d) + SOFT
            return j + 1, a + d * (1.0 / (r * dr.sqrt(r)))

        _, a = dr.while_loop((UInt32(0), dr.zeros(Array3f, BODIES)), lambda j, a: j < BODIES, turn)
        keep("n-body", a)

    def saxpy():
        state["y"] = 2.0 * x + state["y"]
        keep("saxpy", state["y"])

    def springs():
        f = dr.zeros(Float, 3 * POINTS)
        d = dr.gather(Array3f, points, last) - dr.gather(Array3f, points, begin)
        length = dr.norm(d)
        pull = d / length * (STIFF * (length - rest))
        dr.scatter_add(f, pull, begin)
        dr.scatter_add(f, -pull, last)
        keep("springs", f)

    def products():
        i = dr.arange(UInt32, MATRICES)
        out = dr.empty(Float, 16 * MATRICES)
        product = dr.gather(Matrix4f, m, i) @ dr.gather(Matrix4f, n, i)
        dr.scatter(out, product, i)
        keep("products of 4x4", out)

    def found(row):
        value = np.array(made[row][0])
        return value.T if row == "n-body" else value

    calls = {
        "Mandelbrot, 256 turns": mandelbrot,
        "sum": lambda: keep("sum", dr.sum(x)),
        "Black-Scholes": options,
        "n-body": bodies,
        "saxpy": saxpy,
        "springs": springs,
        "products of 4x4": products,
    }
    return {row: (call, None if row == "saxpy" else lambda row=row: found(row)) for row, call in calls.items()}


def hand_rows(given: dict[str, np.ndarray]) -> dict:
    """The same by loops in C++, compiled now."""
    import ctypes
    import tempfile

    here = os.path.dirname(os.path.abspath(__file__))
    source = os.path.join(here, os.pardir, "hand", "eight.cpp")
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "eight.so")
        flags = ["-std=c++20", "-O3", "-march=native", "-fno-math-errno", "-fopenmp", "-shared", "-fPIC"]
        subprocess.run([os.environ["BENCH_CXX"], *flags, source, "-o", library], check=True)
        loops = ctypes.CDLL(library)
    size, number, memory = ctypes.c_int64, ctypes.c_float, ctypes.c_void_p
    loops.eight_mandelbrot.argtypes = (size, ctypes.c_int, memory)
    loops.eight_sum.argtypes, loops.eight_sum.restype = (size, memory), number
    loops.eight_options.argtypes = (size, number, number, memory, memory, memory, memory)
    loops.eight_bodies.argtypes = (size, number, memory, memory)
    loops.eight_saxpy.argtypes = (size, number, memory, memory)
    loops.eight_springs.argtypes = (size, size, number, memory, memory, memory, memory)
    loops.eight_products.argtypes = (size, memory, memory, memory)
    q, ends, rest, m, n = (np.ascontiguousarray(given[name]) for name in ("q", "ends", "rest", "m", "n"))
    forces, out = np.zeros((POINTS, 3), dtype=np.float32), np.zeros((MATRICES, 4, 4), dtype=np.float32)
    x, s, k, t, p = (np.ascontiguousarray(given[name]) for name in "xsktp")
    image, prices = np.zeros(WIDTH * WIDTH, dtype=np.float32), np.zeros(OPTIONS, dtype=np.float32)
    a, y, sums = np.zeros((BODIES, 3), dtype=np.float32), np.zeros(SAXPY, dtype=np.float32), [0.0]

    def sum_up():
        sums[0] = loops.eight_sum(SUM, x.ctypes.data)

    def options():
        loops.eight_options(OPTIONS, RATE, VOLATILITY, *(one.ctypes.data for one in (s, k, t, prices)))

    def springs():
        loops.eight_springs(SPRINGS, POINTS, STIFF, *(one.ctypes.data for one in (q, ends, rest, forces)))

    return {
        "Mandelbrot, 256 turns": (lambda: loops.eight_mandelbrot(WIDTH, TURNS, image.ctypes.data), lambda: image),
        "sum": (sum_up, lambda: sums),
        "Black-Scholes": (options, lambda: prices),
        "n-body": (lambda: loops.eight_bodies(BODIES, SOFT, p.ctypes.data, a.ctypes.data), lambda: a),
        "saxpy": (lambda: loops.eight_saxpy(SAXPY, 2.0, x.ctypes.data, y.ctypes.data), None),
        "springs": (springs, lambda: forces),
        "products of 4x4": (lambda: loops.eight_products(MATRICES, *(one.ctypes.data for one in (m, n, out))), lambda: out),
    }


def copy_rows(given: dict[str, np.ndarray]) -> dict:
    """As many bytes as these rows move, copied by memmove on all cores: in turns a core's part as a whole, which goes past the caches,
    and by pieces that fit them. The faster counts."""
    import ctypes
    import itertools
    from concurrent.futures import ThreadPoolExecutor

    cores = len(os.sched_getaffinity(0))
    pool = ThreadPoolExecutor(cores)

    def copying(moved: int):
        part = moved // 2 // cores // 64 * 64
        source, target = np.empty(part * cores, dtype=np.uint8), np.empty(part * cores, dtype=np.uint8)
        places = [(target.ctypes.data + at, source.ctypes.data + at) for at in range(0, part * cores, part)]
        list(pool.map(lambda place: ctypes.memset(place[1], 1, part), places))  # memory near the core that reads it
        sizes = itertools.cycle((part, 1 << 16))

        def copy():
            steps = [(at, min(size, part - at)) for size in [next(sizes)] for at in range(0, part, size)]
            list(pool.map(lambda place: [ctypes.memmove(place[0] + at, place[1] + at, size) for at, size in steps], places))
            return source, target  # which live as long as this

        return copy

    return {"saxpy": (copying(12 * SAXPY), None), "products of 4x4": (copying(192 * MATRICES), None)}


MAKERS = {"warp": warp_rows, "numba": numba_rows, "drjit": drjit_rows, "hand": hand_rows, "copy": copy_rows}


def fastest(call) -> float:
    call(), call(), call()  # compiled, and tuned
    best, end = float("inf"), time.perf_counter() + WINDOW
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def measure(package: str) -> dict[str, list]:
    """By row: work a second, and the sum of what was made, to be compared, if there is something."""
    out = {}
    for row, (call, made) in MAKERS[package](data()).items():
        seconds = fastest(call)
        check = float(np.abs(np.asarray(made(), dtype=np.float64)).sum()) if made else None
        out[row] = [ROWS[row][0] / seconds, check]
    return out


def compiler() -> str | None:
    """A clang that can compile a loop with OpenMP."""
    for name in ("clang++-19", "clang++"):
        command = [name, "-fopenmp", "-shared", "-fPIC", "-x", "c++", "-", "-o", os.devnull]
        try:
            if subprocess.run(command, input="", capture_output=True, text=True, check=False).returncode == 0:
                return name
        except OSError:
            continue
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", default=os.environ.get("PEER_PYTHON"), help="an interpreter with warp-lang")
    parser.add_argument("--numba", default=os.environ.get("NUMBA_PYTHON"), help="one with Numba")
    parser.add_argument("--drjit", default=os.environ.get("DRJIT_PYTHON"), help="one with Dr.Jit")
    parser.add_argument("--cxx", help="a C++ compiler with OpenMP (default: clang++, where there is one)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="where to write the figures")
    parser.add_argument("--measure", choices=MAKERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    who = {"Weft": (sys.executable, "warp")}
    for name, python, package in (
        ("warp-lang", options.peer, "warp"),
        ("Numba", options.numba, "numba"),
        ("Dr.Jit", options.drjit, "drjit"),
    ):
        if python:
            who[name] = (python, package)
    cxx = options.cxx or compiler()
    if cxx:
        os.environ["BENCH_CXX"] = cxx
        who["clang C++" if "clang" in cxx else "C++"] = (sys.executable, "hand")
    who["copy"] = (sys.executable, "copy")
    best: dict[str, dict[str, float]] = {row: {} for row in ROWS}
    guard = others.Peers()
    for _ in range(options.rounds):
        checks: dict[str, float] = {}
        for name, (python, package) in who.items():
            command = (os.path.abspath(__file__), "--measure", package)
            if name == "Weft":
                found = others.run(python, *command)
            else:
                found = guard.take(name, lambda p=python, c=command, h=package: others.run(p, *c, is_peer=h in ("warp", "numba", "drjit"))) or {}
            for row, (speed, check) in found.items():
                best[row][name] = max(best[row].get(name, 0.0), speed)
                if check is None:
                    continue
                expected = checks.setdefault(row, check)
                if abs(check - expected) > 2e-3 * abs(expected):
                    raise SystemExit(f"{row}: {name} computes {check}, Weft {expected}")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; × the other's speed, then figures")
    for row, (_, unit) in ROWS.items():
        ours = best[row]["Weft"]
        ratios = "  ".join(f"{name} {ours / speed:6.2f} x" for name, speed in best[row].items() if name != "Weft")
        print(f"{ratios}{'  ' if ratios else ''}{row:22} " + "  ".join(f"{n} {v:8.1f}" for n, v in best[row].items()), unit)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"speeds": best, "failed": guard.failed}, file, indent=1)


if __name__ == "__main__":
    main()
