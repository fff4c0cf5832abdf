// One pass of a stable radix sort by a digit of 8 bits. A block takes a tile of 4096 keys, a warp 512 neighbouring ones in
// rows of 32. Keys of a row with equal digits find each other by eight votes; the first of them adds their number to the
// warp's count of the digit, which gives each its rank. Keys then go through shared memory in the order of digits, so that
// writes to memory are runs.
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/ptx_text.h"
#include "support/check.h"

namespace weft::algorithms::gpu {
namespace {

bool wide(ScalarKind key) { return key == ScalarKind::i64 || key == ScalarKind::u64 || key == ScalarKind::f64; }

/// The digit of a key (register of the key's bits) to a 32-bit register; %r38, %r39 hold shift and mask. Keys are seen as
/// unsigned numbers of the same order: signs flipped, negative floats reversed.
std::string digit_of(ScalarKind key, const std::string& from, const std::string& to) {
  const bool w = wide(key);
  const Names names = {{"from", from},           {"to", to},
                       {"b", w ? "b64" : "b32"}, {"s", w ? "s64" : "s32"},
                       {"u", w ? "u64" : "u32"}, {"t", w ? "%d30" : "%r30"},
                       {"top", w ? "63" : "31"}, {"sign", w ? "-9223372036854775808" : "-2147483648"}};
  std::string s;
  switch (key) {
    case ScalarKind::u32:
    case ScalarKind::u64: s = filled("  shr.$u $t, $from, %r38;\n", names); break;
    case ScalarKind::i32:
    case ScalarKind::i64: s = filled("  xor.$b $t, $from, $sign;\n  shr.$u $t, $t, %r38;\n", names); break;
    default:
      WEFT_CHECK(key == ScalarKind::f32 || key == ScalarKind::f64);
      s = filled("  shr.$s $t, $from, $top;\n  or.$b $t, $t, $sign;\n  xor.$b $t, $t, $from;\n  shr.$u $t, $t, %r38;\n",
                 names);
  }
  if (w) s += "  cvt.u32.u64 %r30, %d30;\n";
  return s + filled("  and.b32 $to, %r30, %r39;\n", names);
}

/// A key that comes last, for places beyond the end.
std::string last_key(ScalarKind key) {
  if (key == ScalarKind::u32 || key == ScalarKind::u64) return "-1";
  return wide(key) ? "9223372036854775807" : "2147483647";
}

/// %d3: the index of this lane's key of the first row; %r34: how many keys the tile has, %r37: how many it has from that
/// one on, none if negative; %r35: tiles.
constexpr const char* kPrologue = R"(
  ld.param.u64 %d2, [args+40];
  ld.param.u32 %r35, [args+48];
  ld.param.u32 %r38, [args+52];
  ld.param.u32 %r39, [args+56];
  mul.wide.u32 %d3, %block, 4096;
  sub.u64 %d4, %d2, %d3;
  min.u64 %d4, %d4, 4096;
  cvt.u32.u64 %r34, %d4;
  shl.b32 %r36, %warp, 9;
  add.u32 %r36, %r36, %lane;
  sub.u32 %r37, %r34, %r36;
  cvt.u64.u32 %d4, %r36;
  add.u64 %d3, %d3, %d4;
)";

std::string number(int n) { return std::to_string(n); }

/// The lane's keys of all rows to %k0 … %k15, all under way at once.
std::string load_keys(ScalarKind key) {
  const int bytes = wide(key) ? 8 : 4;
  std::string s = "  ld.param.u64 %d1, [args];\n  mad.lo.u64 %d1, %d3, " + number(bytes) + ", %d1;\n";
  for (int k = 0; k < kItems; ++k)
    s += filled("  setp.gt.s32 %p1, %r37, $at;\n  mov.$bits %k$n, $last;\n  @%p1 ld.global.$bits %k$n, [%d1+$from];\n",
                {{"at", number(32 * k)},
                 {"from", number(32 * k * bytes)},
                 {"bits", wide(key) ? "b64" : "b32"},
                 {"n", number(k)},
                 {"last", last_key(key)}});
  return s;
}

}  // namespace

std::string sort_count_ptx(const std::string& name, ScalarKind key) {
  const NumberText counts = number_text(ScalarKind::u32);
  const bool w = wide(key);
  std::string s = module_head() + kernel_head(name, int(sizeof(SortArguments)), kBlock, counts);
  s += "  .reg ." + std::string(w ? "b64" : "b32") + " %k<16>;\n  .shared .align 4 .b8 counts[1024];\n";
  s += R"(
  mov.u32 %r1, counts;
  shl.b32 %r2, %tid_x, 2;
  add.u32 %r2, %r1, %r2;
  st.shared.u32 [%r2], 0;
  bar.sync 0;
)";
  s += kPrologue + load_keys(key);
  for (int k = 0; k < kItems; ++k) {
    s += "  setp.gt.s32 %p1, %r37, " + number(32 * k) + ";\n" + digit_of(key, "%k" + number(k), "%r4");
    // Digits that are the same for a whole row are added at once: sorted and small keys have long runs of them.
    s += filled(R"(
  shl.b32 %r5, %r4, 2;
  add.u32 %r5, %r1, %r5;
  shfl.sync.idx.b32 %r6, %r4, 0, 31, -1;
  setp.eq.u32 %p2, %r4, %r6;
  and.pred %p2, %p2, %p1;
  vote.sync.all.pred %p3, %p2, -1;
  setp.eq.u32 %p4, %lane, 0;
  and.pred %p4, %p4, %p3;
  @%p4 red.shared.add.u32 [%r5], 32;
  not.pred %p3, %p3;
  and.pred %p3, %p3, %p1;
  @%p3 red.shared.add.u32 [%r5], 1;
)",
                {});
  }
  return s + R"(
  bar.sync 0;
  ld.shared.u32 %r3, [%r2];
  mad.lo.u32 %r4, %tid_x, %r35, %block;
  ld.param.u64 %d6, [args+32];
  mad.wide.u32 %d6, %r4, 4, %d6;
  st.global.u32 [%d6], %r3;
  ret;
}
)";
}

std::string sort_move_ptx(const std::string& name, ScalarKind key, int value_bytes) {
  const NumberText counts = number_text(ScalarKind::u32);
  const bool w = wide(key);
  const int key_bytes = w ? 8 : 4;
  const std::string bits = w ? "b64" : "b32", value_bits = value_bytes == 8 ? "b64" : "b32";
  std::string s =
      module_head() + kernel_head(name, int(sizeof(SortArguments)), kBlock, counts, w || value_bytes == 8 ? 3 : 4);
  s += filled(R"(
  .reg .$bits %k<16>;
  .reg .$vbits %v;
  .reg .b32 %q<16>, %w<16>, %lower;
  .shared .align 8 .b8 exchange[$exchange];
  .shared .align 4 .b8 counts[8192];
  .shared .align 4 .b8 places[1024];
  .shared .align 4 .b8 partial[32];
  mov.u32 %lower, %lanemask_lt;
  mov.u32 %r1, counts;
  mov.u32 %r2, exchange;
  mov.u32 %r3, places;
  mad.lo.u32 %r4, %tid_x, 4, %r1;
)",
              {{"bits", bits}, {"vbits", value_bits}, {"exchange", number(kTile * std::max(key_bytes, value_bytes))}});
  for (int i = 0; i < kWarps; ++i) s += "  st.shared.u32 [%r4+" + number(1024 * i) + "], 0;\n";
  s += "  bar.sync 0;\n";
  s += kPrologue + load_keys(key);
  s += "  mad.lo.u32 %r5, %warp, 1024, %r1;\n";  // the warp's counts
  for (int k = 0; k < kItems; ++k) {
    s += digit_of(key, "%k" + number(k), "%r7") + "  mov.u32 %r8, -1;\n";
    for (int bit = 0; bit < 8; ++bit)
      s += filled(R"(  and.b32 %r9, %r7, $bit;
  setp.ne.u32 %p1, %r9, 0;
  vote.sync.ballot.b32 %r10, %p1, -1;
  @!%p1 not.b32 %r10, %r10;
  and.b32 %r8, %r8, %r10;
)",
                  {{"bit", number(1 << bit)}});
    s += filled(R"(  and.b32 %r9, %r8, %lower;
  popc.b32 %r9, %r9;
  popc.b32 %r10, %r8;
  brev.b32 %r11, %r8;
  clz.b32 %r11, %r11;
  shl.b32 %r12, %r7, 2;
  add.u32 %r12, %r5, %r12;
  setp.eq.u32 %p1, %r9, 0;
  mov.u32 %r13, 0;
  @%p1 ld.shared.u32 %r13, [%r12];
  @%p1 add.u32 %r10, %r13, %r10;
  @%p1 st.shared.u32 [%r12], %r10;
  shfl.sync.idx.b32 %r13, %r13, %r11, 31, -1;
  add.u32 %q$n, %r13, %r9;
  bar.warp.sync -1;
)",
                {{"n", number(k)}});
  }
  // Thread t has digit t: the counts of the warps become the first places of their keys in the tile.
  s += "  bar.sync 0;\n  mov.u32 %r14, 0;\n";
  for (int i = 0; i < kWarps; ++i)
    s += filled("  ld.shared.u32 %r$to, [%r4+$at];\n  add.u32 %r14, %r14, %r$to;\n",
                {{"to", number(16 + i)}, {"at", number(1024 * i)}});
  s += "  mov.u32 %s0, %r14;\n" + scan_lanes(counts, "%s0") + R"(
  mov.u32 %r24, partial;
  mad.lo.u32 %r25, %warp, 4, %r24;
  setp.eq.u32 %p1, %lane, 31;
  @%p1 st.shared.u32 [%r25], %s0;
  bar.sync 0;
  sub.u32 %r14, %s0, %r14;
)";
  for (int i = 0; i + 1 < kWarps; ++i)
    s += filled(
        "  setp.gt.u32 %p1, %warp, $w;\n  @%p1 ld.shared.u32 %r26, [partial+$at];\n  @%p1 add.u32 %r14, %r14, %r26;\n",
        {{"w", number(i)}, {"at", number(4 * i)}});
  s += R"(
  mad.lo.u32 %r27, %tid_x, %r35, %block;
  ld.param.u64 %d6, [args+32];
  mad.wide.u32 %d6, %r27, 4, %d6;
  ld.global.u32 %r27, [%d6];
  sub.u32 %r27, %r27, %r14;
  mad.lo.u32 %r28, %tid_x, 4, %r3;
  st.shared.u32 [%r28], %r27;
)";
  for (int i = 0; i < kWarps; ++i)
    s += filled("  st.shared.u32 [%r4+$at], %r14;\n  add.u32 %r14, %r14, %r$from;\n",
                {{"at", number(1024 * i)}, {"from", number(16 + i)}});
  s += "  bar.sync 0;\n";
  for (int k = 0; k < kItems; ++k)
    s += digit_of(key, "%k" + number(k), "%r7") +
         filled(R"(  shl.b32 %r7, %r7, 2;
  add.u32 %r7, %r5, %r7;
  ld.shared.u32 %r8, [%r7];
  add.u32 %q$n, %q$n, %r8;
  mad.lo.u32 %r9, %q$n, $bytes, %r2;
  st.shared.$bits [%r9], %k$n;
)",
                {{"n", number(k)}, {"bytes", number(key_bytes)}, {"bits", bits}});
  s += "  bar.sync 0;\n  ld.param.u64 %d7, [args+16];\n";
  for (int k = 0; k < kItems; ++k) {
    s += filled(R"(
  add.u32 %r6, %tid_x, $at;
  mad.lo.u32 %r9, %r6, $bytes, %r2;
  ld.shared.$bits %k0, [%r9];
)",
                {{"at", number(kBlock * k)}, {"bytes", number(key_bytes)}, {"bits", bits}});
    s += digit_of(key, "%k0", "%r7") + filled(R"(  mad.lo.u32 %r7, %r7, 4, %r3;
  ld.shared.u32 %w$n, [%r7];
  add.u32 %w$n, %w$n, %r6;
  mad.wide.u32 %d8, %w$n, $bytes, %d7;
  setp.lt.u32 %p1, %r6, %r34;
  @%p1 st.global.$bits [%d8], %k0;
)",
                                              {{"n", number(k)}, {"bytes", number(key_bytes)}, {"bits", bits}});
  }
  s += "  bar.sync 0;\n  ld.param.u64 %d9, [args+8];\n  ld.param.u64 %d10, [args+24];\n";
  s += "  mad.lo.u64 %d9, %d3, " + number(value_bytes) + ", %d9;\n";
  for (int k = 0; k < kItems; ++k)
    s += filled(R"(
  setp.gt.s32 %p1, %r37, $at;
  mad.lo.u32 %r9, %q$n, $bytes, %r2;
  @%p1 ld.global.$bits %v, [%d9+$from];
  @%p1 st.shared.$bits [%r9], %v;
)",
                {{"at", number(32 * k)},
                 {"from", number(32 * k * value_bytes)},
                 {"n", number(k)},
                 {"bytes", number(value_bytes)},
                 {"bits", value_bits}});
  s += "  bar.sync 0;\n";
  for (int k = 0; k < kItems; ++k)
    s += filled(R"(
  add.u32 %r6, %tid_x, $at;
  setp.lt.u32 %p1, %r6, %r34;
  mad.lo.u32 %r9, %r6, $bytes, %r2;
  mad.wide.u32 %d8, %w$n, $bytes, %d10;
  @%p1 ld.shared.$bits %v, [%r9];
  @%p1 st.global.$bits [%d8], %v;
)",
                {{"at", number(kBlock * k)}, {"n", number(k)}, {"bytes", number(value_bytes)}, {"bits", value_bits}});
  return s + "  ret;\n}\n";
}

}  // namespace weft::algorithms::gpu
