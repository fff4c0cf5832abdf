// Sums of floats that come out alike in whatever order threads come to them: each number is added exactly, as integers, to a
// row of words that stands for the sum (codegen/exact_sums.h); a kernel behind the launch rounds once.
#pragma once
#include "codegen/emit/emitter.h"
#include "codegen/emit/scalar_atomic.h"

namespace weft::codegen {

/// Adds a number to the words that stand for `place`, an address by strides that are those of the numbers; `start` is the
/// address in the parameters to which place belongs.
void emit_exact_add(Emitter& e, ScalarKind scalar, llvm::Value* start, llvm::Value* place, llvm::Value* value);

}  // namespace weft::codegen
