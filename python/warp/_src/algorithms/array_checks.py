"""What the algorithms on whole arrays refuse, and in which words.

Programs look for words in these messages. Those of Warp 1.19 stand first, with the values in question; where the words of
1.7 were others, and programs may want them at the end, they stand there.
"""

from __future__ import annotations

import operator
from typing import Any

from warp._src.arrays.array import array
from warp._src.values import types

SCANNED = ("int32", "int64", "uint32", "uint64", "float32", "float64", "float16")


_MOST = (1 << 31) - 1  # the places of sorted elements are int32


class AlgorithmValueError(ValueError, RuntimeError):
    """A number or shape that an algorithm can't work with. Programs catch it as the one or the other."""


def scalar_name(a: array) -> str:
    """The type of an array's numbers; "" for structs."""
    handle = types.type_handle(a.dtype)
    return "" if handle.kind == "struct" else handle.scalar


def check_array(a: Any, what: str, ndim: int | None = None) -> None:
    """Raises if this is no array, or one of other dimensions."""
    if not isinstance(a, array):
        raise TypeError(f"{what} must be a wp.array, got {type(a).__name__}")
    if ndim is not None and a.ndim != ndim:
        raise RuntimeError(f"{what} must have {ndim} dimension, it has {a.ndim}")


def flat(a: Any, what: str) -> array:
    """An array of one dimension; contiguous ones count as their flat memory."""
    check_array(a, what)
    if a.ndim != 1 and a.is_contiguous:
        a = a.flatten()
    check_array(a, what, 1)
    return a


def _pair(a: array, b: array) -> str:
    return f"({types.type_repr(a.dtype)} vs {types.type_repr(b.dtype)})"


def _unsupported(a: array, taken: str) -> RuntimeError:
    return RuntimeError(f"Unsupported data type: {types.type_repr(a.dtype)} ({taken}): Unsupported data type")


def check_scan(in_array: array, out_array: array) -> None:
    """Raises for arrays of two sizes or types, or of a type that is not scanned."""
    if in_array.size != out_array.size:
        raise RuntimeError(
            f"In and out array storage sizes do not match ({in_array.size} vs {out_array.size}): "
            "Array storage sizes do not match"
        )
    if not types.types_equal(in_array.dtype, out_array.dtype):
        raise RuntimeError(
            f"In and out array data types do not match {_pair(in_array, out_array)}: Array data types do not match"
        )
    if scalar_name(in_array) not in SCANNED:
        raise _unsupported(in_array, "array_scan takes numbers of 32 and 64 bits and float16")


def check_floats(a: array, function: str) -> None:
    """Raises for arrays that hold other things than floats."""
    check_array(a, "values")
    if "float" not in scalar_name(a):
        raise _unsupported(a, f"{function} takes floats, and vectors and matrices of floats")


def check_inner(a: array, b: array) -> None:
    """Raises for factors of two shapes or types, or of no floats."""
    check_floats(a, "array_inner")
    check_array(b, "b")
    if a.shape != b.shape:
        raise AlgorithmValueError(
            f"array_inner() arguments must have the same shape, got {a.shape} and {b.shape}: "
            "Array storage sizes do not match"
        )
    if not types.types_equal(a.dtype, b.dtype):
        raise RuntimeError(f"A and b array data types do not match {_pair(a, b)}: Array data types do not match")


def check_out(like: array, dtype: Any, out: array | None, axis: int | None) -> tuple[int, ...]:
    """The shape of a sum over an axis, or over all dimensions; `out` must have it."""
    shape = (1,) if axis is None else tuple(1 if d == axis else n for d, n in enumerate(like.shape))
    if out is not None:
        if not types.types_equal(out.dtype, dtype):
            raise RuntimeError(f"out array should have type {types.type_repr(dtype)}")
        if out.shape != shape:
            raise RuntimeError(f"out array should have shape {shape}")
    return shape


def checked_axis(a: array, axis: int | None, function: str) -> int | None:
    """An axis, counted from the first dimension."""
    if axis is None or 0 <= axis < a.ndim:
        return axis
    if not -a.ndim <= axis < 0:
        raise IndexError(f"{function}() axis {axis} is out of bounds for an array with {a.ndim} dimensions")
    return axis + a.ndim


def leading(a: array, count: int | None, axis: int | None) -> array:
    """The first elements of an array: along an axis, or in the order of all."""
    if count is None:
        return a
    most = a.size if axis is None else a.shape[axis]
    if not 0 <= count <= most:
        raise RuntimeError(f"Cannot reduce {count} elements: the array has {most}")
    if axis is None:
        return a.contiguous().flatten()[:count]
    return a[(slice(None),) * axis + (slice(0, count),)]


def check_pairs(keys: array, values: array, count: Any, kinds: tuple[str, ...], function: str) -> None:
    """Raises for keys that are not sorted, and for arrays without room for twice as many elements."""
    if isinstance(count, bool) or not hasattr(count, "__index__"):
        raise TypeError(f"count must be an integer, not {type(count).__name__}")
    count = operator.index(count)
    if count < 0:
        raise AlgorithmValueError(f"count must be non-negative, got {count}")
    if count > _MOST:
        raise AlgorithmValueError(f"count must not exceed {_MOST}, got {count}")
    if scalar_name(keys) not in kinds or types.type_handle(keys.dtype).kind != "scalar":
        raise _unsupported(keys, f"keys of {function} are one of {', '.join(kinds)}")
    if keys.size < 2 * count or values.size < 2 * count:
        room = f"keys have room for {keys.size}, values for {values.size}, 2*count is {2 * count}"
        start = f"{room}: "
        if function == "radix_sort_pairs":
            words = "Keys and values array storage must be large enough to contain 2*count elements"
            start = f"{words} ({room}): "
        raise RuntimeError(f"{start}Array storage must be large enough to contain 2*count elements")


def check_bits(keys: array, begin_bit: int, end_bit: int | None) -> int:
    """The end of the bits that decide an order."""
    width = types.type_size_in_bytes(keys.dtype) * 8
    end = width if end_bit is None else end_bit
    if not 0 <= begin_bit <= end <= width:
        raise RuntimeError(f"Invalid radix sort bit range [{begin_bit}, {end}) for {width}-bit keys")
    return end


def check_segments(starts: Any, ends: Any) -> None:
    """Raises for indices of segments that are no integers, or as many starts as ends."""
    for name, one in (("segment_start_indices", starts), ("segment_end_indices", ends)):
        if one is not None:
            check_array(one, name)
            if not types.types_equal(one.dtype, types.int32):
                raise RuntimeError(f"{name} array must be of type int32")
    if ends is not None and starts.size != ends.size:
        raise RuntimeError(
            f"segment_start_indices and segment_end_indices must have the same size ({starts.size} vs {ends.size})"
        )


def check_runs(values: array, run_values: array, run_lengths: array, run_count: array | None, count: int) -> None:
    """Raises for arrays that can't take the runs."""
    if not types.types_equal(values.dtype, run_values.dtype):
        words = "values and run_values data types do not match"
        raise RuntimeError(f"{words} {_pair(values, run_values)}: {words}")
    if not types.types_equal(values.dtype, types.int32):
        raise _unsupported(values, "runlength_encode takes int32")
    for name, one in (("run_lengths", run_lengths), ("run_count", run_count)):
        if one is not None and not types.types_equal(one.dtype, types.int32):
            raise RuntimeError(f"{name} array must be of type int32")
    if count < 0:
        raise AlgorithmValueError(f"value_count must be non-negative, got {count}")
    if run_values.size < count or run_lengths.size < count:
        words = "Output array storage sizes must be at least equal to value_count"
        raise RuntimeError(f"{words} ({count}): {words}")
    if count > values.size:
        raise AlgorithmValueError(f"value_count is {count}, the array has {values.size} values")
    if run_count is not None and run_count.size < 1:
        raise RuntimeError("run_count must have room for one number")


def cast_parts(in_array: Any, out_array: Any, count: int | None) -> tuple[array, array]:
    """The parts of two arrays that array_cast converts, which hold as many numbers: all, or of arrays of one dimension the
    first `count` elements of the input."""
    sizes = []
    for name, one in (("in_array", in_array), ("out_array", out_array)):
        check_array(one, name)
        if types.type_handle(one.dtype).kind == "struct":
            raise _unsupported(one, "array_cast takes numbers, vectors and matrices")
        sizes.append(types.type_handle(one.dtype).components)
    ratio = sizes[0], sizes[1]
    numbers = in_array.size * ratio[0], out_array.size * ratio[1]
    if count is None:
        if in_array.ndim == out_array.ndim > 1 and ratio[0] == ratio[1] and in_array.shape != out_array.shape:
            raise RuntimeError(f"Array shapes do not match ({in_array.shape} vs {out_array.shape})")
        if numbers[0] == numbers[1]:
            return in_array, out_array
        count = in_array.size
    elif in_array.ndim > 1 or out_array.ndim > 1:
        raise RuntimeError("Partial cast is not supported for arrays with more than one dimension")
    amount = count * ratio[0]
    if not 0 <= count <= in_array.size or amount > numbers[1] or out_array.ndim > 1:
        raise RuntimeError(
            f"Cast count ({count}) exceeds the input size ({in_array.size}) or output size ({out_array.size})"
        )
    source = in_array if in_array.ndim > 1 else in_array[:count]
    if amount % ratio[1] == 0:
        return source, out_array[: amount // ratio[1]]
    # The last element is written in part.
    if not out_array.is_contiguous:
        raise RuntimeError("an element of an array that is not contiguous can't be converted in part")
    scalar = types.type_handle(getattr(types, scalar_name(out_array)))
    return source, out_array._reinterpret(scalar, (numbers[1],), (scalar.size,))[:amount]
