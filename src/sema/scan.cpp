// The pre-scan of a function.
#include "sema/scan.h"

#include <algorithm>

namespace weft::sema {
namespace {

using namespace syntax;

/// Calls `visit` for every expression directly below `expr`.
template <class Visit>
void for_each_child(const Expr& expr, Visit visit) {
  auto one = [&](const Expr* e) {
    if (e) visit(*e);
  };
  auto many = [&](std::span<Expr* const> list) {
    for (const Expr* e : list) one(e);
  };
  switch (expr.kind) {
    case ExprKind::unary: one(expr.as<UnaryExpr>().operand); break;
    case ExprKind::binary: one(expr.as<BinaryExpr>().left), one(expr.as<BinaryExpr>().right); break;
    case ExprKind::compare: many(expr.as<CompareExpr>().operands); break;
    case ExprKind::logical: many(expr.as<LogicalExpr>().operands); break;
    case ExprKind::ternary: {
      const auto& t = expr.as<TernaryExpr>();
      one(t.condition), one(t.then_value), one(t.else_value);
      break;
    }
    case ExprKind::call: {
      const auto& c = expr.as<CallExpr>();
      one(c.callee);
      many(c.args);
      for (const Keyword& k : c.keywords) one(k.value);
      break;
    }
    case ExprKind::attribute: one(expr.as<AttributeExpr>().object); break;
    case ExprKind::subscript: one(expr.as<SubscriptExpr>().object), many(expr.as<SubscriptExpr>().indices); break;
    case ExprKind::slice: {
      const auto& s = expr.as<SliceExpr>();
      one(s.lower), one(s.upper), one(s.step);
      break;
    }
    case ExprKind::tuple: many(expr.as<TupleExpr>().elements); break;
    case ExprKind::list: many(expr.as<ListExpr>().elements); break;
    case ExprKind::starred: one(expr.as<StarredExpr>().value); break;
    case ExprKind::name:
    case ExprKind::int_literal:
    case ExprKind::float_literal:
    case ExprKind::bool_literal:
    case ExprKind::none_literal:
    case ExprKind::string_literal:
    case ExprKind::ellipsis:
    case ExprKind::unsupported: break;
  }
}

/// Whether it calls `name` or `module.name`, by the look of it.
bool is_call_of(const Expr& e, std::string_view name) {
  if (e.kind != ExprKind::call) return false;
  const Expr& callee = *e.as<CallExpr>().callee;
  return (callee.kind == ExprKind::attribute && callee.as<AttributeExpr>().name == name) ||
         (callee.kind == ExprKind::name && callee.as<NameExpr>().name == name);
}

/// Whether an expression is wp.float64, wp.vec3d, wp.mat22, wp.quatf and so on: a type of numbers, vectors or matrices.
bool names_type(const Expr& e) {
  constexpr std::string_view kStems[] = {"vector",         "vec", "matrix", "mat",   "quaternion", "quat",
                                         "transformation", "int", "uint",   "float", "bfloat16",   "transform",
                                         "spatial_vector"};
  const auto* member = e.as_if<AttributeExpr>();
  const auto* object = member ? member->object->as_if<NameExpr>() : nullptr;
  if (!object || (object->name != "wp" && object->name != "warp")) return false;
  return std::ranges::any_of(kStems, [&](std::string_view stem) {
    constexpr std::string_view kSizes = "0123456789bdfhilsu";
    return member->name.starts_with(stem) &&
           member->name.find_first_not_of(kSizes, stem.size()) == std::string_view::npos;
  });
}

/// Whether a call takes values only, by the look of it: what is passed to it is no place that it could write to.
bool takes_values(const Expr& call) {
  constexpr std::string_view kNames[] = {"range", "int", "float", "bool", "min", "max", "abs", "len", "round"};
  return std::ranges::any_of(kNames, [&](std::string_view name) { return is_call_of(call, name); }) ||
         (call.kind == ExprKind::call && names_type(*call.as<CallExpr>().callee));
}

/// Whether the argument of that name is a constant wherever there is one.
bool is_constant_keyword(std::string_view name) { return name == "shape" || name == "axis" || name == "dtype"; }

class Scanner {
 public:
  FunctionScan result;

  std::uint8_t block(Block statements) {
    std::uint8_t exits = 0;
    for (const Stmt* s : statements) exits |= statement(*s);
    return exits;
  }

 private:
  struct OpenLoop {
    LoopInfo info;
    std::unordered_map<std::string_view, std::size_t> seen;
    std::vector<const CallExpr*> statics;           // calls of wp.static inside
    std::unordered_set<std::string_view> changing;  // names that are assigned, or passed to calls, outside of those
    bool in_body = false;
  };

  /// Whether an expression may name something that the loop assigns. Of text that the parser makes nothing of (a lambda, a
  /// comprehension) nobody knows.
  static bool may_vary(const Expr& e, const OpenLoop& loop) {
    if (e.kind == ExprKind::unsupported) return true;
    if (const auto* name = e.as_if<NameExpr>()) return loop.changing.count(name->name) != 0;
    bool varies = false;
    for_each_child(e, [&](const Expr& child) { varies = varies || may_vary(child, loop); });
    return varies;
  }

  static void add_name(OpenLoop& loop, AssignedName name) {
    auto [it, fresh] = loop.seen.try_emplace(name.name, loop.info.assigned.size());
    if (fresh)
      loop.info.assigned.push_back(name);
    else
      loop.info.assigned[it->second].whole |= name.whole;
    loop.info.assigned[it->second].in_body |= name.in_body;
  }
  void assign_name(std::string_view name, bool whole) {
    for (OpenLoop& loop : loops_) {
      add_name(loop, {name, whole, loop.in_body});
      if (!in_static_) loop.changing.insert(name);
    }
  }

  void target(const Expr& e) {
    switch (e.kind) {
      case ExprKind::name:
        assign_name(e.as<NameExpr>().name, true);
        result.assigned.insert(e.as<NameExpr>().name);
        break;
      case ExprKind::tuple:
        for (const Expr* x : e.as<TupleExpr>().elements) target(*x);
        break;
      case ExprKind::list:
        for (const Expr* x : e.as<ListExpr>().elements) target(*x);
        break;
      case ExprKind::starred: target(*e.as<StarredExpr>().value); break;
      case ExprKind::attribute:
      case ExprKind::subscript: {  // writes a part: the root variable is read and assigned
        read(e);
        argument(e);
        break;
      }
      default: read(e); break;
    }
  }

  /// An argument of a call: the call may update a variable, or a part of one, that is passed by reference.
  void argument(const Expr& e) {
    if (const auto* name = root_of(e).as_if<NameExpr>()) assign_name(name->name, false);
  }

  /// Reads of names.
  void read(const Expr& e) {
    if (const auto* name = e.as_if<NameExpr>()) {
      result.last_read[name->name] = position_;
      return;
    }
    const bool is_static = is_call_of(e, "static");
    in_static_ += is_static;
    if (const auto* call = e.as_if<CallExpr>()) {
      if (!takes_values(e)) {
        for (const Expr* arg : call->args) argument(*arg);
        for (const Keyword& k : call->keywords)
          if (!is_constant_keyword(k.name)) argument(*k.value);
      }
      if (is_static) {
        result.statics.push_back(call);
        for (OpenLoop& loop : loops_) loop.statics.push_back(call);
      }
    }
    for_each_child(e, [&](const Expr& child) { read(child); });
    in_static_ -= is_static;
  }
  void read(const Expr* e) {
    if (e) read(*e);
  }

  /// `condition` runs in each iteration: what it assigns belongs to the loop. So does what a loop over `iterable`
  /// advances, if that is a variable which holds a query.
  std::uint8_t loop(const Stmt& s, const Expr* loop_target, const Expr* iterable, const Expr* condition, Block body,
                    Block else_body) {
    loops_.emplace_back();
    if (condition) read(*condition);
    if (iterable) argument(*iterable);
    if (loop_target) target(*loop_target);
    loops_.back().in_body = true;
    std::uint8_t exits = block(body);
    OpenLoop open = std::move(loops_.back());
    loops_.pop_back();
    open.info.exits = exits;
    open.info.end = ++position_;
    open.info.has_static = std::ranges::any_of(open.statics, [&](const CallExpr* call) {
      return std::ranges::any_of(call->args, [&](const Expr* arg) { return may_vary(*arg, open); });
    });
    result.loops.emplace(&s, std::move(open.info));
    std::uint8_t outer = exits & kExitReturn;
    return std::uint8_t(outer | block(else_body));
  }

  std::uint8_t statement(const Stmt& s) {
    ++position_;
    std::uint8_t exits = 0;
    switch (s.kind) {
      case StmtKind::expr: read(s.as<ExprStmt>().value); break;
      case StmtKind::assign:
        read(s.as<AssignStmt>().value);
        for (const Expr* t : s.as<AssignStmt>().targets) {
          target(*t);
          if (t->kind == ExprKind::tuple && is_call_of(*s.as<AssignStmt>().value, "tid"))
            result.tid_names = std::max(result.tid_names, int(t->as<TupleExpr>().elements.size()));
        }
        break;
      case StmtKind::augmented_assign:
        read(s.as<AugmentedAssignStmt>().value);
        read(s.as<AugmentedAssignStmt>().target);
        target(*s.as<AugmentedAssignStmt>().target);
        break;
      case StmtKind::annotated_assign:
        read(s.as<AnnotatedAssignStmt>().value);
        target(*s.as<AnnotatedAssignStmt>().target);
        break;
      case StmtKind::if_stmt: {
        const auto& i = s.as<IfStmt>();
        read(i.condition);
        exits = std::uint8_t(block(i.then_body) | block(i.else_body));
        break;
      }
      case StmtKind::while_stmt: {
        const auto& w = s.as<WhileStmt>();
        exits = loop(s, nullptr, nullptr, w.condition, w.body, w.else_body);
        break;
      }
      case StmtKind::for_stmt: {
        const auto& f = s.as<ForStmt>();
        read(f.iterable);
        exits = loop(s, f.target, f.iterable, nullptr, f.body, f.else_body);
        break;
      }
      case StmtKind::break_stmt: exits = kExitBreak; break;
      case StmtKind::continue_stmt: exits = kExitContinue; break;
      case StmtKind::return_stmt:
        read(s.as<ReturnStmt>().value);
        exits = kExitReturn;
        break;
      case StmtKind::assert_stmt: read(s.as<AssertStmt>().condition); break;
      case StmtKind::pass_stmt:
      case StmtKind::import_stmt:
      case StmtKind::function_def:
      case StmtKind::class_def:
      case StmtKind::unsupported: break;
    }
    if (exits) result.exits.emplace(&s, exits);
    result.ends.emplace(&s, position_);
    return exits;
  }

  std::vector<OpenLoop> loops_;
  int in_static_ = 0;  // calls of wp.static around
  std::uint32_t position_ = 0;
};

}  // namespace

bool LoopInfo::body_assigns(std::string_view name) const {
  return std::any_of(assigned.begin(), assigned.end(),
                     [&](const AssignedName& one) { return one.name == name && one.in_body; });
}

const Expr& root_of(const Expr& expr) {
  const Expr* root = &expr;
  while (root->kind == ExprKind::subscript || root->kind == ExprKind::attribute)
    root = root->kind == ExprKind::subscript ? root->as<SubscriptExpr>().object : root->as<AttributeExpr>().object;
  return *root;
}

FunctionScan scan(const FunctionDef& def) {
  Scanner scanner;
  scanner.block(def.body);
  return std::move(scanner.result);
}

void for_each_call(const Expr& expr, const std::function<void(const CallExpr&)>& visit) {
  if (const auto* call = expr.as_if<CallExpr>()) visit(*call);
  for_each_child(expr, [&](const Expr& child) { for_each_call(child, visit); });
}

bool mentions(const Expr& expr, std::string_view name) {
  if (const auto* n = expr.as_if<NameExpr>()) return n->name == name;
  bool found = false;
  for_each_child(expr, [&](const Expr& child) { found = found || mentions(child, name); });
  return found;
}

}  // namespace weft::sema
