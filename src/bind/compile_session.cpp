// Answers of a compile and the hash of a kernel's meaning.
#include "bind/compile_session.h"

#include <algorithm>
#include <deque>
#include <set>
#include <stdexcept>
#include <utility>

#include "sema/scan.h"

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
  hasher.value(p.elements.size());
  for (const builtins::Pattern& element : p.elements) add_pattern(hasher, element);
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
    if (!decl.native.empty() && session_.ahead_) throw NotAhead{};
    if (!decl.native.empty()) session_.note_unknown();  // what a compiler of the system makes of it is not ours to know
    hasher_.text(decl.native_gradient).text(decl.native_replay);
    for (const auto& custom : {decl.gradient, decl.replay}) {
      hasher_.value(custom != nullptr);
      if (custom) add_function(*custom);
    }
    if (places_) hasher_.text(source.name()).value(decl.def->loc.line);
    hasher_.value(decl.known_params.size());
    for (const auto& known : decl.known_params) {
      hasher_.value(known.has_value());
      if (known) add_pattern(hasher_, *known);
    }
    hasher_.value(decl.known_returns ? decl.known_returns->size() + 1 : 0);
    if (decl.known_returns)
      for (const builtins::Pattern& known : *decl.known_returns) add_pattern(hasher_, known);
    if (decl.owned_scope) add_names(decl, *decl.owned_scope);
  }

  Hash128 finish() const { return hasher_.finish(); }

 private:
  void add_names(const sema::FunctionDecl& decl, sema::Scope& scope) {
    std::vector<std::string_view> names(std::begin(kOperators), std::end(kOperators));
    names.insert(names.end(), decl.tree->names.begin(), decl.tree->names.end());
    // The text says which names there are; so a name that stands for nothing needs no word in the hash.
    for (const std::string_view name : ask_names(scope, std::move(names)))
      if (const CompileSession::Answer& answer = ask(scope, name)) add_answer(name, answer);
    std::optional<sema::FunctionScan> scan;  // few functions need it
    auto scanned = [&]() -> const sema::FunctionScan& { return scan ? *scan : scan.emplace(sema::scan(*decl.def)); };
    auto is_own = [&](std::string_view name) {
      auto is_it = [&](const syntax::Param& p) { return p.name == name; };
      return std::any_of(decl.def->params.begin(), decl.def->params.end(), is_it) || scanned().assigned.contains(name);
    };
    // Members of modules, classes and objects, by the dotted names of the text. Looking into an object runs code of the
    // program's, so it is left alone if only its name is the same as that of a variable here.
    std::set<std::string> done;
    for (const syntax::DottedName& dotted : decl.tree->dotted_names) {
      std::string path(dotted[0]);
      const CompileSession::Answer* answer = &ask(scope, path);
      if (*answer && (*answer)->kind != sema::Symbol::Kind::scope && is_own(path)) continue;
      for (std::size_t at = 1; at < dotted.size() && *answer && (*answer)->scope; ++at) {
        sema::Scope& inner = *(*answer)->scope;
        answer = &ask(inner, dotted[at]);
        (path += '.') += dotted[at];
        if (done.insert(path).second) add_answer(path, *answer);
      }
    }
    if (decl.tree->source->text().find("static") != std::string_view::npos) add_statics(scanned().statics, scope);
  }

  void add_statics(std::span<const syntax::CallExpr* const> calls, sema::Scope& scope) {
    if (session_.ahead_ && !calls.empty()) throw NotAhead{};
    for (const syntax::CallExpr* call : calls) {
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
  const CompileSession::Answer& ask(sema::Scope& scope, std::string_view name) {
    if (const auto* known = session_.find(scope, Question::name, name)) return *known;
    try {
      held_.push_back(scope.lookup(name));  // scopes other than Python's are not remembered by the session
    } catch (const nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) throw;  // Ctrl-C and exits are not about the name
      session_.note_unknown();
      held_.emplace_back();
    }
    return held_.back();
  }

  void add_answer(std::string_view question, const std::optional<sema::Symbol>& symbol) {
    hasher_.text(question).value(symbol.has_value());
    if (!symbol) return;
    hasher_.value(symbol->kind).text(symbol->text).value(symbol->derivative);
    switch (symbol->kind) {
      case sema::Symbol::Kind::constant: add_constant(hasher_, symbol->constant); break;
      case sema::Symbol::Kind::pattern: add_pattern(hasher_, symbol->pattern); break;
      case sema::Symbol::Kind::functions:
        hasher_.value(symbol->functions.size());
        for (const auto& f : symbol->functions) add_function(*f);
        break;
      // What a scope holds is asked by name, one member after the other. Ours are part of the build.
      case sema::Symbol::Kind::scope: hasher_.value(is_warp(*symbol->scope)); break;
      case sema::Symbol::Kind::tuple:
        hasher_.value(symbol->elements.size());
        for (const sema::Symbol& element : symbol->elements) add_answer({}, element);
        break;
      case sema::Symbol::Kind::builtin:
      case sema::Symbol::Kind::other: break;
    }
  }

  CompileSession& session_;
  bool places_;
  Hasher hasher_;
  std::unordered_map<const sema::FunctionDecl*, std::size_t> seen_;
  std::deque<CompileSession::Answer> held_;
};

CompileSession::CompileSession(const sema::FunctionDecl& kernel, bool ahead)
    : outer_(session), kernel_(&kernel), ahead_(ahead) {
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

const CompileSession::Answer& CompileSession::remember(const sema::Scope& scope, Question kind, std::string_view text,
                                                       const std::function<Answer()>& ask) {
  if (const Answer* known = find(scope, kind, text)) return *known;
  if (!collecting_) asked_more_ = true;
  if (kind == Question::static_value) {
    // Expressions that launch kernels whose expressions launch kernels would run twice as often at every level.
    if (auto failed = failures_.find({&scope, std::string(text)}); failed != failures_.end())
      throw sema::StaticError(failed->second);
  }
  try {
    Answer answer = ask();  // may ask further questions
    return answers_[{&scope, kind}].try_emplace(std::string(text), std::move(answer)).first->second;
  } catch (const sema::StaticError& error) {
    failures_.try_emplace({&scope, std::string(text)}, error.what());
    throw;
  }
}

const CompileSession::Answer* CompileSession::find(const sema::Scope& scope, Question kind,
                                                   std::string_view text) const {
  if (auto of_scope = answers_.find({&scope, kind}); of_scope != answers_.end())
    if (auto it = of_scope->second.find(text); it != of_scope->second.end()) return &it->second;
  static const Answer nothing;
  const auto of_scope = kind == Question::name ? absent_.find(&scope) : absent_.end();
  if (of_scope == absent_.end()) return nullptr;
  Absent& absent = of_scope->second;
  if (!std::exchange(absent.sorted, true)) std::ranges::sort(absent.names);
  return std::ranges::binary_search(absent.names, text) ? &nothing : nullptr;
}

void CompileSession::remember_absent(const sema::Scope& scope, std::vector<std::string_view> names) {
  absent_[&scope] = {std::move(names)};
}

}  // namespace weft::bind
