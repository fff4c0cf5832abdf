"""Tapes: writes that no gradient goes back over raise where a gradient would go past them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp
import warp.utils
from tape_support import F64, X, double, doubles, weigh_linear, zeros


@wp.kernel(enable_backward=False)
def replace_undifferentiated(x: wp.array(dtype=F64), y: wp.array(dtype=F64)):
    i = wp.tid()
    y[i] = x[i]


@wp.kernel(enable_backward=False)
def add_undifferentiated(x: wp.array(dtype=F64), y: wp.array(dtype=F64)):
    wp.atomic_add(y, 0, x[wp.tid()])


def by_undifferentiated_kernel(y: wp.array) -> None:
    wp.launch(replace_undifferentiated, 5, [doubles(X, grad=False)], [y])


def by_launch_aside(y: wp.array) -> None:
    wp.launch(double, 5, [doubles(X, grad=False)], [y], record_tape=False)


def by_gradless_view(y: wp.array) -> None:
    wp.launch(double, 5, [doubles(X)], [wp.array(ptr=y.ptr, shape=5, dtype=F64)])


def by_gradless_fill(y: wp.array) -> None:
    wp.array(ptr=y.ptr, shape=5, dtype=F64).fill_(1.0)


def by_gradless_copy(y: wp.array) -> None:
    wp.copy(wp.array(ptr=y.ptr, shape=5, dtype=F64), doubles(X))


WRITES = [by_undifferentiated_kernel, by_launch_aside, by_gradless_view, by_gradless_fill, by_gradless_copy]


@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__)
def test_gradients_do_not_go_past_writes_that_are_not_reversed(write: Any) -> None:
    """Neither to what a launch or a function wrote before, nor to what was only read before."""

    def launched(x: wp.array) -> wp.array:
        y = zeros(5)
        wp.launch(double, 5, [x], [y])
        return y

    def scanned(x: wp.array) -> wp.array:
        y = zeros(5)
        wp.utils.array_scan(x, y)
        return y

    def read(x: wp.array) -> wp.array:
        wp.launch(weigh_linear, 5, [x], [zeros(1)])
        return x

    for before in (launched, scanned, read):
        x, loss = doubles(X), zeros(1)
        with wp.Tape() as tape:
            y = before(x)
            write(y)
            wp.launch(weigh_linear, 5, [y], [loss])
        with pytest.raises(RuntimeError, match="is not known before.*(write|kernel)"):
            tape.backward(loss)


@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__)
def test_writes_that_are_not_reversed_and_that_nobody_reads(write: Any) -> None:
    x, y, loss = doubles(X), zeros(5), zeros(1)
    with wp.Tape() as tape:
        wp.launch(double, 5, [x], [y])
        wp.launch(weigh_linear, 5, [y], [loss])
        wp.launch(weigh_linear, 5, [x], [loss])
        write(y)
        write(x)
    for k in (1, 2):
        tape.backward(loss)
        np.testing.assert_array_equal(x.grad.numpy(), k * 3.0 * np.arange(1, 6))


def test_undifferentiated_additions_and_other_columns_let_gradients_pass(capfd: pytest.CaptureFixture) -> None:
    x, loss = doubles(X), zeros(1)
    with wp.Tape() as tape:
        wp.launch(weigh_linear, 5, [x], [loss])
        wp.launch(add_undifferentiated, 5, [x], [loss])
        wp.launch(weigh_linear, 5, [x], [loss])
    tape.backward(loss)
    np.testing.assert_array_equal(x.grad.numpy(), 2.0 * np.arange(1, 6))

    m = wp.zeros((5, 2), dtype=F64, requires_grad=True)
    x.grad.zero_()
    loss = zeros(1)
    with wp.Tape() as tape:
        wp.launch(double, 5, [x], [m[:, 0]])
        wp.launch(double, 5, [x], [m[:, 1]], record_tape=False)
        wp.launch(weigh_linear, 5, [m[:, 0]], [loss])
    tape.backward(loss)
    np.testing.assert_array_equal(x.grad.numpy(), 2.0 * np.arange(1, 6))


def test_elements_that_are_set_and_work_of_the_library_are_no_strays() -> None:
    x, y, loss = doubles(X), zeros(5), zeros(1)
    with wp.Tape() as tape:
        wp.launch(weigh_linear, 5, [y], [loss])
        wp.launch(double, 5, [x], [y])
        y[1] = 3.0
        keys, two = wp.array([0, 1, 2, 3, 4, 0, 0, 0, 0, 0], dtype=int), doubles(np.ones(10))
        wp.utils.radix_sort_pairs(keys, two, 5)
        wp.copy(two, y, count=5)
        wp.utils.radix_sort_pairs(keys, two, 5)
        wp.launch(weigh_linear, 5, [two], [loss])
        wp.launch(weigh_linear, 5, [y], [loss])
    tape.backward(loss)
    np.testing.assert_array_equal(x.grad.numpy(), [4, 0, 12, 16, 20])


def test_a_write_after_a_function_that_only_read() -> None:
    """Functions count as operations: what they added before a write is not taken for what came after."""
    x, y, total_of = doubles(X), zeros(5), zeros(1)
    with wp.Tape() as tape:
        wp.launch(double, 5, [x], [y])
        wp.utils.array_sum(y, out=total_of)
        by_launch_aside(y)
    tape.backward(total_of)
    np.testing.assert_array_equal(x.grad.numpy(), np.full(5, 2.0))


def test_arrays_that_share_memory_but_not_gradients() -> None:
    x, y, loss = doubles(X), zeros(5), zeros(1)
    view = y[1:4]
    y.grad = zeros(5, grad=False)
    with wp.Tape() as tape:
        wp.launch(double, 5, [x], [y])
        wp.launch(weigh_linear, 3, [view], [loss])
    with pytest.raises(RuntimeError, match="shares its memory, but not its gradient"):
        tape.backward(loss)
    one, other, loss = doubles(X), zeros(5), zeros(1)
    other = wp.array(ptr=one.ptr, shape=5, dtype=F64, requires_grad=True)  # read only: a gradient for each
    with wp.Tape() as tape:
        wp.launch(weigh_linear, 5, [one], [loss])
        wp.launch(weigh_linear, 5, [other], [loss])
    tape.backward(loss)
    np.testing.assert_array_equal(one.grad.numpy(), np.arange(1, 6))
    np.testing.assert_array_equal(other.grad.numpy(), np.arange(1, 6))
