"""Speed on a CUDA device: launches, graphs, first compiles, and kernels bound by memory, atomics and arithmetic.

    python bench/python/gpu.py [--json FILE] [name …]

Each line says what was measured and how; host times are medians of several rounds, device times come from events.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Callable

import numpy as np
import warp as wp
from springs import spring_forces


@wp.kernel
def empty():
    pass


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def matrix_product(a: wp.array(dtype=wp.mat44), b: wp.array(dtype=wp.mat44), c: wp.array(dtype=wp.mat44)):
    i = wp.tid()
    c[i] = a[i] * b[i]


@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()])


@wp.func
def normal(x: float):
    return 0.5 * (1.0 + wp.erf(x * 0.70710678))


@wp.kernel
def black_scholes(
    spot: wp.array(dtype=float),
    strike: wp.array(dtype=float),
    years: wp.array(dtype=float),
    call: wp.array(dtype=float),
    put: wp.array(dtype=float),
):
    i = wp.tid()
    s, k, t = spot[i], strike[i], years[i]
    root = wp.sqrt(t)
    d1 = (wp.log(s / k) + (0.02 + 0.045) * t) / (0.3 * root)
    d2 = d1 - 0.3 * root
    discounted = k * wp.exp(-0.02 * t)
    c = s * normal(d1) - discounted * normal(d2)
    call[i] = c
    put[i] = c + discounted - s


@wp.kernel
def gravity(x: wp.array(dtype=wp.vec4), a: wp.array(dtype=wp.vec3), n: int):
    i = wp.tid()
    p = x[i]
    sum = wp.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        q = x[j]
        d = wp.vec3(q[0] - p[0], q[1] - p[1], q[2] - p[2])
        r = wp.dot(d, d) + 1.0e-3
        inv = 1.0 / wp.sqrt(r)
        sum = sum + d * (q[3] * inv * inv * inv)
    a[i] = sum


gravity_fast = wp.Kernel(gravity.func, key="gravity_fast", options={"fast_math": True})


def host_time(run: Callable[[], None], count: int, rounds: int = 7) -> float:
    """Microseconds of host time per call; the device's queue is never full."""
    times = []
    for _ in range(rounds):
        wp.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            run()
        times.append((time.perf_counter() - start) / count * 1e6)
    wp.synchronize()
    return min(times)


def device_time(run: Callable[[], None], count: int = 10) -> float:
    """Seconds on the device per call: the median of several, each of a few in a row, measured by events."""
    run()
    times, row = [], 4
    for _ in range(count):
        start, end = wp.Event(enable_timing=True), wp.Event(enable_timing=True)
        wp.record_event(start)
        for _ in range(row):
            run()
        wp.record_event(end)
        times.append(wp.get_event_elapsed_time(start, end) * 1e-3 / row)
    return statistics.median(times)


EMPTY = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry empty(.param .align 8 .b8 p[56]) { ret; }
"""


def raw_launch() -> Callable[[int], float] | None:
    """Host seconds of so many bare calls of the driver, in a loop of C; None without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        return None
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cuda", "raw_launch.c")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/raw_launch.so"
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", path, source], check=True)
        loop = ctypes.CDLL(path).seconds_of_launches
    driver = ctypes.CDLL("libcuda.so.1")
    module, function, block = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.create_string_buffer(56)
    for code in (
        driver.cuModuleLoadData(ctypes.byref(module), EMPTY),
        driver.cuModuleGetFunction(ctypes.byref(function), module, b"empty"),
    ):
        if code:
            raise RuntimeError(f"the driver gave error {code}")
    loop.restype = ctypes.c_double
    stream = ctypes.c_void_p(wp.get_stream().cuda_stream)
    return lambda count: loop(driver.cuLaunchKernel, function, stream, block, ctypes.c_size_t(56), count)


def launches() -> dict[str, str]:
    wp.launch(empty, dim=1)
    recorded = wp.launch(empty, dim=1, record_cmd=True)
    loops = {"launch": lambda: wp.launch(empty, dim=1), "recorded": recorded.launch}
    raw, least = raw_launch(), dict.fromkeys(("launch", "recorded", "raw"), float("inf"))
    # In turns: the driver's own time changes from one moment to the next.
    for _ in range(40):
        for name, run in loops.items():
            least[name] = min(least[name], host_time(run, 200, 1))
        wp.synchronize()
        if raw:
            least["raw"] = min(least["raw"], raw(200) / 200 * 1e6)
    plain, again, raw_time = least["launch"], least["recorded"], least["raw"]
    x, y = wp.zeros(1), wp.zeros(1)
    arrays = host_time(lambda: wp.launch(saxpy, dim=1, inputs=[1.0, x, y]), 500)
    with wp.ScopedCapture() as capture:
        for _ in range(1000):
            wp.launch(empty, dim=1)
    wp.capture_launch(capture.graph)
    graph = device_time(lambda: wp.capture_launch(capture.graph)) * 1e6
    return {
        "launch, empty kernel, host": f"{plain:.2f} us",
        "launch, two arrays, host": f"{arrays:.2f} us",
        "recorded launch, host": f"{again:.2f} us",
        "raw cuLaunchKernel, host": f"{raw_time:.2f} us; {plain / raw_time:.2f} times, recorded {again / raw_time:.2f}",
        "graph of 1000 empty launches": f"{graph:.0f} us",
    }


COLD = """
import time
import warp as wp
{kernels}
wp.config.kernel_cache_dir = {folder!r}
x = wp.zeros(4, device="cuda")
wp.synchronize()
wp.launch(first, dim=4, inputs=[x], device="cuda")
wp.synchronize()
start = time.perf_counter()
for k in kernels:
    wp.launch(k, dim=4, inputs=[x], device="cuda")
wp.synchronize()
print("seconds", time.perf_counter() - start)
"""


def cold() -> dict[str, str]:
    found = {}
    for count, name in ((1, "first launch of a trivial kernel, cold"), (50, "50 kernels, cold")):
        kernels = "".join(
            f"\n@wp.kernel\ndef {n}(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = x[i] * {k}.5 + 1.0\n"
            for k, n in enumerate(["first", *(f"k{k}" for k in range(count))])
        )
        kernels += "\nkernels = [" + ", ".join(f"k{k}" for k in range(count)) + "]\n"
        for state in ("", ", from the cache"):
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/cold.py"
                with open(path, "w") as file:
                    file.write(COLD.format(kernels=kernels, folder=folder + "/cache"))
                for _ in range(2 if state else 1):
                    out = subprocess.run([sys.executable, path], capture_output=True, text=True)
                if out.returncode:
                    raise RuntimeError(out.stderr)
                found[name + state] = f"{float(out.stdout.split()[-1]) * 1e3:.1f} ms"
    return found


def memory() -> dict[str, str]:
    n = 1 << 27
    x, y = wp.full(n, 1.0), wp.full(n, 2.0)
    t = device_time(lambda: wp.launch(saxpy, dim=n, inputs=[2.0, x, y]))
    m = 1 << 22
    a, b, c = (wp.full(m, wp.mat44(*range(16)), dtype=wp.mat44) for _ in range(3))
    u = device_time(lambda: wp.launch(matrix_product, dim=m, inputs=[a, b, c]))
    v = device_time(lambda: wp.copy(x, y))
    return {
        "saxpy 2^27": f"{12 * n / t * 1e-9:.0f} GB/s",
        "mat44 * mat44, 4 M": f"{192 * m / u * 1e-9:.0f} GB/s",
        "copy 2^27 floats": f"{8 * n / v * 1e-9:.0f} GB/s",
    }


def arithmetic() -> dict[str, str]:
    n = 1 << 25
    x, out = wp.full(n, 1.0), wp.zeros(1)
    t = device_time(lambda: wp.launch(total, dim=n, inputs=[x, out]), 5)
    random = np.random.default_rng(1)
    inputs = [wp.array(random.uniform(a, b, n).astype(np.float32)) for a, b in ((5, 30), (1, 100), (0.25, 10))]
    outputs = [wp.zeros(n), wp.zeros(n)]
    u = device_time(lambda: wp.launch(black_scholes, dim=n, inputs=inputs, outputs=outputs))
    m = 65536
    bodies, forces = wp.array(random.random((m, 4)).astype(np.float32), dtype=wp.vec4), wp.zeros(m, dtype=wp.vec3)
    v = device_time(lambda: wp.launch(gravity, dim=m, inputs=[bodies, forces, m]), 3)
    w = device_time(lambda: wp.launch(gravity_fast, dim=m, inputs=[bodies, forces, m]), 3)
    return {
        "sum of 2^25 floats by atomic_add": f"{n / t * 1e-9:.2f} G/s",
        "Black-Scholes 2^25": f"{n / u * 1e-9:.1f} G/s",
        "n-body 65536^2": f"{m * m / v * 1e-9:.0f} G/s",
        "n-body 65536^2, fast_math": f"{m * m / w * 1e-9:.0f} G/s",
    }


def springs() -> dict[str, str]:
    """Forces of springs between neighbours, and their adjoint."""
    points, n = 1 << 20, 1 << 22
    random, number = np.random.default_rng(0), np.arange(n)
    ends = np.stack([number % points, (number + 1 + number // points) % points], 1).astype(np.int32)
    x = wp.array(random.normal(size=(points, 3)).astype(np.float32), dtype=wp.vec3, requires_grad=True)
    rest = wp.full(n, 1.0, requires_grad=True)
    f = wp.zeros(points, dtype=wp.vec3, requires_grad=True)
    inputs = [x, wp.array(ends, dtype=wp.vec2i), rest, 10.0]
    forward = device_time(lambda: wp.launch(spring_forces, dim=n, inputs=inputs, outputs=[f]))
    tape = wp.Tape()
    with tape:
        wp.launch(spring_forces, dim=n, inputs=inputs, outputs=[f])
    f.grad.fill_(1.0)
    backward = device_time(tape.backward)
    return {"mass-spring forward, backward": f"{n / forward * 1e-9:.1f}, {n / backward * 1e-9:.1f} G/s"}


GROUPS = {"launches": launches, "cold": cold, "memory": memory, "arithmetic": arithmetic, "springs": springs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    parser.add_argument("groups", nargs="*")
    options = parser.parse_args()
    if not wp.is_cuda_available():
        sys.exit("there is no CUDA device")
    wp.set_device("cuda:0")
    found: dict[str, str] = {}
    for name in options.groups or GROUPS:
        found.update(GROUPS[name]())
    width = max(map(len, found))
    for name, value in found.items():
        print(f"{name:<{width}}  {value}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"device": wp.get_device().name, **found}, file, indent=1)


if __name__ == "__main__":
    main()
