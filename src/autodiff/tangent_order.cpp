// One walk over the atomics of a kernel.
#include "autodiff/tangent_order.h"

#include <unordered_set>

#include "autodiff/accesses.h"
#include "autodiff/activity.h"
#include "autodiff/thread_sharing.h"
#include "ir/walk.h"

namespace weft::autodiff {

using ir::AtomicKind;
using ir::Op;
using ir::OpCode;

std::vector<std::size_t> tangent_order(const ir::Function& kernel, DiagnosticSink& ordered) {
  analysis::Effects effects;
  const analysis::Alias alias(kernel, effects);
  const Activity activity(kernel);
  // Where no other thread can come between the two operations, there is nothing to order.
  const analysis::BaseMask apart = arrays_apart(kernel, alias) | alias.private_locals();
  const analysis::BaseMask extremes = arrays_of_extremes(kernel, alias);
  std::unordered_set<const ir::Value*> used;
  ir::walk(*kernel.body, [&](const Op& op) { used.insert(op.operands.begin(), op.operands.end()); });
  bool repeatable = !effects.of(kernel).outside;  // a second run does the same, and nobody sees it
  std::vector<const Op*> settled, others;
  ir::walk(*kernel.body, [&](const Op& op) {
    // What a function writes, and to what, is not looked into here.
    repeatable = repeatable && op.code != OpCode::call;
    if (op.code != OpCode::atomic) return;
    // The second run would find other values there, and go another way.
    repeatable = repeatable && !used.contains(op.result());
    const Type* type = op.operands.back()->type;
    const analysis::BaseMask bases = alias.bases(op.operand(0));
    if (!has_floats(type) || (bases && !(bases & ~apart))) return;
    const bool found = activity.active(op.result());
    // Sums of tangents are the tangent of the sum in any order. An exchange whose
    // result carries no derivative is a store.
    if ((op.atomic == AtomicKind::add || op.atomic == AtomicKind::exch) && !found) return;
    const bool alone =
        is_extreme(op) && !used.contains(op.result()) && type->is_scalar() && bases && !(bases & ~extremes);
    (alone ? settled : others).push_back(&op);
  });
  std::vector<std::size_t> leaves;
  // All or none: if one operation needs threads in order, that settles the others, too.
  if (others.empty() && repeatable && leaves_of(kernel, settled, leaves)) return leaves;
  others.insert(others.end(), settled.begin(), settled.end());
  for (const Op* op : others) {
    Diagnostic& d = ordered.report(DiagCode::no_gradient, op->loc,
                                   "the derivative of this atomic '" + std::string(ir::name_of(op->atomic)) +
                                       "' depends on the order of the threads");
    d.notes.push_back({{},
                       "forward mode runs it one thread after another; use results of atomics for indices only, and "
                       "don't mix them with other accesses, if that takes too long"});
  }
  return {};
}

}  // namespace weft::autodiff
