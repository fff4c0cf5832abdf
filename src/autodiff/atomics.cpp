// Atomic operations in reverse. Additions whose result nobody differentiates are linear and have no order; extremes of an
// array that the kernel only takes extremes of give their gradient to the thread whose value came out on top. All others
// are what one thread after another made of an element: going back over them is exact if the threads go back in the
// opposite order, and who launches them must see to that (AdjointOptions::ordered).
#include "autodiff/float_leaves.h"
#include "autodiff/reverse.h"
#include "autodiff/thread_sharing.h"

namespace weft::autodiff {

using ir::AtomicKind;
using ir::Op;
using ir::OpCode;
using ir::Value;

void Reverser::needs_order(const Op& op) {
  if (is_apart(op.operand(0))) return;  // all of one thread
  DiagnosticSink& to = options_.ordered ? *options_.ordered : sink_;
  Diagnostic& d = to.report(DiagCode::no_gradient, op.loc,
                            "the gradient of this atomic '" + std::string(ir::name_of(op.atomic)) +
                                "' depends on the order of the threads, which is not known afterwards");
  d.notes.push_back(
      {{},
       "record the launch on a tape, which runs it one thread after another; run it and its adjoint with "
       "wp.config.cpu_threads = 1 or with a single thread; or use results of atomics for indices only, and "
       "don't mix them with other accesses"});
}

void Reverser::reverse_atomic(const Op& op) {
  Value* value = op.operands.back();
  if (!has_floats(value->type)) return;
  Value* result = adjoint(op.result());
  // Whoever does not look at what an exchange found there has made a store, and which of several threads came
  // last is as undefined as it is with stores.
  if (op.atomic == AtomicKind::exch && !result) return reverse_store(op);
  // An addition of what carries no derivative: the element's gradient stays as it is, and nobody is given any.
  if (op.atomic == AtomicKind::add && !result && !wants(value)) return;
  const Leaf leaf = leaves(value->type)[0];  // atomics work on numbers, so there is one
  const analysis::BaseMask bases = alias_.bases(op.operand(0));
  // What is in the array at the end is then the winner of all threads, so that each can compare
  // its value with it, in any order. Vectors are left out: their components have different
  // winners, and one exchange would take all of them.
  const bool alone = is_extreme(op) && !result && leaf.type->is_scalar() && bases && !(bases & ~only_extremes_);
  if (!alone && (op.atomic != AtomicKind::add || result)) needs_order(op);
  Value* gradient = b_.gradient(map(op.operand(0)));
  // Inside of the guard, for `gradient` may be null: then there is nothing to take, and zero comes out.
  std::vector<Value*> taken = where_gradient(gradient, {&leaf.type, 1}, [&]() -> std::vector<Value*> {
    const Access at = gradient_access(op, leaf, gradient);
    return {alone ? take_extreme(op, at) : take_ordered(op, at, result)};
  });
  if (wants(value)) add(value, taken[0]);
}

/// One of those whose value came out on top takes the gradient; the exchange sees to it that it is one.
Value* Reverser::take_extreme(const Op& op, const Access& at) {
  const Type* type = op.result()->type;
  // The array itself, as the launch left it. Nothing but extremes of one kind has been written to it, so it holds the
  // final value for every thread of the adjoint.
  Value* last = b_.load(map(op.operand(0)), at.indices, at.wrap, at.path, at.dynamic);
  Op* won = b_.if_op(b_.binary(OpCode::eq, map(op.operands.back()), last), {&type, 1});
  ir::Region* outer = b_.region();
  b_.set_place(won->regions[0]);
  Value* zero = b_.zero(type);
  // Of several threads with the winning value the first one here gets all; those after it find the zero.
  Value* taken[] = {b_.atomic(AtomicKind::exch, at.array, at.indices, at.wrap, at.path, at.dynamic, zero)};
  b_.yield(taken);
  b_.set_place(won->regions[1]);
  b_.yield({&zero, 1});
  b_.set_place(outer);
  return won->result();
}

/// The operation as a load and a store: what it put there takes the gradient, what it found gets the rest, and the
/// adjoint of the result.
Value* Reverser::take_ordered(const Op& op, const Access& at, Value* result) {
  const Type* type = op.result()->type;
  Value* value = map(op.operands.back());
  // What the operation found there: recalled, as the array has changed since. If
  // no rule below asks for it, dce drops it.
  Value* found = map(op.result());
  Value* none = b_.zero(type);
  Value* now = b_.load(at.array, at.indices, at.wrap, at.path, at.dynamic);
  // `now` is the gradient of what the operation left behind. It is split: `taken` goes to the operand, `rest` stays
  // in the array as the gradient of what was there before.
  Value *taken = now, *rest = none;
  // Each component of a composite is an operation of its own, with its own outcome.
  auto choose = [&](Value* other, const std::function<Value*(std::span<Value* const>)>& stays) {
    Value* in[] = {found, other, now};
    rest = by_component(in, [&](std::span<Value* const> v) { return b_.select(stays(v), v[2], b_.zero(v[2]->type)); });
    taken = by_component(in, [&](std::span<Value* const> v) { return b_.select(stays(v), b_.zero(v[2]->type), v[2]); });
  };
  switch (op.atomic) {
    // new = old + value: both have slope one, and both get all of it.
    case AtomicKind::add: rest = now; break;
    case AtomicKind::exch: break;
    case AtomicKind::min:
    case AtomicKind::max:
      choose(value, [&](auto v) {
        Value* better = b_.binary(op.atomic == AtomicKind::min ? OpCode::lt : OpCode::gt, v[0], v[1]);
        // An operand that is no number is ignored, and what was there stays.
        return b_.binary(OpCode::bit_or, better, b_.binary(OpCode::ne, v[1], v[1]));
      });
      break;
    case AtomicKind::cas: {
      Value* expected = map(op.operand(op.operands.size() - 2));
      // By bits, as it is executed: to it a zero is not the other zero, and a NaN is itself.
      auto bits = [&](Value* v) { return b_.bitcast(v, bits_type(v->type)); };
      choose(expected, [&](auto v) { return b_.binary(OpCode::ne, bits(v[0]), bits(v[1])); });
      break;
    }
    case AtomicKind::bit_and:
    case AtomicKind::bit_or:
    case AtomicKind::bit_xor: WEFT_UNREACHABLE("no atomic on bits of floats");
  }
  // The result is the old value, too: whoever used it has a claim on the same element.
  if (result) rest = sum(rest, result);
  // A plain load and store: either no other thread comes here, or threads go back one after another (needs_order).
  if (rest != now) b_.store(at.array, at.indices, at.wrap, at.path, at.dynamic, rest);
  return taken;
}

}  // namespace weft::autodiff
