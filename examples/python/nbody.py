"""Gravity among many bodies: a struct per body, functions, and a check that physics holds.

Every pair is computed; the leapfrog scheme keeps the energy, which is printed at the end. The picture is a long exposure:
every body lights its pixel in each step, blue where it moves fast, red where it moves slowly.

    python examples/python/nbody.py [--quick] [--output nbody.png]
"""

import argparse
import pathlib
import time

import numpy as np
import warp as wp

from picture import write_png

SOFTENING = wp.constant(0.05)  # keeps close encounters finite


@wp.struct
class Body:
    """A point mass."""

    position: wp.vec3
    velocity: wp.vec3
    mass: float


@wp.func
def pull(at: wp.vec3, other: Body):
    """The acceleration at a place towards a body (gravitational constant 1)."""
    d = other.position - at
    r2 = wp.length_sq(d) + SOFTENING * SOFTENING
    return d * (other.mass / (r2 * wp.sqrt(r2)))


@wp.kernel
def kick(bodies: wp.array(dtype=Body), dt: float):
    """All bodies pull at each one; positions stay, so threads only read what no thread writes."""
    i = wp.tid()
    at = bodies[i].position
    acceleration = wp.vec3()
    for j in range(bodies.shape[0]):
        acceleration += pull(at, bodies[j])
    bodies[i].velocity = bodies[i].velocity + acceleration * dt


@wp.kernel
def drift(bodies: wp.array(dtype=Body), dt: float):
    i = wp.tid()
    bodies[i].position = bodies[i].position + bodies[i].velocity * dt


@wp.kernel
def add_energy(bodies: wp.array(dtype=Body), energy: wp.array(dtype=wp.float64)):
    """Kinetic energy, and half of each pair's potential from either side, in double precision."""
    i = wp.tid()
    body = bodies[i]
    e = 0.5 * body.mass * wp.length_sq(body.velocity)
    for j in range(bodies.shape[0]):
        if j != i:
            d2 = wp.length_sq(bodies[j].position - body.position) + SOFTENING * SOFTENING
            e -= 0.5 * body.mass * bodies[j].mass / wp.sqrt(d2)
    wp.atomic_add(energy, 0, wp.float64(e))


@wp.kernel
def expose(bodies: wp.array(dtype=Body), film: wp.array2d(dtype=wp.vec3), scale: float):
    """Seen from above and a little from the side; several bodies may light one pixel at once."""
    body = bodies[wp.tid()]
    p = body.position
    x = int(0.5 * float(film.shape[1]) + scale * p[0])
    y = int(0.5 * float(film.shape[0]) - scale * (0.5 * p[2] + 0.85 * p[1]))
    if x >= 0 and y >= 0 and x < film.shape[1] and y < film.shape[0]:
        fast = wp.clamp(wp.length(body.velocity) - 0.6, 0.0, 1.0)
        wp.atomic_add(film, y, x, wp.lerp(wp.vec3(1.0, 0.35, 0.12), wp.vec3(0.25, 0.55, 1.0), fast))


@wp.kernel
def develop(film: wp.array2d(dtype=wp.vec3), exposure: float, pixels: wp.array3d(dtype=wp.uint8)):
    """Much light saturates, as on film."""
    y, x = wp.tid()
    for k in range(3):
        pixels[y, x, k] = wp.uint8(255.0 * wp.sqrt(1.0 - wp.exp(-exposure * film[y, x][k])))


def total_energy(bodies: wp.array) -> float:
    energy = wp.zeros(1, dtype=wp.float64)
    wp.launch(add_energy, dim=bodies.size, inputs=[bodies, energy])
    return float(energy[0])


def disc(number: int) -> wp.array:
    """A rotating disc around one heavy body."""
    rng = np.random.default_rng(1)
    radius, angle = rng.uniform(0.5, 2.0, number), rng.uniform(0.0, 2.0 * np.pi, number)
    view = np.zeros(number, dtype=Body.numpy_dtype())  # a structured array in the layout of kernels
    view["mass"] = 0.2 / number
    view["position"] = np.stack([radius * np.cos(angle), rng.normal(0.0, 0.03, number), radius * np.sin(angle)], axis=1)
    speed = np.sqrt(1.0 / radius)
    view["velocity"] = np.stack([-speed * np.sin(angle), np.zeros(number), speed * np.cos(angle)], axis=1)
    view[0] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 1.0)
    return wp.array(view, dtype=Body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few bodies, few steps")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("nbody.png"))
    args = parser.parse_args()
    number, steps, width = (64, 10, 96) if args.quick else (4096, 100, 960)
    dt = 0.005

    bodies = disc(number)
    film = wp.zeros((width // 2, width), dtype=wp.vec3)
    before = total_energy(bodies)
    begin = time.perf_counter()
    for _ in range(steps):
        wp.launch(kick, dim=number, inputs=[bodies, 0.5 * dt])
        wp.launch(drift, dim=number, inputs=[bodies, dt])
        wp.launch(kick, dim=number, inputs=[bodies, 0.5 * dt])
        wp.launch(expose, dim=number, inputs=[bodies, film, 0.21 * width])
    seconds = time.perf_counter() - begin
    after = total_energy(bodies)
    pairs = 2.0 * steps * number * number / seconds
    print(f"{number} bodies: {1e3 * seconds / steps:.1f} ms per step, {1e-9 * pairs:.2f} billion pairs per second")
    print(f"energy {before:.5f} before, {after:.5f} after: changed by {100.0 * abs(after / before - 1.0):.3f} %")
    pixels = wp.zeros((*film.shape, 3), dtype=wp.uint8)
    wp.launch(develop, dim=film.shape, inputs=[film, 0.4, pixels])
    write_png(args.output, pixels.numpy())
    print(f"wrote {args.output.resolve()}")


if __name__ == "__main__":
    main()
