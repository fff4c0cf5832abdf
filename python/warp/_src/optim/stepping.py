"""What Adam and SGD have in common: the arrays that they change, checked; gradients beside them; what they remember of each.

Steps run on the scalars of packed arrays, so that every element type of floating point numbers takes the same kernels. Arrays with
other strides are packed for a step and written back.
"""

from __future__ import annotations

from typing import Any, Iterable

from warp._src.algorithms.device_kernels import as_scalars, new_array
from warp._src.arrays.array import array
from warp._src.values import types

# Scalars of parameters, and what steps compute and remember in.
_WIDE = {"float16": "float32", "bfloat16": "float32", "float32": "float32", "float64": "float64"}


def wide_name(one: array) -> str:
    """The type that steps of an array compute in."""
    return _WIDE[one._element.scalar]


class Optimizer:
    """Parameters and how many steps they have seen. Derived classes keep lists of arrays beside `params`, named in `_memories`."""

    _memories: tuple[str, ...] = ()

    def __init__(self, params: Iterable[array] | None) -> None:
        self.params: list[array] | None = None
        self.t = 0
        for name in self._memories:
            setattr(self, name, [])
        self.set_params(params)

    def set_params(self, params: Iterable[array] | None) -> None:
        """Takes other arrays. What is remembered stays with those of the same place in the list, shape and type."""
        self.params = None if params is None else self._checked([params] if isinstance(params, array) else list(params))
        for name in self._memories:
            old: list[array] = getattr(self, name)
            setattr(self, name, [self._memory(one, old[i : i + 1]) for i, one in enumerate(self.params or [])])

    def reset_internal_state(self) -> None:
        """Forgets all steps."""
        for name in self._memories:
            for memory in getattr(self, name):
                memory.zero_()
        self.t = 0

    def step(self, grad: Iterable[array | None]) -> None:
        """Changes the parameters along their gradients, a list in the same order; None leaves a parameter as it is."""
        if self.params is None:
            raise RuntimeError(f"{self._name()} parameters must be set before calling step(), got None")
        grad = [grad] if isinstance(grad, array) else list(grad)
        if len(grad) != len(self.params):
            raise ValueError(f"{self._name()}.step: {len(self.params)} parameters, but {len(grad)} gradients")
        for i, (one, slope) in enumerate(zip(self.params, grad)):
            if slope is not None:
                self._check_slope(i, one, slope)
        for i, (one, slope) in enumerate(zip(self.params, grad)):
            if slope is not None and one.size:
                packed = one if one.is_contiguous else one.contiguous()
                self._change(i, as_scalars(packed), as_scalars(slope.contiguous()))
                if packed is not one:
                    one.assign(packed)
        self.t += 1

    def _change(self, i: int, scalars: array, slope: array) -> None:
        raise NotImplementedError

    @classmethod
    def _name(cls) -> str:
        return cls.__name__

    def _checked(self, params: list) -> list[array]:
        for i, one in enumerate(params):
            if not isinstance(one, array):
                raise TypeError(f"{self._name()}: parameter {i} is no array, but {type(one).__name__}")
            if one._element.scalar not in _WIDE:
                names = ", ".join(_WIDE)
                raise RuntimeError(
                    f"Unsupported dtype for {self._name()}: parameter {i} has elements of {types.type_repr(one.dtype)};"
                    f" numbers of {names} can be optimized, and vectors and matrices of them"
                )
        return params

    def _check_slope(self, i: int, one: array, slope: Any) -> None:
        where = f"{self._name()} gradient {i}"
        if not isinstance(slope, array):
            raise TypeError(f"{where} is no array, but {type(slope).__name__}; None leaves the parameter as it is")
        if slope.shape != one.shape:
            raise ValueError(
                f"{where}: {self._name()} gradient shape must match parameter shape {one.shape}, got {slope.shape}"
            )
        if slope._element.scalar != one._element.scalar or slope._element.size != one._element.size:
            raise TypeError(
                f"{where}: {self._name()} gradient dtype must match parameter dtype {types.type_repr(one.dtype)}, "
                f"got {types.type_repr(slope.dtype)}"
            )
        if slope._place != one._place:
            raise RuntimeError(f"{where} lies on {slope.device}, its parameter on {one.device}")

    @staticmethod
    def _memory(one: array, old: list[array]) -> array:
        """Zeros of a parameter's shape, with elements of the same make in the wide type; `old`, if it is such an array."""
        dtype = one.dtype if wide_name(one) == one._element.scalar else widened(one)
        handle = types.type_handle(dtype)
        if old and old[0].shape == one.shape and old[0]._element == handle and old[0]._place == one._place:
            return old[0]
        made = new_array(one, one.shape, handle)
        made.zero_()
        return made


def widened(one: array) -> Any:
    """The element type of a float16 or bfloat16 array with numbers of float32."""
    wide = getattr(types, wide_name(one))
    shape = getattr(one.dtype, "_shape_", ())
    if not shape:
        return wide
    return types.vector(shape[0], wide) if len(shape) == 1 else types.matrix(shape, wide)
