"""Slices of arrays in kernels: bounds and steps that are known only at run time, forwards and backwards, as Python has
them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import warp as wp

N = 7


@wp.kernel
def copy_slice(a: wp.array(dtype=int), start: int, stop: int, step: int, count: wp.array(dtype=int), out: wp.array(dtype=int)):
    part = a[start:stop:step]
    count[0] = part.shape[0]
    for i in range(part.shape[0]):
        out[i] = part[i]


@wp.kernel
def copy_open(a: wp.array(dtype=int), step: int, counts: wp.array(dtype=int), out: wp.array2d(dtype=int)):
    whole = a[::step]
    behind = a[2::step]
    before = a[:2:step]
    counts[0] = whole.shape[0]
    counts[1] = behind.shape[0]
    counts[2] = before.shape[0]
    for i in range(whole.shape[0]):
        out[0, i] = whole[i]
    for i in range(behind.shape[0]):
        out[1, i] = behind[i]
    for i in range(before.shape[0]):
        out[2, i] = before[i]


def test_all_bounds_and_steps_at_run_time() -> None:
    values = np.arange(N, dtype=np.int32) + 10
    a = wp.array(values)
    for start, stop, step in itertools.product((-9, -3, 0, 2, 6, 9), (-9, -1, 0, 3, 7, 9), (-8, -2, -1, 1, 3)):
        count, out = wp.zeros(1, dtype=int), wp.zeros(N, dtype=int)
        wp.launch(copy_slice, dim=1, inputs=[a, start, stop, step, count, out])
        wanted = values[start:stop:step]
        assert out.numpy()[: count.numpy()[0]].tolist() == wanted.tolist(), (start, stop, step)


@pytest.mark.parametrize("step", [-5, -2, -1, 1, 2, 2**31 - 1, -(2**31)])
def test_bounds_that_are_left_out_follow_the_step(step: int) -> None:
    values = np.arange(N, dtype=np.int32) + 10
    counts, out = wp.zeros(3, dtype=int), wp.zeros((3, N), dtype=int)
    wp.launch(copy_open, dim=1, inputs=[wp.array(values), step, counts, out])
    wanted = [values[::step], values[2::step], values[:2:step]]
    assert counts.numpy().tolist() == [len(one) for one in wanted]
    for row, one in zip(out.numpy(), wanted):
        assert row[: len(one)].tolist() == one.tolist()


@wp.kernel
def written_steps(a: wp.array2d(dtype=int), out: wp.array(dtype=int)):
    part = a[3:0:-1, ::-2]
    again = part[::-1]
    out[0] = part.shape[0] * 10 + part.shape[1]
    out[1] = part[0, 0]
    out[2] = part[2, 1]
    out[3] = again[0, 0]
    nothing = a[0:3:-1]
    out[4] = nothing.shape[0]


def test_negative_steps_in_the_text() -> None:
    values = np.arange(20, dtype=np.int32).reshape(5, 4)
    out = wp.zeros(5, dtype=int)
    wp.launch(written_steps, dim=1, inputs=[wp.array(values), out])
    part = values[3:0:-1, ::-2]
    assert out.numpy().tolist() == [32, part[0, 0], part[2, 1], part[::-1][0, 0], 0]


@wp.kernel
def lanes_of_their_own(a: wp.array(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    step = 1 - 2 * (i % 2)
    part = a[::step]
    for j in range(part.shape[0]):
        out[i, j] = part[j]


@wp.kernel
def sum_backwards(a: wp.array3d(dtype=float), out: wp.array(dtype=float)):
    last_first = a[0, 1, ::-1]
    by_two = a[1, 0, ::-2]
    total = float(0.0)
    for i in range(last_first.shape[0]):
        total = total * 2.0 + last_first[i]
    for i in range(by_two.shape[0]):
        total += by_two[i]
    out[0] = total


def test_a_loop_adds_up_elements_backwards(device: wp.Device) -> None:
    # The distance of elements is a negative constant here, which GPU code took for a huge size.
    values = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    out = wp.zeros(1, dtype=float, device=device)
    wp.launch(sum_backwards, dim=1, inputs=[wp.array(values, dtype=float, device=device)], outputs=[out], device=device)
    expected = 0.0
    for x in values[0, 1, ::-1]:
        expected = expected * 2.0 + x
    assert out.numpy()[0] == expected + values[1, 0, ::-2].sum()


def test_each_thread_has_its_direction() -> None:
    values = np.arange(N, dtype=np.float32)
    out = wp.zeros((33, N), dtype=float)
    wp.launch(lanes_of_their_own, dim=33, inputs=[wp.array(values), out])
    assert out.numpy().tolist() == [(values[::-1] if i % 2 else values).tolist() for i in range(33)]


@wp.kernel
def through_indices(a: wp.indexedarray(dtype=float), step: int, out: wp.array(dtype=float)):
    part = a[::step]
    for i in range(part.shape[0]):
        out[i] = part[i]


def test_slices_of_indexed_arrays() -> None:
    values, picked = np.arange(N, dtype=np.float32), np.array([5, 1, 6, 2], dtype=np.int32)
    seen = wp.indexedarray(wp.array(values), [wp.array(picked)])
    for step in (-2, -1, 1, 2):
        out = wp.zeros(N, dtype=float)
        wp.launch(through_indices, dim=1, inputs=[seen, step, out])
        wanted = values[picked][::step]
        assert out.numpy()[: len(wanted)].tolist() == wanted.tolist()


@wp.kernel
def weighed(x: wp.array(dtype=float), step: int, y: wp.array(dtype=float)):
    part = x[::step]
    for i in range(part.shape[0]):
        y[0] += float(i + 1) * part[i] * part[i]


def test_gradients_go_back_through_slices() -> None:
    values = np.arange(1, 6, dtype=np.float32)
    x, y = wp.array(values, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(weighed, dim=1, inputs=[x, -2, y])
    tape.backward(y)
    wanted = np.zeros(5)
    wanted[::-2] = 2.0 * np.arange(1, 4) * values[::-2]
    assert x.grad.numpy().tolist() == wanted.tolist()


@pytest.mark.parametrize("mode", ["release", "debug"])
def test_a_step_of_zero_raises_in_every_mode(mode: str) -> None:
    before = wp.config.mode
    wp.config.mode = mode
    try:
        with pytest.raises(RuntimeError, match="slice step cannot be zero"):
            wp.launch(copy_slice, dim=1, inputs=[wp.zeros(3, dtype=int), 0, 3, 0, wp.zeros(1, dtype=int), wp.zeros(3, dtype=int)])
            wp.synchronize()
    finally:
        wp.config.mode = before
