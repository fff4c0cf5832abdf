"""What a kernel, or an annotated function, is to JAX: which parameters are inputs, outputs or both, what arrays they take,
and which shapes its outputs have. Everything a program can get wrong is said here, by parameter."""

from __future__ import annotations

import operator
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np

from warp import _weft
from warp._src.arrays import array_interface as _interface
from warp._src.values.scalars import memory_dtype
from warp._src.values.types import type_handle_or_none

INPUT, OUTPUT, IN_OUT, VALUE = 1, 2, 3, 0  # as interop::Role


class Parameter(NamedTuple):
    """A parameter as it is declared."""

    name: str
    type: _weft.Type | None  # None: known when it is called
    ndim: int  # of arrays; 0: a value
    has_default: bool = False

    @property
    def is_array(self) -> bool:
        return self.ndim > 0


class Roles:
    """The parameters of a kernel or function, and which of them are what."""

    def __init__(
        self, what: str, parameters: Sequence[Parameter], num_outputs: Any, in_out: Any, staged: Mapping[str, Any] = {}
    ):
        self.what = what
        self.parameters = list(parameters)
        names = [p.name for p in parameters]
        count = _integer(num_outputs, f"{what}: num_outputs")
        listed = _names(in_out, f"{what}: in_out_argnames")
        if len(set(listed)) != len(listed):
            raise ValueError(f"{what}: in_out_argnames must not contain duplicate names: {listed}")
        for name in listed:
            if name not in names:
                raise ValueError(f"{what}: in_out_argnames has '{name}', which is none of its arguments {names}")
        if count < 1:
            raise ValueError(f"{what}: there must be at least one output, num_outputs is {count}")
        pure = count - len(listed)
        if pure < 0:
            raise ValueError(
                f"{what}: num_outputs={count} counts in-out arguments as well, and there are {len(listed)} of them: {listed}"
            )
        if pure > len(names):
            raise ValueError(f"{what}: num_outputs={count} is more than its {len(names)} arguments")
        first = len(names) - pure
        for name in listed:
            if names.index(name) >= first:
                raise ValueError(
                    f"{what}: in_out arguments should be placed before output-only arguments; '{name}' must stand before the "
                    f"outputs {names[first:]}"
                )
        for p in self.parameters:
            if p.name in listed or names.index(p.name) >= first:
                if not p.is_array:
                    raise TypeError(f"{what}: the output '{p.name}' must be an array")
        self.in_out = frozenset(listed)
        self.inputs = self.parameters[:first]
        self.outputs = [p for p in self.parameters if p.name in self.in_out] + self.parameters[first:]
        self.first_output = first
        for key, given in staged.items():
            for name in _names(given, f"{what}: {key}"):
                if name not in names:
                    raise ValueError(f"{what}: {key} has '{name}', which is none of its arguments {names}")

    def role(self, index: int) -> int:
        p = self.parameters[index]
        if not p.is_array:
            return VALUE
        if p.name in self.in_out:
            return IN_OUT
        return OUTPUT if index >= self.first_output else INPUT

    def check_count(self, given: int) -> None:
        required = len(self.inputs)
        while required > 0 and self.inputs[required - 1].has_default:
            required -= 1
        if required <= given <= len(self.inputs):
            return
        names = ", ".join(p.name for p in self.inputs)
        raise TypeError(f"{self.what} takes {len(self.inputs)} inputs ({names}), {given} were given")


def _integer(value: Any, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be an integer, not {type(value).__name__}") from None


def _names(given: Any, what: str) -> list[str]:
    if given is None:
        return []
    listed = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(name, str) for name in listed):
        raise TypeError(f"{what} is a list of names, not {given!r}")
    return listed


def dims_of(given: Any, what: str) -> tuple[int, ...]:
    """A shape as programs give it: an integer, or several."""
    if isinstance(given, (list, tuple)):
        made = tuple(_integer(n, what) for n in given)
    else:
        made = (_integer(given, what),)
    if any(n < 0 for n in made):
        raise ValueError(f"{what}: extents are 0 or more, not {given}")
    return made


def static_dims(given: Any, what: str) -> Any:
    """Dimensions as a value that can be compared: None, a tuple, or pairs of names and tuples."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        return tuple((str(name), dims_of(dims, f"{what}['{name}']")) for name, dims in given.items())
    return dims_of(given, what)


# ---- Element types ---------------------------------------------------------------------------------------------------


def numpy_type(element: _weft.Type) -> np.dtype:
    """The dtype that JAX has for the scalars of an element type."""
    if element.kind == "struct":
        raise TypeError(f"JAX has no arrays of structs ({element.name})")
    if element.scalar == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(bool) if element.scalar == "bool" else memory_dtype(element.scalar)


def inner_dims(element: _weft.Type) -> tuple[int, ...]:
    return _interface.layout(element).inner


def check_are_arrays(roles: Roles, inputs: Sequence[Any]) -> None:
    """Raises if something else stands for an array."""
    for p, value in zip(roles.inputs, inputs):
        if p.is_array and not hasattr(value, "shape") and not isinstance(value, (int, float, bool)):
            raise TypeError(f"{roles.what}: argument '{p.name}' is an array, {type(value).__name__} was given")


def check_array(what: str, p: Parameter, array_type: _weft.Type, value: Any) -> None:
    """Raises unless an array of JAX fits a parameter."""
    element = array_type.element
    wanted, inner = numpy_type(element), inner_dims(element)
    shown = f"{what}: argument '{p.name}' is an {array_type.name}"
    if np.dtype(value.dtype) != wanted:
        note = ""
        if wanted.itemsize == 8 and wanted.kind in "fiu" and not _has_x64():
            note = "; JAX makes no 64-bit numbers before jax.config.update('jax_enable_x64', True)"
        raise TypeError(f"{shown}, whose numbers are {wanted}; an array of {np.dtype(value.dtype)} was given{note}")
    rank = array_type.rank + len(inner)
    if value.ndim != rank:
        extra = f" (the last {len(inner)} for the components {inner})" if inner else ""
        raise TypeError(f"{shown}, which takes {rank} dimensions{extra}; shape {tuple(value.shape)} was given")
    symbolic = [str(n) for n in value.shape if not isinstance(n, int)]
    if symbolic:
        raise TypeError(
            f"{shown}; the extent {symbolic[0]} is a symbol, and launches have sizes: export the program for each shape it runs on"
        )
    if inner and tuple(value.shape[-len(inner) :]) != inner:
        raise TypeError(f"{shown}, whose last dimensions are {inner}; shape {tuple(value.shape)} was given")


def _has_x64() -> bool:
    import jax

    return bool(jax.config.jax_enable_x64)


def element_for(p: Parameter, value: Any) -> _weft.Type:
    """The element type of a generic array parameter for an array of JAX: what it has beyond the declared dimensions are
    components."""
    scalar = _weft.type_scalar(np.dtype(value.dtype).name)
    inner = tuple(value.shape[p.ndim :]) if value.ndim > p.ndim else ()
    if len(inner) == 1:
        return _weft.type_vec(scalar, inner[0])
    if len(inner) == 2:
        return _weft.type_mat(scalar, *inner)
    return scalar


def value_type(value: Any) -> _weft.Type | None:
    """The type of a number for a generic parameter."""
    own = getattr(type(value), "_wp_type_", None)
    if own is not None:
        return own
    if isinstance(value, np.generic):
        return _weft.type_scalar(value.dtype.name)
    return type_handle_or_none(type(value)) if isinstance(value, (bool, int, float)) else None


# ---- Shapes of outputs -----------------------------------------------------------------------------------------------


def output_shape(what: str, p: Parameter, element: _weft.Type, dims: tuple[int, ...]) -> tuple[int, ...]:
    """JAX's shape of an output from dimensions in either convention: with the components of its elements, or without."""
    inner = inner_dims(element)
    if len(dims) == p.ndim:
        return dims + inner
    if inner and len(dims) == p.ndim + len(inner):
        if dims[p.ndim :] != inner:
            raise ValueError(f"{what}: output '{p.name}' has elements of {inner} components, output_dims are {dims}")
        return dims
    both = f" or {p.ndim + len(inner)}" if inner else ""
    raise ValueError(f"{what}: output '{p.name}' has {p.ndim}{both} dimensions, output_dims are {dims}")


def pick_output_dims(what: str, given: Any, outputs: Sequence[Parameter]) -> dict[str, tuple[int, ...]]:
    """Dimensions by output from what `static_dims` made."""
    if given and isinstance(given[0], tuple):
        named = dict(given)
        known = [p.name for p in outputs]
        unknown = [name for name in named if name not in known]
        if unknown:
            raise ValueError(f"{what}: output_dims has '{unknown[0]}', the outputs are {known}")
        missing = [name for name in known if name not in named]
        if missing:
            raise ValueError(f"{what}: output_dims leaves out '{missing[0]}'; give dimensions for all of {known}")
        return named
    return {p.name: given for p in outputs}


class Static:
    """A value as a static argument of jax.jit: told apart by its bytes, so that 0.0 and -0.0 differ and nan is itself."""

    __slots__ = ("value", "_key")

    def __init__(self, value: Any):
        self.value = value
        try:
            self._key: Any = (type(value), bytes(memoryview(value).cast("B")))
        except TypeError:
            self._key = (type(value), repr(value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(self.value)


def static_value(what: str, p: Parameter, value: Any, tracer: type) -> Any:
    """A value argument as something that jax.jit can compare; ValueError for what JAX traces."""
    kind = type(value)
    if kind is int or kind is bool or (kind is float and value == value and value != 0.0):
        return value
    if isinstance(value, tracer):
        raise ValueError(
            f"{what}: argument '{p.name}' is a number that JAX traces. Numbers of kernels are static: pass a constant, name "
            f"it in jax.jit(…, static_argnames=[…]), or make the wrapper with traced_scalars=True"
        )
    if hasattr(value, "__jax_array__") or type(value).__module__.startswith("jax"):
        if getattr(value, "ndim", 0) != 0:
            raise TypeError(f"{what}: argument '{p.name}' is a number; an array of shape {value.shape} was given")
        value = value.item()
    return Static(value)


def bare(value: Any) -> Any:
    return value.value if type(value) is Static else value

