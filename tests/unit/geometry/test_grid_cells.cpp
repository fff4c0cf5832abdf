// Points into cells: the CPU by any number of threads, and a device (the PTX runs in the fake driver's machine), against
// a sort by the definition.
#include "geometry/grid_cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "algorithms/algorithms.h"
#include "fake_driver.h"
#include "geometry/hash_grid.h"
#include "runtime/half.h"

namespace weft::geometry {
namespace {

namespace fake = cuda::fake;
using Dims = std::array<std::int32_t, 3>;

/// What a build makes.
struct Table {
  std::vector<std::uint32_t> starts;
  std::vector<std::int32_t> numbers;
  bool operator==(const Table&) const = default;
};

/// The definition: a product, floor, int32 that saturates, a remainder that is not negative.
template <class Real>
std::int64_t cell_along(Real x, double inverse, std::int32_t extent) {
  const double whole = std::floor(double(Real(x * Real(inverse))));
  const std::int64_t cell = whole != whole ? 0 : std::int64_t(std::clamp(whole, -2147483648.0, 2147483647.0));
  return ((cell % extent) + extent) % extent;
}

template <class Number>
struct Points {
  using Real = std::conditional_t<std::is_same_v<Number, double>, double, float>;
  static constexpr ScalarKind kKind = std::is_same_v<Number, double>  ? ScalarKind::f64
                                      : std::is_same_v<Number, float> ? ScalarKind::f32
                                                                      : ScalarKind::f16;
  std::vector<Number> numbers;

  explicit Points(std::size_t count, double range, unsigned seed = 3) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> along(-range, range);
    for (std::size_t i = 0; i < 3 * count; ++i) numbers.push_back(number(along(random)));
  }
  static Number number(double x) {
    if constexpr (sizeof(Number) == 2)
      return runtime::f16_from_double(x);
    else
      return Number(x);
  }
  static Real real(Number x) {
    if constexpr (sizeof(Number) == 2)
      return runtime::f16_to_float(x);
    else
      return x;
  }
  std::size_t count() const { return numbers.size() / 3; }

  CellsRequest request(const Dims& dims, double width) const {
    CellsRequest out{kKind, algorithms::address_of(numbers.data()), std::int64_t(count())};
    std::copy(dims.begin(), dims.end(), out.dims);
    out.inverse_width = 1 / width;
    return out;
  }

  Table by_definition(const Dims& dims, double width, const std::vector<std::int32_t>& order = {}) const {
    std::vector<std::int64_t> cells(count());
    for (std::size_t i = 0; i < count(); ++i) {
      std::int64_t at[3];
      for (std::size_t k = 0; k < 3; ++k) at[k] = cell_along(real(numbers[3 * i + k]), 1 / width, dims[k]);
      cells[i] = (at[2] * dims[1] + at[1]) * dims[0] + at[0];
    }
    Table table;
    table.numbers = order;
    if (order.empty()) {
      table.numbers.resize(count());
      std::iota(table.numbers.begin(), table.numbers.end(), 0);
    }
    std::stable_sort(table.numbers.begin(), table.numbers.end(),
                     [&](auto a, auto b) { return cells[std::size_t(a)] < cells[std::size_t(b)]; });
    table.starts.assign(std::size_t(dims[0]) * std::size_t(dims[1]) * std::size_t(dims[2]) + 1, 0);
    for (std::int64_t cell : cells) ++table.starts[std::size_t(cell) + 1];
    std::partial_sum(table.starts.begin(), table.starts.end(), table.starts.begin());
    return table;
  }

  Table on_host(const Dims& dims, double width, int threads, const std::vector<std::int32_t>& order = {}) const {
    Table table;
    CellsRequest r = request(dims, width);
    table.starts.assign(std::size_t(r.cell_count()) + 1, 77);
    table.numbers.assign(count(), 77);
    std::vector<std::uint32_t> cells(count());
    std::vector<std::uint64_t> pairs(count());
    r.starts = algorithms::address_of(table.starts.data());
    r.numbers = algorithms::address_of(table.numbers.data());
    r.cells = algorithms::address_of(cells.data());
    r.pairs = algorithms::address_of(pairs.data());
    r.order = order.empty() ? 0 : algorithms::address_of(order.data());
    runtime::LaunchOptions options;
    options.max_threads = threads;
    options.serial = threads == 1;
    EXPECT_TRUE(sort_into_cells(r, options));
    return table;
  }
};

TEST(Cells, TheSameForEveryNumberOfThreads) {
  const Points<float> points(70'000, 4.0);
  for (const Dims& dims : {Dims{1, 1, 1}, Dims{3, 1, 1}, Dims{16, 16, 8}, Dims{64, 32, 64}, Dims{50, 70, 90}}) {
    const Table table = points.by_definition(dims, 0.07);
    for (int threads : {1, 2, 4}) EXPECT_EQ(points.on_host(dims, 0.07, threads), table) << dims[0] << " " << threads;
  }
}

TEST(Cells, OtherKindsOfNumbers) {
  const Dims dims{20, 32, 11};
  const Points<double> doubles(3000, 9.0);
  EXPECT_EQ(doubles.on_host(dims, 0.3, 2), doubles.by_definition(dims, 0.3));
  const Points<std::uint16_t> halves(3000, 9.0);
  EXPECT_EQ(halves.on_host(dims, 0.3, 2), halves.by_definition(dims, 0.3));
}

template <class Real>
std::vector<Real> edges() {
  using Limits = std::numeric_limits<Real>;
  std::vector<Real> out = {0, -0.0, Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()};
  for (Real x : {Real(1), Real(2147483520), Real(2147483647), Real(2147483648), Real(4e9), Limits::max(), Limits::min(),
                 Limits::denorm_min(), Real(16777216), Real(0.5), Real(6), Real(7)})
    for (Real sign : {Real(1), Real(-1)})
      for (Real to : {Limits::infinity(), -Limits::infinity(), x * sign})
        out.push_back(std::nextafter(x * sign, to == x * sign ? x * sign : to));
  return out;
}

template <class Real>
Points<Real> at_edges() {
  Points<Real> points(0, 1);
  const std::vector<Real> all = edges<Real>();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = 0; k < 3; ++k) points.numbers.push_back(all[(i * (k + 1)) % all.size()]);
  return points;
}

TEST(Cells, EdgesOfNumbers) {
  for (const Dims& dims : {Dims{7, 8, 9}, Dims{8, 16, 4}, Dims{1, 2, 3}, Dims{1000, 1, 1000}})
    for (double width : {1.0, 0.5, 3.0}) {
      EXPECT_EQ(at_edges<float>().on_host(dims, width, 1), at_edges<float>().by_definition(dims, width));
      EXPECT_EQ(at_edges<double>().on_host(dims, width, 1), at_edges<double>().by_definition(dims, width));
    }
}

TEST(Cells, AllInOneCell) {
  const Points<float> points(50'000, 0.001);
  const Dims dims{128, 128, 64};
  EXPECT_EQ(points.on_host(dims, 1.0, 2), points.by_definition(dims, 1.0));
}

TEST(Cells, InAnOrder) {
  const Points<float> points(40'000, 2.0);
  std::vector<std::int32_t> order(points.count());
  std::iota(order.rbegin(), order.rend(), 0);
  const Dims dims{32, 32, 32};
  EXPECT_EQ(points.on_host(dims, 0.1, 2, order), points.by_definition(dims, 0.1, order));
}

class DeviceCells : public testing::Test {
 protected:
  cuda::System system{fake::open()};
  cuda::Device& device = system.device(0);

  template <class T>
  std::shared_ptr<T> room(std::size_t count) {
    return std::static_pointer_cast<T>(device.allocate(std::max<std::size_t>(count, 1) * sizeof(T), false));
  }

  template <class Number>
  Table build(const Points<Number>& points, const Dims& dims, double width,
              const std::vector<std::int32_t>& order = {}) {
    CellsRequest r = points.request(dims, width);
    const std::size_t n = points.count(), cells = std::size_t(r.cell_count()) + 1;
    auto there = room<Number>(3 * n);
    std::copy(points.numbers.begin(), points.numbers.end(), there.get());
    auto starts = room<std::uint32_t>(std::size_t(CellsRequest::starts_room(r.cell_count(), r.count)));
    auto numbers = room<std::int32_t>(n), given = room<std::int32_t>(n);
    std::copy(order.begin(), order.end(), given.get());
    auto scratch = room<std::uint32_t>(n);
    auto pairs = room<std::uint64_t>(n);
    const auto at = [](const auto& memory) { return algorithms::address_of(memory.get()); };
    r.points = at(there);
    r.starts = at(starts);
    r.numbers = at(numbers);
    r.cells = at(scratch);
    r.pairs = at(pairs);
    r.order = order.empty() ? 0 : at(given);
    sort_into_cells(device, r);
    return {{starts.get(), starts.get() + cells}, {numbers.get(), numbers.get() + n}};
  }
};

TEST_F(DeviceCells, TheSameAsOnTheHost) {
  const Points<float> floats(3000, 4.0);
  const Points<double> doubles(500, 4.0);
  const Points<std::uint16_t> halves(500, 4.0);
  for (const Dims& dims : {Dims{1, 1, 1}, Dims{5, 6, 7}, Dims{16, 16, 16}}) {
    EXPECT_EQ(build(floats, dims, 0.3), floats.by_definition(dims, 0.3)) << dims[0];
    EXPECT_EQ(build(doubles, dims, 0.3), doubles.by_definition(dims, 0.3)) << dims[0];
    EXPECT_EQ(build(halves, dims, 0.3), halves.by_definition(dims, 0.3)) << dims[0];
    EXPECT_EQ(build(at_edges<float>(), dims, 0.5), at_edges<float>().by_definition(dims, 0.5)) << dims[0];
    EXPECT_EQ(build(at_edges<double>(), dims, 0.5), at_edges<double>().by_definition(dims, 0.5)) << dims[0];
  }
}

TEST_F(DeviceCells, CrowdedCells) {
  Points<float> points(3000, 4.0);
  const auto crowd = [&](std::size_t first, std::size_t count, std::size_t step, float x) {
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t axis = 0; axis < 3; ++axis) points.numbers[3 * (first + i * step) + axis] = x;
  };
  crowd(0, 1200, 2, 10.1f);
  crowd(1, CellsRequest::kCrowd + 1, 2, 12.1f);
  crowd(2001, CellsRequest::kCrowd, 1, 14.1f);
  const Dims dims{16, 16, 16};
  EXPECT_EQ(build(points, dims, 0.3), points.by_definition(dims, 0.3));
  EXPECT_EQ(build(Points<float>(2000, 0.001), dims, 1.0), Points<float>(2000, 0.001).by_definition(dims, 1.0));
}

TEST_F(DeviceCells, ByGroups) {
  const Points<float> points(700, 2.0);
  auto groups = room<std::int32_t>(700), order = room<std::int32_t>(700), sorted = room<std::int32_t>(700);
  auto spare_order = room<std::int32_t>(700), spare_sorted = room<std::int32_t>(700);
  for (int i = 0; i < 700; ++i) groups.get()[i] = (i * 37) % 5 - 2;
  const auto at = [](const auto& memory) { return algorithms::address_of(memory.get()); };
  order_by_group(device, {at(groups), at(order), at(sorted), at(spare_order), at(spare_sorted), 700});
  std::vector<std::int32_t> expected(700);
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(expected.begin(), expected.end(), [&](int a, int b) { return groups.get()[a] < groups.get()[b]; });
  const std::vector<std::int32_t> found(order.get(), order.get() + 700);
  EXPECT_EQ(found, expected);
  const Dims dims{4, 4, 4};
  const Table table = build(points, dims, 0.5, found);
  EXPECT_EQ(table, points.by_definition(dims, 0.5, found));
  std::copy(table.numbers.begin(), table.numbers.end(), order.get());
  gather_groups(device, at(groups), at(order), at(sorted), 700);
  for (int i = 0; i < 700; ++i) EXPECT_EQ(sorted.get()[i], groups.get()[table.numbers[std::size_t(i)]]);
}

TEST_F(DeviceCells, GridsOnDevices) {
  auto grid = HashGrid::make({4, 4, 4}, ScalarKind::f32, &device);
  const auto* slot = reinterpret_cast<const GridDescriptor*>(grid->id());
  EXPECT_EQ(slot->point_count, 0u);
  const Points<float> points(300, 2.0);
  const runtime::Array there = runtime::Array::empty(types::vec(types::f32(), 3), {300}, false, &device);
  std::memcpy(there.data(), points.numbers.data(), points.numbers.size() * 4);
  const runtime::Array groups = runtime::Array::empty(types::i32(), {300}, false, &device);
  std::fill_n(static_cast<std::int32_t*>(groups.data()), 300, 4);
  for (const runtime::Array* of : {static_cast<const runtime::Array*>(nullptr), &groups}) {
    grid->build(there, 0.5, of);
    const Table expected = points.by_definition({4, 4, 4}, 0.5);
    EXPECT_EQ(slot->point_count, 300u);
    EXPECT_EQ(slot->header.kind, std::uint32_t(HandleKind::hash_grid));
    EXPECT_EQ(slot->groups != 0, of != nullptr);
    EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(slot->points), expected.numbers.data(), 1200), 0);
    EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(slot->starts), expected.starts.data(), 65 * 4), 0);
  }
}

TEST(HashGrids, WhatIsRefused) {
  EXPECT_THROW(HashGrid::make({0, 1, 1}, ScalarKind::f32, nullptr), runtime::ArgumentError);
  EXPECT_THROW(HashGrid::make({1 << 11, 1 << 10, 1 << 10}, ScalarKind::f32, nullptr), runtime::ArgumentError);
  auto grid = HashGrid::make({2, 2, 2}, ScalarKind::f32, nullptr);
  const runtime::Array points = runtime::Array::empty(types::vec(types::f32(), 3), {4});
  const runtime::Array doubles = runtime::Array::empty(types::vec(types::f64(), 3), {4});
  EXPECT_THROW(grid->build(doubles, 1.0, nullptr), runtime::ArgumentError);
  EXPECT_THROW(grid->build(points, 0.0, nullptr), runtime::ArgumentError);
  EXPECT_THROW(grid->build(points, 1.0, &doubles), runtime::ArgumentError);
  EXPECT_THROW(grid->reserve(std::int64_t(1) << 31, false), runtime::ArgumentError);
}

}  // namespace
}  // namespace weft::geometry
