// Words that hold a number, or half of one, and tell that it is there: one store, which no other has to precede.
#include "algorithms/gpu/tile_prefix.h"

namespace weft::algorithms::gpu {
namespace {

std::int64_t group_count(std::int64_t tiles) { return (tiles + 31) / 32; }
std::int64_t row_count(std::int64_t tiles) { return (tiles + 1023) / 1024; }
int entry_bytes(int sum_bytes) { return sum_bytes == 8 ? 16 : 8; }

/// An entry of a list, asked for at once; `sum` waits until all lanes of the warp have theirs.
class Entry {
 public:
  Entry(PtxKernel& kernel, const NumberText& number, const Reg& list, const Reg& index, const Reg& wanted)
      : k(kernel), number_(number), wanted_(wanted), words_(kernel.regs(number.sum_bytes == 8 ? 2 : 1, 64)) {
    place_ = k("mad.wide.u32", index, entry_bytes(number.sum_bytes), list);
    for (const Reg& word : words_) k.set(word, "mov.u64", 0);
    ask();
  }

  /// Lanes that don't want one have zero.
  Reg sum() {
    const std::string again = k.label(), found = k.label();
    std::vector<Reg> halves = k.regs(int(words_.size()), 32);
    k.place(again);
    const Reg here = k("mov.u32", 1);
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const Reg flag = k.reg(32);
      k.run("mov.b64", "{" + halves[i].name + ", " + flag.name + "}", words_[i]);
      k.set(here, "and.b32", here, flag);
    }
    k.unless(wanted_).set(here, "mov.u32", 1);
    const Reg all = k("vote.sync.all.pred", k("setp.ne.u32", here, 0), -1);
    k.when(all).jump(found);
    ask();
    k.jump(again);
    k.place(found);
    if (words_.size() == 1) return halves[0];
    const Reg sum = k.reg(64);
    k.run("mov.b64", sum, group(halves, 0, 2));
    return sum;
  }

 private:
  void ask() {
    if (words_.size() == 1)
      k.when(wanted_).set(words_[0], "ld.volatile.global.u64", at(place_));
    else
      k.when(wanted_).run("ld.volatile.global.v2.u64", group(words_, 0, 2), at(place_));
  }

  PtxKernel& k;
  const NumberText& number_;
  Reg wanted_;
  std::vector<Reg> words_;
  Reg place_;
};

void publish(PtxKernel& k, const NumberText& number, const Reg& list, const Reg& index, const Reg& sum,
             const Reg& guard) {
  const Reg place = k("mad.wide.u32", index, entry_bytes(number.sum_bytes), list), flag = k("mov.u32", 1);
  if (number.sum_bytes == 4) {
    const Reg word = k.reg(64);
    k.run("mov.b64", word, "{" + sum.name + ", " + flag.name + "}");
    k.when(guard).run("st.volatile.global.u64", at(place), word);
    return;
  }
  const std::vector<Reg> words = k.regs(2, 64), halves = k.regs(2, 32);
  k.run("mov.b64", group(halves, 0, 2), sum);
  for (std::size_t i = 0; i < 2; ++i) k.run("mov.b64", words[i], "{" + halves[i].name + ", " + flag.name + "}");
  k.when(guard).run("st.volatile.global.v2.u64", at(place), group(words, 0, 2));
}

}  // namespace

std::size_t tile_prefix_bytes(std::int64_t tiles, int sum_bytes) {
  return std::size_t(16 + (tiles + group_count(tiles) + row_count(tiles)) * entry_bytes(sum_bytes));
}

TilePrefixes tile_prefixes(std::uint64_t memory, std::int64_t tiles, int sum_bytes) {
  const std::uint64_t entry = std::uint64_t(entry_bytes(sum_bytes)), first = memory + 16;
  const std::uint64_t groups = first + std::uint64_t(tiles) * entry;
  return {memory, first, groups, groups + std::uint64_t(group_count(tiles)) * entry};
}

Reg take_tile(PtxKernel& k, int offset) {
  const std::string slot = k.shared("tile", 4), taken = k.label();
  k.when(k("setp.ne.u32", k.thread(), 0)).jump(taken);
  const Reg mine = k("atom.global.add.u32", at(k("ld.param.u64", at("args", offset))), 1);
  k.run("st.shared.u32", at(slot), mine);
  k.place(taken);
  k.barrier();
  return k("ld.shared.u32", at(slot));
}

Reg tile_prefix(PtxKernel& k, const NumberText& number, const Reg& tile, const Reg& sum, int offset) {
  const std::string add = "add." + number.type;
  const Reg tiles = k("ld.param.u64", at("args", offset + 8)), groups = k("ld.param.u64", at("args", offset + 16)),
            rows = k("ld.param.u64", at("args", offset + 24));
  const Reg first_lane = k("setp.eq.u32", k.lane(), 0);
  publish(k, number, tiles, tile, sum, first_lane);

  const Reg in_group = k("and.b32", tile, 31), group_index = k("shr.u32", tile, 5);
  const Reg in_row = k("and.b32", group_index, 31), row = k("shr.u32", tile, 10);
  Entry tile_sums(k, number, tiles, k("add.u32", k("sub.u32", tile, in_group), k.lane()),
                  k("setp.lt.u32", k.lane(), in_group));
  Entry group_sums(k, number, groups, k("add.u32", k("sub.u32", group_index, in_row), k.lane()),
                   k("setp.lt.u32", k.lane(), in_row));
  Entry rows_before(k, number, rows, k("sub.u32", row, 1), k("setp.ne.u32", row, 0));

  const Reg before_in_group = sum_lanes(k, number, tile_sums.sum());
  const Reg group_sum = k(add, before_in_group, sum);
  const Reg ends_group = k("setp.eq.u32", in_group, 31), publishes_group = k("and.pred", ends_group, first_lane);
  publish(k, number, groups, group_index, group_sum, publishes_group);

  const Reg before_in_row = sum_lanes(k, number, group_sums.sum());
  const Reg before = rows_before.sum();
  const Reg ends_row = k("and.pred", publishes_group, k("setp.eq.u32", in_row, 31));
  publish(k, number, rows, row, k(add, before, k(add, before_in_row, group_sum)), ends_row);
  return k(add, k(add, before, before_in_row), before_in_group);
}

}  // namespace weft::algorithms::gpu
