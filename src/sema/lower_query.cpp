// Loops over queries: `for i in query` runs while the struct's `next` (LibraryStruct) finds something. It is the loop
// `while next(query, i)`, which carries the struct, except that i keeps the last number found. Where the struct says how its
// numbers lie (QueryRuns), both are two counted loops instead, over runs and over a run's places.
#include "sema/lowering.h"

namespace weft::sema {

using namespace syntax;

void FunctionLowering::lower_query_loop(const ForStmt& stmt, const LoopInfo& info, ir::Value* query,
                                        std::string_view next) {
  // A query that a variable holds goes on there, as Python's iterators do: what a loop left, the next one finds. Any
  // other gets a variable of its own.
  auto place_in = [&](int variable) {
    auto place = std::make_shared<Place>();
    place->root = Place::Root::variable;
    place->variable = variable;
    place->base = variables_[std::size_t(variable)].value.value;
    place->type = place->base->type;
    return place;
  };
  auto hidden = [&](const char* name, ir::Value* value) {
    int variable = new_variable(name);
    variables_[std::size_t(variable)].internal = true;
    set_variable(variable, Entity::of(value));
    return variable;
  };
  const auto& rows = builtins::rows(next);
  WEFT_CHECK(
      !rows.empty() && rows[0].params.size() >= 2 && rows[0].params[1].pattern.kind == builtins::Pattern::Kind::exact,
      "'" + std::string(next) + "' can't go on in a loop");
  const Type* index_type = rows[0].params[1].pattern.type;
  renew_variable(stmt.target->as<NameExpr>().name, stmt.target->loc, index_type);
  const ExprKind kind = stmt.iterable->kind;
  const bool path = kind == ExprKind::name || kind == ExprKind::attribute || kind == ExprKind::subscript;
  const bool named = path && place_of(*stmt.iterable).root == Place::Root::variable;
  const auto* root = root_of(*stmt.iterable).as_if<NameExpr>();
  const QueryRuns* runs = query_runs(query->type);
  if (runs && !(named && root && info.body_assigns(root->name)))
    return lower_runs(stmt, info, query, *runs, named ? stmt.iterable : nullptr, *stmt.target, stmt.body,
                      stmt.else_body);
  if (!enter_region(stmt)) return;
  const int own = named ? -1 : hidden("$query", query);
  open_while(stmt, info, std::span(&own, named ? 0 : 1));
  int index = -1;
  auto find_next = [&]() -> ir::Value* {
    index = hidden("$index", function_.zero(index_type));
    std::vector<Argument> args(2);
    args[0].place = named ? std::make_shared<Place>(place_of(*stmt.iterable)) : place_in(own);
    args[0].entity = read_place(*args[0].place);
    args[0].expr = stmt.iterable;
    args[1].place = place_in(index);
    args[1].entity = Entity::of(args[1].place->base);
    args[1].expr = stmt.target;
    return value_of(call_builtin(next, std::move(args), *stmt.iterable), *stmt.iterable);
  };
  auto body = [&] {
    assign_variable(*stmt.target, stmt.target->as<NameExpr>().name, variables_[std::size_t(index)].value);
    lower_block(stmt.body);
  };
  close_while(stmt, info, find_next, body, stmt.else_body);
}

bool FunctionLowering::lower_query_while(const WhileStmt& stmt, const LoopInfo& info) {
  const auto* call = stmt.condition->as_if<CallExpr>();
  if (!call || call->args.size() != 2 || !call->keywords.empty()) return false;
  const auto variable_of = [&](const Expr* expr) {
    const auto* name = expr->as_if<NameExpr>();
    const int variable = name ? find_variable(name->name) : -1;
    return variable >= 0 && variables_[std::size_t(variable)].value.is_value() ? variable : -1;
  };
  const int query = variable_of(call->args[0]), index = variable_of(call->args[1]);
  if (query < 0 || index < 0 || variables_[std::size_t(index)].type != types::i32()) return false;
  const Type* type = variables_[std::size_t(query)].value.type();
  const QueryRuns* runs = query_runs(type);
  if (!runs || info.body_assigns(call->args[0]->as<NameExpr>().name)) return false;
  const Entity callee = lower_any(*call->callee);
  if (callee.kind != Entity::Kind::builtin || callee.symbol->text != library_struct(type)->next) return false;
  ir::Value* value = read_variable(query, call->args[0]).value;
  lower_runs(stmt, info, value, *runs, call->args[0], *call->args[1], stmt.body, stmt.else_body);
  return true;
}

void FunctionLowering::lower_runs(const Stmt& stmt, const LoopInfo& info, ir::Value* query, const QueryRuns& runs,
                                  const Expr* place, const Expr& target, Block body, Block else_body) {
  constexpr int kLevels = 2;
  for (int level = 0; level < kLevels; ++level)
    if (!enter_region(stmt)) {
      region_depth_ -= level;
      return;
    }
  const auto call = [&](const std::string& name, std::initializer_list<ir::Value*> operands) {
    auto function = library_function(name);
    WEFT_CHECK(function, "no library function " + name);
    std::vector<Entity> args;
    for (ir::Value* operand : operands) args.push_back(Entity::of(operand));
    const std::vector<const Argument*> given(args.size(), nullptr);
    return call_instance(*function, std::move(args), given, stmt);
  };
  const auto both = [&](const std::string& name, std::initializer_list<ir::Value*> operands) {
    const Entity found = call(name, operands);
    WEFT_CHECK(found.kind == Entity::Kind::tuple && found.elements->size() == 2, name + " gives two numbers");
    return std::pair((*found.elements)[0].value, (*found.elements)[1].value);
  };
  const auto leave_behind = [&](ir::Value* run, ir::Value* at_place, ir::Value* end) {
    if (place) write_place(place_of(*place), call(runs.rest, {query, run, at_place, end}), stmt);
  };
  // Without an exit the query is known to be at its end behind the loop, so turns need not hand it on.
  const bool leaves = (info.exits & (kExitBreak | kExitReturn)) != 0;
  const int not_carried = place && !leaves ? place_of(*place).variable : -1;
  const auto [first_run, last_run] = both(runs.runs, {query});
  ir::Value* one = function_.constant_int(first_run->type, 1);
  const std::uint8_t outer_exits = std::uint8_t(info.exits & ~kExitContinue);
  Counting over_runs{stmt, info, outer_exits, first_run, last_run, one};
  over_runs.not_carried = not_carried;
  if (info.exits & kExitBreak) over_runs.on = new_flag("$on", true);
  over_runs.body = [&](ir::Value* run) {
    const auto [first, last] = both(runs.run, {query, run});
    ir::Value* end = last;
    Counting over_places{stmt, info, info.exits, first, last, one};
    over_places.not_carried = not_carried;
    over_places.on = over_runs.on;
    over_places.body = [&](ir::Value* at_place) {
      leave_behind(run, at_place, end);
      assign_variable(target, target.as<NameExpr>().name, call(runs.item, {query, at_place}));
      lower_block(body);
    };
    count(over_places);
  };
  const Loop loop = count(over_runs);
  region_depth_ -= kLevels;
  builder_.set_loc(stmt.loc);
  if (!leaves) {
    ir::Value* zero = function_.constant_int(first_run->type, 0);
    leave_behind(fold(ir::OpCode::sub, last_run, one), zero, zero);
  }
  finish_counted(stmt, info, loop, else_body);
}

}  // namespace weft::sema
