#!/usr/bin/env python3
"""Kernels on tiles on a GPU that are no large products: systems, transforms, reductions, maps, a network; beside PyPI's warp-lang.

    tile_kernels_gpu.py [--peer PYTHON] [--only TEXT] [--jobs N] [--limit SECONDS]

This interpreter imports Weft's `warp`, PEER's has warp-lang; both run this file with --measure. Compilers of the peer take half a
minute for some kernels: with --jobs its kernels are compiled by N processes at a time before it is measured. cuFFT and cuSOLVER
are PyTorch's, where it can be imported. What fails or takes too long (a network's adjoint of warp-lang wants more shared memory than a
GPU has) is told in its row. Lines begin with the ratio to warp-lang and what is wanted of it.

`systems n/t` loads a matrix and a right side, factors, solves and stores, 8192 of them by t threads each; `blocked n` does so by tiles of
16; `JtDJ` is a product of a tile's transpose, scaled, with itself; `transform n` is of rows of complex numbers; `sum k` adds up k numbers
of each thread of a block, a hundred times; `network` is the example's, `backward` its adjoint; `resident n` adds up products of
the same two square tiles, with precision="tf32" and 128 threads.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

# What is wanted of the speed of warp-lang, and of cuFFT or cuSOLVER.
GOALS = {"systems": (1.5, 3.0), "blocked": (1.3, None), "JtDJ": (1.3, None), "transform": (0.9, 0.7), "sum": (1.2, None),
         "row": (1.2, None), "map": (1.2, None), "network": (2.0, None), "backward": (2.0, None), "resident": (4.0, None)}  # fmt: skip
ROWS = [
    *(f"systems {n}/{t}" for n, t in ((16, 32), (16, 64), (16, 128), (32, 32), (32, 64), (64, 64))),
    *(f"blocked {n}" for n in (64, 96, 128)),
    "JtDJ",
    *(f"transform {n}" for n in (256, 512, 1024, 2048)),
    *(f"sum {k}/{t}" for k in (1, 9) for t in (64, 256)),
    "row sums",
    "map of tanh",
    "network",
    "backward",
    "resident 32",
    "resident 64",
]
SYSTEMS = 8192


class Case:
    """A launch, how many millions or gigabytes it does, and whether its result is right."""

    def __init__(self, launch, amount: float, unit: str, right) -> None:
        self.launch, self.amount, self.unit, self.right = launch, amount, unit, right


def positive(count: int, n: int):
    rng = np.random.default_rng(4)
    roots = rng.normal(size=(count, n, n)).astype(np.float32)
    return roots @ roots.transpose(0, 2, 1) + n * np.eye(n, dtype=np.float32), rng.normal(size=(count, n)).astype(np.float32)


def solved(matrices, rights, found) -> bool:
    some = slice(0, 64)
    return np.allclose(np.einsum("nij,nj->ni", matrices[some], found.numpy()[some]), rights[some], atol=2e-3)


def systems_case(wp, n: int, threads: int) -> Case:
    @wp.kernel(module="unique", enable_backward=False)
    def solve(a: wp.array3d(dtype=float), b: wp.array2d(dtype=float), x: wp.array2d(dtype=float)):
        i = wp.tid()
        factor = wp.tile_cholesky(wp.tile_load(a[i], shape=(n, n)))
        wp.tile_store(x[i], wp.tile_cholesky_solve(factor, wp.tile_load(b[i], shape=n)))

    matrices, rights = positive(SYSTEMS, n)
    a, b = (wp.array(values, dtype=float, device="cuda") for values in (matrices, rights))
    x = wp.zeros_like(b)
    return Case(
        lambda: wp.launch_tiled(solve, dim=SYSTEMS, inputs=[a, b, x], block_dim=threads, device="cuda"),
        SYSTEMS / 1e6, "M/s", lambda: solved(matrices, rights, x),
    )  # fmt: skip


def blocked_case(wp, n: int) -> Case:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"))
    import tile_cholesky

    solver = tile_cholesky.make_solver(n)
    count = 4096
    matrices, rights = positive(count, n)
    a, b = (wp.array(values, dtype=float, device="cuda") for values in (matrices, rights))
    factors, x = wp.zeros_like(a), wp.zeros_like(b)
    return Case(
        lambda: wp.launch_tiled(solver, dim=count, inputs=[a, b, factors, x], block_dim=64, device="cuda"),
        count / 1e6, "M/s", lambda: solved(matrices, rights, x),
    )  # fmt: skip


def jtdj_case(wp) -> Case:
    rows, columns = 64, 32

    @wp.kernel(module="unique", enable_backward=False)
    def product(j: wp.array3d(dtype=float), d: wp.array2d(dtype=float), h: wp.array3d(dtype=float)):
        i = wp.tid()
        jacobian = wp.tile_load(j[i], shape=(rows, columns))
        weights = wp.tile_broadcast(wp.tile_reshape(wp.tile_load(d[i], shape=rows), shape=(rows, 1)), shape=(rows, columns))
        scaled = wp.tile_map(wp.mul, weights, jacobian)
        wp.tile_store(h[i], wp.tile_matmul(wp.tile_transpose(jacobian), scaled))

    rng = np.random.default_rng(5)
    jacobians = rng.normal(size=(SYSTEMS, rows, columns)).astype(np.float32)
    weights = rng.uniform(1, 2, size=(SYSTEMS, rows)).astype(np.float32)
    j, d = (wp.array(values, dtype=float, device="cuda") for values in (jacobians, weights))
    h = wp.zeros((SYSTEMS, columns, columns), dtype=float, device="cuda")
    want = np.einsum("nki,nk,nkj->nij", jacobians[:32], weights[:32], jacobians[:32])
    return Case(
        lambda: wp.launch_tiled(product, dim=SYSTEMS, inputs=[j, d, h], block_dim=64, device="cuda"),
        SYSTEMS / 1e6, "M/s", lambda: np.allclose(h.numpy()[:32], want, rtol=1e-3, atol=1e-2),
    )  # fmt: skip


def transform_case(wp, n: int) -> Case:
    count = (1 << 24) // n

    @wp.kernel(module="unique", enable_backward=False)
    def transform(x: wp.array2d(dtype=wp.vec2f), y: wp.array2d(dtype=wp.vec2f)):
        i = wp.tid()
        t = wp.tile_load(x, shape=(1, n), offset=(i, 0))
        wp.tile_fft(t)
        wp.tile_store(y, t, offset=(i, 0))

    numbers = np.random.default_rng(6).normal(size=(count, n, 2)).astype(np.float32)
    x = wp.array(numbers, dtype=wp.vec2f, device="cuda")
    y = wp.zeros_like(x)

    def right():
        want = np.fft.fft(numbers[:8, :, 0] + 1j * numbers[:8, :, 1])
        seen = y.numpy()[:8]
        return np.allclose(seen[..., 0] + 1j * seen[..., 1], want, atol=1e-2)

    return Case(
        lambda: wp.launch_tiled(transform, dim=count, inputs=[x, y], block_dim=max(32, n // 8), device="cuda"),
        count * n * 16e-9, "GB/s", right,
    )  # fmt: skip


def sum_case(wp, numbers: int, threads: int) -> Case:
    several = wp.types.vector(length=numbers, dtype=float)
    blocks, rounds = 8192, 100

    @wp.kernel(module="unique", enable_backward=False)
    def one(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
        i, lane = wp.tid()
        v = x[i, lane]
        for _ in range(rounds):
            v = v + 1.0e-6 * wp.tile_sum(wp.tile(v))[0]
        y[i] = v

    @wp.kernel(module="unique", enable_backward=False)
    def many(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
        i, lane = wp.tid()
        v = several(x[i, lane])
        for _ in range(rounds):
            total = wp.tile_reduce(wp.add, wp.tile(v, preserve_type=True))
            v = v + 1.0e-6 * total[0]
        y[i] = v[0]

    x = wp.zeros((blocks, threads), dtype=float, device="cuda")
    x.fill_(1.0)
    y = wp.zeros(blocks, dtype=float, device="cuda")
    want = (1 + 1e-6 * threads) ** rounds
    return Case(
        lambda: wp.launch_tiled(one if numbers == 1 else many, dim=blocks, inputs=[x, y], block_dim=threads, device="cuda"),
        blocks * rounds / 1e6, "M/s", lambda: np.allclose(y.numpy(), want, rtol=1e-3),
    )  # fmt: skip


def row_case(wp) -> Case:
    rows, length = 1 << 16, 1024

    @wp.kernel(module="unique", enable_backward=False)
    def sums(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        wp.tile_store(y, wp.tile_sum(wp.tile_load(x[i], shape=length)), offset=i)

    numbers = np.random.default_rng(7).normal(size=(rows, length)).astype(np.float32)
    x = wp.array(numbers, dtype=float, device="cuda")
    y = wp.zeros(rows, dtype=float, device="cuda")
    return Case(
        lambda: wp.launch_tiled(sums, dim=rows, inputs=[x, y], block_dim=64, device="cuda"),
        rows * length * 4e-9, "GB/s", lambda: np.allclose(y.numpy(), numbers.sum(1), atol=1e-2),
    )  # fmt: skip


def map_case(wp) -> Case:
    count, length = 1 << 16, 1024

    @wp.kernel(module="unique", enable_backward=False)
    def mapped(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        wp.tile_store(y, wp.tile_map(wp.tanh, wp.tile_load(x, shape=length, offset=i * length)), offset=i * length)

    numbers = np.random.default_rng(8).normal(size=count * length).astype(np.float32)
    x = wp.array(numbers, dtype=float, device="cuda")
    y = wp.zeros_like(x)
    return Case(
        lambda: wp.launch_tiled(mapped, dim=count, inputs=[x, y], block_dim=256, device="cuda"),
        count * length * 8e-9, "GB/s", lambda: np.allclose(y.numpy()[:4096], np.tanh(numbers[:4096]), atol=1e-5),
    )  # fmt: skip


def resident_case(wp, n: int) -> Case:
    blocks, rounds = 4096, 256

    @wp.kernel(module="unique", enable_backward=False)
    def products(a: wp.array3d(dtype=float), b: wp.array3d(dtype=float), c: wp.array3d(dtype=float)):
        i = wp.tid()
        left = wp.tile_load(a[i % 8], shape=(n, n), storage="shared")
        right = wp.tile_load(b[i % 8], shape=(n, n), storage="shared")
        sums = wp.tile_zeros(shape=(n, n), dtype=float)
        for _ in range(rounds):
            wp.tile_matmul(left, right, sums, precision="tf32")
        wp.tile_store(c[i], sums)

    rng = np.random.default_rng(10)
    lefts, rights = (rng.uniform(0.5, 1.0, size=(8, n, n)).astype(np.float32) for _ in range(2))
    a, b = (wp.array(values, dtype=float, device="cuda") for values in (lefts, rights))
    c = wp.zeros((blocks, n, n), dtype=float, device="cuda")
    return Case(
        lambda: wp.launch_tiled(products, dim=blocks, inputs=[a, b, c], block_dim=128, device="cuda"),
        2e-12 * n**3 * rounds * blocks, "TFLOP/s", lambda: np.allclose(c.numpy()[:8], rounds * (lefts @ rights), rtol=4e-3),
    )  # fmt: skip


def network_case(wp, backward: bool) -> Case:
    pixels, waves, hidden, blocks = 64, 64, 64, 2048

    @wp.func
    def leaky(x: float):
        return wp.max(x, 0.01 * x)

    @wp.kernel(module="unique")
    def compare(
        first: wp.array2d(dtype=float),
        second: wp.array2d(dtype=float),
        last: wp.array2d(dtype=float),
        bias: wp.array2d(dtype=float),
        inputs: wp.array2d(dtype=float),
        wanted: wp.array2d(dtype=float),
        loss: wp.array(dtype=float),
    ):
        at = wp.tid() * pixels
        x = wp.tile_load(inputs, shape=(waves, pixels), offset=(0, at))
        y = wp.tile_matmul(wp.tile_load(first, shape=(hidden, waves)), x)
        y = y + wp.tile_broadcast(wp.tile_load(bias, shape=(hidden, 1)), shape=(hidden, pixels))
        y = wp.tile_map(leaky, y)
        z = wp.tile_map(leaky, wp.tile_matmul(wp.tile_load(second, shape=(hidden, hidden)), y))
        seen = wp.tile_matmul(wp.tile_load(last, shape=(16, hidden)), z)
        off = seen - wp.tile_load(wanted, shape=(16, pixels), offset=(0, at))
        wp.tile_atomic_add(loss, wp.tile_sum(wp.tile_map(wp.mul, off, off)))

    rng = np.random.default_rng(9)

    def array(*shape):
        return wp.array(0.1 * rng.normal(size=shape).astype(np.float32), dtype=float, device="cuda", requires_grad=True)

    weights = [array(hidden, waves), array(hidden, hidden), array(16, hidden), array(hidden, 1)]
    inputs = [array(waves, pixels * blocks), array(16, pixels * blocks)]
    for values in inputs:
        values.requires_grad = False
    loss = wp.zeros(1, dtype=float, device="cuda", requires_grad=True)

    def forward():
        wp.launch_tiled(compare, dim=blocks, inputs=[*weights, *inputs, loss], block_dim=128, device="cuda")

    first, second, last, bias = (w.numpy() for w in weights)
    x, wanted = (values.numpy() for values in inputs)
    y = first @ x + bias
    y = np.maximum(y, 0.01 * y)
    z = second @ y
    z = np.maximum(z, 0.01 * z)
    off = last @ z - wanted
    if not backward:
        loss.zero_()
        forward()
        total = float(loss.numpy()[0])
        return Case(forward, blocks * pixels / 1e6, "M/s", lambda: np.isclose(total, (off**2).sum(), rtol=1e-3))
    tape = wp.Tape()
    with tape:
        forward()
    loss.grad.fill_(1.0)
    tape.backward()
    slope = weights[2].grad.numpy()
    loss.grad.fill_(1.0)
    return Case(tape.backward, blocks * pixels / 1e6, "M/s", lambda: np.allclose(slope, 2 * off @ z.T, rtol=1e-2, atol=1.0))


def case_of(wp, row: str) -> Case:
    kind, _, rest = row.partition(" ")
    numbers = [int(part) for part in rest.split("/") if part.isdigit()]
    return {
        "systems": systems_case, "blocked": blocked_case, "JtDJ": jtdj_case, "transform": transform_case, "sum": sum_case,
        "row": row_case, "map": map_case, "network": lambda wp: network_case(wp, False), "backward": lambda wp: network_case(wp, True),
        "resident": resident_case,
    }[kind](wp, *numbers)  # fmt: skip


def reported(wp) -> list[dict]:
    """What was built so far, as Weft tells it."""
    return wp.kernel_report() if hasattr(wp, "kernel_report") else []


def measure(only: str, row_only: str, first_only: bool) -> None:
    import warp as wp

    wp.config.quiet = True
    wp.config.record_kernels = True  # ours: what a block takes of shared memory
    wp.init()
    for row in ROWS:
        if (only and only not in row) or (row_only and row != row_only):
            continue
        try:
            known = len(reported(wp))
            case = case_of(wp, row)
            start = time.perf_counter()
            case.launch()
            wp.synchronize()
            first, best = time.perf_counter() - start, 1e9
            right = bool(case.right())
            for _ in range(0 if first_only else 8):
                start = time.perf_counter()
                for _ in range(5):
                    case.launch()
                wp.synchronize()
                best = min(best, (time.perf_counter() - start) / 5)
            figure = {"speed": case.amount / best, "unit": case.unit, "first": first, "right": right}
            if builds := reported(wp)[known:]:
                figure["shared"] = max(one["shared_bytes"] or 0 for one in builds)
            print(json.dumps([row, figure]), flush=True)
        except Exception as error:  # what one of them does not take is a row without a figure
            print(json.dumps([row, {"problem": f"{type(error).__name__}: {error}"[:200]}]), flush=True)


def libraries(only: str) -> dict[str, float]:
    """cuFFT and cuSOLVER of PyTorch, by row."""
    try:
        import torch
    except ImportError:
        return {}

    def best(run) -> float:
        times = []
        for _ in range(9):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(5):
                run()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) / 5)
        return min(times)

    found = {}
    for row in (row for row in ROWS if not only or only in row):
        kind, _, rest = row.partition(" ")
        if kind == "transform":
            n = int(rest)
            x = torch.randn((1 << 24) // n, n, dtype=torch.complex64, device="cuda")
            found[row] = x.numel() * 16e-9 / best(lambda x=x: torch.fft.fft(x))
        elif kind == "systems":
            matrices, rights = positive(SYSTEMS, int(rest.split("/")[0]))
            a, b = torch.from_numpy(matrices).cuda(), torch.from_numpy(rights).cuda()[..., None]
            found[row] = SYSTEMS / 1e6 / best(lambda a=a, b=b: torch.cholesky_solve(b, torch.linalg.cholesky(a)))
    return found


def run(python: str, *extra: str) -> dict[str, dict]:
    done = subprocess.run([python, __file__, "--measure", *extra], stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))


def run_peer(python: str, row: str, limit: float, *extra: str) -> dict:
    """A row in a process of its own: one that ends it, or its device's context, is a row without a figure."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "WEFT_EXTENSION_DIR")}
    command = [python, __file__, "--measure", "--row", row, *extra]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"problem": f"took more than {limit:.0f} s"}
    for line in done.stdout.splitlines():
        if line.startswith("["):
            return json.loads(line)[1]
    said = (done.stderr or done.stdout).strip().splitlines()
    return {"problem": f"ended with {done.returncode}{': ' + said[-1][:200] if said else ''}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="an interpreter with warp-lang")
    parser.add_argument("--only", default="", help="rows that have this text in their name")
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile the peer's kernels")
    parser.add_argument("--limit", type=float, default=300, help="seconds for a row of the peer")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--row", default="", help=argparse.SUPPRESS)
    parser.add_argument("--first", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        return measure(arguments.only, arguments.row, arguments.first)
    own = run(sys.executable, "--only", arguments.only)
    others = libraries(arguments.only)
    peer: dict[str, dict] = {}
    if arguments.peer:
        show(own, {}, others)
        rows = [row for row in ROWS if arguments.only in row]
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            firsts = list(pool.map(lambda row: run_peer(arguments.peer, row, arguments.limit, "--first"), rows))
        for row, first in zip(rows, firsts):
            peer[row] = first if "problem" in first else run_peer(arguments.peer, row, arguments.limit)
        print("beside warp-lang")
    show(own, peer, others)


def show(own: dict[str, dict], peer: dict[str, dict], others: dict[str, float]) -> None:
    for row, figure in own.items():
        times, part = GOALS[row.split()[0]]
        other = peer.get(row, {})
        text = f"{figure['speed'] / other['speed']:5.2f} x (wanted {times})  " if {"speed"} <= other.keys() & figure.keys() else ""
        for name, one in (("Weft", figure), ("warp-lang", other)):
            if "problem" in one:
                text += f"{name}: {one['problem']}  "
            elif one:
                text += f"{name} {one['speed']:.4g} {one['unit']}, first {one['first']:.2f} s{'' if one['right'] else ', WRONG'}  "
                if one.get("shared"):
                    text += f"{one['shared'] / 1024:.0f} KB shared  "
        if row in others and "speed" in figure:
            text += f"library {others[row]:.4g}, {figure['speed'] / others[row]:.2f}" + (f" (wanted {part})" if part else "")
        print(f"{row:14s} {text}", flush=True)


if __name__ == "__main__":
    main()
