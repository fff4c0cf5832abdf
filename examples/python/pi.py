"""Pi by throwing darts: random numbers and atomics.

python examples/python/pi.py [--quick]
"""

import argparse
import math

import warp as wp


@wp.kernel
def throw(seed: int, darts: int, hits: wp.array(dtype=wp.int64)):
    """Each thread throws its own darts and adds its hits to the sum once."""
    state = wp.rand_init(seed, wp.tid())
    inside = 0
    for _dart in range(darts):
        x = wp.randf(state)
        y = wp.randf(state)
        if x * x + y * y < 1.0:
            inside += 1
    wp.atomic_add(hits, 0, wp.int64(inside))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer darts")
    args = parser.parse_args()
    threads, darts = (1_000, 100) if args.quick else (100_000, 2_000)

    hits = wp.zeros(1, dtype=wp.int64)
    wp.launch(throw, dim=threads, inputs=[7, darts, hits])
    thrown = threads * darts
    estimate = 4.0 * int(hits[0]) / thrown
    # The standard error of the mean of a yes-or-no experiment, times 4.
    error = 4.0 * math.sqrt(math.pi / 4 * (1 - math.pi / 4) / thrown)
    print(f"pi is about {estimate:.6f} after {thrown:,} darts")
    print(f"off by {abs(estimate - math.pi):.6f}, expected about {error:.6f}")


if __name__ == "__main__":
    main()
