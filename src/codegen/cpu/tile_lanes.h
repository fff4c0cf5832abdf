// Whether blocks of one thread, whose kernel works on tiles, are better run one after the other or many of them side by side.
#pragma once
#include "ir/ir.h"

namespace weft::codegen {

/// Whether as many lanes as a register holds are better than vectors along the tiles.
bool runs_side_by_side(const ir::Function& kernel, int natural);

}  // namespace weft::codegen
