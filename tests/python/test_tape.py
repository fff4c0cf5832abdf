"""wp.Tape: its API, lifetimes, threads, packed launches and launches of adjoints."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest
import warp as wp
from tape_support import F64, Inner, Outer, X, check, double, doubles, sine_in_place, square, through_struct, total, weigh, weigh_linear, zeros


@pytest.fixture(params=[0, 1, 4])
def lanes(request: pytest.FixtureRequest):
    wp.config.cpu_lanes = request.param
    yield request.param
    wp.config.cpu_lanes = 0


# ---- the API --------------------------------------------------------------------------------------------------------


def test_gradients_of_a_launch(lanes: int) -> None:
    def forward(x: wp.array) -> wp.array:
        y = zeros(5)
        wp.launch(square, 5, [x], [y])
        return total(y)

    check(forward, X)


def test_attributes() -> None:
    x, y, loss = doubles(X), zeros(5), zeros(1)
    tape = wp.Tape()
    assert len(tape.gradients) == 0 and tape.launches == [] and tape.loss is None
    with tape as entered:
        assert entered is tape
        wp.launch(square, 5, inputs=[x], outputs=[y])
        wp.launch(weigh, 5, inputs=[y], outputs=[loss])
    kernel, dim, max_blocks, inputs, outputs, device, block_dim = tape.launches[0]
    assert (kernel, dim, max_blocks, inputs, outputs, block_dim) == (square, 5, 0, [x], [y], None)
    tape.backward(loss=loss)
    assert tape.loss is loss
    expected = np.arange(1, 6) * np.cos(X * X) * 2 * X
    assert tape.gradients[x] is x.grad and tape.adjoints[x] is x.grad
    assert x in tape.gradients and {id(a) for a in tape.gradients} == {id(x), id(y), id(loss)}
    np.testing.assert_allclose(tape.gradients[x].numpy(), expected)
    with pytest.raises(KeyError):
        tape.gradients[doubles(X)]
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), 2 * expected)  # gradients add up
    tape.zero()
    assert not x.grad.numpy().any() and not loss.grad.numpy().any()
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), expected)
    tape.reset()
    assert tape.launches == [] and not tape.gradients[x].numpy().any() and tape.loss is None
    assert not x.grad.numpy().any()
    tape.backward(loss)
    assert not x.grad.numpy().any()


def test_backward_without_arguments_and_with_seeds() -> None:
    x, y, z = doubles(X), zeros(5), zeros(5)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 5, [x], [y])
        wp.launch(double, 5, [x], [z])
    y.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * X)
    tape.zero()
    seed = doubles([1.0, 0, 0, 2, 0], grad=False)
    tape.backward(grads={y: seed, z: np.array([0, 0, 3.0, 0, 0])})
    np.testing.assert_allclose(x.grad.numpy(), [2 * X[0], 0, 6.0, 4 * X[3], 0])
    np.testing.assert_array_equal(seed.numpy(), [1, 0, 0, 2, 0])


def test_rows_of_a_jacobian() -> None:
    x, y = doubles(X), zeros(5)
    tape = wp.Tape()
    with tape:
        wp.launch(square, dim=5, inputs=[x], outputs=[y])
    rows = np.empty((5, 5))
    for k in range(5):
        tape.backward(grads={y: wp.array(np.eye(5)[k], dtype=F64)})
        rows[k] = tape.gradients[x].numpy()
        tape.zero()
    np.testing.assert_allclose(rows, np.diag(2 * X))


def test_arrays_made_inside_the_block_keep_their_gradients() -> None:
    made = []
    tape = wp.Tape()
    with tape:
        made.append(wp.array(X, dtype=F64, requires_grad=True))
        made.append(wp.full(5, F64(2.0), dtype=F64, requires_grad=True))
        made.append(wp.ones(5, dtype=F64, requires_grad=True))
        made.append(wp.ones_like(made[0]))
        made.append(wp.full_like(made[0], 3.0))
        made.append(wp.from_numpy(X, dtype=F64, requires_grad=True))
        made.append(wp.array(X.astype(np.float32), dtype=F64, requires_grad=True))
        loss = zeros(1)
        for one in made:
            wp.launch(weigh_linear, 5, [one], [loss])
    tape.backward(loss)
    for one in made:
        np.testing.assert_array_equal(one.grad.numpy(), np.arange(1, 6))


def test_backward_inside_the_block_records_nothing() -> None:
    x, y, loss = doubles(X), zeros(5), zeros(1)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 5, [x], [y])
        wp.launch(weigh_linear, 5, [y], [loss])
        tape.backward(loss)
        tape.zero()
        assert len(tape.launches) == 2
        tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), np.arange(1, 6) * 2 * X)


def test_errors() -> None:
    x, y, loss = doubles(X), zeros(5), zeros(1)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 5, [x], [y])
        with pytest.raises(RuntimeError, match="entering a tape while one is already active"):
            with wp.Tape():
                pass
        with pytest.raises(RuntimeError, match="already active"):
            tape.__enter__()
        wp.launch(weigh, 5, [y], [loss])
    with pytest.raises(RuntimeError, match="scalar loss functions.*5 elements"):
        tape.backward(y)
    with pytest.raises(RuntimeError, match="requires_grad=True"):
        tape.backward(zeros(1, grad=False))
    with pytest.raises(TypeError, match="must be a wp.array, not float"):
        tape.backward(1.0)
    with pytest.raises(RuntimeError, match="maps arrays to their gradients"):
        tape.backward(grads={1.0: zeros(5)})
    for few in (zeros(2, grad=False), [1.0, 2.0], np.ones((5, 2))):
        with pytest.raises(RuntimeError, match="gradient of shape|don't fit"):
            tape.backward(grads={y: few})
    with pytest.raises(TypeError, match="dictionary from arrays"):
        tape.backward(grads=[y])
    with pytest.raises(RuntimeError, match="None for an array"):
        tape.backward(grads={y: None})
    with pytest.raises(TypeError, match="a function without arguments, not int"):
        tape.record_func(3, [x])
    with pytest.raises(TypeError, match="lists the arrays"):
        tape.record_func(lambda: None, [x, 3])
    y.grad.zero_()
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), np.arange(1, 6) * np.cos(X * X) * 2 * X)


def test_an_exception_ends_the_recording() -> None:
    x, y = doubles(X), zeros(5)
    tape = wp.Tape()
    with pytest.raises(ZeroDivisionError):
        with tape:
            wp.launch(square, 5, [x], [y])
            raise ZeroDivisionError
    wp.launch(double, 5, [x], [zeros(5)])
    assert len(tape.launches) == 1
    with tape:
        with pytest.raises(RuntimeError):
            wp.launch(square, 5, [x, y, y])
    assert len(tape.launches) == 1
    y.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * X)


def test_record_func_runs_in_its_place() -> None:
    x, y, z, loss = doubles(X), zeros(5), zeros(5), zeros(1)
    tape = wp.Tape()
    called = []

    def backward() -> None:
        called.append(len(tape.launches))
        y.grad.assign(z.grad.numpy() * 10)
        z.grad.zero_()
        wp.launch(double, 5, [x], [zeros(5)])  # is not recorded

    with tape:
        wp.launch(square, 5, [x], [y])
        z.assign(y.numpy() * 10)
        tape.record_func(backward, arrays=[y, z])
        wp.launch(weigh_linear, 5, [z], [loss])
    assert tape.launches[-2] == (backward, [y, z]) or tape.launches[-2][0] is backward
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), np.arange(1, 6) * 10 * 2 * X)
    assert called == [len(tape.launches)]
    assert tape.gradients[z] is z.grad
    z.grad.fill_(5.0)
    tape.zero()
    assert not z.grad.numpy().any()


def test_functions_may_go_back_by_a_tape_of_their_own() -> None:
    x, y, z, loss = doubles(X), zeros(5), zeros(5), zeros(1)
    tape = wp.Tape()

    def backward() -> None:
        inner = wp.Tape()
        with inner:
            wp.launch(square, 5, [y], [z])
        inner.backward()

    with tape:
        wp.launch(square, 5, [x], [y])
        wp.launch(square, 5, [y], [z], record_tape=False)
        tape.record_func(backward, [y, z])
        wp.launch(weigh, 5, [z], [loss])
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), np.arange(1, 6) * np.cos(X**4) * 4 * X**3)
    assert wp.Tape().launches == []


def test_scopes_and_visualize(tmp_path: Any) -> None:
    x, y, loss = doubles(X), zeros(5), zeros(1)
    tape = wp.Tape()
    with tape:
        tape.record_scope_begin("step", metadata={"n": 1})
        wp.launch(square, 5, [x], [y])
        tape.record_scope_begin('in"ner')
        wp.launch(sine_in_place, 5, [y])
        tape.record_scope_end()
        tape.record_scope_end()
        tape.record_scope_begin("empty")
        tape.record_scope_end()
        wp.launch(weigh, 5, [y], [loss])
        tape.record_func(lambda: None, [loss])
    text = tape.visualize(str(tmp_path / "tape.dot"), array_labels={x: "positions"})
    assert (tmp_path / "tape.dot").read_text() == text
    assert text.startswith("digraph") and text.count("{") == text.count("}")
    for part in ("positions", "square", "weigh", "sine_in_place", "step", 'in\\"ner', "rankdir=LR", "lambda"):
        assert part in text
    assert "empty" not in text
    assert "step" not in tape.visualize(ignore_graph_scopes=True)
    assert "rankdir=TB" in tape.visualize(graph_direction="TB")
    named = tape.visualize(track_inputs=[x], track_input_names=["in"], track_outputs=[loss], track_output_names=["out"])
    assert '"in\\n' in named or "in\n" in named
    assert "positions" not in tape.visualize(hide_readonly_arrays=True, array_labels={x: "positions"})
    assert wp.Tape().visualize().startswith("digraph")
    with pytest.raises(ValueError, match="one of LR, RL, TB and BT"):
        tape.visualize(graph_direction="up")


def test_launches_that_are_not_recorded() -> None:
    x, y = doubles(X), zeros(5)
    with wp.Tape() as tape:
        wp.launch(square, 5, [x], [y], record_tape=False)
    assert tape.launches == []


def test_retain_grad() -> None:
    x, loss = doubles(X), zeros(1)
    y = wp.zeros(5, dtype=F64, requires_grad=True, retain_grad=True)
    z = zeros(5)
    assert y.retain_grad and not z.retain_grad
    with wp.Tape() as tape:
        wp.launch(square, 5, [x], [z])
        wp.launch(square, 5, [z], [y])
        wp.launch(weigh_linear, 5, [y], [loss])
    tape.backward(loss)
    np.testing.assert_allclose(y.grad.numpy(), np.arange(1, 6))
    assert not z.grad.numpy().any()  # taken by the store
    np.testing.assert_allclose(x.grad.numpy(), np.arange(1, 6) * 4 * X**3)


def test_retain_grad_of_parts_written_at_different_times() -> None:
    x, loss = doubles(X), zeros(1)
    y = wp.zeros(5, dtype=F64, requires_grad=True, retain_grad=True)
    w = zeros(2)
    with wp.Tape() as tape:
        wp.launch(square, 2, [x[:2]], [y[:2]])
        wp.launch(double, 2, [y[:2]], [w])
        wp.launch(square, 3, [x[2:]], [y[2:]])
        wp.launch(weigh_linear, 2, [w], [loss])
        wp.launch(weigh_linear, 5, [y], [loss])
    tape.backward(loss)
    expected = np.arange(1, 6) + np.array([2.0, 4, 0, 0, 0])
    np.testing.assert_allclose(y.grad.numpy(), expected)
    np.testing.assert_allclose(x.grad.numpy(), expected * 2 * X)


def test_retain_grad_in_place() -> None:
    x, loss = doubles(X), zeros(1)
    y = wp.zeros(5, dtype=F64, requires_grad=True, retain_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 5, [x], [y])
        for _ in range(3):
            wp.launch(sine_in_place, 5, [y])
        wp.launch(weigh_linear, 5, [y], [loss])
    tape.backward(loss)
    np.testing.assert_allclose(y.grad.numpy(), np.arange(1, 6))  # of the last values


def test_retain_grad_of_zero() -> None:
    # What was stored last has no part in the loss, what was there before has.
    x, loss = doubles(X), zeros(1)
    y = wp.zeros(5, dtype=F64, requires_grad=True, retain_grad=True)
    w = zeros(5)
    with wp.Tape() as tape:
        wp.launch(square, 5, [x], [y])
        wp.launch(double, 5, [y], [w])
        wp.launch(double, 5, [x], [y])
        wp.launch(weigh_linear, 5, [w], [loss])
        wp.launch(weigh_linear, 1, [y], [loss])
    tape.backward(loss)
    assert y.grad.numpy().tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    expected = np.arange(1, 6) * 4 * X
    expected[0] += 2.0
    np.testing.assert_allclose(x.grad.numpy(), expected)


def test_retain_grad_of_steps_and_of_what_is_only_read() -> None:
    @wp.kernel
    def shift(y: wp.array(dtype=F64), v: wp.array(dtype=F64)):
        i = wp.tid()
        if i > 1:
            y[i] = y[i] + v[i]

    v, loss = doubles(X), zeros(1)
    y = wp.array(X, dtype=F64, requires_grad=True, retain_grad=True)
    with wp.Tape() as tape:
        for _ in range(2):
            wp.launch(weigh_linear, 5, [y], [loss])
            wp.launch(shift, 5, [y, v])
        wp.launch(weigh_linear, 5, [y], [loss])
    tape.backward(loss)
    assert y.grad.numpy().tolist() == [3.0, 6.0, 3.0, 4.0, 5.0]


# ---- lifetimes, threads, launches that were packed ------------------------------------------------------------------


def test_arrays_outlive_tapes_and_tapes_keep_arrays() -> None:
    x, loss = doubles(X), zeros(1)
    tape = wp.Tape()
    with tape:
        y = zeros(5)
        wp.launch(square, 5, [x], [y])
        z = zeros(5)
        wp.launch(square, 5, [y], [z])
        del y
        wp.launch(weigh_linear, 5, [z], [loss])
        del z
    gc.collect()
    tape.backward(loss)
    gradient = tape.gradients[x]
    del tape
    gc.collect()
    np.testing.assert_allclose(gradient.numpy(), np.arange(1, 6) * 4 * X**3)
    x.zero_()
    wp.launch(square, 5, [x], [zeros(5)])


def test_tapes_that_know_themselves_are_collected() -> None:
    import weakref

    tape = wp.Tape()
    x, y = doubles(X), zeros(5)
    gone = []
    weakref.finalize(tape.gradients, gone.append, 1)
    with tape:
        wp.launch(square, 5, [x], [y])
        tape.record_func(lambda: tape.launches, [x])
    del tape
    gc.collect()
    assert gone == [1]


def test_many_launches_stay_quick() -> None:
    import time

    tape = wp.Tape()
    x = doubles(X)
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        with tape:
            for _ in range(500):
                y = zeros(5)
                wp.launch(square, 5, [x], [y])
        times.append(time.perf_counter() - begin)
    assert times[3] < 10 * min(times) + 0.1


def test_tapes_of_threads() -> None:
    """Each thread has its own; going back runs beside recordings of others."""
    ready, go = threading.Event(), threading.Event()
    results = []

    def work() -> None:
        x, y = doubles(X), zeros(5)
        tape = wp.Tape()
        with tape:
            wp.launch(square, 5, [x], [y])
            ready.set()
            go.wait(30)
            wp.launch(sine_in_place, 5, [y])
        tape.backward(grads={y: np.ones(5)})
        results.append(x.grad.numpy().copy())

    mine_x, mine_y = doubles(X), zeros(5)
    mine = wp.Tape()
    with mine:
        wp.launch(square, 5, [mine_x], [mine_y])
    thread = threading.Thread(target=work)
    thread.start()
    assert ready.wait(30)
    with wp.Tape() as beside:
        wp.launch(square, 5, [mine_x], [mine_y])
    assert len(beside.launches) == 1
    mine.backward(grads={mine_y: np.ones(5)})  # must not disturb the other tape
    go.set()
    thread.join(30)
    np.testing.assert_allclose(mine_x.grad.numpy(), 2 * X)
    np.testing.assert_allclose(results[0], (np.cos(X * X) + 1) * 2 * X)


def test_packed_launches_on_a_tape(lanes: int) -> None:
    def forward(x: wp.array) -> wp.array:
        a, b = zeros(5), zeros(5)
        launch = wp.launch(square, 5, [x], [a], record_cmd=True)
        launch.launch()
        launch.set_param_at_index(0, a)
        launch.set_param_by_name("y", b)
        launch.launch()
        wp.launch(sine_in_place, 5, [b], record_cmd=True).launch()
        launch.set_params([b, a])
        launch.launch()
        launch.set_dim(2)
        launch.set_param_at_index(0, x)
        launch.launch()
        return total(a)

    tape = check(forward, X * 0.5)
    kernel, dim, _, inputs, outputs, _, _ = tape.launches[0]
    assert kernel is square and dim == (5,) and len(inputs) == len(outputs) == 1


def test_packed_launches_that_are_not_recorded() -> None:
    x, y = doubles(X), zeros(5)
    launch = wp.launch(square, 5, [x], [y], record_cmd=True, record_tape=False)
    with wp.Tape() as tape:
        launch.launch()
    assert tape.launches == []


# ---- adjoint launches -----------------------------------------------------------------------------------------------


def test_adjoint_launches_with_gradients_of_the_caller() -> None:
    x, y = doubles(X), zeros(5)
    given_x, given_y = zeros(5, grad=False), doubles(np.arange(1, 6), grad=False)
    wp.launch(square, 5, [x], [y])
    wp.launch(square, 5, [x], [y], adj_inputs=[given_x], adj_outputs=[given_y], adjoint=True)
    np.testing.assert_allclose(given_x.numpy(), np.arange(1, 6) * 2 * X)
    np.testing.assert_array_equal(given_y.numpy(), np.arange(1, 6))  # the caller's stays
    assert not x.grad.numpy().any()
    foreign = np.arange(1.0, 6)
    y.grad = wp.array(foreign, dtype=F64, copy=False)
    assert y.grad.ptr == foreign.ctypes.data or y.device.is_cuda
    wp.launch(square, 5, [x], [y], adjoint=True)
    np.testing.assert_allclose(x.grad.numpy(), np.arange(1, 6) * 2 * X)
    np.testing.assert_array_equal(foreign, np.arange(1, 6))
    y.requires_grad = False
    y.requires_grad = True
    y.grad.fill_(1.0)
    x.grad.zero_()
    wp.launch(square, 5, [x], [y], adjoint=True)
    np.testing.assert_allclose(x.grad.numpy(), 2 * X)
    assert not y.grad.numpy().any()  # the store took its own
    with pytest.raises(RuntimeError, match="adj_inputs has 2 entries for 1 arguments"):
        wp.launch(square, 5, [x], [y], adj_inputs=[None, None], adjoint=True)
    with pytest.raises(RuntimeError, match="own type, shape and strides"):
        wp.launch(square, 5, [x], [y], adj_inputs=[zeros(4)], adjoint=True)


def test_adjoint_launches_of_strided_arrays() -> None:
    x, y = doubles(np.arange(10.0)), zeros(10)
    seed = zeros(10, grad=False)
    seed.fill_(1.0)
    wp.launch(square, 5, [x[::-2]], [y[::-2]], adj_outputs=[seed[::-2]], adjoint=True)
    np.testing.assert_allclose(x.grad.numpy(), np.where(np.arange(10) % 2, 2 * np.arange(10.0), 0))
    np.testing.assert_array_equal(seed.numpy(), 1.0)


def test_adjoint_launches_with_structs() -> None:
    x, y, loss = doubles(X, grad=False), zeros(5, grad=False), zeros(1)
    s, g = Outer(), Outer()
    s.x, s.inner.y, s.inner.scale = x, y, 3.0
    g.x, g.inner.y = zeros(5, grad=False), doubles(np.arange(1, 6), grad=False)
    loss.grad.fill_(1.0)
    wp.launch(through_struct, 5, [s], [loss], adj_inputs=[g], adjoint=True)
    np.testing.assert_allclose(g.x.numpy(), np.arange(1, 6) * 6 * X + 1)
    with pytest.raises(RuntimeError, match="must be an instance of"):
        wp.launch(through_struct, 5, [s], [loss], adj_inputs=[Inner()], adjoint=True)
    out = Outer()
    out.x, out.inner.y = zeros(5, grad=False), doubles(np.arange(1, 6), grad=False)
    wp.launch(through_struct, 5, outputs=[s, loss], adj_outputs=[out], adjoint=True)
    np.testing.assert_array_equal(out.inner.y.numpy(), np.arange(1, 6))


def test_packed_adjoint_launches() -> None:
    x, y = doubles(X), zeros(5)
    y.grad.fill_(1.0)
    back = wp.launch(square, 5, [x], [y], adjoint=True, record_cmd=True)
    assert isinstance(back, wp.Launch)
    back.launch()
    np.testing.assert_allclose(x.grad.numpy(), 2 * X)
    seed, into = doubles(np.full(5, 3.0), grad=False), zeros(5, grad=False)
    back.set_param_at_index(1, seed, adjoint=True)
    back.set_param_by_name("x", into, adjoint=True)
    back.launch()
    back.set_dim(1)
    back.launch()
    np.testing.assert_allclose(into.numpy(), 6 * X + 6 * X * (np.arange(5) == 0))
    np.testing.assert_array_equal(seed.numpy(), 3.0)
    with pytest.raises(RuntimeError, match="runs forwards"):
        wp.launch(square, 5, [x], [y], record_cmd=True).set_param_at_index(0, into, adjoint=True)


# ---- programs -------------------------------------------------------------------------------------------------------


def test_rosenbrock_is_minimised() -> None:
    @wp.kernel
    def rosenbrock(p: wp.array(dtype=F64), loss: wp.array(dtype=F64)):
        x = p[0]
        y = p[1]
        loss[0] = (F64(1.0) - x) * (F64(1.0) - x) + F64(100.0) * (y - x * x) * (y - x * x)

    p, loss = doubles([-1.2, 1.0]), zeros(1)
    mean, power = np.zeros(2), np.zeros(2)
    for k in range(1, 2001):
        with wp.Tape() as tape:
            wp.launch(rosenbrock, 1, [p], [loss])
        tape.backward(loss)
        g = tape.gradients[p].numpy()
        mean, power = 0.9 * mean + 0.1 * g, 0.999 * power + 0.001 * g * g
        step = 0.05 * (mean / (1 - 0.9**k)) / (np.sqrt(power / (1 - 0.999**k)) + 1e-8)
        tape.zero()
        p.assign(p.numpy() - step)
    np.testing.assert_allclose(p.numpy(), 1.0, atol=1e-3)
    assert loss.numpy()[0] < 1e-6


@pytest.mark.cpu_only
def test_a_loss_recorded_once_follows_an_optimizer_that_shares_the_memory() -> None:
    """What the documents do with PyTorch: the optimizer writes to the memory, past all that tapes see, and the next
    backward pass takes the values of then."""

    @wp.kernel
    def paraboloid(xs: wp.array(dtype=wp.vec2), loss: wp.array(dtype=float)):
        x = xs[wp.tid()]
        wp.atomic_add(loss, 0, (x[0] - 1.0) * (x[0] - 1.0) + 3.0 * (x[1] + 2.0) * (x[1] + 2.0))

    xs = wp.array(np.random.default_rng(1).normal(size=(10, 2)), dtype=wp.vec2, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    shared = xs.numpy()
    tape = wp.Tape()
    with tape:
        wp.launch(paraboloid, dim=len(xs), inputs=[xs], outputs=[loss])
    for _ in range(100):
        tape.zero()
        tape.backward(loss=loss)
        shared -= 0.1 * xs.grad.numpy()
        loss.zero_()
        wp.launch(paraboloid, dim=len(xs), inputs=[xs], outputs=[loss])
    assert loss.numpy()[0] < 1e-6
    np.testing.assert_allclose(xs.numpy(), np.tile([1.0, -2.0], (10, 1)), atol=1e-4)
