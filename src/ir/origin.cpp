// Goes back from a value, operation by operation. Sides of a choice are joined, and so are what a loop's value begins with and
// what its turns make of it.
#include "ir/origin.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/op_cases.h"

namespace weft::ir {
namespace {

/// Operations gone back over in a row, and in all.
constexpr int kMaxSteps = 256, kMaxVisits = 4096;

Origin joined(const Origin& a, const Origin& b) {
  if (a == b || b.kind == Origin::Kind::none) return a;
  if (a.kind == Origin::Kind::none) return b;
  if (a.kind != b.kind || a.gradient != b.gradient) return {};
  return {a.kind, a.gradient, a.in_kernel};
}

/// A value that a loop carries, whose origin is being looked for.
struct Carried {
  const Op* loop;
  std::size_t number;
  bool gradient;
  int depth;
  const Carried* outer;  // another one that led here
};

/// What is known from earlier ways, so that choices behind choices don't double the cost each time.
struct Search {
  struct Known {
    const Value* value;
    bool gradient;
    Origin origin;
  };
  std::vector<Known> known;
  int visits = 0;
  /// The outermost value of a loop that a way came back to: what was found inside of its search is not all of it yet.
  int open = kNone;
  static constexpr int kNone = 1 << 30;
};

/// On the way back from a value.
struct Way {
  Search& search;
  bool gradient = false;  // what its gradient pointer describes is wanted, not its data
  int steps = 0;
  const Carried* loops = nullptr;

  Way further() const { return {search, gradient, steps + 1, loops}; }
  Way into_loop(const Carried* at) const { return {search, gradient, steps + 1, at}; }
  Way to_data() const { return {search, false, steps + 1, loops}; }
  Way to_gradient() const { return {search, true, steps + 1, loops}; }
};

Origin back_from(const Value* value, Way way);

Origin of_operand(const Op& op, Way way) {
  // What it was given is the gradient from there on.
  if (op.code == OpCode::with_gradient) return back_from(op.operand(way.gradient ? 1 : 0), way.to_data());
  Origin from = back_from(op.operand(0), way.further());
  if (op.code != OpCode::extract || !from.param) return from;
  const Type* type = op.operand(0)->type;
  for (const PathStep& step : op.path) {
    if (step.kind != PathStep::field) return {};
    const std::size_t field = std::size_t(step.value);
    for (std::size_t k = 0; k < field; ++k) from.array += std::uint32_t(count_arrays(type->fields()[k].type));
    from.offset += type->fields()[field].offset;
    type = type->fields()[field].type;
  }
  return from;
}

Origin of_operands(const Op& op, Way way) {
  Origin all{Origin::Kind::none};
  for (const Value* operand : op.operands)
    if (has_array(operand->type)) all = joined(all, back_from(operand, way.further()));
  return all;
}

/// Of what a loop carries, in front of it, in it and behind it.
Origin of_carried(const Op& loop, std::size_t number, Way way) {
  for (const Carried* at = way.loops; at; at = at->outer)
    if (at->loop == &loop && at->number == number && at->gradient == way.gradient) {
      way.search.open = std::min(way.search.open, at->depth);
      return {Origin::Kind::none};
    }
  const Carried here{&loop, number, way.gradient, way.loops ? way.loops->depth + 1 : 0, way.loops};
  const bool counts = loop.code == OpCode::for_;
  const Op* next = loop.regions[counts ? 0 : 1]->terminator();
  if (!next || number >= next->operands.size()) return {Origin::Kind::unknown, way.gradient};  // not all there yet
  const int open = std::exchange(way.search.open, Search::kNone);
  Origin all = joined(back_from(loop.operand((counts ? 3 : 0) + number), way.into_loop(&here)),
                      back_from(next->operand(number), way.into_loop(&here)));
  if (way.search.open >= here.depth) way.search.open = Search::kNone;  // ways back to here are closed
  way.search.open = std::min(way.search.open, open);
  all.local = nullptr;  // that of an earlier turn, maybe
  return all;
}

Origin of_regions(const Op& op, std::size_t result, Way way) {
  if (op.code != OpCode::if_) return of_carried(op, result, way);
  return joined(back_from(op.regions[0]->terminator()->operand(result), way.further()),
                back_from(op.regions[1]->terminator()->operand(result), way.further()));
}

/// What is found in the memory of an array: threads can't find each other's private arrays in memory that all of them see.
Origin found_in(const Origin& array, bool gradient) {
  bool seen_by_all =
      array.kind == Origin::Kind::none || array.kind == Origin::Kind::fixed || array.kind == Origin::Kind::shared;
  if (array.kind == Origin::Kind::parameter) seen_by_all = array.in_kernel;
  return {.kind = seen_by_all ? Origin::Kind::shared : Origin::Kind::unknown,
          .gradient = gradient,
          .of_object = array.kind == Origin::Kind::fixed};
}

Origin look_back(const Value* value, Way way) {
  const Origin none{Origin::Kind::none}, unknown{Origin::Kind::unknown, way.gradient};
  if (value->kind == ValueKind::argument) {
    if (const Op* loop = value->region->parent_op) {
      const std::size_t counters = loop->code == OpCode::for_ ? 1 : 0;
      return value->index < counters ? none : of_carried(*loop, value->index - counters, way);
    }
    const bool in_kernel = value->region->function->kind == FunctionKind::kernel;
    return {.kind = Origin::Kind::parameter, .gradient = way.gradient, .in_kernel = in_kernel, .param = value};
  }
  const Op& op = *value->op;
  switch (descent_of(op)) {
    case Descent::nothing: return none;
    case Descent::operand: return of_operand(op, way);
    case Descent::operands: return of_operands(op, way);
    case Descent::regions: return of_regions(op, value->index, way);
    case Descent::made: return way.gradient ? none : Origin{.kind = Origin::Kind::local, .local = &op};
    case Descent::gradient: return way.gradient ? none : back_from(op.operand(0), way.to_gradient());
    case Descent::memory: return found_in(back_from(op.operand(0), way.to_data()), way.gradient);
    case Descent::fixed: return way.gradient ? none : Origin{Origin::Kind::fixed};
    case Descent::anywhere: return unknown;
  }
  return unknown;
}

/// Values to which several ways may lead: choices, and what loops carry.
bool is_crossing(const Value* value) {
  return value->kind == ValueKind::argument ? value->region->parent_op != nullptr : !value->op->regions.empty();
}

Origin back_from(const Value* value, Way way) {
  if (value->is_constant()) return {Origin::Kind::none};
  Search& search = way.search;
  if (way.steps > kMaxSteps || ++search.visits > kMaxVisits) return {Origin::Kind::unknown, way.gradient};
  if (!is_crossing(value)) return look_back(value, way);
  for (const Search::Known& known : search.known)
    if (known.value == value && known.gradient == way.gradient) return known.origin;
  const int open = std::exchange(search.open, Search::kNone);
  const Origin found = look_back(value, way);
  if (search.open == Search::kNone) search.known.push_back({value, way.gradient, found});
  search.open = std::min(search.open, open);
  return found;
}

}  // namespace

bool has_array(const Type* type) { return count_arrays(type) != 0; }

std::size_t count_arrays(const Type* type) {
  if (type->is_array()) return 1;
  std::size_t total = 0;
  if (type->is_struct() || type->is_tuple())
    for (const Field& field : type->fields()) total += count_arrays(field.type);
  return total;
}

Descent descent_of(const Op& op) {
  switch (op.code) {
    case OpCode::view:
    case OpCode::slice:
    case OpCode::with_gradient:
    case OpCode::extract: return Descent::operand;
    case OpCode::select:
    case OpCode::construct:
    case OpCode::insert: return Descent::operands;
    case OpCode::if_:
    case OpCode::for_:
    case OpCode::while_: return Descent::regions;
    case OpCode::local: return Descent::made;
    case OpCode::gradient: return Descent::gradient;
    case OpCode::load:
    case OpCode::atomic: return Descent::memory;
    case OpCode::from_ptr: return op.imm ? Descent::fixed : Descent::anywhere;
    case OpCode::call:
    case OpCode::recall: return Descent::anywhere;
    case OpCode::cast:
    case OpCode::bitcast:
    case OpCode::splat:
    case OpCode::store:
    case OpCode::dim:
    case OpCode::nonnull:
    case OpCode::prefetch:
    case OpCode::data_ptr:
    case OpCode::return_:
    case OpCode::yield:
    case OpCode::test:
    WEFT_CASES(WEFT_NUMBER_OPS)
    WEFT_CASES(WEFT_EFFECT_OPS) return Descent::nothing;
  }
  return Descent::anywhere;
}

Origin origin_of(const Value* value) {
  Search search;
  return back_from(value, {search});
}

}  // namespace weft::ir
