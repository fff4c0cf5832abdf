// Launches whose workers add to copies: the sums are complete, gaps and shared memory fall back to one worker.
#include "runtime/private_sums.h"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/scheduler.h"

namespace weft::runtime {
namespace {

struct Params {
  ArrayDesc sums, other;
};

/// Adds 1 to sums[i mod extent] for each thread, plainly.
void add_ones(std::int64_t begin, std::int64_t end, const void* raw, LaunchContext*) {
  const auto& params = *static_cast<const Params*>(raw);
  auto* data = static_cast<float*>(params.sums.data);
  for (std::int64_t i = begin; i < end; ++i) data[i % params.sums.shape[0]] += 1.0f;
}

struct Fixture {
  std::vector<float> data = std::vector<float>(7, 0.5f);
  Params params;
  KernelCode code;
  SumSlot slot{offsetof(Params, sums), false, ScalarKind::f32, 4};

  Fixture() {
    params.sums.data = data.data();
    params.sums.ndim = 1;
    params.sums.shape[0] = 7;
    params.sums.strides[0] = 4;
    code.entry = &add_ones;
    code.name = "add_ones";
    code.ns_per_thread = 100;
  }
  void expect(float each) const {
    float total = 0;
    for (float v : data) total += v;
    EXPECT_EQ(total, 3.5f + each);
  }
};

struct Threads {
  explicit Threads(int n) { set_thread_limit(n); }
  ~Threads() { set_thread_limit(0); }
};

TEST(PrivateSums, CopiesAddUp) {
  Threads four(4);
  Fixture f;
  const std::int64_t dims[] = {100000};
  LaunchOptions options;
  options.chunk_threads = 1000;
  EXPECT_TRUE(copies_pay(f.code, &f.params, {&f.slot, 1}, dims, options));
  for (int round = 1; round <= 5; ++round) {
    EXPECT_TRUE(launch_with_sums(f.code, &f.params, sizeof f.params, {&f.slot, 1}, dims, options));
    f.expect(100000.0f * float(round));
  }
}

TEST(PrivateSums, OneWorkerNeedsNoCopies) {
  Threads one(1);
  Fixture f;
  const std::int64_t dims[] = {100000};
  EXPECT_FALSE(copies_pay(f.code, &f.params, {&f.slot, 1}, dims, {}));
}

TEST(PrivateSums, LargeArraysDoNotPay) {
  Threads two(2);
  Fixture f;
  f.params.sums.shape[0] = std::int64_t(1) << 30;  // never touched here
  const std::int64_t dims[] = {100000};
  EXPECT_FALSE(copies_pay(f.code, &f.params, {&f.slot, 1}, dims, {}));
}

TEST(PrivateSums, GapsAndSharedMemoryFallBack) {
  Threads four(4);
  Fixture f;
  f.params.other = f.params.sums;
  const SumSlot twice[] = {f.slot, {offsetof(Params, other), false, ScalarKind::f32, 4}};
  const std::int64_t dims[] = {50000};
  EXPECT_FALSE(copies_pay(f.code, &f.params, twice, dims, {}));
  EXPECT_TRUE(launch_with_sums(f.code, &f.params, sizeof f.params, twice, dims, {}));
  f.expect(50000.0f);
}

/// Adds 1 to a stretch of sums that begins where the first element of the other array says.
void add_from(std::int64_t begin, std::int64_t end, const void* raw, LaunchContext*) {
  const auto& params = *static_cast<const Params*>(raw);
  auto* data = static_cast<float*>(params.sums.data) + *static_cast<const std::int64_t*>(params.other.data);
  for (std::int64_t i = begin; i < end; ++i) data[i] += 1.0f;
}

// Copies remember which of their pages were touched, and are asked again when others are.
TEST(PrivateSums, LaunchesThatReachOtherPagesAddUp) {
  Threads four(4);
  Fixture f;
  constexpr std::int64_t kPlaces = 1 << 20, kThreads = 100000;
  std::vector<float> data(kPlaces, 0.0f), want(kPlaces, 0.0f);
  std::int64_t from = 0;
  f.params.sums.data = data.data();
  f.params.sums.shape[0] = kPlaces;
  f.params.other.data = &from;
  f.code.entry = &add_from;
  const std::int64_t dims[] = {kThreads};
  LaunchOptions options;
  options.chunk_threads = 1000;
  for (int round = 0; round < 40; ++round) {
    from = round % 4 == 3 ? round * 20011 : 5000;
    launch_with_sums(f.code, &f.params, sizeof f.params, {&f.slot, 1}, dims, options);
    for (std::int64_t i = 0; i < kThreads; ++i) want[std::size_t(from + i)] += 1.0f;
    ASSERT_EQ(data, want) << round;
  }
}

TEST(PrivateSums, Integers) {
  Threads four(4);
  Fixture f;
  std::vector<std::int64_t> data(3, 5);
  f.params.sums.data = data.data();
  f.params.sums.shape[0] = 3;
  f.params.sums.strides[0] = 8;
  f.code.entry = [](std::int64_t begin, std::int64_t end, const void* raw, LaunchContext*) {
    auto* sums = static_cast<std::int64_t*>(static_cast<const Params*>(raw)->sums.data);
    for (std::int64_t i = begin; i < end; ++i) sums[i % 3] += i;
  };
  f.slot = {offsetof(Params, sums), false, ScalarKind::i64, 8};
  const std::int64_t dims[] = {30000};
  LaunchOptions options;
  options.chunk_threads = 500;
  launch_with_sums(f.code, &f.params, sizeof f.params, {&f.slot, 1}, dims, options);
  EXPECT_EQ(data[0] + data[1] + data[2], 15 + std::int64_t(29999) * 30000 / 2);
}

}  // namespace
}  // namespace weft::runtime
