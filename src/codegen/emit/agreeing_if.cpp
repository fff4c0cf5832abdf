// `if` as a guard: `if i < n`, or what follows `if i >= n: return`. All lanes of a group agree on it but for the groups at the
// border. Where the processor has no masked loads and stores (NEON, SSE) a masked side is taken apart lane by lane, so such a
// side is emitted twice: without a mask for groups that agree, and as ever for the few that do not. Where both sides touch memory
// (a stencil that copies its border) that is the one with more to do, the inside.
#include "codegen/emit/emitter.h"
#include "codegen/emit/guards.h"
#include "codegen/emit/limits.h"

namespace weft::codegen {

using ir::OpCode;

namespace {

/// Operations of a region and those within; a kernel pays for them twice.
int count_ops(const ir::Region& region) {
  int count = 0;
  for (const ir::Op& op : region) {
    ++count;
    for (const ir::Region* inner : op.regions) count += count_ops(*inner);
  }
  return count;
}

/// Accesses to memory in a region and within.
int count_accesses(const ir::Region& region) {
  int count = 0;
  for (const ir::Op& op : region) {
    count += op.code == OpCode::load || op.code == OpCode::store || op.code == OpCode::atomic;
    for (const ir::Region* inner : op.regions) count += count_accesses(*inner);
  }
  return count;
}

bool has_atomic(const ir::Region& region) {
  for (const ir::Op& op : region) {
    if (op.code == OpCode::atomic) return true;
    for (const ir::Region* inner : op.regions)
      if (has_atomic(*inner)) return true;
  }
  return false;
}

bool is_about_place(const ir::Value* value, int depth) {
  constexpr int kMaxDepth = 8;
  if (value->kind != ir::ValueKind::result) return true;
  if (depth > kMaxDepth) return false;
  const ir::Op& op = *value->op;
  if (op.code == OpCode::tid || op.code == OpCode::thread || op.code == OpCode::dim) return true;
  switch (ir::class_of(op.code)) {
    case ir::OpClass::arith:
    case ir::OpClass::bits:
    case ir::OpClass::compare:
    case ir::OpClass::data: break;
    case ir::OpClass::math:
    case ir::OpClass::whole:
    case ir::OpClass::memory:
    case ir::OpClass::control:
    case ir::OpClass::effect:
    case ir::OpClass::round: return false;
  }
  for (const ir::Value* operand : op.operands)
    if (!is_about_place(operand, depth + 1)) return false;
  return true;
}

}  // namespace

bool is_about_place(const ir::Value* value) { return is_about_place(value, 0); }

int Emitter::guarded_side(const ir::Op& op) {
  if (mask || W == 1 || unit.traits.masked_moves || unit.target.arch != TargetSpec::cpu) return -1;
  if (!is_about_place(op.operand(0))) return -1;
  for (const ir::Value* result : op.results)
    for (const PartInfo& part : parts_of(result).parts)
      if (part.kind == PartKind::block) return -1;
  int accesses[2] = {count_accesses(*op.regions[0]), count_accesses(*op.regions[1])};
  if (accesses[0] == accesses[1]) return -1;
  int side = accesses[0] > accesses[1] ? 0 : 1;
  const ir::Region& region = *op.regions[std::size_t(side)];
  // Additions that wait are written down by one place of the code (add_queue.h).
  if (queue && has_atomic(region)) return -1;
  int size = count_ops(region);
  if (size > guarded_ops_left_) return -1;
  guarded_ops_left_ -= size;
  return side;
}

///   br all(c), agree, differ          ; or none(c), where the guarded side is `else`
///   agree:    …                       ; no mask
///   differ:   as emit_masked_if
///   merge:    r = phi(agree's, differ's)
void Emitter::emit_agreeing_if(const ir::Op& op, int side) {
  llvm::Value* c = plain(op.operand(0));
  llvm::BasicBlock *agree = block("agree"), *differ = block("differ"), *merge = block("guard.done");
  b.CreateCondBr(side == 0 ? b.CreateAndReduce(c) : b.CreateNot(any(c)), agree, differ);
  b.SetInsertPoint(agree);
  const ir::Region& region = *op.regions[std::size_t(side)];
  emit_region(region);
  std::vector<Parts> agreed(op.results.size());
  for (std::size_t r = 0; r < op.results.size(); ++r)
    for (const Part& part : get(region.terminator()->operand(r))) agreed[r].push_back({vector(part), 0, part.scope});
  llvm::BasicBlock* agreed_end = b.GetInsertBlock();
  b.CreateBr(merge);
  b.SetInsertPoint(differ);
  emit_masked_if(op);
  std::vector<Parts> differing(op.results.size());
  for (std::size_t r = 0; r < op.results.size(); ++r)
    for (const Part& part : get(op.results[r])) differing[r].push_back({vector(part), 0, part.scope});
  llvm::BasicBlock* differing_end = b.GetInsertBlock();
  b.CreateBr(merge);
  b.SetInsertPoint(merge);
  for (std::size_t r = 0; r < op.results.size(); ++r) {
    Parts joined;
    for (std::size_t k = 0; k < agreed[r].size(); ++k) {
      const Part &p = agreed[r][k], &q = differing[r][k];
      llvm::PHINode* phi = b.CreatePHI(p.v->getType(), 2);
      phi->addIncoming(p.v, agreed_end);
      phi->addIncoming(q.v, differing_end);
      joined.push_back({phi, 0, p.scope == q.scope ? p.scope : -1});
    }
    set(op.results[r], std::move(joined));
  }
}

}  // namespace weft::codegen
