# Work on tiles that the threads of a block share (GPUs). `thread` is the thread's number, `threads` how many there are; every
# thread runs the whole function. Barriers are not written here: the compiler sets them where threads need what others wrote.
# Elements take their updates in the order of tile_linear.py and tile_algorithms.py, so all devices give the same bits.


def _tile_product_end(c, at, s, alpha, beta, kind):
    # kind 0: s is it; 1: times alpha; 2: plus beta times what was there.
    if kind == 0:
        c[at] = s
    elif kind == 1:
        c[at] = alpha * s
    else:
        before = where(beta == c.dtype(0.0), c.dtype(0.0), c[at])  # which may be no number
        c[at] = _fma(alpha, s, beta * before)


def _tile_matmul_block(a, ao, a0, a1, b, bo, b0, b1, c, co, c0, c1, m, n, p, sign, keep, alpha, beta, kind, thread, threads):
    # One element at a time. keep: sums go on from what is there.
    for e in range(thread, m * n, threads):
        i = e // n
        j = e % n
        at = co + i * c0 + j * c1
        s = c.dtype(0.0)
        if keep == 1:
            s = c[at]
        for k in range(p):
            s = _fma(sign * c.dtype(a[ao + i * a0 + k * a1]), c.dtype(b[bo + k * b0 + j * b1]), s)
        _tile_product_end(c, at, s, alpha, beta, kind)


def _tile_matmul_block_2(a, ao, a0, a1, b, bo, b0, b1, c, co, c0, c1, m, n, p, sign, keep, alpha, beta, kind, thread, threads):
    # Two by two elements: four products for four loads.
    columns = n // 2
    for e in range(thread, (m // 2) * columns, threads):
        i = 2 * (e // columns)
        j = 2 * (e % columns)
        x = ao + i * a0
        y = bo + j * b1
        at = co + i * c0 + j * c1
        s00 = c.dtype(0.0)
        s01 = c.dtype(0.0)
        s10 = c.dtype(0.0)
        s11 = c.dtype(0.0)
        if keep == 1:
            s00 = c[at]
            s01 = c[at + c1]
            s10 = c[at + c0]
            s11 = c[at + c0 + c1]
        for k in range(p):
            u0 = sign * c.dtype(a[x + k * a1])
            u1 = sign * c.dtype(a[x + a0 + k * a1])
            v0 = c.dtype(b[y + k * b0])
            v1 = c.dtype(b[y + k * b0 + b1])
            s00 = _fma(u0, v0, s00)
            s01 = _fma(u0, v1, s01)
            s10 = _fma(u1, v0, s10)
            s11 = _fma(u1, v1, s11)
        _tile_product_end(c, at, s00, alpha, beta, kind)
        _tile_product_end(c, at + c1, s01, alpha, beta, kind)
        _tile_product_end(c, at + c0, s10, alpha, beta, kind)
        _tile_product_end(c, at + c0 + c1, s11, alpha, beta, kind)


def _tile_row_end(c, at, c1, s, alpha, beta, kind):
    for q in range(4):
        _tile_product_end(c, at + q * c1, s[q], alpha, beta, kind)


def _tile_row_begin(c, at, c1):
    return vector(c[at], c[at + c1], c[at + 2 * c1], c[at + 3 * c1])


def _tile_row_fma(u, v, s):
    return vector(_fma(u, v[0], s[0]), _fma(u, v[1], s[1]), _fma(u, v[2], s[2]), _fma(u, v[3], s[3]))


def _tile_matmul_block_4(a, ao, a0, a1, b, bo, b0, b1, c, co, c0, c1, m, n, p, sign, keep, alpha, beta, kind, thread, threads):
    # Four by four: sixteen products for eight loads, which go together where memory lies so.
    columns = n // 4
    for e in range(thread, (m // 4) * columns, threads):
        i = 4 * (e // columns)
        j = 4 * (e % columns)
        x = ao + i * a0
        y = bo + j * b1
        at = co + i * c0 + j * c1
        none = c.dtype(0.0)
        s0 = vector(none, none, none, none)
        s1 = s0
        s2 = s0
        s3 = s0
        if keep == 1:
            s0 = _tile_row_begin(c, at, c1)
            s1 = _tile_row_begin(c, at + c0, c1)
            s2 = _tile_row_begin(c, at + 2 * c0, c1)
            s3 = _tile_row_begin(c, at + 3 * c0, c1)
        for q in range(p // 4):
            for r in range(4):
                k = 4 * q + r
                z = y + k * b0
                v = vector(c.dtype(b[z]), c.dtype(b[z + b1]), c.dtype(b[z + 2 * b1]), c.dtype(b[z + 3 * b1]))
                s0 = _tile_row_fma(sign * c.dtype(a[x + k * a1]), v, s0)
                s1 = _tile_row_fma(sign * c.dtype(a[x + a0 + k * a1]), v, s1)
                s2 = _tile_row_fma(sign * c.dtype(a[x + 2 * a0 + k * a1]), v, s2)
                s3 = _tile_row_fma(sign * c.dtype(a[x + 3 * a0 + k * a1]), v, s3)
        for k in range(4 * (p // 4), p):
            z = y + k * b0
            v = vector(c.dtype(b[z]), c.dtype(b[z + b1]), c.dtype(b[z + 2 * b1]), c.dtype(b[z + 3 * b1]))
            s0 = _tile_row_fma(sign * c.dtype(a[x + k * a1]), v, s0)
            s1 = _tile_row_fma(sign * c.dtype(a[x + a0 + k * a1]), v, s1)
            s2 = _tile_row_fma(sign * c.dtype(a[x + 2 * a0 + k * a1]), v, s2)
            s3 = _tile_row_fma(sign * c.dtype(a[x + 3 * a0 + k * a1]), v, s3)
        _tile_row_end(c, at, c1, s0, alpha, beta, kind)
        _tile_row_end(c, at + c0, c1, s1, alpha, beta, kind)
        _tile_row_end(c, at + 2 * c0, c1, s2, alpha, beta, kind)
        _tile_row_end(c, at + 3 * c0, c1, s3, alpha, beta, kind)


def _tile_matmul_block_8(a, ao, a0, a1, b, bo, b0, b1, c, co, c0, c1, m, n, p, sign, keep, alpha, beta, kind, thread, threads):
    # Eight by four: thirty-two products for twelve loads.
    columns = n // 4
    for e in range(thread, (m // 8) * columns, threads):
        i = 8 * (e // columns)
        j = 4 * (e % columns)
        x = ao + i * a0
        y = bo + j * b1
        at = co + i * c0 + j * c1
        none = c.dtype(0.0)
        s0 = vector(none, none, none, none)
        s1 = s0
        s2 = s0
        s3 = s0
        s4 = s0
        s5 = s0
        s6 = s0
        s7 = s0
        if keep == 1:
            s0 = _tile_row_begin(c, at, c1)
            s1 = _tile_row_begin(c, at + c0, c1)
            s2 = _tile_row_begin(c, at + 2 * c0, c1)
            s3 = _tile_row_begin(c, at + 3 * c0, c1)
            s4 = _tile_row_begin(c, at + 4 * c0, c1)
            s5 = _tile_row_begin(c, at + 5 * c0, c1)
            s6 = _tile_row_begin(c, at + 6 * c0, c1)
            s7 = _tile_row_begin(c, at + 7 * c0, c1)
        for q in range(p // 4):
            for r in range(4):
                k = 4 * q + r
                z = y + k * b0
                v = vector(c.dtype(b[z]), c.dtype(b[z + b1]), c.dtype(b[z + 2 * b1]), c.dtype(b[z + 3 * b1]))
                s0 = _tile_row_fma(sign * c.dtype(a[x + k * a1]), v, s0)
                s1 = _tile_row_fma(sign * c.dtype(a[x + a0 + k * a1]), v, s1)
                s2 = _tile_row_fma(sign * c.dtype(a[x + 2 * a0 + k * a1]), v, s2)
                s3 = _tile_row_fma(sign * c.dtype(a[x + 3 * a0 + k * a1]), v, s3)
                s4 = _tile_row_fma(sign * c.dtype(a[x + 4 * a0 + k * a1]), v, s4)
                s5 = _tile_row_fma(sign * c.dtype(a[x + 5 * a0 + k * a1]), v, s5)
                s6 = _tile_row_fma(sign * c.dtype(a[x + 6 * a0 + k * a1]), v, s6)
                s7 = _tile_row_fma(sign * c.dtype(a[x + 7 * a0 + k * a1]), v, s7)
        for k in range(4 * (p // 4), p):
            z = y + k * b0
            v = vector(c.dtype(b[z]), c.dtype(b[z + b1]), c.dtype(b[z + 2 * b1]), c.dtype(b[z + 3 * b1]))
            s0 = _tile_row_fma(sign * c.dtype(a[x + k * a1]), v, s0)
            s1 = _tile_row_fma(sign * c.dtype(a[x + a0 + k * a1]), v, s1)
            s2 = _tile_row_fma(sign * c.dtype(a[x + 2 * a0 + k * a1]), v, s2)
            s3 = _tile_row_fma(sign * c.dtype(a[x + 3 * a0 + k * a1]), v, s3)
            s4 = _tile_row_fma(sign * c.dtype(a[x + 4 * a0 + k * a1]), v, s4)
            s5 = _tile_row_fma(sign * c.dtype(a[x + 5 * a0 + k * a1]), v, s5)
            s6 = _tile_row_fma(sign * c.dtype(a[x + 6 * a0 + k * a1]), v, s6)
            s7 = _tile_row_fma(sign * c.dtype(a[x + 7 * a0 + k * a1]), v, s7)
        _tile_row_end(c, at, c1, s0, alpha, beta, kind)
        _tile_row_end(c, at + c0, c1, s1, alpha, beta, kind)
        _tile_row_end(c, at + 2 * c0, c1, s2, alpha, beta, kind)
        _tile_row_end(c, at + 3 * c0, c1, s3, alpha, beta, kind)
        _tile_row_end(c, at + 4 * c0, c1, s4, alpha, beta, kind)
        _tile_row_end(c, at + 5 * c0, c1, s5, alpha, beta, kind)
        _tile_row_end(c, at + 6 * c0, c1, s6, alpha, beta, kind)
        _tile_row_end(c, at + 7 * c0, c1, s7, alpha, beta, kind)


def _block_product(
    a, ao, a0, a1, b, bo, b0, b1, c, co, m, n, p, sign, keep, kind, threads, rows, columns, flags, own, a_stage, b_stage, thread
):
    # c = sign a b, or added to c (keep), whose rows have no gaps. What it means; how GPUs do it is nvptx/block_product.cpp.
    for e in range(thread, m * n, threads):
        i = e // n
        j = e % n
        s = c.dtype(0.0)
        if keep == 1:
            s = c[co + e]
        for k in range(p):
            s = _fma(c.dtype(sign) * c.dtype(a[ao + i * a0 + k * a1]), c.dtype(b[bo + k * b0 + j * b1]), s)
        c[co + e] = s


def _block_copy(tile, offset, array, row, column, rows, columns, threads, check, flags, thread):
    # A tile from an array, zeros for what lies outside. What it means; how GPUs do it is nvptx/block_copy.cpp.
    for e in range(thread, rows * columns, threads):
        i = row + e // columns
        j = column + e % columns
        v = tile.dtype(0)
        if i >= 0 and i < array.shape[0] and j >= 0 and j < array.shape[1]:
            v = array[i, j]
        tile[offset + e] = v


def _tile_cholesky_block(l, o, r, c, n, thread, threads):
    # In place in the lower triangle; r and c are the strides from row to row and from column to column. What lies above is left.
    for k in range(n):
        d = sqrt(l[o + k * r + k * c])
        for i in range(k + thread, n, threads):
            v = l[o + i * r + k * c]
            l[o + i * r + k * c] = where(i == k, d, v / d)
        for i in range(k + 1 + thread, n, threads):
            v = -l[o + i * r + k * c]
            for j in range(k + 1, i + 1):
                l[o + i * r + j * c] = _fma(v, l[o + j * r + k * c], l[o + i * r + j * c])


def _tile_cholesky_block_once(a, ao, a0, a1, l, lo, l0, l1, n, thread, threads):
    # Every element is written once, for gradients; l may not be a.
    for j in range(n):
        s = a[ao + j * a0 + j * a1]
        for k in range(j):
            v = l[lo + j * l0 + k * l1]
            s = _fma(-v, v, s)
        d = sqrt(s)
        if thread == 0:
            l[lo + j * l0 + j * l1] = d
        for i in range(j + 1 + thread, n, threads):
            t = a[ao + i * a0 + j * a1]
            for k in range(j):
                t = _fma(-l[lo + i * l0 + k * l1], l[lo + j * l0 + k * l1], t)
            l[lo + i * l0 + j * l1] = t / d
            l[lo + j * l0 + i * l1] = 0.0


def _tile_solve_block(t, to, t0, t1, y, yo, y0, y1, x, xo, x0, x1, n, m, thread, threads):
    # T x = y for m right sides, one thread for each; x may be y.
    for c in range(thread, m, threads):
        for i in range(n):
            s = y[yo + i * y0 + c * y1]
            for j in range(i):
                s = _fma(-t[to + i * t0 + j * t1], x[xo + j * x0 + c * x1], s)
            x[xo + i * x0 + c * x1] = s / t[to + i * t0 + i * t1]


def _tile_solve_block_one(t, to, t0, t1, y, yo, y0, x, xo, x0, n, thread, threads):
    # One right side of at most as many rows as there are threads: each keeps its row.
    s = y.dtype(0.0)
    if thread < n:
        s = y[yo + thread * y0]
    for j in range(n):
        if thread == j:
            x[xo + j * x0] = s / t[to + j * t0 + j * t1]
        if thread > j and thread < n:
            s = _fma(-t[to + thread * t0 + j * t1], x[xo + j * x0], s)


def _tile_solve_block_long(t, to, t0, t1, x, xo, x0, n, thread, threads):
    # One right side, in place, of more rows than that.
    for j in range(n):
        v = x[xo + j * x0] / t[to + j * t0 + j * t1]
        if thread == 0:
            x[xo + j * x0] = v
        for i in range(j + 1 + thread, n, threads):
            x[xo + i * x0] = _fma(-t[to + i * t0 + j * t1], v, x[xo + i * x0])


def _tile_first_not_less(keys, low, high, key):
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


def _tile_first_greater(keys, low, high, key):
    while low < high:
        middle = (low + high) // 2
        if key < keys[middle]:
            high = middle
        else:
            low = middle + 1
    return low


def _tile_sort_block(keys, order, more_keys, more_order, n, thread, threads):
    # Merge sort, stable: each element of two neighbouring runs finds its place by how many of the other run stand before it.
    width = 1
    while width < n:
        for k in range(thread, n, threads):
            start = (k // (2 * width)) * (2 * width)
            middle = min(start + width, n)
            key = keys[k]
            if k < middle:
                to = k + _tile_first_not_less(keys, middle, min(start + 2 * width, n), key) - middle
            else:
                to = k - middle + _tile_first_greater(keys, start, middle, key)
            more_keys[to] = key
            more_order[to] = order[k]
        for k in range(thread, n, threads):
            keys[k] = more_keys[k]
            order[k] = more_order[k]
        width = 2 * width


def _tile_complex_times(a, b):
    return vector(a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])


def _tile_root_of_eighth(j, n):
    # e^(2 pi i j/n) in float32 for j from -n/8 to n/8, where polynomials are exact to the last bit or two. Cosines and sines in
    # float64 are more arithmetic than the transform.
    x = 6.2831853071795864769 * (float32(j) / float32(n))
    z = x * x
    s = x + x * z * (-0.16666666641 + z * (0.0083333293 + z * (-0.00019839334 + z * 0.0000027183114)))
    c = 1.0 + z * (-0.5 + z * (0.041666666 + z * (-0.0013888889 + z * (0.00002480069 - z * 0.00000027271))))
    return vector(c, s)


def _tile_root_of_one(k, n):
    # The same for k below n.
    eighth = (8 * k) // n
    root = _tile_root_of_eighth(k - ((eighth + 1) // 2) * (n // 4), n)
    turns = ((eighth + 1) // 2) % 4
    if turns == 1:
        return vector(-root[1], root[0])
    if turns == 2:
        return -root
    if turns == 3:
        return vector(root[1], -root[0])
    return root


def _tile_twiddles_block(w, n, sign, zero, thread, threads):
    for k in range(thread, n, threads):
        angle = 6.283185307179586476925 * float64(k) / float64(n)
        w[k] = vector(zero.dtype(cos(angle)), zero.dtype(float64(sign) * sin(angle)))


def _tile_twiddles_block_4(w, n, sign, thread, threads):
    # As above in float32, if n is a multiple of 4.
    for k in range(thread, n, threads):
        root = _tile_root_of_one(k, n)
        w[k] = vector(root[0], float32(sign) * root[1])


def _tile_twiddles_block_8(w, n, sign, thread, threads):
    # The same bits if n is a multiple of 8: roots of one eighth of a turn, and their images in the others. Thread 0, whose own root is 1,
    # has that at the eighth's end.
    s = float32(sign)
    quarter = n // 4
    for e in range(thread, n // 8, threads):
        j = where(e == 0, n // 8, e)
        root = _tile_root_of_eighth(j, n)
        a = where(e == 0, 1.0, root[0])
        b = where(e == 0, 0.0, root[1])
        w[e] = vector(a, s * b)
        w[e + quarter] = vector(-b, s * a)
        w[e + 2 * quarter] = vector(-a, -s * b)
        w[e + 3 * quarter] = vector(b, -s * a)
        a = root[0]
        b = root[1]
        w[quarter - j] = vector(b, s * a)
        w[2 * quarter - j] = vector(-a, s * b)
        w[3 * quarter - j] = vector(-b, -s * a)
        w[n - j] = vector(a, -s * b)


# Passes of transforms. Memory between them has a gap behind every 16 numbers (`xg`, `yg`: 1 for such memory, 0 for others): the
# first pass writes every eighth number, which would lie in two of 32 banks.


def _tile_gap(i, gaps):
    return i + (i // 16) * gaps


def _tile_adds_bits(size, gaps):
    # Whether numbers below `size` and multiples of it have their gaps apart: sums of them carry nothing.
    return gaps == 0 or size % 16 == 0 or (size & (size - 1)) == 0


def _tile_behind(at, place, more, gaps, apart):
    # The place of at + more, where `place` is that of `at`: a constant behind it, if gaps are apart.
    if apart:
        return place + _tile_gap(more, gaps)
    return _tile_gap(at + more, gaps)


def _tile_fft_block(x, xo, xg, y, yo, yg, w, n, r, size, stride, thread, threads):
    m = size // r
    for e in range(thread, m * stride, threads):
        p = e // stride
        q = e % stride
        for k in range(r):
            s = x[xo + _tile_gap(q + stride * p, xg)]
            for i in range(1, r):
                s = s + _tile_complex_times(x[xo + _tile_gap(q + stride * (p + m * i), xg)], w[((i * k) % r) * (n // r)])
            y[yo + _tile_gap(q + stride * (r * p + k), yg)] = _tile_complex_times(s, w[(p * k) * (n // size)])


def _tile_fft_block_2(x, xo, xg, y, yo, yg, w, n, sign, size, stride, thread, threads):
    m = size // 2
    h = stride * m
    for e in range(thread, h, threads):
        p = e // stride
        q = e % stride
        at = q + stride * p
        xs = _tile_gap(at, xg)
        a = x[xo + xs]
        b = x[xo + _tile_behind(at, xs, h, xg, _tile_adds_bits(h, xg))]
        o = q + stride * (2 * p)
        ys = _tile_gap(o, yg)
        y[yo + ys] = a + b
        y[yo + _tile_behind(o, ys, stride, yg, _tile_adds_bits(stride, yg))] = _tile_complex_times(a - b, w[p * (n // size)])


def _tile_fft_block_4(x, xo, xg, y, yo, yg, w, n, sign, size, stride, thread, threads):
    m = size // 4
    h = stride * m
    near = _tile_adds_bits(h, xg)
    far = _tile_adds_bits(stride, yg)
    for e in range(thread, h, threads):
        p = e // stride
        q = e % stride
        at = q + stride * p
        xs = _tile_gap(at, xg)
        a = x[xo + xs]
        b = x[xo + _tile_behind(at, xs, h, xg, near)]
        c = x[xo + _tile_behind(at, xs, 2 * h, xg, near)]
        d = x[xo + _tile_behind(at, xs, 3 * h, xg, near)]
        s = a + c
        f = a - c
        u = b + d
        v = _tile_quarter_turn(b - d, sign)
        o = q + stride * (4 * p)
        ys = _tile_gap(o, yg)
        t = p * (n // size)
        y[yo + ys] = s + u
        y[yo + _tile_behind(o, ys, stride, yg, far)] = _tile_complex_times(f + v, w[t])
        y[yo + _tile_behind(o, ys, 2 * stride, yg, far)] = _tile_complex_times(s - u, w[2 * t])
        y[yo + _tile_behind(o, ys, 3 * stride, yg, far)] = _tile_complex_times(f - v, w[3 * t])


def _tile_quarter_turn(a, sign):
    if sign > 0:
        return vector(-a[1], a[0])
    return vector(a[1], -a[0])


def _tile_fft_block_8(x, xo, xg, y, yo, yg, w, n, sign, size, stride, thread, threads):
    # Transforms of the four even and of the four odd ones, joined.
    m = size // 8
    half = w[n // 8][0]
    h = stride * m
    near = _tile_adds_bits(h, xg)
    far = _tile_adds_bits(stride, yg)
    for e in range(thread, h, threads):
        p = e // stride
        q = e % stride
        at = q + stride * p
        xs = _tile_gap(at, xg)
        x0 = x[xo + xs]
        x4 = x[xo + _tile_behind(at, xs, 4 * h, xg, near)]
        x2 = x[xo + _tile_behind(at, xs, 2 * h, xg, near)]
        x6 = x[xo + _tile_behind(at, xs, 6 * h, xg, near)]
        a = x0 + x4
        b = x0 - x4
        c = x2 + x6
        d = _tile_quarter_turn(x2 - x6, sign)
        even0 = a + c
        even1 = b + d
        even2 = a - c
        even3 = b - d
        x1 = x[xo + _tile_behind(at, xs, h, xg, near)]
        x5 = x[xo + _tile_behind(at, xs, 5 * h, xg, near)]
        x3 = x[xo + _tile_behind(at, xs, 3 * h, xg, near)]
        x7 = x[xo + _tile_behind(at, xs, 7 * h, xg, near)]
        f = x1 + x5
        g = x1 - x5
        k = x3 + x7
        l = _tile_quarter_turn(x3 - x7, sign)
        eighth = g + l
        three = g - l
        odd0 = f + k
        odd1 = half * (eighth + _tile_quarter_turn(eighth, sign))
        odd2 = _tile_quarter_turn(f - k, sign)
        odd3 = half * (_tile_quarter_turn(three, sign) - three)
        o = q + stride * (8 * p)
        ys = _tile_gap(o, yg)
        t = p * (n // size)
        y[yo + ys] = even0 + odd0
        y[yo + _tile_behind(o, ys, stride, yg, far)] = _tile_complex_times(even1 + odd1, w[t])
        y[yo + _tile_behind(o, ys, 2 * stride, yg, far)] = _tile_complex_times(even2 + odd2, w[2 * t])
        y[yo + _tile_behind(o, ys, 3 * stride, yg, far)] = _tile_complex_times(even3 + odd3, w[3 * t])
        y[yo + _tile_behind(o, ys, 4 * stride, yg, far)] = _tile_complex_times(even0 - odd0, w[4 * t])
        y[yo + _tile_behind(o, ys, 5 * stride, yg, far)] = _tile_complex_times(even1 - odd1, w[5 * t])
        y[yo + _tile_behind(o, ys, 6 * stride, yg, far)] = _tile_complex_times(even2 - odd2, w[6 * t])
        y[yo + _tile_behind(o, ys, 7 * stride, yg, far)] = _tile_complex_times(even3 - odd3, w[7 * t])


def _tile_rank_block(flag, totals, thread, threads):
    # How many threads before this one have the flag, and how many have it in all. `totals` has a place for each warp.
    warp = _warp()
    bits = _vote(warp, flag)
    own = thread // 32
    lane = thread % 32
    if lane == 0:
        totals[own] = bit_count(bits)
    before = bit_count(bits & ((uint32(1) << uint32(lane)) - uint32(1)))
    all = 0
    for k in range((threads + 31) // 32):
        n = totals[k]
        all = all + n
        before = before + where(k < own, n, 0)
    return before, all


def _tile_query_next_block(query: ref, found, totals, thread, threads):
    # What threads find next, one after another, and -1 behind. Nobody goes on once none of the block found anything.
    found[thread] = -1
    if _on_gpu():
        mine = _tile_query_share(query, thread, threads)
        before, all = _tile_rank_block(mine >= 0, totals, thread, threads)
        query._finished = all == 0
        if mine >= 0:
            found[before] = mine
    else:  # all threads take the same steps, and each keeps the one of its number
        some = False
        for k in range(threads):
            index = _tile_query_next(query)
            some = some or index >= 0
            if k == thread:
                found[k] = index
        query._finished = not some
    return threads
