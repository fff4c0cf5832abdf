// The texts that weft_embed compiled in: builtin rows (*.def) and the standard library (*.py), with an index by name.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace weft::builtins {

struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

/// Where a name's row or function begins. Sorted by name; a name with several rows has several entries in file order.
struct EmbeddedName {
  std::string_view name;
  std::uint32_t file;
  std::uint32_t offset;
  std::uint32_t line;
};

std::span<const EmbeddedFile> embedded_files();
std::span<const EmbeddedName> embedded_rows();
std::span<const EmbeddedName> embedded_functions();

}  // namespace weft::builtins
