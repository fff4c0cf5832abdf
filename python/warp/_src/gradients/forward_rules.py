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
from warp._src.kernels.definitions import kernel_from_text
from warp._src.kernels.launching import launch

_kernels: dict[tuple[str, int], Any] = {}

_TEXTS = {
    "sum": ("a: {0}, b: {0}, dest: {0}", "dest[{1}] = a[{1}] + b[{1}]"),
    "scaled": ("a: {0}, factor: wp.float64, dest: {0}", "dest[{1}] = a[{1}] * a.dtype(factor)"),
    "gather": ("a: {0}, order: wp.array(dtype=wp.int32), dest: {0}", "dest[{1}] = a[order[{1}]]"),
}


def _run(kind: str, dest: array, *inputs: Any) -> None:
    kernel = _kernels.get((kind, dest.ndim))
    if kernel is None:
        index = ", ".join("ijkl"[: dest.ndim])
        params, body = (text.format(f"wp.array(dtype=Any, ndim={dest.ndim})", index) for text in _TEXTS[kind])
        text = f"def forward_{kind}({params}):\n    {index} = wp.tid()\n    {body}\n"
        kernel = _kernels[kind, dest.ndim] = kernel_from_text(text, f"forward_{kind}")
    if dest.size:
        launch(kernel, dim=dest.shape, inputs=list(inputs), outputs=[dest], device=dest.device)


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
            _run("gather", tangent, clone(tangent, requires_grad=tangent.requires_grad), order)


def _room(like: array, shape: Sequence[int], dtype: Any, out: array | None) -> array:
    return zeros(tuple(shape), dtype=dtype, device=like.device, requires_grad=out is not None and out.requires_grad)


def _total(terms: list[array], out: array | None) -> array | None:
    if len(terms) < 2:
        return terms[0] if terms else None
    made = _room(terms[0], terms[0].shape, terms[0].dtype, out)
    _run("sum", made, *terms)
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
            _run("scaled", terms[-1], forward._view(c), beta)
        pairs = [(forward._view(a), b)] if forward._moves(a) else []
        if forward._moves(b):
            pairs.append((a, forward._view(b)))
        for x, y in pairs:
            made = _room(d, d.shape, d.dtype, d)
            function(x, y, terms[-1] if terms else None, made, alpha, 1.0 if terms else 0.0)
            terms.append(made)
        return terms[-1] if terms else None
