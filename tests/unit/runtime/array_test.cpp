// Arrays and the allocator: shapes, views, gradients, copies, overlap against brute force.
#include "runtime/array.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "runtime/allocator.h"
#include "runtime/errors.h"

namespace weft::runtime {
namespace {

TEST(Allocator, largeBlocksAreUsedAgainAndZerosAreZeros) {
  const std::uint64_t size = 3 * kHugeBlock + 5;
  void* first = host_allocate(size, false);
  static_cast<char*>(first)[size - 1] = 7;
  host_free(first, size);
  auto cleared = host_buffer(size, true);
  EXPECT_EQ(static_cast<char*>(cleared.get())[size - 1], 0);
  void* again = host_allocate(size, false);
  EXPECT_EQ(again, first);
  // More than is kept, in many sizes: each is whole memory of its own.
  std::vector<std::pair<void*, std::uint64_t>> blocks;
  for (std::uint64_t k = 1; k < 40; ++k) blocks.push_back({host_allocate(k * kHugeBlock, false), k * kHugeBlock});
  for (auto [memory, bytes] : blocks) std::memset(memory, 1, bytes);
  for (auto [memory, bytes] : blocks) host_free(memory, bytes);
  for (std::uint64_t k = 1; k < 40; ++k) {
    auto buffer = host_buffer(k * kHugeBlock, false);
    std::memset(buffer.get(), 2, k * kHugeBlock);
  }
  host_free(again, size);
}

TEST(Allocator, alignsSmallAndLargeBlocksAndCounts) {
  const AllocatorStats before = host_allocator_stats();
  {
    auto tiny = host_buffer(0, true), small = host_buffer(100, true), large = host_buffer(kHugeBlock + 5, true);
    EXPECT_NE(tiny.get(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small.get()) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.get()) % kHugeBlock, 0u);
    EXPECT_EQ(static_cast<char*>(large.get())[kHugeBlock + 4], 0);
    static_cast<char*>(large.get())[kHugeBlock + 4] = 1;
    EXPECT_EQ(host_allocator_stats().live_blocks, before.live_blocks + 3);
    EXPECT_EQ(host_allocator_stats().live_bytes, before.live_bytes + 105 + kHugeBlock);
  }
  const AllocatorStats after = host_allocator_stats();
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_EQ(after.total_blocks, before.total_blocks + 3);
  EXPECT_GE(after.peak_bytes, before.live_bytes + kHugeBlock);
}

TEST(Allocator, smallBlocksGoFromHandToHand) {
  // Freed by this thread and by others, more of a size than a thread keeps, ends of threads: each block is memory of its own.
  const auto churn = [](unsigned seed, std::vector<std::pair<void*, std::uint64_t>>& blocks) {
    std::mt19937 random(seed);
    for (int turn = 0; turn < 4000; ++turn) {
      if (blocks.size() < 60 || random() % 2) {
        const std::uint64_t bytes = random() % 3 ? random() % 300 : random() % 6000;
        const bool zeroed = random() % 2;
        auto* memory = static_cast<unsigned char*>(host_allocate(bytes, zeroed));
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(memory) % kHostAlignment, 0u);
        for (std::uint64_t k = 0; zeroed && k < bytes; ++k) ASSERT_EQ(memory[k], 0);
        std::memset(memory, int(bytes % 255) + 1, bytes);
        blocks.push_back({memory, bytes});
      } else {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        const auto [memory, bytes] = blocks.back();
        for (std::uint64_t k = 0; k < bytes; ++k)
          ASSERT_EQ(static_cast<unsigned char*>(memory)[k], int(bytes % 255) + 1) << "somebody else has it, too";
        host_free(memory, bytes);
        blocks.pop_back();
      }
    }
  };
  const AllocatorStats before = host_allocator_stats();
  std::vector<std::pair<void*, std::uint64_t>> blocks;
  churn(1, blocks);
  for (unsigned turn = 2; turn < 5; ++turn) std::thread([&] { churn(turn, blocks); }).join();
  churn(5, blocks);
  for (auto [memory, bytes] : blocks) host_free(memory, bytes);
  EXPECT_EQ(host_allocator_stats().live_blocks, before.live_blocks);
}

TEST(Allocator, absurdSizesAreErrorsWithTheSize) {
  try {
    host_allocate(std::uint64_t(1) << 60, false);
    FAIL();
  } catch (const OutOfMemory& e) {
    EXPECT_EQ(e.bytes(), std::uint64_t(1) << 60);
    EXPECT_NE(std::string(e.what()).find("1152921504606846976 bytes"), std::string::npos) << e.what();
  }
  EXPECT_THROW(host_allocate(UINT64_MAX, true), OutOfMemory);
  EXPECT_THROW(Array::empty(types::f64(), {INT64_MAX, 2}), OutOfMemory);
  EXPECT_THROW(Array::empty(types::f64(), {std::int64_t(1) << 62}), OutOfMemory);
  EXPECT_THROW(Array::empty(types::f32(), {3, -1}), ArgumentError);
  EXPECT_THROW(Array::empty(types::f32(), {1, 1, 1, 1, 1}), ArgumentError);
  EXPECT_THROW(Array::empty(types::f32(), Array::Shape()), ArgumentError);
}

TEST(Array, shapesOfEveryRankAndZeroSizes) {
  const Array a = Array::zeros(types::f32(), {2, 3, 4, 5});
  EXPECT_EQ(a.size(), 120);
  EXPECT_EQ(a.strides()[0], 240);
  EXPECT_EQ(a.strides()[3], 4);
  EXPECT_TRUE(a.is_contiguous());
  EXPECT_EQ(a.type(), types::array(types::f32(), 4));
  for (float v : a.span<float>()) EXPECT_EQ(v, 0);

  const Array none = Array::zeros(types::f32(), {0, INT64_MAX, INT64_MAX}, true);
  EXPECT_EQ(none.size(), 0);
  EXPECT_TRUE(none.is_contiguous());
  EXPECT_TRUE(none.has_grad());
  EXPECT_EQ(none.range().lo, none.range().hi);
  none.fill_zero();
  EXPECT_EQ(none.copy().size(), 0);
  EXPECT_FALSE(Array().is_valid());
  EXPECT_EQ(Array().type(), nullptr);
  EXPECT_THROW(Array().copy(), ArgumentError);
}

TEST(Array, moreThanTwoToThe31Elements) {
  const std::int64_t n = (std::int64_t(1) << 31) + 10;
  const Array a = Array::zeros(types::scalar(ScalarKind::u8), {n});  // pages are only made on touch
  a.at<std::uint8_t>(n - 1) = 7;
  EXPECT_EQ(a.size(), n);
  EXPECT_EQ(a.slice(0, n - 3, n).at<std::uint8_t>(2), 7);
}

TEST(Array, viewsShareMemory) {
  const Array a = Array::empty(types::i32(), {3, 4});
  std::iota(a.span<int>().begin(), a.span<int>().end(), 0);
  EXPECT_EQ(a.index(0, -1).at<int>(1), 9);
  EXPECT_EQ(a.index(1, 2).at<int>(1), 6);
  const Array t = a.transpose();
  EXPECT_EQ(t.at<int>(3, 1), 7);
  EXPECT_FALSE(t.is_contiguous());
  const Array back = a.slice(1, -1, INT64_MIN, -2);
  EXPECT_EQ(back.extent(1), 2);
  EXPECT_EQ(back.at<int>(2, 0), 11);
  EXPECT_EQ(back.at<int>(2, 1), 9);
  EXPECT_EQ(a.reshape({-1, 2}).at<int>(5, 1), 11);
  EXPECT_THROW(t.reshape({12}), ArgumentError);
  EXPECT_THROW(a.reshape({5, -1}), ArgumentError);
  EXPECT_THROW(a.reshape({-1, -1}), ArgumentError);
  EXPECT_THROW(a.index(0, 3), ArgumentError);
  EXPECT_THROW(a.index(2, 0), ArgumentError);
  EXPECT_THROW(a.index(0, 0).index(0, 0), ArgumentError);
  EXPECT_THROW(a.slice(0, 0, 1, 0), ArgumentError);
  EXPECT_THROW(a.at<int>(0), ArgumentError);
  EXPECT_THROW(a.at<int>(0, 4), ArgumentError);
  const int twice[] = {0, 0};
  EXPECT_THROW(a.transpose(twice), ArgumentError);
  t.at<int>(0, 0) = 42;
  EXPECT_EQ(a.at<int>(0, 0), 42);
}

TEST(Array, sliceIsPythonsSlice) {
  const Array a = Array::empty(types::i32(), {5});
  std::iota(a.span<int>().begin(), a.span<int>().end(), 0);
  for (std::int64_t start = -8; start <= 8; ++start)
    for (std::int64_t stop = -8; stop <= 8; ++stop)
      for (std::int64_t step : {-7, -3, -2, -1, 1, 2, 3, 7}) {
        std::int64_t s = start < 0 ? start + 5 : start, e = stop < 0 ? stop + 5 : stop;
        s = std::clamp<std::int64_t>(s, step < 0 ? -1 : 0, step < 0 ? 4 : 5);
        e = std::clamp<std::int64_t>(e, step < 0 ? -1 : 0, step < 0 ? 4 : 5);
        std::vector<int> expected;
        for (std::int64_t i = s; step < 0 ? i > e : i < e; i += step) expected.push_back(int(i));
        const Array view = a.slice(0, start, stop, step);
        ASSERT_EQ(view.size(), std::int64_t(expected.size())) << start << ":" << stop << ":" << step;
        for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(view.at<int>(i), expected[i]);
      }
  EXPECT_EQ(a.slice(0, INT64_MIN, INT64_MAX, INT64_MAX).size(), 1);
  EXPECT_EQ(a.slice(0, INT64_MAX, INT64_MIN, INT64_MIN).size(), 1);
}

TEST(Array, externalMemoryIsReleasedOnceAlsoOnErrors) {
  float memory[6] = {0, 1, 2, 3, 4, 5};
  int released = 0;
  {
    const Array a = Array::wrap(types::f32(), {2, 3}, {.data = memory, .release = [&] { ++released; }});
    const Array view = a.index(0, 1);
    EXPECT_EQ(view.at<float>(2), 5);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  const auto bad = [&](Array::Dims shape, Array::External external) {
    external.release = [&] { ++released; };
    EXPECT_THROW(Array::wrap(types::f32(), shape, std::move(external)), ArgumentError);
  };
  const std::int64_t odd[] = {6}, huge[] = {INT64_MAX - 3}, two[] = {4, 4};
  bad({2}, {.data = nullptr});
  bad({2}, {.data = memory, .strides = odd});
  bad({3}, {.data = memory, .strides = huge});
  bad({3}, {.data = memory, .strides = two});
  bad({1}, {.data = reinterpret_cast<char*>(memory) + 1});
  EXPECT_EQ(released, 6);
  EXPECT_EQ(Array::wrap(types::f32(), {0}, {}).size(), 0);
}

TEST(Array, gradientTravelsWithViews) {
  const Array a = Array::zeros(types::f32(), {3, 4}, true);
  const Array row = a.index(0, 1).slice(0, 3, INT64_MIN, -1);
  row.grad().at<float>(0) = 5;
  EXPECT_EQ(a.grad().at<float>(1, 3), 5);
  const Array duplicate = row.copy();
  EXPECT_EQ(duplicate.grad().at<float>(0), 5);
  a.zero_grad();
  EXPECT_EQ(a.grad().at<float>(1, 3), 0);
  EXPECT_EQ(duplicate.grad().at<float>(0), 5);

  // A gradient for a strided view spans exactly the view's range.
  Array view = Array::zeros(types::f64(), {4, 4}).transpose().slice(0, 3, INT64_MIN, -2);
  view.set_requires_grad(true);
  const ByteRange d = data_range(view.desc(), 8), g = grad_range(view.desc(), 8);
  EXPECT_EQ(d.hi - d.lo, g.hi - g.lo);
  double one = 1;
  view.grad().fill(&one);
  EXPECT_EQ(view.grad().at<double>(1, 3), 1);
  view.set_requires_grad(false);
  EXPECT_FALSE(view.grad().is_valid());
}

TEST(Array, copiesAndFillsStrided) {
  const Type* vec3 = types::vec(types::f32(), 3);
  for (const Type* type : {types::scalar(ScalarKind::u8), types::scalar(ScalarKind::f16), types::f32(), types::f64(),
                           vec3, types::quat(types::f32()), types::mat(types::f32(), 3, 3)}) {
    const Array a = Array::empty(type, {4, 5, 6});
    std::vector<unsigned char> value(type->size());
    for (std::int64_t i = 0; i < 4; ++i)
      for (std::int64_t j = 0; j < 5; ++j)
        for (std::int64_t k = 0; k < 6; ++k) {
          std::fill(value.begin(), value.end(), static_cast<unsigned char>(i * 30 + j * 6 + k));
          const std::int64_t at[] = {i, j, k};
          std::memcpy(a.address(at), value.data(), value.size());
        }
    const int order[] = {2, 0, 1};
    const Array view = a.transpose(order).slice(0, 5, INT64_MIN, -2);
    const Array packed = view.copy();
    EXPECT_TRUE(packed.is_contiguous());
    for (std::int64_t k = 0; k < 3; ++k)
      for (std::int64_t i = 0; i < 4; ++i)
        for (std::int64_t j = 0; j < 5; ++j) {
          const std::int64_t at[] = {k, i, j};
          ASSERT_EQ(*static_cast<unsigned char*>(packed.address(at)), i * 30 + j * 6 + (5 - 2 * k));
        }
    std::fill(value.begin(), value.end(), 200);
    view.fill(value.data());
    int filled = 0;
    for (unsigned char c : std::span(static_cast<unsigned char*>(a.data()), a.bytes())) filled += c == 200;
    EXPECT_EQ(filled, 60 * int(type->size()));
    a.fill(value.data());
    for (unsigned char c : std::span(static_cast<unsigned char*>(a.data()), a.bytes())) ASSERT_EQ(c, 200);
  }
}

TEST(Array, assignHandlesOverlapAndChecksShapes) {
  const Array a = Array::empty(types::i32(), {6});
  std::iota(a.span<int>().begin(), a.span<int>().end(), 0);
  a.slice(0, 1, 6).assign(a.slice(0, 0, 5));
  EXPECT_EQ((std::vector<int>(a.span<int>().begin(), a.span<int>().end())), (std::vector<int>{0, 0, 1, 2, 3, 4}));
  a.assign(a.slice(0, 5, INT64_MIN, -1));
  EXPECT_EQ((std::vector<int>(a.span<int>().begin(), a.span<int>().end())), (std::vector<int>{4, 3, 2, 1, 0, 0}));
  EXPECT_THROW(a.assign(Array::zeros(types::i32(), {5})), ArgumentError);
  EXPECT_THROW(a.assign(Array::zeros(types::f32(), {6})), ArgumentError);
  EXPECT_THROW(a.assign(Array::zeros(types::i32(), {6, 1})), ArgumentError);
}

TEST(Overlap, rangesAreExactAndSharedBytesAreFound) {
  std::mt19937 random(1);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  std::vector<char> memory(1 << 16);
  const auto touched = [&](const ArrayDesc& a, int size) {
    std::set<std::uintptr_t> bytes;
    const auto base = reinterpret_cast<std::uintptr_t>(a.data);
    std::int64_t shape[4] = {1, 1, 1, 1}, strides[4] = {};
    for (int d = 0; d < a.ndim; ++d) shape[d] = a.shape[d], strides[d] = a.strides[d];
    for (std::int64_t i = 0; i < shape[0]; ++i)
      for (std::int64_t j = 0; j < shape[1]; ++j)
        for (std::int64_t k = 0; k < shape[2]; ++k)
          for (int b = 0; b < size; ++b)
            bytes.insert(base + std::uintptr_t(i * strides[0] + j * strides[1] + k * strides[2] + b));
    return bytes;
  };
  const auto make = [&] {
    ArrayDesc a;
    a.ndim = pick(1, 3);
    for (int d = 0; d < a.ndim; ++d) {
      a.shape[d] = pick(0, 9) == 0 ? 0 : pick(1, 4);
      a.strides[d] = pick(-20, 20) * 4;
    }
    a.data = memory.data() + 32768 + pick(-100, 100) * 4;
    return a;
  };
  for (int round = 0; round < 2000; ++round) {
    const ArrayDesc a = make(), b = make();
    const int a_size = 4 * pick(1, 3), b_size = 4 * pick(1, 3);
    const auto a_bytes = touched(a, a_size), b_bytes = touched(b, b_size);
    const ByteRange range = data_range(a, std::uint64_t(a_size));
    if (a_bytes.empty()) {
      ASSERT_EQ(range.lo, range.hi);
    } else {
      ASSERT_EQ(range.lo, *a_bytes.begin());
      ASSERT_EQ(range.hi, *a_bytes.rbegin() + 1);
    }
    const bool expected = !a_bytes.empty() && !b_bytes.empty() && *a_bytes.begin() <= *b_bytes.rbegin() &&
                          *b_bytes.begin() <= *a_bytes.rbegin();
    ASSERT_EQ(overlaps(a, std::uint64_t(a_size), b, std::uint64_t(b_size)), expected);
  }
  EXPECT_FALSE(overlaps(ArrayDesc{}, 4, make(), 4));
}

}  // namespace
}  // namespace weft::runtime
