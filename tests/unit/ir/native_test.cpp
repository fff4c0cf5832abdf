// Native functions in the IR: their C++ travels with text and copies, and nothing may drop or move a call of one.
#include "ir/clone.h"
#include "ir/walk.h"
#include "util.h"

namespace weft::ir {
namespace {

const char* kProgram =
    "func @n(%x: f32) -> (f32) native \"return x + \\\"1\\\"[0];\\n\" {\n  return 0.0f32\n}\n"
    "kernel @k(%a: array<f32,1>) form(rank 1) {\n  %i = tid 0\n  %v = load %a[%i]\n  %w = call @n(%v)\n"
    "  store %a[%i], %w\n  return\n}\n";

TEST(Native, TextRoundTripsAndCopies) {
  auto module = parsed(kProgram);
  EXPECT_EQ(print(*module), kProgram);
  EXPECT_EQ(module->find("n")->native, "return x + \"1\"[0];\n");
  EXPECT_EQ(print(*clone(*module)), kProgram);
  EXPECT_EQ(verify(*module), "");
}

TEST(Native, CallsAreNeitherPureNorRemovable) {
  auto module = parsed(kProgram);
  int calls = 0;
  walk(*module->find("k")->body, [&](const Op& op) {
    if (op.code != OpCode::call) return;
    ++calls;
    EXPECT_FALSE(is_pure(op));
    EXPECT_FALSE(is_removable(op));
  });
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace weft::ir
