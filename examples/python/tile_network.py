"""A small network learns a picture: from the coordinates of a pixel to its colour, forward and backward by tiles.

A block takes 64 pixels: their coordinates become waves of many lengths and directions (Tancik et al. 2020), and three layers
follow, each a product of tiles, a bias that is broadcast, and a map. The loss of a block is a sum over its last tile. All of
it is one kernel: a tape runs its adjoint, which adds the gradient of these 64 pixels to that of the weights. The steps are
Adam's, by another kernel. The picture shows what was learned after a few, some, and all steps; on the right is what there was
to learn.

    python examples/python/tile_network.py [--quick] [--output tile_network.png] [--device cpu]
"""

import argparse
import pathlib
import time

import numpy as np
import warp as wp

from motif import painted
from picture import Progress, write_png

PIXELS = wp.constant(64)  # of a block
WAVES = wp.constant(64)
HIDDEN = wp.constant(64)


@wp.struct
class Layer:
    """Weights, and a column of biases."""

    weights: wp.array2d(dtype=float)
    bias: wp.array2d(dtype=float)


@wp.func
def leaky(x: float):
    """Slopes 1 and 0.01."""
    return wp.max(x, 0.01 * x)


@wp.func
def sigmoid(x: float):
    """Colours lie between 0 and 1."""
    return 1.0 / (1.0 + wp.exp(-x))


@wp.func
def colours(waves: Layer, first: Layer, second: Layer, last: Layer, places: wp.tile[float, 2, PIXELS]):
    """The network: colours of the pixels at these places, one in each column."""
    angles = wp.tile_matmul(wp.tile_load(waves.weights, shape=(WAVES, 2)), places)
    angles += wp.tile_broadcast(wp.tile_load(waves.bias, shape=(WAVES, 1)), shape=(WAVES, PIXELS))
    x = wp.tile_map(wp.sin, angles)
    y = wp.tile_matmul(wp.tile_load(first.weights, shape=(HIDDEN, WAVES)), x)
    y += wp.tile_broadcast(wp.tile_load(first.bias, shape=(HIDDEN, 1)), shape=(HIDDEN, PIXELS))
    y = wp.tile_map(leaky, y)
    z = wp.tile_matmul(wp.tile_load(second.weights, shape=(HIDDEN, HIDDEN)), y)
    z += wp.tile_broadcast(wp.tile_load(second.bias, shape=(HIDDEN, 1)), shape=(HIDDEN, PIXELS))
    z = wp.tile_map(leaky, z)
    out = wp.tile_matmul(wp.tile_load(last.weights, shape=(3, HIDDEN)), z)
    out += wp.tile_broadcast(wp.tile_load(last.bias, shape=(3, 1)), shape=(3, PIXELS))
    return wp.tile_map(sigmoid, out)


@wp.kernel
def compare(
    waves: Layer,
    first: Layer,
    second: Layer,
    last: Layer,
    places: wp.array2d(dtype=float),
    wanted: wp.array2d(dtype=float),
    start: int,
    loss: wp.array(dtype=float),
):
    """Adds the squared errors of the block's pixels to the loss."""
    block = wp.tid()
    at = start + block * PIXELS
    seen = colours(waves, first, second, last, wp.tile_load(places, shape=(2, PIXELS), offset=(0, at)))
    off = seen - wp.tile_load(wanted, shape=(3, PIXELS), offset=(0, at))
    wp.tile_atomic_add(loss, wp.tile_sum(wp.tile_map(wp.mul, off, off)))


@wp.kernel(enable_backward=False)
def show(
    waves: Layer, first: Layer, second: Layer, last: Layer, places: wp.array2d(dtype=float), seen: wp.array2d(dtype=float)
):
    """The picture that the network has in mind."""
    block = wp.tid()
    at = block * PIXELS
    wp.tile_store(
        seen,
        colours(waves, first, second, last, wp.tile_load(places, shape=(2, PIXELS), offset=(0, at))),
        offset=(0, at),
    )


@wp.kernel(enable_backward=False)
def adam(
    weights: wp.array(dtype=float),
    slope: wp.array(dtype=float),
    mean: wp.array(dtype=float),
    square: wp.array(dtype=float),
    rate: float,
    step: float,
):
    """One step of Adam (Kingma and Ba 2015); the gradient is zero after it."""
    i = wp.tid()
    g = slope[i]
    slope[i] = 0.0
    mean[i] = 0.9 * mean[i] + 0.1 * g
    square[i] = 0.99 * square[i] + 0.01 * g * g
    fading = 1.0 - wp.pow(0.9, step)
    growing = 1.0 - wp.pow(0.99, step)
    weights[i] -= rate * (mean[i] / fading) / (wp.sqrt(square[i] / growing) + 1.0e-8)


class Network:
    """The layers, and what Adam remembers of each array of weights."""

    def __init__(self, device: str) -> None:
        rng = np.random.default_rng(1)
        self.device = device
        # Long waves and short ones: the network finds shapes by the former, threads of the cloth by the latter.
        directions = rng.normal(size=(WAVES, 2)) * np.geomspace(1.5, 40.0, WAVES)[:, None]
        self.waves = self.layer(directions, rng.uniform(0.0, 2.0 * np.pi, size=(WAVES, 1)), False)
        sizes = ((HIDDEN, WAVES), (HIDDEN, HIDDEN), (3, HIDDEN))
        self.layers = [
            self.layer(rng.normal(size=size) * np.sqrt(2.0 / size[1]), np.zeros((size[0], 1)), True) for size in sizes
        ]
        self.learned = [array for layer in self.layers for array in (layer.weights, layer.bias)]
        self.memory = [tuple(wp.zeros(a.size, dtype=float, device=device) for _ in range(2)) for a in self.learned]
        self.loss = wp.zeros(1, dtype=float, device=device, requires_grad=True)
        self.steps = 0

    def layer(self, weights: np.ndarray, bias: np.ndarray, learned: bool) -> Layer:
        """A layer on the device."""
        layer = Layer()
        layer.weights = wp.array(weights, dtype=float, device=self.device, requires_grad=learned)
        layer.bias = wp.array(bias, dtype=float, device=self.device, requires_grad=learned)
        return layer

    def learn(self, places: wp.array, wanted: wp.array, start: int, blocks: int, rate: float) -> float:
        """One step by the pixels from `start` on; the mean squared error before it."""
        self.loss.zero_()
        inputs = [self.waves, *self.layers, places, wanted, start]
        with wp.Tape() as tape:
            wp.launch_tiled(compare, dim=blocks, inputs=inputs, outputs=[self.loss], block_dim=64, device=self.device)
        tape.backward(self.loss)
        self.steps += 1
        for weights, (mean, square) in zip(self.learned, self.memory):
            flat, slope = weights.flatten(), weights.grad.flatten()
            wp.launch(adam, flat.size, [flat, slope, mean, square, rate, float(self.steps)], device=self.device)
        self.loss.grad.zero_()
        return float(self.loss.numpy()[0]) / (3 * blocks * PIXELS)

    def picture(self, places: wp.array, size: int) -> np.ndarray:
        """What it has learned, as bytes."""
        seen = wp.zeros((3, size * size), dtype=float, device=self.device)
        inputs = [self.waves, *self.layers, places]
        wp.launch_tiled(show, dim=size * size // PIXELS, inputs=inputs, outputs=[seen], block_dim=64, device=self.device)
        return as_bytes(seen.numpy(), size)


def as_bytes(colours_by_rows: np.ndarray, size: int) -> np.ndarray:
    """Numbers of shape (3, pixels) as bytes of a picture."""
    return (255.0 * np.clip(colours_by_rows.T, 0.0, 1.0) + 0.5).astype(np.uint8).reshape(size, size, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small picture, few steps")
    parser.add_argument("--size", type=int, default=224, help="pixels along a side, a multiple of 8")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("tile_network.png"))
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    size, steps, blocks = (32, 40, 2) if args.quick else (args.size, args.steps, 16)

    target = painted(size, size, 4, args.device).numpy().reshape(-1, 3).T
    y, x = np.mgrid[0:size, 0:size].reshape(2, -1) * (2.0 / size) - 1.0
    in_order = wp.array(np.stack([x, y]), dtype=float, device=args.device)
    shuffled = np.random.default_rng(2).permutation(size * size)
    places = wp.array(np.stack([x, y])[:, shuffled], dtype=float, device=args.device)
    wanted = wp.array(target[:, shuffled], dtype=float, device=args.device)

    network = Network(args.device)
    stages, errors, took = [], [], []
    with Progress("steps", steps) as progress:
        for step in range(steps):
            begin = time.perf_counter()
            start = step * blocks * PIXELS % (size * size)
            errors.append(network.learn(places, wanted, start, blocks, 0.01 * 0.1 ** (step / steps)))
            took.append(time.perf_counter() - begin)
            if step in (steps // 75, steps // 10, steps - 1):
                stages.append(network.picture(in_order, size))
            progress.advance()
    write_png(args.output, np.concatenate([*stages, as_bytes(target, size)], axis=1))
    before, after = errors[0], float(np.mean(errors[-8:]))
    assert after < 0.3 * before, f"the error fell only from {before:.4f} to {after:.4f}"
    weights = sum(array.size for array in network.learned)
    print(
        f"{steps} steps of {blocks * PIXELS} pixels, {weights} weights: the mean squared error fell from {before:.4f} to "
        f"{after:.5f} ({-10.0 * np.log10(after):.1f} dB); a step takes {1e3 * min(took):.2f} ms, the first took "
        f"{1e3 * took[0]:.0f} ms; wrote {args.output.resolve()}"
    )


if __name__ == "__main__":
    main()
