# Exponentials. exp(x) = 2^n·e^r with |r| ≤ ln(2)/2 (Cody and Waite); where more is made of it e^r comes as a sum of two
# numbers, so that the last rounding is the only one that counts. Adding 1.5·2^23 (2^52) rounds to an integer and leaves it
# in the low bits.


def _exp_tail_f32(r, rl):
    # e^(r + rl) = h + l with h = 1 + r rounded.
    h = 1.0 + r
    l = (1.0 - h) + r
    return h, l + _fma(r * r, _p_exp_f32(r), rl * h)


def _exp_reduce_f32(x):
    # n = x/ln(2) rounded, as n + 1.5·2^23, and x − n·ln(2) = r + rl.
    k = _fma(x, 1.44269502e+00, 12582912.0)
    n = k - 12582912.0
    a = _fma(n, -6.93147182e-01, x)
    r = _fma(n, 1.90465421e-09, a)
    return k, r, _fma(n, 1.90465421e-09, a - r)


def _exp_parts_f32(x):
    # e^x = 2^n·(h + l); n comes as the bits of n + 1.5·2^23.
    k, r, rl = _exp_reduce_f32(x)
    h, l = _exp_tail_f32(r, rl)
    return reinterpret(k, int32), h, l


def _exp_sum_f32(x, xl):
    # The same for x + xl with an xl so small that its exponential is 1 + xl. x − n·ln(2) without the last digits of ln(2) is
    # exact; these go with xl.
    k = _fma(x, 1.44269502e+00, 12582912.0)
    n = k - 12582912.0
    r = _fma(n, -6.93147182e-01, x)
    h = 1.0 + r
    l = _fma(r * r, _p_exp_f32(r), (1.0 - h) + r)
    return reinterpret(k, int32), h, _fma(h + l, _fma(n, 1.90465421e-09, xl), l)


def _scale_f32(x, k, shift):
    # x·2^(n + shift) in two steps: the first may not overflow, the second may round to a denormal number.
    n = k - int32(1262485504) + shift
    a = n >> int32(1)
    b = n - a
    return x * reinterpret((a + int32(127)) << int32(23), float32) * reinterpret((b + int32(127)) << int32(23), float32)


def _exp_near_f32(x):
    # e^x = 2^n·y; n comes as the bits of n + 1.5·2^23. x − n·ln(2) is exact but for the last digits of ln(2).
    k = _fma(x, 1.44269502e+00, 12582912.0)
    n = k - 12582912.0
    r = _fma(n, 1.90465421e-09, _fma(n, -6.93147182e-01, x))
    return reinterpret(k, int32), _fma(_fma(_p_exp_short_f32(r), r, float32(1.0)), r, float32(1.0))


def _exp_f32(x):
    k, y = _exp_near_f32(x)
    y = _scale_f32(y, k, int32(0))
    y = where(x > 88.7228394, _inf_f32(), y)
    return where(x < -103.972084, float32(0.0), y)


def _exp_core_f32(x):
    # The same for |x| < 87, where results are far from the ends of the range.
    k, y = _exp_near_f32(x)
    return reinterpret(reinterpret(y, int32) + (k << int32(23)), float32)


def _exp2_f32(x):
    k = x + 12582912.0
    t = x - (k - 12582912.0)
    r = t * 6.93147182e-01
    rl = _fma(t, -1.90465421e-09, _fma(t, 6.93147182e-01, -r))
    h, l = _exp_tail_f32(r, rl)
    y = _scale_f32(h + l, reinterpret(k, int32), int32(0))
    y = where(x >= 128.0, _inf_f32(), y)
    return where(x < -150.0, float32(0.0), y)


def _inf_f32():
    return reinterpret(uint32(0x7F800000), float32)


def _with_sign_f32(x, y):
    # x, which has no sign, with that of y.
    return reinterpret(reinterpret(x, uint32) | (reinterpret(y, uint32) & uint32(0x80000000)), float32)


def _nan_f32():
    return reinterpret(uint32(0x7FC00000), float32)


def _exp_tail_f64(r, rl):
    h = 1.0 + r
    l = (1.0 - h) + r
    return h, l + _fma(r * r, _p_exp_f64(r), rl * h)


def _exp_reduce_f64(x):
    k = _fma(x, 1.4426950408889634, 6755399441055744.0)
    n = k - 6755399441055744.0
    a = _fma(n, -0.6931471805599453, x)
    r = _fma(n, -2.3190468138462996e-17, a)
    return k, r, _fma(n, -2.3190468138462996e-17, a - r)


def _exp_parts_f64(x):
    k, r, rl = _exp_reduce_f64(x)
    h, l = _exp_tail_f64(r, rl)
    return reinterpret(k, int64), h, l


def _exp_sum_f64(x, xl):
    k = _fma(x, 1.4426950408889634, 6755399441055744.0)
    n = k - 6755399441055744.0
    r = _fma(n, -0.6931471805599453, x)
    h = 1.0 + r
    l = _fma(r * r, _p_exp_f64(r), (1.0 - h) + r)
    return reinterpret(k, int64), h, _fma(h + l, _fma(n, -2.3190468138462996e-17, xl), l)


def _scale_f64(x, k, shift):
    # A shift of unsigned numbers: few processors shift signed 64-bit ones in vectors.
    n = k - int64(4843621399236968448) + shift
    a = int64(uint64(n + int64(4096)) >> uint64(1)) - int64(2048)
    b = n - a
    return x * reinterpret((a + int64(1023)) << int64(52), float64) * reinterpret((b + int64(1023)) << int64(52), float64)


def _exp_f64(x):
    k, h, l = _exp_parts_f64(x)
    y = _scale_f64(h + l, k, int64(0))
    y = where(x > 709.782712893384, _inf_f64(), y)
    return where(x < -745.1332191019412, float64(0.0), y)


def _exp2_f64(x):
    k = x + 6755399441055744.0
    t = x - (k - 6755399441055744.0)
    r = t * 0.6931471805599453
    rl = _fma(t, 2.3190468138462996e-17, _fma(t, 0.6931471805599453, -r))
    h, l = _exp_tail_f64(r, rl)
    y = _scale_f64(h + l, reinterpret(k, int64), int64(0))
    y = where(x >= 1024.0, _inf_f64(), y)
    return where(x < -1075.0, float64(0.0), y)


def _inf_f64():
    return reinterpret(uint64(0x7FF0000000000000), float64)


def _with_sign_f64(x, y):
    return reinterpret(reinterpret(x, uint64) | (reinterpret(y, uint64) & uint64(0x8000000000000000)), float64)


def _nan_f64():
    return reinterpret(uint64(0x7FF8000000000000), float64)
