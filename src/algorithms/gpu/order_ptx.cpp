// Elements put into an order, and the order to begin with.
#include "algorithms/gpu/kernels.h"

namespace weft::algorithms::gpu {

std::string count_up_ptx(const std::string& name) {
  PtxKernel k(name, sizeof(CountUpArguments), kOrderBlock);
  const std::string done = k.label();
  const Reg index = k("mad.lo.u32", k("mov.u32", "%ctaid.x"), kOrderBlock, k.thread());
  k.when(k("setp.ge.u32", index, k("ld.param.u32", at("args", 8)))).jump(done);
  k.run("st.global.u32", at(k("mad.wide.u32", index, 4, k("ld.param.u64", at("args")))), index);
  k.place(done);
  return k.text();
}

std::string gather_ptx(const std::string& name, int unit_bytes) {
  PtxKernel k(name, sizeof(GatherArguments), kOrderBlock);
  const std::string done = k.label(), type = unit_bytes == 1 ? "u8" : "b" + std::to_string(8 * unit_bytes);
  const Reg units = k("ld.param.u64", at("args", 40));  // of an element
  const Reg index = k("mad.wide.u32", k("mov.u32", "%ctaid.x"), kOrderBlock, k("cvt.u64.u32", k.thread()));
  k.when(k("setp.ge.u64", index, k("mul.lo.u64", k("ld.param.u64", at("args", 24)), units))).jump(done);
  const Reg element = k("div.u64", index, units), unit = k("rem.u64", index, units);
  const Reg from = k("ld.global.u32", at(k("mad.lo.u64", element, 4, k("ld.param.u64", at("args", 16)))));
  const Reg source =
      k("mad.lo.s64", k("cvt.u64.u32", from), k("ld.param.u64", at("args", 32)), k("ld.param.u64", at("args", 8)));
  const Reg value = k.reg(unit_bytes == 8 ? 64 : unit_bytes == 4 ? 32 : 16);
  k.set(value, "ld.global." + type, at(k("mad.lo.u64", unit, unit_bytes, source)));
  k.run("st.global." + type, at(k("mad.lo.u64", index, unit_bytes, k("ld.param.u64", at("args")))), value);
  k.place(done);
  return k.text();
}

}  // namespace weft::algorithms::gpu
