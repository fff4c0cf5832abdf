"""`warp.context.runtime.core`: functions of the native library by the names that programs reach for them by.

There is no such library here. Programs that go past the public names do so to save time: a builtin by its name and the types of
its arguments (`wp_builtin_mul_transformf_transformf(a, b, byref(result))`), a sum of products over plain memory. Each has a meaning
here and does what the public name does; a name that has none is an AttributeError, as it is with a library.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from warp._src.arrays.array import array
from warp._src.devices.device import CPU, get_cuda_devices, get_device, selection
from warp._src.values import types as wt
from warp._src.values.builtins import python_function

_BUILTIN = "wp_builtin_"
_SUMS_OF_PRODUCTS = {"float": "float32", "double": "float64"}


def _types_named(text: str) -> list[type] | None:
    """The classes that names joined by underlines mean; None if one of them is no type."""
    found = [getattr(wt, part, None) for part in text.split("_")]
    return found if all(isinstance(one, type) for one in found) else None


def _put(place: Any, value: Any) -> None:
    """Writes a result to where a `byref` or a pointer leads."""
    target = place._obj if hasattr(place, "_obj") else place.contents
    if isinstance(value, ctypes.Array):
        if ctypes.sizeof(target) != ctypes.sizeof(value):
            raise TypeError(f"the result is a {type(value).__name__}, and there is room for {ctypes.sizeof(target)} bytes")
        ctypes.memmove(ctypes.byref(target), ctypes.byref(value), ctypes.sizeof(value))
    else:
        target.value = value


def _builtin(name: str) -> Callable | None:
    """The builtin whose name and types of arguments a name holds: the shortest name that leaves nothing but types."""
    parts = name.removeprefix(_BUILTIN).split("_")
    for length in range(1, len(parts)):
        called = python_function("_".join(parts[:length]))
        types = _types_named("_".join(parts[length:])) if called is not None else None
        if types is not None:
            return _by_reference(name, called, types)
    return None


def _by_reference(name: str, called: Callable, types: list[type]) -> Callable:
    """A builtin whose results go to the places named by its last arguments."""
    count = len(types)
    made = [one if not issubclass(one, ctypes.Array) else None for one in types]  # numbers get their type by a call

    def call(*arguments: Any) -> None:
        if len(arguments) <= count:
            raise TypeError(f"{name} takes {count} values and a place for each result, {len(arguments)} were given")
        values = [value if of is None else of(value) for of, value in zip(made, arguments)]
        result = called(*values)
        places = arguments[count:]
        for place, one in zip(places, result if len(places) > 1 else (result,)):
            _put(place, one)

    call.__name__ = name
    return call


def _array_inner(scalar: str, on_host: bool) -> Callable:
    """The sum of products of two runs of memory, into a third place."""

    def call(a: int, b: int, out: int, count: int, stride_a: int, stride_b: int, length: int) -> None:
        from warp._src.algorithms.array_algorithms import array_inner

        device = CPU if on_host else get_device("cuda")
        number = getattr(wt, scalar)
        element = number if length == 1 else wt.vector(length, number)
        views = [array(ptr=at, shape=(count,), strides=(step,), dtype=element, device=device) for at, step in ((a, stride_a), (b, stride_b))]
        array_inner(*views, out=array(ptr=out, shape=(1,), dtype=number, device=device))

    return call


class Core:
    """`runtime.core`: of the native library's own functions, those that have a meaning here."""

    def wp_is_cuda_enabled(self) -> bool:
        """Whether code can be made for CUDA devices: it always can."""
        return True

    def wp_cuda_driver_version(self) -> int:
        """The driver's newest CUDA version, such as 12040; 0 without a driver."""
        get_cuda_devices()
        return selection.version

    def wp_cuda_device_get_count(self) -> int:
        """How many CUDA devices there are."""
        return len(get_cuda_devices())

    def __getattr__(self, name: str) -> Callable:
        found = None
        if name.startswith(_BUILTIN):
            found = _builtin(name)
        elif name.startswith("wp_array_inner_"):
            scalar, _, where = name.removeprefix("wp_array_inner_").partition("_")
            if scalar in _SUMS_OF_PRODUCTS and where in ("host", "device"):
                found = _array_inner(_SUMS_OF_PRODUCTS[scalar], where == "host")
        if found is None:
            raise AttributeError(f"the native library's function {name} has no counterpart here")
        setattr(self, name, found)
        return found
