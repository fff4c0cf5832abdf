"""The same kernels in Python and as CUDA of bench/cuda/pairs.cu, compiled by nvcc -O3 here and now: time against time.

    python bench/python/nvcc_pairs.py [--json FILE] [--limit RATIO] [name …]

Both run through the same driver, in the same context, on the same arrays, in turns; a figure is the median of several
rounds of ten launches, measured by events. A ratio above 1 says that ours takes longer. Results are compared, too. With
--limit the exit status says whether a ratio is above it.
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
from typing import Any, Callable, NamedTuple

import numpy as np
import warp as wp

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import gpu  # noqa: E402

BLOCK = 256


@wp.kernel
def diffuse(u: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    r, c = wp.tid()
    if r == 0 or c == 0 or r == u.shape[0] - 1 or c == u.shape[1] - 1:
        return
    out[r, c] = u[r, c] + 0.1 * (u[r - 1, c] + u[r + 1, c] + u[r, c - 1] + u[r, c + 1] - 4.0 * u[r, c])


@wp.kernel
def turn(
    q: wp.array(dtype=wp.quat),
    w: wp.array(dtype=wp.vec3),
    dt: float,
    out: wp.array(dtype=wp.quat),
    axis: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    s = wp.normalize(q[i] + wp.quat(w[i], 0.0) * q[i] * (0.5 * dt))
    out[i] = s
    axis[i] = wp.quat_rotate(s, wp.vec3(1.0, 0.0, 0.0))


class Pair(NamedTuple):
    """One kernel twice: arguments of ours, then what nvcc's takes; arrays are passed as pointers to the latter."""

    kernel: Any
    dim: Any
    inputs: list
    outputs: list
    name: str  # of nvcc's
    arguments: list  # of nvcc's, but for the count
    fast: bool = False
    blocks: int = 0  # of nvcc's; 0: as many as there is work for
    tolerance: float = 1e-4


class Cuda:
    """What of the driver's interface is needed to load and launch."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")

    def __call__(self, name: str, *arguments: Any) -> None:
        code = getattr(self.library, name)(*arguments)
        if code:
            raise RuntimeError(f"{name} gave error {code}")

    def function(self, path: str, name: str) -> ctypes.c_void_p:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        with open(path, "rb") as file:
            self("cuModuleLoadData", ctypes.byref(module), file.read())
        self("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def launcher(self, function: ctypes.c_void_p, blocks: int, arguments: list) -> Callable[[], None]:
        values = []
        for a in arguments:
            if isinstance(a, wp.array):
                values.append(ctypes.c_uint64(a.ptr))
            else:
                values.append(ctypes.c_float(a) if isinstance(a, float) else ctypes.c_int(a))
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        stream = ctypes.c_void_p(wp.get_stream().cuda_stream)

        def launch(keep: Any = values) -> None:
            self("cuLaunchKernel", function, blocks, 1, 1, BLOCK, 1, 1, 0, stream, pointers, None)

        return launch


def compile_pairs(folder: str) -> dict[bool, str]:
    """Machine code by nvcc, without and with its fast math."""
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not nvcc:
        sys.exit("there is no nvcc")
    found = {}
    for fast in (False, True):
        found[fast] = os.path.join(folder, "fast.cubin" if fast else "pairs.cubin")
        source = os.path.join(HERE, "..", "cuda", "pairs.cu")
        options = ["-O3", f"-arch=sm_{wp.get_device().arch}", "-cubin", *(["-use_fast_math"] if fast else [])]
        subprocess.run([nvcc, *options, "-o", found[fast], source], check=True)
    return found


def pairs() -> dict[str, Callable[[], Pair]]:
    """By name; arrays are made when a pair's turn comes."""
    random = np.random.default_rng(1)

    def floats(n: int, low: float = 0.0, high: float = 1.0, width: int = 0, dtype: Any = float) -> wp.array:
        shape = (n, width) if width else n
        return wp.array(random.uniform(low, high, shape).astype(np.float32), dtype=dtype)

    def saxpy() -> Pair:
        n = 1 << 26
        x, y = floats(n), wp.zeros(n)
        return Pair(gpu.saxpy, n, [1.0, x], [y], "saxpy", [1.0, x, y])

    def matrices() -> Pair:
        n = 1 << 22
        a, b = floats(n, -1, 1, 16, wp.mat44), floats(n, -1, 1, 16, wp.mat44)
        c = wp.zeros(n, dtype=wp.mat44)
        return Pair(gpu.matrix_product, n, [a, b], [c], "matrix_product", [a, b, c])

    def options(kernel: Any = gpu.black_scholes, fast: bool = False) -> Pair:
        n = 1 << 25
        given = [floats(n, 5, 30), floats(n, 1, 100), floats(n, 0.25, 10)]
        out = [wp.zeros(n), wp.zeros(n)]
        return Pair(kernel, n, given, out, "black_scholes", [*given, *out], fast, tolerance=1e-2 if fast else 1e-4)

    def bodies(kernel: Any = gpu.gravity, fast: bool = False) -> Pair:
        n = 1 << 16
        x, a = floats(n, 0, 1, 4, wp.vec4), wp.zeros(n, dtype=wp.vec3)
        return Pair(kernel, n, [x, a, n], [], "gravity", [x, a, n], fast, tolerance=1e-2)

    def stencil() -> Pair:
        n = 8192
        u, out = wp.array(random.random((n, n)).astype(np.float32)), wp.zeros((n, n))
        return Pair(diffuse, (n, n), [u], [out], "diffuse", [u, out, n, n])

    def springs() -> Pair:
        points, n = 1 << 20, 1 << 22
        number = np.arange(n)
        ends = np.stack([number % points, (number + 1 + number // points) % points], 1).astype(np.int32)
        x, f = floats(points, -1, 1, 3, wp.vec3), wp.zeros(points, dtype=wp.vec3)
        e, rest = wp.array(ends, dtype=wp.vec2i), wp.full(n, 1.0)
        given = [x, e, rest, 10.0]
        return Pair(gpu.spring_forces, n, given, [f], "spring_forces", [*given, f], tolerance=1e-2)

    def total() -> Pair:
        n = 1 << 26
        x, out = floats(n), wp.zeros(1)
        blocks = wp.get_device().sm_count * 8
        return Pair(gpu.total, n, [x], [out], "total", [x, out], blocks=blocks, tolerance=1e-3)

    def quaternions() -> Pair:
        n = 1 << 23
        q, w = floats(n, -1, 1, 4, wp.quat), floats(n, -1, 1, 3, wp.vec3)
        out, axis = wp.zeros(n, dtype=wp.quat), wp.zeros(n, dtype=wp.vec3)
        return Pair(turn, n, [q, w, 0.01], [out, axis], "turn", [q, w, 0.01, out, axis])

    fast_options = wp.Kernel(gpu.black_scholes.func, key="black_scholes_fast", options={"fast_math": True})
    return {
        "saxpy": saxpy,
        "mat44 * mat44": matrices,
        "Black-Scholes": options,
        "Black-Scholes, fast math": lambda: options(fast_options, True),
        "n-body": bodies,
        "n-body, fast math": lambda: bodies(gpu.gravity_fast, True),
        "5-point stencil": stencil,
        "mass-spring": springs,
        "sum": total,
        "quaternions": quaternions,
    }


def several(run: Callable[[], None], count: int) -> float:
    """Seconds of one of some launches in a row."""
    start, end = wp.Event(enable_timing=True), wp.Event(enable_timing=True)
    wp.record_event(start)
    for _ in range(count):
        run()
    wp.record_event(end)
    return wp.get_event_elapsed_time(start, end) * 1e-3 / count


def compare(pair: Pair, cuda: Cuda, code: dict[bool, str], rounds: int = 7) -> tuple[float, float]:
    """Seconds of ours and of nvcc's."""
    threads = int(np.prod(pair.dim))
    blocks = pair.blocks or (threads + BLOCK - 1) // BLOCK
    theirs = cuda.launcher(cuda.function(code[pair.fast], pair.name), blocks, [*pair.arguments, threads])

    def ours() -> None:
        wp.launch(pair.kernel, dim=pair.dim, inputs=pair.inputs, outputs=pair.outputs)

    results = []
    written = pair.outputs or [pair.inputs[1]]
    for run in (ours, theirs):
        for array in written:
            array.zero_()
        run()
        results.append([array.numpy().astype(np.float64) for array in written])
    for mine, other in zip(*results, strict=True):
        scale = np.abs(other).max()
        if not np.abs(mine - other).max() <= pair.tolerance * scale:
            raise RuntimeError(f"{pair.name}: results differ by {np.abs(mine - other).max()} of {scale}")
    count = 10 if several(ours, 1) < 2e-3 else 2
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        times[0].append(several(ours, count))
        times[1].append(several(theirs, count))
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--limit", type=float)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if not wp.is_cuda_available():
        sys.exit("there is no CUDA device")
    wp.set_device("cuda:0")
    cuda, found = Cuda(), {}
    with tempfile.TemporaryDirectory() as folder:
        code = compile_pairs(folder)
        print(f"{'':26}{'ours':>12}{'nvcc -O3':>12}{'ratio':>8}")
        for name, make in pairs().items():
            if options.names and name not in options.names:
                continue
            own, other = compare(make(), cuda, code)
            found[name] = own / other
            print(f"{name:26}{own * 1e6:9.1f} us{other * 1e6:9.1f} us{own / other:8.2f}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"device": wp.get_device().name, **found}, file, indent=1)
    return int(options.limit is not None and any(ratio > options.limit for ratio in found.values()))


if __name__ == "__main__":
    sys.exit(main())
