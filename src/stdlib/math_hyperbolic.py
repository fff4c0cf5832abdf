# Hyperbolic functions by e^|x| as a sum of two numbers, and by polynomials where that would cancel.


def _cosh_sinh_f32(a, sign):
    # (e^a + sign·e^-a)/4 for 0 ≤ a, clamped where twice that is infinite.
    a = where(a > 90.0, float32(90.0), a)
    k, g, gl = _exp_parts_f32(a)
    h = g + gl
    l = (g - h) + gl
    # Quarters of 2^n·(h + l) and its inverse: the power alone may be twice the result.
    n = k - int32(1262485504)
    up = reinterpret((n + int32(125)) << int32(23), float32)
    down = reinterpret((int32(125) - n) << int32(23), float32)
    i = _tame_quotient(float32(1.0), h)
    il = (_fma(-h, i, float32(1.0)) - i * l) * i
    # Below 2^-24 of the sum the inverse does not count.
    q = where(n > int32(14), float32(0.0), sign * i * down)
    ql = where(n > int32(14), float32(0.0), sign * il * down)
    b = h * up
    s = b + q
    return s, ((b - s) + q) + (l * up + ql)


def _sinh_f32(x):
    a = abs(x)
    h, l = _cosh_sinh_f32(a, float32(-1.0))
    z = a * a
    y = where(a < 1.0, _fma(z * a, _p_sinh_f32(z), a), 2.0 * (h + l))
    y = where(a > 89.4159851, _inf_f32(), y)
    y = where(x != x, x, y)
    return _with_sign_f32(y, x)


def _cosh_f32(x):
    a = abs(x)
    h, l = _cosh_sinh_f32(a, float32(1.0))
    y = where(a > 89.4159851, _inf_f32(), 2.0 * (h + l))
    return where(x != x, x, y)


def _tanh_f32(x):
    # Up to 1 a polynomial, from there on 1 − 2t/(1 + t) with t = e^(−2|x|).
    a = abs(x)
    z = a * a
    near = _fma(a * z, _p_tanh_f32(z), a)
    k, y = _exp_near_f32(-2.0 * where(a > 10.0, float32(10.0), a))
    t = y * reinterpret((k - int32(1262485504) + int32(127)) << int32(23), float32)
    far = _fma(-2.0 * t, _tame_quotient(float32(1.0), 1.0 + t), float32(1.0))
    y = where(a < 1.0, near, far)
    y = where(x != x, x, y)
    return _with_sign_f32(y, x)


def _cosh_sinh_f64(a, sign):
    a = where(a > 712.0, float64(712.0), a)
    k, g, gl = _exp_parts_f64(a)
    h = g + gl
    l = (g - h) + gl
    n = k - int64(4843621399236968448)
    up = reinterpret((n + int64(1021)) << int64(52), float64)
    down = reinterpret((int64(1021) - n) << int64(52), float64)
    i = 1.0 / h
    il = (_fma(-h, i, float64(1.0)) - i * l) * i
    q = where(n > int64(28), float64(0.0), sign * i * down)
    ql = where(n > int64(28), float64(0.0), sign * il * down)
    b = h * up
    s = b + q
    return s, ((b - s) + q) + (l * up + ql)


def _sinh_f64(x):
    a = abs(x)
    h, l = _cosh_sinh_f64(a, float64(-1.0))
    z = a * a
    y = where(a < 1.0, _fma(z * a, _p_sinh_f64(z), a), 2.0 * (h + l))
    y = where(a > 710.4758600739439, _inf_f64(), y)
    y = where(x != x, x, y)
    return _with_sign_f64(y, x)


def _cosh_f64(x):
    a = abs(x)
    h, l = _cosh_sinh_f64(a, float64(1.0))
    y = where(a > 710.4758600739439, _inf_f64(), 2.0 * (h + l))
    return where(x != x, x, y)


def _tanh_f64(x):
    a = abs(x)
    b = where(a > 32.0, float64(32.0), a)
    k, r, rl = _exp_reduce_f64(-2.0 * b)
    p = _fma(r * r, _p_exp_f64(r), rl * (1.0 + r))
    t = r + p
    tl = (r - t) + p
    up = reinterpret((reinterpret(k, int64) - int64(4843621399236968448) + int64(1023)) << int64(52), float64)
    u = up - 1.0
    ul = up - (u + 1.0)
    m = u + t * up
    ml = ((u - m) + t * up) + (ul + tl * up)
    d = m + 2.0
    dl = ((2.0 - d) + m) + ml
    i = 1.0 / d
    q = m * i
    q = q + (_fma(-q, d, m) + (ml - q * dl)) * i
    y = where(a < 7.450580596923828e-09, _fma(-a * a, a * 0.3333333333333333, a), -q)
    y = where(x != x, x, y)
    return _with_sign_f64(y, x)
