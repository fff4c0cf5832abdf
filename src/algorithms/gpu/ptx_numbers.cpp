// Conversions, shuffles, sums and prefix sums over the lanes of a warp.
#include "algorithms/gpu/ptx_numbers.h"

#include "support/check.h"

namespace weft::algorithms::gpu {

NumberText number_text(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::i32:
    case ScalarKind::u32: return {ScalarKind::u32, "u32", "u32", "0", 4, 4};
    case ScalarKind::i64:
    case ScalarKind::u64: return {ScalarKind::u64, "u64", "u64", "0", 8, 8};
    case ScalarKind::f16:
    case ScalarKind::bf16: return {ScalarKind::f32, "b16", "f32", "0f00000000", 2, 4};
    case ScalarKind::f32: return {ScalarKind::f32, "f32", "f32", "0f00000000", 4, 4};
    case ScalarKind::f64: return {ScalarKind::f64, "f64", "f64", "0d0000000000000000", 8, 8};
    case ScalarKind::boolean:
    case ScalarKind::i8:
    case ScalarKind::u8:
    case ScalarKind::i16:
    case ScalarKind::u16: break;
  }
  WEFT_UNREACHABLE("sums of such numbers were refused");
}

void load_number(PtxKernel& k, ScalarKind kind, const Reg& to, const std::string& place,
                 const std::optional<Reg>& there) {
  const auto set = [&](const Reg& reg, std::string_view op, const Operand& operand) {
    there ? k.when(*there).set(reg, op, operand) : k.set(reg, op, operand);
  };
  if (kind == ScalarKind::f16 || kind == ScalarKind::bf16) {
    const Reg stored = k.reg(16);
    set(stored, "ld.global.b16", place);
    if (kind == ScalarKind::f16) return set(to, "cvt.f32.f16", stored);
    const Reg bits = k("cvt.u32.u16", stored);
    return set(to, "mov.b32", k("shl.b32", bits, 16));
  }
  set(to, "ld.global." + number_text(kind).memory, place);
}

void store_number(PtxKernel& k, ScalarKind kind, const Reg& from, const std::string& place,
                  const std::optional<Reg>& there) {
  Reg stored = from;
  if (kind == ScalarKind::f16) {
    stored = k("cvt.rn.f16.f32", from);
  } else if (kind == ScalarKind::bf16) {
    // To nearest, ties to even, by integers: GPUs before sm_80 have no instruction.
    const Reg bits = k("mov.b32", from);
    const Reg odd = k("and.b32", k("shr.u32", bits, 16), 1);
    const Reg rounded = k("add.u32", k("add.u32", odd, 32767), bits);
    k.when(k("setp.neu.f32", from, from)).set(rounded, "or.b32", bits, 4194304);
    stored = k("cvt.u16.u32", k("shr.u32", rounded, 16));
  }
  const std::string op = "st.global." + number_text(kind).memory;
  there ? k.when(*there).run(op, place, stored) : k.run(op, place, stored);
}

Reg shuffled(PtxKernel& k, int bytes, const std::string& mode, const Reg& from, const Operand& lane,
             const std::optional<Reg>& valid) {
  const auto one = [&](const Reg& word) {
    const Reg to = k.reg(32);
    k.run("shfl.sync." + mode + ".b32", valid ? to.name + "|" + valid->name : to.name, word, lane,
          mode == "up" ? 0 : 31, -1);
    return to;
  };
  if (bytes == 4) return one(from);
  const Reg low = k.reg(32), high = k.reg(32), to = k.reg(64);
  k.run("mov.b64", "{" + low.name + ", " + high.name + "}", from);
  const Reg a = one(low), b = one(high);
  k.run("mov.b64", to, "{" + a.name + ", " + b.name + "}");
  return to;
}

Reg scan_lanes(PtxKernel& k, const NumberText& number, const Reg& own) {
  const Reg sum = k("mov." + number.type, own);
  for (int distance : {1, 2, 4, 8, 16}) {
    const Reg there = k.reg(1);
    const Reg other = shuffled(k, number.sum_bytes, "up", sum, distance, there);
    k.when(there).set(sum, "add." + number.type, other, sum);
  }
  return sum;
}

Reg lanes_before(PtxKernel& k, const NumberText& number, const Reg& inclusive) {
  const Reg there = k.reg(1);
  const Reg before = shuffled(k, number.sum_bytes, "up", inclusive, 1, there);
  k.unless(there).set(before, "mov." + number.type, number.zero);
  return before;
}

Reg sum_lanes(PtxKernel& k, const NumberText& number, const Reg& own) {
  Reg sum = own;
  for (int distance : {16, 8, 4, 2, 1})
    sum = k("add." + number.type, sum, shuffled(k, number.sum_bytes, "bfly", sum, distance));
  return sum;
}

}  // namespace weft::algorithms::gpu
