// Tensors of DLPack as arrays, and what is refused.
#include "interop/dlpack.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace weft::interop {
namespace {

struct Given {
  std::vector<float> memory = std::vector<float>(64);
  std::vector<std::int64_t> shape = {4, 3}, strides = {3, 1};
  DlTensor tensor() {
    DlTensor t;
    t.data = memory.data();
    t.ndim = std::int32_t(shape.size());
    t.shape = shape.data();
    t.strides = strides.empty() ? nullptr : strides.data();
    return t;
  }
};

std::string reason(const DlTensor& tensor) {
  ForeignMemory memory;
  std::string why;
  return read_tensor(tensor, 0, memory, why) ? "" : why;
}

TEST(DlPack, FoldsTrailingDimensions) {
  Given given;
  ForeignMemory memory;
  std::string why;
  ASSERT_TRUE(read_tensor(given.tensor(), 0, memory, why)) << why;
  const Type* element = types::vec(types::f32(), 3);
  ArrayDesc desc;
  ASSERT_TRUE(fold(memory, element, {}, desc, why)) << why;
  EXPECT_EQ(desc.ndim, 1);
  EXPECT_EQ(desc.shape[0], 4);
  EXPECT_EQ(desc.strides[0], 12);
  EXPECT_EQ(desc.data, given.memory.data());
  element = types::vec(types::f32(), 4);
  EXPECT_FALSE(fold(memory, element, {}, desc, why));
  EXPECT_NE(why.find("last dimensions must be (4,)"), std::string::npos) << why;
}

TEST(DlPack, SeesIntegersOfOtherSign) {
  Given given;
  DlTensor tensor = given.tensor();
  tensor.dtype = {kDlInt, 32, 1};
  ForeignMemory memory;
  std::string why;
  ASSERT_TRUE(read_tensor(tensor, 0, memory, why));
  ArrayDesc desc;
  const Type* element = types::scalar(ScalarKind::u32);
  EXPECT_FALSE(fold(memory, element, {}, desc, why));
  EXPECT_TRUE(fold(memory, element, {.any_sign = true}, desc, why)) << why;
  element = types::f32();
  EXPECT_FALSE(fold(memory, element, {.any_sign = true}, desc, why));
}

TEST(DlPack, TakesLanesAndNoStrides) {
  Given given;
  given.shape = {5};
  given.strides = {};
  DlTensor tensor = given.tensor();
  tensor.dtype.lanes = 4;
  ForeignMemory memory;
  std::string why;
  ASSERT_TRUE(read_tensor(tensor, kDlReadOnly, memory, why)) << why;
  EXPECT_EQ(memory.rank, 2);
  EXPECT_EQ(memory.strides[0], 16);
  EXPECT_TRUE(memory.read_only);
}

TEST(DlPack, RefusesWhatCanNotBeTrue) {
  Given given;
  DlTensor tensor = given.tensor();
  EXPECT_EQ(reason(tensor), "");
  tensor.ndim = -1;
  EXPECT_NE(reason(tensor), "");
  tensor.ndim = 7;
  EXPECT_NE(reason(tensor), "");
  tensor = given.tensor(), tensor.shape = nullptr;
  EXPECT_NE(reason(tensor), "");
  tensor = given.tensor(), tensor.data = nullptr;
  EXPECT_NE(reason(tensor).find("null"), std::string::npos);
  tensor = given.tensor(), tensor.dtype = {kDlFloat, 8, 1};
  EXPECT_NE(reason(tensor), "");
  tensor = given.tensor(), tensor.dtype = {kDlComplex, 64, 1};
  EXPECT_NE(reason(tensor).find("complex"), std::string::npos);
  tensor = given.tensor(), tensor.dtype.lanes = 0;
  EXPECT_NE(reason(tensor), "");
  tensor = given.tensor(), tensor.device.type = 10;
  EXPECT_NE(reason(tensor).find("device"), std::string::npos);
  tensor = given.tensor(), tensor.byte_offset = UINT64_MAX;
  EXPECT_NE(reason(tensor), "");
  given.shape = {INT64_MAX, INT64_MAX};
  EXPECT_NE(reason(given.tensor()), "");
  given.shape = {4, -1};
  EXPECT_NE(reason(given.tensor()), "");
  given.shape = {4, 3}, given.strides = {INT64_MIN, 1};
  EXPECT_NE(reason(given.tensor()), "");
}

TEST(DlPack, ShowsArrays) {
  const auto array = runtime::Array::zeros(types::mat(types::f32(), 2, 3), {5});
  DlManagedTensorVersioned* made = Export::managed_versioned(array, true);
  EXPECT_EQ(made->flags, kDlReadOnly);
  EXPECT_EQ(made->tensor.ndim, 3);
  EXPECT_EQ(made->tensor.shape[1], 2);
  EXPECT_EQ(made->tensor.strides[0], 6);
  EXPECT_EQ(made->tensor.strides[1], 3);
  EXPECT_EQ(made->tensor.data, array.data());
  made->deleter(made);
}

TEST(DlPack, EightThreadsShowReadAndDropOneArray) {
  const auto array = runtime::Array::zeros(types::vec(types::f32(), 3), {100});
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([array, t] {
      for (int k = 0; k < 500; ++k) {
        DlManagedTensor* plain = t % 2 ? Export::managed(array) : nullptr;
        DlManagedTensorVersioned* versioned = plain ? nullptr : Export::managed_versioned(array, t == 0);
        const DlTensor& tensor = plain ? plain->tensor : versioned->tensor;
        const Type* element = k % 2 ? types::vec(types::f32(), 3) : nullptr;
        ForeignMemory memory;
        ArrayDesc desc;
        std::string why;
        EXPECT_TRUE(read_tensor(tensor, versioned ? versioned->flags : 0, memory, why)) << why;
        EXPECT_TRUE(fold(memory, element, {}, desc, why)) << why;
        EXPECT_EQ(desc.data, array.data());
        EXPECT_EQ(desc.ndim, k % 2 ? 1 : 2);
        if (plain) plain->deleter(plain);
        if (versioned) versioned->deleter(versioned);
      }
    });
  for (std::thread& one : threads) one.join();
}

}  // namespace
}  // namespace weft::interop
