// Structural and type rules of the IR, checked between passes in debug builds and after parsing text.
#pragma once
#include "ir/ir.h"

namespace weft::ir {

/// Empty if well-formed; otherwise one line per violation.
std::string verify(const Function& function);
std::string verify(const Module& module);

}  // namespace weft::ir
