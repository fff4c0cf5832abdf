"""Waves on a pond: the two-dimensional wave equation, with NumPy at both ends.

The first drops come from a NumPy array and the energy is added up by NumPy on a view of the kernel's memory: no copies.

    python examples/python/waves.py [--quick] [--output waves.png]
"""

import argparse
import pathlib

import numpy as np
import warp as wp

from picture import Progress, write_png


@wp.kernel
def step(now: wp.array2d(dtype=float), before: wp.array2d(dtype=float), speed: float, damping: float):
    """The explicit scheme of second order; `before` becomes the next state. Edges hold the water still."""
    y, x = wp.tid()
    if y > 0 and x > 0 and y < now.shape[0] - 1 and x < now.shape[1] - 1:
        laplacian = now[y, x - 1] + now[y, x + 1] + now[y - 1, x] + now[y + 1, x] - 4.0 * now[y, x]
        before[y, x] = (2.0 * now[y, x] - before[y, x] + speed * speed * laplacian) * damping


@wp.kernel
def shade(height: wp.array2d(dtype=float), pixels: wp.array3d(dtype=wp.uint8)):
    """Light from one side, a highlight, colour by height."""
    y, x = wp.tid()
    left = height[y, wp.max(x - 1, 0)]
    right = height[y, wp.min(x + 1, height.shape[1] - 1)]
    up = height[wp.max(y - 1, 0), x]
    down = height[wp.min(y + 1, height.shape[0] - 1), x]
    normal = wp.normalize(wp.vec3(left - right, up - down, 0.06))
    light = wp.normalize(wp.vec3(-0.5, -0.6, 0.7))
    diffuse = wp.max(wp.dot(normal, light), 0.0)
    glint = wp.pow(wp.max(wp.dot(normal, wp.normalize(light + wp.vec3(0.0, 0.0, 1.0))), 0.0), 60.0)
    base = wp.lerp(wp.vec3(0.01, 0.10, 0.22), wp.vec3(0.10, 0.62, 0.62), wp.clamp(0.5 + 2.0 * height[y, x], 0.0, 1.0))
    color = base * (0.25 + 0.9 * diffuse) + wp.vec3(0.9, 0.95, 1.0) * glint
    for k in range(3):
        pixels[y, x, k] = wp.uint8(255.0 * wp.sqrt(wp.clamp(color[k], 0.0, 1.0)))


def drops(size: int, number: int) -> np.ndarray:
    """A flat pond with a few round bumps."""
    rng = np.random.default_rng(5)
    y, x = np.mgrid[0:size, 0:size].astype(np.float32)
    pond = np.zeros((size, size), dtype=np.float32)
    for cy, cx in rng.uniform(0.15 * size, 0.85 * size, size=(number, 2)):
        pond += np.exp(-((y - cy) ** 2 + (x - cx) ** 2) / (2.0 * (0.008 * size) ** 2)).astype(np.float32)
    return pond


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a puddle")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("waves.png"))
    args = parser.parse_args()
    size, steps = (64, 40) if args.quick else (768, 600)

    now = wp.array(drops(size, 7), dtype=float)
    before = wp.clone(now)  # at rest: before and now are the same
    with Progress("waves", steps) as progress:
        for _ in range(steps):
            wp.launch(step, dim=now.shape, inputs=[now, before, 0.5, 0.9995])
            now, before = before, now
            progress.advance()

    energy = float(np.square(now.numpy()).sum())  # numpy() is a view
    pixels = wp.zeros((size, size, 3), dtype=wp.uint8)
    wp.launch(shade, dim=now.shape, inputs=[now, pixels])
    write_png(args.output, pixels.numpy())
    print(f"{steps} steps on {size}x{size} points, sum of squares {energy:.1f}; wrote {args.output.resolve()}")


if __name__ == "__main__":
    main()
