// Descriptors are traced back to the parameter that they came from (ir/origin.h).
#include "autodiff/accesses.h"

#include "analysis/effects.h"
#include "ir/origin.h"
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

class Tracer {
 public:
  Tracer(const ir::Function& kernel, std::size_t params) : kernel_(kernel) {
    std::size_t next = 0;
    for (std::size_t k = 0; k < kernel.params().size(); ++k) {
      first_.push_back(k < params ? next : SIZE_MAX);  // behind them: the log, which is nobody else's
      if (k < params) next += ir::count_arrays(kernel.params()[k]->type);
    }
    found_.read.resize(next);
    found_.written.resize(next);
    found_.replaced.resize(next);
  }

  Accesses run() {
    ir::walk(*kernel_.body, [&](const Op& op) {
      // The walk goes into regions by itself, so an `if` or a loop counts for nothing here, and what
      // is inside counts whether or not it runs.
      switch (ir::access_of(op.code)) {
        case ir::Access::none: break;
        case ir::Access::reads: mark(op.operand(0), true, false); break;
        case ir::Access::writes: mark(op.operand(0), false, true); break;
        case ir::Access::updates:
          // What an element becomes depends on what it was, whether or not the result is used. An addition changes it
          // and does not replace it: a gradient passes it unchanged, and tapes don't take it for a write that cuts off
          // what was there (unreversed_writes.cpp).
          mark(op.operand(0), true, true, op.atomic != ir::AtomicKind::add);
          break;
        // Whoever has the address may do both with it, and nobody would see.
        case ir::Access::address: mark(op.operand(0), true, true); break;
        case ir::Access::callee: {
          const analysis::FunctionEffects& callee = effects_.of(*op.callee);
          for (std::size_t k = 0; k < op.operands.size(); ++k)
            if (ir::has_array(op.operand(k)->type)) mark(op.operand(k), callee.reads[k], callee.writes[k]);
          found_.read_elsewhere |= callee.reads_unknown;
          found_.written_elsewhere |= callee.writes_unknown;
          break;
        }
      }
    });
    return found_;
  }

  /// For `leaves_of`: which arrays are meant, whatever is done to them.
  Accesses only(std::span<const Op* const> operations) {
    for (const Op* op : operations) mark(op->operand(0), true, true);
    return found_;
  }

 private:
  void mark(const Value* array, bool read, bool written, bool replaced = true) {
    const ir::Origin from = ir::origin_of(array);
    if (from.gradient) return;  // tapes follow gradients by themselves
    switch (from.kind) {
      case ir::Origin::Kind::none:
      case ir::Origin::Kind::local:
      case ir::Origin::Kind::fixed: return;
      case ir::Origin::Kind::parameter: break;
      case ir::Origin::Kind::shared:
        if (!from.of_object) return mark_elsewhere(read, written);
        found_.read_objects |= read;
        return mark_elsewhere(false, written);
      case ir::Origin::Kind::unknown: return mark_elsewhere(read, written);
    }
    // One of several parameters, as after a choice between two arrays: which one is known when the kernel runs.
    if (!from.param) return mark_elsewhere(read, written);
    // The log, and the sums of numbers in structs: parameters that the compiler has added.
    if (first_[from.param->index] == SIZE_MAX) return;
    const std::size_t first = first_[from.param->index] + from.array;
    // A value may hold several descriptors, a struct that is passed to a function say: all of them count.
    for (std::size_t k = first; k < first + ir::count_arrays(array->type); ++k) {
      if (read) found_.read[k] = true;
      if (written) found_.written[k] = true;
      if (written && replaced) found_.replaced[k] = true;
    }
  }

  void mark_elsewhere(bool read, bool written) {
    found_.read_elsewhere |= read;
    found_.written_elsewhere |= written;
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
