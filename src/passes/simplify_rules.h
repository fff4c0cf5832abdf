// Inside of simplify: rules for single operations. Each returns the value that stands for the operation's result, or
// null; new operations are put before it. Rules may also rewrite the operation in place and set `changed`.
#pragma once
#include <optional>

#include "analysis/ranges.h"
#include "ir/ir.h"

namespace weft::passes {

struct RuleContext {
  ir::Function& function;
  const analysis::Ranges& ranges;
  bool changed = false;
};

ir::Value* simplify_arith(RuleContext& context, ir::Op& op);
ir::Value* simplify_bits(RuleContext& context, ir::Op& op);
ir::Value* simplify_compare(RuleContext& context, ir::Op& op);
ir::Value* simplify_data(RuleContext& context, ir::Op& op);
ir::Value* simplify_memory(RuleContext& context, ir::Op& op);

/// The bits of the scalar that a value consists of: a constant, or a composite with one constant in every component.
std::optional<std::uint64_t> uniform_bits(const ir::Value* value);
/// The operation that defines the value if it has this code, else null.
ir::Op* defined_by(const ir::Value* value, ir::OpCode code);
ir::Value* make_not(RuleContext& context, ir::Op& before, ir::Value* condition);

}  // namespace weft::passes
