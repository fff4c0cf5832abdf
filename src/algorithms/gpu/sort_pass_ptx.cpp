// One pass of a stable radix sort, by a digit of 8 bits, that reads and writes every pair once: "onesweep" [Adinets and
// Merrill 2022, Onesweep: a faster least significant digit radix sort for GPUs].
//
// A block takes a tile of neighbouring pairs and must know how many keys of each digit lie in the tiles before. It
// publishes its own counts first, so that others go on as soon as they can, and reads those of the tiles before it, one
// after the other, up to one that has the sum over all of its own predecessors: a look-back [Merrill and Garland 2016].
// Tiles are numbered as blocks start, so whoever is waited for runs already, and waits end. Meanwhile keys are ranked.
//
// Ranks: warps take neighbouring keys, in rows of 32. Lanes with the same digit find each other by eight votes; the last of
// them adds their number to the warp's counter of the digit, whose old value, plus the number of equal digits in lower
// lanes, is the rank. Rows, lanes and warps are in memory's order, so equal digits keep theirs. By their ranks keys go to
// shared memory, from where runs of equal digits are written to memory side by side; values follow by the same ranks.
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/radix_keys.h"
#include "support/check.h"

namespace weft::algorithms::gpu {
namespace {

class Pass {
 public:
  Pass(const std::string& name, ScalarKind key, int value_bytes, const SortShape& shape)
      : k(name, sizeof(SortPassArguments), shape.threads, shape.resident),
        key_(key),
        value_bytes_(value_bytes),
        shape_(shape),
        items_(shape.items),
        tile_(shape.threads * shape.items),
        warps_(shape.threads / 32),
        key_bits_(wide_key(key) ? "b64" : "b32"),
        value_bits_(value_bytes == 8 ? "b64" : "b32") {
    WEFT_CHECK(shape.threads >= kDigits && shape.threads % 32 == 0);
    WEFT_CHECK(value_bytes == 4 || (!shape.numbered && !shape.values_alone));
  }

  std::string text() {
    begin();
    load_keys();
    count_digits();
    publish_counts();
    rank_keys();
    exchange_keys();
    if (value_bytes_ && shape_.values_early) load_values();
    look_back();
    write_keys();
    if (value_bytes_) move_values();
    return k.text();
  }

 private:
  int exchange_bytes() const { return tile_ * std::max(key_bytes(key_), value_bytes_); }

  /// Takes a number for the tile; counters of the warps are zero.
  void begin() {
    // Counters of warps are needed until keys have ranks, the room for keys from then on.
    exchange_ = k.shared("exchange", std::size_t(std::max(exchange_bytes(), warps_ * kDigits * 4)));
    offsets_ = k.shared("offsets", kDigits * 4);
    sums_ = k.shared("sums", kDigits / 32 * 4);
    number_ = k.shared("number", 8);
    exchange_at_ = k("mov.u32", exchange_);
    counters_ = k("mad.lo.u32", k.warp(), kDigits * 4, exchange_at_);
    const Reg mine = k("mad.lo.u32", k.lane(), 16, counters_), zero = k("mov.u32", 0);
    for (int i = 0; i < kDigits * 4; i += 32 * 16)
      k.run("st.shared.v4.u32", at(mine, i), group(std::vector<Reg>(4, zero), 0, 4));
    const std::string numbered = k.label();
    k.when(k("setp.ne.u32", k.thread(), 0)).jump(numbered);
    const Reg taken = k("atom.global.add.u32", at(k("ld.param.u64", at("args", 48))), 1);
    k.run("st.shared.u32", at(number_), taken);
    k.run("st.shared.u32", at(number_, 4), k("ld.param.u32", at("args", 64)));
    k.place(numbered);
    k.barrier();
    tile_number_ = k("ld.shared.u32", at(number_));
    mask_ = k("ld.param.u32", at("args", 68));
    const Reg count = k("ld.param.u64", at("args", 56)), start = k("mul.wide.u32", tile_number_, tile_);
    const Reg left = k("min.u64", k("sub.u64", count, start), tile_);
    tile_count_ = k("cvt.u32.u64", left);
    full_ = k("setp.eq.u32", tile_count_, tile_);
    // Where this lane's items lie, 32 apart.
    in_tile_ = k("mad.lo.u32", k.warp(), 32 * items_, k.lane());
    first_ = k("add.u64", start, k("cvt.u64.u32", in_tile_));
    owns_digit_ = k("setp.lt.u32", k.thread(), kDigits);
  }

  /// Reads this lane's items, behind the end only if there is something to put there: `fill`.
  void load_items(std::vector<Reg>& to, const std::string& bits, int bytes, int argument, const char* fill) {
    const Reg place = k("mad.lo.u64", first_, bytes, k("ld.param.u64", at("args", argument)));
    const std::string part = k.label(), loaded = k.label();
    to = k.regs(items_, bits == "b64" ? 64 : 32);
    k.unless(full_).jump(part);
    for (int i = 0; i < items_; ++i) k.set(to[std::size_t(i)], "ld.global." + bits, at(place, 32 * i * bytes));
    k.jump(loaded);
    k.place(part);
    for (int i = 0; i < items_; ++i) {
      const Reg there = k("setp.lt.u32", k("add.u32", in_tile_, 32 * i), tile_count_);
      k.set(to[std::size_t(i)], "mov." + bits, fill);
      k.when(there).set(to[std::size_t(i)], "ld.global." + bits, at(place, 32 * i * bytes));
    }
    k.place(loaded);
  }

  void load_keys() {
    // Behind the end: keys that come last whatever bits decide.
    const bool wide = wide_key(key_);
    const char* last = key_ == ScalarKind::u32 || key_ == ScalarKind::u64 ? "-1"
                       : wide                                             ? "9223372036854775807"
                                                                          : "2147483647";
    load_items(keys_, key_bits_, key_bytes(key_), 0, last);
    for (Reg& key : keys_) key = ordered_of(k, key_, key);
  }

  Reg digit(const Reg& key) { return digit_of(k, key_, key, shift_, mask_); }

  /// Lets what follows compute digits of its own. ptxas would keep the first ones, and has no registers for them.
  void forget_digits() { shift_ = k("ld.volatile.shared.u32", at(number_, 4)); }

  void count_digits() {
    forget_digits();
    for (const Reg& key : keys_) k.run("red.shared.add.u32", at(k("mad.lo.u32", digit(key), 4, counters_)), 1);
    k.barrier();
  }

  /// Thread t has digit t: sums up the warps' counts, tells the other blocks, and makes of each warp's count the rank of its
  /// first key in the tile.
  void publish_counts() {
    const std::string others = k.label(), ready = k.label();
    count_ = k("mov.u32", 0);
    before_ = k.reg(32);
    const Reg mine = k("mad.lo.u32", k.thread(), 4, exchange_at_);
    const std::vector<Reg> of_warp = k.regs(warps_, 32);
    const Reg inclusive = k.reg(32);
    k.unless(owns_digit_).jump(others);
    for (int w = 0; w < warps_; ++w) k.set(of_warp[std::size_t(w)], "ld.shared.u32", at(mine, w * kDigits * 4));
    k.set(count_, "mov.u32", of_warp[0]);
    for (int w = 1; w < warps_; ++w) k.set(count_, "add.u32", count_, of_warp[std::size_t(w)]);
    state_ = k("mad.wide.u32", k("mad.lo.u32", tile_number_, kDigits, k.thread()), state_bytes(),
               k("ld.param.u64", at("args", 40)));
    write_state(count_, kOwn);
    k.set(inclusive, "mov.u32", scan_counts(k, count_));
    k.when(k("setp.eq.u32", k.lane(), 31))
        .run("st.shared.u32", at(k("mad.lo.u32", k.warp(), 4, k("mov.u32", sums_))), inclusive);
    k.place(others);
    k.barrier();
    k.unless(owns_digit_).jump(ready);
    k.set(before_, "sub.u32", inclusive, count_);
    for (int w = 0; w + 1 < kDigits / 32; ++w)
      k.when(k("setp.gt.u32", k.warp(), w)).set(before_, "add.u32", before_, k("ld.shared.u32", at(sums_, 4 * w)));
    const Reg next = k("mov.u32", before_);
    for (int w = 0; w < warps_; ++w) {
      k.run("st.shared.u32", at(mine, w * kDigits * 4), next);
      k.set(next, "add.u32", next, of_warp[std::size_t(w)]);
    }
    k.place(ready);
    one_digit_ = k("bar.red.or.pred", 0, k("setp.eq.u32", count_, tile_));
  }

  /// Ranks, from 1 on.
  void rank_keys() {
    forget_digits();
    const std::string ranked = k.label(), several = k.label();
    ranks_ = k.regs((items_ + 1) / 2, 32);
    k.unless(one_digit_).jump(several);
    // All keys have the same digit, as those of small numbers have in the later passes: they stay where they are.
    for (int i = 0; i < items_; ++i) keep_rank(i, k("add.u32", in_tile_, 32 * i + 1));
    k.jump(ranked);
    k.place(several);
    const Reg up_to = k("mov.u32", "%lanemask_le");
    for (int i = 0; i < items_; ++i) {
      const Reg own = digit(keys_[std::size_t(i)]);
      Reg same;  // lanes with this digit
      for (int bit = 0; bit < kDigitBits; ++bit) {
        const Reg has = k("setp.ne.u32", k("and.b32", own, 1 << bit), 0);
        const Reg those = k("vote.sync.ballot.b32", has, -1);
        k.unless(has).set(those, "not.b32", those);
        same = bit ? k("and.b32", same, those) : those;
      }
      const Reg leader = k("sub.u32", 31, k("clz.b32", same));
      const Reg rank = k("popc.b32", k("and.b32", same, up_to));
      const Reg leads = k("setp.eq.u32", k.lane(), leader);
      const Reg begin = k("mov.u32", 0);
      k.when(leads).set(begin, "atom.shared.add.u32", at(k("mad.lo.u32", own, 4, counters_)), rank);
      const Reg from = k("shfl.sync.idx.b32", begin, leader, 31, -1);
      keep_rank(i, k("add.u32", from, rank));
    }
    k.place(ranked);
    k.barrier();
  }

  /// Two to a register: they stay there until values follow.
  void keep_rank(int i, const Reg& rank) {
    const Reg& two = ranks_[std::size_t(i / 2)];
    i % 2 ? k.set(two, "mad.lo.u32", rank, 65536, two) : k.set(two, "mov.u32", rank);
  }

  /// Sends items of registers to their ranks in shared memory.
  void exchange(const std::vector<Reg>& items, const std::string& bits, int bytes) {
    for (int i = 0; i < items_; ++i) {
      const Reg& two = ranks_[std::size_t(i / 2)];
      const Reg rank = i % 2 ? k("shr.u32", two, 16) : k("and.b32", two, 65535);
      const Reg place = k("mad.lo.u32", rank, bytes, exchange_at_);
      k.run("st.shared." + bits, at(place, -bytes), items[std::size_t(i)]);
    }
  }
  void exchange_keys() { exchange(keys_, key_bits_, key_bytes(key_)); }

  void load_values() {
    if (!shape_.numbered) return load_items(values_, value_bits_, value_bytes_, 8, "0");
    const Reg number = k("cvt.u32.u64", first_);
    for (int i = 0; i < items_; ++i) values_.push_back(k("add.u32", number, 32 * i));
  }

  // What other blocks read of a tile and digit: nothing yet, the tile's own count, or the sum over all tiles up to it. Count
  // and kind are one word, so that no order between two stores matters.
  static constexpr std::uint32_t kOwn = 1u << 30, kAll = 1u << 31;
  int state_bytes() const { return shape_.wide_states ? 8 : 4; }

  void write_state(const Reg& sum, std::uint32_t kind) {
    if (shape_.wide_states) {
      const Reg word = k.reg(64);
      k.run("mov.b64", word, "{" + sum.name + ", " + k("mov.u32", kind).name + "}");
      k.run("st.volatile.global.u64", at(state_), word);
    } else {
      k.run("st.volatile.global.u32", at(state_), k("or.b32", sum, std::int32_t(kind)));
    }
  }

  void look_back() {
    const std::string others = k.label(), next = k.label(), wait = k.label(), found = k.label();
    k.unless(owns_digit_).jump(others);
    const Reg start = k("ld.global.u32", at(k("mad.wide.u32", k.thread(), 4, k("ld.param.u64", at("args", 32)))));
    const Reg sum = k("mov.u32", 0), from = k("mov.u64", state_), left = k("mov.u32", tile_number_);
    k.place(next);
    k.when(k("setp.eq.u32", left, 0)).jump(found);
    k.set(from, "sub.u64", from, kDigits * state_bytes());
    k.set(left, "sub.u32", left, 1);
    k.place(wait);
    const Reg count = k.reg(32), kind = k.reg(32);
    if (shape_.wide_states) {
      const Reg word = k("ld.volatile.global.u64", at(from));
      k.run("mov.b64", "{" + count.name + ", " + kind.name + "}", word);
      k.when(k("setp.eq.u32", kind, 0)).jump(wait);
    } else {
      const Reg word = k("ld.volatile.global.u32", at(from));
      k.when(k("setp.eq.u32", word, 0)).jump(wait);
      k.set(count, "and.b32", word, std::int32_t(kOwn - 1));
      k.set(kind, "and.b32", word, std::int32_t(kAll));
    }
    k.set(sum, "add.u32", sum, count);
    k.when(k("setp.ge.s32", kind, 0)).jump(next);  // kAll is the sign
    k.place(found);
    write_state(k("add.u32", sum, count_), kAll);
    // To the place of a key in the tile this adds up to its place in memory.
    const Reg offset = k("sub.u32", k("add.u32", start, sum), before_);
    k.run("st.shared.u32", at(k("mad.lo.u32", k.thread(), 4, k("mov.u32", offsets_))), offset);
    // The next pass finds its states empty.
    const Reg empty = k("ld.param.u64", at("args", 72));
    const std::string none = k.label();
    k.when(k("setp.eq.u64", empty, 0)).jump(none);
    const Reg other = k("mad.wide.u32", k("mad.lo.u32", tile_number_, kDigits, k.thread()), state_bytes(), empty);
    k.run(shape_.wide_states ? "st.global.u64" : "st.global.u32", at(other), 0);
    k.place(none);
    k.place(others);
    k.barrier();
  }

  void write_keys() {
    const int bytes = key_bytes(key_);
    const Reg out = k("ld.param.u64", at("args", 16)), offsets = k("mov.u32", offsets_);
    const Reg mine = k("mad.lo.u32", k.thread(), bytes, exchange_at_);
    for (int i = 0; i < items_; ++i) {
      const Reg key = k("ld.shared." + key_bits_, at(mine, i * shape_.threads * bytes));
      const Reg index = k("add.u32", k.thread(), i * shape_.threads);
      const Reg offset = k("ld.shared.u32", at(k("mad.lo.u32", digit(key), 4, offsets)));
      const Reg to = k("add.u32", offset, index);
      places_.push_back(to);
      if (shape_.values_alone) continue;
      const Reg there = k("setp.lt.u32", index, tile_count_);
      k.when(there).run("st.global." + key_bits_, at(k("mad.wide.u32", to, bytes, out)), key_of(k, key_, key));
    }
  }

  void move_values() {
    if (!shape_.values_early) load_values();
    k.barrier();
    exchange(values_, value_bits_, value_bytes_);
    k.barrier();
    const Reg out = k("ld.param.u64", at("args", 24));
    const Reg mine = k("mad.lo.u32", k.thread(), value_bytes_, exchange_at_);
    for (int i = 0; i < items_; ++i) {
      const Reg value = k("ld.shared." + value_bits_, at(mine, i * shape_.threads * value_bytes_));
      const Reg there = k("setp.lt.u32", k("add.u32", k.thread(), i * shape_.threads), tile_count_);
      k.when(there).run("st.global." + value_bits_, at(k("mad.wide.u32", places_[std::size_t(i)], value_bytes_, out)),
                        value);
    }
  }

  PtxKernel k;
  ScalarKind key_;
  int value_bytes_;
  SortShape shape_;
  int items_, tile_, warps_;
  std::string key_bits_, value_bits_;
  std::string exchange_, offsets_, sums_, number_;  // shared memory
  Reg exchange_at_, counters_;                      // of all warps; of this one
  Reg tile_number_, tile_count_, full_, in_tile_, first_, shift_, mask_;
  Reg one_digit_;                            // whether all keys of the tile have the same
  Reg owns_digit_, count_, before_, state_;  // threads of a digit: its keys in the tile, and those of lower digits
  std::vector<Reg> keys_, ranks_, values_, places_;
};

}  // namespace

std::string sort_pass_ptx(const std::string& name, ScalarKind key, int value_bytes, const SortShape& shape) {
  return Pass(name, key, value_bytes, shape).text();
}

}  // namespace weft::algorithms::gpu
