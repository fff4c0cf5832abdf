// Composites beyond the register limit: the same results as plain C++, at every lane count, in bounded compile time.
#include "../slowdown.h"
#include "harness.h"

#include <chrono>

namespace weft::codegen::test {
namespace {

std::vector<float> filled(std::size_t n, int salt) {
  std::vector<float> x(n);
  for (std::size_t k = 0; k < n; ++k) x[k] = float(int((k * 7919 + std::size_t(salt) * 104729) % 37) - 18) * 0.125f;
  return x;
}

TEST(Large, MatmulAndFriends) {
  Program program(R"(
kernel @k(%a: array<mat<f32,16,16>,1>, %b: array<mat<f32,16,16>,1>, %s: array<f32,1>, %out: array<mat<f32,16,16>,1>, %v: array<vec<f32,16>,1>, %d: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %x = load %a[%i]
  %y = load %b[0i32]
  %f = load %s[%i]
  %p = matmul %x, %y
  %q = scale %p, %f
  %r = add %q, %x
  %t = transpose %r
  %same = eq %t, %r
  %c = cast %same : f32
  store %out[%i], %t
  %u = load %v[%i]
  %w = matmul %t, %u
  %z = matmul %w, %x
  %e = dot %z, %u
  %g = extract %t[3][5]
  %o = outer %u, %w
  %h = extract %o[2][%i~]
  %e2 = add %e, %g
  %e3 = add %e2, %h
  %e4 = add %e3, %c
  store %d[%i], %e4
  return
}
)");
  const std::size_t n = 5;
  auto a = filled(n * 256, 1), b = filled(256, 2), s = filled(n, 3), v = filled(n * 16, 4);
  std::vector<float> want(n * 256), want_d(n);
  for (std::size_t i = 0; i < n; ++i) {
    float r[256], w[16], z[16];
    for (std::size_t j = 0; j < 16; ++j)
      for (std::size_t k = 0; k < 16; ++k) {
        float sum = a[i * 256 + j * 16] * b[k];
        for (std::size_t l = 1; l < 16; ++l) sum = sum + a[i * 256 + j * 16 + l] * b[l * 16 + k];
        r[k * 16 + j] = sum * s[i] + a[i * 256 + j * 16 + k];
      }
    std::copy(r, r + 256, &want[i * 256]);
    for (std::size_t j = 0; j < 16; ++j) {
      w[j] = r[j * 16] * v[i * 16];
      for (std::size_t k = 1; k < 16; ++k) w[j] = w[j] + r[j * 16 + k] * v[i * 16 + k];
    }
    for (std::size_t j = 0; j < 16; ++j) {
      z[j] = w[0] * a[i * 256 + j];
      for (std::size_t k = 1; k < 16; ++k) z[j] = z[j] + w[k] * a[i * 256 + k * 16 + j];
    }
    float e = z[0] * v[i * 16];
    for (std::size_t k = 1; k < 16; ++k) e = e + z[k] * v[i * 16 + k];
    want_d[i] = e + r[3 * 16 + 5] + v[i * 16 + 2] * w[i] + 0.0f;
  }
  for (int lanes : {1, 4, 16}) {
    std::vector<float> out(n * 256), d(n);
    run(program, Block(program).array(a, {5}).array(b, {1}).array(s).array(out, {5}).array(v, {5}).array(d), {5},
        {.lanes = lanes});
    EXPECT_EQ(out, want) << lanes;
    EXPECT_EQ(d, want_d) << lanes;
  }
}

TEST(Large, InsertsInLoopsAndBranches) {
  Program program(R"(
kernel @k(%n: array<i32,1>, %out: array<vec<i32,100>,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %m = load %n[%i]
  %v, %w = for %j = 0i32 to %m step 1i32 (%a = zero vec<i32,100>, %b = zero vec<i32,100>) {
    %odd = bit_and %j, 1i32
    %c = eq %odd, 1i32
    %r = if %c : vec<i32,100> {
      %x = mul %j, 10i32
      %a2 = insert %a, %x, [%j]
      yield %a2
    } else { yield %a }
    %at = add %j, %i
    %b2 = insert %b, %j, [%at~]
    yield %b2, %r
  }
  %sum = add %v, %w
  %k = extract %sum[%m]
  %big = gt %m, 5i32
  %res = if %big : vec<i32,100> {
    %t = insert %sum, %k, [99]
    yield %t
  } else {
    %t2 = insert %sum, -1i32, [%i~]
    yield %t2
  }
  store %out[%i], %res
  return
}
)");
  const std::size_t n = 19;
  std::vector<std::int32_t> m(n);
  for (std::size_t k = 0; k < n; ++k) m[k] = std::int32_t(k * 5 % 13);
  std::vector<std::int32_t> want(n * 100);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<std::int32_t> a(100), b(100);
    for (int j = 0; j < m[i]; ++j) {
      std::vector<std::int32_t> r = a;
      if (j & 1) r[std::size_t(j)] = j * 10;
      std::vector<std::int32_t> b2 = b;
      b2[std::size_t(j) + i] = j;
      a = b2, b = r;
    }
    for (std::size_t k = 0; k < 100; ++k) a[k] += b[k];
    std::int32_t e = a[std::size_t(m[i])];
    if (m[i] > 5)
      a[99] = e;
    else
      a[i] = -1;
    std::copy(a.begin(), a.end(), want.begin() + std::ptrdiff_t(i * 100));
  }
  for (int lanes : {1, 2, 4, 8, 16}) {
    std::vector<std::int32_t> out(n * 100, 5);
    run(program, Block(program).array(m).array(out, {std::int64_t(n)}), {std::int64_t(n)}, {.lanes = lanes});
    EXPECT_EQ(out, want) << lanes << " lanes";
  }
}

TEST(Large, ThroughCallsAndSelects) {
  Program program(R"(
func @mix(%a: vec<f32,80>, %s: f32) -> (vec<f32,80>, f32) {
  %b = scale %a, %s
  %c = insert %b, %s, [0]
  %d = dot %b, %c
  return %c, %d
}
kernel @k(%x: array<vec<f32,80>,1>, %out: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %f = extract %v[%i~]
  %pos = gt %f, 0.0f32
  %u = load %x[0i32]
  %w = select %pos, %v, %u
  %r, %d = call @mix(%w, %f)
  %r2, %d2 = call @mix(%u, 2.0f32)
  %e = dot %r, %r2
  %g = add %d, %d2
  %h = add %g, %e
  store %out[%i], %h
  return
}
)");
  const std::size_t n = 21;
  auto x = filled(n * 80, 9);
  std::vector<float> want(n);
  run(program, Block(program).array(x, {std::int64_t(n)}).array(want), {std::int64_t(n)});
  for (int lanes : lane_counts()) {
    std::vector<float> out(n);
    run(program, Block(program).array(x, {std::int64_t(n)}).array(out), {std::int64_t(n)}, {.lanes = lanes});
    EXPECT_EQ(out, want) << lanes;
  }
}

TEST(Large, MediumMatricesInRegisters) {
  Program program(R"(
kernel @k(%a: array<mat<f64,6,6>,1>, %b: array<mat<f64,8,8>,1>, %at: array<i64,1>, %out: array<f64,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %x = load %a[%i]
  %y = matmul %x, %x
  %m = load %b[%i]
  %n = matmul %m, %m
  %j = load %at[%i]
  %e = extract %y[%j~][5]
  %f = extract %n[7][%j]
  %row = extract %n[%j]
  %g = extract %row[1]
  %n2 = insert %n, %row, [%j~]
  %h = extract %n2[2][3]
  %s = add %e, %f
  %t = add %g, %h
  %u = add %s, %t
  store %out[%i], %u
  return
}
)");
  const std::size_t n = 20;
  std::vector<double> a(n * 36), b(n * 64), want(n);
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = double(k % 11) - 5.0;
  for (std::size_t k = 0; k < b.size(); ++k) b[k] = double(k % 13) - 6.0;
  std::vector<std::int64_t> at(n);
  for (std::size_t k = 0; k < n; ++k) at[k] = std::int64_t(k % 12) - 3;
  auto count = std::int64_t(n);
  run(program, Block(program).array(a, {count}).array(b, {count}).array(at).array(want), {count});
  for (int lanes : lane_counts()) {
    std::vector<double> out(n);
    run(program, Block(program).array(a, {count}).array(b, {count}).array(at).array(out), {count}, {.lanes = lanes});
    EXPECT_EQ(out, want) << lanes;
  }
}

TEST(Large, CompileTimeStaysBounded) {
  // Many large inserts and products: code size must grow with the number of operations, not with the matrix.
  std::string text =
      "kernel @k(%a: array<mat<f32,16,16>,1>, %out: array<mat<f32,16,16>,1>) form(no_overlap, rank 1) {\n"
      "  %i = tid 0\n  %m0 = load %a[%i]\n";
  for (int k = 0; k < 40; ++k) {
    std::string from = std::to_string(k), to = std::to_string(k + 1);
    text += "  %p" + from + " = matmul %m" + from + ", %m" + from + "\n  %m" + to + " = insert %p" + from +
            ", 1.0f32, [%i~][" + std::to_string(k % 16) + "]\n";
  }
  text += "  store %out[%i], %m40\n  return\n}\n";
  Program program(text);
  auto start = std::chrono::steady_clock::now();
  EmitOptions options;
  options.lanes = 4;
  Emitted code = emit(*program.module, program.kernel(), host_target(), options, Output::object);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LT(code.bytes.size(), 400'000u);
  EXPECT_LT(seconds, 20.0 * kSlowdown);
}

}  // namespace
}  // namespace weft::codegen::test
