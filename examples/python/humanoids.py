"""A crowd of humanoids falls: simulated by MuJoCo Warp on this package, drawn by kernels of our own.

Each humanoid is a world of its own, and all are stepped by the same launches: kinematics, contacts with the floor, the solver
with its tiles. Nothing is copied for the pictures: a kernel reads where the simulator has put the parts of the bodies, makes
capsules of them, each crowd member on its own place of the floor, and rays from the camera look for the nearest. A ball around
each body tells which bodies a ray can miss. Left to right: four moments.

It needs MuJoCo Warp; tools/compat/mujoco_environment.py makes an environment that has it.

    python examples/python/humanoids.py [--quick] [--worlds 25] [--output humanoids.png]
"""

import argparse
import pathlib
import time

import numpy as np
import warp as wp

from mesh_tracer import developed
from picture import Progress, write_png
from rays import View, around, ray_of, view_from

try:
    import mujoco
    import mujoco_warp as engine
except ImportError:
    engine = None

SUN = wp.constant(wp.normalize(wp.vec3(-0.55, 0.85, 0.40)))
SUN_LIGHT = wp.constant(wp.vec3(3.3, 2.9, 2.4))
FAR = wp.constant(1.0e6)
REACH = wp.constant(1.35)  # of a body, from its hips, with arms and legs stretched
HIPS = wp.constant(4)  # a part in the middle of the body


@wp.struct
class Crowd:
    """Capsules: their ends and radii, by body and part; and a point in the middle of each body."""

    starts: wp.array2d(dtype=wp.vec3)
    ends: wp.array2d(dtype=wp.vec3)
    radii: wp.array(dtype=float)
    middles: wp.array(dtype=wp.vec3)
    tints: wp.array(dtype=wp.vec3)


@wp.kernel
def gather(
    places: wp.array2d(dtype=wp.vec3),
    turns: wp.array2d(dtype=wp.mat33),
    lengths: wp.array(dtype=float),
    across: int,
    crowd: Crowd,
):
    """The simulator's parts as capsules on the floor of the picture, whose second axis is up; the floor itself is left out."""
    world, part = wp.tid()
    middle = places[world, part + 1]
    turn = turns[world, part + 1]
    half = lengths[part + 1] * wp.vec3(turn[0, 2], turn[1, 2], turn[2, 2])
    shift = wp.vec3(
        1.45 * (float(world % across) - 0.5 * float(across - 1)), 0.0, 1.45 * (float(world / across) - 0.5 * float(across - 1))
    )
    a = middle - half
    b = middle + half
    crowd.starts[world, part] = shift + wp.vec3(a[0], a[2], -a[1])
    crowd.ends[world, part] = shift + wp.vec3(b[0], b[2], -b[1])
    if part == HIPS:
        crowd.middles[world] = shift + wp.vec3(middle[0], middle[2], -middle[1])


@wp.func
def meet_ball(middle: wp.vec3, radius: float, p: wp.vec3, d: wp.vec3):
    """How far along a ray a ball is met from outside; FAR if it isn't."""
    to = p - middle
    half = wp.dot(to, d)
    under = half * half - wp.dot(to, to) + radius * radius
    t = FAR
    if under > 0.0 and -half - wp.sqrt(under) > 0.0:
        t = -half - wp.sqrt(under)
    return t


@wp.func
def meet_capsule(a: wp.vec3, b: wp.vec3, radius: float, p: wp.vec3, d: wp.vec3):
    """The same for a capsule: its tube, or the ball at either end."""
    axis = b - a
    to = p - a
    long = wp.dot(axis, axis)
    along = wp.dot(axis, d)
    off = wp.dot(axis, to)
    t = FAR
    if long > 1.0e-8:
        # Lengths across the axis: |to + t d|² - (axis part)² = radius², with both sides times the axis squared.
        k2 = long - along * along
        k1 = long * wp.dot(to, d) - off * along
        k0 = long * (wp.dot(to, to) - radius * radius) - off * off
        under = k1 * k1 - k2 * k0
        if under > 0.0 and k2 > 1.0e-9:
            s = (-k1 - wp.sqrt(under)) / k2
            height = off + s * along
            if s > 0.0 and height > 0.0 and height < long:
                t = s
    return wp.min(t, wp.min(meet_ball(a, radius, p, d), meet_ball(b, radius, p, d)))


@wp.func
def near_ball(middle: wp.vec3, radius: float, p: wp.vec3, d: wp.vec3):
    """Whether any point of a ray ahead lies in a ball."""
    to = middle - p
    ahead = wp.max(wp.dot(to, d), 0.0)
    return wp.length_sq(to - ahead * d) < radius * radius


@wp.func
def nearest(crowd: Crowd, p: wp.vec3, d: wp.vec3):
    """Distance, body and part of what a ray meets first; the body is -1 if that is nothing."""
    t = FAR
    body = int(-1)
    part = int(-1)
    for w in range(crowd.middles.shape[0]):
        if near_ball(crowd.middles[w], REACH, p, d):
            for k in range(crowd.radii.shape[0]):
                s = meet_capsule(crowd.starts[w, k], crowd.ends[w, k], crowd.radii[k], p, d)
                if s < t:
                    t = s
                    body = w
                    part = k
    return t, body, part


@wp.func
def sky(d: wp.vec3):
    high = wp.sqrt(wp.max(d[1], 0.0))
    return wp.lerp(wp.vec3(0.93, 0.92, 0.90), wp.vec3(0.34, 0.50, 0.80), high) * 0.8


@wp.kernel
def expose(crowd: Crowd, view: View, left: int, width: int, sample: int, film: wp.array2d(dtype=wp.vec3)):
    """One more path of up to three bounces for each pixel of a panel that begins at column `left`."""
    y, x = wp.tid()
    state = wp.rand_init(sample, y * film.shape[1] + left + x)
    d = ray_of(view, float(x) + wp.randf(state), float(y) + wp.randf(state), float(width), float(film.shape[0]))
    p = view.eye
    light = wp.vec3()
    through = wp.vec3(1.0)
    going = True
    for _bounce in range(3):
        if going:
            t, body, part = nearest(crowd, p, d)
            ground = FAR
            if d[1] < 0.0:
                ground = -p[1] / d[1]
            if ground >= FAR and t >= FAR:
                light += wp.cw_mul(through, sky(d))
                going = False
            else:
                n = wp.vec3(0.0, 1.0, 0.0)
                tint = wp.vec3()
                if ground < t:
                    p = p + ground * d
                    plate = wp.floor(p[0] / 0.85) + wp.floor(p[2] / 0.85)
                    tint = wp.where(plate - 2.0 * wp.floor(0.5 * plate) > 0.5, wp.vec3(0.36, 0.37, 0.39), wp.vec3(0.25, 0.26, 0.28))
                else:
                    p = p + t * d
                    a = crowd.starts[body, part]
                    axis = crowd.ends[body, part] - a
                    along = wp.clamp(wp.dot(p - a, axis) / wp.max(wp.dot(axis, axis), 1.0e-8), 0.0, 1.0)
                    n = wp.normalize(p - a - along * axis)
                    tint = crowd.tints[body]
                p = p + 1.0e-3 * n
                through = wp.cw_mul(through, tint)
                to_sun = around(SUN, wp.randf(state), wp.randf(state), 0.05)
                facing = wp.dot(to_sun, n)
                if facing > 0.0:
                    shaded, _body, _part = nearest(crowd, p, to_sun)
                    if shaded >= FAR:
                        light += wp.cw_mul(through, SUN_LIGHT) * (facing / 3.14159265)
                d = around(n, wp.randf(state), wp.randf(state), 0.999)
    film[y, left + x] += light


class Simulation:
    """Humanoids above the floor, each turned, twisted and thrown a little in its own way."""

    def __init__(self, worlds: int) -> None:
        path = pathlib.Path(engine.__file__).parent / "test_data" / "humanoid" / "humanoid.xml"
        model = mujoco.MjModel.from_xml_path(str(path))
        model.opt.ls_iterations = 50  # some fall in ways that the usual 20 don't suffice for
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        self.model = engine.put_model(model)
        self.data = engine.put_data(model, data, nworld=worlds, nconmax=48, njmax=192)
        rng = np.random.default_rng(7)
        qpos = np.tile(data.qpos, (worlds, 1))
        angle = rng.uniform(0.0, 2.0 * np.pi, worlds)
        qpos[:, 2] += rng.uniform(0.1, 0.9, worlds)
        qpos[:, 3], qpos[:, 6] = np.cos(0.5 * angle), np.sin(0.5 * angle)
        qvel = np.concatenate([rng.normal(scale=0.4, size=(worlds, 3)), rng.normal(scale=1.6, size=(worlds, model.nv - 3))], axis=1)
        self.data.qpos.assign(qpos.astype(np.float32))
        self.data.qvel.assign(qvel.astype(np.float32))
        self.worlds, self.timestep = worlds, model.opt.timestep
        self.parts = model.ngeom - 1
        self.radii = wp.array(model.geom_size[1:, 0], dtype=float)
        lengths = np.where(model.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE, model.geom_size[:, 1], 0.0)
        self.lengths = wp.array(lengths, dtype=float)  # halves of them; balls have none
        engine.kinematics(self.model, self.data)  # the first moment is drawn before anything has been stepped

    def step(self) -> None:
        engine.step(self.model, self.data)

    def crowd(self) -> Crowd:
        """The bodies as they are now."""
        crowd = Crowd()
        crowd.starts, crowd.ends = (wp.zeros((self.worlds, self.parts), dtype=wp.vec3) for _ in range(2))
        crowd.radii = self.radii
        crowd.middles = wp.zeros(self.worlds, dtype=wp.vec3)
        colours = np.array([(0.72, 0.20, 0.06), (0.06, 0.26, 0.50), (0.70, 0.46, 0.06), (0.22, 0.42, 0.20)])
        crowd.tints = wp.array(colours[np.arange(self.worlds) * 7 % 4], dtype=wp.vec3)
        across = int(np.ceil(np.sqrt(self.worlds)))
        inputs = [self.data.geom_xpos, self.data.geom_xmat, self.lengths, across, crowd]
        wp.launch(gather, (self.worlds, self.parts), inputs)
        return crowd


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="four humanoids, small")
    parser.add_argument("--worlds", type=int, default=25)
    parser.add_argument("--size", type=int, default=300, help="how many pixels each picture is wide")
    parser.add_argument("--samples", type=int, default=48, help="paths per pixel")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("humanoids.png"))
    args = parser.parse_args()
    if engine is None:
        print("this example needs MuJoCo Warp: tools/compat/mujoco_environment.py makes an environment that has it")
        return
    moments = (0.0, 0.4, 0.65, 1.5)
    if args.quick:
        args.worlds, args.size, args.samples, moments = 4, 48, 2, (0.0, 0.05)

    with wp.ScopedDevice("cpu"):  # tiles are there
        simulation = Simulation(args.worlds)
        steps = round(moments[-1] / simulation.timestep)
        shown = {round(moment / simulation.timestep) for moment in moments}
        crowds, took = [simulation.crowd()], []
        with Progress("steps", steps) as progress:
            for step in range(1, steps + 1):
                begin = time.perf_counter()
                simulation.step()
                took.append(time.perf_counter() - begin)
                if step in shown:
                    crowds.append(simulation.crowd())
                progress.advance()
        lowest = float(crowds[-1].starts.numpy()[..., 1].min())
        assert lowest > -0.05, f"somebody fell {-lowest} below the floor"
        reach = 1.45 * np.sqrt(args.worlds)
        view = view_from((0.4 * reach, 0.7 * reach, 1.2 * reach), (0.0, 0.3, 0.0), 0.84)
        film = wp.zeros((args.size * 4 // 5, args.size * len(crowds)), dtype=wp.vec3)
        with Progress("pictures", args.samples * len(crowds)) as progress:
            for number, crowd in enumerate(crowds):
                for sample in range(args.samples):
                    inputs = [crowd, view, number * args.size, args.size, sample, film]
                    wp.launch(expose, (film.shape[0], args.size), inputs)
                    progress.advance()
        write_png(args.output, developed(film, args.samples))
    print(
        f"{args.worlds} humanoids, {steps} steps of {1e3 * simulation.timestep:.0f} ms: {1e3 * min(took):.1f} ms a step, "
        f"{args.worlds / min(took):.0f} world-steps a second; wrote {args.output.resolve()}"
    )


if __name__ == "__main__":
    main()
