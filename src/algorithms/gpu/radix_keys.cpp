// Signs turned and turned back.
#include "algorithms/gpu/radix_keys.h"

#include "support/check.h"

namespace weft::algorithms::gpu {
namespace {

enum class Order { plain, signs, floats };

Order order_of(ScalarKind key) {
  switch (key) {
    case ScalarKind::u32:
    case ScalarKind::u64: return Order::plain;
    case ScalarKind::i32:
    case ScalarKind::i64: return Order::signs;
    case ScalarKind::f32:
    case ScalarKind::f64: return Order::floats;
    case ScalarKind::boolean:
    case ScalarKind::i8:
    case ScalarKind::u8:
    case ScalarKind::i16:
    case ScalarKind::u16:
    case ScalarKind::f16:
    case ScalarKind::bf16: break;
  }
  WEFT_UNREACHABLE("such keys were refused");
}

}  // namespace

Reg ordered_of(PtxKernel& k, ScalarKind key, const Reg& stored) {
  const bool wide = wide_key(key);
  const std::string bits = wide ? "b64" : "b32", sign = wide ? "-9223372036854775808" : "-2147483648";
  switch (order_of(key)) {
    case Order::plain: return stored;
    case Order::signs: return k("xor." + bits, stored, sign);
    case Order::floats: break;
  }
  // The sign alone of positive numbers is turned, all bits of negative ones.
  const Reg all = k(wide ? "shr.s64" : "shr.s32", stored, wide ? 63 : 31);
  return k("xor." + bits, k("or." + bits, all, sign), stored);
}

Reg key_of(PtxKernel& k, ScalarKind key, const Reg& ordered) {
  if (order_of(key) != Order::floats) return ordered_of(k, key, ordered);
  const bool wide = wide_key(key);
  const std::string bits = wide ? "b64" : "b32", sign = wide ? "-9223372036854775808" : "-2147483648";
  const Reg none = k(wide ? "shr.s64" : "shr.s32", ordered, wide ? 63 : 31);
  return k("xor." + bits, k("or." + bits, k("not." + bits, none), sign), ordered);
}

Reg digit_of(PtxKernel& k, ScalarKind key, const Reg& ordered, const Operand& shift, const Operand& mask) {
  Reg low = k(wide_key(key) ? "shr.u64" : "shr.u32", ordered, shift);
  if (wide_key(key)) low = k("cvt.u32.u64", low);
  return k("and.b32", low, mask);
}

Reg scan_counts(PtxKernel& k, const Reg& count) {
  const Reg sum = k("mov.u32", count);
  for (int distance : {1, 2, 4, 8, 16}) {
    const Reg other = k.reg(32), there = k.reg(1);
    k.run("shfl.sync.up.b32", other.name + "|" + there.name, sum, distance, 0, -1);
    k.when(there).set(sum, "add.u32", sum, other);
  }
  return sum;
}

}  // namespace weft::algorithms::gpu
