"""`wp.map`: a function applied to arrays element by element, and the operators of arrays, which are maps.

For each function, list of argument types and pattern of broadcasting there is one small kernel, written as text:

    def map_kernel(a0, a1, out0):
        i, j = tid()
        out0[i, j] = f(a0[i, j], a1[0, j])

Types of results come from the compiler. Kernels are kept in a bounded table, the most recently used ones last, so that
programs that map lambdas in a loop neither compile again nor grow.
"""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Sequence
from typing import Any

from warp import _weft
from warp._src.arrays import array_interface as _interface
from warp._src.arrays.array import array
from warp._src.arrays.indexed_array import indexedarray
from warp._src.devices.device import get_device
from warp._src.kernels.definitions import Function, Kernel, get_module
from warp._src.kernels.lambda_source import plain_function
from warp._src.kernels.launching import launch
from warp._src.kernels.resolver import describe
from warp._src.values.builtins import BuiltinFunction, python_function
from warp._src.values.types import class_of

__all__ = ["map"]

_KEPT = 512
_table: collections.OrderedDict[tuple, _Map] = collections.OrderedDict()
_lock = threading.Lock()
_AXES = "ijkl"


class _Map:
    """One function for one list of argument types and broadcasting pattern: its kernel and the types it returns."""

    def __init__(
        self, function: Any, arguments: Sequence[_Argument], shape: tuple[int, ...], output_kinds: str
    ) -> None:
        rank = len(shape)
        self.results = _result_types(function, [a.element for a in arguments])
        if not self.results:
            raise TypeError(f"'{_name(function)}' returns none: The provided function must return a value")
        kinds = output_kinds or "a" * len(self.results)
        if len(kinds) != len(self.results):
            raise TypeError(
                f"'{_name(function)}' returns {len(self.results)} values, but {len(kinds)} output arrays were given: "
                f"Invalid output provided, expected {len(self.results)} Warp arrays with shape {shape} and dtypes "
                f"({', '.join(t.name for t in self.results)})"
            )
        index = ", ".join(_AXES[:rank])
        names = [f"a{k}" for k in range(len(arguments))]
        outputs = [f"out{k}" for k in range(len(self.results))]
        call = ", ".join(a.text(name, rank) for a, name in zip(arguments, names))
        targets = ", ".join(f"{name}[{index}]" for name in outputs)
        source = f"def map_kernel({', '.join(names + outputs)}):\n    {index} = tid()\n    {targets} = f({call})\n"
        scope: dict[str, Any] = {"f": function, "__name__": "warp.map"}
        exec(source, scope)  # noqa: S102 - the text above
        func = scope.pop("map_kernel")
        func._wp_source_ = source
        func.__annotations__ = {name: _annotation(a.type) for name, a in zip(names, arguments)}
        for name, kind, t in zip(outputs, kinds, self.results):
            func.__annotations__[name] = (array if kind == "a" else indexedarray)(dtype=class_of(t), ndim=rank)
        self.kernel = Kernel(func, "map_kernel", get_module("warp.map"))


class _Argument:
    """An input: an array with its shape, or a value that every element gets."""

    def __init__(self, value: Any) -> None:
        if hasattr(value, "_wp_fabric_"):
            value = value.contiguous()
        self.value = value
        self.shape: tuple[int, ...] | None = None
        self.foreign = False  # another library's, which may lie elsewhere
        if not isinstance(value, (array, indexedarray)):
            handle = _weft.type_of(value)
            if handle is None:
                raise TypeError(
                    f"wp.map takes arrays, numbers, vectors, matrices and structs, not {type(value).__name__}; make a "
                    "wp.array of it first"
                )
            self.type = self.element = handle
            if handle.kind != "array":
                return
            shared = array.__new__(array)
            if not shared._init_foreign(value, handle.element, False):
                shared = _interface.as_array(value, handle)
            if shared is None:
                raise TypeError(f"wp.map can't share the memory of this {type(value).__name__}; make a wp.array of it first")
            value = self.value = shared
            self.foreign = True
        elif not (value._valid if isinstance(value, array) else value.data is not None):
            raise TypeError("an array annotation has no elements to map")
        else:
            self.type = _weft.type_of(value)
        self.shape = value.shape
        self.element = self.type.element

    def pattern(self) -> tuple:
        """What of the argument the kernel's text depends on."""
        return (self.type, None if self.shape is None else tuple(n == 1 for n in self.shape))

    def text(self, name: str, rank: int) -> str:
        """The argument's element in the kernel: missing leading dimensions are left out, extents of 1 are repeated."""
        if self.shape is None:
            return name
        axes = _AXES[rank - len(self.shape) : rank]
        return f"{name}[{', '.join('0' if n == 1 else axis for n, axis in zip(self.shape, axes))}]"


def _annotation(handle: _weft.Type) -> Any:
    """What a program would write for a parameter of this type."""
    if handle.kind in ("array", "indexedarray"):
        return (array if handle.kind == "array" else indexedarray)(dtype=class_of(handle.element), ndim=handle.rank)
    return class_of(handle)


def _name(function: Any) -> str:
    return getattr(function, "key", None) or getattr(function, "__name__", None) or repr(function)


class _CallScope:
    """The names in the call whose result types are asked for."""

    def __init__(self, function: Any) -> None:
        self.function = describe(function)

    def lookup(self, name: str) -> tuple | None:
        return self.function if name == "f" else None

    def eval_static(self, text: str, local_values: dict) -> None:
        return None


def _result_types(function: Any, types: list[_weft.Type]) -> list[_weft.Type]:
    names = [f"a{k}" for k in range(len(types))]
    text = f"def call({', '.join(names)}):\n    return f({', '.join(names)})\n"
    scope = _CallScope(function)
    known = {name: ("type", t) for name, t in zip(names, types)}
    made = _weft.make_function(
        text, f"<map of {_name(function)}>", 1, "call", scope, f"map of {_name(function)}", known
    )
    try:
        return _weft.result_types(made, types)
    except RuntimeError as error:
        text = str(error)
        if "returns nothing" in text:
            return []
        if text.startswith('Error while parsing function "call"') and f"types: [{_listed(types)}]" in text:
            words = f"Function {_name(function)} does not support the provided argument types {_listed(types)}"
            raise TypeError(words) from error
        raise


def _listed(types: list[_weft.Type]) -> str:
    return ", ".join(t.name for t in types)


def _identity(function: Any) -> tuple:
    """What tells one function from another. Lambdas that are made again and again are equal where their text and the
    values they close over are; values that can't be compared count by identity, and the table keeps them alive."""
    code = getattr(function, "__code__", None)
    if code is None:
        return (function,)
    values: list[Any] = []
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
            hash(value)
        except ValueError:  # not assigned yet
            value = None
        except TypeError:
            value = id(value)
        values.append((type(value), value))
    return (code, id(function.__globals__), tuple(values))


def broadcast_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of arrays of these shapes side by side, by NumPy's rules."""
    result: tuple[int, ...] = shapes[0]
    for shape in shapes[1:]:
        if shape == result:
            continue
        rank = max(len(result), len(shape))
        padded = [(1,) * (rank - len(s)) + s for s in (result, shape)]
        merged = []
        for a, b in zip(*padded):
            if a != b and a != 1 and b != 1:
                raise ValueError(f"Shapes {result} and {shape} are not broadcastable")
            merged.append(b if a == 1 else a)
        result = tuple(merged)
    return result


def _outputs(out: Any) -> list[Any]:
    outputs = list(out) if isinstance(out, (list, tuple)) else [out]
    for one in outputs:
        if not isinstance(one, (array, indexedarray)) and not hasattr(one, "_wp_fabric_"):
            raise TypeError(f"out= takes an array, or a list of them for several results, not {type(one).__name__}")
    return outputs


def _check_outputs(outputs: list[Any], shape: tuple[int, ...], types: list[_weft.Type]) -> None:
    for k, (one, handle) in enumerate(zip(outputs, types)):
        which = "Output array" if len(types) == 1 else f"Output array {k}"
        if one.shape != shape:
            raise TypeError(f"{which} shape {one.shape} does not match expected shape {shape}")
        given = _weft.type_of(one).element
        if given != handle:
            raise TypeError(f"{which} dtype {given.name} does not match expected dtype {handle.name}")


def _prepared(func: Any, arguments: list[_Argument], shape: tuple[int, ...], output_kinds: str) -> _Map:
    key = (_identity(func), tuple(a.pattern() for a in arguments), len(shape), output_kinds)
    with _lock:
        found = _table.get(key)
        if found is not None:
            _table.move_to_end(key)
            return found
    _check_count(func, len(arguments))
    made = _Map(plain_function(func), arguments, shape, output_kinds)
    with _lock:
        _table[key] = made
        while len(_table) > _KEPT:
            _table.popitem(last=False)
    return made


def map(
    func: Callable | Function,
    *inputs: Any,
    out: Any = None,
    return_kernel: bool = False,
    block_dim: int | None = None,
    device: Any = None,
) -> Any:
    """Applies a function to the elements of arrays and gives the results as new arrays, or writes them to `out`.

    `func` is a `wp.func`, a builtin, a Python function or a lambda. Inputs are arrays, which are broadcast against each
    other as in NumPy, and values, which every call gets. A function of several results gives a list of arrays. With
    `return_kernel` the kernel comes back instead; it takes the inputs, then the outputs. `block_dim` is for GPUs.
    """
    if not callable(func):
        raise TypeError(f"wp.map takes a function, not {type(func).__name__}")
    if isinstance(func, Kernel):
        raise TypeError("wp.map takes a function, not a kernel; run kernels with wp.launch")
    if not inputs:
        raise TypeError("Number of input arguments (0) does not match expected number of function arguments")
    arguments = [_Argument(value) for value in inputs]
    shapes = [a.shape for a in arguments if a.shape is not None]
    if not shapes:
        raise ValueError("map requires at least one warp.array input")
    shape = broadcast_shape(shapes)
    arrays = sorted((a for a in arguments if a.shape is not None), key=lambda a: a.foreign)
    where = get_device(device) if device is not None else arrays[0].value.device
    for a in arrays:
        if a.foreign and a.value.device != where:
            a.value = a.value.to(where)
    given = [] if out is None else _outputs(out)
    outputs = None if out is None else [one.contiguous() if hasattr(one, "_wp_fabric_") else one for one in given]
    kinds = "" if outputs is None else "".join("a" if isinstance(o, array) else "i" for o in outputs)
    prepared = _prepared(func, arguments, shape, kinds)
    if outputs is not None:
        _check_outputs(outputs, shape, prepared.results)
    if return_kernel:
        return prepared.kernel
    if outputs is None:
        grad = False
        for a in arguments:
            grad = grad or (a.shape is not None and a.value.requires_grad)
        outputs = [_new_array(t, shape, grad and _has_floats(t), where) for t in prepared.results]
    values = [a.value for a in arguments]
    launch(prepared.kernel, dim=shape, inputs=values, outputs=outputs, device=where, block_dim=block_dim)
    for one, made in zip(given, outputs):
        if one is not made:  # its elements lie in buckets
            one.assign(made)
    return out if out is not None else outputs[0] if len(outputs) == 1 else outputs


def _new_array(element: _weft.Type, shape: tuple[int, ...], grad: bool, device: Any) -> array:
    if element.kind == "struct":
        return array(shape=shape, dtype=class_of(element), requires_grad=grad, device=device)
    return _weft.array_new(array, element, shape, False, grad, device.ordinal)


def _has_floats(handle: _weft.Type) -> bool:
    if handle.kind == "struct":
        return any(_has_floats(field) for _, field, _ in handle.fields)
    return handle.kind != "array" and "float" in handle.scalar


def _check_count(func: Any, given: int) -> None:
    if isinstance(func, BuiltinFunction) or getattr(func, "others", None):
        return  # overloads of several lengths: the compiler looks
    import inspect

    try:
        parameters = inspect.signature(getattr(func, "func", func)).parameters.values()
    except (TypeError, ValueError):
        return
    required = sum(p.default is p.empty for p in parameters)
    if not required <= given <= len(parameters):
        raise TypeError(
            f"Number of input arguments ({given}) does not match expected number of function arguments ({required})"
        )


# ---- operators ---------------------------------------------------------------------------------------------------------


def _operand(value: Any, other: Any) -> Any:
    """A plain number takes the scalar type of the array beside it where it is of the same sort: 2.0 of any float type, 2
    of any integer type."""
    scalar = (other.data if isinstance(other, indexedarray) else other)._element.scalar
    wanted = "float" if value.__class__ is float else "int" if value.__class__ is int else ""
    if wanted and wanted in scalar:
        return class_of(_weft.type_scalar(scalar))(value)
    return value


def operate(name: str, a: Any, b: Any, out: Any = None) -> Any:
    """An operator on an array and another operand; NotImplemented where the other one is nothing that maps."""
    a, b = (one.contiguous() if hasattr(one, "_wp_fabric_") else one for one in (a, b))
    first = isinstance(a, (array, indexedarray))
    other = b if first else a
    if isinstance(other, (str, bytes, list, tuple, dict, set, type(None))):
        return NotImplemented
    if first:
        b = _operand(b, a)
    else:
        a = _operand(a, b)
    result = map(python_function(name), a, b, out=out)
    return result


def operate_unary(name: str, a: Any) -> Any:
    """A unary operator."""
    return map(python_function(name), a)
