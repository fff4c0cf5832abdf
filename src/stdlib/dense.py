# Dense linear algebra on matrices in flat memory, row by row, one matrix for a thread: what old programs call. Functions
# that end in _at take the places where matrices (at, for A and L) and vectors (v) begin. The gradients of triangular
# ones are those of the equations that they solve, so that nothing of a factorisation has to be remembered.


def dense_gemm(m, n, p, t1, t2, A, B, C):
    _dense_gemm_at(m, n, p, t1, t2, 0, 0, 0, A, B, C)


def _dense_gemm_at(m, n, p, t1, t2, a, b, c, A, B, C):
    for i in range(m):
        for j in range(n):
            s = 0.0
            for k in range(p):
                s += A[a + where(t1 != 0, k * m + i, i * p + k)] * B[b + where(t2 != 0, j * p + k, k * n + j)]
            C[c + i * n + j] = s


def dense_chol(n, A, regularization, L):
    _dense_chol_at(n, 0, A, regularization, L)


def _dense_chol_at(n, at, A, regularization, L):
    for j in range(n):
        s = A[at + j * n + j] + regularization
        for k in range(j):
            r = L[at + j * n + k]
            s -= r * r
        s = sqrt(s)
        L[at + j * n + j] = s
        for i in range(j + 1, n):
            t = A[at + i * n + j]
            for k in range(j):
                t -= L[at + i * n + k] * L[at + j * n + k]
            L[at + i * n + j] = t / s


def _dense_chol_at_gradient(n, at, A, regularization, L):
    # I. Murray, Differentiation of the Cholesky decomposition (2016): the adjoint of L becomes that of A's lower
    # triangle in place, column by column from the last.
    g = adjoint[L]
    for turn in range(n):
        j = n - 1 - turn
        d = L[at + j * n + j]
        s = 0.0
        for i in range(j + 1, n):
            s += L[at + i * n + j] * g[at + i * n + j]
        g[at + j * n + j] = (g[at + j * n + j] - s / d) / d
        for i in range(j + 1, n):
            g[at + i * n + j] = g[at + i * n + j] / d
        for k in range(j):
            t = 0.0
            for i in range(j, n):
                t += g[at + i * n + j] * L[at + i * n + k]
            g[at + j * n + k] = g[at + j * n + k] - t
        for i in range(j + 1, n):
            for k in range(j):
                g[at + i * n + k] = g[at + i * n + k] - g[at + i * n + j] * L[at + j * n + k]
        g[at + j * n + j] = 0.5 * g[at + j * n + j]
    for i in range(n):
        for j in range(i + 1):
            t = g[at + i * n + j]
            g[at + i * n + j] = 0.0
            adjoint[A][at + i * n + j] += t
            if i == j:
                adjoint[regularization] += t


def _dense_substitute(n, at, v, L, b, x):
    # L Lᵀ x = b; b and x may be one array.
    for i in range(n):
        s = b[v + i]
        for j in range(i):
            s -= L[at + i * n + j] * x[v + j]
        x[v + i] = s / L[at + i * n + i]
    for turn in range(n):
        i = n - 1 - turn
        s = x[v + i]
        for j in range(i + 1, n):
            s -= L[at + j * n + i] * x[v + j]
        x[v + i] = s / L[at + i * n + i]


def dense_subs(n, L, b, x):
    _dense_subs_at(n, 0, 0, L, b, x)


def _dense_subs_at(n, at, v, L, b, x):
    _dense_substitute(n, at, v, L, b, x)


def _dense_subs_at_gradient(n, at, v, L, b, x):
    # With L Lᵀ z = adjoint of x: b gets z, L Lᵀ gets −z xᵀ, and so L gets −(z (Lᵀx)ᵀ + x (Lᵀz)ᵀ).
    g = adjoint[x]
    _dense_substitute(n, at, v, L, g, g)
    for k in range(n):
        y = 0.0
        w = 0.0
        for j in range(k, n):
            y += L[at + j * n + k] * x[v + j]
            w += L[at + j * n + k] * g[v + j]
        for i in range(k, n):
            adjoint[L][at + i * n + k] += -(g[v + i] * y + x[v + i] * w)
    for i in range(n):
        z = g[v + i]
        g[v + i] = 0.0
        adjoint[b][v + i] += z


def dense_solve(n, A, L, b, x):
    _dense_solve_at(n, 0, 0, A, L, b, x)


def _dense_solve_at(n, at, v, A, L, b, x):
    _dense_substitute(n, at, v, L, b, x)


def _dense_solve_at_gradient(n, at, v, A, L, b, x):
    # A is what L was made of: it gets −z xᵀ, and L nothing.
    g = adjoint[x]
    _dense_substitute(n, at, v, L, g, g)
    for i in range(n):
        for j in range(n):
            adjoint[A][at + i * n + j] += -(g[v + i] * x[v + j])
    for i in range(n):
        z = g[v + i]
        g[v + i] = 0.0
        adjoint[b][v + i] += z


def _dense_gemm_batched(batch: int, m: array[int], n: array[int], p: array[int], t1: int, t2: int, A_start: array[int],
                        B_start: array[int], C_start: array[int], A: array[float], B: array[float], C: array[float]):
    if batch < len(m):
        a = A_start[batch]
        b = B_start[batch]
        _dense_gemm_at(m[batch], n[batch], p[batch], t1, t2, a, b, C_start[batch], A, B, C)


def _dense_chol_batched(batch: int, A_start: array[int], A_dim: array[int], A: array[float], regularization: float,
                        L: array[float]):
    if batch < len(A_dim):
        _dense_chol_at(A_dim[batch], A_start[batch], A, regularization, L)


def _dense_solve_batched(batch: int, b_start: array[int], A_start: array[int], A_dim: array[int], A: array[float],
                         L: array[float], b: array[float], x: array[float]):
    if batch < len(A_dim):
        _dense_solve_at(A_dim[batch], A_start[batch], b_start[batch], A, L, b, x)


def mlp(weights: array2d[float], bias: array[float], activation, index: int, x: array2d[float], out: array2d[float]):
    for i in range(weights.shape[0]):
        s = bias[i]
        for k in range(weights.shape[1]):
            s += weights[i, k] * x[k, index]
        out[i, index] = activation(s)
