// Recognition is by text: comments and blanks go, the two sides of `#if defined(__CUDA_ARCH__)` are read apart, casts of the
// parameter are looked through. Whatever is left over is C++ for a compiler.
#include "sema/known_natives.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <vector>

namespace weft::sema {
namespace {

using Kind = KnownNative::Kind;

std::string without_comments(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size() - 1);
      out += '\n';
    } else if (text.substr(i, 2) == "/*") {
      i = std::min(text.find("*/", i + 2), text.size() - 2) + 1;
      out += ' ';
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string without_blanks(std::string_view text) {
  std::string out;
  for (char c : text)
    if (!std::isspace(static_cast<unsigned char>(c))) out += c;
  return out;
}

/// The snippet as a CPU's and as a GPU's compiler would see it, without blanks; null for directives other than the one test.
std::optional<std::array<std::string, 2>> by_target(std::string_view snippet) {
  std::string text = without_comments(snippet);
  std::array<std::string, 2> out;
  enum class Part : std::uint8_t { both, gpu, cpu } part = Part::both;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = without_blanks(std::string_view(text).substr(at, end - at));
    at = end + 1;
    if (line.empty() || line[0] != '#') {
      if (part != Part::gpu) out[0] += line;
      if (part != Part::cpu) out[1] += line;
      continue;
    }
    const bool outside = part == Part::both;
    if (outside && (line == "#ifdef__CUDA_ARCH__" || line == "#ifdefined(__CUDA_ARCH__)"))
      part = Part::gpu;
    else if (outside && (line == "#ifndef__CUDA_ARCH__" || line == "#if!defined(__CUDA_ARCH__)"))
      part = Part::cpu;
    else if (!outside && line == "#else")
      part = part == Part::gpu ? Part::cpu : Part::gpu;
    else if (!outside && line == "#endif")
      part = Part::both;
    else
      return std::nullopt;
  }
  if (part != Part::both) return std::nullopt;
  return out;
}

/// A cast in front of a parameter that keeps its 64 bits.
bool is_cast(std::string_view text) {
  constexpr std::string_view kCasts[] = {"",           "(longlong)",  "(unsignedlonglong)", "(int64_t)",
                                         "(uint64_t)", "(wp::int64)", "(wp::uint64)"};
  return std::find(std::begin(kCasts), std::end(kCasts), text) != std::end(kCasts);
}

/// `return f(x)…;` of a parameter, f being one of the compilers' names.
std::optional<KnownNative> bit_function(std::string_view text, std::span<const std::string> params, bool gpu) {
  struct Form {
    std::string_view head, tail;
    Kind kind;
    bool gpu;
  };
  constexpr Form kForms[] = {
      {"return__builtin_ctzll(", ");", Kind::trailing_zeros, false},
      {"return__ffsll(", ")-1;", Kind::trailing_zeros, true},
      {"return__builtin_popcountll(", ");", Kind::bit_count, false},
      {"return__popcll(", ");", Kind::bit_count, true},
  };
  for (const Form& form : kForms) {
    if (form.gpu != gpu || !text.starts_with(form.head) || !text.ends_with(form.tail)) continue;
    if (text.size() < form.head.size() + form.tail.size()) continue;
    std::string_view inner = text.substr(form.head.size(), text.size() - form.head.size() - form.tail.size());
    for (std::size_t k = 0; k < params.size(); ++k)
      if (inner.ends_with(params[k]) && is_cast(inner.substr(0, inner.size() - params[k].size())))
        return KnownNative{form.kind, k};
  }
  return std::nullopt;
}

/// A number as C++ writes it: 31, 0xffffffff, -1, each perhaps with a `u` behind.
std::optional<std::uint32_t> number(std::string_view text) {
  const bool minus = text.starts_with('-');
  if (minus) text.remove_prefix(1);
  while (text.ends_with('u') || text.ends_with('U')) text.remove_suffix(1);
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return minus ? 0 - value : value;
}

std::optional<std::size_t> place_of(std::string_view name, std::span<const std::string> params) {
  const auto found = std::find(params.begin(), params.end(), name);
  return found == params.end() ? std::nullopt : std::optional(std::size_t(found - params.begin()));
}

/// The arguments in `head…tail`, apart; nothing if the text is another one.
std::optional<std::vector<std::string_view>> arguments(std::string_view text, std::string_view head,
                                                       std::string_view tail) {
  if (!text.starts_with(head) || !text.ends_with(tail) || text.size() < head.size() + tail.size()) return std::nullopt;
  const std::string_view inner = text.substr(head.size(), text.size() - head.size() - tail.size());
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t at = 0; at < inner.size(); ++at) {
    depth += inner[at] == '(' ? 1 : inner[at] == ')' ? -1 : 0;
    if (depth < 0) return std::nullopt;  // the bracket is another one's
    if (inner[at] != ',' || depth > 0) continue;
    parts.push_back(inner.substr(start, at - start));
    start = at + 1;
  }
  parts.push_back(inner.substr(start));
  return parts;
}

std::optional<KnownNative::Mask> mask_of(std::string_view text, std::span<const std::string> params) {
  if (text == "__activemask()") return KnownNative::Mask{0, {}, true};
  if (const auto param = place_of(text, params)) return KnownNative::Mask{0, param, false};
  if (const auto bits = number(text)) return KnownNative::Mask{*bits, {}, false};
  return std::nullopt;
}

/// `return __shfl_…_sync(mask, x, n);`, perhaps with the width of a whole warp behind.
std::optional<KnownNative> shuffle(std::string_view text, std::span<const std::string> params) {
  using From = KnownNative::From;
  constexpr std::pair<std::string_view, From> kForms[] = {{"return__shfl_sync(", From::lane},
                                                          {"return__shfl_xor_sync(", From::across},
                                                          {"return__shfl_down_sync(", From::above},
                                                          {"return__shfl_up_sync(", From::below}};
  for (const auto& [head, from] : kForms) {
    const auto parts = arguments(text, head, ");");
    if (!parts) continue;
    if (parts->size() < 3 || parts->size() > 4) return std::nullopt;
    if (parts->size() == 4 && (*parts)[3] != "32" && (*parts)[3] != "warpSize") return std::nullopt;
    const auto mask = mask_of((*parts)[0], params);
    const auto value = place_of((*parts)[1], params);
    if (!mask || !value) return std::nullopt;
    KnownNative found{Kind::shuffle, *value, *mask, from};
    found.distance_param = place_of((*parts)[2], params);
    const auto distance = number((*parts)[2]);
    if (!found.distance_param && !distance) return std::nullopt;
    found.distance = distance.value_or(0);
    return found;
  }
  return std::nullopt;
}

/// `x`, `!x`, `x != 0`, `x == 0`, or a number.
std::optional<KnownNative::Condition> condition_of(std::string_view text, std::span<const std::string> params) {
  KnownNative::Condition found;
  const auto constant = text == "true" ? std::optional(1u) : text == "false" ? std::optional(0u) : number(text);
  if (constant) {
    found.constant = *constant != 0;
    return found;
  }
  if (text.starts_with('!')) {
    found.negated = found.compared = true;
    text.remove_prefix(1);
  } else if (text.ends_with("==0") || text.ends_with("!=0")) {
    found.negated = text[text.size() - 3] == '=';
    found.compared = true;
    text.remove_suffix(3);
  }
  found.param = place_of(text, params);
  return found.param ? std::optional(found) : std::nullopt;
}

/// What is returned, without a conversion to a number of 32 bits around it.
std::string_view unwrapped(std::string_view text, bool& narrowed) {
  for (std::string_view type : {"int", "unsigned", "unsignedint", "int32_t", "uint32_t", "wp::int32", "wp::uint32"}) {
    const std::string before = "(" + std::string(type) + ")", call = std::string(type) + "(";
    if (text.starts_with(before)) {
      narrowed = true;
      return text.substr(before.size());
    }
    if (text.starts_with(call) && text.ends_with(')')) {
      narrowed = true;
      return text.substr(call.size(), text.size() - call.size() - 1);
    }
  }
  return text;
}

/// `return f(mask, condition);` of a warp, `return f(condition);` of a block.
std::optional<KnownNative> vote(std::string_view text, std::span<const std::string> params) {
  struct Form {
    std::string_view head;
    Kind kind;
    bool of_warp;
  };
  constexpr Form kForms[] = {
      {"__ballot_sync(", Kind::ballot, true},           {"__any_sync(", Kind::any_of_warp, true},
      {"__all_sync(", Kind::all_of_warp, true},         {"__syncthreads_count(", Kind::count, false},
      {"__syncthreads_or(", Kind::any_of_block, false}, {"__syncthreads_and(", Kind::all_of_block, false},
  };
  for (const Form& form : kForms) {
    const auto parts = arguments(text, form.head, ")");
    if (!parts) continue;
    if (parts->size() != (form.of_warp ? 2u : 1u)) return std::nullopt;
    KnownNative found{form.kind};
    if (form.of_warp) {
      const auto mask = mask_of((*parts)[0], params);
      if (!mask) return std::nullopt;
      found.mask = *mask;
    }
    const auto condition = condition_of(parts->back(), params);
    if (!condition) return std::nullopt;
    found.condition = *condition;
    return found;
  }
  return std::nullopt;
}

/// `return threadIdx.x;` and its like.
std::optional<KnownNative> number_of_thread(std::string_view text) {
  constexpr std::pair<std::string_view, Kind> kForms[] = {
      {"__activemask()", Kind::active}, {"threadIdx.x", Kind::thread},        {"WP_TILE_THREAD_IDX", Kind::thread},
      {"blockDim.x", Kind::threads},    {"WP_TILE_BLOCK_DIM", Kind::threads},
  };
  for (const auto& [name, kind] : kForms) {
    if (!text.starts_with(name)) continue;
    const std::string_view rest = text.substr(name.size());
    if (rest.empty()) return KnownNative{kind};
    if (kind != Kind::thread) continue;
    if (rest == "&31" || rest == "%32" || rest == "%warpSize") return KnownNative{Kind::lane};
    if (rest == ">>5" || rest == "/32" || rest == "/warpSize") return KnownNative{Kind::number_of_warp};
  }
  return std::nullopt;
}

/// A return of a vote or of a thread's number.
std::optional<KnownNative> told_by_threads(std::string_view text, std::span<const std::string> params) {
  if (!text.starts_with("return") || !text.ends_with(';')) return std::nullopt;
  bool narrowed = false;
  text = unwrapped(text.substr(6, text.size() - 7), narrowed);
  auto found = vote(text, params);
  if (!found) found = number_of_thread(text);
  if (found) found->narrowed = narrowed;
  return found;
}

/// Whether a CPU's side says what the other one means for a block of one thread.
bool says_for_one(std::string_view cpu, KnownNative& gpu, std::span<const std::string> params) {
  if (!cpu.starts_with("return") || !cpu.ends_with(';')) return false;
  const std::string_view value = cpu.substr(6, cpu.size() - 7);
  switch (gpu.kind) {
    case Kind::active:
    case Kind::threads: return number(value) == 1u;
    case Kind::thread:
    case Kind::lane:
    case Kind::number_of_warp: return number(value) == 0u;
    case Kind::ballot:
    case Kind::any_of_warp:
    case Kind::all_of_warp:
    case Kind::count:
    case Kind::any_of_block:
    case Kind::all_of_block: break;
    case Kind::nothing:
    case Kind::barrier:
    case Kind::trailing_zeros:
    case Kind::bit_count:
    case Kind::shuffle:
    case Kind::warp_barrier: return false;
  }
  const KnownNative::Condition& condition = gpu.condition;
  if (!condition.param) return number(value) == std::uint32_t(condition.constant);
  const std::string& name = params[*condition.param];
  if (condition.negated) return value == "!" + name || value == name + "==0" || value == name + "?0:1";
  gpu.of_bool = value == name;  // other numbers would be given back as they are
  return gpu.of_bool || value == name + "!=0" || value == name + "?1:0" || value == "!!" + name;
}

std::optional<KnownNative> warp_barrier(std::string_view text, std::span<const std::string> params) {
  const auto parts = arguments(text, "__syncwarp(", ");");
  if (!parts || parts->size() != 1) return std::nullopt;
  const auto mask = parts->front().empty() ? std::optional(KnownNative::Mask{}) : mask_of(parts->front(), params);
  return mask ? std::optional(KnownNative{Kind::warp_barrier, 0, *mask}) : std::nullopt;
}

bool is_barrier(std::string_view text) { return text == "WP_TILE_SYNC();" || text == "__syncthreads();"; }

}  // namespace

std::optional<KnownNative> known_native(std::string_view snippet, std::span<const std::string> params) {
  auto sides = by_target(snippet);
  if (!sides) return std::nullopt;
  const auto& [cpu, gpu] = *sides;
  if (cpu.empty() && gpu.empty()) return KnownNative{Kind::nothing};
  // On a CPU a barrier is nothing, said or not.
  if (is_barrier(gpu) && (cpu.empty() || is_barrier(cpu))) return KnownNative{Kind::barrier};
  auto host = bit_function(cpu, params, false), device = bit_function(gpu, params, true);
  // The compilers' builtin alone compiles for both.
  if (!device) device = bit_function(gpu, params, false);
  if (host && device && host->kind == device->kind && host->param == device->param) return host;
  // On a CPU a thread alone has its own number, said or not.
  if (const auto found = shuffle(gpu, params))
    if (cpu == gpu || cpu == "return" + params[found->param] + ";") return found;
  if (const auto found = warp_barrier(gpu, params))
    if (cpu.empty() || cpu == gpu) return found;
  if (auto found = told_by_threads(gpu, params))
    if (cpu == gpu || says_for_one(cpu, *found, params)) return found;
  return std::nullopt;
}

}  // namespace weft::sema
