#!/usr/bin/env python3
"""Volumes: samples of a level set, beside PyPI's warp-lang.

    volumes.py [--peer PYTHON] [--samples N] [--device cuda] [--rounds N] [--processor-time] [--cores]

This interpreter imports Weft's `warp`, PEER's has warp-lang. Both run the same program (this file with --measure) in turns;
of each figure the best counts. The volume is the shell of a ball, some 3000 tiles; places are random among its tiles, or 64
to a ray that marches through them. `index` samples an array by the voxels' indices, `backward` is the adjoint of `linear`.
Figures are millions of samples a second; with --processor-time of a core, which counts in favour of programs that use one
thread. `load` is not beside the peer: what load_from_nvdb takes for a dense grid of 64 MB, beside reading the file and inflating it.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import zlib

import numpy as np
from sampling import compare, options_of, rates

LOAD_GOAL = 1.1  # times reading and inflating


def shell() -> tuple[np.ndarray, np.ndarray]:
    """The tiles around the surface of a ball, and the distances of all of their voxels from it."""
    tiles = np.stack(np.meshgrid(*[np.arange(-128, 128, 8)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    tiles = tiles[np.abs(np.linalg.norm(tiles + 4.0, axis=1) - 100.0) < 8.0]
    inner = np.stack(np.meshgrid(*[np.arange(8)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    voxels = (tiles[:, None] + inner[None]).reshape(-1, 3).astype(np.int32)
    return tiles.astype(np.int32), voxels


def measure(options: argparse.Namespace) -> dict[str, float]:
    import warp as wp

    count, device = options.samples, options.device
    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    wp.init()

    @wp.kernel
    def fill(volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i)):
        v = voxels[wp.tid()]
        p = wp.vec3(float(v[0]), float(v[1]), float(v[2]))
        wp.volume_store_f(volume, v[0], v[1], v[2], wp.length(p) - 100.0)

    @wp.kernel
    def linear(volume: wp.uint64, places: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
        n = wp.tid()
        out[n] = wp.volume_sample_f(volume, places[n], wp.Volume.LINEAR)

    @wp.kernel
    def closest(volume: wp.uint64, places: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
        n = wp.tid()
        out[n] = wp.volume_sample_f(volume, places[n], wp.Volume.CLOSEST)

    @wp.kernel
    def slopes(volume: wp.uint64, places: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
        n = wp.tid()
        g = wp.vec3()
        out[n] = wp.volume_sample_grad_f(volume, places[n], wp.Volume.LINEAR, g) + g[0] + g[1] + g[2]

    @wp.kernel
    def index(volume: wp.uint64, places: wp.array(dtype=wp.vec3), data: wp.array(dtype=float), out: wp.array(dtype=float)):
        n = wp.tid()
        out[n] = wp.volume_sample_index(volume, places[n], wp.Volume.LINEAR, data, 0.0)

    tiles, voxels = shell()
    volume = wp.Volume.allocate_by_tiles(wp.array(tiles, dtype=wp.vec3i, device=device), 1.0, 8.0, device=device)
    wp.launch(fill, len(voxels), [volume.id, wp.array(voxels, dtype=wp.vec3i, device=device)], device=device)
    near = voxels[np.abs(np.linalg.norm(voxels, axis=1) - 100.0) < 3.0]
    sparse = wp.Volume.allocate_by_voxels(wp.array(near, dtype=wp.vec3i, device=device), 1.0, device=device)
    data = wp.zeros(sparse.get_voxel_count(), dtype=float, device=device)
    rng = np.random.default_rng(1)
    random = tiles[rng.integers(0, len(tiles), count)] + rng.uniform(0, 8, (count, 3))
    march = random.reshape(-1, 64, 3)[:, :1] + np.arange(64)[None, :, None] * np.array([0.05, 0.03, 0.04])
    out = wp.zeros(count, dtype=float, device=device, requires_grad=True)
    figures = {}
    for order, where in (("random", random), ("march", march.reshape(-1, 3))):
        places = wp.array(where, dtype=wp.vec3, device=device, requires_grad=True)
        calls = {
            "linear": lambda p=places: wp.launch(linear, count, [volume.id, p], [out], device=device),
            "closest": lambda p=places: wp.launch(closest, count, [volume.id, p], [out], device=device),
            "slopes": lambda p=places: wp.launch(slopes, count, [volume.id, p], [out], device=device),
            "index": lambda p=places: wp.launch(index, count, [sparse.id, p, data], [out], device=device),
            "backward": lambda p=places: wp.launch(
                linear, count, [volume.id, p], [out], adj_inputs=[None, p.grad], adj_outputs=[out.grad], adjoint=True, device=device
            ),
        }
        # Adjoints use up what they were given.
        figures.update(rates(calls, order, options, {"backward": lambda: out.grad.fill_(1.0)}))
    return figures


def load_times(codec: str, rounds: int) -> tuple[float, float]:
    """Seconds that load_from_nvdb takes, and those of reading the file and inflating its grid, each into memory of its own; the
    best of some rounds in turns."""
    import warp as wp

    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    x, y, z = np.meshgrid(*[np.arange(256, dtype=np.float32) - 127.5] * 3, indexing="ij")
    volume = wp.Volume.load_from_numpy(np.sqrt(x * x + y * y + z * z) - 90.0, bg_value=3.0, device="cpu")
    size = volume.array().size
    best = [float("inf"), float("inf")]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "dense.nvdb")
        volume.save_to_nvdb(path, codec=codec)
        del volume
        for _ in range(rounds):
            start = time.perf_counter()
            with open(path, "rb") as file:
                data = file.read()
            if codec == "zip":
                first = 16 + 176 + int.from_bytes(data[152:156], "little") + 8
                zlib.decompress(memoryview(data)[first:], bufsize=size)
            best[1] = min(best[1], time.perf_counter() - start)
            del data
            start = time.perf_counter()
            loaded = wp.Volume.load_from_nvdb(path, device="cpu")
            best[0] = min(best[0], time.perf_counter() - start)
            del loaded
    return best[0], best[1]


def main() -> None:
    options = options_of(__doc__)
    if options.measure:
        print(json.dumps(measure(options)))
        return
    for codec in () if options.cores else ("none", "zip"):
        took, least = load_times(codec, 4)
        print(f"load, codec {codec:6} {1e3 * took:8.1f} ms, reading and inflating {1e3 * least:8.1f} ms: {took / least:.2f} (goal {LOAD_GOAL})")
    compare(__file__, options)


if __name__ == "__main__":
    main()
