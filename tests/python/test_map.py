"""wp.map and the operators of arrays, against NumPy."""

from __future__ import annotations

import gc
import operator
import threading
from typing import Any

import numpy as np
import pytest
import warp as wp
from hypothesis import given, settings
from hypothesis import strategies as st
from warp._src.kernels.lambda_source import lambda_source
from warp._src.algorithms import elementwise

A: wp.array
B: wp.array


@pytest.fixture(autouse=True)
def _operands(_on_device):
    global A, B
    A = wp.array([1.0, 2.0, 3.0], dtype=float)
    B = wp.array([4.0, 5.0, 6.0], dtype=float)
SCALE = 2.5


@wp.func
def sum_and_difference(x: float, y: float):
    return x + y, x - y


@wp.func
def scaled(v: wp.vec3, s: float):
    return v * s


@wp.func
def square(x: Any):
    return x * x


@wp.func
def nothing(x: float):
    pass


@wp.struct
class Factor:
    k: float


@wp.func
def by_factor(x: float, f: Factor):
    return x * f.k


def plain(x):
    y = x * 3.0
    return y + SCALE


def test_functions_builtins_and_lambdas():
    np.testing.assert_allclose(wp.map(wp.sin, A).numpy(), np.sin(A.numpy()), rtol=1e-6)
    assert wp.map(wp.clamp, A, 1.5, 2.5).list() == [1.5, 2.0, 2.5]
    assert wp.map(wp.min, A, 2.0).list() == [1.0, 2.0, 2.0]
    assert wp.map(wp.add, 1.0, A).list() == [2.0, 3.0, 4.0]
    assert wp.map(lambda x: x * 2.0 + 1.0, A).list() == [3.0, 5.0, 7.0]
    assert wp.map(lambda x, y: wp.max(x, y) * SCALE, A, B).list() == [10.0, 12.5, 15.0]
    assert wp.map(plain, A).list() == [5.5, 8.5, 11.5]
    local = 3.0
    assert wp.map(lambda x: x - local, A).list() == [-2.0, -1.0, 0.0]
    pair = (lambda x: x + 1.0, lambda x: x + 2.0)  # two in one line
    assert [wp.map(f, A)[0] for f in pair] == [2.0, 3.0]
    more = (lambda x: x / 2, lambda x: x / 2.0, lambda x: x - local, lambda x: x - (lambda: SCALE)())  # noqa: E731
    assert [lambda_source(f)[0].split("return ")[1].strip() for f in more[:2]] == ["x / 2", "x / 2.0"]
    assert "local" in lambda_source(more[2])[0] and "SCALE" in lambda_source(more[3])[0]
    assert wp.map(square, wp.array([1, 2, 3], dtype=int)).list() == [1, 4, 9]
    assert wp.map(square, A).list() == [1.0, 4.0, 9.0]


def test_several_results_and_values():
    sums, differences = wp.map(sum_and_difference, A, B)
    assert sums.list() == [5.0, 7.0, 9.0] and differences.list() == [-3.0, -3.0, -3.0]
    low, high = wp.map(lambda x: (x - 1.0, x + 1.0), A)
    assert low.list() == [0.0, 1.0, 2.0] and high.list() == [2.0, 3.0, 4.0]
    v = wp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=wp.vec3)
    assert wp.map(scaled, v, 2.0).numpy().tolist() == [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]
    assert wp.map(scaled, wp.vec3(1.0, 0.0, 0.0), A).dtype is wp.vec3
    f = Factor()
    f.k = 4.0
    assert wp.map(by_factor, A, f).list() == [4.0, 8.0, 12.0]
    assert wp.map(wp.length, v).shape == (2,)


shapes = st.lists(st.integers(0, 4), min_size=1, max_size=4)


@settings(deadline=None, max_examples=50)
@given(shapes, st.data())
def test_broadcasting_is_numpys(shape, data):
    def part():
        kept = shape[data.draw(st.integers(0, len(shape) - 1)) :]
        return tuple(1 if data.draw(st.booleans()) else n for n in kept)

    a, b = ((np.arange(np.prod(s)) % 17).astype(np.float32).reshape(s) for s in (part(), part()))
    expected = a * b
    result = wp.map(wp.mul, wp.array(a), wp.array(b))
    np.testing.assert_array_equal(result.numpy(), expected)
    assert result.shape == expected.shape


def test_views_and_foreign_arrays():
    m = wp.array(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert wp.map(plain, m[:, 1]).list() == [5.5, 14.5]
    assert wp.map(wp.add, m, A).numpy().tolist() == [[1.0, 3.0, 5.0], [4.0, 6.0, 8.0]]
    assert wp.map(plain, np.float32([1.0, 2.0])).list() == [5.5, 8.5]
    assert wp.map(wp.sin, wp.zeros(0)).shape == (0,)


def test_out_and_kernel():
    out = wp.zeros(3)
    assert wp.map(wp.neg, A, out=out) is out and out.list() == [-1.0, -2.0, -3.0]
    outs = [wp.zeros(3), wp.zeros(3)]
    assert wp.map(sum_and_difference, A, B, out=outs) is outs and outs[0].list() == [5.0, 7.0, 9.0]
    indexed = wp.indexedarray(wp.zeros(5), wp.array([4, 2, 0], dtype=int))
    wp.map(wp.neg, A, out=indexed)
    assert indexed.data.list() == [-3.0, 0.0, -2.0, 0.0, -1.0]
    kernel = wp.map(wp.add, A, B, return_kernel=True)
    assert isinstance(kernel, wp.Kernel)
    wp.launch(kernel, dim=3, inputs=[A, B], outputs=[out])
    assert out.list() == [5.0, 7.0, 9.0]
    assert wp.map(wp.sin, wp.zeros(2, requires_grad=True)).requires_grad
    assert not wp.map(wp.sin, A).requires_grad


def test_errors():
    with pytest.raises(ValueError, match="not broadcastable"):
        wp.map(wp.add, wp.zeros(2), A)
    with pytest.raises(ValueError, match="at least one"):
        wp.map(wp.sin, 1.0)
    with pytest.raises(TypeError, match="shape"):
        wp.map(wp.sin, A, out=wp.zeros(4))
    with pytest.raises(TypeError, match="dtype int32"):
        wp.map(wp.sin, A, out=wp.zeros(3, dtype=int))
    with pytest.raises(TypeError, match="2 values"):
        wp.map(sum_and_difference, A, B, out=wp.zeros(3))
    with pytest.raises(TypeError, match="must return a value"):
        wp.map(nothing, A)
    with pytest.raises(TypeError, match="Number of input arguments"):
        wp.map(square, A, B)
    with pytest.raises(TypeError, match="Function sin does not support the provided argument types float32, float32"):
        wp.map(wp.sin, A, B)
    with pytest.raises(RuntimeError, match="Input types must be the same"):
        wp.map(wp.add, A, 1)
    with pytest.raises(TypeError, match="list"):
        wp.map(wp.add, A, [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="function"):
        wp.map(3, A)
    with pytest.raises(TypeError, match="out="):
        wp.map(wp.sin, A, out=np.zeros(3, np.float32))
    with pytest.raises(TypeError, match="annotation"):
        wp.map(wp.sin, wp.array(dtype=float))
    with pytest.raises(RuntimeError, match="source text"):
        wp.map(eval("lambda x: x"), A)


def test_kernels_are_kept_and_bounded():
    elementwise._table.clear()
    for _ in range(20):
        wp.map(lambda x: x * 2.0, A)
    assert len(elementwise._table) == 1
    for k in range(20):
        wp.map(lambda x: x * float(k), A)  # noqa: B023 - a value that differs is another kernel
    assert len(elementwise._table) <= 21
    kept, elementwise._KEPT = elementwise._KEPT, 4
    try:
        for k in range(10):
            assert wp.map(lambda x: x + float(k), A)[0] == 1.0 + k  # noqa: B023
        assert len(elementwise._table) <= 4
    finally:
        elementwise._KEPT = kept
    gc.collect()


def test_threads():
    results = []

    def work(k):
        results.append(wp.map(lambda x: x * float(k % 3), A).numpy().sum() == 6.0 * (k % 3))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(results) and len(results) == 8


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.pow]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.ipow]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_operators(op, dtype):
    a = wp.array([[1.0, 2.0, 3.0], [4.0, 5.5, 6.0]], dtype=dtype)
    b = wp.array([2.0, 0.5, 3.0], dtype=dtype)
    for left, right in [(a, b), (b, a), (a, 2.0), (2.0, a)]:
        x, y = (v.numpy() if isinstance(v, wp.array) else v for v in (left, right))
        result = op(left, right)
        assert isinstance(result, wp.array) and result.dtype is dtype
        np.testing.assert_allclose(result.numpy(), op(x, y), rtol=2e-6)


@pytest.mark.parametrize("op", IN_PLACE, ids=lambda op: op.__name__)
def test_in_place_operators(op):
    a = wp.array([[1.0, 2.0, 3.0], [4.0, 5.5, 6.0]], dtype=float)
    expected = a.numpy().copy()
    same = a
    a = op(a, B)
    expected = op(expected, B.numpy())
    assert a is same
    np.testing.assert_allclose(a.numpy(), expected, rtol=2e-6)


def test_more_operators():
    i = wp.array([7, -7, 3], dtype=int)
    assert (i + 1).list() == [8, -6, 4] and (i % 4).list() == [3, -3, 3] and (i // 2).list() == [3, -4, 1]
    assert (-i).list() == [-7, 7, -3] and (+i).list() == i.list() and (-A).list() == [-1.0, -2.0, -3.0]
    i %= 4
    assert i.list() == [3, -3, 3]
    v = wp.array([[1.0, 2.0, 3.0]], dtype=wp.vec3)
    assert (v * 2.0).list() == [wp.vec3(2.0, 4.0, 6.0)] and (v + wp.vec3(1.0)).list() == [wp.vec3(2.0, 3.0, 4.0)]
    assert (A * wp.vec3(1.0, 2.0, 3.0)).dtype is wp.vec3
    m = wp.array(np.eye(3, dtype=np.float32)[None], dtype=wp.mat33)
    assert (m * wp.vec3(1.0, 2.0, 3.0)).list() == [wp.vec3(1.0, 2.0, 3.0)]
    assert (A + np.float32([1.0, 1.0, 1.0])).list() == [2.0, 3.0, 4.0]
    assert (wp.array([1, 2], dtype=wp.uint8) + 1).dtype is wp.uint8
    assert A == A and A != B  # identity


def test_operators_refuse():
    for other in (None, "text", [1.0, 2.0, 3.0]):
        with pytest.raises(TypeError):
            _ = A + other
    with pytest.raises(RuntimeError, match="Input types must be the same"):
        _ = A + 1
    with pytest.raises(RuntimeError):
        _ = A + wp.array([1, 2, 3], dtype=int)
    with pytest.raises(TypeError):
        _ = A < B
    with pytest.raises((TypeError, ValueError)):
        c = wp.zeros(3)
        c += wp.zeros((2, 3))
