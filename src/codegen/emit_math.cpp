// Elementary functions that were not inlined: one LLVM function each, on scalars or on all lanes, made from the library's
// body. It takes no mask: it has no effects and no input is outside its domain, so inactive lanes only cost time.
#include "codegen/emitter.h"
#include "passes/math_library.h"

namespace weft::codegen {

llvm::Function* CodeUnit::math(ir::OpCode code, ScalarKind kind, bool varying) {
  const ir::Function& body = passes::math_function(code, kind);
  int width = varying ? lanes : 1;
  std::string name = "m." + std::string(ir::name_of(code)) + (kind == ScalarKind::f64 ? ".f64x" : ".f32x");
  name += std::to_string(width);
  if (llvm::Function* known = module->getFunction(name)) return known;
  llvm::Type* number = varying ? wide(type(kind)) : type(kind);
  llvm::SmallVector<llvm::Type*, 2> params(body.params().size(), number);
  auto* made = llvm::Function::Create(llvm::FunctionType::get(number, params, false),
                                      llvm::GlobalValue::InternalLinkage, name, *module);
  made->setDoesNotThrow();
  made->setDoesNotAccessMemory();
  made->setWillReturn();
  std::optional<analysis::Uniformity> shapes;
  analysis::LaneEntry entry;
  entry.params.assign(params.size(), varying ? analysis::kVarying : analysis::kUniform);
  if (lanes > 1) shapes.emplace(body, entry);
  Emitter e(*this, made, body, shapes ? &*shapes : nullptr);
  e.b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", made));
  for (std::size_t i = 0; i < params.size(); ++i) e.set(body.params()[i], {Part{made->getArg(unsigned(i))}});
  e.emit_region(*body.body);
  const Part& result = e.get(body.body->terminator()->operand(0))[0];
  e.b.CreateRet(varying ? e.vector(result) : e.plain(result));
  return made;
}

llvm::Value* Emitter::call_math(ir::OpCode code, ScalarKind kind, llvm::ArrayRef<llvm::Value*> operands) {
  llvm::CallInst* call = b.CreateCall(unit.math(code, kind, operands[0]->getType()->isVectorTy()), operands);
  call->setDoesNotThrow();
  return call;
}

}  // namespace weft::codegen
