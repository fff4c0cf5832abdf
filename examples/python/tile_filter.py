"""A picture is freed from motion blur by Fourier transforms in tiles.

A block loads some rows of a picture as complex numbers, transforms them by tile_fft, and stores them transposed: the next launch
finds columns as rows. In the middle one the spectrum is multiplied by a filter and goes straight back, without leaving the tile:
so a filter of a picture is three launches. The first filter is the blur itself; noise is added; the second one is Wiener's, which
undoes the blur where the noise allows. Left to right: what the camera saw, what was restored, what there was.

    python examples/python/tile_filter.py [--quick] [--output tile_filter.png] [--device cpu]
"""

import argparse
import pathlib
import time

import numpy as np
import warp as wp

from motif import painted
from picture import write_png

ROWS = wp.constant(4)  # of a block


@wp.func
def times(a: wp.vec2, b: wp.vec2):
    """A product of complex numbers."""
    return wp.vec2(a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])


@wp.func
def wiener(blur: wp.vec2, noise: float):
    """What undoes a blur as well as it can be done: about 1 / blur where it is large, and 0 where there is only noise."""
    return wp.vec2(blur[0], -blur[1]) / (wp.dot(blur, blur) + noise)


@wp.func
def scaled(a: wp.vec2, by: float):
    return a * by


def make_passes(size: int) -> tuple[wp.Kernel, wp.Kernel, wp.Kernel]:
    """The three launches of a filter for pictures of `size` by `size`. Colours are planes of their own."""

    @wp.kernel(module="unique", enable_backward=False)
    def rows(picture: wp.array3d(dtype=wp.vec2), turned: wp.array3d(dtype=wp.vec2)):
        plane, i = wp.tid()
        t = wp.tile_load(picture[plane], shape=(ROWS, size), offset=(i * ROWS, 0))
        wp.tile_fft(t)
        wp.tile_store(turned[plane], wp.tile_transpose(t), offset=(0, i * ROWS))

    @wp.kernel(module="unique", enable_backward=False)
    def columns(turned: wp.array3d(dtype=wp.vec2), answer: wp.array3d(dtype=wp.vec2), noise: float):
        """By the spectrum of a blur, or by its inverse where a level of noise is given."""
        plane, i = wp.tid()
        h = wp.tile_load(answer[0], shape=(ROWS, size), offset=(i * ROWS, 0))
        t = wp.tile_load(turned[plane], shape=(ROWS, size), offset=(i * ROWS, 0))
        wp.tile_fft(h)
        wp.tile_fft(t)
        if noise > 0.0:
            h = wp.tile_map(wiener, h, noise)
        t = wp.tile_map(times, t, h)
        wp.tile_ifft(t)
        wp.tile_store(turned[plane], t, offset=(i * ROWS, 0))

    @wp.kernel(module="unique", enable_backward=False)
    def rows_back(turned: wp.array3d(dtype=wp.vec2), picture: wp.array3d(dtype=wp.vec2)):
        plane, i = wp.tid()
        t = wp.tile_load(turned[plane], shape=(size, ROWS), offset=(0, i * ROWS))
        back = wp.tile_zeros(shape=(ROWS, size), dtype=wp.vec2)
        wp.tile_assign(back, wp.tile_transpose(t))
        wp.tile_ifft(back)
        wp.tile_store(picture[plane], wp.tile_map(scaled, back, 1.0 / float(size * size)), offset=(i * ROWS, 0))

    return rows, columns, rows_back


class Filter:
    """Filters pictures of one size."""

    def __init__(self, size: int, device: str) -> None:
        self.rows, self.columns, self.rows_back = make_passes(size)
        self.blocks, self.device = size // ROWS, device

    def launch(self, kernel: wp.Kernel, planes: int, inputs: list) -> None:
        """Blocks for all rows of all planes."""
        wp.launch_tiled(kernel, dim=(planes, self.blocks), inputs=inputs, block_dim=64, device=self.device)

    def run(self, picture: wp.array, spread: wp.array, noise: float) -> wp.array:
        """The picture blurred as a point is by `spread`; with a level of noise: freed from such a blur."""
        answer, turned, out = (wp.zeros_like(like) for like in (spread, picture, picture))
        self.launch(self.rows, 1, [spread, answer])
        self.launch(self.rows, 3, [picture, turned])
        self.launch(self.columns, 3, [turned, answer, noise])
        self.launch(self.rows_back, 3, [turned, out])
        return out


def moved_point(size: int) -> np.ndarray:
    """What a point becomes while the camera moves: a slanted line around the corner, that wraps around. Its sum is 1."""
    spread = np.zeros((size, size))
    for s in np.linspace(-1.0, 1.0, 16 * size):
        y, x = -0.018 * size * s, 0.05 * size * s
        iy, ix = int(np.floor(y)), int(np.floor(x))
        for dy, dx, part in ((0, 0, (1 - y + iy) * (1 - x + ix)), (0, 1, (1 - y + iy) * (x - ix)),
                             (1, 0, (y - iy) * (1 - x + ix)), (1, 1, (y - iy) * (x - ix))):  # fmt: skip
            spread[(iy + dy) % size, (ix + dx) % size] += part
    return spread / spread.sum()


def as_complex(planes: np.ndarray, device: str) -> wp.array:
    """Numbers as complex ones."""
    return wp.array(np.stack([planes, np.zeros_like(planes)], axis=-1), dtype=wp.vec2, device=device)


def decibels(picture: np.ndarray, truth: np.ndarray) -> float:
    """How like the truth a picture is."""
    return float(-10.0 * np.log10(np.square(picture - truth).mean()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small picture")
    parser.add_argument("--size", type=int, default=256, help="pixels along a side: a multiple of 4 of small factors")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("tile_filter.png"))
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    size, rounds = (48, 2) if args.quick else (args.size, 9)

    truth = painted(size, size, 4, args.device).numpy().transpose(2, 0, 1).astype(np.float64)
    spread = moved_point(size)
    points = as_complex(spread[None], args.device)
    filters = Filter(size, args.device)
    seen = filters.run(as_complex(truth, args.device), points, 0.0).numpy()[..., 0]
    exact = np.fft.ifft2(np.fft.fft2(truth) * np.fft.fft2(spread)).real
    off = np.abs(seen - exact).max()
    assert off < 1e-5, f"the blur is off by {off}"
    seen = seen + np.random.default_rng(6).normal(scale=0.004, size=seen.shape)
    camera = as_complex(seen, args.device)
    times_taken, others = [], []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        restored = filters.run(camera, points, 2e-3)
        wp.synchronize_device(args.device)
        times_taken.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        blur = np.fft.fft2(spread.astype(np.complex64))
        np.fft.ifft2(np.fft.fft2(seen.astype(np.complex64)) * (blur.conj() / (np.square(np.abs(blur)) + 2e-3)))
        others.append(time.perf_counter() - begin)
    image = restored.numpy()[..., 0]
    before, after = decibels(seen, truth), decibels(image, truth)
    assert after > before + 2.0, f"restored to {after:.1f} dB from {before:.1f} dB"
    panels = np.concatenate([seen, image, truth], axis=2).transpose(1, 2, 0)
    write_png(args.output, (255.0 * np.clip(panels, 0.0, 1.0) + 0.5).astype(np.uint8))
    print(
        f"{size}x{size} pixels of 3 colours: restored from {before:.1f} to {after:.1f} dB in {1e3 * min(times_taken[1:]):.2f} ms, "
        f"by NumPy {1e3 * min(others[1:]):.2f} ms; the blur differs from NumPy's by {off:.1e}; wrote {args.output.resolve()}"
    )


if __name__ == "__main__":
    main()
