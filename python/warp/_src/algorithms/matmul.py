"""Products of whole matrices: `wp.matmul`, `wp.batched_matmul` and `A @ B`; tapes record them. On the CPU by NumPy's
BLAS, on CUDA devices by device_matmul.py."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from warp import _weft
from warp._src.algorithms.cpu_fallback import through_host
from warp._src.arrays import array_interface as _interface
from warp._src.arrays.array import array
from warp._src.arrays.array_arguments import check_device
from warp._src.arrays.listeners import follows, paused, recording
from warp._src.gradients.tape_record import add_numbers, add_to_gradient, take_gradient, values_now

__all__ = ["adj_batched_matmul", "adj_matmul", "batched_matmul", "matmul"]

_FLOATS = ("float16", "bfloat16", "float32", "float64")


def _check(ndim: int, named: dict[str, Any]) -> None:
    first = named["a"]
    for name, one in named.items():
        if not isinstance(one, array) or not one._valid:
            raise RuntimeError(
                f"the argument '{name}' of a matrix product must be a wp.array, not {type(one).__name__}"
            )
        if one.ndim != ndim:
            raise RuntimeError(f"the argument '{name}' must have {ndim} dimensions, not {one.ndim}")
        if one._element.kind != "scalar" or one._element.scalar not in _FLOATS:
            raise RuntimeError(f"matrix products take {', '.join(_FLOATS)}; '{name}' has {one.dtype.__name__}")
        if one._element != first._element:
            raise RuntimeError(
                f"all arrays of a matrix product have one type; '{name}' has {one.dtype.__name__}, "
                f"'a' {first.dtype.__name__}"
            )


@through_host("d", by="a matrix product")
def _run(a: array, b: array, c: array | None, d: array, alpha: float, beta: float) -> None:
    _weft.announce_write(d, "a matrix product")
    x, y, out = (_interface.numpy_view(one) for one in (a, b, d))
    known = _interface.layout(d._element)
    half = known.scalar in ("float16", "bfloat16")
    if half:  # summed in float32 and rounded once
        x, y = _wide(x, known), _wide(y, known)
    if not half and alpha == 1.0 and beta == 0.0 and not (d._overlaps(a) or d._overlaps(b)):
        np.matmul(x, y, out=out)
        return
    with np.errstate(over="ignore"):
        result = np.matmul(x, y)
        if alpha != 1.0:
            result *= result.dtype.type(alpha)
        if beta != 0.0:
            result += result.dtype.type(beta) * _wide(_interface.numpy_view(c), known)
        np.copyto(out, _interface.comparable(result, known), casting="unsafe")


def _wide(values: np.ndarray, known: Any) -> np.ndarray:
    """Numbers of 16 bits as float32."""
    if known.scalar == "bfloat16":
        return _interface.bfloat16_values(values)
    return values.astype(np.float32) if known.scalar == "float16" else values


def _differentiable(a: array, b: array, c: array | None, d: array, alpha: float, beta: float) -> Callable[[], None]:
    """What goes back over a product; to be made before it is computed, for the result may overwrite a factor."""
    there = _there(a, b, c, d)
    if there is not None:
        return _differentiable_there(there, a, b, c, d, alpha, beta)
    x = values_now(a, "a matrix product") if b.requires_grad else None
    y = values_now(b, "a matrix product") if a.requires_grad else None

    def backward() -> None:
        g = take_gradient(d)
        if g.dtype == np.float16:
            g = g.astype(np.float32)
        scaled = g * g.dtype.type(alpha)
        amount_a = np.matmul(scaled, y().astype(g.dtype, copy=False).swapaxes(-1, -2)) if y is not None else None
        amount_b = np.matmul(x().astype(g.dtype, copy=False).swapaxes(-1, -2), scaled) if x is not None else None
        for one, amount in ((a, amount_a), (b, amount_b)):
            if amount is not None:
                add_to_gradient(one, amount)
        if beta != 0.0:
            add_to_gradient(c, g * g.dtype.type(beta))

    return backward


def _there(*arrays: Any) -> Any:
    """The products of the CUDA device that all of these arrays lie on; None for other arrays."""
    if all(one is None or one._place < 0 for one in arrays):
        return None
    from warp._src.algorithms import device_kernels, device_matmul

    return device_matmul if device_kernels.one_device(*arrays) is not None else None


def _differentiable_there(
    there: Any, a: array, b: array, c: array | None, d: array, alpha: float, beta: float
) -> Callable[[], None]:
    """The same on a CUDA device."""
    from warp._src.algorithms.device_kernels import take, values_then

    x = values_then(a, "a matrix product") if b.requires_grad else None
    y = values_then(b, "a matrix product") if a.requires_grad else None

    def backward() -> None:
        gradients = (one.grad if one is not None and one.requires_grad else None for one in (a, b, c))
        named = {"a": x and x(), "b": y and y(), **dict(zip(("adj_a", "adj_b", "adj_c"), gradients))}
        there.add_gradients(named, take(d), alpha, beta)

    return backward


def _product(ndim: int, a: Any, b: Any, c: Any, d: Any, alpha: float, beta: float, device: Any) -> None:
    check_device(device)
    named = {"a": a, "b": b, "d": d}
    if c is not None:
        named["c"] = c
    elif beta != 0.0:
        raise RuntimeError("a matrix product with beta needs the array 'c'")
    _check(ndim, named)
    batch = a.shape[:-2]
    (rows, inner), (inner_b, cols) = a.shape[-2:], b.shape[-2:]
    if inner != inner_b or b.shape[:-2] != batch:
        raise RuntimeError(f"matrices of shapes {a.shape} and {b.shape} can't be multiplied")
    for name in ("c", "d"):
        if name in named and named[name].shape != (*batch, rows, cols):
            raise RuntimeError(
                f"the argument '{name}' must have the shape {(*batch, rows, cols)}, not {named[name].shape}"
            )
    if forward := follows():
        from warp._src.gradients import forward_rules

        tangent = forward_rules.matmul(forward, _taped, a, b, c, d, float(alpha), float(beta))
        _taped(a, b, c, d, float(alpha), float(beta))
        forward_rules.give(forward, d, tangent)
    else:
        _taped(a, b, c, d, float(alpha), float(beta))


def _taped(a: array, b: array, c: array | None, d: array, alpha: float, beta: float) -> None:
    """A product that the tape which records hears of."""
    tape = recording(d)
    backward = _differentiable(a, b, c, d, alpha, beta) if tape is not None else None
    there = _there(a, b, c, d)
    if there is None:
        _run(a, b, c, d, alpha, beta)
    else:
        _weft.announce_write(d, "a matrix product")
        there.multiply(a, b, c, d, alpha, beta)
    if tape is not None:
        arrays = [one for one in (a, b, c, d) if one is not None]
        tape._add_work(backward, arrays, [d], lambda: _taped(a, b, c, d, alpha, beta))


def matmul(
    a: array,
    b: array,
    c: array | None = None,
    d: array | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    allow_tf32x3_arith: bool = False,
    device: Any = None,
) -> None:
    """d = alpha · a · b + beta · c for 2-D arrays of float16, bfloat16, float32 or float64."""
    _product(2, a, b, c, d, alpha, beta, device)


def batched_matmul(
    a: array,
    b: array,
    c: array | None = None,
    d: array | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    allow_tf32x3_arith: bool = False,
    device: Any = None,
) -> None:
    """d[i] = alpha · a[i] · b[i] + beta · c[i] for 3-D arrays."""
    _product(3, a, b, c, d, alpha, beta, device)


def _adjoint(ndim: int, named: dict[str, Any], adj_d: array, alpha: float, beta: float, device: Any) -> None:
    check_device(device)
    a, b = named["a"], named["b"]
    known = {name: one for name, one in named.items() if one is not None or name in "ab"}
    _check(ndim, {**known, "adj_d": adj_d})
    if adj_d.shape != (*a.shape[:-1], b.shape[-1]) or a.shape[-1] != b.shape[-2]:
        raise RuntimeError(f"a gradient of shape {adj_d.shape} is not that of a product of {a.shape} and {b.shape}")
    for name in ("a", "b", "c"):
        expected, given = adj_d if name == "c" else named[name], named[f"adj_{name}"]
        if given is not None and given.shape != expected.shape:
            raise RuntimeError(f"the argument 'adj_{name}' must have the shape {expected.shape}, not {given.shape}")
    there = _there(*(one for one in (*named.values(), adj_d) if one is not None))
    if there is not None:
        with paused():
            there.add_gradients(named, adj_d, float(alpha), float(beta))
        return
    known = _interface.layout(adj_d._element)
    x, y, g = (_wide(_interface.host_view(one), known) for one in (a, b, adj_d))
    for given, amount in (
        (named["adj_a"], lambda: alpha * np.matmul(g, y.swapaxes(-1, -2))),
        (named["adj_b"], lambda: alpha * np.matmul(x.swapaxes(-1, -2), g)),
        (named["adj_c"], lambda: beta * g),
    ):
        if given is not None:
            add_numbers(given, amount())


def adj_matmul(
    a: array,
    b: array,
    c: array | None = None,
    adj_a: array | None = None,
    adj_b: array | None = None,
    adj_c: array | None = None,
    adj_d: array | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    allow_tf32x3_arith: bool = False,
    device: Any = None,
) -> None:
    """Adds the gradients of `matmul` for the gradient `adj_d` of its result to those that are given."""
    named = {"a": a, "b": b, "c": c, "adj_a": adj_a, "adj_b": adj_b, "adj_c": adj_c}
    _adjoint(2, named, adj_d, alpha, beta, device)  # type: ignore[arg-type]


def adj_batched_matmul(
    a: array,
    b: array,
    c: array | None = None,
    adj_a: array | None = None,
    adj_b: array | None = None,
    adj_c: array | None = None,
    adj_d: array | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    allow_tf32x3_arith: bool = False,
    device: Any = None,
) -> None:
    """Adds the gradients of `batched_matmul` for the gradient `adj_d` of its result to those that are given."""
    named = {"a": a, "b": b, "c": c, "adj_a": adj_a, "adj_b": adj_b, "adj_c": adj_c}
    _adjoint(3, named, adj_d, alpha, beta, device)  # type: ignore[arg-type]


def product(a: array, b: Any) -> Any:
    """`A @ B` on 2-D arrays."""
    if not isinstance(b, array):
        return NotImplemented
    _check(2, {"a": a, "b": b})
    grad = a.requires_grad or b.requires_grad
    d = array(shape=(a.shape[0], b.shape[1]), dtype=a.dtype, requires_grad=grad, device=a.device)
    _product(2, a, b, None, d, 1.0, 0.0, None)
    return d
