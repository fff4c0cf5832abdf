// Effects tell the most of it. What they don't: memory of objects and textures, which other launches may write; and prints.
#include "analysis/param_memory.h"

#include <algorithm>
#include <initializer_list>

#include "analysis/effects.h"
#include "ir/walk.h"

namespace weft::analysis {
namespace {

bool has_any(const ir::Function& function, std::initializer_list<ir::OpCode> codes) {
  bool found = false;
  ir::walk(*function.body,
           [&](const ir::Op& op) { found |= std::find(codes.begin(), codes.end(), op.code) != codes.end(); });
  return found;
}

bool reaches_further(const ir::Function& function) {
  using ir::OpCode;
  return !function.native.empty() ||
         has_any(function, {OpCode::handle, OpCode::objects, OpCode::texture, OpCode::from_ptr, OpCode::data_ptr,
                            OpCode::gradient, OpCode::with_gradient, OpCode::recall});
}

bool prints(const ir::Function& function) {
  return has_any(function, {ir::OpCode::print, ir::OpCode::printf, ir::OpCode::breakpoint});
}

}  // namespace

ParamMemory param_memory(const ir::Module& module) {
  ParamMemory found;
  for (const auto& function : module.functions)
    if (reaches_further(*function)) return found;
  for (const auto& function : module.functions) found.prints |= prints(*function);
  // What threads of a block show each other is no other launch's business.
  Effects effects(Effects::Barriers::show_nothing);
  const FunctionEffects& kernel = effects.of(*module.functions.back());
  if (kernel.reads_unknown || kernel.writes_unknown || kernel.leaks) return found;
  found.all = true;
  for (std::size_t k = 0; k < kernel.reads.size(); ++k)
    found.uses.push_back((kernel.reads[k] ? ParamMemory::kReads : 0) | (kernel.writes[k] ? ParamMemory::kWrites : 0));
  return found;
}

}  // namespace weft::analysis
