"""References of vectors, matrices and their decompositions in NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from expected import Expected, exact
from reference_scalar import divided, larger, signs, smaller

T = (0, 2, 1)  # transposes the matrices of a batch


def scaled(values: np.ndarray, factors: np.ndarray) -> np.ndarray:
    return values * factors.reshape(len(factors), *[1] * (values.ndim - 1))


def column(factors: np.ndarray, values: np.ndarray) -> np.ndarray:
    """One number per sample, to go with each component."""
    return factors.reshape(len(factors), *[1] * (values.ndim - 1))


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).reshape(len(a), -1).sum(axis=1, dtype=a.dtype)


def length(a: np.ndarray) -> np.ndarray:
    return np.sqrt((a * a).sum(axis=1))


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.matmul(a, b, dtype=a.dtype)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    c = [a[:, (k + 1) % 3] * b[:, (k + 2) % 3] - a[:, (k + 2) % 3] * b[:, (k + 1) % 3] for k in range(3)]
    return np.stack(c, axis=1).astype(a.dtype)


def skew(v: np.ndarray) -> np.ndarray:
    x, y, z = v.T
    o = np.zeros_like(x)
    return np.stack([o, -z, y, z, o, -x, -y, x, o], axis=1).reshape(-1, 3, 3).astype(v.dtype)


def diagonal_matrix(v: np.ndarray) -> np.ndarray:
    return np.where(np.eye(v.shape[1], dtype=bool), v[:, :, None], 0).astype(v.dtype)


def diagonal(m: np.ndarray) -> np.ndarray:
    return np.diagonal(m, axis1=1, axis2=2)


def huber(v: np.ndarray, delta: np.ndarray) -> np.ndarray:
    size = length(v)
    return np.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta))


def pseudo_huber(v: np.ndarray, delta: np.ndarray) -> np.ndarray:
    return delta * np.sqrt(1 + (length(v) / delta) ** 2)


def normalized(a: np.ndarray) -> np.ndarray:
    return a / length(a)[:, None]


def lerp(a: np.ndarray, b: np.ndarray, t: np.ndarray) -> np.ndarray:
    t = column(t, a)
    return a * (1 - t) + b * t


def reduced(pick: Callable) -> Callable:
    """The smaller or larger of all components."""

    def value(a: np.ndarray) -> np.ndarray:
        out = a[:, 0]
        for k in range(1, a.shape[1]):
            out = pick(out, a[:, k])
        return out

    return value


def orthogonality(*matrices: np.ndarray) -> np.ndarray:
    """How far the columns are from unit vectors at right angles."""
    return np.max([np.abs(m @ m.transpose(T) - np.eye(m.shape[1])).max(axis=(1, 2)) for m in matrices], axis=0)


def off(made: np.ndarray, a: np.ndarray) -> np.ndarray:
    return np.abs(made - a).max(axis=(1, 2)) / np.abs(a).max(axis=(1, 2))


def svd_error(a: np.ndarray, u: np.ndarray, sigma: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A is put together again, U and V are orthogonal, the singular values are NumPy's in falling order."""
    values = np.linalg.svd(a, compute_uv=False)
    wrong = np.abs(np.abs(sigma) - values).max(axis=1) / values[:, 0]
    return np.max([off(u * sigma[:, None, :] @ v.transpose(T), a), orthogonality(u, v), wrong], axis=0)


def qr_error(a: np.ndarray, q: np.ndarray, r: np.ndarray) -> np.ndarray:
    below = np.abs(np.tril(r, -1)).max(axis=(1, 2))
    turned = np.abs(np.linalg.det(q) - 1)
    return np.max([off(q @ r, a), orthogonality(q), below, turned], axis=0)


def eig_error(a: np.ndarray, q: np.ndarray, d: np.ndarray) -> np.ndarray:
    wrong = np.abs(np.sort(d, axis=1) - np.linalg.eigvalsh(a)).max(axis=1) / np.abs(a).max(axis=(1, 2))
    return np.max([off(q * d[:, None, :] @ q.transpose(T), a), orthogonality(q), wrong], axis=0)


def into(check: Callable, count: int) -> Callable:
    """The check of a form that writes to variables: inputs are the matrix and what the variables held."""
    return lambda *values: check(values[0], *values[1 + count :])


def decomposition(name: str, matrix: str, check: Callable, results: list[str]) -> dict[str, Expected]:
    return {
        f"{name}({matrix})": Expected(check=check, loose=40),
        f"{name}({', '.join([matrix, *results])})": Expected(check=into(check, len(results)), loose=40),
    }


M3, V3, M2, V2 = "mat[3,3,F]", "vec[3,F]", "mat[2,2,F]", "vec[2,F]"

TABLE: dict[str, Expected] = {
    "abs(vec[N,S])": exact(np.abs),
    "sign(vec[N,S])": exact(signs),
    "min(vec[N,S])": exact(reduced(smaller)),
    "max(vec[N,S])": exact(reduced(larger)),
    "min(vec[N,S], vec[N,S])": exact(smaller),
    "max(vec[N,S], vec[N,S])": exact(larger),
    "lerp": Expected(lerp),
    "dot": Expected(dot),
    "ddot": Expected(dot),
    "cross": Expected(cross),
    "length": Expected(length),
    "length_sq": Expected(lambda a: dot(a, a)),
    "normalize": Expected(normalized),
    "cw_mul": exact(lambda a, b: a * b),
    "cw_div": exact(divided),
    "outer": exact(lambda a, b: a[:, :, None] * b[:, None, :]),
    "transpose": exact(lambda a: a.transpose(T)),
    "determinant": Expected(np.linalg.det, loose=16),
    "inverse": Expected(np.linalg.inv, loose=16),
    "inverse_approx": Expected(np.linalg.inv, loose=16),
    "trace": Expected(lambda a: diagonal(a).sum(axis=1, dtype=a.dtype)),
    "diag": exact(diagonal_matrix),
    "get_diag": exact(diagonal),
    "skew": exact(skew),
    "argmin": exact(lambda a: np.argmin(a, axis=1).astype(np.uint32)),
    "argmax": exact(lambda a: np.argmax(a, axis=1).astype(np.uint32)),
    "norm_l1": Expected(lambda v: np.abs(v).sum(axis=1)),
    "norm_l2": Expected(length),
    "norm_huber": Expected(huber),
    "norm_pseudo_huber": Expected(pseudo_huber),
    "smooth_normalize": Expected(lambda v, d: v / pseudo_huber(v, d)[:, None]),
    "mul(vec[N,S], S)": exact(scaled),
    "mul(mat[R,C,S], S)": exact(scaled),
    "mul(quat[F], F)": exact(scaled),
    "mul(transform[F], F)": exact(scaled),
    "mul(S, vec[N,S])": exact(lambda a, b: scaled(b, a)),
    "mul(S, mat[R,C,S])": exact(lambda a, b: scaled(b, a)),
    "mul(F, quat[F])": exact(lambda a, b: scaled(b, a)),
    "mul(F, transform[F])": exact(lambda a, b: scaled(b, a)),
    "mul(mat[R,C,S], vec[C,S])": Expected(lambda a, b: matmul(a, b[:, :, None])[:, :, 0]),
    "mul(vec[R,S], mat[R,C,S])": Expected(lambda a, b: matmul(a[:, None, :], b)[:, 0]),
    "mul(mat[R,C,S], mat[C,K,S])": Expected(matmul),
    **{
        f"{name}({kind}, {scalar})": exact(lambda a, b: divided(a, column(b, a)))
        for name, scalar, kinds in (
            ("div", "S", ("vec[N,S]", "mat[R,C,S]")),
            ("div", "F", ("quat[F]", "transform[F]")),
            ("div_approx", "F", ("vec[N,F]", "mat[R,C,F]", "quat[F]")),
        )
        for kind in kinds
    },
    **{
        f"{name}({scalar}, {kind})": exact(lambda a, b: divided(column(a, b), b))
        for name, scalar, kinds in (
            ("div", "S", ("vec[N,S]", "mat[R,C,S]")),
            ("div", "F", ("quat[F]",)),
            ("div_approx", "F", ("vec[N,F]", "mat[R,C,F]", "quat[F]")),
        )
        for kind in kinds
    },
    **decomposition("svd3", M3, svd_error, [M3, V3, M3]),
    **decomposition("svd2", M2, svd_error, [M2, V2, M2]),
    **decomposition("qr3", M3, qr_error, [M3, M3]),
    **decomposition("eig3", M3, eig_error, [M3, V3]),
}
