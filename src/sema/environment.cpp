// Variables while a function is lowered. SSA values are kept per variable; a journal remembers what a branch or loop body
// changed, so that entering and leaving one costs only what it touched.
#include "sema/lowering.h"
#include "sema/tiles.h"
#include "sema/written.h"

namespace weft::sema {

int FunctionLowering::find_variable(std::string_view name) const {
  auto it = variable_index_.find(name);
  return it == variable_index_.end() ? -1 : it->second;
}

int FunctionLowering::new_variable(std::string_view name) {
  variables_.push_back({});
  variables_.back().name = name;
  return int(variables_.size()) - 1;
}

int FunctionLowering::new_flag(const char* name, bool initial) {
  int flag = new_variable(name);
  variables_[std::size_t(flag)].type = types::boolean();
  variables_[std::size_t(flag)].internal = true;
  variables_[std::size_t(flag)].flag = true;
  set_variable(flag, Entity::of(builder_.boolean(initial)));
  return flag;
}

void FunctionLowering::set_variable(int variable, Entity value) {
  Entity& slot = variables_[std::size_t(variable)].value;
  journal_.emplace_back(variable, std::move(slot));
  slot = std::move(value);
}

std::size_t FunctionLowering::enter_frame() { return journal_.size(); }

std::vector<std::pair<int, Entity>> FunctionLowering::leave_frame(std::size_t mark) {
  std::vector<std::pair<int, Entity>> changed;
  std::set<int> seen;
  for (std::size_t i = mark; i < journal_.size(); ++i)
    if (seen.insert(journal_[i].first).second)
      changed.emplace_back(journal_[i].first, variables_[std::size_t(journal_[i].first)].value);
  while (journal_.size() > mark) {
    variables_[std::size_t(journal_.back().first)].value = std::move(journal_.back().second);
    journal_.pop_back();
  }
  return changed;
}

void FunctionLowering::assign_variable(const syntax::Node& at_node, std::string_view name, Entity value) {
  int variable = find_variable(name);
  if (variable < 0) {
    variable = new_variable(name);
    variable_index_.emplace(name, variable);
    variables_[std::size_t(variable)].first = at_node.loc;
    variables_[std::size_t(variable)].region = builder_.region();
  }
  if (value.kind == Entity::Kind::tuple) {  // a tuple of plain values is a value itself, so that branches can merge it
    std::vector<ir::Value*> parts;
    bool plain = true;
    for (const Entity& e : *value.elements) {
      plain = plain && (e.is_value() || e.is_literal());
      if (!plain) break;
      ir::Value* v = value_of(e, at_node);
      if (!v) return set_variable(variable, Entity::failed());
      parts.push_back(v);
    }
    if (plain) {
      ir::Value* tuple = make_tuple(parts, at_node);
      value = tuple ? Entity::of(tuple) : Entity::failed();
    }
  }
  if (value.kind == Entity::Kind::none) {
    fail(DiagCode::bad_assignment, at_node, "'" + std::string(name) + "' is assigned from something that has no value",
         "the function called here returns nothing");
    return set_variable(variable, Entity::failed());
  }
  if (value.kind == Entity::Kind::none_literal) {
    fail(DiagCode::none_value, at_node, "None is not a value in kernels", "use a flag variable instead");
    return set_variable(variable, Entity::failed());
  }
  if (value.is_value() && tile_type(value.type())) value = Tiles(*this, at_node).held(variable, std::move(value));
  if (value.is_value() && may_become(variables_[std::size_t(variable)], value.type())) {
    renew_variable(name, at_node.loc, value.type());
    variable = find_variable(name);
  }
  Variable& var = variables_[std::size_t(variable)];
  if (value.is_value()) {
    if (var.type && var.type != value.type()) {
      sink_
          .report(DiagCode::type_change, at_node.loc,
                  "assigning to existing symbol '" + std::string(name) + "' (" + var.type->user_name() +
                      ") a value of type " + value.type()->user_name(),
                  at_node.underline())
          .notes = {
          {var.first, "'" + std::string(name) + "' got its type here; use another name or convert the value"}};
      return set_variable(variable, Entity::failed());
    }
    var.type = value.type();
    var.parted = -1;
    if (!value.value->is_constant() && value.value->name.empty()) value.value->name = function_.arena.copy(name);
  }
  value.maybe_unset = false;
  set_variable(variable, std::move(value));
}

bool FunctionLowering::may_become(const Variable& var, const Type* type) const {
  if (!var.type || var.type == type) return false;
  const bool arrays = var.type->is_array() && type->is_array(), tiles = tile_type(var.type) && tile_type(type);
  if (!arrays && !tiles) return false;
  // One statement after the other: no path leads to a use of the name for which both could be meant. Loops that are
  // unrolled go back to the names of their begin.
  for (const Loop& loop : loops_)
    if (!loop.op) return false;
  if (var.parted >= 0 && var.value.kind == Entity::Kind::none) return true;  // nobody can mean what it was
  const ir::Region* here = builder_.region();
  const ir::Op* around = here->parent_op;
  return var.region == here ||
         (var.region && around && around->code == ir::OpCode::if_ && var.region->parent_op == around);
}

void FunctionLowering::renew_variable(std::string_view name, SourceLoc at, const Type* type) {
  auto known = variable_index_.find(name);
  if (known == variable_index_.end()) return;
  const Type* before = variables_[std::size_t(known->second)].type;
  if (!before || before == type) return;
  renewed_.emplace_back(name, known->second);
  for (int variable : renewals_) {  // of the other branch, or of the trip before: it is the same one
    const Variable& var = variables_[std::size_t(variable)];
    if (var.name == name && (!var.type || var.type == type)) {
      known->second = variable;
      return;
    }
  }
  known->second = new_variable(name);
  variables_[std::size_t(known->second)].first = at;
  variables_[std::size_t(known->second)].region = builder_.region();
  renewals_.push_back(known->second);
}

void FunctionLowering::restore_names(std::size_t mark) {
  for (; renewed_.size() > mark; renewed_.pop_back()) variable_index_[renewed_.back().first] = renewed_.back().second;
}

void FunctionLowering::poison(std::string_view name) {
  int variable = find_variable(name);
  if (variable < 0) {
    variable = new_variable(name);
    variable_index_.emplace(name, variable);
  }
  set_variable(variable, Entity::failed());
}

Entity FunctionLowering::read_variable(int variable, const syntax::Node* at_node) {
  Variable& var = variables_[std::size_t(variable)];
  Entity value = var.value;
  if (value.kind == Entity::Kind::none) {
    for (std::size_t depth = loops_.size(); depth-- > 0;)
      if (auto it = loops_[depth].late.find(variable); it != loops_[depth].late.end()) {
        value = Entity::of(it->second);
        value.maybe_unset = true;
        break;
      }
  }
  if (!at_node) return value;
  if (value.kind == Entity::Kind::none && names_lost_) return Entity::failed();
  if (value.kind == Entity::Kind::none && var.parted >= 0) {
    const Type *one = var.type, *other = variables_[std::size_t(var.parted)].type;
    if (variable > var.parted) std::swap(one, other);  // in the order of the text
    return fail(DiagCode::type_change, *at_node,
                "'" + std::string(var.name) + "' is " + one->user_name() + " on one way to here and " +
                    other->user_name() + " on another",
                "use a name of its own for each");
  }
  if (value.kind == Entity::Kind::none)
    return fail(DiagCode::unknown_name, *at_node, "'" + std::string(var.name) + "' is used before it is assigned",
                "give it a value before this line on every path, e.g. " + std::string(var.name) + " = float(0.0)");
  if (value.maybe_unset && !var.internal)
    sink_.report(DiagCode::maybe_unassigned, at_node->loc,
                 "'" + std::string(var.name) + "' may be unassigned here; it is zero on the paths that don't assign it",
                 "assign it before the branch or loop", at_node->underline());
  return value;
}

ir::Value* FunctionLowering::undefined_value(int variable, const Type* type, std::size_t loop_depth) {
  if (loop_depth == 0 && tile_type(type)) return Tiles(*this, *decl_.def).unassigned(type);
  if (loop_depth == 0) return function_.zero(type);
  Loop& loop = loops_[loop_depth - 1];
  if (!loop.op) return undefined_value(variable, type, loop_depth - 1);
  if (auto it = loop.late.find(variable); it != loop.late.end()) return it->second;
  ir::Value* init = undefined_value(variable, type, loop_depth - 1);
  std::string_view name = function_.arena.copy(variables_[std::size_t(variable)].name);
  function_.append_operand(loop.op, init);
  ir::Value* argument = nullptr;
  for (ir::Region* region : loop.op->regions) argument = function_.add_argument(region, type, name);
  function_.append_result(loop.op, type, name);
  loop.carried.push_back(variable);
  loop.late.emplace(variable, argument);
  return argument;
}

bool FunctionLowering::merge_values(int variable, const Entity& a, const Entity& b, const syntax::Node& at_node,
                                    ir::Value*& out_a, ir::Value*& out_b, Entity& same) {
  using Kind = Entity::Kind;
  if (a.is_error() || b.is_error()) return same = Entity::failed(), false;
  if (a.kind == Kind::none && b.kind == Kind::none) return same = a, false;
  if (a.is_value() && b.is_value() && a.value == b.value) {
    same = a;
    same.maybe_unset = a.maybe_unset || b.maybe_unset;
    if (a.symbol != b.symbol) forget_written(same);
    return false;
  }
  auto needs_value = [](const Entity& e) { return e.is_value() || e.is_literal(); };
  if (a.kind == Kind::none || b.kind == Kind::none) {
    const Entity& known = a.kind == Kind::none ? b : a;
    if (!needs_value(known) || variable < 0) return same = known, false;
    ir::Value* value = value_of(known, at_node);
    if (!value) return same = Entity::failed(), false;
    ir::Value* missing = undefined_value(variable, value->type, loops_.size());
    out_a = a.kind == Kind::none ? missing : value;
    out_b = a.kind == Kind::none ? value : missing;
    same.maybe_unset = true;
    return true;
  }
  if (needs_value(a) && needs_value(b)) {
    Entity ea = a, eb = b;
    adapt_literals(ea, eb, at_node);
    out_a = value_of(ea, at_node);
    out_b = value_of(eb, at_node);
    if (!out_a || !out_b) return same = Entity::failed(), false;
    if (out_a->type != out_b->type) {
      same =
          fail(DiagCode::type_mismatch, at_node,
               "the two sides have different types: " + out_a->type->user_name() + " and " + out_b->type->user_name(),
               "convert one side, e.g. " + out_a->type->user_name() + "(…)");
      return false;
    }
    same.maybe_unset = a.maybe_unset || b.maybe_unset;
    return true;
  }
  if (a.kind == b.kind && a.symbol == b.symbol && a.elements == b.elements) return same = a, false;
  same = fail(
      DiagCode::bad_assignment, at_node,
      "a name stands for different compile-time things on the two paths (" + describe(a) + ", " + describe(b) + ")",
      "only values can depend on a run-time condition");
  return false;
}

bool FunctionLowering::enter_region(const syntax::Node& at_node) {
  constexpr int kDeepest = ir::kMaxRegionDepth * 3 / 4;  // the rest is for passes that add levels
  if (region_depth_ >= kDeepest) {
    names_lost_ = true;
    if (!too_deep_)
      fail(DiagCode::nesting_too_deep, at_node,
           "conditions and loops lie more than " + std::to_string(kDeepest) + " levels inside one another",
           "move the inner ones into a function");
    too_deep_ = true;
    return false;
  }
  ++region_depth_;
  return true;
}

/// Whether a constant is one behind a branch, too, on whose other side nothing reads `b` any more.
static bool stays_constant(const Entity& a, const Entity& b) {
  if (a.is_literal()) return b.kind == Entity::Kind::none;
  if (!a.is_value() || !a.value->is_constant()) return false;
  return b.kind == Entity::Kind::none || (b.is_value() && b.type() == a.type());
}

Entity FunctionLowering::lower_branches(ir::Value* condition, const ExprFn& then_fn, const ExprFn& else_fn,
                                        const syntax::Node& at_node, std::uint32_t end, bool else_has_left,
                                        bool else_is_over) {
  if (condition->is_constant()) return condition->bits ? then_fn() : else_fn();
  if (!enter_region(at_node)) return Entity::failed();
  ir::Region* outer = builder_.region();
  ir::Op* op = at(at_node).if_op(condition, {});
  Entity result[2];
  std::vector<std::pair<int, Entity>> changed[2];
  std::vector<std::pair<std::string_view, int>> renewed;  // by the first side; the second one begins as the first did
  std::map<std::string_view, int> last[2];                // what names are in the end that a side has assigned
  for (std::size_t side = 0; side < 2; ++side) {
    builder_.set_place(op->regions[side]);
    std::size_t mark = enter_frame(), names = renewed_.size();
    result[side] = side == 0 ? then_fn() : else_fn();
    changed[side] = leave_frame(mark);
    for (const auto& [variable, entity] : changed[side])
      if (const Variable& var = variables_[std::size_t(variable)]; !var.internal && entity.is_value())
        last[side][var.name] = find_variable(var.name);
    if (side == 1) break;
    for (std::size_t i = names; i < renewed_.size(); ++i)
      renewed.emplace_back(renewed_[i].first, variable_index_[renewed_[i].first]);
    restore_names(names);
  }
  for (const auto& [name, variable] : renewed) {
    int& now = variable_index_[name];
    if (now != variable) renewed_.emplace_back(name, now);
    now = variable;
  }
  // Variables changed on either side, in order of their numbers.
  std::map<int, std::pair<const Entity*, const Entity*>> merged;
  for (const auto& [variable, entity] : changed[0]) merged[variable].first = &entity;
  for (const auto& [variable, entity] : changed[1]) merged[variable].second = &entity;

  std::vector<ir::Value*> yields[2];
  auto add_result = [&](ir::Value* a, ir::Value* b, bool maybe_unset, std::string_view name) {
    yields[0].push_back(a);
    yields[1].push_back(b);
    Entity merged_entity = Entity::of(function_.append_result(op, a->type, name));
    merged_entity.maybe_unset = maybe_unset;
    return merged_entity;
  };
  std::vector<std::pair<int, Entity>> updates;
  for (const auto& [variable, sides] : merged) {
    Variable& var = variables_[std::size_t(variable)];
    Entity a = sides.first ? *sides.first : read_variable(variable, nullptr);
    Entity b = sides.second ? *sides.second : read_variable(variable, nullptr);
    bool one_sided = a.kind == Entity::Kind::none || b.kind == Entity::Kind::none;
    if (one_sided && (var.flag || (end && !var.internal && !scan_.read_after(var.name, end)))) continue;
    if (else_is_over && sides.first && !var.internal && stays_constant(a, b)) {
      updates.emplace_back(variable, a);
      continue;
    }
    ir::Value *va = nullptr, *vb = nullptr;
    Entity same;
    bool differs = merge_values(variable, a, b, at_node, va, vb, same);
    if (differs) {
      std::string_view name = var.internal ? std::string_view() : function_.arena.copy(var.name);
      updates.emplace_back(variable, add_result(va, vb, else_has_left ? a.maybe_unset : same.maybe_unset, name));
    } else {
      updates.emplace_back(variable, same);
    }
  }
  Entity value;
  ir::Value *va = nullptr, *vb = nullptr;
  if (merge_values(-1, result[0], result[1], at_node, va, vb, value)) value = add_result(va, vb, false, {});
  for (std::size_t side = 0; side < 2; ++side) {
    builder_.set_place(op->regions[side]);
    builder_.yield(yields[side]);
  }
  builder_.set_place(outer);
  --region_depth_;
  for (auto& [variable, entity] : updates) set_variable(variable, std::move(entity));
  if (!else_has_left)
    for (const auto& [name, variable] : last[0])
      if (auto other = last[1].find(name); other != last[1].end()) part_name(variable, other->second);
  return value;
}

void FunctionLowering::part_name(int one, int other) {
  if (one == other) return;
  for (const auto& [variable, away] : {std::pair{one, other}, std::pair{other, one}}) {
    variables_[std::size_t(variable)].parted = away;
    set_variable(variable, Entity::nothing());
  }
}

}  // namespace weft::sema
