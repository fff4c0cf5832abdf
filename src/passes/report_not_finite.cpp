// One walk that puts a guarded print behind operations and in front of writes.
#include "passes/report_not_finite.h"

#include "ir/builder.h"
#include "ir/op_cases.h"
#include "passes/finite.h"
#include "support/print_marks.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

constexpr std::uint32_t kMostComponents = 256;  // of a value that is looked at

bool is_looked_at(const Type* type) {
  return has_floats(type) && (type->is_struct() || (type->is_numeric() && type->component_count() <= kMostComponents));
}

bool is_writing(const Op& op) { return op.code == OpCode::store || op.code == OpCode::atomic; }

/// Operations that make new numbers, rather than move old ones.
bool computes(const Op& op) {
  switch (op.code) {
    case OpCode::call: return op.callee->from_library || !op.callee->native.empty();  // others report themselves
    case OpCode::cast: WEFT_CASES(WEFT_NUMBER_OPS) return true;
    default: return false;  // safe: nothing is reported of it
  }
}

class Reporter {
 public:
  Reporter(ir::Function& function, bool only_writes)
      : only_writes_(only_writes), function_(function), build_(function, function.body) {}

  bool run() {
    region(*function_.body);
    return changed_;
  }

 private:
  void region(Region& region) {
    for (Op* op = region.first; op;) {
      Op* next = op->next;  // what is put in between is not looked at
      // The test of a loop stays as it is: it must be pure.
      for (Region* nested : op->regions)
        if (op->code != OpCode::while_ || nested != op->regions[0]) this->region(*nested);
      if (op->loc.known()) visit(*op, region, next);
      op = next;
    }
  }

  void visit(Op& op, Region& region, Op* next) {
    if (is_writing(op)) {
      Value* value = op.operands.back();
      if (!is_looked_at(value->type)) return;
      if (op.code == OpCode::atomic && op.atomic == ir::AtomicKind::add && !only_writes_) {  // the sum may overflow
        build_.set_place(&region, next);
        build_.set_loc(op.loc);
        // What was there, which the operation gives, plus what was added: what it has left.
        Value* sum = build_.binary(OpCode::add, op.result(), value);
        return print(op, sum, all_finite(build_, sum), nullptr);
      }
      if (value->is_constant()) return;
      build_.set_place(&region, &op);
      build_.set_loc(op.loc);
      print(op, value, all_finite(build_, value), nullptr);
      return;
    }
    if (only_writes_ || !computes(op)) return;
    for (const Value* operand : op.operands)
      // Whoever writes an infinity down means it.
      if (operand->is_constant() && has_floats(operand->type) && !operand->type->is_array() && !is_finite(*operand))
        return;
    build_.set_place(&region, next);
    build_.set_loc(op.loc);
    Value* given = nullptr;
    bool known = false;
    for (Value* result : op.results) {
      if (!is_looked_at(result->type)) continue;
      // Reported is where a number goes wrong first: of finite operands came one that is not. Made once,
      // and only if there is a result to look at.
      if (!known)
        for (Value* operand : op.operands)
          if (is_looked_at(operand->type) && !operand->is_constant()) given = all_finite(build_, operand, given);
      known = true;
      print(op, result, all_finite(build_, result), given);
    }
  }

  static bool is_finite(const Value& constant) {
    if (!constant.type->is_float()) return true;
    const double number = constant.as_float();
    return number - number == 0.0;
  }

  /// Prints the value where it is not finite though `given`, if there is anything, was.
  void print(const Op& op, Value* value, Value* finite, Value* given) {
    if (!finite) return;
    changed_ = true;
    Value* bad = build_.unary(OpCode::bit_not, finite);
    if (given) bad = build_.binary(OpCode::bit_and, bad, given);
    Op* choice = build_.if_op(bad, {});
    Region* region = build_.region();
    build_.set_place(choice->regions[0]);
    Op* line = build_.op(OpCode::print, {&value, 1});
    line->text = function_.arena.copy(std::string(1, kOncePerLaunch) + to_string(op.loc) + ": not finite: ");
    build_.yield({});
    build_.set_place(choice->regions[1]);
    build_.yield({});
    build_.set_place(region, choice->next);
  }

  const bool only_writes_;
  ir::Function& function_;
  ir::Builder build_;
  bool changed_ = false;
};

}  // namespace

bool report_not_finite(ir::Function& function, bool only_writes) { return Reporter(function, only_writes).run(); }

}  // namespace weft::passes
