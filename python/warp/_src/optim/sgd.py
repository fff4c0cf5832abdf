"""`warp.optim.SGD`: gradient descent with momentum."""

from __future__ import annotations

from typing import Iterable

from warp._src.algorithms.device_kernels import as_scalars
from warp._src.arrays.array import array
from warp._src.kernels.own_kernels import OwnKernel
from warp._src.optim.stepping import Optimizer, wide_name

# `keep` is the momentum, `take` what the gradient adds to it; `ahead` and `along` say how a step goes by gradient and momentum.
_STEP = OwnKernel(
    "sgd_step",
    "param: {array}, slope: {array}, moving: {array}, rate: {wide}, keep: {wide}, take: {wide}, decay: {wide}, ahead: {wide},"
    " along: {wide}",
    """p = {wide}(param[i])
    g = {wide}(slope[i]) + decay * p
    b = keep * moving[i] + take * g
    moving[i] = b
    param[i] = param.dtype(p - rate * (ahead * g + along * b))""",
)


class SGD(Optimizer):
    """Steps along the gradient, or along a sum of past ones that fades.

    Args:
        params: the arrays to change, of floating point numbers or of vectors, matrices, quaternions, transforms of them.
        lr: how far a step goes.
        momentum: what the sum keeps of itself at each step.
        dampening: the part of a gradient that does not enter the sum; the first one enters whole.
        weight_decay: times the parameter is added to its gradient.
        nesterov: steps go by the gradient and by the sum as it will be.

    `b` holds the sums, `t` counts steps.
    """

    _memories = ("b",)
    b: list[array]

    def __init__(
        self,
        params: Iterable[array] | None = None,
        lr: float = 0.001,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(params)
        self.lr = lr
        self.momentum = momentum
        self.dampening = dampening
        self.weight_decay = weight_decay
        self.nesterov = nesterov

    def _change(self, i: int, scalars: array, slope: array) -> None:
        keep, take = (0.0, 1.0) if self.t == 0 else (self.momentum, 1.0 - self.dampening)
        if not self.momentum:
            ahead, along = 1.0, 0.0
        else:
            ahead, along = (1.0, self.momentum) if self.nesterov else (0.0, 1.0)
        _STEP.run(
            scalars.shape, scalars, slope, as_scalars(self.b[i]), self.lr, keep, take, self.weight_decay, ahead, along,
            wide=f"wp.{wide_name(scalars)}",
        )  # fmt: skip
