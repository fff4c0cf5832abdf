// wp.static: the host evaluates the expression if it can (Python does); otherwise it is evaluated here.
#include <algorithm>
#include <cctype>

#include "sema/lowering.h"
#include "types/tile_type.h"

namespace weft::sema {

using namespace syntax;

// Host expressions may hold what kernels don't know (lambdas, comprehensions), so their text is taken as written.
std::string source_text(const Expr& expr, std::span<const TextEdit> edits) {
  std::string out;
  if (!expr.loc.file) return out;
  for (std::uint32_t line = expr.loc.line; line <= expr.end_line; ++line) {
    std::string_view text = expr.loc.file->line(line);
    std::size_t begin = line == expr.loc.line ? expr.loc.col - 1 : 0;
    std::size_t end = line == expr.end_line ? expr.end_col - 1 : text.size();
    if (!out.empty()) out += "\n";
    if (begin >= end || end > text.size()) continue;
    std::string piece(text.substr(begin, end - begin));
    // From the right, so that the others keep their place.
    for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit)
      if (edit->at->loc.line == line)
        piece.replace(edit->at->loc.col - 1 - begin, edit->at->end_col - edit->at->loc.col, edit->text);
    out += piece;
  }
  return expr.end_line == expr.loc.line ? out : "(" + out + ")";
}

namespace {

/// The identifiers in a text, each once, in order.
std::vector<std::string_view> identifiers(std::string_view text) {
  auto starts = [](unsigned char c) { return std::isalpha(c) || c == '_' || c >= 0x80; };
  auto continues = [&](unsigned char c) { return starts(c) || std::isdigit(c); };
  std::vector<std::string_view> out;
  std::set<std::string_view> seen;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    if (continues(static_cast<unsigned char>(text[at]))) {
      while (end < text.size() && continues(static_cast<unsigned char>(text[end]))) ++end;
      std::string_view word = text.substr(at, end - at);
      if (starts(static_cast<unsigned char>(word[0])) && seen.insert(word).second) out.push_back(word);
    }
    at = end;
  }
  return out;
}

/// The function's own constants before the names outside; its other variables can't be used.
class StaticScope final : public Scope {
 public:
  StaticScope(Scope& around, std::span<const std::pair<std::string, Constant>> locals,
              std::set<std::string_view> hidden)
      : around_(around), locals_(locals), hidden_(std::move(hidden)) {}
  std::optional<Symbol> lookup(std::string_view name) override {
    for (const auto& [local, constant] : locals_)
      if (local == name) return Symbol::of(constant);
    if (hidden_.count(name)) return Symbol::of_other("the variable '" + std::string(name) + "'");
    return around_.lookup(name);
  }

 private:
  Scope& around_;
  std::span<const std::pair<std::string, Constant>> locals_;
  std::set<std::string_view> hidden_;
};

/// True if a value depends on constants only, so that it is the same for every thread and launch.
bool is_compile_time(const ir::Value* value) {
  std::vector<const ir::Value*> pending = {value};
  std::set<const ir::Value*> seen;
  while (!pending.empty()) {
    const ir::Value* v = pending.back();
    pending.pop_back();
    if (v->is_constant() || !seen.insert(v).second) continue;
    if (v->kind != ir::ValueKind::result) return false;
    const ir::Op& op = *v->op;
    // What hangs on memory, the thread or the launch is known no sooner than these.
    const ir::OpClass kind = ir::class_of(op.code);
    const bool late = kind == ir::OpClass::memory || kind == ir::OpClass::effect;
    if (late || !ir::is_pure(op) || !op.regions.empty()) return false;
    pending.insert(pending.end(), op.operands.begin(), op.operands.end());
  }
  return true;
}

}  // namespace

std::string FunctionLowering::static_text(const Expr& inner) {
  std::vector<TextEdit> edits;
  for_each_call(inner, [&](const CallExpr& call) {
    const auto* callee = call.callee->as_if<NameExpr>();
    if (!callee || callee->name != "len" || call.args.size() != 1 || call.loc.line != call.end_line) return;
    const auto* root = root_of(*call.args[0]).as_if<NameExpr>();
    if (!root || find_variable(root->name) < 0) return;
    auto holds_call = [&](const TextEdit& edit) {
      return edit.at->loc.line == call.loc.line && edit.at->loc.col < call.loc.col && call.end_col <= edit.at->end_col;
    };
    if (std::any_of(edits.begin(), edits.end(), holds_call)) return;
    ir::Region* outer = builder_.region();
    builder_.set_place(function_.make_region(nullptr));  // only the type counts
    std::size_t mark = enter_frame();
    Entity value = lower_expr(*call.args[0]);
    const bool fixed =
        value.kind == Entity::Kind::tuple ||
        (value.is_value() && (value.type()->is_composite() || value.type()->is_tuple() || tile_type(value.type())));
    auto n = fixed ? constant_int(special_len({{{}, value, call.args[0], nullptr}}, call)) : std::nullopt;
    leave_frame(mark);
    builder_.set_place(outer);
    if (n) edits.push_back({&call, std::to_string(*n)});
  });
  auto place = [](const TextEdit& edit) { return std::pair(edit.at->loc.line, edit.at->loc.col); };
  std::sort(edits.begin(), edits.end(), [&](const TextEdit& a, const TextEdit& b) { return place(a) < place(b); });
  return source_text(inner, edits);
}

Entity FunctionLowering::lower_static(const CallExpr& expr) {
  if (expr.args.size() != 1 || !expr.keywords.empty() || expr.args[0]->kind == ExprKind::starred)
    return fail(DiagCode::bad_static, expr, "wp.static() takes one expression");
  const Expr& inner = *expr.args[0];
  const std::size_t errors = sink_.error_count();
  std::string text = static_text(inner);
  if (sink_.error_count() != errors) return Entity::failed();
  std::vector<std::pair<std::string, Constant>> locals;
  std::set<std::string_view> hidden;
  std::string_view run_time;  // a number among them that no unrolling makes constant
  for (std::string_view name : identifiers(text)) {
    int variable = find_variable(name);
    if (variable < 0) continue;
    Entity e = read_variable(variable, nullptr);
    if (e.is_error()) return e;
    if (!e.is_value() || !e.value->is_constant() || !e.type()->is_scalar()) {
      // The host must not take something else of that name for it.
      if (e.is_value() && mentions(inner, name) && scope_->lookup(name))
        return fail(DiagCode::bad_static, inner,
                    "Error evaluating static expression: name '" + std::string(name) +
                        "' is not defined. Make sure all variables used in the static expression are constant.",
                    "it is a variable here, which hides what is outside; use another name");
      if (e.is_value() && e.type()->is_scalar()) run_time = name;
      hidden.insert(name);
      continue;
    }
    Constant c;
    if (e.type() == types::i32())
      c = Constant::of_int(e.value->as_int());
    else if (e.type() == types::f32())
      c = Constant::of_real(e.value->as_float());
    else
      c.form = Constant::Form::typed, c.type = e.type(), c.bits = {e.value->bits};
    locals.emplace_back(std::string(name), std::move(c));
  }
  try {
    if (auto symbol = scope_->eval_static(text, locals)) return from_symbol(*symbol, expr);
  } catch (const StaticError& error) {
    return fail(DiagCode::bad_static, inner, std::string("Error evaluating static expression: ") + error.what());
  }
  if (!run_time.empty())
    return fail(DiagCode::bad_static, inner,
                "wp.static() needs a compile-time expression, but '" + std::string(run_time) +
                    "' has its value at run time only",
                "it may use constants, types, functions and the variables of unrolled loops");
  StaticScope scope(*scope_, locals, std::move(hidden));
  if (auto symbol = eval_constant(inner, scope); symbol && symbol->kind != Symbol::Kind::other)
    return from_symbol(*symbol, expr);
  Entity value = lower_expr(inner);
  if (value.is_value() && !is_compile_time(value.value))
    return fail(DiagCode::bad_static, inner, "wp.static() needs a compile-time expression",
                "it may use constants, types, functions and the variables of unrolled loops");
  return value;
}

}  // namespace weft::sema
