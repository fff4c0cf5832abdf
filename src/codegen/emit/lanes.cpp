// Lanes and masks: broadcasts, tests of masks, run-time loops over lanes, and the small block-building helpers that the
// other emit files lean on.
#include "codegen/emit/emitter.h"

namespace weft::codegen {

llvm::Value* Emitter::splat(llvm::Value* scalar) { return W == 1 ? scalar : b.CreateVectorSplat(unsigned(W), scalar); }

llvm::Value* Emitter::iota(llvm::Type* scalar, std::int64_t stride) {
  if (W == 1) return llvm::ConstantInt::get(scalar, 0);
  llvm::SmallVector<llvm::Constant*, 16> steps;
  for (int k = 0; k < W; ++k) steps.push_back(llvm::ConstantInt::get(scalar, std::uint64_t(k * stride), true));
  return llvm::ConstantVector::get(steps);
}

/// LLVM wants operands of one type: if one of them is a vector, all become one. Where all are scalars they stay so.
void Emitter::unify(llvm::MutableArrayRef<llvm::Value*> values) {
  if (W == 1) return;
  bool wide = false;
  for (llvm::Value* v : values) wide |= v->getType()->isVectorTy();
  if (!wide) return;
  for (llvm::Value*& v : values)
    if (!v->getType()->isVectorTy()) v = splat(v);
}

llvm::Value* Emitter::select(llvm::Value* c, llvm::Value* x, llvm::Value* y) {
  // Choices between equal things are common where sides of an `if` pass on what they were given.
  if (x == y) return x;
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(c)) {
    llvm::Value* pair[] = {x, y};
    unify(pair);
    return known->isOne() ? pair[0] : pair[1];
  }
  // A vector of conditions chooses between vectors only; one condition takes both sides as they are, but alike.
  if (c->getType()->isVectorTy()) {
    if (!x->getType()->isVectorTy()) x = splat(x);
    if (!y->getType()->isVectorTy()) y = splat(y);
  } else {
    llvm::Value* pair[] = {x, y};
    unify(pair);
    x = pair[0], y = pair[1];
  }
  return b.CreateSelect(c, x, y);
}

llvm::Value* Emitter::all_mask() { return llvm::Constant::getAllOnesValue(unit.wide(unit.i1)); }

llvm::Value* Emitter::mask_bits(llvm::Value* m) { return b.CreateBitCast(m, b.getIntNTy(unsigned(W))); }

llvm::Value* Emitter::any(llvm::Value* m) {
  if (!m->getType()->isVectorTy()) return m;
  // Each form is what the target has an instruction for: movmsk and kortest on x86, a horizontal maximum on NEON.
  return unit.traits.x86 ? b.CreateIsNotNull(mask_bits(m)) : b.CreateOrReduce(m);
}

/// `lane` null: there is one. A scalar is the same for all lanes.
llvm::Value* Emitter::lane_of(llvm::Value* v, llvm::Value* lane) {
  return lane && v->getType()->isVectorTy() ? b.CreateExtractElement(v, lane) : v;
}

llvm::Value* Emitter::both(llvm::Value* x, llvm::Value* y) {
  if (!x) return y;
  if (!y || x == y) return x;
  llvm::Value* pair[] = {x, y};
  unify(pair);
  return b.CreateAnd(pair[0], pair[1]);
}

llvm::BasicBlock* Emitter::block(const char* name) { return llvm::BasicBlock::Create(unit.context, name, function_); }

void Emitter::for_each_lane(llvm::Value* m, const std::function<void(llvm::Value*)>& fn) {
  if (W == 1) return fn(nullptr);
  if (!m) return counted_loop(std::uint64_t(W), fn);
  // As an integer of which each turn takes the lowest bit away: turns for active lanes only, in their order.
  llvm::Value* bits = b.CreateZExt(mask_bits(m), unit.i64);
  llvm::BasicBlock *before = b.GetInsertBlock(), *loop = block("lane"), *done = block("lanes.done");
  b.CreateCondBr(b.CreateIsNotNull(bits), loop, done);
  b.SetInsertPoint(loop);
  llvm::PHINode* left = b.CreatePHI(unit.i64, 2);
  llvm::Value* lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b.getTrue());
  // May open blocks of its own, so that the loop closes from wherever it has ended.
  fn(lane);
  llvm::Value* rest = b.CreateAnd(left, b.CreateSub(left, b.getInt64(1)));
  left->addIncoming(bits, before);
  left->addIncoming(rest, b.GetInsertBlock());
  b.CreateCondBr(b.CreateIsNotNull(rest), loop, done);
  b.SetInsertPoint(done);
}

void Emitter::counted_loop(llvm::Value* n, const std::function<void(llvm::Value*)>& fn) {
  llvm::BasicBlock *before = b.GetInsertBlock(), *loop = block("each"), *done = block("each.done");
  // The test is at the end: a loop that is known to run needs none in front.
  if (llvm::isa<llvm::ConstantInt>(n) && !llvm::cast<llvm::ConstantInt>(n)->isZero())
    b.CreateBr(loop);
  else
    b.CreateCondBr(b.CreateIsNotNull(n), loop, done);
  b.SetInsertPoint(loop);
  llvm::PHINode* i = b.CreatePHI(unit.i64, 2);
  fn(i);
  llvm::Value* next = b.CreateAdd(i, b.getInt64(1));
  i->addIncoming(b.getInt64(0), before);
  i->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpEQ(next, n), done, loop);
  b.SetInsertPoint(done);
}

void Emitter::either(llvm::Value* c, const std::function<void()>& fn, const std::function<void()>& otherwise) {
  llvm::BasicBlock *yes = block("either"), *no = block("or"), *done = block("either.done");
  b.CreateCondBr(c, yes, no);
  b.SetInsertPoint(yes);
  fn();
  b.CreateBr(done);
  b.SetInsertPoint(no);
  otherwise();
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

void Emitter::when(llvm::Value* c, const std::function<void()>& fn) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(c)) {
    if (known->isOne()) fn();
    return;
  }
  llvm::BasicBlock *yes = block("when"), *done = block("when.done");
  b.CreateCondBr(c, yes, done);
  b.SetInsertPoint(yes);
  fn();
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

llvm::AllocaInst* Emitter::entry_alloca(llvm::Type* type, std::uint64_t count, std::uint32_t align) {
  // In the entry block, whoever asks: there LLVM can turn it into registers, and
  // a loop does not take stack in every turn.
  llvm::BasicBlock& entry = function_->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  llvm::AllocaInst* slot = at.CreateAlloca(llvm::ArrayType::get(type, count));
  if (align) slot->setAlignment(llvm::Align(align));
  return slot;
}

llvm::Value* Emitter::byte_offset(llvm::Value* pointer, llvm::Value* offset) {
  return b.CreateGEP(unit.i8, pointer, offset);
}

}  // namespace weft::codegen
