#!/usr/bin/env python3
"""wp.MarchingCubes against PyPI's warp-lang, measured in the same run.

    marching_cubes.py [--peer PYTHON] [--device cpu] [--size N] [--rounds N] [--json FILE]
    marching_cubes.py measure DEVICE SIZE      one installation: prints a JSON object of seconds

This interpreter must import Weft's `warp`, PEER's warp-lang. The fields lie on a grid of SIZE nodes along each axis: a ball,
a gyroid (a surface all over the grid), and noise, where nearly every cell has triangles. "backward" goes back over a tape
from all vertices to the field. The two are measured in turns; of all repetitions the fastest counts.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any, Callable

import numpy as np
import others


def best(call: Callable[[], Any], seconds: float = 1.5) -> float:
    """Seconds of the fastest call, of at least three."""
    call()
    times: list[float] = []
    begun = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - begun < seconds and len(times) < 1000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def fields(size: int) -> dict[str, np.ndarray]:
    x, y, z = np.meshgrid(*(np.linspace(-1, 1, size, dtype=np.float32),) * 3, indexing="ij", sparse=True)
    turns = np.float32(0.12 * size)  # about sixteen nodes a period
    return {
        "ball": np.sqrt(x * x + y * y + z * z) - np.float32(0.8),
        "gyroid": np.sin(turns * x) * np.cos(turns * y)
        + np.sin(turns * y) * np.cos(turns * z)
        + np.sin(turns * z) * np.cos(turns * x),
        "noise": np.random.default_rng(1).standard_normal((size,) * 3).astype(np.float32),
    }


def measure(device: str, size: int) -> dict[str, Any]:
    """Seconds of each call by the `warp` that this interpreter has, and the numbers of triangles."""
    import warp as wp

    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    wp.init()
    wp.set_device(device)
    out: dict[str, Any] = {}
    for name, values in fields(size).items():
        field = wp.array(values, dtype=float, requires_grad=True)
        cubes = wp.MarchingCubes(size, size, size)

        def extract(cubes: Any = cubes, field: Any = field) -> None:
            cubes.surface(field, 0.0)
            wp.synchronize_device(device)

        out[name] = best(extract)
        out[f"{name} triangles"] = len(cubes.indices) // 3
        if name == "gyroid":
            with wp.Tape() as tape:
                cubes.surface(field, 0.0)
            ones = wp.full(len(cubes.verts), wp.vec3(1.0, 1.0, 1.0), dtype=wp.vec3)

            def backward(tape: Any = tape, cubes: Any = cubes, ones: Any = ones) -> None:
                tape.backward(grads={cubes.verts: ones})
                wp.synchronize_device(device)

            out["gyroid, backward"] = best(backward)
    return out


def fastest(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: min(r[name] for r in rounds) for name in rounds[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="an interpreter that has PyPI's warp-lang")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", help="a file that takes all figures")
    options = parser.parse_args()
    ours, peers = [], []
    guard, command = others.Peers(), (os.path.abspath(__file__), "measure", options.device, str(options.size))
    for _ in range(options.rounds):
        ours.append(others.run(sys.executable, *command))
        if options.peer:
            found = guard.take("warp-lang", lambda: others.run(options.peer, *command, is_peer=True))
            peers += [found] if found else []
    mine, peer = fastest(ours), fastest(peers) if peers else {}
    print(f"{options.size}³ nodes on {options.device}, {len(os.sched_getaffinity(0))} processors")
    print(f"{'':18}{'triangles':>11}{'Weft':>13}{'warp-lang':>13}{'ratio':>7}")
    for name, seconds in mine.items():
        if name.endswith("triangles"):
            continue
        line = f"{name:18}{mine.get(f'{name} triangles', ''):>11}{seconds * 1e3:10.2f} ms"
        if peer:
            line += f"{peer[name] * 1e3:10.2f} ms{peer[name] / seconds:7.1f}"
        print(line)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"weft": mine, "warp-lang": peer, "failed": guard.failed}, file, indent=1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
    else:
        main()
