"""`wp.torch.function`: a Python function of many launches as a function of PyTorch, differentiated by a tape of its own."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

from warp._src.arrays.listeners import apart
from warp._src.devices.device import ScopedDevice
from warp._src.gradients.tape import Tape
from warp._src.interop.torch_exchange import from_torch, torch_module
from warp._src.interop.torch_parameters import Named, Outputs, Parameter
from warp._src.interop.torch_streams import device_from_torch, scope_of_torch
from warp._src.kernels.annotations import annotations_of, enclosing_names

__all__ = ["function"]


class TorchFunction(Named):
    """What `wp.torch.function` makes of an annotated function."""

    def __init__(self, func: Callable[..., None], outputs: int, shapes: Any):
        self.func = func
        torch = self._torch = torch_module()
        hints = annotations_of(func, enclosing_names(func))
        names = list(inspect.signature(func).parameters)
        for name in names:
            if hints.get(name) is None:
                raise TypeError(f"parameter '{name}' of {func.__name__} has no annotation; write {name}: wp.array(dtype=…)")
        params = [Parameter(name, hints[name]) for name in names]
        if not 1 <= outputs <= len(params):
            raise ValueError(f"outputs={outputs}: {func.__name__} has {len(params)} parameters")
        self.inputs, self.results = params[: len(params) - outputs], params[len(params) - outputs :]
        for result in self.results:
            if not result.is_array:
                raise TypeError(f"the result '{result.name}' of {func.__name__} is no array")
        self.settled = Outputs(func.__name__, self.inputs, self.results, None, shapes)
        self.dtypes = [p.torch_type(torch) for p in self.results]
        self._arrays = [i for i, p in enumerate(self.inputs) if p.is_array]
        self._be(func, TorchFunction, func, outputs, shapes)
        self._node = _make_node(torch, self)

    def __repr__(self) -> str:
        return f"<torch.function {self.__name__}>"

    def __call__(self, *arguments: Any, shapes: Any = None, **named: Any) -> Any:
        """The results for these inputs: one tensor, or a tuple of them."""
        if named or len(arguments) != len(self.inputs):
            arguments = tuple(self.settled.in_order(arguments, named))
        torch = self._torch
        tracked = False
        for index in self._arrays:
            if not isinstance(arguments[index], torch.Tensor):
                raise TypeError(
                    f"{self.__name__}: '{self.inputs[index].name}' is a {type(arguments[index]).__name__}, no tensor"
                )
            tracked = tracked or arguments[index].requires_grad
        _, sizes = self.settled.settle(arguments, None, shapes)
        if tracked and torch.is_grad_enabled():
            made = self._node.apply(sizes, *arguments)
        else:
            made, _, _, _ = self.run(arguments, sizes, None)
        return made[0] if len(made) == 1 else tuple(made)

    def run(self, arguments: Any, sizes: Any, tracked: list[bool] | None) -> tuple:
        """Calls the function, on a tape if gradients are wanted: results, tape, arrays and gradients of the inputs."""
        torch = self._torch
        device = arguments[self._arrays[0]].device if self._arrays else torch.device("cpu")
        results = [torch.zeros(s, dtype=d, device=device) for s, d in zip(sizes, self.dtypes)]
        slopes: list[Any] = [None] * len(arguments)
        values: list[Any] = []
        for i, (p, a) in enumerate(zip(self.inputs, arguments)):
            if not p.is_array:
                values.append(a)
                continue
            plain = a.detach()
            if tracked is not None and tracked[i] and p.floats:
                plain = plain.contiguous()
                slopes[i] = torch.zeros_like(plain)
            values.append(from_torch(plain, dtype=p.dtype, requires_grad=slopes[i] is not None, grad=slopes[i]))
        grads = [torch.zeros_like(r) if tracked is not None and p.floats else None for p, r in zip(self.results, results)]
        outs = [
            # Of another tensor object: the node would hold its own results, and both live for ever.
            from_torch(r.detach(), dtype=p.dtype, requires_grad=g is not None, grad=g)
            for p, r, g in zip(self.results, results, grads)
        ]
        tape = None
        place = device_from_torch(device)
        with ScopedDevice(place), scope_of_torch(place, ordered=True):  # arrays of the program's own may take part
            if tracked is None:
                returned = self.func(*values, *outs)
            else:
                with apart(), Tape() as tape:
                    returned = self.func(*values, *outs)
        if returned is not None:
            raise TypeError(f"{self.__name__} returned a {type(returned).__name__}; results are written to its last parameters")
        return tuple(results), tape, outs, slopes


def _make_node(torch: Any, made: TorchFunction) -> Any:
    class Node(torch.autograd.Function):
        """A call and its tape."""

        @staticmethod
        def forward(ctx: Any, sizes: Any, *arguments: Any) -> tuple:
            tracked = [bool(n) for n in ctx.needs_input_grad[1:]]
            ctx.lock = threading.Lock()
            results, ctx.tape, ctx.outs, ctx.slopes = made.run(arguments, sizes, tracked)
            ctx.save_for_backward(*[arguments[i] for i in made._arrays])
            ctx.set_materialize_grads(False)
            ctx.mark_non_differentiable(*[r for p, r in zip(made.results, results) if not p.floats])
            return results

        @staticmethod
        def backward(ctx: Any, *given: Any) -> tuple:
            _ = ctx.saved_tensors  # torch's error for inputs that were changed in place
            if torch.is_grad_enabled() and any(g is not None and g.requires_grad for g in given):
                raise RuntimeError(f"second derivatives of {made.__name__} are not there: it has first ones")
            with ctx.lock, scope_of_torch(ctx.outs[0].device, ordered=True), apart():  # from several threads, if a program does
                ctx.tape.zero()
                seeds = {
                    out: from_torch(g.detach().contiguous().clone(), dtype=p.dtype, requires_grad=False)
                    for p, out, g in zip(made.results, ctx.outs, given)
                    if g is not None and p.floats
                }
                if seeds:
                    ctx.tape.backward(grads=seeds)
                return (None, *(None if s is None else s.clone() for s in ctx.slopes))

    return Node


def function(func: Callable[..., None] | None = None, *, outputs: int = 1, shapes: Any = None) -> Any:
    """A function of launches as one of PyTorch: `f = wp.torch.function(steps)`, or as a decorator. Its parameters are annotated
    as those of a kernel; the last `outputs` are results, arrays of zeros that it writes to, and it returns nothing.

    Under autograd it runs on a tape of its own, which the node keeps: backward may run more than once. `shapes` are those of
    the results as for `wp.torch.op`, also for each call; None takes the shape of the first array.
    """

    def make(chosen: Callable[..., None]) -> TorchFunction:
        return TorchFunction(chosen, outputs, shapes)

    return make if func is None else make(func)
