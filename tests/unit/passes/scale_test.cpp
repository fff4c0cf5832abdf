// Passes on a kernel of tens of thousands of operations: time must not explode. The bound is far above what a linear
// pass needs and far below what a quadratic one would take.
#include <chrono>

#include "../slowdown.h"
#include "ir_text.h"
#include "passes/bounds_check.h"
#include "passes/contract.h"
#include "passes/cse.h"
#include "passes/dce.h"
#include "passes/fold.h"
#include "passes/licm.h"
#include "passes/simplify.h"
#include "passes/unroll.h"

namespace weft::testing {
namespace {

/// Straight-line work, loads and stores, loops and ifs, over and over.
std::string large_kernel(int blocks) {
  std::string text = "%v0 = add %a, %b\n";
  for (int k = 0; k < blocks; ++k) {
    std::string n = std::to_string(k);
    text += "%l" + n + " = load %x[%i~]\n%m" + n + " = mul %v" + n + ", %l" + n + "\n%s" + n + " = add %m" + n +
            ", %a\n" + "store %y[%j~], %s" + n + "\n%d" + n + " = div %i, %j\nstore %n[0i32], %d" + n + "\n%f" + n +
            ", %g" + n + " = for %k" + n + " = 0i32 to %i step 1i32 (%p" + n + " = %s" + n + ", %q" + n +
            " = %a) {\n  %t" + n + " = mul %a, %b\n  %u" + n + " = add %p" + n + ", %t" + n + "\n  yield %u" + n +
            ", %q" + n + "\n}\n%c" + n + " = lt %f" + n + ", %a\n%v" + std::to_string(k + 1) + " = if %c" + n +
            " : f32 {\n  yield %f" + n + "\n} else {\n  %w" + n + " = neg %f" + n + "\n  yield %w" + n + "\n}\n";
  }
  return in_kernel(text + "store %x[0i32], %v" + std::to_string(blocks));
}

TEST(Scale, LargeKernelsTakeLinearTime) {
  auto module = parse_ir(large_kernel(3000));
  ir::Function& kernel = *module->functions.back();
  auto timed = [&](const char* name, auto pass) {
    auto start = std::chrono::steady_clock::now();
    pass();
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_LT(seconds, 3.0 * kSlowdown) << name;
    RecordProperty(name, std::to_string(seconds));
  };
  timed("bounds_check", [&] { passes::bounds_check(kernel); });
  timed("fold", [&] { passes::fold(kernel); });
  timed("simplify", [&] { passes::simplify(kernel); });
  timed("cse", [&] { passes::cse(kernel); });
  timed("licm", [&] { passes::licm(kernel); });
  timed("unroll", [&] { passes::unroll(kernel); });
  timed("dce", [&] { passes::dce(kernel); });
  timed("contract", [&] { passes::contract(kernel); });
  EXPECT_EQ(ir::verify(*module), "");
}

TEST(Scale, DeepNestingIsFine) {
  std::string open, close;
  for (int k = 0; k < 150; ++k) {
    open += "if %c {\n";
    close += "yield\n} else {\nyield\n}\n";
  }
  auto module = parse_ir(in_kernel(open + "%1 = add %a, 1.0f32\nstore %x[0i32], %1\n" + close));
  ir::Function& kernel = *module->functions.back();
  passes::bounds_check(kernel);
  passes::fold(kernel);
  passes::simplify(kernel);
  passes::cse(kernel);
  passes::licm(kernel);
  passes::dce(kernel);
  EXPECT_EQ(ir::verify(*module), "");
}

}  // namespace
}  // namespace weft::testing
