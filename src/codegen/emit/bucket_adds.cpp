// A record: the place in words from the array's begin, then the scalars. See runtime::BucketStream.
#include "codegen/emit/bucket_adds.h"

#include "analysis/private_sums.h"
#include "runtime/bucket_abi.h"

namespace weft::codegen {

bool goes_to_bucket(const ir::Op& op) { return op.code == ir::OpCode::atomic && op.imm >= analysis::kAddsByStream; }

namespace {

/// What does not change while a chunk runs, read in the entry block.
struct Stream {
  llvm::Value *self, *base, *shift, *cursors, *own_first, *own_words;
};

Stream read_stream(Emitter& e, std::uint64_t number) {
  CodeUnit& unit = e.unit;
  llvm::Function* function = e.b.GetInsertBlock()->getParent();
  llvm::BasicBlock& entry = function->getEntryBlock();
  llvm::IRBuilder<> b(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
  auto read = [&](llvm::Type* type, llvm::Value* from, std::int64_t offset) {
    llvm::Value* at = b.CreateConstGEP1_64(unit.i8, from, std::uint64_t(offset));
    llvm::LoadInst* load = b.CreateAlignedLoad(type, at, llvm::Align(type->isIntegerTy(32) ? 4 : 8));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(unit.context, {}));
    return load;
  };
  llvm::Value* streams = read(unit.ptr, function->getArg(2), -8);
  llvm::Value* self = b.CreateConstGEP1_64(unit.i8, streams, number * sizeof(runtime::BucketStream));
  return {self,
          read(unit.ptr, self, offsetof(runtime::BucketStream, base)),
          read(unit.i64, self, offsetof(runtime::BucketStream, shift)),
          read(unit.ptr, self, offsetof(runtime::BucketStream, cursors)),
          read(unit.i32, self, offsetof(runtime::BucketStream, own_first)),
          read(unit.i32, self, offsetof(runtime::BucketStream, own_words))};
}

Stream stream_of(Emitter& e, const ir::Op& op) {
  return read_stream(e, std::uint64_t(op.imm - analysis::kAddsByStream));
}

}  // namespace

BucketPlace bucket_place(Emitter& e, const ir::Op& op, llvm::Value* address) {
  llvm::IRBuilder<>& b = e.b;
  CodeUnit& unit = e.unit;
  const Stream stream = stream_of(e, op);
  const std::uint32_t element_words = std::uint32_t(op.operand(0)->type->element()->size() / 4);
  llvm::Type *i64 = unit.i64, *i32 = unit.i32;
  llvm::Value *base = b.CreatePtrToInt(stream.base, i64), *shift = b.CreateTrunc(stream.shift, i32);
  if (auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(address->getType())) {
    i64 = llvm::FixedVectorType::get(i64, lanes->getNumElements());
    i32 = llvm::FixedVectorType::get(i32, lanes->getNumElements());
    base = b.CreateVectorSplat(lanes->getNumElements(), base);
    shift = b.CreateVectorSplat(lanes->getNumElements(), shift);
  }
  llvm::Value* distance = b.CreateSub(b.CreatePtrToInt(address, i64), base);
  llvm::Value* word = b.CreateTrunc(b.CreateLShr(distance, llvm::ConstantInt::get(i64, 2)), i32);
  // By whole elements: parts of one never go to two buckets, whose owners would meet there.
  llvm::Value* element = b.CreateUDiv(word, llvm::ConstantInt::get(i32, element_words));
  return {word, b.CreateLShr(element, shift)};
}

llvm::Value* is_own(Emitter& e, const ir::Op& op, BucketPlace place) {
  llvm::IRBuilder<>& b = e.b;
  const Stream stream = stream_of(e, op);
  llvm::Value *first = stream.own_first, *words = stream.own_words;
  if (auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(place.word->getType())) {
    first = b.CreateVectorSplat(lanes->getNumElements(), first);
    words = b.CreateVectorSplat(lanes->getNumElements(), words);
  }
  return b.CreateICmpULT(b.CreateSub(place.word, first), words);
}

void put_in_bucket(Emitter& e, const ir::Op& op, BucketPlace place, llvm::ArrayRef<llvm::Value*> scalars) {
  llvm::IRBuilder<>& b = e.b;
  CodeUnit& unit = e.unit;
  const Stream stream = stream_of(e, op);
  const std::uint64_t scalar = scalars.front()->getType()->getScalarSizeInBits() / 8;
  const std::uint64_t record = 4 + scalar * scalars.size();
  llvm::Value* bucket = b.CreateZExt(place.bucket, unit.i64);
  llvm::Value* slot = b.CreateGEP(unit.ptr, stream.cursors, bucket);
  llvm::Value* at = b.CreateAlignedLoad(unit.ptr, slot, llvm::Align(8));
  b.CreateAlignedStore(place.word, at, llvm::Align(4));
  for (std::size_t k = 0; k < scalars.size(); ++k)
    b.CreateAlignedStore(scalars[k], b.CreateConstGEP1_64(unit.i8, at, 4 + k * scalar), llvm::Align(4));
  llvm::Value* next = b.CreateConstGEP1_64(unit.i8, at, record);
  b.CreateAlignedStore(next, slot, llvm::Align(8));
  // Units lie at multiples of their size. One into which no further record fits is put away.
  llvm::Value* filled = b.CreateAnd(b.CreatePtrToInt(next, unit.i64), b.getInt64(runtime::kBucketUnit - 1));
  llvm::Value* full = runtime::kBucketUnit % record == 0
                          ? b.CreateICmpEQ(filled, b.getInt64(0))
                          : b.CreateICmpUGT(filled, b.getInt64(runtime::kBucketUnit - record));
  llvm::BasicBlock *away = e.block("bucket.full"), *done = e.block("bucket.done");
  b.CreateCondBr(full, away, done, e.rarely());
  b.SetInsertPoint(away);
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {unit.ptr, unit.i64}, false);
  b.CreateCall(unit.helper("weft_rt_bucket", type, /*may_read_memory=*/true), {stream.self, bucket});
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

}  // namespace weft::codegen
