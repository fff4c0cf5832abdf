// What sorts within segments need besides sorts. Where segments begin or end is marked; prefix sums of the marks number the
// stretches between: elements of segments get odd numbers, those between segments even ones. Sorted by number and key, all
// segments are sorted; what lies between counts as equal and stays where it is.
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/radix_keys.h"

namespace weft::algorithms::gpu {
namespace {

/// This thread's index, beyond which there is nothing to do for it.
Reg index_below(PtxKernel& k, const Reg& count, const std::string& done) {
  const Reg index = k("mad.wide.u32", k("mov.u32", "%ctaid.x"), kSegmentsBlock, k("cvt.u64.u32", k.thread()));
  k.when(k("setp.ge.u64", index, count)).jump(done);
  return index;
}

}  // namespace

std::string segment_marks_ptx(const std::string& name) {
  PtxKernel k(name, sizeof(SegmentMarksArguments), kSegmentsBlock);
  const std::string done = k.label();
  const Reg index = index_below(k, k("ld.param.u64", at("args", 24)), done);
  const Reg count = k("ld.param.u32", at("args", 32));
  const auto bound = [&](int argument) {
    const Reg given = k("ld.global.u32", at(k("mad.lo.u64", index, 4, k("ld.param.u64", at("args", argument)))));
    return k("min.s32", k("max.s32", given, 0), count);
  };
  const Reg begin = bound(0), end = bound(8), marks = k("ld.param.u64", at("args", 16));
  k.when(k("setp.ge.s32", begin, end)).jump(done);
  k.run("red.global.add.u32", at(k("mad.wide.u32", begin, 4, marks)), 1);
  k.when(k("setp.ge.s32", end, count)).jump(done);
  k.run("red.global.add.u32", at(k("mad.wide.u32", end, 4, marks)), 1);
  k.place(done);
  return k.text();
}

std::string segment_keys_ptx(const std::string& name, ScalarKind key, bool back) {
  PtxKernel k(name, sizeof(SegmentKeysArguments), kSegmentsBlock);
  const std::string done = k.label();
  const Reg index = index_below(k, k("ld.param.u64", at("args", 24)), done);
  const Reg key_at = k("mad.lo.u64", index, 4, k("ld.param.u64", at("args")));
  const Reg joined_at = k("mad.lo.u64", index, 8, k("ld.param.u64", at("args", 16)));
  const Reg number = k.reg(32), ordered = k.reg(32), joined = k.reg(64);
  const std::string both = "{" + ordered.name + ", " + number.name + "}";
  if (back) {
    k.set(joined, "ld.global.u64", at(joined_at));
    k.run("mov.b64", both, joined);
    k.when(k("setp.eq.u32", k("and.b32", number, 1), 0)).jump(done);
    k.run("st.global.b32", at(key_at), key_of(k, key, ordered));
  } else {
    k.set(number, "ld.global.u32", at(k("mad.lo.u64", index, 4, k("ld.param.u64", at("args", 8)))));
    k.set(ordered, "mov.u32", ordered_of(k, key, k("ld.global.b32", at(key_at))));
    k.when(k("setp.eq.u32", k("and.b32", number, 1), 0)).set(ordered, "mov.u32", 0);
    k.run("mov.b64", joined, both);
    k.run("st.global.u64", at(joined_at), joined);
  }
  k.place(done);
  return k.text();
}

}  // namespace weft::algorithms::gpu
