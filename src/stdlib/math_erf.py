# Error functions. erf(a) = 1 − p(a)² in float32, without a branch, for the root of erfc bends little; erfc(a) =
# e^(−a²)·erfcx(a) with a² as a sum of two numbers; the inverses are polynomials in w = −log(1 − x²), or 1/√w where that
# is large.


def _erfc_tail_f32(a):
    # erfc(a) = 2^n·(h + l) for a ≥ 0, as far as it is not 0; n in the form of _exp_parts_f32.
    s = a * a
    k, h, l = _exp_sum_f32(-s, -_fma(a, a, -s))
    n = a - 2.0
    d = a + 2.0
    i = 1.0 / d
    q = n * i
    q = q + _fma(-q, d, n) * i
    r = _p_erfc_f32(q)
    t = q * r
    p = 1.27697837 + t
    pl = (1.27697837 - p) + t + (_fma(q, r, -t) + 8.025002e-09)
    # p/(1 + 2a) and its remainder.
    b = _fma(a, 2.0, float32(1.0))
    bl = _fma(a, 2.0, 1.0 - b)
    j = 1.0 / b
    u = p * j
    ul = (_fma(-u, b, p) + (pl - u * bl)) * j
    y = u * h
    return k, y, _fma(u, h, -y) + _fma(u, l, ul * h)


def _erf_f32(x):
    a = abs(x)
    # Far from 0 as 1 minus the square of a polynomial, and 1 where it is held. The difference is exact.
    b = where(a > 3.94, float32(3.94), a)
    u = _p_erf_root_f32(b - 1.0)
    # Not-a-number takes the way of small numbers.
    y = where(a > 0.828125, _fma(-u, u, float32(1.0)), _fma(a, _p_erf_near_f32(a * a), a))
    return _with_sign_f32(y, x)


def _erfc_f32(x):
    a = abs(x)
    # Near 0: 1 − x − x·p(x²), the first difference exactly.
    h = 1.0 - x
    y = h + (((1.0 - h) - x) - x * _p_erf_f32(x * x))
    if a > 0.5:
        b = where(a > 10.5, float32(10.5), a)
        k, h, l = _erfc_tail_f32(b)
        # For x < 0: 2 − erfc(a), where the small part still counts.
        t = _scale_f32(h, k, int32(0))
        tl = _scale_f32(l, k, int32(0))
        g = 2.0 - t
        y = where(x < 0.0, g + (((2.0 - g) - t) - tl), _scale_f32(h + l, k, int32(0)))
    return where(x != x, x, y)


def _inverse_f32(c, cl, w):
    # erfinv(c + cl) for w = −log(1 − (c + cl)²); next to ±1 only the sign of c counts.
    a = c * 0.886226952
    al = _fma(c, 0.886226952, -a)
    g = _fma(w, _p_erfinv_f32(w - 1.25), -2.66231996e-08)
    y = a + (al + _fma(c, g, cl * (0.886226952 + g)))
    if w > 2.5:
        s = sqrt(w)
        sl = _fma(-s, s, w) * (0.5 / s)
        u = 1.0 / s
        g = _p_erfinv_near_f32(u - 0.515625)
        if u < 0.4:
            g = _p_erfinv_tail_f32(u - 0.25)
        y = _with_sign_f32(s + (sl - s * g), c)
    return y


def _erfinv_f32(x):
    a = abs(x)
    y = _inverse_f32(x, float32(0.0), -_log_f32((1.0 - a) * (1.0 + a)))
    y = where(a < 1.0, y, where(a == 1.0, _with_sign_f32(_inf_f32(), x), _nan_f32()))
    return where(x == 0.0, x, y)


def _erfcinv_f32(x):
    # erfinv(1 − x); 1 − (1 − x)² = x·(2 − x).
    c = 1.0 - x
    w = -_log_f32(x * (2.0 - x))
    y = _inverse_f32(c, (1.0 - c) - x, w)
    inside = x > 0.0 and x < 2.0
    edge = where(x == 0.0, _inf_f32(), where(x == 2.0, -_inf_f32(), _nan_f32()))
    return where(inside, y, edge)



def _erfc_tail_f64(a):
    s = a * a
    k, h, l = _exp_sum_f64(-s, -_fma(a, a, -s))
    n = a - 4.0
    d = a + 4.0
    i = 1.0 / d
    q = n * i
    q = q + _fma(-q, d, n) * i
    r = _p_erfc_f64(q)
    t = q * r
    p = 1.2329951186255526 + t
    pl = (1.2329951186255526 - p) + t + (_fma(q, r, -t) + -4.625318921008717e-17)
    b = _fma(a, 2.0, float64(1.0))
    bl = _fma(a, 2.0, 1.0 - b)
    j = 1.0 / b
    u = p * j
    ul = (_fma(-u, b, p) + (pl - u * bl)) * j
    y = u * h
    return k, y, _fma(u, h, -y) + _fma(u, l, ul * h)


def _erf_f64(x):
    a = abs(x)
    z = a * a
    y = _fma(a, _p_erf_f64(z), a)
    if a > 0.75:
        b = where(a > 6.5, float64(6.5), a)
        k, h, l = _erfc_tail_f64(b)
        y = 1.0 - _scale_f64(h + l, k, int64(0))
    y = where(x != x, x, y)
    return _with_sign_f64(y, x)


def _erfc_f64(x):
    a = abs(x)
    h = 1.0 - x
    y = h + (((1.0 - h) - x) - x * _p_erf_f64(x * x))
    if a > 0.75:
        b = where(a > 27.5, float64(27.5), a)
        k, h, l = _erfc_tail_f64(b)
        t = _scale_f64(h, k, int64(0))
        tl = _scale_f64(l, k, int64(0))
        g = 2.0 - t
        y = where(x < 0.0, g + (((2.0 - g) - t) - tl), _scale_f64(h + l, k, int64(0)))
    return where(x != x, x, y)


def _inverse_f64(c, w):
    a = c * 0.886226925452758
    al = _fma(c, 0.886226925452758, -a)
    y = a + (al + c * _fma(w, _p_erfinv_f64(w - 1.25), -3.8332932499128993e-17))
    if w > 2.5:
        s = sqrt(w)
        sl = _fma(-s, s, w) * (0.5 / s)
        u = 1.0 / s
        g = _p_erfinv_near_f64(u - 0.515625)
        if u < 0.4:
            g = _p_erfinv_tail_f64(u - 0.296875)
        if u < 0.2:
            g = _p_erfinv_far_f64(u - 0.140625)
        if u < 0.09:
            g = _p_erfinv_end_f64(u - 0.0625)
        y = _with_sign_f64(s + (sl - s * g), c)
    return y


def _erfinv_f64(x):
    a = abs(x)
    y = _inverse_f64(x, -_log_f64((1.0 - a) * (1.0 + a)))
    y = where(a < 1.0, y, where(a == 1.0, _with_sign_f64(_inf_f64(), x), _nan_f64()))
    return where(x == 0.0, x, y)


def _erfcinv_f64(x):
    c = 1.0 - x
    w = -_log_f64(x * (2.0 - x))
    y = _inverse_f64(c, w)
    inside = x > 0.0 and x < 2.0
    edge = where(x == 0.0, _inf_f64(), where(x == 2.0, -_inf_f64(), _nan_f64()))
    return where(inside, y, edge)
