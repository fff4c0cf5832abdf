// Functions that do the work of many lanes in one call; no LLVM here.
#pragma once
#include "ir/ir.h"

namespace weft::codegen {

/// The function that does for many threads at once what a lanewise function of the library does for one, or null. There is
/// one if all that calls of the latter do is make a struct of their arguments and call it:
///
///   each(a, b) -> r:  s = [S(a, b, 0)];  together(s, 1);  return s[0].r
///
/// The second argument has a bit for each element that counts. Walks over trees are such: in turns, they wait for memory
/// together.
const ir::Function* together_form(const ir::Function& each);

}  // namespace weft::codegen
