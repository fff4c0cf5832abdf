#!/usr/bin/env python3
"""Backward passes against forward ones and against PyPI's warp-lang, in one run.

    gradients.py [--peer PYTHON] [--device NAME] [--json FILE]

Runs itself with PEER's interpreter, which has warp-lang. Figures are millions of springs, interactions, steps or samples
a second; on a GPU there is 16 times the work. The goals are five times warp-lang's backward speed, and at most three times our own forward time where nothing
is computed twice.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time

import numpy as np
import others
import warp as wp
from springs import spring_forces

wp.config.quiet = True
wp.config.first_versions = False  # full ones are what is measured


@wp.kernel
def n_body(x: wp.array(dtype=wp.vec3), n: int, f: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p = x[i]
    a = wp.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        d = x[j] - p
        inverse = 1.0 / wp.sqrt(wp.dot(d, d) + 0.01)
        a += d * (inverse * inverse * inverse)
    f[i] = a


@wp.kernel
def hundred_steps(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p = x[i]
    q = v[i]
    for _step in range(100):
        a = -p * 0.5 - q * (0.1 * wp.length(q))
        q = q + a * 0.01
        p = p + q * 0.01
    out[i] = p


@wp.kernel
def small_network(
    x: wp.array(dtype=wp.vec4), w1: wp.array(dtype=wp.mat44), w2: wp.array(dtype=wp.mat44), y: wp.array(dtype=float)
):
    i = wp.tid()
    h = w1[0] * x[i]
    g = w2[0] * wp.vec4(wp.tanh(h[0]), wp.tanh(h[1]), wp.tanh(h[2]), wp.tanh(h[3]))
    y[i] = wp.tanh(g[0]) + wp.tanh(g[1]) + wp.tanh(g[2]) + wp.tanh(g[3])


def best(run, rounds: int = 9) -> float:
    """Seconds of the fastest of some runs."""
    least = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - start)
    return least


def measure() -> dict[str, list[float]]:
    """For each case: forward and backward speed on the current device."""
    random = np.random.default_rng(0)
    more = 16 if wp.get_device().is_cuda else 1
    points, springs, samples, bodies, bundles = more << 18, more << 20, more << 20, 2048 * int(more**0.5), more << 16

    def vectors(count: int, dtype: type, width: int) -> wp.array:
        return wp.array(random.normal(size=(count, width)).astype(np.float32), dtype=dtype, requires_grad=True)

    number = np.arange(springs)
    ends = np.stack([number % points, (number + 1 + number // points) % points], 1).astype(np.int32)
    x, v = vectors(points, wp.vec3, 3), vectors(points, wp.vec3, 3)
    f, out = (wp.zeros(points, dtype=wp.vec3, requires_grad=True) for _ in range(2))
    rest = wp.array(np.ones(springs), dtype=float, requires_grad=True)
    w1, w2 = (wp.array(random.normal(size=(1, 4, 4)), dtype=wp.mat44, requires_grad=True) for _ in range(2))
    y = wp.zeros(samples, dtype=float, requires_grad=True)
    cases = {
        "mass-spring forces": (spring_forces, springs, [x, wp.array(ends, dtype=wp.vec2i), rest, 10.0], [f], springs),
        "n-body": (n_body, bodies, [x, bodies], [f], bodies * bodies),
        "100 steps in one kernel": (hundred_steps, bundles, [x, v], [out], 100 * bundles),
        "small network per thread": (small_network, samples, [vectors(samples, wp.vec4, 4), w1, w2], [y], samples),
    }
    speeds = {}
    for name, (kernel, dim, inputs, outputs, work) in cases.items():

        def launch(k=kernel, d=dim, i=inputs, o=outputs) -> None:
            wp.launch(k, d, i, o)
            wp.synchronize_device()

        tape = wp.Tape()
        with tape:
            launch()

        def back(tape=tape) -> None:
            tape.backward()
            wp.synchronize_device()

        forward = best(launch)
        for one in outputs:
            one.grad.fill_(1.0)
        backward = best(back)
        speeds[name] = [work / forward / 1e6, work / backward / 1e6]
    return speeds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="a Python that has warp-lang")
    parser.add_argument("--device", help="cpu, if nothing is said")
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    with wp.ScopedDevice(args.device or "cpu"):
        own = measure()
    if args.measure:
        print(json.dumps(own))
        return 0
    peer: dict[str, list[float]] = {}
    guard = others.Peers()
    if args.peer:
        command = (os.path.abspath(__file__), "--measure", "--device", args.device or "cpu")
        peer = guard.take("warp-lang", lambda: others.run(args.peer, *command, is_peer=True)) or {}
    print(f"{'M/s':28}{'forward':>10}{'backward':>10}{'back/forth':>12}{'warp-lang':>20}{'backward ratio':>16}")
    for name, (forward, backward) in own.items():
        line = f"{name:28}{forward:10.1f}{backward:10.1f}{forward / backward:12.2f}"
        if name in peer:
            line += f"{peer[name][0]:10.1f}{peer[name][1]:10.1f}{backward / peer[name][1]:15.1f}x"
        print(line)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"weft": own, "warp-lang": peer, "failed": guard.failed}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
