"""Optimisers on arrays: Adam and stochastic gradient descent, number by number, whatever vectors or matrices the numbers are in.

Numbers of 16 bits keep their state, and are stepped, in float32. A step launches one kernel for each array and waits for nothing;
no tape sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warp._src.arrays.array import array
from warp._src.arrays.array_factories import zeros
from warp._src.kernels.own_kernels import OwnKernel
from warp._src.values.scalars import bfloat16, float16, float32, float64

__all__ = ["SGD", "Adam"]

_WORDS = {float16: "wp.float16", bfloat16: "wp.bfloat16", float32: "wp.float32", float64: "wp.float64"}

# Kingma, Ba, "Adam: A Method for Stochastic Optimization", algorithm 1.
_ADAM = OwnKernel(
    "adam_step",
    "param: {array}, grad: {array}, m: {array}, v: {array}, rate: {wide}, beta1: {wide}, beta2: {wide}, eps: {wide}, "
    "scale1: {wide}, scale2: {wide}",
    """g = {wide}(grad[{at}])
    first = beta1 * m[{at}] + ({wide}(1.0) - beta1) * g
    second = beta2 * v[{at}] + ({wide}(1.0) - beta2) * g * g
    m[{at}] = first
    v[{at}] = second
    param[{at}] = {own}({wide}(param[{at}]) - rate * (first / scale1) / (wp.sqrt(second / scale2) + eps))""",
)

# Sutskever and others, "On the importance of initialization and momentum in deep learning"; the first step's velocity is the
# gradient itself, undamped, as in other libraries.
_SGD = OwnKernel(
    "sgd_step",
    "param: {array}, grad: {array}, b: {array}, rate: {wide}, momentum: {wide}, kept: {wide}, decay: {wide}, "
    "nesterov: bool, begins: bool",
    """g = {wide}(grad[{at}]) + decay * {wide}(param[{at}])
    if momentum != {wide}(0.0):
        velocity = g
        if not begins:
            velocity = momentum * b[{at}] + kept * g
        b[{at}] = velocity
        if nesterov:
            g = g + momentum * velocity
        else:
            g = velocity
    param[{at}] = {own}({wide}(param[{at}]) - rate * g)""",
)


def _scalar(values: array) -> Any:
    return getattr(values.dtype, "_wp_scalar_type_", values.dtype)


def _numbers(values: array) -> array:
    """The numbers of an array: in one dimension where they lie side by side."""
    plain = values.view(_scalar(values))
    return plain.flatten() if plain.is_contiguous else plain


class _Optimizer:
    """What optimisers share: their parameters, the state that goes with each, and the count of steps."""

    _name = ""

    def __init__(self, params: Sequence[array | None] | None) -> None:
        self.params: list[array | None] | None = None
        self.t = 0
        self.set_params(params)

    def set_params(self, params: Sequence[array | None] | None) -> None:
        """Chooses the arrays that steps change; None among them is left alone. State of another array of the same shape and
        type stays, on the device of the new one."""
        given = None if params is None else [params] if isinstance(params, array) else list(params)
        for param in given or ():
            if param is not None and (not isinstance(param, array) or _scalar(param) not in _WORDS):
                kind = param.dtype if isinstance(param, array) else type(param)
                raise RuntimeError(f"Unsupported dtype for Warp {self._name} optimizer: {kind}")
        self.params = given
        self._make_state(given or [])

    def reset_internal_state(self) -> None:
        """Forgets what former steps left: its next step is a first one."""
        for state in self._state():
            if state is not None:
                state.zero_()
        self.t = 0

    def step(self, grad: Sequence[array | None]) -> None:
        """One step, with a gradient for each parameter."""
        if self.params is None:
            raise RuntimeError(f"{self._name} parameters must be set before calling step(), got None; call set_params")
        if len(grad) < len(self.params):
            raise IndexError(f"{self._name}.step takes {len(self.params)} gradients, got {len(grad)}")
        for k, (param, one) in enumerate(zip(self.params, grad)):
            if param is None or one is None:
                continue
            if one.dtype is not param.dtype:
                raise TypeError(f"{self._name} gradient dtype must match parameter dtype {param.dtype.__name__}, got {one.dtype.__name__}")
            if one.shape != param.shape:
                raise ValueError(f"{self._name} gradient shape must match parameter shape {param.shape}, got {one.shape}")
            self._step(k, param, one)
        self.t += 1

    def _state_for(self, params: list[array | None], before: list[array | None]) -> list[array | None]:
        def of(param: array | None, old: array | None) -> array | None:
            if param is None:
                return None
            shape, dtype = param.shape, param.dtype
            if _scalar(param) in (float16, bfloat16):
                shape, dtype = param.view(_scalar(param)).shape, float32
            if old is not None and old.shape == shape and old.dtype is dtype:
                return old.to(param.device)
            return zeros(shape, dtype=dtype, device=param.device)

        return [of(param, before[k] if k < len(before) else None) for k, param in enumerate(params)]

    def _run(self, kernel: OwnKernel, param: array, grad: array, state: list[array], *numbers: Any) -> None:
        scalar = _scalar(param)
        arrays = [_numbers(one) for one in (param, grad, *state)]
        if len({one.ndim for one in arrays}) > 1:  # some lie side by side, others don't: all of them by their indices
            arrays = [one.view(_scalar(one)) for one in (param, grad, *state)]
        wide = "wp.float64" if scalar is float64 else "wp.float32"
        kernel.run(arrays[0].shape, *arrays, *numbers, wide=wide, own=_WORDS[scalar])

    def _make_state(self, params: list[array | None]) -> None:
        raise NotImplementedError

    def _state(self) -> list[array | None]:
        raise NotImplementedError

    def _step(self, k: int, param: array, grad: array) -> None:
        raise NotImplementedError


class Adam(_Optimizer):
    """Adam: steps by running means of gradients over the roots of those of their squares.

    Args:
        params: the arrays to change, of floating-point numbers, vectors or matrices.
        lr: the length of steps.
        betas: how much of each mean is kept in a step.
        eps: added to the roots.
    """

    _name = "Adam"

    def __init__(
        self,
        params: Sequence[array | None] | None = None,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        self.lr, self.eps = lr, eps
        self.beta1, self.beta2 = betas
        self.m: list[array | None] = []
        self.v: list[array | None] = []
        super().__init__(params)

    def _make_state(self, params: list[array | None]) -> None:
        self.m, self.v = self._state_for(params, self.m), self._state_for(params, self.v)

    def _state(self) -> list[array | None]:
        return [*self.m, *self.v]

    def _step(self, k: int, param: array, grad: array) -> None:
        n = self.t + 1
        state = [self.m[k], self.v[k]]
        scales = (1.0 - self.beta1**n, 1.0 - self.beta2**n)
        self._run(_ADAM, param, grad, state, self.lr, self.beta1, self.beta2, self.eps, *scales)  # type: ignore[arg-type]


class SGD(_Optimizer):
    """Stochastic gradient descent, with momentum as an option.

    Args:
        params: the arrays to change, of floating-point numbers, vectors or matrices.
        lr: the length of steps.
        momentum: how much of the velocity is kept in a step; 0: there is none.
        dampening: how much less of a gradient goes into the velocity.
        weight_decay: how much of a parameter is added to its gradient.
        nesterov: look ahead along the velocity.
    """

    _name = "SGD"

    def __init__(
        self,
        params: Sequence[array | None] | None = None,
        lr: float = 0.001,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        self.lr, self.momentum, self.dampening = lr, momentum, dampening
        self.weight_decay, self.nesterov = weight_decay, nesterov
        self.b: list[array | None] = []
        super().__init__(params)

    def _make_state(self, params: list[array | None]) -> None:
        self.b = self._state_for(params, self.b)

    def _state(self) -> list[array | None]:
        return self.b

    def _step(self, k: int, param: array, grad: array) -> None:
        numbers = (self.lr, self.momentum, 1.0 - self.dampening, self.weight_decay, bool(self.nesterov), self.t == 0)
        self._run(_SGD, param, grad, [self.b[k]], *numbers)  # type: ignore[list-item]
