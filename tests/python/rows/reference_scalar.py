"""References of scalar mathematics and of operators on numbers: Python's libm, NumPy, mpmath."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from pathlib import Path

import mpmath as mp
import numpy as np
from expected import Expected, exact, within_ulp


def _accuracy() -> object:
    """The references of the accuracy tests (tests/math)."""
    path = Path(__file__).parents[2] / "math" / "reference.py"
    spec = importlib.util.spec_from_file_location("math_reference", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MATH = _accuracy()


def libm(name: str, fallback: str = "") -> Callable:
    """Python's function on arrays; where it raises, NumPy's value."""
    function, other = getattr(math, name), getattr(np, fallback or name)

    def value(*xs: float) -> float:
        try:
            return function(*xs)
        except (ValueError, OverflowError):
            return float(other(*map(np.float64, xs)))

    return lambda *arrays: np.array([value(*map(float, xs)) for xs in zip(*arrays)], dtype=np.float64)


def precise(name: str) -> Callable:
    """mpmath's value, by the accuracy tests."""
    function = MATH.UNARY[name][0]
    return lambda x: np.array([math.nan if v != v else float(function(mp.mpf(float(v)))) for v in x])


def clamped(x: np.ndarray) -> np.ndarray:
    return np.fmin(np.fmax(x, -1.0), 1.0)


def is_int(a: np.ndarray) -> bool:
    return a.dtype.kind in "iu"


def divided(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Quotients; of integers they truncate, and are 0 where the divisor is."""
    a, b = np.broadcast_arrays(a, b)
    if not is_int(a):
        return a / b
    safe = np.where(b == 0, 1, b).astype(a.dtype)
    quotient = floored(a, safe)
    inexact = (quotient * safe != a) & (quotient < 0)
    return np.where(b == 0, 0, quotient + inexact).astype(a.dtype)


def floored(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if not is_int(a):
        return np.floor(a / b)
    low = np.iinfo(a.dtype).min
    wraps = (a == low) & (b == np.array(-1).astype(a.dtype)) & (low < 0)
    safe = np.where((b == 0) | wraps, 1, b).astype(a.dtype)
    return np.where(b == 0, 0, np.where(wraps, a, a // safe)).astype(a.dtype)


def remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """With the sign of the dividend; an integer modulo 0 is itself."""
    a, b = np.broadcast_arrays(a, b)
    if not is_int(a):
        return np.fmod(a, b)
    one = (b == -1) if a.dtype.kind == "i" else np.zeros(b.shape, dtype=bool)  # NumPy minds the lowest number by -1
    return np.where(b == 0, a, np.fmod(a, np.where((b == 0) | one, 1, b).astype(a.dtype))).astype(a.dtype)


def absolute(x: np.ndarray) -> np.ndarray:
    return np.abs(x)


def smaller(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.minimum(a, b) if is_int(a) else ordered(np.fmin(a, b), a, b, -1)


def larger(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.maximum(a, b) if is_int(a) else ordered(np.fmax(a, b), a, b, 1)


def ordered(chosen: np.ndarray, a: np.ndarray, b: np.ndarray, sign: int) -> np.ndarray:
    """Zeros of both signs are told apart: -0 is below 0."""
    mixed = (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
    return np.where(mixed, math.copysign(0.0, sign), chosen)


def signs(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, -1, 1).astype(x.dtype)


def shifted(a: np.ndarray, b: np.ndarray, left: bool) -> np.ndarray:
    bits = a.dtype.itemsize * 8
    count = (b.astype(np.int64) % bits).astype(a.dtype)
    return (np.left_shift if left else np.right_shift)(a, count)


def bit_counts(x: np.ndarray) -> np.ndarray:
    mask = (1 << (x.dtype.itemsize * 8)) - 1
    return np.array([bin(int(v) & mask).count("1") for v in x])


def round_away(x: np.ndarray) -> np.ndarray:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), np.copysign(whole, x))


def fraction(x: np.ndarray) -> np.ndarray:
    return x - np.trunc(x)


def smooth_step(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    t = np.fmin(np.fmax((x - a) / (b - a), 0.0), 1.0)
    return t * t * (3 - 2 * t)


def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a*b + c rounded once."""
    out = []
    for x, y, z in zip(a, b, c):
        if all(map(math.isfinite, (x, y, z))):
            with mp.workprec(5000):
                exact_sum = mp.mpf(float(x)) * mp.mpf(float(y)) + mp.mpf(float(z))
            out.append(float(exact_sum) if exact_sum else x * y + z)
        else:
            out.append(x * y + z)
    return np.array(out)


def bits_of(dtype: type, wide: type) -> Callable:
    return lambda x: np.where(np.isnan(x), np.array(np.nan, dtype=dtype), x.astype(dtype)).view(wide)


def bfloat_bits(x: np.ndarray) -> np.ndarray:
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.int16)


def power_of_two(x: np.ndarray) -> np.ndarray:
    return np.exp2(np.floor(np.log2(x)))


def some(test: Callable, reduce: Callable = np.any) -> Expected:
    def value(a: np.ndarray) -> np.ndarray:
        hit = test(a)
        return reduce(hit.reshape(len(hit), -1), axis=1)

    return exact(value)


NEAR = {
    "sin": libm("sin"),
    "cos": libm("cos"),
    "tan": libm("tan"),
    "asin": lambda x: libm("asin", "arcsin")(clamped(x)),
    "acos": lambda x: libm("acos", "arccos")(clamped(x)),
    "_asin": libm("asin", "arcsin"),
    "_acos": libm("acos", "arccos"),
    "atan": libm("atan", "arctan"),
    "atan2": libm("atan2", "arctan2"),
    "sinh": libm("sinh"),
    "cosh": libm("cosh"),
    "tanh": libm("tanh"),
    "exp": libm("exp"),
    "_exp2": lambda x: libm("pow", "power")(np.full(len(x), 2.0), x),
    "log": libm("log"),
    "log2": libm("log2"),
    "log10": libm("log10"),
    "cbrt": lambda x: np.cbrt(x),
    "pow": libm("pow", "power"),
    "erf": lambda x: np.array([math.erf(v) for v in x]),
    "erfc": lambda x: np.array([math.erfc(v) for v in x]),
    "erfinv": precise("erfinv"),
    "erfcinv": precise("erfcinv"),
    "degrees": lambda x: x * (180 / math.pi),
    "radians": lambda x: x * (math.pi / 180),
}

EXACT = {
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": round_away,
    "rint": np.rint,
    "frac": fraction,
    "abs": absolute,
    "min": smaller,
    "max": larger,
    "clamp": lambda x, low, high: smaller(larger(low, x), high),
    "sign": signs,
    "copysign": np.copysign,
    "bit_count": bit_counts,
    "step": lambda x: (x < 0).astype(x.dtype),
    "nonzero": lambda x: (x != 0).astype(x.dtype),
    "_fma": fused,
    "_wide": lambda x: x,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul(S, S)": lambda a, b: a * b,
    "div(S, S)": divided,
    "div_approx(F, F)": divided,
    "mod": remainder,
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor,
    "lshift": lambda a, b: shifted(a, b, True),
    "rshift": lambda a, b: shifted(a, b, False),
    "invert": np.invert,
    "neg": lambda a: -a,
    "pos": lambda a: a,
    "unot": lambda a: a == 0,
    "where": lambda c, a, b: np.where(c.reshape(len(c), *[1] * (a.ndim - 1)) != 0, a, b),
    "select": lambda c, a, b: np.where(c.reshape(len(c), *[1] * (a.ndim - 1)) != 0, b, a),
    "copy": lambda a: a,
    "_signed_bits(float16)": bits_of(np.float16, np.int16),
    "_signed_bits(float32)": bits_of(np.float32, np.int32),
    "_signed_bits(float64)": bits_of(np.float64, np.int64),
    "_signed_bits(bfloat16)": bfloat_bits,
}

TABLE: dict[str, Expected] = {
    # libm may be one unit off itself where float64 is compared.
    **{name: within_ulp(reference, 2.0) for name, reference in NEAR.items()},
    **{name: exact(reference) for name, reference in EXACT.items()},
    "lerp(F, F, F)": Expected(lambda a, b, t: a * (1 - t) + b * t, special=False),
    "floordiv": Expected(floored, exact=True, special=False),
    "smoothstep": Expected(smooth_step, special=False),
    "_sin_large": Expected(libm("sin"), ulp=2.0, special=False),
    "_cos_large": Expected(libm("cos"), ulp=2.0, special=False),
    "_tan_large": Expected(libm("tan"), ulp=2.0, special=False),
    "_power_of_two": Expected(power_of_two, exact=True, special=False),
    "_normalizing_power": Expected(lambda x: 2 / power_of_two(x), exact=True, special=False),
    "isnan": some(np.isnan),
    "isinf": some(np.isinf),
    "isfinite": some(np.isfinite, np.all),
}
