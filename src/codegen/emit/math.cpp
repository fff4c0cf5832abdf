// Elementary functions that were not inlined: one LLVM function each, on scalars or on all lanes, made from the library's
// body. It takes no mask: it has no effects and no input is outside its domain, so inactive lanes only cost time.
#include "codegen/emit/emitter.h"
#include "codegen/emit/target_hooks.h"
#include "math/library.h"

namespace weft::codegen {

llvm::Function* CodeUnit::math(ir::OpCode code, ScalarKind kind, bool varying) {
  return math_function(math::math_function(code, kind), std::string(ir::name_of(code)), kind, varying);
}

llvm::Function* CodeUnit::math_function(const ir::Function& body, const std::string& function, ScalarKind kind,
                                        bool varying) {
  int width = varying ? lanes : 1;
  std::string name = "m." + function + (kind == ScalarKind::f64 ? ".f64x" : ".f32x") + std::to_string(width);
  // The module is the table: one function for each width.
  if (llvm::Function* known = module->getFunction(name)) return known;
  llvm::Type* number = varying ? wide(type(kind)) : type(kind);
  llvm::SmallVector<llvm::Type*, 2> params(body.params().size(), number);
  auto* made = llvm::Function::Create(llvm::FunctionType::get(number, params, false),
                                      llvm::GlobalValue::InternalLinkage, name, *module);
  made->setDoesNotThrow();
  // So that LLVM may merge equal calls and drop unused ones, as it does with instructions.
  made->setDoesNotAccessMemory();
  made->setWillReturn();
  std::optional<analysis::Uniformity> shapes;
  analysis::LaneEntry entry;
  entry.params.assign(params.size(), varying ? analysis::kVarying : analysis::kUniform);
  if (lanes > 1) shapes.emplace(body, entry);
  // Without mask, context and turns: a body of the library ends by itself, and its loops count none.
  Emitter e(*this, made, body, shapes ? &*shapes : nullptr);
  e.b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", made));
  for (std::size_t i = 0; i < params.size(); ++i) e.set(body.params()[i], {Part{made->getArg(unsigned(i))}});
  e.emit_region(*body.body);
  const Part& result = e.get(body.body->terminator()->operand(0))[0];
  e.b.CreateRet(varying ? e.vector(result) : e.plain(result));
  return made;
}

/// Lane by lane over the active ones: functions that few programs ever call need no second, wide body to compile.
llvm::Value* Emitter::call_rare(ir::OpCode code, ScalarKind kind, llvm::Value* operand) {
  // A mask always has a lane here, so that the loop needs no test in front.
  llvm::Value* all = mask ? mask_bits(mask) : llvm::ConstantInt::getAllOnesValue(b.getIntNTy(unsigned(W)));
  llvm::Type* type = operand->getType();
  llvm::BasicBlock *from = b.GetInsertBlock(), *lanes = block("lanes"), *done = block("lanes.done");
  b.CreateBr(lanes);
  b.SetInsertPoint(lanes);
  llvm::PHINode* left = b.CreatePHI(all->getType(), 2);
  llvm::PHINode* results = b.CreatePHI(type, 2);
  llvm::Value* lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b.getTrue());
  lane = b.CreateZExt(lane, unit.i32);
  llvm::CallInst* call = b.CreateCall(unit.math(code, kind, false), {b.CreateExtractElement(operand, lane)});
  call->setDoesNotThrow();
  llvm::Value* more = b.CreateInsertElement(results, call, lane);
  llvm::Value* rest = b.CreateAnd(left, b.CreateSub(left, llvm::ConstantInt::get(all->getType(), 1)));
  left->addIncoming(all, from);
  left->addIncoming(rest, lanes);
  results->addIncoming(llvm::Constant::getNullValue(type), from);
  results->addIncoming(more, lanes);
  b.CreateCondBr(b.CreateICmpNE(rest, llvm::Constant::getNullValue(all->getType())), lanes, done);
  b.SetInsertPoint(done);
  return more;
}

llvm::Value* Emitter::call_math(ir::OpCode code, ScalarKind kind, llvm::ArrayRef<llvm::Value*> operands) {
  if (llvm::Value* result = unit.hooks->elementary(*this, code, kind, operands)) return result;
  if (math::is_rare_math(code) && operands[0]->getType()->isVectorTy()) return call_rare(code, kind, operands[0]);
  llvm::CallInst* call = b.CreateCall(unit.math(code, kind, operands[0]->getType()->isVectorTy()), operands);
  call->setDoesNotThrow();
  return call;
}

}  // namespace weft::codegen
