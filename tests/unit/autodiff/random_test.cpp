// Random differentiable kernels, whose adjoint must agree with differences and, to rounding, with forward mode.
#include <cstdlib>

#include "gradient_check.h"
#include "random_differentiable.h"

namespace weft::autodiff::test {
namespace {

constexpr std::uint32_t kParts = 4;

/// Each part takes a share of the kernels, so that they can run side by side.
class Random : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Random, AdjointsAgreeWithDifferencesAndTangents) {
  const char* asked = std::getenv("WEFT_RANDOM_GRADIENTS");
  const std::uint32_t count = asked ? std::uint32_t(std::atoi(asked)) : 6000;
  std::uint32_t compared = 0;
  for (std::uint32_t seed = GetParam(); seed < count; seed += kParts) {
    Check check;
    check.ordered = seed / 16 % 5 == 0;
    check.text = RandomDifferentiable(seed, seed % 4 == 0 ? 3 : 2, check.ordered).kernel();
    check.ints["n"] = {0, 2, 5};
    check.slot_bytes = seed % 3 == 0 ? 1 : 8 << 10;
    check.slots_are_far = seed % 3 == 1;
    check.tolerance = 1e-4;  // of the differences; forward mode is compared to rounding
    check.steepest = 100;
    check.floats["out"] = {0.4, -0.3, 0.8};
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + check.text);
    compared += expect_slope(check, seed / 4 % 2 == 0, seed / 8 % 2 == 0);
    if (HasFailure()) return;
  }
  EXPECT_GE(compared * 10, count / kParts * 9) << "too few of the kernels stay finite to say anything";
}

INSTANTIATE_TEST_SUITE_P(All, Random, testing::Range(0u, kParts));

}  // namespace
}  // namespace weft::autodiff::test
