"""Names that stand for something else when a tape goes back: gradients are those of what ran, or `backward` raises."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from tape_support import F64, X, doubles, weigh_linear, zeros

FACTOR = 2.0


@wp.func
def twice(x: F64):
    return F64(2.0) * x


@wp.func
def thrice(x: F64):
    return F64(3.0) * x


def test_closures_of_a_loop_see_the_values_of_their_turn() -> None:
    x, loss = doubles(X), zeros(1)
    with wp.Tape() as tape:
        for factor in (1.0, 2.0, 4.0):

            @wp.kernel
            def scale(x: wp.array(dtype=F64), y: wp.array(dtype=F64)):
                i = wp.tid()
                y[i] = F64(factor) * x[i]

            y = zeros(5)
            wp.launch(scale, 5, [x], [y])
            wp.launch(weigh_linear, 5, [y], [loss])
    tape.backward(loss)
    np.testing.assert_array_equal(x.grad.numpy(), 7.0 * np.arange(1, 6))


def test_functions_of_a_loop() -> None:
    x, loss = doubles(X), zeros(1)
    with wp.Tape() as tape:
        for f in (twice, thrice):

            @wp.kernel
            def apply(x: wp.array(dtype=F64), y: wp.array(dtype=F64)):
                i = wp.tid()
                y[i] = f(x[i])

            y = zeros(5)
            wp.launch(apply, 5, [x], [y])
            wp.launch(weigh_linear, 5, [y], [loss])
    tape.backward(loss)
    np.testing.assert_array_equal(x.grad.numpy(), 5.0 * np.arange(1, 6))


@wp.kernel
def by_factor(x: wp.array(dtype=F64), y: wp.array(dtype=F64)):
    i = wp.tid()
    y[i] = F64(FACTOR) * x[i]


@wp.kernel
def by_factor_later(x: wp.array(dtype=F64), y: wp.array(dtype=F64)):
    i = wp.tid()
    y[i] = F64(FACTOR) * x[i] + F64(1.0)


def test_constants_that_change(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = doubles(X), zeros(5)
    with wp.Tape() as tape:
        wp.launch(by_factor, 5, [x], [y])
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    tape.backward(grads={y: np.ones(5)})
    np.testing.assert_array_equal(x.grad.numpy(), np.full(5, 2.0))

    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    wp.launch(by_factor_later, 5, [x], [y])
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    with wp.Tape() as tape:
        wp.launch(by_factor_later, 5, [x], [y])  # as it was compiled
    with pytest.raises(RuntimeError, match="stand for something else than when it was compiled"):
        tape.backward(grads={y: np.ones(5)})


@wp.func
def factored(x: F64):
    return F64(FACTOR) * x


@wp.kernel
def by_function(x: wp.array(dtype=F64), y: wp.array(dtype=F64)):
    i = wp.tid()
    y[i] = factored(x[i])


def test_constants_of_functions_that_change(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = doubles(X), zeros(5)
    with wp.Tape() as tape:
        wp.launch(by_function, 5, [x], [y])
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    tape.backward(grads={y: np.ones(5)})
    np.testing.assert_array_equal(x.grad.numpy(), np.full(5, 2.0))


@wp.kernel
def compiled_ahead(x: wp.array(dtype=F64), y: wp.array(dtype=F64)):
    i = wp.tid()
    y[i] = factored(x[i]) + F64(1.0)


def test_kernels_that_were_compiled_ahead_under_another_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle core compiled the kernel when the constant was another one: the launch, and what a tape keeps, is of now."""
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    compiled_ahead.prepare().build_ahead()
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    x, y = doubles(X), zeros(5)
    with wp.Tape() as tape:
        wp.launch(compiled_ahead, 5, [x], [y])
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    tape.backward(grads={y: np.ones(5)})
    np.testing.assert_array_equal(y.numpy(), 2.0 * X + 1.0)
    np.testing.assert_array_equal(x.grad.numpy(), np.full(5, 2.0))


def test_names_of_its_own_do_not_count() -> None:
    """A global of the same name as a local or an attribute is another one."""
    globals()["i"] = 1
    try:
        x, y = doubles(X), zeros(5)
        wp.launch(weigh_linear, 5, [x], [y[:1]])
        globals()["i"] = 2
        y.zero_()
        with wp.Tape() as tape:
            wp.launch(weigh_linear, 5, [x], [y[:1]])
        globals()["i"] = 3
        tape.backward(grads={y[:1]: np.ones(1)})
        np.testing.assert_array_equal(x.grad.numpy(), np.arange(1, 6))
    finally:
        del globals()["i"]
