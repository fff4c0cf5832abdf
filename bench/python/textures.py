#!/usr/bin/env python3
"""Textures: samples of images and blocks, beside PyPI's warp-lang.

    textures.py [--peer PYTHON] [--samples N] [--device cuda] [--rounds N] [--processor-time]

This interpreter imports Weft's `warp`, PEER's has warp-lang. Both run the same program (this file with --measure) in turns;
of each figure the best counts. Images are 1024 by 1024, blocks 128 cubed; places are random, or go row by row as a renderer's do.
`backward` is the adjoint of `linear 4`. Figures are millions of samples a second; with --processor-time of a core, which
counts in favour of programs that use one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

GOAL = 3.0  # times the peer's, on a core; on a GPU 1


def measure(count: int, device: str, processor_time: bool) -> dict[str, float]:
    import warp as wp

    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    wp.init()

    @wp.kernel
    def one(tex: wp.Texture2D, places: wp.array(dtype=wp.vec2), out: wp.array(dtype=float)):
        n = wp.tid()
        out[n] = wp.texture_sample(tex, places[n], dtype=float)

    @wp.kernel
    def four(tex: wp.Texture2D, places: wp.array(dtype=wp.vec2), out: wp.array(dtype=wp.vec4)):
        n = wp.tid()
        out[n] = wp.texture_sample(tex, places[n], dtype=wp.vec4)

    @wp.kernel
    def detail(tex: wp.Texture2D, places: wp.array(dtype=wp.vec2), out: wp.array(dtype=wp.vec4)):
        n = wp.tid()
        out[n] = wp.texture_sample(tex, places[n], dtype=wp.vec4, lod=1.5)

    @wp.kernel
    def block(tex: wp.Texture3D, places: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
        n = wp.tid()
        out[n] = wp.texture_sample(tex, places[n], dtype=float)

    rng = np.random.default_rng(1)
    image = rng.uniform(0, 1, (1024, 1024, 4)).astype(np.float32)
    bytes_ = rng.integers(0, 256, (1024, 1024, 4), dtype=np.uint8)
    cube = rng.uniform(0, 1, (128, 128, 128)).astype(np.float32)
    wrap, closest = wp.TextureAddressMode.WRAP, wp.TextureFilterMode.CLOSEST
    single = wp.Texture2D(np.ascontiguousarray(image[..., 0]), device=device)
    rgba = wp.Texture2D(image, device=device)
    small = wp.Texture2D(bytes_, device=device)
    wrapped = wp.Texture2D(image, address_mode=wrap, device=device)
    nearest = wp.Texture2D(image, filter_mode=closest, device=device)
    levels = wp.Texture2D(image, num_mip_levels=0, device=device)
    solid = wp.Texture3D(cube, device=device)
    number = wp.zeros(count, dtype=float, device=device)
    vector = wp.zeros(count, dtype=wp.vec4, device=device, requires_grad=True)
    side = int(count**0.5)
    ordered = np.stack(np.meshgrid(*[(np.arange(side) + 0.25) / side] * 2, indexing="xy"), -1).reshape(-1, 2)
    ordered = np.resize(ordered, (count, 2))
    clock = time.process_time if processor_time else time.perf_counter
    figures = {}
    for order, where in (("random", rng.uniform(0, 1, (count, 2))), ("rows", ordered)):
        places = wp.array(where.astype(np.float32), dtype=wp.vec2, device=device, requires_grad=True)
        third = np.concatenate([where, where[:, :1] * 0.5 + 0.25], 1).astype(np.float32)
        inside = wp.array(third, dtype=wp.vec3, device=device)

        def on(kernel, tex, out, at=places):
            return lambda: wp.launch(kernel, count, [tex, at], [out], device=device)

        calls = {
            "linear 1": on(one, single, number),
            "linear 4": on(four, rgba, vector),
            "bytes 4": on(four, small, vector),
            "wrap 4": on(four, wrapped, vector),
            "closest 4": on(four, nearest, vector),
            "levels 4": on(detail, levels, vector),
            "block 1": on(block, solid, number, inside),
            "backward 4": lambda p=places: wp.launch(
                four, count, [rgba, p], [vector], adj_inputs=[None, p.grad], adj_outputs=[vector.grad], adjoint=True, device=device
            ),
        }
        for name, call in calls.items():
            best = float("inf")
            for _ in range(6):
                start = clock()
                call()
                wp.synchronize_device(device)
                best = min(best, clock() - start)
            figures[f"{name} {order}"] = count / best / 1e6
    return figures


def run(python: str, arguments: list[str]) -> dict[str, float]:
    environment = dict(os.environ)
    if python != sys.executable:
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [python, os.path.abspath(__file__), "--measure", *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer")
    parser.add_argument("--samples", type=int, default=1 << 20)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.samples, options.device, options.processor_time)))
        return
    passed = ["--samples", str(options.samples), "--device", options.device]
    passed += ["--processor-time"] if options.processor_time else []
    best: dict[str, dict[str, float]] = {}
    for _ in range(options.rounds):
        for who, python in (("weft", sys.executable), ("peer", options.peer)):
            for name, figure in run(python, passed).items() if python else ():
                mine = best.setdefault(name, {})
                mine[who] = max(mine.get(who, 0.0), figure)
    for name, figures in best.items():
        ratio = f"{figures['weft'] / figures['peer']:6.2f} times (goal {GOAL})" if "peer" in figures else ""
        print(f"{name:18}" + "".join(f"{who} {figure:8.2f} M/s  " for who, figure in figures.items()) + ratio)


if __name__ == "__main__":
    main()
