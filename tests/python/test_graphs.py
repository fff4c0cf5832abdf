"""Graphs on every device: what is captured runs when the graph is launched, works on the arrays it was captured with, keeps
them, decides and loops by itself, and says what it can't hold."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref

import numpy as np
import pytest
import warp as wp


@wp.kernel
def add(x: wp.array(dtype=float), s: float):
    i = wp.tid()
    x[i] = x[i] + s


@wp.kernel
def scale(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def count_down(n: wp.array(dtype=int)):
    n[0] = n[0] - 1


@wp.kernel
def set_to(n: wp.array(dtype=int), value: int):
    n[0] = value


@wp.kernel
def square_sum(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[wp.tid()] * x[wp.tid()])


@wp.kernel
def powers(x: wp.array(dtype=float), n: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    v = float(1.0)
    for _k in range(n[0]):
        v = v * x[i]
    y[i] = v


@wp.kernel
def beyond(x: wp.array(dtype=float), n: int):
    x[wp.tid() + n] = 1.0


@wp.kernel
def say(x: wp.array(dtype=float)):
    wp.printf("has %g\n", x[wp.tid()])


@wp.struct
class Pair:
    a: wp.array(dtype=float)
    s: float


@wp.kernel
def use_pair(p: Pair):
    i = wp.tid()
    p.a[i] = p.a[i] * p.s


def test_nothing_runs_before_the_launch(device: wp.Device) -> None:
    x, y = wp.zeros(4), wp.zeros(4)
    wp.capture_begin()
    assert device.is_capturing
    wp.launch(add, dim=4, inputs=[x, 1.0])
    wp.launch(scale, dim=4, inputs=[x], outputs=[y])
    graph = wp.capture_end()
    assert not device.is_capturing and graph.device == device and repr(graph) == f"<warp graph on {device}>"
    assert x.list() == [0.0] * 4
    wp.capture_launch(graph)
    assert x.list() == [1.0] * 4 and y.list() == [2.0] * 4
    wp.capture_launch(graph)
    assert y.list() == [4.0] * 4
    x.fill_(10.0)  # the graph works on what the arrays hold when it runs
    wp.capture_launch(graph)
    assert y.list() == [22.0] * 4


def test_copies_fills_and_new_arrays(device: wp.Device) -> None:
    x, out, rows = wp.full(6, 3.0), wp.zeros(6), wp.zeros((2, 3))
    with wp.ScopedCapture() as capture:
        made = wp.zeros(6)
        wp.launch(add, dim=6, inputs=[made, 1.0])  # each run finds zeros
        same = wp.clone(x)
        wp.launch(add, dim=6, inputs=[same, 1.0])
        wp.copy(out, made)
        x.fill_(5.0)
        rows[1].fill_(7.0)
        x[2:4].zero_()
        full = wp.full(3, 2.0)
        wp.copy(rows[0], full)
    assert x.list() == [3.0] * 6 and out.list() == [0.0] * 6
    for _ in range(2):
        wp.capture_launch(capture.graph)
    assert out.list() == [1.0] * 6 and made.list() == [1.0] * 6
    assert same.list() == [6.0, 6.0, 1.0, 1.0, 6.0, 6.0]
    assert x.list() == [5.0, 5.0, 0.0, 0.0, 5.0, 5.0] and rows.numpy().tolist() == [[2.0] * 3, [7.0] * 3]


def test_values_given_while_capturing(device: wp.Device) -> None:
    x = wp.zeros(4)
    with wp.ScopedCapture() as capture:
        data = np.arange(4, dtype=np.float32)
        made = wp.array(data, dtype=float)
        data[:] = -1.0  # the array has its own copy
        wp.launch(add, dim=4, inputs=[made, 1.0])
        wp.copy(x, made)
    del data
    for _ in range(2):
        wp.capture_launch(capture.graph)
        assert x.list() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.cpu_only
def test_assignments_are_captured_on_the_cpu() -> None:
    x, v = wp.zeros(5), wp.zeros(2, dtype=wp.vec3)
    with wp.ScopedCapture("cpu") as capture:
        x[0] = 4.0
        x[1:3] = 2.0
        x[3:] = np.array([7.0, 8.0])
        x[3:] = [7, 9]
        v[1] = wp.vec3(1.0, 2.0, 3.0)
        v[0] = (4.0, 5.0, 6.0)
        listed = wp.array([1, 2], dtype=wp.float64)
    assert x.list() == [0.0] * 5 and v.numpy().sum() == 0.0
    listed.zero_()
    wp.capture_launch(capture.graph)
    assert x.list() == [4.0, 2.0, 2.0, 7.0, 9.0] and listed.list() == [1.0, 2.0]
    assert v.numpy().tolist() == [[4.0, 5.0, 6.0], [1.0, 2.0, 3.0]]


def test_graphs_keep_what_they_work_on(device: wp.Device) -> None:
    out = wp.zeros(3)
    x, pair = wp.full(3, 2.0), Pair()
    pair.a, pair.s = wp.full(3, 5.0), 3.0
    with wp.ScopedCapture() as capture:
        wp.launch(use_pair, dim=3, inputs=[pair])
        wp.launch(add, dim=3, inputs=[x, 1.0])
        wp.copy(out, x)
        wp.copy(out, pair.a)
    graph = capture.graph
    del x, pair, capture
    gc.collect()
    wp.full(3, -1.0), wp.full(3, -2.0)
    wp.capture_launch(graph)
    assert out.list() == [15.0] * 3


@pytest.mark.cpu_only
def test_memory_goes_with_the_graph() -> None:
    data = np.zeros(4, np.float32)
    gone = weakref.ref(data)
    with wp.ScopedCapture("cpu") as capture:
        wp.launch(add, dim=4, inputs=[data, 1.0])  # an array of NumPy, as it stands
    del data
    gc.collect()
    wp.capture_launch(capture.graph)
    assert gone() is not None and gone().tolist() == [1.0] * 4
    del capture
    gc.collect()
    assert gone() is None


def test_branches_and_loops(device: wp.Device) -> None:
    n, x = wp.array([3], dtype=int), wp.zeros(2)
    flag = wp.array([0], dtype=int)

    def body(amount: float) -> None:
        wp.launch(add, dim=2, inputs=[x, amount])
        wp.launch(count_down, dim=1, inputs=[n])

    with wp.ScopedCapture() as capture:
        wp.capture_while(n, while_body=body, amount=1.0)
        wp.capture_if(flag, on_true=lambda: x.fill_(100.0), on_false=lambda: wp.launch(add, dim=2, inputs=[x, 0.5]))
    assert x.list() == [0.0, 0.0] and n.list() == [3]
    wp.capture_launch(capture.graph)
    assert x.list() == [3.5, 3.5] and n.list() == [0]
    wp.capture_launch(capture.graph)
    assert x.list() == [4.0, 4.0]
    n.fill_(5), flag.fill_(1)
    wp.capture_launch(capture.graph)
    assert x.list() == [100.0, 100.0] and n.list() == [0]


def test_nested_conditions_and_graphs_as_branches(device: wp.Device) -> None:
    outer, inner, x = wp.array([2], dtype=int), wp.array([0], dtype=int), wp.zeros(1)
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=1, inputs=[x, 1.0])
        wp.launch(count_down, dim=1, inputs=[inner])
    step = capture.graph

    def body() -> None:
        wp.launch(set_to, dim=1, inputs=[inner, 3])
        wp.capture_while(inner, while_body=step)
        wp.capture_if(outer, on_true=lambda: wp.capture_if(outer, on_true=lambda: wp.launch(add, dim=1, inputs=[x, 10.0])))
        wp.launch(count_down, dim=1, inputs=[outer])

    with wp.ScopedCapture() as capture:
        wp.capture_while(outer, while_body=body)
        wp.capture_if(outer, on_true=None, on_false=step)
    wp.capture_launch(capture.graph)
    assert x.list() == [27.0] and outer.list() == [0]


def test_conditions_outside_of_a_capture(device: wp.Device) -> None:
    n, x = wp.array([2], dtype=int), wp.zeros(1)

    def body() -> None:
        wp.launch(add, dim=1, inputs=[x, 1.0])
        wp.launch(count_down, dim=1, inputs=[n])

    wp.capture_while(n, while_body=body)
    wp.capture_if(n, on_true=lambda: x.fill_(-1.0), on_false=lambda: wp.launch(add, dim=1, inputs=[x, 5.0]))
    assert x.list() == [7.0]
    for bad in (1, wp.zeros(1), wp.zeros(2, dtype=int)):
        with pytest.raises(TypeError, match="a condition is an array of one int32"):
            wp.capture_if(bad, on_true=body)
    for wrong in ({"on_true": 3}, {"on_false": "x"}):  # whichever would run
        with pytest.raises(TypeError, match="a branch is a function or a wp.Graph"):
            wp.capture_if(n, **wrong)
    with pytest.raises(TypeError, match="a branch is a function or a wp.Graph"):
        wp.capture_while(n, while_body=3)


def test_graphs_in_graphs(device: wp.Device) -> None:
    x = wp.zeros(1)
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=1, inputs=[x, 1.0])
    inner = capture.graph
    with wp.ScopedCapture() as capture:
        wp.capture_launch(inner)
        wp.launch(scale, dim=1, inputs=[x, x])
        wp.capture_launch(inner)
    del inner
    wp.capture_launch(capture.graph)
    assert x.list() == [3.0]
    wp.capture_launch(capture.graph)
    assert x.list() == [9.0]


def test_what_a_capture_refuses(device: wp.Device) -> None:
    x = wp.zeros(2)
    with pytest.raises(RuntimeError, match=f"Graph capture is not active on {device}"):
        wp.capture_end()
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=2, inputs=[x, 1.0])
        for call in (x.numpy, x.list, wp.synchronize, wp.synchronize_device, lambda: x[0]):
            with pytest.raises(RuntimeError, match=f"while a graph is captured on {device}; do it before"):
                call()
        with pytest.raises(RuntimeError, match=f"Graph capture already in progress on {device}"):
            wp.capture_begin()
    wp.capture_launch(capture.graph)
    assert x.list() == [1.0, 1.0]
    with pytest.raises(TypeError, match=r"takes a wp.Graph"):
        wp.capture_launch(x)


def test_errors_inside_a_capture_leave_the_device_usable(device: wp.Device) -> None:
    x = wp.zeros(2)
    with pytest.raises(KeyError), wp.ScopedCapture() as capture:
        wp.launch(add, dim=2, inputs=[x, 1.0])
        raise KeyError
    assert capture.graph is not None and not device.is_capturing
    n = wp.array([1], dtype=int)

    def broken() -> None:
        raise KeyError

    with pytest.raises(KeyError), wp.ScopedCapture():
        wp.capture_while(n, while_body=broken)
    assert not device.is_capturing
    wp.launch(add, dim=2, inputs=[x, 1.0])
    assert x.list() == [1.0, 1.0]


@pytest.mark.cpu_only
def test_what_the_cpu_may_read_while_it_captures() -> None:
    still, x = wp.full(2, 3.0), wp.zeros(2)
    with wp.ScopedCapture("cpu") as capture:
        wp.launch(add, dim=int(still[0]), inputs=[x[:1], float(still.numpy()[1])])
        with pytest.raises(RuntimeError, match="read an element that the graph writes"):
            x[0]
        x[1]  # not written
        with pytest.raises(RuntimeError, match="give the result of a sum to Python"):
            wp.utils.array_sum(x)
        with pytest.raises(ValueError, match="the CPU has none"):
            wp.capture_begin("cpu", external=True)
    del capture


@pytest.mark.cpu_only
def test_library_functions_are_captured_on_the_cpu() -> None:
    x, y, total = wp.zeros(4), wp.zeros(4), wp.zeros(1)
    a, b, c = wp.array(np.eye(2, dtype=np.float32)), wp.full((2, 2), 2.0), wp.zeros((2, 2))
    with wp.ScopedCapture("cpu") as capture:
        wp.launch(add, dim=4, inputs=[x, 1.0])
        wp.utils.array_scan(x, y)
        wp.utils.array_sum(y, out=total)
        wp.matmul(a, b, None, c)
    assert total.list() == [0.0] and c.numpy().sum() == 0.0
    wp.capture_launch(capture.graph)
    assert y.list() == [1.0, 2.0, 3.0, 4.0] and total.list() == [10.0] and c.numpy().tolist() == [[2.0] * 2] * 2
    wp.capture_launch(capture.graph)
    assert total.list() == [20.0]


def test_recorded_launches(device: wp.Device) -> None:
    x = wp.zeros(3)
    command = wp.launch(add, dim=3, inputs=[x, 1.0], record_cmd=True)
    with wp.ScopedCapture() as capture:
        command.launch()
        command.set_param_at_index(1, 5.0)
        command.launch()
    command.set_param_at_index(1, 100.0)  # the graph has the arguments of then
    wp.capture_launch(capture.graph)
    assert x.list() == [6.0] * 3


def test_a_recording_and_its_backward_pass(device: wp.Device) -> None:
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    y, loss = wp.zeros(3, requires_grad=True), wp.zeros(1, requires_grad=True)
    tape = wp.Tape()
    with wp.ScopedCapture() as capture:
        x.grad.zero_()
        loss.zero_()
        with tape:
            wp.launch(scale, dim=3, inputs=[x], outputs=[y])
            wp.launch(square_sum, dim=3, inputs=[y], outputs=[loss])
        tape.backward(loss)
        y.grad.zero_(), loss.grad.zero_()
    assert loss.list() == [0.0]
    for values in ([1.0, 2.0, 3.0], [4.0, 0.0, -1.0]):
        x.assign(np.array(values, np.float32))
        wp.capture_launch(capture.graph)
        assert loss.list() == [4.0 * sum(v * v for v in values)]
        assert x.grad.list() == [8.0 * v for v in values]


@pytest.mark.cpu_only
def test_a_recording_with_loops_overwritten_arrays_and_products() -> None:
    x, n = wp.array([2.0, 3.0], dtype=float, requires_grad=True), wp.array([3], dtype=int)
    y, loss = wp.zeros(2, requires_grad=True), wp.zeros(1, requires_grad=True)
    a, b = wp.zeros((1, 2), requires_grad=True), wp.zeros((1, 1), requires_grad=True)
    w = wp.array([[1.0], [10.0]], dtype=float)
    with wp.ScopedCapture("cpu") as capture:
        for one in (x, y, loss, a, b):
            one.grad.zero_()
        with wp.Tape() as tape:
            wp.launch(powers, dim=2, inputs=[x, n], outputs=[y])
            wp.copy(a, y.reshape((1, 2)))
            wp.launch(scale, dim=2, inputs=[y], outputs=[y])  # y is needed as it was
            wp.matmul(a, w, None, b)
            wp.launch(square_sum, dim=1, inputs=[b.reshape(1)], outputs=[loss])
        tape.backward(loss)
    del tape
    gc.collect()
    for k, values in ((3, (2.0, 3.0)), (500, (1.0, -1.0)), (1, (4.0, 5.0))):
        n.fill_(k), loss.zero_()
        x.assign(np.array(values, np.float32))
        wp.capture_launch(capture.graph)
        s = values[0] ** k + 10.0 * values[1] ** k
        assert loss.list() == [s * s]
        assert np.allclose(x.grad.numpy(), [2 * s * c * k * v ** (k - 1) for c, v in zip((1.0, 10.0), values)])


@pytest.mark.cpu_only
def test_a_tape_from_before_a_capture_that_writes_its_arrays() -> None:
    x, loss = wp.array([1.0, 2.0], dtype=float, requires_grad=True), wp.zeros(1, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square_sum, dim=2, inputs=[x], outputs=[loss])
        with wp.ScopedCapture("cpu") as capture:
            x.fill_(9.0)
    wp.capture_launch(capture.graph)
    tape.backward(loss)
    assert x.list() == [9.0, 9.0] and x.grad.list() == [2.0, 4.0]  # by the values of then


def test_a_graph_inside_of_a_tape_is_refused(device: wp.Device) -> None:
    """Nobody would go back over it: gradients would be zero without a word."""
    x, y = wp.array([1.0, 2.0], dtype=float, requires_grad=True), wp.zeros(2, requires_grad=True)
    wp.launch(scale, dim=2, inputs=[x], outputs=[y])
    with wp.ScopedCapture() as capture:
        wp.launch(scale, dim=2, inputs=[x], outputs=[y])
    y.zero_()
    with wp.Tape(), pytest.raises(RuntimeError, match="not recorded by a tape"):
        wp.capture_launch(capture.graph)
    with wp.ForwardMode({x: wp.array([1.0, 0.0], dtype=float)}), pytest.raises(RuntimeError, match="forward mode"):
        wp.capture_launch(capture.graph)
    assert y.list() == [0.0, 0.0]
    wp.capture_launch(capture.graph)
    assert y.list() == [2.0, 4.0]


def test_tapes_hear_of_what_graphs_write(device: wp.Device) -> None:
    x, loss = wp.array([1.0, 2.0], dtype=float, requires_grad=True), wp.zeros(1, requires_grad=True)
    y, total = wp.zeros(2, requires_grad=True), wp.zeros(1, requires_grad=True)
    wp.launch(scale, dim=2, inputs=[x], outputs=[y])
    with wp.ScopedCapture() as reads:
        wp.launch(scale, dim=2, inputs=[x], outputs=[y])
    with wp.ScopedCapture() as fills:
        x.fill_(3.0)
    with wp.ScopedCapture() as launches:
        wp.launch(add, dim=2, inputs=[x, 1.0])
    with wp.ScopedCapture() as nested:
        wp.capture_launch(launches.graph)
    for graph, author in ((reads, None), (fills, "a fill"), (launches, "kernel 'add'"), (nested, "kernel 'add'")):
        with wp.Tape() as tape:
            wp.launch(square_sum, dim=2, inputs=[x], outputs=[loss])
            wp.launch(square_sum, dim=1, inputs=[loss], outputs=[total])
        wp.capture_launch(graph.graph)
        if author is None:
            tape.backward(total)
            assert x.grad.list() == [20.0, 40.0]
        else:
            with pytest.raises(RuntimeError, match=f"{author}.* has written to it since"):
                tape.backward(total)


def test_a_tape_in_a_graph_and_a_backward_pass_outside(device: wp.Device) -> None:
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    y, loss = wp.zeros(3, requires_grad=True), wp.zeros(1, requires_grad=True)
    tape = wp.Tape()
    with wp.ScopedCapture() as capture:
        loss.zero_()
        with tape:
            wp.launch(scale, dim=3, inputs=[x], outputs=[y])
            wp.launch(square_sum, dim=3, inputs=[y], outputs=[loss])
    for _ in range(3):
        wp.capture_launch(capture.graph)
        tape.backward(loss)
        assert x.grad.list() == [8.0, 16.0, 24.0]
        tape.zero()


@pytest.mark.cpu_only
def test_failed_checks_name_the_kernel_and_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wp.config, "mode", "debug")
    x, y = wp.zeros(3), wp.zeros(3)
    with wp.ScopedCapture("cpu") as capture:
        wp.launch(add, dim=3, inputs=[y, 1.0])
        wp.launch(beyond, dim=3, inputs=[x, 2])
        wp.launch(add, dim=3, inputs=[y, 10.0])
    with pytest.raises(RuntimeError, match=r"kernel 'beyond'.* index 3 is out of bounds"):
        wp.capture_launch(capture.graph)
    assert y.list() == [1.0] * 3


def test_output_appears_when_the_graph_runs(device: wp.Device, capsys: pytest.CaptureFixture) -> None:
    x = wp.full(1, 2.5)
    with wp.ScopedCapture() as capture:
        wp.launch(say, dim=1, inputs=[x])
    wp.synchronize()
    assert capsys.readouterr().out == ""
    wp.capture_launch(capture.graph)
    wp.synchronize()
    assert capsys.readouterr().out == "has 2.5\n"


def test_output_of_graphs_comes_where_they_run(capsys: pytest.CaptureFixture) -> None:
    x, y = wp.array([1.0], dtype=float), wp.array([2.0], dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(say, dim=1, inputs=[y])
    wp.launch(say, dim=1, inputs=[x])
    wp.capture_launch(capture.graph)
    z = wp.array([3.0], dtype=float)
    wp.launch(say, dim=1, inputs=[z])
    wp.synchronize()
    shown = capsys.readouterr().out
    assert [float(word) for word in shown.split() if word.replace(".", "").isdigit()] == [1.0, 2.0, 3.0], shown


@pytest.mark.cpu_only
def test_other_threads_work_while_one_captures() -> None:
    x, y = wp.zeros(1), wp.zeros(1)
    with wp.ScopedCapture("cpu") as capture:
        wp.launch(add, dim=1, inputs=[x, 1.0])
        other = threading.Thread(target=lambda: wp.launch(add, dim=1, inputs=[y, 1.0], device="cpu"))
        other.start()
        other.join()
        assert y.list() == [1.0]
    threads = [threading.Thread(target=wp.capture_launch, args=(capture.graph,)) for _ in range(1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.list() == [1.0]


@pytest.mark.cpu_only
def test_an_endless_loop_can_be_interrupted() -> None:
    forever, x = wp.array([1], dtype=int), wp.zeros(1)
    with wp.ScopedCapture("cpu") as capture:
        wp.capture_while(forever, while_body=lambda: wp.launch(add, dim=1, inputs=[x, 1.0]))
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        wp.capture_launch(capture.graph)
    timer.join()
    assert time.perf_counter() - start < 20.0 and x.list()[0] > 0.0


@pytest.mark.cpu_only
def test_modules_unloaded_since() -> None:
    x = wp.zeros(2)
    with wp.ScopedCapture("cpu") as capture:
        wp.launch(add, dim=2, inputs=[x, 1.0])
    wp.get_module(__name__).unload()
    gc.collect()
    wp.capture_launch(capture.graph)
    assert x.list() == [1.0, 1.0]
