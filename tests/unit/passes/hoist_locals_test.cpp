// hoist_locals: private arrays leave the branches that let them out.
#include "passes/hoist_locals.h"

#include "ir_text.h"

namespace weft::testing {
namespace {

void hoist(ir::Module& module) {
  for (auto& function : module.functions) passes::hoist_locals(*function);
}

TEST(HoistLocals, AnArrayOfOneSideIsTheArray) {
  expect_rewrite(hoist,
                 in_kernel("%k, %p = if %c : i32, array<f32,1> {\n  yield 1i32, zero array<f32,1>\n} else {\n"
                           "  %own = local : array<f32,1> [4]\n  store %own[%i], %a\n  yield 2i32, %own\n}\n"
                           "%v = load %p[%k]\nstore %x[%i], %v"),
                 in_kernel("%own = local : array<f32,1> [4]\n"
                           "%k = if %c : i32 {\n  yield 1i32\n} else {\n  store %own[%i], %a\n  yield 2i32\n}\n"
                           "%v = load %own[%k]\nstore %x[%i], %v"));
}

TEST(HoistLocals, NestedBranchesLetItOutOneByOne) {
  expect_rewrite(
      hoist,
      in_kernel("%d = gt %i, 1i32\n"
                "%p = if %c : array<f32,1> {\n  yield zero array<f32,1>\n} else {\n"
                "  %q = if %d : array<f32,1> {\n    %own = local : array<f32,1> [4]\n    store %own[%i], %a\n"
                "    yield %own\n  } else {\n    yield zero array<f32,1>\n  }\n  yield %q\n}\n"
                "%v = load %p[0i32]\nstore %x[%i], %v"),
      in_kernel("%d = gt %i, 1i32\n%own = local : array<f32,1> [4]\n"
                "if %c {\n  yield\n} else {\n  if %d {\n    store %own[%i], %a\n    yield\n  } else {\n"
                "    yield\n  }\n  yield\n}\n"
                "%v = load %own[0i32]\nstore %x[%i], %v"));
}

TEST(HoistLocals, AChoiceStaysAChoice) {
  expect_rewrite(hoist,
                 in_kernel("%p = if %c : array<f32,1> {\n  %own = local : array<f32,1> [4]\n  yield %own\n} else {\n"
                           "  %k = local : array<f32,1> [4]\n  yield %k\n}\nstore %p[0i32], %a"),
                 in_kernel("%own = local : array<f32,1> [4]\n%k = local : array<f32,1> [4]\n"
                           "%p = if %c : array<f32,1> {\n  yield %own\n} else {\n  yield %k\n}\nstore %p[0i32], %a"));
}

TEST(HoistLocals, WhoeverAsksForTheLengthMustBeTold) {
  const std::string asked = in_kernel(
      "%own = local : array<f32,1> [4]\n"
      "%p = if %c : array<f32,1> {\n  yield zero array<f32,1>\n} else {\n  yield %own\n}\n"
      "%k = dim %p, 0 : i32\nstore %x[%k], %a");
  expect_rewrite(hoist, asked, asked);
}

TEST(HoistLocals, WhatStaysInsideStays) {
  const std::string inside = in_kernel(
      "%v = if %c : f32 {\n  %own = local : array<f32,1> [4]\n  store %own[%i], %a\n"
      "  %w = load %own[0i32]\n  yield %w\n} else {\n  yield 0.0f32\n}\nstore %x[%i], %v");
  expect_rewrite(hoist, inside, inside);
}

}  // namespace
}  // namespace weft::testing
