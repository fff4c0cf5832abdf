// Additions that are written down by their place, for a launch that adds up later (runtime/sum_buckets.h).
#pragma once
#include <llvm/ADT/ArrayRef.h>

#include "codegen/emit/emitter.h"

namespace weft::codegen {

/// Whether an addition is one of those (analysis::find_sum_streams).
bool goes_to_bucket(const ir::Op& op);
/// Where an addition goes: the word of the array, and its bucket. For one thread, or for all lanes.
struct BucketPlace {
  llvm::Value *word, *bucket;  // 32 bits each
};
BucketPlace bucket_place(Emitter& e, const ir::Op& op, llvm::Value* address);
/// Whether nobody else adds there meanwhile, so that it may be done at once.
llvm::Value* is_own(Emitter& e, const ir::Op& op, BucketPlace place);
/// Writes down the addition of neighbouring scalars to one of the array's elements.
void put_in_bucket(Emitter& e, const ir::Op& op, BucketPlace place, llvm::ArrayRef<llvm::Value*> scalars);

}  // namespace weft::codegen
