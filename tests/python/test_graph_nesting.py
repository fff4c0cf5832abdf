"""Graphs of everything at once: conditions in conditions, memory and tapes inside of them, errors on the way."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import warp as wp


@pytest.fixture(autouse=True)
def _conditions(_on_device):
    if wp.get_device().is_cuda and not wp.is_conditional_graph_supported():
        pytest.skip("conditions inside of graphs need a driver of CUDA 12.4")


@wp.kernel
def add(x: wp.array(dtype=float), v: float):
    i = wp.tid()
    x[i] = x[i] + v


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def total(y: wp.array(dtype=float), sum: wp.array(dtype=float)):
    wp.atomic_add(sum, 0, y[wp.tid()])


@wp.kernel
def descend(x: wp.array(dtype=float), rate: float, gradient: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] - rate * gradient[i]


@wp.kernel
def count_down(n: wp.array(dtype=int), odd: wp.array(dtype=int)):
    odd[0] = n[0] % 2
    n[0] = n[0] - 1


@wp.kernel
def set_to(n: wp.array(dtype=int), value: int):
    n[0] = value


def test_an_optimiser_in_a_loop_of_the_graph():
    x = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    left, odd, odds = wp.array([5], dtype=int), wp.zeros(1, dtype=int), wp.zeros(1)

    def step() -> None:
        x.grad.zero_()
        loss.grad.zero_()
        y = wp.zeros(4, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(square, 4, [x], [y])
            wp.launch(total, 4, [y], [loss])
        tape.backward(loss)
        wp.launch(descend, 4, [x, 0.1, x.grad])
        wp.launch(count_down, 1, [left, odd])
        wp.capture_if(odd, on_true=lambda: wp.launch(add, 1, [odds, 1.0]))

    with wp.ScopedCapture() as capture:
        wp.capture_while(left, step)
    gc.collect()
    expected = np.array([1, 2, 3, 4], np.float32)
    for steps, odd_ones in ((5, 3), (2, 4), (0, 4)):
        left.fill_(steps)
        wp.capture_launch(capture.graph)
        for _ in range(steps):
            expected = expected - np.float32(0.1) * 2 * expected
        np.testing.assert_allclose(x.numpy(), expected, rtol=1e-5)
        assert left.numpy()[0] == 0 and odds.numpy()[0] == odd_ones


def test_loops_in_loops_in_branches():
    go, outer, inner, odd = wp.ones(1, dtype=int), wp.array([3], dtype=int), wp.zeros(1, dtype=int), wp.zeros(1, dtype=int)
    sum = wp.zeros(1)

    def innermost() -> None:
        made = wp.zeros(1)  # zero in every turn
        wp.launch(add, 1, [made, 2.0])
        wp.launch(add, 1, [made, 1.0])
        wp.launch(total, 1, [made, sum])
        wp.launch(count_down, 1, [inner, odd])

    def turn() -> None:
        wp.launch(set_to, 1, [inner, 4])
        wp.capture_while(inner, innermost)
        wp.launch(count_down, 1, [outer, odd])

    def branches() -> None:
        wp.capture_if(go, on_true=lambda: wp.capture_while(outer, turn), on_false=lambda: sum.fill_(-1.0))

    with wp.ScopedCapture() as capture:
        branches()
    gc.collect()
    wp.capture_launch(capture.graph)
    assert sum.numpy()[0] == 36.0
    go.zero_()
    wp.capture_launch(capture.graph)
    assert sum.numpy()[0] == -1.0
    go.fill_(1)
    outer.fill_(2)
    sum.zero_()
    branches()  # the host decides
    assert sum.numpy()[0] == 24.0


def test_errors_in_branches_leave_the_device_usable(device):
    n, odd, x = wp.array([2], dtype=int), wp.zeros(1, dtype=int), wp.zeros(4)

    def wrong() -> None:
        wp.launch(count_down, 1, [n, odd])
        raise KeyError("mine")

    for go in (
        lambda: wp.capture_while(n, wrong),
        lambda: wp.capture_if(n, wrong),
        lambda: wp.capture_if(n, on_true=lambda: wp.capture_while(n, wrong)),
    ):
        with pytest.raises(KeyError), wp.ScopedCapture():
            go()
        assert not device.is_capturing
        wp.launch(add, 4, [x, 1.0])
    assert x.numpy().sum() == 12.0 and n.numpy()[0] == 2


def test_nothing_at_all():
    nothing, x = wp.zeros(0), wp.zeros(3)
    with wp.ScopedCapture() as capture:
        pass
    wp.capture_launch(capture.graph)
    with wp.ScopedCapture() as capture:
        wp.launch(add, 0, [nothing, 1.0])
        wp.launch(add, (4, 0), [x, 1.0])
        nothing.fill_(1.0)
        wp.copy(x[0:0], wp.zeros(0))
    wp.capture_launch(capture.graph)
    assert not x.numpy().any()


def test_conditions_on_a_stream_that_is_not_the_current_one(device):
    if device.is_cpu:
        return  # it has no streams
    stream = wp.Stream(device)
    n, odd, x = wp.array([3], dtype=int), wp.zeros(1, dtype=int), wp.zeros(1)
    wp.synchronize()

    def body() -> None:
        wp.launch(add, 1, [x, 1.0], stream=stream)
        wp.launch(count_down, 1, [n, odd], stream=stream)

    with wp.ScopedCapture(stream=stream) as capture:
        wp.capture_while(n, body, stream=stream)
    wp.capture_launch(capture.graph, stream=stream)
    wp.synchronize_stream(stream)
    assert x.numpy()[0] == 3.0 and n.numpy()[0] == 0
