"""A product of matrices by tiles: each block of the launch computes one tile of the result.

The loop over K loads a tile of either matrix and adds their product to a tile that stays where it is until the end. The same
kernel in several tile sizes, each compiled for its own, beside NumPy's product.

    python examples/python/tile_gemm.py [--quick] [--size 512] [--device cpu]
"""

import argparse
import time

import numpy as np
import warp as wp


def make_product(tile: int, depth: int) -> wp.Kernel:
    """A kernel whose blocks compute tiles of `tile` by `tile`, `depth` terms of the sums at a time."""

    @wp.kernel(module="unique", enable_backward=False)
    def product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
        i, j = wp.tid()
        total = wp.tile_zeros(shape=(tile, tile), dtype=float)
        # Sizes need not be multiples of the tile's: outside of arrays tile_load reads zeros and tile_store writes nothing.
        for k in range((a.shape[1] + depth - 1) / depth):
            left = wp.tile_load(a, shape=(tile, depth), offset=(i * tile, k * depth))
            right = wp.tile_load(b, shape=(depth, tile), offset=(k * depth, j * tile))
            wp.tile_matmul(left, right, total)
        wp.tile_store(c, total, offset=(i * tile, j * tile))

    return product


def best_time(call, rounds: int) -> float:
    """Seconds of the fastest of some calls: other work on the machine only ever adds."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small matrices")
    parser.add_argument("--size", type=int, default=512, help="rows and columns of both matrices")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    size, rounds = (72, 2) if args.quick else (args.size, 15)

    rng = np.random.default_rng(3)
    a, b = (rng.normal(size=(size, size)).astype(np.float32) for _ in range(2))
    exact = a.astype(np.float64) @ b
    left, right = wp.array(a, dtype=float, device=args.device), wp.array(b, dtype=float, device=args.device)
    result = wp.zeros((size, size), dtype=float, device=args.device)
    work = 2e-9 * size**3

    print(f"{size}x{size}, float32           first launch     GFLOP/s   largest error")
    for tile, depth in ((16, 16), (32, 32), (64, 16), (64, 64)):
        kernel = make_product(tile, depth)
        blocks = (size + tile - 1) // tile

        def launch(kernel=kernel, blocks=blocks):
            wp.launch_tiled(kernel, dim=(blocks, blocks), inputs=[left, right, result], block_dim=64, device=args.device)
            wp.synchronize_device(args.device)

        first = best_time(launch, 1)
        took = best_time(launch, rounds)
        off = float(np.abs(result.numpy() - exact).max())
        assert off < 1e-5 * size, f"tiles of {tile}: off by {off}"
        print(f"tiles {tile:2}x{tile:2}, {depth:2} deep       {1e3 * first:8.1f} ms  {work / took:10.1f}   {off:.1e}")
    took = best_time(lambda: a @ b, rounds)
    print(f"NumPy                                      {work / took:10.1f}   {np.abs(a @ b - exact).max():.1e}")


if __name__ == "__main__":
    main()
