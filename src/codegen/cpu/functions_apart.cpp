// Which functions of a kernel are compiled apart from it.
#include <unordered_set>

#include "codegen/codegen.h"
#include "codegen/emit/together.h"
#include "ir/walk.h"

namespace weft::codegen {

using ir::OpCode;

namespace {

/// Whether its code is the same in every kernel: sites of checks are numbered by the module.
bool stands_alone(const ir::Function& function, std::unordered_set<const ir::Function*>& seen) {
  if (!seen.insert(&function).second) return true;
  if (!function.native.empty() || function.derives) return false;
  bool alone = true;
  ir::walk(*function.body, [&](const ir::Op& op) {
    if (ir::class_of(op.code) == ir::OpClass::effect) alone = false;
    if (op.code == OpCode::call) alone = alone && stands_alone(*op.callee, seen);
  });
  return alone;
}

void find(const ir::Function& caller, std::unordered_set<const ir::Function*>& seen,
          std::vector<const ir::Function*>& out) {
  ir::walk(*caller.body, [&](const ir::Op& op) {
    if (op.code != OpCode::call || !seen.insert(op.callee).second) return;
    if (!op.callee->lanewise) return find(*op.callee, seen, out);
    const ir::Function* many = together_form(*op.callee);
    const ir::Function* called = many ? many : op.callee;
    if (many && !seen.insert(many).second) return;
    std::unordered_set<const ir::Function*> below;
    if (called->from_library && stands_alone(*called, below)) out.push_back(called);
  });
}

}  // namespace

std::vector<const ir::Function*> functions_to_compile_apart(const ir::Function& kernel) {
  std::unordered_set<const ir::Function*> seen;
  std::vector<const ir::Function*> out;
  find(kernel, seen, out);
  return out;
}

}  // namespace weft::codegen
