"""`wp.torch.op`: a kernel as an operator of PyTorch.

One object, three ways in. Plain tensors with nothing to differentiate are launched on. Eager autograd and `torch.func` go
through an `autograd.Function`, which has rules for backward, vmap and jvp. `torch.compile`, `torch.export`, fake tensors and
subclasses go through operators of `torch.library`, `weft::name` and `weft::name_backward`, which are opaque to them.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

from warp import _weft
from warp._src.arrays.listeners import apart
from warp._src.gradients.forward import jvp
from warp._src.gradients.tape import Tape
from warp._src.interop.torch_exchange import from_torch, to_torch, torch_module
from warp._src.interop.torch_parameters import Named, Outputs, Parameter
from warp._src.interop.torch_streams import device_from_torch, scope_of_torch
from warp._src.kernels.definitions import Kernel
from warp._src.values.types import type_handle

__all__ = ["op"]

_numbers = itertools.count(1)
_taken: set[str] = set()
_naming = threading.Lock()
_libraries: list[Any] = []  # torch forgets operators whose library is gone


class TorchOp(Named, _weft.QuickCall):
    """What `wp.torch.op` makes of a kernel: call it with the kernel's inputs. The usual call goes to `_plain`, which is C++'s,
    before it comes to `__call__` (src/bind/torch_op.cpp)."""

    def __init__(self, kernel: Kernel, outputs: int, dim: Any, shapes: Any, in_out: Sequence[str], name: str | None):
        torch = self._torch = torch_module()
        if not isinstance(kernel, Kernel):
            raise TypeError(f"wp.torch.op takes a kernel, not {type(kernel).__name__}")
        if kernel.is_generic:
            raise TypeError(f"the kernel '{kernel.key}' is generic; pass one of its overloads")
        params = [Parameter(a.label, a.type) for a in kernel.adj.args]
        in_out = (in_out,) if isinstance(in_out, str) else tuple(in_out)
        if not 1 <= outputs <= len(params):
            raise ValueError(f"outputs={outputs}: the kernel '{kernel.key}' has {len(params)} parameters")
        results = params[len(params) - outputs :]
        for number, wanted in enumerate(in_out):
            if wanted not in [p.name for p in results]:
                raise ValueError(f"in_out names {wanted!r}, which is none of the kernel's last {outputs} parameters")
            if results[number].name != wanted:
                raise ValueError(f"in_out: {wanted!r} must stand before the pure results, in the kernel's order")
        for result in results:
            if not result.is_array:
                raise TypeError(f"the result '{result.name}' of the kernel '{kernel.key}' is no array")
        self.kernel, self.params = kernel, params
        self.inputs, self.kept = params[: len(params) - outputs + len(in_out)], results[: len(in_out)]
        self.pure = results[len(in_out) :]
        self.results = results
        self.settled = Outputs(f"the operator of '{kernel.key}'", self.inputs, self.pure, dim, shapes)
        self.dtypes = [p.torch_type(torch) for p in results]
        self._by_tape = bool(in_out)
        self._arrays = [i for i, p in enumerate(self.inputs) if p.is_array]
        self._be(kernel.func, TorchOp, kernel, outputs, dim, shapes, in_out, name)
        name = re.sub(r"\W", "_", name or kernel.key)
        with _naming:
            while name in _taken:
                name = f"{name.rstrip('0123456789').rstrip('_')}_{next(_numbers)}"
            _taken.add(name)
        self.name = name
        # Others than Dynamo, which alone runs this text itself, come with tensors of their own classes, or with modes.
        self._is_compiling = torch.compiler.is_dynamo_compiling
        self._parameter_class = torch.nn.Parameter
        self._forward_ad = torch.autograd.forward_ad
        self._dispatches = torch._C._len_torch_dispatch_stack
        self._is_transformed = torch._C._functorch.peek_interpreter_stack
        self._facts: tuple[Any, int, Any] = (None, 0, None)
        self._all_floats = all(p.floats for p in results)
        self._like, self._like_rank = self._find_like(dim, shapes)
        self._tensor_class, self._zeros_like, self._grad_enabled = torch.Tensor, torch.zeros_like, torch.is_grad_enabled
        self._node, self._apply = _make_node(torch, self)
        self._plain = self._plain_call(torch)
        self._set_plain(self._plain)
        self._library_op = _make_library_op(torch, self)

    # ---- calls -----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<torch.op {self.__name__}>"

    def __call__(self, *arguments: Any, dim: Any = None, shapes: Any = None, **named: Any) -> Any:
        """The results for these inputs: one tensor, or a tuple of them."""
        compiling = self._is_compiling()
        if named or len(arguments) != len(self.inputs):
            arguments = self.settled.in_order(arguments, named)
        if not compiling and self._plain is not None and dim is None and shapes is None:
            found = self._plain(*arguments)
            if found is not None:
                return self._apply(None, *arguments)[0] if found is ... else found
        if compiling:
            return self._by_library(arguments, dim, shapes)
        tracked = False
        tensor_class = self._tensor_class
        for index in self._arrays:
            one = arguments[index]
            if type(one) is not tensor_class and type(one) is not self._parameter_class:
                if isinstance(one, tensor_class):
                    return self._by_library(arguments, dim, shapes)
                raise TypeError(f"{self.settled.name}: '{self.inputs[index].name}' is a {type(one).__name__}, no tensor")
            tracked = tracked or one.requires_grad
        if self._dispatches():
            return self._by_library(arguments, dim, shapes)
        transformed = self._is_transformed() is not None
        follows = not transformed and (
            (tracked and self._grad_enabled())
            or (self._forward_ad._current_level >= 0 and _has_tangent(self._torch, arguments, self._arrays))
        )
        if self._like is not None and not transformed and dim is None and shapes is None and self._fits(arguments):
            return self._apply(None, *arguments)[0] if follows else self._run_like(arguments)
        call = self.settled.settle(arguments, dim, shapes)
        if transformed:
            made = self._node.apply(call, *arguments)
        elif follows:
            made = self._apply(call, *arguments)
        else:
            made = self.run(arguments, *call)
        return made[0] if len(made) == 1 else made

    # The usual case, for which nothing has to be settled: one result, of the type and the shape of the first array.

    def _find_like(self, dim: Any, shapes: Any) -> tuple[int | None, int]:
        """The number of that array among the inputs, and its rank in torch; None where calls may be otherwise."""
        if dim is not None or shapes is not None or self.kept or len(self.pure) != 1 or not self._arrays:
            return None, 0
        first, result = self.inputs[self._arrays[0]], self.pure[0]
        if first.ndim != result.ndim or first.inner != result.inner:
            return None, 0
        return self._arrays[0], first.ndim + len(first.inner)

    def _plain_call(self, torch: Any) -> Any:
        """All of that in C++, for tensors without gaps: the result, `...` where autograd has to follow, None for
        what is not usual."""
        if self._like is None:
            return None
        told = {
            "launch": _weft.launch, "tensor_class": torch.Tensor, "parameter_class": torch.nn.Parameter,
            "zeros_like": torch.zeros_like, "empty_like": torch.empty_like, "grad_enabled": torch.is_grad_enabled,
            "dispatch_modes": self._dispatches, "transformed": self._is_transformed, "forward_mode": self._forward_ad,
            "cuda_device": _cuda_device,
        }  # fmt: skip
        result = self.pure[0]
        told["fills"] = partial(_fills, self.kernel, result.ndim)  # not a method: C++'s references hide cycles
        scalar = _weft.type_scalar(type_handle(result.dtype).scalar)
        return _weft.plain_operator(
            self.kernel, scalar, len(self.inputs), self._arrays, self._like_rank, result.ndim, told
        )

    def _fits(self, arguments: Sequence[Any]) -> bool:
        first = arguments[self._like]  # type: ignore[index]
        return first.dtype is self.dtypes[0] and first.dim() == self._like_rank and first.is_contiguous()

    def _run_like(self, arguments: Sequence[Any]) -> Any:
        made = self._plain(*arguments) if self._plain is not None else None
        if made is not None and made is not ...:
            return made
        first = arguments[self._like]  # type: ignore[index]
        result = self._zeros_like(first)
        grid = first.shape[: self.pure[0].ndim] if self.pure[0].inner else first.shape
        device = "cpu" if first.is_cpu else _device(first.device)
        _weft.launch(self.kernel, grid, [*arguments, result], device=device, record_tape=False)
        return result

    def _by_library(self, arguments: Sequence[Any], dim: Any, shapes: Any) -> Any:
        grid, sizes = self.settled.settle(arguments, dim, shapes)
        plain = [a if p.is_array or p.schema[-1] != "]" else list(a) for p, a in zip(self.inputs, arguments)]
        made = self._library_op(*plain, list(grid), *[list(s) for s in sizes])
        return made[0] if len(made) == 1 else tuple(made)

    def make_results(self, arguments: Sequence[Any], sizes: Sequence[Any]) -> list[Any]:
        """The tensors to write to: copies of in-out arguments, and zeros."""
        torch = self._torch
        if self._arrays and not self.kept:
            first = arguments[self._arrays[0]]
            if len(sizes) == 1 and first.shape == sizes[0] and first.dtype is self.dtypes[0] and first.is_contiguous():
                return [torch.zeros_like(first)]  # the usual case, and the fastest of torch's ways
            return [first.new_zeros(tuple(s), dtype=d) for s, d in zip(sizes, self.dtypes)]
        device = self._device_of(arguments)
        first = len(self.inputs) - len(self.kept)
        copies = [a.detach().clone(memory_format=torch.contiguous_format) for a in arguments[first:]]
        zeros = [torch.zeros(tuple(s), dtype=d, device=device) for s, d in zip(sizes, self.dtypes[len(copies) :])]
        return copies + zeros

    def _device_of(self, arguments: Sequence[Any]) -> Any:
        return arguments[self._arrays[0]].device if self._arrays else "cpu"

    def run(self, arguments: Sequence[Any], grid: Sequence[int], sizes: Sequence[Any]) -> tuple:
        """Launches; the results."""
        results = self.make_results(arguments, sizes)
        values = [*arguments[: len(self.inputs) - len(self.kept)], *results] if self.kept else [*arguments, *results]
        device = "cpu" if results[0].is_cpu else _device(results[0].device)
        grid = grid if type(grid) is tuple else tuple(grid)
        _weft.launch(self.kernel, grid, values, device=device, record_tape=False)
        return tuple(results)

    # ---- derivatives -----------------------------------------------------------------------------------------------

    def adjoint(
        self, arguments: Sequence[Any], grid: Sequence[int], sizes: Sequence[Any], given: Sequence[Any], wanted: Sequence[bool]
    ) -> list[Any]:
        """Gradients of the inputs that are wanted, by those of the results; None for the others. What is given is not
        written to."""
        torch = self._torch
        device = _device(self._device_of(arguments))
        grid = grid if type(grid) is tuple else tuple(grid)
        plain = [a.contiguous() if p.is_array else a for p, a in zip(self.inputs, arguments)]
        slopes = [torch.zeros_like(a) if w and p.floats else None for p, a, w in zip(self.inputs, plain, wanted)]
        if not device.is_cuda and not self._by_tape:  # the usual case, without what it can do without
            try:
                self._launch_adjoint(plain, slopes, grid, sizes, given, device)
                return slopes
            except RuntimeError:
                self._by_tape = True
                slopes = [None if s is None else s.zero_() for s in slopes]
        with scope_of_torch(device):
            if not self._by_tape:
                try:
                    self._launch_adjoint(plain, slopes, grid, sizes, given, device)
                    return slopes
                except RuntimeError:
                    self._by_tape = True  # the adjoint needs values that the kernel has overwritten: a tape keeps them
                    slopes = [None if s is None else s.zero_() for s in slopes]
            self._adjoint_by_tape(plain, slopes, grid, sizes, given, device)
        return slopes

    def _needs(self, rank: int) -> tuple[bool, list[bool]]:
        """Whether the adjoint of the kernel as it is now reads results, and which of their gradients it clears."""
        native = self.kernel.native()
        if self._facts[0] is not native or self._facts[1] != rank:
            facts = _weft.xla_facts(native, [handle for _, handle, _, _ in native.params()], rank)
            first = len(self.inputs)
            self._facts = (native, rank, (any(facts["needed"][first:]), facts["replaced"][first:]))
        return self._facts[2]

    def _seen(self, parameter: Parameter, tensor: Any, gradient: Any = None) -> Any:
        """The array over a tensor, with a gradient; on the CPU its descriptor, which does."""
        return from_torch(tensor, parameter.dtype, gradient is not None, gradient, tensor.is_cpu)

    def _array(self, parameter: Parameter, tensor: Any, gradient: Any = None) -> Any:
        return from_torch(tensor, parameter.dtype, gradient is not None, gradient)

    def _gradients_given(self, results: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        torch = self._torch
        return [
            None
            if not p.floats
            else torch.zeros_like(r)
            if g is None
            else g.detach().to(r.dtype).clone(memory_format=torch.contiguous_format)
            for p, r, g in zip(self.results, results, given)
        ]

    def _launch_adjoint(
        self, plain: list[Any], slopes: list[Any], grid: Any, sizes: Any, given: Any, device: Any
    ) -> None:
        torch = self._torch
        reads, replaced = self._needs(len(grid))
        arguments = [self._seen(p, a, s) if p.is_array else a for p, a, s in zip(self.inputs, plain, slopes)]
        results = given
        if reads or not self._all_floats or _has_none(given):
            results = self.make_results(plain, sizes)
        if reads:
            _weft.launch(self.kernel, grid, [*plain, *results], device=device, record_tape=False)
        for p, r, g, clears in zip(self.results, results, given, replaced):
            seed = None
            if p.floats:
                if g is None:
                    seed = torch.zeros_like(r)
                elif clears and g.dtype is r.dtype:  # the adjoint clears what it has passed on, and that is torch's
                    seed = g.clone(memory_format=torch.contiguous_format)
                else:
                    seed = g.to(r.dtype, copy=clears).contiguous()
            arguments.append(self._seen(p, seed if r is g else r, seed))
        _weft.run_adjoint(
            self.kernel, grid, arguments, (None,) * len(arguments), device.ordinal if device.is_cuda else -1
        )

    def _adjoint_by_tape(
        self, plain: list[Any], slopes: list[Any], grid: Any, sizes: Any, given: Any, device: Any
    ) -> None:
        torch = self._torch
        first = len(self.inputs) - len(self.kept)
        results = self.make_results(plain, sizes)
        seeds = self._gradients_given(results, given)
        own = [torch.zeros_like(r) if p.floats else None for p, r in zip(self.results, results)]
        inputs = [self._array(p, a, s) if p.is_array else a for p, a, s in zip(self.inputs[:first], plain, slopes)]
        outputs = [self._array(p, r, g) for p, r, g in zip(self.results, results, own)]
        with apart():
            with Tape() as tape:
                _weft.launch(self.kernel, tuple(grid), [*inputs, *outputs], device=device)
            tape.backward(
                grads={o: self._array(p, s) for p, o, s in zip(self.results, outputs, seeds) if s is not None}
            )
        for number, slope in enumerate(slopes[first:]):  # what in-out arguments held before
            if slope is not None:
                slope.copy_(own[number])

    def tangent(self, arguments: Sequence[Any], grid: Any, sizes: Any, tangents: Sequence[Any]) -> tuple:
        """The derivative of the results in a direction."""
        torch = self._torch
        first = len(self.inputs) - len(self.kept)
        plain = [a.detach().contiguous() if p.is_array else a for p, a in zip(self.inputs, arguments)]
        results = self.make_results(plain, sizes)
        inputs = [self._array(p, a) if p.is_array else a for p, a in zip(self.inputs[:first], plain)]
        directions = [
            None if t is None or not p.is_array else self._array(p, t.detach().contiguous())
            for p, t in zip(self.inputs, tangents)
        ]
        outputs = [self._array(p, r) for p, r in zip(self.results, results)]
        device = _device(self._device_of(arguments))
        if self.kept:
            raise NotImplementedError(f"forward mode of {self.settled.name}, which has in-out arguments")
        with scope_of_torch(device), apart():
            _, slopes = jvp(self.kernel, inputs, directions[:first], dim=tuple(grid), outputs=outputs, device=device)
        made = [to_torch(s, requires_grad=False) for s in slopes]
        return tuple(m.reshape(r.shape) if p.floats else None for p, m, r in zip(self.results, made, results)) or (
            torch.zeros(0),
        )


_weft.call_quickly(TorchOp)


def _fills(kernel: Kernel, rank: int) -> bool:
    """Whether a launch of the kernel as it is now writes all of its last parameter, an array of the launch's shape."""
    native = kernel.native()
    return _weft.xla_filled(native, [handle for _, handle, _, _ in native.params()], rank)[-1]


def _has_none(values: Sequence[Any]) -> bool:
    """Whether None is among them; `in` would compare tensors."""
    for one in values:
        if one is None:
            return True
    return False


_devices: dict[Any, Any] = {}


def _device(torch_device: Any) -> Any:
    found = _devices.get(torch_device)
    if found is None:
        found = _devices[torch_device] = device_from_torch(torch_device)
    return found


def _cuda_device(number: int) -> Any:
    return _device(torch_module().device("cuda", number))


def _has_tangent(torch: Any, arguments: Sequence[Any], arrays: list[int]) -> bool:
    """Whether a tensor has a tangent of torch's forward mode."""
    unpack = torch.autograd.forward_ad.unpack_dual
    return any(unpack(arguments[i]).tangent is not None for i in arrays)


def _one_by_one(torch: Any, function: Any, count: int, dims: Sequence[Any], values: Sequence[Any]) -> tuple:
    """A batch, one sample after another: each has a launch of its own, with its own shapes."""

    def sample(value: Any, dim: Any, k: int) -> Any:
        return value.select(dim, k) if isinstance(dim, int) and isinstance(value, torch.Tensor) else value

    rows = [function.apply(*[sample(v, d, k) for v, d in zip(values, dims)]) for k in range(count)]
    return tuple(torch.stack(column) for column in zip(*rows)), (0,) * len(rows[0])


def _make_node(torch: Any, op: TorchOp) -> tuple[Any, Any]:
    """The autograd function of an operator for torch.func, and how to apply the one for everything else."""

    class Backward(torch.autograd.Function):
        """The gradients as a function of their own, whose derivatives are refused."""

        @staticmethod
        def forward(call: Any, wanted: list[bool], count: int, *values: Any) -> tuple:
            given, arguments = values[:count], values[count:]
            found = op.adjoint(arguments, call[0], call[1], given, wanted)
            return tuple(torch.zeros(0) if f is None else f for f in found)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
            """Nothing is kept."""

        @staticmethod
        def vmap(info: Any, in_dims: tuple, *values: Any) -> tuple:
            return _one_by_one(torch, Backward, info.batch_size, in_dims, values)

        @staticmethod
        def backward(ctx: Any, *unused: Any) -> Any:
            raise RuntimeError(f"second derivatives of the kernel '{op.kernel.key}' are not there: its operator has first ones")

    class Tangent(torch.autograd.Function):
        """The derivative in a direction, likewise."""

        @staticmethod
        def forward(call: Any, *values: Any) -> tuple:
            count = len(op.inputs)
            return op.tangent(values[count:], call[0], call[1], values[:count])

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
            """Nothing is kept."""

        @staticmethod
        def backward(ctx: Any, *unused: Any) -> Any:
            return Backward.backward(ctx)

        @staticmethod
        def vmap(info: Any, in_dims: tuple, *values: Any) -> tuple:
            return _one_by_one(torch, Tangent, info.batch_size, in_dims, values)

    has_integers = not all(p.floats for p in op.results)
    has_values = len(op._arrays) < len(op.inputs)

    forward_ad = torch.autograd.forward_ad

    def keep(ctx: Any, call: Any, arguments: tuple, output: tuple, transformed: bool) -> None:
        ctx.call = call
        tensors: Sequence[Any] = arguments
        if has_values:
            ctx.values = [None if p.is_array else a for p, a in zip(op.inputs, arguments)]
            tensors = [arguments[i] for i in op._arrays]
        ctx.save_for_backward(*tensors)
        if transformed or forward_ad._current_level >= 0:
            ctx.save_for_forward(*tensors)
        ctx.set_materialize_grads(False)
        if has_integers:
            ctx.mark_non_differentiable(*[o for p, o in zip(op.results, output) if not p.floats])

    def kept(ctx: Any) -> list[Any]:
        if not has_values:
            return list(ctx.saved_tensors)
        arguments = list(ctx.values)
        for i, tensor in zip(op._arrays, ctx.saved_tensors):
            arguments[i] = tensor
        return arguments

    class Plain(torch.autograd.Function):
        """A launch and its derivatives, where no function of torch.func is at work: what torch.func wants of a function
        (`setup_context`) makes torch look at signatures in each call, which costs more than everything else together."""

        @staticmethod
        def forward(ctx: Any, call: Any, *arguments: Any) -> tuple:
            made = (op._run_like(arguments),) if call is None else op.run(arguments, *call)
            keep(ctx, call, arguments, made, False)
            return made

        @staticmethod
        def backward(ctx: Any, *given: Any) -> tuple:
            arguments = kept(ctx)
            call = ctx.call or op.settled.settle(arguments, None, None)
            wanted = ctx.needs_input_grad[1:]
            if all([g is None for g in given]):
                return (None,) * (1 + len(arguments))
            if not torch.is_grad_enabled():
                return (None, *op.adjoint(arguments, call[0], call[1], given, wanted))
            found = Backward.apply(call, wanted, len(given), *given, *arguments)
            return (None, *[f if w and p.floats else None for p, w, f in zip(op.inputs, wanted, found)])

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> tuple:
            arguments = kept(ctx)
            return Tangent.apply(ctx.call or op.settled.settle(arguments, None, None), *tangents[1:], *arguments)

    class Node(torch.autograd.Function):
        """The same for torch.func."""

        @staticmethod
        def forward(call: Any, *arguments: Any) -> tuple:
            return op.run(arguments, *call)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
            keep(ctx, inputs[0], inputs[1:], output, True)

        backward, jvp = staticmethod(Plain.backward), staticmethod(Plain.jvp)

        @staticmethod
        def vmap(info: Any, in_dims: tuple, call: Any, *arguments: Any) -> tuple:
            return _one_by_one(torch, Node, info.batch_size, in_dims, (call, *arguments))

    return Node, super(torch.autograd.Function, Plain).apply


def _make_library_op(torch: Any, op: TorchOp) -> Any:
    """The operator `weft::name` of torch.library, with a backward operator of its own."""
    library = torch.library.Library("weft", "FRAGMENT")
    _libraries.append(library)
    name, count = f"weft::{op.name}", len(op.inputs)
    takes = ", ".join(f"{p.schema} a{i}" for i, p in enumerate(op.inputs))
    takes += "".join([", SymInt[] grid", *[f", SymInt[] s{k}" for k in range(len(op.pure))]]) if takes else ""
    if not op.inputs:
        takes = ", ".join(["SymInt[] grid", *[f"SymInt[] s{k}" for k in range(len(op.pure))]])
    library.define(f"{op.name}({takes}) -> Tensor[]")
    library.define(f"{op.name}_backward(Tensor[] given, bool[] wanted, {takes}) -> Tensor[]")

    def parts(arguments: Sequence[Any]) -> tuple:
        return arguments[:count], arguments[count], arguments[count + 1 :]

    def forward(*arguments: Any) -> list[Any]:
        return list(op.run(*parts(arguments)))

    def fake(*arguments: Any) -> list[Any]:
        return op.make_results(parts(arguments)[0], parts(arguments)[2])

    def backward(given: Any, wanted: Any, *arguments: Any) -> list[Any]:
        values, grid, sizes = parts(arguments)
        found = op.adjoint(values, grid, sizes, given, list(wanted))
        return [f for f in found if f is not None]

    def fake_backward(given: Any, wanted: Any, *arguments: Any) -> list[Any]:
        values = parts(arguments)[0]
        return [
            torch.empty_like(a, memory_format=torch.contiguous_format)
            for p, a, w in zip(op.inputs, values, wanted)
            if w and p.floats
        ]

    library.impl(op.name, forward, "CompositeExplicitAutograd")
    library.impl(f"{op.name}_backward", backward, "CompositeExplicitAutograd")
    torch.library.register_fake(name, fake, lib=library)
    torch.library.register_fake(f"{name}_backward", fake_backward, lib=library)
    called, call_backward = getattr(torch.ops.weft, op.name), getattr(torch.ops.weft, f"{op.name}_backward")

    def setup(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.save_for_backward(*[inputs[i] for i in op._arrays])
        ctx.rest = [None if k < count and op.inputs[k].is_array else a for k, a in enumerate(inputs)]
        ctx.shapes = [(tuple(o.shape), o.dtype, o.device) for o in output]

    def differentiate(ctx: Any, given: Any) -> tuple:
        arguments = list(ctx.rest)
        for i, tensor in zip(op._arrays, ctx.saved_tensors):
            arguments[i] = tensor
        wanted = [bool(w) and p.floats for p, w in zip(op.inputs, ctx.needs_input_grad)]
        filled = [
            torch.zeros(s, dtype=d, device=v) if g is None else g for g, (s, d, v) in zip(given, ctx.shapes)
        ]
        found = iter(call_backward(filled, wanted, *arguments))
        gradients = [next(found) if w else None for w in wanted]
        return (*gradients, *(None for _ in range(len(arguments) - count)))

    torch.library.register_autograd(name, differentiate, setup_context=setup, lib=library)
    return called


def op(
    kernel: Kernel | None = None,
    *,
    outputs: int = 1,
    dim: Any = None,
    shapes: Any = None,
    in_out: str | Sequence[str] = (),
    name: str | None = None,
) -> Any:
    """A kernel as an operator of PyTorch: `f = wp.torch.op(kernel)`, then `y = f(x)` on tensors, differentiable, under
    `torch.compile(fullgraph=True)`, `torch.func` and `vmap` too. Also as a decorator above `@wp.kernel`.

    Args:
        kernel: its last `outputs` parameters are results, which are made for each call and start at zero.
        outputs: how many.
        dim: the grid: a number, a tuple or a function of the shapes of the tensors among the inputs; None takes the shape of
            the first array.
        shapes: of the results: one for all, a list, a dict by name or a function of the shapes of the inputs; None takes the
            grid. Dimensions of vectors and matrices may be left out.
        in_out: names of results that begin as copies of an input; they come first among the results.
        name: of the operator, `torch.ops.weft.name`; None takes the kernel's.

    `dim` and `shapes` can be given to each call as well.
    """

    def make(chosen: Kernel) -> TorchOp:
        return TorchOp(chosen, outputs, dim, shapes, in_out, name)

    return make if kernel is None else make(kernel)


