// Approximations are those that CUDA's fast mode takes: powers of two, binary logarithms, sine, cosine and the
// hyperbolic tangent of the special function unit, and what is one multiplication away from them. docs/gpus.md states
// their errors. Everything else keeps its accuracy under fast_math.
#include "codegen/nvptx/elementary.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/MDBuilder.h>

#include "math/library.h"

namespace weft::codegen {

using ir::OpCode;

namespace {

constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453, kLog10Of2 = 0.3010299956639812;

bool has_approximation(OpCode code) {
  switch (code) {
    case OpCode::sin:
    case OpCode::cos:
    case OpCode::tan:
    case OpCode::tanh:
    case OpCode::exp:
    case OpCode::exp2:
    case OpCode::log:
    case OpCode::log2:
    case OpCode::log10:
    case OpCode::sqrt:
    case OpCode::pow: return true;
    default: return false;  // safe: computed as everywhere else
  }
}

/// Functions of large angles are parts of the library's own bodies.
bool in_libdevice(OpCode code) {
  return ir::class_of(code) == ir::OpClass::math && code != OpCode::sin_large && code != OpCode::cos_large &&
         code != OpCode::tan_large;
}

llvm::Value* approximate(Emitter& e, OpCode code, llvm::ArrayRef<llvm::Value*> operands) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Type* type = e.unit.f32;
  auto number = [&](double v) { return llvm::ConstantFP::get(type, v); };
  auto unary = [&](llvm::Intrinsic::ID id, llvm::Value* v) -> llvm::Value* { return b.CreateIntrinsic(id, {}, {v}); };
  auto exp2 = [&](llvm::Value* v) { return unary(llvm::Intrinsic::nvvm_ex2_approx_ftz_f, v); };
  auto log2 = [&](llvm::Value* v) { return unary(llvm::Intrinsic::nvvm_lg2_approx_ftz_f, v); };
  auto sin = [&](llvm::Value* v) { return unary(llvm::Intrinsic::nvvm_sin_approx_ftz_f, v); };
  auto cos = [&](llvm::Value* v) { return unary(llvm::Intrinsic::nvvm_cos_approx_ftz_f, v); };
  llvm::Value* x = operands[0];
  switch (code) {
    case OpCode::sin: return sin(x);
    case OpCode::cos: return cos(x);
    case OpCode::sqrt: return unary(llvm::Intrinsic::nvvm_sqrt_approx_ftz_f, x);
    case OpCode::tan: return b.CreateFDiv(sin(x), cos(x));
    case OpCode::exp: return exp2(b.CreateFMul(x, number(kLog2E)));
    case OpCode::exp2: return exp2(x);
    case OpCode::log: return b.CreateFMul(log2(x), number(kLn2));
    case OpCode::log2: return log2(x);
    case OpCode::log10: return b.CreateFMul(log2(x), number(kLog10Of2));
    case OpCode::tanh: {
      if (e.unit.target.sm < 75)  // 1 − 2/(e^2x + 1)
        return b.CreateFSub(
            number(1), b.CreateFDiv(number(2), b.CreateFAdd(exp2(b.CreateFMul(x, number(2 * kLog2E))), number(1))));
      auto* signature = llvm::FunctionType::get(type, {type}, false);
      return b.CreateCall(signature, llvm::InlineAsm::get(signature, "tanh.approx.f32 $0, $1;", "=f,f", false), {x});
    }
    case OpCode::pow: {
      // Negative bases have powers of whole numbers, as everywhere; 0 has its power 0.
      llvm::Value* y = operands[1];
      llvm::Value* power = exp2(b.CreateFMul(y, log2(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x))));
      llvm::Value* half = b.CreateFMul(y, number(0.5));
      auto whole = [&](llvm::Value* v) {
        return b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, v), v);
      };
      llvm::Value* odd = b.CreateSelect(whole(half), power, b.CreateFNeg(power));
      llvm::Value* below = b.CreateSelect(whole(y), odd, llvm::ConstantFP::getNaN(type));
      power = b.CreateSelect(b.CreateFCmpOLT(x, number(0)), below, power);
      return b.CreateSelect(b.CreateFCmpOEQ(y, number(0)), number(1), power);
    }
    default: break;  // safe: an internal error
  }
  WEFT_UNREACHABLE("no approximation of " + std::string(ir::name_of(code)));
}

llvm::Value* call_libdevice(Emitter& e, OpCode code, ScalarKind kind, llvm::ArrayRef<llvm::Value*> operands) {
  std::string name = "__nv_" + std::string(ir::name_of(code)) + (kind == ScalarKind::f64 ? "" : "f");
  llvm::Type* type = e.unit.type(kind);
  llvm::SmallVector<llvm::Type*, 2> params(operands.size(), type);
  auto* signature = llvm::FunctionType::get(type, params, false);
  return e.b.CreateCall(e.unit.helper(name.c_str(), signature, false), operands);
}

/// The library's function by its core where all lanes of the warp's threads allow it, which is nearly always; else by its
/// whole body. Results are the same. In loops that are unrolled it is the body at once, without a branch.
llvm::Value* by_core(Emitter& e, OpCode code, llvm::Value* x) {
  llvm::IRBuilder<>& b = e.b;
  const bool varying = x->getType()->isVectorTy();
  auto inlined = [&](llvm::Function* function) {
    llvm::CallInst* call = b.CreateCall(function, {x});
    call->addFnAttr(llvm::Attribute::AlwaysInline);
    call->setDoesNotThrow();
    return call;
  };
  if (e.overlaps_roots) return inlined(e.unit.math(code, ScalarKind::f32, varying));
  llvm::Value* usual = nullptr;
  if (code == OpCode::exp) {
    llvm::Value* size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    usual = b.CreateFCmpOLT(size, llvm::ConstantFP::get(x->getType(), math::kExpCore));
  } else {
    llvm::Type* bits = varying ? e.unit.wide(e.unit.i32) : e.unit.i32;
    llvm::Value* above = b.CreateSub(b.CreateBitCast(x, bits), llvm::ConstantInt::get(bits, 0x00800000));
    usual = b.CreateICmpULT(above, llvm::ConstantInt::get(bits, 0x7f000000));
  }
  if (varying) usual = b.CreateAndReduce(usual);
  llvm::Value* core = inlined(e.unit.math(*math::math_core(code), varying));
  llvm::BasicBlock *from = b.GetInsertBlock(), *rare = e.block("rare"), *done = e.block("usual");
  b.CreateCondBr(usual, done, rare, llvm::MDBuilder(e.unit.context).createBranchWeights(1 << 20, 1));
  b.SetInsertPoint(rare);
  llvm::CallInst* whole = b.CreateCall(e.unit.math(code, ScalarKind::f32, varying), {x});
  whole->setDoesNotThrow();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* result = b.CreatePHI(x->getType(), 2);
  result->addIncoming(core, from);
  result->addIncoming(whole, rare);
  return result;
}

}  // namespace

bool gpu_computes(OpCode code, ScalarKind kind, bool fast_math, bool libdevice) {
  const bool single = kind != ScalarKind::f64;  // functions of 16-bit numbers are those of float32
  return (single && (code == OpCode::exp || code == OpCode::log)) || (fast_math && single && has_approximation(code)) ||
         (libdevice && in_libdevice(code));
}

llvm::Value* emit_gpu_function(Emitter& e, OpCode code, ScalarKind kind, llvm::ArrayRef<llvm::Value*> operands) {
  const EmitOptions& options = e.unit.options;
  if (!gpu_computes(code, kind, options.fast_math, !options.libdevice.empty())) return nullptr;
  const bool fast = options.fast_math && kind == ScalarKind::f32 && has_approximation(code);
  if (!fast && options.libdevice.empty()) return by_core(e, code, operands[0]);
  // Approximations of numbers out of a function's domain are not-a-number and stay it.
  llvm::IRBuilder<>::FastMathFlagGuard guard(e.b);
  llvm::FastMathFlags flags = e.b.getFastMathFlags();
  flags.setNoNaNs(false);
  flags.setNoInfs(false);
  e.b.setFastMathFlags(flags);
  auto scalar = [&](llvm::ArrayRef<llvm::Value*> args) {
    return fast ? approximate(e, code, args) : call_libdevice(e, code, kind, args);
  };
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(operands[0]->getType());
  if (!vector) return scalar(operands);
  llvm::Value* out = llvm::PoisonValue::get(vector);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    llvm::SmallVector<llvm::Value*, 2> args;
    for (llvm::Value* v : operands) args.push_back(e.b.CreateExtractElement(v, lane));
    out = e.b.CreateInsertElement(out, scalar(args), lane);
  }
  return out;
}

}  // namespace weft::codegen
