// Products of 16-bit tiles by what four warps have together on GPUs of one architecture (sm_90a): operands are read from shared
// memory by the units themselves, so that they must lie as those want it, in panels (ir::Swizzle).
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything was changed. Before place_fragments.
bool group_products(ir::Function& kernel);

}  // namespace weft::passes
