"""The older form of `jax_kernel`: outputs are the parameters that a call leaves over, shaped as the launch, and further
leading dimensions of inputs are those of batches."""

from __future__ import annotations

import inspect
from typing import Any

from warp._src.interop.jax_kernel import JaxKernel, jax_kernel, kernel_parameters
from warp._src.interop.jax_support import import_jax
from warp._src.kernels.definitions import Kernel

__all__ = ["jax_kernel_experimental", "jax_kernel_old"]

_OPTIONS = frozenset(inspect.signature(jax_kernel).parameters) - {"kernel", "num_outputs"}


class OldJaxKernel:
    """What the older `jax_kernel` makes."""

    def __init__(self, kernel: Kernel, options: dict[str, Any]):
        if not isinstance(kernel, Kernel):
            raise TypeError(f"jax_kernel takes a kernel, not {type(kernel).__name__}; decorate it with @wp.kernel")
        self._jax = import_jax()
        self.kernel, self.options = kernel, options
        self._parameters = kernel_parameters(kernel)
        self._forms: dict[int, JaxKernel] = {}  # by number of inputs

    def __call__(self, *inputs: Any, **overrides: Any) -> list[Any]:
        """Calls the kernel in JAX with all its inputs; the outputs are a list."""
        form = self._forms.get(len(inputs))
        if form is None:
            count = len(self._parameters) - len(inputs)
            if count < 1:
                raise TypeError(
                    f"kernel '{self.kernel.key}' has {len(self._parameters)} parameters, of which the last are outputs: "
                    f"{len(inputs)} inputs are too many"
                )
            form = self._forms[len(inputs)] = jax_kernel(self.kernel, num_outputs=count, **self.options)
        extra = []
        for p, value in zip(self._parameters, inputs):
            inner = 0
            if p.is_array and p.type is not None:
                kind = p.type.element.kind
                inner = 2 if kind == "mat" else 0 if kind == "scalar" else 1
            extra.append(max(getattr(value, "ndim", 0) - p.ndim - inner, 0) if p.is_array and p.type is not None else 0)
        if not any(extra):
            return form(*inputs, **overrides)
        fixed = {k: v for k, (v, p) in enumerate(zip(inputs, self._parameters)) if not p.is_array}

        def call(*arrays: Any) -> list[Any]:
            own = iter(arrays)
            return form(*[fixed[k] if k in fixed else next(own) for k in range(len(inputs))], **overrides)

        mapped: Any = call
        arrays = [v for k, v in enumerate(inputs) if k not in fixed]
        depths = [e for k, e in enumerate(extra) if k not in fixed]
        for level in range(1, max(depths) + 1):
            mapped = self._jax.vmap(mapped, in_axes=tuple(0 if d >= level else None for d in depths))
        return mapped(*arrays)

    def __reduce__(self) -> tuple:
        return OldJaxKernel, (self.kernel, self.options)

    def __repr__(self) -> str:
        return f"<jax_kernel {self.kernel.key}>"


def jax_kernel_old(kernel: Kernel, launch_dims: Any = None) -> OldJaxKernel:
    """Makes a kernel a function of JAX, in the older form: the call gives all inputs, the parameters that are left over are
    outputs of the launch's shape. Further leading dimensions of inputs are batches.

    Args:
        kernel: what @wp.kernel made of a function.
        launch_dims: the grid; by itself the shape of the first array among the inputs.
    """
    return OldJaxKernel(kernel, {"launch_dims": launch_dims})


def jax_kernel_experimental(kernel: Kernel, launch_dims: Any = None, **options: Any) -> Any:
    """`jax_kernel` in its older form; with num_outputs, or other keywords of `warp.jax_kernel`, in the present one.

    Args:
        kernel: what @wp.kernel made of a function.
        launch_dims: the grid; by itself the shape of the first array among the inputs.
        options: keywords of `warp.jax_kernel`.
    """
    unknown = [name for name in options if name not in _OPTIONS and name != "num_outputs"]
    if unknown:
        raise TypeError(f"jax_kernel() got an unexpected keyword argument '{unknown[0]}'")
    if "num_outputs" in options:
        return jax_kernel(kernel, launch_dims=launch_dims, **options)
    return OldJaxKernel(kernel, {"launch_dims": launch_dims, **options})
