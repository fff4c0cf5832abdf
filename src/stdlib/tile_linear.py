# Linear algebra on tiles. A matrix is flat memory, the place where it begins and its two strides, so that transposes and
# windows need no copies; backwards strides turn an upper system into a lower one. Every element takes its updates in rising
# order of k by fused multiply-adds: results hang on the shape alone.


def _tile_matmul_new(a, ao, a0, a1, b, bo, b0, b1, c, co, c0, c1, m, n, p):
    for i in range(m):
        for j in range(n):
            s = c.dtype(0.0)
            for k in range(p):
                s = _fma(c.dtype(a[ao + i * a0 + k * a1]), c.dtype(b[bo + k * b0 + j * b1]), s)
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
            c[co + i * c0 + j * c1] = _fma(alpha, s, beta * c[co + i * c0 + j * c1])


def _tile_matmul_times(a, ao, a0, a1, b, bo, b0, b1, c, co, c0, c1, m, n, p, alpha):
    for i in range(m):
        for j in range(n):
            s = c.dtype(0.0)
            for k in range(p):
                s = _fma(c.dtype(a[ao + i * a0 + k * a1]), c.dtype(b[bo + k * b0 + j * b1]), s)
            c[co + i * c0 + j * c1] = alpha * s


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
