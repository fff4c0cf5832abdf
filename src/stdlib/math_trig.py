# Sine, cosine, tangent. |x| = n·π/2 + r + rl with |r| ≤ π/4: for usual arguments by a three-part π/2 (Cody and Waite),
# where fma and exact sums lose nothing; for large ones by the bits of 2/π that matter (Payne and Hanek), in operations of
# their own, which are never inlined: few programs need them, and they are most of the code.


def _two_sum(a, b):
    # a + b exactly (Knuth).
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _pick(i, a, b, c, d, e):
    # One of five numbers by index.
    r = where(i >= int32(1), b, a)
    r = where(i >= int32(2), c, r)
    r = where(i >= int32(3), d, r)
    return where(i >= int32(4), e, r)


def _reduce_large_f32(x):
    # x = m·2^s with a 24-bit m. Of 2/π only 96 bits count: those above only add multiples of 4 to the quotient.
    b = reinterpret(x, uint32)
    m = uint64((b & uint32(0x7FFFFF)) | uint32(0x800000))
    s = int32(b >> uint32(23)) - int32(120)
    i = s >> int32(5)
    w = uint64(s & int32(31))
    # The binary digits of 2/π behind a word of zeros.
    p0 = uint32(0x00000000)
    p1 = uint32(0xA2F9836E)
    p2 = uint32(0x4E441529)
    p3 = uint32(0xFC2757D1)
    p4 = uint32(0xF534DDC0)
    p5 = uint32(0xDB629599)
    p6 = uint32(0x3C439041)
    p7 = uint32(0xFE5163AB)
    a = uint64(_pick(i, p0, p1, p2, p3, p4))
    c = uint64(_pick(i, p1, p2, p3, p4, p5))
    d = uint64(_pick(i, p2, p3, p4, p5, p6))
    e = uint64(_pick(i, p3, p4, p5, p6, p7))
    hi = (a << uint64(32)) | c
    lo = (d << uint64(32)) | e
    hi = (hi << w) | ((lo >> uint64(1)) >> (uint64(63) - w))
    lo = lo << w
    # The product's bits 2^1 … 2^-62 as one number: quotient modulo 4 in the top two bits.
    f = m * hi + ((m * (lo >> uint64(32))) >> uint64(32))
    q = int32(f >> uint64(62))
    t = reinterpret(f << uint64(2), int64)
    q = q + where(t < int64(0), int32(1), int32(0))
    r = float64(t) * 8.515303950216386e-20
    h = float32(r)
    return q, h, float32(r - float64(h))


def _reduce_f32(x):
    k = _fma(x, 0.636619747, 12582912.0)
    n = k - 12582912.0
    a = _fma(n, -1.57079637, x)
    w = n * -4.37113883e-08
    wl = _fma(n, -4.37113883e-08, -w)
    s, sl = _two_sum(a, -w)
    sl = sl - wl + n * 1.71512451e-15
    q = reinterpret(k, int32)
    r = s + sl
    rl = (s - r) + sl
    return q, r, rl


def _sin_cos_f32(r, rl):
    # sin(r + rl) = r + p, cos(r + rl) = w + q.
    z = r * r
    p = _fma(z * r, _p_sin_f32(z), _fma(-0.5 * z, rl, rl))
    h = 0.5 * z
    w = 1.0 - h
    q = ((1.0 - w) - h) + (_fma(z * z, _p_cos_f32(z), -r * rl) - _fma(0.5 * r, r, -h))
    return p, w, q


def _sin_of_f32(q, r, rl):
    p, w, wl = _sin_cos_f32(r, rl)
    y = where((q & int32(1)) != int32(0), w + wl, r + p)
    return reinterpret(reinterpret(y, uint32) ^ (uint32(q & int32(2)) << uint32(30)), float32)


def _cos_of_f32(q, r, rl):
    p, w, wl = _sin_cos_f32(r, rl)
    y = where((q & int32(1)) != int32(0), r + p, w + wl)
    return reinterpret(reinterpret(y, uint32) ^ (uint32((q + int32(1)) & int32(2)) << uint32(30)), float32)


def _tan_of_f32(q, r, rl):
    p, w, wl = _sin_cos_f32(r, rl)
    s = r + p
    sl = (r - s) + p
    c = w + wl
    cl = (w - c) + wl
    odd = (q & int32(1)) != int32(0)
    n = where(odd, c, s)
    nl = where(odd, cl, sl)
    d = where(odd, -s, c)
    dl = where(odd, -sl, cl)
    # The quotient, and its remainder with what both lack.
    i = _tame_quotient(float32(1.0), d)
    y = n * i
    return _fma(_fma(-y, d, n) + (nl - y * dl), i, y)


def _sin_large_f32(x):
    q, r, rl = _reduce_large_f32(x)
    return _sin_of_f32(q, r, rl)


def _cos_large_f32(x):
    q, r, rl = _reduce_large_f32(x)
    return _cos_of_f32(q, r, rl)


def _tan_large_f32(x):
    q, r, rl = _reduce_large_f32(x)
    return _tan_of_f32(q, r, rl)


def _sin_f32(x):
    ax = abs(x)
    q, r, rl = _reduce_f32(ax)
    y = _sin_of_f32(q, r, rl)
    if ax > 100000.0:
        y = _sin_large(ax)
    y = reinterpret(reinterpret(y, uint32) ^ (reinterpret(x, uint32) & uint32(0x80000000)), float32)
    return where(ax < _inf_f32(), y, _nan_f32())


def _cos_f32(x):
    ax = abs(x)
    q, r, rl = _reduce_f32(ax)
    y = _cos_of_f32(q, r, rl)
    if ax > 100000.0:
        y = _cos_large(ax)
    return where(ax < _inf_f32(), y, _nan_f32())


def _tan_f32(x):
    ax = abs(x)
    q, r, rl = _reduce_f32(ax)
    y = _tan_of_f32(q, r, rl)
    if ax > 100000.0:
        y = _tan_large(ax)
    y = reinterpret(reinterpret(y, uint32) ^ (reinterpret(x, uint32) & uint32(0x80000000)), float32)
    return where(ax < _inf_f32(), y, _nan_f32())


def _reduce_large_f64(x):
    # The same with a 53-bit m and 192 bits of 2/π, in words of 32.
    b = reinterpret(x, uint64)
    m0 = b & uint64(0xFFFFFFFF)
    m1 = ((b >> uint64(32)) & uint64(0xFFFFF)) | uint64(0x100000)
    s = int32(b >> uint64(52)) - int32(1045)
    w0, w1, w2, w3, w4, w5, w6 = _two_over_pi(s >> int32(5))
    w = uint64(s & int32(31))
    low = uint64(0xFFFFFFFF)
    v0 = (((w0 << uint64(32)) | w1) << w >> uint64(32)) & low
    v1 = (((w1 << uint64(32)) | w2) << w >> uint64(32)) & low
    v2 = (((w2 << uint64(32)) | w3) << w >> uint64(32)) & low
    v3 = (((w3 << uint64(32)) | w4) << w >> uint64(32)) & low
    v4 = (((w4 << uint64(32)) | w5) << w >> uint64(32)) & low
    v5 = (((w5 << uint64(32)) | w6) << w >> uint64(32)) & low
    # The product's words from the lowest: low halves, high halves of the word below, and what is carried.
    a1 = m0 * v1
    a2 = m0 * v2
    a3 = m0 * v3
    a4 = m0 * v4
    a5 = m0 * v5
    b2 = m1 * v2
    b3 = m1 * v3
    b4 = m1 * v4
    b5 = m1 * v5
    s4 = (a4 & low) + (a5 >> uint64(32)) + (b5 & low)
    s3 = (a3 & low) + (a4 >> uint64(32)) + (b4 & low) + (b5 >> uint64(32)) + (s4 >> uint64(32))
    s2 = (a2 & low) + (a3 >> uint64(32)) + (b3 & low) + (b4 >> uint64(32)) + (s3 >> uint64(32))
    s1 = (a1 & low) + (a2 >> uint64(32)) + (b2 & low) + (b3 >> uint64(32)) + (s2 >> uint64(32))
    s0 = m0 * v0 + (a1 >> uint64(32)) + m1 * v1 + (b2 >> uint64(32)) + (s1 >> uint64(32))
    hi = (s0 << uint64(32)) | (s1 & low)
    lo = (s2 << uint64(32)) | (s3 & low)
    q = int64(hi >> uint64(62))
    t = reinterpret((hi << uint64(2)) | (lo >> uint64(62)), int64)
    q = q + where(t < int64(0), int64(1), int64(0))
    h = float64(t)
    l = float64(t - int64(h)) + float64(lo << uint64(2)) * 5.421010862427522e-20
    f = h + l
    fl = (h - f) + l
    # Times π/2·2^-64.
    r = f * 8.515303950216386e-20
    rl = _fma(f, 8.515303950216386e-20, -r) + _fma(fl, 8.515303950216386e-20, f * 3.319411800407449e-36)
    return q, r, rl


def _reduce_f64(x):
    k = _fma(x, 0.6366197723675814, 6755399441055744.0)
    n = k - 6755399441055744.0
    a = _fma(n, -1.5707963267948966, x)
    w = n * 6.123233995736766e-17
    wl = _fma(n, 6.123233995736766e-17, -w)
    s, sl = _two_sum(a, -w)
    sl = sl - wl + n * 1.4973849048591698e-33
    q = reinterpret(k, int64)
    r = s + sl
    rl = (s - r) + sl
    return q, r, rl


def _sin_cos_f64(r, rl):
    z = r * r
    p = _fma(z * r, _p_sin_f64(z), _fma(-0.5 * z, rl, rl))
    h = 0.5 * z
    w = 1.0 - h
    q = ((1.0 - w) - h) + (_fma(z * z, _p_cos_f64(z), -r * rl) - _fma(0.5 * r, r, -h))
    return p, w, q


def _sin_of_f64(q, r, rl):
    p, w, wl = _sin_cos_f64(r, rl)
    y = where((q & int64(1)) != int64(0), w + wl, r + p)
    return reinterpret(reinterpret(y, uint64) ^ (uint64(q & int64(2)) << uint64(62)), float64)


def _cos_of_f64(q, r, rl):
    p, w, wl = _sin_cos_f64(r, rl)
    y = where((q & int64(1)) != int64(0), r + p, w + wl)
    return reinterpret(reinterpret(y, uint64) ^ (uint64((q + int64(1)) & int64(2)) << uint64(62)), float64)


def _tan_of_f64(q, r, rl):
    p, w, wl = _sin_cos_f64(r, rl)
    s = r + p
    sl = (r - s) + p
    c = w + wl
    cl = (w - c) + wl
    odd = (q & int64(1)) != int64(0)
    n = where(odd, c, s)
    nl = where(odd, cl, sl)
    d = where(odd, -s, c)
    dl = where(odd, -sl, cl)
    i = 1.0 / d
    y = n * i
    return _fma(_fma(-y, d, n) + (nl - y * dl), i, y)


def _sin_large_f64(x):
    q, r, rl = _reduce_large_f64(x)
    return _sin_of_f64(q, r, rl)


def _cos_large_f64(x):
    q, r, rl = _reduce_large_f64(x)
    return _cos_of_f64(q, r, rl)


def _tan_large_f64(x):
    q, r, rl = _reduce_large_f64(x)
    return _tan_of_f64(q, r, rl)


def _sin_f64(x):
    ax = abs(x)
    q, r, rl = _reduce_f64(ax)
    y = _sin_of_f64(q, r, rl)
    if ax > 1000000000.0:
        y = _sin_large(ax)
    y = reinterpret(reinterpret(y, uint64) ^ (reinterpret(x, uint64) & uint64(0x8000000000000000)), float64)
    return where(ax < _inf_f64(), y, _nan_f64())


def _cos_f64(x):
    ax = abs(x)
    q, r, rl = _reduce_f64(ax)
    y = _cos_of_f64(q, r, rl)
    if ax > 1000000000.0:
        y = _cos_large(ax)
    return where(ax < _inf_f64(), y, _nan_f64())


def _tan_f64(x):
    ax = abs(x)
    q, r, rl = _reduce_f64(ax)
    y = _tan_of_f64(q, r, rl)
    if ax > 1000000000.0:
        y = _tan_large(ax)
    y = reinterpret(reinterpret(y, uint64) ^ (reinterpret(x, uint64) & uint64(0x8000000000000000)), float64)
    return where(ax < _inf_f64(), y, _nan_f64())
