// What the instructions of GPU kernels look like: 32-bit products for addresses, constants in addresses, wide fills of
// private memory, functions inlined, minima and maxima of floats without a swap where nothing changes.
#include <gtest/gtest.h>

#include "harness.h"
#include "ptxas.h"

namespace weft::codegen::test {
namespace {

std::string ptx(const std::string& text) {
  Program program(text);
  EmitOptions options;
  options.verify = true;
  std::string code = emit(*program.module, program.kernel(), nvptx_target(80), options, Output::ptx).bytes;
  assemble(code, 80);
  return code;
}

int count(const std::string& text, const std::string& piece) {
  int found = 0;
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++found;
  return found;
}

std::string around(const std::string& form) {
  return "kernel @k(%x: array<f32,2>, %y: array<f32,2>) form(" + form + R"() {
  %i = tid 0
  %j = tid 1
  %n = dim %x, 0 : i32
  %c = lt %i, %n
  if %c {
    %up = add %i, 1i32
    %right = add %j, 1i32
    %down = sub %i, 1i32
    %a = load %x[%i~, %j~]
    %b = load %x[%up~, %j~]
    %d = load %x[%i~, %right~]
    %e = load %x[%down~, %j~]
    %ab = add %a, %b
    %de = add %d, %e
    %s = add %ab, %de
    store %y[%i~, %j~], %s
    yield
  } else {
    yield
  }
  return
}
)";
}

TEST(NvptxCode, StridesOfArgumentsHave32Bits) {
  const std::string small = ptx(around("no_overlap, rank 2"));
  // What is left of 64-bit products and selects are the indices of launches of 2^31 threads and more.
  EXPECT_EQ(count(small.substr(small.find("ld.global")), "mul.lo.s64"), 0);
  EXPECT_EQ(count(small, "selp.b64"), 0) << "negative indices are told by 32 bits";
  const std::string strided = ptx(around("no_overlap, strided, rank 2"));
  EXPECT_GT(count(strided.substr(strided.find("ld.global")), "mul.lo.s64"), 0) << "the form for large arrays";
}

TEST(NvptxCode, NeighboursShareAddresses) {
  const std::string code = ptx(around("no_overlap, rank 2"));
  EXPECT_EQ(count(code, "+4];"), 1) << "one to the right";
  // Products with the stride of x: of the index, and of the one before it, which may be negative.
  EXPECT_EQ(count(code.substr(code.find("ld.global")), "mul.wide.s32"), 2);
}

TEST(NvptxCode, PrivateArraysAreFilledWide) {
  auto text = [](int n) {
    return "kernel @k(%x: array<i32,1>, %y: array<i32,1>) form(no_overlap, rank 1) {\n  %i = tid 0\n"
           "  %own = local : array<i32,1> [" +
           std::to_string(n) + R"(]
  %a = load %x[%i]
  store %own[%a~], %i
  %b = load %x[%a~]
  %c = load %own[%b~]
  store %y[%i], %c
  return
}
)";
  };
  EXPECT_EQ(count(ptx(text(32)), "st.local.v4.u32"), 8);
  EXPECT_EQ(count(ptx(text(1000)), "st.local.v4.u32"), 1) << "a loop";
  EXPECT_EQ(count(ptx(text(1000)), "st.local.u8"), 0);
}

TEST(NvptxCode, FunctionsAreInlined) {
  const std::string code = ptx(R"(
func @f(%a: f32) -> (f32) {
  %b = mul %a, %a
  %c = add %b, 1.0f32
  return %c
}
kernel @k(%x: array<f32,1>, %y: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %a = load %x[%i]
  %b = call @f(%a)
  %c = call @f(%b)
  store %y[%i], %c
  return
}
)");
  EXPECT_EQ(count(code, "call"), 0);
  EXPECT_EQ(count(code, "local"), 0);
}

TEST(NvptxCode, RareFunctionsAreThereOnce) {
  const std::string code = ptx(R"(
kernel @k(%x: array<f32,1>, %y: array<f32,1>) form(no_overlap, strided, rank 1) {
  %i = tid 0
  %a = load %x[%i]
  %b = sin_large %a
  %c = sin_large %b
  store %y[%i], %c
  return
}
)");
  EXPECT_EQ(count(code, "call.uni"), 2);
}

TEST(NvptxCode, LargeFunctionsDontMakeCopiesOfParameters) {
  std::string body = "func @f(%v0: f32) -> (f32) {\n";
  for (int k = 0; k < 3000; ++k)
    body += "  %v" + std::to_string(k + 1) + " = fma %v" + std::to_string(k) + ", %v" + std::to_string(k) + ", %v0\n";
  const std::string code = ptx(body + R"(  return %v3000
}
kernel @k(%x: array<f32,1>, %y: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %a = load %x[%i]
  %b = call @f(%a)
  %c = call @f(%b)
  store %y[%i], %c
  return
}
)");
  EXPECT_GT(count(code, "call.uni"), 0);
  EXPECT_EQ(count(code, "local_depot"), 0) << "f does not look at them";
}

TEST(NvptxCode, ConversionsKeepToTheRangeByThemselves) {
  auto text = [](const std::string& from, const std::string& to) {
    return "kernel @k(%x: array<" + from + ",1>, %y: array<" + to + ",1>) form(rank 1) {\n  %i = tid 0\n" +
           "  %a = load %x[%i]\n  %b = cast %a : " + to + "\n  store %y[%i], %b\n  return\n}\n";
  };
  EXPECT_EQ(count(ptx(text("f32", "i32")), "selp"), 0);
  EXPECT_EQ(count(ptx(text("f32", "u32")), "cvt.rzi.ftz.u32.f32"), 1);
  EXPECT_EQ(count(ptx(text("f64", "i64")), "cvt.rni.s64.f64"), 1);
  EXPECT_EQ(count(ptx(text("f32", "u8")), "min.u32"), 1);
  EXPECT_EQ(count(ptx(text("f32", "i16")), "max.s32"), 1);
}

TEST(NvptxCode, ClearingWaitsForWhatWasThere) {
  auto text = [](const std::string& cleared) {
    return "kernel @k(%x: array<vec<f32,3>,1>, %y: array<vec<f32,3>,1>) form(no_overlap, rank 1) {\n  %i = tid 0\n"
           "  %a = load %x[%i]\n  store %x[" +
           cleared + "], zero vec<f32,3>\n  store %y[%i], %a\n  return\n}\n";
  };
  EXPECT_EQ(count(ptx(text("%i")), "setp.ne") + count(ptx(text("%i")), "setp.eq"), 1) << "what is zero stays";
  EXPECT_EQ(count(ptx(text("0i32")), "setp.ne") + count(ptx(text("0i32")), "setp.eq"), 0) << "another place";
}

TEST(NvptxCode, ExtremesOfFloatsLookFirst) {
  for (const char* kind : {"min", "max"}) {
    const std::string code =
        ptx("kernel @k(%x: array<f32,1>, %y: array<f32,1>) form(no_overlap, rank 1) {\n  %i = tid 0\n"
            "  %a = load %x[%i]\n  %o = atomic " +
            std::string(kind) + " %y[0i32], %a\n  return\n}\n");
    // In the loop over groups of four, and in the one for the rest: one operation each, of either sign.
    EXPECT_EQ(count(code, "red.global." + std::string(kind) + ".s32"), 2) << kind;
    EXPECT_EQ(count(code, "red.global."), 4) << kind;
  }
}

}  // namespace
}  // namespace weft::codegen::test
