// Kinds of numbers as C++ types: how they lie in memory and what sums of them are kept in.
#pragma once
#include <cstdint>
#include <type_traits>

#include "runtime/half.h"
#include "support/check.h"
#include "types/type.h"

namespace weft::algorithms::host {

/// Numbers whose sums are of their own kind; those of integers wrap around.
template <class T>
struct Plain {
  using Stored = T;
  using Sum = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  static Sum load(Stored v) { return Sum(v); }
  static Stored store(Sum v) { return Stored(v); }
};
/// 16-bit floats, summed in float32 and rounded once.
struct Half {
  using Stored = std::uint16_t;
  using Sum = float;
  static Sum load(Stored bits) { return runtime::f16_to_float(bits); }
  static Stored store(Sum v) { return runtime::f16_from_double(double(v)); }
};
struct BrainHalf {
  using Stored = std::uint16_t;
  using Sum = float;
  static Sum load(Stored bits) { return runtime::bf16_to_float(bits); }
  static Stored store(Sum v) { return runtime::bf16_from_double(double(v)); }
};

/// Calls f with an object of the class above for a kind of 4 or 8 bytes or a 16-bit float. Other kinds are a bug.
template <class F>
auto with_number(ScalarKind kind, const F& f) {
  switch (kind) {
    case ScalarKind::i32: return f(Plain<std::int32_t>{});
    case ScalarKind::u32: return f(Plain<std::uint32_t>{});
    case ScalarKind::i64: return f(Plain<std::int64_t>{});
    case ScalarKind::u64: return f(Plain<std::uint64_t>{});
    case ScalarKind::f16: return f(Half{});
    case ScalarKind::bf16: return f(BrainHalf{});
    case ScalarKind::f32: return f(Plain<float>{});
    case ScalarKind::f64: return f(Plain<double>{});
    case ScalarKind::boolean:
    case ScalarKind::i8:
    case ScalarKind::u8:
    case ScalarKind::i16:
    case ScalarKind::u16: break;
  }
  WEFT_UNREACHABLE("no sums of this kind");
}

}  // namespace weft::algorithms::host
