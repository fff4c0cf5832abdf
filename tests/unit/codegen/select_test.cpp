// Selects that look like a minimum or maximum give what they say: for zeros of both signs and for NaNs of both kinds, with
// constants, where every target has an instruction that is almost the same.
#include <regex>

#include "harness.h"

namespace weft::codegen::test {
namespace {

const char* const kText = R"(
kernel @k(%x: array<f32,1>, %low: array<f32,1>, %high: array<f32,1>, %chosen: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %a = min %v, 0.0f32
  store %low[%i], %a
  %b = max %v, -0.0f32
  store %high[%i], %b
  %c = lt %v, 0.0f32
  %s = select %c, %v, 0.0f32
  store %chosen[%i], %s
  return
}
)";

TEST(Select, ZerosAndNansAsWritten) {
  constexpr std::uint32_t kMinusZero = 0x80000000, kQuiet = 0x7fc00000, kSignaling = 0x7fa00000, kOne = 0x3f800000,
                          kMinusOne = 0xbf800000;
  Program program(kText);
  std::vector<std::uint32_t> x = {kMinusZero, 0, kQuiet, kSignaling, kOne, kMinusOne, kSignaling, kMinusZero};
  const std::vector<std::uint32_t> low = {0, 0, 0, 0, 0, kMinusOne, 0, 0};
  const std::vector<std::uint32_t> high = {kMinusZero, kMinusZero, kMinusZero, kMinusZero,
                                           kOne,       kMinusZero, kMinusZero, kMinusZero};
  for (const TargetSpec& target : runnable_targets())
    for (int lanes : {1, 2, 4, 8})
      for (int level : {0, 1, 2, 3}) {
        std::vector<std::uint32_t> a(x.size()), b(x.size()), c(x.size());
        run(program, Block(program).array(x).array(a).array(b).array(c), {std::int64_t(x.size())},
            {.lanes = lanes, .opt_level = level, .target = target});
        EXPECT_EQ(a, low) << lanes << " lanes, level " << level << ", " << target.cpu_name;
        EXPECT_EQ(b, high) << lanes << " lanes, level " << level << ", " << target.cpu_name;
        EXPECT_EQ(c, low) << lanes << " lanes, level " << level << ", " << target.cpu_name;
      }
}

// The GPU's own minimum orders zeros by sign: where they may meet, equal operands are told apart.
TEST(Select, GpuMinimumOfEqualNumbersIsTheSecond) {
  Program program(kText);
  for (int level : {0, 1, 2, 3}) {
    EmitOptions options;
    options.opt_level = level;
    const std::string ptx = emit(*program.module, program.kernel(), nvptx_target(80), options, Output::ptx).bytes;
    EXPECT_TRUE(std::regex_search(ptx, std::regex(R"(\b(min|max)\.f32)"))) << ptx;
    EXPECT_TRUE(std::regex_search(ptx, std::regex(R"(setp\.(eq|neu)\.f32)"))) << ptx;
  }
}

TEST(Select, GpuMinimumAloneWhereZerosDontMeet) {
  // max(x, 0), min(…, 1) and min of sums with constants: no zero of one sign meets one of the other.
  Program program(R"(
kernel @k(%x: array<f32,1>, %y: array<f32,1>) form(no_overlap, strided, rank 1) {
  %i = tid 0
  %a = load %x[%i]
  %low = max %a, 0.0f32
  %top = add %a, -2.5f32
  %b = min %low, %top
  %c = min %b, 1.0f32
  store %y[%i], %c
  return
}
)");
  const std::string ptx = emit(*program.module, program.kernel(), nvptx_target(80), {}, Output::ptx).bytes;
  EXPECT_FALSE(std::regex_search(ptx, std::regex(R"(setp\.\w+\.f32)"))) << ptx;
}

}  // namespace
}  // namespace weft::codegen::test
