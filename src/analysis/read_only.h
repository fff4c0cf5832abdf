// Array parameters that a kernel reads and nobody writes while it runs.
#pragma once
#include <vector>

#include "ir/ir.h"

namespace weft::analysis {

/// By parameter. Loads of such arrays need not wait for stores, may move, and may take a GPU's path for constant memory.
std::vector<bool> read_only_arrays(const ir::Function& kernel);

}  // namespace weft::analysis
