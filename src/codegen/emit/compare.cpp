// Comparisons: scalars give one bool; eq and ne of aggregates compare every component.
#include "codegen/emit/emitter.h"
#include "ir/op_cases.h"

namespace weft::codegen {

using ir::OpCode;

llvm::Value* Emitter::compare(OpCode code, ScalarKind kind, llvm::Value* x, llvm::Value* y) {
  if (is_half(kind)) return compare(code, ScalarKind::f32, half_to_float(kind, x), half_to_float(kind, y));
  llvm::Value* pair[] = {x, y};
  unify(pair);
  using P = llvm::CmpInst::Predicate;
  bool s = is_signed(kind), f = is_floating(kind);
  P predicate = P::BAD_ICMP_PREDICATE;
  switch (code) {
    // Ordered: false where a NaN takes part. `ne` alone is unordered, for it is the negation of eq.
    case OpCode::eq: predicate = f ? P::FCMP_OEQ : P::ICMP_EQ; break;
    case OpCode::ne: predicate = f ? P::FCMP_UNE : P::ICMP_NE; break;
    case OpCode::lt: predicate = f ? P::FCMP_OLT : s ? P::ICMP_SLT : P::ICMP_ULT; break;
    case OpCode::le: predicate = f ? P::FCMP_OLE : s ? P::ICMP_SLE : P::ICMP_ULE; break;
    case OpCode::gt: predicate = f ? P::FCMP_OGT : s ? P::ICMP_SGT : P::ICMP_UGT; break;
    case OpCode::ge: predicate = f ? P::FCMP_OGE : s ? P::ICMP_SGE : P::ICMP_UGE; break;
    WEFT_CASES(WEFT_OPS_BUT_COMPARE) WEFT_UNREACHABLE("not a comparison");
  }
  return b.CreateCmp(predicate, pair[0], pair[1]);
}

void Emitter::emit_compare(const ir::Op& op) {
  const ir::Value *x = op.operand(0), *y = op.operand(1);
  if (x->type->is_scalar())
    return set(op.result(), {Part{compare(op.code, x->type->scalar_kind(), plain(x), plain(y))}});
  llvm::Value* equal = nullptr;
  const TypeParts& info = parts_of(x);
  for (std::size_t k = 0; k < info.parts.size(); ++k) {
    const PartInfo& part = info.parts[k];
    llvm::Value* same = nullptr;
    if (part.kind == PartKind::block) {
      Part a = get(x)[k], c = get(y)[k];
      // The loop runs at run time, so that what it carries goes through memory, which LLVM turns into a register.
      Part flag = new_block(ScalarKind::boolean, 1, (a.wide || c.wide) && W > 1);
      block_put(flag, ScalarKind::boolean, b.getInt64(0), b.getTrue());
      counted_loop(part.count, [&](llvm::Value* i) {
        llvm::Value* one = compare(OpCode::eq, part.scalar, block_get(a, part.scalar, i), block_get(c, part.scalar, i));
        llvm::Value* so_far = block_get(flag, ScalarKind::boolean, b.getInt64(0));
        block_put(flag, ScalarKind::boolean, b.getInt64(0), both(so_far, one));
      });
      same = block_get(flag, ScalarKind::boolean, b.getInt64(0));
    } else if (part.kind == PartKind::pointer) {
      llvm::Value* pair[] = {plain(get(x)[k]), plain(get(y)[k])};
      unify(pair);
      same = b.CreateICmpEQ(pair[0], pair[1]);
    } else {
      same = compare(OpCode::eq, part.scalar, plain(get(x)[k]), plain(get(y)[k]));
    }
    equal = both(equal, same);
  }
  // A struct without fields equals itself.
  if (!equal) equal = b.getTrue();
  set(op.result(), {Part{op.code == OpCode::eq ? equal : b.CreateNot(equal)}});
}

}  // namespace weft::codegen
