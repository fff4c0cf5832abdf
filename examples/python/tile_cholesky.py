"""Many systems of equations at once, each solved by blocks: a Cholesky factorisation whose tiles are parts of one matrix.

A block of the launch has one system of 96 unknowns, more than a tile should hold: it goes over the matrix in tiles of 16 by 16.
Tiles of the factor are stored as they are found and loaded again for those to the right of and below them; the right side stays
one tile, that products and solves change through windows. This is how simulators solve for the forces of their joints.
Compared with NumPy's solver for stacks of matrices.

    python examples/python/tile_cholesky.py [--quick] [--systems 512] [--device cpu]
"""

import argparse
import time

import numpy as np
import warp as wp

TILE = wp.constant(16)


def make_solver(size: int) -> wp.Kernel:
    """A kernel for systems of `size` unknowns, a multiple of the tile's."""

    @wp.kernel(module="unique", enable_backward=False)
    def solve(
        matrices: wp.array3d(dtype=float),
        rights: wp.array2d(dtype=float),
        factors: wp.array3d(dtype=float),
        unknowns: wp.array2d(dtype=float),
    ):
        system = wp.tid()
        a = matrices[system]
        l = factors[system]
        # The factor, column of tiles by column of tiles.
        for k in range(0, size, TILE):
            pivot = wp.tile_load(a, shape=(TILE, TILE), offset=(k, k))
            for j in range(0, k, TILE):
                row = wp.tile_load(l, shape=(TILE, TILE), offset=(k, j))
                wp.tile_matmul(row, wp.tile_transpose(row), pivot, alpha=-1.0)
            wp.tile_cholesky_inplace(pivot)
            wp.tile_store(l, pivot, offset=(k, k))
            for i in range(k + TILE, size, TILE):
                below = wp.tile_load(a, shape=(TILE, TILE), offset=(i, k))
                for j in range(0, k, TILE):
                    left = wp.tile_load(l, shape=(TILE, TILE), offset=(i, j))
                    row = wp.tile_load(l, shape=(TILE, TILE), offset=(k, j))
                    wp.tile_matmul(left, wp.tile_transpose(row), below, alpha=-1.0)
                # below = L_ik pivotᵀ, so the solve is that of its transpose, through a window.
                wp.tile_lower_solve_inplace(pivot, wp.tile_transpose(below))
                wp.tile_store(l, below, offset=(i, k))
        # L y = b, then Lᵀ x = y, in the same tile.
        x = wp.tile_load(rights[system], shape=size)
        column = wp.tile_reshape(x, shape=(size, 1))
        for i in range(0, size, TILE):
            part = wp.tile_view(column, offset=(i, 0), shape=(TILE, 1))
            for j in range(0, i, TILE):
                known = wp.tile_view(column, offset=(j, 0), shape=(TILE, 1))
                wp.tile_matmul(wp.tile_load(l, shape=(TILE, TILE), offset=(i, j)), known, part, alpha=-1.0)
            wp.tile_lower_solve_inplace(wp.tile_load(l, shape=(TILE, TILE), offset=(i, i)), part)
        for back in range(0, size, TILE):
            i = size - TILE - back
            part = wp.tile_view(column, offset=(i, 0), shape=(TILE, 1))
            for j in range(i + TILE, size, TILE):
                known = wp.tile_view(column, offset=(j, 0), shape=(TILE, 1))
                below = wp.tile_load(l, shape=(TILE, TILE), offset=(j, i))
                wp.tile_matmul(wp.tile_transpose(below), known, part, alpha=-1.0)
            diagonal = wp.tile_load(l, shape=(TILE, TILE), offset=(i, i))
            wp.tile_upper_solve_inplace(wp.tile_transpose(diagonal), part)
        wp.tile_store(unknowns[system], x)

    return solve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few small systems")
    parser.add_argument("--systems", type=int, default=512)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    size, systems, rounds = (32, 8, 2) if args.quick else (96, args.systems, 9)

    rng = np.random.default_rng(4)
    roots = rng.normal(size=(systems, size, size)).astype(np.float32)
    matrices = roots @ roots.transpose(0, 2, 1) + size * np.eye(size, dtype=np.float32)
    rights = rng.normal(size=(systems, size)).astype(np.float32)
    a, b = (wp.array(values, dtype=float, device=args.device) for values in (matrices, rights))
    factors, x = wp.zeros_like(a), wp.zeros_like(b)
    solver = make_solver(size)

    times, others = [], []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        wp.launch_tiled(solver, dim=systems, inputs=[a, b], outputs=[factors, x], block_dim=64, device=args.device)
        wp.synchronize_device(args.device)
        times.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        theirs = np.linalg.solve(matrices, rights[..., None])[..., 0]
        others.append(time.perf_counter() - begin)

    left_over = np.abs(np.einsum("sij,sj->si", matrices.astype(np.float64), x.numpy()) - rights).max()
    assert left_over < 1e-4, f"the equations hold only to {left_over}"
    off = np.abs(factors.numpy() @ factors.numpy().transpose(0, 2, 1) - matrices).max() / np.abs(matrices).max()
    each, other = (1e6 * min(t[1:]) / systems for t in (times, others))
    print(
        f"{systems} systems of {size} unknowns in tiles of {TILE}x{TILE}: {each:.1f} µs each, NumPy's solver {other:.1f} µs; "
        f"the first launch took {1e3 * times[0]:.0f} ms. Equations hold to {left_over:.1e}, L Lᵀ is A to {off:.1e}, "
        f"unknowns differ from NumPy's by {np.abs(theirs - x.numpy()).max():.1e}"
    )


if __name__ == "__main__":
    main()
