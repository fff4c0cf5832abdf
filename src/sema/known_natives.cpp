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

/// `return __shfl_…_sync(mask, x, n);`, perhaps with the width of a whole warp behind.
std::optional<KnownNative> shuffle(std::string_view text, std::span<const std::string> params) {
  using From = KnownNative::From;
  constexpr std::pair<std::string_view, From> kForms[] = {{"return__shfl_sync(", From::lane},
                                                          {"return__shfl_xor_sync(", From::across},
                                                          {"return__shfl_down_sync(", From::above},
                                                          {"return__shfl_up_sync(", From::below}};
  for (const auto& [head, from] : kForms) {
    if (!text.starts_with(head) || !text.ends_with(");")) continue;
    std::string_view inner = text.substr(head.size(), text.size() - head.size() - 2);
    std::vector<std::string_view> parts;
    for (std::size_t at = 0; at <= inner.size();) {
      const std::size_t end = std::min(inner.find(',', at), inner.size());
      parts.push_back(inner.substr(at, end - at));
      at = end + 1;
    }
    if (parts.size() < 3 || parts.size() > 4) return std::nullopt;
    if (parts.size() == 4 && parts[3] != "32" && parts[3] != "warpSize") return std::nullopt;
    const auto mask = number(parts[0]);
    const auto value = place_of(parts[1], params);
    if (!mask || !value) return std::nullopt;
    KnownNative found{Kind::shuffle, *value, from, *mask};
    found.distance_param = place_of(parts[2], params);
    const auto distance = number(parts[2]);
    if (!found.distance_param && !distance) return std::nullopt;
    found.distance = distance.value_or(0);
    return found;
  }
  return std::nullopt;
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
  return std::nullopt;
}

}  // namespace weft::sema
