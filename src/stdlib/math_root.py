# Cube root: x = m·8^k·2^j with m in [1, 2) and j = 0, 1, 2. A polynomial's guess, one step of Halley's method, and a last
# step on an exact remainder.


def _cbrt_f32(x):
    a = abs(x)
    small = a < 1.17549435e-38
    b = reinterpret(where(small, a * 16777216.0, a), int32)
    e = (b >> int32(23)) - where(small, int32(151), int32(127)) + int32(153)
    k = (e * int32(21846)) >> int32(16)
    j = e - int32(3) * k
    m = reinterpret((b & int32(0x7FFFFF)) | int32(0x3F800000), float32)
    f = where(j == int32(0), float32(1.0), where(j == int32(1), float32(1.25992107), float32(1.58740103)))
    g = where(j == int32(0), float32(1.0), where(j == int32(1), float32(2.0), float32(4.0)))
    y = _p_cbrt_f32(m) * f
    m = m * g
    c = y * y * y
    y = y + y * ((m - c) / _fma(c, 2.0, m))
    # y³ − m with the rounding of y².
    s = y * y
    sl = _fma(y, y, -s)
    d = _fma(s, y, -m) + sl * y
    y = y - d / (3.0 * s)
    y = y * reinterpret((k - int32(51) + int32(127)) << int32(23), float32)
    y = where(a > 0.0 and a < _inf_f32(), y, a)
    return _with_sign_f32(y, x)


def _cbrt_f64(x):
    a = abs(x)
    small = a < 2.2250738585072014e-308
    b = reinterpret(where(small, a * 18014398509481984.0, a), int64)
    e = int32(uint64(b) >> uint64(52)) - where(small, int32(1077), int32(1023)) + int32(1077)
    k = (e * int32(21846)) >> int32(16)
    j = e - int32(3) * k
    m = reinterpret((b & int64(0xFFFFFFFFFFFFF)) | int64(0x3FF0000000000000), float64)
    f = where(j == int32(0), float64(1.0), where(j == int32(1), float64(1.2599210498948732), float64(1.5874010519681996)))
    g = where(j == int32(0), float64(1.0), where(j == int32(1), float64(2.0), float64(4.0)))
    y = _p_cbrt_f64(m) * f
    m = m * g
    c = y * y * y
    y = y + y * ((m - c) / _fma(c, 2.0, m))
    s = y * y
    sl = _fma(y, y, -s)
    d = _fma(s, y, -m) + sl * y
    y = y - d / (3.0 * s)
    y = y * reinterpret(int64(k - int32(359) + int32(1023)) << int64(52), float64)
    y = where(a > 0.0 and a < _inf_f64(), y, a)
    return _with_sign_f64(y, x)
