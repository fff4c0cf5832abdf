"""What a tape hands out: gradients by argument, also after a reset, gradients to start from for arrays without one, and the
list of what was recorded."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import warp as wp
from tape_support import F64, Inner, Outer, X, doubles, square, through_struct, weigh, zeros


def test_a_gradient_to_start_from_for_an_array_without_one() -> None:
    x, y = doubles(X), zeros(5, grad=False)
    seed = doubles(np.arange(5.0), grad=False)
    with wp.Tape() as tape:
        wp.launch(square, 5, [x], [y])
    for _ in range(2):
        tape.zero()
        tape.backward(grads={y: seed})
        np.testing.assert_allclose(x.grad.numpy(), 2 * X * np.arange(5))
        np.testing.assert_allclose(seed.numpy(), np.arange(5))  # it is only read
        assert not y.requires_grad and y.grad is None
    assert tape.gradients[y].shape == (5,)
    tape.backward(grads={y: np.ones(5)})
    with pytest.raises(RuntimeError, match="has no gradient"):
        tape.backward(grads={wp.zeros(2, dtype=int): np.ones(2)})
    with pytest.raises(RuntimeError, match="maps arrays to their gradients"):
        tape.backward(grads={1: np.ones(2)})


def test_an_error_takes_the_gradient_back() -> None:
    x, y = doubles(X), zeros(5, grad=False)
    with wp.Tape() as tape:
        wp.launch(square, 5, [x], [y])
    with pytest.raises(RuntimeError, match="can't take a gradient of shape"):
        tape.backward(grads={y: np.ones(3)})
    assert not y.requires_grad


def test_gradients_after_a_reset() -> None:
    s = Outer()
    s.x, s.inner = doubles(X), Inner()
    s.inner.y, s.inner.scale = zeros(5), F64(2.0)
    x, loss = doubles(X), zeros(1)
    with wp.Tape() as tape:
        wp.launch(through_struct, 5, [s], [loss])
        wp.launch(weigh, 5, [x], [loss])
    tape.backward(loss)
    tape.reset()
    assert not tape.launches
    np.testing.assert_array_equal(tape.gradients[x].numpy(), np.zeros(5))
    np.testing.assert_array_equal(tape.gradients[s].x.numpy(), np.zeros(5))
    assert x in tape.gradients and zeros(1) not in tape.gradients
    assert len(list(tape.gradients)) == len(tape.gradients.items()) == len(tape.gradients.values())
    watched = weakref.ref(x)
    del x
    gc.collect()
    assert watched() is None  # a tape that was reset holds nothing


def test_get_adjoint() -> None:
    s = Outer()
    s.x, s.inner = doubles(X), Inner()
    s.inner.y = zeros(5)
    loss, other = zeros(1), doubles(X, grad=False)
    with wp.Tape() as tape:
        wp.launch(through_struct, 5, [s], [loss])
    tape.backward(loss)
    assert tape.get_adjoint(loss) is loss.grad
    assert tape.get_adjoint(s).x is s.x.grad
    assert tape.get_adjoint(other) is None and tape.get_adjoint(2.0) is None
    assert tape.get_adjoint(doubles(X)).shape == (5,)


def test_launches_are_lists() -> None:
    x, y = doubles(X), zeros(5)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 5, [x], [y])
        tape.record_func(print, [y])
    launch, function = tape.launches
    assert launch[:5] == [square, launch[1], launch[2], [x], [y]] and function == [print, [y]]
    launch.append("mine")
    assert tape.launches[0][-1] == "mine"
    tape.reset()


def test_components_may_be_overwritten(capfd: pytest.CaptureFixture, recwarn: pytest.WarningsRecorder) -> None:
    wp.config.enable_vector_component_overwrites = True
    try:

        @wp.kernel
        def put(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec2)):
            i = wp.tid()
            a = wp.vec2(1.0, 2.0)
            a[0] = x[i] * x[i]
            v[i] = a

        x, v = wp.array([3.0], dtype=float, requires_grad=True), wp.zeros(1, dtype=wp.vec2, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(put, 1, [x], [v])
        tape.backward(grads={v: wp.ones(1, dtype=wp.vec2)})
        assert x.grad.list() == [6.0]
    finally:
        wp.config.enable_vector_component_overwrites = False
    assert "overwrites" not in "".join(capfd.readouterr()) and not recwarn.list


def test_scopes_end_once() -> None:
    tape = wp.Tape()
    tape.record_scope_begin("outer", {"n": 1})
    with tape:
        wp.launch(square, 5, [doubles(X)], [zeros(5)])
    tape.record_scope_end()
    assert tape.scopes == [(0, "outer", {"n": 1}), (1, None, None)]
    with pytest.raises(RuntimeError, match="ended tape scope, but scope not present"):
        tape.record_scope_end()
