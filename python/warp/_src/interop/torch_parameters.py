"""What kernels, and functions that launch kernels, are to operators of PyTorch: their parameters, and shapes of what they make."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from warp._src.arrays.array import array
from warp._src.arrays.array_interface import layout
from warp._src.interop.torch_exchange import dtype_to_torch
from warp._src.values.types import type_handle

__all__ = ["Named", "Outputs", "Parameter", "as_shape"]


class Parameter:
    """A parameter of a kernel, or of a function that launches kernels."""

    def __init__(self, name: str, kind: Any):
        self.name = name
        self.is_array = isinstance(kind, array)
        self.dtype = kind.dtype if self.is_array else kind
        self.inner: tuple[int, ...] = ()
        self.schema = "Tensor"
        if self.is_array:
            known = layout(type_handle(kind.dtype))
            if known.kind == "struct":
                raise TypeError(f"'{name}' is an array of structs, which PyTorch has no tensors for")
            self.ndim, self.inner = kind.ndim, known.inner
            self.floats = known.scalar in ("float16", "bfloat16", "float32", "float64")
            return
        handle = type_handle(kind)
        self.floats = False
        if handle.kind == "scalar":
            plain = handle.scalar
            self.schema = "float" if "float" in plain else "bool" if plain == "bool" else "SymInt"
        elif handle.kind == "struct":
            raise TypeError(f"'{name}' is a struct, which operators of PyTorch don't take")
        else:
            self.schema = "float[]" if "float" in handle.scalar else "int[]"

    def torch_type(self, torch: Any) -> Any:
        """The type of tensors that are made for it: of one size and sign with the array's numbers."""
        unsigned = getattr(torch, type_handle(self.dtype).scalar, None)  # versions before 2.3 have uint8 alone
        return dtype_to_torch(self.dtype) if unsigned is None else unsigned

    def torch_shape(self, shape: Sequence[Any]) -> tuple:
        """The shape of a tensor for an array of this shape; one that has the inner dimensions already is taken as it is."""
        full = tuple(shape)
        if len(full) == self.ndim + len(self.inner) and full[self.ndim :] == self.inner:
            return full
        if len(full) != self.ndim:
            raise ValueError(f"'{self.name}' has {self.ndim} dimensions, the shape {full} has {len(full)}")
        return full + self.inner

    def warp_shape(self, tensor: Any) -> tuple:
        """The shape of the array that a tensor is seen as."""
        shape = tuple(tensor.shape)
        return shape[: len(shape) - len(self.inner)] if self.inner else shape


def as_shape(value: Any) -> tuple:
    """A shape given as a number or a sequence."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


class Outputs:
    """Shapes and the grid of a call: as given for it, else to the constructor, else after the first array among the inputs."""

    def __init__(self, name: str, inputs: list[Parameter], results: list[Parameter], dim: Any, shapes: Any):
        self.name, self.inputs, self.results, self.dim, self.shapes = name, inputs, results, dim, shapes
        self._first = next((i for i, p in enumerate(inputs) if p.is_array), None)

    def in_order(self, arguments: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """All inputs of a call, those that are given by name at their places."""
        names = [p.name for p in self.inputs]
        made = list(arguments)
        for name in names[len(made) :]:
            if name in named:
                made.append(named[name])
        strange = [name for name in named if name not in names]
        if strange or len(made) != len(names) or len(arguments) + len(named) != len(names):
            text = f", none of them {strange[0]!r}" if strange else f", got {len(arguments) + len(named)}"
            raise TypeError(f"{self.name} takes {len(names)} inputs ({', '.join(names)}){text}")
        return made

    def settle(self, arguments: Sequence[Any], dim: Any, shapes: Any) -> tuple[tuple, list[tuple]]:
        """The grid, and the shapes of the tensors to make."""
        dim = self.dim if dim is None else dim
        shapes = self.shapes if shapes is None else shapes
        if dim is None and shapes is None and self._first is not None:
            shape, inner = arguments[self._first].shape, self.inputs[self._first].inner
            grid = tuple(shape[: len(shape) - len(inner)] if inner else shape)
            rank = len(grid)
            return grid, [grid + p.inner if rank == p.ndim else p.torch_shape(grid) for p in self.results]
        if callable(dim) or callable(shapes):
            sizes = [tuple(a.shape) for p, a in zip(self.inputs, arguments) if p.is_array]
            dim = dim(*sizes) if callable(dim) else dim
            shapes = shapes(*sizes) if callable(shapes) else shapes
        if dim is None:
            first = next(((p, a) for p, a in zip(self.inputs, arguments) if p.is_array), None)
            if first is None:
                raise RuntimeError(f"{self.name} has no array among its inputs: give dim=")
            grid = first[0].warp_shape(first[1])
        else:
            grid = as_shape(dim)
        if isinstance(shapes, dict):
            unknown = set(shapes) - {p.name for p in self.results}
            missing = [p.name for p in self.results if p.name not in shapes]
            if unknown or missing:
                text = f"no result is named {sorted(unknown)[0]!r}" if unknown else f"shapes has none for {missing[0]!r}"
                raise ValueError(f"{self.name}: {text}")
            return grid, [p.torch_shape(as_shape(shapes[p.name])) for p in self.results]
        each = grid if shapes is None else as_shape(shapes)
        if shapes is not None and any(isinstance(s, (tuple, list)) for s in each):
            if len(each) != len(self.results):
                raise ValueError(f"{self.name}: {len(each)} shapes for {len(self.results)} results")
            return grid, [p.torch_shape(as_shape(s)) for p, s in zip(self.results, each)]
        return grid, [p.torch_shape(each) for p in self.results]


class Named:
    """What is made of a function once, and not again by who copies a module that has it: pickled by the function's name, or,
    where it stands under that name itself, as a decorator leaves it, by its own."""

    def _be(self, func: Callable, make: Callable, *options: Any) -> None:
        """Takes the function's names, and how it is made again."""
        self.__name__, self.__qualname__, self.__module__ = func.__name__, func.__qualname__, func.__module__
        self.__doc__ = func.__doc__
        self._remake = (make, options)

    def __reduce__(self) -> Any:
        found: Any = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        return self.__qualname__ if found is self else self._remake

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self
