"""Adjoint launches: gradients of kernels on the CPU, at every number of lanes, against differences in float64."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp


@pytest.fixture(params=[0, 1, 4, 16])
def lanes(request: pytest.FixtureRequest):
    wp.config.cpu_lanes = request.param
    yield request.param
    wp.config.cpu_lanes = 0


@wp.kernel
def straight(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    a = x[i]
    y[i] = wp.sin(a) * a + a / (wp.float64(2.0) + a * a)


@wp.kernel
def branches(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    a = x[i]
    if i % 3 == 0:
        a = a * a
    elif i % 3 == 1:
        a = wp.exp(-a)
        if i % 2 == 0:
            a = a * x[0]
    y[i] = a * x[i]


@wp.kernel
def loops(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    s = x[i]
    t = wp.float64(1.0)
    for j in range(i * 7 % 23):
        if j % 5 == 4:
            continue
        s = s + wp.sin(t) * wp.float64(0.1)
        t = t * wp.cos(s) + x[(i + j) % 4]
        if t > wp.float64(30.0):
            break
    y[i] = s * t


@wp.kernel
def scatters(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(y, i % 3, x[i] * x[(i + 1) % 40])


@wp.kernel
def long_loop(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    s = x[i]
    n = int(0)
    while n < 3000 + i:
        s = s + wp.float64(0.001) * wp.sin(s)
        n += 1
    y[i] = s


def slopes(kernel: wp.Kernel, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    def loss(values: np.ndarray) -> float:
        y = wp.zeros(len(x), dtype=wp.float64)
        wp.launch(kernel, dim=len(x), inputs=[wp.array(values, dtype=wp.float64)], outputs=[y])
        return float(weights @ y.numpy())

    out = np.zeros_like(x)
    for k in range(len(x)):
        step = np.zeros_like(x)
        step[k] = 1e-6
        out[k] = (loss(x + step) - loss(x - step)) / 2e-6
    return out


@pytest.mark.parametrize("kernel", [straight, branches, loops, scatters, long_loop], ids=lambda k: k.key)
def test_agrees_with_differences(kernel: wp.Kernel, lanes: int) -> None:
    rng = np.random.default_rng(3)
    values = rng.uniform(0.1, 1.0, 40)
    weights = rng.uniform(-1.0, 1.0, 40)
    x = wp.array(values, dtype=wp.float64, requires_grad=True)
    y = wp.zeros(40, dtype=wp.float64, requires_grad=True)
    wp.launch(kernel, dim=40, inputs=[x], outputs=[y])
    y.grad.assign(weights)
    wp.launch(kernel, dim=40, inputs=[x], outputs=[y], adjoint=True)
    np.testing.assert_allclose(x.grad.numpy(), slopes(kernel, values, weights), rtol=2e-6, atol=2e-7)


def test_explicit_gradients_are_read_and_kept() -> None:
    x = wp.array([1.0, 2.0, 3.0], dtype=wp.float64)
    y = wp.zeros(3, dtype=wp.float64)
    into = wp.zeros(3, dtype=wp.float64)
    seed = wp.array([1.0, 0.0, 2.0], dtype=wp.float64)
    wp.launch(straight, 3, [x], [y], adj_inputs=[into], adj_outputs=[seed], adjoint=True)
    a = x.numpy()
    slope = np.cos(a) * a + np.sin(a) + (2.0 - a * a) / (2.0 + a * a) ** 2
    np.testing.assert_allclose(into.numpy(), slope * [1.0, 0.0, 2.0])
    np.testing.assert_array_equal(seed.numpy(), [1.0, 0.0, 2.0])


def test_own_gradients_are_used_up_though_they_are_named() -> None:
    x = wp.array([1.0, 2.0, 3.0], dtype=wp.float64, requires_grad=True)
    for view in (slice(None), slice(None, None, 2)):
        y = wp.zeros(3, dtype=wp.float64, requires_grad=True)
        other = wp.ones(3, dtype=wp.float64)
        for given, left in ((y.grad, 0.0), (other, 1.0)):
            x.grad.zero_()
            given.fill_(1.0)
            count = len(y[view].numpy())
            wp.launch(straight, count, [x[view]], [y[view]], adj_inputs=[x.grad[view]], adj_outputs=[given[view]], adjoint=True)
            np.testing.assert_array_equal(given[view].numpy(), [left] * count)
            assert (x.grad[view].numpy() != 0.0).all()
    y = wp.zeros(3, dtype=wp.float64, requires_grad=True, retain_grad=True)
    y.grad.fill_(1.0)
    wp.launch(straight, 3, [x], [y], adj_inputs=[x.grad], adj_outputs=[y.grad], adjoint=True)
    np.testing.assert_array_equal(y.grad.numpy(), [1.0] * 3)


def test_arrays_without_gradients_take_no_part() -> None:
    x = wp.array([1.0, 2.0], dtype=wp.float64)
    y = wp.zeros(2, dtype=wp.float64, requires_grad=True)
    y.grad.fill_(1.0)
    wp.launch(straight, 2, [x], [y], adjoint=True)
    assert x.grad is None


@wp.kernel
def squares_in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]


def test_what_cannot_be_right_is_refused() -> None:
    x = wp.ones(4, dtype=float, requires_grad=True)
    with pytest.raises(Exception, match=r"test_adjoint.py:\d+.*\n?.*may overwrite"):
        wp.launch(squares_in_place, 4, [x], adjoint=True)


@wp.kernel(enable_backward=False)
def closed(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]


def test_enable_backward_is_honoured(capsys: pytest.CaptureFixture) -> None:
    x = wp.ones(4, dtype=float, requires_grad=True)
    y = wp.ones(4, dtype=float, requires_grad=True)
    y.grad.fill_(1.0)
    wp.launch(closed, 4, [x], [y], adjoint=True)
    assert "enable_backward" in capsys.readouterr().out
    assert (x.grad.numpy() == 0.0).all()


def test_gradients_must_match() -> None:
    x = wp.zeros(4, dtype=wp.float64)
    y = wp.zeros(4, dtype=wp.float64)
    with pytest.raises(RuntimeError, match="type, shape and strides"):
        wp.launch(straight, 4, [x], [y], adj_inputs=[wp.zeros(5, dtype=wp.float64)], adjoint=True)
    with pytest.raises(RuntimeError, match="adj_inputs has 2 entries"):
        wp.launch(straight, 4, [x], [y], adj_inputs=[x, x], adjoint=True)


@wp.kernel
def last_store_wins(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[0] = x[i] * 2.0


@pytest.mark.cpu_only
def test_serial_adjoints_run_threads_backwards() -> None:
    wp.config.cpu_threads = 1
    try:
        x = wp.ones(5, dtype=float, requires_grad=True)
        y = wp.zeros(1, dtype=float, requires_grad=True)
        wp.launch(last_store_wins, 5, [x], [y])
        y.grad.fill_(1.0)
        wp.launch(last_store_wins, 5, [x], [y], adjoint=True)
        assert x.grad.numpy().tolist() == [0.0, 0.0, 0.0, 0.0, 2.0]
    finally:
        wp.config.cpu_threads = 0


def test_outputs_that_retain_their_gradient(device):
    @wp.kernel
    def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[wp.tid()] = 2.0 * x[wp.tid()]

    for retain, left in ((False, 0.0), (True, 1.0)):
        x = wp.ones(2, requires_grad=True)
        y = wp.array([1.0, 1.0], dtype=float, requires_grad=True, retain_grad=retain)
        y.grad.fill_(1.0)
        wp.launch(double, dim=2, inputs=[x], outputs=[y], adjoint=True)
        assert x.grad.numpy().tolist() == [2.0, 2.0] and y.grad.numpy().tolist() == [left, left]
