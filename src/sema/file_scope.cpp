// Reading the module level of a kernel file.
#include "sema/file_scope.h"

#include <algorithm>

#include "sema/lowering.h"
#include "syntax/print.h"

namespace weft::sema {

using namespace syntax;

namespace {

/// A plain class whose body holds constants: Config.N.
class ClassScope final : public Scope {
 public:
  std::map<std::string, Symbol, std::less<>> members;
  std::optional<Symbol> lookup(std::string_view name) override {
    auto it = members.find(name);
    return it == members.end() ? std::nullopt : std::optional(it->second);
  }
};

/// The body of a class while it is read: its own names first, then those around it.
class BodyScope final : public Scope {
 public:
  BodyScope(ClassScope& own, Scope& around) : own_(own), around_(around) {}
  std::optional<Symbol> lookup(std::string_view name) override {
    if (auto symbol = own_.lookup(name)) return symbol;
    return around_.lookup(name);
  }

 private:
  ClassScope& own_;
  Scope& around_;
};

/// Whether the first parameters of `b` are annotated as all those of `a` are.
bool begins_with_params(const FunctionDecl& a, const FunctionDecl& b) {
  if (a.def->params.size() > b.def->params.size()) return false;
  for (std::size_t i = 0; i < a.def->params.size(); ++i) {
    const Expr *x = a.def->params[i].annotation, *y = b.def->params[i].annotation;
    if (!x != !y || (x && to_source(*x) != to_source(*y))) return false;
  }
  return true;
}

bool same_params(const FunctionDecl& a, const FunctionDecl& b) {
  return a.def->params.size() == b.def->params.size() && begins_with_params(a, b);
}

/// How many results the function has, as far as it is known: generic ones show it only when they are called.
std::optional<std::size_t> result_count(const FunctionDecl& decl) {
  DiagnosticSink quiet;
  auto patterns = param_patterns(decl, quiet);
  if (!patterns) return std::nullopt;
  std::vector<const Type*> types;
  for (const builtins::Pattern& p : *patterns) {
    if (p.kind != builtins::Pattern::Kind::exact) return std::nullopt;
    types.push_back(p.type);
  }
  auto results = function_results(decl, types, quiet);
  return results ? std::optional(results->size()) : std::nullopt;
}

std::string plural(std::size_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

}  // namespace

std::shared_ptr<FileScope> FileScope::make(std::shared_ptr<const Tree> tree, DiagnosticSink& sink) {
  std::shared_ptr<FileScope> scope(new FileScope(std::move(tree)));
  sink.keep(scope->tree_->source);
  scope->read(sink);
  return scope;
}

std::optional<Symbol> FileScope::lookup(std::string_view name) {
  auto it = symbols_.find(name);
  return it == symbols_.end() ? std::nullopt : std::optional(it->second);
}

std::shared_ptr<const FunctionDecl> FileScope::find_kernel(std::string_view name) const {
  for (auto it = kernels_.rbegin(); it != kernels_.rend(); ++it)
    if ((*it)->def->name == name) return *it;
  return nullptr;
}

void FileScope::read(DiagnosticSink& sink) {
  for (const Stmt* stmt : tree_->body) {
    switch (stmt->kind) {
      case StmtKind::import_stmt: read_import(stmt->as<ImportStmt>()); break;
      case StmtKind::function_def: read_function(stmt->as<FunctionDef>(), sink); break;
      case StmtKind::class_def: read_class(stmt->as<ClassDef>(), sink); break;
      case StmtKind::assign: {
        const auto& a = stmt->as<AssignStmt>();
        read_assignment(*stmt, a.targets, *a.value, sink);
        break;
      }
      case StmtKind::annotated_assign: {
        const auto& a = stmt->as<AnnotatedAssignStmt>();
        Expr* targets[] = {a.target};
        if (a.value) read_assignment(*stmt, targets, *a.value, sink);
        break;
      }
      case StmtKind::expr:
        if (stmt->as<ExprStmt>().value->kind == ExprKind::string_literal) break;
        [[fallthrough]];
      default:
        sink.report(DiagCode::ignored_statement, stmt->loc,
                    "this statement is not part of a kernel and was passed over", stmt->underline());
        break;
    }
  }
}

void FileScope::read_import(const ImportStmt& stmt) {
  auto is_warp = [](std::string_view module) {
    return module == "warp" || module == "weft" || module.starts_with("warp.");
  };
  for (const ImportStmt::Name& name : stmt.names) {
    if (stmt.from.empty()) {
      if (is_warp(name.name))
        symbols_[std::string(name.alias)] = Symbol::of_scope(warp_scope());
      else if (name.name == "math")
        symbols_[std::string(name.alias)] = Symbol::of_scope(math_scope());
      else
        symbols_[std::string(name.alias)] = Symbol::of_other("the module '" + std::string(name.name) + "'");
      continue;
    }
    if (is_warp(stmt.from) || stmt.from == "typing" || stmt.from == "collections.abc" || stmt.from == "math") {
      if (name.name == "*") continue;  // names of warp are found without a prefix anyway
      auto symbol = (stmt.from == "math" ? math_scope() : warp_scope())->lookup(name.name);
      if (symbol) symbols_[std::string(name.alias)] = *symbol;
      continue;
    }
    if (stmt.from == "__future__") continue;
    symbols_[std::string(name.alias)] =
        Symbol::of_other("'" + std::string(name.name) + "' of the module '" + std::string(stmt.from) + "'");
  }
}

std::string FileScope::decorator_of(std::span<Expr* const> decorators, DiagnosticSink& sink) {
  constexpr std::string_view ours[] = {"kernel",    "func",        "struct",     "overload",
                                       "func_grad", "func_replay", "func_native"};
  std::string found;
  const Expr* foreign = nullptr;
  for (const Expr* d : decorators) {
    std::string text = to_source(d->kind == ExprKind::call ? *d->as<CallExpr>().callee : *d);
    std::string last = text.substr(text.find_last_of('.') + 1);
    if (std::find(std::begin(ours), std::end(ours), last) != std::end(ours))
      found = last;
    else
      foreign = d;
  }
  if (!found.empty() && foreign) {
    std::string text = to_source(foreign->kind == ExprKind::call ? *foreign->as<CallExpr>().callee : *foreign);
    sink.report(DiagCode::bad_decorator, foreign->loc, "the decorator '@" + text + "' is not known without Python",
                "kernel files know @wp.kernel, @wp.func and @wp.struct", foreign->underline());
  }
  return found;
}

void FileScope::read_function(const FunctionDef& def, DiagnosticSink& sink) {
  std::string kind = decorator_of(def.decorators, sink);
  std::string name(def.name);
  if (kind.empty() || kind == "struct") {
    symbols_[name] = Symbol::of_other("the Python function '" + name + "'");
    return;
  }
  if (kind == "func_native") {
    symbols_[name] = Symbol::of_other("the native function '" + name + "'");
    return;
  }
  if (kind == "func_grad" || kind == "func_replay") return read_custom(def, kind, sink);
  if (kind == "overload") {
    sink.report(DiagCode::ignored_statement, def.loc, "@wp." + kind + " has no effect here and was passed over",
                def.underline());
    return;
  }
  std::shared_ptr<FunctionDecl> decl = declare(def);
  if (kind == "kernel") {
    kernels_.push_back(std::move(decl));
    symbols_[std::string(def.name)] = Symbol::of_other("the kernel '" + std::string(def.name) + "'");
    return;
  }
  Symbol& symbol = symbols_[std::string(def.name)];
  if (symbol.kind != Symbol::Kind::functions) symbol = Symbol::of_functions({});
  for (auto& earlier : symbol.functions)
    if (same_params(*earlier, *decl)) {
      earlier = decl;
      return;
    }
  symbol.functions.push_back(std::move(decl));
}

std::shared_ptr<FunctionDecl> FileScope::declare(const FunctionDef& def) {
  auto decl = std::make_shared<FunctionDecl>();
  decl->def = &def;
  decl->tree = tree_;
  decl->scope = weak_from_this();
  decl->key = tree_->source->name() + ":" + std::to_string(def.loc.line) + ":" + std::string(def.name);
  return decl;
}

void FileScope::read_custom(const FunctionDef& def, const std::string& kind, DiagnosticSink& sink) {
  const CallExpr* decorator = nullptr;
  for (const Expr* d : def.decorators)
    if (const auto* call = d->as_if<CallExpr>(); call && to_source(*call->callee).ends_with(kind)) decorator = call;
  const auto* name = decorator && decorator->args.size() == 1 ? decorator->args[0]->as_if<NameExpr>() : nullptr;
  auto known = name ? symbols_.find(name->name) : symbols_.end();
  if (known == symbols_.end() || known->second.kind != Symbol::Kind::functions) {
    const Node& at = name ? static_cast<const Node&>(*name) : static_cast<const Node&>(def);
    sink.report(DiagCode::bad_decorator, at.loc, "@wp." + kind + " takes a function made by @wp.func above it",
                at.underline());
    return;
  }
  std::shared_ptr<FunctionDecl> decl = declare(def);
  auto& overloads = known->second.functions;
  bool gradient = kind == "func_grad";
  std::string wrong;  // of an overload whose parameters fit
  for (auto it = overloads.rbegin(); it != overloads.rend(); ++it) {
    if (!(gradient ? begins_with_params(**it, *decl) : same_params(**it, *decl))) continue;
    const std::size_t adjoints = def.params.size() - (*it)->def->params.size();
    if (auto results = gradient ? result_count(**it) : std::nullopt; results && *results != adjoints) {
      wrong = "'" + std::string(def.name) + "' takes " + plural(adjoints, "adjoint") + " behind the parameters of '" +
              std::string(name->name) + "', which returns " + plural(*results, "value");
      continue;
    }
    auto changed = std::make_shared<FunctionDecl>(**it);
    (gradient ? changed->gradient : changed->replay) = std::move(decl);
    *it = std::move(changed);
    return;
  }
  if (wrong.empty())
    wrong = "no overload of '" + std::string(name->name) +
            (gradient ? "' has parameters with which those of '" + std::string(def.name) + "' begin"
                      : "' has the parameters of '" + std::string(def.name) + "'");
  sink.report(
      DiagCode::bad_gradient, def.name_loc, wrong,
      gradient ? "take the function's parameters, then the adjoint of each result" : "take the function's parameters",
      std::uint32_t(def.name.size()));
}

void FileScope::read_class(const ClassDef& def, DiagnosticSink& sink) {
  if (decorator_of(def.decorators, sink) == "struct") {
    const Type* type = struct_type(def, *this, sink, false);
    Symbol& symbol = symbols_[std::string(def.name)];
    symbol = type ? Symbol::of_type(type) : Symbol::of_other("the struct '" + std::string(def.name) + "'");
    symbol.reported = !type;
    return;
  }
  auto members = std::make_shared<ClassScope>();
  BodyScope body(*members, *this);
  for (const Stmt* stmt : def.body) {
    const Expr* target = nullptr;
    const Expr* value = nullptr;
    if (const auto* a = stmt->as_if<AssignStmt>(); a && a->targets.size() == 1)
      target = a->targets[0], value = a->value;
    if (const auto* a = stmt->as_if<AnnotatedAssignStmt>()) target = a->target, value = a->value;
    if (!target || !value || target->kind != ExprKind::name) continue;
    if (auto symbol = eval_constant(*value, body)) members->members[std::string(target->as<NameExpr>().name)] = *symbol;
  }
  symbols_[std::string(def.name)] = Symbol::of_scope(members);
}

void FileScope::read_assignment(const Stmt& stmt, std::span<Expr* const> targets, const Expr& value,
                                DiagnosticSink& sink) {
  auto symbol = eval_constant(value, *this);
  for (const Expr* target : targets) {
    const auto* name = target->as_if<NameExpr>();
    const auto *names = target->as_if<TupleExpr>(), *values = value.as_if<TupleExpr>();
    if (names && values && names->elements.size() == values->elements.size()) {  // A, B = 1, 2
      for (std::size_t k = 0; k < names->elements.size(); ++k) {
        Expr* one[] = {names->elements[k]};
        read_assignment(stmt, one, *values->elements[k], sink);
      }
      continue;
    }
    if (!name) {
      sink.report(DiagCode::ignored_statement, stmt.loc, "this statement is not part of a kernel and was passed over",
                  stmt.underline());
      continue;
    }
    symbols_[std::string(name->name)] =
        symbol ? *symbol
               : Symbol::of_other("'" + std::string(name->name) + "', whose value is not a compile-time constant,");
  }
}

}  // namespace weft::sema
