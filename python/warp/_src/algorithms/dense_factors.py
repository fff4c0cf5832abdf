"""What `warp.fem.linalg` shows: products, parts, factors, inverses and eigenvalues of small dense matrices, as functions for
kernels; sums of arrays.

The functions take matrices and vectors of any size and floating point type. Reflections divide a column by its largest entry
before squares are taken, and lengths of two numbers are found likewise, so that neither very large nor very small matrices
overflow or vanish on the way. References: Golub and Van Loan, Matrix Computations, sections 5.1 (reflections), 7.4 (Hessenberg
form) and 8.3 (implicit QR steps on a symmetric tridiagonal matrix, with Wilkinson's shift).
"""

# Annotations are evaluated: types of any size and scalar are seen by the compiler as they are.
# mypy: disable-error-code="valid-type,no-redef,no-untyped-def"
# ruff: noqa: F811

import sys
from typing import Any

from warp._src.arrays.array import array
from warp._src.kernels.launching import launch

wp: Any = sys.modules["warp"]

_STEPS = wp.constant(30)  # QR steps for each eigenvalue at most; two or three are usual


@wp.func
def generalized_inner(x: wp.types.vector(length=Any, dtype=Any), y: wp.types.vector(length=Any, dtype=Any)):
    """The sum of the products of components."""
    return wp.dot(x, y)


@wp.func
def generalized_inner(x: wp.types.matrix(shape=(Any, Any), dtype=Any), y: wp.types.vector(length=Any, dtype=Any)):
    """The sum of a matrix's rows, each times a component of the vector."""
    return y @ x


@wp.func
def generalized_inner(x: wp.types.vector(length=Any, dtype=Any), y: wp.types.matrix(shape=(Any, Any), dtype=Any)):
    """The sum of a matrix's rows, each times a component of the vector."""
    return x @ y


@wp.func
def generalized_inner(x: wp.types.matrix(shape=(Any, Any), dtype=Any), y: wp.types.matrix(shape=(Any, Any), dtype=Any)):
    """The sum of the products of entries."""
    return wp.ddot(x, y)


@wp.func
def generalized_inner(x: wp.Float, y: wp.Float):
    """The product of two numbers."""
    return x * y


@wp.func
def generalized_outer(x: wp.types.vector(length=Any, dtype=Any), y: wp.types.vector(length=Any, dtype=Any)):
    """The matrix of all products of a component of one and a component of the other."""
    return wp.outer(x, y)


@wp.func
def generalized_outer(x: wp.Float, y: wp.types.vector(length=Any, dtype=Any)):
    """A vector times a number."""
    return x * y


@wp.func
def generalized_outer(x: wp.types.vector(length=Any, dtype=Any), y: wp.Float):
    """A vector times a number."""
    return y * x


@wp.func
def generalized_outer(x: wp.types.quaternion(dtype=Any), y: wp.types.vector(length=Any, dtype=Any)):
    """The matrix of all products of a component of a quaternion and one of a vector."""
    return wp.outer(wp.vector(x[0], x[1], x[2], x[3]), y)


@wp.func
def symmetric_part(x: Any):
    """The mean of a square matrix and its transpose."""
    return x.dtype(0.5) * (x + wp.transpose(x))


@wp.func
def skew_part(x: wp.types.matrix(shape=(3, 3), dtype=Any)):
    """The skew part of a matrix as the vector whose cross product it is."""
    half = x.dtype(0.5)
    return wp.vector(half * (x[2, 1] - x[1, 2]), half * (x[0, 2] - x[2, 0]), half * (x[1, 0] - x[0, 1]))


@wp.func
def skew_part(x: wp.types.matrix(shape=(2, 2), dtype=Any)):
    """The skew part of a matrix in two dimensions, a number."""
    return x.dtype(0.5) * (x[1, 0] - x[0, 1])


@wp.func
def spherical_part(x: wp.types.matrix(shape=(Any, Any), dtype=Any)):
    """The multiple of the identity with the trace of a square matrix."""
    return (wp.trace(x) / x.dtype(len(x))) * wp.identity(n=len(x), dtype=x.dtype)


@wp.func
def _length(a: Any, b: Any):
    """The length of (a, b)."""
    largest = wp.max(wp.abs(a), wp.abs(b))
    if largest == type(a)(0.0):
        return largest
    p = a / largest
    q = b / largest
    return largest * wp.sqrt(p * p + q * q)


@wp.func
def _mirror(column: Any, first: int):
    """The unit normal of a mirror that takes a column's entries from `first` on to a multiple of the first of them, with the
    sign other than its own; a normal of zeros, no mirror, where all of them are zero."""
    zero = column.dtype(0.0)
    normal = type(column)()
    largest = column.dtype(0.0)
    for i in range(len(column)):
        if i >= first:
            largest = wp.max(largest, wp.abs(column[i]))
    if largest > zero:
        squares = column.dtype(0.0)
        for i in range(len(column)):
            if i >= first:
                entry = column[i] / largest
                normal[i] = entry
                squares += entry * entry
        size = wp.sqrt(squares)
        if normal[first] < zero:
            size = -size
        normal[first] = normal[first] + size
        normal = wp.normalize(normal)
    return normal


@wp.func
def householder_qr_decomposition(A: Any):
    """Q and R with Q R = A, of a square matrix: Q is orthonormal, R upper triangular; by reflections."""
    q = wp.identity(n=len(A), dtype=A.dtype)
    r = A * A.dtype(1.0)  # a copy
    two = A.dtype(2.0)
    zero = A.dtype(0.0)
    for k in range(len(A)):
        normal = _mirror(wp.transpose(r)[k], k)
        r = r - wp.outer(two * normal, normal @ r)
        q = q - wp.outer(q @ normal, two * normal)
        for i in range(len(A)):
            if i > k:
                r[i, k] = zero
    return q, r


@wp.func
def householder_make_hessenberg(A: Any):
    """Q and H with Q H Q^T = A, of a square matrix: Q is orthonormal, and H has nothing below the diagonal under its own. H of a
    symmetric matrix is tridiagonal."""
    q = wp.identity(n=len(A), dtype=A.dtype)
    h = A * A.dtype(1.0)  # a copy
    two = A.dtype(2.0)
    zero = A.dtype(0.0)
    for k in range(len(A) - 1):
        normal = _mirror(wp.transpose(h)[k], k + 1)
        h = h - wp.outer(two * normal, normal @ h)
        h = h - wp.outer(h @ normal, two * normal)
        q = q - wp.outer(q @ normal, two * normal)
        for i in range(len(A)):
            if i > k + 1:
                h[i, k] = zero
    return q, h


@wp.func
def solve_triangular(R: Any, b: Any):
    """x with R x = b, of an upper triangular matrix; components whose diagonal entry is zero are zero."""
    zero = b.dtype(0.0)
    x = type(b)()
    for step in range(len(b)):
        i = len(b) - 1 - step
        if R[i, i] != zero:
            x[i] = (b[i] - wp.dot(R[i], x)) / R[i, i]
    return x


@wp.func
def inverse_qr(A: Any):
    """The inverse of a square matrix, by its factors Q and R."""
    q, r = householder_qr_decomposition(A)
    inverse = type(A)()
    for j in range(len(A)):
        column = solve_triangular(r, q[j])
        for i in range(len(A)):
            inverse[i, j] = column[i]
    return inverse


@wp.func
def tridiagonal_symmetric_eigenvalues_qr(D: Any, L: Any, Q: Any, tol: Any):
    """Eigenvalues, and eigenvectors as rows, of a symmetric tridiagonal matrix T.

    Args:
        D: its diagonal.
        L: what stands below the diagonal: L[i] is T[i + 1, i].
        Q: what the eigenvectors begin with: the identity, or the Q with which Q^T T Q is the matrix that they are wanted of.
        tol: entries below the diagonal are taken as zero when they are not larger than this times the sum of the diagonal
            entries beside them; the type's own precision, if that is larger.
    """
    zero = D.dtype(0.0)
    one = D.dtype(1.0)
    half = D.dtype(0.5)
    d = D * one  # a copy
    low = type(D)()
    for i in range(len(D) - 1):
        low[i] = L[i]
    rows = Q * one  # a copy
    # Sums that an entry doesn't change find those that are as good as zero, whatever the type.
    last = int(len(D)) - 1
    steps = _STEPS * int(len(D))
    while last > 0 and steps > 0:
        first = last
        while first > 0:
            beside = wp.abs(d[first - 1]) + wp.abs(d[first])
            size = wp.abs(low[first - 1])
            if size <= tol * beside or beside + size == beside:
                break
            first -= 1
        if first == last:
            low[last - 1] = zero
            last -= 1
        else:
            if first > 0:
                low[first - 1] = zero
            steps -= 1
            gap = half * (d[last - 1] - d[last])
            beyond = low[last - 1]
            reach = _length(gap, beyond)
            if gap < zero:
                reach = -reach
            x = d[first] - (d[last] - beyond * (beyond / (gap + reach)))
            z = low[first]
            for k in range(first, last):
                r = _length(x, z)
                c = one
                s = zero
                if r > zero:
                    c = x / r
                    s = z / r
                if k > first:
                    low[k - 1] = r
                a = d[k]
                b = d[k + 1]
                e = low[k]
                shift = s * (s * (b - a) + (c + c) * e)
                d[k] = a + shift
                d[k + 1] = b - shift
                low[k] = c * (s * (b - a)) + (c - s) * (c + s) * e
                x = low[k]
                if k + 1 < last:
                    z = s * low[k + 1]
                    low[k + 1] = c * low[k + 1]
                upper = rows[k]
                lower = rows[k + 1]
                rows[k] = c * upper + s * lower
                rows[k + 1] = c * lower - s * upper
    return d, rows


@wp.func
def symmetric_eigenvalues_qr(A: Any, tol: Any):
    """Eigenvalues D, and eigenvectors as the rows of P, of a symmetric matrix: A = P^T D P. Eigenvalues are in no order.

    Args:
        A: the matrix.
        tol: how small what is left beside the diagonal must be, relative to the diagonal entries beside it; the type's own
            precision, if that is larger.
    """
    q, h = householder_make_hessenberg(A)
    below = type(A[0])()
    for i in range(len(A) - 1):
        below[i] = h[i + 1, i]
    return tridiagonal_symmetric_eigenvalues_qr(wp.get_diag(h), below, wp.transpose(q), tol)


@wp.kernel
def _axpy(x: wp.array(dtype=Any), y: wp.array(dtype=Any), alpha: Any, beta: Any):
    i = wp.tid()
    y[i] = alpha * x[i] + beta * y[i]


def array_axpy(x: array, y: array, alpha: float = 1.0, beta: float = 1.0) -> None:
    """Writes alpha * x + beta * y into y, arrays of one dimension."""
    if x.shape != y.shape or x.device != y.device:
        raise ValueError("x and y arrays must have the same shape and device")
    scalar = wp.types.type_scalar_type(y.dtype)
    launch(_axpy, dim=x.shape, inputs=[x, y, scalar(alpha), scalar(beta)], device=y.device)
