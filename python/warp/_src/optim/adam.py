"""`warp.optim.Adam` (Kingma and Ba 2015)."""

from __future__ import annotations

from typing import Iterable

from warp._src.algorithms.device_kernels import as_scalars
from warp._src.arrays.array import array
from warp._src.kernels.own_kernels import OwnKernel
from warp._src.optim.stepping import Optimizer, wide_name

_STEP = OwnKernel(
    "adam_step",
    "param: {array}, slope: {array}, mean: {array}, square: {array}, rate: {wide}, keep_mean: {wide}, take_mean: {wide},"
    " keep_square: {wide}, take_square: {wide}, mean_part: {wide}, square_part: {wide}, eps: {wide}",
    """g = {wide}(slope[i])
    m = keep_mean * mean[i] + take_mean * g
    v = keep_square * square[i] + take_square * g * g
    mean[i] = m
    square[i] = v
    param[i] = param.dtype({wide}(param[i]) - rate * (m / mean_part) / (wp.sqrt(v / square_part) + eps))""",
)


class Adam(Optimizer):
    """Steps by running means of gradients and of their squares.

    Args:
        params: the arrays to change, of floating point numbers or of vectors, matrices, quaternions, transforms of them.
        lr: how far a step goes.
        betas: what the two means keep of themselves at each step.
        eps: is added to the root of the mean square.

    `m` and `v` hold the two means of each parameter, `t` counts steps. Means of 16-bit numbers are float32.

    Example:
        >>> x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
        >>> optimizer = warp.optim.Adam([x], lr=0.1)
        >>> optimizer.step([x.grad])
    """

    _memories = ("m", "v")
    m: list[array]
    v: list[array]

    def __init__(
        self,
        params: Iterable[array] | None = None,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(params)
        self.lr = lr
        self.beta1, self.beta2 = betas
        self.eps = eps

    def _change(self, i: int, scalars: array, slope: array) -> None:
        parts = (1.0 - self.beta1 ** (self.t + 1), 1.0 - self.beta2 ** (self.t + 1))
        means = (as_scalars(self.m[i]), as_scalars(self.v[i]))
        _STEP.run(
            scalars.shape, scalars, slope, *means, self.lr, self.beta1, 1.0 - self.beta1, self.beta2, 1.0 - self.beta2, *parts, self.eps,
            wide=f"wp.{wide_name(scalars)}",
        )  # fmt: skip
