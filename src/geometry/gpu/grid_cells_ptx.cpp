// Cells of points, a thread each.
#include "geometry/gpu/grid_cells_ptx.h"

#include "algorithms/gpu/ptx_numbers.h"

namespace weft::geometry::gpu {
namespace {

using namespace algorithms::gpu;

/// The cell along one axis: a product, floor, int32 that saturates (not-a-numbers are 0), and the remainder by the extent.
Reg along_axis(PtxKernel& k, ScalarKind kind, const Reg& value, const Reg& inverse, const Reg& extent) {
  const std::string type = number_text(kind).type;
  const Reg scaled = k("mul.rn." + type, value, inverse);
  const Reg cell = k("cvt.rmi.s32." + type, scaled);
  k.when(k("setp.neu." + type, scaled, scaled)).set(cell, "mov.u32", 0);  // that of a float64 would be the least number
  // Below zero: the extent less one less the remainder of −1 − cell.
  const Reg sign = k("shr.s32", cell, 31);
  const Reg rest = k("rem.u32", k("xor.b32", cell, sign), extent);
  return k("add.u32", k("xor.b32", rest, sign), k("and.b32", sign, extent));
}

}  // namespace

std::string find_cells_ptx(const std::string& name, ScalarKind kind, bool ordered) {
  PtxKernel k(name, sizeof(CellsArguments), kCellsBlock);
  const NumberText number = number_text(kind);
  const std::string done = k.label();
  const Reg index = k("mad.lo.u32", k("mov.u32", "%ctaid.x"), kCellsBlock, k.thread());
  k.when(k("setp.ge.u32", index, k("ld.param.u32", at("args", 48)))).jump(done);
  Reg point = index;
  if (ordered) point = k("ld.global.u32", at(k("mad.wide.u32", index, 4, k("ld.param.u64", at("args", 8)))));
  const Reg place = k("mad.wide.u32", point, 3 * number.bytes, k("ld.param.u64", at("args")));
  Reg inverse = k("ld.param.f64", at("args", 40));
  if (number.type == "f32") inverse = k("cvt.rn.f32.f64", inverse);
  std::vector<Reg> along;
  for (int axis = 0; axis < 3; ++axis) {
    const Reg value = k.reg(8 * number.sum_bytes), extent = k("ld.param.u32", at("args", 52 + 4 * axis));
    load_number(k, kind, value, at(place, axis * number.bytes));
    along.push_back(along_axis(k, kind, value, inverse, extent));
  }
  const Reg row = k("mad.lo.u32", along[2], k("ld.param.u32", at("args", 56)), along[1]);
  const Reg cell = k("mad.lo.u32", row, k("ld.param.u32", at("args", 52)), along[0]);
  k.run("st.global.u32", at(k("mad.wide.u32", index, 4, k("ld.param.u64", at("args", 16)))), cell);
  // Without an order the sort makes the numbers of points itself.
  if (ordered) k.run("st.global.u32", at(k("mad.wide.u32", index, 4, k("ld.param.u64", at("args", 24)))), point);
  k.run("red.global.add.u32", at(k("mad.wide.u32", cell, 4, k("ld.param.u64", at("args", 32)))), 1);
  k.place(done);
  return k.text();
}

}  // namespace weft::geometry::gpu
