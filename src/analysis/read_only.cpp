// Looks at every store; where one goes to memory that is not known, nothing is read only.
#include "analysis/read_only.h"

#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::analysis {

std::vector<bool> read_only_arrays(const ir::Function& kernel) {
  std::span<ir::Value* const> params = kernel.params();
  std::vector<bool> out(params.size(), false);
  if (kernel.kind != ir::FunctionKind::kernel || !kernel.form.no_overlap) return out;
  // Arrays in structs are not counted: which of them is meant has no number here.
  for (std::size_t k = 0; k < params.size(); ++k) out[k] = params[k]->type->is_array();
  bool unknown = false;
  ir::walk(*kernel.body, [&](const ir::Op& op) {
    switch (ir::access_of(op.code)) {
      case ir::Access::callee: unknown = true; return;  // what functions reach is not known here
      case ir::Access::none:
      case ir::Access::reads:
      case ir::Access::address: return;  // who makes an array of an address stores to memory that is not known
      case ir::Access::writes:
      case ir::Access::updates: break;
    }
    const ir::Origin to = ir::origin_of(op.operand(0));
    if (to.kind == ir::Origin::Kind::local) return;
    if (to.is_parameter())
      out[to.param->index] = false;
    else
      unknown = true;
  });
  if (unknown) out.assign(params.size(), false);
  return out;
}

}  // namespace weft::analysis
