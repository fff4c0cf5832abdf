"""Gradients by tapes through arrays that change, and errors where they can't be right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp
from tape_support import F64, X, check, double, doubles, gather, sine_in_place, slopes, square, total, weigh, weigh_linear, zeros


@pytest.fixture(params=[0, 1, 4])
def lanes(request: pytest.FixtureRequest):
    wp.config.cpu_lanes = request.param
    yield request.param
    wp.config.cpu_lanes = 0


# ---- arrays that change ---------------------------------------------------------------------------------------------


def test_time_stepping_in_place(lanes: int) -> None:
    @wp.kernel
    def step(x: wp.array(dtype=F64), v: wp.array(dtype=F64), k: wp.array(dtype=F64)):
        i = wp.tid()
        force = -k[0] * wp.sin(x[i])
        v[i] = v[i] + force * F64(0.05)
        x[i] = x[i] + v[i] * F64(0.05)

    def forward(start: wp.array) -> wp.array:
        x, v, k = zeros(3), zeros(3), zeros(1)
        wp.copy(x, start, count=3)
        wp.copy(k, start, src_offset=3, count=1)
        for _ in range(100):
            wp.launch(step, 3, [x, v, k])
        return total(x)

    check(forward, np.array([0.3, -0.8, 1.2, 2.0]), 1e-5)


def test_ping_pong_buffers(lanes: int) -> None:
    @wp.kernel
    def smooth(x: wp.array(dtype=F64), y: wp.array(dtype=F64)):
        i = wp.tid()
        y[i] = wp.sin(x[i]) + x[i] * x[(i + 1) % 5] * F64(0.1)

    def forward(x: wp.array) -> wp.array:
        a, b = zeros(5), zeros(5)
        wp.copy(a, x)
        for _ in range(10):
            wp.launch(smooth, 5, [a], [b])
            a, b = b, a
        return total(a)

    tape = check(forward, X)
    assert tape.kept_copies == 9 and tape.kept_bytes == 9 * 40 and tape.log_bytes == 0


def test_buffers_used_again_and_cleared(lanes: int) -> None:
    def forward(x: wp.array) -> wp.array:
        work, loss = zeros(5), zeros(1)
        for k in range(4):
            work.zero_()
            wp.launch(square, 3, [x[: 3 + k % 2][:3]], [work[1:4]])
            wp.launch(sine_in_place, 5, [work])
            wp.launch(weigh, 5, [work], [loss])
            work.fill_(float(k))
            wp.launch(square, 2, [x[:2]], [work[:2]])
            wp.launch(weigh, 5, [work], [loss])
            work[1] = 7.0
            work[2:4] = 1.0
            wp.launch(square, 5, [work], [work])
            wp.launch(weigh, 5, [work], [loss])
        return loss

    check(forward, X)


def test_index_arrays_overwritten_later(lanes: int) -> None:
    def forward(x: wp.array) -> wp.array:
        index = wp.array([4, 0, 2, 2, 1], dtype=int)
        y, z = zeros(5), zeros(5)
        wp.launch(gather, 5, [x, index], [y])
        index.fill_(0)
        wp.launch(gather, 5, [y, index], [z])
        index.assign(np.array([1, 1, 1, 1, 1]))
        return total(z)

    tape = check(forward, X)
    assert tape.kept_copies == 2


def test_copies(lanes: int) -> None:
    def forward(x: wp.array) -> wp.array:
        y = zeros(12)
        wp.launch(square, 5, [x], [y[:5]])
        wp.copy(y, x, dest_offset=2, src_offset=1, count=3)
        wp.copy(y[6:11], x)
        wp.copy(y[1::4], x[::2])
        wp.copy(y[3:8], y[2:7])  # over themselves
        wp.copy(y[:5], y[1:6])
        wp.copy(y.reshape((3, 4)).transpose()[3], y[2:5])
        return total(y)

    check(forward, X)


def test_clone_assign_and_constructors(lanes: int) -> None:
    def forward(x: wp.array) -> wp.array:
        a = wp.clone(x, requires_grad=True)
        wp.launch(sine_in_place, 5, [a])
        b = zeros(5)
        b.assign(a)
        c = wp.array(b, dtype=F64, requires_grad=True)
        single = wp.array(c, dtype=wp.float32, requires_grad=True)
        d = wp.array(single, dtype=F64, requires_grad=True)
        d.assign(c)
        e = wp.array(x[::2], dtype=F64, requires_grad=True, copy=False)
        wp.launch(square, 3, [e], [d[:3]])
        f = zeros(5)
        f.assign(np.ones(5))
        f[1:] = d[:4]
        f[0] = 3.0
        g = d.transpose().contiguous()
        return total((f * g + wp.full(5, F64(0.5), dtype=F64, requires_grad=True)) / (f * f + 1.0) - g)

    check(forward, X)


def test_conversions_between_types() -> None:
    x, loss = doubles(X), zeros(1)
    low, back = wp.zeros(5, dtype=float, requires_grad=True), zeros(5)
    with wp.Tape() as tape:
        low.assign(x)
        low[1:3] = x[3:5]
        back.assign(low)
        wp.launch(weigh_linear, 5, [back], [loss])
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), [1, 0, 0, 4 + 2, 5 + 3])


def test_rows_over_their_own_array() -> None:
    m, loss = doubles(np.arange(6.0).reshape(2, 3)), zeros(1)
    with wp.Tape() as tape:
        m[:] = m[0]
        wp.launch(weigh_linear, 6, [m.flatten()], [loss])
    tape.backward(loss)
    np.testing.assert_array_equal(m.grad.numpy(), [[5, 7, 9], [0, 0, 0]])


def test_shorter_assignments_leave_the_rest() -> None:
    """Elements that were not assigned keep their gradient."""
    for given in (np.ones(2), doubles([0.5, 1.5]), wp.array([0.5, 1.5], dtype=float, requires_grad=True)):
        x, y, loss = doubles(X), zeros(5), zeros(1)
        with wp.Tape() as tape:
            wp.launch(double, 5, [x], [y])
            y.assign(given)
            wp.launch(weigh_linear, 5, [y], [loss])
        tape.backward(loss)
        np.testing.assert_array_equal(x.grad.numpy(), [0, 0, 6, 8, 10])
        if isinstance(given, wp.array):
            np.testing.assert_array_equal(given.grad.numpy(), [1, 2])


def test_broadcast_assignment() -> None:
    x, loss = doubles([2.0, 3.0]), zeros(1)
    table = wp.zeros((2, 3), dtype=F64, requires_grad=True)
    with wp.Tape() as tape:
        table[:] = x.reshape((2, 1))
        table[0, 1:] = x[1:]
        wp.launch(weigh_linear, 6, [table.flatten()], [loss])
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), [1.0, 15.0 + 5.0])


def test_indexed_arrays_assigned_and_gathered(lanes: int) -> None:
    def forward(x: wp.array) -> wp.array:
        rows = wp.array([1, 4, 1], dtype=int)
        y = zeros(6)
        y.assign(np.linspace(0, 1, 6))
        picked = x[rows].contiguous()
        y[rows] = x[:3]  # the last one counts
        y[wp.array([0, -1], dtype=int)] = picked[:2]
        wp.copy(wp.indexedarray(y, [wp.array([2, 3], dtype=int)]), x[3:])
        y[wp.array([3], dtype=int)].zero_()
        rows.zero_()
        return total(y)

    check(forward, X)


def test_map_and_operators(lanes: int) -> None:
    def forward(x: wp.array) -> wp.array:
        y = wp.map(wp.sin, x)
        y = y * x + 2.0 * x
        y *= x
        y += y
        return total(-y)

    check(forward, X)


@pytest.mark.parametrize("kind", [wp.float32, wp.float64])
def test_matrix_products(kind: Any) -> None:
    rng = np.random.default_rng(5)
    values = [rng.normal(size=shape) for shape in ((2, 3), (3, 4), (2, 4))]

    def forward(values: list, grad: bool = False) -> tuple:
        a, b, c = (wp.array(v, dtype=kind, requires_grad=grad) for v in values)
        d = wp.zeros((2, 4), dtype=kind, requires_grad=grad)
        wp.matmul(a, b, c, d, alpha=1.5, beta=-0.5)
        wp.matmul(a, b, d, d, alpha=1.0, beta=2.0)  # adds to itself
        e = d @ b.transpose()
        b.zero_()
        a.fill_(1.0)
        return (a, b, c), e

    weights = rng.normal(size=(2, 3))
    tape = wp.Tape()
    with tape:
        arrays, result = forward(values, True)
    for _ in range(2):
        tape.zero()
        tape.backward(grads={result: wp.array(weights, dtype=kind)})
        for k, one in enumerate(arrays):

            def loss(v: np.ndarray) -> float:
                a, b, c = (*values[:k], v, *values[k + 1 :])  # noqa: B023
                d = a @ b + 2 * (1.5 * a @ b - 0.5 * c)
                return float((weights * (d @ b.T)).sum())

            np.testing.assert_allclose(one.grad.numpy(), slopes(loss, values[k]), rtol=1e-4, atol=1e-5)
    assert tape.kept_bytes == (6 + 12) * np.dtype(wp.types.warp_type_to_np_dtype[kind]).itemsize


@pytest.mark.cpu_only
def test_products_in_graphs_see_the_factors_of_each_run() -> None:
    a, b, loss = doubles(np.ones((2, 3))), doubles(np.ones((3, 2))), zeros(1)
    with wp.ScopedCapture(device="cpu") as capture:
        loss.zero_()
        with wp.Tape() as tape:
            product = a @ b
            wp.launch(weigh_linear, 4, [product.flatten()], [loss])
        tape.zero()
        tape.backward(loss)
    for seed in (1, 2):
        x, y = np.random.default_rng(seed).random((2, 6))
        a.assign(x)
        b.assign(y)
        wp.capture_launch(capture.graph)
        weights = np.arange(1.0, 5.0).reshape(2, 2)
        np.testing.assert_allclose(a.grad.numpy(), weights @ y.reshape(3, 2).T)
        np.testing.assert_allclose(b.grad.numpy(), x.reshape(2, 3).T @ weights)


def test_batched_products_and_overwritten_factors() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(2, 2, 2))
    a = wp.array(x, dtype=F64, requires_grad=True)
    with wp.Tape() as tape:
        b = wp.clone(a)
        wp.batched_matmul(b, b, b, b, alpha=1.0, beta=1.0)  # b = b·b + b
    tape.backward(grads={b: np.ones((2, 2, 2))})
    expected = slopes(lambda v: float((v @ v + v).sum()), x)
    np.testing.assert_allclose(a.grad.numpy(), expected, rtol=1e-6, atol=1e-8)


def test_utilities(lanes: int) -> None:
    def forward(x: wp.array) -> wp.array:
        a, b, loss = zeros(5), zeros(5), zeros(1)
        wp.utils.array_scan(x, a, inclusive=True)
        wp.launch(square, 5, [a], [b])
        wp.utils.array_scan(a, a, inclusive=False)
        wp.launch(square, 5, [a], [b[:5]])
        keys, values = zeros(10), zeros(10)
        wp.copy(keys, x)
        wp.copy(values, b)
        wp.utils.radix_sort_pairs(keys, values, 5)
        wp.launch(weigh, 5, [keys[:5]], [loss])
        wp.launch(weigh, 5, [values[:5]], [loss])
        wp.utils.array_inner(x, b, out=b[:1])
        wp.utils.array_sum(b, out=a[1:2], value_count=3)
        low = wp.zeros(5, dtype=F64, requires_grad=True)
        wp.utils.array_cast(a, low)
        wp.launch(weigh, 5, [low], [loss])
        return loss

    check(forward, X * 0.5)


# ---- never a silently wrong number ----------------------------------------------------------------------------------


def test_a_write_outside_of_the_tape_raises() -> None:
    x, y, loss = doubles(X), zeros(5), zeros(1)
    for write, words in (
        (lambda: wp.launch(sine_in_place, 5, [x]), "kernel 'sine_in_place'"),
        (lambda: wp.launch(sine_in_place, 5, [x], record_cmd=True).launch(), "kernel 'sine_in_place'"),
        (lambda: x.zero_(), "fill with zeros"),
        (lambda: x.fill_(1.0), "a fill"),
        (lambda: x.assign(X), "a copy"),
        (lambda: x.__setitem__(0, 1.0), "an assignment to an element"),
        (lambda: x.__setitem__(slice(2), np.ones(2)), "an assignment"),
        (lambda: wp.copy(x[3:], x[:2]), "a copy"),
        (lambda: wp.utils.array_scan(y, x), "array_scan"),
        (lambda: x[wp.array([0, 1], dtype=int)].fill_(0.0), "an assignment"),
        (lambda: wp.map(wp.sin, y, out=x), "map_kernel"),
    ):
        x.assign(X)
        tape = wp.Tape()
        with tape:
            wp.launch(square, 5, [x], [y])
            wp.launch(weigh, 5, [y], [loss])
        write()
        with pytest.raises(RuntimeError, match=f"(?s)backward pass of kernel 'square'.*shape .5,.*{words}.*outside of the tape"):
            tape.backward(loss)


def test_a_matrix_product_notices_writes() -> None:
    a, b = (wp.array(np.eye(2), dtype=float, requires_grad=True) for _ in range(2))
    tape = wp.Tape()
    with tape:
        b += b
        c = a @ b
    b.zero_()
    with pytest.raises(RuntimeError, match="backward pass of a matrix product.*fill with zeros"):
        tape.backward(grads={c: np.ones((2, 2))})
    with tape:
        d = a @ a
    wp.matmul(d, d, d=a)
    with pytest.raises(RuntimeError, match="by a matrix product|a matrix product has written"):
        tape.backward(grads={d: np.ones((2, 2))})


def test_a_write_between_recorded_operations_raises() -> None:
    x, y, loss = doubles(X), zeros(5), zeros(1)
    tape = wp.Tape()
    with tape:
        wp.launch(double, 5, [x], [y])
    y.zero_()
    with tape:
        wp.launch(weigh_linear, 5, [y], [loss])
    with pytest.raises(RuntimeError, match="a fill with zeros has written.*between operations.*tape.reset"):
        tape.backward(loss)
    tape.reset()
    with tape:
        wp.launch(double, 5, [x], [y])
    y[3] = 1.0
    with tape:
        wp.launch(weigh_linear, 3, [y[:3]], [loss])  # not what was written
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), [2, 4, 6, 0, 0])
    tape.reset()
    with tape:
        wp.launch(weigh_linear, 5, [x], [loss])
    tape.backward(loss)
    loss.zero_()  # the usual order of things: nothing recorded afterwards
    tape.zero()
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), np.arange(1, 6))
    with tape:
        wp.launch(weigh_linear, 5, [x], [loss])
    with pytest.raises(RuntimeError, match="between operations"):
        tape.backward(loss)


def test_a_gradient_given_too_late_raises() -> None:
    x, y = doubles(X, grad=False), zeros(5, grad=False)
    with wp.Tape() as tape:
        wp.launch(square, 5, [x], [y])
    x.requires_grad = y.requires_grad = True
    y.grad.fill_(1.0)
    with pytest.raises(RuntimeError, match="square.*set requires_grad before the launch"):
        tape.backward()
    with wp.Tape() as tape:
        wp.launch(double, 5, [x], [y])
    tape.backward()  # needs no values
    np.testing.assert_allclose(x.grad.numpy(), 2.0)


@pytest.mark.cpu_only  # of an array on a GPU NumPy sees a copy
@pytest.mark.parametrize("setting", ["debug", "verify"])
def test_writes_through_numpy_are_found(setting: str) -> None:
    x, y, z = doubles(X), zeros(5), zeros(5)
    saved = wp.config.mode, wp.config.verify_autograd_array_access
    try:
        if setting == "debug":
            wp.config.mode = "debug"
        else:
            wp.config.verify_autograd_array_access = True
        tape = wp.Tape()
        with tape:
            wp.launch(square, 5, [x], [y])
            wp.launch(square, 5, [y], [z])
        tape.backward(grads={z: np.ones(5)})
        x.numpy()[2] = 9.0
        with pytest.raises(RuntimeError, match="square.*somebody has written to its memory"):
            tape.backward(grads={z: np.ones(5)})
    finally:
        wp.config.mode, wp.config.verify_autograd_array_access = saved


def test_overwritten_reads_are_reported(capfd: pytest.CaptureFixture) -> None:
    x, y = doubles(X), zeros(5)
    wp.config.verify_autograd_array_access = True
    try:
        with wp.Tape() as tape:
            wp.launch(square, 5, [x], [y])
            wp.launch(double, 5, [y], [x])
    finally:
        wp.config.verify_autograd_array_access = False
    said = capfd.readouterr().out
    assert "'double' overwrites an array of shape (5,)" in said and "'square'" in said and "40 bytes" in said
    assert tape.kept_bytes == 40


def test_copies_can_be_refused() -> None:
    x, y = doubles(X), zeros(5)
    tape = wp.Tape(keep_copies=False)
    with pytest.raises(RuntimeError, match="'double' is about to overwrite .*'square'.*keep copies"):
        with tape:
            wp.launch(square, 5, [x], [y])
            wp.launch(double, 5, [y], [x])
    np.testing.assert_array_equal(x.numpy(), X)  # nothing happened
    assert len(tape.launches) == 1 and tape.kept_bytes == 0
    tape.backward(grads={y: np.ones(5)})
    np.testing.assert_allclose(x.grad.numpy(), 2 * X)


def test_what_tapes_cost() -> None:
    x, y = doubles(X), zeros(5)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 5, [x], [y])
        assert (tape.kept_bytes, tape.kept_copies, tape.log_bytes) == (0, 0, 0)
        wp.launch(double, 5, [y], [x])
        assert (tape.kept_bytes, tape.kept_copies, tape.log_bytes) == (40, 1, 0)
        wp.launch(sine_in_place, 5, [x])
        assert tape.kept_copies == 1 and 40 <= tape.log_bytes <= 64
    tape.reset()
    assert (tape.kept_bytes, tape.kept_copies, tape.log_bytes) == (0, 0, 0)


def test_gradients_written_behind_a_tape() -> None:
    """A tape that recorded work on a gradient learns of backward passes that change it."""
    x, y, z = doubles(X), zeros(5), zeros(5)
    first, second = wp.Tape(), wp.Tape()
    with first:
        wp.launch(square, 5, [x], [y])
    first.backward(grads={y: np.ones(5)})
    g = x.grad
    g.requires_grad = True
    with second:
        wp.launch(square, 5, [g], [y])
        wp.launch(square, 5, [y], [z])
    first.backward(grads={y: np.ones(5)})
    with pytest.raises(RuntimeError, match="backward pass of kernel 'square'.*has written"):
        second.backward(grads={z: np.ones(5)})
