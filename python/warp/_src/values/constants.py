"""Constants: `wp.constant` and the numbers of mathematics under both spellings."""

from __future__ import annotations

import enum
import math
from typing import TypeVar

from warp._src.values import types

_T = TypeVar("_T")


def constant(x: _T) -> _T:
    """Marks a value as a compile-time constant: numbers, vectors, matrices, quaternions, transforms. TypeError for
    anything else. Kernels see such values without the mark, too; this one says so early."""
    value = x.value if isinstance(x, enum.Enum) else x
    if not types.is_value(value):
        raise TypeError(f"Invalid constant type: {type(x)}")
    return x


E = e = math.e
INF = inf = math.inf
LOG2E = log2e = math.log2(math.e)
LOG10E = log10e = math.log10(math.e)
LN2 = ln2 = math.log(2.0)
LN10 = ln10 = math.log(10.0)
PHI = phi = (1.0 + math.sqrt(5.0)) / 2.0
PI = pi = math.pi
HALF_PI = half_pi = math.pi / 2.0
TAU = tau = math.tau
NAN = nan = math.nan

__all__ = ["constant"]
__all__ += ["E", "e", "INF", "inf", "LOG2E", "log2e", "LOG10E", "log10e", "LN2", "ln2", "LN10", "ln10", "PHI", "phi"]
__all__ += ["PI", "pi", "HALF_PI", "half_pi", "TAU", "tau", "NAN", "nan"]
