// Source text and places in it. A SourceFile is shared by whatever refers to it (AST, IR, diagnostics); a SourceLoc is a
// plain pointer-line-column triple whose file is kept alive by the owner of the AST or IR it sits in.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// One piece of source text with a name for messages. `first_line` is the number of its first line (kernels that come
/// from the middle of a Python file keep their real line numbers).
class SourceFile {
 public:
  SourceFile(std::string name, std::string text, std::uint32_t first_line = 1);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  std::uint32_t first_line() const { return first_line_; }
  /// The text of a line (numbered from first_line), without its line end; empty when out of range.
  std::string_view line(std::uint32_t number) const;

 private:
  std::string name_;
  std::string text_;
  std::uint32_t first_line_;
  std::vector<std::uint32_t> starts_;  // offset of each line
};

/// A place in a source file. Lines count from the file's first_line, columns from 1 in bytes; line 0 means unknown.
struct SourceLoc {
  const SourceFile* file = nullptr;
  std::uint32_t line = 0;
  std::uint32_t col = 0;

  bool known() const { return line != 0; }
  bool operator==(const SourceLoc&) const = default;
};

/// "file:line:col", or "file:line" / "<unknown>" as far as known.
std::string to_string(const SourceLoc& loc);

}  // namespace weft
