"""A dam breaks: water as particles (SPH) that find their neighbours by a hash grid, rebuilt each step.

Each step sorts the particles into cells, sums up densities over neighbours, then pressures and friction, and moves on. A
graph of 20 steps, builds included, is captured once and run again and again. In the end a surface is laid around the
particles, again by neighbours, made triangles by marching cubes, and looked at by rays that are mirrored and bent
(sph_water.py).

    python examples/python/sph.py [--quick] [--size 900 460] [--seconds 0.8] [--output sph.png]
"""

import argparse
import pathlib
import time

import numpy as np
import warp as wp

from picture import Progress, write_png
from sph_water import picture_of, surface_of

GRAVITY = wp.constant(wp.vec3(0.0, -9.81, 0.0))
SOUND = wp.constant(28.0)  # metres a second: slower than in water, which allows longer steps; fast enough to look stiff
FRICTION = wp.constant(0.12)
TANK = wp.constant(wp.vec3(2.6, 3.0, 0.9))
BALL = wp.constant(wp.vec4(1.45, 0.22, 0.42, 0.24))  # in the way: centre and radius


@wp.struct
class Fluid:
    """Particles that all stand for the same mass, a cube of water of this width at rest."""

    place: wp.array(dtype=wp.vec3)
    velocity: wp.array(dtype=wp.vec3)
    density: wp.array(dtype=float)
    width: float
    reach: float  # of the kernel, beyond which particles don't feel each other


@wp.func
def weight(away: float, reach: float):
    """The kernel (Wendland's C2) by which neighbours count, of volume 1."""
    q = away / reach
    rest = (1.0 - q) * (1.0 - q)
    return 3.3422538 / (reach * reach * reach) * rest * rest * (4.0 * q + 1.0)


@wp.func
def slope(away: float, reach: float):
    """The derivative of the weight by the distance, divided by that."""
    q = away / reach
    rest = 1.0 - q
    return -66.845076 / (reach * reach * reach * reach * reach) * rest * rest * rest


@wp.func
def beyond(s: float, reach: float):
    """How much of the weight around a particle lies beyond a wall at distance s, and how fast that falls with s."""
    u = wp.clamp(1.0 - s / reach, 0.0, 1.0)
    u5 = u * u * u * u * u
    return u5 * u * (3.5 - 4.5 * u + 1.5 * u * u), 21.0 / reach * u5 * (1.0 - 1.5 * u + 0.5714286 * u * u)


@wp.func
def walls(p: wp.vec3, reach: float):
    """The same of all walls, as if there were water at rest behind them: a share, and its slope as a vector."""
    d = p - wp.vec3(BALL[0], BALL[1], BALL[2])
    share, steep = beyond(wp.length(d) - BALL[3], reach)
    rest = 1.0 - share  # what lies on this side of all of them: in an edge a quarter, not nothing
    away = wp.normalize(d) * (steep / rest)
    for axis in range(3):
        low, steep_low = beyond(p[axis], reach)
        high, steep_high = beyond(TANK[axis] - p[axis], reach)
        rest *= (1.0 - low) * (1.0 - high)
        away[axis] += steep_low / (1.0 - low) - steep_high / (1.0 - high)
    return 1.0 - rest, away * rest


@wp.kernel
def fill(fluid: Fluid, across: int, high: int):
    """A column of particles at one end of the tank, a little off its walls and a little out of order."""
    i = wp.tid()
    state = wp.rand_init(7, i)
    nudge = wp.vec3(wp.randf(state), wp.randf(state), wp.randf(state)) * 0.1
    cell = wp.vec3(float(i % across), float((i // across) % high), float(i // (across * high)))
    fluid.place[i] = (cell + wp.vec3(1.1, 0.45, 1.1) + nudge) * fluid.width
    fluid.velocity[i] = wp.vec3()


@wp.kernel
def weigh(grid: wp.uint64, fluid: Fluid):
    """The density around each particle, 1 at rest. Threads take particles in the order of cells."""
    i = wp.hash_grid_point_id(grid, wp.tid())
    p = fluid.place[i]
    volume = fluid.width * fluid.width * fluid.width
    total, _ = walls(p, fluid.reach)
    for j in wp.hash_grid_query(grid, p, fluid.reach):
        away = wp.length(p - fluid.place[j])
        if away < fluid.reach:
            total += weight(away, fluid.reach) * volume
    fluid.density[i] = total


@wp.func
def pressure(density: float):
    """Over the density's square: water that is denser than at rest pushes, thinner water does not pull."""
    return wp.max(density - 1.0, 0.0) * SOUND * SOUND / (density * density)


@wp.kernel
def push(grid: wp.uint64, fluid: Fluid, dt: float, pushed: wp.array(dtype=wp.vec3)):
    """The velocities after a step: pressure, friction between neighbours that approach, gravity."""
    i = wp.hash_grid_point_id(grid, wp.tid())
    p = fluid.place[i]
    v = fluid.velocity[i]
    density = fluid.density[i]
    mine = pressure(density)
    volume = fluid.width * fluid.width * fluid.width
    _, away_from_walls = walls(p, fluid.reach)
    force = away_from_walls * (2.0 * mine)
    for j in wp.hash_grid_query(grid, p, fluid.reach):
        d = p - fluid.place[j]
        away = wp.length(d)
        if j != i and away < fluid.reach:
            both = mine + pressure(fluid.density[j])
            closing = wp.dot(v - fluid.velocity[j], d)
            if closing < 0.0:
                speed = fluid.reach * closing / (away * away + 0.01 * fluid.reach * fluid.reach)
                both -= FRICTION * SOUND * speed * 2.0 / (density + fluid.density[j])
            force -= d * (both * slope(away, fluid.reach) * volume)
    pushed[i] = v + (force + GRAVITY) * dt


@wp.kernel
def move(fluid: Fluid, dt: float, pushed: wp.array(dtype=wp.vec3)):
    """Moves the particles, and keeps them inside of the tank and outside of the ball."""
    i = wp.tid()
    v = pushed[i]
    p = fluid.place[i] + v * dt
    margin = 0.2 * fluid.width
    for axis in range(3):
        if p[axis] < margin:
            p[axis] = margin
            v[axis] = wp.max(v[axis], 0.0)
        if p[axis] > TANK[axis] - margin:
            p[axis] = TANK[axis] - margin
            v[axis] = wp.min(v[axis], 0.0)
    d = p - wp.vec3(BALL[0], BALL[1], BALL[2])
    n = wp.normalize(d)
    if wp.length(d) < BALL[3] + margin:
        p += n * (BALL[3] + margin - wp.length(d))
        v -= n * wp.min(wp.dot(v, n), 0.0)
    fluid.place[i] = p
    fluid.velocity[i] = v


class Simulation:
    """A column of water, and a graph of the steps that let it fall."""

    STEPS = 20  # in a graph

    def __init__(self, width: float) -> None:
        across, high, deep = int(0.8 / width), int(1.05 / width), int(TANK[2] / width) - 1
        self.number = across * high * deep
        fluid = Fluid()
        fluid.place = wp.zeros(self.number, dtype=wp.vec3)
        fluid.velocity = wp.zeros(self.number, dtype=wp.vec3)
        fluid.density = wp.zeros(self.number, dtype=float)
        fluid.width, fluid.reach = width, 2.2 * width
        wp.launch(fill, dim=self.number, inputs=[fluid, across, high])
        self.fluid, self.pushed = fluid, wp.zeros(self.number, dtype=wp.vec3)
        self.grid = wp.HashGrid(48, 48, 48)
        self.grid.reserve(self.number)
        self.dt = 0.35 * fluid.reach / SOUND
        wp.load_module()  # kernels are compiled before the capture
        with wp.ScopedCapture() as capture:
            for _ in range(self.STEPS):
                self.step()
        self.graph = capture.graph

    def step(self) -> None:
        self.grid.build(self.fluid.place, self.fluid.reach)
        wp.launch(weigh, dim=self.number, inputs=[self.grid.id, self.fluid])
        wp.launch(push, dim=self.number, inputs=[self.grid.id, self.fluid, self.dt], outputs=[self.pushed])
        wp.launch(move, dim=self.number, inputs=[self.fluid, self.dt, self.pushed])

    def check(self) -> None:
        """Whether this is still water: not compressed, inside of the tank, with no energy from nowhere."""
        place, velocity = self.fluid.place.numpy(), self.fluid.velocity.numpy()
        assert np.isfinite(velocity).all() and (place > 0.0).all() and (place < np.array(TANK)).all()
        assert np.percentile(self.fluid.density.numpy(), 99.0) < 1.25, "the water was compressed"
        energy = 0.5 * np.square(velocity).sum(axis=1).mean() + 9.81 * place[:, 1].mean()
        assert energy < 9.81 * 0.54, "energy came from nowhere"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few particles, few pixels")
    parser.add_argument("--width", type=float, default=0.035, help="of a particle, in metres")
    parser.add_argument("--seconds", type=float, default=0.8)
    parser.add_argument("--size", type=int, nargs=2, default=(900, 460), metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("sph.png"))
    args = parser.parse_args()
    if args.quick:
        args.width, args.seconds, args.size = 0.08, 0.2, (90, 46)

    simulation = Simulation(args.width)
    graphs = max(round(args.seconds / simulation.dt / simulation.STEPS), 1)
    begin = time.perf_counter()
    with Progress("simulating", graphs) as progress:
        for _ in range(graphs):
            wp.capture_launch(simulation.graph)
            wp.synchronize()
            progress.advance()
    seconds = time.perf_counter() - begin
    simulation.check()

    mesh, normals = surface_of(simulation.fluid.place, simulation.grid, args.width, tuple(TANK))
    side = 1 if args.quick else 3  # of the square of rays in a pixel
    with Progress("rays", side * side) as progress:
        pixels = picture_of(mesh, normals, BALL, tuple(TANK), args.size, side, progress)
    write_png(args.output, pixels)
    steps = graphs * simulation.STEPS
    print(
        f"{simulation.number} particles, {steps} steps, {1e-6 * simulation.number * steps / seconds:.2f} million "
        f"particles moved per second; {len(mesh.indices) // 3} triangles; wrote {args.output.resolve()}"
    )


if __name__ == "__main__":
    main()
