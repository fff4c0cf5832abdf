"""Warnings of the compiler: each place once, and one of a kind for a kernel."""

from __future__ import annotations

from typing import Any

import pytest

import warp as wp

pytestmark = pytest.mark.cpu_only("warnings come before any device")


class Listener:
    """A logger that keeps warnings."""

    def __init__(self):
        self.heard = []

    def debug(self, message):
        pass

    info = error = debug

    def warning(self, message, category=None, stacklevel=1):
        if ": warning: " in message:
            self.heard.append(message)


@pytest.fixture
def listener(monkeypatch):
    monkeypatch.setattr(wp.config, "quiet", False)
    monkeypatch.setattr(wp.config, "cache_kernels", False)  # what is found there was warned of when it was compiled
    with wp.ScopedLogger(Listener()) as scope:
        yield scope.logger


@wp.func
def twice_where(x: Any, c: int):
    if c > 0:
        a = x
        b = x
    if c > 0:
        return a + b
    return x


def make_kernel(limit):
    @wp.kernel
    def several(x: wp.array(dtype=float), y: wp.array(dtype=wp.vec3), c: int):
        i = wp.tid()
        if c > limit:
            z = x[i]
        if c > limit:
            x[i] = twice_where(z, c)
            y[i] = twice_where(y[i], c)

    return several


def run(kernel):
    x, y = wp.ones(1), wp.ones(1, dtype=wp.vec3)
    wp.launch(kernel, dim=1, inputs=[x, y, 5])
    return x.numpy()[0], y.numpy()[0, 0]


def test_one_of_a_kind_for_a_kernel(listener):
    for limit in (1, 2, 3):  # three kernels of one text
        assert run(make_kernel(limit)) == (2.0, 2.0)
    assert len(listener.heard) == 1
    text = listener.heard[0]
    assert "'z' may be unassigned here" in text and "note: 2 more of this kind" in text and "verbose" in text


def test_all_of_them_when_asked(listener, monkeypatch):
    monkeypatch.setattr(wp.config, "verbose", True)

    @wp.kernel
    def two_names(x: wp.array(dtype=float), c: int):
        i = wp.tid()
        if c > 0:
            p = x[i]
            q = x[i]
        x[i] = p + q

    for _ in range(2):
        wp.launch(two_names, dim=1, inputs=[wp.ones(1), 1])
    assert ["'p'" in listener.heard[0], "'q'" in listener.heard[1]] == [True, True] and len(listener.heard) == 2


def test_quiet(listener, monkeypatch):
    monkeypatch.setattr(wp.config, "quiet", True)

    @wp.kernel
    def silent(x: wp.array(dtype=float), c: int):
        if c > 0:
            r = x[0]
        x[0] = r

    wp.launch(silent, dim=1, inputs=[wp.ones(1), 1])
    assert listener.heard == []


def test_quiet_keeps_what_tapes_warn_of(listener, monkeypatch):
    monkeypatch.setattr(wp.config, "quiet", True)
    monkeypatch.setattr(listener, "warning", lambda message, category=None, stacklevel=1: listener.heard.append(message))

    @wp.kernel(enable_backward=False)
    def one_way(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = x[0]

    x, y = wp.ones(1, requires_grad=True), wp.zeros(1, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(one_way, dim=1, inputs=[x], outputs=[y])
    tape.backward(grads={y: wp.ones(1)})
    assert len(listener.heard) == 1 and "may produce incorrect gradients" in listener.heard[0]
