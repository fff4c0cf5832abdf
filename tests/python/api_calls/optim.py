"""Optimisers: one use of each, with and without parameters at first."""

from __future__ import annotations

import warp as wp
import warp.optim

from . import calls, members


def _steps(optimizer: object) -> None:
    x = wp.array([1.0, 2.0], dtype=float)
    optimizer.set_params([x])
    optimizer.step([wp.array([1.0, -1.0], dtype=float)])
    assert optimizer.t == 1 and x.numpy()[0] < 1.0 and x.numpy()[1] > 2.0
    optimizer.reset_internal_state()
    assert optimizer.t == 0


@calls("optim.Adam")
@members("optim.Adam", "set_params", "step", "reset_internal_state")
def adam() -> None:
    _steps(wp.optim.Adam(lr=0.1))


@calls("optim.SGD")
@members("optim.SGD", "set_params", "step", "reset_internal_state")
def sgd() -> None:
    _steps(wp.optim.SGD(lr=0.1))
