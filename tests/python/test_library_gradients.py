"""Gradients of inverses and decompositions: exact where they have one, finite where singular values meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp


@pytest.fixture(params=[0, 1, 4, 16])
def lanes(request: pytest.FixtureRequest):
    wp.config.cpu_lanes = request.param
    yield request.param
    wp.config.cpu_lanes = 0


mat55d = wp.types.matrix(shape=(5, 5), dtype=wp.float64)
mat11d = wp.types.matrix(shape=(1, 1), dtype=wp.float64)


@wp.kernel
def of_svd3(a: wp.array(dtype=Any), w: wp.array(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    U, s, V = wp.svd3(a[i])
    out[i] = wp.ddot(U, w[0]) + wp.dot(s, w[1][0]) + wp.ddot(V, w[2])


@wp.kernel
def of_svd3_into(a: wp.array(dtype=wp.mat33d), w: wp.array(dtype=wp.mat33d), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    U = wp.mat33d()
    s = wp.vec3d()
    V = wp.mat33d()
    wp.svd3(a[i], U, s, V)
    out[i] = wp.ddot(U, w[0]) + wp.dot(s, w[1][0]) + wp.ddot(V, w[2])


@wp.kernel
def of_polar(a: wp.array(dtype=Any), w: wp.array(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    U, s, V = wp.svd3(a[i])
    out[i] = wp.ddot(U @ wp.transpose(V), w[0])


@wp.kernel
def of_svd2(a: wp.array(dtype=wp.mat22d), w: wp.array(dtype=wp.mat22d), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    U, s, V = wp.svd2(a[i])
    out[i] = wp.ddot(U, w[0]) + wp.dot(s, w[1][0]) + wp.ddot(V, w[2])


@wp.kernel
def of_eig3(a: wp.array(dtype=Any), w: wp.array(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    Q, d = wp.eig3(a[i] + wp.transpose(a[i]))
    out[i] = wp.ddot(Q, w[0]) + wp.dot(d, w[1][0])


@wp.kernel
def of_qr3(a: wp.array(dtype=Any), w: wp.array(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    Q, R = wp.qr3(a[i])
    out[i] = wp.ddot(Q, w[0]) + wp.ddot(R, w[1])


@wp.kernel
def of_inverse(a: wp.array(dtype=Any), w: wp.array(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    out[i] = wp.ddot(wp.inverse(a[i]), w[0])


def forward(kernel: wp.Kernel, matrices: np.ndarray, weights: wp.array) -> np.ndarray:
    out = wp.zeros(len(matrices), dtype=weights.dtype._wp_scalar_type_)
    wp.launch(kernel, len(matrices), [wp.array(matrices, dtype=weights.dtype), weights], [out])
    return out.numpy()


def gradient(kernel: wp.Kernel, matrices: np.ndarray, weights: wp.array) -> np.ndarray:
    a = wp.array(matrices, dtype=weights.dtype, requires_grad=True)
    out = wp.zeros(len(matrices), dtype=weights.dtype._wp_scalar_type_, requires_grad=True)
    out.grad.fill_(1.0)
    wp.launch(kernel, len(matrices), [a, weights], [out], adj_inputs=[None] * 2, adj_outputs=[None], adjoint=True)
    return a.grad.numpy()


def differences(kernel: wp.Kernel, matrices: np.ndarray, weights: wp.array, h: float = 1e-6) -> np.ndarray:
    out = np.zeros_like(matrices)
    for i in range(matrices.shape[1]):
        for j in range(matrices.shape[2]):
            step = np.zeros_like(matrices)
            step[:, i, j] = h
            up, down = forward(kernel, matrices + step, weights), forward(kernel, matrices - step, weights)
            out[:, i, j] = (up - down) / (2 * h)
    return out


def sample(dtype: Any, seed: int = 0) -> tuple[np.ndarray, wp.array]:
    rng = np.random.default_rng(seed)
    n = dtype._shape_[0]
    matrices = rng.normal(size=(6, n, n)) + (2 * np.eye(n) if n > 3 else 0)
    return matrices, wp.array(rng.normal(size=(3, n, n)), dtype=dtype)


@pytest.mark.parametrize("kernel", [of_svd3, of_svd3_into, of_polar, of_eig3, of_qr3], ids=lambda k: k.key)
def test_decompositions_agree_with_differences(kernel: wp.Kernel, lanes: int) -> None:
    a, w = sample(wp.mat33d)
    np.testing.assert_allclose(gradient(kernel, a, w), differences(kernel, a, w), rtol=1e-6, atol=1e-7)


def test_svd2_agrees_with_differences(lanes: int) -> None:
    a, w = sample(wp.mat22d)
    np.testing.assert_allclose(gradient(of_svd2, a, w), differences(of_svd2, a, w), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", [mat11d, wp.mat22d, wp.mat33d, wp.mat44d, mat55d], ids=lambda t: f"{t._shape_}")
def test_inverses_agree_with_differences(dtype: Any, lanes: int) -> None:
    a, w = sample(dtype)
    np.testing.assert_allclose(gradient(of_inverse, a, w), differences(of_inverse, a, w), rtol=1e-6, atol=1e-6)


def rotated(values: list[list[float]]) -> np.ndarray:
    """Matrices with these singular values."""
    rng = np.random.default_rng(3)
    u, v = (np.linalg.qr(rng.normal(size=(len(values), 3, 3)))[0] for _ in range(2))
    return u @ (np.array(values)[:, :, None] * np.swapaxes(v, 1, 2))


EQUAL = [[1, 1, 1], [2, 1, 1], [2, 2, 1], [1, 1 - 1e-9, 0.5], [3, 0, 0], [0, 0, 0], [1, 1, -1], [1e-30, 1e-30, 1e-31]]


@pytest.mark.parametrize("kernel", [of_svd3, of_polar, of_eig3, of_qr3, of_inverse], ids=lambda k: k.key)
@pytest.mark.parametrize("dtype", [wp.mat33d, wp.mat33])
def test_equal_singular_values_give_finite_gradients(kernel: wp.Kernel, dtype: Any, lanes: int) -> None:
    w = wp.array(np.random.default_rng(1).normal(size=(3, 3, 3)), dtype=dtype)
    exact = np.array([np.eye(3), np.diag([2, 2, 1]), np.diag([1, 2, 2]), np.zeros((3, 3)), np.ones((3, 3))])
    tiny = [v for v in EQUAL if max(v) >= 1e-9]
    for matrices in (exact, rotated(tiny), rotated(tiny) * 1e12):
        assert np.isfinite(gradient(kernel, matrices, w)).all()


def test_close_singular_values_are_still_exact(lanes: int) -> None:
    # A gap of 1e-3: nothing of the regularisation may be seen.
    a = rotated([[1.001, 1.0, 0.5], [2.0, 1.001, 1.0]])
    w = sample(wp.mat33d)[1]
    for kernel in (of_svd3, of_qr3):
        np.testing.assert_allclose(gradient(kernel, a, w), differences(kernel, a, w), rtol=1e-5, atol=1e-4)
    sym = a @ np.swapaxes(a, 1, 2) / 2
    np.testing.assert_allclose(gradient(of_eig3, sym, w), differences(of_eig3, sym, w), rtol=1e-5, atol=1e-4)


def test_rotations_of_polar_decompositions_are_exact_at_equal_singular_values(lanes: int) -> None:
    # U and V are not determined there, U Vᵀ is: its derivative exists and comes out.
    a = rotated([[1, 1, 1], [2, 2, 2], [2, 1, 1]])
    a *= np.sign(np.linalg.det(a))[:, None, None]  # the nearest rotation of a reflected identity is not unique
    w = sample(wp.mat33d)[1]
    np.testing.assert_allclose(gradient(of_polar, a, w), differences(of_polar, a, w), rtol=1e-4, atol=1e-4)


def test_singular_matrices_have_no_inverse_and_no_gradient() -> None:
    w = sample(wp.mat33d)[1]
    assert (gradient(of_inverse, np.ones((2, 3, 3)), w) == 0).all()
