// Functions of the kernel language from Python: text plus a resolver object. The resolver's `lookup(name)` returns None or
// a tuple that says what the name is. Which of many names may mean something is seen in the globals and cells of its `func`.
//   ("int", 3) ("float", 0.5) ("bool", True) ("str", "x")          plain constants
//   ("typed", Type, bytes)                                         a scalar, vector, struct… constant in C layout
//   ("type", Type) ("generic", "Any"|"Scalar"|"Float"|"Int"|"Callable")
//   ("generic_array", ("type", T)|("generic", …)|None, rank)        wp.array(dtype=Any, ndim=…)
//   ("generic_array", …, rank, "indexed")                          wp.indexedarray(dtype=Any, ndim=…)
//   ("generic_vector", element, length) ("generic_matrix", element, rows, cols)   0: any; element as above
//   ("tuple_type", …)                                              tuple[int, float] of such types
//   ("tuple_of", ("type", T)|("generic", …))                        tuple[int, ...]
//   ("ref", ("type", T)|("generic", …)|("generic_array", …))        wp.ref[T]
//   ("functions", [Function, …])  ("builtin", "sin")  ("scope", resolver)  ("warp",)
//   ("other", "a list", "<class 'list'>")                          what kernels can't use
//   ("derivative", ("functions", …)|("builtin", …))                wp.grad(f)
// and `eval_static(text, {name: value})` the same for wp.static. Behind a constant, functions and "other" there may be a
// further resolver, for their attributes: Mode.FAST.value, self.act(x).
#include <algorithm>

#include "bind/bind.h"
#include "bind/compile_session.h"
#include "bind/gil.h"
#include "sema/file_scope.h"
#include "support/hash.h"
#include "syntax/parser.h"

namespace weft::bind {
namespace {

using builtins::Pattern;
using sema::Constant;
using sema::Symbol;

sema::Symbol to_symbol(nb::handle answer);
std::shared_ptr<sema::Scope> warp_module();

/// Names answered by a Python resolver. The scope of a function holds its resolver weakly: the resolver knows the Python
/// function, whose globals may know the kernel, and Python's garbage collector can't see references that C++ holds. The
/// resolver lives with the `_weft.Function` object; whoever compiles holds that.
class PythonScope final : public sema::Scope {
 public:
  explicit PythonScope(nb::object resolver) : strong_(std::move(resolver)) {}
  explicit PythonScope(nb::weakref resolver) : weak_(std::move(resolver)) {}
  ~PythonScope() override {
    GilAcquire gil;
    strong_.reset();
    weak_.reset();
  }

  std::optional<Symbol> lookup(std::string_view name) override {
    CompileSession* session = CompileSession::current();
    if (!session) return ask(name);
    return session->remember(*this, CompileSession::Question::name, name, [&] { return ask(name); });
  }

  std::optional<Symbol> eval_static(std::string_view text,
                                    std::span<const std::pair<std::string, Constant>> locals) override {
    CompileSession* session = CompileSession::current();
    if (session && locals.empty())
      return session->remember(*this, CompileSession::Question::static_value, text, [&] { return evaluate(text, {}); });
    if (session) session->note_unknown();
    return evaluate(text, locals);
  }

  Meaning meaning() const {
    GilAcquire gil;
    nb::object known = resolver();
    if (!nb::hasattr(known, "meaning")) return {};
    nb::object answer = call_python([&] { return known.attr("meaning")(); });
    return {nb::cast<std::string>(answer[1]), nb::cast<bool>(answer[0])};
  }

  std::vector<std::string_view> ask_all(CompileSession& session, std::vector<std::string_view> names) {
    GilAcquire gil;
    const nb::object known = resolver(), function = nb::getattr(known, "func", nb::none());
    if (!PyFunction_Check(function.ptr())) return names;
    // Most names of a text are its own variables, and what stands for the language needs no answer from Python.
    const nb::handle globals = PyFunction_GetGlobals(function.ptr());
    nb::object free;  // none, mostly
    if (PyFunction_GetClosure(function.ptr())) free = function.attr("__code__").attr("co_freevars");
    const nb::object language = nb::module_::import_("warp");
    std::vector<std::string_view> found;
    try {
      for (const std::string_view name : names) {
        const nb::str key(name.data(), name.size());
        const bool is_free = free.is_valid() && nb::cast<bool>(free.attr("__contains__")(key));
        const nb::object value = is_free ? nb::object() : nb::steal(global_of(globals, key));
        if (!is_free && !value.is_valid()) continue;
        std::optional<Symbol> symbol;
        if (value.is(language)) {
          symbol = Symbol::of_scope(warp_module());
        } else {
          const nb::object answer = call_python([&] { return known.attr("lookup")(key); });
          if (answer.is_none()) continue;
          symbol = to_symbol(answer);
        }
        session.remember(*this, CompileSession::Question::name, name, [&] { return std::move(symbol); });
        found.push_back(name);
      }
    } catch (const nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) throw;  // Ctrl-C and exits are not about the names
      return names;
    }
    session.remember_absent(*this, std::move(names));  // those that were found are looked up before
    return found;
  }

 private:
  std::optional<Symbol> ask(std::string_view name) {
    GilAcquire gil;
    nb::object known = resolver(), question = nb::str(name.data(), name.size());
    nb::object answer = call_python([&] { return known.attr("lookup")(question); });
    if (answer.is_none()) return std::nullopt;
    return to_symbol(answer);
  }

  std::optional<Symbol> evaluate(std::string_view text, std::span<const std::pair<std::string, Constant>> locals) {
    GilAcquire gil;
    nb::dict values;
    for (const auto& [name, c] : locals) {
      nb::object value;
      switch (c.form) {
        case Constant::Form::integer:
          value = c.negative ? nb::object(nb::int_(-std::int64_t(c.magnitude))) : nb::object(nb::int_(c.magnitude));
          break;
        case Constant::Form::real: value = nb::float_(c.real); break;
        case Constant::Form::text: value = nb::str(c.text.c_str()); break;
        case Constant::Form::typed: value = unpack_value(c.type, c.bits.data()); break;
      }
      values[name.c_str()] = value;
    }
    try {
      nb::object known = resolver(), expression = nb::str(text.data(), text.size());
      nb::object answer = call_python([&] { return known.attr("eval_static")(expression, values); });
      if (answer.is_none()) return std::nullopt;
      return to_symbol(answer);
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) throw;  // Ctrl-C and exits are not about the expression
      // The expression is the user's; a traceback through this package would hide what is wrong with it.
      std::string what = nb::cast<std::string>(nb::str(error.value()));
      if (error.matches(PyExc_NameError))
        what += ". Make sure all variables used in the static expression are constant.";
      else
        what += " (" + nb::cast<std::string>(error.type().attr("__name__")) + ")";
      throw sema::StaticError(what);
    }
  }

  /// A new reference; null if there is none of the name.
  static PyObject* global_of(nb::handle globals, nb::handle name) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject* value = nullptr;
    if (PyDict_GetItemRef(globals.ptr(), name.ptr(), &value) < 0) nb::raise_python_error();
#else
    PyObject* value = PyDict_GetItemWithError(globals.ptr(), name.ptr());
    if (!value && PyErr_Occurred()) nb::raise_python_error();
    Py_XINCREF(value);
#endif
    return value;
  }

  nb::object resolver() const {
    if (strong_.is_valid()) return strong_;
    nb::object alive = weak_();
    if (alive.is_none()) throw std::runtime_error("the function that a kernel calls was deleted while it was compiled");
    return alive;
  }

  nb::object strong_, weak_;
};

/// A function that a name stands for, with its Python object, which holds the resolver, and those of its gradient and
/// replay: all live as long as the compiler works with them.
struct HeldFunction {
  std::shared_ptr<const sema::FunctionDecl> decl;
  nb::object object;
  ~HeldFunction() {
    GilAcquire gil;
    object.reset();
  }
};

std::shared_ptr<const sema::FunctionDecl> hold_function(nb::handle function) {
  auto held = std::make_shared<HeldFunction>();
  held->decl = nb::cast<const FunctionObject&>(function).decl;
  held->object = nb::borrow(function);
  const sema::FunctionDecl* decl = held->decl.get();
  return {std::move(held), decl};
}

Constant typed_constant(const Type* type, nb::bytes bytes) {
  Constant c;
  c.form = Constant::Form::typed;
  c.type = type;
  const char* data = bytes.c_str();
  std::size_t size = bytes.size();
  auto walk = [&](auto& self, const Type* t, std::size_t offset) -> void {
    if (t->is_scalar()) {
      std::uint64_t bits = 0;
      if (offset + t->size() <= size) std::memcpy(&bits, data + offset, t->size());
      c.bits.push_back(bits);
    } else if (t->is_composite()) {
      for (std::uint32_t k = 0; k < t->component_count(); ++k)
        self(self, t->element(), offset + std::size_t(k) * t->element()->size());
    } else if (t->is_struct()) {
      for (const Field& f : t->fields()) self(self, f.type, offset + f.offset);
    }
  };
  walk(walk, type, 0);
  return c;
}

Pattern generic_pattern(const std::string& name) {
  if (name == "Scalar") return Pattern::of(Pattern::Kind::scalar);
  if (name == "Float") return Pattern::of(Pattern::Kind::floating);
  if (name == "Int") return Pattern::of(Pattern::Kind::integer);
  if (name == "Callable") return Pattern::of(Pattern::Kind::callable);
  return Pattern::of(Pattern::Kind::any);
}

/// The module `warp` in kernels: the language's own names, then those of its Python side that are none of them, modules
/// below it and enums.
class WarpModuleScope final : public sema::Scope {
 public:
  std::optional<Symbol> lookup(std::string_view name) override {
    if (auto known = sema::warp_scope()->lookup(name)) return known;
    CompileSession* session = CompileSession::current();
    if (!session) return ask(name);
    return session->remember(*this, CompileSession::Question::name, name, [&] { return ask(name); });
  }

 private:
  static std::optional<Symbol> ask(std::string_view name) {
    GilAcquire gil;
    nb::object question = nb::str(name.data(), name.size());
    nb::object answer = call_python(
        [&] { return nb::module_::import_("warp._src.kernels.resolver").attr("describe_member_of_warp")(question); });
    if (answer.is_none()) return std::nullopt;
    return to_symbol(answer);
  }
};

std::shared_ptr<sema::Scope> warp_module() {
  static auto scope = std::make_shared<WarpModuleScope>();
  return scope;
}

Symbol symbol_alone(nb::tuple t, const std::string& kind);

/// How many entries an answer has without the resolver for its attributes.
std::size_t plain_size(const std::string& kind) {
  if (kind == "int" || kind == "float" || kind == "bool" || kind == "str" || kind == "functions") return 2;
  return kind == "typed" || kind == "other" ? 3 : SIZE_MAX;
}

Symbol to_symbol(nb::handle answer) {
  nb::tuple t = nb::cast<nb::tuple>(answer);
  std::string kind = nb::cast<std::string>(t[0]);
  Symbol symbol = symbol_alone(t, kind);
  if (std::size_t n = plain_size(kind); t.size() > n && !nb::handle(t[n]).is_none())
    symbol.scope = std::make_shared<PythonScope>(nb::borrow(t[n]));
  return symbol;
}

Symbol symbol_alone(nb::tuple t, const std::string& kind) {
  if (kind == "int") {
    nb::object value = nb::borrow(t[1]);
    int overflow = 0;
    long long small = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow == 0) return Symbol::of(Constant::of_int(small));
    unsigned long long large = PyLong_AsUnsignedLongLong(value.ptr());
    if (PyErr_Occurred()) {
      PyErr_Clear();
      return Symbol::of_other("an integer that does not fit 64 bits");
    }
    return Symbol::of(Constant::of_uint(large));
  }
  if (kind == "float") return Symbol::of(Constant::of_real(nb::cast<double>(t[1])));
  if (kind == "bool") return Symbol::of(Constant::of_bool(nb::cast<bool>(t[1])));
  if (kind == "str") return Symbol::of(Constant::of_text(nb::cast<std::string>(t[1])));
  if (kind == "typed")
    return Symbol::of(typed_constant(nb::cast<const TypeHandle&>(t[1]).type, nb::cast<nb::bytes>(t[2])));
  if (kind == "type") return Symbol::of_type(nb::cast<const TypeHandle&>(t[1]).type);
  if (kind == "generic") return Symbol::of_pattern(generic_pattern(nb::cast<std::string>(t[1])));
  if (kind == "generic_array") {
    const std::string sort = t.size() > 3 ? nb::cast<std::string>(t[3]) : "";
    Pattern p = Pattern::of(sort == "indexed"         ? Pattern::Kind::indexed_array
                            : sort == "fabric"        ? Pattern::Kind::fabric_array
                            : sort == "indexedfabric" ? Pattern::Kind::indexed_fabric_array
                                                      : Pattern::Kind::array);
    if (!nb::handle(t[1]).is_none()) p.element = std::make_shared<const Pattern>(to_symbol(t[1]).pattern);
    p.rows.fixed = nb::cast<std::uint32_t>(t[2]);
    return Symbol::of_pattern(p);
  }
  if (kind == "generic_tile") {  // element or None, extents: 0 for any
    Pattern p = Pattern::of(Pattern::Kind::tile);
    if (!nb::handle(t[1]).is_none()) p.element = std::make_shared<const Pattern>(to_symbol(t[1]).pattern);
    for (nb::handle n : nb::cast<nb::tuple>(t[2])) p.shape.push_back(nb::cast<std::int64_t>(n));
    return Symbol::of_pattern(p);
  }
  if (kind == "generic_vector" || kind == "generic_matrix") {  // extents: 0 for any
    Pattern p = Pattern::of(t.size() > 3 ? Pattern::Kind::mat : Pattern::Kind::vec);
    p.element = std::make_shared<const Pattern>(to_symbol(t[1]).pattern);
    p.rows.fixed = nb::cast<std::uint32_t>(t[2]);
    if (t.size() > 3) p.cols.fixed = nb::cast<std::uint32_t>(t[3]);
    return Symbol::of_pattern(p);
  }
  if (kind == "tuple_type") {
    std::vector<Pattern> elements;
    for (std::size_t i = 1; i < t.size(); ++i) elements.push_back(to_symbol(t[i]).pattern);
    return Symbol::of_pattern(Pattern::tuple_of(std::move(elements)));
  }
  if (kind == "tuple_of") {  // no `elements`, one `element` for all
    Pattern p = Pattern::of(Pattern::Kind::tuple);
    p.element = std::make_shared<const Pattern>(to_symbol(t[1]).pattern);
    return Symbol::of_pattern(p);
  }
  if (kind == "ref") {
    Symbol symbol = to_symbol(t[1]);
    symbol.pattern.by_reference = symbol.kind == Symbol::Kind::pattern;
    return symbol;
  }
  if (kind == "functions") {
    std::vector<std::shared_ptr<const sema::FunctionDecl>> list;
    for (nb::handle f : nb::cast<nb::list>(t[1])) list.push_back(hold_function(f));
    return Symbol::of_functions(std::move(list));
  }
  if (kind == "builtin") return Symbol::of_builtin(nb::cast<std::string>(t[1]));
  if (kind == "derivative") {
    Symbol symbol = to_symbol(t[1]);
    symbol.derivative = symbol.kind == Symbol::Kind::functions || symbol.kind == Symbol::Kind::builtin;
    return symbol;
  }
  if (kind == "warp") return Symbol::of_scope(warp_module());
  if (kind == "scope") return Symbol::of_scope(std::make_shared<PythonScope>(nb::borrow(t[1])));
  return Symbol::of_other(nb::cast<std::string>(t[1]), t.size() > 2 ? nb::cast<std::string>(t[2]) : std::string());
}

nb::object make_function(const std::string& source, const std::string& file, std::uint32_t first_line,
                         const std::string& name, nb::object resolver, const std::string& key, nb::dict annotations,
                         const std::string& native) {
  auto text = std::make_shared<SourceFile>(file, source, first_line);
  DiagnosticSink sink;
  auto tree = syntax::parse(text, sink);
  if (sink.has_errors()) raise_compile_error(sink);
  const syntax::FunctionDef* found = nullptr;
  for (const syntax::Stmt* stmt : tree->body)
    if (const auto* def = stmt->as_if<syntax::FunctionDef>(); def && def->name == name) found = def;
  if (!found) throw nb::value_error(("there is no function '" + name + "' in its source text").c_str());
  auto decl = std::make_shared<sema::FunctionDecl>();
  decl->def = found;
  decl->tree = tree;
  decl->owned_scope = std::make_shared<PythonScope>(nb::weakref(resolver));
  decl->key = key;
  decl->native = native;
  for (const syntax::Param& p : found->params) {
    std::string param(p.name);
    std::optional<Pattern> known;
    if (annotations.contains(param.c_str())) {
      Symbol symbol = to_symbol(annotations[param.c_str()]);
      if (symbol.kind == Symbol::Kind::pattern) known = symbol.pattern;
    }
    decl->known_params.push_back(std::move(known));
  }
  if (annotations.contains("return")) {
    decl->known_returns.emplace();
    for (nb::handle one : nb::cast<nb::list>(annotations["return"]))
      decl->known_returns->push_back(to_symbol(nb::borrow(one)).pattern);
  }
  nb::object made = nb::cast(FunctionObject{std::move(decl)});
  made.attr("resolver") = resolver;
  return made;
}

}  // namespace

bool is_warp(const sema::Scope& scope) { return &scope == warp_module().get() || &scope == sema::warp_scope().get(); }

std::vector<std::string_view> ask_names(sema::Scope& scope, std::vector<std::string_view> names) {
  CompileSession* session = CompileSession::current();
  auto* python = dynamic_cast<PythonScope*>(&scope);
  return session && python ? python->ask_all(*session, std::move(names)) : std::move(names);
}

Meaning meaning_of(const sema::FunctionDecl& kernel) {
  const auto* python = dynamic_cast<const PythonScope*>(kernel.owned_scope.get());
  return python ? python->meaning() : Meaning{};
}

void register_functions(nb::module_& m) {
  nb::class_<FunctionObject>(m, "Function",
                             "A function of the kernel language: its parsed text and where its names come from.",
                             nb::dynamic_attr())
      .def_prop_ro("name", [](const FunctionObject& f) { return std::string(f.decl->def->name); })
      .def_prop_ro("params",
                   [](const FunctionObject& f) {
                     nb::list out;
                     for (const syntax::Param& p : f.decl->def->params) out.append(std::string(p.name));
                     return out;
                   })
      .def_prop_ro("key", [](const FunctionObject& f) { return f.decl->key; })
      .def(
          "fingerprint",
          [](const FunctionObject& f) {
            CompileSession session(*f.decl);
            const std::string text = session.fingerprint(*f.decl, false).hex();
            return nb::bytes(text.data(), text.size());
          },
          "A hash of the text and of what every name in it means now.")
      .def(
          "set_custom",
          [](nb::handle self, nb::object gradient, nb::object replay, const std::string& native_gradient,
             const std::string& native_replay) {
            auto& function = nb::cast<FunctionObject&>(self);
            auto changed = std::make_shared<sema::FunctionDecl>(*function.decl);
            auto decl_of = [](const nb::object& of) {
              return of.is_none() ? nullptr : nb::cast<const FunctionObject&>(of).decl;
            };
            changed->gradient = decl_of(gradient);
            changed->replay = decl_of(replay);
            changed->native_gradient = native_gradient;
            changed->native_replay = native_replay;
            function.decl = std::move(changed);
            self.attr("custom") = nb::make_tuple(gradient, replay);  // their resolvers live with these objects
          },
          nb::arg("gradient").none(), nb::arg("replay").none(), nb::arg("native_gradient"), nb::arg("native_replay"),
          "What the program says about differentiating the function.");
  m.def("make_function", &make_function, nb::arg("source"), nb::arg("file"), nb::arg("first_line"), nb::arg("name"),
        nb::arg("resolver"), nb::arg("key"), nb::arg("annotations"), nb::arg("native") = "");
  m.def(
      "annotation_takes",
      [](nb::tuple answer, const TypeHandle& type) {
        builtins::Bindings bindings;
        return builtins::match(to_symbol(answer).pattern, type.type, bindings);
      },
      "Whether a parameter whose annotation has this answer takes arguments of a type.");
  m.def(
      "result_types",
      [](const FunctionObject& f, const std::vector<TypeHandle>& types) {
        std::vector<const Type*> list;
        for (const TypeHandle& t : types) list.push_back(t.type);
        DiagnosticSink sink;
        auto results = sema::function_results(*f.decl, list, sink);
        if (!results) raise_compile_error(sink);
        std::vector<TypeHandle> out;
        for (const Type* t : *results) out.push_back({t});
        return out;
      },
      "The types of what a function returns for arguments of these types.");
}

}  // namespace weft::bind
