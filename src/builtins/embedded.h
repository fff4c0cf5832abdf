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

/// Where the text behind a name begins: a row, a function, a struct or a constant. Sorted by name; a name with several rows has several entries in file order.
struct EmbeddedName {
  std::string_view name;
  std::uint32_t file;
  std::uint32_t offset;
  std::uint32_t line;
};

std::span<const EmbeddedFile> embedded_files();
std::span<const EmbeddedName> embedded_rows();
std::span<const EmbeddedName> embedded_functions();
std::span<const EmbeddedName> embedded_structs();
std::span<const EmbeddedName> embedded_constants();
/// The entry of a name in one of these lists; null if there is none.
const EmbeddedName* find_embedded(std::span<const EmbeddedName> names, std::string_view name);

}  // namespace weft::builtins
