"""Errors in ulp against mpmath, per function and type; special values; the 16-bit types on all their numbers.

The largest error of each function is printed with -s and recorded as a property of the test.
"""

import random

import mpmath as mp
import numpy as np
import pytest
import reference
from conftest import BINARY, TYPES, UNARY

import warp as wp

WORDS = {"uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64}
FLOATS = {"float32": np.float32, "float64": np.float64}


def run(kernels, name, kind, *arguments):
    """Bits in, bits out."""
    word = WORDS[TYPES[kind]]
    given = [wp.array(np.ascontiguousarray(a, dtype=word), dtype=getattr(wp, TYPES[kind])) for a in arguments]
    out = wp.zeros(len(arguments[0]), dtype=getattr(wp, TYPES[kind]))
    wp.launch(getattr(kernels, f"{name}_{kind}"), dim=len(arguments[0]), inputs=[*given, out])
    return out.numpy()


def bits(values, kind):
    return np.array(values, dtype=FLOATS[kind]).view(WORDS[TYPES[kind]])


def worst_error(got, points, exact, kind):
    worst = (0.0, None)
    for value, point in zip(got.view(FLOATS[kind]), points):
        error = reference.ulps(float(value), exact(point), kind)
        if not error <= worst[0]:
            worst = (error, point, float(value))
    return worst


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_unary(kernels, name, kind, record_property):
    exact, *bounds, around = reference.UNARY[name]
    bound = bounds[kind == "float64"]
    slow = name in ("erfinv", "erfcinv", "erfc", "erf")
    points = reference.samples(kind, around, random.Random(name + kind), 60 if slow else 250)

    def value(x):
        if x != x and name not in ("asin", "acos"):
            return mp.nan
        return exact(mp.mpf(x))

    got = run(kernels, name, kind, bits(points, kind))
    worst = worst_error(got, points, value, kind)
    record_property("worst", str(worst))
    print(f"{name} {kind}: {worst[0]:.3f} ulp at {worst[1:]}")
    assert worst[0] <= bound, worst
    # The sign of zero survives where the function is odd.
    if name in ("sin", "tan", "asin", "atan", "sinh", "tanh", "cbrt", "erf", "erfinv", "sqrt"):
        zeros = run(kernels, name, kind, bits([0.0, -0.0], kind)).view(FLOATS[kind])
        assert list(np.signbit(zeros)) == [False, True]


def exact_power(x, y):
    """x^y by C99 Annex F."""
    if y == 0 or x == 1:
        return mp.mpf(1)
    if x != x or y != y:
        return mp.nan
    whole = y in (np.inf, -np.inf) or y == int(y)
    odd = whole and y not in (np.inf, -np.inf) and int(y) % 2 == 1
    sign = -1 if odd and np.signbit(x) else 1
    a = abs(x)
    if y in (np.inf, -np.inf):
        return mp.mpf(1) if a == 1 else mp.inf if (a > 1) == (y > 0) else mp.mpf(0)
    if a == 0:
        return sign * (mp.inf if y < 0 else mp.mpf(0))
    if a == np.inf:
        return sign * (mp.mpf(0) if y < 0 else mp.inf)
    if x < 0 and not whole:
        return mp.nan
    exponent = mp.mpf(y) * mp.log(mp.mpf(a))
    if abs(exponent) > 5000:  # far outside: mpmath would count for ever
        return sign * (mp.inf if exponent > 0 else mp.mpf(0))
    return sign * mp.exp(exponent)


def exact_angle(y, x):
    if x != x or y != y:
        return mp.nan
    if y == 0 or abs(x) == np.inf or abs(y) == np.inf:
        return mp.mpf(float(np.arctan2(np.float64(y), np.float64(x)))) if y == 0 and not np.signbit(x) else _quarter(y, x)
    return mp.atan2(mp.mpf(y), mp.mpf(x))


def _quarter(y, x):
    sign = -1 if np.signbit(y) else 1
    if y == 0:
        return sign * +mp.pi
    if abs(y) == np.inf and abs(x) == np.inf:
        return sign * (mp.pi / 4 if x > 0 else 3 * mp.pi / 4)
    if abs(y) == np.inf:
        return sign * mp.pi / 2
    return sign * (mp.mpf(0) if x > 0 else +mp.pi)


def pairs(name, kind, source):
    special = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 1.5, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-40]
    out = [(a, b) for a in special for b in special]
    largest = 126 if kind == "float32" else 1022
    for _ in range(2000):
        if name == "pow":
            x = 2.0 ** source.uniform(-largest, largest) if source.random() < 0.5 else source.uniform(0.5, 2)
            limit = largest * np.log(2) / max(abs(np.log(x)), 1e-30)
            y = source.uniform(-1, 1) * min(limit, 1e9)
            if source.random() < 0.2:
                x, y = -x, float(round(y))
        else:
            x = source.choice((-1, 1)) * 2.0 ** source.uniform(-largest, largest)
            y = x * source.choice((-1, 1)) * 2.0 ** source.uniform(-30, 30)
            y = min(max(y, -(2.0**largest)), 2.0**largest)
        out.append((x, y))
    number = FLOATS[kind]
    return [(float(number(a)), float(number(b))) for a, b in out]


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("name", BINARY)
def test_binary(kernels, name, kind, record_property):
    points = pairs(name, kind, random.Random(name + kind))
    got = run(kernels, name, kind, bits([a for a, _ in points], kind), bits([b for _, b in points], kind))
    exact = exact_power if name == "pow" else exact_angle
    worst = worst_error(got, points, lambda p: exact(*p), kind)
    record_property("worst", str(worst))
    print(f"{name} {kind}: {worst[0]:.3f} ulp at {worst[1:]}")
    assert worst[0] <= reference.BINARY[name][kind == "float64"], worst


def rounded_to_16(values, kind):
    """float32 to the bits of a 16-bit type, halves to even."""
    if kind == "float16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).view(np.uint16)
    raw = values.view(np.uint32).astype(np.uint64)
    return ((raw + 0x7FFF + ((raw >> 16) & 1)) >> 16).astype(np.uint16)


def widened(raw, kind):
    if kind == "float16":
        return raw.view(np.float16).astype(np.float32)
    return (raw.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", UNARY)
def test_all_16_bit_numbers(kernels, name, kind):
    """The float32 function, rounded once."""
    raw = np.arange(65536, dtype=np.uint32).astype(np.uint16)
    got = run(kernels, name, kind, raw)
    wide = run(kernels, name, "float32", widened(raw, kind).view(np.uint32)).view(np.float32)
    want = rounded_to_16(wide, kind)
    both_nan = np.isnan(wide) & np.isnan(widened(got, kind))
    different = (got != want) & ~both_nan
    assert not different.any(), raw[different][:5]
