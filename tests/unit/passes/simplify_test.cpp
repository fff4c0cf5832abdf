// Exact algebra on IR text.
#include "passes/simplify.h"

#include "ir_text.h"
#include "passes/dce.h"

namespace weft::testing {
namespace {

void simplify(ir::Module& module) {
  for (auto& function : module.functions) passes::simplify(*function);
}
void simplify_and_sweep(ir::Module& module) {
  for (auto& function : module.functions) {
    passes::simplify(*function);
    passes::dce(*function);
  }
}
void check(const std::string& before, const std::string& after) {
  expect_rewrite(simplify_and_sweep, in_kernel(before), in_kernel(after));
}
void unchanged(const std::string& text) { expect_rewrite(simplify, in_kernel(text), in_kernel(text)); }

TEST(Simplify, IntegerIdentities) {
  check(
      "%1 = add %i, 0i32\n%2 = mul 1i32, %1\n%3 = sub %2, %2\n%4 = bit_xor %2, %3\n%5 = add %4, 3i32\n"
      "%6 = add %5, 4i32\nstore %n[0i32], %6",
      "%6 = add %i, 7i32\nstore %n[0i32], %6");
}

TEST(Simplify, FloatIdentitiesThatAreExact) {
  check(
      "%1 = mul %a, 1.0f32\n%2 = div %1, 1.0f32\n%3 = sub %2, 0.0f32\n%4 = add %3, -0.0f32\n%5 = neg %4\n%6 = neg %5\n"
      "store %x[0i32], %6",
      "store %x[0i32], %a");
}

TEST(Simplify, FloatIdentitiesThatAreNotStay) {
  unchanged(
      "%1 = add %a, 0.0f32\nstore %x[0i32], %1\n%2 = mul %a, 0.0f32\nstore %x[1i32], %2\n"
      "%3 = sub %a, %a\nstore %x[2i32], %3\n%4 = sub %a, -0.0f32\nstore %x[3i32], %4\n"
      "%5 = div %a, %a\nstore %x[4i32], %5\n%6 = eq %a, %a\n%7 = cast %6 : f32\nstore %x[5i32], %7\n"
      "%8 = lt %a, %b\n%9 = bit_not %8\n%10 = cast %9 : f32\nstore %x[6i32], %10");
}

TEST(Simplify, BoolAlgebra) {
  check(
      "%1 = eq %c, true\n%2 = bit_not %1\n%3 = bit_not %2\n%4 = select %3, true, false\n%5 = bit_and %4, true\n"
      "%6 = cast %5 : i32\nstore %n[0i32], %6",
      "%6 = cast %c : i32\nstore %n[0i32], %6");
}

TEST(Simplify, NegatedIntegerComparison) {
  check("%1 = lt %i, %j\n%2 = bit_not %1\n%3 = cast %2 : i32\nstore %n[0i32], %3",
        "%2 = ge %i, %j\n%3 = cast %2 : i32\nstore %n[0i32], %3");
}

TEST(Simplify, ShortIfBecomesSelect) {
  check("%r = if %c : f32 {\n %1 = add %a, %b\n yield %1\n} else {\n yield %b\n}\nstore %x[0i32], %r",
        "%1 = add %a, %b\n%r = select %c, %1, %b\nstore %x[0i32], %r");
}

TEST(Simplify, GuardedLoadsStayGuarded) {
  unchanged("%r = if %c : f32 {\n %1 = load %x[%i]\n yield %1\n} else {\n yield %b\n}\nstore %x[0i32], %r");
}

TEST(Simplify, ResultsThatAreNoChoice) {
  check(
      "%r, %s, %t, %u = if %c : f32, bool, bool, f32 {\n store %x[0i32], %a\n yield %a, true, false, %b\n} else {\n"
      " yield %a, false, true, %a\n}\n%1 = cast %s : f32\n%2 = cast %t : f32\nstore %y[0i32], %r\n"
      "store %y[1i32], %1\nstore %y[2i32], %2\nstore %y[3i32], %u",
      "%t = bit_not %c\n%u = if %c : f32 {\n store %x[0i32], %a\n yield %b\n} else {\n yield %a\n}\n"
      "%1 = cast %c : f32\n%2 = cast %t : f32\nstore %y[0i32], %a\n"
      "store %y[1i32], %1\nstore %y[2i32], %2\nstore %y[3i32], %u");
}

TEST(Simplify, CarriedValuesThatNeverChange) {
  check(
      "%r, %s = for %k = 0i32 to %i step 1i32 (%p = %a, %q = %b) {\n %1 = add %p, %q\n yield %p, %1\n}\n"
      "store %x[0i32], %r\nstore %x[1i32], %s",
      "%s = for %k = 0i32 to %i step 1i32 (%q = %b) {\n %1 = add %a, %q\n yield %1\n}\n"
      "store %x[0i32], %a\nstore %x[1i32], %s");
}

TEST(Simplify, CastChainsMergeOnlyWhereExact) {
  check(
      "%1 = cast %i : i64\n%2 = cast %1 : i32\nstore %n[0i32], %2\n%3 = cast %i : f64\n%4 = cast %3 : f32\n"
      "store %x[0i32], %4",
      "store %n[0i32], %i\n%4 = cast %i : f32\nstore %x[0i32], %4");
  unchanged("%1 = cast %i : f32\n%2 = cast %1 : i32\nstore %n[0i32], %2");                     // rounds
  unchanged("%1 = cast %i : u8\n%2 = cast %1 : i32\nstore %n[0i32], %2");                      // wraps
  unchanged("%1 = cast %i : f64\n%2 = cast %1 : i8\n%3 = cast %2 : i32\nstore %n[0i32], %3");  // saturates
}

TEST(Simplify, WrapGoesWhereTheIndexCantBeNegative) {
  check(
      "%t = tid 0\n%1 = load %x[%t~]\nstore %y[%t~], %1\n%2 = bit_and %i, 7i32\nstore %y[%2~], %a\n"
      "for %k = 0i32 to %i step 1i32 {\n store %y[%k~], %b\n yield\n}\nstore %y[%i~], %a\n"
      "%3 = sub %2, 1i32\nstore %y[%3~], %a",
      "%t = tid 0\n%1 = load %x[%t]\nstore %y[%t], %1\n%2 = bit_and %i, 7i32\nstore %y[%2], %a\n"
      "for %k = 0i32 to %i step 1i32 {\n store %y[%k], %b\n yield\n}\nstore %y[%i~], %a\n"
      "%3 = sub %2, 1i32\nstore %y[%3~], %a");
}

TEST(Simplify, WhileCountersAreNotNegative) {
  check(
      "%k, %s = while (%p = 0i32, %q = %c) {\n %1 = lt %p, %i\n %2 = bit_and %1, %q\n test %2\n} do {\n"
      " store %y[%p~], %a\n %3 = add %p, 1i32\n %4 = load %x[%p~]\n %5 = lt %4, %b\n yield %3, %5\n}",
      "%k, %s = while (%p = 0i32, %q = %c) {\n %1 = lt %p, %i\n %2 = bit_and %1, %q\n test %2\n} do {\n"
      " store %y[%p], %a\n %3 = add %p, 1i32\n %4 = load %x[%p]\n %5 = lt %4, %b\n yield %3, %5\n}");
}

TEST(Simplify, ViewsMergeIntoAccesses) {
  check("%v = view %m[%i~]\n%1 = load %v[%j]\nstore %v[%j~], %1\n%2 = dim %v, 0 : i32\nstore %n[0i32], %2",
        "%1 = load %m[%i~, %j]\nstore %m[%i~, %j~], %1\n%2 = dim %m, 1 : i32\nstore %n[0i32], %2");
}

TEST(Simplify, InsertsThatChangeNothing) {
  check(
      "%v = splat vec<f32,3>, %a\n%e = extract %v[%i~]\n%w = insert %v, %e, [%i~]\n%u = insert %w, %b, [1]\n"
      "%t = insert %u, %a, [1]\n%s = extract %t[%j]\nstore %x[0i32], %s",
      "%v = splat vec<f32,3>, %a\n%t = insert %v, %a, [1]\n%s = extract %t[%j]\nstore %x[0i32], %s");
}

}  // namespace
}  // namespace weft::testing
