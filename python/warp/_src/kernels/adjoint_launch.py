"""Launches of a kernel's adjoint: `wp.launch(…, adjoint=True)` and the same with its arguments packed."""

from __future__ import annotations

from typing import Any, Sequence

from warp import _weft
from warp._src.arrays.array import array
from warp._src.arrays.array_factories import copy_values
from warp._src.kernels.definitions import Kernel
from warp._src.kernels.launching import Launch
from warp._src.values.struct import StructInstance


def launch_adjoint(
    kernel: Kernel,
    dim: object,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    adj_inputs: Sequence[Any],
    adj_outputs: Sequence[Any],
    place: tuple = (),
) -> None:
    """Runs a kernel's adjoint: adds to the gradients of what it read what those of the written arrays say.

    The adjoint of a store takes the gradient of what was stored away. Gradients of outputs that the caller gave beside the
    arrays' own, that lie in memory of others (a gradient that comes from PyTorch), or that are to be retained, are not written
    to: private copies take their place. An array's own gradient is used up, whether it is named or not, as warp-lang does it: a copy
    would take longer than many an adjoint, and on many cores than nearly all of them.
    The adjoint of an argument that is a number, vector or matrix begins with what was given for it; a print shows it.
    """
    if not kernel._backward():
        print(f"Warning: kernel '{kernel.key}' has enable_backward=False and passes no gradient on")
        return
    arguments = [*inputs, *outputs]
    given_inputs = _listed(kernel, inputs, adj_inputs, "adj_inputs")
    given_outputs = _listed(kernel, outputs, adj_outputs, "adj_outputs")
    seeds = [_seed(a, g) for a, g in zip(arguments, (*given_inputs, *given_outputs))]
    if any(seed is not None for seed in seeds) and len(arguments) == len(kernel.params):
        kernel = kernel._seeded
        arguments += seeds
    gradients = [
        *(g if _has_place(i) else None for i, g in zip(inputs, given_inputs)),
        *(_private(o, g) if _has_place(o) else None for o, g in zip(outputs, given_outputs)),
    ]
    _weft.run_adjoint(kernel, dim, arguments, gradients, *place)


def _listed(kernel: Kernel, arguments: Sequence[Any], given: Any, name: str) -> list[Any]:
    """What was given for each argument: the gradient of an array, the adjoint of a number, or None."""
    given = list(given or ())
    if len(given) > len(arguments):
        raise RuntimeError(f"{name} has {len(given)} entries for {len(arguments)} arguments of '{kernel.key}'")
    return given + [None] * (len(arguments) - len(given))


def _seed(argument: Any, given: Any) -> Any:
    """With what the adjoint of a number, vector or matrix begins; None: zero."""
    if given is None or _has_place(argument) or _has_place(given):
        return None
    return None if isinstance(given, (int, float)) and given == 0 else given


def _has_place(argument: Any) -> bool:
    return isinstance(argument, (_weft.Array, StructInstance)) or getattr(argument, "_wp_indexed_", False)


def _private(argument: Any, gradient: Any) -> Any:
    if isinstance(argument, StructInstance):
        if gradient is not None and type(gradient) is not type(argument):
            return gradient  # C++ says what is wrong with it
        made = type(argument)()
        for name in type(argument)._wp_fields_:
            value = getattr(argument, name)
            if isinstance(value, (array, StructInstance)) or getattr(value, "_wp_indexed_", False):
                setattr(made, name, _private(value, None if gradient is None else getattr(gradient, name)))
        return made
    if getattr(argument, "_wp_indexed_", False):
        return _private(argument.data, getattr(gradient, "data", gradient))
    own = argument.grad if argument._valid and argument.requires_grad else None
    if gradient is None or (own is not None and _is_same(gradient, own)):
        gradient = own
        if gradient is None or not (argument.retain_grad or _weft.is_foreign(gradient)):
            return None
    if not isinstance(gradient, array) or not gradient._valid:
        return gradient
    like = gradient
    if gradient.strides != argument.strides and gradient.shape == argument.shape:
        if gradient._element == argument._element and 0 not in argument.strides:
            like = argument  # a gradient of another layout, such as torch's of a sum, which has one element in memory
    made = like._reinterpret(like._element, like.shape, like.strides)
    _weft.take_private_copy(made)
    if like is argument:
        copy_values(made, gradient)
    return made


def _is_same(gradient: Any, own: Any) -> bool:
    """Whether a gradient that was given is the array's own."""
    if gradient is own:
        return True
    if not isinstance(gradient, array) or not gradient._valid:
        return False
    return (gradient.ptr, gradient.shape, gradient.strides, gradient._element) == (own.ptr, own.shape, own.strides, own._element)


class AdjointLaunch(Launch):
    """A launch of a kernel's adjoint; change arguments and gradients, then `launch()` again."""

    adjoint = True
    _gradients: list[Any]

    def _make(
        self,
        kernel: Kernel,
        dim: object,
        inputs: Sequence[Any] | None,
        outputs: Sequence[Any] | None,
        device: Any,
        max_blocks: int,
        block_dim: int | None,
    ) -> None:
        super()._make(kernel, dim, inputs, outputs, device, max_blocks, block_dim)
        self._gradients = [None] * len(self._arguments)

    def use_gradients(self, adj_inputs: Sequence[Any], adj_outputs: Sequence[Any]) -> None:
        """Gives the gradients of the arguments: None is the array's own."""
        count = self._counts[0]
        inputs, outputs = self._arguments[:count], self._arguments[count:]
        self._gradients = [
            *_listed(self.kernel, inputs, adj_inputs, "adj_inputs"),
            *_listed(self.kernel, outputs, adj_outputs, "adj_outputs"),
        ]

    def set_param_at_index(self, index: int, value: object, adjoint: bool = False) -> None:
        """Replaces an argument by its position, or with `adjoint` its gradient (None: the array's own)."""
        self._check(index, False)
        if not adjoint:
            super().set_param_at_index(index, value)
            return
        self._gradients[index:index] = [None] * (index + 1 - len(self._gradients))
        self._gradients[index] = value

    def set_param_at_index_from_ctype(self, index: int, value: object, adjoint: bool = False) -> None:
        """Replaces an argument by a ctypes value or a number; gradients are arrays."""
        if adjoint:
            raise TypeError("the gradient of an argument is an array; use set_param_at_index")
        raise TypeError("an adjoint needs the arrays themselves; use set_param_at_index")

    def launch(self, stream: Any = None) -> None:
        """Runs the adjoint."""
        count, max_blocks, block_dim = self._counts
        place = (self._device.ordinal, max_blocks, block_dim, None if stream is None else stream._queue)
        inputs, outputs = self._arguments[:count], self._arguments[count:]
        adj_inputs, adj_outputs = self._gradients[:count], self._gradients[count:]
        launch_adjoint(self.kernel, self.dim, inputs, outputs, adj_inputs, adj_outputs, place)
