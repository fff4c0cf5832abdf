// Runs of equal values by one walk over memory: a value that differs from the one before begins a run, whose number is how
// many begin before it, in the tile and in all tiles before (tile_prefix.h). Where runs begin is written down; lengths are
// differences.
#include "algorithms/gpu/kernels.h"

namespace weft::algorithms::gpu {

std::string runs_ptx(const std::string& name, ScalarKind kind, bool lengths) {
  PtxKernel k(name, sizeof(RunsArguments), kRunsBlock);
  const NumberText number = number_text(kind), index_number = number_text(ScalarKind::u32);
  constexpr int kWarps = kRunsBlock / 32, kRows = kRunsTile / kRunsBlock;
  const std::string sums = k.shared("sums", kWarps * 4);
  const Reg tile = take_tile(k, kRunsPrefixes);
  const Reg start = k("mul.wide.u32", tile, kRunsTile), count = k("ld.param.u64", at("args", 32));
  const Reg left = k("cvt.u32.u64", k("min.u64", k("sub.u64", count, start), kRunsTile));
  const Reg in_tile = k("mad.lo.u32", k.warp(), 32 * kRows, k.lane());
  const Reg first = k("add.u32", k("cvt.u32.u64", start), in_tile);  // there are fewer than 2^31
  const Reg place = k("mad.wide.u32", first, number.bytes, k("ld.param.u64", at("args")));

  // A warp's values lie in rows of 32; the value before a lane's is the lane's below, or the last one of the row before.
  std::vector<Reg> values, begins, masks, before;
  for (int r = 0; r < kRows; ++r) {
    const Reg there = k("setp.gt.u32", left, k("add.u32", in_tile, 32 * r));
    values.push_back(k("mov." + number.type, number.zero));
    k.when(there).set(values.back(), "ld.global." + number.type, at(place, 32 * r * number.bytes));
  }
  const Reg first_lane = k("setp.eq.u32", k.lane(), 0), very_first = k("setp.eq.u32", first, 0);
  Reg row_before = k("mov." + number.type, number.zero);
  const Reg has_row_before = k("and.pred", k("setp.gt.u32", left, in_tile), k("setp.ne.u32", first, 0));
  k.when(k("and.pred", first_lane, has_row_before))
      .set(row_before, "ld.global." + number.type, at(place, -number.bytes));
  // Which lanes of a row begin runs, and how many begin in the rows before.
  Reg begun = k("mov.u32", 0);
  for (int r = 0; r < kRows; ++r) {
    const Reg& value = values[std::size_t(r)];
    const Reg there = k("setp.gt.u32", left, k("add.u32", in_tile, 32 * r));
    const Reg last = shuffled(k, number.bytes, "up", value, 1);
    k.when(first_lane).set(last, "mov." + number.type, row_before);
    row_before = shuffled(k, number.bytes, "idx", value, 31);
    // Not-a-numbers differ from everything.
    Reg differs = k((number.type[0] == 'f' ? "setp.neu." : "setp.ne.") + number.type, value, last);
    if (r == 0) differs = k("or.pred", differs, very_first);
    const Reg begin = k("and.pred", there, differs);
    const Reg mask = k("vote.sync.ballot.b32", begin, -1);
    begins.push_back(begin);
    masks.push_back(mask);
    before.push_back(begun);
    begun = k("add.u32", begun, k("popc.b32", mask));
  }

  const Reg sums_at = k("mov.u32", sums), of_warp = k("mad.lo.u32", k.warp(), 4, sums_at);
  k.when(k("setp.eq.u32", k.lane(), 0)).run("st.shared.u32", at(of_warp), begun);
  k.barrier();
  const std::string others = k.label();
  k.when(k("setp.ne.u32", k.warp(), 0)).jump(others);
  const Reg has_one = k("setp.lt.u32", k.lane(), kWarps), one = k("mov.u32", 0);
  const Reg mine = k("mad.lo.u32", k.lane(), 4, sums_at);
  k.when(has_one).set(one, "ld.shared.u32", at(mine));
  const Reg up_to = scan_lanes(k, index_number, one);
  const Reg prefix = tile_prefix(k, index_number, tile, shuffled(k, 4, "idx", up_to, 31), kRunsPrefixes);
  k.when(has_one).run("st.shared.u32", at(mine), k("add.u32", prefix, lanes_before(k, index_number, up_to)));
  k.place(others);
  k.barrier();

  const Reg warp_before = k("ld.shared.u32", at(of_warp)), lower = k("mov.u32", "%lanemask_lt");
  const Reg run_values = k("ld.param.u64", at("args", 8)), starts = k("ld.param.u64", at("args", 16));
  for (std::size_t r = 0; r < kRows; ++r) {
    const Reg in_row = k("popc.b32", k("and.b32", masks[r], lower));
    const Reg run = k("add.u32", k("add.u32", warp_before, before[r]), in_row);
    k.when(begins[r]).run("st.global." + number.type, at(k("mad.wide.u32", run, number.bytes, run_values)), values[r]);
    if (lengths)
      k.when(begins[r]).run("st.global.u32", at(k("mad.wide.u32", run, 4, starts)), k("add.u32", first, 32 * int(r)));
  }
  // The last thread of the last tile knows how many runs there are.
  const std::string done = k.label();
  const Reg end = k("add.u64", start, kRunsTile);
  k.when(k("setp.lt.u64", end, count)).jump(done);
  k.when(k("setp.ne.u32", k.thread(), kRunsBlock - 1)).jump(done);
  const Reg runs = k("add.u32", warp_before, begun);
  k.run("st.global.u32", at(k("ld.param.u64", at("args", 24))), runs);
  if (lengths) k.run("st.global.u32", at(k("mad.wide.u32", runs, 4, starts)), k("cvt.u32.u64", count));
  k.place(done);
  return k.text();
}

std::string run_lengths_ptx(const std::string& name) {
  PtxKernel k(name, sizeof(RunLengthsArguments), kRunsBlock);
  const Reg runs = k("ld.global.u32", at(k("ld.param.u64", at("args", 16))));
  const Reg run = k("mad.lo.u32", k("mov.u32", "%ctaid.x"), kRunsBlock, k.thread());
  const Reg step = k("mul.lo.u32", k("mov.u32", "%nctaid.x"), kRunsBlock);
  const Reg starts = k("ld.param.u64", at("args")), lengths = k("ld.param.u64", at("args", 8));
  const std::string loop = k.label(), done = k.label();
  k.place(loop);
  k.when(k("setp.ge.u32", run, runs)).jump(done);
  const Reg place = k("mad.wide.u32", run, 4, starts);
  const Reg length = k("sub.u32", k("ld.global.u32", at(place, 4)), k("ld.global.u32", at(place)));
  k.run("st.global.u32", at(k("mad.wide.u32", run, 4, lengths)), length);
  k.set(run, "add.u32", run, step);
  k.jump(loop);
  k.place(done);
  return k.text();
}

}  // namespace weft::algorithms::gpu
