// Where threads of a block would have to work on a tile together, though some of them go another way or hold another number
// (an offset, a value that goes into every element), as far as that is plain (analysis/block_ways.h). What nobody can tell is
// the program's promise, which debug mode looks at (passes/check_together.h).
#pragma once
#include <optional>
#include <string>

#include "ir/ir.h"

namespace weft::passes {

struct Parting {
  SourceLoc loc;  // of the operation on tiles
  std::string text;
};
/// The first such place of a kernel.
std::optional<Parting> find_parting(const ir::Function& kernel);

}  // namespace weft::passes
