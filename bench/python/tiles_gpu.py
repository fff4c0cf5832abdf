#!/usr/bin/env python3
"""Products of tiles on a GPU, beside PyPI's warp-lang and cuBLAS.

    tiles_gpu.py [--peer PYTHON] [--size N] [--only TEXT]

The documented loop (zeros, loads, tile_matmul, store) over matrices of N by N numbers (4096), in TFLOP/s. This interpreter imports
Weft's `warp`, PEER's has warp-lang, both run this file with --measure; cuBLAS is PyTorch's, where it can be imported. A line has
the figures, the ratios to warp-lang and to cuBLAS with what is wanted of them, the first launch and the largest error of some
rows, as part of the largest number.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

# (numbers, tile, threads); what is wanted of the speed of warp-lang and of cuBLAS by numbers.
ROWS = [
    *((kind, shape, threads) for kind in ("f32", "f16", "bf16", "tf32") for shape, threads in (((64, 64, 16), 128), ((64, 64, 32), 128), ((64, 64, 64), 256))),
    ("f32", (128, 128, 16), 256),
    ("f16", (64, 64, 64), 128),
    ("f16", (128, 128, 32), 256),
    ("f16", (128, 128, 64), 256),
    ("f32", (32, 32, 32), 64),
    ("f16", (32, 32, 32), 64),
]
GOALS = {"f32": (1.8, 0.75), "f16": (3.0, 0.45), "bf16": (3.0, 0.45), "tf32": (2.0, None)}


def gemm(wp, kind: str, shape):
    tm, tn, tk = shape
    dtype = {"f16": wp.float16, "bf16": getattr(wp, "bfloat16", None)}.get(kind, wp.float32)
    precision = "tf32" if kind == "tf32" else "default"

    @wp.kernel(module="unique", enable_backward=False)
    def product(a: wp.array2d(dtype=dtype), b: wp.array2d(dtype=dtype), c: wp.array2d(dtype=float)):
        i, j = wp.tid()
        total = wp.tile_zeros(shape=(tm, tn), dtype=float)
        for k in range(0, a.shape[1] // tk):
            x = wp.tile_load(a, shape=(tm, tk), offset=(i * tm, k * tk))
            y = wp.tile_load(b, shape=(tk, tn), offset=(k * tk, j * tn))
            wp.tile_matmul(x, y, total, precision=precision)
        wp.tile_store(c, total, offset=(i * tm, j * tn))

    return product, dtype


def measure_row(wp, kind: str, shape, threads: int, n: int) -> dict:
    rng = np.random.default_rng(1)
    kernel, dtype = gemm(wp, kind, shape)
    host = np.float16 if kind == "f16" else np.float32
    x, y = (rng.uniform(-1, 1, (n, n)).astype(host) for _ in range(2))
    a, b = (wp.array(v, dtype=dtype, device="cuda") for v in (x, y))
    c = wp.zeros((n, n), dtype=float, device="cuda")

    def launch():
        wp.launch_tiled(kernel, dim=(n // shape[0], n // shape[1]), inputs=[a, b, c], block_dim=threads, device="cuda")

    start = time.perf_counter()
    launch()
    wp.synchronize()
    first = time.perf_counter() - start
    want = x[:64].astype(np.float32) @ y.astype(np.float32)
    error = float(np.abs(c.numpy()[:64] - want).max() / np.abs(want).max())
    best = 1e9
    for _ in range(6):
        start = time.perf_counter()
        for _ in range(4):
            launch()
        wp.synchronize()
        best = min(best, (time.perf_counter() - start) / 4)
    return {"speed": 2 * n**3 / best / 1e12, "first": first, "error": error}


def measure(n: int, only: str) -> None:
    import warp as wp

    wp.config.quiet = True
    wp.init()
    for row in ROWS:
        if only and only not in label(row):
            continue
        try:
            print(json.dumps([label(row), measure_row(wp, *row, n)]), flush=True)
        except Exception as error:  # a shape that one of them does not take is a row without a figure
            print(json.dumps([label(row), {"problem": f"{type(error).__name__}: {error}"[:200]}]), flush=True)


def label(row) -> str:
    kind, shape, threads = row
    return f"{kind} {'x'.join(map(str, shape))}, {threads} threads"


def cublas(n: int) -> dict[str, float]:
    try:
        import torch
    except ImportError:
        return {}
    found = {}
    for kind in ("f32", "tf32", "f16", "bf16"):
        dtype = {"f16": torch.float16, "bf16": torch.bfloat16}.get(kind, torch.float32)
        torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
        a, b = (torch.randn(n, n, device="cuda", dtype=dtype) for _ in range(2))
        best = 1e9
        for _ in range(6):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(4):
                a @ b
            torch.cuda.synchronize()
            best = min(best, (time.perf_counter() - start) / 4)
        found[kind] = 2 * n**3 / best / 1e12
    return found


def figures(python: str, arguments, environment) -> dict[str, dict]:
    command = [python, __file__, "--measure", "--size", str(arguments.size), "--only", arguments.only]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="an interpreter with warp-lang")
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--only", default="", help="rows that have this text in their name")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        return measure(arguments.size, arguments.only)
    own = figures(sys.executable, arguments, os.environ)
    apart = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    peer = figures(arguments.peer, arguments, apart) if arguments.peer else {}
    blas = cublas(arguments.size)
    for name, figure in own.items():
        if "problem" in figure:
            print(f"{name}: {figure['problem']}")
            continue
        kind = name.split()[0]
        times, part = GOALS[kind]
        text = f"{name}: {figure['speed']:.1f} TFLOP/s, first launch {figure['first']:.2f} s, error {figure['error']:.0e}"
        other = peer.get(name, {}).get("speed")
        if other:
            text += f"; warp-lang {other:.1f}, {figure['speed'] / other:.2f} x (wanted {times})"
        if kind in blas:
            text += f"; cuBLAS {blas[kind]:.1f}, {figure['speed'] / blas[kind]:.2f}" + (f" (wanted {part})" if part else "")
        print(text)


if __name__ == "__main__":
    main()
