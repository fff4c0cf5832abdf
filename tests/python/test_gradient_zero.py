"""Gradients at corners: the subgradients of the reference, and sides of a choice that were not taken, which add nothing
however singular they are."""

from typing import Any, Callable

import numpy as np
import pytest
import warp as wp

d = wp.float64
CORNERS: list[tuple[str, Any, list[float], list[float]]] = []


def at(x: list[float], want: list[float]) -> Callable:
    """The gradient of the function below at x."""

    def add(function: Any) -> Any:
        CORNERS.append((f"{function.key}{x}", function, x, want))
        return function

    return add


@pytest.fixture(params=[0, 1])
def lanes(request: pytest.FixtureRequest):
    wp.config.cpu_lanes = request.param
    yield request.param
    wp.config.cpu_lanes = 0


@at([0.0, 0.0], [1.0, 0.0])
@at([-0.0, 0.0], [1.0, 0.0])
@at([-2.0, 0.0], [-1.0, 0.0])
@wp.func
def at_abs(a: d, b: d):
    return wp.abs(a) + b * d(0.0)


@at([1.0, 1.0], [0.0, 1.0])
@wp.func
def at_min(a: d, b: d):
    return wp.min(a, b)


@at([1.0, 1.0], [0.0, 1.0])
@wp.func
def at_max(a: d, b: d):
    return wp.max(a, b)


@at([0.5, 0.0], [1.0, 0.0])
@at([-0.5, 0.0], [0.0, 0.0])
@at([1.5, 0.0], [0.0, 0.0])
@wp.func
def at_clamp(a: d, b: d):
    return wp.clamp(a, d(0.0), d(1.0)) + b * d(0.0)


@at([0.0, 1.0], [0.0, 1.0])
@at([3.0, 4.0], [1.0, 0.0])
@wp.func
def at_clampb(a: d, b: d):
    return wp.clamp(d(2.0), a, b)


@at([0.0, 3.0], [0.0, 1.0])
@at([-1.0, 3.0], [0.0, 1.0])
@wp.func
def at_sqrt(a: d, b: d):
    return wp.where(a > d(0.0), wp.sqrt(a), b)


@at([-1.0, 3.0], [0.0, 1.0])
@wp.func
def at_sqrtbranch(a: d, b: d):
    s = b
    if a > d(0.0):
        s = wp.sqrt(a)
    return s


@at([0.0, 3.0], [0.0, 1.0])
@at([-1.0, 3.0], [0.0, 1.0])
@wp.func
def at_log(a: d, b: d):
    return wp.where(a > d(0.0), wp.log(a) * b, b)


@at([2.0, 0.0], [1.0, 0.0])
@wp.func
def at_div(a: d, b: d):
    return wp.where(b == d(0.0), a, a / b)


@at([0.0, 2.0], [0.0, 0.0])
@at([2.0, 3.0], [12.0, 8 * np.log(2)])
@at([-2.0, 3.0], [12.0, np.nan])
@at([0.0, 0.0], [0.0, -np.inf])
@wp.func
def at_pow(a: d, b: d):
    return wp.pow(a, b)


@at([-2.0, 0.0], [-4.0, 1.0])
@wp.func
def at_powc(a: d, b: d):
    return wp.pow(a, d(2.0)) + b


@at([-2.0, 0.5], [0.0, 1.0])
@wp.func
def at_where_pow(a: d, b: d):
    return wp.where(a > d(0.0), wp.pow(a, b), d(0.0)) + b


@at([1.0, 0.0], [0.0, 1.0])
@at([-1.0, 0.0], [0.0, 1.0])
@wp.func
def at_asin(a: d, b: d):
    return wp.asin(a) + b


@at([1.0, 0.0], [0.0, 1.0])
@at([0.0, 0.0], [-1.0, 1.0])
@wp.func
def at_acos(a: d, b: d):
    return wp.acos(a) + b


@at([0.0, 0.0], [0.0, 0.0])
@wp.func
def at_atan2(a: d, b: d):
    return wp.atan2(a, b)


@at([0.0, 0.0], [0.0, 0.0])
@at([3.0, 4.0], [0.6, 0.8])
@wp.func
def at_length(a: d, b: d):
    return wp.length(wp.vec2d(a, b))


@at([0.0, 0.0], [0.0, 0.0])
@wp.func
def at_norm(a: d, b: d):
    v = wp.normalize(wp.vec2d(a, b))
    return v[0] + d(2.0) * v[1]


@at([0.0, 0.0], [0.0, 0.0])
@wp.func
def at_lensq(a: d, b: d):
    return wp.length_sq(wp.vec2d(a, b))


@at([-3.0, 2.0], [0.0, -1.0])
@at([0.0, 2.0], [0.0, 1.0])
@wp.func
def at_sign(a: d, b: d):
    return wp.sign(a) * b


@at([-3.4, 2.0], [0.0, 1.0])
@wp.func
def at_step(a: d, b: d):
    return wp.step(a) * b + wp.floor(a) + wp.round(b) + wp.ceil(a) + wp.trunc(a) + wp.rint(a)


@at([3.25, 2.0], [2.0, 0.25])
@wp.func
def at_frac(a: d, b: d):
    return wp.frac(a) * b


@at([7.5, 2.0], [1.0, -3.0])
@wp.func
def at_mod(a: d, b: d):
    return wp.mod(a, b)


@at([7.5, 2.0], [0.0, 1.0])
@wp.func
def at_nonzero(a: d, b: d):
    return wp.nonzero(a) * b


@at([0.5, 2.0], [3.0, 0.5])
@at([-0.5, 2.0], [0.0, 0.0])
@wp.func
def at_smooth(a: d, b: d):
    return wp.smoothstep(d(0.0), d(1.0), a) * b


@at([1.0, 2.0], [0.75, 0.25])
@wp.func
def at_lerp(a: d, b: d):
    return wp.lerp(a, b, d(0.25))


@at([0.0, 2.0], [2.0, 0.0])
@wp.func
def at_tan(a: d, b: d):
    return wp.tan(a) * b


@at([0.0, 2.0], [0.0, 1.0])
@wp.func
def at_cbrt(a: d, b: d):
    return wp.where(a != d(0.0), wp.cbrt(a), b)


@at([0.0, 2.0], [0.0, 1.0])
@wp.func
def at_inf(a: d, b: d):
    return wp.where(wp.isfinite(d(1.0) / a), d(1.0) / a, b)


@at([-1.0, 2.0], [0.0, 1.0])
@wp.func
def at_loopnan(a: d, b: d):
    s = b
    for j in range(4):
        t = wp.sqrt(a) * d(j)
        if a > d(0.0):
            s = s + t
    return s


@at([0.0, 2.0], [0.0, 1.0])
@wp.func
def at_vecnan(a: d, b: d):
    v = wp.vec2d(b, d(0.0)) / a
    return wp.where(a == d(0.0), b, v[0])


@at([0.0, 2.0], [0.0, 1.0])
@wp.func
def at_mulnan(a: d, b: d):
    v = wp.log(a) * b
    return wp.where(a > d(0.0), v, b)


@at([0.0, 2.0], [0.0, 1.0])
@wp.func
def at_mulinf(a: d, b: d):
    r = d(1.0) / a
    v = r * r * b
    return wp.where(a > d(0.0), v, b)


@at([0.0, 2.0], [0.0, 1.0])
@wp.func
def at_dotinf(a: d, b: d):
    r = wp.vec2d(d(1.0) / a, b)
    v = wp.dot(r, r)
    return wp.where(a > d(0.0), v, b)


@at([0.0, 2.0], [0.0, 1.0])
@wp.func
def at_matinf(a: d, b: d):
    m = wp.mat22d(d(1.0) / a, b, b, b)
    v = m * wp.vec2d(b, b)
    w = m * m
    return wp.where(a > d(0.0), v[0] + w[0, 0] + wp.determinant(m), b)


@at([0.0, 2.0], [0.0, 1.0])
@wp.func
def at_inv(a: d, b: d):
    m = wp.mat22d(a, d(0.0), d(0.0), a)
    v = wp.inverse(m)
    return wp.where(a > d(0.0), v[0, 0] * b, b)


@at([0.0, 2.0], [0.0, 1.0])
@wp.func
def at_quat(a: d, b: d):
    q = wp.normalize(wp.quatd(a, a, a, a))
    return q[0] * b + b


@at([0.0, 2.0], [1.0, 0.0])
@wp.func
def at_qa(a: d, b: d):
    q = wp.quat_from_axis_angle(wp.vec3d(d(1.0), d(0.0), d(0.0)), a)
    return q[0] * b


@at([3.0, -2.0], [0.0, 1.0])
@wp.func
def at_bigloop(a: d, b: d):
    s = a
    for j in range(40):
        s = s * s
    return wp.where(b > d(0.0), s, b)


@at([2000.0, -2.0], [0.0, 1.0])
@wp.func
def at_exp(a: d, b: d):
    return wp.where(a > d(1000.0), b, wp.exp(a))


@at([2000.0, -2.0], [0.0, 1.0])
@wp.func
def at_hyp(a: d, b: d):
    return wp.where(a > d(800.0), b, wp.cosh(a) + wp.sinh(a) + wp.tanh(a))


@pytest.mark.parametrize(("function", "x", "want"), [one[1:] for one in CORNERS], ids=[one[0] for one in CORNERS])
def test_corner(function: Any, x: list[float], want: list[float], lanes: int) -> None:
    @wp.kernel
    def corner(x: wp.array(dtype=d), out: wp.array(dtype=d)):
        i = wp.tid()
        out[i] = function(x[2 * i], x[2 * i + 1])

    # Ordinary neighbours share the lanes.
    values = wp.array(x + [0.5, 1.5] * 4, dtype=d, requires_grad=True)
    out = wp.zeros(5, dtype=d, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(corner, 5, [values], [out])
    tape.backward(grads={out: wp.ones(5, dtype=d)})
    np.testing.assert_allclose(values.grad.numpy()[:2], want, rtol=1e-9, atol=1e-12)
    assert np.isfinite(values.grad.numpy()[2:]).all()


@wp.kernel
def scaled_by_counts(
    x: wp.array(dtype=wp.float16), n: wp.array(dtype=int), out: wp.array(dtype=wp.float16), low: wp.array(dtype=wp.float16)
):
    i = wp.tid()
    v = x[i] * wp.float16(n[i])
    out[i] = wp.where(n[i] < 1000, v, x[i])
    low[i] = wp.min(v, x[i])


def test_integers_beyond_float16_are_infinite(lanes: int) -> None:
    """What such a factor was left out with must not come back as 0 · inf."""
    n = np.array([3, 70000, 5, 65536, 2, 1 << 30, 7, 65519], np.int32)
    x = wp.array(np.ones(8), dtype=wp.float16, requires_grad=True)
    out, low = (wp.zeros(8, dtype=wp.float16, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        wp.launch(scaled_by_counts, 8, [x, wp.array(n)], [out, low])
    tape.backward(grads={out: wp.ones(8, dtype=wp.float16), low: wp.ones(8, dtype=wp.float16)})
    np.testing.assert_array_equal(x.grad.numpy(), np.where(n < 1000, n, 1) + 1.0)
