// Structural and type rules of the IR, checked between passes in debug builds and after parsing text.
#pragma once
#include "ir/ir.h"

namespace weft::ir {

/// A broken rule and the place of the operation that breaks it (unknown where it has none).
struct Violation {
  SourceLoc loc;
  std::string text;
};

/// All broken rules, in walk order; a hopeless module is left after the first hundred.
std::vector<Violation> find_violations(const Function& function);
/// As above for every function, with what holds between functions: names are unique, callees stand before callers.
std::vector<Violation> find_violations(const Module& module);

/// Empty if well-formed; otherwise one line per violation.
std::string verify(const Function& function);
std::string verify(const Module& module);

}  // namespace weft::ir
