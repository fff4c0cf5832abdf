// Launches that write additions down: the sums are complete for every kind of number, with little memory, with parts of elements
// that lie on both sides of a bucket's end, and when a check fails.
#include "runtime/sum_buckets.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "runtime/bucket_abi.h"
#include "runtime/scheduler.h"

namespace weft::runtime {
namespace {

struct Params {
  ArrayDesc sums, other;
};

/// As generated code writes down an addition.
template <class T>
void write_down(const void* params, std::size_t stream, T* place, std::initializer_list<T> values,
                std::size_t element_words) {
  BucketStream* streams = nullptr;
  std::memcpy(&streams, static_cast<const char*>(params) - 8, sizeof streams);
  BucketStream& to = streams[stream];
  const auto word = std::uint32_t((reinterpret_cast<char*>(place) - to.base) / 4);
  const auto bucket = std::int64_t(word / element_words >> to.shift);
  char* at = to.cursors[bucket];
  const std::size_t record = 4 + values.size() * sizeof(T);
  std::memcpy(at, &word, 4);
  std::size_t offset = 4;
  for (const T value : values) std::memcpy(at + offset, &value, sizeof(T)), offset += sizeof(T);
  to.cursors[bucket] = at + record;
  const auto filled = reinterpret_cast<std::uintptr_t>(at + record) % kBucketUnit;
  if (filled == 0 || filled > kBucketUnit - record) weft_rt_bucket(&to, bucket);
}

constexpr std::int64_t kThreads = 300000, kPlaces = 50021;

std::int64_t place_of(std::int64_t i) { return i * 7919 % kPlaces; }

/// Adds (1, 2, 3) to a vector, 1 to the last component of the next one, and 1 to a place of another array.
void add_vectors(std::int64_t begin, std::int64_t end, const void* raw, LaunchContext* context) {
  const auto& params = *static_cast<const Params*>(raw);
  auto* sums = static_cast<float*>(params.sums.data);
  auto* other = static_cast<std::int64_t*>(params.other.data);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t at = place_of(i);
    write_down<float>(raw, 0, sums + 3 * at, {1.0f, 2.0f, 3.0f}, 3);
    write_down<float>(raw, 1, sums + 3 * ((at + 1) % kPlaces) + 2, {1.0f}, 3);
    write_down<std::int64_t>(raw, 2, other + at, {i}, 2);
    if (i == 100000 && params.other.shape[1] == 7) weft_rt_fail(context, 0, i, 0, 0);
  }
}

void set_shape(ArrayDesc& desc, void* data, std::int64_t extent, std::int64_t stride) {
  desc.data = data;
  desc.ndim = 1;
  desc.shape[0] = extent;
  desc.strides[0] = std::int32_t(stride);
}

struct Fixture {
  std::vector<float> sums = std::vector<float>(std::size_t(3 * kPlaces), 0.0f);
  std::vector<std::int64_t> other = std::vector<std::int64_t>(std::size_t(kPlaces), 0);
  Params params;
  KernelCode code;
  std::vector<SumSlot> slots{{offsetof(Params, sums), false, ScalarKind::f32, 12},
                             {offsetof(Params, other), false, ScalarKind::i64, 8}};
  std::vector<SumStream> streams{{0, ScalarKind::f32, 3}, {0, ScalarKind::f32, 1}, {1, ScalarKind::i64, 1}};

  Fixture() {
    set_shape(params.sums, sums.data(), kPlaces, 12);
    set_shape(params.other, other.data(), kPlaces, 8);
    code.entry = &add_vectors;
    code.name = "add_vectors";
    code.ns_per_thread = 50;
  }
  void launch(std::int64_t chunk_threads = 5000) {
    const std::int64_t dims[] = {kThreads};
    LaunchOptions options;
    options.chunk_threads = chunk_threads;
    launch_with_buckets(code, &params, sizeof params, slots, streams, dims, options);
  }
  void expect(int rounds) const {
    std::vector<float> want(sums.size(), 0.0f);
    std::vector<std::int64_t> want_other(other.size(), 0);
    for (int r = 0; r < rounds; ++r)
      for (std::int64_t i = 0; i < kThreads; ++i) {
        const std::int64_t at = place_of(i);
        for (std::int64_t k = 0; k < 3; ++k) want[std::size_t(3 * at + k)] += float(k + 1);
        want[std::size_t(3 * ((at + 1) % kPlaces) + 2)] += 1.0f;
        want_other[std::size_t(at)] += i;
      }
    EXPECT_EQ(sums, want);  // small integers: exact in any order
    EXPECT_EQ(other, want_other);
  }
};

struct Threads {
  explicit Threads(int n) { set_thread_limit(n); }
  ~Threads() { set_thread_limit(0); }
};

TEST(SumBuckets, AddUp) {
  for (const int threads : {1, 2, 4}) {
    const Threads limit(threads);
    Fixture f;
    for (int round = 1; round <= 3; ++round) {
      f.launch();
      f.expect(round);
    }
  }
}

struct LittleMemory {
  LittleMemory() { set_bucket_memory(1); }  // two slabs each
  ~LittleMemory() { set_bucket_memory(0); }
};

TEST(SumBuckets, LittleMemoryIsAddedUpInRounds) {
  const LittleMemory little;
  for (const int threads : {2, 4}) {
    const Threads limit(threads);
    Fixture f;
    f.launch();
    f.launch();
    f.expect(2);
  }
}

TEST(SumBuckets, ChunksThatWriteMoreThanThereIsAddUpThemselves) {
  const LittleMemory little;
  for (const int threads : {1, 2, 4}) {
    const Threads limit(threads);
    for (const int chunks : {1, 2}) {
      Fixture f;
      f.launch(kThreads / chunks);
      f.launch(kThreads / chunks);
      f.expect(2);
    }
  }
}

/// As generated code adds: at once where nobody else does.
void add_in_order(std::int64_t begin, std::int64_t end, const void* raw, LaunchContext*) {
  const auto& params = *static_cast<const Params*>(raw);
  auto* sums = static_cast<float*>(params.sums.data);
  const bool mixed = params.other.shape[1] == 5;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t near = i * kPlaces / kThreads, at = mixed && i % 3 == 0 ? place_of(i) : near;
    BucketStream* streams = nullptr;
    std::memcpy(&streams, static_cast<const char*>(raw) - 8, sizeof streams);
    const auto word = std::uint32_t(3 * at);
    if (word - streams->own_first < streams->own_words)
      for (int k = 0; k < 3; ++k) sums[3 * at + k] += float(k + 1);
    else
      write_down<float>(raw, 0, sums + 3 * at, {1.0f, 2.0f, 3.0f}, 3);
  }
}

TEST(SumBuckets, OwnersAddInPlace) {
  for (const bool little : {false, true})
    for (const bool mixed : {false, true})
      for (const int threads : {2, 4}) {
        const Threads limit(threads);
        std::optional<LittleMemory> memory;
        if (little) memory.emplace();
        Fixture f;
        f.code.entry = &add_in_order;
        if (mixed) f.params.other.shape[1] = 5;
        const std::uint64_t before = launches_that_own();
        for (int round = 0; round < 6; ++round) f.launch(little ? kThreads / threads : 5000);
        if (!little) {
          EXPECT_GE(launches_that_own() - before, 5u);
        }
        std::vector<float> want(f.sums.size(), 0.0f);
        for (std::int64_t i = 0; i < kThreads; ++i) {
          const std::int64_t at = mixed && i % 3 == 0 ? place_of(i) : i * kPlaces / kThreads;
          for (std::int64_t k = 0; k < 3; ++k) want[std::size_t(3 * at + k)] += float(6 * (k + 1));
        }
        EXPECT_EQ(f.sums, want);
      }
}

TEST(SumBuckets, AnArrayThatIsNotThereHasNone) {
  const Threads two(2);
  Fixture f;
  f.params.other.data = nullptr;
  EXPECT_TRUE(buckets_suit(&f.params, f.slots, true));
  f.code.entry = [](std::int64_t begin, std::int64_t end, const void* raw, LaunchContext*) {
    auto* sums = static_cast<float*>(static_cast<const Params*>(raw)->sums.data);
    for (std::int64_t i = begin; i < end; ++i) write_down<float>(raw, 1, sums + 3 * place_of(i), {1.0f}, 3);
  };
  f.launch();
  float total = 0;
  for (const float v : f.sums) total += v;
  EXPECT_EQ(total, float(kThreads));
}

TEST(SumBuckets, WhatWasWrittenDownIsAddedWhenACheckFails) {
  const Threads two(2);
  Fixture f;
  f.params.other.shape[1] = 7;
  EXPECT_THROW(f.launch(), KernelError);
  float total = 0;
  for (const float v : f.sums) total += v;
  EXPECT_GT(total, 0.0f);
}

TEST(SumBuckets, SuitLargeArraysWithoutGaps) {
  Fixture f;
  EXPECT_FALSE(buckets_suit(&f.params, f.slots));  // a megabyte is what caches hold
  EXPECT_TRUE(buckets_suit(&f.params, f.slots, true));
  std::vector<float> large(3 << 20);
  set_shape(f.params.sums, large.data(), 1 << 20, 12);
  EXPECT_TRUE(buckets_suit(&f.params, f.slots));
  f.params.sums.strides[0] = 24;
  f.params.sums.shape[0] = 1 << 19;
  EXPECT_FALSE(buckets_suit(&f.params, f.slots));
  EXPECT_THROW(f.launch(), Error);
}

}  // namespace
}  // namespace weft::runtime
