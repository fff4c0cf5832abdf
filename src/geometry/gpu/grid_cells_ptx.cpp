// Cells of points, a thread each; points in their cells, by number.
#include "geometry/gpu/grid_cells_ptx.h"

#include "algorithms/gpu/ptx_numbers.h"
#include "geometry/grid_cells.h"

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

/// Element `index`, of 32 bits, of the array whose address is an argument.
std::string element(PtxKernel& k, int argument, const Operand& index) {
  return at(k("mad.wide.u32", index, 4, k("ld.param.u64", at("args", argument))));
}

/// The points of a thread: several, so that what they wait for is under way together.
struct Items {
  std::vector<Reg> index, there;  // those beyond the count are the first one again, and not there
};
Items own_items(PtxKernel& k, int count_argument) {
  Items items;
  const Reg count = k("ld.param.u32", at("args", count_argument));
  const Reg first = k("mad.lo.u32", k("mov.u32", "%ctaid.x"), kCellsTile, k.thread());
  for (int i = 0; i < kCellsTile / kCellsBlock; ++i) {
    const Reg index = k("add.u32", first, i * kCellsBlock);
    items.there.push_back(k("setp.lt.u32", index, count));
    items.index.push_back(k("selp.u32", index, 0, items.there.back()));
  }
  return items;
}

/// The elements, of 32 bits, of the array whose address is an argument.
std::vector<Reg> gather(PtxKernel& k, int argument, const std::vector<Reg>& indices) {
  std::vector<Reg> out;
  for (const Reg& index : indices) out.push_back(k("ld.global.u32", element(k, argument, index)));
  return out;
}

}  // namespace

std::string find_cells_ptx(const std::string& name, ScalarKind kind, CellsFor purpose) {
  const bool ordered = purpose == CellsFor::ordered_sort;
  PtxKernel k(name, sizeof(CellsArguments), kCellsBlock);
  const NumberText number = number_text(kind);
  const Items items = own_items(k, 48);
  const std::size_t count = items.index.size();
  const std::vector<Reg> points = ordered ? gather(k, 8, items.index) : items.index;
  std::vector<Reg> values;
  for (const Reg& point : points) {
    const Reg place = k("mad.wide.u32", point, 3 * number.bytes, k("ld.param.u64", at("args")));
    for (int axis = 0; axis < 3; ++axis) {
      values.push_back(k.reg(8 * number.sum_bytes));
      load_number(k, kind, values.back(), at(place, axis * number.bytes));
    }
  }
  Reg inverse = k("ld.param.f64", at("args", 40));
  if (number.type == "f32") inverse = k("cvt.rn.f32.f64", inverse);
  std::vector<Reg> extents, cells;
  for (int axis = 0; axis < 3; ++axis) extents.push_back(k("ld.param.u32", at("args", 52 + 4 * axis)));
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Reg> along;
    for (std::size_t axis = 0; axis < 3; ++axis)
      along.push_back(along_axis(k, kind, values[3 * i + axis], inverse, extents[axis]));
    const Reg row = k("mad.lo.u32", along[2], extents[1], along[1]);
    cells.push_back(k("mad.lo.u32", row, extents[0], along[0]));
    k.when(items.there[i]).run("st.global.u32", element(k, 16, items.index[i]), cells[i]);
    // Without an order the sort makes the numbers of points itself.
    if (ordered) k.when(items.there[i]).run("st.global.u32", element(k, 24, items.index[i]), points[i]);
  }
  if (purpose != CellsFor::places) {
    for (std::size_t i = 0; i < count; ++i)
      k.when(items.there[i]).run("red.global.add.u32", element(k, 32, cells[i]), 1);
    return k.text();
  }
  std::vector<Reg> ranks;
  for (std::size_t i = 0; i < count; ++i) {
    ranks.push_back(k("mov.u32", 0));
    k.when(items.there[i]).set(ranks[i], "atom.global.add.u32", element(k, 32, cells[i]), 1);
  }
  for (std::size_t i = 0; i < count; ++i) {
    k.when(items.there[i]).run("st.global.u32", element(k, 64, items.index[i]), ranks[i]);
    const std::string next = k.label();
    k.when(k("setp.ne.u32", ranks[i], CellsRequest::kCrowd)).jump(next);
    const Reg crowd = k("atom.global.add.u32", at(k("ld.param.u64", at("args", 72))), 1);
    k.run("st.global.u32", element(k, 72, k("add.u32", crowd, 1)), cells[i]);
    k.place(next);
  }
  return k.text();
}

namespace {
// Where the arguments of PlacesArguments are.
constexpr int kCells = 0, kRanks = 8, kStarts = 16, kMixed = 24, kNumbers = 32, kCrowds = 40, kCount = 48, kBits = 52;
}  // namespace

std::string place_points_ptx(const std::string& name) {
  PtxKernel k(name, sizeof(PlacesArguments), kCellsBlock);
  const Items items = own_items(k, kCount);
  const std::vector<Reg> cells = gather(k, kCells, items.index), ranks = gather(k, kRanks, items.index);
  const std::vector<Reg> starts = gather(k, kStarts, cells);
  for (std::size_t i = 0; i < items.index.size(); ++i)
    k.when(items.there[i]).run("st.global.u32", element(k, kMixed, k("add.u32", starts[i], ranks[i])), items.index[i]);
  return k.text();
}

std::string order_cells_ptx(const std::string& name) {
  PtxKernel k(name, sizeof(PlacesArguments), kCellsBlock);
  const Items items = own_items(k, kCount);
  const std::vector<Reg> numbers = gather(k, kMixed, items.index), cells = gather(k, kCells, numbers);
  const std::vector<Reg> starts = gather(k, kStarts, cells);
  std::vector<Reg> behind;
  for (const Reg& cell : cells) behind.push_back(k("add.u32", cell, 1));
  const std::vector<Reg> ends = gather(k, kStarts, behind);
  const Reg mixed = k("ld.param.u64", at("args", kMixed));
  for (std::size_t i = 0; i < items.index.size(); ++i) {
    const std::string loop = k.label(), next_item = k.label();
    const Reg number = numbers[i], start = starts[i], end = ends[i];
    k.unless(items.there[i]).jump(next_item);
    k.when(k("setp.gt.u32", k("sub.u32", end, start), CellsRequest::kCrowd)).jump(next_item);
    const Reg to = k("mov.u32", start), next = k("mov.u32", start), from = k("mad.wide.u32", start, 4, mixed);
    // Four at a time, so that their loads are under way together.
    k.place(loop);
    std::vector<Reg> others;
    for (int turn = 0; turn < 4; ++turn) {
      others.push_back(k("mov.u32", -1));  // comes before nobody
      k.when(k("setp.lt.u32", k("add.u32", next, turn), end)).set(others.back(), "ld.global.u32", at(from, 4 * turn));
    }
    for (const Reg& other : others) k.when(k("setp.lt.u32", other, number)).set(to, "add.u32", to, 1);
    k.set(next, "add.u32", next, 4);
    k.set(from, "add.u64", from, 16);
    k.when(k("setp.lt.u32", next, end)).jump(loop);
    k.run("st.global.u32", element(k, kNumbers, to), number);
    k.place(next_item);
  }
  return k.text();
}

std::string order_crowds_ptx(const std::string& name) {
  constexpr int kWarps = kCrowdsBlock / 32;
  PtxKernel k(name, sizeof(PlacesArguments), kCrowdsBlock);
  // Of each warp: how many zeros there are, and in the upper half how many ones; two turns' worth, so that one barrier a
  // turn is enough. And how many zeros the next bit has in all.
  const std::string sums = k.shared("sums", 2 * kWarps * 4), zeros_at = k.shared("zeros", 4);
  const std::string cells_loop = k.label(), bits_loop = k.label(), turns = k.label(), turned = k.label(),
                    count_loop = k.label(), counted = k.label(), done = k.label();
  const Reg below = k("sub.u32", k("shl.b32", k("mov.u32", 1), k.lane()), 1);
  const Reg bits = k("ld.param.u32", at("args", kBits));
  const Reg crowd = k("mov.u32", "%ctaid.x"), crowds = k("ld.global.u32", at(k("ld.param.u64", at("args", kCrowds))));
  const Reg first_thread = k("setp.eq.u32", k.thread(), 0);

  k.place(cells_loop);
  k.when(k("setp.ge.u32", crowd, crowds)).jump(done);
  const Reg cell = k("ld.global.u32", element(k, kCrowds, k("add.u32", crowd, 1)));
  const Reg start = k("ld.global.u32", element(k, kStarts, cell));
  const Reg end = k("ld.global.u32", element(k, kStarts, k("add.u32", cell, 1)));
  const Reg from = k("ld.param.u64", at("args", kMixed)), to = k("ld.param.u64", at("args", kRanks));
  const Reg bit = k("mov.u32", 0), own = k("add.u32", start, k.thread());
  // Zeros of the lowest bit.
  k.when(first_thread).run("st.shared.u32", at(zeros_at), 0);
  k.barrier();
  const Reg place = k("mov.u32", own), zeros = k("mov.u32", 0);
  k.place(count_loop);
  k.when(k("setp.ge.u32", place, end)).jump(counted);
  const Reg low = k("and.b32", k("ld.global.u32", at(k("mad.wide.u32", place, 4, from))), 1);
  k.set(zeros, "add.u32", zeros, k("xor.b32", low, 1));
  k.set(place, "add.u32", place, kCrowdsBlock);
  k.jump(count_loop);
  k.place(counted);

  k.place(bits_loop);
  k.run("red.shared.add.u32", at(zeros_at), zeros);
  k.barrier();
  // Where the next zero and the next one go.
  const Reg zero_to = k("mov.u32", start), one_to = k("add.u32", start, k("ld.shared.u32", at(zeros_at)));
  k.barrier();
  k.when(first_thread).run("st.shared.u32", at(zeros_at), 0);
  const Reg next_bit = k("add.u32", bit, 1);
  k.when(k("setp.eq.u32", next_bit, bits)).set(to, "ld.param.u64", at("args", kNumbers));
  k.set(zeros, "mov.u32", 0);
  const Reg turn = k("mov.u32", start), half = k("mov.u32", 0);
  k.place(turns);
  k.when(k("setp.ge.u32", turn, end)).jump(turned);
  const Reg at_turn = k("add.u32", turn, k.thread()), there = k("setp.lt.u32", at_turn, end);
  const Reg value = k("mov.u32", 0), is_one = k.reg(1), is_zero = k.reg(1);
  k.when(there).set(value, "ld.global.u32", at(k("mad.wide.u32", at_turn, 4, from)));
  const Reg digit = k("and.b32", k("shr.u32", value, bit), 1);
  k.run("setp.ne.and.u32", is_one, digit, 0, there);
  k.run("setp.eq.and.u32", is_zero, digit, 0, there);
  const Reg next_zero = k.reg(1);
  k.run("setp.eq.and.u32", next_zero, k("and.b32", k("shr.u32", value, next_bit), 1), 0, there);
  k.when(next_zero).set(zeros, "add.u32", zeros, 1);
  const Reg those_zeros = k("vote.sync.ballot.b32", is_zero, -1), those_ones = k("vote.sync.ballot.b32", is_one, -1);
  const Reg ones_up = k("shl.b32", k("popc.b32", those_ones), 16);
  const Reg sums_at = k("mad.lo.u32", half, kWarps * 4, k("mov.u32", sums));
  k.when(k("setp.eq.u32", k.lane(), 0))
      .run("st.shared.u32", at(k("mad.lo.u32", k.warp(), 4, sums_at)),
           k("add.u32", k("popc.b32", those_zeros), ones_up));
  k.barrier();
  const Reg before = k("mov.u32", 0), all = k("mov.u32", 0);
  for (int w = 0; w < kWarps; ++w) {
    const Reg sum = k("ld.shared.u32", at(sums_at, w * 4));
    k.when(k("setp.gt.u32", k.warp(), w)).set(before, "add.u32", before, sum);
    k.set(all, "add.u32", all, sum);
  }
  const Reg zero_place = k("add.u32", k("add.u32", zero_to, k("and.b32", before, 0xffff)),
                           k("popc.b32", k("and.b32", those_zeros, below)));
  const Reg one_place =
      k("add.u32", k("add.u32", one_to, k("shr.u32", before, 16)), k("popc.b32", k("and.b32", those_ones, below)));
  const Reg place_now = k("selp.u32", one_place, zero_place, is_one);
  k.when(there).run("st.global.u32", at(k("mad.wide.u32", place_now, 4, to)), value);
  k.set(zero_to, "add.u32", zero_to, k("and.b32", all, 0xffff));
  k.set(one_to, "add.u32", one_to, k("shr.u32", all, 16));
  k.set(half, "xor.b32", half, 1);
  k.set(turn, "add.u32", turn, kCrowdsBlock);
  k.jump(turns);
  k.place(turned);
  k.barrier();
  const Reg other = k("mov.u64", from);
  k.set(from, "mov.u64", to);
  k.set(to, "mov.u64", other);
  k.set(bit, "mov.u32", next_bit);
  k.when(k("setp.lt.u32", bit, bits)).jump(bits_loop);
  k.set(crowd, "add.u32", crowd, k("mov.u32", "%nctaid.x"));
  k.jump(cells_loop);
  k.place(done);
  return k.text();
}

}  // namespace weft::geometry::gpu
