// A record: the place in words from the array's begin, then the scalars. See runtime::BucketStream.
#include "codegen/emit/bucket_adds.h"

#include "analysis/private_sums.h"
#include "runtime/bucket_abi.h"

namespace weft::codegen {

bool goes_to_bucket(const ir::Op& op) { return op.code == ir::OpCode::atomic && op.imm >= analysis::kAddsByStream; }

namespace {

/// What does not change while a chunk runs, read in the entry block.
struct Stream {
  llvm::Value *self, *base, *shift, *cursors;
};

Stream read_stream(Emitter& e, std::uint64_t number) {
  CodeUnit& unit = e.unit;
  llvm::Function* function = e.b.GetInsertBlock()->getParent();
  llvm::BasicBlock& entry = function->getEntryBlock();
  llvm::IRBuilder<> b(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
  auto read = [&](llvm::Type* type, llvm::Value* from, std::int64_t offset) {
    llvm::Value* at = b.CreateConstGEP1_64(unit.i8, from, std::uint64_t(offset));
    llvm::LoadInst* load = b.CreateAlignedLoad(type, at, llvm::Align(8));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(unit.context, {}));
    return load;
  };
  llvm::Value* streams = read(unit.ptr, function->getArg(2), -8);
  llvm::Value* self = b.CreateConstGEP1_64(unit.i8, streams, number * sizeof(runtime::BucketStream));
  return {self, read(unit.ptr, self, offsetof(runtime::BucketStream, base)),
          read(unit.i64, self, offsetof(runtime::BucketStream, shift)),
          read(unit.ptr, self, offsetof(runtime::BucketStream, cursors))};
}

}  // namespace

void put_in_bucket(Emitter& e, const ir::Op& op, llvm::Value* place, llvm::ArrayRef<llvm::Value*> scalars) {
  llvm::IRBuilder<>& b = e.b;
  CodeUnit& unit = e.unit;
  const Stream stream = read_stream(e, std::uint64_t(op.imm - analysis::kAddsByStream));
  const std::uint64_t scalar = scalars.front()->getType()->getScalarSizeInBits() / 8;
  const std::uint64_t record = 4 + scalar * scalars.size();
  const std::uint32_t element_words = std::uint32_t(op.operand(0)->type->element()->size() / 4);
  llvm::Value* distance = b.CreateSub(b.CreatePtrToInt(place, unit.i64), b.CreatePtrToInt(stream.base, unit.i64));
  llvm::Value* word = b.CreateTrunc(b.CreateLShr(distance, 2), unit.i32);
  // By whole elements: parts of one never go to two buckets, whose owners would meet there.
  llvm::Value* element = b.CreateZExt(b.CreateUDiv(word, b.getInt32(element_words)), unit.i64);
  llvm::Value* bucket = b.CreateLShr(element, stream.shift);
  llvm::Value* slot = b.CreateGEP(unit.ptr, stream.cursors, bucket);
  llvm::Value* last = b.CreateAlignedLoad(unit.ptr, slot, llvm::Align(8));
  // It fits if it ends in the block in which what was written before has ended.
  llvm::Value* before = b.CreateSub(b.CreatePtrToInt(last, unit.i64), b.getInt64(1));
  llvm::Value* apart = b.CreateXor(before, b.CreateAdd(before, b.getInt64(record)));
  llvm::Value* full = b.CreateICmpUGE(apart, b.getInt64(runtime::kBucketBlock));
  llvm::BasicBlock *from = b.GetInsertBlock(), *more = e.block("bucket.full"), *put = e.block("bucket.put");
  b.CreateCondBr(full, more, put, e.rarely());
  b.SetInsertPoint(more);
  auto* type = llvm::FunctionType::get(unit.ptr, {unit.ptr, unit.i64}, false);
  llvm::Value* fresh =
      b.CreateCall(unit.helper("weft_rt_bucket", type, /*may_read_memory=*/true), {stream.self, bucket});
  b.CreateBr(put);
  b.SetInsertPoint(put);
  llvm::PHINode* at = b.CreatePHI(unit.ptr, 2);
  at->addIncoming(last, from);
  at->addIncoming(fresh, more);
  b.CreateAlignedStore(word, at, llvm::Align(4));
  for (std::size_t k = 0; k < scalars.size(); ++k)
    b.CreateAlignedStore(scalars[k], b.CreateConstGEP1_64(unit.i8, at, 4 + k * scalar), llvm::Align(4));
  b.CreateAlignedStore(b.CreateConstGEP1_64(unit.i8, at, record), slot, llvm::Align(8));
}

}  // namespace weft::codegen
