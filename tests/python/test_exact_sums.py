"""Deterministic kernels on GPUs: sums of floats are exact and rounded once, whatever the order of threads. Runs on GPUs, and by
test_exact_sums_machine on the fake driver's."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import warp as wp

gpu = pytest.mark.parametrize("device", ["cuda"], indirect=True)
OPTIONS = {"deterministic": True}
N = 3000


def _nearest(exact: Fraction, dtype) -> float:
    """The number of a type that is nearest to an exact one, even of two."""
    try:
        guess = dtype(float(exact))
    except OverflowError:
        return dtype(np.inf if exact > 0 else -np.inf)
    if not np.isfinite(guess):
        return guess
    around = [np.nextafter(guess, dtype(-np.inf)), guess, np.nextafter(guess, dtype(np.inf))]
    bits = np.uint32 if dtype is np.float32 else np.uint64
    finite = [x for x in around if np.isfinite(x)]
    return min(finite, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(bits)) & 1))


def _numbers(dtype, count: int = N) -> np.ndarray:
    """Of all sizes, denormals among them, many of which cancel."""
    rng = np.random.default_rng(11)
    most = 30 if dtype is np.float32 else 250
    x = (rng.normal(size=count) * 10.0 ** rng.uniform(-most, most, count)).astype(dtype)
    x[: count // 4] *= dtype(10.0) ** dtype(-most / 2)
    x[count // 2 : count // 2 + count // 4] = -x[: count // 4]
    x[::17] = np.finfo(dtype).smallest_subnormal * rng.integers(-1000, 1000, len(x[::17])).astype(dtype)
    return x


def _sums(x: np.ndarray, to: np.ndarray, start: np.ndarray) -> np.ndarray:
    out = []
    for k, own in enumerate(start):
        exact = sum((Fraction(float(v)) for v in x[to == k]), Fraction(float(own)))
        out.append(_nearest(exact, x.dtype.type))
    return np.array(out, x.dtype)


@wp.kernel(module="unique", module_options=OPTIONS)
def add_numbers(x: wp.array(dtype=Any), to: wp.array(dtype=int), out: wp.array(dtype=Any)):
    i = wp.tid()
    wp.atomic_add(out, to[i], x[i])


@gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_rounded_once(device, dtype):
    x, rng = _numbers(dtype), np.random.default_rng(5)
    to = rng.integers(0, 40, N, np.int32)
    start = np.concatenate([_numbers(dtype, 20), np.zeros(21, dtype)])
    out = wp.array(start, device=device)
    wp.launch(add_numbers, N, [wp.array(x, device=device), wp.array(to, device=device), out], device=device)
    np.testing.assert_array_equal(out.numpy(), _sums(x, to, start))
    # The order of threads is another one; nothing else may be.
    again, other = wp.array(start, device=device), rng.permutation(N)
    wp.launch(
        add_numbers, N, [wp.array(x[other], device=device), wp.array(to[other], device=device), again], device=device, block_dim=32
    )
    assert again.numpy().tobytes() == out.numpy().tobytes()


@gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_not_finite(device, dtype):
    inf, nan, most = np.inf, np.nan, np.finfo(dtype).max
    cases = [
        ([inf, 1.0], 0.0, inf),
        ([-inf, 1.0], 5.0, -inf),
        ([inf, -inf], 0.0, nan),
        ([nan, 1.0], 0.0, nan),
        ([1.0], inf, inf),
        ([-inf], inf, nan),
        ([1.0], nan, nan),
        ([most, most], 0.0, inf),
        ([most, most, -most], 1.0, most),
        ([-most, -most], 0.0, -inf),
        ([1.0, -1.0], -0.0, -0.0),
        ([1.0, -1.0], 7.0, 7.0),
    ]
    x = np.concatenate([np.array(c[0], dtype) for c in cases])
    to = np.concatenate([np.full(len(c[0]), k, np.int32) for k, c in enumerate(cases)])
    out = wp.array(np.array([c[1] for c in cases], dtype), device=device)
    wp.launch(add_numbers, len(x), [wp.array(x, device=device), wp.array(to, device=device), out], device=device)
    found, wanted = out.numpy(), np.array([c[2] for c in cases], dtype)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found)[-2:], np.signbit(wanted)[-2:])


@wp.struct
class Bodies:
    force: wp.array(dtype=wp.vec3)
    count: wp.array(dtype=int)


@gpu
def test_vectors_in_structs_and_integers_beside(device):
    @wp.kernel(module="unique", module_options=OPTIONS)
    def push(f: wp.array(dtype=wp.vec3), to: wp.array(dtype=int), bodies: Bodies):
        i = wp.tid()
        wp.atomic_add(bodies.force, to[i], f[i])
        wp.atomic_add(bodies.count, to[i], 1)

    x = _numbers(np.float32).reshape(-1, 3)
    to = np.random.default_rng(2).integers(0, 6, len(x), np.int32)
    bodies = Bodies()
    bodies.force = wp.zeros(6, dtype=wp.vec3, device=device)
    bodies.count = wp.zeros(6, dtype=int, device=device)
    wp.launch(push, len(x), [wp.array(x, dtype=wp.vec3, device=device), wp.array(to, device=device), bodies], device=device)
    wanted = np.stack([_sums(x[:, k].copy(), to, np.zeros(6, np.float32)) for k in range(3)], axis=1)
    np.testing.assert_array_equal(bodies.force.numpy(), wanted)
    np.testing.assert_array_equal(bodies.count.numpy(), np.bincount(to, minlength=6))


@gpu
def test_gaps_between_elements_stay(device):
    whole = wp.array(np.full((8, 6), np.nan, np.float32), device=device)
    part = whole[::2, 1:3]
    part.zero_()

    @wp.kernel(module="unique", module_options=OPTIONS)
    def add(x: wp.array(dtype=float), out: wp.array2d(dtype=float)):
        i = wp.tid()
        row = out[i % 4]
        wp.atomic_add(row, i % 2, x[i])

    x = _numbers(np.float32)
    wp.launch(add, N, [wp.array(x, device=device), part], device=device)
    i = np.arange(N)
    wanted = _sums(x, (i % 4 * 2 + i % 2).astype(np.int32), np.zeros(8, np.float32)).reshape(4, 2)
    found = whole.numpy()
    np.testing.assert_array_equal(found[::2, 1:3], wanted)
    found[::2, 1:3] = np.nan
    assert np.isnan(found).all()


@gpu
def test_gradients_are_sums_too(device):
    @wp.kernel(module="unique", module_options=OPTIONS)
    def gather(x: wp.array(dtype=float), to: wp.array(dtype=int), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[to[i]]

    seeds, to = _numbers(np.float32), np.random.default_rng(4).integers(0, 9, N, np.int32)
    x = wp.ones(9, dtype=float, device=device, requires_grad=True)
    y = wp.zeros(N, dtype=float, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(gather, N, [x, wp.array(to, device=device), y], device=device)
    tape.backward(grads={y: wp.array(seeds, device=device)})
    np.testing.assert_array_equal(x.grad.numpy(), _sums(seeds, to, np.zeros(9, np.float32)))


@gpu
def test_blocks_with_tiles(device):
    """Threads of a block may part on their way to an addition."""

    @wp.kernel(module="unique", module_options=OPTIONS)
    def add(x: wp.array2d(dtype=float), out: wp.array(dtype=float), total: wp.array(dtype=float)):
        i, lane = wp.tid()
        t = wp.tile_load(x[i], shape=64)
        s = wp.tile_sum(t)
        for k in range(lane, 64, wp.block_dim()):
            if x[i, k] > 0.0:
                wp.atomic_add(out, k % 5, x[i, k])
        if lane == 0:
            wp.atomic_add(total, 0, wp.tile_extract(s, 0))

    x = _numbers(np.float32, 30 * 64).reshape(30, 64)
    k = np.broadcast_to(np.arange(64) % 5, x.shape)[x > 0].astype(np.int32)
    found = []
    for _ in range(2):
        out, total = wp.zeros(5, dtype=float, device=device), wp.zeros(1, dtype=float, device=device)
        wp.launch_tiled(add, dim=30, inputs=[wp.array(x, device=device), out, total], block_dim=32, device=device)
        found.append(out.numpy().tobytes() + total.numpy().tobytes())
    assert found[0] == found[1]
    np.testing.assert_array_equal(out.numpy(), _sums(x[x > 0], k, np.zeros(5, np.float32)))


@gpu
def test_recorded_launches_round_too(device):
    x = _numbers(np.float32)
    to = np.zeros(N, np.int32)
    out = wp.zeros(1, dtype=float, device=device)
    launch = wp.launch(
        add_numbers, N, [wp.array(x, device=device), wp.array(to, device=device), out], device=device, record_cmd=True
    )
    launch.launch()
    np.testing.assert_array_equal(out.numpy(), _sums(x, to, np.zeros(1, np.float32)))


@gpu
def test_values_that_are_looked_at_need_turns_and_tiles_have_none(device):
    @wp.kernel(module="unique", module_options=OPTIONS)
    def look(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        i, lane = wp.tid()
        t = wp.tile_load(x, shape=32)
        out[lane] = wp.atomic_add(out, 32, wp.tile_extract(t, lane))

    x, out = wp.ones(32, dtype=float, device=device), wp.zeros(33, dtype=float, device=device)
    with pytest.raises(Exception, match="one after another"):
        wp.launch_tiled(look, dim=1, inputs=[x, out], block_dim=32, device=device)
