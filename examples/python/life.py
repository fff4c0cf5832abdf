"""Conway's Game of Life in the terminal: small integers, wrapped edges, two arrays that trade places.

python examples/python/life.py [--quick]
"""

import argparse
import sys
import time

import numpy as np
import warp as wp


@wp.kernel
def generation(now: wp.array2d(dtype=wp.uint8), after: wp.array2d(dtype=wp.uint8)):
    y, x = wp.tid()
    rows, columns = now.shape[0], now.shape[1]
    neighbours = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            if dy != 0 or dx != 0:
                neighbours += int(now[(y + dy + rows) % rows, (x + dx + columns) % columns])
    alive = now[y, x] != wp.uint8(0)
    after[y, x] = wp.uint8(neighbours == 3 or (alive and neighbours == 2))


def picture(cells: np.ndarray) -> str:
    """Two rows of cells per line of text."""
    return "\n".join("".join(" ▀▄█"[a + 2 * b] for a, b in zip(*pair)) for pair in zip(cells[::2], cells[1::2]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few generations, drawn once")
    args = parser.parse_args()
    generations = 10 if args.quick else 300

    start = np.random.default_rng(2).random((48, 96)) < 0.2
    now = wp.array(start.astype(np.uint8), dtype=wp.uint8)
    after = wp.zeros_like(now)
    animate = sys.stdout.isatty() and not args.quick
    for _ in range(generations):
        wp.launch(generation, dim=now.shape, inputs=[now, after])
        now, after = after, now
        if animate:
            print("\033[H\033[2J" + picture(now.numpy()))
            time.sleep(0.03)
    if not animate:
        print(picture(now.numpy()))
    print(f"{int(now.numpy().sum())} cells live after {generations} generations")


if __name__ == "__main__":
    main()
