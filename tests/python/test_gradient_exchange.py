"""Gradients of compare-and-exchange, of minima and of maxima: who wins, what each component of a
vector did, and what zeros of either sign and values that are no numbers do."""

from typing import Any

import numpy as np
import pytest
import warp as wp
from gradient_cases import d
from tape_support import doubles

STEP = 1e-6


def made(length: int) -> Any:
    """A kernel on vectors, each of whose components is taken by the first thread that finds a zero there."""
    vec = wp.types.vector(length, d)

    @wp.kernel(module="unique")
    def taken(x: wp.array(dtype=vec), slot: wp.array(dtype=vec), out: wp.array(dtype=vec)):
        i = wp.tid()
        found = wp.atomic_cas(slot, i % 2, vec(), x[i] * d(i + 1))
        out[i] = wp.cw_mul(found, x[i])

    return taken, vec


def taken_in_order(x: np.ndarray, slot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same in NumPy, thread by thread."""
    slot, out = slot.copy(), np.zeros_like(x)
    for i in range(len(x)):
        found = slot[i % 2].copy()
        slot[i % 2] = np.where(found == 0.0, x[i] * (i + 1), found)
        out[i] = found * x[i]
    return slot, out


@pytest.mark.parametrize("length", [2, 3, 25])
def test_components_are_exchanged_one_by_one(length: int) -> None:
    kernel, vec = made(length)
    rng = np.random.default_rng(5)
    x, first = rng.uniform(0.5, 1.5, (4, length)), rng.uniform(1.0, 2.0, (2, length))
    first[:, ::2] = 0.0
    first[1, :] = np.where(first[0] == 0.0, 3.0, 0.0)
    weights = rng.normal(size=(2, length)), rng.normal(size=(4, length))
    dx = rng.normal(size=x.shape)

    def loss(x: np.ndarray, slot: np.ndarray) -> float:
        return sum(float(np.sum(w * a)) for w, a in zip(weights, taken_in_order(x, slot)))

    def slopes(which: int) -> np.ndarray:
        given = [x, first]
        found = np.zeros_like(given[which])
        for at in np.ndindex(found.shape):
            sides = []
            for step in (STEP, -STEP):
                moved = [one.copy() for one in given]
                moved[which][at] += step
                sides.append(loss(*moved))
            found[at] = (sides[0] - sides[1]) / (2 * STEP)
        return found

    a, slot, out = (wp.array(one, dtype=vec, requires_grad=True) for one in (x, first, np.zeros_like(x)))
    with wp.Tape() as tape:
        wp.launch(kernel, 4, [a, slot, out])
    tape.backward(grads={one: wp.array(w, dtype=vec) for one, w in zip((slot, out), weights)})
    np.testing.assert_allclose(a.grad.numpy(), slopes(0), rtol=1e-7, atol=1e-7)
    # A zero that moves is no zero any more: differences say nothing of those.
    stays = first != 0.0
    np.testing.assert_allclose(slot.grad.numpy()[stays], slopes(1)[stays], rtol=1e-7, atol=1e-7)

    a, slot, out = (wp.array(one, dtype=vec) for one in (x, first, np.zeros_like(x)))
    with wp.ForwardMode({a: wp.array(dx, dtype=vec)}) as forward:
        wp.launch(kernel, 4, [a, slot, out])
    sides = [taken_in_order(x + step * dx, first) for step in (STEP, -STEP)]
    for one, above, below in zip((slot, out), *sides):
        np.testing.assert_allclose(forward.tangent(one).numpy(), (above - below) / (2 * STEP), rtol=1e-7, atol=1e-7)


@wp.kernel
def highest(x: wp.array2d(dtype=d), product: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    p = x[i, 0] * x[i, 1]
    product[i] = p
    wp.atomic_max(out, 0, p + x[i, 2])


@wp.kernel
def highest_by_a_private_array(x: wp.array2d(dtype=d), product: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    own = wp.zeros(shape=3, dtype=d)
    own[1] = x[i, 0] * x[i, 1]
    product[i] = own[2]
    wp.atomic_max(out, 0, own[1] + x[i, 2])


@wp.kernel
def highest_if(x: wp.array2d(dtype=d), product: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    p = x[i, 0] * x[i, 1]
    if p + x[i, 2] > d(0.5):
        product[i] = p
        wp.atomic_max(out, 0, p + x[i, 2])


@pytest.mark.parametrize("kernel", [highest, highest_by_a_private_array, highest_if], ids=lambda one: one.key)
def test_winners_are_known_by_their_bits(kernel: wp.Kernel) -> None:
    """Of all places a kernel uses a product in, its adjoint has few: both must round it alike."""
    rng, n = np.random.default_rng(4), 40
    for _ in range(30):
        x, product, out = doubles(rng.uniform(0.1, 1.0, (n, 3))), doubles(np.zeros(n)), doubles([-9.0])
        with wp.Tape() as tape:
            wp.launch(kernel, n, [x, product, out])
        tape.backward(grads={out: doubles([1.0], grad=False)})
        values = x.numpy()
        assert np.argmax(x.grad.numpy()[:, 2]) == np.argmax(values[:, 0] * values[:, 1] + values[:, 2])
        assert x.grad.numpy()[:, 2].sum() == 1.0


@wp.kernel
def exchanged(x: wp.array(dtype=d), expected: wp.array(dtype=d), slot: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = wp.atomic_cas(slot, i, expected[i], x[i])


def test_bits_are_compared() -> None:
    """A zero is not the other zero, and what is no number equals itself."""
    first = np.array([0.0, -0.0, 0.0, np.nan, np.nan, 1.0])
    expected = np.array([-0.0, -0.0, 0.0, np.nan, 1.0, 1.0])
    happens = np.array([0.0, 1.0, 1.0, 1.0, 0.0, 1.0])
    x, slot, out = doubles(np.full(6, 2.0)), doubles(first), doubles(np.zeros(6))
    with wp.Tape() as tape:
        wp.launch(exchanged, 6, [x, doubles(expected), slot, out])
    np.testing.assert_array_equal(slot.numpy(), np.where(happens, 2.0, first))
    tape.backward(grads={slot: doubles(np.full(6, 3.0), grad=False), out: doubles(np.full(6, 5.0), grad=False)})
    np.testing.assert_array_equal(x.grad.numpy(), 3.0 * happens)
    np.testing.assert_array_equal(slot.grad.numpy(), 5.0 + 3.0 * (1.0 - happens))

    x, slot, out = (doubles(one, grad=False) for one in (np.full(6, 2.0), first, np.zeros(6)))
    along = {x: doubles(np.full(6, 3.0), grad=False), slot: doubles(np.full(6, 5.0), grad=False)}
    with wp.ForwardMode(along) as forward:
        wp.launch(exchanged, 6, [x, doubles(expected, grad=False), slot, out])
    np.testing.assert_array_equal(forward.tangent(slot).numpy(), np.where(happens, 3.0, 5.0))
    np.testing.assert_array_equal(forward.tangent(out).numpy(), np.full(6, 5.0))


@wp.kernel
def lowered(x: wp.array(dtype=d), slot: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = wp.atomic_min(slot, i, x[i])


@wp.kernel
def raised(x: wp.array(dtype=d), slot: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = wp.atomic_max(slot, i, x[i])


@wp.kernel
def lowered_together(x: wp.array(dtype=wp.vec2d), slot: wp.array(dtype=wp.vec2d)):
    wp.atomic_min(slot, 0, x[wp.tid()])


@pytest.mark.parametrize("kernel", [lowered, raised], ids=lambda one: one.key)
def test_what_is_no_number_is_ignored(kernel: wp.Kernel) -> None:
    nan = np.nan
    first, given = np.array([1.0, nan, 1.0, 1.0, nan]), np.array([nan, 2.0, 0.5, 2.0, -3.0])
    takes = np.array([0.0, 1.0, kernel is lowered, kernel is raised, 1.0])
    x, slot, out = doubles(given), doubles(first), doubles(np.zeros(5))
    with wp.Tape() as tape:
        wp.launch(kernel, 5, [x, slot, out])
    np.testing.assert_array_equal(slot.numpy(), np.where(takes, given, first))
    tape.backward(grads={slot: doubles(np.full(5, 3.0), grad=False), out: doubles(np.full(5, 5.0), grad=False)})
    np.testing.assert_array_equal(x.grad.numpy(), 3.0 * takes)
    np.testing.assert_array_equal(slot.grad.numpy(), 5.0 + 3.0 * (1.0 - takes))

    x, slot, out = (doubles(one, grad=False) for one in (given, first, np.zeros(5)))
    along = {x: doubles(np.full(5, 3.0), grad=False), slot: doubles(np.full(5, 5.0), grad=False)}
    with wp.ForwardMode(along) as forward:
        wp.launch(kernel, 5, [x, slot, out])
    np.testing.assert_array_equal(forward.tangent(slot).numpy(), np.where(takes, 3.0, 5.0))


def test_components_that_are_no_numbers_are_ignored() -> None:
    values = [[0.5, np.nan], [np.nan, 0.25], [0.75, 0.5]]
    x = wp.array(values, dtype=wp.vec2d, requires_grad=True)
    slot = wp.array([[1.0, np.nan]], dtype=wp.vec2d, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(lowered_together, 3, [x, slot])
    assert slot.numpy().tolist() == [[0.5, 0.25]]
    tape.backward(grads={slot: wp.array([[3.0, 5.0]], dtype=wp.vec2d)})
    assert x.grad.numpy().tolist() == [[3.0, 0.0], [0.0, 5.0], [0.0, 0.0]]
