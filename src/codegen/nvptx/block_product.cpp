// Products of tiles in shared memory. A thread's elements (ir::Fragments) are in registers from the first step to the last; where
// the tile is not the thread's own they are fetched before and put back behind. The order of additions is that of k; units of a
// warp have an order of their own.
#include <vector>

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/emit/target_hooks.h"
#include "codegen/nvptx/block_functions.h"
#include "codegen/nvptx/warp.h"
#include "ir/block_functions.h"

namespace weft::codegen {
namespace {

using ir::Fragments;
using ir::ProductKind;
using P = ir::ProductOperand;

/// Numbers of 32 bits that are never negative.
struct Math {
  llvm::IRBuilder<>& b;
  llvm::Value* add(llvm::Value* x, llvm::Value* y) const { return b.CreateAdd(x, y, "", true, true); }
  llvm::Value* times(llvm::Value* x, std::int64_t n) const {
    return b.CreateMul(x, b.getInt32(std::uint32_t(n)), "", true, true);
  }
  llvm::Value* over(llvm::Value* x, std::int64_t n) const { return b.CreateUDiv(x, b.getInt32(std::uint32_t(n))); }
  llvm::Value* rest(llvm::Value* x, std::int64_t n) const { return b.CreateURem(x, b.getInt32(std::uint32_t(n))); }
};

constexpr std::int64_t kFewUnits = 16;  // of a warp: several steps of theirs are short enough to be written out

/// A tile that is read.
struct Operand {
  llvm::Value *memory, *offset;
  std::int64_t strides[2];
  std::uint32_t size;  // of an element
  ScalarKind kind;
  ir::Swizzle swizzle;
  std::int64_t known = -1;  // the offset, if it is a constant, but for stages
};

class Product {
 public:
  Product(Emitter& e, const ir::Op& call)
      : e_(e),
        b_(e.b),
        math_{e.b},
        f_(Fragments::of(call)),
        depth_(number(call, P::p)),
        minus_(number(call, P::sign) < 0),
        own_(number(call, P::own) != 0),
        a_(operand(call, P::a, P::a_stage, ir::Swizzle::of(number(call, P::flags), false))),
        b_tile_(operand(call, P::b, P::b_stage, ir::Swizzle::of(number(call, P::flags), true))),
        c_(operand(call, P::c, 0, {})),
        thread_(e.unit.hooks->thread_of_block(e)) {}

  void emit(const ir::Op& call) {
    llvm::Type* const type = e_.unit.type(c_.kind);
    sums_.assign(std::size_t(f_.slots()), llvm::Constant::getNullValue(type));
    if (number(call, P::keep) != 0)
      for (std::size_t k = 0; k < sums_.size(); ++k)
        sums_[k] = b_.CreateAlignedLoad(type, slot(k), llvm::Align(c_.size));
    if (f_.kind == ProductKind::groups)
      emit_group_product(e_, call, sums_);
    else if (f_.kind == ProductKind::fma)
      by_pieces();
    else if (has_units(e_))
      by_units();
    else
      by_elements();
    for (std::size_t k = 0; k < sums_.size(); ++k) b_.CreateAlignedStore(sums_[k], slot(k), llvm::Align(c_.size));
  }

 private:
  static std::int64_t number(const ir::Op& call, std::size_t k) { return call.operand(k)->as_int(); }

  Operand operand(const ir::Op& call, std::size_t k, std::size_t stage, ir::Swizzle swizzle) {
    const ir::Value *array = call.operand(k), *offset = call.operand(k + 1);
    const Type* element = array->type->element();
    Operand made{e_.get(array)[0].v, e_.plain(offset), {0, 0}, element->size(), element->scalar_kind(), swizzle};
    if (offset->is_constant()) made.known = offset->as_int();
    if (k == P::c) return made;
    for (std::size_t d = 0; d < 2; ++d) made.strides[d] = number(call, k + 2 + d);
    made.offset = math_.add(made.offset, e_.plain(call.operand(stage)));
    return made;
  }

  llvm::Value* slot(std::size_t k) {
    if (own_) return b_.CreateConstInBoundsGEP1_64(e_.unit.i8, c_.memory, k * c_.size);
    llvm::Value *row = nullptr, *column = nullptr;
    f_.place<llvm::Value*>(math_, thread_, b_.getInt32(std::uint32_t(k)), row, column);
    llvm::Value* at = math_.add(c_.offset, math_.add(math_.times(row, f_.n), column));
    return block_place(e_, c_.memory, math_.times(at, c_.size));
  }

  /// The byte of an operand's element, swizzled where it is.
  llvm::Value* place(const Operand& x, llvm::Value* i, llvm::Value* j) {
    llvm::Value* at = math_.add(x.offset, math_.add(math_.times(i, x.strides[0]), math_.times(j, x.strides[1])));
    llvm::Value* bytes = math_.times(at, x.size);
    return block_place(e_, x.memory, swizzled(e_, bytes, x.swizzle));
  }

  llvm::Value* read(const Operand& x, llvm::Value* i, llvm::Value* j) {
    llvm::Value* v = b_.CreateAlignedLoad(e_.unit.memory_type(x.kind), place(x, i, j), llvm::Align(x.size));
    return x.kind == c_.kind ? v : e_.convert(v, x.kind, c_.kind);
  }

  llvm::Value* at(std::int64_t n) { return b_.getInt32(std::uint32_t(n)); }

  /// Runs `step(k)` for k = 0, by, …; the sums go from turn to turn. Up to `few` turns are written out.
  void loop(std::int64_t turns, std::int64_t by, std::int64_t few, const std::function<void(llvm::Value*)>& step) {
    if (turns <= few) {
      for (std::int64_t turn = 0; turn < turns; ++turn) step(at(turn * by));
      return;
    }
    llvm::BasicBlock *before = b_.GetInsertBlock(), *head = e_.block("steps"), *exit = e_.block("sums");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* k = b_.CreatePHI(e_.unit.i32, 2);
    k->addIncoming(at(0), before);
    std::vector<llvm::PHINode*> carried;
    for (llvm::Value*& sum : sums_) {
      carried.push_back(b_.CreatePHI(sum->getType(), 2));
      carried.back()->addIncoming(sum, before);
      sum = carried.back();
    }
    step(k);
    llvm::Value* next = math_.add(k, at(by));
    k->addIncoming(next, b_.GetInsertBlock());
    for (std::size_t n = 0; n < sums_.size(); ++n) carried[n]->addIncoming(sums_[n], b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpULT(next, at(turns * by)), head, exit);
    b_.SetInsertPoint(exit);
  }

  llvm::Value* fused(llvm::Value* x, llvm::Value* y, llvm::Value* sum) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {x, y, sum});
  }

  /// `count` elements from (i, j) behind a place on along a dimension, by loads of 16 bytes where they lie so.
  std::vector<llvm::Value*> run(const Operand& x, llvm::Value* start, std::int64_t i, std::int64_t j, std::size_t along,
                                std::int64_t count, bool aligned) {
    std::vector<llvm::Value*> out;
    const std::int64_t wide = std::min<std::int64_t>(count, 16 / x.size);
    const bool together = aligned && wide > 1 && count % wide == 0 && x.strides[along] == 1 && x.known >= 0 &&
                          x.known % wide == 0 && x.strides[1 - along] % wide == 0;
    llvm::Type* const type = e_.unit.type(x.kind);
    for (std::int64_t k = 0; k < count; k += together ? wide : 1) {
      const std::int64_t behind = i * x.strides[0] + j * x.strides[1] + k * x.strides[along];
      llvm::Value* from = b_.CreateConstInBoundsGEP1_64(e_.unit.i8, start, std::uint64_t(behind) * x.size);
      if (!together) {
        out.push_back(b_.CreateAlignedLoad(type, from, llvm::Align(x.size)));
        continue;
      }
      auto* several = llvm::FixedVectorType::get(type, unsigned(wide));
      llvm::Value* v = b_.CreateAlignedLoad(several, from, llvm::Align(std::uint64_t(wide) * x.size));
      for (std::int64_t n = 0; n < wide; ++n) out.push_back(b_.CreateExtractElement(v, std::uint64_t(n)));
    }
    return out;
  }

  /// Steps of a piece from k on: everything that it needs is read before the first sum.
  void steps_of(std::size_t first, llvm::Value* row, llvm::Value* column, llvm::Value* k, std::int64_t count) {
    std::vector<std::vector<llvm::Value*>> left, right;  // by row and step; by step and column
    const bool several = count > 1;
    llvm::Value *const a = place(a_, row, k), *const b = place(b_tile_, k, column);
    if (a_.strides[0] == 1) {
      left.resize(std::size_t(f_.rows));
      for (std::int64_t s = 0; s < count; ++s) {
        const auto rows = run(a_, a, 0, s, 0, f_.rows, true);
        for (std::size_t r = 0; r < rows.size(); ++r) left[r].push_back(rows[r]);
      }
    } else {
      for (std::int64_t r = 0; r < f_.rows; ++r) left.push_back(run(a_, a, r, 0, 1, count, several));
    }
    if (b_tile_.strides[0] == 1) {
      right.resize(std::size_t(count));
      for (std::int64_t c = 0; c < f_.columns; ++c) {
        const auto many = run(b_tile_, b, 0, c, 0, count, several);
        for (std::size_t s = 0; s < many.size(); ++s) right[s].push_back(many[s]);
      }
    } else {
      for (std::int64_t s = 0; s < count; ++s) right.push_back(run(b_tile_, b, s, 0, 1, f_.columns, true));
    }
    for (std::size_t s = 0; s < std::size_t(count); ++s)
      for (std::size_t r = 0; r < std::size_t(f_.rows); ++r) {
        llvm::Value* x = minus_ ? b_.CreateFNeg(left[r][s]) : left[r][s];
        for (std::size_t c = 0; c < std::size_t(f_.columns); ++c) {
          llvm::Value*& sum = sums_[first + r * std::size_t(f_.columns) + c];
          sum = fused(x, right[s][c], sum);
        }
      }
  }

  /// Fused multiply-adds: a piece of rows by columns in registers, four steps at a time, and twice so in a turn where that comes
  /// out even: loads of the next four run while those before are added.
  void by_pieces() {
    constexpr std::int64_t kSteps = 4;
    const std::int64_t piece = f_.rows * f_.columns, pieces = f_.slots() / piece, whole = depth_ / kSteps;
    const std::int64_t times = piece > 32 || whole % 2 != 0 ? 1 : 2;
    for (std::int64_t q = 0; q < pieces; ++q) {
      const std::size_t first = std::size_t(q * piece);
      llvm::Value *row = nullptr, *column = nullptr;
      f_.place<llvm::Value*>(math_, thread_, at(q * piece), row, column);
      loop(whole / times, kSteps * times, 1, [&](llvm::Value* k) {
        for (std::int64_t n = 0; n < times; ++n) steps_of(first, row, column, math_.add(k, at(n * kSteps)), kSteps);
      });
      for (std::int64_t k = whole * kSteps; k < depth_; ++k) steps_of(first, row, column, at(k), 1);
    }
  }

  /// What by_units computes, for GPUs that lack them.
  void by_elements() {
    loop(depth_, 1, 1, [&](llvm::Value* k) {
      for (std::size_t n = 0; n < sums_.size(); ++n) {
        llvm::Value *row = nullptr, *column = nullptr;
        f_.place<llvm::Value*>(math_, thread_, at(std::int64_t(n)), row, column);
        llvm::Value* x = read(a_, row, k);
        sums_[n] = fused(minus_ ? b_.CreateFNeg(x) : x, read(b_tile_, k, column), sums_[n]);
      }
    });
  }

  /// Units of 16 by 8 elements and 16 steps (tf32: 8), of which a warp has `rows` by `columns`.
  void by_units() {
    const bool halves = f_.kind == ProductKind::halves;
    const std::int64_t steps = halves ? 16 : 8;
    llvm::Value *warp = math_.over(thread_, Fragments::kWarp), *lane = math_.rest(thread_, Fragments::kWarp);
    llvm::Value* first_row = math_.times(math_.over(warp, f_.beside()), f_.rows * Fragments::kUnitRows);
    llvm::Value* first_column = math_.times(math_.rest(warp, f_.beside()), f_.columns * Fragments::kUnitColumns);
    loop(depth_ / steps, steps, halves && f_.rows * f_.columns <= kFewUnits ? 4 : 1, [&](llvm::Value* k) {
      std::vector<std::vector<llvm::Value*>> left, right;
      for (std::int64_t r = 0; r < f_.rows; ++r) {
        llvm::Value* row = math_.add(first_row, at(r * Fragments::kUnitRows));
        left.push_back(halves ? left_halves(row, k, lane) : left_words(row, k, lane));
        if (minus_)
          for (llvm::Value*& v : left.back()) v = b_.CreateXor(v, at(halves ? 0x80008000 : 0x80000000));
      }
      for (std::int64_t c = 0; c < f_.columns; ++c) {
        llvm::Value* column = math_.add(first_column, at(c * Fragments::kUnitColumns));
        if (!halves) {
          right.push_back(right_words(k, column, lane));
        } else if (c % 2 == 0) {
          const bool two = c + 1 < f_.columns;
          const std::vector<llvm::Value*> both = right_halves(k, column, lane, two);
          right.push_back({both[0], both[1]});
          if (two) right.push_back({both[2], both[3]});
        }
      }
      for (std::size_t r = 0; r < left.size(); ++r)
        for (std::size_t c = 0; c < right.size(); ++c) multiply(left[r], right[c], (r * right.size() + c) * 4);
    });
  }

  void multiply(const std::vector<llvm::Value*>& left, const std::vector<llvm::Value*>& right, std::size_t first) {
    const bool f16 = a_.kind == ScalarKind::f16;
    llvm::SmallVector<llvm::Value*, 10> operands;
    for (const auto* side : {&left, &right})
      for (llvm::Value* v : *side)
        operands.push_back(f16 ? b_.CreateBitCast(v, llvm::FixedVectorType::get(b_.getHalfTy(), 2)) : v);
    for (std::size_t k = 0; k < 4; ++k) operands.push_back(sums_[first + k]);
    const llvm::Intrinsic::ID id = f_.kind == ProductKind::tf32 ? llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_tf32
                                   : f16                        ? llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32
                                                                : llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16;
    llvm::Value* made = b_.CreateIntrinsic(id, {}, operands);
    for (std::size_t k = 0; k < 4; ++k) sums_[first + k] = b_.CreateExtractValue(made, unsigned(k));
  }

  /// Eight rows of 16 bytes each, two or four times: thread n gives the address of row n.
  std::vector<llvm::Value*> load_matrices(const Operand& x, llvm::Value* i, llvm::Value* j, bool turned, bool four) {
    const llvm::Intrinsic::ID id = four ? (turned ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                                                  : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16)
                                        : (turned ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16
                                                  : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16);
    llvm::Value* from = place(x, i, j);
    llvm::Value* made = b_.CreateIntrinsic(id, {from->getType()}, {from});
    std::vector<llvm::Value*> out;
    for (unsigned k = 0; k < (four ? 4u : 2u); ++k) out.push_back(b_.CreateExtractValue(made, k));
    return out;
  }

  /// Rows 0 and 8 of the first eight columns, then of the next.
  std::vector<llvm::Value*> left_halves(llvm::Value* row, llvm::Value* k, llvm::Value* lane) {
    llvm::Value *inner = math_.rest(lane, 8), *which = math_.over(lane, 8);
    llvm::Value *low = math_.times(math_.rest(which, 2), 8), *high = math_.times(math_.over(which, 2), 8);
    const bool turned = a_.strides[1] != 1;
    llvm::Value* i = math_.add(row, turned ? low : math_.add(low, inner));
    llvm::Value* j = math_.add(k, turned ? math_.add(high, inner) : high);
    return load_matrices(a_, i, j, turned, true);
  }

  /// Steps 0 and 8 of eight columns, and of the next eight.
  std::vector<llvm::Value*> right_halves(llvm::Value* k, llvm::Value* column, llvm::Value* lane, bool two) {
    llvm::Value *inner = math_.rest(lane, 8), *which = math_.over(lane, 8);
    llvm::Value* low = math_.times(math_.rest(which, 2), 8);
    llvm::Value* high = two ? math_.times(math_.over(which, 2), 8) : at(0);
    const bool turned = b_tile_.strides[1] == 1;
    llvm::Value* i = math_.add(k, turned ? math_.add(low, inner) : low);
    llvm::Value* j = math_.add(column, turned ? high : math_.add(high, inner));
    return load_matrices(b_tile_, i, j, turned, two);
  }

  /// A float32 whose upper 19 bits are the nearest of so many: the rest is not looked at.
  llvm::Value* rounded(llvm::Value* bits) { return b_.CreateAdd(bits, at(0x1000)); }
  llvm::Value* rounded(const Operand& x, llvm::Value* i, llvm::Value* j) {
    return rounded(b_.CreateAlignedLoad(e_.unit.i32, place(x, i, j), llvm::Align(4)));
  }

  /// Whether words along a dimension are parts of 16 bytes.
  static bool lies_in_rows(const Operand& x, std::size_t along) {
    return x.strides[along] == 1 && x.strides[1 - along] % 4 == 0 && x.known >= 0 && x.known % 4 == 0;
  }

  /// Four words are as long as eight halves: where they lie along the steps, they come as rows of those.
  std::vector<llvm::Value*> left_words(llvm::Value* row, llvm::Value* k, llvm::Value* lane) {
    std::vector<llvm::Value*> out;
    if (lies_in_rows(a_, 1)) {
      llvm::Value *inner = math_.rest(lane, 8), *which = math_.over(lane, 8);
      llvm::Value* i = math_.add(row, math_.add(math_.times(math_.rest(which, 2), 8), inner));
      llvm::Value* j = math_.add(k, math_.times(math_.over(which, 2), 4));
      for (llvm::Value* bits : load_matrices(a_, i, j, false, true)) out.push_back(rounded(bits));
      return out;
    }
    for (std::int64_t n = 0; n < 4; ++n)
      out.push_back(rounded(a_, math_.add(row, math_.add(math_.over(lane, 4), at(n % 2 * 8))),
                            math_.add(k, math_.add(math_.rest(lane, 4), at(n / 2 * 4)))));
    return out;
  }

  std::vector<llvm::Value*> right_words(llvm::Value* k, llvm::Value* column, llvm::Value* lane) {
    std::vector<llvm::Value*> out;
    if (lies_in_rows(b_tile_, 0)) {
      llvm::Value *inner = math_.rest(lane, 8), *which = math_.rest(math_.over(lane, 8), 2);
      llvm::Value* i = math_.add(k, math_.times(which, 4));
      for (llvm::Value* bits : load_matrices(b_tile_, i, math_.add(column, inner), false, false))
        out.push_back(rounded(bits));
      return out;
    }
    for (std::int64_t n = 0; n < 2; ++n)
      out.push_back(rounded(b_tile_, math_.add(k, math_.add(math_.rest(lane, 4), at(n * 4))),
                            math_.add(column, math_.over(lane, 4))));
    return out;
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const Math math_;
  const Fragments f_;
  const std::int64_t depth_;
  const bool minus_, own_;
  const Operand a_, b_tile_, c_;
  llvm::Value* const thread_;
  std::vector<llvm::Value*> sums_;
};

}  // namespace

llvm::Value* block_place(Emitter& e, llvm::Value* memory, llvm::Value* bytes) {
  llvm::Value* start = e.b.CreateAddrSpaceCast(memory, llvm::PointerType::get(e.unit.context, kSharedSpace));
  return e.b.CreateInBoundsGEP(e.unit.i8, start, e.b.CreateZExt(bytes, e.unit.i64));
}

llvm::Value* swizzled(Emitter& e, llvm::Value* bytes, const ir::Swizzle& how) {
  if (!how) return bytes;
  llvm::Value* around = e.b.CreateAnd(e.b.CreateLShr(bytes, std::uint64_t(how.shift)), (1u << how.bits) - 1);
  return e.b.CreateXor(bytes, e.b.CreateShl(around, ir::Swizzle::kPart));
}

bool has_units(const Emitter& e) { return e.unit.target.sm >= 80; }

void emit_block_product(Emitter& e, const ir::Op& call) { Product(e, call).emit(call); }

}  // namespace weft::codegen
