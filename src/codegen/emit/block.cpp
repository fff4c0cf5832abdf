// Blocks: composites too large for registers live in private memory, component after component, each component a scalar
// or a vector of all lanes. An insert whose source dies works in place, so that n inserts cost O(n). Composites of constants
// (tables) are read-only data of the kernel: nothing fills them at run time.
#include <algorithm>

#include "codegen/emit/emitter.h"

namespace weft::codegen {

Part Emitter::new_block(ScalarKind kind, std::uint32_t count, bool wide) {
  llvm::Type* element = unit.memory_type(kind);
  // Vectors of narrow components would be padded by their own alignment; memory is counted in scalars instead.
  std::uint64_t scalars = std::uint64_t(count) * (wide ? unsigned(W) : 1);
  Part part;
  part.v = entry_alloca(element, scalars, wide ? 64 : 8);
  part.wide = wide;
  return part;
}

std::optional<Part> Emitter::constant_block(ScalarKind kind, std::span<const Part> components) {
  llvm::Type* element = unit.memory_type(kind);
  std::vector<llvm::Constant*> values;
  for (const Part& component : components) {
    auto* value = llvm::dyn_cast<llvm::Constant>(component.v);
    if (!value || !is_uniform(component)) return std::nullopt;
    if (kind == ScalarKind::boolean) value = llvm::ConstantInt::get(element, value->isOneValue());
    values.push_back(value);
  }
  llvm::ArrayType* array = llvm::ArrayType::get(element, values.size());
  auto* table = new llvm::GlobalVariable(*unit.module, array, true, llvm::GlobalValue::PrivateLinkage,
                                         llvm::ConstantArray::get(array, values), "table");
  table->setAlignment(llvm::Align(8));
  table->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);  // equal tables may be one
  return Part{table};
}

llvm::Value* Emitter::block_get(const Part& block, ScalarKind kind, llvm::Value* index) {
  llvm::Type* element = unit.memory_type(kind);
  std::uint32_t bytes = element->getScalarSizeInBits() / 8;
  llvm::Value* v = nullptr;
  if (block.wide) {
    llvm::Value* at = b.CreateGEP(element, block.v, b.CreateMul(index, b.getInt64(std::uint64_t(W))));
    // Aligned by one scalar only: component k of narrow ones begins where the vector before it ends.
    v = b.CreateAlignedLoad(unit.wide(element), at, llvm::Align(bytes));
  } else {
    v = b.CreateAlignedLoad(element, b.CreateGEP(element, block.v, index), llvm::Align(bytes));
  }
  return kind == ScalarKind::boolean ? b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
}

void Emitter::block_put(const Part& block, ScalarKind kind, llvm::Value* index, llvm::Value* value,
                        llvm::Value* under) {
  llvm::Type* element = unit.memory_type(kind);
  llvm::Align align(element->getScalarSizeInBits() / 8);
  if (!block.wide) {
    // Lanes that differ have no room in it. The shape of a block is the
    // analysis's, so this finds where it was too hopeful.
    WEFT_CHECK(!value->getType()->isVectorTy(), "varying component for a uniform block");
    if (kind == ScalarKind::boolean) value = b.CreateZExt(value, element);
    b.CreateAlignedStore(value, b.CreateGEP(element, block.v, index), align);
    return;
  }
  if (!value->getType()->isVectorTy()) value = splat(value);
  // Not a masked store: blocks are private, so that reading and writing back what
  // other lanes have is harmless, and faster.
  if (under) value = select(under, value, block_get(block, kind, index));
  if (kind == ScalarKind::boolean) value = b.CreateZExt(value, unit.wide(element));
  llvm::Value* at = b.CreateGEP(element, block.v, b.CreateMul(index, b.getInt64(std::uint64_t(W))));
  b.CreateAlignedStore(value, at, align);
}

void Emitter::block_copy(const Part& to, const Part& from, ScalarKind kind, std::uint32_t count, llvm::Value* under) {
  // The block was worked on in place.
  if (to.v == from.v) return;
  if (to.wide == from.wide && !under) {
    const std::uint64_t scalar = unit.memory_type(kind)->getScalarSizeInBits() / 8;
    const std::uint64_t bytes = std::uint64_t(count) * scalar * (to.wide ? unsigned(W) : 1);
    // `from` may be a parameter's memory, which is aligned by its scalars and no more.
    b.CreateMemCpy(to.v, llvm::MaybeAlign(8), from.v, llvm::MaybeAlign(scalar), bytes);
    return;
  }
  counted_loop(count, [&](llvm::Value* i) { block_put(to, kind, i, block_get(from, kind, i), under); });
}

Part Emitter::as_block(const Type* composite, const Parts& parts) {
  if (is_block(composite)) return parts[0];
  bool wide = false;
  for (const Part& part : parts) wide |= !is_uniform(part);
  ScalarKind kind = composite->scalar_kind();
  if (std::optional<Part> table = constant_block(kind, parts)) return *table;
  Part block = new_block(kind, composite->component_count(), wide);
  for (std::size_t k = 0; k < parts.size(); ++k) block_put(block, kind, b.getInt64(k), plain(parts[k]));
  return block;
}

Parts Emitter::from_block(const Type* composite, const Part& block) {
  if (is_block(composite)) return {block};
  Parts parts;
  for (std::uint32_t k = 0; k < composite->component_count(); ++k)
    parts.push_back({block_get(block, composite->scalar_kind(), b.getInt64(k))});
  return parts;
}

namespace {

using Uses = std::unordered_map<const ir::Value*, std::vector<const ir::Op*>>;

void collect_uses(const ir::Region& region, Uses& uses) {
  for (const ir::Op& op : region) {
    for (const ir::Value* v : op.operands)
      if (v->type->is_composite() && v->type->component_count() > kMaxRegisterComponents) uses[v].push_back(&op);
    for (const ir::Region* inner : op.regions) collect_uses(*inner, uses);
  }
}

/// The operation of `region` that is `op` or holds it; null if it lies outside.
const ir::Op* ancestor_in(const ir::Op* op, const ir::Region* region) {
  while (op && op->parent != region) op = op->parent->parent_op;
  return op;
}

bool comes_before(const ir::Op* x, const ir::Op* y) {  // both in one region
  for (const ir::Op* at = x; at; at = at->next)
    if (at == y) return true;
  return false;
}

}  // namespace

/// True if no use of the value can run after `op` before the value is defined anew, seen lane by lane. Masked writes
/// keep other lanes' columns, so the two sides of a divergent `if` count as exclusive.
bool Emitter::dies_at(const ir::Value* value, const ir::Op& op) {
  if (value->is_constant()) return false;
  // `%b = insert %a, x, [i]` may take %a's memory for %b if nobody asks for %a any more. Filling a matrix of n
  // components one by one then costs n stores, and not n copies of it.
  const ir::Region* home = value->kind == ir::ValueKind::result ? value->op->parent : value->region;
  if (!home->parent_op && value->kind == ir::ValueKind::argument) return false;  // the caller's memory
  if (value->kind == ir::ValueKind::argument && home->parent_op->code == ir::OpCode::while_ &&
      home == home->parent_op->regions[0])
    return false;  // the body sees the same memory
  if (!block_uses_known_) {
    collect_uses(*source_.body, block_uses_);
    block_uses_known_ = true;
  }
  // A loop between the definition and here brings control back to every use inside it.
  for (const ir::Region* at = op.parent; at != home; at = at->parent_op->parent)
    if (at->parent_op->code != ir::OpCode::if_) return false;
  // Every use is held against the operation where their ways part: in the innermost region that holds both. If the
  // one that holds the use comes later there, the use may run after.
  for (const ir::Op* use : block_uses_[value]) {
    if (use == &op) {
      if (std::count(op.operands.begin(), op.operands.end(), value) > 1) return false;
      continue;
    }
    const ir::Region* common = op.parent;
    while (!ancestor_in(use, common)) common = common->parent_op->parent;
    const ir::Op* a = ancestor_in(use, common);
    const ir::Op* c = ancestor_in(&op, common);
    // The same one (a == c): two sides of one `if`, of which a lane takes one.
    if (a != c && comes_before(c, a)) return false;
  }
  return true;
}

}  // namespace weft::codegen
