# Cholesky factors and triangular systems whose rows a warp has, a thread for each (sema/tiles_warp.cpp).


def _tile_cholesky_rest_block(l, o, r, c, p, rest, thread, threads):
    # Behind the factor of a corner of p by p numbers: the rows below it, and what they take off the rest of the matrix, two
    # by two numbers at a time. p and rest are even.
    for i in range(thread, rest, threads):
        at = o + (p + i) * r
        for j in range(p):
            s = l[at + j * c]
            for k in range(j):
                s = _fma(-l[at + k * c], l[o + j * r + k * c], s)
            l[at + j * c] = s / l[o + j * r + j * c]
    half = rest // 2
    for e in range(thread, half * half, threads):
        i = e // half
        j = e % half
        if j <= i:
            x = o + (p + 2 * i) * r
            y = o + (p + 2 * j) * r
            at = x + (p + 2 * j) * c
            s00 = l[at]
            s01 = l[at + c]
            s10 = l[at + r]
            s11 = l[at + r + c]
            for k in range(p):
                u0 = -l[x + k * c]
                u1 = -l[x + r + k * c]
                v0 = l[y + k * c]
                v1 = l[y + r + k * c]
                s00 = _fma(u0, v0, s00)
                s01 = _fma(u0, v1, s01)
                s10 = _fma(u1, v0, s10)
                s11 = _fma(u1, v1, s11)
            l[at] = s00
            l[at + c] = s01
            l[at + r] = s10
            l[at + r + c] = s11


def _tile_solve_rest_block(t, to, t0, t1, x, xo, x0, p, rest, thread, threads):
    # What the solution's p numbers take off the right side behind them.
    for i in range(thread, rest, threads):
        at = xo + (p + i) * x0
        s = x[at]
        for k in range(p):
            s = _fma(-t[to + (p + i) * t0 + k * t1], x[xo + k * x0], s)
        x[at] = s


# Where numbers are not tame, loops over memory, in which a thread reads and writes its own row alone. What it needs of others
# comes by shuffles, so all threads of the warp take part; those without a row touch nothing that others write.


def _tile_rows_of_warp(warp, rows, thread):
    # The number of rows, counted: of a constant the compiler would unroll loops that hardly ever run.
    return int(bit_count(_vote(warp, thread < rows)))


def _tile_cholesky_warp(a, ao, a0, a1, l, o, r, c, rows, warp, thread):
    # l may be a; zeros right of the diagonal.
    n = _tile_rows_of_warp(warp, rows, thread)
    at = o + thread * r
    if thread < n:
        for j in range(n):
            l[at + j * c] = a[ao + thread * a0 + j * a1]
    for k in range(n):
        v = l.dtype(0.0)
        if thread < n:
            v = l[at + k * c]
        d = sqrt(_shuffle(warp, v, uint32(k)))
        v = v / d
        if thread < n:
            l[at + k * c] = where(thread > k, v, where(thread == k, d, l.dtype(0.0)))
        for j in range(k + 1, n):
            w = _shuffle(warp, v, uint32(j))
            if thread < n:
                l[at + j * c] = _fma(-v, w, l[at + j * c])


def _tile_solve_warp(t, to, t0, t1, side, rows, upper, warp, thread):
    # The row's number of the solution.
    n = _tile_rows_of_warp(warp, rows, thread)
    row = min(thread, n - 1)
    d = t[to + row * t0 + row * t1]
    s = side
    for k in range(n - 1):
        j = where(upper == 1, n - 1 - k, k)
        x = _shuffle(warp, s / d, uint32(j))
        more = _fma(-t[to + row * t0 + j * t1], x, s)
        s = where((row - j) * (1 - 2 * upper) > 0, more, s)
    return s / d
