// The frame around a CPU kernel's body. One lane: a loop over the threads. W lanes: a loop over groups of W neighbouring
// threads, with one body for full groups that lie in one row and a masked one for all the rest. Masks hide no latency, and
// a rest of five threads is not to pay for sixteen: the masked body has as many lanes as a register holds, whatever W is.
// Over several dimensions rows may be short, and groups of masked threads, which lie in two of them, gather what they read:
// there are narrower bodies for what a full group leaves of a row, and straight code runs the last few threads one by one.
// Where masks cost nothing (AVX-512, and AVX2 with gathers) one masked body for groups in one row takes the place of these narrower
// ones, and in kernels with many branches that of the full one as well: bodies are what LLVM's time goes by.
// A light kernel over one dimension has no masked body: the few threads behind its last full group run one by one, which
// costs them little and saves LLVM much. Large kernels, those that walk trees, and forms for strided arrays have the masked
// body only (has_whole_body), then with all W lanes; kernels with tiles that, and one for the blocks that are too few for it.
#include "codegen/cpu/cpu_hooks.h"
#include "codegen/cpu/lane_choice.h"
#include "codegen/emit/add_queue.h"
#include "codegen/emit/draw_queue.h"
#include "codegen/emit/emitter.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::codegen {

namespace {

/// Scalar state of the loop over threads: the linear index and, beyond rank 1, the coordinates of lane 0.
struct Position {
  llvm::Value* linear = nullptr;
  llvm::SmallVector<llvm::Value*, 4> at;  // i64, outermost first; empty for rank 1
};

class KernelFrame {
 public:
  KernelFrame(CodeUnit& unit, const ir::Function& kernel, CpuHooks& hooks)
      : unit_(unit), kernel_(kernel), hooks_(hooks), rank_(kernel.form.rank), b_(unit.context) {
    const bool cost_nothing = unit.traits.scatters || (unit.traits.gathers && !accesses_narrow(kernel));
    free_masks_ = (cost_nothing || unit.options.free_masks) && has_whole_body(kernel);
    has_tiles_ = ir::find_tile_memory(*kernel.body) != nullptr;
    masks_only_ = free_masks_ && has_many_branches(kernel);
    if (masks_only_) unit.guesses = false;
  }

  void emit() {
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(unit_.context),
                                         {unit_.i64, unit_.i64, unit_.ptr, unit_.ptr}, false);
    const bool blocks = kernel_.form.block != 0;
    function_ =
        llvm::Function::Create(type, blocks ? llvm::GlobalValue::InternalLinkage : llvm::GlobalValue::ExternalLinkage,
                               entry_name(kernel_) + (blocks ? ".thread" : ""), *unit_.module);
    function_->setDoesNotThrow();
    // The parameter block is the launch's copy: no array that the kernel writes lies in it.
    function_->addParamAttr(2, llvm::Attribute::NoAlias);
    function_->addParamAttr(2, llvm::Attribute::ReadOnly);
    auto* entry = llvm::BasicBlock::Create(unit_.context, "entry", function_);
    b_.SetInsertPoint(entry);
    begin_ = function_->getArg(0), end_ = function_->getArg(1), context_ = function_->getArg(3);
    if (blocks) begin_block();
    load_params();
    DrawQueues draws(unit_, kernel_);
    if (!draws.empty()) draws_ = &draws;
    draws.begin(b_);
    if (unit_.turns->counts(kernel_)) count_turns();
    if (rank_ > 1)
      for (int d = 0; d < rank_; ++d)
        dims_.push_back(b_.CreateAlignedLoad(unit_.i64, b_.CreateConstGEP1_64(unit_.i64, context_, std::uint64_t(d)),
                                             llvm::Align(8)));
    if (unit_.lanes == 1) {
      loop("threads", locate(begin_), end_, &KernelFrame::one_lane);
    } else if (rank_ == 1 && !kernel_.form.strided && is_light(kernel_)) {
      llvm::Value* lanes = b_.getInt64(std::uint64_t(unit_.lanes));
      llvm::Value* count = b_.CreateSub(end_, begin_);
      // Behind the last full group. Additions that wait are made up at the latest there,
      // before single threads add to the same arrays.
      llvm::Value* behind = b_.CreateSub(end_, b_.CreateSRem(count, lanes));
      queue_end_ = behind;
      loop("whole", {begin_, {}}, behind, &KernelFrame::whole_group);
      queue_end_ = nullptr;
      // Emitted for one lane, in the same function.
      BodyForm one(unit_, 1);
      loop("rest", {behind, {}}, end_, &KernelFrame::one_lane);
    } else {
      loop("threads", locate(begin_), end_, &KernelFrame::any_group);
    }
    if (draws_) {
      Emitter e(unit_, function_, kernel_, nullptr);
      e.b.SetInsertPoint(b_.GetInsertBlock());
      draws.make_up(e);
      b_.SetInsertPoint(e.b.GetInsertBlock());
    }
    b_.CreateRetVoid();
    if (blocks) call_threads();
  }

 private:
  /// What the threads of a block know of it.
  void begin_block() {
    WEFT_CHECK(unit_.lanes == 1, "threads that wait for each other run one by one");
    hooks_.block = kernel_.form.block;
    hooks_.rows = kernel_.form.rows;
    hooks_.memory.emplace(kernel_);
    hooks_.room = b_.CreateCall(
        unit_.helper("weft_rt_block_memory", llvm::FunctionType::get(unit_.ptr, false), /*may_read_memory=*/true));
    if (hooks_.rows) return;
    llvm::Value* total = b_.getInt64(1);
    for (int d = 0; d < rank_; ++d)
      total = b_.CreateMul(total,
                           b_.CreateAlignedLoad(unit_.i64, b_.CreateConstGEP1_64(unit_.i64, context_, std::uint64_t(d)),
                                                llvm::Align(8)));
    llvm::Value* size = b_.getInt64(std::uint64_t(hooks_.block));
    llvm::Value* rest = b_.CreateSub(total, b_.CreateMul(b_.CreateUDiv(begin_, size), size));
    block_threads_ = b_.CreateTrunc(b_.CreateSelect(b_.CreateICmpULT(rest, size), rest, size), unit_.i32);
  }

  /// The entry of a kernel whose blocks have several threads: the runtime lets them take turns.
  void call_threads() {
    auto* entry = llvm::Function::Create(function_->getFunctionType(), llvm::GlobalValue::ExternalLinkage,
                                         entry_name(kernel_), *unit_.module);
    entry->setDoesNotThrow();
    b_.SetInsertPoint(llvm::BasicBlock::Create(unit_.context, "entry", entry));
    auto* type = llvm::FunctionType::get(
        b_.getVoidTy(), {unit_.i64, unit_.i64, unit_.ptr, unit_.ptr, unit_.ptr, unit_.i32, unit_.i64, unit_.i64},
        false);
    b_.CreateCall(unit_.helper("weft_rt_blocks", type, true),
                  {entry->getArg(0), entry->getArg(1), entry->getArg(2), entry->getArg(3), function_,
                   b_.getInt32(std::uint32_t(hooks_.block)), b_.getInt64(hooks_.memory->bytes()),
                   b_.getInt64(2 * private_memory(kernel_).bytes)});
    b_.CreateRetVoid();
  }

  /// Emits a group of threads at a position and tells how many they are.
  using Group = llvm::Value* (KernelFrame::*)(const Position&);

  /// Runs groups from `start` while the linear index is below `end`, and goes on behind the loop.
  void loop(const char* name, const Position& start, llvm::Value* end, Group group) {
    auto* head = llvm::BasicBlock::Create(unit_.context, name, function_);
    auto* exit = llvm::BasicBlock::Create(unit_.context, std::string(name) + ".done", function_);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    b_.CreateCondBr(b_.CreateICmpSLT(start.linear, end), head, exit);
    b_.SetInsertPoint(head);
    Position here;
    here.linear = phi(start.linear, before);
    for (llvm::Value* v : start.at) here.at.push_back(phi(v, before));
    // The body first, since it may take several blocks: the loop closes from where it has ended.
    Position next = advance(here, (this->*group)(here));
    llvm::BasicBlock* latch = b_.GetInsertBlock();
    llvm::cast<llvm::PHINode>(here.linear)->addIncoming(next.linear, latch);
    for (std::size_t d = 0; d < here.at.size(); ++d)
      llvm::cast<llvm::PHINode>(here.at[d])->addIncoming(next.at[d], latch);
    b_.CreateCondBr(b_.CreateICmpSLT(next.linear, end), head, exit);
    b_.SetInsertPoint(exit);
  }

  llvm::PHINode* phi(llvm::Value* first, llvm::BasicBlock* from) {
    llvm::PHINode* node = b_.CreatePHI(first->getType(), 2);
    node->addIncoming(first, from);
    return node;
  }

  void load_params() {
    Emitter e(unit_, function_, kernel_, nullptr);
    e.b.SetInsertPoint(b_.GetInsertBlock());
    // Read once for the chunk, in front of all loops, and shared by both bodies.
    ParamLayout layout = param_layout(kernel_);
    for (std::size_t k = 0; k < layout.params.size(); ++k) {
      const ParamLayout::Param& param = layout.params[k];
      params_.push_back(e.load_params(param.type, function_->getArg(2), param.offset, std::int32_t(k)));
      if (!kernel_.form.strided) fix_inner_strides(unit_, param.type, params_.back());
    }
  }

  /// All threads of the chunk share one number, so that those of short loops count, too.
  void count_turns() {
    // Loops jump here from wherever they are: the rest of the chunk is left undone.
    stopped_ = llvm::BasicBlock::Create(unit_.context, "stopped", function_);
    llvm::IRBuilder<>(stopped_).CreateRetVoid();
    Emitter e(unit_, function_, kernel_, nullptr);
    e.b.SetInsertPoint(b_.GetInsertBlock());
    turns_ = e.begin_turns(b_.getInt32(runtime::kTurnsBetweenQuestions));
  }

  /// Coordinates from the linear index, by division: once for a chunk. From then on they are advanced.
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
    // Rarely taken where rows are long; a group of W may also end several rows that are shorter than it.
    b_.CreateCondBr(b_.CreateICmpSGE(last, dims_.back()), carry, done);
    b_.SetInsertPoint(carry);
    llvm::SmallVector<llvm::Value*, 4> moved(here.at.begin(), here.at.end());
    llvm::Value* value = last;
    for (int d = rank_ - 1; d > 0; --d) {
      std::size_t k = std::size_t(d);
      // How many rows were passed is what the coordinate before moves by.
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

  void run_body(const Position& here, const analysis::Uniformity* shapes, llvm::Value* mask,
                llvm::ArrayRef<Part> tids) {
    Emitter e(unit_, function_, kernel_, shapes);
    e.b.SetInsertPoint(b_.GetInsertBlock());
    e.thread.context = context_;
    e.thread.turns = turns_, e.thread.stopped = stopped_;
    e.thread.block_threads = block_threads_;
    e.thread.linear = Part{here.linear, unit_.lanes > 1 ? 1 : 0};
    for (std::size_t d = 0; d < tids.size(); ++d) e.thread.tids[d] = tids[d];
    e.mask = mask;
    e.guesses = unit_.guesses && !(mask && free_masks_);  // a few threads of a row: not worth two forms of each access
    // One for each body; it lives as long as the body is emitted, its memory as long as the chunk runs.
    AddQueue queue;
    if (queue_end_) e.queue = &queue;
    e.draws = draws_;
    for (std::size_t k = 0; k < params_.size(); ++k) e.set(kernel_.params()[k], params_[k]);
    e.use_scopes();
    e.emit_region(*kernel_.body);
    if (!queue.empty()) {
      // No group comes after this one: what waits can wait no longer.
      llvm::Value* next = e.b.CreateAdd(here.linear, e.b.getInt64(std::uint64_t(unit_.lanes)));
      queue.flush(e, e.b.CreateICmpSGE(next, queue_end_));
    }
    b_.SetInsertPoint(e.b.GetInsertBlock());
  }

  bool reads_tid() const {
    bool reads = false;
    ir::walk(*kernel_.body, [&](const ir::Op& op) { reads |= op.code == ir::OpCode::tid; });
    return reads;
  }

  llvm::Value* one_lane(const Position& here) {
    llvm::SmallVector<Part, 4> tids;
    // Launches of kernels that read tid() have no more than 2^31 - 1 threads (runtime::launch_size): indices in 64 bits are the
    // coordinate itself.
    if (rank_ == 1 && reads_tid())
      b_.CreateAssumption(b_.CreateICmpULT(here.linear, b_.getInt64(std::uint64_t(1) << 31)));
    if (rank_ == 1) tids.push_back({b_.CreateTrunc(here.linear, unit_.i32)});
    for (llvm::Value* v : here.at) tids.push_back({b_.CreateTrunc(v, unit_.i32)});
    run_body(here, nullptr, nullptr, tids);
    return b_.getInt64(1);
  }

  /// Coordinates of every lane of a group that may cross rows. Quotients of integers below 2^53 are exact in doubles, and
  /// vectors of doubles divide fast.
  llvm::SmallVector<Part, 4> lane_tids(Emitter& e, const Position& here) {
    llvm::SmallVector<Part, 4> tids(std::size_t(rank_), Part{});
    llvm::SmallVector<llvm::Constant*, 16> steps;
    for (int k = 0; k < unit_.lanes; ++k) steps.push_back(llvm::ConstantFP::get(unit_.f64, k));
    // Lane k is k threads behind lane 0; what runs over the end of a row is carried into the coordinate before.
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

  /// Coordinates of a group that lies in one row.
  llvm::SmallVector<Part, 4> row_tids(const Position& here) {
    llvm::SmallVector<Part, 4> tids;
    if (rank_ == 1) tids.push_back({b_.CreateTrunc(here.linear, unit_.i32), 1});
    for (std::size_t d = 0; d < here.at.size(); ++d)
      tids.push_back({b_.CreateTrunc(here.at[d], unit_.i32), d + 1 == here.at.size() ? 1 : 0});
    return tids;
  }

  /// W threads of one row, all of them there.
  llvm::Value* whole_group(const Position& here) {
    analysis::LaneEntry in_row;
    // The last coordinate grows by one from lane to lane, all others are the
    // same: what makes `a[i, j]` a vector access.
    in_row.tids[rank_ - 1] = in_row.thread = 1;
    analysis::Uniformity shapes(kernel_, in_row);
    run_body(here, &shapes, nullptr, row_tids(here));
    return b_.getInt64(std::uint64_t(unit_.lanes));
  }

  /// Up to W threads, as far as there are `left`: all in one row, or maybe in several. Tells how many they were.
  llvm::Value* masked_group(const Position& here, llvm::Value* left, bool one_row = false) {
    llvm::Value* width = b_.getInt64(std::uint64_t(unit_.lanes));
    llvm::Value* count = b_.CreateSelect(b_.CreateICmpSGE(left, width), width, left);
    const bool crosses = rank_ > 1 && !one_row;
    analysis::LaneEntry entry;
    entry.tids[rank_ - 1] = entry.thread = 1;
    if (crosses)
      // Across a row's end no coordinate is in line. The linear index still is.
      for (int d = 0; d < rank_; ++d) entry.tids[d] = analysis::kVarying;
    analysis::Uniformity shapes(kernel_, entry);
    Emitter e(unit_, function_, kernel_, nullptr);
    e.b.SetInsertPoint(b_.GetInsertBlock());
    // Never empty: the loop runs only while threads are left.
    llvm::Value* mask = e.b.CreateICmpSLT(e.iota(unit_.i64, 1), e.splat(left));
    llvm::SmallVector<Part, 4> tids;
    if (crosses) tids = lane_tids(e, here);
    b_.SetInsertPoint(e.b.GetInsertBlock());
    if (!crosses) tids = row_tids(here);
    run_body(here, &shapes, mask, tids);
    return count;
  }

  /// How many of the threads that are `left` a masked group may take. One that reaches into the next row saves a group, unless
  /// that row then has one whole group less: rows of 17 threads and 16 lanes would mostly run masked. Such a group ends with its row.
  llvm::Value* left_in_row(const Position& here, llvm::Value* left, llvm::Value* width) {
    const int few = std::min(unit_.lanes, natural_lanes(unit_.target));
    llvm::Value *row = dims_.back(), *in_row = b_.CreateSub(row, here.at.back());
    llvm::Value* taken = b_.CreateSub(b_.getInt64(std::uint64_t(few)), in_row);  // of the next row
    llvm::Value* to_spare = b_.CreateAnd(row, b_.getInt64(std::uint64_t(unit_.lanes - 1)));
    llvm::Value* ends = b_.CreateAnd(b_.CreateICmpSGE(row, width), b_.CreateICmpSGT(taken, to_spare));
    return b_.CreateSelect(b_.CreateAnd(ends, b_.CreateICmpSLT(in_row, left)), in_row, left);
  }

  /// How wide groups without masks are, widest first. Rows of 27 threads are nothing unusual: what 16 lanes leave of one
  /// runs by narrower groups, whose accesses are still in line.
  llvm::SmallVector<int, 3> whole_widths() const {
    llvm::SmallVector<int, 3> widths;
    if (masks_only_) return widths;
    widths.push_back(unit_.lanes);
    if (rank_ == 1 || free_masks_) return widths;
    for (int width : {natural_lanes(unit_.target), kLeast})
      if (width < widths.back() && width >= kLeast) widths.push_back(width);
    return widths;
  }

  bool runs_rest_by_ones() const { return rank_ > 1 && is_straight(kernel_); }

  /// Lanes of masked groups: those of a register, AVX-512's in tests of its bodies.
  int narrow_lanes() const {
    constexpr int kFreeMaskLanes = 16;
    return std::min(unit_.lanes, free_masks_ ? kFreeMaskLanes : natural_lanes(unit_.target));
  }

  /// Free masks: from how many threads of a row on they are a group of their own. Those of short rows, and the last ones of others,
  /// go together with the next rows'. Such a group gathers whatever it reads, by two registers of addresses for each of values: it takes
  /// the time of two groups in a row, and half of their lanes do.
  int least_in_row() const { return runs_rest_by_ones() ? kLeast : std::max(narrow_lanes() / 2, 2); }

  /// The few threads behind the last group of a row, or of the chunk. Tells how many were run.
  llvm::Value* rest_group(const Position& here, llvm::Value* left) {
    if (runs_rest_by_ones()) {
      BodyForm one(unit_, 1);
      return one_lane(here);
    }
    if (free_masks_ && rank_ > 1) {
      BodyForm narrow(unit_, least_in_row());
      return masked_group(here, left);
    }
    llvm::Value* here_left = rank_ > 1 ? left_in_row(here, left, b_.getInt64(std::uint64_t(unit_.lanes))) : left;
    BodyForm narrow(unit_, narrow_lanes());
    return masked_group(here, here_left);
  }

  /// A group of sixteen blocks with tiles takes the time of some seven alone, however few of its lanes have one.
  llvm::Value* blocks_side_by_side(const Position& here, llvm::Value* left) {
    const std::uint64_t fewest = std::uint64_t(7 * unit_.lanes + 15) / 16;
    auto* many = llvm::BasicBlock::Create(unit_.context, "blocks", function_);
    auto* few = llvm::BasicBlock::Create(unit_.context, "block", function_);
    auto* done = llvm::BasicBlock::Create(unit_.context, "blocks.done", function_);
    b_.CreateCondBr(b_.CreateICmpUGE(left, b_.getInt64(fewest)), many, few);
    b_.SetInsertPoint(many);
    llvm::Value* of_many = masked_group(here, left);
    llvm::BasicBlock* behind_many = b_.GetInsertBlock();
    b_.CreateBr(done);
    b_.SetInsertPoint(few);
    BodyForm one(unit_, 1);
    llvm::Value* of_few = one_lane(here);
    llvm::BasicBlock* behind_few = b_.GetInsertBlock();
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    llvm::PHINode* count = b_.CreatePHI(unit_.i64, 2);
    count->addIncoming(of_many, behind_many);
    count->addIncoming(of_few, behind_few);
    return count;
  }

  llvm::Value* any_group(const Position& here) {
    llvm::Value* left = b_.CreateSub(end_, here.linear);
    if (has_tiles_) return blocks_side_by_side(here, left);
    if (!has_whole_body(kernel_)) return masked_group(here, left);
    llvm::Value* room = left;  // threads that lie in one row
    if (rank_ > 1) {
      llvm::Value* in_row = b_.CreateSub(dims_.back(), here.at.back());
      room = b_.CreateSelect(b_.CreateICmpSLT(in_row, left), in_row, left);
    }
    auto* done = llvm::BasicBlock::Create(unit_.context, "group.done", function_);
    llvm::SmallVector<std::pair<llvm::Value*, llvm::BasicBlock*>, 4> counts;
    auto end_group = [&](llvm::Value* count) {
      counts.push_back({count, b_.GetInsertBlock()});
      b_.CreateBr(done);
    };
    // A body for groups with that much room.
    auto with_room = [&](int threads, int lanes, const auto& group) {
      auto* whole = llvm::BasicBlock::Create(unit_.context, "whole", function_);
      auto* fewer = llvm::BasicBlock::Create(unit_.context, "fewer", function_);
      b_.CreateCondBr(b_.CreateICmpSGE(room, b_.getInt64(std::uint64_t(threads))), whole, fewer);
      b_.SetInsertPoint(whole);
      {
        BodyForm form(unit_, lanes);
        end_group(group());
      }
      b_.SetInsertPoint(fewer);
    };
    for (int width : whole_widths()) with_room(width, width, [&] { return whole_group(here); });
    if (free_masks_ && rank_ > 1)
      with_room(least_in_row(), narrow_lanes(), [&] { return masked_group(here, room, true); });
    end_group(rest_group(here, left));
    b_.SetInsertPoint(done);
    llvm::PHINode* count = b_.CreatePHI(unit_.i64, unsigned(counts.size()));
    for (const auto& [value, block] : counts) count->addIncoming(value, block);
    return count;
  }

  static constexpr int kLeast = 4;  // lanes of the narrowest groups without masks

  CodeUnit& unit_;
  const ir::Function& kernel_;
  CpuHooks& hooks_;
  bool has_tiles_ = false;
  bool free_masks_ = false;  // a masked group in one row takes hardly longer than a full one
  bool masks_only_ = false;  // then: there is no body without masks
  const int rank_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  llvm::Value *begin_ = nullptr, *end_ = nullptr, *context_ = nullptr;
  llvm::Value* turns_ = nullptr;  // see ThreadInfo
  llvm::Value* block_threads_ = nullptr;
  llvm::BasicBlock* stopped_ = nullptr;
  DrawQueues* draws_ = nullptr;       // draws that may wait (draw_queue.h); null: none
  llvm::Value* queue_end_ = nullptr;  // additions may wait up to there (add_queue.h); null: not at all
  llvm::SmallVector<llvm::Value*, 4> dims_;
  std::vector<Parts> params_;
};

}  // namespace

void fix_inner_strides(CodeUnit& unit, const Type* type, llvm::MutableArrayRef<Part> parts) {
  if (type->is_array()) {
    // Data, gradient, extents, strides: the last of them.
    Part& stride = parts[1 + 2 * type->rank()];
    stride = Part{llvm::ConstantInt::get(unit.i64, type->element()->size())};
  } else if (type->is_struct()) {
    for (const Field& field : type->fields()) {
      std::size_t count = unit.parts(field.type).parts.size();
      fix_inner_strides(unit, field.type, parts.take_front(count));
      parts = parts.drop_front(count);
    }
  }
}

void emit_cpu_kernel(CodeUnit& unit, const ir::Function& kernel, CpuHooks& hooks) {
  KernelFrame(unit, kernel, hooks).emit();
}

}  // namespace weft::codegen
