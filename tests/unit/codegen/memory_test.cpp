// Memory: paths, views, slices, structs, locals, atomics, null arrays, colliding stores.
#include "harness.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace weft::codegen::test {
namespace {

struct Particle {
  float x[3];
  float mass;
  std::int32_t id;
  bool on;
};

TEST(Memory, Structs) {
  Program program(R"(
struct %Particle { x: vec<f32,3>, mass: f32, id: i32, on: bool }
kernel @k(%in: array<%Particle,1>, %out: array<%Particle,1>) form(rank 1) {
  %i = tid 0
  %p = load %in[%i]
  %x = extract %p.0
  %m = extract %p.1
  %y = scale %x, %m
  %q = insert %p, %y, .0
  %c = extract %p.3
  %n = bit_not %c
  %r = insert %q, %n, .3
  %d = load %in[%i].2
  %e = add %d, 5i32
  %s = insert %r, %e, .2
  store %out[%i], %s
  store %out[%i].0[1], 42.0f32
  return
}
)");
  const int n = 37;
  std::vector<Particle> in(n);
  for (int k = 0; k < n; ++k) in[std::size_t(k)] = {{float(k), 2.0f, float(-k)}, 0.5f * float(k), k * 3, k % 3 == 0};
  for (int lanes : {1, 2, 8, 16}) {
    std::vector<Particle> out(n);
    run(program, Block(program).array(in).array(out), {n}, {.lanes = lanes});
    for (std::size_t k = 0; k < n; ++k) {
      ASSERT_EQ(out[k].x[0], in[k].x[0] * in[k].mass);
      ASSERT_EQ(out[k].x[1], 42.0f);
      ASSERT_EQ(out[k].x[2], in[k].x[2] * in[k].mass);
      ASSERT_EQ(out[k].id, in[k].id + 5);
      ASSERT_EQ(out[k].on, !in[k].on);
    }
  }
}

TEST(Memory, ViewsAndSlices) {
  Program program(R"(
kernel @k(%x: array<f32,2>, %out: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %row = view %x[%i~]
  %fixed = view %x[-1i32~]
  %s1 = slice %row, 0, 1i64, -1i64, 2i64
  %n = dim %s1, 0 : i32
  %sum = for %j = 0i32 to %n step 1i32 (%acc = 0.0f32) {
    %v = load %s1[%j]
    %w = load %fixed[%j]
    %p = add %acc, %v
    %q = sub %p, %w
    yield %q
  }
  %i64 = cast %i : i64
  %part = slice %row, 0, %i64, 100i64, 0i64
  %m = dim %part, 0 : i64
  %mf = cast %m : f32
  %r = add %sum, %mf
  %some = nonnull %part
  %f = cast %some : f32
  %t = add %r, %f
  store %out[%i], %t
  return
}
)");
  const int rows = 29, cols = 9;
  std::vector<float> x(rows * cols);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = float(k * 31 % 17);
  for (int lanes : {1, 4, 16}) {
    std::vector<float> out(rows, -1.0f);
    run(program, Block(program).array(x, {rows, cols}).array(out), {rows}, {.lanes = lanes});
    for (int i = 0; i < rows; ++i) {
      float want = 0.0f;
      int j = 0;
      for (int c = 1; c < cols - 1; c += 2, ++j)
        want = want + x[std::size_t(i * cols + c)] - x[std::size_t((rows - 1) * cols + j)];
      want += float(std::max(0, cols - i)) + 1.0f;
      ASSERT_EQ(out[std::size_t(i)], want) << lanes << " lanes, row " << i;
    }
  }
}

TEST(Memory, DynamicPathIsRangeChecked) {
  Program program(R"(
kernel @k(%x: array<mat<f32,2,3>,1>, %c: array<i32,1>, %out: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %j = load %c[%i]
  %a = load %x[%i][1][%j~]
  store %x[%i][%j][0], 100.0f32
  %m = load %x[%i]
  %b = extract %m[0][%j]
  %row = extract %m[%j~]
  %d = extract %row[2]
  %m2 = insert %m, 7.0f32, [%j~][%j]
  %e = extract %m2[1][1]
  %s = add %a, %b
  %t = add %d, %e
  %u = add %s, %t
  store %out[%i], %u
  return
}
)");
  const int n = 40;
  for (int lanes : {1, 4, 16}) {
    std::vector<float> x(6 * n), want_x, out(n), want(n);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = float(k);
    want_x = x;
    std::vector<std::int32_t> c(n);
    for (int k = 0; k < n; ++k) c[std::size_t(k)] = k % 9 - 4;
    for (int k = 0; k < n; ++k) {
      int j = c[std::size_t(k)];
      float* m = &want_x[std::size_t(6 * k)];
      int wrapped = j < 0 ? j + 3 : j;
      float a = wrapped >= 0 && wrapped < 3 ? m[3 + wrapped] : 0.0f;
      if (j >= 0 && j < 2) m[3 * j] = 100.0f;
      float b = j >= 0 && j < 3 ? m[j] : 0.0f;
      int row = j < 0 ? j + 2 : j;
      float d = row >= 0 && row < 2 ? m[3 * row + 2] : 0.0f;
      float e = row == 1 && j == 1 ? 7.0f : m[4];
      want[std::size_t(k)] = (a + b) + (d + e);
    }
    run(program, Block(program).array(x, {n}).array(c).array(out), {n}, {.lanes = lanes});
    EXPECT_EQ(x, want_x);
    EXPECT_EQ(out, want) << lanes << " lanes";
  }
}

TEST(Memory, Locals) {
  Program program(R"(
kernel @k(%n: array<i32,1>, %out: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %m = load %n[%i]
  %total = for %rep = 0i32 to 2i32 step 1i32 (%t0 = 0.0f32) {
    %a = local : array<f32,1> [8]
    for %j = 0i32 to %m step 1i32 {
      %f = cast %j : f32
      %old = load %a[%j]
      %g = add %f, %old
      store %a[%j], %g
      yield
    }
    %s = for %j = 0i32 to 8i32 step 1i32 (%acc = %t0) {
      %v = load %a[%j]
      %p = add %acc, %v
      yield %p
    }
    yield %s
  }
  store %out[%i], %total
  return
}
)");
  for (int lanes : {1, 2, 8, 16}) {
    const std::size_t n = 50;
    std::vector<std::int32_t> m(n);
    for (std::size_t k = 0; k < n; ++k) m[k] = std::int32_t(k % 9);
    std::vector<float> out(n);
    run(program, Block(program).array(m).array(out), {std::int64_t(n)}, {.lanes = lanes});
    for (std::size_t k = 0; k < n; ++k) ASSERT_EQ(out[k], float(m[k] * (m[k] - 1)));
  }
}

TEST(Memory, ViewsOfLocalsAsArguments) {
  // The memory is each lane's own, the way to the row and the missing gradient are the same for all.
  Program program(R"(
func @sum(%a: array<f32,1>, %x: f32) -> (f32) {
  %p = load %a[0i32]
  %q = load %a[1i32]
  %s = add %p, %q
  store %a[0i32], %x
  %r = add %s, %x
  return %r
}
kernel @k(%x: array<f32,1>, %out: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %a = local : array<f32,2> [2, 2]
  store %a[1i32, 0i32], %v
  store %a[1i32, 1i32], 2.0f32
  %row = view %a[1i32]
  %s = call @sum(%row, 5.0f32)
  %t = call @sum(%row, %s)
  store %out[%i], %t
  return
}
)");
  for (int lanes : {1, 2, 8, 16}) {
    const std::size_t n = 50;
    std::vector<float> x(n), out(n);
    for (std::size_t k = 0; k < n; ++k) x[k] = float(k);
    run(program, Block(program).array(x).array(out), {std::int64_t(n)}, {.lanes = lanes});
    for (std::size_t k = 0; k < n; ++k) ASSERT_EQ(out[k], 5.0f + 2.0f + float(k) + 2.0f + 5.0f) << lanes << " lanes";
  }
}

TEST(Memory, CollidingStoresKeepTheLastLane) {
  Program program(R"(
kernel @k(%x: array<i32,1>, %at: array<i32,1>, %one: array<i32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %j = load %at[%i]
  store %x[%j], %i
  %odd = bit_and %i, 1i32
  %c = eq %odd, 0i32
  if %c {
    store %one[0i32], %i
    yield
  } else { yield }
  return
}
)");
  for (int lanes : {1, 2, 4, 8, 16}) {
    std::vector<std::int32_t> at(60), x(10, -1), one(1, -1);
    for (std::size_t k = 0; k < at.size(); ++k) at[k] = std::int32_t(k * k % 10);
    std::vector<std::int32_t> want(10, -1);
    for (std::size_t k = 0; k < at.size(); ++k) want[std::size_t(at[k])] = std::int32_t(k);
    run(program, Block(program).array(x).array(at).array(one), {60}, {.lanes = lanes});
    EXPECT_EQ(x, want) << lanes;
    EXPECT_EQ(one[0], 58);
  }
}

std::string with_type(std::string text, const std::string& type) {
  for (std::size_t at = text.find("$T"); at != std::string::npos; at = text.find("$T", at)) text.replace(at, 2, type);
  return text;
}

const char* kAtomics = R"(
kernel @k(%x: array<$T,1>, %acc: array<$T,1>, %old: array<$T,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %a = atomic add %acc[0i32], %v
  %b = atomic min %acc[1i32], %v
  %c = atomic max %acc[2i32], %v
  %odd = bit_and %i, 1i32
  %is = eq %odd, 1i32
  if %is {
    %d = atomic exch %acc[3i32], %v
    store %old[%i], %d
    yield
  } else {
    %first = load %x[0i32]
    %e = atomic cas %acc[4i32], %first, %v
    store %old[%i], %a
    yield
  }
  return
}
)";

template <class T>
class Atomics : public testing::Test {};
struct I8 {
  using type = std::int8_t;
  static constexpr const char* name = "i8";
};
struct U16 {
  using type = std::uint16_t;
  static constexpr const char* name = "u16";
};
struct I32 {
  using type = std::int32_t;
  static constexpr const char* name = "i32";
};
struct U32 {
  using type = std::uint32_t;
  static constexpr const char* name = "u32";
};
struct U64 {
  using type = std::uint64_t;
  static constexpr const char* name = "u64";
};
struct F16 {
  using type = std::uint16_t;
  static constexpr const char* name = "f16";
};
struct F32 {
  using type = float;
  static constexpr const char* name = "f32";
};
struct F64 {
  using type = double;
  static constexpr const char* name = "f64";
};
using AtomicTypes = testing::Types<I8, U16, I32, U32, U64, F16, F32, F64>;
TYPED_TEST_SUITE(Atomics, AtomicTypes);

TYPED_TEST(Atomics, SameAsSerial) {
  using T = typename TypeParam::type;
  Program program(with_type(kAtomics, TypeParam::name));
  const std::size_t n = 45;
  std::vector<T> x(n);
  for (std::size_t k = 0; k < n; ++k) x[k] = T(k * 7 % 23) + T(1);
  if constexpr (std::is_floating_point_v<T>) x[9] = std::numeric_limits<T>::quiet_NaN();
  auto go = [&](int lanes, std::vector<T>& acc, std::vector<T>& old) {
    run(program, Block(program).array(x).array(acc).array(old), {std::int64_t(n)}, {.lanes = lanes});
  };
  std::vector<T> start = {T(0), T(50), T(0), T(3), x[0]};
  std::vector<T> want = start, want_old(n);
  go(1, want, want_old);
  if constexpr (std::is_floating_point_v<T>) {
    EXPECT_TRUE(std::isnan(want[0]));
    EXPECT_EQ(want[1], T(1));
    EXPECT_EQ(want[2], T(23));
  }
  for (int lanes : lane_counts()) {
    std::vector<T> acc = start, old(n);
    go(lanes, acc, old);
    for (std::size_t k = 0; k < acc.size(); ++k)
      EXPECT_TRUE(std::memcmp(&acc[k], &want[k], sizeof(T)) == 0 || (acc[k] != acc[k] && want[k] != want[k]))
          << lanes << " lanes, " << k;
    for (std::size_t k = 0; k < n; ++k)
      EXPECT_TRUE(std::memcmp(&old[k], &want_old[k], sizeof(T)) == 0 ||
                  (old[k] != old[k] && want_old[k] != want_old[k]))
          << lanes << " lanes, thread " << k;
  }
}

TEST(Memory, AtomicOnComposites) {
  Program program(R"(
kernel @k(%x: array<vec<f32,3>,1>, %bins: array<vec<f32,3>,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %b = bit_and %i, 3i32
  %o = atomic add %bins[%b], %v
  %p = atomic max %bins[0i32][%b], 500.0f32
  return
}
)");
  const int n = 33;
  std::vector<float> x(3 * n);
  std::iota(x.begin(), x.end(), 0.0f);
  std::vector<float> want(12, 0.0f);
  run(program, Block(program).array(x, {n}).array(want, {4}), {n});
  for (int lanes : lane_counts()) {
    std::vector<float> bins(12, 0.0f);
    run(program, Block(program).array(x, {n}).array(bins, {4}), {n}, {.lanes = lanes});
    // The first row mixes two operations whose order between lanes is free; the others only add.
    for (std::size_t k = 3; k < 12; ++k) EXPECT_EQ(bins[k], want[k]) << lanes << " lanes, " << k;
  }
}

TEST(Memory, DescriptorsInMemory) {
  Program program(R"(
struct %Holder { a: array<f32,1>, k: i32 }
kernel @k(%h: array<%Holder,1>, %out: array<f32,1>, %copy: array<%Holder,1>) form(rank 1) {
  %i = tid 0
  %p = load %h[%i]
  %a = extract %p.0
  %k = extract %p.1
  %yes = nonnull %a
  %v = if %yes : f32 {
    %l = load %a[%k]
    yield %l
  } else { yield -1.0f32 }
  store %out[%i], %v
  store %copy[%i], %p
  return
}
)");
  struct Holder {
    ArrayDesc a;
    std::int32_t k;
  };
  std::vector<float> data(100);
  std::iota(data.begin(), data.end(), 0.0f);
  const std::size_t n = 21;
  std::vector<Holder> h(n);
  for (std::size_t k = 0; k < n; ++k) {
    if (k % 4 == 3) continue;
    h[k].a.data = data.data() + k;
    h[k].a.shape[0] = 50;
    h[k].a.strides[0] = 4;
    h[k].a.ndim = 1;
    h[k].k = std::int32_t(k % 5);
  }
  for (int lanes : {1, 4, 16}) {
    std::vector<float> out(n);
    std::vector<Holder> copy(n);
    run(program, Block(program).array(h).array(out).array(copy), {std::int64_t(n)}, {.lanes = lanes});
    for (std::size_t k = 0; k < n; ++k) {
      ASSERT_EQ(out[k], k % 4 == 3 ? -1.0f : float(k + k % 5));
      ASSERT_EQ(copy[k].a.data, h[k].a.data);
      ASSERT_EQ(copy[k].a.ndim, 1);
      ASSERT_EQ(copy[k].a.strides[0], h[k].a.strides[0]);
      ASSERT_EQ(copy[k].k, h[k].k);
    }
  }
}

TEST(Memory, NullParameterDoesNotSlowOrBreak) {
  Program program(R"(
kernel @k(%x: array<f32,1>, %none: array<f32,2>, %out: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %has = nonnull %none
  %r = if %has : f32 {
    %w = load %none[%i, 0i32]
    yield %w
  } else { yield %v }
  store %out[%i], %r
  return
}
)");
  for (int lanes : {1, 8}) {
    std::vector<float> x(30), out(30);
    std::iota(x.begin(), x.end(), 3.0f);
    run(program, Block(program).array(x).null_array().array(out), {30}, {.lanes = lanes});
    EXPECT_EQ(out, x);
  }
}

TEST(Memory, FromPointer) {
  Program program(R"(
kernel @k(%p: u64, %n: i64, %out: array<f32,1>) form(rank 1) {
  %i = tid 0
  %a = from_ptr %p, %n, 3i64 : array<f32,2>
  %v = load %a[%i, 2i32]
  %q = data_ptr %a
  %same = eq %q, %p
  %f = cast %same : f32
  %s = add %v, %f
  store %out[%i], %s
  return
}
)");
  for (int lanes : {1, 8}) {
    std::vector<float> x(60), out(20);
    std::iota(x.begin(), x.end(), 0.0f);
    run(program, Block(program).scalar(reinterpret_cast<std::uint64_t>(x.data())).scalar(std::int64_t(20)).array(out),
        {20}, {.lanes = lanes});
    for (std::size_t k = 0; k < 20; ++k) ASSERT_EQ(out[k], float(3 * k + 2) + 1.0f);
  }
}

}  // namespace
}  // namespace weft::codegen::test
