// Sums along one dimension. Several sums are kept at once, so that as many loads are under way.
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/ptx_numbers.h"

namespace weft::algorithms::gpu {
namespace {

std::string multiply(const NumberText& number) { return (number.type[0] == 'f' ? "mul.rn." : "mul.lo.") + number.type; }

/// The sum over the block's threads, in the first one; the others jump to `done`.
Reg sum_block(PtxKernel& k, const NumberText& number, const Reg& own, const std::string& done) {
  const int warps = k.threads() / 32;
  const std::string partial = k.shared("partial", std::size_t(warps * number.sum_bytes));
  const Reg of_warp = sum_lanes(k, number, own);
  const Reg place = k("mad.lo.u32", k.warp(), number.sum_bytes, k("mov.u32", partial));
  k.when(k("setp.eq.u32", k.lane(), 0)).run("st.shared." + number.type, at(place), of_warp);
  k.barrier();
  k.when(k("setp.ne.u32", k.thread(), 0)).jump(done);
  Reg sum = of_warp;
  for (int w = 1; w < warps; ++w)
    sum = k("add." + number.type, sum, k("ld.shared." + number.type, at(partial, w * number.sum_bytes)));
  return sum;
}

}  // namespace

std::string sum_ptx(const std::string& name, ScalarKind in, ScalarKind out, bool product, bool columns) {
  constexpr int kAtOnce = 4;
  PtxKernel k(name, sizeof(SumArguments), kSumBlock);
  const NumberText number = number_text(in);
  const std::string add = "add." + number.type, done = k.label();
  const Reg outputs = k("ld.param.u64", at("args", 24)), length = k("ld.param.u64", at("args", 32)),
            inner = k("ld.param.u64", at("args", 40)), parts = k("ld.param.u64", at("args", 48)),
            chunk = k("ld.param.u64", at("args", 56));
  const Reg block = k("cvt.u64.u32", k("mov.u32", "%ctaid.x")), thread = k("cvt.u64.u32", k.thread());
  // A thread's output and part; where it begins in the part, and its step.
  Reg output, part, begin;
  if (columns) {
    const Reg index = k("mad.lo.u64", block, kSumBlock, thread);
    k.when(k("setp.ge.u64", index, k("mul.lo.u64", outputs, parts))).jump(done);
    output = k("rem.u64", index, outputs);
    part = k("div.u64", index, outputs);
    begin = k("mov.u64", 0);
  } else {
    part = k("rem.u64", block, parts);
    output = k("div.u64", block, parts);
    begin = thread;
  }
  const int step = columns ? 1 : kSumBlock;
  const Reg row = k("mul.lo.u64", k("mul.lo.u64", k("div.u64", output, inner), length), inner);
  const Reg first = k("mul.lo.u64", k("add.u64", row, k("rem.u64", output, inner)), number.bytes);
  const Reg a = k("add.u64", k("ld.param.u64", at("args")), first);
  const Reg b = k("add.u64", k("ld.param.u64", at("args", 8)), first);
  const Reg apart = k("mul.lo.u64", inner, number.bytes);  // bytes from one number to the next
  const Reg l = k("mul.lo.u64", part, chunk);
  const Reg end = k("min.u64", k("add.u64", l, chunk), length);
  k.set(l, "add.u64", l, begin);
  std::vector<Reg> sums;
  for (int i = 0; i < kAtOnce; ++i) sums.push_back(k("mov." + number.type, number.zero));
  const auto add_term = [&](const Reg& sum, const Reg& offset) {
    const Reg term = k.reg(number.sum_bytes * 8);
    load_number(k, in, term, at(k("add.u64", a, offset)));
    if (product) {
      const Reg factor = k.reg(number.sum_bytes * 8);
      load_number(k, in, factor, at(k("add.u64", b, offset)));
      k.set(term, multiply(number), term, factor);
    }
    k.set(sum, add, sum, term);
  };
  const std::string wide = k.label(), tail = k.label(), summed = k.label();
  k.place(wide);
  k.when(k("setp.ge.u64", k("add.u64", l, (kAtOnce - 1) * step), end)).jump(tail);
  const Reg offset = k("mul.lo.u64", l, apart), step_bytes = k("mul.lo.u64", apart, step);
  for (int i = 0; i < kAtOnce; ++i) {
    add_term(sums[std::size_t(i)], offset);
    if (i + 1 < kAtOnce) k.set(offset, "add.u64", offset, step_bytes);
  }
  k.set(l, "add.u64", l, kAtOnce * step);
  k.jump(wide);
  k.place(tail);
  k.when(k("setp.ge.u64", l, end)).jump(summed);
  add_term(sums[0], k("mul.lo.u64", l, apart));
  k.set(l, "add.u64", l, step);
  k.jump(tail);
  k.place(summed);
  Reg sum = k(add, k(add, sums[0], sums[1]), k(add, sums[2], sums[3]));
  if (!columns) sum = sum_block(k, number, sum, done);
  const Reg index = k("mad.lo.u64", part, outputs, output);
  const Reg to = k("mad.lo.u64", index, number_text(out).bytes, k("ld.param.u64", at("args", 16)));
  store_number(k, out, sum, at(to));
  k.place(done);
  return k.text();
}

std::string sum_packed_ptx(const std::string& name, ScalarKind kind, bool product, const SumShape& shape) {
  PtxKernel k(name, sizeof(PackedSumArguments), shape.threads);
  const NumberText number = number_text(kind);
  const int width = vector_length(number), tile = sum_tile(shape, kind), loads = shape.loads;
  const std::string add = "add." + number.type, load = "ld.global.v" + std::to_string(width) + "." + number.memory;
  const Reg length = k("ld.param.u64", at("args", 24)), block = k("mov.u32", "%ctaid.x"),
            blocks = k("mov.u32", "%nctaid.x");
  const Reg tiles = k("div.u64", length, tile), from = k("mul.wide.u32", block, tile);
  // Where this thread reads next, of each factor.
  std::vector<Reg> places;
  for (int i = 0; i < (product ? 2 : 1); ++i) {
    const Reg tile_at = k("mad.lo.u64", from, number.bytes, k("ld.param.u64", at("args", 8 * i)));
    places.push_back(k("mad.wide.u32", k.thread(), 16, tile_at));
  }
  std::vector<Reg> sums;
  for (int n = 0; n < width; ++n) sums.push_back(k("mov." + number.type, number.zero));
  // Adds the terms of loads, or of single numbers, that `read` puts into registers.
  const auto add_terms = [&](int count, const auto& read) {
    std::vector<std::vector<Reg>> factors;
    for (const Reg& place : places) {
      factors.push_back(k.regs(count, number.bytes * 8));
      read(place, factors.back());
    }
    for (std::size_t i = 0; i < std::size_t(count); ++i) {
      Reg term = factors[0][i];
      if (product) term = k(multiply(number), term, factors[1][i]);
      k.set(sums[i % std::size_t(width)], add, sums[i % std::size_t(width)], term);
    }
  };
  const auto vector_of = [&](const std::vector<Reg>& regs, int i) {
    return group(regs, std::size_t(i * width), std::size_t(width));
  };
  const auto distance = [&](int i) { return std::int64_t(i) * shape.threads * 16; };

  const std::string loop = k.label(), rest = k.label(), summed = k.label(), done = k.label();
  const Reg next = k("cvt.u64.u32", block), step = k("cvt.u64.u32", blocks);
  const Reg step_bytes = k("mul.lo.u64", step, tile * number.bytes);
  k.place(loop);
  k.when(k("setp.ge.u64", next, tiles)).jump(rest);
  add_terms(loads * width, [&](const Reg& place, const std::vector<Reg>& to) {
    for (int i = 0; i < loads; ++i) k.run(load, vector_of(to, i), at(place, distance(i)));
  });
  for (const Reg& place : places) k.set(place, "add.u64", place, step_bytes);
  k.set(next, "add.u64", next, step);
  k.jump(loop);

  // Less than a tile is left: it goes to the block whose turn it is, by as many loads at once.
  k.place(rest);
  k.when(k("setp.ne.u64", next, tiles)).jump(summed);
  const Reg left = k("cvt.u32.u64", k("sub.u64", length, k("mul.lo.u64", tiles, tile)));
  k.when(k("setp.eq.u32", left, 0)).jump(summed);
  const Reg vectors = k("div.u32", left, width);
  add_terms(loads * width, [&](const Reg& place, const std::vector<Reg>& to) {
    for (const Reg& one : to) k.set(one, "mov." + number.type, number.zero);
    for (int i = 0; i < loads; ++i)
      k.when(k("setp.lt.u32", k("add.u32", k.thread(), i * shape.threads), vectors))
          .run(load, vector_of(to, i), at(place, distance(i)));
  });
  const Reg single = k("setp.lt.u32", k.thread(), k("rem.u32", left, width));  // fewer than a vector has
  add_terms(1, [&](const Reg& place, const std::vector<Reg>& to) {
    k.set(to[0], "mov." + number.type, number.zero);
    const Reg tile_at = k("sub.u64", place, k("mul.wide.u32", k.thread(), 16));
    const Reg first = k("mad.wide.u32", vectors, 16, tile_at);
    k.when(single).set(to[0], "ld.global." + number.memory, at(k("mad.wide.u32", k.thread(), number.bytes, first)));
  });
  k.place(summed);
  Reg sum = sums[0];
  for (std::size_t n = 1; n < sums.size(); ++n) sum = k(add, sum, sums[n]);
  sum = sum_block(k, number, sum, done);
  store_number(k, kind, sum, at(k("mad.wide.u32", block, number.bytes, k("ld.param.u64", at("args", 16)))));
  k.place(done);
  return k.text();
}

}  // namespace weft::algorithms::gpu
