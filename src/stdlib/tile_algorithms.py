# Algorithms on tiles that lie row after row: place of the least element, sorting, Fourier transforms.


def _tile_argmin(a, o, n):
    # The lowest place among equals; NaN is left out, unless there is nothing else.
    best = a[o]
    at = 0
    for i in range(1, n):
        v = a[o + i]
        if v < best or (best != best and v == v):
            best = v
            at = i
    return at


def _tile_argmax(a, o, n):
    best = a[o]
    at = 0
    for i in range(1, n):
        v = a[o + i]
        if v > best or (best != best and v == v):
            best = v
            at = i
    return at


def _tile_sort(keys, order, more_keys, more_order, n):
    # Merge sort, stable: runs of 1, 2, 4… from one memory to the other and back. `order` begins as 0, 1, 2…
    width = 1
    while width < n:
        start = 0
        while start < n:
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            i = start
            j = middle
            for k in range(start, end):
                left = j >= end
                if i < middle and j < end:
                    left = keys[i] <= keys[j]
                at = where(left, i, j)
                more_keys[k] = keys[at]
                more_order[k] = order[at]
                i = where(left, i + 1, i)
                j = where(left, j, j + 1)
            start = end
        for k in range(n):
            keys[k] = more_keys[k]
            order[k] = more_order[k]
        width = 2 * width


def _tile_twiddles(w, n, sign):
    # e^(±2πik/n), rounded from float64.
    zero = w[0][0]
    for k in range(n):
        angle = 6.283185307179586476925 * float64(k) / float64(n)
        w[k] = vector(zero.dtype(cos(angle)), zero.dtype(float64(sign) * sin(angle)))


def _complex_times(a, b):
    return vector(a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])


def _tile_fft_stage(x, xo, y, yo, w, n, r, size, stride):
    # One pass of Stockham's algorithm by decimation in frequency: transforms of length `size`, `stride` of them side by side,
    # become r times as many of length size / r. R. C. Swarztrauber, FFT algorithms for vector computers (1984).
    m = size // r
    for p in range(m):
        for q in range(stride):
            for k in range(r):
                s = x[xo + q + stride * p]
                for i in range(1, r):
                    s = s + _complex_times(x[xo + q + stride * (p + m * i)], w[((i * k) % r) * (n // r)])
                y[yo + q + stride * (r * p + k)] = _complex_times(s, w[(p * k) * (n // size)])


def _tile_fft_stage_2(x, xo, y, yo, w, n, size, stride):
    m = size // 2
    for p in range(m):
        t = w[p * (n // size)]
        for q in range(stride):
            a = x[xo + q + stride * p]
            b = x[xo + q + stride * (p + m)]
            y[yo + q + stride * (2 * p)] = a + b
            y[yo + q + stride * (2 * p + 1)] = _complex_times(a - b, t)


def _tile_fft_stage_4(x, xo, y, yo, w, n, size, stride):
    m = size // 4
    turn = w[n // 4]
    for p in range(m):
        t1 = w[p * (n // size)]
        t2 = w[(2 * p) * (n // size)]
        t3 = w[(3 * p) * (n // size)]
        for q in range(stride):
            a = x[xo + q + stride * p]
            b = x[xo + q + stride * (p + m)]
            c = x[xo + q + stride * (p + 2 * m)]
            d = x[xo + q + stride * (p + 3 * m)]
            s = a + c
            e = a - c
            u = b + d
            v = vector((b[1] - d[1]) * turn[1], (b[0] - d[0]) * turn[1])
            f = vector(e[0] - v[0], e[1] + v[1])
            g = vector(e[0] + v[0], e[1] - v[1])
            y[yo + q + stride * (4 * p)] = s + u
            y[yo + q + stride * (4 * p + 1)] = _complex_times(f, t1)
            y[yo + q + stride * (4 * p + 2)] = _complex_times(s - u, t2)
            y[yo + q + stride * (4 * p + 3)] = _complex_times(g, t3)


def _tile_randi(state, e):
    s = rand_init(int(state), e)
    return randi(s)


def _tile_randi_within(state, e, low, high):
    s = rand_init(int(state), e)
    return randi(s, low, high)


def _tile_randf(state, e):
    s = rand_init(int(state), e)
    return randf(s)


def _tile_randf_within(state, e, low, high):
    s = rand_init(int(state), e)
    return randf(s, low, high)
