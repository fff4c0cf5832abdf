"""Minimax polynomials with coefficients that fit a float format.

`fit` runs Remez' exchange algorithm in mpmath on a weighted error; coefficients are then rounded to the format one by
one from the lowest, each time with a new fit of those that are left, so that the error of rounding is taken up by them.
"""

import struct

import mpmath as mp

mp.mp.prec = 160


def rounded(value, kind):
    """The nearest number of the format ("f32" or "f64"), as mpf."""
    if kind == "f64":
        return mp.mpf(float(value))
    with mp.workprec(24):
        return +mp.mpf(value)


def split(value, kind, parts, bits=None):
    """`value` as a sum of format numbers; all but the last have `bits` significant bits (the format's by default)."""
    out = []
    rest = mp.mpf(value)
    for i in range(parts):
        if i < parts - 1 and bits:
            with mp.workprec(bits):
                part = +rest
        else:
            part = rounded(rest, kind)
        out.append(part)
        rest -= part
    return out


def literal(value, kind):
    """A decimal that reads back as exactly this number."""
    if kind == "f64":
        return repr(float(value))
    number = float(value)
    for digits in range(6, 18):
        text = f"{number:.{digits}e}"
        if struct.unpack("f", struct.pack("f", float(text)))[0] == number:
            mantissa, exponent = text.split("e")
            return f"{mantissa}e{int(exponent)}"
    raise ValueError(number)


def _value(coefficients, powers, x):
    return mp.fsum(c * x**p for c, p in zip(coefficients, powers))


def remez(f, weight, powers, low, high, rounds=12):
    """Coefficients for the powers of x such that weight·(f − p) is least at most; and that most."""
    n = len(powers)
    low, high = mp.mpf(low), mp.mpf(high)
    # Chebyshev's points first, off centre by a little: weights may vanish in the middle or at an end. The grid on which
    # extrema are looked for is dense at the ends as they are.
    points = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mp.mpf("0.47")) / (n + 1)) for i in range(n + 1)]
    count = 24 * (n + 2)
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / count) for i in range(count + 1)]
    fs = [f(x) for x in grid]
    ws = [weight(x) for x in grid]
    best = None
    for _ in range(rounds):
        matrix = mp.matrix(n + 1, n + 1)
        right = mp.matrix(n + 1, 1)
        for i, x in enumerate(points):
            w = weight(x)
            for j, p in enumerate(powers):
                matrix[i, j] = w * x**p
            matrix[i, n] = (-1) ** i
            right[i] = w * f(x)
        solution = mp.lu_solve(matrix, right)
        coefficients = [solution[j] for j in range(n)]
        errors = [w * (y - _value(coefficients, powers, x)) for x, y, w in zip(grid, fs, ws)]
        most = max(abs(e) for e in errors)
        if best is None or most < best[1]:
            best = (coefficients, most)
        # One extremum for each run of equal signs, then as many neighbours as are wanted with the largest errors.
        extrema = []
        for x, e in zip(grid, errors):
            if extrema and (e >= 0) == (extrema[-1][1] >= 0):
                if abs(e) > abs(extrema[-1][1]):
                    extrema[-1] = (x, e)
            else:
                extrema.append((x, e))
        while len(extrema) > n + 1:
            extrema.pop(0 if abs(extrema[0][1]) < abs(extrema[-1][1]) else -1)
        if len(extrema) < n + 1:
            break
        points = [x for x, _ in extrema]
        if most < abs(solution[n]) * mp.mpf("1.001"):
            break
    return best


def fit(f, low, high, powers, kind, weight=lambda x: mp.mpf(1), tuned=3):
    """Coefficients in the format, and the largest weighted error; the lowest `tuned` are rounded one by one."""
    fixed = []
    rest = list(powers)

    def remaining(x):
        return f(x) - _value(fixed, powers[: len(fixed)], x)

    for _ in range(min(tuned, len(powers) - 1)):
        coefficients, _ = remez(remaining, weight, rest, low, high)
        fixed.append(rounded(coefficients[0], kind))
        rest = rest[1:]
    coefficients, _ = remez(remaining, weight, rest, low, high)
    fixed += [rounded(c, kind) for c in coefficients]
    return fixed, largest_error(f, low, high, powers, fixed, weight)


def largest_error(f, low, high, powers, coefficients, weight):
    """Of the polynomial as it stands, without rounding, at many places."""
    low, high = mp.mpf(low), mp.mpf(high)
    samples = [low + (high - low) * i / 997 for i in range(998)]
    return max(abs(weight(x) * (f(x) - _value(coefficients, powers, x))) for x in samples)
