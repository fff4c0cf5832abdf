// How often each digit occurs, for all passes of a sort at once: keys are read a single time, since no pass changes which
// keys there are. Then prefix sums over the digits of each pass, which say where the keys with a digit begin.
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/radix_keys.h"

namespace weft::algorithms::gpu {

std::string sort_count_ptx(const std::string& name, ScalarKind key, int passes) {
  PtxKernel k(name, sizeof(SortCountArguments), kSortCountBlock);
  const bool wide = wide_key(key);
  const int bytes = key_bytes(key);
  const std::string bits = wide ? "b64" : "b32";
  const std::string counts = k.shared("counts", std::size_t(passes * kDigits * 4));
  const Reg own = k("mad.lo.u32", k.thread(), 4, k("mov.u32", counts));
  for (int i = 0; i < passes; ++i) k.run("st.shared.u32", at(own, i * kDigits * 4), 0);
  k.barrier();

  const Reg count = k("ld.param.u64", at("args", 16)), begin_bit = k("ld.param.u32", at("args", 24));
  const Reg mask = k("ld.param." + bits, at("args", 32));
  const Reg first = k("mad.wide.u32", k("mov.u32", "%ctaid.x"), kSortCountTile, k("cvt.u64.u32", k.thread()));
  const Reg step = k("mul.wide.u32", k("mov.u32", "%nctaid.x"), kSortCountTile);
  const Reg place = k("mad.lo.u64", first, bytes, k("ld.param.u64", at("args")));
  const Reg step_bytes = k("mul.lo.u64", step, bytes);

  const Reg counts_at = k("mov.u32", counts);
  const auto count_key = [&](const Reg& stored, const Reg* there) {
    const Reg shifted = k(wide ? "shr.u64" : "shr.u32", ordered_of(k, key, stored), begin_bit);
    const Reg decisive = k("and." + bits, shifted, mask);
    for (int i = 0; i < passes; ++i) {
      const Reg digit = digit_of(k, key, decisive, i * kDigitBits, kDigits - 1);
      const Reg counter = k("mad.lo.u32", digit, 4, counts_at);
      // One more, of nobody's old value: the GPU adds equal digits of a warp at once.
      if (there)
        k.when(*there).run("red.shared.add.u32", at(counter, i * kDigits * 4), 1);
      else
        k.run("red.shared.add.u32", at(counter, i * kDigits * 4), 1);
    }
  };

  const std::string loop = k.label(), part = k.label(), done = k.label();
  constexpr int kItems = kSortCountTile / kSortCountBlock;
  k.place(loop);
  k.when(k("setp.ge.u64", first, count)).jump(done);
  const Reg last = k("add.u64", first, (kItems - 1) * kSortCountBlock);
  k.when(k("setp.ge.u64", last, count)).jump(part);
  std::vector<Reg> keys;
  for (int i = 0; i < kItems; ++i) keys.push_back(k("ld.global." + bits, at(place, i * kSortCountBlock * bytes)));
  for (const Reg& one : keys) count_key(one, nullptr);
  k.set(first, "add.u64", first, step);
  k.set(place, "add.u64", place, step_bytes);
  k.jump(loop);
  k.place(part);  // the last tile: no thread comes back from it
  for (int i = 0; i < kItems; ++i) {
    const Reg there = k("setp.lt.u64", k("add.u64", first, i * kSortCountBlock), count);
    const Reg one = k("mov." + bits, 0);
    k.when(there).set(one, "ld.global." + bits, at(place, i * kSortCountBlock * bytes));
    count_key(one, &there);
  }
  k.place(done);
  k.barrier();
  const Reg to = k("mad.wide.u32", k.thread(), 4, k("ld.param.u64", at("args", 8)));
  for (int i = 0; i < passes; ++i) {
    const Reg sum = k("ld.shared.u32", at(own, i * kDigits * 4));
    k.when(k("setp.ne.u32", sum, 0)).run("red.global.add.u32", at(to, i * kDigits * 4), sum);
  }
  return k.text();
}

std::string sort_places_ptx(const std::string& name) {
  PtxKernel k(name, sizeof(SortCountArguments), kDigits);
  const std::string sums = k.shared("sums", kDigits / 32 * 4);
  const Reg index = k("mad.lo.u32", k("mov.u32", "%ctaid.x"), kDigits, k.thread());
  const Reg place = k("mad.wide.u32", index, 4, k("ld.param.u64", at("args", 8)));
  const Reg count = k("ld.global.u32", at(place));
  const Reg sum = scan_counts(k, count);
  k.when(k("setp.eq.u32", k.lane(), 31))
      .run("st.shared.u32", at(k("mad.lo.u32", k.warp(), 4, k("mov.u32", sums))), sum);
  k.barrier();
  const Reg before = k("sub.u32", sum, count);
  for (int w = 0; w + 1 < kDigits / 32; ++w)
    k.when(k("setp.gt.u32", k.warp(), w)).set(before, "add.u32", before, k("ld.shared.u32", at(sums, 4 * w)));
  k.run("st.global.u32", at(place), before);
  return k.text();
}

}  // namespace weft::algorithms::gpu
