// Reads through a GPU's texture unit.
#pragma once
#include "codegen/emit/emitter.h"

namespace weft::codegen {

/// The operation `texture`: a struct of four numbers.
llvm::Value* emit_texture_read(Emitter& e, const ir::Op& op, llvm::ArrayRef<llvm::Value*> operands);

}  // namespace weft::codegen
