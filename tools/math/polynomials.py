#!/usr/bin/env python3
"""Writes src/stdlib/math_polynomials.py: every polynomial of the elementary functions, from its definition below.

    tools/math/polynomials.py            fit all and write the file
    tools/math/polynomials.py exp erf    fit these only

Each definition names the function that is approximated, its interval, the number of coefficients per format and the
weight that turns an error of the polynomial into a relative error of the result. The errors that come out are written
beside the coefficients as powers of two.
"""

import functools
import sys
from pathlib import Path

import mpmath as mp
from minimax import fit, largest_error, literal, rounded

KINDS = ("f32", "f64")
HEADER = '''# Polynomials of the elementary functions, made by tools/math/polynomials.py: edit that, not this. Each comment gives the
# interval and the largest relative error that the polynomial alone brings into its function.
'''


def series(function, zero, tiny=mp.mpf(2) ** -60):
    """A function with a removable singularity at 0, where it takes the value `zero`."""
    return lambda x: mp.mpf(zero) if abs(x) < tiny else function(x)


def of_root(function):
    """z = x² as the variable."""
    return lambda z: function(mp.sqrt(z))


@functools.lru_cache(maxsize=None)
def inverse_from_log(w):
    """v with 1 − erf(v)² = e^−w, v ≥ 0."""
    if w == 0:
        return mp.mpf(0)
    y = mp.exp(-w)
    c = y / (1 + mp.sqrt(1 - y))
    v = mp.sqrt(w) if w > 1 else mp.sqrt(mp.pi) / 2 * mp.sqrt(1 - y)
    for _ in range(60):
        # Halley's step on erfc(v) − c.
        step = (mp.erfc(v) - c) * mp.sqrt(mp.pi) / 2 * mp.exp(v * v)
        step /= 1 - step * v
        v += step
        if abs(step) < abs(v) * mp.mpf(2) ** -120:
            return v
    raise ArithmeticError(w)


def erfcx_scaled(k):
    """(erfcx(a)·(1 + 2a) − the same at k)/q over q = (a − k)/(a + k), with erfcx(a) = e^(a²)·erfc(a)."""

    def product(a):
        return mp.erfc(a) * mp.exp(a * a) * (1 + 2 * a)

    middle = product(mp.mpf(k))

    def value(q):
        if abs(q) < mp.mpf(2) ** -50:
            q = mp.mpf(2) ** -50
        return (product(k * (1 + q) / (1 - q)) - middle) / q

    return value


def central_inverse(w):
    """(erfinv(x)/x − √π/2)/w over w = −log(1 − x²)."""
    # At w = 0 from the series: erfinv(x)/x = √π/2·(1 + π/12·x² + …), and x² = w − …
    if w < mp.mpf(2) ** -40:
        return mp.sqrt(mp.pi) * mp.pi / 24
    return (inverse_from_log(w) / mp.sqrt(1 - mp.exp(-w)) - mp.sqrt(mp.pi) / 2) / w


def tail_inverse(u):
    """1 − erfinv(x)·u over u = 1/√w."""
    return 1 - inverse_from_log(1 / (u * u)) * u


def around(function, middle):
    return lambda t: function(t + mp.mpf(middle))


def one(_):
    return mp.mpf(1)


def root_weight(t):
    """Of 1 − p(t)² for p² = erfc(t + 1); far out p itself has to stay small."""
    a = t + 1
    return max(2 * mp.sqrt(mp.erfc(a)), mp.mpf(2) ** -11) / mp.erf(a)


QUARTER = mp.mpf("0.7863")  # π/4 and what rounding the quotient adds
HALF_LN2 = mp.log(2) / 2 * mp.mpf("1.0001")
ATANH_END = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.0001")
ATAN_END = (mp.sqrt(2) - 1) ** 2 * mp.mpf("1.0001")

# name: (f, weight, {kind: (low, high, coefficients)})
DEFINITIONS = {
    # e^r = 1 + r + r²·p(r)
    "exp": (series(lambda r: (mp.expm1(r) - r) / r**2, 0.5), lambda r: r * r / mp.exp(r),
            {"f32": (-HALF_LN2, HALF_LN2, 6), "f64": (-HALF_LN2, HALF_LN2, 11)}),
    # The same with what one multiply-add after the other makes of it
    "exp_short": (series(lambda r: (mp.expm1(r) - r) / r**2, 0.5), lambda r: r * r / mp.exp(r),
                  {"f32": (-HALF_LN2, HALF_LN2, 5)}),
    # log(1 + f) = f − f²/2 + f³·p(f)
    "log1p": (series(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, mp.mpf(1) / 3), lambda f: f * f,
              {"f32": (mp.sqrt(0.5) - 1, mp.sqrt(2) - 1, 9)}),
    "log1p_short": (series(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, mp.mpf(1) / 3), lambda f: f * f,
                    {"f32": (-mp.mpf(1) / 3, mp.mpf(1) / 3, 8)}),
    # log((1+s)/(1−s)) = 2s + s³·(2/3 + z·p(z)), z = s²
    "log": (series(of_root(lambda s: (2 * mp.atanh(s) - 2 * s - 2 * s**3 / 3) / s**5), mp.mpf(2) / 5, mp.mpf(2) ** -40),
            lambda z: z * z / 2, {"f32": (0, ATANH_END, 3), "f64": (0, ATANH_END, 9)}),
    # sin r = r + r³·p(r²), cos r = 1 − r²/2 + r⁴·p(r²)
    "sin": (series(of_root(lambda r: (mp.sin(r) - r) / r**3), -mp.mpf(1) / 6, mp.mpf(2) ** -40), lambda z: z,
            {"f32": (0, QUARTER**2, 4), "f64": (0, QUARTER**2, 7)}),
    "cos": (series(of_root(lambda r: (mp.cos(r) - 1 + r * r / 2) / r**4), mp.mpf(1) / 24, mp.mpf(2) ** -30),
            lambda z: z * z, {"f32": (0, QUARTER**2, 3), "f64": (0, QUARTER**2, 7)}),
    # asin x = x + x³·p(x²) up to 1/2
    "asin": (series(of_root(lambda x: (mp.asin(x) - x) / x**3), mp.mpf(1) / 6, mp.mpf(2) ** -40), lambda z: z,
             {"f32": (0, 0.25, 6), "f64": (0, 0.25, 13)}),
    # atan t = t + t³·p(t²) up to tan(π/8)
    "atan": (series(of_root(lambda t: (mp.atan(t) - t) / t**3), -mp.mpf(1) / 3, mp.mpf(2) ** -40), lambda z: z,
             {"f32": (0, ATAN_END, 5), "f64": (0, ATAN_END, 11)}),
    # sinh x = x + x³·p(x²) up to 1
    "sinh": (series(of_root(lambda x: (mp.sinh(x) - x) / x**3), mp.mpf(1) / 6, mp.mpf(2) ** -40), lambda z: z,
             {"f32": (0, 1, 4), "f64": (0, 1, 8)}),
    # tanh x = x + x³·p(x²) up to 1
    "tanh": (series(of_root(lambda x: (mp.tanh(x) - x) / x**3), -mp.mpf(1) / 3, mp.mpf(2) ** -40),
             lambda z: z if z == 0 else z * mp.sqrt(z) / mp.tanh(mp.sqrt(z)), {"f32": (0, mp.mpf("1.01"), 7)}),
    # A first guess of the cube root of 1 to 2
    "cbrt": (mp.cbrt, one, {"f32": (1, 2, 4), "f64": (1, 2, 6)}),
    # erf x = x + x·p(x²) up to 1
    "erf": (series(of_root(lambda x: mp.erf(x) / x - 1), 2 / mp.sqrt(mp.pi) - 1, mp.mpf(2) ** -40), one,
            {"f32": (0, 1, 7), "f64": (0, 1, 15)}),
    # The same up to 53/64, and erf a = 1 − p(a − 1)² from there on
    "erf_near": (series(of_root(lambda x: mp.erf(x) / x - 1), 2 / mp.sqrt(mp.pi) - 1, mp.mpf(2) ** -40), one,
                 {"f32": (0, 0.828125**2, 6)}),
    "erf_root": (around(lambda a: mp.sqrt(mp.erfc(a)), 1), root_weight, {"f32": (-0.171875, 2.94, 12)}),
    # erfc a = e^(−a²)·(c + q·p(q))/(1 + 2a), c = erfcx(k)·(1 + 2k)
    "erfc_f32": (erfcx_scaled(2), abs, {"f32": (-0.601, 0.6802, 12)}),
    "erfc_f64": (erfcx_scaled(4), abs, {"f64": (-0.685, 0.7461, 23)}),
    # erfinv(x) = x·(√π/2 + w·p(w − 5/4)), w = −log(1 − x²); erfinv(x) = s·(1 − p(1/s − a middle)), s = √w
    "erfinv": (around(central_inverse, 1.25), lambda t: (t + mp.mpf(1.25)) / 2,
               {"f32": (-1.25, 1.25, 9), "f64": (-1.25, 1.25, 20)}),
    "erfinv_near": (around(tail_inverse, 0.515625), one, {"f32": (-0.117, 0.118, 11), "f64": (-0.117, 0.118, 21)}),
    "erfinv_tail_f32": (around(tail_inverse, 0.25), one, {"f32": (-0.153, 0.151, 11)}),
    "erfinv_tail_f64": (around(tail_inverse, 0.296875), one, {"f64": (-0.098, 0.105, 22)}),
    "erfinv_far": (around(tail_inverse, 0.140625), one, {"f64": (-0.051, 0.06, 21)}),
    "erfinv_end": (around(tail_inverse, 0.0625), one, {"f64": (-0.0261, 0.028, 19)}),
}

# Coefficients of the fits above after polish.cpp, which counts roundings too. They belong to the order of operations in
# their functions.
POLISHED = {
    "exp_short": "0.49999994 0.166665137 0.0416683815 0.00836938526 0.00138128258",
    "log1p_short": "0.33333239 -0.249996558 0.200100079 -0.16685541 0.140111268 -0.121148072 0.139518514 -0.132379949",
    "erf_near": "0.128379166 -0.376125872 0.112829387 -0.0268128514 0.00506957388 -0.000642811763",
    "erf_root": "0.396609634 -0.52331996 0.178064153 0.0605094321 -0.0473435968 -0.00236634794 "
                "0.0073750494 -0.000211838342 -0.00140061404 0.000567769108 -9.6039279e-05 6.31619332e-06",
}

# Chains that a polynomial is split into; by default more for longer ones. One chain rounds least and takes the fewest
# operations.
WAYS = {"exp_short": 1, "erf_near": 1, "erf_root": 1, "tanh": 1}

TWO_OVER_PI = '''def _two_over_pi(i):
    # Words i to i + 6 of the binary digits of 2/π behind a word of zeros: halves are chosen bit by bit of i.
'''


def two_over_pi():
    """The bits of 2/π that arguments up to 2^1024 need, as a function that shifts by its index."""
    with mp.workprec(1400):
        digits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** 1216))
    words = ["0x00000000"] + [f"0x{digits >> (1216 - 32 * k) & 0xFFFFFFFF:08X}" for k in range(1, 39)]
    names = [f"uint32({w})" for w in words]
    text = TWO_OVER_PI
    for bit in (16, 8, 4, 2, 1):
        left = 7 + bit - 1
        text += f"    b = (i & int32({bit})) != int32(0)\n"
        for k in range(left):
            shifted = names[k + bit] if k + bit < len(names) else names[-1]
            text += f"    w{k} = where(b, {shifted}, {names[k]})\n"
        names = [f"w{k}" for k in range(left)]
    wide = ", ".join(f"uint64(w{k})" for k in range(7))
    return text + f"    return {wide}\n"


def horner(coefficients, variable):
    text = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        text = f"_fma({text}, {variable}, {c})"
    return text


def function_text(name, kind, coefficients):
    """Long chains are split: independent halves or quarters keep the units busy while each waits for its own latency."""
    numbers = [literal(c, kind) for c in coefficients]
    head = f"def _p_{name}_{kind}(x):\n"
    ways = WAYS.get(name, 1 if len(numbers) < 5 else 4 if len(numbers) >= 12 else 2)
    if ways == 1:
        first, rest = numbers[-1], numbers[:-1]
        body = f"    p = _fma(x, {first}, {rest[-1]})\n"
        for c in reversed(rest[:-1]):
            body += f"    p = _fma(p, x, {c})\n"
        return head + body + "    return p\n"
    body = "    y = x * x\n" + ("    z = y * y\n" if ways == 4 else "")
    step = "z" if ways == 4 else "y"
    for k in range(ways):
        part = numbers[k::ways]
        letter = "abcd"[k]
        body += f"    {letter} = _fma({step}, {part[-1]}, {part[-2]})\n"
        for c in reversed(part[:-2]):
            body += f"    {letter} = _fma({letter}, {step}, {c})\n"
    if ways == 4:
        body += "    a = _fma(b, x, a)\n    c = _fma(d, x, c)\n    return _fma(c, y, a)\n"
    else:
        body += "    return _fma(b, x, a)\n"
    return head + body


def fitted(name):
    """The text of each format's polynomial."""
    f, weight, formats = DEFINITIONS[name]
    for kind, (low, high, count) in formats.items():
        coefficients, error = fit(f, low, high, range(count), kind, weight)
        if name in POLISHED:
            coefficients = [rounded(c, kind) for c in POLISHED[name].split()]
            error = largest_error(f, low, high, range(count), coefficients, weight)
        bits = float(mp.log(error, 2))
        plain = name.removesuffix("_" + kind)
        print(f"{plain} {kind}: {count} coefficients, 2^{bits:.1f}", flush=True)
        note = f"# [{mp.nstr(mp.mpf(low), 5)}, {mp.nstr(mp.mpf(high), 5)}], 2^{bits:.1f}\n"
        yield f"_p_{plain}_{kind}", note + function_text(plain, kind, coefficients)


def main():
    path = Path(__file__).resolve().parents[2] / "src/stdlib/math_polynomials.py"
    wanted = sys.argv[1:] or list(DEFINITIONS)
    blocks = {}
    if sys.argv[1:]:
        for block in path.read_text().removeprefix(HEADER).strip("\n").split("\n\n\n"):
            blocks[block.split("def ")[1].split("(")[0]] = block + "\n"
    for name in wanted:
        blocks.update(fitted(name))
    blocks["_two_over_pi"] = two_over_pi()
    path.write_text("\n\n".join([HEADER, *blocks.values()]))


if __name__ == "__main__":
    main()
