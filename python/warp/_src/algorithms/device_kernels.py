"""Small kernels on whole arrays of CUDA devices: sums into gradients, scatters, conversions. They are queued like every
launch, wait for nothing and are recorded by no tape."""

from __future__ import annotations

from typing import Any

import numpy as np

from warp import _weft
from warp._src.arrays import array_interface
from warp._src.arrays.array import array
from warp._src.arrays.listeners import paused
from warp._src.kernels.definitions import kernel_from_text
from warp._src.kernels.launching import launch
from warp._src.values import types

_kernels: dict[tuple, Any] = {}


def one_device(*arrays: Any) -> int | None:
    """The ordinal of the CUDA device that all of the arrays lie on; None if there is no such device."""
    places = {a._place for a in arrays if a is not None}
    return places.pop() if len(places) == 1 and min(places) >= 0 else None


def new_array(like: array, shape: tuple[int, ...], handle: Any = None) -> array:
    """An array beside another one, its elements unset."""
    return _weft.array_new(array, like._element if handle is None else handle, shape, False, False, like._place)


def kernel_of(key: tuple, params: str, body: str, rank: int) -> Any:
    """The kernel with these parameters and body, whose thread index is the first `rank` of i, j, k, l; made once."""
    made = _kernels.get(key)
    if made is None:
        name = f"array_{key[0]}"
        index = ", ".join("ijkl"[:rank])
        text = f"def {name}({params}):\n    {index} = wp.tid()\n    {body}\n"
        made = _kernels[key] = kernel_from_text(text, name)
    return made


def run(kernel: Any, shape: tuple[int, ...], *arguments: Any) -> None:
    """Launches one of these kernels where its arrays lie; no tape sees it."""
    if 0 in shape:
        return
    device = next(a for a in arguments if isinstance(a, _weft.Array)).device  # type: ignore[attr-defined]
    with paused():
        launch(kernel, dim=shape, inputs=list(arguments), device=device, record_tape=False)


def _array(name: str, rank: int) -> str:
    return f"{name}: wp.array(dtype=Any, ndim={rank})"


def _index(rank: int) -> str:
    return ", ".join("ijkl"[:rank])


def add(to: array, amount: array) -> None:
    """to += amount, of one shape and type."""
    if to.is_contiguous and amount.is_contiguous:
        to, amount = as_scalars(to), as_scalars(amount)
    rank = to.ndim
    params = f"{_array('to', rank)}, {_array('amount', rank)}"
    at = _index(rank)
    run(kernel_of(("add", rank), params, f"to[{at}] = to[{at}] + amount[{at}]", rank), to.shape, to, amount)


def add_times(to: array, amount: array, factor: float) -> None:
    """to += factor · amount, of one shape and type."""
    if to.is_contiguous and amount.is_contiguous:
        to, amount = as_scalars(to), as_scalars(amount)
    rank = to.ndim
    wide = "float64" if to._element.scalar == "float64" else "float32"
    params = f"{_array('to', rank)}, {_array('amount', rank)}, factor: wp.{wide}"
    at = _index(rank)
    body = f"to[{at}] = to.dtype(wp.{wide}(to[{at}]) + factor * wp.{wide}(amount[{at}]))"
    run(kernel_of(("times", rank, wide), params, body, rank), to.shape, to, amount, factor)


def add_spread(to: array, amount: array, axis: int | None) -> None:
    """Adds to each element the sum's share: amount[0], or the one whose index along the axis is 0."""
    rank = to.ndim
    params = f"{_array('to', rank)}, {_array('amount', 1 if axis is None else rank)}"
    at = _index(rank)
    source = "0" if axis is None else ", ".join("0" if d == axis else "ijkl"[d] for d in range(rank))
    key = ("spread", rank, axis)
    run(kernel_of(key, params, f"to[{at}] = to[{at}] + amount[{source}]", rank), to.shape, to, amount)


def add_scaled(to: array, factor: array, amount: array, axis: int | None) -> None:
    """As add_spread, each share times an element of `factor`; shares are numbers."""
    rank = to.ndim
    params = f"{_array('to', rank)}, {_array('factor', rank)}, {_array('amount', 1 if axis is None else rank)}"
    at = _index(rank)
    source = "0" if axis is None else ", ".join("0" if d == axis else "ijkl"[d] for d in range(rank))
    key = ("scaled", rank, axis)
    body = f"to[{at}] = to[{at}] + factor[{at}] * amount[{source}]"
    run(kernel_of(key, params, body, rank), to.shape, to, factor, amount)


def scatter_add(to: array, source: array, order: array) -> None:
    """to[order[i]] += source[i]; no place is named twice."""
    params = f"{_array('to', 1)}, {_array('source', 1)}, order: wp.array(dtype=wp.int32)"
    body = "to[order[i]] = to[order[i]] + source[i]"
    run(kernel_of(("scatter_add",), params, body, 1), source.shape, to, source, order)


def convert(to: array, source: array) -> None:
    """to[i] = source[i] as kernels convert; 1-D arrays of scalars."""
    params = f"{_array('to', 1)}, {_array('source', 1)}"
    run(kernel_of(("convert",), params, "to[i] = to.dtype(source[i])", 1), to.shape, to, source)


def as_scalars(one: array) -> array:
    """The scalars of a packed array, in one dimension."""
    handle = types.type_handle(getattr(types, one._element.scalar))
    count = one.size * (one._element.size // handle.size)
    return one._reinterpret(handle, (count,), (handle.size,))


def components(one: array) -> int:
    """Scalars of an element."""
    return int(np.prod(_layout(one).inner, dtype=np.int64))


def _layout(one: array) -> Any:
    return array_interface.layout(one._element)


# ---- for functions that go back --------------------------------------------------------------------------------------


def take(one: array) -> array:
    """The gradient of an array that was overwritten, packed; the array loses it."""
    taken = new_array(one, one.shape)
    taken._copy_from(one.grad)
    one.grad.zero_()
    return taken


def give(one: array | None, amount: array) -> None:
    """Adds to an array's gradient where it has one."""
    if one is not None and one.requires_grad:
        _weft.announce_write(one.grad, "a backward pass")
        add(one.grad, amount)


def values_then(one: array, by: str) -> Any:
    """A function that gives the values which an array has now as an array on its device, on the way back."""
    version = _weft.recording_tape()._need(one, by)

    def values() -> array:
        view = one._reinterpret(one._element, one.shape, one.strides)
        version._share_into(view)
        return view

    return values
