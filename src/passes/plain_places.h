// Places in the memory of tiles count from its beginning: the front end and the library compute them so. Elsewhere an index may be
// negative and then counts from the end, which has to be asked at every access.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed. For kernels into which functions have been inlined: there accesses show their memory.
bool plain_places(ir::Function& function);

}  // namespace weft::passes
