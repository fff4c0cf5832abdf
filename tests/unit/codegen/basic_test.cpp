// The thin thread and plain kernels: consecutive, strided and multi-dimensional accesses at every lane count.
#include "harness.h"

#include <numeric>

namespace weft::codegen::test {
namespace {

const char* kSaxpy = R"(
kernel @saxpy(%a: f32, %x: array<f32,1>, %y: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %xi = load %x[%i]
  %yi = load %y[%i]
  %p = mul %a, %xi
  %s = add %p, %yi
  store %y[%i], %s
  return
}
)";

TEST(Basic, Saxpy) {
  Program program(kSaxpy);
  for (int lanes : {1, 2, 4, 8, 16})
    for (std::size_t n : {0u, 1u, 3u, 16u, 61u, 1000u}) {
      std::vector<float> x(n), y(n), want(n);
      for (std::size_t k = 0; k < n; ++k)
        x[k] = 0.1f * float(k), y[k] = 1.0f / float(k + 1), want[k] = 2.5f * x[k] + y[k];
      run(program, Block(program).scalar(2.5f).array(x).array(y), {std::int64_t(n)}, {.lanes = lanes});
      EXPECT_EQ(y, want) << lanes << " lanes, n = " << n;
    }
}

TEST(Basic, ChunksMeet) {
  Program program(kSaxpy);
  for (std::int64_t chunk : {1, 5, 16, 17}) {
    std::vector<float> x(100, 1.0f), y(100, 0.0f);
    run(program, Block(program).scalar(1.0f).array(x).array(y), {100}, {.lanes = 8, .chunk = chunk});
    EXPECT_EQ(y, std::vector<float>(100, 1.0f));
  }
}

TEST(Basic, StridedArrays) {
  Program program(kSaxpy);
  for (int lanes : lane_counts()) {
    std::vector<float> x(200), y(100, 1.0f);
    std::iota(x.begin(), x.end(), 0.0f);
    run(program, Block(program).scalar(1.0f).array(x, {100}, {8}).array(y), {100}, {.lanes = lanes});
    for (std::size_t k = 0; k < 100; ++k) ASSERT_EQ(y[k], float(2 * k) + 1.0f);
    std::vector<float> z(100, 0.0f);
    // Negative strides: reads backwards.
    run(program, Block(program).scalar(1.0f).array(x, {100}, {-4}, 99).array(z), {100}, {.lanes = lanes});
    for (std::size_t k = 0; k < 100; ++k) ASSERT_EQ(z[k], float(99 - k));
  }
}

TEST(Basic, RankTwo) {
  Program program(R"(
kernel @k(%x: array<f32,2>, %out: array<f32,2>) form(no_overlap, rank 2) {
  %i = tid 0
  %j = tid 1
  %v = load %x[%i, %j]
  %fi = cast %i : f32
  %fj = cast %j : f32
  %s = add %v, %fi
  %p = mul %s, %fj
  store %out[%i, %j], %p
  return
}
)");
  for (int lanes : {1, 2, 4, 8, 16})
    for (auto [rows, cols] : {std::pair<int, int>{7, 33}, {50, 3}, {1, 1}, {4, 16}, {3, 15}, {200, 1}}) {
      std::vector<float> x(std::size_t(rows * cols)), out(x.size(), -1.0f);
      std::iota(x.begin(), x.end(), 0.5f);
      for (bool strided : {false, true}) {
        std::fill(out.begin(), out.end(), -1.0f);
        run(program, Block(program).array(x, {rows, cols}).array(out, {rows, cols}), {rows, cols},
            {.lanes = lanes, .chunk = 37, .strided = strided});
        for (int i = 0; i < rows; ++i)
          for (int j = 0; j < cols; ++j) {
            std::size_t at = std::size_t(i * cols + j);
            ASSERT_EQ(out[at], (x[at] + float(i)) * float(j))
                << lanes << " lanes " << rows << "x" << cols << " at " << i << "," << j;
          }
      }
      // Transposed input: inner stride is not contiguous.
      std::vector<float> t(x.size(), -1.0f);
      run(program, Block(program).array(x, {rows, cols}, {4, 4 * rows}).array(t, {rows, cols}), {rows, cols},
          {.lanes = lanes});
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < cols; ++j)
          ASSERT_EQ(t[std::size_t(i * cols + j)], (x[std::size_t(j * rows + i)] + float(i)) * float(j));
    }
}

TEST(Basic, RankFour) {
  Program program(R"(
kernel @k(%out: array<i32,4>) form(rank 4) {
  %i = tid 0
  %j = tid 1
  %k = tid 2
  %l = tid 3
  %a = mul %i, 1000i32
  %b = mul %j, 100i32
  %c = mul %k, 10i32
  %s = add %a, %b
  %t = add %c, %l
  %u = add %s, %t
  store %out[%i, %j, %k, %l], %u
  return
}
)");
  for (int lanes : {1, 4, 16}) {
    std::vector<std::int32_t> out(3 * 4 * 5 * 6, -1);
    run(program, Block(program).array(out, {3, 4, 5, 6}), {3, 4, 5, 6}, {.lanes = lanes, .chunk = 29});
    std::size_t at = 0;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 4; ++j)
        for (int k = 0; k < 5; ++k)
          for (int l = 0; l < 6; ++l) ASSERT_EQ(out[at++], i * 1000 + j * 100 + k * 10 + l);
  }
}

TEST(Basic, Vec3AndGather) {
  Program program(R"(
kernel @k(%x: array<vec<f32,3>,1>, %index: array<i32,1>, %y: array<vec<f32,3>,1>, %z: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %a = load %x[%i]
  %n = load %index[%i]
  %b = load %x[%n~]
  %s = add %a, %b
  store %y[%i], %s
  %c = load %x[%i][1]
  store %z[%i], %c
  store %y[%i][2], %c
  return
}
)");
  const int n = 53;
  std::vector<float> x(3 * n);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = float(k * k % 97);
  std::vector<std::int32_t> index(n);
  for (int k = 0; k < n; ++k) index[std::size_t(k)] = k % 3 == 0 ? -1 - k : (k * 7) % n;
  for (int lanes : {1, 2, 4, 8, 16}) {
    std::vector<float> y(3 * n, 0.0f), z(n, 0.0f);
    run(program, Block(program).array(x, {n}).array(index).array(y, {n}).array(z), {n}, {.lanes = lanes});
    for (int k = 0; k < n; ++k) {
      int at = index[std::size_t(k)];
      if (at < 0) at += n;
      for (int c = 0; c < 2; ++c)
        ASSERT_EQ(y[std::size_t(3 * k + c)], x[std::size_t(3 * k + c)] + x[std::size_t(3 * at + c)]);
      ASSERT_EQ(y[std::size_t(3 * k + 2)], x[std::size_t(3 * k + 1)]);
      ASSERT_EQ(z[std::size_t(k)], x[std::size_t(3 * k + 1)]);
    }
  }
}

}  // namespace
}  // namespace weft::codegen::test
