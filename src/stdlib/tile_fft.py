# Fourier transforms of tiles: Stockham's passes by decimation in frequency, which need no reordering. P. N. Swarztrauber, FFT
# algorithms for vector computers (1984). A pass makes of transforms of r m numbers, `stride` of them side by side, r times as
# many of m numbers. Real and imaginary parts lie apart, so that inner loops run along memory: over q, or over p in the first
# pass, whose stride is one. Roots come from a table (or memory of the same form): behind `wo`, for k from 1 to r − 1,
# the cosines and then the sines of the angles by which outputs k are turned, for all p.


def _tile_fft_split(x, xo, re, im, n):
    for i in range(n):
        v = x[xo + i]
        re[i] = v[0]
        im[i] = v[1]


def _tile_fft_join(re, im, x, xo, n):
    for i in range(n):
        x[xo + i] = vector(re[i], im[i])


def _tile_fft_roots(w, wo, r, m, sign):
    # What tables have, for transforms that are too long for one.
    for k in range(1, r):
        for p in range(m):
            angle = 6.283185307179586476925 * float64(k * p) / float64(r * m)
            w[wo + 2 * (k - 1) * m + p] = w.dtype(cos(angle))
            w[wo + (2 * k - 1) * m + p] = w.dtype(float64(sign) * sin(angle))


def _tile_fft_2(xr, xi, yr, yi, w, wo, m, stride):
    h = stride * m
    for p in range(m):
        c = w[wo + p]
        s = w[wo + m + p]
        for q in range(stride):
            i = q + stride * p
            o = q + 2 * stride * p
            d0 = xr[i] - xr[i + h]
            d1 = xi[i] - xi[i + h]
            yr[o] = xr[i] + xr[i + h]
            yi[o] = xi[i] + xi[i + h]
            yr[o + stride] = d0 * c - d1 * s
            yi[o + stride] = d0 * s + d1 * c


def _tile_fft_last_2(xr, xi, yr, yi, stride):
    for q in range(stride):
        a0 = xr[q]
        a1 = xi[q]
        b0 = xr[q + stride]
        b1 = xi[q + stride]
        yr[q] = a0 + b0
        yi[q] = a1 + b1
        yr[q + stride] = a0 - b0
        yi[q + stride] = a1 - b1


def _tile_fft_4(xr, xi, yr, yi, w, wo, m, stride, sign):
    h = stride * m
    for p in range(m):
        c1 = w[wo + p]
        s1 = w[wo + m + p]
        c2 = w[wo + 2 * m + p]
        s2 = w[wo + 3 * m + p]
        c3 = w[wo + 4 * m + p]
        s3 = w[wo + 5 * m + p]
        for q in range(stride):
            i = q + stride * p
            o = q + 4 * stride * p
            a0 = xr[i] + xr[i + 2 * h]
            a1 = xi[i] + xi[i + 2 * h]
            b0 = xr[i] - xr[i + 2 * h]
            b1 = xi[i] - xi[i + 2 * h]
            c0 = xr[i + h] + xr[i + 3 * h]
            d0 = xi[i + h] + xi[i + 3 * h]
            e0 = sign * (xi[i + h] - xi[i + 3 * h])
            e1 = sign * (xr[i + h] - xr[i + 3 * h])
            f0 = b0 - e0
            f1 = b1 + e1
            g0 = a0 - c0
            g1 = a1 - d0
            h0 = b0 + e0
            h1 = b1 - e1
            yr[o] = a0 + c0
            yi[o] = a1 + d0
            yr[o + stride] = f0 * c1 - f1 * s1
            yi[o + stride] = f0 * s1 + f1 * c1
            yr[o + 2 * stride] = g0 * c2 - g1 * s2
            yi[o + 2 * stride] = g0 * s2 + g1 * c2
            yr[o + 3 * stride] = h0 * c3 - h1 * s3
            yi[o + 3 * stride] = h0 * s3 + h1 * c3


def _tile_fft_last_4(xr, xi, yr, yi, stride, sign):
    for q in range(stride):
        a0 = xr[q] + xr[q + 2 * stride]
        a1 = xi[q] + xi[q + 2 * stride]
        b0 = xr[q] - xr[q + 2 * stride]
        b1 = xi[q] - xi[q + 2 * stride]
        c0 = xr[q + stride] + xr[q + 3 * stride]
        c1 = xi[q + stride] + xi[q + 3 * stride]
        e0 = sign * (xi[q + stride] - xi[q + 3 * stride])
        e1 = sign * (xr[q + stride] - xr[q + 3 * stride])
        yr[q] = a0 + c0
        yi[q] = a1 + c1
        yr[q + stride] = b0 - e0
        yi[q + stride] = b1 + e1
        yr[q + 2 * stride] = a0 - c0
        yi[q + 2 * stride] = a1 - c1
        yr[q + 3 * stride] = b0 + e0
        yi[q + 3 * stride] = b1 - e1


def _tile_fft_odd(xr, xi, yr, yi, w, wo, to, m, stride, r):
    # Any factor r: sums of r terms. The r-th roots of one stand in the table behind `to`, cosines first.
    h = stride * m
    for p in range(m):
        for k in range(r):
            o = stride * (r * p + k)
            for q in range(stride):
                s0 = xr[q + stride * p]
                s1 = xi[q + stride * p]
                for i in range(1, r):
                    c = w[to + (i * k) % r]
                    s = w[to + r + (i * k) % r]
                    x0 = xr[q + stride * p + i * h]
                    x1 = xi[q + stride * p + i * h]
                    s0 = s0 + (x0 * c - x1 * s)
                    s1 = s1 + (x0 * s + x1 * c)
                if k > 0 and m > 1:
                    c = w[wo + 2 * (k - 1) * m + p]
                    s = w[wo + (2 * k - 1) * m + p]
                    yr[o + q] = s0 * c - s1 * s
                    yi[o + q] = s0 * s + s1 * c
                else:
                    yr[o + q] = s0
                    yi[o + q] = s1
