// Elements found through an array of indices: read, written and added to at all lanes, with negative indices and lanes
// that meet, for every number of components whose neighbours may go in pairs.
#include "harness.h"

#include "analysis/private_sums.h"

namespace weft::codegen::test {
namespace {

/// Indices of all kinds, those of neighbours around the end, and these with strays that split groups.
enum class Order { mixed, neighbours, strays };

std::int32_t index_of(Order order, int i, int n) {
  if (order == Order::mixed) return i % 5 == 0 ? -1 - i : i % 7 == 1 ? 11 : (i * 19) % n;
  if (order == Order::strays && i % 53 == 52) return 11;
  return (i + 50) % n;
}

/// y[i] = x[at[i]], z[at[i]] = x[i] and sum[at[i]] += x[i].
template <class T>
void check_order(const std::string& scalar, int components, Order order) {
  const std::string array = "array<vec<" + scalar + "," + std::to_string(components) + ">,1>";
  Program program("kernel @k(%x: " + array + ", %y: " + array + ", %z: " + array + ", %sum: " + array +
                  ", %at: array<i32,1>) form(no_overlap, rank 1) {\n"
                  "  %i = tid 0\n"
                  "  %j = load %at[%i]\n"
                  "  %v = load %x[%j~]\n"
                  "  store %y[%i], %v\n"
                  "  %w = load %x[%i]\n"
                  "  store %z[%j~], %w\n"
                  "  %o = atomic add %sum[%j~], %w\n"
                  "  return\n}\n");
  ASSERT_EQ(analysis::mark_private_sums(*program.module->functions.back()).size(), 1u);
  const int n = 301;  // several times what waits at once
  const auto size = std::size_t(components);
  std::vector<T> x(n * size);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = T(int(k * 37 % 101) - 50);
  std::vector<std::int32_t> at(n);
  for (int i = 0; i < n; ++i) at[std::size_t(i)] = index_of(order, i, n);
  // What threads one after the other would leave; all numbers are small integers, so that sums are exact.
  std::vector<T> y(n * size), z(n * size, T(-1)), sum(n * size, T(3));
  for (int i = 0; i < n; ++i)
    for (int c = 0; c < components; ++c) {
      const int j = at[std::size_t(i)] < 0 ? at[std::size_t(i)] + n : at[std::size_t(i)];
      const auto here = std::size_t(i * components + c), there = std::size_t(j * components + c);
      y[here] = x[there];
      z[there] = x[here];
      sum[there] = T(sum[there] + x[here]);
    }
  for (int lanes : {1, 2, 4, 8, 16, 32}) {
    std::vector<T> y1(n * size), z1(n * size, T(-1)), sum1(n * size, T(3));
    run(program, Block(program).array(x, {n}).array(y1, {n}).array(z1, {n}).array(sum1, {n}).array(at), {n},
        {.lanes = lanes});
    ASSERT_EQ(y1, y) << array << ", " << lanes << " lanes";
    ASSERT_EQ(z1, z) << array << ", " << lanes << " lanes";
    ASSERT_EQ(sum1, sum) << array << ", " << lanes << " lanes";
  }
}

template <class T>
void check(const std::string& scalar, int components) {
  for (Order order : {Order::mixed, Order::neighbours, Order::strays}) check_order<T>(scalar, components, order);
}

/// Two additions to one array, to a vector's part and under a condition of the launch, in thread order at one lane.
TEST(Indexed, AdditionsThatWait) {
  Program program(
      R"(kernel @k(%sum: array<vec<f32,3>,1>, %at: array<vec<i32,2>,1>, %x: array<f32,1>, %also: bool) form(no_overlap, rank 1) {
  %i = tid 0
  %e = load %at[%i]
  %a = extract %e[0]
  %b = extract %e[1]
  %v = load %x[%i]
  %o = atomic add %sum[%a][1], %v
  if %also {
    %w = construct vec<f32,3> %v, %v, %v
    %p = atomic add %sum[%b~], %w
    yield
  } else {
    yield
  }
  return
}
)");
  ASSERT_EQ(analysis::mark_private_sums(*program.module->functions.back()).size(), 1u);
  const int n = 301, points = 40;
  std::vector<std::int32_t> at;
  std::vector<float> x;
  for (int i = 0; i < n; ++i) {
    at.insert(at.end(), {i % points, i * 7 % points - points});
    x.push_back(float(i % 13 - 6));
  }
  for (bool also : {false, true}) {
    std::vector<float> want(3 * points, 2);
    for (int i = 0; i < n; ++i) {
      want[std::size_t(3 * at[std::size_t(2 * i)] + 1)] += x[std::size_t(i)];
      for (int c = 0; c < 3 && also; ++c)
        want[std::size_t(3 * (at[std::size_t(2 * i + 1)] + points) + c)] += x[std::size_t(i)];
    }
    for (int lanes : {1, 4, 8, 16}) {
      std::vector<float> sum(3 * points, 2);
      run(program, Block(program).array(sum, {points}).array(at, {n}).array(x).scalar(also), {n}, {.lanes = lanes});
      ASSERT_EQ(sum, want) << lanes << " lanes";
    }
  }
}

/// Adjoints of stencils: lanes add to the elements around their own, those at the ends don't.
template <class T>
void check_around(const std::string& scalar, int components) {
  const std::string element = components == 1 ? scalar : "vec<" + scalar + "," + std::to_string(components) + ">";
  Program program("kernel @k(%x: array<" + element + ",1>, %sum: array<" + element +
                  ",1>) form(no_overlap, rank 1) {\n"
                  "  %i = tid 0\n"
                  "  %n = dim %x, 0 : i32\n"
                  "  %last = sub %n, 1i32\n"
                  "  %before = sub %i, 1i32\n"
                  "  %behind = add %i, 1i32\n"
                  "  %first = eq %i, 0i32\n"
                  "  %end = eq %i, %last\n"
                  "  %out = bit_or %first, %end\n"
                  "  if %out {\n    yield\n  } else {\n"
                  "    %v = load %x[%i]\n"
                  "    %a = atomic add %sum[%before~], %v\n"
                  "    %b = atomic add %sum[%behind~], %v\n"
                  "    %c = atomic add %sum[%i], %v\n"
                  "    yield\n  }\n"
                  "  return\n}\n");
  ASSERT_EQ(analysis::mark_private_sums(*program.module->functions.back()).size(), 1u);
  const int n = 203;
  const auto size = std::size_t(components);
  std::vector<T> x(n * size), want(n * size, T(3));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = T(int(k * 37 % 101) - 50);
  for (int i = 1; i + 1 < n; ++i)
    for (int j : {i - 1, i + 1, i})
      for (std::size_t c = 0; c < size; ++c) want[std::size_t(j) * size + c] += x[std::size_t(i) * size + c];
  for (int lanes : {1, 2, 4, 8, 16}) {
    std::vector<T> sum(n * size, T(3));
    run(program, Block(program).array(x, {n}).array(sum, {n}), {n}, {.lanes = lanes});
    ASSERT_EQ(sum, want) << element << ", " << lanes << " lanes";
  }
}

TEST(Indexed, AdditionsAroundTheOwnElement) {
  for (int components : {1, 2, 3, 4}) check_around<float>("f32", components);
  check_around<double>("f64", 1);
  check_around<std::int32_t>("i32", 3);
  check_around<std::int64_t>("i64", 1);
}

/// Steps of two, backwards, and a column of rows whose distance is known at run time alone: rows may be one and the same.
TEST(Indexed, AdditionsToElementsApart) {
  Program program(
      R"(kernel @k(%x: array<f32,1>, %pairs: array<f32,1>, %back: array<f32,1>, %rows: array<f32,2>) form(no_overlap, rank 1) {
  %i = tid 0
  %n = dim %x, 0 : i32
  %v = load %x[%i]
  %two = mul %i, 2i32
  %last = sub %n, 1i32
  %from = sub %last, %i
  %d = atomic add %back[%from], %v
  %e = atomic add %rows[%i, 2i32], %v
  %small = lt %v, 20.0f32
  if %small {
    %a = atomic add %pairs[%two], %v
    %b = atomic add %rows[%i, 0i32], %v
    yield
  } else {
    yield
  }
  return
}
)");
  ASSERT_EQ(analysis::mark_private_sums(*program.module->functions.back()).size(), 3u);
  const int n = 203, width = 3;
  std::vector<float> x(n);
  for (int i = 0; i < n; ++i) x[std::size_t(i)] = float(i * 37 % 101 - 50);
  for (std::int64_t step : {width * 4, 0}) {
    std::vector<float> pairs(2 * n, 3), back(n, 3), rows(n * width, 3);
    for (int i = 0; i < n; ++i) {
      const float v = x[std::size_t(i)];
      const auto row = std::size_t(i * step / 4);
      back[std::size_t(n - 1 - i)] += v;
      rows[row + 2] += v;
      if (v >= 20) continue;
      pairs[std::size_t(2 * i)] += v;
      rows[row] += v;
    }
    for (int lanes : {1, 2, 4, 8, 16}) {
      std::vector<float> pairs1(2 * n, 3), back1(n, 3), rows1(n * width, 3);
      Block block(program);
      block.array(x).array(pairs1).array(back1).array(rows1, {n, width}, {step, 4});
      run(program, block, {n}, {.lanes = lanes});
      ASSERT_EQ(pairs1, pairs) << lanes << " lanes";
      ASSERT_EQ(back1, back) << lanes << " lanes";
      ASSERT_EQ(rows1, rows) << lanes << " lanes, step " << step;
    }
  }
}

/// Additions to a thread's own memory are read at once.
TEST(Indexed, PrivateAdditionsDoNotWait) {
  Program program(R"(kernel @k(%x: array<vec<f32,2>,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %own = local : array<vec<f32,2>,1> [3]
  %j = rem %i, 3i32
  %v = load %x[%i]
  %o = atomic add %own[%j], %v
  %p = atomic add %own[%j], %v
  %w = load %own[%j]
  store %x[%i], %w
  return
}
)");
  for (int lanes : {1, 4, 8, 16}) {
    std::vector<float> x(202);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = float(k);
    run(program, Block(program).array(x, {101}), {101}, {.lanes = lanes});
    for (std::size_t k = 0; k < x.size(); ++k) ASSERT_EQ(x[k], float(2 * k)) << lanes << " lanes";
  }
}

TEST(Indexed, Floats) {
  for (int components : {2, 3, 4, 7}) check<float>("f32", components);
}

TEST(Indexed, Doubles) { check<double>("f64", 3); }

TEST(Indexed, Integers) {
  check<std::int32_t>("i32", 3);
  check<std::uint32_t>("u32", 2);
  check<std::int64_t>("i64", 3);
  check<std::int16_t>("i16", 4);
}

}  // namespace
}  // namespace weft::codegen::test
