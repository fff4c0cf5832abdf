"""Launches of other threads on a tape: its block ends behind them, so that nobody goes back while they run."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
import warp as wp

TURNS = 200_000


@wp.kernel
def long_way(x: wp.array(dtype=float), y: wp.array(dtype=float), turns: int):
    i = wp.tid()
    s = x[i]
    for _ in range(turns):
        s = wp.sin(s) + x[i]
    y[i] = x[i] * x[i] + 0.0 * s


@wp.kernel
def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


def ones(count: int) -> wp.array:
    return wp.array(np.ones(count, np.float32), device="cpu", requires_grad=True)


@pytest.fixture(scope="module", autouse=True)
def compiled():
    wp.config.enable_backward = True
    x, y = ones(1), ones(1)
    with wp.Tape() as tape:
        wp.launch(long_way, 1, [x, y, 1], device="cpu")
        wp.launch(twice, 1, [x, y], device="cpu")
    tape.backward()


def test_block_ends_behind_launches_of_other_threads():
    x, y = ones(1), ones(1)
    began, ended = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        wp.launch(long_way, 1, [x, y, 100 * TURNS], device="cpu")
        ended.set()

    thread = threading.Thread(target=work)
    with wp.Tape() as tape:
        thread.start()
        began.wait()
        while tape._running() == 0 and not ended.is_set():
            time.sleep(0.001)
    assert tape._running() == 0
    thread.join()
    assert len(tape.launches) == 1
    y.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2.0)


def test_tapes_go_back_while_others_launch():
    """Threads that have launches of 1 ms on the way whenever a tape begins, ends, goes back, is read and runs again."""
    end = time.monotonic() + 1.5
    failures: list[BaseException] = []

    def launch_on() -> None:
        x, y = ones(4), ones(4)
        try:
            while time.monotonic() < end:
                wp.launch(long_way, 4, [x, y, TURNS // 20], device="cpu")
                wp.launch(twice, 4, [x, y], device="cpu")
        except BaseException as error:  # noqa: BLE001 - told by the main thread
            failures.append(error)

    threads = [threading.Thread(target=launch_on) for _ in range(3)]
    for one in threads:
        one.start()
    rounds = others = 0
    while time.monotonic() < end and not failures:
        x, y = ones(64), ones(64)
        with wp.Tape() as tape:
            wp.launch(twice, 64, [x, y], device="cpu")
            time.sleep(0.002)
        count = len(tape.launches)
        y.grad.fill_(1.0)
        tape.backward()
        assert len(tape.launches) == count
        np.testing.assert_array_equal(x.grad.numpy(), 2.0)
        tape.zero()
        rounds, others = rounds + 1, others + count - 1
    for one in threads:
        one.join()
    assert not failures, failures
    assert rounds > 5 and others > 0
