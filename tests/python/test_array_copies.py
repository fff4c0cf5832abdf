"""Copies: gradients travel with them, on a tape or not (`wp.copy`, `wp.clone`, `assign`); parts of arrays."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp


def with_gradient(gradient, shape=4, value=1.0):
    a = wp.full(shape, value, dtype=float, requires_grad=True)
    a.grad.fill_(gradient)
    return a


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def test_copy_brings_the_gradient():
    a, b = with_gradient(5.0), with_gradient(7.0)
    wp.copy(b, a)
    assert b.grad.numpy().tolist() == [5.0] * 4 and b.grad.ptr != a.grad.ptr
    b = with_gradient(7.0)
    wp.copy(b, a, dest_offset=1, src_offset=2, count=2)
    assert b.grad.numpy().tolist() == [7.0, 5.0, 5.0, 7.0]


def test_copies_of_other_layouts():
    a = with_gradient(0.0, (3, 4))
    a.grad.assign(np.arange(12).reshape(3, 4))
    assert wp.clone(a[:, 1]).grad.numpy().tolist() == [1.0, 5.0, 9.0]
    np.testing.assert_array_equal(wp.clone(a.transpose()).grad.numpy(), np.arange(12).reshape(3, 4).T)
    np.testing.assert_array_equal(a[:, ::2].contiguous().grad.numpy(), np.arange(12).reshape(3, 4)[:, ::2])
    flat = with_gradient(0.0, 12)
    wp.copy(flat, a.transpose())
    np.testing.assert_array_equal(flat.grad.numpy(), np.arange(12).reshape(3, 4).T.ravel())
    turned = with_gradient(0.0, (4, 3)).transpose()
    wp.copy(turned, a)
    np.testing.assert_array_equal(turned.grad.numpy(), np.arange(12).reshape(3, 4))


def test_clone_and_assign():
    a = with_gradient(5.0)
    assert wp.clone(a).grad.numpy().tolist() == [5.0] * 4
    assert wp.clone(a, requires_grad=False).grad is None
    assert wp.clone(wp.ones(4), requires_grad=True).grad.numpy().tolist() == [0.0] * 4
    b = with_gradient(7.0)
    b.assign(a)
    assert b.grad.numpy().tolist() == [5.0] * 4
    b = with_gradient(7.0)
    b.assign(np.ones(4))
    b.assign([1.0, 2.0, 3.0, 4.0])
    b.assign(wp.ones(4))
    assert b.grad.numpy().tolist() == [7.0] * 4


@pytest.mark.parametrize("kind", ["copy", "clone", "assign"])
def test_on_a_tape(kind):
    x, y = with_gradient(5.0), with_gradient(7.0)
    tape = wp.Tape()
    with tape:
        if kind == "copy":
            wp.copy(y, x)
        elif kind == "clone":
            y = wp.clone(x)
        else:
            y.assign(x)
    assert y.grad.numpy().tolist() == [5.0] * 4
    y.grad.fill_(2.0)
    tape.backward()
    assert x.grad.numpy().tolist() == [7.0] * 4 and y.grad.numpy().tolist() == [0.0] * 4


def test_backward_passes_add_up():
    x, middle, y = with_gradient(0.0, value=3.0), with_gradient(0.0), with_gradient(0.0)
    tape = wp.Tape()
    with tape:
        wp.copy(middle, x)
        wp.launch(square, dim=4, inputs=[middle, y])
    for n in (1, 2, 3):
        tape.backward(grads={y: wp.ones(4)})
        assert x.grad.numpy().tolist() == [6.0 * n] * 4
    tape.zero()
    tape.backward(grads={y: wp.ones(4)})
    assert x.grad.numpy().tolist() == [6.0] * 4


def test_indexed_arrays_leave_gradients_alone():
    a, b = with_gradient(5.0), with_gradient(1.0, 2)
    picked = a[wp.array([0, 2], dtype=int)]
    wp.copy(b, picked)
    assert b.grad.numpy().tolist() == [1.0, 1.0]
    wp.copy(picked, with_gradient(9.0, 2))
    assert a.grad.numpy().tolist() == [5.0] * 4


def test_hessian_products_start_at_zero():
    def energy(x):
        y, out = wp.zeros(4, requires_grad=True), wp.zeros(1, requires_grad=True)
        wp.launch(square, dim=4, inputs=[x, y])
        wp.utils.array_sum(y, out=out)
        return out

    x = with_gradient(5.0, value=3.0)
    _, products = wp.hvp(energy, [x], [wp.ones(4)])
    assert products[0].numpy().tolist() == [2.0] * 4


def test_parts_of_strided_arrays():
    a = wp.array(np.arange(12), dtype=float, requires_grad=True)
    a.grad.assign(np.arange(12) + 100.0)
    b = wp.zeros(12, requires_grad=True)
    wp.copy(b[::2], a[1::3], dest_offset=1, src_offset=1, count=2)
    assert np.flatnonzero(b.numpy()).tolist() == [2, 4] and b.numpy()[[2, 4]].tolist() == [4.0, 7.0]
    assert b.grad.numpy()[[2, 4]].tolist() == [104.0, 107.0]
    wp.copy(b, a[::-1], count=3)
    assert b.numpy()[:3].tolist() == [11.0, 10.0, 9.0]


@pytest.mark.parametrize(
    "options, words",
    [
        ({"src_offset": -1}, "Source offset must be non-negative, got -1"),
        ({"dest_offset": -1}, "Destination offset must be non-negative, got -1"),
        ({"count": -1}, "Copy count must be non-negative, got -1"),
        ({"count": 2.0}, "must be integers"),
        ({"src_offset": 1.5}, "must be integers"),
        ({"count": 5}, "don't fit in the source array"),
    ],
)
def test_copies_that_are_refused(options, words):
    with pytest.raises(RuntimeError, match=words):
        wp.copy(wp.zeros(4), wp.zeros(4), **options)
    with pytest.raises(RuntimeError, match="only supported for 1-D"):
        wp.copy(wp.zeros((4, 4))[:, :2], wp.zeros((4, 4)), count=2)
    with pytest.raises(RuntimeError, match="destination dtype=float64, source dtype=float32"):
        wp.copy(wp.zeros(4, dtype=wp.float64), wp.zeros(4))
    for error in (RuntimeError, TypeError):
        with pytest.raises(error, match="must be arrays"):
            wp.copy(wp.zeros(4), np.zeros(4))


def test_captured_copies():
    a, b = with_gradient(5.0), with_gradient(7.0)
    with wp.ScopedCapture() as capture:
        wp.copy(b, a)
    assert b.grad.numpy().tolist() == [7.0] * 4
    a.grad.fill_(3.0)
    wp.capture_launch(capture.graph)
    assert b.grad.numpy().tolist() == [3.0] * 4
