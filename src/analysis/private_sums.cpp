// Every access is traced back to its parameter; one that can't be traced spoils all, for it may be to any of them.
#include "analysis/private_sums.h"

#include <map>

#include "analysis/effects.h"
#include "analysis/uses.h"
#include "ir/walk.h"

namespace weft::analysis {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Value;

/// The descriptor in the parameter block that a value came from, and whether through its gradient.
struct Origin {
  enum Kind { parameter, own, unknown } kind = unknown;
  std::uint32_t offset = 0;
  bool gradient = false;
  auto operator<=>(const Origin&) const = default;
};

class Finder {
 public:
  explicit Finder(const ir::Function& kernel) : kernel_(kernel), uses_(use_counts(kernel)) {
    for (const Value* param : kernel.params()) layout_.add({}, param->type);
  }

  std::vector<LoneAdds> run() {
    bool lost = false;
    ir::walk(*kernel_.body, [&](Op& op) {
      switch (ir::access_of(op.code)) {
        case ir::Access::callee:
          for (const Value* value : op.operands) lost |= has_array(value->type);
          return;
        case ir::Access::reads:
        case ir::Access::writes:
        case ir::Access::updates:
        case ir::Access::address: break;
        case ir::Access::none: return;
      }
      const Origin from = origin(op.operand(0));
      lost |= from.kind == Origin::unknown;
      if (from.kind != Origin::parameter) return;
      Use& use = uses_of_[from];
      if (adds_alone(op))
        use.adds.push_back(&op);
      else
        use.other = true;
    });
    std::vector<LoneAdds> out;
    if (lost) return out;
    for (auto& [from, use] : uses_of_) {
      if (use.other || (!from.gradient && !kernel_.form.no_overlap)) continue;
      const Type* element = element_of(*use.adds.front());
      out.push_back({{from.offset, from.gradient, element->scalar_kind(), std::uint32_t(element->size())}, use.adds});
    }
    return out;
  }

 private:
  struct Use {
    std::vector<Op*> adds;
    bool other = false;
  };

  bool adds_alone(const Op& op) const {
    return op.code == OpCode::atomic && op.atomic == ir::AtomicKind::add && uses_[op.result()->id] == 0 &&
           element_of(op)->is_numeric();
  }
  /// Sums of whole elements of one kind of number: the copies are added up as such.
  static const Type* element_of(const Op& op) { return op.operand(0)->type->element(); }

  Origin origin(const Value* value) const {
    if (value->is_constant()) return {Origin::own};
    if (value->kind == ir::ValueKind::argument) {
      if (value->region != kernel_.body) return {};
      return {Origin::parameter, layout_.params[value->index].offset};
    }
    const Op& op = *value->op;
    switch (op.code) {
      case OpCode::local: return {Origin::own};
      case OpCode::view:
      case OpCode::slice:
      case OpCode::with_gradient: return origin(op.operand(0));
      case OpCode::gradient: {
        Origin from = origin(op.operand(0));
        if (from.kind == Origin::parameter && from.gradient) return {};
        from.gradient = true;
        return from;
      }
      case OpCode::extract: {
        Origin from = origin(op.operand(0));
        const Type* at = op.operand(0)->type;
        if (from.kind != Origin::parameter) return from;
        for (const ir::PathStep& step : op.path) {
          if (!at->is_struct()) return {};
          from.offset += at->fields()[std::size_t(step.value)].offset;
          at = at->fields()[std::size_t(step.value)].type;
        }
        return from;
      }
      default: return {};  // safe: unknown
    }
  }

  const ir::Function& kernel_;
  std::vector<std::uint32_t> uses_;
  ParamLayout layout_;
  std::map<Origin, Use> uses_of_;
};

}  // namespace

std::vector<LoneAdds> find_private_sums(const ir::Function& kernel) { return Finder(kernel).run(); }

std::vector<PrivateSum> mark_private_sums(ir::Function& kernel) {
  std::vector<PrivateSum> out;
  for (const LoneAdds& adds : find_private_sums(kernel)) {
    for (Op* op : adds.ops) op->imm = kAddsAlone;
    out.push_back(adds.to);
  }
  return out;
}

}  // namespace weft::analysis
