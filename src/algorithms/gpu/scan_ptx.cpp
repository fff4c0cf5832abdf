// Prefix sums in three steps: sums of tiles, prefix sums of those, prefix sums within tiles. The order of additions is
// fixed, so results are the same in every run. A warp takes 512 neighbouring numbers, in rows of 32 or, where they are
// packed, of 32 128-bit accesses: each lane then adds up its few numbers alone, and there are fewer rows to scan.
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/ptx_text.h"

namespace weft::algorithms::gpu {
namespace {

/// Numbers that a lane has of each row.
int width_of(ScalarKind kind, bool packed) { return packed ? vector_length(number_text(kind)) : 1; }

/// Reads the warp's numbers to %s0 … %s15, rows one after the other, zero beyond the end. %d4 becomes the index of the
/// lane's first one, %d3 the count; %p7 tells whether the whole tile is there.
std::string load_rows(ScalarKind kind, bool packed) {
  const NumberText number = number_text(kind);
  const int width = width_of(kind, packed);
  std::string s = filled(R"(
  ld.param.u64 %d1, [args];
  ld.param.u64 %d2, [args+24];
  ld.param.u64 %d3, [args+40];
  mul.wide.u32 %d4, %block, 4096;
  add.u64 %d5, %d4, 4096;
  setp.le.u64 %p7, %d5, %d3;
  shl.b32 %r1, %warp, 9;
  mad.lo.u32 %r1, %lane, $width, %r1;
  cvt.u64.u32 %d5, %r1;
  add.u64 %d4, %d4, %d5;
  mad.lo.s64 %d1, %d4, %d2, %d1;
)",
                         {{"width", std::to_string(width)}});
  if (packed) {
    s += "  @!%p7 bra PART;\n";
    for (int k = 0; k < kItems; k += width) s += load_vector(number, k, "%d1+" + std::to_string(32 * k * number.bytes));
    s += "  bra LOADED;\nPART:\n";
  }
  s += filled("  shl.b64 %d2, %d2, 5;\n  mul.lo.s64 %d2, %d2, $width;\n  mov.u64 %d6, %d4;\n",
              {{"width", std::to_string(width)}});
  for (int k = 0; k < kItems; k += width) {
    for (int n = 0; n < width; ++n) {
      const std::string to = "%s" + std::to_string(k + n), at = "%d1+" + std::to_string(n * number.bytes);
      s += filled("  add.u64 %d7, %d6, $n;\n  setp.lt.u64 %p1, %d7, %d3;\n  mov.$t $to, $zero;\n",
                  {{"n", std::to_string(n)}, {"t", number.type}, {"to", to}, {"zero", number.zero}});
      s += load_number(kind, to, packed ? at : "%d1", "@%p1");
    }
    if (k + width < kItems) s += "  add.s64 %d1, %d1, %d2;\n  add.u64 %d6, %d6, " + std::to_string(32 * width) + ";\n";
  }
  return s + (packed ? "LOADED:\n" : "");
}

}  // namespace

std::string scan_sums_ptx(const std::string& name, ScalarKind kind, bool packed) {
  const NumberText number = number_text(kind);
  std::string s = module_head() + kernel_head(name, int(sizeof(ScanArguments)), kBlock, number);
  const std::string bytes = std::to_string(number.sum_bytes);
  s += "  .shared .align 8 .b8 partial[" + std::to_string(kWarps * number.sum_bytes) + "];\n" + load_rows(kind, packed);
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
  constexpr int kEach = 4;  // neighbouring sums of a thread
  const NumberText number = number_text(sum);
  std::string s = module_head() + kernel_head(name, int(sizeof(ScanArguments)), kSpineBlock, number);
  const Names names = {{"bytes", std::to_string(number.sum_bytes)},
                       {"each", std::to_string(kEach)},
                       {"own", std::to_string(kEach * number.sum_bytes)},
                       {"all", std::to_string(33 * number.sum_bytes)},
                       {"last", std::to_string(32 * number.sum_bytes)},
                       {"t", number.type},
                       {"zero", number.zero},
                       {"step", std::to_string(kEach * kSpineBlock * number.sum_bytes)},
                       {"chunk", std::to_string(kEach * kSpineBlock)}};
  // %s20: the sum of all chunks so far; %d4: the thread's first index. The last place of `partial` takes a chunk's total.
  s += filled(R"(
  .shared .align 8 .b8 partial[$all];
  ld.param.u64 %d1, [args+16];
  ld.param.u64 %d3, [args+40];
  cvt.u64.u32 %d4, %tid_x;
  mad.lo.u64 %d1, %d4, $own, %d1;
  mul.lo.u64 %d4, %d4, $each;
  mov.u32 %r1, partial;
  mad.lo.u32 %r2, %warp, $bytes, %r1;
  mad.lo.u32 %r3, %lane, $bytes, %r1;
  setp.eq.u32 %p1, %lane, 0;
  setp.eq.u32 %p2, %lane, 31;
  setp.ne.u32 %p3, %warp, 0;
  mov.u64 %d5, 0;
  mov.$t %s20, $zero;
CHUNK:
  setp.ge.u64 %p7, %d5, %d3;
  @%p7 bra DONE;
  mov.$t %s0, $zero;
)",
              names);
  // %s4 … %s7: the sums; %s8 … %s11: what comes before each among them; %s0: all of them.
  for (int k = 0; k < kEach; ++k)
    s += filled(
        "  add.u64 %d6, %d4, $k;\n  setp.lt.u64 %p6, %d6, %d3;\n  mov.$t $v, $zero;\n"
        "  @%p6 ld.global.$t $v, [%d1+$at];\n",
        {{"k", std::to_string(k)},
         {"t", number.type},
         {"v", "%s" + std::to_string(4 + k)},
         {"zero", number.zero},
         {"at", std::to_string(k * number.sum_bytes)}});
  for (int k = 0; k < kEach; ++k)
    s += filled("  mov.$t $before, %s0;\n  add.$t %s0, %s0, $v;\n",
                {{"t", number.type}, {"v", "%s" + std::to_string(4 + k)}, {"before", "%s" + std::to_string(8 + k)}});
  s += scan_lanes(number, "%s0") + shuffle(number.sum_bytes, "up", "%s1", "%s0", "1");
  s += filled(R"(
  @%p1 mov.$t %s1, $zero;
  @%p2 st.shared.$t [%r2], %s0;
  bar.sync 0;
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
  ld.shared.$t %s12, [%r2];
  ld.shared.$t %s13, [partial+$last];
  add.$t %s12, %s20, %s12;
  add.$t %s12, %s12, %s1;
)",
              names);
  for (int k = 0; k < kEach; ++k)
    s += filled(
        "  add.u64 %d6, %d4, $k;\n  setp.lt.u64 %p6, %d6, %d3;\n  add.$t $before, %s12, $before;\n"
        "  @%p6 st.global.$t [%d1+$at], $before;\n",
        {{"k", std::to_string(k)},
         {"t", number.type},
         {"before", "%s" + std::to_string(8 + k)},
         {"at", std::to_string(k * number.sum_bytes)}});
  s += filled(R"(
  add.$t %s20, %s20, %s13;
  bar.sync 0;
  add.u64 %d1, %d1, $step;
  add.u64 %d4, %d4, $chunk;
  add.u64 %d5, %d5, $chunk;
  bra CHUNK;
DONE:
  ret;
}
)",
              names);
  return s;
}

std::string scan_apply_ptx(const std::string& name, ScalarKind kind, bool inclusive, bool packed) {
  const NumberText number = number_text(kind);
  const int width = width_of(kind, packed);
  const std::string bytes = std::to_string(number.sum_bytes);
  std::string s = module_head() + kernel_head(name, int(sizeof(ScanArguments)), kBlock, number);
  s += "  .shared .align 8 .b8 partial[" + std::to_string(kWarps * number.sum_bytes) + "];\n" + load_rows(kind, packed);
  // %s20: the sum of the warp's rows so far; every number gets what came before it in the warp, and itself if it counts.
  s += filled("  mov.$t %s20, $zero;\n  setp.eq.u32 %p2, %lane, 0;\n", {{"t", number.type}, {"zero", number.zero}});
  for (int k = 0; k < kItems; k += width) {
    s += filled("  mov.$t %s23, %s$k;\n", {{"t", number.type}, {"k", std::to_string(k)}});
    for (int n = 1; n < width; ++n)
      s += filled("  add.$t %s23, %s23, %s$k;\n", {{"t", number.type}, {"k", std::to_string(k + n)}});
    s += scan_lanes(number, "%s23") + shuffle(number.sum_bytes, "idx", "%s21", "%s23", "31") +
         shuffle(number.sum_bytes, "up", "%s24", "%s23", "1");
    s += filled("  @%p2 mov.$t %s24, $zero;\n  add.$t %s24, %s20, %s24;\n  add.$t %s20, %s20, %s21;\n",
                {{"t", number.type}, {"zero", number.zero}});
    for (int n = 0; n < width; ++n) {
      const std::string v = "%s" + std::to_string(k + n);
      s += inclusive ? filled("  add.$t %s24, %s24, $v;\n  mov.$t $v, %s24;\n", {{"t", number.type}, {"v", v}})
                     : filled("  mov.$t %s25, $v;\n  mov.$t $v, %s24;\n  add.$t %s24, %s24, %s25;\n",
                              {{"t", number.type}, {"v", v}});
    }
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
  for (int k = 0; k < kItems; ++k)
    s += filled("  add.$t $v, %s22, $v;\n", {{"t", number.type}, {"v", "%s" + std::to_string(k)}});
  s += R"(
  ld.param.u64 %d9, [args+8];
  ld.param.u64 %d10, [args+32];
  mad.lo.s64 %d9, %d4, %d10, %d9;
)";
  if (packed) {
    s += "  @!%p7 bra STORE;\n";
    for (int k = 0; k < kItems; k += width)
      s += store_vector(number, k, "%d9+" + std::to_string(32 * k * number.bytes));
    s += "  ret;\nSTORE:\n";
  }
  s += filled("  shl.b64 %d10, %d10, 5;\n  mul.lo.s64 %d10, %d10, $width;\n", {{"width", std::to_string(width)}});
  for (int k = 0; k < kItems; k += width) {
    for (int n = 0; n < width; ++n) {
      s += "  add.u64 %d7, %d4, " + std::to_string(n) + ";\n  setp.lt.u64 %p1, %d7, %d3;\n";
      s += store_number(kind, "%s" + std::to_string(k + n), packed ? "%d9+" + std::to_string(n * number.bytes) : "%d9",
                        "@%p1");
    }
    if (k + width < kItems) s += "  add.s64 %d9, %d9, %d10;\n  add.u64 %d4, %d4, " + std::to_string(32 * width) + ";\n";
  }
  return s + "  ret;\n}\n";
}

}  // namespace weft::algorithms::gpu
