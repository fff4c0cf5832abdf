// Rewrites behind differentiation: roots without guards, loops split by the sign of their index.
#include "ir_text.h"
#include "passes/plain_roots.h"
#include "passes/split_signs.h"

namespace weft::testing {
namespace {

void roots(ir::Module& module) {
  for (auto& function : module.functions) passes::plain_roots(*function);
}

/// What dead code is left does not matter here.
int count(const std::string& text, const std::string& piece) {
  int found = 0;
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++found;
  return found;
}

TEST(PlainRoots, GuardedRootsLoseTheGuard) {
  const std::string guard = "%z = eq %a, 0.0f32\n%s = select %z, 1.0f32, %a\n%r = sqrt %s\n%t = select %z, %a, %r\n";
  expect_rewrite(
      roots, in_kernel(guard + "store %x[0i32], %t"),
      in_kernel("%z = eq %a, 0.0f32\n%s = select %z, 1.0f32, %a\n%r = sqrt %s\n%t = sqrt %a\nstore %x[0i32], %t"));
  const std::string used = in_kernel(guard + "store %x[0i32], %t\nstore %x[1i32], %r");
  expect_rewrite(roots, used, used);  // the root is there anyway
  const std::string other = in_kernel(
      "%z = eq %b, 0.0f32\n%s = select %z, 1.0f32, %a\n%r = sqrt %s\n%t = select %z, %a, %r\n"
      "store %x[0i32], %t");
  expect_rewrite(roots, other, other);
}

std::string loop(const std::string& lo, const std::string& body) {
  return "kernel @k(%x: array<f32,1>, %y: array<f32,1>, %lo: i32, %hi: i32) form(no_overlap, rank 1) {\n  %i = tid 0\n"
         "  %s = for %j = " +
         lo + " to %hi step 1i32 (%c = 0.0f32) {\n" + body +
         "    %v = load %x[%j~]\n    %d = add %c, %v\n    yield %d\n  }\n  store %y[%i], %s\n  return\n}\n";
}

std::string split(const std::string& text) {
  auto module = parse_ir(text);
  passes::split_signs(*module->functions.back());
  EXPECT_EQ(ir::verify(*module), "");
  return ir::print(*module);
}

TEST(SplitSigns, LoopsThatMayBeginBelowZero) {
  const std::string code = split(loop("%lo", ""));
  EXPECT_EQ(count(code, "= for "), 2) << code;
  EXPECT_EQ(count(code, "~]"), 1) << code;
  EXPECT_EQ(count(code, "ge %lo, 0i32"), 1) << code;
  EXPECT_EQ(split(code), code) << "once is enough";
}

TEST(SplitSigns, ALoopThatUsesAnothersResult) {
  const std::string code = split(
      "kernel @k(%x: array<f32,1>, %y: array<f32,1>, %lo: i32, %hi: i32) form(no_overlap, rank 1) {\n  %i = tid 0\n"
      "  %s = for %j = %lo to %hi step 1i32 (%c = 0.0f32) {\n    %v = load %x[%j~]\n    %d = add %c, %v\n"
      "    yield %d\n  }\n  %t = for %k = %lo to %hi step 1i32 (%e = 0.0f32) {\n    %w = load %x[%k~]\n"
      "    %f = fma %w, %s, %e\n    yield %f\n  }\n  store %y[%i], %t\n  return\n}\n");
  EXPECT_EQ(count(code, "= for "), 4) << code;
}

TEST(SplitSigns, OtherLoopsStay) {
  EXPECT_EQ(count(split(loop("0i32", "")), "= for "), 1);
  EXPECT_EQ(count(split(loop("%i", "")), "= for "), 1) << "a thread's index is not negative";
  std::string much;
  for (int k = 0; k < 60; ++k) much += "    %q" + std::to_string(k) + " = add %c, " + std::to_string(k) + ".0f32\n";
  EXPECT_EQ(count(split(loop("%lo", much)), "= for "), 1) << "large";
}

}  // namespace
}  // namespace weft::testing
