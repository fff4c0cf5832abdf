# Logarithms and powers. x = 2^e·m with m in [√½, √2); log(m) = 2·atanh(s), s = (m − 1)/(m + 1), as a sum of two numbers
# where the result needs more than one.


def _log_split_f32(x):
    # Exponent and mantissa; denormal numbers are scaled first. Zero, infinity and NaN give anything.
    small = x < 1.17549435e-38
    b = reinterpret(where(small, x * 33554432.0, x), int32)
    e = (b - int32(0x3F3504F3)) >> int32(23)
    m = reinterpret(b - (e << int32(23)), float32)
    return float32(e) - where(small, float32(25.0), float32(0.0)), m


def _log_edges_f32(x, y):
    # y, but for arguments that are not positive and finite.
    y = where(x < _inf_f32(), y, x)
    return where(x > 0.0, y, where(x == 0.0, -_inf_f32(), _nan_f32()))


def _log_near_f32(b, scaled):
    # log of the positive number with these bits, that is 2^n·m with m in [2/3, 4/3); n·2^23 is an integer, less `scaled`.
    n = (b - int32(0x3F2AAAAB)) & int32(-8388608)
    f = reinterpret(b - n, float32) - 1.0
    y = _fma(_fma(_p_log1p_short_f32(f), f, float32(-0.5)), f * f, f)
    return _fma(float32(n - scaled), 8.26295832e-08, y)


def _log_f32(x):
    # Denormal numbers are scaled by 2^25.
    small = x < 1.17549435e-38
    b = reinterpret(where(small, x * 33554432.0, x), int32)
    return _log_edges_f32(x, _log_near_f32(b, where(small, int32(209715200), int32(0))))


def _log_core_f32(x):
    # The same for positive numbers that are neither denormal nor infinite.
    return _log_near_f32(reinterpret(x, int32), int32(0))


def _log_sum_f32(m):
    # log(m) = h + l to about 2^-38 relative; l may be some units of h's last place.
    f = m - 1.0
    d = m + 1.0
    dl = (1.0 - d) + m
    i = _tame_quotient(float32(1.0), d)
    s = f * i
    sl = _fma(-s, dl, _fma(-s, d, f)) * i
    s2 = s + s
    z = s * s
    zl = _fma(s2, sl, _fma(s, s, -z))
    # s³·(2/3 + z·p(z)), its factor as a sum.
    p = _fma(z, _p_log_f32(z), -1.98682155e-08)
    c = 0.666666687 + p
    cl = (0.666666687 - c) + p
    t = z * c
    tl = _fma(z, cl, _fma(zl, c, _fma(z, c, -t)))
    u = s * t
    ul = _fma(s, tl, _fma(sl, t, _fma(s, t, -u)))
    h = s2 + u
    return h, ((s2 - h) + u) + _fma(2.0, sl, ul)


def _log_base_f32(x, c, cl):
    # log(x)·c for a constant c + cl that turns the natural logarithm into another: e apart, log(m)·c as p + pl.
    e, m = _log_split_f32(x)
    f = m - 1.0
    # f − f²/2 as a sum, with the rest.
    half = 0.5 * f * f
    g = f - half
    gl = ((f - g) - half) + _fma(f * f, f * _p_log1p_f32(f), -_fma(0.5 * f, f, -half))
    p = g * c
    return e, p, _fma(g, c, -p) + _fma(g, cl, gl * c)


def _log2_f32(x):
    e, p, pl = _log_base_f32(x, float32(1.44269502), float32(1.92596303e-08))
    h = e + p
    return _log_edges_f32(x, h + (((e - h) + p) + pl))


def _log10_f32(x):
    e, p, pl = _log_base_f32(x, float32(0.434294492), float32(-1.010305e-08))
    a = e * 0.30103001
    al = _fma(e, 0.30103001, -a) - e * 1.43209888e-08
    h = a + p
    return _log_edges_f32(x, h + (((a - h) + p) + (pl + al)))


def _pow_f32(x, y):
    e, m = _log_split_f32(abs(x))
    h, l = _log_sum_f32(m)
    # y·log|x| = p + pl.
    a = e * 0.693147182
    l = l + _fma(e, -1.90465421e-09, _fma(e, 0.693147182, -a))
    s = a + h
    sl = ((a - s) + h) + l
    p = s * y
    pl = _fma(sl, y, _fma(s, y, -p))
    k, h, l = _exp_sum_f32(p, pl)
    t = h + l
    r = reinterpret(reinterpret(t, int32) + (k << int32(23)), float32)
    # All else is rare: x not positive and finite, results near the ends of the range or beyond, infinite or NaN y.
    if not (reinterpret(x, uint32) - uint32(1) < uint32(0x7F7FFFFF) and abs(p) < 87.0):
        inf = _inf_f32()
        r = _scale_f32(t, k, int32(0))
        r = where(p > 89.0, inf, where(p < -104.5, float32(0.0), r))
        half = y * 0.5
        negative = reinterpret(x, int32) < int32(0)
        r = _pow_edges(x, y, r, negative, inf, _nan_f32(), rint(y) == y, rint(half) == half)
    return r


def _pow_edges(x, y, r, negative, inf, nan, whole, even):
    # C99 Annex F. |y| so large that halving it means nothing is even.
    ax = abs(x)
    odd = whole and not even
    zero = type(x)(0.0)
    one = type(x)(1.0)
    r = where(ax == zero, where(y < zero, inf, zero), r)
    r = where(ax == inf, where(y < zero, zero, inf), r)
    r = where(abs(y) == inf, where((ax > one) == (y > zero), inf, zero), r)
    r = where(negative and odd, -r, r)
    r = where(negative and not whole and ax != zero and ax != inf, nan, r)
    r = where(x != x or y != y, nan, r)
    r = where(abs(y) == inf and ax == one, one, r)
    return where(y == zero or x == one, one, r)


def _log_split_f64(x):
    small = x < 2.2250738585072014e-308
    b = reinterpret(where(small, x * 18014398509481984.0, x), int64)
    # Logical shifts of a number made positive.
    e = int64(uint64(b - int64(0x3FE6A09E667F3BCD) + int64(0x4000000000000000)) >> uint64(52)) - int64(1024)
    m = reinterpret(b - (e << int64(52)), float64)
    # The exponent as a float without a conversion of 64-bit integers, which few processors have in vectors.
    f = reinterpret(e + int64(4843621399236968448), float64) - 6755399441055744.0
    return f - where(small, float64(54.0), float64(0.0)), m


def _log_edges_f64(x, y):
    y = where(x < _inf_f64(), y, x)
    return where(x > 0.0, y, where(x == 0.0, -_inf_f64(), _nan_f64()))


def _log_f64(x):
    e, m = _log_split_f64(x)
    f = m - 1.0
    s = f / (m + 1.0)
    z = s * s
    # log(1 + f) = f − (f²/2 − s·(f²/2 + R)): f is exact, the rest small.
    half = 0.5 * f * f
    r = z * _fma(z, _p_log_f64(z), 0.6666666666666666)
    q = _fma(s, half + r, e * 2.3190468138462996e-17) - half
    a = e * 0.6931471805599453
    q = q + (_fma(e, 0.6931471805599453, -a) - _fma(0.5 * f, f, -half))
    h = a + f
    return _log_edges_f64(x, h + (((a - h) + f) + q))


def _log_sum_f64(m):
    f = m - 1.0
    d = m + 1.0
    dl = (1.0 - d) + m
    i = 1.0 / d
    s = f * i
    sl = _fma(-s, dl, _fma(-s, d, f)) * i
    s2 = s + s
    z = s * s
    zl = _fma(s2, sl, _fma(s, s, -z))
    p = _fma(z, _p_log_f64(z), 3.700743415417188e-17)
    c = 0.6666666666666666 + p
    cl = (0.6666666666666666 - c) + p
    t = z * c
    tl = _fma(z, cl, _fma(zl, c, _fma(z, c, -t)))
    u = s * t
    ul = _fma(s, tl, _fma(sl, t, _fma(s, t, -u)))
    h = s2 + u
    return h, ((s2 - h) + u) + _fma(2.0, sl, ul)


def _log_base_f64(x, c, cl):
    e, m = _log_split_f64(x)
    h, l = _log_sum_f64(m)
    p = h * c
    return e, p, _fma(h, c, -p) + _fma(h, cl, l * c)


def _log2_f64(x):
    e, p, pl = _log_base_f64(x, float64(1.4426950408889634), float64(2.0355273740931033e-17))
    h = e + p
    return _log_edges_f64(x, h + (((e - h) + p) + pl))


def _log10_f64(x):
    e, p, pl = _log_base_f64(x, float64(0.4342944819032518), float64(1.098319650216765e-17))
    a = e * 0.3010299956639812
    al = _fma(e, 0.3010299956639812, -a) - e * 2.8037281277851704e-18
    h = a + p
    return _log_edges_f64(x, h + (((a - h) + p) + (pl + al)))


def _pow_f64(x, y):
    e, m = _log_split_f64(abs(x))
    h, l = _log_sum_f64(m)
    a = e * 0.6931471805599453
    l = l + _fma(e, 2.3190468138462996e-17, _fma(e, 0.6931471805599453, -a))
    s = a + h
    sl = ((a - s) + h) + l
    p = s * y
    pl = _fma(sl, y, _fma(s, y, -p))
    k, h, l = _exp_sum_f64(p, pl)
    t = h + l
    r = reinterpret(reinterpret(t, int64) + (k << int64(52)), float64)
    if not (reinterpret(x, uint64) - uint64(1) < uint64(0x7FEFFFFFFFFFFFFF) and abs(p) < 708.0):
        inf = _inf_f64()
        r = _scale_f64(t, k, int64(0))
        r = where(p > 710.0, inf, where(p < -746.0, float64(0.0), r))
        half = y * 0.5
        negative = reinterpret(x, int64) < int64(0)
        r = _pow_edges(x, y, r, negative, inf, _nan_f64(), rint(y) == y, rint(half) == half)
    return r
