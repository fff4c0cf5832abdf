# Linear algebra on tiles. A matrix is flat memory, the place where it begins and its two strides, so that transposes and
# windows need no copies; backwards strides turn an upper system into a lower one. Every element takes its updates in rising
# order of k by fused multiply-adds: results hang on the shape alone.
# There are two forms of each: one in which every element is written once, for kernels that are differentiated (nothing has to
# be remembered then), and one whose inner loops run along memory, for all others. Both give the same bits.


def _tile_matmul_new(a, ao, a0, a1, b, bo, b0, b1, c, co, c0, c1, m, n, p):
    for i in range(m):
        for j in range(n):
            s = c.dtype(0.0)
            for k in range(p):
                s = _fma(c.dtype(a[ao + i * a0 + k * a1]), c.dtype(b[bo + k * b0 + j * b1]), s)
            c[co + i * c0 + j * c1] = s


def _tile_matmul_negative(a, ao, a0, a1, b, bo, b0, b1, c, co, c0, c1, m, n, p):
    # The negative products are summed, as blocks and rows do it: the negative of a sum has other zeros.
    for i in range(m):
        for j in range(n):
            s = c.dtype(0.0)
            for k in range(p):
                s = _fma(-c.dtype(a[ao + i * a0 + k * a1]), c.dtype(b[bo + k * b0 + j * b1]), s)
            c[co + i * c0 + j * c1] = s


def _tile_matmul_add(a, ao, a0, a1, b, bo, b0, b1, c, co, c0, c1, m, n, p):
    for i in range(m):
        for j in range(n):
            s = c[co + i * c0 + j * c1]
            for k in range(p):
                s = _fma(c.dtype(a[ao + i * a0 + k * a1]), c.dtype(b[bo + k * b0 + j * b1]), s)
            c[co + i * c0 + j * c1] = s


def _tile_matmul_sub(a, ao, a0, a1, b, bo, b0, b1, c, co, c0, c1, m, n, p):
    for i in range(m):
        for j in range(n):
            s = c[co + i * c0 + j * c1]
            for k in range(p):
                s = _fma(-c.dtype(a[ao + i * a0 + k * a1]), c.dtype(b[bo + k * b0 + j * b1]), s)
            c[co + i * c0 + j * c1] = s


def _tile_matmul_scaled(a, ao, a0, a1, b, bo, b0, b1, c, co, c0, c1, m, n, p, alpha, beta):
    for i in range(m):
        for j in range(n):
            s = c.dtype(0.0)
            for k in range(p):
                s = _fma(c.dtype(a[ao + i * a0 + k * a1]), c.dtype(b[bo + k * b0 + j * b1]), s)
            before = where(beta == c.dtype(0.0), c.dtype(0.0), c[co + i * c0 + j * c1])  # which may be no number
            c[co + i * c0 + j * c1] = _fma(alpha, s, beta * before)


def _tile_matmul_times(a, ao, a0, a1, b, bo, b0, b1, c, co, c0, c1, m, n, p, alpha):
    for i in range(m):
        for j in range(n):
            s = c.dtype(0.0)
            for k in range(p):
                s = _fma(c.dtype(a[ao + i * a0 + k * a1]), c.dtype(b[bo + k * b0 + j * b1]), s)
            c[co + i * c0 + j * c1] = alpha * s


def _tile_matmul_rows(a, ao, a0, a1, b, bo, b0, c, co, c0, m, n, p, sign):
    # c += sign a b; rows of b and c lie without gaps. Four rows and four steps of k at a time: sixteen products for twelve
    # reads and writes.
    for i in range(m // 4):
        r = ao + 4 * i * a0
        x = co + 4 * i * c0
        for q in range(p // 4):
            k = 4 * q
            s0 = sign * c.dtype(a[r + k * a1])
            s1 = sign * c.dtype(a[r + (k + 1) * a1])
            s2 = sign * c.dtype(a[r + (k + 2) * a1])
            s3 = sign * c.dtype(a[r + (k + 3) * a1])
            t0 = sign * c.dtype(a[r + a0 + k * a1])
            t1 = sign * c.dtype(a[r + a0 + (k + 1) * a1])
            t2 = sign * c.dtype(a[r + a0 + (k + 2) * a1])
            t3 = sign * c.dtype(a[r + a0 + (k + 3) * a1])
            u0 = sign * c.dtype(a[r + 2 * a0 + k * a1])
            u1 = sign * c.dtype(a[r + 2 * a0 + (k + 1) * a1])
            u2 = sign * c.dtype(a[r + 2 * a0 + (k + 2) * a1])
            u3 = sign * c.dtype(a[r + 2 * a0 + (k + 3) * a1])
            v0 = sign * c.dtype(a[r + 3 * a0 + k * a1])
            v1 = sign * c.dtype(a[r + 3 * a0 + (k + 1) * a1])
            v2 = sign * c.dtype(a[r + 3 * a0 + (k + 2) * a1])
            v3 = sign * c.dtype(a[r + 3 * a0 + (k + 3) * a1])
            y = bo + k * b0
            for j in range(n):
                w0 = c.dtype(b[y + j])
                w1 = c.dtype(b[y + b0 + j])
                w2 = c.dtype(b[y + 2 * b0 + j])
                w3 = c.dtype(b[y + 3 * b0 + j])
                c[x + j] = _fma(s3, w3, _fma(s2, w2, _fma(s1, w1, _fma(s0, w0, c[x + j]))))
                c[x + c0 + j] = _fma(t3, w3, _fma(t2, w2, _fma(t1, w1, _fma(t0, w0, c[x + c0 + j]))))
                c[x + 2 * c0 + j] = _fma(u3, w3, _fma(u2, w2, _fma(u1, w1, _fma(u0, w0, c[x + 2 * c0 + j]))))
                c[x + 3 * c0 + j] = _fma(v3, w3, _fma(v2, w2, _fma(v1, w1, _fma(v0, w0, c[x + 3 * c0 + j]))))
        for k in range(4 * (p // 4), p):
            s = sign * c.dtype(a[r + k * a1])
            t = sign * c.dtype(a[r + a0 + k * a1])
            u = sign * c.dtype(a[r + 2 * a0 + k * a1])
            v = sign * c.dtype(a[r + 3 * a0 + k * a1])
            y = bo + k * b0
            for j in range(n):
                w = c.dtype(b[y + j])
                c[x + j] = _fma(s, w, c[x + j])
                c[x + c0 + j] = _fma(t, w, c[x + c0 + j])
                c[x + 2 * c0 + j] = _fma(u, w, c[x + 2 * c0 + j])
                c[x + 3 * c0 + j] = _fma(v, w, c[x + 3 * c0 + j])
    for i in range(4 * (m // 4), m):
        r = ao + i * a0
        x = co + i * c0
        for q in range(p // 4):
            k = 4 * q
            s0 = sign * c.dtype(a[r + k * a1])
            s1 = sign * c.dtype(a[r + (k + 1) * a1])
            s2 = sign * c.dtype(a[r + (k + 2) * a1])
            s3 = sign * c.dtype(a[r + (k + 3) * a1])
            y = bo + k * b0
            for j in range(n):
                w = _fma(s1, c.dtype(b[y + b0 + j]), _fma(s0, c.dtype(b[y + j]), c[x + j]))
                c[x + j] = _fma(s3, c.dtype(b[y + 3 * b0 + j]), _fma(s2, c.dtype(b[y + 2 * b0 + j]), w))
        for k in range(4 * (p // 4), p):
            s = sign * c.dtype(a[r + k * a1])
            for j in range(n):
                c[x + j] = _fma(s, c.dtype(b[bo + k * b0 + j]), c[x + j])


def _tile_cholesky(a, ao, a0, a1, l, lo, l0, l1, n):
    # Reads the lower triangle of a; l may not be a.
    for j in range(n):
        s = a[ao + j * a0 + j * a1]
        for k in range(j):
            v = l[lo + j * l0 + k * l1]
            s = _fma(-v, v, s)
        d = sqrt(s)
        l[lo + j * l0 + j * l1] = d
        for i in range(j + 1, n):
            t = a[ao + i * a0 + j * a1]
            for k in range(j):
                t = _fma(-l[lo + i * l0 + k * l1], l[lo + j * l0 + k * l1], t)
            l[lo + i * l0 + j * l1] = t / d
            l[lo + j * l0 + i * l1] = 0.0


def _tile_solve(t, to, t0, t1, y, yo, y0, y1, x, xo, x0, x1, n, m):
    # T x = y for m right sides, T lower triangular; x may be y.
    for c in range(m):
        for i in range(n):
            s = y[yo + i * y0 + c * y1]
            for j in range(i):
                s = _fma(-t[to + i * t0 + j * t1], x[xo + j * x0 + c * x1], s)
            x[xo + i * x0 + c * x1] = s / t[to + i * t0 + i * t1]


def _tile_cholesky_rows(l, o, s, n, column):
    # In place in the lower triangle of l, whose rows lie without gaps; s is the stride from row to row.
    for k in range(n):
        root = sqrt(l[o + k * s + k])
        l[o + k * s + k] = root
        for i in range(k + 1, n):
            v = l[o + i * s + k] / root
            l[o + i * s + k] = v
            column[i] = v
            l[o + k * s + i] = 0.0
        for i in range(k + 1, n):
            v = -column[i]
            for j in range(k + 1, i + 1):
                l[o + i * s + j] = _fma(v, column[j], l[o + i * s + j])


def _tile_cholesky_columns(l, o, s, n, column):
    # The same where columns lie without gaps; s is the stride from column to column.
    for k in range(n):
        root = sqrt(l[o + k * s + k])
        l[o + k * s + k] = root
        for i in range(k + 1, n):
            v = l[o + k * s + i] / root
            l[o + k * s + i] = v
            column[i] = v
        for j in range(k + 1, n):
            v = -column[j]
            for i in range(j, n):
                l[o + j * s + i] = _fma(v, column[i], l[o + j * s + i])
        for i in range(k + 1, n):
            l[o + i * s + k] = 0.0


def _tile_solve_rows(t, to, t0, t1, x, xo, x0, n, m):
    # In place for m right sides whose rows lie without gaps.
    for j in range(n):
        d = t[to + j * t0 + j * t1]
        for c in range(m):
            x[xo + j * x0 + c] = x[xo + j * x0 + c] / d
        for i in range(j + 1, n):
            v = -t[to + i * t0 + j * t1]
            for c in range(m):
                x[xo + i * x0 + c] = _fma(v, x[xo + j * x0 + c], x[xo + i * x0 + c])


def _tile_solve_columns(t, to, t0, t1, x, xo, x0, x1, n, m):
    # In place, one right side after the other.
    for c in range(m):
        at = xo + c * x1
        for j in range(n):
            v = x[at + j * x0] / t[to + j * t0 + j * t1]
            x[at + j * x0] = v
            for i in range(j + 1, n):
                x[at + i * x0] = _fma(-t[to + i * t0 + j * t1], v, x[at + i * x0])


def _tile_four_by_four(l, q, s, p, v, i, t):
    # Four lines at q, each four numbers of it, take in four lines of p: l[q + r s + e] -= p[v + k t + r] p[i + k t + e]. All is
    # read before anything is written, since p may be l and nobody sees that the lines lie apart; the numbers of a line are
    # neighbours, so each four are one operation.
    w0 = -p[v]
    x0 = -p[v + t]
    y0 = -p[v + 2 * t]
    z0 = -p[v + 3 * t]
    w1 = -p[v + 1]
    x1 = -p[v + t + 1]
    y1 = -p[v + 2 * t + 1]
    z1 = -p[v + 3 * t + 1]
    w2 = -p[v + 2]
    x2 = -p[v + t + 2]
    y2 = -p[v + 2 * t + 2]
    z2 = -p[v + 3 * t + 2]
    w3 = -p[v + 3]
    x3 = -p[v + t + 3]
    y3 = -p[v + 2 * t + 3]
    z3 = -p[v + 3 * t + 3]
    a0 = p[i]
    b0 = p[i + t]
    c0 = p[i + 2 * t]
    d0 = p[i + 3 * t]
    a1 = p[i + 1]
    b1 = p[i + t + 1]
    c1 = p[i + 2 * t + 1]
    d1 = p[i + 3 * t + 1]
    a2 = p[i + 2]
    b2 = p[i + t + 2]
    c2 = p[i + 2 * t + 2]
    d2 = p[i + 3 * t + 2]
    a3 = p[i + 3]
    b3 = p[i + t + 3]
    c3 = p[i + 2 * t + 3]
    d3 = p[i + 3 * t + 3]
    r00 = _fma(z0, d0, _fma(y0, c0, _fma(x0, b0, _fma(w0, a0, l[q]))))
    r01 = _fma(z0, d1, _fma(y0, c1, _fma(x0, b1, _fma(w0, a1, l[q + 1]))))
    r02 = _fma(z0, d2, _fma(y0, c2, _fma(x0, b2, _fma(w0, a2, l[q + 2]))))
    r03 = _fma(z0, d3, _fma(y0, c3, _fma(x0, b3, _fma(w0, a3, l[q + 3]))))
    r10 = _fma(z1, d0, _fma(y1, c0, _fma(x1, b0, _fma(w1, a0, l[q + s]))))
    r11 = _fma(z1, d1, _fma(y1, c1, _fma(x1, b1, _fma(w1, a1, l[q + s + 1]))))
    r12 = _fma(z1, d2, _fma(y1, c2, _fma(x1, b2, _fma(w1, a2, l[q + s + 2]))))
    r13 = _fma(z1, d3, _fma(y1, c3, _fma(x1, b3, _fma(w1, a3, l[q + s + 3]))))
    r20 = _fma(z2, d0, _fma(y2, c0, _fma(x2, b0, _fma(w2, a0, l[q + 2 * s]))))
    r21 = _fma(z2, d1, _fma(y2, c1, _fma(x2, b1, _fma(w2, a1, l[q + 2 * s + 1]))))
    r22 = _fma(z2, d2, _fma(y2, c2, _fma(x2, b2, _fma(w2, a2, l[q + 2 * s + 2]))))
    r23 = _fma(z2, d3, _fma(y2, c3, _fma(x2, b3, _fma(w2, a3, l[q + 2 * s + 3]))))
    r30 = _fma(z3, d0, _fma(y3, c0, _fma(x3, b0, _fma(w3, a0, l[q + 3 * s]))))
    r31 = _fma(z3, d1, _fma(y3, c1, _fma(x3, b1, _fma(w3, a1, l[q + 3 * s + 1]))))
    r32 = _fma(z3, d2, _fma(y3, c2, _fma(x3, b2, _fma(w3, a2, l[q + 3 * s + 2]))))
    r33 = _fma(z3, d3, _fma(y3, c3, _fma(x3, b3, _fma(w3, a3, l[q + 3 * s + 3]))))
    l[q] = r00
    l[q + 1] = r01
    l[q + 2] = r02
    l[q + 3] = r03
    l[q + s] = r10
    l[q + s + 1] = r11
    l[q + s + 2] = r12
    l[q + s + 3] = r13
    l[q + 2 * s] = r20
    l[q + 2 * s + 1] = r21
    l[q + 2 * s + 2] = r22
    l[q + 2 * s + 3] = r23
    l[q + 3 * s] = r30
    l[q + 3 * s + 1] = r31
    l[q + 3 * s + 2] = r32
    l[q + 3 * s + 3] = r33


def _tile_cholesky_rows_4(l, o, s, n, columns):
    # As _tile_cholesky_rows for multiples of four: four columns are made, and the rest of the matrix takes in all four at once.
    # What lies above the diagonal in blocks of four that it passes through is written and never read, until it is cleared.
    for b in range(n // 4):
        f = 4 * b
        p = o + f * s + f
        d0 = sqrt(l[p])
        a10 = l[p + s] / d0
        a20 = l[p + 2 * s] / d0
        a30 = l[p + 3 * s] / d0
        d1 = sqrt(_fma(-a10, a10, l[p + s + 1]))
        a21 = _fma(-a20, a10, l[p + 2 * s + 1]) / d1
        a31 = _fma(-a30, a10, l[p + 3 * s + 1]) / d1
        d2 = sqrt(_fma(-a21, a21, _fma(-a20, a20, l[p + 2 * s + 2])))
        a32 = _fma(-a31, a21, _fma(-a30, a20, l[p + 3 * s + 2])) / d2
        d3 = sqrt(_fma(-a32, a32, _fma(-a31, a31, _fma(-a30, a30, l[p + 3 * s + 3]))))
        l[p] = d0
        l[p + s] = a10
        l[p + s + 1] = d1
        l[p + 2 * s] = a20
        l[p + 2 * s + 1] = a21
        l[p + 2 * s + 2] = d2
        l[p + 3 * s] = a30
        l[p + 3 * s + 1] = a31
        l[p + 3 * s + 2] = a32
        l[p + 3 * s + 3] = d3
        for i in range(f + 4, n):
            q = o + i * s + f
            x0 = l[q] / d0
            x1 = _fma(-x0, a10, l[q + 1]) / d1
            x2 = _fma(-x1, a21, _fma(-x0, a20, l[q + 2])) / d2
            x3 = _fma(-x2, a32, _fma(-x1, a31, _fma(-x0, a30, l[q + 3]))) / d3
            l[q] = x0
            l[q + 1] = x1
            l[q + 2] = x2
            l[q + 3] = x3
            columns[i] = x0
            columns[n + i] = x1
            columns[2 * n + i] = x2
            columns[3 * n + i] = x3
        for d in range(b + 1, n // 4):
            for c in range(b + 1, d + 1):
                _tile_four_by_four(l, o + 4 * d * s + 4 * c, s, columns, 4 * d, 4 * c, n)
    for i in range(n):
        for j in range(i + 1, n):
            l[o + i * s + j] = 0.0


def _tile_cholesky_columns_4(l, o, s, n):
    # The same where columns lie without gaps.
    for b in range(n // 4):
        f = 4 * b
        p = o + f * s + f
        d0 = sqrt(l[p])
        a10 = l[p + 1] / d0
        a20 = l[p + 2] / d0
        a30 = l[p + 3] / d0
        d1 = sqrt(_fma(-a10, a10, l[p + s + 1]))
        a21 = _fma(-a20, a10, l[p + s + 2]) / d1
        a31 = _fma(-a30, a10, l[p + s + 3]) / d1
        d2 = sqrt(_fma(-a21, a21, _fma(-a20, a20, l[p + 2 * s + 2])))
        a32 = _fma(-a31, a21, _fma(-a30, a20, l[p + 2 * s + 3])) / d2
        d3 = sqrt(_fma(-a32, a32, _fma(-a31, a31, _fma(-a30, a30, l[p + 3 * s + 3]))))
        l[p] = d0
        l[p + 1] = a10
        l[p + 2] = a20
        l[p + 3] = a30
        l[p + s + 1] = d1
        l[p + s + 2] = a21
        l[p + s + 3] = a31
        l[p + 2 * s + 2] = d2
        l[p + 2 * s + 3] = a32
        l[p + 3 * s + 3] = d3
        at = o + f * s
        for c in range(b + 1, n // 4):
            i = at + 4 * c
            for e in range(4):
                l[i + e] = l[i + e] / d0
            for e in range(4):
                l[i + s + e] = _fma(-l[i + e], a10, l[i + s + e]) / d1
            for e in range(4):
                x = _fma(-l[i + e], a20, l[i + 2 * s + e])
                l[i + 2 * s + e] = _fma(-l[i + s + e], a21, x) / d2
            for e in range(4):
                x = _fma(-l[i + s + e], a31, _fma(-l[i + e], a30, l[i + 3 * s + e]))
                l[i + 3 * s + e] = _fma(-l[i + 2 * s + e], a32, x) / d3
        for d in range(b + 1, n // 4):
            for c in range(d, n // 4):
                _tile_four_by_four(l, o + 4 * d * s + 4 * c, s, l, at + 4 * d, at + 4 * c, s)
    for j in range(n):
        for i in range(j):
            l[o + j * s + i] = 0.0
