// Rows of an array into a tile, 16 bytes a thread at a time, by copies that run by themselves until the next barrier. Arrays whose
// rows don't begin at multiples of 16 bytes go element by element, by copies of 4 or 8 bytes or, if elements are smaller, through
// registers. What is there for edges and for such arrays is kept short: most launches never come by, and all of them wait for the
// assembler.
#include <numeric>

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/emit/target_hooks.h"
#include "codegen/nvptx/block_functions.h"
#include "codegen/nvptx/warp.h"
#include "ir/block_functions.h"

namespace weft::codegen {
namespace {

using C = ir::CopyOperand;

constexpr std::int64_t kPart = 16;       // bytes
constexpr std::uint32_t kLeastCopy = 4;  // bytes of the smallest copy that runs by itself

class Copy {
 public:
  Copy(Emitter& e, const ir::Op& call)
      : e_(e),
        b_(e.b),
        rows_(number(call, C::rows)),
        columns_(number(call, C::columns)),
        threads_(number(call, C::threads)),
        check_(number(call, C::check) != 0),
        swizzle_(ir::Swizzle::of(number(call, C::flags), false)),
        size_(call.operand(C::array)->type->element()->size()),
        kind_(call.operand(C::array)->type->element()->scalar_kind()),
        tile_(e.get(call.operand(C::tile))[0].v),
        thread_(e.unit.hooks->thread_of_block(e)) {
    const Parts& array = e.get(call.operand(C::array));
    data_ = b_.CreatePtrToInt(array[0].v, e.unit.i64);
    for (std::size_t d = 0; d < 2; ++d) {  // indices have 32 bits, extents are no less than 0
      extents_[d] =
          b_.CreateTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, array[2 + d].v, i64(INT32_MAX)), e.unit.i32);
      strides_[d] = array[4 + d].v;
    }
    row_ = e.plain(call.operand(C::row));
    column_ = e.plain(call.operand(C::column));
    offset_ = b_.CreateMul(e.plain(call.operand(C::offset)), b_.getInt32(std::uint32_t(size_)));
    aligned_ = known_multiple(call.operand(C::column), kDeep) * std::int64_t(size_) % kPart == 0;
  }

  void emit() {
    // All of this is the same in all threads, and most of it in all turns of a loop.
    llvm::Value* start = aligned_ ? data_ : b_.CreateAdd(data_, b_.CreateMul(wide(column_), i64(size_)));
    llvm::Value* gaps = b_.CreateAnd(b_.CreateOr(start, strides_[0]), i64(kPart - 1));
    llvm::Value* in_parts = b_.CreateICmpEQ(gaps, i64(0));
    in_parts = b_.CreateAnd(in_parts, b_.CreateICmpEQ(strides_[1], i64(size_)));
    llvm::Value* inside = b_.getTrue();
    if (check_) {
      inside = b_.CreateAnd(fits(row_, extents_[0], rows_), fits(column_, extents_[1], columns_));
      // Else the array may begin in the middle of a part.
      if (!aligned_) in_parts = b_.CreateAnd(in_parts, b_.CreateICmpSGE(column_, i32(0)));
    }
    if (!has_units(e_)) in_parts = b_.CreateAnd(in_parts, inside);
    const auto elements = [&] {
      if (has_units(e_) && size_ >= kLeastCopy) return by_small_copies();
      if (!check_) return by_elements(false);
      e_.either(inside, [&] { by_elements(false); }, [&] { by_elements(true); });
    };
    // The usual case is one branch away.
    e_.either(
        b_.CreateAnd(in_parts, inside), [&] { by_parts(false); },
        [&] {
          if (!check_ || !has_units(e_)) return elements();
          e_.either(in_parts, [&] { by_parts(true); }, elements);
        });
  }

 private:
  static std::int64_t number(const ir::Op& call, std::size_t k) { return call.operand(k)->as_int(); }

  static constexpr int kDeep = 4;  // operations that are looked through

  /// What a number is a multiple of for certain, up to the size of a part.
  static std::int64_t known_multiple(const ir::Value* value, int depth) {
    if (value->is_constant()) return value->as_int() % kPart == 0 ? kPart : std::gcd(value->as_int(), kPart);
    if (value->kind != ir::ValueKind::result || depth == 0) return 1;
    const ir::Op& op = *value->op;
    const auto of = [&](std::size_t k) { return known_multiple(op.operand(k), depth - 1); };
    switch (op.code) {
      case ir::OpCode::mul: return std::min(of(0) * of(1), kPart);
      case ir::OpCode::add:
      case ir::OpCode::sub: return std::gcd(of(0), of(1));
      case ir::OpCode::shl:
        if (!op.operand(1)->is_constant() || op.operand(1)->as_int() < 0 || op.operand(1)->as_int() > kDeep) return 1;
        return std::min(of(0) << op.operand(1)->as_int(), kPart);
      default: return 1;  // safe: nothing is known of what it makes
    }
  }
  llvm::Value* i64(std::int64_t n) { return b_.getInt64(std::uint64_t(n)); }
  llvm::Value* i32(std::int64_t n) { return b_.getInt32(std::uint32_t(n)); }

  llvm::Value* wide(llvm::Value* index) { return b_.CreateSExt(index, e_.unit.i64); }

  llvm::Value* fits(llvm::Value* from, llvm::Value* extent, std::int64_t length) {
    return b_.CreateAnd(b_.CreateICmpSGE(from, i32(0)), b_.CreateICmpSLE(from, b_.CreateSub(extent, i32(length))));
  }

  /// The array's byte at a row and a column of the tile.
  llvm::Value* address(llvm::Value* r, llvm::Value* column_bytes) {
    llvm::Value* row = b_.CreateMul(wide(b_.CreateAdd(row_, r)), strides_[0]);
    llvm::Value* in_row = b_.CreateAdd(b_.CreateMul(wide(column_), strides_[1]), column_bytes);
    return b_.CreateAdd(b_.CreateAdd(data_, row), in_row);
  }

  llvm::Value* pointer(llvm::Value* address) {
    return b_.CreateIntToPtr(address, llvm::PointerType::get(e_.unit.context, 1));
  }

  /// Where nothing is read the address must be one all the same.
  llvm::Value* or_any(llvm::Value* address, llvm::Value* none) {
    return pointer(b_.CreateSelect(none, b_.CreateAnd(data_, i64(-kPart)), address));
  }

  /// Panels begin where swizzles do: what a thread has of the place is the same in all turns.
  llvm::Value* place(llvm::Value* bytes) {
    if (!swizzle_.panels) return block_place(e_, tile_, swizzled(e_, b_.CreateAdd(offset_, bytes), swizzle_));
    llvm::Value* own = block_place(e_, tile_, swizzled(e_, bytes, swizzle_));
    return b_.CreateInBoundsGEP(e_.unit.i8, own, b_.CreateZExt(offset_, e_.unit.i64));
  }

  /// Where a row's byte lies.
  llvm::Value* in_panels(llvm::Value* r, llvm::Value* byte) {
    const std::int64_t width = swizzle_.width();
    llvm::Value* panel = b_.CreateMul(b_.CreateUDiv(byte, i32(width)), i32(rows_ * width));
    return b_.CreateAdd(b_.CreateAdd(panel, b_.CreateMul(r, i32(width))), b_.CreateURem(byte, i32(width)));
  }

  /// Parts t, t + threads, …; `partly`: rows or the ends of rows lie outside, which is a loop.
  void by_parts(bool partly) {
    const std::int64_t in_row = columns_ * std::int64_t(size_) / kPart, parts = rows_ * in_row;
    const std::int64_t turns = (parts + threads_ - 1) / threads_;
    if (partly) return loop(turns, parts, [&](llvm::Value* at) { part(at, 0, in_row, true); });
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      llvm::Value* at = b_.CreateAdd(thread_, i32(turn * threads_));
      const auto go = [&] { part(at, turn, in_row, false); };
      if ((turn + 1) * threads_ > parts)
        e_.when(b_.CreateICmpULT(at, i32(parts)), go);
      else
        go();
    }
  }

  /// Calls `body` for t, t + threads, … below `count`, in a loop that stays one: the assembler would write it out.
  void loop(std::int64_t turns, std::int64_t count, const std::function<void(llvm::Value*)>& body) {
    e_.counted_loop(std::uint64_t(turns), [&](llvm::Value* turn) {
      llvm::Value* at = b_.CreateAdd(thread_, b_.CreateMul(b_.CreateTrunc(turn, e_.unit.i32), i32(threads_)));
      if (turns * threads_ == count) return body(at);
      e_.when(b_.CreateICmpULT(at, i32(count)), [&] { body(at); });
    });
    llvm::LLVMContext& context = e_.unit.context;
    llvm::Metadata* stays = llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
    llvm::MDNode* mark = llvm::MDNode::getDistinct(context, {nullptr, stays});
    mark->replaceOperandWith(0, mark);
    b_.GetInsertBlock()->getSinglePredecessor()->getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, mark);
  }

  void part(llvm::Value* at, std::int64_t turn, std::int64_t in_row, bool partly) {
    llvm::Value *r = nullptr, *c = nullptr, *bytes = nullptr, *where = nullptr;
    if (threads_ % in_row == 0 && !partly) {  // the same part of rows that are as far from each other
      const std::int64_t behind = turn * (threads_ / in_row);
      llvm::Value* first = b_.CreateUDiv(thread_, i32(in_row));
      r = b_.CreateAdd(first, i32(behind));
      c = b_.CreateURem(thread_, i32(in_row));
      bytes = b_.CreateMul(b_.CreateZExt(c, e_.unit.i64), i64(kPart));
      where = b_.CreateAdd(address(first, bytes), b_.CreateMul(strides_[0], i64(behind)));
    } else {
      r = b_.CreateUDiv(at, i32(in_row));
      c = b_.CreateURem(at, i32(in_row));
      bytes = b_.CreateMul(b_.CreateZExt(c, e_.unit.i64), i64(kPart));
      where = address(r, bytes);
    }
    llvm::Value* to = place(swizzle_.panels ? in_panels(r, b_.CreateMul(c, i32(kPart))) : b_.CreateMul(at, i32(kPart)));
    if (!has_units(e_)) {
      auto* words = llvm::FixedVectorType::get(e_.unit.i32, 4);
      b_.CreateAlignedStore(b_.CreateAlignedLoad(words, pointer(where), llvm::Align(kPart)), to, llvm::Align(kPart));
      return;
    }
    if (!partly) {
      b_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16, {}, {to, pointer(where)});
      return;
    }
    // How many elements there are; the rest becomes zeros.
    const std::int64_t most = kPart / std::int64_t(size_);
    llvm::Value* there = b_.CreateICmpULT(b_.CreateAdd(row_, r), extents_[0]);
    llvm::Value* first = b_.CreateAdd(column_, b_.CreateMul(c, i32(most)));
    if (aligned_) there = b_.CreateAnd(there, b_.CreateICmpSGE(first, i32(0)));
    llvm::Value* left = b_.CreateSub(extents_[1], first);
    left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, i32(most));
    left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, i32(0));
    left = b_.CreateSelect(there, left, i32(0));
    b_.CreateIntrinsic(
        llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16_s, {},
        {to, or_any(where, b_.CreateICmpEQ(left, i32(0))), b_.CreateMul(left, i32(std::int64_t(size_)))});
  }

  /// Elements t, t + threads, … by copies of their own; those that lie outside become zeros.
  void by_small_copies() {
    const std::int64_t count = rows_ * columns_, turns = (count + threads_ - 1) / threads_;
    const llvm::Intrinsic::ID copy = size_ == kLeastCopy ? llvm::Intrinsic::nvvm_cp_async_ca_shared_global_4_s
                                                         : llvm::Intrinsic::nvvm_cp_async_ca_shared_global_8_s;
    loop(turns, count, [&](llvm::Value* at) {
      llvm::Value *r = b_.CreateUDiv(at, i32(columns_)), *c = b_.CreateURem(at, i32(columns_));
      llvm::Value* there = check_ ? is_there(r, c) : b_.getTrue();
      llvm::Value* from = address(r, b_.CreateMul(b_.CreateZExt(c, e_.unit.i64), strides_[1]));
      llvm::Value* bytes = b_.CreateSelect(there, i32(std::int64_t(size_)), i32(0));
      b_.CreateIntrinsic(copy, {}, {place(byte_of(at)), or_any(from, b_.CreateNot(there)), bytes});
    });
  }

  llvm::Value* is_there(llvm::Value* r, llvm::Value* c) {
    return b_.CreateAnd(b_.CreateICmpULT(b_.CreateAdd(row_, r), extents_[0]),
                        b_.CreateICmpULT(b_.CreateAdd(column_, c), extents_[1]));
  }

  /// Where an element lies in the tile, but for swizzles.
  llvm::Value* byte_of(llvm::Value* at) {
    if (!swizzle_.panels) return b_.CreateMul(at, i32(std::int64_t(size_)));
    return in_panels(b_.CreateUDiv(at, i32(columns_)),
                     b_.CreateMul(b_.CreateURem(at, i32(columns_)), i32(std::int64_t(size_))));
  }

  /// Elements t, t + threads, …
  void by_elements(bool partly) {
    llvm::Type* const type = e_.unit.memory_type(kind_);
    const std::int64_t count = rows_ * columns_, turns = (count + threads_ - 1) / threads_;
    const auto from = [&](llvm::Value* at) {
      llvm::Value *r = b_.CreateUDiv(at, i32(columns_)), *c = b_.CreateURem(at, i32(columns_));
      return address(r, b_.CreateMul(b_.CreateZExt(c, e_.unit.i64), strides_[1]));
    };
    const auto read = [&](llvm::Value* address) {
      return b_.CreateAlignedLoad(type, pointer(address), llvm::Align(size_));
    };
    const auto write = [&](llvm::Value* at, llvm::Value* value) {
      b_.CreateAlignedStore(value, place(byte_of(at)), llvm::Align(size_));
    };
    // Several loads at once where all is there.
    const std::int64_t several = !partly && count % (4 * threads_) == 0 ? 4 : 1;
    e_.counted_loop(std::uint64_t(turns / several), [&](llvm::Value* turn) {
      llvm::Value* first =
          b_.CreateAdd(thread_, b_.CreateMul(b_.CreateTrunc(turn, e_.unit.i32), i32(several * threads_)));
      if (several > 1) {
        llvm::SmallVector<std::pair<llvm::Value*, llvm::Value*>, 4> values;
        llvm::Value* const begin = from(first);
        for (std::int64_t k = 0; k < several; ++k) {
          llvm::Value* at = b_.CreateAdd(first, i32(k * threads_));
          const bool below = threads_ % columns_ == 0;  // so many rows further down
          values.emplace_back(
              at,
              read(below ? b_.CreateAdd(begin, b_.CreateMul(strides_[0], i64(k * threads_ / columns_))) : from(at)));
        }
        for (const auto& [at, value] : values) write(at, value);
        return;
      }
      e_.when(b_.CreateICmpULT(first, i32(count)), [&] {
        if (!partly) return write(first, read(from(first)));
        llvm::Value* there = is_there(b_.CreateUDiv(first, i32(columns_)), b_.CreateURem(first, i32(columns_)));
        llvm::Value* found = nullptr;
        llvm::BasicBlock *outside = b_.GetInsertBlock(), *within = nullptr;
        e_.when(there, [&] {
          found = read(from(first));
          within = b_.GetInsertBlock();
        });
        llvm::PHINode* value = b_.CreatePHI(type, 2);
        value->addIncoming(found, within);
        value->addIncoming(llvm::Constant::getNullValue(type), outside);
        write(first, value);
      });
    });
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const std::int64_t rows_, columns_, threads_;
  const bool check_;
  bool aligned_ = false;  // columns begin at parts
  const ir::Swizzle swizzle_;
  const std::uint32_t size_;
  const ScalarKind kind_;
  llvm::Value *const tile_, *const thread_;
  llvm::Value *data_, *extents_[2], *strides_[2], *row_, *column_, *offset_;
};

}  // namespace

void emit_block_copy(Emitter& e, const ir::Op& call) { Copy(e, call).emit(); }

}  // namespace weft::codegen
