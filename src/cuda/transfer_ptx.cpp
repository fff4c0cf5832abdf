// The text of the copy and fill kernels. Written by hand: a few instructions that every GPU since sm_50 has. Thread i
// moves word i, i + grid size, …; its place is found by dividing i by the extents, innermost first. Divisions are
// skipped for dimensions of extent 1, which is what a simplified copy mostly has.
#include "cuda/transfer.h"

namespace weft::cuda {
namespace {

std::string number(int n) { return std::to_string(n); }

/// Offsets in the argument block; see Arguments in transfer.cpp.
constexpr int kTo = 0, kFrom = 8, kCount = 16, kExtent = 24, kToStride = kExtent + 8 * kTransferRank,
              kFromStride = kToStride + 8 * kTransferRank, kValue = kFromStride + 8 * kTransferRank;

std::string kernel(int word, bool fill) {
  const std::string name = std::string(fill ? "weft_fill_" : "weft_copy_") + number(word);
  const std::string type = "u" + number(word * 8);
  const std::string data = word == 8 ? "%rd20" : word == 4 ? "%r10" : "%rs1";
  auto param = [](const std::string& to, int offset) {
    return "  ld.param.u64 " + to + ", [args+" + number(offset) + "];\n";
  };
  const int bytes = fill ? kValue + int(kMaxFillBytes) : kValue;
  std::string s = ".visible .entry " + name + "(.param .align 8 .b8 args[" + number(bytes) + "])\n{\n";
  s += "  .reg .pred %p<4>;\n  .reg .b16 %rs<2>;\n  .reg .b32 %r<12>;\n  .reg .b64 %rd<32>;\n";
  s += "  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n  mov.u32 %r3, %tid.x;\n  mov.u32 %r4, %nctaid.x;\n";
  s += "  cvt.u64.u32 %rd3, %r3;\n  mul.wide.u32 %rd1, %r1, %r2;\n  add.u64 %rd1, %rd1, %rd3;\n";
  s += "  mul.wide.u32 %rd2, %r4, %r2;\n";
  s += param("%rd4", kCount);
  s += "  setp.ge.s64 %p1, %rd1, %rd4;\n  @%p1 bra DONE;\n";
  s += "LOOP:\n  mov.u64 %rd5, %rd1;\n" + param("%rd6", kTo);
  s += fill ? "  mov.u64 %rd7, 0;\n" : param("%rd7", kFrom);
  for (int d = kTransferRank - 1; d >= 0; --d) {
    const std::string skip = "DIM" + number(d);
    s += param("%rd8", kExtent + 8 * d);
    if (d > 0) {
      s += "  setp.eq.s64 %p2, %rd8, 1;\n  @%p2 bra " + skip + ";\n";
      s += "  rem.u64 %rd9, %rd5, %rd8;\n  div.u64 %rd5, %rd5, %rd8;\n";
    } else {
      s += "  mov.u64 %rd9, %rd5;\n";
    }
    s += param("%rd10", kToStride + 8 * d) + "  mad.lo.s64 %rd6, %rd9, %rd10, %rd6;\n";
    s += param("%rd11", kFromStride + 8 * d) + "  mad.lo.s64 %rd7, %rd9, %rd11, %rd7;\n";
    if (d > 0) s += skip + ":\n";
  }
  if (fill)
    s += "  mov.u64 %rd12, args;\n  add.u64 %rd12, %rd12, %rd7;\n  ld.param." + type + " " + data + ", [%rd12+" +
         number(kValue) + "];\n";
  else
    s += "  ld.global." + type + " " + data + ", [%rd7];\n";
  s += "  st.global." + type + " [%rd6], " + data + ";\n";
  s += "  add.u64 %rd1, %rd1, %rd2;\n  setp.lt.s64 %p3, %rd1, %rd4;\n  @%p3 bra LOOP;\nDONE:\n  ret;\n}\n";
  return s;
}

}  // namespace

std::string transfer_ptx(int word, bool fill) {
  return ".version 6.0\n.target sm_50\n.address_size 64\n" + kernel(word, fill);
}

}  // namespace weft::cuda
