// Additions that are written down by their place, for a launch that adds up later (runtime/sum_buckets.h).
#pragma once
#include <llvm/ADT/ArrayRef.h>

#include "codegen/emit/emitter.h"

namespace weft::codegen {

/// Whether an addition is one of those (analysis::find_sum_streams).
bool goes_to_bucket(const ir::Op& op);
/// Writes down the addition of neighbouring scalars to an address of one of the array's elements.
void put_in_bucket(Emitter& e, const ir::Op& op, llvm::Value* place, llvm::ArrayRef<llvm::Value*> scalars);

}  // namespace weft::codegen
