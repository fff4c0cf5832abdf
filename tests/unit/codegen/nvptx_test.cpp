// What we write as PTX is accepted by ptxas for old and new GPUs; rounding is IEEE.
#include <regex>

#include "harness.h"
#include "ptxas.h"

namespace weft::codegen::test {
namespace {

const char* kEverything = R"(
struct %Particle { x: vec<f32,3>, mass: f32, on: bool }
func @helper(%x: array<f32,1>, %i: i32) -> (f32) {
  %v = load %x[%i~]
  %ok = gt %v, 0.0f32
  assert %ok, "positive"
  %run = running
  %f = cast %run : f32
  %r = add %v, %f
  return %r
}
kernel @everything(%x: array<f32,1>, %p: array<%Particle,2>, %d: array<f64,1>, %h: array<f16,1>, %b: array<bf16,1>, %n: i32, %m: mat<f32,16,16>) form(no_overlap, rank 2) {
  %i = tid 0
  %j = tid 1
  %v = load %x[%i]
  %q = load %p[%i, %j]
  %pos = extract %q.0
  %len = dot(contract) %pos, %pos
  %r = sqrt %len
  %s = div %v, %r
  %l = local : array<f32,1> [8]
  %k = bit_and %j, 7i32
  store %l[%k], %s
  %sum = for %t = 0i32 to %n step 1i32 (%acc = 0.0f32) {
    %c = bit_and %t, 7i32
    %w = load %l[%c]
    %a = add %acc, %w
    yield %a
  }
  %o1 = atomic add %x[0i32], %sum
  %o2 = atomic max %x[1i32], %sum
  %old = load %d[%i]
  %o3 = atomic add %d[0i32], %old
  %ho = load %h[%i]
  %hs = mul %ho, %ho
  %o4 = atomic add %h[%j], %hs
  %bo = load %b[%i]
  %bs = sqrt %bo
  store %b[%i], %bs
  %cs = cast %old : f16
  store %h[%i], %cs
  %ci = cast %sum : i64
  %cu = cast %ci : bf16
  store %b[%j], %cu
  %z = call @helper(%x, %i)
  %mm = matmul %m, %m
  %e = extract %mm[%k][3]
  %ok = lt %e, %z
  check bounds %ok, "index", %i, %n
  print "values ", %pos, %e, %ok
  printf "%d of %5.2f%%\n", %i, %z
  %rd = floor %e
  %rn = round %rd
  %ri = rint %rn
  %dd = floordiv %i, %n
  %rr = rem %i, %n
  %sh = shl %dd, %rr
  %cf = cast %sh : f32
  %f = fma %ri, %cf, %s
  store %x[%i], %f
  return
}
)";

Emitted to_ptx(const Program& program, int sm, int opt_level = 2) {
  EmitOptions options;
  options.verify = true;
  options.opt_level = opt_level;
  return emit(*program.module, program.kernel(), nvptx_target(sm), options, Output::ptx);
}

TEST(Nvptx, AcceptedByPtxas) {
  Program program(kEverything);
  for (int sm : {70, 75, 80, 86, 89, 90}) {
    Emitted code = to_ptx(program, sm);
    EXPECT_EQ(code.lanes, 1);
    EXPECT_NE(code.bytes.find(".visible .entry " + code.entry), std::string::npos);
    assemble(code.bytes, sm);
    if (HasFailure() || IsSkipped()) return;
  }
  for (int level : {0, 1, 3}) assemble(to_ptx(program, 80, level).bytes, 80);
}

TEST(Nvptx, DivisionAndRootAreIeee) {
  std::string ptx = to_ptx(Program(kEverything), 75).bytes;
  EXPECT_NE(ptx.find("div.rn.f32"), std::string::npos);
  EXPECT_NE(ptx.find("sqrt.rn.f32"), std::string::npos);
  // Conversions to integers make 0 of small numbers in any case (nvptx/conversions.cpp).
  ptx = std::regex_replace(ptx, std::regex(R"(cvt\.rzi\.ftz\.[su](32|64)\.f32)"), "");
  for (const char* wrong : {"approx", ".ftz", "div.full"}) EXPECT_EQ(ptx.find(wrong), std::string::npos) << wrong;
}

TEST(Nvptx, NothingIsContracted) {
  Program program(R"(
kernel @k(%x: array<f32,1>, %y: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %a = load %x[%i]
  %p = mul %a, %a
  %s = add %p, %a
  store %y[%i], %s
  return
}
)");
  std::string ptx = to_ptx(program, 80).bytes;
  EXPECT_EQ(ptx.find("fma"), std::string::npos);
  EXPECT_NE(ptx.find("mul.rn.f32"), std::string::npos);
  EXPECT_NE(ptx.find("add.rn.f32"), std::string::npos);
  EXPECT_NE(ptx.find("ld.global"), std::string::npos) << "pointers in the parameter block are global";
}

TEST(Nvptx, ElementaryFunctionsAreOurOwn) {
  std::string text =
      "kernel @k(%x: array<f32,1>, %d: array<f64,1>) form(rank 1) {\n  %i = tid 0\n  %a0 = load %x[%i]\n  %b0 = load %d[%i]\n";
  int k = 0;
  for (const char* op : {"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "exp2", "log",
                         "log2", "log10", "cbrt", "erf", "erfc", "erfinv", "erfcinv"}) {
    std::string from = std::to_string(k), to = std::to_string(k + 1);
    text += "  %a" + to + " = " + op + " %a" + from + "\n  %b" + to + " = " + op + " %b" + from + "\n";
    ++k;
  }
  std::string last = std::to_string(k);
  text += "  %p = pow %a" + last +
          ", %a0\n  %q = atan2 %p, %a1\n  %r = rem %q, %a2\n  store %x[%i], %r\n  store %d[%i], %b" + last +
          "\n  return\n}\n";
  Program program(text);
  for (int sm : {75, 90}) assemble(to_ptx(program, sm).bytes, sm);
}

std::string with_arrays(int count) {
  std::string text = "kernel @many(";
  for (int k = 0; k < count; ++k) text += (k ? ", %a" : "%a") + std::to_string(k) + ": array<f32,1>";
  return text + ") form(rank 1) {\n  %i = tid 0\n  %v = load %a" + std::to_string(count - 1) +
         "[%i]\n  store %a0[%i], %v\n  return\n}\n";
}

TEST(Nvptx, BlocksOfParametersBeyondFourKilobytes) {
  for (int sm : {75, 90}) {
    Program few(with_arrays(45)), many(with_arrays(60)), most(with_arrays(370));
    EXPECT_EQ(to_ptx(few, sm).bytes.find(".version 8"), std::string::npos) << "older drivers take it";
    for (Program* one : {&many, &most}) {
      std::string ptx = to_ptx(*one, sm).bytes;
      EXPECT_NE(ptx.find(".version 8.1\n"), std::string::npos);
      assemble(ptx, sm);
    }
    Program too_many(with_arrays(380));
    EXPECT_THROW(to_ptx(too_many, sm), Error);
  }
}

TEST(Nvptx, BoundsOfLaunches) {
  Program program(with_arrays(2));
  EmitOptions options;
  options.bounds = {.threads = 128, .blocks = 4, .cluster = 8};
  std::string ptx = emit(*program.module, program.kernel(), nvptx_target(90), options, Output::ptx).bytes;
  for (const char* part : {".maxntid 128", ".minnctapersm 4", ".maxclusterrank 8"})
    EXPECT_NE(ptx.find(part), std::string::npos) << part;
  assemble(ptx, 90);
  options.bounds = {.registers = 32};
  ptx = emit(*program.module, program.kernel(), nvptx_target(75), options, Output::ptx).bytes;
  EXPECT_NE(ptx.find(".maxnreg 32"), std::string::npos);
  EXPECT_EQ(ptx.find(".maxntid"), std::string::npos);
  assemble(ptx, 75);
}

TEST(Nvptx, BadRequestsAreErrors) {
  EXPECT_THROW(nvptx_target(35), Error);
  Program program(kEverything);
  EXPECT_THROW(emit(*program.module, program.kernel(), nvptx_target(80), {}, Output::object), Error);
  EXPECT_THROW(emit(*program.module, program.kernel(), host_target(), {}, Output::ptx), Error);
  EmitOptions odd;
  odd.lanes = 3;
  EXPECT_THROW(emit(*program.module, program.kernel(), host_target(), odd, Output::object), Error);
}

}  // namespace
}  // namespace weft::codegen::test
