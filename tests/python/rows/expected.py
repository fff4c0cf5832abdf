"""What a row should give: a reference function with the error it may have, and the comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from kinds import EPS, SMALLEST_NORMAL, is_float, spacing, stored, widened
from signatures import Instance

Reference = Callable[..., object]


@dataclass(frozen=True)
class Expected:
    """A reference on arrays (samples first; floats in float64, integers in their own type) and how results compare.

    exact: floats are the reference rounded to the type. ulp: this many units in the last place of float32 and float64;
    float16 and bfloat16 are computed in float32 and rounded once. Otherwise: `loose` times what a change of the inputs
    by one unit in their last place does to the result, plus as many units of the result's largest component (or of
    `scale`, the size of what it is computed from); whole numbers may differ where changes of `loose` units change them.
    check, instead of a reference: errors in units of the type's epsilon, from inputs and results.
    """

    reference: Reference | None = None
    exact: bool = False
    ulp: float = 0.0
    loose: float = 8.0
    scale: float = 0.0
    either_sign: bool = False  # a quaternion and its negative are one rotation
    check: Reference | None = None
    special: bool = True  # special values take part


def exact(reference: Reference) -> Expected:
    return Expected(reference, exact=True)


def within_ulp(reference: Reference, ulp: float) -> Expected:
    return Expected(reference, ulp=ulp)


def evaluate(reference: Reference, inputs: list[np.ndarray]) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        made = reference(*inputs)
    return [np.asarray(m) for m in made] if isinstance(made, tuple) else [np.asarray(made)]


def sensitivity(
    expected: Expected, instance: Instance, inputs: list[np.ndarray], want: list[np.ndarray]
) -> list[np.ndarray]:
    """The largest change of each sample's result when inputs change by a unit in their last place."""
    rng = np.random.default_rng(0)
    most = [np.zeros(len(w)) for w in want]
    floats = any(w.dtype.kind == "f" for w in want)
    if not any(is_float(value.kind) for value in instance.params):
        return most
    for _ in range(4 if floats else 24):
        moved = []
        for values, value, param in zip(inputs, instance.params, instance.row.params):
            if is_float(value.kind) and value.form != "array":
                step = EPS[value.kind] * rng.choice([-1.0, 1.0], values.shape) * (1 if floats else expected.loose)
                moved.append(np.where(np.isfinite(values), values * (1 + step), values))
            else:
                moved.append(values)
        for k, (there, here) in enumerate(zip(evaluate(expected.reference, moved), want)):
            if here.dtype.kind == "f":
                with np.errstate(all="ignore"):
                    change = np.abs(there - here).reshape(len(here), -1)
                change[np.isnan(change)] = np.inf
                change[np.isnan(here.reshape(change.shape)) | (there == here).reshape(change.shape)] = 0
                most[k] = np.maximum(most[k], change.max(axis=1))
            else:
                most[k] = np.maximum(most[k], (there != here).reshape(len(here), -1).any(axis=1))
    return most


def differences(expected: Expected, instance: Instance, held: list[np.ndarray], got: list[np.ndarray]) -> str:
    """How results differ from what is expected; empty if they don't."""
    inputs = [widened(h, v.kind) for h, v in zip(held, instance.params)]
    results = [widened(g, v.kind) for g, v in zip(got, instance.results)]
    if expected.check is not None:
        kind = next(v.kind for v in instance.results if is_float(v.kind))
        error = np.asarray(expected.check(*inputs, *results)) / EPS[kind]
        worst = int(np.argmax(error))
        good = bool((error <= expected.loose).all())
        return "" if good else f"{error[worst]:.3g} epsilons off (of {expected.loose}) at {[i[worst] for i in inputs]}"
    want = evaluate(expected.reference, inputs)
    assert len(want) == len(results), (
        f"the reference of {instance.row.key} gives {len(want)} results, not {len(results)}"
    )
    spread = None
    if not expected.exact and not expected.ulp:
        spread = sensitivity(expected, instance, inputs, want)
    for k, (w, g, value) in enumerate(zip(want, results, instance.results)):
        assert w.shape == g.shape, f"the reference of {instance.row.key} has the shape {w.shape}, not {g.shape}"
        if w.dtype.kind == "f":
            wrong = float_differences(expected, w, g, value.kind, None if spread is None else spread[k])
        else:
            wrong = w.astype(g.dtype) != g
            if spread is not None:
                wrong[spread[k] > 0] = False
        if not wrong.any():
            continue
        at = int(np.argmax(wrong.reshape(len(wrong), -1).any(axis=1)))
        arguments = [i[at] if v.form != "array" else i for i, v in zip(inputs, instance.params)]
        many = int(wrong.reshape(len(wrong), -1).any(axis=1).sum())
        return f"result {k} of {arguments} is {g[at]!r}, should be {w[at]!r} ({many} of {len(wrong)} samples)"
    return ""


def float_differences(
    expected: Expected, want: np.ndarray, got: np.ndarray, kind: str, spread: np.ndarray | None
) -> np.ndarray:
    rounded = widened(stored(want, kind), kind)
    same = (rounded == got) | (np.isnan(rounded) & np.isnan(got))
    if expected.exact:
        zero = (rounded == 0) & (got == 0)
        return ~same | (zero & (np.signbit(rounded) != np.signbit(got)))
    if spread is None:
        units = expected.ulp if kind in ("float32", "float64") else 0.51
        limit = units * spacing(rounded, kind)
    else:
        column = (len(want), *[1] * (want.ndim - 1))
        with np.errstate(all="ignore"):
            size = np.maximum(
                np.abs(np.where(np.isfinite(want), want, 0)).reshape(len(want), -1).max(axis=1), expected.scale
            )
            tiny = SMALLEST_NORMAL[kind] * EPS[kind]
            limit = (expected.loose * (spread + size * EPS[kind] + tiny)).reshape(column)
    with np.errstate(all="ignore"):
        error = np.abs(got - want)
        if expected.either_sign:
            flipped = np.abs(got + want)
            worse = error.reshape(len(want), -1).max(axis=1) > flipped.reshape(len(want), -1).max(axis=1)
            error = np.where(worse.reshape(len(want), *[1] * (want.ndim - 1)), flipped, error)
        near = error <= limit
    return ~(same | (near & np.isfinite(got))) & ~np.broadcast_to(np.isinf(limit), want.shape)
