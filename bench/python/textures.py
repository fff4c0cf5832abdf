#!/usr/bin/env python3
"""Textures: samples of images and blocks, beside PyPI's warp-lang.

    textures.py [--peer PYTHON] [--samples N] [--device cuda] [--rounds N] [--processor-time] [--cores]

This interpreter imports Weft's `warp`, PEER's has warp-lang. Both run the same program (this file with --measure) in turns;
of each figure the best counts. Images are 1024 by 1024, blocks 128 cubed; places are random, or go row by row as a renderer's do.
`backward` is the adjoint of `linear 4`. Figures are millions of samples a second; with --processor-time of a core, which
counts in favour of programs that use one thread.
"""

from __future__ import annotations

import argparse
import json

import numpy as np
from sampling import compare, options_of, rates


def measure(options: argparse.Namespace) -> dict[str, float]:
    import warp as wp

    count, device = options.samples, options.device
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
        # Adjoints use up what they were given.
        figures.update(rates(calls, order, options, {"backward 4": lambda: vector.grad.fill_(1.0)}))
    return figures


def main() -> None:
    options = options_of(__doc__)
    if options.measure:
        print(json.dumps(measure(options)))
        return
    compare(__file__, options)


if __name__ == "__main__":
    main()
