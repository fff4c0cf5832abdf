// The algorithms on the CPU against plain loops: random numbers, corner cases, and the same bytes for every number of
// threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "algorithms/host/host.h"
#include "runtime/half.h"
#include "runtime/scheduler.h"

namespace weft::algorithms::host {
namespace {

constexpr int kThreadCounts[] = {1, 2, 3, 8};

class HostAlgorithms : public testing::Test {
 protected:
  ~HostAlgorithms() override { runtime::set_thread_limit(0); }
  std::mt19937_64 random{11};

  /// Any bits: infinities, not-a-numbers and subnormals among them.
  template <class T>
  std::vector<T> any_bits(std::size_t n) {
    std::vector<T> out(n);
    for (T& x : out) {
      const std::uint64_t u = random();
      std::memcpy(&x, &u, sizeof x);
    }
    return out;
  }
  template <class T>
  std::vector<T> small_numbers(std::size_t n) {
    std::vector<T> out(n);
    for (T& x : out) x = T(std::int64_t(random() % 201) - 100);
    return out;
  }
  static std::vector<float> fractions(std::size_t n) {
    std::vector<float> out(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = 1.0f / float(i % 1001 + 1);
    return out;
  }

  /// Runs `work`, which gives bytes, for several numbers of threads; they must agree.
  template <class Work>
  void check_threads(const Work& work) {
    runtime::set_thread_limit(1);
    const auto first = work();
    for (int threads : kThreadCounts) {
      runtime::set_thread_limit(threads);
      const auto other = work();
      ASSERT_EQ(first.size(), other.size());
      ASSERT_EQ(std::memcmp(first.data(), other.data(), first.size() * sizeof first[0]), 0) << threads;
    }
  }

  template <class K>
  static auto bits_of(K key, int begin, int end) {
    using U = std::conditional_t<sizeof(K) == 8, std::uint64_t, std::uint32_t>;
    U u;
    std::memcpy(&u, &key, sizeof u);
    const U sign = U(1) << (8 * sizeof(U) - 1);
    if constexpr (std::is_floating_point_v<K>)
      u = u & sign ? U(~u) : U(u | sign);
    else if constexpr (std::is_signed_v<K>)
      u ^= sign;
    if (begin == end) return U(0);
    u >>= begin;
    return end - begin == 8 * int(sizeof(U)) ? u : U(u & ((U(1) << (end - begin)) - 1));
  }

  template <class K, class V>
  void check_sort(ScalarKind kind, const std::vector<K>& keys, int begin = 0, int end = int(sizeof(K)) * 8) {
    const std::size_t n = keys.size();
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return bits_of(keys[a], begin, end) < bits_of(keys[b], begin, end);
    });
    for (int threads : kThreadCounts) {
      runtime::set_thread_limit(threads);
      std::vector<K> k = keys, spare(n);
      std::vector<V> v(n), spare_values(n);
      std::iota(v.begin(), v.end(), V(5));
      SortRequest request{kind,
                          sizeof(V),
                          address_of(k.data()),
                          address_of(v.data()),
                          address_of(spare.data()),
                          address_of(spare_values.data()),
                          std::int64_t(n),
                          begin,
                          end};
      ASSERT_TRUE(sort(request));
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(std::memcmp(&k[i], &keys[order[i]], sizeof(K)), 0) << i << " of " << n << ", threads " << threads;
        ASSERT_EQ(v[i], V(order[i] + 5)) << i << " of " << n << ", threads " << threads;
      }
      k = keys;
      request.value_bytes = 0;
      request.values = request.spare_values = 0;
      ASSERT_TRUE(sort(request));
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(std::memcmp(&k[i], &keys[order[i]], sizeof(K)), 0) << i;
    }
  }

  template <class T>
  void check_scan(ScalarKind kind, std::size_t n) {
    const std::vector<T> values = small_numbers<T>(n);
    for (int threads : kThreadCounts) {
      runtime::set_thread_limit(threads);
      for (bool inclusive : {true, false}) {
        std::vector<T> out(n + 1, T(77)), expected(n);
        ASSERT_TRUE(scan({kind, address_of(values.data()), address_of(out.data()), sizeof(T), sizeof(T),
                          std::int64_t(n), inclusive}));
        if (inclusive)
          std::inclusive_scan(values.begin(), values.end(), expected.begin());
        else
          std::exclusive_scan(values.begin(), values.end(), expected.begin(), T(0));
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), out.begin())) << n << " " << inclusive;
        ASSERT_EQ(out[n], T(77));
      }
    }
  }
};

TEST_F(HostAlgorithms, PrefixSumsOfAllLengths) {
  for (std::size_t n : {0, 1, 2, 1007, 1008, 1009, 4031, 4033, 16127, 16128, 16129, 100'003})
    check_scan<std::int32_t>(ScalarKind::i32, n);
}

TEST_F(HostAlgorithms, PrefixSumsOfAllKinds) {
  check_scan<std::uint32_t>(ScalarKind::u32, 40'000);
  check_scan<std::int64_t>(ScalarKind::i64, 40'000);
  check_scan<std::uint64_t>(ScalarKind::u64, 40'000);
  check_scan<float>(ScalarKind::f32, 40'000);
  check_scan<double>(ScalarKind::f64, 40'000);
}

TEST_F(HostAlgorithms, PrefixSumsWrapAround) {
  std::vector<std::int32_t> values(50'000, std::numeric_limits<std::int32_t>::max());
  const std::int64_t n = std::int64_t(values.size());
  ASSERT_TRUE(scan({ScalarKind::i32, address_of(values.data()), address_of(values.data()), 4, 4, n, true}));
  EXPECT_EQ(values[49'999], std::int32_t(50'000u * 0x7fffffffu));
}

TEST_F(HostAlgorithms, PrefixSumsOfVectorsHaveStrides) {
  constexpr std::size_t n = 9000;
  for (std::int64_t components : {3, 40}) {
    const auto width = std::size_t(components);
    const std::vector<double> values = small_numbers<double>(n * width * 2);
    for (int threads : kThreadCounts) {
      runtime::set_thread_limit(threads);
      std::vector<double> out(n * width, -1.0), sums(width);
      ASSERT_TRUE(scan({ScalarKind::f64, address_of(values.data()), address_of(out.data()), components * 16,
                        components * 8, n, true, components}));
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t c = 0; c < width; ++c)
          ASSERT_EQ(out[i * width + c], sums[c] += values[2 * i * width + c]) << i << " " << c;
    }
  }
}

TEST_F(HostAlgorithms, PrefixSumsRunBackwards) {
  std::vector<std::int32_t> values = small_numbers<std::int32_t>(20'000), out(20'000);
  const std::int64_t n = 20'000;
  ASSERT_TRUE(scan({ScalarKind::i32, address_of(&values.back()), address_of(&out.back()), -4, -4, n, true}));
  std::int32_t sum = 0;
  for (std::size_t i = 20'000; i-- > 0;) ASSERT_EQ(out[i], sum += values[i]);
}

TEST_F(HostAlgorithms, PrefixSumsOfHalvesAreRoundedOnce) {
  std::vector<std::uint16_t> values(30'000, runtime::f16_from_double(0.125));
  for (int threads : kThreadCounts) {
    runtime::set_thread_limit(threads);
    std::vector<std::uint16_t> out(values.size());
    ASSERT_TRUE(scan({ScalarKind::f16, address_of(values.data()), address_of(out.data()), 2, 2, 30'000, false}));
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], runtime::f16_from_double(0.125 * double(i))) << i;
  }
}

TEST_F(HostAlgorithms, PrefixSumsOfFloatsDoNotDependOnThreadsAndNeverGoDown) {
  const std::vector<float> values = fractions(200'000);
  check_threads([&] {
    std::vector<float> out(values.size());
    EXPECT_TRUE(scan({ScalarKind::f32, address_of(values.data()), address_of(out.data()), 4, 4, 200'000, true}));
    EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
    return out;
  });
}

TEST_F(HostAlgorithms, SortsOfAllLengths) {
  for (std::size_t n : {0, 1, 2, 31, 32, 33, 255, 2047, 2049, 16'385, 32'768, 32'769, 150'000}) {
    check_sort<std::int32_t, std::int32_t>(ScalarKind::i32, small_numbers<std::int32_t>(n));
    check_sort<std::uint32_t, std::uint64_t>(ScalarKind::u32, any_bits<std::uint32_t>(n));
  }
}

TEST_F(HostAlgorithms, SortsOfAllKinds) {
  for (std::size_t n : {700, 70'000}) {
    check_sort<std::int32_t, std::int64_t>(ScalarKind::i32, any_bits<std::int32_t>(n));
    check_sort<std::int64_t, std::int64_t>(ScalarKind::i64, any_bits<std::int64_t>(n));
    check_sort<std::uint64_t, std::int32_t>(ScalarKind::u64, any_bits<std::uint64_t>(n));
    check_sort<float, std::int32_t>(ScalarKind::f32, any_bits<float>(n));
    check_sort<double, std::int64_t>(ScalarKind::f64, any_bits<double>(n));
  }
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  check_sort<float, std::int32_t>(ScalarKind::f32, {nan, 0.0f, -0.0f, inf, -nan, -inf, 1e-40f, -1e-40f, 0.0f, -0.0f});
}

TEST_F(HostAlgorithms, SortsByBits) {
  const std::vector<std::uint32_t> keys = any_bits<std::uint32_t>(100'000);
  for (auto [begin, end] : {std::pair{0, 4}, {4, 13}, {3, 32}, {8, 8}, {0, 8}, {20, 31}, {31, 32}, {5, 26}})
    check_sort<std::uint32_t, std::int32_t>(ScalarKind::u32, keys, begin, end);
  check_sort<std::int64_t, std::int32_t>(ScalarKind::i64, any_bits<std::int64_t>(50'000), 10, 50);
}

TEST_F(HostAlgorithms, SortsOfUnevenKeys) {
  constexpr std::size_t n = 200'000;
  std::vector<std::uint32_t> keys(n);
  for (auto& k : keys) k = std::uint32_t(random() % 1000);  // only low digits differ
  check_sort<std::uint32_t, std::int32_t>(ScalarKind::u32, keys);
  for (auto& k : keys) k = random() % 10 ? 7u << 24 | std::uint32_t(random() % 90'000) : std::uint32_t(random());
  check_sort<std::uint32_t, std::int32_t>(ScalarKind::u32, keys);  // most have the first digit in common
  check_sort<std::uint32_t, std::int32_t>(ScalarKind::u32, std::vector<std::uint32_t>(n, 5));
  std::sort(keys.begin(), keys.end());
  check_sort<std::uint32_t, std::int32_t>(ScalarKind::u32, keys);
  std::reverse(keys.begin(), keys.end());
  check_sort<std::uint32_t, std::int32_t>(ScalarKind::u32, keys);
  std::vector<std::uint64_t> wide(n);
  for (auto& k : wide) k = (random() % 3) << 60 | random() % 5;  // a gap between the digits that differ
  check_sort<std::uint64_t, std::int32_t>(ScalarKind::u64, wide);
}

TEST_F(HostAlgorithms, SortsOfSegments) {
  constexpr std::int32_t n = 120'000;
  const std::vector<float> keys = small_numbers<float>(n);
  std::vector<std::int32_t> edges{0, 0, 3, 70'000, n};  // one is large
  for (int i = 0; i < 500; ++i) edges.push_back(std::int32_t(70'000 + random() % (n - 70'000)));
  std::sort(edges.begin(), edges.end());
  for (int form = 0; form < 3; ++form) {
    std::vector<std::int32_t> begins(edges.begin(), edges.end() - 1), ends(edges.begin() + 1, edges.end());
    if (form == 1) {  // gaps, any order
      for (std::size_t s = 0; s < begins.size(); s += 3) ends[s] = begins[s];
      std::reverse(begins.begin(), begins.end());
      std::reverse(ends.begin(), ends.end());
    }
    if (form == 2) begins.push_back(10), ends.push_back(n - 10);  // over all the others
    std::vector<std::int32_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t s = 0; s < begins.size(); ++s)
      std::stable_sort(order.begin() + begins[s], order.begin() + ends[s],
                       [&](std::int32_t a, std::int32_t b) { return keys[std::size_t(a)] < keys[std::size_t(b)]; });
    for (int threads : kThreadCounts) {
      runtime::set_thread_limit(threads);
      std::vector<float> k = keys, spare(n);
      std::vector<std::int32_t> v(n), spare_values(n);
      std::iota(v.begin(), v.end(), 0);
      ASSERT_TRUE(sort_segments({ScalarKind::f32, 4, address_of(k.data()), address_of(v.data()),
                                 address_of(spare.data()), address_of(spare_values.data()), n, 0, 32},
                                begins, ends));
      EXPECT_EQ(v, order) << form << " " << threads;
    }
  }
}

TEST_F(HostAlgorithms, SumsAlongEveryDimension) {
  struct Extents {
    std::int64_t outer, length, inner;
  };
  for (auto [outer, length, inner] : {Extents{1, 1, 1},
                                      {1, 200'000, 1},
                                      {1, 90'000, 3},
                                      {300, 70, 1},
                                      {1, 3000, 40},
                                      {50, 7, 3},
                                      {2, 0, 5},
                                      {1, 300, 1100},
                                      {70'000, 2, 1},
                                      {2, 5000, 31}}) {
    const std::vector<double> values = small_numbers<double>(std::size_t(outer * length * inner));
    for (bool product : {false, true})
      for (int threads : kThreadCounts) {
        runtime::set_thread_limit(threads);
        std::vector<double> out(std::size_t(outer * inner), -7.0), expected(out.size(), 0.0);
        const Address a = address_of(values.data());
        ASSERT_TRUE(sum({ScalarKind::f64, a, product ? a : 0, address_of(out.data()), outer, length, inner}));
        for (std::int64_t o = 0; o < outer; ++o)
          for (std::int64_t l = 0; l < length; ++l)
            for (std::int64_t i = 0; i < inner; ++i) {
              const double x = values[std::size_t((o * length + l) * inner + i)];
              expected[std::size_t(o * inner + i)] += product ? x * x : x;
            }
        ASSERT_EQ(out, expected) << outer << " " << length << " " << inner << " " << threads;
      }
  }
}

TEST_F(HostAlgorithms, SumsOfFloatsDoNotDependOnThreads) {
  const std::vector<float> values = fractions(300'000);
  const Address a = address_of(values.data());
  for (std::int64_t inner : {1, 3, 100})
    check_threads([&] {
      std::vector<float> out(std::size_t(2 * inner));
      EXPECT_TRUE(sum({ScalarKind::f32, a, 0, address_of(out.data()), 1, 300'000 / inner, inner}));
      EXPECT_TRUE(sum({ScalarKind::f32, a, a, address_of(out.data() + inner), 1, 300'000 / inner, inner}));
      return out;
    });
}

TEST_F(HostAlgorithms, SumsOfSmallFloatsAreKeptInFloat32) {
  for (ScalarKind kind : {ScalarKind::f16, ScalarKind::bf16}) {
    const bool half = kind == ScalarKind::f16;
    const auto stored = [&](double x) { return half ? runtime::f16_from_double(x) : runtime::bf16_from_double(x); };
    const std::vector<std::uint16_t> values(20'000, stored(0.125));
    std::uint16_t out = 0;
    ASSERT_TRUE(sum({kind, address_of(values.data()), 0, address_of(&out), 1, 1001, 1}));
    EXPECT_EQ(out, stored(1001 * 0.125)) << half;  // rounded once
  }
}

TEST_F(HostAlgorithms, Runs) {
  for (std::size_t n : {0, 1, 2, 100, 16'384, 16'385, 90'000})
    for (std::uint64_t kinds : {1, 3, 100'000}) {
      std::vector<std::int64_t> values(n);
      for (auto& x : values) x = std::int64_t(random() % kinds);
      std::sort(values.begin(), values.end());
      std::vector<std::int64_t> expected;
      std::vector<std::int32_t> expected_lengths;
      for (std::size_t i = 0; i < n; ++i) {
        if (i == 0 || values[i] != values[i - 1]) expected.push_back(values[i]), expected_lengths.push_back(0);
        ++expected_lengths.back();
      }
      for (int threads : kThreadCounts) {
        runtime::set_thread_limit(threads);
        std::vector<std::int64_t> found(n);
        std::vector<std::int32_t> lengths(n);
        RunsRequest request{ScalarKind::i64, address_of(values.data()), address_of(found.data()),
                            address_of(lengths.data()), std::int64_t(n)};
        ASSERT_EQ(runs(request), std::int64_t(expected.size()));
        found.resize(expected.size());
        lengths.resize(expected.size());
        EXPECT_EQ(found, expected);
        EXPECT_EQ(lengths, expected_lengths);
        request.run_lengths = 0;  // the unique ones alone
        EXPECT_EQ(runs(request), std::int64_t(expected.size()));
      }
    }
}

TEST_F(HostAlgorithms, Histograms) {
  std::vector<float> values = small_numbers<float>(100'000);
  values[5] = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t bins : {1, 7, 200, 100'000})
    for (int threads : kThreadCounts) {
      runtime::set_thread_limit(threads);
      std::vector<std::int32_t> counts(std::size_t(bins), 9), expected(std::size_t(bins), 0);
      ASSERT_TRUE(histogram(
          {ScalarKind::f32, address_of(values.data()), address_of(counts.data()), 100'000, bins, -50.0, 50.0}));
      for (float x : values)
        if (x >= -50.0f && x < 50.0f) ++expected[std::size_t((double(x) + 50.0) / 100.0 * double(bins))];
      EXPECT_EQ(counts, expected) << bins << " " << threads;
    }
}

TEST_F(HostAlgorithms, TheHostMayStopThem) {
  runtime::LaunchContext context;
  context.stop = 1;
  runtime::LaunchOptions options;
  options.context = &context;
  std::vector<std::uint32_t> keys = any_bits<std::uint32_t>(200'000), spare(200'000);
  SortRequest request{ScalarKind::u32, 0, address_of(keys.data()), 0, address_of(spare.data()), 0, 200'000, 0, 32};
  for (int threads : kThreadCounts) {
    runtime::set_thread_limit(threads);
    EXPECT_FALSE(sort(request, options));
    EXPECT_FALSE(scan({ScalarKind::u32, address_of(keys.data()), address_of(spare.data()), 4, 4, 200'000}, options));
    EXPECT_FALSE(runs({ScalarKind::u32, address_of(keys.data()), address_of(spare.data()), 0, 200'000}, options));
  }
}

}  // namespace
}  // namespace weft::algorithms::host
