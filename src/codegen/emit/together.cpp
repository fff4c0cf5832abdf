// Wrappers are known by what they do: one call, and a struct of their parameters and results in their order.
#include "codegen/emit/together.h"

#include <algorithm>
#include <vector>

#include "ir/walk.h"

namespace weft::codegen {

using ir::OpCode;

const ir::Function* together_form(const ir::Function& each) {
  if (!each.lanewise || !each.from_library) return nullptr;
  const ir::Function* found = nullptr;
  int calls = 0;
  ir::walk(*each.body, [&](const ir::Op& op) {
    if (op.code != OpCode::call) return;
    ++calls;
    found = op.callee;
  });
  if (calls != 1 || !found->lanewise || !found->from_library || !found->result_types.empty()) return nullptr;
  const auto params = found->params();
  if (params.size() != 2 || !params[0]->type->is_array() || params[0]->type->rank() != 1 ||
      params[1]->type != types::u32() || !params[0]->type->element()->is_struct())
    return nullptr;
  std::vector<const Type*> wanted;
  for (const ir::Value* param : each.params()) wanted.push_back(param->type);
  wanted.insert(wanted.end(), each.result_types.begin(), each.result_types.end());
  const auto fields = params[0]->type->element()->fields();
  return std::equal(fields.begin(), fields.end(), wanted.begin(), wanted.end(),
                    [](const Field& field, const Type* type) { return field.type == type; })
             ? found
             : nullptr;
}

}  // namespace weft::codegen
