"""The algorithms of array_algorithms for arrays on one device, by those of src/algorithms: on a CUDA device queued there,
capturable, without a look at any element. Sums and prefix sums serve the CPU as well. Gradients and conversions are small
kernels.

Arguments were checked by array_algorithms. What can't be done here (arrays of several devices) goes by way of the host.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from warp import _weft
from warp._src.algorithms import device_kernels as _device
from warp._src.algorithms.device_kernels import one_device, values_then  # noqa: F401 - array_algorithms asks here
from warp._src.arrays import array_interface as _interface
from warp._src.arrays.array import array
from warp._src.arrays.listeners import paused
from warp._src.values import types

_INT32 = types.type_handle(types.int32)
_F = TypeVar("_F", bound=Callable[..., Any])


def _writes(*names: str, by: str) -> Callable[[_F], _F]:
    """Tells tapes that the arrays of these parameters are written; they don't see how."""

    def wrap(function: _F) -> _F:
        places = [list(inspect.signature(function).parameters).index(name) for name in names]

        @functools.wraps(function)
        def announced(*args: Any) -> Any:
            for place in places:
                if args[place] is not None:
                    _weft.announce_write(args[place], by)
            with paused():
                return function(*args)

        return announced  # type: ignore[return-value]

    return wrap


@_writes("out_array", by="array_scan")
def scan(in_array: array, out_array: array, inclusive: bool) -> None:
    """Prefix sums; each component of vectors and matrices for itself."""
    _weft.scan_array(in_array, out_array, inclusive)


def scan_backward(in_array: array, out_array: array, inclusive: bool) -> None:
    """Adds the gradient of a scan: sums of what comes later."""
    taken = _device.take(out_array)
    later = _device.new_array(taken, taken.shape)
    scan(taken[::-1], later[::-1], inclusive)
    _device.give(in_array, later)


def _reduced(a: array, b: array | None, dtype: Any, out: array | None, axis: int | None, per_element: int) -> Any:
    """Sums along an axis or over all; `per_element` numbers of each element are summed for themselves."""
    a = a.contiguous()
    b = None if b is None else b.contiguous()
    inner, length, outer = per_element, a.size, 1
    shape: tuple[int, ...] = (1,)
    if axis is not None:
        length = a.shape[axis]
        for n in a.shape[axis + 1 :]:
            inner *= n
        for n in a.shape[:axis]:
            outer *= n
        shape = tuple(1 if d == axis else n for d, n in enumerate(a.shape))
    handle = types.type_handle(dtype)
    result = out
    if out is None or not out.is_contiguous or any(one is not None and one._overlaps(out) for one in (a, b)):
        result = _device.new_array(a, shape, handle)
    if b is None or per_element == _device.components(a) == 1:
        _weft.sum_array(a, b, result, outer, length, inner)
    elif axis is None:  # one number of all products
        _weft.sum_array(a, b, result, 1, length * per_element, 1)
    else:
        apart = _device.new_array(a, (outer * inner,), handle)
        _weft.sum_array(a, b, apart, outer, length, inner)
        _weft.sum_array(apart, None, result, outer * inner // per_element, per_element, 1)
    if out is not None:
        if result is not out:
            out._take_back(result)
        return out
    result._dtype = dtype
    return _interface.host_numbers(result)[0] if axis is None else result


@_writes("out", by="a sum")
def total(values: array, out: array | None, axis: int | None) -> Any:
    """The sum of an array, or sums along an axis."""
    return _reduced(values, None, values.dtype, out, axis, _device.components(values))


def total_backward(values: array, out: array, axis: int | None) -> None:
    """Adds the gradient of a sum: every element gets that of its sum."""
    taken = _device.take(out)
    if values.requires_grad:
        _weft.announce_write(values.grad, "a backward pass")
        _device.add_spread(values.grad, taken, axis)


@_writes("out", by="a sum")
def inner(a: array, b: array, dtype: Any, out: array | None, axis: int | None) -> Any:
    """Sums of products; of vectors and matrices, of their components."""
    return _reduced(a, b, dtype, out, axis, _device.components(a))


def inner_backward(a: array, b: array, a_then: Any, b_then: Any, out: array, axis: int | None) -> None:
    """Adds the gradients of an inner product: each factor's is the other one times that of its sum."""
    taken = _device.take(out)
    for one, other in ((a, b_then), (b, a_then)):
        if one.requires_grad:
            _weft.announce_write(one.grad, "a backward pass")
            _device.add_scaled(one.grad, other(), taken, axis)


@_writes("out_array", by="array_cast")
def cast(in_array: array, out_array: array) -> None:
    """Converts the scalars of one array to those of another, as kernels do."""
    source = in_array.contiguous()
    # Tapes take the launch for another write, so it is not made to arrays that they follow.
    straight = out_array.is_contiguous and not out_array.requires_grad
    target = out_array if straight else _device.new_array(out_array, out_array.shape)
    if target is out_array and source._overlaps(target):
        copied = _device.new_array(source, source.shape)
        copied._copy_from(source)
        source = copied
    _device.convert(_device.as_scalars(target), _device.as_scalars(source))
    if target is not out_array:
        out_array._take_back(target)


@_writes("keys", "values", by="radix_sort_pairs")
def sort(keys: array, values: array, count: int, begin_bit: int, end_bit: int, keep_order: bool) -> array | None:
    """Sorts pairs; gives the order (where each came from) if it is asked for."""
    order = _device.new_array(keys, (count,), _INT32) if keep_order else None
    if count:
        _weft.sort_array(keys, values, count, begin_bit, end_bit, None, None, order)
    return order


@_writes("keys", "values", by="segmented_sort_pairs")
def sort_segments(
    keys: array, values: array, count: int, starts: array, ends: array | None, keep_order: bool
) -> array | None:
    """Sorts pairs within segments; those that reach beyond the elements are cut. The order as for `sort`."""
    order = _device.new_array(keys, (count,), _INT32) if keep_order else None
    if ends is None:
        starts, ends = starts[:-1], starts[1:]
    if count:
        _weft.sort_array(keys, values, count, 0, 32, starts.contiguous(), ends.contiguous(), order)
    return order


def order_backward(one: array, order: array) -> None:
    """Adds the gradient of an array whose elements were put into an order."""
    part = one[: order.size]
    taken = _device.take(part)
    _weft.announce_write(part.grad, "a backward pass")
    _device.scatter_add(part.grad, taken, order)


@_writes("run_values", "run_lengths", "run_count", by="runlength_encode")
def run_lengths(values: array, run_values: array, run_lengths: array, run_count: array | None, count: int) -> Any:
    """Values and lengths of runs. Without an array for their number the program waits for it."""
    runs = _weft.encode_runs(values, run_values, run_lengths, run_count, count)
    return runs if run_count is None else run_count
