// The PTX machine's arithmetic on integers, floats and bits. Floats round as the instruction says; approximate
// instructions give what is exact up to the last rounding.
#include <algorithm>
#include <bit>
#include <cctype>
#include <cfenv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ptx_code.h"
#include "runtime/half.h"

namespace weft::cuda::fake {
namespace {

/// The not-a-number that GPUs give.
template <class T>
T canonical(T x) {
  if (x == x) return x;
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(0x7FFFFFFFu);
  else
    return std::bit_cast<T>(Word(0x7FFFFFFFFFFFFFFF));
}

template <class T>
T flushed(T x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(T(0), x) : x;
}

/// Rounding as an instruction says, while it lives.
class Rounding {
 public:
  explicit Rounding(PtxRound round) {
    if (round == PtxRound::zero) std::fesetround(FE_TOWARDZERO);
    if (round == PtxRound::down) std::fesetround(FE_DOWNWARD);
    if (round == PtxRound::up) std::fesetround(FE_UPWARD);
  }
  ~Rounding() { std::fesetround(FE_TONEAREST); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;
};

template <class T>
T finished(const PtxInstruction& i, T x) {
  if (i.flush) x = flushed(x);
  if (i.saturate) x = x > T(0) ? std::min(x, T(1)) : T(0);
  return canonical(x);
}

bool is_plain(const PtxInstruction& i) { return !i.flush && !i.saturate && i.round == PtxRound::nearest; }

// Operations. Each is a struct with run(); of floats and integers alike where both have it.

struct Add {
  template <class T>
  static T run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a + b;
    else
      return T(Word(a) + Word(b));
  }
};
struct Sub {
  template <class T>
  static T run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a - b;
    else
      return T(Word(a) - Word(b));
  }
};
struct Mul {
  template <class T>
  static T run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a * b;
    else
      return T(Word(a) * Word(b));
  }
};
struct Div {
  template <class T>
  static T run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a / b;
    else if (b == 0)
      return T(~T(0));
    else
      return b == T(-1) && std::is_signed_v<T> ? T(0 - Word(a)) : T(a / b);
  }
};
struct Rem {
  template <class T>
  static T run(T a, T b) {
    if (b == 0) return a;
    return b == T(-1) && std::is_signed_v<T> ? T(0) : T(a % b);
  }
};
/// Of numbers and not-a-numbers the numbers; −0 is less than 0.
struct Min {
  template <class T>
  static T run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a) return b;
      if (b != b) return a;
      if (a == b) return std::signbit(a) ? a : b;
    }
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a) return b;
      if (b != b) return a;
      if (a == b) return std::signbit(a) ? b : a;
    }
    return a < b ? b : a;
  }
};
/// The same where not-a-numbers win.
template <class Op>
struct OrNan {
  template <class T>
  static T run(T a, T b) {
    if (a != a || b != b) return std::numeric_limits<T>::quiet_NaN();
    return Op::run(a, b);
  }
};
struct MulHigh {
  template <class T>
  static T run(T a, T b) {
    using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return T((Wide(a) * Wide(b)) >> (8 * sizeof(T)));
  }
};
struct And {
  template <class T>
  static T run(T a, T b) {
    return a & b;
  }
};
struct Or {
  template <class T>
  static T run(T a, T b) {
    return a | b;
  }
};
struct Xor {
  template <class T>
  static T run(T a, T b) {
    return a ^ b;
  }
};
struct Not {
  template <class T>
  static T run(T a) {
    return T(~a);
  }
};
struct Neg {
  template <class T>
  static T run(T a) {
    if constexpr (std::is_floating_point_v<T>)
      return -a;
    else
      return T(0 - Word(a));
  }
};
struct Abs {
  template <class T>
  static T run(T a) {
    if constexpr (std::is_floating_point_v<T>)
      return std::fabs(a);
    else
      return a < 0 ? T(0 - Word(a)) : a;
  }
};
struct Fma {
  template <class T>
  static T run(T a, T b, T c) {
    if constexpr (std::is_floating_point_v<T>)
      return std::fma(a, b, c);
    else
      return T(Word(a) * Word(b) + Word(c));
  }
};
struct MadHigh {
  template <class T>
  static T run(T a, T b, T c) {
    return T(Word(MulHigh::run(a, b)) + Word(c));
  }
};
struct Copysign {
  template <class T>
  static T run(T a, T b) {
    return std::copysign(b, a);
  }
};
struct Sqrt {
  template <class T>
  static T run(T a) {
    return std::sqrt(a);
  }
};
struct Rcp {
  template <class T>
  static T run(T a) {
    return T(1) / a;
  }
};
struct Rsqrt {
  template <class T>
  static T run(T a) {
    return T(1.0L / std::sqrt((long double)(a)));
  }
};

// Functions that are approximate on GPUs: of doubles, which round once more at the end.
#define WEFT_APPROXIMATE(Name, expression) \
  struct Name {                            \
    template <class T>                     \
    static T run(T a) {                    \
      const auto x = double(a);            \
      return T(expression);                \
    }                                      \
  }
WEFT_APPROXIMATE(Sin, std::sin(x));
WEFT_APPROXIMATE(Cos, std::cos(x));
WEFT_APPROXIMATE(Lg2, std::log2(x));
WEFT_APPROXIMATE(Ex2, std::exp2(x));
WEFT_APPROXIMATE(Tanh, std::tanh(x));
#undef WEFT_APPROXIMATE

// Actions over them.

template <class Op, class T>
void one(PtxThread& t, const PtxInstruction& i) {
  put<T>(t, i.to, Op::run(get<T>(t, i.a)));
}
template <class Op, class T>
void two(PtxThread& t, const PtxInstruction& i) {
  put<T>(t, i.to, Op::run(get<T>(t, i.a), get<T>(t, i.b)));
}
template <class Op, class T>
void three(PtxThread& t, const PtxInstruction& i) {
  put<T>(t, i.to, Op::run(get<T>(t, i.a), get<T>(t, i.b), get<T>(t, i.c)));
}

template <int N, class Op, class T>
void plain_float(PtxThread& t, const PtxInstruction& i) {
  const T a = get<T>(t, i.a);
  if constexpr (N == 1)
    put<T>(t, i.to, canonical(Op::run(a)));
  else if constexpr (N == 2)
    put<T>(t, i.to, canonical(Op::run(a, get<T>(t, i.b))));
  else
    put<T>(t, i.to, canonical(Op::run(a, get<T>(t, i.b), get<T>(t, i.c))));
}

/// Volatile: what is computed between two changes of the rounding mode has to stay there.
template <int N, class Op, class T>
void other_float(PtxThread& t, const PtxInstruction& i) {
  auto number = [&](std::int32_t reg) { return i.flush ? flushed(get<T>(t, reg)) : get<T>(t, reg); };
  volatile T a = number(i.a), b = N > 1 ? number(i.b) : T(0), c = N > 2 ? number(i.c) : T(0), result = T(0);
  {
    Rounding rounding(i.round);
    if constexpr (N == 1)
      result = Op::template run<T>(a);
    else if constexpr (N == 2)
      result = Op::template run<T>(a, b);
    else
      result = Op::template run<T>(a, b, c);
  }
  put<T>(t, i.to, finished<T>(i, result));
}

/// a·b + c to odd in the last place, so that one more rounding gives what one rounding would have given.
double odd_fma(double product, double c) {
  const double sum = product + c, back = sum - product;
  const double error = (product - (sum - back)) + (c - back);
  if (error == 0 || !std::isfinite(sum) || (std::bit_cast<Word>(sum) & 1)) return sum;
  return std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
}

/// 16-bit floats: by doubles, which hold sums and products of them without an error that could be seen.
template <int N, class Op>
void halves(PtxThread& t, const PtxInstruction& i) {
  Word out = 0;
  const char kind = char(std::tolower(i.kind));
  for (int shift = 0; shift < i.width; shift += 16) {
    auto number = [&](std::int32_t reg) { return half_value((t.r[reg] >> shift) & 0xFFFF, kind); };
    double x = 0;
    if constexpr (N == 1)
      x = Op::template run<double>(number(i.a));
    else if constexpr (N == 2)
      x = Op::template run<double>(number(i.a), number(i.b));
    else
      x = odd_fma(number(i.a) * number(i.b), number(i.c));
    if (i.saturate) x = x > 0 ? std::min(x, 1.0) : 0.0;
    out |= (x != x ? 0x7FFF : half_bits(x, kind)) << shift;
  }
  t.r[i.to] = out;
}

template <int N, class Op>
PtxAction for_floats(const PtxInstruction& i) {
  const bool plain = is_plain(i);
  if (i.kind == 'f' && i.width == 32) return plain ? plain_float<N, Op, float> : other_float<N, Op, float>;
  if (i.kind == 'f' && i.width == 64) return plain ? plain_float<N, Op, double> : other_float<N, Op, double>;
  const bool half = std::strchr("hgHG", i.kind);
  return half && i.round == PtxRound::nearest ? halves<N, Op> : nullptr;
}

/// The action of a template for the integer type of an instruction.
#define WEFT_FOR_INTEGERS(template_name, Op)                                                              \
  (i.width == 16   ? (i.kind == 's' ? template_name<Op, std::int16_t> : template_name<Op, std::uint16_t>) \
   : i.width == 32 ? (i.kind == 's' ? template_name<Op, std::int32_t> : template_name<Op, std::uint32_t>) \
   : i.width == 64 ? (i.kind == 's' ? template_name<Op, std::int64_t> : template_name<Op, std::uint64_t>) \
                   : nullptr)

template <class T, class Wide>
void mul_wide(PtxThread& t, const PtxInstruction& i) {
  put<Wide>(t, i.to, Wide(Wide(get<T>(t, i.a)) * Wide(get<T>(t, i.b))));
}
template <class T, class Wide>
void mad_wide(PtxThread& t, const PtxInstruction& i) {
  put<Wide>(t, i.to, Wide(Word(Wide(get<T>(t, i.a)) * Wide(get<T>(t, i.b))) + Word(get<Wide>(t, i.c))));
}

template <class T>
void shl(PtxThread& t, const PtxInstruction& i) {
  const auto by = get<std::uint32_t>(t, i.b);
  put<T>(t, i.to, by >= 8 * sizeof(T) ? T(0) : T(get<T>(t, i.a) << by));
}
template <class T>
void shr(PtxThread& t, const PtxInstruction& i) {
  const auto by = get<std::uint32_t>(t, i.b);
  const T a = get<T>(t, i.a);
  if (by < 8 * sizeof(T))
    put<T>(t, i.to, T(a >> by));
  else
    put<T>(t, i.to, T(std::is_signed_v<T> && a < 0 ? -1 : 0));
}

void predicate_and(PtxThread& t, const PtxInstruction& i) { t.r[i.to] = t.r[i.a] & t.r[i.b] & 1; }
void predicate_or(PtxThread& t, const PtxInstruction& i) { t.r[i.to] = (t.r[i.a] | t.r[i.b]) & 1; }
void predicate_xor(PtxThread& t, const PtxInstruction& i) { t.r[i.to] = (t.r[i.a] ^ t.r[i.b]) & 1; }
void predicate_not(PtxThread& t, const PtxInstruction& i) { t.r[i.to] = ~t.r[i.a] & 1; }

template <class T>
void select(PtxThread& t, const PtxInstruction& i) {
  put<T>(t, i.to, get<T>(t, t.r[i.c] & 1 ? i.a : i.b));
}
template <class T>
void move(PtxThread& t, const PtxInstruction& i) {
  put<T>(t, i.to, get<T>(t, i.a));
}
void move_predicate(PtxThread& t, const PtxInstruction& i) { t.r[i.to] = t.r[i.a] & 1; }

template <class T>
void count_bits(PtxThread& t, const PtxInstruction& i) {
  t.r[i.to] = Word(std::popcount(get<T>(t, i.a)));
}
template <class T>
void leading_zeros(PtxThread& t, const PtxInstruction& i) {
  t.r[i.to] = Word(std::countl_zero(get<T>(t, i.a)));
}
template <class T>
void reverse_bits(PtxThread& t, const PtxInstruction& i) {
  const T a = get<T>(t, i.a);
  T out = 0;
  for (std::size_t k = 0; k < 8 * sizeof(T); ++k) out |= T(((a >> k) & 1) << (8 * sizeof(T) - 1 - k));
  put<T>(t, i.to, out);
}

void extract_field(PtxThread& t, const PtxInstruction& i) {
  const int bits = i.width, from = int(t.r[i.b] & 255), length = int(t.r[i.c] & 255);
  const Word a = cut(t.r[i.a], bits);
  Word out = from >= bits ? 0 : cut(a >> from, length);
  if (i.kind == 's' && length > 0) {
    const int last = std::min(from + length - 1, bits - 1);
    const bool sign = (a >> last) & 1;
    const int known = std::max(0, last - from + 1);
    if (sign && known < 64) out |= ~Word(0) << known;
  }
  t.r[i.to] = length == 0 ? 0 : cut(out, bits);
}

void insert_field(PtxThread& t, const PtxInstruction& i) {
  const int bits = i.width, from = int(t.r[i.c] & 255), length = int(t.r[i.d] & 255);
  Word mask = length >= 64 ? ~Word(0) : (Word(1) << length) - 1;
  mask = from >= bits ? 0 : cut(mask << from, bits);
  const Word given = from >= bits ? 0 : t.r[i.a] << from;
  t.r[i.to] = cut((t.r[i.b] & ~mask) | (given & mask), bits);
}

void find_leading(PtxThread& t, const PtxInstruction& i) {
  const int bits = i.width;
  Word a = cut(t.r[i.a], bits);
  if (i.kind == 's' && as_signed(a, bits) < 0) a = cut(~a, bits);
  const int place = 63 - std::countl_zero(a);
  t.r[i.to] = a == 0 ? 0xFFFFFFFF : Word(i.verb == PtxVerb::max ? bits - 1 - place : place);
}

void permute_bytes(PtxThread& t, const PtxInstruction& i) {
  const Word all = cut(t.r[i.a], 32) | t.r[i.b] << 32, how = t.r[i.c];
  Word out = 0;
  for (int k = 0; k < 4; ++k) {
    const Word which = (how >> (4 * k)) & 15;
    Word byte = (all >> (8 * (which & 7))) & 255;
    if (which & 8) byte = byte & 128 ? 255 : 0;
    out |= byte << (8 * k);
  }
  t.r[i.to] = out;
}

void funnel_shift(PtxThread& t, const PtxInstruction& i) {
  const Word all = cut(t.r[i.a], 32) | t.r[i.b] << 32;
  const Word by = i.saturate ? std::min<Word>(cut(t.r[i.c], 32), 32) : t.r[i.c] & 31;
  t.r[i.to] = cut(i.verb == PtxVerb::up ? all >> (32 - by) : all >> by, 32);
}

void any_logic(PtxThread& t, const PtxInstruction& i) {
  const Word table = t.r[i.d];
  Word out = 0;
  for (int k = 0; k < 8; ++k) {
    if (!((table >> k) & 1)) continue;
    out |= (k & 4 ? t.r[i.a] : ~t.r[i.a]) & (k & 2 ? t.r[i.b] : ~t.r[i.b]) & (k & 1 ? t.r[i.c] : ~t.r[i.c]);
  }
  t.r[i.to] = cut(out, 32);
}

#define WEFT_BY_WIDTH(template_name)                         \
  (i.width == 16   ? template_name<std::uint16_t>            \
   : i.width == 32 ? template_name<std::uint32_t>            \
   : i.width == 64 ? PtxAction(template_name<std::uint64_t>) \
                   : nullptr)

PtxAction find_bits(const std::string& op, const PtxName& name, PtxInstruction& i) {
  const bool predicate = i.kind == 'p';
  if (op == "and") return predicate ? predicate_and : WEFT_FOR_INTEGERS(two, And);
  if (op == "or") return predicate ? predicate_or : WEFT_FOR_INTEGERS(two, Or);
  if (op == "xor") return predicate ? predicate_xor : WEFT_FOR_INTEGERS(two, Xor);
  if (op == "not") return predicate ? predicate_not : WEFT_FOR_INTEGERS(one, Not);
  if (op == "mov") return predicate ? move_predicate : WEFT_BY_WIDTH(move);
  if (op == "selp") return WEFT_BY_WIDTH(select);
  if (op == "shl") return WEFT_BY_WIDTH(shl);
  if (op == "shr" && i.kind == 's')
    return i.width == 16 ? shr<std::int16_t> : i.width == 32 ? shr<std::int32_t> : PtxAction(shr<std::int64_t>);
  if (op == "shr") return WEFT_BY_WIDTH(shr);
  if (op == "popc") return WEFT_BY_WIDTH(count_bits);
  if (op == "clz") return WEFT_BY_WIDTH(leading_zeros);
  if (op == "brev") return WEFT_BY_WIDTH(reverse_bits);
  if (op == "bfe") return extract_field;
  if (op == "bfi") return insert_field;
  if (op == "bfind") {
    if (has_part(name, "shiftamt")) i.verb = PtxVerb::max;
    return find_leading;
  }
  if (op == "prmt" && name.size() == 2) return permute_bytes;
  if (op == "lop3" && name.size() == 2) return any_logic;
  if (op == "shf") {
    i.verb = name[1] == "l" ? PtxVerb::up : PtxVerb::down;
    i.saturate = has_part(name, "clamp");
    return funnel_shift;
  }
  return nullptr;
}

PtxAction find_products(const std::string& op, const PtxName& name, const PtxInstruction& i) {
  const bool add = op == "mad";
  if (has_part(name, "wide")) {
    const bool sign = i.kind == 's';
    if (i.width == 16)
      return sign ? (add ? mad_wide<std::int16_t, std::int32_t> : mul_wide<std::int16_t, std::int32_t>)
                  : (add ? mad_wide<std::uint16_t, std::uint32_t> : mul_wide<std::uint16_t, std::uint32_t>);
    return sign ? (add ? mad_wide<std::int32_t, std::int64_t> : mul_wide<std::int32_t, std::int64_t>)
                : (add ? mad_wide<std::uint32_t, std::uint64_t> : mul_wide<std::uint32_t, std::uint64_t>);
  }
  if (has_part(name, "hi")) return add ? WEFT_FOR_INTEGERS(three, MadHigh) : WEFT_FOR_INTEGERS(two, MulHigh);
  return add ? WEFT_FOR_INTEGERS(three, Fma) : WEFT_FOR_INTEGERS(two, Mul);
}

PtxAction find_floats(const std::string& op, const PtxName& name, const PtxInstruction& i) {
  const bool with_nan = has_part(name, "NaN");
  if (op == "add") return for_floats<2, Add>(i);
  if (op == "sub") return for_floats<2, Sub>(i);
  if (op == "mul") return for_floats<2, Mul>(i);
  if (op == "div") return for_floats<2, Div>(i);
  if (op == "min") return with_nan ? for_floats<2, OrNan<Min>>(i) : for_floats<2, Min>(i);
  if (op == "max") return with_nan ? for_floats<2, OrNan<Max>>(i) : for_floats<2, Max>(i);
  if (op == "fma" || op == "mad") return for_floats<3, Fma>(i);
  if (op == "neg") return for_floats<1, Neg>(i);
  if (op == "abs") return for_floats<1, Abs>(i);
  if (op == "copysign") return for_floats<2, Copysign>(i);
  if (op == "sqrt") return for_floats<1, Sqrt>(i);
  if (op == "rcp") return for_floats<1, Rcp>(i);
  if (op == "rsqrt") return for_floats<1, Rsqrt>(i);
  if (op == "sin") return for_floats<1, Sin>(i);
  if (op == "cos") return for_floats<1, Cos>(i);
  if (op == "lg2") return for_floats<1, Lg2>(i);
  if (op == "ex2") return for_floats<1, Ex2>(i);
  if (op == "tanh") return for_floats<1, Tanh>(i);
  return nullptr;
}

}  // namespace

double half_value(Word bits, char kind) {
  return double(kind == 'g' ? runtime::bf16_to_float(std::uint16_t(bits)) : runtime::f16_to_float(std::uint16_t(bits)));
}

Word half_bits(double value, char kind) {
  return kind == 'g' ? runtime::bf16_from_double(value) : runtime::f16_from_double(value);
}

PtxAction find_arithmetic(const PtxName& name, PtxInstruction& i) {
  const std::string& op = name[0];
  if (!ptx_type(name.back(), i.kind, i.width) || has_part(name, "cc")) return nullptr;
  i.flush = has_part(name, "ftz");
  i.saturate = has_part(name, "sat");
  i.round = has_part(name, "rz")   ? PtxRound::zero
            : has_part(name, "rm") ? PtxRound::down
            : has_part(name, "rp") ? PtxRound::up
                                   : PtxRound::nearest;
  if (const PtxAction action = find_bits(op, name, i)) return action;
  if (!std::strchr("bus", i.kind)) return find_floats(op, name, i);
  if (i.saturate) return nullptr;
  if (op == "mul" || op == "mad") return find_products(op, name, i);
  if (op == "add") return WEFT_FOR_INTEGERS(two, Add);
  if (op == "sub") return WEFT_FOR_INTEGERS(two, Sub);
  if (op == "div") return WEFT_FOR_INTEGERS(two, Div);
  if (op == "rem") return WEFT_FOR_INTEGERS(two, Rem);
  if (op == "min") return WEFT_FOR_INTEGERS(two, Min);
  if (op == "max") return WEFT_FOR_INTEGERS(two, Max);
  if (op == "neg") return WEFT_FOR_INTEGERS(one, Neg);
  if (op == "abs") return WEFT_FOR_INTEGERS(one, Abs);
  return nullptr;
}

}  // namespace weft::cuda::fake
