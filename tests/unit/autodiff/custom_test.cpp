// Gradients that functions were given, where they are the true ones: differences and forward mode must agree.
#include "gradient_check.h"

namespace weft::autodiff::test {
namespace {

Check custom(std::string text) {
  Check check;
  check.text = std::move(text);
  check.custom = true;
  return check;
}

TEST(Custom, ValuesAndSeveralResults) {
  expect_gradient(custom(R"(
@wp.func
def f(x: d, v: wp.vec3d, n: int):
    return x * wp.dot(v, v) * d(n), n, wp.sin(x)

@wp.func_grad(f)
def df(x: d, v: wp.vec3d, n: int, adj: d, adj_n: int, adj_sin: d):
    wp.adjoint[x] += wp.dot(v, v) * d(n) * adj
    wp.adjoint[x] += wp.cos(x) * adj_sin
    for k in range(3):
        wp.adjoint[v][k] += d(2.0) * v[k] * x * d(n) * adj

@wp.kernel
def k(a: wp.array(dtype=d), v: wp.array(dtype=wp.vec3d), out: wp.array(dtype=d)):
    i = wp.tid()
    p, n, s = f(a[i], v[i], i + 2)
    out[i] = p * s + d(n) * p
)"));
}

TEST(Custom, InLoopsAndBranches) {
  expect_gradient(custom(R"(
@wp.func
def step(x: d, h: d):
    return x + h * wp.sin(x)

@wp.func_grad(step)
def dstep(x: d, h: d, adj: d):
    if adj != d(0.0):
        wp.adjoint[x] += adj * (d(1.0) + h * wp.cos(x))
        wp.adjoint[h] += adj * wp.sin(x)

@wp.kernel
def k(a: wp.array(dtype=d), h: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    x = a[i]
    for j in range(5 + i):
        if x > d(0.5):
            x = step(x, h[i])
        else:
            x = step(step(x, h[i]), x)
        if x > d(2.5):
            break
    out[i] = x
)"));
}

TEST(Custom, ArraysAndStructs) {
  Check check = custom(R"(
@wp.struct
class S:
    a: wp.array(dtype=d)
    scale: d

@wp.func
def f(s: S, i: int):
    return s.scale * s.a[i] * s.a[i + 1]

@wp.func_grad(f)
def df(s: S, i: int, adj: d):
    wp.adjoint[s].scale += s.a[i] * s.a[i + 1] * adj
    wp.adjoint[s.a][i] += s.scale * s.a[i + 1] * adj
    wp.atomic_add(wp.adjoint[s].a, i + 1, s.scale * s.a[i] * adj)

@wp.kernel
def k(a: wp.array(dtype=d), b: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    s = S()
    s.a = a
    s.scale = b[i]
    out[i] = f(s, i) * f(s, 0)
)");
  check.floats["a"] = {1.5, -0.5, 2.0, 0.25};
  check.tangent = false;  // rows of a Jacobian with respect to whole arrays are not to be had
  expect_gradient(check);
}

TEST(Custom, RulesOfTheLibrary) {
  expect_gradient(custom(R"(
@wp.kernel
def k(a: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    m = wp.mat33d(d(3.0), a[0], a[1], a[2], d(2.0), a[1], a[0], d(0.5), d(1.0) + a[2])
    r = wp.inverse(m)
    q, t = wp.qr3(m)
    u, s, v = wp.svd3(m)
    out[i] = r[0, 1] + r[2, 2] * r[i, 0] + q[i, 1] * t[0, 2] + u[0, i] * v[1, 0] + s[2]
)"));
}

TEST(Custom, GradientsOfFunctionsOfFunctions) {
  // The gradient of the inner function serves the outer one, which is differentiated around it.
  expect_gradient(custom(R"(
@wp.func
def inner(x: d):
    return x * x * x

@wp.func_grad(inner)
def dinner(x: d, adj: d):
    y = inner(x)
    wp.adjoint[x] += d(3.0) * adj * wp.where(x == d(0.0), d(0.0), y / x)

@wp.func
def outer(x: d, n: int):
    s = x
    for j in range(n):
        s = s + d(0.1) * inner(wp.sin(s))
    return s

@wp.kernel
def k(a: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = outer(a[i], 4 * i) * outer(a[0], 3)
)"));
}

}  // namespace
}  // namespace weft::autodiff::test
