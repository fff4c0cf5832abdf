"""The Mandelbrot set: one thread per pixel, a loop that ends early, smooth colours.

python examples/python/mandelbrot.py [--quick] [--output mandelbrot.png]
"""

import argparse
import pathlib
import time

import warp as wp

from picture import write_png

SAMPLES = wp.constant(3)  # 3 x 3 points per pixel


@wp.func
def escape_time(c: wp.vec2, limit: int):
    """Iterations until z*z + c leaves a large disc, with a fraction so that colours don't step; -1: never."""
    z = wp.vec2()
    for k in range(limit):
        z = wp.vec2(z[0] * z[0] - z[1] * z[1], 2.0 * z[0] * z[1]) + c
        r2 = wp.length_sq(z)
        if r2 > 1.0e4:
            return float(k) + 1.0 - wp.log2(0.5 * wp.log2(r2))
    return -1.0


@wp.func
def palette(t: float):
    """Iterations to colour: a cosine per channel (Quilez 1999)."""
    if t < 0.0:
        return wp.vec3()
    x = 0.5 * wp.log(1.0 + t)
    return wp.vec3(0.5 - 0.5 * wp.cos(x * 2.6), 0.5 - 0.5 * wp.cos(x * 2.4 + 0.3), 0.5 - 0.5 * wp.cos(x * 2.0 + 0.9))


@wp.kernel
def draw(center: wp.vec2, width: float, limit: int, pixels: wp.array3d(dtype=wp.uint8)):
    row, column = wp.tid()
    scale = width / float(pixels.shape[1])
    total = wp.vec3()
    for s in range(SAMPLES * SAMPLES):
        x = float(column) - 0.5 * float(pixels.shape[1]) + (float(s % SAMPLES) + 0.5) / float(SAMPLES)
        y = float(row) - 0.5 * float(pixels.shape[0]) + (float(s // SAMPLES) + 0.5) / float(SAMPLES)
        total += palette(escape_time(center + wp.vec2(x, -y) * scale, limit))
    for k in range(3):
        pixels[row, column, k] = wp.uint8(255.0 * total[k] / float(SAMPLES * SAMPLES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small picture")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("mandelbrot.png"))
    args = parser.parse_args()
    height, width, limit = (54, 96, 100) if args.quick else (720, 1280, 1000)

    pixels = wp.zeros((height, width, 3), dtype=wp.uint8)
    view = [wp.vec2(-0.7475, 0.1217), 0.018, limit]
    wp.load_module()
    begin = time.perf_counter()
    wp.launch(draw, dim=(height, width), inputs=[*view, pixels])
    seconds = time.perf_counter() - begin
    write_png(args.output, pixels.numpy())
    print(f"{width}x{height} pixels, {SAMPLES * SAMPLES} points each: {1e3 * seconds:.0f} ms")
    print(f"wrote {args.output.resolve()}")


if __name__ == "__main__":
    main()
