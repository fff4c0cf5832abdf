# Products and factorisations of tiles as differentiation sees them: one step each, whose gradient is a rule of algebra and
# needs nothing that was computed on the way. Memory is as in tile_linear.py; rows lie without gaps, unless said otherwise.
# Differentiation calls a gradient with the memory as it was behind the step (docs/design/gradients.md).


def _tile_product(a, ao, a0, b, bo, b0, c, co, c0, m, n, p, sign, turned):
    # c += sign a b. `turned` has room for b's transpose, which the way back wants.
    _tile_matmul_rows(a, ao, a0, 1, b, bo, b0, c, co, c0, m, n, p, sign)


def _tile_product_gradient(a, ao, a0, b, bo, b0, c, co, c0, m, n, p, sign, turned):
    # a gets sign g bᵀ, b gets sign aᵀ g, and c keeps g.
    g = adjoint[c]
    for k in range(p):
        for j in range(n):
            turned[j * p + k] = b[bo + k * b0 + j]
    _tile_matmul_rows(g, co, c0, 1, turned, 0, p, adjoint[a], ao, a0, m, p, n, sign)
    _tile_matmul_rows(a, ao, 1, a0, g, co, c0, adjoint[b], bo, b0, p, n, m, sign)


def _tile_product_block(a, b, c, co, m, n, p, sign, kind, threads, r, s, ra, sa, rb, sb, thread):
    # The same by the threads of a block; a thread, or a warp, has r by s of the product, and of those of the way back.
    _block_product(a, 0, p, 1, b, 0, n, 1, c, co, m, n, p, sign, 1, kind, threads, r, s, 0, 0, 0, 0, thread)


def _tile_product_block_gradient(a, b, c, co, m, n, p, sign, kind, threads, r, s, ra, sa, rb, sb, thread):
    g = adjoint[c]
    _block_product(g, co, n, 1, b, 0, 1, n, adjoint[a], 0, m, p, n, sign, 1, kind, threads, ra, sa, 0, 0, 0, 0, thread)
    _block_product(a, 0, 1, p, g, co, n, 1, adjoint[b], 0, p, n, m, sign, 1, kind, threads, rb, sb, 0, 0, 0, 0, thread)


def _tile_factor(l, lo, l0, n, columns):
    # The lower triangle of l becomes its Cholesky factor, and the upper one zero. `columns` has room for four of them.
    if n % 4 == 0:
        _tile_cholesky_rows_4(l, lo, l0, n, columns)
    else:
        _tile_cholesky_rows(l, lo, l0, n, columns)


def _tile_factor_gradient(l, lo, l0, n, columns):
    # Step by step from the last column: what step k took off the rest of the matrix, and its own column, which it scaled. The
    # adjoint of the rest is symmetric; it stands in both triangles, twice in the diagonal, so that all loops run along rows.
    g = adjoint[l]
    for turn in range(n):
        k = n - 1 - turn
        d = l[lo + k * l0 + k]
        for i in range(k + 1, n):
            columns[i] = g[lo + i * l0 + k]
        for r in range(k + 1, n):
            f = l[lo + r * l0 + k]
            for i in range(k + 1, n):
                columns[i] = _fma(-f, g[lo + r * l0 + i], columns[i])
        s = g[lo + k * l0 + k]
        for i in range(k + 1, n):
            v = columns[i] / d
            s = _fma(-v, l[lo + i * l0 + k], s)
            g[lo + i * l0 + k] = v
            g[lo + k * l0 + i] = v
        g[lo + k * l0 + k] = s / d
    for i in range(n):
        g[lo + i * l0 + i] = g[lo + i * l0 + i] / l.dtype(2.0)
        for j in range(i + 1, n):
            g[lo + i * l0 + j] = 0.0


def _tile_substitute(t, to, t0, t1, x, xo, x0, x1, n, m):
    # T x = y in place for m right sides, T lower triangular; strides may be any.
    if m > 1 and x1 == 1:
        _tile_solve_rows(t, to, t0, t1, x, xo, x0, n, m)
    else:
        _tile_solve_columns(t, to, t0, t1, x, xo, x0, x1, n, m)


def _tile_substitute_gradient(t, to, t0, t1, x, xo, x0, x1, n, m):
    # The right side gets z with Tᵀ z = adjoint of x, and T's triangle gets −z xᵀ.
    g = adjoint[x]
    for c in range(m):
        go = xo + c * x1
        for turn in range(n):
            i = n - 1 - turn
            z = g[go + i * x0] / t[to + i * t0 + i * t1]
            g[go + i * x0] = z
            for j in range(i):
                g[go + j * x0] = _fma(-z, t[to + i * t0 + j * t1], g[go + j * x0])
            for j in range(i + 1):
                at = to + i * t0 + j * t1
                adjoint[t][at] = _fma(-z, x[go + j * x0], adjoint[t][at])
