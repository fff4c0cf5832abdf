"""Small kernels on whole arrays of CUDA devices: sums into gradients, scatters, conversions. They are queued like every
launch, wait for nothing and are recorded by no tape."""

from __future__ import annotations

from typing import Any

import numpy as np

from warp import _weft
from warp._src.arrays import array_interface
from warp._src.arrays.array import array
from warp._src.kernels.own_kernels import OwnKernel, index_with_zero
from warp._src.values import types

_ADD = OwnKernel("array_add", "to: {array}, amount: {array}", "to[{at}] = to[{at}] + amount[{at}]")
_ADD_TIMES = OwnKernel(
    "array_times",
    "to: {array}, amount: {array}, factor: {wide}",
    "to[{at}] = to.dtype({wide}(to[{at}]) + factor * {wide}(amount[{at}]))",
)
_ADD_SPREAD = OwnKernel("array_spread", "to: {array}, amount: {shares}", "to[{at}] = to[{at}] + amount[{share}]")
_ADD_SCALED = OwnKernel(
    "array_scaled",
    "to: {array}, factor: {array}, amount: {shares}",
    "to[{at}] = to[{at}] + factor[{at}] * amount[{share}]",
)
_SCATTER_ADD = OwnKernel(
    "array_scatter_add",
    "to: {array}, source: {array}, order: wp.array(dtype=wp.int32)",
    "to[order[i]] = to[order[i]] + source[i]",
)
_CONVERT = OwnKernel("array_convert", "to: {array}, source: {array}", "to[i] = to.dtype(source[i])")


def one_device(*arrays: Any) -> int | None:
    """The ordinal of the CUDA device that all of the arrays lie on; None if there is no such device."""
    places = {a._place for a in arrays if a is not None}
    return places.pop() if len(places) == 1 and min(places) >= 0 else None


def new_array(like: array, shape: tuple[int, ...], handle: Any = None) -> array:
    """An array beside another one, its elements unset."""
    return _weft.array_new(array, like._element if handle is None else handle, shape, False, False, like._place)


def add(to: array, amount: array) -> None:
    """to += amount, of one shape and type."""
    if to.is_contiguous and amount.is_contiguous:
        to, amount = as_scalars(to), as_scalars(amount)
    _ADD.run(to.shape, to, amount)


def add_times(to: array, amount: array, factor: float) -> None:
    """to += factor · amount, of one shape and type."""
    if to.is_contiguous and amount.is_contiguous:
        to, amount = as_scalars(to), as_scalars(amount)
    wide = "float64" if to._element.scalar == "float64" else "float32"
    _ADD_TIMES.run(to.shape, to, amount, factor, wide=f"wp.{wide}")


def add_spread(to: array, amount: array, axis: int | None) -> None:
    """Adds to each element the sum's share: amount[0], or the one whose index along the axis is 0."""
    _ADD_SPREAD.run(to.shape, to, amount, **_share(to.ndim, axis))


def add_scaled(to: array, factor: array, amount: array, axis: int | None) -> None:
    """As add_spread, each share times an element of `factor`; shares are numbers."""
    _ADD_SCALED.run(to.shape, to, factor, amount, **_share(to.ndim, axis))


def _share(rank: int, axis: int | None) -> dict[str, str]:
    shares = 1 if axis is None else rank
    return {"shares": f"wp.array(dtype=Any, ndim={shares})", "share": index_with_zero(rank, axis)}


def scatter_add(to: array, source: array, order: array) -> None:
    """to[order[i]] += source[i]; no place is named twice."""
    _SCATTER_ADD.run(source.shape, to, source, order)


def convert(to: array, source: array) -> None:
    """to[i] = source[i] as kernels convert; 1-D arrays of scalars."""
    _CONVERT.run(to.shape, to, source)


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
    version = _weft.work_listener()._need(one, by)

    def values() -> array:
        view = one._reinterpret(one._element, one.shape, one.strides)
        version._share_into(view)
        return view

    return values
