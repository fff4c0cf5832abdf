// The numerics contract's fusing rules on IR text.
#include "passes/contract.h"

#include "ir_text.h"

namespace weft::testing {
namespace {

void contract(ir::Module& module) {
  for (auto& function : module.functions) passes::contract(*function);
}
void check(const std::string& before, const std::string& after) {
  expect_rewrite(contract, in_kernel(before), in_kernel(after));
}

TEST(Contract, ProductPlusAddend) {
  check(
      "%1 = mul %a, %b\n%2 = add %1, 1.0f32\n%3 = mul %a, %a\n%4 = add 2.0f32, %3\nstore %x[0i32], %2\n"
      "store %x[1i32], %4",
      "%2 = fma %a, %b, 1.0f32\n%4 = fma %a, %a, 2.0f32\nstore %x[0i32], %2\nstore %x[1i32], %4");
}

TEST(Contract, TheLeftProductFuses) {
  check("%1 = mul %a, %b\n%2 = mul %b, %b\n%3 = add %1, %2\nstore %x[0i32], %3",
        "%2 = mul %b, %b\n%3 = fma %a, %b, %2\nstore %x[0i32], %3");
}

TEST(Contract, Differences) {
  check(
      "%1 = mul %a, %b\n%2 = sub %1, 1.0f32\n%3 = mul %a, %a\n%4 = sub %b, %3\n%5 = mul %b, %b\n%6 = sub %5, %a\n"
      "store %x[0i32], %2\nstore %x[1i32], %4\nstore %x[2i32], %6",
      "%2 = fma %a, %b, -1.0f32\n%n1 = neg %a\n%4 = fma %n1, %a, %b\n%n2 = neg %a\n%6 = fma %b, %b, %n2\n"
      "store %x[0i32], %2\nstore %x[1i32], %4\nstore %x[2i32], %6");
}

TEST(Contract, ProductsWithOtherUsesAndIntegersStay) {
  std::string text =
      "%1 = mul %a, %b\n%2 = add %1, %a\nstore %x[0i32], %1\nstore %x[1i32], %2\n%3 = mul %a, %a\n%4 = add %3, %3\n"
      "store %x[2i32], %4\n%5 = mul %i, %j\n%6 = add %5, %i\nstore %n[0i32], %6";
  check(text, text);
}

TEST(Contract, AProductOfSeveralSumsFusesIntoEach) {
  check("%1 = mul %a, %b\n%2 = add %1, %a\n%3 = sub %b, %1\nstore %x[0i32], %2\nstore %x[1i32], %3",
        "%2 = fma %a, %b, %a\n%n1 = neg %a\n%3 = fma %n1, %b, %b\nstore %x[0i32], %2\nstore %x[1i32], %3");
  // Where another product stands left of it, it is wanted as it is, and there for that.
  check("%1 = mul %a, %b\n%2 = mul %b, %b\n%3 = add %2, %1\n%4 = add %1, %a\nstore %x[0i32], %3\nstore %x[1i32], %4",
        "%1 = mul %a, %b\n%3 = fma %b, %b, %1\n%4 = fma %a, %b, %a\nstore %x[0i32], %3\nstore %x[1i32], %4");
}

TEST(Contract, CompositesScalesAndWholeProducts) {
  check(
      "%v = splat vec<f32,3>, %a\n%1 = scale %v, %b\n%2 = add %1, %v\n%3 = scale %2, %a\n%4 = sub %v, %3\n"
      "%5 = dot %4, %v\n"
      "store %x[0i32], %5",
      "%v = splat vec<f32,3>, %a\n%2 = fma %v, %b, %v\n%n1 = neg %a\n%4 = fma %2, %n1, %v\n%5 = dot(contract) %4, %v\n"
      "store %x[0i32], %5");
}

}  // namespace
}  // namespace weft::testing
