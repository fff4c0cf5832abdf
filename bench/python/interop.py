#!/usr/bin/env python3
"""What it costs to hand arrays of PyTorch, NumPy and Paddle over, beside PyPI's warp-lang, measured in turns.

    interop.py [--peer PYTHON] [--device cpu] [--rounds N] [--seconds S] [--json FILE]

This interpreter imports Weft's `warp`, PEER's has warp-lang; both need PyTorch, and run the same program (this file with
--measure LIBRARY). Paddle's figures are of the CPU, and left out where an interpreter has none. Figures are microseconds per call on arrays of 64 floats, the best of all rounds; then the ratio, and the goal.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time

GOALS = {  # times warp-lang's cost
    "launch, two arrays": 1.0,
    "launch, two NumPy arrays": 20.0,
    "launch, two tensors": 35.0,
    "from_torch": 14.0,
    "from_torch, gradient": 15.0,
    "from_torch, return_ctype": 7.0,
    "to_torch": 3.0,
    "to_torch, gradient": 3.0,
    "from_dlpack(tensor)": 20.0,
    "to_dlpack": 26.0,
    "torch.from_dlpack(array)": 7.0,
    "operator": 8.0,
    "operator, gradient": 2.0,
    "from_paddle": 5.0,
    "to_paddle": 2.0,
}


def cases(device: str) -> dict:
    """The calls to time."""
    import numpy as np
    import torch
    import warp as wp

    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    wp.init()

    @wp.kernel
    def add(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = y[i] + x[i]

    @wp.kernel
    def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    n = 64
    x, y = wp.ones(n, dtype=float, device=device), wp.zeros(n, dtype=float, device=device)
    tx, ty = torch.ones(n, device=device), torch.zeros(n, device=device)
    leaf = torch.ones(n, device=device, requires_grad=True)
    with_gradient = wp.ones(n, dtype=float, device=device, requires_grad=True)
    wp.from_torch(leaf)
    made = {
        "launch, two arrays": lambda: wp.launch(add, n, [x, y], device=device),
        "launch, two tensors": lambda: wp.launch(add, n, [tx, ty], device=device),
        "from_torch": lambda: wp.from_torch(tx),
        "from_torch, gradient": lambda: wp.from_torch(leaf),
        "from_torch, return_ctype": lambda: wp.from_torch(tx, return_ctype=True),
        "to_torch": lambda: wp.to_torch(x),
        "to_torch, gradient": lambda: wp.to_torch(with_gradient),
        "from_dlpack(tensor)": lambda: wp.from_dlpack(tx),
        "to_dlpack": lambda: wp.to_dlpack(x),
        "torch.from_dlpack(array)": lambda: torch.from_dlpack(x),
    }
    if device == "cpu":
        nx, ny = np.ones(n, np.float32), np.zeros(n, np.float32)
        made["launch, two NumPy arrays"] = lambda: wp.launch(add, n, [nx, ny], device=device)
    made["operator"], made["operator, gradient"] = operators(torch, wp, square, tx, leaf, device)
    return made


def paddle_cases() -> dict:
    """The same of Paddle, in a process without PyTorch."""
    import paddle
    import warp as wp

    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    wp.init()
    tensor, array = paddle.ones([64]), wp.ones(64, dtype=float, device="cpu")
    return {"from_paddle": lambda: wp.from_paddle(tensor), "to_paddle": lambda: wp.to_paddle(array)}


def operators(torch, wp, kernel, plain, leaf, device: str) -> tuple:
    """A kernel as an operator: by wp.torch.op, or as the documentation does it by hand."""
    if hasattr(getattr(wp, "torch", None), "op"):
        call = wp.torch.op(kernel)
    else:

        class ByHand(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.x = wp.from_torch(x, requires_grad=True)
                ctx.y = wp.zeros(x.shape[0], dtype=float, requires_grad=True, device=device)
                wp.launch(kernel, x.shape[0], [ctx.x], [ctx.y], device=device)
                return wp.to_torch(ctx.y)

            @staticmethod
            def backward(ctx, given):
                ctx.y.grad = wp.from_torch(given)
                wp.launch(
                    kernel,
                    ctx.x.shape[0],
                    [ctx.x],
                    [ctx.y],
                    adj_inputs=[ctx.x.grad],
                    adj_outputs=[ctx.y.grad],
                    adjoint=True,
                    device=device,
                )
                return wp.to_torch(ctx.x.grad)

        call = ByHand.apply
    return lambda: call(plain), lambda: call(leaf)


def measure(library: str, device: str, seconds: float) -> None:
    """Prints microseconds per call as JSON."""
    figures = {}
    if importlib.util.find_spec(library) is None:
        return print(json.dumps(figures))
    for name, run in (cases(device) if library == "torch" else paddle_cases()).items():
        for _ in range(20):
            run()
        count, best = 1, float("inf")
        start = time.perf_counter()
        while time.perf_counter() - start < seconds:
            begin = time.perf_counter()
            for _ in range(count):
                run()
            took = time.perf_counter() - begin
            if took < 2e-3:
                count *= 2
            else:
                best = min(best, took / count)
            if device != "cpu":
                sys.modules["torch"].cuda.synchronize()
        figures[name] = best * 1e6
    print(json.dumps(figures))


def ask(python: str, arguments: list[str]) -> dict[str, float]:
    environment = dict(os.environ)
    if python != sys.executable:  # Weft's package has the same name
        for name in ("PYTHONPATH", "WEFT_EXTENSION_DIR"):
            environment.pop(name, None)
    done = subprocess.run(
        [python, os.path.abspath(__file__), *arguments], capture_output=True, text=True, env=environment
    )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="interpreter that has warp-lang and PyTorch")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.6, help="for each figure of a round")
    parser.add_argument("--json", help="file for the figures")
    parser.add_argument("--measure", choices=["torch", "paddle"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure, options.device, options.seconds)
    ours: dict[str, float] = {}
    theirs: dict[str, float] = {}
    for _ in range(options.rounds):
        for library in ("torch", "paddle") if options.device == "cpu" else ("torch",):
            arguments = ["--measure", library, "--device", options.device, "--seconds", str(options.seconds)]
            for python, best in ((sys.executable, ours), (options.peer, theirs)):
                for name, value in (ask(python, arguments) if python else {}).items():
                    best[name] = min(value, best.get(name, float("inf")))
    print(f"{'µs per call':28} {'Weft':>8} {'warp-lang':>10} {'ratio':>7} {'goal':>6}")
    for name in GOALS:
        if name not in ours:
            continue
        peer = theirs.get(name)
        ratio = f"{peer / ours[name]:7.1f}" if peer else ""
        print(f"{name:28} {ours[name]:8.2f} {peer or float('nan'):10.2f} {ratio:>7} {GOALS[name]:6.1f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"weft": ours, "warp-lang": theirs, "goals": GOALS}, file, indent=1)


if __name__ == "__main__":
    main()
