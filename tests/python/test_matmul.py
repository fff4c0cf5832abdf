"""Matrix products against NumPy, on every device; on the CPU also the steps of those on CUDA devices: by the kernel, and
by a plain function in place of cuBLASLt that, like it, wants packed rows or columns."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from warp import _weft
from warp._src.algorithms import device_matmul
from warp._src.algorithms import matmul as products

RNG = np.random.default_rng(11)
FLOATS = [wp.float16, wp.bfloat16, wp.float32, wp.float64]


def _plain(a, b, c, d, alpha, beta, files):
    size = d.strides[-1] if d.is_contiguous else wp.types.type_size_in_bytes(d.dtype)
    unfit = sum(
        bit
        for one, bit, turned in ((a, 1, True), (b, 2, True), (c, 4, False), (d, 8, False))
        if one is not None and one.strides[-1] != size and not (turned and one.strides[-2] == size)
    )
    if unfit:
        return unfit
    made = alpha * np.matmul(_values(a), _values(b))
    d.assign(made if c is None else made + beta * _values(c))
    return -1


@pytest.fixture(params=["as it is", "kernel", "library"], autouse=True)
def _steps(request, monkeypatch, _on_device):
    if request.param == "as it is":
        return
    if request.param == "kernel" and wp.get_device().is_cuda:
        monkeypatch.setattr(device_matmul, "_by_library", lambda *given: False)
        return
    if wp.get_device().is_cuda:
        pytest.skip("about the CPU")
    monkeypatch.setattr(_weft, "cuda_matmul", _plain if request.param == "library" else lambda *given: 0)
    monkeypatch.setattr(products, "_there", lambda *arrays: device_matmul)


def _values(a: wp.array) -> np.ndarray:
    """The numbers as float64."""
    return np.array([float(x) for x in a.contiguous().flatten().list()] if a.size else [], np.float64).reshape(a.shape)


def _some(shape: tuple[int, ...], dtype: type, **more) -> wp.array:
    return wp.array(RNG.integers(-4, 5, shape).astype(np.float32), dtype=dtype, **more)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "rows, inner, cols", [(1, 1, 1), (3, 4, 5), (1, 7, 1), (17, 1, 2), (33, 20, 65), (2, 0, 3), (0, 2, 2)]
)
def test_products(dtype, rows, inner, cols):
    a, b, c = _some((rows, inner), dtype), _some((inner, cols), dtype), _some((rows, cols), dtype)
    d = wp.zeros((rows, cols), dtype=dtype)
    wp.matmul(a, b, c, d, alpha=2.0, beta=-0.5)
    expected = 2.0 * _values(a) @ _values(b) - 0.5 * _values(c)
    np.testing.assert_allclose(_values(d), expected, rtol={wp.bfloat16: 2e-2, wp.float16: 1e-3}.get(dtype, 0))
    exact = dtype in (wp.float32, wp.float64)
    wp.matmul(a, b, None, d)
    if exact:
        np.testing.assert_array_equal(_values(d), _values(a) @ _values(b))
        np.testing.assert_array_equal(_values(a @ b), _values(a) @ _values(b))


def test_views_of_all_kinds():
    a, b = _some((6, 8), wp.float32), _some((10, 6), wp.float32)
    for x in (a, a[::2], a[:, ::2], a[::-1], a[:, 1:5], a[1:4, 2:3]):
        n = x.shape[1]
        for y in (b[:n], b.transpose()[:n], b[: 2 * n : 2], b[n - 1 :: -1]):
            if y.shape[0] != n:  # there are not so many rows
                continue
            for d in (
                wp.zeros((x.shape[0], y.shape[1])),
                wp.zeros((y.shape[1], x.shape[0])).transpose(),
                wp.zeros((2 * x.shape[0], 2 * y.shape[1]))[::2, ::2],
            ):
                d.fill_(3.0)
                wp.matmul(x, y, d, d, alpha=-1.0, beta=2.0)
                np.testing.assert_array_equal(_values(d), 6.0 - _values(x) @ _values(y))


def test_results_over_their_factors():
    a = _some((4, 4), wp.float64)
    before = _values(a)
    wp.matmul(a, a, a, a, beta=1.0)
    np.testing.assert_array_equal(_values(a), before @ before + before)
    before = _values(a)
    wp.matmul(a.transpose(), a, None, a)
    np.testing.assert_array_equal(_values(a), before.T @ before)


def test_batches():
    a, b, c = _some((3, 2, 4), wp.float32), _some((3, 4, 5), wp.float32), _some((3, 2, 5), wp.float32)
    d = wp.zeros((3, 2, 5))
    wp.batched_matmul(a, b, c, d, alpha=0.5, beta=1.0)
    np.testing.assert_array_equal(_values(d), 0.5 * _values(a) @ _values(b) + _values(c))
    wp.batched_matmul(a[::-1], b[::-1], None, d)
    np.testing.assert_array_equal(_values(d), (_values(a) @ _values(b))[::-1])


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64])
def test_gradients(dtype):
    a, b, c = (_some(s, dtype, requires_grad=True) for s in ((3, 4), (4, 5), (3, 5)))
    d = wp.zeros((3, 5), dtype=dtype, requires_grad=True)
    seed = _some((3, 5), dtype)
    x, y = _values(a), _values(b)
    with wp.Tape() as tape:
        wp.matmul(a, b, c, d, alpha=2.0, beta=0.5)
        a.zero_()  # the tape knows what it was
    tape.backward(grads={d: seed})
    g = _values(seed)
    np.testing.assert_array_equal(_values(b.grad), 2.0 * x.T @ g)
    np.testing.assert_array_equal(_values(c.grad), 0.5 * g)
    tape.zero()
    a.assign(x)
    with wp.Tape() as tape:
        wp.matmul(a, b, c, d, alpha=2.0, beta=0.5)
    tape.backward(grads={d: seed})
    np.testing.assert_array_equal(_values(a.grad), 2.0 * g @ y.T)
    assert not _values(d.grad).any() or d.grad.list() == seed.list()


def test_gradients_by_hand():
    a, b, g = _some((3, 4), wp.float32), _some((4, 5), wp.float32), _some((3, 5), wp.float32)
    to_a, to_b, to_c = wp.ones((3, 4)), wp.ones((4, 5)), wp.ones((3, 5))
    wp.types.adj_matmul(a, b, None, to_a, to_b, to_c, g, alpha=2.0, beta=3.0)
    np.testing.assert_array_equal(_values(to_a), 1.0 + 2.0 * _values(g) @ _values(b).T)
    np.testing.assert_array_equal(_values(to_b), 1.0 + 2.0 * _values(a).T @ _values(g))
    np.testing.assert_array_equal(_values(to_c), 1.0 + 3.0 * _values(g))


def test_products_and_their_gradients_can_be_captured():
    if not wp.get_device().is_cuda:
        pytest.skip("GPUs only")
    a, b = (wp.zeros((40, 40), requires_grad=True) for _ in range(2))
    d = wp.zeros((40, 40), requires_grad=True)
    with wp.ScopedCapture() as capture:
        tape = wp.Tape()
        with tape:
            wp.matmul(a, b, None, d)
        d.grad.fill_(1.0)
        tape.backward()
    for k in (1.0, 2.0):
        a.fill_(k)
        b.fill_(3.0)
        a.grad.zero_()
        wp.capture_launch(capture.graph)
        assert d.numpy()[7, 9] == 120.0 * k and a.grad.numpy()[3, 3] == 120.0
