// Every access goes back to what it was made of. What a function that is called does is told by its effects.
#include "analysis/param_memory.h"

#include <algorithm>
#include <initializer_list>

#include "analysis/effects.h"
#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::analysis {
namespace {

using ir::OpCode;
using ir::Origin;

bool has_any(const ir::Function& function, std::initializer_list<OpCode> codes) {
  bool found = false;
  ir::walk(*function.body,
           [&](const ir::Op& op) { found |= std::find(codes.begin(), codes.end(), op.code) != codes.end(); });
  return found;
}

/// Memory of objects and textures, which other launches may write, logs of tapes, and what native code does.
bool reaches_further(const ir::Function& function) {
  return !function.native.empty() ||
         has_any(function, {OpCode::handle, OpCode::objects, OpCode::texture, OpCode::from_ptr, OpCode::data_ptr,
                            OpCode::with_gradient, OpCode::recall});
}

bool prints(const ir::Function& function) {
  return has_any(function, {OpCode::print, OpCode::printf, OpCode::breakpoint});
}

/// Gathers the uses of a kernel's parameters.
class Uses {
 public:
  explicit Uses(const ir::Function& kernel) : kernel_(kernel), uses_(kernel.params().size()) {
    ir::walk(*kernel.body, [&](const ir::Op& op) { take(op); });
  }
  bool all() const { return all_; }
  std::vector<std::uint8_t> uses() && { return std::move(uses_); }

 private:
  void take(const ir::Op& op) {
    switch (ir::access_of(op.code)) {
      case ir::Access::none:
      case ir::Access::address: return;
      case ir::Access::reads: return note(op.operand(0), ParamMemory::kReads);
      case ir::Access::writes: {
        if (ir::has_array(op.operands.back()->type)) all_ = false;  // whoever finds the descriptor there
        return note(op.operand(0), ParamMemory::kWrites);
      }
      case ir::Access::updates: return note(op.operand(0), ParamMemory::kReads | ParamMemory::kWrites);
      case ir::Access::callee: break;
    }
    const FunctionEffects& does = effects_.of(*op.callee);
    if (does.reads_unknown || does.writes_unknown || does.leaks) all_ = false;
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      if (does.reads[k]) note(op.operand(k), ParamMemory::kReads);
      if (does.writes[k]) note(op.operand(k), ParamMemory::kWrites);
    }
  }

  void note(const ir::Value* array, int use) {
    const Origin from = ir::origin_of(array);
    if (from.gradient) use *= ParamMemory::kGradient;
    switch (from.kind) {
      case Origin::Kind::none:
      case Origin::Kind::local: return;
      case Origin::Kind::parameter: break;
      case Origin::Kind::fixed:
      case Origin::Kind::shared:
      case Origin::Kind::unknown: all_ = false; return;
    }
    for (const ir::Value* param : kernel_.params())
      if (from.param ? from.param == param : ir::has_array(param->type)) uses_[param->index] |= std::uint8_t(use);
  }

  const ir::Function& kernel_;
  // What threads of a block show each other is no other launch's business.
  Effects effects_{Effects::Barriers::show_nothing};
  bool all_ = true;
  std::vector<std::uint8_t> uses_;
};

}  // namespace

ParamMemory param_memory(const ir::Module& module) {
  ParamMemory found;
  for (const auto& function : module.functions)
    if (reaches_further(*function)) return found;
  for (const auto& function : module.functions) found.prints |= prints(*function);
  Uses uses(*module.functions.back());
  if (!uses.all()) return found;
  found.all = true;
  found.uses = std::move(uses).uses();
  return found;
}

}  // namespace weft::analysis
