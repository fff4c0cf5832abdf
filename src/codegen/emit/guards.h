// Conditions that guard what a kernel does by where the thread is: lanes of a group agree on them, but for those at a border.
#pragma once
#include "ir/ir.h"

namespace weft::codegen {

/// A condition on where the thread is, not on what memory holds: computed from thread indices, sizes and parameters.
bool is_about_place(const ir::Value* value);

}  // namespace weft::codegen
