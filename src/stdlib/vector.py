# Vectors and matrices.


def length(a):
    # The gradient is zero at zero, where that of the root is infinite.
    d = dot(a, a)
    zero = d == 0
    return where(zero, d, sqrt(where(zero, type(d)(1), d)))


def length_sq(a):
    return dot(a, a)


def normalize(a):
    l = length(a)
    return where(l > 0, a / where(l > 0, l, type(l)(1)), type(a)())


def _normalize_quat(a):
    l = length(a)
    identity = type(a)(type(l)(0), type(l)(0), type(l)(0), type(l)(1))
    return where(l > 0, a / where(l > 0, l, type(l)(1)), identity)


def cross(a, b):
    return type(a)(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def ddot(a, b):
    s = a[0, 0] * b[0, 0]
    for j in range(1, len(a[0])):
        s += a[0, j] * b[0, j]
    for i in range(1, len(a)):
        for j in range(len(a[0])):
            s += a[i, j] * b[i, j]
    return s


def _div_each(a, b):
    r = b
    for i in range(len(b)):
        r[i] = a / b[i]
    return r


def trace(a):
    s = a[0, 0]
    for i in range(1, len(a)):
        s += a[i, i]
    return s


def diag(a):
    m = type(outer(a, a))()
    for i in range(len(a)):
        m[i, i] = a[i]
    return m


def get_diag(a):
    v = a[0]
    for i in range(len(a)):
        v[i] = a[i, i]
    return v


def skew(a):
    zero = type(a[0])(0)
    return matrix(zero, -a[2], a[1], a[2], zero, -a[0], -a[1], a[0], zero, shape=(3, 3))


def _determinant2(a):
    return a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]


def _determinant3(a):
    return dot(a[0], cross(a[1], a[2]))


def _determinant_n(a):
    m = a
    det = type(a[0, 0])(1)
    for k in range(len(a)):
        p = k
        for i in range(k + 1, len(a)):
            if abs(m[i, k]) > abs(m[p, k]):
                p = i
        if p != k:
            row = m[p]
            m[p] = m[k]
            m[k] = row
            det = -det
        pivot = m[k, k]
        det *= pivot
        if pivot != 0:
            for i in range(k + 1, len(a)):
                f = m[i, k] / pivot
                m[i] = m[i] - m[k] * f
    return det


def _determinant4(a):
    # Laplace's expansion by the minors of the upper and the lower two rows.
    p0 = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    p1 = a[0, 0] * a[1, 2] - a[0, 2] * a[1, 0]
    p2 = a[0, 0] * a[1, 3] - a[0, 3] * a[1, 0]
    p3 = a[0, 1] * a[1, 2] - a[0, 2] * a[1, 1]
    p4 = a[0, 1] * a[1, 3] - a[0, 3] * a[1, 1]
    p5 = a[0, 2] * a[1, 3] - a[0, 3] * a[1, 2]
    q0 = a[2, 0] * a[3, 1] - a[2, 1] * a[3, 0]
    q1 = a[2, 0] * a[3, 2] - a[2, 2] * a[3, 0]
    q2 = a[2, 0] * a[3, 3] - a[2, 3] * a[3, 0]
    q3 = a[2, 1] * a[3, 2] - a[2, 2] * a[3, 1]
    q4 = a[2, 1] * a[3, 3] - a[2, 3] * a[3, 1]
    q5 = a[2, 2] * a[3, 3] - a[2, 3] * a[3, 2]
    return p0 * q5 - p1 * q4 + p2 * q3 + p3 * q2 - p4 * q1 + p5 * q0


def _largest_component(m):
    # Bits of magnitudes order as the magnitudes do, NaN above all; the rows do not wait for each other.
    largest = _signed_bits(abs(m[0, 0]))
    for j in range(1, len(m[0])):
        largest = max(largest, _signed_bits(abs(m[0, j])))
    for i in range(1, len(m)):
        row = _signed_bits(abs(m[i, 0]))
        for j in range(1, len(m[0])):
            row = max(row, _signed_bits(abs(m[i, j])))
        largest = max(largest, row)
    return reinterpret(largest, type(m[0, 0]))


# The power of two at or below x, which scales matrices without rounding; for smaller numbers the least normal one.


def _power_of_two_f16(x):
    return reinterpret(max(reinterpret(x, int16) & int16(0x7C00), int16(0x0400)), float16)


def _power_of_two_bf16(x):
    return reinterpret(max(reinterpret(x, int16) & int16(0x7F80), int16(0x0080)), bfloat16)


def _power_of_two_f32(x):
    return reinterpret(max(reinterpret(x, int32) & int32(0x7F800000), int32(0x00800000)), float32)


def _power_of_two_f64(x):
    bits = reinterpret(x, int64) & int64(0x7FF0000000000000)
    return reinterpret(max(bits, int64(0x0010000000000000)), float64)


# The power of two that takes a number, whatever its sign, into [2, 4), from its exponent alone: zero for infinity and NaN,
# and no more than the largest power for numbers near zero.


def _normalizing_power_f16(x):
    return reinterpret(int16(0x7C00) - max(reinterpret(x, int16) & int16(0x7C00), int16(0x0400)), float16)


def _normalizing_power_bf16(x):
    return reinterpret(int16(0x7F80) - max(reinterpret(x, int16) & int16(0x7F80), int16(0x0080)), bfloat16)


def _normalizing_power_f32(x):
    e = reinterpret(x, int32) & int32(0x7F800000)
    return reinterpret(int32(0x7F800000) - max(e, int32(0x00800000)), float32)


def _normalizing_power_f64(x):
    e = reinterpret(x, int64) & int64(0x7FF0000000000000)
    return reinterpret(int64(0x7FF0000000000000) - max(e, int64(0x0010000000000000)), float64)


def _matrix_scale(m):
    return _power_of_two(_largest_component(m))


def _inverse1(a):
    d = a[0, 0]
    return where(d != 0, type(a)(1 / where(d != 0, d, type(d)(1))), type(a)())


def _scaled_inverse(cofactors, d, shrink):
    # The matrix was multiplied by shrink, a power of two, so that products of its elements neither overflow nor vanish.
    # One reciprocal instead of many quotients: of the determinant brought near 1, so that it is finite.
    grow = _normalizing_power(d)
    return where(d != 0, cofactors * grow * (1 / (d * grow) * shrink), type(cofactors)())


def _inverse2(a):
    shrink = _normalizing_power(_largest_component(a))
    m = a * shrink
    return _scaled_inverse(type(a)(m[1, 1], -m[0, 1], -m[1, 0], m[0, 0]), _determinant2(m), shrink)


def _inverse3(a):
    shrink = _normalizing_power(_largest_component(a))
    m = a * shrink
    c0 = cross(m[1], m[2])
    c1 = cross(m[2], m[0])
    c2 = cross(m[0], m[1])
    r = type(a)(c0[0], c1[0], c2[0], c0[1], c1[1], c2[1], c0[2], c1[2], c2[2])
    return _scaled_inverse(r, dot(m[0], c0), shrink)


def _inverse4(a):
    shrink = _normalizing_power(_largest_component(a))
    m = a * shrink
    p0 = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    p1 = m[0, 0] * m[1, 2] - m[0, 2] * m[1, 0]
    p2 = m[0, 0] * m[1, 3] - m[0, 3] * m[1, 0]
    p3 = m[0, 1] * m[1, 2] - m[0, 2] * m[1, 1]
    p4 = m[0, 1] * m[1, 3] - m[0, 3] * m[1, 1]
    p5 = m[0, 2] * m[1, 3] - m[0, 3] * m[1, 2]
    q0 = m[2, 0] * m[3, 1] - m[2, 1] * m[3, 0]
    q1 = m[2, 0] * m[3, 2] - m[2, 2] * m[3, 0]
    q2 = m[2, 0] * m[3, 3] - m[2, 3] * m[3, 0]
    q3 = m[2, 1] * m[3, 2] - m[2, 2] * m[3, 1]
    q4 = m[2, 1] * m[3, 3] - m[2, 3] * m[3, 1]
    q5 = m[2, 2] * m[3, 3] - m[2, 3] * m[3, 2]
    r = type(a)(
        m[1, 1] * q5 - m[1, 2] * q4 + m[1, 3] * q3,
        m[0, 2] * q4 - m[0, 1] * q5 - m[0, 3] * q3,
        m[3, 1] * p5 - m[3, 2] * p4 + m[3, 3] * p3,
        m[2, 2] * p4 - m[2, 1] * p5 - m[2, 3] * p3,
        m[1, 2] * q2 - m[1, 0] * q5 - m[1, 3] * q1,
        m[0, 0] * q5 - m[0, 2] * q2 + m[0, 3] * q1,
        m[3, 2] * p2 - m[3, 0] * p5 - m[3, 3] * p1,
        m[2, 0] * p5 - m[2, 2] * p2 + m[2, 3] * p1,
        m[1, 0] * q4 - m[1, 1] * q2 + m[1, 3] * q0,
        m[0, 1] * q2 - m[0, 0] * q4 - m[0, 3] * q0,
        m[3, 0] * p4 - m[3, 1] * p2 + m[3, 3] * p0,
        m[2, 1] * p2 - m[2, 0] * p4 - m[2, 3] * p0,
        m[1, 1] * q1 - m[1, 0] * q3 - m[1, 2] * q0,
        m[0, 0] * q3 - m[0, 1] * q1 + m[0, 2] * q0,
        m[3, 1] * p1 - m[3, 0] * p3 - m[3, 2] * p0,
        m[2, 0] * p3 - m[2, 1] * p1 + m[2, 2] * p0,
    )
    return _scaled_inverse(r, p0 * q5 - p1 * q4 + p2 * q3 + p3 * q2 - p4 * q1 + p5 * q0, shrink)


def _inverse_n(a):
    m = a
    r = identity(n=len(a), dtype=type(a[0, 0]))
    singular = False
    for k in range(len(a)):
        p = k
        for i in range(k + 1, len(a)):
            if abs(m[i, k]) > abs(m[p, k]):
                p = i
        if p != k:
            row = m[p]
            m[p] = m[k]
            m[k] = row
            row = r[p]
            r[p] = r[k]
            r[k] = row
        pivot = m[k, k]
        if pivot == 0:
            singular = True
        else:
            s = 1 / pivot
            m[k] = m[k] * s
            r[k] = r[k] * s
            for i in range(len(a)):
                if i != k:
                    f = m[i, k]
                    m[i] = m[i] - m[k] * f
                    r[i] = r[i] - r[k] * f
    return where(singular, type(a)(), r)


def argmin(a):
    # A NaN is never smaller; the first number takes the place of a NaN in front.
    best = uint32(0)
    r = a[0]
    for i in range(1, len(a)):
        if a[i] < r or (r != r and a[i] == a[i]):
            r = a[i]
            best = uint32(i)
    return best


def argmax(a):
    best = uint32(0)
    r = a[0]
    for i in range(1, len(a)):
        if a[i] > r or (r != r and a[i] == a[i]):
            r = a[i]
            best = uint32(i)
    return best


def norm_l1(v):
    s = abs(v[0])
    for i in range(1, len(v)):
        s += abs(v[i])
    return s


def norm_l2(v):
    return length(v)


def norm_huber(v, delta):
    a = dot(v, v)
    near = a <= delta * delta
    root = sqrt(where(near, type(a)(1), a))
    return where(near, 0.5 * a, delta * (root - 0.5 * delta))


def norm_pseudo_huber(v, delta):
    return delta * sqrt(1.0 + dot(v, v) / (delta * delta))


def smooth_normalize(v, delta):
    return v / norm_pseudo_huber(v, delta)
