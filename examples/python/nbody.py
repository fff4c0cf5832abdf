"""Gravity among many bodies: a struct per body, functions, and a check that physics holds.

Every pair is computed; the leapfrog scheme keeps the energy, which is printed at the end.

    python examples/python/nbody.py [--quick]
"""

import argparse
import time

import numpy as np
import warp as wp

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
    args = parser.parse_args()
    number, steps = (64, 10) if args.quick else (4096, 100)
    dt = 0.005

    bodies = disc(number)
    before = total_energy(bodies)
    begin = time.perf_counter()
    for _ in range(steps):
        wp.launch(kick, dim=number, inputs=[bodies, 0.5 * dt])
        wp.launch(drift, dim=number, inputs=[bodies, dt])
        wp.launch(kick, dim=number, inputs=[bodies, 0.5 * dt])
    seconds = time.perf_counter() - begin
    after = total_energy(bodies)
    pairs = 2.0 * steps * number * number / seconds
    print(f"{number} bodies: {1e3 * seconds / steps:.1f} ms per step, {1e-9 * pairs:.2f} billion pairs per second")
    print(f"energy {before:.5f} before, {after:.5f} after: changed by {100.0 * abs(after / before - 1.0):.3f} %")


if __name__ == "__main__":
    main()
