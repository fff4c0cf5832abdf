// What single levels of LLVM's got wrong: each has an instruction selector or passes of its own.
#include <cmath>
#include <limits>

#include "harness.h"

namespace weft::codegen::test {
namespace {

const char* const kNarrow = R"(
kernel @k(%x: array<f32,1>, %y: array<f16,1>, %z: array<bf16,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %h = cast %v : f16
  store %y[%i], %h
  %b = cast %v : bf16
  store %z[%i], %b
  return
}
)";

TEST(Levels, NarrowFloatsAreTheirOwn) {
  Program program(kNarrow);
  std::vector<float> x;
  for (int i = 0; i < 21; ++i) x.push_back(49.0f / float(i + 1));
  x.insert(x.end(), {65504.0f, 65520.0f, 1e-7f, -0.0f, std::numeric_limits<float>::infinity()});
  std::vector<std::uint16_t> half, brain;
  for (float v : x) {
    half.push_back(std::uint16_t(ir::float_to_bits(ScalarKind::f16, v)));
    brain.push_back(std::uint16_t(ir::float_to_bits(ScalarKind::bf16, v)));
  }
  for (const TargetSpec& target : runnable_targets())
    for (int lanes : {1, 2, 4, 8, 16})
      for (int level : {0, 1, 2, 3}) {
        std::vector<std::uint16_t> y(x.size()), z(x.size());
        run(program, Block(program).array(x).array(y).array(z), {std::int64_t(x.size())},
            {.lanes = lanes, .opt_level = level, .target = target});
        EXPECT_EQ(y, half) << lanes << " lanes, level " << level << ", " << target.cpu_name;
        EXPECT_EQ(z, brain) << lanes << " lanes, level " << level << ", " << target.cpu_name;
      }
}

// Where the machine that runs the tests has no bfloat16, its code can still be looked at: LLVM 19's GlobalISel, which
// AArch64 would take at level 0, narrows four floats to half floats by the instruction for bfloat16.
TEST(Levels, HalfFloatsOnProcessorsWithBfloat16) {
  TargetSpec target = host_target();
  if (!target.triple.starts_with("aarch64")) GTEST_SKIP() << "about AArch64 processors";
  target.cpu_name = "neoverse-v1";
  target.features = "+bf16,+fullfp16,+sve";
  Program program(R"(
kernel @k(%x: array<f32,1>, %y: array<f16,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %h = cast %v : f16
  store %y[%i], %h
  return
}
)");
  for (int level : {0, 1, 2, 3}) {
    EmitOptions options;
    options.lanes = 4;
    options.opt_level = level;
    const std::string text = emit(*program.module, program.kernel(), target, options, Output::assembly).bytes;
    EXPECT_EQ(text.find("bfcvt"), std::string::npos) << "level " << level << "\n" << text;
    EXPECT_NE(text.find("fcvtn"), std::string::npos) << "level " << level << "\n" << text;
  }
}

// A third number would come back on the x87 stack; LLVM 19's FastISel takes it from there by an instruction that ends the
// process where the processor has AVX-512.
TEST(Levels, ResultsOfFunctionsStayOffTheX87Stack) {
  TargetSpec target = host_target();
  if (!target.triple.starts_with("x86_64")) GTEST_SKIP() << "about x86-64";
  target.cpu_name = "sapphirerapids";
  target.features = "+avx2,+avx512f,+avx512vl,+avx512dq,+avx512bw";
  for (const char* kind : {"f32", "f64"}) {
    const std::string t = kind;
    Program program("func @three(%v: " + t + ") -> (" + t + ", " + t + ", " + t + R"() {
  %a = mul %v, %v
  %b = add %a, %v
  %c = sub %a, %v
  return %a, %b, %c
}
kernel @k(%x: array<)" +
                    t + ",1>) form(no_overlap, rank 1) {\n" + R"(
  %i = tid 0
  %v = load %x[%i]
  %p, %q, %r = call @three(%v)
  %s = add %p, %q
  %t = add %s, %r
  store %x[%i], %t
  return
}
)");
    for (int level : {0, 1, 2, 3}) {
      EmitOptions options;
      options.lanes = 1;
      options.opt_level = level;
      const std::string text = emit(*program.module, program.kernel(), target, options, Output::assembly).bytes;
      EXPECT_EQ(text.find("\tfst"), std::string::npos) << kind << ", level " << level;
      EXPECT_EQ(text.find("\tfld"), std::string::npos) << kind << ", level " << level;
    }
  }
}

}  // namespace
}  // namespace weft::codegen::test
