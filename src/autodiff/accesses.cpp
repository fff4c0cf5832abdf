// Descriptors are traced back to the parameter that they came from, through views, slices and fields.
#include "autodiff/accesses.h"

#include "analysis/effects.h"
#include "ir/walk.h"

namespace weft::autodiff {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Value;

void add_leaves(const Type* type, std::size_t param, std::uint32_t offset, std::vector<ArrayLeaf>& out) {
  if (type->is_array()) out.push_back({param, offset, type});
  if (type->is_struct() || type->is_tuple())
    for (const Field& field : type->fields()) add_leaves(field.type, param, offset + field.offset, out);
}

std::size_t leaf_count(const Type* type) {
  std::vector<ArrayLeaf> leaves;
  add_leaves(type, 0, 0, leaves);
  return leaves.size();
}

/// Leaves that a value's descriptors came from: [first, first + count), or none, or nobody knows.
struct Origin {
  enum Kind { leaves, own, unknown } kind = unknown;  // own: locals and gradients
  std::size_t first = 0, count = 0;
};

class Tracer {
 public:
  Tracer(const ir::Function& kernel, std::size_t params) : kernel_(kernel) {
    std::size_t next = 0;
    for (std::size_t k = 0; k < kernel.params().size(); ++k) {
      first_.push_back(k < params ? next : SIZE_MAX);  // behind them: the log, which is nobody else's
      if (k < params) next += leaf_count(kernel.params()[k]->type);
    }
    found_.read.resize(next);
    found_.written.resize(next);
    found_.replaced.resize(next);
  }

  Accesses run() {
    ir::walk(*kernel_.body, [&](const Op& op) {
      switch (ir::access_of(op.code)) {
        case ir::Access::none: break;
        case ir::Access::reads: mark(origin(op.operand(0)), true, false); break;
        case ir::Access::writes: mark(origin(op.operand(0)), false, true); break;
        case ir::Access::updates:
          mark(origin(op.operand(0)), !op.result()->type->is_array(), true, op.atomic != ir::AtomicKind::add);
          break;
        case ir::Access::address: mark(origin(op.operand(0)), true, true); break;
        case ir::Access::callee: {
          const analysis::FunctionEffects& callee = effects_.of(*op.callee);
          for (std::size_t k = 0; k < op.operands.size(); ++k)
            if (analysis::has_array(op.operand(k)->type))
              mark(origin(op.operand(k)), callee.reads[k], callee.writes[k]);
          found_.read_elsewhere |= callee.reads_unknown;
          found_.written_elsewhere |= callee.writes_unknown;
          break;
        }
      }
    });
    return found_;
  }

  Accesses only(std::span<const Op* const> operations) {
    for (const Op* op : operations) mark(origin(op->operand(0)), true, true);
    return found_;
  }

 private:
  Origin origin(const Value* value) const {
    if (value->is_constant()) return {Origin::own};
    if (value->kind == ir::ValueKind::argument) {
      if (value->region != kernel_.body) return {};
      if (first_[value->index] == SIZE_MAX) return {Origin::own};
      return {Origin::leaves, first_[value->index], leaf_count(value->type)};
    }
    const Op& op = *value->op;
    switch (op.code) {
      case OpCode::local:
      case OpCode::gradient: return {Origin::own};
      case OpCode::view:
      case OpCode::slice:
      case OpCode::with_gradient: return origin(op.operand(0));
      case OpCode::extract: {
        Origin from = origin(op.operand(0));
        const Type* at = op.operand(0)->type;
        if (from.kind != Origin::leaves) return from;
        for (const ir::PathStep& step : op.path) {
          if (!at->is_struct() && !at->is_tuple()) return {};
          for (std::int32_t k = 0; k < step.value; ++k) from.first += leaf_count(at->fields()[std::size_t(k)].type);
          at = at->fields()[std::size_t(step.value)].type;
        }
        from.count = leaf_count(at);
        return from;
      }
      default: return {};  // safe: unknown
    }
  }

  void mark(const Origin& origin, bool read, bool written, bool replaced = true) {
    if (origin.kind == Origin::own) return;
    if (origin.kind == Origin::unknown) {
      found_.read_elsewhere |= read;
      found_.written_elsewhere |= written;
      return;
    }
    for (std::size_t k = 0; k < origin.count; ++k) {
      if (read) found_.read[origin.first + k] = true;
      if (written) found_.written[origin.first + k] = true;
      if (written && replaced) found_.replaced[origin.first + k] = true;
    }
  }

  const ir::Function& kernel_;
  analysis::Effects effects_;
  std::vector<std::size_t> first_;  // by parameter: its first leaf
  Accesses found_;
};

}  // namespace

std::vector<ArrayLeaf> array_leaves(const ir::Function& kernel, std::size_t params) {
  ParamLayout layout;
  for (std::size_t k = 0; k < params; ++k) layout.add({}, kernel.params()[k]->type);
  std::vector<ArrayLeaf> out;
  for (std::size_t k = 0; k < params; ++k)
    add_leaves(kernel.params()[k]->type, k, std::uint32_t(layout.params[k].offset), out);
  return out;
}

Accesses accesses(const ir::Function& kernel, std::size_t params) { return Tracer(kernel, params).run(); }

bool leaves_of(const ir::Function& kernel, std::span<const Op* const> operations, std::vector<std::size_t>& out) {
  const Accesses found = Tracer(kernel, kernel.params().size()).only(operations);
  for (std::size_t k = 0; k < found.written.size(); ++k)
    if (found.written[k]) out.push_back(k);
  return !found.written_elsewhere;
}

}  // namespace weft::autodiff
