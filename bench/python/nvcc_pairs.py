"""The same kernels in Python and as CUDA of bench/cuda/*.cu, compiled by nvcc -O3 here and now: time against time.

    python bench/python/nvcc_pairs.py [--json FILE] [--limit RATIO] [name …]

Both run through the same driver, in the same context, on the same arrays, in turns; a figure is the median of several
rounds of ten launches, measured by events. A ratio above 1 says that ours takes longer. Results are compared, too. With
--limit the exit status says whether a ratio is above it. Kernels are in pairs_*.py.
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
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

import numpy as np
import warp as wp

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import pairs_grids  # noqa: E402
import pairs_particles  # noqa: E402
import pairs_values  # noqa: E402
from pair import BLOCK, Pair  # noqa: E402

SOURCES = ("grids", "particles", "values", "adjoints")


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
            elif isinstance(a, wp.float64):
                values.append(ctypes.c_double(a.value))
            else:
                values.append(ctypes.c_float(a) if isinstance(a, float) else ctypes.c_int(a))
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        stream = ctypes.c_void_p(wp.get_stream().cuda_stream)

        def launch(keep: Any = values) -> None:
            self("cuLaunchKernel", function, blocks, 1, 1, BLOCK, 1, 1, 0, stream, pointers, None)

        return launch


def compile_pairs(folder: str) -> dict[tuple[str, bool], str]:
    """Machine code by nvcc, by source, without and with its fast math."""
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not nvcc:
        sys.exit("there is no nvcc")

    def build(one: tuple[str, bool]) -> tuple[tuple[str, bool], str]:
        source, fast = one
        to = os.path.join(folder, f"{source}_fast.cubin" if fast else f"{source}.cubin")
        path = os.path.join(HERE, "..", "cuda", f"{source}.cu")
        options = ["-O3", f"-arch=sm_{wp.get_device().arch}", "-cubin", *(["-use_fast_math"] if fast else [])]
        subprocess.run([nvcc, *options, "-o", to, path], check=True)
        return one, to

    with ThreadPoolExecutor() as pool:
        return dict(pool.map(build, [(source, fast) for source in SOURCES for fast in (False, True)]))


def several(run: Callable[[], None], count: int) -> float:
    """Seconds of one of some launches in a row."""
    start, end = wp.Event(enable_timing=True), wp.Event(enable_timing=True)
    wp.record_event(start)
    for _ in range(count):
        run()
    wp.record_event(end)
    return wp.get_event_elapsed_time(start, end) * 1e-3 / count


def launcher(pair: Pair) -> Callable[[], None]:
    return lambda: wp.launch(
        pair.kernel, dim=pair.dim, inputs=pair.inputs, outputs=pair.outputs, adjoint=pair.adjoint
    )


def check(pair: Pair, runs: tuple[Callable[[], None], Callable[[], None]]) -> None:
    """Both write the same."""
    if pair.adjoint:
        written = [a.grad for a in pair.inputs if isinstance(a, wp.array) and a.grad is not None]
    else:
        written = [a for a in pair.outputs if isinstance(a, wp.array)]
    # An adjoint takes the gradients of what was stored away.
    seeds = [a.grad.numpy() for a in pair.outputs if pair.adjoint]
    results = []
    for run in runs:
        for array, seed in zip(pair.outputs, seeds):
            array.grad.assign(seed)
        for array in written:
            array.zero_()
        run()
        results.append([array.numpy() for array in written])
    for mine, other in zip(*results, strict=True):
        for name in mine.dtype.names or (None,):
            x, y = (np.asarray(r[name] if name else r, dtype=np.float64) for r in (mine, other))
            if pair.unordered:
                x, y = np.sort(x, axis=None), np.sort(y, axis=None)
            scale = np.abs(y).max()
            far = np.abs(x - y) > pair.tolerance * scale
            if np.isnan(x).any() or far.sum() > pair.strays * far.size:
                most = np.abs(x - y).max()
                raise RuntimeError(f"{pair.name}: results differ by {most} of {scale}, {far.sum()} of them")


def compare(pair: Pair, cuda: Cuda, code: dict[tuple[str, bool], str], rounds: int = 7) -> tuple[float, float]:
    """Seconds of ours and of nvcc's."""
    threads = int(np.prod(pair.dim))
    blocks = pair.blocks or (threads + BLOCK - 1) // BLOCK
    function = cuda.function(code[pair.source, pair.fast], pair.name)
    ours, theirs = launcher(pair), cuda.launcher(function, blocks, [*pair.arguments, threads])
    check(pair, (ours, theirs))
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
    cuda, found, wrong = Cuda(), {}, False
    makers = pairs_values.pairs() | pairs_grids.pairs() | pairs_particles.pairs()
    with tempfile.TemporaryDirectory() as folder:
        code = compile_pairs(folder)
        print(f"{'':28}{'ours':>12}{'nvcc -O3':>12}{'ratio':>8}")
        for name, make in makers.items():
            if options.names and name not in options.names:
                continue
            try:
                own, other = compare(make(), cuda, code)
            except RuntimeError as error:
                print(f"{name:28}{error}")
                wrong = True
                continue
            found[name] = own / other
            print(f"{name:28}{own * 1e6:9.1f} us{other * 1e6:9.1f} us{own / other:8.2f}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"device": wp.get_device().name, **found}, file, indent=1)
    return int(wrong or (options.limit is not None and any(ratio > options.limit for ratio in found.values())))


if __name__ == "__main__":
    sys.exit(main())
