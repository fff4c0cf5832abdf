// Histograms: blocks count in shared memory and add what they found, or, with more bins than fit there, all of them count in
// memory at once. Counts are whole numbers, so the order does not matter.
#include "algorithms/gpu/kernels.h"

namespace weft::algorithms::gpu {
namespace {

/// A value as float64, in which bins are computed on every device.
Reg as_double(PtxKernel& k, ScalarKind kind, const Reg& place) {
  const NumberText number = number_text(kind);
  const Reg value = k.reg(number.sum_bytes * 8);
  load_number(k, kind, value, at(place));
  switch (kind) {
    case ScalarKind::i32: return k("cvt.rn.f64.s32", value);
    case ScalarKind::u32: return k("cvt.rn.f64.u32", value);
    case ScalarKind::i64: return k("cvt.rn.f64.s64", value);
    case ScalarKind::u64: return k("cvt.rn.f64.u64", value);
    case ScalarKind::f16:
    case ScalarKind::bf16:
    case ScalarKind::f32: return k("cvt.f64.f32", value);
    default: return value;
  }
}

}  // namespace

std::string histogram_ptx(const std::string& name, ScalarKind kind, bool shared) {
  PtxKernel k(name, sizeof(HistogramArguments), kHistogramBlock);
  const Reg bins = k("ld.param.u64", at("args", 24)), counts = k("ld.param.u64", at("args", 8));
  std::string local;
  // Every block's own counts: zero at first, added to the others' at last.
  const auto each_bin = [&](const auto& work) {
    const std::string next = k.label(), done = k.label();
    const Reg bin = k("mov.u32", k.thread());
    k.place(next);
    k.when(k("setp.ge.u32", bin, k("cvt.u32.u64", bins))).jump(done);
    work(bin);
    k.set(bin, "add.u32", bin, kHistogramBlock);
    k.jump(next);
    k.place(done);
  };
  const auto of_block = [&](const Reg& bin) { return at(k("mad.lo.u32", bin, 4, k("mov.u32", local))); };
  if (shared) {
    local = k.shared("counts", kHistogramSharedBins * 4);
    each_bin([&](const Reg& bin) { k.run("st.shared.u32", of_block(bin), 0); });
    k.barrier();
  }
  const Reg count = k("ld.param.u64", at("args", 16));
  const Reg lower = k("ld.param.f64", at("args", 32)), upper = k("ld.param.f64", at("args", 40));
  const Reg width = k("sub.f64", upper, lower), scale = k("cvt.rn.f64.s64", bins), last = k("sub.u64", bins, 1);
  const Reg index = k("mad.wide.u32", k("mov.u32", "%ctaid.x"), kHistogramBlock, k("cvt.u64.u32", k.thread()));
  const Reg step = k("mul.wide.u32", k("mov.u32", "%nctaid.x"), kHistogramBlock);
  const std::string loop = k.label(), next = k.label(), counted = k.label();
  k.place(loop);
  k.when(k("setp.ge.u64", index, count)).jump(counted);
  const Reg place = k("mad.lo.u64", index, number_text(kind).bytes, k("ld.param.u64", at("args")));
  const Reg value = as_double(k, kind, place);
  // Not-a-numbers are on neither side.
  k.unless(k("setp.ge.f64", value, lower)).jump(next);
  k.unless(k("setp.lt.f64", value, upper)).jump(next);
  const Reg share = k("div.rn.f64", k("sub.f64", value, lower), width);
  // The product may be rounded up to the end.
  const Reg bin = k("min.u64", k("cvt.rzi.u64.f64", k("mul.rn.f64", share, scale)), last);
  if (shared)
    k.run("red.shared.add.u32", of_block(k("cvt.u32.u64", bin)), 1);
  else
    k.run("red.global.add.u32", at(k("mad.lo.u64", bin, 4, counts)), 1);
  k.place(next);
  k.set(index, "add.u64", index, step);
  k.jump(loop);
  k.place(counted);
  if (shared) {
    k.barrier();
    each_bin([&](const Reg& one) {
      k.run("red.global.add.u32", at(k("mad.wide.u32", one, 4, counts)), k("ld.shared.u32", of_block(one)));
    });
  }
  return k.text();
}

}  // namespace weft::algorithms::gpu
