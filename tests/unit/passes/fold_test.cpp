// Constant folding on IR text.
#include "passes/fold.h"

#include "ir_text.h"

namespace weft::testing {
namespace {

void fold(ir::Module& module) {
  for (auto& function : module.functions) passes::fold(*function);
}
void check(const std::string& before, const std::string& after) {
  expect_rewrite(fold, in_kernel(before), in_kernel(after));
}

TEST(Fold, IntegerCornersFollowTheContract) {
  check(
      "%1 = div 7i32, 0i32\n%2 = rem 7i32, 0i32\n%3 = div -2147483648i32, -1i32\n%4 = rem -2147483648i32, -1i32\n"
      "%5 = shl 1i32, 33i32\n%6 = floordiv -7i32, 2i32\n%7 = abs -128i8\n%8 = cast 1e20f64 : i32\n"
      "%9 = cast nanf32 : i64\n%10 = cast 300i32 : u8\n%11 = cast %10 : i32\n"
      "store %n[0i32], %1\nstore %n[1i32], %2\nstore %n[2i32], %3\nstore %n[3i32], %4\nstore %n[4i32], %5\n"
      "store %n[5i32], %6\nstore %n[6i32], %8\nstore %n[7i32], %11",
      "store %n[0i32], 0i32\nstore %n[1i32], 7i32\nstore %n[2i32], -2147483648i32\nstore %n[3i32], 0i32\n"
      "store %n[4i32], 2i32\nstore %n[5i32], -4i32\nstore %n[6i32], 2147483647i32\nstore %n[7i32], 44i32");
}

TEST(Fold, FloatsRoundLikeExecution) {
  check(
      "%1 = add 1.0f32, 1e-20f32\n%2 = fma 2.0f32, 3.0f32, 0.5f32\n%3 = sqrt 2.0f32\n%4 = rint 2.5f32\n"
      "store %x[0i32], %1\nstore %x[1i32], %2\nstore %x[2i32], %3\nstore %x[3i32], %4",
      "store %x[0i32], 1.0f32\nstore %x[1i32], 6.5f32\nstore %x[2i32], 1.4142135f32\nstore %x[3i32], 2.0f32");
}

TEST(Fold, LeavesElementaryFunctionsAlone) {
  check("%1 = sin 0.0f32\nstore %x[0i32], %1", "%1 = sin 0.0f32\nstore %x[0i32], %1");
}

TEST(Fold, ReadsThroughConstructsAndInserts) {
  check(
      "%v = construct vec<f32,3> %a, %b, 1.0f32\n%w = insert %v, %b, [0]\n%e = extract %w[1]\n%f = extract %w[0]\n"
      "%g = extract %w[2i32]\nstore %x[0i32], %e\nstore %x[1i32], %f\nstore %x[2i32], %g",
      "%v = construct vec<f32,3> %a, %b, 1.0f32\n%w = insert %v, %b, [0]\n"
      "store %x[0i32], %b\nstore %x[1i32], %b\nstore %x[2i32], 1.0f32");
}

TEST(Fold, ConstantComponentOutOfRangeGivesZeroOrNothing) {
  check(
      "%v = construct vec<f32,3> %a, %b, 1.0f32\n%e = extract %v[7i32]\n%w = insert %v, %a, [-4i32~]\n"
      "%f = extract %w[0]\n"
      "%g = extract %v[-1i32~]\nstore %x[0i32], %e\nstore %x[1i32], %f\nstore %x[2i32], %g",
      "%v = construct vec<f32,3> %a, %b, 1.0f32\n"
      "store %x[0i32], 0.0f32\nstore %x[1i32], %a\nstore %x[2i32], 1.0f32");
}

TEST(Fold, InlinesTheTakenSide) {
  check(
      "%t = lt 1i32, 2i32\n%r = if %t : f32 {\n %1 = add %a, %b\n yield %1\n} else {\n store %x[0i32], %a\n"
      " yield %b\n}\n"
      "store %y[0i32], %r",
      "%1 = add %a, %b\nstore %y[0i32], %1");
}

TEST(Fold, LoopsThatNeverRunVanish) {
  check(
      "%r = for %k = 3i32 to 3i32 step 1i32 (%s = %a) {\n store %x[%k], %s\n yield %b\n}\n"
      "%q = for %k = 0i32 to %i step 0i32 (%s = %r) {\n yield %b\n}\n"
      "%w, %u = while (%s = %q, %go = false) {\n test %go\n} do {\n yield %b, %go\n}\n"
      "store %y[0i32], %w",
      "store %y[0i32], %a");
}

TEST(Fold, KnownAssertionsGo) { check("assert true, \"fine\"\nassert false, \"bad\"", "assert false, \"bad\""); }

TEST(Fold, LongInsertChainsStayLinear) {
  std::string text = "%v0 = splat vec<f32,3>, %a\n";
  for (int k = 0; k < 5000; ++k) {
    std::string prev = "%v" + std::to_string(k), next = "%v" + std::to_string(k + 1);
    text += next + " = insert " + prev + ", %b, [" + std::to_string(k % 2) + "]\n%e" + std::to_string(k) +
            " = extract " + next + "[2]\nstore %x[0i32], %e" + std::to_string(k) + "\n";
  }
  auto module = parse_ir(in_kernel(text));
  passes::fold(*module->functions.back());
  EXPECT_EQ(ir::verify(*module), "");
}

}  // namespace
}  // namespace weft::testing
