// The frame around a CPU kernel's body. One lane: a loop over the threads. W lanes: a loop over groups of W neighbouring
// threads with two bodies: a fast one for full groups that lie in one row, which takes the inner strides of parameter
// arrays as contiguous (tested once per chunk), and a masked one for all the rest. Large kernels have the masked one only.
#include "codegen/emitter.h"
#include "codegen/kernel_size.h"

namespace weft::codegen {

namespace {

/// Kernels above this weight (kernel_size.h) get one body.
constexpr std::uint64_t kMaxTwoBodyWeight = 4000;

/// Strides that the fast body takes as constants: the innermost one of every array in a parameter.
struct InnerStride {
  std::size_t param, part;
  std::uint32_t bytes;
};

void find_inner_strides(CodeUnit& unit, const Type* type, std::size_t param, std::size_t first,
                        std::vector<InnerStride>& out) {
  if (type->is_array()) {
    out.push_back({param, first + 1 + 2 * type->rank(), type->element()->size()});
  } else if (type->is_struct()) {
    for (const Field& field : type->fields()) {
      find_inner_strides(unit, field.type, param, first, out);
      first += unit.parts(field.type).parts.size();
    }
  }
}

/// Scalar state of the loop over threads: the linear index and, beyond rank 1, the coordinates of lane 0.
struct Position {
  llvm::Value* linear = nullptr;
  llvm::SmallVector<llvm::Value*, 4> at;  // i64, outermost first; empty for rank 1
};

class KernelFrame {
 public:
  KernelFrame(CodeUnit& unit, const ir::Function& kernel)
      : unit_(unit), kernel_(kernel), rank_(kernel.form.rank), b_(unit.context) {}

  void emit() {
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(unit_.context),
                                         {unit_.i64, unit_.i64, unit_.ptr, unit_.ptr}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, entry_name(kernel_), *unit_.module);
    function_->setDoesNotThrow();
    function_->addParamAttr(2, llvm::Attribute::NoAlias);
    function_->addParamAttr(2, llvm::Attribute::ReadOnly);
    auto* entry = llvm::BasicBlock::Create(unit_.context, "entry", function_);
    auto* exit = llvm::BasicBlock::Create(unit_.context, "exit", function_);
    b_.SetInsertPoint(entry);
    begin_ = function_->getArg(0), end_ = function_->getArg(1), context_ = function_->getArg(3);
    load_params();
    if (rank_ > 1)
      for (int d = 0; d < rank_; ++d)
        dims_.push_back(b_.CreateAlignedLoad(unit_.i64, b_.CreateConstGEP1_64(unit_.i64, context_, std::uint64_t(d)),
                                             llvm::Align(8)));
    Position start = locate(begin_);
    llvm::Value* contiguous = unit_.lanes > 1 ? check_contiguous() : nullptr;
    auto* head = llvm::BasicBlock::Create(unit_.context, "threads", function_);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    b_.CreateCondBr(b_.CreateICmpSLT(begin_, end_), head, exit);
    b_.SetInsertPoint(head);
    Position here;
    here.linear = phi(start.linear, before);
    for (llvm::Value* v : start.at) here.at.push_back(phi(v, before));
    llvm::Value* step = unit_.lanes == 1 ? one_lane(here) : groups(here, contiguous);
    Position next = advance(here, step);
    llvm::BasicBlock* latch = b_.GetInsertBlock();
    llvm::cast<llvm::PHINode>(here.linear)->addIncoming(next.linear, latch);
    for (std::size_t d = 0; d < here.at.size(); ++d)
      llvm::cast<llvm::PHINode>(here.at[d])->addIncoming(next.at[d], latch);
    b_.CreateCondBr(b_.CreateICmpSLT(next.linear, end_), head, exit);
    b_.SetInsertPoint(exit);
    b_.CreateRetVoid();
  }

 private:
  llvm::PHINode* phi(llvm::Value* first, llvm::BasicBlock* from) {
    llvm::PHINode* node = b_.CreatePHI(first->getType(), 2);
    node->addIncoming(first, from);
    return node;
  }

  void load_params() {
    Emitter e(unit_, function_, kernel_, nullptr);
    e.b.SetInsertPoint(b_.GetInsertBlock());
    ParamLayout layout = param_layout(kernel_);
    for (std::size_t k = 0; k < layout.params.size(); ++k)
      params_.push_back(
          e.load_params(layout.params[k].type, function_->getArg(2), layout.params[k].offset, std::int32_t(k)));
  }

  Position locate(llvm::Value* linear) {
    Position p;
    p.linear = linear;
    if (rank_ == 1) return p;
    p.at.resize(std::size_t(rank_));
    llvm::Value* rest = linear;
    for (int d = rank_ - 1; d > 0; --d) {
      // A launch without threads may have a zero extent; its loop never runs.
      llvm::Value* extent = b_.CreateSelect(b_.CreateICmpEQ(dims_[std::size_t(d)], b_.getInt64(0)), b_.getInt64(1),
                                            dims_[std::size_t(d)]);
      p.at[std::size_t(d)] = b_.CreateURem(rest, extent);
      rest = b_.CreateUDiv(rest, extent);
    }
    p.at[0] = rest;
    return p;
  }

  /// Moves by `step` threads; carries ripple outwards, by division only when a row ends.
  Position advance(const Position& here, llvm::Value* step) {
    Position next;
    next.linear = b_.CreateAdd(here.linear, step);
    if (rank_ == 1) return next;
    next.at.assign(here.at.begin(), here.at.end());
    llvm::Value* last = b_.CreateAdd(here.at.back(), step);
    auto* carry = llvm::BasicBlock::Create(unit_.context, "row.end", function_);
    auto* done = llvm::BasicBlock::Create(unit_.context, "advanced", function_);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    b_.CreateCondBr(b_.CreateICmpSGE(last, dims_.back()), carry, done);
    b_.SetInsertPoint(carry);
    llvm::SmallVector<llvm::Value*, 4> moved(here.at.begin(), here.at.end());
    llvm::Value* value = last;
    for (int d = rank_ - 1; d > 0; --d) {
      std::size_t k = std::size_t(d);
      llvm::Value* rows = b_.CreateUDiv(value, dims_[k]);
      moved[k] = b_.CreateSub(value, b_.CreateMul(rows, dims_[k]));
      value = b_.CreateAdd(here.at[k - 1], rows);
    }
    moved[0] = value;
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    for (std::size_t d = 0; d < next.at.size(); ++d) {
      llvm::PHINode* node = b_.CreatePHI(unit_.i64, 2);
      node->addIncoming(d + 1 == next.at.size() ? last : here.at[d], before);
      node->addIncoming(moved[d], carry);
      next.at[d] = node;
    }
    return next;
  }

  llvm::Value* check_contiguous() {
    for (std::size_t k = 0; k < params_.size(); ++k)
      find_inner_strides(unit_, kernel_.params()[k]->type, k, 0, strides_);
    llvm::Value* all = b_.getTrue();
    for (const InnerStride& s : strides_) {
      const Type* type = kernel_.params()[s.param]->type;
      const Parts& parts = params_[s.param];
      // Arrays that are null or have one element along the row can't tell the difference.
      llvm::Value* fits = b_.CreateICmpEQ(parts[s.part].v, b_.getInt64(s.bytes));
      std::uint32_t rank = rank_before(type, s.part);
      fits = b_.CreateOr(fits, b_.CreateICmpSLE(parts[s.part - rank].v, b_.getInt64(1)));
      all = b_.CreateAnd(all, fits);
    }
    return all;
  }

  /// Rank of the array whose innermost stride is this part.
  std::uint32_t rank_before(const Type* type, std::size_t part) {
    if (type->is_array()) return type->rank();
    std::size_t first = 0;
    for (const Field& field : type->fields()) {
      std::size_t n = unit_.parts(field.type).parts.size();
      if (part < first + n) return rank_before(field.type, part - first);
      first += n;
    }
    WEFT_UNREACHABLE("part outside its type");
  }

  void run_body(const Position& here, const analysis::Uniformity* shapes, llvm::Value* mask, bool fast,
                llvm::ArrayRef<Part> tids) {
    Emitter e(unit_, function_, kernel_, shapes);
    e.b.SetInsertPoint(b_.GetInsertBlock());
    e.thread.context = context_;
    e.thread.linear = Part{here.linear, unit_.lanes > 1 ? 1 : 0};
    for (std::size_t d = 0; d < tids.size(); ++d) e.thread.tids[d] = tids[d];
    e.mask = mask;
    for (std::size_t k = 0; k < params_.size(); ++k) {
      Parts parts = params_[k];
      if (fast)
        for (const InnerStride& s : strides_)
          if (s.param == k) parts[s.part] = Part{b_.getInt64(s.bytes)};
      e.set(kernel_.params()[k], std::move(parts));
    }
    e.use_scopes();
    e.emit_region(*kernel_.body);
    b_.SetInsertPoint(e.b.GetInsertBlock());
  }

  llvm::Value* one_lane(const Position& here) {
    llvm::SmallVector<Part, 4> tids;
    if (rank_ == 1) tids.push_back({b_.CreateTrunc(here.linear, unit_.i32)});
    for (llvm::Value* v : here.at) tids.push_back({b_.CreateTrunc(v, unit_.i32)});
    run_body(here, nullptr, nullptr, false, tids);
    return b_.getInt64(1);
  }

  /// Coordinates of every lane of a group that may cross rows. Quotients of integers below 2^53 are exact in doubles, and
  /// vectors of doubles divide fast.
  llvm::SmallVector<Part, 4> lane_tids(Emitter& e, const Position& here) {
    llvm::SmallVector<Part, 4> tids(std::size_t(rank_), Part{});
    llvm::SmallVector<llvm::Constant*, 16> steps;
    for (int k = 0; k < unit_.lanes; ++k) steps.push_back(llvm::ConstantFP::get(unit_.f64, k));
    llvm::Value* carry = llvm::ConstantVector::get(steps);
    for (int d = rank_ - 1; d >= 0; --d) {
      std::size_t k = std::size_t(d);
      llvm::Value* value = e.b.CreateFAdd(e.splat(e.b.CreateUIToFP(here.at[k], unit_.f64)), carry);
      if (d > 0) {
        llvm::Value* extent = e.splat(e.b.CreateUIToFP(dims_[k], unit_.f64));
        carry = e.b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, e.b.CreateFDiv(value, extent));
        value = e.b.CreateFSub(value, e.b.CreateFMul(carry, extent));
      }
      tids[k] = Part{e.b.CreateFPToSI(value, unit_.wide(unit_.i32))};
    }
    return tids;
  }

  llvm::Value* groups(const Position& here, llvm::Value* contiguous) {
    const int lanes = unit_.lanes;
    llvm::Value* width = b_.getInt64(std::uint64_t(lanes));
    llvm::Value* left = b_.CreateSub(end_, here.linear);
    llvm::Value* full = b_.CreateICmpSGE(left, width);
    bool two = kernel_weight(kernel_) <= kMaxTwoBodyWeight;
    analysis::LaneEntry in_row, crossing;
    in_row.tids[rank_ - 1] = 1;
    crossing = in_row;
    if (rank_ > 1)
      for (int d = 0; d < rank_; ++d) crossing.tids[d] = analysis::kVarying;
    analysis::Uniformity crossing_shapes(kernel_, crossing);
    auto* masked = llvm::BasicBlock::Create(unit_.context, "masked", function_);
    auto* done = llvm::BasicBlock::Create(unit_.context, "group.done", function_);
    if (two) {
      analysis::Uniformity row_shapes(kernel_, in_row);
      llvm::Value* fast = b_.CreateAnd(contiguous, full);
      if (rank_ > 1) fast = b_.CreateAnd(fast, b_.CreateICmpSLE(b_.CreateAdd(here.at.back(), width), dims_.back()));
      auto* whole = llvm::BasicBlock::Create(unit_.context, "whole", function_);
      b_.CreateCondBr(fast, whole, masked);
      b_.SetInsertPoint(whole);
      llvm::SmallVector<Part, 4> tids;
      if (rank_ == 1) tids.push_back({b_.CreateTrunc(here.linear, unit_.i32), 1});
      for (std::size_t d = 0; d < here.at.size(); ++d)
        tids.push_back({b_.CreateTrunc(here.at[d], unit_.i32), d + 1 == here.at.size() ? 1 : 0});
      run_body(here, &row_shapes, nullptr, true, tids);
      b_.CreateBr(done);
    } else {
      b_.CreateBr(masked);
    }
    b_.SetInsertPoint(masked);
    Emitter e(unit_, function_, kernel_, nullptr);
    e.b.SetInsertPoint(masked);
    llvm::Value* mask = e.b.CreateICmpSLT(e.iota(unit_.i64, 1), e.splat(left));
    llvm::SmallVector<Part, 4> tids;
    if (rank_ == 1)
      tids.push_back({e.b.CreateTrunc(here.linear, unit_.i32), 1});
    else
      tids = lane_tids(e, here);
    b_.SetInsertPoint(e.b.GetInsertBlock());
    run_body(here, &crossing_shapes, mask, false, tids);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    return b_.CreateSelect(full, width, left);
  }

  CodeUnit& unit_;
  const ir::Function& kernel_;
  const int rank_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  llvm::Value *begin_ = nullptr, *end_ = nullptr, *context_ = nullptr;
  llvm::SmallVector<llvm::Value*, 4> dims_;
  std::vector<Parts> params_;
  std::vector<InnerStride> strides_;
};

}  // namespace

void CodeUnit::emit_cpu_kernel(const ir::Function& kernel) { KernelFrame(*this, kernel).emit(); }

void CodeUnit::emit_kernel(const ir::Function& kernel) {
  if (traits.gpu)
    emit_gpu_kernel(kernel);
  else
    emit_cpu_kernel(kernel);
  emit_pending();
}

}  // namespace weft::codegen
