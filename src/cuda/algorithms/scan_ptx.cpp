// Prefix sums in three steps: sums of tiles, prefix sums of those, prefix sums within tiles. The order of additions is
// fixed, so results are the same in every run. A warp takes 512 neighbouring numbers, 32 at a time.
#include "cuda/algorithms/kernels.h"
#include "cuda/algorithms/ptx_text.h"

namespace weft::cuda {
namespace {

/// Reads the warp's numbers to %s0 … %s15, zero beyond the end. %d4 becomes the index of the lane's first one, %d3 the
/// count.
std::string load_rows(ScalarKind kind) {
  const NumberText number = number_text(kind);
  std::string s = R"(
  ld.param.u64 %d1, [args];
  ld.param.u64 %d2, [args+24];
  ld.param.u64 %d3, [args+40];
  mul.wide.u32 %d4, %block, 4096;
  shl.b32 %r1, %warp, 9;
  add.u32 %r1, %r1, %lane;
  cvt.u64.u32 %d5, %r1;
  add.u64 %d4, %d4, %d5;
  mad.lo.s64 %d1, %d4, %d2, %d1;
  shl.b64 %d2, %d2, 5;
  mov.u64 %d6, %d4;
)";
  for (int k = 0; k < kItems; ++k) {
    const std::string to = "%s" + std::to_string(k);
    s += filled("  setp.lt.u64 %p1, %d6, %d3;\n  mov.$t $to, $zero;\n",
                {{"t", number.type}, {"to", to}, {"zero", number.zero}});
    s += load_number(kind, to, "%d1", "@%p1");
    if (k + 1 < kItems) s += "  add.s64 %d1, %d1, %d2;\n  add.u64 %d6, %d6, 32;\n";
  }
  return s;
}

}  // namespace

std::string scan_sums_ptx(const std::string& name, ScalarKind kind) {
  const NumberText number = number_text(kind);
  std::string s = module_head() + kernel_head(name, int(sizeof(ScanArguments)), kBlock, number);
  const std::string bytes = std::to_string(number.sum_bytes);
  s += "  .shared .align 8 .b8 partial[" + std::to_string(kWarps * number.sum_bytes) + "];\n" + load_rows(kind);
  for (int k = 1; k < kItems; ++k)
    s += filled("  add.$t %s0, %s0, %s$k;\n", {{"t", number.type}, {"k", std::to_string(k)}});
  s += sum_lanes(number, "%s0");
  s += filled(R"(
  mov.u32 %r1, partial;
  mad.lo.u32 %r1, %warp, $bytes, %r1;
  setp.eq.u32 %p1, %lane, 0;
  @%p1 st.shared.$t [%r1], %s0;
  bar.sync 0;
  setp.ne.u32 %p1, %tid_x, 0;
  @%p1 bra DONE;
)",
              {{"bytes", bytes}, {"t", number.type}});
  for (int w = 1; w < kWarps; ++w)
    s += filled("  ld.shared.$t %s1, [partial+$at];\n  add.$t %s0, %s0, %s1;\n",
                {{"t", number.type}, {"at", std::to_string(w * number.sum_bytes)}});
  return s + filled(R"(
  ld.param.u64 %d1, [args+16];
  mul.wide.u32 %d2, %block, $bytes;
  add.u64 %d1, %d1, %d2;
  st.global.$t [%d1], %s0;
DONE:
  ret;
}
)",
                    {{"bytes", bytes}, {"t", number.type}});
}

std::string scan_spine_ptx(const std::string& name, ScalarKind sum) {
  const NumberText number = number_text(sum);
  std::string s = module_head() + kernel_head(name, int(sizeof(ScanArguments)), kSpineBlock, number);
  const Names names = {{"bytes", std::to_string(number.sum_bytes)},
                       {"all", std::to_string(33 * number.sum_bytes)},
                       {"last", std::to_string(32 * number.sum_bytes)},
                       {"t", number.type},
                       {"zero", number.zero},
                       {"step", std::to_string(kSpineBlock * number.sum_bytes)},
                       {"block", std::to_string(kSpineBlock)}};
  // %s10: the sum of all chunks so far. The last place of `partial` takes a chunk's total.
  s += filled(R"(
  .shared .align 8 .b8 partial[$all];
  ld.param.u64 %d1, [args+16];
  ld.param.u64 %d3, [args+40];
  cvt.u64.u32 %d4, %tid_x;
  mad.lo.u64 %d1, %d4, $bytes, %d1;
  mov.u32 %r1, partial;
  mad.lo.u32 %r2, %warp, $bytes, %r1;
  mad.lo.u32 %r3, %lane, $bytes, %r1;
  mov.u64 %d5, 0;
  mov.$t %s10, $zero;
CHUNK:
  setp.ge.u64 %p7, %d5, %d3;
  @%p7 bra DONE;
  setp.lt.u64 %p6, %d4, %d3;
  mov.$t %s0, $zero;
  @%p6 ld.global.$t %s0, [%d1];
)",
              names);
  s += scan_lanes(number, "%s0");
  s += shuffle(number.sum_bytes, "up", "%s1", "%s0", "1");
  s += filled(R"(
  setp.eq.u32 %p1, %lane, 0;
  @%p1 mov.$t %s1, $zero;
  setp.eq.u32 %p2, %lane, 31;
  @%p2 st.shared.$t [%r2], %s0;
  bar.sync 0;
  setp.ne.u32 %p3, %warp, 0;
  @%p3 bra JOINED;
  ld.shared.$t %s2, [%r3];
)",
              names);
  s += scan_lanes(number, "%s2") + shuffle(number.sum_bytes, "up", "%s3", "%s2", "1");
  s += filled(R"(
  @%p1 mov.$t %s3, $zero;
  st.shared.$t [%r3], %s3;
  @%p2 st.shared.$t [partial+$last], %s2;
JOINED:
  bar.sync 0;
  ld.shared.$t %s4, [%r2];
  ld.shared.$t %s5, [partial+$last];
  add.$t %s4, %s10, %s4;
  add.$t %s4, %s4, %s1;
  @%p6 st.global.$t [%d1], %s4;
  add.$t %s10, %s10, %s5;
  bar.sync 0;
  add.u64 %d1, %d1, $step;
  add.u64 %d4, %d4, $block;
  add.u64 %d5, %d5, $block;
  bra CHUNK;
DONE:
  ret;
}
)",
              names);
  return s;
}

std::string scan_apply_ptx(const std::string& name, ScalarKind kind, bool inclusive) {
  const NumberText number = number_text(kind);
  const std::string bytes = std::to_string(number.sum_bytes);
  std::string s = module_head() + kernel_head(name, int(sizeof(ScanArguments)), kBlock, number);
  s += "  .shared .align 8 .b8 partial[" + std::to_string(kWarps * number.sum_bytes) + "];\n" + load_rows(kind);
  // %s20: the sum of the warp's rows so far; every row gets what came before it in the warp.
  s += filled("  mov.$t %s20, $zero;\n  setp.eq.u32 %p2, %lane, 0;\n", {{"t", number.type}, {"zero", number.zero}});
  for (int k = 0; k < kItems; ++k) {
    const std::string v = "%s" + std::to_string(k);
    s += scan_lanes(number, v);
    s += shuffle(number.sum_bytes, "idx", "%s21", v, "31");
    if (!inclusive)
      s += shuffle(number.sum_bytes, "up", v, v, "1") +
           filled("  @%p2 mov.$t $v, $zero;\n", {{"t", number.type}, {"v", v}, {"zero", number.zero}});
    s += filled("  add.$t $v, %s20, $v;\n  add.$t %s20, %s20, %s21;\n", {{"t", number.type}, {"v", v}});
  }
  s += filled(R"(
  mov.u32 %r1, partial;
  mad.lo.u32 %r2, %warp, $bytes, %r1;
  @%p2 st.shared.$t [%r2], %s20;
  bar.sync 0;
  ld.param.u64 %d7, [args+16];
  mul.wide.u32 %d8, %block, $bytes;
  add.u64 %d7, %d7, %d8;
  ld.global.$t %s22, [%d7];
)",
              {{"bytes", bytes}, {"t", number.type}});
  for (int w = 0; w + 1 < kWarps; ++w)
    s += filled(
        "  setp.gt.u32 %p3, %warp, $w;\n  @%p3 ld.shared.$t %s21, [partial+$at];\n  @%p3 add.$t %s22, %s22, %s21;\n",
        {{"w", std::to_string(w)}, {"t", number.type}, {"at", std::to_string(w * number.sum_bytes)}});
  s += R"(
  ld.param.u64 %d9, [args+8];
  ld.param.u64 %d10, [args+32];
  mad.lo.s64 %d9, %d4, %d10, %d9;
  shl.b64 %d10, %d10, 5;
)";
  for (int k = 0; k < kItems; ++k) {
    const std::string v = "%s" + std::to_string(k);
    s += filled("  add.$t $v, %s22, $v;\n  setp.lt.u64 %p1, %d4, %d3;\n", {{"t", number.type}, {"v", v}});
    s += store_number(kind, v, "%d9", "@%p1");
    if (k + 1 < kItems) s += "  add.s64 %d9, %d9, %d10;\n  add.u64 %d4, %d4, 32;\n";
  }
  return s + "  ret;\n}\n";
}

}  // namespace weft::cuda
