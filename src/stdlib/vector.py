# Vectors and matrices.


def length(a):
    return sqrt(dot(a, a))


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
    m = outer(a, a) * type(a[0])(0)
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


def _inverse1(a):
    d = a[0, 0]
    return where(d != 0, type(a)(1 / where(d != 0, d, type(d)(1))), type(a)())


def _inverse2(a):
    d = _determinant2(a)
    s = 1 / where(d != 0, d, type(d)(1))
    return where(d != 0, type(a)(a[1, 1], -a[0, 1], -a[1, 0], a[0, 0]) * s, type(a)())


def _inverse3(a):
    d = _determinant3(a)
    s = 1 / where(d != 0, d, type(d)(1))
    c0 = cross(a[1], a[2])
    c1 = cross(a[2], a[0])
    c2 = cross(a[0], a[1])
    m = type(a)(c0[0], c1[0], c2[0], c0[1], c1[1], c2[1], c0[2], c1[2], c2[2])
    return where(d != 0, m * s, type(a)())


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
