"""Functions that run lane by lane, and the operations of library code that they are made of, on every executor."""

from __future__ import annotations

import geometry_reference as reference
import numpy as np
import pytest

import warp as wp

vec4 = wp.types.vector(length=4, dtype=wp.float32)
vec8 = wp.types.vector(length=8, dtype=wp.float32)
COUNT = 61


@pytest.fixture(params=[1, 4, 8, 16], ids=lambda n: f"{n} lanes")
def lanes(request: pytest.FixtureRequest):
    before = wp.config.cpu_lanes
    wp.config.cpu_lanes = request.param
    yield request.param
    wp.config.cpu_lanes = before


@wp.func(lanewise=True)
def all_operations(a: vec8, b: vec8, n: int):
    low = wp._least(a, b)
    high = wp._greatest(a, b)
    below = wp._less_bits(a, b)
    most = wp._less_equal_bits(a, b)
    mixed = wp._choose_bits(below, a, b)
    zeros = wp._trailing_zeros(most | wp.uint32(256))
    return low, high, below, most, mixed, zeros + wp._bit_count(wp.uint32(n))


@wp.kernel
def run_all(
    a: wp.array(dtype=vec8),
    b: wp.array(dtype=vec8),
    low: wp.array(dtype=vec8),
    high: wp.array(dtype=vec8),
    masks: wp.array2d(dtype=wp.uint32),
    mixed: wp.array(dtype=vec8),
):
    i = wp.tid()
    wp._prefetch(a, i + 1000)
    if i % 3 != 1:
        x, y, below, most, m, n = all_operations(a[i], b[i], i)
        low[i] = x
        high[i] = y
        masks[i, 0] = below
        masks[i, 1] = most
        masks[i, 2] = n
        mixed[i] = m


def test_operations(lanes: int) -> None:
    generator = np.random.default_rng(3)
    a = generator.integers(-4, 5, (COUNT, 8)).astype(np.float32)
    b = generator.integers(-4, 5, (COUNT, 8)).astype(np.float32)
    out = [wp.zeros(COUNT, dtype=vec8) for _ in range(3)]
    masks = wp.zeros((COUNT, 3), dtype=wp.uint32)
    wp.launch(
        run_all, COUNT, inputs=[wp.array(a, dtype=vec8), wp.array(b, dtype=vec8), out[0], out[1], masks, out[2]]
    )
    ran = np.arange(COUNT) % 3 != 1
    bits = 1 << np.arange(8)
    below, most = ((a < b) * bits).sum(1), ((a <= b) * bits).sum(1)
    zeros = [(int(m) | 256) & -(int(m) | 256) for m in most]
    counts = np.array([z.bit_length() - 1 + bin(i).count("1") for i, z in enumerate(zeros)])
    for held, want in [(out[0], np.minimum(a, b)), (out[1], np.maximum(a, b)), (out[2], np.where(a < b, a, b))]:
        np.testing.assert_array_equal(held.numpy(), np.where(ran[:, None], want, 0))
    np.testing.assert_array_equal(masks.numpy(), np.where(ran[:, None], np.stack([below, most, counts], 1), 0))


@wp.func(lanewise=True)
def longest_run(values: wp.array(dtype=float), start: int, limit: float):
    """A loop that every thread leaves at another time, with a stack of its own."""
    stack = wp.zeros(shape=(16,), dtype=int)
    top = int(0)
    best = int(0)
    at = start
    total = float(0.0)
    while total < limit and at < values.shape[0]:
        if values[at] > 0.5 and top < 16:
            stack[top] = at
            top += 1
        elif top > 0:
            top -= 1
            best = wp.max(best, at - stack[top])
        total += values[at]
        at += 1
    return best, total


@wp.kernel
def run_longest(values: wp.array(dtype=float), best: wp.array(dtype=int), total: wp.array(dtype=float)):
    i = wp.tid()
    b, t = longest_run(values, i, float(i) * 0.7)
    best[i] = b
    total[i] = t


def reference_longest(values: np.ndarray, start: int, limit: np.float32) -> tuple[int, np.float32]:
    stack, best, at, total = [], 0, start, np.float32(0)
    while total < limit and at < len(values):
        if values[at] > 0.5 and len(stack) < 16:
            stack.append(at)
        elif stack:
            best = max(best, at - stack.pop())
        total += values[at]
        at += 1
    return best, total


def test_threads_go_their_own_ways(lanes: int) -> None:
    values = np.random.default_rng(9).random(200).astype(np.float32)
    best, total = wp.zeros(COUNT, dtype=int), wp.zeros(COUNT, dtype=float)
    wp.launch(run_longest, COUNT, inputs=[wp.array(values, dtype=float), best, total])
    want = [reference_longest(values, i, np.float32(np.float32(i) * np.float32(0.7))) for i in range(COUNT)]
    assert best.numpy().tolist() == [w[0] for w in want]
    np.testing.assert_array_equal(total.numpy(), np.array([w[1] for w in want], np.float32))


@wp.func(lanewise=True)
def nearest(points: wp.array(dtype=vec4), x: float):
    """Which of all numbers is nearest: discrete, so that no derivative goes through it."""
    best = int(-1)
    distance = float(1.0e30)
    for row in range(points.shape[0]):
        apart = points[row] - vec4(x)
        squares = wp.cw_mul(apart, apart)
        mask = wp._less_bits(squares, vec4(distance))
        while mask != wp.uint32(0):
            k = int(wp._trailing_zeros(mask))
            mask = mask & (mask - wp.uint32(1))
            if squares[k] < distance:
                distance = squares[k]
                best = 4 * row + k
    return best


@wp.kernel
def pull(points: wp.array(dtype=vec4), x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    at = nearest(points, x[i])
    apart = points[at / 4][at % 4] - x[i]
    wp.atomic_add(loss, 0, apart * apart)


def test_gradients_pass_by_what_is_discrete(lanes: int) -> None:
    generator = np.random.default_rng(4)
    points, x = generator.random((9, 4)).astype(np.float32), generator.random(COUNT).astype(np.float32)
    held = wp.array(points, dtype=vec4, requires_grad=True)
    at = wp.array(x, dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(pull, COUNT, inputs=[held, at, loss])
    tape.backward(loss)
    flat = points.reshape(-1)
    found = np.abs(flat[None] - x[:, None]).argmin(1)
    apart = flat[found] - x
    np.testing.assert_allclose(at.grad.numpy(), -2 * apart, rtol=1e-5, atol=1e-6)
    want = np.zeros(36, np.float32)
    np.add.at(want, found, 2 * apart)
    np.testing.assert_allclose(held.grad.numpy().reshape(-1), want, rtol=1e-4, atol=1e-6)


@wp.func(lanewise=True)
def squashed(v: vec8, w: vec8):
    low = wp._least(v, w)
    high = wp._greatest(v, w * 0.5)
    return wp.dot(low, high) + wp.dot(wp._choose_bits(wp.uint32(0b10110100), v, w), v)


@wp.kernel
def squash(v: wp.array(dtype=vec8), w: wp.array(dtype=vec8), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = squashed(v[i], w[i])


def test_gradients_of_packed_vectors(lanes: int) -> None:
    generator = np.random.default_rng(6)
    v, w = generator.random((2, 7, 8)).astype(np.float32)
    held = [wp.array(a, dtype=vec8, requires_grad=True) for a in (v, w)]
    y = wp.zeros(7, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(squash, 7, inputs=[*held, y])
    y.grad.fill_(1.0)
    tape.backward()
    chosen = np.array([(0b10110100 >> k) & 1 for k in range(8)], bool)
    low, high = np.minimum(v, w), np.maximum(v, w * 0.5)
    of_v = np.where(v < w, high, 0) + np.where(v > w * 0.5, low, 0) + np.where(chosen, 2 * v, w)
    of_w = np.where(v < w, 0, high) + np.where(v > w * 0.5, 0, 0.5 * low) + np.where(chosen, 0, v)
    np.testing.assert_allclose(y.numpy(), (low * high).sum(1) + (np.where(chosen, v, w) * v).sum(1), rtol=1e-5)
    np.testing.assert_allclose(held[0].grad.numpy(), of_v, rtol=1e-5)
    np.testing.assert_allclose(held[1].grad.numpy(), of_w, rtol=1e-5)


@wp.func(lanewise=True)
def arithmetic(a: vec8, b: vec8, c: vec8):
    one = wp._times(a[0], b[0]) + wp._over(a[1], b[1]) + wp._root(b[2])
    bits = wp._less_bits(a[3], b[3]) + wp.uint32(2) * wp._less_equal_bits(a[3], a[3])
    one += wp._choose_bits(bits, a[4], b[4])
    return wp._fma(a, b, c), wp._fma(a, 0.1, c), wp._times(a, b), wp._over(a, b), wp._root(b), one, bits


@wp.kernel
def calculate(
    a: wp.array(dtype=vec8),
    b: wp.array(dtype=vec8),
    c: wp.array(dtype=vec8),
    out: wp.array2d(dtype=vec8),
    ones: wp.array(dtype=float),
    bits: wp.array(dtype=wp.uint32),
):
    i = wp.tid()
    v, w, x, y, z, one, mask = arithmetic(a[i], b[i], c[i])
    out[i, 0] = v
    out[i, 1] = w
    out[i, 2] = x
    out[i, 3] = y
    out[i, 4] = z
    ones[i] = one
    bits[i] = mask


def test_arithmetic_of_numbers_and_vectors(lanes: int) -> None:
    generator = np.random.default_rng(5)
    a, b, c = generator.uniform(0.5, 2.0, (3, COUNT, 8)).astype(np.float32)
    out, ones, bits = wp.zeros((COUNT, 5), dtype=vec8), wp.zeros(COUNT, dtype=float), wp.zeros(COUNT, dtype=wp.uint32)
    wp.launch(calculate, COUNT, inputs=[*(wp.array(x, dtype=vec8) for x in (a, b, c)), out, ones, bits])
    with np.errstate(all="ignore"):
        fused = [reference.fma(a, b, c), reference.fma(a, np.float32(0.1), c)]
    want = np.stack([*fused, a * b, a / b, np.sqrt(b)], 1)
    np.testing.assert_array_equal(out.numpy(), want)
    np.testing.assert_array_equal(bits.numpy(), (a[:, 3] < b[:, 3]) + 2)
    sum = a[:, 0] * b[:, 0] + a[:, 1] / b[:, 1] + np.sqrt(b[:, 2]) + a[:, 4]
    np.testing.assert_allclose(ones.numpy(), sum, rtol=1e-6)
