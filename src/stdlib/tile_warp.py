# Cholesky factors and triangular systems by one warp, a thread for each row, where numbers are not tame (sema/tiles_warp.cpp):
# loops over memory, in which a thread reads and writes its own row alone. What it needs of others comes by shuffles, so all
# threads of the warp take part; those without a row touch nothing that others write.


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
