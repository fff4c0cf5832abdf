# Decompositions of small matrices by Jacobi's rotations. A fixed number of sweeps, so that all lanes take the same
# steps: convergence is quadratic, and more than the sweeps below change nothing in any type. Matrices are scaled by a
# power of two first, which keeps squares in range and costs no rounding.


def _jacobi_rotation(app, aqq, apq):
    # Cosine and sine of the smaller angle that makes [[app, apq], [apq, aqq]] diagonal (Golub and Van Loan, 8.5.2), in
    # a form that is smooth wherever the two eigenvalues differ and does nothing where they are equal.
    d = aqq - app
    c = 2.0 * apq
    h = d * d + c * c
    some = h > 0
    t = where(some, c * sign(d) / where(some, abs(d) + sqrt(where(some, h, type(h)(1))), type(h)(1)), type(h)(0))
    cosine = 1.0 / sqrt(1.0 + t * t)
    return cosine, cosine * t


def _orthogonalize(bp, bq, vp, vq):
    # One-sided: rotates two columns of B = A V so that they become orthogonal, and V along. Forming AᵀA instead would
    # lose the small singular values.
    c, s = _jacobi_rotation(dot(bp, bp), dot(bq, bq), dot(bp, bq))
    return bp * c - bq * s, bp * s + bq * c, vp * c - vq * s, vp * s + vq * c


def _longer_first(bp, bq, vp, vq):
    # Exchanges two columns if the second is longer; the minus keeps V a rotation.
    turn = dot(bp, bp) < dot(bq, bq)
    return where(turn, bq, bp), where(turn, -bp, bq), where(turn, vq, vp), where(turn, -vp, vq)


def _perpendicular(u):
    # A unit vector perpendicular to the unit vector u: across the axis that u leans to least, the last of equal ones.
    x = abs(u[0])
    y = abs(u[1])
    z = abs(u[2])
    one = type(x)(1)
    zero = type(x)(0)
    x_or_y = where(y <= x, type(u)(zero, one, zero), type(u)(one, zero, zero))
    return normalize(cross(where(z <= x and z <= y, type(u)(zero, zero, one), x_or_y), u))


def _direction(b, fallback):
    # b / |b| whatever the size of b; the fallback for zero.
    largest = type(b[0])(0)
    for i in range(len(b)):
        largest = max(largest, abs(b[i]))
    # Not `largest > 0`: NaN components are to stay.
    zero = largest == 0 and dot(b, b) == 0
    unit = b * (1 / where(zero, type(largest)(1), _power_of_two(largest)))
    return where(zero, fallback, unit / length(where(zero, fallback, unit)))


def svd3(A):
    scale = _matrix_scale(A)
    m = A * (1 / scale)
    one = type(scale)(1)
    zero = type(scale)(0)
    b0 = vector(m[0, 0], m[1, 0], m[2, 0])
    b1 = vector(m[0, 1], m[1, 1], m[2, 1])
    b2 = vector(m[0, 2], m[1, 2], m[2, 2])
    v0 = vector(one, zero, zero)
    v1 = vector(zero, one, zero)
    v2 = vector(zero, zero, one)
    for sweep in range(6):
        b0, b1, v0, v1 = _orthogonalize(b0, b1, v0, v1)
        b0, b2, v0, v2 = _orthogonalize(b0, b2, v0, v2)
        b1, b2, v1, v2 = _orthogonalize(b1, b2, v1, v2)
    b0, b1, v0, v1 = _longer_first(b0, b1, v0, v1)
    b1, b2, v1, v2 = _longer_first(b1, b2, v1, v2)
    b0, b1, v0, v1 = _longer_first(b0, b1, v0, v1)
    u0 = _direction(b0, vector(one, zero, zero))
    # What is left of the second column at rank 1 is rounding: any perpendicular serves.
    across = _perpendicular(u0)
    w = _direction(b1, across)
    w = w - u0 * dot(u0, w)
    w = where(dot(w, w) < 0.25, across, w)
    w = w - u0 * dot(u0, w)
    u1 = w / length(w)
    u1 = where(dot(u1, b1) < 0, -u1, u1)
    u2 = cross(u0, u1)
    sigma = vector(dot(u0, b0), dot(u1, b1), dot(u2, b2)) * scale
    return matrix_from_cols(u0, u1, u2), sigma, matrix_from_cols(v0, v1, v2)


def _svd3_into(A, U: ref, sigma: ref, V: ref):
    u, s, v = svd3(A)
    U = u
    sigma = s
    V = v


def svd2(A):
    scale = _matrix_scale(A)
    m = A * (1 / scale)
    one = type(scale)(1)
    zero = type(scale)(0)
    b0 = vector(m[0, 0], m[1, 0])
    b1 = vector(m[0, 1], m[1, 1])
    v0 = vector(one, zero)
    v1 = vector(zero, one)
    # One rotation is exact but for rounding, which the others remove relative to the shorter column.
    for sweep in range(3):
        b0, b1, v0, v1 = _orthogonalize(b0, b1, v0, v1)
    b0, b1, v0, v1 = _longer_first(b0, b1, v0, v1)
    u0 = _direction(b0, vector(one, zero))
    u1 = vector(-u0[1], u0[0])
    s1 = dot(u1, b1)
    u1 = where(s1 < 0, -u1, u1)
    return matrix_from_cols(u0, u1), vector(dot(u0, b0), abs(s1)) * scale, matrix_from_cols(v0, v1)


def _svd2_into(A, U: ref, sigma: ref, V: ref):
    u, s, v = svd2(A)
    U = u
    sigma = s
    V = v


def _givens(a, b):
    # Cosine and sine of the rotation that takes (a, b) to (r, 0), r >= 0; none for zero.
    largest = max(abs(a), abs(b))
    zero = largest == 0
    shrink = 1 / _power_of_two(largest)
    x = where(zero, type(a)(1), a * shrink)
    y = where(zero, type(a)(0), b * shrink)
    r = sqrt(x * x + y * y)
    return x / r, y / r


def qr3(A):
    r0 = A[0]
    r1 = A[1]
    r2 = A[2]
    one = type(A[0, 0])(1)
    zero = type(A[0, 0])(0)
    q0 = vector(one, zero, zero)
    q1 = vector(zero, one, zero)
    q2 = vector(zero, zero, one)
    c, s = _givens(r0[0], r1[0])
    r0, r1 = r0 * c + r1 * s, r1 * c - r0 * s
    q0, q1 = q0 * c + q1 * s, q1 * c - q0 * s
    c, s = _givens(r0[0], r2[0])
    r0, r2 = r0 * c + r2 * s, r2 * c - r0 * s
    q0, q2 = q0 * c + q2 * s, q2 * c - q0 * s
    c, s = _givens(r1[1], r2[1])
    r1, r2 = r1 * c + r2 * s, r2 * c - r1 * s
    q1, q2 = q1 * c + q2 * s, q2 * c - q1 * s
    R = matrix_from_rows(r0, vector(zero, r1[1], r1[2]), vector(zero, zero, r2[2]))
    return matrix_from_cols(q0, q1, q2), R


def _qr3_into(A, Q: ref, R: ref):
    q, r = qr3(A)
    Q = q
    R = r


def _diagonalize(app, aqq, apq, arp, arq, qp, qq):
    # A rotation in the plane of p and q: the pair's diagonal, the other two elements, the columns of Q.
    c, s = _jacobi_rotation(app, aqq, apq)
    t = s / c
    return app - t * apq, aqq + t * apq, arp * c - arq * s, arp * s + arq * c, qp * c - qq * s, qp * s + qq * c


def eig3(A):
    scale = _matrix_scale(A)
    m = A * (1 / scale)
    one = type(scale)(1)
    zero = type(scale)(0)
    q0 = vector(one, zero, zero)
    q1 = vector(zero, one, zero)
    q2 = vector(zero, zero, one)
    a00 = m[0, 0]
    a11 = m[1, 1]
    a22 = m[2, 2]
    a01 = 0.5 * (m[0, 1] + m[1, 0])
    a02 = 0.5 * (m[0, 2] + m[2, 0])
    a12 = 0.5 * (m[1, 2] + m[2, 1])
    for sweep in range(6):
        a00, a11, a02, a12, q0, q1 = _diagonalize(a00, a11, a01, a02, a12, q0, q1)
        a00, a22, a01, a12, q0, q2 = _diagonalize(a00, a22, a02, zero, a12, q0, q2)
        a11, a22, a01, a02, q1, q2 = _diagonalize(a11, a22, a12, a01, zero, q1, q2)
        a12 = zero
    return matrix_from_cols(q0, q1, q2), vector(a00, a11, a22) * scale


def _eig3_into(A, Q: ref, d: ref):
    q, w = eig3(A)
    Q = q
    d = w
