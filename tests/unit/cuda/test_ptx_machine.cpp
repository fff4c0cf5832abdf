// The machine that runs PTX for the fake driver: what instructions give, how threads meet, and which races it finds.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "ptx_machine.h"

namespace weft::cuda::fake {
namespace {

alignas(32) std::uint64_t memory[512];

PtxRange around(std::size_t address) {
  const auto start = reinterpret_cast<std::size_t>(memory);
  return address >= start && address < start + sizeof memory ? PtxRange{start, start + sizeof memory} : PtxRange{0, 0};
}

PtxLaunch launch_of(unsigned threads, std::vector<std::uint64_t> numbers = {}) {
  PtxLaunch launch;
  launch.threads = threads;
  launch.allocation = around;
  numbers.insert(numbers.begin(), reinterpret_cast<std::uint64_t>(memory));
  numbers.resize(4);
  launch.arguments.resize(8 * numbers.size());
  std::memcpy(launch.arguments.data(), numbers.data(), launch.arguments.size());
  return launch;
}

/// A kernel of a few lines; %m is the memory, %t the thread's number, %mine the thread's own word of the memory.
std::string kernel(const std::string& body, const std::string& before = "") {
  return ".version 7.8\n.target sm_90\n.address_size 64\n" + before +
         "\n.visible .entry k(.param .u64 memory, .param .u64 x, .param .u64 y, .param .u64 z)\n{\n"
         "  .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>, %m, %mine, %x, %y, %z; .reg .f32 %f<9>; .reg .b32 %t;\n"
         "  ld.param.u64 %m, [memory];\n  mov.u32 %t, %tid.x;\n  mad.wide.u32 %mine, %t, 8, %m;\n" +
         body + "\n  ret;\n}\n";
}

std::string error_of(const std::string& text, unsigned threads) {
  try {
    PtxModule(text).run("k", launch_of(threads));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

/// What one instruction makes of up to three numbers.
std::uint64_t result(const std::string& instruction, std::uint64_t x, std::uint64_t y = 0, std::uint64_t z = 0) {
  const std::string load = "  ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; ld.param.u64 %z, [z]; mov.b64 %rd1, 0;\n  ";
  PtxModule(kernel(load + instruction + "\n  st.global.u64 [%m], %rd1;")).run("k", launch_of(1, {x, y, z}));
  return memory[0];
}

std::uint64_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

TEST(PtxMachine, Integers) {
  EXPECT_EQ(result("add.s32 %rd1, %x, %y;", 0xFFFFFFFF, 2), 1u);
  EXPECT_EQ(result("mul.hi.s32 %rd1, %x, %y;", 0x80000000, 2), 0xFFFFFFFFu);
  EXPECT_EQ(result("mad.wide.s32 %rd1, %x, %y, %z;", 0xFFFFFFFF, 5, 3), std::uint64_t(-2));
  EXPECT_EQ(result("div.s32 %rd1, %x, %y;", std::uint64_t(-7), 2), 0xFFFFFFFDu);
  EXPECT_EQ(result("rem.s64 %rd1, %x, -1;", std::uint64_t(1) << 63), 0u);
  EXPECT_EQ(result("shr.s32 %rd1, %x, 40;", 0x80000000), 0xFFFFFFFFu);
  EXPECT_EQ(result("shl.b64 %rd1, %x, 64;", 1), 0u);
  EXPECT_EQ(result("cvt.s8.s32 %rd1, %x;\n  cvt.s32.s16 %rd1, %rd1;", 0x188), 0xFFFFFF88u);
  EXPECT_EQ(result("bfe.s32 %rd1, %x, 9, 1;", 0x200), 0xFFFFFFFFu);
  EXPECT_EQ(result("bfe.u64 %rd1, %x, 60, 20;", ~std::uint64_t(0)), 15u);
  EXPECT_EQ(result("bfi.b32 %rd1, %x, %y, 4, 8;", 0xAB, 0xFFFFFFFF), 0xFFFFFABFu);
  EXPECT_EQ(result("prmt.b32 %rd1, %x, %y, 0x4f10;", 0x44332211, 0x88776655), 0x55FF2211u);
  EXPECT_EQ(result("shf.l.wrap.b32 %rd1, %x, %y, 8;", 0x12345678, 0xABCDEF01), 0xCDEF0112u);
  EXPECT_EQ(result("shf.r.clamp.b32 %rd1, %x, %y, 40;", 0x12345678, 0xABCDEF01), 0xABCDEF01u);
  EXPECT_EQ(result("lop3.b32 %rd1, %x, %y, %z, 0x96;", 5, 3, 9), 15u);
  EXPECT_EQ(result("selp.b32 %rd1, %x, %y, 0;", 5, 3), 3u);
  EXPECT_EQ(result("mov.b64 {%r1, %r2}, %x; mov.b64 %rd1, {%r2, %r1};", 0x0000000100000002), 0x0000000200000001u);
  EXPECT_EQ(result("setp.lt.s32 %p1|%p2, %x, 3; selp.u64 %rd1, 1, 2, %p2;", 0xFFFFFFFF), 2u);
  EXPECT_EQ(result("setp.eq.s32 %p1, %x, 3; setp.lt.and.u32 %p2, %x, 9, !%p1; selp.u64 %rd1, 1, 2, %p2;", 3), 2u);
}

TEST(PtxMachine, Floats) {
  const float tiny = std::numeric_limits<float>::denorm_min(), inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(result("add.rn.f32 %rd1, %x, %y;", bits(1.0f), bits(0x1p-24f)), bits(1.0f));
  EXPECT_EQ(result("add.rp.f32 %rd1, %x, %y;", bits(1.0f), bits(0x1p-40f)), bits(1.0f + 0x1p-23f));
  EXPECT_EQ(result("mul.rz.f64 %rd1, %x, %y;", bits(1.0 + 0x1p-52), bits(1.5)), bits(1.5 + 0x1p-52));
  EXPECT_EQ(result("fma.rn.f32 %rd1, %x, %x, %y;", bits(1.0f + 0x1p-12f), bits(-1.0f - 0x1p-11f)), bits(0x1p-24f));
  EXPECT_EQ(result("mul.ftz.f32 %rd1, %x, %y;", bits(tiny), bits(8.0f)), 0u);
  EXPECT_EQ(result("add.sat.f32 %rd1, %x, %y;", bits(2.0f), bits(3.0f)), bits(1.0f));
  EXPECT_EQ(result("div.rn.f32 %rd1, %x, %y;", bits(0.0f), bits(0.0f)), 0x7FFFFFFFu);
  EXPECT_EQ(result("min.f32 %rd1, %x, %y;", bits(0.0f), bits(-0.0f)), bits(-0.0f));
  EXPECT_EQ(result("max.NaN.f32 %rd1, %x, %y;", 0x7FC00000, bits(1.0f)), 0x7FFFFFFFu);
  EXPECT_EQ(result("rsqrt.approx.f32 %rd1, %x;", bits(4.0f)), bits(0.5f));
  EXPECT_EQ(result("setp.ltu.f32 %p1, %x, %y; selp.u64 %rd1, 1, 2, %p1;", 0x7FC00000, bits(1.0f)), 1u);
  EXPECT_EQ(result("setp.ne.f32 %p1, %x, %y; selp.u64 %rd1, 1, 2, %p1;", 0x7FC00000, bits(1.0f)), 2u);
  EXPECT_EQ(result("add.rn.f16x2 %rd1, %x, %y;", 0x3C003C00, 0x3C004000), 0x40004200u);
  EXPECT_EQ(result("fma.rn.f16 %rd1, %x, %x, %y;", 0x3C01, 0x0001), 0x3C02u);
  EXPECT_EQ(result("cvt.rzi.s32.f32 %rd1, %x;", bits(-2.75f)), 0xFFFFFFFEu);
  EXPECT_EQ(result("cvt.rzi.u8.f32 %rd1, %x;", bits(inf)), 255u);
  EXPECT_EQ(result("cvt.rzi.s64.f32 %rd1, %x;", bits(1e30f)), 0x7FFFFFFFFFFFFFFFu);
  EXPECT_EQ(result("cvt.rni.f32.f32 %rd1, %x;", bits(2.5f)), bits(2.0f));
  EXPECT_EQ(result("cvt.rn.f32.u64 %rd1, %x;", (std::uint64_t(1) << 24) + 1), bits(0x1p24f));
  EXPECT_EQ(result("cvt.rz.f32.f64 %rd1, %x;", bits(1.0 + 0x1.8p-23)), bits(1.0f + 0x1p-23f));
  EXPECT_EQ(result("cvt.rn.f16.f32 %rd1, %x;", bits(1.0f)), 0x3C00u);
  EXPECT_EQ(result("cvt.sat.s8.s32 %rd1, %x;", 300), 127u);
  EXPECT_EQ(result("cvt.sat.s8.s32 %rd1, %x;", std::uint64_t(-300)), 0xFF80u);
  EXPECT_EQ(result("cvt.s8.s32 %rd1, %x;", 0x1FE), 0xFFFEu);
  EXPECT_EQ(result("cvt.rzi.s8.f32 %rd1, %x;", bits(-3.5f)), 0xFFFDu);
  EXPECT_EQ(result("cvt.s64.s8 %rd1, %x;", 0x80), ~std::uint64_t(127));
}

TEST(PtxMachine, CallsHaveFramesAndPrivateMemory) {
  const std::string twice = R"(
.func (.param .b64 out) f(.param .b64 in)
{
  .local .align 8 .b8 depot[16];
  .reg .b64 %SP, %SPL, %v; .reg .pred %p; .reg .b64 %less, %rest;
  mov.u64 %SPL, depot; cvta.local.u64 %SP, %SPL;
  ld.param.u64 %v, [in];
  st.local.u64 [%SPL+8], %v;
  setp.eq.s64 %p, %v, 0;
  mov.u64 %rest, 0;
  @%p bra $end;
  sub.s64 %less, %v, 1;
  { .param .b64 a; .param .b64 b; st.param.b64 [a+0], %less; call.uni (b), f, (a); ld.param.b64 %rest, [b+0]; }
$end:
  ld.u64 %v, [%SP+8];
  add.s64 %v, %v, %rest;
  st.param.b64 [out+0], %v;
  ret;
}
)";
  const std::string body = R"(
  cvt.u64.u32 %rd1, %t;
  { .param .b64 a; .param .b64 b; st.param.b64 [a+0], %rd1; call.uni (b), f, (a); ld.param.b64 %rd2, [b+0]; }
  st.global.u64 [%mine], %rd2;)";
  PtxModule(kernel(body, twice)).run("k", launch_of(40));
  for (std::uint64_t t = 0; t < 40; ++t) EXPECT_EQ(memory[t], t * (t + 1) / 2);
}

TEST(PtxMachine, VariablesAndMemoryOfLaunches) {
  const std::string variables =
      ".global .align 8 .u64 table[3] = {7, 8, 9};\n.extern .shared .align 16 .b8 open[];\n.shared .align 4 .b8 fixed[4];\n";
  const std::string body = R"(
  mov.u64 %rd1, table;
  ld.global.u64 %rd2, [%rd1+16];
  st.shared.u32 [fixed], 5;
  mov.u64 %rd3, open;
  cvta.shared.u64 %rd4, %rd3;
  st.u64 [%rd4+8], %rd2;
  isspacep.shared %p1, %rd4;
  ld.shared.u64 %rd5, [open+8];
  @%p1 add.u64 %rd5, %rd5, 100;
  st.global.u64 [%m], %rd5;)";
  PtxLaunch launch = launch_of(1);
  launch.shared_bytes = 16;
  PtxModule(kernel(body, variables)).run("k", launch);
  EXPECT_EQ(memory[0], 109u);
  EXPECT_NE(error_of(kernel(body, variables), 1).find("beyond shared memory in 'st.u64 [%rd4+8], %rd2'"),
            std::string::npos);
}

TEST(PtxMachine, WarpsOfFewThreadsMeet) {
  const std::string body = R"(
  shfl.sync.down.b32 %r1|%p1, %t, 1, 31, -1;
  setp.lt.u32 %p2, %t, 2;
  vote.sync.ballot.b32 %r2, %p2, -1;
  shfl.sync.bfly.b32 %r3, %t, 1, 31, -1;
  bar.sync 0;
  activemask.b32 %r4;
  mad.lo.u32 %r5, %r2, 1000, %r3;
  cvt.u64.u32 %rd1, %r5;
  st.global.u64 [%mine], %rd1;)";
  for (unsigned threads : {1u, 31u, 32u, 34u, 96u}) {
    PtxModule(kernel(body)).run("k", launch_of(threads));
    for (unsigned t = 0; t < threads; ++t) {
      const unsigned low = t >= 32 ? 0 : threads == 1 ? 1 : 3;
      if ((t ^ 1) < threads) EXPECT_EQ(memory[t], low * 1000 + (t ^ 1)) << t << " of " << threads;
    }
  }
}

TEST(PtxMachine, ThreadsThatLeftDoNotCount) {
  const std::string body = R"(
  setp.ge.u32 %p1, %t, 40;
  @%p1 ret;
  setp.eq.u32 %p2, %t, 39;
  bar.red.or.pred %p3, 0, %p2;
  bar.warp.sync -1;
  selp.u64 %rd1, 1, 2, %p3;
  st.global.u64 [%mine], %rd1;)";
  std::memset(memory, 0, sizeof memory);
  PtxModule(kernel(body)).run("k", launch_of(64));
  for (unsigned t = 0; t < 64; ++t) EXPECT_EQ(memory[t], t < 40 ? 1u : 0u);
}

TEST(PtxMachine, BarriersThatNotAllComeByAreAnError) {
  const std::string body =
      "setp.lt.u32 %p1, %t, 7;\n@%p1 bra $a;\nbar.warp.sync -1;\nbra $b;\n$a: bar.warp.sync -1;\n$b:";
  const std::string error = error_of(kernel(body), 32);
  EXPECT_NE(error.find("threads wait for each other at different places"), std::string::npos) << error;
}

TEST(PtxMachine, BoundsOfKernels) {
  const std::string head = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry ";
  const PtxModule module(
      head +
      "plain(.param .u64 x)\n{\n  ret;\n}\n.visible .entry few(.param .u64 x)\n.maxntid 64, 2, 1\n"
      ".minnctapersm 4\n.maxnreg 24\n{\n  ret;\n}\n.visible .entry one(.param .u64 x)\n.maxntid 96\n{\n  ret;\n}\n");
  EXPECT_EQ(module.bounds("plain").threads, 1024);
  EXPECT_EQ(module.bounds("few").threads, 128);
  EXPECT_EQ(module.bounds("few").registers, 24);
  EXPECT_EQ(module.bounds("one").threads, 96);
}

TEST(PtxMachine, UnknownInstructionsAreNamedWhereTheyRun) {
  EXPECT_EQ(
      error_of(kernel("setp.eq.u32 %p1, %t, 9;\n@%p1 tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}];"), 4),
      "");
  EXPECT_NE(error_of(kernel("frobnicate.b32 %r1, %r2;"), 4).find("unknown instruction in 'frobnicate.b32 %r1, %r2'"),
            std::string::npos);
  EXPECT_NE(error_of(kernel("st.global.u64 [%m+4096], %rd1;"), 1).find("beyond the memory"), std::string::npos);
  EXPECT_NE(error_of(kernel("st.global.u64 [%m+4], %rd1;"), 1).find("misaligned"), std::string::npos);
  EXPECT_NE(error_of(kernel("trap;"), 1).find("a trap"), std::string::npos);
}

TEST(PtxMachine, Races) {
  const std::string shared = ".shared .align 8 .b8 s[1024];\n";
  const std::string own = "mul.wide.u32 %rd1, %t, 4;\nmov.u64 %rd2, s;\nadd.u64 %rd1, %rd1, %rd2;\n";
  const std::string write = "st.shared.u32 [%rd1], %t;\n", next = "ld.shared.u32 %r1, [%rd1+4];\n";
  auto error = [&](const std::string& body, unsigned threads) { return error_of(kernel(own + body, shared), threads); };
  EXPECT_EQ(error(write + "bar.sync 0;\n" + next, 64), "");
  EXPECT_EQ(error(write + "bar.warp.sync -1;\n" + next, 32), "");
  const std::string found = error(write + next, 2);
  EXPECT_NE(found.find("thread 0 by 'ld.shared.u32 %r1, [%rd1+4]' (line "), std::string::npos) << found;
  EXPECT_NE(found.find("and thread 1 by 'st.shared.u32 [%rd1], %t' (line "), std::string::npos) << found;
  EXPECT_NE(error(write + "bar.warp.sync -1;\n" + next, 64), "") << "a warp's barrier is no other warp's";
  EXPECT_NE(error(next + "bar.warp.sync -1;\n" + write, 33), "") << "and so for reads before writes";
  EXPECT_NE(error("st.shared.u32 [s], %t;", 2), "");
  EXPECT_EQ(error("st.shared.u32 [s], 7;\nld.shared.u32 %r1, [s];", 64), "") << "all write the same";
  EXPECT_NE(error("setp.lt.u32 %p1, %t, 2;\n@%p1 st.shared.u32 [s], 7;\nld.shared.u32 %r1, [s];", 64), "");
  const std::string add = "atom.shared.add.u32 %r1, [s], 1;\n", read = "ld.shared.u32 %r1, [s];\n";
  EXPECT_EQ(error("st.shared.u32 [s], 0;\nbar.sync 0;\n" + add + "bar.sync 0;\n" + read, 64), "");
  EXPECT_NE(error(add + read, 2), "");
  EXPECT_NE(error(read + add, 2), "");
  PtxLaunch unwatched = launch_of(2);
  unwatched.watch_races = false;
  PtxModule(kernel(own + write + next, shared)).run("k", unwatched);
}

TEST(PtxMachine, CopiesAreThereWhenTheyWereWaitedFor) {
  for (std::size_t k = 0; k < 512; ++k) memory[k] = k + 1;
  const std::string shared = ".shared .align 16 .b8 s[1024];\n";
  const std::string start =
      "mul.wide.u32 %rd1, %t, 16;\nmov.u64 %rd2, s;\nadd.u64 %rd2, %rd2, %rd1;\nadd.u64 %rd3, %m, %rd1;\n"
      "cp.async.cg.shared.global [%rd2], [%rd3+1024], 16;\n";
  const std::string read = "ld.shared.u64 %rd4, [%rd2+8];\nst.global.u64 [%mine], %rd4;\n";
  PtxModule(kernel(start + "cp.async.wait_all;\nbar.sync 0;\n" + read, shared)).run("k", launch_of(32));
  for (std::size_t t = 0; t < 32; ++t) EXPECT_EQ(memory[t], 128 + 2 * t + 2);
  PtxModule(kernel(start + "bar.sync 0;\n" + read, shared)).run("k", launch_of(32));
  EXPECT_NE(memory[0], 130u) << "nobody waited";
  const std::string next = "xor.b64 %rd2, %rd2, 16;\n" + read;
  EXPECT_NE(error_of(kernel(start + "cp.async.wait_all;\n" + next, shared), 32).find("a race for byte"),
            std::string::npos);
  const std::string part =
      "mov.u64 %rd2, s;\ncp.async.cg.shared.global [%rd2], [%m+1024], 16, 8;\ncp.async.wait_all;\n"
      "ld.shared.u64 %rd4, [s];\nld.shared.u64 %rd5, [s+8];\nadd.u64 %rd4, %rd4, %rd5;\nst.global.u64 [%m], %rd4;";
  PtxModule(kernel(part, shared)).run("k", launch_of(1));
  EXPECT_EQ(memory[0], 129u) << "zeros behind what is there";
  const std::string small =
      "mov.u64 %rd2, s;\nst.shared.u64 [s], 7;\nst.shared.u64 [s+8], 7;\n"
      "cp.async.ca.shared.global [%rd2], [%m+1028], 4, 0;\ncp.async.ca.shared.global [%rd2+8], [%m+1032], 8;\n"
      "cp.async.wait_all;\nld.shared.u64 %rd4, [s];\nld.shared.u64 %rd5, [s+8];\nshl.b64 %rd4, %rd4, 8;\n"
      "add.u64 %rd4, %rd4, %rd5;\nst.global.u64 [%m], %rd4;";
  PtxModule(kernel(small, shared)).run("k", launch_of(1));
  EXPECT_EQ(memory[0], 130u) << "copies of 4 and 8 bytes";
  EXPECT_NE(error_of(kernel("mov.u64 %rd2, s;\ncp.async.ca.shared.global [%rd2], [%m+1026], 4;", shared), 1), "");
}

TEST(PtxMachine, CopiesAreWaitedForByGroups) {
  for (std::size_t k = 0; k < 512; ++k) memory[k] = k + 1;
  const std::string shared = ".shared .align 16 .b8 s[64];\n";
  std::string text = "mov.u64 %rd1, s;\n";
  for (int k = 0; k < 3; ++k)
    text += "cp.async.cg.shared.global [%rd1+" + std::to_string(16 * k) + "], [%m+" + std::to_string(1024 + 16 * k) +
            "], 16;\ncp.async.commit_group;\n";
  const auto read = [&](int part, const std::string& wait) {
    PtxModule(
        kernel(text + wait + "ld.shared.u64 %rd4, [%rd1+" + std::to_string(16 * part) + "];\nst.global.u64 [%m], %rd4;",
               shared))
        .run("k", launch_of(1));
    return memory[0];
  };
  EXPECT_EQ(read(1, "cp.async.wait_group 1;\n"), 131u);
  EXPECT_NE(read(2, "cp.async.wait_group 1;\n"), 133u) << "the last group was not waited for";
  EXPECT_EQ(read(2, "cp.async.wait_group 0;\n"), 133u);
}

TEST(PtxMachine, MatricesOfFourWarps) {
  // 64 rows and 8 columns of 16 ones each, 32 bytes a row; one of them is two, in the row that has 12 in front of it.
  const std::string shared = ".shared .align 1024 .b8 s[2304];\n";
  const std::string fill =
      "mov.u64 %rd2, s;\nmul.wide.u32 %rd1, %t, 16;\nadd.u64 %rd3, %rd2, %rd1;\nmov.b32 %r1, 0x3C003C00;\n"
      "st.shared.v4.u32 [%rd3], {%r1, %r1, %r1, %r1};\nsetp.lt.u32 %p1, %t, 16;\n"
      "@%p1 st.shared.v4.u32 [%rd3+2048], {%r1, %r1, %r1, %r1};\nbar.sync 0;\nsetp.eq.u32 %p2, %t, 0;\n"
      "mov.b32 %r2, 0x4000;\n@%p2 st.shared.u16 [%rd2+406], %r2;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
      "mov.b64 %rd5, 0xC000001000010000;\nmov.b64 %rd6, 0xC000001000010080;\nmov.f32 %f1, 0f40400000;\n"
      "mov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\nmov.f32 %f4, %f1;\nwgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd5, %rd6, 1, 1, 1, 0, 0;\n"
      "wgmma.commit_group.sync.aligned;\n";
  const std::string wait = "wgmma.wait_group.sync.aligned 0;\n",
                    out = "mov.b32 %r4, %f3;\ncvt.u64.u32 %rd7, %r4;\nst.global.u64 [%mine], %rd7;";
  PtxModule(kernel(fill + wait + out, shared)).run("k", launch_of(128));
  for (std::size_t t = 0; t < 128; ++t) EXPECT_EQ(memory[t], bits(t / 4 == 4 ? 20.0f : 19.0f)) << t;
  EXPECT_NE(error_of(kernel(fill + "bar.sync 0;\n" + out, shared), 128).find("still running"), std::string::npos);
  EXPECT_NE(error_of(kernel(fill + wait + out, shared), 96).find("a group of warps that is not whole"),
            std::string::npos);
}

TEST(PtxMachine, MatricesOfAWarp) {
  // Row r of the matrix has 16 r + c as 16-bit integers; each thread gets two neighbours, or two of a column.
  const std::string shared = ".shared .align 16 .b8 s[128];\n";
  const std::string fill =
      "mul.wide.u32 %rd1, %t, 4;\nmov.u64 %rd2, s;\nadd.u64 %rd3, %rd2, %rd1;\nshr.u32 %r1, %t, 2;\nand.b32 %r2, %t, 3;\n"
      "mul.lo.u32 %r1, %r1, 16;\nmad.lo.u32 %r1, %r2, 2, %r1;\nadd.u32 %r2, %r1, 1;\nshl.b32 %r2, %r2, 16;\n"
      "or.b32 %r1, %r1, %r2;\nst.shared.u32 [%rd3], %r1;\nbar.sync 0;\nand.b32 %r3, %t, 7;\nmul.wide.u32 %rd4, %r3, 16;\n"
      "add.u64 %rd4, %rd4, %rd2;\n";
  const std::string out = "cvt.u64.u32 %rd5, %r4;\nst.global.u64 [%mine], %rd5;";
  PtxModule(kernel(fill + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%rd4];\n" + out, shared))
      .run("k", launch_of(32));
  EXPECT_EQ(memory[5], 18u + (19u << 16));
  PtxModule(kernel(fill + "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r4}, [%rd4];\n" + out, shared))
      .run("k", launch_of(32));
  EXPECT_EQ(memory[5], 33u + (49u << 16));
  // Ones times ones: sixteen of them, and three from before.
  const std::string product =
      "mov.b32 %r1, 0x3C003C00;\nmov.f32 %f1, 0f40400000;\n"
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, "
      "{%f1, %f1, %f1, %f1};\nmov.b32 %r4, %f5;\n";
  PtxModule(kernel(product + out)).run("k", launch_of(32));
  for (std::size_t t = 0; t < 32; ++t) EXPECT_EQ(memory[t], bits(19.0f));
  EXPECT_NE(error_of(kernel(product + out), 33).find("a warp that is not whole"), std::string::npos);
}

TEST(PtxMachine, BytesSideBySideAreNoRace) {
  const std::string body =
      "cvt.u64.u32 %rd1, %t;\nmov.u64 %rd2, s;\nadd.u64 %rd1, %rd1, %rd2;\nst.shared.u8 [%rd1], %t;";
  EXPECT_EQ(error_of(kernel(body, ".shared .align 8 .b8 s[64];\n"), 64), "");
}

// Words 1, 2 and 32 apart: one wavefront, two, and one for each thread; a sector of global memory for every 32 bytes.
TEST(PtxMachine, CountsWhatALaunchDid) {
  const std::string shared = ".shared .align 16 .b8 room[4096];";
  std::string body = "mov.u32 %r9, room;\n";
  for (const char* apart : {"4", "8", "128"})
    body += std::string("mad.lo.u32 %r1, %t, ") + apart + ", %r9;\n" + "st.shared.u32 [%r1], %t;\nbar.sync 0;\n";
  std::string counts;
  PtxLaunch launch = launch_of(32);
  launch.count = &counts;
  PtxModule(kernel(body + "st.global.u64 [%mine], %m;", shared)).run("k", launch);
  EXPECT_NE(counts.find("\"st.shared.u32\": [96, 3, 35]"), std::string::npos) << counts;
  EXPECT_NE(counts.find("\"st.global.u64\": [32, 1, 8]"), std::string::npos) << counts;
  EXPECT_NE(counts.find("\"bar.sync\": [96, 3, 0]"), std::string::npos) << counts;
}

}  // namespace
}  // namespace weft::cuda::fake
