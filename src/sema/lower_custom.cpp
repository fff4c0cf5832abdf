// Gradients and replays that programs write themselves. A gradient function takes what its function takes, then the
// adjoints of the results, and adds to `wp.adjoint[x]`: for values a variable that begins at zero and is returned, for
// arrays their gradient. That of a parameter by reference begins with the adjoint of the value that the function left there.
// In the IR it is a function like any other, (params…, adjoints of results, of references) → adjoints of params.
#include <algorithm>

#include "ir/clone.h"
#include "ir/origin.h"
#include "ir/walk.h"
#include "sema/lowering.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

namespace {

std::string plural(std::size_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

/// What the library says about differentiating one of its functions: a function of this name beside it.
std::shared_ptr<const FunctionDecl> gradient_decl(const FunctionDecl& decl) {
  return decl.library ? library_function(std::string(decl.def->name) + "_gradient") : decl.gradient;
}

/// Arrays that the function made itself are there, and those that it was given unless they may be gradients.
bool may_be_missing(const ir::Value* array, bool given) {
  const ir::Origin from = ir::origin_of(array);
  return from.is_parameter() ? given : from.kind != ir::Origin::Kind::local;
}

}  // namespace

void ModuleLowering::guard_gradients(ir::Function& function, bool given) {
  std::vector<ir::Op*> accesses;
  ir::walk(*function.body, [&](ir::Op& op) {
    bool access = op.code == OpCode::load || op.code == OpCode::store || op.code == OpCode::atomic;
    if (access && may_be_missing(op.operand(0), given)) accesses.push_back(&op);
    if (op.code != OpCode::call) return;
    bool passes_on = std::any_of(op.operands.begin(), op.operands.end(), [&](ir::Value* value) {
      return ir::has_array(value->type) && may_be_missing(value, given);
    });
    if (passes_on) op.callee = guarded(*op.callee);
  });
  ir::Rewriter rewriter(function);
  for (ir::Op* op : accesses) {
    ir::Builder b(function, op->parent, op);
    b.set_loc(op->loc);
    std::vector<const Type*> types;
    std::vector<ir::Value*> zeros;
    for (ir::Value* result : op->results) {
      types.push_back(result->type);
      zeros.push_back(function.zero(result->type));
    }
    ir::Op* there = b.if_op(b.unary(OpCode::nonnull, ir::whole_array(op->operand(0))), types);
    for (std::size_t k = 0; k < types.size(); ++k) rewriter.replace(op->result(k), there->result(k));
    ir::remove_op(op);
    ir::insert_op(there->regions[0], op);
    b.set_place(there->regions[1]);
    b.yield(zeros);
  }
  rewriter.run(*function.body, [](ir::Op&) {});
  for (ir::Op* op : accesses) {  // these alone go on with the results themselves
    ir::Builder b(function, op->parent);
    b.set_loc(op->loc);
    b.yield(std::vector<ir::Value*>(op->results.begin(), op->results.end()));
  }
}

ir::Function* ModuleLowering::guarded(ir::Function& function) {
  if (!function.native.empty() || function.derives) return &function;
  if (auto it = guarded_.find(&function); it != guarded_.end()) return it->second;
  auto made = std::make_unique<ir::Function>(fresh_name(function.name + ".guarded"), ir::FunctionKind::function);
  made->loc = function.loc;
  made->from_library = function.from_library;
  made->result_types = function.result_types;
  ir::ValueMap map;
  for (const ir::Value* param : function.params())
    map[param] = made->add_argument(made->body, param->type, made->arena.copy(param->name));
  ir::clone_ops(*function.body, *made, made->body, map);
  guard_gradients(*made, true);
  module_->functions.push_back(std::move(made));
  return guarded_[&function] = module_->functions.back().get();
}

std::string ModuleLowering::fresh_name(std::string_view wanted) {
  std::string name(wanted);
  int count = name_counts_[name]++;
  return count ? name + "." + std::to_string(count) : name;
}

void ModuleLowering::note_custom(const FunctionDecl& decl, std::span<const Entity> args, const Instance& instance) {
  bool says = decl.gradient || decl.replay || !decl.native_gradient.empty() || !decl.native_replay.empty();
  if (says || decl.library) customs_.push_back({&decl, {args.begin(), args.end()}, &instance});
}

void ModuleLowering::lower_custom() {
  std::size_t errors = sink_.error_count();
  for (std::size_t k = 0; k < customs_.size() && sink_.error_count() == errors; ++k) {
    Custom one = customs_[k];  // a copy: the list grows
    lower_replay(one);
    lower_gradient(one);
  }
}

void ModuleLowering::lower_replay(const Custom& of) {
  ir::Function& function = *of.instance->function;
  if (!of.decl->native_replay.empty()) {
    FunctionDecl decl = *of.decl;
    decl.native = decl.native_replay;
    auto made = std::make_unique<ir::Function>(fresh_name(function.name + ".replay"), ir::FunctionKind::function);
    made->loc = function.loc;
    Instance instance;
    lower_native(decl, of.args, *made, instance);
    function.replay = made.get();
    module_->functions.push_back(std::move(made));
    return;
  }
  if (!of.decl->replay) return;
  const FunctionDef& def = *of.decl->replay->def;
  keep_source(*of.decl->replay);
  const Instance* replay = nullptr;
  if (def.params.size() == of.args.size()) {
    replay = instantiate(*of.decl->replay, of.args, def.name_loc);
    if (!replay || !replay->function) return;
  }
  if (!replay || replay->function->result_types != function.result_types) {
    sink_.report(DiagCode::bad_gradient, def.name_loc,
                 "'" + std::string(def.name) + "' can't replay '" + std::string(of.decl->def->name) +
                     "': it has other parameters or results",
                 "take the same parameters and return the same types", std::uint32_t(def.name.size()));
    return;
  }
  function.replay = replay->function;
}

void ModuleLowering::lower_gradient(const Custom& of) {
  ir::Function& function = *of.instance->function;
  std::shared_ptr<const FunctionDecl> decl = gradient_decl(*of.decl);
  if (!decl && of.decl->native_gradient.empty()) return;
  auto made = std::make_unique<ir::Function>(fresh_name(function.name + ".gradient"), ir::FunctionKind::function);
  made->from_library = function.from_library;
  std::size_t errors = sink_.error_count();
  if (decl) {
    made->loc = decl->def->name_loc;
    keep_source(*decl);
    FunctionLowering(*this, *decl, *made).run_gradient(of.args, *of.instance);
  } else {
    made->loc = function.loc;
    lower_native_gradient(*of.decl, of.args, *of.instance, *made);
  }
  if (sink_.error_count() != errors) return;
  function.gradient = made.get();
  module_->functions.push_back(std::move(made));
}

ir::Value* FunctionLowering::first_adjoint(ir::Value* of) {
  const Type* type = of->type;
  if (type->is_array()) return builder_.gradient(of);
  if (!ir::has_array(type)) return function_.zero(type);
  std::vector<ir::Value*> parts;
  for (std::size_t k = 0; k < type->fields().size(); ++k) {
    ir::PathStep step{ir::PathStep::field, false, false, std::int32_t(k)};
    ir::Value* part = builder_.extract(of, std::span(&step, 1));
    parts.push_back(type->is_indexed_array() && k > 0 ? part : first_adjoint(part));  // the indices stay what they are
  }
  return builder_.construct(type, parts);
}

void FunctionLowering::run_gradient(std::span<const Entity> args, const Instance& of) {
  const FunctionDef& def = *decl_.def;
  const ir::Function& forward = *of.function;
  const std::vector<builtins::Pattern>* patterns = module_.patterns_of(decl_);
  if (!patterns) return;
  if (def.params.size() != args.size() + of.num_results) {
    sink_.report(DiagCode::bad_gradient, def.name_loc,
                 "the gradient function '" + std::string(def.name) + "' takes " +
                     plural(def.params.size(), "parameter") + ", but its function has " +
                     plural(args.size(), "parameter") + " and " + plural(of.num_results, "result"),
                 "take the function's parameters, then the adjoint of each result", std::uint32_t(def.name.size()));
    return;
  }
  builder_.set_place(function_.body);
  builder_.set_loc(def.loc);
  is_gradient_ = true;
  live_ = new_flag("$live", true);
  auto bind = [&](std::size_t i, Entity value) {
    builtins::Bindings bindings;
    if (value.is_value() && !builtins::match((*patterns)[i], value.type(), bindings)) {
      sink_.report(DiagCode::bad_gradient, def.params[i].loc,
                   "'" + std::string(def.params[i].name) + "' takes " + builtins::to_string((*patterns)[i]) +
                       (i < args.size() ? ", but the function's parameter is " : ", but the function's result is ") +
                       value.type()->user_name(),
                   std::uint32_t(def.params[i].name.size()));
    }
    int variable = new_variable(def.params[i].name);
    variable_index_.emplace(def.params[i].name, variable);
    Variable& var = variables_[std::size_t(variable)];
    var.first = def.params[i].loc;
    var.type = value.is_value() ? value.type() : nullptr;
    var.value = std::move(value);
  };
  auto seed = [&](std::size_t result, std::string_view name) {
    const Type* type = forward.result_types[result];
    if (!has_floats(type)) return function_.zero(type);
    return function_.add_argument(function_.body, type, function_.arena.copy(name));
  };
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!args[i].is_value()) {
      bind(i, args[i]);
      continue;
    }
    std::string_view name = function_.arena.copy(def.params[i].name);
    bind(i, Entity::of(function_.add_argument(function_.body, args[i].type(), name)));
  }
  for (std::size_t k = 0; k < of.num_results; ++k)
    bind(args.size() + k, Entity::of(seed(k, def.params[args.size() + k].name)));
  std::unordered_map<std::size_t, ir::Value*> updated;  // parameters by reference: the adjoints of their new values
  for (std::size_t k = 0; k < of.ref_params.size(); ++k)
    updated[of.ref_params[k]] = seed(of.num_results + k, "adj_" + std::string(def.params[of.ref_params[k]].name));

  std::vector<int> returned;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!args[i].is_value()) continue;
    int variable = new_variable("$adjoint");
    Variable& var = variables_[std::size_t(variable)];
    var.internal = true;
    var.type = args[i].type();
    auto known = updated.find(i);
    ir::Value* param = variables_[std::size_t(find_variable(def.params[i].name))].value.value;
    var.value = Entity::of(known != updated.end() ? known->second : first_adjoint(param));
    adjoint_variables_.emplace_back(def.params[i].name, variable);
    if (has_floats(var.type)) returned.push_back(variable);
  }
  lower_block(def.body);
  if (returned_value_)
    sink_.report(DiagCode::bad_gradient, first_return_, "a gradient function returns nothing",
                 "add to wp.adjoint[…] of the parameters");
  std::vector<ir::Value*> results;
  for (int variable : returned) {
    Entity value = read_variable(variable, nullptr);
    const Type* type = variables_[std::size_t(variable)].type;
    results.push_back(value.is_value() ? value.value : function_.zero(type));
    function_.result_types.push_back(type);
  }
  builder_.set_loc(def.loc);
  builder_.ret(results);
  module_.guard_gradients(function_, false);
}

bool FunctionLowering::is_adjoint(const SubscriptExpr& expr) {
  const auto* name = expr.object->as_if<NameExpr>();
  const auto* member = expr.object->as_if<AttributeExpr>();
  if ((name ? name->name : member ? member->name : "") != "adjoint") return false;
  if (!is_foreign(*expr.object)) return false;
  Entity object = lower_expr(*expr.object);
  return object.kind == Entity::Kind::builtin && object.symbol->text == "adjoint";
}

Place FunctionLowering::adjoint_place(const SubscriptExpr& expr) {
  if (!is_gradient_) {
    fail(DiagCode::bad_gradient, expr, "wp.adjoint[…] has a meaning only in gradient functions",
         "write it in a function made with @wp.func_grad(…)");
    return {};
  }
  if (expr.indices.size() != 1) {
    fail(DiagCode::bad_gradient, expr, "wp.adjoint[…] takes one parameter of the function");
    return {};
  }
  Place place = adjoint_path(*expr.indices[0]);
  // The gradient of an array can be written to element by element; it can't become another array.
  if (place.root == Place::Root::variable && (place.type->is_array() || place.type->is_indexed_array())) {
    place.base = read_place(place).value;
    place.root = Place::Root::temporary;
    place.path.clear();
    place.dynamic.clear();
  }
  return place;
}

Place FunctionLowering::adjoint_path(const Expr& expr) {
  if (const auto* name = expr.as_if<NameExpr>())
    for (const auto& [param, variable] : adjoint_variables_)
      if (param == name->name) {
        Place place;
        place.root = Place::Root::variable;
        place.variable = variable;
        place.base = read_variable(variable, nullptr).value;
        place.type = place.base->type;
        return place;
      }
  if (const auto* attribute = expr.as_if<AttributeExpr>()) {
    Place place = adjoint_path(*attribute->object);
    if (place.root == Place::Root::none || attribute_step(place, attribute->name)) return place;
    fail(DiagCode::bad_gradient, expr,
         "the adjoint of " + place.type->user_name() + " has no '" + std::string(attribute->name) + "'");
    return {};
  } else if (const auto* subscript = expr.as_if<SubscriptExpr>()) {
    Place place = adjoint_path(*subscript->object);
    return place.root == Place::Root::none ? place : subscript_place(std::move(place), *subscript);
  }
  std::string known;
  for (const auto& [param, variable] : adjoint_variables_) known += (known.empty() ? "" : ", ") + std::string(param);
  fail(DiagCode::bad_gradient, expr, "only parameters of the function have an adjoint here",
       known.empty() ? "it has none" : "there is wp.adjoint[…] of " + known);
  return {};
}

}  // namespace weft::sema
