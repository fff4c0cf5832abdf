# Inverse trigonometric functions. Quotients and square roots are followed by their remainders, which fma gives exactly.


def _atan_sum_f32(n, d):
    # atan(n/d) = h + l for 0 ≤ n ≤ d: above tan(π/8) by atan(n/d) = π/4 + atan((n − d)/(n + d)).
    far = n > 0.414213568 * d
    a, al = _two_sum(n, -d)
    b, bl = _two_sum(n, d)
    a = where(far, a, n)
    al = where(far, al, float32(0.0))
    b = where(far, b, d)
    bl = where(far, bl, float32(0.0))
    i = 1.0 / b
    t = a * i
    tl = (_fma(-t, b, a) + (al - t * bl)) * i
    z = t * t
    p = _fma(z * t, _p_atan_f32(z), tl)
    c = where(far, float32(0.785398185), float32(0.0))
    cl = where(far, float32(-2.18556941e-08), float32(0.0))
    h = c + t
    return h, ((c - h) + t) + (p + cl)


def _atan_f32(x):
    a = abs(x)
    inverse = a > 1.0
    # Above 2^64 the quotient would be denormal, and its remainder nothing: the result is π/2 all the same.
    a = where(a > 1.84467441e+19, float32(1.84467441e+19), a)
    h, l = _atan_sum_f32(where(inverse, float32(1.0), a), where(inverse, a, float32(1.0)))
    g = 1.57079637 - h
    gl = ((1.57079637 - g) - h) + (-4.37113883e-08 - l)
    y = where(inverse, g + gl, h + l)
    # Below 2^-12 the polynomial only adds what denormal arithmetic loses.
    y = where(a < 2.44140625e-04, _fma(a * a * a, -0.333333343, a), y)
    y = where(x != x, x, y)
    return _with_sign_f32(y, x)


def _atan2_f32(y, x):
    ay = abs(y)
    ax = abs(x)
    inf = _inf_f32()
    swap = ay > ax
    d = where(swap, ay, ax)
    n = where(swap, ax, ay)
    # Both infinite: as 1 and 1. Both zero: as 0 and 1.
    both = n == inf
    n = where(both, float32(1.0), n)
    d = where(both or d == 0.0, float32(1.0), d)
    # Sums and remainders must neither overflow nor be denormal.
    s = where(d > 1.84467441e+19, float32(5.42101086e-20), float32(1.0))
    s = where(d < 5.42101086e-20, float32(1.84467441e+19), s)
    n = n * s
    d = d * s
    h, l = _atan_sum_f32(n, where(d == inf, float32(1.0), d))
    h = where(d == inf, float32(0.0), h)
    l = where(d == inf, float32(0.0), l)
    # π/2 − a, then π − a.
    negative = reinterpret(x, int32) < int32(0)
    c = where(swap, float32(1.57079637), where(negative, float32(3.14159274), float32(0.0)))
    cl = where(swap, float32(-4.37113883e-08), where(negative, float32(-8.74227766e-08), float32(0.0)))
    flip = swap != negative
    h = where(flip, -h, h)
    l = where(flip, -l, l)
    g = c + h
    r = g + (((c - g) + h) + (l + cl))
    # A quotient below the normal numbers is rounded once, by a division.
    r = where(not swap and not negative and ay < ax * 2.44140625e-04, _small_quotient_f32(ay, ax), r)
    r = where(x != x or y != y, _nan_f32(), r)
    return _with_sign_f32(r, y)


def _small_quotient_f32(n, d):
    q = n / where(d == 0.0, float32(1.0), d)
    return _fma(q * q * q, -0.333333343, q)


def _asin_parts_f32(x):
    # For |x| ≤ 1/2: s = |x|, p the rest of asin(s). Above: asin(|x|) = π/2 − 2·(s + p) with s = √((1 − |x|)/2).
    a = abs(x)
    far = a > 0.5
    z = where(far, 0.5 - 0.5 * a, a * a)
    s = where(far, sqrt(z), a)
    sl = where(far and s > 0.0, _fma(-s, s, z) * (0.5 / where(s > 0.0, s, float32(1.0))), float32(0.0))
    return far, s, _fma(z * s, _p_asin_f32(z), sl)


def _asin_f32(x):
    far, s, p = _asin_parts_f32(x)
    h = 1.57079637 - 2.0 * s
    l = ((1.57079637 - h) - 2.0 * s) + (-4.37113883e-08 - 2.0 * p)
    y = where(far, h + l, s + p)
    y = where(abs(x) <= 1.0, y, _nan_f32())
    return _with_sign_f32(y, x)


def _acos_f32(x):
    far, s, p = _asin_parts_f32(x)
    negative = x < 0.0
    # |x| > 1/2: 2·(s + p), or π minus that. Else π/2 ∓ (s + p).
    t = where(far, 2.0 * s, where(negative, -s, s))
    tl = where(far, 2.0 * p, where(negative, -p, p))
    c = where(far, float32(3.14159274), float32(1.57079637))
    cl = where(far, float32(-8.74227766e-08), float32(-4.37113883e-08))
    h = c - t
    l = ((c - h) - t) + (cl - tl)
    y = where(far and not negative, t + tl, h + l)
    return where(abs(x) <= 1.0, y, _nan_f32())


def _atan_sum_f64(n, d):
    far = n > 0.41421356237309503 * d
    a, al = _two_sum(n, -d)
    b, bl = _two_sum(n, d)
    a = where(far, a, n)
    al = where(far, al, float64(0.0))
    b = where(far, b, d)
    bl = where(far, bl, float64(0.0))
    i = 1.0 / b
    t = a * i
    tl = (_fma(-t, b, a) + (al - t * bl)) * i
    z = t * t
    p = _fma(z * t, _p_atan_f64(z), tl)
    c = where(far, float64(0.7853981633974483), float64(0.0))
    cl = where(far, float64(3.061616997868383e-17), float64(0.0))
    h = c + t
    return h, ((c - h) + t) + (p + cl)


def _atan_f64(x):
    a = abs(x)
    inverse = a > 1.0
    a = where(a > 1.3407807929942597e+154, float64(1.3407807929942597e+154), a)
    h, l = _atan_sum_f64(where(inverse, float64(1.0), a), where(inverse, a, float64(1.0)))
    g = 1.5707963267948966 - h
    gl = ((1.5707963267948966 - g) - h) + (6.123233995736766e-17 - l)
    y = where(inverse, g + gl, h + l)
    y = where(a < 7.450580596923828e-09, _fma(a * a * a, -0.3333333333333333, a), y)
    y = where(x != x, x, y)
    return _with_sign_f64(y, x)


def _atan2_f64(y, x):
    ay = abs(y)
    ax = abs(x)
    inf = _inf_f64()
    swap = ay > ax
    d = where(swap, ay, ax)
    n = where(swap, ax, ay)
    both = n == inf
    n = where(both, float64(1.0), n)
    d = where(both or d == 0.0, float64(1.0), d)
    s = where(d > 1.3407807929942597e+154, float64(7.458340731200207e-155), float64(1.0))
    s = where(d < 7.458340731200207e-155, float64(1.3407807929942597e+154), s)
    n = n * s
    d = d * s
    h, l = _atan_sum_f64(n, where(d == inf, float64(1.0), d))
    h = where(d == inf, float64(0.0), h)
    l = where(d == inf, float64(0.0), l)
    negative = reinterpret(x, int64) < int64(0)
    c = where(swap, float64(1.5707963267948966), where(negative, float64(3.141592653589793), float64(0.0)))
    cl = where(swap, float64(6.123233995736766e-17), where(negative, float64(1.2246467991473532e-16), float64(0.0)))
    flip = swap != negative
    h = where(flip, -h, h)
    l = where(flip, -l, l)
    g = c + h
    r = g + (((c - g) + h) + (l + cl))
    r = where(not swap and not negative and ay < ax * 7.450580596923828e-09, _small_quotient_f64(ay, ax), r)
    r = where(x != x or y != y, _nan_f64(), r)
    return _with_sign_f64(r, y)


def _small_quotient_f64(n, d):
    q = n / where(d == 0.0, float64(1.0), d)
    return _fma(q * q * q, -0.3333333333333333, q)


def _asin_parts_f64(x):
    a = abs(x)
    far = a > 0.5
    z = where(far, 0.5 - 0.5 * a, a * a)
    s = where(far, sqrt(z), a)
    sl = where(far and s > 0.0, _fma(-s, s, z) * (0.5 / where(s > 0.0, s, float64(1.0))), float64(0.0))
    return far, s, _fma(z * s, _p_asin_f64(z), sl)


def _asin_f64(x):
    far, s, p = _asin_parts_f64(x)
    h = 1.5707963267948966 - 2.0 * s
    l = ((1.5707963267948966 - h) - 2.0 * s) + (6.123233995736766e-17 - 2.0 * p)
    y = where(far, h + l, s + p)
    y = where(abs(x) <= 1.0, y, _nan_f64())
    return _with_sign_f64(y, x)


def _acos_f64(x):
    far, s, p = _asin_parts_f64(x)
    negative = x < 0.0
    t = where(far, 2.0 * s, where(negative, -s, s))
    tl = where(far, 2.0 * p, where(negative, -p, p))
    c = where(far, float64(3.141592653589793), float64(1.5707963267948966))
    cl = where(far, float64(1.2246467991473532e-16), float64(6.123233995736766e-17))
    h = c - t
    l = ((c - h) - t) + (cl - tl)
    y = where(far and not negative, t + tl, h + l)
    return where(abs(x) <= 1.0, y, _nan_f64())
