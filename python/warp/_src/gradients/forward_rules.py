"""Tangents of what runs between kernels: sums and products of arrays, prefix sums, sorting, conversion, indexed copies.

What is linear does to the tangents what it does to the arrays, by the same functions; so a tape that records it knows the
way back. Products are taken before the result is there, which may overwrite a factor.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

from warp._src.arrays.array import array
from warp._src.arrays.array_factories import clone, copy_values, zeros
from warp._src.arrays.listeners import aside
from warp._src.kernels.own_kernels import OwnKernel

_SUM = OwnKernel("forward_sum", "a: {array}, b: {array}, dest: {array}", "dest[{at}] = a[{at}] + b[{at}]")
_SCALED = OwnKernel(
    "forward_scaled", "a: {array}, factor: wp.float64, dest: {array}", "dest[{at}] = a[{at}] * a.dtype(factor)"
)
_GATHER = OwnKernel(
    "forward_gather", "a: {array}, order: wp.array(dtype=wp.int32), dest: {array}", "dest[{at}] = a[order[{at}]]"
)


def linear(forward: Any, function: Callable[[array, array], Any], source: Any, dest: Any) -> None:
    """The tangent of what a linear function wrote to `dest`."""
    with aside():
        if forward._moves(source) and forward._may_move(dest):
            function(forward._view(source), forward._view(dest))
        elif forward._moves(dest):
            forward._view(dest).zero_()


def give(forward: Any, dest: Any, tangent: array | None) -> None:
    """Gives a result its tangent; None: it does not move."""
    with aside():
        if tangent is not None:
            copy_values(forward._view(dest), tangent)
        elif forward._moves(dest):
            forward._view(dest).zero_()


def reorder(forward: Any, order: Any, *arrays: array) -> None:
    """Puts the tangents of the first elements into an order: NumPy's, or an array on their device."""
    for one in arrays:
        if not forward._moves(one) or len(order) == 0:
            continue
        with aside():
            tangent = forward._view(one[: len(order)])
            if isinstance(order, np.ndarray):
                order = array(order, dtype=np.int32, device=one.device)
            source = clone(tangent, requires_grad=tangent.requires_grad)
            _GATHER.follow(tangent.shape, source, order, tangent)


def _room(like: array, shape: Sequence[int], dtype: Any, out: array | None) -> array:
    return zeros(tuple(shape), dtype=dtype, device=like.device, requires_grad=out is not None and out.requires_grad)


def _total(terms: list[array], out: array | None) -> array | None:
    if len(terms) < 2:
        return terms[0] if terms else None
    made = _room(terms[0], terms[0].shape, terms[0].dtype, out)
    _SUM.follow(made.shape, *terms, made)
    return made


def inner(
    forward: Any,
    function: Callable[[array, array, array], Any],
    x: array,
    y: array,
    out: array | None,
    shape: tuple[int, ...],
    dtype: Any,
) -> array | None:
    """The tangent of an inner product that `function` writes to its last argument."""
    terms = []
    with aside():
        pairs = [(forward._view(x), y)] if forward._moves(x) else []
        if forward._moves(y):
            pairs.append((x, forward._view(y)))
        for a, b in pairs:
            terms.append(_room(x, shape, dtype, out))
            function(a, b, terms[-1])
        return _total(terms, out)


def matmul(
    forward: Any, function: Callable[..., Any], a: array, b: array, c: array | None, d: array, alpha: float, beta: float
) -> array | None:
    """The tangent of alpha · a · b + beta · c, which `function` computes."""
    with aside():
        terms = []
        if c is not None and beta != 0.0 and forward._moves(c):
            terms.append(_room(d, d.shape, d.dtype, d))
            _SCALED.follow(d.shape, forward._view(c), beta, terms[-1])
        pairs = [(forward._view(a), b)] if forward._moves(a) else []
        if forward._moves(b):
            pairs.append((a, forward._view(b)))
        for x, y in pairs:
            made = _room(d, d.shape, d.dtype, d)
            function(x, y, terms[-1] if terms else None, made, alpha, 1.0 if terms else 0.0)
            terms.append(made)
        return terms[-1] if terms else None
