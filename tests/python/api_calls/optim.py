"""Calls of optimisers."""

from __future__ import annotations

import warp as wp
import warp.optim

from . import calls, members

_METHODS = ("set_params", "reset_internal_state", "step")


@members("optim.Adam", *_METHODS)
@members("optim.SGD", *_METHODS)
@calls("optim.Adam", "optim.SGD")
def steps() -> None:
    for kind in (warp.optim.Adam, warp.optim.SGD):
        x = wp.ones(2, dtype=float)
        optimizer = kind(lr=0.5)
        optimizer.set_params([x])
        optimizer.step([wp.ones(2, dtype=float)])
        assert abs(x.numpy() - 0.5).max() < 1e-6 and optimizer.t == 1
        optimizer.reset_internal_state()
        assert optimizer.t == 0
