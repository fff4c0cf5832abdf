"""svd3, svd2, qr3, eig3, inverse: recombination, orthogonality, order and signs, on random and adversarial matrices."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp
from warp._src.kernels.definitions import kernel_from_text

TYPES = {"float32": (wp.float32, 1.2e-7), "float64": (wp.float64, 2.3e-16)}
STORE = "a[i] = u\n    d[i] = s\n    b[i] = v"
VARIABLES = "u = M()\n    s = V()\n    v = M()\n    "
SOURCES = {
    "svd3": f"u, s, v = wp.svd3(m[i])\n    {STORE}",
    "svd3_into": f"{VARIABLES}wp.svd3(m[i], u, s, v)\n    {STORE}",
    "svd2": f"u, s, v = wp.svd2(m[i])\n    {STORE}",
    "svd2_into": f"{VARIABLES}wp.svd2(m[i], u, s, v)\n    {STORE}",
    "qr3": "q, r = wp.qr3(m[i])\n    a[i] = q\n    b[i] = r",
    "qr3_into": f"{VARIABLES}wp.qr3(m[i], u, v)\n    {STORE}",
    "eig3": "q, s = wp.eig3(m[i])\n    a[i] = q\n    d[i] = s",
    "eig3_into": f"{VARIABLES}wp.eig3(m[i], u, s)\n    {STORE}",
    "inverse": "a[i] = wp.inverse(m[i])",
    "inverse_approx": "a[i] = wp.inverse_approx(m[i])",
}
KERNELS: dict = {}


def decompose(name: str, matrices: np.ndarray, scalar: type) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the builtin gives for each matrix, as float64: two matrices and a vector (those it has)."""
    n = matrices.shape[1]
    mat, vec = wp.types.matrix((n, n), scalar), wp.types.vector(n, scalar)
    if (name, n, scalar) not in KERNELS:
        source = (
            "@wp.kernel\ndef k(m: wp.array(dtype=M), a: wp.array(dtype=M), d: wp.array(dtype=V), b: wp.array(dtype=M)):"
            f"\n    i = wp.tid()\n    {SOURCES[name]}\n"
        )
        KERNELS[name, n, scalar] = kernel_from_text(source, "k", {"wp": wp, "M": mat, "V": vec})
    m = wp.array(matrices, dtype=mat)
    a, b, d = (wp.zeros(len(matrices), dtype=t) for t in (mat, mat, vec))
    wp.launch(KERNELS[name, n, scalar], len(matrices), [m, a, d, b])
    return a.numpy().astype(np.float64), d.numpy().astype(np.float64), b.numpy().astype(np.float64)


def rotations(rng: np.random.Generator, count: int, n: int) -> np.ndarray:
    q, _ = np.linalg.qr(rng.standard_normal((count, n, n)))
    q[:, :, 0] *= np.sign(np.linalg.det(q))[:, None]
    return q


def adversarial(n: int, dtype: str) -> np.ndarray:
    """Random matrices, equal and vanishing singular values, tiny and huge scales, steps in scale, exact cases."""
    rng = np.random.default_rng(n)
    out = [rng.standard_normal((3000, n, n)), rng.uniform(-1, 1, (500, n, n)), rng.integers(-2, 3, (2000, n, n))]
    for spectrum in (
        [1, 1, 1],
        [1, 1, 0],
        [1, 0, 0],
        [1, 1, 1e-6],
        [1, 1e-3, 1e-3],
        [1, 1e-4, 1e-8],
        [2, 2, 1],
        [1, 1, -1],
    ):
        s = np.array((spectrum * 2)[:n], dtype=np.float64)
        out.append(rotations(rng, 200, n) * s[None, None, :] @ rotations(rng, 200, n))
    symmetric = rng.standard_normal((500, n, n))
    out += [symmetric + symmetric.transpose(0, 2, 1), np.triu(rng.standard_normal((200, n, n))), np.eye(n)[None]]
    out += [
        np.zeros((1, n, n)),
        -np.eye(n)[None],
        np.ones((1, n, n)),
        np.eye(n)[None, ::-1],
        1e-7 * np.ones((1, n, n)) + np.eye(n),
    ]
    out += [rng.standard_normal((300, n, n)) * 10.0 ** rng.integers(-7, 7, (300, 1, n))]
    sizes = [1e-30, 1e-18, 1e18, 1e36] if dtype == "float32" else [1e-290, 1e-150, 1e150, 1e300]
    out += [rng.standard_normal((200, n, n)) * size for size in sizes]
    return np.concatenate([np.asarray(m, dtype=np.float64) for m in out]).astype(dtype).astype(np.float64)


def size_of(matrices: np.ndarray) -> np.ndarray:
    return np.maximum(np.abs(matrices).max(axis=(1, 2)), 5e-324)


def orthogonality(q: np.ndarray) -> float:
    return np.abs(q @ q.transpose(0, 2, 1) - np.eye(q.shape[1])).max()


def recombination(made: np.ndarray, matrices: np.ndarray) -> float:
    return (np.abs(made / size_of(matrices)[:, None, None] - matrices / size_of(matrices)[:, None, None])).max()


@pytest.mark.parametrize("dtype", sorted(TYPES))
@pytest.mark.parametrize("name", ["svd3", "svd3_into"])
def test_svd3(name, dtype):
    scalar, eps = TYPES[dtype]
    m = adversarial(3, dtype)
    u, s, v = decompose(name, m, scalar)
    assert orthogonality(u) < 12 * eps and orthogonality(v) < 24 * eps
    assert np.abs(np.linalg.det(u) - 1).max() < 24 * eps and np.abs(np.linalg.det(v) - 1).max() < 48 * eps
    size = size_of(m)[:, None]
    scaled = s / size
    assert recombination((u * scaled[:, None, :]) @ v.transpose(0, 2, 1) * size[..., None], m) < 48 * eps
    assert (s[:, :2] >= 0).all()
    assert (scaled[:, 0] >= scaled[:, 1] - 8 * eps).all() and (scaled[:, 1] >= np.abs(scaled[:, 2]) - 8 * eps).all()
    want = np.linalg.svd(m / size[..., None], compute_uv=False)
    assert np.abs(np.abs(scaled) - want).max() < 24 * eps


@pytest.mark.parametrize("dtype", sorted(TYPES))
@pytest.mark.parametrize("name", ["svd2", "svd2_into"])
def test_svd2(name, dtype):
    scalar, eps = TYPES[dtype]
    m = adversarial(2, dtype)
    u, s, v = decompose(name, m, scalar)
    assert orthogonality(u) < 8 * eps and orthogonality(v) < 16 * eps
    assert np.abs(np.linalg.det(v) - 1).max() < 16 * eps
    size = size_of(m)[:, None]
    scaled = s / size
    assert recombination((u * scaled[:, None, :]) @ v.transpose(0, 2, 1) * size[..., None], m) < 24 * eps
    assert (scaled[:, 1] >= 0).all() and (scaled[:, 0] >= scaled[:, 1] - 4 * eps).all()
    want = np.linalg.svd(m / size[..., None], compute_uv=False)
    assert np.abs(scaled - want).max() < 16 * eps


@pytest.mark.parametrize("dtype", sorted(TYPES))
@pytest.mark.parametrize("name", ["qr3", "qr3_into"])
def test_qr3(name, dtype):
    scalar, eps = TYPES[dtype]
    m = adversarial(3, dtype)
    q, _, r = decompose(name, m, scalar)
    assert orthogonality(q) < 12 * eps and np.abs(np.linalg.det(q) - 1).max() < 24 * eps
    assert (np.tril(r, -1) == 0).all() and (r[:, 0, 0] >= 0).all() and (r[:, 1, 1] >= 0).all()
    assert recombination(q @ (r / size_of(m)[:, None, None]) * size_of(m)[:, None, None], m) < 16 * eps


@pytest.mark.parametrize("dtype", sorted(TYPES))
@pytest.mark.parametrize("name", ["eig3", "eig3_into"])
def test_eig3(name, dtype):
    scalar, eps = TYPES[dtype]
    m = adversarial(3, dtype)
    m = (0.5 * m + 0.5 * m.transpose(0, 2, 1)).astype(dtype).astype(np.float64)
    q, d, _ = decompose(name, m, scalar)
    assert orthogonality(q) < 32 * eps and np.abs(np.linalg.det(q) - 1).max() < 64 * eps
    size = size_of(m)[:, None]
    scaled = d / size
    assert recombination((q * scaled[:, None, :]) @ q.transpose(0, 2, 1) * size[..., None], m) < 64 * eps
    assert np.abs(np.sort(scaled) - np.linalg.eigvalsh(m / size[..., None])).max() < 32 * eps


@pytest.mark.parametrize("dtype", sorted(TYPES))
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7])
def test_inverse(n, dtype):
    scalar, eps = TYPES[dtype]
    rng = np.random.default_rng(n)
    m = rng.standard_normal((2000, n, n)).astype(dtype).astype(np.float64)
    m = m[np.linalg.cond(m) < 100]
    for name in ["inverse", "inverse_approx"] if n in (2, 3, 4) else ["inverse"]:
        made, _, _ = decompose(name, m, scalar)
        assert np.abs(made @ m - np.eye(n)).max() < 3000 * eps
        # Powers of two change no bit, as far as the result is in range.
        for power in (-40, 40) if dtype == "float32" else (-300, 300):
            other, _, _ = decompose(name, m * 2.0**power, scalar)
            if n <= 4:
                assert np.array_equal(other * 2.0**power, made)
        singular = np.ones((3, n, n)) * np.array([0.0, 1.0, 3.0])[:, None, None]
        made, _, _ = decompose(name, singular, scalar)
        assert n == 1 or (made == 0).all()
        assert (made[0] == 0).all()


def test_half_precision():
    rng = np.random.default_rng(0)
    m = rng.uniform(-4, 4, (500, 3, 3)).astype(np.float16).astype(np.float64)
    u, s, v = decompose("svd3", m, wp.float16)
    assert np.abs((u * s[:, None, :]) @ v.transpose(0, 2, 1) - m).max() < 0.1 and orthogonality(u) < 0.02
    q, _, r = decompose("qr3", m, wp.float16)
    assert np.abs(q @ r - m).max() < 0.05 and orthogonality(q) < 0.02


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite(value):
    m = np.eye(3)[None].copy()
    m[0, 1, 0] = value
    assert not np.isfinite(decompose("svd3", m, wp.float32)[1]).all()
    assert not np.isfinite(decompose("eig3", m, wp.float32)[1]).all()
    assert not np.isfinite(decompose("qr3", m, wp.float32)[2]).all()


def test_from_python():
    u, s, v = wp.svd3(wp.mat33(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0))
    assert type(u) is wp.mat33 and type(s) is wp.vec3 and type(v) is wp.mat33
    np.testing.assert_allclose(np.array(s), [17.412506, 0.8751614, -0.19686685], rtol=1e-6)
    q, r = wp.qr3(wp.mat33d(1, 2, 3, 4, 5, 6, 7, 8, 10))
    np.testing.assert_allclose(np.array(r[2]), [0, 0, -0.408248290], atol=1e-9)
    assert type(wp.eig3(wp.mat33d())[1]) is wp.vec3d and type(wp.svd2(wp.mat22())[1]) is wp.vec2


def test_zero_and_identity_decompose_into_identities():
    for m in (np.zeros((3, 3)), np.eye(3)):
        u, s, v = decompose("svd3", m[None], wp.float64)
        assert (u[0] == np.eye(3)).all() and (s[0] == np.diag(m)).all() and (v[0] == np.eye(3)).all()


GRADIENTS = {
    "svd3": (3, "u, s, v = wp.svd3(m[i])\n    o[i] = wp.ddot(u, wu) + wp.dot(s, ws) + wp.ddot(v, wv)"),
    "svd2": (2, "u, s, v = wp.svd2(m[i])\n    o[i] = wp.ddot(u, wu) + wp.dot(s, ws) + wp.ddot(v, wv)"),
    "qr3": (3, "q, r = wp.qr3(m[i])\n    o[i] = wp.ddot(q, wu) + wp.ddot(r, wv)"),
    "eig3": (3, "q, d = wp.eig3(m[i])\n    o[i] = wp.ddot(q, wu) + wp.dot(d, ws)"),
    "inverse2": (2, "o[i] = wp.ddot(wp.inverse(m[i]), wu)"),
    "inverse3": (3, "o[i] = wp.ddot(wp.inverse(m[i]), wu)"),
    "inverse4": (4, "o[i] = wp.ddot(wp.inverse(m[i]), wu)"),
    "inverse5": (5, "o[i] = wp.ddot(wp.inverse(m[i]), wu)"),
    "determinant4": (4, "o[i] = wp.determinant(m[i])"),
}


@pytest.mark.parametrize("name", sorted(GRADIENTS))
def test_gradients(name):
    n, body = GRADIENTS[name]
    mat, vec = wp.types.matrix((n, n), wp.float64), wp.types.vector(n, wp.float64)
    source = (
        "@wp.kernel\ndef k(m: wp.array(dtype=M), o: wp.array(dtype=wp.float64), wu: M, ws: V, wv: M):\n"
        f"    i = wp.tid()\n    {body}\n"
    )
    kernel = kernel_from_text(source, "k", {"wp": wp, "M": mat, "V": vec})
    rng = np.random.default_rng(5)
    weights = [mat(*rng.standard_normal(n * n)), vec(*rng.standard_normal(n)), mat(*rng.standard_normal(n * n))]

    def values(matrices):
        out = wp.zeros(len(matrices), dtype=wp.float64)
        wp.launch(kernel, len(matrices), [wp.array(matrices, dtype=mat), out, *weights])
        return out.numpy()

    def gradient(matrices):
        m = wp.array(matrices, dtype=mat, requires_grad=True)
        out = wp.zeros(len(matrices), dtype=wp.float64, requires_grad=True)
        out.grad.fill_(1.0)
        wp.launch(kernel, len(matrices), [m, out, *weights], adj_inputs=[None] * 5, adj_outputs=[], adjoint=True)
        return m.grad.numpy()

    random = rng.standard_normal((100, n, n))
    random = random + random.transpose(0, 2, 1) if name == "eig3" else random
    random = np.concatenate([random[np.linalg.cond(random) < 50], np.diag(np.arange(1.0, n + 1))[None]])
    want, step = np.zeros_like(random), 1e-6
    for a, b in np.ndindex(n, n):
        shift = np.zeros((n, n))
        shift[a, b] = step
        want[:, a, b] = (values(random + shift) - values(random - shift)) / (2 * step)
    np.testing.assert_allclose(gradient(random), want, rtol=1e-6, atol=1e-6)
    # Where values coincide there is no derivative of their vectors: some finite number must do.
    assert np.isfinite(gradient(np.stack([np.eye(n), np.zeros((n, n)), np.ones((n, n))]))).all()
