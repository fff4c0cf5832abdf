// Loops over queries: `for i in query` runs while the struct's `next` (LibraryStruct) finds something. It is the loop
// `while next(query, i)`, which carries the struct, except that i keeps the last number found.
#include "sema/lowering.h"

namespace weft::sema {

using namespace syntax;

void FunctionLowering::lower_query_loop(const ForStmt& stmt, const LoopInfo& info, ir::Value* query,
                                        std::string_view next) {
  if (!enter_region(stmt)) return;
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
  renew_variable(*stmt.target, index_type);
  const ExprKind kind = stmt.iterable->kind;
  const bool path = kind == ExprKind::name || kind == ExprKind::attribute || kind == ExprKind::subscript;
  const bool named = path && place_of(*stmt.iterable).root == Place::Root::variable;
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

}  // namespace weft::sema
