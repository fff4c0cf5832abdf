"""What the elementary functions should give: mpmath's values, sample points, the stated bounds, errors in ulp."""

import math
import struct

import mpmath as mp

mp.mp.prec = 200
INF = mp.inf
NAN = mp.nan


def inverse_erfc(c, sign=1):
    """v with erfc(v) = c, for 0 < c ≤ 1: Halley's method, from the leading term of the asymptotic series."""
    if c == 1:
        return mp.mpf(0)
    v = mp.sqrt(-mp.log(c)) if c < mp.mpf("0.1") else (1 - c) * mp.sqrt(mp.pi) / 2
    for _ in range(100):
        step = (mp.erfc(v) - c) * mp.sqrt(mp.pi) / 2 * mp.exp(v * v)
        step /= 1 - step * v
        v += step
        if abs(step) <= abs(v) * mp.mpf(2) ** -150:
            break
    return sign * v


def erfinv(x):
    if abs(x) > 1:
        return NAN
    if abs(x) == 1:
        return INF * mp.sign(x)
    if abs(x) < mp.mpf(2) ** -60:
        return x * mp.sqrt(mp.pi) / 2
    return inverse_erfc(1 - abs(x), mp.sign(x))


def erfcinv(x):
    if x < 0 or x > 2:
        return NAN
    if x == 0 or x == 2:
        return INF if x == 0 else -INF
    return inverse_erfc(x) if x <= 1 else -inverse_erfc(2 - x)


def clamped(f):
    """asin and acos clamp their argument; a NaN becomes the lower end, as min and max ignore it."""
    return lambda x: f(mp.mpf(-1) if mp.isnan(x) else min(max(x, -1), 1))


def logarithm(base):
    def value(x):
        if x < 0:
            return NAN
        if x == 0:
            return -INF
        return mp.log(x) / (mp.log(base) if base else 1)

    return value


def periodic(f):
    def value(x):
        if mp.isinf(x):
            return NAN
        with mp.workprec(1300):  # enough for 2^1024 modulo π/2
            return +f(x)

    return value


def erfc(x):
    """mpmath counts terms for huge arguments."""
    return mp.mpf(0) if x > 1000 else mp.mpf(2) if x < -1000 else mp.erfc(x)


def cube_root(x):
    return mp.sign(x) * mp.cbrt(abs(x)) if mp.isfinite(x) else x


# name: (exact, bound in ulp of float32 and float64, points to be dense around)
UNARY = {
    "sin": (periodic(mp.sin), 1, 1, [0, math.pi / 4, math.pi / 2, math.pi, 22, 355, 1e5, 1e9, 6381956970095103 * 2.0**797]),
    "cos": (periodic(mp.cos), 1, 1, [0, math.pi / 4, math.pi / 2, math.pi, 11, 710 / 4, 1e5, 1e9, 6381956970095103 * 2.0**797]),
    "tan": (periodic(mp.tan), 1, 1, [0, math.pi / 4, math.pi / 2, math.pi, 11, 355, 1e5, 1e9]),
    "asin": (clamped(mp.asin), 1, 1, [0, 0.5, 0.9999, 1]),
    "acos": (clamped(mp.acos), 1, 1, [0, 0.5, -0.5, 0.9999, 1, -1]),
    "atan": (mp.atan, 1, 1, [0, math.tan(math.pi / 8), 1, math.tan(3 * math.pi / 8), 1e9]),
    "sinh": (mp.sinh, 1, 1, [0, 1, 10, 88.7, 89.415, 709.78, 710.4758]),
    "cosh": (mp.cosh, 1, 1, [0, 1, 10, 88.7, 89.415, 709.78, 710.4758]),
    "tanh": (mp.tanh, 1, 1, [0, 0.35, 1, 9, 19]),
    "exp": (mp.exp, 1, 1, [0, math.log(2) / 2, -math.log(2) / 2, 88.7228, -87.3, -103.97, 709.7827, -708.4, -745.13]),
    "log": (logarithm(0), 1, 1, [1, 2 / 3, 4 / 3, math.sqrt(2), math.sqrt(0.5), 2, 1e-38, 1e-308]),
    "log2": (logarithm(2), 1, 1, [1, math.sqrt(2), math.sqrt(0.5), 2, 1e-38, 1e-308]),
    "log10": (logarithm(10), 1, 1, [1, math.sqrt(2), math.sqrt(0.5), 10, 1000, 1e-38, 1e-308]),
    "cbrt": (cube_root, 1, 1, [1, 2, 4, 8, 27, 1e-38, 1e-308]),
    "erf": (mp.erf, 1, 1, [0, 0.5, 0.828125, 1, 3.92, 3.94, 5.9]),
    "erfc": (erfc, 1, 1, [0, 0.5, 1, -1, 9.19, 10.05, 26.54, 27.2]),
    "erfinv": (erfinv, 2, 2, [0, 0.5, 0.99, 0.9966, 1, -1, 0.999999]),
    "erfcinv": (erfcinv, 2, 2, [0, 1, 0.5, 1.5, 2, 0.00675, 1e-10, 1e-30, 1e-300]),
    "sqrt": (lambda x: NAN if x < 0 else mp.sqrt(x), 0.5, 0.5, [0, 1, 2, 4]),
}

BINARY = {
    "atan2": (1, 1),
    "pow": (1, 1),
}

_FORMATS = {"float32": ("f", "I", 24, -126, 127), "float64": ("d", "Q", 53, -1022, 1023)}


def ulps(got, exact, kind):
    """Distance of a result from the exact value in ulp of the latter; infinite when only one of them is special."""
    digits, lowest, highest = _FORMATS[kind][2:]
    if mp.isnan(exact) or math.isnan(got):
        return 0.0 if mp.isnan(exact) and math.isnan(got) else math.inf
    if mp.isinf(exact):
        return 0.0 if got == exact else math.inf
    if exact == 0:
        return abs(got) / mp.mpf(2) ** (lowest - digits + 1)
    exponent = min(max(int(mp.floor(mp.log(abs(exact), 2))), lowest), highest)
    unit = mp.mpf(2) ** (exponent - digits + 1)
    value = mp.sign(got) * mp.mpf(2) ** (highest + 1) if math.isinf(got) else mp.mpf(got)
    if math.isinf(got) and abs(exact) > mp.mpf(2) ** (highest + 1):
        return 0.0
    return float(abs(value - exact) / unit)


def samples(kind, around, random, count):
    """Special values; neighbours of the critical points at many distances; every exponent; any bits."""
    code, word, digits, lowest, highest = _FORMATS[kind]

    def to_bits(x):
        try:
            return struct.unpack(word, struct.pack(code, x))[0]
        except OverflowError:
            return None

    top = 1 << (8 * struct.calcsize(code))
    special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]
    bits = [to_bits(x) for x in special]
    smallest_normal = to_bits(2.0**lowest)
    for edge in (1, smallest_normal, to_bits(math.inf)):
        bits += [edge, edge - 1, edge + 1, edge | top >> 1, (edge - 1) | top >> 1]
    for point in around:
        for sign in (1, -1):
            at = to_bits(sign * point)
            if at is None:
                continue
            bits += [(at + d) % top for d in (-3, -2, -1, 0, 1, 2, 3)]
            for _ in range(count // 16):
                bits.append(to_bits(sign * point * (1 + random.uniform(-1, 1) * 10 ** random.uniform(-6, -0.5)) + random.uniform(-1, 1) * 1e-3 * (point == 0)))
    for _ in range(count):
        bits.append(to_bits(random.choice((-1, 1)) * 2.0 ** random.uniform(lowest - digits + 1, highest)))
        bits.append(to_bits(random.uniform(-8, 8)))
        bits.append(to_bits(random.uniform(-100, 100)))
        bits.append(random.randrange(top))
    return [struct.unpack(code, struct.pack(word, b))[0] for b in bits if b is not None]
