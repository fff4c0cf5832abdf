// Random differentiable kernels, whose adjoint must agree with differences and, to rounding, with forward mode.
#include "gradient_check.h"
#include "random_differentiable.h"

namespace weft::autodiff::test {
namespace {

TEST(Random, AdjointsAgreeWithDifferencesAndTangents) {
  int compared = 0;
  for (std::uint32_t seed = 0; seed < 800; ++seed) {
    Check check;
    check.text = RandomDifferentiable(seed).kernel();
    check.ints["n"] = {0, 2, 5};
    check.slot_bytes = seed % 3 == 0 ? 1 : 8 << 10;
    check.tolerance = 1e-4;  // of the differences; forward mode is compared to rounding
    check.steepest = 30;
    check.floats["out"] = {0.4, -0.3, 0.8};
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + check.text);
    if (runs_away(check)) continue;
    ++compared;
    expect_gradient(check);
    if (HasFailure()) return;
  }
  EXPECT_GE(compared, 700) << "too few of the 800 kernels stay finite to say anything";
}

}  // namespace
}  // namespace weft::autodiff::test
