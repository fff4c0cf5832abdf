// The first instruction of a kernel is what follows its declarations.
#include "codegen/nvptx/early_start.h"

#include <string_view>

#include "support/check.h"

namespace weft::codegen {
namespace {

/// Lines in front of instructions: blank ones, comments, and directives that declare or tell places.
bool is_declaration(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return true;
  return line[first] == '.' || line.substr(first, 2) == "//";
}

}  // namespace

void begin_by_waiting(std::string& ptx) {
  std::size_t at = ptx.find(".entry ");
  WEFT_CHECK(at != std::string::npos, "PTX without a kernel");
  at = ptx.find("\n{\n", at);
  WEFT_CHECK(at != std::string::npos, "a kernel without a body");
  at += 3;
  for (std::size_t end; (end = ptx.find('\n', at)) != std::string::npos; at = end + 1)
    if (!is_declaration(std::string_view(ptx).substr(at, end - at))) break;
  ptx.insert(at, "\tgriddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;\n");
}

}  // namespace weft::codegen
