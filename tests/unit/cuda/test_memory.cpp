// Arrays on devices: allocation, out of memory, copies in all directions, fills, page-locked memory, giving back.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "cuda/device.h"
#include "cuda/graph.h"
#include "cuda/transfer.h"
#include "fake_driver.h"
#include "runtime/array.h"

namespace weft::cuda {
namespace {

using runtime::Array;

class Memory : public testing::Test {
 protected:
  System system{fake::open()};
  Device& device = system.device(0);

  Array numbers(std::initializer_list<std::int64_t> shape, runtime::MemorySpace* space = nullptr) {
    Array host = Array::empty(types::f32(), shape);
    std::span<float> values = host.span<float>();
    std::iota(values.begin(), values.end(), 0.0f);
    if (!space) return host;
    Array made = Array::empty(types::f32(), shape, false, space);
    made.assign(host);
    return made;
  }
  static std::vector<float> read(const Array& array) {
    Array host = Array::empty(array.element(), array.shape());
    host.assign(array);
    const float* data = static_cast<const float*>(host.data());
    return {data, data + host.bytes() / sizeof(float)};
  }
};

TEST_F(Memory, ThereAndBack) {
  Array a = numbers({5}, &device);
  EXPECT_FALSE(a.on_host());
  EXPECT_EQ(read(a), (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_EQ(read(a.copy()), read(a));
  EXPECT_EQ(fake::state().blocks.size(), 1u);
}

TEST_F(Memory, ZerosAndGradients) {
  Array a = Array::zeros(types::f32(), {3}, true, &device);
  EXPECT_EQ(read(a), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(read(a.grad()), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(a.grad().space(), &device);
  EXPECT_THROW(a.set_grad(Array::zeros(types::f32(), {3})), runtime::ArgumentError);
}

TEST_F(Memory, GivenBackWithTheLastHandle) {
  {
    Array a = Array::empty(types::f32(), {100}, false, &device);
    Array view = a.slice(0, 10, 20);
    a = Array();
    EXPECT_EQ(fake::state().blocks.size(), 1u);
  }
  EXPECT_TRUE(fake::state().blocks.empty());
  EXPECT_EQ(fake::state().count("event_record"), 0);  // one stream: no detour
}

TEST_F(Memory, SeveralStreamsAreWaitedFor) {
  auto other = device.make_stream(0);
  {
    Array a = Array::empty(types::f32(), {100}, false, &device);
  }
  EXPECT_TRUE(fake::state().blocks.empty());
  EXPECT_EQ(fake::state().count("event_record"), 2);
  EXPECT_TRUE(fake::state().events.empty());
}

TEST_F(Memory, OutOfMemoryTellsSizesAndTheProcessGoesOn) {
  fake::state().memory_limit = 4096;
  Array small = Array::empty(types::f32(), {256}, false, &device);
  try {
    Array::empty(types::f32(), {4096}, false, &device);
    FAIL();
  } catch (const runtime::OutOfMemory& error) {
    EXPECT_EQ(error.bytes(), 16384u);
    EXPECT_STREQ(error.what(), "no memory for 16384 bytes on cuda:0: 3072 of 4096 bytes are free");
  }
  EXPECT_EQ(fake::state().count("pool_trim"), 1);
  EXPECT_NO_THROW(Array::empty(types::f32(), {256}, false, &device));
}

TEST_F(Memory, WithoutThePool) {
  device.enable_pool(false);
  Array a = numbers({4}, &device);
  EXPECT_EQ(read(a), (std::vector<float>{0, 1, 2, 3}));
  a = Array();
  EXPECT_EQ(fake::state().count("memory_free"), 1);
  EXPECT_EQ(fake::state().count("memory_allocate_async"), 0);
}

TEST_F(Memory, StridedCopiesInAllDirections) {
  Array host = numbers({4, 6});
  Array there = numbers({4, 6}, &device);
  Array part = there.slice(0, 1, 4, 2).slice(1, 5, 0, -2);  // rows 1, 3; columns 5, 3, 1
  EXPECT_EQ(read(part), (std::vector<float>{11, 9, 7, 23, 21, 19}));
  Array target = Array::zeros(types::f32(), {4, 6}, false, &device);
  target.slice(0, 0, 2).slice(1, 0, 3).assign(part);  // device to device
  EXPECT_EQ(read(target.slice(0, 0, 2).slice(1, 0, 3)), read(part));
  target.fill_zero();
  target.slice(0, 0, 2).slice(1, 0, 3).assign(host.slice(0, 1, 4, 2).slice(1, 5, 0, -2));  // strided host to strided
  EXPECT_EQ(read(target.slice(0, 0, 2).slice(1, 0, 3)), read(part));
  EXPECT_EQ(read(target)[3], 0);
  Array back = Array::zeros(types::f32(), {4, 6});
  back.slice(0, 0, 2).slice(1, 0, 6, 2).assign(part);
  EXPECT_EQ(back.at<float>(0, 2), 9);
  EXPECT_EQ(read(there.transpose()), read(host.transpose()));
}

TEST_F(Memory, OverlappingViewsOfOneArray) {
  Array a = numbers({6}, &device);
  a.slice(0, 1, 6).assign(a.slice(0, 0, 5));
  EXPECT_EQ(read(a), (std::vector<float>{0, 0, 1, 2, 3, 4}));
}

TEST_F(Memory, BetweenDevices) {
  Array a = numbers({2, 3}, &device);
  Array b = Array::zeros(types::f32(), {3, 2}, false, &system.device(1));
  b.transpose().assign(a);
  EXPECT_EQ(read(b), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(fake::state().count("copy_peer_async"), 1);
}

TEST_F(Memory, FillsOfEverySize) {
  for (std::uint32_t n : {1u, 2u, 3u, 4u, 7u, 16u}) {
    for (ScalarKind kind : {ScalarKind::u8, ScalarKind::f16, ScalarKind::f32, ScalarKind::f64}) {
      const Type* type = types::vec(types::scalar(kind), n);
      std::vector<unsigned char> value(type->size());
      std::iota(value.begin(), value.end(), (unsigned char)(1));
      Array a = Array::zeros(type, {3, 5}, false, &device);
      a.slice(1, 1, 5, 3).fill(value.data());
      Array host = Array::empty(type, {3, 5});
      host.assign(a);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 5; ++j) {
          const std::int64_t at[] = {i, j};
          const bool set = j == 1 || j == 4;
          const std::vector<unsigned char> expected = set ? value : std::vector<unsigned char>(type->size());
          EXPECT_EQ(std::memcmp(host.address(at), expected.data(), type->size()), 0) << n << " " << i << " " << j;
        }
    }
  }
}

TEST_F(Memory, FillsByMemsetWhereTheValueRepeats) {
  Array a = Array::empty(types::vec(types::f32(), 3), {10}, false, &device);
  const float ones[] = {1, 1, 1};
  a.fill(ones);
  EXPECT_EQ(fake::state().count("set32_async"), 1);
  EXPECT_EQ(read(a), std::vector<float>(30, 1.0f));
  EXPECT_EQ(fake::state().count("launch"), 0);
}

TEST_F(Memory, FillOfAValueTooLargeForArguments) {
  const Type* type = types::mat(types::f64(), 16, 16);
  std::vector<double> value(256);
  std::iota(value.begin(), value.end(), 0.0);
  Array a = Array::zeros(type, {3}, false, &device);
  a.fill(value.data());
  Array host = Array::empty(type, {3});
  host.assign(a);
  const std::int64_t last[] = {2};
  EXPECT_EQ(std::memcmp(host.address(last), value.data(), type->size()), 0);
}

TEST_F(Memory, PageLockedMemoryIsTheHosts) {
  Array pinned = Array::zeros(types::f32(), {4}, false, &system.pinned());
  EXPECT_TRUE(pinned.on_host());
  pinned.span<float>()[2] = 7;
  Array a = Array::empty(types::f32(), {4}, false, &device);
  a.assign(pinned);
  EXPECT_EQ(read(a), (std::vector<float>{0, 0, 7, 0}));
  const int waits = fake::state().count("stream_synchronize");
  pinned.assign(a);
  EXPECT_EQ(fake::state().count("stream_synchronize"), waits);  // copies to page-locked memory don't wait
}

TEST_F(Memory, FailedCopiesAreErrors) {
  Array a = numbers({4}, &device);
  fake::state().failing["copy_async"] = 999;
  EXPECT_THROW(read(a), DriverError);
  fake::state().failing.clear();
  EXPECT_EQ(read(a).size(), 4u);
}

TEST(TransferShapes, AreSimplified) {
  alignas(8) char memory[8];
  ArrayDesc packed{.data = memory, .ndim = 3};
  const std::int64_t shape[] = {2, 3, 4}, strides[] = {3 * 4 * 12, 4 * 12, 12};
  std::copy_n(shape, 3, packed.shape);
  std::copy_n(strides, 3, packed.strides);
  TransferShape s = transfer_shape(packed, &packed, 12);
  EXPECT_TRUE(s.packed());
  EXPECT_EQ(s.word, 4);
  EXPECT_EQ(s.count, 2 * 3 * 4 * 3);
  ArrayDesc rows = packed;
  rows.strides[0] *= 2;
  s = transfer_shape(rows, &packed, 12);
  EXPECT_EQ(s.rank, 2);
  EXPECT_EQ(s.extent[1], 36);
  s = transfer_shape(packed, nullptr, 12);
  EXPECT_EQ(s.rank, 2);  // elements, words
  EXPECT_EQ(s.from_stride[0], 0);
}

}  // namespace
}  // namespace weft::cuda
