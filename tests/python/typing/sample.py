"""A program as users write it, for type checkers: mypy --strict and basedpyright must find nothing in it, and it runs.

Array parameters are annotated `wp.array[T]` or `wp.array2d[T]`: type checkers refuse calls in annotations, so that
`wp.array(dtype=T)`, which the compiler takes just as well, is for programs that are not checked.
"""

from __future__ import annotations

import numpy as np

import warp as wp

GRAVITY = wp.constant(wp.vec3(0.0, -9.81, 0.0))
STEPS = wp.constant(4)


@wp.struct
class Particle:
    position: wp.vec3
    velocity: wp.vec3
    mass: float
    kind: int


@wp.func
def spring(x: float, rest: float, stiffness: float) -> float:
    return stiffness * (rest - x)


@wp.func
def rotated(q: wp.quat, v: wp.vec3) -> wp.vec3:
    return wp.quat_rotate(q, v)


@wp.kernel
def integrate(
    particles: wp.array[Particle], forces: wp.array[wp.vec3], energy: wp.array[float], counts: wp.array[int], dt: float
) -> None:
    i = wp.tid()
    p = particles[i]
    acceleration = forces[i] / p.mass + GRAVITY
    for _ in range(STEPS):
        p.velocity = p.velocity + acceleration * dt
        p.position += p.velocity * dt
    if p.position[1] < 0.0:
        p.position = wp.vec3(p.position.x, 0.0, p.position.z)
        wp.atomic_add(counts, p.kind, 1)
    particles[i] = p
    speed = wp.length(p.velocity)
    energy[i] = 0.5 * p.mass * speed * speed + wp.max(spring(speed, 1.0, 2.0), 0.0)


@wp.kernel(enable_backward=False)
def blur(image: wp.array2d[float], out: wp.array2d[float]) -> None:
    i, j = wp.tid()
    total = float(0.0)
    for di in range(-1, 2):
        row = image[wp.clamp(i + di, 0, image.shape[0] - 1)]
        total += row[j]
    out[i, j] = total / 3.0


@wp.kernel
def frames(rotations: wp.array[wp.quat], bases: wp.array[wp.mat33], seeds: wp.array[wp.uint32]) -> None:
    i = wp.tid()
    q = wp.normalize(rotations[i])
    m = wp.quat_to_matrix(q)
    x = m * wp.vec3(1.0, 0.0, 0.0)
    y = rotated(q, wp.vec3(0.0, 1.0, 0.0))
    state = wp.rand_init(42, i)
    noise = wp.vec3(wp.randf(state), wp.randf(state), wp.randf(state)) * 0.0
    bases[i] = wp.outer(x, x) + wp.outer(y, y) + wp.skew(noise) * wp.transpose(m)
    seeds[i] = wp.uint32(wp.dot(x, y) + 7.0)


def main() -> None:
    wp.init()
    n = 16
    particles = wp.zeros(n, dtype=Particle)
    start = Particle()
    start.position = wp.vec3(0.0, 1.0, 0.0)
    start.mass = 2.0
    particles.fill_(start)
    forces = wp.array(np.ones((n, 3), dtype=np.float32), dtype=wp.vec3)
    energy = wp.zeros(n)
    counts = wp.full(1, 0)
    wp.launch(integrate, dim=n, inputs=[particles, forces], outputs=[energy, counts, 0.01], device="cpu")
    first: float = energy[0]
    assert first > 0.0 and counts[0] == 0 and particles[0].mass == 2.0

    image = wp.ones((4, 5), dtype=float)
    out = wp.empty_like(image)
    wp.launch(kernel=blur, dim=(4, 5), inputs=[image], outputs=[out])
    corner: float = out[3, 4]
    assert abs(corner - 1.0) < 1e-6 and out.shape == (4, 5)

    rotations = wp.full(n, wp.quat(0.0, 0.0, 0.0, 1.0))
    bases = wp.zeros(n, dtype=wp.mat33)
    seeds = wp.zeros(n, dtype=wp.uint32)
    command = wp.launch(frames, n, [rotations, bases, seeds], record_cmd=True)
    assert command is not None
    command.launch()
    entry: float = bases[0][1, 1]
    assert entry == 1.0 and int(seeds[0]) == 7

    length: float = wp.length(wp.vec3(3.0, 4.0, 0.0))
    wide = wp.vec3d(1.0, 2.0, 3.0)
    component: wp.float64 = wide[0] + wp.float64(1.0)
    moved: wp.vec3 = wp.transform_point(wp.transform_identity(), wp.vec3(1.0, 2.0, 3.0))
    values: list[float] = energy.list()
    assert length == 5.0 and float(component) == 2.0 and moved.y == 2.0 and len(values) == n
    with wp.ScopedTimer("nothing", print=False) as timer, wp.ScopedDevice("cpu"):
        wp.synchronize()
    assert timer.elapsed >= 0.0
    cache: str | None = wp.config.kernel_cache_dir
    assert cache is None or cache
    assert spring(1.0, 2.0, 3.0) == 3.0
    assert isinstance(integrate, wp.Kernel) and integrate.key == "integrate"


if __name__ == "__main__":
    main()
