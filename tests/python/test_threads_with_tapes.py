"""Tapes and forward modes of several threads at once: each follows its own thread; the first tape those without one, too.

Threads change at every chance (`sys.setswitchinterval`), so that what they share is seen whatever the machine does.
"""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
import warp as wp
from warp._src.arrays import listeners

THREADS, ROUNDS = 6, 12


@wp.kernel
def power(x: wp.array(dtype=float), y: wp.array(dtype=float), factor: float):
    i = wp.tid()
    y[i] = factor * x[i] * x[i]


@pytest.fixture(autouse=True)
def often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work, count: int = THREADS) -> None:
    """Runs work(k) in threads that begin together; raises what one of them raised."""
    failures: list[BaseException] = []
    start = threading.Barrier(count)

    def run(k: int) -> None:
        try:
            start.wait()
            work(k)
        except BaseException as error:  # noqa: BLE001 - told to the test
            failures.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def gradient(k: int, device) -> None:
    """As an engine's thread does it: what comes before the tape is nobody's, either."""
    with listeners.apart():
        x = wp.full(8, float(k + 1), dtype=float, requires_grad=True, device=device)
        y = wp.zeros(8, dtype=float, requires_grad=True, device=device)
        with wp.Tape() as tape:
            wp.launch(power, dim=8, inputs=[x, y, float(k)], device=device)
            y2 = wp.clone(y)
        assert len(tape.launches) == 2, tape.launches
        tape.backward(grads={y2: wp.ones(8, dtype=float, device=device)})
        np.testing.assert_allclose(x.grad.numpy(), 2.0 * k * (k + 1))


def slope(k: int, device) -> None:
    with listeners.apart():
        follow(k, device)


def follow(k: int, device) -> None:
    x, dx = wp.full(8, float(k + 1), dtype=float, device=device), wp.ones(8, dtype=float, device=device)
    y = wp.zeros(8, dtype=float, device=device)
    with wp.ForwardMode({x: dx}) as forward:
        wp.launch(power, dim=8, inputs=[x, y, float(k)], device=device)
        z = wp.empty_like(y)
        wp.copy(z, y)
    np.testing.assert_allclose(forward.tangent(z).numpy(), 2.0 * k * (k + 1))


def test_each_thread_has_its_tape(device):
    """In the program's own threads: all that a thread does to arrays with gradients is in its block."""

    def work(k: int) -> None:
        with wp.Tape() as tape:
            x = wp.full(8, float(k + 1), dtype=float, requires_grad=True, device=device)
            y = wp.zeros(8, dtype=float, requires_grad=True, device=device)
            wp.launch(power, dim=8, inputs=[x, y, float(k)], device=device)
            tape.backward(grads={y: wp.ones(8, dtype=float, device=device)})
            np.testing.assert_allclose(x.grad.numpy(), 2.0 * k * (k + 1))

    in_threads(lambda k: [work(k) for _ in range(ROUNDS)])


def test_threads_of_engines_have_their_tapes(device):
    in_threads(lambda k: [gradient(k, device) for _ in range(ROUNDS)])


def test_each_thread_has_its_forward_mode(device):
    in_threads(lambda k: [follow(k, device) for _ in range(ROUNDS)])


def test_tapes_and_forward_modes_together(device):
    in_threads(lambda k: [(gradient if (k + r) % 2 else slope)(k, device) for r in range(ROUNDS)])


def test_threads_without_a_tape_are_recorded_by_the_first(device):
    x = wp.ones(4, dtype=float, requires_grad=True, device=device)
    outs = [wp.zeros(4, dtype=float, requires_grad=True, device=device) for _ in range(THREADS)]
    with wp.Tape() as tape:
        in_threads(lambda k: wp.launch(power, dim=4, inputs=[x, outs[k], 1.0], device=device))
    assert len(tape.launches) == THREADS
    tape.backward(grads={out: wp.ones(4, dtype=float, device=device) for out in outs})
    np.testing.assert_allclose(x.grad.numpy(), 2.0 * THREADS)


def test_a_tape_of_another_thread_records_nothing_of_a_thread_with_one(device):
    x = wp.ones(4, dtype=float, requires_grad=True, device=device)
    y = wp.zeros(4, dtype=float, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(power, dim=4, inputs=[x, y, 3.0], device=device)
        in_threads(lambda k: gradient(k, device))
    assert len(tape.launches) == 1
    tape.backward(grads={y: wp.ones(4, dtype=float, device=device)})
    np.testing.assert_allclose(x.grad.numpy(), 6.0)


def test_a_thread_has_one_at_a_time(device):
    tape = wp.Tape()
    with tape:
        with pytest.raises(RuntimeError, match="already active"):
            wp.Tape().__enter__()
        with pytest.raises(RuntimeError, match="already active"):
            in_threads(lambda k: tape.__enter__(), 1)
    with pytest.raises(RuntimeError, match="not present"):
        tape.__exit__(None, None, None)
    mode = wp.ForwardMode({})
    with mode:
        with pytest.raises(RuntimeError, match="active already"):
            wp.ForwardMode({}).__enter__()
        with pytest.raises(RuntimeError, match="active already"):
            in_threads(lambda k: mode.__enter__(), 1)


def test_settings_of_several_threads_are_all_noticed():
    from warp._src.session import settings

    before = settings.epoch
    in_threads(lambda k: [settings.bump() for _ in range(200)])
    assert settings.epoch == before + 200 * THREADS
