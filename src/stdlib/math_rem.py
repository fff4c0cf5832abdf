# The remainder of floats, exact as C's fmod: a quotient that fits is rounded at most one up, which the sign of the
# remainder shows; larger ones are taken off in pieces.


def _rem_step_f32(x, y):
    # x − trunc(x/y)·y for 0 ≤ x, 0 < y, x/y < 2^24.
    q = trunc(x / y)
    r = _fma(-q, y, x)
    return where(r < 0.0, r + y, r)


def _exponent_f32(x):
    small = x < 1.17549435e-38
    b = reinterpret(where(small, x * 16777216.0, x), int32)
    return (b >> int32(23)) - where(small, int32(24), int32(0))


def _rem_f32(x, y):
    a = abs(x)
    b = abs(y)
    good = a < _inf_f32() and b > 0.0
    a = where(good, a, float32(0.0))
    b = where(good, b, float32(1.0))
    r = a
    while r >= b * 4194304.0:
        # 2^n·b lies between r/2^23 and r/2^21: the power in two factors, since it may exceed the largest number.
        n = _exponent_f32(r) - _exponent_f32(b) - int32(22)
        m = n >> int32(1)
        c = b * reinterpret((m + int32(127)) << int32(23), float32)
        c = c * reinterpret((n - m + int32(127)) << int32(23), float32)
        r = _rem_step_f32(r, c)
    r = where(r >= b, _rem_step_f32(r, b), r)
    r = _with_sign_f32(r, x)
    return where(good and y == y, r, _nan_f32())


def _rem_step_f64(x, y):
    q = trunc(x / y)
    r = _fma(-q, y, x)
    return where(r < 0.0, r + y, r)


def _exponent_f64(x):
    small = x < 2.2250738585072014e-308
    b = reinterpret(where(small, x * 18014398509481984.0, x), int64)
    return (b >> int64(52)) - where(small, int64(54), int64(0))


def _rem_f64(x, y):
    a = abs(x)
    b = abs(y)
    good = a < _inf_f64() and b > 0.0
    a = where(good, a, float64(0.0))
    b = where(good, b, float64(1.0))
    r = a
    while r >= b * 1125899906842624.0:
        n = min(_exponent_f64(r) - _exponent_f64(b) - int64(50), int64(2046))  # both factors are finite
        m = n >> int64(1)
        c = b * reinterpret((m + int64(1023)) << int64(52), float64)
        c = c * reinterpret((n - m + int64(1023)) << int64(52), float64)
        r = _rem_step_f64(r, c)
    r = where(r >= b, _rem_step_f64(r, b), r)
    r = _with_sign_f64(r, x)
    return where(good and y == y, r, _nan_f64())
