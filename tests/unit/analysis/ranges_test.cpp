// What tests of branches and loops say about the sign of an index.
#include "analysis/ranges.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/walk.h"

namespace weft::analysis {
namespace {

/// Whether the stored index is known not to be negative; it is computed by `body` from parameters %a and %b.
bool known(const std::string& body) {
  const std::string text =
      "func @f(%a: i32, %b: vec<f32,3>) -> (bool) {\nreturn true\n}\n"
      "kernel @k(%x: array<i32,1>, %a: i32, %b: i32, %n: i32) form(rank 1) {\n%i = tid 0\n" +
      body + "return\n}\n";
  DiagnosticSink sink;
  auto module = ir::parse_module(std::make_shared<SourceFile>("test.wir", text), sink);
  if (!module) {
    ADD_FAILURE() << sink.render_all();
    return false;
  }
  const ir::Function& kernel = *module->functions.back();
  const Ranges ranges(kernel);
  const ir::Value* index = nullptr;
  ir::walk(*kernel.body, [&](const ir::Op& op) {
    if (op.code == ir::OpCode::store) index = op.indices()[0];
  });
  return index && ranges.never_negative(index);
}

std::string under(const std::string& test, bool holds, const std::string& index) {
  const std::string inside = index + "store %x[%k~], 1i32\nyield\n";
  return test + "if %t {\n" + (holds ? inside : "yield\n") + "} else {\n" + (holds ? "yield\n" : inside) + "}\n";
}

TEST(Ranges, BehindATest) {
  EXPECT_TRUE(known(under("%t = eq %i, 0i32\n", false, "%k = sub %i, 1i32\n")));
  EXPECT_FALSE(known(under("%t = eq %i, 0i32\n", true, "%k = sub %i, 1i32\n")));
  EXPECT_FALSE(known(under("%t = eq %i, 1i32\n", false, "%k = sub %i, 1i32\n")));
  EXPECT_FALSE(known(under("%t = eq %a, 0i32\n", false, "%k = sub %a, 1i32\n"))) << "may be negative";
  EXPECT_TRUE(known(under("%t = gt %a, 3i32\n", true, "%k = sub %a, 4i32\n")));
  EXPECT_FALSE(known(under("%t = gt %a, 3i32\n", true, "%k = sub %a, 5i32\n")));
  EXPECT_TRUE(known(under("%t = lt %a, 2i32\n", false, "%k = sub %a, 2i32\n")));
  EXPECT_TRUE(known(under("%t = ge %a, %i\n", true, "%k = add %a, 0i32\n")));
  EXPECT_TRUE(known(under("%t = le %i, %a\n", true, "%k = add %a, 0i32\n")));
  EXPECT_TRUE(known(under("%t = eq %a, %i\n", true, "%k = add %a, 0i32\n")));
  EXPECT_FALSE(known(under("%t = ne %a, %i\n", true, "%k = add %a, 0i32\n")));
}

TEST(Ranges, BehindAnythingElse) {
  const std::string call = "%t = call @f(%a, zero vec<f32,3>)\n";
  EXPECT_FALSE(known(under(call, true, "%k = add %a, 0i32\n")));
  EXPECT_FALSE(known(under(call, false, "%k = add %a, 0i32\n")));
}

TEST(Ranges, BehindSeveralTests) {
  const std::string two = "%p = eq %i, 0i32\n%q = lt %a, 1i32\n";
  EXPECT_TRUE(known(under(two + "%t = bit_or %p, %q\n", false, "%k = sub %a, 1i32\n")));
  EXPECT_FALSE(known(under(two + "%t = bit_or %p, %q\n", true, "%k = sub %a, 1i32\n")));
  EXPECT_FALSE(known(under(two + "%t = bit_and %p, %q\n", false, "%k = sub %a, 1i32\n")));
  EXPECT_TRUE(known(under(two + "%u = bit_not %q\n%t = bit_and %u, %p\n", true, "%k = sub %a, 1i32\n")));
  const std::string both =
      "%p = gt %a, 0i32\n%t = if %p : bool {\n%q = lt %a, %b\nyield %q\n} else {\nyield false\n}\n";
  EXPECT_TRUE(known(under(both, true, "%k = sub %a, 1i32\n"))) << "Python's and";
  EXPECT_FALSE(known(under(both, false, "%k = sub %a, 1i32\n")));
  const std::string either = "%p = lt %a, 1i32\n%q = lt %a, %b\n%t = select %p, true, %q\n";
  EXPECT_TRUE(known(under(either, false, "%k = sub %a, 1i32\n"))) << "Python's or";
}

TEST(Ranges, OutsideOfTheTest) {
  EXPECT_FALSE(known("%k = sub %i, 1i32\n" + under("%t = eq %i, 0i32\n", false, "")));
  EXPECT_FALSE(
      known(under("%t = eq %i, 0i32\n", false, "%k = sub %i, 1i32\n") + "%m = sub %i, 1i32\nstore %x[%m~], 1i32\n"));
}

std::string stack(const std::string& first, const std::string& test, const std::string& next) {
  return "%d = while (%e = " + first + ") {\n%t = " + test + "\ntest %t\n} do {\n" + next + "yield %f\n}\n";
}

TEST(Ranges, CarriedByLoops) {
  EXPECT_TRUE(known(stack("1i32", "gt %e, 0i32", "%k = sub %e, 1i32\nstore %x[%k~], 1i32\n%f = add %k, 2i32\n")))
      << "whatever it is next, the test says that it is above zero";
  EXPECT_FALSE(known(stack("1i32", "gt %e, -1i32", "%k = sub %e, 1i32\nstore %x[%k~], 1i32\n%f = add %k, 0i32\n")));
  // Goes down to zero, and not below.
  const std::string down = "%g = gt %e, 0i32\n%f = if %g : i32 {\n%h = sub %e, 1i32\nyield %h\n} else {\nyield %e\n}\n";
  EXPECT_TRUE(known(stack("7i32", "lt %e, %n", "store %x[%e~], 1i32\n" + down)));
  EXPECT_TRUE(known(stack("7i32", "lt %e, %n", down) + "store %x[%d~], 1i32\n"));
  EXPECT_FALSE(known(stack("%a", "lt %e, %n", "store %x[%e~], 1i32\n" + down)));
  EXPECT_FALSE(known(stack("7i32", "lt %e, %n", "store %x[%e~], 1i32\n%f = sub %e, 1i32\n")));
  EXPECT_TRUE(
      known("%r = for %j = 0i32 to %n step 1i32 (%e = 2i32) {\nstore %x[%e~], 1i32\n%g = rem %e, 7i32\nyield %g\n}\n"));
  EXPECT_FALSE(
      known("%r = for %j = 0i32 to %n step 1i32 (%e = 2i32) {\nstore %x[%e~], 1i32\n%g = mul %e, 7i32\nyield %g\n}\n"))
      << "overflows";
}

TEST(Ranges, SuppositionsThatFailOneAfterTheOther) {
  EXPECT_FALSE(
      known("%r, %s, %t = for %j = 0i32 to %n step 1i32 (%e = 1i32, %f = 1i32, %g = 1i32) {\n"
            "store %x[%e~], 1i32\n%h = add %f, 0i32\n%k = add %g, 0i32\nyield %h, %k, %a\n}\n"));
}

}  // namespace
}  // namespace weft::analysis
