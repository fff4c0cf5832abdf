// Taking numbers out of indices.
#include "codegen/emit/index_numbers.h"

namespace weft::codegen {

using ir::OpCode;

Moved take_constant(const ir::Value* index) {
  std::int64_t by = 0;
  while (index->kind == ir::ValueKind::result && index->type->is_signed_int() && index->type->size() == 4) {
    const ir::Op& op = *index->op;
    if (op.code == OpCode::add && op.operand(1)->is_constant())
      by += op.operand(1)->as_int(), index = op.operand(0);
    else if (op.code == OpCode::add && op.operand(0)->is_constant())
      by += op.operand(0)->as_int(), index = op.operand(1);
    else if (op.code == OpCode::sub && op.operand(1)->is_constant())
      by -= op.operand(1)->as_int(), index = op.operand(0);
    else
      break;
  }
  return {index, by};
}

Taken take_numbers(Emitter& e, const ir::Value* index, int depth) {
  llvm::Value* whole = e.base(e.get(index)[0]);
  if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(whole)) return {nullptr, number->getSExtValue()};
  if (depth == 0 || index->kind != ir::ValueKind::result || index->op->code != OpCode::add) return {whole, 0};
  const Taken x = take_numbers(e, index->op->operand(0), depth - 1),
              y = take_numbers(e, index->op->operand(1), depth - 1);
  // Where a number less than 0 brings back into range what is beyond it, the base would be another one.
  if (x.by < 0 || y.by < 0 || x.by + y.by == 0) return {whole, 0};
  if (x.base && y.base) return {e.b.CreateAdd(x.base, y.base), x.by + y.by};
  return {x.base ? x.base : y.base, x.by + y.by};
}

}  // namespace weft::codegen
