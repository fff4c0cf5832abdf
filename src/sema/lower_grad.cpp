// wp.grad(f)(…) inside kernels: the derivatives of a function's results, summed, with respect to each argument. Lowered to
// a call of the function's adjoint, whose body is derived after the front end.
#include "sema/lowering.h"
#include "syntax/parser.h"

namespace weft::sema {

using namespace syntax;

ir::Function* ModuleLowering::derivative_of(ir::Function& function, const SourceLoc& call) {
  ir::Function*& known = derivatives_[&function];
  if (known) return known;
  auto made = std::make_unique<ir::Function>("grad." + function.name, ir::FunctionKind::function);
  made->loc = call;
  made->derives = &function;
  std::vector<ir::Value*> zeros;
  for (const ir::Value* param : function.params()) {
    made->add_argument(made->body, param->type, made->arena.copy(param->name));
    if (!has_floats(param->type)) continue;
    zeros.push_back(made->zero(param->type));
    made->result_types.push_back(param->type);
  }
  for (const Type* type : function.result_types)
    if (has_floats(type)) made->add_argument(made->body, type);
  ir::Builder builder(*made, made->body);
  builder.set_loc(call);
  builder.ret(zeros);
  known = made.get();
  module_->functions.push_back(std::move(made));
  return known;
}

Entity FunctionLowering::special_grad(const std::vector<Argument>& args, const Node& at_node) {
  const Entity* of = args.size() == 1 ? &args[0].entity : nullptr;
  bool named = of && !args[0].keyword.empty() && args[0].keyword != "func";
  if (!of || named || (of->kind != Entity::Kind::functions && of->kind != Entity::Kind::builtin))
    return fail(DiagCode::bad_call, at_node, "grad() takes one function, got (" + describe(args) + ")",
                "write e.g. wp.grad(f)(x)");
  return Entity::of_symbol(Entity::Kind::derivative, *of->symbol);
}

Entity FunctionLowering::call_derivative(const Symbol& of, std::vector<Argument> args, const Node& at_node) {
  if (of.kind == Symbol::Kind::functions) return call_functions(of.functions, std::move(args), at_node, true);
  // A builtin: a function of one line that calls it.
  std::string params, given, key = "<grad of " + of.text;
  for (std::size_t i = 0; i < args.size(); ++i) {
    std::string name = "a" + std::to_string(i);
    params += (i ? ", " : "") + name + ": Any";
    given += (i ? ", " : "") + (args[i].keyword.empty() ? name : std::string(args[i].keyword) + "=" + name);
    key += "," + std::string(args[i].keyword);
    args[i].keyword = {};
  }
  std::string text = "def " + of.text + "(" + params + "):\n    return " + of.text + "(" + given + ")\n";
  auto tree = syntax::parse(std::make_shared<SourceFile>("<grad of " + of.text + ">", text), sink_);
  if (tree->body.size() != 1 || tree->body[0]->kind != StmtKind::function_def) return Entity::failed();
  auto decl = std::make_shared<FunctionDecl>();
  decl->def = &tree->body[0]->as<FunctionDef>();
  decl->tree = tree;
  decl->owned_scope = warp_scope();
  decl->key = key + ">";
  return call_functions({decl}, std::move(args), at_node, true);
}

ir::Value* FunctionLowering::ones(const Type* type) {
  if (type->is_scalar()) return type->is_float() ? function_.constant_float(type, 1.0) : function_.zero(type);
  if (!has_floats(type)) return function_.zero(type);
  if (type->is_composite()) return builder_.splat(type, ones(type->element()));
  std::vector<ir::Value*> parts;
  for (const Field& field : type->fields()) parts.push_back(ones(field.type));
  return builder_.construct(type, parts);
}

Entity FunctionLowering::call_derivative_of(const FunctionDecl& decl, const std::vector<Entity>& args,
                                            const Node& at_node) {
  const Instance* instance = module_.instantiate(decl, args, at_node.loc);
  if (!instance || !instance->function) return Entity::failed();
  std::string name(decl.def->name);
  if (!instance->ref_params.empty())
    return fail(DiagCode::bad_call, at_node, "'" + name + "' updates its arguments, so wp.grad can't take it",
                "use a function that returns what it computes");
  ir::Function& function = *instance->function;
  std::vector<ir::Value*> operands;
  for (const Entity& e : args)
    if (e.is_value()) operands.push_back(e.value);
  builder_.set_loc(at_node.loc);
  bool any = false;
  for (const Type* type : function.result_types) {
    if (!has_floats(type)) continue;
    operands.push_back(ones(type));
    any = true;
  }
  if (!any) return fail(DiagCode::bad_call, at_node, "'" + name + "' returns nothing that has a derivative");
  ir::Op* op = builder_.call(module_.derivative_of(function, at_node.loc), operands);
  std::vector<Entity> parts;
  std::size_t next = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    // A function that was passed is no argument to differentiate by: it has no place among the results.
    if (args[i].kind == Entity::Kind::functions || args[i].kind == Entity::Kind::builtin) continue;
    if (args[i].is_value() && has_floats(args[i].type()))
      parts.push_back(Entity::of(op->results[next++]));
    else if (args[i].is_value() && args[i].type()->is_numeric())
      parts.push_back(Entity::of(function_.zero(args[i].type())));
    else
      parts.push_back(Entity::of_symbol(
          Entity::Kind::other,
          Symbol::of_other("the derivative with respect to '" + std::string(decl.def->params[i].name) +
                           "', which wp.grad takes as a constant,")));
  }
  if (parts.size() == 1) return parts[0];
  return Entity::of_tuple(std::move(parts));
}

}  // namespace weft::sema
