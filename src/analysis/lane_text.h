// The IR with what lanes mean for it (--emit=ir-lanes): each value uniform, linear or varying, each access with its
// pattern, each loop with how it ends. For people and golden tests; the emitter reads the analysis itself.
#pragma once
#include <string>

#include "ir/ir.h"

namespace weft::analysis {

std::string lane_text(const ir::Function& kernel, int lanes);

}  // namespace weft::analysis
