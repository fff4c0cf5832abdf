// A queue: the number of its records, then the records. A record: which draw it is, if there are several, and how much is drawn, if
// that differs; then what its tail needs.
#include "codegen/emit/draw_queue.h"

#include <algorithm>

#include "codegen/emit/scalar_atomic.h"

namespace weft::codegen {

namespace {

constexpr std::uint64_t kHeader = 64;       // bytes in front of the first record
constexpr std::uint64_t kBytes = 16 << 10;  // of all records: half of a first cache
constexpr std::uint64_t kLeast = 64;        // records: of two groups of lanes
constexpr std::uint32_t kAmountAt = 8;      // in a record

std::uint32_t align_up(std::uint32_t at, std::uint32_t to) { return (at + to - 1) / to * to; }

std::uint32_t bytes_of(llvm::Type* type) {
  return std::uint32_t(type->isPointerTy() ? 8 : type->getScalarSizeInBits() / 8);
}

/// The first byte of an array's memory and the one behind its last, from its descriptor. Too much for arrays without elements.
std::pair<llvm::Value*, llvm::Value*> range_of(CodeUnit& unit, llvm::IRBuilder<>& b, llvm::Value* params,
                                               const analysis::ArrayPlace& array) {
  auto read = [&](std::size_t offset) {
    llvm::Value* at = b.CreateConstInBoundsGEP1_64(unit.i8, params, array.offset + offset);
    llvm::LoadInst* load = b.CreateAlignedLoad(unit.i64, at, llvm::Align(8));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(unit.context, {}));
    return load;
  };
  llvm::Value *low = read(offsetof(ArrayDesc, data)),
              *high = b.CreateAdd(low, b.getInt64(array.type->element()->size()));
  for (std::uint32_t d = 0; d < array.type->rank(); ++d) {
    llvm::Value* steps = b.CreateSub(read(offsetof(ArrayDesc, shape) + 8 * d), b.getInt64(1));
    llvm::Value* reach = b.CreateMul(steps, read(offsetof(ArrayDesc, strides) + 8 * d));
    low = b.CreateAdd(low, b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, reach, b.getInt64(0)));
    high = b.CreateAdd(high, b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, reach, b.getInt64(0)));
  }
  return {low, high};
}

}  // namespace

DrawQueues::DrawQueues(CodeUnit& unit, const ir::Function& kernel) : unit_(unit), kernel_(kernel) {
  for (analysis::LateDraws& counter : analysis::find_late_draws(kernel)) {
    Queue queue;
    queue.counter = std::move(counter);
    if (!lay_out(queue)) continue;
    make_writer(queue);
    for (const analysis::LateDraw& draw : queue.counter.draws) {
      waiting_.insert(draw.draw);
      waiting_.insert(draw.tail.begin(), draw.tail.end());
    }
    queues_.push_back(std::move(queue));
  }
}

/// Gives everything its place in a record. False if something is in no registers.
bool DrawQueues::lay_out(Queue& queue) const {
  bool same = true;
  const ir::Value* amount = queue.counter.draws.front().draw->operands.back();
  for (const analysis::LateDraw& draw : queue.counter.draws) same &= draw.draw->operands.back() == amount;
  if (same && amount->is_constant()) queue.amount = amount->as_int();
  const std::uint32_t begin = queue.amount ? (queue.counter.draws.size() > 1 ? 4 : 0) : kAmountAt + 8;
  for (const analysis::LateDraw& draw : queue.counter.draws) {
    llvm::SmallVector<Field, 8> fields;
    std::uint32_t at = begin;
    for (const ir::Value* value : draw.kept) {
      const std::vector<PartInfo>& parts = unit_.parts(value->type).parts;
      for (std::size_t k = 0; k < parts.size(); ++k) {
        if (parts[k].kind != PartKind::scalar || parts[k].count != 1) return false;
        llvm::Type* type = unit_.memory_type(parts[k].scalar);
        at = align_up(at, bytes_of(type));
        fields.push_back({value, k, at, type});
        at += bytes_of(type);
      }
    }
    queue.fields.push_back(std::move(fields));
    queue.stride = std::max(queue.stride, align_up(std::max(at, 8u), 8));
  }
  queue.capacity = std::max(kBytes / queue.stride, kLeast);
  return true;
}

void DrawQueues::begin(llvm::IRBuilder<>& b) {
  llvm::Function* chunk = b.GetInsertBlock()->getParent();
  for (Queue& queue : queues_) {
    llvm::BasicBlock& entry = chunk->getEntryBlock();
    llvm::IRBuilder<> at(&entry, entry.begin());
    auto* memory = at.CreateAlloca(llvm::ArrayType::get(unit_.i8, kHeader + queue.capacity * queue.stride));
    memory->setAlignment(llvm::Align(64));
    queue.memory = memory, queue.params = chunk->getArg(2), queue.context = chunk->getArg(3);
    b.CreateStore(b.getInt64(0), queue.memory);
    for (const auto& [one, other] : queue.counter.if_apart) {
      const auto [low, high] = range_of(unit_, b, queue.params, one);
      const auto [other_low, other_high] = range_of(unit_, b, queue.params, other);
      llvm::Value* meet = b.CreateAnd(b.CreateICmpULT(low, other_high), b.CreateICmpULT(other_low, high));
      queue.overlaps = queue.overlaps ? b.CreateOr(queue.overlaps, meet) : meet;
    }
  }
}

void DrawQueues::pass(Emitter& e, const ir::Op& op) {
  for (const Queue& queue : queues_)
    for (std::size_t which = 0; which < queue.counter.draws.size(); ++which) {
      // What the tail needs is there when its last operation would have its turn.
      if (queue.counter.draws[which].tail.back() != &op) continue;
      if (e.mask) return e.when(e.any(e.mask), [&] { put(e, queue, which); });
      return put(e, queue, which);
    }
}

void DrawQueues::put(Emitter& e, const Queue& queue, std::size_t which) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Value* most = b.getInt64(queue.capacity - std::uint64_t(e.W));
  llvm::Value* full = b.CreateICmpUGT(b.CreateLoad(unit_.i64, queue.memory), most);
  llvm::BasicBlock *more = e.block("draws.full"), *go = e.block("draws.put");
  b.CreateCondBr(full, more, go, e.rarely());
  b.SetInsertPoint(more);
  b.CreateCall(queue.writer, {queue.params, queue.context, queue.memory});
  b.CreateBr(go);
  b.SetInsertPoint(go);
  // Lanes by way of memory: LLVM would write whole vectors there for every lane that is taken out of them.
  struct Source {
    Part part;
    llvm::Type* type = nullptr;  // of lanes in memory
    llvm::Value* lanes = nullptr;
  };
  std::vector<Source> sources;
  auto add_source = [&](const Part& part) {
    sources.push_back({part});
    if (!part.v->getType()->isVectorTy()) return;
    llvm::Value* v = part.v;
    if (v->getType()->getScalarType()->isIntegerTy(1)) v = b.CreateZExt(v, unit_.wide(unit_.i8));
    sources.back().type = v->getType()->getScalarType();
    sources.back().lanes = e.entry_alloca(sources.back().type, std::uint64_t(e.W), 64);
    b.CreateAlignedStore(v, sources.back().lanes, llvm::Align(64));
  };
  for (const Field& field : queue.fields[which]) add_source(e.get(field.value)[field.part]);
  if (!queue.amount) add_source(e.get(queue.counter.draws[which].draw->operands.back())[0]);
  e.for_each_lane(e.mask, [&](llvm::Value* lane) {
    llvm::SmallVector<llvm::Value*, 8> scalars;
    for (const Source& source : sources) {
      llvm::Value* v = source.part.v;
      if (source.lanes) {
        v = b.CreateLoad(source.type, b.CreateGEP(source.type, source.lanes, lane));
      } else if (source.part.stride != 0) {
        llvm::Value* distance = b.CreateMul(lane, b.getInt64(std::uint64_t(std::int64_t(source.part.stride))));
        v = b.CreateAdd(v, b.CreateZExtOrTrunc(distance, v->getType()));
      }
      scalars.push_back(v->getType()->isIntegerTy(1) ? b.CreateZExt(v, unit_.i8) : v);
    }
    llvm::Value* count = b.CreateLoad(unit_.i64, queue.memory);
    llvm::Value* at = b.CreateAdd(b.CreateMul(count, b.getInt64(queue.stride)), b.getInt64(kHeader));
    put_lane(e, queue, which, scalars, e.byte_offset(queue.memory, at));
    b.CreateStore(b.CreateAdd(count, b.getInt64(1)), queue.memory);
  });
  if (queue.overlaps)
    e.when(queue.overlaps, [&] { b.CreateCall(queue.writer, {queue.params, queue.context, queue.memory}); });
}

void DrawQueues::put_lane(Emitter& e, const Queue& queue, std::size_t which, llvm::ArrayRef<llvm::Value*> scalars,
                          llvm::Value* record) const {
  llvm::IRBuilder<>& b = e.b;
  auto store = [&](llvm::Value* v, std::uint32_t offset) {
    b.CreateAlignedStore(v, b.CreateConstGEP1_64(unit_.i8, record, offset), llvm::Align(bytes_of(v->getType())));
  };
  if (queue.counter.draws.size() > 1) store(b.getInt32(std::uint32_t(which)), 0);
  for (std::size_t k = 0; k < queue.fields[which].size(); ++k) store(scalars[k], queue.fields[which][k].offset);
  if (!queue.amount) store(scalars.back(), kAmountAt);
}

void DrawQueues::make_up(Emitter& e) {
  for (const Queue& queue : queues_) {
    llvm::Value* any = e.b.CreateICmpNE(e.b.CreateLoad(unit_.i64, queue.memory), e.b.getInt64(0));
    e.when(any, [&] { e.b.CreateCall(queue.writer, {queue.params, queue.context, queue.memory}); });
  }
}

/// The function that makes up for a queue's records: (parameter block, context, queue). One record at a time, whatever the lanes of
/// the kernel: hardly any time is spent there.
void DrawQueues::make_writer(Queue& queue) {
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(unit_.context), {unit_.ptr, unit_.ptr, unit_.ptr}, false);
  queue.writer = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "draws", *unit_.module);
  queue.writer->setDoesNotThrow();
  queue.writer->addFnAttr(llvm::Attribute::NoInline);
  queue.writer->addParamAttr(0, llvm::Attribute::NoAlias);
  queue.writer->addParamAttr(0, llvm::Attribute::ReadOnly);
  queue.writer->addParamAttr(2, llvm::Attribute::NoAlias);
  BodyForm one(unit_, 1);
  Emitter e(unit_, queue.writer, kernel_, nullptr);
  e.b.SetInsertPoint(llvm::BasicBlock::Create(unit_.context, "entry", queue.writer));
  e.thread.context = queue.writer->getArg(1);
  const ParamLayout layout = param_layout(kernel_);
  for (std::size_t k = 0; k < layout.params.size(); ++k) {
    const ParamLayout::Param& param = layout.params[k];
    Parts parts = e.load_params(param.type, queue.writer->getArg(0), param.offset, std::int32_t(k));
    if (!kernel_.form.strided) fix_inner_strides(unit_, param.type, parts);
    e.set(kernel_.params()[k], std::move(parts));
  }
  e.use_scopes();
  write_records(e, queue, queue.writer->getArg(2));
  e.b.CreateRetVoid();
}

void DrawQueues::write_records(Emitter& e, const Queue& queue, llvm::Value* memory) {
  llvm::IRBuilder<>& b = e.b;
  const analysis::LateDraw& first = queue.counter.draws.front();
  const ScalarKind scalar = first.draw->result()->type->scalar_kind();
  llvm::Type* type = unit_.type(scalar);
  llvm::Value* count = b.CreateLoad(unit_.i64, memory);
  auto record = [&](llvm::Value* number) {
    llvm::Value* at = b.CreateAdd(b.CreateMul(number, b.getInt64(queue.stride)), b.getInt64(kHeader));
    return e.byte_offset(memory, at);
  };
  auto amount_of = [&](llvm::Value* of) -> llvm::Value* {
    if (queue.amount) return llvm::ConstantInt::get(type, std::uint64_t(*queue.amount));
    return b.CreateAlignedLoad(type, b.CreateConstGEP1_64(unit_.i8, of, kAmountAt), llvm::Align(bytes_of(type)));
  };
  llvm::AllocaInst* number = e.entry_alloca(type, 1, 8);
  llvm::Value* total = nullptr;
  if (queue.amount) {
    total = b.CreateMul(b.CreateZExtOrTrunc(count, type), amount_of(nullptr));
  } else {
    b.CreateStore(llvm::ConstantInt::get(type, 0), number);
    e.counted_loop(count, [&](llvm::Value* i) {
      b.CreateStore(b.CreateAdd(b.CreateLoad(type, number), amount_of(record(i))), number);
    });
    total = b.CreateLoad(type, number);
  }
  for (const ir::Op* op : first.prepared) e.emit_op(*op);
  const Address at = e.address(*first.draw, {});
  llvm::Value* place = e.byte_offset(at.pointer, b.getInt64(at.offset));
  b.CreateStore(emit_scalar_atomic(e, {ir::AtomicKind::add, scalar, place, total, nullptr}, false), number);
  e.counted_loop(count, [&](llvm::Value* i) {
    llvm::Value *own = record(i), *drawn = b.CreateLoad(type, number);
    auto write = [&](std::size_t which) {
      e.set(queue.counter.draws[which].draw->result(), {Part{drawn}});
      write_record(e, queue, which, own);
    };
    if (queue.counter.draws.size() == 1) {
      write(0);
    } else {
      llvm::Value* which = b.CreateAlignedLoad(unit_.i32, own, llvm::Align(4));
      for (std::size_t k = 0; k < queue.counter.draws.size(); ++k)
        e.when(b.CreateICmpEQ(which, b.getInt32(std::uint32_t(k))), [&] { write(k); });
    }
    b.CreateStore(b.CreateAdd(drawn, amount_of(own)), number);
  });
  b.CreateStore(b.getInt64(0), memory);
}

void DrawQueues::write_record(Emitter& e, const Queue& queue, std::size_t which, llvm::Value* record) {
  llvm::IRBuilder<>& b = e.b;
  const analysis::LateDraw& draw = queue.counter.draws[which];
  auto field = queue.fields[which].begin();
  for (const ir::Value* value : draw.kept) {
    Parts parts;
    for (const PartInfo& part : unit_.parts(value->type).parts) {
      llvm::Value* at = b.CreateConstGEP1_64(unit_.i8, record, field->offset);
      llvm::Value* v = b.CreateAlignedLoad(field->type, at, llvm::Align(bytes_of(field->type)));
      parts.push_back({part.scalar == ScalarKind::boolean ? b.CreateICmpNE(v, b.getInt8(0)) : v});
      ++field;
    }
    e.set(value, std::move(parts));
  }
  for (const ir::Op* op : draw.prepared) e.emit_op(*op);
  for (const ir::Op* op : draw.tail) e.emit_op(*op);
}

}  // namespace weft::codegen
