// A number is mantissa times a power of two: the mantissa, shifted within its words, is added to these, or taken away.
#include "codegen/nvptx/exact_adds.h"

#include "codegen/exact_sums.h"
#include "codegen/nvptx/warp.h"

namespace weft::codegen {

void emit_exact_add(Emitter& e, ScalarKind scalar, llvm::Value* start, llvm::Value* place, llvm::Value* value) {
  llvm::IRBuilder<>& b = e.b;
  const ExactSum sum = exact_sum(scalar);
  const int size = 1 + sum.exponent_bits + sum.fraction_bits;  // bits of a number
  llvm::Type* type = b.getIntNTy(unsigned(size));
  auto number = [&](std::uint64_t v) { return llvm::ConstantInt::get(type, v); };

  llvm::Value* first = b.CreatePtrToInt(start, e.unit.i64);
  llvm::Value* numbers =
      b.CreateExactSDiv(b.CreateSub(b.CreatePtrToInt(place, e.unit.i64), first), b.getInt64(std::uint64_t(size / 8)));
  llvm::Value* words =
      b.CreateIntToPtr(b.CreateAdd(first, b.CreateMul(numbers, b.getInt64(std::uint64_t(sum.bytes())))), e.unit.ptr);
  auto change = [&](ir::AtomicKind kind, llvm::Value* word, llvm::Value* by) {
    emit_reduction(e, kind, ScalarKind::u64, b.CreateGEP(e.unit.i64, words, word), by);
  };

  llvm::Value* bits = b.CreateBitCast(value, type);
  const std::uint64_t most = (std::uint64_t(1) << sum.exponent_bits) - 1, one = std::uint64_t(1) << sum.fraction_bits;
  llvm::Value* exponent = b.CreateAnd(b.CreateLShr(bits, number(std::uint64_t(sum.fraction_bits))), number(most));
  llvm::Value* fraction = b.CreateAnd(bits, number(one - 1));
  llvm::Value* negative = b.CreateICmpSLT(bits, number(0));
  auto add_number = [&] {
    llvm::Value* normal = b.CreateICmpNE(exponent, number(0));
    llvm::Value* mantissa = b.CreateOr(fraction, b.CreateSelect(normal, number(one), number(0)));
    // Denormals have the exponent of the least normal numbers.
    llvm::Value* at = b.CreateZExtOrTrunc(b.CreateSub(exponent, b.CreateZExt(normal, type)), e.unit.i64);
    llvm::Value* word = b.CreateLShr(at, 5);
    llvm::Type* wide = b.getIntNTy(size > 32 ? 128 : 64);
    llvm::Value* shifted = b.CreateShl(b.CreateZExt(mantissa, wide), b.CreateZExt(b.CreateAnd(at, 31), wide));
    for (int k = 0; k < (size > 32 ? 3 : 2); ++k) {
      llvm::Value* digit =
          b.CreateAnd(b.CreateTrunc(b.CreateLShr(shifted, std::uint64_t(32 * k)), e.unit.i64), b.getInt64(0xffffffff));
      e.when(b.CreateICmpNE(digit, b.getInt64(0)), [&] {
        change(ir::AtomicKind::add, b.CreateAdd(word, b.getInt64(std::uint64_t(k))),
               b.CreateSelect(negative, b.CreateNeg(digit), digit));
      });
    }
  };
  auto note = [&] {
    llvm::Value* infinity = b.CreateSelect(negative, b.getInt64(kSeenNegativeInfinity), b.getInt64(kSeenInfinity));
    llvm::Value* seen = b.CreateSelect(b.CreateICmpEQ(fraction, number(0)), infinity, b.getInt64(kSeenNan));
    change(ir::AtomicKind::bit_or, b.getInt64(std::uint64_t(sum.digits)), seen);
  };
  e.either(b.CreateICmpEQ(exponent, number(most)), note, add_number);
}

}  // namespace weft::codegen
