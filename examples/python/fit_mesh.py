"""A ball learns to be a bear by looking: a mesh is fitted to depth pictures by gradients through ray queries.

The target is only seen: a grid of rays from each of 14 directions tells how far it is. The same rays are cast at the ball; the
loss is how different the depths are. Going back on a tape, mesh_query_ray hands the slope of each depth to the
corners of the face that was met. Rays that meet only one of the two shapes have no depth to compare: there the nearest point
of the other shape pulls. Slopes are smoothed over the mesh before the vertices move, and the mesh is refitted after.

    python examples/python/fit_mesh.py [--quick] [--output fit_mesh.png]
"""

import argparse
import pathlib

import numpy as np
import warp as wp

from mesh_shapes import Surface, ball, floor, together, with_normals
from mesh_tracer import developed, expose_panel
from picture import Progress, write_png
from rays import view_from

FAR = wp.constant(20.0)
STAND = wp.constant(4.0)  # how far from the middle rays start


@wp.func
def rounded(a: float, b: float, soft: float):
    """The smaller of two distances, with the edge between them rounded off."""
    h = wp.max(soft - wp.abs(a - b), 0.0) / soft
    return wp.min(a, b) - 0.25 * soft * h * h


@wp.kernel
def bear(field: wp.array3d(dtype=float)):
    """About how far a sitting bear is, on a grid around it: balls that melt into each other."""
    i, j, k = wp.tid()
    p = wp.vec3(float(i), float(j), float(k)) * (3.2 / float(field.shape[0] - 1)) - wp.vec3(1.6)
    p = wp.vec3(wp.abs(p[0]), p[1], p[2])
    d = wp.length(wp.cw_mul(p - wp.vec3(0.0, -0.35, 0.0), wp.vec3(1.0, 0.85, 1.05))) - 0.62  # belly
    d = rounded(d, wp.length(p - wp.vec3(0.0, 0.58, 0.08)) - 0.50, 0.12)  # head
    d = rounded(d, wp.length(p - wp.vec3(0.0, 0.47, 0.50)) - 0.20, 0.12)  # snout
    d = rounded(d, wp.length(wp.cw_mul(p - wp.vec3(0.40, 0.98, 0.02), wp.vec3(1.0, 1.0, 1.5))) - 0.20, 0.10)  # ears
    d = rounded(d, wp.length(wp.cw_mul(p - wp.vec3(0.66, -0.10, 0.22), wp.vec3(1.0, 0.75, 0.9))) - 0.22, 0.14)  # arms
    d = rounded(d, wp.length(wp.cw_mul(p - wp.vec3(0.48, -0.82, 0.40), wp.vec3(1.0, 1.0, 0.7))) - 0.26, 0.14)  # legs
    field[i, j, k] = d


@wp.kernel
def compare(
    target: wp.uint64,
    mesh: wp.uint64,
    eyes: wp.array(dtype=wp.mat33),
    across: int,
    loss: wp.array(dtype=float),
):
    """One ray of one depth picture, at both shapes. Rays of a picture run side by side; an eye is two axes and a direction."""
    view, y, x = wp.tid()
    eye = eyes[view]
    a = 3.2 * (float(x) + 0.5) / float(across) - 1.6
    b = 3.2 * (float(y) + 0.5) / float(across) - 1.6
    dir = eye[2]
    start = eye[0] * a + eye[1] * b - dir * STAND
    wanted = wp.mesh_query_ray(target, start, dir, FAR)
    seen = wp.mesh_query_ray(mesh, start, dir, FAR)
    off = float(0.0)
    if wanted.result and seen.result:
        off = seen.t - wanted.t
    elif wanted.result:
        p = start + dir * wanted.t
        near = wp.mesh_query_point_no_sign(mesh, p, FAR)
        off = wp.length(p - wp.mesh_eval_position(mesh, near.face, near.u, near.v))
    elif seen.result:
        p = start + dir * seen.t
        near = wp.mesh_query_point_no_sign(target, p, FAR)
        off = wp.length(p - wp.mesh_eval_position(target, near.face, near.u, near.v))
    # Large differences count hardly more than middling ones: a ray that meets an arm here and the belly there means little.
    wp.atomic_add(loss, 0, off * off / (1.0 + 8.0 * off * off))


@wp.kernel
def share(indices: wp.array(dtype=int), values: wp.array(dtype=wp.vec3), sums: wp.array(dtype=wp.vec4)):
    """Adds each corner's value to the other corners of its face, and counts."""
    t = wp.tid()
    a, b, c = indices[3 * t], indices[3 * t + 1], indices[3 * t + 2]
    x, y, z = values[a], values[b], values[c]
    wp.atomic_add(sums, a, wp.vec4(y[0] + z[0], y[1] + z[1], y[2] + z[2], 2.0))
    wp.atomic_add(sums, b, wp.vec4(x[0] + z[0], x[1] + z[1], x[2] + z[2], 2.0))
    wp.atomic_add(sums, c, wp.vec4(x[0] + y[0], x[1] + y[1], x[2] + y[2], 2.0))


@wp.kernel
def blend(sums: wp.array(dtype=wp.vec4), part: float, values: wp.array(dtype=wp.vec3)):
    """Takes a part of the mean of a vertex's neighbours."""
    i = wp.tid()
    s = sums[i]
    values[i] = wp.lerp(values[i], wp.vec3(s[0], s[1], s[2]) / wp.max(s[3], 1.0), part)


class Fit:
    """A ball, a target, and the steps from one to the other."""

    def __init__(self, target: wp.Mesh, rings: int, across: int) -> None:
        self.target, self.across = target, across
        self.surface = ball(rings, (0.08, 0.24, 0.52))
        self.points = wp.array(0.95 * self.surface.points.numpy(), dtype=wp.vec3, requires_grad=True)
        self.mesh = wp.Mesh(self.points, self.surface.indices)
        self.eyes = wp.array(directions(), dtype=wp.mat33)
        self.loss = wp.zeros(1, dtype=float, requires_grad=True)
        self.memory, self.size, self.steps = np.zeros((len(self.points), 3)), 0.0, 0

    def smooth(self, values: wp.array, times: int, part: float) -> None:
        """Lets each vertex take on a part of its neighbours' mean, several times."""
        sums = wp.zeros(len(values), dtype=wp.vec4)
        for _ in range(times):
            sums.zero_()
            wp.launch(share, len(self.mesh.indices) // 3, [self.mesh.indices, values, sums])
            wp.launch(blend, len(values), [sums, part, values])

    def step(self, rate: float, smoothing: int) -> float:
        """Moves the vertices by about `rate` where they move most; returns the loss from before."""
        self.loss.zero_()
        with wp.Tape() as tape:
            rays = (len(self.eyes), self.across, self.across)
            wp.launch(compare, rays, [self.target.id, self.mesh.id, self.eyes, self.across], [self.loss])
        tape.backward(self.loss)
        self.smooth(self.points.grad, smoothing, 0.8)
        # Adam with one scale for all, so that directions stay what they are (Nicolet et al. 2021).
        slope = self.points.grad.numpy()
        self.steps += 1
        self.memory = 0.9 * self.memory + 0.1 * slope
        self.size = 0.95 * self.size + 0.05 * float(np.square(slope).sum(axis=1).max())
        fading, growing = 1.0 - 0.9**self.steps, 1.0 - 0.95**self.steps
        move = self.memory / fading / np.sqrt(self.size / growing + 1e-20)
        self.points.assign(self.points.numpy() - rate * move)
        self.smooth(self.points, 1, 0.05)  # keeps triangles in shape
        tape.zero()
        self.mesh.refit()
        return float(self.loss.numpy()[0]) / self.eyes.shape[0] / self.across**2

    def now(self) -> Surface:
        """The surface as it is, for a picture."""
        surface = Surface()
        surface.points, surface.indices, surface.tints = wp.clone(self.points), self.surface.indices, self.surface.tints
        return with_normals(surface)


def directions() -> np.ndarray:
    """Where the pictures are taken from: the sides and the corners of a cube. Rows are right, up and the direction."""
    corners = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)]
    eyes = []
    for corner in corners:
        if np.abs(corner).sum() in (1, 3):
            dir = np.array(corner, dtype=np.float64) / np.linalg.norm(corner)
            right = np.cross(dir, (0.31, 0.87, 0.38))
            right = right / np.linalg.norm(right)
            eyes.append([right, np.cross(right, dir), dir])
    return np.array(eyes)


def make_bear(nodes: int) -> Surface:
    """The target, by marching cubes."""
    field = wp.zeros((nodes, nodes, nodes), dtype=float)
    wp.launch(bear, dim=field.shape, inputs=[field])
    surface = Surface()
    surface.points, surface.indices = wp.MarchingCubes.extract_surface_marching_cubes(
        field, 0.0, (-1.6, -1.6, -1.6), (1.6, 1.6, 1.6)
    )
    surface.tints = wp.full(len(surface.points), wp.vec3(0.44, 0.18, 0.06), dtype=wp.vec3)
    return with_normals(surface)


def take_pictures(shapes: list[Surface], size: int, samples: int) -> np.ndarray:
    """The shapes side by side, each on a floor."""
    film = wp.zeros((size, size * len(shapes)), dtype=wp.vec3)
    view = view_from((1.5, 1.5, 5.0), (0.0, -0.12, 0.0), 0.56)
    with Progress("pictures", samples * len(shapes)) as progress:
        for number, shape in enumerate(shapes):
            scene = together(shape, floor(30.0, -1.12, (0.50, 0.49, 0.47)))
            mesh = wp.Mesh(scene.points, scene.indices)
            glazed = shape.indices.shape[0] // 3
            expose_panel(mesh, scene, glazed, view, film, (number * size, size), samples, progress)
    return developed(film, samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small pictures of a coarse bear")
    parser.add_argument("--size", type=int, default=320, help="pixels along a side of each picture")
    parser.add_argument("--samples", type=int, default=64, help="paths per pixel")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("fit_mesh.png"))
    args = parser.parse_args()
    nodes, rings, across, steps = 80, 36, 64, 240
    if args.quick:
        nodes, rings, across, steps, args.size, args.samples = 32, 12, 24, 60, 48, 4

    bear_shape = make_bear(nodes)
    target = wp.Mesh(bear_shape.points, bear_shape.indices)
    fit = Fit(target, rings, across)
    shapes, losses = [fit.now()], []
    with Progress("steps", steps) as progress:
        for k in range(steps):
            left = 1.0 - k / steps
            losses.append(fit.step(0.03 * left + 0.002, round(2 + 10 * left)))
            if k == steps // 12:
                shapes.append(fit.now())
            progress.advance()
    shapes += [fit.now(), bear_shape]
    write_png(args.output, take_pictures(shapes, args.size, args.samples))
    assert losses[-1] < 0.1 * losses[0], f"the loss fell only from {losses[0]:.5f} to {losses[-1]:.5f}"
    print(
        f"{steps} steps, {len(fit.eyes) * across**2} rays each, {len(fit.mesh.indices) // 3} faces: the loss fell from "
        f"{losses[0]:.5f} to {losses[-1]:.5f}; wrote {args.output.resolve()}"
    )


if __name__ == "__main__":
    main()
