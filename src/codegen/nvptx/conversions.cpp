// One conversion to 32 or 64 bits for each lane; smaller integers are clamped after. LLVM takes the plain ones, f2i.rz and d2i.rz, for its own
// conversions, of which numbers out of range are nothing: of an integer that became a float it then took the integer's bits. It leaves alone those that
// flush small numbers, which become 0 anyhow, and those of whole numbers that round to the nearest.
#include "codegen/nvptx/conversions.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

namespace weft::codegen {
namespace {

llvm::Value* convert_one(Emitter& e, llvm::Value* v, ScalarKind to) {
  using namespace llvm::Intrinsic;
  llvm::IRBuilder<>& b = e.b;
  const bool single = v->getType()->isFloatTy(), with_sign = is_signed(to), wide = scalar_bits(to) == 64;
  const ID of_single =
      wide ? (with_sign ? nvvm_f2ll_rz_ftz : nvvm_f2ull_rz_ftz) : (with_sign ? nvvm_f2i_rz_ftz : nvvm_f2ui_rz_ftz);
  const ID of_double = wide ? (with_sign ? nvvm_d2ll_rn : nvvm_d2ull_rn) : (with_sign ? nvvm_d2i_rn : nvvm_d2ui_rn);
  llvm::Value* const whole = single ? v : b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, v);
  llvm::Value* number = b.CreateIntrinsic(single ? of_single : of_double, {}, {whole});
  // From float32 to 32 bits the instruction gives 0 for NaN; others, for some devices, the least number.
  if (!single || wide)
    number = b.CreateSelect(b.CreateFCmpUNO(v, v), llvm::Constant::getNullValue(number->getType()), number);
  const unsigned bits = scalar_bits(to);
  if (bits >= 32) return number;
  const std::int32_t most = (1 << (with_sign ? bits - 1 : bits)) - 1;
  auto clamp = [&](ID id, std::int32_t bound) {
    number = b.CreateBinaryIntrinsic(id, number, b.getInt32(std::uint32_t(bound)));
  };
  clamp(with_sign ? smin : umin, most);
  if (with_sign) clamp(smax, -most - 1);
  return b.CreateTrunc(number, e.unit.type(to));
}

}  // namespace

llvm::Value* emit_float_to_int(Emitter& e, llvm::Value* v, ScalarKind to) {
  auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  if (!lanes) return convert_one(e, v, to);
  llvm::Value* out = llvm::PoisonValue::get(llvm::FixedVectorType::get(e.unit.type(to), lanes->getNumElements()));
  for (std::uint64_t k = 0; k < lanes->getNumElements(); ++k)
    out = e.b.CreateInsertElement(out, convert_one(e, e.b.CreateExtractElement(v, k), to), k);
  return out;
}

}  // namespace weft::codegen
