// Answers of a compile and the hash of a kernel's meaning.
#include "bind/compile_session.h"

#include <set>
#include <stdexcept>
#include <unordered_map>

#include "sema/scan.h"
#include "syntax/lexer.h"

namespace weft::bind {
namespace {

thread_local CompileSession* session = nullptr;

constexpr int kMaxSessions = 16;  // of one thread, one inside the other: each takes a compiler's share of the stack

/// Functions of these names serve as operators of structs: the front end asks for them without a word in the text.
constexpr std::string_view kOperators[] = {"add",    "sub",    "mul",     "div",    "floordiv", "mod",
                                           "pow",    "matmul", "bit_and", "bit_or", "bit_xor",  "lshift",
                                           "rshift", "neg",    "pos",     "invert"};

void add_pattern(Hasher& hasher, const builtins::Pattern& p) {
  hasher.value(p.kind).text(p.type ? p.type->text() : "").text(p.variable).value(p.by_reference);
  for (const builtins::Extent* e : {&p.rows, &p.cols}) hasher.value(e->fixed).text(e->variable);
  hasher.value(p.element != nullptr);
  if (p.element) add_pattern(hasher, *p.element);
}

void add_constant(Hasher& hasher, const sema::Constant& c) {
  hasher.value(c.form).value(c.negative).value(c.magnitude).value(c.real);
  hasher.text(c.type ? c.type->text() : "").text(c.text).value(c.bits.size());
  for (std::uint64_t bits : c.bits) hasher.value(bits);
}

}  // namespace

/// One walk over a kernel and the functions it can reach.
class CompileSession::Fingerprint {
 public:
  Fingerprint(CompileSession& session, bool places) : session_(session), places_(places) {}

  void add_function(const sema::FunctionDecl& decl) {
    auto [it, fresh] = seen_.try_emplace(&decl, seen_.size());
    hasher_.value(it->second);
    if (!fresh) return;
    const SourceFile& source = *decl.tree->source;
    hasher_.text(decl.def->name).text(source.text());
    if (!decl.native.empty()) session_.note_unknown();  // what a compiler of the system makes of it is not ours to know
    if (places_) hasher_.text(source.name()).value(decl.def->loc.line);
    hasher_.value(decl.known_params.size());
    for (const auto& known : decl.known_params) {
      hasher_.value(known.has_value());
      if (known) add_pattern(hasher_, *known);
    }
    if (decl.owned_scope) add_names(source, *decl.def, *decl.owned_scope);
  }

  Hash128 finish() const { return hasher_.finish(); }

 private:
  void add_names(const SourceFile& source, const syntax::FunctionDef& def, sema::Scope& scope) {
    DiagnosticSink quiet;
    const std::vector<syntax::Token> tokens = syntax::tokenize(source, quiet);
    auto text_of = [&](std::size_t i) { return source.text().substr(tokens[i].offset, tokens[i].length); };
    auto is = [&](std::size_t i, syntax::TokenKind kind) { return i < tokens.size() && tokens[i].kind == kind; };
    std::vector<std::string> names(std::begin(kOperators), std::end(kOperators));
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (is(i, syntax::TokenKind::name) && (i == 0 || !is(i - 1, syntax::TokenKind::dot)))
        names.emplace_back(text_of(i));
    ask_names(scope, names);
    std::set<std::string> done;  // by dotted name
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!is(i, syntax::TokenKind::name) || (i > 0 && is(i - 1, syntax::TokenKind::dot))) continue;
      std::string path(text_of(i));
      const bool fresh = done.insert(path).second;
      std::optional<sema::Symbol> symbol = ask(scope, path);
      if (fresh) add_answer(path, symbol);
      for (std::size_t at = i + 1; symbol && symbol->kind == sema::Symbol::Kind::scope && symbol->scope; at += 2) {
        if (!is(at, syntax::TokenKind::dot) || !is(at + 1, syntax::TokenKind::name)) break;
        const std::shared_ptr<sema::Scope> inner = symbol->scope;
        symbol = ask(*inner, text_of(at + 1));
        path += "." + std::string(text_of(at + 1));
        if (done.insert(path).second) add_answer(path, symbol);
      }
    }
    for (std::string_view name : kOperators)
      if (!done.contains(std::string(name))) add_answer(name, ask(scope, name));
    for (const syntax::CallExpr* call : sema::scan(def).statics) {
      if (call->args.size() != 1) continue;
      const std::string text = sema::source_text(*call->args[0]);
      try {
        add_answer(text, scope.eval_static(text, {}));
      } catch (
          const sema::StaticError&) {  // it needs variables of the function: the front end asks again, and is noticed
      }
    }
  }

  /// A name whose lookup raises may be one that the front end never asks for; if it does, it raises again.
  std::optional<sema::Symbol> ask(sema::Scope& scope, std::string_view name) {
    try {
      return scope.lookup(name);
    } catch (const nb::python_error&) {
      session_.note_unknown();
      return std::nullopt;
    }
  }

  void add_answer(std::string_view question, const std::optional<sema::Symbol>& symbol) {
    hasher_.text(question).value(symbol.has_value());
    if (!symbol) return;
    hasher_.value(symbol->kind).text(symbol->text);
    switch (symbol->kind) {
      case sema::Symbol::Kind::constant: add_constant(hasher_, symbol->constant); break;
      case sema::Symbol::Kind::pattern: add_pattern(hasher_, symbol->pattern); break;
      case sema::Symbol::Kind::functions:
        hasher_.value(symbol->functions.size());
        for (const auto& f : symbol->functions) add_function(*f);
        break;
      // What a scope holds is asked by name, one member after the other. Ours are part of the build.
      case sema::Symbol::Kind::scope: hasher_.value(symbol->scope == sema::warp_scope()); break;
      case sema::Symbol::Kind::builtin:
      case sema::Symbol::Kind::other: break;
    }
  }

  CompileSession& session_;
  bool places_;
  Hasher hasher_;
  std::unordered_map<const sema::FunctionDecl*, std::size_t> seen_;
};

CompileSession::CompileSession(const sema::FunctionDecl& kernel) : outer_(session), kernel_(&kernel) {
  int depth = 0;
  for (const CompileSession* s = outer_; s; s = s->outer_) {
    if (s->kernel_ == kernel_)
      throw std::runtime_error("kernel '" + std::string(kernel.def->name) +
                               "' is needed while it is compiled: a wp.static expression of it launches it");
    if (++depth == kMaxSessions)
      throw std::runtime_error(
          "wp.static expressions launch kernels whose wp.static expressions launch kernels, more "
          "than " +
          std::to_string(kMaxSessions) + " deep");
  }
  session = this;
}

CompileSession::~CompileSession() { session = outer_; }

CompileSession* CompileSession::current() { return session; }

Hash128 CompileSession::fingerprint(const sema::FunctionDecl& kernel, bool places) {
  collecting_ = true;
  Fingerprint print(*this, places);
  print.add_function(kernel);
  collecting_ = false;
  return print.finish();
}

CompileSession::Answer CompileSession::remember(const sema::Scope& scope, char kind, std::string_view question,
                                                const std::function<Answer()>& ask) {
  Question key{&scope, kind, std::string(question)};
  if (auto it = answers_.find(key); it != answers_.end()) return it->second;
  if (!collecting_) asked_more_ = true;
  return answers_.emplace(std::move(key), ask()).first->second;
}

}  // namespace weft::bind
