"""Deterministic kernels: sums and other atomic operations give the same bits in every run, on any number of cores."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp

each_device = pytest.mark.parametrize("device", ["cpu", "cuda"], indirect=True)

N = 200_000  # fewer threads run on one core, and repeat anyhow


@wp.kernel(module="unique", module_options={"deterministic": True})
def scatter(x: wp.array(dtype=float), to: wp.array(dtype=int), out: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, to[i], x[i] * wp.sin(x[i]))
    wp.atomic_add(total, 0, x[i])


@wp.kernel(module="unique", module_options={"deterministic": True})
def place(count: wp.array(dtype=int), slots: wp.array(dtype=int)):
    slots[wp.atomic_add(count, 0, 1)] = wp.tid()


@wp.kernel(module="unique", module_options={"deterministic": True})
def read_back(x: wp.array(dtype=float), total: wp.array(dtype=float), seen: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(total, i % 3, x[i])
    seen[i] = wp.atomic_add(total, 3, 1.0)


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return (rng.normal(size=N) * 10.0 ** rng.integers(-6, 6, N)).astype(np.float32), rng.integers(0, 50, N, np.int32)


def _runs(run):
    """Bytes of several runs, on several numbers of threads."""
    results = []
    before = wp.config.cpu_threads
    try:
        for threads in (0, 2, 3, 5, 0):
            wp.config.cpu_threads = threads
            results.append([a.numpy().tobytes() for a in run()])
    finally:
        wp.config.cpu_threads = before
    return results


def _same(results) -> bool:
    return all(r == results[0] for r in results)


@each_device
def test_sums_repeat(device):
    x, to = (wp.array(a, device=device) for a in _data())

    def run():
        out, total = wp.zeros(50, dtype=float, device=device), wp.zeros(1, dtype=float, device=device)
        wp.launch(scatter, N, [x, to, out, total], device=device)
        return out, total

    assert _same(_runs(run))
    values, places = _data()
    wanted = np.bincount(places, values.astype(np.float64) * np.sin(values.astype(np.float64)), 50)
    np.testing.assert_allclose(run()[0].numpy(), wanted, rtol=1e-2, atol=1e-2 * np.abs(values).max())


@wp.kernel(module="unique", module_options={"deterministic": True})
def add_at(x: wp.array(dtype=float), to: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, to[i], x[i])


@pytest.mark.parametrize("count", [100, 3000])
def test_short_launches_on_the_cpu_add_in_the_order_of_threads(count):
    """As other launches do that are too short for several cores: copies for parts of the grid would cost more than the kernel."""
    x, to = _data()
    out = wp.zeros(50, dtype=float, device="cpu")
    wp.launch(add_at, count, [x, to, out], device="cpu")
    wanted = np.zeros(50, np.float32)
    np.add.at(wanted, to[:count], x[:count])
    np.testing.assert_array_equal(out.numpy(), wanted)


@each_device
def test_slots_are_given_in_the_order_of_threads(device):
    count, slots = wp.zeros(1, dtype=int, device=device), wp.zeros(N, dtype=int, device=device)
    wp.launch(place, N, [count, slots], device=device)
    np.testing.assert_array_equal(slots.numpy(), np.arange(N))


@each_device
def test_values_before_repeat(device):
    x = wp.array(_data()[0], device=device)

    def run():
        total, seen = wp.zeros(4, dtype=float, device=device), wp.zeros(N, dtype=float, device=device)
        wp.launch(read_back, N, [x, total, seen], device=device)
        return total, seen

    assert _same(_runs(run))


@each_device
def test_gradients_repeat(device):
    values, places = _data()

    @wp.kernel(module="unique", module_options={"deterministic": True})
    def gather(x: wp.array(dtype=float), to: wp.array(dtype=int), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[to[i]] * x[to[i]]

    to = wp.array(places, device=device)

    def run():
        x = wp.array(values[:50], device=device, requires_grad=True)
        y = wp.zeros(N, dtype=float, device=device, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(gather, N, [x, to, y], device=device)
        tape.backward(grads={y: wp.array(values, device=device)})
        return (x.grad,)

    assert _same(_runs(run))


@wp.kernel(module="unique", module_options={"deterministic": True})
def clamped(x: wp.array(dtype=int), out: wp.array(dtype=int), seen: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_min(out, 0, x[i])
    wp.atomic_max(out, 0, x[i] - 50)
    wp.atomic_add(out, 1, 1)
    seen[i] = out[1]


@each_device
def test_operations_that_mix_repeat(device):
    x = wp.array(np.random.default_rng(8).integers(-1000, 1000, N, np.int32), device=device)

    def run():
        out, seen = wp.zeros(2, dtype=int, device=device), wp.zeros(N, dtype=int, device=device)
        wp.launch(clamped, N, [x, out, seen], device=device)
        return out, seen

    assert _same(_runs(run))


@wp.kernel(module="unique", module_options={"deterministic": True})
def extremes(x: wp.array(dtype=float), to: wp.array(dtype=int), low: wp.array(dtype=float), high: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_min(low, to[i], x[i] * 0.0)
    wp.atomic_max(high, to[i], x[i] * -0.0)


@each_device
def test_of_two_zeros_always_the_same_stays(device):
    x, to = (wp.array(a, device=device) for a in _data())

    def run():
        low, high = (wp.full(50, value, dtype=float, device=device) for value in (1.0, -1.0))
        wp.launch(extremes, N, [x, to, low, high], device=device)
        return low, high

    assert _same(_runs(run))
    for found in run():
        assert not found.numpy().any() and not np.signbit(found.numpy()).any()


def test_the_flag_of_the_session_reaches_kernels():
    @wp.kernel
    def order(slot: wp.array(dtype=int), a: wp.array(dtype=int)):
        a[wp.atomic_add(slot, 0, 1)] = wp.tid()

    before = wp.config.deterministic
    try:
        wp.config.deterministic = wp.DeterministicMode.RUN_TO_RUN
        a = wp.zeros(N, dtype=int)
        wp.launch(order, N, [wp.zeros(1, dtype=int), a])
    finally:
        wp.config.deterministic = before
    np.testing.assert_array_equal(a.numpy(), np.arange(N))
