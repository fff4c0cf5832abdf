// cse, dce and licm on IR text, with may-alias in view.
#include "ir_text.h"
#include "passes/cse.h"
#include "passes/dce.h"
#include "passes/licm.h"

namespace weft::testing {
namespace {

template <bool (*pass)(ir::Function&, analysis::Effects*)>
void run(ir::Module& module) {
  for (auto& function : module.functions) pass(*function, nullptr);
}

const std::string kMayOverlap = "form(rank 1)";

TEST(Cse, MergesEqualAndCommutedWork) {
  expect_rewrite(
      run<passes::cse>,
      in_kernel("%1 = add %a, %b\n%2 = add %b, %a\n%3 = mul %1, %2\nif %c {\n %4 = add %a, %b\n"
                " store %x[0i32], %4\n yield\n} else {\n yield\n}\nstore %x[1i32], %3"),
      in_kernel("%1 = add %a, %b\n%3 = mul %1, %1\nif %c {\n store %x[0i32], %1\n yield\n} else {\n yield\n}\n"
                "store %x[1i32], %3"));
}

TEST(Cse, ValuesOfARegionStayInIt) {
  std::string text = in_kernel(
      "if %c {\n %1 = add %a, %b\n store %x[0i32], %1\n yield\n} else {\n %2 = add %a, %b\n"
      " store %x[1i32], %2\n yield\n}\n"
      "%3 = add %a, %b\nstore %x[2i32], %3");
  expect_rewrite(run<passes::cse>, text, text);
}

TEST(Cse, LoadsAcrossStores) {
  std::string before = "%1 = load %x[%i]\nstore %y[%i], %a\n%2 = load %x[%i]\n%3 = add %1, %2\nstore %y[%j], %3";
  expect_rewrite(run<passes::cse>, in_kernel(before),
                 in_kernel("%1 = load %x[%i]\nstore %y[%i], %a\n%3 = add %1, %1\nstore %y[%j], %3"));
  // The same array may have been passed twice.
  expect_rewrite(run<passes::cse>, in_kernel(before, kMayOverlap), in_kernel(before, kMayOverlap));
}

TEST(Cse, StoredValuesAreForwarded) {
  expect_rewrite(run<passes::cse>, in_kernel("store %x[%i], %a\n%1 = load %x[%i]\nstore %y[0i32], %1", kMayOverlap),
                 in_kernel("store %x[%i], %a\nstore %y[0i32], %a", kMayOverlap));
}

TEST(Cse, LoopsForgetWhatTheyWrite) {
  std::string text = in_kernel(
      "%1 = load %x[0i32]\nstore %y[0i32], %1\nfor %k = 0i32 to %i step 1i32 {\n %2 = load %x[0i32]\n %3 = add %2, %a\n"
      " store %x[0i32], %3\n yield\n}");
  expect_rewrite(run<passes::cse>, text, text);
}

TEST(Cse, LocalsAreApartFromEverything) {
  expect_rewrite(
      run<passes::cse>,
      in_kernel(
          "%l = local : array<f32,1> [4]\n%1 = load %x[%i]\nstore %l[%j], %1\n%2 = load %x[%i]\nstore %y[0i32], %2\n"
          "%3 = load %l[%i]\nstore %y[1i32], %3",
          kMayOverlap),
      in_kernel("%l = local : array<f32,1> [4]\n%1 = load %x[%i]\nstore %l[%j], %1\nstore %y[0i32], %1\n"
                "%3 = load %l[%i]\nstore %y[1i32], %3",
                kMayOverlap));
}

TEST(Cse, DescriptorsFromMemoryMayPointAnywhere) {
  std::string text =
      "struct %S { d: array<f32,1> }\nkernel @k(%x: array<f32,1>, %s: array<%S,1>) form(no_overlap, rank 1) {\n"
      "%1 = load %x[0i32]\n%d = load %s[0i32].0\nstore %d[0i32], 1.0f32\n%2 = load %x[0i32]\n%3 = add %1, %2\n"
      "store %x[1i32], %3\nreturn\n}\n";
  expect_rewrite(run<passes::cse>, text, text);
}

TEST(Cse, FieldsOfAStructParameterAreParameters) {
  auto program = [](const std::string& body) {
    return "struct %S { a: array<f32,1>, b: array<f32,1> }\nkernel @k(%s: %S) form(no_overlap, rank 1) {\n"
           "%p = extract %s.0\n%q = extract %s.1\n" +
           body + "return\n}\n";
  };
  expect_rewrite(run<passes::cse>,
                 program("%1 = load %p[0i32]\nstore %q[0i32], %1\n%2 = load %p[0i32]\nstore %q[1i32], %2\n"),
                 program("%1 = load %p[0i32]\nstore %q[0i32], %1\nstore %q[1i32], %1\n"));
  // Chosen by a select, it may be either.
  std::string chosen = program(
      "%n = nonnull %p\n%r = select %n, %p, %q\n%1 = load %p[0i32]\nstore %r[0i32], 2.0f32\n%2 = load %p[0i32]\n"
      "%3 = add %1, %2\nstore %q[1i32], %3\n");
  expect_rewrite(run<passes::cse>, chosen, chosen);
}

TEST(Cse, CallsThatWriteEndLoads) {
  auto program = [](const std::string& body) {
    return "func @set(%x: array<f32,1>) {\nstore %x[0i32], 1.0f32\nreturn\n}\n"
           "func @twice(%v: f32) -> (f32) {\n%r = add %v, %v\nreturn %r\n}\n"
           "kernel @k(%x: array<f32,1>, %y: array<f32,1>) form(no_overlap, rank 1) {\n" +
           body + "return\n}\n";
  };
  std::string writes =
      program("%1 = load %x[0i32]\ncall @set(%x)\n%2 = load %x[0i32]\n%3 = add %1, %2\nstore %y[0i32], %3\n");
  expect_rewrite(run<passes::cse>, writes, writes);
  expect_rewrite(
      run<passes::cse>,
      program("%1 = load %x[0i32]\ncall @set(%y)\n%2 = load %x[0i32]\n%3 = call @twice(%1)\n%4 = call @twice(%2)\n"
              "%5 = add %3, %4\nstore %y[0i32], %5\n"),
      program("%1 = load %x[0i32]\ncall @set(%y)\n%3 = call @twice(%1)\n%5 = add %3, %3\nstore %y[0i32], %5\n"));
}

TEST(Dce, DropsUnusedWorkAndSelfFeedingValues) {
  expect_rewrite(
      run<passes::dce>,
      in_kernel("%1 = load %x[0i32]\n%2 = sin %1\n"
                "%r, %s = for %k = 0i32 to %i step 1i32 (%p = %a, %q = %b) {\n %3 = add %p, %p\n %4 = add %q, %a\n"
                " yield %3, %4\n}\nstore %x[0i32], %s"),
      in_kernel("%s = for %k = 0i32 to %i step 1i32 (%q = %b) {\n %4 = add %q, %a\n yield %4\n}\n"
                "store %x[0i32], %s"));
}

TEST(Dce, CarriedValuesNeededByTheTestStay) {
  std::string text = in_kernel(
      "%r, %s = while (%p = 0i32, %q = %a) {\n %1 = lt %p, %i\n test %1\n} do {\n %2 = add %p, 1i32\n %3 = add %q, %b\n"
      " yield %2, %3\n}\nstore %x[0i32], %s");
  expect_rewrite(run<passes::dce>, text, text);
}

TEST(Dce, EffectsKeepTheirSurroundings) {
  std::string text = in_kernel(
      "if %c {\n for %k = 0i32 to %i step 1i32 {\n  print \"x\", %k\n  yield\n }\n yield\n} else {\n yield\n}");
  expect_rewrite(run<passes::dce>, text, text);
}

TEST(Dce, UnreadLocalsGoWithTheirStores) {
  expect_rewrite(run<passes::dce>, in_kernel("%l = local : array<f32,1> [4]\nstore %l[0i32], %a\nstore %x[0i32], %b"),
                 in_kernel("store %x[0i32], %b"));
}

TEST(Licm, MovesPureWorkOutOfAllLoops) {
  expect_rewrite(run<passes::licm>,
                 in_kernel("for %k = 0i32 to %i step 1i32 {\n for %l = 0i32 to %j step 1i32 {\n  %1 = mul %a, %b\n"
                           "  %2 = add %k, 1i32\n  store %x[%2], %1\n  yield\n }\n yield\n}"),
                 in_kernel("%1 = mul %a, %b\nfor %k = 0i32 to %i step 1i32 {\n %2 = add %k, 1i32\n"
                           " for %l = 0i32 to %j step 1i32 {\n  store %x[%2], %1\n  yield\n }\n yield\n}"));
}

TEST(Licm, LoadsLeaveOnlyLoopsThatRunAndDoNotWrite) {
  auto loop = [](const std::string& before, const std::string& in, const std::string& hi) {
    return before + "%s = for %k = 0i32 to " + hi + " step 1i32 (%p = %a) {\n " + in +
           " %2 = add %p, %1\n store %y[%k], %2\n yield %2\n}";
  };
  std::string load = "%1 = load %x[%i]\n";
  expect_rewrite(run<passes::licm>, in_kernel(loop("", load, "4i32")), in_kernel(loop(load, "", "4i32")));
  expect_rewrite(run<passes::licm>, in_kernel(loop("", load, "%j")), in_kernel(loop("", load, "%j")));
  expect_rewrite(run<passes::licm>, in_kernel(loop("", load, "4i32"), kMayOverlap),
                 in_kernel(loop("", load, "4i32"), kMayOverlap));
}

TEST(Licm, TestsAlwaysRunOnce) {
  expect_rewrite(run<passes::licm>,
                 in_kernel("%k = while (%p = 0i32) {\n %1 = load %n[0i32]\n %2 = lt %p, %1\n test %2\n} do {\n"
                           " %3 = add %p, 1i32\n yield %3\n}\nstore %n[0i32], %k"),
                 in_kernel("%1 = load %n[0i32]\n%k = while (%p = 0i32) {\n %2 = lt %p, %1\n test %2\n} do {\n"
                           " %3 = add %p, 1i32\n yield %3\n}\nstore %n[0i32], %k"));
}

}  // namespace
}  // namespace weft::testing
