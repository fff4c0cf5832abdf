// How GPU kernels go over the grid: several elements a step with wide accesses, sums kept by threads, loops unrolled; and
// where they must not.
#include <gtest/gtest.h>

#include "harness.h"

namespace weft::codegen::test {
namespace {

Emitted ptx(const std::string& text, bool fast_math = false, ThreadOrder order = ThreadOrder::any) {
  Program program(text);
  EmitOptions options;
  options.verify = true;
  options.fast_math = fast_math;
  options.order = order;
  return emit(*program.module, program.kernel(), nvptx_target(80), options, Output::ptx);
}

int count(const std::string& text, const std::string& piece) {
  int found = 0;
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++found;
  return found;
}

std::string stream_kernel(const std::string& element, const std::string& form) {
  return "kernel @k(%x: array<" + element + ",1>, %y: array<" + element + ",1>) form(" + form +
         ") {\n  %i = tid 0\n  %a = load %x[%i]\n  %s = add %a, %a\n  store %y[%i], %s\n  return\n}\n";
}

TEST(NvptxPlan, StreamsOfScalarsTakeSeveralAtATime) {
  Emitted floats = ptx(stream_kernel("f32", "no_overlap, rank 1"));
  EXPECT_EQ(floats.lanes, 4);
  EXPECT_EQ(count(floats.bytes, "ld.global.nc.v4.f32"), 1);
  EXPECT_EQ(count(floats.bytes, "st.global.v4.f32"), 1);
  EXPECT_EQ(count(floats.bytes, "ld.global.nc.f32"), 1) << "the tail goes one by one";
  Emitted doubles = ptx(stream_kernel("f64", "no_overlap, rank 1"));
  EXPECT_EQ(doubles.lanes, 2);
  EXPECT_EQ(count(doubles.bytes, "ld.global.nc.v2.f64"), 1);
}

TEST(NvptxPlan, WhatHasAnOrderTakesOneAtATime) {
  const std::string stream = stream_kernel("f32", "no_overlap, rank 1");
  Emitted rising = ptx(stream, false, ThreadOrder::rising), falling = ptx(stream, false, ThreadOrder::falling);
  EXPECT_EQ(rising.lanes, 1);
  EXPECT_EQ(falling.lanes, 1);
  EXPECT_EQ(count(rising.bytes, ".v4.f32") + count(falling.bytes, ".v4.f32"), 0);
  EXPECT_NE(rising.bytes, falling.bytes);
  const std::string sum =
      "kernel @k(%x: array<f32,1>, %y: array<f32,1>) form(no_overlap, rank 1) {\n  %i = tid 0\n  %a = load %x[%i]\n"
      "  %o = atomic add %y[0i32], %a\n  return\n}\n";
  EXPECT_GT(count(ptx(sum).bytes, "shfl"), 0);
  EXPECT_EQ(ptx(sum, false, ThreadOrder::rising).steps, 1);
}

TEST(NvptxPlan, OtherFormsTakeOne) {
  for (const char* form : {"rank 1", "no_overlap, strided, rank 1"}) {
    Emitted plain = ptx(stream_kernel("f32", form));
    EXPECT_EQ(plain.lanes, 1) << form;
    EXPECT_EQ(count(plain.bytes, ".v4.f32"), 0) << form;
  }
}

TEST(NvptxPlan, IndicesOtherThanTheThreadsTakeOne) {
  Emitted moved = ptx(R"(
kernel @k(%x: array<f32,1>, %y: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %j = add %i, 1i32
  %a = load %x[%j]
  store %y[%i], %a
  return
}
)");
  EXPECT_EQ(moved.lanes, 1);
}

TEST(NvptxPlan, LargeElementsMoveInWidePieces) {
  Emitted matrices = ptx(stream_kernel("mat<f32,4,4>", "no_overlap, rank 1"));
  EXPECT_EQ(matrices.lanes, 1);
  EXPECT_EQ(count(matrices.bytes, "ld.global.nc.v4.f32"), 4);
  EXPECT_EQ(count(matrices.bytes, "ld.global.nc.f32"), 16) << "and one by one where arrays are not aligned";
  EXPECT_EQ(count(ptx(stream_kernel("vec<f32,3>", "no_overlap, rank 1")).bytes, "global.v"), 0);
}

std::string sum_kernel(const std::string& use) {
  return R"(
kernel @k(%x: array<f32,1>, %out: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %a = load %x[%i]
  %old = atomic add %out[0i32], %a
)" + use +
         "  return\n}\n";
}

TEST(NvptxPlan, SumsAreKeptByThreads) {
  Emitted sum = ptx(sum_kernel(""));
  EXPECT_EQ(sum.steps, 0);
  EXPECT_EQ(sum.lanes, 4);
  EXPECT_EQ(count(sum.bytes, "shfl.sync.bfly"), 2 * 5) << "by the block, or by warps where its last one has gaps";
  EXPECT_EQ(count(sum.bytes, "bar.sync"), 1);
  EXPECT_EQ(count(sum.bytes, "red.global"), 3) << "by block, warp, thread";
  Emitted used = ptx(sum_kernel("  store %x[%i], %old\n"));
  EXPECT_EQ(used.steps, 1);
  EXPECT_EQ(count(used.bytes, "shfl"), 0);
  Emitted read = ptx(sum_kernel("  %b = load %out[1i32]\n  store %x[%i], %b\n"));
  EXPECT_EQ(read.steps, 1) << "somebody looks at the array";
}

std::string element_sum(const std::string& element, const std::string& index) {
  return "kernel @k(%out: array<" + element + ",1>, %n: i32, %a: " + element +
         ") form(no_overlap, rank 1) {\n  %i = tid 0\n  for %k = 0i32 to %n step 1i32 () {\n"
         "    %twice = mul %k, 2i32\n    %k1 = add %n, %k\n    %k2 = sub %k1, 3i32\n    %old = atomic add %out[" +
         index + "], %a\n    yield\n  }\n  return\n}\n";
}

TEST(NvptxPlan, ElementsOfSeveralNumbersAreSummedAtOnce) {
  const struct {
    const char* element;
    int shuffles;
  } cases[] = {{"f32", 5},          {"vec<f32,2>", 5},   {"vec<f32,3>", 6}, {"mat<f32,4,4>", 16},
               {"vec<i32,32>", 31}, {"vec<i32,33>", 36}, {"f64", 10},       {"vec<f64,3>", 12}};
  for (const auto& [element, shuffles] : cases) {
    Emitted sum = ptx(element_sum(element, "%twice"));
    EXPECT_EQ(count(sum.bytes, "shfl.sync.bfly"), shuffles) << element;
    EXPECT_EQ(count(sum.bytes, "match.all"), 1) << element;
    Emitted fixed = ptx(element_sum(element, "%n"));
    EXPECT_EQ(count(fixed.bytes, "shfl.sync.bfly"), shuffles) << element;
    EXPECT_EQ(count(fixed.bytes, "match.all"), 0) << element << ": the place is the same for sure";
    EXPECT_EQ(count(ptx(element_sum(element, "%i")).bytes, "shfl"), 0) << element;
  }
  EXPECT_EQ(count(ptx(element_sum("f16", "%k")).bytes, "shfl"), 0);
  EXPECT_EQ(count(ptx(element_sum("f32", "%k"), false, ThreadOrder::rising).bytes, "shfl"), 0);
}

TEST(NvptxPlan, TurnsThatAddSideBySideAreSummedAtOnce) {
  const struct {
    const char* element;
    int single, group;  // shuffles of a turn, and of several
  } cases[] = {{"f32", 5, 9},
               {"vec<f32,2>", 5, 16},
               {"vec<f32,3>", 6, 31},
               {"vec<f32,5>", 9, 31},
               {"mat<f32,4,4>", 16, 31},
               {"vec<i32,17>", 31, 0},
               {"f64", 10, 18},
               {"f16", 0, 0}};
  for (const auto& [element, single, group] : cases)
    for (const char* index : {"%k", "%k1", "%k2"}) {
      Emitted sum = ptx(element_sum(element, index));
      EXPECT_EQ(count(sum.bytes, "shfl.sync.bfly"), single + group) << element << index;
    }
  std::string read = element_sum("f32", "%k");
  read.insert(read.find("  for "), "  %b = load %out[%i]\n  %c = atomic add %out[%i], %b\n");
  EXPECT_EQ(count(ptx(read).bytes, "shfl.sync.bfly"), 5) << "somebody looks at the array";
}

TEST(NvptxPlan, SharedMemoryBelongsToOneKernel) {
  for (int round = 0; round < 20; ++round) {
    const std::string plain = stream_kernel("f32", "no_overlap, rank 1");
    EXPECT_EQ(count(ptx(sum_kernel("")).bytes, ".shared .align 8 .b8 weft_k_k_sums[128]"), 1);
    EXPECT_EQ(count(ptx(plain).bytes, ".shared"), 0);
  }
}

TEST(NvptxPlan, GradientsOfSharedElementsAreKeptByThreads) {
  const std::string before = R"(
kernel @k(%a: vec<f32,4>, %w: array<mat<f32,4,4>,1>) form(no_overlap, adjoint, rank 1) {
  %i = tid 0
  %m = outer %a, %a
  %g = gradient %w
  %t = nonnull %g
  if %t {
    %o = atomic add %g[0i32], %m
    yield
  } else {
    yield
  }
)";
  const std::string end = "  return\n}\n";
  Emitted kept = ptx(before + end);
  EXPECT_EQ(kept.steps, 0);
  EXPECT_EQ(count(kept.bytes, "shfl.sync.bfly"), 2 * 16);
  EXPECT_EQ(count(kept.bytes, "bar.sync"), 1);
  Emitted twice = ptx(before + "  %h = gradient %w\n  %p = atomic add %h[0i32], %m\n" + end);
  EXPECT_EQ(count(twice.bytes, "shfl.sync.bfly"), 2 * 16) << "one sum for one place";
  Emitted read = ptx(before + "  %b = load %g[1i32]\n  %c = atomic add %g[%i], %b\n" + end);
  EXPECT_EQ(read.steps, 1) << "somebody looks at the gradient";
  std::string meeting = before;
  meeting.replace(meeting.find("adjoint"), 7, "adjoint, meet");
  EXPECT_EQ(ptx(meeting + end).steps, 1) << "another gradient may be the same memory";
}

TEST(NvptxPlan, FastMathApproximates) {
  const std::string text = R"(
kernel @k(%x: array<f32,1>, %y: array<f32,1>) form(rank 1) {
  %i = tid 0
  %a = load %x[%i]
  %r = sqrt %a
  %s = div 1.0f32, %r
  store %y[%i], %s
  return
}
)";
  EXPECT_EQ(count(ptx(text).bytes, "sqrt.rn.f32"), 1);
  EXPECT_EQ(count(ptx(text, true).bytes, ".approx"), 1);
}

TEST(NvptxPlan, RootsInLoopsHaveNoBranches) {
  const std::string code = ptx(R"(
kernel @k(%x: array<f32,1>, %y: array<f32,1>, %n: i32) form(no_overlap, rank 1) {
  %i = tid 0
  %s = for %j = 0i32 to %n step 1i32 (%c = 0.0f32) {
    %a = load %x[%j]
    %r = sqrt %a
    %q = div 1.0f32, %r
    %d = add %c, %q
    yield %d
  }
  store %y[%i], %s
  return
}
)")
                               .bytes;
  EXPECT_EQ(count(code, ".rn.f32") - count(code, "fma.rn.f32") - count(code, "mul.rn.f32") - count(code, "add.rn.f32"),
            0);
  EXPECT_EQ(count(code, "rsqrt.approx.ftz.f32"), count(code, "rcp.approx.ftz.f32"));
  EXPECT_GT(count(code, "rsqrt.approx.ftz.f32"), 3);
}

TEST(NvptxPlan, DivisionByPreparedNumbers) {
  for (std::uint32_t by : {1u, 2u, 3u, 5u, 7u, 10u, 255u, 256u, 641u, 8192u, 65535u, 65537u, 1000003u, 0x40000001u,
                           0x7ffffffeu, 0x7fffffffu}) {
    const GpuDivisor divide(by);
    std::uint32_t x = 1;
    for (int k = 0; k < 20000; ++k, x = x * 1664525u + 1013904223u)
      ASSERT_EQ(divide(x & 0x7fffffffu), (x & 0x7fffffffu) / by) << by;
    for (std::uint64_t near = by; near < 0x80000000u; near += std::max<std::uint64_t>(by, 0x7fffffffu / 64))
      for (std::uint64_t at : {near - 1, near, near + 1}) {
        if (at >= 0x80000000u) continue;
        ASSERT_EQ(divide(std::uint32_t(at)), at / by) << by;
      }
  }
}

TEST(NvptxPlan, DivisionOfLargeNumbersByPreparedOnes) {
  constexpr std::uint64_t kMost = INT64_MAX;
  for (std::uint64_t by :
       {1ull, 2ull, 3ull, 7ull, 10ull, 256ull, 641ull, 65537ull, 0x7fffffffull, 0x80000000ull, 0x80000001ull,
        0x123456789ull, 0x4000000000000000ull, 0x4000000000000001ull, 0x7fffffffffffffffull}) {
    const GpuLargeDivisor divide(by);
    std::uint64_t x = 1;
    for (int k = 0; k < 20000; ++k, x = x * 6364136223846793005u + 1442695040888963407u) {
      const std::uint64_t at = (x & kMost) >> (k % 63);
      ASSERT_EQ(divide(at, by), at / by) << by << ' ' << at;
    }
    for (std::uint64_t near = by; near <= kMost - 1; near += std::max(by, kMost / 64))
      for (std::uint64_t at : {near - 1, near, near + 1}) ASSERT_EQ(divide(at, by), at / by) << by << ' ' << at;
    ASSERT_EQ(divide(kMost, by), kMost / by) << by;
  }
}

TEST(NvptxPlan, IndicesOfHugeLaunchesTakeNoDivision) {
  const std::string code = ptx(R"(kernel @k(%x: array<f32,3>) form(no_overlap, rank 3) {
  %i = tid 0
  %j = tid 1
  %k = tid 2
  store %x[%i, %j, %k], 1.0f32
  return
}
)")
                               .bytes;
  EXPECT_EQ(count(code, "div."), 0);
  EXPECT_EQ(count(code, "rem."), 0);
  EXPECT_EQ(count(code, "mul.hi.u64"), 2);
}

TEST(NvptxPlan, SeveralDimensionsAndLongStreamsTakeSeveralSteps) {
  EXPECT_EQ(ptx(stream_kernel("f32", "no_overlap, rank 1")).steps, 1);
  EXPECT_EQ(ptx(stream_kernel("f32", "no_overlap, rank 2")).steps, 4);
  EXPECT_EQ(ptx(sum_kernel("")).steps, 0);
  auto plane = [](const std::string& body) {
    return "kernel @k(%x: array<f32,2>, %y: array<f32,2>) form(no_overlap, rank 2) {\n  %i = tid 0\n  %j = tid 1\n" +
           body + "  return\n}\n";
  };
  EXPECT_EQ(ptx(plane("  %k = sub %i, 1i32\n  %a = load %x[%k~, %j]\n  store %y[%i, %j], %a\n")).steps, 4);
  EXPECT_EQ(
      ptx(plane("  %a = load %x[%i, %j]\n  %k = cast %a : i32\n  %b = load %x[%k~, %j]\n  store %y[%i, %j], %b\n"))
          .steps,
      1)
      << "reads elsewhere";
  EXPECT_EQ(ptx(plane("  %a = load %x[%i, %j]\n  %o = atomic add %y[%i, %j], %a\n")).steps, 1);
}

TEST(NvptxPlan, AtomicsThatNobodyAsksAreReductions) {
  for (const char* kind : {"add", "min", "max"})
    for (const char* type : {"i32", "u32", "i64", "u64", "f32", "f64"}) {
      const std::string text = "kernel @k(%x: array<" + std::string(type) + ",1>, %y: array<" + type +
                               ",1>, %n: array<i32,1>) form(no_overlap, rank 1) {\n  %i = tid 0\n  %a = load %x[%i]\n"
                               "  %j = load %n[%i]\n  %o = atomic " +
                               kind + " %y[%j], %a\n  return\n}\n";
      const bool one = std::string(kind) == "add" || type[0] != 'f';
      EXPECT_EQ(count(ptx(text).bytes, "red.global.") > 0, true) << kind << " " << type;
      EXPECT_EQ(count(ptx(text).bytes, "atom.") == 0, one) << kind << " " << type << ": NaN wants a swap";
    }
}

TEST(NvptxPlan, SmallLoopsAreUnrolled) {
  Emitted loop = ptx(R"(
kernel @k(%x: array<f32,1>, %y: array<f32,1>, %n: i32) form(no_overlap, rank 1) {
  %i = tid 0
  %s = for %j = 0i32 to %n step 1i32 (%c = 0.0f32) {
    %a = load %x[%j]
    %d = add %c, %a
    yield %d
  }
  store %y[%i], %s
  return
}
)");
  EXPECT_GE(count(loop.bytes, "add.rn.f32"), 8);
  EXPECT_EQ(count(loop.bytes, ".minnctapersm 1"), 1) << "loads that run ahead need registers";
}

std::string sum_of_matrices(int matrices, const std::string& element, const std::string& end) {
  std::string text = "kernel @k(%x: array<mat<" + element + ",3,3>,1>, %y: array<mat<" + element +
                     ",3,3>,1>) form(no_overlap, rank 1) {\n  %i = tid 0\n  %s0 = load %x[%i]\n";
  for (int k = 1; k < matrices; ++k) {
    const std::string n = std::to_string(k), before = std::to_string(k - 1);
    text += "  %i" + n + " = add %i, " + n + "i32\n  %m" + n + " = load %x[%i" + n + "]\n  %s" + n + " = add %s" +
            before + ", %m" + n + "\n";
  }
  return text + "  " + end + " %y[%i], %s" + std::to_string(matrices - 1) + "\n  return\n}\n";
}

TEST(NvptxPlan, KernelsThatReadMuchMayTakeRegisters) {
  auto allows = [](int matrices, const std::string& element = "f32", const std::string& end = "store") {
    return count(ptx(sum_of_matrices(matrices, element, end)).bytes, ".maxntid 1024, 1, 1\n.minnctapersm 1\n") == 1;
  };
  EXPECT_TRUE(allows(3));
  EXPECT_FALSE(allows(2));
  EXPECT_FALSE(allows(5)) << "more than 64 hold";
  EXPECT_TRUE(allows(2, "f64"));
  EXPECT_FALSE(allows(4, "u8"));
  EXPECT_FALSE(allows(3, "f32", "%o = atomic add")) << "it waits for memory anyway";
}

TEST(NvptxPlan, UnrolledLoopsTakeRegistersForLoadsAlone) {
  auto loop = [](const std::string& value) {
    return ptx("kernel @k(%x: array<f32,1>, %y: array<f32,1>, %n: i32) form(no_overlap, rank 1) {\n  %i = tid 0\n"
               "  %a = load %x[%i]\n  %s = for %j = 0i32 to %n step 1i32 (%c = 0.5f32) {\n    " +
               value + "\n    %e = fma %v, %c, %a\n    yield %e\n  }\n  store %y[%i], %s\n  return\n}\n")
        .bytes;
  };
  EXPECT_EQ(count(loop("%v = load %x[%j]"), ".maxntid"), 1);
  const std::string alone = loop("%v = sqrt %c");
  EXPECT_EQ(count(alone, ".maxntid"), 0) << "there is nothing to wait for, and more threads serve better";
  EXPECT_GT(count(alone, "fma.rn.f32"), 8) << "it is unrolled all the same";
}

std::string loop_from(const std::string& lo) {
  return "kernel @k(%x: array<f32,1>, %y: array<f32,1>, %lo: i32, %hi: i32) form(no_overlap, rank 1) {\n  %i = tid 0\n"
         "  %s, %n = for %j = " +
         lo +
         " to %hi step 1i32 (%c = 0.0f32, %d = 0i32) {\n    %v = load %x[%j]\n    %e = fma %v, %v, %c\n"
         "    %f = add %d, %j\n    yield %e, %f\n  }\n  %m = cast %n : f32\n  %t = add %s, %m\n  store %y[%i], %t\n"
         "  return\n}\n";
}

TEST(NvptxPlan, WhatIsLeftOfALoopRunsAsAPairAndOne) {
  const std::string code = ptx(loop_from("%lo")).bytes;
  EXPECT_EQ(count(code, "ld.global.nc.f32"), 4 + 2 + 1) << code;
  EXPECT_EQ(count(ptx(loop_from("0i32")).bytes, "ld.global.nc.f32"), 8 + 1) << "a long loop, likely";
}

}  // namespace
}  // namespace weft::codegen::test
