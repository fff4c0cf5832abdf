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


def _slow_quotient(x, y):
    # x / y of float32, by way of float64: a quotient of two float32 is either a float32, or the middle between two of them, or so far
    # from there that the last bits of a float64 don't matter. A GPU's assembler has a function of a hundred instructions for x / y, which takes
    # it as long as a sixth of the kernel that hardly ever comes here.
    a = float64(abs(y))
    r = cast(uint64(0x7FDE623822FC16E6) - cast(a, uint64), float64)  # 1 / a to an eighth
    for _ in range(4):
        r = _fma(r, _fma(-a, r, float64(1.0)), r)
    return _slow_quotient_by(x, y, r)


def _slow_quotient_by(x, y, near):
    # The same with 1 / |y| to 24 bits or better. Tests are those of bits: for comparisons of floats the compiler has two each.
    bits_x = cast(x, uint32) & uint32(0x7FFFFFFF)
    bits_y = cast(y, uint32) & uint32(0x7FFFFFFF)
    ax = cast(bits_x, float32)
    a = float64(cast(bits_y, float32))
    r = _fma(near, _fma(-a, near, float64(1.0)), near)
    q = float64(ax) * r
    q = _fma(_fma(-a, q, float64(ax)), r, q)
    # By a zero, an infinity, or what is no number: that is a product with an infinity, a zero, or what is no number.
    divides = bits_y - uint32(1) < uint32(0x7F7FFFFF)
    times = where(divides, 1.0, cast(uint32(0x7F800000) - bits_y, float32))
    found = where(divides and bits_x - uint32(1) < uint32(0x7F7FFFFF), float32(q), ax * times)
    sign = (cast(x, uint32) ^ cast(y, uint32)) & uint32(0x80000000)
    return cast(cast(found, uint32) | sign, float32)


def _slow_inverse_root(x):
    # 1 / root of a float32 that is more than nothing, as a float64.
    a = float64(x)
    half = a * float64(-0.5)
    r = cast(uint64(0x5FE6EB50C7B537A9) - (cast(a, uint64) >> uint64(1)), float64)  # to a thirtieth
    for _ in range(4):
        r = _fma(r, _fma(half * r, r, float64(0.5)), r)
    return r


def _slow_root(x, r):
    # The square root of a float32, by that.
    a = float64(x)
    q = a * r
    q = _fma(_fma(-q, q, a), r * float64(0.5), q)
    special = where(x < 0.0, cast(uint32(0x7FC00000), float32), x)
    return where(cast(x, uint32) - uint32(1) < uint32(0x7F7FFFFF), float32(q), special)


def _tile_rows_of_warp(warp, rows, thread):
    # The number of rows, counted: of a constant the compiler would unroll loops that hardly ever run.
    return int(bit_count(_vote(warp, thread < rows)))


def _tile_cholesky_warp(a, ao, a0, a1, l, o, l0, c, first, columns, rows, warp, thread):
    # So many columns from the first on, where those in front are done. l may be a; zeros right of the diagonal.
    n = _tile_rows_of_warp(warp, rows, thread)
    at = o + thread * l0
    for j in range(first, min(first + columns, n)):
        s = l.dtype(0.0)
        if thread < n:
            s = a[ao + thread * a0 + j * a1]
        for k in range(j):
            f = l.dtype(0.0)
            if thread < n:
                f = l[at + k * c]
            s = _fma(-f, _shuffle(warp, f, uint32(j)), s)
        pivot = _shuffle(warp, s, uint32(j))
        r = _slow_inverse_root(pivot)
        d = _slow_root(pivot, r)
        s = _slow_quotient_by(s, d, r)
        if thread < n:
            l[at + j * c] = where(thread > j, s, where(thread == j, d, l.dtype(0.0)))


def _tile_solve_warp(t, to, t0, t1, side, rows, upper, systems, warp, thread):
    # The row's number of the solution; of two systems the second one is the first one's transpose, from its other end.
    n = _tile_rows_of_warp(warp, rows, thread)
    row = min(thread, n - 1)
    d = t[to + row * (t0 + t1)]
    s = side
    for system in range(min(systems, n)):
        last_first = upper + system
        at = to + row * where(system == 1, t1, t0)
        step = where(system == 1, t0, t1)
        q = s
        for k in range(n):
            j = where(last_first == 1, n - 1 - k, k)
            q = _slow_quotient(s, d)
            more = _fma(-t[at + j * step], _shuffle(warp, q, uint32(j)), s)
            s = where((row - j) * (1 - 2 * last_first) > 0, more, s)
        s = q
    return s
