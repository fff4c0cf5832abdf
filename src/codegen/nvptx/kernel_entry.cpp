// The frame around a GPU kernel's body: one parameter block (the kernel's parameters, then a GpuTrailer), and
// grid-stride loops over 64-bit linear indices, so that any grid covers any launch. By the kernel's plan there are up
// to two loops: one for groups of neighbouring threads or for aligned arrays, one for the rest.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "analysis/private_sums.h"
#include "codegen/cpu/lane_choice.h"
#include "codegen/nvptx/gpu_hooks.h"
#include "codegen/nvptx/kernel_plan.h"
#include "codegen/nvptx/parameters.h"
#include "codegen/nvptx/warp.h"
#include "ir/block_functions.h"
#include "ir/walk.h"

namespace weft::codegen {
namespace {

constexpr std::uint64_t kWideAccess = ir::kAlignedRows;
// Kernels that 64 registers are good for and enough: with unrolled loops, by weight; straight ones, by the words they read.
constexpr std::uint64_t kMaxBusyWeight = 120, kMinWordsAhead = 24, kMaxWordsAhead = 40;
constexpr std::uint64_t kMaxSampleWeight = 800, kSampleRegisters = 40;

class GpuFrame {
 public:
  GpuFrame(CodeUnit& unit, GpuHooks& gpu, const ir::Function& kernel)
      : unit_(unit),
        gpu_(gpu),
        kernel_(kernel),
        plan_(kernel.form.block || unit.options.exact_sums ? GpuPlan{} : plan_gpu_kernel(kernel, unit.options.order)),
        rank_(kernel.form.rank),
        b_(unit.context) {}

  /// Emits the kernel; gives the elements of a thread in one step.
  int emit() {
    ParamLayout layout = param_layout(kernel_);
    trailer_ = gpu_trailer_offset(layout.size);
    std::uint32_t bytes = trailer_ + std::uint32_t(sizeof(GpuTrailer));
    if (bytes > kMaxGpuParameters)
      throw Error("kernel " + kernel_.name + " has " + std::to_string(layout.size) +
                      " bytes of parameters; a GPU takes " + std::to_string(kMaxGpuParameters - sizeof(GpuTrailer)) +
                      ": pass large values in arrays",
                  kernel_.loc);
    declare(bytes);
    b_.SetInsertPoint(llvm::BasicBlock::Create(unit_.context, "entry", function_));
    load_params(layout);
    if (unit_.options.exact_sums) open_exact_sums();
    count_ = field(offsetof(GpuTrailer, count));
    for (int d = 0; d < rank_; ++d) dims_.push_back(field(offsetof(GpuTrailer, dims) + 8 * std::size_t(d)));
    auto special = [&](llvm::Intrinsic::ID id) { return b_.CreateZExt(b_.CreateIntrinsic(id, {}, {}), unit_.i64); };
    llvm::Value* block_size = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
    first_ = b_.CreateAdd(b_.CreateMul(special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x), block_size),
                          special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x));
    stride_ = b_.CreateMul(special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x), block_size);
    if (kernel_.form.block) {
      if (kernel_.form.aligned) assume_aligned();
      gpu_.meeting_adds = find_block_adds(kernel_);
      return emit_blocks();
    }
    for (const auto& adds : plan_.sums) open_sum(adds);
    gpu_.meeting_adds = plan_.meeting_adds;
    gpu_.lone_adds = plan_.lone_adds;
    auto each = [&](llvm::Value* at, llvm::Value* low) { thread(at, low); };

    if (plan_.lanes > 1) {
      llvm::Value* lanes = b_.getInt64(std::uint64_t(plan_.lanes));
      llvm::Value* groups =
          b_.CreateSelect(arrays_aligned(), b_.CreateUDiv(count_, lanes), llvm::ConstantInt::get(unit_.i64, 0));
      {
        BodyForm several(unit_, plan_.lanes);
        loop("groups", first_, groups, [&](llvm::Value* group, llvm::Value* low) {
          assume_aligned();
          whole_group(b_.CreateMul(group, lanes), b_.CreateMul(low, b_.CreateTrunc(lanes, unit_.i32)));
        });
      }
      loop("rest", b_.CreateAdd(first_, b_.CreateMul(groups, lanes)), count_, each);
    } else if (plan_.aligned) {
      llvm::BasicBlock *wide = block("aligned"), *plain = block("unaligned"), *done = block("threads.done");
      b_.CreateCondBr(arrays_aligned(), wide, plain);
      b_.SetInsertPoint(plain);
      loop("threads", first_, count_, each);
      b_.CreateBr(done);
      b_.SetInsertPoint(wide);
      assume_aligned();
      loop("threads", first_, count_, each);
      b_.CreateBr(done);
      b_.SetInsertPoint(done);
    } else {
      loop("threads", first_, count_, each);
    }
    if (!plan_.sums.empty()) close_sums();
    b_.CreateRetVoid();
    if (!keep_bounds(unit_.options.bounds)) {
      if (plan_.registers)
        annotate("maxnreg", std::uint64_t(plan_.registers));
      else if (samples_beside_calls())
        annotate("maxnreg", kSampleRegisters);
      if (!plan_.registers && loads_ahead()) allow_registers();
    }
    return plan_.lanes;
  }

  int steps() const { return plan_.steps; }

 private:
  /// Kernels whose threads share memory: a block goes from one group of neighbours to another, all its threads together.
  int emit_blocks() {
    gpu_.block = kernel_.form.block;
    gpu_.whole = kernel_.form.rows;
    gpu_.memory.emplace(kernel_);
    ir::walk(*kernel_.body, [&](const ir::Op& op) { gpu_.copies |= ir::calls_block_function(op, ir::kBlockCopy); });
    gpu_.copies = gpu_.copies && unit_.target.sm >= 80;
    ir::walk(*kernel_.body, [&](const ir::Op& op) { gpu_.panels |= ir::multiplies_panels(op); });
    if (gpu_.memory->bytes()) make_room(gpu_.memory->bytes());
    auto special = [&](llvm::Intrinsic::ID id) { return b_.CreateZExt(b_.CreateIntrinsic(id, {}, {}), unit_.i64); };
    llvm::Value* size = b_.getInt64(kernel_.form.block);
    llvm::Value* own = special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
    llvm::Value* first = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
    llvm::Value* step = special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
    llvm::Value* groups = b_.CreateUDiv(b_.CreateAdd(count_, b_.CreateSub(size, b_.getInt64(1))), size);
    llvm::BasicBlock *head = block("block"), *again = block("again"), *exit = block("done"),
                     *before = b_.GetInsertBlock();
    b_.CreateCondBr(b_.CreateICmpULT(first, groups), head, exit);
    b_.SetInsertPoint(head);
    llvm::PHINode* group = b_.CreatePHI(unit_.i64, 2);
    group->addIncoming(first, before);
    llvm::Value* start = b_.CreateMul(group, size);
    llvm::Value* linear = b_.CreateAdd(start, own);
    llvm::Value* here = nullptr;
    if (!kernel_.form.rows) {  // threads that the grid does not have leave: barriers don't wait for them
      llvm::BasicBlock* present = block("present");
      b_.CreateCondBr(b_.CreateICmpULT(linear, count_), present, exit);
      b_.SetInsertPoint(present);
      llvm::Value* rest = b_.CreateSub(count_, start);
      here = b_.CreateTrunc(b_.CreateSelect(b_.CreateICmpULT(rest, size), rest, size), unit_.i32);
    }
    block_threads_ = here;
    if (kernel_.form.rows)
      row(group, linear, own);
    else
      thread(linear, b_.CreateTrunc(linear, unit_.i32));
    llvm::Value* next = b_.CreateAdd(group, step);
    b_.CreateCondBr(b_.CreateICmpULT(next, groups), again, exit);
    b_.SetInsertPoint(again);
    if (gpu_.copies) b_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_all, {}, {});
    if (shares_memory()) b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});  // which is the next group's now
    group->addIncoming(next, again);
    b_.CreateBr(head);
    b_.SetInsertPoint(exit);
    b_.CreateRetVoid();
    if (!keep_bounds(unit_.options.bounds)) {
      annotate("maxntidx", std::uint64_t(kernel_.form.block));
      if (const std::int64_t blocks = blocks_for_products(); blocks > 1) annotate("minctasm", std::uint64_t(blocks));
    }
    return 1;
  }

  /// Whether threads of a block have memory together, of tiles or of native functions.
  bool shares_memory() const {
    bool found = gpu_.memory->bytes() != 0;
    ir::walk(*kernel_.body, [&](const ir::Op& op) {
      found = found || op.code == ir::OpCode::call || op.code == ir::OpCode::barrier || op.code == ir::OpCode::tally ||
              op.code == ir::OpCode::warp_sync;
    });
    return found;
  }

  /// How many blocks a multiprocessor is to hold where loops of products wait for memory; 0: as many as it happens.
  std::int64_t blocks_for_products() const {
    std::int64_t most = 0;
    ir::walk(*kernel_.body, [&](const ir::Op& op) {
      if (!ir::calls_block_function(op, ir::kBlockProduct) || !ir::has_barriers_already(op, ir::ProductOperand::a))
        return;
      most = std::max(most, ir::Fragments::of(op).registers());
    });
    return most ? ir::Fragments::kRegisters / (most * kernel_.form.block) : 0;
  }

  /// Memory of the block: with a size where that is no more than any GPU has, else as much as the launch says.
  void make_room(std::uint32_t bytes) {
    const bool plain = bytes <= kPlainBlockBytes;
    auto* type = llvm::ArrayType::get(unit_.i8, plain ? bytes : 0);
    gpu_.room = new llvm::GlobalVariable(
        *unit_.module, type, false, llvm::GlobalValue::ExternalLinkage, plain ? llvm::PoisonValue::get(type) : nullptr,
        function_->getName() + "_block", nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    gpu_.room->setAlignment(llvm::Align(gpu_.panels ? ir::kPanelAlignment : 16));
  }

  /// The body for a block that is a row of the grid.
  void row(llvm::Value* group, llvm::Value* linear, llvm::Value* own) {
    Tids outer = rank_ > 2 ? indices(group, b_.CreateTrunc(group, unit_.i32), rank_ - 1)
                           : Tids{b_.CreateTrunc(group, unit_.i32)};
    outer.truncate(std::size_t(rank_) - 1);
    outer.push_back(b_.CreateTrunc(own, unit_.i32));
    llvm::SmallVector<Part, 4> tids;
    for (llvm::Value* tid : outer) tids.push_back(Part{tid});
    run_body(Part{linear}, tids, nullptr);
  }

  void declare(std::uint32_t bytes) {
    // Of words: where functions take its address, the back end copies it, element by element.
    auto* block_type = llvm::ArrayType::get(unit_.i64, (bytes + 7) / 8);
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(unit_.context), {unit_.ptr}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, entry_name(kernel_), *unit_.module);
    function_->setDoesNotThrow();
    function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
    if (unit_.options.fast_math) {  // approximate division and square root, denormals are zero
      function_->addFnAttr("unsafe-fp-math", "true");
      function_->addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
    }
    function_->addParamAttr(0, llvm::Attribute::getWithByValType(unit_.context, block_type));
    function_->addParamAttr(0, llvm::Attribute::getWithAlignment(unit_.context, llvm::Align(8)));
    annotate("kernel", 1);
  }

  void annotate(const char* property, std::uint64_t value) {
    llvm::Metadata* mark[] = {llvm::ValueAsMetadata::get(function_), llvm::MDString::get(unit_.context, property),
                              llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(unit_.i32, value))};
    unit_.module->getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(unit_.context, mark));
  }

  /// Whether a thread has many loads that can run at the same time.
  bool loads_ahead() const {
    if (gpu_.unrolled) return kernel_weight(kernel_) <= kMaxBusyWeight;
    const std::uint64_t words = plan_.lanes == 1 ? words_read(kernel_) : 0;
    return words >= kMinWordsAhead && words <= kMaxWordsAhead;
  }

  /// Whether it samples textures, and calls a function of the library for those that are not plain. Such a function takes more than
  /// twice the registers of the kernel, which then has them all the time: fewer threads wait for texels together.
  bool samples_beside_calls() const {
    bool samples = false, calls = false, loops = false;
    ir::walk(*kernel_.body, [&](const ir::Op& op) {
      samples |= op.code == ir::OpCode::texture;
      calls |= op.code == ir::OpCode::call && op.callee->from_library;
      loops |= op.code == ir::OpCode::for_ || op.code == ir::OpCode::while_;
    });
    return samples && calls && !loops && kernel_weight(kernel_) <= kMaxSampleWeight;
  }

  /// ptxas saves registers, for many warps, and so puts off loads that could run together. With bounds that any launch
  /// fulfils it takes up to 64.
  void allow_registers() {
    annotate("maxntidx", 1024);
    annotate("minctasm", 1);
  }

  /// What the program says of the kernel; false if that is nothing.
  bool keep_bounds(const GpuBounds& bounds) {
    const std::pair<const char*, int> all[] = {{"maxntidx", bounds.threads},
                                               {"minctasm", bounds.blocks},
                                               {"maxclusterrank", bounds.cluster},
                                               {"maxnreg", bounds.registers}};
    bool any = false;
    for (const auto& [property, value] : all) {
      if (value <= 0) continue;
      annotate(property, std::uint64_t(value));
      any = true;
    }
    return any;
  }

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(unit_.context, name, function_); }

  llvm::Value* trailer(std::size_t offset) {
    return b_.CreateConstInBoundsGEP1_64(unit_.i8, function_->getArg(0), trailer_ + offset);
  }
  llvm::Value* field(std::size_t offset) { return b_.CreateAlignedLoad(unit_.i64, trailer(offset), llvm::Align(8)); }

  void load_params(const ParamLayout& layout) {
    Emitter e(unit_, function_, kernel_, nullptr);
    e.b.SetInsertPoint(b_.GetInsertBlock());
    for (std::size_t k = 0; k < layout.params.size(); ++k) {
      const ParamLayout::Param& param = layout.params[k];
      params_.push_back(e.load_params(param.type, function_->getArg(0), param.offset, std::int32_t(k)));
      if (kernel_.form.strided) continue;
      fix_inner_strides(unit_, param.type, params_.back());
      narrow_layout(param.type, params_.back());
    }
    context_ = trailer(0);
  }

  /// Launches of forms that are not strided promise that extents and strides fit 32 bits: read as such, they make one
  /// instruction of an index times a stride instead of three.
  void narrow_layout(const Type* type, llvm::MutableArrayRef<Part> parts) {
    if (type->is_struct()) {
      for (const Field& field : type->fields()) {
        const std::size_t count = unit_.parts(field.type).parts.size();
        narrow_layout(field.type, parts.take_front(count));
        parts = parts.drop_front(count);
      }
    } else if (type->is_array()) {
      for (Part& part : parts.drop_front(2))  // behind the addresses of data and gradient
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(part.v))
          part.v = b_.CreateSExt(b_.CreateAlignedLoad(unit_.i32, load->getPointerOperand(), llvm::Align(8)), unit_.i64);
    }
  }

  /// Calls `visit` for the addresses and outer strides of the array parameters.
  template <class Visit>
  void visit_layouts(const Visit& visit) {
    for (std::size_t k = 0; k < params_.size(); ++k) {
      const Type* type = kernel_.params()[k]->type;
      if (!type->is_array()) continue;
      visit(params_[k][0]);
      if (kernel_.form.adjoint) visit(params_[k][1]);
      for (std::size_t d = 0; d + 1 < type->rank(); ++d) visit(params_[k][2 + type->rank() + d]);
    }
  }

  /// Whether all arrays start, and all their rows, at multiples of 16 bytes.
  llvm::Value* arrays_aligned() {
    llvm::Value* bits = llvm::ConstantInt::get(unit_.i64, 0);
    visit_layouts([&](Part& part) {
      bits = b_.CreateOr(bits, part.v->getType()->isPointerTy() ? b_.CreatePtrToInt(part.v, unit_.i64) : part.v);
    });
    return b_.CreateICmpEQ(b_.CreateAnd(bits, b_.getInt64(kWideAccess - 1)), b_.getInt64(0));
  }

  /// Reads where the words of exact sums begin: the launch has put that in the place of the arrays' own memory.
  void open_exact_sums() {
    for (const analysis::LoneAdds& adds : analysis::find_private_sums(kernel_)) {
      const std::size_t at =
          adds.to.offset + (adds.to.gradient ? offsetof(ArrayDesc, grad) : offsetof(ArrayDesc, data));
      llvm::Value* from = b_.CreateConstInBoundsGEP1_64(unit_.i8, function_->getArg(0), at);
      llvm::Value* start = b_.CreateAlignedLoad(unit_.ptr, from, llvm::Align(8));
      for (const ir::Op* op : adds.ops)
        if (op->imm == analysis::kAddsAlone) gpu_.exact[op] = start;
    }
  }

  /// Says so to LLVM where it is known: accesses that follow are as wide as their addresses allow.
  void assume_aligned() {
    visit_layouts([&](Part& part) {
      if (part.v->getType()->isPointerTy())
        b_.CreateAlignmentAssumption(unit_.module->getDataLayout(), part.v, kWideAccess);
      else
        b_.CreateAssumption(b_.CreateICmpEQ(b_.CreateAnd(part.v, b_.getInt64(kWideAccess - 1)), b_.getInt64(0)));
    });
  }

  template <class Body>
  void loop(const char* name, llvm::Value* start, llvm::Value* end, const Body& body) {
    llvm::BasicBlock *head = block(name), *exit = block("done"), *before = b_.GetInsertBlock();
    b_.CreateCondBr(b_.CreateICmpSLT(start, end), head, exit);
    b_.SetInsertPoint(head);
    // Indices have 32 bits: of their own, since LLVM would not multiply the lower half of a longer number as one.
    llvm::PHINode* at = b_.CreatePHI(unit_.i64, 2);
    llvm::PHINode* low = b_.CreatePHI(unit_.i32, 2);
    at->addIncoming(start, before);
    {
      llvm::IRBuilder<> ahead(before->getTerminator());
      low->addIncoming(ahead.CreateTrunc(start, unit_.i32), before);
    }
    body(at, low);
    llvm::Value* next = b_.CreateAdd(at, stride_);
    at->addIncoming(next, b_.GetInsertBlock());
    low->addIncoming(b_.CreateAdd(low, b_.CreateTrunc(stride_, unit_.i32)), b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, end), head, exit);
    b_.SetInsertPoint(exit);
  }

  void run_body(const Part& linear, llvm::ArrayRef<Part> tids, const analysis::Uniformity* shapes) {
    Emitter e(unit_, function_, kernel_, shapes);
    e.b.SetInsertPoint(b_.GetInsertBlock());
    e.thread.context = context_;
    e.thread.block_threads = block_threads_;
    e.thread.linear = linear;
    for (std::size_t d = 0; d < tids.size(); ++d) e.thread.tids[d] = tids[d];
    for (std::size_t k = 0; k < params_.size(); ++k) e.set(kernel_.params()[k], params_[k]);
    e.use_scopes();
    e.emit_region(*kernel_.body);
    b_.SetInsertPoint(e.b.GetInsertBlock());
  }

  using Tids = llvm::SmallVector<llvm::Value*, 4>;

  /// A number of this launch's for dividing by an extent.
  llvm::Value* divisor(llvm::Type* type, std::size_t base, std::size_t k) {
    return b_.CreateAlignedLoad(type, trailer(base + k * sizeof(GpuDivisor)),
                                llvm::Align(type->getIntegerBitWidth() / 8));
  }

  /// The indices along the first dimensions of what stands at a place in them, by multiplications that the launch has prepared.
  /// Divisions of 64 bits are a hundred instructions each, and a tenth of the assembler's time for products of tiles.
  Tids divide(llvm::Value* rest, int rank) {
    Tids tids(std::size_t(rank), nullptr);
    for (std::size_t k = std::size_t(rank) - 1; k > 0; --k) {
      llvm::Type* wide = llvm::Type::getInt128Ty(unit_.context);
      llvm::Value* factor = divisor(unit_.i64, offsetof(GpuTrailer, large_divisors), k);
      llvm::Value* product = b_.CreateMul(b_.CreateZExt(b_.CreateShl(rest, 1), wide), b_.CreateZExt(factor, wide));
      llvm::Value* zeros =
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, b_.CreateSub(dims_[k], b_.getInt64(1)), b_.getFalse());
      llvm::Value* quotient =
          b_.CreateLShr(b_.CreateTrunc(b_.CreateLShr(product, 64), unit_.i64), b_.CreateSub(b_.getInt64(64), zeros));
      tids[k] = b_.CreateTrunc(b_.CreateSub(rest, b_.CreateMul(quotient, dims_[k])), unit_.i32);
      rest = quotient;
    }
    tids[0] = b_.CreateTrunc(rest, unit_.i32);
    return tids;
  }

  /// The same in launches of fewer than 2^31 threads.
  Tids divide_small(llvm::Value* rest, int rank) {
    Tids tids(std::size_t(rank), nullptr);
    for (std::size_t k = std::size_t(rank) - 1; k > 0; --k) {
      const std::size_t base = offsetof(GpuTrailer, divisors);
      auto wide = [&](llvm::Value* v) { return b_.CreateZExt(v, unit_.i64); };
      llvm::Value* product = b_.CreateMul(wide(rest), wide(divisor(unit_.i32, base + offsetof(GpuDivisor, factor), k)));
      llvm::Value* high = b_.CreateTrunc(b_.CreateLShr(product, 32), unit_.i32);
      llvm::Value* quotient =
          b_.CreateLShr(b_.CreateAdd(high, rest), divisor(unit_.i32, base + offsetof(GpuDivisor, shift), k));
      tids[k] = b_.CreateSub(rest, b_.CreateMul(quotient, b_.CreateTrunc(dims_[k], unit_.i32)));
      rest = quotient;
    }
    tids[0] = rest;
    return tids;
  }

  /// Indices along the first dimensions; `low`: the place's lower half.
  Tids indices(llvm::Value* place, llvm::Value* low, int rank) {
    llvm::BasicBlock *small = block("small"), *large = block("large"), *known = block("known");
    b_.CreateCondBr(b_.CreateICmpSLE(count_, b_.getInt64(INT32_MAX)), small, large);
    b_.SetInsertPoint(large);
    Tids slowly = divide(place, rank);
    b_.CreateBr(known);
    b_.SetInsertPoint(small);
    Tids quickly = divide_small(low, rank);
    b_.CreateBr(known);
    b_.SetInsertPoint(known);
    Tids tids;
    for (std::size_t k = 0; k < slowly.size(); ++k) {
      llvm::PHINode* tid = b_.CreatePHI(unit_.i32, 2);
      tid->addIncoming(slowly[k], large);
      tid->addIncoming(quickly[k], small);
      tids.push_back(tid);
    }
    return tids;
  }

  void thread(llvm::Value* linear, llvm::Value* low) {
    if (unit_.options.order == ThreadOrder::falling) {
      linear = b_.CreateSub(b_.CreateSub(count_, b_.getInt64(1)), linear);
      low = b_.CreateTrunc(linear, unit_.i32);
    }
    if (rank_ == 1) return run_body(Part{linear}, {Part{low}}, nullptr);
    llvm::SmallVector<Part, 4> tids;
    for (llvm::Value* tid : indices(linear, low, rank_)) tids.push_back(Part{tid});
    run_body(Part{linear}, tids, nullptr);
  }

  void whole_group(llvm::Value* linear, llvm::Value* low) {
    analysis::LaneEntry in_row;
    in_row.tids[0] = in_row.thread = 1;
    analysis::Uniformity shapes(kernel_, in_row);
    Part tid{low, 1};
    run_body(Part{linear, 1}, tid, &shapes);
  }

  void open_sum(const std::vector<const ir::Op*>& adds) {
    const Type* element = adds.front()->result()->type;
    llvm::Type* type = unit_.type(element->scalar_kind());
    llvm::SmallVector<llvm::Value*, 4> slots;
    for (std::size_t k = 0; k < unit_.parts(element).parts.size(); ++k) {
      slots.push_back(b_.CreateAlloca(type));
      b_.CreateStore(llvm::Constant::getNullValue(type), slots.back());
    }
    for (const ir::Op* op : adds) gpu_.sums[op] = slots;
  }

  void close_sums() {
    Emitter e(unit_, function_, kernel_, nullptr);
    e.b.SetInsertPoint(b_.GetInsertBlock());
    for (std::size_t k = 0; k < params_.size(); ++k) e.set(kernel_.params()[k], params_[k]);
    llvm::SmallVector<PlaceSum, 2> sums;
    for (const std::vector<const ir::Op*>& adds : plan_.sums) {
      const ir::Op& op = *adds.front();
      const ir::Value* array = op.operand(0);
      bring_array(e, array);
      const Address at = e.address(op, {});
      PlaceSum sum{op.result()->type->scalar_kind(), e.byte_offset(at.pointer, e.b.getInt64(at.offset)), nullptr, {}};
      if (!is_parameter_array(array)) sum.wanted = e.b.CreateIsNotNull(e.get(array)[0].v);
      for (llvm::Value* slot : gpu_.sums[&op]) sum.values.push_back(e.b.CreateLoad(unit_.type(sum.kind), slot));
      sums.push_back(std::move(sum));
    }
    emit_block_add(e, sums);
    b_.SetInsertPoint(e.b.GetInsertBlock());
  }

  static bool is_parameter_array(const ir::Value* array) { return array->kind == ir::ValueKind::argument; }

  /// Emits again what leads from parameters to an array.
  static void bring_array(Emitter& e, const ir::Value* array) {
    if (is_parameter_array(array)) return;
    bring_array(e, array->op->operand(0));
    e.emit_op(*array->op);
  }

  CodeUnit& unit_;
  GpuHooks& gpu_;
  const ir::Function& kernel_;
  const GpuPlan plan_;
  const int rank_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  std::uint32_t trailer_ = 0;
  llvm::Value* block_threads_ = nullptr;
  llvm::Value *context_ = nullptr, *count_ = nullptr, *first_ = nullptr, *stride_ = nullptr;
  llvm::SmallVector<llvm::Value*, 4> dims_;
  std::vector<Parts> params_;
};

}  // namespace

void emit_gpu_kernel(CodeUnit& unit, GpuHooks& hooks, const ir::Function& kernel) {
  GpuFrame frame(unit, hooks, kernel);
  hooks.lanes = frame.emit();
  hooks.steps = frame.steps();
}

}  // namespace weft::codegen
