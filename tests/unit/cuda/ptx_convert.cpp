// The PTX machine's comparisons and conversions.
#include <algorithm>
#include <bit>
#include <cctype>
#include <cfenv>
#include <cmath>
#include <limits>

#include "ptx_code.h"

namespace weft::cuda::fake {
namespace {

template <class T>
bool holds(PtxVerb verb, T a, T b) {
  const bool apart = a != a || b != b;
  switch (verb) {
    case PtxVerb::eq: return a == b;
    case PtxVerb::ne: return !apart && a != b;
    case PtxVerb::lt: return a < b;
    case PtxVerb::le: return a <= b;
    case PtxVerb::gt: return a > b;
    case PtxVerb::ge: return a >= b;
    case PtxVerb::equ: return apart || a == b;
    case PtxVerb::neu: return apart || a != b;
    case PtxVerb::ltu: return apart || a < b;
    case PtxVerb::leu: return apart || a <= b;
    case PtxVerb::gtu: return apart || a > b;
    case PtxVerb::geu: return apart || a >= b;
    case PtxVerb::num: return !apart;
    default: return apart;
  }
}

template <class T>
T number(const PtxThread& t, const PtxInstruction& i, std::int32_t reg) {
  T x = get<T>(t, reg);
  if constexpr (std::is_floating_point_v<T>)
    if (i.flush && std::fpclassify(x) == FP_SUBNORMAL) x = std::copysign(T(0), x);
  return x;
}

void give(PtxThread& t, const PtxInstruction& i, bool truth) {
  bool other = !truth;
  if (i.combine != PtxVerb::none) {
    const bool more = t.r[i.c] & 1;
    auto with = [&](bool x) {
      return i.combine == PtxVerb::bit_and ? x && more : i.combine == PtxVerb::bit_or ? x || more : x != more;
    };
    truth = with(truth);
    other = with(other);
  }
  t.r[i.to] = truth;
  if (i.second >= 0) t.r[i.second] = other;
}

template <class T>
void compare(PtxThread& t, const PtxInstruction& i) {
  give(t, i, holds(i.verb, number<T>(t, i, i.a), number<T>(t, i, i.b)));
}

/// The commonest: of integers, into one predicate.
template <class T, PtxVerb V>
void compare_plainly(PtxThread& t, const PtxInstruction& i) {
  t.r[i.to] = holds(V, get<T>(t, i.a), get<T>(t, i.b));
}

void compare_halves(PtxThread& t, const PtxInstruction& i) {
  give(t, i, holds(i.verb, half_value(t.r[i.a], i.kind), half_value(t.r[i.b], i.kind)));
}

template <class T>
PtxAction for_verb(PtxVerb verb) {
  switch (verb) {
    case PtxVerb::eq: return compare_plainly<T, PtxVerb::eq>;
    case PtxVerb::ne: return compare_plainly<T, PtxVerb::ne>;
    case PtxVerb::lt: return compare_plainly<T, PtxVerb::lt>;
    case PtxVerb::le: return compare_plainly<T, PtxVerb::le>;
    case PtxVerb::gt: return compare_plainly<T, PtxVerb::gt>;
    case PtxVerb::ge: return compare_plainly<T, PtxVerb::ge>;
    default: return nullptr;
  }
}

template <class T>
PtxAction for_type(const PtxInstruction& i) {
  return i.combine == PtxVerb::none && i.second < 0 ? for_verb<T>(i.verb) : compare<T>;
}

/// set: a comparison whose result is a number.
template <class T>
void compare_to_number(PtxThread& t, const PtxInstruction& i) {
  give(t, i, holds(i.verb, number<T>(t, i, i.a), number<T>(t, i, i.b)));
  t.r[i.to] = !t.r[i.to] ? 0 : i.from_kind == 'f' ? Word(std::bit_cast<std::uint32_t>(1.0f)) : 0xFFFFFFFF;
}

// Conversions.

double to_whole(double x, PtxRound round) {
  switch (round) {
    case PtxRound::zero: return std::trunc(x);
    case PtxRound::down: return std::floor(x);
    case PtxRound::up: return std::ceil(x);
    case PtxRound::away: return std::round(x);
    case PtxRound::nearest: break;
  }
  return std::nearbyint(x);
}

/// The smallest registers have 16 bits: what becomes a signed byte is extended to them.
Word in_register(const PtxInstruction& i, Word x) {
  if (i.kind == 's' && i.width == 8) return Word(std::uint16_t(std::int8_t(x)));
  return cut(x, i.width);
}

/// Floats beyond the integers become the nearest of them; not-a-numbers 0, or the sign's bit alone where 64 bits are
/// concerned.
Word whole_number(const PtxInstruction& i, double x) {
  const int bits = i.width;
  if (x != x) return i.from_width == 64 || bits == 64 ? Word(1) << (bits - 1) : 0;
  x = to_whole(x, i.round);
  if (i.kind == 's') {
    const double end = std::ldexp(1.0, bits - 1);
    if (x >= end) return cut((Word(1) << (bits - 1)) - 1, bits);
    return cut(Word(std::int64_t(std::max(x, -end))), bits);
  }
  if (x <= 0) return 0;
  return x >= std::ldexp(1.0, bits) ? cut(~Word(0), bits) : Word(x);
}

Word from_integer(const PtxInstruction& i, Word given) {
  const bool sign = i.from_kind == 's';
  const std::int64_t s = sign ? as_signed(given, i.from_width) : 0;
  const Word u = cut(given, i.from_width);
  const int mode = i.round == PtxRound::zero   ? FE_TOWARDZERO
                   : i.round == PtxRound::down ? FE_DOWNWARD
                   : i.round == PtxRound::up   ? FE_UPWARD
                                               : FE_TONEAREST;
  volatile std::int64_t vs = s;
  volatile Word vu = u;
  volatile float f = 0;
  volatile double d = 0;
  std::fesetround(mode);
  if (i.width == 32)
    f = sign ? float(vs) : float(vu);
  else
    d = sign ? double(vs) : double(vu);
  std::fesetround(FE_TONEAREST);
  return i.width == 32 ? std::bit_cast<std::uint32_t>(float(f)) : std::bit_cast<Word>(double(d));
}

double float_value(const PtxInstruction& i, Word given) {
  if (i.from_kind == 'h' || i.from_kind == 'g') return half_value(cut(given, 16), i.from_kind);
  if (i.from_width == 64) return std::bit_cast<double>(given);
  const auto x = std::bit_cast<float>(std::uint32_t(given));
  return double(i.flush && std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x);
}

Word narrowed(const PtxInstruction& i, double x) {
  const int mode = i.round == PtxRound::zero   ? FE_TOWARDZERO
                   : i.round == PtxRound::down ? FE_DOWNWARD
                   : i.round == PtxRound::up   ? FE_UPWARD
                                               : FE_TONEAREST;
  volatile double from = x;
  std::fesetround(mode);
  volatile auto to = float(from);
  std::fesetround(FE_TONEAREST);
  float out = to;
  if (i.flush && std::fpclassify(out) == FP_SUBNORMAL) out = std::copysign(0.0f, out);
  return out != out ? 0x7FFFFFFF : std::bit_cast<std::uint32_t>(out);
}

void convert(PtxThread& t, const PtxInstruction& i) {
  const Word given = t.r[i.a];
  const bool from_float = std::strchr("fhg", i.from_kind), to_float = std::strchr("fhg", i.kind);
  if (!from_float && to_float && i.kind == 'f') {
    t.r[i.to] = from_integer(i, given);
    return;
  }
  double x = from_float           ? float_value(i, given)
             : i.from_kind == 's' ? double(as_signed(given, i.from_width))
                                  : double(cut(given, i.from_width));
  if (!to_float) {
    t.r[i.to] = in_register(i, whole_number(i, x));
    return;
  }
  if (i.verb == PtxVerb::popc) x = to_whole(x, i.round);  // to a whole number
  if (i.saturate) x = x > 0 ? std::min(x, 1.0) : 0.0;
  t.r[i.to] = i.kind != 'f' ? half_bits(x, i.kind) : i.width == 32 ? narrowed(i, x) : std::bit_cast<Word>(x);
}

/// Two numbers into the halves of one register, the first one above.
void convert_two(PtxThread& t, const PtxInstruction& i) {
  const char kind = char(std::tolower(i.kind));
  t.r[i.to] = half_bits(float_value(i, t.r[i.a]), kind) << 16 | half_bits(float_value(i, t.r[i.b]), kind);
}

template <class From, class To>
void resize(PtxThread& t, const PtxInstruction& i) {
  put<To>(t, i.to, To(get<From>(t, i.a)));
}

template <class From>
void resize_to_signed_byte(PtxThread& t, const PtxInstruction& i) {
  t.r[i.to] = in_register(i, Word(get<From>(t, i.a)));
}

template <class From>
PtxAction resize_to(const PtxInstruction& i) {
  switch (i.width) {
    case 8: return i.kind == 's' ? resize_to_signed_byte<From> : resize<From, std::uint8_t>;
    case 16: return resize<From, std::uint16_t>;
    case 32: return resize<From, std::uint32_t>;
    default: return resize<From, std::uint64_t>;
  }
}

PtxAction find_resize(const PtxInstruction& i) {
  const bool sign = i.from_kind == 's';
  switch (i.from_width) {
    case 8: return sign ? resize_to<std::int8_t>(i) : resize_to<std::uint8_t>(i);
    case 16: return sign ? resize_to<std::int16_t>(i) : resize_to<std::uint16_t>(i);
    case 32: return sign ? resize_to<std::int32_t>(i) : resize_to<std::uint32_t>(i);
    default: return sign ? resize_to<std::int64_t>(i) : resize_to<std::uint64_t>(i);
  }
}

void saturate_integer(PtxThread& t, const PtxInstruction& i) {
  const bool sign = i.from_kind == 's';
  const __int128 x = sign ? __int128(as_signed(t.r[i.a], i.from_width)) : __int128(cut(t.r[i.a], i.from_width));
  const __int128 low = i.kind == 's' ? -(__int128(1) << (i.width - 1)) : 0;
  const __int128 high = (__int128(1) << (i.kind == 's' ? i.width - 1 : i.width)) - 1;
  t.r[i.to] = in_register(i, Word(x < low ? low : x > high ? high : x));
}

}  // namespace

PtxAction find_comparison(const PtxName& name, PtxInstruction& i) {
  const bool to_number = name[0] == "set";
  if ((name[0] != "setp" && !to_number) || name.size() < 3 || !ptx_type(name.back(), i.kind, i.width)) return nullptr;
  i.verb = verb_of(name[1]);
  i.flush = has_part(name, "ftz");
  const std::size_t rest = name.size() - (to_number ? 2 : 1);
  for (std::size_t k = 2; k < rest; ++k)
    if (name[k] == "and" || name[k] == "or" || name[k] == "xor") i.combine = verb_of(name[k]);
  if (i.verb < PtxVerb::eq) return nullptr;
  if (to_number) {
    std::uint8_t width = 0;
    if (!ptx_type(name[name.size() - 2], i.from_kind, width) || width != 32) return nullptr;
    if (i.kind == 'f') return i.width == 32 ? compare_to_number<float> : compare_to_number<double>;
    if (i.width != 32) return nullptr;
    return i.kind == 's' ? compare_to_number<std::int32_t> : compare_to_number<std::uint32_t>;
  }
  if (i.kind == 'f') return i.width == 32 ? compare<float> : compare<double>;
  if (i.kind == 'h' || i.kind == 'g') return compare_halves;
  if (!std::strchr("bus", i.kind)) return nullptr;
  const bool sign = i.kind == 's';
  if (i.width == 16) return sign ? compare<std::int16_t> : compare<std::uint16_t>;
  if (i.width == 32) return sign ? for_type<std::int32_t>(i) : for_type<std::uint32_t>(i);
  return sign ? for_type<std::int64_t>(i) : for_type<std::uint64_t>(i);
}

PtxAction find_conversion(const PtxName& name, PtxInstruction& i) {
  if (name[0] != "cvt" || name.size() < 3) return nullptr;
  if (!ptx_type(name.back(), i.from_kind, i.from_width) || !ptx_type(name[name.size() - 2], i.kind, i.width))
    return nullptr;
  i.flush = has_part(name, "ftz");
  i.saturate = has_part(name, "sat");
  for (std::size_t k = 1; k + 2 < name.size(); ++k) {
    const std::string& part = name[k];
    if (part == "ftz" || part == "sat") continue;
    i.round = part == "rz" || part == "rzi"   ? PtxRound::zero
              : part == "rm" || part == "rmi" ? PtxRound::down
              : part == "rp" || part == "rpi" ? PtxRound::up
              : part == "rna"                 ? PtxRound::away
                                              : PtxRound::nearest;
    if (part.size() == 3 && part[2] == 'i') i.verb = PtxVerb::popc;
    if (part == "relu") return nullptr;
  }
  if (std::strchr("HG", i.kind)) return i.round == PtxRound::nearest && i.from_kind == 'f' ? convert_two : nullptr;
  const bool half = std::strchr("hg", i.kind);
  if (half && i.round != PtxRound::nearest && i.verb != PtxVerb::popc) return nullptr;
  const bool integers = std::strchr("bus", i.kind) && std::strchr("bus", i.from_kind);
  if (integers) return i.saturate ? saturate_integer : find_resize(i);
  return convert;
}

bool ptx_type(const std::string& text, char& kind, std::uint8_t& width) {
  static const std::map<std::string, std::pair<char, int>> types = {
      {"b8", {'b', 8}},   {"b16", {'b', 16}}, {"b32", {'b', 32}},   {"b64", {'b', 64}},    {"u8", {'u', 8}},
      {"u16", {'u', 16}}, {"u32", {'u', 32}}, {"u64", {'u', 64}},   {"s8", {'s', 8}},      {"s16", {'s', 16}},
      {"s32", {'s', 32}}, {"s64", {'s', 64}}, {"f16", {'h', 16}},   {"bf16", {'g', 16}},   {"f32", {'f', 32}},
      {"f64", {'f', 64}}, {"pred", {'p', 1}}, {"f16x2", {'H', 32}}, {"bf16x2", {'G', 32}}, {"b128", {'b', 128}}};
  const auto it = types.find(text);
  if (it == types.end()) return false;
  kind = it->second.first;
  width = std::uint8_t(it->second.second);
  return true;
}

bool has_part(const PtxName& name, const char* part) {
  return std::find(name.begin() + 1, name.end(), part) != name.end();
}

PtxVerb verb_of(const std::string& text) {
  static const std::map<std::string, PtxVerb> verbs = {
      {"add", PtxVerb::add},   {"min", PtxVerb::min},       {"max", PtxVerb::max},   {"and", PtxVerb::bit_and},
      {"or", PtxVerb::bit_or}, {"xor", PtxVerb::bit_xor},   {"inc", PtxVerb::inc},   {"dec", PtxVerb::dec},
      {"exch", PtxVerb::exch}, {"cas", PtxVerb::cas},       {"up", PtxVerb::up},     {"down", PtxVerb::down},
      {"bfly", PtxVerb::bfly}, {"idx", PtxVerb::idx},       {"all", PtxVerb::all},   {"any", PtxVerb::any},
      {"uni", PtxVerb::uni},   {"ballot", PtxVerb::ballot}, {"popc", PtxVerb::popc}, {"eq", PtxVerb::eq},
      {"ne", PtxVerb::ne},     {"lt", PtxVerb::lt},         {"le", PtxVerb::le},     {"gt", PtxVerb::gt},
      {"ge", PtxVerb::ge},     {"lo", PtxVerb::lt},         {"ls", PtxVerb::le},     {"hi", PtxVerb::gt},
      {"hs", PtxVerb::ge},     {"equ", PtxVerb::equ},       {"neu", PtxVerb::neu},   {"ltu", PtxVerb::ltu},
      {"leu", PtxVerb::leu},   {"gtu", PtxVerb::gtu},       {"geu", PtxVerb::geu},   {"num", PtxVerb::num},
      {"nan", PtxVerb::nan}};
  const auto it = verbs.find(text);
  return it == verbs.end() ? PtxVerb::none : it->second;
}

}  // namespace weft::cuda::fake
