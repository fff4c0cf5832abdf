// Sums along one dimension. Four sums are kept at once, so that as many loads are under way.
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/ptx_text.h"

namespace weft::algorithms::gpu {
namespace {

/// Adds the number (or product) at byte offset %d10 to a sum.
std::string add_term(ScalarKind in, bool product, int k) {
  const NumberText number = number_text(in);
  const std::string n = std::to_string(k), term = "%s" + std::to_string(8 + k);
  std::string s = "  add.s64 %d11, %d1, %d10;\n" + load_number(in, term, "%d11", "");
  if (product)
    s += "  add.s64 %d11, %d2, %d10;\n" + load_number(in, "%st", "%d11", "") + "  mul.rn." + number.type + " " + term +
         ", " + term + ", %st;\n";
  return s + "  add." + number.type + " %s" + n + ", %s" + n + ", " + term + ";\n";
}

/// The sum of %s0 over the block's threads, in the first one; the others are done.
std::string sum_block(const NumberText& number) {
  std::string s = sum_lanes(number, "%s0");
  s += filled(R"(
  mov.u32 %r1, partial;
  mad.lo.u32 %r2, %warp, $bytes, %r1;
  setp.eq.u32 %p1, %lane, 0;
  @%p1 st.shared.$t [%r2], %s0;
  bar.sync 0;
  setp.ne.u32 %p2, %tid_x, 0;
  @%p2 bra DONE;
)",
              {{"bytes", std::to_string(number.sum_bytes)}, {"t", number.type}});
  for (int w = 1; w < kWarps; ++w)
    s += filled("  ld.shared.$t %s1, [partial+$at];\n  add.$t %s0, %s0, %s1;\n",
                {{"t", number.type}, {"at", std::to_string(w * number.sum_bytes)}});
  return s;
}

}  // namespace

std::string sum_ptx(const std::string& name, ScalarKind in, ScalarKind out, bool product, bool columns) {
  const NumberText number = number_text(in);
  // %d1, %d2: factors; %d4: outputs; %d5: length; %d6: inner; %d7: parts; %d8: chunk; %d20: output; %d21: part.
  std::string s = module_head() + kernel_head(name, int(sizeof(SumArguments)), kBlock, number);
  s += filled(R"(
  .shared .align 8 .b8 partial[$partial];
  ld.param.u64 %d1, [args];
  ld.param.u64 %d2, [args+8];
  ld.param.u64 %d4, [args+24];
  ld.param.u64 %d5, [args+32];
  ld.param.u64 %d6, [args+40];
  ld.param.u64 %d7, [args+48];
  ld.param.u64 %d8, [args+56];
  cvt.u64.u32 %d9, %block;
)",
              {{"partial", std::to_string(kWarps * number.sum_bytes)}});
  if (columns) {
    s += R"(
  cvt.u64.u32 %d10, %tid_x;
  mul.lo.u64 %d9, %d9, 256;
  add.u64 %d9, %d9, %d10;
  mul.lo.u64 %d10, %d4, %d7;
  setp.ge.u64 %p1, %d9, %d10;
  @%p1 bra DONE;
  rem.u64 %d20, %d9, %d4;
  div.u64 %d21, %d9, %d4;
  mov.u64 %d22, 0;
  mov.u64 %d23, 1;
)";
  } else {
    s += R"(
  rem.u64 %d21, %d9, %d7;
  div.u64 %d20, %d9, %d7;
  cvt.u64.u32 %d22, %tid_x;
  mov.u64 %d23, 256;
)";
  }
  // %d24: the first number; %d12: bytes from one to the next; %d13: this thread's next l; %d14: the end; %d23: its step.
  s += filled(R"(
  div.u64 %d24, %d20, %d6;
  rem.u64 %d25, %d20, %d6;
  mul.lo.u64 %d24, %d24, %d5;
  mul.lo.u64 %d24, %d24, %d6;
  add.u64 %d24, %d24, %d25;
  mul.lo.u64 %d24, %d24, $bytes;
  add.u64 %d1, %d1, %d24;
  add.u64 %d2, %d2, %d24;
  mul.lo.u64 %d12, %d6, $bytes;
  mul.lo.u64 %d13, %d21, %d8;
  add.u64 %d14, %d13, %d8;
  min.u64 %d14, %d14, %d5;
  add.u64 %d13, %d13, %d22;
  mul.lo.u64 %d15, %d23, 3;
  mul.lo.u64 %d16, %d23, 4;
  mul.lo.u64 %d17, %d23, %d12;
  mov.$t %s0, $zero;
  mov.$t %s1, $zero;
  mov.$t %s2, $zero;
  mov.$t %s3, $zero;
WIDE:
  add.u64 %d18, %d13, %d15;
  setp.ge.u64 %p1, %d18, %d14;
  @%p1 bra TAIL;
  mul.lo.u64 %d10, %d13, %d12;
)",
              {{"bytes", std::to_string(number.bytes)}, {"t", number.type}, {"zero", number.zero}});
  for (int k = 0; k < 4; ++k) s += add_term(in, product, k) + (k < 3 ? "  add.u64 %d10, %d10, %d17;\n" : "");
  s += R"(
  add.u64 %d13, %d13, %d16;
  bra WIDE;
TAIL:
  setp.ge.u64 %p1, %d13, %d14;
  @%p1 bra SUMMED;
  mul.lo.u64 %d10, %d13, %d12;
)";
  s += add_term(in, product, 0);
  s += filled(R"(
  add.u64 %d13, %d13, %d23;
  bra TAIL;
SUMMED:
  add.$t %s0, %s0, %s1;
  add.$t %s2, %s2, %s3;
  add.$t %s0, %s0, %s2;
)",
              {{"t", number.type}});
  if (!columns) s += sum_block(number);
  s += filled(R"(
  ld.param.u64 %d3, [args+16];
  mul.lo.u64 %d10, %d21, %d4;
  add.u64 %d10, %d10, %d20;
  mul.lo.u64 %d10, %d10, $bytes;
  add.u64 %d3, %d3, %d10;
)",
              {{"bytes", std::to_string(number_text(out).bytes)}});
  return s + store_number(out, "%s0", "%d3", "") + "DONE:\n  ret;\n}\n";
}

std::string sum_packed_ptx(const std::string& name, ScalarKind in, ScalarKind out, bool product) {
  const NumberText number = number_text(in);
  const int width = vector_length(number);
  constexpr int kLoads = 4;  // under way at once
  // %d1, %d2: this thread's next vectors; %r1: vectors of the part that are left from there on.
  std::string s = module_head() + kernel_head(name, int(sizeof(SumArguments)), kBlock, number);
  const Names names = {{"partial", std::to_string(kWarps * number.sum_bytes)},
                       {"bytes", std::to_string(number.bytes)},
                       {"sum", std::to_string(number.sum_bytes)},
                       {"out", std::to_string(number_text(out).bytes)},
                       {"width", std::to_string(width)},
                       {"t", number.type},
                       {"zero", number.zero},
                       {"ahead", std::to_string((kLoads - 1) * kBlock)},
                       {"step", std::to_string(kLoads * kBlock)},
                       {"far", std::to_string(kLoads * kBlock * 16)}};
  s += filled(R"(
  .shared .align 8 .b8 partial[$partial];
  ld.param.u64 %d1, [args];
  ld.param.u64 %d2, [args+8];
  ld.param.u64 %d5, [args+32];
  ld.param.u64 %d8, [args+56];
  cvt.u64.u32 %d9, %block;
  mul.lo.u64 %d10, %d9, %d8;
  sub.u64 %d11, %d5, %d10;
  min.u64 %d11, %d11, %d8;
  div.u64 %d12, %d11, $width;
  mul.lo.u64 %d13, %d10, $bytes;
  mul.wide.u32 %d14, %tid_x, 16;
  add.u64 %d20, %d1, %d13;
  add.u64 %d21, %d2, %d13;
  add.u64 %d1, %d20, %d14;
  add.u64 %d2, %d21, %d14;
  cvt.u64.u32 %d15, %tid_x;
)",
              names);
  for (int k = 0; k < width; ++k)
    s += filled("  mov.$t %s$k, $zero;\n", {{"t", number.type}, {"k", std::to_string(k)}, {"zero", number.zero}});
  // Sums: %s0 …; loads: %s4 … %s19; second factors: %s20 ….
  auto add_loads = [&](int loads) {
    std::string a;
    for (int l = 0; l < loads; ++l) a += load_vector(number, 4 + l * width, "%d1+" + std::to_string(l * kBlock * 16));
    if (product)
      for (int l = 0; l < loads; ++l)
        a += load_vector(number, 20 + l * width, "%d2+" + std::to_string(l * kBlock * 16));
    for (int l = 0; l < loads; ++l)
      for (int k = 0; k < width; ++k) {
        const std::string v = std::to_string(4 + l * width + k), f = std::to_string(20 + l * width + k);
        if (product) a += filled("  mul.rn.$t %s$v, %s$v, %s$f;\n", {{"t", number.type}, {"v", v}, {"f", f}});
        a += filled("  add.$t %s$k, %s$k, %s$v;\n", {{"t", number.type}, {"k", std::to_string(k)}, {"v", v}});
      }
    return a;
  };
  s += filled(R"(
WIDE:
  add.u64 %d16, %d15, $ahead;
  setp.ge.u64 %p1, %d16, %d12;
  @%p1 bra NARROW;
)",
              names);
  s += add_loads(kLoads) + filled(R"(
  add.u64 %d1, %d1, $far;
  add.u64 %d2, %d2, $far;
  add.u64 %d15, %d15, $step;
  bra WIDE;
NARROW:
  setp.ge.u64 %p1, %d15, %d12;
  @%p1 bra REST;
)",
                                  names);
  s += add_loads(1) + filled(R"(
  add.u64 %d1, %d1, 4096;
  add.u64 %d2, %d2, 4096;
  add.u64 %d15, %d15, 256;
  bra NARROW;
REST:
  mul.lo.u64 %d16, %d12, $width;
  cvt.u64.u32 %d15, %tid_x;
  add.u64 %d16, %d16, %d15;
  setp.ge.u64 %p1, %d16, %d11;
  @%p1 bra SUMMED;
  mad.lo.u64 %d20, %d16, $bytes, %d20;
  ld.global.$t %s4, [%d20];
)",
                             names);
  if (product)
    s += filled("  mad.lo.u64 %d21, %d16, $bytes, %d21;\n  ld.global.$t %s20, [%d21];\n  mul.rn.$t %s4, %s4, %s20;\n",
                names);
  s += filled("  add.$t %s0, %s0, %s4;\nSUMMED:\n", names);
  for (int k = 1; k < width; ++k)
    s += filled("  add.$t %s0, %s0, %s$k;\n", {{"t", number.type}, {"k", std::to_string(k)}});
  s += sum_block(number);
  s += filled("  ld.param.u64 %d3, [args+16];\n  mad.lo.u64 %d3, %d9, $out, %d3;\n", names);
  return s + store_number(out, "%s0", "%d3", "") + "DONE:\n  ret;\n}\n";
}

}  // namespace weft::algorithms::gpu
