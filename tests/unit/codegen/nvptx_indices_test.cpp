// Which indices GPU threads find for themselves: emitted PTX runs in the machine of the fake driver, by the way of small launches and
// by that of huge ones, whose test of the count is turned round for it.
#include <gtest/gtest.h>

#include <cstring>

#include "harness.h"
#include "ptx_machine.h"

namespace weft::codegen::test {
namespace {

constexpr std::int64_t kDims[] = {3, 5, 7, 4};
std::int32_t found[4 * 3 * 5 * 7 * 4];

cuda::fake::PtxRange around(std::size_t) {
  const auto at = reinterpret_cast<std::size_t>(&found[0]);
  return {at, at + sizeof found};
}

/// Each thread writes its indices to its place in an array of 3 by 5 by 7 by 4; `huge`: by the way of 2^31 threads and more.
void run(const std::string& form, unsigned blocks, unsigned threads, bool huge) {
  Program program(
      "kernel @k(%x: array<i32,4>) form(" + form + ", rank 4) {\n" +
      "  %i = tid 0\n  %j = tid 1\n  %k = tid 2\n  %l = tid 3\n  %a = mul %i, 1000i32\n  %b = mul %j, 100i32\n"
      "  %c = mul %k, 10i32\n  %d = add %a, %b\n  %e = add %c, %l\n  %f = add %d, %e\n"
      "  store %x[%i, %j, %k, %l], %f\n  return\n}\n");
  EmitOptions options;
  options.verify = true;
  std::string code = emit(*program.module, program.kernel(), nvptx_target(80), options, Output::ptx).bytes;
  EXPECT_EQ(code.find("div."), std::string::npos);
  // Fewer threads than 2^31 are few: the test for that, and one that finds all too many.
  const std::pair<std::string, std::string> tests[] = {{"2147483648", "0"}, {"2147483647", "-1"}};
  bool changed = false;
  for (const auto& [limit, none] : tests)
    if (const std::size_t at = code.find(limit); at != std::string::npos) {
      changed = true;
      if (huge) code.replace(at, limit.size(), none);
    }
  ASSERT_TRUE(changed);

  ArrayDesc array;
  array.data = found;
  array.ndim = 4;
  std::int64_t stride = 4;
  for (std::size_t d = 4; d-- > 0; stride *= kDims[d]) array.shape[d] = kDims[d], array.strides[d] = stride;
  GpuTrailer trailer{};
  trailer.count = stride / 4;
  for (std::size_t d = 0; d < 4; ++d) {
    trailer.dims[d] = kDims[d];
    if (huge)
      trailer.large_divisors[d] = GpuLargeDivisor(std::uint64_t(kDims[d]));
    else
      trailer.divisors[d] = GpuDivisor(std::uint32_t(kDims[d]));
  }
  cuda::fake::PtxLaunch launch;
  launch.blocks = blocks;
  launch.threads = threads;
  launch.allocation = around;
  launch.arguments.resize(sizeof array + sizeof trailer);
  std::memcpy(launch.arguments.data(), &array, sizeof array);
  std::memcpy(launch.arguments.data() + sizeof array, &trailer, sizeof trailer);
  std::memset(found, -1, sizeof found);
  cuda::fake::PtxModule(code).run("weft_k_k", launch);

  std::size_t n = 0;
  for (int i = 0; i < kDims[0]; ++i)
    for (int j = 0; j < kDims[1]; ++j)
      for (int k = 0; k < kDims[2]; ++k)
        for (int l = 0; l < kDims[3]; ++l)
          ASSERT_EQ(found[n++], 1000 * i + 100 * j + 10 * k + l) << form << (huge ? ", huge" : "");
}

TEST(NvptxIndices, OfThreads) {
  for (bool huge : {false, true}) run("no_overlap", 2, 64, huge);
}

TEST(NvptxIndices, OfBlocksThatAreRows) {
  for (bool huge : {false, true}) run("no_overlap, block 4 rows", 9, 4, huge);
}

TEST(NvptxIndices, OfBlocksThatLieAnyhow) {
  for (bool huge : {false, true}) run("no_overlap, block 32", 5, 32, huge);
}

}  // namespace
}  // namespace weft::codegen::test
