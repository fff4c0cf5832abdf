// Recognition is by text: comments and blanks go, the two sides of `#if defined(__CUDA_ARCH__)` are read apart, casts of the
// parameter are looked through. Whatever is left over is C++ for a compiler.
#include "sema/known_natives.h"

#include <algorithm>
#include <array>
#include <cctype>

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
  return std::nullopt;
}

}  // namespace weft::sema
