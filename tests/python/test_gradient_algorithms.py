"""Gradients of small algorithms, against differences."""

import numpy as np
import pytest
import warp as wp
from gradient_cases import collector, d

CASES, case = collector()
N5 = [0, 1, 4, 7, 2]
vec3 = wp.vec3d


@case(x=[2.0, 3.0, 5.0, 0.5, 10.0])
@wp.kernel
def newton_root(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(50):
        t = s - (s * s - x[i]) / (d(2.0) * s)
        if wp.abs(t - s) < d(1e-13):
            s = t
            break
        s = t
    out[i] = s


@case(x=[0.1, 0.3, 0.5, 0.7, 0.9], step=1e-5, tolerance=1e-5)
@wp.kernel
def kepler(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    ecc = d(0.3) + d(0.1) * x[i]
    e = x[i]
    k = int(0)
    while k < 100:
        f = e - ecc * wp.sin(e) - x[i]
        e = e - f / (d(1.0) - ecc * wp.cos(e))
        k += 1
        if wp.abs(f) < d(1e-14):
            break
    out[i] = e * e


@case(tolerance=1e-5)
@wp.kernel
def adaptive_ode(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    y = x[i]
    t = d(0.0)
    h = d(0.1)
    steps = int(0)
    while t < d(1.0) and steps < 200:
        if t + h > d(1.0):
            h = d(1.0) - t
        k1 = wp.sin(y) - y * t
        k2 = wp.sin(y + h * k1) - (y + h * k1) * (t + h)
        err = wp.abs(k2 - k1) * h * d(0.5)
        steps += 1
        if err > d(0.003):
            h = h * d(0.5)
            continue
        y = y + d(0.5) * h * (k1 + k2)
        t = t + h
        if err < d(0.0005):
            h = h * d(1.5)
    out[i] = y


@case()
@wp.kernel
def rk4(x: wp.array(dtype=wp.vec2d), out: wp.array(dtype=wp.vec2d)):
    i = wp.tid()
    s = x[i]
    h = d(0.05)
    for j in range(20):
        k1 = wp.vec2d(s[1], -wp.sin(s[0]))
        a = s + k1 * (h * d(0.5))
        k2 = wp.vec2d(a[1], -wp.sin(a[0]))
        b = s + k2 * (h * d(0.5))
        k3 = wp.vec2d(b[1], -wp.sin(b[0]))
        c = s + k3 * h
        k4 = wp.vec2d(c[1], -wp.sin(c[0]))
        s = s + (k1 + d(2.0) * k2 + d(2.0) * k3 + k4) * (h / d(6.0))
    out[i] = s


@wp.func
def sphere(p: wp.vec3d, r: d):
    return wp.length(p) - r


@case(x=[0.9, 1.0, 1.1, 1.2, 0.7], y=[0.0, 0.2, -0.3, 5.0, 0.4])
@wp.kernel
def ray_march(x: wp.array(dtype=d), y: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    o = wp.vec3d(y[i], d(0.1), d(-3.0))
    dir = wp.normalize(wp.vec3d(d(0.05), d(0.02), d(1.0)))
    t = d(0.0)
    hit = bool(False)
    for j in range(64):
        h = sphere(o + dir * t, x[i])
        if h < d(1e-3):
            hit = True
            break
        if t > d(20.0):
            break
        t = t + h
    if hit:
        p = o + dir * t
        nrm = wp.normalize(p)
        out[i] = wp.max(wp.dot(nrm, wp.vec3d(d(0.0), d(0.6), d(-0.8))), d(0.0)) * t
    else:
        out[i] = d(0.1) * y[i]


@case(n=[1, 2, 3, 4, 5])
@wp.kernel
def random_paths(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    state = wp.rand_init(42, n[i])
    s = x[i]
    for j in range(30):
        u = d(wp.randf(state))
        if u < d(0.3):
            s = s * d(0.9) + u * x[i]
        elif u < d(0.5):
            continue
        else:
            s = s + d(0.1) * wp.sin(s) * d(wp.randn(state))
        if u > d(0.98):
            break
    out[i] = s


@case(dim=1, size=9)
@wp.kernel
def gauss_elimination(x: wp.array(dtype=d), b: wp.array(dtype=d), out: wp.array(dtype=d)):
    for r in range(3):
        x[r * 3 + r] = x[r * 3 + r] + d(3.0)
    for p in range(3):
        for r in range(p + 1, 3):
            f = x[r * 3 + p] / x[p * 3 + p]
            for c in range(p, 3):
                x[r * 3 + c] = x[r * 3 + c] - f * x[p * 3 + c]
            b[r] = b[r] - f * b[p]
    for q in range(3):
        r = 2 - q
        s = b[r]
        for c in range(r + 1, 3):
            s = s - x[r * 3 + c] * out[c]
        out[r] = s / x[r * 3 + r]


@case(x=np.array([[[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]]] * 2), dim=2, size=2)
@wp.kernel
def cholesky(x: wp.array(dtype=wp.mat33d), out: wp.array(dtype=wp.mat33d)):
    i = wp.tid()
    a = x[i]
    l = wp.mat33d()
    for r in range(3):
        for c in range(r + 1):
            s = a[r, c]
            for k in range(c):
                s = s - l[r, k] * l[c, k]
            if r == c:
                l[r, c] = wp.sqrt(s)
            else:
                l[r, c] = s / l[c, c]
    out[i] = l


@case(dim=1, size=4, x=[4.0, 3.0, 5.0, 2.5], b=[1.0, -0.5, 0.3, 2.0])
@wp.kernel
def conjugate_gradients(x: wp.array(dtype=d), b: wp.array(dtype=d), out: wp.array(dtype=d)):
    r = wp.zeros(shape=(4,), dtype=d)
    p = wp.zeros(shape=(4,), dtype=d)
    q = wp.zeros(shape=(4,), dtype=d)
    rr = d(0.0)
    for k in range(4):
        r[k] = b[k]
        p[k] = b[k]
        rr += b[k] * b[k]
    for it in range(20):
        pq = d(0.0)
        for k in range(4):
            v = x[k] * p[k]
            if k > 0:
                v = v - p[k - 1]
            if k < 3:
                v = v - p[k + 1]
            q[k] = v
            pq += v * p[k]
        alpha = rr / pq
        rn = d(0.0)
        for k in range(4):
            out[k] = out[k] + alpha * p[k]
            r[k] = r[k] - alpha * q[k]
            rn += r[k] * r[k]
        if rn < d(1e-18):
            break
        beta = rn / rr
        rr = rn
        for k in range(4):
            p[k] = r[k] + beta * p[k]


@case(
    x=np.array([[0.0, 1.0, 0.0], [0.3, 0.5, 0.1], [1.0, 0.2, -0.2]]),
    v=np.array([[1.0, 0.0, 0.1], [0.0, -1.0, 0.0], [0.5, -2.0, 0.3]]),
    dim=3,
)
@wp.kernel
def contact(x: wp.array(dtype=vec3), v: wp.array(dtype=vec3), out: wp.array(dtype=vec3)):
    i = wp.tid()
    p = x[i]
    u = v[i]
    h = d(0.02)
    for j in range(50):
        f = wp.vec3d(d(0.0), d(-9.81), d(0.0)) - u * d(0.1)
        if p[1] < d(0.0):
            f = f + wp.vec3d(-u[0] * d(2.0), -p[1] * d(300.0), -u[2] * d(2.0))
            if u[1] < d(0.0):
                f[1] = f[1] - u[1] * d(3.0)
        u = u + f * h
        p = p + u * h
    out[i] = p


@case()
@wp.kernel
def small_mlp(x: wp.array(dtype=d), w: wp.array(dtype=wp.mat44d), out: wp.array(dtype=d)):
    i = wp.tid()
    h = wp.vec4d(x[i], x[(i + 1) % 5], d(1.0), x[0])
    for l in range(3):
        h = w[l] * h
        for k in range(4):
            h[k] = wp.tanh(h[k])
    out[i] = h[0] + h[1] * h[2]


@case(dim=1, size=8, twice=False)
@wp.kernel
def fft_like_butterflies(x: wp.array(dtype=d)):
    half = int(1)
    while half < 8:
        for start in range(0, 8, half * 2):
            for k in range(half):
                a = x[start + k]
                b = x[start + k + half] * wp.cos(d(k) * d(0.3))
                x[start + k] = a + b
                x[start + k + half] = (a - b) * wp.sin(a * d(0.1))
        half *= 2


@case(dim=1, size=4)
@wp.kernel
def dynamic_programming(x: wp.array(dtype=d), y: wp.array(dtype=d), out: wp.array(dtype=d)):
    t = wp.zeros(shape=(5, 5), dtype=d)
    for a in range(1, 5):
        for b in range(1, 5):
            cost = (x[a - 1] - y[b - 1]) * (x[a - 1] - y[b - 1])
            t[a, b] = cost + wp.min(t[a - 1, b], wp.min(t[a, b - 1], t[a - 1, b - 1]))
    out[0] = t[4, 4]


@case(n=[3, 1, 4, 1, 5])
@wp.kernel
def continued_fraction(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i], 0, -1):
        s = d(j) + x[i] / s
    out[i] = s


@case(x=[0.5, 0.7, 0.9, 1.1, 1.3])
@wp.kernel
def bisection(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    lo = d(0.0)
    hi = d(2.0)
    for j in range(10):
        m = d(0.5) * (lo + hi)
        if m * m < x[i]:
            lo = m
        else:
            hi = m
    out[i] = (lo + hi) * x[i]


@case(size=16, dim=3)
@wp.kernel
def n_body(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    f = d(0.0)
    for j in range(16):
        if j == i:
            continue
        r = x[j] - x[i]
        f += r / (r * r + d(0.1)) / wp.sqrt(r * r + d(0.1))
    out[i] = f


@case(n=[0, 2, 1, 2, 0], twice=False)
@wp.kernel
def springs(x: wp.array(dtype=vec3), n: wp.array(dtype=int), out: wp.array(dtype=vec3)):
    i = wp.tid()
    a = n[i]
    b = (n[i] + 1 + i) % 5
    if a == b:
        return
    r = x[b] - x[a]
    l = wp.length(r)
    f = wp.normalize(r) * (l - d(0.5)) * d(10.0)
    wp.atomic_add(out, a, f)
    wp.atomic_sub(out, b, f)


@case(n=N5)
@wp.kernel
def logistic_map(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    r = d(3.5)
    s = x[i]
    for j in range(n[i]):
        s = r * s * (d(1.0) - s)
    out[i] = s


@case(dim=1, size=6, twice=False)
@wp.kernel
def horner_and_derivative(x: wp.array(dtype=d), c: wp.array(dtype=d), out: wp.array(dtype=d)):
    p = d(0.0)
    q = d(0.0)
    for j in range(6):
        q = q * x[0] + p
        p = p * x[0] + c[5 - j]
    out[0] = p
    out[1] = q


@case(n=[5, 8, 13, 3, 1], size=14, dim=5)
@wp.kernel
def linear_recurrence_in_memory(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    a = wp.zeros(shape=(14,), dtype=d)
    a[0] = x[i]
    a[1] = x[i + 1]
    for j in range(2, n[i]):
        a[j] = a[j - 1] * a[j - 2] + a[j - 2]
    out[i] = a[wp.max(n[i] - 1, 0)]


@case(dim=2, x=np.linspace(0.1, 1.7, 12).reshape(2, 6), out=np.zeros((2, 6)))
@wp.kernel
def softmax(x: wp.array2d(dtype=d), out: wp.array2d(dtype=d)):
    i = wp.tid()
    m = x[i, 0]
    for j in range(1, 6):
        m = wp.max(m, x[i, j])
    s = d(0.0)
    for j in range(6):
        s += wp.exp(x[i, j] - m)
    for j in range(6):
        out[i, j] = wp.exp(x[i, j] - m) / s


@case(dim=2, x=np.linspace(0.1, 1.7, 12).reshape(2, 6))
@wp.kernel
def layer_norm_in_place(x: wp.array2d(dtype=d)):
    i = wp.tid()
    m = d(0.0)
    for j in range(6):
        m += x[i, j] / d(6.0)
    v = d(0.0)
    for j in range(6):
        v += (x[i, j] - m) * (x[i, j] - m) / d(6.0)
    for j in range(6):
        x[i, j] = (x[i, j] - m) / wp.sqrt(v + d(0.01)) * d(j + 1)


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.name)
def test_agrees_with_differences(case) -> None:
    case.check()
