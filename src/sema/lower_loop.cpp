// Loops. A counted loop without break or return is a `for`; with one it is a `while` that carries its counter and the
// flags. Every variable that the body assigns is carried. Loops are unrolled here only where the program can see it: a
// wp.static inside, or a loop variable needed as a constant; all other unrolling is a pass.
#include "sema/lowering.h"
#include "types/fabric_type.h"
#include "types/tile_type.h"

namespace weft::sema {

using namespace syntax;

std::vector<int> FunctionLowering::carried_variables(const LoopInfo& info, const Node&) {
  std::vector<int> out;
  std::set<int> seen;
  auto add = [&](int variable) {
    if (variable >= 0 && variables_[std::size_t(variable)].value.is_value() && seen.insert(variable).second)
      out.push_back(variable);
  };
  for (const AssignedName& assigned : info.assigned) {
    int variable = find_variable(assigned.name);
    if (variable < 0) continue;
    const Entity& value = variables_[std::size_t(variable)].value;
    bool refers = value.is_value() && (value.type()->is_array() || value.type()->is_indexed_array() ||
                                       tile_type(value.type()) || fabric_type(value.type()));
    if (assigned.whole || (value.is_value() && !refers)) add(variable);
  }
  for (const auto& [name, variable] : adjoint_variables_)  // wp.adjoint[x] is no name that the scan sees
    if (!variables_[std::size_t(variable)].type->is_array()) add(variable);
  if (info.exits & kExitReturn) {
    add(live_);
    for (int variable : return_variables_) add(variable);
  }
  return out;
}

std::vector<ir::Value*> FunctionLowering::values_of(std::span<const int> variables) {
  std::vector<ir::Value*> out;
  for (int variable : variables) out.push_back(variables_[std::size_t(variable)].value.value);
  return out;
}

void FunctionLowering::bind_arguments(ir::Region* region, const Loop& loop) {
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    ir::Value* argument = region->args[loop.leading_args + i];
    const Variable& var = variables_[std::size_t(loop.carried[i])];
    if (!var.internal && argument->name.empty()) argument->name = function_.arena.copy(var.name);
    Entity entity = Entity::of(argument);
    entity.maybe_unset = var.value.maybe_unset;
    set_variable(loop.carried[i], entity);
  }
}

void FunctionLowering::assume_alive(const Loop& loop, std::uint8_t exits) {
  if (loop.on >= 0) set_variable(loop.on, Entity::of(builder_.boolean(true)));
  if (exits & kExitReturn) set_variable(live_, Entity::of(builder_.boolean(true)));
}

std::vector<ir::Value*> FunctionLowering::next_values(Loop& loop) {
  std::vector<ir::Value*> out;
  ir::Region* body = loop.op->regions.back();
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    Entity value = read_variable(loop.carried[i], nullptr);
    out.push_back(value.is_value() ? value.value : body->args[loop.leading_args + i]);
  }
  return out;
}

void FunctionLowering::export_late(const LoopInfo& info, Loop& loop) {
  std::set<int> known(loop.carried.begin(), loop.carried.end());
  for (const AssignedName& assigned : info.assigned) {
    int variable = find_variable(assigned.name);
    if (variable < 0 || !assigned.whole || known.count(variable) || !scan_.read_after(assigned.name, info.end))
      continue;
    Entity value = variables_[std::size_t(variable)].value;
    if (value.is_value()) undefined_value(variable, value.type(), loops_.size());
  }
  if (info.exits & kExitReturn)
    for (int variable : return_variables_) {
      Entity value = variables_[std::size_t(variable)].value;
      if (!known.count(variable) && value.is_value()) undefined_value(variable, value.type(), loops_.size());
    }
}

void FunctionLowering::take_results(const Loop& loop, std::size_t first_result) {
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    ir::Value* result = loop.op->results[first_result + i];
    const Variable& var = variables_[std::size_t(loop.carried[i])];
    if (!var.internal && result->name.empty()) result->name = function_.arena.copy(var.name);
    Entity entity = Entity::of(result);
    entity.maybe_unset = loop.late.count(loop.carried[i]) != 0 || var.value.maybe_unset;
    set_variable(loop.carried[i], entity);
  }
}

ir::Value* FunctionLowering::flags_alive(const Loop& loop, std::uint8_t exits) {
  ir::Value* alive = builder_.boolean(true);
  auto also = [&](int flag) {
    if (flag < 0) return;
    ir::Value* value = read_variable(flag, nullptr).value;
    alive = alive->is_constant() ? value : fold(ir::OpCode::bit_and, alive, value);
  };
  also(loop.on);
  if (exits & kExitReturn) also(live_);
  return alive;
}

void FunctionLowering::lower_loop_else(const Stmt& stmt, Block else_body, ir::Value* not_left) {
  if (else_body.empty()) return;
  lower_branches(
      not_left,
      [&] {
        lower_block(else_body);
        return Entity::nothing();
      },
      [] { return Entity::nothing(); }, stmt, scan_.end_of(&stmt));
}

ir::Value* FunctionLowering::trip_count(ir::Value* lo, ir::Value* hi, ir::Value* step) {
  using ir::OpCode;
  auto wide = [&](ir::Value* v) { return cast(v, types::i64()); };
  lo = wide(lo), hi = wide(hi), step = wide(step);
  ir::Value *zero = builder_.i64(0), *one = builder_.i64(1);
  auto count = [&](ir::Value* from, ir::Value* to, ir::Value* by) {  // max(0, ceil((to − from) / by)), by > 0
    ir::Value* span = fold(OpCode::sub, to, from);
    ir::Value* rounded = fold(OpCode::add, span, fold(OpCode::sub, by, one));
    return fold(OpCode::max, zero, fold(OpCode::floordiv, rounded, by));
  };
  if (step->is_constant())
    return step->as_int() > 0 ? count(lo, hi, step)
           : step->is_zero()  ? zero
                              : count(hi, lo, builder_.i64(-step->as_int()));
  ir::Value* up = count(lo, hi, step);
  ir::Value* down = count(hi, lo, fold(OpCode::neg, step));
  ir::Value* signed_count = builder_.select(fold(OpCode::gt, step, zero), up, down);
  return builder_.select(fold(OpCode::eq, step, zero), zero, signed_count);
}

void FunctionLowering::lower_for(const ForStmt& stmt) {
  const LoopInfo& info = scan_.loops.at(&stmt);
  Entity range = lower_expr(*stmt.iterable);
  if (range.is_error()) return give_up_loop(stmt, info);
  const LibraryStruct* query = range.is_value() ? library_struct(range.type()) : nullptr;
  if (range.kind != Entity::Kind::range && (!query || query->next.empty())) {
    fail(DiagCode::unsupported_construct, *stmt.iterable, "a 'for' loop can't run over " + describe(range),
         "kernels loop over range(…)");
    return give_up_loop(stmt, info);
  }
  if (stmt.target->kind != ExprKind::name) {
    fail(DiagCode::bad_assignment, *stmt.target, "the target of a 'for' loop must be a plain name");
    return give_up_loop(stmt, info);
  }
  if (query) return lower_query_loop(stmt, info, range.value, query->next);
  ir::Value* lo = (*range.elements)[0].value;
  ir::Value* hi = (*range.elements)[1].value;
  ir::Value* step = (*range.elements)[2].value;
  builder_.set_loc(stmt.loc);
  if (range.reversed) {  // from the last value down: lo + (n−1)·step … lo
    ir::Value* trips = cast(trip_count(lo, hi, step), lo->type);
    ir::Value* one = function_.constant_int(lo->type, 1);
    ir::Value* last = fold(ir::OpCode::add, lo, fold(ir::OpCode::mul, fold(ir::OpCode::sub, trips, one), step));
    hi = fold(ir::OpCode::sub, lo, step);
    lo = last;
    step = fold(ir::OpCode::neg, step);
  }
  if (step->is_zero()) {
    fail(DiagCode::value_out_of_range, *stmt.iterable, "the step of range() is zero");
    return give_up_loop(stmt, info);
  }
  std::size_t names = renewed_.size();
  renew_variable(stmt.target->as<NameExpr>().name, stmt.target->loc, lo->type);
  bool constant = lo->is_constant() && hi->is_constant() && step->is_constant();
  std::int64_t trips = constant ? trip_count(lo, hi, step)->as_int() : -1;
  auto unroll = [&] {
    if (!module_.count_unrolled(trips)) {
      fail(
          DiagCode::value_out_of_range, *stmt.iterable,
          "this loop must be unrolled, because its variable is needed as a constant or a wp.static is inside, but that "
          "gives too many copies of its body",
          "move wp.static out of the loop");
      return give_up_loop(stmt, info);
    }
    lower_unrolled(stmt, info, lo->as_int(), step->as_int(), trips, lo->type);
  };
  if (constant && (info.has_static || must_unroll_.count(&stmt))) return unroll();

  // Tried as a loop; where its variable turns out to be needed as a constant, all of it is taken back and unrolled.
  ir::Region* region = builder_.region();
  ir::Op* last = region->last;
  std::size_t mark = enter_frame(), depth = loops_.size();
  int region_depth = region_depth_;
  if (!enter_region(stmt)) return;
  try {
    lower_counted(stmt, info, lo, hi, step);
    --region_depth_;
  } catch (const UnrollRequest& request) {
    if (request.loop != &stmt) throw;
    leave_frame(mark);
    restore_names(names);
    renew_variable(stmt.target->as<NameExpr>().name, stmt.target->loc, lo->type);
    loops_.resize(depth);
    builder_.set_place(region);
    region->last = last;
    (last ? last->next : region->first) = nullptr;
    tid_arity_ = 1;
    region_depth_ = region_depth;
    unroll();
  }
}

void FunctionLowering::give_up_loop(const ForStmt& stmt, const LoopInfo& info) {
  ir::Region* outer = builder_.region();
  builder_.set_place(function_.make_region(nullptr));
  std::size_t mark = enter_frame();
  Loop loop;
  loop.on = new_flag("$on", true);
  loop.go = new_flag("$go", true);
  loops_.push_back(std::move(loop));
  assign_target(*stmt.target, Entity::failed(), *stmt.target);
  lower_block(stmt.body);
  loops_.pop_back();
  lower_block(stmt.else_body);
  leave_frame(mark);
  builder_.set_place(outer);
  for (const AssignedName& assigned : info.assigned)
    if (assigned.whole) poison(assigned.name);
}

void FunctionLowering::lower_unrolled(const ForStmt& stmt, const LoopInfo& info, std::int64_t lo, std::int64_t step,
                                      std::int64_t trips, const Type* type) {
  std::string_view name = stmt.target->as<NameExpr>().name;
  Loop loop;
  loop.stmt = &stmt;
  if (info.exits & kExitBreak) loop.on = new_flag("$on", true);
  loops_.push_back(loop);
  const std::size_t names = renewed_.size();
  for (std::int64_t k = 0; k < trips; ++k) {
    restore_names(names);
    ir::Value* alive = flags_alive(loops_.back(), info.exits);
    lower_branches(
        alive,
        [&] {
          Entity counter = Entity::of(function_.constant_int(type, lo + k * step));
          counter.symbol = std::make_shared<const Symbol>(Symbol::of(Constant::of_int(lo + k * step)));
          assign_variable(*stmt.target, name, std::move(counter));
          if (info.exits & kExitContinue) loops_.back().go = new_flag("$go", true);
          lower_block(stmt.body);
          return Entity::nothing();
        },
        [] { return Entity::nothing(); }, stmt);
  }
  ir::Value* alive = flags_alive(loops_.back(), info.exits);
  loops_.pop_back();
  lower_loop_else(stmt, stmt.else_body, alive);
}

void FunctionLowering::lower_counted(const ForStmt& stmt, const LoopInfo& info, ir::Value* lo, ir::Value* hi,
                                     ir::Value* step) {
  Counting counting{stmt, info, info.exits, lo, hi, step};
  counting.stmt = &stmt;
  counting.body = [&](ir::Value* counter) {
    assign_variable(*stmt.target, stmt.target->as<NameExpr>().name, Entity::of(counter));
    lower_block(stmt.body);
  };
  const Loop loop = count(counting);
  settle_counter(stmt, counting, loop);
  finish_counted(stmt, info, loop, stmt.else_body);
}

void FunctionLowering::settle_counter(const ForStmt& stmt, const Counting& counting, const Loop& loop) {
  const ir::Value *lo = counting.lo, *hi = counting.hi, *step = counting.step;
  if ((counting.exits & (kExitBreak | kExitReturn)) || !lo->is_constant() || !hi->is_constant() || !step->is_constant())
    return;
  const std::int64_t trips = trip_count(counting.lo, counting.hi, counting.step)->as_int();
  const int variable = find_variable(stmt.target->as<NameExpr>().name);
  if (trips < 1 || variable < 0) return;
  const ir::Region* body = loop.op->regions[0];
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    if (loop.carried[i] != variable) continue;
    ir::Value* last = body->last->operands[i];
    if (last == body->args[0]) last = function_.constant_int(lo->type, lo->as_int() + (trips - 1) * step->as_int());
    if (last->is_constant()) set_variable(variable, Entity::of(last));
  }
}

void FunctionLowering::finish_counted(const Stmt& stmt, const LoopInfo& info, const Loop& loop, Block else_body) {
  if (!(info.exits & (kExitBreak | kExitReturn)))
    lower_block(else_body);
  else if (!else_body.empty())
    lower_loop_else(stmt, else_body, flags_alive(loop, info.exits));
}

FunctionLowering::Loop FunctionLowering::count(const Counting& counting) {
  return counting.exits & (kExitBreak | kExitReturn) ? count_with_exit(counting) : count_to_end(counting);
}

FunctionLowering::Loop FunctionLowering::open_counted(const Counting& counting) {
  ir::Value *lo = counting.lo, *hi = counting.hi, *step = counting.step;
  Loop loop;
  loop.stmt = counting.stmt;
  loop.leading_args = 1;
  builder_.set_loc(counting.at.loc);
  loop.constant_trips = lo->is_constant() && hi->is_constant() && step->is_constant() &&
                        trip_count(lo, hi, step)->as_int() <= module_.options().max_unroll;
  loop.carried = carried_variables(counting.info, counting.at);
  std::erase(loop.carried, counting.not_carried);
  return loop;
}

FunctionLowering::Loop FunctionLowering::count_to_end(const Counting& counting) {
  Loop loop = open_counted(counting);
  ir::Region* outer = builder_.region();
  loop.op = at(counting.at).for_op(counting.lo, counting.hi, counting.step, values_of(loop.carried));
  loops_.push_back(std::move(loop));
  std::size_t mark = enter_frame();
  ir::Region* body = loops_.back().op->regions[0];
  builder_.set_place(body);
  bind_arguments(body, loops_.back());
  if (counting.exits & kExitContinue) loops_.back().go = new_flag("$go", true);
  counting.body(body->args[0]);
  export_late(counting.info, loops_.back());
  builder_.set_loc(counting.at.loc);
  builder_.yield(next_values(loops_.back()));
  leave_frame(mark);
  loop = std::move(loops_.back());
  loops_.pop_back();
  builder_.set_place(outer);
  take_results(loop, 0);
  return loop;
}

FunctionLowering::Loop FunctionLowering::count_with_exit(const Counting& counting) {
  using ir::OpCode;
  ir::Value *lo = counting.lo, *hi = counting.hi, *step = counting.step;
  const int on = counting.on >= 0 || !(counting.exits & kExitBreak) ? counting.on : new_flag("$on", true);
  Loop loop = open_counted(counting);
  loop.on = on;
  if (on >= 0) loop.carried.push_back(on);
  // With a step of ±1 the counter is the loop variable itself and can't overflow; otherwise trips are counted.
  bool unit = step->is_constant() && (step->as_int() == 1 || step->as_int() == -1);
  ir::Value* trips = unit ? nullptr : trip_count(lo, hi, step);
  std::vector<ir::Value*> init = {unit ? lo : builder_.i64(0)};
  for (ir::Value* v : values_of(loop.carried)) init.push_back(v);
  ir::Region* outer = builder_.region();
  loop.op = at(counting.at).while_op(init);
  loops_.push_back(std::move(loop));
  ir::Op* op = loops_.back().op;
  {  // test: more trips, and nobody left
    std::size_t mark = enter_frame();
    ir::Region* test = op->regions[0];
    builder_.set_place(test);
    bind_arguments(test, loops_.back());
    ir::Value* counter = test->args[0];
    ir::Value* more = unit ? builder_.binary(step->as_int() > 0 ? OpCode::lt : OpCode::gt, counter, hi)
                           : builder_.binary(OpCode::lt, counter, trips);
    ir::Value* alive = flags_alive(loops_.back(), counting.exits);
    builder_.test(alive->is_constant() ? more : builder_.binary(OpCode::bit_and, alive, more));
    leave_frame(mark);
  }
  std::size_t mark = enter_frame();
  ir::Region* body = op->regions[1];
  builder_.set_place(body);
  bind_arguments(body, loops_.back());
  assume_alive(loops_.back(), counting.exits);
  ir::Value* counter = body->args[0];
  ir::Value* induction = unit ? counter : fold(OpCode::add, lo, fold(OpCode::mul, cast(counter, lo->type), step));
  if (counting.exits & kExitContinue) loops_.back().go = new_flag("$go", true);
  counting.body(induction);
  export_late(counting.info, loops_.back());
  builder_.set_loc(counting.at.loc);
  ir::Value* next = builder_.binary(OpCode::add, counter, unit ? step : builder_.i64(1));
  std::vector<ir::Value*> yields = next_values(loops_.back());
  yields.insert(yields.begin(), next);
  builder_.yield(yields);
  leave_frame(mark);
  loop = std::move(loops_.back());
  loops_.pop_back();
  builder_.set_place(outer);
  take_results(loop, 1);
  return loop;
}

void FunctionLowering::open_while(const Stmt& stmt, const LoopInfo& info, std::span<const int> also_carried) {
  Loop loop;
  if (info.exits & kExitBreak) loop.on = new_flag("$on", true);
  loop.carried = carried_variables(info, stmt);
  loop.carried.insert(loop.carried.end(), also_carried.begin(), also_carried.end());
  if (loop.on >= 0) loop.carried.push_back(loop.on);
  loop.op = at(stmt).while_op(values_of(loop.carried));
  loops_.push_back(std::move(loop));
}

bool FunctionLowering::lower_pure_test(const WhileStmt& stmt, const LoopInfo& info) {
  using ir::OpCode;
  ir::Region* outer = builder_.region();
  std::size_t mark = enter_frame();
  ir::Region* test = loops_.back().op->regions[0];
  builder_.set_place(test);
  bind_arguments(test, loops_.back());
  std::size_t bound = journal_.size();
  ir::Value* condition = lower_condition(*stmt.condition);
  bool pure = journal_.size() == bound;
  for (ir::Op& inner : *test) pure = pure && ir::is_pure(inner);
  const bool here = pure || !condition;
  if (here) {
    ir::Value* alive = flags_alive(loops_.back(), info.exits);
    if (!condition) condition = builder_.boolean(false);
    if (!alive->is_constant())
      condition =
          condition->is_constant() && condition->bits ? alive : builder_.binary(OpCode::bit_and, alive, condition);
    builder_.test(condition);
  } else {
    test->first = test->last = nullptr;
  }
  leave_frame(mark);
  builder_.set_place(outer);
  return here;
}

void FunctionLowering::lower_while(const WhileStmt& stmt) {
  const LoopInfo& info = scan_.loops.at(&stmt);
  if (lower_query_while(stmt, info)) return;
  if (!enter_region(stmt)) return;
  open_while(stmt, info, {});
  // The test region must be pure. A condition that loads, calls or updates something goes into the body instead.
  std::function<ir::Value*()> condition_in_body;
  if (!lower_pure_test(stmt, info)) condition_in_body = [&] { return lower_condition(*stmt.condition); };
  close_while(stmt, info, condition_in_body, [&] { lower_block(stmt.body); }, stmt.else_body);
}

void FunctionLowering::close_while(const Stmt& stmt, const LoopInfo& info,
                                   const std::function<ir::Value*()>& condition_in_body,
                                   const std::function<void()>& lower_body, Block else_body) {
  using ir::OpCode;
  ir::Op* op = loops_.back().op;
  ir::Region* outer = builder_.region();
  int again = -1;
  if (condition_in_body) {
    again = new_flag("$again", true);
    function_.append_operand(op, variables_[std::size_t(again)].value.value);
    for (ir::Region* region : op->regions) function_.add_argument(region, types::boolean());
    function_.append_result(op, types::boolean());
    loops_.back().carried.push_back(again);
    std::size_t mark = enter_frame();
    builder_.set_place(op->regions[0]);
    bind_arguments(op->regions[0], loops_.back());
    ir::Value* alive = flags_alive(loops_.back(), info.exits);
    ir::Value* go_on = read_variable(again, nullptr).value;
    builder_.test(alive->is_constant() ? go_on : builder_.binary(OpCode::bit_and, alive, go_on));
    leave_frame(mark);
  }

  std::size_t mark = enter_frame();
  ir::Region* body = op->regions[1];
  builder_.set_place(body);
  bind_arguments(body, loops_.back());
  assume_alive(loops_.back(), info.exits);
  if (again >= 0) set_variable(again, Entity::of(builder_.boolean(true)));
  if (info.exits & kExitContinue) loops_.back().go = new_flag("$go", true);
  if (condition_in_body) {
    ir::Value* condition = condition_in_body();
    lower_branches(
        condition ? condition : builder_.boolean(false),
        [&] {
          lower_body();
          return Entity::nothing();
        },
        [&] {
          set_variable(again, Entity::of(builder_.boolean(false)));
          return Entity::nothing();
        },
        stmt, info.end);
  } else {
    lower_body();
  }
  export_late(info, loops_.back());
  builder_.set_loc(stmt.loc);
  builder_.yield(next_values(loops_.back()));
  leave_frame(mark);
  Loop loop = std::move(loops_.back());
  loops_.pop_back();
  builder_.set_place(outer);
  --region_depth_;
  take_results(loop, 0);
  if (!else_body.empty()) lower_loop_else(stmt, else_body, flags_alive(loop, info.exits));
}

}  // namespace weft::sema
