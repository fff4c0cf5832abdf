// Statements. break, continue and return become flags ("$on", "$go", "$live"); what follows a statement that may have
// left the block is guarded by them, chunk by chunk, so that nesting does not grow with the number of exits.
#include "sema/lowering.h"
#include "sema/tiles.h"

#include <algorithm>

#include "syntax/print.h"

namespace weft::sema {

using namespace syntax;

/// Whether every way through a block leaves it, whatever its conditions are.
static bool always_leaves(Block block) {
  if (block.empty()) return false;
  const Stmt& last = *block.back();
  if (last.kind == StmtKind::if_stmt)
    return always_leaves(last.as<IfStmt>().then_body) && always_leaves(last.as<IfStmt>().else_body);
  return last.kind == StmtKind::return_stmt || last.kind == StmtKind::break_stmt ||
         last.kind == StmtKind::continue_stmt;
}

void FunctionLowering::lower_block(Block block) {
  std::uint8_t exits = 0;
  for (std::size_t i = 0; i < block.size();) {
    int only_flag = -1;
    ir::Value* alive = guard(exits, only_flag);
    if (alive->is_zero()) {
      // Where a condition that is known here chooses, as wp.static does, other uses of the function may get further.
      const bool chosen = i > 0 && block[i - 1]->kind == StmtKind::if_stmt && !always_leaves(block.subspan(i - 1, 1));
      if (chosen) return;
      sink_.report(DiagCode::unreachable_code, block[i]->loc, "this code is never reached", block[i]->underline());
      return;
    }
    if (alive->is_constant()) {
      lower_statement(*block[i]);
      exits |= scan_.exits_of(block[i]);
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end + 1 < block.size() && !scan_.exits_of(block[end])) ++end;
    lower_branches(
        alive,
        [&] {
          for (std::size_t k = i; k <= end; ++k) lower_statement(*block[k]);
          return Entity::nothing();
        },
        [&] {  // here the exit was taken
          if (only_flag >= 0) set_variable(only_flag, Entity::of(builder_.boolean(false)));
          return Entity::nothing();
        },
        *block[i], scan_.end_of(block[end]), /*else_has_left=*/true, /*else_is_over=*/exits == kExitReturn);
    exits |= scan_.exits_of(block[end]);
    i = end + 1;
  }
}

ir::Value* FunctionLowering::guard(std::uint8_t exits, int& only_flag) {
  ir::Value* alive = builder_.boolean(true);
  int flags = 0;
  auto also = [&](int flag) {
    if (flag < 0) return;
    ir::Value* value = read_variable(flag, nullptr).value;
    if (!value || (value->is_constant() && value->bits)) return;
    alive = alive->is_constant() && alive->bits ? value : fold(ir::OpCode::bit_and, alive, value);
    only_flag = ++flags == 1 ? flag : -1;
  };
  if ((exits & kExitReturn) != 0) also(live_);
  if (!loops_.empty()) {
    if ((exits & kExitBreak) != 0) also(loops_.back().on);
    if ((exits & kExitContinue) != 0) also(loops_.back().go);
  }
  return alive;
}

void FunctionLowering::lower_statement(const Stmt& stmt) {
  builder_.set_loc(stmt.loc);
  switch (stmt.kind) {
    case StmtKind::expr: {
      const Expr& value = *stmt.as<ExprStmt>().value;
      if (value.kind != ExprKind::string_literal && value.kind != ExprKind::ellipsis) lower_expr(value);
      return;
    }
    case StmtKind::assign: return lower_assign(stmt.as<AssignStmt>());
    case StmtKind::augmented_assign: return lower_augmented(stmt.as<AugmentedAssignStmt>());
    case StmtKind::annotated_assign: return lower_annotated(stmt.as<AnnotatedAssignStmt>());
    case StmtKind::if_stmt: return lower_if(stmt.as<IfStmt>());
    case StmtKind::while_stmt: return lower_while(stmt.as<WhileStmt>());
    case StmtKind::for_stmt: return lower_for(stmt.as<ForStmt>());
    case StmtKind::break_stmt:
    case StmtKind::continue_stmt: {
      bool is_break = stmt.kind == StmtKind::break_stmt;
      if (loops_.empty()) {
        fail(DiagCode::misplaced_jump, stmt, is_break ? "'break' outside a loop" : "'continue' outside a loop");
        return;
      }
      int flag = is_break ? loops_.back().on : loops_.back().go;
      WEFT_CHECK(flag >= 0);
      return set_variable(flag, Entity::of(builder_.boolean(false)));
    }
    case StmtKind::pass_stmt: return;
    case StmtKind::return_stmt: return lower_return(stmt.as<ReturnStmt>());
    case StmtKind::assert_stmt: return lower_assert(stmt.as<AssertStmt>());
    case StmtKind::import_stmt:
      names_lost_ = true;
      fail(DiagCode::unsupported_construct, stmt, "Construct `import` not supported in kernels.",
           "import at the top of the file");
      return;
    case StmtKind::function_def:
      poison(stmt.as<FunctionDef>().name);
      fail(DiagCode::unsupported_construct, stmt, "Construct `nested function` not supported in kernels.",
           "define it outside with @wp.func");
      return;
    case StmtKind::class_def:
      poison(stmt.as<ClassDef>().name);
      fail(DiagCode::unsupported_construct, stmt, "Construct `class` not supported in kernels.",
           "define it outside with @wp.struct");
      return;
    case StmtKind::unsupported:
      names_lost_ = true;
      fail(DiagCode::unsupported_construct, stmt,
           "Construct `" + std::string(stmt.as<UnsupportedStmt>().construct) + "` not supported in kernels.");
      return;
  }
}

void FunctionLowering::lower_if(const IfStmt& stmt) {
  ir::Value* condition = lower_condition(*stmt.condition);
  if (!condition) {  // reported; still look for errors in the bodies
    for (Block body : {stmt.then_body, stmt.else_body}) {
      std::size_t mark = enter_frame();
      lower_block(body);
      for (const auto& [variable, value] : leave_frame(mark))
        if (!variables_[std::size_t(variable)].internal) set_variable(variable, Entity::failed());
    }
    return;
  }
  lower_branches(
      condition,
      [&] {
        lower_block(stmt.then_body);
        return Entity::nothing();
      },
      [&] {
        lower_block(stmt.else_body);
        return Entity::nothing();
      },
      stmt, scan_.end_of(&stmt));
}

void FunctionLowering::lower_return(const ReturnStmt& stmt) {
  std::vector<ir::Value*> values;
  bool is_tuple = false;
  if (stmt.value && stmt.value->kind != ExprKind::none_literal) {
    if (function_.kind == ir::FunctionKind::kernel) {
      fail(DiagCode::bad_return, stmt, "a kernel can't return a value",
           "write results to an array; a bare 'return' is fine");
      set_variable(live_, Entity::of(builder_.boolean(false)));
      return;
    }
    Entity value = lower_expr(*stmt.value);
    if (value.is_error()) {
      set_variable(live_, Entity::of(builder_.boolean(false)));
      returned_value_ = true;
      return;
    }
    std::vector<Entity> parts;
    if (value.kind == Entity::Kind::tuple) {
      parts = *value.elements;
      is_tuple = true;
    } else if (value.is_value() && value.type()->is_tuple()) {
      for (std::size_t k = 0; k < value.type()->fields().size(); ++k) {
        ir::PathStep step{ir::PathStep::field, false, false, std::int32_t(k)};
        parts.push_back(Entity::of(at(stmt).extract(value.value, std::span(&step, 1))));
      }
      is_tuple = true;
    } else {
      parts.push_back(value);
    }
    for (const Entity& part : parts) {
      ir::Value* v = value_of(part, *stmt.value);
      if (!v) return;
      values.push_back(v);
    }
  }
  std::vector<const Type*> value_types;
  for (ir::Value* v : values) value_types.push_back(v->type);
  auto list = [](const std::vector<const Type*>& types) {
    std::string out;
    for (const Type* t : types) out += (out.empty() ? "" : ", ") + t->user_name();
    return out.empty() ? std::string("nothing") : out;
  };
  if (first_return_.known() && value_types != return_types_) {
    sink_
        .report(DiagCode::return_mismatch, stmt.loc,
                "this 'return' gives " + list(value_types) + ", an earlier one " + list(return_types_),
                stmt.underline())
        .notes = {{first_return_, "the earlier 'return' is here; all must have the same types"}};
    set_variable(live_, Entity::of(builder_.boolean(false)));
    return;
  }
  if (!first_return_.known()) {
    first_return_ = stmt.loc;
    return_types_ = value_types;
    returns_tuple_ = is_tuple;
    returned_value_ = !values.empty();
    for (const Type* type : value_types) {
      int variable = new_variable("$result");
      variables_[std::size_t(variable)].type = type;
      variables_[std::size_t(variable)].internal = true;
      return_variables_.push_back(variable);
    }
  }
  for (std::size_t k = 0; k < values.size(); ++k) set_variable(return_variables_[k], Entity::of(values[k]));
  set_variable(live_, Entity::of(builder_.boolean(false)));
}

void FunctionLowering::lower_assert(const AssertStmt& stmt) {
  if (!module_.options().debug) {  // type errors are found all the same; nothing is kept
    if (library()) return;         // which has none: what it asks in debug mode would be lowered for nothing
    ir::Region* scratch = function_.make_region(nullptr);
    ir::Region* outer = builder_.region();
    std::size_t mark = enter_frame();
    builder_.set_place(scratch);
    lower_condition(*stmt.condition);
    leave_frame(mark);
    builder_.set_place(outer);
    return;
  }
  ir::Value* condition = lower_condition(*stmt.condition);
  if (!condition) return;
  const auto* message = stmt.message ? stmt.message->as_if<StringLiteral>() : nullptr;
  std::string text = message ? std::string(message->value) : to_source(*stmt.condition);
  ir::Value* operands[] = {condition};
  ir::Op* op = at(stmt).op(ir::OpCode::assert_, operands);
  op->text = function_.arena.copy(text);
}

void FunctionLowering::run(std::span<const Entity> args, std::span<const builtins::Pattern> patterns,
                           Instance& instance) {
  const FunctionDef& def = *decl_.def;
  builder_.set_place(function_.body);
  builder_.set_loc(def.loc);
  live_ = new_flag("$live", true);
  for (std::size_t i = 0; i < def.params.size(); ++i) {
    std::string_view name = def.params[i].name;
    int variable = new_variable(name);
    variable_index_.emplace(name, variable);
    param_variables_.push_back(variable);
    Variable& var = variables_[std::size_t(variable)];
    var.first = def.params[i].loc;
    if (args[i].is_value()) {  // a stand-in that carries the type
      var.type = args[i].type();
      var.value = Entity::of(function_.add_argument(function_.body, var.type, function_.arena.copy(name)));
      if (args[i].by_thread) var.value = Tiles(*this, def).known_by_thread(var.value.value);
    } else {
      var.value = args[i];
    }
  }
  lower_block(def.body);
  finish(instance, def, patterns);
}

void FunctionLowering::finish(Instance& instance, const FunctionDef& def, std::span<const builtins::Pattern> patterns) {
  std::vector<ir::Value*> results;
  if (returned_value_) {
    ir::Value* live = read_variable(live_, nullptr).value;
    bool endless = !def.body.empty() && def.body.back()->kind == StmtKind::while_stmt;
    if (!(live->is_zero()) && !endless)
      sink_.report(DiagCode::missing_return, def.name_loc,
                   "not every path through '" + std::string(def.name) + "' returns a value; zero is returned there",
                   "end the function with a 'return'", std::uint32_t(def.name.size()));
    for (int variable : return_variables_) {
      Entity value = read_variable(variable, nullptr);
      const Type* type = variables_[std::size_t(variable)].type;
      results.push_back(value.is_value() ? value.value : function_.zero(type));
      instance.by_thread.push_back(value.is_value() && Tiles(*this, def).is_by_thread(value.value));
    }
  }
  instance.num_results = results.size();
  instance.returns_tuple = returns_tuple_;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (!patterns[i].by_reference) continue;
    Entity value = read_variable(param_variables_[i], nullptr);
    if (!value.is_value()) continue;
    auto is_own = [&](const ir::Value* param) { return param == value.value && param->name == def.params[i].name; };
    if (value.type()->is_array() && std::ranges::any_of(function_.params(), is_own)) continue;  // a reference already
    instance.ref_params.push_back(i);
    results.push_back(value.value);
  }
  for (ir::Value* v : results) function_.result_types.push_back(v->type);
  builder_.set_loc(def.loc);
  builder_.ret(results);
  second_names_.report(function_, sink_);
}

}  // namespace weft::sema
