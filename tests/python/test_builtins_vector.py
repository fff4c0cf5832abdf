"""Vector and matrix builtins against NumPy, in kernels and from Python, for every scalar type and some shapes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import warp as wp
from warp._src.kernels.definitions import kernel_from_text

INTEGERS = [wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64]
FLOATS = [wp.float16, wp.float32, wp.float64]
SCALARS = INTEGERS + FLOATS
LENGTHS = [1, 2, 3, 4, 7]


def numpy_type(scalar: type) -> np.dtype:
    return wp.types.warp_type_to_np_dtype[scalar]


def numbers(scalar: type, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Small whole numbers, which all types compute with exactly."""
    low = 1 if scalar.__name__.startswith("uint") else -3
    values = np.random.default_rng(seed).integers(low, 4, shape)
    return np.where(values == 0, 1, values).astype(numpy_type(scalar))


def in_kernel(expression: str, result: type, **values: object) -> np.ndarray:
    """The value of an expression in a kernel."""
    params = "".join(f", {name}: {name}_t" for name in values)
    space = {"wp": wp, "R": result, **{f"{name}_t": type(value) for name, value in values.items()}}
    source = f"@wp.kernel\ndef k(o: wp.array(dtype=R){params}):\n    o[0] = {expression}\n"
    out = wp.zeros(1, dtype=result)
    wp.launch(kernel_from_text(source, "k", space), 1, [out, *values.values()])
    return out.numpy()[0]


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda t: t.__name__)
@pytest.mark.parametrize("n", LENGTHS)
def test_vectors(n, scalar):
    vec, mat = wp.types.vector(n, scalar), wp.types.matrix((n, n), scalar)
    a, b = numbers(scalar, (n,)), numbers(scalar, (n,), 1)
    v, w = vec(*a.tolist()), vec(*b.tolist())
    assert in_kernel("wp.dot(v, w)", scalar, v=v, w=w) == (a * b).sum(dtype=a.dtype)
    assert in_kernel("wp.length_sq(v)", scalar, v=v) == (a * a).sum(dtype=a.dtype)
    assert (in_kernel("wp.cw_mul(v, w)", vec, v=v, w=w) == a * b).all()
    quotient = np.trunc(a / b) if scalar in INTEGERS else a / b
    assert (in_kernel("wp.cw_div(v, w)", vec, v=v, w=w) == quotient.astype(a.dtype)).all()
    assert (in_kernel("wp.outer(v, w)", mat, v=v, w=w) == np.outer(a, b)).all()
    assert (in_kernel("wp.diag(v)", mat, v=v) == np.diag(a)).all()
    assert (in_kernel("wp.min(v, w)", vec, v=v, w=w) == np.minimum(a, b)).all()
    assert (in_kernel("wp.max(v, w)", vec, v=v, w=w) == np.maximum(a, b)).all()
    assert in_kernel("wp.min(v)", scalar, v=v) == a.min() and in_kernel("wp.max(v)", scalar, v=v) == a.max()
    assert in_kernel("wp.argmin(v)", wp.uint32, v=v) == a.argmin() == wp.argmin(v)
    assert in_kernel("wp.argmax(v)", wp.uint32, v=v) == a.argmax() == wp.argmax(v)
    assert (in_kernel("wp.abs(v)", vec, v=v) == np.abs(a)).all()
    assert (in_kernel("wp.sign(v)", vec, v=v) == np.where(a < 0, -1, 1)).all()


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda t: t.__name__)
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (2, 3), (4, 1)])
def test_matrices(shape, scalar):
    mat, other = wp.types.matrix(shape, scalar), wp.types.matrix(shape[::-1], scalar)
    a, b = numbers(scalar, shape), numbers(scalar, shape, 1)
    m, k = mat(*a.ravel().tolist()), mat(*b.ravel().tolist())
    assert in_kernel("wp.ddot(m, k)", scalar, m=m, k=k) == (a * b).sum(dtype=a.dtype)
    assert (in_kernel("wp.cw_mul(m, k)", mat, m=m, k=k) == a * b).all()
    quotient = np.trunc(a / b) if scalar in INTEGERS else a / b
    assert (in_kernel("wp.cw_div(m, k)", mat, m=m, k=k) == quotient.astype(a.dtype)).all()
    assert (in_kernel("wp.transpose(m)", other, m=m) == a.T).all()
    if shape[0] == shape[1]:
        assert in_kernel("wp.trace(m)", scalar, m=m) == np.trace(a)
        assert (in_kernel("wp.get_diag(m)", wp.types.vector(shape[0], scalar), m=m) == np.diag(a)).all()
        if scalar in (wp.float32, wp.float64):
            made = float(in_kernel("wp.determinant(m)", scalar, m=m))
            np.testing.assert_allclose(made, np.linalg.det(a.astype(np.float64)), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda t: t.__name__)
def test_products_of_three_components(scalar):
    vec, mat = wp.types.vector(3, scalar), wp.types.matrix((3, 3), scalar)
    a, b = numbers(scalar, (3,)), numbers(scalar, (3,), 1)
    v, w = vec(*a.tolist()), vec(*b.tolist())
    want = np.cross(a.astype(np.int64), b.astype(np.int64)).astype(a.dtype)
    assert (in_kernel("wp.cross(v, w)", vec, v=v, w=w) == want).all()
    assert (in_kernel("wp.skew(v) * w", vec, v=v, w=w) == want).all()
    assert (in_kernel("wp.skew(v) + wp.transpose(wp.skew(v))", mat, v=v) == 0).all()


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda t: t.__name__)
@pytest.mark.parametrize("kind", ["vec2", "vec3", "vec5", "quat"])
def test_norms(kind, scalar):
    cls = wp.types.quaternion(scalar) if kind == "quat" else wp.types.vector(int(kind[3:]), scalar)
    tolerance = {wp.float16: 4e-3, wp.float32: 1e-6, wp.float64: 1e-14}[scalar]
    rng = np.random.default_rng(3)
    for size in (0.1, 1.0, 20.0):
        a = (rng.standard_normal(cls._length_) * size).astype(numpy_type(scalar)).astype(np.float64)
        v, delta = cls(*a.tolist()), scalar(1.5)
        l2 = np.linalg.norm(a)
        huber = {d: 0.5 * l2**2 if l2 <= d else d * (l2 - 0.5 * d) for d in (1.0, 1.5)}
        pseudo = {d: d * math.sqrt(1 + (l2 / d) ** 2) for d in (1.0, 1.5)}
        cases = {
            "wp.norm_l1(v)": np.abs(a).sum(),
            "wp.norm_l2(v)": l2,
            "wp.length(v)": l2,
            "wp.norm_huber(v)": huber[1.0],
            "wp.norm_huber(v, delta)": huber[1.5],
            "wp.norm_pseudo_huber(v)": pseudo[1.0],
            "wp.norm_pseudo_huber(v, delta=delta)": pseudo[1.5],
        }
        for expression, want in cases.items():
            given = {"v": v, "delta": delta} if "delta" in expression else {"v": v}
            np.testing.assert_allclose(float(in_kernel(expression, scalar, **given)), want, rtol=tolerance)
        made = in_kernel("wp.smooth_normalize(v, delta)", cls, v=v, delta=delta).astype(np.float64)
        np.testing.assert_allclose(made, a / pseudo[1.5], rtol=2 * tolerance, atol=tolerance)
    assert wp.norm_huber(wp.vec3(1.0, 2.0, 3.0)) == pytest.approx(3.2416575)


def test_nan_and_ties():
    nan = math.nan
    for values, low, high in [
        ((nan, 2, 1), 2, 1),
        ((nan, nan, nan), 0, 0),
        ((1, nan, 1), 0, 0),
        ((5, 7, 7), 0, 1),
        ((math.inf, -math.inf, nan), 1, 0),
    ]:
        v = wp.vec3(*values)
        assert (wp.argmin(v), wp.argmax(v)) == (low, high), values
        kept = [x for x in values if x == x] or [nan]
        for made, want in ((wp.min(v), min(kept)), (wp.max(v), max(kept))):
            assert made == want or (made != made and want != want), values
    assert type(wp.argmin(wp.vec3())) is wp.uint32


def elementwise(expression: str, cls: type, result: type) -> wp.Kernel:
    source = (
        f"@wp.kernel\ndef k(v: wp.array(dtype=T), o: wp.array(dtype=R)):\n    i = wp.tid()\n    o[i] = {expression}\n"
    )
    return kernel_from_text(source, "k", {"wp": wp, "T": cls, "R": result})


@pytest.mark.parametrize("kind", ["vec3d", "quatd"])
def test_gradients_vanish_at_zero(kind):
    cls = getattr(wp, kind)
    for name in ("length(v[i])", "norm_l2(v[i])", "norm_huber(v[i])", "norm_pseudo_huber(v[i])"):
        kernel = elementwise(f"wp.{name}", cls, wp.float64)
        v = wp.array(np.vstack([np.zeros(cls._length_), np.eye(cls._length_)[1] * 3]), dtype=cls, requires_grad=True)
        out = wp.zeros(2, dtype=wp.float64, requires_grad=True)
        out.grad.fill_(1.0)
        wp.launch(kernel, 2, [v, out], adj_inputs=[None, None], adj_outputs=[], adjoint=True)
        gradient = v.grad.numpy()
        slope = 3 / math.sqrt(10) if "pseudo" in name else 1.0
        assert (gradient[0] == 0).all()
        np.testing.assert_allclose(gradient[1], np.eye(cls._length_)[1] * slope, rtol=1e-14)
    for name in ("normalize", "smooth_normalize"):
        kernel = elementwise(f"wp.{name}(v[i])", cls, cls)
        v = wp.zeros(1, dtype=cls, requires_grad=True)
        out = wp.zeros(1, dtype=cls, requires_grad=True)
        out.grad.fill_(1.0)
        wp.launch(kernel, 1, [v, out], adj_inputs=[None, None], adj_outputs=[], adjoint=True)
        assert (v.grad.numpy() == (1.0 if name == "smooth_normalize" else 0.0)).all()


def test_keywords_of_all_versions():
    v, w, m = wp.vec3(1.0, 2.0, 3.0), wp.vec3(4.0, 5.0, 6.0), wp.mat33(2.0)
    assert wp.dot(x=v, y=w) == wp.dot(a=v, b=w) == 32.0
    assert wp.skew(vec=v) == wp.skew(x=v) and wp.diag(vec=v) == wp.diag(d=v) and wp.get_diag(mat=m) == wp.get_diag(m=m)
    assert wp.trace(m=m) == wp.trace(a=m) == 6.0 and wp.argmax(v=v) == wp.argmax(a=v) == 2
    assert in_kernel("wp.dot(x=v, y=w)", float, v=v, w=w) == 32.0
    state = wp.rand_init(3)
    assert wp.randi(state, min=2, max=5) == wp.randi(state, low=2, high=5)
