// Vectors of many lengths, matrices of many shapes, quaternions, transforms: arithmetic, access, products, inverses.
#include "agree.h"

namespace weft::agree {
namespace {

std::string vector_type(int length, const std::string& scalar) {
  return "wp.types.vector(length=" + std::to_string(length) + ", dtype=wp." + scalar + ")";
}

std::string matrix_type(int rows, int cols, const std::string& scalar) {
  return "wp.types.matrix(shape=(" + std::to_string(rows) + ", " + std::to_string(cols) + "), dtype=wp." + scalar + ")";
}

TEST(Composite, VectorsOfManyLengths) {
  for (const std::string scalar : {"float32", "int32", "float64", "float16", "uint8", "int64"})
    for (int length : {1, 2, 3, 4, 7, 33}) {
      if (scalar != "float32" && length != (scalar == "uint8" ? 4 : scalar == "float64" ? 2 : 3)) continue;
      Case c("\nV = " + vector_type(length, scalar) +
                 with_type(R"(
@wp.kernel
def k(a: wp.array(dtype=V), b: wp.array(dtype=V), s: wp.array(dtype=$T), out: wp.array2d(dtype=V), red: wp.array2d(dtype=$T), eq: wp.array(dtype=bool)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    out[i, 0] = x + y
    out[i, 1] = x - y * s[i]
    out[i, 2] = s[i] * x
    out[i, 3] = x / $T(3)
    out[i, 4] = -x
    out[i, 5] = wp.min(x, y)
    out[i, 6] = wp.max(x, y)
    out[i, 7] = wp.cw_mul(x, y)
    out[i, 8] = wp.cw_div(x, y)
    out[i, 9] = wp.abs(x)
    x[0] = y[-1]
    x[i % len(x)] += s[i]
    out[i, 10] = x
    red[i, 0] = wp.dot(x, y)
    red[i, 1] = wp.min(x) + wp.max(y)
    red[i, 2] = wp.length_sq(x)
    red[i, 3] = y[i % len(y)]
    eq[i] = x == y
)",
                           "wp." + scalar),
             {21});
      c.array("V", {21}).array("V", {21}).array(scalar, {21}).array("V", {21, 11}, Fill::zeros);
      c.array(scalar, {21, 4}, Fill::zeros).array("bool", {21}, Fill::zeros);
      expect_agreement(c, length == 3 && scalar == "float32" ? Effort::full : Effort::brief);
    }
}

TEST(Composite, FloatVectors) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=wp.vec3), m: wp.array(dtype=wp.mat33), v: wp.array(dtype=wp.vec4), w: wp.array(dtype=wp.vec2d)):
    i = wp.tid()
    x = a[i]
    out[i, 0] = wp.cross(x, b[i])
    out[i, 1] = wp.normalize(x)
    out[i, 2] = wp.vec3(wp.length(x), x.y, x[2])
    out[i, 3] = wp.lerp(x, b[i], 0.25)
    x.z = 7.0
    x.x += x.y
    out[i, 4] = x
    m[i] = wp.outer(x, b[i]) + wp.skew(x) + wp.diag(b[i])
    v[i] = wp.vec4(x[0], x[1], x[2], 1.0) * 2.0
    w[i] = wp.normalize(wp.vec2d(wp.float64(x[0]), wp.float64(x[1])))
)",
         {37});
  c.array("vec3", {37})
      .array("vec3", {37}, Fill::edges)
      .array("vec3", {37, 5}, Fill::zeros)
      .array("mat33", {37}, Fill::zeros);
  c.array("vec4", {37}, Fill::zeros).array("vec2d", {37}, Fill::zeros);
  expect_agreement(c);
}

TEST(Composite, MatricesOfManyShapes) {
  const std::pair<int, int> shapes[] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {2, 3}, {4, 3}, {6, 6}, {1, 5}};
  for (auto [rows, cols] : shapes)
    for (const std::string scalar : {"float32", "float64", "float16", "int32"}) {
      if (scalar != "float32" && rows * cols != (scalar == "float64" ? 9 : scalar == "int32" ? 6 : 4)) continue;
      Case c("\nM = " + matrix_type(rows, cols, scalar) + "\nN = " + matrix_type(cols, rows, scalar) +
                 "\nP = " + matrix_type(rows, rows, scalar) + "\nV = " + vector_type(cols, scalar) +
                 "\nU = " + vector_type(rows, scalar) +
                 with_type(R"(
@wp.kernel
def k(a: wp.array(dtype=M), b: wp.array(dtype=M), v: wp.array(dtype=V), u: wp.array(dtype=U), out: wp.array2d(dtype=M), t: wp.array(dtype=N), p: wp.array(dtype=P), pv: wp.array(dtype=U), pu: wp.array(dtype=V), s: wp.array2d(dtype=$T)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    out[i, 0] = x + y
    out[i, 1] = x - y
    out[i, 2] = x * $T(3)
    out[i, 3] = wp.cw_mul(x, y)
    out[i, 4] = wp.outer(u[i], v[i])
    t[i] = wp.transpose(x)
    p[i] = x * wp.transpose(y)
    pv[i] = x * v[i]
    pu[i] = u[i] * x
    x[i % len(x)] = v[i]
    x[0, i % len(v[i])] += $T(5)
    out[i, 5] = x
    s[i, 0] = wp.ddot(x, y)
    s[i, 1] = x[i % len(x), 0]
    s[i, 2] = wp.trace(p[i])
    s[i, 3] = y[-1, -1]
)",
                           "wp." + scalar),
             {18});
      c.array("M", {18})
          .array("M", {18})
          .array("V", {18})
          .array("U", {18})
          .array("M", {18, 6}, Fill::zeros)
          .array("N", {18}, Fill::zeros);
      c.array("P", {18}, Fill::zeros)
          .array("U", {18}, Fill::zeros)
          .array("V", {18}, Fill::zeros)
          .array(scalar, {18, 4}, Fill::zeros);
      expect_agreement(c, rows == 2 && cols == 3 ? Effort::full : Effort::brief);
    }
}

TEST(Composite, InversesAndDeterminants) {
  for (int n : {2, 3, 4, 5})
    for (const std::string scalar : {"float32", "float64"}) {
      if ((scalar == "float64") != (n == 4)) continue;
      Case c("\nM = " + matrix_type(n, n, scalar) +
                 with_type(R"(
@wp.kernel
def k(a: wp.array(dtype=M), inv: wp.array(dtype=M), one: wp.array(dtype=M), d: wp.array(dtype=$T)):
    i = wp.tid()
    r = wp.inverse(a[i])
    inv[i] = r
    one[i] = r * a[i]
    d[i] = a[i][0, 0] * a[i][1, 1]
)",
                           "wp." + scalar),
             {19});
      c.array("M", {19}).array("M", {19}, Fill::zeros).array("M", {19}, Fill::zeros).array(scalar, {19}, Fill::zeros);
      expect_agreement(c, Effort::brief);
    }
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=wp.mat22), b: wp.array(dtype=wp.mat33), e: wp.array(dtype=wp.mat44), out: wp.array2d(dtype=float)):
    i = wp.tid()
    out[i, 0] = wp.determinant(a[i])
    out[i, 1] = wp.determinant(b[i])
    out[i, 2] = wp.determinant(e[i])
)",
         {19});
  c.array("mat22", {19}).array("mat33", {19}).array("mat44", {19}).array("float32", {19, 3}, Fill::zeros);
  expect_agreement(c);
}

TEST(Composite, SingularMatricesInvertToZero) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=wp.mat22), b: wp.array(dtype=wp.mat33), e: wp.array(dtype=wp.mat44)):
    i = wp.tid()
    a[i] = wp.inverse(a[i])
    b[i] = wp.inverse(b[i])
    e[i] = wp.inverse(e[i])
)",
         {3});
  c.array("mat22", {3}, Fill::zeros).array("mat33", {3}, Fill::zeros).array("mat44", {3}, Fill::zeros);
  for (float x : values<float>(expect_agreement(c, Effort::brief), 2)) EXPECT_EQ(x, 0);
}

TEST(Composite, LargeProductAndInverse) {
  Case product("\nM = " + matrix_type(16, 16, "float32") + R"(
@wp.kernel
def k(a: wp.array(dtype=M), b: wp.array(dtype=M), out: wp.array(dtype=M)):
    i = wp.tid()
    out[i] = a[i] * b[i] + a[i]
)",
               {5});
  product.array("M", {5}).array("M", {5}).array("M", {5}, Fill::zeros);
  expect_agreement(product, Effort::brief);
  Case inverse("\nM = " + matrix_type(12, 12, "float64") + R"(
@wp.kernel
def k(a: wp.array(dtype=M), out: wp.array(dtype=M)):
    i = wp.tid()
    out[i] = wp.inverse(a[i])
)",
               {3});
  inverse.array("M", {3}).array("M", {3}, Fill::zeros);
  const Outcome got = expect_agreement(inverse, Effort::brief);
  // a·a⁻¹ = 1, roughly: the executors agree on something sensible.
  const std::vector<double> a = values<double>(got, 0), r = values<double>(got, 1);
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 12; ++j) {
      double sum = 0;
      for (int t = 0; t < 12; ++t) sum += a[std::size_t(i * 12 + t)] * r[std::size_t(t * 12 + j)];
      EXPECT_NEAR(sum, i == j ? 1 : 0, 1e-6);
    }
}

TEST(Composite, QuaternionsAndTransforms) {
  for (const std::string suffix : {"f", "d", "h"}) {
    const std::string scalar = suffix == "f" ? "float32" : suffix == "d" ? "float64" : "float16";
    std::string text = R"(
@wp.kernel
def k(p: wp.array(dtype=quat$), q: wp.array(dtype=quat$), v: wp.array(dtype=vec3$), t: wp.array(dtype=transform$), out: wp.array2d(dtype=quat$), w: wp.array2d(dtype=vec3$), ts: wp.array2d(dtype=transform$), m: wp.array(dtype=mat33$)):
    i = wp.tid()
    a = wp.normalize(p[i])
    b = wp.normalize(q[i])
    out[i, 0] = a * b
    out[i, 1] = a + b * a[3]
    out[i, 2] = wp.quat_inverse(a) - b
    out[i, 3] = wp.quat_from_axis_angle(wp.normalize(v[i]), a.x)
    w[i, 0] = wp.quat_rotate(a, v[i])
    w[i, 1] = wp.quat_rotate_inv(b, v[i])
    m[i] = wp.quat_to_matrix(a)
    x = t[i]
    w[i, 2] = wp.transform_point(x, v[i])
    w[i, 3] = wp.transform_vector(x, v[i])
    w[i, 4] = wp.transform_get_translation(x)
    ts[i, 0] = x * wp.transform_inverse(x)
    ts[i, 1] = transform$(v[i], a)
    x[2] = v[i][0]
    x.p = v[i]
    ts[i, 2] = x
    out[i, 4] = wp.transform_get_rotation(x)
)";
    for (const std::string name : {"quat", "vec3", "transform", "mat33"})
      for (std::size_t at; (at = text.find(name + "$")) != std::string::npos;)
        text.replace(at, name.size() + 1, "wp." + name + suffix);
    Case c(text, {23});
    c.array("quat" + suffix, {23})
        .array("quat" + suffix, {23})
        .array("vec3" + suffix, {23})
        .array("transform" + suffix, {23});
    c.array("quat" + suffix, {23, 5}, Fill::zeros)
        .array("vec3" + suffix, {23, 5}, Fill::zeros)
        .array("transform" + suffix, {23, 3}, Fill::zeros)
        .array("mat33" + suffix, {23}, Fill::zeros);
    expect_agreement(c, suffix == "f" ? Effort::full : Effort::brief);
  }
}

TEST(Composite, Parameters) {
  Case c(R"(
@wp.kernel
def k(v: wp.vec3, m: wp.mat33, q: wp.quat, t: wp.transform, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = wp.transform_point(t, wp.quat_rotate(q, m * v)) * float(i)
)",
         {19});
  c.value("vec3").value("mat33").value("quat").value("transform").array("vec3", {19}, Fill::zeros);
  expect_agreement(c);
}

}  // namespace
}  // namespace weft::agree
