// Calls: arguments, user functions and their overloads, builtins by row.
#include <algorithm>
#include <charconv>
#include <utility>

#include "sema/lowering.h"
#include "sema/tile_hints.h"
#include "sema/tiles.h"

namespace weft::sema {

using namespace syntax;
using builtins::Pattern;

namespace {

bool fits_literal(const Pattern& pattern, const Entity& literal) {
  switch (pattern.kind) {
    case Pattern::Kind::any:
    case Pattern::Kind::scalar:
    case Pattern::Kind::number_or_bool: return true;
    case Pattern::Kind::integer: return literal.kind == Entity::Kind::integer;
    case Pattern::Kind::floating: return true;
    case Pattern::Kind::exact:
      return pattern.type->is_float() || (pattern.type->is_int() && literal.kind == Entity::Kind::integer);
    default: return false;
  }
}

/// Whether the parameters of one overload take less than those of another.
bool is_narrower(const std::vector<Pattern>& a, const std::vector<Pattern>& b) {
  bool less = false;
  for (std::size_t p = 0; p < std::min(a.size(), b.size()); ++p) {
    if (!builtins::covers(b[p], a[p])) return false;
    less = less || !builtins::covers(a[p], b[p]);
  }
  return less;
}

bool is_compile_time(const Entity& e) {
  return e.kind == Entity::Kind::functions || e.kind == Entity::Kind::builtin || e.kind == Entity::Kind::type ||
         e.kind == Entity::Kind::string || e.kind == Entity::Kind::tuple;
}

}  // namespace

bool FunctionLowering::takes_references(const Entity& callee) {
  if (callee.kind == Entity::Kind::builtin) {
    for (const builtins::Row& row : builtins::rows(callee.symbol->text))
      for (const builtins::RowParam& param : row.params)
        if (param.pattern.by_reference) return true;
  } else if (callee.kind == Entity::Kind::functions) {
    for (const auto& decl : callee.symbol->functions)
      if (const std::vector<Pattern>* patterns = module_.patterns_of(*decl))
        for (const Pattern& pattern : *patterns)
          if (pattern.by_reference) return true;
  }
  return false;
}

Argument FunctionLowering::place_argument(const Expr& expr) {
  bool part = expr.kind == ExprKind::subscript || expr.kind == ExprKind::attribute;
  const Expr& root = root_of(expr);
  int variable = root.kind == ExprKind::name ? find_variable(root.as<NameExpr>().name) : -1;
  // What is asked of an array (its dtype, say) is no place.
  const auto of_array = [&] {
    const Entity whole = read_variable(variable, nullptr);
    return expr.kind == ExprKind::attribute && expr.as<AttributeExpr>().object == &root && whole.is_value() &&
           whole.type()->is_array();
  };
  if (variable < 0 || !(part || expr.kind == ExprKind::name) || !read_variable(variable, nullptr).is_value() ||
      of_array())
    return {{}, lower_expr(expr), &expr, nullptr};
  auto place = std::make_shared<Place>(place_of(expr));
  if (place->root == Place::Root::none) return {{}, Entity::failed(), &expr, nullptr};
  Entity value = read_place(*place);
  bool stays = place->root == Place::Root::variable || place->root == Place::Root::memory;
  return {{}, std::move(value), &expr, stays ? std::move(place) : nullptr};
}

namespace {

/// The last slice in a subscript: a[i, 1:3]; null if there is none.
const SliceExpr* slice_in(const Expr& expr) {
  const SliceExpr* slice = nullptr;
  if (const auto* subscript = expr.as_if<SubscriptExpr>())
    for (const Expr* index : subscript->indices)
      if (const auto* one = index->as_if<SliceExpr>()) slice = one;
  return slice;
}

}  // namespace

std::optional<std::int64_t> FunctionLowering::slice_count(const SliceExpr& slice) {
  auto refuse = [&](const Expr& at_part, const char* text) {
    fail(DiagCode::value_out_of_range, at_part, text,
         "the number of arguments must be known when the kernel is compiled");
    return std::nullopt;
  };
  if (!slice.upper) return refuse(slice, "Unpacking a slice of an array requires explicit upper bound");
  std::int64_t numbers[] = {0, 0, 1};  // lower, upper, step
  const Expr* given[] = {slice.lower, slice.upper, slice.step};
  for (std::size_t k = 0; k < 3; ++k) {
    if (!given[k]) continue;
    auto known = constant_int(lower_expr(*given[k]));
    if (!known) return refuse(*given[k], "Slice component must be a compile-time constant");
    if (*known < 0)
      return refuse(*given[k], k < 2 ? "Slice bounds cannot be negative for arrays that are unpacked"
                                     : "Slice step cannot be negative for arrays that are unpacked");
    numbers[k] = *known;
  }
  auto [lower, upper, step] = numbers;
  constexpr std::int64_t kMost = 256;  // more arguments than any function has
  if (upper - lower > kMost) return refuse(*slice.upper, "the slice has more elements than a call has arguments");
  return upper > lower ? (upper - lower - 1) / step + 1 : 0;
}

bool FunctionLowering::lower_arguments(const CallExpr& expr, bool places, std::vector<Argument>& out) {
  bool ok = true;
  for (const Expr* arg : expr.args) {
    const auto* starred = arg->as_if<StarredExpr>();
    lendable_ = lends_ ? arg : nullptr;
    if (places && !starred) {
      out.push_back(place_argument(*arg));
      ok = ok && !out.back().entity.is_error();
      continue;
    }
    Entity value = lower_expr(starred ? *starred->value : *arg);
    if (value.is_error()) {
      ok = false;
      continue;
    }
    if (!starred) {
      out.push_back({{}, std::move(value), arg, nullptr});
      continue;
    }
    if (value.kind == Entity::Kind::tuple) {
      for (const Entity& e : *value.elements) out.push_back({{}, e, arg, nullptr});
    } else if (value.is_value() && (value.type()->is_composite() || value.type()->is_tuple())) {
      bool tuple = value.type()->is_tuple();  // of matrices these are the rows
      std::size_t n = tuple ? value.type()->fields().size() : value.type()->rows();
      for (std::size_t k = 0; k < n; ++k) {
        ir::PathStep step{tuple ? ir::PathStep::field : ir::PathStep::index, false, false, std::int32_t(k)};
        out.push_back({{}, Entity::of(at(*arg).extract(value.value, std::span(&step, 1))), arg, nullptr});
      }
    } else if (const SliceExpr* slice = slice_in(*starred->value);
               slice && value.is_value() && value.type()->is_array() && value.type()->rank() == 1) {
      auto n = slice_count(*slice);
      ok = ok && n;
      for (std::int64_t k = 0; n && k < *n; ++k) {
        ir::Value* index = builder_.i32(k);
        out.push_back({{}, Entity::of(at(*arg).load(value.value, std::span(&index, 1), 0)), arg, nullptr});
      }
    } else {
      fail(
          DiagCode::bad_call, *arg,
          "Starred expressions are only supported for vectors, matrices, quaternions, tuples and slices of arrays whose "
          "bounds are compile-time numbers, not for " +
              describe(value));
      ok = false;
    }
  }
  for (const Keyword& keyword : expr.keywords) {
    if (keyword.name.empty()) {
      fail(DiagCode::unsupported_construct, *keyword.value, "Construct `**` in a call not supported in kernels.");
      ok = false;
      continue;
    }
    for (const Argument& earlier : out)
      if (earlier.keyword == keyword.name) {
        fail(DiagCode::bad_call, *keyword.value, "the argument '" + std::string(keyword.name) + "' is given twice");
        ok = false;
      }
    Argument argument{{}, {}, keyword.value, nullptr};
    lendable_ = lends_ ? keyword.value : nullptr;
    if (places)
      argument = place_argument(*keyword.value);
    else
      argument.entity = lower_expr(*keyword.value);
    argument.keyword = keyword.name;
    ok = ok && !argument.entity.is_error();
    out.push_back(std::move(argument));
  }
  return ok;
}

Entity FunctionLowering::lower_call(const CallExpr& expr) {
  int arity = tid_arity_;
  tid_arity_ = 1;
  Entity callee = lower_any(*expr.callee);
  if (callee.kind == Entity::Kind::other || callee.kind == Entity::Kind::scope) {
    // What no kernel can call means the builtin of its name: math.sqrt(x), np.cross(u, v), a Python function `lerp`.
    const auto* member = expr.callee->as_if<AttributeExpr>();
    const auto* plain = expr.callee->as_if<NameExpr>();
    std::string_view name = member ? member->name : plain ? plain->name : std::string_view();
    if (builtins::is_builtin(name))
      callee = Entity::of_symbol(Entity::Kind::builtin, Symbol::of_builtin(std::string(name)));
  }
  if (callee.kind == Entity::Kind::builtin && callee.symbol->text == "static") return lower_static(expr);
  if (callee.kind == Entity::Kind::builtin && callee.symbol->text == "address_of") return lower_address(expr);
  std::vector<Argument> args;
  const std::size_t lent = lent_.size();
  const bool outer = std::exchange(lends_, callee.kind == Entity::Kind::functions);
  const bool is_range = callee.kind == Entity::Kind::builtin && callee.symbol->text == "range";
  const bool outer_bounds = std::exchange(reads_bounds_, is_range);
  bool ok = lower_arguments(expr, takes_references(callee), args);
  lends_ = outer;
  reads_bounds_ = outer_bounds;
  lendable_ = nullptr;
  if (callee.is_error() || !ok) {
    lent_.resize(lent);
    return Entity::failed();
  }
  builder_.set_loc(expr.loc);
  switch (callee.kind) {
    case Entity::Kind::builtin: tid_arity_ = arity; return call_builtin(callee.symbol->text, std::move(args), expr);
    case Entity::Kind::type: return construct(callee.symbol->pattern, std::move(args), expr);
    case Entity::Kind::functions: {
      Entity result = call_functions(callee.symbol->functions, std::move(args), expr);
      take_back(lent, expr);
      return result;
    }
    case Entity::Kind::derivative: return call_derivative(*callee.symbol, std::move(args), expr);
    case Entity::Kind::other:
      return fail(DiagCode::bad_call, expr, callee.symbol->text + " can't be called in kernels",
                  "a function must be annotated with @wp.func");
    default: return fail(DiagCode::bad_call, expr, describe(callee) + " can't be called");
  }
}

Entity FunctionLowering::no_overload(std::string_view name, const std::vector<Argument>& args, const Node& at_node,
                                     const std::vector<std::string>& candidates) {
  Diagnostic& d = sink_.report(
      DiagCode::no_overload, at_node.loc,
      "Couldn't find a function '" + std::string(name) + "' that takes (" + describe(args) + ")", at_node.underline());
  for (const Argument& arg : args) {
    if (!arg.entity.is_value() || !tile_type(arg.entity.type())) continue;
    const bool builtin = std::ranges::any_of(candidates, [&](const std::string& c) { return c.find("->") != c.npos; });
    if (is_tile_of_one(arg.entity.type()))
      d.notes.push_back({{}, std::string(kTakeElement)});
    else if (builtin)
      d.notes.push_back({{}, "for each element: wp.tile_map(wp." + std::string(name) + ", …)"});
    break;
  }
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < candidates.size() && i < kShown; ++i)
    d.notes.push_back({{}, "there is " + candidates[i]});
  if (candidates.size() > kShown)
    d.notes.push_back({{}, "and " + std::to_string(candidates.size() - kShown) + " more"});
  return Entity::failed();
}

bool FunctionLowering::bind_row(const builtins::Row& row, const std::vector<Argument>& args, std::vector<Entity>& bound,
                                std::vector<int>& given_of_param) {
  std::size_t n = row.params.size();
  given_of_param.assign(n, -1);
  std::size_t position = 0;
  for (std::size_t a = 0; a < args.size(); ++a) {
    std::size_t p = n;
    if (args[a].keyword.empty()) {
      p = position++;
    } else {
      for (std::size_t i = 0; i < n; ++i)
        if (row.params[i].answers_to(args[a].keyword)) p = i;
    }
    if (p >= n || given_of_param[p] >= 0) return false;
    given_of_param[p] = int(a);
  }
  builtins::Bindings bindings;
  bound.assign(n, Entity::nothing());
  for (std::size_t p = 0; p < n; ++p) {  // values decide the type variables
    if (given_of_param[p] < 0) {
      if (row.params[p].default_text.empty()) return false;
      double number = 0;
      const std::string& text = row.params[p].default_text;
      std::from_chars(text.data(), text.data() + text.size(), number);
      bool integer = text.find_first_not_of("-0123456789") == std::string::npos;  // others: 1e-3, inf
      bound[p] = integer ? Entity::of_symbol(Entity::Kind::integer, Symbol::of(Constant::of_int(std::int64_t(number))))
                         : Entity::of_symbol(Entity::Kind::real, Symbol::of(Constant::of_real(number)));
      continue;
    }
    bound[p] = args[std::size_t(given_of_param[p])].entity;
    if (bound[p].kind == Entity::Kind::tuple) return false;
    if (bound[p].is_value() && !builtins::match(row.params[p].pattern, bound[p].type(), bindings)) return false;
    if (!bound[p].is_value() && !bound[p].is_literal()) return false;
  }
  for (std::size_t p = 0; p < n; ++p) {  // then the plain numbers
    if (!bound[p].is_literal()) continue;
    const Pattern& pattern = row.params[p].pattern;
    const Node& node = given_of_param[p] >= 0 && args[std::size_t(given_of_param[p])].expr
                           ? static_cast<const Node&>(*args[std::size_t(given_of_param[p])].expr)
                           : static_cast<const Node&>(*decl_.def);
    const Type* type = type_of_literal(bound[p]);
    if (library() || given_of_param[p] < 0) {
      if (!fits_literal(pattern, bound[p])) return false;
      if (pattern.kind == Pattern::Kind::exact)
        type = pattern.type;
      else if (auto it = bindings.types.find(pattern.variable); it != bindings.types.end() && it->second->is_scalar())
        type = it->second;
      else if (pattern.kind == Pattern::Kind::floating)
        type = types::f32();
    }
    if (!builtins::match(pattern, type, bindings)) return false;
    ir::Value* value = type == type_of_literal(bound[p]) ? value_of(bound[p], node) : literal_as(bound[p], type, node);
    if (!value) return false;
    bound[p] = Entity::of(value);
  }
  return true;
}

Entity FunctionLowering::call_builtin(std::string_view name, std::vector<Argument> args, const Node& at_node) {
  bool handled = false;
  Entity special = call_special(name, args, at_node, handled);
  if (handled) return special;
  const std::vector<builtins::Row>& rows = builtins::rows(name);
  std::vector<std::string> candidates;
  for (const builtins::Row& row : rows) {
    if (row.definition == builtins::Row::Definition::special) continue;
    std::vector<Entity> bound;
    std::vector<int> given;
    if (bind_row(row, args, bound, given)) return call_row(row, std::move(bound), args, given, at_node);
    candidates.push_back(row.signature);
  }
  // Equal scalars are what most rows want: say so first when that is the reason.
  auto scalar_of = [&](const Entity& e) -> const Type* {
    if (e.is_literal()) return type_of_literal(e);
    return e.is_value() && e.type()->is_scalar() ? e.type() : nullptr;
  };
  auto wants_one_type = [&](std::size_t i) {  // of its first argument and this one
    for (const builtins::Row& row : rows)
      if (row.params.size() > i && !row.params[0].pattern.variable.empty() &&
          row.params[0].pattern.variable == row.params[i].pattern.variable)
        return true;
    return false;
  };
  for (std::size_t i = 1; i < args.size(); ++i) {
    const Type *a = scalar_of(args[0].entity), *b = scalar_of(args[i].entity);
    if (a && b && a != b && wants_one_type(i))
      return fail(DiagCode::no_overload, at_node,
                  "Couldn't find a function '" + std::string(name) + "' that takes (" + describe(args) +
                      "): " + same_types_wanted(a, b),
                  "convert the arguments to one type");
  }
  return no_overload(name, args, at_node, candidates);
}

Entity FunctionLowering::call_row(const builtins::Row& row, std::vector<Entity> bound,
                                  const std::vector<Argument>& given, std::span<const int> given_of_param,
                                  const Node& at_node) {
  if (row.definition == builtins::Row::Definition::operation) {
    std::vector<ir::Value*> operands;
    for (std::uint32_t p : row.operand_order) operands.push_back(bound[p].value);
    ir::OpClass kind = ir::class_of(row.op);
    bool foldable = (kind == ir::OpClass::arith || kind == ir::OpClass::bits) && operands.size() <= 2;
    if (foldable && operands[0]->type->is_scalar()) {  // constants stay constants: i % 2 of an unrolled loop
      builder_.set_loc(at_node.loc);
      return Entity::of(fold(row.op, operands[0], operands.size() == 2 ? operands[1] : nullptr));
    }
    ir::Op* op = at(at_node).op(row.op, operands);
    return op->results.empty() ? Entity::nothing() : Entity::of(op->result());
  }
  auto decl = library_function(row.library_name);
  WEFT_CHECK(decl, "no library function " + row.library_name);
  std::vector<const Argument*> sources;
  for (int number : given_of_param) sources.push_back(number >= 0 ? &given[std::size_t(number)] : nullptr);
  return call_instance(*decl, std::move(bound), sources, at_node);
}

Entity FunctionLowering::call_functions(const std::vector<std::shared_ptr<const FunctionDecl>>& overloads,
                                        std::vector<Argument> args, const Node& at_node, bool derivative) {
  std::vector<std::string> candidates;
  struct Match {
    std::shared_ptr<const FunctionDecl> decl;
    std::vector<Entity> bound;
    std::vector<const Argument*> given;
    bool generic = false;
    const std::vector<Pattern>* patterns = nullptr;
  };
  std::optional<Match> best;
  for (const auto& decl : overloads) {
    const std::vector<Pattern>* patterns = module_.patterns_of(*decl);
    if (!patterns) return Entity::failed();
    const auto& params = decl->def->params;
    std::string signature = std::string(decl->def->name) + "(";
    for (std::size_t p = 0; p < params.size(); ++p)
      signature += (p ? ", " : "") + std::string(params[p].name) + ": " + builtins::to_string((*patterns)[p]);
    candidates.push_back(signature + ")");
    Match match;
    match.decl = decl;
    match.patterns = patterns;
    match.bound.assign(params.size(), Entity::nothing());
    match.given.assign(params.size(), nullptr);
    std::vector<bool> have(params.size(), false);
    std::size_t position = 0;
    bool ok = true;
    for (const Argument& arg : args) {
      std::size_t p = params.size();
      if (arg.keyword.empty())
        p = position++;
      else
        for (std::size_t i = 0; i < params.size(); ++i)
          if (params[i].name == arg.keyword) p = i;
      if (p >= params.size() || have[p]) {
        ok = false;
        break;
      }
      have[p] = true;
      match.bound[p] = arg.entity;
      match.given[p] = &arg;
    }
    for (std::size_t p = 0; ok && p < params.size(); ++p) {
      const Pattern& pattern = (*patterns)[p];
      if (!have[p]) {
        if (!params[p].default_value) {
          ok = false;
          break;
        }
        std::optional<Symbol> value = default_symbol(params[p], pattern, *scope_of(*decl), sink_);
        if (!value) return Entity::failed();
        match.bound[p] = from_symbol(*value, at_node);
        if (match.bound[p].is_literal() && pattern.kind == Pattern::Kind::exact && pattern.type->is_scalar())
          match.bound[p] = Entity::of(literal_as(match.bound[p], pattern.type, at_node));
      }
      Entity& e = match.bound[p];
      match.generic = match.generic || pattern.is_generic();
      if (is_compile_time(e) && e.kind != Entity::Kind::tuple) {
        ok = pattern.kind == Pattern::Kind::callable || pattern.kind == Pattern::Kind::any;
        continue;
      }
      if (e.is_literal() && decl->library && pattern.kind == Pattern::Kind::exact && fits_literal(pattern, e))
        e = Entity::of(literal_as(e, pattern.type, at_node));
      ir::Value* v =
          e.is_value() || e.is_literal() || e.kind == Entity::Kind::tuple
              ? value_of(e, match.given[p] && match.given[p]->expr ? static_cast<const Node&>(*match.given[p]->expr)
                                                                   : at_node)
              : nullptr;
      if (!v) {
        ok = false;
        break;
      }
      if (pattern.kind == Pattern::Kind::exact) v = as_indexed(v, pattern.type);
      e = Entity::of(v);
      builtins::Bindings bindings;
      ok = builtins::match(pattern, v->type, bindings);
    }
    if (!ok) continue;
    // Concrete types before generic ones, narrow ones before wide ones, else the first.
    bool narrower = best && best->generic && (!match.generic || is_narrower(*match.patterns, *best->patterns));
    if (!best || narrower) best = std::move(match);
  }
  if (!best) return no_overload(overloads[0]->def->name, args, at_node, candidates);
  module_.keep(best->decl);
  if (derivative) return call_derivative_of(*best->decl, best->bound, at_node);
  return call_instance(*best->decl, std::move(best->bound), best->given, at_node);
}

/// A function's name; of the library's form of a builtin that writes into variables, the builtin's.
static std::string name_for_users(const FunctionDecl& decl) {
  std::string_view name = decl.def->name;
  constexpr std::string_view kInto = "_into";
  if (name.starts_with('_') && name.ends_with(kInto)) name = name.substr(1, name.size() - 1 - kInto.size());
  return std::string(name);
}

Entity FunctionLowering::call_instance(const FunctionDecl& decl, std::vector<Entity> args,
                                       std::span<const Argument* const> given, const Node& at_node) {
  Tiles tiles(*this, at_node);
  for (Entity& e : args) e.by_thread = e.is_value() && tiles.is_by_thread(e.value);
  const Instance* instance = module_.instantiate(decl, args, at_node.loc);
  if (!instance || !instance->function) return Entity::failed();
  std::vector<ir::Value*> operands;
  for (const Entity& e : args)
    if (e.is_value()) operands.push_back(e.value);
  ir::Op* op = at(at_node).call(instance->function, operands);
  std::size_t next = instance->num_results;
  for (std::size_t p : instance->ref_params) {
    const Expr* expr = given[p] ? given[p]->expr : nullptr;
    const Node& node = expr ? static_cast<const Node&>(*expr) : at_node;
    if (!given[p] || !given[p]->place)
      return fail(DiagCode::bad_reference, node,
                  "'" + name_for_users(decl) + "' updates its argument '" + std::string(decl.def->params[p].name) +
                      "', so it needs a variable here",
                  "store the value in a variable first and pass that");
    write_place(*given[p]->place, Entity::of(op->results[next++]), node);
  }
  if (instance->num_results == 0) return Entity::nothing();
  const auto result = [&](std::size_t k) {
    return k < instance->by_thread.size() && instance->by_thread[k] ? tiles.known_by_thread(op->results[k])
                                                                    : Entity::of(op->results[k]);
  };
  if (instance->num_results == 1 && !instance->returns_tuple) return result(0);
  std::vector<Entity> parts;
  for (std::size_t k = 0; k < instance->num_results; ++k) parts.push_back(result(k));
  return Entity::of_tuple(std::move(parts));
}

std::optional<Entity> FunctionLowering::call_user_operator(std::string_view name, const Entity& a, const Entity* b,
                                                           const Node& at_node) {
  auto is_user = [](const Entity& e) { return e.is_value() && e.type()->is_struct(); };
  if (library() || !(is_user(a) || (b && is_user(*b)))) return std::nullopt;
  auto symbol = scope_->lookup(name);
  if (!symbol || symbol->kind != Symbol::Kind::functions) return std::nullopt;
  std::vector<Argument> args = {{{}, a, nullptr, nullptr}};
  if (b) args.push_back({{}, *b, nullptr, nullptr});
  return call_functions(symbol->functions, std::move(args), at_node);
}

}  // namespace weft::sema
