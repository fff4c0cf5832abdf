"""A net of masses and springs, thrown at the ground so that it bounces to a target: gradients through a simulation.

Every step of the simulation is two launches that change the same arrays in place. A tape records them all; going back
over it gives the slope of the miss by the throw, and a few corrections of the throw are enough.

    python examples/python/springs.py [--quick] [--output springs.png]
"""

import argparse
import pathlib

import numpy as np
import warp as wp

from picture import Progress, write_png

STEP = 1.0 / 240.0
TARGET = np.array([3.3, 1.1])


@wp.kernel
def place(
    rest: wp.array(dtype=wp.vec2),
    throw: wp.array(dtype=wp.vec2),
    x: wp.array(dtype=wp.vec2),
    v: wp.array(dtype=wp.vec2),
):
    """The start: every mass has the velocity of the throw."""
    i = wp.tid()
    x[i] = rest[i]
    v[i] = throw[0]


@wp.kernel
def pull(
    x: wp.array(dtype=wp.vec2),
    v: wp.array(dtype=wp.vec2),
    ends: wp.array(dtype=wp.vec2i),
    length: wp.array(dtype=float),
    force: wp.array(dtype=wp.vec2),
):
    """Springs and dampers pull at both of their ends."""
    s = wp.tid()
    i = ends[s][0]
    j = ends[s][1]
    apart = x[j] - x[i]
    along = wp.normalize(apart)
    stretch = wp.length(apart) - length[s]
    f = along * (600.0 * stretch + 6.0 * wp.dot(v[j] - v[i], along))
    wp.atomic_add(force, i, f)
    wp.atomic_sub(force, j, f)


@wp.kernel
def move(x: wp.array(dtype=wp.vec2), v: wp.array(dtype=wp.vec2), force: wp.array(dtype=wp.vec2), dt: float):
    """Gravity, the ground, a step of symplectic Euler; the forces are used up."""
    i = wp.tid()
    total = force[i] + wp.vec2(0.0, -9.81)
    depth = -x[i][1]
    if depth > 0.0:
        total += wp.vec2(-20.0 * depth * v[i][0], 9000.0 * depth * depth)
    v[i] = v[i] + total * dt
    x[i] = x[i] + v[i] * dt
    force[i] = wp.vec2(0.0, 0.0)


@wp.kernel
def miss(x: wp.array(dtype=wp.vec2), target: wp.vec2, loss: wp.array(dtype=float)):
    """The mean squared distance of the masses from the target."""
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.length_sq(x[i] - target) / float(x.shape[0]))


class Net:
    """A square of n×n masses, springs along its edges and diagonals."""

    def __init__(self, n: int) -> None:
        grid = np.stack(np.meshgrid(np.arange(n), np.arange(n)), axis=-1).reshape(-1, 2)
        points = 0.35 + 0.5 * grid / (n - 1)
        index = np.arange(n * n).reshape(n, n)
        pairs = [
            np.stack([a.ravel(), b.ravel()], axis=1)
            for a, b in (
                (index[:, :-1], index[:, 1:]),
                (index[:-1], index[1:]),
                (index[:-1, :-1], index[1:, 1:]),
                (index[:-1, 1:], index[1:, :-1]),
            )
        ]
        self.pairs = np.concatenate(pairs)
        self.count = n * n
        self.rest = wp.array(points, dtype=wp.vec2)
        self.ends = wp.array(self.pairs, dtype=wp.vec2i)
        self.length = wp.array(np.linalg.norm(points[self.pairs[:, 1]] - points[self.pairs[:, 0]], axis=1), dtype=float)
        self.x, self.v, self.force = (wp.zeros(n * n, dtype=wp.vec2, requires_grad=True) for _ in range(3))

    def fly(self, throw: wp.array, steps: int) -> tuple[wp.array, list[np.ndarray]]:
        """Simulates a throw; the loss, and where the masses were."""
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        path = []
        wp.launch(place, self.count, [self.rest, throw], [self.x, self.v])
        for _ in range(steps):
            wp.launch(pull, len(self.pairs), [self.x, self.v, self.ends, self.length], [self.force])
            wp.launch(move, self.count, [self.x, self.v, self.force, STEP])
            path.append(self.x.numpy().copy())
        wp.launch(miss, self.count, [self.x, wp.vec2(*TARGET)], [loss])
        return loss, path


class Canvas:
    """Lines of light on a dark ground."""

    def __init__(self, width: int, height: int) -> None:
        self.light = np.zeros((height, width, 3))
        self.scale = width / 4.2

    def line(self, points: np.ndarray, color: tuple[float, float, float], brightness: float) -> None:
        """A polyline through points (metres, y up)."""
        height, width = self.light.shape[:2]
        at = np.stack([points[:, 0] * self.scale, height - 0.08 * height - points[:, 1] * self.scale], axis=1)
        for a, b in zip(at[:-1], at[1:]):
            n = int(np.ceil(np.abs(b - a).max())) + 1
            x, y = (a + (b - a) * np.linspace(0, 1, n)[:, None]).T
            x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
            for dx in (0, 1):
                for dy in (0, 1):
                    weight = (1 - np.abs(x - x0 - dx)) * (1 - np.abs(y - y0 - dy)) * brightness
                    inside = (x0 + dx >= 0) & (x0 + dx < width) & (y0 + dy >= 0) & (y0 + dy < height)
                    place = (y0[inside] + dy, x0[inside] + dx)
                    np.add.at(self.light, place, weight[inside, None] * np.array(color))

    def pixels(self) -> np.ndarray:
        height = len(self.light)
        ground = np.linspace(0.03, 0.10, height)[:, None, None] * np.array([0.5, 0.7, 1.2])
        return (255 * np.clip(1 - np.exp(-1.6 * (self.light + ground)), 0, 1) ** 0.8).astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer masses and a small picture")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("springs.png"))
    args = parser.parse_args()
    n, steps, tries, width = (3, 240, 16, 240) if args.quick else (6, 240, 24, 1280)

    net = Net(n)
    throw = wp.array([[1.5, -9.0]], dtype=wp.vec2, requires_grad=True)
    canvas = Canvas(width, width * 9 // 16)
    losses = []
    copies = 0
    time = steps * STEP
    with Progress("throws", tries) as progress:
        for k in range(tries):
            with wp.Tape() as tape:
                loss, path = net.fly(throw, steps)
            tape.backward(loss)
            losses.append(float(loss.numpy()[0]))
            copies = tape.kept_bytes + tape.log_bytes
            slope = throw.grad.numpy().copy()
            tape.zero()
            age = k / max(tries - 1, 1)
            centre = np.array([where.mean(axis=0) for where in path])
            canvas.line(centre, (0.25 + 0.75 * age, 0.45, 1.0 - 0.85 * age), 0.25 + 0.5 * age)
            progress.advance()
            step = 0.3 * slope / time**2
            throw.assign(throw.numpy() - step / max(1.0, float(np.linalg.norm(step)) / 0.6))

    for where in path[:: max(steps // 9, 1)] + [path[-1]]:
        for i, j in net.pairs:
            canvas.line(where[[i, j]], (1.0, 0.75, 0.35), 0.35)
    canvas.line(np.array([[0.0, 0.0], [4.2, 0.0]]), (0.4, 0.5, 0.6), 0.8)
    turn = np.linspace(0, 2 * np.pi, 60)
    for radius in (0.05, 0.12):
        canvas.line(TARGET + radius * np.stack([np.cos(turn), np.sin(turn)], axis=1), (0.4, 1.0, 0.5), 1.0)
    write_png(args.output, canvas.pixels())
    spread = float(np.square(path[0] - path[0].mean(axis=0)).sum(axis=1).mean())
    distance = np.linalg.norm(path[-1].mean(axis=0) - TARGET)
    assert losses[-1] < 0.1 * losses[0] + spread, "the throws did not come closer"
    print(
        f"{tries} throws of {net.count} masses over {steps} steps: the miss went from {np.sqrt(losses[0]):.2f} m to "
        f"{distance:.2f} m; a tape kept {copies / 1024:.0f} KiB; wrote {args.output.resolve()}"
    )


if __name__ == "__main__":
    main()
