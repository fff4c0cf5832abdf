// Sums, prefix sums and sorting on devices: the PTX runs in the fake driver's machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "algorithms/algorithms.h"
#include "algorithms/gpu/kernels.h"
#include "cuda/graph.h"
#include "fake_driver.h"
#include "runtime/half.h"

namespace weft::algorithms::gpu {
namespace {

using cuda::System, cuda::DriverError;
namespace fake = cuda::fake;

class Algorithms : public testing::Test {
 protected:
  System system{fake::open()};
  cuda::Device& device = system.device(0);
  std::mt19937_64 random{7};

  /// Device memory with these numbers; in the fake driver it is the host's.
  template <class T>
  std::shared_ptr<T> there(const std::vector<T>& values, std::size_t room = 0) {
    std::shared_ptr<void> memory = device.allocate(std::max(values.size(), room) * sizeof(T), false);
    std::copy(values.begin(), values.end(), static_cast<T*>(memory.get()));
    return std::static_pointer_cast<T>(memory);
  }
  template <class T>
  static DevicePtr at(const std::shared_ptr<T>& memory, std::size_t offset = 0) {
    return reinterpret_cast<DevicePtr>(memory.get() + offset);
  }

  template <class T>
  std::vector<T> numbers(std::size_t n) {
    std::vector<T> out(n);
    for (T& x : out) x = T(std::int64_t(random() % 201) - 100);
    return out;
  }

  template <class T>
  void check_scan(ScalarKind kind, std::size_t n) {
    const std::vector<T> values = numbers<T>(n);
    auto in = there(values);
    auto out = there(std::vector<T>(n + 1, T(77)));
    std::vector<T> expected(n);
    for (bool inclusive : {true, false}) {
      scan(device, {kind, at(in), at(out), sizeof(T), sizeof(T), std::int64_t(n), inclusive});
      if (inclusive)
        std::inclusive_scan(values.begin(), values.end(), expected.begin());
      else
        std::exclusive_scan(values.begin(), values.end(), expected.begin(), T(0));
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out.get())) << n << " " << inclusive;
      EXPECT_EQ(out.get()[n], T(77));
    }
  }

  template <class K, class V>
  void check_sort(ScalarKind kind, std::vector<K> keys, int begin = 0, int end = int(sizeof(K)) * 8,
                  const SortShape* shape = nullptr) {
    const std::size_t n = keys.size();
    std::vector<V> values(n);
    std::iota(values.begin(), values.end(), V(5));
    auto k = there(keys, 2 * n);
    auto v = there(values, 2 * n);
    const SortRequest request{kind, sizeof(V), at(k), at(v), at(k, n), at(v, n), std::int64_t(n), begin, end};
    shape ? sort_by(device, request, *shape) : sort(device, request);
    auto bits = [&](K key) {
      using U = std::conditional_t<sizeof(K) == 8, std::uint64_t, std::uint32_t>;
      U u;
      std::memcpy(&u, &key, sizeof u);
      const U sign = U(1) << (8 * sizeof(U) - 1);
      if constexpr (std::is_floating_point_v<K>)
        u = u & sign ? U(~u) : U(u | sign);
      else if constexpr (std::is_signed_v<K>)
        u ^= sign;
      u >>= begin;
      return end - begin == 8 * int(sizeof(U)) ? u : U(u & ((U(1) << (end - begin)) - 1));
    };
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return std::pair(bits(keys[a]), a) < std::pair(bits(keys[b]), b); });
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(std::memcmp(&k.get()[i], &keys[order[i]], sizeof(K)), 0) << i << " of " << n;
      ASSERT_EQ(v.get()[i], values[order[i]]) << i << " of " << n;
    }
  }
};

TEST_F(Algorithms, PrefixSumsOfAllLengths) {
  for (std::size_t n : {1, 2, 31, 33, 512, 4095, 4096, 4097, 9000}) check_scan<std::int32_t>(ScalarKind::i32, n);
}

TEST_F(Algorithms, PrefixSumsOfAllKinds) {
  check_scan<std::uint32_t>(ScalarKind::u32, 5000);
  check_scan<std::int64_t>(ScalarKind::i64, 5000);
  check_scan<std::uint64_t>(ScalarKind::u64, 5000);
  check_scan<float>(ScalarKind::f32, 5000);
  check_scan<double>(ScalarKind::f64, 5000);
}

TEST_F(Algorithms, PrefixSumsOfMemoryThatIsNotAligned) {
  const std::vector<std::int32_t> values = numbers<std::int32_t>(5001);
  auto in = there(values);
  auto out = there(std::vector<std::int32_t>(5001));
  for (bool inclusive : {true, false}) {
    scan(device, {ScalarKind::i32, at(in, 1), at(out), 4, 4, 5000, inclusive});
    std::vector<std::int32_t> expected(5000);
    if (inclusive)
      std::inclusive_scan(values.begin() + 1, values.end(), expected.begin());
    else
      std::exclusive_scan(values.begin() + 1, values.end(), expected.begin(), 0);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out.get()));
  }
}

TEST_F(Algorithms, SumsOfPackedNumbers) {
  for (std::size_t n : {1, 3, 4, 5, 1023, 1024, 4099, 40001}) {
    const std::vector<float> values = numbers<float>(n + 1);
    auto in = there(values);
    auto out = there(std::vector<float>(2, -7.0f));
    for (std::size_t from : {0, 1}) {  // aligned, and not
      double sum_of = 0, squares = 0;
      for (std::size_t i = 0; i < n; ++i) {
        sum_of += values[from + i];
        squares += double(values[from + i]) * values[from + i];
      }
      sum(device, {ScalarKind::f32, at(in, from), 0, at(out), 1, std::int64_t(n), 1});
      EXPECT_EQ(out.get()[0], float(sum_of)) << n << " " << from;
      sum(device, {ScalarKind::f32, at(in, from), at(in, from), at(out), 1, std::int64_t(n), 1});
      EXPECT_NEAR(out.get()[0], squares, squares * 1e-6) << n << " " << from;
      EXPECT_EQ(out.get()[1], -7.0f);
    }
  }
}

TEST_F(Algorithms, PrefixSumsOfHalves) {
  std::vector<std::uint16_t> values(100, runtime::f16_from_double(0.5));
  auto in = there(values);
  scan(device, {ScalarKind::f16, at(in), at(in), 2, 2, 100, true});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(runtime::f16_to_float(in.get()[i]), 0.5f * float(i + 1));
}

TEST_F(Algorithms, PrefixSumsWithStrides) {
  const std::vector<double> values = numbers<double>(3 * 4100);
  auto in = there(values);
  auto out = there(std::vector<double>(2 * 4100, -1.0));
  scan(device, {ScalarKind::f64, at(in, 1), at(out), 24, 16, 4100, true});
  double sum = 0;
  for (std::size_t i = 0; i < 4100; ++i) {
    sum += values[3 * i + 1];
    ASSERT_EQ(out.get()[2 * i], sum);
    ASSERT_EQ(out.get()[2 * i + 1], -1.0);
  }
}

TEST_F(Algorithms, SortsOfAllLengths) {
  for (std::size_t n : {1, 33, 4095, 4097})
    check_sort<std::int32_t, std::int32_t>(ScalarKind::i32, numbers<std::int32_t>(n));
}

TEST_F(Algorithms, SortsOfAllKinds) {
  auto bits = [&](auto zero) {
    std::vector<decltype(zero)> out(700);
    for (auto& x : out) {
      const std::uint64_t u = random();
      std::memcpy(&x, &u, sizeof x);
    }
    out[17] = out[18] = out[640] = zero;
    return out;
  };
  check_sort<std::uint32_t, std::int32_t>(ScalarKind::u32, bits(std::uint32_t(0)));
  check_sort<std::int64_t, std::int64_t>(ScalarKind::i64, bits(std::int64_t(0)));
  check_sort<std::uint64_t, std::int32_t>(ScalarKind::u64, bits(std::uint64_t(0)));
  check_sort<float, std::int32_t>(ScalarKind::f32, bits(-0.0f));  // infinities, not-a-number and subnormals among them
  check_sort<double, std::int64_t>(ScalarKind::f64, bits(0.0));
}

TEST_F(Algorithms, SortsAreStableAndTakeSomeBits) {
  check_sort<std::int32_t, std::int64_t>(ScalarKind::i32, std::vector<std::int32_t>(5000, 3));
  std::vector<std::uint32_t> keys(5000);
  for (auto& x : keys) x = std::uint32_t(random());
  check_sort<std::uint32_t, std::int32_t>(ScalarKind::u32, keys, 4, 15);  // two passes
  check_sort<std::uint32_t, std::int32_t>(ScalarKind::u32, keys, 3, 8);   // one: the pairs come back from the scratch
  check_sort<std::uint32_t, std::int32_t>(ScalarKind::u32, keys, 7, 7);
  std::sort(keys.begin(), keys.end());
  check_sort<std::uint32_t, std::int32_t>(ScalarKind::u32, keys);
}

TEST_F(Algorithms, SortsOfManyTiles) {
  std::vector<std::uint32_t> keys(20 * 2048 + 5);
  for (auto& x : keys) x = std::uint32_t(random() % 50);
  check_sort<std::uint32_t, std::int32_t>(ScalarKind::u32, keys, 0, 6);
}

TEST_F(Algorithms, SortsOfEveryShape) {
  std::vector<std::uint32_t> keys(9000);
  for (auto& x : keys) x = std::uint32_t(random());
  for (SortShape shape : {SortShape{256, 5}, {384, 9}, {512, 3}, {256, 5, false}, {288, 6, true, true}})
    check_sort<std::uint32_t, std::int32_t>(ScalarKind::u32, keys, 20, 32, &shape);
}

TEST_F(Algorithms, SortsOfKeysAlone) {
  for (std::size_t n : {1, 5000}) {
    std::vector<float> keys(n);
    for (auto& x : keys) x = float(random() % 1000) - 500.0f;
    auto k = there(keys, 2 * n);
    sort(device, {ScalarKind::f32, 0, at(k), 0, at(k, n), 0, std::int64_t(n), 0, 32});
    std::sort(keys.begin(), keys.end());
    EXPECT_TRUE(std::equal(keys.begin(), keys.end(), k.get()));
  }
}

TEST_F(Algorithms, NumbersInTheOrderOfKeys) {
  // Odd and even numbers of passes, none at all, parts of tiles and several of them; the sort of pairs is the reference.
  for (const std::size_t n : {std::size_t(1), std::size_t(700), std::size_t(5000)})
    for (const int bits : {0, 3, 8, 14, 18, 32}) {
      std::vector<std::uint32_t> keys(n), garbage(2 * n, 0xDEADBEEF);
      for (std::size_t i = 0; i < n; ++i)
        keys[i] = std::uint32_t(i * 2654435761u) >> (32 - std::max(bits, 1)) & (bits ? ~0u : 0u);
      auto k = there(garbage, 2 * n);
      auto v = there(garbage, 2 * n);
      const SortRequest request{ScalarKind::u32, 4, at(k), at(v), at(k, n), at(v, n), std::int64_t(n), 0, bits};
      std::copy(keys.begin(), keys.end(), k.get() + (keys_of_numbers(request) == at(k) ? 0 : n));
      sort_numbers(device, request);
      std::vector<std::uint32_t> order(n);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_EQ(v.get()[i], order[i]) << i << " of " << n << ", " << bits << " bits";
    }
}

TEST_F(Algorithms, SortsWithinSegments) {
  // Segments of all lengths, in any order, some of them empty or cut, and gaps between them.
  const std::vector<std::int32_t> begins = {900, 0, 5, 5, 2000, 1200, -7}, ends = {1200, 5, 5, 700, 9999, 1201, 0};
  const std::size_t n = 2500;
  std::vector<std::int32_t> keys = numbers<std::int32_t>(n), values(n);
  std::iota(values.begin(), values.end(), 0);
  auto first = there(begins), last = there(ends);
  for (bool some_bits : {false, true}) {
    auto k = there(keys, 2 * n), v = there(values, 2 * n);
    sort_segments(
        device,
        {ScalarKind::i32, 4, at(k), at(v), at(k, n), at(v, n), std::int64_t(n), some_bits ? 3 : 0, some_bits ? 20 : 32},
        {at(first), at(last), std::int64_t(begins.size())});
    auto order = values;
    for (std::size_t s = 0; s < begins.size(); ++s)
      std::stable_sort(order.begin() + std::max(begins[s], 0), order.begin() + std::min(ends[s], std::int32_t(n)),
                       [&](auto a, auto b) {
                         const auto bits = [&](std::int32_t i) {
                           const auto u = std::uint32_t(keys[std::size_t(i)]) ^ 0x80000000u;
                           return some_bits ? (u >> 3) & 0x1FFFF : u;
                         };
                         return bits(a) < bits(b);
                       });
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(v.get()[i], order[i]) << i;
      ASSERT_EQ(k.get()[i], keys[std::size_t(order[i])]) << i;
    }
  }
  EXPECT_THROW(sort_segments(device, {ScalarKind::i64, 4, 0, 0, 0, 0, 5, 0, 64}, {at(first), at(last), 1}),
               runtime::ArgumentError);
}

TEST_F(Algorithms, RunsOfEqualValues) {
  for (std::size_t n : {0, 1, 31, 2048, 2049, 7'000}) {
    for (int range : {1, 2, 1000}) {
      std::vector<double> values(n);
      double value = 0;
      for (auto& x : values) x = value = random() % std::uint64_t(range) ? value + 1 : value;
      std::vector<double> runs_of;
      std::vector<std::int32_t> lengths_of;
      for (std::size_t i = 0; i < n; ++i) {
        if (i == 0 || values[i] != values[i - 1]) {
          runs_of.push_back(values[i]);
          lengths_of.push_back(0);
        }
        ++lengths_of.back();
      }
      auto in = there(values, 1), out = there(std::vector<double>(n + 1, -5.0));
      auto lengths = there(std::vector<std::int32_t>(n + 1, -5)), found = there(std::vector<std::int32_t>(1, -1));
      runs(device, {ScalarKind::f64, at(in), at(out), at(lengths), std::int64_t(n), at(found)});
      ASSERT_EQ(*found, std::int32_t(runs_of.size())) << n << " " << range;
      EXPECT_TRUE(std::equal(runs_of.begin(), runs_of.end(), out.get()));
      EXPECT_TRUE(std::equal(lengths_of.begin(), lengths_of.end(), lengths.get()));
      EXPECT_EQ(lengths.get()[runs_of.size()], -5);
      EXPECT_EQ(out.get()[runs_of.size()], -5.0);
    }
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  auto in = there(std::vector<float>{nan, nan, 0.0f, -0.0f}), out = there(std::vector<float>(4));
  auto found = there(std::vector<std::int32_t>(1));
  runs(device, {ScalarKind::f32, at(in), at(out), 0, 4, at(found)});
  EXPECT_EQ(*found, 3);  // not-a-numbers are equal to nothing, zeros to each other
}

TEST_F(Algorithms, Histograms) {
  const auto check = [&]<class T>(ScalarKind kind, T, int bins, double lower, double upper) {
    const std::vector<T> values = numbers<T>(3000);
    auto in = there(values);
    auto counts = there(std::vector<std::int32_t>(std::size_t(bins) + 1, 9));
    histogram(device, {kind, at(in), at(counts), 3000, bins, lower, upper});
    std::vector<std::int32_t> expected(static_cast<std::size_t>(bins));
    ASSERT_TRUE(
        host::histogram({kind, address_of(values.data()), address_of(expected.data()), 3000, bins, lower, upper}));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), counts.get())) << bins;
    EXPECT_EQ(counts.get()[bins], 9);
  };
  check(ScalarKind::i32, std::int32_t(), 7, -50, 60);
  check(ScalarKind::u32, std::uint32_t(), 100, 0, 4294967295.0);
  check(ScalarKind::f32, float(), 300, -100, 100);
  check(ScalarKind::f64, double(), 10'000, -99.5, 3);
  check(ScalarKind::i64, std::int64_t(), 1, -20, 20);
  check(ScalarKind::u64, std::uint64_t(), 9'000, 0, 101);
}

TEST_F(Algorithms, OrdersAndGathers) {
  auto order = there(std::vector<std::int32_t>(1000));
  count_up(device, at(order), 1000);
  EXPECT_EQ(order.get()[999], 999);
  std::reverse(order.get(), order.get() + 1000);
  for (std::size_t bytes : {1, 2, 3, 4, 12, 16}) {  // elements of so many bytes, 20 apart
    std::vector<unsigned char> from(20 * 1000);
    for (auto& x : from) x = static_cast<unsigned char>(random());
    auto source = there(from), to = there(std::vector<unsigned char>(bytes * 1000));
    gather(device, {at(to), at(source), at(order), 1000, std::int64_t(bytes), 20});
    for (std::size_t i = 0; i < 1000; ++i)
      ASSERT_EQ(std::memcmp(to.get() + bytes * i, from.data() + 20 * (999 - i), bytes), 0) << bytes << " " << i;
  }
}

TEST_F(Algorithms, SumsOfIntegers) {
  const std::vector<std::int64_t> values = numbers<std::int64_t>(5003);
  auto in = there(values), out = there(std::vector<std::int64_t>(3));
  for (bool product : {false, true})
    for (std::int64_t inner : {1, 3}) {
      const std::int64_t length = inner == 1 ? 5003 : 1667;
      sum(device, {ScalarKind::i64, at(in), product ? at(in) : 0, at(out), 1, length, inner});
      for (std::int64_t c = 0; c < inner; ++c) {
        std::int64_t expected = 0;
        for (std::int64_t i = 0; i < length; ++i) {
          const std::int64_t x = values[std::size_t(i * inner + c)];
          expected += product ? x * x : x;
        }
        EXPECT_EQ(out.get()[c], expected);
      }
    }
}

TEST_F(Algorithms, PrefixSumsOfManyTiles) {
  // More tiles than a row of them has (tile_prefix.h), which is 1024; sums of 4 bytes and of 8.
  const auto check = [&]<class T>(ScalarKind kind, T) {
    const ScanShape shape{32, 16};
    const std::size_t n = 1030 * std::size_t(32 * scan_items(shape, kind)) + 9;
    auto in = there(std::vector<T>(n, 3)), out = there(std::vector<T>(n));
    scan_by(device, {kind, at(in), at(out), sizeof(T), sizeof(T), std::int64_t(n), true}, shape);
    for (std::size_t i = 0; i < n; i += 11) ASSERT_EQ(out.get()[i], T(3 * (i + 1)));
  };
  check(ScalarKind::i32, std::int32_t());
  check(ScalarKind::i64, std::int64_t());
}

TEST_F(Algorithms, SumsAlongEveryDimension) {
  for (auto [outer, length, inner] : {std::array<int, 3>{1, 1, 1},
                                      {1, 20000, 1},
                                      {1, 9000, 3},
                                      {3, 700, 1},
                                      {1, 300, 40},
                                      {50, 7, 3},
                                      {2, 0, 5},
                                      {1, 3000, 33}}) {
    const std::vector<double> values = numbers<double>(std::size_t(outer) * std::size_t(length) * std::size_t(inner));
    auto in = there(values, 1);
    auto out = there(std::vector<double>(std::size_t(outer * inner), -7.0));
    for (bool product : {false, true}) {
      sum(device, {ScalarKind::f64, at(in), product ? at(in) : 0, at(out), outer, length, inner});
      for (int o = 0; o < outer; ++o)
        for (int i = 0; i < inner; ++i) {
          double expected = 0;
          for (int l = 0; l < length; ++l) {
            const double x =
                values[(std::size_t(o) * std::size_t(length) + std::size_t(l)) * std::size_t(inner) + std::size_t(i)];
            expected += product ? x * x : x;
          }
          ASSERT_EQ(out.get()[o * inner + i], expected) << outer << " " << length << " " << inner;
        }
    }
  }
}

TEST_F(Algorithms, SumsOfSmallFloatsAreKeptInFloat32) {
  for (ScalarKind kind : {ScalarKind::f16, ScalarKind::bf16}) {
    const bool half = kind == ScalarKind::f16;
    auto stored = [&](double x) { return half ? runtime::f16_from_double(x) : runtime::bf16_from_double(x); };
    std::vector<std::uint16_t> values(20000, stored(0.125));
    auto in = there(values);
    auto out = there(std::vector<std::uint16_t>(1));
    sum(device, {kind, at(in), 0, at(out), 1, 20000, 1});
    EXPECT_EQ(*out, stored(2500.0)) << half;
    sum(device, {kind, at(in), 0, at(out), 1, 1001, 1});
    EXPECT_EQ(*out, stored(1001 * 0.125)) << half;  // rounded once
  }
}

TEST_F(Algorithms, NothingWaitsAndScratchIsGivenBack) {
  auto keys = there(numbers<std::int32_t>(10000));
  auto values = there(numbers<std::int32_t>(10000));
  const int waits = fake::state().count("stream_synchronize") + fake::state().count("context_synchronize");
  const std::size_t blocks = fake::state().blocks.size();
  sort(device, {ScalarKind::i32, 4, at(keys), at(values), at(keys, 5000), at(values, 5000), 5000, 0, 32});
  sum(device, {ScalarKind::f32, at(keys), 0, at(values), 1, 10000, 1});
  EXPECT_EQ(fake::state().count("stream_synchronize") + fake::state().count("context_synchronize"), waits);
  EXPECT_EQ(fake::state().blocks.size(), blocks);
}

TEST_F(Algorithms, FailuresAreErrors) {
  auto keys = there(numbers<std::int32_t>(100));
  fake::state().failing["launch"] = 999;
  EXPECT_THROW(scan(device, {ScalarKind::i32, at(keys), at(keys), 4, 4, 100, true}), DriverError);
  fake::state().failing.clear();
  EXPECT_THROW(sort(device, {ScalarKind::i32, 4, 0, 0, 0, 0, std::int64_t(1) << 33, 0, 32}), runtime::ArgumentError);
  EXPECT_NO_THROW(scan(device, {ScalarKind::i32, at(keys), at(keys), 4, 4, 100, true}));
}

}  // namespace
}  // namespace weft::algorithms::gpu
