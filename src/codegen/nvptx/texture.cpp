// `texture` as PTX: tex.level for places, tex with whole coordinates for texels. LLVM has intrinsics for these, whose
// names differ between its versions; the instruction itself does not. A texture of one dimension is the only row of one of two
// (cuda/texture_memory.cpp): on an H200 reads of arrays of one dimension gave zeros.
#include "codegen/nvptx/texture.h"

#include <llvm/IR/InlineAsm.h>

namespace weft::codegen {

llvm::Value* emit_texture_read(Emitter& e, const ir::Op& op, llvm::ArrayRef<llvm::Value*> operands) {
  const auto rank = unsigned(op.imm % ir::kTextureWhole);
  const bool whole = op.imm > ir::kTextureWhole, texel = op.operand(1)->type == types::i32();
  llvm::Type* number = whole ? e.unit.i32 : e.b.getFloatTy();
  const std::string coordinate = texel ? "r" : "f";

  // Outputs are $0 to $3, the object is $4, coordinates follow; three of them are written as four.
  std::string place, constraints, out = whole ? "=r" : "=f";
  for (unsigned k = 0; k < 4; ++k) constraints += out + ",";
  constraints += "l";
  llvm::SmallVector<llvm::Value*, 5> values = {operands[0]};
  for (unsigned k = 0; k < rank; ++k) values.push_back(operands[1 + k]);
  // The middle of the row, by both ways to count.
  if (rank == 1) values.push_back(texel ? e.b.getInt32(0) : llvm::ConstantFP::get(e.b.getFloatTy(), 0.5));
  const unsigned coordinates = unsigned(values.size()) - 1;
  for (unsigned k = 0; k < coordinates; ++k) {
    place += (k ? ", $" : "$") + std::to_string(5 + k);
    constraints += "," + coordinate;
  }
  if (rank == 3) place += ", $7";
  place = "{" + place + "}";
  std::string text = std::string(texel ? "tex." : "tex.level.") + std::to_string(coordinates) + "d.v4." +
                     (whole ? "s32." : "f32.") + (texel ? "s32" : "f32") + " {$0, $1, $2, $3}, [$4, " + place + "]";
  if (!texel) {
    text += ", $" + std::to_string(5 + coordinates);
    constraints += ",f";
    values.push_back(operands[1 + rank]);
  }
  llvm::SmallVector<llvm::Type*, 5> types;
  for (llvm::Value* value : values) types.push_back(value->getType());
  auto* result = llvm::StructType::get(e.unit.context, {number, number, number, number});
  auto* signature = llvm::FunctionType::get(result, types, false);
  // Texels don't change while a kernel runs: without side effects, reads that nobody wants are dropped.
  return e.b.CreateCall(signature, llvm::InlineAsm::get(signature, text + ";", constraints, false), values);
}

}  // namespace weft::codegen
