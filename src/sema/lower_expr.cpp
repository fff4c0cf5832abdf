// Expressions: names, subscripts, literals, conditions.
#include <algorithm>

#include "sema/lowering.h"
#include "types/fabric_type.h"
#include "types/tile_type.h"

namespace weft::sema {

using namespace syntax;

Entity FunctionLowering::lower_expr(const Expr& expr) {
  Entity entity = lower_any(expr);
  if (entity.kind != Entity::Kind::other) return entity;
  if (const auto* member = expr.as_if<AttributeExpr>())
    if (auto bound = bound_of_object(*member)) return *bound;
  return foreign_value(entity, expr);
}

Entity FunctionLowering::foreign_value(const Entity& entity, const Node& at_node) {
  const Symbol& symbol = *entity.symbol;
  if (symbol.host_type.empty())
    return fail(DiagCode::bad_call, at_node, symbol.text + " can't be used as a value in kernels");
  return fail(DiagCode::foreign_value, at_node, "Invalid external reference type: " + symbol.host_type,
              "kernels can't read " + symbol.text + "; pass it as an argument, or what you need of it by wp.static(…)");
}

Entity FunctionLowering::lower_any(const Expr& expr) {
  builder_.set_loc(expr.loc);
  switch (expr.kind) {
    case ExprKind::name: return lower_name(expr.as<NameExpr>());
    case ExprKind::int_literal: {
      const auto& literal = expr.as<IntLiteral>();
      if (literal.too_large) return fail(DiagCode::value_out_of_range, expr, "the integer does not fit 64 bits");
      return Entity::of_symbol(Entity::Kind::integer, Symbol::of(Constant::of_uint(literal.value)));
    }
    case ExprKind::float_literal:
      return Entity::of_symbol(Entity::Kind::real, Symbol::of(Constant::of_real(expr.as<FloatLiteral>().value)));
    case ExprKind::bool_literal: return Entity::of(builder_.boolean(expr.as<BoolLiteral>().value));
    case ExprKind::none_literal: return Entity::of_kind(Entity::Kind::none_literal);
    case ExprKind::string_literal:
      return Entity::of_symbol(Entity::Kind::string,
                               Symbol::of(Constant::of_text(std::string(expr.as<StringLiteral>().value))));
    case ExprKind::unary: return lower_unary(expr.as<UnaryExpr>());
    case ExprKind::binary: return lower_binary(expr.as<BinaryExpr>());
    case ExprKind::compare: return lower_compare(expr.as<CompareExpr>());
    case ExprKind::logical: return lower_logical(expr.as<LogicalExpr>());
    case ExprKind::ternary: return lower_ternary(expr.as<TernaryExpr>());
    case ExprKind::call: return lower_call(expr.as<CallExpr>());
    case ExprKind::attribute: return lower_attribute(expr.as<AttributeExpr>());
    case ExprKind::subscript: return lower_subscript(expr.as<SubscriptExpr>());
    case ExprKind::tuple: {
      std::vector<Entity> parts;
      for (const Expr* e : expr.as<TupleExpr>().elements) {
        Entity part = lower_expr(*e);
        if (part.is_error()) return part;
        parts.push_back(std::move(part));
      }
      return Entity::of_tuple(std::move(parts));
    }
    case ExprKind::list:
      return fail(DiagCode::unsupported_construct, expr, "Construct `list` not supported in kernels.",
                  "use a vector (wp.vec3(…)), or a local array (wp.zeros(shape=…, dtype=…))");
    case ExprKind::ellipsis:
      return fail(DiagCode::unsupported_construct, expr, "Construct `...` not supported in kernels.");
    case ExprKind::slice:
    case ExprKind::starred:
      return fail(DiagCode::unsupported_construct, expr, "this is only allowed inside an index or a call");
    case ExprKind::unsupported:
      names_lost_ = true;
      return fail(DiagCode::unsupported_construct, expr,
                  "Construct `" + std::string(expr.as<UnsupportedExpr>().construct) + "` not supported in kernels.");
  }
  return Entity::failed();
}

Entity FunctionLowering::lower_name(const NameExpr& expr) {
  if (int variable = find_variable(expr.name); variable >= 0) return read_variable(variable, &expr);
  std::optional<Symbol> symbol = scope_->lookup(expr.name);
  if (!symbol) symbol = python_builtin(expr.name);
  if (!symbol) symbol = warp_scope()->lookup(expr.name);
  if (!symbol && names_lost_) return Entity::failed();
  // As in Python, a name that the function assigns is its own everywhere. Functions may be called by such a name before.
  if (scan_.assigned.count(expr.name) && (!symbol || symbol->kind == Symbol::Kind::constant))
    return fail(DiagCode::unknown_name, expr, "'" + std::string(expr.name) + "' is used before it is assigned",
                symbol ? "this function assigns the name, so the constant outside is hidden; use another name"
                       : "give it a value before this line");
  if (!symbol)
    return fail(DiagCode::unknown_name, expr, "Referencing undefined symbol: " + std::string(expr.name),
                "kernels see their parameters, local variables, constants, types and @wp.func functions");
  return from_symbol(*symbol, expr);
}

Entity FunctionLowering::from_symbol(const Symbol& symbol, const Node& at_node) {
  if (symbol.derivative) return Entity::of_symbol(Entity::Kind::derivative, symbol);
  switch (symbol.kind) {
    case Symbol::Kind::constant:
      switch (symbol.constant.form) {
        case Constant::Form::integer: return Entity::of_symbol(Entity::Kind::integer, symbol);
        case Constant::Form::real: return Entity::of_symbol(Entity::Kind::real, symbol);
        case Constant::Form::text: return Entity::of_symbol(Entity::Kind::string, symbol);
        case Constant::Form::typed: {
          ir::Value* value = constant_value(symbol.constant, at_node);
          if (!value) return Entity::failed();
          Entity constant = Entity::of(value);
          if (symbol.scope) constant.symbol = std::make_shared<const Symbol>(symbol);
          return constant;
        }
      }
      return Entity::failed();
    case Symbol::Kind::tuple: {
      std::vector<Entity> elements;
      for (const Symbol& element : symbol.elements) elements.push_back(from_symbol(element, at_node));
      return Entity::of_tuple(std::move(elements));
    }
    case Symbol::Kind::pattern: return Entity::of_symbol(Entity::Kind::type, symbol);
    case Symbol::Kind::functions: return Entity::of_symbol(Entity::Kind::functions, symbol);
    case Symbol::Kind::scope: return Entity::of_symbol(Entity::Kind::scope, symbol);
    case Symbol::Kind::builtin: return Entity::of_symbol(Entity::Kind::builtin, symbol);
    case Symbol::Kind::other:
      return symbol.reported ? Entity::failed() : Entity::of_symbol(Entity::Kind::other, symbol);
  }
  return Entity::failed();
}

ir::Value* FunctionLowering::constant_value(const Constant& constant, const Node& at_node) {
  std::size_t next = 0;
  std::function<ir::Value*(const Type*)> build = [&](const Type* type) -> ir::Value* {
    if (type->is_scalar()) return function_.constant(type, next < constant.bits.size() ? constant.bits[next++] : 0);
    std::vector<ir::Value*> parts;
    if (type->is_composite()) {
      for (std::uint32_t k = 0; k < type->component_count(); ++k) parts.push_back(build(type->element()));
    } else if (type->is_struct()) {
      for (const Field& field : type->fields()) {
        ir::Value* part = build(field.type);
        if (!part) return nullptr;
        parts.push_back(part);
      }
    } else {
      return function_.zero(type);
    }
    bool all_zero = true;
    for (ir::Value* p : parts) all_zero = all_zero && p->is_zero();
    return all_zero ? function_.zero(type) : at(at_node).construct(type, parts);
  };
  return build(constant.type);
}

Entity FunctionLowering::element_of_tuple(const Entity& tuple, const SubscriptExpr& expr, std::int64_t padded) {
  if (expr.indices.size() != 1) return fail(DiagCode::bad_index, expr, "a tuple takes one constant index");
  auto k = need_constant(lower_expr(*expr.indices[0]), *expr.indices[0], "the index of a tuple");
  if (!k) return Entity::failed();
  std::int64_t n = std::int64_t(tuple.elements->size());
  std::int64_t index = *k < 0 ? *k + n : *k;
  if (index >= n && index < padded) return Entity::of(builder_.i32(0));
  if (index < 0 || index >= n)
    return fail(DiagCode::bad_index, *expr.indices[0],
                "index " + std::to_string(*k) + " is out of range for a tuple of " + std::to_string(n));
  return (*tuple.elements)[std::size_t(index)];
}

Entity FunctionLowering::lower_subscript(const SubscriptExpr& expr) {
  // Compile-time tuples (a.shape[k]) and types (wp.array[float]) are indexed here; all else is a place.
  if (expr.object->kind == ExprKind::attribute || expr.object->kind == ExprKind::tuple ||
      expr.object->kind == ExprKind::call) {
    const auto* attribute = expr.object->as_if<AttributeExpr>();
    bool shape = attribute && attribute->name == "shape";
    if (shape || expr.object->kind == ExprKind::tuple) {
      Entity object = lower_expr(*expr.object);
      if (object.is_error()) return object;
      // Extents behind the last dimension are 0, as programs for arrays of several ranks expect.
      if (object.kind == Entity::Kind::tuple) return element_of_tuple(object, expr, shape ? kMaxRank : 0);
    }
  }
  if (const auto* root = library() ? root_of(expr).as_if<NameExpr>() : nullptr)
    if (find_variable(root->name) < 0 && library_constant(root->name))
      return table_element(lower_expr(*expr.object), expr);
  if (const auto* name = expr.object->as_if<NameExpr>()) {
    int variable = find_variable(name->name);
    if (variable >= 0) {
      Entity held = read_variable(variable, nullptr);
      if (held.kind == Entity::Kind::tuple) return element_of_tuple(held, expr);
    }
  }
  Place place = place_of(expr);
  if (place.root == Place::Root::none) return Entity::failed();
  builder_.set_loc(expr.loc);
  return read_place(place);
}

ir::Value* FunctionLowering::truth(Entity entity, const Node& at_node) {
  ir::Value* value = value_of(entity, at_node);
  if (!value) return nullptr;
  const Type* type = value->type;
  if (type->is_bool()) return value;
  builder_.set_loc(at_node.loc);
  if (type->is_int() || type->is_float()) return fold(ir::OpCode::ne, value, function_.zero(type));
  if (type->is_indexed_array()) value = indexed_field(value, 0);
  if (const FabricType* fabric = fabric_type(type)) {  // one that is there has a table, if only of its end
    ir::Value* buckets = fabric->indexed ? indexed_field(value, 0) : value;
    return builder_.unary(ir::OpCode::nonnull, indexed_field(buckets, 1));
  }
  if (type->is_array() || type->is_indexed_array()) return builder_.unary(ir::OpCode::nonnull, value);
  const bool tells = type->is_struct() && std::ranges::any_of(type->fields(), [](const Field& field) {
                       return field.name == "result" && field.type->is_bool();
                     });
  fail(DiagCode::bad_condition, at_node, "a condition must be a bool, a number or an array, not " + type->user_name(),
       tells             ? "ask its field 'result'"
       : tile_type(type) ? "take an element, [0] of a tile of one, or reduce it first"
                         : "compare it with something");
  return nullptr;
}

ir::Value* FunctionLowering::lower_condition(const Expr& expr) { return truth(lower_expr(expr), expr); }

Entity FunctionLowering::lower_logical(const LogicalExpr& expr) {
  // One condition after the other, each under what is known so far: a long chain does not nest.
  bool is_and = expr.op == LogicalOp::and_;
  ir::Value* known = lower_condition(*expr.operands[0]);
  for (const Expr* operand : expr.operands.subspan(1)) {
    auto settled = [&] { return Entity::of(builder_.boolean(!is_and)); };
    auto rest = [&] {
      ir::Value* value = lower_condition(*operand);
      return value ? Entity::of(value) : Entity::failed();
    };
    if (!known) {  // reported; the others are still looked at
      ir::Region* outer = builder_.region();
      builder_.set_place(function_.make_region(nullptr));
      std::size_t mark = enter_frame();
      rest();
      leave_frame(mark);
      builder_.set_place(outer);
      continue;
    }
    Entity value = is_and ? lower_branches(known, rest, settled, expr) : lower_branches(known, settled, rest, expr);
    known = value.is_value() ? value.value : nullptr;
  }
  return known ? Entity::of(known) : Entity::failed();
}

Entity FunctionLowering::lower_ternary(const TernaryExpr& expr) {
  ir::Value* condition = lower_condition(*expr.condition);
  if (!condition) return Entity::failed();
  return lower_branches(
      condition, [&] { return lower_expr(*expr.then_value); }, [&] { return lower_expr(*expr.else_value); }, expr);
}

}  // namespace weft::sema
