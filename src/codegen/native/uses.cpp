// Functions of the module that C++ calls: builtins (sema/native_builtins.cpp). Bitcode has calls of `weft_use_0`… with
// addresses; the k-th call in the native function's body says which function that is. What they need beside is the context
// of the launch and the thread's number, which C++ knows nothing of: everything is inlined into the entry first, which has both.
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>

#include "codegen/emit/emitter.h"
#include "ir/walk.h"
#include "runtime/kernel_abi.h"

namespace weft::codegen {
namespace {

std::vector<const ir::Function*> uses_of(const ir::Function& native) {
  std::vector<const ir::Function*> out;
  for (const ir::Op& op : *native.body)
    if (op.code == ir::OpCode::call) out.push_back(op.callee);
  return out;
}

void inline_all(llvm::Module& module) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(false));
  passes.run(module, modules);
}

}  // namespace

bool calls_back(const ir::Function& native) { return !uses_of(native).empty(); }

void CodeUnit::link_uses(const ir::Function& function, llvm::Module& from, llvm::Function& entry) {
  entry.removeFnAttr(llvm::Attribute::AlwaysInline);  // it is where things go
  inline_all(from);
  entry.addFnAttr(llvm::Attribute::AlwaysInline);
  const std::vector<const ir::Function*> uses = uses_of(function);
  for (std::size_t k = 0; k < uses.size(); ++k) {
    llvm::Function* named = from.getFunction("weft_use_" + std::to_string(k));
    if (!named) continue;  // an overload that nobody calls
    llvm::Function* made = used_by_native(*uses[k]);
    llvm::Function* there = from.getFunction(made->getName());
    if (!there)
      there =
          llvm::Function::Create(made->getFunctionType(), llvm::GlobalValue::ExternalLinkage, made->getName(), from);
    std::vector<llvm::CallInst*> calls;
    for (llvm::User* user : named->users()) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (!call || call->getCalledFunction() != named || call->getFunction() != &entry)
        throw Error("the native function '" + function.name +
                        "' calls builtins from a function that calls itself or by " +
                        "its address, which C++ of kernels can't do",
                    function.loc);
      calls.push_back(call);
    }
    for (llvm::CallInst* call : calls) {
      llvm::SmallVector<llvm::Value*, 8> args = {entry.getArg(0), entry.getArg(1)};
      args.append(call->arg_begin(), call->arg_end());
      llvm::IRBuilder<>(call).CreateCall(there, args);
      call->eraseFromParent();
    }
    named->eraseFromParent();
  }
}

llvm::Function* CodeUnit::used_by_native(const ir::Function& function) {
  llvm::Function*& made = used_[&function];
  if (!made) {
    llvm::SmallVector<llvm::Type*, 8> types = {ptr, i64};
    types.append(function.params().size() + function.result_types.size(), ptr);
    made = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false),
                                  llvm::GlobalValue::ExternalLinkage, "use." + std::to_string(used_.size()), *module);
    made->setDoesNotThrow();
    pending_used_.emplace_back(&function, made);
  }
  made->setLinkage(llvm::GlobalValue::ExternalLinkage);  // while the bitcode that calls it is linked
  return made;
}

void CodeUnit::emit_used(const ir::Function& function, llvm::Function& to) {
  Emitter e(*this, &to, function, nullptr);
  e.b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", &to));
  llvm::Function::arg_iterator arg = to.arg_begin();
  e.thread.context = &*arg++;
  e.thread.linear = Part{&*arg++};
  if (turns && turns->counts(function)) {
    // C++ has no turns to hand on. If the launch was stopped its results are the zeros that C++ put there.
    e.thread.turns = e.begin_turns(e.b.getInt32(runtime::kTurnsBetweenQuestions));
    e.thread.stopped = llvm::BasicBlock::Create(context, "stopped", &to);
    llvm::IRBuilder<>(e.thread.stopped).CreateRetVoid();
  }
  for (const ir::Value* param : function.params()) {
    Address at;
    at.pointer = &*arg++;
    at.element_size = param->type->size();
    e.set(param, e.load_parts(param->type, at));
  }
  e.emit_region(*function.body);
  const ir::Op* end = function.body->terminator();
  for (std::size_t r = 0; r < function.result_types.size(); ++r)
    e.write_bytes(function.result_types[r], e.get(end->operand(r)), &*arg++, nullptr);
  e.b.CreateRetVoid();
}

}  // namespace weft::codegen
