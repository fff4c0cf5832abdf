"""Flagship example: a wave of marbles breaks over three large spheres, and a path tracer takes its picture.

Everything that computes is a kernel: the simulation (position-based contacts with friction, neighbours from a uniform
grid), the second grid that rays walk through, the path tracer (depth of field, soft light, glossy, metallic and glass
surfaces) and the tone mapping. NumPy adds up one prefix sum; the standard library writes the PNG.

    python examples/python/marbles.py                 simulate, render, write marbles.png
    python examples/python/marbles.py --quick         the same, tiny: what the tests run
    python examples/python/marbles.py --frames 60 --animate   also every frame of the wave, as frame_0000.png …
"""

from __future__ import annotations

import argparse
import pathlib
import time

import warp as wp

from marbles_rays import take_picture
from marbles_scene import (
    ACROSS,
    BIG,
    CELLS,
    DEEP,
    RADIUS_MAX,
    RADIUS_MIN,
    cell_of,
    center,
    make_big,
    make_camera,
    make_marbles,
)
from picture import Progress, write_png

GRAVITY = wp.constant(wp.vec3(0.0, -9.81, 0.0))
SLOTS = wp.constant(8)  # marbles per cell of the contact grid


@wp.kernel
def fill_column(seed: int, shape: wp.array(dtype=wp.vec4), velocity: wp.array(dtype=wp.vec3), across: int, deep: int):
    """Stacks the marbles in a loose column that already leans into its fall."""
    i = wp.tid()
    state = wp.rand_init(seed, i)
    x = float(i % across)
    z = float((i // across) % deep)
    y = float(i // (across * deep))
    pitch = 2.02 * RADIUS_MAX
    jitter = wp.vec3(wp.randf(state, -0.2, 0.2), 0.0, wp.randf(state, -0.2, 0.2)) * RADIUS_MAX
    p = wp.vec3(-3.6 + x * pitch, RADIUS_MAX + y * pitch, (z - 0.5 * float(deep)) * pitch) + jitter
    shape[i] = wp.vec4(p[0], p[1], p[2], wp.randf(state, RADIUS_MIN, RADIUS_MAX))
    velocity[i] = wp.vec3(3.4 + 0.5 * p[1], 0.4 * p[1], 0.0)


@wp.kernel
def predict(
    dt: float, shape: wp.array(dtype=wp.vec4), velocity: wp.array(dtype=wp.vec3), guess: wp.array(dtype=wp.vec3)
):
    """Moves each marble as if it were alone."""
    i = wp.tid()
    velocity[i] = velocity[i] + GRAVITY * dt
    guess[i] = center(shape[i]) + velocity[i] * dt


@wp.kernel
def bin_marbles(guess: wp.array(dtype=wp.vec3), count: wp.array3d(dtype=int), slots: wp.array4d(dtype=int)):
    """Enters each marble into the cell of its centre."""
    i = wp.tid()
    x, y, z = cell_of(guess[i], count.shape[0], count.shape[1], count.shape[2])
    slot = wp.atomic_add(count, x, y, z, 1)
    if slot < SLOTS:
        slots[x, y, z, slot] = i


@wp.func
def push_apart(pi: wp.vec3, pj: wp.vec3, moved: wp.vec3, reach: float, share: float, friction: float):
    """The correction of a marble at pi that overlaps something at pj; `moved` is their relative motion in this step."""
    d = pi - pj
    dist = wp.length(d)
    n = wp.normalize(d)
    depth = reach - dist
    slide = moved - n * wp.dot(moved, n)
    drag = wp.min(friction * depth, wp.length(slide))
    return (n * depth - wp.normalize(slide) * drag) * share


@wp.kernel
def resolve_contacts(
    shape: wp.array(dtype=wp.vec4),
    guess: wp.array(dtype=wp.vec3),
    count: wp.array3d(dtype=int),
    slots: wp.array4d(dtype=int),
    big: wp.array(dtype=wp.vec4),
    solved: wp.array(dtype=wp.vec3),
):
    """One Jacobi step: each marble averages the corrections of all its contacts."""
    i = wp.tid()
    p = guess[i]
    start = center(shape[i])
    r = shape[i][3]
    nx, ny, nz = count.shape[0], count.shape[1], count.shape[2]
    cx, cy, cz = cell_of(p, nx, ny, nz)
    total = wp.vec3()
    touching = 0.0
    for x in range(wp.max(cx - 1, 0), wp.min(cx + 2, nx)):
        for y in range(wp.max(cy - 1, 0), wp.min(cy + 2, ny)):
            for z in range(wp.max(cz - 1, 0), wp.min(cz + 2, nz)):
                for k in range(wp.min(count[x, y, z], SLOTS)):
                    j = slots[x, y, z, k]
                    reach = r + shape[j][3]
                    if j != i and wp.length_sq(p - guess[j]) < reach * reach:
                        moved = (p - start) - (guess[j] - center(shape[j]))
                        total += push_apart(p, guess[j], moved, reach, 0.5, 0.25)
                        touching += 1.0
    if touching > 0.0:
        p += total * (1.5 / (touching + 0.5))
    for k in range(BIG):
        reach = r + big[k][3]
        if wp.length_sq(p - center(big[k])) < reach * reach:
            p += push_apart(p, center(big[k]), p - start, reach, 1.0, 0.05)
    if p[1] < r:
        p += push_apart(p, wp.vec3(p[0], 0.0, p[2]), p - start, r, 1.0, 0.2)
    solved[i] = p


@wp.kernel
def finish_step(
    dt: float, solved: wp.array(dtype=wp.vec3), shape: wp.array(dtype=wp.vec4), velocity: wp.array(dtype=wp.vec3)
):
    """Reads the velocity off the distance travelled."""
    i = wp.tid()
    p = solved[i]
    velocity[i] = (p - center(shape[i])) / dt
    shape[i] = wp.vec4(p[0], p[1], p[2], shape[i][3])


class Simulation:
    """The marbles, their velocities and what one step needs in between."""

    def __init__(self, number: int) -> None:
        self.marbles = make_marbles(number)
        self.big = make_big()
        self.number = number
        self.velocity = wp.zeros(number, dtype=wp.vec3)
        self.guess = wp.zeros(number, dtype=wp.vec3)
        self.solved = wp.zeros(number, dtype=wp.vec3)
        self.count = wp.zeros(CELLS, dtype=int)
        self.slots = wp.zeros((*CELLS, SLOTS), dtype=int)
        wp.launch(fill_column, dim=number, inputs=[1, self.marbles.shape, self.velocity, ACROSS, DEEP])

    def step(self, frame_time: float, substeps: int) -> None:
        """Moves the marbles on by one frame."""
        dt = frame_time / substeps
        shape = self.marbles.shape
        for _ in range(substeps):
            wp.launch(predict, dim=self.number, inputs=[dt, shape, self.velocity, self.guess])
            self.count.zero_()
            wp.launch(bin_marbles, dim=self.number, inputs=[self.guess, self.count, self.slots])
            contacts = [shape, self.guess, self.count, self.slots, self.big.shape, self.solved]
            wp.launch(resolve_contacts, dim=self.number, inputs=contacts)
            wp.launch(finish_step, dim=self.number, inputs=[dt, self.solved, shape, self.velocity])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--marbles", type=int, default=16000)
    parser.add_argument("--frames", type=int, default=64, help="simulated frames, 1/60 s each")
    parser.add_argument("--substeps", type=int, default=6)
    parser.add_argument("--size", type=int, nargs=2, default=(800, 450), metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--samples", type=int, default=48, help="paths per pixel")
    parser.add_argument("--animate", action="store_true", help="write every simulated frame, at 8 paths per pixel")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("marbles.png"))
    parser.add_argument("--quick", action="store_true", help="a tiny picture of few marbles")
    args = parser.parse_args()
    if args.quick:
        args.marbles, args.frames, args.size, args.samples = 500, 3, (64, 36), 2

    camera = make_camera(*args.size)
    simulation = Simulation(args.marbles)
    begin = time.perf_counter()
    with Progress("simulating", args.frames) as progress:
        for frame in range(args.frames):
            simulation.step(1.0 / 60.0, args.substeps)
            if args.animate:
                image = take_picture(simulation.marbles, simulation.big, camera, 8)
                write_png(args.output.with_name(f"frame_{frame:04}.png"), image)
            progress.advance()
    simulated = time.perf_counter()
    with Progress("rendering", args.samples) as progress:
        image = take_picture(simulation.marbles, simulation.big, camera, args.samples, progress)
    rendered = time.perf_counter()
    write_png(args.output, image)

    if not wp.config.quiet:
        print(f"simulation: {1e3 * (simulated - begin) / args.frames:.1f} ms per frame ({args.marbles} marbles)")
        width, height = args.size
        rate = 1e-6 * width * height * args.samples / (rendered - simulated)
        print(
            f"picture:    {rendered - simulated:.2f} s per frame ({width}x{height}, {args.samples} paths per pixel, "
            f"{rate:.2f} million paths per second)"
        )
        print(f"wrote {args.output.resolve()}")


if __name__ == "__main__":
    main()
