"""Additions to arrays that threads share, over many launches: whatever way a launch takes (one worker, copies, atomic operations),
and whichever places threads reach, the sums are right."""

import numpy as np
import pytest

import warp as wp


@wp.kernel
def count_places(at: wp.array(dtype=int), out: wp.array(dtype=int)):
    wp.atomic_add(out, at[wp.tid()], 1)


@wp.kernel
def add_vectors(at: wp.array(dtype=int), value: wp.array(dtype=wp.vec3d), out: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    wp.atomic_add(out, at[i], value[i])


@wp.kernel
def gather(at: wp.array(dtype=int), x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = x[at[i]] * wp.float64(2.0)


def places(points: int, count: int, order: str) -> np.ndarray:
    random = np.random.default_rng(count)
    if order == "random":
        return random.integers(0, points, count)
    if order == "one":
        return np.full(count, points // 2)
    if order == "few":
        return (np.arange(count) % 3) * (points // 3)
    return np.clip(np.arange(count) * points // count + random.integers(-9, 10, count), 0, points - 1)


@pytest.fixture(params=[2, 3, 8])
def threads(request):
    before = wp.config.cpu_threads
    wp.config.cpu_threads = request.param
    yield request.param
    wp.config.cpu_threads = before


@pytest.mark.parametrize("order", ["in order", "random", "one", "few"])
@pytest.mark.parametrize("points", [1000, 300_007])
def test_counts_are_exact_in_every_launch(threads, order, points):
    count = 400_003
    chosen = places(points, count, order)
    expected = np.bincount(chosen, minlength=points)
    at = wp.array(chosen, dtype=int, device="cpu")
    for launch in range(20):
        out = wp.full(points, 5, dtype=int, device="cpu")
        wp.launch(count_places, dim=count, inputs=[at, out], device="cpu")
        assert (out.numpy() == expected + 5).all(), launch


@pytest.mark.parametrize("order", ["in order", "random"])
def test_vectors(threads, order):
    points, count = 50_021, 300_017
    chosen = places(points, count, order)
    values = np.random.default_rng(1).integers(-100, 100, (count, 3)).astype(float)  # exact in any order
    expected = np.zeros((points, 3))
    np.add.at(expected, chosen, values)
    at, value = wp.array(chosen, dtype=int, device="cpu"), wp.array(values, dtype=wp.vec3d, device="cpu")
    out = wp.zeros(points, dtype=wp.vec3d, device="cpu")
    for launch in range(1, 16):
        wp.launch(add_vectors, dim=count, inputs=[at, value, out], device="cpu")
        assert (out.numpy() == launch * expected).all(), launch


@pytest.mark.parametrize("order", ["in order", "random"])
def test_gathers_backwards(threads, order):
    points, count = 80_003, 300_007
    chosen = places(points, count, order)
    at = wp.array(chosen, dtype=int, device="cpu")
    x = wp.ones(points, dtype=wp.float64, device="cpu", requires_grad=True)
    y = wp.zeros(count, dtype=wp.float64, device="cpu", requires_grad=True)
    for launch in range(12):
        with wp.Tape() as tape:
            wp.launch(gather, dim=count, inputs=[at, x, y], device="cpu")
        y.grad.fill_(1.0)
        tape.backward()
        assert (x.grad.numpy() == 2.0 * np.bincount(chosen, minlength=points)).all(), launch
        tape.zero()


def test_copies_are_zeros_for_the_next_launch(threads):
    points, count = 200_003, 400_001
    at = wp.array(places(points, count, "random"), dtype=int, device="cpu")
    for _ in range(3):
        out = wp.zeros(points, dtype=int, device="cpu")
        wp.launch(count_places, dim=count, inputs=[at, out], device="cpu")
        assert out.numpy().sum() == count
        other = wp.zeros(points, dtype=int, device="cpu")
        wp.launch(count_places, dim=10_000, inputs=[at, other], device="cpu")
        assert other.numpy().sum() == 10_000
