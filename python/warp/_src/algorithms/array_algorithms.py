"""Algorithms on whole arrays: sums, inner products, prefix sums, sorting by key, run lengths, conversion.

This module checks arguments and tells tapes, which record those of floats. The work is done where the arrays lie, by the
algorithms of src/algorithms (device_algorithms.py); arrays of several devices go by way of the host. Results are the same
for every number of threads.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from warp import _weft
from warp._src.algorithms.cpu_fallback import through_host
from warp._src.arrays import array_interface as _interface
from warp._src.arrays.array import array
from warp._src.arrays.array_factories import empty
from warp._src.arrays.listeners import aside, follows, recording
from warp._src.gradients.tape_record import add_to_gradient, record_assignment, take_gradient, values_now
from warp._src.values import types

_SCANNED = ("int32", "int64", "uint32", "uint64", "float32", "float64", "float16")


def _scalar_name(a: array) -> str:
    return types.type_handle(a.dtype).scalar


def _check_array(a: Any, what: str, ndim: int | None = None) -> None:
    if not types.is_array(a):
        raise TypeError(f"{what} must be a wp.array, got {type(a).__name__}")
    if ndim is not None and a.ndim != ndim:
        raise RuntimeError(f"{what} must have {ndim} dimension, it has {a.ndim}")


def _target(a: array, by: str) -> np.ndarray:
    """An array's memory, to be written to; that of bfloat16 as bits, whatever NumPy knows of them."""
    _weft.announce_write(a, by)
    memory = a.numpy()
    return memory.view(np.uint16) if _scalar_name(a) == "bfloat16" else memory


def _flat(a: Any, what: str) -> array:
    """An array of one dimension; contiguous ones count as their flat memory."""
    _check_array(a, what)
    if a.ndim != 1 and a.is_contiguous:
        a = a.flatten()
    _check_array(a, what, 1)
    return a


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
    in_array, out_array = _flat(in_array, "in_array"), _flat(out_array, "out_array")
    _check_scan(in_array, out_array)
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

    tape.record_func(backward, [in_array, out_array])


def _check_scan(in_array: array, out_array: array) -> None:
    if in_array.size != out_array.size:
        raise RuntimeError(f"In and out array storage sizes do not match ({in_array.size} vs {out_array.size})")
    if not types.types_equal(in_array.dtype, out_array.dtype):
        raise RuntimeError(
            f"In and out array data types do not match ({types.type_repr(in_array.dtype)} vs "
            f"{types.type_repr(out_array.dtype)})"
        )
    if _scalar_name(in_array) not in _SCANNED:
        raise RuntimeError(f"array_scan does not take arrays of {types.type_repr(in_array.dtype)}")


@through_host("out_array", by="array_scan")
def _scan(in_array: array, out_array: array, inclusive: bool) -> None:
    _here().scan(in_array, out_array, inclusive)


def _check_floats(a: array, function: str) -> None:
    _check_array(a, "values")
    if types.type_handle(a.dtype).kind == "struct" or "float" not in _scalar_name(a):
        raise RuntimeError(
            f"{function} takes arrays of floats or of vectors and matrices of floats, not of {types.type_repr(a.dtype)}"
        )


def _check_out(like: array, dtype: Any, out: array | None, axis: int | None) -> tuple[int, ...]:
    """The shape of a sum over an axis, or over all dimensions; `out` must have it."""
    shape = (1,) if axis is None else tuple(1 if d == axis else n for d, n in enumerate(like.shape))
    if out is not None and (out.shape != shape or not types.types_equal(out.dtype, dtype)):
        raise RuntimeError(
            f"out array should have type {types.type_repr(dtype)} and shape {shape}, it has "
            f"{types.type_repr(out.dtype)} and {out.shape}"
        )
    return shape


def _leading(a: array, count: int | None, axis: int | None) -> array:
    if count is None or axis is not None:
        return a
    if not 0 <= count <= a.shape[0]:
        raise RuntimeError(f"Cannot reduce {count} elements: the array has {a.shape[0]}")
    return a[:count]


def array_sum(values: array, out: array | None = None, value_count: int | None = None, axis: int | None = None) -> Any:
    """The sum of an array of floats, vectors or matrices; with `axis`, an array whose length along that axis is 1.

    Args:
        values: what is summed.
        out: takes the result, which is a NumPy value otherwise when no axis is given.
        value_count: sums only so many leading elements.
        axis: sums along one dimension only.
    """
    _check_floats(values, "array_sum")
    summed = _leading(values, value_count, axis)
    axis = None if axis is None else range(values.ndim)[axis]
    forward = follows()
    if forward is not None and out is None and axis is None:
        forward._lost("array_sum", summed)
    there = _on_device(values, out)
    _check_out(summed, values.dtype, out, axis)
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

        tape.record_func(backward, [values, out])
    return result


@through_host("out", by="a sum")
def _sum(values: array, out: array | None, axis: int | None) -> Any:
    return _here().total(values, out, axis)


def array_inner(a: array, b: array, out: array | None = None, count: int | None = None, axis: int | None = None) -> Any:
    """The sum of the products (of vectors: dot products) of two arrays; arguments as for array_sum."""
    _check_inner(a, b)
    x, y = _leading(a, count, axis), _leading(b, count, axis)
    axis = None if axis is None else range(a.ndim)[axis]
    forward = follows()
    if forward is None:
        return _inner_taped(x, y, out, axis)
    if out is None and axis is None:
        forward._lost("array_inner", x, y)
        return _inner_taped(x, y, out, axis)
    dtype = getattr(types, _scalar_name(x))
    shape = _check_out(x, dtype, out, axis)
    tangent = _rules().inner(forward, lambda a, b, c: _inner_taped(a, b, c, axis), x, y, out, shape, dtype)
    result = _inner_taped(x, y, out, axis)
    _rules().give(forward, result, tangent)
    return result


def _inner_taped(x: array, y: array, out: array | None, axis: int | None) -> Any:
    there = _on_device(x, y, out)
    tape = recording(out)
    _check_out(x, getattr(types, _scalar_name(x)), out, axis)
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

    tape.record_func(backward, [x, y, out])
    return result


def _inner_there(there: Any, x: array, y: array, out: array | None, axis: int | None, tape: Any) -> Any:
    """array_inner of arrays on a CUDA device."""
    dtype = getattr(types, _scalar_name(x))
    if tape is None:
        return there.inner(x, y, dtype, out, axis)
    x_then, y_then = there.values_then(x, "array_inner"), there.values_then(y, "array_inner")
    result = there.inner(x, y, dtype, out, axis)
    tape.record_func(lambda: there.inner_backward(x, y, x_then, y_then, out, axis), [x, y, out])
    return result


def _check_inner(a: array, b: array) -> None:
    _check_floats(a, "array_inner")
    _check_floats(b, "array_inner")
    if a.shape != b.shape or not types.types_equal(a.dtype, b.dtype):
        raise RuntimeError(
            f"array_inner takes two arrays of one shape and type, got {a.shape} of {types.type_repr(a.dtype)} and "
            f"{b.shape} of {types.type_repr(b.dtype)}"
        )


@through_host("out", by="a sum")
def _inner(a: array, b: array, out: array | None, axis: int | None) -> Any:
    return _here().inner(a, b, getattr(types, _scalar_name(a)), out, axis)


def _as_numbers(numbers: np.ndarray, out: array) -> np.ndarray:
    """Numbers converted for an array as kernels convert them: floats to integers saturate, not-a-number gives 0."""
    if _scalar_name(out) == "bfloat16":
        return _interface.bfloat16_bits(numbers.astype(np.float32) if numbers.dtype == np.uint16 else numbers)
    dtype = out.numpy().dtype
    if numbers.dtype.kind == "f" and dtype.kind in "iu":
        info = np.iinfo(dtype)
        wide = np.nan_to_num(numbers.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
        whole = np.trunc(wide)
        result = np.where(whole >= float(info.max), info.max, 0).astype(dtype)
        inside = (whole > float(info.min)) & (whole < float(info.max))
        result[whole <= float(info.min)] = info.min
        result[inside] = whole[inside].astype(dtype)
        return result
    return numbers.astype(dtype)


def array_cast(in_array: array, out_array: array, count: int | None = None) -> None:
    """Converts the elements of one array to the type of another, `count` of them or all; both hold as many scalars."""
    there = _on_device(in_array, out_array) if types.is_array(in_array) and types.is_array(out_array) else None
    if there is None or any(types.type_handle(a.dtype).kind == "struct" for a in (in_array, out_array)):
        _cast(in_array, out_array, count)
    else:
        there.cast(*_cast_parts(in_array, out_array, count))
    source, target = (in_array, out_array) if count is None else (in_array[:count], out_array[:count])
    if forward := follows():
        _rules().linear(forward, array_cast, source, target)
    if recording(out_array) is not None:
        with aside():
            record_assignment(target, source)


def _cast_parts(in_array: array, out_array: array, count: int | None) -> tuple[array, array]:
    """What array_cast takes of arrays on a device, which hold as many scalars."""
    if count is not None:
        if not 0 <= count <= min(in_array.shape[0], out_array.shape[0]):
            lengths = f"{in_array.shape[0]} and {out_array.shape[0]}"
            raise RuntimeError(f"count is {count}, the arrays have {lengths} elements")
        in_array, out_array = in_array[:count], out_array[:count]
    scalars = [a.size * types.type_handle(a.dtype).components for a in (in_array, out_array)]
    if scalars[0] != scalars[1]:
        raise RuntimeError(f"in_array has {scalars[0]} scalars, out_array {scalars[1]}: they must be as many")
    return in_array, out_array


@through_host("out_array", by="array_cast")
def _cast(in_array: array, out_array: array, count: int | None) -> None:
    _check_array(in_array, "in_array")
    _check_array(out_array, "out_array")
    source, target = _interface.host_numbers(in_array), _target(out_array, "array_cast")
    if count is None:
        if source.size != target.size:
            raise RuntimeError(f"in_array has {source.size} scalars, out_array {target.size}: they must be as many")
        target[...] = _as_numbers(source.reshape(target.shape), out_array)
        return
    if not 0 <= count <= min(in_array.shape[0], out_array.shape[0]):
        raise RuntimeError(f"count is {count}, the arrays have {in_array.shape[0]} and {out_array.shape[0]} elements")
    part = source[:count]
    if part.size != target[:count].size:
        raise RuntimeError("elements of in_array and out_array must have as many scalars")
    target[:count] = _as_numbers(part.reshape(target[:count].shape), out_array)


def _check_pairs(keys: array, values: array, count: int, kinds: tuple[str, ...]) -> None:
    if _scalar_name(keys) not in kinds or types.type_handle(keys.dtype).kind != "scalar":
        raise RuntimeError(f"keys must be one of {', '.join(kinds)}, not {types.type_repr(keys.dtype)}")
    if count < 0:
        raise RuntimeError(f"count must not be negative, got {count}")
    for name, a in (("Keys", keys), ("Values", values)):
        if a.shape[0] < 2 * count:
            raise RuntimeError(
                f"{name} array storage must be large enough to contain 2*count elements: it has "
                f"{a.shape[0]}, 2*count is {2 * count}"
            )


def _record_order(keys: array, values: array, order: Any, there: Any = None) -> None:
    """Tells the tape, and forward mode, that the first elements were put into another order: NumPy's, or an array on their
    device."""
    if forward := follows():
        _rules().reorder(forward, order, keys, values)
    for one in (keys, values):
        tape = recording(one)
        if tape is None:
            continue
        part = one[: len(order)]
        if there is not None:
            tape.record_func(functools.partial(there.order_backward, part, order), [one])
            continue

        def backward(part: array = part) -> None:
            taken = take_gradient(part)
            before = np.empty_like(taken)
            before[order] = taken
            add_to_gradient(part, before)

        tape.record_func(backward, [one])


def radix_sort_pairs(keys: array, values: array, count: int, begin_bit: int = 0, end_bit: int | None = None) -> None:
    """Sorts the first `count` keys in place, ascending and stable, and their values with them.

    Args:
        keys: int32, uint32, int64, uint64, float32 or float64, with room for 2*count elements (the second half is
            scratch). Arrays of several dimensions count as their flat memory.
        values: as long.
        count: how many are sorted.
        begin_bit, end_bit: only these bits of the keys decide.
    """
    keys, values = _flat(keys, "keys"), _flat(values, "values")
    _check_pairs(keys, values, count, ("int32", "uint32", "int64", "uint64", "float32", "float64"))
    width = types.type_size_in_bytes(keys.dtype) * 8
    end = width if end_bit is None else end_bit
    if not 0 <= begin_bit <= end <= width:
        raise RuntimeError(f"bits must lie in 0 to {width}, got {begin_bit} to {end}")
    there = _on_device(keys, values)
    wanted = _order_wanted(keys, values)
    sort = _sort if there is None else there.sort
    order = sort(keys, values, count, begin_bit, end, wanted)
    if wanted:
        _record_order(keys, values, order, there)


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
    keys, values = _flat(keys, "keys"), _flat(values, "values")
    _check_pairs(keys, values, count, ("int32", "float32"))
    there = _on_device(keys, values, segment_start_indices, segment_end_indices)
    if there is not None:
        segments = segment_start_indices.size - (segment_end_indices is None)
        if segment_end_indices is not None and segment_end_indices.size != segments:
            raise RuntimeError(f"there are {segments} starts of segments and {segment_end_indices.size} ends")
    wanted = _order_wanted(keys, values)
    sort = _sort_segments if there is None else there.sort_segments
    order = sort(keys, values, count, segment_start_indices, segment_end_indices, wanted)
    if wanted:
        _record_order(keys, values, order, there)


@through_host("keys", "values", by="segmented_sort_pairs")
def _sort_segments(
    keys: array, values: array, count: int, first: array, last: array | None, wanted: bool
) -> np.ndarray | None:
    starts = first.numpy().reshape(-1)
    if last is None:
        starts, ends = starts[:-1], starts[1:]
    else:
        ends = last.numpy().reshape(-1)
    if len(starts) != len(ends):
        raise RuntimeError(f"there are {len(starts)} starts of segments and {len(ends)} ends")
    outside = np.flatnonzero((starts < 0) | (starts > ends) | (ends > count))
    if outside.size:
        start, end = starts[outside[0]], ends[outside[0]]
        raise RuntimeError(f"the segment {start} to {end} does not lie within 0 to {count}")
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
    for name, a in (("values", values), ("run_values", run_values), ("run_lengths", run_lengths)):
        _check_array(a, name, 1)
        if not types.types_equal(a.dtype, types.int32):
            raise RuntimeError(f"{name} must be an array of int32, not of {types.type_repr(a.dtype)}")
    count = values.size if value_count is None else value_count
    if not 0 <= count <= values.size:
        raise RuntimeError(f"Accessing {count} values of an array of {values.size}")
    if run_values.size < count or run_lengths.size < count:
        raise RuntimeError(f"Output array storage sizes must be at least equal to value_count, which is {count}")
    if run_count is not None and (run_count.size < 1 or not types.types_equal(run_count.dtype, types.int32)):
        raise RuntimeError("run_count must be an array of at least one int32")
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
