// Calls of functions that were not inlined. A function is emitted once per combination of uniform and varying
// parameters (few; then once more with all varying), with context, linear index and mask as extra arguments. Register
// results come back in a struct, blocks through pointers. A function whose loops count their turns gets the turns that
// are left as one more argument and returns them as one more result. Bodies are emitted from a list, not by recursion.
#include <algorithm>

#include "codegen/emit/emitter.h"
#include "codegen/emit/target_hooks.h"
#include "ir/block_functions.h"

namespace weft::codegen {

using analysis::kUniform;
using analysis::kVarying;
using analysis::LaneShape;

namespace {

// A function of n parameters has 2ⁿ combinations; more than a few of them cost more time to compile than they save.
constexpr int kMaxVariants = 4;

bool counts_turns(const CodeUnit& unit, const ir::Function& function) {
  return unit.turns && unit.turns->counts(function);
}

/// x86-64 has two vector registers for results. A third number would come back on the x87 stack: slowly, with the bits of
/// some NaNs changed, and by an instruction that no processor has where LLVM 19's FastISel takes it off into one of
/// AVX-512's upper registers. Their bits come back in integer registers, or through memory where these are too few.
void numbers_as_bits(const CodeUnit& unit, llvm::SmallVectorImpl<llvm::Type*>& types) {
  if (std::ranges::count_if(types, [](llvm::Type* t) { return !t->isIntOrPtrTy(); }) <= 2) return;
  for (llvm::Type*& type : types)
    if (type == unit.f32 || type == unit.f64) type = type == unit.f32 ? unit.i32 : unit.i64;
}

llvm::StructType* result_struct(CodeUnit& unit, const ir::Function& function) {
  llvm::SmallVector<llvm::Type*, 8> types;
  for (const Type* type : function.result_types)
    for (const PartInfo& part : unit.parts(type).parts)
      // Always vectors: whether a result is uniform would have to be known before the body, which is emitted later.
      if (part.kind != PartKind::block) types.push_back(unit.part_type(part, true));
  if (unit.traits.x86) numbers_as_bits(unit, types);
  if (counts_turns(unit, function)) types.push_back(unit.i32);
  return llvm::StructType::get(unit.context, types);
}

}  // namespace

const Variant& CodeUnit::variant(const ir::Function& function, const std::vector<LaneShape>& params) {
  std::vector<LaneShape> wanted = params;
  int& count = variant_count_[{&function, lanes, packed}];
  if (!variants_.contains({&function, lanes, packed, wanted}) && count >= kMaxVariants)
    // All varying fits every call.
    std::fill(wanted.begin(), wanted.end(), kVarying);
  // A map whose references stay: `pending_` keeps pointers to what lies in it.
  auto [it, fresh] = variants_.try_emplace({&function, lanes, packed, wanted});
  Variant& variant = it->second;
  if (!fresh) return variant;
  int number = count++;
  variant.lanes = lanes;
  variant.packed = packed;
  variant.params = wanted;
  // The order of arguments that emit_call writes and emit_variant reads: context, linear index,
  // mask, turns, parameters, blocks for results.
  llvm::SmallVector<llvm::Type*, 16> types = {ptr, i64};
  if (lanes > 1) types.push_back(wide(i1));
  if (counts_turns(*this, function)) types.push_back(i32);
  std::size_t u = 0;
  for (const ir::Value* param : function.params()) {
    for (const PartInfo& part : parts(param->type).parts)
      types.push_back(part_type(part, wanted[u + part.unit] != kUniform));
    u += analysis::lane_units(param->type);
  }
  for (const Type* type : function.result_types)
    for (const PartInfo& part : parts(type).parts)
      if (part.kind == PartKind::block) types.push_back(ptr);
  auto* type = llvm::FunctionType::get(result_struct(*this, function), types, false);
  if (options.apart && packed && options.apart->contains(&function)) {
    const std::string& symbol = options.apart->at(&function);
    variant.function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, symbol, *module);
    variant.function->setDoesNotThrow();
    return variant;
  }
  variant.function = llvm::Function::Create(
      type, llvm::GlobalValue::InternalLinkage,
      "f." + function.name + "." + (packed ? "p" : std::to_string(lanes)) + "x" + std::to_string(number), *module);
  variant.function->setDoesNotThrow();
  // Later: emitting it here would recurse as deep as the calls go, and this thread's stack is the user's.
  pending_.emplace_back(&function, &variant);
  return variant;
}

void CodeUnit::emit_kernel(const ir::Function& kernel) {
  hooks->emit_kernel(*this, kernel);
  emit_pending();
}

void CodeUnit::emit_function(const ir::Function& function, const std::string& symbol) {
  std::size_t units = 0;
  for (const ir::Value* param : function.params()) units += analysis::lane_units(param->type);
  {
    BodyForm own(*this, 1, true);
    const Variant& made = variant(function, std::vector<LaneShape>(units, kUniform));
    made.function->setName(symbol);
    made.function->setLinkage(llvm::GlobalValue::ExternalLinkage);
  }
  emit_pending();
}

void CodeUnit::emit_pending() {
  while (!pending_.empty() || !pending_used_.empty()) {
    if (pending_.empty()) {
      auto [function, to] = pending_used_.back();
      pending_used_.pop_back();
      BodyForm own(*this, 1);  // as natives themselves
      emit_used(*function, *to);
      continue;
    }
    auto [function, variant] = pending_.back();
    pending_.pop_back();
    // A lanewise function has one lane, or packed vectors, whatever the kernel around it has.
    BodyForm own(*this, variant->lanes, variant->packed);
    emit_variant(*function, *variant);
  }
}

void CodeUnit::emit_variant(const ir::Function& function, const Variant& variant) {
  // Analysed anew for these shapes of parameters: what is uniform inside is the point of having variants.
  std::optional<analysis::Uniformity> shapes;
  analysis::LaneEntry entry{variant.params, {}};
  if (lanes > 1) shapes.emplace(function, entry);
  Emitter e(*this, variant.function, function, shapes ? &*shapes : nullptr);
  e.b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", variant.function));
  llvm::Function::arg_iterator arg = variant.function->arg_begin();
  e.thread.context = &*arg++;
  e.thread.linear = Part{&*arg++, lanes > 1 ? 1 : 0};
  if (lanes > 1) e.mask = &*arg++;
  const bool counts = counts_turns(*this, function);
  llvm::StructType* result_type = result_struct(*this, function);
  if (counts) {
    e.thread.turns = e.begin_turns(&*arg++);
    // Out of turns: no result counts any more, only the zero that tells the caller to leave, too.
    e.thread.stopped = llvm::BasicBlock::Create(context, "stopped", variant.function);
    llvm::IRBuilder<> at(e.thread.stopped);
    at.CreateRet(
        at.CreateInsertValue(llvm::PoisonValue::get(result_type), at.getInt32(0), result_type->getNumElements() - 1));
  }
  std::size_t u = 0;
  for (const ir::Value* param : function.params()) {
    Parts in;
    for (const PartInfo& part : parts(param->type).parts) {
      Part p{&*arg++};
      p.wide = part.kind == PartKind::block && lanes > 1 && variant.params[u + part.unit] != kUniform;
      in.push_back(p);
    }
    e.set(param, std::move(in));
    u += analysis::lane_units(param->type);
  }
  llvm::SmallVector<llvm::Value*, 4> block_results;
  // What is left of the arguments is memory for results that are blocks; it is the caller's.
  while (arg != variant.function->arg_end()) block_results.push_back(&*arg++);
  e.emit_region(*function.body);
  const ir::Op* end = function.body->terminator();
  llvm::Value* out = llvm::PoisonValue::get(result_type);
  unsigned field = 0;
  std::size_t next_block = 0;
  for (std::size_t r = 0; r < function.result_types.size(); ++r) {
    const Parts& from = e.get(end->operand(r));
    const TypeParts& info = parts(function.result_types[r]);
    for (std::size_t k = 0; k < info.parts.size(); ++k) {
      const PartInfo& part = info.parts[k];
      if (part.kind == PartKind::block) {
        Part to{block_results[next_block++]};
        to.wide = lanes > 1;
        e.block_copy(to, from[k], part.scalar, part.count);
      } else {
        llvm::Value* bits = e.b.CreateBitCast(e.vector(from[k]), result_type->getElementType(field));
        out = e.b.CreateInsertValue(out, bits, field++);
      }
    }
  }
  if (counts) out = e.b.CreateInsertValue(out, e.turns_left(), field++);
  e.b.CreateRet(out);
}

void Emitter::emit_native_call(const ir::Op& op) {
  // Kernels that reach one have one lane, whatever was asked for: C++ that clang compiled knows nothing of lanes.
  WEFT_CHECK(W == 1, "native functions run one lane at a time");
  llvm::Function* native = unit.native(*op.callee);
  llvm::SmallVector<llvm::Value*, 8> args;
  if (calls_back(*op.callee)) args = {thread.context, base(thread.linear)};
  // By address, arguments and results alike: how a struct is passed in registers is
  // clang's business and differs between targets.
  auto slot = [&](const Type* type) {
    args.push_back(entry_alloca(unit.i8, std::max(1u, type->size()), std::max(8u, type->align())));
    return args.back();
  };
  for (const ir::Value* v : op.operands) write_bytes(v->type, get(v), slot(v->type), nullptr);
  llvm::SmallVector<llvm::Value*, 1> results;
  for (const ir::Value* v : op.results) results.push_back(slot(v->type));
  b.CreateCall(native, args);
  for (std::size_t r = 0; r < results.size(); ++r) {
    Address at;
    // Results are read as elements of an array are: native code lays them out as memory does.
    at.pointer = results[r];
    at.element_size = op.results[r]->type->size();
    set(op.results[r], load_parts(op.results[r]->type, at));
  }
}

llvm::Value* Emitter::result_part(llvm::Value* results, unsigned field, llvm::Type* type) {
  return b.CreateBitCast(b.CreateExtractValue(results, field), type);
}

/// For  f(x: f32, m: mat of 100) -> f32, mat of 100  with x varying, m uniform and 8 lanes, the call is
///   {<8 x float>, i32 left} = f(context, linear, <8 x i1> mask, i32 turns, <8 x float> x, ptr m, ptr result)
void Emitter::emit_call(const ir::Op& op) {
  const ir::Function& callee = *op.callee;
  if (ir::is_block_function(callee)) return unit.hooks->block_function(*this, op);
  if (!callee.native.empty()) return emit_native_call(op);
  if (callee.lanewise && unit.hooks->packs_lanewise_functions() && !unit.packed) return emit_lanewise_call(op);
  // Derivatives are written when a form is prepared; one that is missing would be a call into nothing.
  if (callee.derives) throw Error("the derivative '" + callee.name + "' has not been written", op.loc);
  std::vector<LaneShape> shapes;
  for (const ir::Value* v : op.operands)
    for (std::uint32_t u = 0, n = analysis::lane_units(v->type); u < n; ++u)
      // Linear counts as varying: a variant for each stride would never end.
      shapes.push_back(W > 1 && shape(v, u) != kUniform ? kVarying : kUniform);
  const Variant& variant = unit.variant(callee, shapes);
  llvm::SmallVector<llvm::Value*, 16> args = {thread.context, base(thread.linear)};
  // One signature for masked and unmasked calls: a constant mask folds away where the function is inlined by LLVM.
  if (W > 1) args.push_back(mask_or_all());
  const bool counts = counts_turns(unit, callee);
  if (counts) args.push_back(turns_left());
  std::size_t u = 0;
  for (const ir::Value* v : op.operands) {
    const TypeParts& info = parts_of(v);
    const Parts parts = get(v);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      // Not what the operand is, but what the variant has: it may be the one where everything varies.
      LaneShape want = W > 1 ? variant.params[u + info.parts[k].unit] : kUniform;
      args.push_back(shaped(info.parts[k], parts[k], want).v);
    }
    u += analysis::lane_units(v->type);
  }
  std::vector<Parts> results(op.results.size());
  for (std::size_t r = 0; r < op.results.size(); ++r)
    for (const PartInfo& part : parts_of(op.results[r]).parts) {
      Part out;
      if (part.kind == PartKind::block) {
        out = new_block(part.scalar, part.count, W > 1);
        args.push_back(out.v);
      }
      results[r].push_back(out);
    }
  llvm::CallInst* call = b.CreateCall(variant.function, args);
  call->setDoesNotThrow();
  if (counts) {
    // The callee took turns of the same chunk. If it was told to stop, so are we: its results mean nothing.
    b.CreateStore(b.CreateExtractValue(call, call->getType()->getStructNumElements() - 1), thread.turns);
    leave_if_stopped();
  }
  unsigned field = 0;
  for (std::size_t r = 0; r < op.results.size(); ++r) {
    const TypeParts& info = parts_of(op.results[r]);
    for (std::size_t k = 0; k < results[r].size(); ++k)
      if (!results[r][k].v) results[r][k].v = result_part(call, field++, unit.part_type(info.parts[k], true));
    set(op.results[r], std::move(results[r]));
  }
}

}  // namespace weft::codegen
