"""Algorithms on whole arrays: sums, inner products, prefix sums, sorting by key, run lengths, conversion.

This module checks arguments and tells tapes, which record those of floats. The work is done where the arrays lie, by the
algorithms of src/algorithms (device_algorithms.py); arrays of several devices go by way of the host. Results are the same
for every number of threads.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import numpy as np

from warp import _weft
from warp._src.algorithms.array_checks import (
    AlgorithmValueError,
    cast_parts,
    check_bits,
    check_floats,
    check_inner,
    check_out,
    check_pairs,
    check_runs,
    check_scan,
    check_segments,
    checked_axis,
    flat,
    leading,
    scalar_name,
)
from warp._src.algorithms.cpu_fallback import through_host
from warp._src.arrays.array import array
from warp._src.arrays.array_factories import empty
from warp._src.arrays.listeners import aside, follows, recording
from warp._src.gradients.tape_record import add_to_gradient, record_assignment, take_gradient, values_now
from warp._src.values import types

def _target(a: array, by: str) -> np.ndarray:
    """An array's memory, to be written to; that of bfloat16 as bits, whatever NumPy knows of them."""
    _weft.announce_write(a, by)
    memory = a.numpy()
    return memory.view(np.uint16) if scalar_name(a) == "bfloat16" else memory


def _here() -> Any:
    from warp._src.algorithms import device_algorithms

    return device_algorithms


def _on_device(*arrays: Any) -> Any:
    """The algorithms of the CUDA device that all of these arrays lie on; None for other arrays."""
    if all(a is None or a._place < 0 for a in arrays):
        return None
    return _here() if _here().one_device(*arrays) is not None else None


def _rules() -> Any:
    from warp._src.gradients import forward_rules  # late: few programs need it

    return forward_rules


def array_scan(in_array: array, out_array: array, inclusive: bool = True) -> None:
    """Writes the prefix sums of one array to another of the same type and length; exclusive ones start with zero."""
    in_array, out_array = flat(in_array, "in_array"), flat(out_array, "out_array")
    check_scan(in_array, out_array)
    there = _on_device(in_array, out_array)
    (_scan if there is None else there.scan)(in_array, out_array, inclusive)
    if forward := follows():
        _rules().linear(forward, lambda a, b: array_scan(a, b, inclusive), in_array, out_array)
    tape = recording(out_array)
    if tape is None or out_array.size == 0:
        return

    def backward() -> None:
        if there is not None:
            return there.scan_backward(in_array, out_array, inclusive)
        taken = take_gradient(out_array)
        later = np.cumsum(taken[::-1], axis=0, dtype=taken.dtype)[::-1]
        add_to_gradient(in_array, later if inclusive else later - taken)

    tape._add_work(
        backward, [in_array, out_array], [out_array], lambda: array_scan(in_array, out_array, inclusive)
    )


@through_host("out_array", by="array_scan")
def _scan(in_array: array, out_array: array, inclusive: bool) -> None:
    _here().scan(in_array, out_array, inclusive)


def array_sum(values: array, out: array | None = None, value_count: int | None = None, axis: int | None = None) -> Any:
    """The sum of an array of floats, vectors or matrices; with `axis`, an array whose length along that axis is 1.

    Args:
        values: what is summed.
        out: takes the result, which is a NumPy value otherwise when no axis is given.
        value_count: sums only so many elements, the first in memory's order, or the first along the axis.
        axis: sums along one dimension only.
    """
    check_floats(values, "array_sum")
    axis = checked_axis(values, axis, "array_sum")
    summed = leading(values, value_count, axis)
    forward = follows()
    if forward is not None and out is None and axis is None:
        forward._lost("array_sum", summed)
    there = _on_device(values, out)
    check_out(summed, values.dtype, out, axis)
    result = _sum(summed, out, axis) if there is None else there.total(summed, out, axis)
    if forward is not None and isinstance(result, array):
        _rules().linear(forward, lambda a, b: array_sum(a, out=b, axis=axis), summed, result)
    tape = recording(out)
    if tape is not None:

        def backward() -> None:
            if there is not None:
                return there.total_backward(summed, out, axis)
            taken = take_gradient(out)
            add_to_gradient(summed, np.broadcast_to(taken, summed.shape + taken.shape[out.ndim :]))

        tape._add_work(backward, [values, out], [out], lambda: array_sum(summed, out, axis=axis))
    return result


@through_host("out", by="a sum")
def _sum(values: array, out: array | None, axis: int | None) -> Any:
    return _here().total(values, out, axis)


def array_inner(a: array, b: array, out: array | None = None, count: int | None = None, axis: int | None = None) -> Any:
    """The sum of the products (of vectors: dot products) of two arrays; arguments as for array_sum."""
    check_inner(a, b)
    axis = checked_axis(a, axis, "array_inner")
    x, y = leading(a, count, axis), leading(b, count, axis)
    forward = follows()
    if forward is None:
        return _inner_taped(x, y, out, axis)
    if out is None and axis is None:
        forward._lost("array_inner", x, y)
        return _inner_taped(x, y, out, axis)
    dtype = getattr(types, scalar_name(x))
    shape = check_out(x, dtype, out, axis)
    tangent = _rules().inner(forward, lambda a, b, c: _inner_taped(a, b, c, axis), x, y, out, shape, dtype)
    result = _inner_taped(x, y, out, axis)
    _rules().give(forward, result, tangent)
    return result


def _inner_taped(x: array, y: array, out: array | None, axis: int | None) -> Any:
    there = _on_device(x, y, out)
    tape = recording(out)
    check_out(x, getattr(types, scalar_name(x)), out, axis)
    if there is not None:
        return _inner_there(there, x, y, out, axis, tape)
    if tape is None:
        return _inner(x, y, out, axis)
    x_then, y_then = values_now(x, "array_inner"), values_now(y, "array_inner")
    result = _inner(x, y, out, axis)

    def backward() -> None:
        taken = take_gradient(out)
        taken = taken.reshape(taken.shape + (1,) * (x_then().ndim - taken.ndim))
        parts = y_then() * taken, x_then() * taken
        add_to_gradient(x, parts[0])
        add_to_gradient(y, parts[1])

    tape._add_work(backward, [x, y, out], [out], lambda: _inner_taped(x, y, out, axis))
    return result


def _inner_there(there: Any, x: array, y: array, out: array | None, axis: int | None, tape: Any) -> Any:
    """array_inner of arrays on a CUDA device."""
    dtype = getattr(types, scalar_name(x))
    if tape is None:
        return there.inner(x, y, dtype, out, axis)
    x_then, y_then = there.values_then(x, "array_inner"), there.values_then(y, "array_inner")
    result = there.inner(x, y, dtype, out, axis)
    tape._add_work(
        lambda: there.inner_backward(x, y, x_then, y_then, out, axis),
        [x, y, out],
        [out],
        lambda: _inner_taped(x, y, out, axis),
    )
    return result


@through_host("out", by="a sum")
def _inner(a: array, b: array, out: array | None, axis: int | None) -> Any:
    return _here().inner(a, b, getattr(types, scalar_name(a)), out, axis)


def array_cast(in_array: array, out_array: array, count: int | None = None) -> None:
    """Converts the elements of one array to the type of another, as kernels convert: floats to integers saturate. With
    `count`, so many leading elements of the first, of arrays of one dimension. Vectors and matrices count as their
    numbers, so they may be converted to numbers and back."""
    source, target = cast_parts(in_array, out_array, count)
    together = max(source._place, target._place) < 0 or _on_device(source, target) is not None
    with aside():
        (_here().cast if together else _cast)(source, target)
    if forward := follows():
        _rules().linear(forward, array_cast, source, target)
    if recording(out_array) is not None:
        with aside():
            record_assignment(target, source, True)


@through_host("out_array", by="array_cast")
def _cast(in_array: array, out_array: array) -> None:
    _here().cast(in_array, out_array)


def _record_order(keys: array, values: array, order: Any, again: Callable[[], None], there: Any = None) -> None:
    """Tells the tape, and forward mode, that the first elements were put into another order: NumPy's, or an array on their
    device. `again` sorts once more."""
    if forward := follows():
        _rules().reorder(forward, order, keys, values)
    sorts = [again]  # both are sorted by one call, which tells of both
    for one in (keys, values):
        tape = recording(one)
        if tape is None:
            continue
        part = one[: len(order)]
        once = sorts.pop() if sorts else _nothing
        if there is not None:
            tape._add_work(functools.partial(there.order_backward, part, order), [one], [one], once)
            continue

        def backward(part: array = part) -> None:
            taken = take_gradient(part)
            before = np.empty_like(taken)
            before[order] = taken
            add_to_gradient(part, before)

        tape._add_work(backward, [one], [one], once)


def _nothing() -> None:
    pass


def radix_sort_pairs(keys: array, values: array, count: int, begin_bit: int = 0, end_bit: int | None = None) -> None:
    """Sorts the first `count` keys in place, ascending and stable, and their values with them.

    Args:
        keys: int32, uint32, int64, uint64, float32 or float64, with room for 2*count elements (the second half is
            scratch). Arrays of several dimensions count as their flat memory.
        values: as long.
        count: how many are sorted.
        begin_bit, end_bit: only these bits of the keys decide.
    """
    keys, values = flat(keys, "keys"), flat(values, "values")
    check_pairs(
        keys, values, count, ("int32", "uint32", "int64", "uint64", "float32", "float64"), "radix_sort_pairs"
    )
    end = check_bits(keys, begin_bit, end_bit)
    there = _on_device(keys, values)
    wanted = _order_wanted(keys, values)
    sort = _sort if there is None else there.sort
    order = sort(keys, values, count, begin_bit, end, wanted)
    if wanted:
        _record_order(keys, values, order, lambda: radix_sort_pairs(keys, values, count, begin_bit, end), there)


@through_host("keys", "values", by="radix_sort_pairs")
def _sort(keys: array, values: array, count: int, begin_bit: int, end: int, wanted: bool) -> np.ndarray | None:
    return _sort_on_host(keys, values, count, (begin_bit, end), (None, None), "radix_sort_pairs", wanted)


def _order_wanted(keys: array, values: array) -> bool:
    """Whether somebody wants to know where pairs came from."""
    wanted = recording(keys, values) is not None or follows() is not None
    if wanted:
        _weft.host_refuse("record a sort for gradients")
    return wanted


def _sort_on_host(
    keys: array,
    values: array,
    count: int,
    bits: tuple[int, int],
    segments: tuple[array | None, array | None],
    by: str,
    wanted: bool,
) -> np.ndarray | None:
    """Sorts pairs on the CPU; gives where each came from if that is wanted."""
    for one in (keys, values):
        _weft.announce_write(one, by)
    order = empty(count, dtype=types.int32, device="cpu") if wanted else None
    if count:
        _weft.sort_array(keys, values, count, *bits, *segments, order)
    return None if order is None else order.numpy()


def segmented_sort_pairs(
    keys: array,
    values: array,
    count: int,
    segment_start_indices: array,
    segment_end_indices: array | None = None,
) -> None:
    """Sorts pairs within each segment, ascending and stable.

    Args:
        keys, values, count: as for radix_sort_pairs; keys are int32 or float32.
        segment_start_indices: where segments begin; without end indices, one more for the end of the last.
        segment_end_indices: where they end.

    Segments don't overlap. On the CPU one that reaches beyond the elements is an error; on a CUDA device it is cut.
    """
    keys, values = flat(keys, "keys"), flat(values, "values")
    check_pairs(keys, values, count, ("int32", "float32"), "segmented_sort_pairs")
    check_segments(segment_start_indices, segment_end_indices)
    there = _on_device(keys, values, segment_start_indices, segment_end_indices)

    def again() -> None:
        segmented_sort_pairs(keys, values, count, segment_start_indices, segment_end_indices)

    wanted = _order_wanted(keys, values)
    sort = _sort_segments if there is None else there.sort_segments
    order = sort(keys, values, count, segment_start_indices, segment_end_indices, wanted)
    if wanted:
        _record_order(keys, values, order, again, there)


@through_host("keys", "values", by="segmented_sort_pairs")
def _sort_segments(
    keys: array, values: array, count: int, first: array, last: array | None, wanted: bool
) -> np.ndarray | None:
    starts = first.numpy().reshape(-1)
    if last is None:
        starts, ends = starts[:-1], starts[1:]
    else:
        ends = last.numpy().reshape(-1)
    outside = np.flatnonzero((starts < 0) | (starts > ends) | (ends > count))
    if outside.size:
        start, end = starts[outside[0]], ends[outside[0]]
        raise AlgorithmValueError(
            f"Invalid segment range at index {outside[0]}: {start} to {end} does not lie within 0 to {count}"
        )
    first, last = (array(np.ascontiguousarray(e, np.int32), dtype=types.int32, device="cpu") for e in (starts, ends))
    return _sort_on_host(keys, values, count, (0, 32), (first, last), "segmented_sort_pairs", wanted)


def runlength_encode(
    values: array,
    run_values: array,
    run_lengths: array,
    run_count: array | None = None,
    value_count: int | None = None,
) -> Any:
    """Writes the runs of equal values: each run's value and length. Returns how many there are, or `run_count`.

    Args:
        values: int32.
        run_values, run_lengths: int32, with room for as many runs as there can be.
        run_count: an int32 array of one element that takes the number of runs.
        value_count: encodes only so many leading values.
    """
    values, run_values = flat(values, "values"), flat(run_values, "run_values")
    run_lengths = flat(run_lengths, "run_lengths")
    count = values.size if value_count is None else value_count
    check_runs(values, run_values, run_lengths, run_count, count)
    there = _on_device(values, run_values, run_lengths, run_count)
    if there is not None:
        return there.run_lengths(values, run_values, run_lengths, run_count, count)
    return _encode(values, run_values, run_lengths, run_count, count)


@through_host("run_values", "run_lengths", "run_count", by="runlength_encode")
def _encode(values: array, run_values: array, run_lengths: array, run_count: array | None, count: int) -> Any:
    for one in (run_values, run_lengths):
        _weft.announce_write(one, "runlength_encode")
    runs = _weft.encode_runs(values, run_values, run_lengths, None, count) if count else 0
    if run_count is None:
        return runs
    _target(run_count, "runlength_encode")[0] = runs
    return run_count


__all__ = [
    "array_cast",
    "array_inner",
    "array_scan",
    "array_sum",
    "radix_sort_pairs",
    "runlength_encode",
    "segmented_sort_pairs",
]
