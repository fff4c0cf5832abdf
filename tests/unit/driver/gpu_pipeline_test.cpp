// What the whole pipeline makes of private arrays for a GPU: memory that is not cleared in vain, or none at all.
#include <gtest/gtest.h>

#include "codegen/codegen.h"
#include "driver/pipeline.h"
#include "ir/text.h"

namespace weft::driver {
namespace {

std::string ptx(const std::string& text) {
  DiagnosticSink sink;
  auto module = ir::parse_module(std::make_shared<SourceFile>("test.wir", text), sink);
  EXPECT_TRUE(module) << sink.render_all();
  if (!module) return {};
  CompileOptions options;
  options.gpu.target = true;
  optimize(*module, options);
  codegen::EmitOptions emitted;
  emitted.verify = true;
  return codegen::emit(*module, *module->functions.back(), codegen::nvptx_target(80), emitted, codegen::Output::ptx)
      .bytes;
}

int count(const std::string& text, const std::string& piece) {
  int found = 0;
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++found;
  return found;
}

/// Walks a tree of numbers with a stack; `first` is where its root is put.
std::string tree_walk(const std::string& first) {
  return R"(kernel @k(%x: array<i32,1>, %y: array<i32,1>, %leaves: i32) form(no_overlap, rank 1) {
  %i = tid 0
  %stack = local : array<i32,1> [32]
  store %stack[)" +
         first + R"(], 1i32
  %depth, %found = while (%d1 = 1i32, %f1 = 0i32) {
    %t = gt %d1, 0i32
    test %t
  } do {
    %d2 = sub %d1, 1i32
    %node = load %stack[%d2~]
    %v = load %x[%node~]
    %f2 = add %f1, %v
    %inner = lt %node, %leaves
    %d3 = if %inner : i32 {
      %l = mul %node, 2i32
      store %stack[%d2~], %l
      %r = add %l, 1i32
      %e = add %d2, 1i32
      store %stack[%e~], %r
      %d4 = add %d2, 2i32
      yield %d4
    } else {
      yield %d2
    }
    yield %d3, %f2
  }
  store %y[%i], %found
  return
}
)";
}

TEST(GpuPipeline, StacksAreNotCleared) {
  const std::string code = ptx(tree_walk("0i32"));
  EXPECT_EQ(count(code, ".local .align"), 1) << code;
  EXPECT_EQ(count(code, "st.local.v4"), 0) << code;
  EXPECT_EQ(count(ptx(tree_walk("1i32")), "st.local.v4"), 8) << "the first element is read before it is written";
}

TEST(GpuPipeline, ShortListsLiveInRegisters) {
  const std::string code = ptx(R"(kernel @k(%x: array<f32,2>, %y: array<f32,2>, %n: i32) form(no_overlap, rank 1) {
  %i = tid 0
  %best = local : array<f32,1> [4]
  for %k0 = 0i32 to 4i32 step 1i32 {
    store %best[%k0], 1e+30f32
    yield
  }
  for %j = 0i32 to %n step 1i32 {
    %d = load %x[%j, %i]
    %most = load %best[3i32]
    %c = lt %d, %most
    if %c {
      %k, %go = while (%k1 = 3i32, %go1 = true) {
        test %go1
      } do {
        %p = gt %k1, 0i32
        %q = if %p : bool {
          %l = sub %k1, 1i32
          %o = load %best[%l~]
          %r = gt %o, %d
          yield %r
        } else {
          yield false
        }
        %k2 = if %q : i32 {
          %l2 = sub %k1, 1i32
          %o2 = load %best[%l2~]
          store %best[%k1~], %o2
          yield %l2
        } else {
          yield %k1
        }
        yield %k2, %q
      }
      store %best[%k~], %d
      yield
    } else {
      yield
    }
    yield
  }
  for %m = 0i32 to 4i32 step 1i32 {
    %b = load %best[%m]
    store %y[%m, %i], %b
    yield
  }
  return
}
)");
  EXPECT_EQ(count(code, "local"), 0) << code;
  EXPECT_EQ(count(code, "st.global"), 4) << code;
}

}  // namespace
}  // namespace weft::driver
