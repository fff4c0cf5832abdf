# Gradients of library functions where a rule beats the derived code: f_gradient(parameters, adjoints of results) belongs to
# the function f. Adjoints of decompositions divide by differences of eigenvalues or singular values. Where these are as
# good as equal the directions mean nothing, and the quotients are kept finite: d / (d² + gap²) instead of 1 / d.


def _gap(x):
    # eps^(2/3) for the type of x: rounding divided by this is still small, and what is further apart is hardly touched.
    # A third's rounding tells the types apart; the compiler folds all of this.
    wrong = abs(float64(type(x)(1.0 / 3.0)) - float64(1.0 / 3.0))
    narrow = where(wrong > 3.0e-4, type(x)(4.0e-2), type(x)(1.0e-2))
    wide = where(wrong > 0.0, type(x)(2.5e-5), type(x)(4.0e-11))
    return where(wrong > 1.0e-5, narrow, wide)


def _tame_reciprocal(d):
    gap = _gap(d)
    return d / (d * d + gap * gap)


def _adjoint_of_inverse(r, adj_r):
    # From R A = 1: dR = -R dA R.
    return -(transpose(r) @ adj_r @ transpose(r))


def _inverse1_gradient(a, adj_r):
    adjoint[a] += _adjoint_of_inverse(_inverse1(a), adj_r)


def _inverse2_gradient(a, adj_r):
    adjoint[a] += _adjoint_of_inverse(_inverse2(a), adj_r)


def _inverse3_gradient(a, adj_r):
    adjoint[a] += _adjoint_of_inverse(_inverse3(a), adj_r)


def _inverse4_gradient(a, adj_r):
    adjoint[a] += _adjoint_of_inverse(_inverse4(a), adj_r)


def _inverse_n_gradient(a, adj_r):
    adjoint[a] += _adjoint_of_inverse(_inverse_n(a), adj_r)


def _adjoint_of_svd(A, U, sigma, V, adj_U, adj_sigma, adj_V):
    # In the basis of U and V: the diagonal moves sigma, the pair (i, j) turns U and V. Sums and differences of the two
    # turns have denominators of their own, so that what depends on U Vᵀ alone stays exact at equal singular values.
    shrink = 1 / _matrix_scale(A)
    s = sigma * shrink
    x = transpose(U) @ adj_U
    y = transpose(V) @ adj_V
    p = type(A)()
    for i in range(len(s)):
        for j in range(len(s)):
            if i == j:
                p[i, j] = adj_sigma[i]
            else:
                xij = 0.5 * (x[i, j] - x[j, i])
                yij = 0.5 * (y[i, j] - y[j, i])
                both = (xij + yij) * _tame_reciprocal(s[j] - s[i])
                p[i, j] = (both + (xij - yij) * _tame_reciprocal(s[j] + s[i])) * shrink
    return U @ p @ transpose(V)


def svd3_gradient(A, adj_U, adj_sigma, adj_V):
    U, sigma, V = svd3(A)
    adjoint[A] += _adjoint_of_svd(A, U, sigma, V, adj_U, adj_sigma, adj_V)


def svd2_gradient(A, adj_U, adj_sigma, adj_V):
    U, sigma, V = svd2(A)
    adjoint[A] += _adjoint_of_svd(A, U, sigma, V, adj_U, adj_sigma, adj_V)


def eig3_gradient(A, adj_Q, adj_d):
    Q, d = eig3(A)
    shrink = 1 / _matrix_scale(A)
    w = d * shrink
    x = transpose(Q) @ adj_Q
    p = type(A)()
    for i in range(3):
        for j in range(3):
            if i == j:
                p[i, j] = adj_d[i]
            else:
                p[i, j] = 0.5 * (x[i, j] - x[j, i]) * _tame_reciprocal(w[j] - w[i]) * shrink
    adjoint[A] += Q @ p @ transpose(Q)  # symmetric, as what eig3 reads of A is


def qr3_gradient(A, adj_Q, adj_R):
    # Walter and Lehmann, Algorithmic Differentiation of Linear Algebra Functions: adj_A Rᵀ = adj_Q + Q M, where M is
    # the lower triangle of R adj_Rᵀ - adj_Qᵀ Q and its mirror image.
    Q, R = qr3(A)
    adj_upper = adj_R
    adj_upper[1, 0] = type(R[0, 0])(0)
    adj_upper[2, 0] = type(R[0, 0])(0)
    adj_upper[2, 1] = type(R[0, 0])(0)
    m = R @ transpose(adj_upper) - transpose(adj_Q) @ Q
    m[0, 1] = m[1, 0]
    m[0, 2] = m[2, 0]
    m[1, 2] = m[2, 1]
    b = adj_Q + Q @ m
    shrink = 1 / _matrix_scale(A)
    i0 = _tame_reciprocal(R[0, 0] * shrink) * shrink
    i1 = _tame_reciprocal(R[1, 1] * shrink) * shrink
    i2 = _tame_reciprocal(R[2, 2] * shrink) * shrink
    r = type(A)()
    for k in range(3):
        r2 = b[k, 2] * i2
        r1 = (b[k, 1] - R[1, 2] * r2) * i1
        r[k, 0] = (b[k, 0] - R[0, 1] * r1 - R[0, 2] * r2) * i0
        r[k, 1] = r1
        r[k, 2] = r2
    adjoint[A] += r
