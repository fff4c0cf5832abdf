// The frame around a GPU kernel's body: one parameter block (the kernel's parameters, then a GpuTrailer), and a
// grid-stride loop over 64-bit linear indices, so that any grid covers any launch.
#include "codegen/emitter.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

namespace weft::codegen {

void CodeUnit::emit_gpu_kernel(const ir::Function& kernel) {
  ParamLayout layout = param_layout(kernel);
  std::uint32_t trailer = gpu_trailer_offset(layout.size);
  std::uint32_t bytes = trailer + std::uint32_t(sizeof(GpuTrailer));
  constexpr std::uint32_t kMaxParamBytes = 4096;
  if (bytes > kMaxParamBytes)
    throw Error("kernel " + kernel.name + " has " + std::to_string(layout.size) + " bytes of parameters; a GPU takes " +
                    std::to_string(kMaxParamBytes - sizeof(GpuTrailer)) + ": pass large values in arrays",
                kernel.loc);
  auto* block_type = llvm::ArrayType::get(i8, bytes);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {ptr}, false);
  auto* f = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, entry_name(kernel), *module);
  f->setDoesNotThrow();
  f->setCallingConv(llvm::CallingConv::PTX_Kernel);
  f->addParamAttr(0, llvm::Attribute::getWithByValType(context, block_type));
  f->addParamAttr(0, llvm::Attribute::getWithAlignment(context, llvm::Align(8)));
  llvm::Metadata* mark[] = {llvm::ValueAsMetadata::get(f), llvm::MDString::get(context, "kernel"),
                            llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(i32, 1))};
  module->getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context, mark));

  Emitter e(*this, f, kernel, nullptr);
  llvm::IRBuilder<>& b = e.b;
  auto* entry = llvm::BasicBlock::Create(context, "entry", f);
  b.SetInsertPoint(entry);
  llvm::Value* block = f->getArg(0);
  for (std::size_t k = 0; k < layout.params.size(); ++k)
    e.set(kernel.params()[k], e.load_params(layout.params[k].type, block, layout.params[k].offset, std::int32_t(k)));
  e.thread.context = b.CreateConstInBoundsGEP1_64(i8, block, trailer);
  auto field = [&](std::size_t offset) {
    return b.CreateAlignedLoad(i64, b.CreateConstInBoundsGEP1_64(i8, block, trailer + offset), llvm::Align(8));
  };
  llvm::Value* count = field(offsetof(GpuTrailer, count));
  auto special = [&](llvm::Intrinsic::ID id) { return b.CreateZExt(b.CreateIntrinsic(id, {}, {}), i64); };
  llvm::Value* block_size = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  llvm::Value* first = b.CreateAdd(b.CreateMul(special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x), block_size),
                                   special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x));
  llvm::Value* stride = b.CreateMul(special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x), block_size);
  const int rank = kernel.form.rank;
  llvm::SmallVector<llvm::Value*, 4> dims;
  for (int d = 0; d < rank; ++d) dims.push_back(field(offsetof(GpuTrailer, dims) + 8 * std::size_t(d)));

  llvm::BasicBlock *loop = e.block("threads"), *exit = e.block("exit");
  b.CreateCondBr(b.CreateICmpSLT(first, count), loop, exit);
  b.SetInsertPoint(loop);
  llvm::PHINode* linear = b.CreatePHI(i64, 2);
  linear->addIncoming(first, entry);
  e.thread.linear = Part{linear};
  llvm::Value* rest = linear;
  for (int d = rank - 1; d > 0; --d) {
    std::size_t k = std::size_t(d);
    e.thread.tids[k] = Part{b.CreateTrunc(b.CreateURem(rest, dims[k]), i32)};
    rest = b.CreateUDiv(rest, dims[k]);
  }
  e.thread.tids[0] = Part{b.CreateTrunc(rest, i32)};
  e.use_scopes();
  e.emit_region(*kernel.body);
  llvm::Value* next = b.CreateAdd(linear, stride);
  linear->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, count), loop, exit);
  b.SetInsertPoint(exit);
  b.CreateRetVoid();
}

}  // namespace weft::codegen
