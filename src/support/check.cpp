// The one place where an internal check turns into an exception.
#include "support/check.h"

namespace weft {

void check_failed(const char* file, int line, const char* condition, const std::string& detail) {
  std::string text = std::string("internal error at ") + file + ":" + std::to_string(line) + ": " + condition;
  if (!detail.empty()) text += "\n" + detail;
  throw InternalError(text);
}

}  // namespace weft
