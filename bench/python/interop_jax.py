#!/usr/bin/env python3
"""JAX: what calls of kernels and conversions of arrays cost, beside PyPI's warp-lang.

    interop_jax.py [--peer PYTHON] [--device cpu] [--rounds N] [--seconds S] [--json FILE]

This interpreter imports Weft's `warp` and JAX, PEER's has warp-lang and JAX. Both run the same program (this file with
--measure) in turns; of each figure the best counts. Arrays have 64 floats, so that the calls are what is measured. `in a program`
is what each further call in one jitted function adds: from the twenty-first on, for on GPUs programs with few calls run otherwise
(XLA captures longer ones into graphs). Figures are microseconds.
"""

import argparse
import json
import os
import subprocess
import sys
import time

GOALS = {  # microseconds, and times the peer's
    "in a program, per call": (0.7, 40),
    "jitted": (9.5, 6),
    "eager": (11, 1300),
    "jit(grad)": (11, 15),
    "callable, jitted": (12, 6),
    "from_jax": (1.5, 13),
    "to_jax": (12, 5),
}


def best_of(call, number: int, seconds: float) -> float:
    """The best of many short runs: on a machine with other work most of them are interrupted, and some are not."""
    found = float("inf")
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(number):
            call()
        found = min(found, (time.perf_counter() - start) / number)
    return found * 1e6


def measure(seconds: float) -> dict[str, float]:
    import jax
    import jax.numpy as jnp
    import warp as wp

    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    wp.init()

    def best(call, number: int = 10) -> float:
        return best_of(call, number, seconds)

    @wp.kernel
    def triple(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = 3.0 * x[i] + x[i] * x[i]

    def func(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        wp.launch(triple, dim=x.shape, inputs=[x], outputs=[y])

    f = wp.jax_kernel(triple)

    @wp.kernel
    def again(x: wp.array(dtype=float), y: wp.array(dtype=float)):  # warp-lang has one wrapper for a kernel
        i = wp.tid()
        y[i] = 3.0 * x[i] + x[i] * x[i]

    differentiable = wp.jax_kernel(again, enable_backward=True)
    x = jax.block_until_ready(jnp.arange(64, dtype=jnp.float32))

    def chain(count: int):
        def run(x):
            for _ in range(count):
                (x,) = f(x)
            return x

        made = jax.jit(run)
        jax.block_until_ready(made(x))
        return made

    def settled(made):
        return lambda: made(x).block_until_ready()

    figures = {"jitted": best(settled(chain(1)))}
    short, long = settled(chain(21)), settled(chain(121))
    figures["in a program, per call"] = (best(long, 2) - best(short, 5)) / 100
    f(x)[0].block_until_ready()
    start = time.perf_counter()
    f(x)[0].block_until_ready()
    slow = time.perf_counter() - start > 1e-3
    figures["eager"] = best(lambda: f(x)[0].block_until_ready(), 1 if slow else 10)
    gradient = jax.jit(jax.grad(lambda x: differentiable(x)[0].sum()))
    jax.block_until_ready(gradient(x))
    figures["jit(grad)"] = best(settled(gradient))
    called = wp.jax_callable(func)
    jitted = jax.jit(lambda x: called(x)[0])
    jax.block_until_ready(jitted(x))
    figures["callable, jitted"] = best(settled(jitted))
    a = wp.ones(64, device=wp.device_from_jax(next(iter(x.devices()))))
    figures["from_jax"] = best(lambda: wp.from_jax(x), 50)
    figures["to_jax"] = best(lambda: wp.to_jax(a))
    plain = jax.jit(lambda x: x + 1)
    plain(x)
    figures["any jitted call"] = best(settled(plain))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--peer", help="a Python that has warp-lang and JAX")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="where JAX runs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each figure of a round")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.seconds)))
        return

    def ask(python: str, clean: bool) -> dict[str, float]:
        env = {k: v for k, v in os.environ.items() if not (clean and k in ("PYTHONPATH", "WEFT_EXTENSION_DIR"))}
        env["JAX_PLATFORMS"] = "cpu" if options.device == "cpu" else "cuda,cpu"
        done = subprocess.run([python, __file__, "--measure", "--seconds", str(options.seconds)], env=env, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr[-2000:])
        return json.loads(done.stdout.strip().splitlines()[-1])

    ours: dict[str, float] = {}
    theirs: dict[str, float] = {}
    for _ in range(options.rounds):
        for figures, python, clean in ((ours, sys.executable, False), (theirs, options.peer, True)):
            if python:
                for name, value in ask(python, clean).items():
                    figures[name] = min(value, figures.get(name, value))
    print(f"{'µs':28}{'ours':>10}{'peer':>12}{'ratio':>9}   goal")
    for name, value in ours.items():
        peer = theirs.get(name)
        goal = GOALS.get(name)
        shown = "" if goal is None else f"≤ {goal[0]} µs, {goal[1]} ×"
        print(f"{name:28}{value:10.2f}{peer or float('nan'):12.2f}{(peer or float('nan')) / value:9.1f}   {shown}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"ours": ours, "peer": theirs}, file, indent=1)


if __name__ == "__main__":
    main()
